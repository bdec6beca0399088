"""The functions of a Cython cell as plain Python: the cell itself with its types taken away.

Three texts of each function, as pyloop makes them for C: ``source`` is timed, ``checked`` has C's answers where
Python's differ and is what results are compared with, ``vector`` is NumPy's.  All come from Cython's own parser.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..c_arithmetic import CType
from ..c_form import NotPython
from ..dataflow import effects
from ..numpy_writer import numpy_text
from ..value import Stop
from .cython_body import Body
from .cython_cell import Cell
from .cython_text import Wanted, module_text
from .cython_tree import parse

__all__ = ["Form", "NotPython", "Wanted", "write"]

# Cython promises nothing about its tree: a version may bring a node without what is read of it here, and a
# cell that compiles must not fail for want of a baseline.
_STRANGE = (AttributeError, LookupError, TypeError, ValueError)
_UNREAD = "uses something that this version of Cython reads in an unknown way"

#: Integers narrower than C's int, which C calculates in int and NumPy does not.
_NARROW = frozenset((0, 1, 2, 3, 4))


@dataclass(frozen=True)
class Form:
    """A function in Python's words.

    Attributes
    ----------
    source, checked, vector : str
        Texts for ``pyloop.namespace("timing")``, ``("verify")`` and ``("vector")``; ``vector`` is ``""`` where
        there is none.  A ufunc's function takes scalars as Python numbers and cores as nested lists and gives back
        its output or a tuple of outputs; one that stays Python's takes what it takes in the cell.
    name : str
        The function's name in all three.
    pure : bool
        It depends on its arguments and constants only, and does nothing but calculate (it may write into its
        arguments).
    loops : bool
        It holds a loop or a recursion, itself or in what it calls.
    """

    source: str
    checked: str
    vector: str
    name: str
    pure: bool
    loops: bool


def write(
    source: str, wanted: Sequence[Wanted], *, cplus: bool = False, directives: Mapping[str, Any] | None = None
) -> dict[str, Form | NotPython]:
    """Write functions of a cell as Python.

    Parameters
    ----------
    source : str
        The cell.
    wanted : sequence of Wanted
    cplus : bool
        The cell is compiled as C++.
    directives : mapping
        Cython's compiler directives beside those in the cell (``cdivision``, ``language_level``, ...).

    Returns
    -------
    dict
        Name -> its forms, or why it has none.
    """
    directives = dict(directives or {})
    try:
        cell = Cell.read(parse(source, cplus=cplus, directives=directives), source, directives)
    except Stop as fault:
        return {one.name: NotPython(fault.reason, fault.row or one.line) for one in wanted}
    except _STRANGE:
        return {one.name: NotPython(_UNREAD, one.line) for one in wanted}
    return {one.name: _form(cell, one) for one in wanted}


def _form(cell: Cell, wanted: Wanted) -> Form | NotPython:
    try:
        text = module_text(cell, wanted, checked=False)
        ast.parse(text)
        truncates = cell.truncates
        checked = module_text(cell, wanted, checked=True) if wanted.inputs else text
        ast.parse(checked)
    except Stop as fault:
        return NotPython(fault.reason, fault.row or wanted.line)
    except SyntaxError as fault:
        return NotPython(f"could not be written as Python ({fault.msg})", wanted.line)
    except RecursionError:
        return NotPython("is nested too deeply to be written as Python", wanted.line)
    except _STRANGE:
        return NotPython(_UNREAD, wanted.line)
    does = effects(text)
    shapes = [count for at, count in enumerate(array_dimensions(cell, wanted)) if at not in wanted.outs]
    vector = ""
    if not (truncates or _NARROW & {*wanted.inputs}):
        vector = numpy_text(ast.parse(text), wanted.name, dimensions=shapes, stacked=bool(wanted.core))
    return Form(text, checked, vector, wanted.name, does.pure, does.loops)


def array_dimensions(cell: Cell, wanted: Wanted) -> tuple[int, ...]:
    """How many dimensions each parameter has: 0 for a number, -1 where the cell does not say."""
    routine = cell.find(wanted.name, wanted.line)
    body = Body(cell, routine, checked=False)
    return tuple(_dimensions(body.parameter_type(routine, at)) for at in range(len(routine.given)))


def _dimensions(t: CType) -> int:
    count = 0
    if t.kind == "n":
        return -1 if t.of is None else _dimensions(t.of)
    while t.kind == "a" and t.of is not None:
        count, t = count + 1, t.of
    return -1 if t.kind == "o" else count
