"""Calls of floats, which go past NumPy's arrays, give what NumPy gives."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

CELL = """
#include <math.h>
double mul(double a, double b) { return a * b; }
double quotient(double a, double b) { return a / b; }
double madd(double a, double b, double c) { return a * b + c; }
float narrow(float a, float b) { return a * b; }
int whole(int a, int b) { return a + b; }
double mixed(double a, int b) { return a * b; }
void both(double a, double b, double *s, double *d) { *s = a + b; *d = a - b; }
double negative(double a) { return -a; }
double root(double a) { return sqrt(a); }
double five(double a, double b, double c, double d, double e) { return a + b + c + d + e; }
double null(double a, double b) { if (a > 3) *(volatile double *)0 = b; return a; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CELL, guard=False)


@pytest.mark.parametrize("name", ["mul", "quotient", "narrow", "whole", "mixed", "both"])
@pytest.mark.parametrize(
    "arguments",
    [
        (2.5, 4.0),
        (np.float64(2.5), 4.0),
        (2, 4),
        (True, 2.0),
        (np.float32(2.5), 4.0),
        (2.5, np.array(4.0)),
        (2.5, [4.0]),
    ],
)
def test_numbers_give_what_arrays_give(c: Build, name: str, arguments: tuple[Any, ...]) -> None:
    def call(*args: Any) -> Any:
        try:
            return c[name](*args)
        except TypeError as error:
            return str(error)

    few, by_keyword = call(*arguments), None
    try:
        by_keyword = c[name](*arguments, where=True)  # which NumPy handles alone
    except TypeError as error:
        by_keyword = str(error)
    assert repr(few) == repr(by_keyword)
    assert type(few) is type(by_keyword)


def test_the_other_numbers_of_inputs(c: Build) -> None:
    assert (c.madd(2.0, 3.0, 1.0), c.five(1.0, 2.0, 3.0, 4.0, 5.0)) == (7.0, 15.0)
    assert type(c.madd(2.0, 3.0, 1.0)) is np.float64
    for number in (2.5, np.float64(2.5), 2, True, np.float32(2.5), [2.5], np.array(2.5)):
        assert repr(c.negative(number)) == repr(c.negative(number, where=True))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in root"):
        assert np.isnan(c.root(-1.0))
    assert pickle.loads(pickle.dumps(c.mul))(2.0, 4.0) == 8.0
    with pytest.raises(TypeError, match="positional argument"):
        c.mul(2.0)


def test_flags_are_numpys(c: Build) -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in quotient"):
        assert c.quotient(1.0, 0.0) == np.inf
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="invalid value encountered in quotient"):
            c.quotient(0.0, 0.0)
        with pytest.raises(FloatingPointError, match="overflow encountered in mul"):
            c.mul(1e200, 1e200)
        assert c.mul(np.nan, 1.0) != c.mul(np.nan, 1.0)
    seen: list[str] = []
    with np.errstate(divide="call"), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = np.seterrcall(lambda kind, flag: seen.append(kind))
        c.quotient(1.0, 0.0)
        np.seterrcall(before)
    assert seen == ["divide by zero"]


def test_faults_are_exceptions(c: Build) -> None:
    with pytest.raises(um.CellCrashed, match=r"^null\(5\.0, 2\.0\) followed a null pointer[^,]*$"):
        c.null(5.0, 2.0)
    assert c.null(1.0, 2.0) == 1.0


def test_several_loops_are_chosen_as_for_arrays(shared_cache_folder: Path) -> None:
    source = "T scale(T a, T b) { return a * b; }"
    for types in ("f4,f8", "f8,f4", "i4,f8", "f8,c16", "f4"):
        scale: Callable[..., Any] = compile_in(shared_cache_folder, source, types=types).scale
        few, many = scale(0.1, 3.0), scale(0.1, 3.0, where=True)
        assert (type(few), few) == (type(many), many), types
