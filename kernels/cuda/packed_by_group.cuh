// `by_group`: if no row has more than GROUP_WORDS words, counts all arcs except those between two rows of one chunk. ROW_LANES lanes take a
// local and put its row into a hash table in shared memory. The words of its successors' rows are looked up there; a bitmap of hashes rejects
// most of them first in uniform graphs. Arcs get no owners: assigning them costs more than reading the longer of two short rows.

constexpr u32 FILTER_BITS = 12; // bits of a hash that choose a bit of the bitmap
constexpr u32 FILTER = (1u << FILTER_BITS) / 32; // words of the bitmap

#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
#define BY_GROUP_BLOCKS 10
#elif __CUDA_ARCH__ >= 800
#define BY_GROUP_BLOCKS 8
#else
#define BY_GROUP_BLOCKS 5
#endif

constexpr u32 GROUP_SLOTS = 2 * GROUP_WORDS; // slots of a hash table with open addressing

// The row of the local that a group of lanes has: the bitmap, and the hash table of its words.
struct GroupRow {
    uint4 filter[FILTER / 4];
    uint4 slots[GROUP_SLOTS / 4];
};

// The rows that a warp streams, one a lane (first chunk, number of chunks), and their pairs of chunks, each as `lane << 3 | pair of the row`.
struct LaneRows {
    uint2 rows[WARP];
    unsigned char pairs[WARP * GROUP_WORDS / 8];
};

__device__ __forceinline__ u32 hash_of(u32 run) { return run * GOLDEN; }
// For a hash: the word of the bitmap, in which the lowest five bits of the hash choose the bit; and the first slot to probe.
__device__ __forceinline__ u32 filter_word(u32 hash) { return hash >> (37 - FILTER_BITS); }
__device__ __forceinline__ u32 group_slot(u32 hash) { return hash >> 20 & (GROUP_SLOTS - 1); }

// Takes the successors of a lane's share of a row, one after another.
struct LaneSuccessors {
    u32 words[GROUP_WORDS / ROW_LANES]; // not unpacked yet; then zeros
    u32 base, bits;

    // The next successor; ALL: there is none.
    __device__ __forceinline__ u32 next(u32 k) {
        if (bits == 0) {
            if (words[0] == 0) return ALL;
            unpack(words[0], k, base, bits);
#pragma unroll
            for (u32 j = 1; j < GROUP_WORDS / ROW_LANES; j++) words[j - 1] = words[j];
            words[GROUP_WORDS / ROW_LANES - 1] = 0;
        }
        const u32 successor = base + __ffs(bits) - 1;
        bits &= bits - 1;
        return successor;
    }

    // The row of the next successor: without words if another kernel or launch counts the arc; {ALL, 0} after the last one.
    __device__ __forceinline__ uint2 next_row(const Arguments &g, bool one_chunk) {
        const u32 b = next(g.all.k);
        if (b == ALL) return make_uint2(ALL, 0);
        if (b - g.piece.start >= g.piece.end - g.piece.start) return make_uint2(0, 0);
        const uint2 row = g.piece.table[b - g.piece.start];
        return make_uint2(row.x, one_chunk && row.y <= ONE_CHUNK ? 0 : row.y);
    }
};

// Adds a word of the row to the bitmap and the hash table.
__device__ __forceinline__ void put(GroupRow &own, u32 word, u32 k) {
    const u32 hash = hash_of(run_of(word, k));
    atomicOr((u32 *)own.filter + filter_word(hash), 1u << hash % 32);
    u32 slot = group_slot(hash);
    while (atomicCAS((u32 *)own.slots + slot, 0, word)) slot = (slot + 1) % GROUP_SLOTS;
}

// Whether the row may have a word of the same run, by the bitmap.
__device__ __forceinline__ u32 passes(const GroupRow &own, u32 word, u32 k) {
    const u32 hash = hash_of(run_of(word, k));
    return __funnelshift_r(((const u32 *)own.filter)[filter_word(hash)], 0, hash) & 1;
}

// The successors that a word has in common with the row.
__device__ __forceinline__ u32 common(const GroupRow &own, u32 word, u32 k) {
    const u32 bits = bits_of(word, k);
    for (u32 slot = group_slot(hash_of(word >> bits));; slot = (slot + 1) % GROUP_SLOTS) {
        const u32 its = ((const u32 *)own.slots)[slot];
        if (its == 0) return 0;
        if ((its ^ word) >> bits == 0) return __popc(its & word & ((1u << bits) - 1));
    }
}

// The same for a chunk. All words are tested by the bitmap before any is looked up.
__device__ __forceinline__ u32 common(const GroupRow &own, uint4 q, u32 k) {
    const u32 x = passes(own, q.x, k), y = passes(own, q.y, k), z = passes(own, q.z, k), w = passes(own, q.w, k);
    u32 count = 0;
    if (x | y | z | w) {
        if (x) count = common(own, q.x, k);
        if (y) count += common(own, q.y, k);
        if (z) count += common(own, q.z, k);
        if (w) count += common(own, q.w, k);
    }
    return count;
}

// This lane's share of the words of a row.
__device__ __forceinline__ LaneSuccessors words_of(const Arguments &g, uint2 row) {
    LaneSuccessors its{};
#pragma unroll
    for (u32 j = 0, at = threadIdx.x % ROW_LANES; j < GROUP_WORDS / ROW_LANES; j++, at += ROW_LANES)
        if (at < row.y) its.words[j] = ((const u32 *)(g.all.words + row.x))[at];
    return its;
}

__device__ __forceinline__ uint2 row_of_lane(uint2 row, u32 lane) { return make_uint2(__shfl_sync(ALL, row.x, lane), __shfl_sync(ALL, row.y, lane)); }

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_GROUP_BLOCKS) packed_by_group(Arguments g) {
    constexpr u32 GROUPS = WARP / ROW_LANES;
    __shared__ GroupRow owns[OWNER_THREADS / ROW_LANES];
    __shared__ LaneRows rows_of[OWNER_THREADS / WARP];
    if (*g.all.longest <= ONE_CHUNK || !all_short(g)) return;
    const u32 lane = threadIdx.x % ROW_LANES, warp_lane = threadIdx.x % WARP, group = warp_lane / ROW_LANES;
    const GroupRow *of_warp = owns + threadIdx.x / WARP * GROUPS;
    GroupRow &own = owns[threadIdx.x / ROW_LANES];
    LaneRows &rows = rows_of[threadIdx.x / WARP];
    u64 count = 0;
    const u64 end = (u64)g.batch.first + g.batch.count;
    for (u64 a = g.batch.first + blockIdx.x * (u64)OWNER_THREADS + threadIdx.x; __any_sync(ALL, a < end); a += (u64)gridDim.x * OWNER_THREADS) {
        const u32 next = a < end ? g.all.next[a] : ALL;
        const uint2 row_of_a = next < g.piece.end ? g.all.rows[a] : make_uint2(0, 0);
        LaneSuccessors ahead = words_of(g, row_of_lane(row_of_a, group));
        for (u32 step = 0; step < ROW_LANES; step++) {
            const uint2 row = row_of_lane(row_of_a, step * GROUPS + group);
            LaneSuccessors successors = ahead;
            // The words for the next step are read while these are counted.
            ahead = words_of(g, row_of_lane(row_of_a, ((step + 1) * GROUPS + group) % WARP));
            for (u32 i = lane; i < FILTER / 4; i += ROW_LANES) own.filter[i] = nothing();
            for (u32 i = lane; i < GROUP_SLOTS / 4; i += ROW_LANES) own.slots[i] = nothing();
            __syncwarp();
#pragma unroll
            for (u32 j = 0; j < GROUP_WORDS / ROW_LANES; j++)
                if (successors.words[j]) put(own, successors.words[j], g.all.k);
            if (lane == 0) successors.next(g.all.k); // no successor is before the first one, so it is skipped
            // Even if no row is streamed, all words are in the table before another lane clears it.
            __syncwarp();
            uint2 other = successors.next_row(g, row.y <= ONE_CHUNK);
            while (__any_sync(ALL, other.x != ALL)) {
                const u32 pairs = (other.y + 7) / 8, after = warp_inclusive(pairs), all = __shfl_sync(ALL, after, WARP - 1);
                rows.rows[warp_lane] = make_uint2(other.x, (other.y + 3) / 4);
                for (u32 c = 0; c < pairs; c++) rows.pairs[after - pairs + c] = (unsigned char)(warp_lane << 3 | c);
                other = successors.next_row(g, row.y <= ONE_CHUNK);
                __syncwarp();
                for (u32 c = warp_lane; c < all; c += WARP) {
                    const u32 pair = rows.pairs[c], of_lane = pair >> 3, chunk = pair % 8 * 2;
                    const uint2 its = rows.rows[of_lane];
                    const uint4 p = __ldcs(g.all.words + its.x + chunk), q = chunk + 1 < its.y ? __ldcs(g.all.words + its.x + chunk + 1) : nothing();
                    const GroupRow &owner = of_warp[of_lane / ROW_LANES];
                    count += common(owner, p, g.all.k) + common(owner, q, g.all.k);
                }
                __syncwarp();
            }
        }
        // Not needed after the last range; packed_by_thread.cuh does the same for rows of one chunk.
        if (row_of_a.y > ONE_CHUNK && g.piece.end < g.all.numbered) g.all.next[a] = successor_from((const u32 *)(g.all.words + row_of_a.x), row_of_a.y, g.piece.end, g.all.k);
    }
    add_up(count, g.all.total);
}
