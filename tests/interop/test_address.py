"""Addresses of compiled functions, and the callers in C that take them."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic.interop.hosts import address, ctypes_function, lowlevel, prototype

needs_scipy = pytest.mark.skipif(not importlib.util.find_spec("scipy"), reason="SciPy is not installed (extra: test)")
needs_cython = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

C_CELL = """
#include <math.h>
#include <stddef.h>
double gauss(double x) { return exp(-x * x); }
float mixed(int n, float x) { return n * x; }
void polar(double x, double y, double *r, double *t) { *r = hypot(x, y); *t = atan2(y, x); }
double both(double x, double *twice) { *twice = 2 * x; return x; }
void backwards(double *out, double x, double y) { *out = x - y; }
void grow(double *x, double by) { *x += by; }
inline double small(double x) { return x + 1; }
_Bool odd(long n) { return n & 1; }
double corner(int n, double *x, void *data) { return n == 2 ? x[0] * x[1] : -1; }
double scaled(double x, void *data) { return x * *(double *)data; }
int spread(double *buffer, ptrdiff_t n, double *result, void *data)
{
    double least = buffer[0], most = buffer[0];
    for (ptrdiff_t i = 0; i < n; i++) { least = fmin(least, buffer[i]); most = fmax(most, buffer[i]); }
    *result = most - least;
    return 1;
}
// ufunc: (n)->()
double total(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
"""
CPP_CELL = """
#include <complex>
#include <cmath>
template <typename T> T twice(const T &x) { return 2 * x; }
double pick(double x) { return x + 1; }
int pick(int x) { return x - 1; }
auto half(double x) { return x / 2; }
std::complex<double> turn(std::complex<double> z) { return z * std::complex<double>(0, 1); }
std::complex<long double> wide(std::complex<long double> z) { return z; }
"""
CYTHON_CELL = """
cdef double square(double x) noexcept nogil:
    return x * x
cdef double ratio(double x, double y) except? -1:
    return x / y
cpdef (double, double) pair(double x) noexcept:
    return x, 2 * x
cdef double asks(double x):
    return len(str(x))
"""
CUDA_CELL = """
extern "C" __device__ int mul(float *return_value, float x, float y) { *return_value = x * y; return 0; }
__device__ double rsq(double x) { return rsqrt(x); }
__device__ void split(double x, double &half, double *twice) { half = x / 2; *twice = 2 * x; }
"""


@pytest.fixture
def c(shared_cache: None) -> um.build.Build:  # type: ignore[name-defined]
    return um.compile_c(C_CELL)


def call(function: Any, signature: str, *given: float, outputs: int = 0) -> Any:
    """Call the address by ctypes, as C would."""
    made = ctypes_function(function, signature)
    if not outputs:
        return made(*given)
    results = [(ctypes.c_double * 1)() for _ in range(outputs)]
    made(*given, *(ctypes.cast(r, ctypes.POINTER(ctypes.c_double)) for r in results))
    return tuple(r[0] for r in results)


def test_an_address_is_that_of_the_scalar_c_function(c: Any) -> None:
    made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address(c.gauss, "d->d"))
    assert made(0.5) == c.gauss(0.5)


def test_the_signature_may_be_left_out_where_there_is_one_loop(c: Any) -> None:
    assert address(c.gauss) == address(c.gauss, "d->d") == address(c.gauss, " d -> d ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gauss", "double (*)(double)"),
        ("mixed", "float (*)(int, float)"),
        ("polar", "void (*)(double, double, double *, double *)"),
        ("both", "void (*)(double, double *, double *)"),
        ("backwards", "double (*)(double, double)"),
        ("grow", "double (*)(double, double)"),
        ("odd", "_Bool (*)(long)"),
        ("corner", "double (*)(int, double *, void *)"),
    ],
)
def test_prototype_says_how_c_calls_it(c: Any, name: str, expected: str) -> None:
    assert prototype(c[name]) == expected


def test_types_are_those_of_the_loop(c: Any) -> None:
    assert call(c.mixed, "if->f", 3, 2.5) == 7.5
    assert [call(c.odd, "l->?", n) for n in (2, 3)] == [False, True]


def test_several_outputs_go_through_pointers_behind_the_inputs(c: Any) -> None:
    assert call(c.polar, "dd->dd", 3.0, 4.0, outputs=2) == (5.0, math.atan2(4, 3))
    assert call(c.both, "d->dd", 3.0, outputs=2) == (3.0, 6.0)


def test_parameters_in_any_order_and_pointers_become_values(c: Any) -> None:
    assert call(c.backwards, "dd->d", 5.0, 3.0) == 2.0
    assert call(c.grow, "dd->d", 5.0, 3.0) == 8.0


def test_an_inline_function_has_an_address_too(c: Any) -> None:
    assert call(c.small, "d->d", 1.0) == 2.0


def test_long_long_and_long_are_one_to_a_caller(c: Any) -> None:
    assert address(c.odd, "q->?") == address(c.odd, "l->?")


def test_a_plain_function_has_its_own_address(c: Any) -> None:
    x = (ctypes.c_double * 2)(3, 4)
    made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address(c.corner))
    assert made(2, ctypes.addressof(x), None) == 12.0


def test_cffi_casts_the_address_by_its_prototype(c: Any) -> None:
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    polar = ffi.cast(prototype(c.polar), address(c.polar))
    r, t = ffi.new("double *"), ffi.new("double *")
    polar(3.0, 4.0, r, t)
    assert (r[0], t[0]) == (5.0, math.atan2(4, 3))


@pytest.mark.parametrize(
    ("name", "signature", "message"),
    [
        ("gauss", "f->f", "gauss has no loop 'f->f'; it has d->d.\nUse one of these."),
        ("gauss", "dd->d", "gauss has no loop 'dd->d'; it has d->d.\nUse one of these."),
        ("gauss", "d", "gauss has no loop 'd'; it has d->d.\nUse one of these."),
        ("gauss", "x->d", "gauss has no loop 'x->d'; it has d->d.\nUse one of these."),
        (
            "corner",
            "d->d",
            "corner is a plain C function and has no loop 'd->d'.\nOmit the signature.",
        ),
        (
            "total",
            "",
            "total works on arrays, (n)->(), so it has no scalar form.\n"
            "Add a last parameter void *data: it is then a plain C function, which has an address.",
        ),
    ],
)
def test_what_has_no_such_address_is_told(c: Any, name: str, signature: str, message: str) -> None:
    with pytest.raises(um.SignatureError) as caught:
        address(c[name], signature)
    assert str(caught.value) == message


@pytest.mark.parametrize("stranger", [np.sin, len, 3, None])
def test_what_is_not_ours_has_none(stranger: Any) -> None:
    with pytest.raises(um.SignatureError, match="not a C function"):
        address(stranger)


def test_overloads_and_templates_have_one_address_for_each_loop(shared_cache: None) -> None:
    b = um.compile_c(CPP_CELL, cplus=True)
    assert (call(b.pick, "i->i", 5), call(b.pick, "d->d", 5.0)) == (4, 6.0)
    assert (call(b.twice, "f->f", 1.5), call(b.twice, "d->d", 1.5)) == (3.0, 3.0)
    assert call(b.half, "d->d", 3.0) == 1.5
    with pytest.raises(um.SignatureError, match=r"pick .*i->i, d->d"):
        address(b.pick)
    with pytest.raises(um.SignatureError, match="ctypes has no such type"):
        ctypes_function(b.turn)
    with pytest.raises(um.SignatureError, match="passes differently"):
        address(b.wide)


def test_complex_numbers_of_cpp_go_as_those_of_c(shared_cache: None) -> None:
    b = um.compile_c(CPP_CELL, cplus=True)
    caller = um.compile_c(
        "#include <complex.h>\n"
        "void turned(double *z, void *f) { double complex w = ((double complex (*)(double complex))f)(z[0] + z[1] * I);"
        " z[0] = creal(w); z[1] = cimag(w); }"
    )
    z = np.array([1.0, 2.0])
    caller.turned(z, caller.turned.ffi.cast("void *", address(b.turn)))
    assert z.tolist() == [-2.0, 1.0]


def test_a_cell_in_terms_of_t_has_one_for_each_type(shared_cache: None) -> None:
    b = um.compile_c("T third(T x) { return x / 3; }", types="f4,f8")
    assert call(b.third, "f->f", 1.0) == float(np.float32(1) / np.float32(3))
    assert call(b.third, "d->d", 1.0) == 1 / 3


class TestCython:
    pytestmark = needs_cython

    def test_functions_without_python_have_addresses(self, shared_cache: None) -> None:
        b = um.compile_cython(CYTHON_CELL)
        assert call(b.square, "d->d", 3.0) == 9.0
        assert call(b.pair, "d->dd", 3.0, outputs=2) == (3.0, 6.0)

    @pytest.mark.parametrize("name", ["ratio", "asks"])
    def test_one_that_may_raise_has_none(self, shared_cache: None, name: str) -> None:
        with pytest.raises(um.SignatureError, match=f"{name} needs Python"):
            address(um.compile_cython(CYTHON_CELL)[name])


def test_cuda_functions_have_those_of_their_emulation(shared_cache: None) -> None:
    b = um.compile_cuda(CUDA_CELL, device="cpu")
    assert call(b.mul, "ff->f", 3.0, 4.0) == 12.0
    assert call(b.rsq, "d->d", 4.0) == 0.5
    assert call(b.split, "d->dd", 4.0, outputs=2) == (2.0, 8.0)


def test_a_travelled_function_has_one_where_it_arrives(shared_cache: None, tmp_path: Path) -> None:
    path = tmp_path / "f.pickle"
    path.write_bytes(pickle.dumps(um.c_ufunc("double f(double a, double b) { return a - b; }")))
    code = (
        "import pickle, sys\nfrom ufunc_magic.interop import ctypes_function\n"
        "print(ctypes_function(pickle.load(open(sys.argv[1], 'rb')), 'dd->d')(5, 3))"
    )
    done = run_python(code, str(path))
    assert done.stdout == "2.0\n"


def test_the_address_outlives_the_function(shared_cache: None) -> None:
    made = ctypes_function(um.c_ufunc("double f(double a) { return a + 0.25; }"))
    gc.collect()
    assert made(1.0) == 1.25


def test_what_runs_in_a_sandbox_has_no_address(shared_cache: None) -> None:
    f = um.compile_c("double f(double a) { return a; }", sandbox=True).f
    with pytest.raises(um.SignatureError, match="f runs in a sandbox"):
        address(f)


def test_importing_it_loads_no_other_library() -> None:
    code = (
        "import sys, ufunc_magic.interop as i; i.lowlevel, i.asarray\n"
        "print(*{'scipy', 'numba', 'cupy', 'torch', 'cffi'} & set(sys.modules))"
    )
    done = run_python(code)
    assert done.stdout.split() == []


@needs_scipy
class TestSciPy:
    @pytest.mark.slow
    def test_quad_integrates_a_ufunc(self, c: Any) -> None:
        from scipy import integrate

        assert integrate.quad(lowlevel(c.gauss, "d->d"), -np.inf, np.inf)[0] == pytest.approx(np.sqrt(np.pi))

    def test_quad_integrates_a_function_with_data(self, c: Any) -> None:
        from scipy import integrate

        factor = ctypes.c_double(3.0)
        given = lowlevel(c.scaled, user_data=ctypes.cast(ctypes.pointer(factor), ctypes.c_void_p))
        assert integrate.quad(given, 0, 2)[0] == pytest.approx(6.0)

    def test_nquad_integrates_over_a_rectangle(self, c: Any) -> None:
        from scipy import integrate

        assert integrate.nquad(lowlevel(c.corner), [(0, 1), (0, 2)])[0] == pytest.approx(1.0)

    def test_generic_filter_runs_a_plain_function(self, c: Any) -> None:
        from scipy import ndimage

        image = np.random.default_rng(1).random((20, 30))
        expected = ndimage.generic_filter(image, np.ptp, size=3)
        assert np.array_equal(ndimage.generic_filter(image, lowlevel(c.spread), size=3), expected)


@pytest.mark.numba
@pytest.mark.skipif(not importlib.util.find_spec("numba"), reason="Numba is not installed (extra: numba)")
def test_functions_of_numba_have_none(shared_cache: None) -> None:
    import numba

    @numba.vectorize(["f8(f8)"])  # type: ignore[untyped-decorator]
    def more(x: float) -> float:
        return x + 1

    with pytest.raises(um.SignatureError, match=r"more is a Numba function"):
        address(um.from_numba(more))
