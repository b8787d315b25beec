// Assigns each arc from a batch of locals into a piece of a row block to the end that owns it. Two passes over the batch's words: the
// first counts, the second writes; a scan is between them. Then owners are listed by their work. If all rows are short, all of this costs
// more than it saves: packed_by_group.cuh.

constexpr u32 LONG = 8;         // chunks: longer rows are streamed by several lanes
constexpr u32 SHORT = 8;        // words: up to this, one thread assigns a row
constexpr u32 WIDE = 256;       // words: up to this, several lanes assign a row; a warp, longer ones
constexpr u32 WARP_WORDS = 128;
constexpr u32 WARP_COST = 1024; // chunks
constexpr u32 PART = 1 << 15;   // chunks

// Whether all rows seen so far are so short that arcs need no owners.
__device__ __forceinline__ bool all_short(const Arguments &g) { return *g.all.longest <= g.all.most_words; }

// Raises `longest` to the words of the longest row of the batch and of the piece.
extern "C" __global__ void packed_longest(Arguments g) {
    const u64 stride = (u64)gridDim.x * blockDim.x, thread = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    u32 longest = 0;
    for (u64 i = thread; i < g.batch.count; i += stride) longest = max(longest, g.all.rows[g.batch.first + i].y);
    for (u64 i = thread; i < g.piece.end - g.piece.start; i += stride) longest = max(longest, g.piece.table[i].y);
    for (u32 step = WARP / 2; step; step >>= 1) longest = max(longest, __shfl_xor_sync(ALL, longest, step));
    if (threadIdx.x % WARP == 0 && longest > *g.all.longest) atomicMax(g.all.longest, longest);
}

extern "C" __global__ void packed_clear(Arguments g) {
    const u64 stride = (u64)gridDim.x * blockDim.x, thread = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (thread < 4) g.batch.state[thread] = 0;
    if (all_short(g)) return;
    for (u64 i = thread; i < 2ull * g.batch.owners; i += stride) g.batch.ends[i] = 0;
}

// The index of the first word whose run is that of `key` or a later one.
__device__ __forceinline__ u32 place_of(const u32 *row, u32 n, u32 key, u32 k) {
    const u32 least = packed(key, k) >> (key < HUBS ? 16 : 1u << k) << (key < HUBS ? 16 : 1u << k);
    u32 low = 0;
    while (n) {
        const u32 half = n >> 1;
        if (row[low + half] < least) {
            low += half + 1;
            n -= half + 1;
        } else n = half;
    }
    return low;
}

// The first successor of a row not below `key`; ALL: none.
__device__ __forceinline__ u32 successor_from(const u32 *row, u32 n, u32 key, u32 k) {
    for (u32 place = place_of(row, n, key, k); place < n; place++) {
        u32 base, successors;
        unpack(row[place], k, base, successors);
        if (base < key) successors &= key - base < 32 ? ALL << (key - base) : 0;
        if (successors) return base + __ffs(successors) - 1;
    }
    return ALL;
}

// Assigns the arcs of local `i` of the batch into the range, by `lanes` lanes; `next` is the first of these successors.
template <bool WRITE> __device__ __forceinline__ void assign_row(const Arguments &g, u32 i, uint2 own, u32 next, u32 lane, u32 lanes) {
    const u32 *row = (const u32 *)(g.all.words + own.x);
    const u32 range = g.piece.end - g.piece.start;
    u32 base, successors;
    unpack(row[0], g.all.k, base, successors);
    // A row that begins with `next` needs no search.
    u32 place = (base + __ffs(successors) - 1 == next ? 0 : place_of(row, own.y, next, g.all.k)) + lane;
    for (; place < own.y; place += lanes) {
        unpack(row[place], g.all.k, base, successors);
        if (base >= g.piece.end) break;
        u32 before = place; // words of this row with successors before b
        const u32 all = successors, counter = WRITE && g.all.on_arcs ? first_of_word(g, own.x, place) : 0;
        for (; successors; successors &= successors - 1, before = place + 1) {
            const u32 bit = __ffs(successors) - 1, b = base + bit, at = b - g.piece.start;
            if (at >= range) continue;
            const uint2 other = g.piece.table[at];
            const u32 words = before < other.y ? before : other.y;
            if (words == 0 || (own.y <= ONE_CHUNK && other.y <= ONE_CHUNK)) continue;
            const bool mine = other.y <= before;
            u32 owner = i;
            if (!mine) {
                owner = g.batch.count + at;
                if (g.row_block.together) {
                    const u32 local = g.row_block.locals + (b - g.row_block.start) - g.batch.first;
                    if (local < g.batch.count) owner = local;
                }
            }
            const u32 chunks = (words + 3) >> 2;
            u32 *end = g.batch.ends + 2ull * owner + (chunks > LONG);
            const u32 to = atomicAdd(end, 1);
            if (WRITE) {
                // To add to the counter of the other end, its owner index must be known, not only where its row begins.
                if (g.all.counters) g.batch.arcs[to] = make_uint2(mine ? g.batch.count + at : i, chunks);
                else g.batch.arcs[to] = make_uint2(mine ? other.x : own.x, chunks);
                if (g.all.on_arcs) g.batch.arc_counters[to] = counter + __popc(all & ((1u << bit) - 1));
            }
        }
    }
    // For shorter rows packed_by_thread.cuh updates `next`.
    if (WRITE && lane == 0 && own.y > ONE_CHUNK && g.piece.end < g.all.numbered) g.all.next[g.batch.first + i] = successor_from(row, own.y, g.piece.end, g.all.k);
}

// If rows are short, few of them have a successor in the range: a warp takes 32 rows, and reads only `next` of those without one. Of
// the others, a thread takes a row of few words, ROW_LANES lanes a longer one, the whole warp a very long one.
template <bool WRITE> __device__ __forceinline__ void assign_sparse(const Arguments &g) {
    const u32 lane = threadIdx.x % WARP, first = blockIdx.x * blockDim.x + threadIdx.x - lane;
    const u32 next = first + lane < g.batch.count ? g.all.next[g.batch.first + first + lane] : ALL;
    const uint2 own = next < g.piece.end ? g.all.rows[g.batch.first + first + lane] : make_uint2(0, 0);
    if (own.y && own.y <= SHORT) assign_row<WRITE>(g, first + lane, own, next, 0, 1);
    __syncwarp();
    for (u32 left = __ballot_sync(ALL, own.y > SHORT && own.y <= WIDE); left;) {
        // The first group of lanes takes the lowest row that is left, the second group the next one, and so on.
        u32 mine = left;
        for (u32 group = 0; group < WARP / ROW_LANES; group++) {
            if (group < lane / ROW_LANES) mine &= mine - 1;
            left &= left - 1;
        }
        const u32 i = mine ? __ffs(mine) - 1 : 0;
        const uint2 row = make_uint2(__shfl_sync(ALL, own.x, i), __shfl_sync(ALL, own.y, i));
        const u32 from = __shfl_sync(ALL, next, i);
        if (mine) assign_row<WRITE>(g, first + i, row, from, lane % ROW_LANES, ROW_LANES);
        __syncwarp();
    }
    for (u32 left = __ballot_sync(ALL, own.y > WIDE); left; left &= left - 1) {
        const u32 i = __ffs(left) - 1;
        const uint2 row = make_uint2(__shfl_sync(ALL, own.x, i), __shfl_sync(ALL, own.y, i));
        assign_row<WRITE>(g, first + i, row, __shfl_sync(ALL, next, i), lane, WARP);
        __syncwarp();
    }
}

// Assigns the arcs of all rows: by `assign_sparse` if `g.batch.lanes` is 0, else with so many lanes a row.
template <bool WRITE> __device__ __forceinline__ void assign(const Arguments &g) {
    if (all_short(g)) return;
    if (g.batch.lanes == 0) return assign_sparse<WRITE>(g);
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / g.batch.lanes);
    const u32 next = i < g.batch.count ? g.all.next[g.batch.first + i] : ALL;
    __syncwarp(); // all lanes have read `next` before the row's first lane overwrites it
    if (next < g.piece.end) assign_row<WRITE>(g, i, g.all.rows[g.batch.first + i], next, threadIdx.x % g.batch.lanes, g.batch.lanes);
}

extern "C" __global__ void packed_count_arcs(Arguments g) { assign<false>(g); }
extern "C" __global__ void packed_assign_arcs(Arguments g) { assign<true>(g); }

// An exclusive scan of `ends` by three kernels with blocks of 256 threads.

extern "C" __global__ void packed_sum(Arguments g) {
    if (all_short(g)) return;
    const u64 first = blockIdx.x * (u64)SCAN + threadIdx.x * 16;
    u32 sum = 0, all;
    for (u32 j = 0; j < 16; j++)
        if (first + j < 2ull * g.batch.owners) sum += g.batch.ends[first + j];
    block_exclusive(sum, all);
    if (threadIdx.x == 0) g.batch.sums[blockIdx.x] = all;
}

// One block.
extern "C" __global__ void packed_sum_of_sums(Arguments g) {
    if (all_short(g)) return;
    const u32 n = (u32)((2ull * g.batch.owners + SCAN - 1) / SCAN);
    u32 carry = 0;
    for (u32 i = 0; i < n; i += 256) {
        u32 all;
        const u32 at = i + threadIdx.x, before = block_exclusive(at < n ? g.batch.sums[at] : 0, all);
        if (at < n) g.batch.sums[at] = carry + before;
        carry += all;
    }
}

extern "C" __global__ void packed_scan(Arguments g) {
    if (all_short(g)) return;
    const u64 first = blockIdx.x * (u64)SCAN + threadIdx.x * 16;
    u32 values[16], sum = 0, all;
    for (u32 j = 0; j < 16; j++) {
        values[j] = first + j < 2ull * g.batch.owners ? g.batch.ends[first + j] : 0;
        sum += values[j];
    }
    u32 before = block_exclusive(sum, all) + g.batch.sums[blockIdx.x];
    for (u32 j = 0; j < 16; j++) {
        if (first + j < 2ull * g.batch.owners) g.batch.ends[first + j] = before;
        before += values[j];
    }
}

__device__ __forceinline__ uint2 row_of(const Arguments &g, u32 owner) {
    return owner < g.batch.count ? g.all.rows[g.batch.first + owner] : g.piece.table[owner - g.batch.count];
}

// Lists owners by their work: for warps or for blocks. Blocks of 256 threads.
extern "C" __global__ void packed_list(Arguments g) {
    __shared__ u32 warps_at, blocks_at;
    if (all_short(g)) return;
    const u64 owner = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    bool by_warp = false;
    u32 parts = 0;
    if (owner < g.batch.owners) {
        const u32 begin = owner ? g.batch.ends[2 * owner - 1] : 0, middle = g.batch.ends[2 * owner], end = g.batch.ends[2 * owner + 1];
        // In chunks: short rows have about 3, long ones about 24.
        const u64 cost = (middle - begin) * 3ull + (end - middle) * 24ull;
        if (cost) {
            by_warp = cost <= WARP_COST && row_of(g, (u32)owner).y <= WARP_WORDS;
            const u64 cut = (cost + PART - 1) / PART;
            if (!by_warp) parts = cut < 65535 ? (u32)cut : 65535;
        }
    }
    u32 by_warps, by_blocks;
    const u32 warps_before = block_exclusive((u32)by_warp, by_warps), blocks_before = block_exclusive(parts, by_blocks);
    if (threadIdx.x == 0) {
        if (by_warps) warps_at = atomicAdd(g.batch.state, by_warps);
        if (by_blocks) blocks_at = atomicAdd(g.batch.state + 1, by_blocks);
    }
    __syncthreads();
    if (by_warp) g.batch.list[warps_at + warps_before] = owner;
    for (u32 part = 0; part < parts; part++)
        g.batch.list[g.batch.list_length - 1 - (blocks_at + blocks_before + part)] = (u64)parts << 48 | (u64)part << 32 | owner;
}

