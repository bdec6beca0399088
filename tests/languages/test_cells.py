"""Cells as users write them, one file each: those that must work, and the messages of those that must not.

A header of comments says what is expected of a good cell::

    // options: types="f4,f8"                       keywords of compile_c
    // types: f dd->d, g (n)->() d->d               every ufunc that is bound, its core signature, its rows
    // given: x = np.linspace(0, 1)                 a statement
    // expect: f(x, 2) == 2*x within 1e-13          relative; "or 1e-15" adds an absolute tolerance
    // expect: f(1, 2) == 2 exactly
    // warns: unused variable                       part of what the compiler says

Cython's cells (``.pyx``) have the same header after ``#``.  Beside a bad cell stands the message it gets, after the
name of its exception; ``pytest --golden`` writes them anew.
"""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import CELLS, LANGUAGES, catch_message, check_expectation, compile_file, list_loops, replace_name
from ufunc_magic import compilers
from ufunc_magic.cells import cell_settings
from ufunc_magic.languages.c import c_tree, c_unit
from ufunc_magic.model import Options

#: The cells of C++ and CUDA that are tried each time; the others take seconds, and are slow tests.
QUICK = {"templates.cpp", "template_fault.cpp"}


def _marks(path: Path) -> list[pytest.MarkDecorator]:
    takes_long = path.suffix in (".cpp", ".cu")
    return [pytest.mark.cython] * (path.suffix == ".pyx") + [pytest.mark.slow] * (takes_long and path.name not in QUICK)


ARM = platform.machine() == "aarch64"
GOOD, BAD = (
    [
        pytest.param(path, id=path.name, marks=_marks(path))
        for path in sorted((CELLS / kind).iterdir())
        if path.suffix in LANGUAGES
    ]
    for kind in ("good", "bad")
)
#: The compiler and the Cython that the golden messages are of.
GOLDEN_COMPILER = "12."
GOLDEN_CYTHON = "3.3."
#: Functions without types, which older compilers leave to us.
UNTYPED = ("emptied_double.c", "no_types_at_all.c")


def _ignoring(call: Callable[[], object]) -> object:
    with np.errstate(all="ignore"):
        return call()


@pytest.mark.parametrize("path", GOOD)
def test_good_cell(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)  # where local headers are looked for
    with np.errstate(all="ignore"):
        made, header = compile_file(path)
        bound = {name: list_loops(f) for name, f in made.items() if isinstance(f, np.ufunc)}
        typed = [word.split() for line in header["types"] for word in line.split(", ")]
        assert bound == {name: rows for name, *rows in typed}
        names = {"np": np, "raises": catch_message, "ignoring": _ignoring, **made}
        for statement in header.get("given", []):
            exec(statement, names)
        for expectation in header["expect"]:
            check_expectation(expectation, names)
    said = "\n".join(map(str, made.diagnostics))
    assert [words for words in header.get("warns", []) if _is_golden_compiler() and words not in said] == []
    errors = [d for d in made.diagnostics if "__ufm" in str(d) or d.file == "<ufunc_magic>"]
    assert not errors, "generated code shows in the warnings"


@pytest.mark.parametrize("path", BAD)
def test_message_of_bad_cell(path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(path.parent)
    with pytest.raises(um.UfuncMagicError) as caught:
        compile_file(path)
    text = f"{type(caught.value).__name__}\n{caught.value}\n"
    golden = path.with_suffix(path.suffix + ".txt")
    if request.config.getoption("--golden"):
        golden.write_text(text)
    expected = golden.read_text()
    if _is_golden_compiler() and (path.suffix != ".pyx" or version("Cython").startswith(GOLDEN_CYTHON)):
        assert text == expected
    elif path.name in UNTYPED and text.startswith("CompileError"):  # gcc 14, clang 16 and newer
        assert "type" in text
    else:  # other compilers use other words
        assert text.split("\n")[0] == expected.split("\n")[0]
        # For arm64 gcc does not tell the assembler which line of the cell it is on.
        assert _lines(text)[:1] == ([] if ARM and path.stem == "assembler_error" else _lines(expected)[:1])
    assert "Traceback" not in text
    assert "ufm" not in text
    assert "pyx_" not in text
    assert "<ufunc_magic>" not in text


def _lines(text: str) -> list[str]:
    return re.findall(r"In\[3\]:(\d+)", text)


def _is_golden_compiler() -> bool:
    tool = compilers.find()
    return tool.kind == "gcc" and compilers.describe(tool).version.partition("gcc")[2].strip().startswith(
        GOLDEN_COMPILER
    )


@pytest.mark.nightly
def test_enormous_line_is_refused_in_a_few_words() -> None:
    with pytest.raises(um.CompileError) as caught:
        um.compile_c(f"double f(double x) {{ return x {'+ x' * 300_000} + ; }}")
    assert len(str(caught.value)) < 1000


def test_enormous_cell_compiles() -> None:
    table = ", ".join(map(str, range(20_000)))
    made = um.compile_c(f"static const int table[] = {{{table}}};\nint f(int i) {{ return table[i % 20000]; }}")
    assert made.f(19_999) == 19_999


def test_no_text_makes_anything_but_our_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (
            "}",
            "{",
            '"',
            "#",
            "#if",
            "\0",
            "double",
            "(((((",
            "\\",
            "'",
            "/*",
            "//",
            "🙂",
            "#include",
            "#line 7",
        ):
            with pytest.raises(um.UfuncMagicError):
                um.compile_c(text)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every text that is parsed from now on."""
    texts: list[bytes] = []

    class Counting:
        def __init__(self, grammar: Any) -> None:
            self.parser = parser(grammar)

        def parse(self, code: bytes) -> Any:
            texts.append(code)
            return self.parser.parse(code)

    parser = c_tree.Parser
    monkeypatch.setattr(c_tree, "Parser", Counting)
    return texts


def test_plain_cell_is_parsed_once_and_needs_no_preprocessor(
    tmp_path: Path, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_name(monkeypatch, cell_settings, "read_preprocessed", lambda *_, **__: pytest.fail("it was preprocessed"))
    source = (
        "#include <complex.h>\n#include <math.h>\n#define EPS 1e-3\n#define NEVER(x) x\n/* The log-odds of p. */\n"
        "double logit(double p) { return log(p / (1 - p)); }\n"
        "double complex turn(double complex z) { return I * z; }\n"
    )
    cell = c_unit.compile(source, options=Options(), name="In[1]", folder=tmp_path)
    assert [f.python for f in cell.report_data.functions] == [
        "def logit(p):\n    return math.log(p / (1 - p))\n",
        "def turn(z):\n    return 1j * z\n",
    ]
    assert len(parsed) == 1


def test_cell_of_macros_is_preprocessed_once_and_parsed_once(
    tmp_path: Path, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, runs = cell_settings.read_preprocessed, []
    replace_name(monkeypatch, cell_settings, "read_preprocessed", lambda *a, **k: runs.append(a) or read(*a, **k))
    source = (
        "#include <math.h>\n#define FN(name, e) double name(double x) { return e; }\n#define my(n) my_##n\n"
        '#ifdef __cplusplus\n#define EXPORT extern "C"\n#else\n#define EXPORT\n#endif\n'
        "// Half of it.\nFN(half, x - (x) / -2)\n"
        "/* Squares. */\nEXPORT\ndouble my(square)(double x)\n{\n  double s[] = {x};\n"
        "  return s[0] * x;\n}\n"
    )
    cell = c_unit.compile(source, options=Options(), name="In[1]", folder=tmp_path)
    assert [(f.name, f.line, f.doc, f.python) for f in cell.report_data.functions] == [
        ("half", 10, "Half of it.", "def half(x):\n    return x - x / -2\n"),
        ("my_square", 13, "Squares.", "def my_square(x):\n    s = [x]\n    return s[0] * x\n"),
    ]
    assert (len(runs), len(parsed)) == (1, 1)
