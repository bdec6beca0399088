"""Whole headers of libraries as ufuncs: how many are bound, why the others are not, and whether the numbers are theirs.

    apt-get install libgsl-dev r-mathlib libcerf-dev liberfa-dev
    python benchmarks/libraries.py [gsl rmath libm erfa cerf]

Each bound function of numbers is called through ctypes on the same values, bit for bit; some are set against SciPy.
GSL 2.7 returns what is on its stack for Mathieu functions of orders that do not exist: they differ from call to call.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ufunc_magic as um

TYPES = {
    5: ctypes.c_int,
    6: ctypes.c_uint,
    7: ctypes.c_long,
    8: ctypes.c_ulong,
    11: ctypes.c_float,
    12: ctypes.c_double,
}
POINTS = {
    "d": [0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.25, 7.0],
    "f": [0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.25, 7.0],
    "iIlL": [0, 1, 2, 3, 1, 2, 4, 5],
}


class Library(NamedTuple):
    """A header, what is wrapped of it, and the library with its name for ctypes."""

    header: str
    functions: tuple[str, ...]
    libraries: tuple[str, ...]
    arguments: tuple[str, ...] = ()


LIBRARIES = {
    "gsl": Library("gsl/gsl_sf.h", ("gsl_sf_*",), ("gsl", "gslcblas")),
    "cdf": Library("gsl/gsl_cdf.h", ("gsl_cdf_*",), ("gsl", "gslcblas")),
    "rmath": Library(
        "Rmath.h",
        ("[dpq][a-z]*", "*gammafn*", "beta", "lbeta", "*choose", "bessel_?", "*psi*"),
        ("Rmath",),
        ("-DMATHLIB_STANDALONE",),
    ),
    "libm": Library("math.h", ("*",), ("m",)),
    "erfa": Library("erfa.h", ("era*",), ("erfa",)),
    "cerf": Library("cerf.h", ("*erf*", "voigt*", "dawson*", "*w_of_*"), ("cerf",)),
}


def by_ctypes(build: Any, library: Library) -> tuple[int, int, list[str]]:
    """Functions compared, values compared, and the names of those that differ."""
    opened = [
        ctypes.CDLL(ctypes.util.find_library(name) or f"lib{name}.so", mode=ctypes.RTLD_GLOBAL)
        for name in reversed(library.libraries)
    ]
    functions = values = 0
    wrong = []
    for code in build.object_code.functions:
        loop = code.loops[0] if code.loops else None
        # A status through an adapter is no function of the library's own; macros rename some.
        if loop is None or code.core or code.nout != 1 or code.nin == 0 or not set(loop.types) <= TYPES.keys():
            continue
        symbol = next((getattr(one, code.name) for one in reversed(opened) if hasattr(one, code.name)), None)
        if symbol is None or "result" not in code.results:
            continue
        symbol.restype, symbol.argtypes = TYPES[loop.types[-1]], [TYPES[t] for t in loop.types[: code.nin]]
        columns = []
        for place, number in enumerate(loop.types[: code.nin]):
            dtype = np.dtype(TYPES[number])
            points = next(points for kinds, points in POINTS.items() if dtype.char in kinds)
            columns.append(np.roll(np.array(points, dtype), place))
        expected = np.array([symbol(*(column[k].item() for column in columns)) for k in range(len(columns[0]))])
        with np.errstate(all="ignore"):
            result = build[code.name](*columns)
        same = (result == expected) | ((result != result) & (expected != expected))
        functions, values = functions + 1, values + same.size
        if not same.all():
            wrong.append(f"{code.name} (on {np.count_nonzero(~same)})")
    return functions, values, wrong


def by_scipy(build: Any, name: str) -> tuple[int, float, str]:
    """Functions set against SciPy's, the largest relative difference, and whose it is."""
    x = np.linspace(0.1, 20, 200)
    pairs = references(name)
    worst, where = 0.0, ""
    for function, expected, arguments in pairs:
        with np.errstate(all="ignore"):
            ours, theirs = build[function](*arguments(x)), expected(*arguments(x))
        sound = np.isfinite(theirs)  # beside a zero of the function, absolute
        error = float(np.max(np.abs(ours - theirs)[sound] / np.maximum(np.abs(theirs[sound]), 1e-3)))
        worst, where = max((worst, where), (error, function))
    return len(pairs), worst, where


def references(name: str) -> list[tuple[str, Callable[..., Any], Callable[[Any], tuple[Any, ...]]]]:
    """Function of the library, SciPy's, and what both are called with."""
    from scipy import special, stats

    if name == "gsl":
        rows: Mapping[str, Any] = {
            "bessel_J0": special.j0, "bessel_J1": special.j1, "bessel_Y0": special.y0, "bessel_Y1": special.y1,
            "bessel_I0": special.i0, "bessel_I1": special.i1, "bessel_K0": special.k0, "bessel_K1": special.k1,
            "bessel_I0_scaled": special.i0e, "bessel_K0_scaled": special.k0e, "lngamma": special.gammaln,
            "gamma": special.gamma, "psi": special.psi, "erf": special.erf, "erfc": special.erfc,
            "dawson": special.dawsn, "expint_E1": special.exp1, "expint_Ei": special.expi,
            "Si": lambda x: special.sici(x)[0], "Ci": lambda x: special.sici(x)[1], "zeta": special.zeta,
            "lambert_W0": lambda x: special.lambertw(x).real, "airy_Ai": lambda x, _: special.airy(x)[0],
            "airy_Bi": lambda x, _: special.airy(x)[2], "ellint_Kcomp": lambda x, _: special.ellipk((x / 21) ** 2),
        }  # fmt: skip
        two = {"airy_Ai", "airy_Bi", "ellint_Kcomp"}

        def arguments(key: str) -> Callable[[Any], tuple[Any, ...]]:
            if key == "ellint_Kcomp":
                return lambda x: (x / 21, np.uint32(0))
            return (lambda x: (x, np.uint32(0))) if key in two else (lambda x: (x,))

        rows = {**rows, "ellint_Kcomp": lambda k, _: special.ellipk(k**2)}
        return [(f"gsl_sf_{key}", function, arguments(key)) for key, function in rows.items()]
    if name == "rmath":
        frozen: Mapping[str, tuple[Any, tuple[float, ...]]] = {
            "norm": (stats.norm(1, 2), (1.0, 2.0)), "gamma": (stats.gamma(2.5, scale=0.5), (2.5, 0.5)),
            "beta": (stats.beta(2, 3.5), (2.0, 3.5)), "t": (stats.t(4.5), (4.5,)), "chisq": (stats.chi2(3), (3.0,)),
            "f": (stats.f(3, 7), (3.0, 7.0)), "weibull": (stats.weibull_min(1.5, scale=2), (1.5, 2.0)),
            "logis": (stats.logistic(1, 2), (1.0, 2.0)), "cauchy": (stats.cauchy(1, 2), (1.0, 2.0)),
            "lnorm": (stats.lognorm(0.7, scale=np.exp(0.5)), (0.5, 0.7)), "exp": (stats.expon(scale=2), (2.0,)),
        }  # fmt: skip
        results = []
        for key, (distribution, given) in frozen.items():
            for letter, method, last in (("d", "pdf", (0,)), ("p", "cdf", (1, 0)), ("q", "ppf", (1, 0))):
                scale = 1 / 20.5 if letter == "q" else 1.0
                theirs = getattr(distribution, method)
                results.append(
                    (
                        f"{letter}{key}",
                        lambda x, *_, theirs=theirs: theirs(x),
                        lambda x, scale=scale, given=given, last=last: (x * scale, *given, *last),
                    )
                )
        return results
    return []


def main(names: list[str]) -> None:
    """Print a row for each library, and what is not bound."""
    for name in names or LIBRARIES:
        library = LIBRARIES[name]
        if not any(Path(folder, library.header).exists() for folder in ("/usr/include", "/usr/local/include")):
            print(f"{name}: {library.header} is not installed")
            continue
        start = time.perf_counter()
        build = um.wrap_header(
            library.header,
            functions=library.functions,
            libraries=library.libraries,
            compile_args=library.arguments,
            strict=name == "libm",  # SIMD math rounds otherwise
            force=True,
        )
        seconds = time.perf_counter() - start
        functions, values, wrong = by_ctypes(build, library)
        print(
            f"{name}: {len(build)} ufuncs in {seconds:.1f} s (compiled in {build.seconds['compile']:.1f} s, tried out "
            f"in {build.seconds.get('guard', 0):.1f} s); {functions} called through ctypes on {values} values: "
            f"{'all the same' if not wrong else f'{len(wrong)} differ: ' + ', '.join(wrong)}"
        )
        count, error, where = by_scipy(build, name)
        if count:
            print(f"    {count} against SciPy: largest relative difference {error:.1e} ({where})")
        for note in build.notes:
            if note.startswith("not bound"):
                reason, _, those = note.partition(": ")
                print(f"    {reason}: {len(those.split(','))}")
        for refused in build.report_data.refused:
            print(f"    {refused} was refused when it was tried out")


if __name__ == "__main__":
    main(sys.argv[1:])
