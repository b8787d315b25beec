// What the parts of method `packed` share: the arguments, and words. See packed.cu.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 ALL = 0xffffffffu;
constexpr u32 WARP = 32;
constexpr u32 HUB = 1u << 29; // words below it are hubs'
constexpr u32 HUBS = 65536;

// Mirrored by `Arguments` in src/packed/arguments.rs, field by field.
struct Arguments {
    uint2 *rows;              // of each local: the chunk where its row begins, and its words
    u32 *next;                // of each local: its first successor at or above the ranges so far; ALL: none
    uint4 *words;             // all packed rows, in chunks
    u64 *total;               // triangles
    uint2 *table;             // the same as `rows` for each number of the range
    const u64 *offsets;       // where each row of a run begins among the successors of the section; one more at the end
    const u32 *row_block_offsets; // where each row of the row block begins among its successors; one more at the end
    const u32 *successors;         // of the run, or of the row block
    const u64 *local_words;   // which numbers of the row block are local, 64 a word; null: every number has its row in the row block
    const u32 *local_ranks;   // locals of the row block before each word
    u32 *ends;                // two numbers an owner: how many short and long rows it owns, then where those end in `arcs`
    uint2 *arcs;              // the rows to stream: where each begins, and how many chunks
    u64 *list;                // owners with something to do: those for warps from the front, those for blocks from the back
    u32 *state;               // owners for warps, owners for blocks, how many of each were taken
    u32 *sums;                // of blocks, for the scan
    u64 list_length;
    u64 successors_first;          // the successor of the section, or of the row block, with which a run or piece begins
    u64 successors_end;            // successors of the section up to the end of this run
    u32 first;                // the run's, or the batch's, first local
    u32 count;                // and how many
    u32 locals;
    u32 row_block_start;          // the first number of the row block
    u32 range_start;          // the numbers of the piece
    u32 range_end;
    u32 row_block_locals;         // locals before the row block
    u32 row_first;            // the row of the row block with which the piece begins
    u32 chunk_first;          // the chunk from which on the piece's rows are packed
    u32 together;             // all of the range are local, and those in the batch own as one
    u32 owners;
    u32 numbered;             // locals and proxies
    u32 lanes;                // that take a row: ROW_LANES, or WARP where rows are long; 0: see `assign`
    u32 k;                    // runs after the hubs have 2^k numbers
};

__device__ __forceinline__ u32 packed(u32 number, u32 k) {
    const u32 bits = 1u << k;
    if (number < HUBS) return (number >> 4) << 17 | 1u << (number & 15);
    return (((number >> k) << bits) | 1u << (number & (bits - 1))) + HUB;
}

// The run that a word is of. No run of hubs has the same as another.
__device__ __forceinline__ u32 run_of(u32 word, u32 k) { return word < HUB ? word >> 16 : word >> (1u << k); }

__device__ __forceinline__ void unpack(u32 word, u32 k, u32 &base, u32 &successors) {
    if (word < HUB) {
        base = word >> 17 << 4;
        successors = word & 0xffff;
    } else {
        word -= HUB;
        base = (word >> (1u << k)) << k;
        successors = word & ((1u << (1u << k)) - 1);
    }
}

// Bits of a word below the run.
__device__ __forceinline__ u32 bits_of(u32 word, u32 k) { return word < HUB ? 16 : 1u << k; }

// The lanes that have the same row as this one.
template <u32 LANES> __device__ __forceinline__ u32 lanes_of() { return ALL >> (WARP - LANES) << (threadIdx.x % WARP / LANES * LANES); }
