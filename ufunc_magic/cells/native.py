"""What the backends that end in C share: the described compiler, the driver's object, flags by what a text uses."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from .. import codegen, compilers, runtime, store
from ..model import TYPES, LoopCode, Options, Target, required_glibc

#: A text that mentions one of these works on errno or the FP environment itself.
_ENVIRONMENT = frozenset(
    "errno __errno_location math_errhandling fenv_t fexcept_t feclearexcept fegetexceptflag feraiseexcept "
    "fesetexceptflag fetestexcept fegetround fesetround fegetenv feholdexcept fesetenv feupdateenv feenableexcept "
    "fedisableexcept _mm_getcsr _mm_setcsr _MM_SET_ROUNDING_MODE FE_DOWNWARD FE_UPWARD FE_TOWARDZERO".split()
)


@dataclass(frozen=True)
class UnitPlan:
    """What a text adds to the options: flags, SIMD functions, how floating-point flags are judged."""

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
    flags = list(_sound_copies(description)) if options.arch == "native" else []
    if description.machine == "aarch64" and description.gcc >= 15:
        flags.append("-Wno-experimental-fmv-target")  # it warns of each clone for SVE, and heeds no pragma
    if words & _ENVIRONMENT or fenv:
        flags += ["-frounding-math"] if fenv else []
        note = (
            "the cell uses errno or the floating-point environment: no SIMD math; all floating-point flags are reported"
        )
        return UnitPlan(tuple(flags), math=codegen.VectorMath(judge=2), notes=(note,))
    math = codegen.VectorMath(judge=0 if options.fast_math else 1)
    if options.strict:
        # Contraction to FMA would make the result depend on the clone that runs.  Of no traps gcc makes trunc() of
        # (double)(int)x, which keeps a zero's sign, and of pow(x, 0.5) in vectors sqrt(), which is another for -inf.
        plain = [f"-fno-builtin-{word}" for word in ("pow", "powf") if word in words - own]
        return UnitPlan((*flags, "-fno-math-errno", "-ffp-contract=off", *plain))
    flags += ["-fno-math-errno", "-fno-trapping-math"]
    if any(re.fullmatch(r"ll?(round|rint)[fl]?", name) for name in own):
        # Without errno gcc makes lround(x) of (long)round(x), which would then call itself.
        flags.remove("-fno-math-errno")
    called = words - own
    if floats:
        called |= {f"{word}f" for word in called}  # tgmath.h and <cmath> turn exp(float) into expf
    simd = tuple(sorted(called & description.libmvec))
    if simd and tool.kind != "gcc":
        # clang names the vector variants itself, but does not link what holds them.
        if not description.knows_libmvec:
            return UnitPlan(tuple(flags), math=math)
        library = compilers.libmvec_path()
        return UnitPlan((*flags, "-fveclib=libmvec"), (library,) if library else (), math)
    if {"sin", "cos"} <= called or {"sinf", "cosf"} <= called:
        # gcc would make one call of sincos of the two, and then not vectorize it.
        flags += ["-fno-builtin-cos", "-fno-builtin-cosf"]
    return UnitPlan(tuple(flags), math=replace(math, functions=simd))


#: What a CPU of each of the x86-64 psABI's levels has beside the level below, as Linux calls it.
_LEVELS = {
    3: "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    4: "avx512f avx512bw avx512cd avx512dq avx512vl",
}


@cache
def this_level() -> int:
    """The level of this CPU, 2 for all below the third; 0 where units have no clones for levels."""
    if not sys.platform.startswith("linux") or runtime.here().machine != "x86_64":
        return 0
    try:
        flags = set(re.findall(r"(?m)^flags\s*:(.*)", Path("/proc/cpuinfo").read_text())[0].split())
    except (OSError, IndexError):
        return 0
    return 2 + (flags >= set(_LEVELS[3].split())) + (flags >= set(f"{_LEVELS[3]} {_LEVELS[4]}".split()))


#: A text in which one of these stands may ask for which CPU it is compiled, say so itself, or hold instructions.
_NAMES_A_CPU = re.compile(
    r"__|##|%:%:|FP_FAST_|\b_Pragma\b|\basm\b|(?:#|%:|\?\?=)\s*pragma|"
    r"(?:#|%:|\?\?=)\s*include(?!\s*<(?:assert|complex|ctype|float|inttypes|iso646|limits|math|stdalign|stdarg|stdbool|"
    r"stddef|stdint|stdio|stdlib|stdnoreturn|string|tgmath|time|wchar|wctype)\.h>)"
)


#: Types of integers, and of the other numbers; ``for (int i = 0;`` only counts.
_COUNTS = re.compile(r"\bfor\s*\(\s*(?:int|long|size_t)\s+(\w+)\s*=\s*\d+\s*;")
_INTEGERS = re.compile(
    r"\b(?:int|long|short|char|unsigned|signed|bool|_Bool|enum|typeof|auto|register|\w+_t)\b|\b(?:static|const)\s+\w+\s*[=;,]"
)
_OTHERS = re.compile(r"\b(?:double|float|complex|_Complex|_Float\w+|_Decimal\w+|<\s*(?:tg)?math\.h)\b")


def this_cpu_flags(tool: compilers.Toolchain, source: str, options: Options) -> tuple[str, ...]:
    """What a unit is compiled with for CPUs like this one alone.

    To change the target for one function takes gcc a fifth of its instructions.  Where no line of the cell can see the
    difference, the whole unit has the target, and ``-ffp-contract`` keeps rounding what it is in the portable object,
    where loops have FMA and nothing else has.  The attribute for that loses ``-fno-strict-aliasing`` in gcc 11.
    """
    level = this_level()
    sees = options.compile_args or options.fast_math or options.cplus or _NAMES_A_CPU.search(source)
    description = compilers.describe(tool)
    if sees or level < 3 or description.gcc < 12 or _may_truncate(source):
        return (f"-D__UFM_LEVEL={level}",)
    by_options = (f"-march=x86-64-v{level}", "-ffp-contract=off", f"-D__UFM_LEVEL={0 if options.strict else 1}")
    return (*by_options, *_sound_copies(description))


def _may_truncate(source: str) -> bool:
    """Whether a text may make an integer of another number, and a number of that again.

    gcc makes ``trunc()`` of ``(double)(int)x`` where the CPU has an instruction for it, which keeps a zero's sign.
    """
    counters = set(_COUNTS.findall(source))
    less = _COUNTS.sub("", source)
    if any(re.search(rf"\b{counter}\s*[-+*/%&|^]?=(?!=)", less) for counter in counters):
        return True
    return bool(_INTEGERS.search(less) and _OTHERS.search(less))


def _sound_copies(description: compilers.Description) -> tuple[str, ...]:
    """Flags for units that have AVX-512 throughout.

    gcc 12.2 fills 64 bytes with what stands in the first 16 of a constant that ends in zeros: ``memcpy(to, text, 64)``.
    """
    return ("-mmove-max=128", "-mstore-max=128") if description.gcc >= 12 and description.machine == "x86_64" else ()


def target(code: bytes, options: Options, *, python: str = "", this_cpu: bool = False) -> Target:
    """The machines that ``code`` runs on; ``python`` is the ABI of an extension module."""
    native = this_cpu or options.arch == "native"
    level = "native: " + " ".join(runtime.cpu_features()) if native else "baseline"
    return replace(runtime.here(), libc=required_glibc(code), level=level, python=python)


def driver(
    tool: compilers.Toolchain, *, parallel: bool, folder: Path, checked: bool = False, structures: bool = False
) -> Path:
    """The driver's object file: compiled once per compiler, kept in the cache.

    With ``parallel``, the one whose loops run on several threads; with ``checked``, the one that helps a sanitizer;
    with ``structures``, the one that has loops over them, too.
    """
    tool = replace(tool, cplus=False)
    text = codegen.driver()
    flags = _object_flags(tool)
    if parallel:
        flags += ["-pthread", "-DUFM_PARALLEL"]
    if structures:
        flags += ["-DUFM_RECORDS"]
    if checked:
        flags += ["-fsanitize=address", "-DUFM_CHECKED"]
    return _compiled_once(tool, text, flags=flags, output=folder / "driver.o")


def vector_math(tool: compilers.Toolchain, functions: Iterable[str], *, folder: Path) -> list[Path]:
    """Object files of our own vector versions of functions of libm, compiled and kept as the driver is.

    Only gcc calls them by their names in the vector ABI.
    """
    tool = replace(tool, cplus=False)
    flags = _object_flags(tool)
    machine = compilers.describe(tool).machine
    texts = {name: codegen.vector_math(name, machine=machine) for name in functions} if tool.kind == "gcc" else {}
    return [_compiled_once(tool, t, flags=flags, output=folder / f"{name}.o") for name, t in texts.items() if t]


def _object_flags(tool: compilers.Toolchain) -> list[str]:
    """Flags of a unit that no cell changes."""
    # No exception passes through it, and the tables would be a tenth of a small object.
    unwind = ["-fno-strict-aliasing", "-w", "-fno-asynchronous-unwind-tables"]
    return [*(f for f in compilers.base_flags(tool) if f != "-shared"), *unwind]


def _compiled_once(tool: compilers.Toolchain, text: str, *, flags: Sequence[str], output: Path) -> Path:
    """The object file of a unit that no cell changes, from the cache or for it."""
    entry_key = store.key([output.stem, text, repr(tool.identity()), repr(flags)])
    cache = store.default()
    entry = cache.get(entry_key)
    if entry is None:
        compilers.compile_object(tool, text, output=output, flags=flags, name=output.stem, cell=text, reported=False)
        cache.publish(entry_key, record=b"", code=output.read_bytes())
        return output
    return entry.copy_to(output)


def def_functions(tool: compilers.Toolchain, *, folder: Path) -> Path:
    """The object file of what a def is bound as: compiled once per compiler and Python, kept in the cache."""
    tool = replace(tool, cplus=False)
    flags = [*_object_flags(tool), f"-I{sysconfig.get_path('include')}", f"-DUFM_PYTHON={sys.hexversion}"]
    text = codegen.template("def_function.c")
    return _compiled_once(tool, text, flags=flags, output=folder / "def_function.o")


def narrow(name: str, loops: Sequence[LoopCode], *, remedy: str = "") -> tuple[str, ...]:
    """A word on ufuncs of narrow floating-point types, which refuse arrays of float64."""
    kinds = {TYPES[t].char for loop in loops for t in loop.types}
    if kinds & set("dgDGlLqQ") or not kinds & set("fe"):
        return ()
    dtype = np.dtype("f" if "f" in kinds else "e")
    text = f"{name} takes {dtype} and rejects float64 arrays, which would lose digits"
    return (f"{text}: pass x.astype({dtype.str[1:]!r}){remedy}.",)
