"""New code runs in a helper process first: what crashes there is an error here, with the input and the line."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import CELLS, compile_in, run_python
from ufunc_magic.guard import guard_process as process, trial_inputs as inputs
from ufunc_magic.guard.helper.helper_process import Helper, Ready
from ufunc_magic.guard.helper.probe import open_watcher
from ufunc_magic.guard.helper.probe_memory import Record
from ufunc_magic.guard.trial import may_run_twice
from ufunc_magic.guard.trial_inputs import suggest_values

pytestmark = [
    pytest.mark.usefixtures("shared_cache"),
    pytest.mark.skipif(not process.is_available(), reason="the guard needs fork() and socket.send_fds()"),
]

#: What rests on a trap of the processor's.
traps = pytest.mark.skipif(
    platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero without a trap, to 0"
)

CRASHING = sorted((CELLS / "crash").glob("*.c"))
#: What `__builtin_trap` raises: x86's instruction is an illegal one, arm64's a breakpoint.
_TRAP = "SIGTRAP" if platform.machine() in ("aarch64", "arm64") else "SIGILL"
CRASHES = [path for path in CRASHING if "// expect:" in path.read_text()]
#: Of which some function is bound.
FAULTY = [path for path in CRASHING if path not in CRASHES]


@pytest.fixture(autouse=True, scope="module")
def _stopped() -> Iterator[None]:
    yield
    process.stop()


def crash(source: str, **options: object) -> str:
    """The message of the CellCrashed that a cell ends in."""
    with pytest.raises(um.CellCrashed) as caught:
        um.compile_c(source, **options)
    return str(caught.value)


# ------------------------------------------------------------------------------------- what a trial must not do


def _has_seccomp() -> bool:
    """Emulators of another machine's programs have none: prctl(PR_GET_SECCOMP)."""
    return sys.platform == "linux" and ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) >= 0


_confined = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64") or not _has_seccomp(),
    reason="trials are confined by seccomp, on x86-64 and aarch64 Linux; qemu-user has none",
)


@_confined
@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("changes files or folders", "x += truncate(FILE, 0);"),
        ("changes files or folders", "int (*remover)(const char *) = unlink; x += remover(FILE);"),
        ("opens a file for writing", "if (x > 1e300) x += openat(AT_FDCWD, FILE, O_WRONLY | O_TRUNC);"),
        ("uses the network", "x += syscall(SYS_socket, 2, 1, 0);"),
        ("sends a signal", "x += syscall(SYS_kill, (long)getppid(), 0);"),
        ("starts a process", "x += syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);"),
        ("makes a system call that a trial does not allow", "x += syscall(SYS_mount, 0, 0, 0, 0, 0);"),
    ],
)
def test_a_trial_changes_nothing_however_the_code_is_written(tmp_path: Path, what: str, body: str) -> None:
    file = tmp_path / "precious"
    file.write_text("data")
    build = um.compile_c(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sched.h>\n#include <signal.h>\n#include <stdlib.h>\n"
        f'#include <sys/syscall.h>\n#include <unistd.h>\n#define FILE "{file}"\n'
        f"double writes(double x) {{ {body} return x; }}\ndouble calculates(double x) {{ return x + 1; }}\n"
    )
    assert f"writes: not tried out, nor timed: it {what}, which must not happen in a trial." in build.notes
    assert [c.name for c in build.report().comparisons] == ["calculates"]
    assert file.read_text() == "data"


@_confined
def test_a_library_that_changes_files_when_it_is_opened_is_bound_untried(tmp_path: Path) -> None:
    build = um.compile_c(
        "#include <unistd.h>\n__attribute__((constructor)) static void start(void)\n"
        f'{{ if (truncate("{tmp_path}/missing", 0)) return; }}\ndouble f(double x) {{ return x; }}'
    )
    assert build.notes == (
        "f: not tried out, nor timed: it changes files or folders, which must not happen in a trial.",
    )
    assert build.f(2.0) == 2.0


# ------------------------------------------------------------------------------------- what ends a process


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "what", "line"),
    [
        ("double a1(double x) {\n  double *p = 0;\n  return p[0] + x;\n}", "follows a null pointer (SIGSEGV)", 3),
        ("#include <stdlib.h>\ndouble a2(double x) {\n  abort();\n}", "calls abort() (SIGABRT)", 3),
        (
            "double a3(double x) {\n  volatile double a[3000000];\n  for (int i = 0; i < 3000000; i++) a[i] = x;\n"
            "  return a[5];\n}",
            "overflows the stack",
            None,
        ),
        ("int a4(int x) {\n  volatile int y = x;\n  return 1 + a4(y + 1) / 2;\n}", "overflows the stack", 3),
        ("double a5(double x) {\n  __builtin_trap();\n}", f"undefined behaviour ({_TRAP})", 2),
        pytest.param(
            "int a6(int x) {\n  volatile int zero = 0;\n  return x / zero;\n}",
            "divides an integer by zero",
            3,
            marks=traps,
        ),
        ("#include <signal.h>\nint a7(int x) {\n  return raise(SIGKILL);\n}", "is ended by SIGKILL", None),
        (
            "#include <assert.h>\ndouble a8(double x) {\n  assert(x > 1 && x < 1);\n  return x;\n}",
            "fails its assertion `x > 1 && x < 1'",
            3,
        ),
    ],
    ids=["null", "abort", "array", "recursion", "trap", "division", "kill", "assert"],
)
def test_crash_on_ordinary_values_is_an_error_that_names_the_line(source: str, what: str, line: int | None) -> None:
    said = crash(source)
    assert what.lower() in said.lower()
    assert (f"on line {line} of <c>" in said) if line else ("<c>" not in said or "on line" in said)


def test_exit_is_an_error_with_its_status() -> None:
    assert "e(0.5) calls exit(3) on line 2 of <c>:" in crash("#include <stdlib.h>\ndouble e(double x) { exit(3); }")


def test_what_is_slow_on_every_value_is_bound_untried() -> None:
    """Stop ends a call of it."""
    built = um.compile_c("double w(double x) { volatile int on = 1; while (on) ; return x; }")
    assert built.notes == ("w: not tried out, nor timed: w(0.5) was still running after 0.5 s.",)


def test_what_takes_more_and_more_memory_is_not_only_slow() -> None:
    source = (
        "#include <stdlib.h>\ndouble eats(double x) {\n  volatile char *p;\n"
        "  for (;;) { p = malloc(1 << 20); if (p) p[0] = 1; }\n  return x;\n}\n"
    )
    assert "memory" in crash(source)


@pytest.mark.slow
@pytest.mark.cython
def test_what_is_slow_in_cython_leaves_the_cell_as_it_is() -> None:
    pytest.importorskip("Cython")
    built = um.compile_cython(
        "cdef int on = 1\ncpdef int never(int seed=1):\n    while on: seed ^= 1\n    return seed\n"
        "def late(double x):\n    while on and x > 0: pass\n    return 2*x\n"
        "cdef class Counter:\n    cdef public int n\n"
    )
    assert {*built} == {"never", "late", "Counter"}
    assert "never: not tried out, nor timed: never(1) was still running after 0.5 s." in built.notes
    assert built.late(-2.0) == -4.0


@pytest.mark.slow
@pytest.mark.cython
def test_slow_statements_of_a_cell_fail_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("Cython")
    monkeypatch.setattr("ufunc_magic.guard.trial.OPENING", 0.05)
    built = um.compile_cython("total = sum(range(10**7))\ndef sl2(double x):\n    return 2 * x")
    assert "sl2: not tried out, nor timed: the cell's own statements were still running" in built.notes[0]
    assert (built.total, built.sl2(1.0)) == (49999995000000, 2.0)


def test_equal_numbers_are_not_the_first_that_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inputs.PATIENCE, "ordinary", 0.1)
    monkeypatch.setitem(inputs.PATIENCE, "edge", 0.1)
    built = um.compile_c(
        "int digits(int n, int base) { int k = 0; while (n) { n /= base; k++; } return k; }\n"
        "long upto(long l, long b) { long p = 1; while (p * b <= l) p *= b; return p; }\n"
        "int order(int a, int m) { int k = 1; long x = a % m; while (x != 1) { x = x * a % m; k++; } return k; }\n"
        # The first numbers that end are the fourth that the text suggests.
        "int seven(int n, int m) { while (n % m != 7) ; return n; }\n"
    )
    assert [built.digits(100, 10), built.upto(100, 3), built.order(3, 7), built.seven(7, 9)] == [3, 81, 6, 7]
    notes = "\n".join(built.notes)
    assert "digits(-1, -1): was still running after 0.1 s. Such a call runs until you press Stop." in notes


def test_write_behind_an_array_is_an_error_that_names_it() -> None:
    said = crash(
        "// ufunc: (n)->(n)\nvoid cs(const double *a, int n, double *out) {\n  double s = 0;\n"
        "  for (int i = 0; i < n; i++) s += a[i];\n  for (int i = 0; i <= n; i++) out[i] = s;\n}"
    )
    assert "writes just past the end of out (SIGSEGV) on line 5 of <c>" in said
    assert "cs(a) with n=5, a=[0.1, 0.3, 0.5, 0.7, 0.9]" in said


def test_read_before_an_array_is_an_error() -> None:
    said = crash("// ufunc: (n)->()\ndouble b(const double *a, int n) {\n  return a[-1];\n}")
    assert "before the start of a" in said


def test_write_to_foreign_memory_is_an_error_on_edge_values_too() -> None:
    said = crash("static double seen[8];\ndouble keep(int i) {\n  seen[i] = i;\n  return seen[0];\n}")
    assert re.search(r"keep\(-?\d+\) writes out of bounds", said)
    assert "on line 3 of <c>" in said


def test_memory_without_end_is_an_error() -> None:
    said = crash(
        "#include <stdlib.h>\nvolatile char *last;\ndouble eat(double x) {\n"
        "  for (;;) { last = malloc(1 << 20); last[5] = 1; }\n  return x;\n}"
    )
    assert "memory" in said or "malloc() returns NULL" in said


def test_crash_of_a_constructor_is_an_error() -> None:
    said = crash(
        "#include <stdlib.h>\n__attribute__((constructor)) static void go(void) { abort(); }\n"
        "double c(double x) { return x; }"
    )
    assert "<c> calls abort() (SIGABRT) while it loads, before any function is called." in said


# ---------------------------------------------------------------------------- what is bound with a warning


@traps
def test_division_by_zero_is_a_note_that_names_the_input() -> None:
    made = um.compile_c("int div_(int a, int b) { return a / b; }")
    (note,) = made.notes
    assert note.startswith("div_(0, 0), ")
    assert "divides an integer by zero" in note
    assert made.div_(7, 2) == 3


def test_a_complex_number_may_be_an_index_of_a_table() -> None:
    made = um.compile_c(
        "#include <complex.h>\n"
        "double look(double complex z) { static const double t[4] = {1, 2, 3, 4}; return t[(int)z]; }\n"
    )
    np.testing.assert_array_equal(made.look([0, 1 + 2j, 3]), [1, 2, 4])
    assert made.notes[0].startswith("look((")


def test_unchecked_table_is_a_note_that_names_the_input() -> None:
    made = um.compile_c("static double t[4] = {1, 2, 3, 4};\ndouble look(int i) {\n  return t[i];\n}")
    assert re.match(r"look\(-?\d+\).*: reads out of bounds.* Such a call raises CellCrashed", made.notes[0])
    assert made.look(2) == 3.0


def test_assertion_on_an_edge_value_is_a_note() -> None:
    made = um.compile_c("#include <assert.h>\ndouble root(double x) { assert(x >= 0); return x; }")
    assert made.notes[0].startswith("root(-1.0), ")
    assert "fails its assertion `x >= 0' on line 2. Such" in made.notes[0]


def test_function_that_grows_beyond_patience_is_bound() -> None:
    made = um.compile_c(
        "int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) "
        ": ackermann(m - 1, ackermann(m, n - 1)); }"
    )
    assert made.ackermann(2, 3) == 9


def test_function_that_ends_for_positive_numbers_only_is_bound() -> None:
    made = um.compile_c(
        "int collatz(int n) { int k = 0; while (n != 1) { n = n % 2 ? 3*n + 1 : n / 2; k++; } return k; }"
    )
    (note,) = made.notes
    assert note == "collatz(0): was still running after 0.5 s. Such a call runs until you press Stop."
    assert made.collatz(27) == 111


def test_note_says_that_some_calls_raise_and_others_never_end() -> None:
    made = um.compile_c(
        "#include <stdlib.h>\n"
        "int f(int n) { volatile int on = 1; if (n == 0) abort(); while (n < 0 && on) ; return n; }"
    )
    (note,) = made.notes
    assert "f(-1): was still running after " in note
    assert note.endswith("Such a call raises CellExited or runs until you press Stop.")


def test_recursion_that_is_too_deep_for_the_largest_number_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inputs.PATIENCE, "huge", 5.0)
    made = um.compile_c("int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }")
    assert "fib(2147483647): overflows the stack" in made.notes[0]
    assert made.fib(20) == 6765


def test_loop_to_the_largest_number_is_nothing_to_speak_of() -> None:
    made = um.compile_c("double sum_to(int n) { double s = 0; for (int i = 0; i < n; i++) s += i; return s; }")
    assert made.notes == ()


def test_reading_the_first_element_of_nothing_is_a_note() -> None:
    made = um.compile_c(
        "// ufunc: (n)->()\ndouble top(const double *a, int n) {\n  double m = a[0];\n"
        "  for (int i = 1; i < n; i++) if (a[i] > m) m = a[i];\n  return m;\n}"
    )
    assert made.notes[0].startswith("top(a) with n=0: reads just past the end of a")
    assert made.notes[0].endswith("may read memory outside its array.")  # and raises nothing


def test_a_failed_malloc_is_no_stray_write() -> None:
    built = um.compile_c(
        "#include <stdlib.h>\n"
        # The last element first: its address is no null pointer's.
        "long last(int n) { volatile long *t = malloc((n + 2L) * sizeof *t); t[n + 1] = n; return t[n + 1]; }\n"
        "double big(double x) { volatile double *t = calloc(1L << 28, 8); t[1 << 27] = x; return t[1 << 27]; }\n"
        "double clean(double x) { volatile double *t = malloc(1L << 46); if (t) t[5] = 1; return x; }\n"
        "static volatile double t[4];\nstatic int fails(void) { return !malloc(1L << 50); }\n"
        "int wild(int i) { t[i] = fails(); return i; }\n"
        # The smallest integer is a square of 0 bytes.
        "double square(int n) {\n  volatile char *t = malloc((size_t)n * n * 8);\n"
        "  for (long i = 0; i < 8L * n * n; i++) t[i] = 1;\n  return n * (double)n;\n}\n"
    )
    assert [*built] == ["last", "big", "clean", "square"]
    assert [built.last(50), built.big(2.0), built.clean(3.0), built.square(3)] == [50, 2.0, 3.0, 9.0]
    notes = "\n".join(built.notes)
    assert "last(2147483647), last(-2147483648): uses the NULL of malloc()" in notes
    assert "big: not tried out, nor timed: big(0.5) uses the NULL of malloc()" in notes
    assert "clean" not in notes


@traps
def test_notes_come_back_from_the_cache(shared_cache_folder: Path) -> None:
    source = "int div2(int a, int b) { return a / b; }"
    first = um.compile_c(source)
    program = f"import ufunc_magic as um; b = um.compile_c({source!r}); print(b.cached, b.notes[0][:10])"
    done = run_python(program)
    assert done.stdout.split(None, 1) == ["True", first.notes[0][:10] + "\n"]


# ------------------------------------------------------------------------------------------- what leaks out


def test_what_the_code_prints_is_kept_and_cut() -> None:
    made = um.compile_c('#include <stdio.h>\ndouble say(double x) { printf("x is %g\\n", x); return x; }', force=True)
    lines = made.printed.splitlines()
    assert lines[:2] == ["The cell printed this during its trial:", "x is 0.5"]
    assert len(lines) == 12
    assert "bytes in all" in lines[-1]


@pytest.mark.skipif(sys.platform == "linux" and not _has_seccomp(), reason="emulated: longer than a trial may take")
def test_flood_of_output_is_no_problem() -> None:
    made = um.compile_c(
        "#include <stdio.h>\n"
        'double flood(double x) { for (int i = 0; i < 300000; i++) puts("flood flood flood"); return x; }',
        force=True,
    )
    assert len(made.printed) < 3000


# --------------------------------------------------------------------------------------------- the switches


def test_without_the_guard_a_cell_is_bound_untried() -> None:
    made = um.compile_c("#include <stdlib.h>\ndouble bye(double x) { if (x == 0.5) exit(3); return x; }", guard=False)
    assert "guard" not in made.seconds
    assert made.bye(1.0) == 1.0
    assert any("not tried first" in note for note in made.notes)


@pytest.mark.slow
def test_cached_cell_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "double once(double x) { return x; }"
    um.compile_c(source)
    process.stop()
    monkeypatch.setattr(process.GuardProcess, "begin", lambda **_: pytest.fail("a helper was started"))
    assert um.compile_c(source).cached


def test_a_known_cell_says_no_more_that_it_was_not_tried() -> None:
    source = "double untried(double x) { return x; }"
    assert "--no-guard" in um.compile_c(source, guard=False).notes[0]
    assert um.compile_c(source, guard=False).notes == ()
    program = f"import ufunc_magic as um; b = um.compile_c({source!r}, guard=False); print(b.cached, b.notes)"
    assert run_python(program).stdout == "True ()\n"


def test_names_of_a_crashed_cell_are_gone(loaded: InteractiveShell) -> None:
    loaded.run_cell_magic("c_ufunc", "-q", "double h(double x) { return x; }")
    assert "h" in loaded.user_ns
    with pytest.raises(um.CellCrashed):
        loaded.run_cell_magic("c_ufunc", "-q", "double h(double x) { return *(double *)0; }")
    assert "h" not in loaded.user_ns


def test_files_are_not_touched_for_a_trial(tmp_path: Path) -> None:
    victim = tmp_path / "precious"
    victim.write_text("data")
    um.compile_c(f'#include <stdio.h>\ndouble rm(double x) {{ remove("{victim}"); return x; }}')
    assert victim.exists()


# ------------------------------------------------------------------------------------------------- Cython


@pytest.mark.slow
@pytest.mark.cython
@pytest.mark.parametrize(
    ("source", "what"),
    [
        (
            "cdef double h(double x) noexcept nogil:\n    cdef double *p = NULL\n    return p[0] + x\n",
            "line 3 of <cython>",
        ),
        (
            "cimport cython\n# ufunc: (n)->()\n@cython.boundscheck(False)\ncdef double s(double[:] a):\n"
            "    cdef double t = 0\n    for i in range(a.shape[0] + 1):\n        t += a[i]\n    return t\n",
            "line 7 of <cython>",
        ),
    ],
    ids=["null", "bounds"],
)
def test_crash_of_cython_names_the_line(source: str, what: str) -> None:
    pytest.importorskip("Cython")
    with pytest.raises(um.CellCrashed, match=re.escape(what)):
        um.compile_cython(source)


@pytest.mark.cython
def test_exception_of_cython_is_no_crash() -> None:
    pytest.importorskip("Cython")
    made = um.compile_cython(
        "cpdef double root(double x) except? -1:\n    if x < 0: raise ValueError(x)\n    return x**0.5"
    )
    assert made.root(4.0) == 2.0


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("import numpy as np\nx = np.zeros(3)", True),
        ("from math import (\n  sin,\n  cos)\ncdef double k = 3.0", True),
        ('"""print(3)\nfor\n"""\n@cython.cfunc\ndef f(): pass', True),
        ("cimport numpy as cnp\ncnp.import_array()", True),
        ("print('hello')", False),
        ("x = open('f')", False),
        ("import pandas", False),
        ("for i in range(3): pass", False),
    ],
)
def test_statements_that_do_something_are_not_run_twice(source: str, answer: bool) -> None:
    assert may_run_twice(source) is answer


@pytest.mark.slow
@pytest.mark.cython
def test_function_that_calls_scipy_is_tried() -> None:
    pytest.importorskip("Cython")
    pytest.importorskip("scipy", reason="SciPy is not installed")
    made = um.compile_cython(
        "from scipy.linalg.cython_blas cimport dnrm2\n"
        "cpdef double length(double x) noexcept nogil:\n    cdef int n = 1\n    return dnrm2(&n, &x, &n)\n"
    )
    assert made.notes == ()
    assert made.length(np.array([-3.0])).tolist() == [3]


@pytest.mark.cython
def test_statements_of_a_cython_cell_run_once(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("Cython")
    made = um.compile_cython("print('once')\ncdef double k2(double x): return x + 1\n", force=True)
    assert capfd.readouterr().out == "once\n"
    assert made.k2(1.0) == 2.0
    assert any(note.startswith("not tried first") for note in made.notes)


# ------------------------------------------------------------------------------------ the helper's own life


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children() -> list[psutil.Process]:
    return [c for c in psutil.Process().children() if _is_running(c.pid) and "helper_process" in " ".join(c.cmdline())]


def test_one_helper_serves_all_cells_and_is_replaced_when_it_dies() -> None:
    um.compile_c("double p1(double x) { return x; }", force=True)
    (first,) = children()
    um.compile_c("double p1(double x) { return x; }", force=True)
    assert [c.pid for c in children()] == [first.pid]
    first.kill()
    first.wait(300)
    assert um.compile_c("double p1(double x) { return x; }", force=True).p1(2.0) == 2.0
    (second,) = children()
    assert second.pid != first.pid


def child_at_work(work: Callable[[Record, socket.socket], None]) -> tuple[Ready, socket.socket]:
    """A forked process that does ``work``, as the helper sees it, and the test's end of a link to it."""
    record, (ours, theirs), (mine, its) = Record(), socket.socketpair(), socket.socketpair()
    number = os.fork()
    if not number:
        try:
            work(record, its)
        finally:
            os._exit(0)
    theirs.close()
    its.close()
    return Ready(number, ours, record, os.open(os.devnull, os.O_RDWR)), mine


def at_its_limit(work: Callable[[], object], seconds: float) -> Callable[[Record, socket.socket], None]:
    """A case that does ``work`` when it is told to, and may take so long."""
    library = str(process.build_watch_library())

    def begin(record: Record, link: socket.socket) -> None:
        watch = open_watcher(library)
        watch.watch(ctypes.addressof(record.state), 1)
        link.recv(4)
        record.begin(1, [])
        watch.limit(seconds)
        work()

    return begin


def spin() -> None:
    while True:
        pass


#: The child does next to nothing.
FORKS = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@FORKS
@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not tell how long a process waited"
)
@pytest.mark.parametrize("shares", [1, 6])
def test_who_waits_for_a_processor_has_more_time(shares: int) -> None:
    """Of a processor that it has alone, or has to share with so many."""

    mine = os.sched_getaffinity(0)
    processors = {next(iter(mine))}
    at_work, link = child_at_work(at_its_limit(spin, 0.2))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(shares - 1)]
    ours, theirs = socket.socketpair()
    with link, ours, theirs:
        for number in (at_work.process, *(other.pid for other in busy)):
            os.sched_setaffinity(number, processors)
        link.send(b"go")
        began = time.monotonic()
        assert not Helper(ours, "").wait(at_work, [5.0, 60.0])
        assert at_work.record.read()["signal"] == signal.SIGALRM
        taken = time.monotonic() - began
    for other in busy:
        other.kill()
        other.wait()
    at_work.close()
    assert taken >= (0.18 if shares == 1 else 0.78)


@FORKS
def test_who_sleeps_has_no_more_time() -> None:
    # Four times its limit would be longer than it sleeps.
    at_work, link = child_at_work(at_its_limit(lambda: time.sleep(1.5), 0.5))
    ours, theirs = socket.socketpair()
    with link, ours, theirs:
        link.send(b"go")
        assert not Helper(ours, "").wait(at_work, [5.0, 60.0])
        assert at_work.record.read()["signal"] == signal.SIGALRM
    at_work.close()


@FORKS
def test_who_does_not_hear_its_limit_is_ended() -> None:
    def deaf(record: Record, link: socket.socket) -> None:
        record.begin(1, [])
        time.sleep(60)

    at_work, link = child_at_work(deaf)
    ours, theirs = socket.socketpair()
    with link, ours, theirs:
        assert Helper(ours, "").wait(at_work, [5.0, 0.01])
    at_work.close()


def test_processes_that_wait_may_be_killed() -> None:
    um.compile_c("double p2(double x) { return x; }", force=True)
    (helper,) = children()
    for waiting in helper.children():
        waiting.kill()
    assert um.compile_c("double p2(double x) { return x; }", force=True).p2(2.0) == 2.0
    assert children() == [helper]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pass", "os.kill(os.getpid(), 9)", "os._exit(1)", "1/0"])
def test_helper_ends_with_its_process_however_that_ends(ending: str) -> None:
    program = (
        "import os, psutil, sys, ufunc_magic as um\n"
        "um.compile_c('double e1(double x) { return x; }', force=True)\n"
        "print(*(c.pid for c in psutil.Process().children()), flush=True)\n" + ending
    )
    done = run_python(program, code=None)
    pids = list(map(int, done.stdout.split()))
    assert pids
    deadline = time.monotonic() + 300
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_running, pids))


@pytest.mark.slow
def test_interrupt_ends_the_trial() -> None:
    program = (
        "import signal, threading, os, time, psutil, ufunc_magic as um\n"
        "um.compile_c('double warm(double x) { return x; }')\n"
        "import ufunc_magic.guard.trial_inputs as inputs\n"
        "inputs.PATIENCE['ordinary'] = 60.0\n"
        "me = psutil.Process()\n"
        # The helper has forked the trial ahead of time: it works when it has used some time.
        "def works(c):\n"
        "    try: return c.name().startswith(('ufunc', 'python')) and sum(c.cpu_times()[:2]) > 0.4\n"
        "    except psutil.Error: return False\n"
        "def stop():\n"
        "    while not any(works(c) for c in me.children(recursive=True)): time.sleep(0.02)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        "try:\n"
        "    um.compile_c('double w2(double x) { volatile int on = 1; while (on) ; return x; }')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "busy = lambda: [c for c in psutil.Process().children(recursive=True) if c.status() == 'running']\n"
        "deadline = time.monotonic() + 60\n"
        "while busy() and time.monotonic() < deadline: time.sleep(0.05)\n"
        "print(time.monotonic() < deadline)\n"
        "print(um.compile_c('double next_(double x) { return x; }').next_(3.0))\n"
    )
    done = run_python(program, code=None)
    assert done.stdout.split("\n") == ["interrupted", "True", "3.0", ""], done.stderr


@pytest.mark.slow
def test_child_of_a_fork_has_a_helper_of_its_own() -> None:
    um.compile_c("double f1(double x) { return x; }", force=True)
    program = (
        "import os, ufunc_magic as um\n"
        "um.compile_c('double f1(double x) { return x; }', force=True)\n"
        "pid = os.fork()\n"
        "made = um.compile_c('double f2(double x) { return 2*x; }', force=True).f2(4.0)\n"
        "assert made == 8.0\n"
        "if pid: assert os.waitpid(pid, 0)[1] == 0\n"
    )
    run_python(
        program,
        options=("-W", "ignore"),
    )


# ---------------------------------------------------------------------------------------------- --sanitize


def sanitizer() -> bool:
    from ufunc_magic.guard import sanitize

    try:
        environment = {**os.environ, "LD_PRELOAD": sanitize.find_preload(), "ASAN_OPTIONS": "detect_leaks=0"}
    except um.ToolchainError:
        return False
    return subprocess.run([sys.executable, "-I", "-S", "-c", ""], env=environment, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "what", "line"),
    [
        ("int add(int a, int b) {\n  return a + b;\n}", "signed integer overflow: 2147483647 + 2147483647", 2),
        ("int sh(int a, int b) {\n  return a << b;\n}", "shift exponent", 2),
        ("int whole(double a) {\n  return (int)a;\n}", "outside the range of representable values of type 'int'", 2),
        (
            "// ufunc: (n)->()\nint askew(const char *a, int n) {\n  return n < 6 ? 0 : *(const int *)(a + 1);\n}",
            "misaligned",
            3,
        ),
    ],
    ids=["overflow", "shift", "conversion", "misaligned"],
)
def test_sanitizer_reports_on_the_line(source: str, what: str, line: int) -> None:
    if not sanitizer():
        pytest.skip("the compiler has no AddressSanitizer run time that starts here")
    if "askew" in source:
        source = source.replace("n < 6", "n < 5")
    made = um.compile_c(source, sanitize=True)
    said = [d for d in made.diagnostics if d.option == "--sanitize" and what in d.message]
    assert [d.line for d in said][:1] == [line], made.diagnostics


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "what", "line"),
    [
        ("double local(int k) {\n  double a[4] = {1, 2, 3, 4};\n  return a[k & 7];\n}", "stack-buffer-overflow", 3),
        (
            "#include <stdlib.h>\nint uaf(int x) {\n  int *p = malloc(8);\n  free(p);\n  return p[0];\n}",
            "heap-use-after-free",
            5,
        ),
        (
            "// ufunc: (n)->()\ndouble in(double *a, int n) {\n  a[n] = 3;\n  return 0;\n}",
            "use-after-poison",
            3,
        ),
    ],
    ids=["stack", "freed", "behind"],
)
def test_sanitizer_refuses_stray_accesses(source: str, what: str, line: int) -> None:
    if not sanitizer():
        pytest.skip("the compiler has no AddressSanitizer run time that starts here")
    said = crash(source, sanitize=True)
    assert what in said
    assert f" on line {line} of <c>:" in said


@pytest.mark.slow
def test_a_sanitizer_that_does_not_start_is_an_error_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from ufunc_magic.guard import sanitize

    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    library = tmp_path / "asan.so"
    text = "#include <unistd.h>\n__attribute__((constructor)) static void start(void) { _exit(1); }\n"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=text, text=True, check=True)
    monkeypatch.setattr(sanitize, "find_preload", lambda: str(library))
    with pytest.raises(um.ToolchainError, match=r"does not start.*status 1"):
        um.compile_c("double f(double x) { return x; }", sanitize=True)


def test_compiler_without_sanitizers_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from ufunc_magic.guard import sanitize

    monkeypatch.setattr(sanitize.compilers, "read_output", lambda command: "libasan.so\n", raising=False)
    with pytest.raises(um.ToolchainError, match="apt install gcc"):
        um.compile_c("double s0(double x) { return x; }", sanitize=True, force=True)


# ------------------------------------------------------------------------------------------------ the corpus


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=pytest.mark.slow if p.stem == "memory" else ()) for p in CRASHES]
)
def test_crash_cell_ends_as_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inputs.PATIENCE, "ordinary", {"memory": 60.0, "endless_loop": 0.1}.get(path.stem, 1.5))
    source = path.read_text()
    expected = re.match(r"// expect: (.*)", source)
    assert expected, "the first line says what is expected"
    if expected[1].startswith("note"):
        assert any(expected[1].partition(":")[2].strip() in note for note in um.compile_c(source).notes)
    elif expected[1].startswith("bound"):
        assert len(um.compile_c(source)) >= 1
    else:
        said = crash(source).lower()
        assert expected[1].startswith("crash") or expected[1].strip().lower() in said


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=traps if p.stem == "modulo" else ()) for p in FAULTY]
)
def test_a_fault_concerns_its_function(path: Path) -> None:
    source = path.read_text()
    expected = dict(re.findall(r"^// (\w+): (.*)", source, re.M))
    built = um.compile_c(source)
    assert list(built) == expected["bound"].split()
    call, _, value = expected["value"].partition(" == ")
    assert eval(call, {**built}) == eval(value, vars(np).copy())
    assert expected.get("note", "") in "\n".join(built.notes)
    name, what, line = re.fullmatch(r"(?:(\w+) (.*), line (\d+))?", expected.get("refused", "")).groups()
    errors = [d for d in built.diagnostics if d.severity == "error"]
    assert [d.line for d in errors] == ([int(line)] if name else [])
    if name:
        assert what in errors[0].message
        assert errors[0].text == source.split("\n")[int(line) - 1]
        with pytest.raises(um.CellCrashed, match=re.escape(what)):
            built[name]
    # The same again, from the cache: nothing is compiled, and all is said.
    script = f"import ufunc_magic as um; b = um.compile_c({source!r}); print(b.cached, [*b], b.notes, b.diagnostics)"
    done = run_python(script)
    assert done.stdout == f"True {[*built]} {built.notes} {built.diagnostics}\n"


PARTS = """#include <stdlib.h>
double lost(double x) { abort(); }
double left(double x) { return x; }
"""


def test_a_refused_function_is_missing_and_says_why() -> None:
    built = um.compile_c(PARTS)
    assert repr(built) == "<Build <c>: left d->d; not bound: lost>"
    assert ("lost" in built, built.get("lost"), hasattr(built, "lost"), len(built)) == (False, None, False, 1)
    for ask in (lambda: built["lost"], lambda: built.lost):
        with pytest.raises(um.CellCrashed, match=r"lost\(0.5\) calls abort\(\)[^$]* line 2"):
            ask()
    with pytest.raises(KeyError) as caught:
        built["neither"]
    assert not isinstance(caught.value, um.CellCrashed)


@pytest.mark.slow
@pytest.mark.cython
def test_a_fault_concerns_its_function_in_cython() -> None:
    pytest.importorskip("Cython")
    built = um.compile_cython(
        "from libc.stdlib cimport abort\n"
        "cpdef double cy_lost(double x):\n    cdef double *p = NULL\n    return p[0] + x\n"
        "cdef double cy_left(double x) noexcept nogil:\n    if x == 7: abort()\n    return x\ndef cy_any(s): return s\n"
    )
    assert {*built} == {"cy_left", "cy_any"}
    with pytest.raises(um.CellCrashed, match="on line 4 of <cython>"):
        built["cy_lost"]


@pytest.mark.slow
def test_a_fault_concerns_its_function_in_cuda() -> None:
    built = um.compile_cuda(
        "__device__ double cu_lost(double x) { int *p = 0; return *(volatile int *)p + x; }\n"
        "__device__ double cu_left(double x) { return x; }\n__global__ void cu_kernel(double *x) { *x = 1; }\n"
    )
    assert [*built] == ["cu_left", "cu_kernel"]
    with pytest.raises(um.CellCrashed, match=r"cu_lost\(0.5\) follows"):
        built["cu_lost"]


def test_one_function_is_wanted_and_one_of_two_is_refused() -> None:
    with pytest.raises(um.CellCrashed, match="lost is not bound"):
        um.c_ufunc(PARTS)


def test_a_refused_function_does_not_travel() -> None:
    built = um.compile_c(PARTS)
    assert [*um.loads(um.dumps(built))] == ["left"]


def test_without_the_guard_all_are_bound() -> None:
    assert [*um.compile_c(PARTS, guard=False)] == ["lost", "left"]


def test_all_functions_that_crash_are_named() -> None:
    said = crash("#include <stdlib.h>\ndouble g1(double x) { abort(); }\ndouble g2(int n) { exit(n); }")
    assert "g1(0.5) calls abort()" in said
    assert "g2(1) calls exit(1)" in said
    assert said.count("Nothing was bound") == 1


def test_functions_that_there_was_no_time_for_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ufunc_magic.guard.trial.BUDGET", 0.0)
    built = um.compile_c("double t1(double x) { return x; }\ndouble t2(double x) { return x; }")
    assert "not tried first, because the trial's time was up: t1, t2, ..." in built.notes


def test_a_function_that_only_takes_its_time_is_bound() -> None:
    """0.2 s is more than a first glance."""
    built = um.compile_c(
        "#include <time.h>\ndouble slow(double x) {\n  struct timespec t = {0, 200000000};\n  thrd_sleep_(&t);\n"
        "  return x;\n}".replace("thrd_sleep_(&t)", "clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0)")
    )
    assert [*built] == ["slow"]


@pytest.mark.slow
def test_siblings_of_many_that_never_end_are_tried() -> None:
    never = "".join(f"double n{k}(double x) {{ volatile int on = 1; while (on) ; return x; }}\n" for k in range(4))
    built = um.compile_c(never + "double good(double x) { return x; }\ndouble wild(double x) { return *(double *)8; }")
    assert [*built] == ["n0", "n1", "n2", "n3", "good"]
    assert [*built.report_data.refused] == ["wild"]


def test_constants_are_tried_where_the_type_holds_them(shared_cache_folder: Path) -> None:
    source = "#include <stdlib.h>\nint f(signed char c, int n) { if (n != 2000) abort(); return c; }\n"
    assert compile_in(shared_cache_folder, source).f(1, 2000) == 1


@pytest.mark.parametrize(
    ("text", "parameter", "kind", "first"),
    [
        ("assert(p > 0 && p < 1)", "p", "f", [0.5, 0.25, 0.75]),
        ("if (k < 10 || 20 < k) exit(1);", "k", "i", [15, 12, 18]),
        ("static double t[12]; return t[i];", "i", "i", [12, 13, 11]),
        ("if (x == 0x10) return -2.5e1;", "x", "u", [16, 17, 15]),
        ("return x;", "x", "f", []),
        ("return x > 3;", "x", "c", []),
        ("return x > 1e999 || x < 0xFFFFFFFFFFFFFFFFFFFF;", "x", "i", []),
    ],
)
def test_what_a_text_suggests(text: str, parameter: str, kind: str, first: list[float]) -> None:
    assert suggest_values(text, parameter, kind)[:3] == first


def test_names_of_a_refused_function_are_gone(loaded: InteractiveShell) -> None:
    loaded.run_cell_magic("c_ufunc", "-q", "double h2(double x) { return x; }\ndouble h3(double x) { return x; }")
    report = loaded.run_cell_magic("c_ufunc", "-q", PARTS.replace("lost", "h2").replace("left", "h3"))
    assert "h2" not in loaded.user_ns
    assert loaded.user_ns["h3"](2.0) == 2.0
    assert "h2 is not bound: h2(0.5) calls abort()" in str(report)
    assert "h2 is not bound: h2(0.5) calls abort()" in report._repr_html_()


def test_a_function_is_timed_where_it_works(loaded: InteractiveShell) -> None:
    """Not on 0.5, on which it would end this process."""
    report = loaded.run_cell_magic(
        "c_ufunc",
        "",
        "#include <stdlib.h>\n#define DIE() __builtin_trap()\ndouble far(double x) { if (x < 200) DIE(); return 2*x; }",
    )
    assert [c.name for c in report.comparisons] == ["far"]
    assert report.ok


def test_a_function_of_arrays_that_asserts_is_timed(loaded: InteractiveShell) -> None:
    report = loaded.run_cell_magic("c_ufunc", "", (CELLS / "crash" / "assert_on_an_element.c").read_text())
    assert [c.name for c in report.comparisons] == ["mean_log"]


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        ("trial_inputs", "suggest_values", "other values for p5 is missing: OverflowError: planted"),
        ("trial", "find_line", "the line is missing: OverflowError: planted"),
    ],
)
def test_what_helps_the_guard_never_fails_a_cell(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, says: str
) -> None:
    def planted(*args: object, **keywords: object) -> None:
        raise OverflowError("planted")

    monkeypatch.setattr(f"ufunc_magic.guard.{module}.{name}", planted)
    built = um.compile_c(
        "#include <stdlib.h>\ndouble p5(double p) { if (p > 0.8) __builtin_trap(); return p; }\n"
        "double p6(double x) { return x; }\ndouble p7(double x) { return *(volatile double *)0 + x; }",
        force=True,
    )
    assert "p6" in built
    assert says in "\n".join([*built.notes, *(d.message for d in built.diagnostics)])


@pytest.mark.slow
def test_numbers_are_not_changed_by_the_trial() -> None:
    made = um.compile_c("double half(double x) { return x / 2; }", force=True)
    assert np.array_equal(made.half(np.arange(5.0)), np.arange(5.0) / 2)
