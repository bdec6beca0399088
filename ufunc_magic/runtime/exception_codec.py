"""Exceptions of compiled functions that came as text: made again without the library that compiled them."""

from __future__ import annotations

import builtins
import functools
import importlib
import json
from collections.abc import Sequence
from typing import Any


def exception(text: str, values: tuple[Any, ...] = ()) -> BaseException:
    """The exception that ``text`` describes.

    Parameters
    ----------
    text : str
        JSON: ``"class"``, module and name of the class and of its bases, nearest first; ``"arguments"``.
    values : tuple
        Values of the arguments ``{"given": n}``.
    """
    description = json.loads(text)
    kind = _class(tuple(map(tuple, description["class"])))
    return kind(*(_value(argument, values) for argument in description["arguments"]))


@functools.cache
def _class(names: Sequence[Sequence[str]]) -> type[BaseException]:
    """The class of the first name; where this process lacks it, one of that name below the first base that is here."""
    missing: list[str] = []
    for module, name in names:
        try:
            kind: Any = importlib.import_module(module)
            for part in name.split("."):
                kind = getattr(kind, part)
        except (ImportError, AttributeError):
            missing = missing or [module, name]
            continue
        if isinstance(kind, type) and issubclass(kind, BaseException):
            if not missing:
                return kind
            return type(missing[1].rpartition(".")[2], (kind,), {"__module__": missing[0]})
    return builtins.RuntimeError


def _value(value: Any, values: tuple[Any, ...]) -> Any:
    match value:
        case {"given": int(n)}:
            return values[n]
        case {"complex": [real, imag]}:
            return complex(real, imag)
        case {"bytes": str(text)}:
            return text.encode("latin-1")
        case {"tuple": list(items)}:
            return tuple(_value(item, values) for item in items)
        case _:
            return value
