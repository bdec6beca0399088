"""Times calls in interleaved rounds.  The only module of the room with a clock.

Calls take turns (A B C A B C), so a machine that slows down slows all of them down.  The least round is the figure,
because other programs can only add to it; the spread is how far the median round is above it.  Where rounds disagree,
more follow.  A call is repeated within a round until the clock's step and cost are small against it.  The cost of
reading the clock and of the loop is subtracted, and so is the time that the thread waited for a processor, unless
other threads of the call worked meanwhile.  A result is dropped before the next call, as in
``for _ in range(n): f(x)``: the allocator reuses the same pages, and no call pays for fresh ones.
"""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..render import Agreement, Kind

Clock = Callable[[], float]

#: Seconds that a sample takes at least by default.
SAMPLE = 100e-6

#: The least number of rounds, the least for calls that take longer than `LONG` seconds, the most by default, and the
#: factor by which rounds that disagree may exceed the most.
LEAST, LEAST_OF_LONG, LONG = 5, 3, 0.05
ROUNDS, MORE = 15, 4

#: Samples at most this many times as long as required are repeated: an interruption takes as long.
SHORT = 20

#: A call has threads of its own if other threads are busy for this share of its time.
HELP = 0.1

#: glibc gives freed blocks back to the system if they are larger than the largest one so far, up to these bytes less
#: its own, and each call would pay for fresh pages: twice the time of ``log`` on a million elements.
BLOCK = (32 << 20) - (64 << 10)

#: Rounds disagree if the median takes longer than the least by this share.
UNSTEADY = 0.2


@dataclass(frozen=True, eq=False)
class Call:
    """Something to time: ``function(*arguments)``, within ``context()``.

    The context is entered outside the timed part.  ``spoils`` says that a call changes the arguments and
    the context restores them, so that no sample may hold two calls.  ``padding`` is memory that stays in use until the
    call has been timed.
    """

    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    context: Callable[[], Any] = nullcontext
    spoils: bool = False
    padding: object = None


@dataclass(frozen=True)
class Pace:
    """How many rounds to run, and for how long.

    Attributes
    ----------
    deadline : float
        The clock's reading after which no further round begins if enough rounds agree.
    reserve : float
        Seconds beyond the deadline for the least number of rounds, and for more where rounds disagree.
    least, most : int
        Bounds on the rounds; ``least`` is smaller for long calls, and gives way to the reserve.
    sample : float
        Seconds of calls within a round.
    steady : float
        Rounds with a spread below this need no more rounds.
    """

    deadline: float
    reserve: float = 0.0
    least: int = LEAST
    most: int = ROUNDS
    sample: float = SAMPLE
    steady: float = 0.0


@dataclass(frozen=True)
class Timing:
    """Seconds of one call in each round, in the order of the rounds."""

    durations: tuple[float, ...]

    @property
    def rounds(self) -> int:
        return len(self.durations)

    @property
    def seconds(self) -> float:
        """Of the least round."""
        return min(self.durations)

    @property
    def spread(self) -> float | None:
        """How much longer the median round took, relative to the least; None for fewer than three rounds."""
        if len(self.durations) < LEAST_OF_LONG:
            return None
        return statistics.median(self.durations) / self.seconds - 1 if self.seconds else 0.0


class _Schedule:
    """Linux's count of the time for which the creating thread waited for a processor."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.file: int | None = None
        try:
            self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            self.read_seconds()
        except (OSError, ValueError, IndexError):  # no Linux, or a Linux without the count
            self.close()

    def read_seconds(self) -> float:
        """Seconds since the thread began; 0 without a count."""
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


def read_waiting() -> float:
    """Seconds for which this thread has waited for a processor."""
    schedule = _own.schedule
    if schedule is None or schedule.process != os.getpid():  # the child of a fork must not read its parent's
        schedule = _own.schedule = _Schedule()
    return schedule.read_seconds()


def _read_clock() -> float:
    """Seconds, less those for which this thread has waited for a processor."""
    while True:
        before = read_waiting()
        now = time.perf_counter()
        if read_waiting() == before:  # otherwise the thread waited in between
            return now - before


#: Seconds, from any moment on.
CLOCK: Clock = _read_clock


@contextmanager
def _suspend_collection() -> Iterator[None]:
    """Turn garbage collection off, and restore it afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def time_once(call: Call, *, clock: Clock) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    with call.context():
        before = _read_usage()
        start = clock()
        result = call.function(*call.arguments)
        return max(0.0, _Samples([_end_sample(clock() - start, before)]).list_seconds(clock)[0]), result


def has_helpers(call: Call) -> bool:
    """Whether other threads of this process compute a part of the call."""
    with call.context():
        others, own = -_read_usage()[0], -time.thread_time()
        for _ in range(3):
            call.function(*call.arguments)
        others, own = others + _read_usage()[0], own + time.thread_time()
    return others > HELP * own


def measure(calls: Sequence[Call], *, clock: Clock, pace: Pace, yardsticks: Sequence[Call] = ()) -> list[Timing]:
    """Time the calls in turns; the timings are in the order of the calls.

    Those of the yardsticks follow; they do not decide how many rounds there are.
    """
    number, calls = len(calls), [*calls, *yardsticks]
    samples = [_Samples([]) for _ in calls]
    least = pace.least
    np.empty(BLOCK, np.uint8)  # freed at once: from now on the C library keeps such blocks
    with _suspend_collection():
        repeats = [_count_repeats(call, clock, pace.sample) for call in calls]
        overheads = {n: _measure_overhead(n, clock) for n in set(repeats)}
        start, idle = clock(), read_waiting()
        for done in range(1, MORE * pace.most + 1):
            for call, repeat, rounds in zip(calls, repeats, samples, strict=True):
                rounds.rows.append(_time_sample(call, repeat, clock, overhead=overheads[repeat]))
            if any(rounds.rows[-1].taken > LONG for rounds in samples[:number]):
                least = min(least, LEAST_OF_LONG)
            now = clock()
            mean = (now - start) / done
            end = pace.deadline + pace.reserve
            if done < least:
                if now + mean * (least - done) > end:
                    break
                continue
            spread = max(rounds.make_timing(clock).spread or 0.0 for rounds in samples[:number])
            enough = done >= pace.most or now + mean > pace.deadline or spread < pace.steady
            # While the thread mostly waits, so does the user.
            hurried = clock is CLOCK and read_waiting() - idle > now - start
            if hurried and (done >= 2 * least or not is_unsteady(spread)):
                break
            if now + mean > end or (enough and not is_unsteady(spread)):
                break
    return [rounds.make_timing(clock) for rounds in samples]


def is_unsteady(spread: float | None) -> bool:
    """Whether rounds with this spread disagree."""
    return spread is not None and spread > UNSTEADY


def _count_repeats(call: Call, clock: Clock, sample: float) -> int:
    """Calls in one sample: 1, 2, 4, 8, ...  The calls that count them also warm the caches."""
    repeat = 1
    while True:
        taken = _time_calls(call, repeat, clock)
        if sample / 2 <= taken < SHORT * sample:
            taken = min(taken, _time_calls(call, repeat, clock))  # an interruption may have hit the first one
        if taken >= sample / 2 or call.spoils or repeat >= 1 << 14:
            return repeat
        repeat *= 2


class _Sample(NamedTuple):
    """Of each call of a sample: seconds, CPU seconds of other threads, seconds of waiting for a processor."""

    taken: float
    helped: float
    idle: float


@dataclass(frozen=True)
class _Samples:
    """The samples of one call in all rounds."""

    rows: list[_Sample]

    def list_seconds(self, clock: Clock) -> list[float]:
        """The seconds of each, with the thread's waiting if other threads compute a part of the call meanwhile.

        All samples decide that together: the system counts the time of a thread that still runs late.
        """
        helped = sum(row.helped for row in self.rows)
        waits = clock is CLOCK and helped > HELP * sum(row.taken + row.idle for row in self.rows)
        return [row.taken + row.idle if waits else row.taken for row in self.rows]

    def make_timing(self, clock: Clock) -> Timing:
        return Timing(tuple(max(0.0, seconds) for seconds in self.list_seconds(clock)))


def _time_calls(call: Call, repeat: int, clock: Clock) -> float:
    """Seconds of so many calls."""
    return repeat * _Samples([_time_sample(call, repeat, clock)]).list_seconds(clock)[0]


def _time_sample(call: Call, repeat: int, clock: Clock, *, overhead: float = 0.0) -> _Sample:
    function, arguments, turns = call.function, call.arguments, itertools.repeat(None, repeat)
    with call.context():
        before = _read_usage()
        start = clock()
        for _ in turns:
            function(*arguments)
        sample = _end_sample(clock() - start - overhead, before)
    return _Sample(*(seconds / repeat for seconds in sample))


def _read_usage() -> tuple[float, float]:
    """CPU seconds of the process's other threads, and seconds for which this thread has waited for a processor."""
    return time.process_time() - time.thread_time(), read_waiting()


def _end_sample(taken: float, before: tuple[float, float]) -> _Sample:
    """A sample that took so long, and began when `_read_usage` was ``before``."""
    helped, idle = (now - then for now, then in zip(_read_usage(), before, strict=True))
    return _Sample(taken, helped, idle)


def _measure_overhead(repeat: int, clock: Clock) -> float:
    """Overhead of an empty sample: the minimum of five."""
    costs = []
    for _ in range(5):
        turns = itertools.repeat(None, repeat)
        start = clock()
        for _ in turns:
            pass
        costs.append(clock() - start)
    return max(0.0, min(costs))


def count_affordable(run: Callable[[int], object], *, most: int, seconds: float, clock: Clock) -> int:
    """Elements, between 1 and ``most``, that ``run`` computes in about ``seconds``.

    Runs it on a growing number of elements, which takes up to half as long again.
    """

    def time_run() -> float:
        return time_once(Call(run, (number,)), clock=clock)[0]

    number = min(most, 4)
    while True:
        taken = time_run()
        enough = seconds if number >= most else max(seconds / 16, 2 * SAMPLE)
        for _ in range(2):
            # Interrupted, or cold: the first two calls of a size get new memory for their results.
            if enough <= taken < 3 * seconds:
                taken = min(taken, time_run())
        if number >= most or taken >= enough:
            break
        number = min(most, number * 4)
    return most if taken <= 0 else max(1, min(most, int(seconds * number / taken)))


@dataclass(frozen=True, eq=False)
class TimedCall:
    """A row before it is timed.

    ``call`` computes ``measured`` of the elements and moves ``nbytes``; 0 bytes leave the bandwidth out.
    """

    label: str
    kind: Kind
    call: Call
    measured: int
    agreement: Agreement | None = None
    nbytes: int = 0
    note: str = ""
    compile_seconds: float | None = None
    text: str = ""
