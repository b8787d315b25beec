// Streams rows past a table: a warp takes the chunks of 32 rows of any lengths at a time, and a probe counts the successors that a
// chunk has in common with the table.

// Adds the counts of all threads of a block to the total. For blocks of up to 8 warps.
__device__ __forceinline__ void add_up(u64 count, u64 *total) {
    __shared__ u64 warps[8];
    count = warp_sum(count);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < blockDim.x / WARP; w++) count += warps[w];
        if (count) atomicAdd(total, count);
    }
}

__device__ __forceinline__ u32 any_bits(u32 bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL, bits);
#else
    for (u32 step = WARP / 2; step; step >>= 1) bits |= __shfl_xor_sync(ALL, bits, step);
    return bits;
#endif
}

__device__ __forceinline__ uint4 nothing() { return make_uint4(0, 0, 0, 0); }

// The first chunk of the row to stream for an arc: see `assign_row`.
template <bool VERTICES> __device__ __forceinline__ u32 begin_of(const Arguments &g, uint2 arc) {
    return VERTICES && arc.y ? row_of(g, arc.x).x : arc.x;
}

// Adds what the lanes of a warp found to the counter of the owner.
__device__ __forceinline__ void credit_owner(const Arguments &g, u32 owner, u64 found) {
    found = warp_sum(found);
    if (threadIdx.x % WARP == 0 && found) credit(g, counter_of(g, owner), found);
}

// A chunk of a streamed row: its words, and the counter of its first arc if triangles are counted on arcs.
struct Chunk {
    uint4 words;
    u32 first;
};

// Chunk `at`, if it is `there`.
template <class Found> __device__ __forceinline__ Chunk chunk_at(const Arguments &g, u32 at, bool there) {
    if (!there) return {nothing(), 0};
    return {__ldg(g.all.words + at), Found::EDGES ? __ldg(first_of(g, at)) : 0};
}

// Probes one chunk of each lane, and a second one if there are `two`; the whole warp calls it. The chunks are of the warp's rows `one`
// and `other` if it keeps sums of rows. If triangles are counted at vertices or on arcs, both chunks go through the same instructions
// in turn: the loop would not fit the instruction cache otherwise.
template <class Probe>
__device__ __forceinline__ u32 probed(const Probe &probe, Chunk a, Chunk b, bool two, Warp &warp, u32 one, u32 other, bool of_rows) {
    typedef typename Probe::Found Found;
    if (!Found::VERTICES && !Found::EDGES) {
        u32 none[4];
        const u32 found = probe(a, none);
        return two ? found + probe(b, none) : found;
    }
    u32 found = 0;
#pragma unroll 1
    for (u32 half = 0; half < 1 + two; half++) {
        u32 hits[4] = {0, 0, 0, 0};
        const u32 here = probe(a, hits);
        if (of_rows && here) atomicAdd(warp.sums + one, here);
        if (Found::VERTICES) warp.waiting.push(probe.found, hits);
        found += here;
        a = b, one = other;
    }
    return found;
}

// A warp takes all chunks of the rows [at, end): 32 rows at a time, two chunks a lane. `arc`: this lane's of the first 32 rows.
template <class Probe>
__device__ __forceinline__ u64 stream(const Arguments &g, u32 at, u32 end, uint2 arc, const Probe &probe, Warp &warp) {
    typedef typename Probe::Found Found;
    constexpr bool VERTICES = Found::VERTICES;
    const u32 lane = threadIdx.x % WARP, upto = (2u << lane) - 1;
    u64 count = 0;
    u32 begin = begin_of<VERTICES>(g, arc);
    while (at < end) {
        const u32 chunks = arc.y, after = warp_inclusive(chunks), all = __shfl_sync(ALL, after, WARP - 1);
        const u32 first = after - chunks, base = begin - first;
        at += WARP;
        uint2 next = make_uint2(0, 0);
        if (at + lane < end) next = g.batch.arcs[at + lane];
        u32 begun = 0; // rows that begin before the window
        for (u32 window = 0; window < all; window += 2 * WARP) {
            const bool two = window + WARP < all;
            const u32 here = first - window, there = here - WARP;
            const u32 marks = any_bits(chunks && here < WARP ? 1u << here : 0);
            const u32 more = two ? any_bits(chunks && there < WARP ? 1u << there : 0) : 0;
            const u32 one = begun + __popc(marks & upto) - 1;
            begun += __popc(marks);
            const u32 other = begun + __popc(more & upto) - 1;
            begun += __popc(more);
            const u32 base_one = __shfl_sync(ALL, base, one), base_other = __shfl_sync(ALL, base, other);
            const u32 c = window + lane;
            const Chunk a = chunk_at<Found>(g, base_one + c, c < all);
            const Chunk b = chunk_at<Found>(g, base_other + c + WARP, two && c + WARP < all);
            count += probed(probe, a, b, two, warp, one, other, true);
        }
        begin = begin_of<VERTICES>(g, next);
        if (VERTICES || Found::EDGES) {
            __syncwarp();
            const u32 found = warp.sums[lane];
            if (VERTICES && found) credit(g, counter_of(g, arc.x), found);
            if (Found::EDGES && found) atomicAdd(g.all.on_arcs + g.batch.arc_counters[at - WARP + lane], found);
            warp.sums[lane] = 0;
            __syncwarp();
        }
        arc = next;
    }
    return count;
}
