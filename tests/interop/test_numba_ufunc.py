"""Ufuncs of cells inside Numba: typing, numbers, arrays, threads, exceptions, and Numba's own cache."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.interop.numba import install
from ufunc_magic.languages.cuda.numba_cuda.import_hooks import run_when_imported

numba = pytest.importorskip("numba", reason="Numba is not installed")
llvm = pytest.importorskip("llvmlite.binding")
TypingError = numba.core.errors.TypingError
from ufunc_magic.interop.numba.ufunc_typing import link_of  # noqa: E402  (it imports Numba)

rtsys, nrt = numba.core.runtime.rtsys, numba.core.runtime._nrt_python

pytestmark = [pytest.mark.numba, pytest.mark.usefixtures("shared_cache")]

CELL = """
#include <math.h>
double hyp(double a, double b) { return sqrt(a*a + b*b); }
float half(float a) { return a/2; }
void sincos2(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
void swapped(double *twice, double x, int *sign) { *twice = 2*x; *sign = x < 0 ? -1 : 1; }
int gcd2(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
signed char low(signed char a) { return (signed char)(a + 1); }
unsigned char top(unsigned short a) { return (unsigned char)(a >> 8); }
_Bool positive(double a) { return a > 0; }
double _Complex times_i(double _Complex z) { return z * 1.0i; }
long double wide(long double a) { return a; }
// ufunc: (n),(n)->()
double dot(int n, const double *a, const double *b)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i]*b[i];
    return s;
}
"""


@pytest.fixture
def cell(shared_cache: None) -> Any:
    return um.compile_c(CELL)


def called(f: Any, count: int = 1) -> Any:
    """A compiled function that calls ``f``."""
    if count == 1:
        return numba.njit(lambda a: f(a))
    if count == 2:
        return numba.njit(lambda a, b: f(a, b))
    return numba.njit(lambda a, b, c: f(a, b, c))


# ------------------------------------------------------------------------------------------------ numbers


def test_numbers_go_through_the_function_itself(cell: Any) -> None:
    assert called(cell.hyp, 2)(3.0, 4.0) == 5.0
    assert called(cell.hyp, 2)(3, np.float32(4)) == 5.0


def test_several_outputs_are_a_tuple_whatever_the_order_in_c(cell: Any) -> None:
    # SIMD math of the ufunc's loops may differ in the last digit.
    assert called(cell.sincos2)(0.5) == pytest.approx((math.sin(0.5), math.cos(0.5)), rel=1e-15)
    assert called(cell.swapped)(-1.5) == (-3.0, -1)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("low", np.int8(127), -128),
        ("low", np.int8(-2), -1),
        ("top", np.uint16(0xFF00), 255),
        ("positive", -0.5, False),
        ("positive", 0.5, True),
        ("times_i", 1 + 2j, -2 + 1j),
        ("half", np.float32(3), 1.5),
    ],
)
def test_each_type_keeps_its_value(cell: Any, name: str, value: Any, expected: Any) -> None:
    assert called(cell[name])(value) == expected


def test_numbers_of_compiled_code_are_taken_by_narrow_functions(cell: Any) -> None:
    assert called(cell.gcd2, 2)(12, 18) == 6
    assert called(cell.half)(3.0) == 1.5


def test_an_array_of_a_wider_type_is_refused_as_by_numpy(cell: Any) -> None:
    with pytest.raises(TypingError, match=r"half .*float64.*f->f"):
        called(cell.half)(np.ones(2))


def test_the_narrowest_loop_is_taken() -> None:
    f = um.c_ufunc("T twice(T a) { return 2*a; }", types="f4,f8")
    for dtype in ("f4", "f8", "i2", "i8"):
        assert called(f)(np.ones(1, dtype)).dtype == f(np.ones(1, dtype)).dtype


# ------------------------------------------------------------------------------------------------- arrays

SHAPES = [
    ((5,), (5,)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (2, 3, 4)),
    ((0, 3), (3,)),
    ((), (3,)),
    ((1,), (4, 1)),
]


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_arrays_are_broadcast_as_by_numpy(cell: Any, first: Any, second: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=first), rng.normal(size=second)
    np.testing.assert_array_equal(called(cell.hyp, 2)(a, b), cell.hyp(a, b), strict=True)


def test_strided_reversed_and_transposed_arrays(cell: Any) -> None:
    a = np.random.default_rng(2).normal(size=(6, 8))
    f = called(cell.hyp, 2)
    for x, y in [(a[::2], a[::-2]), (a.T, a.T), (a[:, ::3], 2.0), (a.T, a.T.copy()), (np.asfortranarray(a), a)]:
        np.testing.assert_allclose(f(x, y), cell.hyp(x, y), rtol=1e-15, strict=True)


def test_elements_of_other_types_are_converted(cell: Any) -> None:
    a = np.arange(12, dtype="i4").reshape(3, 4)
    np.testing.assert_array_equal(called(cell.hyp, 2)(a, a[0].astype("f4")), cell.hyp(a, a[0]), strict=True)
    np.testing.assert_array_equal(called(cell.gcd2, 2)(np.arange(4), 6), cell.gcd2(np.arange(4), 6), strict=True)


def test_booleans_and_complex_numbers_in_arrays(cell: Any) -> None:
    a = np.array([1.0, -1.0, 0.0])
    assert called(cell.positive)(a).tolist() == [True, False, False]
    assert called(cell.times_i)(a + 1j).tolist() == [-1 + 1j, -1 - 1j, -1 + 0j]


def test_several_arrays_come_back(cell: Any) -> None:
    a = np.linspace(0, 1, 7)
    s, c = called(cell.sincos2)(a)
    np.testing.assert_array_equal([s, c], cell.sincos2(a))


def test_an_output_is_given_by_position(cell: Any) -> None:
    out = np.zeros((2, 3), "f4")
    made = called(cell.hyp, 3)(np.ones((2, 3)), np.zeros(3), out)
    assert np.shares_memory(made, out)
    assert (out == 1).all()


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1)])
def test_an_output_of_another_shape_is_an_error(cell: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"hyp: .*broadcast"):
        called(cell.hyp, 3)(np.ones((2, 3)), np.ones((2, 1)), np.zeros(shape))


def test_operands_that_do_not_fit_are_an_error(cell: Any) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        called(cell.hyp, 2)(np.ones(3), np.ones(4))


# ----------------------------------------------------------------------------------- the rest of Numba


def test_vectorize(cell: Any) -> None:
    f = cell.hyp
    made = numba.vectorize(["f8(f8)"])(lambda a: f(a, 1.0))
    np.testing.assert_array_equal(made(np.zeros(3)), np.ones(3))


@pytest.mark.slow
def test_prange(cell: Any) -> None:
    f = cell.hyp

    @numba.njit(parallel=True)
    def total(a: Any) -> float:
        s = 0.0
        for n in numba.prange(a.shape[0]):
            s += f(a[n], 0.0).sum() + f(1.0, 0.0)
        return s

    assert total(np.ones((100, 3))) == 400.0


def test_exceptions_of_cpp_end_the_compiled_function() -> None:
    f = um.c_ufunc(
        '#include <stdexcept>\ndouble f(double a) { if (a < 0) throw std::runtime_error("negative"); return a; }',
        cplus=True,
    )
    g = called(f)
    assert g(1.0) == 1.0
    for value in (-1.0, np.array([1.0, -1.0])):
        with pytest.raises(RuntimeError, match="negative"):
            g(value)
    assert g(np.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_overloads_are_chosen_as_in_python() -> None:
    f = um.c_ufunc("int half(int x) { return x / 2; }\ndouble half(double x) { return x / 2; }", cplus=True)
    g = called(f)
    assert [g(7), g(7.0), g(np.array([7])).tolist(), g(np.array([7.0])).tolist()] == [3, 3.5, [3], [3.5]]


def test_a_ufunc_is_given_to_a_compiled_function(cell: Any) -> None:
    apply = numba.njit(lambda f, a: f(a))
    assert apply(cell.half, 3.0) == 1.5
    assert apply(cell.positive, 3.0) is True
    assert apply(cell.half, np.ones(1, "f4")).tolist() == [0.5]


def test_ufuncs_of_numpy_are_as_they_were(cell: Any) -> None:
    called(cell.hyp, 2)
    assert called(np.sin)(0.5) == np.sin(0.5)


def test_functions_of_whole_arrays_are_called_as_python_does(cell: Any) -> None:
    dot = cell.dot
    with pytest.raises(TypingError, match=r"dot .*whole arrays, \(n\),\(n\)->\(\)"):
        called(dot, 2)(np.ones(3), np.ones(3))

    @numba.njit
    def through_python(a, b):
        with numba.objmode(s="float64"):
            s = dot(a, b)
        return s

    assert through_python(np.arange(3.0), np.ones(3)) == 3.0


@pytest.mark.parametrize(("name", "count"), [("hyp", 2), ("hyp", 3)])
def test_calls_leak_no_array(cell: Any, name: str, count: int) -> None:
    f, a, out = called(cell[name], count), np.ones((2, 3)), np.ones((2, 3))
    operands = (a, a, out)[:count]
    nrt.memsys_enable_stats()
    try:
        f(*operands)
        before, references = rtsys.get_allocation_stats(), (sys.getrefcount(a), sys.getrefcount(out))
        for _ in range(100):
            f(*operands)
        after = rtsys.get_allocation_stats()
    finally:
        nrt.memsys_disable_stats()
    assert references == (sys.getrefcount(a), sys.getrefcount(out))
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free >= 100


def test_types_that_numba_lacks_are_refused(cell: Any) -> None:
    with pytest.raises(TypingError, match=r"wide has no loop for \(float64\)"):
        called(cell.wide)(1.0)


def test_out_by_name_is_refused_with_a_way_out(cell: Any) -> None:
    f = cell.hyp
    with pytest.raises(TypingError, match="Pass out by position"):
        numba.njit(lambda a: f(a, a, out=a))(np.ones(2))


# ------------------------------------------------------------------------------------ how functions are called

LEAVES = """
#include <math.h>
double poly(double a) { return a*a*3.0 + a*2.0 + 1.0; }
static double square(double a) { return a*a; }
double length(double a, double b) { return sqrt(square(a) + square(b)); }
float six(int a, float b, long c, double d, unsigned e, unsigned long f) { return a + 2*b + 3*c + 4*d + 5*e + 6.0*f; }
long least(long a, long b) { return a < b ? a : b; }
float root(float a) { return sqrtf(a) + fabsf(a); }
double kept(double a) { static double sum; return sum += a; }
double outside(double a) { return exp(a); }
short narrow(short a) { return (short)(a - 1); }
double looped(int n) { double s = 0; for (int i = 0; i < n; i++) s += i; return s; }
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has one calling convention, and this is it")
def test_small_functions_that_call_nothing_have_a_form_that_leaves_registers_alone(shared_cache: None) -> None:
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("the convention is one of x86-64")
    build = um.compile_c(LEAVES)
    with_one = {name for name in build if link_of(build[name]).find_symbol("leaf", 0)}
    # The form belongs to the portable object, so "kept", which has a state, is called where the ufunc has it.
    assert with_one == {"poly", "length", "six", "least", "root"}
    poly, length, six, least, kept = (build[name] for name in ("poly", "length", "six", "least", "kept"))

    @numba.njit
    def loop(x):
        total, longest, sixes, smallest, last = 0.0, 0.0, 0.0, 1 << 40, 0.0
        for n in range(x.size):
            total += poly(x[n])
            longest = max(longest, length(x[n], -x[n]))
            sixes += six(np.int32(-n), np.float32(x[n]), n << 33, x[n], np.uint32(4_000_000_000), np.uint64(n))
            smallest = least(smallest, (n - 7) * (1 << 33))
            last = kept(1.0)
        return total, longest, sixes, smallest, last

    x = np.linspace(-3, 5, 40)
    sixes = [
        six(np.int32(-n), np.float32(v), n << 33, v, np.uint32(4_000_000_000), np.uint64(n)) for n, v in enumerate(x)
    ]
    total = 0.0
    for value in x:
        total += poly(value)
    assert loop(x) == (total, length(5.0, -5.0), sum(map(float, sixes)), -7 << 33, 40.0)


def test_so_have_cythons(shared_cache: None) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed")
    if platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "win32":
        pytest.skip("the convention is one of x86-64 that is not the system's")
    build = um.compile_cython(
        "cdef double square(double a) noexcept nogil:\n    return a*a\n"
        "cpdef double moved(double a, long b) noexcept nogil:\n    return square(a) + b\n"
        "cpdef double checked(double a, double b):\n    return a/b\n"
    )
    moved = build.moved
    assert link_of(moved).find_symbol("leaf", 0)
    assert not link_of(build.checked).find_symbol("leaf", 0)

    @numba.njit
    def loop(x):
        total = 0.0
        for n in range(x.size):
            total += moved(x[n], n << 40)
        return total

    total = 0.0
    for n in range(20):
        total += float(n) * n + (n << 40)
    assert loop(np.arange(20.0)) == total


def test_a_compiled_function_that_calls_a_cells_does_not_travel_alone(shared_cache: None) -> None:
    if llvm.llvm_version_info < (17,):
        pytest.skip("Numba's LLVM is too old for from_numba")
    poly = um.compile_c(LEAVES)["poly"]
    with pytest.raises(um.SignatureError, match=r"calls poly from a cell"):
        um.from_numba(numba.njit("f8(f8)")(lambda a: poly(a) + 1))


# -------------------------------------------------------------------------- other processes, other times


def in_python(code: str, folder: Path) -> str:
    """What a new process prints; its modules are looked for in ``folder`` too."""
    root = str(Path(um.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder)])}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CACHED = """
import numba
import numpy as np
import ufunc_magic as um
made = um.compile_c('''
double twice(double x) { return 2*x; }
void two(double x, double *a, double *b) { *a = x; *b = 3*x; }
''')
twice, two = made.twice, made.two

@numba.njit
def between(x):
    return twice(x) + 1

@numba.njit(cache=True)
def outer(x):
    return between(x) * 2

@numba.njit(cache=True)
def direct(x):
    return twice(x), two(x)
"""


@pytest.mark.slow
def test_numbas_cache_holds_calls_of_ours(shared_cache_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "calls_cached.py").write_text(CACHED)
    code = (
        "import numpy as np, calls_cached as m\n"
        "print(m.outer(3.0), m.direct(2.0), m.direct(np.ones(1))[0])\n"
        "print(sum(m.outer.stats.cache_hits.values()), sum(m.direct.stats.cache_hits.values()))"
    )
    first, second = in_python(code, tmp_path), in_python(code, tmp_path)
    assert first.splitlines() == ["14.0 (4.0, (2.0, 6.0)) [2.]", "0 0"]
    assert second.splitlines() == ["14.0 (4.0, (2.0, 6.0)) [2.]", "1 2"]


@pytest.mark.slow
def test_cached_code_brings_the_machine_code_along(shared_cache_folder: Path, tmp_path: Path) -> None:
    """A process that has compiled no cell, and in which the name is another's, still runs what was cached."""
    (tmp_path / "calls_cached.py").write_text(CACHED)
    in_python("import calls_cached as m; m.outer(3.0)", tmp_path)
    code = (
        "import ufunc_magic as um, numpy as np, types\n"
        "um.compile_c = lambda text: types.SimpleNamespace(twice=np.sin, two=np.sin)\n"
        "import calls_cached as m\n"
        "print(m.outer(3.0), *m.outer.stats.cache_hits.values())"
    )
    assert in_python(code, tmp_path).split() == ["14.0", "1"]


def test_actions_wait_for_the_import_and_leave_the_module_as_it_is(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ufunc_magic.languages.cuda.numba_cuda.import_hooks import run_when_imported\n"
        "run_when_imported('numba', lambda: print('done', numba.__name__ if 'numba' in globals() else 'there'))\n"
        "print('numba' in sys.modules)\n"
        "import numba\nprint(numba.__spec__.loader is numba.__loader__)"
    )
    assert in_python(code, tmp_path).split() == ["False", "done", "there", "True"]


def test_what_awaits_an_imported_module_is_done_at_once() -> None:
    done = []
    run_when_imported("numba", lambda: done.append(1))
    run_when_imported("numba", install)
    assert done == [1]


def test_a_numba_that_lacks_a_private_name_is_a_warning(shared_cache_folder: Path, tmp_path: Path) -> None:
    code = (
        "import warnings, numba\n"
        "from numba.np import npyimpl\n"
        "del npyimpl._build_array\n"
        "import ufunc_magic as um\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    twice = um.c_ufunc('double twice(double x) { return 2*x; }')\n"
        "    values = numba.njit(lambda x: x + 1)(2.0), twice(2.0)\n"
        "print(caught[0].message)\n"
        "print(*values)"
    )
    warning, values = in_python(code, tmp_path).splitlines()
    assert warning == (
        f"Numba functions cannot call ufuncs from cells: numba {numba.__version__} lacks a needed feature "
        "(module 'numba.np.npyimpl' has no attribute '_build_array'). "
        "Install a supported version: pip install 'ufunc_magic[numba]'."
    )
    assert values == "3.0 4.0"
