// The bytes of file blocks (docs/graph-format.md, File blocks): the lengths of a block's rows, then each row's first successor and the
// distances between its successors, less 1; all in LEB128.

constexpr u32 ENCODED = 4;     // consecutive numbers of a thread
constexpr u32 LONGEST_CODE = 5; // bytes of a number

// The rows and arcs of a file block.
struct Block {
    u64 first_rank, rows, first_arc, arcs;
};

__device__ __forceinline__ Block block_at(const u32 *ranks, const u64 *first_arc, u64 block) {
    return {ranks[block], (u64)ranks[block + 1] - ranks[block], first_arc[block], first_arc[block + 1] - first_arc[block]};
}

// The number at a place of a block.
__device__ __forceinline__ u32 number_at(const Block &block, u64 place, const u64 *arcs, u64 bits, const u32 *lengths) {
    if (place < block.rows) return lengths[block.first_rank + place];
    const u64 i = block.first_arc + (place - block.rows), arc = arcs[i], successor = (1ull << bits) - 1;
    const bool begins = i == 0 || arcs[i - 1] >> bits != arc >> bits;
    return (u32)(arc & successor) - (begins ? 0 : (u32)(arcs[i - 1] & successor) + 1);
}

__device__ __forceinline__ u32 code_length(u32 number) {
    return 1 + (number >= 1u << 7) + (number >= 1u << 14) + (number >= 1u << 21) + (number >= 1u << 28);
}

// The bytes of each block. A thread block for each.
extern "C" __global__ void __launch_bounds__(ENCODE_THREADS) measure(const u64 *arcs, u64 bits, const u32 *lengths, const u32 *ranks,
    const u64 *first_arc, u64 *bytes) {
    const Block block = block_at(ranks, first_arc, blockIdx.x);
    u64 sum = 0, all;
    for (u64 place = threadIdx.x; place < block.rows + block.arcs; place += ENCODE_THREADS)
        sum += code_length(number_at(block, place, arcs, bits, lengths));
    block_exclusive(sum, all);
    if (threadIdx.x == 0) bytes[blockIdx.x] = all;
}

// Writes the blocks from `first_block` on to `out`; `positions`: where each begins among the bytes of all.
extern "C" __global__ void __launch_bounds__(ENCODE_THREADS) encode(const u64 *arcs, u64 bits, const u32 *lengths, const u32 *ranks,
    const u64 *first_arc, const u64 *positions, u64 first_block, unsigned char *out) {
    __shared__ unsigned char bytes[ENCODE_THREADS * ENCODED * LONGEST_CODE];
    const u64 index = first_block + blockIdx.x;
    const Block block = block_at(ranks, first_arc, index);
    unsigned char *at = out + (positions[index] - positions[first_block]);
    const u64 numbers = block.rows + block.arcs;
    for (u64 first = 0; first < numbers; first += ENCODE_THREADS * ENCODED) {
        const u64 mine = first + threadIdx.x * ENCODED;
        u32 number[ENCODED], taken = 0;
#pragma unroll
        for (u32 i = 0; i < ENCODED; i++) {
            number[i] = mine + i < numbers ? number_at(block, mine + i, arcs, bits, lengths) : 0;
            if (mine + i < numbers) taken += code_length(number[i]);
        }
        u32 all, place = block_exclusive(taken, all);
#pragma unroll
        for (u32 i = 0; i < ENCODED; i++) {
            if (mine + i >= numbers) break;
            for (; number[i] >= 0x80; number[i] >>= 7) bytes[place++] = number[i] | 0x80;
            bytes[place++] = number[i];
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < all; i += ENCODE_THREADS) at[i] = bytes[i];
        __syncthreads();
        at += all;
    }
}
