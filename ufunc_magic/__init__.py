"""Write C in a cell and get real NumPy ufuncs.  This module lists the public names and loads them on first use.

``%load_ext ufunc_magic`` loads the magics; ``ufunc_magic.compile_c(source)`` does the same without a notebook.
Importing the package loads none of its modules: each loads when one of its names is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .api import (
        c_ufunc as c_ufunc,
        compile_c as compile_c,
        compile_cuda as compile_cuda,
        compile_cython as compile_cython,
        doctor as doctor,
        dtype_of as dtype_of,
        dumps as dumps,
        from_numba as from_numba,
        loads as loads,
        save_module as save_module,
        wrap_header as wrap_header,
    )
    from .bench import compare as compare
    from .interop.hosts import address as address, get_include as get_include, write_header as write_header
    from .model import (
        ArgumentError as ArgumentError,
        CacheError as CacheError,
        CellAssertionError as CellAssertionError,
        CellCrashed as CellCrashed,
        CellExited as CellExited,
        ComparisonError as ComparisonError,
        CompileError as CompileError,
        Diagnostic as Diagnostic,
        LinkError as LinkError,
        OptionError as OptionError,
        ParseError as ParseError,
        SaveError as SaveError,
        SignatureError as SignatureError,
        TargetError as TargetError,
        ToolchainError as ToolchainError,
        UfuncMagicError as UfuncMagicError,
    )
    from .store import Cache

    cache: Cache

#: Room -> the public names that it defines.
_ROOMS = {
    "api": (
        "c_ufunc compile_c compile_cuda compile_cython doctor dtype_of dumps from_numba loads save_module wrap_header"
    ),
    "bench": "compare",
    "interop.hosts": "address get_include write_header",
    "model": (
        "ArgumentError CacheError CellAssertionError CellCrashed CellExited ComparisonError CompileError Diagnostic "
        "LinkError OptionError ParseError SaveError "
        "SignatureError TargetError ToolchainError UfuncMagicError"
    ),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = ["cache", "interop", "load_ipython_extension", "unload_ipython_extension", *_HOMES]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; ``%load_ext ufunc_magic`` calls this."""
    from .notebook import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics; ``%unload_ext ufunc_magic`` calls this."""
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
