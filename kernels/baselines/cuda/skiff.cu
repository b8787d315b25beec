// Method `skiff`: 'Lock-Free Triangle Counting on GPU' (Zheng et al.). The host's part and the choices are in src/gpu/skiff.rs.
//
// A trie consists of nodes of 32 items, as a structure of arrays: `items`, 32 a node, so that a node is a cache line and as wide as a
// warp; `links`, one a node. A row's trie has a power of two of first nodes, each followed by a chain of further ones. A key's
// place: first node `key / 32 mod first nodes`, item `key mod 32`, and if that is taken the items after it, cyclically;
// if the node is full, the same in the next node of its chain.

constexpr u32 EMPTY = ~0u;    // a free item; no number is that large
constexpr u32 NONE = ~0u;     // no next node
constexpr u32 CLAIMED = ~0u - 1; // a lane is about to link a node
constexpr u32 NOT_BUILT = ~0u;

// The number of first nodes of the trie of `length` keys: the fewest that can hold them, rounded up to a power of two.
__device__ __forceinline__ u32 first_nodes(u32 length) {
    const u32 least = (length + WARP - 1) / WARP;
    return least < 2 ? 1 : 1u << (32 - __clz(least - 1));
}

// Builds the tries of the rows `places[0..many]`: a warp takes a trie, 32 keys at a time. `base` of a place is its trie's first node; the
// nodes for its chains come after its first ones. All items and links must be free before.
//
// The optimistic policy: a lane stores its key in a free item and reads it again; if another lane has overwritten it, the lane tries
// the next item. This needs no atomics and no locks, since a trie belongs to one warp whose lanes take each step together. Only if a
// node is full, lanes claim its link by one compare-and-swap; the one that succeeds links a new node.
extern "C" __global__ void __launch_bounds__(256) skiff_build(const Rows *rows, const u32 *places, u64 many, const u32 *base, volatile u32 *items, volatile u32 *links) {
    __shared__ u32 linked[MOST_WARPS]; // nodes of this warp's trie that are in use
    const u64 which = this_thread() / WARP;
    u32 *next_node = linked + threadIdx.x / WARP;
    if (which >= many) return;
    const u32 place = places[which], root = base[place];
    const Row row = row_at(rows, place);
    const u32 firsts = first_nodes(row.length);
    if (this_lane() == 0) *next_node = root + firsts;
    __syncwarp();
    for (u32 at = 0; at < row.length; at += WARP) {
        bool pending = at + this_lane() < row.length;
        const u32 key = pending ? row.begin[at + this_lane()] : 0;
        u32 node = root + (key / WARP & (firsts - 1)), item = key % WARP, tried = 0;
        while (__any_sync(ALL, pending)) {
            const bool full = pending && tried == WARP;
            volatile u32 *slot = items + ((u64)node * WARP + item);
            const bool free = pending && !full && *slot == EMPTY;
            u32 next = full ? links[node] : NONE;
            __syncwarp();
            if (free) *slot = key;
            if (full && next == NONE && atomicCAS((u32 *)links + node, NONE, CLAIMED) == NONE) {
                next = atomicAdd(next_node, 1u);
                links[node] = next;
            }
            __syncwarp();
            if (pending && !full) {
                if (free && *slot == key) pending = false;
                else { item = (item + 1) % WARP; tried++; }
            } else if (full) {
                next = links[node];
                node = next; // linked by now: the lane that claimed it has passed the barrier
                tried = 0;
            }
            __syncwarp();
        }
    }
}

// Whether the trie at `root` contains the key.
__device__ __forceinline__ u32 held(u32 key, u32 root, u32 firsts, const u32 *items, const u32 *links) {
    u32 node = root + (key / WARP & (firsts - 1));
    do {
        const u32 *slots = items + (u64)node * WARP;
        for (u32 tried = 0; tried < WARP; tried++) {
            const u32 found = slots[(key + tried) % WARP];
            if (found == key) return 1;
            if (found == EMPTY) return 0;
        }
        node = links[node];
    } while (node != NONE);
    return 0;
}

// The number of common entries of the rows of local `a` and of its successor, if the shorter of the two has a trie now. A warp takes an
// edge; adjacent lanes take adjacent entries of the longer row.
__device__ __forceinline__ u32 closed(const Rows *rows, u64 a, u32 successor, const u32 *base, const u32 *items, const u32 *links) {
    if (!covers(rows, successor)) return 0;
    const u64 b = place_of(rows, successor);
    const Row of_a = row_at(rows, a), of_b = row_at(rows, b);
    const bool a_is_shorter = of_a.length < of_b.length;
    const Row shorter = a_is_shorter ? of_a : of_b, longer = a_is_shorter ? of_b : of_a;
    const u32 root = base[a_is_shorter ? a : b];
    if (root == NOT_BUILT || shorter.length == 0) return 0;
    const u32 firsts = first_nodes(shorter.length);
    u32 count = 0;
    for (u32 i = this_lane(); i < longer.length; i += WARP) count += held(longer.begin[i], root, firsts, items, links);
    return count;
}

// `block-degree`: a block takes unit `u`: the 32 edges of vertex `units[2 u]` from its `units[2 u + 1]`-th on.
extern "C" __global__ void __launch_bounds__(1024) skiff_block_degree(const Rows *rows, const u32 *units, u64 many, const u32 *base, const u32 *items, const u32 *links, u64 *result) {
    u64 count = 0, total;
    for (u64 unit = blockIdx.x; unit < many; unit += gridDim.x) {
        const u32 a = units[2 * unit], from = units[2 * unit + 1];
        const Row row = row_at(rows, a);
        const u32 to = min(from + WARP, row.length);
        for (u32 i = from + threadIdx.x / WARP; i < to; i += blockDim.x / WARP) count += closed(rows, a, row.begin[i], base, items, links);
    }
    block_exclusive(count, total);
    if (threadIdx.x == 0) result[blockIdx.x] += total;
}

// The vertex that edge `edge` belongs to: the last in `first..last` of `starts` that begins at or before it.
__device__ __forceinline__ u64 vertex_of(const u64 *starts, u64 first, u64 last, u64 edge) {
    while (last - first > 1) {
        const u64 middle = first + (last - first) / 2;
        if (starts[middle] <= edge) first = middle;
        else last = middle;
    }
    return first;
}

// Counts the edges of the vertices `order[first..last]` of one level, which are numbered from each vertex's `starts` on. A block
// (`block-index`) or a warp (`warp-index`) takes a unit of 32 edges.
template <bool BLOCKS>
__device__ __forceinline__ void by_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const u32 *base, const u32 *items, const u32 *links, u64 *result) {
    const u64 begin = starts[first], end = starts[last], units = (end - begin + WARP - 1) / WARP;
    const u64 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u64 count = 0, total;
    for (u64 unit = BLOCKS ? blockIdx.x : blockIdx.x * warps + warp; unit < units; unit += BLOCKS ? gridDim.x : gridDim.x * warps) {
        const u64 to = min(begin + (unit + 1) * WARP, end);
        for (u64 edge = begin + unit * WARP + (BLOCKS ? warp : 0); edge < to; edge += BLOCKS ? warps : 1) {
            const u64 which = vertex_of(starts, first, last, edge);
            const u32 a = order[which];
            count += closed(rows, a, row_at(rows, a).begin[edge - starts[which]], base, items, links);
        }
    }
    block_exclusive(count, total);
    if (threadIdx.x == 0) result[blockIdx.x] += total;
}

extern "C" __global__ void __launch_bounds__(1024) skiff_block_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const u32 *base, const u32 *items, const u32 *links, u64 *result) {
    by_index<true>(rows, order, starts, first, last, base, items, links, result);
}

extern "C" __global__ void __launch_bounds__(1024) skiff_warp_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const u32 *base, const u32 *items, const u32 *links, u64 *result) {
    by_index<false>(rows, order, starts, first, last, base, items, links, result);
}
