"""One vocabulary of C types, one table of libm, one lexer, one declarator, one evaluator (docs/architecture.md).

Each test searches the source for a second one.  A file that needs some of the same words for another purpose is listed
with its purpose.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ufunc_magic"

C_TYPES = frozenset(
    "char short int long float double _Bool unsigned signed int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t "
    "uint64_t size_t ptrdiff_t".split()
)
LIBM = frozenset(
    "sin cos tan asin acos atan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot erf erfc tgamma "
    "lgamma fmod floor ceil trunc fabs".split()
)

#: Subject -> file -> its purpose, where it has the same words for something else.
ALLOWED: dict[str, dict[str, str]] = {
    "C types": {
        "model/number_types.py": "NumPy's view of C's types: the table",
        "ir/types.py": "C's types and conversions: the table",
        "codegen/loop_types.py": "types that mean the same in every namespace",
        "interop/python_package/type_stubs.py": "types in a module's stubs",
        "languages/c/c_language.py": "words that the editor completes",
        "languages/c/c_text.py": "keywords, which are no names",
        "languages/c/microsoft.py": "Microsoft's names of C's types",
        "languages/c/plain_functions.py": "types that no cell gives another meaning",
        "languages/cuda/cuda_names.py": "types of CUDA",
        "languages/cuda/nvrtc/linkable_code.py": "types as Numba passes them",
        "languages/cython/cython_hints.py": "types of Cython",
        "languages/cython/cython_language.py": "words that the editor completes",
        "languages/cython/cython_loops.py": "words of the C that Cython writes",
        "runtime/cffi_function.py": "cffi's names of elements",
    },
    "libm": {
        "ir/math_functions.py": "the table",
        "forms/dialects.py": "functions that numexpr has",
        "languages/c/intrinsics.py": "functions of devices, by the function of libm that computes them",
        "languages/cuda/nvrtc/device_headers.py": "functions in namespace std of NVRTC's headers",
    },
    "lexer": {
        "languages/c/c_text.py": "the lexer",
        "cells/cell_settings.py": "includes above the first code",
        "compilers/diagnostics.py": "comments above a line that a message names",
        "notebook/completion.py": "half a line of a cell that is being typed",
    },
    "declarator": {
        "languages/c/declarations.py": "the reader",
        "languages/c/statement_lowering.py": "nodes without expressions",
    },
    "evaluator": {"ir/constants.py": "the evaluator"},
}

#: Subject -> its words, and how many of them in one literal make a table.
WORDS = {"C types": (C_TYPES, 5), "libm": (LIBM, 4)}
#: Subject -> a pattern of source that does the same work.
PATTERNS = {
    "lexer": r"/\\\*.*//|//.*/\\\*",
    "declarator": r"(?:array|pointer|function|reference)_declarator",
    "evaluator": r"abs\(\w+\) // abs",
}


@cache
def literals() -> tuple[tuple[str, int, frozenset[str]], ...]:
    """File, line and words of each collection and of each string of the package, but for docstrings."""
    return tuple((file, *literal) for file, text in of_package() for literal in literals_of(ast.parse(text)))


def literals_of(tree: ast.AST) -> Iterator[tuple[int, frozenset[str]]]:
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, frozenset(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.Dict | ast.Set | ast.List | ast.Tuple):
            inside = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
            texts = " ".join(value for value in inside if isinstance(value, str))
            yield node.lineno, frozenset(re.findall(r"\w+", texts))


def of_package() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("subject", WORDS)
def test_no_second_table(subject: str) -> None:
    words, enough = WORDS[subject]
    tables = {file: f"line {line}" for file, line, literal in literals() if len(literal & words) >= enough}
    assert {file: line for file, line in tables.items() if file not in ALLOWED[subject]} == {}
    assert sorted(ALLOWED[subject].keys() - tables.keys()) == [], "these are no exceptions any more"


@pytest.mark.parametrize("subject", PATTERNS)
def test_no_second_reading(subject: str) -> None:
    files = {file for file, text in of_package() if re.search(PATTERNS[subject], text)}
    assert sorted(files - ALLOWED[subject].keys()) == []
    assert sorted(ALLOWED[subject].keys() - files) == [], "these are no exceptions any more"
