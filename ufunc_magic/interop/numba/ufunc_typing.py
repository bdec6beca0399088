"""A ufunc of ours in compiled code: its Numba type, the loop for given arguments, the symbols of its loops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import types
from numba.core.datamodel.models import OpaqueModel
from numba.core.errors import NumbaNotImplementedError, NumbaTypeError
from numba.core.typing import signature
from numba.core.typing.npydecl import Numpy_rules_ufunc
from numba.extending import NativeValue, register_model, unbox
from numba.np.numpy_support import as_dtype, from_dtype

from ...model import TYPES, FunctionCode, LoopCode, SignatureError
from ...runtime import find_loops, find_origin, is_better, rank_conversion, spell_letters
from ..hosts import address, leaf_address
from . import _private


@dataclass(frozen=True, eq=False)
class Link:
    """A ufunc whose loops compiled code can name.

    Numba keeps it among the constants of each function that calls the ufunc, and so in its cache: loading one of
    those brings the machine code along and makes the symbols again.

    Attributes
    ----------
    ufunc : numpy.ufunc
    code : FunctionCode
    prefix : str
        Prefix of its symbols, which name the machine code, not an address in this process.
    entries : frozenset of str
        Parts of each loop, by index: ``loop0`` itself; ``data0``, its last argument, where that is not
        NULL; ``scalar0``, its function, where that can be called by itself and raises nothing; ``leaf0``, a form
        of that in Microsoft's convention.
    """

    ufunc: np.ufunc
    code: FunctionCode = field(repr=False)
    prefix: str
    entries: frozenset[str]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return restore_link, (self.ufunc, self.prefix)

    def find_symbol(self, entry: str, place: int) -> str:
        """The symbol of an entry of a loop; ``""`` where it has none."""
        return f"{self.prefix}.{entry}{place}" if f"{entry}{place}" in self.entries else ""


@cache
def link_of(ufunc: np.ufunc) -> Link:
    """The names of a ufunc's loops in compiled code.

    Raises
    ------
    SignatureError
        If the ufunc is another's.
    """
    origin = find_origin(ufunc)
    if origin is None:
        raise SignatureError(f"{ufunc!r} was not compiled by ufunc_magic.", remedy="Pass a ufunc from a cell.")
    return restore_link(ufunc, f"ufunc_magic.{origin.loaded.portable_code.digest[:40]}.{origin.name}")


#: Types that are passed in registers as they are, NumPy's letters.
_PASSED = frozenset("?bBhHiIlLqQfd")
#: Those that fill a register, or half of one: Microsoft's convention says nothing of the upper bits of others.
_WHOLE = frozenset("iIlLqQfd")


def restore_link(ufunc: np.ufunc, prefix: str) -> Link:
    """The link under the names that code in Numba's cache has, whatever this process calls the ufunc by."""
    origin, loops = find_origin(ufunc), find_loops(ufunc)
    code = origin.function_code if origin else None
    assert origin
    assert loops
    assert code
    addresses: dict[str, int] = {}
    for place, loop in enumerate(code.loops):
        addresses[f"loop{place}"] = loops.functions[place] or 0
        if data := loops.data[place]:
            addresses[f"data{place}"] = data
        spelled = spell_letters(loop.types, code.nin)
        operands = set(spelled) - {*"->"}
        # C++ may throw, and nothing catches that in compiled code.
        if origin.object_code.language != "c++" and operands <= _PASSED:
            with contextlib.suppress(SignatureError):
                addresses[f"scalar{place}"] = address(ufunc, spelled)
                if operands <= _WHOLE and (leaf := leaf_address(ufunc, spelled)):
                    addresses[f"leaf{place}"] = leaf
    for entry, value in addresses.items():
        llvm.add_symbol(f"{prefix}.{entry}", value)
    return Link(ufunc, code, prefix, frozenset(addresses))


# Numba's caches on disk name it so.
restore_link.__module__ = __package__


@cache
def list_loop_types(loop: LoopCode) -> tuple[Any, ...]:
    """Numba's types of a loop's operands; empty where it lacks one (long double)."""
    try:
        return tuple(from_dtype(np.dtype(TYPES[number].char)) for number in loop.types)
    except NumbaNotImplementedError:
        return ()


def choose_loop(link: Link, arguments: Sequence[Any]) -> int | None:
    """The place of the loop for arguments of these Numba types.

    The first to which every input casts safely; else the first that takes scalars by kind, as NumPy takes Python's
    numbers (compiled code knows those only as int64 and float64), and integers of any size.  Others come before it as
    in Python (`runtime.promotion`).
    """
    inputs = arguments[: link.code.nin]
    if link.code.records:
        return None
    scalars = [not isinstance(a, types.ArrayCompatible) for a in inputs]
    kinds = [a if scalar else a.dtype for a, scalar in zip(inputs, scalars, strict=True)]
    if not all(isinstance(kind, types.Number | types.Boolean) for kind in kinds):
        return None
    dtypes = [as_dtype(kind) for kind in kinds]
    best: tuple[int, list[int]] | None = None
    for place, loop, lenient in ((p, x, b) for b in (False, True) for p, x in enumerate(link.code.loops)):
        loops = [np.dtype(TYPES[number].char) for number in loop.types]
        if not list_loop_types(loop) or not all(
            np.can_cast(dtype, to) or (lenient and _accepts_argument(to.kind, dtype.kind, scalar=scalar))
            for dtype, to, scalar in zip(dtypes, loops, scalars, strict=False)
        ):
            continue
        ranks = [
            rank_conversion(to.num, dtype, dtype.kind, safe=np.can_cast(dtype, to))
            for dtype, to in zip(dtypes, loops, strict=False)
        ]
        if best is None or is_better(ranks, best[1]):
            best = place, ranks
    return best[0] if best else None


def _accepts_argument(kind: str, argument: str, *, scalar: bool) -> bool:
    if argument in "iu":
        return kind in ("iufc" if scalar else "iu")
    return scalar and kind in {"f": "fc", "c": "c"}.get(argument, "")


class UfuncType(types.Function):  # type: ignore[misc]
    """A ufunc of ours, as a global of compiled code or given to it."""

    def __init__(self, link: Link) -> None:
        super().__init__(type(f"Typing_{link.code.name}", (_Rules,), {"key": link.prefix, "link": link}))


register_model(UfuncType)(OpaqueModel)


@unbox(UfuncType)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, function: Any, context: Any) -> Any:
    # Which ufunc it is, its type says.
    return NativeValue(context.context.get_dummy_value())


class _Rules(Numpy_rules_ufunc):  # type: ignore[misc]
    """The typing rules of one ufunc; Numba makes an object of it for each call that it types."""

    link: Link

    def generic(self, args: Sequence[Any], kws: Any) -> Any:
        code, ufunc = self.link.code, self.link.ufunc
        if kws:
            raise NumbaTypeError(
                f"{code.name}: compiled code does not support {', '.join(kws)}=. Pass out by position."
            )
        plain = [types.unliteral(a.type if isinstance(a, types.Optional) else a) for a in args]
        if code.records:
            raise NumbaTypeError(f"{code.name} takes or returns structures, so compiled code cannot call it.")
        if code.core:
            raise NumbaTypeError(
                f"{code.name} works on whole arrays, {code.core}, so compiled code cannot call it. "
                "Call it as Python does: with numba.objmode(result='float64[:]'): result = f(x)"
            )
        outputs, ndim, layout = _private.find_array_inputs(self, ufunc, plain)
        place = choose_loop(self.link, plain)
        if place is None:
            raise NumbaTypeError(
                f"{code.name} has no loop for ({', '.join(map(str, plain))}). Its loops: {', '.join(ufunc.types)}."
            )
        new = list_loop_types(code.loops[place])[code.nin + len(outputs) :]
        if ndim:
            new = tuple(types.Array(kind, ndim, layout) for kind in new)
        results = [*outputs, *new]
        return signature(results[0] if len(results) == 1 else types.Tuple(results), *plain)
