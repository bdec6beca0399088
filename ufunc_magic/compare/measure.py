"""Interleaved rounds of timed calls against a clock that is handed in.

Calls take turns (A B C A B C), so that a machine that slows down slows all of them down; the median of the
rounds is the figure, and the distance of the quartiles its spread.  A call is repeated within a round
until the clock's own step and cost are small against it, and the cost of reading the clock and of the
loop is subtracted.  A result is dropped before the next call, as in ``for _ in range(n): f(x)``:
the allocator hands the same pages out again, and no call pays for fresh ones.
"""

from __future__ import annotations

import gc
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..report.rows import Agreement, Kind, Row, agrees

__all__ = ["Call", "Clock", "Entry", "Timing", "affordable", "collected", "compared", "measure", "once", "timed_rows"]

Clock = Callable[[], float]

#: A sample lasts at least this long, in seconds.
SAMPLE = 100e-6
ROUNDS = 15


@dataclass(frozen=True, eq=False)
class Call:
    """Something to time: ``function(*arguments)``, within ``context()`` where there is one.

    The context is entered outside the timed part.  ``spoils`` says that a call changes the arguments and
    the context restores them, so that no sample may hold two calls.
    """

    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    context: Callable[[], Any] | None = None
    spoils: bool = False


@dataclass(frozen=True)
class Timing:
    """Median seconds of one call, distance of the quartiles relative to it, and rounds run."""

    seconds: float
    spread: float
    rounds: int


@contextmanager
def collected() -> Iterator[None]:
    """Garbage collection off, and back as it was afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def once(call: Call, *, clock: Clock) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    with _entered(call):
        start = clock()
        result = call.function(*call.arguments)
        return max(0.0, clock() - start), result


def measure(
    calls: Sequence[Call], *, clock: Clock, deadline: float, least: int = 3, most: int = ROUNDS
) -> list[Timing]:
    """Time the calls in turns.

    Parameters
    ----------
    calls : sequence of Call
    clock : callable
        Seconds, as ``time.perf_counter``.
    deadline : float
        The clock's reading after which no further round begins.
    least, most : int
        Bounds on the rounds; ``least`` gives way where one round alone passes the deadline.

    Returns
    -------
    list of Timing
        In the order of ``calls``.
    """
    with collected():
        repeats = [_repeats(call, clock) for call in calls]
        overheads = {n: _overhead(n, clock) for n in set(repeats)}
        samples: list[list[float]] = [[] for _ in calls]
        start = clock()
        for done in range(1, most + 1):
            for call, repeat, taken in zip(calls, repeats, samples, strict=True):
                taken.append(max(0.0, _sample(call, repeat, clock) - overheads[repeat]) / repeat)
            now = clock()
            mean = (now - start) / done
            if now + mean > deadline and (done >= least or now + mean * (least - done) > deadline):
                break
    return [_timing(taken) for taken in samples]


def _repeats(call: Call, clock: Clock) -> int:
    """Calls in one sample: 1, 2, 5, 10, ...  The calls made to find out warm the caches as well."""
    seconds, _ = once(call, clock=clock)
    if call.spoils or seconds >= SAMPLE / 2:
        return 1
    for scale in itertools.count():
        for factor in (1, 2, 5):
            repeat = int(factor * 10**scale)
            if _sample(call, repeat, clock) >= SAMPLE or repeat >= 10_000:
                return repeat
    raise AssertionError("unreachable")


def _sample(call: Call, repeat: int, clock: Clock) -> float:
    function, arguments = call.function, call.arguments
    with _entered(call):
        turns = itertools.repeat(None, repeat)
        start = clock()
        for _ in turns:
            function(*arguments)
        return clock() - start


def _overhead(repeat: int, clock: Clock) -> float:
    """What a sample costs that calls nothing; the least of several, for the most is chance."""
    costs = []
    for _ in range(5):
        turns = itertools.repeat(None, repeat)
        start = clock()
        for _ in turns:
            pass
        costs.append(clock() - start)
    return max(0.0, min(costs))


@contextmanager
def _entered(call: Call) -> Iterator[None]:
    if call.context is None:
        yield
    else:
        with call.context():
            yield


def _timing(samples: Sequence[float]) -> Timing:
    median = statistics.median(samples)
    if len(samples) < 2 or not median:
        return Timing(median, 0.0, len(samples))
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(median, (high - low) / median, len(samples))


def affordable(run: Callable[[int], object], *, most: int, seconds: float, clock: Clock) -> int:
    """How many elements ``run`` computes in about ``seconds``; between 1 and ``most``.

    Found by running on a growing number of elements, which takes up to another half of that time.
    """

    def timed() -> float:
        start = clock()
        run(number)
        return clock() - start

    number = min(most, 4)
    while True:
        taken = timed()
        if taken >= seconds / 32 and number < most and taken < seconds:
            taken = min(taken, timed())  # the first one may have been interrupted
        if number >= most or taken >= seconds / 32:
            break
        number = min(most, number * 8)
    return most if taken <= 0 else max(1, min(most, int(seconds * number / taken)))


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


def timed_rows(
    entries: Sequence[Entry], *, elements: int, deadline: float, bandwidth: float | None, clock: Clock
) -> tuple[Row, ...]:
    """Time the entries in turns and compare each with the baseline.

    The baseline is the first Python loop, else the first entry.  No row has a speed-up if the
    baseline disagrees, or the compiled function does: the expectation then stands against the function itself.
    """
    timings = measure([entry.call for entry in entries], clock=clock, deadline=deadline)
    rows = [_row(entry, timing, elements, bandwidth) for entry, timing in zip(entries, timings, strict=True)]
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


def _row(entry: Entry, timing: Timing, elements: int, bandwidth: float | None) -> Row:
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
    )
