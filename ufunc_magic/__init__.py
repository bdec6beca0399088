"""C cells that become real NumPy ufuncs; this module is the list of public names, loaded when used.

``%load_ext ufunc_magic`` gives the magics, ``ufunc_magic.compile_c(source)`` the same without a
notebook.  Importing the package loads none of its modules: they come with the first name that is
asked for.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .build import c_ufunc, compile_c, compile_cuda, compile_cython
    from .cheader import get_include, write_header
    from .errors import (
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
    from .exchange import dumps, from_numba, loads
    from .interop.address import address

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

#: Public name -> the module that defines it.
_HOMES = {
    "address": "interop.address",
    "c_ufunc": "build",
    "compile_c": "build",
    "compile_cuda": "build",
    "compile_cython": "build",
    "dumps": "exchange",
    "from_numba": "exchange",
    "get_include": "cheader",
    "loads": "exchange",
    "write_header": "cheader",
    **{name: "errors" for name in __all__ if name[0].isupper()},
}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics: what ``%load_ext ufunc_magic`` calls."""
    from .magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again: what ``%unload_ext ufunc_magic`` calls."""
    from .magics import unload

    unload(shell)


class _CallableModule(ModuleType):
    """``compare`` and ``doctor``: modules that are also the function they are for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, _FUNCTIONS[self.__name__.rpartition(".")[2]])(*args, **kwargs)


class _CacheModule(ModuleType):
    """``cache``: a module that also answers for the cache in use (``um.cache.path``)."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "default" not in self.__dict__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self.default(), name)


_FUNCTIONS = {"compare": "compare", "doctor": "diagnose"}
_KINDS: dict[str, type[ModuleType]] = {"compare": _CallableModule, "doctor": _CallableModule, "cache": _CacheModule}


class _Package(ModuleType):
    """This package.

    Three public names are the names of modules too, and the import system binds a module to its
    package whenever anybody imports it.  So those modules learn to answer as the public object:
    https://docs.python.org/3/reference/datamodel.html#customizing-module-attribute-access
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _KINDS and isinstance(value, ModuleType):
            value.__class__ = _KINDS[name]
        super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    if name in _KINDS or name == "interop":
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        from importlib.metadata import version

        return version("ufunc_magic")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


sys.modules[__name__].__class__ = _Package
