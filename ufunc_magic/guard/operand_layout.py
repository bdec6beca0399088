"""Operands of a loop as NumPy hands them over: where they lie, whether they overlap, and copies of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import TYPES

__all__ = ["Operand", "copy", "laid_out", "operands"]

_ALIGNED = 64
#: Types that only carry bytes.
_CARRIERS = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}


@dataclass(frozen=True)
class Operand:
    """Memory with a shape: the outer dimension first, then the core's; strides in bytes.

    ``read`` says that it is an input.
    """

    address: int
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read: bool

    def part(self, start: int, count: int) -> Operand:
        """``count`` elements of the outer dimension."""
        return replace(self, address=self.address + start * self.strides[0], shape=(count, *self.shape[1:]))

    def based(self, address: int) -> Operand:
        """The same, counted from ``address``."""
        return replace(self, address=self.address + address)

    def reach(self) -> tuple[int, int]:
        """The lowest address, and the one behind the highest byte."""
        low = high = self.address
        if 0 in self.shape:
            return low, high
        for step, number in zip(self.strides, self.shape, strict=True):
            span = step * (number - 1)
            low, high = low + min(span, 0), high + max(span, 0)
        return low, high + self.size


def operands(
    types: Sequence[int], nin: int, cores: Sequence[Sequence[str]], args: Any, dimensions: Any, steps: Any
) -> list[Operand]:
    """What NumPy calls a loop with, as values.

    Parameters
    ----------
    types : sequence of int
        NumPy's type numbers.
    nin : int
    cores : sequence of sequence of str
        Core dimensions of each operand, by name or fixed size.
    args, dimensions, steps : pointers
        As the loop gets them.
    """
    number = {name: n for n, name in enumerate(dict.fromkeys(d for core in cores for d in core), 1)}
    made, next_step = [], len(types)
    for k, kind in enumerate(types):
        core = cores[k]
        shape = (dimensions[0], *(dimensions[number[d]] for d in core))
        strides = (steps[k], *(steps[next_step + j] for j in range(len(core))))
        next_step += len(core)
        made.append(Operand(args[k] or 0, np.dtype(TYPES[kind].char).itemsize, shape, strides, k < nin))
    return made


def laid_out(given: Sequence[Operand]) -> tuple[list[Operand], int, bool]:
    """Where operands may stand in memory of their own, counted from 0; its size; whether any two overlap.

    Those that overlap keep their strides and their distance, so that reductions and calls in place mean the same.
    """
    groups: list[tuple[int, int, list[int]]] = []
    for k in sorted(range(len(given)), key=lambda k: given[k].reach()):
        low, high = given[k].reach()
        if groups and low < groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, high), [*members, k])
        else:
            groups.append((low, high, [k]))
    made: list[Operand] = list(given)
    at = 0
    for low, high, members in groups:
        if len(members) > 1:
            for k in members:
                made[k] = replace(given[k], address=at + given[k].address - low)
            at += high - low
        else:
            operand = given[members[0]]
            constant = operand.strides[0] == 0  # an input for all elements, a running result
            shape = (1, *operand.shape[1:]) if constant else operand.shape
            strides = tuple(operand.size * math.prod(shape[d + 1 :]) for d in range(len(shape)))
            made[members[0]] = replace(operand, address=at, strides=(0, *strides[1:]) if constant else strides)
            at += operand.size * math.prod(shape)
        at = -(-at // _ALIGNED) * _ALIGNED
    return made, at, any(len(members) > 1 for _, _, members in groups)


def copy(operand: Operand, *, to: Operand) -> None:
    """Copy every element."""
    if 0 not in operand.shape:
        _view(to)[...] = _view(operand)


class _Memory:
    """What NumPy makes an array of without copying: https://numpy.org/doc/stable/reference/arrays.interface.html"""

    def __init__(self, operand: Operand) -> None:
        shape, strides = operand.shape, operand.strides
        if strides[0] == 0:
            shape, strides = (1, *shape[1:]), (operand.size, *strides[1:])
        self.__array_interface__ = {
            "data": (operand.address, False),
            "typestr": _CARRIERS.get(operand.size, f"|V{operand.size}"),
            "shape": shape,
            "strides": strides,
            "version": 3,
        }


def _view(operand: Operand) -> NDArray[Any]:
    return np.asarray(_Memory(operand))
