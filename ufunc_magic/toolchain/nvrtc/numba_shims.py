"""Functions in Numba's calling convention around those of a cell, as C++ text.  Pure.

Numba calls ``extern "C" __device__ int symbol(T *result, arguments...)`` and reads status 0 as success
(numba-cuda, *Writing CUDA-Python*, "Calling foreign functions").  Several results are one struct; a bool
argument is a byte, a half two bytes, a complex number its two parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...model import TYPES, FunctionCode, ObjectCode

__all__ = ["SUPPORT", "Shim", "prefix", "shims", "symbol"]

#: What shims need before them: the status of a call that returns one, 0 for one that returns nothing.
SUPPORT = """struct __ufm_done {};
template <class T> static inline __device__ int operator,(const T &, __ufm_done) { return 0; }
static inline __device__ int operator,(int status, __ufm_done) { return status; }
static inline __device__ int __ufm_status(int status) { return status; }
static inline __device__ int __ufm_status(__ufm_done) { return 0; }
template <bool> struct __ufm_only {};
template <> struct __ufm_only<true> { typedef int type; };
template <int N, bool S> struct __ufm_address {
    const void *at;
    template <class T, typename __ufm_only<sizeof(T) == N && ((T)-1 < (T)0) == S && (T)0.5f == (T)0>::type = 0>
    __device__ operator T *() const { return (T *)at; }
};
"""

#: Types that C++ has two of (long and long long, char and signed char): pointers to them are the parameter's own.
_TWINS = {"i8": "8, true", "u8": "8, false", "i1": "1, true"}

_BOOL, _HALF = 0, 23
#: Complex numbers: the type of their parts, and how the cell spells them.
_COMPLEX = {14: ("float", "::cuda::std::complex<float>"), 15: ("double", "::cuda::std::complex<double>")}
#: What NumPy's long double is has no counterpart on a GPU.
_HOST_ONLY = frozenset({13, 16})

_C = {
    "void": "void", "b1": "bool", "f2": "__half", "f4": "float", "f8": "double", "i1": "signed char", "i2": "short",
    "i4": "int", "i8": "long long", "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int",
    "u8": "unsigned long long", "c8": _COMPLEX[14][1], "c16": _COMPLEX[15][1],
}  # fmt: skip


@dataclass(frozen=True)
class Shim:
    """One function that Numba can call.

    Attributes
    ----------
    function : str
        Name of the cell's function.
    loop : int
        Which of its loops; -1 for a plain function.
    symbol : str
    inputs, outputs : tuple of str
        NumPy's typestrings without byte order (``"f4"``, ``"b1"``); for plain functions as in
        `FunctionCode.prototype` (``"const f4*"``).  No output stands for a function that returns nothing,
        several for a tuple.
    text : str
        Its definition.
    """

    function: str
    loop: int
    symbol: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    text: str = field(repr=False)


def symbol(object_code: ObjectCode, function: str, loop: int = -1) -> str:
    """Name of a shim: the cell's own, so that kernels may use functions of one name from several cells."""
    suffix = f"_{loop}" if loop >= 0 else ""
    return f"{prefix(object_code)}_{function}{suffix}"


def prefix(object_code: ObjectCode) -> str:
    """What makes names of one cell differ from another's; as in the LTO-IR that the object carries, if it does."""
    if carried := object_code.device.get("symbols"):
        return str(carried)
    parts = [object_code.source, str(object_code.device.get("unit", "")), str(sorted(object_code.options.items()))]
    parts += [repr((f.name, f.loops, f.calls, f.prototype)) for f in object_code.functions]
    return f"__ufm_{hashlib.sha256('|'.join(parts).encode(errors='replace')).hexdigest()[:10]}"


def shims(object_code: ObjectCode) -> tuple[Shim, ...]:
    """A shim for every loop and every plain function that can be called from a kernel."""
    made: list[Shim] = []
    for code in object_code.functions:
        if code.kind == "ufunc" and not code.core:
            for k, (loop, call) in enumerate(zip(code.loops, code.calls, strict=False)):
                if not _HOST_ONLY & set(loop.types):
                    made.append(_loop(object_code, code, k, loop.types, call))
        elif code.kind == "plain" and code.prototype and not any(p.startswith("V") for p in code.prototype):
            made.append(_plain(object_code, code))
    return tuple(made)


def typestring(number: int) -> str:
    """NumPy's typestring of a type number, without byte order."""
    return np.dtype(TYPES[number].char).str[1:]


def _loop(object_code: ObjectCode, code: FunctionCode, k: int, types: Sequence[int], call: str) -> Shim:
    inputs, outputs = types[: code.nin], types[code.nin :]
    name = symbol(object_code, code.name, k)
    parameters, values = _taken(inputs)
    fields = [f"{_spelled(t)} o{n};" for n, t in enumerate(outputs)]
    if len(outputs) == 1:
        result, words = f"{_spelled(outputs[0])} *r", {"out0": "(*r)"}
        before = ""
    else:
        result, words = f"{name}_result *r", {f"out{n}": f"(r->o{n})" for n in range(len(outputs))}
        before = f"struct {name}_result {{ {' '.join(fields)} }};\n"
    words |= {f"in{n}": value for n, value in enumerate(values)}
    head = f'extern "C" __device__ int {name}({", ".join([result, *parameters])})'
    text = f"{before}{head} {{\n{_body(call, words)}}}\n"
    return Shim(code.name, k, name, tuple(map(typestring, inputs)), tuple(map(typestring, outputs)), text)


def _taken(types: Sequence[int]) -> tuple[list[str], list[str]]:
    """Parameters that receive the inputs as Numba passes them, and what stands for each in a call."""
    parameters: list[str] = []
    values: list[str] = []
    for n, number in enumerate(types):
        if number == _BOOL:
            parameters.append(f"unsigned char a{n}")
            values.append(f"(a{n} != 0)")
        elif number == _HALF:
            parameters.append(f"unsigned short a{n}")
            values.append(f"(reinterpret_cast<const __half &>(a{n}))")
        elif number in _COMPLEX:
            part, whole = _COMPLEX[number]
            parameters += [f"{part} a{n}", f"{part} b{n}"]
            values.append(f"({whole}(a{n}, b{n}))")
        else:
            parameters.append(f"{TYPES[number].c} a{n}")
            values.append(f"a{n}")
    return parameters, values


def _spelled(number: int) -> str:
    match number:
        case 0:
            return "bool"
        case 23:
            return "__half"
        case 14 | 15:
            return _COMPLEX[number][1]
    return TYPES[number].c


def _plain(object_code: ObjectCode, code: FunctionCode) -> Shim:
    """A function with pointers: as it is declared, or as ``calls[0]`` says with ``{in0}`` ... and ``{out0}``."""
    returned, *given = code.prototype
    name = symbol(object_code, code.name)
    numbers = {p: n for n, p in ((0, "b1"), (_HALF, "f2"), (14, "c8"), (15, "c16"))}
    parameters, values = [], []
    for n, spelled in enumerate(given):
        if spelled in numbers:
            taken, value = _taken_as(n, numbers[spelled])
            parameters += taken
            values.append(value)
        else:
            parameters.append(f"{_pointer(spelled)} a{n}")
            twin = _TWINS.get(spelled.removeprefix("const ")[:-1]) if spelled.count("*") == 1 else None
            values.append(f"(__ufm_address<{twin}>{{a{n}}})" if twin else f"a{n}")
    words = {"out0": "(*r)", **{f"in{n}": value for n, value in enumerate(values)}}
    result = "void *r" if returned == "void" else f"{_pointer(returned)} *r"
    places = ", ".join(f"{{in{n}}}" for n in range(len(given)))
    call = code.calls[0] if code.calls else f"{'' if returned == 'void' else '{out0} = '}{code.name}({places})"
    head = f'extern "C" __device__ int {name}({", ".join([result, *parameters])})'
    text = f"{head} {{\n{_body(call, words)}}}\n"
    return Shim(code.name, -1, name, tuple(given), () if returned == "void" else (returned,), text)


def _taken_as(n: int, number: int) -> tuple[list[str], str]:
    """As `_taken`, for one parameter at place ``n``."""
    parameters, values = _taken([number])
    return [p[:-1] + str(n) for p in parameters], values[0].replace("a0", f"a{n}").replace("b0", f"b{n}")


def _pointer(spelled: str) -> str:
    """``"const f4*"`` as C++."""
    base = spelled.removeprefix("const ").rstrip("*")
    stars = spelled.count("*")
    return f"{'const ' if spelled.startswith('const ') else ''}{_C[base]} {'*' * stars}".rstrip()


def _body(call: str, words: dict[str, str]) -> str:
    """The statement with its operands, and the status: that of a function that has one, which is in Numba's form."""
    call = call.rstrip("; \n")
    bare = not call.startswith("{out0} =")
    # Braces of C++'s own are left alone.
    for word, value in words.items():
        call = call.replace(f"{{{word}}}", value)
    return f"    return __ufm_status(({call}, __ufm_done()));\n" if bare else f"    {call};\n    return 0;\n"
