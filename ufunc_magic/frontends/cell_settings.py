"""A cell of C, C++ or CUDA: read through the preprocessor where that is needed, and compiled, as a unit or alone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from .. import codegen, toolchain
from ..model import CompileError, Options, ParseError, Unit
from ..python_form import CText
from ..toolchain import GENERATED
from . import c, ufunc_comment
from .native import storage

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]*(.*(?:\\\r?\n.*)*)", re.M)
_DECIDES = re.compile(r"^[ \t]*#[ \t]*(?:if|el|undef|define[ \t]+\w+\()", re.M)


def read(
    source: str, *, name: str, cplus: bool, preprocess: Callable[[], str] | None, known: Collection[str] = ()
) -> tuple[Unit, str, CText | None]:
    """What is in a cell, and the text it was read from: the cell as typed, or what the preprocessor makes of it.

    The cell as typed comes with its tree, where that shows what the functions do.

    Parameters
    ----------
    preprocess : function
        Runs the preprocessor, which is done only where the text as typed does not show every function and type.
    known : collection of str
        Types that no header needs to define.
    """
    unit, tree = c.parse_with_tree(source, cplus=cplus)
    if preprocess is None or not _needs_preprocessor(unit, source, known=known):
        return unit, source, None if bodies_need_preprocessor(source) else tree
    text = preprocess()
    return c.parse_preprocessed(text, cell_name=name, cell_text=source, cplus=cplus, typed=unit), text, None


def preprocessed(tool: toolchain.Toolchain, source: str, *, name: str, flags: Sequence[str], before: str = "") -> str:
    """A cell behind the text ``before`` as the preprocessor leaves it, with line markers.

    All of it: ``-fdirectives-only`` would keep macros, and what is needed here is what they make.
    """
    marked = f"{before}#line 1 {codegen.c_string(name)}\n{source}\n"
    return toolchain.preprocess(tool, marked, name=name, flags=flags, cell=source, storage=storage())


def _needs_preprocessor(unit: Unit, source: str, *, known: Collection[str] = ()) -> bool:
    """Does the text as typed not show every function and type?

    It shows them unless it includes local files, names types that only a header defines (and that are not among the
    ``known``), or uses a macro outside of function bodies.
    """
    unknown = [word for word in unit.unknown_types if word not in known]
    if unknown or any(header.startswith('"') for header in unit.includes):
        return True
    if not unit.macros:
        return False
    lines = source.replace("\r\n", "\n").split("\n")
    for function in unit.functions:
        if function.file:
            continue
        body = "\n".join(lines[function.line - 1 : function.end_line])
        head = body.partition("{")[0]
        lines[function.line - 1 : function.end_line] = [head, *[""] * (function.end_line - function.line)]
    outside = _DEFINE.sub("", "\n".join(lines))
    # A number in an array's size is understood as it is; anything else needs the preprocessor.
    bodies = {m[1]: "(" if m[2] else m[3] for m in _DEFINE.finditer(source)}
    numbers = {n for n, body in bodies.items() if re.fullmatch(r"[\s\d.+*/()xXa-fA-FuUlL-]*", body) and body.strip()}
    used = set(re.findall(r"\w+", outside))
    return bool((set(unit.macros) - numbers) & used)


def bodies_need_preprocessor(source: str) -> bool:
    """Do macros with parameters or ``#if`` decide what functions do?  Macros that are numbers read as they stand."""
    return bool(_DECIDES.search(source))


def types_in_comments(unit: Unit) -> str:
    """``types=f4,f8`` in a function's comment; it speaks for the cell, which is compiled as one."""
    comments = (
        ufunc_comment.read(f.annotation, of=f"{f.name} (line {f.line})") for f in unit.functions if f.annotation
    )
    return next((comment.types for comment in comments if comment.types), "")


def nothing_to_bind(unit: Unit, name: str) -> ParseError:
    """The error of a cell without a function that could be bound."""
    hidden = [f.name for f in unit.functions]
    if hidden == ["main"]:
        return ParseError(
            f"{name} defines only main(), which is compiled but not bound.", remedy="Give it another name."
        )
    if hidden:
        what = f"{name}: every function is static or main ({', '.join(hidden[:5])})."
        return ParseError(what, remedy="Take the static away from the one to be bound.")
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
        toolchain.compile_shared(
            tool, text, output=folder / "alone", flags=alone, name=name, cell=source, storage=storage()
        )
    except CompileError as fault:
        return fault if any(d.severity == "error" and d.file == name for d in fault.diagnostics) else None
    return None
