/* --sanitize: each access of a kernel, looked at before it happens.
 *
 * The compiler puts calls in front of loads and stores, as for a kernel of an operating system that has its own rules.  A
 * thread may touch the arrays of the launch, its own stack, what the cell defines, and what the launch keeps of its block.
 * Two threads may touch the same shared memory, if one of them writes, only where the block has met between, or lanes of
 * their warp; atomics are left out, and so is a thread that writes what is there.
 * A read of shared memory that the block has not written is an error, and so is one of memory that a program has of CUDA
 * (cuda_host.h), where nobody has written any of the bytes: structures have some between their members.
 */
#ifndef __UFM_CUDA_CHECKED_H
#define __UFM_CUDA_CHECKED_H
#pragma GCC system_header

extern "C" {
extern const char _end[] __attribute__((__visibility__("hidden")));

/* Where the arrays of the next launch begin and end. */
__UFM_SHOWN size_t __ufm_arrays[64][2] = {};
__UFM_SHOWN size_t __ufm_array_count = 0;
}

/* The last accesses of a byte of shared memory: the last one that wrote, and two different ones that read. */
struct __ufm_access {
    unsigned epoch, meeting, place;
    unsigned short thread; /* and one; 0: none */
};
enum { __UFM_WRITER, __UFM_READER, __UFM_OTHER_READER, __UFM_ACCESSES };
struct __ufm_pending {
    const void *at;
    size_t size;
    unsigned char before[16];
    unsigned place;
};
static thread_local struct {
    __ufm_access (*bytes)[__UFM_ACCESSES];
    unsigned (*met)[32]; /* by thread and lane: the last meeting of the two */
    /* A write after another thread's, until it is known whether it changes anything. */
    __ufm_pending write;
    __ufm_access other;
    /* The last reads of the running thread: the compiler calls nothing for a write that follows. */
    __ufm_pending reads[16];
    unsigned count;
    unsigned *writers; /* by byte: the block that has written it last, and one */
    struct {
        const void *at;
        size_t size;
    } shared[64]; /* the __shared__ arrays that threads have come to */
    unsigned arrays;
    /* The first read of what nobody had written: another thread may do so yet, which is a race. */
    struct {
        size_t place, size;
        uint3 thread;
        unsigned epoch;
    } unwritten;
} __ufm_races;

static void __ufm_forget_accesses()
{
    free(__ufm_races.bytes), free(__ufm_races.met), free(__ufm_races.writers);
    __ufm_races = {};
}

static void __ufm_have_met(__ufm_block *block, unsigned warp, unsigned group)
{
    block->meeting++;
    for (unsigned rest = group; __ufm_races.met && rest; rest &= rest - 1)
        for (unsigned others = group; others; others &= others - 1)
            __ufm_races.met[32 * warp + __builtin_ctz(rest)][__builtin_ctz(others)] = block->meeting;
}

static void __ufm_race(const char *does, unsigned place, const __ufm_access &other, const char *did)
{
    __ufm_block *block = __ufm_running_block;
    const unsigned t = other.thread - 1u;
    const dim3 n = block->threads;
    char text[160];
    if (!block->failed)
        __ufm_stray = {place, 0, 1, other.place};
    snprintf(text, sizeof text, "a race: with no barrier between, thread (%u, %u, %u) %s the shared memory that it %s", t % n.x,
             t / n.x % n.y, t / n.x / n.y, did, does);
    __ufm_block_failed(block, text);
}

static bool __ufm_is_apart(const __ufm_block *block, unsigned thread, const __ufm_access &other)
{
    const unsigned t = other.thread - 1u;
    if (!other.thread || t == thread || other.epoch != block->epoch)
        return true;
    return t / 32 == thread / 32 && __ufm_races.met[thread][t % 32] > other.meeting;
}

static bool __ufm_has_changed(const __ufm_pending &pending)
{
    return pending.at && memcmp(pending.at, pending.before, pending.size);
}

/* False: it is a race. */
static bool __ufm_note(__ufm_block *block, const void *at, size_t size, bool written, unsigned place)
{
    const unsigned thread = block->running->number;
    const __ufm_access own = {block->epoch, block->meeting, place, (unsigned short)(thread + 1)};
    for (size_t k = 0; k < size; k++) {
        __ufm_access *byte = __ufm_races.bytes[(const char *)at - (const char *)__ufm_own.low + k];
        if (!__ufm_is_apart(block, thread, byte[__UFM_WRITER])) {
            if (!written)
                return __ufm_race("reads", place, byte[__UFM_WRITER], "wrote"), false;
            if (size <= sizeof __ufm_races.write.before && !__ufm_races.write.at) {
                memcpy(__ufm_races.write.before, at, size);
                __ufm_races.write.at = at, __ufm_races.write.size = size, __ufm_races.write.place = place;
                __ufm_races.other = byte[__UFM_WRITER];
            }
        }
        for (unsigned n = __UFM_READER; written && n < __UFM_ACCESSES; n++)
            if (!__ufm_is_apart(block, thread, byte[n]))
                return __ufm_race("writes", place, byte[n], "read"), false;
        if (!written && byte[__UFM_READER].thread != own.thread)
            byte[__UFM_OTHER_READER] = byte[__UFM_READER];
        byte[written ? __UFM_WRITER : __UFM_READER] = own;
    }
    return true;
}

/* What the running thread has written since it was looked at last. */
static void __ufm_settle()
{
    __ufm_block *block = __ufm_running_block;
    if (__ufm_has_changed(__ufm_races.write))
        __ufm_race("writes", __ufm_races.write.place, __ufm_races.other, "wrote");
    __ufm_races.write.at = 0;
    for (__ufm_pending &read : __ufm_races.reads)
        if (__ufm_has_changed(read)) {
            memcpy(read.before, read.at, read.size);
            if (!__ufm_note(block, read.at, read.size, true, read.place))
                break;
            __ufm_races.write.at = 0;
        }
}
/* Before another thread runs. */
static void __ufm_settle_thread()
{
    if (!__ufm_races.bytes)
        return;
    __ufm_settle();
    for (__ufm_pending &read : __ufm_races.reads)
        read.at = 0;
}

/* The place of the running code in this object. */
static size_t __ufm_place_of(const void *code) { return (size_t)((const char *)code - __ehdr_start); }

/* Where the block has met or ended: the read of what nobody had written. */
static void __ufm_report_unwritten(__ufm_block *block)
{
    auto &read = __ufm_races.unwritten;
    if (!read.size)
        return;
    char text[100];
    snprintf(text, sizeof text, "nobody has written the %zu bytes of shared memory that it reads", read.size);
    const uint3 thread = threadIdx;
    if (!block->failed)
        __ufm_stray = {read.place, 0, read.size, 0};
    threadIdx = read.thread;
    __ufm_block_failed(block, text);
    threadIdx = thread, read.size = 0;
}

static void __ufm_note_written(__ufm_block *block, const void *at, size_t size, bool written, const void *place)
{
    bool known = written;
#ifdef __UFM_DYNAMIC_SHARED
    const bool dynamic = __ufm_within((size_t)at, size, __ufm_dynamic_shared, sizeof __ufm_dynamic_shared);
#else
    const bool dynamic = false;
#endif
    for (unsigned k = 0; !known && !dynamic && k <= __ufm_races.arrays; k++) {
        if (k == __ufm_races.arrays)
            return;
        if (__ufm_within((size_t)at, size, __ufm_races.shared[k].at, __ufm_races.shared[k].size))
            break;
    }
    const unsigned own = (unsigned)block->number + 1;
    unsigned *writers = __ufm_races.writers + ((const char *)at - (const char *)__ufm_own.low);
    for (size_t k = 0; k < size; k++)
        known |= writers[k] == own;
    /* After a read, the compiler calls nothing for a write. */
    for (size_t k = 0; k < size; k++)
        writers[k] = own;
    if (!known && !__ufm_races.unwritten.size)
        __ufm_races.unwritten = {__ufm_place_of(place), size, threadIdx, block->epoch};
}

/* False: the thread stays where it is. */
static bool __ufm_note_shared(__ufm_block *block, const void *at, size_t size, bool written, const void *code)
{
    if (!__ufm_races.bytes) {
        __ufm_races.bytes = (__ufm_access (*)[__UFM_ACCESSES])calloc(__ufm_own.length, sizeof *__ufm_races.bytes);
        __ufm_races.met = (unsigned (*)[32])calloc(1024, sizeof *__ufm_races.met);
        __ufm_races.writers = (unsigned *)calloc(__ufm_own.length, sizeof *__ufm_races.writers);
        if (!__ufm_races.bytes || !__ufm_races.met || !__ufm_races.writers)
            return __ufm_forget_accesses(), true;
    }
    if (__ufm_races.unwritten.size && __ufm_races.unwritten.epoch != block->epoch)
        __ufm_report_unwritten(block);
    __ufm_note_written(block, at, size, written, code);
    if (__ufm_now.atomic && !block->failed)
        return true;
    const unsigned place = (unsigned)__ufm_place_of(code);
    __ufm_settle();
    if (block->failed || !__ufm_note(block, at, size, written, place))
        return false;
    __ufm_pending &read = __ufm_races.reads[__ufm_races.count++ % 16];
    if (!written && size <= sizeof read.before) {
        read.at = at, read.size = size, read.place = place;
        memcpy(read.before, at, size);
    }
    return true;
}

/* The thread stays where it is: compilers take calls before accesses for ones that cannot throw. */
static void __ufm_stay(__ufm_block *block)
{
    __ufm_fiber *fiber = block->running;
    block->live[fiber->number / 32] &= ~(1u << fiber->number % 32);
    fiber->call = 0;
    __ufm_leave(fiber);
}

/* A program's own memory of CUDA, see cuda_host.h: whether it has these bytes, and what is wrong with the access, or NULL. */
struct __ufm_verdict {
    bool known;
    const char *fault;
};
static __ufm_verdict (*__ufm_look_at_memory)(const void *at, size_t size, bool written);
/* What the host does outside of a launch. */
static void (*__ufm_look_at_host)(const void *at, size_t size, bool written, size_t place);

__UFM_UNCHECKED static void __ufm_look(const void *at, size_t size, bool written, const void *place)
{
    if (!__ufm_looking) {
        if (__ufm_look_at_host && !__ufm_running_block)
            __ufm_look_at_host(at, size, written, __ufm_place_of(place));
        return;
    }
    __ufm_block *block = __ufm_running_block;
    __ufm_fiber *fiber = block->running;
    const size_t address = (size_t)at;
    bool fine = __ufm_within(address, size, fiber->stack, __UFM_STACK + __UFM_GUARD) ||
                __ufm_within(address, size, __ehdr_start, (size_t)(_end - __ehdr_start)) ||
                __ufm_within(address, size, block, sizeof *block) ||
                __ufm_within(address, size, __ufm_own.low, __ufm_own.length);
    const char *what = __ufm_look_at_memory ? "what cudaMalloc() gave" : "its arrays";
#ifdef __UFM_DYNAMIC_SHARED
    if (__ufm_within(address, size, __ufm_dynamic_shared, sizeof __ufm_dynamic_shared)) {
        fine = __ufm_within(address, size, __ufm_dynamic_shared, block->grid->shared);
        what = "the shared memory that the launch asked for";
    }
#endif
    for (size_t k = 0; k < __ufm_array_count && !fine; k++)
        fine = __ufm_within(address, size, (const void *)__ufm_arrays[k][0], __ufm_arrays[k][1] - __ufm_arrays[k][0]);
    if (fine && !__ufm_within(address, size, __ufm_own.low, __ufm_own.length))
        return;
    __ufm_looking = false;
    const char *fault = 0;
    if (!fine && __ufm_look_at_memory) {
        const __ufm_verdict verdict = __ufm_look_at_memory(at, size, written);
        fault = verdict.fault;
        if (verdict.known && !fault) {
            __ufm_looking = true;
            return;
        }
    }
    if (fine) {
        /* What this header keeps is thread-local as well. */
        const bool ours = __ufm_within(address, size, &__ufm_now, sizeof __ufm_now) ||
                          __ufm_within(address, size, &__ufm_votes, sizeof __ufm_votes);
        if (!ours && !__ufm_note_shared(block, at, size, written, place))
            __ufm_stay(block);
        __ufm_looking = true;
        return;
    }
    if (!block->failed)
        __ufm_stray = {__ufm_place_of(place), address, size, 0};
    char text[120];
    if (fault)
        snprintf(text, sizeof text, fault, size);
    else
        snprintf(text, sizeof text, "it %s %zu bytes outside of %s", written ? "writes" : "reads", size, what);
    __ufm_block_failed(block, text);
    __ufm_stay(block);
}

/* The same object, without its name: the compiler calls nothing for those that it sees to be in bounds. */
template <class T> __UFM_UNCHECKED static T &__ufm_hide(T &object)
{
    T *at = &object;
    bool known = __ufm_races.arrays == sizeof __ufm_races.shared / sizeof *__ufm_races.shared;
    for (unsigned k = 0; k < __ufm_races.arrays && !known; k++)
        known = __ufm_races.shared[k].at == at;
    if (!known)
        __ufm_races.shared[__ufm_races.arrays].at = at, __ufm_races.shared[__ufm_races.arrays++].size = sizeof object;
    __asm__("" : "+r"(at));
    return *at;
}

/* By other names, since compilers know these. */
#define __UFM_HOOK(name, symbol, parameters)                                                                           \
    __attribute__((__used__, __visibility__("hidden"))) void name parameters __asm__(symbol);                          \
    __UFM_UNCHECKED void name parameters
#define __UFM_LOOK(size)                                                                                               \
    __UFM_HOOK(__ufm_load##size, "__asan_load" #size "_noabort", (const void *at))                                     \
    {                                                                                                                  \
        __ufm_look(at, size, false, __builtin_return_address(0));                                                      \
    }                                                                                                                  \
    __UFM_HOOK(__ufm_store##size, "__asan_store" #size "_noabort", (const void *at))                                   \
    {                                                                                                                  \
        __ufm_look(at, size, true, __builtin_return_address(0));                                                       \
    }
__UFM_LOOK(1)
__UFM_LOOK(2)
__UFM_LOOK(4)
__UFM_LOOK(8)
__UFM_LOOK(16)
__UFM_HOOK(__ufm_load_some, "__asan_loadN_noabort", (const void *at, size_t size))
{
    __ufm_look(at, size, false, __builtin_return_address(0));
}
__UFM_HOOK(__ufm_store_some, "__asan_storeN_noabort", (const void *at, size_t size))
{
    __ufm_look(at, size, true, __builtin_return_address(0));
}
__UFM_HOOK(__ufm_no_return, "__asan_handle_no_return", (void)) {}
__UFM_HOOK(__ufm_before_init, "__asan_before_dynamic_init", (const void *)) {}
__UFM_HOOK(__ufm_after_init, "__asan_after_dynamic_init", (void)) {}
/* What calls of these touch, the compiler does not say. */
extern "C" {
void *__ufm_real_set(void *, int, size_t) __asm__("memset");
void *__ufm_real_move(void *, const void *, size_t) __asm__("memmove");
}
__attribute__((__used__, __visibility__("hidden"))) void *__ufm_own_set(void *, int, size_t) __asm__("__ufm_memset");
__UFM_UNCHECKED void *__ufm_own_set(void *to, int value, size_t size)
{
    __ufm_look(to, size, true, __builtin_return_address(0));
    return __ufm_real_set(to, value, size);
}
__attribute__((__used__, __visibility__("hidden"))) void *__ufm_own_copy(void *, const void *, size_t) __asm__("__ufm_memcpy");
__UFM_UNCHECKED void *__ufm_own_copy(void *to, const void *from, size_t size)
{
    if (size)
        __ufm_look(from, size, false, __builtin_return_address(0)), __ufm_look(to, size, true, __builtin_return_address(0));
    return __ufm_real_move(to, from, size);
}

#endif
