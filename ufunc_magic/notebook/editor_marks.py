"""What an editor needs to mark the lines of a cell: compilers' messages as data, in an output that shows nothing.

The output has no data, so that no front end draws anything, and metadata that the JupyterLab extension reads
(``packaging/labextension``; the format is in ``docs/jupyterlab.md``).  Lines count the source below the magic, as
everywhere in the library; the extension adds the magic's own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ..model import CompileError, Diagnostic

#: The key of an output's metadata.
KEY = "ufunc_magic"


@dataclass(frozen=True)
class EditorMarks:
    """Marks for the editor of one cell.

    Attributes
    ----------
    text : str
        The whole cell, as it stands in the editor.
    name : str
        What diagnostics call it, ``"In[3]"``.
    visible : bool
        Whether a front end has an editor for it: then it says which cell it runs.
    """

    text: str
    name: str
    visible: bool

    @contextmanager
    def failure(self) -> Iterator[None]:
        """Show what an error that ends the cell says of its lines."""
        try:
            yield
        except CompileError as error:
            self.show(error.diagnostics)
            raise
        except UsageError as error:  # of the magic's own line
            message, _, hint = str(error).partition("\n")
            self.show((Diagnostic("error", message, hint=hint),))
            raise

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Hand messages to the editor; where there are none, nothing."""
        marks = _marks(diagnostics, self.name)
        if self.visible and marks:
            checksum = zlib.crc32(self.text.encode(errors="replace"))
            display({}, raw=True, metadata={KEY: {"crc32": checksum, "diagnostics": marks}})


def _marks(diagnostics: Iterable[Diagnostic], name: str) -> list[dict[str, Any]]:
    """One entry for each error and warning, with its notes; line 0, the magic's, for what has no place in the cell."""
    groups: list[list[Diagnostic]] = []
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            groups.append([diagnostic])
        elif groups:
            groups[-1].append(diagnostic)
    return [_mark(head, notes, name) for head, *notes in groups]


def _mark(head: Diagnostic, notes: list[Diagnostic], name: str) -> dict[str, Any]:
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
