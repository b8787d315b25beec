// Method `lstc`: Algorithm 3 and section 4.4 of "LSTC: Large-Scale Triangle Counting on Single GPU" (ICPE 2026).
//
// Input: the resident rows of a partition and one row block: the rows of the proxies in a range of numbers, or of all numbers in it.
// Rows ascend strictly, every successor is smaller than its row's own number. Output: the triangles that start at each local vertex
// (its corner of largest number), added to `sums`.
//
// The lines of Algorithm 3 in this file:
//   2, 7, 8    a block takes one local vertex `a` from the work list, and its row N+(a)
//   11         the work list holds only local vertices with two successors or more
//   12 to 15   the row is copied to shared memory tile by tile; a tile is used completely before the next one is copied
//   16 to 19   every successor b of the row, and the bounds of its row
//   20 to 22   the elements of N+(b) are distributed round-robin over the threads, adjacent elements to adjacent threads
//   23, 24     binary search of each element in the tile
//   28 to 32   the threads' counts are added to one sum a block, which is written without atomics
//
// Choices where the paper is silent, or where the numbering of a partition saves work:
//   - The tile's width and the number of threads are independent (line 5 sets them equal).
//   - Successors' rows are distributed in units of a warp's width, and each row begins with the warp after the one that took the end of
//     the row before, instead of the first warp. So short rows keep all warps busy; accesses are as coalesced as in Figure 6(b).
//   - Bounds of successors' rows are fetched into shared memory by all threads at once, a successor each (in both variants).
//   - All of N+(b) is below b, so it is searched for only among the entries of the row before b: a tile that begins behind b is skipped,
//     and the search covers only the part of a tile below b.
//   - A row is counted in pieces: the successors in a row block's range, which are contiguous since rows ascend. A cursor for each
//     vertex has the end of the last piece.
// The variant without shared memory (Figure 9) searches the whole row in global memory, and is the same otherwise.
//
// Not in the paper: further variants also count the triangles at each vertex, or on each arc. A block adds up in shared memory how many
// triangles each entry of the tile has, and each successor b whose row is being searched; then it adds each sum to a counter in global
// memory, with one atomic. The arc from b to the third corner gets an atomic for each triangle.

// Mirrored by `LstcArguments` in src/lstc/arguments.rs, field by field.
struct Arguments {
    const u64 *offsets;       // where each local's row begins in `successors`, and where the last one ends
    const u32 *successors;
    const u32 *work;          // locals to count, ascending; null: all
    u32 *cursors;             // entries of each local's row that earlier row blocks covered
    u64 *sums;                // triangles of each local
    u64 *counters;            // triangles at each vertex, from counter `counters_first` on
    u64 counters_first;       // the first counter of this pass. Number j has counter j, local i counter `locals_at` + i
    u64 counters_end;         // the end of the counters of this pass, exclusive
    u64 locals_at;
    u32 *on_arcs;             // triangles on each resident arc
    u32 *row_block_on_arcs;   // triangles on each arc of the row block
    const u64 *words;         // which numbers of the range are local, 64 a word; null: every row is in the row block
    const u32 *ranks;         // locals of the range before each word
    const u32 *row_block_offsets; // where its rows begin in `row_block_successors`, and where the last one ends; null: all are local
    const u32 *row_block_successors;
    u32 work_first;           // the first entry of the work list for this launch, which takes one for each block
    u32 range_start;          // the numbers that the row block covers
    u32 range_end;
    u32 first_local;          // locals before the range
    u32 whole;                // the row block covers all numbers: cursors are not needed
    u32 tile_width;
};

// What is counted besides the triangles of each local.
enum Detail { TOTAL, VERTICES, EDGES };

// The last of the `n` (at least one) ascending `entries` that is at most `key`, or the first. The number of steps depends on `n` alone,
// so threads with the same `n` do not diverge.
__device__ __forceinline__ const u32 *search(const u32 *entries, u32 n, u32 key) {
    const u32 *low = entries;
    while (n > 1) {
        u32 half = n >> 1;
        low = low[half] <= key ? low + half : low;
        n -= half;
    }
    return low;
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

// Adds triangles to a counter, if this pass holds it.
__device__ __forceinline__ void credit(const Arguments &g, u64 counter, u64 triangles) {
    const u64 at = counter - g.counters_first;
    if (triangles && at < g.counters_end - g.counters_first) atomicAdd(g.counters + at, triangles);
}

// Adds the sums that a block has in shared memory to the counters of their vertices, and clears them.
__device__ __forceinline__ void credit_all(const Arguments &g, const u32 *vertices, u32 *found, u32 many) {
    for (u32 i = threadIdx.x; i < many; i += blockDim.x) {
        credit(g, vertices[i], found[i]);
        found[i] = 0;
    }
}

// Adds the sums that a block has in shared memory to the counters of consecutive arcs, and clears them.
__device__ __forceinline__ void credit_arcs(u32 *on_arcs, u32 *found, u32 many) {
    for (u32 i = threadIdx.x; i < many; i += blockDim.x) {
        if (found[i]) atomicAdd(on_arcs + i, found[i]);
        found[i] = 0;
    }
}

// The counters of the arcs of a successor's row. In memory row blocks come after the resident rows.
__device__ __forceinline__ u32 *on_arcs_of(const Arguments &g, const u32 *row) {
    if (g.row_block_offsets && row >= g.row_block_successors) return g.row_block_on_arcs + (row - g.row_block_successors);
    return g.on_arcs + (row - g.successors);
}

// Shared memory: `blockDim.x` begins (8 bytes), as many lengths (4 bytes), then the tile. If triangles are counted at vertices or on
// arcs, then a count for each of these successors, and for each entry of the tile. Threads: a multiple of 32.
template <bool TILED, Detail DETAIL> __device__ __forceinline__ void count(const Arguments &g) {
    constexpr bool DETAILED = DETAIL != TOTAL;
    extern __shared__ u64 shared[];
    __shared__ u64 warp_sums[WARP];
    const u32 **begins = (const u32 **)shared;
    u32 *lengths = (u32 *)(shared + blockDim.x);
    u32 *tile = lengths + blockDim.x;
    u32 *at_successors = tile + g.tile_width, *at_entries = at_successors + blockDim.x;
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;

    const u32 item = g.work_first + blockIdx.x;
    const u32 a = g.work ? __ldg(g.work + item) : item;
    const u64 row_begin = __ldg(g.offsets + a);
    const u32 *row = g.successors + row_begin;
    u32 first = 0, end = (u32)(__ldg(g.offsets + a + 1) - row_begin);
    if (!g.whole) {
        // Find the first successor past the range: each thread reads one successor, until one of them is past the range's end.
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
    u32 owed = warp; // units (of a warp's width) to skip until this warp's next one
    const u32 width = TILED ? g.tile_width : end;
    if (DETAILED) {
        for (u32 i = threadIdx.x; i < blockDim.x + g.tile_width; i += blockDim.x) at_successors[i] = 0;
    }
    // The last entry of the piece is only ever a middle corner, so no tile needs it.
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
            u32 found = 0; // cannot overflow: a thread's share of the rows of at most `blockDim.x` successors
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
                u32 of_successor = 0, *on_arcs = DETAIL == EDGES ? on_arcs_of(g, successor_row) : nullptr;
                for (; owed < widths; owed += warps) {
                    const u32 at = owed * WARP + lane;
                    if (at < length && !past) {
                        const u32 key = __ldg(successor_row + at);
                        past = key > last;
                        if (past) continue;
                        const u32 *place = search(tile, below, key);
                        if (*place != key) continue;
                        of_successor++;
                        if (DETAILED && TILED) atomicAdd(at_entries + (place - tile), 1u);
                        if (DETAIL == VERTICES && !TILED) credit(g, key, 1);
                        if (DETAIL == EDGES && !TILED) atomicAdd(g.on_arcs + row_begin + (place - tile), 1u);
                        if (DETAIL == EDGES) atomicAdd(on_arcs + at, 1u);
                    }
                }
                owed -= widths;
                found += of_successor;
                if (DETAILED && of_successor) atomicAdd(at_successors + j, of_successor);
            }
            triangles += found;
            __syncthreads(); // before the tile, the begins and the lengths are overwritten
            if (DETAIL == VERTICES) credit_all(g, row + from, at_successors, many);
            if (DETAIL == EDGES) credit_arcs(g.on_arcs + row_begin + from, at_successors, many);
        }
        if (DETAIL == VERTICES && TILED) credit_all(g, tile, at_entries, filled);
        if (DETAIL == EDGES && TILED) credit_arcs(g.on_arcs + row_begin + start, at_entries, filled);
        if (DETAILED) __syncthreads(); // before these counts are added to
    }

    triangles = warp_sum(triangles);
    if (lane == 0) warp_sums[warp] = triangles;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 sum = 0;
        for (u32 i = 0; i < warps; i++) sum += warp_sums[i];
        if (sum) g.sums[a] = g.whole ? sum : g.sums[a] + sum;
        if (DETAIL == VERTICES) credit(g, g.locals_at + a, sum);
    }
}

// Two blocks of 1024 on a multiprocessor: 32 registers a thread, so that the largest possible number of threads hides the latency of
// the successors' rows. (If a multiprocessor holds fewer threads, the compiler ignores the second number.)
extern "C" __global__ void __launch_bounds__(1024, 2) lstc_tiled(const Arguments g) { count<true, TOTAL>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_tiled_vertices(const Arguments g) { count<true, VERTICES>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_tiled_edges(const Arguments g) { count<true, EDGES>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_global(const Arguments g) { count<false, TOTAL>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_global_vertices(const Arguments g) { count<false, VERTICES>(g); }

extern "C" __global__ void __launch_bounds__(1024, 2) lstc_global_edges(const Arguments g) { count<false, EDGES>(g); }

// Each block writes the sum of its share of `values` to `sums[blockIdx.x]`; a second launch of one block adds these up.
extern "C" __global__ void __launch_bounds__(1024) sum(const u64 *values, u64 len, u64 *sums) {
    u64 mine = 0, all;
    for (u64 i = this_thread(); i < len; i += all_threads()) mine += values[i];
    block_exclusive(mine, all);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}
