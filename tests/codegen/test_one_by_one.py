"""Functions without a loop of their own for ``reduce`` and overlap: the driver computes one element after the other."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate

import numpy as np
import pytest

import ufunc_magic as um

GCD = "long gcd(long a, long b) { while (b) { long t = a % b; a = b; b = t; } return a; }"
#: Two outputs, and an input that the function changes.
TWO = """
void split(double x, double *whole, double *rest)
{
    double n = 0;
    while (n + 1 <= x) n++;
    *whole = n; *rest = x - n;
}
// ufunc: inout=x
void halve(double *x) { while (*x > 1) *x /= 2; }
"""


@pytest.fixture
def gcd(shared_cache: None) -> np.ufunc:
    return um.compile_c(GCD).gcd


def test_loop_has_no_sequence_of_its_own_but_a_cheap_fold_has() -> None:
    from ufunc_magic import codegen
    from ufunc_magic.cells import operands
    from ufunc_magic.languages.c.parser import parse_cell
    from ufunc_magic.model import make_options

    texts = {}
    for cell in (GCD, "long add(long a, long b) { return a + b; }"):
        unit, _ = parse_cell(cell, name="cell")
        signatures = operands.plan_operands(unit, options=make_options({}), structures=True)[0]
        texts[cell] = codegen.translate(
            cell,
            unit=unit,
            signatures=signatures,
            exports=codegen.Exports(),
            options=make_options({}),
            name="cell",
        ).text
    assert ["__ufm_sequence_0" in text for text in texts.values()] == [False, True]


def test_reduce_and_accumulate_go_in_order(gcd: np.ufunc) -> None:
    from math import gcd as expected

    values = np.arange(1, 3001) * 12
    assert gcd.reduce(values) == reduce(expected, values.tolist())
    shuffled = np.random.default_rng(1).permutation(values)
    np.testing.assert_array_equal(gcd.accumulate(shuffled), [*accumulate(shuffled.tolist(), expected)])
    np.testing.assert_array_equal(gcd.reduceat(values, [0, 7, 100]), np.gcd.reduceat(values, [0, 7, 100]))


@pytest.mark.parametrize("step", [1, -1, 2])
def test_overlap_is_as_numpys(gcd: np.ufunc, step: int) -> None:
    ours, numpys = np.arange(1, 1001) * 6, np.arange(1, 1001) * 6
    gcd(ours[::step][:-3], 84, out=ours[::step][3:])
    np.gcd(numpys[::step][:-3], 84, out=numpys[::step][3:])
    np.testing.assert_array_equal(ours, numpys)


def test_at_counts_repeated_indices(gcd: np.ufunc) -> None:
    ours, numpys = np.full(5, 720), np.full(5, 720)
    for ufunc, array in ((gcd, ours), (np.gcd, numpys)):
        ufunc.at(array, [1, 1, 3], [48, 30, 7])
    np.testing.assert_array_equal(ours, numpys)


def test_several_outputs_and_inout_in_place(shared_cache: None) -> None:
    build = um.compile_c(TWO)
    x = np.array([0.5, 3.25, 7.0])
    whole, rest = build.split(x, out=(x, None))
    np.testing.assert_array_equal(whole, [0, 3, 7])
    np.testing.assert_array_equal(rest, [0.5, 0.25, 0])
    np.testing.assert_array_equal(build.halve([0.5, 3.0, 64.0]), [0.5, 0.75, 1.0])


def test_exception_ends_a_fold_at_its_element(shared_cache: None) -> None:
    cell = """
#include <stdexcept>
long upto(long a, long b)
{
    while (a < b) { if (a == 40) throw std::out_of_range("forty"); a++; }
    return a;
}
"""
    upto = um.compile_c(cell, cplus=True).upto
    assert upto.reduce([1, 20, 30]) == 30
    out = np.zeros(4, int)
    with pytest.raises(IndexError, match="forty"):
        upto.accumulate([1, 20, 50, 60], out=out)
    assert out.tolist()[:2] == [1, 20]


def test_fault_in_a_fold_names_its_values(shared_cache: None) -> None:
    cell = "int div(int a, int b) { int k = 0; while (k < 3) { a /= b; k++; } return a; }"
    div = um.compile_c(cell).div
    with pytest.raises(um.CellCrashed, match="by zero"):
        div.reduce(np.array([5, 2, 0, 1], np.int32))
    with pytest.raises(um.CellCrashed, match="at index 2"):
        div(np.array([5, 2, 3, 1], np.int32), np.array([1, 2, 0, 1], np.int32))


def test_flags_of_a_fold_are_those_of_its_results(shared_cache: None) -> None:
    cell = "double grow(double a, double b) { for (int k = 0; k < 3; k++) a = a * b; return a; }"
    grow = um.compile_c(cell).grow
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        grow.reduce([1e100, 1e100, 2.0])
    with np.errstate(all="raise"):
        assert grow.reduce([2.0, 2.0, 1.0]) == 16.0
