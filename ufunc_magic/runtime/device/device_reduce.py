"""Reductions on the device: a tree in each block, and a second launch over what the blocks have left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import driver, geometry
from .call_recipe import view
from .elementwise import Loops, one_device
from .geometry import View
from .kernel_source import BLOCK, ENTRY, c_type, cast, castable, support
from .loop_choice import Choice

__all__ = ["NOTHING", "box_type", "run", "text"]

#: Stands for an argument that was not given.
NOTHING: Any = type("_Nothing", (), {"__repr__": lambda _: "<no value>"})()
#: Blocks that keep a large device busy.
_BLOCKS = 2048
#: Elements that one thread takes before a second block is worth its launch.
_EACH = 16


def run(
    loops: Loops, choice: Choice, array: Any, *, axis: int | tuple[int, ...] | None, keepdims: bool, start: Any
) -> Any:
    """The reduced array, as CuPy's, on the current stream.

    Parameters
    ----------
    start : number or None
        What comes before the first element.

    Raises
    ------
    ValueError
        If there is neither an element nor a start, or an axis is wrong.
    """
    device = one_device([array], name=loops.code.name)
    assert device is not None
    with driver.on(device):
        gone = _axes(axis, array.ndim)
        kept = tuple(a for a in range(array.ndim) if a not in gone)
        if not castable(array.dtype.char, choice.outputs):
            array = driver.copy(array, np.dtype(choice.inputs[1]))
        result = _reduced(loops, choice, array, kept, gone, start)
        if keepdims:
            result = result.reshape([1 if a in gone else n for a, n in enumerate(array.shape)])
        return result


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    asked = axis if isinstance(axis, tuple) else (axis,)
    found = tuple(a + ndim if a < 0 else a for a in asked)
    for a, given in zip(found, asked, strict=True):
        if not 0 <= a < ndim:
            raise np.exceptions.AxisError(given, ndim)
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def _reduced(loops: Loops, choice: Choice, array: Any, kept: Sequence[int], gone: Sequence[int], start: Any) -> Any:
    out_type = np.dtype(choice.outputs)
    shape = tuple(array.shape[a] for a in kept)
    outer, inner = geometry.total(shape), geometry.total([array.shape[a] for a in gone])
    result = driver.allocate(shape, out_type)
    first = None if start is None else out_type.type(start)
    if not outer:
        return result
    if not inner:
        if first is None:
            raise ValueError(f"zero-size array to reduction operation {loops.code.name} which has no identity")
        driver.assign(result, first)
        return result
    whole = view(array)
    parts = min(max(1, _BLOCKS // outer), -(-inner // (BLOCK * _EACH)))
    parts = -(-inner // -(-inner // parts))  # no slice is empty
    if parts == 1:
        _launch(loops, choice, array.dtype.char, whole.swapped(kept), whole.swapped(gone), result, 1, first)
        return result
    part = driver.allocate((outer, parts), out_type)
    _launch(loops, choice, array.dtype.char, whole.swapped(kept), whole.swapped(gone), part, parts, None)
    rest = view(part)
    _launch(loops, choice, out_type.char, rest.swapped((0,)), rest.swapped((1,)), result, 1, first)
    return result


def _launch(
    loops: Loops, choice: Choice, stored: str, kept: View, gone: View, result: Any, parts: int, first: Any
) -> None:
    """Reduce ``gone``'s axes for every element of ``kept``'s, ``parts`` slices of it apart."""
    (outer_size, (outer_stride,)), (inner_size, (inner_stride,)) = (geometry.collapsed([v]) for v in (kept, gone))
    form = {"kept": len(outer_size), "gone": len(inner_size)}
    call, types = loops.code.calls[choice.index], choice.inputs + choice.outputs
    kernel = loops.function(
        ("reduce", call, types, stored, *form.values(), first is not None),
        lambda: text(call, types, stored, has_start=first is not None, **form),
    )
    inner = geometry.total(inner_size)
    box = np.zeros((), box_type(**form))
    box["outer"], box["inner"], box["slice"] = geometry.total(outer_size), inner, -(-inner // parts)
    box["outer_stride"], box["inner_stride"] = outer_stride, inner_stride
    box["outer_size"], box["inner_size"] = outer_size, inner_size
    start = [] if first is None else [first]
    grid = (int(box["outer"]), parts, 1)
    driver.launch(kernel, grid, (BLOCK, 1, 1), [np.uint64(kept.pointer), np.uint64(result.data.ptr), *start, box])


def text(call: str, types: str, stored: str, *, kept: int, gone: int, has_start: bool) -> str:
    """A kernel that reduces the ``gone`` last axes of an array, one block for each result and slice.

    Parameters
    ----------
    call : str
        As in `Plan`, of a function of two inputs and one output.
    types : str
        The loop's three types; the first is the last's.
    stored : str
        Type of the array's elements.
    kept, gone : int
        Number of axes that stay and that go, at least 1 each.
    has_start : bool
        A value comes before the first element.

    Notes
    -----
    Parameters of the kernel: input, output, the start value if there is one, and a struct as of
    `box_type`.  Blocks of axis y share a result: each takes a slice, and its own place in the output.
    Threads take every `BLOCK`-th element, so the function must be associative and commutative.
    """
    value, element = c_type(types[2]), c_type(stored)
    names = {"in0": "__ufm_x0", "in1": "__ufm_x1", "out0": "__ufm_y0"}
    start = f"{value} __ufm_start,\n    " if has_start else ""
    whole = "__ufm_join(__ufm_start, __ufm_all)" if has_start else "__ufm_all"
    return f"""{support(types, stored)}
struct __ufm_box {{
    long long outer, inner, slice;
    long long outer_stride[{kept}], inner_stride[{gone}], outer_size[{kept}], inner_size[{gone}];
}};

static __device__ __forceinline__ {value} __ufm_join({c_type(types[0])} __ufm_x0, {c_type(types[1])} __ufm_x1)
{{
    {value} __ufm_y0{{}};
    {call.format(**names).rstrip("; ")};
    return __ufm_y0;
}}

extern "C" __global__ void __launch_bounds__({BLOCK}) {ENTRY}(
    const char *__ufm_in,
    {value} *__ufm_out,
    {start}const __ufm_box __ufm_b)
{{
    __shared__ {value} __ufm_part[{BLOCK}];
    long long __ufm_rest = blockIdx.x;
#pragma unroll
    for (int __ufm_d = {kept - 1}; __ufm_d >= 0; __ufm_d--) {{
        __ufm_in += __ufm_rest % __ufm_b.outer_size[__ufm_d] * __ufm_b.outer_stride[__ufm_d];
        __ufm_rest /= __ufm_b.outer_size[__ufm_d];
    }}
    const long long __ufm_first = blockIdx.y * __ufm_b.slice;
    long long __ufm_end = __ufm_first + __ufm_b.slice;
    if (__ufm_end > __ufm_b.inner) __ufm_end = __ufm_b.inner;
    int __ufm_live = __ufm_end - __ufm_first < {BLOCK} ? (int)(__ufm_end - __ufm_first) : {BLOCK};
    {value} __ufm_all{{}};
    for (long long __ufm_i = __ufm_first + threadIdx.x; __ufm_i < __ufm_end; __ufm_i += {BLOCK}) {{
        const char *__ufm_at = __ufm_in;
        __ufm_rest = __ufm_i;
#pragma unroll
        for (int __ufm_d = {gone - 1}; __ufm_d >= 0; __ufm_d--) {{
            __ufm_at += __ufm_rest % __ufm_b.inner_size[__ufm_d] * __ufm_b.inner_stride[__ufm_d];
            __ufm_rest /= __ufm_b.inner_size[__ufm_d];
        }}
        const {element} __ufm_x = *(const {element} *)__ufm_at;
        if (__ufm_i < __ufm_first + {BLOCK}) __ufm_all = {cast(stored, types[2])}__ufm_x;
        else __ufm_all = __ufm_join(__ufm_all, {cast(stored, types[1])}__ufm_x);
    }}
    __ufm_part[threadIdx.x] = __ufm_all;
    __syncthreads();
    while (__ufm_live > 1) {{
        const int __ufm_half = (__ufm_live + 1) / 2;
        if ((int)threadIdx.x + __ufm_half < __ufm_live)
            __ufm_part[threadIdx.x] = __ufm_join(__ufm_part[threadIdx.x], __ufm_part[threadIdx.x + __ufm_half]);
        __syncthreads();
        __ufm_live = __ufm_half;
    }}
    if (threadIdx.x == 0) {{
        const long long __ufm_to = (long long)blockIdx.x * gridDim.y + blockIdx.y;
        __ufm_all = __ufm_part[0];
        __ufm_out[__ufm_to] = {whole};
    }}
}}
"""


def box_type(*, kept: int, gone: int) -> np.dtype[np.void]:
    """NumPy's form of the ``__ufm_box`` that `text` takes."""
    sizes = [("outer_stride", kept), ("inner_stride", gone), ("outer_size", kept), ("inner_size", gone)]
    fields: list[Any] = [(name, "i8") for name in ("outer", "inner", "slice")]
    return np.dtype(fields + [(name, "i8", (count,)) for name, count in sizes], align=True)
