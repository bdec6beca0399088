"""Functions of a cell that are no ufuncs: which can be bound, what points to them, what cffi has to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ... import cells
from ...cells import Plain
from ...model import (
    CellFunction,
    ConstReferenceParameter,
    ContainerParameter,
    Function,
    ReferenceParameter,
    Unit,
    mark_line,
)

#: Words of types that no cell gives another meaning.
BUILTIN = frozenset("void bool char signed unsigned short int long float double".split())


def find_bindable(plains: Iterable[Plain], *, taken: Iterable[str], unit: Unit) -> tuple[list[Plain], list[str]]:
    """Those that a pointer can go to and that have a Python name, and why the others are not bound.

    Parameters
    ----------
    plains : iterable of Plain
    taken : iterable of str
        Names of the ufuncs.
    unit : Unit
        Where overloads are, which C++ alone has, as templates.
    """
    names = Counter(map(qualify_name, unit.functions))
    known, bound, notes = {*taken}, list[Plain](), list[str]()
    if unit.untyped:
        untyped = ", ".join(unit.untyped)
        notes.append(
            f"no ufunc is made of {untyped}: a template of a pack or of numbers has no types to make loops for"
        )
    for plain in plains:
        function = plain.function
        overloaded = names[qualify_name(function)] > 1
        if function.template:
            notes.append(
                f"{plain.name} is a template that cannot be a ufunc ({plain.reason}): nothing is made of it alone"
            )
        elif (overloaded and not _can_be_cast(function)) or plain.name in known:
            place = f"{plain.name} on line {mark_line(function.line)}"
            notes.append(f"{place} is overloaded and cannot be a ufunc ({plain.reason}): give it a name of its own")
        else:
            bound.append(plain)
            known.add(plain.name)
    return bound, notes


def qualify_name(function: Function) -> str:
    """``"phys::energy"``."""
    return "::".join([*function.scope, function.name])


def write_pointer(function: Function, unit: Unit) -> str:
    """An expression that is a pointer to the function."""
    name = qualify_name(function)
    if [*map(qualify_name, unit.functions)].count(name) == 1:
        return f"&{name}"
    types = ", ".join(p.spelled for p in function.parameters)
    return f"static_cast<{function.returns} (*)({types})>(&{name})"


def _can_be_cast(function: Function) -> bool:
    """Whether its types mean the same everywhere in the cell, and are read whole, so that a cast can spell them."""
    words = {word for text in (function.returns, *(p.type for p in function.parameters)) for word in text.split()}
    references = ConstReferenceParameter, ContainerParameter, ReferenceParameter
    single = all(p.pointer + bool(p.shape) < 2 and not isinstance(p, references) for p in function.parameters)
    return single and "volatile" not in function.text and words - {"*"} <= BUILTIN


def make_plain_entries(plains: Sequence[Plain], types: str) -> list[CellFunction]:
    """Their entries in the object code, with the types that cffi needs."""
    return [
        cells.make_native_entry(
            p.function,
            name=p.name,
            index=index,
            parameters=[parameter.name for parameter in p.function.parameters],
            declaration=f"{types}\n{cells.write_prototype(p.function)}",
            reason=(p.reason, p.remedy),
        )
        for index, p in enumerate(plains)
    ]
