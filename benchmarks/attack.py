# ruff: noqa: E501 -- an attack is a line
"""Attacks on the process by a cell's code: which are contained, undone or refused, and which end the process.

    python benchmarks/attack.py             all, some minutes on two cores
    python benchmarks/attack.py --only name    those whose name has it
    PYTHONPATH=OTHER python benchmarks/attack.py --before    the column "before", with another version of the package

Each attack is a function that does it for values above 3, in a process of its own.  It is called with 1, with 5, and
with 1 again; then the process must have the state that it had, compute, and end with status 0.

contained   the call raised an exception, and the process has its state
as before   the call returned, and the process has its state: undone, or without an effect
refused     the function was not bound
changed     the process goes on, and something of its state is another
lost        the process ended, or hung

The result goes to benchmarks/results/attack.json, and as a table to docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "attack.json"
PAGE = HERE.parent / "docs" / "reliability.md"
LIMIT = 60  # seconds, of an attack

C_HEAD = """
#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
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
static volatile int zero = 0, many = 40;
"""
#: A thread whose code is `text`, which the call waits for.
RUN = "pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);"


def thread(text: str) -> tuple[str, str]:
    return f"static void *run(void *p) {{ {text} return p; }}", RUN


FILL = "static void fill(char *p, int n) { while (n--) *p++ = 1; }"
#: Group -> attack -> what it does, or what stands before the function and what it does.
C: dict[str, dict[str, str | tuple[str, str]]] = {
    "stack": {
        **{
            f"a local array of 64 bytes, overrun by {n:,}": (FILL, f"char b[64]; fill(b, 64 + {n}); x = b[3];")
            for n in (1, 16, 100, 1000, 3000)
        },
        "overrun by 100 kB": (FILL, "char b[64]; fill(b, 100000); x = b[3];"),
        "overrun by all of the stack": (FILL, "char b[64]; fill(b, 1 << 30); x = b[3];"),
        "an array of doubles": (
            "static void put(double *p, int n) { while (n--) *p++ = 1; }",
            "double b[8]; put(b, 99); x = b[3];",
        ),
        "an array of a function that is called": (
            f"{FILL}\n__attribute__((noinline)) static int inner(int n) {{ char b[8]; fill(b, n); return b[1]; }}",
            "x = inner(99);",
        ),
        "a structure's last member": (FILL, "struct { int a; char b[8]; } s; fill(s.b, 99); x = s.b[1];"),
        "alloca": (FILL, "char *b = alloca(x); fill(b, 99); x = b[1];"),
        "an array of variable length": (FILL, "char b[x]; fill(b, 99); x = b[1];"),
        "written to below its begin": ("", "volatile char b[64]; for (int i = 1; i < many; i++) b[-i] = 1;"),
        "memcpy": ("static char from[999];", "char b[16]; memcpy(b, from, x * 50); x = b[3];"),
        "memset": ("", "char b[16]; memset(b, 1, x * 50); x = b[3];"),
        "strcpy": (
            'static const char *text = "a text that is longer than all that is there for it to be copied to";',
            "char b[16]; strcpy(b, text); x = b[3];",
        ),
        "strcat": (
            'static const char *text = "a text that is longer than all that is there";',
            'char b[16] = "a"; strcat(b, text); x = b[3];',
        ),
        "sprintf": ("", 'char b[4]; sprintf(b, "%d", x * 1000000); x = b[1];'),
        "snprintf with a wrong size": ("", 'char b[4]; snprintf(b, x * 20, "%d", x * 1000000); x = b[1];'),
        "recursion without end": (
            "static int deep(int n) { volatile char b[100]; b[1] = n; return n ? deep(n) + b[1] : 0; }",
            "x = deep(x);",
        ),
        "a huge local array": (
            "__attribute__((noinline)) static int huge(void) { volatile char b[200000000]; return b[0] = b[99999999] = 2; }",
            "x = huge();",
        ),
        "the return address": ("", "*(volatile uintptr_t *)((uintptr_t *)__builtin_frame_address(0) + 1) = 16;"),
    },
    "memory": {
        "a read at NULL": "x = *(volatile int *)(long)zero;",
        "a write at NULL": "*(volatile int *)(long)zero = 1;",
        "a member at NULL": "struct s { int a[9]; } *p = (struct s *)(long)zero; x = ((volatile int *)p->a)[3];",
        "a read far away": "x = *(volatile int *)0x123456789000;",
        "a write far away": "*(volatile int *)0x123456789000 = 1;",
        "an address that none can have": "x = *(volatile int *)0x1234567890000000;",
        "a write to code": "*(volatile char *)(uintptr_t)&memcpy = 1;",
        "a write to a constant": '*(volatile char *)(uintptr_t)"text" = 1;',
        "a call of NULL": "((int (*)(void))(long)zero)();",
        "a call far away": "((int (*)(void))0x123456789000)();",
        "a call of data": ("static char data[64] = {1};", "((int (*)(void))data)();"),
        "memory that was given back to the system": "char *p = mmap(0, 4096, 3, 34, -1, 0); munmap(p, 4096); *(volatile char *)p = 1;",
        "memory that may only be read": "char *p = mmap(0, 4096, 1, 34, -1, 0); *(volatile char *)p = 1;",
        "a file shorter than its mapping": 'int d = memfd_create("f", 0); char *p = mmap(0, 4096, 3, 1, d, 0); close(d); x = *(volatile char *)p;',
        "free of an address on the stack": "char b[64]; free(b + zero + 16);",
        "free twice": "char *volatile p = malloc(100); free(p); free(p);",
        "free of something in the middle": "char *p = malloc(100); free(p + 16 + zero);",
        "a block overrun by 8 bytes": "volatile char *p = malloc(24); for (int i = 0; i < 32; i++) p[i] = 1; free((void *)p);",
        "a block overrun by 1,000 bytes": "volatile char *p = malloc(24); for (int i = 0; i < 1000; i++) p[i] = 65; free((void *)p); free(malloc(2000));",
        "a block that is used after free": "volatile int *p = malloc(400); free((void *)p); p[9] = 7;",
        "NULL of malloc": "volatile char *p = malloc((size_t)1 << 60); p[0] = 1;",
        "realloc of an address that is none": "char *volatile p = (char *)0x1000; x = realloc(p, 9) != 0;",
        "munmap of its own code": "munmap((void *)((uintptr_t)main_code() & -4096), 4096);",
        "mprotect of its own code": "mprotect((void *)((uintptr_t)main_code() & -4096), 4096, PROT_READ);",
    },
    "arithmetic": {
        "/ 0": "x = x / zero;",
        "% 0": "x = x % zero;",
        "INT_MIN / -1": "volatile int a = -2147483647 - 1, b = -1; x = a / b;",
        "64 bits / 0": "x = (int)(1234567890123 / (long)zero);",
        "feenableexcept, then 1.0 / 0": "feenableexcept(FE_DIVBYZERO); volatile double d = zero; x = (int)(1.0 / d);",
        "feenableexcept and no more": "feenableexcept(FE_ALL_EXCEPT);",
        "fesetround": "fesetround(FE_UPWARD);",
        "a control word of the x87": '__asm__ volatile("fldcw %0" : : "m"((short){0x7f}));',
        "registers of the x87 that stay in use": '__asm__ volatile("fld1; fld1; fld1; fld1; fld1; fld1; fld1; fld1");',
        "registers of MMX without emms": '__asm__ volatile("pxor %%mm0, %%mm0" : : : "mm0");',
        "denormals that flush to zero": '__asm__ volatile("ldmxcsr %0" : : "m"((unsigned){0x9fc0}));',
        "the direction flag": '__asm__ volatile("std");',
        "checks of alignment": '__asm__ volatile("pushfq; orl $0x40000, (%rsp); popfq");',
    },
    "instructions": {
        "__builtin_trap": "__builtin_trap();",
        "__builtin_unreachable": "if (zero == 0) __builtin_unreachable();",
        "ud2": '__asm__ volatile("ud2");',
        "int3": '__asm__ volatile("int3");',
        "hlt": '__asm__ volatile("hlt");',
        "an interrupt of no meaning": '__asm__ volatile("int $0x55");',
        "a single step": '__asm__ volatile("pushfq; orl $0x100, (%rsp); popfq");',
        "iretq with garbage": '__asm__ volatile("pushq $0; pushq $0; pushq $0; pushq $0; pushq $0; iretq");',
    },
    "ends": {
        "exit": "exit(3);",
        "_exit": "_exit(3);",
        "_Exit": "_Exit(3);",
        "quick_exit": "quick_exit(3);",
        "abort": "abort();",
        "assert": "assert(x == 0);",
        "err": 'err(3, "it");',
        "errx": 'errx(3, "it");',
        "raise(SIGTERM)": "raise(SIGTERM);",
        "raise(SIGKILL)": "raise(SIGKILL);",
        "raise(SIGSEGV)": "raise(SIGSEGV);",
        "raise(SIGUSR1)": "raise(SIGUSR1);",
        "kill(getpid(), SIGKILL)": "kill(getpid(), SIGKILL);",
        "kill(getpid(), SIGSTOP)": "kill(getpid(), SIGSTOP);",
        "kill(0, SIGTERM)": "kill(0, SIGTERM);",
        "killpg": "killpg(0, SIGTERM);",
        "tgkill": "tgkill(getpid(), gettid(), SIGKILL);",
        "pthread_kill": "pthread_kill(pthread_self(), SIGTERM);",
        "sigqueue": "union sigval v = {0}; sigqueue(getpid(), SIGTERM, v);",
        "syscall(SYS_exit_group)": "syscall(SYS_exit_group, 5);",
        "syscall(SYS_exit)": "syscall(SYS_exit, 5);",
        "syscall(SYS_kill)": "syscall(SYS_kill, getpid(), SIGKILL);",
        "syscall(SYS_tgkill)": "syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);",
        "exit_group in assembly": '__asm__ volatile("syscall" : : "a"(231), "D"(5) : "rcx", "r11", "memory");',
        "pthread_exit": "pthread_exit(0);",
        "execl": 'execl("/bin/true", "true", (char *)0);',
        "execlp": 'execlp("true", "true", (char *)0);',
        "execve": 'char *const w[] = {"true", 0}; execve("/bin/true", w, environ);',
        "execvp": 'char *const w[] = {"true", 0}; execvp("true", w);',
        "fork, and on": "x = fork() < 0;",
        "vfork, and on": "x = vfork() < 0;",
        "fork, and the child crashes": "if (!fork()) x = *(volatile int *)(long)zero;",
        "fork, and the child exits": "if (!fork()) exit(3);",
        "longjmp to a function that has returned": (
            "static jmp_buf b; __attribute__((noinline)) static int set(void) { return setjmp(b); }",
            "if (!set()) longjmp(b, 1);",
        ),
        "setcontext far away": (
            "#include <ucontext.h>\nstatic ucontext_t c;",
            "getcontext(&c); c.uc_mcontext.gregs[16] = 16; setcontext(&c);",
        ),
        "a function for atexit that crashes": (
            "static void last(void) { volatile int *volatile p = 0; *p = 1; }",
            "atexit(last);",
        ),
        "SIGKILL by a timer": "struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL}; timer_t t; timer_create(CLOCK_MONOTONIC, &e, &t); struct itimerspec s = {.it_value.tv_nsec = 1000000}; timer_settime(t, 0, &s, 0); usleep(50000);",
        "prctl(PR_SET_PDEATHSIG)": "prctl(PR_SET_PDEATHSIG, SIGKILL);",
        "seccomp, strict": "prctl(PR_SET_SECCOMP, 1);",
    },
    "state": {
        "signal(SIGTERM)": ("static void own(int n) { }", "signal(SIGTERM, own);"),
        "signal(SIGINT, SIG_IGN)": "signal(SIGINT, SIG_IGN);",
        "signal(SIGCHLD, SIG_IGN)": "signal(SIGCHLD, SIG_IGN);",
        "signal(SIGSEGV, SIG_DFL), then a crash": "signal(SIGSEGV, SIG_DFL); x = *(volatile int *)(long)zero;",
        "sigaction(SIGFPE, SIG_IGN), then / 0": "struct sigaction a = {.sa_handler = SIG_IGN}; sigaction(SIGFPE, &a, 0); x = x / zero;",
        "all signals blocked": "sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0);",
        "all signals blocked, then a crash": "sigset_t s; sigfillset(&s); pthread_sigmask(SIG_SETMASK, &s, 0); x = *(volatile int *)(long)zero;",
        "sigaltstack, then a crash": (
            "static char own[1 << 16];",
            "stack_t s = {.ss_sp = own, .ss_size = sizeof own}; sigaltstack(&s, 0); x = *(volatile int *)(long)zero;",
        ),
        "alarm": "alarm(1);",
        "setitimer": "struct itimerval t = {{0, 0}, {0, 50000}}; setitimer(ITIMER_REAL, &t, 0);",
        "setitimer of computing time": "struct itimerval t = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_PROF, &t, 0);",
        "setrlimit of files": "struct rlimit r = {5, 5}; setrlimit(RLIMIT_NOFILE, &r);",
        "setrlimit of memory": "struct rlimit r = {1000, 1000}; setrlimit(RLIMIT_AS, &r);",
        "setrlimit of the stack": "struct rlimit r = {10000, 10000}; setrlimit(RLIMIT_STACK, &r);",
        "setrlimit of computing time": "struct rlimit r = {1, 1}; setrlimit(RLIMIT_CPU, &r);",
        "chdir": 'x = chdir("/");',
        "fchdir": 'int d = open("/", O_RDONLY); x = fchdir(d); close(d);',
        "umask": "umask(0);",
        "setlocale": 'setlocale(LC_ALL, "C.UTF-8");',
        "setenv": 'setenv("ATTACK", "1", 1);',
        "nice": "x = nice(1) < 0;",
        "sched_setaffinity": "cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); sched_setaffinity(0, sizeof s, &s);",
        "a new name of the thread": 'prctl(PR_SET_NAME, "attack");',
        "errno": "errno = 99;",
        "close of the notebook's files": "for (int i = 3; i < 200; i++) close(i);",
        "close_range": "close_range(3, 999, 0);",
        "syscall(SYS_close)": "for (int i = 3; i < 200; i++) syscall(SYS_close, i);",
        "dup2 over the notebook's file": "for (int i = 3; i < 200; i++) if (fcntl(i, F_GETFD) >= 0) dup2(1, i);",
        "a file that stays open": 'x = open("/dev/null", O_RDONLY) < 0;',
        "setsid": "x = setsid() < 0 ? x : x;",
        "mlockall": "mlockall(MCL_CURRENT | MCL_FUTURE);",
    },
    "threads": {
        "a read at NULL": thread("return (void *)(long)*(volatile int *)(long)zero;"),
        "/ 0": thread("zero = 1 / zero;"),
        "__builtin_trap": thread("__builtin_trap();"),
        "exit": thread("exit(3);"),
        "abort": thread("abort();"),
        "assert": thread("assert(zero);"),
        "raise(SIGTERM)": thread("raise(SIGTERM);"),
        "kill(getpid(), SIGKILL)": thread("kill(getpid(), SIGKILL);"),
        "pthread_exit of its own": thread("pthread_exit(0);"),
        "a full stack": (
            "static int deep(int n) { volatile char b[1000]; b[1] = n; return n ? deep(n) + b[1] : 0; } static void *run(void *p) { return (void *)(long)deep(1); }",
            RUN,
        ),
        "a local array that is overrun": (
            f"{FILL}\nstatic void *run(void *p) {{ char b[8]; fill(b, 99); return (void *)(long)b[1]; }}",
            RUN,
        ),
        "a crash after the call": (
            "static void *run(void *p) { usleep(100000); return (void *)(long)*(volatile int *)(long)zero; }",
            "pthread_t t; pthread_create(&t, 0, run, 0); pthread_detach(t);",
        ),
        "exit after the call": (
            "static void *run(void *p) { usleep(100000); exit(3); }",
            "pthread_t t; pthread_create(&t, 0, run, 0); pthread_detach(t);",
        ),
        "one that does not end": (
            "static void *run(void *p) { for (;;) pause(); }",
            "pthread_t t; pthread_create(&t, 0, run, 0); pthread_detach(t);",
        ),
    },
    "time": {
        "a loop without end": "while (!zero) ;",
        "pause": "for (;;) pause();",
        "sleep for an hour": "sleep(3600);",
        "a read of nothing": "int e[2]; char c; if (!pipe(e)) x = (int)read(e[0], &c, 1);",
        "a mutex that stays locked": (
            "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;",
            "pthread_mutex_lock(&m); pthread_mutex_lock(&m);",
        ),
        "a join of a thread that does not end": thread("for (;;) pause();"),
        "a loop that blocks SIGINT": "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGINT); sigprocmask(SIG_BLOCK, &s, 0); while (!zero) ;",
    },
}
CPLUS_HEAD = """
#include <array>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static volatile int zero = 0, far = 99999;
"""
CPLUS: dict[str, str | tuple[str, str]] = {
    "throw": "throw 1;",
    "throw std::runtime_error": 'throw std::runtime_error("it");',
    "throw through noexcept": ("static void strict() noexcept { throw 1; }", "strict();"),
    "std::terminate": "std::terminate();",
    "vector.at": "std::vector<int> v(3); x = v.at(far);",
    "vector[] a little too far": "std::vector<int> v(3); x = v[zero + 4] * 0;",
    "vector[] far away": "std::vector<int> v(3); x = v[far * 9999L];",
    "optional without a value": "std::optional<int> o; if (zero) o = 1; x = o.value();",
    "map.at": "std::map<int, int> m; x = m.at(1);",
    "stoi of no number": 'x = std::stoi("it");',
    "new of too much": "x = (new char[1L << 60])[0];",
    "new with a negative size": "x = (new int[(long)zero - 1])[0];",
    "a method of nullptr": (
        "struct A { int a; virtual int get() { return a; } };",
        "A *volatile p = nullptr; x = p->get();",
    ),
    "a pure virtual call": (
        "struct A { A() { call(); } void call() { get(); } virtual int get() = 0; };\nstruct B : A { int get() { return 1; } };",
        "B b;",
    ),
    "dynamic_cast that fails": (
        "struct A { virtual ~A() {} };\nstruct B : A {};",
        "A a; (void)dynamic_cast<B &>(*(zero ? nullptr : &a));",
    ),
    "delete twice": "int *volatile p = new int[9]; delete[] p; delete[] p;",
    "a destructor that throws": ("struct A { ~A() noexcept(false) { throw 1; } };", "A a;"),
    "std::thread that crashes": "std::thread t([] { (void)*(volatile int *)(long)zero; }); t.join();",
    "std::thread that throws": "std::thread t([] { throw 1; }); t.join();",
    "std::thread that exits": "std::thread t([] { exit(3); }); t.join();",
    "std::thread that nobody joins": "std::thread t([] {});",
    "std::async that throws": 'auto f = std::async(std::launch::async, [] { throw std::runtime_error("it"); }); f.get();',
}
CYTHON: dict[str, str] = {
    "a read at NULL": "def f(int x):\n    cdef int *p = NULL\n    if x > 3: return p[0]\n    return x\n",
    "a write at NULL": "def f(int x):\n    cdef int *p = NULL\n    if x > 3: p[0] = 1\n    return x\n",
    "a write at NULL without the GIL": "cdef int go(int *p) noexcept nogil:\n    p[0] = 1\n    return 1\ndef f(int x):\n    if x > 3:\n        with nogil: go(NULL)\n    return x\n",
    "an index without its check": "cimport cython\n@cython.boundscheck(False)\ndef f(int x):\n    cdef double[3] a\n    cdef double[:] v = a\n    if x > 3: v[1000000000] = 1\n    return x\n",
    "% 0 with cdivision": "# cython: cdivision=True\ndef f(int x, int y=0):\n    return x % y if x > 3 else x\n",
    "recursion of cdef functions": "cdef int deep(int n) except? -1:\n    return deep(n) + 1 if n else 0\ndef f(int x):\n    return deep(x) if x > 3 else x\n",
    "recursion through Python": "def f(int x):\n    return f(x) + 1 if x > 3 else x\n",
    "exit": "from libc.stdlib cimport exit\ndef f(int x):\n    if x > 3: exit(3)\n    return x\n",
    "abort": "from libc.stdlib cimport abort\ndef f(int x):\n    if x > 3: abort()\n    return x\n",
    "an array of C that is overrun": "cdef void fill(char *p, int n) noexcept:\n    while n > 0:\n        p[0] = 1\n        p += 1\n        n -= 1\ndef f(int x):\n    cdef char b[64]\n    if x > 3: fill(b, 999)\n    return x\n",
    "sprintf": "from libc.stdio cimport sprintf\ndef f(int x):\n    cdef char b[4]\n    if x > 3: return sprintf(b, '%d', x * 1000000)\n    return x\n",
    "free twice": "from libc.stdlib cimport malloc, free\ndef f(int x):\n    cdef void *p = malloc(100)\n    free(p)\n    if x > 3: free(p)\n    return x\n",
    "a method of None": "cdef class A:\n    cdef int n\ndef f(int x):\n    cdef A a = None\n    return a.n if x > 3 else x\n",
    "a loop without end": "def f(int x):\n    while x > 3: pass\n    return x\n",
    "a loop without end, without the GIL": "def f(int x):\n    with nogil:\n        while x > 3: pass\n    return x\n",
    "a generator that crashes": "def g(int x):\n    cdef int *p = NULL\n    yield x\n    yield p[0]\ndef f(int x):\n    return list(g(x)) if x > 3 else x\n",
    "an exception in a function without except": "cdef int go(int x) noexcept:\n    raise ValueError(x)\ndef f(int x):\n    return go(x) if x > 3 else x\n",
    "os._exit": "import os\ndef f(int x):\n    if x > 3: os._exit(3)\n    return x\n",
    "a reference too few": "from cpython.ref cimport Py_DECREF\ndef f(int x):\n    a = [1, 2]\n    if x > 3:\n        Py_DECREF(a)\n        Py_DECREF(a)\n    return x\n",
    "kill(getpid(), SIGKILL)": "from posix.signal cimport kill\nfrom posix.unistd cimport getpid\ndef f(int x):\n    if x > 3: kill(getpid(), 9)\n    return x\n",
}


def list_attacks() -> dict[str, tuple[str, str]]:
    """Name -> language and source."""
    attacks = {}
    for group, kinds in C.items():
        for name, body in kinds.items():
            before, text = body if isinstance(body, tuple) else ("", body)
            own = "int f(int x);\nstatic void *main_code(void) { return (void *)f; }\n" if "main_code" in text else ""
            source = f"{C_HEAD}{before}\n{own}int f(int x) {{\n    if (x > 3) {{ {text} }}\n    return x;\n}}\n"
            attacks[f"{group}: {name}"] = "c", source
    for name, body in CPLUS.items():
        before, text = body if isinstance(body, tuple) else ("", body)
        attacks[f"C++: {name}"] = (
            "c++",
            f"{CPLUS_HEAD}{before}\nint f(int x) {{\n    if (x > 3) {{ {text} }}\n    return x;\n}}\n",
        )
    attacks |= {f"Cython: {name}": ("cython", source) for name, source in CYTHON.items()}
    return attacks


#: One attack, in its process: what is said of the calls, and what has changed.
PROGRAM = """
import ctypes, json, locale, os, resource, signal, subprocess, sys, time
import numpy as np
import ufunc_magic as um

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
language, source, name = json.loads(sys.argv[1])
libc, libm = ctypes.CDLL(None), ctypes.CDLL("libm.so.6")

def look():
    old = os.umask(0)
    os.umask(old)
    limits = [resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT")]
    handlers = [signal.getsignal(n) for n in range(1, 32)]
    timers = [signal.getitimer(n)[1] or bool(signal.getitimer(n)[0]) for n in range(3)]
    stack = (ctypes.c_size_t * 3)()
    libc.sigaltstack(None, stack)
    return {
        "signals": repr([sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), handlers, list(stack)]),
        "limits": repr(limits), "timers": repr(timers), "folder": os.getcwd(), "umask": old,
        "locale": locale.setlocale(locale.LC_ALL), "files": repr(sorted(os.listdir("/proc/self/fd"))),
        "rounding": libm.fegetround(), "x87": repr(np.longdouble(1) / 3), "denormals": float(np.float64(5e-324) * 1.0),
        "traps": libm.fegetexcept(), "priority": os.nice(0), "cores": repr(os.sched_getaffinity(0)),
        "environment": os.environ.get("ATTACK") or bool(libc.getenv(b"ATTACK")), "session": os.getsid(0),
    }

compile = um.compile_cython if language == "cython" else um.compile_c
try:
    build = compile(source, **({"cplus": True} if language == "c++" else {}))
    f = build.f
except Exception as error:
    print(json.dumps(["refused", str(error).split("\\n")[0][:150]]))
    sys.exit(0)
said = []
try:
    f(1)  # the first call of a thread has a stack for handlers
except Exception:
    pass
before = look()
if name.startswith("time:") or "without end" in name:
    subprocess.Popen(["sh", "-c", f"sleep 2; kill -INT {os.getpid()}"])  # a thread would need the GIL
for value in (1, 5, 1):
    try:
        f(value)
        said.append("")
    except BaseException as error:
        said.append(f"{type(error).__name__}: {error}".split("\\n")[0][:150])
time.sleep(0.3 if name.startswith("threads") else 0.1)
after = look()
x = np.arange(100_000.0)
assert np.sum(np.sqrt(x * x)) == np.sum(x) and len(sorted(map(str, range(100_000)))) == 100_000
changed = [key for key in before if before[key] != after[key]]
text = said[1] or ("returned" if not said[0] and not said[2] else f"raised at 1: {said[0] or said[2]}")
outcome = "changed" if changed else "contained" if said[1] else "as before"
if said[0] or said[2]:
    outcome = "lost"
print(json.dumps([outcome, (f"{', '.join(changed)}; " if changed else "") + text]))
sys.stdout.flush()
"""


def attack(name: str, language: str, source: str) -> tuple[str, str]:
    """The outcome, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps([language, source, name])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
            cwd=folder,
        )
        try:
            out, error = child.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return "lost", f"was still running after {LIMIT} s"
    lines = [line for line in out.split("\n") if line.startswith("[")]
    if len(lines) > 1:
        return "lost", "two processes went on"
    code = child.returncode
    end = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    if not lines:
        last = next((line for line in reversed(error.strip().split("\n")) if line), "")
        return "lost", f"{end}; {last[:100]}"
    outcome, text = json.loads(lines[0])
    return (outcome, text) if code == 0 else ("lost", f"{end}, after: {text}")


def write_table(rows: dict[str, list[str]], before: dict[str, list[str]], date: object) -> str:
    counts = Counter(outcome for outcome, _ in rows.values())
    was = Counter(outcome for outcome, _ in before.values())
    words = "contained", "as before", "refused", "changed", "lost"
    lines = [
        f"{len(rows)} attacks ({date}): "
        + ", ".join(f"{counts[word]} {word} (before: {was[word]})" for word in words)
        + ".",
        "",
        "| attack | outcome | before | what is said |",
        "|---|---|---|---|",
    ]
    for name, (outcome, text) in rows.items():
        shown = text.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| {name} | {outcome} | {before.get(name, ['-'])[0]} | {shown} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--before", action="store_true")
    chosen = parser.parse_args()
    attacks = {name: value for name, value in list_attacks().items() if chosen.only in name}
    data = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}, "before": {}}
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(lambda item: attack(item[0], *item[1]), attacks.items())
        for name, (outcome, text) in zip(attacks, outcomes, strict=True):
            print(f"{outcome:9s} {name:60s} {text[:120]}", flush=True)
            data["before" if chosen.before else "rows"][name] = [outcome, text]
    if not chosen.before:
        data["machine"] = machine.describe("cython")
    RESULTS.write_text(json.dumps(data, indent=1) + "\n")
    if not chosen.before and not chosen.only:
        table = write_table(data["rows"], data["before"], data["machine"]["date"])
        page = PAGE.read_text()
        start, end = page.index("<!-- attacks -->"), page.index("<!-- end of attacks -->")
        PAGE.write_text(f"{page[:start]}<!-- attacks -->\n{table}\n{page[end:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
