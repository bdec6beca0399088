"""A cell of C, C++ or CUDA: read through the preprocessor where that is needed, and compiled, as a unit or alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import codegen, toolchain
from ..model import CompileError, Options, ParseError, Unit
from ..toolchain import GENERATED
from . import ufunc_comment


def preprocessed(tool: toolchain.Toolchain, source: str, *, name: str, flags: Sequence[str], before: str = "") -> str:
    """A cell behind the text ``before`` as the preprocessor leaves it, with line markers.

    All of it: ``-fdirectives-only`` would keep macros, and what is needed here is what they make.
    """
    marked = f"{before}#line 1 {codegen.c_string(name)}\n{source}\n"
    return toolchain.preprocess(tool, marked, name=name, flags=flags, cell=source)


def types_in_comments(unit: Unit) -> str:
    """``types=f4,f8`` in a function's comment; it speaks for the cell, which is compiled as one."""
    comments = (
        ufunc_comment.read(f.annotation, of=f"{f.name} (line {f.line})") for f in unit.functions if f.annotation
    )
    return next((comment.types for comment in comments if comment.types), "")


def nothing_to_bind(
    unit: Unit, tool: toolchain.Toolchain, source: str, *, name: str, flags: Sequence[str], folder: Path
) -> ParseError:
    """The error of a cell without a function that could be bound; that it defines none is the compiler's word."""
    hidden = [f.name for f in unit.functions]
    if hidden == ["main"]:
        return ParseError(
            f"{name} defines only main(), which is compiled but not bound.", remedy="Give it another name."
        )
    if hidden:
        what = f"{name}: every function is static or main ({', '.join(hidden[:5])})."
        return ParseError(what, remedy="Take the static away from the one to be bound.")
    compiled = toolchain.defined_functions(
        tool, f"#line 1 {codegen.c_string(name)}\n{source}\n", folder=folder, flags=flags
    )
    if compiled:
        what = f"{name} defines {', '.join(compiled[:5])}, but in a way that could not be read."
        return ParseError(what, remedy="Write its types out, such as: double f(double x) { return 2*x; }")
    return ParseError(f"{name} defines no C function.", remedy="Write one, such as: double f(double x) { return 2*x; }")


@contextlib.contextmanager
def blaming_the_cell(
    tool: toolchain.Toolchain,
    source: str,
    *,
    flags: Sequence[str],
    options: Options,
    name: str,
    folder: Path,
    before: str = "",
) -> Iterator[None]:
    """Around the compilation of a unit: where only generated code is refused, say what is wrong with the cell alone.

    Parameters
    ----------
    before : str
        What stands before the cell in its unit and is needed to compile it alone.
    """
    try:
        yield
    except CompileError as fault:
        if any(d.severity == "error" and d.file != GENERATED for d in fault.diagnostics):
            raise
        # An open brace of the cell shows first in what follows it.
        alone = fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder, before=before)
        raise (alone or fault) from None


def fault_alone(
    tool: toolchain.Toolchain,
    source: str,
    *,
    flags: Sequence[str],
    options: Options,
    name: str,
    folder: Path,
    before: str = "",
) -> CompileError | None:
    """What the compiler has against the cell without loops around it."""
    types = codegen.types_wanted(options.types)
    alone = [f for f in flags if f not in toolchain.FAST_MATH] + ["-fsyntax-only", *(f"-DT={t.c}" for t in types[-1:])]
    text = f"{before}#line 1 {codegen.c_string(name)}\n{source}\n"
    try:
        toolchain.compile_shared(tool, text, output=folder / "alone", flags=alone, name=name, cell=source)
    except CompileError as fault:
        return fault if any(d.severity == "error" and d.file == name for d in fault.diagnostics) else None
    return None
