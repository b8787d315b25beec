// Method `packed`: rows are packed into words of bits; for each arc the longer row is in a table, and the words of the shorter row are
// looked up there ('streamed past the table').
//
// Input: the resident rows of a partition and a row block's rows, strictly ascending, every successor smaller than its row's own
// number. Output: the triangles that start at local vertices (their corner of largest number), added to one total.
//
// A packed row has a word for every run of numbers with a successor: the run in the high bits, a bit for each successor in the low
// ones. A run has 16 numbers among the first 65,536, which are called hubs, and 2^k after them (k = 4, or less if there are more
// numbers). Words of hubs are the ones below HUB, so they come first and the words of a row ascend. A row begins at a multiple of four
// words (a chunk, read at once) and is padded with zeros, which have no bit in common with any word. On Kronecker graphs a word has
// about two successors, on crawls up to ten.
//
// For an arc a -> b only successors before b can close a triangle, so it costs min(words of b, words of a before b). The end with the
// longer of these two rows owns the arc (packed_assign.cuh): its row is made a table in shared memory once, and the other rows of all
// arcs that it owns are streamed past. An arc is stored as the first chunk of the other row and the number of chunks: a prefix of
// a's row, or all of b's row. A prefix may end within a chunk: the successors after it are not below b and match nothing.
//
// Three kernels, by the work of an owner:
//   by_thread  rows of one chunk against rows of one chunk: a thread takes a local, 16 comparisons; such arcs have no owner.
//   by_warp    rows of at most WARP_WORDS words and little to stream: a warp takes an owner. The table is a hash of two levels without
//              collisions: factors are tried until the second level has none; after TRIES attempts, rows are searched instead.
//              So a probe has no loop. The lanes of the warp take the chunks of 32 rows, one each.
//   by_block   all others: a block takes an owner. The table is a bitmap of the hubs (8 KB) and an open hash of the rest of the row,
//              TAIL_WORDS at a time, so it never overflows. Rows longer than `LONG` chunks take LANES lanes each.
// Owners with very much work are cut into parts for several blocks. Blocks take owners from a counter.
//
// Each has a second variant, which also counts the triangles at each vertex (packed_found.cuh): the list of an owner's arcs then has
// the other ends instead of the chunks where their rows begin. A third one counts the triangles on each arc (packed_arcs.cuh).

// packed_rows.cuh packs rows, packed_assign.cuh assigns arcs to owners, packed_stream.cuh streams rows past tables, packed_found.cuh
// and packed_arcs.cuh count what was found, packed_by_thread.cuh has the first kernel, packed_words.cuh what all share; they are compiled
// before this file.

constexpr u32 LANES = 8; // lanes that stream a long row
constexpr u32 SLOTS = 512, MORE_SLOTS = 128, TRIES = 8;
constexpr u32 TAIL_WORDS = 512, TAIL_SLOTS = 1024;
constexpr u32 GRAB = 8; // the most owners that a warp takes at a time; fewer if there are few for each warp
constexpr u32 GOLDEN = 0x9E3779B1u, SECOND = 0x85EBCA6Bu;

#if __CUDA_ARCH__ >= 800
#define BY_WARP_BLOCKS 9
#define BY_BLOCK_BLOCKS 12
#else
#define BY_WARP_BLOCKS 8
#define BY_BLOCK_BLOCKS 8
#endif
// As many as shared memory allows, of the variants for vertices.
#define BY_WARP_VERTICES_BLOCKS 9
#define BY_BLOCK_VERTICES_BLOCKS 7
#define BY_WARP_EDGES_BLOCKS 9
#define BY_BLOCK_EDGES_BLOCKS 7

// Arcs of an owner whose triangles are added up in shared memory.
constexpr u32 NEAR_OF_BLOCK = 1024, NEAR_OF_WARP = 256;

// ---- by_block: a block takes an owner

__device__ __forceinline__ u32 put(u32 *table, u32 word, u32 k) {
    u32 slot = (run_of(word, k) * GOLDEN) >> 22;
    while (atomicCAS(table + slot, 0, word)) slot = (slot + 1) & (TAIL_SLOTS - 1);
    return slot;
}

// The slot with the run of a word; ALL: there is none.
__device__ __forceinline__ u32 find(const u32 *table, u32 word, u32 bits) {
    for (u32 slot = ((word >> bits) * GOLDEN) >> 22;; slot = (slot + 1) & (TAIL_SLOTS - 1)) {
        const u32 found = table[slot];
        if ((found ^ word) >> bits == 0) return slot;
        if (found == 0) return ALL;
    }
}

template <class Found>
__device__ __forceinline__ u32 look_up(const u32 *table, u32 word, u32 k, const Found &found_in_both, u32 &hit) {
    const u32 bits = 1u << k, slot = find(table, word, bits);
    return slot == ALL ? 0 : found_in_both(word, slot, table[slot] & word & ((1u << bits) - 1), hit);
}

// Of each word of the owner's row, how many arcs are before it: by the runs of hubs, and by the slots of others.
struct Before {
    u16 *hubs;
    u32 *tail;
};

template <bool TAIL, class Found_> struct Bitmap {
    typedef Found_ Found;
    const unsigned char *hubs; // two bytes a run, and two of zeros at its end
    const u32 *tail;
    u32 k;
    Found found;
    Before before;

    __device__ __forceinline__ u32 at(u32 word) const { return *(const u16 *)(hubs + min(word >> 16, HUBS / 8)) & word; }

    // The same on arcs, for a word whose first arc has this counter; moves on to the next word's.
    __device__ __forceinline__ u32 on_arcs(u32 word, u32 &counter) const {
        const u32 successors = successors_of(word, k);
        u32 own = 0, own_at = 0;
        if (word < HUB) {
            own = *(const u16 *)(hubs + (word >> 16));
            own_at = before.hubs[word >> 17];
        } else if (TAIL) {
            const u32 slot = find(tail, word, 1u << k);
            if (slot != ALL) own = successors_of(tail[slot], k), own_at = before.tail[slot];
        }
        const u32 both = own & successors;
        found.on_arcs(Find{own, own_at, successors, counter, both});
        counter += __popc(successors);
        return __popc(both);
    }

    __device__ __forceinline__ u32 operator()(const Chunk &chunk, u32 *hits) const {
        const uint4 q = chunk.words;
        if (Found::EDGES) {
            u32 counter = chunk.first, sum = on_arcs(q.x, counter);
            sum += on_arcs(q.y, counter);
            sum += on_arcs(q.z, counter);
            return sum + on_arcs(q.w, counter);
        }
        const u32 a = at(q.x), b = at(q.y), c = at(q.z), d = at(q.w);
        u32 count;
        if (Found::VERTICES) {
            count = found(q.x, 0, a & 0xffff, hits[0]) + found(q.y, 0, b & 0xffff, hits[1]);
            count += found(q.z, 0, c & 0xffff, hits[2]) + found(q.w, 0, d & 0xffff, hits[3]);
        } else {
            count = __popc(__byte_perm(a, b, 0x5410)) + __popc(__byte_perm(c, d, 0x5410));
        }
        if (TAIL && (q.x >= HUB || q.y >= HUB || q.z >= HUB || q.w >= HUB)) {
            if (q.x >= HUB) count += look_up(tail, q.x, k, found, hits[0]);
            if (q.y >= HUB) count += look_up(tail, q.y, k, found, hits[1]);
            if (q.z >= HUB) count += look_up(tail, q.z, k, found, hits[2]);
            if (q.w >= HUB) count += look_up(tail, q.w, k, found, hits[3]);
        }
        return count;
    }
};

// Streams long rows, each by LANES lanes.
template <class Probe>
__device__ __forceinline__ u64 stream_long(const Arguments &g, u32 first, u32 last, const Probe &probe, Warp &warp) {
    typedef typename Probe::Found Found;
    constexpr bool VERTICES = Found::VERTICES, TOGETHER = VERTICES || Found::EDGES;
    const u32 lane = threadIdx.x % LANES;
    u64 count = 0;
    u32 at = first + threadIdx.x / LANES;
    uint2 arc = at < last ? g.arcs[at] : make_uint2(0, 0);
    // Where triangles are counted at vertices or on arcs, the lanes of a warp go through the longest of its rows together.
    while (TOGETHER ? __any_sync(ALL, at < last) : at < last) {
        const u32 this_arc = at;
        at += OWNER_THREADS / LANES;
        const uint2 next = at < last ? g.arcs[at] : make_uint2(0, 0);
        const u32 row = begin_of<VERTICES>(g, arc);
        u32 sum = 0;
        for (u32 c = lane; TOGETHER ? __any_sync(ALL, c < arc.y) : c < arc.y; c += 2 * LANES) {
            const Chunk a = chunk_at<Found>(g, row + c, !TOGETHER || c < arc.y);
            const Chunk b = chunk_at<Found>(g, row + c + LANES, c + LANES < arc.y);
            sum += probed(probe, a, b, true, warp, 0, 0, false);
        }
        if (VERTICES && sum) credit(g, counter_of(g, arc.x), sum);
        if (Found::EDGES && sum) atomicAdd(g.on_arcs + g.arc_counters[this_arc], sum);
        count += sum;
        arc = next;
    }
    return count;
}

template <class Probe>
__device__ __forceinline__ u64 stream_all(const Arguments &g, u32 owner, u32 part, u32 parts, const Probe &probe, Warp &its) {
    const u32 begin = owner ? g.ends[2ull * owner - 1] : 0, middle = g.ends[2ull * owner], end = g.ends[2ull * owner + 1];
    const u64 many = end - middle;
    const u64 count = stream_long(g, middle + (u32)(many * part / parts), middle + (u32)(many * (part + 1) / parts), probe, its);
    const u64 n = middle - begin;
    const u32 first = begin + (u32)(n * part / parts), mine = begin + (u32)(n * (part + 1) / parts) - first;
    const u32 warp = threadIdx.x / WARP, warps = OWNER_THREADS / WARP;
    const u32 at = first + (u32)((u64)mine * warp / warps), last = first + (u32)((u64)mine * (warp + 1) / warps);
    uint2 arc = make_uint2(0, 0);
    if (at + threadIdx.x % WARP < last) arc = g.arcs[at + threadIdx.x % WARP];
    const u64 sum = count + stream(g, at, last, arc, probe, its);
    // Finds are of this owner, and of this part of the table.
    if (Probe::Found::EDGES) probe.found.finish();
    return sum;
}

template <class Found> __device__ __forceinline__ void by_block(const Arguments &g, const Found &of_any_owner, Warp &its, const Before &before) {
    __shared__ __align__(16) u32 bitmap[HUBS / 32 + 4];
    __shared__ u32 tail[TAIL_SLOTS], taken[2], hub_words, arcs;
    unsigned char *hubs = (unsigned char *)bitmap;
    for (u32 i = threadIdx.x; i < HUBS / 32 + 4; i += OWNER_THREADS) bitmap[i] = 0;
    for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += OWNER_THREADS) tail[i] = 0;
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
        const u32 counter = Found::EDGES ? *first_of(g, row.x) : 0;
        const Found found = of_owner(of_any_owner, counter);
        for (u32 i = threadIdx.x; i < row.y; i += OWNER_THREADS) {
            const u32 word = words[i];
            if (Found::EDGES && i + 1 == row.y) arcs = first_of_word(g, row.x, i) - counter + __popc(successors_of(word, g.k));
            if (word < HUB) {
                *(u16 *)(hubs + (word >> 16)) = (u16)word;
                if (Found::EDGES) before.hubs[word >> 17] = (u16)(first_of_word(g, row.x, i) - counter);
                if (i + 1 == row.y || words[i + 1] >= HUB) hub_words = i + 1;
            } else if (i == 0) hub_words = 0;
        }
        // Prefetch the next item while this one is counted.
        if (threadIdx.x == 0) taken[turn ^ 1] = atomicAdd(g.state + 3, 1);
        __syncthreads();
        const u32 of_hubs = hub_words;
        u64 in_all = 0;
        if (of_hubs == row.y) {
            in_all = stream_all(g, owner, part, parts, Bitmap<false, Found>{hubs, tail, g.k, found, before}, its);
            __syncthreads();
        }
        for (u32 from = of_hubs; from < row.y; from += TAIL_WORDS) {
            const u32 to = min(row.y, from + TAIL_WORDS);
            for (u32 i = from + threadIdx.x; i < to; i += OWNER_THREADS) {
                const u32 slot = put(tail, words[i], g.k);
                if (Found::EDGES) before.tail[slot] = first_of_word(g, row.x, i) - counter;
            }
            __syncthreads();
            in_all += stream_all(g, owner, part, parts, Bitmap<true, Found>{hubs, tail, g.k, found, before}, its);
            __syncthreads();
            for (u32 i = threadIdx.x; i < TAIL_SLOTS; i += OWNER_THREADS) tail[i] = 0;
            if (to < row.y) {
                // Hubs were counted with the first part of the tail.
                for (u32 i = threadIdx.x; i < of_hubs; i += OWNER_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
                __syncthreads();
            }
        }
        for (u32 i = threadIdx.x; i < of_hubs; i += OWNER_THREADS) *(u16 *)(hubs + (words[i] >> 16)) = 0;
        if (Found::VERTICES) credit_owner(g, owner, in_all);
        if (Found::EDGES) found.take_arcs(arcs, threadIdx.x, OWNER_THREADS);
        count += in_all;
    }
    add_up(count, g.total);
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_BLOCKS) packed_by_block(Arguments g) {
    Warp none{};
    by_block(g, Total{}, none, Before{});
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_VERTICES_BLOCKS) packed_by_block_vertices(const __grid_constant__ Arguments g) {
    __shared__ u32 near[NEAR / 4], sums[OWNER_THREADS], hits[OWNER_THREADS / WARP * Waiting::MOST];
    const OfBlock found{g, near};
    const u32 warp = threadIdx.x / WARP;
    Warp its{sums + warp * WARP, {hits + warp * Waiting::MOST, 0}};
    sums[threadIdx.x] = 0;
    found.clear();
    by_block(g, found, its, Before{});
    its.waiting.finish(found);
    found.finish();
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_BLOCK_EDGES_BLOCKS) packed_by_block_edges(const __grid_constant__ Arguments g) {
    __shared__ u32 near[NEAR_OF_BLOCK], sums[OWNER_THREADS], tail[TAIL_SLOTS], finds[OWNER_THREADS / WARP * FINDS_WORDS];
    __shared__ u16 hubs[HUBS / 16];
    for (u32 i = threadIdx.x; i < NEAR_OF_BLOCK; i += OWNER_THREADS) near[i] = 0;
    sums[threadIdx.x] = 0;
    __syncthreads();
    Warp its{sums + threadIdx.x / WARP * WARP, {nullptr, 0}};
    u32 many = 0;
    const Counters counters{g.on_arcs, near, NEAR_OF_BLOCK, 0};
    by_block(g, OnArcs{counters, finds + threadIdx.x / WARP * FINDS_WORDS, &many}, its, Before{hubs, tail});
}

// ---- by_warp: a warp takes an owner

__device__ __forceinline__ u32 slot_of(u32 run, u32 factor) { return (run * factor) >> 23; }
__device__ __forceinline__ u32 more_slot_of(u32 run, u32 factor) { return SLOTS + ((run * (SECOND * factor)) >> 25); }

// In shared memory, for the row of a warp's owner: the place in the row of each slot's word, and how many arcs are before each word.
struct Places {
    unsigned char *slots;
    u16 *before;
};

template <bool TWO, class Found_> struct Pair {
    typedef Found_ Found;
    const u32 *table;
    u32 factor, k;
    Found found;
    Places of_row;

    __device__ __forceinline__ u32 at(u32 word, u32 &counter, u32 &hit) const {
        const u32 bits = bits_of(word, k), run = word >> bits;
        u32 slot = slot_of(run, factor);
        const u32 one = table[slot];
        u32 in_both = (one ^ word) >> bits ? 0 : one & word;
        if (TWO) {
            const u32 other_slot = more_slot_of(run, factor), other = table[other_slot];
            if ((other ^ word) >> bits == 0) {
                in_both |= other & word;
                if (other) slot = other_slot; // an empty slot looks like one of the first run
            }
        }
        in_both &= (1u << bits) - 1;
        if (Found::EDGES) {
            Find find{0, 0, successors_of(word, k), counter, in_both};
            if (in_both) find.own = successors_of(table[slot], k), find.own_at = of_row.before[of_row.slots[slot]];
            found.on_arcs(find);
            counter += __popc(find.other);
        }
        return found(word, Found::VERTICES ? of_row.slots[slot] : 0, in_both, hit);
    }

    __device__ __forceinline__ u32 operator()(const Chunk &chunk, u32 *hits) const {
        const uint4 q = chunk.words;
        u32 counter = chunk.first, count = at(q.x, counter, hits[0]);
        count += at(q.y, counter, hits[1]);
        count += at(q.z, counter, hits[2]);
        return count + at(q.w, counter, hits[3]);
    }
};

template <class Found_> struct Search {
    typedef Found_ Found;
    const u32 *row;
    u32 n, k;
    Found found;
    Places of_row;

    __device__ u32 at(u32 word, u32 &counter, u32 &hit) const {
        const u32 bits = bits_of(word, k), low = (1u << bits) - 1;
        const u32 *from = row;
        for (u32 m = n; m > 1;) {
            const u32 half = m >> 1;
            if (from[half] <= (word | low)) from += half;
            m -= half;
        }
        const u32 place = from - row, in_both = (*from ^ word) >> bits ? 0 : *from & word & low;
        if (Found::EDGES) {
            const Find find{successors_of(*from, k), of_row.before[place], successors_of(word, k), counter, in_both};
            found.on_arcs(find);
            counter += __popc(find.other);
        }
        return found(word, place, in_both, hit);
    }

    __device__ u32 operator()(const Chunk &chunk, u32 *hits) const {
        const uint4 q = chunk.words;
        u32 counter = chunk.first, count = at(q.x, counter, hits[0]);
        count += at(q.y, counter, hits[1]);
        count += at(q.z, counter, hits[2]);
        return count + at(q.w, counter, hits[3]);
    }
};

__device__ __forceinline__ void empty(u32 *table) {
    for (u32 i = threadIdx.x % WARP; i < (SLOTS + MORE_SLOTS) / 4; i += WARP) ((uint4 *)table)[i] = nothing();
    __syncwarp();
}

template <class Found> __device__ __forceinline__ Found found_in(const Found &found, const u32 *, u32 counter) { return of_owner(found, counter); }
__device__ __forceinline__ OfWarp found_in(const OfWarp &found, const u32 *row, u32) { return OfWarp{found.g, found.of_row, row}; }
template <class Found> __device__ __forceinline__ void take(const Found &, u32, Waiting &) {}
__device__ __forceinline__ void take(const OfWarp &found, u32 n, Waiting &waiting) {
    waiting.finish(found);
    found.take(n);
}

// `places`: of the warp; without them only the total is counted.
template <class Found>
__device__ __forceinline__ void by_warp(const Arguments &g, const Found &of_any_row, Warp &its_own, const Places &places) {
    __shared__ __align__(16) u32 tables[OWNER_THREADS / WARP][SLOTS + MORE_SLOTS];
    u32 *table = tables[threadIdx.x / WARP];
    __shared__ volatile u32 items, grab; // in shared memory to save registers
    const u32 lane = threadIdx.x % WARP;
    if (threadIdx.x == 0) {
        items = g.state[0];
        grab = min(GRAB, 1 + items / (gridDim.x * (OWNER_THREADS / WARP) * 8));
    }
    __syncthreads();
    empty(table);
    u64 count = 0;
    for (;;) {
        u32 at = 0;
        if (lane == 0) at = atomicAdd(g.state + 2, grab);
        at = __shfl_sync(ALL, at, 0);
        if (at >= items) break;
        const u32 many = min(grab, items - at);
        uint2 rows = make_uint2(0, 0);
        u32 begins = 0, ends = 0, owner = 0;
        if (lane < many) {
            owner = (u32)g.list[at + lane];
            rows = row_of(g, owner);
            begins = owner ? g.ends[2ull * owner - 1] : 0;
            ends = g.ends[2ull * owner + 1];
        }
        // The loads for the next owner are issued before this one is counted.
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
            u32 counter = 0, arcs = 0; // the counter of the row's first arc, and how many arcs it has
            if (Found::EDGES) {
                counter = *first_of(g, chunk);
                for (u32 i = lane; i < n; i += WARP) places.before[i] = (u16)(first_of_word(g, chunk, i) - counter);
                arcs = first_of_word(g, chunk, n - 1) - counter + __popc(successors_of(row[n - 1], g.k));
            }
            u32 factor = GOLDEN;
            bool two = false, clashes = true;
            for (u32 t = 0; t < TRIES; t++, factor = factor * 0x2C1B3C6Du | 1) {
                bool over = false, clash = false;
                for (u32 i = lane; i < n; i += WARP) {
                    const u32 its = i < WARP ? word : row[i], run = run_of(its, g.k);
                    u32 slot = slot_of(run, factor);
                    if (atomicCAS(table + slot, 0, its)) {
                        over = true;
                        slot = more_slot_of(run, factor);
                        if (atomicCAS(table + slot, 0, its)) clash = true;
                    }
                    if (Found::VERTICES || Found::EDGES) places.slots[slot] = (unsigned char)i; // if there is a clash, it is not used
                }
                two = __any_sync(ALL, over);
                clashes = __any_sync(ALL, clash);
                if (!clashes) break;
                __syncwarp(); // all lanes have written to the table before it is cleared
                empty(table);
            }
            __syncwarp();
            u64 of_owner;
            const Found found = found_in(of_any_row, row, counter);
            if (clashes) of_owner = stream(g, begin, end, arc, Search<Found>{row, n, g.k, found, places}, its_own);
            else if (two) of_owner = stream(g, begin, end, arc, Pair<true, Found>{table, factor, g.k, found, places}, its_own);
            else of_owner = stream(g, begin, end, arc, Pair<false, Found>{table, factor, g.k, found, places}, its_own);
            if (Found::VERTICES && __any_sync(ALL, of_owner != 0)) {
                credit_owner(g, __shfl_sync(ALL, owner, j - 1), of_owner);
                take(found, n, its_own.waiting);
            }
            count += of_owner;
            __syncwarp();
            if (Found::EDGES) {
                found.finish();
                found.take_arcs(arcs, lane, WARP);
            }
            empty(table);
            chunk = next_chunk, n = next_n, begin = next_begin, end = next_end, word = next_word, arc = next_arc;
        }
    }
    add_up(count, g.total);
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_WARP_BLOCKS) packed_by_warp(Arguments g) {
    Warp none{};
    by_warp(g, Total{}, none, Places{});
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_WARP_VERTICES_BLOCKS) packed_by_warp_vertices(const __grid_constant__ Arguments g) {
    __shared__ u32 of_rows[OWNER_THREADS / WARP][4 * WARP_WORDS], sums[OWNER_THREADS];
    __shared__ u32 hits[OWNER_THREADS / WARP * Waiting::MOST];
    __shared__ unsigned char places[OWNER_THREADS / WARP][SLOTS + MORE_SLOTS];
    const u32 warp = threadIdx.x / WARP;
    sums[threadIdx.x] = 0;
    for (u32 i = threadIdx.x % WARP; i < 4 * WARP_WORDS; i += WARP) of_rows[warp][i] = 0;
    __syncthreads();
    Warp its{sums + warp * WARP, {hits + warp * Waiting::MOST, 0}};
    by_warp(g, OfWarp{g, {of_rows[warp]}, nullptr}, its, Places{places[warp], nullptr});
}

extern "C" __global__ void __launch_bounds__(OWNER_THREADS, BY_WARP_EDGES_BLOCKS) packed_by_warp_edges(const __grid_constant__ Arguments g) {
    __shared__ u32 near[OWNER_THREADS / WARP][NEAR_OF_WARP], sums[OWNER_THREADS];
    __shared__ unsigned char slots[OWNER_THREADS / WARP][SLOTS + MORE_SLOTS];
    __shared__ u16 before[OWNER_THREADS / WARP][WARP_WORDS];
    __shared__ u32 finds[OWNER_THREADS / WARP][FINDS_WORDS];
    const u32 warp = threadIdx.x / WARP;
    sums[threadIdx.x] = 0;
    for (u32 i = threadIdx.x % WARP; i < NEAR_OF_WARP; i += WARP) near[warp][i] = 0;
    __syncthreads();
    Warp its{sums + warp * WARP, {nullptr, 0}};
    u32 many = 0;
    const Counters counters{g.on_arcs, near[warp], NEAR_OF_WARP, 0};
    by_warp(g, OnArcs{counters, finds[warp], &many}, its, Places{slots[warp], before[warp]});
}
