// `by_thread`: rows of one chunk against rows of one chunk. A thread takes a local, and its successors one after another.

// The common successors of two chunks whose words have the same number of bits, given the runs of the first. Rows of four words are rare.
__device__ __forceinline__ u32 common(uint4 q, uint4 runs, uint4 p, u32 bits) {
    const u32 one = p.x >> bits, two = p.y >> bits, three = p.z >> bits, low = (1u << bits) - 1;
    u32 x = 0, y = 0, z = 0, count = 0;
    if (runs.x == one) x = q.x & p.x;
    if (runs.x == two) x |= q.x & p.y;
    if (runs.x == three) x |= q.x & p.z;
    if (runs.y == one) y = q.y & p.x;
    if (runs.y == two) y |= q.y & p.y;
    if (runs.y == three) y |= q.y & p.z;
    if (runs.z == one) z = q.z & p.x;
    if (runs.z == two) z |= q.z & p.y;
    if (runs.z == three) z |= q.z & p.z;
    if (q.w | p.w) {
        const u32 four = p.w >> bits;
        u32 w = 0;
        if (runs.x == four) x |= q.x & p.w;
        if (runs.y == four) y |= q.y & p.w;
        if (runs.z == four) z |= q.z & p.w;
        if (runs.w == one) w = q.w & p.x;
        if (runs.w == two) w |= q.w & p.y;
        if (runs.w == three) w |= q.w & p.z;
        if (runs.w == four) w |= q.w & p.w;
        count = __popc(w & low);
    }
    return count + __popc(x & low) + __popc(y & low) + __popc(z & low);
}

// The same for one word, of hubs or not, and a chunk.
template <class Found> __device__ __forceinline__ u32 common(u32 a, uint4 p, u32 k, const Found &found) {
    u32 hit = 0;
    const u32 bits = bits_of(a, k), run = a >> bits;
    u32 in_both = 0;
    if (run == p.x >> bits) in_both = a & p.x;
    if (run == p.y >> bits) in_both |= a & p.y;
    if (run == p.z >> bits) in_both |= a & p.z;
    if (run == p.w >> bits) in_both |= a & p.w;
    const u32 count = found(a, 0, in_both & ((1u << bits) - 1), hit);
    if (hit) found.add(hit);
    return count;
}

// For each common successor of word `a` and a chunk, adds 1 to the counters of both arcs to it. `at`, `other`: those of their first arcs.
__device__ __forceinline__ u32 common_on_arcs(const Arguments &g, u32 a, u32 at, uint4 p, u32 other) {
    const u32 bits = bits_of(a, g.all.k), run = a >> bits, own = successors_of(a, g.all.k);
    const u32 words[4] = {p.x, p.y, p.z, p.w};
    u32 count = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u32 its = successors_of(words[i], g.all.k), both = run == words[i] >> bits ? own & its : 0;
        if (both) credit_common(Counters{g.all.on_arcs, nullptr, 0, 0}, Find{own, at, its, other, both});
        count += __popc(both);
        other += __popc(its);
    }
    return count;
}

// Counts on arcs for a local with a row of one chunk, whose first arc has the counter `first`.
__device__ __forceinline__ u32 by_thread_on_arcs(const Arguments &g, uint4 q, u32 first) {
    const u32 range = g.piece.end - g.piece.start;
    const u32 words[4] = {q.x, q.y, q.z, q.w};
    u32 firsts[4], sum = first, count = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        firsts[i] = sum;
        sum += __popc(successors_of(words[i], g.all.k));
    }
#pragma unroll 1
    for (u32 arc = first, i = 0; i < 4 && words[i]; i++) {
        u32 base, successors;
        unpack(words[i], g.all.k, base, successors);
        for (; successors; successors &= successors - 1, arc++) {
            const u32 at = base + __ffs(successors) - 1 - g.piece.start;
            // No successor is before the first one.
            if (arc == first || at >= range) continue;
            const uint2 other = g.piece.table[at];
            if (other.y == 0 || other.y > 4) continue;
            const uint4 p = __ldg(g.all.words + other.x);
            const u32 its = *first_of(g, other.x);
            u32 here = 0;
#pragma unroll
            for (u32 j = 0; j < 4; j++) here += common_on_arcs(g, words[j], firsts[j], p, its);
            if (here) atomicAdd(g.all.on_arcs + arc, here);
            count += here;
        }
    }
    return count;
}

// WITH_HUBS: some of the local's successors are hubs. Each iteration takes one successor, no matter which word it is in, so rows with
// the same number of successors take the same number of iterations.
template <bool WITH_HUBS, class Found>
__device__ __forceinline__ u32 by_thread(const Arguments &g, uint4 q, const Found &found) {
    const u32 range = g.piece.end - g.piece.start, bits = 1u << g.all.k;
    const uint4 runs = make_uint4(q.x >> bits, q.y >> bits, q.z >> bits, q.w >> bits);
    u32 count = 0, base, successors, y = q.y, z = q.z, w = q.w;
    unpack(q.x, g.all.k, base, successors);
    successors &= successors - 1; // skip the first successor: none is before it
    for (;; successors &= successors - 1) {
        if (successors == 0) {
            if (y == 0) break;
            unpack(y, g.all.k, base, successors);
            y = z, z = w, w = 0;
        }
        const u32 at = base + __ffs(successors) - 1 - g.piece.start;
        if (at >= range) continue;
        const uint2 other = g.piece.table[at];
        if (other.y == 0 || other.y > 4) continue;
        const uint4 p = __ldg(g.all.words + other.x);
        if (WITH_HUBS || Found::VERTICES) {
            const u32 here = common(q.x, p, g.all.k, found) + common(q.y, p, g.all.k, found) + common(q.z, p, g.all.k, found) + common(q.w, p, g.all.k, found);
            if (Found::VERTICES && here) credit(g, g.piece.start + at, here);
            count += here;
        } else count += common(q, runs, p, bits);
    }
    return count;
}

// Many resident warps hide the latency of the table and the row; how many 256-thread blocks fit depends on the device.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
#define BY_THREAD_BLOCKS 8
#elif __CUDA_ARCH__ >= 800
#define BY_THREAD_BLOCKS 6
#else
#define BY_THREAD_BLOCKS 4
#endif

template <class Found> __device__ __forceinline__ void by_thread(const Arguments &g, const Found &found) {
    u64 count = 0;
    const u64 end = (u64)g.batch.first + g.batch.count;
    for (u64 a = g.batch.first + blockIdx.x * (u64)blockDim.x + threadIdx.x; a < end; a += (u64)gridDim.x * blockDim.x) {
        if (g.all.next[a] >= g.piece.end) continue;
        const uint2 row = g.all.rows[a];
        if (row.y > 4) continue;
        const uint4 q = __ldg(g.all.words + row.x);
        u32 here;
        if (Found::EDGES) here = by_thread_on_arcs(g, q, *first_of(g, row.x));
        else here = q.x >= HUB ? by_thread<false>(g, q, found) : by_thread<true>(g, q, found);
        if (Found::VERTICES && here) credit(g, g.all.locals_at + (u32)a, here);
        count += here;
        // Not needed after the last range.
        if (g.piece.end < g.all.numbered) g.all.next[a] = successor_from((const u32 *)(g.all.words + row.x), row.y, g.piece.end, g.all.k);
    }
    add_up(count, g.all.total);
}

extern "C" __global__ void __launch_bounds__(256, BY_THREAD_BLOCKS) packed_by_thread(Arguments g) { by_thread(g, Total{}); }

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_THREAD_BLOCKS) packed_by_thread_vertices(const __grid_constant__ Arguments g) {
    __shared__ u32 near[NEAR / 4];
    const OfBlock found{g, near};
    found.clear();
    by_thread(g, found);
    found.finish();
}

extern "C" __global__ void __launch_bounds__(256, BY_THREAD_BLOCKS) packed_by_thread_edges(const __grid_constant__ Arguments g) {
    by_thread(g, OnArcs{{g.all.on_arcs, nullptr, 0, 0}, nullptr, nullptr});
}
