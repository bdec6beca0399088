"""CUDA's own words that a cell uses without saying where from: types, functions without effects, what they stand for.

Names are those of NVIDIA's "CUDA Math API" and of the "CUDA C++ Programming Guide".
"""

from __future__ import annotations

import re

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

#: Macros that say that a compiler reads CUDA, and of which version, as ``templates/cuda.h`` has them.
PREDEFINED = {
    "__NVCC__": "1",
    "__CUDACC__": "1",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "CUDART_VERSION": "13000",
}

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

_MATH = """
    rsqrt rcbrt sinpi cospi erfinv erfcinv erfcx normcdf normcdfinv norm3d rnorm3d norm4d rnorm4d rhypot
    cyl_bessel_i0 cyl_bessel_i1 fdivide exp10 max min sincospi norm rnorm
"""
_HALVES = "add sub mul div fma neg abs sqrt exp exp2 log log2 sin cos rcp rsqrt floor ceil rint trunc max min eq ne lt"
#: Rounded arithmetic, conversions, what looks at bits, packed numbers, halves.
_PURE = re.compile(
    r"make_\w+|__\w+_r[nzud]|__[a-z]+2[a-z]+|__\w+_as_\w+|__v[a-z]+[24]|__u?(?:mul|sad|r?hadd)\w*|u?(?:ll)?m(?:in|ax)"
    r"|__(?:popc|clz|ffs|brev|byte_perm|funnelshift_|dp4a|saturatef|fdividef|ld[gc])\w*"
    rf"|_{{0,2}}h2?(?:{'|'.join(_HALVES.split())})2?|(?:{'|'.join(_MATH.split())})f?"
)


def pure(name: str) -> bool:
    """Whether a function of CUDA's depends on its arguments only."""
    return name in _FAST or bool(_PURE.fullmatch(name))


def stand_for(names: frozenset[str]) -> frozenset[str]:
    """The functions of libm behind those of ``names`` that are CUDA's."""
    return frozenset(word for name in names & _FAST.keys() for word in _FAST[name])
