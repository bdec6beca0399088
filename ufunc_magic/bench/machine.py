"""What this machine can move at most, its caches, and rows: timings with speed-ups and how far they are from the limit.

A loop that does nothing else is bound by memory; one that is far from that computes (Williams, Waterman and Patterson,
"Roofline", Communications of the ACM 52, 2009).
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import store
from ..ir import MATH_FUNCTIONS
from ..model import CellFunction, CellPlace
from ..render import Level, Row, agrees, percent
from ..runtime import current_place, origin_of, ufunc_of
from .rounds import CLOCK, Call, Clock, TimedCall, Timing, measure, unsteady, waited

#: Bytes of all arrays together at which the rate of an addition is measured; the last are past the second-level cache
#: of every machine and near the share of the last level that one core of a large machine gets.
SETS = (1 << 14, 1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 48 << 20)

#: From this share of the limit on it is what holds a loop back.
MEMORY_BOUND = 0.6

#: Above this share it cannot have moved what its arguments and results hold: views, zero strides.  Below that and above
#: the other it contradicts the limit, which is measured again, so many times in all.
IMPOSSIBLE, CONTRADICTED, MEASURED = 2.0, 1.15, 3

#: Seconds below which a call is mostly its own cost, if the limit explains less than a tenth of it.
CALL = 5e-6

#: Nanoseconds: functions that take less do not stand out.
_QUICK = 4
#: The words of C, Python and NumPy for functions that take the time of a loop which calls them, the slowest first.
_SLOWEST = tuple(
    dict.fromkeys(
        word
        for row in sorted(MATH_FUNCTIONS.values(), key=lambda row: -row.cost)
        if row.cost > _QUICK and row.header == "math.h"
        for word in (row.name, *(text.rpartition(".")[2] for text in (row.python, row.numpy) if text.isascii()))
        if word.isidentifier()
    )
)

#: ``for`` whose bound is a number is unrolled or vectorized around.
_LOOP = re.compile(r"\b(?:while|do)\b|\bfor\s*\((?![^;]*;[^;]*[<>]=?\s*\d+\s*;)")

#: Rounds that show no spread.
FEW = {1: "timed once", 2: "timed twice"}

#: Share of the time without a processor from which on a machine is called busy, and from which on other programs are
#: never off the caches and the other half of a hyperthreaded core, which makes speed-ups doubtful by a factor: of 12
#: tables beside eight busy loops the rows that move most were off by up to 1.54 (``benchmarks/honest_table.py``).
BUSY, CROWDED, DOUBT = 0.1, 0.5, 1.7

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Limits:
    """One thread's: bytes of all arrays together, ascending, with the bytes per second that are read and written.

    ``measured`` says how many times that was; the highest rates count.
    """

    moved: tuple[tuple[int, float], ...]
    measured: int = 1

    def bytes_per_second(self, nbytes: int) -> float:
        """What can be moved where ``nbytes`` are touched in all."""
        sets, rates = zip(*self.moved, strict=True)
        return float(np.interp(np.log(max(1, nbytes)), np.log(sets), rates))


def measure_limits(*, clock: Clock = CLOCK) -> Limits:
    """Measure ``b = a + 1``; about 80 ms.

    An addition and not ``memcpy``, whose streaming stores skip the read of the line to be written
    that a compiled loop causes: this is what a loop can reach.  That read is not counted, here or in a row.
    """

    def seconds(elements: int) -> float:
        call = Call(functools.partial(np.add, out=np.zeros(elements)), (np.ones(elements), 1.0))
        return measure([call], clock=clock, deadline=clock() + 0.03, most=5)[0].seconds

    alone = seconds(1)  # what a call costs by itself
    times = {nbytes: seconds(nbytes // 16) for nbytes in SETS}
    return Limits(tuple((nbytes, nbytes / max(1e-9, time / 4, time - alone)) for nbytes, time in times.items()))


def limits(*, measured: Callable[[], Limits] = measure_limits) -> Limits:
    """This machine's, measured once and remembered in the cache."""
    try:
        moved, times = json.loads(store.default().recall(_fact()) or "")
        return Limits(tuple((int(nbytes), float(rate)) for nbytes, rate in moved), int(times))
    except (ValueError, TypeError):
        fresh = measured()
        _remember(fresh)
        return fresh


def doubt(limit: Limits, rows: Sequence[Row], *, measured: Callable[[], Limits] = measure_limits) -> None:
    """Measure again where a row moved more than the machine is remembered to move, which was busy then."""
    faster = any(CONTRADICTED < (row.bandwidth or 0.0) <= IMPOSSIBLE for row in rows)
    if faster and limit.measured < MEASURED:
        pairs = zip(limit.moved, measured().moved, strict=True)
        _remember(Limits(tuple(map(max, pairs)), limit.measured + 1))


def _remember(limit: Limits) -> None:
    store.default().remember(_fact(), json.dumps([limit.moved, limit.measured]))


def _fact() -> str:
    """The name under which limits are remembered: a cache folder on a shared disk serves several machines."""
    return f"limits 5 {machine_name()} {_processor()} numpy {np.__version__}"


@functools.cache
def _processor() -> str:
    """Its name: a container or a virtual machine of one name runs on another one tomorrow."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def machine_name() -> str:
    """What tells machines apart that share a disk, and saved comparisons."""
    return f"{platform.node()} {platform.machine()} {os.cpu_count()}"


def cache_levels(*, bytes_per_element: float, folder: Path = _CACHES) -> tuple[Level, ...]:
    """Caches for data, smallest first, with the elements that fill each; none where the system does not tell."""
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


# -- rows


def judged(
    entries: Sequence[TimedCall],
    timings: Sequence[Timing],
    *,
    elements: int,
    baseline: str = "",
    limit: Limits | None = None,
    crowded: bool = False,
) -> tuple[Row, ...]:
    """Rows over ``elements`` elements, with how many times faster they are than the baseline and what holds them back.

    The baseline is the entry of that label; without one, the first Python loop, else the first entry.  No row has a
    speed-up if the baseline disagrees, or where it has no label, if the compiled function does: the expectation then
    stands against the function itself.  On a ``crowded`` machine speed-ups are ranges.
    """
    rows = []
    for entry, timing in zip(entries, timings, strict=True):
        share, words = None, ""
        if limit and entry.nbytes and timing.seconds and (entry.agreement is None or entry.agreement.ok):
            share = entry.nbytes / timing.seconds / limit.bytes_per_second(entry.nbytes)
            words = verdict(share, timing.seconds, *_cell_function(entry.call.function))
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
                note="; ".join(filter(None, (FEW.get(timing.rounds), entry.note, words))),
                compile_seconds=entry.compile_seconds,
                text=entry.text,
            )
        )
    if baseline:
        base = next((row for row in rows if row.label == baseline), None)
        decisive = [base] if base else []
    else:
        base = next((row for row in rows if row.kind in ("python", "scalar")), rows[0])
        decisive = [row for row in rows if row is base or row.kind in ("ufunc", "parallel", "compiled")]
    return faster(rows, base, crowded=crowded) if base and agrees(decisive) else tuple(rows)


def faster(rows: Sequence[Row], base: Row, *, crowded: bool = False) -> tuple[Row, ...]:
    """The rows with their speed-ups over another one, but for those that disagree."""
    return tuple(_over(base, row, crowded) if row.ok and row.seconds else row for row in rows)


def _over(base: Row, row: Row, crowded: bool) -> Row:
    between = None
    if row is not base and (crowded or unsteady(base.spread) or unsteady(row.spread)):
        doubt = DOUBT if crowded else 1.0
        between = (base.seconds / _typical(row) / doubt, _typical(base) / row.seconds * doubt)
    return replace(row, speedup=base.seconds / row.seconds, speedup_range=between)


def _typical(row: Row) -> float:
    """Seconds of the middle round."""
    return row.seconds * (1 + (row.spread or 0.0))


class Pressure:
    """What other programs take of the machine while something is measured."""

    def __init__(self, clock: Clock = CLOCK) -> None:
        self._clock, self._start, self._waited = clock, clock(), waited()

    @property
    def share(self) -> float:
        """Of the time so far, what this thread waited for a processor."""
        lost = waited() - self._waited if self._clock is CLOCK else 0.0
        return lost / max(1e-9, lost + self._clock() - self._start)

    @property
    def crowded(self) -> bool:
        return self.share > CROWDED

    def words(self, rows: Sequence[Row]) -> str:
        """A note on a busy machine; ``""`` for a quiet one."""
        share = self.share
        words = []
        if share > BUSY:
            words.append(f"other programs used the processor for {percent(share)} of the time, which is not counted")
        if any(row.speedup_range for row in rows):
            words.append("uncertain speed-ups are shown as ranges")
        return f"busy machine: {'; '.join(words)}" if words else ""


def _cell_function(function: object) -> tuple[CellFunction | None, CellPlace]:
    """What one of our ufuncs was made of, and where its cell stands."""
    origin = origin_of(function) if ufunc_of(function) is not None else None
    return (origin.cell_function, current_place(origin.object_code)) if origin else (None, CellPlace())


#: Where a source stands by itself.
_NOWHERE = CellPlace()


def verdict(share: float, seconds: float, code: CellFunction | None = None, place: CellPlace = _NOWHERE) -> str:
    """One phrase for a call that moved a ``share`` of what the machine can move; ``""`` where nothing can be said.

    Parameters
    ----------
    share : float
    seconds : float
        Of the call.
    code : CellFunction
        The function, if it is one of ours; others may move more than their arguments and results.
    place : CellPlace
        How its lines are counted.
    """
    if share > IMPOSSIBLE:
        return ""
    if share >= MEMORY_BOUND:
        return f"memory-bound, {percent(min(1.0, share))} of memory bandwidth"
    if seconds < CALL and share < 0.1:
        return "mostly the cost of a call"
    if code is None:
        return f"{percent(share)} of memory bandwidth"
    line = loop_line(code.source, line=code.line)
    if line:
        return f"not vectorized: line {place.line(line)}, data-dependent loop"
    calls = {name.removeprefix("c_") for name in re.findall(r"(\w+)\(", code.python)}
    slowest = next((f" in {name}" for name in _SLOWEST if name in calls), "")
    return f"compute-bound{slowest}"


def loop_line(source: str, *, line: int) -> int:
    """The line of the first loop in a C function whose turns depend on data; 0 where there is none.

    ``source`` is the function's text and ``line`` the line it begins on.
    """
    for offset, text in enumerate(source.split("\n")):
        if _LOOP.search(text.partition("//")[0]):
            return line + offset
    return 0
