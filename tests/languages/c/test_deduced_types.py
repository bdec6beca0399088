"""C++ functions whose types the compiler deduces: `auto` parameters, deduced results, references that are returned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

pytestmark = pytest.mark.slow

CELL = """\
#include <cmath>
#include <concepts>
template <class T> concept Real = std::floating_point<T>;
auto multiplied(auto a, auto b) { return a * b; }
auto added(std::floating_point auto a, const auto &b) { return a + b; }
Real auto third(Real auto x) { return x / 3; }
template <class A, class B> auto product(A a, B b) -> decltype(a * b) { return a * b; }
auto larger(const double &a, const double &b) -> const double & { return a < b ? b : a; }
const double &smaller(const double &a, const double &b) { return a < b ? a : b; }
template <class T> auto cut(T x) -> decltype(int(x)) { return x * 1.5; }
template <class T> T mixed(T a, auto b) { return a - b; }
decltype(auto) itself(const float &x) { return (x); }
void split(auto x, auto &whole, auto *part) { whole = std::floor(x); *part = x - whole; }
auto norm(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return std::sqrt(s); }
auto both(double x, double *twice) { *twice = 2 * x; return x > 0; }
namespace inside { typedef double real; auto shifted(real x, auto y) -> real { return x + y; } }
static auto &same(double &x) { return x; }
auto used(double x) { return multiplied(x, 2.0) + same(x); }
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> um.runtime.Build:
    return compile_in(shared_cache_folder, CELL, cplus=True)


def test_types_are_those_that_the_compiler_deduces(cell: um.runtime.Build) -> None:
    assert {name: cell[name].types[-1] for name in ("multiplied", "cut", "both", "shifted", "itself")} == {
        "multiplied": "dd->d",
        "cut": "d->i",
        "both": "d->?d",
        "shifted": "dd->d",
        "itself": "f->f",
    }
    assert cell.multiplied(np.float32(2), np.float32(3)).dtype == "f4"
    assert (cell.multiplied(2.0, 3.0), cell.added(1.0, 2.0), cell.third(3.0), cell.product(2.0, 4.0)) == (6, 3, 1, 8)
    assert (cell.larger(1, 2), cell.smaller(1, 2), cell.cut(2.5), cell.mixed(3.0, 1.0)) == (2, 1, 3, 2)
    assert (cell.split(2.5), cell.norm(np.array([3.0, 4.0])), cell.both(2.0)) == ((2, 0.5), 5, (True, 4))
    assert (cell.itself(np.float32(2)), cell.shifted(1.0, 2.0), cell.used(2.0)) == (2, 3, 6)


def test_they_have_python_forms(cell: um.runtime.Build) -> None:
    forms = {f.name: f.python for f in cell.report_data.functions}
    assert "return a * b" in forms["multiplied"]
    assert "return b if a < b else a" in forms["larger"]
    assert "int(" in forms["cut"]
