"""A fault in a cell's code ends the call, and not the process: which exception, at which element, what is written."""

from __future__ import annotations

import pickle
import platform
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in, run_python
from ufunc_magic.runtime import Build

#: What rests on a trap of the processor's.
traps = pytest.mark.skipif(
    platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero without a trap, to 0"
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no containment on Windows")

#: Every function fails for values above 3 and adds 1 to the others.
SOURCE = r"""
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
double null(double x) { return x > 3 ? *(volatile double *)0 : x + 1; }
double wild(double x) { if (x > 3) *(volatile double *)(unsigned long)(x * 1e13) = 1; return x + 1; }
double trap(double x) { if (x > 3) __builtin_trap(); return x + 1; }
double deep(double x) { volatile double k[99]; k[3] = x; return x > 3 ? deep(x + 1) + k[3] : x + 1; }
static __attribute__((noinline)) double spread(void) { volatile char k[200000000]; return k[0] = k[99999999] = 2; }
double large(double x) { return x > 3 ? spread() : x + 1; }
char reach(long long to) { char here; volatile char k[(long long)&here - to - 9999]; return k[0] = 2; }
double asserts(double x) { assert(x >= 0 && x <= 3); return x + 1; }
double exits(double x) { if (x > 3) exit((int)x); return x + 1; }
double exits_(double x) { if (x > 3) _Exit(3); return x + 1; }
double aborts(double x) { if (x > 3) abort(); return x + 1; }
double raises(double x) { if (x > 3) raise(SIGTERM); return x + 1; }
double faults(double x) { if (x > 3) raise(SIGFPE); return x + 1; }
double jumps(double x) { jmp_buf b; if (setjmp(b)) return x + 1; longjmp(b, 1); }
int mod(int a, int b) { return a % b; }
int ratio(int a, int b) { return a / (b - 7); }
double pure(double x) { return x + 1; }
// ufunc: (n)->()
double total(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    assert(s < 30);
    return s;
}
// ufunc: (n)->(n)
void halves(double *x, int n) {
    for (int i = 0; i < n; i++) { x[i] /= 2; if (x[i] == 4) exit(9); }
}
double sum(double a, double b) { if (a + b > 20) abort(); return a + b; }
"""

KINDS: dict[str, tuple[type[Exception], str]] = {
    "null": (um.CellCrashed, "followed a null pointer"),
    "wild": (um.CellCrashed, "wrote out of bounds, at 0x"),
    "trap": (um.CellCrashed, "undefined behaviour"),
    "deep": (um.CellCrashed, "overflowed the stack"),
    "large": (um.CellCrashed, "overflowed the stack"),
    "asserts": (AssertionError, "Assertion `x >= 0 && x <= 3' failed"),
    "exits": (um.CellExited, r"called exit\("),
    "exits_": (um.CellExited, r"called exit\(3\)"),
    "aborts": (um.CellExited, r"called abort\(\)"),
    "raises": (um.CellExited, "raised SIGTERM"),
    "faults": (um.CellCrashed, "raised SIGFPE"),
}
X = np.arange(10.0)
BEFORE = [1.0, 2.0, 3.0, 4.0]


@pytest.fixture(scope="module")
def built(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, guard=False)


@pytest.fixture(scope="module")
def parallel(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, guard=False, parallel=3)


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_is_an_exception_of_its_element(built: Build, name: str) -> None:
    f = built[name]
    kind, text = KINDS[name]
    with pytest.raises(kind, match=text) as caught:
        f(7.0)
    assert f"{name}(7.0)" in str(caught.value)
    assert "index" not in str(caught.value)
    out = np.zeros_like(X)
    with pytest.raises(kind, match=text) as caught:
        f(X, out=out)
    assert f"{name}(4.0)" in str(caught.value)
    assert "at index 4" in str(caught.value)
    np.testing.assert_array_equal(out[:5], [*BEFORE, 0])
    assert f(2.0) == 3


@pytest.mark.parametrize("name", KINDS)
def test_what_comes_before_it_is_written(built: Build, name: str) -> None:
    f = built[name]
    kind, text = KINDS[name]
    for out, inputs in (
        (np.zeros(20)[::2], X),
        (np.zeros(10), np.repeat(X, 2)[::2]),
        (np.zeros(10), X.astype("f4")),
    ):
        with pytest.raises(kind, match=f"(?s){text}.*|.*{text}"):
            f(inputs, out=out)
        np.testing.assert_array_equal(out[:4], BEFORE)
    in_place = X.copy()
    with pytest.raises(kind, match=text):
        f(in_place, out=in_place)
    np.testing.assert_array_equal(in_place[:4], BEFORE)
    np.testing.assert_array_equal(f(X[:4]), BEFORE)


def test_large_arrays_in_place_have_all_before_the_fault_once(built: Build) -> None:
    x = np.zeros(100_000)
    x[70_001] = 5
    for options in ({"out": x.copy()}, {}):
        out = options.get("out", x)
        with pytest.raises(um.CellCrashed, match=r"null\(5\.0\).*at index 70001"):
            built.null(out if options else x, out=out)
        np.testing.assert_array_equal(out[:70_001], 1.0)


def test_in_order_where_outputs_are_inputs(built: Build) -> None:
    x = np.arange(10.0)
    with pytest.raises(um.CellExited, match=r"sum\(15\.0, 6\.0\)"):
        built.sum.accumulate(x, out=x)
    np.testing.assert_array_equal(x[:6], [0, 1, 3, 6, 10, 15])
    with pytest.raises(um.CellExited, match=r"sum\(15\.0, 6\.0\)"):
        built.sum.reduce(np.arange(10.0))
    assert built.sum.reduce(np.arange(5.0)) == 10


@traps
def test_integer_division_has_its_own_words(built: Build) -> None:
    with pytest.raises(um.CellCrashed, match=r"^mod\(5, 0\) divided by zero\.$"):
        built.mod(5, 0)
    with pytest.raises(um.CellCrashed, match=r"^mod\(8, 0\) .*zero, at index 3\."):
        built.mod(np.arange(5, 10, dtype="i4"), np.array([1, 2, 3, 0, 5], dtype="i4"))
    with pytest.raises(um.CellCrashed, match=r"divided the smallest integer by -1\.$"):
        built.mod(np.int32(-(2**31)), np.int32(-1))
    with pytest.raises(um.CellCrashed, match=r"by zero, or .* by -1"):
        built.ratio(np.int32(5), np.int32(7))


def test_memory_faults_say_what_to_do_and_others_do_not(built: Build) -> None:
    with pytest.raises(um.CellCrashed) as caught:
        built.wild(4.0)
    assert "may be damaged" in caught.value.remedy
    assert "--sandbox" in caught.value.remedy
    with pytest.raises(um.CellCrashed) as caught:
        built.trap(4.0)
    assert caught.value.remedy == ""


def test_a_status_and_a_line_travel_with_the_exception(built: Build) -> None:
    with pytest.raises(um.CellExited) as exited:
        built.exits(5.0)
    assert exited.value.status == 5
    line = 1 + SOURCE.split("\n").index(next(t for t in SOURCE.split("\n") if "double asserts" in t))
    with pytest.raises(um.CellAssertionError, match=f"on line {line} of "):
        built.asserts(-1.0)


def test_generalized_functions_name_the_item(built: Build) -> None:
    rows = np.arange(12.0).reshape(3, 4)
    out = np.zeros(3)
    with pytest.raises(AssertionError, match=r"total\(\[ ?8\., *9\., *10\., *11\.\]\), at index 2"):
        built.total(rows, out=out)
    np.testing.assert_array_equal(out, [6, 22, 0])
    with pytest.raises(um.CellExited, match=r"halves\(\[ ?8\., *9\., *10\., *11\.\]\) .*exit\(9\), at index 2"):
        built.halves(rows[:, ::1])
    np.testing.assert_array_equal(rows[2], [8, 9, 10, 11])
    with pytest.raises(um.CellExited, match="at index 1"):
        built.halves(np.arange(24.0).reshape(3, 8)[:, ::2])


MATRIX = np.ones((30, 40), "i4")
MATRIX[[17, 25], [33, 3]] = 0
LONG = np.arange(1, 20_001, dtype="i4")
LONG[[12_000, 15_000]] = 0


@traps
@pytest.mark.parametrize(
    ("call", "index"),
    [
        (lambda f: f(LONG - 1, LONG), "12000"),
        (lambda f: f(LONG.astype("i2"), LONG.astype("i8")), "12000"),  # cast in buffers of 8,192
        (lambda f: f(7, LONG[::-1]), "4999"),
        (lambda f: f([7, 8, 9], [2, 0, 3]), "1"),
        (lambda f: f(np.arange(40), MATRIX), "(17, 33)"),
        (lambda f: f(np.arange(40), np.asfortranarray(MATRIX)), "(25, 3)"),  # whose columns are computed first
        (lambda f: f(MATRIX.T, MATRIX.T), "(3, 25)"),
        (lambda f: f(np.arange(3)[:, None], [1, 0]), "(0, 1)"),
        (lambda f: f(1, [1, 0], out=np.zeros((3, 2), "i4")), "(0, 1)"),
        (lambda f: f(1, [1, 0], np.zeros((3, 2), "i4")), "(0, 1)"),
        (lambda f: f(np.arange(40), MATRIX, out=MATRIX * 0, where=np.arange(40) != 33), "(25, 3)"),
        (lambda f: f(5, 0), ""),
        (lambda f: f.reduce([7, 0, 3]), "1"),
        (lambda f: f.accumulate(np.array([7, 0, 3], "i4")), "1"),
        (lambda f: pickle.loads(pickle.dumps(f))([1, 1], [1, 0]), "1"),
    ],
)
def test_a_fault_has_its_index_in_the_arrays_of_the_caller(built: Build, call: Any, index: str) -> None:
    with pytest.raises(um.CellCrashed) as caught:
        call(built.mod)
    assert str(caught.value).partition(" divided by zero")[2] == (f", at index {index}." if index else ".")


def test_a_call_inside_of_a_call_leaves_the_index_of_the_outer_one(built: Build) -> None:
    """An operand's own class may call the function while NumPy reads it."""

    class Mine:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            built.total(np.ones((2, 3)))
            return np.array([1.0, 5.0])

    with pytest.raises(um.CellCrashed, match=r"null\(5\.0\).*at index 1"):
        built.null(Mine())


def test_the_index_of_an_item_is_that_of_its_outer_dimensions(built: Build) -> None:
    rows = np.arange(24.0).reshape(2, 3, 4)
    with pytest.raises(AssertionError, match=r"at index \(0, 2\), on"):
        built.total(rows)
    with pytest.raises(AssertionError, match=r"at index \(0, 2\), on"):
        built.total(np.moveaxis(rows, -1, 0), axis=0)


def test_longjmp_within_a_call_is_its_own(built: Build) -> None:
    np.testing.assert_array_equal(built.jumps(X), X + 1)


@pytest.mark.parametrize("name", KINDS)
def test_faults_in_threads_of_a_parallel_loop(parallel: Build, name: str) -> None:
    x = np.zeros(300_000)
    x[[200_000, 250_000]] = 4, 5
    kind, text = KINDS[name]
    for out in (np.zeros_like(x), x.copy()):
        with pytest.raises(kind, match=text) as caught:
            parallel[name](x if out[200_000] == 0 else out, out=out)
        assert f"{name}(4.0)" in str(caught.value)
        assert "at index 200000" in str(caught.value)
        np.testing.assert_array_equal(out[:200_000], 1.0)
        assert out[200_000] == out[200_000] != 1.0


def test_faults_in_threads_of_a_pool(built: Build) -> None:
    def call(n: int) -> str:
        name = list(KINDS)[n % len(KINDS)]
        if n % 3 == 0:
            return f"{built[name](1.0)}"
        with pytest.raises(KINDS[name][0]) as caught:
            built[name](X)
        return name if f"{name}(4.0)" in str(caught.value) else "?"

    for _ in range(3):  # stacks of handlers are taken and given back
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(call, range(66)))
        assert results == [list(KINDS)[n % len(KINDS)] if n % 3 else "2.0" for n in range(66)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gcc's -fstack-clash-protection, of Linux")
def test_an_array_larger_than_the_stack_does_not_reach_what_lies_below_it(built: Build) -> None:
    below = np.zeros(1 << 20, "u1")  # the main thread's stack is above all other memory
    with pytest.raises(um.CellCrashed, match="overflowed the stack"):
        built.reach(below.ctypes.data)
    assert not below.any()


def test_the_floating_point_state_is_the_callers_after_a_fault(built: Build) -> None:
    with np.errstate(all="raise"):
        for name in KINDS:
            with pytest.raises(KINDS[name][0]):
                built[name](X)
    np.testing.assert_array_equal(built.pure(X), X + 1)
    assert np.float64(5e-324) * 1.0 != 0


@traps
def test_nested_calls_each_have_their_own_frame(cache_folder: Path) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    inner = um.compile_c("int inner(int a, int b) { return a / b; }", guard=False)
    outer = um.compile_cython(
        "callback = None\n"
        "cpdef double outer(double x) except? -1:\n"
        "    cdef int n = 0\n"
        "    if x > 5:\n"
        "        return (<double *> NULL)[0]\n"
        "    try:\n"
        "        callback(1, 0)\n"
        "    except Exception as fault:\n"
        "        n = len(str(fault))\n"
        "    return n\n",
        guard=False,
    )
    module = outer.loaded.module
    module.callback = inner.inner
    text = "inner(1, 0) divided by zero."
    np.testing.assert_array_equal(outer.outer(np.zeros(3)), len(text))
    with pytest.raises(um.CellCrashed, match=r"outer\(7\.0\) followed a null pointer"):
        outer.outer(np.array([1.0, 7.0]))
    assert outer.outer(1.0) == len(text)


def test_cpp_exceptions_stay_what_they_are_and_faults_are_contained() -> None:
    b = um.compile_c(
        "#include <stdexcept>\n#include <cstdlib>\n#include <cassert>\n"
        'double t(double x) { if (x > 3) throw std::domain_error("too much"); if (x < 0) std::abort();\n'
        "    assert(x != 2); return x; }\n"
        "double n(double x) noexcept { if (x > 3) throw 1; return x; }",
        cplus=True,
        guard=False,
    )
    with pytest.raises(ValueError, match="too much"):  # std::domain_error
        b.t(X + 3)
    with pytest.raises(um.CellExited, match=r"t\(-1\.0\) called abort\(\), at index 2"):
        b.t(np.array([0.0, 1.0, -1.0]))
    with pytest.raises(AssertionError, match=r"Assertion `x != 2' failed: t\(2\.0\)"):
        b.t(2.0)
    with pytest.raises(um.CellCrashed, match=r"n\(4\.0\) made a library call abort"):
        b.n(4.0)
    assert b.t(1.0) == 1


# ------------------------------------------------------------------------------------------ whole processes


def run(script: str, *, cells: str = SOURCE, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process in which ``b`` is the compiled cell, and how it ended."""
    head = "import os, signal, sys\nimport numpy as np\nimport ufunc_magic as um\n"
    head += f"b = um.compile_c({cells!r}, guard=False)\n"
    return run_python(head + textwrap.dedent(script), code=code, **environment)


#: Opening an object is when handlers are looked after.
MORE = "um.compile_c('double more(double x) { return x; }', guard=False)\n"
CALLS = """
for name in ("null", "trap", "asserts", "exits", "deep"):
    try:
        b[name](9.0)
    except (um.CellCrashed, um.CellExited, AssertionError) as fault:
        print(type(fault).__name__)
"""
NAMES = ["CellCrashed", "CellCrashed", "CellAssertionError", "CellExited", "CellCrashed"]


@pytest.mark.usefixtures("shared_cache")
class TestProcesses:
    def test_without_faulthandler(self) -> None:
        done = run(CALLS)
        assert (done.stdout.split(), done.stderr) == (NAMES, "")

    def test_faulthandler_from_the_start_says_nothing(self) -> None:
        done = run(CALLS, PYTHONFAULTHANDLER="1")
        assert (done.stdout.split(), done.stderr) == (NAMES, "")

    def test_faulthandler_enabled_later_and_a_cell_compiled_then(self) -> None:
        script = "import faulthandler; faulthandler.enable()\n" + MORE
        done = run(script + CALLS * 2)
        assert (done.stdout.split(), done.stderr) == (NAMES * 2, "")

    def test_faulthandler_enabled_later_may_speak_and_the_process_lives(self) -> None:
        done = run("import faulthandler; faulthandler.enable()\n" + CALLS * 2)
        assert done.stdout.split() == NAMES * 2

    @pytest.mark.parametrize("when", ["", "import faulthandler; faulthandler.enable()\n"])
    @pytest.mark.parametrize("again", ["", MORE])
    def test_faults_elsewhere_end_the_process_as_ever(self, when: str, again: str) -> None:
        done = run(when + again + CALLS + "import ctypes; sys.stdout.flush(); ctypes.string_at(0)", code=-11)
        assert done.stdout.split() == NAMES
        assert done.stderr.count("Fatal Python error: Segmentation fault") >= bool(when)

    def test_an_abort_elsewhere_ends_the_process_as_ever(self) -> None:
        done = run("import faulthandler; faulthandler.enable()\nos.abort()", code=-6)
        assert "Fatal Python error: Aborted" in done.stderr

    def test_a_signal_from_outside_is_no_fault_of_the_cell(self) -> None:
        endless = "double f(double x) { for (volatile double k = x;; k += 1) ; }"
        run(
            "import subprocess\nsubprocess.Popen(['sh', '-c', f'sleep 0.3; kill -ABRT {os.getpid()}'])\nb.f(1.0)",
            cells=endless,
            code=-6,
        )

    @traps
    def test_a_handler_of_somebody_else_still_gets_what_is_its(self) -> None:
        done = run(
            """
            import ctypes
            heard = []
            @ctypes.CFUNCTYPE(None, ctypes.c_int)
            def handler(number):
                heard.append(number)
            libc = ctypes.CDLL(None)
            libc.signal(signal.SIGFPE, handler)
            um.compile_c('double more(double x) { return x; }', guard=False)
            os.kill(os.getpid(), signal.SIGFPE)
            try:
                b.mod(1, 0)
            except um.CellCrashed:
                os.kill(os.getpid(), signal.SIGFPE)
            print(heard == [signal.SIGFPE] * 2)
            """
        )
        assert done.stdout.split() == ["True"]

    def test_a_heap_that_cannot_be_used_any_more_ends_the_process_with_a_word(self) -> None:
        # Whether free() has the lock when it finds out depends on the C library; the process must not hang.
        source = "#include <stdlib.h>\ndouble f(double x) { char *volatile p = (char *)&x; free(p + 8); return x; }"
        head = f"import ufunc_magic as um\nb = um.compile_c({source!r}, guard=False)\n"
        script = (
            head + "for n in range(3):\n    try: b.f(1.0)\n    except um.CellCrashed: print('contained')\nprint('end')"
        )
        done = run_python(script, code=None)
        assert "corrupted the heap" in done.stderr or done.stdout.split() == ["contained"] * 3 + ["end"]

    def test_a_child_process_is_contained_and_stopped_too(self) -> None:
        done = run(
            """
            try: b.mod(1, 0)
            except um.CellCrashed: pass
            child = os.fork()
            if not child:
                try: b.deep(9.0)
                except um.CellCrashed: os._exit(7)
                os._exit(8)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """
        )
        assert done.stdout.split() == ["7"]

    def test_a_process_of_another_loader_knows_nothing_of_it(self) -> None:
        """Objects that nobody gives the table to behave as C does."""
        run(
            """
            from ufunc_magic.runtime import loader
            loader._containment[:] = [(0, None)]
            um.compile_c('#include <stdlib.h>\\ndouble g(double x) { exit((int)x); }', guard=False).g(5.0)
            """,
            code=5,
        )


# ------------------------------------------------------------------------------------------ Stop

ENDLESS = """
#include <unistd.h>
double hang(double x, double y) { volatile double k = x; if (x == y) for (;;) k += 1; return k; }
double sleepy(double x) { if (x > 3) for (;;) sleep(1000); return x; }
// ufunc: (n)->()
double hangs(const double *x, int n) { volatile double k = x[0]; if (x[0] > 3) for (;;) k += 1; return k; }
"""
STOPPED = {
    "scalar": "b.hang(1.0, 1.0)",
    "array": "b.hang(x, 90000.0)",
    "array, first element": "b.hang(x, 0.0)",
    "in place": "b.hang(x, 7.0, out=x)",
    "strided": "b.hang(x[::2], 8.0)",
    "sleeping": "b.sleepy(5.0)",
    "generalized": "b.hangs(x.reshape(-1, 10))",
    "accumulate": "b.hang.accumulate(np.zeros(10))",
    "others' handler": "(signal.signal(signal.SIGINT, signal.default_int_handler), b.hang(1.0, 1.0))",
}


def stop_calls(calls: dict[str, str], *, parallel: int) -> dict[str, list[str]]:
    """Run calls that never end in one process, stop each of them twice, and call the function once more."""
    options = {"parallel": parallel} if parallel else {}
    # No eval(): Python ends by SIGINT where an interrupt has left one.
    table = ", ".join(f"{name!r}: lambda: {call}" for name, call in calls.items())
    done = run(
        f"""
        import subprocess
        b = um.compile_c({ENDLESS!r}, guard=False, **{options})
        x = np.arange(100_000.0)
        total = x.sum()
        b.hang(x, -1.0)
        for name, call in {{{table}}}.items():
            print(name, end="")
            x = np.arange(100_000.0)
            wait = "sleep 0.15"
            if name == "others' handler" and os.path.exists("/proc/self/stat"):  # noticed after 30 ms of computing
                wait = "until [ $(awk '{{print $14 + $15}}' /proc/PID/stat) -ge TICKS ]; do sleep 0.02; done"
            for _ in range(2):
                try:
                    ticks = int(100 * sum(os.times()[:2])) + 20
                    words = wait.replace("PID", str(os.getpid())).replace("TICKS", str(ticks))
                    subprocess.Popen(["sh", "-c", f"{{words}}; kill -INT {{os.getpid()}}"])
                    call()
                except KeyboardInterrupt:
                    print("|stopped", end="")
            print("|", b.hang(np.arange(100_000.0), -1.0).sum() == total, sep="", flush=True)
        """
    )
    assert done.stderr == ""
    return {name: words for name, *words in (line.split("|") for line in done.stdout.splitlines())}


@pytest.mark.usefixtures("shared_cache")
@pytest.mark.parametrize("parallel", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_stop_leaves_an_element_that_never_ends(parallel: int) -> None:
    # The last one changes what hears the signal.
    assert stop_calls(STOPPED, parallel=parallel) == {key: ["stopped", "stopped", "True"] for key in STOPPED}


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
def test_stop_leaves_an_element_of_a_loop_with_threads() -> None:
    calls = {name: STOPPED[name] for name in ("scalar", "array", "generalized")}
    assert stop_calls(calls, parallel=2) == {key: ["stopped", "stopped", "True"] for key in calls}


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
def test_a_handler_that_raises_nothing_lets_a_long_element_end() -> None:
    source = "#include <time.h>\ndouble slow(double x) { time_t t = time(0); while (time(0) < t + 2) ; return x + 1; }"
    done = run(
        """
        import subprocess
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -INT {os.getpid()}"])
        x = np.array([1.0])
        print(b.slow(x, out=x), heard)
        """,
        cells=source,
    )
    assert done.stdout.split() == ["[2.]", "[1]"]


def test_nothing_changes_where_nothing_fails(built: Build) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: built.pure(X),
        lambda: built.pure(X[::-1]),
        lambda: built.pure(3),
        lambda: built.total(np.ones((4, 5))),
        lambda: built.mod(np.arange(9), 4),
    ]
    values: list[Any] = [X + 1, X[::-1] + 1, 4.0, np.full(4, 5.0), np.arange(9) % 4]
    for call, value in zip(calls, values, strict=True):
        np.testing.assert_array_equal(call(), value)
