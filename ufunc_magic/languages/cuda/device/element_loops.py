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

from ....model import ArgumentError, FunctionCode, ObjectCode
from . import device_arrays, driver, kernel_source
from .cell_memory import CellMemory
from .device_arrays import ArrayOperand
from .kernel_source import BLOCK, ENTRY, Plan, can_convert

#: Bytes that the widest load needs its address to be a multiple of.
_ALIGNED = 16
_BLOCK = BLOCK, 1, 1
#: Threads that keep a large device busy: only more elements than these are taken several at once.
FILLING = 2**17
#: Layouts that are remembered for each function.
_MOST_RECIPES = 256
#: For reductions: blocks that keep a large device busy, elements that one thread takes before a second block is
#: worth its launch, and before a second thread is.
_BLOCKS, _EACH, _OF_A_LANE = 2048, 16, 8
_WARP = 32


@dataclass(frozen=True)
class Choice:
    """One loop: its place in ``code.loops`` and its types as NumPy's letters, inputs and outputs."""

    index: int
    inputs: str
    outputs: str


# ------------------------------------------------------------------------------ shapes and strides


def find_steps(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a CuPy array that is repeated to ``shape``: 0 along what is repeated, or has one element."""
    own = (0 if size == 1 else stride for size, stride in zip(array.shape, array.strides, strict=True))
    return (*(0,) * (len(shape) - array.ndim), *own)


def may_overwrite(target: Any, source: Any) -> bool:
    """Whether writing ``target`` element by element may change elements of ``source`` that are read later.

    The same elements in the same places do not count.
    """
    at, to = source.data.ptr, target.data.ptr
    if at == to and (source.shape, source.strides, source.dtype) == (target.shape, target.strides, target.dtype):
        return False
    if source.flags.c_contiguous and target.flags.c_contiguous:
        return bool(at < to + target.nbytes and to < at + source.nbytes)
    return driver.may_share_memory(source, target)


def collapse_axes(
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


def order_axes(strides: Sequence[Sequence[int]], ndim: int) -> list[int]:
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


def find_one_device(arrays: Sequence[Any], *, name: str) -> int | None:
    """The device that all of the CuPy arrays are on; None where there are none.

    Raises
    ------
    ArgumentError
        If they are on several.
    """
    devices = {driver.find_device(a) for a in arrays}
    if len(devices) > 1:
        raise ArgumentError(
            f"{name}: the arrays are on GPUs {' and '.join(map(str, sorted(devices)))}.",
            remedy="Copy them to one: with cupy.cuda.Device(0): y = x.copy().",
        )
    return devices.pop() if devices else None


# ------------------------------------------------------------------------------------------- calls


@dataclass(frozen=True, eq=False)
class _Recipe:
    """The launch of a call on arguments of one layout: all but values and addresses.

    Attributes
    ----------
    kernel, grid
    last : object
        The kernel's last argument.
    inputs : tuple
        The function that makes the kernel's argument of each value; None for arrays.
    outputs : tuple of dtype
    shape : tuple of int
        The types of new outputs.
    device : int
    """

    kernel: Any
    grid: tuple[int, int, int]
    last: Any
    inputs: tuple[type[np.generic] | None, ...]
    outputs: tuple[np.dtype[Any], ...]
    shape: tuple[int, ...]
    device: int


def _make_key(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """All that a recipe depends on, of CuPy arrays and numbers; None where there is something else."""
    parts: list[Any] = []
    for value in arguments:
        kind = type(value)
        role = device_arrays.find_role(kind)
        if role == "array":
            memory = value.data
            parts.append((value.dtype.char, value.shape, value.strides, memory.ptr % _ALIGNED, memory.device_id))
        elif role or value is None:
            parts.append(kind)
        else:
            return None
    return tuple(parts)


class Loops:
    """The kernels of one function, written and compiled at their first use."""

    def __init__(self, code: FunctionCode, object_code: ObjectCode, memory: CellMemory) -> None:
        self.code = code
        self.memory = memory
        self.object_code = object_code
        self._kernels: dict[tuple[str, int], Any] = {}
        self._recipes: dict[tuple[Any, ...] | None, _Recipe] = {}

    def run_again(self, arguments: Sequence[Any], originals: Sequence[Any] = ()) -> list[Any] | None:
        """Compute outputs as `run` does, where arguments of the same layout have been there before.

        Parameters
        ----------
        arguments : sequence
            Inputs, then outputs or None.
        originals : sequence
            What the caller passed, tensors that were lent; the arguments themselves where there is nothing.

        Returns
        -------
        list of arrays or None
            Of the kind of the first array; None where `run` has to look at the arguments.
        """
        recipe = self._recipes.get(_make_key(arguments))
        if recipe is None or recipe.device != driver.find_current_device():
            return None
        values: list[Any] = []
        sources: list[Any] = []
        for value, kind in zip(arguments, recipe.inputs, strict=False):
            if kind is None:
                sources.append(value)
            else:
                values.append(kind(value))
        originals = originals or arguments
        like = next(o for o, a in zip(originals, arguments, strict=True) if device_arrays.find_role(type(a)) == "array")
        targets = arguments[len(recipe.inputs) :] or (None,) * len(recipe.outputs)
        outputs = originals[len(recipe.inputs) :] or targets
        if any(target is not None and may_overwrite(target, source) for target in targets for source in sources):
            return None
        written: list[Any] = []
        results: list[Any] = []
        for target, original, dtype in zip(targets, outputs, recipe.outputs, strict=True):
            array, result = (
                device_arrays.make_array(recipe.shape, dtype, like) if target is None else (target, original)
            )
            written.append(array)
            results.append(result)
        self.memory.follow(recipe.kernel)
        pointers = [array.data for array in (*sources, *written)]
        driver.launch(recipe.kernel, recipe.grid, _BLOCK, (*values, *pointers, recipe.last))
        return results

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
            Of new outputs, where those of the operands do not say it.
        """
        usual = mask is None and order == "K" and shape is None
        arrays = [o.array for o in (*operands, *targets, mask) if o is not None and o.place == "device"]
        device = find_one_device(arrays, name=self.code.name)
        with driver.use_device(driver.find_current_device() if device is None else device):
            fixed = [t.shape for t in targets if t is not None]
            if shape is None:
                shape = np.broadcast_shapes(*(o.shape for o in (*operands, mask) if o is not None), *fixed)
            for wrong in (s for s in fixed if s != shape):
                raise ValueError(f"non-broadcastable output operand with shape {wrong} doesn't match {shape}")
            inputs = [_make_loadable(o, c) for o, c in zip(operands, choice.inputs, strict=True)]
            arrays = [a for a in inputs if a is not None]
            results = [
                _make_output(shape, np.dtype(c), arrays, order) if t is None else t.array
                for t, c in zip(targets, choice.outputs, strict=True)
            ]
            written = [
                a if can_convert(c, a.dtype.char) and _is_aligned(a) else driver.allocate(a.shape, np.dtype(c))
                for a, c in zip(results, choice.outputs, strict=True)
            ]
            if mask is not None:
                _assign_others(written, results)
            # An input is copied if an output would overwrite what is still to be read.
            inputs = [
                driver.copy(a) if a is not None and any(may_overwrite(w, a) for w in written) else a for a in inputs
            ]
            recipe = self._launch(choice, operands, inputs, None if mask is None else _make_mask(mask), written, shape)
            converted = _assign_others(results, written)
            borrowed = all(a is None or a is o.array for a, o in zip(inputs, operands, strict=True))
            usual = usual and device is not None and not converted  # numbers alone give numbers
            if usual and recipe and borrowed and all(r.flags.c_contiguous for r in results):
                if len(self._recipes) >= _MOST_RECIPES:
                    self._recipes.clear()
                outputs = [None if t is None else t.array for t in targets] if any(targets) else []
                self._recipes[_make_key([*(o.array for o in operands), *outputs])] = recipe
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
        whole = [find_steps(a, shape) for a in arrays]
        sizes, strides = collapse_axes(shape, whole, order_axes(whole[::-1], len(shape)))
        threads = count
        last: Any
        form: dict[str, Any]
        if not plan.masked and strides == [[a.dtype.itemsize] for a in arrays]:
            packed = plan.pack > 1 and count >= plan.pack * FILLING and all(a.data.ptr % _ALIGNED == 0 for a in arrays)
            threads, last = -(-count // (plan.pack if packed else 1)), np.int64(count)
            form = {"ndim": 0, "packed": packed, "wide": False}
        else:
            wide = count + BLOCK >= 2**32
            form = {"ndim": len(sizes), "packed": False, "wide": wide}
            last = np.zeros((), kernel_source.make_element_box(arrays=len(arrays), ndim=len(sizes), wide=wide))
            last["count"], last["stride"], last["size"] = count, strides, sizes
        kernel = self._find_kernel(kernel_source.write_element_kernel(plan, **form))
        grid = (-(-threads // BLOCK), 1, 1)
        driver.launch(kernel, grid, _BLOCK, [*arguments, last])
        makers = tuple(np.dtype(c).type if a is None else None for c, a in zip(choice.inputs, inputs, strict=True))
        return _Recipe(
            kernel, grid, last, makers, tuple(map(np.dtype, choice.outputs)), shape, driver.find_current_device()
        )

    def _find_kernel(self, text: str) -> Any:
        """The kernel of a generated text for the current device, which is about to run there."""
        key = text, driver.find_current_device()
        if key not in self._kernels:
            self._kernels[key] = driver.load_functions(self.object_code, text, [ENTRY])[ENTRY]
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
        with driver.use_device(driver.find_device(array)):
            inner = _list_axes(axis, array.ndim)
            outer = tuple(a for a in range(array.ndim) if a not in inner)
            if not can_convert(array.dtype.char, choice.outputs):
                array = driver.copy(array, np.dtype(choice.inputs[1]))
            result = self._reduce_blocks(choice, array, outer, inner, start)
            if keepdims:
                result = result.reshape([1 if a in inner else n for a, n in enumerate(array.shape)])
            return result

    def _reduce_blocks(self, choice: Choice, array: Any, outer: Sequence[int], inner: Sequence[int], start: Any) -> Any:
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
        pack = _pack(array, outer, inner) if len({*choice.inputs, *choice.outputs}) == 1 else 1
        lanes = _choose_lanes(array, outer, inner, pack)[0]
        elements //= pack
        blocks = -(-results // (BLOCK // lanes))
        parts = min(max(1, _BLOCKS // blocks), -(-elements // (lanes * _EACH)))
        parts = -(-elements // -(-elements // parts))  # no slice is empty
        if parts > 1:
            part = driver.allocate((results, parts), dtype)
            self._launch_reduction(choice, array, outer, inner, part, parts, None, pack)
            array, outer, inner, pack = part, (0,), (1,), 1
        self._launch_reduction(choice, array, outer, inner, result, 1, first, pack)
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
        pack: int,
    ) -> None:
        """Reduce the ``inner`` axes for every element of the ``outer`` ones, ``parts`` slices of it apart."""
        outer_size, outer_stride = collapse_axes(array.shape, [array.strides], outer)
        inner_size, inner_stride = collapse_axes(array.shape, [array.strides], inner)
        if pack > 1:
            inner_size, inner_stride = [inner_size[0] // pack], [[inner_stride[0][0] * pack]]
        form = {"outer": len(outer_size), "inner": len(inner_size)}
        call, types = self.code.calls[choice.index], choice.inputs + choice.outputs
        has_start = first is not None
        text = kernel_source.write_reduction_kernel(
            call, types, array.dtype.char, has_start=has_start, pack=pack, **form
        )
        box = np.zeros((), kernel_source.make_reduction_box(**form))
        box["outer"], box["inner"] = math.prod(outer_size), math.prod(inner_size)
        box["slice"] = -(-math.prod(inner_size) // parts)
        box["lanes"], box["along"] = _choose_lanes(array, outer, inner, pack)
        box["outer_stride"], box["inner_stride"] = outer_stride[0], inner_stride[0]
        box["outer_size"], box["inner_size"] = outer_size, inner_size
        pointers = [np.uint64(array.data.ptr), np.uint64(result.data.ptr)]
        arguments = [*pointers, *([] if first is None else [first]), box]
        blocks = -(-int(box["outer"]) // (BLOCK // int(box["lanes"])))
        driver.launch(self._find_kernel(text), (blocks, parts, 1), _BLOCK, arguments)


def _pack(array: Any, outer: Sequence[int], inner: Sequence[int]) -> int:
    """How many neighbours of an array can be loaded at once: 16 bytes, if all of them are contiguous and aligned."""
    size = array.dtype.itemsize
    (_, (outer_stride,)), (inner_size, (inner_stride,)) = (
        collapse_axes(array.shape, [array.strides], axes) for axes in (outer, inner)
    )
    count = max(1, _ALIGNED // size)
    aligned = all(place % _ALIGNED == 0 for place in (array.data.ptr, *outer_stride))
    return count if inner_stride == [size] and inner_size[0] % count == 0 and aligned else 1


def _choose_lanes(array: Any, outer: Sequence[int], inner: Sequence[int], pack: int) -> tuple[int, bool]:
    """How many threads of a block share a result, and whether neighbouring threads do.

    They do where the elements of a result are closer together than those of the next.
    """
    (outer_size, (outer_stride,)), (inner_size, (inner_stride,)) = (
        collapse_axes(array.shape, [array.strides], axes) for axes in (outer, inner)
    )
    results, elements = math.prod(outer_size), math.prod(inner_size) // pack
    if results == 1 or abs(inner_stride[-1]) <= abs(outer_stride[-1]):
        return min(BLOCK, _round_to_power(-(-elements // _OF_A_LANE))), True
    return BLOCK // min(_WARP, _round_to_power(results)), False


def _round_to_power(number: int) -> int:
    """The next power of two."""
    return 1 << max(0, number - 1).bit_length()


def _list_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
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


def _make_loadable(operand: ArrayOperand, char: str) -> Any:
    """An array that the kernel can read: of a type that it converts itself, at addresses that it can load from."""
    if operand.place == "value":
        return None
    array = operand.array
    if not can_convert(array.dtype.char, char):
        return driver.copy(array, np.dtype(char))
    return array if _is_aligned(array) else driver.copy(array)


def _is_aligned(array: Any) -> bool:
    size = array.dtype.itemsize
    steps = (stride for stride, length in zip(array.strides, array.shape, strict=True) if length > 1)
    return array.data.ptr % size == 0 and all(step % size == 0 for step in steps)


def _make_mask(mask: ArrayOperand) -> Any:
    array = mask.array if mask.place == "device" else driver.to_device(np.asarray(mask.array))
    if array.dtype != bool:
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to dtype('bool') according to the rule 'safe'")
    return array


def _make_output(shape: tuple[int, ...], dtype: np.dtype[Any], inputs: Sequence[Any], order: str) -> Any:
    """A new output, laid out as ``order`` asks: "K" is as the inputs are."""
    axes = list(range(len(shape)))
    if order == "F" or (order == "A" and inputs and all(a.flags.f_contiguous for a in inputs)):
        axes = axes[::-1]
    elif order == "K":
        axes = order_axes([find_steps(a, shape) for a in inputs], len(shape))
    array = driver.allocate([shape[a] for a in axes], dtype)
    return array.transpose(sorted(axes, key=axes.__getitem__))
