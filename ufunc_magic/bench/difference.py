"""Two comparisons of the same things, row by row: what became faster, slower, or stayed within its spread.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model import ComparisonError
from ..render import Cells, Comparison, Row, count, duration, escape, html_heads, html_row, ratio, text_table

__all__ = ["Change", "Difference", "difference"]

#: Changes smaller than this are said to be none, however steady the rows.
LEAST = 0.03

_HEADS = ("before", "now", "times faster")


@dataclass(frozen=True)
class Change:
    """One label at one size, before and now.

    Attributes
    ----------
    label : str
    elements : int
    before, now : float
        Seconds.
    spread : float
        The larger of the two spreads.
    """

    label: str
    elements: int
    before: float
    now: float
    spread: float

    @property
    def ratio(self) -> float:
        """Times faster now."""
        return self.before / self.now if self.now else float("inf")

    @property
    def word(self) -> str:
        """``"faster"``, ``"slower"``, or ``"same"`` for what is within the spread."""
        apart = max(self.ratio, 1 / self.ratio if self.ratio else float("inf")) - 1
        return "same" if apart <= max(LEAST, self.spread) else "faster" if self.ratio > 1 else "slower"


@dataclass(frozen=True)
class Difference:
    """Rows that both comparisons have, and the notes on what only one has.

    Attributes
    ----------
    name : str
    changes : tuple of Change
    notes : tuple of str
    """

    name: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.name, *text_table(_HEADS, self._cells())] if self.changes else [self.name]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        rows = "".join(map(html_row, self._cells()))
        notes = "".join(f"<div>note: {note}</div>" for note in map(escape, self.notes))
        return f'<div style="overflow-x:auto"><table>{html_heads(_HEADS)}<tbody>{rows}</tbody></table>{notes}</div>'

    def _cells(self) -> list[Cells]:
        several = len({change.elements for change in self.changes}) > 1
        return [
            Cells(
                f"{change.label}, {count(change.elements)}" if several else change.label,
                (duration(change.before), duration(change.now), ratio(change.ratio)),
                note="within the spread" if change.word == "same" else change.word,
            )
            for change in self.changes
        ]


def difference(now: Comparison, *, before: Any) -> Difference:
    """What changed from ``before`` to ``now``."""
    if not isinstance(before, Comparison):
        fault = f"diff() takes a comparison, and {before!r} is {type(before).__name__}."
        raise ComparisonError(fault, remedy="Read a saved one first: comparison.load(path).")
    old, new = _by_place(before.rows), _by_place(now.rows)
    changes = [
        Change(label, elements, old[label, elements].seconds, row.seconds, max(old[label, elements].spread, row.spread))
        for (label, elements), row in new.items()
        if (label, elements) in old
    ]
    notes = []
    for rows, others, when in ((old, new, "before"), (new, old, "now")):
        labels = dict.fromkeys(label for label, elements in rows if (label, elements) not in others)
        if labels:
            notes.append(f"measured only {when}: {', '.join(labels)}")
    machines = {machine for made in (before, now) if (machine := getattr(made, "machine", ""))}
    if len(machines) > 1:
        notes.append("the two were measured on different machines")
    return Difference(now.name, tuple(changes), tuple(notes))


def _by_place(rows: Sequence[Row]) -> dict[tuple[str, int], Row]:
    return {(row.label, row.elements): row for row in rows}
