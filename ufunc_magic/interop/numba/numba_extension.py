"""Ufuncs of ours inside Numba's ``@njit``, ``@vectorize`` and ``prange``: typed as NumPy's own, called as machine code.

`attach` makes it so from the moment when numba is imported, and imports nothing itself; `install` does it now, and is
what the entry point ``numba_extensions`` names.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from ...runtime import origin_of
from ..import_hooks import when_imported

__all__ = ["attach", "install"]

#: Where a ufunc keeps its Numba type.
_TYPE = "__ufm_numba_type__"


def attach() -> None:
    """Let compiled functions call our ufuncs, now or as soon as numba is imported."""
    when_imported("numba", install)


@cache
def install() -> None:
    """Register with the numba of this process."""
    try:
        _install()
    except (ImportError, AttributeError) as fault:
        warnings.warn(
            f"Functions of Numba's cannot call ufuncs of cells: numba {version('numba')} lacks what that needs "
            f"({fault}). Install a version that this ufunc_magic knows: pip install 'ufunc_magic[numba]'.",
            stacklevel=2,
        )


def _install() -> None:
    from numba.core.typing.typeof import typeof_impl

    from . import ufunc_calls  # it imports Numba's internals: all of them must be there

    assert ufunc_calls
    before = typeof_impl.dispatch(np.ufunc)

    def typeof_ufunc(value: np.ufunc, context: Any) -> Any:
        found = numba_type(value)
        return before(value, context) if found is None else found

    typeof_impl.register(np.ufunc, typeof_ufunc)


def numba_type(function: np.ufunc) -> Any:
    """What Numba knows a ufunc of ours by: a kind of ``numba.types.Function``; None for another's."""
    known = function.__dict__.get(_TYPE)
    if known is None and origin_of(function) is not None:
        from numba.core import types
        from numba.core.registry import cpu_target

        from . import core_calls, ufunc_calls
        from .loop_symbols import linked
        from .ufunc_typing import Rules, Ufunc

        link = linked(function)
        key = link.prefix
        made = type(f"Typing_{function.__name__}", (Rules,), {"key": key, "link": link})
        anything = (types.VarArg(types.Any),)
        lowering = core_calls.lowering if link.code.core else ufunc_calls.lowering
        cpu_target.target_context.insert_func_defn([(lowering(link), key, anything)])
        known = function.__dict__[_TYPE] = Ufunc(made)
    return known
