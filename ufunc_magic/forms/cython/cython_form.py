"""The functions of a Cython cell as plain Python: the cell itself with its types taken away.

Three texts of each function, as of C: ``source`` is timed, ``checked`` has C's answers where
Python's differ and is what results are compared with, ``vector`` is NumPy's.  All come from Cython's own parser.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import CType, from_number
from ...model import Comfort, Signature
from ..dataflow import has_loops, is_pure
from ..integer_rules import module_texts
from ..numpy_writer import numpy_text
from ..operand_lists import OperandLists
from ..value import (
    Lines,
    NotPython,
    PythonForm,
    Stop,
    assign,
    define,
    number,
    operation,
    result,
)
from .cython_body import CythonBody
from .cython_cell import CythonCell, CythonRoutine
from .cython_tree import dotted, kind, parse, stop
from .cython_types import OBJECT
from .cython_values import OWN_HELPERS

#: Integers narrower than C's int, which C calculates in int and NumPy does not.
_NARROW = frozenset((0, 1, 2, 3, 4))


@dataclass(frozen=True)
class FormRequest:
    """A function that is to be written as Python.

    Attributes
    ----------
    name : str
        As in the cell.
    line : int
        1-based line of its definition.
    signature : Signature, optional
        The ufunc's; None for a function that stays one of Python.
    inputs, outputs : tuple of int
        NumPy type numbers of its operands.
    fused : mapping
        Fused type -> the C type that it stands for, ``{"floating": "double"}``.
    """

    name: str
    line: int = 0
    signature: Signature | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    fused: Mapping[str, str] = field(default_factory=dict)


def write(
    source: str, requests: Sequence[FormRequest], *, cplus: bool = False, directives: Mapping[str, Any] | None = None
) -> dict[str, PythonForm | NotPython]:
    """Write functions of a cell as Python.

    Parameters
    ----------
    source : str
        The cell.
    requests : sequence of FormRequest
    cplus : bool
        The cell is compiled as C++.
    directives : mapping
        Cython's compiler directives beside those in the cell (``cdivision``, ``language_level``, ...).

    Returns
    -------
    dict
        Name -> its forms, or why it has none.
    """
    directives = directives or {}
    notes: list[str] = []
    with Comfort("the functions' Python form", notes):
        try:
            cell = CythonCell.read(parse(source, cplus=cplus, directives=directives), source, directives)
        except Stop as fault:
            return {one.name: NotPython(fault.reason, fault.row or one.line) for one in requests}
        return {one.name: _form(cell, one) for one in requests}
    return {one.name: NotPython("could not be written as Python", one.line, notes[0]) for one in requests[:1]}


def _form(cell: CythonCell, request: FormRequest) -> PythonForm | NotPython:
    notes: list[str] = []
    with Comfort(f"the Python form of {request.name}", notes):
        try:
            return _texts(cell, request)
        except Stop as fault:
            return NotPython(fault.reason, fault.row or request.line)
        except RecursionError:
            return NotPython("is nested too deeply to be written as Python", request.line)
    return NotPython("could not be written as Python", request.line, notes[0])


def _texts(cell: CythonCell, request: FormRequest) -> PythonForm:
    text, _ = _module(cell, request)
    tree = ast.parse(text)
    truncates = cell.truncates
    checked, marks = text, ""
    if request.inputs:
        checked, _ = _module(cell, request, checked=True)
        _, marks = _module(cell, request, wraps=True)
    ast.parse(checked)
    pure, loops = is_pure(tree), has_loops(tree)
    vector = ""
    notes: list[str] = []
    with Comfort(f"the NumPy expression of {request.name}", notes):
        if not (truncates or _NARROW & {*request.inputs}):
            dimensions = _array_dimensions(cell, request)
            vector = numpy_text(tree, request.name, dimensions=dimensions, stacked=_stacked(request))
    return PythonForm(text, checked, vector, request.name, pure, loops, marks, "".join(notes))


def _stacked(request: FormRequest) -> bool:
    """Whether the function has core dimensions."""
    return request.signature is not None and bool(request.signature.core)


def _array_dimensions(cell: CythonCell, request: FormRequest) -> list[int]:
    """How many dimensions each of the text's parameters has: 0 for a number, -1 where the cell does not say."""
    routine = cell.find(request.name, request.line)
    body = CythonBody(cell, routine)
    types = [body.parameter_type(routine, at) for at in range(len(routine.parameters))]
    outputs = request.signature.outputs if request.signature is not None else ()
    hidden = {o.index for o in outputs if o.role == "output"}
    return [-1 if t.kind == "o" else t.depth for at, t in enumerate(types) if at not in hidden]


# -- modules ------------------------------------------------------------------------------------


def _module(cell: CythonCell, request: FormRequest, *, checked: bool = False, wraps: bool = False) -> tuple[str, str]:
    """The text that defines ``request.name``: imports, helpers, constants, the functions it calls, itself.

    And the same with marks.

    Raises
    ------
    Stop
        If something in it has no Python form.
    """
    main = cell.find(request.name, request.line)
    cell.forget(request.fused, lists=_stacked(request), watched=bool(request.inputs))
    cell.routines[main.name] = main
    mode = {"checked": checked, "wraps": wraps or checked}
    functions = {main.line: _function(cell, main, request, **mode)}
    written = {main.name}
    constants: dict[int, Lines] = {}
    while True:
        waiting = [r for name, r in cell.routines.items() if name not in written]
        missing = [
            (at, node)
            for at, node in enumerate(cell.statements)
            if at not in constants and cell.written_by(node) & cell.names_used
        ]
        if not waiting and not missing:
            break
        for routine in waiting:
            written.add(routine.name)
            functions[routine.line] = _function(cell, routine, None, **mode)
        constants |= {at: _constant(cell, node, **mode) for at, node in missing}
    imports = [ast.parse(text).body[0] for text in sorted(set(cell.imported.values()))]
    head = [line for at in sorted(constants) for line in constants[at]]
    blocks: list[Lines] = [[functions[line]] for line in sorted(functions)]
    # Constants that are computed by functions of the cell come after them.
    names = {node.id for line in head for node in ast.walk(line) if isinstance(node, ast.Name)}
    late = bool(names & {function.name for function in functions.values()})
    return module_texts([imports, *([*blocks, head] if late else [head, *blocks])], OWN_HELPERS)


def _constant(cell: CythonCell, node: Any, *, checked: bool, wraps: bool) -> Lines:
    body = CythonBody(cell, None, checked=checked, wraps=wraps)
    if kind(node) != "CEnumDefNode":
        body.statement(node)
        return body.lines
    last = ""
    for item in node.items or ():
        if item.value is not None:
            value = body.settled(item.value).node
        else:
            value = operation("+", last, 1) if last else number(0)
        last = str(item.name)
        body.put(assign(last, value))
    return body.lines


def _function(
    cell: CythonCell, routine: CythonRoutine, request: FormRequest | None, *, checked: bool, wraps: bool
) -> ast.FunctionDef:
    """One function; ``request`` is the one that becomes a ufunc, with its outputs as results."""
    if routine.refused:
        raise stop(routine.refused, routine.node)
    for decorator in routine.node.decorators or ():
        name = dotted(getattr(decorator.decorator, "function", decorator.decorator))
        if not cell.types.cimports.get(name.partition(".")[0], "").startswith("cython"):
            raise stop(f"has the decorator `{name}`", decorator)
    body = CythonBody(cell, routine, checked=checked, wraps=wraps)
    parameters = routine.parameters
    types = [body.parameter_type(routine, position) for position in range(len(parameters))]
    signature = request.signature if request is not None else None
    outputs = [o for o in signature.outputs if 0 <= o.index < len(parameters)] if signature is not None else []
    for position, (parameter, t) in enumerate(zip(parameters, types, strict=True)):
        if t.kind == "p":
            if all(o.index != position for o in outputs):
                raise stop(f"takes the pointer `{parameter.name}`", routine.node)
            types[position] = CType("a", of=t.of)
        body.declare(parameter.name, types[position])
    body.gather(routine.node.body)
    if signature is not None and (outputs or signature.core):
        lists = OperandLists(
            signature, {at: p.name for at, p in enumerate(parameters)}, dict(enumerate(types)), boxed=True
        )
        names, body.lines = lists.parameters(), lists.sizes()
        for operand in outputs:
            body.lines += lists.opening(operand)
        body.results = tuple(lists.closing(operand) for operand in outputs)
    else:
        defaults = [p.node.default for p in parameters]
        names = [p.name + (f"={body.settled(d).text}" if d else "") for p, d in zip(parameters, defaults, strict=True)]
    body.returns = _returns(body, routine, request)
    body.statements(routine.node.body)
    if body.results and not (body.lines and isinstance(body.lines[-1], ast.Return)):
        body.put(result(body.results))
    return define(routine.name, names, body.lines)


def _returns(body: CythonBody, routine: CythonRoutine, request: FormRequest | None) -> tuple[CType, ...] | CType | None:
    declared = body.result_type(routine)
    if request is None or not request.inputs or declared.kind not in "ot":
        return declared
    if declared.kind == "t":
        return tuple(t for _, t in declared.fields)
    numbers = request.outputs[: len(request.outputs) - len(body.results)]
    return tuple(from_number(each) or OBJECT for each in numbers) or OBJECT
