"""What the report of a CUDA cell says more: where its functions ran, and the rows of the GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model import ObjectCode
from ..render import Row
from ..runtime import device
from ..toolchain import nvrtc
from .agreement import agreement

__all__ = ["Measured", "Meter", "can_be_timed", "gpu_rows", "notices", "parts", "place"]

EMULATION = "CPU emulation"

#: What this session has been told already.
_told: set[str] = set()


class Measured(Protocol):
    """Seconds of the GPU alone, and with transfers from and to the host."""

    @property
    def kernel(self) -> float: ...
    @property
    def transfers(self) -> float: ...
    @property
    def bandwidth(self) -> float: ...


class Meter(Protocol):
    """What a GPU's clock must offer, as `ufunc_magic.runtime.device.device_timing` does."""

    def time_function(self, function: Any, arguments: Sequence[Any], /) -> Measured: ...
    def copy_bandwidth(self) -> float: ...
    def __hash__(self) -> int: ...


def place(object_code: ObjectCode) -> str:
    """Where functions of a CUDA cell run here; ``""`` for other cells."""
    if object_code.language != "cuda":
        return ""
    return device.name() if device.on_gpu(object_code) else EMULATION


def notices(object_code: ObjectCode) -> list[str]:
    """What a session is told once: that there is no GPU, that there is no NVRTC."""
    if object_code.language != "cuda" or device.on_gpu(object_code):
        return []
    said = {}
    if object_code.options.get("device", "auto") == "auto":
        said["gpu"] = "there is no GPU here: functions of CUDA cells run in an emulation on the CPU"
    if not nvrtc.identity():
        said["nvrtc"] = (
            'NVIDIA\'s own compiler, which would check CUDA cells, is not installed: pip install "ufunc_magic[cuda]"'
        )
    new = [text for word, text in said.items() if word not in _told]
    _told.update(said)
    return new


def can_be_timed(function: Any) -> bool:
    """Whether there is code for the CPU to compare with."""
    return not isinstance(function, device.CudaFunction) or isinstance(function.emulated, np.ufunc)


def parts(
    function: Any, object_code: ObjectCode
) -> tuple[Callable[..., Any], str, Callable[[Sequence[NDArray[Any]]], Sequence[Row]] | None]:
    """What to time on the CPU, what to call it, and what makes the rows of the GPU, if there is one."""
    if object_code.language != "cuda":
        return function, "ufunc", None
    if isinstance(function, device.CudaFunction):
        return function.emulated, "CPU loop", functools.partial(gpu_rows, function, meter=device)
    return function, EMULATION, None


def gpu_rows(function: Any, arrays: Sequence[NDArray[Any]], *, meter: Meter) -> tuple[Row, ...]:
    """The function on the GPU, alone and with transfers, checked against its CPU loop.

    Parameters
    ----------
    function : CudaFunction
    arrays : sequence of ndarray
    meter : Meter
    """
    number = len(arrays[0])
    expected, got = function.emulated(*arrays), function(*arrays)
    verdict = agreement(expected, got, inputs=tuple(arrays))
    took = meter.time_function(function, arrays)
    share = took.bandwidth / _copies(meter)
    return (
        Row("GPU, kernel alone", "gpu", number, number, took.kernel, agreement=verdict, bandwidth=share),
        Row("GPU with transfers", "gpu", number, number, took.transfers, agreement=verdict),
    )


@functools.cache
def _copies(meter: Any) -> float:
    """Bytes per second of a copy: once for a session, since it takes a gigabyte of the GPU's memory."""
    return float(meter.copy_bandwidth())
