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
#include <sys/ucontext.h> /* macOS refuses <ucontext.h>, whose functions are not used here */
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__has_include)
#if __has_include(<linux/seccomp.h>) && __has_include(<linux/filter.h>) && __has_include(<linux/audit.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#define CONFINES 1
#endif
#endif

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 96
#define WORDS 16384
#define ENDED 77 /* exit status after a noted signal */

typedef struct {
    uint64_t number, started; /* of the case under way: written by guard/helper/probe_memory.py */
    uint64_t done;            /* 1: every case returned */
    uint64_t signal, address, pc, sp, overflow;
    uint64_t memory; /* MiB that it has mapped, of which it may have touched less */
    uint64_t exhausted; /* the last call of the C library that failed, failed for want of memory */
    uint64_t access;    /* 1 read, 2 write, 0 not known, 3 no access at all: the signal was sent, 4 a system call */
    uint64_t low, high; /* where the library is mapped: written by guard/helper/probe_memory.py */
    uint64_t frames;
    uint64_t frame[FRAMES];
} Record;

static Record *record;
static char *top;            /* of the stack, about */
static uint64_t stack_size, first_pages;

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

/* ---- What a trial may ask the system for.  No list of functions' names is complete; this one of system calls is, as
   all that it does not name ends the process (SIGSYS).  It may read, calculate, map memory, wait, start threads, and write to
   what is open already.  See seccomp(2). */

#ifdef CONFINES
/* What a refused call is for, as guard/messages.py has it. */
static int kind_of(int number)
{
    switch (number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
#endif
    case SYS_openat: return 1;
#ifdef SYS_unlink
    case SYS_unlink:
    case SYS_rename:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_link:
    case SYS_symlink:
    case SYS_chmod:
    case SYS_chown:
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_truncate:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_mkdirat:
    case SYS_linkat:
    case SYS_symlinkat:
    case SYS_fchmod:
    case SYS_fchmodat:
    case SYS_fchown:
    case SYS_fchownat:
    case SYS_utimensat:
    case SYS_chdir: return 2;
    case SYS_socket:
    case SYS_socketpair:
    case SYS_connect:
    case SYS_bind:
    case SYS_listen:
    case SYS_accept4:
    case SYS_sendto:
    case SYS_sendmsg: return 3;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo: return 4;
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
#endif
    case SYS_clone:
    case SYS_execve:
    case SYS_execveat: return 5;
    default: return 0;
    }
}

static const int allowed[] = {
    SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_lseek, SYS_close,
    SYS_dup, SYS_dup3, SYS_pipe2, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_readlinkat,
    SYS_getdents64, SYS_getcwd, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fadvise64, SYS_ppoll, SYS_pselect6, SYS_epoll_create1,
    SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync,
    SYS_mincore, SYS_mlock, SYS_munlock, SYS_brk, SYS_memfd_create, SYS_membarrier, SYS_get_mempolicy, SYS_mbind, SYS_futex,
    SYS_set_robust_list, SYS_get_robust_list, SYS_set_tid_address, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_setitimer, SYS_getitimer, SYS_timer_create,
    SYS_timer_settime, SYS_timer_gettime, SYS_timer_delete, SYS_timer_getoverrun, SYS_clock_gettime, SYS_clock_getres,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_times, SYS_getrusage, SYS_getrlimit, SYS_setrlimit, SYS_getpid,
    SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getpgid, SYS_getsid,
    SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_getcpu, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity,
    SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getpriority,
    SYS_umask, SYS_prctl, SYS_capget, SYS_wait4, SYS_waitid, SYS_restart_syscall, SYS_exit, SYS_exit_group,
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
#ifdef SYS_stat /* the older forms of x86-64 */
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create,
    SYS_epoll_wait, SYS_eventfd, SYS_time, SYS_alarm, SYS_pause, SYS_getpgrp, SYS_arch_prctl,
#endif
};

/* A system call that depends on one of its arguments: allowed if the bits of `mask` in argument `place` are one of the values. */
typedef struct { int number, place; uint32_t mask; int count; uint32_t value[8]; } Rule;

static size_t filter(struct sock_filter *to, int link)
{
    const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, own = (uint32_t)getpid(), all = ~(uint32_t)0;
    const Rule rules[] = {
#ifdef SYS_open
        {SYS_open, 1, writes, 1, {0}},
#endif
        {SYS_openat, 2, writes, 1, {0}},
        {SYS_clone, 0, CLONE_THREAD, 1, {CLONE_THREAD}},
        {SYS_kill, 0, all, 1, {own}},
        {SYS_tkill, 0, all, 1, {own}},
        {SYS_tgkill, 0, all, 1, {own}},
        {SYS_prlimit64, 0, all, 2, {0, own}},
        {SYS_sendto, 0, all, 1, {(uint32_t)link}}, /* the answer */
        {SYS_ioctl, 1, all, 2, {TCGETS, TIOCGWINSZ}}, /* isatty() */
        {SYS_fcntl, 1, all, 8, {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS}},
    };
    const struct sock_filter load_number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), end = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    size_t n = 0;
    to[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
#ifdef __x86_64__
    to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
#else
    to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 1, 0);
#endif
    to[n++] = end;
    to[n++] = load_number;
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++) {
        to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[k], 0, 1);
        to[n++] = allow;
    }
#ifdef SYS_clone3 /* its flags lie in memory; libc goes back to clone() */
    to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    to[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const Rule rule = rules[k];
        to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule.number, 0, (uint8_t)(3 + 2 * rule.count));
        to[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)rule.place));
        to[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule.mask);
        for (int v = 0; v < rule.count; v++) {
            to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule.value[v], 0, 1);
            to[n++] = allow;
        }
        to[n++] = end;
    }
    to[n++] = end;
    return n;
}
#endif

/* From now on this process can change nothing outside of itself, but for its answer on the socket `link`; 0 where the
   system cannot see to that. */
EXPORT int confine(int link)
{
#ifdef CONFINES
    static struct sock_filter text[512];
    struct sock_fprog program = {(unsigned short)filter(text, link), text};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
    (void)link;
    return 0;
#endif
}

#include "access.h"

static void note(int number, siginfo_t *info, void *context)
{
    record->exhausted = errno == ENOMEM;
    uintptr_t pc = 0, sp = 0;
#if defined(__linux__) && defined(__x86_64__)
    const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    if (number == SIGSEGV && m->gregs[REG_TRAPNO] == 14) record->access = m->gregs[REG_ERR] & 2 ? 2 : 1;
    pc = (uintptr_t)m->gregs[REG_RIP], sp = (uintptr_t)m->gregs[REG_RSP];
#elif defined(__linux__) && defined(__aarch64__)
    const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    if (number == SIGSEGV) record->access = (uint64_t)access_at(info, context);
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
#ifdef CONFINES
    if (number == SIGSYS && info->si_code == 1 /* SYS_SECCOMP */) {
        record->access = 4;
        record->address = (uint64_t)kind_of(info->si_syscall);
    }
#endif
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
    const uint64_t pages = number_in("/proc/self/statm", 0);
    record->memory = pages > first_pages ? (pages - first_pages) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20 : 0;
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
EXPORT void watch(Record *to, int all)
{
    static char room[1 << 16];
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct rlimit limit;
    record = to;
    first_pages = all ? number_in("/proc/self/statm", 0) : UINT64_MAX; /* a sanitizer maps more than there is */
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
    errno = 0;
}

/* A loop that leaves everything as it is, to call when the way there is tried. */
EXPORT void nothing(char **args, const intptr_t *dimensions, const intptr_t *steps, void *data)
{
    (void)args, (void)dimensions, (void)steps, (void)data;
}
