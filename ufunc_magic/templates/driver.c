/* The driver: everything of a ufunc's inner loop that does not depend on the cell.

   It is a unit of its own, compiled once per compiler and linked into every object, so that a cell's
   unit holds little more than the cell, and no macro of the cell reaches this code.  NumPy calls the
   loops of a cell, they call __ufm_elementwise or __ufm_generalized with their plan, and these call
   back the kernel on memory that is contiguous, aligned and not shared. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

#include "interface.h"

#define MAX_OPERANDS 64 /* NPY_MAXARGS of NumPy 2 */
#define MAX_BLOCK 512   /* elements that pass through the first cache level at a time */
#define MAX_ITEM 32     /* sizeof(long double _Complex) */

#ifdef _WIN32
#define EXPORT __attribute__((dllexport))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* ---------------------------------------------------------------------------------- the host process

   Filled in by whoever loads the object (ufunc_magic/ufunc.py), so that it links against nothing of
   Python's and can be opened by any program. */
typedef struct {
    int (*ensure)(void);                   /* PyGILState_Ensure */
    void (*release)(int);                  /* PyGILState_Release */
    void (*set_error)(void *, const char *); /* PyErr_SetString */
    void *runtime_error, *memory_error; /* PyExc_... */
} Host;
EXPORT Host __ufm_host;

static void fail(void *kind, const char *text)
{
    if (__ufm_host.ensure) {
        int state = __ufm_host.ensure();
        __ufm_host.set_error(kind, text);
        __ufm_host.release(state);
    }
}

void __ufm_fail(const char *text) { fail(__ufm_host.runtime_error, text); }

/* --------------------------------------------------------------------------- floating-point status

   Bits as in x86's MXCSR and x87 status word.  Read directly: fetestexcept() is a call, and musl's and
   Windows' do not see both units. */
typedef unsigned int Flags;
enum { INVALID = 1, DIVIDE = 4, OVERFLOWED = 8, UNDERFLOWED = 16, ALL_FLAGS = 29 };

#if defined(__x86_64__) || defined(__i386__)
static inline Flags raised(void)
{
    unsigned short x87;
    __asm__ volatile("fnstsw %0" : "=m"(x87));
    return (__builtin_ia32_stmxcsr() | x87) & ALL_FLAGS;
}
static inline void set_raised(Flags flags)
{
    unsigned int sse = __builtin_ia32_stmxcsr();
    unsigned short x87;
    __asm__ volatile("fnstsw %0" : "=m"(x87));
    if (x87 & ALL_FLAGS) __asm__ volatile("fnclex");
    if ((sse & ALL_FLAGS) != flags) __builtin_ia32_ldmxcsr((sse & ~(unsigned)ALL_FLAGS) | flags);
}
#elif defined(__aarch64__)
/* FPSR: IOC=1, DZC=2, OFC=4, UFC=8. */
static inline Flags raised(void)
{
    uint64_t r;
    __asm__ volatile("mrs %0, fpsr" : "=r"(r));
    return (Flags)((r & 1) | ((r & 14) << 1));
}
static inline void set_raised(Flags flags)
{
    uint64_t r;
    __asm__ volatile("mrs %0, fpsr" : "=r"(r));
    r = (r & ~(uint64_t)15) | (flags & 1) | ((flags >> 1) & 14);
    __asm__ volatile("msr fpsr, %0" : : "r"(r));
}
#else /* flags stay as the hardware leaves them */
static inline Flags raised(void) { return 0; }
static inline void set_raised(Flags flags) { (void)flags; }
#endif

/* ------------------------------------------------------------------------------------------- types */

static const unsigned char item_size[24] = {
    sizeof(_Bool), 1, 1, sizeof(short), sizeof(short), sizeof(int), sizeof(int), sizeof(long), sizeof(long),
    sizeof(long long), sizeof(long long), sizeof(float), sizeof(double), sizeof(long double), 2 * sizeof(float),
    2 * sizeof(double), 2 * sizeof(long double), 0, 0, 0, 0, 0, 0, 2 /* half */};

enum { HAS_NAN = 1, HAS_INFINITE = 2, HAS_TINY = 4, HAS_INDEFINITE = 8 };

static int judge_real(long double value, long double smallest_normal)
{
    if (value != value) return HAS_NAN;
    if (!(value - value == 0)) return HAS_INFINITE;
    return (value < 0 ? -value : value) < smallest_normal ? HAS_TINY : 0;
}

/* What is special about one element.  x86 turns a conversion that has no value (NaN to int) into the
   smallest integer, so that is what an invalid conversion looks like. */
static int judge(int type, const char *p)
{
    switch (type) {
    case 5: return *(const int *)p == INT32_MIN ? HAS_INDEFINITE : 0;
    case 7: return sizeof(long) == 8 ? (*(const long *)p == (long)INT64_MIN ? HAS_INDEFINITE : 0)
                                     : (*(const long *)p == (long)INT32_MIN ? HAS_INDEFINITE : 0);
    case 9: return *(const long long *)p == INT64_MIN ? HAS_INDEFINITE : 0;
    case 11: return judge_real(*(const float *)p, 1.17549435e-38L);
    case 12: return judge_real(*(const double *)p, 2.2250738585072014e-308L);
    case 13: return judge_real(*(const long double *)p, __LDBL_MIN__);
    case 14: case 15: case 16: {
        const int part = type - 3, first = judge(part, p), second = judge(part, p + item_size[part]);
        return first | second;
    }
    case 23: {
        uint16_t half;
        memcpy(&half, p, 2);
        if ((half & 0x7c00) == 0x7c00) return half & 0x3ff ? HAS_NAN : HAS_INFINITE;
        return half & 0x7c00 ? 0 : HAS_TINY;
    }
    default: return 0;
    }
}

/* How a plan wants flags judged (interface.h). */
enum { JUDGE_NONE = 0, JUDGE_RESULTS = 1, JUDGE_ALL = 2 };

/* What may be special among contiguous elements; written so that the compiler vectorizes it. */
#define LOOK(T, absolute, smallest_normal)                                                                             \
    {                                                                                                                  \
        const T *x = (const T *)p;                                                                                     \
        int wild = 0, tiny = 0;                                                                                        \
        for (ptrdiff_t j = 0; j < count; j++) {                                                                        \
            wild |= !(x[j] - x[j] == 0);                                                                               \
            tiny |= absolute(x[j]) < smallest_normal;                                                                  \
        }                                                                                                              \
        return (wild ? HAS_NAN | HAS_INFINITE : 0) | (tiny ? HAS_TINY : 0);                                            \
    }
static int look(int type, const char *p, ptrdiff_t count)
{
    switch (type) {
    case 15: count *= 2; /* fall through: a complex number is two of its parts */
    case 12: LOOK(double, __builtin_fabs, 2.2250738585072014e-308)
    case 14: count *= 2; /* fall through */
    case 11: LOOK(float, __builtin_fabsf, 1.17549435e-38f)
    case 5: case 7: case 9: case 13: case 16: case 23: return ~0;
    default: return 0;
    }
}

/* Which of the flags seen belong to an element that shows it: a NaN made of no NaN, an infinity made of
   finite inputs.  A vectorized branch computes both of its sides, and the flags of the side that was not
   taken are not the user's.  Runs only when a flag was raised. */
static Flags real_flags(const __ufm_plan *plan, char *const *operands, ptrdiff_t total, Flags seen)
{
    enum { CHUNK = 512 };
    const unsigned char *types = plan->types;
    const int nin = plan->nin, all = nin + plan->nout;
    Flags real = 0;
    if (plan->judge != JUDGE_RESULTS) return plan->judge == JUDGE_ALL ? seen : 0;
    for (ptrdiff_t start = 0, count; start < total && real != seen; start += count) {
        int may = 0;
        count = total - start < CHUNK ? total - start : CHUNK;
        for (int k = nin; k < all; k++) may |= look(types[k], operands[k] + start * item_size[types[k]], count);
        if (!(seen & ~real & UNDERFLOWED)) may &= ~HAS_TINY;
        if (!may) continue;
        for (ptrdiff_t j = start; j < start + count && real != seen; j++) {
            int in = 0, out = 0;
            for (int k = nin; k < all; k++) out |= judge(types[k], operands[k] + j * item_size[types[k]]);
            if (!out) continue;
            for (int k = 0; k < nin; k++) in |= judge(types[k], operands[k] + j * item_size[types[k]]);
            if ((out & HAS_NAN && !(in & HAS_NAN)) || out & HAS_INDEFINITE) real |= seen & INVALID;
            if (out & HAS_INFINITE && !(in & (HAS_NAN | HAS_INFINITE))) real |= seen & (DIVIDE | OVERFLOWED);
            if (out & HAS_TINY) real |= seen & UNDERFLOWED;
        }
    }
    return real;
}

/* ----------------------------------------------------------------------------- strided and contiguous */

#define MOVE(T)                                                                                                        \
    for (ptrdiff_t j = 0; j < count; j++, from += from_step, to += to_step) *(T *)to = *(const T *)from;               \
    break

typedef struct { uint64_t part[2]; } Item16;
typedef struct { uint64_t part[4]; } Item32;

/* Items are moved as bits; this file is compiled without strict aliasing. */
static void move(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, ptrdiff_t count, size_t size)
{
    switch (size) {
    case 1: MOVE(uint8_t);
    case 2: MOVE(uint16_t);
    case 4: MOVE(uint32_t);
    case 8: MOVE(uint64_t);
    case 16: MOVE(Item16);
    case 32: MOVE(Item32);
    default: /* long double of 12 bytes */
        for (ptrdiff_t j = 0; j < count; j++, from += from_step, to += to_step) memcpy(to, from, size);
    }
}

/* May the output be written before the whole input is read?  Two ranges are apart when their bytes do not
   meet, or when they are interleaved with one stride (a.real against a.imag). */
static int apart(const char *p, ptrdiff_t p_step, ptrdiff_t p_size, const char *q, ptrdiff_t q_step, ptrdiff_t q_size,
                 ptrdiff_t count)
{
    const ptrdiff_t p_span = p_step * (count - 1), q_span = q_step * (count - 1);
    const char *p_low = p + (p_span < 0 ? p_span : 0), *p_high = p + (p_span > 0 ? p_span : 0) + p_size;
    const char *q_low = q + (q_span < 0 ? q_span : 0), *q_high = q + (q_span > 0 ? q_span : 0) + q_size;
    if (p_high <= q_low || q_high <= p_low) return 1;
    if (p_step != q_step || p_step == 0) return 0;
    const ptrdiff_t step = p_step < 0 ? -p_step : p_step;
    ptrdiff_t shift = (q - p) % step;
    if (shift < 0) shift += step;
    return shift >= p_size && step - shift >= q_size;
}

/* -------------------------------------------------------------------------------------- element-wise */

/* Elements start..stop when no output is in the way of an input.  Operands that are contiguous are used
   where they are, the others pass through blocks. */
static Flags run_range(const __ufm_plan *plan, char **args, const ptrdiff_t *steps, ptrdiff_t start, ptrdiff_t stop,
                       int contiguous)
{
    const int nin = plan->nin, all = nin + plan->nout, pad = plan->pad;
    char *at[MAX_OPERANDS];
    Flags real = 0, seen;

    set_raised(0);
    if (contiguous) {
        const ptrdiff_t whole = (stop - start) & -(ptrdiff_t)pad;
        if (whole) {
            for (int k = 0; k < all; k++) at[k] = args[k] + start * steps[k];
            plan->kernel(whole, at);
            if ((seen = raised())) real |= real_flags(plan, at, whole, seen);
            start += whole;
        }
    }
    if (start == stop) return real;

    /* About 16 KiB in all, at least 64 elements each. */
    const ptrdiff_t block = all <= 4 ? MAX_BLOCK : all <= 16 ? 128 : 64;
    char room[(all <= 4 ? 4 * MAX_BLOCK : all <= 16 ? 16 * 128 : MAX_OPERANDS * 64) * 8 + 64];
    char *large = NULL, *free_room = room + (64 - (uintptr_t)room % 64) % 64;
    char *buffer[MAX_OPERANDS];
    size_t need = 0;
    for (int k = 0; k < all; k++) need += ((size_t)block * item_size[plan->types[k]] + 63) & ~(size_t)63;
    if (need > sizeof room - 64) {
        if (!(large = malloc(need + 64))) {
            fail(__ufm_host.memory_error, "no memory for the blocks of a ufunc call");
            return real;
        }
        free_room = large + (64 - (uintptr_t)large % 64) % 64;
    }
    /* A short call fills no more of a constant's block than it reads. */
    const ptrdiff_t most = stop - start < block ? ((stop - start) + pad - 1) & -(ptrdiff_t)pad : block;
    int direct[MAX_OPERANDS];
    for (int k = 0; k < all; k++) {
        const ptrdiff_t size = item_size[plan->types[k]];
        buffer[k] = free_room;
        free_room += ((size_t)block * size + 63) & ~(size_t)63;
        direct[k] = steps[k] == size;
        if (k >= nin) continue;
        /* In place: the flags could not be judged once the input is gone. */
        for (int o = nin; o < all; o++) direct[k] &= args[k] != args[o];
        if (steps[k] == 0) move(buffer[k], size, args[k], 0, most, size);
    }
    for (ptrdiff_t count; start < stop; start += count) {
        count = stop - start < block ? stop - start : block;
        const ptrdiff_t full = (count + pad - 1) & -(ptrdiff_t)pad;
        for (int k = 0; k < all; k++) {
            const ptrdiff_t size = item_size[plan->types[k]];
            at[k] = buffer[k];
            if (direct[k] && count == full) at[k] = args[k] + start * size;
            else if (k < nin && steps[k]) {
                move(buffer[k], size, args[k] + start * steps[k], steps[k], count, size);
                move(buffer[k] + count * size, size, buffer[k] + (count - 1) * size, 0, full - count, size);
            }
        }
        set_raised(0);
        plan->kernel(full, at);
        if ((seen = raised())) real |= real_flags(plan, at, count, seen);
        for (int k = nin; k < all; k++) {
            const ptrdiff_t size = item_size[plan->types[k]];
            if (at[k] == buffer[k]) move(args[k] + start * steps[k], steps[k], buffer[k], size, count, size);
        }
    }
    free(large);
    return real;
}

/* One element after the other: accumulate, reduce, and any overlap that NumPy lets through. */
static Flags run_sequence(const __ufm_plan *plan, char **args, const ptrdiff_t *steps, ptrdiff_t total)
{
    enum { BLOCK = 64 };
    const int all = plan->nin + plan->nout;
    char *room = malloc((size_t)all * BLOCK * MAX_ITEM), *kept[MAX_OPERANDS], *at[MAX_OPERANDS];
    Flags real = 0, seen;
    if (!room) {
        fail(__ufm_host.memory_error, "no memory for the blocks of a ufunc call");
        return 0;
    }
    for (int k = 0; k < all; k++) kept[k] = room + (size_t)k * BLOCK * MAX_ITEM;
    set_raised(0);
    for (ptrdiff_t start = 0, count; start < total; start += count) {
        count = total - start < BLOCK ? total - start : BLOCK;
        for (int k = 0; k < all; k++) at[k] = args[k] + start * steps[k];
        plan->sequence(count, at, steps, kept);
        if ((seen = raised())) {
            real |= real_flags(plan, kept, count, seen);
            set_raised(0);
        }
    }
    free(room);
    return real;
}

#ifdef UFM_PARALLEL
#include <omp.h>
EXPORT int __ufm_threads; /* 0: as many as OpenMP thinks right */
static int owner;
__attribute__((constructor)) static void remember_owner(void)
{
#ifndef _WIN32
    owner = (int)getpid();
#endif
}
/* After fork() libgomp would wait for threads that the child does not have, so a child runs alone. */
static int workers(void)
{
#ifndef _WIN32
    if ((int)getpid() != owner) return 1;
#endif
    return __ufm_threads > 0 ? __ufm_threads : omp_get_max_threads();
}
/* Flags belong to a thread, so each judges its own part.  Parts start at multiples of a block: a value must
   not depend on the number of threads. */
static Flags run_parallel(const __ufm_plan *plan, char **args, const ptrdiff_t *steps, ptrdiff_t count, int contiguous,
                          int parts)
{
    const ptrdiff_t part = ((count + parts - 1) / parts + MAX_BLOCK - 1) & -(ptrdiff_t)MAX_BLOCK;
    Flags real = 0;
#pragma omp parallel for num_threads(parts) reduction(| : real) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        const ptrdiff_t from = p * part, to = from + part < count ? from + part : count;
        const Flags mine = raised();
        if (from < to) real |= run_range(plan, args, steps, from, to, contiguous);
        set_raised(mine);
    }
    return real;
}
#endif

void __ufm_elementwise(const __ufm_plan *plan, char **args, const ptrdiff_t *dimensions, const ptrdiff_t *steps, void *data)
{
    const ptrdiff_t count = dimensions[0];
    const int nin = plan->nin, all = nin + plan->nout;
    const Flags before = raised();
    Flags real;
    int contiguous = 1, free_order = 1;
    (void)data;
    if (count <= 0) return;
    for (int k = 0; k < all; k++) contiguous &= steps[k] == item_size[plan->types[k]];
    for (int o = nin; o < all; o++) {
        const ptrdiff_t size = item_size[plan->types[o]];
        if (steps[o] == 0 && count > 1) free_order = 0;
        for (int k = 0; k < nin; k++) {
            const int same = args[k] == args[o];
            contiguous &= !same;
            if (count == 1 || (same && steps[k] == steps[o] && item_size[plan->types[k]] == size)) continue;
            free_order &= apart(args[k], steps[k], item_size[plan->types[k]], args[o], steps[o], size, count);
        }
    }
    if (!free_order) real = run_sequence(plan, args, steps, count);
#ifdef UFM_PARALLEL
    else if (count >= 16384 && workers() > 1) real = run_parallel(plan, args, steps, count, contiguous, workers());
#endif
    else real = run_range(plan, args, steps, 0, count, contiguous);
    set_raised(before | real);
}

/* -------------------------------------------------------------------------------------- generalized */

typedef struct {
    ptrdiff_t sizes[32], steps[32], items; /* NPY_MAXDIMS of old NumPy is 32, of NumPy 2 64: NumPy checks */
    int dims, direct;
    char *scratch;
} Core;

/* Copy between an array's strided core and contiguous scratch memory, last dimension fastest. */
static void move_core(const Core *core, char *strided, size_t size, int into_scratch)
{
    ptrdiff_t index[32] = {0};
    const ptrdiff_t row = core->sizes[core->dims - 1], row_step = core->steps[core->dims - 1];
    char *scratch = core->scratch;
    if (core->items == 0) return;
    for (;;) {
        char *place = strided;
        for (int d = 0; d < core->dims - 1; d++) place += index[d] * core->steps[d];
        if (into_scratch) move(scratch, (ptrdiff_t)size, place, row_step, row, size);
        else move(place, row_step, scratch, (ptrdiff_t)size, row, size);
        scratch += row * (ptrdiff_t)size;
        int d = core->dims - 2;
        for (; d >= 0 && ++index[d] == core->sizes[d]; d--) index[d] = 0;
        if (d < 0) return;
    }
}

/* The same judgement as real_flags, over all elements of one item. */
static Flags real_core_flags(const __ufm_core_plan *plan, const Core *cores, char *const *at, Flags seen)
{
    int in = 0, out = 0;
    Flags real = 0;
    if (plan->judge != JUDGE_RESULTS) return plan->judge == JUDGE_ALL ? seen : 0;
    for (int k = 0; k < plan->nin + plan->nout; k++)
        for (ptrdiff_t j = 0; j < cores[k].items; j++) {
            const int special = judge(plan->types[k], at[k] + j * item_size[plan->types[k]]);
            if (k < plan->nin) in |= special;
            else out |= special;
        }
    if ((out & HAS_NAN && !(in & HAS_NAN)) || out & HAS_INDEFINITE) real |= seen & INVALID;
    if (out & HAS_INFINITE && !(in & (HAS_NAN | HAS_INFINITE))) real |= seen & (DIVIDE | OVERFLOWED);
    if (out & HAS_TINY) real |= seen & UNDERFLOWED;
    return real;
}

void __ufm_generalized(const __ufm_core_plan *plan, char **args, const ptrdiff_t *dimensions, const ptrdiff_t *steps,
                       void *data)
{
    const ptrdiff_t total = dimensions[0], *dims = dimensions + 1;
    const int nin = plan->nin, all = nin + plan->nout;
    const Flags before = raised();
    const signed char *number = plan->cores;
    const ptrdiff_t *core_step = steps + all;
    Flags real = 0, seen;
    size_t need = 0;
    (void)data;
    if (total <= 0) return;

    Core *cores = malloc((size_t)all * sizeof *cores);
    char *memory = NULL, *at[MAX_OPERANDS];
    if (!cores) goto no_memory;
    for (int k = 0; k < all; k++, number++) {
        Core *core = cores + k;
        core->items = 1;
        for (core->dims = 0; *number >= 0; number++, core->dims++) {
            core->sizes[core->dims] = dims[(int)*number];
            core->steps[core->dims] = *core_step++;
            core->items *= dims[(int)*number];
        }
        ptrdiff_t step = item_size[plan->types[k]];
        core->direct = !plan->copied[k];
        for (int d = core->dims - 1; d >= 0; step *= core->sizes[d--])
            core->direct &= core->steps[d] == step || core->sizes[d] <= 1;
        need += ((size_t)core->items * item_size[plan->types[k]] + 127) & ~(size_t)63;
    }
    if (!(memory = malloc(need + 64))) goto no_memory;
    char *scratch = memory + (64 - (uintptr_t)memory % 64) % 64;
    for (int k = 0; k < all; k++) {
        cores[k].scratch = scratch;
        scratch += ((size_t)cores[k].items * item_size[plan->types[k]] + 127) & ~(size_t)63;
    }

    set_raised(0);
    for (ptrdiff_t item = 0; item < total; item++) {
        for (int k = 0; k < all; k++) {
            const Core *core = cores + k;
            const size_t size = item_size[plan->types[k]];
            char *place = args[k] + item * steps[k];
            at[k] = core->direct ? place : core->scratch;
            if (k >= nin) {
                const int from = plan->from[k - nin];
                if (from >= 0) memmove(at[k], at[from], (size_t)core->items * size);
                else memset(at[k], 0, (size_t)core->items * size);
            } else if (!core->direct) {
                if (core->dims) move_core(core, place, size, 1);
                else memcpy(core->scratch, place, size);
            }
        }
        plan->item(at, dims);
        if ((seen = raised())) {
            real |= real_core_flags(plan, cores, at, seen);
            set_raised(0);
        }
        for (int k = nin; k < all; k++) {
            if (cores[k].direct) continue;
            if (cores[k].dims) move_core(cores + k, args[k] + item * steps[k], item_size[plan->types[k]], 0);
            else memcpy(args[k] + item * steps[k], cores[k].scratch, item_size[plan->types[k]]);
        }
    }
    free(memory);
    free(cores);
    set_raised(before | real);
    return;

no_memory:
    free(cores);
    fail(__ufm_host.memory_error, "no memory for a contiguous copy of the core dimensions");
}
