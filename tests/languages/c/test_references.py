"""References to what a function only reads, changes or sets, as the operands of C++ cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

CPP = """
#include <cmath>
#include <complex>
struct point { double x, y; };
double twice(double &x) { return x * 2; }
float twice_f(float &x) { return x * 2; }
bool is_odd(int &i) { return i & 1; }
bool opposite(bool &b) { return !b; }
double mixed(const double &x, double &y, double z) { return x + y * z; }
void scale(double &x, double &y) { y = x * 10; }
void add_one(double &x) { x += 1; }
double length(point &p) { return std::hypot(p.x, p.y); }
double real_part(std::complex<double> &z) { return z.real(); }
template <class T> T next(T &x) { return x + 1; }
double through(double &x) { double &alias = x; return std::sqrt(alias); }
void bump(double &x) { auto &alias = x; alias += 1; }
void copy(double x, double &out) { double &alias = out; double &again = alias; again = x; }
double first(double *x) { double &alias = *x; return alias; }
double crossed(double a, double b) { double &p = a, &q = b; double t = p; p = q; q = t; return a - b; }
double either(bool c, double &a, double &b) { double &m = c ? a : b; return m; }
double weighted(double &w, const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) { const double &item = x[i]; s += w * item; }
    return s;
}
"""
GAIN = "namespace dsp { double gain(double &x) { return x * 3; } }"


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> um.Build:
    return compile_in(shared_cache_folder, CPP, cplus=True)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("twice", ([1.0, 2.0],), [2, 4]),
        ("twice_f", (np.float32([1.5]),), [3]),
        ("is_odd", ([1, 2, 3],), [True, False, True]),
        ("opposite", ([True, False],), [False, True]),
        ("mixed", ([1.0, 2.0], 3.0, [1.0, 0.0]), [4, 2]),
        ("scale", ([1.0, 2.0],), [10, 20]),
        ("add_one", ([1.0, 2.0],), [2, 3]),
        ("real_part", ([1 + 2j],), [1]),
        ("next", ([1, 2],), [2, 3]),
        ("through", ([4.0, 9.0],), [2, 3]),
        ("bump", ([4.0, 9.0],), [5, 10]),
        ("copy", ([4.0, 9.0],), [4, 9]),
        ("first", ([4.0, 9.0],), [4, 9]),
        ("crossed", ([5.0], [3.0]), [-2]),
        ("weighted", (2.0, [1.0, 2.0]), 6),
    ],
)
def test_a_reference_is_an_operand(cell: um.Build, name: str, arguments: tuple[object, ...], expected: object) -> None:
    before = [np.array(a) for a in arguments]
    assert np.array_equal(cell[name](*arguments), np.array(expected))
    assert all(np.array_equal(a, b) for a, b in zip(arguments, before, strict=True))
    assert np.array_equal(cell[name](*(np.tile(a, (1000, 1)) if np.ndim(a) else a for a in arguments))[-1], expected)


def test_references_of_which_one_is_meant_are_inputs(cell: um.Build) -> None:
    assert cell.either([True, False], 3.0, 4.0)[0].tolist() == [3, 4]


def test_a_reference_to_a_structure_is_an_operand(cell: um.Build) -> None:
    assert cell.length(np.array([(3, 4)], um.dtype_of(cell.length))).tolist() == [5]


def test_a_reference_of_a_function_in_a_namespace_is_an_operand() -> None:
    assert um.compile_c(GAIN, cplus=True).gain([1.0, 2.0]).tolist() == [3, 6]


def test_a_report_says_once_that_nothing_was_compared() -> None:
    build = um.compile_c("void bump(double &x) { auto &a = x; a += 1; }", cplus=True)
    notes = build.report(time=0.01).comparisons[0].notes
    assert [note for note in notes if "--ref" in note] == [
        "no Python form: it uses the reference `a`; to check the results, name a function with --ref"
    ]


SORTS = """
#include <algorithm>
#include <array>
#include <numeric>
#include <span>
void methods(std::array<double, 3> &a) { std::sort(a.begin(), a.end()); }
void functions(std::array<double, 3> &a) { std::sort(std::begin(a), std::end(a)); }
void array(double (&a)[3]) { std::sort(std::begin(a), std::end(a)); }
void view(std::span<double, 3> a) { std::sort(a.begin(), a.end()); }
void pointer(std::array<double, 3> &a) { double *p = a.data(); std::sort(p, p + 3); }
void plain(double a[3]) { double *p = a; std::sort(p, p + 3); }
"""


@pytest.mark.parametrize("name", ["methods", "functions", "array", "view", "pointer", "plain"])
def test_an_array_that_somebody_else_changes_is_an_input_too(shared_cache_folder: Path, name: str) -> None:
    build = compile_in(shared_cache_folder, SORTS, cplus=True)
    assert build[name]([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]]).tolist() == [[1, 2, 3], [7, 8, 9]]
