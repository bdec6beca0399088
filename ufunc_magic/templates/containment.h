/* Calls of a cell's code are contained: a fault ends the call, and not the process.

   Part of driver.c.  Every call of a kernel stands behind a Frame, which is where the handlers of SIGSEGV, SIGFPE and
   their like jump to while this thread is inside; so do exit(), abort(), assert() and raise() of the cell's own code,
   which is linked with the definitions below.  One object of a process has the handlers, the first that its loader
   asks to (__ufm_contain_3); the others are given the way to it (__ufm_containment_3).  Without one, nothing here does
   anything, and faults are what they are in C.

   Objects of several versions of this file meet in one process: what they share has its version in the name, and no
   field of it may change its place.  Nothing here links against more than the oldest C library has: the rest comes
   from dlsym(), whose address the loader knows. */
#if !defined(_WIN32) && !defined(UFM_CHECKED)
#define CONTAINED
#endif
#include "frame.h"

/* What ended a call, where it was no signal; numbers of runtime/faults.py. */
enum { ASSERTED = -1, EXITED = -2, ABORTED = -3, JUMPED = -4, RAISED = -5, STACK_FULL = -6, INTERRUPTED = -7,
       OVERRUN = -8, OUT_OF_RANGE = -9, REFUSED = -10 };
enum { STACK_SIZE = 1 << 16 };
enum { FAULTED = 2 }; /* what a call says that did not come back */
enum { OF_A_THREAD = 2 }; /* Inside.stopping, for a fault of another thread */

typedef struct {
    int kind;      /* a signal, or one of the above */
    int code;      /* si_code of a signal; the status of EXITED; the signal of RAISED */
    int line;      /* of ASSERTED and OUT_OF_RANGE */
    int access;    /* of memory: 1 read, 2 written, 0 not known */
    uintptr_t address;
    const char *text, *file, *function; /* of the same; text of REFUSED too */
    uintptr_t place; /* of the code, of a signal */
} Fault;

/* The main thread's stack, for functions without a frame: it begins at the floor and has so much room.  No room: the
   function is to look closely, which it does at first and once in a tick. */
typedef struct __ufm_stack {
    uintptr_t floor;
    volatile uintptr_t room;
    struct __ufm_stack *next; /* that of another object */
    int listed;
    const struct __ufm_object *object;
} Stack;

typedef __ufm_frame Frame;
enum { ENTRY = 2 }; /* Frame.python, of Python's own calls */
typedef struct __ufm_object {
    void (*leave)(Frame *);
    const char *low, *high; /* the object's code, as far as that is known */
    struct __ufm_stack *stack;
    int (*in_parallel)(void); /* omp_in_parallel, of code with OpenMP */
} Object;
#define SET_JUMP __UFM_SET_JUMP
#define JUMP_TO __UFM_JUMP_TO

/* One for each thread, in the object that has the handlers. */
typedef struct {
    Frame *frame;          /* the innermost call; NULL: no code of a cell is running */
    volatile int calls;    /* loops under way */
    volatile int watched;  /* a tick will look whether SIGINT is heard; 1 in all threads but the main one */
    volatile int stopping; /* the user wants this thread out, and it has not looked yet */
    volatile int tries;
    volatile int patience; /* while malloc() is tried: looks until it counts as dead */
    int ready;
    void *stack; /* for handlers, of ours */
    int is_main;
    uintptr_t floor, room; /* of the thread's stack; no room: not measured */
    Fault fault; /* the last one */
} Inside;

/* What the object that has the handlers gives to the others. */
typedef struct {
    Inside *(*inside)(void);             /* this thread's */
    void (*check)(void);                 /* that the handlers are still ours */
    void (*watch)(Inside *);             /* hear SIGINT, while this thread computes */
    void (*settle)(Inside *);            /* after a fault: end the process if it can only hang from here on */
    void (*look)(Inside *, Stack *);     /* at the stack of this thread, and whether SIGINT is heard */
    void *(*find)(void *, const char *); /* dlsym */
    void *(*import)(const char *);       /* PyImport_ImportModule */
    void *(*call)(void *, const char *, const char *, ...); /* PyObject_CallMethod */
    void (*forget)(void *);              /* Py_DecRef */
    void (*know)(Stack *);               /* an object: faults in its code end a thread that the code has made */
    void (*end_thread)(Fault);           /* the running thread, which the code has made */
    int (*take)(Fault *);                /* 1: some thread has ended so; the first one's fault */
} Containment;

#ifdef CONTAINED
#define STOP SIGURG /* asks a thread to leave: ignored where nobody hears it */

EXPORT const Containment *__ufm_containment_3;

/* A signal's handlers below ours, the eldest first. */
enum { MOST_BELOW = 4 };
typedef struct {
    int count;
    struct sigaction below[MOST_BELOW];
    volatile int level, thread; /* which one is at it, in which thread */
} Signal;
static const unsigned char faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
enum { SIGNALS = sizeof faults };
static Signal *signals; /* of the object that has the handlers: a page of every object would be theirs */
static struct sigaction below_interrupt, below_stop;
static unsigned int key; /* pthread_key_t; __thread would be allocated where a handler asks first */
static void *(*get_own)(unsigned int);
static int (*set_own)(unsigned int, const void *);
static Containment containment;
static __thread Inside inside;
static Inside *of_main; /* the main thread's, once it has been in a call */
static Stack *stacks;   /* of all objects that have looked */

RARE static int thread_number(void)
{
#ifdef __linux__
    return (int)syscall(SYS_gettid);
#else
    return (int)getpid();
#endif
}

/* Where the signal met the thread; 0 where that is not known. */
RARE static uintptr_t place(const void *context, int stack)
{
#if defined(__linux__) && defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[stack ? REG_RSP : REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    return (uintptr_t)(stack ? m->sp : m->pc);
#elif defined(__APPLE__) && defined(__aarch64__)
    const mcontext_t m = ((const ucontext_t *)context)->uc_mcontext;
    return (uintptr_t)(stack ? m->__ss.__sp : m->__ss.__pc);
#elif defined(__APPLE__) && defined(__x86_64__)
    const mcontext_t m = ((const ucontext_t *)context)->uc_mcontext;
    return (uintptr_t)(stack ? m->__ss.__rsp : m->__ss.__rip);
#else
    (void)context, (void)stack;
    return 0;
#endif
}
#include "access.h"

/* C's functions of memory: they call nothing, lock nothing, and use no stack.  Their variants lie next to them. */
static const char *const memory_names[] = {"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcpy"};
enum { MEMORY_FUNCTIONS = sizeof memory_names / sizeof *memory_names, MEMORY_SIZE = 2048 };
static const char *memory_functions[MEMORY_FUNCTIONS];

RARE static int in_cell(const Frame *frame, const void *context)
{
    const char *at = (const char *)place(context, 0);
    int leaf = !at; /* a null pointer was called */
    for (int k = 0; k < MEMORY_FUNCTIONS; k++)
        leaf |= memory_functions[k] && at >= memory_functions[k] && at - memory_functions[k] < MEMORY_SIZE;
    /* By whom it would return to. */
#if defined(__linux__) && defined(__x86_64__)
    if (leaf) at = *(const char *const *)place(context, 1);
#elif defined(__linux__) && defined(__aarch64__)
    if (leaf) at = (const char *)((const ucontext_t *)context)->uc_mcontext.regs[30];
#endif
    return at && at >= frame->object->low && at < frame->object->high;
}

static void leave(Frame *frame) { JUMP_TO(frame->jump); }
RARE static void leave_with(Inside *in, Fault fault) __attribute__((noreturn));
static void leave_with(Inside *in, Fault fault)
{
    Frame *frame = in->frame;
    in->fault = fault;
    in->frame = frame->previous;
    frame->object->leave(frame);
    __builtin_unreachable();
}

/* What a full stack of Python's calls leaves for the exception: entries without room for it are left, too. */
enum { ROOM = 256 << 10 };
RARE static void make_room(Inside *in, uintptr_t sp)
{
    while ((uintptr_t)in->frame < sp + ROOM && in->frame->python == ENTRY && in->frame->previous &&
           in->frame->previous->python == ENTRY) {
        in->frame = in->frame->previous;
        in->calls--;
    }
}

RARE static void send(int number, int end)
{
    const sigset_t none = {0};
    if (end) sigprocmask(SIG_SETMASK, &none, NULL);
#ifdef __linux__
    syscall(SYS_tgkill, getpid(), thread_number(), number);
#else
    kill(getpid(), number);
#endif
}
RARE static void die_of(int number)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(number, &normal, NULL);
    send(number, 1);
}

/* Who did not ask for the other arguments leaves them in their registers. */
RARE static void call_handler(const struct sigaction *action, int number, siginfo_t *info, void *context)
{
    action->sa_sigaction(number, info, context);
}

/* No fault of ours: what would have come without us.  A handler that came later than ours and was put below again
   may end in ours once more; then it is the next one's turn. */
RARE static void chain(Signal *signal, int number, siginfo_t *info, void *context)
{
    const int thread = thread_number(), error = errno;
    const int again = signal->thread == thread, before = again ? signal->level : signal->count;
    const struct sigaction *action = before > 0 ? signal->below + before - 1 : NULL;
    if (!action || action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        if (action && action->sa_handler == SIG_IGN && info->si_code <= 0) return;
        struct sigaction normal = {.sa_handler = SIG_DFL};
        sigaction(number, &normal, NULL);
        /* What an instruction has raised comes again by itself, with its address. */
        if (info->si_code <= 0) die_of(number);
        return;
    }
    signal->level = before - 1;
    signal->thread = thread;
    call_handler(action, number, info, context);
    signal->level = before;
    if (!again) signal->thread = 0;
    errno = error;
}

/* Of Stop, in nanoseconds and looks; below. */
enum { GRACE = 150000000, SOON = 10000000, TRIES = 12 };

/* Objects whose code has run. */
RARE static void know_object(Stack *stack)
{
    if (__atomic_exchange_n(&stack->listed, 1, __ATOMIC_ACQ_REL)) return;
    stack->next = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&stacks, &stack->next, stack, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
}
RARE static const Object *find_object(const char *at)
{
    for (const Stack *stack = stacks; stack; stack = stack->next)
        if (stack->object && at >= stack->object->low && at < stack->object->high) return stack->object;
    return NULL;
}

RARE static int is_in_parallel(const Object *object) { return object && object->in_parallel && object->in_parallel(); }

/* A thread of OpenMP can only end if the call that waits for it can be left. */
RARE static int may_end_thread(const Object *object)
{
    return object && (!is_in_parallel(object) || (of_main && of_main->frame && !of_main->frame->python));
}

/* A thread that the code has made, and that nobody calls: it ends alone.  The kernel wakes up whoever joins it; the call
   that is under way tells of it when it ends. */
static Fault lost_fault;
static volatile int lost_threads;
RARE static void end_thread(Fault fault)
{
    if (!__atomic_fetch_add(&lost_threads, 1, __ATOMIC_ACQ_REL)) lost_fault = fault;
    __asm__ volatile("" : : : "memory"); /* to the compiler nothing comes after this */
#ifdef __linux__
    if (is_in_parallel(find_object((const char *)fault.place)) && of_main) {
        /* The others would wait for it at the end of the loop, for ever. */
        of_main->tries = TRIES;
        of_main->stopping = OF_A_THREAD;
        syscall(SYS_tgkill, getpid(), getpid(), STOP);
    }
    for (;;) syscall(SYS_exit, 0);
#endif
}
RARE static int take_lost(Fault *fault)
{
    if (!lost_threads) return 0;
    *fault = lost_fault;
    return __atomic_exchange_n(&lost_threads, 0, __ATOMIC_ACQ_REL) > 0;
}

RARE static Fault describe(int number, siginfo_t *info, void *context)
{
    const int sent = info->si_code <= 0;
    Fault fault = {.kind = number, .code = info->si_code, .address = sent ? 0 : (uintptr_t)info->si_addr,
                   .place = place(context, 0)};
    if ((number == SIGSEGV || number == SIGBUS) && !sent) {
#if defined(__linux__) && defined(__x86_64__)
        const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
        if (r[REG_TRAPNO] == 14) fault.access = r[REG_ERR] & 2 ? 2 : 1;
#elif defined(__linux__) && defined(__aarch64__)
        fault.access = access_at(info, context);
#endif
    }
    return fault;
}

RARE static void on_fault(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    /* A handler still has the code's checks of alignment. */
    __asm__ volatile("pushfq; andl $~0x40000, (%%rsp); popfq" : : : "memory", "cc");
#endif
    Inside *in = get_own(key);
    Frame *frame = in ? in->frame : NULL;
    const int sent = info->si_code <= 0;
    const uintptr_t sp = place(context, 1);
    /* Between the stack's end and the frame all would be there, were it not full. */
    const int full = (number == SIGSEGV || number == SIGBUS) && !sent && sp &&
                     (uintptr_t)info->si_addr + 65536 > sp && (uintptr_t)info->si_addr < (uintptr_t)frame;
    if (frame && (!frame->python || full || in_cell(frame, context)) && !(sent && info->si_pid != getpid())) {
        Fault fault = describe(number, info, context);
        if (full) {
            fault.kind = STACK_FULL;
            make_room(in, sp);
        }
        leave_with(in, fault);
    }
#ifdef __linux__
    if (!frame && !sent && thread_number() != getpid() && may_end_thread(find_object((const char *)place(context, 0))))
        end_thread(describe(number, info, context));
#endif
    for (int k = 0; k < SIGNALS; k++)
        if (faults[k] == number) chain(signals + k, number, info, context);
}

/* ------------------------------------------------------------------------------------------ Stop

   Python's handler of SIGINT only notes the signal, and the driver looks every 50 ms.  A call that has not looked
   GRACE later is left where it is, the sooner where that is the cell's own code: elsewhere it may have locked
   something. */

#ifdef __linux__
/* A timer of the thread that uses it first. */
typedef struct {
    int number, process;
} Timer;
static Timer stop_timer, tick;
#ifndef sigev_notify_thread_id /* older glibc has the field only */
#define sigev_notify_thread_id _sigev_un._tid
#endif
RARE static void start_timer(Timer *timer, clockid_t clock, long first, long interval)
{
    const struct itimerspec when = {.it_value = {.tv_nsec = first}, .it_interval = {.tv_nsec = interval}};
    if (timer->process != getpid()) { /* a child has none */
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = STOP};
        event.sigev_value.sival_ptr = timer;
        event.sigev_notify_thread_id = thread_number();
        if (syscall(SYS_timer_create, clock, &event, &timer->number)) return;
        timer->process = getpid();
    }
    syscall(SYS_timer_settime, timer->number, 0, &when, NULL);
}
static void stop_after(long nanoseconds) { start_timer(&stop_timer, CLOCK_MONOTONIC, nanoseconds, 0); }
static int is_main(void) { return thread_number() == getpid(); }
#else
static void stop_after(long nanoseconds) { (void)nanoseconds; } /* the second SIGINT stops it */
static int is_main(void) { return 1; }
#endif

/* What was left may have had the lock of malloc(), which would then wait for ever: C's own end is better.  Counted in
   looks, after each of which the thread could have gone on, and not in time: the machine may be busy. */
enum { LOOK = 50000000, LOOKS = 20 };
RARE static void settle(Inside *in)
{
#ifdef __linux__
    Timer timer = {.process = 0};
    const int kind = in->fault.kind;
    if (kind == SIGFPE || kind == SIGILL || (kind < 0 && kind != INTERRUPTED)) return;
    in->patience = LOOKS;
    start_timer(&timer, CLOCK_MONOTONIC, LOOK, LOOK);
    void *volatile some = malloc(5000); /* more than a thread has of its own */
    free(some);
    in->patience = 0;
    if (timer.process) syscall(SYS_timer_delete, timer.number);
#else
    (void)in;
#endif
}
RARE static void lost(siginfo_t *info, void *context)
{
    static const char text[] =
        "ufunc_magic: a cell's code has corrupted the heap, so this process cannot continue.\n";
    const ssize_t written = write(2, text, sizeof text - 1);
    (void)written;
#ifdef __linux__
    info->si_code = SI_TKILL;
#else
    info->si_code = SI_USER;
#endif
    for (int k = 0; k < SIGNALS; k++)
        if (faults[k] == SIGABRT) chain(signals + k, SIGABRT, info, context);
    for (;;) die_of(SIGABRT);
}

static void have_all_look(void)
{
    for (Stack *stack = stacks; stack; stack = stack->next) stack->room = 0;
}

/* Leave, if that can be done here.  A function without a frame raises the exception itself, because what called it may
   be Python's: list.sort() would lose the list. */
RARE static void try_to_stop(Inside *in, const void *context)
{
    const Frame *frame = in->frame;
    if (frame && frame->object->stack->room) {
        have_all_look();
        in->tries++;
        return;
    }
    const int here = frame && in_cell(frame, context);
    if (frame && (here || (!frame->python && in->tries >= TRIES))) {
        const int of_a_thread = in->stopping == OF_A_THREAD;
        Fault fault = {.kind = INTERRUPTED};
        if (of_a_thread) take_lost(&fault);
        in->stopping = in->tries = 0;
        leave_with(in, fault);
    }
    in->tries++;
}

RARE static void on_interrupt(int number, siginfo_t *info, void *context)
{
    static volatile int thread; /* whose handler below may call this one again */
    const int own = thread_number(), error = errno;
    if (thread == own) return;
    thread = own;
    call_handler(&below_interrupt, number, info, context);
    thread = 0;
    Inside *in = get_own(key);
#ifdef __linux__
    /* The main thread was deaf for a moment, as it is while it makes a thread, so that another one hears the signal. */
    if (!is_main() && of_main && of_main->calls) {
        of_main->stopping = 1;
        of_main->tries = 0;
        syscall(SYS_tgkill, getpid(), getpid(), STOP);
    }
#endif
    if (in && in->calls && is_main()) {
        const int again = in->stopping;
        in->stopping = 1;
        in->tries = again ? TRIES : 0;
        if (again) try_to_stop(in, context);
        stop_after(again ? SOON : GRACE);
    }
    errno = error;
}

/* Python sets the handler of SIGINT anew where signal.signal() is called, as Jupyter does for each cell.  So it is looked
   after once in TICK of this thread's own time, also while it computes; that clock stands still in a sleeping thread,
   whose system calls it so leaves alone. */
RARE static void hear_interrupts(void)
{
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) || now.sa_sigaction == on_interrupt) return;
    if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
    below_interrupt = now;
    now.sa_sigaction = on_interrupt;
    now.sa_flags |= SA_SIGINFO | SA_NODEFER;
    sigaction(SIGINT, &now, NULL);
}
RARE static void watch(Inside *in)
{
    in->watched = 1;
#ifdef __linux__
    enum { TICK = 30000000 };
    start_timer(&tick, CLOCK_THREAD_CPUTIME_ID, TICK, 0);
#endif
    hear_interrupts();
}

RARE static void on_stop(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    Inside *in = get_own(key);
    int ticked = 0;
#ifdef __linux__
    ticked = info->si_code == SI_TIMER && info->si_value.sival_ptr == &tick;
#endif
    if (ticked) {
        in->watched = 0;
        have_all_look();
        if (in->calls) watch(in);
    }
    else if (in && in->patience) {
        if (!--in->patience) lost(info, context);
    }
    else if (in && in->calls && in->stopping) {
        try_to_stop(in, context);
        if (is_main()) stop_after(SOON);
    }
    else if (info->si_code == SI_TIMER) ; /* too late */
    else if (below_stop.sa_handler != SIG_DFL && below_stop.sa_handler != SIG_IGN)
        call_handler(&below_stop, number, info, context);
    errno = error;
}

/* -------------------------------------------------------------------------------- the object that has them */

/* Stand above whatever was installed since. */
RARE static void check_handlers(void)
{
    struct sigaction now, ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    for (int k = 0; k < SIGNALS; k++) {
        Signal *signal = signals + k;
        if (sigaction(faults[k], NULL, &now) || now.sa_sigaction == on_fault) continue;
        int known = 0; /* one that was below before and has restored itself */
        while (known < signal->count && signal->below[known].sa_sigaction != now.sa_sigaction) known++;
        if (known < signal->count) signal->count = known + 1;
        else if (signal->count < MOST_BELOW) signal->below[signal->count++] = now;
        else signal->below[MOST_BELOW - 1] = now;
        sigaction(faults[k], &ours, NULL);
    }
    if (!sigaction(STOP, NULL, &now) && now.sa_sigaction != on_stop) {
        below_stop = now;
        ours.sa_sigaction = on_stop;
        ours.sa_flags |= SA_RESTART;
        sigaction(STOP, &ours, NULL);
    }
    hear_interrupts();
}

/* A thread ends. */
RARE static void leave_thread(void *value)
{
    Inside *in = value;
    const stack_t none = {.ss_flags = SS_DISABLE};
    in->ready = 0;
    if (!in->stack) return;
    sigaltstack(&none, NULL);
    munmap(in->stack, STACK_SIZE);
    in->stack = NULL;
}

/* Where the stack ends, with ROOM for what Python does about it. */
RARE static void measure_stack(Inside *in)
{
    void *low = NULL;
    size_t size = 0;
#ifdef __linux__
    pthread_attr_t attributes;
    void *const all = RTLD_DEFAULT;
    pthread_t (*self)(void) = containment.find(all, "pthread_self");
    int (*ask)(pthread_t, pthread_attr_t *) = containment.find(all, "pthread_getattr_np");
    int (*get)(const pthread_attr_t *, void **, size_t *) = containment.find(all, "pthread_attr_getstack");
    int (*drop)(pthread_attr_t *) = containment.find(all, "pthread_attr_destroy");
    if (self && ask && get && drop && !ask(self(), &attributes)) {
        get(&attributes, &low, &size);
        drop(&attributes);
    }
#endif
    in->floor = size > 2 * ROOM ? (uintptr_t)low + ROOM : 0;
    in->room = size > 2 * ROOM ? size - ROOM : UINTPTR_MAX;
}
RARE static void look_at_stack(Inside *in, Stack *stack)
{
    if (!in->room) measure_stack(in);
    if (!in->is_main) return;
    know_object(stack);
    stack->floor = in->floor;
    stack->room = in->room;
    if (!in->watched) watch(in);
}

/* A thread's first call: where handlers run when its stack is full. */
RARE static Inside *enter_thread(void)
{
    Inside *in = &inside;
    stack_t now;
    if (in->ready) return in;
    in->ready = 1;
    in->is_main = is_main();
    in->watched = !in->is_main;
    if (in->is_main) of_main = in;
    set_own(key, in);
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE)) return in;
    stack_t ours = {.ss_size = STACK_SIZE};
    ours.ss_sp = mmap(NULL, ours.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ours.ss_sp == MAP_FAILED) return in;
    sigaltstack(&ours, NULL);
    in->stack = ours.ss_sp;
    return in;
}

/* Have the handlers of this process.  Called once, with the loader's functions; what it returns belongs into every
   object's __ufm_containment_3. */
EXPORT RARE const Containment *__ufm_contain_3(void *find, void *import, void *call, void *forget)
{
    containment = (Containment){enter_thread, check_handlers, watch, settle, look_at_stack, find, import, call, forget,
                                know_object, end_thread, take_lost};
    void *const all = RTLD_DEFAULT;
    int (*make)(unsigned int *, void (*)(void *)) = containment.find(all, "pthread_key_create");
    get_own = containment.find(all, "pthread_getspecific");
    set_own = containment.find(all, "pthread_setspecific");
    signals = calloc(SIGNALS, sizeof *signals);
    for (int k = 0; k < MEMORY_FUNCTIONS; k++) memory_functions[k] = containment.find(all, memory_names[k]);
    if (!signals || !make || !get_own || !set_own || make(&key, leave_thread)) return NULL;
    check_handlers();
    return &containment;
}

/* ------------------------------------------------------------------------------- what the cell calls

   Weak, so that a cell may have functions of these names.  Seen by nobody else: libraries end the process as ever. */
#define NAME_1(prefix, name) #prefix name
#define NAME_2(prefix, name) NAME_1(prefix, name)
#define NAMED(name) __asm__(NAME_2(__USER_LABEL_PREFIX__, name)) __attribute__((weak, visibility("hidden"), used, cold))

static Inside *inside_now(void);
static const Containment *contained(void) { return __ufm_containment_3; }
static int is_frame_of_this(const Frame *);

RARE static void leave_if_contained(Fault fault)
{
    Inside *in = inside_now();
    if (in && in->frame) leave_with(in, fault);
    if (in && !is_main()) contained()->end_thread(fault);
}
RARE static void *real(const char *name) { return contained() ? contained()->find(RTLD_NEXT, name) : NULL; }

/* The process's own end; without a loader's help no function of atexit() is called. */
RARE static void really_exit(const char *name, int status)
{
    void (*its)(int) = real(name);
    if (its) its(status);
    if (*name != '_') fflush(NULL);
    for (;;) {
#ifdef __linux__
        syscall(SYS_exit_group, status);
#else
        kill(getpid(), SIGKILL);
#endif
    }
}
RARE static void end(const char *name, int status)
{
    leave_if_contained((Fault){.kind = EXITED, .code = status & 255});
    really_exit(name, status);
}
void ufm_exit(int) NAMED("exit");
void ufm_exit(int status) { end("exit", status); }
void ufm_quick_exit(int) NAMED("quick_exit");
void ufm_quick_exit(int status) { end("quick_exit", status); }
void ufm__exit(int) NAMED("_exit");
void ufm__exit(int status) { end("_exit", status); }
void ufm__Exit(int) NAMED("_Exit");
void ufm__Exit(int status) { end("_Exit", status); }

RARE static void really_abort(void)
{
    send(SIGABRT, 1);
    for (;;) die_of(SIGABRT);
}
void ufm_abort(void) NAMED("abort");
void ufm_abort(void)
{
    leave_if_contained((Fault){.kind = ABORTED});
    really_abort();
}

RARE static void fail_assertion(const char *text, const char *file, int line, const char *function)
{
    leave_if_contained((Fault){.kind = ASSERTED, .text = text, .file = file, .line = line, .function = function});
    const char *name = "";
#ifdef __linux__
    name = program_invocation_short_name;
#endif
    dprintf(2, "%s%s%s:%d: %s%sAssertion `%s' failed.\n", name, *name ? ": " : "", file, line, function ? function : "",
            function ? ": " : "", text);
    really_abort();
}
#ifdef __APPLE__
void ufm_assert(const char *, const char *, int, const char *) NAMED("__assert_rtn");
void ufm_assert(const char *function, const char *file, int line, const char *text)
{
    fail_assertion(text, file, line, function);
}
#else
void ufm_assert(const char *, const char *, unsigned int, const char *) NAMED("__assert_fail");
void ufm_assert(const char *text, const char *file, unsigned int line, const char *function)
{
    fail_assertion(text, file, (int)line, function);
}
#endif

/* The compiler has a function look, before it returns, whether one of its arrays was overrun. */
void ufm_stack_chk_fail(void) NAMED("__stack_chk_fail");
void ufm_stack_chk_fail(void)
{
    const Inside *in = inside_now();
    /* An array that was overrun by more than there is room for has overwritten what it would be left to. */
    if (in && in->frame && is_frame_of_this(in->frame))
        leave_if_contained((Fault){.kind = OVERRUN, .place = (uintptr_t)__builtin_return_address(0)});
    static const char text[] = "*** stack smashing detected ***: terminated\n";
    const ssize_t written = write(2, text, sizeof text - 1);
    (void)written;
    really_abort();
}

/* libstdc++ with _GLIBCXX_ASSERTIONS: std::__glibcxx_assert_fail(file, line, function, condition). */
void ufm_container_fail(const char *, int, const char *, const char *) NAMED("_ZSt21__glibcxx_assert_failPKciS0_S0_");
void ufm_container_fail(const char *file, int line, const char *function, const char *text)
{
    leave_if_contained((Fault){.kind = OUT_OF_RANGE, .text = text, .file = file, .line = line, .function = function,
                               .place = (uintptr_t)__builtin_return_address(0)});
    dprintf(2, "%s:%d: %s: Assertion '%s' failed.\n", file, line, function, text);
    really_abort();
}

/* A signal that nobody hears and that would end the process is like abort(). */
int ufm_raise(int) NAMED("raise");
int ufm_raise(int number)
{
    struct sigaction now;
    const int harmless = number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
    const int pause = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    if (number <= 0 || sigaction(number, NULL, &now)) return -1;
    if (now.sa_handler == SIG_DFL && !harmless && !pause) leave_if_contained((Fault){.kind = RAISED, .code = number});
    send(number, 0);
    return 0;
}

#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__ILP32__)
/* Out of the call, or to a function that has returned.  glibc keeps the stack pointer in the seventh word, turned
   and mixed with a word of the thread's (PTR_MANGLE). */
RARE static void check_jump(void *buffer)
{
    const Inside *in = inside_now();
    uintptr_t to = ((const uintptr_t *)buffer)[6], mask;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    enum { STACK = 64 << 20 }; /* further away are stacks of somebody's own */
    if (!in || !in->frame) return;
    __asm__("mov %%fs:0x30, %0" : "=r"(mask));
    to = (to >> 17 | to << 47) ^ mask;
    const uintptr_t frame = (uintptr_t)in->frame;
    if ((to > frame && to - frame < STACK) || (to < here && here - to < STACK)) leave_if_contained((Fault){.kind = JUMPED});
}
void ufm_siglongjmp(void *, int) __asm__("siglongjmp") __attribute__((noreturn));
void ufm_longjmp(void *, int) NAMED("longjmp");
void ufm_longjmp(void *buffer, int value)
{
    check_jump(buffer);
    ufm_siglongjmp(buffer, value);
}
void ufm__longjmp(void *, int) NAMED("_longjmp");
void ufm__longjmp(void *buffer, int value) { ufm_longjmp(buffer, value); }
#endif
#endif
