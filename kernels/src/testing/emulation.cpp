// Runs CUDA kernels on the host, for tests. The threads of a block are fibres that switch at barriers, in an order that is shuffled for
// each block and starts with another thread each time; blocks run one after another. Only what this program's kernels use is emulated.
// `SOURCE` is the kernels' file, `KERNELS` a file with a line `KERNEL(name)` for each of them. Barriers do not wait for threads that
// have ended; deadlocks are reported.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <algorithm>
#include <type_traits>
#include <utility>
#include <csetjmp>
#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static

struct Index { unsigned x; };
static Index blockIdx, blockDim, gridDim;

namespace emulation {
enum State { RUNNING, AT_WARP, AT_BLOCK, ENDED };

// The value of each lane of a mask; 0 for lanes that have ended.
struct Exchange {
    uint64_t of[32];
    uint32_t live;
};

struct Fibre {
    jmp_buf place; // where it continues
    bool made;
    Index thread;
    State state;
    uint32_t mask; // the lanes that it waits for at a warp's barrier
    uint64_t offered;
    const Exchange *exchange; // the values of its group, valid until it waits again
};
constexpr size_t MOST = 1024, STACK = 64 << 10, MOST_SHARED = 64 << 10;
alignas(16) static char shared[MOST_SHARED + 16]; // the dynamic shared memory
static Fibre fibres[MOST];
static Exchange exchanges[MOST]; // of a group of lanes, at the index of its first one
static int offered_by_block;     // threads with a value other than 0 at the last barrier
static char stacks[MOST][STACK];
static Fibre *now;
static jmp_buf scheduler;
static uint64_t seed = 1;

// A kernel: its parameters' sizes, and how it is called with a pointer to each.
struct Kernel {
    const char *name;
    unsigned count, sizes[16];
    void (*function)();
    void (*call)(void (*)(), void **);
};
template <typename F> struct Parameters;
template <typename... P> struct Parameters<void(P...)> {
    static_assert(sizeof...(P) <= 16);
    template <size_t... I> static void call(void (*function)(), void **values, std::index_sequence<I...>) {
        ((void (*)(P...))function)(*(std::remove_const_t<P> *)values[I]...);
    }
    static void call(void (*function)(), void **values) { call(function, values, std::index_sequence_for<P...>{}); }
    static Kernel of(const char *name, void (*function)(P...)) {
        return {name, sizeof...(P), {(unsigned)sizeof(P)...}, (void (*)())function, call};
    }
};
static const Kernel *kernel;
static void **values;

static void wait(State at) {
    now->state = at;
    if (!_setjmp(now->place)) _longjmp(scheduler, 1);
}

static void wait_for(uint32_t mask) {
    now->mask = mask;
    wait(AT_WARP);
}

static const Exchange &exchange(uint32_t mask, uint64_t mine) {
    now->offered = mine;
    wait_for(mask);
    return *now->exchange;
}

static void body() {
    for (;;) {
        kernel->call(kernel->function, values);
        wait(ENDED);
    }
}

// Runs a fibre until it waits. A fibre is created once and then runs one block after another.
static void resume(Fibre &fibre, char *stack) {
    now = &fibre;
    if (_setjmp(scheduler)) return;
    if (fibre.made) _longjmp(fibre.place, 1);
    fibre.made = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
    setcontext(&context);
}

// Releases the lanes of a warp for which all lanes of their mask wait with the same mask or have ended.
static bool release_warp(size_t first, size_t threads) {
    const unsigned lanes = threads - first < 32 ? threads - first : 32;
    uint32_t waiting = 0, live = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        waiting |= (uint32_t)(fibres[first + lane].state == AT_WARP) << lane;
        live |= (uint32_t)(fibres[first + lane].state != ENDED) << lane;
    }
    bool any = false;
    while (waiting) {
        const uint32_t mask = fibres[first + __builtin_ctz(waiting)].mask;
        uint32_t same = 0;
        for (unsigned lane = 0; lane < lanes; lane++)
            same |= (uint32_t)((waiting >> lane & 1) && fibres[first + lane].mask == mask) << lane;
        waiting &= ~same;
        if ((mask & live) != same) continue;
        // All lanes of the group run before the next group is released, so they see these values.
        Exchange &all = exchanges[first + __builtin_ctz(same)];
        all = {};
        all.live = same;
        for (unsigned lane = 0; lane < lanes; lane++) {
            if (!(same >> lane & 1)) continue;
            Fibre &fibre = fibres[first + lane];
            all.of[lane] = fibre.offered;
            fibre.exchange = &all;
            fibre.state = RUNNING;
        }
        any = true;
    }
    return any;
}

// Releases a block if all of its threads have arrived.
static bool release_block(size_t threads) {
    bool any = false;
    for (size_t i = 0; i < threads; i++) {
        if (fibres[i].state != AT_BLOCK && fibres[i].state != ENDED) return false;
        any |= fibres[i].state == AT_BLOCK;
    }
    if (any) offered_by_block = 0;
    for (size_t i = 0; i < threads; i++) {
        if (fibres[i].state != AT_BLOCK) continue;
        offered_by_block += fibres[i].offered != 0;
        fibres[i].state = RUNNING;
    }
    return any;
}

static unsigned random_below(unsigned end) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % end;
}

static bool run_block(unsigned threads) {
    static unsigned order[MOST];
    for (unsigned i = 0; i < threads; i++) {
        fibres[i].thread = {i};
        fibres[i].state = RUNNING;
        order[i] = i;
    }
    for (unsigned i = threads; i > 1; i--) std::swap(order[i - 1], order[random_below(i)]);
    for (;;) {
        const unsigned turn = random_below(threads);
        bool went = false, left = false;
        for (unsigned at = 0; at < threads; at++) {
            const unsigned i = order[at + turn < threads ? at + turn : at + turn - threads];
            if (fibres[i].state != RUNNING) continue;
            resume(fibres[i], stacks[i]);
            went = true;
        }
        for (unsigned first = 0; first < threads; first += 32) went |= release_warp(first, threads);
        went |= release_block(threads);
        for (unsigned i = 0; i < threads; i++) left |= fibres[i].state != ENDED;
        if (!left) return true;
        if (!went) return false;
    }
}
} // namespace emulation

#define threadIdx (emulation::now->thread)

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
template <typename A, typename B> static inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <typename A, typename B> static inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

static inline void __syncthreads() { emulation::wait(emulation::AT_BLOCK); }
static inline int __syncthreads_count(int mine) {
    emulation::now->offered = mine != 0;
    __syncthreads();
    return emulation::offered_by_block;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { emulation::wait_for(mask); }
template <typename T> static inline T lane_of(unsigned mask, unsigned lane, T mine) {
    const auto &all = emulation::exchange(mask, (uint64_t)mine);
    return lane < 32 && all.live >> lane & 1 ? (T)all.of[lane] : mine;
}
// Lanes shuffle in groups of `width`; a lane that would read beyond its group keeps its own value.
template <typename T> static inline T __shfl_sync(unsigned mask, T mine, unsigned lane, unsigned width = 32) {
    return lane_of(mask, threadIdx.x % 32 / width * width + lane % width, mine);
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T mine, unsigned by, unsigned width = 32) {
    const unsigned lane = threadIdx.x % 32;
    return lane_of(mask, lane % width + by < width ? lane + by : lane, mine);
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T mine, unsigned by, unsigned width = 32) {
    const unsigned lane = threadIdx.x % 32;
    return lane_of(mask, lane % width >= by ? lane - by : lane, mine);
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T mine, unsigned by) { return lane_of(mask, threadIdx.x % 32 ^ by, mine); }
static inline unsigned __ballot_sync(unsigned mask, bool mine) {
    const auto &all = emulation::exchange(mask, mine);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) result |= (unsigned)(all.of[lane] != 0) << lane;
    return result;
}
static inline bool __any_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) != 0; }
static inline unsigned __match_any_sync(unsigned mask, unsigned mine) {
    const auto &all = emulation::exchange(mask, mine);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) result |= (unsigned)((all.live >> lane & 1) && all.of[lane] == mine) << lane;
    return result;
}
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline int __clz(unsigned bits) { return bits ? __builtin_clz(bits) : 32; }
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
static inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
template <typename T> static inline T __ldg(const T *at) { return *at; }
template <typename T> static inline T __ldcs(const T *at) { return *at; }
template <typename T> static inline T atomicAdd(T *at, std::type_identity_t<T> by) { T old = *at; *at += by; return old; }
template <typename T> static inline T atomicAnd(T *at, std::type_identity_t<T> by) { T old = *at; *at &= by; return old; }
template <typename T> static inline T atomicOr(T *at, std::type_identity_t<T> by) { T old = *at; *at |= by; return old; }
template <typename T> static inline T atomicMax(T *at, std::type_identity_t<T> by) { T old = *at; *at = std::max(old, by); return old; }
template <typename T> static inline T atomicMin(T *at, std::type_identity_t<T> by) { T old = *at; *at = std::min(old, by); return old; }
template <typename T> static inline T atomicSub(T *at, std::type_identity_t<T> by) { T old = *at; *at -= by; return old; }
template <typename T, typename U, typename V> static inline T atomicCAS(T *at, U expected, V value) {
    T old = *at;
    if (old == (T)expected) *at = (T)value;
    return old;
}

#include SOURCE

#define KERNEL(name) emulation::Parameters<decltype(name)>::of(#name, name),
static const emulation::Kernel KERNEL_TABLE[] = {
#include KERNELS
};

// Returns 0: done; 1: deadlock; 2: no such kernel, or it has other parameters; 3: it wrote beyond its shared memory.
extern "C" __attribute__((visibility("default"))) int emulate(const char *name, unsigned blocks, unsigned threads,
    unsigned shared, void **values, const unsigned *sizes, unsigned count) {
    using namespace emulation;
    kernel = nullptr;
    for (const Kernel &known : KERNEL_TABLE)
        if (!std::strcmp(known.name, name)) kernel = &known;
    if (!kernel || kernel->count != count || !std::equal(sizes, sizes + count, kernel->sizes)) return 2;
    if (threads > MOST || shared > MOST_SHARED) return 2;
    emulation::values = values;
    gridDim = {blocks};
    blockDim = {threads};
    for (unsigned block = 0; block < blocks; block++) {
        blockIdx = {block};
        std::memset(emulation::shared, 0xa5, shared + 16);
        if (!run_block(threads)) return 1;
        for (unsigned i = 0; i < 16; i++)
            if (emulation::shared[shared + i] != (char)0xa5) return 3;
    }
    return 0;
}
