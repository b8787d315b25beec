// `by_warp`: owners with short rows and little to stream. A warp takes one and puts its row into a hash table of two levels without
// collisions; if no such table is found, the row is searched.

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
                if (other) slot = other_slot; // an empty slot looks like a word of run 0
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
        items = g.batch.state[0];
        grab = min(GRAB, 1 + items / (gridDim.x * (OWNER_THREADS / WARP) * 8));
    }
    __syncthreads();
    empty(table);
    u64 count = 0;
    for (;;) {
        u32 at = 0;
        if (lane == 0) at = atomicAdd(g.batch.state + 2, grab);
        at = __shfl_sync(ALL, at, 0);
        if (at >= items) break;
        const u32 many = min(grab, items - at);
        uint2 rows = make_uint2(0, 0);
        u32 begins = 0, ends = 0, owner = 0;
        if (lane < many) {
            owner = (u32)g.batch.list[at + lane];
            rows = row_of(g, owner);
            begins = owner ? g.batch.ends[2ull * owner - 1] : 0;
            ends = g.batch.ends[2ull * owner + 1];
        }
        // The loads for the next owner are issued before this one is counted.
        u32 chunk = __shfl_sync(ALL, rows.x, 0), n = __shfl_sync(ALL, rows.y, 0);
        u32 begin = __shfl_sync(ALL, begins, 0), end = __shfl_sync(ALL, ends, 0);
        u32 word = lane < n ? ((const u32 *)(g.all.words + chunk))[lane] : 0;
        uint2 arc = begin + lane < end ? g.batch.arcs[begin + lane] : make_uint2(0, 0);
        for (u32 j = 1; j <= many; j++) {
            u32 next_chunk = 0, next_n = 0, next_begin = 0, next_end = 0, next_word = 0;
            uint2 next_arc = make_uint2(0, 0);
            if (j < many) {
                next_chunk = __shfl_sync(ALL, rows.x, j), next_n = __shfl_sync(ALL, rows.y, j);
                next_begin = __shfl_sync(ALL, begins, j), next_end = __shfl_sync(ALL, ends, j);
                if (lane < next_n) next_word = ((const u32 *)(g.all.words + next_chunk))[lane];
                if (next_begin + lane < next_end) next_arc = g.batch.arcs[next_begin + lane];
            }
            const u32 *row = (const u32 *)(g.all.words + chunk);
            u32 counter = 0, arcs = 0; // the counter of the row's first arc, and how many arcs it has
            if (Found::EDGES) {
                counter = *first_of(g, chunk);
                for (u32 i = lane; i < n; i += WARP) places.before[i] = (u16)(first_of_word(g, chunk, i) - counter);
                arcs = first_of_word(g, chunk, n - 1) - counter + __popc(successors_of(row[n - 1], g.all.k));
            }
            u32 factor = GOLDEN;
            bool two = false, clashes = true;
            for (u32 t = 0; t < TRIES; t++, factor = factor * 0x2C1B3C6Du | 1) {
                bool over = false, clash = false;
                for (u32 i = lane; i < n; i += WARP) {
                    const u32 its = i < WARP ? word : row[i], run = run_of(its, g.all.k);
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
            if (clashes) of_owner = stream(g, begin, end, arc, Search<Found>{row, n, g.all.k, found, places}, its_own);
            else if (two) of_owner = stream(g, begin, end, arc, Pair<true, Found>{table, factor, g.all.k, found, places}, its_own);
            else of_owner = stream(g, begin, end, arc, Pair<false, Found>{table, factor, g.all.k, found, places}, its_own);
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
    add_up(count, g.all.total);
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
    const Counters counters{g.all.on_arcs, near[warp], NEAR_OF_WARP, 0};
    by_warp(g, OnArcs{counters, finds[warp], &many}, its, Places{slots[warp], before[warp]});
}
