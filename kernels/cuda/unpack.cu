// Unpacks blocks of the graph file and of spills to rows as the counting kernels read them.
//
// The input of a part (the rows of a block) is the distances of its successors (of each row the first one, then each one's distance from
// the one before, less 1), and the offsets of its rows. A thread block takes a part: first it decodes all distances and writes each to its
// arc's place; then 8 lanes, or a warp, add up those of each row. Distances have one of two forms:
//
//     groups of bits (docs/graph-format.md): the control bits have a one for each number, behind a zero for each of its further groups. A
//         thread counts the ones of a word; then a warp takes 32 words, a lane for each bit. A number's data are behind the first groups
//         of all numbers before it and as many further groups as there are zeros before those of this number.
//     LEB128 (docs/spill-format.md): 16 bytes a thread. The byte before a part is the last one of a number (of a row's length), so a
//         thread finds the beginning of a number that reaches into its bytes in the 4 bytes before them.
//
// Whatever the bytes are, nothing is written outside a part's arcs and rows ascend below their bounds, provided that there are as many
// numbers as the part has arcs (and, of groups, data for all of them and a word more) and no row is longer than its bound; if the bytes
// are invalid, `wrong` is set. `bins`, unless null, counts successors by their high bits.
//
// Cost: each stored byte is read once, each successor is written twice and read once, or twice if it is counted.

struct Part {
    u32 begin, data, end; // where these bytes begin: the control bits, or the numbers in LEB128; the data; what follows
    u32 groups;           // bits of a number's first group, and 256 times those of each further one; 0: LEB128
    u32 row, rows;  // the first row's place among the offsets, and how many rows
    u32 arc, arcs;  // the first arc's place among the successors, and how many arcs
    u32 bound, bound_step; // successors of row i stay below bound + i * bound_step
};

constexpr u32 TAKEN = 16; // bytes of LEB128 that a thread decodes at a time
constexpr u32 LONGEST = 35; // bits of a number's groups: a number of 32 bits, and what its last group has room for beside it
constexpr u32 ROW_LANES = 8;
constexpr u32 LONG_ROW = 128; // successors of a row from which on a warp takes it

__device__ __forceinline__ u64 offset_at(const u64 *offsets, u64 wide, u64 row) {
    return wide ? offsets[row] : ((const u32 *)offsets)[row];
}

// Turns the distances in a part's rows into successors, with LANES lanes a row. Returns whether a row exceeded its bound.
template <u32 LANES>
__device__ __forceinline__ bool add_up(const Part &part, const u64 *offsets, u64 wide, u64 base, u64 first_row, u32 *successors) {
    const u32 lane = threadIdx.x % LANES;
    bool bad = false;
    // A warp continues as long as any of its rows does.
    for (u32 first = threadIdx.x / WARP * (WARP / LANES); first < part.rows; first += blockDim.x / LANES) {
        const u32 row = first + threadIdx.x % WARP / LANES;
        u64 begin = 0, end = 0;
        if (row < part.rows) {
            begin = offset_at(offsets, wide, part.row - first_row + row) - base;
            end = offset_at(offsets, wide, part.row - first_row + row + 1) - base;
        }
        const u64 bound = part.bound + (u64)part.bound_step * row;
        u64 least = 0;
        for (u64 i = begin; __any_sync(ALL, i < end); i += LANES) {
            const bool mine = i + lane < end;
            u64 sum = mine ? (u64)successors[i + lane] + 1 : 0;
            for (u32 step = 1; step < LANES; step <<= 1) {
                const u64 other = __shfl_up_sync(ALL, sum, step);
                if (lane >= step) sum += other;
            }
            sum += least;
            if (mine) successors[i + lane] = (u32)(sum - 1);
            // Lanes beyond the row's end added nothing, so the last lane has the sum of all.
            least = __shfl_sync(ALL, sum, threadIdx.x % WARP | (LANES - 1));
        }
        if (least > bound) {
            // Its last successor is too large: write a valid row instead, which exists as the row is not longer than `bound`.
            bad = true;
            for (u64 i = begin; i + lane < end; i += LANES) successors[i + lane] = (u32)(i + lane - begin);
        }
    }
    return bad;
}

// The number whose groups are `length` bits of the data, from a bit on; a word behind the data may be read. `bad`: it exceeds 32 bits.
__device__ __forceinline__ u32 bits_at(const u32 *data, u32 bit, u32 length, bool &bad) {
    if (length == 0) return 0;
    const u32 *from = data + bit / 32;
    const u32 low = __funnelshift_r(from[0], from[1], bit);
    if (length < 32) return low & ((1u << length) - 1);
    if (length > 32) bad |= length > LONGEST || __funnelshift_r(from[1], from[2], bit) & ((1u << (length - 32)) - 1);
    return low;
}

// Decodes the distances of a part, stored as groups of bits. Returns true if they are not as many as its arcs, or one exceeds 32 bits.
__device__ __forceinline__ bool decode_groups(const Part &part, u64 bytes, u32 *out) {
    const u32 first = part.groups & 0xff, more = part.groups >> 8;
    const u32 *control = (const u32 *)(bytes + part.begin), *data = (const u32 *)(bytes + part.data);
    const u32 words = (part.data - part.begin) / 4;
    bool bad = false;
    u32 done = 0;
    for (u32 at = 0; at < words; at += blockDim.x) {
        const u32 mine = at + threadIdx.x;
        u32 word = 0, zeros = 0; // this thread's word, and the zeros directly before it: at most 32 of a number
        if (mine < words) {
            word = control[mine];
            if (mine > 0) zeros = __clz(control[mine - 1]);
            if (mine > 1 && zeros == 32) zeros += __clz(control[mine - 2]);
        }
        u32 total;
        const u32 place = done + block_exclusive((u32)__popc(word), total);
        const u32 lane = this_lane(), first_bit = 32 * (mine - lane);
#pragma unroll 4
        for (u32 i = 0; i < WARP; i++) {
            const u32 ones = __shfl_sync(ALL, word, i), before = __shfl_sync(ALL, place, i), carried = __shfl_sync(ALL, zeros, i);
            const u32 below = ones & lanes_below();
            const u32 run = below ? lane - 32 + __clz(below) : lane + carried;
            const u32 number = before + __popc(below);
            if ((ones >> lane & 1) && number < part.arcs) {
                const u32 zeros_before = first_bit + 32 * i + lane - run - number;
                out[number] = bits_at(data, first * number + more * zeros_before, first + more * run, bad);
            }
        }
        done += total;
    }
    return bad | (done != part.arcs);
}

// The same for distances in LEB128.
__device__ __forceinline__ bool decode_leb128(const Part &part, u64 bytes, u32 *out) {
    bool bad = false;
    u32 done = 0;
    for (u32 at = part.begin / TAKEN * TAKEN; at < part.end; at += blockDim.x * TAKEN) {
        const u32 mine = at + threadIdx.x * TAKEN;
        u32 words[5] = {0, 0, 0, 0, 0}; // 4 bytes before, then 16
        if (mine < part.end) {
            const u32 *from = (const u32 *)(bytes + mine);
            if (mine >= 4) words[0] = from[-1];
            for (u32 i = 0; i < 4; i++) words[i + 1] = from[i];
        }
        u32 ends = 0;
        for (u32 i = 0; i < TAKEN; i++) {
            const bool last = !(words[1 + i / 4] >> (8 * (i % 4) + 7) & 1);
            ends += last && mine + i >= part.begin && mine + i < part.end;
        }
        u32 total;
        u32 place = done + block_exclusive(ends, total);
        u32 number = 0, bits = 0;
        for (u32 i = 0; i < TAKEN + 4; i++) {
            const u32 byte = words[i / 4] >> (8 * (i % 4)) & 0xff;
            if (bits < 32) number |= (byte & 0x7f) << bits;
            if (byte & 0x80) {
                bits += 7;
                continue;
            }
            const u32 where = mine + i - 4;
            if (i >= 4 && where >= part.begin && where < part.end) {
                bad |= bits > 28;
                if (place < part.arcs) out[place] = number;
                place++;
            }
            number = bits = 0;
        }
        done += total;
    }
    return bad | (done != part.arcs);
}

// `bytes` is the (possibly virtual) address of the run's byte 0, a multiple of 16; `offsets` and `successors` begin with row `first_row`
// and arc `first_arc`, and the first offset is `base`.
extern "C" __global__ void __launch_bounds__(UNPACK_THREADS) unpack(u64 bytes, const Part *parts, const u64 *offsets, u64 wide, u64 base,
    u64 first_row, u64 first_arc, u32 *successors, u64 *wrong, u64 *bins, u64 shift) {
    __shared__ u32 counts[UNPACK_BINS];
    const Part part = parts[blockIdx.x];
    u32 *out = successors + (part.arc - first_arc);
    if (bins)
        for (u32 i = threadIdx.x; i < UNPACK_BINS; i += blockDim.x) counts[i] = 0;
    bool bad = part.groups ? decode_groups(part, bytes, out) : decode_leb128(part, bytes, out);
    __syncthreads();
    if (part.arcs / max(part.rows, 1u) >= LONG_ROW) bad |= add_up<WARP>(part, offsets, wide, base, first_row, successors);
    else bad |= add_up<ROW_LANES>(part, offsets, wide, base, first_row, successors);
    if (bad) *wrong = 1;
    if (!bins) return;
    __syncthreads();
    for (u32 i = threadIdx.x; i < part.arcs; i += blockDim.x) atomicAdd(&counts[out[i] >> shift], 1u);
    __syncthreads();
    for (u32 i = threadIdx.x; i < UNPACK_BINS; i += blockDim.x)
        if (counts[i]) atomicAdd(&bins[i], (u64)counts[i]);
}
