"""Exceptions in Numba's object code: from its pickles to text that any Python raises without Numba.

Numba's ``excinfo`` (``numba/core/callconv.py``) points at a pickled ``(class, arguments, place)``.  The pickle may
need Numba, llvmlite or Numba's own cloudpickle, so it is replaced by JSON: the class and its bases by name, the
arguments by value, ``{"given": n}`` for one that is known only when it is raised (`runtime.exception_codec` reads it).
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["as_text", "with_texts"]

_PICKLE = re.compile(r'^(@\S*const\.pickledata\.(?!\S*sha1)\S+ = .*?constant )\[\d+ x i8\] c"([^"]*)"', re.M)
_ENVIRONMENT = re.compile(r"^(@_ZN08NumbaEnv\S+ = )(?:[a-z_]+ )*global ptr null(, align \d+)?", re.M)


def with_texts(assembly: str) -> str:
    """LLVM assembly with its pickled exceptions as NUL-terminated JSON.

    An "environment" holds the constants of functions that box Python objects.  Ours box numbers, which only
    look whether there is one; what would read it calls functions that are refused later.
    """
    return _PICKLE.sub(_replaced, _ENVIRONMENT.sub(r"\1internal constant ptr inttoptr (i64 1 to ptr)", assembly))


def _replaced(found: re.Match[str]) -> str:
    from numba.core import serialize

    # LLVM writes a backslash as two.
    escapes = re.compile(rb"\\(\\|[0-9A-F]{2})")
    data = escapes.sub(lambda m: m[1] if m[1] == b"\\" else bytes([int(m[1], 16)]), found[2].encode("latin-1"))
    said = serialize.loads(data)
    if not (isinstance(said, tuple) and isinstance(said[0], type | None)):  # of "with objmode", which is refused later
        return found[0]
    text = as_text(*said[:2]).encode("ascii") + b"\0"
    escaped = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in text)
    return f'{found[1]}[{len(text)} x i8] c"{escaped}"'


def as_text(kind: type[BaseException] | None, arguments: tuple[Any, ...] | None) -> str:
    """The exception as JSON."""
    if kind is None:  # a bare "raise" where there is nothing to raise again
        kind, arguments = RuntimeError, ("No active exception to reraise",)
    bases = [[base.__module__, base.__qualname__] for base in kind.__mro__ if issubclass(base, BaseException)]
    given = iter(range(len(arguments or ())))
    return json.dumps({"class": bases, "arguments": [_value(a, given) for a in arguments or ()]})


def _value(value: Any, given: Any) -> Any:
    from llvmlite.ir import Value

    match value:
        case None | bool() | int() | float() | str():
            return value
        case complex():
            return {"complex": [value.real, value.imag]}
        case bytes():
            return {"bytes": value.decode("latin-1")}
        case tuple():
            return {"tuple": [_value(v, given) for v in value]}
        case Value():
            return {"given": next(given)}
        case _:
            item = getattr(value, "item", None)  # NumPy's scalars
            return _value(item(), given) if item else repr(value)
