"""The text around a function of a Cython cell: the comment above it, its ``# ufunc:`` line, its own lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Text"]

_UFUNC = re.compile(r"^#+\s*ufunc:\s*(.*)$")


@dataclass(frozen=True)
class Text:
    """A cell's text, asked by 1-based lines."""

    source: str

    @cached_property
    def lines(self) -> list[str]:
        return self.source.replace("\r\n", "\n").split("\n")

    def _above(self, line: int) -> list[str]:
        """The comment lines just above a function and its decorators, top to bottom, without indentation."""
        at = self._first(line) - 2
        found = []
        while at >= 0 and self.lines[at].lstrip().startswith("#"):
            found.append(self.lines[at].strip())
            at -= 1
        return found[::-1]

    def _first(self, line: int) -> int:
        """The line of the first decorator, or ``line``."""
        while line >= 2 and self.lines[line - 2].lstrip().startswith("@"):
            line -= 1
        return line

    def annotation(self, line: int) -> str:
        """What follows ``# ufunc:`` above the function of ``line``."""
        return next((m[1].strip() for text in self._above(line) if (m := _UFUNC.match(text))), "")

    def comment(self, line: int) -> str:
        """The comment above it, without its marks and directives."""
        said = [text.lstrip("#").strip() for text in self._above(line) if not _UFUNC.match(text)]
        return "\n".join(text for text in said if not re.match(r"(?:distutils|cython)\s*:", text)).strip()

    def definition(self, line: int) -> str:
        """Its text, decorators included."""
        head = self.lines[line - 1]
        indent = len(head) - len(head.lstrip())
        end, depth = line, 0
        for at, text in enumerate(self.lines[line - 1 :], line):
            inside = depth > 0
            depth += sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
            bare = text.strip()
            if at > line and bare and not inside and len(text) - len(text.lstrip()) <= indent:
                break
            end = at if bare else end
        return "\n".join(self.lines[self._first(line) - 1 : end])
