"""Time math functions in compiled loops against NumPy's expression and JAX's XLA, one thread, in one process.

For every expression four contestants take turns in interleaved rounds: the loop with
`templates/simdmath.h`, the same loop with glibc's libmvec alone, NumPy (SciPy for erf, erfc) and, where
installed, JAX.  The medians, their ratios and the machine go to `benchmarks/results/simdmath.json`.

    taskset -c 0 python benchmarks/simdmath_speed.py [--only pow,exp] [--isa v3] [--rounds 25]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent / "ufunc_magic" / "templates" / "simdmath.h"
FLAGS = ("-O3", "-std=gnu17", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
#: Without these gcc merges sin(a) and cos(a) into one sincos call, which it cannot vectorize.
FLAGS += ("-fno-builtin-cos", "-fno-builtin-cosf")
CLONES = {
    "portable": '__attribute__((target_clones("default","arch=x86-64-v3","arch=x86-64-v4")))',
    "v2": "",
    "v3": '__attribute__((target("arch=x86-64-v3")))',
    "v4": '__attribute__((target("arch=x86-64-v4")))',
}

RIVALS = ("ours", "libmvec", "numpy", "jax")


@dataclass(frozen=True)
class Case:
    """One expression: as C, as Python over ``xp``, the range of ``a`` and ``b``."""

    name: str
    c: str
    python: str
    low: float = -5.0
    high: float = 5.0
    low2: float = -5.0
    high2: float = 5.0


def _unary(name: str, low: float, high: float, python: str = "") -> Case:
    return Case(name, f"{name}@(a)", python or f"xp.{name}(a)", low, high)


CASES = (
    Case("pow(a,2.5)+a", "pow@(a, 2.5@@)+a", "a**2.5+a", 0.01, 10),
    Case("pow(a,b)", "pow@(a, b)", "a**b", 0.01, 100, -5, 5),
    _unary("exp", -10, 10),
    _unary("log", 0.001, 1000),
    _unary("sin", -10, 10),
    _unary("cos", -10, 10),
    Case("4*a+exp(-a)", "4*a+exp@(-a)", "4*a+xp.exp(-a)", 0, 2),
    Case(
        "a<0.5 ? 4*a+exp(-a) : log(a)",
        "a<0.5@@ ? 4*a+exp@(-a) : log@(a)",
        "xp.where(a<0.5, 4*a+xp.exp(-a), xp.log(a))",
        0.001,
        1,
    ),
    Case("1/(1+exp(-a))", "1/(1+exp@(-a))", "1/(1+xp.exp(-a))", -10, 10),
    Case("sin(a)*cos(a)", "sin@(a)*cos@(a)", "xp.sin(a)*xp.cos(a)", -10, 10),
    _unary("tan", -10, 10),
    _unary("tanh", -3, 3),
    _unary("sqrt", 0, 100),
    Case("hypot", "hypot@(a, b)", "xp.hypot(a, b)"),
    _unary("log1p", -0.9, 10),
    _unary("expm1", -3, 3),
    _unary("exp2", -10, 10),
    _unary("log2", 0.001, 1000),
    _unary("log10", 0.001, 1000),
    _unary("cbrt", -100, 100),
    _unary("atan", -10, 10),
    Case("atan2", "atan2@(a, b)", "xp.atan2(a, b)"),
    _unary("asin", -1, 1),
    _unary("acos", -1, 1),
    _unary("sinh", -5, 5),
    _unary("cosh", -5, 5),
    _unary("asinh", -5, 5),
    _unary("acosh", 1, 100),
    _unary("atanh", -0.99, 0.99),
    _unary("erf", -3, 3, "special.erf(a)"),
    _unary("erfc", -3, 3, "special.erfc(a)"),
)

#: What libmvec of glibc 2.35 offers, with the number of arguments.
LIBMVEC = dict.fromkeys(
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2 log10 log1p cbrt "
    "erf erfc".split(),
    1,
) | {"pow": 2, "atan2": 2, "hypot": 2}


def unit(cases: tuple[Case, ...], *, isa: str, ours: bool) -> str:
    """One translation unit with a loop per case and type, the way `codegen` writes cells."""
    used = {name for name in LIBMVEC for case in cases if re.search(rf"\b{name}@", case.c)}
    lines = []
    for name in sorted(used):
        for t, s in (("double", ""), ("float", "f")):
            arguments = ", ".join([t] * LIBMVEC[name])
            lines.append(f'{t} {name}{s}({arguments}) __attribute__((simd("notinbranch"), nothrow, leaf, const));')
            if ours:
                lines.append(f"#define __UFM_WANT_{name}{s} 1")
    lines.append("#include <math.h>")
    if ours:
        lines.append(f'#include "{HEADER}"')
    for i, case in enumerate(cases):
        for t, s, literal in (("double", "", ""), ("float", "f", "f")):
            text = case.c.replace("@@", literal).replace("@", s)
            lines.append(f"static inline {t} f{i}{s or 'd'}({t} a, {t} b) {{ (void)b; return {text}; }}")
            lines.append(
                f"{CLONES[isa]} void loop{i}{s or 'd'}(long n, const {t} *restrict a, const {t} *restrict b,"
                f" {t} *restrict o) {{ for (long i = 0; i < n; i++) o[i] = f{i}{s or 'd'}(a[i], b[i]); }}"
            )
    return "\n".join(lines) + "\n"


def compiled(text: str, folder: Path, name: str, cc: str) -> ctypes.CDLL:
    """Compile ``text`` and open it."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run([*cc.split(), *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def machine(cc: str) -> dict[str, object]:
    """What the numbers depend on."""
    cpuinfo = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", cpuinfo)
    flags = re.search(r"flags\s*:\s*(.*)", cpuinfo)
    levels = [f for f in ("avx2", "fma", "avx512f", "avx512dq", "avx512vl") if flags and f in flags[1].split()]
    versions = {}
    for package in ("numpy", "scipy", "jax", "jaxlib"):
        try:
            versions[package] = __import__(package).__version__
        except ImportError:
            versions[package] = None
    compiler = subprocess.run([*cc.split(), "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "simd": levels,
        "compiler": compiler.splitlines()[0],
        "flags": " ".join(FLAGS),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        **versions,
    }


def contestants(
    case: Case, number: int, dtype: str, size: int, libraries: dict[str, ctypes.CDLL]
) -> dict[str, Callable[[], object]]:
    """Name -> a call that allocates its own result, as the expression in a notebook would."""
    import numpy as np
    from scipy import special

    rng = np.random.default_rng(number)
    a = rng.uniform(case.low, case.high, size).astype(dtype)
    b = rng.uniform(case.low2, case.high2, size).astype(dtype)
    result: dict[str, Callable[[], object]] = {}
    for name, library in libraries.items():
        loop = getattr(library, f"loop{number}{'d' if dtype == 'f8' else 'f'}")
        loop.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * 3

        def call(loop: Callable[..., None] = loop, inputs: tuple[int, int] = (a.ctypes.data, b.ctypes.data)) -> object:
            out = np.empty_like(a)
            loop(size, *inputs, out.ctypes.data)
            return out

        result[name] = call
    code = compile(case.python, case.name, "eval")
    names = {"xp": np, "a": a, "b": b, "special": special}
    result["numpy"] = lambda: eval(code, names)
    try:
        import jax
        import jax.numpy as jnp
        import jax.scipy.special as jspecial
    except ImportError:
        return result
    fused = jax.jit(lambda a, b: eval(code, {"xp": jnp, "a": a, "b": b, "special": jspecial}))
    ja, jb = jnp.asarray(a), jnp.asarray(b)
    result["jax"] = lambda: fused(ja, jb).block_until_ready()
    return result


def measured(calls: dict[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Median milliseconds of each, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    order, shuffle = list(calls), random.Random(rounds).shuffle
    for _ in range(rounds):
        # The one before leaves caches and heap its way: a fixed order favoured one of two equal loops by 15 %.
        shuffle(order)
        for name in order:
            call = calls[name]
            call()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(t) for name, t in times.items()}


def errors(folder: Path, isa: str, cc: str) -> dict[str, dict[str, float]]:
    """Largest error in ulp of each function of the header, there and in libmvec."""
    import simdmath_accuracy as accuracy

    isa = "v4" if isa == "portable" else isa
    names = accuracy.offered()
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for label, header in (("ours", True), ("libmvec", False)):
        library = accuracy.build(names, folder, isa=isa, cc=cc, header=header)
        for name in names:
            found[name][label] = round(accuracy.worst(library, name, *accuracy.points(name, 200_000)).ulp, 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated part of the names of the cases")
    parser.add_argument("--isa", choices=tuple(CLONES), default="portable")
    parser.add_argument("--types", default="f8,f4")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--out", default=str(HERE / "results" / "simdmath.json"))
    given = parser.parse_args()

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    one = " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + one
    os.environ["JAX_ENABLE_X64"], os.environ["JAX_PLATFORMS"] = "1", "cpu"
    if given.isa in ("v2", "v3"):
        # The rivals get the same instructions as ours.
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")
        os.environ["XLA_FLAGS"] += " --xla_cpu_max_isa=" + {"v2": "SSE4_2", "v3": "AVX2"}[given.isa]

    wanted = [w for w in given.only.split(",") if w]
    numbers = [i for i, c in enumerate(CASES) if not wanted or any(w in c.name for w in wanted)]
    rows, ulp = [], {}
    with tempfile.TemporaryDirectory() as name:
        libraries = {
            "ours": compiled(unit(CASES, isa=given.isa, ours=True), Path(name), "ours", given.cc),
            "libmvec": compiled(unit(CASES, isa=given.isa, ours=False), Path(name), "libmvec", given.cc),
        }
        for dtype in given.types.split(","):
            print(f"{dtype:31}" + "".join(f"{n:>9}" for n in (*RIVALS, "np/ours", "jax/ours")))
            for number in numbers:
                case = CASES[number]
                ms = measured(contestants(case, number, dtype, given.size, libraries), rounds=given.rounds)
                ratios = [ms[n] / ms["ours"] if n in ms else float("nan") for n in ("numpy", "jax")]
                row = {"case": case.name, "dtype": dtype, "ms": ms, "numpy/ours": ratios[0], "jax/ours": ratios[1]}
                rows.append(row)
                cells = [ms.get(n, float("nan")) for n in RIVALS] + ratios
                print(f"{case.name:31}" + "".join(f"{c:9.2f}" for c in cells) + " <" * (min(ratios) < 1), flush=True)
        if given.out and not wanted:
            ulp = errors(Path(name), given.isa, given.cc)
    if given.out and not wanted:
        Path(given.out).parent.mkdir(exist_ok=True)
        record = {
            "what": __doc__.splitlines()[0],
            "isa": given.isa,
            "size": given.size,
            "rounds": given.rounds,
            "machine": machine(given.cc),
            "load": os.getloadavg(),
            "ulp": ulp,
            "rows": rows,
        }
        Path(given.out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
