"""What the backends that end in C share: the described compiler, the driver's object, flags by what a text uses."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import codegen, runtime, store, toolchain
from ..model import TYPES, LoopCode, Options, Target, required_glibc

#: A text that mentions one of these works on errno or the FP environment itself.
_ENVIRONMENT = frozenset(
    "errno __errno_location math_errhandling fenv_t fexcept_t feclearexcept fegetexceptflag feraiseexcept "
    "fesetexceptflag fetestexcept fegetround fesetround fegetenv feholdexcept fesetenv feupdateenv feenableexcept "
    "fedisableexcept _mm_getcsr _mm_setcsr _MM_SET_ROUNDING_MODE FE_DOWNWARD FE_UPWARD FE_TOWARDZERO".split()
)


@dataclass(frozen=True)
class UnitPlan:
    """What a text adds to the options: flags, SIMD functions, how FP flags are judged."""

    flags: tuple[str, ...]
    link: tuple[str, ...]
    simd: tuple[str, ...]
    judge: int
    notes: tuple[str, ...]


def plan(
    words: Set[str],
    *,
    fenv: bool,
    own: Set[str],
    floats: bool,
    options: Options,
    description: toolchain.Description,
    tool: toolchain.Toolchain,
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
    """
    if words & _ENVIRONMENT or fenv:
        rounding = ("-frounding-math",) if fenv else ()
        note = "errno or the FP environment is used: no SIMD math, every FP flag is reported"
        return UnitPlan(rounding, (), (), 2, (note,))
    judge = 0 if options.fast_math else 1
    flags = ["-fno-math-errno", "-fno-trapping-math"]
    if options.strict:
        # Contraction to FMA would make the result depend on the clone that runs.
        return UnitPlan((*flags, "-ffp-contract=off"), (), (), 1, ())
    called = words - own
    if floats:
        called |= {f"{word}f" for word in called}  # tgmath.h and <cmath> turn exp(float) into expf
    simd = tuple(sorted(called & description.libmvec))
    if simd and tool.kind != "gcc":
        # clang names the vector variants itself, but does not link what holds them.
        library = toolchain.libmvec_path()
        return UnitPlan((*flags, "-fveclib=libmvec"), (library,) if library else (), (), judge, ())
    if {"sin", "cos"} <= called or {"sinf", "cosf"} <= called:
        # gcc would make one call of sincos of the two, and then not vectorize it.
        flags += ["-fno-builtin-cos", "-fno-builtin-cosf"]
    return UnitPlan(tuple(flags), (), simd, judge, ())


def described(tool: toolchain.Toolchain) -> toolchain.Description:
    """What the compiler is."""
    return toolchain.describe(tool)


def target(code: bytes, options: Options, *, python: str = "") -> Target:
    """The machines that ``code`` runs on; ``python`` is the ABI of an extension module."""
    level = "native: " + " ".join(runtime.cpu_features()) if options.arch == "native" else "baseline"
    return replace(runtime.here(), libc=required_glibc(code), level=level, python=python)


def storage() -> Path:
    """Where zig keeps the runtime that it builds."""
    return store.default().storage("zig")


def driver(tool: toolchain.Toolchain, *, parallel: bool, folder: Path, checked: bool = False) -> Path:
    """The driver's object file: compiled once per compiler, kept in the cache.

    With ``parallel``, the one whose loops run on several threads; with ``checked``, the one that helps a sanitizer.
    """
    tool = replace(tool, cplus=False)
    text = codegen.driver()
    flags = [*(f for f in toolchain.base_flags(tool) if f != "-shared"), "-fno-strict-aliasing", "-w", "-c"]
    if parallel:
        flags += ["-pthread", "-DUFM_PARALLEL"]
    if checked:
        flags += ["-fsanitize=address", "-DUFM_CHECKED"]
    entry_key = store.key(["driver", text, repr(tool.identity()), repr(flags)])
    cache = store.default()
    entry = cache.get(entry_key)
    if entry is None:
        output = folder / "driver.o"
        toolchain.compile_shared(tool, text, output=output, flags=flags, name="driver.c", cell=text, storage=storage())
        cache.publish(entry_key, record=b"", code=output)
        return output
    return entry.copy_to(folder / "driver.o")


def narrow(name: str, loops: Sequence[LoopCode], *, nin: int = 1, core: str = "", remedy: str = "") -> tuple[str, ...]:
    """A word on ufuncs that refuse NumPy's default types: float64, or int64 where there is no other argument.

    NumPy makes int64 of a Python number that stands alone, and casts that to no unsigned type.
    """
    first = [TYPES[loop.types[0]] for loop in loops if nin == 1 and not core]
    if first and all(t.kind == "u" for t in first):
        wide = max(first, key=lambda t: t.rank)
        call = f"{name}(np.{np.dtype(wide.char).name}(7))"
        return (f"{name} has no loop for int64, which a Python number alone is: write {call}.",)
    kinds = {TYPES[t].char for loop in loops for t in loop.types}
    if kinds & set("dgDGlLqQ") or not kinds & set("fe"):
        return ()
    call = f"{name}(np.float32(2){', ...' if nin > 1 else ''})"
    return (f"{name} has no loop for float64, which a Python number alone is: write {call}{remedy}.",)
