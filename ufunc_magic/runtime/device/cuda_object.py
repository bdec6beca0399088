"""CUDA functions as Python objects: called on arrays of the GPU or of the host, launched as kernels.

`driver` is the only module that asks the device for anything, through CuPy; the others work on values.
"""

from __future__ import annotations

from typing import Any

from ...model import FunctionCode, ObjectCode
from . import driver
from .cuda_function import CudaFunction
from .cuda_kernel import Kernel, Launch
from .driver import compile_with

__all__ = [
    "CudaFunction",
    "Kernel",
    "Launch",
    "available",
    "compile_with",
    "make",
    "make_kernel",
    "missing",
    "name",
    "on_gpu",
]


def available() -> bool:
    """Whether this process can run code on a GPU."""
    return not driver.missing()


def missing() -> str:
    """Why it cannot, with what to do about it; ``""`` if it can."""
    return driver.missing()


def name() -> str:
    """The GPU's name, or ``""``."""
    return "" if driver.missing() else driver.device_name()


def on_gpu(object_code: ObjectCode) -> bool:
    """Whether functions of ``object_code`` are to run on the GPU here: as its option says, else where there is one."""
    match object_code.options.get("device", "auto"):
        case "gpu":
            return True
        case "cpu":
            return False
    return available()


def make(code: FunctionCode, object_code: ObjectCode, *, emulated: Any) -> CudaFunction:
    """The function of a CUDA cell for a machine with a GPU.

    Parameters
    ----------
    emulated : numpy.ufunc, PlainFunction or None
        The same function for the CPU.
    """
    return CudaFunction(code, object_code, emulated=emulated)


def make_kernel(code: FunctionCode, object_code: ObjectCode, *, address: int, owner: object) -> Kernel:
    """A __global__ function, launched as ``k[grid, block](arguments)``.

    Parameters
    ----------
    address : int
        Of its launcher for the CPU; 0 where there is none.
    owner : object
        Kept alive by the kernel.
    """
    return Kernel(code, object_code, address=address, owner=owner, emulated=not on_gpu(object_code))
