"""C++ functions with default arguments: `f_1` is `f` of its first argument alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

CELL = """\
static double k = 4;
double f(double x, double y = 2) { return x * y; }
double declared(double x, int n = 3);
double declared(double x, int n) { return x * n; }
template <class T> T between(T a, T b = 1, T t = T(0.5)) { return a + (b - a) * t; }
double sum(const double *x, int n, double scale = 2)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * scale;
    return s;
}
// ufunc: (n),()->()
double first(const double *x, int n, double times = 10) { return x[0] * times; }
double maybe(double x, double *twice = nullptr) { if (twice) *twice = 2 * x; return x; }
int all(int a = 1, int b = 2) { return a * 10 + b; }
double of_state(double x, double y = k * 2) { return x + y; }
namespace inside { double in(double x, float y = 0.5f) { return x * y; } }
float two(float x, float y = 1) { return x + y; }
double two(double x, double y = 2) { return x + y; }
double taken(double x, double y = 1) { return x + y; }
double taken_1(double x) { return -x; }
double used(double x) { return f(x) + declared(x); }
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> um.runtime.Build:
    return compile_in(shared_cache_folder, CELL, cplus=True)


def test_a_ufunc_of_fewer_operands_has_the_defaults(cell: um.runtime.Build) -> None:
    x = np.array([3.0, 4.0])
    assert (cell.f(2.0, 5.0), cell.f_1(2.0), cell.declared_1(2.0), cell.used(1.0)) == (10, 4, 6, 5)
    assert (cell.between_1(0.0), cell.between_2(0.0, 4.0), cell.between_1(np.float32(0)).dtype) == (0.5, 2, "f4")
    assert (cell.sum_2(x), cell.first_2(x), cell.maybe(2.0), cell.maybe_1(2.0)) == (14, 30, (2, 4), 2)
    assert (cell.all(3, 4), cell.all_1(3), cell.all_0()) == (34, 32, 12)
    assert (cell.of_state_1(1.0), cell.in__1(2.0), cell.taken_1(2.0)) == (9, 1, -2)
    assert (cell.two_1(1.0), cell.two_1(np.float32(1))) == (3, 2)
    assert any("f_1 is f with y = 2" in note for note in cell.notes)


def test_an_overload_that_takes_as_few_keeps_its_call() -> None:
    source = """\
double f(double x, double y = 1) { return x * y; }
double f(double x, int k, int m) { return x; }
"""
    assert sorted(um.compile_c(source, cplus=True)) == ["f", "f_1"]
    assert list(um.compile_c(source.replace(", int k, int m", ""), cplus=True)) == ["f"]


def test_they_have_python_forms() -> None:
    b = um.compile_c("double f(double x, double y = 2) { return x * y; }", cplus=True)
    assert [f.python for f in b.report_data.functions] == [
        "def f(x, y):\n    return x * y\n",
        "def f_1(x):\n    y = 2.0\n    return x * y\n",
    ]


def test_a_call_without_the_default_names_the_ufunc_that_has_it(cell: um.runtime.Build) -> None:
    with pytest.raises(TypeError, match="positional argument") as refused:
        cell.f(1.0)
    assert "f_1 has the defaults of the others" in "".join(refused.value.__notes__)
    with pytest.raises(TypeError, match="positional argument") as refused:
        cell.sum([1.0])
    assert "sum_2" in "".join(refused.value.__notes__)
