/* Launches of kernels: blocks one after the other, the threads of a block in turns.
 *
 * A thread runs until it ends or waits.  Threads that end without having waited share one stack, one call after the
 * other, so that a kernel without barriers is a plain loop; each that waits keeps its stack, and the next ones go on
 * another.  When all have waited or ended, those that wait go on in their order.
 */
#ifndef __UFM_CUDA_LAUNCH_H
#define __UFM_CUDA_LAUNCH_H
#pragma GCC system_header

#include <sched.h>
#if defined __GLIBC__ && !defined __UFM_CUDA_PTHREADS__
#include <sys/mman.h>
#include <ucontext.h>
#else
#include <pthread.h>
#endif

/* Lazily backed by memory; below it lies a page that ends the kernel that outgrows it. */
enum { __UFM_STACK = 256 << 10, __UFM_GUARD = 64 << 10 };

struct __ufm_quit {}; /* unwinds a thread whose block has failed */
enum __ufm_state { __UFM_IDLE, __UFM_AT_WARP, __UFM_AT_BLOCK };

struct __ufm_block;
/* One stack and the thread on it. */
struct __ufm_fiber {
    __ufm_block *block;
    __ufm_state state;
    uint3 thread;
#if defined __GLIBC__ && !defined __UFM_CUDA_PTHREADS__
    ucontext_t context;
    void *stack;
#else
    pthread_t context;
    pthread_cond_t turn;
    bool mine;
#endif
};

struct __ufm_block {
    void (*call)(const void *kernel, void **arguments);
    const void *kernel;
    void **arguments;
    unsigned next, count; /* threads that have not started yet: next ... count */
    bool failed, over;
    char *text; /* why; of the thread that launches */
    __ufm_fiber *fibers, *running;
    unsigned made;
    uint3 index;
    dim3 threads, blocks;
#if defined __GLIBC__ && !defined __UFM_CUDA_PTHREADS__
    ucontext_t caller;
#else
    pthread_mutex_t lock;
    pthread_cond_t back;
    bool mine;
#endif
};

static thread_local __ufm_block *__ufm_running_block;
enum { __UFM_LAUNCH_TEXT = 400 };
static thread_local char __ufm_launch_text[__UFM_LAUNCH_TEXT];

/* The first failure is the one that is told. */
static void __ufm_block_failed(__ufm_block *block, const char *text)
{
    uint3 t = threadIdx, b = block->index;
    if (!block->failed)
        snprintf(block->text, __UFM_LAUNCH_TEXT, "Thread (%u, %u, %u) of block (%u, %u, %u): %s", t.x, t.y, t.z, b.x,
                 b.y, b.z, text);
    block->failed = true;
}

static void __ufm_run_thread(__ufm_block *block, unsigned thread)
{
    threadIdx = {thread % block->threads.x, thread / block->threads.x % block->threads.y,
                 thread / block->threads.x / block->threads.y};
    try {
        block->call(block->kernel, block->arguments);
    } catch (const __ufm_quit &) {
    } catch (const std::exception &e) {
        __ufm_block_failed(block, e.what());
    } catch (...) {
        __ufm_block_failed(block, "it threw something that is not a std::exception.");
    }
}

/* Leaves the fiber for its block's caller; comes back when the caller picks it. */
static void __ufm_leave(__ufm_fiber *fiber);

static void __ufm_wait_here(bool whole)
{
    __ufm_block *block = __ufm_running_block;
    __ufm_fiber *fiber = block->running;
    fiber->state = whole ? __UFM_AT_BLOCK : __UFM_AT_WARP;
    fiber->thread = threadIdx;
    __ufm_leave(fiber);
    threadIdx = fiber->thread;
    fiber->state = __UFM_IDLE;
    if (block->failed)
        throw __ufm_quit();
}

/* What a fiber does for ever: threads of the block, as long as there are any. */
static void __ufm_work(__ufm_fiber *fiber)
{
    __ufm_block *block = fiber->block;
    for (;;) {
        while (block->next < block->count && !block->failed)
            __ufm_run_thread(block, block->next++);
        __ufm_leave(fiber);
        if (block->over)
            return;
    }
}

#if defined __GLIBC__ && !defined __UFM_CUDA_PTHREADS__
static void __ufm_leave(__ufm_fiber *fiber) { swapcontext(&fiber->context, &fiber->block->caller); }

static void __ufm_enter(__ufm_fiber *fiber)
{
    fiber->block->running = fiber;
    swapcontext(&fiber->block->caller, &fiber->context);
}

static void __ufm_start(unsigned low, unsigned high)
{
    __ufm_work((__ufm_fiber *)((uintptr_t)low | (uintptr_t)high << 16 << 16));
}

static bool __ufm_make_fiber(__ufm_fiber *fiber, __ufm_block *block)
{
    fiber->stack = mmap(0, __UFM_STACK + __UFM_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED)
        return false;
    if (mprotect((char *)fiber->stack + __UFM_GUARD, __UFM_STACK, PROT_READ | PROT_WRITE) ||
        getcontext(&fiber->context)) {
        munmap(fiber->stack, __UFM_STACK + __UFM_GUARD);
        return false;
    }
    fiber->block = block;
    fiber->state = __UFM_IDLE;
    fiber->context.uc_stack.ss_sp = (char *)fiber->stack + __UFM_GUARD;
    fiber->context.uc_stack.ss_size = __UFM_STACK;
    fiber->context.uc_link = &block->caller;
    uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->context, (void (*)())__ufm_start, 2, (unsigned)address, (unsigned)(address >> 16 >> 16));
    return true;
}

static void __ufm_end_fiber(__ufm_fiber *fiber) { munmap(fiber->stack, __UFM_STACK + __UFM_GUARD); }
static void __ufm_begin(__ufm_block *) {}
static void __ufm_end(__ufm_block *) {}
#else
/* Threads of the system that hand one turn around, where there are no contexts to switch. */
static void __ufm_leave(__ufm_fiber *fiber)
{
    __ufm_block *block = fiber->block;
    fiber->mine = false, block->mine = true;
    pthread_cond_signal(&block->back);
    while (!fiber->mine)
        pthread_cond_wait(&fiber->turn, &block->lock);
    blockIdx = block->index;
}

static void __ufm_enter(__ufm_fiber *fiber)
{
    __ufm_block *block = fiber->block;
    block->running = fiber, block->mine = false, fiber->mine = true;
    pthread_cond_signal(&fiber->turn);
    while (!block->mine)
        pthread_cond_wait(&block->back, &block->lock);
}

static void *__ufm_start(void *argument)
{
    __ufm_fiber *fiber = (__ufm_fiber *)argument;
    __ufm_block *block = fiber->block;
    pthread_mutex_lock(&block->lock);
    while (!fiber->mine)
        pthread_cond_wait(&fiber->turn, &block->lock);
    __ufm_running_block = block, __ufm_wait = __ufm_wait_here;
    blockIdx = block->index, blockDim = block->threads, gridDim = block->blocks;
    __ufm_work(fiber);
    block->mine = true;
    pthread_cond_signal(&block->back);
    pthread_mutex_unlock(&block->lock);
    return 0;
}

static bool __ufm_make_fiber(__ufm_fiber *fiber, __ufm_block *block)
{
    fiber->block = block, fiber->state = __UFM_IDLE, fiber->mine = false;
    pthread_cond_init(&fiber->turn, 0);
    return !pthread_create(&fiber->context, 0, __ufm_start, fiber);
}

static void __ufm_end_fiber(__ufm_fiber *fiber)
{
    __ufm_block *block = fiber->block;
    block->over = true;
    __ufm_enter(fiber);
    pthread_mutex_unlock(&block->lock);
    pthread_join(fiber->context, 0);
    pthread_mutex_lock(&block->lock);
    pthread_cond_destroy(&fiber->turn);
}
static void __ufm_begin(__ufm_block *block)
{
    pthread_mutex_init(&block->lock, 0), pthread_cond_init(&block->back, 0);
    pthread_mutex_lock(&block->lock);
}
static void __ufm_end(__ufm_block *block)
{
    pthread_mutex_unlock(&block->lock);
    pthread_mutex_destroy(&block->lock), pthread_cond_destroy(&block->back);
}
#endif

/* Every fiber in that state goes on, once. */
static bool __ufm_go_on(__ufm_block *block, __ufm_state state)
{
    bool any = false;
    for (unsigned k = 0; k < block->made; k++)
        if (block->fibers[k].state == state)
            __ufm_enter(&block->fibers[k]), any = true;
    return any;
}

static void __ufm_run_block(__ufm_block *block)
{
    block->next = 0;
    for (unsigned k = 0; block->next < block->count && !block->failed; k++) {
        if (k == block->made) {
            if (!__ufm_make_fiber(&block->fibers[k], block)) {
                __ufm_block_failed(block, "there is no memory for the stacks of more threads. Launch smaller blocks.");
                break;
            }
            block->made++;
        }
        __ufm_enter(&block->fibers[k]);
    }
    /* A wait for a warp is over before one for the block is: all lanes come to both in the same order. */
    while (__ufm_go_on(block, __UFM_AT_WARP) || __ufm_go_on(block, __UFM_AT_BLOCK))
        ;
}

/* The limits of every GPU since 2012; a grid's first side may have 2^31 - 1. */
static bool __ufm_launchable(const unsigned grid[3], const unsigned block[3], size_t shared)
{
    static const unsigned most[3] = {1024, 1024, 64};
    unsigned long long threads = (unsigned long long)block[0] * block[1] * block[2];
    const char *fault = 0;
    if (!threads || !((unsigned long long)grid[0] && grid[1] && grid[2]))
        fault = "is empty: every side of grid and block is at least 1";
    else if (block[0] > most[0] || block[1] > most[1] || block[2] > most[2] || threads > 1024)
        fault = "is too large: a block has at most 1024 x 1024 x 64 threads, and 1024 in all";
    else if (grid[0] > 0x7fffffffu || grid[1] > 65535 || grid[2] > 65535)
        fault = "is too large: a grid has at most 2147483647 x 65535 x 65535 blocks";
    if (fault)
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT, "A grid of (%u, %u, %u) blocks of (%u, %u, %u) threads %s.",
                 grid[0], grid[1], grid[2], block[0], block[1], block[2], fault);
    else if (shared > 49152)
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT,
                 "%zu bytes of dynamic shared memory are too many: a block has at most 49152.", shared);
    return !__ufm_launch_text[0];
}

static void __ufm_run_grid(__ufm_block *block)
{
    dim3 blocks = block->blocks;
    for (unsigned z = 0; z < blocks.z && !block->failed; z++)
        for (unsigned y = 0; y < blocks.y && !block->failed; y++)
            for (unsigned x = 0; x < blocks.x && !block->failed; x++) {
                blockIdx = block->index = {x, y, z};
                __ufm_run_block(block);
            }
}

static void __ufm_launch_any(void (*call)(const void *, void **), const void *kernel, const unsigned grid[3],
                             const unsigned block[3], size_t shared, void **arguments)
{
    static char busy; /* static __shared__ objects are one set */
    __ufm_launch_text[0] = 0;
    if (!__ufm_launchable(grid, block, shared))
        return;
    __ufm_block state = {};
    state.call = call, state.kernel = kernel, state.arguments = arguments;
    state.threads = {block[0], block[1], block[2]}, state.blocks = {grid[0], grid[1], grid[2]};
    state.text = __ufm_launch_text;
    state.count = block[0] * block[1] * block[2];
    state.fibers = (__ufm_fiber *)calloc(state.count, sizeof *state.fibers);
    if (!state.fibers) {
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT, "There is no memory for the threads of a block.");
        return;
    }
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        sched_yield();
    uint3 thread = threadIdx, index = blockIdx;
    dim3 threads = blockDim, blocks = gridDim;
    blockDim = state.threads, gridDim = state.blocks;
    __ufm_running_block = &state, __ufm_wait = __ufm_wait_here;
    __ufm_begin(&state);
    __ufm_run_grid(&state);
    for (unsigned k = 0; k < state.made; k++)
        __ufm_end_fiber(&state.fibers[k]);
    __ufm_end(&state);
    __ufm_running_block = 0, __ufm_wait = 0;
    threadIdx = thread, blockIdx = index, blockDim = threads, gridDim = blocks;
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    free(state.fibers);
}

template <unsigned...> struct __ufm_places {};
template <unsigned N, unsigned... K> struct __ufm_make_places : __ufm_make_places<N - 1, N - 1, K...> {};
template <unsigned... K> struct __ufm_make_places<0, K...> { typedef __ufm_places<K...> type; };
template <class T> struct __ufm_value { typedef T type; };
template <class T> struct __ufm_value<const T> { typedef T type; };
template <class... A> struct __ufm_kernel_call {
    template <unsigned... K> static void spread(const void *kernel, void **arguments, __ufm_places<K...>)
    {
        (void)arguments;
        ((void (*)(A...))kernel)(*(typename __ufm_value<A>::type *)arguments[K]...);
    }
    static void of(const void *kernel, void **arguments)
    {
        spread(kernel, arguments, typename __ufm_make_places<sizeof...(A)>::type());
    }
};

/* Runs a kernel; arguments[i] points at the i-th argument.  What failed is what __ufm_launch_error() gives. */
template <class... A>
static inline void __ufm_launch(void (*kernel)(A...), const unsigned grid[3], const unsigned block[3], size_t shared,
                                void **arguments)
{
    __ufm_launch_any(__ufm_kernel_call<A...>::of, (const void *)kernel, grid, block, shared, arguments);
}

extern "C" {
/* Why this thread's last launch failed, or NULL. */
__UFM_SHOWN const char *__ufm_launch_error(void) { return __ufm_launch_text[0] ? __ufm_launch_text : 0; }
}

#endif
