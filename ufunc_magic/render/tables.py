"""Numbers, text tables and HTML tables as people read them: pure functions from cells to text.

Styles are inline because JupyterLab and GitHub drop classes and style sheets.  No text colour is set
without its own background, so that dark and light pages both work; a bar is a border because borders
are printed and backgrounds are not.  Where even inline styles are dropped, the numbers are the table.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "WIDTH",
    "Cells",
    "count",
    "duration",
    "escape",
    "html_heads",
    "html_row",
    "percent",
    "ratio",
    "significant",
    "text_table",
]

#: Columns that the text form may use.
WIDTH = 100

#: Bar colours: at least 3:1 (WCAG 2.2, 1.4.11) against white and against #111111 alike.
BARS = {"python": "#8a8a8a", "scalar": "#8a8a8a", "numpy": "#c07a1a", "other": "#8a72c9"}
BAR = "#2f86c6"

_RED_BADGE = "background:#b3261e;color:#ffffff;font-weight:bold;padding:0 .4em;border-radius:.2em"
_RED_TEXT = "\x1b[1;31m{}\x1b[0m"


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
    ``None`` for no bar; ``kind`` picks the bar's colour.
    """

    label: str
    figures: tuple[str, ...]
    alarm: str = ""
    note: str = ""
    bar: float | None = None
    kind: str = "ufunc"


def text_table(heads: Sequence[str], rows: Sequence[Cells], *, color: bool = False) -> list[str]:
    """Aligned lines, at most ``WIDTH`` columns wide; a remark that does not fit goes below its row.

    Parameters
    ----------
    heads : sequence of str
        Titles of the figures' columns.
    rows : sequence of Cells
    color : bool
        Mark alarms with the terminal's red.
    """
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
            below = []
        else:
            below = textwrap.wrap(remark, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
            remark = ""
        block = [f"{start}  {remark}".rstrip(), *below]
        if color and row.alarm:
            word = row.alarm.split()[0]
            block = [part.replace(word, _RED_TEXT.format(word)) for part in block]
        lines.extend(block)
    return lines


def escape(text: str) -> str:
    """``text`` as HTML, quotes included."""
    return html.escape(text, quote=True)


_CELL = "padding:.15em .7em;white-space:nowrap;vertical-align:middle;border:none;text-align:"


def html_heads(heads: Sequence[str]) -> str:
    """The header row: a label column, the figures, the bar and the remarks."""
    ends = [_th("", "left"), *(_th(head, "right") for head in heads), _th("longer is faster", "left"), _th("", "left")]
    return f"<thead><tr>{''.join(ends)}</tr></thead>"


def _th(text: str, align: str) -> str:
    # An empty header cell is announced as a nameless column; a plain cell is not.
    if not text:
        return f'<td style="{_CELL}{align}"></td>'
    return f'<th scope="col" style="{_CELL}{align};font-weight:normal;font-style:italic">{escape(text)}</th>'


def html_row(row: Cells) -> str:
    """One ``<tr>``: the label as its header, the figures, a bar, the remarks."""
    parts = [f'<th scope="row" style="{_CELL}left;font-weight:normal">{escape(row.label)}</th>']
    parts += [f'<td style="{_CELL}right">{escape(figure)}</td>' for figure in row.figures]
    parts.append(f'<td style="{_CELL}left;min-width:10em">{_bar(row)}</td>')
    remarks = []
    if row.alarm:
        word, _, rest = row.alarm.partition(" ")
        remarks.append(f'<strong style="{_RED_BADGE}">{escape(word)}</strong> {escape(rest)}'.rstrip())
    if row.note:
        remarks.append(escape(row.note))
    parts.append(f'<td style="{_CELL}left;white-space:normal">{"; ".join(remarks)}</td>')
    return f'<tr style="background:transparent">{"".join(parts)}</tr>'


def _bar(row: Cells) -> str:
    if row.bar is None:
        return ""
    width = min(100.0, max(1.0, row.bar * 100))
    color = BARS.get(row.kind, BAR)
    return f'<div aria-hidden="true" style="width:{width:.1f}%;border-top:.75em solid {color}"></div>'
