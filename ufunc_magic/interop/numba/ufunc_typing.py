"""Which loop a ufunc of ours takes in compiled code, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.core.datamodel.models import OpaqueModel
from numba.core.errors import NumbaTypeError
from numba.core.typing.npydecl import Numpy_rules_ufunc
from numba.extending import NativeValue, register_model, unbox
from numba.np.numpy_support import _ufunc_loop_sig, as_dtype

from ...model import TYPES
from .core_calls import result_types
from .loop_symbols import Linked, loop_types

__all__ = ["Rules", "Ufunc", "choose"]


class Ufunc(types.Function):  # type: ignore[misc]
    """A ufunc of ours, as a global of compiled code or given to it."""


register_model(Ufunc)(OpaqueModel)


@unbox(Ufunc)  # type: ignore[untyped-decorator]
def _given(kind: Any, function: Any, context: Any) -> Any:
    # Which ufunc it is, its type says.
    return NativeValue(context.context.get_dummy_value())


class Rules(Numpy_rules_ufunc):  # type: ignore[misc]
    """The typing rules of one ufunc; Numba makes an object of it for each call that it types."""

    link: Linked

    def generic(self, args: Sequence[Any], kws: Any) -> Any:
        name = self.link.ufunc.__name__
        if kws:
            raise NumbaTypeError(f"{name}: compiled code takes no {', '.join(kws)}=. Give out by position.")
        plain = [types.unliteral(a.type if isinstance(a, types.Optional) else a) for a in args]
        if self.link.code.core:
            return self._with_cores(plain)
        kinds, given, ndim, layout = self._handle_inputs(self.link.ufunc, plain, kws)
        loop = choose(self.link, plain, kinds)
        if loop is None:
            raise self._refusal(plain)
        results = loop_types(self.link.code.loops[loop])[self.link.code.nin + len(given) :]
        if ndim:
            results = tuple(types.Array(dtype=kind, ndim=ndim, layout=layout) for kind in results)
        return _ufunc_loop_sig([*given, *results], plain)

    def _with_cores(self, plain: Sequence[Any]) -> Any:
        if len(plain) != self.link.code.nin:
            raise NumbaTypeError(
                f"{self.link.ufunc.__name__} takes {self.link.code.nin} arguments, not {len(plain)}. "
                "Where it has core dimensions, compiled code cannot give outputs."
            )
        kinds = [a.dtype if isinstance(a, types.ArrayCompatible) else a for a in plain]
        loop = choose(self.link, plain, kinds)
        if loop is None:
            raise self._refusal(plain)
        return _ufunc_loop_sig(result_types(self.link, plain, loop), plain)

    def _refusal(self, plain: Sequence[Any]) -> NumbaTypeError:
        given, loops = ", ".join(map(str, plain)), ", ".join(self.link.ufunc.types)
        return NumbaTypeError(f"{self.link.ufunc.__name__} has no loop for ({given}). Its loops: {loops}.")


def choose(link: Linked, arguments: Sequence[Any], kinds: Sequence[Any]) -> int | None:
    """The place of the loop for arguments of these Numba types, ``kinds`` the types of their elements.

    The first to which every input casts safely; else the first that takes scalars by kind, as NumPy takes Python's
    numbers (compiled code knows those only as int64 and float64), and integers of any size.
    """
    inputs = list(zip(arguments, kinds, strict=True))[: link.code.nin]
    if not all(isinstance(kind, types.Number | types.Boolean) for _, kind in inputs):
        return None
    for lenient in (False, True):
        for place, loop in enumerate(link.code.loops):
            if not loop_types(loop):
                continue
            wanted = [np.dtype(TYPES[number].char) for number in loop.types]
            if all(
                np.can_cast(as_dtype(kind), dtype)
                or (lenient and _takes(dtype.kind, as_dtype(kind).kind, scalar=argument is kind))
                for (argument, kind), dtype in zip(inputs, wanted, strict=False)
            ):
                return place
    return None


def _takes(kind: str, given: str, *, scalar: bool) -> bool:
    if given in "iu":
        return kind in ("iufc" if scalar else "iu")
    return scalar and kind in {"f": "fc", "c": "c"}.get(given, "")
