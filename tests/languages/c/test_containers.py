"""C++ functions of containers: `std::vector`, `std::span`, `std::array`, references to arrays, strings of bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.languages.c import parser

CELL = """\
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>
using vec3 = std::array<double, 3>;
double sum(const std::vector<double> &x) { double s = 0; for (double v : x) s += v; return s; }
double dot(const std::vector<double> &a, const std::vector<double> &b)
{
    double s = 0;
    for (size_t i = 0; i < a.size(); i++) s += a[i] * b.at(i);
    return s;
}
template <class T> T total(std::span<const T> x) { T s = 0; for (auto v : x) s += v; return s; }
double far(const std::vector<vec3> &points)
{
    double m = 0;
    for (const auto &p : points) m = std::fmax(m, p[0]);
    return m;
}
double third(double (&x)[3]) { return x[2]; }
vec3 crossed(const vec3 &a, const vec3 &b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
void scale(std::span<double> x, double k) { for (auto &v : x) v *= k; }
double cell(const double (&x)[2][3]) { return x[1][2]; }
long count(std::string_view s) { long n = 0; for (char c : s) n += c == 'a'; return n; }
int head(std::string_view s, int more) { if (s.empty()) throw std::out_of_range("empty"); return s[0] + more; }
void cross(const vec3 &a, const vec3 &b, vec3 &o)
{
    o = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double unit(std::vector<double> &v)
{
    double s = 0;
    for (auto x : v) s += x * x;
    for (size_t i = 0; i < v.size(); i++) v[i] /= std::sqrt(s);
    return s;
}
// ufunc: ()->(2)
std::array<float, 2> around(float x) { return {x - 1, x + 1}; }
// ufunc: (n)->(n)
std::vector<double> summed(const std::vector<double> &x)
{
    std::vector<double> r;
    for (double v : x) r.push_back(r.empty() ? v : r.back() + v);
    return r;
}
// ufunc: (n)->(3)
std::vector<double> three(const std::vector<double> &x) { return x; }
double pick(std::span<const double> x, int n) { return x[n]; }
// ufunc: (n),(m)->()
double sizes(const std::vector<float> &a, std::span<const float> b) { return a.size() * 10.0 + b.size(); }
double grown(std::vector<double> &x) { x.push_back(1); return x.back(); }
double checked(const std::vector<double> &x) { return x.at(7); }
static double changed(vec3 v) { v[0] += 1; return v[0]; }
double kept(const vec3 &a) { auto b = a; b[1] = 9; return changed(a) + a[0] + a[1]; }
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> um.runtime.Build:
    return compile_in(shared_cache_folder, CELL, cplus=True)


def test_a_container_is_an_array_with_a_core_dimension(cell: um.runtime.Build) -> None:
    x, points = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    assert (cell.sum(x), cell.dot(x, x), cell.total(x), cell.far(points), cell.pick(x, 2)) == (3, 5, 3, 3, 2)
    assert cell.sum(points).tolist() == [3, 12]
    assert cell.sum(x[::-2]) == 2
    assert cell.total(x.astype("f4")).dtype == "f4"
    assert (cell.third(x), cell.cell(points), cell.kept(x)) == (2, 5, 2)
    assert cell.sizes(np.zeros(3, "f4"), np.zeros(2, "f4")) == 32
    with pytest.raises(ValueError, match="core dimension"):
        cell.dot(x, np.zeros(2))


def test_what_a_function_writes_is_an_output(cell: um.runtime.Build) -> None:
    assert cell.scale(np.arange(3.0), 2.0).tolist() == [0, 2, 4]
    assert cell.cross([1.0, 0, 0], [0, 1.0, 0]).tolist() == [0, 0, 1]
    x = np.array([3.0, 4.0])
    square, of_length_one = cell.unit(x)
    assert (square, of_length_one.tolist(), x.tolist()) == (25, [0.6, 0.8], [3, 4])


def test_a_returned_array_is_one_output(cell: um.runtime.Build) -> None:
    x, y = np.random.default_rng(1).random((2, 5, 3))
    np.testing.assert_allclose(cell.crossed(x, y), np.cross(x, y), rtol=1e-12)
    assert cell.crossed.signature == "(3),(3)->(3)"
    assert cell.around(np.float32(2)).tolist() == [1, 3]
    assert cell.summed([1.0, 2.0, 3.0]).tolist() == [1, 3, 6]
    assert cell.three([1.0, 2.0, 3.0]).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="another size"):
        cell.three([1.0, 2.0])


def test_a_string_is_an_array_of_bytes(cell: um.runtime.Build) -> None:
    assert cell.count.types == ["B->l"]
    assert cell.count(np.frombuffer(b"abca\xff", "u1")) == 2


def test_exceptions_of_containers_arrive(cell: um.runtime.Build) -> None:
    with pytest.raises(IndexError, match="which is 7"):
        cell.checked(np.arange(3.0))
    with pytest.raises(RuntimeError, match="another size"):
        cell.grown(np.arange(3.0))


def test_they_have_python_forms(cell: um.runtime.Build) -> None:
    forms = {f.name: f.python for f in cell.report_data.functions}
    assert "for i in range(len(a)):\n        s += a[i] * b[i]" in forms["dot"]
    assert "x[v_index] *= k" in forms["scale"]
    assert "return [a[1] * b[2] - a[2] * b[1], " in forms["crossed"]
    assert forms["third"].endswith("return x[2]\n")
    assert forms["kept"] == ""


@pytest.mark.slow
def test_tables_of_them_agree(cell: um.runtime.Build) -> None:
    report = cell.report(size=200)
    assert report.ok, str(report)


@pytest.mark.slow
def test_other_containers() -> None:
    b = um.compile_c(
        """\
#include <array>
#include <complex>
#include <cstddef>
#include <string>
#include <valarray>
#include <vector>
#include <span>
#include <algorithm>
double mean(const std::valarray<double> &x) { return x.sum() / x.size(); }
double middle(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
int any(const std::vector<bool> &b) { for (bool x : b) if (x) return 1; return 0; }
int upper(const std::string &s)
{
    int n = 0;
    for (size_t i = 0; i < s.length(); ++i) n += s[i] >= 'A' && s[i] <= 'Z';
    return n;
}
double ends(std::span<const double, 4> a) { return a.back() + a.front(); }
// ufunc: (m,n)->()
double last(std::span<const float> a, int m, int n) { return a[m * n - 1]; }
void doubled(std::vector<std::array<double, 3>> &m) { for (auto &r : m) for (auto &v : r) v *= 2; }
namespace geo {
    using real = float;
    real area(const std::array<real, 2> &a, std::span<real const> b) { return a[0] * b[0]; }
}
int bytes(std::span<const std::byte> x) { int s = 0; for (auto v : x) s += std::to_integer<int>(v); return s; }
int chars(const std::vector<char> &x) { return x[0]; }
struct point { double x, y; };
double abscissa(const std::vector<point> &p) { return p.back().x; }
std::complex<double> turned(std::span<const std::complex<double>> z) { return z[0] * std::complex<double>(0, 1); }
auto deduced(const std::array<std::array<double, 2>, 2> &m, auto k) { return m[1][1] * k; }
""",
        cplus=True,
    )
    x = np.arange(6.0)
    assert (b.mean(x), b.middle(x[::-1]), b.any(x > 4), b.upper(np.frombuffer(b"aBC", "u1"))) == (2.5, 3, 1, 2)
    assert (b.ends(x[:4]), b.last(x.reshape(2, 3).astype("f4")), b.deduced(x[:4].reshape(2, 2), 2.0)) == (3, 5, 6)
    assert b.doubled(x.reshape(2, 3)).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert (b.bytes(np.array([1, 2], "u1")), b.chars(np.array([5], "i1")), b.turned([1j])) == (3, 5, -1)
    assert b.abscissa(np.array([(1, 2), (3, 4)], dtype=[("x", "f8"), ("y", "f8")])) == 3
    assert b.area(np.ones(2, "f4"), np.ones(3, "f4")) == 1


def test_what_is_no_array_of_numbers_is_no_container() -> None:
    unit = parser.parse(
        """
    template <class T> class vector { T *first; };
    double a(const vector<double> &x) {} double b(const std::vector<std::vector<double>> &x) {}
    double c(std::vector<double> *x) {} double d(std::vector<double> &&x) {} double e(std::vector<double> x[3]) {}
    """,
        cplus=True,
    )
    assert [type(f.parameters[0]).__name__ for f in unit.functions] == [
        "ConstReferenceParameter", "ConstReferenceParameter", "Parameter", "Parameter", "Parameter"
    ]  # fmt: skip


def test_bytes_are_an_array_of_bytes(cell: um.runtime.Build) -> None:
    text = b"banana" * 3
    before = sys.getrefcount(text)
    assert (cell.count(text), cell.count(b""), cell.count(np.bytes_(b"abc")), cell.count(bytearray(b"aa"))) == (
        9,
        0,
        1,
        2,
    )
    out = np.zeros(2, int)
    assert cell.head(b"a", [0, 1], out=out) is out
    assert out.tolist() == [97, 98]
    assert cell.head(b"a", 1, dtype=None) == 98
    assert sys.getrefcount(text) == before
    with pytest.raises(IndexError, match="empty"):
        cell.head(b"", 1)
    with pytest.raises(TypeError, match="not supported") as refused:
        cell.head("text", 1)
    assert "s.encode()" in "".join(refused.value.__notes__)
    with pytest.raises(TypeError, match="not supported"):
        cell.sum(b"text")


def test_results_of_bytes_are_not_kept(cell: um.runtime.Build) -> None:
    numbers = np.arange(1000)
    again, plain = cell.head(b"a", numbers), cell.head(np.array([97], "u1"), numbers)
    assert [sys.getrefcount(again)] == [sys.getrefcount(plain)]
