"""Interleaved rounds of timed calls.  The only module of the room with a clock.

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
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..render import Agreement, Kind

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
    sample: float = SAMPLE,
) -> list[Timing]:
    """Time the calls in turns.

    Parameters
    ----------
    calls : sequence of Call
    clock : callable
    deadline : float
        The clock's reading after which no further round begins.
    least, most : int
        Bounds on the rounds; ``least`` gives way where one round alone passes the deadline.
    sample : float
        Seconds that calls are repeated for within a round.

    Returns
    -------
    list of Timing
        In the order of ``calls``.
    """
    samples: list[list[float]] = [[] for _ in calls]
    with _no_collection():
        repeats = [_repeats(call, clock, sample) for call in calls]
        overheads = {n: _overhead(n, clock) for n in set(repeats)}
        start = clock()
        for done in range(1, most + 1):
            for call, repeat, taken in zip(calls, repeats, samples, strict=True):
                taken.append(max(0.0, _sample(call, repeat, clock) - overheads[repeat]) / repeat)
            now = clock()
            mean = (now - start) / done
            if now + mean > deadline and (done >= least or now + mean * (least - done) > deadline):
                break
    return [_timing(taken) for taken in samples]


def _repeats(call: Call, clock: Clock, sample: float) -> int:
    """Calls in one sample: 1, 2, 4, 8, ...  The calls made to find out warm the caches as well."""
    repeat = 1
    while _sample(call, repeat, clock) < sample / 2 and not call.spoils and repeat < 1 << 14:
        repeat *= 2
    return repeat


def _sample(call: Call, repeat: int, clock: Clock) -> float:
    function, arguments, turns = call.function, call.arguments, itertools.repeat(None, repeat)
    with call.context():
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
