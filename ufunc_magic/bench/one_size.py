"""One size of a comparison: who can afford it, what the results are, how long it takes, the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..model import ComparisonError
from ..render import Agreement, Row, agrees, count, duration
from .agreement import agreement, outputs
from .arithmetic_work import Work
from .bounds import remark_of, words
from .candidates import Candidate, variants
from .first_call import copies, first_call, restored
from .machine import Limits
from .measure import SAMPLE, Call, Clock, Stopped, Timing, measure, once
from .sizes import at_size, moved_bytes, work_size
from .timed_entry import Entry, row_of
from .verify import rounding

__all__ = ["Progress", "Run", "at_one_size"]

#: Share of the time that asking what the inputs' last bits change may take, where results differ.
EXPLAINING = 0.25

#: Rounds end when every median is known to this share of itself; there are at least and at most so many, as time
#: allows.
PRECISION, LEAST_ROUNDS, MOST_ROUNDS = 0.005, 11, 101

#: Seconds of calls within a round, at most: a median of short moments is that of their machine's mood.
LONGEST_SAMPLE = 0.01

#: Rounds that show no spread.
FEW = {1: "timed once", 2: "timed twice"}

#: Seconds of work before the first size, in which a CPU reaches its frequency, and before each further one.
WARMUP, WARMUP_EACH = 0.1, 0.005

#: Passes that a callable needs at a size: one to verify, one to find the repeats, and some rounds.
PASSES = 4

#: Share of the budget that the passes at one size may take even where it is spent; ten times that for the cheapest.
OVERRUN = 0.01

#: Elements that are compared where there are several sizes, evenly spaced: the smaller sizes have shown the others.
CHECKED = 1 << 19

Progress = Callable[[float, str], object]


@dataclass(eq=False)
class Run:
    """A comparison under way: what it was asked, and what it has found."""

    candidates: list[Candidate]
    reference: str | Callable[..., Any] | None
    tolerance: float | None
    clock: Clock
    several: bool
    progress: Progress | None
    limit: Limits | None
    work: Work | None
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Label -> seconds per element at the sizes so far.
    taken: dict[str, list[float]] = field(default_factory=dict)
    #: The last size.
    reached: int = 1
    compiled: dict[str, float] = field(default_factory=dict)
    #: Seconds in all.
    budget: float = 0.0
    bytes_per_element: float = 0.0

    def tell(self, share: float, elements: int) -> None:
        if self.progress is not None:
            self.progress(min(1.0, share), f"{count(elements, 'element')}")


def at_one_size(run: Run, args: tuple[Any, ...], *, seconds: float, done: tuple[float, float], first: bool) -> None:
    """Verify and time at one size."""
    clock, size = run.clock, work_size(args)
    start = clock()
    last = _last(run, args)
    before, share = done
    present = run.candidates if first or not run.several else _affordable(run, args, seconds, left=seconds / share)
    if not present:
        return
    found = _entries(run, present, args, patience=EXPLAINING * seconds)

    def tell(part: float) -> None:
        run.tell(before + (1 - before) * share * part, size)

    try:
        timings = measure(
            [entry.call for entry in found],
            clock=clock,
            deadline=start + seconds,
            least=LEAST_ROUNDS,
            most=MOST_ROUNDS,
            sample=max(SAMPLE, min(LONGEST_SAMPLE, seconds / len(found) / MOST_ROUNDS)),
            precision=PRECISION,
            warmup=min(WARMUP if first else WARMUP_EACH, 0.1 * seconds),
            tell=tell if run.progress is not None else None,
        )
    except Stopped as stop:
        _keep(run, found, stop.timings, last=True)
        raise
    _keep(run, found, timings, last=last)
    run.reached = size


def _last(run: Run, args: Sequence[Any]) -> bool:
    """Whether rows of this size say how far they are from the limits."""
    return not run.several or work_size(args) >= 100_000


def _affordable(run: Run, args: tuple[Any, ...], seconds: float, *, left: float) -> list[Candidate]:
    """Those whose passes fit into the time, for the cheapest into all that is left; the others are named once."""
    size = work_size(args)
    kept: set[str] = set()
    cost = {one.label: _cost(run, one, args, 1.2 * seconds) for one in run.candidates if one.label in run.taken}
    total = 0.0
    for label in sorted(cost, key=lambda label: cost[label]):
        total += PASSES * cost[label]
        if total <= max(1.2 * seconds, OVERRUN * run.budget, 0 if kept else max(left, 10 * OVERRUN * run.budget)):
            kept.add(label)
        else:
            took = duration(cost[label])
            run.notes.append(f"{label}: left out from {count(size, 'element')} on, where a call takes about {took}")
            del run.taken[label]
    return [one for one in run.candidates if one.label in kept]


def _cost(run: Run, one: Candidate, args: tuple[Any, ...], patience: float) -> float:
    """Seconds of a call, from what an element took at the sizes so far; tried out where they are far from this one."""
    size, number = work_size(args), run.reached
    # The least of three: an interruption must not cost a callable its place.
    each = min(run.taken[one.label][-3:])
    while number * 10 < size and PASSES * each * size > patience:
        number *= 8
        seconds = once(Call(one.function, one.placed(at_size(args, number))), clock=run.clock)[0]
        each = seconds / number
        if seconds > patience / 8:
            break
    return each * size


def _entries(run: Run, present: Sequence[Candidate], args: tuple[Any, ...], *, patience: float) -> list[Entry]:
    clock, size = run.clock, work_size(args)
    calls = {one.label: Call(one.function, one.placed(args)) for one in present}
    results = {one.label: _first_result(run, one, calls[one.label]) for one in present}
    named = run.reference if isinstance(run.reference, str) else run.candidates[0].label
    truth = next((one for one in present if one.label == named), present[0])
    function = truth.function
    expected = results[truth.label]
    if callable(run.reference):
        function = run.reference
        expected = first_call("The reference", Call(function, args), clock=clock)[1]
    until = clock() + patience
    whole = run.tolerance == 0 or not run.several
    step = 1 if whole else max(1, size // CHECKED) | 1
    explain = rounding(function, args, patience=lambda: clock() < until) if truth.place is None else None
    found = []
    for one in present:
        verdict: Agreement | None = None
        if one is not truth or callable(run.reference):
            verdict = agreement(
                _thinned(expected, step),
                _thinned(results[one.label], step),
                tolerance=run.tolerance,
                inputs=tuple(np.asarray(arg)[::step] if np.ndim(arg) else np.asarray(arg) for arg in args),
                explain=explain and (lambda places: explain(places * step)),
                terms=_terms(args, expected),
            )
        nbytes = moved_bytes(args, results[one.label])
        run.bytes_per_element = nbytes / max(1, size)
        seconds = one.compile_seconds if one.compile_seconds is not None else run.compiled.get(one.label)
        call = calls[one.label]
        found.append(Entry(one.label, one.kind, call, size, verdict, nbytes, one.note, seconds))
    return found


def _thinned(results: Any, step: int) -> Any:
    """Every so many-th element of each output; an odd ``step`` meets what repeats at powers of two."""
    if step == 1:
        return results
    parts = tuple(np.asanyarray(result) for result in outputs(results))
    thin = tuple(part[::step] if part.ndim else part for part in parts)
    return thin if isinstance(results, tuple) else thin[0]


def _first_result(run: Run, one: Candidate, call: Call) -> Any:
    before = variants(one.function)
    # The smallest size shows whether arguments are changed; NumPy's way of calling rules it out.
    watched = not run.taken and not isinstance(one.function, np.ufunc)
    kept = copies(call.arguments) if watched else ()
    seconds, result = first_call(repr(one.label), call, clock=run.clock, fetch=one.fetched)
    changed = restored(call.arguments, kept) if watched else 0
    if changed:
        fault = f"{one.label!r} changes its argument {changed} in place: the next call would get another one."
        raise ComparisonError(fault, remedy="Give it a copy: 'lambda x: f(x.copy())'.")
    if before is not None and (variants(one.function) or 0) > before:
        again, _ = once(call, clock=run.clock)
        run.compiled[one.label] = max(0.0, seconds - again)
    return result


def _terms(args: Sequence[Any], results: Any) -> int:
    """Numbers that each result was gathered from, at least."""
    least = min((int(np.size(part)) for part in outputs(results)), default=1)
    return work_size(args) // max(1, least)


def _keep(run: Run, found: Sequence[Entry], timings: Iterable[Timing], *, last: bool) -> None:
    """Rows with their speed-ups over the first callable, where it is there and nothing speaks against it."""
    rows = []
    for entry, timing in zip(found, timings, strict=True):
        run.taken.setdefault(entry.label, []).append(timing.seconds / max(1, entry.measured))
        row = row_of(replace(entry, note=_joined(FEW.get(timing.rounds, ""), entry.note)), timing, entry.measured, None)
        rows.append(replace(row, note=_noted(run, row, entry)) if last else row)
    base = next((row for row in rows if row.label == run.candidates[0].label and agrees([row])), None)
    for row in rows:
        fair = base is not None and agrees([row]) and row.seconds
        run.rows.append(replace(row, speedup=base.seconds / row.seconds) if base is not None and fair else row)


def _noted(run: Run, row: Row, entry: Entry) -> str:
    """The row's note, with how far it is from the machine's limits."""
    if run.limit is None or row.kind == "gpu":
        return row.note
    one = next(one for one in run.candidates if one.label == row.label)
    if not agrees([row]):
        return row.note
    said = words(row, entry.nbytes, run.limit, work=run.work, remark=remark_of(one), args=entry.call.arguments)
    return _joined(row.note, said)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
