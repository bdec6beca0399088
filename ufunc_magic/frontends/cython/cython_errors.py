"""What Cython says about a cell, told on the cell's lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from Cython.Compiler.Version import watermark

from ...model import CompileError, Diagnostic
from ...toolchain import shorten, source_line
from .cython_hints import read
from .error_listener import Complaint, Listening
from .syntax_hints import Reading

__all__ = ["Complaint", "Listening", "compile_error", "warnings"]


def compile_error(errors: Iterable[Complaint], *, name: str, cell: str) -> CompileError:
    """The exception for a cell that Cython refused.

    Parameters
    ----------
    errors : iterable of Complaint
        `Listening.errors`.
    name, cell : str
        The cell's name in messages, ``"In[3]"``, and its text.

    Returns
    -------
    CompileError
        One diagnostic for each cause: what only follows from another error is left out.
    """
    heard = list(errors)
    told = _causes(heard)
    found = [d for complaint in told for d in _diagnostics(complaint, name, cell)]
    found = [d for n, d in enumerate(found) if d not in found[:n]]
    count = sum(d.severity == "error" for d in found)
    crash = all(c.crash for c in told)
    what = "Cython itself fails on it" if crash else "1 error" if count == 1 else f"{count} errors"
    output = "\n".join(f"{c.file or name}:{c.line}:{c.column}: {c.message}" for c in heard)
    return CompileError(f"{name} does not compile: {what}.", diagnostics=shorten(found), output=output)


def warnings(complaints: Iterable[Complaint], *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Cython's warnings about the cell and the user's own files, each said once.

    Parameters
    ----------
    complaints : iterable of Complaint
        `Listening.warnings`.
    name, cell : str
        As for `compile_error`.
    """
    kept: dict[str, Diagnostic] = {}
    for complaint in complaints:
        if _is_installed(complaint.file):
            continue
        message, _, solutions = complaint.message.partition("\nPossible solutions:\n")
        hint = " Or: ".join(re.sub(r"^\d+\. ", "", s.strip()) for s in solutions.splitlines() if s.strip())
        (made,) = _diagnostics(replace(complaint, message=message), name, cell)
        kept.setdefault(message, replace(made, severity="warning", hint=hint or made.hint))
    return shorten(tuple(kept.values()))


def _is_installed(file: str) -> bool:
    return bool({"site-packages", "dist-packages", "Cython"} & set(re.split(r"[\\/]", file)))


# ------------------------------------------------------------------------------- what follows from what

_GIL = re.compile(r"without (?:the )?gil$", re.I)
_ABSENT = re.compile(r"'([\w/\\.]+)\.pxd' not found$")
_NAME = re.compile(
    r"undeclared name not builtin: (?P<a>\w+)$|'(?P<b>\w+)' is not (?:a type identifier|declared|a cimported module|"
    r"a constant, variable or function identifier)"
)
_FOLLOWS = re.compile(
    r"Buffer vars not allowed|Array dimension not integer|is incomplete$|"
    r"Possible inconsistent indentation|Cannot coerce to a type that is not specialized|"
    r"Cannot assign type '.*' to '<(?:error|unspecified)>'|has Python locals or temporaries$|"
    r"Discarding owned Python object"
)
#: What follows from another error in the same line, if there is one.
_VAGUE = re.compile(r"Cdef functions cannot take arbitrary decorators")


def _causes(heard: Sequence[Complaint]) -> list[Complaint]:
    """One complaint for each cause, in the order of the cell's lines."""
    errors = [c for c in heard if not c.crash] or list(heard[:1])
    if not all(_FOLLOWS.search(c.message) for c in errors):
        errors = [c for c in errors if not _FOLLOWS.search(c.message)]
    absent = {c.line: c for c in reversed(errors) if _ABSENT.search(c.message)}
    at_line = Counter(c.line for c in errors)
    errors = [c for c in errors if at_line[c.line] == 1 or not _VAGUE.match(c.message)]
    lost = {word for c in absent.values() for word in _words_of_missing(errors, c.line)}
    kept: dict[tuple[object, ...], Complaint] = {}
    for complaint in errors:
        place: tuple[object, ...] = (complaint.file, complaint.line, complaint.column)
        named = _NAME.match(complaint.message)
        word = (named["a"] or named["b"]) if named else ""
        if complaint.line in absent and complaint is not absent[complaint.line]:
            continue
        if word in lost or (absent and complaint.message.startswith("cimported module has no attribute")):
            continue
        if word:
            place = ("name", word)
        elif _GIL.search(complaint.message):
            place = ("gil", complaint.file, complaint.line)
        # "Calling g" says more than the other messages about the same line.
        if place not in kept or (place[0] == "gil" and complaint.message.startswith("Calling")):
            kept[place] = complaint
    notes = [c for c in kept.values() if c.message.strip() == "Previous declaration is here"]
    ordered = sorted((c for c in kept.values() if c not in notes), key=lambda c: (c.file, c.line, c.column))
    for note in notes:
        before = [n for n, c in enumerate(ordered) if "redeclared" in c.message or "redefined" in c.message]
        at = before[-1] + 1 if before else len(ordered)
        ordered.insert(at, replace(note, severity="note", message="it was declared here before"))
    return ordered


def _words_of_missing(errors: Sequence[Complaint], line: int) -> set[str]:
    """Names that a failed cimport would have bound: Cython looks for each as a module of its own."""
    paths = [m[1] for c in errors if c.line == line and (m := _ABSENT.search(c.message))]
    return {re.split(r"[/\\.]", path)[-1] for path in paths}


def _diagnostics(complaint: Complaint, name: str, cell: str) -> list[Diagnostic]:
    if complaint.crash and "RecursionError" in complaint.message:
        hint = "Take the longest expression, or the deepest nesting, apart into several lines."
        made = Reading("the cell is nested too deeply for Cython", complaint.line, complaint.column, hint)
    elif complaint.crash:
        hint = (
            f"This is a fault of Cython {watermark}, set off by something at or near this line: look for a "
            "missing name or a wrong type there, or write it in another way."
        )
        complaint = replace(complaint, message=f"Cython itself fails here ({complaint.message})")
        made = Reading(complaint.message, complaint.line, complaint.column, hint)
    elif complaint.file:
        made = read(complaint.message, line=0, column=0, cell=cell)
        made = replace(made, line=complaint.line, column=complaint.column)
    else:
        made = read(complaint.message, line=complaint.line, column=complaint.column, cell=cell)
    lines = cell.split("\n")
    text, column = complaint.text, made.column
    if not complaint.file and 0 < made.line <= len(lines):
        text, column = source_line(lines[made.line - 1], column)
    file = complaint.file or name
    hint = "" if complaint.severity == "note" and complaint.message.startswith("it was") else made.hint
    return [Diagnostic(complaint.severity, made.message, file, made.line, column, "", text, hint)]
