"""Functions of compilers that libm lacks: which have no effects, and which of libm compute them.

Names are those of NVIDIA's math API, and of vector instructions of x86 and ARM.
"""

from __future__ import annotations

import re

#: Intrinsics -> the functions of libm whose vector forms their emulation on the CPU calls.
_FAST: dict[str, tuple[str, ...]] = {
    **{f"__{name}": (name,) for name in "expf exp10f logf log2f log10f sinf cosf tanf tanhf powf".split()},
    "__sincosf": ("sinf", "cosf"),
    **{
        f"{name}{f}": tuple(f"{word}{f}" for word in computed.split())
        for f in ("", "f")
        for names, computed in {
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
#: Rounded arithmetic, conversions, what looks at bits, packed numbers, halves; vector instructions but those that write
#: to memory or set something.
_PURE = re.compile(
    r"make_\w+|__\w+_r[nzud]|__[a-z]+2[a-z]+|__\w+_as_\w+|__v[a-z]+[24]|__u?(?:mul|sad|r?hadd)\w*|u?(?:ll)?m(?:in|ax)"
    r"|__(?:popc|clz|ffs|brev|byte_perm|funnelshift_|dp4a|saturatef|fdividef|ld[gc])\w*"
    rf"|_{{0,2}}h2?(?:{'|'.join(_HALVES.split())})2?|(?:{'|'.join(_MATH.split())})f?"
    r"|_mm(?:256|512)?_(?!\w*(?:store|stream|scatter|maskmove|fetch|fence|pause|csr|flush|alloc|free|zero(?:all|upper)))\w+"
    r"|v(?!st)[a-z\d]+_(?:\w+_)?[fsup](?:8|16|32|64)"
)


def is_pure(name: str) -> bool:
    """Whether an intrinsic depends on its arguments only."""
    return name in _FAST or bool(_PURE.fullmatch(name))


def find_stand_ins(names: frozenset[str]) -> frozenset[str]:
    """The functions of libm that compute the intrinsics among ``names``."""
    return frozenset(word for name in names & _FAST.keys() for word in _FAST[name])
