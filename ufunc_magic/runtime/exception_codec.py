"""Exceptions of compiled functions that came as text: made again without the library that compiled them."""

from __future__ import annotations

import builtins
import functools
import importlib
import json
from collections.abc import Sequence
from typing import Any

__all__ = ["exception"]


def exception(text: str, given: tuple[Any, ...] = ()) -> BaseException:
    """The exception that ``text`` describes.

    Parameters
    ----------
    text : str
        JSON: ``"class"``, module and name of the class and of its bases, nearest first; ``"arguments"``.
    given : tuple
        Values of the arguments ``{"given": n}``.
    """
    said = json.loads(text)
    kind = _class(tuple(map(tuple, said["class"])))
    return kind(*(_value(argument, given) for argument in said["arguments"]))


@functools.cache
def _class(names: Sequence[Sequence[str]]) -> type[BaseException]:
    """The class of the first name; where this process lacks it, one of that name below the first base that is here."""
    missing: list[str] = []
    for module, name in names:
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            missing = missing or [module, name]
            continue
        if isinstance(found, type) and issubclass(found, BaseException):
            if not missing:
                return found
            return type(missing[1].rpartition(".")[2], (found,), {"__module__": missing[0]})
    return builtins.RuntimeError


def _value(value: Any, given: tuple[Any, ...]) -> Any:
    match value:
        case {"given": int(n)}:
            return given[n]
        case {"complex": [real, imag]}:
            return complex(real, imag)
        case {"bytes": str(text)}:
            return text.encode("latin-1")
        case {"tuple": list(values)}:
            return tuple(_value(v, given) for v in values)
        case _:
            return value
