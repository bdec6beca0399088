"""A C cell, each line coloured by its share of the hot loop's instructions, with its assembly folded under it.

Styles are inline, for JupyterLab drops style sheets; a tint is never all that is said, for the share stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .hot_loops import HotLoop, Placed
from .tables import escape

__all__ = ["Annotated"]

_FACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);"
    "font-size:var(--jp-code-font-size,13px);line-height:1.45;color:inherit"
)
_ROW = "white-space:pre;margin:0 0 0 1.4em;padding:0 .4em"
_CODE = (
    "white-space:pre;margin:.2em 0 .6em 1.8em;padding:.2em .8em;background:transparent;color:inherit;"
    "border-left:2px solid rgba(128,128,128,.6);font-family:inherit;font-size:.92em;line-height:1.35"
)
#: Opacity of the tint at a share of 1; more would take the contrast from light text.
_DEEPEST = 0.36


@dataclass(frozen=True)
class Annotated:
    """A cell and the hot loops of its functions; shows itself in a notebook.

    Attributes
    ----------
    name : str
        The cell, ``"In[3]"``.
    lines : tuple of str
        Its text.
    loops : tuple of HotLoop
    """

    name: str
    lines: tuple[str, ...]
    loops: tuple[HotLoop, ...]

    @property
    def summary(self) -> str:
        """What each loop is, in words."""
        told = [f"{loop.name} {loop.types}: {loop.words}" for loop in self.loops]
        return "; ".join(told) if told else "no function of the cell has a loop"

    def share(self, line: int) -> float:
        """The largest share that line ``line`` has of any function's loop, 0 to 1."""
        return max((loop.shares.get(line, 0.0) for loop in self.loops), default=0.0)

    def to_text(self) -> str:
        """A line of text for each line of the cell: number, share of its loop's instructions, source."""
        rows = [self._row(n) for n in range(1, len(self.lines) + 1)]
        return "\n".join([f"{self.name}: {self.summary}", self._head(), *rows])

    def to_html(self) -> str:
        """One fragment with inline styles only; a line's assembly is folded under it."""
        rows = "".join(self._html_row(n) for n in range(1, len(self.lines) + 1))
        return (
            f'<div style="overflow-x:auto;{_FACE}">'
            f'<div style="padding:.2em .4em"><strong>{escape(self.name)}</strong>: {escape(self.summary)}. '
            "Open a line to see its assembly.</div>"
            f'<div style="min-width:max-content"><div style="{_ROW};opacity:.75">{self._head()}</div>{rows}</div></div>'
        )

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/html": self.to_html()}

    @property
    def _width(self) -> int:
        return max(4, len(str(len(self.lines))))

    def _head(self) -> str:
        return f"{'line':>{self._width}} {'share':>5}  source"

    def _row(self, line: int) -> str:
        share = self.share(line)
        told = f"{share:.0%}".rjust(5) if share else " " * 5
        return f"{line:>{self._width}} {told}  {self.lines[line - 1]}".rstrip()

    def _html_row(self, line: int) -> str:
        row, share = escape(self._row(line)), self.share(line)
        placed = [p for loop in self.loops for p in loop.placed if p.line == line]
        if not placed:
            return f'<div style="{_ROW}">{row}</div>'
        tint = f"background:rgba(255,150,0,{_DEEPEST * share**0.5:.2f})"
        style = f"display:list-item;list-style-position:outside;cursor:pointer;{_ROW};{tint}"
        code = escape("\n".join(f"{'| ' * p.inner}{_assembly(p)}" for p in placed))
        return (
            f'<details style="margin:0"><summary style="{style}">{row}</summary>'
            f'<pre style="{_CODE}">{code}</pre></details>'
        )


def _assembly(placed: Placed) -> str:
    told = f"    ; {placed.calls}" if placed.calls and placed.calls not in placed.text else ""
    return f"{placed.text}{told}"
