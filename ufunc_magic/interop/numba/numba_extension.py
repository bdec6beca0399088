"""Ufuncs of ours inside Numba's ``@njit``, ``@vectorize`` and ``prange``: typed as NumPy's, called as machine code."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from ...runtime import DefFunction, find_origin


@cache
def install() -> None:
    """Register with the numba of this process: what the entry point ``numba_extensions`` names."""
    try:
        _install()
    except (ImportError, AttributeError) as fault:
        warnings.warn(
            f"Numba functions cannot call ufuncs from cells: numba {version('numba')} lacks a needed feature "
            f"({fault}). Install a supported version: pip install 'ufunc_magic[numba]'.",
            stacklevel=2,
        )


def _install() -> None:
    from numba.core import types
    from numba.core.registry import cpu_target
    from numba.core.typing.typeof import typeof_impl

    # They import Numba's internals: all of them must be there.
    from . import _private, ufunc_calls, ufunc_typing

    _private.check_calls()
    of_others = typeof_impl.dispatch(np.ufunc)

    @cache
    def numba_type(ufunc: np.ufunc) -> Any:
        link = ufunc_typing.link_of(ufunc)
        anything = (types.VarArg(types.Any),)
        cpu_target.target_context.insert_func_defn([(ufunc_calls.make_lowering(link), link.prefix, anything)])
        return ufunc_typing.UfuncType(link)

    def typeof_ufunc(value: np.ufunc, context: Any) -> Any:
        return of_others(value, context) if find_origin(value) is None else numba_type(value)

    def typeof_def(value: DefFunction, context: Any) -> Any:
        return numba_type(value.ufunc)

    typeof_impl.register(np.ufunc, typeof_ufunc)
    typeof_impl.register(DefFunction, typeof_def)
