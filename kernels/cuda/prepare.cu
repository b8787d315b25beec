// From arcs to the oriented graph: unique edges, degrees, ranks, sorted rows, and their bytes in the graph file.
//
//     arcs: a word `tail << 32 | head` each, in any order
//       arc_keys, sort         -> keys `min << bits | max`, then a bit for the direction: copies of an edge are adjacent
//       count_edges, put_edges -> each edge once
//       add_degrees            -> degrees, from which the host makes ranks
//       orient, sort           -> rows in rank order: keys `rank of the tail << bits | rank of the successor`
//       add_lengths, measure   -> lengths of rows, and of their encodings
//       encode                 -> file blocks (docs/graph-format.md)
//
// Everything is sorted by the radix sort above. Cost: for `m` arcs, two sorts of `m` keys, some passes over them, and a few accesses to
// random places of arrays over ids for each. Memory: 16 bytes an arc, and the arrays over ids.

// Turns arcs into keys, in place.
extern "C" __global__ void arc_keys(u64 *arcs, u64 count, u64 bits) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 tail = arcs[i] >> 32, head = (u32)arcs[i];
        arcs[i] = (min(tail, head) << bits | max(tail, head)) << 1 | (tail > head);
    }
}

// Whether a sorted key is the first one of its edge.
__device__ __forceinline__ bool begins_edge(const u64 *keys, u64 i) { return i == 0 || keys[i] >> 1 != keys[i - 1] >> 1; }

// Counts the edges of each tile, and all distinct arcs.
extern "C" __global__ void __launch_bounds__(SELECT_THREADS) count_edges(const u64 *keys, u64 count, u64 *tiles, u64 *arcs) {
    u32 distinct = 0;
    const Selected found = selected(count, [&](u64 i) {
        distinct += i == 0 || keys[i] != keys[i - 1];
        return begins_edge(keys, i);
    });
    put_count(found, tiles);
    u32 all;
    block_exclusive(distinct, all);
    if (threadIdx.x == 0 && all) atomicAdd(arcs, (u64)all);
}

// Writes each edge once, without its direction.
extern "C" __global__ void __launch_bounds__(SELECT_THREADS) put_edges(const u64 *keys, u64 count, const u64 *tiles, u64 *edges) {
    const Selected found = selected(count, [&](u64 i) { return begins_edge(keys, i); });
    put_selected(found, tiles, [&](u64 place, u64 i) { edges[place] = keys[i] >> 1; });
}

// Adds sorted edges to the degrees of their ends. Edges with the same smaller end are adjacent: the first of them subtracts its index, and
// the last one adds its index plus 1.
extern "C" __global__ void add_degrees(const u64 *edges, u64 count, u64 bits, u32 *degrees) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 edge = edges[i], small = edge >> bits;
        atomicAdd(&degrees[edge & ((1ull << bits) - 1)], 1u);
        if (i == 0 || edges[i - 1] >> bits != small) atomicAdd(&degrees[small], 0u - (u32)i);
        if (i + 1 == count || edges[i + 1] >> bits != small) atomicAdd(&degrees[small], (u32)i + 1);
    }
}

// Turns edges into keys of arcs from the larger rank to the smaller, in place.
extern "C" __global__ void orient(u64 *edges, u64 count, u64 bits, const u32 *rank_of, u64 rank_bits) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 a = rank_of[edges[i] >> bits], b = rank_of[edges[i] & ((1ull << bits) - 1)];
        edges[i] = max(a, b) << rank_bits | min(a, b);
    }
}

// Adds sorted arcs to the lengths of their rows, by where each row begins and ends.
extern "C" __global__ void add_lengths(const u64 *arcs, u64 count, u64 bits, u32 *lengths) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 tail = arcs[i] >> bits;
        if (i == 0 || arcs[i - 1] >> bits != tail) atomicAdd(&lengths[tail], 0u - (u32)i);
        if (i + 1 == count || arcs[i + 1] >> bits != tail) atomicAdd(&lengths[tail], (u32)i + 1);
    }
}

// The first arc of each of `count` ranks in `ranks`.
extern "C" __global__ void first_arcs(const u64 *arcs, u64 edges, u64 bits, const u32 *ranks, u64 count, u64 *first) {
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        u64 low = 0, high = edges;
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (arcs[middle] >> bits < ranks[i]) low = middle + 1;
            else high = middle;
        }
        first[i] = low;
    }
}
