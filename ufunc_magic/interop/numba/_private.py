"""Numba's names that bear no promise, each in one function; tried with numba 0.61.2, 0.62.1 and 0.68.1.

Where a version lacks one, `numba_extension.install` warns that its functions cannot call ufuncs of cells, and
`from_numba` raises ToolchainError.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from numba.core.typing.npydecl import Numpy_rules_ufunc
from numba.np import npyimpl

from ...model import ToolchainError

__all__ = [
    "cast",
    "check_calls",
    "find_array_inputs",
    "find_dispatcher",
    "is_array_operand",
    "make_broadcast_output",
    "make_linkable_module",
    "make_operand",
]

# ------------------------------------------------------------------------ our ufuncs in compiled code


def check_calls() -> None:
    """Raise AttributeError now where calls of our ufuncs would meet it while they are compiled."""
    for name in ("_prepare_argument", "_build_array", "_ArrayHelper", "_Kernel"):
        getattr(npyimpl, name)
    getattr(Numpy_rules_ufunc, "_handle_inputs")  # noqa: B009


def find_array_inputs(rules: Any, ufunc: Any, arguments: Sequence[Any]) -> tuple[Sequence[Any], int, str]:
    """The outputs among the arguments; dimensions and layout of those that are to be made."""
    _, outputs, ndim, layout = rules._handle_inputs(ufunc, arguments, {})
    return outputs, ndim, layout


def make_operand(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    """A number or an array, with what loops over it need."""
    return npyimpl._prepare_argument(context, builder, value, kind)


def is_array_operand(value: Any) -> bool:
    return isinstance(value, npyimpl._ArrayHelper)


def make_broadcast_output(context: Any, builder: Any, kind: Any, kinds: Sequence[Any], operands: Sequence[Any]) -> Any:
    """A new array of the shape that the operands have together."""
    return npyimpl._build_array(context, builder, kind, kinds, operands)


def cast(context: Any, builder: Any, value: Any, kind: Any, to: Any) -> Any:
    """A number as NumPy converts it: of complex ones the real part."""
    return npyimpl._Kernel(context, builder, None).cast(value, kind, to)


# ------------------------------------------------------------------------------ Numba's functions as ours


def find_dispatcher(universal: Any) -> Any:
    """Return the dispatcher of a ufunc of ``@vectorize``."""
    return _find_attribute(universal, "_dispatcher")


def make_linkable_module(library: Any) -> Any:
    """A function's LLVM module with all that it calls; ``get_llvm_str()`` is empty for what came from Numba's cache."""
    return _find_attribute(library, "_get_module_for_linking")()


def _find_attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise ToolchainError(
            f"numba {version('numba')} has no {type(owner).__name__}.{name}, which ufunc_magic needs.",
            remedy="Install a supported version: pip install 'ufunc_magic[numba]'.",
        ) from None
