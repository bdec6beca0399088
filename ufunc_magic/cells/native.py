"""Shared by the backends that end in C: the described compiler, the driver's object, flags by what a text uses."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import codegen, compilers, runtime, store
from ..ir import list_complex_vectors, list_generic_functions
from ..model import TYPES, LoopCode, Options, Signature, Target, Unit, find_required_glibc

#: A text that mentions one of these works on errno or the FP environment itself.
_ENVIRONMENT = frozenset(
    "errno __errno_location math_errhandling fenv_t fexcept_t feclearexcept fegetexceptflag feraiseexcept "
    "fesetexceptflag fetestexcept fegetround fesetround fegetenv feholdexcept fesetenv feupdateenv feenableexcept "
    "fedisableexcept _mm_getcsr _mm_setcsr _MM_SET_ROUNDING_MODE FE_DOWNWARD FE_UPWARD FE_TOWARDZERO".split()
)


@dataclass(frozen=True)
class UnitPlan:
    """The additions of a text to the options: flags, SIMD functions, how floating-point flags are judged."""

    flags: tuple[str, ...]
    link: tuple[str, ...] = ()
    math: codegen.VectorMath = codegen.NO_VECTORS
    notes: tuple[str, ...] = ()


def plan_unit(
    words: Set[str],
    *,
    fenv: bool,
    own: Set[str],
    floats: bool,
    options: Options,
    description: compilers.Description,
    tool: compilers.Toolchain,
    truncates: bool = False,
) -> UnitPlan:
    """Choose flags by the identifiers of a text.

    Parameters
    ----------
    words : set of str
        Every identifier it uses.
    fenv : bool
        It includes <fenv.h>.
    own : set of str
        Names that it defines itself.
    floats : bool
        A function of libm may be called by its double's name and mean float's.
    truncates : bool
        All of it counts as converting floating-point numbers to integers, see `codegen.find_conversions`.
    """
    flags = list(find_sound_copies(description))
    if description.machine == "aarch64" and description.gcc >= 15:
        flags.append("-Wno-experimental-fmv-target")  # it warns of each clone for SVE, and heeds no pragma
    if tool.kind == "gcc" and description.gcc >= 9 and not tool.cplus and words & {"abs", "labs", "llabs"}:
        flags.append("-Wabsolute-value")
    if words & _ENVIRONMENT or fenv:
        flags += ["-frounding-math"] if fenv else []
        note = (
            "the cell uses errno or the floating-point environment: no SIMD math; all floating-point flags are reported"
        )
        return UnitPlan(tuple(flags), math=codegen.VectorMath(judge=2), notes=(note,))
    math = codegen.VectorMath(judge=0 if options.fast_math else 1)
    if options.strict:
        # Contraction to FMA would make the result depend on the clone that runs.  Of no traps gcc makes sqrt() in
        # vectors of pow(x, 0.5), which is another for -inf.
        plain = [f"-fno-builtin-{word}" for word in ("pow", "powf") if word in words - own]
        return UnitPlan((*flags, "-fno-math-errno", "-ffp-contract=off", *plain))
    flags += ["-fno-math-errno"] if truncates else ["-fno-math-errno", "-fno-trapping-math"]
    if any(re.fullmatch(r"ll?(round|rint)[fl]?", name) for name in own):
        # Without errno gcc makes lround(x) of (long)round(x), which would then call itself.
        flags.remove("-fno-math-errno")
    called = words - own
    if floats:
        called |= {f"{word}f" for word in called}  # tgmath.h and <cmath> turn exp(float) into expf
    if any(t.kind == "c" for t in codegen.choose_types(options.types)):
        called |= list_generic_functions(called)
    complex_ = list_complex_vectors(called, description.libmvec - own) if tool.kind == "gcc" and not tool.cplus else {}
    called = frozenset(called).union(*complex_.values())
    simd = tuple(sorted(called & description.libmvec))
    if simd and tool.kind != "gcc":
        # clang names the vector variants itself, but does not link what holds them.
        if not description.knows_libmvec:
            return UnitPlan(tuple(flags), math=math)
        library = compilers.find_libmvec()
        return UnitPlan((*flags, "-fveclib=libmvec"), (library,) if library else (), math)
    if {"sin", "cos"} <= called or {"sinf", "cosf"} <= called:
        # gcc would make one call of sincos of the two, and then not vectorize it.
        flags += ["-fno-builtin-cos", "-fno-builtin-cosf"]
    return UnitPlan(tuple(flags), math=replace(math, functions=simd, complex=tuple(sorted(complex_))))


def find_sound_copies(description: compilers.Description) -> tuple[str, ...]:
    """Flags of units with AVX-512, in one of their loops or throughout.

    gcc 12.2 fills 64 bytes with the first 16 of a constant that ends in zeros: ``memcpy(to, text, 64)``.
    """
    return ("-mmove-max=128", "-mstore-max=128") if description.gcc >= 12 and description.machine == "x86_64" else ()


def target(code: bytes, options: Options, *, python: str = "", this_cpu: bool = False) -> Target:
    """The machines that ``code`` runs on; ``python`` is the ABI of an extension module."""
    native = options.arch == "native"
    # Code for this CPU alone has clones for its level of the psABI, and uses nothing beyond.
    features = [name for name in runtime.cpu_features() if native or name.startswith("x86_v")]
    level = "native: " + " ".join(features) if native or this_cpu else "baseline"
    return replace(runtime.describe_target(), libc=find_required_glibc(code), level=level, python=python)


def compile_driver(
    tool: compilers.Toolchain,
    *,
    signatures: Iterable[Signature] = (),
    parallel: bool,
    folder: Path,
    checked: bool = False,
) -> Path:
    """The driver's object file for these ``signatures``: compiled once per compiler, kept in the cache.

    With ``parallel``, the one whose loops run on several threads; with ``checked``, the one that helps a sanitizer.
    """
    signatures = tuple(signatures)
    tool = replace(tool, cplus=False)
    text = codegen.write_driver()
    flags = _list_object_flags(tool)
    if parallel:
        flags += ["-pthread", "-DUFM_PARALLEL"]
    if any(s.has_records for s in signatures):
        flags += ["-DUFM_RECORDS"]
    if any(s.is_sized for s in signatures):
        flags += ["-DUFM_SIZES"]
    if checked:
        flags += ["-fsanitize=address", "-DUFM_CHECKED"]
    return _compile_once(tool, text, flags=flags, output=folder / "driver.o")


def compile_exceptions(tool: compilers.Toolchain, source: str = "throw", *, folder: Path) -> list[Path]:
    """The object file by which exceptions of C++ become Python's, compiled and kept as the driver is; none for C.

    For it zig builds a C++ library first, which takes a minute or two, so a cell that throws nothing goes without.
    """
    throws = re.search(r"\bthrow\b|#\s*include\s*(?:<[^.>]+>|\")", source)
    if not tool.cplus or (tool.kind == "zig" and not throws):
        return []
    return [
        _compile_once(tool, codegen.write_exceptions(), flags=_list_object_flags(tool), output=folder / "exceptions.o")
    ]


def compile_process_calls(tool: compilers.Toolchain, unit: Unit, *, folder: Path) -> list[Path]:
    """The object file of what a cell calls in place of functions that reach the whole process; none for most cells."""
    if not codegen.find_process_calls(unit):
        return []
    tool = replace(tool, cplus=False)
    text = codegen.template("process.c")
    return [_compile_once(tool, text, flags=_list_object_flags(tool), output=folder / "process.o")]


def compile_vector_math(tool: compilers.Toolchain, functions: Iterable[str], *, folder: Path) -> list[Path]:
    """Object files of our own vector versions of functions of libm, compiled and kept as the driver is.

    Only gcc calls them by their names in the vector ABI.
    """
    tool = replace(tool, cplus=False)
    flags = _list_object_flags(tool)
    machine = compilers.describe(tool).machine
    texts = {name: codegen.write_vector_math(name, machine=machine) for name in functions} if tool.kind == "gcc" else {}
    return [_compile_once(tool, t, flags=flags, output=folder / f"{name}.o") for name, t in texts.items() if t]


def _list_object_flags(tool: compilers.Toolchain) -> list[str]:
    """Flags of a unit that no cell changes."""
    # No exception passes through it, and the tables would be a tenth of a small object.
    unwind = ["-fno-strict-aliasing", "-w", "-fno-asynchronous-unwind-tables"]
    # The linker drops the functions that the cell has no use for.
    sections = ["-ffunction-sections"] if sys.platform != "win32" else []
    # It is what a cell's code is left to, and overruns nothing itself.
    plain = ["-fno-stack-protector", "-U_FORTIFY_SOURCE"] if sys.platform != "win32" else []
    return [*(f for f in compilers.list_base_flags(tool) if f != "-shared"), *plain, *unwind, *sections]


def _compile_once(tool: compilers.Toolchain, text: str, *, flags: Sequence[str], output: Path) -> Path:
    """The object file of a unit that no cell changes, from the cache or for it."""
    entry_key = store.make_key([output.stem, text, repr(tool.read_identity()), repr(flags)])
    cache = store.open_default()
    entry = cache.get(entry_key)
    if entry is None:
        compilers.compile_object(
            tool, text, compilers.UnitOrigin(output.stem, text), output=output, flags=flags, reported=False
        )
        cache.publish(entry_key, record=b"", code=output.read_bytes())
        return output
    return entry.copy_to(output)


def compile_def_functions(tool: compilers.Toolchain, *, folder: Path) -> Path:
    """The object file of what a def is bound as: compiled once per compiler and Python, kept in the cache."""
    tool = replace(tool, cplus=False)
    flags = [*_list_object_flags(tool), f"-I{sysconfig.get_path('include')}", f"-DUFM_PYTHON={sys.hexversion}"]
    text = codegen.template("def_function.c")
    return _compile_once(tool, text, flags=flags, output=folder / "def_function.o")


def narrow(name: str, loops: Sequence[LoopCode], *, remedy: str = "") -> tuple[str, ...]:
    """A word on ufuncs of narrow floating-point types, which refuse arrays of float64."""
    kinds = {TYPES[t].char for loop in loops for t in loop.types}
    if kinds & set("dgDGlLqQ") or not kinds & set("fe"):
        return ()
    dtype = np.dtype("f" if "f" in kinds else "e")
    text = f"{name} takes {dtype} and rejects float64 arrays, which would lose digits"
    return (f"{text}: pass x.astype({dtype.str[1:]!r}){remedy}.",)
