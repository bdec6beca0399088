"""Numba: our ufuncs inside its functions, its functions as our ufuncs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .from_numba import object_code as object_code
    from .numba_extension import install as install
    from .ufunc_typing import restored_link as restored_link
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "from_numba": "object_code",
            "numba_extension": "install",
            "ufunc_typing": "restored_link",
        },
    )
