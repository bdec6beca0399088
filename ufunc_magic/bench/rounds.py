"""Interleaved rounds of timed calls, and the rows that come of them.  The only module of the room with a clock.

Calls take turns (A B C A B C), so that a machine that slows down slows all of them down; the median of the
rounds is the figure, and the distance of the quartiles its spread.  A call is repeated within a round
until the clock's own step and cost are small against it, and the cost of reading the clock and of the
loop is subtracted.  A result is dropped before the next call, as in ``for _ in range(n): f(x)``:
the allocator hands the same pages out again, and no call pays for fresh ones.  Rounds that raise the CPU's
frequency and fill its caches come first and are not counted.
"""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ..render import Agreement, Kind, Row, agrees

Clock = Callable[[], float]

#: Seconds, from any moment on.
CLOCK: Clock = time.perf_counter

#: A sample lasts at least this long, in seconds, if nothing else is asked for.
SAMPLE = 100e-6
ROUNDS = 15


@dataclass(frozen=True, eq=False)
class Call:
    """Something to time: ``function(*arguments)``, within ``context()``.

    The context is entered outside the timed part.  ``spoils`` says that a call changes the arguments and
    the context restores them, so that no sample may hold two calls.
    """

    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    context: Callable[[], Any] = nullcontext
    spoils: bool = False


@dataclass(frozen=True)
class Timing:
    """Median seconds of one call, distance of the quartiles relative to it, and rounds run."""

    seconds: float
    spread: float
    rounds: int


class Stopped(KeyboardInterrupt):
    """The user's interrupt while calls were timed; ``timings`` are those of the rounds before it."""

    def __init__(self, timings: Sequence[Timing]) -> None:
        super().__init__()
        self.timings = tuple(timings)


@contextmanager
def _no_collection() -> Iterator[None]:
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
    with call.context():
        start = clock()
        result = call.function(*call.arguments)
        return max(0.0, clock() - start), result


def measure(
    calls: Sequence[Call],
    *,
    clock: Clock,
    deadline: float,
    least: int = 3,
    most: int = ROUNDS,
    precision: float = 0.0,
    warmup: float = 0.0,
    sample: float = SAMPLE,
    progress: Callable[[float], object] | None = None,
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
    precision : float
        Rounds end early once every median is known this well, relative to itself.
    warmup : float
        Seconds of rounds before the first one that counts.
    sample : float
        Seconds that calls are repeated for within a round.
    progress : callable
        Called between rounds with the share of them that is done at least.

    Returns
    -------
    list of Timing
        In the order of ``calls``.

    Raises
    ------
    Stopped
        For an interrupt after the first round.
    """
    samples: list[list[float]] = [[] for _ in calls]
    with _no_collection():
        repeats = [_repeats(call, clock, sample) for call in calls]
        overheads = {n: _overhead(n, clock) for n in set(repeats)}
        _warm(calls, repeats, clock, until=min(clock() + warmup, deadline))
        start = clock()
        try:
            for done in range(1, most + 1):
                for call, repeat, taken in zip(calls, repeats, samples, strict=True):
                    taken.append(max(0.0, _sample(call, repeat, clock) - overheads[repeat]) / repeat)
                if progress is not None:
                    progress(done / most)
                now = clock()
                mean = (now - start) / done
                if now + mean > deadline and (done >= least or now + mean * (least - done) > deadline):
                    break
                if precision and done >= max(least, 5) and all(_uncertainty(taken) <= precision for taken in samples):
                    break
        except KeyboardInterrupt:
            if not all(samples):
                raise
            raise Stopped([_timing(taken) for taken in samples]) from None
    return [_timing(taken) for taken in samples]


def _warm(calls: Sequence[Call], repeats: Sequence[int], clock: Clock, *, until: float) -> None:
    before, now = -math.inf, clock()
    while before < now < until:  # a clock that stands still ends it as well
        for call, repeat in zip(calls, repeats, strict=True):
            _sample(call, repeat, clock)
        before, now = now, clock()


def _uncertainty(samples: Sequence[float]) -> float:
    """Half the width of the median's 95 % interval, relative to it: the notch of a box plot.

    McGill, Tukey and Larsen, "Variations of Box Plots", The American Statistician 32 (1978).
    """
    timing = _timing(samples)
    return 1.57 * timing.spread / math.sqrt(len(samples))


def _repeats(call: Call, clock: Clock, sample: float) -> int:
    """Calls in one sample: 1, 2, 5, 10, ...  The calls made to find out warm the caches as well."""
    seconds, _ = once(call, clock=clock)
    if call.spoils or seconds >= sample / 2:
        return 1
    for scale in itertools.count():
        for factor in (1, 2, 5):
            repeat = int(factor * 10**scale)
            if _sample(call, repeat, clock) >= sample or repeat >= 10_000:
                return repeat
    raise AssertionError("unreachable")


def _sample(call: Call, repeat: int, clock: Clock) -> float:
    turns = itertools.repeat(None, repeat)
    with call.context():
        start = clock()
        _take_turns(turns, call.function, call.arguments)
        return clock() - start


def _take_turns(turns: Iterator[None], function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Call as a person would write it: unpacking arguments costs 20 ns, a fiftieth of a microsecond."""
    match arguments:
        case [x]:
            for _ in turns:
                function(x)
        case [x, y]:
            for _ in turns:
                function(x, y)
        case [x, y, z]:
            for _ in turns:
                function(x, y, z)
        case _:
            for _ in turns:
                function(*arguments)


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


def _timing(samples: Sequence[float]) -> Timing:
    median = statistics.median(samples)
    if len(samples) < 2 or not median:
        return Timing(median, 0.0, len(samples))
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(median, (high - low) / median, len(samples))


def affordable(run: Callable[[int], object], *, most: int, seconds: float, clock: Clock) -> int:
    """How many elements ``run`` computes in about ``seconds``, between 1 and ``most``.

    It is run on a growing number of elements, which takes up to another half of that time.
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


# -- rows


@dataclass(frozen=True, eq=False)
class TimedCall:
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


def judged(
    entries: Sequence[TimedCall],
    timings: Sequence[Timing],
    *,
    elements: int,
    baseline: str = "",
    bandwidth: float | None = None,
) -> tuple[Row, ...]:
    """Rows over ``elements`` elements, with how many times faster they are than the baseline.

    The baseline is the entry of that label; without one, the first Python loop, else the first entry.  No row has a
    speed-up if the baseline disagrees, or where it has no label, if the compiled function does: the expectation then
    stands against the function itself.
    """
    rows = []
    for entry, timing in zip(entries, timings, strict=True):
        share = entry.nbytes / timing.seconds / bandwidth if bandwidth and entry.nbytes and timing.seconds else None
        rows.append(
            Row(
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
        )
    if baseline:
        base = next((row for row in rows if row.label == baseline), None)
        decisive = [base] if base else []
    else:
        base = next((row for row in rows if row.kind in ("python", "scalar")), rows[0])
        decisive = [row for row in rows if row is base or row.kind in ("ufunc", "parallel", "compiled")]
    return faster(rows, base.seconds) if base and agrees(decisive) else tuple(rows)


def faster(rows: Sequence[Row], seconds: float) -> tuple[Row, ...]:
    """The rows with their speed-ups over so many seconds, but for those that disagree."""
    return tuple(replace(row, speedup=seconds / row.seconds) if row.ok and row.seconds else row for row in rows)
