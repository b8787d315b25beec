// Primitives of the papers' methods: scans, sums, a radix sort of 64-bit keys, a selection of keys, and where the rows of a sorted list begin.
//
// Every parameter of a kernel is 64 bits wide (a pointer or a number), so that the host can pass them as a list; it checks their
// number. Blocks have 256 threads unless a kernel says otherwise. Lists have fewer than 2^32 entries.
//
// A list is divided into tiles, one for a warp. A pass of the radix sort counts the digits of each tile, scans the counts (by digit, and
// by tile within a digit) and moves every key to its place. A tile's keys are taken in order, so the pass is stable; each place is
// written once.

constexpr u32 MOST_WARPS = 8; // of a block of 256 threads

// An exclusive scan in place, in three launches: sums of chunks, their scan by one block, all chunks.
template <typename T> __device__ __forceinline__ void scan_sums(const T *values, u64 len, T *sums) {
    const u64 begin = blockIdx.x * SCAN_CHUNK, end = min(begin + SCAN_CHUNK, len);
    T mine = 0, total;
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) mine += values[i];
    block_exclusive(mine, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

template <typename T> __device__ __forceinline__ void scan_tops(T *sums, u64 len, T *all) {
    T carry = 0, total;
    for (u64 base = 0; base < len; base += blockDim.x) {
        const u64 i = base + threadIdx.x;
        T before = block_exclusive(i < len ? sums[i] : T(0), total);
        if (i < len) sums[i] = carry + before;
        carry += total;
    }
    if (threadIdx.x == 0) *all = carry;
}

template <typename T> __device__ __forceinline__ void scan_apply(T *values, u64 len, const T *sums) {
    const u64 begin = blockIdx.x * SCAN_CHUNK, end = min(begin + SCAN_CHUNK, len);
    T carry = sums[blockIdx.x], total;
    for (u64 base = begin; base < end; base += blockDim.x) {
        const u64 i = base + threadIdx.x;
        T before = block_exclusive(i < end ? values[i] : T(0), total);
        if (i < end) values[i] = carry + before;
        carry += total;
    }
}

extern "C" __global__ void __launch_bounds__(256) scan32_sums(const u32 *values, u64 len, u32 *sums) { scan_sums(values, len, sums); }
extern "C" __global__ void __launch_bounds__(1024) scan32_tops(u32 *sums, u64 len, u32 *all) { scan_tops(sums, len, all); }
extern "C" __global__ void __launch_bounds__(256) scan32_apply(u32 *values, u64 len, const u32 *sums) { scan_apply(values, len, sums); }
extern "C" __global__ void __launch_bounds__(256) scan64_sums(const u64 *values, u64 len, u64 *sums) { scan_sums(values, len, sums); }
extern "C" __global__ void __launch_bounds__(1024) scan64_tops(u64 *sums, u64 len, u64 *all) { scan_tops(sums, len, all); }
extern "C" __global__ void __launch_bounds__(256) scan64_apply(u64 *values, u64 len, const u64 *sums) { scan_apply(values, len, sums); }

// Each block sums its share of the values; a second launch of one block adds these sums up.
template <typename T> __device__ __forceinline__ void sum_of(const T *values, u64 len, u64 *sums) {
    u64 mine = 0, total;
    for (u64 i = this_thread(); i < len; i += all_threads()) mine += values[i];
    block_exclusive(mine, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(256) sum32(const u32 *values, u64 len, u64 *sums) { sum_of(values, len, sums); }
extern "C" __global__ void __launch_bounds__(256) sum64(const u64 *values, u64 len, u64 *sums) { sum_of(values, len, sums); }

// Counts the digits of a tile of keys into `counters` of this warp.
template <typename Digit>
__device__ __forceinline__ void count_digits(const u64 *keys, u64 begin, u64 end, u32 *counters, u32 digits, Digit digit) {
    for (u32 i = this_lane(); i < digits; i += WARP) counters[i] = 0;
    __syncwarp();
    for (u64 i = begin + this_lane(); i < end; i += WARP) atomicAdd(counters + digit(keys[i]), 1u);
    __syncwarp();
}

// Moves a tile's keys, in order, to the places that begin at this warp's `counters`.
template <typename Digit>
__device__ __forceinline__ void move_keys(const u64 *from, u64 *to, u64 begin, u64 end, u32 *counters, Digit digit) {
    for (u64 base = begin; base < end; base += WARP) {
        const u64 i = base + this_lane();
        const bool there = i < end;
        const u64 key = there ? from[i] : 0;
        const u32 mine = there ? digit(key) : ALL; // no digit has this value
        const u32 same = __match_any_sync(ALL, mine);
        const u32 before = __popc(same & lanes_below());
        const u32 place = there ? counters[mine] : 0;
        if (there) to[place + before] = key;
        __syncwarp();
        if (there && before == 0) counters[mine] = place + __popc(same);
        __syncwarp();
    }
}

// A pass of the sort by the 8 bits from `shift` on. `counts` has 256 entries for each tile.
extern "C" __global__ void __launch_bounds__(256) sort_count(const u64 *keys, u64 len, u64 shift, u32 *counts, u64 tiles) {
    __shared__ u32 counters[MOST_WARPS][256];
    const u64 tile = this_thread() / WARP;
    u32 *mine = counters[threadIdx.x / WARP];
    if (tile >= tiles) return;
    count_digits(keys, tile * TILE, min((tile + 1) * TILE, len), mine, 256, [=](u64 key) { return (u32)(key >> shift) & 255; });
    for (u32 i = this_lane(); i < 256; i += WARP) counts[i * tiles + tile] = mine[i];
}

extern "C" __global__ void __launch_bounds__(256) sort_move(const u64 *from, u64 *to, u64 len, u64 shift, const u32 *places, u64 tiles) {
    __shared__ u32 counters[MOST_WARPS][256];
    const u64 tile = this_thread() / WARP;
    u32 *mine = counters[threadIdx.x / WARP];
    if (tile >= tiles) return;
    for (u32 i = this_lane(); i < 256; i += WARP) mine[i] = places[i * tiles + tile];
    __syncwarp();
    move_keys(from, to, tile * TILE, min((tile + 1) * TILE, len), mine, [=](u64 key) { return (u32)(key >> shift) & 255; });
}

// A selection of keys, in their order. The first pass counts those of each tile that `keep` accepts; the second one moves them to the places
// that a scan of the counts gives.
template <typename Keep> __device__ __forceinline__ void count_where(const u64 *keys, u64 len, u32 *counts, Keep keep) {
    const u64 begin = this_thread() / WARP * TILE, end = min(begin + TILE, len);
    if (begin >= len) return;
    u32 kept = 0;
    for (u64 i = begin + this_lane(); i < end; i += WARP) kept += keep(keys[i]);
    kept = warp_sum(kept);
    if (this_lane() == 0) counts[begin / TILE] = kept;
}

template <typename Keep> __device__ __forceinline__ void move_where(const u64 *from, u64 len, const u32 *places, u64 *to, Keep keep) {
    const u64 begin = this_thread() / WARP * TILE, end = min(begin + TILE, len);
    if (begin >= len) return;
    u32 place = places[begin / TILE];
    for (u64 base = begin; base < end; base += WARP) {
        const bool there = base + this_lane() < end;
        const u64 key = there ? from[base + this_lane()] : 0;
        const bool mine = there && keep(key);
        const u32 kept = __ballot_sync(ALL, mine);
        if (mine) to[place + __popc(kept & lanes_below())] = key;
        place += __popc(kept);
    }
}

// Where the keys of each vertex begin: a key's high half is its vertex, keys ascend. Thread i compares keys i - 1 and i, and also writes
// the entries of vertices between them, which have no keys. `node` has `vertices + 1` entries.
extern "C" __global__ void __launch_bounds__(256) node_array(const u64 *keys, u64 len, u64 vertices, u32 *node) {
    const u64 i = this_thread();
    if (i > len) return;
    u64 vertex = i ? (keys[i - 1] >> 32) + 1 : 0;
    const u64 last = i < len ? keys[i] >> 32 : vertices;
    for (; vertex <= last; vertex++) node[vertex] = (u32)i;
}
