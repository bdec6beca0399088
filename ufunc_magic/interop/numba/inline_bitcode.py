"""C functions as LLVM code that Numba inlines, where a clang of LLVM's version is at hand (ziglang's, or the system's).

Only what is certain to compute what the compiled function does is taken: plain C of numbers with the default options,
whose code neither keeps a state nor calls anything but libm.  Arithmetic of IEEE 754 leaves compilers no choice then.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from ... import store, toolchain
from ...frontends import compiler_flags
from ...model import TYPES, ObjectCode, UfuncMagicError, make_options
from ...runtime import origin_of

if TYPE_CHECKING:
    from .ufunc_typing import Link

#: Options that change no number; a cell with others is called, not inlined.
_HARMLESS = frozenset(
    "guard force name verbose time size sizes vs ref plot show quiet identity parallel annotate".split()
)
#: What may be another thing to another compiler, or to this one another day.
_SUSPECT = re.compile(r'#\s*include\s*"|__clang|__GNUC|__has_|__VERSION__|__DATE__|__TIME|#\s*pragma|\basm\b|\b__asm')
#: What compiled code may call: functions of libm that are one result of their arguments.
_PURE = frozenset(
    f"{name}{suffix}"
    for name in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim "
        "floor fma fmax fmin fmod hypot ldexp log log10 log1p log2 logb nearbyint nextafter pow remainder rint round "
        "scalbn sin sinh sqrt tan tanh tgamma trunc"
    ).split()
    for suffix in ("", "f")
)
#: What keeps something from one call to the next, or is not what it seems.
_STATEFUL = re.compile(r"(?m)^@.*? = .*?\b(?:global|thread_local|alias|ifunc)\b|strictfp| asm |volatile")
_LLVM = {"?": "i8", "b": "i8", "B": "i8", "h": "i16", "H": "i16", "f": "float", "d": "double"}


@cache
def inline_function(link: Link, place: int, codegen: Any) -> Any:
    """Numba's code library with the function of a loop, under the library's own name; None where it cannot be had.

    Parameters
    ----------
    link : Link
    place : int
        Of a loop whose function can be called by itself.
    codegen : numba.core.codegen.CPUCodegen
        For which it is made.
    """
    origin = origin_of(link.ufunc)
    if origin is None or link.code.nout != 1 or not _certain(origin.object_code):
        return None
    symbol = f"{link.prefix}.inline{place}"
    letters = [TYPES[number].char for number in link.code.loops[place].types]
    for compiler in toolchain.find_all():
        code = _bitcode(origin.object_code, compiler) if compiler.kind in ("clang", "zig") else b""
        text = _assembly(code, origin.name, letters, symbol) if code else ""
        if text:
            module = llvm.parse_assembly(text)
            module.triple, module.data_layout = llvm.get_process_triple(), str(codegen.target_data)
            library = codegen.create_library(symbol)
            library.add_llvm_module(module)
            return library
    return None


def _certain(object_code: ObjectCode) -> bool:
    """Every compiler makes the same numbers of it: no other options, no extension, no instruction of other CPUs."""
    return (
        object_code.language == "c"
        and platform.machine().lower() in ("x86_64", "amd64")
        and bool(object_code.source)
        and object_code.options.keys() <= _HARMLESS
        and not _SUSPECT.search(object_code.source)
    )


def _bitcode(object_code: ObjectCode, compiler: toolchain.Toolchain) -> bytes:
    """The cell as LLVM's bitcode, from the cache; empty where the compiler makes none."""
    flags = compiler_flags(compiler, make_options({}))
    if any(flag in toolchain.FAST_MATH or flag.startswith(("-march", "-ffp-", "-D", "-include")) for flag in flags):
        return b""
    flags = (*flags, "-emit-llvm", "-g0", "-ffp-contract=off", "-fno-math-errno", "-w")
    key = store.key(["llvm", object_code.source, repr(compiler.identity()), repr(flags)])
    entry = store.default().get(key)
    if entry is not None:
        return entry.code
    with store.default().scratch() as folder:
        output = folder / "cell.bc"
        try:
            toolchain.compile_object(
                compiler, object_code.source, output=output, flags=flags, name=object_code.name, cell=object_code.source
            )
        except UfuncMagicError:  # written for another compiler
            return b""
        code = output.read_bytes()
    store.default().publish(key, record=b"", code=code)
    return code


def _assembly(code: bytes, name: str, letters: list[str], symbol: str) -> str:
    """LLVM assembly of one function of ``code``, named ``symbol``; empty where it may not or cannot be taken."""
    try:
        module = llvm.parse_bitcode(code)
        function = module.get_function(name)
    except (RuntimeError, NameError):  # of another LLVM; or the function's name in C is another
        return ""
    if function.is_declaration or function.linkage != llvm.Linkage.external:
        return ""
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name != name:
            defined.linkage = "internal"
    function.name, function.visibility = symbol, "default"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = llvm.Target.from_default_triple().create_target_machine()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    text = re.sub(r"(?m)^!(llvm\.(module\.flags|ident|dbg\.cu|errno\.tbaa)) = .*$", "", str(module))
    # For the CPU that Numba compiles for, and inlined like any other.
    text = re.sub(r"(?m)^(attributes #\d+) = \{.*\}$", r"\1 = { nounwind }", text)
    callees = [f.name for f in module.functions if f.is_declaration]
    pure = all(callee in _PURE or callee.startswith("llvm.") for callee in callees) and not _STATEFUL.search(text)
    return text if pure and _has_types(text, symbol, letters) else ""


def _has_types(text: str, symbol: str, letters: list[str]) -> bool:
    """The function has exactly the loop's types, in its order."""
    header = re.search(rf'(?m)^define [^@\n]*?(\S+) @"?{re.escape(symbol)}"?\(([^)\n]*)\)', text)
    kinds = [_LLVM.get(letter, "i64" if letter in "lLqQ" else "i32") for letter in letters]
    parameters = [argument.split()[0] for argument in header[2].split(",")] if header else []
    return header is not None and [*parameters, header[1]] == kinds and "?" not in letters
