// What happens to the common successors of two rows: they are counted and, where triangles are counted at each vertex, added to the
// counters of their corners.
//
// The corner of the smallest number is met once for each triangle. So it is not added to the counters of all blocks one by one: a block,
// or a warp, adds up bytes in shared memory, those of four vertices with one addition (`Bytes`). The other two corners are added once
// for each arc.

// The counter of a local of the batch, or of a number of the range: `owner` as in packed_assign.cuh.
__device__ __forceinline__ u32 counter_of(const Arguments &g, u32 owner) {
    return owner < g.count ? g.locals_at + g.first + owner : g.range_start + (owner - g.count);
}

// Adds triangles to a counter, if this pass holds it.
__device__ __forceinline__ void credit(const Arguments &g, u32 counter, u64 triangles) {
    const u32 at = counter - g.counters_first;
    if (at < g.counters_end - g.counters_first) atomicAdd(g.counters + at, triangles);
}

// Adds 1 for each bit of `both`; the lowest is for the counter `base`.
__device__ __forceinline__ void credit_bits(const Arguments &g, u32 base, u32 both) {
    for (; both; both &= both - 1) credit(g, base + __ffs(both) - 1, 1);
}

// Sums of some vertices in shared memory, a byte each; at most 128 threads add to them. A thread that finds a byte at 128 or above takes
// 128 from it and adds these to the vertex's counter. Before that, each of the others adds at most 1, so no byte overflows.
struct Bytes {
    u32 *four;

    // Adds 1 for each of the 16 bits of `both`, from byte `4 * at` on; the byte of the lowest bit is for the counter `base`.
    __device__ __forceinline__ void add(const Arguments &g, u32 at, u32 base, u32 both) const {
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            // The four bits in the lowest bits of four bytes.
            const u32 bits = ((both >> 4 * j & 15) * 0x204081u) & 0x01010101u;
            if (bits == 0) continue;
            const u32 sums = atomicAdd(four + at + j, bits) + bits;
            if ((sums & 0x80808080u) == 0) continue;
            const u32 full = atomicAnd(four + at + j, 0x7f7f7f7fu) & 0x80808080u;
            for (u32 byte = 0; byte < 4; byte++)
                if (full >> (8 * byte + 7) & 1) credit(g, base + 4 * j + byte, 128);
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

// Of the bits of a word, only their number is wanted.
struct Total {
    static constexpr bool VERTICES = false;

    __device__ __forceinline__ u32 operator()(u32, u32, u32 both) const { return __popc(both); }
};

// The corners are added to the counters one by one.
struct OneByOne {
    static constexpr bool VERTICES = true;
    const Arguments &g;

    // `both`: the bits that `word` has in common with another word of its run, which is at `place` in its row.
    __device__ __forceinline__ u32 operator()(u32 word, u32, u32 both) const {
        if (both) {
            u32 base, its;
            unpack(word, g.k, base, its);
            credit_bits(g, base, both);
        }
        return __popc(both);
    }
};

// The corners among the first NEAR counters of this pass are added up by the block, others one by one.
constexpr u32 NEAR = 16384;

struct OfBlock {
    static constexpr bool VERTICES = true;
    const Arguments &g;
    Bytes near;

    __device__ __forceinline__ u32 operator()(u32 word, u32, u32 both) const {
        if (both) {
            u32 base, its;
            unpack(word, g.k, base, its);
            // Passes begin at a multiple of 16, as the runs of hubs do.
            const u32 at = base - g.counters_first;
            if (word < HUB && at < NEAR) near.add(g, at / 4, base, both);
            else credit_bits(g, base, both);
        }
        return __popc(both);
    }

    // All threads of the block; none adds before or after.
    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < NEAR / 4; i += blockDim.x) near.four[i] = 0;
        __syncthreads();
    }
    __device__ __forceinline__ void finish() const {
        __syncthreads();
        for (u32 i = threadIdx.x; i < NEAR / 4; i += blockDim.x) near.take(g, i, g.counters_first + 4 * i);
    }
};

// The corners are added up by a warp, for each word of the row that owns the arcs.
struct OfWarp {
    static constexpr bool VERTICES = true;
    const Arguments &g;
    Bytes of_row;
    const u32 *row;

    __device__ __forceinline__ u32 operator()(u32 word, u32 place, u32 both) const {
        if (both) {
            u32 base, its;
            unpack(word, g.k, base, its);
            of_row.add(g, 4 * place, base, both);
        }
        return __popc(both);
    }

    // Adds the sums of a row of `n` words, and clears them. The whole warp.
    __device__ __forceinline__ void take(u32 n) const {
        __syncwarp();
        for (u32 i = threadIdx.x % WARP; i < 4 * n; i += WARP) {
            u32 base, its;
            unpack(row[i / 4], g.k, base, its);
            of_row.take(g, i, base + i % 4 * 4);
        }
        __syncwarp();
    }
};
