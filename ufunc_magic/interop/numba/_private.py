"""Numba's names that bear no promise, each in one function; tried with numba 0.61.2 and 0.68.1.

One that a version lacks is a ToolchainError: `numba_extension.install` makes a warning of it, `from_numba` raises it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from ...model import ToolchainError

__all__ = [
    "array_inputs",
    "broadcast_output",
    "cast",
    "check_calls",
    "dispatcher_of",
    "is_array_operand",
    "linkable_module",
    "operand",
]


def _name_of(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        kind = getattr(owner, "__name__", type(owner).__name__)
        raise ToolchainError(
            f"numba {version('numba')} has no {kind}.{name}, which is needed.",
            remedy="Install a version that this ufunc_magic knows: pip install 'ufunc_magic[numba]'.",
        ) from None


def _npyimpl(name: str) -> Any:
    from numba.np import npyimpl

    return _name_of(npyimpl, name)


# ------------------------------------------------------------------------ our ufuncs in compiled code


def check_calls() -> None:
    """Raise what a call of a ufunc in compiled code would otherwise meet only when it is compiled."""
    from numba.core.typing.npydecl import Numpy_rules_ufunc

    for name in ("_prepare_argument", "_build_array", "_ArrayHelper", "_Kernel"):
        _npyimpl(name)
    _name_of(Numpy_rules_ufunc, "_handle_inputs")


def array_inputs(rules: Any, ufunc: Any, arguments: Sequence[Any]) -> tuple[Sequence[Any], int, str]:
    """The outputs among the arguments; dimensions and layout of those that are to be made."""
    _, outputs, ndim, layout = _name_of(rules, "_handle_inputs")(ufunc, arguments, {})
    return outputs, ndim, layout


def operand(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    """A number or an array, with what loops over it need."""
    return _npyimpl("_prepare_argument")(context, builder, value, kind)


def is_array_operand(value: Any) -> bool:
    return isinstance(value, _npyimpl("_ArrayHelper"))


def broadcast_output(context: Any, builder: Any, kind: Any, kinds: Sequence[Any], operands: Sequence[Any]) -> Any:
    """A new array of the shape that the operands have together."""
    return _npyimpl("_build_array")(context, builder, kind, kinds, operands)


def cast(context: Any, builder: Any, value: Any, kind: Any, to: Any) -> Any:
    """A number as NumPy converts it: of complex ones the real part."""
    return _npyimpl("_Kernel")(context, builder, None).cast(value, kind, to)


# ------------------------------------------------------------------------------ Numba's functions as ours


def dispatcher_of(universal: Any) -> Any:
    """The dispatcher behind a ufunc of ``@vectorize``."""
    return _name_of(universal, "_dispatcher")


def linkable_module(library: Any) -> Any:
    """A function's LLVM module with all that it calls; ``get_llvm_str()`` is empty for what came from Numba's cache."""
    return _name_of(library, "_get_module_for_linking")()
