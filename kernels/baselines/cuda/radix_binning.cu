// Method `radix-binning`: N. Tirpankar, H. Sundar, 'Towards Triangle Counting on GPU using Stable Radix binning' (2018). The host's
// part and the choices are in src/gpu/radix_binning.rs. A key is an edge as one 64-bit number.

// Lines 7 and 8 of Algorithm 1: the number of wedges of each vertex. A scan of these gives the places of each vertex's candidates.
extern "C" __global__ void __launch_bounds__(256) wedge_sizes(const u32 *node, u64 vertices, u64 *sizes) {
    const u64 v = this_thread();
    if (v > vertices) return;
    const u64 degree = v < vertices ? node[v + 1] - node[v] : 0;
    sizes[v] = degree * (degree - 1) / 2;
}

// The other ends of the sorted edges; and E, the edges in the list of their larger vertex: counted by tiles, whose counts are scanned,
// and then moved.
extern "C" __global__ void __launch_bounds__(256) other_ends(const u64 *keys, u64 len, u32 *successors) {
    const u64 i = this_thread();
    if (i < len) successors[i] = (u32)keys[i];
}

__device__ __forceinline__ bool falls(u64 key) { return (u32)(key >> 32) > (u32)key; }

extern "C" __global__ void __launch_bounds__(256) count_falling(const u64 *keys, u64 len, u32 *counts) {
    count_where(keys, len, counts, [](u64 key) { return falls(key); });
}

extern "C" __global__ void __launch_bounds__(256) move_falling(const u64 *from, u64 len, const u32 *places, u64 *to) {
    move_where(from, len, places, to, [](u64 key) { return falls(key); });
}

// Line 9 of Algorithm 1, for the wedges `first..first + many`: wedge `w` of the scan is a pair of neighbours of one vertex; the edge
// that would close it, larger vertex first, goes to place `w - first`. Adjacent threads write adjacent places.
// A vertex's pairs are numbered (0, 1), (0, 2), (1, 2), (0, 3) ...
extern "C" __global__ void __launch_bounds__(256) candidates(const u32 *successors, const u32 *node, const u64 *scan, u64 vertices, u64 first, u64 many, u64 *to) {
    for (u64 i = this_thread(); i < many; i += all_threads()) {
        const u64 wedge = first + i;
        u64 low = 0, high = vertices; // the last vertex whose wedges begin at or before this one
        while (high - low > 1) {
            const u64 middle = low + (high - low) / 2;
            if (scan[middle] <= wedge) low = middle;
            else high = middle;
        }
        const u64 pair = wedge - scan[low];
        u64 k = (u64)((1.0 + sqrt(1.0 + 8.0 * (double)pair)) / 2.0);
        while (k * (k - 1) / 2 > pair) k--;
        while (k * (k + 1) / 2 <= pair) k++;
        const u64 j = pair - k * (k - 1) / 2;
        to[i] = (u64)successors[node[low] + k] << 32 | successors[node[low] + j];
    }
}

// Buckets. A bucket is a range of E and a range of E'. One level of the recursion is done for all buckets together: digits are counted
// in tiles of both lists, the counts scanned, the keys moved to the other buffer, and the parts that continue are listed.
constexpr u32 MOST_BINS = 256;

struct Digit {
    u32 shift, bits;
    // The same number of bits of the first vertex and of the second.
    __device__ __forceinline__ u32 operator()(u64 key) const {
        const u32 mask = (1u << bits) - 1;
        return ((u32)(key >> 32) >> shift & mask) << bits | ((u32)key >> shift & mask);
    }
};

// The number of tiles of each bucket, and a 0 at the end. A scan of these gives the first tile of each bucket.
extern "C" __global__ void __launch_bounds__(256) bin_tiles(const u32 *ranges, u64 buckets, u32 *tiles) {
    const u64 i = this_thread();
    if (i > buckets) return;
    tiles[i] = i < buckets ? (u32)((ranges[2 * i + 1] - ranges[2 * i] + BIN_TILE - 1) / BIN_TILE) : 0;
}

// A warp's tile: its bucket, its index among the tiles of the bucket, and its keys.
struct Tile {
    u64 bucket, place, of, begin, end;
};

__device__ __forceinline__ Tile tile_at(u64 tile, const u32 *ranges, u64 buckets, const u32 *firsts) {
    u64 low = 0, high = buckets; // the last bucket whose tiles begin at or before this one; none is without tiles
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        if (firsts[middle] <= tile) low = middle;
        else high = middle;
    }
    const u64 place = tile - firsts[low], begin = ranges[2 * low] + place * BIN_TILE;
    return {low, place, firsts[low + 1] - firsts[low], begin, min(begin + BIN_TILE, (u64)ranges[2 * low + 1])};
}

// Counts are ordered by bucket, then digit, then tile, so a scan turns them into places in a list without gaps.
__device__ __forceinline__ u64 count_at(const Tile &tile, const u32 *firsts, u32 bins, u32 digit) {
    return (u64)firsts[tile.bucket] * bins + digit * tile.of + tile.place;
}

extern "C" __global__ void __launch_bounds__(256) bin_count(const u64 *keys, const u32 *ranges, u64 buckets, const u32 *firsts, u64 tiles, u64 shift, u64 bits, u32 *counts) {
    __shared__ u32 counters[MOST_WARPS][MOST_BINS];
    const u64 which = this_thread() / WARP;
    if (which >= tiles) return;
    u32 *mine = counters[threadIdx.x / WARP];
    const u32 bins = 1u << 2 * bits;
    const Tile tile = tile_at(which, ranges, buckets, firsts);
    count_digits(keys, tile.begin, tile.end, mine, bins, Digit{(u32)shift, (u32)bits});
    for (u32 i = this_lane(); i < bins; i += WARP) counts[count_at(tile, firsts, bins, i)] = mine[i];
}

extern "C" __global__ void __launch_bounds__(256) bin_move(const u64 *from, u64 *to, const u32 *ranges, u64 buckets, const u32 *firsts, u64 tiles, u64 shift, u64 bits, const u32 *places) {
    __shared__ u32 counters[MOST_WARPS][MOST_BINS];
    const u64 which = this_thread() / WARP;
    if (which >= tiles) return;
    u32 *mine = counters[threadIdx.x / WARP];
    const u32 bins = 1u << 2 * bits;
    const Tile tile = tile_at(which, ranges, buckets, firsts);
    for (u32 i = this_lane(); i < bins; i += WARP) mine[i] = places[count_at(tile, firsts, bins, i)];
    __syncwarp();
    move_keys(from, to, tile.begin, tile.end, mine, Digit{(u32)shift, (u32)bits});
}

// A warp takes each part of each bucket. A part without keys on one side is dropped. At the last level (`last`) all keys of a part are
// equal, and every candidate in it counts. If one side has at most `threshold` keys, they are taken one after another and compared
// with the keys of the other side by all lanes. All other parts become the buckets of the next level.
extern "C" __global__ void __launch_bounds__(256) bin_parts(
    const u64 *edges, const u32 *edge_places, const u32 *edge_firsts, const u64 *wedges, const u32 *wedge_places, const u32 *wedge_firsts,
    u64 buckets, u64 bits, u64 threshold, u64 last, u32 *edge_ranges, u32 *wedge_ranges, u32 *listed, u64 *triangles) {
    const u64 part = this_thread() / WARP;
    const u32 bins = 1u << 2 * bits;
    if (part >= buckets * bins) return;
    const u64 bucket = part / bins, digit = part % bins;
    // A part ends where the next one begins: that of the next digit, or the first of the next bucket.
    const u64 e = (u64)edge_firsts[bucket] * bins, e_tiles = edge_firsts[bucket + 1] - edge_firsts[bucket];
    const u64 w = (u64)wedge_firsts[bucket] * bins, w_tiles = wedge_firsts[bucket + 1] - wedge_firsts[bucket];
    const u32 e_begin = edge_places[e + digit * e_tiles], e_end = edge_places[e + (digit + 1) * e_tiles];
    const u32 w_begin = wedge_places[w + digit * w_tiles], w_end = wedge_places[w + (digit + 1) * w_tiles];
    const u32 e_len = e_end - e_begin, w_len = w_end - w_begin;
    if (e_len == 0 || w_len == 0) return;
    u64 found = 0;
    if (last) {
        if (this_lane() == 0) found = w_len;
    } else if (e_len <= threshold || w_len <= threshold) {
        const bool edges_shorter = e_len <= w_len;
        const u64 *few = edges_shorter ? edges + e_begin : wedges + w_begin, *many = edges_shorter ? wedges + w_begin : edges + e_begin;
        const u32 few_len = min(e_len, w_len), many_len = max(e_len, w_len);
        for (u32 i = this_lane(); i < many_len; i += WARP) {
            const u64 key = many[i];
            for (u32 j = 0; j < few_len; j++) found += few[j] == key;
        }
    } else if (this_lane() == 0) {
        const u64 at = atomicAdd(listed, 1u);
        edge_ranges[2 * at] = e_begin;
        edge_ranges[2 * at + 1] = e_end;
        wedge_ranges[2 * at] = w_begin;
        wedge_ranges[2 * at + 1] = w_end;
    }
    found = warp_sum(found);
    if (this_lane() == 0 && found) atomicAdd(triangles, found);
}
