"""Functions that cannot be ufuncs: called through cffi, arrays for pointers, errors before C can read astray."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.runtime.cffi_function import PlainFunction
from ufunc_magic.runtime.registry import Build

SOURCE = """
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define DIM 3
typedef struct { double x, y; void *unused; } point;
struct grid { int n[DIM]; point origin; };
enum mode { OFF, ON = 5 };
typedef enum mode mode;

/* The distance from the origin, squared. */
double norm2(point p) { return p.x*p.x + p.y*p.y; }
point swapped(point p) { point q = {p.y, p.x}; return q; }
void move(point *p, double by) { p->x += by; }
int cells(struct grid g) { int r = 1; for (int i = 0; i < DIM; i++) r *= g.n[i]; return r; }

double total(const double *x, int n) { double s = 0; for (int i = n; i--; ) s += x[i]; return s; }
void fill(double *x, long n, double value) { for (long i = 0; i < n; i++) x[i] = value; }
int32_t sum32(const int32_t *x, size_t n) { int32_t s = 0; while (n--) s += x[n]; return s; }
uint8_t largest(const uint8_t *x, int n)
{
    uint8_t m = 0;
    while (n--) if (x[n] > m) m = x[n];
    return m;
}
float first(const float *x, int n) { return x[n - n]; }
bool any(const bool *x, int n) { while (n--) if (x[n]) return true; return false; }
double corner(double (*m)[3], int n) { return m[n - 1][2]; }
void *same(void *p) { return p; }

int length(const char *text) { return (int)strlen(text); }
const char *greeting(int n) { return n ? "hello" : 0; }
double sum_of(int n, ...)
{
    va_list a;
    double s = 0;
    va_start(a, n);
    while (n--) s += va_arg(a, double);
    va_end(a);
    return s;
}
double twice(double (*f)(double), double x) { return f(f(x)); }
int answer(void *unused) { return 42; }
mode toggled(mode m, void *unused) { return m == ON ? OFF : ON; }
bool negated(bool b, void *unused) { return !b; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UFUNC_MAGIC_CACHE", str(shared_cache_folder))
        return um.compile_c(SOURCE)


def test_every_function_is_bound_and_none_is_a_ufunc(c: Build) -> None:
    assert {name for name, f in c.items() if isinstance(f, PlainFunction)} == set(c)
    assert len(c) == 19


def test_structs_go_in_and_come_out(c: Build) -> None:
    assert c.norm2({"x": 3, "y": 4}) == 25
    assert c.norm2((3, 4)) == 25
    q = c.swapped((1, 2))
    assert (q.x, q.y) == (2, 1)
    assert c.norm2(q) == 5
    p = c.move.ffi.new("point *", [1, 2])
    c.move(p, 10)
    assert p.x == 11
    assert c.cells({"n": [2, 3, 4], "origin": (0, 0)}) == 24


def test_array_stands_for_a_pointer_without_a_copy(c: Build) -> None:
    x = np.zeros(4)
    c.fill(x, 3, 7.5)
    assert x.tolist() == [7.5, 7.5, 7.5, 0]
    c.fill(x[1:], 2, 1)
    assert x.tolist() == [7.5, 1, 1, 0]
    assert c.total(x, 4) == 9.5
    assert int(c.same.ffi.cast("intptr_t", c.same(x))) == x.ctypes.data


def test_element_types_are_the_functions_own(c: Build) -> None:
    assert c.sum32(np.arange(5, dtype="i4"), 5) == 10
    assert c.largest(np.frombuffer(b"az", "u1"), 2) == ord("z")
    assert c.first(np.float32([1.5]), 1) == 1.5
    assert c.any(np.array([False, True]), 2) is True
    assert c.corner(np.arange(6.0).reshape(2, 3), 2) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.total(np.arange(3), 3), r"total\(\): x is an array of int64, but C needs double"),
        (lambda c: c.total(np.float32([1]), 1), "float32"),
        (lambda c: c.sum32(np.arange(3), 3), "int64, but C needs int32_t|int64, but C needs int"),
        (lambda c: c.largest(np.int8([1]), 1), "int8"),
        (lambda c: c.total(np.arange(3.0).astype(">f8"), 3), "byte order"),
        (lambda c: c.total(np.arange(3.0)), r"takes 2 arguments \(1 given\)"),
        (lambda c: c.answer(), r"takes 1 arguments? \(0 given\)"),
        (lambda c: c.norm2("text"), "initializer for ctype"),
        (lambda c: c.length(3), "initializer for ctype"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_of_another_type_are_refused(c: Build, call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(c)


def test_arrays_that_c_would_misread_are_refused(c: Build) -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        c.total(np.arange(10.0)[::2], 5)
    with pytest.raises(ValueError, match="not contiguous"):
        c.corner(np.arange(6.0).reshape(3, 2).T, 2)


def test_read_only_arrays_are_for_const_pointers_only(c: Build) -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    assert c.total(x, 4) == 6
    with pytest.raises(ValueError, match=r"fill\(\): x is read-only"):
        c.fill(x, 4, 0.0)
    assert x[3] == 3


def test_numpy_scalars_are_numbers(c: Build) -> None:
    assert c.total(np.ones(3), np.int64(2)) == 2
    x = np.zeros(1)
    c.fill(x, np.int32(1), np.float32(2.5))
    assert x[0] == 2.5


def test_strings_enums_and_booleans(c: Build) -> None:
    assert c.length(b"four") == 4
    assert c.greeting.ffi.string(c.greeting(1)) == b"hello"
    assert c.greeting(0) == c.greeting.ffi.NULL
    assert c.toggled(5, c.toggled.ffi.NULL) == 0
    assert c.negated(False, c.negated.ffi.NULL) is True


def test_varargs_and_function_pointers(c: Build) -> None:
    ffi = c.sum_of.ffi
    assert c.sum_of(2, ffi.cast("double", 1.5), ffi.cast("double", 2)) == 3.5
    square = c.twice.ffi.callback("double(double)", lambda x: x * x)
    assert c.twice(square, 3.0) == 81


def test_it_says_what_it_is_and_why_it_is_no_ufunc(c: Build) -> None:
    assert "double(*)(point)" in repr(c.norm2)
    assert "The distance from the origin" in (c.norm2.__doc__ or "")
    assert "struct" in c.norm2.reason
    assert str(inspect.signature(c.total)) == "(x, n, /)"
    assert c.answer.__name__ == "answer"
    assert "return 42" in c.answer.__source__


def test_type_that_cffi_cannot_read_is_a_note_and_not_the_end_of_the_cell() -> None:
    built = um.compile_c(
        "struct vector { float v __attribute__((vector_size(16))); };\n"
        "typedef struct { double x; void *unused; } one;\n"
        "float first(struct vector v) { return v.v[0]; }\n"
        "double second(one o) { return o.x; }\n"
        "double f(double x) { return x; }"
    )
    assert built.f(2.0) == 2
    assert built.second((3,)) == 3
    assert "first" not in built
    assert any(note.startswith("first can be neither a ufunc") for note in built.notes)


def test_vector_type_alone_is_refused_by_name() -> None:
    with pytest.raises(um.SignatureError, match="'v4' is not a NumPy number type"):
        um.compile_c("typedef float v4 __attribute__((vector_size(16)));\nfloat first(v4 v) { return v[0]; }")


def test_struct_defined_in_a_local_header_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "point.h").write_text("typedef struct { double x, y; void *unused; } point;\n")
    monkeypatch.chdir(tmp_path)
    built = um.compile_c('#include "point.h"\ndouble norm2(point p) { return p.x*p.x + p.y*p.y; }')
    assert built.norm2((3, 4)) == 25


def test_without_cffi_only_plain_functions_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Python 3.13 without a GIL, for which it has no build."""
    monkeypatch.setitem(sys.modules, "cffi", None)
    built = um.compile_c("double without_cffi(double x) { return x; }\nvoid *no_ufunc(void *p) { return p; }")
    assert [*built] == ["without_cffi"]
    assert "no_ufunc" in "\n".join(built.notes)
    assert "needs cffi" in "\n".join(built.notes)
