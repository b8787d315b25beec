// Method `polak`: A. Polak, 'Counting Triangles in Large Graphs on GPU' (2015). The host's part and the choices are in
// src/gpu/polak.rs. A key is an edge as one 64-bit number; its high half is the vertex whose list it belongs to.

// Step 2: the largest vertex of each block's share of the edges; a second launch takes the largest of these.
extern "C" __global__ void __launch_bounds__(256) largest_vertex(const u64 *keys, u64 len, u64 *largest) {
    __shared__ u32 warps[MOST_WARPS];
    u32 mine = 0;
    for (u64 i = this_thread(); i < len; i += all_threads()) mine = max(mine, max((u32)(keys[i] >> 32), (u32)keys[i]));
    for (u32 step = WARP / 2; step; step >>= 1) mine = max(mine, __shfl_down_sync(ALL, mine, step));
    if (this_lane() == 0) warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < blockDim.x / WARP; i++) mine = max(mine, warps[i]);
        largest[blockIdx.x] = mine;
    }
}

// Step 5: edges from a vertex of higher degree to one of lower degree become `REMOVED`; on a tie the larger vertex is higher.
constexpr u64 REMOVED = ~0ull;

extern "C" __global__ void __launch_bounds__(256) mark_backward(u64 *keys, u64 len, const u32 *node) {
    const u64 i = this_thread();
    if (i >= len) return;
    const u32 tail = (u32)(keys[i] >> 32), successor = (u32)keys[i];
    const u32 of_tail = node[tail + 1] - node[tail], of_successor = node[successor + 1] - node[successor];
    if (of_tail > of_successor || (of_tail == of_successor && tail > successor)) keys[i] = REMOVED;
}

// Step 6: keeps the edges that are not marked, in order. Counts by tiles are scanned between the two launches.
extern "C" __global__ void __launch_bounds__(256) count_kept(const u64 *keys, u64 len, u32 *counts) {
    count_where(keys, len, counts, [](u64 key) { return key != REMOVED; });
}

extern "C" __global__ void __launch_bounds__(256) move_kept(const u64 *from, u64 len, const u32 *places, u64 *to) {
    move_where(from, len, places, to, [](u64 key) { return key != REMOVED; });
}

// Step 7: writes the other ends of all edges, then the vertices whose lists they are in.
extern "C" __global__ void __launch_bounds__(256) unzip(const u64 *keys, u64 len, u32 *edge) {
    const u64 i = this_thread();
    if (i >= len) return;
    edge[i] = (u32)keys[i];
    edge[len + i] = (u32)(keys[i] >> 32);
}

// The counting phase. The merge keeps the next value of both lists, and reads one value in a step that finds no triangle; the value
// after a list's end may be read, which is within the array, but is never used. For any number of threads per block.
extern "C" __global__ void __launch_bounds__(1024) count_triangles(u64 first, u64 last, u64 len, const u32 *edge, const u32 *node, u64 *result) {
    u64 count = 0;
    for (u64 i = first + this_thread(); i < last; i += all_threads()) {
        const u32 u = edge[i], v = edge[len + i];
        u32 u_it = node[u], v_it = node[v];
        const u32 u_end = node[u + 1], v_end = node[v + 1];
        u32 a = edge[u_it], b = edge[v_it];
        while (u_it < u_end && v_it < v_end) {
            const bool move_a = a <= b, move_b = a >= b;
            count += move_a && move_b;
            if (move_a) a = edge[++u_it];
            if (move_b) b = edge[++v_it];
        }
    }
    result[this_thread()] = count;
}
