// Selects elements and writes them one after another, in their order, in two steps: a first kernel counts those of each tile of
// SELECT_TILE, `scan` turns the counts into places, a second kernel writes. A warp has SELECT_KEYS * WARP consecutive elements.

constexpr u32 SELECT_THREADS = SELECT_TILE / SELECT_KEYS;

// The elements of a warp, and which of them are selected: a bit for each lane.
struct Selected {
    u64 first;
    u32 lanes[SELECT_KEYS];
    u32 many;
};

// Calls `select` with the index of each element of this block's tile.
template <typename Select> __device__ __forceinline__ Selected selected(u64 count, Select select) {
    Selected found;
    found.first = (u64)blockIdx.x * SELECT_TILE + threadIdx.x / WARP * WARP * SELECT_KEYS;
    found.many = 0;
#pragma unroll
    for (u32 i = 0; i < SELECT_KEYS; i++) {
        const u64 index = found.first + i * WARP + this_lane();
        found.lanes[i] = __ballot_sync(ALL, index < count && select(index));
        found.many += __popc(found.lanes[i]);
    }
    return found;
}

// Writes how many elements this block selected.
__device__ __forceinline__ void put_count(const Selected &found, u64 *tiles) {
    u32 all;
    block_exclusive(this_lane() ? 0 : found.many, all);
    if (threadIdx.x == 0) tiles[blockIdx.x] = all;
}

// Calls `put` with the place and the index of each selected element.
template <typename Put> __device__ __forceinline__ void put_selected(const Selected &found, const u64 *tiles, Put put) {
    u32 all;
    const u32 before = block_exclusive(this_lane() ? 0 : found.many, all);
    u64 place = tiles[blockIdx.x] + __shfl_sync(ALL, before, 0);
#pragma unroll
    for (u32 i = 0; i < SELECT_KEYS; i++) {
        if (found.lanes[i] >> this_lane() & 1) put(place + __popc(found.lanes[i] & lanes_below()), found.first + i * WARP + this_lane());
        place += __popc(found.lanes[i]);
    }
}

// Turns `count` numbers into the sums of those before each; their total follows them. One block.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan(u64 *numbers, u64 count) {
    u64 before = 0;
    for (u64 first = 0; first < count; first += SCAN_THREADS) {
        const u64 index = first + threadIdx.x;
        u64 all;
        const u64 place = block_exclusive(index < count ? numbers[index] : 0, all);
        if (index < count) numbers[index] = before + place;
        before += all;
    }
    if (threadIdx.x == 0) numbers[count] = before;
}
