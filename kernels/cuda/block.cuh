// Sums and scans over warps and blocks.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 WARP = 32;
constexpr u32 ALL = 0xffffffffu;

__device__ __forceinline__ u64 this_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 all_threads() { return (u64)gridDim.x * blockDim.x; }
__device__ __forceinline__ u32 this_lane() { return threadIdx.x % WARP; }
__device__ __forceinline__ u32 lanes_below() { return (1u << this_lane()) - 1; }

template <typename T> __device__ __forceinline__ T warp_sum(T value) {
    for (u32 step = WARP / 2; step; step >>= 1) value += __shfl_down_sync(ALL, value, step);
    return value;
}

template <typename T> __device__ __forceinline__ T warp_inclusive(T value) {
    for (u32 step = 1; step < WARP; step <<= 1) {
        T other = __shfl_up_sync(ALL, value, step);
        if (this_lane() >= step) value += other;
    }
    return value;
}

// The sum of `value` over the threads before this one; `total`: over all threads of the block. For any number of whole warps.
template <typename T> __device__ __forceinline__ T block_exclusive(T value, T &total) {
    __shared__ T warps[WARP];
    const u32 warp = threadIdx.x / WARP;
    T inclusive = warp_inclusive(value);
    if (this_lane() == WARP - 1) warps[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        T mine = this_lane() < blockDim.x / WARP ? warps[this_lane()] : T(0);
        mine = warp_inclusive(mine);
        warps[this_lane()] = mine;
    }
    __syncthreads();
    total = warps[blockDim.x / WARP - 1];
    T before = warp ? warps[warp - 1] : T(0);
    __syncthreads(); // before the next call writes
    return before + inclusive - value;
}
