"""The words a Cython cell may use, for advice about those it may not: what Cython ships and what it calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import Cython
from Cython.Compiler import Options

__all__ = ["cimport_of", "close_to", "directive_like", "members_like", "module_like", "type_like"]

_INCLUDES = Path(Cython.__file__).parent / "Includes"
#: Where a name of several headers is looked for first.
_FIRST = ("libc.math", "libc.stdlib", "libc.stdio", "libc.stdint", "libc.string", "libc.float", "libc.limits")
_FIRST_CPLUS = ("libcpp.vector", "libcpp.string", "libcpp.map", "libcpp.set", "libcpp.algorithm", "libcpp.cmath")
_TYPES = (
    "double float int long short char void bint size_t Py_ssize_t unsigned signed object complex str bytes list dict "
    "tuple set const struct enum union inline public api readonly ndarray"
).split()


def cimport_of(name: str, *, cplus: bool) -> str:
    """The module to cimport ``name`` from, ``"libc.math"``, or ``""``."""
    if cplus and (module := _table("libcpp", _FIRST_CPLUS).get(name)):
        return module
    return _table("libc", _FIRST).get(name) or _table("libcpp", _FIRST_CPLUS).get(name, "")


def close_to(name: str, words: Iterable[str], *, cutoff: float = 0.75) -> str:
    """The one of ``words`` that ``name`` may be a slip of, or ``""``."""
    found = get_close_matches(name, sorted(set(words) - {name}), n=1, cutoff=cutoff)
    return found[0] if found and len(name) > 2 else ""


def type_like(name: str, cell: str) -> str:
    """The C type, or type of the cell, that ``name`` may be a slip of, or ``""``."""
    own = re.findall(r"\b(?:ctypedef\s+[\w\s*]*?|(?:class|struct|enum|union|fused)\s+)(\w+)\s*(?::|$)", cell, re.M)
    return close_to(name, [*_TYPES, *own])


def directive_like(name: str) -> str:
    """The name in the module ``cython`` that ``name`` may be a slip of, or ``""``."""
    known = [*Options._directive_defaults, *"inline locals returns ufunc cclass cfunc ccall nogil".split()]
    return f"cython.{like}" if (like := close_to(name, known)) else ""


def members_like(module: str, name: str) -> str:
    """The name in a module of Cython's that ``name`` may be a slip of, or ``""``."""
    path = _INCLUDES.joinpath(*module.split("."))
    if not path.with_suffix(".pxd").exists():
        path = path / "__init__"
    path = path.with_suffix(".pxd")
    return close_to(name, _declared(path), cutoff=0.66) if path.exists() else ""


def module_like(name: str) -> str:
    """The module of Cython's that ``name`` may be a slip of, or ``""``."""
    own = [module for module in _modules() if module.endswith(f".{name}")]
    return own[0] if own else close_to(name, _modules())


@cache
def _modules() -> tuple[str, ...]:
    parts = (path.relative_to(_INCLUDES).with_suffix("").parts for path in sorted(_INCLUDES.rglob("*.pxd")))
    return tuple(".".join(p for p in names if p != "__init__") for names in parts)


@cache
def _table(package: str, first: tuple[str, ...]) -> dict[str, str]:
    """Name -> module that declares it."""
    found: dict[str, str] = {}
    modules = [m for m in _modules() if m.startswith(f"{package}.")]
    for module in sorted(modules, key=lambda m: (first.index(m) if m in first else len(first), m)):
        path = _INCLUDES.joinpath(*module.split(".")).with_suffix(".pxd")
        for name in _declared(path):
            found.setdefault(name, module)
    return found


@cache
def _declared(path: Path) -> frozenset[str]:
    """Names that a declaration file declares at its own level, as far as its lines show."""
    names: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].rstrip()
        if not re.match(r" {0,4}\S", line) or re.match(r"\s*(?:from|cimport|import)\b", line):
            continue
        found = next((m for pattern in _DECLARATIONS if (m := re.match(pattern, line))), None)
        if found:
            names.add(found[1])
    return frozenset(names)


_DECLARATIONS = (
    r"\s*(?:cdef\s+)?(?:cppclass|struct|union|enum|class|ctypedef\s+struct)\s+(\w+)",
    r"[\w\s*&<>,.\[\]]*?\b(\w+)\s*(?:\[[^\]]*\])?\s*(?:\"[^\"]*\")?\s*\(",
    r"\s+(?:ctypedef |const |enum: ?)?(?:[\w*]+ +)*[*]*(\w+)(?:\s*\"[^\"]*\")?$",
)
