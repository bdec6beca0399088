"""Write C in a cell and get real NumPy ufuncs.  This module lists the public names and loads them on first use.

``%load_ext ufunc_magic`` loads the magics; ``ufunc_magic.compile_c(source)`` does the same without a notebook.
Importing the package loads none of its modules: each loads when one of its names is first used.
"""

import lazy_loader

_load_name, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["cache", "load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell):
    """Register the magics; ``%load_ext ufunc_magic`` calls this."""
    from .notebook import load

    load(shell)


def unload_ipython_extension(shell):
    """Remove the magics; ``%unload_ext ufunc_magic`` calls this."""
    from .notebook import unload

    unload(shell)


def __getattr__(name: str) -> object:
    if name == "cache":
        from . import store

        return store.open_default()
    if name == "__version__":
        from importlib.metadata import version

        return version("ufunc_magic")
    if name in __all__:
        return _load_name(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
