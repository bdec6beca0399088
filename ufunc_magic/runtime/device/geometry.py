"""Shapes and strides: how many elements, in what order, and whether memory is shared.  Pure values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["View", "axis_order", "collapsed", "extent", "is_contiguous", "overlaps", "total"]


@dataclass(frozen=True)
class View:
    """Where an operand's elements are: ``pointer`` to the first, strides in bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    def broadcast_to(self, shape: tuple[int, ...]) -> View:
        """The same elements repeated to ``shape``, which must be one that NumPy's rules allow."""
        lead = len(shape) - len(self.shape)
        kept = tuple(0 if size == 1 else stride for size, stride in zip(self.shape, self.strides, strict=True))
        return View(self.pointer, shape, (0,) * lead + kept, self.itemsize)

    def swapped(self, axes: Sequence[int]) -> View:
        """Axes in another order."""
        shape, strides = (tuple(values[a] for a in axes) for values in (self.shape, self.strides))
        return View(self.pointer, shape, strides, self.itemsize)


def collapsed(views: Sequence[View]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Shape and strides with as few axes as the views together allow.

    Axes of one element go, and neighbours that every view steps through evenly become one.  The views have one
    shape.  At least one axis is left.
    """
    axes = [a for a, size in enumerate(views[0].shape) if size != 1]
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for a in axes:
        size = views[0].shape[a]
        if shape and all(s[-1] == v.strides[a] * size for s, v in zip(strides, views, strict=True)):
            shape[-1] *= size
            for s, v in zip(strides, views, strict=True):
                s[-1] = v.strides[a]
            continue
        shape.append(size)
        for s, v in zip(strides, views, strict=True):
            s.append(v.strides[a])
    if not shape:
        return (1,), [(0,) for _ in views]
    return tuple(shape), [tuple(s) for s in strides]


def axis_order(views: Sequence[View]) -> tuple[int, ...]:
    """Axes from the longest steps to the shortest, as NumPy's ``order="K"`` lays an output out.

    Two axes change places only if a view says so and none speaks against it; steps of 0 say nothing.
    """
    order: list[int] = []
    for axis in range(len(views[0].shape)):
        at = len(order)
        while at and _steps_longer(views, axis, order[at - 1]):
            at -= 1
        order.insert(at, axis)
    return tuple(order)


def _steps_longer(views: Sequence[View], a: int, b: int) -> bool:
    pairs = [(abs(v.strides[a]), abs(v.strides[b])) for v in views if v.strides[a] and v.strides[b]]
    return any(x > y for x, y in pairs) and not any(x < y for x, y in pairs)


def is_contiguous(view: View) -> bool:
    """Whether the elements follow each other in C order."""
    step = view.itemsize
    for size, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def extent(view: View) -> tuple[int, int]:
    """First byte and the one after the last."""
    if 0 in view.shape:
        return view.pointer, view.pointer
    reach = [stride * (size - 1) for size, stride in zip(view.shape, view.strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    high = sum(r for r in reach if r > 0)
    return view.pointer + low, view.pointer + high + view.itemsize


def overlaps(source: View, target: View) -> bool:
    """Whether writing ``target`` element by element may change elements of ``source`` that are read later.

    The same elements in the same places do not count.
    """
    if source == target:
        return False
    (a, b), (c, d) = extent(source), extent(target)
    return a < d and c < b


def total(shape: Sequence[int]) -> int:
    """Number of elements."""
    return int(np.prod(shape, dtype=np.int64)) if shape else 1
