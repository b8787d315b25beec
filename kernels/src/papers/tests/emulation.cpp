// CUDA kernels on the host, for tests: each block's threads are fibres that change at barriers, in an order that is shuffled each time.
// It has what the kernels of the papers use and nothing else. `SOURCE` is the kernels' file. Threads of a warp that wait at a warp's
// barrier while the others have ended go on without them; those that wait for ever are reported.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <algorithm>
#include <csetjmp>
#include <ucontext.h>

using std::max;
using std::min;

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct Index { unsigned x; };
static Index blockIdx, blockDim, gridDim;

namespace emulation {
enum State { RUNNING, AT_WARP, AT_BLOCK, ENDED };
struct Fibre {
    jmp_buf place; // where it goes on
    bool made;
    Index thread;
    State state;
    uint64_t offered;
};
constexpr size_t MOST = 1024, STACK = 64 << 10;
static Fibre fibres[MOST];
static char stacks[MOST][STACK];
static Fibre *now;
static jmp_buf scheduler;
static uint64_t seed = 1;
static void (*kernel)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
static uint64_t arguments[16];

static void wait(State at) {
    now->state = at;
    if (!_setjmp(now->place)) _longjmp(scheduler, 1);
}

// What each lane of the warp offered; 0 of those that have ended. Two barriers: nobody offers again before all have looked.
struct Exchange {
    uint64_t of[32];
    uint32_t live;
};
static Exchange exchange(uint64_t mine) {
    now->offered = mine;
    wait(AT_WARP);
    Exchange all{};
    const unsigned first = now->thread.x / 32 * 32;
    for (unsigned lane = 0; lane < 32 && first + lane < blockDim.x; lane++)
        if (fibres[first + lane].state != ENDED) all.of[lane] = fibres[first + lane].offered, all.live |= 1u << lane;
    wait(AT_WARP);
    return all;
}

static void body() {
    const uint64_t *a = arguments;
    for (;;) {
        kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
        wait(ENDED);
    }
}

// Lets a fibre go on until it waits. A fibre is made once and then runs one block after another.
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

// Lets those go on whose whole warp, or whole block, has arrived.
static bool release(size_t first, size_t last, State at) {
    bool any = false;
    for (size_t i = first; i < last; i++) {
        if (fibres[i].state != at && fibres[i].state != ENDED) return false;
        any |= fibres[i].state == at;
    }
    for (size_t i = first; i < last; i++)
        if (fibres[i].state == at) fibres[i].state = RUNNING;
    return any;
}

static bool run_block(unsigned threads) {
    std::vector<unsigned> order(threads);
    for (unsigned i = 0; i < threads; i++) {
        fibres[i].thread = {i};
        fibres[i].state = RUNNING;
        order[i] = i;
    }
    for (;;) {
        for (unsigned i = threads; i > 1; i--) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            std::swap(order[i - 1], order[(seed >> 33) % i]);
        }
        bool went = false, left = false;
        for (unsigned i : order) {
            if (fibres[i].state != RUNNING) continue;
            resume(fibres[i], stacks[i]);
            went = true;
        }
        for (unsigned first = 0; first < threads; first += 32) went |= release(first, std::min(first + 32, threads), AT_WARP);
        went |= release(0, threads, AT_BLOCK);
        for (unsigned i = 0; i < threads; i++) left |= fibres[i].state != ENDED;
        if (!left) return true;
        if (!went) return false;
    }
}
} // namespace emulation

#define threadIdx (emulation::now->thread)

static inline void __syncthreads() { emulation::wait(emulation::AT_BLOCK); }
static inline void __syncwarp() { emulation::wait(emulation::AT_WARP); }
template <typename T> static inline T lane_of(unsigned lane, T mine) {
    auto all = emulation::exchange((uint64_t)mine);
    return lane < 32 && all.live >> lane & 1 ? (T)all.of[lane] : mine;
}
template <typename T> static inline T __shfl_sync(unsigned, T mine, unsigned lane) { return lane_of(lane % 32, mine); }
template <typename T> static inline T __shfl_down_sync(unsigned, T mine, unsigned by) { return lane_of(threadIdx.x % 32 + by, mine); }
template <typename T> static inline T __shfl_up_sync(unsigned, T mine, unsigned by) { return lane_of(threadIdx.x % 32 - by, mine); }
static inline unsigned __ballot_sync(unsigned, bool mine) {
    auto all = emulation::exchange(mine);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) result |= (unsigned)(all.of[lane] != 0) << lane;
    return result;
}
static inline bool __any_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) != 0; }
static inline unsigned __match_any_sync(unsigned, unsigned mine) {
    auto all = emulation::exchange(mine);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) result |= (unsigned)((all.live >> lane & 1) && all.of[lane] == mine) << lane;
    return result;
}
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline int __clz(unsigned bits) { return bits ? __builtin_clz(bits) : 32; }
template <typename T> static inline T atomicAdd(T *at, T by) { T old = *at; *at += by; return old; }
static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value) {
    unsigned old = *at;
    if (old == expected) *at = value;
    return old;
}

#include SOURCE

// 0: done; 1: some threads wait for ever.
extern "C" int emulate(void *kernel, unsigned blocks, unsigned threads, const uint64_t *arguments, unsigned many) {
    emulation::kernel = (decltype(emulation::kernel))kernel;
    std::memset(emulation::arguments, 0, sizeof emulation::arguments);
    std::memcpy(emulation::arguments, arguments, many * sizeof *arguments);
    gridDim = {blocks};
    blockDim = {threads};
    for (unsigned block = 0; block < blocks; block++) {
        blockIdx = {block};
        if (!emulation::run_block(threads)) return 1;
    }
    return 0;
}
