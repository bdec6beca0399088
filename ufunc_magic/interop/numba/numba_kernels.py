"""Numba's LLVM code to assembly: kernels that inline the compiled function over whole arrays.

For each overload ``k`` two functions are written around the compiled one (`numbaloops`), linked with Numba's LLVM
code, optimised together and written as position-independent assembly:

* ``int __ufm_compiled_<k>_<level>(intptr count, char **operands)``, the kernel of a plan, once per CPU level;
* ``int __ufm_one_<k>(char **operands, void **said)``, one element, which says what was raised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.compiler_lock import global_compiler_lock

from ... import codegen
from ...model import SignatureError, ToolchainError
from . import numba_loops, numba_math
from .numba_errors import with_texts
from .numba_functions import NumbaFunction

__all__ = ["LEVELS", "Emitted", "emit", "emit_relocatable", "versions"]

#: CPU levels of the x86-64 psABI that kernels are made for, the one for every CPU first.
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


@dataclass(frozen=True)
class Emitted:
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
    wanted : frozenset of str
        Symbols that the object takes from elsewhere.
    """

    assembly: str
    levels: tuple[str, ...]
    raises: tuple[bool, ...]
    simd: frozenset[str]
    wanted: frozenset[str]


def versions() -> str:
    """The libraries at work."""
    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"


def emit(function: NumbaFunction, *, libmvec: Set[str] = frozenset()) -> Emitted:
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
        machine = _machine()
        levels = LEVELS if machine.triple.startswith("x86_64") else ()
        libraries = _libraries(function)
        simd = numba_math.used("".join(libraries), libmvec if levels else frozenset())
        parts = [
            (library, numba_loops.kernels(o, k, levels, allocates="@NRT_Allocate" in library, even=bool(simd)))
            for k, (o, library) in enumerate(zip(function.overloads, libraries, strict=True))
        ]
        of = {f"__ufm_compiled_{k}_{n}": level for k in range(len(parts)) for n, level in enumerate(levels)}
        whole = _optimized(_marked(_linked(parts), of, simd, levels), machine)
        wanted = _checked(whole, function.name, offered=OFFERED)
        raises = tuple(_fails(whole.get_function(f"__ufm_one_{k}")) for k in range(len(parts)))
        return Emitted(machine.emit_assembly(whole), levels, raises, simd, wanted)


def emit_relocatable(function: NumbaFunction) -> bytes:
    """A relocatable object of NumPy loops, ``__ufm_loop_<k>``, for where there is no linker.

    Raises
    ------
    SignatureError
        If it cannot run without Numba.
    """
    with global_compiler_lock:
        machine = _machine()
        parts = [
            (library, numba_loops.whole_loop(o, k, allocates="@NRT_Allocate" in library))
            for k, (o, library) in enumerate(zip(function.overloads, _libraries(function), strict=True))
        ]
        whole = _linked(parts)
        whole.link_in(llvm.parse_assembly(codegen.template("numba.ll")))
        whole = _optimized(_marked(whole, {}, frozenset(), ()), machine)
        _checked(whole, function.name, offered=numba_loops.OFFERED)
        code: bytes = machine.emit_object(whole)
        return code


def _libraries(function: NumbaFunction) -> list[str]:
    """LLVM assembly of each overload and what it calls."""
    # get_llvm_str() is empty for what Numba took from its cache; what other functions link with is not.
    return [with_texts(str(o.result.library._get_module_for_linking())) for o in function.overloads]


def _machine() -> Any:
    """A target machine for every CPU of this architecture."""
    triple = llvm.get_process_triple()
    cpu = LEVELS[0] if triple.startswith("x86_64") else ""
    try:
        target = llvm.Target.from_triple(triple)
        return target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
    except RuntimeError as fault:
        raise ToolchainError(f"llvmlite makes no code for {triple}: {fault}.") from fault


def _linked(parts: Sequence[tuple[str, str]]) -> Any:
    """One module of each overload's code and the loops around it."""
    whole = None
    for library, loops in parts:
        made, module = llvm.parse_assembly(loops), llvm.parse_assembly(library)
        # Each has its own words for the machine; all are of this process.
        module.triple, module.data_layout = made.triple, made.data_layout
        made.link_in(module)
        if whole is None:
            whole = made
        else:
            whole.link_in(made)
    _internalize(whole)
    return whole


def _marked(module: Any, kernels: Mapping[str, str], simd: Set[str], levels: Sequence[str]) -> Any:
    """The module with everything inlined into the kernels, and calls of libm there marked as pure."""
    builder = llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    text = numba_math.marked(str(module), simd, kernels)
    return llvm.parse_assembly(text + numba_math.declarations(simd, levels))


def _internalize(module: Any) -> None:
    """Nothing but our own functions is seen from outside; what they do not use goes away."""
    for function in module.functions:
        if not function.is_declaration:
            ours = function.name.startswith(("__ufm_compiled_", "__ufm_one_", "__ufm_loop_"))
            function.linkage = "external" if ours else "internal"
            if ours and not function.name.startswith("__ufm_loop_"):
                function.visibility = "hidden"
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"


def _optimized(module: Any, machine: Any) -> Any:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return module


def _fails(function: Any) -> bool:
    """Whether it may give back anything but 0."""
    last = [list(block.instructions)[-1] for block in function.blocks]
    return any(i.opcode == "ret" and str(i).split(",")[0].strip() != "ret i32 0" for i in last)


def _undefined(module: Any) -> list[str]:
    symbols = (*module.functions, *module.global_variables)
    return [s.name for s in symbols if s.is_declaration and not s.name.startswith("llvm.")]


#: A pointer that is a number.  Small ones are marks, such as that of an environment (`numbaerrors`).
_ADDRESS = re.compile(r"inttoptr \(i64 -?\d{4,} to")
#: What Numba's symbols are for, by how they begin.
_RUNTIME = {
    "NRT_": "arrays, lists or strings made in the function",
    "numba_parallel_for": "parallel=True",
    "numba_rnd": "random numbers, which Numba draws from a state of its own",
    "numba_get_np_random": "random numbers, which Numba draws from a state of its own",
    "numba_get_py_random": "random numbers, which Numba draws from a state of its own",
    "numba_gil_": "calls of Python, such as print",
    "numba_": "a function of Numba's own library",
    "__svml": "Intel's SVML, which Numba has loaded",
    "Py": "Python objects",
    "_Py": "Python objects",
    "get_num_threads": "parallel=True",
}
#: What the unit brings along: templates/numba.c.
OFFERED = frozenset(
    "NRT_Allocate NRT_Free __ufm_forget PyFloat_FromDouble PyLong_FromLongLong PyLong_FromUnsignedLongLong "
    "PyBool_FromLong PyComplex_FromDoubles PyTuple_Pack PyLong_FromLong PyLong_FromSsize_t numba_frexp numba_frexpf "
    "numba_ldexp numba_ldexpf numba_cpow numba_cpowf numba_gamma numba_gammaf numba_nextafter numba_nextafterf".split()
)


def _checked(module: Any, name: str, *, offered: Set[str]) -> frozenset[str]:
    """The symbols that ``module`` takes from elsewhere, if none of them is of Numba's."""
    wanted = frozenset(_undefined(module))
    if _ADDRESS.search(str(module)):
        raise SignatureError(
            f"{name} uses an address of this very process: a function called through ctypes or cffi, or a large array.",
            remedy="Keep to numbers in what is to run without Numba.",
        )
    ufuncs = sorted({symbol.split(".")[2] for symbol in wanted if symbol.startswith("ufunc_magic.")})
    if ufuncs:
        raise SignatureError(
            f"{name} calls {', '.join(ufuncs)} of a cell, whose machine code is another object.",
            remedy="Write it in that cell too, or send both and call them from Python.",
        )
    for prefix, reason in _RUNTIME.items():
        found = sorted(s for s in wanted - offered if s.startswith(prefix))
        if found:
            raise SignatureError(
                f"{name} needs Numba's runtime ({found[0]}): {reason}.",
                remedy="Keep to numbers in what is to run without Numba.",
            )
    return wanted
