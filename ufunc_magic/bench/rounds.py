"""Interleaved rounds of timed calls.  The only module of the room with a clock.

Calls take turns (A B C A B C), so that a machine that slows down slows all of them down.  The least of the rounds
is the figure, because other programs can only add to it, and how far the middle round is above it is its spread.
Where rounds disagree, more are taken.  A call is repeated within a round until the clock's own step and cost are
small against it, and the cost of reading the clock and of the loop is subtracted, as is the time that the thread
waited for a processor which another program had, unless the call's other threads worked meanwhile.  A result is dropped
before the next call, as in ``for _ in range(n): f(x)``: the allocator hands the same pages out again, and no call pays
for fresh ones.
"""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..render import Agreement, Kind

Clock = Callable[[], float]

#: A sample lasts at least this long, in seconds, if nothing else is asked for.
SAMPLE = 100e-6

#: Rounds at least, and where a call takes longer than `LONG` seconds; at most, and where they disagree.
LEAST, LEAST_OF_LONG, LONG = 5, 3, 0.05
ROUNDS, MORE = 15, 4

#: Samples that are at most so many times as long as asked for are tried again: an interruption is as long.
SHORT = 20

#: A call has threads of its own where others than the one that calls are busy for this share of its time.
HELP = 0.1

#: Rounds disagree where the middle one takes by this share longer than the least.
UNSTEADY = 0.2


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
    """Seconds of one call in the round that took least, and the rounds run.

    ``spread`` is how much longer the middle round took, relative to that; None for fewer than three rounds.
    """

    seconds: float
    spread: float | None
    rounds: int


class _Schedule:
    """What Linux tells of a thread's waiting for a processor, for the thread that makes it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.file: int | None = None
        try:
            self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            self.waited()
        except (OSError, ValueError, IndexError):  # no Linux, or one that does not count
            self.close()

    def waited(self) -> float:
        """Seconds since the thread began; 0 where nothing tells."""
        return int(os.pread(self.file, 80, 0).split()[1]) * 1e-9 if self.file is not None else 0.0

    def close(self) -> None:
        file, self.file = self.file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:  # with its thread
        self.close()


class _Own(threading.local):
    schedule: _Schedule | None = None


_own = _Own()


def waited() -> float:
    """Seconds that this thread has waited for a processor."""
    schedule = _own.schedule
    if schedule is None or schedule.process != os.getpid():  # a child of a fork would read its parent's
        schedule = _own.schedule = _Schedule()
    return schedule.waited()


def _clock() -> float:
    """Seconds, without those that this thread has waited for a processor."""
    while True:
        before = waited()
        now = time.perf_counter()
        if waited() == before:  # else it waited in between
            return now - before


#: Seconds, from any moment on.
CLOCK: Clock = _clock


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
        before = _help()
        start = clock()
        result = call.function(*call.arguments)
        return max(0.0, _whole(clock() - start, before, clock)), result


def measure(
    calls: Sequence[Call],
    *,
    clock: Clock,
    deadline: float,
    reserve: float = 0.0,
    least: int = LEAST,
    most: int = ROUNDS,
    sample: float = SAMPLE,
    steady: float = 0.0,
) -> list[Timing]:
    """Time the calls in turns.

    Parameters
    ----------
    calls : sequence of Call
    clock : callable
    deadline : float
        The clock's reading after which no further round begins, if there are enough that agree.
    reserve : float
        Seconds beyond the deadline for the least number of rounds, and for more where they disagree.
    least, most : int
        Bounds on the rounds; ``least`` is smaller for long calls, and gives way where it would pass the reserve.
    sample : float
        Seconds that calls are repeated for within a round.
    steady : float
        Rounds of so small a spread need no more of them.

    Returns
    -------
    list of Timing
        In the order of ``calls``.
    """
    samples: list[list[float]] = [[] for _ in calls]
    with _no_collection():
        repeats = [_repeats(call, clock, sample) for call in calls]
        overheads = {n: _overhead(n, clock) for n in set(repeats)}
        start, idle = clock(), waited()
        for done in range(1, MORE * most + 1):
            for call, repeat, taken in zip(calls, repeats, samples, strict=True):
                taken.append(max(0.0, _sample(call, repeat, clock) - overheads[repeat]) / repeat)
            if any(taken[-1] > LONG for taken in samples):
                least = min(least, LEAST_OF_LONG)
            now = clock()
            mean = (now - start) / done
            if done < least:
                if now + mean * (least - done) > deadline + reserve:
                    break
                continue
            spread = max(_timing(taken).spread or 0.0 for taken in samples)
            enough = done >= most or now + mean > deadline or spread < steady
            # Where the thread mostly waits, the user does, too.
            hurried = clock is CLOCK and waited() - idle > now - start
            if hurried and (done >= 2 * least or not unsteady(spread)):
                break
            if now + mean > deadline + reserve or (enough and not unsteady(spread)):
                break
    return [_timing(taken) for taken in samples]


def unsteady(spread: float | None) -> bool:
    """Whether rounds with this spread disagree."""
    return spread is not None and spread > UNSTEADY


def _repeats(call: Call, clock: Clock, sample: float) -> int:
    """Calls in one sample: 1, 2, 4, 8, ...  The calls made to find out warm the caches as well."""
    repeat = 1
    while True:
        taken = _sample(call, repeat, clock)
        if sample / 2 <= taken < SHORT * sample:
            taken = min(taken, _sample(call, repeat, clock))  # the first one may have been interrupted
        if taken >= sample / 2 or call.spoils or repeat >= 1 << 14:
            return repeat
        repeat *= 2


def _sample(call: Call, repeat: int, clock: Clock) -> float:
    function, arguments, turns = call.function, call.arguments, itertools.repeat(None, repeat)
    with call.context():
        before = _help()
        start = clock()
        for _ in turns:
            function(*arguments)
        return _whole(clock() - start, before, clock)


def _help() -> tuple[float, float]:
    """CPU seconds of the process's other threads, and seconds that this one has waited for a processor."""
    return time.process_time() - time.thread_time(), waited()


def _whole(taken: float, before: tuple[float, float], clock: Clock) -> float:
    """The time ``taken`` since `_help` was ``before``, with its waiting where other threads worked meanwhile."""
    helped, idle = (now - then for now, then in zip(_help(), before, strict=True))
    return taken + idle if clock is CLOCK and helped > HELP * (taken + idle) else taken


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
    least = min(samples)
    if len(samples) < LEAST_OF_LONG or not least:
        return Timing(least, None if len(samples) < LEAST_OF_LONG else 0.0, len(samples))
    ordered, number = sorted(samples), len(samples)
    middle = (ordered[(number - 1) // 2] + ordered[number // 2]) / 2
    return Timing(least, middle / least - 1, number)


def affordable(run: Callable[[int], object], *, most: int, seconds: float, clock: Clock) -> int:
    """How many elements ``run`` computes in about ``seconds``, between 1 and ``most``.

    It is run on a growing number of elements, which takes up to another half of that time.
    """

    def timed() -> float:
        return once(Call(run, (number,)), clock=clock)[0]

    number = min(most, 4)
    while True:
        taken = timed()
        enough = seconds if number >= most else max(seconds / 16, 2 * SAMPLE)
        for _ in range(2):
            # Interrupted, or cold: the memory of results is new in the first two calls of a size.
            if enough <= taken < 3 * seconds:
                taken = min(taken, timed())
        if number >= most or taken >= enough:
            break
        number = min(most, number * 4)
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
    text: str = ""
