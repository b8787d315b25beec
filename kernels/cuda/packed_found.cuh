// What happens to the common successors of two rows: they are counted and, if triangles are counted at vertices, added to the counters
// of their corners; packed_arcs.cuh adds to those of their arcs.
//
// The corner of the smallest number differs from triangle to triangle. So that not each one costs an atomic in global memory, a block or a
// warp adds these up in shared memory, a byte for each vertex, four bytes with one atomic (`Bytes`). The other two corners are added to
// once for each arc.

// The counter of an owner: a local of the batch or, from `g.batch.count` on, a number of the range.
__device__ __forceinline__ u32 counter_of(const Arguments &g, u32 owner) {
    return owner < g.batch.count ? g.all.locals_at + g.batch.first + owner : g.piece.start + (owner - g.batch.count);
}

// Adds triangles to a counter, if this pass holds it.
__device__ __forceinline__ void credit(const Arguments &g, u32 counter, u64 triangles) {
    const u32 at = counter - g.all.counters_first;
    if (at < g.all.counters_end - g.all.counters_first) atomicAdd(g.all.counters + at, triangles);
}

// Adds 1 for each bit of `both`; the lowest is for the counter `base`. Not inlined, like all that is rare or long: the kernels' loops
// would not fit the instruction cache.
__device__ __noinline__ void credit_bits(const Arguments *g, u32 base, u32 both) {
    for (; both; both &= both - 1) credit(*g, base + __ffs(both) - 1, 1);
}

// Takes 128 from each of four bytes that is at 128 or above, and adds these to the counters, the first of which is `base`.
__device__ __noinline__ void credit_full(const Arguments *g, u32 *four, u32 base) {
    const u32 full = atomicAnd(four, 0x7f7f7f7fu) & 0x80808080u;
    for (u32 byte = 0; byte < 4; byte++)
        if (full >> (8 * byte + 7) & 1) credit(*g, base + byte, 128);
}

// Sums of some vertices in shared memory, a byte each; at most 128 threads add to them. A thread that finds a byte at 128 or above takes
// 128 from it and adds these to the vertex's counter. Before that, each of the others adds at most 1, so no byte overflows.
struct Bytes {
    u32 *four;

    // Adds 1 for each of the 16 bits of `both`, from byte `4 * at` on. `base()`: the counter of the first of these bytes.
    template <class Base> __device__ __forceinline__ void add(const Arguments &g, u32 at, u32 both, const Base &base) const {
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            // The four bits in the lowest bits of four bytes.
            const u32 bits = ((both >> 4 * j & 15) * 0x204081u) & 0x01010101u;
            if (bits == 0) continue;
            const u32 sums = atomicAdd(four + at + j, bits) + bits;
            if (sums & 0x80808080u) credit_full(&g, four + at + j, base() + 4 * j);
        }
    }

    // Adds four bytes to the counters from `base` on, and clears them.
    __device__ __forceinline__ void take(const Arguments &g, u32 at, u32 base) const {
        u32 sums = four[at];
        if (sums) four[at] = 0;
        for (; sums; sums >>= 8, base++)
            if (sums & 255) credit(g, base, sums & 255);
    }
};

// What is done with the common successors that a probe finds: `operator()` returns how many a word has and, if triangles are counted at
// vertices, stores which ones in `hit`, the common bits in its low half (0: none). `add` takes them from there later.

// Base of those that do not count triangles on arcs.
struct Find;
struct NotOnArcs {
    static constexpr bool EDGES = false;

    __device__ __forceinline__ void on_arcs(const Find &) const {}
    __device__ __forceinline__ void finish() const {}
    __device__ __forceinline__ void take_arcs(u32, u32, u32) const {}
};

// Only the total is wanted.
struct Total : NotOnArcs {
    static constexpr bool VERTICES = false;

    __device__ __forceinline__ u32 operator()(u32, u32, u32 both, u32 &) const { return __popc(both); }
    __device__ __forceinline__ void add(u32) const {}
};

// The block adds up common successors that are among the first NEAR counters of this pass; others are added one by one.
constexpr u32 NEAR = 16384;

struct OfBlock : NotOnArcs {
    static constexpr bool VERTICES = true;
    const Arguments &g;
    Bytes near;

    __device__ __forceinline__ OfBlock(const Arguments &g, u32 *near) : g(g), near{near} {}

    // `both`: the bits that `word` has in common with another word of its run.
    __device__ __forceinline__ u32 operator()(u32 word, u32, u32 both, u32 &hit) const {
        if (both) {
            u32 base, its;
            unpack(word, g.all.k, base, its);
            // Passes begin at a multiple of 16, as the runs of hubs do.
            if (word < HUB && base - g.all.counters_first < NEAR) hit = (word & 0xffff0000u) | both;
            else credit_bits(&g, base, both);
        }
        return __popc(both);
    }

    __device__ __forceinline__ void add(u32 hit) const {
        const u32 base = hit >> 17 << 4;
        near.add(g, (base - g.all.counters_first) / 4, hit & 0xffff, [=] { return base; });
    }

    // Called by all threads of the block, before the first and after the last call of `add`.
    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < NEAR / 4; i += blockDim.x) near.four[i] = 0;
        __syncthreads();
    }
    __device__ __forceinline__ void finish() const {
        __syncthreads();
        for (u32 i = threadIdx.x; i < NEAR / 4; i += blockDim.x) near.take(g, i, g.all.counters_first + 4 * i);
    }
};

// The warp adds up common successors, for each word of the owner's row.
struct OfWarp : NotOnArcs {
    static constexpr bool VERTICES = true;
    const Arguments &g;
    Bytes of_row;
    const u32 *row;

    __device__ __forceinline__ OfWarp(const Arguments &g, Bytes of_row, const u32 *row) : g(g), of_row(of_row), row(row) {}

    // `place`: that of the word in the owner's row.
    __device__ __forceinline__ u32 operator()(u32, u32 place, u32 both, u32 &hit) const {
        if (both) hit = place << 16 | both;
        return __popc(both);
    }

    __device__ __forceinline__ void add(u32 hit) const {
        const u32 place = hit >> 16;
        of_row.add(g, 4 * place, hit & 0xffff, [&] {
            u32 base, its;
            unpack(row[place], g.all.k, base, its);
            return base;
        });
    }

    // Adds the sums of a row of `n` words, and clears them. The whole warp.
    __device__ __forceinline__ void take(u32 n) const {
        __syncwarp();
        for (u32 i = threadIdx.x % WARP; i < 4 * n; i += WARP) {
            if (of_row.four[i] == 0) continue;
            u32 base, its;
            unpack(row[i / 4], g.all.k, base, its);
            of_row.take(g, i, base + i % 4 * 4);
        }
        __syncwarp();
    }
};

// Hits of a warp that wait until there is one for each lane: few lanes have a hit at a time, and adding one takes long.
struct Waiting {
    u32 *hits;
    u32 many;

    // Fewer than one for each lane from before, and up to four new ones of each.
    static constexpr u32 MOST = 5 * WARP;

    // Appends the hits of each lane's chunk. While there is one for each lane, every lane adds one.
    template <class Found> __device__ __forceinline__ void push(const Found &found, const u32 *new_hits) {
        const u32 lane = threadIdx.x % WARP, before = (1u << lane) - 1;
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            const u32 have = __ballot_sync(ALL, new_hits[j] != 0);
            if (new_hits[j]) hits[many + __popc(have & before)] = new_hits[j];
            many += __popc(have);
        }
        __syncwarp();
        while (many >= WARP) {
            many -= WARP;
            found.add(hits[many + lane]);
        }
        __syncwarp(); // before these places are written again
    }

    template <class Found> __device__ __forceinline__ void finish(const Found &found) {
        if (threadIdx.x % WARP < many) found.add(hits[threadIdx.x % WARP]);
        many = 0;
        __syncwarp();
    }
};

// What a warp needs in shared memory to count at vertices or on arcs.
struct Warp {
    u32 *sums; // for each lane's row, what was found; zeros at first
    Waiting waiting;
};
