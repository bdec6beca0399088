"""Arrays of any library, seen as CuPy's without a copy, and results given back in the same kind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...model import ArgumentError
from . import driver

#: Device types of the DLPack standard: kDLCUDA and kDLCUDAManaged.
_ON_GPU = (2, 13)


@dataclass(frozen=True, eq=False)
class ArrayOperand:
    """One argument.

    Attributes
    ----------
    place : {"device", "host", "value"}
        "value" goes with either: numbers, and NumPy's scalars and arrays of no dimension.
    array : cupy.ndarray, numpy.ndarray or number
        The same memory, in the form that is worked on.
    original : object
        What the caller passed.
    """

    place: Literal["device", "host", "value"]
    array: Any
    original: Any

    @property
    def dtype(self) -> np.dtype[Any] | type:
        """What NumPy's promotion goes by: Python's numbers are weak."""
        if isinstance(self.array, bool):
            return np.dtype(bool)
        if isinstance(self.array, int | float | complex) and not isinstance(self.array, np.generic):
            return type(self.array)
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.place == "value" else tuple(self.array.shape)


def operand(value: Any, *, name: str) -> ArrayOperand:
    """See what an argument is, and borrow its memory.

    Raises
    ------
    ArgumentError
        If it is on a GPU and cannot be lent.
    """
    if isinstance(value, np.ndarray):
        return ArrayOperand("host", value, value) if value.ndim else ArrayOperand("value", value[()], value)
    if isinstance(value, np.generic | bool | int | float | complex):
        return ArrayOperand("value", value, value)
    if type(value).__module__.partition(".")[0] == "cupy":
        return ArrayOperand("device", value, value)
    if _on_device(value):
        return ArrayOperand("device", _borrowed(value, name), value)
    array = np.asarray(value)
    return ArrayOperand("host" if array.ndim else "value", array if array.ndim else array[()], value)


def _on_device(value: Any) -> bool:
    if hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) in _ON_GPU


def _borrowed(value: Any, name: str) -> Any:
    """A CuPy array over the same memory; the current stream waits for the owner's by the protocol."""
    module = driver.cupy()
    try:
        # First DLPack: it orders the two streams without waiting for either.
        return module.from_dlpack(value) if hasattr(value, "__dlpack__") else module.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as fault:
        if hasattr(value, "__dlpack__") and hasattr(value, "__cuda_array_interface__"):
            return module.asarray(value)
        raise ArgumentError(
            f"{name}: {type(value).__name__} cannot be lent without a copy: {fault}.",
            remedy="Give a CuPy array.",
        ) from fault


def place(operands: Sequence[ArrayOperand], *, name: str) -> Literal["device", "host"]:
    """Where the arrays are; "host" where there are only values.

    Raises
    ------
    ArgumentError
        If some are on the device and others are not.
    """
    places = {o.place for o in operands} - {"value"}
    if places == {"device", "host"}:
        where = [f"argument {n} ({type(o.original).__name__})" for n, o in enumerate(operands, 1) if o.place == "host"]
        raise ArgumentError(
            f"{name}: {' and '.join(where)} in the host's memory, the others on the GPU.",
            remedy="Move all to one side: cupy.asarray(x) copies to the GPU, x.get() from it.",
        )
    return "device" if "device" in places else "host"


def give(array: Any, like: Any) -> Any:
    """A CuPy array as the kind of ``like``, without a copy; CuPy's own where its library takes none."""
    module = type(like).__module__
    root = module.partition(".")[0]
    if root == "cupy":
        return array
    if root == "torch":
        return sys.modules["torch"].from_dlpack(array)
    if ".cudadrv" in module:  # numba.cuda.cudadrv.devicearray
        return sys.modules[module.partition(".cudadrv")[0]].as_cuda_array(array)
    namespace = getattr(like, "__array_namespace__", None)
    taken = getattr(namespace(), "from_dlpack", None) if namespace is not None else None
    return array if taken is None else taken(array)


def ordered_after(array: Any, target: Any) -> None:
    """Let the stream of ``target``'s library wait for what the current one writes into ``array``."""
    # Whoever takes the array through DLPack has its stream wait; nothing is done with what it takes.
    if type(target).__module__.partition(".")[0] != "cupy":
        give(array, target)
