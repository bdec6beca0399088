"""What the backends that end in C share: the described compiler, the driver's object, flags by what a text uses."""

from __future__ import annotations

import re
import sys
import sysconfig
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
    if options.strict:
        # Contraction to FMA would make the result depend on the clone that runs.  Of no traps gcc makes trunc() of
        # (double)(int)x, which keeps a zero's sign, and of pow(x, 0.5) in vectors sqrt(), which is another for -inf.
        plain = [f"-fno-builtin-{word}" for word in ("pow", "powf") if word in words - own]
        return UnitPlan(("-fno-math-errno", "-ffp-contract=off", *plain), (), (), 1, ())
    flags = ["-fno-math-errno", "-fno-trapping-math"]
    if any(re.fullmatch(r"ll?(round|rint)[fl]?", name) for name in own):
        # Without errno gcc makes lround(x) of (long)round(x), which would then call itself.
        flags.remove("-fno-math-errno")
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


def target(code: bytes, options: Options, *, python: str = "") -> Target:
    """The machines that ``code`` runs on; ``python`` is the ABI of an extension module."""
    level = "native: " + " ".join(runtime.cpu_features()) if options.arch == "native" else "baseline"
    return replace(runtime.here(), libc=required_glibc(code), level=level, python=python)


def driver(
    tool: toolchain.Toolchain, *, parallel: bool, folder: Path, checked: bool = False, structures: bool = False
) -> Path:
    """The driver's object file: compiled once per compiler, kept in the cache.

    With ``parallel``, the one whose loops run on several threads; with ``checked``, the one that helps a sanitizer;
    with ``structures``, the one that has loops over them, too.
    """
    tool = replace(tool, cplus=False)
    text = codegen.driver()
    flags = [*(f for f in toolchain.base_flags(tool) if f != "-shared"), "-fno-strict-aliasing", "-w", "-c"]
    # No exception passes through it, and the tables would be a tenth of a small object.
    flags += ["-fno-asynchronous-unwind-tables"]
    if parallel:
        flags += ["-pthread", "-DUFM_PARALLEL"]
    if structures:
        flags += ["-DUFM_RECORDS"]
    if checked:
        flags += ["-fsanitize=address", "-DUFM_CHECKED"]
    entry_key = store.key(["driver", text, repr(tool.identity()), repr(flags)])
    cache = store.default()
    entry = cache.get(entry_key)
    if entry is None:
        output = folder / "driver.o"
        toolchain.compile_shared(tool, text, output=output, flags=flags, name="driver.c", cell=text)
        cache.publish(entry_key, record=b"", code=output.read_bytes())
        return output
    return entry.copy_to(folder / "driver.o")


def def_functions(tool: toolchain.Toolchain, *, folder: Path) -> Path:
    """The object file of what a def is bound as: compiled once per compiler and Python, kept in the cache."""
    tool = replace(tool, cplus=False)
    text = codegen.template("def_function.c")
    flags = [*(f for f in toolchain.base_flags(tool) if f != "-shared"), f"-I{sysconfig.get_path('include')}"]
    flags += ["-fno-strict-aliasing", "-w"]
    entry_key = store.key(["def_function", text, repr(tool.identity()), repr(flags), sys.version])
    output = folder / "def_function.o"
    entry = store.default().get(entry_key)
    if entry is not None:
        return entry.copy_to(output)
    toolchain.compile_object(tool, text, output=output, flags=flags, name="def_function.c", cell=text)
    store.default().publish(entry_key, record=b"", code=output.read_bytes())
    return output


def narrow(name: str, loops: Sequence[LoopCode], *, remedy: str = "") -> tuple[str, ...]:
    """A word on ufuncs of narrow floating-point types, which refuse arrays of float64."""
    kinds = {TYPES[t].char for loop in loops for t in loop.types}
    if kinds & set("dgDGlLqQ") or not kinds & set("fe"):
        return ()
    dtype = np.dtype("f" if "f" in kinds else "e")
    text = f"{name} takes {dtype}, and refuses arrays of float64, which would lose digits"
    return (f"{text}: give it x.astype({dtype.str[1:]!r}){remedy}.",)
