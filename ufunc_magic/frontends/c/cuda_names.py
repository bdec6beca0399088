"""CUDA's own words that a cell uses without saying where from: types, functions without effects, what they stand for.

Names are those of NVIDIA's "CUDA Math API" and of the "CUDA C++ Programming Guide".
"""

from __future__ import annotations

#: C's spelling of the elements of each family of vector types.
_ELEMENTS = {
    "char": "signed char",
    "uchar": "unsigned char",
    "short": "short",
    "ushort": "unsigned short",
    "int": "int",
    "uint": "unsigned int",
    "long": "long",
    "ulong": "unsigned long",
    "longlong": "long long",
    "ulonglong": "unsigned long long",
    "float": "float",
    "double": "double",
}

#: Vector type -> the type and the names of its members.
VECTORS: dict[str, tuple[str, str]] = {
    **{f"{short}{n}": (kind, "xyzw"[:n]) for short, kind in _ELEMENTS.items() for n in (1, 2, 3, 4)},
    "dim3": ("unsigned int", "xyz"),
}

#: Types of its headers that NumPy has no counterpart of.
PACKED = frozenset("half2 __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162".split())

_NAMED = """
    half half2 __half __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 cuComplex cuFloatComplex
    cuDoubleComplex uint ushort ulong uchar clock_t cudaStream_t cudaError_t cudaTextureObject_t cudaSurfaceObject_t
"""
#: Types that CUDA or its headers bring along.
TYPES = frozenset([*VECTORS, *_NAMED.split()])

#: Functions of CUDA -> those of libm whose vector form they run on in the emulation.
_FAST: dict[str, tuple[str, ...]] = {
    **{f"__{name}": (name,) for name in "expf exp10f logf log2f log10f sinf cosf tanf tanhf powf".split()},
    "__sincosf": ("sinf", "cosf"),
    **{
        f"{name}{f}": tuple(f"{word}{f}" for word in behind.split())
        for f in ("", "f")
        for names, behind in {
            "rcbrt": "cbrt",
            "rhypot": "hypot",
            "normcdf": "erfc",
            "sincos": "sin cos",
            "erfcx": "exp erfc",
            "sinpi cospi sincospi": "sin",
            "erfinv erfcinv normcdfinv": "log",
            "cyl_bessel_i0 cyl_bessel_i1": "exp",
        }.items()
        for name in names.split()
    },
    **{
        f"{h}{name}": (f"{name}f",)
        for h in ("h", "h2")
        for name in "exp exp2 exp10 log log2 log10 sin cos tanh".split()
    },
}

_ROUNDED = "rn rz ru rd".split()
_MATH = """
    rsqrt rcbrt sinpi cospi erfinv erfcinv erfcx normcdf normcdfinv norm3d rnorm3d norm4d rnorm4d rhypot
    cyl_bessel_i0 cyl_bessel_i1 fdivide exp10 max min sincospi norm rnorm
"""
_WHOLE = """
    __popc __popcll __clz __clzll __ffs __ffsll __brev __brevll __byte_perm __mulhi __umulhi __mul64hi __umul64hi
    __mul24 __umul24 __sad __usad __hadd __rhadd __uhadd __urhadd __funnelshift_l __funnelshift_r __funnelshift_lc
    __funnelshift_rc umin umax llmin llmax ullmin ullmax __float_as_int __float_as_uint __int_as_float
    __uint_as_float __double_as_longlong __longlong_as_double __double2hiint __double2loint __hiloint2double
    __saturatef __fdividef __ldg __ldcg __ldca __ldcs __dp4a
"""
_PACKED = "add sub avgu absdiffu maxs maxu mins minu cmpeq sads sadu"
_HALVES = "add sub mul div fma neg abs sqrt exp exp2 log log2 sin cos rcp rsqrt floor ceil rint trunc max min eq ne lt"
_KINDS = "float double int uint ll ull half short ushort".split()


def _pure() -> set[str]:
    names = {*_WHOLE.split(), *_FAST}
    names |= {f"{name}{suffix}" for name in _MATH.split() for suffix in ("", "f")}
    for way in _ROUNDED:
        names |= {f"__{letter}{kind}_{way}" for letter in "fd" for kind in ("add", "sub", "mul", "div", "rcp", "sqrt")}
        names |= {f"__fmaf_{way}", f"__fma_{way}", f"__frsqrt_{way}"}
        names |= {f"__{a}2{b}_{way}" for a in _KINDS for b in _KINDS if a != b}
    names |= {f"__{a}2{b}" for a in _KINDS for b in _KINDS if a != b}
    names |= {f"make_{vector}" for vector in VECTORS}
    names |= {f"__v{name}{n}" for name in _PACKED.split() for n in "24"}
    for name in _HALVES.split():
        names |= {f"h{name}", f"__h{name}", f"__h{name}2", f"h2{name}"}
    return names


#: Functions that depend on their arguments only.
PURE_CALLS = frozenset(_pure())


def stand_for(names: frozenset[str]) -> frozenset[str]:
    """The functions of libm behind those of ``names`` that are CUDA's."""
    return frozenset(word for name in names & _FAST.keys() for word in _FAST[name])
