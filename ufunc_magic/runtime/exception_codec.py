"""Makes exceptions of compiled functions from text, without the library that compiled the functions."""

from __future__ import annotations

import builtins
import functools
import importlib
import json
from collections.abc import Sequence
from typing import Any


def make_exception(text: str, values: tuple[Any, ...] = ()) -> BaseException:
    """The exception that ``text`` describes.

    Parameters
    ----------
    text : str
        JSON: ``"class"``, module and name of the class and of its bases, nearest first; ``"arguments"``.
    values : tuple
        Values of the arguments that are ``{"given": n}``.
    """
    description = json.loads(text)
    kind = _find_class(tuple(map(tuple, description["class"])))
    return kind(*(_read_value(argument, values) for argument in description["arguments"]))


@functools.cache
def _find_class(names: Sequence[Sequence[str]]) -> type[BaseException]:
    """The class of the first name; if this process lacks it, a new class of that name with the first known base."""
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


def _read_value(value: Any, values: tuple[Any, ...]) -> Any:
    match value:
        case {"given": int(n)}:
            return values[n]
        case {"complex": [real, imag]}:
            return complex(real, imag)
        case {"bytes": str(text)}:
            return text.encode("latin-1")
        case {"tuple": list(items)}:
            return tuple(_read_value(item, values) for item in items)
        case _:
            return value
