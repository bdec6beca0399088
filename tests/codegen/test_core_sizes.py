"""Core dimensions of outputs that are computed of those of the inputs, ``(n),(m)->(n+m-1)``, or that a number or
``out=`` gives; optional dimensions of inputs, and those that may be 1."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic import forms

CELL = """
#include <stddef.h>
// ufunc: (n),(m)->(n+m-1)
void convolve(const double *x, int n, const double *y, int m, double *out) {
    for (int i = 0; i < n + m - 1; i++) out[i] = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) out[i + j] += x[i] * y[j];
}
// ufunc: (n)->(n - 1)
void differences(const int *x, int n, int *d) { for (int i = 0; i + 1 < n; i++) d[i] = x[i + 1] - x[i]; }
// ufunc: (n)->(2*n, 3)
void table(const double *x, int n, double *y) { for (int i = 0; i < 6 * n; i++) y[i] = i; }
// ufunc: (n)->(n//2)
void every_second(const double *x, int n, double *y) { for (int i = 0; i + 1 < n; i += 2) y[i / 2] = x[i]; }
// ufunc: (n,d)->(n*(n-1)//2)
void pairs(const double *x, int n, int d, double *y) {
    for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) {
        double s = 0;
        for (int k = 0; k < d; k++) s += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
        *y++ = s;
    }
}
// ufunc: (n)->((n+1)//2), ((n+1)*2)
void both(const double *x, int n, double *y, double *z) {
    for (int i = 0; i < n; i += 2) y[i / 2] = x[i];
    for (int i = 0; i < 2 * n + 2; i++) z[i] = i;
}
// ufunc: (),(),()->(k)
void line(double a, double b, double *y, int k) { for (int i = 0; i < k; i++) y[i] = a + (b - a) * i / (k - 1); }
// ufunc: (),()->(k)
void into(double a, double b, double *y, int k) { for (int i = 0; i < k; i++) y[i] = a + (b - a) * i / (k - 1); }
// ufunc: ()->(2*k+1)
void window(int k, double *y) { for (int i = -k; i <= k; i++) y[i + k] = i; }
// ufunc: (n),()->(m)
void resampled(const float *x, int n, float scale, float *y, unsigned char m) {
    for (int i = 0; i < m; i++) y[i] = scale * x[i * n / m];
}
// ufunc: (),()->(n)
void rising(double start, double *y, int n) { for (int i = 0; i < n; i++) y[i] = start + i; }
typedef struct { unsigned state; } Generator;
// ufunc: (),()->(),(n)
void draw(Generator *g, double *y, size_t n) {
    for (size_t i = 0; i < n; i++) { g->state = g->state * 1664525u + 1013904223u; y[i] = g->state / 4294967296.0; }
}
// ufunc: (n),()->(k)
void counts(const double *x, int n, long *h, int k) {
    for (int i = 0; i < n; i++) if (x[i] >= 0 && x[i] < 1) h[(int)(x[i] * k)]++;
}
// ufunc: (m?,n),(n,p?)->(m?,p?)
void product(const double *a, const double *b, double *c, int m, int n, int p) {
    for (int i = 0; i < m; i++) for (int j = 0; j < p; j++) {
        double s = 0;
        for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * p + j];
        c[i * p + j] = s;
    }
}
// ufunc: (n|1),(n)->(n)
void scaled(const double *a, const int *b, double *c, int n) { for (int i = 0; i < n; i++) c[i] = a[i] * b[i]; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Any) -> Any:
    return compile_in(shared_cache_folder, CELL)


@pytest.mark.slow
def test_output_has_the_computed_size(c: Any) -> None:
    x, y = np.arange(5.0), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(c.convolve(x, y), np.convolve(x, y))
    assert c.convolve(np.ones((4, 5)), y).shape == (4, 7)
    assert c.differences([1, 4, 9, 16]).tolist() == [3, 5, 7]
    assert c.table(np.ones((2, 4))).shape == (2, 8, 3)
    assert c.every_second(x).tolist() == [0, 2]
    assert (c.convolve.signature, c.table.signature) == ("(n),(m)->(n_plus_m_minus_1)", "(n)->(_2_times_n,3)")


@pytest.mark.slow
def test_docstring_and_object_code_have_the_signature_as_written(c: Any) -> None:
    assert "Core signature: (n),(m)->(n+m-1)" in c.convolve.__doc__
    copy = pickle.loads(pickle.dumps(c.convolve))
    assert copy([1.0, 1.0], [1.0, 1.0]).tolist() == [1, 2, 1]


def test_out_of_another_size_and_negative_sizes_are_refused(c: Any) -> None:
    with pytest.raises(ValueError, match=r"convolve: n\+m-1 is 7 .*out= has 3"):
        c.convolve(np.ones(5), np.ones(3), out=np.zeros(3))
    with pytest.raises(ValueError, match=r"convolve: n\+m-1 is -1 .*negative"):
        c.convolve(np.ones(0), np.ones(0))
    out = np.zeros(7)
    assert c.convolve(np.ones(5), np.ones(3), out=out) is out


def test_parentheses_and_division(c: Any) -> None:
    assert c.pairs([[0, 0], [3, 4], [0, 1]]).tolist() == [25, 1, 18]
    assert c.pairs(np.zeros((2, 5, 3))).shape == (2, 10)
    assert c.pairs.signature == "(n,d)->(n_times__n_minus_1__over_2)"
    assert [out.tolist() for out in c.both([1.0, 2, 3])] == [[1, 3], list(range(8))]


@pytest.mark.slow
def test_a_number_gives_the_size_of_an_output(c: Any) -> None:
    assert c.line(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert c.line([0, 2], [[1], [3]], 3).shape == (2, 2, 3)
    assert np.array_equal(c.line([0, 2], 1, np.array([4, 4])), np.linspace([0, 2], 1, 4, axis=-1))
    assert np.array_equal(c.line(np.zeros(0), 1, 4), np.zeros((0, 4)))
    out = np.empty((2, 3))
    assert c.line(0, [1, 2], np.int8(3), out=out) is out
    assert c.line(0, 1, 3, out=np.zeros(6)[::2]).tolist() == [0, 0.5, 1]
    assert c.window(2).tolist() == [-2, -1, 0, 1, 2]
    assert c.window([1, 1]).shape == (2, 3)
    assert c.counts([[0, 0.3], [0.9, 0.8]], 4).tolist() == [[1, 1, 0, 0], [0, 0, 0, 2]]
    assert c.rising(2, 3).tolist() == [2, 3, 4]
    state, values = c.draw(np.array((1,), um.dtype_of(c.draw)), 3)
    assert np.array_equal(np.hstack([values, c.draw(state, 2)[1]]), c.draw(np.array((1,), state.dtype), 5)[1])
    copy = pickle.loads(pickle.dumps(c.line))
    assert copy(0, 1, 3).tolist() == [0, 0.5, 1]
    assert np.ufunc.__call__(copy, 0, 1, k := 2).tolist() == [0, 1], k


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("c.line(0, 1, -1)", ValueError, "k is -1"),
        ("c.line(0, 1, [3, 4])", um.ArgumentError, "k gives the size .* from 3 to 4"),
        ("c.line(0, 1, 5, out=np.empty(4))", ValueError, "k is 5 .* out= has 4"),
        ("c.line(0, 1, 2.5)", TypeError, "line"),
        ("c.line(0, 1, 2**70)", OverflowError, "too large"),
        ("c.line(0, 1, None)", TypeError, "None"),
        ("c.line(0, 1)", TypeError, "arguments"),
        ("c.window(-3)", ValueError, r"2\*k\+1 is -5"),
        ("c.into(0, 1)", ValueError, "into: k is the size .* out="),
        ("c.resampled([1.0, 2.0], np.float32(1), out=np.empty(300, 'f4')[:0])", TypeError, "resampled"),
    ],
)
def test_a_size_that_cannot_be_is_refused(c: Any, call: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        eval(call, {"c": c, "np": np})


def test_out_gives_the_size_of_an_output(c: Any) -> None:
    assert c.into(0, 1, out=np.empty(5)).tolist() == [0, 0.25, 0.5, 0.75, 1]
    x = np.arange(4, dtype="f4")
    assert c.resampled(x, np.float32(2), out=np.empty((3, 8), "f4"))[1].tolist() == [0, 0, 2, 2, 4, 4, 6, 6]
    assert "k" in " ".join(c.notes)


@pytest.mark.slow
def test_the_same_in_python_has_outputs_of_the_same_size(shared_cache_folder: Any) -> None:
    source = """
// ufunc: (),(),()->(r,c)
void grid(int r, double v, int c, double *y) { for (int i = 0; i < r * c; i++) y[i] = v * i; }
// ufunc: ()->(2*k+1)
void window(int k, long *y) { for (int i = -k; i <= k; i++) y[i + k] = i; }
// ufunc: (n)->((n+1)//2)
void every(const double *x, int n, double *y) { for (int i = 0; i < n; i += 2) y[i / 2] = x[i]; }
"""
    b = compile_in(shared_cache_folder, source)
    calls: dict[str, tuple[Any, ...]] = {"grid": (2, 0.5, 3), "window": (3,), "every": ([1.0, 2, 3],)}
    for form in b.report_data.functions:
        names = forms.make_namespace("verify")
        exec(form.checked, names)
        assert names[form.python_name](*calls[form.name]) == b[form.name](*calls[form.name]).tolist()  # type: ignore[operator]
        assert form.timed


def test_optional_core_dimensions(c: Any) -> None:
    a, b, v = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.arange(3.0)
    for left, right in [(a, b), (v, b), (a, v), (v, v), (np.stack([a, a]), b), (np.stack([v, v])[:, None], b)]:
        assert np.array_equal(c.product(left, right), np.matmul(left, right))
    assert np.array_equal(c.product([[1, 2], [3, 4]], [5, 6]), [17, 39])
    assert np.array_equal(c.product(a.T[:, ::-1], a[:, ::-1]), a.T[:, ::-1] @ a[:, ::-1])
    assert c.product.signature == "(m?,n),(n,p?)->(m?,p?)"


def test_core_dimensions_that_may_be_1(c: Any) -> None:
    assert c.scaled([2], [1, 2, 3]).tolist() == [2, 4, 6]
    assert c.scaled(np.ones((4, 1)), [1, 2, 3]).shape == (4, 3)
    assert c.scaled([1, 2, 3], [1, 2, 3]).tolist() == [1, 4, 9]
    assert np.array_equal(c.scaled(np.ones((1, 2)), np.ones((3, 2), int), axis=0), np.ones((3, 2)))
    assert np.array_equal(c.scaled(np.ones((1, 2)), np.ones((2, 3), int), axes=[0, 1, 1]), np.ones((2, 3)))
    with pytest.raises(ValueError, match="mismatch"):
        c.scaled([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="mismatch"):
        c.scaled([1, 2, 3], [1])
    assert "(n|1),(n)->(n)" in c.scaled.__doc__


@pytest.mark.parametrize("signature", ["(n)->(n+k)", "(n+1)->(n)", "(n)->(n/2)", "(n)->(n//n)", "(n)->(n+)"])
def test_what_cannot_be_computed_is_refused(signature: str) -> None:
    with pytest.raises(um.SignatureError, match="has the core dimension"):
        um.compile_c(f"// ufunc: {signature}\nvoid f(const double *x, int n, double *y) {{ y[0] = x[0]; }}")
