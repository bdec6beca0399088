"""One measured way of computing something, and a group of such rows in words.  Pure values.

Below ``report``, which puts groups together.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .tables import WIDTH, Cells, count, duration, escape, html_row, percent, ratio, text_table

__all__ = [
    "HEADS",
    "Agreement",
    "Kind",
    "Level",
    "Row",
    "agrees",
    "heads",
    "html_group",
    "remark",
    "text_group",
    "verdict",
    "wrapped",
]

#: A row whose quartiles are further apart than this, relative to its median, says so.
UNSTEADY = 0.25

#: Below this share of the memory bandwidth a loop is bound by arithmetic, and the share says nothing.
MEMORY_BOUND = 0.2

Kind = Literal["python", "numpy", "scalar", "ufunc", "parallel", "compiled", "gpu", "other"]

HEADS = ("time", "±", "per element", "speed-up")
COMPILE = "compile"


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
        what ran on a GPU.
    elements : int
        Elements that ``seconds`` stands for; 0 for a call that takes no arrays.
    measured : int
        Elements that were really computed; fewer than ``elements`` means that ``seconds`` is scaled.
    seconds : float
        Median time of one call over ``elements`` elements, the allocation of its result included.
    spread : float
        Distance of the quartiles relative to the median.
    speedup : float or None
        Times faster than the baseline row; None where results disagree.
    agreement : Agreement or None
        None for the row that the others are compared with, and where nothing could be compared.
    bandwidth : float or None
        Bytes of inputs and outputs per second, as a fraction of what a copy reaches on this machine, or on its GPU.
    note : str
    compile_seconds : float or None
        What it cost to compile; None where nothing was compiled.
    """

    label: str
    kind: Kind
    elements: int
    measured: int
    seconds: float
    spread: float = 0.0
    speedup: float | None = None
    agreement: Agreement | None = None
    bandwidth: float | None = None
    note: str = ""
    compile_seconds: float | None = None

    @property
    def per_element(self) -> float:
        """Seconds per element."""
        return self.seconds / self.elements if self.elements else 0.0


@dataclass(frozen=True)
class Level:
    """A level of the machine's caches: ``"L2"``, its bytes, and how many elements of a comparison fill it."""

    name: str
    bytes: int
    elements: int


def agrees(rows: Sequence[Row]) -> bool:
    """No row disagrees with the expected results."""
    return all(row.agreement is None or row.agreement.ok for row in rows)


def verdict(rows: Sequence[Row]) -> str:
    """How many elements, and whether the results agree."""
    sizes = sorted({row.elements for row in rows})
    elements = count(sizes[0], "element") if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1], 'element')}"
    return "; ".join([elements, _results(rows)] if sizes[-1] else [_results(rows)])


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


def heads(rows: Sequence[Row]) -> tuple[str, ...]:
    """Titles of the figures' columns; compile times have one where any row has such a time."""
    return (*HEADS, COMPILE) if any(row.compile_seconds is not None for row in rows) else HEADS


def _cells(rows: Sequence[Row], columns: Sequence[str]) -> list[Cells]:
    several = len({row.elements for row in rows}) > 1
    fastest = max((row.speedup for row in rows if row.speedup is not None), default=0.0)
    cells = []
    for row in rows:
        speedup = "" if row.speedup is None else ratio(row.speedup)
        wrong = row.agreement is not None and not row.agreement.ok
        cells.append(
            Cells(
                label=f"{row.label}, {count(row.elements)}" if several else row.label,
                figures=(
                    duration(row.seconds),
                    percent(row.spread),
                    duration(row.per_element) if row.elements else "",
                    "" if wrong else speedup,
                    *([_compiled(row)] if COMPILE in columns else ()),
                ),
                alarm=f"DISAGREES {row.agreement.detail}".rstrip() if wrong and row.agreement else "",
                note=remark(row),
                bar=None if wrong or row.speedup is None or not fastest else row.speedup / fastest,
                kind=row.kind,
            )
        )
    return cells


def _compiled(row: Row) -> str:
    return "" if row.compile_seconds is None else duration(row.compile_seconds)


def remark(row: Row) -> str:
    """What a row says besides its figures."""
    parts = []
    if row.measured < row.elements:
        parts.append(f"scaled from {count(row.measured, 'element')}")
    if row.bandwidth is not None and row.kind == "gpu":
        parts.append(f"{percent(row.bandwidth)} of the GPU's copy bandwidth")
    elif row.bandwidth is not None and row.bandwidth >= MEMORY_BOUND:
        above = " (data in cache)" if row.bandwidth > 1.05 and row.kind != "parallel" else ""
        parts.append(f"{percent(row.bandwidth)} of memory bandwidth{above}")
    if row.spread > UNSTEADY:
        parts.append("unsteady")
    return "; ".join([*parts, *([row.note] if row.note else [])])


def text_group(rows: Sequence[Row], title: Sequence[str], *, notes: Sequence[str], color: bool) -> list[str]:
    """Lines: the title, whether results agree, the table, the notes."""
    lines = ["  ".join(part for part in title if part)]
    if rows:
        lines += wrapped(verdict(rows), indent="  ")
        lines += text_table(heads(rows), _cells(rows, heads(rows)), color=color)
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
    rows: Sequence[Row], title: Sequence[str], *, notes: Sequence[str], columns: Sequence[str] = HEADS
) -> str:
    """A ``<tbody>``: the title and the verdict as the header of its group, the rows, the notes."""
    call, *types = title
    words = " &ensp;".join(escape(part) for part in (*types, verdict(rows) if rows else "") if part)
    span = f'colspan="{len(columns) + 3}"'
    line = "border-bottom:1px solid rgba(128,128,128,.6)"
    head = (
        f'<tr style="background:transparent"><th scope="rowgroup" {span} style="text-align:left;border:none;{line};'
        f'padding:.5em .7em .2em;font-weight:normal"><strong>{escape(call)}</strong> &ensp;'
        f"{words}</th></tr>"
    )
    notes = "".join(
        f'<tr style="background:transparent"><td {span} style="text-align:left;border:none;padding:.15em .7em;'
        f'white-space:normal">note: {escape(note)}</td></tr>'
        for note in notes
    )
    return f"<tbody>{head}{''.join(map(html_row, _cells(rows, columns)))}{notes}</tbody>"
