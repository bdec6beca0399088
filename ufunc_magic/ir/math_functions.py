"""The one table of C's mathematical library: each function's names, texts, derivatives, costs and vector variants.

A row is one function, by the name that C gives it on ``double`` (on ``double complex``: ``cexp``).  To add a function,
add a row.  The columns are described at `MathFunction`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .types import BOOL, DOUBLE, FLOAT, INT, LONG, SIZE, UINT, CType, promote

Result = Literal["float", "int", "long", "bool", "complex", "real", "same"]


class VectorVariants(NamedTuple):
    """The releases of glibc whose libmvec has variants: on x86-64 for both types, on aarch64 for each.

    https://sourceware.org/glibc/wiki/libmvec.  On aarch64, 2.38 has none for two floats, which gcc calls as well as
    those for four, and so nothing for floats.
    """

    x86_64: tuple[int, int]
    aarch64: tuple[int, int]
    aarch64_float: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MathFunction:
    """One function of C's library.

    Attributes
    ----------
    name : str
        On ``double``, or ``double complex``.
    python : str
        How a Python programmer writes it: the name of a callable, or a template with ``{0}``, ``{1}``; ``""``: Python
        does not have it.  It may contain a mark (``__ufm_round``), which `forms` writes out.
    checked : str
        The same where C's answer at the edge of the domain (C17, Annex F: infinities and NaN, never an exception)
        needs another word; ``""``: as in ``python``, which runs with a `math` that never raises.
    numpy : str
        NumPy's function, ``""`` where it has none.
    result : {"float", "int", "long", "bool", "complex", "real", "same"}
        "float": of the arguments' floating-point type; "real": the real number of complex ones; "same": the type of
        the first argument.
    arguments : int
    whole : bool
        ``python`` gives a Python int for a C double.
    derivatives : tuple of str
        For each argument the partial derivative, a C expression of the arguments ``x``, ``y``, ``z`` and of the
        function's value ``f``; ``""`` for an integer argument; empty where none can be written with this table.
    domain : str
        Where a real result exists, a C condition on ``x``, ``y``; ``""``: everywhere.
    cost : int
        0: compilers know it as an operation, LLVM as an intrinsic, and most processors as one or two instructions.
        Else how long a scalar call takes, which tells the dear ones: nanoseconds of glibc 2.36 on x86-64, the least of
        300 rounds over 400 numbers, where an addition takes one.
    ulp : int
        Units in the last place that a result of glibc, its vector library included, may be off; 0: always exact.
    vectors : VectorVariants or None
    header : str
        ``""``: a builtin of compilers.
    suffixes : str
        Letters behind the name for ``float`` and for ``long double``; ``""``: it has one name.
    writes : tuple of int
        Pointer arguments that it stores through, one element each.
    integer : (int, CType) or None
        Position and type of a parameter that is an integer.
    gnu : bool
        glibc declares it with ``_GNU_SOURCE`` only.
    """

    name: str
    python: str = ""
    numpy: str = ""
    derivatives: tuple[str, ...] = ()
    checked: str = ""
    result: Result = "float"
    arguments: int = 1
    whole: bool = False
    domain: str = ""
    cost: int = 4
    ulp: int = 4
    vectors: VectorVariants | None = None
    header: str = "math.h"
    suffixes: str = "fl"
    writes: tuple[int, ...] = ()
    integer: tuple[int, CType] | None = None
    gnu: bool = False

    @property
    def real(self) -> bool:
        """A real number comes of complex ones."""
        return self.result == "real" or self.python == "abs"


_FIRST = VectorVariants((2, 22), (2, 38), (2, 39))
_SECOND = VectorVariants((2, 35), (2, 39), (2, 39))
_THIRD = VectorVariants((2, 35), (2, 40), (2, 40))


def _row(name: str, python: str = "", numpy: str = "", /, *derivatives: str, **columns: object) -> MathFunction:
    return MathFunction(name, python, numpy, derivatives, **columns)  # type: ignore[arg-type]


def _complex(name: str, python: str, numpy: str, /, *derivatives: str, **columns: object) -> MathFunction:
    return _row(name, python, numpy, *derivatives, **{"result": "complex", "header": "complex.h", **columns})


def _builtin(name: str, python: str, /, *derivatives: str, **columns: object) -> MathFunction:
    return _row(name, python, "", *derivatives, **{"header": "", "suffixes": "", **columns})


def _exact(name: str, python: str, numpy: str, /, *derivatives: str, **columns: object) -> MathFunction:
    return _row(name, python, numpy, *derivatives, **{"ulp": 0, "cost": 0, **columns})


def _test(name: str, python: str, numpy: str = "", /, **columns: object) -> MathFunction:
    return _exact(name, python, numpy, **{"result": "bool", "cost": 2, "suffixes": "", **columns})


# fmt: off
_ROWS: tuple[MathFunction, ...] = (
    # -- exponentials and logarithms
    _row("exp", "math.exp", "np.exp", "f", vectors=_FIRST, cost=6),
    _row("exp2", "math.exp2", "np.exp2", "f*M_LN2", vectors=_SECOND, cost=4),
    _row("exp10", "math.pow(10.0, {0})", "10.0 ** {0}", "f*M_LN10", vectors=_SECOND, gnu=True, cost=13),
    _row("expm1", "math.expm1", "np.expm1", "f + 1", vectors=_SECOND, cost=11),
    _row("log", "math.log", "np.log", "1/x", domain="x > 0", vectors=_FIRST, cost=6),
    _row("log2", "math.log2", "np.log2", "1/(x*M_LN2)", domain="x > 0", vectors=_SECOND, cost=5),
    _row("log10", "math.log10", "np.log10", "1/(x*M_LN10)", domain="x > 0", vectors=_SECOND, cost=9),
    _row("log1p", "math.log1p", "np.log1p", "1/(1 + x)", domain="x > -1", vectors=_SECOND, cost=8),
    _row("pow", "math.pow", "{0} ** {1}", "y == 0 ? 0 : y*pow(x, y - 1)", "x == 0 && y > 0 ? 0 : f*log(x)",
         arguments=2, domain="x > 0 || y == rint(y)", vectors=VectorVariants((2, 22), (2, 40), (2, 40)), cost=15),
    _row("pow10", "math.pow(10.0, {0})", "10.0 ** {0}", "f*M_LN10", gnu=True),
    # -- roots
    _exact("sqrt", "math.sqrt", "np.sqrt", "0.5/f", domain="x >= 0", ulp=1),
    _row("cbrt", "math.cbrt", "np.cbrt", "1/(3*f*f)", vectors=_THIRD, cost=15),
    _row("hypot", "math.hypot", "np.hypot", "x/f", "y/f", arguments=2, vectors=_THIRD, cost=6),
    _row("__hypot3", "math.hypot", "np.hypot(np.hypot({0}, {1}), {2})", "x/f", "y/f", "z/f", checked="_hypot3",
         arguments=3, suffixes="fl", header=""),
    _row("rsqrt", "1/math.sqrt({0})", "1/np.sqrt({0})", "-0.5*f/x", checked="_fdiv(1.0, math.sqrt({0}))",
         domain="x > 0", header=""),
    # -- trigonometry
    _row("sin", "math.sin", "np.sin", "cos(x)", vectors=_FIRST, cost=9),
    _row("cos", "math.cos", "np.cos", "-sin(x)", vectors=_FIRST, cost=9),
    _row("tan", "math.tan", "np.tan", "1 + f*f", vectors=_SECOND, cost=10),
    _row("asin", "math.asin", "np.arcsin", "1/sqrt((1 - x)*(1 + x))", domain="x*x <= 1", vectors=_SECOND, cost=7),
    _row("acos", "math.acos", "np.arccos", "-1/sqrt((1 - x)*(1 + x))", domain="x*x <= 1", vectors=_SECOND, cost=7),
    _row("atan", "math.atan", "np.arctan", "1/(1 + x*x)", vectors=_SECOND, cost=8),
    _row("atan2", "math.atan2", "np.arctan2", "y/(x*x + y*y)", "-x/(x*x + y*y)", arguments=2, vectors=_SECOND, cost=15),
    _row("sinh", "math.sinh", "np.sinh", "cosh(x)", vectors=_THIRD, cost=15),
    _row("cosh", "math.cosh", "np.cosh", "sinh(x)", vectors=_THIRD, cost=8),
    _row("tanh", "math.tanh", "np.tanh", "1 - f*f", vectors=_THIRD, cost=14),
    _row("asinh", "math.asinh", "np.arcsinh", "1/sqrt(x*x + 1)", vectors=_THIRD, cost=12),
    _row("acosh", "math.acosh", "np.arccosh", "1/(sqrt(x - 1)*sqrt(x + 1))", domain="x >= 1", vectors=_THIRD, cost=11),
    _row("atanh", "math.atanh", "np.arctanh", "1/((1 - x)*(1 + x))", domain="x*x <= 1", vectors=_THIRD, cost=12),
    # -- rounding
    _exact("floor", "math.floor", "np.floor", "0", checked="_floor", whole=True),
    _exact("ceil", "math.ceil", "np.ceil", "0", checked="_ceil", whole=True),
    _exact("trunc", "math.trunc", "np.trunc", "0", checked="_trunc", whole=True),
    _exact("rint", "round", "np.rint", "0", checked="_rint", whole=True),
    _exact("nearbyint", "round", "np.rint", "0", checked="_rint", whole=True),
    _exact("round", "__ufm_round", "_round", "0"),
    _exact("lrint", "round", "np.rint({0}).astype(np.int64)", checked="_truncate(_rint({0}), 64)", result="long",
         cost=4),
    _exact("llrint", "round", "np.rint({0}).astype(np.int64)", checked="_truncate(_rint({0}), 64)", result="long",
         cost=4),
    _exact("lround", "int(__ufm_round({0}))", "_round({0}).astype(np.int64)", checked="_truncate(_round({0}), 64)",
         result="long", cost=4),
    _exact("llround", "int(__ufm_round({0}))", "_round({0}).astype(np.int64)", checked="_truncate(_round({0}), 64)",
         result="long", cost=4),
    # -- signs, extremes, remainders
    _exact("fabs", "abs", "np.abs", "copysign(1, x)"),
    _exact("copysign", "math.copysign", "np.copysign", "copysign(1, x)*copysign(1, y)", "0", arguments=2),
    _exact("fmin", "min", "np.fmin", "x <= y || y != y", "!(x <= y || y != y)", checked="_fmin", arguments=2),
    _exact("fmax", "max", "np.fmax", "x >= y || y != y", "!(x >= y || y != y)", checked="_fmax", arguments=2),
    _exact("fma", "{0}*{1} + {2}", "", "y", "x", "1", arguments=3, ulp=1),
    _row("fdim", "max({0} - {1}, 0.0)", "np.where({0} <= {1}, 0.0, {0} - {1})", "x > y", "-(x > y)", checked="_fdim",
         arguments=2, ulp=1, cost=5),
    _row("fmod", "math.fmod", "np.fmod", "1", "(f - x)/y", arguments=2, domain="y != 0", ulp=0, cost=9),
    _row("remainder", "math.remainder", "", "1", "(f - x)/y", arguments=2, domain="y != 0", ulp=0, cost=13),
    _row("drem", "math.remainder", "", "1", "(f - x)/y", arguments=2, domain="y != 0", ulp=0, cost=13),
    _row("nextafter", "math.nextafter", "np.nextafter", "1", "0", arguments=2, ulp=0, cost=7),
    _row("nexttoward", arguments=2, ulp=0, cost=8),
    _row("ldexp", "math.ldexp", "np.ldexp", "ldexp(1.0, y)", "", arguments=2, ulp=0, cost=6, integer=(1, INT)),
    _row("scalbn", "math.ldexp", "np.ldexp", "scalbn(1.0, y)", "", arguments=2, ulp=0, cost=8, integer=(1, INT)),
    _row("scalbln", "math.ldexp", "np.ldexp", "scalbln(1.0, y)", "", arguments=2, ulp=0, cost=6, integer=(1, LONG)),
    _row("scalb", arguments=2, ulp=0),
    _row("logb", "", "", "0", ulp=0, cost=4),
    _row("ilogb", result="int", ulp=0, cost=5),
    _row("significand", ulp=0, cost=7),
    _row("frexp", arguments=2, writes=(1,), ulp=0),
    _row("modf", arguments=2, writes=(1,), ulp=0),
    _row("remquo", arguments=3, writes=(2,), ulp=0),
    _row("sincos", arguments=3, writes=(1, 2), gnu=True),
    _row("nan", suffixes="fl", ulp=0),
    # -- special functions
    _row("erf", "math.erf", "", "M_2_SQRTPI*exp(-x*x)", vectors=_THIRD, cost=5),
    _row("erfc", "math.erfc", "", "-M_2_SQRTPI*exp(-x*x)", vectors=_THIRD, cost=5),
    _row("tgamma", "math.gamma", "", domain="x > 0 || x != floor(x)", cost=26),
    _row("lgamma", "math.lgamma", "", domain="x > 0 || x != floor(x)", cost=12),
    _row("gamma", "", "", domain="x > 0 || x != floor(x)", cost=30),
    _row("lgamma_r", "", "", arguments=2, writes=(1,), cost=30),
    _row("j0", "", "", "-j1(x)", cost=33),
    _row("j1", "", "", "x == 0 ? 0.5 : j0(x) - f/x", cost=34),
    _row("jn", "", "", "", "0.5*(jn(x - 1, y) - jn(x + 1, y))", arguments=2, cost=81, integer=(0, INT)),
    _row("y0", "", "", "-y1(x)", domain="x > 0", cost=13),
    _row("y1", "", "", "y0(x) - f/x", domain="x > 0", cost=20),
    _row("yn", "", "", "", "0.5*(yn(x - 1, y) - yn(x + 1, y))", arguments=2, domain="y > 0", cost=74, integer=(0, INT)),
    _row("normcdf", "0.5*math.erfc(-{0}/math.sqrt(2.0))", "", "0.3989422804014327*exp(-0.5*x*x)", header=""),
    # -- classification
    _test("isnan", "math.isnan", "np.isnan"),
    _test("isinf", "math.isinf", "np.isinf"),
    _test("isfinite", "math.isfinite", "np.isfinite"),
    _test("finite", "math.isfinite", "np.isfinite", suffixes="fl"),
    _test("isnormal", ""),
    _test("signbit", "math.copysign(1.0, {0}) < 0", "np.signbit"),
    _test("fpclassify", "", result="int"),
    _test("isgreater", "{0} > {1}", "", arguments=2),
    _test("isgreaterequal", "{0} >= {1}", "", arguments=2),
    _test("isless", "{0} < {1}", "", arguments=2),
    _test("islessequal", "{0} <= {1}", "", arguments=2),
    _test("islessgreater", "", arguments=2),
    _test("isunordered", "math.isnan({0}) or math.isnan({1})", "np.isnan({0}) | np.isnan({1})", arguments=2),
    # -- <stdlib.h>, and builtins of compilers
    _exact("abs", "abs", "np.abs", result="same", header="stdlib.h", suffixes="", integer=(0, INT)),
    _exact("labs", "abs", "np.abs", result="same", header="stdlib.h", suffixes="", integer=(0, LONG)),
    _exact("llabs", "abs", "np.abs", result="same", header="stdlib.h", suffixes="", integer=(0, CType("i", 64))),
    _builtin("popcount", "{0}.bit_count()", result="int", cost=0, ulp=0, integer=(0, UINT)),
    _builtin("popcountl", "{0}.bit_count()", result="int", cost=0, ulp=0, integer=(0, CType("u", LONG.bits))),
    _builtin("popcountll", "{0}.bit_count()", result="int", cost=0, ulp=0, integer=(0, CType("u", 64))),
    _builtin("clz", "32 - {0}.bit_length()", result="int", cost=0, ulp=0, integer=(0, UINT)),
    _builtin("clzl", "64 - {0}.bit_length()", result="int", cost=0, ulp=0, integer=(0, CType("u", LONG.bits))),
    _builtin("clzll", "64 - {0}.bit_length()", result="int", cost=0, ulp=0, integer=(0, CType("u", 64))),
    _builtin("ctz", "({0} & -{0}).bit_length() - 1", result="int", cost=0, ulp=0, integer=(0, UINT)),
    _builtin("ctzl", "({0} & -{0}).bit_length() - 1", result="int", cost=0, ulp=0, integer=(0, CType("u", LONG.bits))),
    _builtin("ctzll", "({0} & -{0}).bit_length() - 1", result="int", cost=0, ulp=0, integer=(0, CType("u", 64))),
    _builtin("parity", "{0}.bit_count() & 1", result="int", cost=0, ulp=0, integer=(0, UINT)),
    _builtin("parityl", "{0}.bit_count() & 1", result="int", cost=0, ulp=0, integer=(0, CType("u", LONG.bits))),
    _builtin("parityll", "{0}.bit_count() & 1", result="int", cost=0, ulp=0, integer=(0, CType("u", 64))),
    _builtin("expect", "{0}", result="same", cost=0, ulp=0, arguments=2),
    # -- complex numbers
    _complex("cexp", "cmath.exp", "np.exp", "f", ulp=6),
    _complex("clog", "cmath.log", "np.log", "1/x"),
    _complex("clog10", "cmath.log10", "np.log10", "1/(x*M_LN10)"),
    _complex("cpow", "{0}**{1}", "", "y*cpow(x, y - 1)", "f*clog(x)", checked="_libm_cpow", arguments=2),
    _complex("csqrt", "cmath.sqrt", "np.sqrt", "0.5/f"),
    _complex("csin", "cmath.sin", "np.sin", "ccos(x)"),
    _complex("ccos", "cmath.cos", "np.cos", "-csin(x)"),
    _complex("ctan", "cmath.tan", "np.tan", "1 + f*f"),
    _complex("casin", "cmath.asin", "np.arcsin", "1/(csqrt(1 - x)*csqrt(1 + x))"),
    _complex("cacos", "cmath.acos", "np.arccos", "-1/(csqrt(1 - x)*csqrt(1 + x))"),
    _complex("catan", "cmath.atan", "np.arctan", "1/(1 + x*x)"),
    _complex("csinh", "cmath.sinh", "np.sinh", "ccosh(x)"),
    _complex("ccosh", "cmath.cosh", "np.cosh", "csinh(x)"),
    _complex("ctanh", "cmath.tanh", "np.tanh", "1 - f*f"),
    _complex("casinh", "cmath.asinh", "np.arcsinh", "1/csqrt(x*x + 1)"),
    _complex("cacosh", "cmath.acosh", "np.arccosh", "1/(csqrt(x - 1)*csqrt(x + 1))"),
    _complex("catanh", "cmath.atanh", "np.arctanh", "1/((1 - x)*(1 + x))"),
    _complex("cabs", "abs", "np.abs", checked="_cabs", result="real"),
    _complex("carg", "cmath.phase", "np.angle", result="real"),
    _complex("creal", "{0}.real", "", result="real", ulp=0, cost=0),
    _complex("cimag", "{0}.imag", "", result="real", ulp=0, cost=0),
    _complex("conj", "{0}.conjugate()", "np.conj", ulp=0, cost=0),
    _complex("cproj", "", ""),
    _complex("CMPLX", "complex", "{0} + 1j*{1}", arguments=2, ulp=0, cost=0, suffixes="FL"),
    _complex("complex", "complex", "{0} + 1j*{1}", arguments=2, ulp=0, cost=0, header="", suffixes=""),
    _complex("__norm", "{0}.real*{0}.real + {0}.imag*{0}.imag", "", result="real", header="", suffixes=""),
    # -- operations that compilers for devices spell as calls
    _builtin("__rcp", "1/{0}", "-f*f", checked="_fdiv(1.0, {0})", suffixes="fl", ulp=1),
    _builtin("fdivide", "{0}/{1}", "1/y", "-f/y", checked="_fdiv({0}, {1})", suffixes="fl", arguments=2, ulp=1),
    _builtin("__add_rn", "{0} + {1}", "1", "1", arguments=2, ulp=1, suffixes="f"),
    _builtin("__sub_rn", "{0} - {1}", "1", "-1", arguments=2, ulp=1, suffixes="f"),
    _builtin("__mul_rn", "{0}*{1}", "y", "x", arguments=2, ulp=1, suffixes="f"),
    _builtin("__saturate", "min(max(0.0, {0}), 1.0)", "0 < x && x < 1", suffixes="f", ulp=0),
)
# fmt: on

#: C's name on ``double`` -> its row.
MATH_FUNCTIONS: dict[str, MathFunction] = {row.name: row for row in _ROWS}

#: Fast and rounded intrinsics of compilers for devices -> the function of this table that they compute.
_ALIASES: dict[str, str] = {
    **{f"__{name}f": f"{name}f" for name in "exp exp10 log log2 log10 sin cos tan tanh pow".split()},
    **{f"__f{name}_rn": f"__{name}_rnf" for name in ("add", "sub", "mul")},
    **{f"__d{name}_rn": f"__{name}_rn" for name in ("add", "sub", "mul")},
    "__fdividef": "fdividef",
    "__fdiv_rn": "fdividef",
    "__ddiv_rn": "fdivide",
    "__fmaf_rn": "fmaf",
    "__fma_rn": "fma",
    "__fsqrt_rn": "sqrtf",
    "__dsqrt_rn": "sqrt",
    "__frsqrt_rn": "rsqrtf",
    "__frcp_rn": "__rcpf",
    "__drcp_rn": "__rcp",
    "__popc": "popcount",
    "__popcll": "popcountll",
    "__clz": "clz",
    "__clzll": "clzll",
}
_LONG_DOUBLE = CType("f", 80)


@functools.cache
def find_math_function(name: str) -> tuple[MathFunction, CType] | None:
    """The row of a C function's name (``expf``, ``__builtin_isnan``, ``std::exp``), and the floating-point type it
    works in; None: it is no function of this table."""
    name = name.removeprefix("__builtin_").removeprefix("std::").removesuffix("_sign")
    name = _ALIASES.get(name, name)
    if row := MATH_FUNCTIONS.get(name):
        return row, DOUBLE
    base, letter = name[:-1], name[-1:]
    if name.endswith(("f_r", "l_r")):
        base, letter = f"{name[:-3]}_r", name[-3]
    row = MATH_FUNCTIONS.get(base)
    if row is None or not letter or letter not in row.suffixes:
        return None
    return row, FLOAT if letter in "fF" else _LONG_DOUBLE


def spell_c_name(row: MathFunction, t: CType) -> str:
    """C's name of a function on a floating-point type: ``expf``."""
    if not row.suffixes or t.bits not in (32, 80):
        return row.name
    letter = row.suffixes[0] if t.bits == 32 else row.suffixes[-1]
    return f"{row.name[:-2]}{letter}_r" if row.name.endswith("_r") else f"{row.name}{letter}"


def list_c_names(row: MathFunction) -> Iterator[str]:
    """All names that C has for a function."""
    yield row.name
    for letter in row.suffixes:
        yield f"{row.name[:-2]}{letter}_r" if row.name.endswith("_r") else f"{row.name}{letter}"


def is_float_function(name: str) -> bool:
    """Whether ``name`` is a function on ``float``, as ``expf`` is; ``erf`` is not."""
    entry = find_math_function(name)
    return entry is not None and entry[1] == FLOAT


def count_arguments(name: str) -> int:
    """How many arguments a function has; 1 where it is not in this table."""
    entry = find_math_function(name)
    return entry[0].arguments if entry is not None else 1


def is_declared_by(name: str, *headers: str) -> bool:
    """Whether one of these headers declares the mathematical function ``name``, without ``_GNU_SOURCE``."""
    entry = find_math_function(name)
    if entry is None or name.startswith(("__", "std::")):
        return False
    return entry[0].header in headers and not entry[0].gnu


#: Other functions, and words that read as calls, which depend on their arguments only.
_PURE = frozenset(
    """
    div imaxabs memcpy memmove memset memcmp min max clamp real imag norm arg polar infinity epsilon quiet_NaN lowest
    lerp midpoint gcd lcm assert __assert_fail __assert_rtn static_cast const_cast reinterpret_cast bit_cast assume
    """.split()
)


def is_pure(name: str) -> bool:
    """Whether a function of C's or C++'s library depends on its arguments only, and writes through them at most."""
    return name in _PURE or find_math_function(name) is not None


def list_vector_functions(machine: str, glibc: tuple[int, ...]) -> frozenset[str]:
    """C's names of what has variants in the libmvec of a release of glibc."""
    if machine not in ("x86_64", "aarch64"):
        return frozenset()
    names = set()
    for row in _ROWS:
        if row.vectors is None:
            continue
        x86_64, aarch64, narrow = row.vectors
        if glibc >= (x86_64 if machine == "x86_64" else aarch64):
            names.add(row.name)
        if glibc >= (x86_64 if machine == "x86_64" else narrow):
            names.add(f"{row.name}f")
    return frozenset(names)


#: The functions of real numbers of which ``templates/complexmath.h`` makes those of complex numbers, in vectors.
_REALS = {
    "cabs": ("hypot",),
    "carg": ("atan2",),
    "cexp": ("exp", "sin", "cos"),
    "clog": ("log", "log1p", "atan2"),
    "csqrt": ("hypot",),
}


#: The names by which <tgmath.h> has them, as far as those are others.
_GENERIC = {"fabs": "cabs", "exp": "cexp", "log": "clog", "sqrt": "csqrt"}


def list_generic_functions(names: Set[str]) -> Set[str]:
    """The functions of complex numbers that <tgmath.h> may take for these names."""
    chosen = {_GENERIC.get(name, name) for name in names} & _REALS.keys()
    return chosen | {f"{name}f" for name in chosen}


def list_complex_vectors(names: Set[str], available: Set[str]) -> dict[str, frozenset[str]]:
    """Of these functions, those of complex numbers that are made of ``available`` ones of real numbers, with those."""
    everything = {
        f"{name}{letter}": frozenset(f"{real}{letter}" for real in reals)
        for name, reals in _REALS.items()
        for letter in ("", "f")
    }
    return {name: reals for name, reals in everything.items() if name in names and reals <= available}


#: Constants of <math.h>, <float.h> as Python expressions.  (<limits.h> and <stdint.h> are integers: see LIMITS.)
CONSTANTS: dict[str, str] = {
    "M_PI": "math.pi",
    "M_PI_2": "math.pi/2",
    "M_PI_4": "math.pi/4",
    "M_1_PI": "1/math.pi",
    "M_2_PI": "2/math.pi",
    "M_E": "math.e",
    "M_2_SQRTPI": "1.1283791670955126",
    "M_SQRT2": "1.4142135623730951",
    "M_SQRT1_2": "0.7071067811865476",
    "M_LN2": "0.6931471805599453",
    "M_LN10": "2.302585092994046",
    "M_LOG2E": "1.4426950408889634",
    "M_LOG10E": "0.4342944819032518",
    "INFINITY": "math.inf",
    "HUGE_VAL": "math.inf",
    "HUGE_VALF": "math.inf",
    "NAN": "math.nan",
    "DBL_EPSILON": "2.220446049250313e-16",
    "DBL_MAX": "1.7976931348623157e+308",
    "DBL_MIN": "2.2250738585072014e-308",
    "DBL_TRUE_MIN": "5e-324",
    "FLT_EPSILON": "1.1920928955078125e-07",
    "FLT_MAX": "3.4028234663852886e+38",
    "FLT_MIN": "1.1754943508222875e-38",
}

_WIDTHS = {"CHAR": 8, "SHRT": 16, "INT": 32, "LONG": LONG.bits, "LLONG": 64}
_RANGES: dict[str, CType] = {
    **{f"{sign}INT{bits}": CType("u" if sign else "i", bits) for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **{f"U{name}": CType("u", bits) for name, bits in _WIDTHS.items()},
    **{name: CType("i", bits) for name, bits in _WIDTHS.items()},
    "SCHAR": CType("i", 8),
    "SIZE": SIZE,
}
#: Constants of <limits.h>, <stdint.h> and <stdbool.h>: value and type.
LIMITS: dict[str, tuple[int, CType]] = {
    "true": (1, BOOL),
    "false": (0, BOOL),
    "CHAR_BIT": (8, INT),
    **{f"{name}_MAX": (t.high, promote(t)) for name, t in _RANGES.items()},
    **{f"{name}_MIN": (t.low, promote(t)) for name, t in _RANGES.items()},
}
