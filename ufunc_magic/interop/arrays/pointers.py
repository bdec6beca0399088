"""Raw pointers to arrays and back, without a copy: for hosts in C and C++ that hold the memory.

``asarray`` makes an array over memory of somebody else's, ``ascapsule`` and ``pointer`` give an array's memory away.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ...model import ArgumentError, ToolchainError
from ...runtime import device as gpu
from . import capsules
from .memory import Memory, describe, on_gpu
from .memory_layout import TOP, Element, as_it_is, asked_for, check_address, check_alignment, element, fitted

__all__ = ["asarray", "ascapsule", "pointer"]

#: ``data`` is the first field behind the object's head in every NumPy: ``PyArrayObject_fields`` of
#: ``numpy/ndarraytypes.h``, which compiled extensions read in place, too.
_DATA = object.__basicsize__
_field = ctypes.c_size_t.from_address


class _Lent(ctypes.Array[ctypes.c_char]):
    """Foreign memory from an address on; the array over it, and all its views, keep it and so the owner alive.

    How much of it there is, only the array knows: a type for each size would take 50 us.
    """

    __slots__ = ("owner",)
    _type_ = ctypes.c_char
    _length_ = sys.maxsize
    owner: object


def asarray(
    obj: Any,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    *,
    device: Literal["cpu", "cuda"] = "cpu",
    strides: Sequence[int] | None = None,
    owner: object = None,
    device_id: int = 0,
) -> Any:
    """Make an array over foreign memory; nothing is copied.

    Parameters
    ----------
    obj : int, PyCapsule, ctypes or cffi pointer, buffer, or array
        An address; a capsule whose pointer is the first element, of any name or none; a capsule of DLPack
        (``"dltensor"``, ``"dltensor_versioned"``), which is used up; anything with a buffer, ``__array_interface__``,
        ``__cuda_array_interface__`` or ``__dlpack__``.
    shape : int or sequence of int
        May be left out where ``obj`` knows it.
    dtype : dtype
        May be left out where ``obj`` knows it.
    device : {"cpu", "cuda"}
        Where the memory is.
    strides : sequence of int
        In bytes, one for each axis; C order if left out. ``asarray(p, (nx, ny, nz), "f4", strides=(4, 4*nx, 4*nx*ny))``
        sees C's ``float v[nz][ny][nx]`` as ``v[x, y, z]``.
    owner : object
        Kept alive exactly as long as the array and its views, beside ``obj`` itself if that is an object.
    device_id : int
        The GPU, for addresses on one.

    Returns
    -------
    numpy.ndarray or cupy.ndarray
        Read-only where ``obj`` is.

    Raises
    ------
    ArgumentError
        If the address is null or not aligned for the dtype, if shape, dtype or strides do not fit the memory, if the
        memory is on another device, or read-only on a GPU (CuPy has no read-only arrays), or if ``obj`` is a capsule
        of something else or used up.
    """
    if device == "cpu":  # first what a host calls for each of its frames
        address = obj if type(obj) is int else capsules.plain(obj)
        if address is not None:
            sizes, kind, steps = asked_for(shape, dtype, strides)
            if address is not obj:
                owner = obj if owner is None else (obj, owner)
            return _on_cpu(address, sizes, kind, steps, readonly=False, owner=owner)
    if device not in ("cpu", "cuda"):
        raise ArgumentError(f"device={device!r} is no place for an array.", remedy="Write 'cpu' or 'cuda'.")
    seen = describe(obj)
    if seen.device not in ("", device):
        raise ArgumentError(
            f"The {type(obj).__name__} holds memory of {_place(seen.device)}, not of {_place(device)}.",
            remedy=f"Write device={seen.device!r}." if seen.device in ("cpu", "cuda") else "Copy it to the CPU first.",
        )
    if device == "cuda":
        return _of_gpu(seen, shape, dtype, strides, owner, device_id)
    if seen.array is not None and owner is None and strides is None and as_it_is(seen, shape, dtype):
        check_alignment(seen.address, seen.array.strides, element(seen.array.dtype))
        return seen.array
    sizes, kind, steps = fitted(seen, shape, dtype, strides)
    kept = _kept(seen, owner)
    return _on_cpu(seen.address, sizes, kind, steps, readonly=seen.readonly, owner=kept)


def ascapsule(array: Any, *, kind: Literal["dlpack", "pointer"] = "dlpack") -> Any:
    """A PyCapsule that lends an array's memory and keeps the array alive.

    Parameters
    ----------
    array : array
        NumPy's, CuPy's, or of any library that speaks DLPack.
    kind : {"dlpack", "pointer"}
        "dlpack" carries shape, strides and dtype under the name ``"dltensor"`` (``"dltensor_versioned"`` for a
        read-only array, which only that can say); who takes it calls its deleter. "pointer" is a capsule without a
        name that holds the address of the first element.

    Raises
    ------
    ArgumentError
        If DLPack has no such type, or the array is empty and has no first element.
    """
    if kind == "pointer":
        address = pointer(array)
        if not address or not getattr(array, "size", 1):
            raise ArgumentError("An empty array has no first element to point to.", remedy="Use kind='dlpack'.")
        return capsules.make(address, owner=array)
    if kind != "dlpack":
        raise ArgumentError(f"kind={kind!r} is no kind of capsule.", remedy="Write 'dlpack' or 'pointer'.")
    try:
        locked = isinstance(array, np.ndarray) and not array.flags.writeable
        return array.__dlpack__(max_version=(1, 0)) if locked else array.__dlpack__()
    except (AttributeError, BufferError) as fault:
        pointer(array)  # refuses what is no array at all
        raise ArgumentError(
            f"The {type(array).__name__} cannot be lent through DLPack: {str(fault).rstrip('.')}.",
            remedy="Use kind='pointer', and say shape and dtype on the other side.",
        ) from fault


def pointer(array: Any) -> int:
    """The address of an array's first element, on its device.

    The array must be kept alive meanwhile.

    Raises
    ------
    ArgumentError
        If it is no array.
    """
    if isinstance(array, np.ndarray):
        return _field(id(array) + _DATA).value
    on_device = getattr(getattr(array, "data", None), "ptr", None)  # CuPy
    if on_device is not None:
        return int(on_device)
    if hasattr(array, "data_ptr"):  # torch
        return int(array.data_ptr())
    told = getattr(array, "__cuda_array_interface__" if on_gpu(array) else "__array_interface__", None)
    if told is None:
        raise ArgumentError(
            f"{type(array).__name__} is no array whose address could be asked for.",
            remedy="Give an array of NumPy, CuPy or torch.",
        )
    return int(told["data"][0])


# ----------------------------------------------------------------------------------- the arrays


def _on_cpu(
    address: int,
    shape: tuple[int, ...],
    kind: Element,
    strides: tuple[int, ...] | None,
    *,
    readonly: bool,
    owner: object,
) -> np.ndarray[Any, Any]:
    taken, first = kind.size * math.prod(shape), 0
    if not taken or not 0 < address <= TOP - taken or strides is not None or address % kind.alignment:
        first, last = check_address(address, shape, kind, strides)
        if first == last:  # the address of nothing may be null, which NumPy takes for a wish to allocate
            return np.empty(shape, kind.dtype)
    lent = _Lent.from_address(address + first)
    lent.owner = owner
    buffer: Any = memoryview(lent).toreadonly() if readonly else lent
    return np.ndarray(shape, kind.dtype, buffer, -first, strides)


def _of_gpu(seen: Memory, shape: Any, dtype: Any, strides: Any, owner: object, device_id: int) -> Any:
    try:
        gpu.cupy()
    except ImportError as fault:
        # What can be done about it is in the reason.
        what, _, remedy = gpu.missing().partition(": ")
        raise ToolchainError(f"An array on a GPU is CuPy's: {what}.", remedy=f"{remedy or 'Repair CuPy'}.") from fault
    if seen.readonly:
        raise ArgumentError(
            "The memory on the GPU is read-only, and CuPy has no read-only arrays.", remedy="Copy it on its own side."
        )
    if seen.array is not None and owner is None and strides is None and as_it_is(seen, shape, dtype):
        return seen.array
    if seen.device == "cuda" and seen.array is None and not isinstance(seen.owner, capsules.Tensor):
        given: Any = gpu.cupy().from_dlpack(seen.owner) if seen.shape is None else seen.owner
        if owner is None and shape is None and dtype is None and strides is None:
            # CuPy's own: it waits for the stream of the array's library.
            return gpu.cupy().asarray(given)
        if seen.shape is None:
            seen = Memory(pointer(given), given, given.shape, given.strides, given.dtype, device="cuda")
    sizes, kind, steps = fitted(seen, shape, dtype, strides)
    first, last = check_address(seen.address, sizes, kind, steps)
    module = gpu.cupy()
    number = device_id if seen.device_id is None else seen.device_id
    held = _kept(seen, owner)
    memory = module.cuda.UnownedMemory(seen.address + first, last - first, held, number)
    start = module.cuda.MemoryPointer(memory, -first)
    return module.ndarray(sizes, kind.dtype, memptr=start, strides=steps)


def _kept(seen: Memory, owner: object) -> object:
    """Everything that the array keeps alive; the tensor of a capsule is taken now."""
    own = seen.owner.take() if isinstance(seen.owner, capsules.Tensor) else seen.owner
    return own if owner is None else owner if own is None else (own, owner)


def _place(device: str) -> str:
    return {"cpu": "the CPU", "cuda": "a GPU"}.get(device, device)
