"""Rows from entries: what is to be timed, with its verdict, and what is known of it once it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..render import Agreement, Kind, Row, agrees
from .measure import Call, Clock, Timing, measure

__all__ = ["Entry", "compared", "row_of", "timed_rows"]


@dataclass(frozen=True, eq=False)
class Entry:
    """A row before it is timed: ``call`` computes ``measured`` of the elements and moves ``nbytes``, 0 to
    leave the bandwidth out."""

    label: str
    kind: Kind
    call: Call
    measured: int
    agreement: Agreement | None = None
    nbytes: int = 0
    note: str = ""
    compile_seconds: float | None = None


def timed_rows(
    entries: Sequence[Entry], *, elements: int, deadline: float, bandwidth: float | None, clock: Clock
) -> tuple[Row, ...]:
    """Time the entries in turns and compare each with the baseline.

    The baseline is the first Python loop, else the first entry.  No row has a speed-up if the
    baseline disagrees, or the compiled function does: the expectation then stands against the function itself.
    """
    timings = measure([entry.call for entry in entries], clock=clock, deadline=deadline)
    rows = [row_of(entry, timing, elements, bandwidth) for entry, timing in zip(entries, timings, strict=True)]
    if not rows:
        return ()
    baseline = next((row for row in rows if row.kind in ("python", "scalar")), rows[0])
    doubted = any(not agrees([row]) for row in rows if row is baseline or row.kind in ("ufunc", "parallel", "compiled"))
    if doubted:
        return tuple(rows)
    return tuple(
        replace(row, speedup=baseline.seconds / row.seconds) if agrees([row]) and row.seconds else row for row in rows
    )


def compared(rows: Sequence[Row], further: Sequence[Row]) -> tuple[Row, ...]:
    """``further`` rows, measured elsewhere, with speed-ups over the baseline of ``rows``, if that has any."""
    baseline = next((row for row in rows if row.speedup == 1.0), None)
    if baseline is None:
        return tuple(further)
    return tuple(
        replace(row, speedup=baseline.seconds / row.seconds) if agrees([row]) and row.seconds else row
        for row in further
    )


def row_of(entry: Entry, timing: Timing, elements: int, bandwidth: float | None) -> Row:
    """The row of one entry, over ``elements`` elements."""
    share = entry.nbytes / timing.seconds / bandwidth if bandwidth and entry.nbytes and timing.seconds else None
    return Row(
        label=entry.label,
        kind=entry.kind,
        elements=elements,
        measured=entry.measured,
        seconds=timing.seconds * (elements / entry.measured if entry.measured else 1.0),
        spread=timing.spread,
        agreement=entry.agreement,
        bandwidth=share,
        note=entry.note,
        compile_seconds=entry.compile_seconds,
    )
