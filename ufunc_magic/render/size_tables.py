"""A comparison over many sizes as a table of time per element, in text and HTML, with its drawing.  Pure values."""

from __future__ import annotations

from collections.abc import Sequence

from .figure import drawable, figure
from .rows import Level, Row, remark, verdict, wrapped
from .tables import WIDTH, count, duration, escape

__all__ = ["drawing", "html_sizes", "is_over_sizes", "text_sizes"]

#: From here on a row for each size and a column for each way of computing reads better than the reverse.
FEWEST = 3
#: A column's head is cut here.
HEAD = 20

_CELL = "padding:.1em .7em;white-space:nowrap;border:none;text-align:right"


def is_over_sizes(rows: Sequence[Row]) -> bool:
    """The rows are of so many sizes that they are shown as a table of sizes."""
    return len({row.elements for row in rows if row.elements > 0}) >= FEWEST


def drawing(rows: Sequence[Row], *, title: str, levels: Sequence[Level]) -> str:
    """The picture as a file, or ``""`` where there is nothing to draw."""
    return figure(rows, title=title, levels=levels, file=True) if drawable(rows) else ""


def text_sizes(
    rows: Sequence[Row], title: Sequence[str], *, notes: Sequence[str], levels: Sequence[Level]
) -> list[str]:
    """Lines: the title, whether results agree, a line for each size, remarks and notes."""
    lines = ["  ".join(part for part in title if part), *wrapped(f"{verdict(rows)}; time per element", indent="  ")]
    sizes = [count(size) for size in _sizes(rows)]
    first = max(map(len, ["elements", *sizes]))
    columns = [[_cut(label), *cells] for label, cells in _columns(rows)]
    widths = [max(map(len, column)) for column in columns]
    while columns:  # as many columns side by side as the width takes
        fit = 1
        while fit < len(columns) and 2 + first + sum(w + 2 for w in widths[: fit + 1]) <= WIDTH:
            fit += 1
        for n, head in enumerate(["elements", *sizes]):
            cells = [column[n].rjust(width) for column, width in zip(columns[:fit], widths, strict=False)]
            lines.append("  ".join([f"  {head.rjust(first)}", *cells]).rstrip())
        columns, widths = columns[fit:], widths[fit:]
    below = [*_remarks(rows), *_caches(levels), *(f"note: {note}" for note in notes)]
    return [*lines, *(line for words in below for line in wrapped(words, indent="  "))]


def html_sizes(rows: Sequence[Row], title: Sequence[str], *, notes: Sequence[str], levels: Sequence[Level]) -> str:
    """The title, the drawing, the table folded under it, remarks and notes."""
    call, *types = title
    words = " &ensp;".join(escape(part) for part in (*types, verdict(rows)) if part)
    parts = [f'<div style="padding:.5em .7em .2em"><strong>{escape(call)}</strong> &ensp;{words}</div>']
    drawn = drawable(rows)
    if drawn:
        # The theme's own text colour; where pictures are dropped from a page, the table below says it all.
        parts.append(f'<div style="color:inherit">{figure(rows, title=call, levels=levels)}</div>')
    table = _html_table(rows, caption=f"{call}: time per element")
    folded = '<details style="padding:0 .7em"><summary style="display:list-item;cursor:pointer">figures</summary>'
    parts.append(f"{folded}{table}</details>" if drawn else table)
    below = [*_remarks(rows), *(f"note: {note}" for note in notes)]
    parts += [f'<div style="padding:.15em .7em;white-space:pre-wrap">{escape(words)}</div>' for words in below]
    return "".join(parts)


def _html_table(rows: Sequence[Row], *, caption: str) -> str:
    columns = _columns(rows)
    heads = "".join(
        f'<th scope="col" style="{_CELL};font-weight:normal;font-style:italic">{escape(head)}</th>'
        for head in ("elements", *(label for label, _ in columns))
    )
    body = []
    for n, size in enumerate(_sizes(rows)):
        cells = "".join(f'<td style="{_CELL}">{escape(column[n])}</td>' for _, column in columns)
        first = f'<th scope="row" style="{_CELL};font-weight:normal">{count(size)}</th>'
        body.append(f'<tr style="background:transparent">{first}{cells}</tr>')
    return (
        '<table style="border-collapse:collapse;border:none;margin:0;table-layout:auto;color:inherit;'
        f'font-variant-numeric:tabular-nums"><caption style="text-align:left;padding:.2em .7em;color:inherit">'
        f"{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row.elements for row in rows if row.elements > 0})


def _columns(rows: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """Each label with its cost at every size, ``""`` where it was not measured."""
    labels = dict.fromkeys(row.label for row in rows)
    at = {(row.label, row.elements): row for row in rows}
    return [(label, [_cost(at.get((label, size))) for size in _sizes(rows)]) for label in labels]


def _cost(row: Row | None) -> str:
    if row is None:
        return ""
    return duration(row.per_element) if row.agreement is None or row.agreement.ok else "DISAGREES"


def _cut(label: str) -> str:
    return label if len(label) <= HEAD else f"{label[: HEAD - 1]}…"


def _remarks(rows: Sequence[Row]) -> list[str]:
    """What rows have to say, once for each label: of the largest size, and why results disagree."""
    found: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.elements):
        wrong = row.agreement is not None and not row.agreement.ok
        alarm = f"DISAGREES {row.agreement.detail}".rstrip() if wrong and row.agreement else ""
        compiled = f"compiled in {duration(row.compile_seconds)}" if row.compile_seconds is not None else ""
        said = "; ".join(part for part in (alarm, remark(row), compiled) if part)
        if alarm or not found.get(row.label, "").startswith("DISAGREES"):
            found[row.label] = said
    return [f"{label}: {said}" for label, said in found.items() if said]


def _caches(levels: Sequence[Level]) -> list[str]:
    if not levels:
        return []
    return ["caches are full at " + ", ".join(f"{count(level.elements)} ({level.name})" for level in levels)]
