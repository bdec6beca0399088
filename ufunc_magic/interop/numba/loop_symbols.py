"""Addresses of a ufunc's loops as symbols that Numba's compiled code, from its cache too, is linked with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core.errors import NumbaNotImplementedError
from numba.np.numpy_support import from_dtype

from ...model import TYPES, FunctionCode, LoopCode, SignatureError
from ...runtime import letters, loops_of, origin_of
from ..hosts import address, leaf_address

__all__ = ["Linked", "linked", "loop_types"]

#: Where a ufunc keeps what it is linked by.
_LINKED = "__ufm_numba_link__"


@dataclass(frozen=True, eq=False)
class Linked:
    """A ufunc whose loops compiled code can name.

    Numba keeps it among the constants of each function that calls the ufunc, and so in its cache: loading one of
    those brings the machine code along and makes the symbols again.

    Attributes
    ----------
    ufunc : numpy.ufunc
    code : FunctionCode
    prefix : str
        What its symbols begin with: they name the machine code, not the function's place in this process.
    scalars : frozenset of int
        The loops whose function can be called by itself, and then raises nothing.
    leaves : frozenset of int
        Those of which it has a form in Microsoft's convention.
    """

    ufunc: np.ufunc
    code: FunctionCode = field(repr=False)
    prefix: str
    scalars: frozenset[int]
    leaves: frozenset[int]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _again, (self.ufunc, self.prefix)

    def loop(self, place: int) -> str:
        """The symbol of a loop."""
        return f"{self.prefix}.loop{place}"

    def scalar(self, place: int) -> str:
        """The symbol of the function of a loop in ``scalars``."""
        return f"{self.prefix}.scalar{place}"

    def leaf(self, place: int) -> str:
        """The symbol of its other form, of a loop in ``leaves``."""
        return f"{self.prefix}.leaf{place}"

    def inline(self, place: int) -> str:
        """The name of that function as LLVM code."""
        return f"{self.prefix}.inline{place}"

    def data(self, place: int) -> str:
        """The symbol of what the loop gets as its last argument; ``""`` where that is NULL."""
        loops = loops_of(self.ufunc)
        return f"{self.prefix}.data{place}" if loops and loops.data[place] else ""


def linked(ufunc: np.ufunc) -> Linked:
    """What compiled code names the loops of a ufunc of ours by.

    Raises
    ------
    SignatureError
        If the ufunc is another's.
    """
    known = ufunc.__dict__.get(_LINKED)
    if known is None:
        origin = origin_of(ufunc)
        if origin is None:
            raise SignatureError(f"{ufunc!r} was not made by ufunc_magic.", remedy="Give a ufunc of a cell.")
        prefix = f"ufunc_magic.{origin.object_code.digest[:40]}.{origin.name}"
        known = ufunc.__dict__[_LINKED] = _registered(ufunc, prefix)
    return known


def _again(ufunc: np.ufunc, prefix: str) -> Linked:
    """From Numba's cache: under the names that the cached code has, whatever this process calls it by."""
    return _registered(ufunc, prefix)


def _registered(ufunc: np.ufunc, prefix: str) -> Linked:
    origin, loops = origin_of(ufunc), loops_of(ufunc)
    code = origin.function_code if origin else None
    assert origin
    assert loops
    assert code
    # C++ may throw, and nothing catches that in compiled code.
    lone = {} if origin.object_code.language == "c++" else _scalars(ufunc, code)
    leaves = {place: entry for place in lone if (entry := _leaf(ufunc, code, place))}
    made = Linked(ufunc, code, prefix, frozenset(lone), frozenset(leaves))
    for place in range(len(code.loops)):
        llvm.add_symbol(made.loop(place), loops.functions[place])
        if made.data(place):
            llvm.add_symbol(made.data(place), loops.data[place])
        if place in lone:
            llvm.add_symbol(made.scalar(place), lone[place])
        if place in leaves:
            llvm.add_symbol(made.leaf(place), leaves[place])
    return made


#: Types that are passed in registers as they are, NumPy's letters.
_PASSED = frozenset("?bBhHiIlLqQfd")
#: Those that fill a register, or half of one.
_WHOLE = frozenset("iIlLqQfd")


def _scalars(ufunc: np.ufunc, code: FunctionCode) -> dict[int, int]:
    """Addresses of the functions that C can call, by place of their loops."""
    found = {}
    for place, loop in enumerate(code.loops):
        spelled = letters(loop.types, code.nin)
        if set(spelled) <= _PASSED | {*"->"}:
            with contextlib.suppress(SignatureError):
                found[place] = address(ufunc, spelled)
    return found


def _leaf(ufunc: np.ufunc, code: FunctionCode, place: int) -> int:
    """The address of its form in Microsoft's convention, which says nothing of narrow integers' upper bits; or 0."""
    spelled = letters(code.loops[place].types, code.nin)
    return leaf_address(ufunc, spelled) if set(spelled) <= _WHOLE | {*"->"} else 0


@cache
def loop_types(loop: LoopCode) -> tuple[Any, ...]:
    """Numba's types of a loop's operands; empty where it lacks one (long double)."""
    try:
        return tuple(from_dtype(np.dtype(TYPES[number].char)) for number in loop.types)
    except NumbaNotImplementedError:
        return ()
