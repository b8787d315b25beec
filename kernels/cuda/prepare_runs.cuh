// Sorted runs of keys that wait in the host's memory or on disk, in blocks of RUN_KEYS, each encoded as graph/src/arcs.rs describes: of each
// key's distance from the first one, the low bits as they are, and the bits above them by the place of a one in a string of bits.
//
// A warp for each block. A first kernel measures, a second one writes, each block in shared memory first. Blocks but the last one of a run
// take whole words of 32 bits.

constexpr u32 RUN_WARPS = RUN_THREADS / WARP;
constexpr u32 RUN_HEADER = 12;              // bytes: the first key, and three numbers of bits
constexpr u32 MOST_LOW = 56;
constexpr u32 RUN_WORDS = RUN_SPACE / 4;    // words that hold any block
static_assert(RUN_WARPS * RUN_KEYS == RUN_BLOCK, "a thread block decodes a block of the host's index");

// The highest bits of heads are left out where they are 0 in the whole block.
__device__ __forceinline__ u64 narrowed(u64 key, u32 bits) { return key >> 32 << bits | (u32)key; }
__device__ __forceinline__ u64 widened(u64 narrow, u32 bits) { return narrow >> bits << 32 | (narrow & ((1ull << bits) - 1)); }

// How a block is encoded.
struct RunBlock {
    u32 many, low, of_heads, zeros;
    __device__ __forceinline__ u32 low_bytes() const { return (many * low + 7) / 8; }
    __device__ __forceinline__ u32 words_of_ones() const { return (many + zeros + 63) / 64; }
    __device__ __forceinline__ u32 bytes() const { return RUN_HEADER + low_bytes() + 8 * words_of_ones(); }
    // The bit where the ones begin.
    __device__ __forceinline__ u32 ones() const { return 8 * (RUN_HEADER + low_bytes()); }
};

// The encoding of `many` keys; the whole warp calls it.
__device__ __forceinline__ RunBlock run_block(const u64 *keys, u32 many) {
    u32 heads = 0;
    for (u32 i = this_lane(); i < many; i += WARP) heads |= (u32)keys[i];
    for (u32 step = WARP / 2; step; step >>= 1) heads |= __shfl_xor_sync(ALL, heads, step);
    const u32 of_heads = 32 - __clz(heads);
    const u64 span = narrowed(keys[many - 1], of_heads) - narrowed(keys[0], of_heads), distance = span / many;
    const u32 above = (u32)(distance >> 32), length = above ? 64 - __clz(above) : 32 - __clz((u32)distance);
    const u32 low = min(length ? length - 1 : 0, MOST_LOW);
    return {many, low, of_heads, (u32)(span >> low)};
}

// The index of the first key of this warp's block. There is no such block if there are not more keys than that.
__device__ __forceinline__ u64 first_of_warp() { return ((u64)blockIdx.x * RUN_WARPS + threadIdx.x / WARP) * RUN_KEYS; }

// The bytes of each block.
extern "C" __global__ void __launch_bounds__(RUN_THREADS) measure_run(const u64 *keys, u64 count, u64 *bytes) {
    const u64 first = first_of_warp();
    if (first >= count) return;
    const RunBlock block = run_block(keys + first, (u32)min(count - first, (u64)RUN_KEYS));
    if (this_lane() == 0) bytes[first / RUN_KEYS] = block.bytes();
}

// Puts `value` at a bit; the words are 0 there.
__device__ __forceinline__ void add_bits(u32 *words, u32 bit, u64 value) {
    const u32 shift = bit % 32;
    const u64 moved = value << shift;
    words += bit / 32;
    if ((u32)moved) atomicOr(words, (u32)moved);
    if (moved >> 32) atomicOr(words + 1, (u32)(moved >> 32));
    if (shift && value >> (64 - shift)) atomicOr(words + 2, (u32)(value >> (64 - shift)));
}

// Writes all blocks to `out`, each at its position.
extern "C" __global__ void __launch_bounds__(RUN_THREADS) encode_run(const u64 *keys, u64 count, const u64 *positions,
    unsigned char *out) {
    __shared__ u32 all[RUN_WARPS][RUN_WORDS];
    const u64 first = first_of_warp();
    if (first >= count) return;
    keys += first;
    const RunBlock block = run_block(keys, (u32)min(count - first, (u64)RUN_KEYS));
    const u64 least = narrowed(keys[0], block.of_heads);
    u32 *const words = all[threadIdx.x / WARP];
    for (u32 i = this_lane(); i < (block.bytes() + 3) / 4; i += WARP) words[i] = 0;
    __syncwarp();
    for (u32 i = this_lane(); i < block.many; i += WARP) {
        const u64 distance = narrowed(keys[i], block.of_heads) - least;
        add_bits(words, 8 * RUN_HEADER + i * block.low, distance & ((1ull << block.low) - 1));
        const u32 one = block.ones() + (u32)(distance >> block.low) + i;
        atomicOr(words + one / 32, 1u << one % 32);
    }
    if (this_lane() == 0) {
        words[0] = (u32)keys[0];
        words[1] = (u32)(keys[0] >> 32);
        words[2] = block.low | block.of_heads << 8 | block.zeros << 16;
    }
    __syncwarp();
    out += positions[first / RUN_KEYS];
    const u32 whole = block.bytes() / 4;
    for (u32 i = this_lane(); i < whole; i += WARP) ((u32 *)out)[i] = words[i];
    const u32 rest = 4 * whole + this_lane();
    if (rest < block.bytes()) out[rest] = (unsigned char)(words[whole] >> 8 * this_lane());
}

// The 64 bits from a bit on. Up to 31 bits behind them are read, too.
__device__ __forceinline__ u64 bits_at(const u32 *words, u32 bit) {
    const u32 shift = bit % 32;
    words += bit / 32;
    const u64 low = words[0] | (u64)words[1] << 32;
    return shift ? low >> shift | (u64)words[2] << (64 - shift) : low;
}

// What the header of a block of `many` keys says.
__device__ __forceinline__ RunBlock run_header(const u32 *words, u32 many) {
    return {many, words[2] & 0xff, words[2] >> 8 & 0xff, words[2] >> 16};
}

// Decodes `count` keys in blocks of RUN_BLOCK (the last one may have fewer); writes `wanted` of them to `keys`, from index `skipped` on.
// `begins`: where each block begins among the bytes that follow this table, and the end of the last one. Adds the number of keys that were
// written to `decoded`; it is smaller if bytes are damaged.
extern "C" __global__ void __launch_bounds__(RUN_THREADS) decode_run(const u64 *begins, u64 blocks, u64 count, u64 skipped, u64 wanted,
    u64 *keys, u64 *decoded) {
    __shared__ u32 begin[RUN_WARPS];
    __shared__ bool whole;
    __shared__ unsigned short all_ones[RUN_WARPS][RUN_KEYS];
    const unsigned char *const bytes = (const unsigned char *)(begins + blocks + 1) + begins[blockIdx.x];
    const u32 end = (u32)(begins[blockIdx.x + 1] - begins[blockIdx.x]);
    const u64 first = (u64)blockIdx.x * RUN_BLOCK;
    const u32 many = (u32)min(count - first, (u64)RUN_BLOCK);
    if (threadIdx.x == 0) {
        u32 at = 0;
        whole = false;
        for (u32 warp = 0; warp * RUN_KEYS < many && at + RUN_HEADER <= end; warp++) {
            begin[warp] = at;
            at += run_header((const u32 *)(bytes + at), min(many - warp * RUN_KEYS, RUN_KEYS)).bytes();
            whole = at == end && (warp + 1) * RUN_KEYS >= many;
        }
    }
    __syncthreads();
    const u32 warp = threadIdx.x / WARP, of_warp = warp * RUN_KEYS;
    if (!whole || of_warp >= many) return;

    const u32 *const words = (const u32 *)(bytes + begin[warp]);
    const RunBlock block = run_header(words, min(many - of_warp, RUN_KEYS));
    if (block.low > MOST_LOW || block.of_heads > 32 || block.words_of_ones() > WARP) return;
    unsigned short *const ones = all_ones[warp];
    const u64 mine = this_lane() < block.words_of_ones() ? bits_at(words, block.ones() + 64 * this_lane()) : 0;
    const u32 found = __popcll(mine), before = warp_inclusive(found);
    if (__shfl_sync(ALL, before, WARP - 1) != block.many) return;
    u32 place = before - found;
    for (u32 half = 0; half < 2; half++)
        for (u32 left = (u32)(mine >> 32 * half); left; left &= left - 1)
            ones[place++] = (unsigned short)(64 * this_lane() + 32 * half + __ffs(left) - 1);
    __syncwarp();
    const u64 least = narrowed(words[0] | (u64)words[1] << 32, block.of_heads);
    for (u32 i = this_lane(); i < block.many; i += WARP) {
        const u64 low = bits_at(words, 8 * RUN_HEADER + i * block.low) & ((1ull << block.low) - 1);
        const u64 key = widened(least + ((u64)(ones[i] - i) << block.low | low), block.of_heads), index = first + of_warp + i;
        if (index >= skipped && index - skipped < wanted) keys[index - skipped] = key;
    }
    const u64 from = max(first + of_warp, skipped), to = min(first + of_warp + block.many, skipped + wanted);
    if (this_lane() == 0 && from < to) atomicAdd(decoded, to - from);
}
