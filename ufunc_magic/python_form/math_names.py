"""C's library in Python's words: which call stands for which, and the names that the written source runs with.

Three ways to say each function: ``call`` as a Python programmer writes it, ``checked`` where C's
answer at the edge of the domain (C17 Annex F: infinities and NaN, never an exception) needs another
word, ``vector`` for NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import cuda_math
from .c_arithmetic import BOOL, DOUBLE, FLOAT, INT, SIZE, CType, named_type, promoted

__all__ = ["CONSTANTS", "HELPERS", "KNOWN", "LIMITS", "LITERALS", "Known", "known"]


@dataclass(frozen=True)
class Known:
    """How one function of C's library is written.

    ``call`` is the name of a callable, or a template with ``{0}``; so are ``checked`` (``""``: the same)
    and ``vector`` (``""``: NumPy has none).  ``precedence`` is that of a template's result and
    ``inner`` what its arguments need.  ``result`` is "float", "int", "long", "bool", "complex", or
    "same" for the type of the first argument.  ``whole``: ``call`` gives a Python int for a C double.
    """

    call: str
    vector: str = ""
    checked: str = ""
    result: Literal["float", "int", "long", "bool", "complex", "same"] = "float"
    precedence: int = 14
    inner: int = 0
    whole: bool = False


_SAME = "exp2 expm1 log log2 log10 log1p exp sqrt cbrt sin cos tan sinh cosh tanh fmod hypot copysign nextafter"
_ARC = "asin acos atan asinh acosh atanh atan2"
KNOWN: dict[str, Known] = {
    **{name: Known(f"math.{name}", f"np.{name}") for name in _SAME.split()},
    **{name: Known(f"math.{name}", f"np.arc{name[1:]}") for name in _ARC.split()},
    **{name: Known(f"math.{name}") for name in "lgamma erf erfc remainder".split()},
    **{f"is{name}": Known(f"math.is{name}", f"np.is{name}", result="bool") for name in ("nan", "inf", "finite")},
    "pow": Known("math.pow", "{0}**{1}"),
    "tgamma": Known("math.gamma"),
    "fabs": Known("abs", "np.abs"),
    "abs": Known("abs", "np.abs", result="same"),
    "labs": Known("abs", "np.abs", result="same"),
    "llabs": Known("abs", "np.abs", result="same"),
    "floor": Known("math.floor", "np.floor", "_floor", whole=True),
    "ceil": Known("math.ceil", "np.ceil", "_ceil", whole=True),
    "trunc": Known("math.trunc", "np.trunc", "_trunc", whole=True),
    "rint": Known("round", "np.rint", "_rint", whole=True),
    "nearbyint": Known("round", "np.rint", "_rint", whole=True),
    "round": Known("_round"),
    "lround": Known("int(_round({0}))", result="long"),
    "llround": Known("int(_round({0}))", result="long"),
    "lrint": Known("round", result="long"),
    "llrint": Known("round", result="long"),
    "fmin": Known("min", "np.fmin", "_fmin"),
    "fmax": Known("max", "np.fmax", "_fmax"),
    "fdim": Known("max({0} - {1}, 0.0)", "", "_fdim", inner=10),
    "fma": Known("{0}*{1} + {2}", "{0}*{1} + {2}", precedence=10, inner=12),
    "ldexp": Known("math.ldexp", "np.ldexp"),
    "scalbn": Known("math.ldexp"),
    "exp10": Known("math.pow(10.0, {0})", "10.0**{0}", inner=13),
    "ilogb": Known("math.frexp({0})[1] - 1", result="int", precedence=10),
    "logb": Known("float(math.frexp({0})[1] - 1)"),
    "signbit": Known("math.copysign(1.0, {0}) < 0", "np.signbit", result="bool", precedence=5),
    "isgreater": Known("{0} > {1}", "{0} > {1}", result="bool", precedence=5, inner=6),
    "isless": Known("{0} < {1}", "{0} < {1}", result="bool", precedence=5, inner=6),
    "isunordered": Known("math.isnan({0}) or math.isnan({1})", result="bool", precedence=2),
    "expect": Known("{0}", "{0}", result="same"),
    **{
        name: Known(f"cmath.{name[1:]}", f"np.{name[1:]}", result="complex")
        for name in "cexp clog csqrt csin ccos ctan csinh ccosh ctanh".split()
    },
    **{
        name: Known(f"cmath.{name[1:]}", f"np.arc{name[2:]}", result="complex")
        for name in "casin cacos catan casinh cacosh catanh".split()
    },
    "cpow": Known("{0}**{1}", "{0}**{1}", "_cpow", result="complex", precedence=13, inner=14),
    "conj": Known("{0}.conjugate()", "np.conj", result="complex", inner=14),
    "cabs": Known("abs", "np.abs", "_cabs"),
    "carg": Known("cmath.phase", "np.angle"),
    "creal": Known("{0}.real", "{0}.real", inner=14),
    "cimag": Known("{0}.imag", "{0}.imag", inner=14),
    "complex": Known("complex", "{0} + 1j*{1}", result="complex"),
    "CMPLX": Known("complex", "{0} + 1j*{1}", result="complex"),
    "popcount": Known("{0}.bit_count()", result="int", inner=14),
    "popcountl": Known("{0}.bit_count()", result="int", inner=14),
    "popcountll": Known("{0}.bit_count()", result="int", inner=14),
    "clz": Known("32 - {0}.bit_length()", result="int", inner=14, precedence=10),
    "clzl": Known("64 - {0}.bit_length()", result="int", inner=14, precedence=10),
    "clzll": Known("64 - {0}.bit_length()", result="int", inner=14, precedence=10),
    **{
        name: Known(call, vector, checked, result, precedence, inner)  # type: ignore[arg-type]
        for name, (call, vector, checked, result, precedence, inner) in cuda_math.WORDS.items()
    },
}


def known(name: str) -> tuple[Known, CType] | None:
    """The entry for a C function's name (``expf``, ``__builtin_isnan``) and the float type it works in."""
    name = name.removeprefix("__builtin_").removeprefix("std::").removesuffix("_sign")
    name = cuda_math.ALIASES.get(name, name)
    if name in KNOWN:
        return KNOWN[name], DOUBLE
    if name[-1:] in ("f", "l") and name[:-1] in KNOWN and KNOWN[name[:-1]].result in ("float", "complex", "long"):
        return KNOWN[name[:-1]], FLOAT if name[-1] == "f" else CType("f", 80)
    if name in ("CMPLXF", "CMPLXL"):
        return KNOWN["CMPLX"], FLOAT if name[-1] == "F" else CType("f", 80)
    return None


#: Constants of <math.h>, <float.h> as Python expressions.  (<limits.h> and <stdint.h> are integers: see LIMITS.)
CONSTANTS: dict[str, tuple[str, int]] = {
    "M_PI": ("math.pi", 14),
    "M_PI_2": ("math.pi/2", 11),
    "M_PI_4": ("math.pi/4", 11),
    "M_1_PI": ("1/math.pi", 11),
    "M_2_PI": ("2/math.pi", 11),
    "M_E": ("math.e", 14),
    "M_2_SQRTPI": ("1.1283791670955126", 14),
    "M_SQRT2": ("1.4142135623730951", 14),
    "M_SQRT1_2": ("0.7071067811865476", 14),
    "M_LN2": ("0.6931471805599453", 14),
    "M_LN10": ("2.302585092994046", 14),
    "M_LOG2E": ("1.4426950408889634", 14),
    "M_LOG10E": ("0.4342944819032518", 14),
    "INFINITY": ("math.inf", 14),
    "HUGE_VAL": ("math.inf", 14),
    "HUGE_VALF": ("math.inf", 14),
    "NAN": ("math.nan", 14),
    "DBL_EPSILON": ("2.220446049250313e-16", 14),
    "DBL_MAX": ("1.7976931348623157e+308", 14),
    "DBL_MIN": ("2.2250738585072014e-308", 14),
    "DBL_TRUE_MIN": ("5e-324", 14),
    "FLT_EPSILON": ("1.1920928955078125e-07", 14),
    "FLT_MAX": ("3.4028234663852886e+38", 14),
    "FLT_MIN": ("1.1754943508222875e-38", 14),
}

_INTEGERS = {
    "INT": "int",
    "SHRT": "short",
    "SCHAR": "signed char",
    "CHAR": "char",
    "LONG": "long",
    "LLONG": "long long",
}
_UNSIGNED = {"UINT": "int", "USHRT": "short", "UCHAR": "char", "ULONG": "long", "ULLONG": "long long"}
_RANGES: dict[str, CType | None] = {
    **{name: named_type(spelling, {}, {}) for name, spelling in _INTEGERS.items()},
    **{name: named_type(f"unsigned {spelling}", {}, {}) for name, spelling in _UNSIGNED.items()},
    **{f"{sign}INT{bits}": CType("u" if sign else "i", bits) for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "SIZE": SIZE,
}
#: Constants of <limits.h>, <stdint.h> and <stdbool.h>: value and type.
LIMITS: dict[str, tuple[int, CType]] = {
    "true": (1, BOOL),
    "false": (0, BOOL),
    "CHAR_BIT": (8, INT),
    **{f"{name}_MAX": (t.high, promoted(t)) for name, t in _RANGES.items() if t is not None},
    **{f"{name}_MIN": (t.low, promoted(t)) for name, t in _RANGES.items() if t is not None},
}

#: Literals that the preprocessor leaves of those names.
LITERALS = {
    "3.14159265358979323846": "M_PI",
    "1.57079632679489661923": "M_PI_2",
    "0.78539816339744830962": "M_PI_4",
    "2.7182818284590452354": "M_E",
    "0.31830988618379067154": "M_1_PI",
    "0.63661977236758134308": "M_2_PI",
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
