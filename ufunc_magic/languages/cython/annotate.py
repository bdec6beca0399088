"""Cython's annotated view of a cell as a value: which lines call Python, and the C of each.

Read from the page that Cython writes, and shown without its style sheet and scripts, which JupyterLab 4 drops
(https://github.com/cython/cython/issues/7319).  Imports no Cython, so that a cell found in the cache can show
its view too.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field, replace

from ...model import CellPlace, ToolchainError

_PRE = re.compile(r"<pre class=([\"'])cython (line|code) score-(\d+)[^>]*>(.*?)</pre>", re.DOTALL)
_LINE = re.compile(r"[^\d\n]?(\d+): ?(.*)", re.DOTALL)
_SPAN = re.compile(r"<span class='(\w+)'>(.*?)</span>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")

# Tints over the theme's own background, and no text colour: readable in light and dark.  Bold, italics
# or a number repeat the information of each tint.
_FACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);"
    "font-size:var(--jp-code-font-size,13px);line-height:1.45;color:inherit"
)
_ROW = "white-space:pre;margin:0 0 0 1.4em;padding:0 .4em"
_CODE = (
    "white-space:pre;margin:.2em 0 .6em 1.8em;padding:.2em .8em;background:transparent;color:inherit;"
    "border-left:2px solid rgba(128,128,128,.6);font-family:inherit;font-size:.92em;line-height:1.35"
)
_OF_PYTHON = "font-weight:bold;background:rgba(220,60,40,.28)"
_OF_CYTHON = "font-style:italic;background:rgba(230,130,0,.25)"
#: Cython's names for pieces of C that call: Python's C API, and Cython's own functions around it.
_STYLES = {
    "py_c_api": _OF_PYTHON, "py_macro_api": _OF_PYTHON, "pyx_c_api": _OF_CYTHON, "pyx_macro_api": _OF_CYTHON,
}  # fmt: skip
#: Opacity of the tint that the heaviest lines come near to; more would take the contrast from light text.
_DEEPEST = 0.36


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
    pieces : tuple of (kind, text)
        Its C, each piece with the name that Cython gives to its purpose (``"py_c_api"``, ``"error_goto"``, ... or
        ``""``); empty for none.
    """

    number: int
    source: str
    score: int
    pieces: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def calls(self) -> int:
        """Calls of Python's C API and of Cython's functions around it."""
        return sum(kind in _STYLES for kind, _ in self.pieces)


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

    def place_at(self, place: CellPlace) -> Annotated:
        """The same with the name and the lines that it has there."""
        lines = tuple(replace(line, number=place.line(line.number)) for line in self.lines)
        return replace(self, name=place.name, lines=lines)

    @property
    def summary(self) -> str:
        """How many lines call Python, and which one most, in a sentence."""
        most = max(self.lines, key=lambda line: line.calls)
        if not most.calls:
            return "No line calls Python."
        calling = sum(line.calls > 0 for line in self.lines)
        return f"Lines that call Python: {calling} of {len(self.lines)}, line {most.number} most ({most.calls}x)."

    def to_text(self) -> str:
        """A line of text for each line of the cell: number, calls of Python, source."""
        title = f"{self.name}: " if self.name else ""
        return "\n".join(
            [title + self.summary, _format_row("line", "calls", " source"), *map(_format_text, self.lines)]
        )

    def to_html(self) -> str:
        """One fragment with inline styles only; a line's C is folded under it."""
        title = f"<strong>{html.escape(self.name)}</strong>: " if self.name else ""
        rows = [
            f'<div style="{_ROW};opacity:.75">{_format_row("line", "calls", " source")}</div>',
            *map(_format_html, self.lines),
        ]
        if self.complete:
            rows.append(_fold("Complete cythonized code", "", html.escape(self.complete)))
        return (
            f'<div style="overflow-x:auto;{_FACE}">'
            f'<div style="padding:.2em .4em">{title}{html.escape(self.summary)} Click a line to see its C code: '
            f'<span style="{_OF_PYTHON}">Python</span>, '
            f'<span style="{_OF_CYTHON}">Cython\'s calls around Python</span>.</div>'
            f'<div style="min-width:max-content">{"".join(rows)}</div></div>'
        )

    def to_json(self) -> str:
        """The view as JSON, for `from_json`."""
        lines = [[line.number, line.source, line.score, line.pieces] for line in self.lines]
        fields = {"name": self.name, "lines": lines, "complete": self.complete}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Annotated:
        """Read the text of `to_json`."""
        fields = json.loads(text)
        rows = (AnnotatedLine(a, b, c, tuple((k, t) for k, t in pieces)) for a, b, c, pieces in fields["lines"])
        return cls(tuple(rows), fields["name"], fields["complete"])

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def _format_row(number: object, calls: object, source: str) -> str:
    return f"{number:>4} {calls:>5} {source}".rstrip()


def _format_text(line: AnnotatedLine) -> str:
    # A line that became C without a call of Python has a 0, one that became nothing has no figure.
    return _format_row(line.number, line.calls if line.pieces else "", f" {line.source}")


def _format_html(line: AnnotatedLine) -> str:
    row = html.escape(_format_text(line))
    if not line.pieces:
        return f'<div style="{_ROW}">{row}</div>'
    # Cython's scores run from 1 to hundreds: the tint rises fast at first.
    depth = _DEEPEST * (1 - 1 / (1 + line.score / 10))
    tint = f"background:rgba(255,190,0,{depth:.2f})" if line.score else ""
    pieces = ((_STYLES.get(kind), html.escape(text)) for kind, text in line.pieces)
    return _fold(row, tint, "".join(f'<span style="{style}">{c}</span>' if style else c for style, c in pieces))


def _fold(summary: str, tint: str, code: str) -> str:
    style = f"display:list-item;list-style-position:outside;cursor:pointer;{_ROW};{tint}".rstrip(";")
    return (
        f'<details style="margin:0"><summary style="{style}">{summary}</summary>'
        f'<pre style="{_CODE}">{code}</pre></details>'
    )


# ------------------------------------------------------------------------------------------- read


def read(page: str, *, name: str = "", complete: str = "") -> Annotated:
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
    for _, kind, score, body in _PRE.findall(page):
        if kind == "code" and lines:
            lines[-1] = replace(lines[-1], pieces=_find_pieces(body))
        elif text := _LINE.fullmatch(html.unescape(_TAG.sub("", body))):
            lines.append(AnnotatedLine(int(text[1]), text[2], int(score)))
    if not lines:
        raise ToolchainError(
            "Cython's annotated page cannot be read: it contains no line of the cell.",
            remedy="Remove -a, or install another version: pip install 'cython>=3.1'",
        )
    return Annotated(tuple(lines), name, complete)


def _find_pieces(body: str) -> tuple[tuple[str, str], ...]:
    parts = _SPAN.split(body)  # a kind, its text and the text after it alternate
    pieces = [("", parts[0])]
    for kind, text, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pieces += [(kind, text), ("", after)]
    return tuple((kind, html.unescape(text)) for kind, text in pieces if text)
