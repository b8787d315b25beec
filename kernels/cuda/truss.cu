// Peels a graph: removes the edges in the fewest triangles, round by round, until none is left (the module `truss` of the crate
// `trimill` says how a level becomes rounds; this is one device's part of it).
//
// An edge's number is its place in `heads`, the rows of the oriented graph. Every vertex also has a row of all its neighbours,
// ascending, and a row of the edges to them, in the same order: a search reads neighbours, and edges only where it finds a triangle.
// An edge that is left has as its value the number of its triangles with edges that are left; one that falls in this round, the same with
// the mark FALLING; one that fell before, its level with the mark FALLEN.
//
// `note_tails` stores the tails of some edges, near which those of the others are found. Rows are built from the oriented graph:
// `count_heads` and `begin_rows`, and a scan of `prepare.cu`, find where each begins; `put_smaller` puts the smaller neighbours; the larger
// ones follow, a chunk of edges at a time, by `put_keys`, a sort of `prepare.cu` by heads, `note_runs`, `put_larger` and `end_runs`.
// Then, in rounds:
//
//     gather       lists the edges with values up to a bound, among which the next levels are searched
//     least_value  finds the smallest value of these edges, or of all
//     begin_level  lists the edges that fall in the first round of a level
//     note_falls   marks falling edges; counts them in the rows of their ends
//     put_ends     makes keys to sort falling edges by the end with the longer row, so that this row stays in a cache for all its edges
//     put_falls    writes the sorted edges back to their list
//     fetch_rows   copies rows of falling edges from the host's memory
//     take         a warp for each falling edge, or several if few edges fall: looks the neighbours of one end up in the other's row,
//                  which is the longer one, by galloping, and takes 1 from the values of the other two edges of each triangle
//     settle       marks the edges as fallen
//     shorten      removes fallen edges from rows of which they are more than a quarter
//
// A triangle with two or three edges that fall in the same round is counted for the one with the smallest number. The search for the
// triangles of an edge ends when as many are found as its value says; where that is 0, none are searched.

constexpr u32 FALLEN = 1u << 31, FALLING = 3u << 30;

// Addresses on the device, or in page-locked memory of the host, which the device reads over the bus; and sizes.
struct PeeledGraph {
    const u64 *firsts; // the first edge of each vertex's row of smaller neighbours, and the end
    u32 *tails;        // the tail of each `TAIL_STEP`-th edge, and at the end the last vertex
    const u32 *heads;
    const u64 *starts; // where the row of all neighbours of each vertex begins
    u32 *lengths;      // of the rows of all neighbours
    u32 *fallen;       // how many of their entries are edges that fell
    u32 *neighbours;   // rows of the first vertices, on the device: entries before `near`
    u32 *far;          // the other rows, in host memory; indexed like `neighbours`
    u64 near;
    u32 *edges;        // the edges to neighbours, on the device: entries before `near_edges`
    u32 *far_edges;    // the other rows of edges, in host memory
    u64 near_edges;
    u64 *rows;         // addresses of rows of neighbours: far ones may have been fetched to the device
    u32 *fetched;      // device memory for copies of far rows
    u64 room;          // how many neighbours fit there
    u64 *taken;        // how many were asked for; no more are fetched once this is `room`
    u32 *values;
    u32 *falls;    // all edges that ever fell or fall now, in order
    u32 *gathered;
    u32 *shorter;  // vertices whose rows are to be shortened
    u32 *counts;   // the lengths of these three lists; then the smallest value
    u64 vertices;
    u64 many;      // edges
};

// A row in host memory that is more than this many times as long as the other one is not fetched, but searched where it is.
constexpr u32 FAR_LONGER = 256;
constexpr u64 NO_PLACE = ~0ull;

// Entries that a thread of `shorten` takes at a time.
constexpr u32 SHORTEN_ENTRIES = 4;

constexpr u32 FALLS = 0, GATHERED = 1, SHORTER = 2, SMALLEST = 3;

// Appends `number` to a list, for those lanes of a whole warp that want to.
__device__ __forceinline__ void append(bool wanted, u32 number, u32 *list, u32 *count) {
    const u32 lanes = __ballot_sync(ALL, wanted);
    if (!lanes) return;
    u32 place = 0;
    if (this_lane() == 0) place = atomicAdd(count, (u32)__popc(lanes));
    place = __shfl_sync(ALL, place, 0) + __popc(lanes & lanes_below());
    if (wanted) list[place] = number;
}

// Calls `each` with every index below `count`, in whole warps: the last warp's indices may exceed it.
template <typename Each> __device__ __forceinline__ void in_warps(u64 count, Each each) {
    const u64 lane = this_lane();
    for (u64 first = this_thread() - lane; first < count; first += all_threads()) each(first + lane);
}

// The tail of an edge, which is in [low, high): the last vertex whose row begins at this edge or before it.
__device__ __forceinline__ u32 tail_among(const PeeledGraph &graph, u64 edge, u64 low, u64 high) {
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (graph.firsts[middle] <= edge) low = middle;
        else high = middle;
    }
    return (u32)low;
}

__device__ __forceinline__ u32 tail_of(const PeeledGraph &graph, u32 edge) {
    const u32 *const around = graph.tails + edge / TAIL_STEP;
    return tail_among(graph, edge, around[0], (u64)around[1] + 1);
}

extern "C" __global__ void note_tails(const __grid_constant__ PeeledGraph graph) {
    const u64 noted = (graph.many + TAIL_STEP - 1) / TAIL_STEP;
    for (u64 i = this_thread(); i <= noted; i += all_threads())
        graph.tails[i] = i < noted ? tail_among(graph, i * TAIL_STEP, 0, graph.vertices) : (u32)graph.vertices - 1;
}

// A row of neighbours where it is stored.
__device__ __forceinline__ u32 *stored_row(const PeeledGraph &graph, u32 vertex) {
    const u64 start = graph.starts[vertex];
    return (start < graph.near ? graph.neighbours : graph.far) + start;
}

__device__ __forceinline__ u32 *edges_of(const PeeledGraph &graph, u32 vertex) {
    const u64 start = graph.starts[vertex];
    return (start < graph.near_edges ? graph.edges : graph.far_edges) + start;
}

__device__ __forceinline__ u32 *row_of(const PeeledGraph &graph, u32 vertex) { return (u32 *)graph.rows[vertex]; }

__device__ __forceinline__ void put(const PeeledGraph &graph, u32 vertex, u64 place, u32 neighbour, u32 edge) {
    stored_row(graph, vertex)[place] = neighbour;
    edges_of(graph, vertex)[place] = edge;
}

// Forgets the rows that were fetched.
extern "C" __global__ void reset_rows(const __grid_constant__ PeeledGraph graph) {
    for (u64 v = this_thread(); v < graph.vertices; v += all_threads()) graph.rows[v] = (u64)stored_row(graph, (u32)v);
}

__device__ __forceinline__ u64 key_of(u32 vertex, u64 edge) { return (u64)vertex << 32 | edge; }

// Counts the larger neighbours of every vertex; lengths are 0.
extern "C" __global__ void count_heads(const __grid_constant__ PeeledGraph graph) {
    for (u64 edge = this_thread(); edge < graph.many; edge += all_threads()) atomicAdd(&graph.lengths[graph.heads[edge]], 1u);
}

extern "C" __global__ void begin_rows(const __grid_constant__ PeeledGraph graph, u64 *starts) {
    for (u64 v = this_thread(); v < graph.vertices; v += all_threads())
        starts[v] = graph.lengths[v] += (u32)(graph.firsts[v + 1] - graph.firsts[v]);
}

extern "C" __global__ void put_smaller(const __grid_constant__ PeeledGraph graph) {
    for (u64 edge = this_thread(); edge < graph.many; edge += all_threads()) {
        const u32 tail = tail_of(graph, (u32)edge);
        put(graph, tail, edge - graph.firsts[tail], graph.heads[edge], (u32)edge);
    }
}

extern "C" __global__ void put_keys(const __grid_constant__ PeeledGraph graph, u64 *keys, u64 from, u64 to) {
    for (u64 edge = from + this_thread(); edge < to; edge += all_threads()) keys[edge - from] = key_of(graph.heads[edge], edge);
}

// Notes where the run of each head begins among sorted keys: in `shorter`, which is free while rows are made.
extern "C" __global__ void note_runs(const __grid_constant__ PeeledGraph graph, const u64 *keys, u64 count) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 head = keys[i] >> 32;
        if (i == 0 || keys[i - 1] >> 32 != head) graph.shorter[head] = (u32)i;
    }
}

// While rows are made, `fallen` has the number of larger neighbours that earlier chunks put into each row.
extern "C" __global__ void put_larger(const __grid_constant__ PeeledGraph graph, const u64 *keys, u64 count) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 head = keys[i] >> 32;
        const u64 place = graph.firsts[head + 1] - graph.firsts[head] + graph.fallen[head] + (i - graph.shorter[head]);
        put(graph, (u32)head, place, tail_of(graph, (u32)keys[i]), (u32)keys[i]);
    }
}

extern "C" __global__ void end_runs(const __grid_constant__ PeeledGraph graph, const u64 *keys, u64 count) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 head = keys[i] >> 32;
        if (i + 1 == count || keys[i + 1] >> 32 != head) graph.fallen[head] += (u32)(i + 1) - graph.shorter[head];
    }
}

extern "C" __global__ void gather(const __grid_constant__ PeeledGraph graph, u64 bound) {
    in_warps(graph.many, [&](u64 edge) {
        append(edge < graph.many && graph.values[edge] <= bound, (u32)edge, graph.gathered, &graph.counts[GATHERED]);
    });
}

// Finds the smallest value of the edges that are left, among those that are gathered or among all.
extern "C" __global__ void least_value(const __grid_constant__ PeeledGraph graph, u64 only_gathered) {
    const u64 count = only_gathered ? graph.counts[GATHERED] : graph.many;
    u32 least = ~0u;
    for (u64 i = this_thread(); i < count; i += all_threads()) least = min(least, graph.values[only_gathered ? graph.gathered[i] : i]);
    for (u32 step = WARP / 2; step; step >>= 1) least = min(least, __shfl_down_sync(ALL, least, step));
    if (this_lane() == 0 && !(least & FALLEN)) atomicMin(&graph.counts[SMALLEST], least);
}

extern "C" __global__ void begin_level(const __grid_constant__ PeeledGraph graph, u64 level) {
    const u64 count = graph.counts[GATHERED];
    in_warps(count, [&](u64 i) {
        const u32 edge = i < count ? graph.gathered[i] : 0;
        append(i < count && graph.values[edge] <= level, edge, graph.falls, &graph.counts[FALLS]);
    });
}

extern "C" __global__ void note_falls(const __grid_constant__ PeeledGraph graph, u64 from, u64 to) {
    in_warps(to - from, [&](u64 i) {
        const bool there = from + i < to;
        u32 ends[2] = {0, 0};
        if (there) {
            const u32 edge = graph.falls[from + i];
            graph.values[edge] |= FALLING;
            ends[0] = tail_of(graph, edge);
            ends[1] = graph.heads[edge];
        }
        for (u32 end = 0; end < 2; end++) {
            const u32 vertex = ends[end];
            const bool most = there && atomicAdd(&graph.fallen[vertex], 1u) == graph.lengths[vertex] / 4;
            append(most, vertex, graph.shorter, &graph.counts[SHORTER]);
        }
    });
}

// Takes 1 from the value of an edge that is left. Lists it if it now falls in the next round, or if its value is now within the bound.
__device__ __forceinline__ void lower(const PeeledGraph &graph, u32 edge, u32 level, u32 bound) {
    const u32 before = atomicSub(&graph.values[edge], 1u);
    if (before == level + 1) graph.falls[atomicAdd(&graph.counts[FALLS], 1u)] = edge;
    else if (before == bound + 1) graph.gathered[atomicAdd(&graph.counts[GATHERED], 1u)] = edge;
}

extern "C" __global__ void put_ends(const __grid_constant__ PeeledGraph graph, u64 from, u64 to, u64 *keys) {
    for (u64 i = from + this_thread(); i < to; i += all_threads()) {
        const u32 edge = graph.falls[i], tail = tail_of(graph, edge), head = graph.heads[edge];
        keys[i - from] = key_of(graph.lengths[tail] > graph.lengths[head] ? tail : head, edge);
    }
}

extern "C" __global__ void put_falls(const __grid_constant__ PeeledGraph graph, u64 from, u64 to, const u64 *keys) {
    for (u64 i = from + this_thread(); i < to; i += all_threads()) graph.falls[i] = (u32)keys[i - from];
}

// A warp for each end of each falling edge; of those with the same row, one copies it. A row that is far longer than that of the other end
// is searched where it is, as that reads less of it.
extern "C" __global__ void __launch_bounds__(TAKE_THREADS) fetch_rows(const __grid_constant__ PeeledGraph graph, u64 from, u64 to) {
    const u64 warps = all_threads() / WARP;
    for (u64 i = this_thread() / WARP; i < 2 * (to - from); i += warps) {
        const u32 edge = graph.falls[from + i / 2], tail = tail_of(graph, edge), head = graph.heads[edge];
        const u32 vertex = i % 2 ? tail : head, length = graph.lengths[vertex];
        u32 *const stored = stored_row(graph, vertex);
        if (graph.values[edge] == FALLING || graph.starts[vertex] < graph.near || length / FAR_LONGER > graph.lengths[i % 2 ? head : tail]) continue;
        u64 place = NO_PLACE;
        // Addresses are even; an odd one says that the row is being fetched.
        if (this_lane() == 0 && *(volatile u64 *)graph.taken + length <= graph.room &&
            atomicCAS(&graph.rows[vertex], (u64)stored, (u64)stored | 1) == (u64)stored)
            place = atomicAdd(graph.taken, (u64)length);
        place = __shfl_sync(ALL, place, 0);
        if (place == NO_PLACE) continue;
        // Others may have taken the room since.
        const bool fits = place + length <= graph.room;
        for (u32 j = this_lane(); fits && j < length; j += WARP) graph.fetched[place + j] = stored[j];
        if (this_lane() == 0) graph.rows[vertex] = (u64)(fits ? graph.fetched + place : stored);
    }
}

// `parts` warps for each edge.
extern "C" __global__ void __launch_bounds__(TAKE_THREADS)
    take(const __grid_constant__ PeeledGraph graph, u64 from, u64 to, u64 level, u64 bound, u64 parts) {
    const u64 warps = all_threads() / WARP;
    for (u64 i = this_thread() / WARP; i < (to - from) * parts; i += warps) {
        const u32 edge = graph.falls[from + i / parts];
        u32 left = graph.values[edge] & ~FALLING; // at most so many triangles are still to be found by this warp
        if (left == 0) continue;
        u32 row = tail_of(graph, edge), other = graph.heads[edge];
        if (graph.fallen[row] == graph.lengths[row] && graph.fallen[other] == graph.lengths[other]) continue; // no other edge is left
        if (graph.lengths[row] > graph.lengths[other]) {
            const u32 longer = row;
            row = other;
            other = longer;
        }
        const u32 *const entries = row_of(graph, row), *const other_entries = row_of(graph, other);
        const u32 length = graph.lengths[row], other_length = graph.lengths[other];
        u32 begin = 0; // entries of the other row before this one are smaller than all that is still looked up
        for (u64 first = i % parts * WARP; left > 0 && first < length && begin < other_length; first += parts * WARP) {
            const u32 j = (u32)first + this_lane();
            const u32 vertex = j < length ? entries[j] : ~0u;
            // Lanes gallop from where the last lane's search ended in the step before: what they look up lies behind.
            u32 low = begin, step = WARP;
            while (low + step < other_length && other_entries[low + step] < vertex) {
                low += step;
                step *= 4;
            }
            u32 high = min(low + step, other_length);
            while (low < high) {
                const u32 middle = (low + high) / 2;
                if (other_entries[middle] < vertex) low = middle + 1;
                else high = middle;
            }
            begin = __shfl_sync(ALL, low, WARP - 1);
            bool is_triangle = j < length && low < other_length && other_entries[low] == vertex;
            if (is_triangle) {
                // Marks do not change in this kernel; values do. Edges may be in host memory: the second is not read if the first fell.
                const u32 a = edges_of(graph, row)[j], at_a = *(volatile u32 *)&graph.values[a];
                is_triangle = (at_a & FALLING) != FALLEN;
                if (is_triangle) {
                    const u32 b = edges_of(graph, other)[low], at_b = *(volatile u32 *)&graph.values[b];
                    const bool left_a = !(at_a & FALLEN), left_b = !(at_b & FALLEN);
                    is_triangle = (at_b & FALLING) != FALLEN;
                    if (is_triangle && left_a && (left_b || edge < b)) lower(graph, a, (u32)level, (u32)bound);
                    if (is_triangle && left_b && (left_a || edge < a)) lower(graph, b, (u32)level, (u32)bound);
                }
            }
            left -= min(left, (u32)__popc(__ballot_sync(ALL, is_triangle)));
        }
    }
}

extern "C" __global__ void settle(const __grid_constant__ PeeledGraph graph, u64 from, u64 to, u64 level) {
    for (u64 i = from + this_thread(); i < to; i += all_threads()) graph.values[graph.falls[i]] = FALLEN | (u32)level;
}

// A block for each row.
extern "C" __global__ void __launch_bounds__(SHORTEN_THREADS) shorten(const __grid_constant__ PeeledGraph graph) {
    for (u64 i = blockIdx.x; i < graph.counts[SHORTER]; i += gridDim.x) {
        const u32 vertex = graph.shorter[i], length = graph.lengths[vertex];
        u32 *const row = row_of(graph, vertex), *const stored = stored_row(graph, vertex), *const edges = edges_of(graph, vertex);
        u32 end = 0;
        for (u32 first = 0; first < length; first += blockDim.x * SHORTEN_ENTRIES) {
            // A warp takes consecutive entries; those that its lanes read or write at once are consecutive, too.
            const u32 mine = first + threadIdx.x / WARP * WARP * SHORTEN_ENTRIES + this_lane();
            u32 neighbours[SHORTEN_ENTRIES], to_them[SHORTEN_ENTRIES], left[SHORTEN_ENTRIES];
            u32 kept = 0, all;
#pragma unroll
            for (u32 k = 0; k < SHORTEN_ENTRIES; k++) {
                const u32 j = mine + k * WARP;
                neighbours[k] = j < length ? row[j] : 0;
                to_them[k] = j < length ? edges[j] : 0;
            }
#pragma unroll
            for (u32 k = 0; k < SHORTEN_ENTRIES; k++) left[k] = mine + k * WARP < length && !(graph.values[to_them[k]] & FALLEN);
#pragma unroll
            for (u32 k = 0; k < SHORTEN_ENTRIES; k++) {
                left[k] = __ballot_sync(ALL, left[k]);
                kept += (u32)__popc(left[k]);
            }
            // The barriers in `block_exclusive` separate the reads above from the writes below.
            u32 place = end + __shfl_sync(ALL, block_exclusive(this_lane() == 0 ? kept : 0, all), 0);
#pragma unroll
            for (u32 k = 0; k < SHORTEN_ENTRIES; k++) {
                const u32 to = place + (u32)__popc(left[k] & lanes_below());
                place += (u32)__popc(left[k]);
                if (!(left[k] >> this_lane() & 1)) continue;
                row[to] = neighbours[k];
                if (stored != row) stored[to] = neighbours[k];
                edges[to] = to_them[k];
            }
            end += all;
        }
        __syncthreads(); // all have read the length
        if (threadIdx.x == 0) {
            graph.lengths[vertex] = end;
            graph.fallen[vertex] = 0;
        }
    }
}
