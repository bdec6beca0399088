"""C's library in Python's words: which call stands for which, and the names that the written source runs with.

Two ways to say each function: ``call`` as a Python programmer writes it, and ``checked`` where C's answer at the edge
of the domain (C17 Annex F: infinities and NaN, never an exception) needs another word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..ir import BOOL, DOUBLE, FLOAT, INT, LONG, SIZE, CType, promoted

#: Of a complex number the square of its absolute value.
_NORM = "{0}.real*{0}.real + {0}.imag*{0}.imag"


@dataclass(frozen=True)
class Known:
    """How one function of C's library is written.

    ``call`` is the name of a callable, or a template with ``{0}``; so is ``checked`` (``""``: the same).
    ``result`` is "float", "int", "long", "bool", "complex", or "same" for the type of the first argument.
    ``whole``: ``call`` gives a Python int for a C double.
    """

    call: str
    checked: str = ""
    result: Literal["float", "int", "long", "bool", "complex", "same"] = "float"
    whole: bool = False

    @property
    def real(self) -> bool:
        """A real number comes of complex ones."""
        return self.call in ("abs", "{0}.real", "{0}.imag", "cmath.phase", _NORM)


_MATH = (
    "exp2 expm1 log log2 log10 log1p exp sqrt cbrt sin cos tan sinh cosh tanh fmod hypot copysign nextafter asin acos "
    "atan asinh acosh atanh atan2 lgamma erf erfc remainder pow ldexp"
)
_CMATH = "exp log log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"
_LEADING_ZEROS = {"": 32, "l": 64, "ll": 64}
KNOWN: dict[str, Known] = {
    **{name: Known(f"math.{name}") for name in _MATH.split()},
    **{f"c{name}": Known(f"cmath.{name}", result="complex") for name in _CMATH.split()},
    **{name: Known(f"math.{name}", result="bool") for name in ("isnan", "isinf", "isfinite")},
    **{name: Known("abs", result="same") for name in ("abs", "labs", "llabs")},
    **{name: Known(f"math.{name}", f"_{name}", whole=True) for name in ("floor", "ceil", "trunc")},
    **{name: Known("round", "_rint", whole=True) for name in ("rint", "nearbyint")},
    **{name: Known("round", "_truncate(_rint({0}), 64)", result="long") for name in ("lrint", "llrint")},
    **{
        name: Known("int(__ufm_round({0}))", "_truncate(_round({0}), 64)", result="long")
        for name in ("lround", "llround")
    },
    **{name: Known("{0}.bit_count()", result="int") for name in ("popcount", "popcountl", "popcountll")},
    **{f"clz{word}": Known(f"{bits} - {{0}}.bit_length()", result="int") for word, bits in _LEADING_ZEROS.items()},
    **{name: Known("complex", result="complex") for name in ("complex", "CMPLX")},
    "round": Known("__ufm_round"),
    "tgamma": Known("math.gamma"),
    "fabs": Known("abs"),
    "fmin": Known("min", "_fmin"),
    "fmax": Known("max", "_fmax"),
    "fdim": Known("max({0} - {1}, 0.0)", "_fdim"),
    "fma": Known("{0}*{1} + {2}"),
    "scalbn": Known("math.ldexp"),
    "exp10": Known("math.pow(10.0, {0})"),
    "signbit": Known("math.copysign(1.0, {0}) < 0", result="bool"),
    "expect": Known("{0}", result="same"),
    "cpow": Known("{0}**{1}", "_libm_cpow", result="complex"),
    "conj": Known("{0}.conjugate()", result="complex"),
    "cabs": Known("abs", "_cabs"),
    "carg": Known("cmath.phase"),
    "creal": Known("{0}.real"),
    "cimag": Known("{0}.imag"),
    "__norm": Known(_NORM),
    # CUDA's.
    "rsqrt": Known("1/math.sqrt({0})", "_fdiv(1.0, math.sqrt({0}))"),
    "__rcp": Known("1/{0}", "_fdiv(1.0, {0})"),
    "normcdf": Known("0.5*math.erfc(-{0}/math.sqrt(2.0))"),
    "fdivide": Known("{0}/{1}", "_fdiv({0}, {1})"),
    "__add_rn": Known("{0} + {1}"),
    "__sub_rn": Known("{0} - {1}"),
    "__mul_rn": Known("{0}*{1}"),
    "__saturate": Known("min(max(0.0, {0}), 1.0)"),
}


#: CUDA: fast and rounded intrinsics -> the function of C's library that they are to Python.
_ALIASES: dict[str, str] = {
    **{f"__{name}f": f"{name}f" for name in "exp exp10 log log2 log10 sin cos tan tanh pow".split()},
    **{f"__{letter}{name}_rn": f"__{name}_rn" for letter in "fd" for name in "add sub mul".split()},
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
    "__popcll": "popcount",
    "__clz": "clz",
    "__clzll": "clzll",
}


def known(name: str) -> tuple[Known, CType] | None:
    """The entry for a C function's name (``expf``, ``__builtin_isnan``) and the float type it works in."""
    name = name.removeprefix("__builtin_").removeprefix("std::").removesuffix("_sign")
    name = _ALIASES.get(name, name)
    if name in KNOWN:
        return KNOWN[name], DOUBLE
    if name[-1:] in ("f", "l") and name[:-1] in KNOWN and KNOWN[name[:-1]].result in ("float", "complex", "long"):
        return KNOWN[name[:-1]], FLOAT if name[-1] == "f" else CType("f", 80)
    if name in ("CMPLXF", "CMPLXL"):
        return KNOWN["CMPLX"], FLOAT if name[-1] == "F" else CType("f", 80)
    return None


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
    **{f"{name}_MAX": (t.high, promoted(t)) for name, t in _RANGES.items()},
    **{f"{name}_MIN": (t.low, promoted(t)) for name, t in _RANGES.items()},
}

#: Functions that the written source brings along; the others come from the namespace.
_WRAP = """\
def _int{bits}(x):
    return ((x + 0x{half:X}) & 0x{mask:X}) - 0x{half:X}
"""
HELPERS: dict[str, str] = {
    **{
        f"_int{bits}": _WRAP.format(bits=bits, half=1 << (bits - 1), mask=(1 << bits) - 1)
        for bits in (8, 16, 32, 64, 128)
    },
    "_count": (
        "def _count(k, bits):\n    if not 0 <= k < bits:\n        raise ValueError(f'a shift by {k}')\n    return k\n"
    ),
    "_div": "def _div(a, b):\n    q = abs(a)//abs(b)\n    return q if (a < 0) == (b < 0) else -q\n",
    "_rem": "def _rem(a, b):\n    r = abs(a) % abs(b)\n    return -r if a < 0 else r\n",
    "_round": (
        "def _round(x):\n    whole = math.trunc(x)\n"
        "    return math.copysign(whole if abs(x - whole) < 0.5 else abs(whole) + 1, x) if whole != x else float(x)\n"
    ),
}
