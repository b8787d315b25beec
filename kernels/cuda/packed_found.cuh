// What happens to the common successors of two rows: they are counted and, where triangles are counted at each vertex, added to the
// counters of their corners.
//
// The corner of the smallest number is met once for each triangle, and hubs are nearly all of these corners. So each block counts them
// for the first NEAR counters in shared memory, and adds these to the counters of all blocks in the end. They cannot overflow: an arc
// adds at most 1 to a counter, and a batch has fewer than 2^32 arcs. The other two corners are added once for each arc.

constexpr u32 NEAR = 4096;

// The counter of a local of the batch, or of a number of the range: `owner` as in packed_assign.cuh.
__device__ __forceinline__ u32 counter_of(const Arguments &g, u32 owner) {
    return owner < g.count ? g.locals_at + g.first + owner : g.range_start + (owner - g.count);
}

// Adds triangles to a counter, if this pass holds it.
__device__ __forceinline__ void credit(const Arguments &g, u32 counter, u64 triangles) {
    const u32 at = counter - g.counters_first;
    if (at < g.counters_end - g.counters_first) atomicAdd(g.counters + at, triangles);
}

template <bool VERTICES> struct Found {
    const Arguments &g;
    u32 *near;

    // `both`: the bits that `word` has in common with another word of its run.
    __device__ __forceinline__ u32 operator()(u32 word, u32 both) const {
        if (VERTICES && both) {
            u32 base, its;
            unpack(word, g.k, base, its);
            base -= g.counters_first + 1;
            const u32 counters = g.counters_end - g.counters_first;
            for (u32 left = both; left; left &= left - 1) {
                const u32 at = base + __ffs(left);
                if (at < NEAR) atomicAdd(near + at, 1u);
                else if (at < counters) atomicAdd(g.counters + at, 1ull);
            }
        }
        return __popc(both);
    }
};

// Before and after a block counts. Both are reached by all threads of the block.
__device__ __forceinline__ void clear_near(u32 *near) {
    for (u32 i = threadIdx.x; i < NEAR; i += blockDim.x) near[i] = 0;
    __syncthreads();
}

__device__ __forceinline__ void add_near(const Arguments &g, const u32 *near) {
    __syncthreads();
    const u32 counters = g.counters_end - g.counters_first;
    for (u32 i = threadIdx.x; i < NEAR && i < counters; i += blockDim.x)
        if (near[i]) atomicAdd(g.counters + i, (u64)near[i]);
}
