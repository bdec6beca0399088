"""Floating-point numbers that become integers: the values of plain ``gcc -O2``, in vectors and one by one."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import compile_in

# No initializer that would not fit: the cell is C, and C++ too.
SOURCE = """
#include <math.h>
#include <stdint.h>
double signed8(double x) { return (int8_t)x; }
double colour(double x) { return (unsigned char)(x * 255); }
double sample(double x) { short s = (short)(x * 32768); return s / 32768.0; }
double unsigned16(double x) { return (uint16_t)x; }
double inverse(double x) { return 1.0 / (int)x; }
double angle(double x) { int i = x; return atan2(0, i); }
double unsigned32(double x) { return (uint32_t)x; }
double signed64(double x) { return (double)(long)x; }
double unsigned64(double x) { return (double)(uint64_t)x; }
double floored(double x) { return (int)floor(x); }
double single(double x) { float f = x; return (float)(int)f; }
static int whole(double x) { return x; }
double by_another(double x) { return whole(x); }
double exponent(double x) { return exp(x) + (uint32_t)x; }
double bits(double x) { unsigned n = 0; n += x; return n; }
static double shared(double x) { return x < 0 ? sqrt(-x) : x; }
double converts(double x) { return shared(x) - (int)shared(x); }
double never(double x) { return shared(x) / 2; }
double alone(double x) { return x > 0 ? sqrt(x) / x : 2 * x; }
"""
NAMES = """signed8 colour sample unsigned16 inverse angle unsigned32 signed64 unsigned64 floored single by_another bits
           converts never alone""".split()
EDGES = [0.3, 1.2, 2.5, 100.9, 200, 300, 4e4, 70000.5, 2e9, 2.0**31, 3e9, 5e9, 1e10, 5e18, 1e19, 1e20, 1e300, np.inf]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to compile the plain functions with")
    library = tmp_path_factory.mktemp("plain") / "plain.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-lm"]
    subprocess.run(command, input=SOURCE.encode(), check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("options", [{}, {"cplus": True}, {"strict": True}])
def test_conversions_are_those_of_plain_gcc(plain: Any, options: dict[str, Any], shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, SOURCE, guard=False, time=False, **options)
    values = np.array([*EDGES, 0.0, np.nan])
    x = np.tile(np.concatenate([values, -values]), 3)
    for name in NAMES:
        scalar = getattr(plain, name)
        scalar.restype, scalar.argtypes = ctypes.c_double, [ctypes.c_double]
        expected = np.array([scalar(value) for value in x])
        with np.errstate(all="ignore"):
            actual = getattr(made, name)(x), getattr(made, name)(x.repeat(2)[::2])
        for got in actual:
            np.testing.assert_array_equal(got, expected, err_msg=name)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), err_msg=name)


UNDEFINED = """
#include <stdlib.h>
#include <math.h>
double byte(double x) { return (unsigned char)x; }
double word(double x) { return (unsigned)x; }
short half(double x) { return x; }
int next(double x) { return (int)x + 1; }
double distance(double x) { return abs(x); }
double whole(double x) { return lrint(x); }
"""


def test_the_table_compares_nothing_that_c_leaves_undefined(shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, UNDEFINED, guard=False)
    shown = " ".join(
        str(made.report(data="[-1e20, -5e9, -7.0, 300.0, 7e4, 1e11, 1e20, np.nan]", time=0.01, verbose=True)).split()
    )
    assert "DISAGREE" not in shown
    assert shown.count("not compared") == 6, shown
    assert "Write fabs(x)" in shown


CYTHON = """# cython: cdivision=True
cpdef double inverse(double x) noexcept nogil:
    return 1.0 / <int>x
cpdef double colour(double x) noexcept nogil:
    return <unsigned char>(x * 255)
cpdef double unsigned32(double x) noexcept nogil:
    return <unsigned int>x
def whole(double x):
    cdef int i = <int>x
    return i / 2.0
"""


@pytest.mark.cython
@pytest.mark.skipif(shutil.which("gcc") is None, reason="these are gcc's values")
def test_conversions_of_cython_are_those_of_plain_gcc(shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, CYTHON, language="cython", guard=False, time=False)
    x = np.tile([1.2, -0.1, -0.3, -2.0, 5e9], 8)
    with np.errstate(all="ignore"):
        assert made.inverse(x)[:4].tolist() == [1, np.inf, np.inf, -0.5]
    assert made.colour(x)[:4].tolist() == [50, 231, 180, 2]
    assert made.unsigned32(x)[:5].tolist() == [1, 0, 0, 4294967294, 705032704]
    assert np.signbit(made.whole(x)[:4]).tolist() == [False, False, False, True]


@pytest.mark.skipif(shutil.which("gcc") is None or platform.machine() != "x86_64", reason="it is about gcc on x86-64")
def test_a_note_says_what_conversions_to_unsigned_numbers_cost(shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, UNDEFINED, guard=False)
    assert [note for note in made.notes if "vectorized" in note] == [
        "word: floating-point numbers become unsigned integers, so nothing is vectorized: convert to int if you can"
    ]


HIDDEN = """
struct S { int i; double d; };
static void set(struct S *s, double x) { s->i = x; }
static double passed(int i) { return i; }
double pointer(double x) { struct S s; set(&s, x); return s.i; }
double argument(double x) { return passed(x); }
double designated(double x) { struct S s = {.i = x}; return s.i; }
double literal(double x) { return ((struct S){x}).i; }
double nameless(double x) { struct { short i; } s = {x}; return s.i; }
double united(double x) { union { int i; float f; } u; u.i = x; return u.i; }
double bitfield(double x) { struct { int i : 9; } s; s.i = x; return s.i; }
double array(double x) { int t[2] = {x, x}; return t[1]; }
double statement(double x) { return ({ int i = x; i; }); }
double compound(double x) { int i = 1; i *= x; return i; }
double jump(double x) { int i = 0; again: i = x; if (i > 5) { x -= 1; goto again; } return i; }
double recursive(double x) { return x > 3 ? recursive(x - 1) : (int)x; }
"""
HIDDEN_IN_CPLUS = [
    "struct M { int v; void set(double x) { v = x; } }; double f(double x) { M m; m.set(x); return m.v; }",
    "struct M { int v; M(double x) : v(x) {} }; double f(double x) { return M(x).v; }",
    "struct M { double v; operator int() const { return v; } }; double f(double x) { M m{x}; int i = m; return i; }",
    "#include <tuple>\ndouble f(double x) { std::tuple<int> t(x); return std::get<0>(t); }",
    "template <class T> T to(double x) { return (T)x; } double f(double x) { return to<int>(x); }",
]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="clang needs no flag for it")
def test_conversions_are_found_wherever_they_are(shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, HIDDEN, guard=False, time=False)
    assert [name for name, f in made.items() if np.signbit(f(np.full(40, -0.25))).any()] == []


@pytest.mark.slow
@pytest.mark.parametrize("cell", HIDDEN_IN_CPLUS)
def test_conversions_of_classes_are_found(cell: str, shared_cache_folder: Path) -> None:
    made = compile_in(shared_cache_folder, cell, cplus=True, guard=False, time=False)
    assert not np.signbit(made.f(np.full(40, -0.25))).any()
