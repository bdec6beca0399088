"""How long the device takes, by its own clock: a function alone, with its transfers, and plain copies to compare."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import device_arrays, driver
from .cuda_function import CudaFunction

#: Bytes of the array whose copy is timed: more than any cache of a GPU holds.
_COPIED = 512 << 20
#: Seconds of one sample, and the most runs in it.
_SAMPLE, _MOST = 0.02, 200


@dataclass(frozen=True)
class Timed:
    """Seconds of one call.

    Attributes
    ----------
    kernel : float
        Arguments and results on the device: what the GPU itself took.
    transfers : float
        From NumPy arrays to NumPy arrays, the kernel included.
    moved : int
        Bytes that the kernel reads and writes.
    """

    kernel: float
    transfers: float
    moved: int

    @property
    def bandwidth(self) -> float:
        """Bytes per second of the kernel alone."""
        return self.moved / self.kernel if self.kernel else 0.0


def time_call(run: Callable[[], Any], *, rounds: int = 9, warm: int = 3, queued: bool = True) -> float:
    """Median seconds of ``run`` on the device's own clock, on the current stream.

    ``run`` is called ``warm`` times before, since the first one compiles.  ``queued``: see `driver.time_runs`.
    """
    for _ in range(warm):
        run()
    once = driver.time_runs(run)
    repeat = max(1, min(_MOST, int(_SAMPLE / once))) if once else _MOST
    return statistics.median(driver.time_runs(run, repeat=repeat, queued=queued) for _ in range(rounds))


def copy_bandwidth(size: int = _COPIED) -> float:
    """Bytes per second, read and written, of a copy within the current device."""
    source = driver.allocate((size,), np.dtype("u1"))
    target = driver.allocate((size,), np.dtype("u1"))
    driver.assign(source, 1)
    seconds = time_call(lambda: driver.assign(target, source))
    return 2 * size / seconds if seconds else 0.0


def time_function(function: CudaFunction, arguments: Sequence[Any], *, rounds: int = 9) -> Timed:
    """Time a function on NumPy arguments: alone on the device, and with the way there and back.

    Parameters
    ----------
    arguments : sequence of numpy.ndarray or number
    """
    lent = [driver.to_device(a) if isinstance(a, np.ndarray) and a.ndim else a for a in arguments]
    results = function(*lent)
    outs = results if isinstance(results, tuple) else (results,)
    kernel = time_call(lambda: function(*lent, out=outs), rounds=rounds)
    transfers = time_call(lambda: function(*arguments), rounds=max(3, rounds // 3), warm=1, queued=False)
    taken = [device_arrays.read_operand(a, name=function.__name__) for a in lent]
    read = sum(int(o.array.nbytes) for o in taken if o.place == "device")
    return Timed(kernel, transfers, read + sum(int(a.nbytes) for a in outs))
