/* Launches of kernels: blocks in their order, on several threads of the system; the threads of a block in turns.
 *
 * A thread runs until it ends or waits.  Threads that end without having waited share one stack, one call after the
 * other, so that a kernel without barriers is a plain loop; each that waits keeps its stack, and the next ones go on
 * another.  When all have waited or ended, those go on for whom all have come that they wait for: lanes first, then
 * the block.  A block that waits for other blocks keeps its thread of the system, whose thread-local variables the
 * `__shared__` objects are, and another one takes the next block.
 * Results do not depend on how many there are: a block meets its first atomic on memory that others see, prints or waits
 * for other blocks only after every block before it has ended or waits.
 * Where nobody can go on, a GPU would hang or do as it likes: then the launch fails, and says who waits where.
 */
#ifndef __UFM_CUDA_LAUNCH_H
#define __UFM_CUDA_LAUNCH_H
#pragma GCC system_header

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#ifdef __UFM_FIBERS
#include <link.h>
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
enum { __UFM_STACK = 256 << 10, __UFM_GUARD = 64 << 10, __UFM_STACK_OF_LOOPS = 64 << 20 };

#ifdef __UFM_CUDA_CHECKED__
#define __UFM_UNCHECKED __attribute__((__no_sanitize__("kernel-address"), noinline))
#else
#define __UFM_UNCHECKED
#endif
#if defined __UFM_FIBERS && !defined __UFM_CUDA_CHECKED__ && !defined __UFM_CUDA_NO_LOOPS__
#define __UFM_OFFERS_BLOCKS 1
#else
#define __UFM_OFFERS_BLOCKS 0
#endif

static size_t __ufm_most_shared = __UFM_MOST_SHARED;

struct __ufm_quit {}; /* unwinds a thread whose block has failed */

struct __ufm_block;
/* One stack and the thread on it. */
struct __ufm_fiber {
    __ufm_block *block;
    const __ufm_call *call; /* what it waits for, or NULL */
    unsigned number;        /* of its thread in the block */
    uint3 thread;
    __ufm_pace pace;
#ifdef __UFM_FIBERS
    __ufm_context context;
    void *stack;
#else
    pthread_t context;
    pthread_cond_t turn;
    bool mine;
#endif
};

struct __ufm_grid;
/* A thread of the system, and the block that it is at. */
struct __ufm_block {
    __ufm_grid *grid;
    unsigned long long number; /* of the block, __UFM_NONE: it is at none, or at one that waits for others */
    unsigned next, count;      /* threads that have not started yet: next ... count */
    bool failed, over, progressed;
    bool apart; /* it had a fault as loops, and runs again by fibers, which know the thread */
    char text[400]; /* why */
    size_t stray[2]; /* of a fault: the place of the code, and the address */
    __ufm_fiber *fibers, *running;
    unsigned made;
    uint3 index;
    dim3 threads;
    /* By warp, a bit for each lane: those that have not ended; those that wait for others of the warp, and where. */
    unsigned live[32], waiting[32], at_warp;
    /* How many wait for more than a warp, and the last one's place; whether another waits elsewhere. */
    unsigned at_barrier, line;
    __ufm_scope scope;
    bool mixed;
    unsigned epoch, meeting; /* how often the block, and lanes of it, have met */
    unsigned spinning; /* how many look at memory again and again */
    __ufm_fiber *at[1024];
    /* Who goes on when the running one waits. */
    __ufm_fiber *list[1024];
    unsigned listed, entered;
    __ufm_lanes lanes;
    pthread_t thread;
    __ufm_block *next_block;
    unsigned long long held; /* the number of the block that waits for others, else __UFM_NONE */
    void *inside;            /* see __ufm_inside() */
    bool gone;               /* has left its grid */
    long long since, waited; /* when it joined; how long it has waited for its turn */
    char *kept; /* its shared memory, while it waits for other blocks, of so many objects */
    unsigned objects;
#ifdef __UFM_FIBERS
    __ufm_context caller;
    void *jump[5]; /* out of its loops, at a fault in a program */
#else
    pthread_mutex_t lock;
    pthread_cond_t back;
    bool mine;
#endif
};
enum { __UFM_TEXT_SIZE = sizeof(((__ufm_block *)0)->text) };
static const unsigned long long __UFM_NONE = ~0ull;

/* A launch. */
struct __ufm_grid {
    void (*call)(const void *kernel, void **arguments);
    const void *kernel;
    void **arguments;
    dim3 threads, blocks;
    unsigned count;
    size_t shared;
    pthread_mutex_t lock;
    pthread_cond_t change;
    __ufm_block *crew; /* the last one is the caller */
    unsigned long long next, total, ended;
    unsigned long long failed; /* the first block that has, else __UFM_NONE */
    char text[__UFM_TEXT_SIZE];
    unsigned running, present, most; /* how many are at a block; have not gone; may be at one */
    unsigned waiting;                /* blocks that wait for others */
    unsigned long long looks;        /* in vain, since somebody has done something */
    bool passes, stop;
};

static thread_local __ufm_block *__ufm_running_block;
/* Whether the first thread's call of a kernel may run its block as loops (cuda_loops.py), and whether it does. */
static thread_local struct {
    bool offered, taken;
} __ufm_whole;
/* Whether the cell's own code is running, so that its accesses are looked at (cuda_checked.h). */
#ifdef __UFM_CUDA_CHECKED__
static thread_local bool __ufm_looking;
static void __ufm_settle_thread();
static inline void __ufm_set_looking(bool on)
{
    const bool ends = __ufm_looking && !on;
    __ufm_looking = on;
    if (ends)
        __ufm_settle_thread();
}
#define __UFM_LOOKING(on) __ufm_set_looking(on)
static void __ufm_have_met(__ufm_block *block, unsigned warp, unsigned group);
#else
#define __UFM_LOOKING(on) ((void)0)
static void __ufm_have_met(__ufm_block *, unsigned, unsigned) {}
#endif
static thread_local char __ufm_launch_text[__UFM_TEXT_SIZE];

static bool __ufm_within(size_t address, size_t size, const void *low, size_t length)
{
    return address >= (size_t)low && address + size <= (size_t)low + length;
}

/* Where this thread has this object's thread-local variables, a block's shared memory among them. */
static thread_local struct {
    const void *low;
    size_t length;
} __ufm_own;
#ifdef __UFM_FIBERS
static int __ufm_find_in(struct dl_phdr_info *object, size_t, void *)
{
    bool ours = false;
    for (unsigned k = 0; k < object->dlpi_phnum; k++) {
        const ElfW(Phdr) &part = object->dlpi_phdr[k];
        ours |= part.p_type == PT_LOAD &&
                __ufm_within((size_t)__ufm_find_in, 1, (const void *)(object->dlpi_addr + part.p_vaddr), part.p_memsz);
    }
    for (unsigned k = 0; ours && k < object->dlpi_phnum; k++)
        if (object->dlpi_phdr[k].p_type == PT_TLS)
            __ufm_own = {object->dlpi_tls_data, (size_t)object->dlpi_phdr[k].p_memsz};
    return ours;
}

/* Before a launch: the loader's lock must not be taken where Stop may end the thread's work. */
static void __ufm_find_own()
{
    if (!__ufm_own.low)
        dl_iterate_phdr(__ufm_find_in, 0);
}
#else
static void __ufm_find_own() {}
#endif
static bool __ufm_is_shared(const void *at) { return at && __ufm_within((size_t)at, 1, __ufm_own.low, __ufm_own.length); }

/* The first failure is the one that is told. */
static void __ufm_block_failed(__ufm_block *block, const char *text)
{
    uint3 t = threadIdx, b = block->index;
    if (!block->failed)
        snprintf(block->text, sizeof block->text, "Thread (%u, %u, %u) of block (%u, %u, %u): %s", t.x, t.y, t.z, b.x,
                 b.y, b.z, text);
    block->failed = true;
}

static void __ufm_run_thread(__ufm_block *block, unsigned thread)
{
    threadIdx = {thread % block->threads.x, thread / block->threads.x % block->threads.y,
                 thread / block->threads.x / block->threads.y};
    block->running->number = thread;
    __ufm_now = {0, 0, __ufm_now.early, false};
    void (*const call)(const void *, void **) = block->grid->call;
    const void *kernel = block->grid->kernel;
    void **arguments = block->grid->arguments;
    __ufm_whole = {__UFM_OFFERS_BLOCKS && !thread && !block->apart, false};
    __UFM_LOOKING(true);
    try {
        call(kernel, arguments);
        __UFM_LOOKING(false);
    } catch (const __ufm_quit &) {
    } catch (const std::exception &e) {
        __ufm_block_failed(block, e.what());
    } catch (...) {
        __ufm_block_failed(block, "it threw something that is not a std::exception.");
    }
    if (__ufm_whole.taken) {
        __ufm_whole.taken = false;
        block->next = block->count;
        memset(block->live, 0, sizeof block->live);
    }
    block->live[thread / 32] &= ~(1u << thread % 32);
    block->progressed = true;
}

/* Leaves the fiber for its block's caller; comes back when it is picked. */
static void __ufm_leave(__ufm_fiber *fiber);
/* The same, for another fiber: half as many switches. */
static void __ufm_hand_over(__ufm_fiber *fiber, __ufm_fiber *to);
static bool __ufm_make_fiber(__ufm_fiber *fiber, __ufm_block *block);

/* Who goes on when `fiber` cannot: the one for the next thread, or the next of the list.  NULL: the caller decides. */
static __ufm_fiber *__ufm_next_fiber(__ufm_block *block, const __ufm_fiber *fiber)
{
    if (block->failed)
        return 0;
    if (block->next < block->count) {
        const unsigned k = (unsigned)(fiber - block->fibers) + 1;
        if (k < block->made)
            return &block->fibers[k];
        if (!__ufm_make_fiber(&block->fibers[k], block)) {
            __ufm_block_failed(block, "there is no memory for the stacks of more threads. Launch smaller blocks.");
            return 0;
        }
        block->made++;
        return &block->fibers[k];
    }
    return block->entered < block->listed ? block->list[block->entered++] : 0;
}
static void __ufm_go_elsewhere(__ufm_block *block, __ufm_fiber *fiber)
{
    if (__ufm_fiber *next = __ufm_next_fiber(block, fiber))
        __ufm_hand_over(fiber, next);
    else
        __ufm_leave(fiber);
}

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
    if (__builtin_expect(__ufm_whole.taken, false)) {
        if (call.scope != __UFM_LOOK)
            __ufm_fault("a wait that its loops do not know.", "", 0);
        __ufm_now.tired = 0;
        return &block->lanes;
    }
    __UFM_LOOKING(false);
    if (call.scope == __UFM_LOOK) {
        block->spinning++;
        /* Looks in vain count as long as nobody does anything: it is this block's turn, so that nobody else counts. */
        const bool vain = __ufm_now.idle > __UFM_PATIENCE && !block->progressed;
        block->grid->looks = vain ? block->grid->looks + 1 : 0, block->progressed = false;
    } else if (call.scope >= __UFM_BLOCK) {
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
    fiber->pace = __ufm_now;
    __ufm_go_elsewhere(block, fiber);
    *thread = fiber->thread;
    __ufm_now.tired = fiber->pace.tired, __ufm_now.idle = fiber->pace.idle;
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
        __ufm_go_elsewhere(block, fiber);
        if (block->over)
            return;
    }
}

#ifdef __UFM_FIBERS
/* The first one may run a whole block, whose variables are arrays. */
static size_t __ufm_stack_size(const __ufm_fiber *fiber)
{
    return __UFM_OFFERS_BLOCKS && fiber == fiber->block->fibers ? __UFM_STACK_OF_LOOPS : __UFM_STACK;
}
#endif
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
    /* Tops of stacks at one place of their pages would share a few lines of the processor's caches. */
    const size_t shift = (size_t)(fiber - fiber->block->fibers) * 320 % 16384;
    void **saved = (void **)((char *)fiber->stack + __UFM_GUARD + __ufm_stack_size(fiber) - shift) - __UFM_SAVED;
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
    fiber->context.uc_stack.ss_size = __ufm_stack_size(fiber);
    fiber->context.uc_link = &fiber->block->caller;
    uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->context, (void (*)())__ufm_start, 2, (unsigned)address, (unsigned)(address >> 16 >> 16));
}
#endif

#ifdef __UFM_FIBERS
static void __ufm_leave(__ufm_fiber *fiber) { __ufm_swap(&fiber->context, &fiber->block->caller); }
static void __ufm_hand_over(__ufm_fiber *fiber, __ufm_fiber *to)
{
    fiber->block->running = to;
    __ufm_swap(&fiber->context, &to->context);
}

static void __ufm_enter(__ufm_fiber *fiber)
{
    fiber->block->running = fiber;
    __ufm_swap(&fiber->block->caller, &fiber->context);
}

static bool __ufm_make_fiber(__ufm_fiber *fiber, __ufm_block *block)
{
    fiber->block = block;
    const size_t size = __ufm_stack_size(fiber);
    fiber->stack = mmap(0, size + __UFM_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED)
        return false;
    if (mprotect((char *)fiber->stack + __UFM_GUARD, size, PROT_READ | PROT_WRITE)) {
        munmap(fiber->stack, size + __UFM_GUARD);
        return false;
    }
    __ufm_prepare(fiber);
    return true;
}

static void __ufm_end_fiber(__ufm_fiber *fiber) { munmap(fiber->stack, __ufm_stack_size(fiber) + __UFM_GUARD); }
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

static void __ufm_hand_over(__ufm_fiber *fiber, __ufm_fiber *to)
{
    __ufm_block *block = fiber->block;
    fiber->mine = false, to->mine = true, block->running = to;
    pthread_cond_signal(&to->turn);
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
    blockIdx = block->index, blockDim = block->threads, gridDim = block->grid->blocks;
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

static void __ufm_enter_listed(__ufm_block *block)
{
    while (block->entered < block->listed && !block->failed)
        __ufm_enter(block->list[block->entered++]);
    block->entered = block->listed = 0;
}

static void __ufm_release(__ufm_block *block, unsigned warp, unsigned group)
{
    block->lanes.mask = group;
    block->waiting[warp] &= ~group;
    __ufm_have_met(block, warp, group);
    for (unsigned rest = group; rest; rest &= rest - 1, block->at_warp--) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        __ufm_fiber *const fiber = block->at[32 * warp + lane];
        const __ufm_call *call = fiber->call;
        if (call->size == 4)
            memcpy(block->lanes.value[lane], call->value, 4);
        else
            memcpy(block->lanes.value[lane], call->value, call->size);
        block->list[block->listed++] = fiber;
    }
    __ufm_enter_listed(block);
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
    if (!block->failed && block->spinning)
        return false;
    if (!block->failed && (block->at_warp || block->mixed))
        __ufm_stuck(block);
    if (block->failed)
        memset(block->waiting, 0, sizeof block->waiting), block->at_warp = block->spinning = 0;
    else if (!block->at_barrier || block->scope != scope)
        return false;
    block->at_barrier = 0, block->mixed = false, block->progressed = true, block->epoch++;
    if (block->failed) {
        bool any = false;
        for (unsigned k = 0; k < block->made; k++)
            if (block->fibers[k].call)
                __ufm_enter(&block->fibers[k]), any = true;
        return any;
    }
    for (unsigned k = 0; k < block->made; k++)
        if (block->fibers[k].call)
            block->list[block->listed++] = &block->fibers[k];
    __ufm_enter_listed(block);
    return true;
}

/* Those who look at memory again and again look once more. */
static void __ufm_look_again(__ufm_block *block)
{
    block->spinning = 0;
    for (unsigned k = 0; k < block->made; k++)
        if (block->fibers[k].call && block->fibers[k].call->scope == __UFM_LOOK)
            block->list[block->listed++] = &block->fibers[k];
    __ufm_enter_listed(block);
}

/* True: its threads wait for other blocks. */
static bool __ufm_go_on(__ufm_block *block)
{
    for (unsigned looks = 0;; looks++) {
        do
            for (unsigned warp = 0; block->at_warp && warp < (block->count + 31) / 32 && !block->failed; warp++)
                __ufm_run_warp(block, warp);
        while (__ufm_pass(block, __UFM_BLOCK) && (looks = 0, true));
        if (!block->spinning || looks >= __UFM_PATIENCE)
            return block->spinning || block->at_barrier;
        __ufm_look_again(block);
    }
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
        snprintf(__ufm_launch_text, __UFM_TEXT_SIZE, "A grid of (%u, %u, %u) blocks of (%u, %u, %u) threads %s.",
                 grid[0], grid[1], grid[2], block[0], block[1], block[2], fault);
    else if (threads > bounds)
        snprintf(__ufm_launch_text, __UFM_TEXT_SIZE,
                 "A block of %llu threads is too large: the kernel's __launch_bounds__ say %u.", threads, bounds);
    else if (shared > __ufm_most_shared)
        snprintf(__ufm_launch_text, __UFM_TEXT_SIZE,
                 "%zu bytes of dynamic shared memory are too many: a block has at most %zu.", shared, __ufm_most_shared);
    return !__ufm_launch_text[0];
}

extern "C" {
/* For whoever shows how far a launch is: the block that began last, and how many there are. */
__UFM_SHOWN volatile unsigned long long __ufm_progress[2] = {};
}
#ifdef __ELF__
extern "C" {
extern const char __ehdr_start[] __attribute__((__visibility__("hidden")));
struct __ufm_stray {
    size_t place, address, size; /* of the code in this object, and what it touched */
    size_t other;                /* place of the other access of a race */
};
/* The last launch's; size 0: there was none. */
__UFM_SHOWN struct __ufm_stray __ufm_stray = {};
/* Fills in the place in the code and the address of a fault of memory. */
int __ufm_contained(void (*)(void *), void *, char *, size_t, const char *(*)(void), size_t *) __attribute__((__weak__));
/* See driver.c: whether the user wants out; what __ufm_evict() needs; has another thread's contained call end. */
int __ufm_asked_to_stop(int) __attribute__((__weak__));
void *__ufm_inside(void) __attribute__((__weak__));
void __ufm_evict(pthread_t, void *) __attribute__((__weak__));
}
/* Where the stack of the running thread begins, behind its guard page. */
static const char *__ufm_stack_bottom(void)
{
#ifdef __UFM_FIBERS
    if (__ufm_running_block && __ufm_running_block->running)
        return (const char *)__ufm_running_block->running->stack + __UFM_GUARD;
#endif
    return 0;
}
#define __UFM_CONTAINED (__ufm_contained && __ufm_asked_to_stop && __ufm_inside && __ufm_evict)
#else
#define __UFM_CONTAINED 0
static int __ufm_asked_to_stop(int) { return 0; }
static void *__ufm_inside(void) { return 0; }
static void __ufm_evict(pthread_t, void *) {}
static int __ufm_contained(void (*)(void *), void *, char *, size_t, const char *(*)(void), size_t *) { return 0; }
static const char *__ufm_stack_bottom(void) { return 0; }
#endif

#if defined __UFM_CUDA_CHECKED__ && defined __UFM_FIBERS
#include "cuda_checked.h"
#else
static void __ufm_forget_accesses() {}
static void __ufm_report_unwritten(__ufm_block *) {}
#endif

static long long __ufm_time()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Whether every block before this one has ended, or waits for others. */
static bool __ufm_is_its_turn(const __ufm_block *block)
{
    for (const __ufm_block *one = __atomic_load_n(&block->grid->crew, __ATOMIC_ACQUIRE); one; one = one->next_block)
        if (__atomic_load_n(&one->number, __ATOMIC_ACQUIRE) < block->number)
            return false;
    return true;
}
/* Without a lock: Stop may end the thread's work in here. */
static void __ufm_wait_for_turn(__ufm_block *block)
{
    if (__ufm_is_its_turn(block))
        return;
    const long long begun = __ufm_time();
    for (unsigned k = 0; !__ufm_is_its_turn(block) && !__atomic_load_n(&block->grid->stop, __ATOMIC_RELAXED); k++) {
        const struct timespec some = {0, 20000};
        if (k < 1000)
            sched_yield();
        else
            nanosleep(&some, 0);
    }
    block->waited += __ufm_time() - begun;
}
#ifdef __UFM_OWN_SHARED
#define __ufm_shared_object(at, size) ((void)0)
static void __ufm_keep_shared(__ufm_block *) {}
static void __ufm_restore_shared(__ufm_block *) {}
#else
/* The __shared__ objects that threads have come to, where blocks may wait for others. */
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
        __ufm_fault("a cell whose blocks may wait for each other has at most 64 __shared__ objects here.", "", 0);
    all->object[all->count].at = at, all->object[all->count++].size = size;
}

static void __ufm_keep_shared(__ufm_block *block)
{
    const struct __ufm_shared_objects *all = &__ufm_shared_objects;
    size_t size = 1;
    for (unsigned k = 0; k < all->count; k++)
        size += all->object[k].size;
    free(block->kept);
    block->kept = (char *)malloc(size), block->objects = block->kept ? all->count : 0;
    char *at = block->kept;
    if (!at)
        __ufm_block_failed(block, "there is no memory for the shared memory of blocks that wait.");
    for (unsigned k = 0; k < block->objects; at += all->object[k++].size)
        memcpy(at, all->object[k].at, all->object[k].size);
}

static void __ufm_restore_shared(__ufm_block *block)
{
    __ufm_wait_for_turn(block);
    const struct __ufm_shared_objects *all = &__ufm_shared_objects;
    const char *at = block->kept;
    for (unsigned k = 0; k < block->objects; at += all->object[k++].size)
        memcpy(all->object[k].at, at, all->object[k].size);
}
#endif

static void __ufm_take_turn(const void *at)
{
    if (!__ufm_wait || __ufm_is_shared(at))
        return;
    __UFM_LOOKING(false);
    __ufm_wait_for_turn(__ufm_running_block);
    __ufm_now.early = false;
    __UFM_LOOKING(true);
}

static void __ufm_begin_block(void *start)
{
    __ufm_block *block = (__ufm_block *)start;
    block->next = 0, block->epoch++;
    for (unsigned k = 0; k < block->count; k += 32)
        block->live[k / 32] = block->count - k < 32 ? (1u << block->count % 32) - 1 : ~0u;
    if (block->made || (__ufm_make_fiber(&block->fibers[0], block) && ++block->made))
        __ufm_enter(&block->fibers[0]);
    else
        __ufm_block_failed(block, "there is no memory for the stacks of threads.");
    block->held = __ufm_go_on(block) ? block->number : __UFM_NONE;
    __ufm_report_unwritten(block);
}

static void __ufm_continue_block(void *start)
{
    __ufm_block *block = (__ufm_block *)start;
    __ufm_restore_shared(block);
    if (block->failed || block->grid->passes)
        __ufm_pass(block, __UFM_GRID);
    else if (block->spinning)
        __ufm_look_again(block);
    block->held = __ufm_go_on(block) ? block->number : __UFM_NONE;
    __ufm_report_unwritten(block);
}

/* More blocks with threads that wait are refused before the system's maps of memory are full. */
enum { __UFM_MOST_WAITING = 16384 };
/* Looks in vain, of all threads, after which nobody is thought to end them. */
static const unsigned long long __UFM_MOST_LOOKS = 1ull << 23;

/* Says who waits for what nobody does. */
static void __ufm_in_vain(__ufm_block *block)
{
    const __ufm_fiber *first = 0, *other = 0;
    for (unsigned k = 0; k < block->made && !first; k++)
        if (block->fibers[k].call && block->fibers[k].call->scope == __UFM_LOOK)
            first = &block->fibers[k];
    /* Another one, that waits elsewhere if there is such. */
    for (const __ufm_block *one = block->grid->crew; one; one = one->next_block)
        for (unsigned k = 0; one->held != __UFM_NONE && k < one->made; k++) {
            const __ufm_fiber *fiber = &one->fibers[k];
            if (fiber->call && fiber != first && (!other || other->call->line == first->call->line))
                other = fiber;
        }
    char text[300], more[160] = "no other thread is left that could";
    if (other) {
        const uint3 t = other->thread, b = other->block->index;
        snprintf(more, sizeof more, "thread (%u, %u, %u) of block (%u, %u, %u) waits at %s on line %u", t.x, t.y, t.z, b.x, b.y,
                 b.z, other->call->name, other->call->line);
    }
    snprintf(text, sizeof text, "%s:%u: %s reads the same again and again, and nobody changes it: %s.", first->call->file,
             first->call->line, first->call->name, more);
    threadIdx = first->thread;
    __ufm_block_failed(block, text);
}

static void __ufm_hire(__ufm_grid *grid);

/* With the lock: the first block that failed is the one that is told. */
static void __ufm_tell(__ufm_grid *grid, const __ufm_block *block, unsigned long long number)
{
    grid->failed = number;
    memcpy(grid->text, block->text, sizeof grid->text);
#ifdef __ELF__
    if (block->stray[0])
        __ufm_stray = {block->stray[0] + 1 - (size_t)__ehdr_start, block->stray[1], 1, 0}; /* as behind a call */
#ifndef __UFM_CUDA_CHECKED__
    else
        __ufm_stray.size = 0;
#endif
#endif
}

/* With the lock: all blocks that are left wait for others, and look again. */
static void __ufm_begin_round(__ufm_grid *grid)
{
    __ufm_block *first = 0;
    bool look = false;
    for (__ufm_block *one = grid->crew; one; one = one->next_block)
        if (one->held != __UFM_NONE) {
            first = !first || one->held < first->held || (one->spinning && !first->spinning) ? one : first;
            look |= one->spinning != 0;
        }
    if (!first)
        return;
    const uint3 thread = threadIdx;
    threadIdx = {0, 0, 0};
    grid->passes = !look && !grid->ended;
    if (grid->failed == __UFM_NONE && !look && grid->ended)
        __ufm_block_failed(first, "grid.sync() waits for another block, which has ended without it.");
    else if (grid->failed == __UFM_NONE && look && grid->looks > __UFM_MOST_LOOKS)
        __ufm_in_vain(first);
    threadIdx = thread;
    if (first->failed)
        __ufm_tell(grid, first, first->held);
    for (__ufm_block *one = grid->crew; one; one = one->next_block)
        if (one->held != __UFM_NONE) {
            one->failed |= grid->failed != __UFM_NONE;
            __atomic_store_n(&one->number, one->held, __ATOMIC_RELEASE);
            one->held = __UFM_NONE;
            grid->running++;
        }
    grid->waiting = 0;
    pthread_cond_broadcast(&grid->change);
}

/* With the lock: nobody is at a block of this one's any more. */
static void __ufm_put_down(__ufm_block *block)
{
    __ufm_grid *grid = block->grid;
    __atomic_store_n(&block->number, __UFM_NONE, __ATOMIC_RELEASE);
    grid->running--;
    if (grid->next < grid->total && grid->failed == __UFM_NONE && !grid->stop && !grid->running)
        __ufm_hire(grid);
    if (!grid->running && !grid->stop)
        __ufm_begin_round(grid);
}

/* With the lock: until somebody changes something; the caller also looks for Stop. */
static void __ufm_wait_for_change(const __ufm_block *block)
{
    __ufm_grid *grid = block->grid;
    if (block->next_block) {
        pthread_cond_wait(&grid->change, &grid->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000, until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&grid->change, &grid->lock, &until);
    if (__UFM_CONTAINED && __ufm_asked_to_stop(0))
        __atomic_store_n(&grid->stop, true, __ATOMIC_RELAXED);
    if (!grid->stop)
        return;
    pthread_cond_broadcast(&grid->change);
    for (__ufm_block *one = grid->crew; __UFM_CONTAINED && one; one = one->next_block)
        if (!one->gone && one->number != __UFM_NONE && one != block)
            __ufm_evict(one->thread, one->inside);
}

/* Without the lock: a block begins or goes on.  False: it was left where it was, and its stacks are of no use. */
static bool __ufm_run(__ufm_block *block, void (*code)(void *))
{
    char text[200];
    blockIdx = block->index, __ufm_now.early = block->grid->present > 1;
    size_t where[2] = {0, 0};
    int end = 0;
    if (__UFM_CONTAINED)
        end = __ufm_contained(code, block, text, sizeof text, __ufm_stack_bottom, where);
#if __UFM_OFFERS_BLOCKS
    else if (__builtin_setjmp(block->jump))
        end = 1, snprintf(text, sizeof text, "a wrong address, or a division by 0");
#endif
    else
        code(block);
    if (!end)
        return true;
    __UFM_LOOKING(false);
    if (where[0] && !block->failed)
        block->stray[0] = where[0], block->stray[1] = where[1];
    __ufm_block_failed(block, text);
    const bool again __attribute__((__unused__)) = __ufm_whole.taken && end != 2;
    __ufm_whole.taken = false;
#if __UFM_OFFERS_BLOCKS
    if (again) {
        const uint3 b = block->index;
        snprintf(block->text, sizeof block->text, "A thread of block (%u, %u, %u): %s", b.x, b.y, b.z, text);
        block->apart = true, block->failed = false;
        __ufm_prepare(&block->fibers[0]);
        return __ufm_run(block, code);
    }
#endif
    block->held = __UFM_NONE;
    if (end == 2)
        __atomic_store_n(&block->grid->stop, true, __ATOMIC_RELAXED);
    return false;
}

/* Blocks, as long as there are any.  With the lock, when it begins and ends. */
static void __ufm_work_on_blocks(__ufm_block *block)
{
    __ufm_grid *grid = block->grid;
    const dim3 size = grid->blocks;
    bool whole = true;
    while (whole && grid->next < grid->total && grid->failed == __UFM_NONE && !grid->stop &&
           (!block->next_block || grid->running <= grid->most)) {
        const unsigned long long n = grid->next++;
        __ufm_progress[0] = n + 1, __ufm_progress[1] = grid->total;
        block->index = {(unsigned)(n % size.x), (unsigned)(n / size.x % size.y), (unsigned)(n / size.x / size.y)};
        __atomic_store_n(&block->number, n, __ATOMIC_RELEASE);
        if (grid->running < grid->most && grid->next < grid->total && __ufm_time() - block->since > 300000)
            __ufm_hire(grid);
        pthread_mutex_unlock(&grid->lock);
        block->apart = false;
        whole = __ufm_run(block, __ufm_begin_block);
        block->failed |= block->apart;
        if (whole && block->held != __UFM_NONE)
            __ufm_keep_shared(block);
        pthread_mutex_lock(&grid->lock);
        while (whole && block->held != __UFM_NONE && !grid->stop) {
            if (++grid->waiting * grid->count > __UFM_MOST_WAITING && grid->failed == __UFM_NONE) {
                threadIdx = {0, 0, 0};
                __ufm_block_failed(block, "at most 16384 threads can wait for other blocks here.");
                __ufm_tell(grid, block, n);
            }
            __ufm_put_down(block);
            while (block->held != __UFM_NONE && !grid->stop)
                __ufm_wait_for_change(block);
            if (grid->stop)
                break;
            pthread_mutex_unlock(&grid->lock);
            whole = __ufm_run(block, __ufm_continue_block);
            if (whole && block->held != __UFM_NONE)
                __ufm_keep_shared(block);
            pthread_mutex_lock(&grid->lock);
        }
        if (block->held != __UFM_NONE)
            break; /* stopped while it waits: it is at no block */
        if (block->failed && n < grid->failed && *block->text)
            __ufm_tell(grid, block, n);
        __atomic_store_n(&block->number, __UFM_NONE, __ATOMIC_RELEASE);
        grid->ended++, grid->looks = 0;
        /* Blocks that are little but atomics are done sooner by one. */
        if (block->waited > 100000 && block->waited > (__ufm_time() - block->since) / 2)
            grid->most = 1;
        whole &= !block->failed;
    }
    if (block->held == __UFM_NONE)
        __ufm_put_down(block);
    block->gone = true;
    grid->present--;
    pthread_cond_broadcast(&grid->change);
}

/* What the thread of the system has of its own. */
static void __ufm_attach(__ufm_block *block)
{
    blockDim = block->threads, gridDim = block->grid->blocks;
    __ufm_running_block = block, __ufm_wait = __ufm_wait_here;
    __ufm_find_own();
#ifdef __UFM_DYNAMIC_SHARED
    /* What stands behind tells whether the kernel has written more than it asked for. */
    __builtin_memset(__ufm_dynamic_shared + block->grid->shared, 0x5a, sizeof __ufm_dynamic_shared - block->grid->shared);
#endif
}
/* With the lock. */
static void __ufm_detach(__ufm_block *block)
{
#ifdef __UFM_DYNAMIC_SHARED
    const char *rest = __ufm_dynamic_shared + block->grid->shared, *end = __ufm_dynamic_shared + sizeof __ufm_dynamic_shared;
    while (rest < end && *rest == 0x5a)
        rest++;
    if (rest < end && block->grid->failed == __UFM_NONE)
        block->grid->failed = 0,
        snprintf(block->grid->text, __UFM_TEXT_SIZE,
                 "it wrote byte %zu of its dynamic shared memory, and has %zu: kernel[grid, block, bytes] asks for them.",
                 (size_t)(rest - __ufm_dynamic_shared), block->grid->shared);
#endif
    for (unsigned k = 0; k < block->made; k++)
        __ufm_end_fiber(&block->fibers[k]);
    __ufm_forget_accesses();
    __ufm_end(block);
    free(block->fibers);
    free(block->kept);
    __ufm_running_block = 0, __ufm_wait = 0;
}

static void *__ufm_join_in(void *start)
{
    __ufm_block *block = (__ufm_block *)start;
    __ufm_grid *grid = block->grid;
    /* It hears faults and what ends its calls.  The thread that hires it must not be deaf meanwhile: Stop would be lost. */
    static const unsigned char heard[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGURG};
    sigset_t all;
    sigfillset(&all);
    for (int number : heard)
        sigdelset(&all, number);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    stack_t other = {}; /* for handlers, as a full stack has no room for them */
    __ufm_attach(block);
    if (__UFM_CONTAINED)
        block->inside = __ufm_inside();
    else if ((other.ss_sp = malloc(other.ss_size = 1 << 16)))
        sigaltstack(&other, 0);
    pthread_mutex_lock(&grid->lock);
    __ufm_work_on_blocks(block);
    __ufm_detach(block);
    pthread_mutex_unlock(&grid->lock);
    if (other.ss_sp)
        other.ss_flags = SS_DISABLE, sigaltstack(&other, 0), free(other.ss_sp);
    return 0;
}

static __ufm_block *__ufm_new_block(__ufm_grid *grid)
{
    __ufm_block *block = (__ufm_block *)calloc(1, sizeof *block);
    __ufm_fiber *fibers = (__ufm_fiber *)calloc(grid->count, sizeof *fibers);
    if (!block || !fibers) {
        free(block), free(fibers);
        return 0;
    }
    block->grid = grid, block->count = grid->count, block->threads = grid->threads, block->fibers = fibers;
    block->number = block->held = __UFM_NONE;
    block->next_block = grid->crew, block->since = __ufm_time();
    __ufm_begin(block);
    __atomic_store_n(&grid->crew, block, __ATOMIC_RELEASE);
    grid->running++, grid->present++;
    return block;
}

/* With the lock: one more thread of the system. */
static void __ufm_hire(__ufm_grid *grid)
{
    __ufm_block *block = __ufm_new_block(grid);
    if (block && !pthread_create(&block->thread, 0, __ufm_join_in, block))
        return;
    if (block) {
        grid->crew = block->next_block;
        grid->running--, grid->present--;
        __ufm_end(block), free(block->fibers), free(block);
    }
    grid->most = 1;
    if (!grid->running && grid->failed == __UFM_NONE) {
        grid->failed = grid->next;
        snprintf(grid->text, sizeof grid->text, "There is no memory for more blocks that wait for others.");
    }
}

static unsigned __ufm_cores()
{
#if defined __UFM_OWN_SHARED && !defined __UFM_CUDA_CHECKED__
    const char *wish = getenv("OMP_NUM_THREADS");
    unsigned n = 0;
    while (wish && *wish >= '0' && *wish <= '9' && n < 1000)
        n = 10 * n + (unsigned)(*wish++ - '0');
    cpu_set_t allowed;
    if (!n && !sched_getaffinity(0, sizeof allowed, &allowed))
        n = (unsigned)CPU_COUNT(&allowed);
    return n ? n : 1;
#else
    return 1;
#endif
}

static void __ufm_launch_any(void (*call)(const void *, void **), const void *kernel, const unsigned sides[3],
                             const unsigned block[3], size_t shared, void **arguments, unsigned bounds)
{
    static char busy; /* variables of the cell are one set, and --sanitize's notes */
    __ufm_launch_text[0] = 0;
    if (!__ufm_launchable(sides, block, shared, bounds))
        return;
    __ufm_grid grid = {};
    grid.lock = PTHREAD_MUTEX_INITIALIZER, grid.change = PTHREAD_COND_INITIALIZER;
    grid.call = call, grid.kernel = kernel, grid.arguments = arguments, grid.shared = shared;
    grid.threads = {block[0], block[1], block[2]}, grid.blocks = {sides[0], sides[1], sides[2]};
    grid.count = block[0] * block[1] * block[2];
    grid.total = (unsigned long long)sides[0] * sides[1] * sides[2], grid.failed = __UFM_NONE;
    grid.most = __ufm_cores();
    __ufm_block *own = __ufm_new_block(&grid);
    if (!own) {
        snprintf(__ufm_launch_text, __UFM_TEXT_SIZE, "There is no memory for the threads of a block.");
        return;
    }
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        sched_yield();
    const uint3 thread = threadIdx, index = blockIdx;
    const dim3 threads = blockDim, blocks = gridDim;
#ifndef __UFM_OWN_SHARED
    __ufm_shared_objects.count = 0;
#ifdef __UFM_DYNAMIC_SHARED
    if (shared)
        __ufm_shared_object(__ufm_dynamic_shared, shared);
#endif
#endif
    __ufm_attach(own);
    if (__UFM_CONTAINED)
        __ufm_asked_to_stop(1);
    pthread_mutex_lock(&grid.lock);
    __ufm_work_on_blocks(own);
    while (grid.present)
        __ufm_wait_for_change(own);
    __ufm_detach(own);
    pthread_mutex_unlock(&grid.lock);
    if (__UFM_CONTAINED)
        __ufm_asked_to_stop(-1);
    for (__ufm_block *next; grid.crew; grid.crew = next) {
        next = grid.crew->next_block;
        if (next)
            pthread_join(grid.crew->thread, 0);
        free(grid.crew);
    }
    if (grid.failed != __UFM_NONE)
        memcpy(__ufm_launch_text, grid.text, sizeof grid.text);
    else if (grid.stop)
        snprintf(__ufm_launch_text, __UFM_TEXT_SIZE, "it was interrupted.");
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
