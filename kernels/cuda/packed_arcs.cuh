// Counts triangles on each arc. An arc has a counter: those of the resident rows come first, in the order of the rows, then those of the
// row blocks. Each chunk has the counter of its first successor's arc (`first_of`), so a bit's counter is that and the number of bits
// before it.
//
// A common successor c of the owner's row and of a streamed one adds 1 to the counters of two arcs, from both rows to c. The owner's
// row is the same for many streamed ones, so its counters are added up in shared memory, up to a bound. The counter of the arc between
// both rows is added to once.

// Adds 1 for each bit of `both`, which the words `own` and `other` have in common. `own_at`: arcs of the owner's row before its word, whose
// counters are from `row` on; `other_at`: the counter of the first arc of the other word. Not inlined: see packed_found.cuh.
__device__ __noinline__ void credit_common(u32 *on_arcs, u32 *near, u32 nears, u32 row, u32 own, u32 own_at, u32 other, u32 other_at, u32 both) {
    for (; both; both &= both - 1) {
        const u32 below = (both & (0 - both)) - 1, at = own_at + __popc(own & below);
        atomicAdd(on_arcs + other_at + __popc(other & below), 1u);
        if (at < nears) atomicAdd(near + at, 1u);
        else atomicAdd(on_arcs + row + at, 1u);
    }
}

struct OnArcs {
    static constexpr bool VERTICES = false, EDGES = true;
    u32 *counters;
    u32 *near; // sums of the owner's first `nears` arcs; zero before and after
    u32 nears;
    u32 row;   // the counter of the owner's first arc

    __device__ __forceinline__ u32 operator()(u32, u32, u32 both, u32 &) const { return __popc(both); }
    __device__ __forceinline__ void add(u32) const {}

    __device__ __forceinline__ void on_arcs(u32 own, u32 own_at, u32 other, u32 other_at, u32 both) const {
        credit_common(counters, near, nears, row, own, own_at, other, other_at, both);
    }

    // Adds the sums of a row of `arcs` arcs to the counters, and clears them; `threads` threads, of which this is number `thread`.
    __device__ __forceinline__ void take_arcs(u32 arcs, u32 thread, u32 threads) const {
        for (u32 i = thread; i < min(arcs, nears); i += threads) {
            const u32 sum = near[i];
            if (sum) atomicAdd(counters + row + i, sum);
            near[i] = 0;
        }
    }
};

// The same for another owner.
template <class Found> __device__ __forceinline__ Found of_owner(const Found &found, u32) { return found; }
__device__ __forceinline__ OnArcs of_owner(const OnArcs &found, u32 row) { return OnArcs{found.counters, found.near, found.nears, row}; }
