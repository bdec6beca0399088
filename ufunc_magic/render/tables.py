"""Rows of a comparison, numbers as people read them, and tables in text and HTML.  Pure values.

Styles are inline because JupyterLab and GitHub drop classes and style sheets.  No text colour is set
without its own background, so that dark and light pages both work; a bar is a border because borders
are printed and backgrounds are not.  Where even inline styles are dropped, the numbers are the table.
"""

from __future__ import annotations

import html
import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["python", "numpy", "scalar", "ufunc", "parallel", "compiled", "gpu", "other"]

HEADS = ("time", "spread", "per element", "speed-up")

#: Meanings of words, for tooltips and below the table; docs/table.md has more.
MEANINGS = {
    "time": "time of one call: the minimum of at least five rounds, in which the rows take turns",
    "spread": "how much longer the median round took",
    "per element": "time / elements",
    "speed-up": "how many times faster than the Python loop, or than the first row if there is no Python loop",
    "Python loop": "calls the function, written in plain Python, on each element of lists; the result is a list",
    "NumPy expression": "the same computation as one NumPy expression on arrays",
    "ufunc": "the compiled function, called on arrays",
    "identical": "bitwise equal",
    "ulp": "units in the last place of the expected value",
    "up to rounding": "other last bits of the inputs, or of results on the way, cause a difference of the same size",
    "checked": "compared with the same function in Python, with C's rules for numbers",
    "as C does": "some of the timed elements need C's rules for integers, so the loop includes them",
    "timed on": "measured on the first elements, then scaled up",
    "memory-bound": "it reads its inputs and writes its results about as fast as the machine can",
    "memory bandwidth": "the throughput of a NumPy addition on arrays of this size, measured on this machine",
    "compute-bound": "the computation takes the time; memory could deliver more",
    "mostly the cost of a call": "there are too few elements for other conclusions",
    "not vectorized": "because of this loop, the compiler cannot process several elements at once",
    "busy machine": "other programs slow down the rows unequally, so the speed-up is shown as a range",
}
_WORDS = re.compile(
    f"({'|'.join(re.escape(word) for word in sorted(list(MEANINGS)[len(HEADS) :], key=len, reverse=True))})"
)


@dataclass(frozen=True)
class Agreement:
    """How far results are from the expected ones.

    Attributes
    ----------
    ok : bool
    max_ulp : float
        Largest difference in units in the last place of the expected value; for integers the
        largest difference itself; infinite where one result is not finite and the other is.
    worst : tuple or None
        ``(inputs, expected, got)`` at the worst element as Python numbers, or None where nothing differs.
    compared : int
        Elements compared.
    detail : str
        One sentence where ``ok`` is false, or where the differences need an explanation.
    """

    ok: bool
    max_ulp: float
    worst: tuple[Any, Any, Any] | None = None
    compared: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Row:
    """One way of computing the same thing, and what it costs.

    Attributes
    ----------
    label : str
    kind : {"python", "numpy", "scalar", "ufunc", "parallel", "compiled", "gpu", "other"}
        "scalar" is a Python loop around a compiled function, "compiled" a compiled function that is no ufunc, "gpu"
        what ran on a device.
    elements : int
        Elements of a call that takes ``seconds``; 0 for a call without arrays.
    measured : int
        Elements that were really computed; fewer than ``elements`` means that ``seconds`` is scaled.
    seconds : float
        Time of one call over ``elements`` elements, the least of all rounds, the allocation of its result included.
    spread : float or None
        How much longer the median round took, relative to the least; None for fewer than three rounds.
    speedup : float or None
        Times faster than the baseline row; None where results disagree.
    agreement : Agreement or None
        None for the row that the others are compared with, and if nothing could be compared.
    bandwidth : float or None
        Bytes of inputs and outputs per second, as a fraction of what a copy reaches on this machine, or on its device.
    note : str
    compile_seconds : float or None
        Seconds that compiling took; None if nothing was compiled.
    speedup_range : pair of float or None
        The range of the speed-up, if rounds disagreed.
    text : str
        The timed Python function, if the package wrote it.
    """

    label: str
    kind: Kind
    elements: int
    measured: int
    seconds: float
    spread: float | None = None
    speedup: float | None = None
    agreement: Agreement | None = None
    bandwidth: float | None = None
    note: str = ""
    compile_seconds: float | None = None
    speedup_range: tuple[float, float] | None = None
    text: str = ""

    @property
    def per_element(self) -> float:
        """Seconds per element."""
        return self.seconds / self.elements if self.elements else 0.0

    @property
    def ok(self) -> bool:
        """It does not disagree with the expected results."""
        return self.agreement is None or self.agreement.ok

    @property
    def alarm(self) -> str:
        """How it disagrees; ``""`` if it does not."""
        return f"DISAGREES {self.agreement.detail}".rstrip() if self.agreement and not self.ok else ""


@dataclass(frozen=True)
class Level:
    """A level of the machine's caches: ``"L2"``, its bytes, and how many elements of a comparison fill it."""

    name: str
    bytes: int
    elements: int


def agrees(rows: Sequence[Row]) -> bool:
    """No row disagrees with the expected results."""
    return all(row.ok for row in rows)


#: Columns that the text form may use.
WIDTH = 100

#: Bar colours: at least 3:1 (WCAG 2.2, 1.4.11) against white and against #111111 alike.
BARS = {"python": "#8a8a8a", "scalar": "#8a8a8a", "numpy": "#c07a1a", "other": "#8a72c9"}
BAR = "#2f86c6"

_RED_BADGE = "background:#b3261e;color:#ffffff;font-weight:bold;padding:0 .4em;border-radius:.2em"


def significant(value: float) -> str:
    """``value`` with three significant digits and no exponent: ``0.934``, ``5.21``, ``1,230``."""
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.3g}")
    if rounded == 0 or abs(rounded) < 1e-4:
        return f"{rounded:.3g}"
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def duration(seconds: float) -> str:
    """``seconds`` in the unit that leaves one to three digits before the point: ``"5.21 ms"``."""
    rounded = float(f"{seconds:.3g}")  # before the unit is chosen: 999.9 us is 1.00 ms
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(rounded) * factor >= 1:
            return f"{significant(rounded * factor)} {unit}"
    return f"{significant(rounded * 1e9)} ns"


def ratio(value: float) -> str:
    """A speed-up: ``"1x"`` for the baseline itself, ``"29.2x"`` otherwise."""
    return "1x" if value == 1 else f"{significant(value)}x"


def ratio_range(low: float, high: float) -> str:
    """The range of a speed-up, ``"29-61x"``."""
    ends = [f"{float(f'{value:.2g}'):,g}" for value in (low, high)]
    return f"{'-'.join(dict.fromkeys(ends))}x"


def percent(value: float) -> str:
    """A fraction in whole per cent: ``"71 %"``; a small one that is not nothing is ``"<1 %"``."""
    return "<1 %" if 0 < value < 0.005 else f"{value * 100:.0f} %"


def count(number: int, noun: str = "") -> str:
    """``"1,000,000 elements"``, ``"1 element"``."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@dataclass(frozen=True)
class Cells:
    """One row of a table, already in words.

    ``alarm`` is shown first among the remarks and in red; ``bar`` is a share of the longest bar,
    ``None`` for no bar; ``kind`` picks the bar's colour.  ``text`` is the full text of the label,
    its tooltip.
    """

    label: str
    figures: tuple[str, ...]
    alarm: str = ""
    note: str = ""
    bar: float | None = None
    kind: str = "ufunc"
    text: str = ""


def text_table(heads: Sequence[str], rows: Sequence[Cells]) -> list[str]:
    """Aligned lines, at most ``WIDTH`` columns wide; a remark that does not fit goes below its row."""
    label_width = max((len(row.label) for row in rows), default=0)
    widths = [max(len(head), *(len(row.figures[i]) for row in rows)) if rows else 0 for i, head in enumerate(heads)]

    def line(label: str, figures: Sequence[str]) -> str:
        cells = [figure.rjust(width) for figure, width in zip(figures, widths, strict=True)]
        return "  ".join([f"  {label.ljust(label_width)}", *cells])

    lines = [line("", heads)]
    for row in rows:
        start = line(row.label, row.figures)
        remark = "; ".join(part for part in (row.alarm, row.note) if part)
        if len(start) + 2 + len(remark) <= WIDTH:
            lines.append(f"{start}  {remark}".rstrip())
        else:
            lines += [start.rstrip(), *textwrap.wrap(remark, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return lines


def escape(text: str) -> str:
    """``text`` as HTML, quotes included."""
    return html.escape(text, quote=True)


#: Rows are lines that wrap: in a narrow notebook the bar and the remark go below the figures, and heads wrap alike.
_ROW = "display:flex;flex-wrap:wrap;align-items:center;padding:0;background:transparent"
_CELL = "box-sizing:border-box;padding:.15em .3em;border:none;text-align:"
_BAR, _REMARK = "flex:0 0 8.8em", "flex:1 1 12em"

TABLE = (
    '<table style="display:flex;flex-direction:column;width:auto;border-collapse:collapse;border:none;margin:0;'
    'color:inherit;font-variant-numeric:tabular-nums">'
)
CAPTION = "display:block;text-align:left;padding:.3em;color:inherit"

#: A label that is longer than this wraps.
_LONGEST = 24


def widths(heads: Sequence[str], rows: Sequence[Cells]) -> tuple[str, ...]:
    """The widths of the label and each figure, as styles, so that all groups of a table have equal columns."""
    # In widths of a digit: letters are narrower, and an em of padding is nearly two of them.
    label = 0.9 * min(_LONGEST, max((len(row.label) for row in rows), default=0)) + 1.2
    columns = [max([0.85 * len(head), *(len(row.figures[n]) for row in rows)]) + 1 for n, head in enumerate(heads)]
    return (f"flex:0 0 min({label:.1f}ch,60%)", *(f"flex:0 0 {wide:.1f}ch;white-space:nowrap" for wide in columns))


def html_heads(heads: Sequence[str], widths: Sequence[str], *, bars: bool = True) -> str:
    """The header row: a label column, the figures, and where there are bars, those and the remarks."""
    parts = [_head("", f"left;{widths[0]}")]
    parts += [_head(head, f"right;{width}") for head, width in zip(heads, widths[1:], strict=True)]
    parts += [_head("longer is faster", f"left;{_BAR}"), _head("", "left;flex:1 1 0")] if bars else []
    return f'<thead style="display:block;border:none"><tr style="{_ROW}">{"".join(parts)}</tr></thead>'


def _head(text: str, style: str) -> str:
    # An empty header cell is announced as a nameless column; a plain cell is not.
    if not text:
        return f'<td style="{_CELL}{style}"></td>'
    face = "font-weight:normal;font-style:italic"
    return f'<th scope="col"{_meaning(text)} style="{_CELL}{style};{face}">{escape(text)}</th>'


def _meaning(word: str) -> str:
    return f' title="{escape(MEANINGS[word])}"' if word in MEANINGS else ""


def explained(text: str) -> str:
    """``text`` as HTML; words of `MEANINGS` say what they mean where a pointer rests on them."""
    parts = _WORDS.split(text)  # every other one is such a word
    return "".join(
        f"<span{_meaning(part)}>{escape(part)}</span>" if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def words_in(text: str) -> list[str]:
    """The words of `MEANINGS` that a text uses, in their order."""
    return [word for word in MEANINGS if word in text]


def html_row(row: Cells, widths: Sequence[str], *, heads: Sequence[str] = (), bars: bool = True) -> str:
    """One ``<tr>``: the label as its header, the figures, and where there are bars, that and the remarks."""
    label = explained(row.label)
    if row.text:
        label = f'<span title="{escape(row.text)}">{escape(row.label)}</span>'
    parts = [f'<th scope="row" style="{_CELL}left;{widths[0]};font-weight:normal">{label}</th>']
    for figure, width, head in itertools.zip_longest(row.figures, widths[1:], heads, fillvalue=""):
        parts.append(f'<td{_meaning(head)} style="{_CELL}right;{width}">{escape(figure)}</td>')
    if bars:
        word, _, rest = row.alarm.partition(" ")
        badge = f'<strong style="{_RED_BADGE}">{escape(word)}</strong> {escape(rest)}'.rstrip() if word else ""
        remarks = "; ".join(filter(None, (badge, explained(row.note))))
        parts.append(f'<td style="{_CELL}left;{_BAR}">{_bar(row)}</td>')
        parts.append(f'<td style="{_CELL}left;{_REMARK if remarks else "flex:1 1 0"}">{remarks}</td>')
    return f'<tr style="{_ROW}">{"".join(parts)}</tr>'


def _bar(row: Cells) -> str:
    if row.bar is None:
        return ""
    width = min(100.0, max(1.0, row.bar * 100))
    color = BARS.get(row.kind, BAR)
    return f'<div aria-hidden="true" style="width:{width:.1f}%;border-top:.75em solid {color}"></div>'


def verdict(rows: Sequence[Row], inputs: str = "") -> str:
    """The number of elements, the inputs, and whether the results agree."""
    sizes = sorted({row.elements for row in rows})
    elements = count(sizes[0], "element") if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1], 'element')}"
    return "; ".join(filter(None, (elements if sizes[-1] else "", inputs, _results(rows))))


def _results(rows: Sequence[Row]) -> str:
    checks = [row.agreement for row in rows if row.agreement is not None]
    if not checks:
        return "results not checked"
    # Threads are compared with one thread, everywhere: that says nothing about the expectation.
    alone = [row.agreement for row in rows if row.agreement is not None and row.kind != "parallel"]
    compared = max(check.compared for check in alone or checks)
    if not agrees(rows):
        return "results DISAGREE"
    worst = max(checks, key=lambda check: (bool(check.detail), check.max_ulp))
    if worst.max_ulp == 0:
        return f"results are identical ({count(compared)} checked)"
    if worst.detail:
        return f"results agree {worst.detail} ({count(compared)} checked)"
    return f"results agree to {count(math.ceil(worst.max_ulp))} ulp ({count(compared)} checked)"


def cells_of(rows: Sequence[Row]) -> list[Cells]:
    """Rows of one size in words."""
    fastest = max((row.speedup for row in rows if row.speedup is not None), default=0.0)
    cells = []
    for row in rows:
        speedup = row.speedup if row.ok else None
        figures = (
            duration(row.seconds),
            "" if row.spread is None else percent(row.spread),
            duration(row.per_element) if row.elements else "",
            "" if speedup is None else ratio_range(*row.speedup_range) if row.speedup_range else ratio(speedup),
        )
        bar = None if speedup is None or not fastest else speedup / fastest
        cells.append(Cells(row.label, figures, row.alarm, remark(row), bar, row.kind, row.text))
    return cells


def remark(row: Row) -> str:
    """The remark on a row."""
    scaled = f"timed on {count(row.measured, 'element')}" if row.measured < row.elements else ""
    compiled = "" if row.compile_seconds is None else f"compiled in {duration(row.compile_seconds)}"
    return "; ".join(filter(None, (scaled, row.note, compiled)))


def text_group(rows: Sequence[Row], title: Sequence[str], *, inputs: str, notes: Sequence[str]) -> list[str]:
    """Lines: the title, whether results agree, the table, the notes."""
    lines = ["  ".join(part for part in title if part)]
    if rows:
        lines += wrapped(verdict(rows, inputs), indent="  ")
        lines += text_table(HEADS, cells_of(rows))
    return [*lines, *(line for note in notes for line in wrapped(f"note: {note}", indent="  "))]


def wrapped(text: str, *, indent: str = "") -> list[str]:
    """Lines within the width; lines that the text has itself (source lines, carets) stay as they are."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith((" ", "\t")) or not line:
            lines.append(indent + line)
        else:
            lines += textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
    return lines


def html_group(
    rows: Sequence[Row], title: Sequence[str], *, inputs: str, notes: Sequence[str], widths: Sequence[str]
) -> str:
    """A ``<tbody>``: the title and the verdict as the header of its group, the rows, the notes."""
    call, *types = title
    words = [escape(part) for part in types if part] + ([explained(verdict(rows, inputs))] if rows else [])
    span = f'colspan="{len(HEADS) + 3}" style="flex:1 1 100%;text-align:left;border:none'
    line = "border-bottom:1px solid rgba(128,128,128,.6)"
    head = (
        f'<tr style="{_ROW}"><th scope="rowgroup" {span};{line};padding:.5em .3em .2em;font-weight:normal">'
        f"{' &ensp;'.join([f'<strong>{escape(call)}</strong>', *words])}</th></tr>"
    )
    lines = "".join(
        f'<tr style="{_ROW}"><td {span};padding:.15em .3em">note: {explained(note)}</td></tr>' for note in notes
    )
    body = "".join(html_row(row, widths, heads=HEADS) for row in cells_of(rows))
    return f'<tbody style="display:block">{head}{body}{lines}</tbody>'
