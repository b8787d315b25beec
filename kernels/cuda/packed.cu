// Method `packed`: rows packed into words of bits, the longer row of an arc in a table, the shorter one streamed past it.
//
// Enters: the resident rows of a partition and a frame's rows, strictly ascending, every head smaller than its row's own
// number. Leaves: the triangles that start at local vertices, added to one total.
//
// A packed row has a word for every run of numbers that has a head: the run above, its heads as bits below. Runs have 16
// numbers among the first 65,536, the hubs, and 2^k after them (k = 4, or less the more numbers there are). Words below HUB are
// hubs', so they come first and rows ascend as words, too. A row begins at a multiple of four words (a chunk, read at once) and
// is filled up with zeros, which meet nothing. On Kronecker graphs a word has about two heads, on crawls up to ten.
//
// For an arc a -> b only heads before b can close a triangle, so it takes min(words of b, words of a before b). The end whose row
// is the longer one there owns the arc (`deal`): its row becomes a table in shared memory once, and the other rows of all arcs
// that it owns are streamed past. An arc is stored as the chunk where that row begins and the number of chunks: a prefix of
// a's row, or b's row whole; that a prefix ends within a chunk harms nothing, since what comes after it is not below b.
//
// Three ways, by what an owner has to do:
//   few    rows of one chunk against rows of one chunk: a thread a local, 16 comparisons; such arcs are not dealt.
//   some   rows of at most SOME_WORDS words and little to stream: a warp an owner. The table is a hash of two levels without
//          collisions: another factor is tried until the second level has none, and after TRIES rows are searched instead.
//          So a probe has no loop. The warp deals the chunks of 32 rows to its lanes, one each.
//   many   all others: a block an owner. The table is a bitmap of the hubs (8 KB) and an open hash of the rest of the row,
//          TAIL_WORDS at a time, so nothing is ever dropped. Rows longer than `LONG` chunks take LANES lanes each.
// Owners of very much are cut into parts that several blocks take. Blocks take owners from a counter.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 ALL = 0xffffffffu;
constexpr u32 WARP = 32;
constexpr u32 HUB = 1u << 29;          // words below it are hubs'
constexpr u32 HUBS = 65536;
constexpr u32 ROW_LANES = 8;           // lanes that pack or deal a row
constexpr u32 LONG = 8;                // chunks of a row that several lanes stream
constexpr u32 LANES = 8;               // as many
constexpr u32 SCAN = 4096;             // numbers that a block of 256 adds up
constexpr u32 SOME_WORDS = 128;
constexpr u32 SOME_COST = 1024;        // chunks
constexpr u32 PART = 1 << 14;          // chunks
constexpr u32 SLOTS = 512, MORE_SLOTS = 128, TRIES = 8;
constexpr u32 TAIL_WORDS = 512, TAIL_SLOTS = 1024;
constexpr u32 GRAB = 8;                // owners that a warp takes at a time, at most, and in an eighth of its share
constexpr u32 GOLDEN = 0x9E3779B1u, SECOND = 0x85EBCA6Bu;

#if __CUDA_ARCH__ >= 800
#define SOME_BLOCKS 9
#define MANY_BLOCKS 12
#else
#define SOME_BLOCKS 8
#define MANY_BLOCKS 8
#endif

// Mirrored by `Arguments` in src/packed/arguments.rs, field by field.
struct Arguments {
    uint2 *rows;              // of each local: the chunk where its row begins, and its words
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
    u32 whole;                // the piece covers all numbers
    u32 together;             // all of the range are local, and those in the batch own as one
    u32 owners;
    u32 k;                    // runs after the hubs have 2^k numbers
};

// ---- words

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

// ---- packing: ROW_LANES lanes a row

__device__ __forceinline__ u32 row_lanes() { return ((1u << ROW_LANES) - 1) << (threadIdx.x % WARP / ROW_LANES * ROW_LANES); }

// Packs `n` heads after the `out` words that are there already. Returns how many words there are then.
__device__ __forceinline__ u32 pack(const u32 *heads, u64 n, u32 *to, u32 out, u32 k) {
    const u32 lane = threadIdx.x % ROW_LANES, lanes = row_lanes(), shift = threadIdx.x % WARP / ROW_LANES * ROW_LANES;
    u32 open = 0; // the last word, not written yet
    if (out) open = to[--out];
    __syncwarp(lanes);
    for (u64 i = 0; i < n; i += ROW_LANES) {
        u32 word = i + lane < n ? packed(heads[i + lane], k) : 0, run = word ? run_of(word, k) : ALL;
        u32 before = __shfl_up_sync(lanes, run, 1, ROW_LANES);
        if (lane == 0) before = open ? run_of(open, k) : ALL;
        const bool begins = word && run != before;
        for (u32 step = 1; step < ROW_LANES; step <<= 1) {
            u32 next = __shfl_down_sync(lanes, word, step, ROW_LANES), its = __shfl_down_sync(lanes, run, step, ROW_LANES);
            if (lane + step < ROW_LANES && its == run && word) word |= next;
        }
        const u32 first = __shfl_sync(lanes, word, 0, ROW_LANES);
        const u32 begun = __ballot_sync(lanes, begins) >> shift & ((1u << ROW_LANES) - 1);
        if (!(begun & 1) && open) open |= first;
        if (begun) {
            if (open) {
                if (lane == 0) to[out] = open;
                out++;
            }
            const u32 many = __popc(begun) - 1, rank = __popc(begun & ((1u << lane) - 1));
            if (begins && rank < many) to[out + rank] = word;
            out += many;
            open = __shfl_sync(lanes, word, 31 - __clz(begun), ROW_LANES);
        }
    }
    if (open) {
        if (lane == 0) to[out] = open;
        out++;
    }
    if (lane < (0 - out & 3)) to[out + lane] = 0;
    return out;
}

// A run of the resident section. Rows may be cut anywhere: the next run goes on with them. `rows` was zeroed.
extern "C" __global__ void packed_resident(Arguments g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / ROW_LANES);
    if (i >= g.count) return;
    const u32 row = g.first + i;
    const u64 begin = g.offsets[i], end = g.offsets[i + 1];
    const u64 from = begin > g.heads_first ? begin : g.heads_first, to = end < g.heads_end ? end : g.heads_end;
    const u32 chunk = (u32)((begin + 3ull * row + 3) >> 2);
    const u32 before = begin < from ? g.rows[row].y : 0;
    __syncwarp(row_lanes());
    const u32 words = pack(g.heads + (from - g.heads_first), to > from ? to - from : 0, (u32 *)(g.words + chunk), before, g.k);
    if (threadIdx.x % ROW_LANES == 0) g.rows[row] = make_uint2(chunk, words);
}

// The rows of a piece of a frame, and its table.
extern "C" __global__ void packed_frame(Arguments g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / ROW_LANES);
    if (i >= g.range_end - g.range_start) return;
    const bool writes = threadIdx.x % ROW_LANES == 0;
    u32 row = g.range_start - g.frame_start + i;
    if (g.local_words) {
        const u64 word = g.local_words[row >> 6];
        const u32 local = g.local_ranks[row >> 6] + __popcll(word & ((1ull << (row & 63)) - 1));
        if (word >> (row & 63) & 1) {
            if (writes) g.table[i] = g.rows[g.frame_locals + local];
            return;
        }
        row -= local;
    }
    const u32 begin = g.frame_offsets[row], end = g.frame_offsets[row + 1];
    const u32 chunk = g.chunk_first + (u32)((begin - g.heads_first + 3ull * (row - g.row_first) + 3) >> 2);
    const u32 words = pack(g.heads + begin, end - begin, (u32 *)(g.words + chunk), 0, g.k);
    if (writes) g.table[i] = make_uint2(chunk, words);
}

// ---- dealing: each arc of the batch into the piece to the end that owns it

extern "C" __global__ void packed_clear(Arguments g) {
    const u64 stride = (u64)gridDim.x * blockDim.x, thread = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    for (u64 i = thread; i < 2ull * g.owners; i += stride) g.ends[i] = 0;
    if (thread < 4) g.state[thread] = 0;
}

// Where the words from number `key` on begin.
__device__ __forceinline__ u32 place_of(const u32 *row, u32 n, u32 key, u32 k) {
    const u32 least = packed(key, k) >> (key < HUBS ? 16 : 1u << k) << (key < HUBS ? 16 : 1u << k);
    u32 low = 0;
    while (n) {
        const u32 half = n >> 1;
        if (row[low + half] < least) {
            low += half + 1;
            n -= half + 1;
        } else n = half;
    }
    return low;
}

template <bool WRITE> __device__ __forceinline__ void deal(const Arguments &g) {
    const u32 i = (u32)((blockIdx.x * (u64)blockDim.x + threadIdx.x) / ROW_LANES);
    if (i >= g.count) return;
    const uint2 own = g.rows[g.first + i];
    const u32 *row = (const u32 *)(g.words + own.x);
    const u32 range = g.range_end - g.range_start;
    u32 place = g.whole ? 0 : place_of(row, own.y, g.range_start, g.k);
    for (place += threadIdx.x % ROW_LANES; place < own.y; place += ROW_LANES) {
        u32 base, heads;
        unpack(row[place], g.k, base, heads);
        if (base >= g.range_end) return;
        u32 before = place; // words of this row with heads before b
        for (; heads; heads &= heads - 1, before = place + 1) {
            const u32 b = base + __ffs(heads) - 1, at = b - g.range_start;
            if (at >= range) continue;
            const uint2 other = g.table[at];
            const u32 words = before < other.y ? before : other.y;
            if (words == 0 || (own.y <= 4 && other.y <= 4)) continue;
            const bool mine = other.y <= before;
            u32 owner = i;
            if (!mine) {
                owner = g.count + at;
                if (g.together) {
                    const u32 local = g.frame_locals + (b - g.frame_start) - g.first;
                    if (local < g.count) owner = local;
                }
            }
            const u32 chunks = (words + 3) >> 2;
            u32 *end = g.ends + 2ull * owner + (chunks > LONG);
            const u32 to = atomicAdd(end, 1);
            if (WRITE) g.arcs[to] = make_uint2(mine ? other.x : own.x, chunks);
        }
    }
}

extern "C" __global__ void packed_tally(Arguments g) { deal<false>(g); }
extern "C" __global__ void packed_deal(Arguments g) { deal<true>(g); }

// Exclusive sums of `ends`, in three steps of blocks of 256.

__device__ __forceinline__ u32 warp_scan(u32 value) {
    for (u32 step = 1; step < WARP; step <<= 1) {
        const u32 other = __shfl_up_sync(ALL, value, step);
        if (threadIdx.x % WARP >= step) value += other;
    }
    return value;
}

__device__ u32 block_scan(u32 value, u32 &all) {
    __shared__ u32 warps[8];
    const u32 sum = warp_scan(value), warp = threadIdx.x / WARP;
    __syncthreads();
    if (threadIdx.x % WARP == WARP - 1) warps[warp] = sum;
    __syncthreads();
    u32 before = 0;
    all = 0;
    for (u32 w = 0; w < 8; w++) {
        if (w < warp) before += warps[w];
        all += warps[w];
    }
    return before + sum - value;
}

extern "C" __global__ void packed_sum(Arguments g) {
    const u64 first = blockIdx.x * (u64)SCAN + threadIdx.x * 16;
    u32 sum = 0, all;
    for (u32 j = 0; j < 16; j++)
        if (first + j < 2ull * g.owners) sum += g.ends[first + j];
    block_scan(sum, all);
    if (threadIdx.x == 0) g.sums[blockIdx.x] = all;
}

// One block.
extern "C" __global__ void packed_sum_of_sums(Arguments g) {
    const u32 n = (u32)((2ull * g.owners + SCAN - 1) / SCAN);
    u32 carry = 0;
    for (u32 i = 0; i < n; i += 256) {
        u32 all;
        const u32 at = i + threadIdx.x, before = block_scan(at < n ? g.sums[at] : 0, all);
        if (at < n) g.sums[at] = carry + before;
        carry += all;
    }
}

extern "C" __global__ void packed_scan(Arguments g) {
    const u64 first = blockIdx.x * (u64)SCAN + threadIdx.x * 16;
    u32 values[16], sum = 0, all;
    for (u32 j = 0; j < 16; j++) {
        values[j] = first + j < 2ull * g.owners ? g.ends[first + j] : 0;
        sum += values[j];
    }
    u32 before = block_scan(sum, all) + g.sums[blockIdx.x];
    for (u32 j = 0; j < 16; j++) {
        if (first + j < 2ull * g.owners) g.ends[first + j] = before;
        before += values[j];
    }
}

__device__ __forceinline__ uint2 row_of(const Arguments &g, u32 owner) {
    return owner < g.count ? g.rows[g.first + owner] : g.table[owner - g.count];
}

// Sorts owners by what they have to do. Blocks of 256.
extern "C" __global__ void packed_list(Arguments g) {
    __shared__ u32 some_at, many_at;
    const u64 owner = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    bool some = false;
    u32 parts = 0;
    if (owner < g.owners) {
        const u32 begin = owner ? g.ends[2 * owner - 1] : 0, middle = g.ends[2 * owner], end = g.ends[2 * owner + 1];
        // About what short and long rows have.
        const u64 cost = (middle - begin) * 3ull + (end - middle) * 24ull;
        if (cost) {
            some = cost <= SOME_COST && row_of(g, (u32)owner).y <= SOME_WORDS;
            const u64 cut = (cost + PART - 1) / PART;
            if (!some) parts = cut < 65535 ? (u32)cut : 65535;
        }
    }
    u32 somes, manys;
    const u32 some_before = block_scan(some, somes), many_before = block_scan(parts, manys);
    if (threadIdx.x == 0) {
        if (somes) some_at = atomicAdd(g.state, somes);
        if (manys) many_at = atomicAdd(g.state + 1, manys);
    }
    __syncthreads();
    if (some) g.list[some_at + some_before] = owner;
    for (u32 part = 0; part < parts; part++)
        g.list[g.list_length - 1 - (many_at + many_before + part)] = (u64)parts << 48 | (u64)part << 32 | owner;
}

// ---- counting

// Blocks of up to 8 warps.
__device__ __forceinline__ void add_up(u64 count, u64 *total) {
    __shared__ u64 warps[8];
    for (u32 step = WARP / 2; step; step >>= 1) count += __shfl_down_sync(ALL, count, step);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < blockDim.x / WARP; w++) count += warps[w];
        if (count) atomicAdd(total, count);
    }
}

__device__ __forceinline__ u32 any_bits(u32 bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL, bits);
#else
    for (u32 step = WARP / 2; step; step >>= 1) bits |= __shfl_xor_sync(ALL, bits, step);
    return bits;
#endif
}

__device__ __forceinline__ uint4 nothing() { return make_uint4(0, 0, 0, 0); }

// A warp takes all chunks of the rows [at, end): of 32 rows at a time, two chunks a lane. `arc`: this lane's of the first 32.
template <class Probe>
__device__ __forceinline__ u64 stream(const Arguments &g, u32 at, u32 end, uint2 arc, const Probe &probe) {
    const u32 lane = threadIdx.x % WARP, upto = (2u << lane) - 1;
    u64 count = 0;
    while (at < end) {
        const u32 chunks = arc.y, after = warp_scan(chunks), all = __shfl_sync(ALL, after, WARP - 1);
        const u32 first = after - chunks, base = arc.x - first;
        at += WARP;
        uint2 next = make_uint2(0, 0);
        if (at + lane < end) next = g.arcs[at + lane];
        u32 begun = 0; // rows that begin before the window
        for (u32 window = 0; window < all; window += 2 * WARP) {
            const bool two = window + WARP < all;
            const u32 here = first - window, there = here - WARP;
            const u32 marks = any_bits(chunks && here < WARP ? 1u << here : 0);
            const u32 more = two ? any_bits(chunks && there < WARP ? 1u << there : 0) : 0;
            const u32 one = begun + __popc(marks & upto) - 1;
            begun += __popc(marks);
            const u32 other = begun + __popc(more & upto) - 1;
            begun += __popc(more);
            const u32 base_one = __shfl_sync(ALL, base, one), base_other = __shfl_sync(ALL, base, other);
            const u32 c = window + lane;
            const uint4 a = c < all ? __ldg(g.words + (u32)(base_one + c)) : nothing();
            uint4 b = nothing();
            if (two && c + WARP < all) b = __ldg(g.words + (u32)(base_other + c + WARP));
            count += probe(a);
            if (two) count += probe(b);
        }
        arc = next;
    }
    return count;
}

// ---- many: a block an owner

__device__ __forceinline__ void put(u32 *table, u32 word, u32 k) {
    u32 slot = (run_of(word, k) * GOLDEN) >> 22;
    while (atomicCAS(table + slot, 0, word)) slot = (slot + 1) & (TAIL_SLOTS - 1);
}

__device__ __forceinline__ u32 look_up(const u32 *table, u32 word, u32 k) {
    const u32 bits = 1u << k;
    for (u32 slot = ((word >> bits) * GOLDEN) >> 22;; slot = (slot + 1) & (TAIL_SLOTS - 1)) {
        const u32 found = table[slot];
        if ((found ^ word) >> bits == 0) return __popc(found & word & ((1u << bits) - 1));
        if (found == 0) return 0;
    }
}

template <bool TAIL> struct Bitmap {
    const unsigned char *hubs; // two bytes a run, and two of zeros at its end
    const u32 *tail;
    u32 k;

    __device__ __forceinline__ u32 at(u32 word) const { return *(const u16 *)(hubs + min(word >> 16, HUBS / 8)) & word; }

    __device__ __forceinline__ u32 operator()(uint4 q) const {
        const u32 a = at(q.x), b = at(q.y), c = at(q.z), d = at(q.w);
        u32 count = __popc(__byte_perm(a, b, 0x5410)) + __popc(__byte_perm(c, d, 0x5410));
        if (TAIL && (q.x >= HUB || q.y >= HUB || q.z >= HUB || q.w >= HUB)) {
            if (q.x >= HUB) count += look_up(tail, q.x, k);
            if (q.y >= HUB) count += look_up(tail, q.y, k);
            if (q.z >= HUB) count += look_up(tail, q.z, k);
            if (q.w >= HUB) count += look_up(tail, q.w, k);
        }
        return count;
    }
};

constexpr u32 MANY_THREADS = 128;

template <class Probe>
__device__ __forceinline__ u64 stream_all(const Arguments &g, u32 owner, u32 part, u32 parts, const Probe &probe) {
    const u32 begin = owner ? g.ends[2ull * owner - 1] : 0, middle = g.ends[2ull * owner], end = g.ends[2ull * owner + 1];
    u64 count = 0;
    {
        const u64 n = end - middle;
        const u32 last = middle + (u32)(n * (part + 1) / parts), lane = threadIdx.x % LANES;
        u32 at = middle + (u32)(n * part / parts) + threadIdx.x / LANES;
        uint2 arc = at < last ? g.arcs[at] : make_uint2(0, 0);
        while (at < last) {
            at += MANY_THREADS / LANES;
            const uint2 next = at < last ? g.arcs[at] : make_uint2(0, 0);
            const uint4 *row = g.words + arc.x;
            u32 sum = 0;
            for (u32 c = lane; c < arc.y; c += 2 * LANES) {
                const uint4 a = __ldg(row + c);
                uint4 b = nothing();
                if (c + LANES < arc.y) b = __ldg(row + c + LANES);
                sum += probe(a) + probe(b);
            }
            count += sum;
            arc = next;
        }
    }
    const u64 n = middle - begin;
    const u32 first = begin + (u32)(n * part / parts), mine = begin + (u32)(n * (part + 1) / parts) - first;
    const u32 warp = threadIdx.x / WARP, warps = MANY_THREADS / WARP;
    const u32 at = first + (u32)((u64)mine * warp / warps), last = first + (u32)((u64)mine * (warp + 1) / warps);
    uint2 arc = make_uint2(0, 0);
    if (at + threadIdx.x % WARP < last) arc = g.arcs[at + threadIdx.x % WARP];
    return count + stream(g, at, last, arc, probe);
}

extern "C" __global__ void __launch_bounds__(MANY_THREADS, MANY_BLOCKS) packed_many(Arguments g) {
    __shared__ __align__(16) u32 bitmap[HUBS / 32 + 4];
    __shared__ u32 tail[TAIL_SLOTS], taken[2], hub_words;
    unsigned char *hubs = (unsigned char *)bitmap;
    for (u32 i = threadIdx.x; i < HUBS / 32 + 4; i += MANY_THREADS) bitmap[i] = 0;
    for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += MANY_THREADS) tail[i] = 0;
    const u32 items = g.state[1];
    u64 count = 0;
    if (threadIdx.x == 0) taken[0] = atomicAdd(g.state + 3, 1);
    for (u32 turn = 0;; turn ^= 1) {
        __syncthreads();
        if (taken[turn] >= items) break;
        const u64 item = g.list[g.list_length - 1 - taken[turn]];
        const u32 owner = (u32)item, part = (u32)(item >> 32) & 0xffff, parts = (u32)(item >> 48);
        const uint2 row = row_of(g, owner);
        const u32 *words = (const u32 *)(g.words + row.x);
        for (u32 i = threadIdx.x; i < row.y; i += MANY_THREADS) {
            const u32 word = words[i];
            if (word < HUB) {
                *(u16 *)(hubs + (word >> 16)) = (u16)word;
                if (i + 1 == row.y || words[i + 1] >= HUB) hub_words = i + 1;
            } else if (i == 0) hub_words = 0;
        }
        // The next one is on its way while this one is counted.
        if (threadIdx.x == 0) taken[turn ^ 1] = atomicAdd(g.state + 3, 1);
        __syncthreads();
        const u32 of_hubs = hub_words;
        if (of_hubs == row.y) {
            count += stream_all(g, owner, part, parts, Bitmap<false>{hubs, tail, g.k});
            __syncthreads();
        }
        for (u32 from = of_hubs; from < row.y; from += TAIL_WORDS) {
            const u32 to = min(row.y, from + TAIL_WORDS);
            for (u32 i = from + threadIdx.x; i < to; i += MANY_THREADS) put(tail, words[i], g.k);
            __syncthreads();
            count += stream_all(g, owner, part, parts, Bitmap<true>{hubs, tail, g.k});
            __syncthreads();
            for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += MANY_THREADS) tail[i] = 0;
            if (to < row.y) {
                // Hubs were counted with the first words of the tail.
                for (u32 i = threadIdx.x; i < of_hubs; i += MANY_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
                __syncthreads();
            }
        }
        for (u32 i = threadIdx.x; i < of_hubs; i += MANY_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
    }
    add_up(count, g.total);
}

// ---- some: a warp an owner

__device__ __forceinline__ u32 slot_of(u32 run, u32 factor) { return (run * factor) >> 23; }
__device__ __forceinline__ u32 more_slot_of(u32 run, u32 factor) { return SLOTS + ((run * (SECOND * factor)) >> 25); }

template <bool TWO> struct Pair {
    const u32 *table;
    u32 factor, k;

    __device__ __forceinline__ u32 at(u32 word) const {
        const u32 bits = bits_of(word, k), run = word >> bits, one = table[slot_of(run, factor)];
        u32 met = (one ^ word) >> bits ? 0 : one & word;
        if (TWO) {
            const u32 other = table[more_slot_of(run, factor)];
            if ((other ^ word) >> bits == 0) met |= other & word;
        }
        return __popc(met & ((1u << bits) - 1));
    }

    __device__ __forceinline__ u32 operator()(uint4 q) const { return at(q.x) + at(q.y) + at(q.z) + at(q.w); }
};

struct Search {
    const u32 *row;
    u32 n, k;

    __device__ u32 at(u32 word) const {
        const u32 bits = bits_of(word, k), low = (1u << bits) - 1;
        const u32 *from = row;
        for (u32 m = n; m > 1;) {
            const u32 half = m >> 1;
            if (from[half] <= (word | low)) from += half;
            m -= half;
        }
        return (*from ^ word) >> bits ? 0 : __popc(*from & word & low);
    }

    __device__ u32 operator()(uint4 q) const { return at(q.x) + at(q.y) + at(q.z) + at(q.w); }
};

constexpr u32 SOME_THREADS = 128;

__device__ __forceinline__ void empty(u32 *table) {
    for (u32 i = threadIdx.x % WARP; i < (SLOTS + MORE_SLOTS) / 4; i += WARP) ((uint4 *)table)[i] = nothing();
    __syncwarp();
}

extern "C" __global__ void __launch_bounds__(SOME_THREADS, SOME_BLOCKS) packed_some(Arguments g) {
    __shared__ __align__(16) u32 tables[SOME_THREADS / WARP][SLOTS + MORE_SLOTS];
    u32 *table = tables[threadIdx.x / WARP];
    const u32 lane = threadIdx.x % WARP, items = g.state[0];
    const u32 grab = min(GRAB, 1 + items / (gridDim.x * (SOME_THREADS / WARP) * 8));
    empty(table);
    u64 count = 0;
    for (;;) {
        u32 at = 0;
        if (lane == 0) at = atomicAdd(g.state + 2, grab);
        at = __shfl_sync(ALL, at, 0);
        if (at >= items) break;
        const u32 many = min(grab, items - at);
        uint2 rows = make_uint2(0, 0);
        u32 begins = 0, ends = 0;
        if (lane < many) {
            const u32 owner = (u32)g.list[at + lane];
            rows = row_of(g, owner);
            begins = owner ? g.ends[2ull * owner - 1] : 0;
            ends = g.ends[2ull * owner + 1];
        }
        // What the next owner needs is on its way while this one is counted.
        u32 chunk = __shfl_sync(ALL, rows.x, 0), n = __shfl_sync(ALL, rows.y, 0);
        u32 begin = __shfl_sync(ALL, begins, 0), end = __shfl_sync(ALL, ends, 0);
        u32 word = lane < n ? ((const u32 *)(g.words + chunk))[lane] : 0;
        uint2 arc = begin + lane < end ? g.arcs[begin + lane] : make_uint2(0, 0);
        for (u32 j = 1; j <= many; j++) {
            u32 next_chunk = 0, next_n = 0, next_begin = 0, next_end = 0, next_word = 0;
            uint2 next_arc = make_uint2(0, 0);
            if (j < many) {
                next_chunk = __shfl_sync(ALL, rows.x, j), next_n = __shfl_sync(ALL, rows.y, j);
                next_begin = __shfl_sync(ALL, begins, j), next_end = __shfl_sync(ALL, ends, j);
                if (lane < next_n) next_word = ((const u32 *)(g.words + next_chunk))[lane];
                if (next_begin + lane < next_end) next_arc = g.arcs[next_begin + lane];
            }
            const u32 *row = (const u32 *)(g.words + chunk);
            u32 factor = GOLDEN;
            bool two = false, clashes = true;
            for (u32 t = 0; t < TRIES; t++, factor = factor * 0x2C1B3C6Du | 1) {
                bool over = false, clash = false;
                for (u32 i = lane; i < n; i += WARP) {
                    const u32 its = i < WARP ? word : row[i], run = run_of(its, g.k);
                    if (atomicCAS(table + slot_of(run, factor), 0, its)) {
                        over = true;
                        if (atomicCAS(table + more_slot_of(run, factor), 0, its)) clash = true;
                    }
                }
                two = __any_sync(ALL, over);
                clashes = __any_sync(ALL, clash);
                if (!clashes) break;
                empty(table);
            }
            __syncwarp();
            if (clashes) count += stream(g, begin, end, arc, Search{row, n, g.k});
            else if (two) count += stream(g, begin, end, arc, Pair<true>{table, factor, g.k});
            else count += stream(g, begin, end, arc, Pair<false>{table, factor, g.k});
            __syncwarp();
            empty(table);
            chunk = next_chunk, n = next_n, begin = next_begin, end = next_end, word = next_word, arc = next_arc;
        }
    }
    add_up(count, g.total);
}

// ---- few: rows of one chunk against rows of one chunk

__device__ __forceinline__ void meet(u32 a, u32 b, u32 span, u32 &met) {
    if ((a ^ b) < span) met |= a & b;
}

// Words of `q`, runs of which span `bits` bits, that are in `p`.
__device__ __forceinline__ u32 meet(u32 a, uint4 p, u32 bits) {
    u32 met = 0;
    meet(a, p.x, 1u << bits, met);
    meet(a, p.y, 1u << bits, met);
    meet(a, p.z, 1u << bits, met);
    if (p.w) meet(a, p.w, 1u << bits, met);
    return __popc(met & ((1u << bits) - 1));
}

// WITH_HUBS: some of the local's heads are hubs. A head a turn, whatever word it is in, so that rows as long take as many turns.
template <bool WITH_HUBS> __device__ __forceinline__ u32 few(const Arguments &g, uint4 q) {
    const u32 range = g.range_end - g.range_start;
    const u32 bx = WITH_HUBS ? bits_of(q.x, g.k) : 1u << g.k, by = WITH_HUBS ? bits_of(q.y, g.k) : bx;
    const u32 bz = WITH_HUBS ? bits_of(q.z, g.k) : bx, bw = WITH_HUBS ? bits_of(q.w, g.k) : bx;
    u32 count = 0, base, heads, y = q.y, z = q.z, w = q.w;
    unpack(q.x, g.k, base, heads);
    heads &= heads - 1; // nothing comes before the first head
    for (;; heads &= heads - 1) {
        if (heads == 0) {
            if (y == 0) break;
            unpack(y, g.k, base, heads);
            y = z, z = w, w = 0;
        }
        const u32 at = base + __ffs(heads) - 1 - g.range_start;
        if (at >= range) continue;
        const uint2 other = g.table[at];
        if (other.y == 0 || other.y > 4) continue;
        const uint4 p = __ldg(g.words + other.x);
        count += meet(q.x, p, bx) + meet(q.y, p, by) + meet(q.z, p, bz);
        if (q.w) count += meet(q.w, p, bw);
    }
    return count;
}

// Blocks of 256.
extern "C" __global__ void packed_few(Arguments g) {
    u64 count = 0;
    for (u64 a = blockIdx.x * (u64)blockDim.x + threadIdx.x; a < g.locals; a += (u64)gridDim.x * blockDim.x) {
        const uint2 row = g.rows[a];
        if (row.y == 0 || row.y > 4) continue;
        const uint4 q = __ldg(g.words + row.x);
        count += q.x >= HUB ? few<false>(g, q) : few<true>(g, q);
    }
    add_up(count, g.total);
}
