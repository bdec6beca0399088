"""What was found out about arrays of one layout: the next call on others like them only needs their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import driver, geometry
from .device_arrays import Operand
from .geometry import View
from .kernel_source import BLOCK
from .loop_choice import Choice

__all__ = ["ALIGNED", "Recipe", "is_clear", "layout", "view"]

#: Bytes that the widest load needs its address to be a multiple of.
ALIGNED = 16


def view(array: Any) -> View:
    """Where a CuPy array's elements are."""
    return View(int(array.data.ptr), tuple(array.shape), tuple(array.strides), int(array.dtype.itemsize))


@dataclass(frozen=True, eq=False)
class Recipe:
    """A kernel, its grid, and all of its arguments but values and addresses."""

    kernel: Any
    grid: tuple[int, int, int]
    last: Any  #: the kernel's last argument
    choice: Choice
    shape: tuple[int, ...]

    def follow(self, operands: Sequence[Operand], targets: Sequence[Operand | None]) -> list[Any]:
        """Launch it, on new outputs where none are given."""
        results = [
            driver.allocate(self.shape, np.dtype(c)) if t is None else t.array
            for t, c in zip(targets, self.choice.outputs, strict=True)
        ]
        pairs = zip(operands, self.choice.inputs, strict=True)
        given = [np.dtype(c).type(o.array) for o, c in pairs if o.place == "value"]
        given += [np.uint64(o.array.data.ptr) for o in operands if o.place == "device"]
        given += [np.uint64(r.data.ptr) for r in results]
        driver.launch(self.kernel, self.grid, (BLOCK, 1, 1), [*given, self.last])
        return results


def layout(operand: Operand | None) -> Any:
    """All that a recipe depends on; ``None`` for what is given by value or not at all."""
    if operand is None or operand.place == "value":
        return operand is None
    array = operand.array
    return array.dtype.char, array.shape, array.strides, array.data.ptr % ALIGNED


def is_clear(operands: Sequence[Operand], targets: Sequence[Operand | None]) -> bool:
    """Whether it is plain that no output overwrites what is still to be read."""
    for target in targets:
        for o in operands if target is not None else ():
            if target is None or o.place == "value":
                continue
            a, b = o.array, target.array
            if a.data.ptr == b.data.ptr and a.strides == b.strides and a.dtype == b.dtype:
                continue
            if geometry.overlaps(view(a), view(b)):
                return False
    return True
