"""What is wrong around a cell is said in words: variables, options, names, text."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

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
    with pytest.raises(um.OptionError, match="compile_args: -fsyntax-only"):
        um.compile_c(CELL.format(2), compile_args=["-fsyntax-only"])


def test_half_a_character() -> None:
    with pytest.raises(um.ParseError, match=r"<c>:2: '\\udc80' .*surrogate"):
        um.compile_c(CELL.format(3) + "\n// \udc80")


@pytest.mark.parametrize("compiled", [um.compile_c, um.compile_cython], ids=["C", "Cython"])
def test_names_are_found_however_their_letters_were_typed(compiled: Callable[[str], um.Build]) -> None:
    """macOS writes an umlaut as two characters; Python looks names up with one."""
    cython = compiled is um.compile_cython
    text = "def größe(double x):\n    return 2 * x\n" if cython else "double größe(double x) { return 2 * x; }\n"
    typed = unicodedata.normalize("NFD", text)
    assert typed != text
    build = compiled(typed)
    assert list(build) == ["größe"]
    assert build.größe(1.5) == 3


def test_strings_keep_their_letters() -> None:
    accent = unicodedata.normalize("NFD", "é")
    build = um.compile_c(f'int größe(int k) {{ return k + (int)sizeof "{accent}"; }}')
    assert build.größe(0) == len(accent.encode()) + 1


@pytest.mark.skipif(os.name != "posix", reason="the compilers are scripts")
@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("printf '\\033[31m\\001bad\\n' >&2; exit 3", r"does not work: \[31mbad\n"),
        ("kill -9 $$", r"does not work: killed by signal 9\n"),
        ("exit 3", r"does not work: exit status 3\n"),
        ("yes nonsense | head -c 100000000 >&2; exit 1", r"does not work: n"),
    ],
    ids=["control characters", "killed", "silent", "100 MB"],
)
def test_a_compiler_that_is_none(script: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "cc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    with pytest.raises(um.ToolchainError, match=fault):
        um.compile_c(CELL.format(4))


@pytest.mark.parametrize("name", ["numpy", "sys", "json"])
def test_a_cell_takes_no_other_modules_place(name: str) -> None:
    before = sys.modules.get(name)
    with pytest.raises(um.OptionError, match=f"name='{name}'"):
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
