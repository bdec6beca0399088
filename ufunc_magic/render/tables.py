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

HEADS = ("time", "per element", "speed-up", "range")

#: Meanings of words, for tooltips and below the table; docs/table.md has more.
MEANINGS = {
    "time": "time of one call: the minimum of at least five rounds, in which the rows take turns",
    "per element": "time / elements",
    "per inner element": "time / elements / numbers in the largest array of each element",
    "speed-up": "how many times faster than the Python loop, or than the first row if there is no Python loop",
    "range": "the speed-up is in this range: it is taken in each round, in which the rows take turns",
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
    "busy machine": "other programs slow down the rows unequally, so the range of a speed-up is wider",
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
        The interval that holds the speed-up in 95 of 100 cases; None for the baseline and for fewer than three rounds.
    text : str
        The timed Python function, if the package wrote it.
    inner : int
        Numbers in the largest array of each element of a generalized ufunc, 1 otherwise.
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
    inner: int = 1

    @property
    def per_element(self) -> float:
        """Seconds per element, of a generalized ufunc per inner element."""
        return self.seconds / (self.elements * self.inner) if self.elements else 0.0

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
WIDTH = 80

#: One colour for each way of computing, in tables, curves and Matplotlib's plots: at least 3:1 (WCAG 2.2, 1.4.11)
#: against white and against #111111 alike.
COLORS = {
    "python": "#8a8a8a",
    "scalar": "#8a8a8a",
    "numpy": "#c07a1a",
    "ufunc": "#2f86c6",
    "compiled": "#2f86c6",
    "parallel": "#1d8f62",
    "gpu": "#5a9216",
}
MORE_COLORS = ("#8a72c9", "#d1507f", "#a0673c", "#0f8f9c")


def choose_colors(rows: Sequence[Row]) -> dict[str, str]:
    """Label -> colour: that of its kind, or the next free one."""
    chosen: dict[str, str] = {}
    for row in rows:
        if row.label not in chosen:
            free = [color for color in (COLORS.get(row.kind, ""), *MORE_COLORS) if color not in chosen.values()]
            chosen[row.label] = next(filter(None, free), MORE_COLORS[len(chosen) % len(MORE_COLORS)])
    return chosen


_RED_BADGE = "background:#b3261e;color:#ffffff;font-weight:bold;padding:0 .4em;border-radius:.2em"


def spell_significant(value: float) -> str:
    """``value`` with three significant digits and no exponent: ``0.934``, ``5.21``, ``1,230``."""
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.3g}")
    if rounded == 0 or abs(rounded) < 1e-4:
        return f"{rounded:.3g}"
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def spell_duration(seconds: float) -> str:
    """``seconds`` in the unit that leaves one to three digits before the point: ``"5.21 ms"``."""
    rounded = float(f"{seconds:.3g}")  # before the unit is chosen: 999.9 us is 1.00 ms
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(rounded) * factor >= 1:
            return f"{spell_significant(rounded * factor)} {unit}"
    return f"{spell_significant(rounded * 1e9)} ns"


def spell_ratio(value: float) -> str:
    """A speed-up in the direction that people ask: ``"29.2x"``, ``"3.1x slower"``; ``"1x"`` for the baseline itself."""
    if value == 1:
        return "1x"
    return f"{spell_significant(max(1.0, value))}x" if value >= 0.995 else f"{spell_significant(1 / value)}x slower"


def spell_ratio_range(low: float, high: float) -> str:
    """The range of a speed-up: ``"29-61"``; of one that is slower, ``"2.9-3.4"`` times."""
    if high < 1 and low > 0:
        low, high = 1 / high, 1 / low
    ends = (f"{float(f'{value:.{2 if value < 100 else 3}g}'):,.{12}g}" for value in (low, high))
    return "-".join(dict.fromkeys(ends))


def spell_percent(value: float) -> str:
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
    ``None`` for no bar; ``color`` is the bar's.  ``text`` is the full text of the label, its tooltip.
    """

    label: str
    figures: tuple[str, ...]
    alarm: str = ""
    note: str = ""
    bar: float | None = None
    color: str = COLORS["ufunc"]
    text: str = ""


#: Letters of a label that text shows at least.
_LEAST_LABEL = 12


def write_text_table(heads: Sequence[str], rows: Sequence[Cells]) -> list[str]:
    """Aligned lines, at most ``WIDTH`` columns wide; a remark that does not fit after its row goes below it."""
    widths = [max(len(head), *(len(row.figures[i]) for row in rows)) if rows else 0 for i, head in enumerate(heads)]
    most = WIDTH - 2 - sum(width + 2 for width in widths)
    label_width = min(max((len(row.label) for row in rows), default=0), max(most, _LEAST_LABEL))

    def line(label: str, figures: Sequence[str]) -> str:
        cells = [figure.rjust(width) for figure, width in zip(figures, widths, strict=True)]
        shown = label if len(label) <= label_width else f"{label[: label_width - 1]}…"
        return "  ".join([f"  {shown.ljust(label_width)}", *cells])

    lines = [line("", heads)]
    for row in rows:
        start = line(row.label, row.figures)
        remark = "; ".join(part for part in (row.alarm, row.note) if part)
        short = start if len(start) + 2 + len(remark) <= WIDTH else start.rstrip()
        if len(short) + 2 + len(remark) <= WIDTH:
            lines.append(f"{short}  {remark}".rstrip())
        else:
            lines += [start.rstrip(), *textwrap.wrap(remark, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return lines


def escape(text: str) -> str:
    """``text`` as HTML, quotes included."""
    return html.escape(text, quote=True)


#: JupyterLab stripes the rows of tables and aligns their cells otherwise.
_ROW = "background:transparent"
_CELL = "padding:.15em .3em;border:none;vertical-align:top;text-align:"
_FIGURE = "right;white-space:nowrap"
#: Heads and labels wrap in a narrow notebook, so that the figures fit: they are never wrapped.
_HEAD, _LABEL = "right;vertical-align:bottom", "left;max-width:18em"

#: Rules by the width of the output: in a notebook of 400 pixels smaller letters show all columns.
_AROUND = "overflow-x:auto;container-type:inline-size"

TABLE_STYLE = (
    "width:auto;border-collapse:collapse;border:none;margin:.2em 0;color:inherit;font-size:min(1em,3.9cqw);"
    "font-variant-numeric:tabular-nums"
)


def write_html_table(
    heads: Sequence[str], rows: Sequence[Cells], *, name: str, bars: bool = True, corner: str = ""
) -> str:
    """A ``<table>``: labels, where there are bars with theirs, and figures under their heads; remarks below it.

    A column of remarks would be a few letters wide in a narrow notebook, or hidden.
    """
    corner = corner or "longer is faster" * (bars and any(row.bar is not None for row in rows))
    whole = ";white-space:nowrap"  # "speed-up" would end a line after its hyphen
    parts = [_write_head(corner, f"{_LABEL};vertical-align:bottom")]
    parts += [_write_head(head, _HEAD if " " in head else _HEAD + whole) for head in heads]
    body = "".join(write_html_row(row, heads=heads, bars=bars) for row in rows)
    remarks = "".join(_write_html_remark(row) for row in rows) if bars else ""
    return (
        f'<div style="{_AROUND}"><table aria-label="{escape(name)}" style="{TABLE_STYLE}">'
        f'<thead><tr style="{_ROW}">{"".join(parts)}</tr></thead><tbody>{body}</tbody></table></div>{remarks}'
    )


def _write_html_remark(row: Cells) -> str:
    words = "; ".join(filter(None, (row.alarm.partition(" ")[2], row.note)))
    return f'<div style="padding:0 .3em"><em>{escape(row.label)}</em>: {explain_words(words)}</div>' if words else ""


def _write_head(text: str, style: str) -> str:
    # An empty header cell is announced as a nameless column; a plain cell is not.
    if not text:
        return f'<td style="{_CELL}{style}"></td>'
    face = "font-weight:normal;font-style:italic"
    return f'<th scope="col"{_find_meaning(text)} style="{_CELL}{style};{face}">{escape(text)}</th>'


def _find_meaning(word: str) -> str:
    return f' title="{escape(MEANINGS[word])}"' if word in MEANINGS else ""


def explain_words(text: str) -> str:
    """``text`` as HTML; words of `MEANINGS` say what they mean where a pointer rests on them."""
    parts = _WORDS.split(text)  # every other one is such a word
    return "".join(
        f"<span{_find_meaning(part)}>{escape(part)}</span>" if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def find_words(text: str) -> list[str]:
    """The words of `MEANINGS` that a text uses, in their order."""
    return [word for word in MEANINGS if word in text]


def write_html_row(row: Cells, *, heads: Sequence[str] = (), bars: bool = True) -> str:
    """One ``<tr>``: the label as its header, its bar if there are bars, and the figures."""
    label = explain_words(row.label)
    if row.text:
        label = f'<span title="{escape(row.text)}">{escape(row.label)}</span>'
    if row.alarm:
        label += f'<br/><strong style="{_RED_BADGE}">{escape(row.alarm.partition(" ")[0])}</strong>'
    label += _write_bar(row) if bars else ""
    parts = [f'<th scope="row" style="{_CELL}{_LABEL};font-weight:normal">{label}</th>']
    for figure, head in itertools.zip_longest(row.figures, heads, fillvalue=""):
        parts.append(f'<td{_find_meaning(head)} style="{_CELL}{_FIGURE}">{escape(figure)}</td>')
    return f'<tr style="{_ROW}">{"".join(parts)}</tr>'


def _write_bar(row: Cells) -> str:
    if row.bar is None:
        return ""
    width = min(100.0, max(1.0, row.bar * 100))
    style = f"width:{width:.1f}%;margin-top:.1em;border-top:.3em solid {row.color}"
    return f'<div aria-hidden="true" style="{style}"></div>'


def write_verdict(rows: Sequence[Row], inputs: str = "") -> str:
    """The number of elements, the inputs, and whether the results agree."""
    sizes = sorted({row.elements for row in rows})
    elements = count(sizes[0], "element") if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1], 'element')}"
    return "; ".join(filter(None, (elements if sizes[-1] else "", inputs, _describe_results(rows))))


def _describe_results(rows: Sequence[Row]) -> str:
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


def list_heads(rows: Sequence[Row]) -> tuple[str, ...]:
    """The heads of the figures of `list_cells`."""
    inner = any(row.inner > 1 for row in rows)
    return tuple("per inner element" if inner and head == "per element" else head for head in HEADS)


def list_cells(rows: Sequence[Row]) -> list[Cells]:
    """Rows of one size in words."""
    fastest = max((row.speedup for row in rows if row.speedup is not None), default=0.0)
    colors = choose_colors(rows)
    cells = []
    for row in rows:
        speedup = row.speedup if row.ok else None
        figures = (
            spell_duration(row.seconds),
            spell_duration(row.per_element) if row.elements else "",
            "" if speedup is None else spell_ratio(speedup),
            "" if speedup is None or row.speedup_range is None else spell_ratio_range(*row.speedup_range),
        )
        bar = None if speedup is None or not fastest else speedup / fastest
        cells.append(Cells(row.label, figures, row.alarm, write_remark(row), bar, colors[row.label], row.text))
    return cells


#: Kinds of rows that are the function of the cell, and kinds of loops that it replaces.
_OURS, _LOOPS = ("ufunc", "compiled"), ("python", "scalar")


def write_headline(name: str, rows: Sequence[Row]) -> str:
    """The line that people quote, ``"logit: 2.1 ns an element, 118x Python, 2.4x NumPy"``; ``""`` without speed-ups.

    Of a comparison without a Python loop it says which callable is the fastest.
    """
    timed = [row for row in rows if row.ok and row.speedup]
    if len(timed) < 2 or len({row.elements for row in timed}) > 1:
        return ""
    mine = next((row for row in timed if row.kind in _OURS), None)
    loop = next((row for row in timed if row.kind in _LOOPS and row.speedup == 1), None)
    if mine is None or loop is None or mine is loop:
        return _name_fastest(timed)
    each = "an inner element" if mine.inner > 1 else "an element"
    cost = f"{spell_duration(mine.per_element)} {each}" if mine.elements else f"{spell_duration(mine.seconds)} a call"
    numpy = next((row for row in timed if row.kind == "numpy"), None)
    others = [(mine.speedup or 0.0, "Python")]
    others += [((mine.speedup or 0.0) / numpy.speedup, "NumPy")] if numpy and numpy.speedup else []
    return f"{name}: {', '.join([cost, *(_compare_with(times, other) for times, other in others)])}"


def _compare_with(times: float, other: str) -> str:
    words = spell_ratio(times)
    return f"{words} than {other}" if words.endswith("slower") else f"{words} {other}"


def _name_fastest(timed: Sequence[Row]) -> str:
    """``"mine is 1.6x faster than other"``: the fastest of all callables, and the first of the others.

    Where the range of the ratio has 1 inside, neither is known to be faster.
    """
    first, second = sorted(timed, key=lambda row: -(row.speedup or 0.0))[:2]
    other = next((row for row in timed if row.speedup == 1 and row is not first), second)
    times = (first.speedup or 0.0) / (other.speedup or 1.0)
    low, high = (other if first.speedup == 1 else first).speedup_range or (times, times)
    known = times > 1.005 and not low <= 1 <= high
    return f"{first.label} is {spell_ratio(times)} faster than {other.label}" if known else ""


def write_remark(row: Row) -> str:
    """The remark on a row."""
    scaled = f"timed on {count(row.measured, 'element')}" if row.measured < row.elements else ""
    compiled = "" if row.compile_seconds is None else f"compiled in {spell_duration(row.compile_seconds)}"
    return "; ".join(filter(None, (scaled, row.note, compiled)))


def write_text_group(
    rows: Sequence[Row], title: Sequence[str], *, line: str, inputs: str, notes: Sequence[str]
) -> list[str]:
    """Lines: the headline, the call with what it was given and whether results agree, the table, the notes."""
    call = "  ".join(part for part in title if part)
    if not rows:
        lines = [call]
    elif line:
        lines = [*wrap(line), *wrap(f"{call}; {write_verdict(rows, inputs)}", indent="  ")]
    else:
        lines = [call, *wrap(write_verdict(rows, inputs), indent="  ")]
    lines += write_text_table(list_heads(rows), list_cells(rows)) if rows else []
    return [*lines, *(line for note in notes for line in wrap(f"note: {note}", indent="  "))]


def wrap(text: str, *, indent: str = "") -> list[str]:
    """Lines within the width; lines that the text has itself (source lines, carets) stay as they are."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith((" ", "\t")) or not line:
            lines.append(indent + line)
        else:
            lines += textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
    return lines


#: Jupyter keeps this attribute in outputs of trusted notebooks, and drops it in others.
_COPY = "navigator.clipboard.writeText(this.dataset.text)"


def write_html_group(rows: Sequence[Row], title: Sequence[str], *, line: str, inputs: str, notes: Sequence[str]) -> str:
    """The headline with a button that copies it, the call and its verdict, the table, the notes."""
    call, *types = title
    words = " &ensp;".join(
        filter(None, [*map(escape, types), explain_words(write_verdict(rows, inputs)) if rows else ""])
    )
    heading = f"<strong>{escape(line or call)}</strong>"
    if line:
        heading += (
            f' <button type="button" title="copy this line" data-text="{escape(line)}" onclick="{_COPY}" '
            'style="font-size:inherit;padding:0 .4em;background:transparent;color:inherit;border:1px solid">'
            "copy</button>"
        )
        words = f"{escape(call)} &ensp;{words}"
    parts = [f'<div style="padding:.5em .3em 0">{heading}</div>', f'<div style="padding:0 .3em">{words}</div>']
    parts += [write_html_table(list_heads(rows), list_cells(rows), name=f"{call}: times")] if rows else []
    parts += [f'<div style="padding:.15em .3em">note: {explain_words(note)}</div>' for note in notes]
    return "".join(parts)
