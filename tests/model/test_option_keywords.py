"""Functions that compile show their options to `help`, to editors and to type checkers."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.model import (
    TABLE,
    OptionError,
    OptionKeywords,
    Options,
    list_names,
    make_options,
    option_keywords,
)
from ufunc_magic.pipeline import CompiledBuild

COMPILING = {"c": um.compile_c, "cython": um.compile_cython, "cuda": um.compile_cuda}


#: What type checkers read.
STUB = Path(option_keywords.__file__).with_suffix(".pyi")


def test_type_checkers_know_the_options() -> None:
    kinds = {name: kind.__forward_arg__ for name, kind in OptionKeywords.__annotations__.items()}
    assert list(kinds) == list(vars(Options())) == list(dict.fromkeys(row.dest for row in TABLE))
    listed = "".join(f"    {name}: {kind}\n" for name, kind in kinds.items())
    assert STUB.read_text(encoding="utf-8").endswith(f"class OptionKeywords(TypedDict, total=False):\n{listed}")


@pytest.mark.parametrize("language", COMPILING)
def test_help_has_the_options_of_the_language(language: str) -> None:
    function = COMPILING[language]
    parameters = inspect.signature(function).parameters
    assert list(parameters) == ["source", *list_names(language)]
    assert {name: p.default for name, p in parameters.items() if name != "source"}.items() <= vars(Options()).items()
    document = inspect.getdoc(function) or ""
    helped = {row.dest: row.help for row in TABLE if row.dest in list_names(language)}
    assert [name for name in helped if f"\n{name} : " not in document] == []
    assert document.index("\nReturns\n") < document.index("\nOther Parameters\n") < document.index("\nRaises\n")
    assert ("torch" in parameters) == (language == "cython")


def test_flags_that_set_numbers_are_told_apart() -> None:
    assert "2: Python 2 syntax." in (um.compile_cython.__doc__ or "")
    assert "1: " not in (um.compile_c.__doc__ or "")  # of --parallel


def test_a_report_takes_the_options_that_only_show() -> None:
    parameters = {n: p for n, p in inspect.signature(CompiledBuild.report).parameters.items() if n != "self"}
    kinds = {name: kind.__forward_arg__ for name, kind in OptionKeywords.__annotations__.items()}
    assert {name: p.annotation for name, p in parameters.items()}.items() <= kinds.items()
    defaults = {name: p.default for name, p in parameters.items()}
    assert make_options(defaults) == Options()
    with pytest.raises(OptionError, match="strict"):
        um.compile_c("double f(double x) { return x; }", guard=False).report(strict=True)


def test_a_header_is_bound_with_the_options_of_c_but_those_that_it_names_itself() -> None:
    parameters = inspect.signature(um.wrap_header).parameters
    assert list(parameters)[:3] == ["header", "functions", "libraries"]
    assert {"wrap", "lib"}.isdisjoint(parameters)


@pytest.mark.parametrize(
    "function",
    [um.compile_c, um.c_ufunc, um.compile_cython, um.compile_cuda, um.wrap_header, um.compare, CompiledBuild.report],
)
def test_examples_are_right(function: Callable[..., Any]) -> None:
    if function is um.compile_cython:
        pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    examples = doctest.DocTestParser().get_doctest(
        function.__doc__ or "", {"um": um, "np": np}, function.__name__, None, None
    )
    assert len(examples.examples) >= 2
    printed: list[str] = []
    doctest.DocTestRunner().run(examples, out=printed.append)
    assert printed == []
