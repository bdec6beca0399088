"""Other libraries' functions and arrays, each library imported only where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arrays import asarray as asarray, ascapsule as ascapsule, pointer as pointer
    from .hosts import ctypes_function as ctypes_function, lowlevel as lowlevel, prototype as prototype
    from .import_hooks import attach as attach
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "arrays": "asarray ascapsule pointer",
            "hosts": "ctypes_function lowlevel prototype",
            "import_hooks": "attach",
        },
    )
