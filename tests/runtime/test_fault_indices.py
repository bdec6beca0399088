"""A fault names the index of its element in the caller's arrays, and the values, on every road to a loop."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="no containment on Windows"),
    pytest.mark.filterwarnings("ignore:'where' used without 'out'"),
]

#: Assertions, because arm64 divides by zero without a trap.
SOURCE = """\
#include <assert.h>
int mod(int a, int b) { assert(b); return a % (b ? b : 1); }
int meet(int a, int b) { assert(a != b); return a + b; }
// ufunc: (n)->()
double total(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    assert(s < 1000);
    return s;
}
"""

ROW = np.array([7, 8, 0, 3, 0], "i4")
TABLE = np.arange(1, 13, dtype="i4").reshape(3, 4)
TABLE[1, 2] = TABLE[2, 2] = 0
LONG = np.ones(100_000, "i4")
LONG[70_000:] = 0
CUBE = np.ones((4, 5, 6), "i4")
CUBE[2, 3, 4] = 0
ROWS = np.arange(24.0).reshape(2, 3, 4)
ROWS[1, 1, 2] = 5000

REDUCE = [
    (lambda b: b.mod.reduce(ROW), "mod(7, 0)", "2"),
    (lambda b: b.mod.reduce([7, 8, 0]), "mod(7, 0)", "2"),
    (lambda b: b.mod.reduce(TABLE), "mod(3, 0)", "(1, 2)"),
    (lambda b: b.mod.reduce(TABLE, axis=1), "mod(5, 0)", "(1, 2)"),
    (lambda b: b.mod.reduce(TABLE, -1), "mod(5, 0)", "(1, 2)"),
    (lambda b: b.mod.reduce(TABLE.T), "mod(5, 0)", "(2, 1)"),
    (lambda b: b.mod.reduce(LONG), "mod(0, 0)", "70000"),
    (lambda b: b.mod.reduce(LONG.astype("i2"), dtype="i4"), "mod(0, 0)", "70000"),
    (lambda b: b.mod.reduce(array=CUBE, axis=2), "mod(0, 0)", "(2, 3, 4)"),
    (lambda b: b.mod.reduce(ROW[::2], initial=9), "mod(2, 0)", "1"),
    (lambda b: b.mod.reduce(ROW, initial=99, where=ROW != 8), "mod(1, 0)", "2"),
    (lambda b: b.meet.reduce([1, 2, 1, 4, 2]), "meet(4, 4)", "3"),
    (lambda b: b.meet.reduce(np.array([[1, 2, 2], [3, 4, 6]]), axis=1), "", ""),
    (lambda b: b.meet.reduce(np.array([[1, 2, 2], [3, 3, 6]]), axis=1), "meet(3, 3)", "(1, 1)"),
]

ACCUMULATE = [
    (lambda b: b.mod.accumulate(ROW), "mod(7, 0)", "2"),
    (lambda b: b.mod.accumulate([7, 0, 3]), "mod(7, 0)", "1"),
    (lambda b: b.mod.accumulate(TABLE, 1), "mod(5, 0)", "(1, 2)"),
    (lambda b: b.mod.accumulate(TABLE), "mod(3, 0)", "(1, 2)"),
    (lambda b: b.mod.accumulate(TABLE.T, axis=0), "mod(5, 0)", "(2, 1)"),
    (lambda b: b.mod.accumulate(np.asfortranarray(TABLE), axis=-1), "mod(5, 0)", "(1, 2)"),
    (lambda b: b.mod.accumulate(LONG), "mod(0, 0)", "70000"),
    (lambda b: b.mod.accumulate(LONG.astype("u1"), dtype="i4"), "mod(0, 0)", "70000"),
    (lambda b: b.mod.accumulate(CUBE, 1), "mod(0, 0)", "(2, 3, 4)"),
    (lambda b: b.meet.accumulate([1, 2, 1, 4, 2]), "meet(4, 4)", "3"),
    (lambda b: b.meet.accumulate([[1, 2, 2], [3, 3, 6]], axis=1), "meet(3, 3)", "(1, 1)"),
]

OUTER = [
    (lambda b: b.mod.outer(ROW, ROW), "mod(7, 0)", "(0, 2)"),
    (lambda b: b.mod.outer([7, 8], [1, 0, 2]), "mod(7, 0)", "(0, 1)"),
    (lambda b: b.mod.outer(5, ROW), "mod(5, 0)", "2"),
    (lambda b: b.mod.outer(ROW, 0), "mod(7, 0)", "0"),
    (lambda b: b.mod.outer(ROW, TABLE), "mod(7, 0)", "(0, 1, 2)"),
    (lambda b: b.mod.outer(TABLE, ROW[1:]), "mod(1, 0)", "(0, 0, 1)"),
    (lambda b: b.meet.outer(ROW[:2], [8, 1]), "meet(8, 8)", "(1, 0)"),
    (lambda b: b.meet.outer(np.arange(300), np.arange(299, 1000)), "meet(299, 299)", "(299, 0)"),
    (lambda b: b.meet.outer(np.arange(3), np.arange(2, 5), dtype="i4"), "meet(2, 2)", "(2, 0)"),
    (lambda b: b.mod.outer(ROW.astype("i2"), ROW.astype("i8"), casting="unsafe", dtype="i4"), "mod(7, 0)", "(0, 2)"),
]

AT = [
    (lambda b: b.mod.at(np.array([7, 8, 9], "i4"), [0, 2], [1, 0]), "mod(9, 0)", "1"),
    (lambda b: b.mod.at(ROW.copy(), np.arange(5), ROW), "mod(0, 0)", "2"),
    (lambda b: b.mod.at(ROW.copy(), [4, 3, 1], [2, 0, 0]), "mod(3, 0)", "1"),
    (lambda b: b.mod.at(ROW.copy(), 1, 0), "mod(8, 0)", ""),
    (lambda b: b.mod.at(ROW.copy(), [3, 1], 0), "mod(3, 0)", "0"),
    (lambda b: b.mod.at(ROW.copy(), slice(0, 4), [1, 1, 1, 0]), "mod(3, 0)", ""),  # slice() is a call
    (lambda b: b.mod.at(TABLE.copy(), ([0, 1], [1, 3]), [5, 0]), "mod(8, 0)", "1"),
    (lambda b: b.meet.at(ROW.copy(), [0, 0, 1], [1, 2, 8]), "meet(8, 8)", "2"),
    (lambda b: b.meet.at(ROW.copy(), [0, 0, 0], [1, 2, 10]), "meet(10, 10)", ""),  # the copy has changed
    (lambda b: b.mod.at(np.ones(300, "i4"), np.arange(299, -1, -1), LONG[69_800:70_100]), "mod(1, 0)", "200"),
]

WHERE = [
    (lambda b: b.mod(5, ROW, where=[True] * 5), "mod(5, 0)", "2"),
    (lambda b: b.mod(5, ROW, where=np.arange(5) > 2), "mod(5, 0)", "4"),
    (lambda b: b.mod(5, TABLE, where=[[True], [False], [True]]), "mod(5, 0)", "(2, 2)"),
    (lambda b: b.mod(TABLE, TABLE, where=TABLE < 9), "mod(0, 0)", "(1, 2)"),
    (lambda b: b.mod(ROW, ROW[::-1], where=ROW != 0), "mod(7, 0)", "0"),
    (lambda b: b.mod(1, LONG, where=np.arange(100_000) % 3 == 0), "mod(1, 0)", "70002"),
    (lambda b: b.mod(1, LONG[::-1], where=np.arange(100_000) > 20_000), "mod(1, 0)", "20001"),
    (lambda b: b.mod(1, LONG.astype("i8"), where=np.arange(100_000) > 90_000), "mod(1, 0)", "90001"),
    (lambda b: b.mod(1, CUBE.T, where=CUBE.T < 5), "mod(1, 0)", "(4, 3, 2)"),
    (lambda b: b.mod(1, ROW, out=np.zeros((2, 5), "i4"), where=[[False], [True]]), "mod(1, 0)", "(1, 2)"),
]

CASTS = [
    (lambda b: b.mod(LONG, LONG.astype("i2")), "mod(0, 0)", "70000"),
    (lambda b: b.mod(LONG.astype("i8"), LONG.astype("u1")), "mod(0, 0)", "70000"),
    (lambda b: b.mod(1.0 * LONG, 1.0 * LONG, casting="unsafe", dtype="i4"), "mod(0, 0)", "70000"),
    (lambda b: b.mod(LONG.astype(">i4"), LONG), "mod(0, 0)", "70000"),
    (lambda b: b.mod(5, LONG.astype(bool)), "mod(5, 0)", "70000"),
    (lambda b: b.mod(LONG[::-2], LONG[::-2].astype("i8")), "mod(0, 0)", "0"),
    (lambda b: b.mod(3, CUBE.astype("i8")), "mod(3, 0)", "(2, 3, 4)"),
    (lambda b: b.mod(3, np.asfortranarray(CUBE).astype("i1")), "mod(3, 0)", "(2, 3, 4)"),
    (lambda b: b.mod([9, 8], [True, False]), "mod(8, 0)", "1"),
    (lambda b: b.mod(LONG, LONG, out=np.zeros(100_000, "i8")), "mod(0, 0)", "70000"),
    (lambda b: b.total(ROWS.astype("f4")), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
]

ITEMS = [
    (lambda b: b.total(ROWS), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS[1]), "total([  16.,   17., 5000.,   19.])", "1"),
    (lambda b: b.total(ROWS[1, 1]), "total([  16.,   17., 5000.,   19.])", ""),
    (lambda b: b.total(np.moveaxis(ROWS, -1, 0), axis=0), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS[:, ::-1]), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS[:, :, 1:]), "total([  17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS[:, :, ::2]), "total([  16., 5000.])", "(1, 1)"),
    (lambda b: b.total(ROWS.transpose(1, 0, 2)), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(np.asfortranarray(ROWS)), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS, keepdims=True), "total([  16.,   17., 5000.,   19.])", "(1, 1)"),
    (lambda b: b.total(ROWS[..., 2:3]), "total([5000.])", "(1, 1)"),
]

EVERY = [*REDUCE, *ACCUMULATE, *OUTER, *AT, *WHERE, *CASTS, *ITEMS]


def check(build: Build, case: Any) -> None:
    call, values, index = case
    if not values:
        call(build)
        return
    with pytest.raises(um.UfuncMagicError) as caught:
        call(build)
    text = str(caught.value)
    assert values in text
    assert text.partition(", at index ")[2].partition(", on line")[0].partition(".\nYour session")[0] == index


@pytest.fixture(scope="module", params=["here", "on threads", "in a sandbox"])
def build(request: pytest.FixtureRequest, shared_cache_folder: Path) -> Build:
    options: dict[str, Any] = {"on threads": {"parallel": 3}, "in a sandbox": {"sandbox": True}}.get(request.param, {})
    if options.get("sandbox") and not hasattr(os, "memfd_create"):
        pytest.skip("the sandbox needs files in memory")
    return compile_in(shared_cache_folder, SOURCE, guard=False, **options)


@pytest.mark.parametrize("case", EVERY)
def test_a_fault_names_its_index_and_its_values(build: Build, case: Any) -> None:
    check(build, case)


def test_operands_that_would_have_effects_are_not_evaluated_again(shared_cache_folder: Path) -> None:
    build = compile_in(shared_cache_folder, SOURCE, guard=False)
    calls = []

    def take() -> Any:
        calls.append(1)
        return ROW

    class Mine:
        def __add__(self, other: object) -> Any:
            return take()

        def __getitem__(self, index: object) -> Any:
            return take()

    mine = Mine()
    for call in (
        lambda: build.mod.reduce(take()),
        lambda: build.mod.reduce(mine + 1),
        lambda: build.mod.reduce(mine[0]),
    ):
        calls.clear()
        with pytest.raises(AssertionError) as caught:
            call()
        assert calls == [1]
        assert "mod(7, 0)" in str(caught.value)
        assert "at index" not in str(caught.value)


@pytest.mark.skipif(platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero without a trap")
def test_a_trap_in_a_method_names_its_index(shared_cache_folder: Path) -> None:
    div = compile_in(shared_cache_folder, "int div(int a, int b) { return a / b; }", guard=False).div
    reduce = div.reduce
    with pytest.raises(um.CellCrashed, match=r"div\(0, 0\) divided by zero, at index 3\."):
        reduce(np.array([7, 8, 5, 0], "i4"))
