"""Where a source stands for its reader, and so how its lines are counted: all counting of lines is here.

Whatever is compiled, cached, pickled or handed on as a `Diagnostic` counts the source's own lines, from 1.  Who
shows it knows where the source stands: in a notebook below the line of its magic, whose number in the gutter is 1.
A text that names a line of the source (a note, the message of an error) has the number in marks until it is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKED = re.compile("\x1f(\\d+)\x1f")


def line_mark(line: int) -> str:
    """A line of the source in a text that `CellPlace.text` shows."""
    return f"\x1f{line}\x1f"


@dataclass(frozen=True)
class CellPlace:
    """What the source is called, and the number of its first line there.

    ``first_line`` is 1 for a text by itself, and 2 for a cell below its magic.
    """

    name: str = ""
    first_line: int = 1

    def line(self, line: int) -> int:
        """The number of a line there; 0 stays 0, which says that there is none."""
        return line + self.first_line - 1 if line else 0

    def text(self, marked: str) -> str:
        """A text with the lines in it as they are counted there."""
        return _MARKED.sub(lambda match: str(self.line(int(match[1]))), marked)

    def renamed(self, text: str, *, old: str) -> str:
        """A text of compiled code, which knows its source as ``old`` and counts its lines: ``old:3: ... on line 7.``"""
        if f"{old}:" not in text:
            return text
        text = re.sub(rf"{re.escape(old)}:(\d+)", lambda match: f"{self.name}:{self.line(int(match[1]))}", text)
        return re.sub(r"(?<= on line )\d+(?=\.?$)", lambda match: str(self.line(int(match[0]))), text)
