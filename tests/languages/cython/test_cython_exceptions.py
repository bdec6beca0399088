"""Exceptions out of Cython ufuncs: the first failing element's, as itself, with the outputs before it kept."""

from __future__ import annotations

import gc
import importlib.util
import sys
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic import compilers
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

MILLION = 1_000_000


RAISING = """
cimport cython
from libc.math cimport sqrt


class Refused(Exception):
    def __init__(self, value, why):
        super().__init__(value, why)
        self.value = value


cdef double minus_one(double x) except -1:
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cdef double maybe_minus_one(double x) except? -1:
    if x < 0:
        raise ValueError("negative", x)
    return x - 1


cdef double star(double x) except *:
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cdef double plain(double x):
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cpdef double callable_too(double x):
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


def typed_def(double x):
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cdef double without_gil(double x) except? -1 nogil:
    if x < 0:
        with gil:
            raise ValueError("negative", x)
    return x + 1


@cython.ufunc
cdef double decorated(double x):
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cdef (double, double) two_results(double x):
    if x < 0:
        raise ValueError("negative", x)
    return x + 1, x + 2


cdef double own_class(double x):
    if x < 0:
        raise Refused(x, "because")
    return x + 1


cdef double inverse(double x):
    return 1 / x


@cython.cdivision(True)
cdef double c_inverse(double x):
    return 1 / x


cdef int narrowed(double x):
    return int(x) * 1


cdef int remainder(int a, int b):
    return a % b


cdef double added(double a, double b) except? -1:
    if b < 0:
        raise ValueError("negative", b)
    return a + b


cpdef double swallowed_in_cpdef(double x, double y=1) noexcept:
    return y / x


cdef double swallowed(double x) noexcept:
    if x < 0:
        raise ValueError("negative", x)
    return x + 1


cdef double chained(double x):
    try:
        return inverse(x)
    except ZeroDivisionError as cause:
        raise LookupError("no inverse", x) from cause


cdef long many_objects(double x) except -1:
    if x < 0:
        raise ValueError([x] * 100)
    return len([object() for _ in range(3)])


# ufunc: (n)->()
cdef double first(double[:] v) except? -1:
    if v[0] < 0:
        raise ValueError("negative", v[0])
    return v[0]
"""

#: Functions x -> x + 1 that raise ValueError("negative", x).
RAISERS = ("minus_one", "star", "plain", "callable_too", "typed_def", "without_gil", "decorated")


@pytest.fixture(scope="module")
def raising(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, RAISING, language="cython")


def negative_in(call: Callable[[], object]) -> tuple[Any, ...]:
    """The arguments of the ValueError that ``call`` raises."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert type(caught.value) is ValueError
    return caught.value.args


@pytest.mark.slow
@pytest.mark.parametrize("name", RAISERS)
def test_exception_of_the_first_failing_element_reaches_the_caller(raising: Build, name: str) -> None:
    f = raising[name]
    assert f(1.0) == 2
    assert negative_in(lambda: f(-3.0)) == ("negative", -3.0)
    x = np.ones(MILLION)
    np.testing.assert_array_equal(f(x), 2.0)
    x[[400_000, 700_000]] = -4, -7
    assert negative_in(lambda: f(x)) == ("negative", -4.0)
    x[0] = -5
    assert negative_in(lambda: f(x)) == ("negative", -5.0)
    x[:-1], x[-1] = 1, -6
    assert negative_in(lambda: f(x)) == ("negative", -6.0)


@pytest.mark.parametrize("name", RAISERS)
def test_exception_comes_out_of_strided_planes(raising: Build, name: str) -> None:
    f = raising[name]
    plane = np.ones((1000, 600))
    plane[700, 301], plane[400, 150] = -7, -4
    assert negative_in(lambda: f(plane)) == ("negative", -4.0)
    assert negative_in(lambda: f(plane[::10, ::150])) == ("negative", -4.0)
    np.testing.assert_array_equal(f(plane[1::2, ::3]), 2.0)
    # NumPy walks a transposed array in memory order, ours follows.
    assert negative_in(lambda: f(plane.T)) == ("negative", -4.0)


@pytest.mark.parametrize("name", RAISERS)
def test_outputs_before_the_failing_element_are_kept(raising: Build, name: str) -> None:
    x = np.ones(5000)
    x[3000] = -1
    out = np.full(5000, 9.0)
    assert negative_in(lambda: raising[name](x, out=out)) == ("negative", -1.0)
    np.testing.assert_array_equal(out[:3000], 2.0)
    # A function that needs no Python may have gone on: then with the right results.
    assert set(out[3001:]) <= {9.0, 2.0}


def test_outputs_before_the_failing_element_are_kept_in_strided_arrays(raising: Build) -> None:
    x, out = np.ones(10_000)[::2], np.full(10_000, 9.0)
    x[3000] = -1
    assert negative_in(lambda: raising.plain(x, out=out[::2])) == ("negative", -1.0)
    np.testing.assert_array_equal(out[:6000:2], 2.0)
    np.testing.assert_array_equal(out[1::2], 9.0)


def test_value_that_marks_errors_is_a_result_like_any_other(raising: Build) -> None:
    np.testing.assert_array_equal(raising.maybe_minus_one(np.zeros(1000)), -1.0)
    assert negative_in(lambda: raising.maybe_minus_one([0.0, -2.0])) == ("negative", -2.0)


def test_masked_elements_raise_nothing(raising: Build) -> None:
    x = np.array([1.0, -1.0, 3.0])
    out = np.zeros(3)
    raising.plain(x, out=out, where=x > 0)
    assert out.tolist() == [2, 0, 4]
    assert negative_in(lambda: raising.plain(x, out=out, where=[False, True, False])) == ("negative", -1.0)


def test_both_outputs_of_a_raising_function_are_kept(raising: Build) -> None:
    x, a, b = np.array([1.0, 2.0, -1.0, 4.0]), np.zeros(4), np.zeros(4)
    assert negative_in(lambda: raising.two_results(x, out=(a, b))) == ("negative", -1.0)
    assert (a[:2].tolist(), b[:2].tolist()) == ([2, 3], [3, 4])
    assert (a[3], b[3]) in ((0, 0), (5, 6))


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [0, 2])
def test_nothing_that_python_sees_happens_after_the_exception(parallel: int) -> None:
    source = """
calls = []


cdef double noted(double x):
    if x < 0:
        raise ValueError("negative", x)
    calls.append(x)
    return x + 1
"""
    built = um.compile_cython(source, parallel=parallel)
    x = np.ones(100_000)
    x[70] = -1
    assert negative_in(lambda: built.noted(x)) == ("negative", -1.0)
    assert len(built.calls) == 70


def test_reduce_accumulate_at_and_outer_raise_too(raising: Build) -> None:
    f, x = raising.added, np.ones(100_000)
    assert f.reduce(x) == 100_000
    x[60_000], x[80_000] = -6, -8
    assert negative_in(lambda: f.reduce(x)) == ("negative", -6.0)
    assert negative_in(lambda: f.accumulate(x)) == ("negative", -6.0)
    assert negative_in(lambda: f.outer([1.0], x)) == ("negative", -6.0)
    assert negative_in(lambda: f.at(x.copy(), [1], -2.0)) == ("negative", -2.0)
    assert negative_in(lambda: f.reduce(np.ones((300, 300)) * -1, axis=1)) == ("negative", -1.0)


@pytest.mark.parametrize(
    ("call", "kind", "args"),
    [
        (lambda b, x: b.inverse(x * 0), ZeroDivisionError, ("float division",)),
        (lambda b, x: b.narrowed(x * 1e30), OverflowError, None),
        (lambda b, x: b.narrowed(x * np.nan), ValueError, ("cannot convert float NaN to integer",)),
        (lambda b, x: b.remainder(7, x.astype("i") * 0), ZeroDivisionError, None),
        (lambda b, x: b.chained(x * 0), LookupError, ("no inverse", 0.0)),
    ],
)
@pytest.mark.parametrize("length", [1, 100_000])
def test_pythons_own_errors_come_as_they_are(
    raising: Build, call: Callable[[Build, Any], object], kind: type[Exception], args: Any, length: int
) -> None:
    with np.errstate(all="ignore"), pytest.raises(kind) as caught:
        call(raising, np.ones(length))
    assert type(caught.value) is kind
    assert args is None or caught.value.args == args


def test_cause_of_an_exception_is_kept(raising: Build) -> None:
    with pytest.raises(LookupError) as caught:
        raising.chained([1.0, 0.0])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_division_by_zero_as_in_c_is_a_warning(raising: Build) -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in c_inverse"):
        result = raising.c_inverse([1.0, 0.0])
    assert result.tolist() == [1, np.inf]


def test_exception_classes_of_the_cell_are_bound_and_raised(raising: Build) -> None:
    with pytest.raises(raising.Refused) as caught:
        raising.own_class([1.0, -2.0])
    assert caught.value.args == (-2.0, "because")
    assert caught.value.value == -2.0


def test_noexcept_tells_of_an_exception_and_goes_on(raising: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    assert raising.swallowed([1.0, -2.0, 3.0]).tolist() == [2, 0, 4]
    assert [type(told.exc_value) for told in seen] == [ValueError]


def test_noexcept_prints_nothing_in_its_trial() -> None:
    assert um.compile_cython("cdef double inverse_or_0(double x) noexcept:\n    return 1 / x").printed == ""


def test_noexcept_names_the_function_as_the_cell_does(raising: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    raising.swallowed_in_cpdef(np.zeros(1), 1)
    assert [told.object.rpartition(".")[2] for told in seen] == ["swallowed_in_cpdef"]


def test_generalized_ufunc_raises_and_keeps_what_it_has(raising: Build) -> None:
    x = np.array([[1.0, 2.0], [-3.0, 4.0], [5.0, 6.0]])
    out = np.full(3, 9.0)
    assert negative_in(lambda: raising.first(x, out=out)) == ("negative", -3.0)
    assert out[0] == 1


@pytest.mark.parametrize("head", ["cdef double plain(double x):", "def typed_def(double x):"])
def test_traceback_names_the_function_and_the_line_of_the_cell(raising: Build, head: str) -> None:
    name = head.partition("(")[0].split()[-1]
    with pytest.raises(ValueError, match="negative") as caught:
        raising[name](np.array([1.0, -1.0]))
    last = caught.traceback[-1]
    assert last.name.rpartition(".")[2] == name
    assert last.lineno + 1 == RAISING.split("\n").index(head) + 3


def test_traceback_goes_through_the_caller_of_a_c_function_that_raises() -> None:
    made = um.compile_cython(
        'cdef extern from *:\n    """\n    static double refuse(double x) { PyGILState_STATE s = PyGILState_Ensure();\n'
        "    PyErr_SetNone(PyExc_KeyError); PyGILState_Release(s); return -1; }\n"
        '    """\n    double refuse(double x) except? -1 nogil\n'
        "cpdef double f(double x) except? -1 nogil:\n    return refuse(x)\n"
    )
    with pytest.raises(KeyError) as caught:
        made.f(np.zeros(2))
    assert caught.traceback[-1].name.endswith(".f")


@pytest.mark.parametrize("name", RAISERS)
def test_four_threads_get_their_own_exceptions(raising: Build, name: str) -> None:
    f = raising[name]

    def calls(number: int) -> list[tuple[Any, ...]]:
        x = np.ones(20_000)
        x[17_000 + number] = -number
        found = []
        for _ in range(20):
            assert f(x[:100])[0] == 2
            found.append(negative_in(lambda: f(x)))
        return found

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(calls, range(1, 5)))
    assert results == [[("negative", -float(n))] * 20 for n in range(1, 5)]


@pytest.mark.slow
def test_thousand_exceptions_leave_nothing_behind(raising: Build) -> None:
    x = np.ones(100)
    x[50] = -1
    argument = np.ones(3)

    def thousand() -> None:
        for _ in range(1000):
            for name in ("many_objects", "own_class", "without_gil", "two_results"):
                try:
                    raising[name](x)
                except (ValueError, raising.Refused):
                    continue
                raise AssertionError(name)

    thousand()
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in (ValueError, raising.Refused, x, argument)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    thousand()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000  # one leaked object per call would be far more
    after = [sys.getrefcount(thing) for thing in (ValueError, raising.Refused, x, argument)]
    assert all(abs(a - b) < 10 for a, b in zip(after, counts, strict=True))


def test_signal_of_no_error_survives_an_exception_that_was_handled_before(raising: Build) -> None:
    try:
        raise KeyError("outer")
    except KeyError:
        assert raising.maybe_minus_one(np.zeros(10)).tolist() == [-1] * 10
        assert negative_in(lambda: raising.plain(-1.0)) == ("negative", -1.0)
        assert isinstance(sys.exc_info()[1], KeyError)


needs_openmp = pytest.mark.skipif(
    not compilers.describe(compilers.find()).openmp, reason="the compiler of this machine has no OpenMP"
)


@pytest.mark.slow
@needs_openmp
def test_threads_of_a_call_raise_the_first_exception_and_do_not_wait_for_each_other(shared_cache_folder: Path) -> None:
    built = compile_in(shared_cache_folder, RAISING, language="cython", parallel=2)
    x = np.ones(MILLION)
    for name in RAISERS:
        np.testing.assert_array_equal(built[name](x), 2.0)
    for first, second in [(10, 900_000), (600_000, 700_000), (0, MILLION - 1)]:
        bad = x.copy()
        bad[first], bad[second] = -1, -2
        for name in RAISERS:
            assert negative_in(lambda name=name, bad=bad: built[name](bad)) == ("negative", -1.0), name

    def call() -> None:
        bad = x.copy()
        bad[-1] = -3
        for name in RAISERS:
            assert negative_in(lambda name=name: built[name](bad)) == ("negative", -3.0)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)


CPLUS = '''
# distutils: language = c++
cdef extern from *:
    """
    #include <stdexcept>
    #include <ios>
    #include <new>
    static double thrown(double x) {
        switch ((int)x) {
            case 1: throw std::runtime_error("runtime");
            case 2: throw std::out_of_range("range");
            case 3: throw std::domain_error("domain");
            case 4: throw std::overflow_error("overflow");
            case 5: throw std::bad_alloc();
            case 6: throw std::ios_base::failure("ios");
            case 7: throw 7;
        }
        return x;
    }
    """
    double thrown(double x) except + nogil
    double thrown_as_value "thrown"(double x) except +ValueError nogil


cdef double translated(double x) except *:
    return thrown(x)


cdef double chosen(double x):
    return thrown_as_value(x)


cdef double inside_nogil(double x) except? -1 nogil:
    return thrown(x)
'''


@pytest.fixture(scope="module")
def throwing(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CPLUS, language="cython")


@pytest.mark.parametrize("name", ["translated", "inside_nogil"])
@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (1, RuntimeError, "runtime"),
        (2, IndexError, "range"),
        (3, ValueError, "domain"),
        (4, OverflowError, "overflow"),
        (5, MemoryError, None),
        (6, OSError, "ios"),
        (7, RuntimeError, "Unknown exception"),
    ],
)
def test_cplus_exceptions_are_translated_as_cython_does(
    throwing: Build, name: str, value: int, kind: type[Exception], message: str | None
) -> None:
    f = throwing[name]
    for length in (1, 100_000):
        x = np.zeros(length)
        x[-1] = value
        with pytest.raises(kind, match=message) as caught:
            f(x)
        assert type(caught.value) is kind
    assert f([0.0, 8.0]).tolist() == [0, 8]


def test_cplus_exception_may_be_given_its_python_class(throwing: Build) -> None:
    with pytest.raises(ValueError, match="runtime"):
        throwing.chosen([0.0, 1.0])
