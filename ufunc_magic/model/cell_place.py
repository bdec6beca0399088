"""Translates the lines of a source into the lines that its reader sees.

Code that is compiled, cached, pickled or passed on as a `Diagnostic` counts the source's own lines, from 1.  The place
of the source is known where a text is shown: in a notebook it begins below its magic, which is line 1 of the editor.
A text that names a line of the source (a note, the message of an error) has the number in marks until it is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKED = re.compile("\x1f(\\d+)\x1f")


def mark_line(line: int) -> str:
    """Mark a line of the source, for `CellPlace.replace_marks`."""
    return f"\x1f{line}\x1f"


@dataclass(frozen=True)
class CellPlace:
    """The name of a source, and the number of its first line.

    ``first_line`` is 1 for a text by itself, and 2 for a cell below its magic.
    """

    name: str = ""
    first_line: int = 1

    def line(self, line: int) -> int:
        """The number of a line there; 0, which means no line, stays 0."""
        return line + self.first_line - 1 if line else 0

    def replace_marks(self, marked: str) -> str:
        """A text with its marked lines replaced by their numbers there."""
        return _MARKED.sub(lambda match: str(self.line(int(match[1]))), marked)

    def rename(self, text: str, *, old: str) -> str:
        """A text of compiled code, with the source's name ``old`` and lines replaced: ``old:3: ... on line 7.``"""
        if f"{old}:" not in text:
            return text
        text = re.sub(rf"{re.escape(old)}:(\d+)", lambda match: f"{self.name}:{self.line(int(match[1]))}", text)
        return re.sub(r"(?<= on line )\d+(?=\.?$)", lambda match: str(self.line(int(match[0]))), text)
