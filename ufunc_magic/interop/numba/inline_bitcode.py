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
    from .loop_symbols import Linked

__all__ = ["library"]

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
_LLVM = {"?": "i8", "b": "i8", "B": "i8", "h": "i16", "H": "i16", "f": "float", "d": "double"}


@cache
def library(link: Linked, place: int, codegen: Any) -> Any:
    """Numba's code library with the function of a loop as ``link.inline(place)``; None where it cannot be had.

    Parameters
    ----------
    link : Linked
    place : int
        Of a loop in ``link.scalars``.
    codegen : numba.core.codegen.CPUCodegen
        For which it is made.
    """
    origin = origin_of(link.ufunc)
    if origin is None or link.code.nout != 1 or not _certain(origin.object_code):
        return None
    letters = [TYPES[number].char for number in link.code.loops[place].types]
    for compiler in toolchain.find_all():
        code = _bitcode(origin.object_code, compiler) if compiler.kind in ("clang", "zig") else b""
        text = _text(code, origin.name, letters, link.inline(place)) if code else ""
        if text:
            module = llvm.parse_assembly(text)
            module.triple, module.data_layout = llvm.get_process_triple(), codegen._data_layout
            made = codegen.create_library(link.inline(place))
            made.add_llvm_module(module)
            return made
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
    kept = store.default().get(key)
    if kept is not None:
        return kept.code
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


def _text(code: bytes, name: str, letters: list[str], symbol: str) -> str:
    """LLVM assembly of one function of ``code``, named ``symbol``; empty where it may not or cannot be taken."""
    try:
        module = llvm.parse_bitcode(code)
        wanted = module.get_function(name)
    except (RuntimeError, NameError):  # of another LLVM; or the function's name in C is another
        return ""
    if wanted.is_declaration or wanted.linkage != llvm.Linkage.external:
        return ""
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name != name:
            defined.linkage = "internal"
    wanted.name, wanted.visibility = symbol, "default"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = llvm.Target.from_default_triple().create_target_machine()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    text = re.sub(r"(?m)^!(llvm\.(module\.flags|ident|dbg\.cu|errno\.tbaa)) = .*$", "", str(module))
    # For the CPU that Numba compiles for, and inlined like any other.
    text = re.sub(r"(?m)^(attributes #\d+) = \{.*\}$", r"\1 = { nounwind }", text)
    return text if _stateless(module, text) and _of_type(text, symbol, letters) else ""


def _stateless(module: Any, text: str) -> bool:
    """Nothing is kept from one call to the next, and nothing is called but libm."""
    called = [f.name for f in module.functions if f.is_declaration]
    return (
        not re.search(r"(?m)^@.*? = .*?\b(global|thread_local|alias|ifunc)\b", text)
        and "strictfp" not in text
        and " asm " not in text
        and "volatile" not in text
        and all(name in _PURE or name.startswith("llvm.") for name in called)
    )


def _of_type(text: str, symbol: str, letters: list[str]) -> bool:
    """The function has exactly the loop's types, in its order."""
    found = re.search(rf'(?m)^define [^@\n]*?(\S+) @"?{re.escape(symbol)}"?\(([^)\n]*)\)', text)
    if not found:
        return False
    kinds = [_LLVM.get(letter, "i64" if letter in "lLqQ" else "i32") for letter in letters]
    given = [argument.split()[0] for argument in found[2].split(",")]
    return [*given, found[1]] == kinds and "?" not in letters
