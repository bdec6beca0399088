"""Hands compilers' messages to the editor of a cell, as data that shows nothing.

The messages are the metadata of an output without data, which front ends do not draw.  The JupyterLab extension
(``packaging/labextension``) reads it; ``docs/jupyterlab.md`` has the format.  Line 1 is the line below the magic, as
everywhere in the library; the extension adds the magic's line.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from ..model import CompileError, Diagnostic

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: The key of an output's metadata.
KEY = "ufunc_magic"


@dataclass(frozen=True)
class EditorMarks:
    """Marks for the editor of one cell.

    Attributes
    ----------
    shell : InteractiveShell
        Publishes the marks.
    text : str
        The whole cell, as in the editor.
    name : str
        The name of the cell in diagnostics, ``"In[3]"``.
    visible : bool
        Whether an editor shows the cell.  Front ends with editors name the cell that they run.
    """

    shell: InteractiveShell
    text: str
    name: str
    visible: bool

    @contextmanager
    def mark_failure(self) -> Iterator[None]:
        """Mark the lines that an exception names, and raise it again."""
        try:
            yield
        except CompileError as error:
            marks = _make_marks(error.diagnostics, self.name)
            # After an error, compilers print wrong warnings.
            self._publish([mark for mark in marks if mark["severity"] == "error"] or marks)
            raise
        except UsageError as error:  # the magic's line is wrong
            message, _, hint = str(error).partition("\n")
            self.show((Diagnostic("error", message, hint=hint),))
            raise

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Send the errors and warnings among ``diagnostics`` to the editor; without any, send nothing."""
        self._publish(_make_marks(diagnostics, self.name))

    def _publish(self, marks: list[dict[str, Any]]) -> None:
        if self.visible and marks:
            checksum = zlib.crc32(self.text.encode(errors="replace"))
            self.shell.display_pub.publish({}, metadata={KEY: {"crc32": checksum, "diagnostics": marks}})


def _make_marks(diagnostics: Iterable[Diagnostic], name: str) -> list[dict[str, Any]]:
    """Make an entry for each error and warning, with its notes; those without a place in the cell are on line 0."""
    groups: list[list[Diagnostic]] = []
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            groups.append([diagnostic])
        elif groups:
            groups[-1].append(diagnostic)
    return [_make_mark(head, notes, name) for head, *notes in groups]


def _make_mark(head: Diagnostic, notes: list[Diagnostic], name: str) -> dict[str, Any]:
    message, place = head.message, head
    if head.file and head.file != name:  # a header: the cell's line is the one that includes it
        message = f"{':'.join(str(part) for part in (head.file, head.line) if part)}: {message}"
        place = next((note for note in notes if note.file == name), Diagnostic("note", ""))
        notes = [note for note in notes if note is not place]
    return {
        "severity": head.severity,
        "message": message,
        "line": place.line,
        "column": place.column,
        "option": head.option,
        "hint": head.hint,
        "notes": [{"message": note.message, "line": note.line if note.file == name else 0} for note in notes],
    }
