/* What a process that tries out new code notes when the code ends it: the signal, the address, the
   instructions on the stack.  Compiled once per compiler, opened by ufunc_magic/guard/helper/probe.py.

   The record lies in memory that the process which forked this one sees too. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 96
#define WORDS 16384
#define ENDED 77 /* exit status after a noted signal */

typedef struct {
    uint64_t number, started; /* of the case under way: written by guard/helper/probe_memory.py */
    uint64_t done;            /* 1: every case returned */
    uint64_t signal, address, pc, sp, overflow, memory;
    uint64_t access;    /* 1 read, 2 write, 0 not known, 3 no access at all: the signal was sent */
    uint64_t low, high; /* where the library is mapped: written by guard/helper/probe_memory.py */
    uint64_t frames;
    uint64_t frame[FRAMES];
} Record;

static Record *record;
static char *top;            /* of the stack, about */
static uint64_t stack_size, most_memory;

/* Number `place` of a line in /proc, 0 where there is none: getrusage() has only memory that was touched. */
static uint64_t number_in(const char *name, int place)
{
    char text[64];
    uint64_t number = 0;
    const int file = open(name, O_RDONLY);
    if (file < 0) return 0;
    const ssize_t count = read(file, text, sizeof text);
    close(file);
    ssize_t k = 0;
    for (; k < count && place; k++) place -= text[k] == ' ';
    for (; k < count && text[k] >= '0' && text[k] <= '9'; k++) number = number * 10 + (uint64_t)(text[k] - '0');
    return number;
}

static void note(int number, siginfo_t *info, void *context)
{
    uintptr_t pc = 0, sp = 0;
#if defined(__linux__) && defined(__x86_64__)
    const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    if (number == SIGSEGV && m->gregs[REG_TRAPNO] == 14) record->access = m->gregs[REG_ERR] & 2 ? 2 : 1;
    pc = (uintptr_t)m->gregs[REG_RIP], sp = (uintptr_t)m->gregs[REG_RSP];
#elif defined(__linux__) && defined(__aarch64__)
    const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    pc = (uintptr_t)m->pc, sp = (uintptr_t)m->sp;
#elif defined(__APPLE__) && defined(__x86_64__)
    const mcontext_t m = ((ucontext_t *)context)->uc_mcontext;
    pc = (uintptr_t)m->__ss.__rip, sp = (uintptr_t)m->__ss.__rsp;
#elif defined(__APPLE__) && defined(__aarch64__)
    const mcontext_t m = ((ucontext_t *)context)->uc_mcontext;
    pc = (uintptr_t)m->__ss.__pc, sp = (uintptr_t)m->__ss.__sp;
#else
    (void)context;
#endif
    if (info->si_code <= 0) record->access = 3;
    record->address = (uint64_t)(uintptr_t)info->si_addr;
    record->pc = pc;
    record->sp = sp;
    const uintptr_t low = (uintptr_t)top - stack_size;
#ifdef __linux__
    const int own = syscall(SYS_gettid) == getpid(); /* other threads' stacks lie elsewhere */
#else
    const int own = 1;
#endif
    record->overflow = own && stack_size && sp && sp < (uintptr_t)top && sp < low + (1 << 20);
    record->signal = (uint64_t)number;
    record->memory = most_memory && number_in("/proc/self/statm", 0) * (uint64_t)sysconf(_SC_PAGESIZE) + (most_memory >> 4) > most_memory;
    uint64_t count = 0;
    /* Words on the stack that point into the library: among them are those where its functions go on.  Frame pointers
       would do if libc had them, through which abort() and memset() fail. */
    if (record->overflow) sp = (sp + 8192) & ~(uintptr_t)4095; /* what it points to is not there */
    for (const uintptr_t *at = (const uintptr_t *)sp; sp && count < FRAMES && (char *)(at + 1) < top; at++) {
        if (at - (const uintptr_t *)sp > WORDS) break;
        if (*at >= record->low && *at < record->high) record->frame[count++] = *at;
    }
    record->frames = count;
    _exit(ENDED);
}

/* Note in `to` from now on what takes too long and, if `all`, what else ends this process. */
EXPORT void watch(Record *to, uint64_t memory, int all)
{
    static char room[1 << 16];
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct rlimit limit;
    record = to;
    most_memory = memory;
    top = (char *)__builtin_frame_address(0);
    stack_size = !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
    sigfillset(&action.sa_mask);
    if (!all) return;
    sigaltstack(&stack, NULL);
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++) sigaction(fatal[k], &action, NULL);
}

/* Nanoseconds that this process was ready to run and had no processor; 0 where the system does not tell. */
static uint64_t waited(void) { return number_in("/proc/self/schedstat", 1); }

static uint64_t before, patience; /* what it had waited when the case began, and the case's nanoseconds */
static volatile int rings;

/* Who has waited for a processor half of the time has four times as long. */
static void late(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    if (++rings >= 4 || waited() - before < patience / 2 * (uint64_t)rings) note(number, info, context);
    errno = error;
}

/* A case begins that may take so many seconds; none does with 0. */
EXPORT void limit(double seconds)
{
    struct sigaction action = {.sa_sigaction = late, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    const struct timeval time = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};
    const struct itimerval timer = {time, time};
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    rings = 0, before = seconds > 0 ? waited() : 0, patience = (uint64_t)(seconds * 1e9);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* A loop that leaves everything as it is, to call when the way there is tried. */
EXPORT void nothing(char **args, const intptr_t *dimensions, const intptr_t *steps, void *data)
{
    (void)args, (void)dimensions, (void)steps, (void)data;
}
