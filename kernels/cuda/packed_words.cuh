// What the parts of method `packed` share: the arguments, and words. See packed.cu.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 ALL = 0xffffffffu;
constexpr u32 WARP = 32;
constexpr u32 HUB = 1u << 29; // words below it are hubs'
constexpr u32 HUBS = 65536;
constexpr u32 ROW_LANES = 8;  // lanes that pack or deal a row, unless it is long

// Mirrored by `Arguments` in src/packed/arguments.rs, field by field.
struct Arguments {
    uint2 *rows;              // of each local: the chunk where its row begins, and its words
    u32 *next;                // of each local: its first head at or above the ranges so far; ALL: none
    uint4 *words;             // all packed rows, in chunks
    u64 *total;               // triangles
    uint2 *table;             // the same as `rows` for each number of the range
    const u64 *offsets;       // where each row of a run begins among the heads of the section; one more at the end
    const u32 *frame_offsets; // where each row of the frame begins among its heads; one more at the end
    const u32 *heads;         // of the run, or of the frame
    const u64 *local_words;   // which numbers of the frame are local, 64 a word; null: every number has its row in the frame
    const u32 *local_ranks;   // locals of the frame before each word
    u32 *ends;                // two numbers an owner: how many short and long rows it owns, then where those end in `arcs`
    uint2 *arcs;              // the rows to stream: where each begins, and how many chunks
    u64 *list;                // owners with something to do: `some` from the front, `many` from the back
    u32 *state;               // how many `some`, how many `many`, how many of each were taken
    u32 *sums;                // of blocks, for the scan
    u64 list_length;
    u64 heads_first;          // the head of the section, or of the frame, with which a run or piece begins
    u64 heads_end;            // heads of the section that came so far, with this run
    u32 first;                // the run's, or the batch's, first local
    u32 count;                // and how many
    u32 locals;
    u32 frame_start;          // the first number of the frame
    u32 range_start;          // the numbers of the piece
    u32 range_end;
    u32 frame_locals;         // locals before the frame
    u32 row_first;            // the row of the frame with which the piece begins
    u32 chunk_first;          // the chunk from which on the piece's rows are packed
    u32 together;             // all of the range are local, and those in the batch own as one
    u32 owners;
    u32 numbered;             // locals and proxies
    u32 lanes;                // that take a row: ROW_LANES, or WARP where rows are long; 0: see `deal`
    u32 k;                    // runs after the hubs have 2^k numbers
};

__device__ __forceinline__ u32 packed(u32 number, u32 k) {
    const u32 bits = 1u << k;
    if (number < HUBS) return (number >> 4) << 17 | 1u << (number & 15);
    return (((number >> k) << bits) | 1u << (number & (bits - 1))) + HUB;
}

// The run that a word is of. No run of hubs has the same as another.
__device__ __forceinline__ u32 run_of(u32 word, u32 k) { return word < HUB ? word >> 16 : word >> (1u << k); }

__device__ __forceinline__ void unpack(u32 word, u32 k, u32 &base, u32 &heads) {
    if (word < HUB) {
        base = word >> 17 << 4;
        heads = word & 0xffff;
    } else {
        word -= HUB;
        base = (word >> (1u << k)) << k;
        heads = word & ((1u << (1u << k)) - 1);
    }
}

// Bits of a word below the run.
__device__ __forceinline__ u32 bits_of(u32 word, u32 k) { return word < HUB ? 16 : 1u << k; }

// The lanes that have the same row as this one.
template <u32 LANES> __device__ __forceinline__ u32 lanes_of() { return ALL >> (WARP - LANES) << (threadIdx.x % WARP / LANES * LANES); }
