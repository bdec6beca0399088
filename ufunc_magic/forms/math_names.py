"""C's library in Python's words: the functions of the table that Python has, and those that the written source brings
along."""

from __future__ import annotations

from ..ir import CType, MathFunction, find_math_function


def find_known(name: str) -> tuple[MathFunction, CType] | None:
    """The row of a C function's name and the float type it works in; None where Python has no such function."""
    entry = find_math_function(name)
    return entry if entry is not None and entry[0].python else None


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
