"""Cython's messages about a cell: collected while its pipeline runs in this thread, and put on the cell's lines.

Cython keeps the state of its reports by thread.  `Listening` puts its own lists there and restores the thread's state
afterwards, so that it disturbs no ``%%cython`` of the user's and prints nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from ...compilers import count_errors, shorten, show_source_line
from ...model import CompileError, Diagnostic, UfuncMagicError
from ._private import Errors, watermark
from .cython_hints import read

#: An error begins with a title and, between two rules, lines of source and a caret; its position follows.
_MESSAGE = re.compile(
    r"\s*(?:Error compiling Cython file:\n-{60}\n(?P<quote>(?s:.*?))(?:\n *\^|\[unprintable code\])\n-{60}\s+)?"
    r"(?:(?P<kind>warning|note|performance hint): )?"
    r"(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?P<message>(?s:.*))"
)

#: The option of an error that is a fault of Cython's own.
_CRASH = "crash"


class Listening:
    """Cython's errors and warnings in this thread, from here to the end of the ``with``.

    An exception counts as a fault of Cython's own, and goes no further: look at `errors` after the block.

    Parameters
    ----------
    path : path
        The file that the cell was written to.

    Notes
    -----
    ``Context.setup_errors`` (called by ``Main.compile`` and ``Main.run_pipeline``) resets the reports and
    would end the listening: run the pipeline with ``Pipeline.run_pipeline``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self._before: dict[str, Any] = {}
        self.complaints: list[Diagnostic] = []

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(c for c in self.complaints if c.severity == "error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(c for c in self.complaints if c.severity != "error")

    def __enter__(self) -> Listening:
        state = Errors.threadlocal.__dict__
        self._before = dict(state)
        Errors.init_thread()
        # Errors raised while a list is on this stack are appended to it, and are not written.
        state["cython_errors_stack"] = [self]
        # Cython writes everything else as text to this object, its listing file.
        state["cython_errors_listing_file"] = self
        state["cython_errors_echo_file"] = None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        state = Errors.threadlocal.__dict__
        state.clear()
        state.update(self._before)
        if not isinstance(error, Exception) or isinstance(error, UfuncMagicError):
            return False
        self.complaints.append(Diagnostic("error", f"{type(error).__name__}: {error}", option=_CRASH))
        return True

    def append(self, error: Any) -> None:
        """Take an error that Cython holds back: it counts as reported."""
        if not error.reported:
            error.reported = True
            # The pipeline stops between two steps where this is not 0.
            Errors.threadlocal.cython_errors_count += 1
            self.write(str(error))

    def write(self, text: str) -> None:
        """Note a message that Cython would have printed."""
        parts = _MESSAGE.fullmatch(text)
        assert parts
        severity: Literal["error", "warning", "note"] = "error"
        if parts["kind"]:
            severity = "warning" if parts["kind"] == "warning" else "note"
        file = parts["file"] or ""
        file = "" if os.path.abspath(file) == self._path else file
        line, column = int(parts["line"] or 0), int(parts["column"] or -1) + 1
        message = parts["message"].strip()
        crash = message.startswith("Compiler crash in")
        if crash:  # after it, Cython's own traceback
            message = message.rpartition("\n")[2]
        source = (parts["quote"] or "").rpartition("\n")[2] if file else ""
        self.complaints.append(Diagnostic(severity, message, file, line, column, _CRASH if crash else "", source))


# ------------------------------------------------------------------------------------- as diagnostics


def compile_error(errors: Iterable[Diagnostic], *, name: str, cell: str) -> CompileError:
    """The exception for a cell that Cython refused.

    Parameters
    ----------
    errors : iterable of Diagnostic
        `Listening.errors`.
    name, cell : str
        The cell's name in messages, ``"In[3]"``, and its text.

    Returns
    -------
    CompileError
        One diagnostic for each cause, without errors that only follow from another one.
    """
    complaints = list(errors)
    causes = _find_causes(complaints)
    diagnostics = list(dict.fromkeys(_write_diagnostic(cause, name, cell) for cause in causes))
    what = "Cython itself crashes on it" if all(c.option for c in causes) else count_errors(diagnostics)
    output = "\n".join(f"{c.file or name}:{c.line}:{c.column}: {c.message}" for c in complaints)
    return CompileError(f"{name} does not compile: {what}.", diagnostics=shorten(diagnostics), output=output)


def read_warnings(complaints: Iterable[Diagnostic], *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Cython's warnings about the cell and the user's own files, each once.

    Parameters
    ----------
    complaints : iterable of Diagnostic
        `Listening.warnings`.
    name, cell : str
        As for `compile_error`.
    """
    by_message: dict[str, Diagnostic] = {}
    for complaint in complaints:
        if _is_installed(complaint.file):
            continue
        message, _, solutions = complaint.message.partition("\nPossible solutions:\n")
        hint = " Or: ".join(re.sub(r"^\d+\. ", "", s.strip()) for s in solutions.splitlines() if s.strip())
        diagnostic = _write_diagnostic(replace(complaint, message=message), name, cell)
        by_message.setdefault(message, replace(diagnostic, severity="warning", hint=hint or diagnostic.hint))
    return shorten(tuple(by_message.values()))


def _is_installed(file: str) -> bool:
    return bool({"site-packages", "dist-packages", "Cython"} & set(re.split(r"[\\/]", file)))


# ------------------------------------------------------------------------------- what follows from what

_GIL = re.compile(r"without (?:the )?gil$", re.I)
_NAME = re.compile(
    r"undeclared name not builtin: (\w+)$|'(\w+)' is not (?:a type identifier|declared|a cimported module|"
    r"a constant, variable or function identifier)"
)
_FOLLOWS = re.compile(
    r"Buffer vars not allowed|Array dimension not integer|is incomplete$|Previous declaration is here|"
    r"Possible inconsistent indentation|Cannot coerce to a type that is not specialized|"
    r"Cannot assign type '.*' to '<(?:error|unspecified)>'|has Python locals or temporaries$|"
    r"Discarding owned Python object|Cdef functions cannot take arbitrary decorators"
)


def _find_causes(complaints: Sequence[Diagnostic]) -> list[Diagnostic]:
    """One complaint for each cause, in the order of the cell's lines."""
    errors = [c for c in complaints if not c.option] or list(complaints[:1])
    errors = [c for c in errors if not _FOLLOWS.search(c.message)] or errors
    # Cython does not know the names that a failed cimport would have bound.
    errors = [c for c in errors if c.message.endswith(".pxd' not found")] or errors
    causes: dict[tuple[object, ...], Diagnostic] = {}
    for complaint in errors:
        cause: tuple[object, ...] = (complaint.file, complaint.line, complaint.column)
        if named := _NAME.match(complaint.message):
            cause = ("name", named[named.lastindex or 0])
        elif _GIL.search(complaint.message):
            cause = ("gil", complaint.file, complaint.line)
        # "Calling g" is more precise than the other messages about the same line.
        if cause not in causes or (cause[0] == "gil" and complaint.message.startswith("Calling")):
            causes[cause] = complaint
    return sorted(causes.values(), key=lambda cause: (cause.file, cause.line, cause.column))


def _write_diagnostic(complaint: Diagnostic, name: str, cell: str) -> Diagnostic:
    if complaint.option:
        hint = (
            f"This is a bug in Cython {watermark}, triggered at or near this line. Look for a missing name or a "
            "wrong type there, or rewrite the code."
        )
        message = f"Cython itself crashes here ({complaint.message})"
        shown = replace(complaint, message=message, option="", hint=hint)
    else:
        shown = read(complaint, cell=cell)
    lines = cell.split("\n")
    if not shown.file and 0 < shown.line <= len(lines):
        text, column = show_source_line(lines[shown.line - 1], shown.column)
        shown = replace(shown, text=text, column=column)
    return replace(shown, file=shown.file or name)
