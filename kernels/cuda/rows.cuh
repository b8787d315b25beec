// Where the rows of a partition are while a frame is on the device: locals' rows are resident, the others are in the frame, or
// the frame has those of all its numbers. The same rules as in lstc.cu.

// Written by the host for each frame; mirrored by `Rows` in src/papers/rows.rs, field by field.
struct Rows {
    const u64 *offsets;       // where each local's row begins in `heads`; one more at the end
    const u32 *heads;
    const u64 *words;         // which numbers of the range are local, 64 a word; null: every row is in the frame
    const u32 *ranks;         // locals of the range before each word
    const u32 *frame_offsets; // where each row of the frame begins in `frame_heads`; null: all of the range are local
    const u32 *frame_heads;
    u64 range_start;          // the numbers that the frame covers
    u64 range_end;
    u64 first_local;          // locals before the range
    u64 locals;
};

// Rows by place: those of locals, then those of the frame.
struct Row {
    const u32 *begin;
    u32 length;
};

__device__ __forceinline__ Row row_at(const Rows *rows, u64 place) {
    if (place < rows->locals) {
        const u64 begin = rows->offsets[place];
        return {rows->heads + begin, (u32)(rows->offsets[place + 1] - begin)};
    }
    const u32 begin = rows->frame_offsets[place - rows->locals];
    return {rows->frame_heads + begin, rows->frame_offsets[place - rows->locals + 1] - begin};
}

__device__ __forceinline__ bool covers(const Rows *rows, u32 b) { return b >= rows->range_start && b < rows->range_end; }

// The place of the row of `b`, a number in the range.
__device__ __forceinline__ u64 place_of(const Rows *rows, u32 b) {
    const u64 place = b - rows->range_start;
    if (!rows->frame_offsets) return rows->first_local + place;
    if (!rows->words) return rows->locals + place;
    const u64 word = rows->words[place >> 6];
    const u64 local = rows->ranks[place >> 6] + __popcll(word & ((1ull << (place & 63)) - 1));
    return (word >> (place & 63) & 1) ? rows->first_local + local : rows->locals + place - local;
}
