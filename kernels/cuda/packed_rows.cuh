// Packs successors into the words that packed.cu describes: ROW_LANES lanes take a row, or a warp if rows are long.

constexpr u32 ALONE = 16; // successors: up to this, a thread packs a row if most rows are short

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

// The same by one thread, which writes a chunk at a time.
__device__ __forceinline__ u32 pack_alone(const u32 *successors, u64 n, uint4 *to, u32 out, u32 k, u32 *firsts, u32 counter) {
    uint4 chunk = out % 4 ? to[out / 4] : make_uint4(0, 0, 0, 0);
    u32 open = 0;
    if (out) {
        out--;
        const uint4 last = to[out / 4];
        chunk = last;
        open = out % 4 == 0 ? last.x : out % 4 == 1 ? last.y : out % 4 == 2 ? last.z : last.w;
    }
    const auto put = [&] {
        if (out % 4 == 0) chunk = make_uint4(open, 0, 0, 0);
        else if (out % 4 == 1) chunk.y = open;
        else if (out % 4 == 2) chunk.z = open;
        else chunk.w = open;
        if (out % 4 == 3) to[out / 4] = chunk;
        out++;
    };
    for (u32 i = 0; i < n; i++) {
        const u32 word = packed(successors[i], k);
        if (open && run_of(open, k) == run_of(word, k)) {
            open |= word;
            continue;
        }
        if (open) put();
        if (firsts && out % 4 == 0) firsts[out / 4] = counter + i;
        open = word;
    }
    if (open) put();
    if (out % 4) to[out / 4] = chunk;
    return out;
}

// Packs row `i` of a run of the resident section. A run may end within a row; the next one continues it. `rows` is zeroed before.
template <u32 LANES> __device__ __forceinline__ void resident_row(const Arguments &g, u32 i) {
    const u32 row = g.run.first + i;
    const u64 begin = g.run.offsets[i], end = g.run.offsets[i + 1];
    const u64 from = begin > g.run.successors_first ? begin : g.run.successors_first, to = end < g.run.successors_end ? end : g.run.successors_end;
    const u32 chunk = (u32)((begin + 3ull * row + 3) >> 2);
    const u32 before = begin < from ? g.all.rows[row].y : 0;
    if (LANES > 1) __syncwarp(lanes_of<LANES>());
    // A row that begins where this run ends has its first successor in the next run.
    if (begin == from && threadIdx.x % LANES == 0) g.all.next[row] = to > from ? g.run.successors[from - g.run.successors_first] : ALL;
    const u32 *successors = g.run.successors + (from - g.run.successors_first);
    const u64 n = to > from ? to - from : 0;
    u32 *firsts = g.all.on_arcs ? g.all.firsts + chunk : nullptr;
    u32 words;
    if (LANES == 1) words = pack_alone(successors, n, g.all.words + chunk, before, g.all.k, firsts, (u32)from);
    else words = pack<LANES>(successors, n, (u32 *)(g.all.words + chunk), before, g.all.k, firsts, (u32)from);
    if (threadIdx.x % LANES == 0) g.all.rows[row] = make_uint2(chunk, words);
}

template <u32 LANES> __device__ __forceinline__ void resident(const Arguments &g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / LANES);
    if (i < g.run.count) resident_row<LANES>(g, i);
}

// If most rows are short, a thread takes each of these, and the warp the others.
__device__ __forceinline__ void resident_short(const Arguments &g) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_long = i < g.run.count && g.run.offsets[i + 1] - g.run.offsets[i] > ALONE;
    if (i < g.run.count && !is_long) resident_row<1>(g, i);
    for (u32 left = __ballot_sync(ALL, is_long); left; left &= left - 1) resident_row<WARP>(g, i - threadIdx.x % WARP + __ffs(left) - 1);
}

extern "C" __global__ void packed_resident(Arguments g) {
    if (g.run.lanes == WARP) resident<WARP>(g);
    else if (g.run.lanes == 1) resident_short(g);
    else resident<ROW_LANES>(g);
}

// Packs a row of a piece of a row block and enters it in the table.
template <u32 LANES> __device__ __forceinline__ void row_block(const Arguments &g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / LANES);
    if (i >= g.piece.end - g.piece.start) return;
    const bool writes = threadIdx.x % LANES == 0;
    u32 row = g.piece.start - g.row_block.start + i;
    if (g.row_block.local_words) {
        const u64 word = g.row_block.local_words[row >> 6];
        const u32 local = g.row_block.local_ranks[row >> 6] + __popcll(word & ((1ull << (row & 63)) - 1));
        if (word >> (row & 63) & 1) {
            if (writes) g.piece.table[i] = g.all.rows[g.row_block.locals + local];
            return;
        }
        row -= local;
    }
    const u32 begin = g.row_block.offsets[row], end = g.row_block.offsets[row + 1];
    const u32 chunk = g.all.chunk_first + (u32)((begin - g.piece.successors_first + 3ull * (row - g.piece.row_first) + 3) >> 2);
    u32 *firsts = g.all.on_arcs ? g.piece.firsts + (chunk - g.all.chunk_first) : nullptr;
    const u32 words = pack<LANES>(g.row_block.successors + begin, end - begin, (u32 *)(g.all.words + chunk), 0, g.all.k, firsts, g.row_block.counters + begin);
    if (writes) g.piece.table[i] = make_uint2(chunk, words);
}

extern "C" __global__ void packed_row_block(Arguments g) {
    if (g.piece.lanes == WARP) row_block<WARP>(g);
    else row_block<ROW_LANES>(g);
}
