// Radix sort of 64-bit keys, least significant digit first: stable, one read and one write of the keys for each digit of 8 bits
// (Onesweep: Adinets and Merrill, 2022).
//
// The digits of all keys are counted once, for all passes. A pass then cuts the keys into tiles of SORT_TILE. A block takes the next
// tile, ranks its keys by their digit, and needs to know how many keys of each digit earlier tiles have: it publishes its own counts,
// and adds those of the tiles before it until it finds one that has published the sum over all its predecessors (decoupled look-back).
// Tiles are taken in order, so a block waits only for blocks that run already.
//
// Status words hold 30 bits, so a launch sorts at most PORTION keys (src/prepare/work.rs) into their places; the next launch goes on with
// the places that this one leaves in `next_places`.

constexpr u32 DIGITS = 256;
constexpr u32 SORT_WARPS = SORT_THREADS / WARP;
static_assert(SORT_THREADS == DIGITS, "a thread for each digit");

// A status word has a number of keys: those of the tile alone (OWN), or those of all tiles up to it (ALL_BEFORE).
constexpr u32 OWN = 1u << 30, ALL_BEFORE = 2u << 30, NUMBER = OWN - 1;

__device__ __forceinline__ u32 digit_of(u64 key, u64 shift) { return (u32)(key >> shift) & (DIGITS - 1); }

// Counts the digits of all keys, from bit `low` on, in `totals`: DIGITS numbers for each of `passes` passes, at most 8. A thread adds equal
// digits that follow each other at once, as keys are often partly sorted.
extern "C" __global__ void __launch_bounds__(SORT_THREADS) sort_count(const u64 *keys, u64 count, u64 low, u64 passes,
    u64 *totals) {
    __shared__ u32 counts[8][DIGITS];
    for (u32 i = threadIdx.x; i < 8 * DIGITS; i += blockDim.x) counts[i / DIGITS][i % DIGITS] = 0;
    __syncthreads();
    u32 last[8] = {}, equal[8] = {};
    for (u64 i = this_thread(); i < count; i += all_threads()) {
        const u64 key = keys[i];
#pragma unroll
        for (u32 pass = 0; pass < 8; pass++) {
            const u32 digit = digit_of(key, min(low + 8 * pass, 63ull));
            if (digit != last[pass]) {
                if (equal[pass] && pass < passes) atomicAdd(&counts[pass][last[pass]], equal[pass]);
                last[pass] = digit;
                equal[pass] = 0;
            }
            equal[pass]++;
        }
    }
#pragma unroll
    for (u32 pass = 0; pass < 8; pass++)
        if (equal[pass] && pass < passes) atomicAdd(&counts[pass][last[pass]], equal[pass]);
    __syncthreads();
    for (u32 i = threadIdx.x; i < passes * DIGITS; i += blockDim.x)
        if (counts[i / DIGITS][i % DIGITS]) atomicAdd(&totals[i], (u64)counts[i / DIGITS][i % DIGITS]);
}

// Turns the totals of each pass into the place of the first key of each digit. A block for each pass.
extern "C" __global__ void __launch_bounds__(SORT_THREADS) sort_places(u64 *totals) {
    u64 all;
    u64 &mine = totals[blockIdx.x * DIGITS + threadIdx.x];
    mine = block_exclusive(mine, all);
}

// The lanes of the warp whose digit is that of this lane.
__device__ __forceinline__ u32 same_digit(u32 digit) {
    u32 same = ALL;
#pragma unroll
    for (u32 bit = 0; bit < 8; bit++) {
        const bool set = digit >> bit & 1;
        const u32 votes = __ballot_sync(ALL, set);
        same &= set ? votes : ~votes;
    }
    return same;
}

// How many keys of this thread's digit are in the tiles before one whose status word is at `word`. Reads the words of some tiles at once.
__device__ __forceinline__ u32 look_back(const volatile u32 *word, u32 tile) {
    u32 before = 0;
    for (;;) {
        u32 words[SORT_LOOK];
#pragma unroll
        for (u32 i = 0; i < SORT_LOOK; i++) words[i] = i < tile ? *(word - (i + 1) * DIGITS) : 0;
#pragma unroll
        for (u32 i = 0; i < SORT_LOOK; i++) {
            // What is not published yet is read again.
            if (!(words[i] & (OWN | ALL_BEFORE))) break;
            before += words[i] & NUMBER;
            if (words[i] & ALL_BEFORE) return before;
            word -= DIGITS;
            tile--;
        }
    }
}

// One pass over `count` keys. `places`: where the next key of each digit goes; `status`: DIGITS words for each tile, all 0, and before
// them one word that is 0.
extern "C" __global__ void __launch_bounds__(SORT_THREADS) sort_pass(const u64 *from, u64 *to, u64 count, u64 shift, const u64 *places,
    u64 *next_places, u32 *status) {
    __shared__ u64 sorted[SORT_TILE]; // the counts of warps, until places are known
    __shared__ u64 moved[DIGITS];     // by how much the keys of a digit move from their place in `sorted`
    __shared__ u32 taken;
    static_assert(SORT_TILE * sizeof(u64) >= SORT_WARPS * DIGITS * sizeof(u32), "counts fit");
    u32(*const counts)[DIGITS] = (u32(*)[DIGITS])sorted;
    if (threadIdx.x == 0) taken = atomicAdd(status, 1u);
    for (u32 warp = 0; warp < SORT_WARPS; warp++) counts[warp][threadIdx.x] = 0;
    __syncthreads();
    const u32 tile = taken, warp = threadIdx.x / WARP;
    const u64 first = (u64)tile * SORT_TILE;
    const u32 valid = (u32)min(count - first, (u64)SORT_TILE);

    // Keys beyond the end are the largest, and come last.
    u64 keys[SORT_KEYS];
#pragma unroll
    for (u32 i = 0; i < SORT_KEYS; i++) {
        const u32 index = warp * WARP * SORT_KEYS + i * WARP + this_lane();
        keys[i] = index < valid ? from[first + index] : ~0ull;
    }
    // The rank of each key among those of its warp with its digit.
    u32 ranks[SORT_KEYS];
#pragma unroll
    for (u32 i = 0; i < SORT_KEYS; i++) {
        const u32 digit = digit_of(keys[i], shift), same = same_digit(digit);
        const u32 before = counts[warp][digit];
        __syncwarp();
        if ((same & lanes_below()) == 0) counts[warp][digit] = before + __popc(same);
        __syncwarp();
        ranks[i] = before + __popc(same & lanes_below());
    }
    __syncthreads();

    const u32 digit = threadIdx.x;
    u32 own = 0;
    for (u32 w = 0; w < SORT_WARPS; w++) {
        const u32 of_warp = counts[w][digit];
        counts[w][digit] = own;
        own += of_warp;
    }
    // Keys beyond the end are not counted.
    if (digit == DIGITS - 1) own -= SORT_TILE - valid;
    volatile u32 *const word = status + 1 + (u64)tile * DIGITS + digit;
    *word = (tile ? OWN : ALL_BEFORE) | own;
    u32 all;
    const u32 start = block_exclusive(own, all);
    for (u32 w = 0; w < SORT_WARPS; w++) counts[w][digit] += start;
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < SORT_KEYS; i++) ranks[i] += counts[warp][digit_of(keys[i], shift)];
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < SORT_KEYS; i++) sorted[ranks[i]] = keys[i];

    const u32 before = tile ? look_back(word, tile) : 0;
    if (tile) *word = ALL_BEFORE | (before + own);
    moved[digit] = places[digit] + before - start;
    if (first + SORT_TILE >= count) next_places[digit] = places[digit] + before + own;
    __syncthreads();
    for (u32 i = threadIdx.x; i < valid; i += SORT_THREADS) {
        const u64 key = sorted[i];
        to[moved[digit_of(key, shift)] + i] = key;
    }
}
