// Finds the rows of a partition while a row block is on the device: locals' rows are resident, the others are in the row block; or the
// row block has the rows of all its numbers. The same rules as in lstc.cu.

// Written by the host for each row block, in this order: `Sections::row_block` in src/gpu/rows.rs.
struct Rows {
    const u64 *offsets;       // where each local's row begins in `successors`, and where the last one ends
    const u32 *successors;
    const u64 *words;         // which numbers of the range are local, 64 a word; null: every row is in the row block
    const u32 *ranks;         // locals of the range before each word
    const u32 *row_block_offsets; // where each row of the row block begins in `row_block_successors`; null: all of the range are local
    const u32 *row_block_successors;
    u64 range_start;          // the numbers that the row block covers
    u64 range_end;
    u64 first_local;          // locals before the range
    u64 locals;
};

// Places number all rows: those of locals first, then those of the row block.
struct Row {
    const u32 *begin;
    u32 length;
};

__device__ __forceinline__ Row row_at(const Rows *rows, u64 place) {
    if (place < rows->locals) {
        const u64 begin = rows->offsets[place];
        return {rows->successors + begin, (u32)(rows->offsets[place + 1] - begin)};
    }
    const u32 begin = rows->row_block_offsets[place - rows->locals];
    return {rows->row_block_successors + begin, rows->row_block_offsets[place - rows->locals + 1] - begin};
}

__device__ __forceinline__ bool covers(const Rows *rows, u32 b) { return b >= rows->range_start && b < rows->range_end; }

// The place of the row of number `b` of the range.
__device__ __forceinline__ u64 place_of(const Rows *rows, u32 b) {
    const u64 place = b - rows->range_start;
    if (!rows->row_block_offsets) return rows->first_local + place;
    if (!rows->words) return rows->locals + place;
    const u64 word = rows->words[place >> 6];
    const u64 local = rows->ranks[place >> 6] + __popcll(word & ((1ull << (place & 63)) - 1));
    return (word >> (place & 63) & 1) ? rows->first_local + local : rows->locals + place - local;
}
