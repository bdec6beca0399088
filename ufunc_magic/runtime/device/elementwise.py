"""A function called for every element of arrays on the device: operands in, one launch, outputs back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError, FunctionCode, ObjectCode
from . import driver, geometry, kernel_source
from .call_recipe import ALIGNED, Recipe, is_clear, layout, view
from .device_arrays import Operand
from .geometry import View
from .kernel_source import BLOCK, ENTRY, Plan, castable
from .loop_choice import Choice

__all__ = ["Loops", "one_device"]

#: Layouts that are remembered for each function.
_MOST_RECIPES = 256


def one_device(found: Sequence[Any], *, name: str) -> int | None:
    """The device that all of the CuPy arrays are on; None where there are none.

    Raises
    ------
    ArgumentError
        If they are on several.
    """
    devices = {driver.of(a) for a in found}
    if len(devices) > 1:
        raise ArgumentError(
            f"{name}: the arrays are on GPUs {' and '.join(map(str, sorted(devices)))}.",
            remedy="Copy them to one: with cupy.cuda.Device(0): y = x.copy().",
        )
    return devices.pop() if devices else None


@dataclass(frozen=True, eq=False)
class _Work:
    """One call, ready to be launched."""

    choice: Choice
    values: tuple[Any, ...]  #: of each input, the number where it is no array
    inputs: tuple[Any, ...]  #: of each input, the array where it is one
    outputs: tuple[Any, ...]
    mask: Any
    shape: tuple[int, ...]

    @property
    def arrays(self) -> list[Any]:
        """In the order of the kernel's parameters."""
        mask = [] if self.mask is None else [self.mask]
        return [*(a for a in self.inputs if a is not None), *mask, *self.outputs]


class Loops:
    """The kernels of one function, made at their first use and kept."""

    def __init__(self, code: FunctionCode, object_code: ObjectCode) -> None:
        self.code = code
        self.object_code = object_code
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._recipes: dict[Any, Recipe] = {}

    def run(
        self,
        choice: Choice,
        operands: Sequence[Operand],
        targets: Sequence[Operand | None],
        mask: Operand | None,
        *,
        order: str = "K",
        shape: tuple[int, ...] | None = None,
    ) -> list[Any]:
        """Compute the outputs as CuPy arrays, on the current stream.

        Parameters
        ----------
        choice : Choice
        operands, targets, mask : Operand
            Nothing in them is in the host's memory but values.
        order : {"K", "C", "F", "A"}
            Memory layout of new outputs.
        shape : tuple of int
            Of new outputs, where it is known already.
        """
        found = [o.array for o in (*operands, *targets, mask) if o is not None and o.place == "device"]
        device = one_device(found, name=self.code.name)
        with driver.on(driver.current() if device is None else device):
            key = None if mask is not None else (choice, order, shape, device, *map(layout, (*operands, *targets)))
            recipe = self._recipes.get(key)
            if recipe is not None and is_clear(operands, targets):
                return recipe.follow(operands, targets)
            return self._first(choice, operands, targets, mask, order, shape, key)

    def _first(
        self,
        choice: Choice,
        operands: Sequence[Operand],
        targets: Sequence[Operand | None],
        mask: Operand | None,
        order: str,
        shape: tuple[int, ...] | None,
        key: Any,
    ) -> list[Any]:
        """Find out how arrays of this layout are worked on, and do it."""
        shapes = [o.shape for o in (*operands, mask) if o is not None]
        fixed = [t.shape for t in targets if t is not None]
        shape = np.broadcast_shapes(*shapes, *fixed) if shape is None else shape
        for wrong in (s for s in fixed if s != shape):
            raise ValueError(f"non-broadcastable output operand with shape {wrong} doesn't match {shape}")
        values = tuple(_number(o, c) for o, c in zip(operands, choice.inputs, strict=True))
        inputs = tuple(_array(o, c) for o, c in zip(operands, choice.inputs, strict=True))
        views = [view(a).broadcast_to(shape) for a in inputs if a is not None]
        results = [
            _new(shape, np.dtype(c), views, order) if t is None else t.array
            for t, c in zip(targets, choice.outputs, strict=True)
        ]
        written = tuple(
            a if castable(c, a.dtype.char) and _is_aligned(a) else _like(a, c)
            for a, c in zip(results, choice.outputs, strict=True)
        )
        for w, r in zip(written, results, strict=True):
            if w is not r and mask is not None:
                driver.assign(w, r)
        ends = [view(w) for w in written] if any(targets) else []
        inputs = tuple(a if a is None else _apart(a, shape, ends) for a in inputs)
        asked = None if mask is None else _as_mask(mask)
        recipe = self._launch(_Work(choice, values, inputs, written, asked, shape))
        for w, r in zip(written, results, strict=True):
            if w is not r:
                driver.assign(r, w)
        borrowed = all(a is None or a is o.array for a, o in zip(inputs, operands, strict=True))
        if key and recipe and borrowed and all(w is r for w, r in zip(written, results, strict=True)):
            if len(self._recipes) >= _MOST_RECIPES:
                self._recipes.clear()
            if all(geometry.is_contiguous(view(r)) for r in results):
                self._recipes[key] = recipe
        return results

    def _launch(self, work: _Work) -> Recipe | None:
        count = geometry.total(work.shape)
        if not count:
            return None
        stored = "".join(c if a is None else a.dtype.char for a, c in zip(work.inputs, work.choice.inputs, strict=True))
        plan = Plan(
            call=self.code.calls[work.choice.index],
            inputs=work.choice.inputs,
            outputs=work.choice.outputs,
            stored_inputs=stored,
            stored_outputs="".join(a.dtype.char for a in work.outputs),
            values=tuple(a is None for a in work.inputs),
            masked=work.mask is not None,
        )
        given = [v for v in work.values if v is not None]
        given += [np.uint64(a.data.ptr) for a in work.arrays]
        views = [view(a).broadcast_to(work.shape) for a in work.arrays]
        order = geometry.axis_order(views[::-1])
        shape, strides = geometry.collapsed([v.swapped(order) for v in views])
        if not plan.masked and len(shape) == 1 and all(s == (v.itemsize,) for s, v in zip(strides, views, strict=True)):
            packed = plan.pack > 1 and all(v.pointer % ALIGNED == 0 for v in views)
            kernel = self._kernel(plan, ndim=0, packed=packed, wide=False)
            threads = -(-count // (plan.pack if packed else 1))
            last: Any = np.int64(count)
        else:
            threads = count
            kernel, last = self._with_strides(plan, shape, strides)
        grid = (-(-threads // BLOCK), 1, 1)
        driver.launch(kernel, grid, (BLOCK, 1, 1), [*given, last])
        return Recipe(kernel, grid, last, work.choice, work.shape)

    def _with_strides(self, plan: Plan, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> tuple[Any, Any]:
        """A kernel that steps through every array by itself, and the steps."""
        count = geometry.total(shape)
        wide = count + BLOCK >= 2**32
        kernel = self._kernel(plan, ndim=len(shape), packed=False, wide=wide)
        box = np.zeros((), kernel_source.box_type(arrays=len(strides), ndim=len(shape), wide=wide))
        box["count"], box["stride"], box["size"] = count, strides, shape
        return kernel, box

    def _kernel(self, plan: Plan, **form: Any) -> Any:
        return self.function(("elements", plan, *form.items()), lambda: kernel_source.elements(plan, **form))

    def function(self, key: tuple[Any, ...], text: Any) -> Any:
        """The kernel of a generated text for the current device, by ``key``."""
        key = (*key, driver.current())
        found = self._kernels.get(key)
        if found is None:
            object_code = self.object_code
            found = self._kernels[key] = driver.function(
                kernel_source.unit(kernel_source.cell(object_code), object_code.name, text()),
                ENTRY,
                name=object_code.name,
                cell=object_code.source,
                options=object_code.options,
            )
        return found


def _number(operand: Operand, char: str) -> Any:
    """A value as the loop takes it."""
    return np.dtype(char).type(operand.array) if operand.place == "value" else None


def _array(operand: Operand, char: str) -> Any:
    """An array that the kernel can read: of a type that it converts itself, at addresses that it can load from."""
    if operand.place == "value":
        return None
    array = operand.array
    if not castable(array.dtype.char, char):
        return driver.copy(array, np.dtype(char))
    return array if _is_aligned(array) else driver.copy(array)


def _is_aligned(array: Any) -> bool:
    size = array.dtype.itemsize
    steps = (stride for stride, length in zip(array.strides, array.shape, strict=True) if length > 1)
    return array.data.ptr % size == 0 and all(step % size == 0 for step in steps)


def _as_mask(mask: Operand) -> Any:
    if mask.place == "value":
        made = driver.allocate((), np.dtype(bool))
        driver.assign(made, bool(mask.array))
        return made
    if mask.array.dtype != bool:
        raise TypeError(
            f"Cannot cast array data from {mask.array.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    return mask.array


def _apart(array: Any, shape: tuple[int, ...], outputs: Sequence[View]) -> Any:
    """The input, copied if an output would overwrite what is still to be read."""
    seen = view(array).broadcast_to(shape)
    return driver.copy(array) if any(geometry.overlaps(seen, out) for out in outputs) else array


def _like(array: Any, char: str) -> Any:
    return driver.allocate(array.shape, np.dtype(char))


def _new(shape: tuple[int, ...], dtype: np.dtype[Any], views: Sequence[View], order: str) -> Any:
    """A new output, laid out as ``order`` asks: "K" is as the inputs are."""
    axes = tuple(range(len(shape)))
    if order == "F" or (order == "A" and views and all(_is_fortran(v) for v in views)):
        axes = axes[::-1]
    elif order == "K" and views and not all(geometry.is_contiguous(v) for v in views):
        axes = geometry.axis_order(views)
    if axes == tuple(range(len(shape))):
        return driver.allocate(shape, dtype)
    back = sorted(range(len(axes)), key=axes.__getitem__)
    return driver.allocate([shape[a] for a in axes], dtype).transpose(back)


def _is_fortran(view: View) -> bool:
    return geometry.is_contiguous(view.swapped(range(len(view.shape))[::-1]))
