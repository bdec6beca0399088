"""Source text to functions, and the unit of C that they are compiled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .frontend import Backend as Backend, compiler_flags as compiler_flags
    from .native import described as described, driver as driver, narrow as narrow, storage as storage
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "frontend": "Backend compiler_flags",
            "native": "described driver narrow storage",
        },
    )
