"""The text of the kernels that call a cell's function for every element: the cell, then one function of ours.

Plain CUDA C++ without any header, so that nothing stands beside the cell that its own names could meet; what is
generated here starts with ``__ufm_``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...model import TYPES, ObjectCode, SignatureError

__all__ = ["BLOCK", "ENTRY", "Plan", "box_type", "c_type", "cast", "castable", "cell", "elements", "support", "unit"]

#: The symbol of the generated kernel.
ENTRY = "__ufm_kernel"
#: Threads of a block.
BLOCK = 256
_BY_CHAR = {t.char: t for t in TYPES.values()}
#: Types that C++ itself converts into each other.
_PLAIN = frozenset("?bBhHiIlLqQfd")
#: Those whose C++ type only the cell knows (``__half``, ``float2``, a complex class), moved as bytes.
_RAW = {"e": 2, "F": 8, "D": 16}

_BYTES = """
template <bool, class T = void> struct __ufm_if {};
template <class T> struct __ufm_if<true, T> { typedef T type; };
template <int N> struct __ufm_words;
template <> struct __ufm_words<2> { unsigned short word; };
template <> struct __ufm_words<8> { unsigned long long word; };
template <> struct alignas(16) __ufm_words<16> { unsigned long long word[2]; };
template <int N> struct __ufm_bytes : __ufm_words<N> {
    template <class T, class = typename __ufm_if<sizeof(T) == N>::type> __host__ __device__ operator T() const {
        T value;
        memcpy((void *)&value, (const void *)this, N);
        return value;
    }
    template <class T, class = typename __ufm_if<sizeof(T) == N>::type>
    __host__ __device__ __ufm_bytes &operator=(const T &value) {
        memcpy((void *)this, (const void *)&value, N);
        return *this;
    }
    struct address {
        __ufm_bytes *at;
        template <class T, class = typename __ufm_if<sizeof(T) == N>::type> __host__ __device__ operator T *() const {
            return (T *)at;
        }
    };
    __host__ __device__ address operator&() { return address{this}; }
};
"""


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
    def pack(self) -> int:
        """Elements that one thread takes at once, so that the widest are moved in 16 bytes."""
        return max(1, min(8, 16 // max(np.dtype(c).itemsize for c in self.pointers)))


def castable(source: str, target: str) -> bool:
    """Whether a kernel can convert between the types itself."""
    return source == target or (source in _PLAIN and target in _PLAIN)


def c_type(char: str) -> str:
    """C++'s name of a type of NumPy's; one of ours for those that only the cell can name."""
    return f"__ufm_bytes<{_RAW[char]}>" if char in _RAW else _BY_CHAR[char].c.replace("_Bool", "bool")


def cell(object_code: ObjectCode) -> str:
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


def unit(cell: str, name: str, generated: str) -> str:
    """The cell on its own lines, and what was generated below it."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{quoted}"\n{cell}\n#line 1 "ufunc_magic"\n{generated}'


def _item(plan: Plan) -> str:
    """``__ufm_item``: one element, converted to the loop's types and back."""
    nin, nout = len(plan.inputs), len(plan.outputs)
    given = [f"{c_type(c)} __ufm_a{n}" for n, c in enumerate(plan.stored_inputs)]
    given += [f"{c_type(c)} &__ufm_r{n}" for n, c in enumerate(plan.stored_outputs)]
    lines = [f"{c_type(c)} __ufm_x{n} = {cast(plan.stored_inputs[n], c)}__ufm_a{n};" for n, c in enumerate(plan.inputs)]
    lines += [f"{c_type(c)} __ufm_y{n}{{}};" for n, c in enumerate(plan.outputs)]
    names = {f"in{n}": f"__ufm_x{n}" for n in range(nin)} | {f"out{n}": f"__ufm_y{n}" for n in range(nout)}
    lines += [plan.call.format(**names).rstrip("; \n") + ";"]
    lines += [f"__ufm_r{n} = {cast(c, plan.stored_outputs[n])}__ufm_y{n};" for n, c in enumerate(plan.outputs)]
    body = "\n    ".join(lines)
    return f"static __device__ __forceinline__ void __ufm_item({', '.join(given)})\n{{\n    {body}\n}}\n"


def cast(source: str, target: str) -> str:
    """What stands before an expression to convert it; nothing where the types are the same."""
    return "" if source == target else f"({c_type(target)})"


def support(*types: str) -> str:
    """Definitions that kernels with operands of ``types`` need."""
    return _BYTES if set("".join(types)) & _RAW.keys() else ""


def elements(plan: Plan, *, ndim: int, packed: bool = True, wide: bool = False) -> str:
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
    else a struct as of `box_type`.
    """
    text = support(plan.inputs, plan.outputs, plan.stored_inputs, plan.stored_outputs) + _item(plan)
    return text + (_strided(plan, ndim, wide) if ndim else _flat(plan, plan.pack if packed else 1))


def _arguments(plan: Plan, at: str) -> str:
    """What ``__ufm_item`` is given: values, and ``at`` of each array."""
    arrays = iter(range(len(plan.pointers)))
    given = [f"__ufm_v{n}" if value else at.format(next(arrays)) for n, value in enumerate(plan.values)]
    if plan.masked:
        next(arrays)
    return ", ".join([*given, *(at.format(k) for k in arrays)])


def _parameters(plan: Plan, *, raw: bool) -> list[str]:
    values = [f"{c_type(c)} __ufm_v{n}" for n, c in enumerate(plan.stored_inputs) if plan.values[n]]
    outputs = len(plan.pointers) - len(plan.stored_outputs)
    return values + [
        f"{'' if k >= outputs else 'const '}{'char' if raw else c_type(c)} *__ufm_p{k}"
        for k, c in enumerate(plan.pointers)
    ]


def _flat(plan: Plan, pack: int) -> str:
    first_output = len(plan.pointers) - len(plan.stored_outputs)
    # No thread reads what another writes, so the loads of one stand before its stores: no __restrict__ is needed,
    # which an output in the place of an input would break.
    pieces = [f"__ufm_pack<{c_type(c)}, {pack}> __ufm_k{k};" for k, c in enumerate(plan.pointers)]
    loads = [
        f"__ufm_k{k} = *(const __ufm_pack<{c_type(c)}, {pack}> *)(__ufm_p{k} + __ufm_i);"
        for k, c in enumerate(plan.pointers[:first_output])
    ]
    stores = [
        f"*(__ufm_pack<{c_type(c)}, {pack}> *)(__ufm_p{k} + __ufm_i) = __ufm_k{k};"
        for k, c in enumerate(plan.pointers)
        if k >= first_output
    ]
    head = ",\n    ".join([*_parameters(plan, raw=False), "long long __ufm_n"])
    return f"""
template <class T, int N> struct alignas(sizeof(T) * N) __ufm_pack {{ T item[N]; }};

extern "C" __global__ void __launch_bounds__({BLOCK}) {ENTRY}(
    {head})
{{
    long long __ufm_i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * {pack};
    if (__ufm_i + {pack} <= __ufm_n) {{
        {" ".join(pieces)}
        {" ".join(loads)}
#pragma unroll
        for (int __ufm_j = 0; __ufm_j < {pack}; __ufm_j++)
            __ufm_item({_arguments(plan, "__ufm_k{0}.item[__ufm_j]")});
        {" ".join(stores)}
        return;
    }}
#pragma unroll 1
    for (; __ufm_i < __ufm_n; __ufm_i++)
        __ufm_item({_arguments(plan, "__ufm_p{0}[__ufm_i]")});
}}
"""


def _strided(plan: Plan, ndim: int, wide: bool) -> str:
    count = len(plan.pointers)
    index = "unsigned long long" if wide else "unsigned int"
    first_output = count - len(plan.stored_outputs)
    at = [f"(*({'const ' if k < first_output else ''}{c_type(c)} *)(__ufm_p{k}))" for k, c in enumerate(plan.pointers)]
    steps = " ".join(f"__ufm_p{k} += __ufm_k * __ufm_b.stride[{k}][__ufm_d];" for k in range(count))
    last = " ".join(f"__ufm_p{k} += (long long)__ufm_i * __ufm_b.stride[{k}][0];" for k in range(count))
    mask = f"if (!{at[first_output - 1]}) return;" if plan.masked else ""
    given = _arguments(plan, "{0}").split(", ")
    given = [at[int(g)] if g.isdecimal() else g for g in given]
    head = ",\n    ".join([*_parameters(plan, raw=True), "const __ufm_box __ufm_b"])
    return f"""
struct __ufm_box {{ long long count; long long stride[{count}][{ndim}]; {index} size[{ndim}]; }};

extern "C" __global__ void __launch_bounds__({BLOCK}) {ENTRY}(
    {head})
{{
    {index} __ufm_i = ({index})blockIdx.x * blockDim.x + threadIdx.x;
    if (__ufm_i >= __ufm_b.count) return;
#pragma unroll
    for (int __ufm_d = {ndim - 1}; __ufm_d > 0; __ufm_d--) {{
        const long long __ufm_k = __ufm_i % __ufm_b.size[__ufm_d];
        __ufm_i /= __ufm_b.size[__ufm_d];
        {steps}
    }}
    {last}
    {mask}
    __ufm_item({", ".join(given)});
}}
"""


def box_type(*, arrays: int, ndim: int, wide: bool) -> np.dtype[np.void]:
    """NumPy's form of the ``__ufm_box`` that a kernel of ``ndim`` axes takes."""
    size = np.uint64 if wide else np.uint32
    return np.dtype([("count", "i8"), ("stride", "i8", (arrays, ndim)), ("size", size, (ndim,))], align=True)
