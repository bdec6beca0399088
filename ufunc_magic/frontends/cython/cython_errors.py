"""What Cython says about a cell: heard while its pipeline runs in this thread, and put into words on the cell's lines.

Cython keeps the state of its reports by thread.  `Listening` puts its own lists there and gives the thread
what it had, so that a ``%%cython`` of the user's is not disturbed and not a word is printed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal

from ...model import CompileError, Diagnostic, UfuncMagicError
from ...toolchain import counted, shorten, source_line
from ._private import Errors, watermark
from .cython_hints import read

_MESSAGE = re.compile(
    r"(?:(?P<kind>warning|note|performance hint): )?"
    r"(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?P<message>.*)",
    re.S,
)
#: What stands before an error's position: a title and lines of source between two rules.
_QUOTED = re.compile(r"\s*Error compiling Cython file:\n-{60}\n.*?\n-{60}\n", re.S)


#: The option of an error that stands for a fault of Cython's own.
_CRASH = "crash"


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
        # Errors raised while a list is on this stack are appended to it, with their position, and are not written.
        state["cython_errors_stack"] = [self]
        # All else is written, as text, to what is taken for a listing file.
        state["cython_errors_listing_file"] = self
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
        self._hear(error)
        return True

    def append(self, error: Any) -> None:
        """What Cython does with an error that it holds back: it counts as reported."""
        if not error.reported:
            error.reported = True
            # The pipeline stops between two steps where this is not 0.
            Errors.threadlocal.cython_errors_count += 1
            self._hear(error)

    def close(self) -> None:
        """What Cython does with a listing file in the end."""

    def _hear(self, error: Exception) -> None:
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
            option = _CRASH if crash else ""
            self.complaints.append(Diagnostic("error", message.strip(), file, line, column + 1, option, text))

    def write(self, text: str) -> None:
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
        self.complaints.append(Diagnostic(severity, message, file, line, column, _CRASH if crash else ""))

    def _named(self, path: str) -> str:
        return "" if os.path.abspath(path) == self._path else path


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
        One diagnostic for each cause: what only follows from another error is left out.
    """
    complaints = list(errors)
    causes = _causes(complaints)
    diagnostics = list(dict.fromkeys(_diagnostic(cause, name, cell) for cause in causes))
    what = "Cython itself fails on it" if all(c.option for c in causes) else counted(diagnostics)
    output = "\n".join(f"{c.file or name}:{c.line}:{c.column}: {c.message}" for c in complaints)
    return CompileError(f"{name} does not compile: {what}.", diagnostics=shorten(diagnostics), output=output)


def warnings(complaints: Iterable[Diagnostic], *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Cython's warnings about the cell and the user's own files, each said once.

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
        diagnostic = _diagnostic(replace(complaint, message=message), name, cell)
        by_message.setdefault(message, replace(diagnostic, severity="warning", hint=hint or diagnostic.hint))
    return shorten(tuple(by_message.values()))


def _is_installed(file: str) -> bool:
    return bool({"site-packages", "dist-packages", "Cython"} & set(re.split(r"[\\/]", file)))


# ------------------------------------------------------------------------------- what follows from what

_GIL = re.compile(r"without (?:the )?gil$", re.I)
_ABSENT = re.compile(r"'([\w/\\.]+)\.pxd' not found$")
_NAME = re.compile(
    r"undeclared name not builtin: (\w+)$|'(\w+)' is not (?:a type identifier|declared|a cimported module|"
    r"a constant, variable or function identifier)"
)
_FOLLOWS = re.compile(
    r"Buffer vars not allowed|Array dimension not integer|is incomplete$|"
    r"Possible inconsistent indentation|Cannot coerce to a type that is not specialized|"
    r"Cannot assign type '.*' to '<(?:error|unspecified)>'|has Python locals or temporaries$|"
    r"Discarding owned Python object|Cdef functions cannot take arbitrary decorators"
)


def _causes(complaints: Sequence[Diagnostic]) -> list[Diagnostic]:
    """One complaint for each cause, in the order of the cell's lines."""
    errors = [c for c in complaints if not c.option] or list(complaints[:1])
    errors = [c for c in errors if not _FOLLOWS.search(c.message)] or errors
    absent = [(c, m[1]) for c in errors if (m := _ABSENT.search(c.message))]
    absent_in = {c.line: c for c, _ in reversed(absent)}
    # Names that a failed cimport would have bound: Cython looks for each as a module of its own.
    lost = {re.split(r"[/\\.]", path)[-1] for _, path in absent}
    causes: dict[tuple[object, ...], list[Diagnostic]] = {}
    place: tuple[object, ...] = ()
    for complaint in errors:
        if complaint.message.strip() == "Previous declaration is here" and place in causes:
            causes[place].append(replace(complaint, severity="note", message="it was declared here before"))
            continue
        named = _NAME.match(complaint.message)
        word = named[named.lastindex or 0] if named else ""
        follows = absent and complaint.message.startswith("cimported module has no attribute")
        if word in lost or follows or absent_in.get(complaint.line, complaint) is not complaint:
            continue
        place = (complaint.file, complaint.line, complaint.column)
        if word:
            place = ("name", word)
        elif _GIL.search(complaint.message):
            place = ("gil", complaint.file, complaint.line)
        # "Calling g" says more than the other messages about the same line.
        if place not in causes or (place[0] == "gil" and complaint.message.startswith("Calling")):
            causes[place] = [complaint]
    ordered = sorted(causes.values(), key=lambda group: (group[0].file, group[0].line, group[0].column))
    return [complaint for group in ordered for complaint in group]


def _diagnostic(complaint: Diagnostic, name: str, cell: str) -> Diagnostic:
    line, column, message, hint = complaint.line, complaint.column, complaint.message, ""
    if complaint.option and "RecursionError" in message:
        message = "the cell is nested too deeply for Cython"
        hint = "Take the longest expression, or the deepest nesting, apart into several lines."
    elif complaint.option:
        message = f"Cython itself fails here ({message})"
        hint = (
            f"This is a fault of Cython {watermark}, set off by something at or near this line: look for a "
            "missing name or a wrong type there, or write it in another way."
        )
    elif complaint.severity != "note" or not message.startswith("it was"):
        inside = not complaint.file
        reading = read(message, line=inside and line, column=inside and column, cell=cell)
        message, hint = reading.message, reading.hint
        if inside:
            line, column = reading.line, reading.column
    lines, text = cell.split("\n"), complaint.text
    if not complaint.file and 0 < line <= len(lines):
        text, column = source_line(lines[line - 1], column)
    return Diagnostic(complaint.severity, message, complaint.file or name, line, column, "", text, hint)
