/* Launches of kernels: blocks one after the other, the threads of a block in turns.
 *
 * A thread runs until it ends or waits.  Threads that end without having waited share one stack, one call after the
 * other, so that a kernel without barriers is a plain loop; each that waits keeps its stack, and the next ones go on
 * another.  When all have waited or ended, those go on for whom all have come that they wait for: lanes first, then
 * the block.  A block that waits for the grid stays as it is, with a copy of its shared memory, and the next begins.
 * Where nobody can go on, a GPU would hang or do as it likes: then the launch fails, and says who waits where.
 */
#ifndef __UFM_CUDA_LAUNCH_H
#define __UFM_CUDA_LAUNCH_H
#pragma GCC system_header

#include <sched.h>
#if defined __UFM_CUDA_PTHREADS__ || !(defined __GLIBC__ || (defined __ELF__ && (defined __x86_64__ || defined __aarch64__)))
#include <pthread.h>
#else
#define __UFM_FIBERS 1
#include <sys/mman.h>
#if defined __ELF__ && (defined __x86_64__ || defined __aarch64__) && !defined __UFM_CUDA_UCONTEXT__
#define __UFM_SWITCH 1
typedef void *__ufm_context; /* where its stack ends; the registers are on it */
#else
#include <ucontext.h>
typedef ucontext_t __ufm_context;
#endif
#endif

/* Lazily backed by memory; below it lies a page that ends the kernel that outgrows it. */
enum { __UFM_STACK = 256 << 10, __UFM_GUARD = 64 << 10 };

#ifdef __UFM_CUDA_CHECKED__
#define __UFM_UNCHECKED __attribute__((__no_sanitize__("kernel-address"), noinline))
#else
#define __UFM_UNCHECKED
#endif

struct __ufm_quit {}; /* unwinds a thread whose block has failed */

struct __ufm_block;
/* One stack and the thread on it. */
struct __ufm_fiber {
    __ufm_block *block;
    const __ufm_call *call; /* what it waits for, or NULL */
    unsigned number;        /* of its thread in the block */
    uint3 thread;
#ifdef __UFM_FIBERS
    __ufm_context context;
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
    size_t shared;
    __ufm_fiber *fibers, *running;
    unsigned made;
    uint3 index;
    dim3 threads, blocks;
    /* By warp, a bit for each lane: those that have not ended; those that wait for others of the warp, and where. */
    unsigned live[32], waiting[32], at_warp;
    /* How many wait for more than a warp, and the last one's place; whether another waits elsewhere. */
    unsigned at_barrier, line;
    __ufm_scope scope;
    bool mixed;
    __ufm_fiber *at[1024];
    __ufm_lanes lanes;
    __ufm_block *next_block; /* that waits for the grid */
    char *kept;              /* its shared memory meanwhile, of so many objects */
    unsigned objects;
    bool waits;
#ifdef __UFM_FIBERS
    __ufm_context caller;
#else
    pthread_mutex_t lock;
    pthread_cond_t back;
    bool mine;
#endif
};

static thread_local __ufm_block *__ufm_running_block;
/* Whether the cell's own code is running, so that its accesses are looked at (cuda_checked.h). */
#ifdef __UFM_CUDA_CHECKED__
static thread_local bool __ufm_looking;
#define __UFM_LOOKING(on) (__ufm_looking = on)
#else
#define __UFM_LOOKING(on) ((void)0)
#endif
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
    block->running->number = thread;
    __UFM_LOOKING(true);
    try {
        block->call(block->kernel, block->arguments);
        __UFM_LOOKING(false);
    } catch (const __ufm_quit &) {
    } catch (const std::exception &e) {
        __ufm_block_failed(block, e.what());
    } catch (...) {
        __ufm_block_failed(block, "it threw something that is not a std::exception.");
    }
    block->live[thread / 32] &= ~(1u << thread % 32);
}

/* Leaves the fiber for its block's caller; comes back when the caller picks it. */
static void __ufm_leave(__ufm_fiber *fiber);

[[noreturn]] __attribute__((__cold__, noinline)) static void __ufm_unnamed(const __ufm_call &call, unsigned lane)
{
    __ufm_device_fault fault;
    snprintf(fault.text, sizeof fault.text, "%s:%u: the mask %#010x of %s does not name the lane that calls it, %u.",
             call.file, call.line, call.mask, call.name, lane);
    throw fault;
}

static const __ufm_lanes *__ufm_wait_here(const __ufm_call &call)
{
    __ufm_block *block = __ufm_running_block;
    __ufm_fiber *fiber = block->running;
    uint3 *thread = &threadIdx;
    __UFM_LOOKING(false);
    if (call.scope >= __UFM_BLOCK) {
        block->mixed |= block->at_barrier && (block->line != call.line || block->scope != call.scope);
        block->at_barrier++, block->line = call.line, block->scope = call.scope;
    } else {
        const unsigned warp = fiber->number / 32, bit = 1u << fiber->number % 32;
        if (call.scope == __UFM_LANES && !(call.mask & bit))
            __ufm_unnamed(call, fiber->number % 32);
        block->waiting[warp] |= bit, block->at[fiber->number] = fiber, block->at_warp++;
    }
    fiber->call = &call;
    fiber->thread = *thread;
    __ufm_leave(fiber);
    *thread = fiber->thread;
    fiber->call = 0;
    if (__builtin_expect(block->failed, false))
        throw __ufm_quit();
    __UFM_LOOKING(true);
    return &block->lanes;
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

#ifdef __UFM_SWITCH
/* What a call must keep, and nothing else: swapcontext asks the system for the signal mask, twice a switch. */
extern "C" {
__attribute__((__visibility__("hidden"))) void __ufm_switch(__ufm_context *from, __ufm_context to);
__attribute__((__visibility__("hidden"))) void __ufm_first(void);
}
#ifdef __x86_64__
__asm__(".text\n.globl __ufm_switch\n.hidden __ufm_switch\n.type __ufm_switch, @function\n"
        "__ufm_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n    ret\n"
        ".size __ufm_switch, . - __ufm_switch\n"
        ".globl __ufm_first\n.hidden __ufm_first\n.type __ufm_first, @function\n"
        "__ufm_first:\n    .cfi_startproc\n    .cfi_undefined rip\n"
        "    movq %r12, %rdi\n    call *%r13\n    ud2\n    .cfi_endproc\n.size __ufm_first, . - __ufm_first\n");
enum { __UFM_SAVED = 9, __UFM_ARGUMENT = 3, __UFM_CALLEE = 2, __UFM_RETURN = 6 };
#else
__asm__(".text\n.globl __ufm_switch\n.hidden __ufm_switch\n.type __ufm_switch, %function\n"
        "__ufm_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    ret\n"
        ".size __ufm_switch, . - __ufm_switch\n"
        ".globl __ufm_first\n.hidden __ufm_first\n.type __ufm_first, %function\n"
        "__ufm_first:\n    .cfi_startproc\n    .cfi_undefined x30\n"
        "    mov x0, x19\n    blr x20\n    brk #0\n    .cfi_endproc\n.size __ufm_first, . - __ufm_first\n");
enum { __UFM_SAVED = 20, __UFM_ARGUMENT = 0, __UFM_CALLEE = 1, __UFM_RETURN = 11 };
#endif
static inline void __ufm_swap(__ufm_context *from, __ufm_context *to) { __ufm_switch(from, *to); }

/* The registers that the first switch to a fiber takes from its stack: it goes on in __ufm_work. */
static void __ufm_prepare(__ufm_fiber *fiber)
{
    void **saved = (void **)((char *)fiber->stack + __UFM_GUARD + __UFM_STACK) - __UFM_SAVED;
    saved[__UFM_ARGUMENT] = fiber, saved[__UFM_CALLEE] = (void *)__ufm_work, saved[__UFM_RETURN] = (void *)__ufm_first;
    fiber->context = saved;
}
#elif defined __UFM_FIBERS
static void __ufm_swap(__ufm_context *from, __ufm_context *to) { swapcontext(from, to); }

static void __ufm_start(unsigned low, unsigned high)
{
    __ufm_work((__ufm_fiber *)((uintptr_t)low | (uintptr_t)high << 16 << 16));
}

static void __ufm_prepare(__ufm_fiber *fiber)
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = (char *)fiber->stack + __UFM_GUARD;
    fiber->context.uc_stack.ss_size = __UFM_STACK;
    fiber->context.uc_link = &fiber->block->caller;
    uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->context, (void (*)())__ufm_start, 2, (unsigned)address, (unsigned)(address >> 16 >> 16));
}
#endif

#ifdef __UFM_FIBERS
static void __ufm_leave(__ufm_fiber *fiber) { __ufm_swap(&fiber->context, &fiber->block->caller); }

static void __ufm_enter(__ufm_fiber *fiber)
{
    fiber->block->running = fiber;
    __ufm_swap(&fiber->block->caller, &fiber->context);
}

static bool __ufm_make_fiber(__ufm_fiber *fiber, __ufm_block *block)
{
    fiber->stack = mmap(0, __UFM_STACK + __UFM_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED)
        return false;
    if (mprotect((char *)fiber->stack + __UFM_GUARD, __UFM_STACK, PROT_READ | PROT_WRITE)) {
        munmap(fiber->stack, __UFM_STACK + __UFM_GUARD);
        return false;
    }
    fiber->block = block;
    __ufm_prepare(fiber);
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
    fiber->block = block, fiber->mine = false;
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

static bool __ufm_alike(const __ufm_call *a, const __ufm_call *b)
{
    if (a->scope != b->scope || a->mask != b->mask || a->size != b->size || (a->name != b->name && strcmp(a->name, b->name)))
        return false;
    return a->scope == __UFM_LANES || a->line == b->line;
}

/* The lanes of a warp that wait for the same as one of them does. */
static unsigned __ufm_company(__ufm_block *block, unsigned warp, unsigned lane)
{
    const __ufm_call *call = block->at[32 * warp + lane]->call;
    unsigned group = 0;
    for (unsigned rest = block->waiting[warp]; rest; rest &= rest - 1) {
        unsigned other = (unsigned)__builtin_ctz(rest);
        group |= (unsigned)__ufm_alike(call, block->at[32 * warp + other]->call) << other;
    }
    return group;
}

static void __ufm_release(__ufm_block *block, unsigned warp, unsigned group)
{
    block->lanes.mask = group;
    block->waiting[warp] &= ~group;
    for (unsigned rest = group; rest; rest &= rest - 1, block->at_warp--) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        const __ufm_call *call = block->at[32 * warp + lane]->call;
        memcpy(block->lanes.value[lane], call->value, call->size);
    }
    for (unsigned rest = group; rest; rest &= rest - 1)
        __ufm_enter(block->at[32 * warp + __builtin_ctz(rest)]);
}

/* Lanes for whom all have come go on, until there are none; then those go on together that came to one line. */
static void __ufm_run_warp(__ufm_block *block, unsigned warp)
{
    for (;;) {
        unsigned group = 0, active = 0;
        for (unsigned rest = block->waiting[warp]; rest && !group;) {
            const unsigned lane = (unsigned)__builtin_ctz(rest), all = __ufm_company(block, warp, lane);
            const __ufm_call *call = block->at[32 * warp + lane]->call;
            if (call->scope == __UFM_ACTIVE)
                active = active ? active : all;
            else if (all == (call->mask & block->live[warp]))
                group = all;
            rest &= ~all;
        }
        if (!(group = group ? group : active))
            return;
        __ufm_release(block, warp, group);
    }
}

/* Says who waits for whom, where nobody can go on. */
static void __ufm_stuck(__ufm_block *block)
{
    __ufm_fiber *first = 0, *other = 0;
    for (unsigned k = 0; k < block->made; k++)
        if (block->fibers[k].call && (!first || (block->at_warp && first->call->scope >= __UFM_BLOCK)))
            first = &block->fibers[k];
    const __ufm_call *call = first->call;
    const unsigned warp = first->number / 32;
    const bool lanes = call->scope == __UFM_LANES;
    unsigned absent = lanes ? call->mask & block->live[warp] & ~__ufm_company(block, warp, first->number % 32) : 0;
    for (unsigned k = 0; k < block->made && !other; k++) {
        __ufm_fiber *fiber = &block->fibers[k];
        if (fiber->call && (lanes ? fiber->number / 32 == warp && (absent >> fiber->number % 32 & 1)
                                  : !__ufm_alike(fiber->call, call)))
            other = fiber;
    }
    char text[300], why[100] = "is not where all threads wait that have not returned";
    if (lanes)
        snprintf(why, sizeof why, "with the mask %#010x waits for lanes that do not come", call->mask);
    const uint3 t = other->thread;
    snprintf(text, sizeof text, "%s:%u: %s %s: thread (%u, %u, %u) is at %s on line %u.", call->file, call->line,
             call->name, why, t.x, t.y, t.z, other->call->name, other->call->line);
    threadIdx = first->thread;
    __ufm_block_failed(block, text);
}

/* Everybody waits: all go on, if it is for this.  False: they stay. */
static bool __ufm_pass(__ufm_block *block, __ufm_scope scope)
{
    if (!block->failed && (block->at_warp || block->mixed))
        __ufm_stuck(block);
    if (block->failed)
        memset(block->waiting, 0, sizeof block->waiting), block->at_warp = 0;
    else if (!block->at_barrier || block->scope != scope)
        return false;
    block->at_barrier = 0, block->mixed = false;
    bool any = false;
    for (unsigned k = 0; k < block->made; k++)
        if (block->fibers[k].call)
            __ufm_enter(&block->fibers[k]), any = true;
    return any;
}

/* True: its threads wait for the grid. */
static bool __ufm_go_on(__ufm_block *block)
{
    do
        for (unsigned warp = 0; block->at_warp && warp < (block->count + 31) / 32 && !block->failed; warp++)
            __ufm_run_warp(block, warp);
    while (__ufm_pass(block, __UFM_BLOCK));
    return block->at_barrier;
}

static bool __ufm_run_block(__ufm_block *block)
{
    block->next = 0;
    for (unsigned k = 0; k < block->count; k += 32)
        block->live[k / 32] = block->count - k < 32 ? (1u << block->count % 32) - 1 : ~0u;
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
    return __ufm_go_on(block);
}

/* The limits of every GPU since 2012; a grid's first side may have 2^31 - 1. */
static bool __ufm_launchable(const unsigned grid[3], const unsigned block[3], size_t shared, unsigned bounds)
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
    else if (threads > bounds)
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT,
                 "A block of %llu threads is too large: the kernel's __launch_bounds__ say %u.", threads, bounds);
    else if (shared > 49152)
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT,
                 "%zu bytes of dynamic shared memory are too many: a block has at most 49152.", shared);
    return !__ufm_launch_text[0];
}

#if defined __UFM_CUDA_CHECKED__ && defined __UFM_FIBERS
#include "cuda_checked.h"
#endif

/* The __shared__ objects that threads have come to, where blocks may wait for the grid. */
static struct __ufm_shared_objects {
    struct {
        void *at;
        size_t size;
    } object[64];
    unsigned count;
} __ufm_shared_objects;

static inline void __ufm_shared_object(void *at, size_t size)
{
    struct __ufm_shared_objects *all = &__ufm_shared_objects;
    for (unsigned k = 0; k < all->count; k++)
        if (all->object[k].at == at)
            return;
    if (all->count == sizeof all->object / sizeof *all->object)
        __ufm_fault("a cell with grid.sync() has at most 64 __shared__ objects here.", "", 0);
    all->object[all->count].at = at, all->object[all->count++].size = size;
}

static bool __ufm_keep_shared(__ufm_block *block)
{
    const struct __ufm_shared_objects *all = &__ufm_shared_objects;
    size_t size = 1;
    for (unsigned k = 0; k < all->count; k++)
        size += all->object[k].size;
    free(block->kept);
    block->kept = (char *)malloc(size), block->objects = block->kept ? all->count : 0;
    char *at = block->kept;
    for (unsigned k = 0; k < block->objects; at += all->object[k++].size)
        memcpy(at, all->object[k].at, all->object[k].size);
    return at;
}

static void __ufm_restore_shared(__ufm_block *block)
{
    const struct __ufm_shared_objects *all = &__ufm_shared_objects;
    const char *at = block->kept;
    for (unsigned k = 0; k < block->objects; at += all->object[k++].size)
        memcpy(all->object[k].at, at, all->object[k].size);
}

static __ufm_block *__ufm_another_block(const __ufm_block *like)
{
    __ufm_block *block = (__ufm_block *)calloc(1, sizeof *block);
    __ufm_fiber *fibers = (__ufm_fiber *)calloc(like->count, sizeof *fibers);
    if (!block || !fibers) {
        free(block), free(fibers);
        return 0;
    }
    block->call = like->call, block->kernel = like->kernel, block->arguments = like->arguments;
    block->count = like->count, block->text = like->text, block->threads = like->threads, block->blocks = like->blocks;
    block->fibers = fibers, block->shared = like->shared;
    __ufm_begin(block);
    return block;
}

/* More blocks with threads that wait are refused before the system's maps of memory are full. */
enum { __UFM_MOST_WAITING = 16384 };

/* Blocks one after the other; those that wait for the grid go on when all have come. */
static void __ufm_run_grid(void *start)
{
    __ufm_block *const first = (__ufm_block *)start, *block = first;
    const dim3 blocks = block->blocks;
    unsigned waiting = 0, ended = 0;
    bool failed = false;
    for (unsigned z = 0; z < blocks.z && !failed; z++)
        for (unsigned y = 0; y < blocks.y && !failed; y++)
            for (unsigned x = 0; x < blocks.x && !failed; x++) {
                blockIdx = block->index = {x, y, z};
                block->waits = __ufm_run_block(block);
                if (block->waits) {
                    waiting++;
                    __ufm_block *next = 0;
                    if (waiting * block->count > __UFM_MOST_WAITING)
                        __ufm_block_failed(block, "at most 16384 threads can wait for the grid here.");
                    else if (!__ufm_keep_shared(block) || !(next = __ufm_another_block(block)))
                        __ufm_block_failed(block, "there is no memory for more blocks that wait for the grid.");
                    failed = block->failed;
                    block->next_block = next;
                    __ufm_running_block = block = next ? next : block;
                } else
                    ended++, failed = block->failed;
            }
    while (waiting) {
        bool alone = ended && !failed;
        waiting = 0;
        for (block = first; block; block = block->next_block) {
            if (!block->waits)
                continue;
            __ufm_running_block = block, blockIdx = block->index, threadIdx = {0, 0, 0};
            if (alone)
                __ufm_block_failed(block, "grid.sync() waits for another block, which has ended without it.");
            alone = false;
            failed = block->failed |= failed;
            __ufm_restore_shared(block);
            __ufm_pass(block, __UFM_GRID);
            block->waits = __ufm_go_on(block);
            if (block->waits && !__ufm_keep_shared(block))
                __ufm_block_failed(block, "there is no memory for the shared memory of blocks that wait.");
            waiting += block->waits, ended += !block->waits;
            failed |= block->failed;
        }
    }
}

#ifdef __ELF__
extern "C" int __ufm_contained(void (*)(void *), void *, char *, size_t, const char *(*)(void)) __attribute__((__weak__));
/* Where the stack of the running thread begins, behind its guard page. */
static const char *__ufm_stack_bottom(void)
{
#ifdef __UFM_FIBERS
    if (__ufm_running_block && __ufm_running_block->running)
        return (const char *)__ufm_running_block->running->stack + __UFM_GUARD;
#endif
    return 0;
}
#endif

static void __ufm_launch_any(void (*call)(const void *, void **), const void *kernel, const unsigned grid[3],
                             const unsigned block[3], size_t shared, void **arguments, unsigned bounds)
{
    static char busy; /* static __shared__ objects are one set */
    __ufm_launch_text[0] = 0;
    if (!__ufm_launchable(grid, block, shared, bounds))
        return;
    __ufm_block like = {};
    like.call = call, like.kernel = kernel, like.arguments = arguments;
    like.threads = {block[0], block[1], block[2]}, like.blocks = {grid[0], grid[1], grid[2]};
    like.text = __ufm_launch_text, like.shared = shared;
    like.count = block[0] * block[1] * block[2];
    __ufm_block *first = __ufm_another_block(&like);
    if (!first) {
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT, "There is no memory for the threads of a block.");
        return;
    }
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        sched_yield();
    uint3 thread = threadIdx, index = blockIdx;
    dim3 threads = blockDim, blocks = gridDim;
    blockDim = like.threads, gridDim = like.blocks;
    __ufm_running_block = first, __ufm_wait = __ufm_wait_here;
#if defined __UFM_CUDA_CHECKED__ && defined __UFM_FIBERS
    __ufm_find_own();
#endif
    __ufm_shared_objects.count = 0;
#ifdef __UFM_DYNAMIC_SHARED
    if (shared)
        __ufm_shared_object(__ufm_dynamic_shared, shared);
    /* What stands behind tells whether the kernel has written more than it asked for. */
    char *rest = __ufm_dynamic_shared + shared, *end = __ufm_dynamic_shared + sizeof __ufm_dynamic_shared;
    __builtin_memset(rest, 0x5a, end - rest);
#endif
#ifdef __ELF__
    char text[200];
    if (!__ufm_contained)
        __ufm_run_grid(first);
    else if (__ufm_contained(__ufm_run_grid, first, text, sizeof text, __ufm_stack_bottom))
        __ufm_block_failed(__ufm_running_block, text);
#else
    __ufm_run_grid(first);
#endif
#ifdef __UFM_DYNAMIC_SHARED
    while (rest < end && *rest == 0x5a)
        rest++;
    if (rest < end && !__ufm_launch_text[0])
        snprintf(__ufm_launch_text, __UFM_LAUNCH_TEXT,
                 "it wrote byte %zu of its dynamic shared memory, and has %zu: kernel[grid, block, bytes] asks for them.",
                 (size_t)(rest - __ufm_dynamic_shared), shared);
#endif
    for (__ufm_block *next; first; first = next) {
        for (unsigned k = 0; k < first->made; k++)
            __ufm_end_fiber(&first->fibers[k]);
        __ufm_end(first);
        next = first->next_block;
        free(first->fibers), free(first->kept), free(first);
    }
    __ufm_running_block = 0, __ufm_wait = 0;
    threadIdx = thread, blockIdx = index, blockDim = threads, gridDim = blocks;
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

template <unsigned...> struct __ufm_places {};
template <unsigned N, unsigned... K> struct __ufm_make_places : __ufm_make_places<N - 1, N - 1, K...> {};
template <unsigned... K> struct __ufm_make_places<0, K...> { typedef __ufm_places<K...> type; };
template <class T> struct __ufm_argument {
    __UFM_UNCHECKED static T &at(void *where) { return *(T *)where; }
};
/* What a pointer goes to, as the ABI has references. */
template <class T> struct __ufm_argument<T &> {
    __UFM_UNCHECKED static T &at(void *where) { return **(T **)where; }
};
template <class... A> struct __ufm_kernel_call {
    template <unsigned... K> __UFM_UNCHECKED static void spread(const void *kernel, void **arguments, __ufm_places<K...>)
    {
        (void)arguments;
        ((void (*)(A...))kernel)(__ufm_argument<A>::at(arguments[K])...);
    }
    __UFM_UNCHECKED static void of(const void *kernel, void **arguments)
    {
        spread(kernel, arguments, typename __ufm_make_places<sizeof...(A)>::type());
    }
};

/* Runs a kernel; arguments[i] points at the i-th argument.  What failed is what __ufm_launch_error() gives. */
template <class... A>
static inline void __ufm_launch(void (*kernel)(A...), const unsigned grid[3], const unsigned block[3], size_t shared,
                                void **arguments, unsigned bounds = 1024)
{
    __ufm_launch_any(__ufm_kernel_call<A...>::of, (const void *)kernel, grid, block, shared, arguments, bounds);
}

extern "C" {
/* Why this thread's last launch failed, or NULL. */
__UFM_SHOWN const char *__ufm_launch_error(void) { return __ufm_launch_text[0] ? __ufm_launch_text : 0; }
}

#endif
