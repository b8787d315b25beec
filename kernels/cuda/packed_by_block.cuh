// `by_block`: the owners that `by_warp` does not take. A block takes one: a bitmap has the hubs of its row, a hash table (`tail`) the rest.

__device__ __forceinline__ u32 put(u32 *table, u32 word, u32 k) {
    u32 slot = (run_of(word, k) * GOLDEN) >> 22;
    while (atomicCAS(table + slot, 0, word)) slot = (slot + 1) & (TAIL_SLOTS - 1);
    return slot;
}

// The slot that has a word of the same run; ALL: there is none.
__device__ __forceinline__ u32 find(const u32 *table, u32 word, u32 bits) {
    for (u32 slot = ((word >> bits) * GOLDEN) >> 22;; slot = (slot + 1) & (TAIL_SLOTS - 1)) {
        const u32 found = table[slot];
        if ((found ^ word) >> bits == 0) return slot;
        if (found == 0) return ALL;
    }
}

template <class Found>
__device__ __forceinline__ u32 look_up(const u32 *table, u32 word, u32 k, const Found &found_in_both, u32 &hit) {
    const u32 bits = 1u << k, slot = find(table, word, bits);
    return slot == ALL ? 0 : found_in_both(word, slot, table[slot] & word & ((1u << bits) - 1), hit);
}

// How many arcs of the owner's row are before each of its words: indexed by run for hubs, and by slot of `tail` for the others.
struct Before {
    u16 *hubs;
    u32 *tail;
};

template <bool TAIL, class Found_> struct Bitmap {
    typedef Found_ Found;
    const unsigned char *hubs; // 16 bits for each run of hubs, then 16 zeros
    const u32 *tail;
    u32 k;
    Found found;
    Before before;

    __device__ __forceinline__ u32 at(u32 word) const { return *(const u16 *)(hubs + min(word >> 16, HUBS / 8)) & word; }

    // Counts what a word has in common with the row, also on arcs. `counter`: that of the word's first arc; advanced to the next word's.
    __device__ __forceinline__ u32 on_arcs(u32 word, u32 &counter) const {
        const u32 successors = successors_of(word, k);
        u32 own = 0, own_at = 0;
        if (word < HUB) {
            own = *(const u16 *)(hubs + (word >> 16));
            own_at = before.hubs[word >> 17];
        } else if (TAIL) {
            const u32 slot = find(tail, word, 1u << k);
            if (slot != ALL) own = successors_of(tail[slot], k), own_at = before.tail[slot];
        }
        const u32 both = own & successors;
        found.on_arcs(Find{own, own_at, successors, counter, both});
        counter += __popc(successors);
        return __popc(both);
    }

    __device__ __forceinline__ u32 operator()(const Chunk &chunk, u32 *hits) const {
        const uint4 q = chunk.words;
        if (Found::EDGES) {
            u32 counter = chunk.first, sum = on_arcs(q.x, counter);
            sum += on_arcs(q.y, counter);
            sum += on_arcs(q.z, counter);
            return sum + on_arcs(q.w, counter);
        }
        const u32 a = at(q.x), b = at(q.y), c = at(q.z), d = at(q.w);
        u32 count;
        if (Found::VERTICES) {
            count = found(q.x, 0, a & 0xffff, hits[0]) + found(q.y, 0, b & 0xffff, hits[1]);
            count += found(q.z, 0, c & 0xffff, hits[2]) + found(q.w, 0, d & 0xffff, hits[3]);
        } else {
            count = __popc(__byte_perm(a, b, 0x5410)) + __popc(__byte_perm(c, d, 0x5410));
        }
        if (TAIL && (q.x >= HUB || q.y >= HUB || q.z >= HUB || q.w >= HUB)) {
            if (q.x >= HUB) count += look_up(tail, q.x, k, found, hits[0]);
            if (q.y >= HUB) count += look_up(tail, q.y, k, found, hits[1]);
            if (q.z >= HUB) count += look_up(tail, q.z, k, found, hits[2]);
            if (q.w >= HUB) count += look_up(tail, q.w, k, found, hits[3]);
        }
        return count;
    }
};

// Streams long rows, each by LANES lanes.
template <class Probe>
__device__ __forceinline__ u64 stream_long(const Arguments &g, u32 first, u32 last, const Probe &probe, Warp &warp) {
    typedef typename Probe::Found Found;
    constexpr bool VERTICES = Found::VERTICES, TOGETHER = VERTICES || Found::EDGES;
    const u32 lane = threadIdx.x % LANES;
    u64 count = 0;
    u32 at = first + threadIdx.x / LANES;
    uint2 arc = at < last ? g.batch.arcs[at] : make_uint2(0, 0);
    // Where triangles are counted at vertices or on arcs, the lanes of a warp go through the longest of its rows together.
    while (TOGETHER ? __any_sync(ALL, at < last) : at < last) {
        const u32 this_arc = at;
        at += OWNER_THREADS / LANES;
        const uint2 next = at < last ? g.batch.arcs[at] : make_uint2(0, 0);
        const u32 row = begin_of<VERTICES>(g, arc);
        u32 sum = 0;
        for (u32 c = lane; TOGETHER ? __any_sync(ALL, c < arc.y) : c < arc.y; c += 2 * LANES) {
            const Chunk a = chunk_at<Found>(g, row + c, !TOGETHER || c < arc.y);
            const Chunk b = chunk_at<Found>(g, row + c + LANES, c + LANES < arc.y);
            sum += probed(probe, a, b, true, warp, 0, 0, false);
        }
        if (VERTICES && sum) credit(g, counter_of(g, arc.x), sum);
        if (Found::EDGES && sum) atomicAdd(g.all.on_arcs + g.batch.arc_counters[this_arc], sum);
        count += sum;
        arc = next;
    }
    return count;
}

template <class Probe>
__device__ __forceinline__ u64 stream_all(const Arguments &g, u32 owner, u32 part, u32 parts, const Probe &probe, Warp &its) {
    const u32 begin = owner ? g.batch.ends[2ull * owner - 1] : 0, middle = g.batch.ends[2ull * owner], end = g.batch.ends[2ull * owner + 1];
    const u64 many = end - middle;
    const u64 count = stream_long(g, middle + (u32)(many * part / parts), middle + (u32)(many * (part + 1) / parts), probe, its);
    const u64 n = middle - begin;
    const u32 first = begin + (u32)(n * part / parts), mine = begin + (u32)(n * (part + 1) / parts) - first;
    const u32 warp = threadIdx.x / WARP, warps = OWNER_THREADS / WARP;
    const u32 at = first + (u32)((u64)mine * warp / warps), last = first + (u32)((u64)mine * (warp + 1) / warps);
    uint2 arc = make_uint2(0, 0);
    if (at + threadIdx.x % WARP < last) arc = g.batch.arcs[at + threadIdx.x % WARP];
    const u64 sum = count + stream(g, at, last, arc, probe, its);
    // Matches that wait are added now, as they refer to this owner and this part of its row.
    if (Probe::Found::EDGES) probe.found.finish();
    return sum;
}

template <class Found> __device__ __forceinline__ void by_block(const Arguments &g, const Found &of_any_owner, Warp &its, const Before &before) {
    __shared__ __align__(16) u32 bitmap[HUBS / 32 + 4];
    __shared__ u32 tail[TAIL_SLOTS], taken[2], hub_words, arcs;
    unsigned char *hubs = (unsigned char *)bitmap;
    for (u32 i = threadIdx.x; i < HUBS / 32 + 4; i += OWNER_THREADS) bitmap[i] = 0;
    for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += OWNER_THREADS) tail[i] = 0;
    const u32 items = g.batch.state[1];
    u64 count = 0;
    if (threadIdx.x == 0) taken[0] = atomicAdd(g.batch.state + 3, 1);
    for (u32 turn = 0;; turn ^= 1) {
        __syncthreads();
        if (taken[turn] >= items) break;
        const u64 item = g.batch.list[g.batch.list_length - 1 - taken[turn]];
        const u32 owner = (u32)item, part = (u32)(item >> 32) & 0xffff, parts = (u32)(item >> 48);
        const uint2 row = row_of(g, owner);
        const u32 *words = (const u32 *)(g.all.words + row.x);
        const u32 counter = Found::EDGES ? *first_of(g, row.x) : 0;
        const Found found = of_owner(of_any_owner, counter);
        for (u32 i = threadIdx.x; i < row.y; i += OWNER_THREADS) {
            const u32 word = words[i];
            if (Found::EDGES && i + 1 == row.y) arcs = first_of_word(g, row.x, i) - counter + __popc(successors_of(word, g.all.k));
            if (word < HUB) {
                *(u16 *)(hubs + (word >> 16)) = (u16)word;
                if (Found::EDGES) before.hubs[word >> 17] = (u16)(first_of_word(g, row.x, i) - counter);
                if (i + 1 == row.y || words[i + 1] >= HUB) hub_words = i + 1;
            } else if (i == 0) hub_words = 0;
        }
        // Prefetch the next item while this one is counted.
        if (threadIdx.x == 0) taken[turn ^ 1] = atomicAdd(g.batch.state + 3, 1);
        __syncthreads();
        const u32 of_hubs = hub_words;
        u64 in_all = 0;
        if (of_hubs == row.y) {
            in_all = stream_all(g, owner, part, parts, Bitmap<false, Found>{hubs, tail, g.all.k, found, before}, its);
            __syncthreads();
        }
        for (u32 from = of_hubs; from < row.y; from += TAIL_WORDS) {
            const u32 to = min(row.y, from + TAIL_WORDS);
            for (u32 i = from + threadIdx.x; i < to; i += OWNER_THREADS) {
                const u32 slot = put(tail, words[i], g.all.k);
                if (Found::EDGES) before.tail[slot] = first_of_word(g, row.x, i) - counter;
            }
            __syncthreads();
            in_all += stream_all(g, owner, part, parts, Bitmap<true, Found>{hubs, tail, g.all.k, found, before}, its);
            __syncthreads();
            for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += OWNER_THREADS) tail[i] = 0;
            if (to < row.y) {
                // Hubs were counted with the first part of the tail.
                for (u32 i = threadIdx.x; i < of_hubs; i += OWNER_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
                __syncthreads();
            }
        }
        for (u32 i = threadIdx.x; i < of_hubs; i += OWNER_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
        if (Found::VERTICES) credit_owner(g, owner, in_all);
        if (Found::EDGES) found.take_arcs(arcs, threadIdx.x, OWNER_THREADS);
        count += in_all;
    }
    add_up(count, g.all.total);
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_BLOCKS) packed_by_block(Arguments g) {
    Warp none{};
    by_block(g, Total{}, none, Before{});
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_VERTICES_BLOCKS) packed_by_block_vertices(const __grid_constant__ Arguments g) {
    __shared__ u32 near[NEAR / 4], sums[OWNER_THREADS], hits[OWNER_THREADS / WARP * Waiting::MOST];
    const OfBlock found{g, near};
    const u32 warp = threadIdx.x / WARP;
    Warp its{sums + warp * WARP, {hits + warp * Waiting::MOST, 0}};
    sums[threadIdx.x] = 0;
    found.clear();
    by_block(g, found, its, Before{});
    its.waiting.finish(found);
    found.finish();
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_EDGES_BLOCKS) packed_by_block_edges(const __grid_constant__ Arguments g) {
    __shared__ u32 near[NEAR_OF_BLOCK], sums[OWNER_THREADS], tail[TAIL_SLOTS], finds[OWNER_THREADS / WARP * FINDS_WORDS];
    __shared__ u16 hubs[HUBS / 16];
    for (u32 i = threadIdx.x; i < NEAR_OF_BLOCK; i += OWNER_THREADS) near[i] = 0;
    sums[threadIdx.x] = 0;
    __syncthreads();
    Warp its{sums + threadIdx.x / WARP * WARP, {nullptr, 0}};
    u32 many = 0;
    const Counters counters{g.all.on_arcs, near, NEAR_OF_BLOCK, 0};
    by_block(g, OnArcs{counters, finds + threadIdx.x / WARP * FINDS_WORDS, &many}, its, Before{hubs, tail});
}
