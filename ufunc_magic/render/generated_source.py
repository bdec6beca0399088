"""The C that a cell is compiled in, from the preprocessor's output: the cell and our loops, without system headers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..toolchain import GENERATED
from .tables import count, escape

__all__ = ["Generated", "generated"]

_MARKER = re.compile(r'#(?:line)? +(\d+) +"((?:[^"\\]|\\.)*)"')
#: Where the cell's own part ends and the loops made for it begin.
_CELL, _AFTER = "before the cell", "after the cell: its loops"


@dataclass(frozen=True)
class Generated:
    """A unit in parts, ``(title, text)``: what stands before the cell, the cell, the loops."""

    name: str
    parts: tuple[tuple[str, str], ...]

    def to_text(self) -> str:
        """The whole as one C text, a comment above each part."""
        return "\n\n".join(f"/* {title} */\n{text}" for title, text in self.parts)

    def to_html(self) -> str:
        """The parts, folded but for the last."""
        blocks = []
        for n, (title, text) in enumerate(self.parts):
            size = count(text.count("\n") + 1, "line")
            opened = " open" if n == len(self.parts) - 1 else ""
            blocks.append(
                f'<details{opened} style="margin:.2em 0"><summary style="display:list-item;cursor:pointer">'
                f'{escape(title)} ({size})</summary><pre style="margin:.2em 0 .6em 1em;background:transparent;'
                f'color:inherit;line-height:1.35">{escape(text)}</pre></details>'
            )
        return f'<div style="overflow-x:auto;padding:.3em .7em">{"".join(blocks)}</div>'

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def generated(preprocessed: str, *, name: str) -> Generated:
    """Take the unit out of its preprocessed text.

    Parameters
    ----------
    preprocessed : str
        With line markers; directives may still be in it.
    name : str
        What ``#line`` calls the cell.
    """
    parts: list[tuple[str, list[str]]] = [(_CELL, [])]
    ours = ""
    for line in preprocessed.split("\n"):
        if match := _MARKER.match(line):
            file = match[2].replace('\\"', '"')
            ours = file if file in (name, GENERATED) else ""
            title = name if ours == name else parts[0][0] if len(parts) == 1 else _AFTER
            if ours and parts[-1][0] != title:
                parts.append((title, []))
        elif ours and not _is_noise(line):
            parts[-1][1].append(line)
    return Generated(name, tuple((title, text) for title, lines in parts if (text := _tidy(lines))))


def _is_noise(line: str) -> bool:
    """Definitions that the compiler makes itself."""
    return line.startswith(("#define __GCC", "#undef __GCC"))


def _tidy(lines: list[str]) -> str:
    """The lines with no more than one empty one in a row, and none at the ends."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")
