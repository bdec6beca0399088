"""What Cython says about a cell: heard while its pipeline runs in this thread, and put into words on the cell's lines.

Cython keeps the state of its reports by thread.  `Listening` puts its own lists there and gives the thread
what it had, so that a ``%%cython`` of the user's is not disturbed and not a word is printed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal

from ...model import CompileError, Diagnostic, UfuncMagicError
from ...toolchain import shorten, source_line
from ._private import Errors, watermark
from .cython_hints import read

_MESSAGE = re.compile(
    r"(?:(?P<kind>warning|note|performance hint): )?"
    r"(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?P<message>.*)",
    re.S,
)
#: What stands before an error's position: a title and lines of source between two rules.
_QUOTED = re.compile(r"\s*Error compiling Cython file:\n-{60}\n.*?\n-{60}\n", re.S)


@dataclass(frozen=True)
class Complaint:
    """One message of Cython.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
    message : str
    file : str
        ``""`` for the cell itself, else the path of a ``.pxd`` or ``.pxi``.
    line, column : int
        From 1; 0 where Cython gave none.
    text : str
        The source line, for other files than the cell.
    crash : bool
        Cython itself failed.
    """

    severity: Literal["error", "warning", "note"]
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""
    crash: bool = False


class Listening:
    """Cython's errors and warnings in this thread, from here to the end of the ``with``.

    An exception that leaves Cython's own code is heard as an error too, and goes no further: look at `errors`
    after the block.  Exceptions of other code pass.

    Parameters
    ----------
    path : path
        The file that the cell was written to.

    Notes
    -----
    ``Context.setup_errors`` (called by ``Main.compile`` and ``Main.run_pipeline``) starts reports anew and
    would end the listening: run the pipeline with ``Pipeline.run_pipeline``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self._before: dict[str, Any] = {}
        self.complaints: list[Complaint] = []

    @property
    def errors(self) -> tuple[Complaint, ...]:
        return tuple(c for c in self.complaints if c.severity == "error")

    @property
    def warnings(self) -> tuple[Complaint, ...]:
        return tuple(c for c in self.complaints if c.severity != "error")

    def __enter__(self) -> Listening:
        state = Errors.threadlocal.__dict__
        self._before = dict(state)
        Errors.init_thread()
        # Errors raised while a list is on this stack go to the list, with their position, and are not written.
        state["cython_errors_stack"] = [_Raised(self)]
        # All else is written, as text, to what is taken for a listing file.
        state["cython_errors_listing_file"] = _Written(self)
        state["cython_errors_echo_file"] = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        state = Errors.threadlocal.__dict__
        state.clear()
        state.update(self._before)
        if not isinstance(error, Exception) or isinstance(error, UfuncMagicError) or not _is_of_cython(trace):
            return False
        self.hear(error)
        return True

    def hear(self, error: Exception) -> None:
        """Note an exception of Cython's."""
        message = getattr(error, "message_only", "") or str(error)
        position = getattr(error, "position", None)
        crash = not isinstance(error, Errors.CompileError)
        if isinstance(error, Errors.CompilerCrash):
            crash, cause = True, error.args[3]
            message = f"{type(cause).__name__}: {cause}" if cause else "it gave no reason"
        elif crash:
            message = f"{type(error).__name__}: {message}"
        if position or crash or message:
            source, line, column = position or (None, 0, -1)
            file = self._named(getattr(source, "filename", "Cython's own code")) if source else ""
            text = _line_of(source, line) if file else ""
            self.complaints.append(Complaint("error", message.strip(), file, line, column + 1, text, crash))

    def read(self, text: str) -> None:
        """Note what Cython would have printed."""
        plain = _QUOTED.sub("", text).strip()
        if not plain:
            return
        parts = _MESSAGE.fullmatch(plain)
        assert parts
        severity: Literal["error", "warning", "note"] = "error"
        if parts["kind"]:
            severity = "warning" if parts["kind"] == "warning" else "note"
        file = self._named(parts["file"]) if parts["file"] else ""
        line, column = int(parts["line"] or 0), int(parts["column"] or -1) + 1
        message = parts["message"].strip()
        crash = message.startswith("Compiler crash in")
        if crash:  # after it, Cython's own traceback
            message = message.rpartition("\n")[2]
        self.complaints.append(Complaint(severity, message, file, line, column, crash=crash))

    def _named(self, path: str) -> str:
        return "" if os.path.abspath(path) == self._path else path


class _Raised(list[Any]):
    """Takes the place of Cython's list of errors held back, and counts each as reported."""

    def __init__(self, listening: Listening) -> None:
        super().__init__()
        self._listening = listening

    def append(self, error: Any) -> None:
        if error.reported:
            return
        error.reported = True
        # The pipeline stops between two steps where this is not 0.
        Errors.threadlocal.cython_errors_count += 1
        self._listening.hear(error)


class _Written:
    """Takes the place of Cython's listing file."""

    def __init__(self, listening: Listening) -> None:
        self._listening = listening

    def write(self, text: str) -> None:
        self._listening.read(text)

    def close(self) -> None:
        """What Cython does with a listing file in the end."""


def _is_of_cython(trace: TracebackType | None) -> bool:
    while trace:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("Cython."):
            return True
        trace = trace.tb_next
    return False


def _line_of(source: Any, line: int) -> str:
    try:
        lines = source.get_lines()
    except (OSError, UnicodeDecodeError):
        return ""
    return str(lines[line - 1]).rstrip() if 0 < line <= len(lines) else ""


# ------------------------------------------------------------------------------------- as diagnostics


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
    complaints = list(errors)
    causes = _causes(complaints)
    diagnostics = list(dict.fromkeys(_diagnostic(cause, name, cell) for cause in causes))
    count = sum(d.severity == "error" for d in diagnostics)
    crash = all(c.crash for c in causes)
    what = "Cython itself fails on it" if crash else "1 error" if count == 1 else f"{count} errors"
    output = "\n".join(f"{c.file or name}:{c.line}:{c.column}: {c.message}" for c in complaints)
    return CompileError(f"{name} does not compile: {what}.", diagnostics=shorten(diagnostics), output=output)


def warnings(complaints: Iterable[Complaint], *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Cython's warnings about the cell and the user's own files, each said once.

    Parameters
    ----------
    complaints : iterable of Complaint
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
        diagnostic = _diagnostic(replace(complaint, message=message), name, cell)
        by_message.setdefault(message, replace(diagnostic, severity="warning", hint=hint or diagnostic.hint))
    return shorten(tuple(by_message.values()))


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


def _causes(complaints: Sequence[Complaint]) -> list[Complaint]:
    """One complaint for each cause, in the order of the cell's lines."""
    errors = [c for c in complaints if not c.crash] or list(complaints[:1])
    if not all(_FOLLOWS.search(c.message) for c in errors):
        errors = [c for c in errors if not _FOLLOWS.search(c.message)]
    absent = {c.line: c for c in reversed(errors) if _ABSENT.search(c.message)}
    at_line = Counter(c.line for c in errors)
    errors = [c for c in errors if at_line[c.line] == 1 or not _VAGUE.match(c.message)]
    lost = {word for c in absent.values() for word in _words_of_missing(errors, c.line)}
    causes: dict[tuple[object, ...], Complaint] = {}
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
        if place not in causes or (place[0] == "gil" and complaint.message.startswith("Calling")):
            causes[place] = complaint
    notes = [c for c in causes.values() if c.message.strip() == "Previous declaration is here"]
    ordered = sorted((c for c in causes.values() if c not in notes), key=lambda c: (c.file, c.line, c.column))
    for note in notes:
        before = [n for n, c in enumerate(ordered) if "redeclared" in c.message or "redefined" in c.message]
        at = before[-1] + 1 if before else len(ordered)
        ordered.insert(at, replace(note, severity="note", message="it was declared here before"))
    return ordered


def _words_of_missing(errors: Sequence[Complaint], line: int) -> set[str]:
    """Names that a failed cimport would have bound: Cython looks for each as a module of its own."""
    paths = [m[1] for c in errors if c.line == line and (m := _ABSENT.search(c.message))]
    return {re.split(r"[/\\.]", path)[-1] for path in paths}


def _diagnostic(complaint: Complaint, name: str, cell: str) -> Diagnostic:
    line, column, message, hint = complaint.line, complaint.column, complaint.message, ""
    if complaint.crash and "RecursionError" in message:
        message = "the cell is nested too deeply for Cython"
        hint = "Take the longest expression, or the deepest nesting, apart into several lines."
    elif complaint.crash:
        message = f"Cython itself fails here ({message})"
        hint = (
            f"This is a fault of Cython {watermark}, set off by something at or near this line: look for a "
            "missing name or a wrong type there, or write it in another way."
        )
    elif complaint.file:
        reading = read(message, line=0, column=0, cell=cell)
        message, hint = reading.message, reading.hint
    else:
        reading = read(message, line=line, column=column, cell=cell)
        message, line, column, hint = reading.message, reading.line, reading.column, reading.hint
    lines, text = cell.split("\n"), complaint.text
    if not complaint.file and 0 < line <= len(lines):
        text, column = source_line(lines[line - 1], column)
    if complaint.severity == "note" and message.startswith("it was"):
        hint = ""
    return Diagnostic(complaint.severity, message, complaint.file or name, line, column, "", text, hint)
