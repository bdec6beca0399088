"""Calls of a cell that reach the whole process end the call and not the process, or are undone when the call ends."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

import pytest

from support import run_python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="process.c is for Linux")

#: Every function does it for values above 3.
ENDS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int kills(int x) { if (x > 3) kill(getpid(), SIGKILL); return x; }
int kills_group(int x) { if (x > 3) kill(0, SIGTERM); return x; }
int kills_thread(int x) { if (x > 3) pthread_kill(pthread_self(), SIGTERM); return x; }
int leaves(int x) { if (x > 3) syscall(SYS_exit_group, 5); return x; }
int ends(int x) { if (x > 3) pthread_exit(0); return x; }
int starts(int x) { if (x > 3) execl("/bin/true", "true", (char *)0); return x; }
int starts_others(int x) { char *const words[] = {"true", 0}; if (x > 3) execvp("true", words); return x; }
int closes(int x) { if (x > 3) for (int i = 3; i < 200; i++) close(i); return x; }
int unmaps(int x) { if (x > 3) munmap((void *)((long)kills & -4096), 4096); return x; }
int own_file(int x) { int ends[2]; if (pipe(ends)) return -1; return close(ends[0]) + close(ends[1]) + x; }
int opens(int x) { int ends[2]; if (pipe(ends)) return -1; close(ends[1]); return ends[0]; }
int shuts(int x) { return close(x); }
"""
UNDONE = r"""
#define _GNU_SOURCE
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
static void ignore(int number) { }
int handles(int x) { if (x > 3) { signal(SIGTERM, ignore); signal(SIGINT, SIG_IGN); } return x; }
int blocks(int x) { if (x > 3) { sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); } return x; }
int limits(int x) { if (x > 3) { struct rlimit r = {9, 9}; setrlimit(RLIMIT_NOFILE, &r); } return x; }
int alarms(int x) { if (x > 3) { struct itimerval t = {{0, 0}, {0, 50000}}; setitimer(ITIMER_REAL, &t, 0); } return x; }
int moves(int x) { if (x > 3) return chdir("/"); return x; }
int masks(int x) { if (x > 3) umask(0); return x; }
int speaks(int x) { if (x > 3) setlocale(LC_ALL, "C.UTF-8"); return x; }
int deaf(int x) {
    if (x > 3) {
        struct sigaction a = {.sa_handler = SIG_DFL};
        sigset_t s;
        sigfillset(&s);
        sigaction(SIGSEGV, &a, 0);
        sigprocmask(SIG_BLOCK, &s, 0);
        return *(volatile int *)0;
    }
    return x;
}
"""
FLAGS = r"""
int direction(int x) { if (x > 3) __asm__ volatile("std"); return x; }
int alignment(int x) { if (x > 3) __asm__ volatile("pushfq; orl $0x40000, (%rsp); popfq"); return x; }
"""
THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *crash(void *p) { return (void *)(long)*(volatile int *)0; }
static void *leave(void *p) { exit(7); return p; }
static int begin(void *(*run)(void *)) { pthread_t t; return pthread_create(&t, 0, run, 0) || pthread_join(t, 0); }
int crashes(int x) { return x > 3 ? begin(crash) : x; }
int leaves(int x) { return x > 3 ? begin(leave) : x; }
int divides(int x) { return x > 3 ? fork() > 0 : x; }
int divides_and_crashes(int x) { if (x > 3 && !fork()) return *(volatile int *)0; return x; }
"""

#: Calls each function with 1, with 5 twice, and looks at what a process has.
CALLS = """
import json, os, resource, signal, locale, sys
import numpy as np, ufunc_magic as um

def look():
    mask, term = signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGTERM)
    old = os.umask(0)
    os.umask(old)
    files = sorted(os.listdir("/proc/self/fd"))
    limits, timer = resource.getrlimit(resource.RLIMIT_NOFILE), signal.getitimer(signal.ITIMER_REAL)
    places = os.getcwd(), locale.setlocale(locale.LC_ALL)
    return repr([sorted(mask), term, signal.getsignal(signal.SIGINT), old, files, limits, timer, places])

build = um.compile_c(json.loads(sys.argv[1]))
process, results, before = os.getpid(), {}, look()
for name in json.loads(sys.argv[2]):
    rows = []
    for value in (1, 5, 5):
        try:
            rows.append(build[name]([value]).tolist())
        except um.UfuncMagicError as error:
            rows.append(f"{type(error).__name__}: {error}".split("\\n")[0])
    results[name] = rows
after = look()
assert after == before, (before, after)
print(json.dumps([os.getpid() == process, results]))
"""


def _call(source: str, *names: str) -> dict[str, Any]:
    done = run_python(CALLS, json.dumps(source), json.dumps(names))
    alive, results = json.loads(done.stdout.strip().split("\n")[-1])
    assert alive
    assert all(rows[0] == [1] for rows in results.values())
    assert all(rows[1] == rows[2] for rows in results.values())
    return {name: rows[1] for name, rows in results.items()}


def test_ends_of_the_process_end_the_call() -> None:
    results = _call(ENDS, *"kills kills_group kills_thread leaves ends starts starts_others closes unmaps".split())
    assert all(text.startswith("CellExited: ") for text in results.values())
    for name, words in {
        "kills": "raised SIGKILL",
        "kills_group": "raised SIGTERM",
        "kills_thread": "raised SIGTERM",
        "leaves": "called exit(5)",
        "ends": "called pthread_exit()",
        "starts": "(exec)",
        "starts_others": "(exec)",
        "closes": "closed a file",
        "unmaps": "unmapped its own code",
    }.items():
        assert words in results[name]


def test_files_of_the_cells_own_are_closed() -> None:
    done = run_python(
        "import os, sys, json\nimport ufunc_magic as um\n"
        "build = um.compile_c(json.loads(sys.argv[1]))\n"
        "before = len(os.listdir('/proc/self/fd'))\n"
        "assert build.own_file([4, 5]).tolist() == [4, 5]\n"
        "number = build.opens(4)\n"
        "assert len(os.listdir('/proc/self/fd')) == before + 1\n"
        "assert build.shuts(number) == 0\n"
        "print(len(os.listdir('/proc/self/fd')) - before)",
        json.dumps(ENDS),
    )
    assert done.stdout.strip() == "0"


def test_the_state_of_the_process_is_as_before() -> None:
    results = _call(UNDONE, *"handles blocks limits alarms moves masks speaks deaf".split())
    assert results.pop("moves") == [0]
    assert "followed a null pointer" in results.pop("deaf")
    assert all(row == [5] for row in results.values())


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86-64")
def test_the_processors_flags_are_as_before() -> None:
    assert _call(FLAGS, "direction", "alignment") == {"direction": [5], "alignment": [5]}


@pytest.mark.slow
def test_threads_and_children_of_the_cell_end_alone() -> None:
    results = _call(THREADS, "crashes", "leaves", "divides", "divides_and_crashes")
    assert results["crashes"].startswith("CellCrashed: a thread of the cell followed a null pointer")
    assert results["leaves"].startswith("CellExited: a thread of the cell called exit(7)")
    assert results["divides"] == [1]
    assert results["divides_and_crashes"] == [5]


def test_a_function_of_the_cell_may_have_such_a_name() -> None:
    source = "static int kill(int a, int b) { return a - b; }\nint signal(int x) { return kill(x, 1); }\n"
    done = run_python(
        "import sys, json\nimport ufunc_magic as um\nprint(um.compile_c(json.loads(sys.argv[1])).signal(5))",
        json.dumps(source),
    )
    assert done.stdout.strip() == "4"


OPENMP = r"""
// ufunc: (n)->()
double total(const double *x, int n) {
    double s = 0;
    #pragma omp parallel for num_threads(4) reduction(+:s)
    for (int i = 0; i < n; i++) s += x[i] > 3 ? *(volatile double *)(long)(x[i] < 0) : x[i];
    return s;
}
"""


@pytest.mark.slow
def test_a_fault_in_a_parallel_loop_ends_the_call() -> None:
    done = run_python(
        """
        import json, sys
        import numpy as np, ufunc_magic as um
        try:
            build = um.compile_c(json.loads(sys.argv[1]), compile_args=["-fopenmp"], link_args=["-fopenmp"])
        except (um.CompileError, um.LinkError) as error:
            print("no OpenMP here:", error)
            sys.exit()
        x = np.ones((3, 400))
        x[1, 390] = 5  # the last thread's
        for _ in range(3):
            try:
                build.total(x)
            except um.CellCrashed as error:
                assert "followed a null pointer" in str(error) and "at index 1" in str(error), error
            else:
                raise AssertionError("it came back")
            assert build.total(x[0]) == 400
        print("alive")
        """,
        json.dumps(OPENMP),
    )
    if done.stdout.startswith("no OpenMP"):
        pytest.skip(done.stdout)
    assert done.stdout == "alive\n"
