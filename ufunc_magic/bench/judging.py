"""The measuring step and the judging step: entries become rows with speed-ups and their share of the machine's limit.

A loop that does nothing else is bound by memory; one that is far from that computes (Williams, Waterman and Patterson,
"Roofline", Communications of the ACM 52, 2009).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..ir import MATH_FUNCTIONS
from ..model import CellFunction, CellPlace
from ..render import Row, agrees, percent
from ..runtime import current_place, origin_of, ufunc_of
from .machine import IMPOSSIBLE, Pressure
from .request import Request
from .rounds import Pace, TimedCall, Timing, is_unsteady, measure

if TYPE_CHECKING:
    from ..render import LoopReport

#: From this share of the limit on, memory is what limits a loop.
MEMORY_BOUND = 0.6

#: Seconds below which a call is mostly its own cost, if the limit explains less than a tenth of it.
CALL = 5e-6

#: Nanoseconds: functions that take less do not stand out.
_QUICK = 4
#: The names in C, Python and NumPy of functions that dominate the time of a loop that calls them, the slowest first.
_SLOWEST = tuple(
    dict.fromkeys(
        word
        for row in sorted(MATH_FUNCTIONS.values(), key=lambda row: -row.cost)
        if row.cost > _QUICK and row.header == "math.h"
        for word in (row.name, *(text.rpartition(".")[2] for text in (row.python, row.numpy) if text.isascii()))
        if word.isidentifier()
    )
)

#: Notes on rounds without a spread.
FEW = {1: "timed once", 2: "timed twice"}

#: The factor by which speed-ups on a crowded machine are uncertain: of 12 tables beside eight busy loops, the rows that
#: move most were off by up to 1.54 (``benchmarks/honest_table.py``).
DOUBT = 1.7


@dataclass(frozen=True, eq=False)
class Prepared:
    """Entries, checked and ready to be timed, in the order of the rows.

    Attributes
    ----------
    entries : sequence of TimedCall
    arguments : tuple
    elements : int
        Elements that a row stands for.
    signature : str
    notes : tuple of str
    least_seconds : float
        A call that takes less than this has not read all elements.
    """

    entries: Sequence[TimedCall]
    arguments: tuple[Any, ...]
    elements: int
    signature: str = ""
    notes: tuple[str, ...] = ()
    least_seconds: float = 0.0


def measure_rows(
    request: Request, prepared: Prepared, *, pace: Pace, pressure: Pressure, baseline: str = ""
) -> tuple[Row, ...]:
    """Time the entries in turns, and judge them."""
    calls = [entry.call for entry in prepared.entries]
    timings = measure(calls, clock=request.budget.clock, pace=pace)
    return judge_rows(request, prepared, timings, baseline=baseline, crowded=pressure.crowded)


def judge_rows(
    request: Request, prepared: Prepared, timings: Sequence[Timing], *, baseline: str = "", crowded: bool = False
) -> tuple[Row, ...]:
    """Rows with their speed-ups and their share of the machine's limit.

    The baseline is the entry of that label; without one, the first Python loop, otherwise the first entry.  No row has
    a speed-up if the baseline disagrees, or, without a label, if the compiled function does: then the expectation
    contradicts the function itself.  Speed-ups on a ``crowded`` machine are ranges.
    """
    pairs = zip(prepared.entries, timings, strict=True)
    rows = tuple(_make_row(request, entry, timing, prepared.elements) for entry, timing in pairs)
    if max(row.seconds for row in rows) < prepared.least_seconds:
        rows = tuple(replace(row, elements=0, measured=0) for row in rows)
    if baseline:
        base = next((row for row in rows if row.label == baseline), None)
        decisive = [base] if base else []
    else:
        base = next((row for row in rows if row.kind in ("python", "scalar")), rows[0]) if len(rows) > 1 else None
        decisive = [row for row in rows if row is base or row.kind in ("ufunc", "parallel", "compiled")]
    return add_speedups(rows, base, crowded=crowded) if base and agrees(decisive) else rows


def _make_row(request: Request, entry: TimedCall, timing: Timing, elements: int) -> Row:
    """A row without a speed-up."""
    share, words = None, ""
    if request.limit and entry.nbytes and timing.seconds and (entry.agreement is None or entry.agreement.ok):
        share = entry.nbytes / timing.seconds / request.limit.bytes_per_second(entry.nbytes)
        code, place = _cell_function(entry.call.function)
        words = judge(share, timing.seconds, code)
        if code and words.startswith("compute-bound") and (loop := request.find_loop(entry.call.function)):
            words = describe_loop(words, loop, place)
    return Row(
        label=entry.label,
        kind=entry.kind,
        elements=elements,
        measured=entry.measured,
        seconds=timing.seconds * (elements / entry.measured if entry.measured else 1.0),
        spread=timing.spread,
        agreement=entry.agreement,
        bandwidth=share,
        note="; ".join(filter(None, (FEW.get(timing.rounds), entry.note, words))),
        compile_seconds=entry.compile_seconds,
        text=entry.text,
    )


def add_speedups(rows: Sequence[Row], base: Row, *, crowded: bool = False) -> tuple[Row, ...]:
    """The rows with their speed-ups over another row, except those that disagree.

    They are ranges on a ``crowded`` machine, and where rounds disagree.
    """
    return tuple(_add_speedup(base, row, crowded) if row.ok and row.seconds else row for row in rows)


def _add_speedup(base: Row, row: Row, crowded: bool) -> Row:
    between = None
    if row is not base and (crowded or is_unsteady(base.spread) or is_unsteady(row.spread)):
        doubt = DOUBT if crowded else 1.0
        between = (base.seconds / _median_seconds(row) / doubt, _median_seconds(base) / row.seconds * doubt)
    return replace(row, speedup=base.seconds / row.seconds, speedup_range=between)


def _median_seconds(row: Row) -> float:
    return row.seconds * (1 + (row.spread or 0.0))


def _cell_function(function: object) -> tuple[CellFunction | None, CellPlace]:
    """The cell's function that one of our ufuncs was made from, and the place of its cell."""
    origin = origin_of(function) if ufunc_of(function) is not None else None
    return (origin.cell_function, current_place(origin.object_code)) if origin else (None, CellPlace())


def judge(share: float, seconds: float, code: CellFunction | None = None) -> str:
    """One phrase on what limits a call that moved a ``share`` of the machine's bandwidth; ``""`` if nothing is known.

    Parameters
    ----------
    share : float
    seconds : float
        Of the call.
    code : CellFunction
        The function, if it is ours; others may move more than their arguments and results.
    """
    if share > IMPOSSIBLE:
        return ""
    if share >= MEMORY_BOUND:
        return f"memory-bound, {percent(min(1.0, share))} of memory bandwidth"
    if seconds < CALL and share < 0.1:
        return "mostly the cost of a call"
    if code is None:
        return f"{percent(share)} of memory bandwidth"
    calls = {name.removeprefix("c_") for name in re.findall(r"(\w+)\(", code.python)}
    slowest = next((f" in {name}" for name in _SLOWEST if name in calls), "")
    return f"compute-bound{slowest}"


def describe_loop(words: str, loop: LoopReport, place: CellPlace) -> str:
    """The verdict on a compute-bound call, with the compiler's report on its loop."""
    return f"{words}; {loop.describe(place)}" if loop.vectors else loop.describe(place)
