"""The stub file of a module that is saved: types and docstrings for editors and type checkers.  Pure."""

from __future__ import annotations

import builtins
import inspect
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime import DefFunction, PlainFunction

#: Words of C's types that are Python's numbers.  A ``char`` is bytes for cffi.
_NUMBERS = {
    **dict.fromkeys("float double".split(), "float"),
    **dict.fromkeys("int long short unsigned signed size_t ssize_t ptrdiff_t intptr_t uintptr_t".split(), "int"),
    **{f"{sign}int{bits}_t": "int" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("_Bool", "bool"), "bool"),
    "void": "None",
}


def write_stubs(exports: Mapping[str, Any]) -> str:
    """``__init__.pyi`` of functions, classes and constants by name."""
    bodies = [line for name, value in exports.items() for line in _write_stub(name, value)]
    text = "\n".join(bodies)
    imports = [f"from typing import {', '.join(w for w in ('Any', 'Protocol') if w in text)}"] if "Any" in text else []
    imports += ["", "import numpy"] if "numpy." in text else []
    return "\n".join([*imports, "", f"__all__ = {sorted(exports)!r}".replace("'", '"'), "", text, ""]).lstrip("\n")


def _write_stub(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, np.ufunc):
        yield from (f"{name}: numpy.ufunc", *_write_docstring(value.__doc__, ""))
    elif isinstance(value, DefFunction):
        yield f"class _Def_{name}(Protocol):"
        yield "    ufunc: numpy.ufunc"
        yield f"    def __call__({_write_parameters(value, first='self')}) -> Any: ..."
        yield from (f"{name}: _Def_{name}", *_write_docstring(value.__doc__, ""))
    elif isinstance(value, type):
        yield f"class {name}:"
        yield from _write_docstring(value.__doc__, "    ")
        yield "    def __init__(self, *args: Any, **keywords: Any) -> None: ..."
        yield "    def __getattr__(self, name: str) -> Any: ..."
    elif isinstance(value, PlainFunction):
        yield f"def {name}({_write_c_parameters(value)}) -> {_spell_python_type(value.prototype.partition('(*)')[0])}:"
        yield from (*_write_docstring(value.__doc__, "    "), "    ...")
    elif inspect.isroutine(value) or (callable(value) and not _is_launched(value)):
        yield f"def {name}({_write_parameters(value)}) -> Any:"
        yield from (*_write_docstring(value.__doc__, "    "), "    ...")
    else:
        kind = type(value).__name__
        known = vars(builtins).get(kind) is type(value) and type(value) in (int, float, complex, bool, str, bytes)
        yield f"{name}: {kind if known else 'Any'}"
        if callable(value):
            yield from _write_docstring(value.__doc__, "")


def _is_launched(value: Any) -> bool:
    """Whether it is called as a kernel is, ``k[grid, block](...)``."""
    return hasattr(value, "__getitem__")


def _write_c_parameters(function: PlainFunction) -> str:
    """``x: float, n: int, /``; only the names where a parameter is a function."""
    inside = function.prototype.partition("(*)")[2].strip()[1:-1]
    types = [] if inside == "void" else inside.split(",")
    try:
        names = [*inspect.signature(function).parameters]
    except (ValueError, TypeError):
        return "*args: Any"
    names = [f"{n}_" if keyword.iskeyword(n) else n for n in names]
    if "(" in inside or len(names) != len(types):
        types = [""] * len(names)
    listed = [f"{n}: {_spell_python_type(t)}" for n, t in zip(names, types, strict=True)]
    return ", ".join([*listed, *["/"] * bool(listed)])


def _spell_python_type(c_type: str) -> str:
    """Spell the Python type of a C number; ``Any`` for pointers, structures and types that only the cell knows."""
    words = c_type.replace("const", "").replace("volatile", "").split()
    kinds = {_NUMBERS.get(word, "Any") for word in words if word != "_Complex"}
    if "_Complex" in words:
        return "complex"
    return kinds.pop() if len(kinds) == 1 else "float" if words == ["long", "double"] else "Any"


def _write_parameters(value: Any, *, first: str = "") -> str:
    """The parameter list, defaults as ``...``; ``*args, **keywords`` where Python cannot tell."""
    try:
        parameters = [*inspect.signature(value).parameters.values()]
    except (ValueError, TypeError):
        parameters = [inspect.Parameter("args", _VARIABLE), inspect.Parameter("keywords", _KEYWORDS)]
    any_type, default = _Text("Any"), _Text("...")
    parameters = [
        p.replace(annotation=any_type, default=p.empty if p.default is p.empty else default) for p in parameters
    ]
    listed = str(inspect.Signature(parameters))[1:-1]
    return ", ".join(filter(None, (first, listed)))


_VARIABLE, _KEYWORDS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class _Text(str):
    """A text that a signature shows without quotes."""

    __repr__ = str.__str__


def _write_docstring(text: str | None, indent: str) -> list[str]:
    """The lines of a docstring; none where there is no text."""
    if not isinstance(text, str) or not text.strip():
        return []
    plain = inspect.cleandoc(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if plain.endswith('"'):
        plain = f'{plain[:-1]}\\"'
    lines = plain.splitlines()
    body = [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:])]
    if len(lines) == 1:
        return [f'{body[0]}"""']
    return [*body, f'{indent}"""']
