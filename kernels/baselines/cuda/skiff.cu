// Method `skiff`: 'Lock-Free Triangle Counting on GPU' (Zheng et al.). The host's part and the choices are in src/gpu/skiff.rs.
//
// A trie consists of nodes of 32 items, as a structure of arrays: `items`, 32 a node, so that a node is a cache line and as wide as a
// warp; `masks`, as many; `links`, one a node. A row's trie has a power of two of first nodes, each followed by a chain of further ones.
// A key's place: first node `key / 32 mod first nodes`, item `key mod 32`, and if that is taken the items after it, cyclically;
// if the node is full, the same in the next node of its chain. Bit `d` of an item's mask says that the key which is `d` items further
// would be at this item if that had been free: a search reads the mask, and only the items that it names (Algorithm 3, phase 2).

constexpr u32 EMPTY = ~0u;    // a free item; no number is that large
constexpr u32 NONE = ~0u;     // no next node
constexpr u32 CLAIMED = ~0u - 1; // a lane is about to link a node
constexpr u32 NOT_BUILT = ~0u;
constexpr u32 CHAINED = 1u << 31; // beside a trie's first node: it has chains

// The number of first nodes of the trie of `length` keys: the fewest that can hold them, rounded up to a power of two.
__device__ __forceinline__ u32 first_nodes(u32 length) {
    const u32 least = (length + WARP - 1) / WARP;
    return least < 2 ? 1 : 1u << (32 - __clz(least - 1));
}

// Builds the tries of the rows `places[0..many]`: a warp takes a trie, 32 keys at a time. `base` of a place is its trie's first node; the
// nodes for its chains come after its first ones. All items and links must be free before, and all masks 0.
//
// The optimistic policy: a lane stores its key in a free item and reads it again; if another lane has overwritten it, the lane tries
// the next item. This needs no atomics and no locks, since a trie belongs to one warp whose lanes take each step together. Only if a
// node is full, lanes claim its link by one compare-and-swap; the one that succeeds links a new node.
extern "C" __global__ void __launch_bounds__(256) skiff_build(const Rows *rows, const u32 *places, u64 many, u32 *base, volatile u32 *items, u32 *masks, volatile u32 *links) {
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
                if (free && *slot == key) {
                    atomicOr(masks + ((u64)node * WARP + key % WARP), 1u << tried);
                    pending = false;
                } else { item = (item + 1) % WARP; tried++; }
            } else if (full) {
                next = links[node];
                node = next; // linked by now: the lane that claimed it has passed the barrier
                tried = 0;
            }
            __syncwarp();
        }
    }
    if (this_lane() == 0 && *next_node > root + firsts) base[place] = root | CHAINED;
}

// Where tries are.
struct Tries {
    const u32 *base, *items, *masks, *links;
};

// Whether the trie with the first node `root` contains the key.
__device__ __forceinline__ u32 held(u32 key, u32 root, u32 firsts, const Tries &tries) {
    u32 node = (root & ~CHAINED) + (key / WARP & (firsts - 1));
    do {
        const u32 *items = tries.items + (u64)node * WARP;
        for (u32 mask = tries.masks[(u64)node * WARP + key % WARP]; mask; mask &= mask - 1)
            if (items[(key + __ffs(mask) - 1) % WARP] == key) return 1;
        node = root & CHAINED ? tries.links[node] : NONE;
    } while (node != NONE);
    return 0;
}

// An edge to count: the entries of its longer row probe the trie of the shorter one.
struct Probes {
    const u32 *keys;
    u32 many, root, firsts;
};

// The probes of the edge from local `a` to its successor: none, if the shorter of the two rows has no trie now.
__device__ __forceinline__ Probes probes_of(const Rows *rows, u64 a, u32 successor, const Tries &tries) {
    if (!covers(rows, successor)) return {};
    const u64 b = place_of(rows, successor);
    const Row of_a = row_at(rows, a), of_b = row_at(rows, b);
    const bool a_is_shorter = of_a.length < of_b.length;
    const Row shorter = a_is_shorter ? of_a : of_b, longer = a_is_shorter ? of_b : of_a;
    const u32 root = tries.base[a_is_shorter ? a : b];
    if (root == NOT_BUILT || shorter.length == 0) return {};
    return {longer.begin, longer.length, root, first_nodes(shorter.length)};
}

// Counts some of the edges of a warp's lanes: those of lanes `first`, `first + step` and so on. The warp takes an edge; adjacent lanes take
// adjacent entries of the longer row.
__device__ __forceinline__ u32 closed(const Probes &its, u32 first, u32 step, const Tries &tries) {
    u32 count = 0;
    for (u32 edge = first; edge < WARP; edge += step) {
        const u32 many = __shfl_sync(ALL, its.many, edge);
        if (many == 0) continue;
        const u32 *keys = (const u32 *)__shfl_sync(ALL, (u64)its.keys, edge);
        const u32 root = __shfl_sync(ALL, its.root, edge), firsts = __shfl_sync(ALL, its.firsts, edge);
        for (u32 i = this_lane(); i < many; i += WARP) count += held(keys[i], root, firsts, tries);
    }
    return count;
}

// `block-degree`: a block takes unit `u`: the 32 edges of vertex `units[2 u]` from its `units[2 u + 1]`-th on.
extern "C" __global__ void __launch_bounds__(1024) skiff_block_degree(const Rows *rows, const u32 *units, u64 many, const u32 *base, const u32 *items, const u32 *masks, const u32 *links, u64 *result) {
    const Tries tries{base, items, masks, links};
    u64 count = 0, total;
    for (u64 unit = blockIdx.x; unit < many; unit += gridDim.x) {
        const u32 a = units[2 * unit], edge = units[2 * unit + 1] + this_lane();
        const Row row = row_at(rows, a);
        const Probes its = edge < row.length ? probes_of(rows, a, row.begin[edge], tries) : Probes{};
        count += closed(its, threadIdx.x / WARP, blockDim.x / WARP, tries);
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
// (`block-index`) or a warp (`warp-index`) takes a unit of 32 edges. Each lane searches for the vertex of one of them.
template <bool BLOCKS>
__device__ __forceinline__ void by_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const Tries &tries, u64 *result) {
    const u64 begin = starts[first], end = starts[last], units = (end - begin + WARP - 1) / WARP;
    const u64 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u64 count = 0, total;
    for (u64 unit = BLOCKS ? blockIdx.x : blockIdx.x * warps + warp; unit < units; unit += BLOCKS ? gridDim.x : gridDim.x * warps) {
        const u64 edge = begin + unit * WARP + this_lane();
        Probes its{};
        if (edge < end) {
            const u64 which = vertex_of(starts, first, last, edge);
            const u32 a = order[which];
            its = probes_of(rows, a, row_at(rows, a).begin[edge - starts[which]], tries);
        }
        count += BLOCKS ? closed(its, (u32)warp, (u32)warps, tries) : closed(its, 0, 1, tries);
    }
    block_exclusive(count, total);
    if (threadIdx.x == 0) result[blockIdx.x] += total;
}

extern "C" __global__ void __launch_bounds__(1024) skiff_block_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const u32 *base, const u32 *items, const u32 *masks, const u32 *links, u64 *result) {
    by_index<true>(rows, order, starts, first, last, Tries{base, items, masks, links}, result);
}

extern "C" __global__ void __launch_bounds__(1024) skiff_warp_index(const Rows *rows, const u32 *order, const u64 *starts, u64 first, u64 last, const u32 *base, const u32 *items, const u32 *masks, const u32 *links, u64 *result) {
    by_index<false>(rows, order, starts, first, last, Tries{base, items, masks, links}, result);
}
