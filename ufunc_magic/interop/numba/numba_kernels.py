"""Numba's LLVM code to machine code: kernels that inline the compiled function over whole arrays.

For each overload ``k`` two functions are written around the compiled one, linked with Numba's LLVM code, optimised
together and written as position-independent assembly:

* ``int __ufm_compiled_<k>_<level>(intptr count, char **operands)``, the kernel of a plan, once per CPU level;
* ``int __ufm_one_<k>(char **operands, void **said)``, one element, which says what was raised.

The compiled function is ``i32 f(T *result, excinfo **, arguments...)`` by Numba's data models and calling convention
(``numba/core/callconv.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils, serialize, types
from numba.core.compiler_lock import global_compiler_lock

from ... import codegen
from ...ir import count_arguments, find_math_function, is_float_function
from ...model import SignatureError, ToolchainError
from . import _private
from .numba_functions import NumbaFunction, Overload

#: CPU levels of the x86-64 psABI that kernels are made for, the one for every CPU first.
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


@dataclass(frozen=True)
class Kernels:
    """Machine code and what the unit around it must know.

    Attributes
    ----------
    assembly : str
        For the system's assembler.
    levels : tuple of str
        CPU levels that each kernel exists for; empty where there is but the default.
    raises : tuple of bool
        For each overload whether it may raise.
    simd : frozenset of str
        Functions of libm that kernels may call for whole vectors.
    undefined : frozenset of str
        Symbols that the object takes from elsewhere.
    """

    assembly: str
    levels: tuple[str, ...]
    raises: tuple[bool, ...]
    simd: frozenset[str]
    undefined: frozenset[str]


def describe_versions() -> str:
    """The libraries at work."""
    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"


def emit(function: NumbaFunction, *, libmvec: Set[str] = frozenset()) -> Kernels:
    """Machine code for every overload.

    Parameters
    ----------
    function : NumbaFunction
    libmvec : set of str
        Functions of libm with vector variants that may be used.

    Raises
    ------
    SignatureError
        If it cannot run without Numba.
    """
    with global_compiler_lock:
        machine = _make_machine()
        levels = LEVELS if machine.triple.startswith("x86_64") else ()
        libraries = [_replace_pickles(str(_private.make_linkable_module(o.result.library))) for o in function.overloads]
        simd = _find_libm_calls("".join(libraries)) & libmvec if levels else frozenset()
        loops = [
            _write_kernels(o, k, levels, allocates="@NRT_Allocate" in library, even=bool(simd))
            for k, (o, library) in enumerate(zip(function.overloads, libraries, strict=True))
        ]
        of_levels = {f"__ufm_compiled_{k}_{n}": level for k in range(len(loops)) for n, level in enumerate(levels)}
        whole = _optimize(_mark_calls(_link_overloads(loops, libraries), of_levels, simd, levels), machine)
        undefined = _check_symbols(whole, function.code.name)
        raises = tuple(_may_fail(whole.get_function(f"__ufm_one_{k}")) for k in range(len(loops)))
        return Kernels(machine.emit_assembly(whole), levels, raises, simd, undefined)


def _make_machine() -> Any:
    """A target machine for every CPU of this architecture."""
    if llvm.llvm_version_info[0] < 17:  # it writes pointers with the types that they point at
        release = ".".join(map(str, llvm.llvm_version_info))
        raise ToolchainError(
            f"numba {numba.__version__} has LLVM {release}, whose code cannot be read here.",
            remedy="Install a newer one: pip install 'numba>=0.62'.",
        )
    triple = llvm.get_process_triple()
    cpu = LEVELS[0] if triple.startswith("x86_64") else ""
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def _link_overloads(loops: Sequence[str], libraries: Sequence[str]) -> Any:
    """One module of each overload's code and the loops around it, which alone are seen from outside."""
    whole = llvm.parse_assembly(loops[0])
    for text in (*loops[1:], *libraries):
        module = llvm.parse_assembly(text)
        # Each has its own words for the machine; all are of this process.
        module.triple, module.data_layout = whole.triple, whole.data_layout
        whole.link_in(module)
    for function in whole.functions:
        if not function.is_declaration:
            ours = function.name.startswith(("__ufm_compiled_", "__ufm_one_"))
            function.linkage = "external" if ours else "internal"
            if ours:
                function.visibility = "hidden"
    for variable in whole.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"
    return whole


def _mark_calls(module: Any, kernels: Mapping[str, str], simd: Set[str], levels: Sequence[str]) -> Any:
    """The module with everything inlined into the kernels, and calls of libm there marked as pure."""
    builder = llvm.create_pass_builder(_make_machine(), llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    return llvm.parse_assembly(_mark_libm_calls(str(module), simd, kernels) + _declare_variants(simd, levels))


def _optimize(module: Any, machine: Any) -> Any:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return module


def _may_fail(function: Any) -> bool:
    """Whether it may give back anything but 0."""
    last = [list(block.instructions)[-1] for block in function.blocks]
    return any(i.opcode == "ret" and str(i).split(",")[0].strip() != "ret i32 0" for i in last)


#: A pointer that is a number.  Small ones are marks, such as that of an environment (`_replace_pickles`).
_ADDRESS = re.compile(r"inttoptr \(i64 -?\d{4,} to")
#: Prefix of Numba's symbols -> their purpose.
_RUNTIME = {
    "NRT_": "arrays, lists or strings created in the function",
    "numba_get_": "random numbers, which Numba draws from its own state",
    "numba_gil_": "calls of Python, such as print",
    "numba_": "a function of Numba's library",
    "svml": "Intel's SVML, which Numba has loaded",
    "Py": "Python objects",
}


def _check_symbols(module: Any, name: str) -> frozenset[str]:
    """The symbols that ``module`` takes from elsewhere, if none of them is of Numba's."""
    symbols = (*module.functions, *module.global_variables)
    undefined = frozenset(s.name for s in symbols if s.is_declaration and not s.name.startswith("llvm."))
    if _ADDRESS.search(str(module)):
        raise SignatureError(
            f"{name} uses an address in this process: a function called through ctypes or cffi, or a large array.",
            remedy="Use only numbers in functions that run without Numba.",
        )
    ufuncs = sorted({symbol.split(".")[2] for symbol in undefined if symbol.startswith("ufunc_magic.")})
    if ufuncs:
        raise SignatureError(
            f"{name} calls {', '.join(ufuncs)} from a cell, whose machine code is in another object.",
            remedy="Write it in that cell, too, or send both and call them from Python.",
        )
    provided = frozenset(re.findall(r"__UFM_WANT_(\w+)", codegen.template("numba.c")))
    for prefix, reason in _RUNTIME.items():
        needed = sorted(s for s in undefined - provided if s.lstrip("_").startswith(prefix))
        if needed:
            raise SignatureError(
                f"{name} needs Numba's runtime ({needed[0]}): {reason}.",
                remedy="Use only numbers in functions that run without Numba.",
            )
    return undefined


# --------------------------------------------------------------------------------------------- loops around a function

_FLAG, _BYTE = ir.IntType(32), ir.IntType(8).as_pointer()


def _write_kernels(overload: Overload, k: int, levels: Sequence[str], *, allocates: bool, even: bool) -> str:
    """The kernels and the function of one element: ``__ufm_compiled_<k>_<level>`` and ``__ufm_one_<k>``.

    Parameters
    ----------
    levels : sequence of str
        CPU levels to make a kernel for; one for every CPU if there are none.
    allocates : bool
        Its exceptions have arguments of run time.
    even : bool
        Every element is to go through a vector of the same kind: counts are multiples of 16 or 64 then, and a
        loop that is not interleaved leaves no remainder.
    """
    context = overload.result.target_context
    module = context.create_module(f"ufunc_magic {k}")
    body = _write_body(overload, k, module, allocates=allocates)
    for n, _ in enumerate(levels or ("",)):
        _write_kernel(overload, f"__ufm_compiled_{k}_{n}", body, module)
    _write_one(overload, f"__ufm_one_{k}", module)
    text = str(module)
    if even:  # the loop of the body, the last to go back to its condition, is not interleaved
        before, back, after = text.rpartition('br label %"for.cond"')
        note = '!90 = distinct !{!90, !91}\n!91 = !{!"llvm.loop.interleave.count", i32 1}\n'
        text = f"{before}{back}, !llvm.loop !90{after}\n{note}"
    for n, level in enumerate(levels):
        head = re.compile(rf'^(define i32 @"?__ufm_compiled_{k}_{n}"?\(.*\))', re.M)
        # LLVM keeps to 256 bits on AVX-512; libmvec's functions and ours gain from 512.
        width = ' "prefer-vector-width"="512"' if even and level == levels[-1] else ""
        text = head.sub(rf'\1 "target-cpu"="{level}"{width}', text)
    return text


def _list_operand_types(overload: Overload) -> list[Any]:
    """Pointer types of the operands."""
    context = overload.result.target_context
    return [context.get_data_type(t).as_pointer() for t in (*overload.inputs, *overload.outputs)]


def _call(overload: Overload, module: Any, builder: Any, pointers: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Call the function on what the input pointers point at: its status and results."""
    result = overload.result
    context, signature = result.target_context, result.signature
    callee = context.declare_function(module, result.fndesc)
    inputs = zip(overload.inputs, pointers, strict=False)
    arguments = [context.unpack_value(builder, kind, pointer) for kind, pointer in inputs]
    status, returned = context.call_conv.call_function(
        builder, callee, signature.return_type, signature.args, arguments, attrs=("alwaysinline",)
    )
    if isinstance(signature.return_type, types.BaseTuple):
        return status, cgutils.unpack_tuple(builder, returned, len(overload.outputs))
    return status, [returned]


def _store(overload: Overload, builder: Any, values: Sequence[Any], pointers: Sequence[Any]) -> None:
    context = overload.result.target_context
    for kind, value, pointer in zip(overload.outputs, values, pointers[len(overload.inputs) :], strict=True):
        context.pack_value(builder, kind, value, pointer)


def _write_body(overload: Overload, k: int, module: Any, *, allocates: bool) -> Any:
    """``int (intptr count, T *operand...)``: the loop, over operands that do not overlap."""
    count_type = overload.result.target_context.get_value_type(types.intp)
    body = ir.Function(module, ir.FunctionType(_FLAG, [count_type, *_list_operand_types(overload)]), f"__ufm_body_{k}")
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    for pointer in body.args[1:]:
        pointer.add_attribute("noalias")
    builder = ir.IRBuilder(body.append_basic_block())
    failed = cgutils.alloca_once_value(builder, _FLAG(0))
    with cgutils.for_range(builder, body.args[0], intp=count_type) as loop:
        pointers = [builder.gep(pointer, [loop.index]) for pointer in body.args[1:]]
        status, values = _call(overload, module, builder, pointers)
        if allocates:  # no loop to vectorize: leave it at once, and give back what describes the exception
            with builder.if_then(status.is_error, likely=False):
                frees = ir.FunctionType(ir.VoidType(), [_BYTE])  # of templates/numba.c
                forget = cgutils.get_or_insert_function(module, frees, "__ufm_forget")
                builder.call(forget, [builder.bitcast(status.excinfoptr, _BYTE)])
                builder.ret(_FLAG(1))
        else:
            builder.store(builder.or_(builder.load(failed), builder.zext(status.is_error, _FLAG)), failed)
        _store(overload, builder, values, pointers)
    builder.ret(builder.load(failed))
    return body


def _write_kernel(overload: Overload, name: str, body: Any, module: Any) -> None:
    """``int name(intptr count, char **operands)`` around the body."""
    function = ir.Function(module, ir.FunctionType(_FLAG, [body.args[0].type, _BYTE.as_pointer()]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.call(body, [function.args[0], *_load_pointers(overload, builder, function.args[1])]))


def _write_one(overload: Overload, name: str, module: Any) -> None:
    """``int name(char **operands, void **said)``: one element, and the exception's description where it raised."""
    function = ir.Function(module, ir.FunctionType(_FLAG, [_BYTE.as_pointer(), _BYTE.as_pointer()]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    pointers = _load_pointers(overload, builder, function.args[0])
    status, values = _call(overload, module, builder, pointers)
    with builder.if_then(status.is_error, likely=False):
        builder.store(builder.bitcast(status.excinfoptr, _BYTE), function.args[1])
        builder.ret(status.code)
    _store(overload, builder, values, pointers)
    builder.ret(_FLAG(0))


def _load_pointers(overload: Overload, builder: Any, table: Any) -> list[Any]:
    """The operands' pointers out of a ``char **``, typed."""
    places = [builder.load(builder.gep(table, [_FLAG(n)])) for n in range(len(overload.types))]
    return [builder.bitcast(place, kind) for place, kind in zip(places, _list_operand_types(overload), strict=True)]


# ------------------------------------------------------------------------------------------------------- calls of libm

# LLVM vectorizes a call that names its vector variants (attribute ``vector-function-abi-variant``), as gcc does one
# declared with ``simd``; libmvec has them.  A variant's vector type must be legal in the function that calls it, or it
# is passed in other registers, so each CPU level is given its own.

#: Letter of the vector ABI and bytes of its registers, by CPU level.
_ABI = {"x86-64": (("b", 16),), "x86-64-v3": (("b", 16), ("d", 32)), "x86-64-v4": (("b", 16), ("d", 32), ("e", 64))}

_CALL = re.compile(
    r"\bcall (?P<flags>[a-z ]*?)(?P<type>double|float) @(?P<callee>[\w.]+)(?P<arguments>\([^()]*\))(?P<rest>.*)$", re.M
)
_DEFINE = re.compile(r'^define [^\n]*@"?(?P<name>\w+)"?\([^\n]*\{\n(?:.*\n)*?\}\n', re.M)


def _find_libm_calls(assembly: str) -> frozenset[str]:
    """libm's names of what ``assembly`` calls."""
    return frozenset(_find_libm_name(call["callee"], call["type"]) for call in _CALL.finditer(assembly))


def _yield_variants(function: str, level: str) -> Iterator[tuple[str, int]]:
    """Names of its vector variants for a CPU level, and their elements: https://sourceware.org/glibc/wiki/libmvec."""
    kind, arguments = _read_kind(function)
    for letter, size in _ABI.get(level, ()):
        count = size // (8 if kind == "double" else 4)
        yield f"_ZGV{letter}N{count}{'v' * arguments}_{function}", count


def _declare_variants(functions: Set[str], levels: Sequence[str]) -> str:
    """The vector variants, kept until the vectorizer runs."""
    names, lines = [], []
    for function in sorted(functions):
        kind, arguments = _read_kind(function)
        for name, count in _yield_variants(function, levels[-1]):
            vector = f"<{count} x {kind}>"
            lines.append(f"declare {vector} @{name}({', '.join([vector] * arguments)})")
            names.append(f"ptr @{name}")
    if names:
        array = f"[{len(names)} x ptr] [{', '.join(names)}]"
        lines.append(f'@llvm.compiler.used = appending global {array}, section "llvm.metadata"')
    return "\n".join(lines) + "\n"


def _mark_libm_calls(assembly: str, functions: Set[str], kernels: Mapping[str, str]) -> str:
    """``assembly`` with the calls of libm marked.

    Parameters
    ----------
    functions : set of str
        Those with vector variants.
    kernels : mapping
        CPU level of each function that is made for one.
    """

    def mark(call: re.Match[str], level: str) -> str:
        callee, function = call["callee"], _find_libm_name(call["callee"], call["type"])
        variants = list(_yield_variants(function, level)) if function in functions else []
        if not variants and not _is_instruction(function):
            return call[0]
        attributes = "nounwind willreturn memory(none)"
        if variants:
            kinds = "v" * _read_kind(function)[1]
            names = ",".join(f"_ZGV_LLVM_N{count}{kinds}_{callee}({name})" for name, count in variants)
            attributes += f' "vector-function-abi-variant"="{names}"'
        return f"call {call['flags']}{call['type']} @{callee}{call['arguments']} {attributes}{call['rest']}"

    def mark_all(definition: re.Match[str]) -> str:
        level = kernels.get(definition["name"], "")
        return _CALL.sub(lambda call: mark(call, level), definition[0])

    return _DEFINE.sub(mark_all, assembly)


def _find_libm_name(callee: str, kind: str) -> str:
    """libm's name of what is called: ``llvm.exp.f32`` is ``expf``."""
    if not callee.startswith("llvm."):
        return callee
    base = callee.removeprefix("llvm.").rpartition(".f")[0]
    return f"{base}f" if kind == "float" else base


def _read_kind(function: str) -> tuple[str, int]:
    """The type it works on, and how many arguments it has."""
    return "float" if is_float_function(function) else "double", count_arguments(function)


def _is_instruction(function: str) -> bool:
    """Whether LLVM knows calls of this function, which has no vector variants, as an operation once they are known to
    be pure."""
    entry = find_math_function(function)
    return entry is not None and entry[0].cost == 0 and entry[0].header == "math.h"


# ---------------------------------------------------------------------------------------------------------- exceptions

# Numba's ``excinfo`` points at a pickled ``(class, arguments, place)``.  The pickle may need Numba, llvmlite or Numba's
# own cloudpickle, so it is replaced by JSON, which any Python raises without Numba: the class and its bases by name,
# the arguments by value, ``{"given": n}`` for one that is known only when it is raised (`runtime.exception_codec`).

_PICKLE = re.compile(r'^(@\S*const\.pickledata\.(?!\S*sha1)\S+ = .*?constant )\[\d+ x i8\] c"([^"]*)"', re.M)
_ENVIRONMENT = re.compile(r"^(@_ZN08NumbaEnv\S+ = )(?:[a-z_]+ )*global ptr null(, align \d+)?", re.M)


def _replace_pickles(assembly: str) -> str:
    """LLVM assembly with its pickled exceptions as NUL-terminated JSON.

    An "environment" holds the constants of functions that box Python objects.  Ours box numbers, which only
    look whether there is one; what would read it calls functions that are refused later.
    """
    return _PICKLE.sub(_as_json, _ENVIRONMENT.sub(r"\1internal constant ptr inttoptr (i64 1 to ptr)", assembly))


def _as_json(constant: re.Match[str]) -> str:
    # LLVM writes a backslash as two.
    escapes = re.compile(rb"\\(\\|[0-9A-F]{2})")
    data = escapes.sub(lambda m: m[1] if m[1] == b"\\" else bytes([int(m[1], 16)]), constant[2].encode("latin-1"))
    exception = serialize.loads(data)
    match exception:
        case (None, *_):  # a bare "raise" where there is nothing to raise again
            exception = (RuntimeError, ("No active exception to reraise",))
        case (type(), *_):
            pass
        case _:  # of "with objmode", which is refused later
            return constant[0]
    kind, arguments = exception[0], exception[1] or ()
    bases = [[base.__module__, base.__qualname__] for base in kind.__mro__ if issubclass(base, BaseException)]
    places = iter(range(len(arguments)))
    record = {"class": bases, "arguments": [_make_json_value(a, places) for a in arguments]}
    text = json.dumps(record).encode("ascii") + b"\0"
    escaped = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in text)
    return f'{constant[1]}[{len(text)} x i8] c"{escaped}"'


def _make_json_value(value: Any, places: Iterator[int]) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case complex():
            return {"complex": [value.real, value.imag]}
        case bytes():
            return {"bytes": value.decode("latin-1")}
        case tuple():
            return {"tuple": [_make_json_value(v, places) for v in value]}
        case ir.Value():
            return {"given": next(places)}
        case _:
            item = getattr(value, "item", None)  # NumPy's scalars
            return _make_json_value(item(), places) if item else repr(value)
