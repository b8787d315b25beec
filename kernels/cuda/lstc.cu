// Method `lstc`: Algorithm 3 and section 4.4 of "LSTC: Large-Scale Triangle Counting on Single GPU" (ICPE 2026).
//
// Enters: the resident rows of a partition and one row block, the rows of proxies in a range of numbers or of all numbers in it;
// rows strictly ascending, every successor smaller than its row's own number. Leaves: for each local vertex the triangles that
// start there, added to `sums`.
//
// How the lines of Algorithm 3 are found here:
//   2, 7, 8    a block takes the local vertex `a` of its place in the work list, and its row N+(a)
//   11         the work list holds local vertices only, and of these the ones with two successors or more
//   12 to 15   the row is brought into shared memory tile by tile; all that a tile is good for is done before the next
//   16 to 19   every successor b of the row, and the bounds of its row
//   20 to 22   the elements of N+(b), dealt round-robin to the threads, neighbours to neighbours
//   23, 24     binary search of each in the tile
//   28 to 32   the threads' counts become one sum a block, written to its place; no atomics
//
// Where the paper is silent, or where the numbering of a partition gives something for nothing:
//   - The tile's width and the number of threads are apart (line 5 sets them equal).
//   - Successors' rows are dealt in warps' widths, and dealing goes on with the next warp where the last row ended instead of
//     starting again with the first thread. So short rows keep all warps busy; accesses are as coalesced as in Figure 6(b).
//   - Bounds of successors' rows are fetched by all threads at once, a successor each, into shared memory (in both variants).
//   - All of N+(b) lies below b, so b is sought only among the entries of the row before it: successors before a tile skip the
//     tile, and the search sees the part of the tile below b.
//   - A row is counted in pieces: those successors that a row block's range covers. They are contiguous, since rows ascend; a cursor
//     a vertex remembers how far row blocks have come.
// The variant without shared memory (Figure 9) searches the row in global memory, whole; all else is the same.

typedef unsigned int u32;
typedef unsigned long long u64;

// Mirrored by `Arguments` in src/lstc/arguments.rs, field by field.
struct Arguments {
    const u64 *offsets;       // where each local's row begins in `successors`; one more at the end
    const u32 *successors;
    const u32 *work;          // locals to count, ascending; null: all
    u32 *cursors;             // entries of each local's row that earlier row blocks covered
    u64 *sums;                // triangles of each local
    const u64 *words;         // which numbers of the range are local, 64 a word; null: every row is in the row block
    const u32 *ranks;         // locals of the range before each word
    const u32 *row_block_offsets; // where each row of the row block begins in `row_block_successors`; one more at the end; null: all are local
    const u32 *row_block_successors;
    u32 work_first;           // where in the work list this launch begins; its grid is as long as its share
    u32 range_start;          // the numbers that the row block covers
    u32 range_end;
    u32 first_local;          // locals before the range
    u32 whole;                // the row block covers all numbers: cursors are not needed
    u32 tile_width;
};

constexpr u32 WARP = 32;

// Whether `key` is among the `n` (at least one) ascending `entries`. The number of steps depends on `n` alone, so threads
// with the same `n` do not diverge.
__device__ __forceinline__ u32 contains(const u32 *entries, u32 n, u32 key) {
    const u32 *low = entries;
    while (n > 1) {
        u32 half = n >> 1;
        low = low[half] <= key ? low + half : low;
        n -= half;
    }
    return *low == key;
}

// The row of successor `b`: in the row block if that has all rows of its range or `b` is a proxy, else resident.
__device__ __forceinline__ const u32 *row_of(const Arguments &g, u32 b, u32 &length) {
    u32 place = b - g.range_start;
    u32 local = place;
    if (g.row_block_offsets) {
        bool resident = false;
        if (g.words) {
            u64 word = __ldg(g.words + (place >> 6));
            local = __ldg(g.ranks + (place >> 6)) + __popcll(word & ((1ull << (place & 63)) - 1));
            resident = word >> (place & 63) & 1;
            place -= local;
        }
        if (!resident) {
            u32 begin = __ldg(g.row_block_offsets + place);
            length = __ldg(g.row_block_offsets + place + 1) - begin;
            return g.row_block_successors + begin;
        }
    }
    u64 begin = __ldg(g.offsets + g.first_local + local);
    length = (u32)(__ldg(g.offsets + g.first_local + local + 1) - begin);
    return g.successors + begin;
}

template <typename T> __device__ __forceinline__ T warp_sum(T value) {
    for (u32 step = WARP / 2; step; step >>= 1) value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

// Shared memory: `blockDim.x` begins (8 bytes), as many lengths (4 bytes), then the tile. Threads: a multiple of 32.
template <bool TILED> __device__ __forceinline__ void count(const Arguments &g) {
    extern __shared__ u64 shared[];
    __shared__ u64 warp_sums[WARP];
    const u32 **begins = (const u32 **)shared;
    u32 *lengths = (u32 *)(shared + blockDim.x);
    u32 *tile = lengths + blockDim.x;
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;

    const u32 item = g.work_first + blockIdx.x;
    const u32 a = g.work ? __ldg(g.work + item) : item;
    const u64 row_begin = __ldg(g.offsets + a);
    const u32 *row = g.successors + row_begin;
    u32 first = 0, end = (u32)(__ldg(g.offsets + a + 1) - row_begin);
    if (!g.whole) {
        // The successors before the range's end: read as many as there are threads at a time, until one is past it.
        const u32 length = end;
        first = end = g.cursors[a];
        u32 inside;
        do {
            u32 at = end + threadIdx.x;
            inside = __syncthreads_count(at < length && __ldg(row + at) < g.range_end);
            end += inside;
        } while (inside == blockDim.x);
        if (end == first) return;
        if (threadIdx.x == 0) g.cursors[a] = end;
    }
    if (end < 2) return;

    u64 triangles = 0;
    u32 owed = warp; // warps' widths to pass over before this warp's next
    const u32 width = TILED ? g.tile_width : end;
    // The last entry of the piece is a middle corner, never the highest: no tile needs it.
    for (u32 start = 0; start + 1 < end; start += width) {
        const u32 filled = min(width, end - 1 - start);
        if (TILED) {
            for (u32 i = threadIdx.x; i < filled; i += blockDim.x) tile[i] = __ldg(row + start + i);
        } else {
            tile = const_cast<u32 *>(row);
        }
        for (u32 from = max(first, start + 1); from < end; from += blockDim.x) {
            const u32 many = min(blockDim.x, end - from);
            if (threadIdx.x < many) {
                u32 length;
                begins[threadIdx.x] = row_of(g, __ldg(row + from + threadIdx.x), length);
                lengths[threadIdx.x] = length;
            }
            __syncthreads();
            u32 found = 0; // fits: a thread's share of the rows of as many successors as there are threads
            for (u32 j = 0; j < many; j++) {
                const u32 length = lengths[j];
                const u32 widths = (length + WARP - 1) / WARP;
                if (owed >= widths) {
                    owed -= widths;
                    continue;
                }
                const u32 *successor_row = begins[j];
                const u32 below = min(from + j - start, filled);
                const u32 last = tile[below - 1];
                bool past = false;
                for (; owed < widths; owed += warps) {
                    const u32 at = owed * WARP + lane;
                    if (at < length && !past) {
                        const u32 key = __ldg(successor_row + at);
                        past = key > last;
                        if (!past) found += contains(tile, below, key);
                    }
                }
                owed -= widths;
            }
            triangles += found;
            __syncthreads(); // before the tile, the begins and the lengths are written again
        }
    }

    triangles = warp_sum(triangles);
    if (lane == 0) warp_sums[warp] = triangles;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 sum = 0;
        for (u32 i = 0; i < warps; i++) sum += warp_sums[i];
        if (sum) g.sums[a] = g.whole ? sum : g.sums[a] + sum;
    }
}

// Two blocks of 1024 on a multiprocessor: 32 registers a thread, so that as many threads as there can be hide the latency of
// the successors' rows. (Where a multiprocessor has room for fewer threads, the compiler ignores the second number.)
extern "C" __global__ void __launch_bounds__(1024, 2) lstc_tiled(const Arguments g) { count<true>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_global(const Arguments g) { count<false>(g); }

// The sum of `values` over the grid's share of each block, to `sums[blockIdx.x]`; a second launch of one block ends it.
extern "C" __global__ void __launch_bounds__(1024) sum(const u64 *values, u64 len, u64 *sums) {
    __shared__ u64 warp_sums[WARP];
    u64 mine = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += (u64)gridDim.x * blockDim.x) mine += values[i];
    mine = warp_sum(mine);
    if (threadIdx.x % WARP == 0) warp_sums[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 all = 0;
        for (u32 i = 0; i < blockDim.x / WARP; i++) all += warp_sums[i];
        sums[blockIdx.x] = all;
    }
}
