/* Calls that reach the whole process, of a cell that names one of them: they end the call and not the process, or are
   undone when the call ends.

   Compiled by itself and linked with such cells only (codegen/process_calls.py), whose unit calls the functions here by
   `#pragma redefine_extname`.  The driver calls __ufm_keep_process() before and after each of its calls. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define OWN(name) __ufm_own_##name

/* Of the driver: whether this thread is in a call that can be left; leaving it, as what. */
HIDDEN int __ufm_in_call(void);
HIDDEN void __ufm_leave_call(int kind, int code, const char *text);
HIDDEN void __ufm_tell_lost(void); /* of a fault of a thread that the cell has made */
HIDDEN extern const char __ehdr_start[] __attribute__((weak)), etext[] __attribute__((weak));
enum { EXITED = -2, RAISED = -5, REFUSED = -10 }; /* numbers of containment.h */

/* Signals by which faults of calls and Stop are heard. */
static int is_ours(int number)
{
    switch (number) {
    case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGABRT: case SIGTRAP: case SIGURG: return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------ the state of the process */

/* The parts of the state that the cell may change: _STATE of codegen/process_calls.py. */
HIDDEN extern int __ufm_kept;
enum { KEEP_SIGNALS = 1, KEEP_LIMITS = 2, KEEP_TIMERS = 4, KEEP_FOLDER = 8, KEEP_LOCALE = 16, KEEP_UMASK = 32, KEEP_FILES = 64,
       KEEP_FLAGS = 128, KEEP_CHILDREN = 256, KEEP_CORES = 512, KEEP_STACK = 1024 };
static int keeps(int part) { return __ufm_kept & part; }

enum { SIGNALS = 32, LIMITS = RLIM_NLIMITS, TIMERS = 3, FILES = 256, MADE = 16 };
typedef unsigned char Set[FILES / 8];
static int depth; /* calls under way, in all threads */
static struct {
    pid_t process;
    pthread_t thread; /* whose mask, stack and processors these are */
    sigset_t mask;
    struct sigaction actions[SIGNALS];
    struct rlimit limits[LIMITS];
    struct itimerval timers[TIMERS];
    char folder[4096], locale[512];
    mode_t umask;
    cpu_set_t cores;
    stack_t stack;
    Set files; /* that were open before the call */
} before;
static Set opened; /* by earlier calls of the cell */
static timer_t made[MADE]; /* by this call: the kernel's numbers */
static int made_count;

static int has(const Set set, int number) { return number >= 0 && number < FILES && set[number / 8] >> number % 8 & 1; }
static void list_files(Set set)
{
    memset(set, 0, sizeof(Set));
    for (int k = 0; k < FILES; k++)
        if (fcntl(k, F_GETFD) >= 0) set[k / 8] |= 1 << k % 8;
}

static void save(void)
{
    before.process = keeps(KEEP_CHILDREN) ? getpid() : 0;
    before.thread = pthread_self();
    made_count = 0;
    if (keeps(KEEP_SIGNALS)) {
        sigprocmask(SIG_SETMASK, NULL, &before.mask); /* a thread's own on Linux, and older than pthread_sigmask in libc */
        for (int k = 1; k < SIGNALS; k++) sigaction(k, NULL, before.actions + k);
    }
    for (int k = 0; keeps(KEEP_LIMITS) && k < LIMITS; k++) getrlimit(k, before.limits + k);
    for (int k = 0; keeps(KEEP_TIMERS) && k < TIMERS; k++) getitimer(k, before.timers + k);
    if (keeps(KEEP_FOLDER) && !getcwd(before.folder, sizeof before.folder)) before.folder[0] = 0;
    const char *locale = keeps(KEEP_LOCALE) ? setlocale(LC_ALL, NULL) : NULL;
    before.locale[0] = 0;
    if (locale && strlen(locale) < sizeof before.locale) strcpy(before.locale, locale);
    if (keeps(KEEP_UMASK)) umask(before.umask = umask(0));
    if (keeps(KEEP_FILES)) list_files(before.files);
    if (keeps(KEEP_CORES)) sched_getaffinity(0, sizeof before.cores, &before.cores);
    if (keeps(KEEP_STACK)) sigaltstack(NULL, &before.stack);
}

static void undo(void)
{
    const int here = pthread_equal(before.thread, pthread_self());
    for (int k = 0; keeps(KEEP_TIMERS) && k < TIMERS; k++) {
        struct itimerval now, *const then = before.timers + k;
        getitimer(k, &now);
        if (timerisset(&now.it_value) != timerisset(&then->it_value)) setitimer(k, then, NULL);
    }
    for (int k = 1; keeps(KEEP_SIGNALS) && k < SIGNALS; k++) {
        struct sigaction now;
        if (!is_ours(k) && !sigaction(k, NULL, &now) && now.sa_handler != before.actions[k].sa_handler)
            sigaction(k, before.actions + k, NULL);
    }
    if (keeps(KEEP_SIGNALS) && here) sigprocmask(SIG_SETMASK, &before.mask, NULL);
    for (int k = 0; keeps(KEEP_LIMITS) && k < LIMITS; k++) {
        struct rlimit now;
        if (!getrlimit(k, &now) && memcmp(&now, before.limits + k, sizeof now)) setrlimit(k, before.limits + k);
    }
    char folder[sizeof before.folder];
    if (keeps(KEEP_FOLDER) && before.folder[0] && (!getcwd(folder, sizeof folder) || strcmp(folder, before.folder)) &&
        chdir(before.folder)) {}
    if (before.locale[0] && strcmp(setlocale(LC_ALL, NULL), before.locale)) setlocale(LC_ALL, before.locale);
    if (keeps(KEEP_UMASK)) umask(before.umask);
    if (keeps(KEEP_CORES) && here) sched_setaffinity(0, sizeof before.cores, &before.cores);
    if (keeps(KEEP_STACK) && here) sigaltstack(&before.stack, NULL);
    while (made_count) syscall(SYS_timer_delete, made[--made_count]); /* timer_delete() is in libc since 2.34 only */
    Set now_open;
    if (keeps(KEEP_FILES)) list_files(now_open);
    for (int k = 0; keeps(KEEP_FILES) && k < FILES / 8; k++)
        opened[k] = (opened[k] | (now_open[k] & ~before.files[k])) & now_open[k];
}

/* The direction of string instructions, checks of alignment, registers that MMX shares with the x87, and traps of
   floating-point operations, of which the driver has some. */
HIDDEN void __ufm_clear_flags(void)
{
#ifdef __x86_64__
    enum { DIRECTION = 1 << 10, ALIGNMENT = 1 << 18 };
    if (!keeps(KEEP_FLAGS)) return;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(DIRECTION | ALIGNMENT));
    __asm__ volatile("emms");
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x1f80);
#endif
}

/* 1: a call of the cell begins; 0: it ends, or it was left. */
HIDDEN void __ufm_keep_process(int begins)
{
    if (begins) {
        if (!__atomic_fetch_add(&depth, 1, __ATOMIC_ACQ_REL)) save();
        return;
    }
    __ufm_clear_flags();
    /* A child of fork() has no notebook to return to. */
    if (before.process && before.process != getpid()) _exit(0);
    if (__atomic_sub_fetch(&depth, 1, __ATOMIC_ACQ_REL)) return;
    undo();
    __ufm_tell_lost();
}
static int is_child(void) { return depth && before.process && before.process != getpid(); }

/* ----------------------------------------------------------------------------------------- ends of the process */

/* A signal to this process, or to a group in which it is, that would end it. */
static void check_signal(pid_t process, int number)
{
    struct sigaction now;
    if (!__ufm_in_call() || !number || number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT) return;
    if (process != getpid() && process != 0 && process != -1 && process != -getpgrp()) return;
    if (number == SIGKILL || number == SIGSTOP || (!sigaction(number, NULL, &now) && now.sa_handler == SIG_DFL))
        __ufm_leave_call(RAISED, number, NULL);
}
HIDDEN int OWN(kill)(pid_t process, int number)
{
    check_signal(process, number);
    return kill(process, number);
}
HIDDEN int OWN(killpg)(pid_t group, int number)
{
    check_signal(group ? -group : 0, number);
    return killpg(group, number);
}
HIDDEN int OWN(tgkill)(int process, int thread, int number)
{
    check_signal(process, number);
    return (int)syscall(SYS_tgkill, process, thread, number);
}
HIDDEN int OWN(sigqueue)(pid_t process, int number, union sigval value)
{
    check_signal(process, number);
    return sigqueue(process, number, value);
}
/* Timers end with the call. */
HIDDEN int OWN(timer_create)(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    if (event && event->sigev_notify == SIGEV_SIGNAL) check_signal(getpid(), event->sigev_signo);
    const int status = timer_create(clock, event, timer);
    /* One that starts threads has no number of the kernel's. */
    const int numbered = !event || event->sigev_notify != SIGEV_THREAD;
    if (!status && numbered && made_count < MADE) made[made_count++] = *timer;
    return status;
}
HIDDEN int OWN(timer_delete)(timer_t timer)
{
    for (int k = 0; k < made_count; k++)
        if (made[k] == timer) made[k--] = made[--made_count];
    return timer_delete(timer);
}
HIDDEN int OWN(pthread_kill)(pthread_t thread, int number)
{
    check_signal(getpid(), number);
    return pthread_kill(thread, number);
}

/* In a child of the cell's own everything is allowed. */
static void refuse(const char *text)
{
    if (!is_child() && __ufm_in_call()) __ufm_leave_call(REFUSED, 0, text);
}
HIDDEN void OWN(pthread_exit)(void *value)
{
    refuse("called pthread_exit(), which ends a thread of the notebook");
    pthread_exit(value);
}
/* The message, and then exit(). */
HIDDEN void OWN(err)(int status, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    vwarn(format, rest);
    va_end(rest);
    __ufm_leave_call(EXITED, status & 255, NULL);
    exit(status);
}
HIDDEN void OWN(errx)(int status, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    vwarnx(format, rest);
    va_end(rest);
    __ufm_leave_call(EXITED, status & 255, NULL);
    exit(status);
}
HIDDEN int OWN(prctl)(int option, ...)
{
    unsigned long a[4];
    va_list rest;
    va_start(rest, option);
    for (int k = 0; k < 4; k++) a[k] = va_arg(rest, unsigned long);
    va_end(rest);
    if (option == PR_SET_SECCOMP) refuse("restricted the system calls of the notebook (seccomp)");
    return prctl(option, a[0], a[1], a[2], a[3]);
}
HIDDEN pid_t OWN(vfork)(void) { return fork(); } /* whose child may return from here */

static const char program[] = "started a program in place of the notebook (exec)";
HIDDEN int OWN(execve)(const char *path, char *const *words, char *const *environment)
{
    refuse(program);
    return execve(path, words, environment);
}
HIDDEN int OWN(execv)(const char *path, char *const *words)
{
    refuse(program);
    return execv(path, words);
}
HIDDEN int OWN(execvp)(const char *file, char *const *words)
{
    refuse(program);
    return execvp(file, words);
}
enum { WORDS = 256 };
#define LIST_WORDS(words, first)                                                   \
    char *words[WORDS] = {(char *)first};                                          \
    va_list rest;                                                                  \
    va_start(rest, first);                                                         \
    for (int k = 1; k < WORDS - 1 && words[k - 1]; k++) words[k] = va_arg(rest, char *)
HIDDEN int OWN(execl)(const char *path, const char *first, ...)
{
    LIST_WORDS(words, first);
    va_end(rest);
    refuse(program);
    return execv(path, words);
}
HIDDEN int OWN(execlp)(const char *file, const char *first, ...)
{
    LIST_WORDS(words, first);
    va_end(rest);
    refuse(program);
    return execvp(file, words);
}
HIDDEN int OWN(execle)(const char *path, const char *first, ...)
{
    LIST_WORDS(words, first);
    char **const environment = va_arg(rest, char **);
    va_end(rest);
    refuse(program);
    return execve(path, words, environment);
}

static int touches_code(const void *from, size_t size)
{
    const char *start = from;
    return __ehdr_start && start < etext && start + size > __ehdr_start;
}
HIDDEN int OWN(munmap)(void *from, size_t size)
{
    if (touches_code(from, size)) refuse("unmapped its own code");
    return munmap(from, size);
}
HIDDEN int OWN(mprotect)(void *from, size_t size, int protection)
{
    if (touches_code(from, size) && !(protection & PROT_EXEC)) refuse("made its own code one that cannot run");
    return mprotect(from, size, protection);
}

/* Files of the notebook stay open: those that were before the call, and that no call of the cell has opened. */
static void check_file(int number)
{
    if (number > 2 && has(before.files, number) && !has(opened, number))
        refuse("closed a file that the notebook had opened");
}
HIDDEN int OWN(close)(int number)
{
    check_file(number);
    return close(number);
}
HIDDEN int OWN(close_range)(unsigned from, unsigned to, int flags)
{
    for (unsigned k = from; k < FILES && k <= to; k++) check_file((int)k);
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, from, to, flags);
#else
    (void)flags;
    return errno = ENOSYS, -1;
#endif
}
HIDDEN int OWN(dup2)(int from, int to)
{
    if (from != to) check_file(to);
    return dup2(from, to);
}

/* System calls by number. */
HIDDEN long OWN(syscall)(long number, ...)
{
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int k = 0; k < 6; k++) a[k] = va_arg(rest, long);
    va_end(rest);
    switch (number) {
    case SYS_exit: case SYS_exit_group:
        if (!is_child()) __ufm_leave_call(EXITED, (int)a[0] & 255, NULL);
        break;
    case SYS_kill: check_signal((pid_t)a[0], (int)a[1]); break;
    case SYS_tkill: check_signal(getpid(), (int)a[1]); break;
    case SYS_tgkill: check_signal((pid_t)a[0], (int)a[2]); break;
    case SYS_execve: refuse(program); break;
    case SYS_close: check_file((int)a[0]); break;
    case SYS_munmap:
        if (touches_code((void *)a[0], (size_t)a[1])) refuse("unmapped its own code");
        break;
#ifdef SYS_fork
    case SYS_fork: case SYS_vfork: return fork();
#endif
    case SYS_clone: refuse("called clone() by its number, where fork() has a child that ends with the call");
    }
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --------------------------------------------------------------------------------- what containment rests on

   Faults and Stop are heard all the same. */
HIDDEN int OWN(sigaction)(int number, const struct sigaction *action, struct sigaction *old)
{
    return sigaction(number, is_ours(number) && __ufm_in_call() ? NULL : action, old);
}
typedef void (*Handler)(int);
HIDDEN Handler OWN(signal)(int number, Handler handler)
{
    struct sigaction now;
    if (!is_ours(number) || !__ufm_in_call()) return signal(number, handler);
    return sigaction(number, NULL, &now) ? SIG_ERR : now.sa_handler;
}
static const sigset_t *leave_ours(int how, const sigset_t *set, sigset_t *fewer)
{
    if (!set || how == SIG_UNBLOCK || !__ufm_in_call()) return set;
    *fewer = *set;
    for (int k = 1; k < SIGNALS; k++)
        if (is_ours(k)) sigdelset(fewer, k);
    return fewer;
}
HIDDEN int OWN(sigprocmask)(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t fewer;
    return sigprocmask(how, leave_ours(how, set, &fewer), old);
}
HIDDEN int OWN(pthread_sigmask)(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t fewer;
    return pthread_sigmask(how, leave_ours(how, set, &fewer), old);
}

/* A hard limit that was lowered could not be raised again. */
HIDDEN int OWN(setrlimit)(int resource, const struct rlimit *value)
{
    struct rlimit now;
    if (!__ufm_in_call() || !value || getrlimit(resource, &now)) return setrlimit(resource, value);
    now.rlim_cur = value->rlim_cur < now.rlim_max ? value->rlim_cur : now.rlim_max;
    return setrlimit(resource, &now);
}
