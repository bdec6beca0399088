"""CUDA's functions in Python's words, in the form of ``pymath``'s table.  Pure."""

from __future__ import annotations

__all__ = ["ALIASES", "WORDS"]

#: Fast and rounded intrinsics -> the function of C's library, or of `WORDS`, that they are to Python.
ALIASES: dict[str, str] = {
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

#: Name -> (timed, vector, checked, result, precedence, inner), as the fields of ``pymath.Known`` are called.
WORDS: dict[str, tuple[str, str, str, str, int, int]] = {
    "rsqrt": ("1/math.sqrt({0})", "1/np.sqrt({0})", "_fdiv(1.0, math.sqrt({0}))", "float", 11, 0),
    "rcbrt": ("1/math.cbrt({0})", "1/np.cbrt({0})", "_fdiv(1.0, math.cbrt({0}))", "float", 11, 0),
    "rhypot": ("1/math.hypot({0}, {1})", "1/np.hypot({0}, {1})", "_fdiv(1.0, math.hypot({0}, {1}))", "float", 11, 0),
    "norm3d": ("math.hypot({0}, {1}, {2})", "", "", "float", 14, 0),
    "norm4d": ("math.hypot({0}, {1}, {2}, {3})", "", "", "float", 14, 0),
    "rnorm3d": ("1/math.hypot({0}, {1}, {2})", "", "_fdiv(1.0, math.hypot({0}, {1}, {2}))", "float", 11, 0),
    "normcdf": ("0.5*math.erfc(-{0}/math.sqrt(2.0))", "", "", "float", 11, 13),
    "fdivide": ("{0}/{1}", "{0}/{1}", "_fdiv({0}, {1})", "float", 11, 12),
    "__rcp": ("1/{0}", "1/{0}", "_fdiv(1.0, {0})", "float", 11, 12),
    "__add_rn": ("{0} + {1}", "{0} + {1}", "", "float", 10, 11),
    "__sub_rn": ("{0} - {1}", "{0} - {1}", "", "float", 10, 11),
    "__mul_rn": ("{0}*{1}", "{0}*{1}", "", "float", 11, 12),
    "__saturate": ("min(max(0.0, {0}), 1.0)", "np.fmin(np.fmax({0}, 0.0), 1.0)", "", "float", 14, 0),
    "__ffs": ("({0} & -{0}).bit_length()", "", "", "int", 14, 14),
    "__mulhi": ("({0}*{1}) >> 32", "", "", "same", 9, 12),
    "__umulhi": ("({0}*{1}) >> 32", "", "", "same", 9, 12),
}
