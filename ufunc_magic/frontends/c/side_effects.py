"""What the functions of a cell do together: calls followed to pointers, to the outside world, to each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from . import cuda_names
from .c_text import called, words
from .function_bodies import Access, Body, Subject, Use

__all__ = ["PURE_CALLS", "Scanned", "effects", "pure", "reached"]

_REAL = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma
    fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan
    nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt
    ctan ctanh exp10 pow10 sincos lgamma_r gamma j0 j1 jn y0 y1 yn drem significand scalb finite
"""
_BESIDE = """
    fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal islessgreater
    isunordered CMPLX CMPLXF CMPLXL abs labs llabs imaxabs div memcpy memmove memset memcmp
    min max clamp real imag norm arg polar infinity epsilon quiet_NaN lowest lerp midpoint gcd lcm assert
    static_cast const_cast reinterpret_cast bit_cast popcount assume
"""

#: Functions that depend on their arguments only: C11's math.h and complex.h with GNU's additions in the three
#: precisions, and what cells call beside them.
PURE_CALLS = cuda_names.PURE_CALLS | frozenset(
    [name + suffix for name in _REAL.split() for suffix in ("", "f", "l")] + _BESIDE.split()
)

_NAMES_OUTSIDE = "errno stdin stdout stderr signgam environ cout cerr clog cin this"
#: Names that reach past the arguments although no declaration in the cell says so.
_WORLD = frozenset(_NAMES_OUTSIDE.split())

#: What library functions do to the pointers they are given: name -> argument -> (access, indexed).
_LIBRARY: dict[str, dict[int, tuple[Access, bool]]] = {
    name + suffix: dict.fromkeys(positions, ("write", False))
    for name, positions in {
        "modf": (1,),
        "frexp": (1,),
        "sincos": (1, 2),
        "sincospi": (1, 2),
        "__sincos": (1, 2),
        "remquo": (2,),
        "lgamma_r": (1,),
    }.items()
    for suffix in ("", "f", "l")
} | {
    "lgammaf_r": {1: ("write", False)},
    "lgammal_r": {1: ("write", False)},
    "memcpy": {0: ("write", True), 1: ("read", True)},
    "memmove": {0: ("write", True), 1: ("read", True)},
    "memset": {0: ("write", True)},
    "memcmp": {0: ("read", True), 1: ("read", True)},
    "qsort": {0: ("update", True)},
    "printf": {},
    "fprintf": {},
}


class Scanned(NamedTuple):
    """A function of the cell with its body: ``subjects`` by position, ``wide`` those declared with a size."""

    name: str
    body: Body
    subjects: tuple[Subject | None, ...] = ()
    wide: frozenset[int] = frozenset()


Effect = tuple[Access, bool]


def effects(functions: Sequence[Scanned]) -> list[dict[str, Effect]]:
    """Access and indexing of every subject of every function, calls between them followed."""
    by_name: dict[str, list[int]] = {}
    for index, function in enumerate(functions):
        by_name.setdefault(function.name, []).append(index)
    known: list[dict[str, Effect]] = [{s.name: ("none", False) for s in f.subjects if s} for f in functions]
    # A change travels one call further per round; nothing sensible needs fifty.
    for _ in range(50):
        before = [dict(effect) for effect in known]
        for function, effect in zip(functions, known, strict=True):
            effect.update((name, (effect[name][0], name in function.body.indexed)) for name in effect)
            first: dict[str, Access] = dict.fromkeys(effect, "none")
            for use in function.body.uses:
                access, indexed = _effect(use, function, functions, known, by_name)
                first[use.name] = _then(first[use.name], access)
                effect[use.name] = ("none", effect[use.name][1] or indexed)
            effect.update((name, (access, effect[name][1])) for name, access in first.items())
        if known == before:
            break
    return known


def _then(first: Access, second: Access) -> Access:
    """What two accesses are together: elements that were written first are not read from the caller."""
    if first == "none" or (first == "read" and second == "none"):
        return second if first == "none" else first
    return "update" if first == "read" and second != "read" else first


def _effect(
    use: Use,
    function: Scanned,
    functions: Sequence[Scanned],
    known: Sequence[Mapping[str, Effect]],
    by_name: Mapping[str, list[int]],
) -> Effect:
    if not use.callee:
        return use.access, False
    if use.callee in by_name:
        access: Access = "none"
        indexed = False
        for index in by_name[use.callee]:
            callee = functions[index]
            subject = callee.subjects[use.position] if use.position < len(callee.subjects) else None
            # An element goes by value unless the parameter is a reference (no levels of its own).
            if subject is None or use.element != (subject.levels == 0):
                access = _then(access, "read")
                continue
            effect = known[index].get(subject.name, ("none", False))
            access = _then(access, effect[0])
            indexed = indexed or effect[1] or use.position in callee.wide
        return access, indexed
    if use.element:
        return ("update" if use.callee in ("swap", "exchange") else "read"), False
    if use.callee in _LIBRARY:
        return _LIBRARY[use.callee].get(use.position, ("read", True))
    constant = use.callee in PURE_CALLS or any(s and s.name == use.name and s.const for s in function.subjects)
    return ("read" if constant else "write"), False


def reached(functions: Sequence[Scanned]) -> dict[str, frozenset[str]]:
    """Name -> the cell's functions that a call of it can come to."""
    direct: dict[str, set[str]] = {}
    names = {function.name for function in functions}
    for function in functions:
        direct.setdefault(function.name, set()).update(function.body.calls & names)
    result = {}
    for name in direct:
        seen: set[str] = set()
        open_ = set(direct[name])
        while open_:
            seen |= open_
            open_ = set().union(*(direct[other] for other in open_)) - seen
        result[name] = frozenset(seen)
    return result


def pure(
    functions: Sequence[Scanned], *, changing: Collection[str], types: Collection[str], macros: Mapping[str, str]
) -> frozenset[str]:
    """Names of the functions that depend on their arguments only.

    Parameters
    ----------
    changing : collection of str
        File-scope variables that are not const.
    types : collection of str
        Names of types, a call of which is a cast.
    macros : mapping
        Name -> replacement text; what a macro uses, the function uses.
    """
    names = {function.name for function in functions}
    calls: dict[str, set[str]] = {}
    impure = set()
    for function in functions:
        used, asked = _expanded(function.body, macros)
        own = {subject.name for subject in function.subjects if subject}
        if function.body.impure or (used - own) & (_WORLD | set(changing)):
            impure.add(function.name)
        calls.setdefault(function.name, set()).update(
            name
            for name in asked
            if name in names or not (name in PURE_CALLS or name in types or name.startswith("__builtin_"))
        )
    left = names - impure
    while more := {name for name in left if not calls[name] <= left}:
        left -= more
    return frozenset(left)


def _expanded(body: Body, macros: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Names used and names called by a body, macros replaced by what they use and call."""
    used, asked = set(body.names), set(body.calls)
    done: set[str] = set()
    while open_ := ((used | asked) & macros.keys()) - done:
        done |= open_
        for name in open_:
            used |= words(macros[name])
            asked |= called(macros[name])
    return used - done, asked - done
