// Counts triangles on each arc. An arc has a counter: those of the resident rows come first, in the order of the rows, then those of the
// row blocks. Each chunk has the counter of its first successor's arc (`first_of`), so a bit's counter is that and the number of bits
// before it.
//
// A common successor c of the owner's row and of a streamed one adds 1 to the counters of two arcs, from both rows to c. The owner's
// row is the same for many streamed ones, so its counters are added up in shared memory, up to a bound. The counter of the arc between
// both rows is added to once.
//
// A word of the owner's row and one of a streamed row with common successors are a match. Few lanes have one at a time, so matches wait
// until there are as many as lanes. If the words have few common bits, a lane takes a match, bit after bit. If they have many, as on
// crawls, 16 lanes take a match, a bit each: the counters of a word are next to each other, and one access of memory adds to several.

// A match. `own_at`: arcs of the owner's row before its word; `other_at`: the counter of the first arc of the other word; `both`: what
// the two words have in common.
struct Find {
    u32 own, own_at, other, other_at, both;
};

// Where the matches of an owner are added: `row` is the counter of its first arc, `near` has sums of its first `nears` arcs.
struct Counters {
    u32 *on_arcs, *near;
    u32 nears, row;

    // Adds 1 for a common bit, given the bits below it.
    __device__ __forceinline__ void add(const Find &find, u32 below) const {
        const u32 at = find.own_at + __popc(find.own & below);
        atomicAdd(on_arcs + find.other_at + __popc(find.other & below), 1u);
        if (at < nears) atomicAdd(near + at, 1u);
        else atomicAdd(on_arcs + row + at, 1u);
    }
};

// Not inlined: see packed_found.cuh.
__device__ __noinline__ void credit_common(Counters counters, Find find) {
    for (u32 left = find.both; left; left &= left - 1) counters.add(find, (left & (0 - left)) - 1);
}

__device__ __forceinline__ u32 warp_total(u32 value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, value);
#else
    for (u32 step = WARP / 2; step; step >>= 1) value += __shfl_xor_sync(ALL, value, step);
    return value;
#endif
}

// Matches of a warp in shared memory, three words each.
constexpr u32 MOST_FINDS = 2 * WARP;
constexpr u32 FINDS_WORDS = 3 * MOST_FINDS;

// `both` is not stored: it is `own & other`. `own_at` takes a whole word: a row can have more than 2^16 arcs.
__device__ __forceinline__ void put(u32 *finds, u32 i, const Find &find) {
    finds[i] = find.own | find.other << 16;
    finds[MOST_FINDS + i] = find.own_at;
    finds[2 * MOST_FINDS + i] = find.other_at;
}

__device__ __forceinline__ Find get(const u32 *finds, u32 i) {
    const u32 own = finds[i] & 0xffff, other = finds[i] >> 16;
    return {own, finds[MOST_FINDS + i], other, finds[2 * MOST_FINDS + i], own & other};
}

// Adds `many` matches, at most one for each lane, from place `first` on. The whole warp.
__device__ __noinline__ void credit_finds(Counters counters, const u32 *finds, u32 first, u32 many) {
    constexpr u32 FEW = 3; // common bits
    const u32 lane = threadIdx.x % WARP;
    Find find{};
    if (lane < many) find = get(finds, first + lane);
    if (warp_total(__popc(find.both)) <= FEW * WARP) {
        for (u32 left = find.both; left; left &= left - 1) counters.add(find, (left & (0 - left)) - 1);
    } else {
        for (u32 i = lane / 16; i < many; i += 2) {
            const Find its = get(finds, first + i);
            const u32 bit = 1u << lane % 16;
            if (its.both & bit) counters.add(its, bit - 1);
        }
    }
    __syncwarp(); // before these places are written again
}

struct OnArcs {
    static constexpr bool VERTICES = false, EDGES = true;
    Counters counters; // the sums are zero before and after
    u32 *finds;
    u32 *many; // of the warp, in registers

    __device__ __forceinline__ u32 operator()(u32, u32, u32 both, u32 &) const { return __popc(both); }
    __device__ __forceinline__ void add(u32) const {}

    // The whole warp; lanes without common bits, too.
    __device__ __forceinline__ void on_arcs(const Find &find) const {
        const u32 have = __ballot_sync(ALL, find.both != 0);
        if (have == 0) return;
        if (find.both) put(finds, *many + __popc(have & ((1u << threadIdx.x % WARP) - 1)), find);
        *many += __popc(have);
        __syncwarp();
        if (*many >= WARP) {
            *many -= WARP;
            credit_finds(counters, finds, *many, WARP);
        }
    }

    // Adds the matches that wait. The whole warp.
    __device__ __forceinline__ void finish() const {
        if (*many) credit_finds(counters, finds, 0, *many);
        *many = 0;
    }

    // Adds the sums of a row of `arcs` arcs to the counters, and clears them; `threads` threads, of which this is number `thread`.
    __device__ __forceinline__ void take_arcs(u32 arcs, u32 thread, u32 threads) const {
        for (u32 i = thread; i < min(arcs, counters.nears); i += threads) {
            const u32 sum = counters.near[i];
            if (sum) atomicAdd(counters.on_arcs + counters.row + i, sum);
            counters.near[i] = 0;
        }
    }
};

// The same `found` for another owner, whose first arc has the counter `row`.
template <class Found> __device__ __forceinline__ Found of_owner(const Found &found, u32) { return found; }
__device__ __forceinline__ OnArcs of_owner(const OnArcs &found, u32 row) {
    const Counters &counters = found.counters;
    return OnArcs{{counters.on_arcs, counters.near, counters.nears, row}, found.finds, found.many};
}
