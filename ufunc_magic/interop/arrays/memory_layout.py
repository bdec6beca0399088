"""Shape, dtype and strides laid over memory: what was asked for, whether it fits, and whether the address can be."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from ...model import ArgumentError
from .memory import Memory

__all__ = [
    "TOP",
    "Element",
    "Layout",
    "as_it_is",
    "asked_for",
    "check_address",
    "check_alignment",
    "element",
    "extent",
    "fitted",
]

#: One more than the last address.
TOP = 2 * (sys.maxsize + 1)


@dataclass(frozen=True)
class Element:
    """A dtype with what every array asks of it: sizes in bytes."""

    dtype: np.dtype[Any]
    size: int
    alignment: int


@lru_cache(maxsize=256)
def element(dtype: Any) -> Element:
    """What is known of a dtype, asked once."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ArgumentError(
            f"dtype {kind} holds Python objects, which foreign memory has not.", remedy="Give a type of numbers."
        )
    return Element(kind, kind.itemsize, kind.alignment)


Layout = tuple[tuple[int, ...], Element, tuple[int, ...] | None]


def asked_for(shape: Any, dtype: Any, strides: Any) -> Layout:
    """What was asked for, as NumPy spells it.

    Raises
    ------
    ArgumentError
        If something lacks, or is no shape, dtype or stride.
    """
    if shape is None or dtype is None:
        lacking = "shape and dtype" if shape is None and dtype is None else "shape" if shape is None else "dtype"
        raise ArgumentError(f"An address alone says nothing of its {lacking}.", remedy="Give shape and dtype.")
    try:
        # Records may be spelled as lists.
        kind = element(dtype if dtype.__hash__ else np.dtype(dtype))
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
            f"strides={strides!r} has {len(steps)} of the {len(sizes)} steps that an array of this shape takes.",
            remedy="Give one for each axis, in bytes.",
        )
    return sizes, kind, steps


def as_it_is(seen: Memory, shape: Any, dtype: Any) -> bool:
    """Whether an array is asked for as it is already."""
    same = dtype is None or np.dtype(dtype) == seen.dtype
    if shape is None or not same:
        return same and shape is None
    return (tuple(shape) if np.iterable(shape) else (shape,)) == seen.shape


def fitted(seen: Memory, shape: Any, dtype: Any, strides: Any) -> Layout:
    """Shape, dtype and strides over memory that may know its own.

    Raises
    ------
    ArgumentError
        If the memory is of another type or size.
    """
    own = seen.dtype
    sizes, kind, steps = asked_for(
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
    first, last = extent(sizes, kind.size, steps)
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


def extent(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...] | None) -> tuple[int, int]:
    """First byte and the one after the last, counted from the element whose indices are all 0."""
    if strides is None:
        return 0, math.prod(shape) * itemsize
    if 0 in shape:
        return 0, 0
    first, last = 0, itemsize
    for size, stride in zip(shape, strides, strict=True):
        if stride < 0:
            first += (size - 1) * stride
        else:
            last += (size - 1) * stride
    return first, last


def check_alignment(address: int, strides: tuple[int, ...] | None, kind: Element) -> None:
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


def check_address(
    address: int, shape: tuple[int, ...], kind: Element, strides: tuple[int, ...] | None
) -> tuple[int, int]:
    first, last = extent(shape, kind.size, strides)
    if not address and first != last:
        raise ArgumentError("The pointer is null.", remedy="Give the address of the first element.")
    if address + first < 0 or address + last > TOP:
        raise ArgumentError(
            f"{last - first} bytes at {address:#x} are no range of memory.", remedy="Look at the address and the shape."
        )
    if address % kind.alignment or strides is not None:
        check_alignment(address, strides, kind)
    return first, last
