"""The text of the kernels that call a cell's function for every element: the cell, then one function of ours.

Plain CUDA C++ without any header, so that no name of the cell can clash; text that is
generated here starts with ``__ufm_``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ....model import TYPES, FunctionCode, ObjectCode, SignatureError

#: The symbol of the generated kernel.
ENTRY = "__ufm_kernel"
#: Threads of a block.
BLOCK = 256
#: Elements that a thread of a reduction loads before it needs the first.
_AT_ONCE = 4
_BY_CHAR = {t.char: t for t in TYPES.values()}
#: Types that C++ itself converts into each other.
_PLAIN = frozenset("?bBhHiIlLqQfd")
#: Those whose C++ type only the cell knows (``__half``, ``float2``, a complex class), moved as bytes.
_RAW = {"e": 2, "F": 8, "D": 16}


@dataclass(frozen=True)
class Plan:
    """How one loop of a function is called for every element.

    Attributes
    ----------
    call : str
        The statement that calls it, with ``{in0}``, ``{out0}``, ... for operands.
    inputs, outputs : str
        The loop's types, as NumPy's letters.
    stored_inputs, stored_outputs : str
        Those of the arrays.
    values : tuple of bool
        For each input, whether it is one value and no array.
    masked : bool
        A last array of bool says which elements are computed.
    """

    call: str
    inputs: str
    outputs: str
    stored_inputs: str
    stored_outputs: str
    values: tuple[bool, ...]
    masked: bool = False

    @property
    def pointers(self) -> str:
        """Types of the arrays, outputs last and the mask before them."""
        arrays = [c for c, value in zip(self.stored_inputs, self.values, strict=True) if not value]
        return "".join([*arrays, "?" if self.masked else "", self.stored_outputs])

    @property
    def first_output(self) -> int:
        """The place of the first output among the arrays."""
        return len(self.pointers) - len(self.stored_outputs)

    @property
    def pack(self) -> int:
        """Elements that one thread takes at once, so that the widest are moved in 16 bytes."""
        return max(1, min(8, 16 // max(np.dtype(c).itemsize for c in self.pointers)))


def can_convert(source: str, target: str) -> bool:
    """Whether a kernel can convert between the types itself."""
    return source == target or (source in _PLAIN and target in _PLAIN)


def _name_c_type(char: str) -> str:
    """C++'s name of a type of NumPy's; one of ours for those that only the cell can name."""
    return f"__ufm_bytes<{_RAW[char]}>" if char in _RAW else _BY_CHAR[char].c.replace("_Bool", "bool")


def write_cell(object_code: ObjectCode) -> str:
    """The cell as the GPU's compiler takes it: without the host's functions, once for each type.

    Raises
    ------
    SignatureError
        If the object came without its source.
    """
    text = str(object_code.device.get("unit", "")) or object_code.source
    if not text:
        raise SignatureError(
            f"{object_code.name} came without its source, which is compiled for each GPU.",
            remedy="Send it with its source: dumps(f).",
        )
    return text


def write_kernel_unit(cell: str, name: str, generated: str) -> str:
    """The cell on its own lines, and what was generated below it."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{quoted}"\n{cell}\n#line 1 "ufunc_magic"\n{generated}'


def _write_item(plan: Plan) -> str:
    """``__ufm_item``: one element, converted to the loop's types and back."""
    parameters = [f"{_name_c_type(c)} __ufm_a{n}" for n, c in enumerate(plan.stored_inputs)]
    parameters += [f"{_name_c_type(c)} &__ufm_r{n}" for n, c in enumerate(plan.stored_outputs)]
    names = {f"in{n}": f"__ufm_x{n}" for n in range(len(plan.inputs))}
    names |= {f"out{n}": f"__ufm_y{n}" for n in range(len(plan.outputs))}
    ins = enumerate(zip(plan.inputs, plan.stored_inputs, strict=True))
    outs = enumerate(zip(plan.outputs, plan.stored_outputs, strict=True))
    lines = [f"{_name_c_type(c)} __ufm_x{n} = {_cast(stored, c)}__ufm_a{n};" for n, (c, stored) in ins]
    lines += [f"{_name_c_type(c)} __ufm_y{n}{{}};" for n, c in enumerate(plan.outputs)]
    lines += [plan.call.format(**names).rstrip("; \n") + ";"]
    lines += [f"__ufm_r{n} = {_cast(c, stored)}__ufm_y{n};" for n, (c, stored) in outs]
    body = "\n    ".join(lines)
    return f"static __device__ __forceinline__ void __ufm_item({', '.join(parameters)})\n{{\n    {body}\n}}\n"


def _cast(source: str, target: str) -> str:
    """The cast before an expression; nothing where the types are the same."""
    return "" if source == target else f"({_name_c_type(target)})"


def _write_support(*types: str) -> str:
    """Definitions that kernels with operands of ``types`` need."""
    return _fill_template("bytes.cu") if set("".join(types)) & _RAW.keys() else ""


@cache
def _read_template(name: str) -> str:
    return files("ufunc_magic.languages.cuda").joinpath("templates", "device", name).read_text(encoding="utf-8")


def _fill_template(name: str, **words: object) -> str:
    """A text of ``templates/device`` with its words filled in."""
    return Template(_read_template(name)).substitute({"block": BLOCK, "entry": ENTRY, **words})


def write_element_kernel(plan: Plan, *, ndim: int, packed: bool = True, wide: bool = False) -> str:
    """A kernel over all elements.

    Parameters
    ----------
    ndim : int
        0 for contiguous arrays of one order, whose elements need no index arithmetic; else the number of axes.
    packed : bool
        For ``ndim=0``: the pointers are aligned to 16 bytes.
    wide : bool
        For other ``ndim``: their number needs more than 32 bits.

    Notes
    -----
    Parameters of the kernel: the values, the arrays, then for ``ndim=0`` ``long long`` number of elements, and
    else a struct as of `make_element_box`.
    """
    text = _write_support(plan.inputs, plan.outputs, plan.stored_inputs, plan.stored_outputs) + _write_item(plan)
    return text + (_write_strided(plan, ndim, wide) if ndim else _write_flat(plan, plan.pack if packed else 1))


def _write_call(plan: Plan, at: Callable[[int], str]) -> str:
    """The call of ``__ufm_item`` with the values, and ``at(k)`` of each array but the mask."""
    arrays = iter(range(plan.first_output))
    operands = [f"__ufm_v{n}" if value else at(next(arrays)) for n, value in enumerate(plan.values)]
    operands += map(at, range(plan.first_output, len(plan.pointers)))
    return f"__ufm_item({', '.join(operands)});"


def _write_head(plan: Plan, last: str, *, raw: bool) -> str:
    """The parameters of the kernel, with ``last`` after the arrays."""
    values = [f"{_name_c_type(c)} __ufm_v{n}" for n, c in enumerate(plan.stored_inputs) if plan.values[n]]
    arrays = [
        f"{'const ' * (k < plan.first_output)}{'char' if raw else _name_c_type(c)} *__ufm_p{k}"
        for k, c in enumerate(plan.pointers)
    ]
    return ",\n    ".join([*values, *arrays, last])


def _write_flat(plan: Plan, pack: int) -> str:
    # No thread reads what another writes, so the loads of one precede its stores: no __restrict__ is needed,
    # which an output in the place of an input would break.
    packs = [f"__ufm_pack<{_name_c_type(c)}, {pack}>" for c in plan.pointers]
    places = [f"(__ufm_p{k} + __ufm_i)" for k in range(len(packs))]
    pieces = " ".join(f"{kind} __ufm_k{k};" for k, kind in enumerate(packs))
    first = plan.first_output
    loads = " ".join(f"__ufm_k{k} = *(const {packs[k]} *){places[k]};" for k in range(first))
    stores = " ".join(f"*({packs[k]} *){places[k]} = __ufm_k{k};" for k in range(first, len(packs)))
    return _fill_template(
        "contiguous.cu",
        head=_write_head(plan, "long long __ufm_n", raw=False),
        pack=pack,
        pieces=pieces,
        loads=loads,
        stores=stores,
        packed_call=_write_call(plan, "__ufm_k{}.__ufm_e[__ufm_j]".format),
        call=_write_call(plan, "__ufm_p{}[__ufm_i]".format),
    )


def _write_strided(plan: Plan, ndim: int, wide: bool) -> str:
    index = "unsigned long long" if wide else "unsigned int"
    first, arrays = plan.first_output, range(len(plan.pointers))

    def at(k: int) -> str:
        return f"(*({'const ' * (k < first)}{_name_c_type(plan.pointers[k])} *)(__ufm_p{k}))"

    steps = " ".join(f"__ufm_p{k} += __ufm_k * __ufm_b.__ufm_stride[{k}][__ufm_d];" for k in arrays)
    last = " ".join(f"__ufm_p{k} += (long long)__ufm_i * __ufm_b.__ufm_stride[{k}][0];" for k in arrays)
    return _fill_template(
        "strided.cu",
        head=_write_head(plan, "const __ufm_box __ufm_b", raw=True),
        arrays=len(arrays),
        ndim=ndim,
        last_axis=ndim - 1,
        index=index,
        steps=steps,
        last=last,
        mask=f"if (!{at(first - 1)}) return;" if plan.masked else "",
        call=_write_call(plan, at),
    )


def make_element_box(*, arrays: int, ndim: int, wide: bool) -> np.dtype[np.void]:
    """NumPy's form of the ``__ufm_box`` that a kernel of ``ndim`` axes takes."""
    size = np.uint64 if wide else np.uint32
    return np.dtype([("count", "i8"), ("stride", "i8", (arrays, ndim)), ("size", size, (ndim,))], align=True)


def write_usual_kernels(code: FunctionCode) -> tuple[str, dict[str, str]]:
    """Return the kernels that calls on contiguous arrays launch, one per loop, and their names by the input types."""
    texts, names = [], {}
    for k, (loop, call) in enumerate(zip(code.loops, code.calls, strict=False)):
        chars = "".join(TYPES[number].char for number in loop.types)
        if code.kind != "ufunc" or code.core or not set(chars) <= _PLAIN | _RAW.keys():
            continue
        inputs, outputs = chars[: code.nin], chars[code.nin :]
        plan = Plan(call, inputs, outputs, inputs, outputs, (False,) * code.nin)
        name = f"{ENTRY}_{code.name}_{k}"
        texts.append(f"namespace {name}_it {{\n{write_element_kernel(plan, ndim=0).replace(ENTRY, name)}\n}}\n")
        names[inputs] = f"{name}_it::{name}"
    return "".join(texts), names


def write_reduction_kernel(
    call: str, types: str, stored: str, *, outer: int, inner: int, has_start: bool, pack: int = 1
) -> str:
    """A kernel that reduces the ``inner`` last axes of an array.

    Parameters
    ----------
    call : str
        As in `Plan`, of a function of two inputs and one output.
    types : str
        The loop's three types; the first is the last's.
    stored : str
        Type of the array's elements.
    outer, inner : int
        Number of axes that stay and that go, at least 1 each.
    has_start : bool
        A value comes before the first element.
    pack : int
        So many neighbours along the last axis are loaded at once, and count as one element of it.  The loop's types
        are the same then.

    Notes
    -----
    Parameters of the kernel: input, output, the start value if there is one, and a struct as of `make_reduction_box`.
    ``lanes`` threads of a block share a result and take every ``lanes``-th element, so the function must be
    associative and commutative.  Neighbouring threads are lanes of one result (``along``) or of neighbouring results:
    those whose elements are closer together.  Blocks of axis y share results: each takes a slice, and its own place
    in the output.
    """
    value = _name_c_type(types[2])
    loaded = types[2] if pack > 1 else stored
    element = _name_c_type(loaded)
    names = {"in0": "__ufm_x0", "in1": "__ufm_x1", "out0": "__ufm_y0"}
    join = f"__ufm_all = __ufm_join(__ufm_all, {_cast(loaded, types[1])}{{}});".format
    pieces = [f"__ufm_e{k}" for k in range(_AT_ONCE)]
    loads = " ".join(
        f"const {element} {e} = __ufm_load(__ufm_in, __ufm_i + {k} * __ufm_lanes, __ufm_b);"
        for k, e in enumerate(pieces)
    )
    return _write_support(types, stored) + _fill_template(
        "reduction.cu",
        value=value,
        element=element,
        first=_name_c_type(types[0]),
        second=_name_c_type(types[1]),
        call=call.format(**names).rstrip("; "),
        cast=_cast(loaded, types[2]),
        outer=outer,
        inner=inner,
        outer_places=_write_places("outer", outer),
        inner_places=_write_places("inner", inner),
        loaded=_write_loads(stored, loaded, pack),
        start=f"{value} __ufm_start,\n    " if has_start else "",
        whole="__ufm_join(__ufm_start, __ufm_all)" if has_start else "__ufm_all",
        at_once=_AT_ONCE,
        at_once_but_one=_AT_ONCE - 1,
        loads=loads,
        joins=" ".join(map(join, pieces)),
        join=join("__ufm_load(__ufm_in, __ufm_i, __ufm_b)"),
    )


def _write_loads(stored: str, loaded: str, pack: int) -> str:
    """Statements that return what is at ``__ufm_in``."""
    kind = _name_c_type(stored) if pack == 1 else f"__ufm_pack<{_name_c_type(stored)}, {pack}>"
    if pack == 1:
        return f"return *(const {kind} *)__ufm_in;"
    return f"""const {kind} __ufm_k = *(const {kind} *)__ufm_in;
    {_name_c_type(loaded)} __ufm_all = {_cast(stored, loaded)}__ufm_k.__ufm_e[0];
#pragma unroll
    for (int __ufm_j = 1; __ufm_j < {pack}; __ufm_j++)
        __ufm_all = __ufm_join(__ufm_all, {_cast(stored, loaded)}__ufm_k.__ufm_e[__ufm_j]);
    return __ufm_all;"""


def _write_places(axes: str, count: int) -> str:
    """Statements that move ``__ufm_in`` to the element ``__ufm_i`` along ``count`` axes, which use it up."""
    # The first axis needs no division, the only one of most arrays: it would take longer than the load.
    lines = [
        f"__ufm_in += __ufm_i % __ufm_b.__ufm_{axes}_size[{d}] * __ufm_b.__ufm_{axes}_stride[{d}];"
        f" __ufm_i /= __ufm_b.__ufm_{axes}_size[{d}];"
        for d in range(count - 1, 0, -1)
    ]
    return " ".join([*lines, f"__ufm_in += __ufm_i * __ufm_b.__ufm_{axes}_stride[0];"])


def make_reduction_box(*, outer: int, inner: int) -> np.dtype[np.void]:
    """NumPy's form of the ``__ufm_box`` that `write_reduction_kernel` takes."""
    sizes = [("outer_stride", outer), ("inner_stride", inner), ("outer_size", outer), ("inner_size", inner)]
    fields: list[Any] = [(name, "i8") for name in ("outer", "inner", "slice", "lanes", "along")]
    return np.dtype(fields + [(name, "i8", (count,)) for name, count in sizes], align=True)
