// The arguments and the words that the files of method `packed` share. See packed.cu.

typedef unsigned short u16;

constexpr u32 HUB = 1u << 29; // words of hubs are below this
constexpr u32 HUBS = 65536;

// Mirrored in src/packed/arguments.rs, field by field: `Arguments` by `PackedArguments`, the others by structs of the same names.

// The same for all launches of a partition.
struct SharedArguments {
    uint2 *rows;          // of each local: the chunk where its row begins, and its words
    u32 *next;            // of each local: its first successor beyond the ranges that were counted; ALL: none
    uint4 *words;         // all packed rows, in chunks
    u64 *total;           // triangles
    u32 *longest;         // words of the longest row so far
    u64 *counters;        // triangles at each vertex, from counter `counters_first` on; null: not wanted
    u32 *on_arcs;         // triangles on each arc, of the resident rows and of row blocks; null: not wanted
    u32 *firsts;          // of each chunk of resident rows, the counter of its first successor's arc
    u32 numbered;         // locals and proxies
    u32 k;                // runs after the hubs have 2^k numbers
    u32 counters_first;   // the first counter of this pass. Number j has counter j, local i counter `locals_at` + i
    u32 counters_end;     // the end of the counters of this pass, exclusive
    u32 locals_at;
    u32 chunk_first;      // the first chunk for a piece's packed rows
    u32 most_words;       // if no row has more words, arcs have no owners
    u32 unused;
};

// A run of resident rows to pack.
struct RunArguments {
    const u64 *offsets;   // where each row begins in the successors of the section, and where the last one ends
    const u32 *successors;
    u64 successors_first; // the index in the section of the run's first successor
    u64 successors_end;   // the index behind its last one
    u32 first;            // the first local with a row, or a part of one, in the run
    u32 count;            // the number of these locals
    u32 lanes;            // lanes for a row: ROW_LANES, WARP if rows are long, or 1 if most are short
    u32 unused;
};

struct RowBlockArguments {
    const u32 *offsets;   // where each row begins in the successors, and where the last one ends
    const u32 *successors;
    const u64 *local_words; // which numbers are local, 64 a word; null: every number has its row in the row block
    const u32 *local_ranks; // locals of the row block before each word
    u32 start;            // the first number of the row block
    u32 locals;           // the number of locals before it
    u32 together;         // whether all numbers are local: the owner index of one in the batch is then always that of the batch
    u32 counters;         // the counter of the row block's first arc
};

// A range of the numbers of a row block.
struct PieceArguments {
    uint2 *table;         // of each number, as in `rows`: the chunk where its row begins, and its words
    u32 *firsts;          // of each chunk of the piece's packed rows, the counter of its first successor's arc
    u64 successors_first; // index in the row block of the first successor
    u32 start;            // the first number of the range
    u32 end;              // the end of the range, exclusive
    u32 row_first;        // the first row in the row block
    u32 lanes;            // lanes for a row: ROW_LANES, or WARP if rows are long
};

// Locals whose arcs into a piece are counted together.
struct BatchArguments {
    u32 *ends;            // two numbers an owner: how many short and long rows it owns, then where those end in `arcs`
    uint2 *arcs;          // the rows to stream: where each begins, and how many chunks (see `assign_row`)
    u32 *arc_counters;    // of each arc in `arcs`, its counter
    u64 *list;            // owners with work: those for warps from the front, those for blocks from the back
    u32 *state;           // number of owners for warps, of owners for blocks, and how many of each are taken
    u32 *sums;            // of the shares of `ends` that thread blocks scan
    u64 list_length;
    u32 first;            // the first local
    u32 count;            // the number of locals
    u32 owners;           // locals of the batch, then numbers of the range: the owner indices
    u32 lanes;            // lanes for a row; 0: `assign_sparse` chooses
};

struct Arguments {
    SharedArguments all;
    RunArguments run;
    RowBlockArguments row_block;
    PieceArguments piece;
    BatchArguments batch;
};

__device__ __forceinline__ u32 packed(u32 number, u32 k) {
    const u32 bits = 1u << k;
    if (number < HUBS) return (number >> 4) << 17 | 1u << (number & 15);
    return (((number >> k) << bits) | 1u << (number & (bits - 1))) + HUB;
}

// The run of a word. Runs of hubs and other runs never have the same value.
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

// The successors of a word, as bits.
__device__ __forceinline__ u32 successors_of(u32 word, u32 k) {
    return word < HUB ? word & 0xffff : (word - HUB) & ((1u << (1u << k)) - 1);
}

// The entry of a chunk in `firsts`: in that of the resident rows, or in that of the piece.
__device__ __forceinline__ const u32 *first_of(const Arguments &g, u32 chunk) {
    return chunk < g.all.chunk_first ? g.all.firsts + chunk : g.piece.firsts + (chunk - g.all.chunk_first);
}

// The counter of the first arc of the word at `place` in the row that begins with `chunk`.
__device__ __forceinline__ u32 first_of_word(const Arguments &g, u32 chunk, u32 place) {
    const u32 *words = (const u32 *)(g.all.words + chunk);
    u32 counter = *first_of(g, chunk + place / 4);
    for (u32 i = place / 4 * 4; i < place; i++) counter += __popc(successors_of(words[i], g.all.k));
    return counter;
}

// How many bits of a word are for successors, below its run.
__device__ __forceinline__ u32 bits_of(u32 word, u32 k) { return word < HUB ? 16 : 1u << k; }

// The lanes that have the same row as this one.
template <u32 LANES> __device__ __forceinline__ u32 lanes_of() { return ALL >> (WARP - LANES) << (threadIdx.x % WARP / LANES * LANES); }
