"""Core dimensions of outputs that are computed of those of the inputs: ``(n),(m)->(n+m-1)``."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

CELL = """
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
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Any) -> Any:
    return compile_in(shared_cache_folder, CELL)


def test_output_has_the_computed_size(c: Any) -> None:
    x, y = np.arange(5.0), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(c.convolve(x, y), np.convolve(x, y))
    assert c.convolve(np.ones((4, 5)), y).shape == (4, 7)
    assert c.differences([1, 4, 9, 16]).tolist() == [3, 5, 7]
    assert c.table(np.ones((2, 4))).shape == (2, 8, 3)
    assert c.every_second(x).tolist() == [0, 2]
    assert (c.convolve.signature, c.table.signature) == ("(n),(m)->(n_plus_m_minus_1)", "(n)->(_2_times_n,3)")


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


@pytest.mark.parametrize("signature", ["(n)->(n+k)", "(n+1)->(n)", "(n)->(n/2)", "(n)->(n//n)", "(n)->(n+)"])
def test_what_cannot_be_computed_is_refused(signature: str) -> None:
    with pytest.raises(um.SignatureError, match="has the core dimension"):
        um.compile_c(f"// ufunc: {signature}\nvoid f(const double *x, int n, double *y) {{ y[0] = x[0]; }}")
