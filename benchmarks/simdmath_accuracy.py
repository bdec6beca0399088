"""Largest error in ulp of the vector math in `templates/simdmath.h`, or of libmvec, and where it occurs.

Every function runs in a loop that gcc vectorizes for one instruction set, over values that are uniform,
log-uniform over all finite numbers, and chosen to be hard; the reference is glibc's long double (for
double) or double (for float) function, and mpmath at 120 bits for the worst case found.

    python benchmarks/simdmath_accuracy.py [--only pow,exp] [--points 1000000] [--isa v4] [--libmvec]

On aarch64 the instruction set is `neon`, and everything is libmvec's.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HEADER = Path(__file__).resolve().parent.parent / "ufunc_magic" / "templates" / "simdmath.h"
FLAGS = ("-O3", "-std=gnu17", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-w")
#: Instruction set -> what a loop is compiled for; NEON is in every aarch64.
LEVELS = {"v2": "arch=x86-64-v2", "v3": "arch=x86-64-v3", "v4": "arch=x86-64-v4", "neon": "arch=armv8-a"}
#: What cells call most, and what users know from NumPy.
COMMON = tuple("exp log sin cos pow tanh exp2 expm1 log1p log2 log10 tan atan atan2 hypot sinh cosh cbrt erf".split())
TWO = frozenset({"pow", "atan2", "hypot"})
WANTED = re.compile(r"__UFM_WANT_(\w+)")

UNIT = r"""
{declarations}
#include <math.h>
#include <string.h>
{wanted}
#include "{header}"
"""

LOOP = r"""
__attribute__((target("{level}"))) void loop_{name}(long n, const {t} *restrict a, const {t} *restrict b,
                                                          {t} *restrict o)
{{ for (long i = 0; i < n; i++) o[i] = {name}({arguments}); }}
void scalar_{name}(long n, const {t} *restrict a, const {t} *restrict b, {t} *restrict o)
{{ for (long i = 0; i < n; i++) {{ volatile {t} x = a[i], y = b[i]; (void)y; o[i] = {name}({volatiles}); }} }}
/* |got - reference| in units of the last place of the reference; a million where one is not finite and the other is. */
void ulp_{name}(long n, const {t} *restrict a, const {t} *restrict b, const {t} *restrict got, double *restrict error)
{{
    for (long i = 0; i < n; i++) {{
        {wide} want = {wide_name};
        {t} rounded = want, mine = got[i];
        if (isnan(rounded) || isnan(mine)) {{ error[i] = isnan(rounded) && isnan(mine) ? 0 : 1e6; continue; }}
        if (isinf(rounded) || isinf(mine)) {{
            /* Past the largest number, the reference may round either way. */
            {t} edge = copysign{s}({max}, want);
            int close = fabs((double)(want / edge)) < 1 + {eps} && (mine == edge || isinf(mine));
            error[i] = rounded == mine ? 0 : close ? 1 : 1e6;
            continue;
        }}
        if (rounded == 0 && mine == 0) {{ error[i] = !!signbit(rounded) == !!signbit(mine) ? 0 : 1e6; continue; }}
        int e = ilogbl((long double)want);
        error[i] = fabsl(scalbnl((long double)mine - want, {bits} - (e < {least} ? {least} : e)));
    }}
}}
"""


@dataclass(frozen=True)
class Worst:
    """The largest error found, and its arguments."""

    name: str
    ulp: float
    at: tuple[float, ...]
    wrong: int


def offered() -> tuple[str, ...]:
    """Names the header defines, float versions with their f."""
    return tuple(sorted(set(WANTED.findall(HEADER.read_text())) - {"name"}))


def build(
    names: tuple[str, ...], folder: Path, *, isa: str, cc: str = "gcc", header: bool = True, extra: tuple[str, ...] = ()
) -> ctypes.CDLL:
    """Compile a loop, a scalar loop and an error measure for each of ``names``."""
    declarations, wanted, loops = [], [], []
    for name in names:
        two, single = name.rstrip("f") in TWO, is_single(name)
        t = "float" if single else "double"
        declarations.append(
            f'{t} {name}({t}{", " + t if two else ""}) __attribute__((simd("notinbranch"), nothrow, leaf, const));'
        )
        wanted.append(f"#define __UFM_WANT_{name} 1" if header else "")
        wide = name[:-1] if single else name + "l"
        wide_t = "double" if single else "long double"
        cast = f"({wide_t})"
        loops.append(
            LOOP.format(
                level=LEVELS[isa],
                name=name,
                t=t,
                s="f" if single else "",
                wide=wide_t,
                arguments="a[i], b[i]" if two else "a[i]",
                volatiles="x, y" if two else "x",
                wide_name=f"{wide}({cast}a[i], {cast}b[i])" if two else f"{wide}({cast}a[i])",
                max="3.40282346638528859812e+38F" if single else "1.79769313486231570815e+308",
                eps="0x1p-22" if single else "0x1p-51L",
                bits=23 if single else 52,
                least=-126 if single else -1022,
            )
        )
    text = UNIT.format(declarations="\n".join(declarations), wanted="\n".join(wanted), header=HEADER) + "".join(loops)
    stem = f"accuracy_{isa}_{header}_{len(extra)}"
    source, code, library = (folder / f"{stem}.{end}" for end in ("c", "o", "so"))
    source.write_text(text)
    subprocess.run([*cc.split(), *FLAGS, *extra, "-c", str(source), "-o", str(code)], check=True)
    # Apart, since linking with -ffast-math would turn on flush-to-zero for the whole process.
    subprocess.run([*cc.split(), "-shared", "-s", str(code), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def is_single(name: str) -> bool:
    return name.endswith("f") and name != "erf"


def evaluate(library: ctypes.CDLL, kind: str, name: str, *arrays: NDArray[np.floating]) -> NDArray[np.floating]:
    """Run ``loop_`` (vector), ``scalar_`` (libm) or ``ulp_`` (error; the last array is the result) of ``name``."""
    function = getattr(library, f"{kind}_{name}")
    dtype = np.float32 if is_single(name) else np.float64
    inputs = [np.ascontiguousarray(a, dtype) for a in arrays]
    if name.rstrip("f") not in TWO:
        inputs.insert(1, inputs[0])  # the loops' second argument, unused
    out = np.empty(inputs[0].shape, np.float64 if kind == "ulp" else dtype)
    function.argtypes = [ctypes.c_long] + [ctypes.c_void_p] * (len(inputs) + 1)
    function(out.size, *(a.ctypes.data for a in inputs), out.ctypes.data)
    return out


def points(name: str, count: int, seed: int = 1) -> tuple[NDArray[np.floating], ...]:
    """Arguments: ordinary ranges, all finite numbers, and the places where such functions go wrong."""
    rng = np.random.default_rng(seed)
    single = is_single(name)
    dtype, integer, bits = (np.float32, np.uint32, 32) if single else (np.float64, np.uint64, 64)
    any_bits = rng.integers(0, 2**bits - 1, count, integer).view(dtype)
    base = name[:-1] if single else name
    if base == "pow":
        return _pow_points(rng, count, any_bits, dtype)
    if base in ("atan2", "hypot"):
        other = rng.permutation(any_bits)
        x, y = rng.normal(size=(2, count))
        return np.concatenate([any_bits, x]).astype(dtype), np.concatenate([other, y]).astype(dtype)
    near = 1 + rng.uniform(-0.1, 0.1, count) * 2.0 ** rng.integers(-20, 0, count)
    tiny = rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-60, 8, count)
    limit = 90 if single else 750
    sets = [rng.uniform(-width, width, count) for width in (2, 20, limit)] + [near, tiny, any_bits]
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.concatenate([s.astype(dtype) for s in sets]),)


def _pow_points(
    rng: np.random.Generator, count: int, any_bits: NDArray[np.floating], dtype: type
) -> tuple[NDArray[np.floating], ...]:
    limit = 149.0 if dtype is np.float32 else 1074.0
    x = [rng.uniform(0.01, 10, count), 2.0 ** rng.uniform(-40, 40, count), np.abs(any_bits)]
    y = [rng.uniform(-5, 5, count), rng.uniform(-20, 20, count), rng.permutation(any_bits)]
    # Results all over the range up to its ends, from bases near 1 and far from it.
    near = 1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-20, 0, count)
    for base in (near, np.abs(any_bits), rng.uniform(0.9, 1.1, count)):
        base = np.where(np.isfinite(base) & (base > 0), base, 2.0).astype(dtype)
        with np.errstate(divide="ignore"):
            exponent = rng.uniform(-limit, limit, count) / np.log2(base.astype(np.float64))
        x.append(base)
        y.append(np.where(np.isfinite(exponent), exponent, 1.0))
    # Whole numbers, where the sign matters and users expect exact results.
    x.append(rng.integers(-40, 40, count))
    y.append(rng.integers(-12, 12, count))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([a.astype(dtype) for a in x]), np.concatenate([a.astype(dtype) for a in y])


def worst(library: ctypes.CDLL, name: str, *arrays: NDArray[np.floating]) -> Worst:
    """Run ``name`` over ``arrays`` and find its largest error."""
    got = evaluate(library, "loop", name, *arrays)
    error = evaluate(library, "ulp", name, *arrays, got)
    wrong = error >= 1e6
    i = int(np.argmax(np.where(wrong, 0, error))) if not wrong.any() else int(np.argmax(wrong))
    return Worst(name, float(error[~wrong].max(initial=0)), tuple(float(a[i]) for a in arrays), int(wrong.sum()))


def exact_error(found: Worst, library: ctypes.CDLL) -> float:
    """The error at the worst place against mpmath at 120 bits, where it knows the function."""
    import mpmath

    single = is_single(found.name)
    dtype = np.float32 if single else np.float64
    base = found.name[:-1] if single else found.name
    mpmath.mp.prec = 120
    function = {
        "pow": mpmath.power,
        "log2": lambda x: mpmath.log(x, 2),
        "log10": mpmath.log10,
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "exp2": lambda x: mpmath.power(2, x),
    }.get(base) or getattr(mpmath, base)
    got = evaluate(library, "loop", found.name, *(np.full(64, v, dtype) for v in found.at))[0]
    want = function(*(mpmath.mpf(v) for v in found.at))
    if not mpmath.isfinite(want) or want == 0 or not np.isfinite(got):
        return float("nan")
    bits, least = (23, -126) if single else (52, -1022)
    return float(abs(mpmath.mpf(float(got)) - want) / mpmath.mpf(2) ** (max(mpmath.mag(want) - 1, least) - bits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--points", type=int, default=1_000_000)
    neon = platform.machine() == "aarch64"
    parser.add_argument("--isa", choices=tuple(LEVELS), default="neon" if neon else "v4")
    parser.add_argument("--libmvec", action="store_true", help="measure libmvec instead")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--out", type=Path, help="write the errors there, as JSON")
    given = parser.parse_args()
    theirs = given.libmvec or neon
    both = tuple(name + kind for name in COMMON for kind in ("", "f"))
    names = tuple(given.only.split(",")) if given.only else both if theirs else offered()
    rows: dict[str, dict[str, float | None]] = {}
    with tempfile.TemporaryDirectory() as folder:
        library = build(names, Path(folder), isa=given.isa, cc=given.cc, header=not theirs)
        for name in names:
            found = max(
                (worst(library, name, *points(name, given.points // 4, seed)) for seed in range(4)),
                key=lambda w: (w.wrong, w.ulp),
            )
            at = ", ".join(v.hex() for v in found.at)
            exact = exact_error(found, library)
            error = f"{found.ulp:8.3f} ulp (mpmath {exact:.3f})  wrong {found.wrong}"
            print(f"{name:8} {given.isa} {error}  at {at}", flush=True)
            row = rows.setdefault(name[:-1] if is_single(name) else name, {"double": None, "float": None})
            row["float" if is_single(name) else "double"] = found.ulp
    if given.out:
        import machine  # beside this file, which tests load from another folder

        data = {"ulp": rows, "points": given.points, "machine": machine.describe()}
        given.out.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
