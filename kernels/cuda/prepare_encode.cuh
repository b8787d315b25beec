// The bytes of file blocks (docs/graph-format.md, File blocks): two sequences of numbers, the lengths of a block's rows, and their
// distances: of each row the first successor, then each one's distance from the one before, less 1.
//
// A sequence is a header, control bits and data. A first kernel chooses the groups of bits with which it is shortest, from how many
// numbers have each length; the host adds up the sizes; a second kernel writes the bits, in shared memory first.

constexpr u32 ENCODED = 4;      // consecutive numbers that a thread encodes at a time
constexpr u32 NUMBER_BITS = 32; // the most bits of a number
constexpr u32 LENGTHS = NUMBER_BITS + 1;
constexpr u32 MOST_MORE = 4;    // the most bits of a further group

// The rows and arcs of a file block.
struct Block {
    u64 first_rank, rows, first_arc, arcs;
};

__device__ __forceinline__ Block block_at(const u32 *ranks, const u64 *first_arc, u64 block) {
    return {ranks[block], (u64)ranks[block + 1] - ranks[block], first_arc[block], first_arc[block + 1] - first_arc[block]};
}

// The lengths of a block's rows.
struct RowLengths {
    const u32 *lengths;
    __device__ __forceinline__ u32 operator()(u64 i) const { return lengths[i]; }
};

// The distances of a block's successors.
struct Distances {
    const u64 *arcs;
    u64 first, bits;
    __device__ __forceinline__ u32 operator()(u64 place) const {
        const u64 i = first + place, arc = arcs[i], successor = (1ull << bits) - 1;
        const bool begins = i == 0 || arcs[i - 1] >> bits != arc >> bits;
        return (u32)(arc & successor) - (begins ? 0 : (u32)(arcs[i - 1] & successor) + 1);
    }
};

__device__ __forceinline__ u32 length_of(u32 number) { return NUMBER_BITS - __clz(number); }

struct Groups {
    u32 first, more;
    // How many further groups a number of so many bits has.
    __device__ __forceinline__ u32 further(u32 length) const { return length > first ? (length - first + more - 1) / more : 0; }
};

// The header of a sequence: its groups, and the number of its control bits.
__device__ __forceinline__ Groups groups_of(u64 header) { return {(u32)(header & 0xff), (u32)(header >> 8 & 0xff)}; }

__device__ __forceinline__ u64 words_of(u64 bits) { return (bits + 63) / 64; }

__device__ __forceinline__ u64 data_bits(u64 header, u64 many) {
    const Groups groups = groups_of(header);
    return groups.first * many + groups.more * ((header >> 16) - many);
}

__device__ __forceinline__ u64 sequence_bytes(u64 header, u64 many) {
    return 8 * (2 + words_of(header >> 16) + words_of(data_bits(header, many)));
}

// The header of the shortest sequence of `many` numbers; the whole thread block calls it.
template <typename Number> __device__ __forceinline__ u64 shortest(u64 many, Number number) {
    // Compilers load four at a time; what they load beyond the last length must not be what other threads write.
    __shared__ u32 lengths[(LENGTHS + 3) / 4 * 4];
    __shared__ u64 least[ENCODE_THREADS / WARP];
    for (u32 i = threadIdx.x; i < LENGTHS; i += ENCODE_THREADS) lengths[i] = 0;
    __syncthreads();
    for (u64 i = threadIdx.x; i < many; i += ENCODE_THREADS) atomicAdd(&lengths[length_of(number(i))], 1u);
    __syncthreads();
    // A thread for each choice; of equally good ones the first one is taken.
    u64 best = ~0ull;
    if (threadIdx.x < MOST_MORE * LENGTHS) {
        const Groups groups = {threadIdx.x % LENGTHS, 1 + threadIdx.x / LENGTHS};
        u64 bits = 0;
        for (u32 length = 0; length < LENGTHS; length++)
            bits += (u64)lengths[length] * (1 + groups.first + groups.further(length) * (1 + groups.more));
        best = bits << 8 | threadIdx.x;
    }
    for (u32 step = WARP / 2; step; step >>= 1) best = min(best, __shfl_down_sync(ALL, best, step));
    if (this_lane() == 0) least[threadIdx.x / WARP] = best;
    __syncthreads();
    best = least[0];
    for (u32 warp = 1; warp < ENCODE_THREADS / WARP; warp++) best = min(best, least[warp]);
    const u32 choice = best & 0xff;
    const Groups groups = {choice % LENGTHS, 1 + choice / LENGTHS};
    u64 control_bits = many;
    for (u32 length = 0; length < LENGTHS; length++) control_bits += (u64)lengths[length] * groups.further(length);
    __syncthreads(); // before the next call writes
    return groups.first | groups.more << 8 | control_bits << 16;
}

// The bytes of each block, and the headers of its sequences. A thread block for each.
extern "C" __global__ void __launch_bounds__(ENCODE_THREADS) measure(const u64 *arcs, u64 bits, const u32 *lengths, const u32 *ranks,
    const u64 *first_arc, u64 *bytes, u64 *headers) {
    const Block block = block_at(ranks, first_arc, blockIdx.x);
    const u64 of_rows = shortest(block.rows, RowLengths{lengths + block.first_rank});
    const u64 of_arcs = shortest(block.arcs, Distances{arcs, block.first_arc, bits});
    if (threadIdx.x) return;
    headers[2 * (u64)blockIdx.x] = of_rows;
    headers[2 * (u64)blockIdx.x + 1] = of_arcs;
    bytes[blockIdx.x] = sequence_bytes(of_rows, block.rows) + sequence_bytes(of_arcs, block.arcs);
}

constexpr u32 BATCH = ENCODE_THREADS * ENCODED; // numbers that a thread block encodes at a time

// Bits that a thread block writes one after another: those of a batch are joined in shared memory.
template <u32 MOST> struct Bits {
    u32 *out;
    u64 written; // words
    u32 filled;  // bits of the first word of `words`, which are from the batch before

    // Before the first batch; the whole thread block calls this, as the functions below.
    __device__ __forceinline__ void begin(u32 *words, u32 *to) {
        out = to, written = 0, filled = 0;
        if (threadIdx.x == 0) words[0] = 0;
    }
    // Before a batch.
    __device__ __forceinline__ void clear(u32 *words) {
        for (u32 i = 1 + threadIdx.x; i < MOST; i += ENCODE_THREADS) words[i] = 0;
    }
    // Puts `value` at a bit of the batch; the bits there are 0.
    __device__ __forceinline__ void add(u32 *words, u32 bit, u32 value) {
        if (!value) return;
        const u64 moved = (u64)value << (filled + bit) % 32;
        atomicOr(words + (filled + bit) / 32, (u32)moved);
        if (moved >> 32) atomicOr(words + (filled + bit) / 32 + 1, (u32)(moved >> 32));
    }
    // After a batch of `bits` bits, and a barrier: writes the whole words, and keeps the rest for the next batch.
    __device__ __forceinline__ void flush(u32 *words, u32 bits) {
        const u32 whole = (filled + bits) / 32;
        for (u32 i = threadIdx.x; i < whole; i += ENCODE_THREADS) out[written + i] = words[i];
        const u32 last = words[whole];
        __syncthreads();
        if (threadIdx.x == 0) words[0] = last;
        written += whole;
        filled = (filled + bits) % 32;
    }
    // After the last batch: writes what is left, and zeros up to `all` words.
    __device__ __forceinline__ void end(u32 *words, u64 all) {
        __syncthreads();
        for (u64 i = written + threadIdx.x; i < all; i += ENCODE_THREADS) out[i] = i == written ? words[0] : 0;
        __syncthreads();
    }
};

// Words in shared memory for a batch: at most 33 control bits, and 35 bits of data, a number; and the bits left from the batch before.
constexpr u32 CONTROL_WORDS = BATCH * (NUMBER_BITS + 1) / 32 + 2, DATA_WORDS = BATCH * (NUMBER_BITS + MOST_MORE - 1) / 32 + 2;

// Writes a sequence to `out`; returns where it ends.
template <typename Number> __device__ __forceinline__ u32 *put_sequence(u64 header, u64 many, Number number, u32 *out) {
    __shared__ u32 control_words[CONTROL_WORDS], data_words[DATA_WORDS];
    const Groups groups = groups_of(header);
    if (threadIdx.x == 0) out[0] = (u32)header, out[1] = (u32)(header >> 32);
    const u64 of_control = 2 * words_of(header >> 16), of_data = 2 * (words_of(data_bits(header, many)) + 1);
    Bits<CONTROL_WORDS> control;
    Bits<DATA_WORDS> data;
    control.begin(control_words, out + 2);
    data.begin(data_words, out + 2 + of_control);
    for (u64 first = 0; first < many; first += BATCH) {
        control.clear(control_words);
        data.clear(data_words);
        const u32 now = (u32)min(many - first, (u64)BATCH), mine = threadIdx.x * ENCODED;
        u32 value[ENCODED], further[ENCODED], zeros = 0;
#pragma unroll
        for (u32 i = 0; i < ENCODED; i++) {
            value[i] = mine + i < now ? number(first + mine + i) : 0;
            further[i] = groups.further(length_of(value[i]));
            zeros += further[i];
        }
        u32 all, before = block_exclusive(zeros, all);
#pragma unroll
        for (u32 i = 0; i < ENCODED; i++) {
            if (mine + i >= now) break;
            control.add(control_words, mine + i + before + further[i], 1);
            data.add(data_words, groups.first * (mine + i) + groups.more * before, value[i]);
            before += further[i];
        }
        __syncthreads();
        control.flush(control_words, now + all);
        data.flush(data_words, groups.first * now + groups.more * all);
    }
    control.end(control_words, of_control);
    data.end(data_words, of_data);
    return out + 2 + of_control + of_data;
}

// Writes the blocks from `first_block` on to `out`; `positions`: where each begins among the bytes of all.
extern "C" __global__ void __launch_bounds__(ENCODE_THREADS) encode(const u64 *arcs, u64 bits, const u32 *lengths, const u32 *ranks,
    const u64 *first_arc, const u64 *positions, const u64 *headers, u64 first_block, unsigned char *out) {
    const u64 index = first_block + blockIdx.x;
    const Block block = block_at(ranks, first_arc, index);
    u32 *at = (u32 *)(out + (positions[index] - positions[first_block]));
    at = put_sequence(headers[2 * index], block.rows, RowLengths{lengths + block.first_rank}, at);
    put_sequence(headers[2 * index + 1], block.arcs, Distances{arcs, block.first_arc, bits}, at);
}
