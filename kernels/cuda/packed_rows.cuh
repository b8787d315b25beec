// Packs successors into the words that packed.cu describes: ROW_LANES lanes take a row, or a warp if rows are long.

// Appends `n` successors to the `out` words of a row. Returns the new number of words. `firsts`: of each chunk of the row the counter
// of its first successor's arc, if arcs have counters; `counter`: that of the first of these successors.
template <u32 LANES>
__device__ __forceinline__ u32 pack(const u32 *successors, u64 n, u32 *to, u32 out, u32 k, u32 *firsts, u32 counter) {
    const u32 lane = threadIdx.x % LANES, shift = threadIdx.x % WARP / LANES * LANES, all = ALL >> (WARP - LANES);
    const u32 lanes = lanes_of<LANES>();
    u32 open = 0; // the last word, not written yet
    if (out) open = to[--out];
    __syncwarp(lanes);
    for (u64 i = 0; i < n; i += LANES) {
        u32 word = i + lane < n ? packed(successors[i + lane], k) : 0, run = word ? run_of(word, k) : ALL;
        u32 before = __shfl_up_sync(lanes, run, 1, LANES);
        if (lane == 0) before = open ? run_of(open, k) : ALL;
        const bool begins = word && run != before;
        for (u32 step = 1; step < LANES; step <<= 1) {
            u32 next = __shfl_down_sync(lanes, word, step, LANES), its = __shfl_down_sync(lanes, run, step, LANES);
            if (lane + step < LANES && its == run && word) word |= next;
        }
        const u32 first = __shfl_sync(lanes, word, 0, LANES);
        const u32 begun = __ballot_sync(lanes, begins) >> shift & all;
        if (firsts && begins) {
            const u32 place = out + (open != 0) + __popc(begun & ((1u << lane) - 1));
            if (place % 4 == 0) firsts[place / 4] = counter + (u32)i + lane;
        }
        if (!(begun & 1) && open) open |= first;
        if (begun) {
            if (open) {
                if (lane == 0) to[out] = open;
                out++;
            }
            const u32 many = __popc(begun) - 1, rank = __popc(begun & ((1u << lane) - 1));
            if (begins && rank < many) to[out + rank] = word;
            out += many;
            open = __shfl_sync(lanes, word, 31 - __clz(begun), LANES);
        }
    }
    if (open) {
        if (lane == 0) to[out] = open;
        out++;
    }
    if (lane < (0 - out & 3)) to[out + lane] = 0;
    return out;
}

// Packs a row of a run of the resident section. A run may end within a row; the next one continues it. `rows` is zeroed before.
template <u32 LANES> __device__ __forceinline__ void resident(const Arguments &g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / LANES);
    if (i >= g.count) return;
    const u32 row = g.first + i;
    const u64 begin = g.offsets[i], end = g.offsets[i + 1];
    const u64 from = begin > g.successors_first ? begin : g.successors_first, to = end < g.successors_end ? end : g.successors_end;
    const u32 chunk = (u32)((begin + 3ull * row + 3) >> 2);
    const u32 before = begin < from ? g.rows[row].y : 0;
    __syncwarp(lanes_of<LANES>());
    // A row that begins where this run ends has its first successor in the next run.
    if (begin == from && threadIdx.x % LANES == 0) g.next[row] = to > from ? g.successors[from - g.successors_first] : ALL;
    const u32 words = pack<LANES>(g.successors + (from - g.successors_first), to > from ? to - from : 0, (u32 *)(g.words + chunk), before, g.k, g.on_arcs ? g.firsts + chunk : nullptr, (u32)from);
    if (threadIdx.x % LANES == 0) g.rows[row] = make_uint2(chunk, words);
}

extern "C" __global__ void packed_resident(Arguments g) {
    if (g.lanes == WARP) resident<WARP>(g);
    else resident<ROW_LANES>(g);
}

// Packs a row of a piece of a row block and enters it in the table.
template <u32 LANES> __device__ __forceinline__ void row_block(const Arguments &g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / LANES);
    if (i >= g.range_end - g.range_start) return;
    const bool writes = threadIdx.x % LANES == 0;
    u32 row = g.range_start - g.row_block_start + i;
    if (g.local_words) {
        const u64 word = g.local_words[row >> 6];
        const u32 local = g.local_ranks[row >> 6] + __popcll(word & ((1ull << (row & 63)) - 1));
        if (word >> (row & 63) & 1) {
            if (writes) g.table[i] = g.rows[g.row_block_locals + local];
            return;
        }
        row -= local;
    }
    const u32 begin = g.row_block_offsets[row], end = g.row_block_offsets[row + 1];
    const u32 chunk = g.chunk_first + (u32)((begin - g.successors_first + 3ull * (row - g.row_first) + 3) >> 2);
    u32 *firsts = g.on_arcs ? g.piece_firsts + (chunk - g.chunk_first) : nullptr;
    const u32 words = pack<LANES>(g.successors + begin, end - begin, (u32 *)(g.words + chunk), 0, g.k, firsts, g.row_block_counters + begin);
    if (writes) g.table[i] = make_uint2(chunk, words);
}

extern "C" __global__ void packed_row_block(Arguments g) {
    if (g.lanes == WARP) row_block<WARP>(g);
    else row_block<ROW_LANES>(g);
}
