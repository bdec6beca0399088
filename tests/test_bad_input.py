"""What is wrong around a cell is said in words: variables, options, names, text."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import ufunc_magic as um

CELL = "double f(double x) {{ return x + {0}; }}"


@pytest.mark.parametrize(
    ("variable", "value", "fault"),
    [
        ("CC", 'gcc "', "cannot be split into words: no closing quotation"),
        ("CFLAGS", '-O2 "', "cannot be split into words: no closing quotation"),
        ("CC", "true", "succeeded, but wrote no"),
        ("CC", "gcc -fsyntax-only", "succeeded, but wrote no"),
    ],
)
def test_a_variable_that_names_no_compiler(
    variable: str, value: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(um.ToolchainError, match=fault):
        um.compile_c(CELL.format(1))


def test_an_option_that_makes_no_library() -> None:
    with pytest.raises(um.OptionError, match="compile_args: -fsyntax-only stops the compiler"):
        um.compile_c(CELL.format(2), compile_args=["-fsyntax-only"])


def test_half_a_character() -> None:
    with pytest.raises(um.ParseError, match=r"<c>:2: '\\udc80' is half of a surrogate pair"):
        um.compile_c(CELL.format(3) + "\n// \udc80")


@pytest.mark.parametrize("name", ["numpy", "sys", "json"])
def test_a_cell_takes_no_other_modules_place(name: str) -> None:
    before = sys.modules.get(name)
    with pytest.raises(um.OptionError, match=f"name='{name}' is the name of an imported module"):
        um.compile_cython("def double(int x):\n    return 2 * x\n", name=name)
    assert sys.modules.get(name) is before


def test_a_name_may_be_used_again() -> None:
    for n in range(2):
        assert um.compile_cython(f"def more(int x):\n    return x + {n}\n", name="named_twice")["more"](1) == 1 + n


@pytest.mark.skipif(np.dtype("l").itemsize != 8, reason="long and long long differ here")
def test_long_beside_long_long_is_one_type() -> None:
    f = um.c_ufunc("long long f(long a, long b) { return a + b; }")
    assert f.types == ["ll->l"]
    assert f.reduce(np.arange(5)) == 10
    assert um.c_ufunc("long long g(long long a) { return a; }").types == ["q->q"]
