/* The driver: everything of a ufunc's inner loop that does not depend on the cell.

   It is a unit of its own, compiled once per compiler and linked into every object, so that a cell's
   unit holds little more than the cell, and no macro of the cell reaches this code.  NumPy calls the
   loops of a cell, they call __ufm_elementwise or __ufm_generalized with their plan, and these call
   back the kernel on memory that is contiguous, aligned and not shared. */

#define _GNU_SOURCE /* CPU_COUNT, syscall */
#ifdef UFM_PARALLEL
#include <pthread.h>
#include <sched.h>
#endif
#ifndef _WIN32
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ucontext.h> /* macOS refuses <ucontext.h>, whose functions are not used here */
#endif
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef _WIN32
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "interface.h"

#define MAX_OPERANDS 64 /* NPY_MAXARGS of NumPy 2, which makes no ufunc with more */
#define MAX_CORE 64     /* core dimensions of an operand: NPY_MAXDIMS of NumPy 2; codegen/loops.py refuses more */
#define MAX_BLOCK 512   /* elements that pass through the first cache level at a time */
#define MAX_ITEM 32     /* sizeof(long double _Complex) */
#define SPIN 4000       /* looks at what others do before a thread sleeps: 0.2 ms */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE __builtin_ia32_pause()
#else
#define PAUSE sched_yield()
#endif

/* Objects travel, so what need not be fast is small.  gcc would otherwise vectorize loops over three operands. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#define FAST __attribute__((optimize("O3"), hot))
#define ONCE __attribute__((noinline, noclone))
#else
#define FAST
#define ONCE __attribute__((noinline))
#endif
#define RARE __attribute__((cold, noinline))
#define HIDDEN __attribute__((visibility("hidden")))

#ifdef _WIN32
#define EXPORT __attribute__((dllexport))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Behind the mark stands a digest of what the object's header says of calls, written into the finished object: a
   header that another program has changed shows before anything is called (model/object_code.py). */
extern EXPORT const unsigned char __ufm_contract[];
const unsigned char __ufm_contract[16 + 32] = {0x7f, 'u', 'f', 'm', '-', 'c', 'o', 'n', 't', 'r', 'a', 'c', 't', ' ', '1', ':'};

/* With sanitizers: memory that nobody may touch. */
#ifdef UFM_CHECKED
void __asan_poison_memory_region(const volatile void *, size_t);
void __asan_unpoison_memory_region(const volatile void *, size_t);
#define FENCE(from, size) __asan_poison_memory_region(from, size)
#define UNFENCE(from, size) __asan_unpoison_memory_region(from, size)
#else
#define FENCE(from, size) ((void)0)
#define UNFENCE(from, size) ((void)0)
#endif

/* ---------------------------------------------------------------------------------- the host process

   Filled in by whoever loads the object (ufunc_magic/runtime/loader.py), so that it links against nothing of
   Python's and can be opened by any program. */
typedef struct {
    int (*ensure)(void);                   /* PyGILState_Ensure */
    void (*release)(int);                  /* PyGILState_Release */
    void (*set_error)(void *, const char *); /* PyErr_SetString */
    void *(*occurred)(void);               /* PyErr_Occurred */
    void *runtime_error, *memory_error; /* PyExc_... */
} Host;
EXPORT Host __ufm_host;
/* PyErr_CheckSignals, or NULL: calls cannot be interrupted.  On its own, since hosts fill in what they know, and
   an object may be older than its host or newer. */
EXPORT int (*__ufm_check_signals)(void);

#include "containment.h"

/* How fast a plan's elements go, as far as this thread has seen. */
typedef struct {
    const void *plan;
    ptrdiff_t left, step; /* elements before the next look at the clock; elements between two looks */
} Pace;

/* A call of one of our ufuncs that is under way in this thread, as Python made it: who is told of a fault finds the
   element in its arguments, because NumPy hands out parts, casts and orders of its own.  Methods (reduce) have none. */
typedef struct UfuncCall {
    void *ufunc, *const *args;
    size_t count;
    void *names;
    struct UfuncCall *outer;
} UfuncCall;

/* raised_before: an exception was set in this thread.  NumPy calls the loop of the next row all the same, and only
   a look at this spares every call the question to Python.
   busy: nanoseconds computed since the last look at signals.
   error: where errno is; to ask costs a call.
   inside: this thread's record.  now: the loop under way. */
typedef struct {
    int raised_before, *error;
    int64_t busy;
    Inside *inside;
    struct Thread *now;
    const UfuncCall *call;
    Pace paces[4];
} Own;
static __thread Own mine;

/* The address, asked for once a call: compilers ask at each use, at 3 ns. */
static inline Own *ask_own(void)
{
    Own *own = &mine;
    __asm__("" : "+r"(own));
    return own;
}

/* The vectorcall of every NumPy ufunc, and what a refused call needs: PyExc_TypeError, PyErr_ExceptionMatches,
   PyErr_Fetch, PyErr_NormalizeException and PyErr_Restore.  For calls of numbers: PyFloat_Type, the type of
   numpy.float64, PyType_GenericAlloc and NumPy's PyUFunc_GiveFloatingpointErrors; NULL where objects are laid out
   otherwise.  Filled in by runtime/numpy_ufunc.py. */
typedef struct {
    void *(*call)(void *, void *const *, size_t, void *);
    void *type_error;
    int (*matches)(void *);
    void (*fetch)(void **, void **, void **), (*normalize)(void **, void **, void **), (*restore)(void *, void *, void *);
    const void *python_float, *numpy_float;
    void *(*allocate)(const void *, ptrdiff_t);
    int (*give_errors)(const char *, int);
} Caller;
EXPORT Caller __ufm_caller;

static int tell_python(const char *function, const void *about);
#define OTHERS ((void *)&__ufm_caller) /* the arguments are not all floats */

/* NumPy refused a call: have a remedy added to its exception, where there is one, or the call made with other
   arguments: its result, or its exception in place of NumPy's. */
RARE static void *explain(const UfuncCall *call)
{
    void *kind = NULL, *value = NULL, *trace = NULL, *other = NULL, *of_other = NULL, *to_other = NULL;
    if (!__ufm_caller.matches(__ufm_caller.type_error)) return NULL;
    __ufm_caller.fetch(&kind, &value, &trace);
    __ufm_caller.normalize(&kind, &value, &trace);
    struct {
        const UfuncCall *call;
        void *exception, *result;
    } refused = {call, value, NULL};
    tell_python("explain", &refused);
    __ufm_caller.fetch(&other, &of_other, &to_other);
    __ufm_caller.restore(kind, value, trace);
    if (refused.result || other) __ufm_caller.restore(other, of_other, to_other);
    return refused.result;
}

static void *call_numbers(Own *own, void *ufunc, void *const *args, size_t count);

/* The vectorcall of our ufuncs. */
EXPORT void *__ufm_vectorcall(void *ufunc, void *const *args, size_t count, void *names)
{
    Own *const own = ask_own();
    const UfuncCall call = {ufunc, args, count, names, (UfuncCall *)own->call};
    own->call = &call;
    void *result = names ? OTHERS : call_numbers(own, ufunc, args, count & (~(size_t)0 >> 1));
    if (result == OTHERS) result = __ufm_caller.call(ufunc, args, count, names);
    own->call = call.outer;
    return result ? result : explain(&call);
}

/* NULL: nobody has the handlers. */
#ifdef CONTAINED
HIDDEN extern Stack __ufm_main_stack;
#endif
static inline Inside *inside_of(Own *own)
{
#ifdef CONTAINED
    if (!own->inside && __ufm_containment_3) {
        own->inside = __ufm_containment_3->inside();
        __ufm_containment_3->know(&__ufm_main_stack);
    }
#endif
    return own->inside;
}
#ifdef CONTAINED
static Inside *inside_now(void) { return inside_of(ask_own()); }
#endif

static int hold(void) { return __ufm_host.ensure ? __ufm_host.ensure() : 0; }
static void let_go(int state)
{
    if (__ufm_host.release) __ufm_host.release(state);
}

RARE static void fail(void *kind, const char *text)
{
    const int state = hold();
    if (__ufm_host.set_error) __ufm_host.set_error(kind, text);
    mine.raised_before = 1;
    let_go(state);
}

void __ufm_fail(const char *text) { fail(__ufm_host.runtime_error, text); }
void __ufm_fail_as(void *kind, const char *text) { fail(kind ? kind : __ufm_host.runtime_error, text); }

/* Is an exception on its way to the caller?  Then nothing more is to be computed. */
RARE static int still_doomed(void)
{
    const int state = hold();
    mine.raised_before = __ufm_host.occurred && __ufm_host.occurred() != NULL;
    let_go(state);
    return mine.raised_before;
}
static inline int doomed(const Own *own) { return own->raised_before && still_doomed(); }

/* --------------------------------------------------------------------------------------- interrupts

   A call computes in pieces of about 0.1 ms, as long as the next ones are like those before, and every 50 ms looks
   whether the user has had enough.  Calls that are short by what this thread knows of the function see no clock. */
enum { PIECE = 100000, PATIENCE = 50000000, FASTER = 16, LONGEST = 1 << 22 };

static int64_t now(void)
{
#ifdef _WIN32
    return (int64_t)clock() * (1000000000 / CLOCKS_PER_SEC);
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
}

/* 1: a signal's handler has raised, and the exception is set.  Only the main thread ever runs handlers; the others
   need not wait for the GIL. */
RARE static int interrupted(void)
{
    mine.busy = 0;
    if (mine.inside) mine.inside->stopping = 0;
    if (!__ufm_check_signals) return 0;
#ifdef __linux__
    if (syscall(SYS_gettid) != getpid()) return 0;
#endif
    const int state = hold();
    const int stop = __ufm_check_signals() != 0;
    if (stop) mine.raised_before = 1;
    let_go(state);
    return stop;
}

/* The way through the elements start..stop of a call, piece by piece. */
typedef struct {
    Own *own;
    Pace *pace;
    ptrdiff_t start, count, stop; /* the piece under way, and where the last one ends */
    int64_t begin;                /* when it began; 0: nobody wants to know */
    int whole;                    /* pieces are multiples of 64: a value must not depend on its place */
} Walk;

static inline Pace *pace_of(Own *own, const void *plan)
{
    Pace *pace = own->paces + ((uintptr_t)plan / 64 & 3);
    if (pace->plan != plan) *pace = (Pace){.plan = plan, .left = 1, .step = 1};
    return pace;
}

/* Learn from the piece that is done. */
RARE static void learn(Walk *walk)
{
    Pace *pace = walk->pace;
    const int64_t end = now(), took = end - walk->begin > 0 ? end - walk->begin : 1;
    const double one = (double)took / (double)walk->count;
    walk->own->busy += (int64_t)(one * (double)(walk->count + pace->step - pace->left));
    if (2 * walk->count >= pace->step || took > PIECE) {
        const double fits = PIECE / one, most = (double)FASTER * (double)walk->count;
        pace->step = (ptrdiff_t)(fits < most ? fits : most);
        if (pace->step < 1) pace->step = 1;
        if (pace->step > LONGEST) pace->step = LONGEST;
    }
    pace->left = pace->step;
    walk->begin = end;
}

/* A piece that is looked at. */
RARE static ptrdiff_t cut(Walk *walk, ptrdiff_t rest)
{
    const ptrdiff_t step = walk->whole ? (walk->pace->step + 63) & -(ptrdiff_t)64 : walk->pace->step;
    if (!walk->begin) walk->begin = now();
    return walk->count = rest < step ? rest : step;
}

/* The elements of the next piece; 0: there is none. */
static inline ptrdiff_t advance(Walk *walk)
{
    if (walk->begin) learn(walk);
    const ptrdiff_t rest = (walk->start += walk->count, walk->stop - walk->start);
    if (rest > walk->pace->left) return cut(walk, rest);
    walk->pace->left -= rest;
    walk->begin = 0;
    return walk->count = rest;
}
static inline int time_to_ask(const Own *own) { return own->busy >= PATIENCE; }

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
/* What a cell may change for everybody: rounding, denormals, traps, the x87's precision. */
typedef uint32_t Modes; /* the x87's control word above those of MXCSR */
enum { SSE_MODES = 0xffc0 };
static inline void look_at(Flags *flags, Modes *modes)
{
    const unsigned int sse = __builtin_ia32_stmxcsr();
    unsigned short status, control;
    __asm__ volatile("fnstsw %0\n\tfnstcw %1" : "=m"(status), "=m"(control));
    *flags = (sse | status) & ALL_FLAGS;
    *modes = (sse & SSE_MODES) | (Modes)control << 16;
}
static inline void set_all(Flags flags, Modes modes)
{
    const unsigned int sse = __builtin_ia32_stmxcsr();
    const unsigned int wanted = (sse & ~(unsigned)(SSE_MODES | ALL_FLAGS)) | (modes & SSE_MODES) | flags;
    unsigned short status, control;
    __asm__ volatile("fnstsw %0\n\tfnstcw %1" : "=m"(status), "=m"(control));
    if (status & ALL_FLAGS) __asm__ volatile("fnclex"); /* before a trap is armed again */
    if (control != modes >> 16) {
        control = (unsigned short)(modes >> 16);
        __asm__ volatile("fldcw %0" : : "m"(control));
    }
    if (sse != wanted) __builtin_ia32_ldmxcsr(wanted);
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
typedef uint64_t Modes;
static inline void look_at(Flags *flags, Modes *modes)
{
    *flags = raised();
    __asm__ volatile("mrs %0, fpcr" : "=r"(*modes));
}
static inline void set_all(Flags flags, Modes modes)
{
    Modes now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    if (now != modes) __asm__ volatile("msr fpcr, %0" : : "r"(modes));
    set_raised(flags);
}
#else /* flags and modes stay as the hardware leaves them */
typedef int Modes;
static inline Flags raised(void) { return 0; }
static inline void set_raised(Flags flags) { (void)flags; }
static inline void look_at(Flags *flags, Modes *modes) { *flags = 0, *modes = 0; }
static inline void set_all(Flags flags, Modes modes) { (void)flags, (void)modes; }
#endif

/* At a third of the price where x87 matters little. */
static inline Modes quick_modes(void)
{
#if defined(__x86_64__)
    return (__builtin_ia32_stmxcsr() & SSE_MODES) | (Modes)0x37f << 16;
#else
    Flags flags;
    Modes modes;
    look_at(&flags, &modes);
    return modes;
#endif
}

/* Of cells that call what reaches the whole process (process.c): 1 before a call, 0 when it ends; and what must be as
   before as soon as their code has returned. */
#ifdef __ELF__
HIDDEN void __ufm_keep_process(int) __attribute__((weak));
HIDDEN void __ufm_clear_flags(void) __attribute__((weak));
#define KEEP_PROCESS(begins) \
    do { \
        if (__ufm_keep_process) __ufm_keep_process(begins); \
    } while (0)
#define CLEAR_FLAGS() \
    do { \
        if (__ufm_clear_flags) __ufm_clear_flags(); \
    } while (0)
#else
#define KEEP_PROCESS(begins) ((void)0)
#define CLEAR_FLAGS() ((void)0)
#endif

/* What belongs to the thread and not to the cell, as it was before the call. */
typedef struct Thread {
    Flags flags;
    Modes modes;
    Own *own;
    int error;             /* errno */
    ptrdiff_t total;       /* elements of the loop */
    struct Thread *around; /* a loop that this one was called in */
} Thread;

static inline void remember(Thread *before, Own *own, ptrdiff_t total)
{
    Inside *const in = inside_of(own);
    KEEP_PROCESS(1);
    before->own = own;
    look_at(&before->flags, &before->modes);
    before->total = total;
    before->around = own->now;
    own->now = before;
    if (in) {
        in->calls++;
#ifdef CONTAINED
        if (!in->watched) contained()->watch(in);
#endif
    }
    if (!own->error) own->error = &errno;
    before->error = *own->error;
}
static inline void restore(const Thread *before, Flags real)
{
    Own *const own = before->own;
    KEEP_PROCESS(0);
    set_all(before->flags | real, before->modes);
    if (*own->error != before->error) *own->error = before->error;
    own->now = before->around;
    if (own->inside && !--own->inside->calls) own->inside->stopping = 0;
}

/* ---------------------------------------------------------------------------------- contained calls

   What plan->kernel and its like say, or FAULTED.  One for all: what takes fewer arguments leaves the others where
   they are, in registers. */
typedef int Code(void *, void *, void *, void *);
/* Between a frame and the cell's code: an array of the code's that is overrun, by up to so much, hits nothing that is
   needed to leave (__stack_chk_fail in containment.h). */
enum { MARGIN = 4096 };

#define KEEP_MARGIN(margin) __asm__ volatile("" : : "r"(margin) : "memory")
#ifdef CONTAINED
#ifdef __ELF__
extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));
extern const char etext[] __attribute__((weak, visibility("hidden")));
extern int omp_in_parallel(void) __attribute__((weak));
static const Object this_object = {leave, __ehdr_start, etext, &__ufm_main_stack, omp_in_parallel};
#else
static const Object this_object = {leave, NULL, NULL, &__ufm_main_stack, NULL};
#endif
HIDDEN Stack __ufm_main_stack = {.object = &this_object};

static int is_frame_of_this(const Frame *frame) { return frame->object == &this_object; }

/* Where a call goes on that did not come back: as the handler left it, the GIL may be free and the FP modes are the
   system's. */
RARE static int left(Own *own, int python)
{
    set_all(0, own->now->modes);
    contained()->settle(own->inside);
    if (python && __ufm_host.ensure) {
        /* Has it now, and as often as before. */
        __ufm_host.ensure();
        __ufm_host.release(0 /* PyGILState_LOCKED */);
    }
    return FAULTED;
}
ONCE static int call_below(Code *code, void *a, void *b, void *c, void *d)
{
    char margin[MARGIN];
    KEEP_MARGIN(margin);
    const int status = code(a, b, c, d);
    CLEAR_FLAGS();
    KEEP_MARGIN(margin);
    return status;
}
ONCE static int call(Own *own, Code *code, int python, void *a, void *b, void *c, void *d)
{
    Inside *const in = own->inside;
    Frame frame;
    if (!in) return code(a, b, c, d);
    frame.previous = in->frame;
    frame.object = &this_object;
    frame.python = python;
    if (SET_JUMP(frame.jump)) return left(own, python);
    in->frame = &frame;
    const int status = call_below(code, a, b, c, d);
    in->frame = frame.previous;
    return status;
}
#else
HIDDEN Stack __ufm_main_stack;
static inline int call(Own *own, Code *code, int python, void *a, void *b, void *c, void *d)
{
    (void)own, (void)python;
    return code(a, b, c, d);
}
#endif
#ifdef CONTAINED
/* Where an enclosed call goes on that did not come back. */
RARE static int left_enclosed(Modes modes)
{
    Own *const own = ask_own();
    Thread before = {.modes = modes, .around = own->now};
    own->now = &before;
    left(own, 0);
    KEEP_PROCESS(0);
    own->now = before.around;
    if (!--own->inside->calls) own->inside->stopping = 0;
    return own->inside->fault.kind == INTERRUPTED ? 2 : 1;
}
#endif
/* `python`: the code may run Python, whose frames must not be left. */
ONCE static int enclosed(void (*code)(void *), void *with, int python)
{
#ifdef CONTAINED
    Inside *const in = inside_of(ask_own());
    if (in) {
        const volatile Modes modes = quick_modes();
        KEEP_PROCESS(1);
        Frame frame = {.previous = in->frame, .object = &this_object, .python = python};
        in->calls++;
        if (!in->watched) contained()->watch(in);
        if (SET_JUMP(frame.jump)) return left_enclosed(modes);
        in->frame = &frame;
        call_below((Code *)code, with, NULL, NULL, NULL);
        in->frame = frame.previous;
        if (!--in->calls) in->stopping = 0;
        KEEP_PROCESS(0);
        return 0;
    }
#endif
    code(with);
    return 0;
}
/* A launch of a kernel's emulation, contained: the same, and in words.  `bottom` returns where the '
                            'running thread's
   own stack begins, or NULL; the handler knows only the stack of the caller.  `where` gets the place in the code and the
   address of a fault of memory. */
HIDDEN int __ufm_contained(void (*code)(void *), void *with, char *text, size_t size,
                                                          const char *(*bottom)(void), size_t where[2])
{
    const int end = enclosed(code, with, 0);
#ifdef CONTAINED
    const Fault *fault = end ? &ask_own()->inside->fault : NULL;
    const int full = end && fault->kind == STACK_FULL && (!bottom() || fault->address < (uintptr_t)bottom());
    const int memory = end && !full && (fault->kind == SIGSEGV || fault->kind == SIGBUS || fault->kind == STACK_FULL);
    const char *what = end == 2 ? "it was interrupted." : full
        ? "it overflowed the stack (endless recursion, or a huge local array)." : end && fault->kind == SIGFPE
        ? "it divided an integer by zero, or overflowed in the division." : "it ended in a processor fault.";
    if (memory) where[0] = fault->place, where[1] = fault->address;
    if (memory)
        snprintf(text, size, "it %s out of bounds, at %#zx.",
                 fault->access == 1 ? "read" : fault->access == 2 ? "wrote" : "read or wrote", (size_t)fault->address);
    else if (end)
        snprintf(text, size, "%s", what);
#else
    (void)text, (void)size, (void)bottom, (void)where;
#endif
    return end;
}
/* Of a launch on several threads: whether the user wants out, which is heard from `change` 1 to `change` -1. */
#ifdef CONTAINED
HIDDEN int __ufm_asked_to_stop(int change)
{
    Inside *const in = inside_of(ask_own());
    if (!in) return 0;
    in->calls += change;
    if (change > 0 && !in->watched) contained()->watch(in);
    const int asked = in->stopping;
    if (!in->calls) in->stopping = 0;
    return asked;
}
/* What __ufm_evict() needs to know of the running thread, to have its contained call end. */
HIDDEN void *__ufm_inside(void)
{
    return inside_of(ask_own());
}
HIDDEN void __ufm_evict(pthread_t thread, void *inside)
{
    if (!inside) return;
    ((Inside *)inside)->stopping = 1;
    pthread_kill(thread, STOP);
}
#endif
/* What is told of a fault: Report of runtime/faults.py. */
typedef struct {
    const char *name;
    const __ufm_byte *types;
    const Fault *fault;
    char *const *values;    /* of the inputs; NULL: which element it was is not known */
    const short *cores;     /* core dimensions by number, an operand's end with -1; NULL: an element each */
    const ptrdiff_t *sizes; /* of the core dimensions */
    ptrdiff_t total;        /* elements of the loop that NumPy called, of which a call may have many */
    const UfuncCall *call;  /* NULL: not known */
    int nin;
    int leaf_count;           /* only where an operand is a structure, as the next one: objects of earlier releases */
    const __ufm_leaf *leaves; /* end with nin */
} Report;

#ifdef CONTAINED
/* Have a function of runtime/faults.py raise an exception; 0: there is no Python that would.  With the GIL. */
RARE static int tell_python(const char *function, const void *about)
{
    const Containment *const give = contained();
    if (!give) return 0;
    give->check();
    void *module = give->import("ufunc_magic.runtime.faults");
    void *nothing = module ? give->call(module, function, "n", (ptrdiff_t)about) : NULL;
    if (nothing) give->forget(nothing);
    if (module) give->forget(module);
    return 1;
}

RARE static void tell(const Report *report)
{
    const int state = hold();
    if (!(__ufm_host.occurred && __ufm_host.occurred())) tell_python("tell", report);
    mine.raised_before = 1;
    let_go(state);
}

/* After FAULTED.  1: this was the user's Stop, and *halt is 2 unless a handler decided to go on; 0: it was a fault. */
RARE static int was_stop(Own *own, int *halt)
{
    if (own->inside->fault.kind != INTERRUPTED) return 0;
    if (!is_main() || interrupted()) *halt = 2;
    return 1;
}
#else
static int tell_python(const char *function, const void *about) { return (void)function, (void)about, 0; }
static void tell(const Report *report) { (void)report; }
static int was_stop(Own *own, int *halt) { return (void)own, (void)halt, 0; }
#endif

/* Of process.c. */
HIDDEN int __ufm_in_call(void)
{
#ifdef CONTAINED
    const Inside *in = inside_now();
    return in && (in->frame || !is_main()); /* or in a thread of the code's own */
#else
    return 0;
#endif
}
HIDDEN void __ufm_tell_lost(void)
{
#ifdef CONTAINED
    Inside *const in = inside_now();
    const int python = in && in->frame ? in->frame->python : 0;
    if (!in || python || !contained()->take(&in->fault)) return;
    const Report report = {.name = "a thread of the cell", .fault = &in->fault};
    tell(&report);
#endif
}
HIDDEN void __ufm_leave_call(int kind, int code, const char *text)
{
#ifdef CONTAINED
    leave_if_contained((Fault){.kind = kind, .code = code, .text = text});
#else
    (void)kind, (void)code, (void)text;
#endif
}

/* Entries from Python into a Cython cell (entries.h): a frame begins, with the modes of this thread; it ends; the entry
   goes on after a jump to the frame, 1: the user wants out; the exception of a fault is raised. */
HIDDEN void *__ufm_begin(Frame *frame, uint64_t *modes)
{
#ifdef CONTAINED
    Inside *const in = inside_of(ask_own());
    if (!in) return NULL;
    KEEP_PROCESS(1);
    *modes = quick_modes();
    frame->previous = in->frame;
    frame->object = &this_object;
    frame->python = ENTRY;
    in->calls++;
    if (!in->watched) contained()->watch(in);
    in->frame = frame;
    return in;
#else
    (void)frame, (void)modes;
    return NULL;
#endif
}
HIDDEN void __ufm_end(void *inside, const Frame *frame)
{
    Inside *const in = inside;
    in->frame = frame->previous;
    if (!--in->calls) in->stopping = 0;
    KEEP_PROCESS(0);
}
HIDDEN int __ufm_go_on(uint64_t modes)
{
#ifdef CONTAINED
    return left_enclosed((Modes)modes) == 2;
#else
    return (void)modes, 0;
#endif
}
/* Whether the stack of the thread whose stack pointer is `here` has no room for another call of Python. */
HIDDEN int __ufm_look(uintptr_t here)
{
#ifdef CONTAINED
    Inside *const in = inside_of(ask_own());
    if (!in) return 0;
    contained()->look(in, &__ufm_main_stack);
    return here < in->floor && in->floor - here < ROOM;
#else
    return (void)here, 0;
#endif
}
HIDDEN void __ufm_tell(const char *name)
{
#ifdef CONTAINED
    const Report report = {.name = name, .fault = &ask_own()->inside->fault};
    tell(&report);
#else
    (void)name;
#endif
}

/* A call of a function that is no ufunc, without the GIL, contained: what did not come back is an exception. */
void __ufm_plain_call(const char *name, void (*code)(void *), void *with, int python)
{
    const int end = enclosed(code, with, python);
#ifdef CONTAINED
    const Report report = {.name = name, .fault = end ? &ask_own()->inside->fault : NULL};
    if (end == 1) tell(&report);
    else if (end && !interrupted()) fail(__ufm_host.runtime_error, "the call was interrupted, and has not come to its end");
#else
    (void)name, (void)end;
#endif
}

/* A fault whose element is known, for the thread that called: as it was, since what it was computed from may be gone. */
typedef struct {
    int known;
    ptrdiff_t element; /* -1: computed one by one, none of them failed */
    Fault fault;
    char values[MAX_OPERANDS][MAX_ITEM];
} Failure;

/* ------------------------------------------------------------------------------------------- types */

static const unsigned char item_size[24] = {
    sizeof(_Bool), 1, 1, sizeof(short), sizeof(short), sizeof(int), sizeof(int), sizeof(long), sizeof(long),
    sizeof(long long), sizeof(long long), sizeof(float), sizeof(double), sizeof(long double), 2 * sizeof(float),
    2 * sizeof(double), 2 * sizeof(long double), 0, 0, 0, 0, 0, 0, 2 /* half */};

enum { HAS_NAN = 1, HAS_INFINITE = 2, HAS_TINY = 4, HAS_INDEFINITE = 8, HAS_NOTHING = 16 };

static int judge_real(long double value, long double smallest_normal)
{
    if (value != value) return HAS_NAN;
    if (!(value - value == 0)) return HAS_INFINITE;
    return (value < 0 ? -value : value) < smallest_normal ? HAS_TINY : 0;
}

/* What an invalid conversion to an integer may look like.  x86 makes the smallest integer of all that has no value;
   arm64 makes 0 of NaN, and of what is too large the next integer there is. */
#ifdef __aarch64__
#define CONVERTED(value, least, most) ((value) == (least) || (value) == (most) ? HAS_INDEFINITE : (value) ? 0 : HAS_NOTHING)
#else
#define CONVERTED(value, least, most) ((value) == (least) ? HAS_INDEFINITE : 0)
#endif

/* What is special about one element. */
RARE static int judge(int type, const char *p)
{
    switch (type) {
    case 5: return CONVERTED(*(const int *)p, INT32_MIN, INT32_MAX);
    case 7: return sizeof(long) == 8 ? CONVERTED(*(const long *)p, (long)INT64_MIN, (long)INT64_MAX)
                                     : CONVERTED(*(const long *)p, (long)INT32_MIN, (long)INT32_MAX);
    case 9: return CONVERTED(*(const long long *)p, INT64_MIN, INT64_MAX);
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

/* The same of an element of operand k, of which some may be structures. */
#ifdef UFM_RECORDS
RARE static int judge_leaves(const __ufm_leaf *leaves, int count, int k, const char *element)
{
    int special = 0;
    for (const __ufm_leaf *leaf = leaves; leaf < leaves + count; leaf++)
        for (int n = 0; leaf->operand == k && n < leaf->count; n++) {
            const size_t size = item_size[leaf->type];
            _Alignas(MAX_ITEM) char value[MAX_ITEM]; /* in a packed structure it may stand anywhere */
            memcpy(value, element + leaf->offset + (size_t)n * size, size);
            special |= judge(leaf->type, value);
        }
    return special;
}
#endif

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
FAST ONCE static int look(int type, const char *p, ptrdiff_t count)
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
RARE static Flags real_flags(const __ufm_plan *plan, char *const *operands, ptrdiff_t total, Flags seen)
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
            const int converted = out & HAS_INDEFINITE || (out & HAS_NOTHING && in & HAS_NAN);
            if ((out & HAS_NAN && !(in & HAS_NAN)) || converted) real |= seen & INVALID;
            if (out & HAS_INFINITE && !(in & (HAS_NAN | HAS_INFINITE))) real |= seen & (DIVIDE | OVERFLOWED);
            if (out & HAS_TINY && !(in & HAS_INFINITE)) real |= seen & UNDERFLOWED;
        }
    }
    return real;
}

/* ----------------------------------------------------------------------------- strided and contiguous */

/* Every second element and the other direction are common, and with the step a constant compilers have
   instructions for them. */
#define MOVE(T)                                                                                                        \
    if (to_step == (ptrdiff_t)sizeof(T)) {                                                                             \
        T *restrict t = (T *)to;                                                                                       \
        const T *restrict f = (const T *)from;                                                                         \
        if (from_step == 2 * (ptrdiff_t)sizeof(T))                                                                     \
            for (ptrdiff_t j = 0; j < count; j++) t[j] = f[2 * j];                                                     \
        else if (from_step == -(ptrdiff_t)sizeof(T))                                                                   \
            for (ptrdiff_t j = 0; j < count; j++) t[j] = f[-j];                                                        \
        else if (from_step == 0)                                                                                       \
            for (ptrdiff_t j = 0; j < count; j++) t[j] = *f;                                                           \
        else                                                                                                           \
            for (ptrdiff_t j = 0; j < count; j++, from += from_step) t[j] = *(const T *)from;                          \
        break;                                                                                                         \
    }                                                                                                                  \
    if (from_step == (ptrdiff_t)sizeof(T)) {                                                                           \
        const T *restrict f = (const T *)from;                                                                         \
        for (ptrdiff_t j = 0; j < count; j++, to += to_step) *(T *)to = f[j];                                          \
        break;                                                                                                         \
    }                                                                                                                  \
    MOVE_PLAIN(T)
/* Nor are there vectors of items that are as large as one, and bytes are rare. */
#define MOVE_PLAIN(T)                                                                                                  \
    for (ptrdiff_t j = 0; j < count; j++, from += from_step, to += to_step) *(T *)to = *(const T *)from;               \
    break

typedef struct { uint64_t part[2]; } Item16;
typedef struct { uint64_t part[4]; } Item32;

/* Items are moved as bits; this file is compiled without strict aliasing. */
FAST ONCE static void move(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, ptrdiff_t count, size_t size)
{
    switch (size) {
    case 1: MOVE_PLAIN(uint8_t);
    case 2: MOVE(uint16_t);
    case 4: MOVE(uint32_t);
    case 8: MOVE(uint64_t);
    case 16: MOVE_PLAIN(Item16);
    case 32: MOVE_PLAIN(Item32);
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

/* Some operand has gaps between its elements, and no output is an input. */
static int parted(const __ufm_plan *plan, char **args, const ptrdiff_t *steps)
{
    int gaps = 0;
    for (int k = 0; k < plan->nin + plan->nout; k++) {
        gaps |= steps[k] && steps[k] != item_size[plan->types[k]];
        for (int o = plan->nin; k < plan->nin && o < plan->nin + plan->nout; o++)
            if (args[k] == args[o]) return 0;
    }
    return gaps;
}

/* Elements of a plan that has a function for one of them, and no loop of its own over them. */
typedef struct {
    const __ufm_plan *plan;
    ptrdiff_t count;
    char **args;
    const ptrdiff_t *steps;
    char **kept;
} Elements;

static inline void keep(char *to, const char *from, size_t size)
{
    if (size == 8) *(uint64_t *)to = *(const uint64_t *)from;
    else if (size == 4) *(uint32_t *)to = *(const uint32_t *)from;
    else memcpy(to, from, size);
}

/* The sequence of such a plan. */
ONCE static int compute_each(void *elements, void *b, void *c, void *d)
{
    const Elements *const e = elements;
    const __ufm_plan *const plan = e->plan;
    const int nin = plan->nin, all = nin + plan->nout;
    size_t size[MAX_OPERANDS];
    char *at[MAX_OPERANDS], *kept[MAX_OPERANDS];
    (void)b, (void)c, (void)d;
    for (int k = 0; k < all; k++) {
        size[k] = item_size[plan->types[k]];
        at[k] = e->args[k];
        kept[k] = e->kept[k];
    }
    for (ptrdiff_t j = 0; j < e->count; j++) {
        for (int k = 0; k < nin; k++) keep(kept[k], at[k], size[k]);
        if (plan->one(at)) return 1;
        for (int k = nin; k < all; k++) keep(kept[k], at[k], size[k]);
        for (int k = 0; k < all; k++) {
            at[k] += e->steps[k];
            kept[k] += size[k];
        }
    }
    return 0;
}

static int call_sequence(const __ufm_plan *plan, Own *own, ptrdiff_t count, char **at, const ptrdiff_t *steps, char **kept)
{
    Elements elements = {plan, count, at, steps, kept};
    if (!plan->sequence) return call(own, compute_each, 0, &elements, NULL, NULL, NULL);
    return call(own, (Code *)plan->sequence, plan->python, (void *)count, at, (void *)steps, kept);
}

RARE static void tell_failure(const __ufm_plan *plan, const Own *own, const Failure *failure)
{
    char *values[MAX_OPERANDS];
    for (int k = 0; k < plan->nin; k++) values[k] = (char *)failure->values[k];
    const Report report = {.name = plan->name, .types = plan->types, .fault = &failure->fault, .call = own->call,
                           .values = failure->element < 0 ? NULL : values, .total = own->now->total, .nin = plan->nin};
    tell(&report);
}

/* A call faulted, so its elements are computed again one by one, until the one that did it: the first of them is
   element `first` of the loop.  What the others store stays.  With `later`, whoever called tells of it. */
RARE static void blame(const __ufm_plan *plan, Own *own, char **from, const ptrdiff_t *steps, ptrdiff_t first, ptrdiff_t count,
                       int *halt, Failure *later)
{
    Failure here, *const failure = later ? later : &here;
    char *at[MAX_OPERANDS], *kept[MAX_OPERANDS];
    const Fault fault = own->inside->fault;
    ptrdiff_t j = 0;
    int status = 0;
    if (later && plan->python) { /* Python says what happened, in the thread that called */
        *halt = 1;
        return;
    }
    const int state = plan->python ? hold() : 0;
    for (; j < count; j++) {
        for (int k = 0; k < plan->nin + plan->nout; k++) {
            at[k] = from[k] + j * steps[k];
            kept[k] = failure->values[k];
        }
        do status = call_sequence(plan, own, 1, at, steps, kept);
        while (status == FAULTED && was_stop(own, halt) && !*halt);
        if (status) break;
    }
    if (plan->python) let_go(state);
    if (*halt) return;
    *halt = 1;
    if (status == 1) {
        if (!later) own->raised_before = 1;
        return;
    }
    const int certain = status || count == 1;
    failure->known = 1;
    failure->element = certain ? first + (status ? j : 0) : -1;
    failure->fault = status ? own->inside->fault : fault;
    for (int k = 0; certain && k < plan->nin; k++) memcpy(failure->values[k], at[k], item_size[plan->types[k]]);
    if (!later) tell_failure(plan, own, failure);
}

/* Keep what the outputs hold, or put it back. */
ONCE static void keep_outputs(const __ufm_plan *plan, char **at, const ptrdiff_t *steps, char **kept, ptrdiff_t count, int back)
{
    for (int k = plan->nin; k < plan->nin + plan->nout; k++) {
        const ptrdiff_t size = item_size[plan->types[k]], items = steps[k] ? count : 1;
        if (back) move(at[k], steps[k], kept[k + plan->nout], size, items, size);
        else move(kept[k + plan->nout], size, at[k], steps[k], items, size);
    }
}

/* Elements start..stop, one after the other: accumulate, reduce, any overlap that NumPy lets through, and
   everything that runs Python.  Sets *halt where an exception was set. */
static Flags run_sequence(const __ufm_plan *plan, Own *own, char **args, const ptrdiff_t *steps, ptrdiff_t start,
                          ptrdiff_t stop, int *halt)
{
    enum { BLOCK = 64 };
    const int all = plan->nin + plan->nout;
    /* A copy of every operand as it was used, and of the outputs as they were before. */
    char *room = malloc((size_t)(all + plan->nout) * BLOCK * MAX_ITEM), *kept[2 * MAX_OPERANDS], *at[MAX_OPERANDS];
    Flags real = 0, seen;
    int status;
    if (!room) {
        fail(__ufm_host.memory_error, "no memory for the blocks of a ufunc call");
        *halt = 1;
        return 0;
    }
    for (int k = 0; k < all + plan->nout; k++) kept[k] = room + (size_t)k * BLOCK * MAX_ITEM;
    const int state = plan->python ? hold() : 0;
    set_raised(0);
    for (ptrdiff_t count; start < stop && !*halt; start += count) {
        count = stop - start < BLOCK ? stop - start : BLOCK;
        for (int k = 0; k < all; k++) at[k] = args[k] + start * steps[k];
        if (count > 1) keep_outputs(plan, at, steps, kept, count, 0);
        do {
            status = call_sequence(plan, own, count, at, steps, kept);
            if (count > 1 && status == FAULTED) keep_outputs(plan, at, steps, kept, count, 1);
        } while (status == FAULTED && was_stop(own, halt) && !*halt);
        if (*halt) break;
        if (status == FAULTED) blame(plan, own, at, steps, start, count, halt, NULL);
        else if (status) *halt = own->raised_before = 1;
        else if ((seen = raised())) real |= real_flags(plan, kept, count, seen);
        set_raised(0);
    }
    if (plan->python) let_go(state);
    free(room);
    return real;
}

/* Elements start..stop when no output is in the way of an input.  Operands that are contiguous are used
   where they are, the others pass through blocks.  An element that failed sets *halt: an exception is set,
   or, where `later`, somebody will tell of it or call this again in the thread that may set one.  2 is Stop.  Called
   without raised flags. */
ONCE static Flags run_range(const __ufm_plan *plan, Own *own, char **args, const ptrdiff_t *steps, ptrdiff_t start,
                       ptrdiff_t stop, int contiguous, int *halt, Failure *later)
{
    const int nin = plan->nin, all = nin + plan->nout, pad = plan->pad;
    char *at[MAX_OPERANDS];
    Flags real = 0, seen;
    int status;

    if (contiguous) {
        const ptrdiff_t whole = (stop - start) & -(ptrdiff_t)pad;
        if (whole) {
            for (int k = 0; k < all; k++) at[k] = args[k] + start * steps[k];
            do status = call(own, (Code *)plan->kernel, 0, (void *)whole, at, NULL, NULL);
            while (status == FAULTED && was_stop(own, halt) && !*halt);
            if (*halt) return real;
            if (status == FAULTED) {
                blame(plan, own, at, steps, start, whole, halt, later);
                return real;
            }
            if (status && (later || !plan->python)) {
                *halt = 1;
                return real;
            }
            if (status) contiguous = 0; /* by blocks, to find the one that failed */
            else {
                if ((seen = raised())) real |= real_flags(plan, at, whole, seen);
                start += whole;
            }
        }
    }
    if (start == stop) return real;
    if (plan->strided && parted(plan, args, steps)) {
        for (int k = 0; k < all; k++) at[k] = args[k] + start * steps[k];
        do status = call(own, (Code *)plan->strided, 0, (void *)(stop - start), at, (void *)steps, NULL);
        while (status == FAULTED && was_stop(own, halt) && !*halt);
        if (*halt) return real;
        if (status == FAULTED) blame(plan, own, at, steps, start, stop - start, halt, later);
        else *halt = status;
        if (*halt || plan->judge == JUDGE_NONE || !raised()) return real;
        /* A flag: once more by blocks, which tell whose it is. */
    }

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
            *halt = 1;
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
    for (ptrdiff_t count; start < stop && !*halt; start += count) {
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
        do status = call(own, (Code *)plan->kernel, 0, (void *)full, at, NULL, NULL);
        while (status == FAULTED && was_stop(own, halt) && !*halt);
        if (*halt) break;
        if (status == FAULTED) {
            /* Inputs as they were, for they may be outputs, too. */
            ptrdiff_t apart[MAX_OPERANDS];
            for (int k = 0; k < all; k++) {
                if (k >= nin) at[k] = args[k] + start * steps[k];
                apart[k] = k < nin ? item_size[plan->types[k]] : steps[k];
            }
            blame(plan, own, at, apart, start, count, halt, later);
            continue;
        }
        if (status) {
            if (later || !plan->python) *halt = 1;
            else real |= run_sequence(plan, own, args, steps, start, start + count, halt); /* Python says what happened */
            continue;
        }
        if ((seen = raised())) real |= real_flags(plan, at, count, seen);
        for (int k = nin; k < all; k++) {
            const ptrdiff_t size = item_size[plan->types[k]];
            if (at[k] == buffer[k]) move(args[k] + start * steps[k], steps[k], buffer[k], size, count, size);
        }
    }
    free(large);
    return real;
}

/* Vectors of SIMD math and of --fast-math do not round as single elements do. */
static inline int is_whole(const __ufm_plan *plan) { return plan->pad > 1 || plan->judge == JUDGE_NONE; }

/* As run_range, in the order of the elements unless `free_order`, as the user lets it go on. */
ONCE static Flags run_pieces(const __ufm_plan *plan, char **args, const ptrdiff_t *steps, ptrdiff_t start, ptrdiff_t stop,
                        int contiguous, int free_order, int *halt)
{
    Own *const own = ask_own();
    Walk walk = {.own = own, .pace = pace_of(own, plan), .start = start, .stop = stop, .whole = is_whole(plan)};
    Flags real = 0;
    for (ptrdiff_t count; (count = advance(&walk)) && !(time_to_ask(own) && (*halt = interrupted())); ) {
        set_raised(0);
        real |= free_order ? run_range(plan, own, args, steps, walk.start, walk.start + count, contiguous, halt, NULL)
                           : run_sequence(plan, own, args, steps, walk.start, walk.start + count, halt);
        if (*halt) break;
    }
    return real;
}

#ifdef UFM_PARALLEL
/* Threads of our own.  OpenMP waits at the end of a region for every thread, also for one that has not begun: on
   a virtual machine the kernel puts a woken thread behind the one that woke it, libgomp's barrier spins there for
   whole time slices, far longer than a short call.  Here nobody waits for a thread that has no work. */
EXPORT int __ufm_threads; /* 0: OMP_NUM_THREADS, or as many as there are cores */

typedef struct Hand {
    struct Hand *next;
    pthread_t thread;
    Inside *inside;
} Hand;

struct Items;
typedef struct {
    const __ufm_plan *plan;
    const struct Items *items; /* of a generalized loop; NULL: element-wise */
    char **args;
    const ptrdiff_t *steps;
    ptrdiff_t count, next;        /* next: the first element that nobody has taken */
    ptrdiff_t first;              /* start of the first piece that failed */
    int contiguous, parts, inside; /* inside: workers that are at it */
    int interrupted;               /* by the user: everybody stops after the piece in hand */
    int64_t since;                 /* that time */
    Flags real;
    Modes modes; /* the caller's */
    Hand *hands; /* workers that are at it, and how to stop one */
    Failure failure;
} Job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *job_now; /* one at a time: a call that finds another's works alone */
static int seats;    /* workers that may still join it */
static int hired, cores, owner;

/* Not atoi(): under glibc 2.38 and newer that is strtol() under a new name, which older ones do not have. */
static int whole_number(const char *digits)
{
    int n = 0;
    while (*digits == ' ') digits++;
    while (*digits >= '0' && *digits <= '9' && n < 100000) n = 10 * n + (*digits++ - '0');
    return n;
}
__attribute__((constructor)) static void look_around(void)
{
    const char *wish = getenv("OMP_NUM_THREADS");
    cores = wish ? whole_number(wish) : 0;
#ifdef CPU_COUNT
    cpu_set_t allowed;
    if (cores <= 0 && !sched_getaffinity(0, sizeof allowed, &allowed)) cores = CPU_COUNT(&allowed);
#endif
#ifdef _WIN32
    wish = getenv("NUMBER_OF_PROCESSORS");
    if (cores <= 0) cores = wish ? whole_number(wish) : 1;
#else
    if (cores <= 0) cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    owner = (int)getpid();
#endif
}
/* After fork() the child has none of the threads, so it runs alone. */
static int workers(void)
{
#ifndef _WIN32
    if ((int)getpid() != owner) return 1;
#endif
    return __ufm_threads > 0 ? __ufm_threads : cores;
}

/* The next piece: large ones first and small ones last, so that a core that others use too, or a thread that wakes
   late, delays little.  They start at multiples of a block: a value must not depend on the number of threads. */
static int take(Job *job, ptrdiff_t *from, ptrdiff_t *to)
{
    *from = __atomic_load_n(&job->next, __ATOMIC_RELAXED);
    do {
        const ptrdiff_t left = job->count - *from, share = left / (4 * job->parts), even = share & -(ptrdiff_t)MAX_BLOCK;
        const ptrdiff_t piece = job->items ? share + 1 : even > 8 * MAX_BLOCK ? even : 8 * MAX_BLOCK;
        if (left <= 0) return 0;
        *to = left < piece ? job->count : *from + piece;
    } while (!__atomic_compare_exchange_n(&job->next, from, *to, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return 1;
}

static void stop_job(Job *job)
{
    if (!job->interrupted) job->since = now();
    __atomic_store_n(&job->interrupted, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&job->next, job->count, __ATOMIC_RELAXED);
}

static Flags work_on_items(Job *job, Own *own, int caller, ptrdiff_t *first);

/* Flags and modes belong to a thread, so each judges its own pieces.  Comes back with the lock. */
static void work_on(Job *job, int caller)
{
    const Flags flags = raised();
    Own *const own = ask_own();
    Flags real = 0;
    ptrdiff_t first = job->count, from, to;
    Failure failure = {.known = 0};
    Thread here = {.modes = job->modes, .total = job->count}, *const around = own->now;
    own->now = &here;
    set_all(0, job->modes);
    if (job->items) real = work_on_items(job, own, caller, &first);
    else while (take(job, &from, &to)) {
        Walk walk = {
            .own = own, .pace = pace_of(own, job->plan), .start = from, .stop = to, .whole = is_whole(job->plan)};
        int failed = 0;
        for (ptrdiff_t count; !failed && (count = advance(&walk)); ) {
            if (caller && time_to_ask(own) && interrupted()) stop_job(job);
            if (__atomic_load_n(&job->interrupted, __ATOMIC_RELAXED)) break;
            set_raised(0);
            real |= run_range(job->plan, own, job->args, job->steps, walk.start, walk.start + count, job->contiguous,
                              &failed, &failure);
        }
        if (!failed) continue;
        __atomic_store_n(&job->next, job->count, __ATOMIC_RELAXED);
        if (failed == 2) stop_job(job);
        if (failed == 2 || failure.known) break;
        if (walk.start < first) first = walk.start;
    }
    set_raised(flags);
    own->now = around;
    pthread_mutex_lock(&lock);
    job->real |= real;
    if (first < job->first) job->first = first;
    if (failure.known && (!job->failure.known || failure.element < job->failure.element)) job->failure = failure;
}

/* Have those who are still at it long after Stop leave the element that they are at. */
RARE static void stop_hands(const Job *job)
{
#ifdef CONTAINED
    if (now() - job->since < GRACE) return;
    for (Hand *hand = job->hands; hand; hand = hand->next) {
        if (!hand->inside) continue;
        hand->inside->stopping = 1;
        pthread_kill(hand->thread, STOP);
    }
#else
    (void)job;
#endif
}

/* Until the others are done, with the lock.  Their last pieces may be long ones. */
static void wait_for_others(Job *job)
{
    while (job->inside) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PATIENCE;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&done, &lock, &until) != ETIMEDOUT) continue;
        if (job->interrupted) {
            stop_hands(job);
            continue;
        }
        pthread_mutex_unlock(&lock);
        if (interrupted()) stop_job(job);
        pthread_mutex_lock(&lock);
    }
}

static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!seats) { /* the next call often follows at once, and to be woken takes 0.1 ms */
            pthread_mutex_unlock(&lock);
            for (int k = 0; k < SPIN && !__atomic_load_n(&seats, __ATOMIC_RELAXED); k++) PAUSE;
            pthread_mutex_lock(&lock);
        }
        while (!seats) pthread_cond_wait(&work, &lock);
        Job *job = job_now;
        __atomic_store_n(&seats, seats - 1, __ATOMIC_RELAXED);
        __atomic_store_n(&job->inside, job->inside + 1, __ATOMIC_RELAXED);
        Hand hand = {job->hands, pthread_self(), inside_of(ask_own())}, **at = &job->hands;
        job->hands = &hand;
        if (hand.inside) hand.inside->calls++;
        pthread_mutex_unlock(&lock);
        work_on(job, 0);
        while (*at != &hand) at = &(*at)->next;
        *at = hand.next;
        if (hand.inside) hand.inside->calls--, hand.inside->stopping = hand.inside->tries = 0;
        __atomic_store_n(&job->inside, job->inside - 1, __ATOMIC_RELAXED);
        if (!job->inside) pthread_cond_signal(&done);
    }
    return unused;
}

/* Have `wanted` workers, as far as the system gives them; they hear no signals but those that are for them.  Called
   with the lock. */
static void hire(int wanted)
{
    pthread_t thread;
    if (hired >= wanted) return;
#ifndef _WIN32
    sigset_t all, before;
    sigfillset(&all);
#ifdef CONTAINED
    for (int k = 0; k < SIGNALS; k++) sigdelset(&all, faults[k]);
    sigdelset(&all, STOP);
#endif
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    for (; hired < wanted && !pthread_create(&thread, NULL, worker, NULL); hired++) pthread_detach(thread);
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
}

/* This thread and the others, until all is done or has failed. */
static void share(Job *job)
{
    const int parts = job->parts;
    pthread_mutex_lock(&lock);
    const int alone = job_now != NULL;
    if (!alone) {
        hire(parts - 1);
        job_now = job;
        __atomic_store_n(&seats, parts - 1, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&work);
    }
    pthread_mutex_unlock(&lock);
    work_on(job, 1);
    if (!alone) {
        __atomic_store_n(&seats, 0, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        for (int k = 0; k < SPIN && __atomic_load_n(&job->inside, __ATOMIC_RELAXED); k++) PAUSE;
        pthread_mutex_lock(&lock);
        wait_for_others(job);
        job_now = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* An exception belongs to the thread that called, so what failed elsewhere is computed once more by it. */
static Flags run_parallel(const __ufm_plan *plan, char **args, const ptrdiff_t *steps, ptrdiff_t count, int contiguous,
                          int parts, Modes modes, int *halt)
{
    Job job = {.plan = plan, .args = args, .steps = steps, .count = count, .first = count, .contiguous = contiguous,
               .parts = parts, .modes = modes};
    share(&job);
    /* What an element that failed leaves undone may be no error after all, so everything behind it counts. */
    if (job.interrupted) *halt = 1;
    else if (job.failure.known && job.failure.element <= job.first) {
        *halt = 1;
        tell_failure(plan, ask_own(), &job.failure);
    }
    else if (job.first < count) job.real |= run_pieces(plan, args, steps, job.first, count, contiguous, 1, halt);
    return job.real;
}
#endif

void __ufm_elementwise(const __ufm_plan *plan, char **args, const ptrdiff_t *dimensions, const ptrdiff_t *steps, void *data)
{
    const ptrdiff_t count = dimensions[0];
    const int nin = plan->nin, all = nin + plan->nout;
    Thread before;
    Flags real;
    int contiguous = 1, free_order = plan->kernel != NULL, halt = 0;
    (void)data;
    Own *const own = ask_own();
    if (count <= 0 || doomed(own)) return;
    remember(&before, own, count);
    for (int k = 0; k < all && count > 1; k++) contiguous &= steps[k] == item_size[plan->types[k]];
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
#ifdef UFM_PARALLEL
    if (free_order && count >= 16384 && workers() > 1) {
        real = run_parallel(plan, args, steps, count, contiguous, workers(), before.modes, &halt);
        restore(&before, halt ? 0 : real);
        return;
    }
#endif
    Pace *pace = pace_of(own, plan);
    if (free_order && count <= pace->left && !time_to_ask(own)) {
        pace->left -= count;
        if (before.flags) set_raised(0);
        real = run_range(plan, own, args, steps, 0, count, contiguous, &halt, NULL);
    }
    else real = run_pieces(plan, args, steps, 0, count, contiguous, free_order, &halt);
    restore(&before, halt ? 0 : real);
}

/* A call of Python floats, of which NumPy makes arrays first, at five times the price of the loop.  The
   result is NumPy's float64, and NumPy judges the flags. */
typedef struct { /* PyUFuncObject, behind the object's head; `fast` is its field that NumPy no longer uses */
    int nin, nout, nargs, identity;
    void (*const *functions)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
    void *const *data;
    int ntypes, fast; /* 1 + the index of the loop of doubles with one result; 0: there is none */
    const char *name;
} UfuncFields;
enum { HEAD = 16, MOST_NUMBERS = 6 };

static void *call_numbers(Own *own, void *ufunc, void *const *args, size_t count)
{
    const Caller *const caller = &__ufm_caller;
    const UfuncFields *fields = (const UfuncFields *)((const char *)ufunc + HEAD);
    if (!caller->python_float || !fields->fast || count != (size_t)fields->nin) return OTHERS;
    double values[MOST_NUMBERS + 1];
    char *at[MOST_NUMBERS + 1];
    ptrdiff_t steps[MOST_NUMBERS + 1];
    for (size_t k = 0; k < count; k++) {
        const void *type = ((const void *const *)args[k])[1];
        if (type != caller->python_float && type != caller->numpy_float) return OTHERS;
        values[k] = *(const double *)((const char *)args[k] + HEAD);
    }
    for (size_t k = 0; k <= count; k++) {
        at[k] = (char *)(values + k);
        steps[k] = sizeof(double);
    }
    const ptrdiff_t one = 1;
    set_raised(0);
    fields->functions[fields->fast - 1](at, &one, steps, fields->data[fields->fast - 1]);
    const Flags seen = raised();
    if (own->raised_before && __ufm_host.occurred()) return NULL;
    if (seen) {
        set_raised(0);
        const int errors = (seen & DIVIDE ? 1 : 0) | (seen & OVERFLOWED ? 2 : 0) | (seen & UNDERFLOWED ? 4 : 0) |
                           (seen & INVALID ? 8 : 0);
        if (caller->give_errors(fields->name, errors) < 0) return NULL;
    }
    void *result = caller->allocate(caller->numpy_float, 0);
    if (result) *(double *)((char *)result + HEAD) = values[count];
    return result;
}

/* -------------------------------------------------------------------------------------- generalized */

typedef struct {
    ptrdiff_t sizes[MAX_CORE], steps[MAX_CORE], items;
    size_t size; /* of one element */
    int dims, direct;
    char *scratch;
} Core;

/* Copy between an array's strided core and contiguous scratch memory, last dimension fastest. */
FAST ONCE static void move_core(const Core *core, char *strided, int into_scratch)
{
    const size_t size = core->size;
    ptrdiff_t index[MAX_CORE];
    const ptrdiff_t row = core->sizes[core->dims - 1], row_step = core->steps[core->dims - 1];
    char *scratch = core->scratch;
    if (core->items == 0) return;
    for (int d = 0; d < core->dims; d++) index[d] = 0;
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

/* The lowest and the highest byte that an operand's items reach. */
static void reach(const Core *core, const char *place, ptrdiff_t step, ptrdiff_t total, const char **low, const char **high)
{
    *low = *high = place;
    if (step * (total - 1) < 0) *low += step * (total - 1);
    else *high += step * (total - 1);
    for (int d = 0; d < core->dims; d++) {
        const ptrdiff_t span = core->steps[d] * (core->sizes[d] - 1);
        if (core->sizes[d] > 1 && span < 0) *low += span;
        else if (core->sizes[d] > 1) *high += span;
    }
    *high += core->size - 1;
}
static int meets(const Core *a, const char *p, ptrdiff_t p_step, const Core *b, const char *q, ptrdiff_t q_step, ptrdiff_t total)
{
    const char *p_low, *p_high, *q_low, *q_high;
    reach(a, p, p_step, total, &p_low, &p_high);
    reach(b, q, q_step, total, &q_low, &q_high);
    return p_low <= q_high && q_low <= p_high;
}

/* The same judgement as real_flags, over all elements of one item. */
RARE static Flags real_core_flags(const __ufm_core_plan *plan, const Core *cores, char *const *at, Flags seen)
{
    int in = 0, out = 0;
    Flags real = 0;
    if (plan->judge != JUDGE_RESULTS) return plan->judge == JUDGE_ALL ? seen : 0;
    for (int k = 0; k < plan->nin + plan->nout; k++)
        for (ptrdiff_t j = 0; j < cores[k].items; j++) {
            const char *const item = at[k] + j * (ptrdiff_t)cores[k].size;
            int special;
#ifdef UFM_RECORDS
            if (plan->items) special = judge_leaves(plan->leaves, plan->leaf_count, k, item);
            else
#endif
                special = judge(plan->types[k], item);
            if (k < plan->nin) in |= special;
            else out |= special;
        }
    if ((out & HAS_NAN && !(in & HAS_NAN)) || out & HAS_INDEFINITE) real |= seen & INVALID;
    if (out & HAS_INFINITE && !(in & (HAS_NAN | HAS_INFINITE))) real |= seen & (DIVIDE | OVERFLOWED);
    if (out & HAS_TINY && !(in & HAS_INFINITE)) real |= seen & UNDERFLOWED;
    return real;
}

/* One item's cores where the function wants them: contiguous, outputs zero or as the input they start as. */
FAST ONCE static void prepare(const __ufm_core_plan *plan, const Core *cores, char **at, char *const *args,
                    const ptrdiff_t *steps, ptrdiff_t item)
{
    const int nin = plan->nin;
    for (int k = 0; k < nin + plan->nout; k++) {
        const Core *core = cores + k;
        const size_t size = core->size;
        char *place = args[k] + item * steps[k];
        at[k] = core->direct ? place : core->scratch;
        if (k >= nin) {
            const int from = plan->from[k - nin];
            if (from >= 0) memmove(at[k], at[from], (size_t)core->items * size);
            else memset(at[k], 0, (size_t)core->items * size);
        } else if (!core->direct) {
            if (core->dims) move_core(core, place, 1);
            else memcpy(core->scratch, place, size);
        }
    }
}

/* The items from one on, and what of them is known. */
typedef struct Items {
    const __ufm_core_plan *plan;
    const Core *cores;
    char *const *args;
    const ptrdiff_t *steps, *dims;
    ptrdiff_t item, stop;
    Flags real;
    char *at[MAX_OPERANDS];
} Items;

/* An item is computed. */
static inline void finish(Items *items)
{
    const __ufm_core_plan *plan = items->plan;
    const Flags seen = raised();
    if (seen) {
        items->real |= real_core_flags(plan, items->cores, items->at, seen);
        set_raised(0);
    }
    for (int k = plan->nin; k < plan->nin + plan->nout; k++) {
        const Core *core = items->cores + k;
        char *place = items->args[k] + items->item * items->steps[k];
        if (core->direct) continue;
        if (core->dims) move_core(core, place, 0);
        else memcpy(place, core->scratch, core->size);
    }
    items->item++;
}

/* What need no Python, up to one that fails; *inside is `frame` while one is computed. */
ONCE static int loop_items(Items *items, Frame **inside, Frame *frame)
{
    const __ufm_core_plan *plan = items->plan;
    Frame *const before = *inside;
    int status = 0;
    char margin[MARGIN];
    KEEP_MARGIN(margin);
    while (!status && items->item < items->stop) {
        prepare(plan, items->cores, items->at, items->args, items->steps, items->item);
        *inside = frame;
        status = plan->item(items->at, items->dims);
        CLEAR_FLAGS();
        *inside = before;
        if (!status) finish(items);
    }
    KEEP_MARGIN(margin);
    return status;
}

/* As call(), but one frame serves them all. */
ONCE static int call_items(Own *own, Items *items)
{
    Frame frame, *nobody = NULL;
#ifdef CONTAINED
    Inside *const in = own->inside;
    if (in) {
        frame.previous = in->frame;
        frame.object = &this_object;
        frame.python = 0;
        if (SET_JUMP(frame.jump)) return left(own, 0);
        return loop_items(items, &in->frame, &frame);
    }
#endif
    return loop_items(items, &nobody, &frame);
}

/* Items up to `stop`; sets *halt where an exception was set. */
static void run_items(Own *own, Items *items, int *halt)
{
    const __ufm_core_plan *plan = items->plan;
    set_raised(0);
    while (items->item < items->stop) {
        int status = plan->item ? call_items(own, items) : 1;
        if (status == 1 && plan->checked) { /* once more, as Python wants it */
            const int state = plan->item ? hold() : 0;
            prepare(plan, items->cores, items->at, items->args, items->steps, items->item);
            status = call(own, (Code *)plan->checked, 1, items->at, (void *)items->dims, NULL, NULL);
            if (!status) finish(items);
            if (plan->item) let_go(state);
        }
        if (!status) continue;
        if (status == FAULTED && was_stop(own, halt)) {
            if (!*halt) continue;
        }
        else if (status == FAULTED) {
            const Fault fault = own->inside->fault;
            prepare(plan, items->cores, items->at, items->args, items->steps, items->item); /* the inputs as they were */
            const Report report = {.name = plan->name, .types = plan->types, .fault = &fault, .values = items->at,
                                   .cores = plan->cores, .sizes = items->dims, .call = own->call,
                                   .total = own->now->total, .nin = plan->nin, .leaf_count = plan->leaf_count,
                                   .leaves = plan->leaves};
            tell(&report);
        }
        *halt = own->raised_before = 1;
        return;
    }
}

/* Memory for contiguous copies of the cores of one item, and the cores that use it; NULL: there is none. */
static char *place_cores(Core *cores, int all)
{
    size_t need = 64;
    for (int k = 0; k < all; k++) need += ((size_t)cores[k].items * cores[k].size + 127) & ~(size_t)63;
    char *const memory = malloc(need);
    if (!memory) return NULL;
    char *scratch = memory + (64 - (uintptr_t)memory % 64) % 64;
    for (int k = 0; k < all; k++) {
        cores[k].scratch = scratch;
        FENCE(scratch + (size_t)cores[k].items * cores[k].size, 64);
        scratch += ((size_t)cores[k].items * cores[k].size + 127) & ~(size_t)63;
    }
    return memory;
}
static void free_cores(const Core *cores, int all, char *memory)
{
    for (int k = 0; memory && k < all; k++) UNFENCE(cores[k].scratch + (size_t)cores[k].items * cores[k].size, 64);
    free(memory);
}

#ifdef UFM_PARALLEL
/* Items of a job, until one fails in any way: the thread that called computes from there on once more, and tells. */
static Flags work_on_items(Job *job, Own *own, int caller, ptrdiff_t *first)
{
    Items items = *job->items;
    const int all = items.plan->nin + items.plan->nout;
    Core *const cores = malloc((size_t)all * sizeof *cores);
    if (cores) memcpy(cores, items.cores, (size_t)all * sizeof *cores);
    char *const memory = cores ? place_cores(cores, all) : NULL;
    items.cores = cores;
    for (ptrdiff_t to; memory && take(job, &items.item, &to); ) {
        Walk walk = {.own = own, .pace = pace_of(own, items.plan), .start = items.item, .stop = to};
        int status = 0;
        for (ptrdiff_t count; !status && (count = advance(&walk)); ) {
            if (caller && time_to_ask(own) && interrupted()) stop_job(job);
            if (__atomic_load_n(&job->interrupted, __ATOMIC_RELAXED)) break;
            items.stop = walk.start + count;
            set_raised(0);
            status = call_items(own, &items);
        }
        int halt = 0;
        if (status == FAULTED && was_stop(own, &halt)) stop_job(job);
        if (!status) continue;
        __atomic_store_n(&job->next, job->count, __ATOMIC_RELAXED);
        if (items.item < *first) *first = items.item;
    }
    if (!memory) *first = 0;
    if (memory) free_cores(cores, all, memory);
    free(cores);
    return items.real;
}

/* All items of a call, on several threads; comes back with the first one that is still to be computed. */
static ptrdiff_t share_items(Items *items, ptrdiff_t total, Modes modes, int *halt)
{
    Job job = {.plan = (const __ufm_plan *)items->plan, .items = items, .count = total, .first = total,
               .parts = workers(), .modes = modes};
    share(&job);
    items->real |= job.real;
    if (job.interrupted) *halt = 1;
    return job.first;
}
#endif

/* -1: an exception is set. */
int __ufm_generalized(const __ufm_core_plan *plan, char *const *args, const ptrdiff_t *dimensions, const ptrdiff_t *steps)
{
    const ptrdiff_t total = dimensions[0], *dims = dimensions + 1;
    const int nin = plan->nin, all = nin + plan->nout;
    Thread before;
    const short *number = plan->cores;
    const ptrdiff_t *core_step = steps + all;
    Flags real = 0;
    Own *const own = ask_own();
    if (total <= 0) return 0;
    if (doomed(own)) return -1;
    remember(&before, own, total);

    Core *cores = malloc((size_t)all * sizeof *cores);
    char *memory = NULL;
    ptrdiff_t largest = 1;
    int halt = 1, separate = 1; /* no output is an input */
    if (!cores) goto done;
    for (int k = 0; k < all; k++, number++) {
        Core *core = cores + k;
        core->items = 1;
        for (core->dims = 0; *number >= 0; number++, core->dims++) {
            if (core->dims == MAX_CORE) goto done; /* NumPy has no such array */
            core->sizes[core->dims] = dims[(int)*number];
            core->steps[core->dims] = *core_step++;
            core->items *= dims[(int)*number];
        }
        uintptr_t align = plan->copied[k];
        core->size = item_size[plan->types[k]];
        core->direct = align != 1;
#ifdef UFM_RECORDS
        if (plan->items) { /* NumPy has no alignment for structures that it did not lay out itself */
            core->size = (size_t)plan->items[k].size;
            if (align < 2) align = (uintptr_t)plan->items[k].align;
        }
#endif
        if (align > 1 && ((uintptr_t)args[k] | (uintptr_t)steps[k]) & (align - 1)) core->direct = 0;
        ptrdiff_t step = (ptrdiff_t)core->size;
        for (int d = core->dims - 1; d >= 0; step *= core->sizes[d--])
            core->direct &= core->steps[d] == step || core->sizes[d] <= 1;
        largest = core->items > largest ? core->items : largest;
    }
    /* f(x, out=x): the output must not be zeroed while the input is still to be read. */
    for (int o = nin; o < all; o++)
        for (int k = 0; k < nin; k++)
            if (meets(cores + k, args[k], steps[k], cores + o, args[o], steps[o], total)) cores[o].direct = separate = 0;
    if (!(memory = place_cores(cores, all))) goto done;
    halt = 0;

    const int state = plan->item ? 0 : hold();
    Items items = {.plan = plan, .cores = cores, .args = args, .steps = steps, .dims = dims};
#ifdef UFM_PARALLEL
    for (int k = nin; k < all; k++) separate &= steps[k] != 0;
    if (plan->item && separate && total > 1 && total * largest >= 16384 && workers() > 1)
        items.item = share_items(&items, total, before.modes, &halt);
#endif
    Walk walk = {.own = own, .pace = pace_of(own, plan), .start = items.item, .stop = halt ? items.item : total};
    for (ptrdiff_t count; (count = advance(&walk)) && !(time_to_ask(own) && (halt = interrupted())); ) {
        items.stop = walk.start + count;
        run_items(own, &items, &halt);
        if (halt) break;
    }
    if (!plan->item) let_go(state);
    real = items.real;
done:
    if (!memory) fail(__ufm_host.memory_error, "no memory for a contiguous copy of the core dimensions");
    free_cores(cores, all, memory);
    free(cores);
    restore(&before, halt ? 0 : real);
    return halt ? -1 : 0;
}

/* --------------------------------------------------------------------------- loops of another process

   What NumPy calls where the code itself must not run here: see ufunc_magic/guard/sandbox.py. */
typedef struct {
    const UfuncCall *made_by; /* NULL: a method's */
    const char *said;         /* NULL, or what went wrong */
    void *kind;               /* class of the exception */
    Flags flags;
} Answer;
typedef struct {
    void (*call)(ptrdiff_t, char **, const ptrdiff_t *, const ptrdiff_t *, Answer *);
    ptrdiff_t index;
    void *interrupt; /* KeyboardInterrupt */
} Remote;

EXPORT void __ufm_remote_loop(char **args, const ptrdiff_t *dimensions, const ptrdiff_t *steps, void *data)
{
    const Remote *remote = data;
    const Flags before = raised();
    /* ctypes drops an interrupt that comes before the callback's first line, and after its last one.  So it is looked for
       here, and an answer is one only if the callback has written it. */
    if (dimensions[0] <= 0 || doomed(ask_own()) || interrupted()) return;
    Answer answer = {.made_by = ask_own()->call, .said = "", .kind = remote->interrupt};
    remote->call(remote->index, args, dimensions, steps, &answer);
    if (answer.said) fail(answer.kind, answer.said);
    set_raised(answer.said ? before : before | (answer.flags & ALL_FLAGS));
}
