"""Raw pointers to arrays and back, without a copy: for hosts in C and C++ that hold the memory.

``asarray`` makes an array over memory of somebody else's, ``ascapsule`` and ``pointer`` give an array's memory away.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import Any, Literal

import numpy as np

from ..device import driver
from ..errors import ArgumentError
from . import capsules
from .memory import Memory, describe, on_gpu

__all__ = ["asarray", "ascapsule", "pointer"]

#: One more than the last address.
_TOP = 1 << (8 * ctypes.sizeof(ctypes.c_void_p))
#: ``data`` is the first field behind the object's head in every NumPy: ``PyArrayObject_fields`` of
#: ``numpy/ndarraytypes.h``, which compiled extensions read in place, too.
_DATA = object.__basicsize__
_field = ctypes.c_size_t.from_address


class _Lent:
    """Foreign memory as an object that NumPy makes an array of; the array, and all its views, keep it alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, object], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


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
            sizes, kind, steps = _layout(shape, dtype, strides)
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
    if seen.array is not None and owner is None and strides is None and _as_it_is(seen, shape, dtype):
        _check_alignment(seen.address, seen.array.strides, _element(seen.array.dtype))
        return seen.array
    sizes, kind, steps = _fitted(seen, shape, dtype, strides)
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


# ----------------------------------------------------------------------------------- the layout


@dataclass(frozen=True)
class _Element:
    """A dtype with what is asked of it for each array."""

    dtype: np.dtype[Any]
    size: int
    alignment: int
    typestr: str
    record: bool


@lru_cache(maxsize=256)
def _element(dtype: Any) -> _Element:
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ArgumentError(
            f"dtype {kind} holds Python objects, which foreign memory has not.", remedy="Give a type of numbers."
        )
    return _Element(kind, kind.itemsize, kind.alignment, kind.str, kind.names is not None or kind.subdtype is not None)


_Layout = tuple[tuple[int, ...], _Element, tuple[int, ...] | None]


def _layout(shape: Any, dtype: Any, strides: Any) -> _Layout:
    """What was asked for, as NumPy spells it."""
    if shape is None or dtype is None:
        lacking = "shape and dtype" if shape is None and dtype is None else "shape" if shape is None else "dtype"
        raise ArgumentError(f"An address alone says nothing of its {lacking}.", remedy="Give shape and dtype.")
    try:
        # Records may be spelled as lists.
        kind = _element(dtype if dtype.__hash__ else np.dtype(dtype))
        sizes = shape if type(shape) is tuple else tuple(shape) if np.iterable(shape) else (shape,)
        for size in sizes:
            if type(size) is not int:  # NumPy's are as good
                sizes = tuple(map(index, sizes))
            if size < 0:
                raise ArgumentError(f"shape={shape!r} has a negative size.", remedy="Give the number of elements.")
        steps = None if strides is None else tuple(map(index, strides))
    except ArgumentError:
        raise
    except TypeError as fault:
        raise ArgumentError(
            f"shape={shape!r}, dtype={dtype!r}, strides={strides!r}: {fault}.", remedy="Give whole numbers and a dtype."
        ) from fault
    if steps is not None and len(steps) != len(sizes):
        raise ArgumentError(
            f"strides={strides!r} has {len(steps)} entries for an array of {len(sizes)} dimensions.",
            remedy="Give one for each axis, in bytes.",
        )
    return sizes, kind, steps


def _as_it_is(seen: Memory, shape: Any, dtype: Any) -> bool:
    """Whether an array is asked for as it is already."""
    same = dtype is None or np.dtype(dtype) == seen.dtype
    if shape is None or not same:
        return same and shape is None
    return (tuple(shape) if np.iterable(shape) else (shape,)) == seen.shape


def _fitted(seen: Memory, shape: Any, dtype: Any, strides: Any) -> _Layout:
    """Shape, dtype and strides over memory that may know its own.

    Raises
    ------
    ArgumentError
        If the memory is of another type or size.
    """
    own = seen.dtype
    sizes, kind, steps = _layout(
        seen.shape if shape is None else shape, own if dtype is None else dtype, None if strides is None else strides
    )
    if own is not None and kind.dtype != own and not (own.itemsize == 1 and own.kind in "iuSV"):
        raise ArgumentError(
            f"The memory holds {own}, not {kind.dtype}.",
            remedy=f"Leave dtype out, and write .view({str(kind.dtype)!r}) after it.",
        )
    if seen.shape is None:
        return sizes, kind, steps
    assert own is not None
    if sizes == seen.shape and kind.dtype == own and steps is None:
        return sizes, kind, seen.strides
    if seen.strides is not None and not _contiguous(seen.shape, seen.strides, own.itemsize):
        raise ArgumentError(
            f"The memory has the shape {seen.shape} and the strides {seen.strides}: no other can be laid over it.",
            remedy="Leave shape, dtype and strides out, and reshape what comes back.",
        )
    has = math.prod(seen.shape) * own.itemsize
    first, last = _extent(sizes, kind.size, steps)
    if first < 0 or last > has or (steps is None and last != has):
        raise ArgumentError(
            f"shape={sizes} of {kind.dtype}{'' if steps is None else f' with strides={steps}'} takes"
            f" {last - first} bytes{f', from {first} on' if first < 0 else ''}; the memory has {has}.",
            remedy="Give the shape that it has.",
        )
    return sizes, kind, steps


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    wanted = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != wanted:
            return False
        wanted *= size
    return True


def _extent(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...] | None) -> tuple[int, int]:
    """First byte and the one after the last, counted from the element whose indices are all 0."""
    if strides is None:
        return 0, math.prod(shape) * itemsize
    if 0 in shape:
        return 0, 0
    reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def _check_alignment(address: int, strides: tuple[int, ...] | None, kind: _Element) -> None:
    wanted, dtype = kind.alignment, kind.dtype
    if address % wanted:
        raise ArgumentError(
            f"The address {address:#x} is not aligned for {dtype}, which needs a multiple of {wanted}.",
            remedy="Give the address of an element, or a dtype of packed records.",
        )
    if strides is not None and wanted > 1 and any(stride % wanted for stride in strides):
        raise ArgumentError(
            f"The strides {strides} are not multiples of {wanted}, as {dtype} needs them.",
            remedy="Strides count bytes: multiply steps in elements by the item size.",
        )


# ----------------------------------------------------------------------------------- the arrays


def _on_cpu(
    address: int,
    shape: tuple[int, ...],
    kind: _Element,
    strides: tuple[int, ...] | None,
    *,
    readonly: bool,
    owner: object,
) -> np.ndarray[Any, Any]:
    taken = kind.size * math.prod(shape)
    if not taken or not 0 < address <= _TOP - taken or strides is not None or address % kind.alignment:
        first, last = _check_address(address, shape, kind, strides)
        if first == last:  # the address of nothing may be null, which NumPy takes for a wish to allocate
            return np.empty(shape, kind.dtype)
    interface: dict[str, object] = {"version": 3, "shape": shape, "typestr": kind.typestr, "data": (address, readonly)}
    if strides is not None:
        interface["strides"] = strides
    made: np.ndarray[Any, Any] = np.asarray(_Lent(interface, owner))
    # Of records, the text has the size alone.
    return made.view(kind.dtype) if kind.record else made


def _check_address(
    address: int, shape: tuple[int, ...], kind: _Element, strides: tuple[int, ...] | None
) -> tuple[int, int]:
    first, last = _extent(shape, kind.size, strides)
    if not address and first != last:
        raise ArgumentError("The pointer is null.", remedy="Give the address of the first element.")
    if address + first < 0 or address + last > _TOP:
        raise ArgumentError(
            f"{last - first} bytes at {address:#x} are no range of memory.", remedy="Look at the address and the shape."
        )
    if address % kind.alignment or strides is not None:
        _check_alignment(address, strides, kind)
    return first, last


def _of_gpu(seen: Memory, shape: Any, dtype: Any, strides: Any, owner: object, device_id: int) -> Any:
    if seen.readonly:
        raise ArgumentError(
            "The memory on the GPU is read-only, and CuPy has no read-only arrays.", remedy="Copy it on its own side."
        )
    if seen.array is not None and owner is None and strides is None and _as_it_is(seen, shape, dtype):
        return seen.array
    if seen.device == "cuda" and seen.array is None and not isinstance(seen.owner, capsules.Tensor):
        given: Any = driver.cupy().from_dlpack(seen.owner) if seen.shape is None else seen.owner
        if owner is None and shape is None and dtype is None and strides is None:
            # CuPy's own: it waits for the stream of the array's library.
            return driver.cupy().asarray(given)
        if seen.shape is None:
            seen = Memory(pointer(given), given, given.shape, given.strides, given.dtype, device="cuda")
    sizes, kind, steps = _fitted(seen, shape, dtype, strides)
    first, last = _check_address(seen.address, sizes, kind, steps)
    module = driver.cupy()
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
