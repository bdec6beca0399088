"""Cython's annotated view of a cell as a value: which lines call Python, and the C behind each.

Read from the page that Cython writes, and shown without its style sheet and scripts, which JupyterLab 4 drops
(https://github.com/cython/cython/issues/7319).  Imports no Cython, so that a cell found in the cache can show
its view too.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...model import ToolchainError

_PRE = re.compile(r"<pre class=([\"'])cython (line|code)([^\"']*)\1[^>]*>(.*?)</pre>", re.DOTALL)
_LINE = re.compile(r"[^\d\n]?(\d+): ?(.*)", re.DOTALL)
_SCORE = re.compile(r"score-(\d+)")
_SPAN = re.compile(r"<span class='(\w+)'>(.*?)</span>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")

#: Cython's names for pieces of C that call: Python's C API, and Cython's own functions around it.
_PYTHON = frozenset({"py_c_api", "py_macro_api"})
_CYTHON = frozenset({"pyx_c_api", "pyx_macro_api"})

# Tints over the theme's own background, and no text colour: readable in light and dark.  What a tint says is
# also said in bold or italics, or by a number.
_FACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);"
    "font-size:var(--jp-code-font-size,13px);line-height:1.45;color:inherit"
)
_ROW = "white-space:pre;margin:0 0 0 1.4em;padding:0 .4em"
_CODE = (
    "white-space:pre;margin:.2em 0 .6em 1.8em;padding:.2em .8em;background:transparent;color:inherit;"
    "border-left:2px solid rgba(128,128,128,.6);font-family:inherit;font-size:.92em;line-height:1.35"
)
_STYLES = {
    "python": "font-weight:bold;background:rgba(220,60,40,.28)",
    "cython": "font-style:italic;background:rgba(230,130,0,.25)",
    "aside": "opacity:.7",
}
#: Opacity of the tint that the heaviest lines come near to; more would take the contrast from light text.
_DEEPEST = 0.36


@dataclass(frozen=True)
class Piece:
    """Some C text and what it does: ``"py_c_api"``, ``"error_goto"``, ... as Cython names it, or ``""``."""

    kind: str
    text: str


@dataclass(frozen=True)
class AnnotatedLine:
    """One line of the cell.

    Attributes
    ----------
    number : int
        From 1.
    source : str
    score : int
        Cython's weight for its dealings with Python; 0 is plain C.
    pieces : tuple of Piece
        The C made of it; empty for none.
    """

    number: int
    source: str
    score: int
    pieces: tuple[Piece, ...] = field(default=(), repr=False)

    @property
    def c_code(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def calls(self) -> int:
        """Calls of Python's C API and of Cython's functions around it."""
        return sum(piece.kind in _PYTHON or piece.kind in _CYTHON for piece in self.pieces)


@dataclass(frozen=True)
class Annotated:
    """A cell, line by line, with the C that Cython made of it; shows itself in a notebook.

    Attributes
    ----------
    lines : tuple of AnnotatedLine
    name : str
        The cell, ``"In[3]"``.
    complete : str
        The whole generated C, where it was asked for.
    """

    lines: tuple[AnnotatedLine, ...]
    name: str = ""
    complete: str = field(default="", repr=False)

    @property
    def summary(self) -> str:
        """How many lines call Python, and which one most, in a sentence."""
        calling = [line for line in self.lines if line.calls]
        if not calling:
            return "No line calls Python."
        most = max(calling, key=lambda line: line.calls)
        count = f"{len(calling)} of {len(self.lines)} lines {'calls' if len(calling) == 1 else 'call'} Python"
        return f"{count}, line {most.number} most ({most.calls} {'call' if most.calls == 1 else 'calls'})."

    def to_text(self) -> str:
        """A line of text for each line of the cell: number, calls of Python, source."""
        title = f"{self.name}: " if self.name else ""
        return "\n".join([title + self.summary, self._head(), *map(self._row, self.lines)])

    def to_html(self) -> str:
        """One fragment with inline styles only; a line's C is folded under it."""
        title = f"<strong>{html.escape(self.name)}</strong>: " if self.name else ""
        rows = [self._html_line(line) for line in self.lines]
        if self.complete:
            rows.append(_folded("The complete C code", "", html.escape(self.complete)))
        return (
            f'<div style="overflow-x:auto;{_FACE}">'
            f'<div style="padding:.2em .4em">{title}{html.escape(self.summary)} Open a line to see its C: '
            f'<span style="{_STYLES["python"]}">Python</span>, '
            f'<span style="{_STYLES["cython"]}">Cython\'s calls around Python</span>.</div>'
            f'<div style="min-width:max-content"><div style="{_ROW};opacity:.75">{self._head()}</div>{"".join(rows)}'
            "</div></div>"
        )

    def to_json(self) -> str:
        """The view as JSON, for `from_json`."""
        lines = [[n.number, n.source, n.score, [[p.kind, p.text] for p in n.pieces]] for n in self.lines]
        fields = {"name": self.name, "lines": lines, "complete": self.complete}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Annotated:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        lines = tuple(
            AnnotatedLine(number, source, score, tuple(Piece(kind, code) for kind, code in pieces))
            for number, source, score, pieces in fields["lines"]
        )
        return cls(lines, fields["name"], fields["complete"])

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
        return f"{'line':>{self._width}} {'calls':>5}  source"

    def _row(self, line: AnnotatedLine) -> str:
        # A line that became C without a call of Python has a 0, one that became nothing has no figure.
        calls = str(line.calls) if line.pieces else ""
        return f"{line.number:>{self._width}} {calls:>5}  {line.source}".rstrip()

    def _html_line(self, line: AnnotatedLine) -> str:
        # Cython's scores run from 1 to hundreds: the tint rises fast at first.
        depth = _DEEPEST * (1 - 1 / (1 + line.score / 10))
        tint = f"background:rgba(255,190,0,{depth:.2f})" if line.score else ""
        row = html.escape(self._row(line))
        if not line.pieces:
            return f'<div style="{_ROW}">{row}</div>'
        return _folded(row, tint, "".join(map(_marked, line.pieces)))


def _folded(summary: str, tint: str, code: str) -> str:
    style = f"display:list-item;list-style-position:outside;cursor:pointer;{_ROW};{tint}".rstrip(";")
    return (
        f'<details style="margin:0"><summary style="{style}">{summary}</summary>'
        f'<pre style="{_CODE}">{code}</pre></details>'
    )


def _marked(piece: Piece) -> str:
    text = html.escape(piece.text)
    if not piece.kind:
        return text
    kind = "python" if piece.kind in _PYTHON else "cython" if piece.kind in _CYTHON else "aside"
    return f'<span style="{_STYLES[kind]}">{text}</span>'


# ------------------------------------------------------------------------------------------- read


def read(path: Path, *, name: str = "", complete: str = "") -> Annotated:
    """Read the page that Cython wrote beside its C file; see `parse`."""
    return parse(path.read_text(encoding="utf-8"), name=name, complete=complete)


def parse(page: str, *, name: str = "", complete: str = "") -> Annotated:
    """Read Cython's annotated page.

    Parameters
    ----------
    page : str
        What the compiler option ``annotate=True`` makes.  Not ``"fullc"``: that runs a highlighter over a megabyte
        of C, for seconds.
    name : str
        What the cell is called.
    complete : str
        The generated C, if it is to be shown as a whole.

    Raises
    ------
    ToolchainError
        If it is not as Cython 3 writes it.
    """
    lines: list[AnnotatedLine] = []
    for _, kind, classes, body in _PRE.findall(page):
        if kind == "line":
            text = _LINE.fullmatch(html.unescape(_TAG.sub("", body)))
            score = _SCORE.search(classes)
            if text and score:
                lines.append(AnnotatedLine(int(text[1]), text[2], int(score[1])))
        elif lines and _SCORE.search(classes):
            last = lines.pop()
            lines.append(AnnotatedLine(last.number, last.source, last.score, tuple(_pieces(body))))
    if not lines:
        raise ToolchainError(
            "Cython's annotated page cannot be read: it holds no line of the cell.",
            remedy="Leave -a out, or install another version: pip install 'cython>=3.1'",
        )
    return Annotated(tuple(lines), name, complete)


def _pieces(body: str) -> Iterator[Piece]:
    place = 0
    for match in _SPAN.finditer(body):
        if match.start() > place:
            yield Piece("", html.unescape(body[place : match.start()]))
        yield Piece(match[1], html.unescape(match[2]))
        place = match.end()
    if body[place:]:
        yield Piece("", html.unescape(body[place:]))
