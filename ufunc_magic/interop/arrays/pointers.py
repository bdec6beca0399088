"""Raw pointers to arrays and back, without a copy: for hosts in C and C++ that hold the memory.

``asarray`` makes an array over memory of somebody else's, ``ascapsule`` and ``pointer`` give an array's memory away.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any, Literal

import numpy as np

from ...model import ArgumentError, ToolchainError
from . import capsules
from .memory import Memory, describe

#: ``data`` is the first field after the object's head in every NumPy: ``PyArrayObject_fields`` of
#: ``numpy/ndarraytypes.h``, which compiled extensions read in place, too.
_DATA = object.__basicsize__
_field = ctypes.c_size_t.from_address
_PLACES = {"cpu": "the CPU", "cuda": "a GPU"}


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
        Device of the memory.
    strides : sequence of int
        In bytes, one for each axis; C order if left out. ``asarray(p, (nx, ny, nz), "f4", strides=(4, 4*nx, 4*nx*ny))``
        sees C's ``float v[nz][ny][nx]`` as ``v[x, y, z]``.
    owner : object
        Kept alive exactly as long as the array and its views, as is ``obj`` itself if it is an object.
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
        address = obj if type(obj) is int else capsules.read_plain_pointer(obj)
        if address is not None:
            sizes, kind, steps = _make_layout(shape, dtype, strides)
            if address is not obj:
                owner = obj if owner is None else (obj, owner)
            return _view_on_cpu(address, sizes, kind, steps, readonly=False, owner=owner)
    if device not in _PLACES:
        raise ArgumentError(f"device={device!r} is not a valid device.", remedy="Write 'cpu' or 'cuda'.")
    memory = describe(obj)
    if memory.device not in ("", device):
        known = memory.device in _PLACES
        raise ArgumentError(
            f"The {type(obj).__name__} refers to memory of {_PLACES.get(memory.device, memory.device)}, "
            f"not of {_PLACES[device]}.",
            remedy=f"Write device={memory.device!r}." if known else "Copy it to the CPU first.",
        )
    if device == "cuda":
        return _view_on_gpu(obj, memory, shape, dtype, strides, owner, device_id)
    sizes, kind, steps = _make_layout_over(memory, shape, dtype, strides)
    return _view_on_cpu(memory.address, sizes, kind, steps, readonly=memory.readonly, owner=memory.claim(owner))


def ascapsule(array: Any, *, kind: Literal["dlpack", "pointer"] = "dlpack") -> Any:
    """A PyCapsule that lends an array's memory and keeps the array alive.

    Parameters
    ----------
    array : array
        NumPy's, CuPy's, or of any library that speaks DLPack.
    kind : {"dlpack", "pointer"}
        "dlpack" carries shape, strides and dtype under the name ``"dltensor"`` (``"dltensor_versioned"`` for a
        read-only array, which only that can say); the receiver calls its deleter. "pointer" is a capsule without a
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
        return capsules.make_pointer_capsule(address, owner=array)
    if kind != "dlpack":
        raise ArgumentError(f"kind={kind!r} is not a kind of capsule.", remedy="Write 'dlpack' or 'pointer'.")
    try:
        locked = isinstance(array, np.ndarray) and not array.flags.writeable
        return array.__dlpack__(max_version=(1, 0)) if locked else array.__dlpack__()
    except (AttributeError, BufferError) as fault:
        pointer(array)  # refuses what is no array at all
        raise ArgumentError(
            f"The {type(array).__name__} cannot be exported through DLPack: {str(fault).rstrip('.')}.",
            remedy="Use kind='pointer', and pass shape and dtype on the other side.",
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
    interface = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None)
    if interface is None:
        raise ArgumentError(
            f"{type(array).__name__} is not an array with an address.",
            remedy="Pass an array of NumPy, CuPy or torch.",
        )
    return int(interface["data"][0])


# ----------------------------------------------------------------------------------- the arrays


def _view_on_cpu(
    address: int,
    shape: tuple[int, ...],
    kind: np.dtype[Any],
    strides: tuple[int, ...] | None,
    *,
    readonly: bool,
    owner: object,
) -> np.ndarray[Any, Any]:
    first, last = _find_extent(address, shape, kind, strides)
    if first == last:  # the address of nothing may be null, which NumPy takes for a wish to allocate
        return np.empty(shape, kind)
    lent = _Lent.from_address(address + first)
    lent.owner = owner
    buffer: Any = memoryview(lent).toreadonly() if readonly else lent
    return np.ndarray(shape, kind, buffer, -first, strides)


def _view_on_gpu(obj: Any, memory: Memory, shape: Any, dtype: Any, strides: Any, owner: object, device_id: int) -> Any:
    from ...languages.cuda import device as gpu  # only for memory on one

    try:
        cupy = gpu.import_cupy()
    except ImportError as fault:
        # The reason holds the remedy.
        what, _, remedy = gpu.explain_missing().partition(": ")
        raise ToolchainError(f"Arrays on a GPU need CuPy: {what}.", remedy=f"{remedy or 'Repair CuPy'}.") from fault
    if memory.readonly:
        raise ArgumentError(
            "The memory on the GPU is read-only, but CuPy has no read-only arrays.",
            remedy="Copy it in the library that owns it.",
        )
    if memory.device and not capsules.is_capsule(obj) and all(word is None for word in (shape, dtype, strides, owner)):
        if isinstance(obj, cupy.ndarray):
            return obj
        # CuPy's own: it waits for the stream of the array's library.
        return cupy.from_dlpack(obj) if isinstance(memory.owner, capsules.Tensor) else cupy.asarray(obj)
    sizes, kind, steps = _make_layout_over(memory, shape, dtype, strides)
    first, last = _find_extent(memory.address, sizes, kind, steps)
    number = device_id if memory.device_id is None else memory.device_id
    unowned = cupy.cuda.UnownedMemory(memory.address + first, last - first, memory.claim(owner), number)
    start = cupy.cuda.MemoryPointer(unowned, -first)
    return cupy.ndarray(sizes, kind, memptr=start, strides=steps)


# ------------------------------------------------------------------------------------------ layouts

#: One more than the last address.
_TOP = 2 * (sys.maxsize + 1)


@lru_cache(maxsize=256)
def _read_dtype(spelled: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(spelled)
    if dtype.hasobject:
        raise ArgumentError(
            f"dtype {dtype} contains Python objects, which foreign memory cannot have.", remedy="Use a number type."
        )
    return dtype


_Layout = tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...] | None]


def _make_layout(shape: Any, dtype: Any, strides: Any) -> _Layout:
    """Shape, dtype and strides as NumPy spells them.

    Raises
    ------
    ArgumentError
        If something lacks, or is no shape, dtype or stride.
    """
    if shape is None or dtype is None:
        lacking = "shape and dtype" if shape is None and dtype is None else "shape" if shape is None else "dtype"
        raise ArgumentError(f"An address does not include the {lacking}.", remedy="Pass shape and dtype.")
    try:
        # Records may be spelled as lists.
        kind = _read_dtype(dtype if dtype.__hash__ else np.dtype(dtype))
        sizes = shape if type(shape) is tuple else tuple(shape) if np.iterable(shape) else (shape,)
        for size in sizes:
            if type(size) is not int:  # NumPy's are as good
                sizes = tuple(map(index, sizes))
            if size < 0:
                raise ArgumentError(f"shape={shape!r} has a negative size.", remedy="Pass the number of elements.")
        steps = None if strides is None else tuple(map(index, strides))
    except ArgumentError:
        raise
    except TypeError as fault:
        raise ArgumentError(
            f"shape={shape!r}, dtype={dtype!r}, strides={strides!r}: {fault}.", remedy="Pass integers and a dtype."
        ) from fault
    if steps is not None and len(steps) != len(sizes):
        raise ArgumentError(
            f"strides={strides!r} has {len(steps)} of the {len(sizes)} strides that an array of this shape needs.",
            remedy="Pass one stride for each axis, in bytes.",
        )
    return sizes, kind, steps


def _make_layout_over(memory: Memory, shape: Any, dtype: Any, strides: Any) -> _Layout:
    """Shape, dtype and strides over memory that may know its own.

    Raises
    ------
    ArgumentError
        If the memory is of another type or size.
    """
    own = memory.dtype
    sizes, kind, steps = _make_layout(
        memory.shape if shape is None else shape, own if dtype is None else dtype, strides
    )
    if own is not None and kind != own and not (own.itemsize == 1 and own.kind in "iuSV"):
        raise ArgumentError(
            f"The memory contains {own}, not {kind}.",
            remedy=f"Omit dtype, and call .view({str(kind)!r}) on the result.",
        )
    if memory.shape is None:
        return sizes, kind, steps
    assert own is not None
    if sizes == memory.shape and kind == own and steps is None:
        return sizes, kind, memory.strides
    packed = tuple(own.itemsize * math.prod(memory.shape[n + 1 :]) for n in range(len(memory.shape)))
    if memory.strides is not None and any(
        size > 1 and step != other for size, step, other in zip(memory.shape, memory.strides, packed, strict=True)
    ):
        raise ArgumentError(
            f"The memory has the shape {memory.shape} and the strides {memory.strides}, which cannot be changed here.",
            remedy="Omit shape, dtype and strides, and reshape the result.",
        )
    total = math.prod(memory.shape) * own.itemsize
    first, last = _reach(sizes, kind.itemsize, steps)
    if first < 0 or last > total or (steps is None and last != total):
        raise ArgumentError(
            f"shape={sizes} of {kind}{'' if steps is None else f' with strides={steps}'} takes"
            f" {last - first} bytes{f', from {first} on' if first < 0 else ''}; the memory has {total}.",
            remedy="Pass the shape of the memory.",
        )
    return sizes, kind, steps


def _reach(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...] | None) -> tuple[int, int]:
    """First byte and the one after the last, counted from the element whose indices are all 0."""
    if strides is None or 0 in shape:
        return 0, math.prod(shape) * itemsize
    ends = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return sum(end for end in ends if end < 0), itemsize + sum(end for end in ends if end > 0)


def _find_extent(
    address: int, shape: tuple[int, ...], kind: np.dtype[Any], strides: tuple[int, ...] | None
) -> tuple[int, int]:
    """Return `_reach` of elements that start at ``address``."""
    first, last = _reach(shape, kind.itemsize, strides)
    unit = kind.alignment
    if not address and first != last:
        raise ArgumentError("The pointer is null.", remedy="Pass the address of the first element.")
    if address + first < 0 or address + last > _TOP:
        raise ArgumentError(
            f"{last - first} bytes at {address:#x} are not a valid range of memory.",
            remedy="Check the address and the shape.",
        )
    if address % unit:
        raise ArgumentError(
            f"The address {address:#x} is not aligned for {kind}, which needs a multiple of {unit}.",
            remedy="Pass the address of an element, or use a packed record dtype.",
        )
    if strides is not None and any(stride % unit for stride in strides):
        raise ArgumentError(
            f"The strides {strides} are not multiples of {unit}, which {kind} needs.",
            remedy="Strides count bytes: multiply steps in elements by the item size.",
        )
    return first, last
