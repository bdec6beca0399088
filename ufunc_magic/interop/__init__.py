"""Other libraries' functions and arrays, each library imported only where it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .address import ctypes_function, lowlevel, prototype
    from .pointers import asarray, ascapsule, pointer

__all__ = ["asarray", "ascapsule", "ctypes_function", "lowlevel", "pointer", "prototype"]

#: Public name -> the module that defines it.
_HOMES = {
    **dict.fromkeys(("asarray", "ascapsule", "pointer"), "pointers"),
    **dict.fromkeys(("ctypes_function", "lowlevel", "prototype"), "address"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        # Bound here, so that the next call finds it without this function.
        found = globals()[name] = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
