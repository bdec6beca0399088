"""C cells that become real NumPy ufuncs; this module is the list of public names, loaded when used.

``%load_ext ufunc_magic`` gives the magics, ``ufunc_magic.compile_c(source)`` the same without a
notebook.  Importing the package loads none of its modules: they come with the first name that is
asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .api import c_ufunc, compile_c, compile_cuda, compile_cython, doctor, dumps, from_numba, loads
    from .bench import compare
    from .interop.hosts import address, get_include, write_header
    from .model import (
        ArgumentError,
        CacheError,
        CellCrashed,
        ComparisonError,
        CompileError,
        Diagnostic,
        LinkError,
        OptionError,
        ParseError,
        SignatureError,
        TargetError,
        ToolchainError,
        UfuncMagicError,
    )
    from .store import Cache

    cache: Cache

__all__ = [
    "ArgumentError",
    "CacheError",
    "CellCrashed",
    "ComparisonError",
    "CompileError",
    "Diagnostic",
    "LinkError",
    "OptionError",
    "ParseError",
    "SignatureError",
    "TargetError",
    "ToolchainError",
    "UfuncMagicError",
    "address",
    "c_ufunc",
    "cache",
    "compare",
    "compile_c",
    "compile_cuda",
    "compile_cython",
    "doctor",
    "dumps",
    "from_numba",
    "get_include",
    "interop",
    "load_ipython_extension",
    "loads",
    "unload_ipython_extension",
    "write_header",
]

#: Public name -> the room that defines it.
_HOMES = {
    **dict.fromkeys(
        ("c_ufunc", "compile_c", "compile_cuda", "compile_cython", "doctor", "dumps", "from_numba", "loads"),
        "api",
    ),
    "compare": "bench",
    **dict.fromkeys(("address", "get_include", "write_header"), "interop.hosts"),
    **{name: "model" for name in __all__ if name[0].isupper()},
}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics: what ``%load_ext ufunc_magic`` calls."""
    from .notebook import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again: what ``%unload_ext ufunc_magic`` calls."""
    from .notebook import unload

    unload(shell)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    if name == "interop":
        return importlib.import_module(".interop", __name__)
    if name == "cache":
        from . import store

        return store.default()
    if name == "__version__":
        from importlib.metadata import version

        return version("ufunc_magic")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
