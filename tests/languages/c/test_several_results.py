"""C++ functions that return std::pair, std::tuple or std::array are ufuncs of several outputs."""

from __future__ import annotations

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

CELL = """\
#include <array>
#include <cmath>
#include <complex>
#include <tuple>
#include <utility>
using roots = std::pair<std::complex<double>, std::complex<double>>;
std::pair<double, double> polar(double x, double y) { return {std::hypot(x, y), std::atan2(y, x)}; }
std::tuple<double, int, bool> parts(double x) { int k = std::floor(x); return std::make_tuple(x - k, k, x < 0); }
template <class T> std::array<T, 3> powers(T x) { return {x, x * x, x * x * x}; }
roots solve(double a, double b, double c)
{
    auto d = std::sqrt(std::complex<double>(b * b - 4 * a * c));
    return roots{(-b + d) / (2 * a), (-b - d) / (2 * a)};
}
std::pair<double, double> ordered(double x, double y)
{
    std::pair<double, double> p(x, y);
    return x < y ? p : std::make_pair(y, x);
}
std::pair<double, const char *> named(double x) { return {x, "x"}; }
// ufunc: (n)->(),()
std::pair<double, double> extremes(const double *x, int n)
{
    double low = x[0], high = x[0];
    for (int i = 1; i < n; i++) low = std::fmin(low, x[i]), high = std::fmax(high, x[i]);
    return {low, high};
}
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder):
    return compile_in(shared_cache_folder, CELL, cplus=True)


def test_each_value_is_an_output(cell: um.runtime.Build) -> None:
    names = "polar", "parts", "powers", "solve", "ordered", "extremes"
    assert {name: cell[name].types for name in names} == {
        "polar": ["dd->dd"],
        "parts": ["d->di?"],
        "powers": ["i->iii", "l->lll", "f->fff", "d->ddd"],
        "solve": ["ddd->DD"],
        "ordered": ["dd->dd"],
        "extremes": ["d->dd"],
    }
    x, y = np.array([3.0, -1.0]), np.array([4.0, 0.5])
    np.testing.assert_allclose(cell.polar(x, y), [np.hypot(x, y), np.arctan2(y, x)], rtol=1e-15)
    assert [a.tolist() for a in cell.parts(x + 0.5)] == [[0.5, 0.5], [3, -1], [False, True]]
    assert cell.powers(np.float32(2)) == (2, 4, 8)
    assert cell.solve(1, 2, 5) == (-1 + 2j, -1 - 2j)
    assert [a.tolist() for a in cell.ordered(x, y)] == [[3.0, -1.0], [4.0, 0.5]]
    assert [a.tolist() for a in cell.extremes(np.array([[1.0, 5, 3], [2, 2, -7]]))] == [[1.0, -7.0], [5.0, 2.0]]


def test_what_has_no_number_in_it_is_refused(cell: um.runtime.Build) -> None:
    assert "named" not in cell
    assert any("named" in note and "returns a pointer" in note for note in cell.notes)


def test_values_that_are_written_one_by_one_are_compared(cell: um.runtime.Build) -> None:
    forms = {f.name: f.python for f in cell.report_data.functions}
    assert forms["polar"] == "def polar(x, y):\n    return math.hypot(x, y), math.atan2(y, x)\n"
    assert forms["parts"].endswith("return x - k, k, x < 0\n")
    assert forms["powers"].endswith("return x, x * x, x * x * x\n")
    assert "cmath.sqrt" in forms["solve"]
    assert forms["ordered"] == ""


@pytest.mark.slow
def test_tables_of_them_agree(cell: um.runtime.Build) -> None:
    report = cell.report(size=1000)
    assert report.ok, str(report)
