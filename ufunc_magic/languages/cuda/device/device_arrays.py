"""Arrays of any library, seen as CuPy's without a copy, and results given back in the same kind."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from ....model import ArgumentError
from . import driver

#: Device types of the DLPack standard: kDLCUDA and kDLCUDAManaged.
_ON_GPU = (2, 13)
_roles: dict[type, Literal["array", "value", ""]] = {}


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
        The value that the caller passed.
    """

    place: Literal["device", "host", "value"]
    array: Any
    original: Any

    @property
    def dtype(self) -> np.dtype[Any] | type:
        """The type for NumPy's promotion: Python's numbers are weak."""
        if isinstance(self.array, bool):
            return np.dtype(bool)
        if isinstance(self.array, int | float | complex) and not isinstance(self.array, np.generic):
            return type(self.array)
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.place == "value" else tuple(self.array.shape)


def find_role(kind: type) -> Literal["array", "value", ""]:
    """The kind of arguments of a type, where the type alone decides: CuPy's arrays, and numbers."""
    known = _roles.get(kind)
    if known is None:
        is_number = issubclass(kind, np.generic | bool | int | float | complex)
        is_cupys = hasattr(kind, "dtype") and any(base.__module__.partition(".")[0] == "cupy" for base in kind.__mro__)
        known = "array" if is_cupys else "value" if is_number else ""
        _roles[kind] = known
    return known


def read_operand(value: Any, *, name: str) -> ArrayOperand:
    """See what an argument is, and borrow its memory.

    Raises
    ------
    ArgumentError
        If it is on a GPU and cannot be lent.
    """
    if isinstance(value, np.ndarray):
        return ArrayOperand("host", value, value) if value.ndim else ArrayOperand("value", value[()], value)
    if known := find_role(type(value)):
        return ArrayOperand("device" if known == "array" else "value", value, value)
    if (borrowed := lend_tensor(value)) is not value:
        return ArrayOperand("device", borrowed, value)
    if _is_on_device(value):
        return ArrayOperand("device", _borrow(value, name), value)
    array = np.asarray(value)
    return ArrayOperand("host" if array.ndim else "value", array if array.ndim else array[()], value)


def lend_tensor(value: Any) -> Any:
    """A CuPy array over a plain tensor of torch's, where both libraries are on the same stream; others as they are."""
    # DLPack takes three times as long.
    if type(value).__module__ != "torch":
        return value
    torch = sys.modules["torch"]
    if type(value) is not torch.Tensor or not value.is_cuda or value.layout is not torch.strided:
        return value
    dtype, device = _list_types(torch).get(value.dtype), value.device.index
    if dtype is None or value.requires_grad or value.is_neg() or value.is_conj():
        return value
    if device != driver.find_current_device() or driver.find_other_stream(torch, device) is not None:
        return value
    size = dtype.itemsize
    strides = tuple([size * n for n in value.stride()])
    return driver.borrow_array(value.data_ptr(), tuple(value.shape), dtype, strides, owner=value)


@cache
def _list_types(torch: Any) -> dict[Any, Any]:
    """torch's types that NumPy has too, each way; older ones of torch's have not all of them."""
    names = [np.dtype(char).name for char in "?bBhHiIlLefdFD"]
    types = {getattr(torch, name): np.dtype(name) for name in names if hasattr(torch, name)}
    return types | {dtype: kind for kind, dtype in types.items()}


def make_array(shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> tuple[Any, Any]:
    """A new array as CuPy's, and the same memory as the kind of ``like``: CuPy's, or a tensor that was `lend_tensor`.

    torch allocates its tensors itself, so that its graphs can record that too.
    """
    if find_role(type(like)) != "array" and (kind := _list_types(sys.modules["torch"]).get(dtype)) is not None:
        tensor = like.new_empty(shape, dtype=kind)
        return lend_tensor(tensor), tensor
    array = driver.allocate(shape, dtype)
    return array, give(array, like)


def find_tensor_stream(values: Sequence[Any]) -> int | None:
    """The pointer of torch's current stream, where tensors of it are the only device arrays and CuPy is on another.

    torch then need not wait for anything, and its graphs can record what is launched.
    """
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", ())
    tensors = [value for value in values if isinstance(value, kind) and value.is_cuda]
    if not tensors:
        return None
    others = [value for value in values if not isinstance(value, kind) and find_role(type(value)) != "value"]
    if any(find_role(type(value)) == "array" or _is_on_device(value) for value in others):
        return None
    device = driver.find_current_device()
    return driver.find_other_stream(torch, device) if {tensor.device.index for tensor in tensors} == {device} else None


def _is_on_device(value: Any) -> bool:
    if hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) in _ON_GPU


def _borrow(value: Any, name: str) -> Any:
    """A CuPy array over the same memory; the current stream waits for the owner's by the protocol."""
    module = driver.import_cupy()
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
    if find_role(type(like)) == "array":
        return array
    if module.partition(".")[0] == "torch":
        return _make_tensor(array, like)
    if ".cudadrv" in module:  # numba.cuda.cudadrv.devicearray
        return sys.modules[module.partition(".cudadrv")[0]].as_cuda_array(array)
    namespace = getattr(like, "__array_namespace__", None)
    taken = getattr(namespace(), "from_dlpack", None) if namespace is not None else None
    return array if taken is None else taken(array)


def _make_tensor(array: Any, like: Any) -> Any:
    torch = sys.modules["torch"]
    if driver.find_other_stream(torch, driver.find_device(array)) is None:
        with contextlib.suppress(TypeError):  # of a dtype that torch takes from DLPack alone
            return torch.as_tensor(array, device=like.device)
    return torch.from_dlpack(array)


def order_after(array: Any, target: Any) -> None:
    """Let the stream of ``target``'s library wait for what the current one writes into ``array``."""
    if find_role(type(target)) == "array":
        return
    torch = sys.modules["torch"] if type(target).__module__ == "torch" else None
    # Whoever takes the array through DLPack has its stream wait; nothing is done with what it takes.
    if torch is None or driver.find_other_stream(torch, driver.find_current_device()) is not None:
        give(array, target)
