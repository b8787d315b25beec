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
// What a fibre goes on with: on x86-64 its stack, with the registers that a call preserves on top. To put them there takes a third of the
// time of the C library's functions, which look for handlers. It jumps, since no return to another stack is predicted.
#if defined(__x86_64__)
typedef void *Place;
extern "C" void switch_to(Place *left, Place *place);
asm(R"(.text
.local switch_to
switch_to:
    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
    mov %rsp, (%rdi)
    mov (%rsi), %rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
    pop %rax
    jmp *%rax
)");
static void begin(Place &place, char *stack, size_t bytes, void (*body)()) {
    void **top = (void **)((uintptr_t)(stack + bytes) / 16 * 16);
    top[-2] = (void *)body; // below it the registers
    place = top - 8;
}
#else
struct Place {
    jmp_buf kept;
    bool begins;
    ucontext_t first;
};
static void switch_to(Place *left, Place *place) {
    if (_setjmp(left->kept)) return;
    if (!place->begins) _longjmp(place->kept, 1);
    place->begins = false;
    setcontext(&place->first);
}
static void begin(Place &place, char *stack, size_t bytes, void (*body)()) {
    getcontext(&place.first);
    place.first.uc_stack.ss_sp = stack;
    place.first.uc_stack.ss_size = bytes;
    place.first.uc_link = nullptr;
    makecontext(&place.first, body, 0);
    place.begins = true;
}
#endif

// The value of each lane of a mask; 0 for lanes that have ended.
struct Exchange {
    uint64_t of[32];
    uint32_t live;
};

struct Fibre {
    Place place;
    bool made;
    uint32_t mask; // the lanes that it waits for at a warp's barrier
    uint64_t offered;
    const Exchange *exchange; // the values of its group, valid until it waits again
};
// The lanes of a warp in each state, as bits.
struct Warp {
    uint32_t running, waiting, ended; // the others wait for the block
};
// The stacks begin at different places of a page, or all of them would share a few lines of the processor's cache.
constexpr size_t MOST = 1024, STACK = (64 << 10) + 576, MOST_SHARED = 64 << 10;
alignas(16) static char shared[MOST_SHARED + 16]; // the dynamic shared memory
static Fibre fibres[MOST];
static Warp warps[MOST / 32];
static Exchange exchanges[MOST]; // of a group of lanes, at the index of its first one
static unsigned ended, at_block; // threads of the block that have ended, and that wait for the others
static int offered_by_block;     // threads with a value other than 0 at the last barrier
static char stacks[MOST][STACK];
static Index now; // the thread that runs
static Place scheduler;
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

static uint32_t lane() { return 1u << now.x % 32; }
static Warp &warp() { return warps[now.x / 32]; }

// The scheduler continues; this thread does when it runs again.
static void leave() {
    warp().running &= ~lane();
    switch_to(&fibres[now.x].place, &scheduler);
}

static void wait_for_block() {
    at_block++;
    leave();
}

static void wait_for(uint32_t mask) {
    fibres[now.x].mask = mask;
    warp().waiting |= lane();
    leave();
}

static const Exchange &exchange(uint32_t mask, uint64_t mine) {
    fibres[now.x].offered = mine;
    wait_for(mask);
    return *fibres[now.x].exchange;
}

static void body() {
    for (;;) {
        kernel->call(kernel->function, values);
        ended++;
        warp().ended |= lane();
        leave();
    }
}

// Runs a thread until it waits. A fibre is created once and then runs one block after another.
static void resume(unsigned thread) {
    now = {thread};
    Fibre &fibre = fibres[thread];
    if (!fibre.made) begin(fibre.place, stacks[thread], STACK, body);
    fibre.made = true;
    switch_to(&scheduler, &fibre.place);
}

// Releases the lanes of a warp for which all lanes of their mask wait with the same mask or have ended.
static bool release_warp(unsigned first, unsigned threads) {
    Warp &warp = warps[first / 32];
    const uint32_t lanes = threads - first < 32 ? (1u << (threads - first)) - 1 : 0xffffffffu, live = lanes & ~warp.ended;
    bool any = false;
    for (uint32_t waiting = warp.waiting; waiting;) {
        const uint32_t mask = fibres[first + __builtin_ctz(waiting)].mask;
        uint32_t same = 0;
        for (uint32_t left = waiting; left; left &= left - 1) {
            const unsigned lane = __builtin_ctz(left);
            same |= (uint32_t)(fibres[first + lane].mask == mask) << lane;
        }
        waiting &= ~same;
        if ((mask & live) != same) continue;
        // All lanes of the group run before the next group is released, so they see these values.
        Exchange &all = exchanges[first + __builtin_ctz(same)];
        all = {};
        all.live = same;
        for (uint32_t left = same; left; left &= left - 1) {
            const unsigned lane = __builtin_ctz(left);
            all.of[lane] = fibres[first + lane].offered;
            fibres[first + lane].exchange = &all;
        }
        warp.waiting &= ~same;
        warp.running |= same;
        any = true;
    }
    return any;
}

// Releases a block if all of its threads have arrived.
static bool release_block(unsigned threads) {
    if (!at_block || at_block + ended < threads) return false;
    offered_by_block = at_block = 0;
    for (unsigned i = 0; i < threads; i++) {
        if (warps[i / 32].ended >> i % 32 & 1) continue;
        offered_by_block += fibres[i].offered != 0;
        warps[i / 32].running |= 1u << i % 32;
    }
    return true;
}

static unsigned random_below(unsigned end) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % end;
}

static bool run_block(unsigned threads) {
    static unsigned order[MOST];
    ended = at_block = 0;
    for (Warp &warp : warps) warp = {};
    for (unsigned i = 0; i < threads; i++) {
        warps[i / 32].running |= 1u << i % 32;
        order[i] = i;
    }
    for (unsigned i = threads; i > 1; i--) std::swap(order[i - 1], order[random_below(i)]);
    while (ended < threads) {
        const unsigned turn = random_below(threads);
        bool went = false;
        for (unsigned at = 0; at < threads; at++) {
            const unsigned i = order[at + turn < threads ? at + turn : at + turn - threads];
            if (!(warps[i / 32].running >> i % 32 & 1)) continue;
            resume(i);
            went = true;
        }
        for (unsigned first = 0; first < threads; first += 32) went |= release_warp(first, threads);
        went |= release_block(threads);
        if (!went) return false;
    }
    return true;
}
} // namespace emulation

#define threadIdx (emulation::now)

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
template <typename A, typename B> static inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <typename A, typename B> static inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

static inline void __syncthreads() { emulation::wait_for_block(); }
static inline int __syncthreads_count(int mine) {
    emulation::fibres[emulation::now.x].offered = mine != 0;
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
