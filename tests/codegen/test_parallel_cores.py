"""Generalized ufuncs on several threads: the outer dimension is shared, and every bit is that of one thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

CELL = """
#include <assert.h>
#include <math.h>
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += exp(a[i]) * b[i];
    return s;
}
// ufunc: (n)->(n)
void running(const double *a, double *out, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) out[i] = s += sqrt(a[i]);
}
// ufunc: (n)->()
long quotients(const long *a, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += 100 / a[i];
    return s;
}
// ufunc: (n)->()
double positive(const double *a, int n) { for (int i = 0; i < n; i++) assert(a[i] > 0); return a[0]; }
// ufunc: (n)->()
long thread(const double *a, int n) { THREAD }
"""
#: The address of a variable of the thread.
THREAD = "static _Thread_local char mark; return (long)&mark;"


@pytest.fixture(scope="module")
def both(shared_cache_folder: Path) -> tuple[Build, Build]:
    source = CELL.replace("THREAD", THREAD)
    return tuple(compile_in(shared_cache_folder, source, parallel=threads) for threads in (2, 0))  # type: ignore[return-value]


A = np.random.default_rng(1).uniform(0.1, 1, (600, 40))


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.dot(A, A[::-1]),
        lambda c: c.dot(A, A[0]),
        lambda c: c.dot(A.T, A.T[::-1]),
        lambda c: c.dot(A[::-2, ::3], 2.5 * np.ones(14)),
        lambda c: c.running(A),
        lambda c: c.running(A.astype("f4")),
        lambda c: c.running(A.copy(), out=np.empty_like(A)[:, ::-1]),
        lambda c: c.running(A.reshape(20, 30, 40), axis=0),
    ],
)
def test_bits_are_those_of_one_thread(both: tuple[Build, Build], call: Any) -> None:
    several, one = map(call, both)
    np.testing.assert_array_equal(several, one)


def test_an_output_that_is_an_input_is_computed_in_order(both: tuple[Build, Build]) -> None:
    for c in both:
        x = A.copy()
        c.running(x, out=x)
        np.testing.assert_array_equal(x, both[1].running(A))


def test_the_first_item_that_fails_is_told(both: tuple[Build, Build]) -> None:
    numbers = np.ones((1000, 50), int)
    numbers[[700, 900], 3] = 0
    with pytest.raises(um.CellCrashed, match=r"by zero.*at index 700\."):
        both[0].quotients(numbers)
    x = np.ones((1000, 50))
    x[[400, 300]] = -1
    with pytest.raises(AssertionError, match=r"at index 300, on line"):
        both[0].positive(x)
    assert both[0].quotients(numbers[:700]).tolist() == [5000] * 700


def test_flags_reach_the_caller(both: tuple[Build, Build]) -> None:
    bad = A.copy()
    bad[599, 7] = -1
    with np.errstate(invalid="raise"):
        with pytest.raises(FloatingPointError, match="invalid"):
            both[0].running(bad)
        both[0].running(A)


def test_several_threads_compute(both: tuple[Build, Build]) -> None:
    """Work goes to whichever thread takes it, so that one may take all: it is asked until two have."""
    seen: set[int] = set()
    for _ in range(10_000):
        seen |= set(both[0].thread(np.ones((2_000, 100))).tolist())
        if len(seen) > 1:
            break
    assert len(seen) == 2
    assert len(set(both[1].thread(np.ones((2_000, 100))).tolist())) == 1


def test_calls_from_other_threads_meet(both: tuple[Build, Build]) -> None:
    expected, results = both[1].running(A), []

    def run() -> None:
        results.extend(np.array_equal(both[0].running(A), expected) for _ in range(20))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80
