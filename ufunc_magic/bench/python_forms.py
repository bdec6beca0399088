"""The Python forms of a function, run: the texts that were written of a cell's function, as callables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..model import CellFunction
from ..python_form import namespace as python_names

__all__ = ["Forms", "forms", "made"]


@dataclass(frozen=True)
class Forms:
    """The Python forms of a function, ready to call; None where there is none."""

    python: Callable[..., Any] | None = None
    checked: Callable[..., Any] | None = None
    vector: Callable[..., Any] | None = None


def forms(code: CellFunction) -> Forms:
    """Run the module texts that ``pyloop`` wrote; they were made of this cell's own words."""
    if not code.python:
        return Forms()
    vector = made(code, code.vector, "vector") if code.vector else None
    return Forms(
        made(code, code.python, "timing"), made(code, code.checked, "verify") if code.checked else None, vector
    )


def made(code: CellFunction, text: str, kind: Any) -> Callable[..., Any]:
    """The function of one text."""
    names = python_names(kind)
    exec(compile(text, f"<{code.name} in Python>", "exec"), names)
    function: Callable[..., Any] = names[code.python_name]  # type: ignore[assignment]
    return function
