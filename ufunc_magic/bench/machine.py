"""What this machine can do at most: its caches, the bytes it moves and the arithmetic it does in a second."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import store
from ..render import Level
from .measure import Call, Clock, measure, once

__all__ = ["STREAM", "Limits", "cache_levels", "limits", "machine_name", "measure_bandwidth", "measure_limits"]

#: Bytes of each of the two arrays a copy streams through: past the second-level cache of every machine and,
#: together, near the share of the last level that one core of a large machine gets.
STREAM = 24 << 20

#: Bytes of all arrays together at which the rate of a copy is measured, besides the stream's.
SETS = (1 << 14, 1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 24)

#: Rows and columns of the matrices: below the size from which BLAS libraries use threads.
MATRIX = 64

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Limits:
    """One thread's.

    Attributes
    ----------
    moved : tuple of (int, float)
        Bytes of all arrays together -> bytes per second that an addition reads and writes; ascending.
    arithmetic : float
        Additions and multiplications of doubles per second in a matrix product; floats are twice as many.
    """

    moved: tuple[tuple[int, float], ...]
    arithmetic: float

    def bytes_per_second(self, nbytes: int) -> float:
        """What can be moved where ``nbytes`` are touched in all."""
        sets, rates = zip(*self.moved, strict=True)
        return float(np.interp(np.log(max(1, nbytes)), np.log(sets), rates))

    @property
    def stream(self) -> float:
        """Bytes per second past the caches."""
        return self.moved[-1][1]

    def to_text(self) -> str:
        """As kept in the cache."""
        return " ".join([repr(self.arithmetic), *(f"{nbytes}:{rate!r}" for nbytes, rate in self.moved)])

    @classmethod
    def from_text(cls, text: str) -> Limits:
        """What `to_text` gave; ValueError for anything else."""
        arithmetic, *pairs = text.split()
        moved = tuple((int(nbytes), float(rate)) for nbytes, rate in (pair.split(":") for pair in pairs))
        if not moved:
            raise ValueError(f"{text!r} has no rates")
        return cls(moved, float(arithmetic))


def measure_bandwidth(*, nbytes: int = 2 * STREAM, clock: Clock = time.perf_counter) -> float:
    """Bytes per second that one thread reads and writes in ``b = a + 1``, best of four; about 50 ms.

    An addition and not ``memcpy``, whose streaming stores skip the read of the line to be written
    that a compiled loop causes: this is what a loop can reach.  That read is not counted, here or in a row.
    """
    source = np.ones(nbytes // 16)
    target = np.empty_like(source)
    call = Call(functools.partial(np.add, out=target), (source, 1.0))
    once(call, clock=clock)  # maps the pages of the target
    return (source.nbytes + target.nbytes) / max(1e-9, min(once(call, clock=clock)[0] for _ in range(4)))


def measure_limits(*, clock: Clock = time.perf_counter) -> Limits:
    """Measure; about 200 ms."""
    arrays = [(np.ones(nbytes // 16), np.empty(nbytes // 16)) for nbytes in SETS]
    calls = [Call(functools.partial(np.add, out=target), (source, 1.0)) for source, target in arrays]
    matrix = np.ones((MATRIX, MATRIX))
    calls.append(Call(functools.partial(np.matmul, out=np.empty_like(matrix)), (matrix, matrix)))
    calls.append(Call(functools.partial(np.add, out=np.empty(1)), (np.ones(1), 1.0)))
    turns = [measure(calls, clock=clock, deadline=clock() + 0.03) for _ in range(4)]
    # The best: what is remembered must not be what a busy moment left over.
    best: list[float] = [min(timing.seconds for timing in turn) for turn in zip(*turns, strict=True)]
    *adds, product, alone = best

    def rate(amount: float, seconds: float) -> float:
        return amount / max(1e-9, seconds / 4, seconds - alone)  # without what a call costs by itself

    rates = [rate(nbytes, seconds) for nbytes, seconds in zip(SETS, adds, strict=True)]
    moved = (*zip(SETS, rates, strict=True), (2 * STREAM, measure_bandwidth(clock=clock)))
    return Limits(moved, rate(2 * MATRIX**3, product))


def limits(*, found: Callable[[], Limits] = measure_limits) -> Limits:
    """This machine's, measured once and remembered in the cache."""
    fact = f"limits 3 {machine_name()}"
    cache = store.default()
    try:
        return Limits.from_text(cache.recall(fact) or "")
    except ValueError:
        measured = found()
        cache.remember(fact, measured.to_text())
        return measured


def machine_name() -> str:
    """What tells machines apart that share a disk, and saved comparisons."""
    return f"{platform.node()} {platform.machine()} {os.cpu_count()}"


def cache_levels(*, bytes_per_element: float, folder: Path = _CACHES) -> tuple[Level, ...]:
    """Caches for data, smallest first, with the elements that fill each; none where the system does not tell."""
    found = {}
    for entry in sorted(folder.glob("index[0-9]*")) if folder.is_dir() else ():
        level, kind, size = (_word(entry / name) for name in ("level", "type", "size"))
        if level.isdecimal() and kind in ("Data", "Unified") and (nbytes := _bytes(size)):
            found[int(level)] = nbytes
    each = max(bytes_per_element, 1e-9)
    return tuple(Level(f"L{level}", nbytes, int(nbytes / each)) for level, nbytes in sorted(found.items()))


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _bytes(text: str) -> int:
    digits, unit = text.rstrip("KMG"), text[-1:]
    return int(digits) << {"K": 10, "M": 20, "G": 30}.get(unit, 0) if digits.isdecimal() else 0
