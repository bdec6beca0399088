"""Functions of arrays that take long: a copy of the process is ended, and a note has the place of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import compile_in
from ufunc_magic.guard import can_copy

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not can_copy(), reason="this system has no fork()")]

#: Each function, and how its table differs: no rows, rows without a Python form, rows at few elements.
CELL = """
def endless(double[:] a):
    cdef long i = 0
    while a[0] < 5:
        i += 1
    return i

cdef long calls = 0

def counting(double[:] a):
    global calls
    calls += 1
    while a[0] < 5:
        calls += 1
    return a[0]

def count():
    return calls

def slow_in_python(double[:] a):
    cdef unsigned long s = 1
    cdef long i
    for i in range(30000000):
        s = s * 1103515245 + 12345
    return s + a.shape[0]

def subsets(double[:] a):
    cdef long i, count = 0
    for i in range(1 << a.shape[0]):
        count += i & 1
    return count

def quick(double[:] a):
    return a[0] + 1
"""


@pytest.fixture(scope="module")
def report(shared_cache_folder: Path) -> tuple[Any, Any]:
    build = compile_in(shared_cache_folder, CELL, language="cython")
    return build, build.report(time=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["endless", "counting"])
def test_a_function_that_does_not_end_has_a_note(name: str, report: tuple[Any, Any]) -> None:
    _, shown = report
    assert not [one for one in shown.comparisons if one.name == name]
    assert any(note.startswith(f"{name} was not timed") and "did not end" in note for note in shown.notes)


def test_other_functions_have_rows(report: tuple[Any, Any]) -> None:
    _, shown = report
    assert all(row.ok for one in shown.comparisons for row in one.rows)
    assert {"quick", "slow_in_python", "subsets"} <= {one.name for one in shown.comparisons}


def test_a_python_form_that_takes_too_long_is_left_out(report: tuple[Any, Any]) -> None:
    _, shown = report
    (table,) = [one for one in shown.comparisons if one.name == "slow_in_python"]
    assert [row.label for row in table.rows] == ["compiled function"]
    assert any("Python form" in note for note in table.notes)


def test_a_call_that_grows_too_fast_stays_at_few_elements(report: tuple[Any, Any]) -> None:
    _, shown = report
    (table,) = [one for one in shown.comparisons if one.name == "subsets"]
    assert max(row.elements for row in table.rows) <= 50


def test_calls_that_were_ended_leave_no_trace(report: tuple[Any, Any]) -> None:
    build, _ = report
    assert build["count"]() == 0
