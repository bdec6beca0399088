"""The measuring step and the judging step: entries become rows with speed-ups and their share of the machine's limit.

A loop that does nothing else is bound by memory; one that is far from that computes (Williams, Waterman and Patterson,
"Roofline", Communications of the ACM 52, 2009).
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..ir import MATH_FUNCTIONS
from ..model import CellFunction, CellPlace
from ..render import Agreement, Row, agrees, spell_percent
from ..runtime import find_current_place, find_origin, find_ufunc
from .machine import IMPOSSIBLE, NO_SLOWDOWN, QUIET_DOUBT, Pressure, Slowdown, Yardsticks
from .request import Request
from .rounds import LEAST_OF_LONG, Pace, TimedCall, Timing, has_helpers, measure

if TYPE_CHECKING:
    from ..render import LoopReport

#: From this share of the limit on, memory is what limits a loop.
MEMORY_BOUND = 0.6

#: From this share of the limit on, a load of the memory may be what slows a loop down.
NEAR_MEMORY = 0.4

#: A row that takes so many times as long as another one of its table is not bound by memory.
BEATEN = 1.25

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
    inner : int
        Numbers in the largest array of each element.
    core : str
        Sizes of the core dimensions, ``"n=1000"``.
    check_again : callable
        Computes once more, and compares with the expected results, or with the first ones; None for a function that
        keeps no state.
    """

    entries: Sequence[TimedCall]
    arguments: tuple[Any, ...]
    elements: int
    signature: str = ""
    notes: tuple[str, ...] = ()
    least_seconds: float = 0.0
    inner: int = 1
    core: str = ""
    check_again: Callable[[], Agreement | None] | None = None


def measure_rows(
    request: Request, prepared: Prepared, *, pace: Pace, pressure: Pressure, baseline: str = ""
) -> tuple[Row, ...]:
    """Time the entries in turns, and judge them."""
    calls, clock = [entry.call for entry in prepared.entries], request.budget.clock
    yardsticks = Yardsticks(max((entry.nbytes for entry in prepared.entries), default=0), clock=clock)
    timings = measure(calls, clock=clock, pace=pace, yardsticks=yardsticks.calls)
    slowdown = yardsticks.compare(timings[len(calls) :])
    timings = timings[: len(calls)]
    rows = judge_rows(request, prepared, timings, baseline=baseline, doubt=pressure.doubt, slowdown=slowdown)
    alone = {e.label for e in prepared.entries if e.kind == "parallel" and not has_helpers(e.call)}
    notes = {row.label: "; ".join(filter(None, ("ran on one thread", row.note))) for row in rows if row.label in alone}
    return tuple(replace(row, note=notes.get(row.label, row.note)) for row in rows)


def judge_rows(
    request: Request,
    prepared: Prepared,
    timings: Sequence[Timing],
    *,
    baseline: str = "",
    doubt: float = QUIET_DOUBT,
    slowdown: Slowdown = NO_SLOWDOWN,
) -> tuple[Row, ...]:
    """Rows with their speed-ups and their share of the machine's limit.

    The baseline is the entry of that label; without one, the first Python loop, otherwise the first entry.  No row has
    a speed-up if the baseline disagrees, or, without a label, if the compiled function does: then the expectation
    contradicts the function itself.  ``doubt`` is that of `compare_rounds`; ``slowdown`` widens
    the ranges of rows that it may concern.
    """
    pairs = zip(prepared.entries, timings, strict=True)
    # What another row does in less time is not what memory allows.
    fastest = min(t.seconds / (e.measured or 1) for e, t in zip(prepared.entries, timings, strict=True))
    rows = tuple(_make_row(request, entry, timing, prepared, fastest=fastest) for entry, timing in pairs)
    if max(row.seconds for row in rows) < prepared.least_seconds:
        rows = tuple(replace(row, elements=0, measured=0) for row in rows)
    if baseline:
        base = next((n for n, row in enumerate(rows) if row.label == baseline), None)
        decisive = [] if base is None else [rows[base]]
    else:
        base = next((n for n, row in enumerate(rows) if row.kind in ("python", "scalar")), 0) if len(rows) > 1 else None
        decisive = [row for n, row in enumerate(rows) if n == base or row.kind in ("ufunc", "parallel", "compiled")]
    if base is None or not agrees(decisive):
        return rows
    judged = []
    for number, row in enumerate(rows):
        if row.ok and row.seconds:
            ratio, between = compare_rounds(timings[base], timings[number], doubt=doubt)
            if between:  # the least rounds are the nearest to a quiet machine
                quiet = timings[base].seconds / timings[number].seconds
                between = min(between[0], quiet), max(between[1], quiet)
            if between and _is_loop(rows[base]) and not _is_loop(row):
                # The loop suffers from slow Python, the other row from slow memory.
                near = row.bandwidth is None or row.bandwidth >= NEAR_MEMORY
                low = min(between[0], ratio / doubt / slowdown.python)
                between = low, max(between[1], ratio * doubt * (slowdown.memory if near else 1.0))
            scale = _scale_of(rows[base]) / _scale_of(row)
            ends = between and (between[0] * scale, between[1] * scale)
            row = (
                replace(row, speedup=1.0, speedup_range=None)
                if number == base
                else replace(row, speedup=ratio * scale, speedup_range=ends)
            )
        judged.append(row)
    return tuple(judged)


def _make_row(request: Request, entry: TimedCall, timing: Timing, prepared: Prepared, *, fastest: float) -> Row:
    """A row without a speed-up; ``fastest`` is the least time of an element in the table."""
    share, words = None, ""
    if request.limit and entry.nbytes and timing.seconds and (entry.agreement is None or entry.agreement.ok):
        share = entry.nbytes / timing.seconds / request.limit.find_bandwidth(entry.nbytes)
        code, place = _find_cell_function(entry.call.function)
        beaten = timing.seconds > BEATEN * fastest * (entry.measured or 1)
        words = judge(share, timing.seconds, code, beaten=beaten)
        if code and words.startswith("compute-bound") and (loop := request.find_loop(entry.call.function)):
            words = describe_loop(words, loop, place)
    return Row(
        label=entry.label,
        kind=entry.kind,
        elements=prepared.elements,
        measured=entry.measured,
        seconds=timing.seconds * (prepared.elements / entry.measured if entry.measured else 1.0),
        spread=timing.spread,
        agreement=entry.agreement,
        bandwidth=share,
        note="; ".join(filter(None, (FEW.get(timing.rounds), entry.note, words))),
        compile_seconds=entry.compile_seconds,
        text=entry.text,
        inner=prepared.inner,
    )


def _is_loop(row: Row) -> bool:
    return row.kind in ("python", "scalar")


def _scale_of(row: Row) -> float:
    """How many times as many elements a row has as were timed."""
    return row.elements / row.measured if row.measured else 1.0


def compare_rounds(
    base: Timing, other: Timing, *, doubt: float = QUIET_DOUBT
) -> tuple[float, tuple[float, float] | None]:
    """How many times faster ``other`` is, and the interval that holds this ratio.

    The calls took turns, so the ratio is taken round by round: what slows both down cancels.  It is the median of these
    ratios.  The interval is the one that holds the median of all possible rounds in 95 of 100 cases, by the sign test
    (Conover, "Practical Nonparametric Statistics", 3.2), and no narrower than ``doubt``; None for fewer than three
    rounds.
    """
    if min(len(base.durations), len(other.durations)) < LEAST_OF_LONG:
        return base.seconds / other.seconds, None
    ratios = sorted(b / o for b, o in zip(base.durations, other.durations, strict=True) if o > 0)
    if not ratios:
        return base.seconds / other.seconds, None
    middle = statistics.median(ratios)
    outside = _count_outside(len(ratios))
    low, high = ratios[outside], ratios[-1 - outside]
    return middle, (min(low, middle / doubt), max(high, middle * doubt))


def _count_outside(number: int) -> int:
    """How many of so many ratios, in their order, are outside of the interval at each end."""
    ranks, tail = 0, 1
    while tail <= 0.025 * 2**number:  # of the 2**number ways to lie on either side of the median
        ranks += 1
        tail += math.comb(number, ranks)
    return max(0, ranks - 1)


def add_speedups(rows: Sequence[Row], base: Row) -> tuple[Row, ...]:
    """Rows that were timed elsewhere, with their speed-ups over another row, except those that disagree."""
    return tuple(replace(row, speedup=base.seconds / row.seconds) if row.ok and row.seconds else row for row in rows)


def _find_cell_function(function: object) -> tuple[CellFunction | None, CellPlace]:
    """The cell's function that one of our ufuncs was made from, and the place of its cell."""
    origin = find_origin(function) if find_ufunc(function) is not None else None
    return (origin.cell_function, find_current_place(origin.object_code)) if origin else (None, CellPlace())


def judge(share: float, seconds: float, code: CellFunction | None = None, *, beaten: bool = False) -> str:
    """One phrase on what limits a call that moved a ``share`` of the machine's bandwidth; ``""`` if nothing is known.

    Parameters
    ----------
    share : float
    seconds : float
        Of the call.
    code : CellFunction
        The function, if it is ours; others may move more than their arguments and results.
    beaten : bool
        Another row of the table computes the same in clearly less time, so memory is not what limits this one.
    """
    if share > IMPOSSIBLE:
        return "faster than memory allows: it returns a view, or does not compute each element in each call"
    if share >= MEMORY_BOUND and not beaten:
        return f"memory-bound, {spell_percent(min(1.0, share))} of memory bandwidth"
    if seconds < CALL and share < 0.1:
        return "mostly the cost of a call"
    if code is None:
        return f"{spell_percent(share)} of memory bandwidth"
    calls = {name.removeprefix("c_") for name in re.findall(r"(\w+)\(", code.python)}
    slowest = next((f" in {name}" for name in _SLOWEST if name in calls), "")
    return f"compute-bound{slowest}"


def describe_loop(words: str, loop: LoopReport, place: CellPlace) -> str:
    """The verdict on a compute-bound call, with the compiler's report on its loop."""
    return f"{words}; {loop.describe(place)}" if loop.vectors else loop.describe(place)
