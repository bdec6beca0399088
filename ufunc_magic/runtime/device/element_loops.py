"""A function called for every element of arrays on the device: operands in, one launch, outputs back; and reductions.

Nothing here knows a GPU: `driver` allocates, copies and launches, and `kernel_source` writes the kernels.  They are not
CuPy's ``ElementwiseKernel`` and ``ReductionKernel``, for the reasons in docs/cuda.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError, FunctionCode, ObjectCode
from . import driver, kernel_source
from .cell_memory import CellMemory
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


def steps(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a CuPy array that is repeated to ``shape``: 0 along what is repeated, or has one element."""
    own = (0 if size == 1 else stride for size, stride in zip(array.shape, array.strides, strict=True))
    return (*(0,) * (len(shape) - array.ndim), *own)


def overwrites(target: Any, source: Any) -> bool:
    """Whether writing ``target`` element by element may change elements of ``source`` that are read later.

    The same elements in the same places do not count.
    """
    a, b = ((v.data.ptr, v.shape, v.strides, v.dtype) for v in (source, target))
    return a != b and driver.may_share_memory(source, target)


def collapsed(
    shape: Sequence[int], strides: Sequence[Sequence[int]], axes: Sequence[int]
) -> tuple[list[int], list[list[int]]]:
    """Shape and strides of ``axes``, in that order, with as few of them as possible; at least one.

    Axes of one element go, and neighbours that every array steps through evenly become one.
    """
    sizes: list[int] = []
    result: list[list[int]] = [[] for _ in strides]
    for axis in axes:
        if shape[axis] == 1:
            continue
        if sizes and all(r[-1] == s[axis] * shape[axis] for r, s in zip(result, strides, strict=True)):
            sizes[-1] *= shape[axis]
            for r in result:
                r.pop()
        else:
            sizes.append(shape[axis])
        for r, s in zip(result, strides, strict=True):
            r.append(s[axis])
    return (sizes, result) if sizes else ([1], [[0] for _ in strides])


def axis_order(strides: Sequence[Sequence[int]], ndim: int) -> list[int]:
    """Axes from the longest steps to the shortest, as NumPy's ``order="K"`` lays an output out.

    Two axes change places only if an array says so and none speaks against it; steps of 0 say nothing.
    """

    def steps_longer(a: int, b: int) -> bool:
        pairs = [(abs(s[a]), abs(s[b])) for s in strides if s[a] and s[b]]
        return any(x > y for x, y in pairs) and not any(x < y for x, y in pairs)

    order: list[int] = []
    for axis in range(ndim):
        at = len(order)
        while at and steps_longer(axis, order[at - 1]):
            at -= 1
        order.insert(at, axis)
    return order


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
    sources = [o.array for o in operands if o.place == "device"]
    return not any(overwrites(t.array, source) for t in targets if t is not None for source in sources)


class Loops:
    """The kernels of one function, written and compiled at their first use."""

    def __init__(self, code: FunctionCode, object_code: ObjectCode, memory: CellMemory) -> None:
        self.code = code
        self.memory = memory
        self.object_code = object_code
        self._kernels: dict[tuple[str, int], Any] = {}
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
                self.memory.follow(recipe.kernel)
                return recipe.follow(operands, targets)
            # How arrays of this layout are worked on is found out once.
            fixed = [t.shape for t in targets if t is not None]
            if shape is None:
                shape = np.broadcast_shapes(*(o.shape for o in (*operands, mask) if o is not None), *fixed)
            for wrong in (s for s in fixed if s != shape):
                raise ValueError(f"non-broadcastable output operand with shape {wrong} doesn't match {shape}")
            inputs = [_array(o, c) for o, c in zip(operands, choice.inputs, strict=True)]
            arrays = [a for a in inputs if a is not None]
            results = [
                _new(shape, np.dtype(c), arrays, order) if t is None else t.array
                for t, c in zip(targets, choice.outputs, strict=True)
            ]
            written = [
                a if castable(c, a.dtype.char) and _is_aligned(a) else driver.allocate(a.shape, np.dtype(c))
                for a, c in zip(results, choice.outputs, strict=True)
            ]
            if mask is not None:
                _assign_others(written, results)
            # An input is copied if an output would overwrite what is still to be read.
            inputs = [driver.copy(a) if a is not None and any(overwrites(w, a) for w in written) else a for a in inputs]
            recipe = self._launch(choice, operands, inputs, None if mask is None else _as_mask(mask), written, shape)
            converted = _assign_others(results, written)
            borrowed = all(a is None or a is o.array for a, o in zip(inputs, operands, strict=True))
            if key and recipe and borrowed and not converted and all(r.flags.c_contiguous for r in results):
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
        count = math.prod(shape)
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
        whole = [steps(a, shape) for a in arrays]
        sizes, strides = collapsed(shape, whole, axis_order(whole[::-1], len(shape)))
        threads = count
        last: Any
        form: dict[str, Any]
        if not plan.masked and strides == [[a.dtype.itemsize] for a in arrays]:
            packed = plan.pack > 1 and all(a.data.ptr % _ALIGNED == 0 for a in arrays)
            threads, last = -(-count // (plan.pack if packed else 1)), np.int64(count)
            form = {"ndim": 0, "packed": packed, "wide": False}
        else:
            wide = count + BLOCK >= 2**32
            form = {"ndim": len(sizes), "packed": False, "wide": wide}
            last = np.zeros((), kernel_source.elements_box(arrays=len(arrays), ndim=len(sizes), wide=wide))
            last["count"], last["stride"], last["size"] = count, strides, sizes
        kernel = self._kernel(kernel_source.elements(plan, **form))
        grid = (-(-threads // BLOCK), 1, 1)
        driver.launch(kernel, grid, (BLOCK, 1, 1), [*arguments, last])
        return _Recipe(kernel, grid, last, choice, shape)

    def _kernel(self, text: str) -> Any:
        """The kernel of a generated text for the current device, which is about to run there."""
        key = text, driver.current()
        if key not in self._kernels:
            self._kernels[key] = driver.functions(self.object_code, text, [ENTRY])[ENTRY]
        self.memory.follow(self._kernels[key])
        return self._kernels[key]

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
        results, elements = math.prod(shape), math.prod(array.shape[a] for a in inner)
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
        outer_size, outer_stride = collapsed(array.shape, [array.strides], outer)
        inner_size, inner_stride = collapsed(array.shape, [array.strides], inner)
        form = {"outer": len(outer_size), "inner": len(inner_size)}
        call, types = self.code.calls[choice.index], choice.inputs + choice.outputs
        text = kernel_source.reduction(call, types, array.dtype.char, has_start=first is not None, **form)
        box = np.zeros((), kernel_source.reduction_box(**form))
        box["outer"], box["inner"] = math.prod(outer_size), math.prod(inner_size)
        box["slice"] = -(-math.prod(inner_size) // parts)
        box["outer_stride"], box["inner_stride"] = outer_stride[0], inner_stride[0]
        box["outer_size"], box["inner_size"] = outer_size, inner_size
        pointers = [np.uint64(array.data.ptr), np.uint64(result.data.ptr)]
        arguments = [*pointers, *([] if first is None else [first]), box]
        driver.launch(self._kernel(text), (int(box["outer"]), parts, 1), (BLOCK, 1, 1), arguments)


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
    array = mask.array if mask.place == "device" else driver.to_device(np.asarray(mask.array))
    if array.dtype != bool:
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to dtype('bool') according to the rule 'safe'")
    return array


def _new(shape: tuple[int, ...], dtype: np.dtype[Any], inputs: Sequence[Any], order: str) -> Any:
    """A new output, laid out as ``order`` asks: "K" is as the inputs are."""
    axes = list(range(len(shape)))
    if order == "F" or (order == "A" and inputs and all(a.flags.f_contiguous for a in inputs)):
        axes = axes[::-1]
    elif order == "K":
        axes = axis_order([steps(a, shape) for a in inputs], len(shape))
    array = driver.allocate([shape[a] for a in axes], dtype)
    return array.transpose(sorted(axes, key=axes.__getitem__))
