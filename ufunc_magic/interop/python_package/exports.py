"""Functions that somebody wants in a module: which cells they come from, and what else of those is meant."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ...model import SaveError, find_language_key
from ...runtime import Build, LoadedObject, find_origin


@dataclass(frozen=True, eq=False)
class ModuleMember:
    """One name of a module.

    Attributes
    ----------
    name : str
    own : str
        Its name in the cell.
    loaded : LoadedObject
        The cell.
    value : object
        A function, a class or a constant.
    """

    name: str
    own: str
    loaded: LoadedObject = field(repr=False)
    value: Any = field(repr=False)


def resolve_exports(functions: Any) -> tuple[ModuleMember, ...]:
    """Resolve what to save: all of a Build, one function, several, or names with a function or Build each.

    Raises
    ------
    SaveError
        If something is not of a cell, cannot be compiled again, or two have one name.
    """
    listed = list(_yield_exports(functions))
    if not listed:
        raise SaveError("There is nothing to save.", remedy="Pass a Build, or functions of cells.")
    names: dict[str, ModuleMember] = {}
    for member in listed:
        other = names.setdefault(member.name, member)
        if other.loaded is not member.loaded or other.own != member.own:
            raise SaveError(
                f"Two functions have the name {member.name}: one in {_name_cell(other)}, one in {_name_cell(member)}.",
                remedy="Rename one of them, or name the functions to save.",
            )
        if not member.name.isidentifier() or keyword.iskeyword(member.name):
            raise SaveError(
                f"{member.name!r} cannot be a name in a module.",
                remedy=f'Give it another name: save_module({{"{member.name}_": f}}, ...).',
            )
        _check_origin(member)
    return tuple(names.values())


def _yield_exports(functions: Any, name: str = "") -> Iterator[ModuleMember]:
    if isinstance(functions, Build):
        yield from (
            ModuleMember(n, n, functions.loaded, value) for n, value in functions.items() if _is_own(value, functions)
        )
    elif origin := find_origin(functions):
        yield ModuleMember(name or origin.name, origin.name, origin.loaded, functions)
    elif isinstance(functions, Mapping):
        for label, value in functions.items():
            yield from _yield_exports(value, str(label))
    elif isinstance(functions, Iterable) and not isinstance(functions, str | bytes | np.ndarray):
        for value in functions:
            yield from _yield_exports(value)
    else:
        what = name or f"{functions!r:.80}"
        remedy = "Pass a ufunc, a function or a class of a cell, or a Build."
        if type(functions).__module__.partition(".")[0] == "numba":
            remedy = "Numba's functions are saved with its own cache; um.dumps(f) gives their machine code."
        raise SaveError(f"{what} does not come from a cell.", remedy=remedy)


def _is_own(value: Any, build: Build) -> bool:
    """Whether something that a cell's module has is its own, and not what the cell imports."""
    if isinstance(value, ModuleType):
        return False
    if find_origin(value) is not None or not (inspect.isroutine(value) or isinstance(value, type | np.ufunc)):
        return True
    return getattr(value, "__module__", "") == build.loaded.object_code.module


def _check_origin(member: ModuleMember) -> None:
    code = member.loaded.object_code
    if not find_language_key(code.language):
        raise SaveError(
            f"{member.name} comes from {code.language}, so there is no source to compile.",
            remedy="um.dumps(f) gives its machine code.",
        )
    if not code.source:
        raise SaveError(f"{member.name} has no source.", remedy="Save it where its cell was compiled.")
    if not re.fullmatch(r"\w+", member.own):
        raise SaveError(f"{member.own} belongs to a class.", remedy=f"Save the class, {member.own.partition('.')[0]}.")


def _name_cell(member: ModuleMember) -> str:
    return member.loaded.object_code.name
