"""A function called for every element of arrays on the device: operands in, one launch, outputs back; and reductions.

Nothing here knows a GPU: `driver` allocates, copies and launches, and `kernel_source` writes the kernels.  They are not
CuPy's ``ElementwiseKernel`` and ``ReductionKernel``, for the reasons in docs/cuda.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError, FunctionCode, ObjectCode
from . import driver, kernel_source
from .device_arrays import ArrayOperand
from .kernel_source import BLOCK, ENTRY, Plan, castable

#: Bytes that the widest load needs its address to be a multiple of.
_ALIGNED = 16
#: Layouts that are remembered for each function.
_MOST_RECIPES = 256
#: Of reductions: blocks that keep a large device busy, and elements that one thread takes before a second block is
#: worth its launch.
_BLOCKS, _EACH = 2048, 16


@dataclass(frozen=True)
class Choice:
    """One loop: its place in ``code.loops`` and its types as NumPy's letters, inputs and outputs."""

    index: int
    inputs: str
    outputs: str


# ------------------------------------------------------------------------------ shapes and strides


@dataclass(frozen=True)
class StridedView:
    """Where an operand's elements are: ``pointer`` to the first, strides in bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    def broadcast_to(self, shape: tuple[int, ...]) -> StridedView:
        """The same elements repeated to ``shape``, which must be one that NumPy's rules allow."""
        lead = len(shape) - len(self.shape)
        strides = (0 if size == 1 else stride for size, stride in zip(self.shape, self.strides, strict=True))
        return StridedView(self.pointer, shape, ((0,) * lead + tuple(strides)), self.itemsize)

    def swapped(self, axes: Sequence[int]) -> StridedView:
        """Axes in another order."""
        shape, strides = (tuple(values[a] for a in axes) for values in (self.shape, self.strides))
        return StridedView(self.pointer, shape, strides, self.itemsize)

    def is_contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        step = self.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    def extent(self) -> tuple[int, int]:
        """First byte and the one after the last."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        reach = [stride * (size - 1) for size, stride in zip(self.shape, self.strides, strict=True)]
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        return self.pointer + low, self.pointer + high + self.itemsize


def view(array: Any) -> StridedView:
    """Where a CuPy array's elements are."""
    return StridedView(int(array.data.ptr), tuple(array.shape), tuple(array.strides), int(array.dtype.itemsize))


def total(shape: Sequence[int]) -> int:
    """Number of elements."""
    return int(np.prod(shape, dtype=np.int64)) if shape else 1


def overlaps(source: StridedView, target: StridedView) -> bool:
    """Whether writing ``target`` element by element may change elements of ``source`` that are read later.

    The same elements in the same places do not count.
    """
    (a, b), (c, d) = source.extent(), target.extent()
    return source != target and a < d and c < b


def collapsed(views: Sequence[StridedView]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Shape and strides with as few axes as the views, which have one shape, together allow; at least one axis.

    Axes of one element go, and neighbours that every view steps through evenly become one.
    """
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for axis, size in enumerate(views[0].shape):
        if size == 1:
            continue
        if shape and all(s[-1] == v.strides[axis] * size for s, v in zip(strides, views, strict=True)):
            shape[-1] *= size
            for s in strides:
                s.pop()
        else:
            shape.append(size)
        for s, v in zip(strides, views, strict=True):
            s.append(v.strides[axis])
    return (tuple(shape), [tuple(s) for s in strides]) if shape else ((1,), [(0,) for _ in views])


def axis_order(views: Sequence[StridedView]) -> tuple[int, ...]:
    """Axes from the longest steps to the shortest, as NumPy's ``order="K"`` lays an output out.

    Two axes change places only if a view says so and none speaks against it; steps of 0 say nothing.
    """

    def steps_longer(a: int, b: int) -> bool:
        pairs = [(abs(v.strides[a]), abs(v.strides[b])) for v in views if v.strides[a] and v.strides[b]]
        return any(x > y for x, y in pairs) and not any(x < y for x, y in pairs)

    order: list[int] = []
    for axis in range(len(views[0].shape)):
        at = len(order)
        while at and steps_longer(axis, order[at - 1]):
            at -= 1
        order.insert(at, axis)
    return tuple(order)


def one_device(arrays: Sequence[Any], *, name: str) -> int | None:
    """The device that all of the CuPy arrays are on; None where there are none.

    Raises
    ------
    ArgumentError
        If they are on several.
    """
    devices = {driver.of(a) for a in arrays}
    if len(devices) > 1:
        raise ArgumentError(
            f"{name}: the arrays are on GPUs {' and '.join(map(str, sorted(devices)))}.",
            remedy="Copy them to one: with cupy.cuda.Device(0): y = x.copy().",
        )
    return devices.pop() if devices else None


# ------------------------------------------------------------------------------------------- calls


@dataclass(frozen=True, eq=False)
class _Recipe:
    """A kernel, its grid, and all of its arguments but values and addresses: the next call on arrays of the same
    layout only needs those."""

    kernel: Any
    grid: tuple[int, int, int]
    last: Any  #: the kernel's last argument
    choice: Choice
    shape: tuple[int, ...]

    def follow(self, operands: Sequence[ArrayOperand], targets: Sequence[ArrayOperand | None]) -> list[Any]:
        """Launch it, on new outputs where there are no targets."""
        results = [
            driver.allocate(self.shape, np.dtype(c)) if t is None else t.array
            for t, c in zip(targets, self.choice.outputs, strict=True)
        ]
        pairs = zip(operands, self.choice.inputs, strict=True)
        arguments = [np.dtype(c).type(o.array) for o, c in pairs if o.place == "value"]
        arguments += [np.uint64(o.array.data.ptr) for o in operands if o.place == "device"]
        arguments += [np.uint64(r.data.ptr) for r in results]
        driver.launch(self.kernel, self.grid, (BLOCK, 1, 1), [*arguments, self.last])
        return results


def _layout(operand: ArrayOperand | None) -> Any:
    """All that a recipe depends on; a bool for what is passed by value or is not there."""
    if operand is None or operand.place == "value":
        return operand is None
    array = operand.array
    return array.dtype.char, array.shape, array.strides, array.data.ptr % _ALIGNED


def _is_clear(operands: Sequence[ArrayOperand], targets: Sequence[ArrayOperand | None]) -> bool:
    """Whether it is plain that no output overwrites what is still to be read."""
    arrays = [o.array for o in operands if o.place == "device"]
    for b in (t.array for t in targets if t is not None):
        for a in arrays:
            same = a.data.ptr == b.data.ptr and a.strides == b.strides and a.dtype == b.dtype
            if not same and overlaps(view(a), view(b)):
                return False
    return True


class Loops:
    """The kernels of one function, written and compiled at their first use."""

    def __init__(self, code: FunctionCode, object_code: ObjectCode) -> None:
        self.code = code
        self.object_code = object_code
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._recipes: dict[Any, _Recipe] = {}

    def run(
        self,
        choice: Choice,
        operands: Sequence[ArrayOperand],
        targets: Sequence[ArrayOperand | None],
        mask: ArrayOperand | None,
        *,
        order: str = "K",
        shape: tuple[int, ...] | None = None,
    ) -> list[Any]:
        """Compute the outputs as CuPy arrays, on the current stream.

        Parameters
        ----------
        choice : Choice
        operands, targets, mask : ArrayOperand
            Nothing in them is in the host's memory but values.
        order : {"K", "C", "F", "A"}
            Memory layout of new outputs.
        shape : tuple of int
            Of new outputs, where it is known already.
        """
        arrays = [o.array for o in (*operands, *targets, mask) if o is not None and o.place == "device"]
        device = one_device(arrays, name=self.code.name)
        with driver.on(driver.current() if device is None else device):
            key = None if mask is not None else (choice, order, shape, device, *map(_layout, (*operands, *targets)))
            recipe = self._recipes.get(key)
            if recipe is not None and _is_clear(operands, targets):
                return recipe.follow(operands, targets)
            return self._first(choice, operands, targets, mask, order, shape, key)

    def _first(
        self,
        choice: Choice,
        operands: Sequence[ArrayOperand],
        targets: Sequence[ArrayOperand | None],
        mask: ArrayOperand | None,
        order: str,
        shape: tuple[int, ...] | None,
        key: Any,
    ) -> list[Any]:
        """Find out how arrays of this layout are worked on, and do it."""
        fixed = [t.shape for t in targets if t is not None]
        if shape is None:
            shape = np.broadcast_shapes(*(o.shape for o in (*operands, mask) if o is not None), *fixed)
        for wrong in (s for s in fixed if s != shape):
            raise ValueError(f"non-broadcastable output operand with shape {wrong} doesn't match {shape}")
        inputs = [_array(o, c) for o, c in zip(operands, choice.inputs, strict=True)]
        views = [view(a).broadcast_to(shape) for a in inputs if a is not None]
        results = [
            _new(shape, np.dtype(c), views, order) if t is None else t.array
            for t, c in zip(targets, choice.outputs, strict=True)
        ]
        written = [
            a if castable(c, a.dtype.char) and _is_aligned(a) else driver.allocate(a.shape, np.dtype(c))
            for a, c in zip(results, choice.outputs, strict=True)
        ]
        if mask is not None:
            _assign_others(written, results)
        ends = [view(w) for w in written] if any(targets) else []
        # An input is copied if an output would overwrite what is still to be read.
        inputs = [
            driver.copy(a) if a is not None and any(overlaps(view(a).broadcast_to(shape), end) for end in ends) else a
            for a in inputs
        ]
        recipe = self._launch(choice, operands, inputs, None if mask is None else _as_mask(mask), written, shape)
        converted = _assign_others(results, written)
        borrowed = all(a is None or a is o.array for a, o in zip(inputs, operands, strict=True))
        if key and recipe and borrowed and not converted and all(view(r).is_contiguous() for r in results):
            if len(self._recipes) >= _MOST_RECIPES:
                self._recipes.clear()
            self._recipes[key] = recipe
        return results

    def _launch(
        self,
        choice: Choice,
        operands: Sequence[ArrayOperand],
        inputs: Sequence[Any],
        mask: Any,
        outputs: Sequence[Any],
        shape: tuple[int, ...],
    ) -> _Recipe | None:
        count = total(shape)
        if not count:
            return None
        plan = Plan(
            call=self.code.calls[choice.index],
            inputs=choice.inputs,
            outputs=choice.outputs,
            stored_inputs="".join(c if a is None else a.dtype.char for a, c in zip(inputs, choice.inputs, strict=True)),
            stored_outputs="".join(a.dtype.char for a in outputs),
            values=tuple(a is None for a in inputs),
            masked=mask is not None,
        )
        arrays = [a for a in (*inputs, mask, *outputs) if a is not None]
        triples = zip(operands, inputs, choice.inputs, strict=True)
        arguments = [np.dtype(c).type(o.array) for o, a, c in triples if a is None]
        arguments += [np.uint64(a.data.ptr) for a in arrays]
        views = [view(a).broadcast_to(shape) for a in arrays]
        axes = axis_order(views[::-1])
        sizes, strides = collapsed([v.swapped(axes) for v in views])
        threads = count
        last: Any
        form: dict[str, Any]
        if not plan.masked and len(sizes) == 1 and all(s == (v.itemsize,) for s, v in zip(strides, views, strict=True)):
            packed = plan.pack > 1 and all(v.pointer % _ALIGNED == 0 for v in views)
            threads, last = -(-count // (plan.pack if packed else 1)), np.int64(count)
            form = {"ndim": 0, "packed": packed, "wide": False}
        else:
            wide = count + BLOCK >= 2**32
            form = {"ndim": len(sizes), "packed": False, "wide": wide}
            last = np.zeros((), kernel_source.elements_box(arrays=len(arrays), ndim=len(sizes), wide=wide))
            last["count"], last["stride"], last["size"] = count, strides, sizes
        kernel = self._kernel(("elements", plan, *form.items()), lambda: kernel_source.elements(plan, **form))
        grid = (-(-threads // BLOCK), 1, 1)
        driver.launch(kernel, grid, (BLOCK, 1, 1), [*arguments, last])
        return _Recipe(kernel, grid, last, choice, shape)

    def _kernel(self, key: tuple[Any, ...], text: Callable[[], str]) -> Any:
        """The kernel of a generated text for the current device, by ``key``."""
        key = (*key, driver.current())
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = driver.function_of(self.object_code, text(), ENTRY)
        return kernel

    # --------------------------------------------------------------------------------- reductions

    def reduce(
        self, choice: Choice, array: Any, *, axis: int | tuple[int, ...] | None, keepdims: bool, start: Any
    ) -> Any:
        """Reduce along axes: a tree in each block, and a second launch over what the blocks have left.

        Parameters
        ----------
        start : number or None
            What comes before the first element.

        Raises
        ------
        ValueError
            If there is neither an element nor a start, or an axis is wrong.
        """
        with driver.on(driver.of(array)):
            inner = _axes(axis, array.ndim)
            outer = tuple(a for a in range(array.ndim) if a not in inner)
            if not castable(array.dtype.char, choice.outputs):
                array = driver.copy(array, np.dtype(choice.inputs[1]))
            result = self._reduced(choice, array, outer, inner, start)
            if keepdims:
                result = result.reshape([1 if a in inner else n for a, n in enumerate(array.shape)])
            return result

    def _reduced(self, choice: Choice, array: Any, outer: Sequence[int], inner: Sequence[int], start: Any) -> Any:
        dtype = np.dtype(choice.outputs)
        shape = tuple(array.shape[a] for a in outer)
        results, elements = total(shape), total([array.shape[a] for a in inner])
        result = driver.allocate(shape, dtype)
        first = None if start is None else dtype.type(start)
        if not results:
            return result
        if not elements:
            if first is None:
                raise ValueError(f"zero-size array to reduction operation {self.code.name} which has no identity")
            driver.assign(result, first)
            return result
        parts = min(max(1, _BLOCKS // results), -(-elements // (BLOCK * _EACH)))
        parts = -(-elements // -(-elements // parts))  # no slice is empty
        if parts > 1:
            part = driver.allocate((results, parts), dtype)
            self._launch_reduction(choice, array, outer, inner, part, parts, None)
            array, outer, inner = part, (0,), (1,)
        self._launch_reduction(choice, array, outer, inner, result, 1, first)
        return result

    def _launch_reduction(
        self,
        choice: Choice,
        array: Any,
        outer: Sequence[int],
        inner: Sequence[int],
        result: Any,
        parts: int,
        first: Any,
    ) -> None:
        """Reduce the ``inner`` axes for every element of the ``outer`` ones, ``parts`` slices of it apart."""
        whole, stored = view(array), array.dtype.char
        outer_size, (outer_stride,) = collapsed([whole.swapped(outer)])
        inner_size, (inner_stride,) = collapsed([whole.swapped(inner)])
        form = {"outer": len(outer_size), "inner": len(inner_size)}
        call, types = self.code.calls[choice.index], choice.inputs + choice.outputs
        kernel = self._kernel(
            ("reduce", call, types, stored, *form.values(), first is not None),
            lambda: kernel_source.reduction(call, types, stored, has_start=first is not None, **form),
        )
        box = np.zeros((), kernel_source.reduction_box(**form))
        box["outer"], box["inner"] = total(outer_size), total(inner_size)
        box["slice"] = -(-total(inner_size) // parts)
        box["outer_stride"], box["inner_stride"] = outer_stride, inner_stride
        box["outer_size"], box["inner_size"] = outer_size, inner_size
        arguments = [np.uint64(whole.pointer), np.uint64(result.data.ptr), *([] if first is None else [first]), box]
        driver.launch(kernel, (int(box["outer"]), parts, 1), (BLOCK, 1, 1), arguments)


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = np.lib.array_utils.normalize_axis_tuple(axis, ndim, allow_duplicate=True)
    if len(set(axes)) < len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def _assign_others(arrays: Sequence[Any], values: Sequence[Any]) -> bool:
    """Write values into those arrays that are not they; whether there were any."""
    pairs = [(a, v) for a, v in zip(arrays, values, strict=True) if a is not v]
    for array, value in pairs:
        driver.assign(array, value)
    return bool(pairs)


def _array(operand: ArrayOperand, char: str) -> Any:
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


def _as_mask(mask: ArrayOperand) -> Any:
    if mask.place == "value":
        array = driver.allocate((), np.dtype(bool))
        driver.assign(array, bool(mask.array))
        return array
    if mask.array.dtype != bool:
        raise TypeError(
            f"Cannot cast array data from {mask.array.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    return mask.array


def _new(shape: tuple[int, ...], dtype: np.dtype[Any], views: Sequence[StridedView], order: str) -> Any:
    """A new output, laid out as ``order`` asks: "K" is as the inputs are."""
    axes = tuple(range(len(shape)))
    if order == "F" or (order == "A" and views and all(v.swapped(axes[::-1]).is_contiguous() for v in views)):
        axes = axes[::-1]
    elif order == "K" and views and not all(v.is_contiguous() for v in views):
        axes = axis_order(views)
    if axes == tuple(range(len(shape))):
        return driver.allocate(shape, dtype)
    back = sorted(range(len(axes)), key=axes.__getitem__)
    return driver.allocate([shape[a] for a in axes], dtype).transpose(back)
