"""A cell as code that a linker puts into other kernels: its device functions, and shims around them for Numba.

Numba calls ``extern "C" __device__ int symbol(T *result, arguments...)`` and reads status 0 as success
(numba-cuda, *Writing CUDA-Python*, "Calling foreign functions").  Several results are one struct; a bool
argument is a byte, a half two bytes, a complex number its two parts.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ....model import TYPES, CompileError, FunctionCode, ObjectCode, ToolchainError
from ....runtime import carry, find_carried
from .nvrtc_discovery import choose_architecture, find
from .nvrtc_program import compile, list_nvrtc_flags, recall_or_make, write_line_directive

#: Text that shims need before them: the status of a call that returns one, 0 for one that returns nothing.
SUPPORT = """struct __ufm_done {};
template <class __ufm_t> static inline __device__ int operator,(const __ufm_t &, __ufm_done) { return 0; }
static inline __device__ int operator,(int __ufm_status, __ufm_done) { return __ufm_status; }
static inline __device__ int __ufm_status(int __ufm_status) { return __ufm_status; }
static inline __device__ int __ufm_status(__ufm_done) { return 0; }
template <bool> struct __ufm_only {};
template <> struct __ufm_only<true> { typedef int __ufm_it; };
template <int __ufm_n, bool __ufm_s> struct __ufm_address {
    const void *__ufm_at;
    template <class __ufm_t, typename __ufm_only<
        sizeof(__ufm_t) == __ufm_n && ((__ufm_t)-1 < (__ufm_t)0) == __ufm_s && (__ufm_t)0.5f == (__ufm_t)0
    >::__ufm_it = 0>
    __device__ operator __ufm_t *() const { return (__ufm_t *)__ufm_at; }
};
template <int __ufm_n> struct __ufm_pairs {
    const void *__ufm_at;
    template <class __ufm_t, typename __ufm_only<__is_class(__ufm_t) && sizeof(__ufm_t) == __ufm_n>::__ufm_it = 0>
    __device__ operator __ufm_t *() const { return (__ufm_t *)__ufm_at; }
};
template <class __ufm_p> struct __ufm_pair {
    __ufm_p __ufm_re, __ufm_im;
    template <class __ufm_t, typename __ufm_only<
        __is_class(__ufm_t) && sizeof(__ufm_t) == 2 * sizeof(__ufm_p)
    >::__ufm_it = 0>
    __device__ operator __ufm_t() const {
        __ufm_t __ufm_v;
        memcpy((void *)&__ufm_v, this, sizeof *this);
        return __ufm_v;
    }
    template <class __ufm_t> __device__ void operator=(const __ufm_t &__ufm_v) {
        static_assert(sizeof(__ufm_t) == sizeof *this, "");
        memcpy(this, (const void *)&__ufm_v, sizeof *this);
    }
    __device__ __ufm_pairs<2 * sizeof(__ufm_p)> operator&() const { return {this}; }
};
"""

#: Types that C++ has two of (long and long long, char and signed char): pointers to them are the parameter's own.
_TWINS = {"i8": "8, true", "u8": "8, false", "i1": "1, true"}
#: NumPy's long double and its complex type: a GPU lacks them.
_HOST_ONLY = frozenset({13, 16})
_C = {
    "void": "void", "b1": "bool", "f2": "__half", "f4": "float", "f8": "double", "i1": "signed char", "i2": "short",
    "i4": "int", "i8": "long long", "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int",
    "u8": "unsigned long long", "c8": "__ufm_pair<float>", "c16": "__ufm_pair<double>",
}  # fmt: skip
#: Values that Numba passes in another form: the parameters that take it, and the value they make.
_PACKED = {
    "b1": ("unsigned char __ufm_a#", "(__ufm_a# != 0)"),
    "f2": ("unsigned short __ufm_a#", "(reinterpret_cast<const __half &>(__ufm_a#))"),
    "c8": ("float __ufm_a#, float __ufm_b#", f"({_C['c8']}{{__ufm_a#, __ufm_b#}})"),
    "c16": ("double __ufm_a#, double __ufm_b#", f"({_C['c16']}{{__ufm_a#, __ufm_b#}})"),
}
_DIRECTIVE = r"^[ \t]*#[ \t]*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif)\b(?:[^\n]*\\\r?\n)*[^\n]*"


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


def make_prefix(object_code: ObjectCode) -> str:
    """The prefix of one cell's names; as in the LTO-IR that the object carries, if it does."""
    if names := object_code.device.get("symbols"):
        return str(names)
    parts = [object_code.source, str(object_code.device.get("unit", "")), str(sorted(object_code.options.items()))]
    parts += [repr((f.name, f.loops, f.calls, f.prototype)) for f in object_code.functions]
    return f"__ufm_{hashlib.sha256('|'.join(parts).encode(errors='replace')).hexdigest()[:10]}"


def make_shims(object_code: ObjectCode) -> tuple[Shim, ...]:
    """A shim for every loop and every plain function that can be called from a kernel."""
    result: list[Shim] = []
    for code in object_code.functions:
        name = f"{make_prefix(object_code)}_{code.name}"
        if code.kind == "ufunc" and not code.core:
            for k, (loop, call) in enumerate(zip(code.loops, code.calls, strict=False)):
                if not _HOST_ONLY & set(loop.types):
                    result.append(_make_loop_shim(f"{name}_{k}", code, k, loop.types, call))
        elif code.kind == "plain" and code.prototype and not any(p.startswith("V") for p in code.prototype):
            result.append(_make_plain_shim(name, code))
    return tuple(result)


def _make_loop_shim(symbol: str, code: FunctionCode, k: int, types: Sequence[int], call: str) -> Shim:
    words = [np.dtype(TYPES[t].char).str[1:] for t in types]
    # By their own types in C, since the cell may take pointers to them; long and long long are one word.
    spelled = [_C[w] if w in _PACKED else TYPES[t].c for t, w in zip(types, words, strict=True)]
    inputs, outputs, results = words[: code.nin], words[code.nin :], spelled[code.nin :]
    if len(outputs) == 1:
        before, result, places = "", results[0], {"out0": "(*__ufm_r)"}
    else:
        fields = " ".join(f"{kind} __ufm_o{n};" for n, kind in enumerate(results))
        before, result = f"struct {symbol}_result {{ {fields} }};\n", f"{symbol}_result"
        places = {f"out{n}": f"(__ufm_r->__ufm_o{n})" for n in range(len(outputs))}
    text = before + _write_definition(symbol, result, inputs, spelled, call, places)
    return Shim(code.name, k, symbol, tuple(inputs), tuple(outputs), text)


def _make_plain_shim(symbol: str, code: FunctionCode) -> Shim:
    """A function with pointers: as it is declared, or as ``calls[0]`` says with ``{in0}`` ... and ``{out0}``."""
    returned, *inputs = code.prototype
    places = ", ".join(f"{{in{n}}}" for n in range(len(inputs)))
    call = code.calls[0] if code.calls else f"{'{out0} = ' * (returned != 'void')}{code.name}({places})"
    text = _write_definition(
        symbol, _write_pointer(returned), inputs, list(map(_write_pointer, inputs)), call, {"out0": "(*__ufm_r)"}
    )
    return Shim(code.name, -1, symbol, tuple(inputs), () if returned == "void" else (returned,), text)


def _write_definition(
    symbol: str, result: str, inputs: Sequence[str], spelled: Sequence[str], call: str, places: dict[str, str]
) -> str:
    """A shim's text: parameters as Numba passes them, the call, and the status."""
    parameters = [f"{result} *__ufm_r"]
    for n, (word, kind) in enumerate(zip(inputs, spelled, strict=False)):
        passed, value = _PACKED.get(word, (f"{kind} __ufm_a#", "__ufm_a#"))
        if word.count("*") == 1 and (twin := _TWINS.get(word.removeprefix("const ")[:-1])):
            value = f"(__ufm_address<{twin}>{{__ufm_a#}})"
        elif word.count("*") == 1 and word.removeprefix("const ") in ("c8*", "c16*"):
            value = f"(__ufm_pairs<{word.removeprefix('const ')[1:-1]}>{{__ufm_a#}})"
        parameters.append(passed.replace("#", str(n)))
        places[f"in{n}"] = value.replace("#", str(n))
    *copies, call = call.rstrip("; \n").split("; ")
    returns_status = not call.startswith("{out0} =")
    call = f"return __ufm_status(({call}, __ufm_done()));" if returns_status else f"{call};\n    return 0;"
    body = "; ".join([*copies, call])
    # Braces of C++'s own are left alone.
    for place, value in places.items():
        body = body.replace(f"{{{place}}}", value)
    return f'extern "C" __device__ int {symbol}({", ".join(parameters)}) {{\n    {body}\n}}\n'


def _write_pointer(word: str) -> str:
    """``"const f4*"`` as C++."""
    bare = word.removeprefix("const ")
    return f"{'const ' * (bare != word)}{_C[bare.rstrip('*')]} {'*' * word.count('*')}".rstrip()


# ---------------------------------------------------------------------------------- what is linked


def make_linkable(object_code: ObjectCode, *, output: Literal["ltoir", "ptx"] = "ltoir") -> bytes:
    """A cell with its shims for the oldest GPU that its code allows.

    Parameters
    ----------
    object_code : ObjectCode
        Of a CUDA cell.
    output : {"ltoir", "ptx"}
        LTO-IR is inlined into kernels that are linked with ``lto``, Numba's default; PTX is called.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`.
    """
    compiler, minimum = find(), str(object_code.device.get("arch", ""))
    if compiler is None or (minimum and re.search(r"__CUDA_ARCH__|#\s*include", object_code.source)):
        arch = minimum or "compute_75"
    else:
        arch = choose_architecture(compiler)
    return make_ltoir(object_code, arch) if output == "ltoir" else _compile_unit(object_code, "ptx", arch).rstrip(b"\0")


def make_ltoir(object_code: ObjectCode, arch: str = "compute_75") -> bytes:
    """LTO-IR of a cell's device functions and of their shims.

    Parameters
    ----------
    arch : str
        The GPU that it is linked for must not be older.

    Notes
    -----
    The object's own is returned where it carries one.
    """
    own, minimum = object_code.device.get("ltoir", ""), str(object_code.device.get("arch", ""))
    digits = [re.search(r"\d+", text) for text in (minimum, arch)]
    if own and digits[0] and digits[1] and int(digits[0][0]) <= int(digits[1][0]):
        return base64.b64decode(own)
    code = _compile_unit(object_code, "ltoir", arch)
    if not find_carried(object_code).get("ltoir"):
        carry(object_code, arch=arch, ltoir=base64.b64encode(code).decode(), symbols=make_prefix(object_code))
    return code


def carry_ltoir(object_code: ObjectCode) -> None:
    """Have what travels hold LTO-IR for every GPU, where NVRTC is here to make it and takes the cell."""
    compiler = find()
    if compiler is None or find_carried(object_code).get("ltoir") or not make_shims(object_code):
        return
    with contextlib.suppress(CompileError, ToolchainError):
        make_ltoir(object_code, choose_architecture(compiler))


def write_linkable_unit(object_code: ObjectCode, *, apart: bool) -> str:
    """The translation unit: the cell, then the shims.

    With ``apart`` the cell stands in a namespace of its own: two cells may define helpers of one name, and LTO would
    take either for both.
    """
    cell = str(object_code.device.get("unit", "")) or write_line_directive(object_code.name) + object_code.source
    behind = '#line 1 "<ufunc_magic>"\n' + SUPPORT + "\n".join(shim.text for shim in make_shims(object_code))
    if not apart:
        return f"{cell}\n{behind}"
    own = make_prefix(object_code)
    # Headers are included outside; where they are included again inside, their guards leave nothing of them.
    directives = "\n".join(re.findall(_DIRECTIVE, cell, re.M))
    renamed = ""
    if re.search(r'extern\s*"C"', cell):
        renamed = "".join(f"#define {f.name} {own}_{f.name}_c\n" for f in object_code.functions if f.kind != "python")
    return f"{directives}\n{renamed}inline namespace {own} {{\n{cell}\n}}\n{behind}"


def _compile_unit(object_code: ObjectCode, output: Literal["ltoir", "ptx"], arch: str) -> bytes:
    """The unit, in the cache; in a namespace of its own where the cell fits into one: a guard around it may not."""
    words = list_nvrtc_flags(object_code.options)

    def one(text: str) -> bytes:
        name, cell = object_code.name, object_code.source
        return compile(text, name=name, cell=cell, output=output, arch=arch, options=words).code

    def either() -> bytes:
        with contextlib.suppress(CompileError):
            return one(apart)
        return one(write_linkable_unit(object_code, apart=False))

    apart = write_linkable_unit(object_code, apart=True)
    return recall_or_make(f"{output} 1", apart, arch=arch, options=words, make=either)
