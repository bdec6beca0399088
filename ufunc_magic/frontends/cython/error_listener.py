"""Cython's errors and warnings, heard while its pipeline runs in this thread, without a word printed.

Cython keeps the state of its reports by thread.  `Listening` puts its own lists there and gives the thread
what it had, so that a ``%%cython`` of the user's is not disturbed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from Cython.Compiler import Errors

from ...model import UfuncMagicError

__all__ = ["Complaint", "Listening"]

_TOLD = re.compile(
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

    def read(self, told: str) -> None:
        """Note what Cython would have printed."""
        plain = _QUOTED.sub("", told).strip()
        if not plain:
            return
        found = _TOLD.fullmatch(plain)
        assert found
        severity: Literal["error", "warning", "note"] = "error"
        if found["kind"]:
            severity = "warning" if found["kind"] == "warning" else "note"
        file = self._named(found["file"]) if found["file"] else ""
        line, column = int(found["line"] or 0), int(found["column"] or -1) + 1
        message = found["message"].strip()
        crash = message.startswith("Compiler crash in")
        if crash:  # after it, Cython's own traceback
            message = message.rpartition("\n")[2]
        self.complaints.append(Complaint(severity, message, file, line, column, crash=crash))

    def _named(self, path: str) -> str:
        return "" if os.path.abspath(path) == self._path else path


class _Raised(list[Any]):
    """Takes the place of Cython's list of errors held back, and counts each as told."""

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

    def write(self, told: str) -> None:
        self._listening.read(told)

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
