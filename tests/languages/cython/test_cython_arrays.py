"""Generalized ufuncs from Cython functions of memoryviews."""

from __future__ import annotations

import importlib.util
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]


ARRAYS = """
cimport cython


# ufunc: (n)->()
cdef long csum(long[:] v):
    cdef long total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i]
    return total


# ufunc: (n),(n)->()
cdef double dot(double[::1] a, double[::1] b):
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


# ufunc: (m,n)->(n)
cdef void column_sums(double[:, :] a, double[:] out):
    cdef Py_ssize_t i, j
    for j in range(a.shape[1]):
        out[j] = 0
        for i in range(a.shape[0]):
            out[j] += a[i, j]


# ufunc: (n)->()
cpdef double constant_input(const double[:] v) noexcept nogil:
    return v[0] if v.shape[0] else -1


# ufunc: (n)->(n)
def reversed_(double[:] x, double[:] out):
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]


# ufunc: (n),()->()
cdef double polynomial(double[::1] c, double x) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(c.shape[0] - 1, -1, -1):
        total = total * x + c[i]
    return total


# ufunc: (m,n)->()
cdef double trace(double[:, ::1] a):
    return sum(a[i, i] for i in range(min(a.shape[0], a.shape[1])))


# ufunc: (3),(3)->(3)
cdef void cross(double[:] a, double[:] b, double[:] out) noexcept nogil:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


# ufunc: (n)->()
cdef cython.integral most(cython.integral[:] v):
    cdef cython.integral best = v[0]
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        best = max(best, v[i])
    return best


def no_comment(double[:] v):
    return v[0]


cpdef double total_of(double[:] v):
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i]
    return total
"""


@pytest.fixture(scope="module")
def arrays(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, ARRAYS, language="cython")


@pytest.mark.slow
def test_memoryviews_with_a_comment_make_generalized_ufuncs(arrays: Build) -> None:
    signatures = {name: f.signature for name, f in arrays.items() if isinstance(f, np.ufunc)}
    assert signatures == {
        "csum": "(n)->()",
        "dot": "(n),(n)->()",
        "column_sums": "(m,n)->(n)",
        "constant_input": "(n)->()",
        "reversed_": "(n)->(n)",
        "polynomial": "(n),()->()",
        "trace": "(m,n)->()",
        "cross": "(3),(3)->(3)",
        "most": "(n)->()",
    }
    assert (arrays.csum.types, arrays.dot.types, arrays.most.types) == (["l->l"], ["dd->d"], ["h->h", "i->i", "l->l"])


def test_leading_dimensions_broadcast(arrays: Build) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(arrays.dot(x, x[0, 0]), x @ x[0, 0])
    np.testing.assert_array_equal(arrays.column_sums(x), x.sum(axis=1))
    np.testing.assert_array_equal(arrays.polynomial([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]), [1, 6, 17])
    np.testing.assert_array_equal(
        arrays.csum(np.arange(24).reshape(2, 3, 4), axis=0),
        [[12, 14, 16, 18]] * 1 + [[20, 22, 24, 26], [28, 30, 32, 34]],
    )
    np.testing.assert_array_equal(arrays.cross(np.eye(3), [0.0, 0.0, 1.0]), np.cross(np.eye(3), [0.0, 0.0, 1.0]))


def test_strides_are_followed_or_made_contiguous_but_never_misread(arrays: Build) -> None:
    x = np.random.default_rng(0).random((8, 9, 10))
    for view in (x, x[::2, ::3, ::-1], x.T, x[:, :, ::5], x.transpose(1, 2, 0)):
        np.testing.assert_array_equal(arrays.reversed_(view), view[..., ::-1])
        np.testing.assert_allclose(arrays.dot(view, view), (view * view).sum(-1), rtol=1e-13)
        np.testing.assert_allclose(arrays.column_sums(view), view.sum(-2), rtol=1e-13)
        np.testing.assert_allclose(arrays.trace(view), np.trace(view, axis1=-2, axis2=-1), rtol=1e-13)
    swapped = x.astype(">f8")
    np.testing.assert_allclose(arrays.column_sums(swapped), x.sum(-2), rtol=1e-13)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view("f8").reshape(x.shape)
    np.testing.assert_allclose(arrays.column_sums(unaligned), x.sum(-2), rtol=1e-13)


def test_strided_output_is_written_in_place(arrays: Build) -> None:
    x = np.arange(12.0).reshape(3, 4)
    out = np.zeros((8, 3))
    arrays.reversed_(x, out=out[::2].T)
    np.testing.assert_array_equal(out[::2].T, x[:, ::-1])
    np.testing.assert_array_equal(out[1::2], 0)
    mine = x.copy()
    arrays.reversed_(mine, out=mine)
    np.testing.assert_array_equal(mine, x[:, ::-1])


def test_read_only_inputs_are_taken_and_not_changed(arrays: Build) -> None:
    x = np.arange(6.0).reshape(2, 3)
    x.flags.writeable = False
    assert arrays.constant_input(x).tolist() == [0, 3]
    assert arrays.column_sums(x).tolist() == [3, 5, 7]
    assert arrays.dot(x, x).tolist() == [5, 50]
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))


def test_empty_cores_and_empty_stacks_are_fine(arrays: Build) -> None:
    assert arrays.csum(np.empty((3, 0), int)).tolist() == [0, 0, 0]
    assert arrays.constant_input(np.empty((2, 0))).tolist() == [-1, -1]
    assert arrays.dot(np.empty((0, 4)), np.ones(4)).shape == (0,)
    assert arrays.column_sums(np.empty((0, 3))).tolist() == [0, 0, 0]
    assert arrays.column_sums(np.empty((3, 0))).shape == (0,)


def test_cores_that_do_not_fit_are_refused_by_numpy(arrays: Build) -> None:
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        arrays.dot(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        arrays.cross(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        arrays.csum(3)


def test_many_small_cores_leave_nothing_behind(arrays: Build) -> None:
    x = np.ones((20_000, 3))
    arrays.dot(x, x)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        arrays.dot(x[::-1, ::-1], x)
        arrays.trace(x[:300].reshape(-1, 3, 3))
    assert tracemalloc.get_traced_memory()[0] - before < 50_000
    tracemalloc.stop()


def test_memoryviews_without_a_comment_stay_functions_of_arrays(arrays: Build) -> None:
    assert not isinstance(arrays.no_comment, np.ufunc)
    assert arrays.no_comment(np.arange(3.0) + 5) == 5
    assert arrays.total_of(np.arange(4.0)) == 6
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        arrays.total_of(np.arange(4))


def test_four_threads_share_a_generalized_ufunc(arrays: Build) -> None:
    x = np.random.default_rng(1).random((500, 40))
    expected = (x * x).sum(-1)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: [arrays.dot(x, x), arrays.column_sums(x)], range(40)))
    for dots, sums in results:
        np.testing.assert_allclose(dots, expected, rtol=1e-13)
        np.testing.assert_allclose(sums, x.sum(0), rtol=1e-13)


@pytest.mark.slow
def test_function_that_keeps_its_memoryview_gets_no_memory_of_a_loop() -> None:
    built = um.compile_cython(
        """
import numpy as np
cdef double[:] saved = np.zeros(1)
cdef class Keeper:
    cdef double[:] view
    cdef double keep(self, double[:] a):
        self.view = a
        return a[0]
cdef Keeper keeper = Keeper()
# ufunc: (n)->()
def stored(double[:] a):
    global saved
    saved = a[1:]
    return a[0]
cpdef show():
    return np.asarray(saved).tolist(), saved.base is not None
# ufunc: (n)->()
cpdef double by_method(double[:] a):
    return keeper.keep(a)
# ufunc: (n)->()
cpdef double enclosed(double[:] a):
    global later
    later = through(a)
    return 0
cdef through(double[:] a):
    global saved
    saved = a
    return 1
# ufunc: (n)->()
cpdef double local(double[:] a):
    cdef double[:] b = a[::2]
    return b[0] + same(b)[0]
cdef double[:] same(double[:] a):
    return a
"""
    )
    kinds = {f.name: f.kind for f in built.object_code.functions}
    assert kinds["local"] == "ufunc"
    assert {kinds["stored"], kinds["by_method"], kinds["enclosed"]} == {"python"}
    assert "may keep the array 'a' beyond its call" in " ".join(str(built.report(time=False)).split())
    assert built.stored(np.arange(4.0)) == 0
    assert built.show() == ([1, 2, 3], True)


@pytest.mark.slow
def test_sizes_that_no_input_has_and_optional_dimensions(shared_cache_folder: Path) -> None:
    source = """
# ufunc: (),()->(k)
cdef void line(double a, double b, double[:] y, int k) noexcept nogil:
    cdef int i
    for i in range(k): y[i] = a + b * i
# ufunc: ()->(2*k)
def evens(int k, long[:] y):
    cdef int i
    for i in range(y.shape[0]): y[i] = 2 * i
# ufunc: (m?,n|1),(n)->(m?)
cdef void rows(double[:,:] x, double[:] w, double[:] s) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(x.shape[0]):
        for j in range(x.shape[1]): s[i] += x[i, j] * w[j]
"""
    b = compile_in(shared_cache_folder, source, language="cython")
    assert b.line(0, 1, out=np.empty(3)).tolist() == [0, 1, 2]
    assert b.evens(2).tolist() == [0, 2, 4, 6]
    assert b.rows(np.ones((2, 3)), [1, 2, 3]).tolist() == [6, 6]
    assert b.rows([2], [1, 2, 3]) == 12
