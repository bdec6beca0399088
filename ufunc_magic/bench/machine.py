"""Facts of this machine: the bytes that it can move at most, its caches, and the load of other programs."""

from __future__ import annotations

import functools
import math
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import store
from ..render import Level, Row, spell_percent
from .rounds import CLOCK, Call, Clock, Pace, Timing, measure, read_waiting

#: Bytes of all arrays together at which the rate of an addition is measured; the last are past the second-level cache
#: of every machine and near the share of the last level that one core of a large machine gets.
SETS = (1 << 14, 1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 48 << 20)

#: A row above this share of the limit cannot have moved the bytes of its arguments and results: views, zero strides.
#: A row between the other share and this one contradicts the limit, which is then measured again, up to so many times.
IMPOSSIBLE, CONTRADICTED, MEASURED = 2.0, 1.15, 3

#: Share of the time without a processor from which on a machine is called busy, and from which on other programs never
#: leave the caches and the other half of a hyperthreaded core, so that speed-ups are uncertain.
BUSY, CROWDED = 0.1, 0.5

#: The factors by which a speed-up is uncertain at least, on a quiet, a busy and a crowded machine: tables of one cell
#: differ by more than the rounds of each, because memory lies elsewhere each time (``benchmarks/honest_table.py``).
QUIET_DOUBT, BUSY_DOUBT, CROWDED_DOUBT = 1.05, 1.1, 1.15

#: Bytes from which on a row's arrays are not in the caches, and the bytes of the addition that is its yardstick.
LARGE = 8 << 20
#: A yardstick that takes up to so many times as long as it ever did says nothing.
STEADY_YARDSTICK = 1.05

#: The beginning of the note on other programs.
BUSY_NOTE = "busy machine"

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Limits:
    """The bandwidth of one thread: pairs of bytes of all arrays together, ascending, and bytes per second.

    ``measured`` is the number of measurements; the highest rates count.
    """

    moved: tuple[tuple[int, float], ...]
    measured: int = 1

    def find_bandwidth(self, nbytes: int) -> float:
        """The bandwidth of a loop that touches ``nbytes`` in all."""
        sets, rates = zip(*self.moved, strict=True)
        return float(np.interp(np.log(max(1, nbytes)), np.log(sets), rates))


def measure_limits(*, clock: Clock = CLOCK) -> Limits:
    """Measure ``b = a + 1``; about 80 ms.

    An addition and not ``memcpy``: its streaming stores skip the read of the line to be written, which a compiled loop
    causes.  That read is not counted, here or in a row.
    """

    def seconds(elements: int) -> float:
        call = Call(functools.partial(np.add, out=np.zeros(elements)), (np.ones(elements), 1.0))
        return measure([call], clock=clock, pace=Pace(clock() + 0.03, most=5))[0].seconds

    alone = seconds(1)  # the cost of a call
    times = {nbytes: seconds(nbytes // 16) for nbytes in SETS}
    return Limits(tuple((nbytes, nbytes / max(1e-9, time / 4, time - alone)) for nbytes, time in times.items()))


def load_limits(*, measured: Callable[[], Limits] = measure_limits) -> Limits:
    """This machine's limits, measured once and remembered in the cache."""
    if known := store.open_default().recall(_name_limits()):
        moved, times = known
        return Limits(tuple(map(tuple, moved)), times)
    limit = measured()
    _remember(limit)
    return limit


def revise_limits(limit: Limits, rows: Sequence[Row], *, measured: Callable[[], Limits] = measure_limits) -> None:
    """Measure again if a row moved more than the remembered limit: the machine was busy then."""
    faster = any(CONTRADICTED < (row.bandwidth or 0.0) <= IMPOSSIBLE for row in rows)
    if faster and limit.measured < MEASURED:
        pairs = zip(limit.moved, measured().moved, strict=True)
        _remember(Limits(tuple(map(max, pairs)), limit.measured + 1))


def _remember(limit: Limits) -> None:
    store.open_default().remember(_name_limits(), [limit.moved, limit.measured])


def identify_machine() -> str:
    """The machine in the names of facts about speed: a cache folder on a shared disk serves several machines."""
    return f"{describe_machine()} {_read_processor()} numpy {np.__version__}"


def _name_limits() -> str:
    """The name of the remembered limits."""
    return f"limits 6 {identify_machine()}"


@functools.cache
def _read_processor() -> str:
    """The processor's name: a container or a virtual machine may move to another processor."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def describe_machine() -> str:
    """The machine's name, which tells apart machines that share a disk, and saved comparisons."""
    return f"{platform.node()} {platform.machine()} {os.cpu_count()}"


def read_cache_levels(*, bytes_per_element: float, folder: Path = _CACHES) -> tuple[Level, ...]:
    """Caches for data, smallest first, with the elements that fill each; empty if the system lists none."""
    sizes = {}
    for entry in sorted(folder.glob("index[0-9]*")):
        try:
            level, kind, size = (
                (entry / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size")
            )
            if kind in ("Data", "Unified"):
                sizes[int(level)] = int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]]
        except (OSError, ValueError, LookupError):
            continue
    each = max(bytes_per_element, 1e-9)
    return tuple(Level(f"L{level}", nbytes, int(nbytes / each)) for level, nbytes in sorted(sizes.items()))


@dataclass(frozen=True)
class Slowdown:
    """How many times as long as at the machine's best a Python loop takes, and an addition of arrays in memory."""

    python: float = 1.0
    memory: float = 1.0


NO_SLOWDOWN = Slowdown()


def _loop(values: Sequence[float]) -> list[float]:
    """Run a Python loop over a small function, as rows of a table do."""

    def evaluate(x: float) -> float:
        return 0.5 * x * math.log(x)

    return [evaluate(x) for x in values]


class Yardsticks:
    """Calls that take turns with the rows: other programs slow down Python, memory, or both.

    Their load may last longer than a table, whose rounds agree then.  The best of all tables is remembered.
    """

    def __init__(self, nbytes: int, *, clock: Clock) -> None:
        """For rows with arrays of so many bytes: a large yardstick would drive small ones out of the caches."""
        self.calls: list[Call] = []
        if clock is CLOCK:
            self.calls.append(Call(_loop, ([n / 1000 for n in range(1, 1000)],)))
            if nbytes >= LARGE:
                self.calls.append(Call(np.add, (np.ones(LARGE // 8), 1.0)))

    def compare(self, timings: Sequence[Timing]) -> Slowdown:
        """The slow-down during these rounds; remembers the best."""
        cache, name = store.open_default(), f"yardsticks 2 {identify_machine()}"
        now = [statistics.median(timing.durations) for timing in timings]
        best = list(map(float, cache.recall(name) or ()))
        known = [*map(min, zip(best, now, strict=False)), *best[len(now) :], *now[len(best) :]]
        if known != best:
            cache.remember(name, known)
        pairs = zip(now, known, strict=False)
        return Slowdown(*(max(1.0, taken / least / STEADY_YARDSTICK) if least else 1.0 for taken, least in pairs))


class Pressure:
    """The load of other programs since it was created."""

    def __init__(self, clock: Clock = CLOCK) -> None:
        self._clock, self._start, self._idle = clock, clock(), read_waiting()

    @property
    def share(self) -> float:
        """The share of the time for which this thread waited for a processor."""
        lost = read_waiting() - self._idle if self._clock is CLOCK else 0.0
        return lost / max(1e-9, lost + self._clock() - self._start)

    @property
    def doubt(self) -> float:
        """The factor by which speed-ups are uncertain at least."""
        share = self.share
        return CROWDED_DOUBT if share > CROWDED else BUSY_DOUBT if share > BUSY else QUIET_DOUBT

    def describe(self) -> str:
        """A note on a busy machine; ``""`` for a quiet one."""
        if (share := self.share) <= BUSY:
            return ""
        used = f"other programs used the processor for {spell_percent(share)} of the time"
        return f"{BUSY_NOTE}: {used}, which is not counted"
