"""The functions of a Cython cell as plain Python: the cell itself with its types taken away.

Three texts of each function, as of C: ``source`` is timed, ``checked`` has C's answers where
Python's differ and is what results are compared with, ``vector`` is NumPy's.  All come from Cython's own parser.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arithmetic_expressions import array, length, zero
from ..c_arithmetic import CType, from_number
from ..dataflow import effects
from ..numpy_writer import numpy_text
from ..value import (
    Lines,
    NotPython,
    PythonForm,
    Stop,
    assign,
    define,
    number,
    operation,
    python,
    result,
    text_of_module,
)
from .cython_body import CythonBody
from .cython_cell import CythonCell, CythonRoutine
from .cython_tree import dotted, kind, parse, stop
from .cython_types import OBJECT
from .cython_values import OWN_HELPERS

# Cython promises nothing about its tree: a version may bring a node without what is read of it here, and a
# cell that compiles must not fail for want of a baseline.
_STRANGE = (AttributeError, LookupError, TypeError, ValueError)
_UNREAD = "uses something that this version of Cython reads in an unknown way"

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
    inputs, outputs : tuple of int
        NumPy type numbers of the ufunc's inputs and outputs; no inputs for a function that stays one of Python.
    core : str
        Core signature ``"(n),(n)->()"``; ``""`` for scalars.
    outs : tuple of int
        Positions of the parameters that are output arrays.
    fused : mapping
        Fused type -> the C type that it stands for, ``{"floating": "double"}``.
    """

    name: str
    line: int = 0
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    core: str = ""
    outs: tuple[int, ...] = ()
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
    directives = dict(directives or {})
    try:
        cell = CythonCell.read(parse(source, cplus=cplus, directives=directives), source, directives)
    except Stop as fault:
        return {one.name: NotPython(fault.reason, fault.row or one.line) for one in requests}
    except _STRANGE:
        return {one.name: NotPython(_UNREAD, one.line) for one in requests}
    return {one.name: _form(cell, one) for one in requests}


def _form(cell: CythonCell, request: FormRequest) -> PythonForm | NotPython:
    try:
        text = _module(cell, request, checked=False)
        tree = ast.parse(text)
        truncates = cell.truncates
        checked = _module(cell, request, checked=True) if request.inputs else text
        ast.parse(checked)
    except Stop as fault:
        return NotPython(fault.reason, fault.row or request.line)
    except SyntaxError as fault:
        return NotPython(f"could not be written as Python ({fault.msg})", request.line)
    except RecursionError:
        return NotPython("is nested too deeply to be written as Python", request.line)
    except _STRANGE:
        return NotPython(_UNREAD, request.line)
    does = effects(tree)
    shapes = [count for at, count in enumerate(_array_dimensions(cell, request)) if at not in request.outs]
    vector = ""
    if not (truncates or _NARROW & {*request.inputs}):
        vector = numpy_text(tree, request.name, dimensions=shapes, stacked=bool(request.core))
    return PythonForm(text, checked, vector, request.name, does.pure, does.loops)


def _array_dimensions(cell: CythonCell, request: FormRequest) -> tuple[int, ...]:
    """How many dimensions each parameter has: 0 for a number, -1 where the cell does not say."""
    routine = cell.find(request.name, request.line)
    body = CythonBody(cell, routine, checked=False)
    types = [body.parameter_type(routine, at) for at in range(len(routine.parameters))]
    types = [t.of if t.kind == "n" and t.of is not None else t for t in types]
    return tuple(-1 if t.kind in "no" else t.depth for t in types)


# -- modules ------------------------------------------------------------------------------------


def _module(cell: CythonCell, request: FormRequest, *, checked: bool) -> str:
    """The text that defines ``request.name``: imports, helpers, constants, the functions it calls, itself.

    Raises
    ------
    Stop
        If something in it has no Python form.
    """
    main = cell.find(request.name, request.line)
    cell.forget(request.fused, lists=bool(request.core))
    cell.routines[main.name] = main
    functions = {main.line: _function(cell, main, request, checked=checked)}
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
            functions[routine.line] = _function(cell, routine, None, checked=checked)
        constants |= {at: _constant(cell, node, checked=checked) for at, node in missing}
    imports = [ast.parse(text).body[0] for text in sorted(set(cell.imported.values()))]
    helpers = [OWN_HELPERS[name] for name in OWN_HELPERS if name in cell.helpers]
    head = [line for at in sorted(constants) for line in constants[at]]
    blocks: list[Lines] = [[functions[line]] for line in sorted(functions)]
    # Constants that are computed by functions of the cell come after them.
    called = {
        n.func.id for line in head for n in ast.walk(line) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    late = bool(called & {function.name for function in functions.values()})
    return text_of_module([imports, *helpers, *([*blocks, head] if late else [head, *blocks])])


def _constant(cell: CythonCell, node: Any, *, checked: bool) -> Lines:
    body = CythonBody(cell, None, checked=checked)
    if kind(node) != "CEnumDefNode":
        body.statement(node)
        return body.lines
    last: ast.expr = number(-1)
    for item in node.items or ():
        if item.value is not None:
            last = body.settled(item.value).node
        else:
            try:
                last = number(ast.literal_eval(last) + 1)
            except ValueError:
                last = operation("+", last, 1)
        body.put(assign(str(item.name), last))
    return body.lines


def _function(
    cell: CythonCell, routine: CythonRoutine, request: FormRequest | None, *, checked: bool
) -> ast.FunctionDef:
    """One function; ``request`` is the one that becomes a ufunc, with its outputs as results."""
    if routine.star:
        raise stop("takes any number of arguments", routine.node)
    body = CythonBody(cell, routine, checked=checked)
    parameters = routine.parameters
    types = [body.parameter_type(routine, position) for position in range(len(parameters))]
    for parameter, t in zip(parameters, types, strict=True):
        body.declare(parameter.name, t)
    body.gather(routine.node.body)
    core = Core.read(request.core) if request is not None and request.core else None
    outs = request.outs if request is not None else ()
    for position, (parameter, t) in enumerate(zip(parameters, types, strict=True)):
        if body.variables[parameter.name].type == OBJECT:
            body.declare(parameter.name, t)
        if t.kind == "p" and position in outs and t.of is not None:
            body.declare(parameter.name, CType("a", of=t.of))
        elif t.kind == "p":
            raise stop(f"takes the pointer `{parameter.name}`", routine.node)
    names, body.lines = _interface(body, routine, request, core, types)
    body.returns = _returns(body, routine, request)
    body.results = tuple(_result(parameters[at].name, core, k) for k, at in enumerate(outs))
    decorators = _python_decorators(body, routine)
    body.statements(routine.node.body)
    if body.results and not (body.lines and isinstance(body.lines[-1], ast.Return)):
        body.put(result(body.results))
    function = define(routine.name, names, body.lines)
    function.decorator_list = decorators
    return function


def _python_decorators(body: CythonBody, routine: CythonRoutine) -> list[ast.expr]:
    """Decorators that are Python's own, as they are."""
    calls = [decorator.decorator for decorator in routine.node.decorators or ()]
    roots = [dotted(getattr(call, "function", call)).partition(".")[0] for call in calls]
    cimports = body.cell.types.cimports
    return [
        body.value(call).node
        for call, root in zip(calls, roots, strict=True)
        if not cimports.get(root, "").startswith("cython")
    ]


def _returns(body: CythonBody, routine: CythonRoutine, request: FormRequest | None) -> tuple[CType, ...] | CType | None:
    declared = body.result_type(routine)
    if request is None or not request.inputs or declared.kind not in "ot":
        return declared
    if declared.kind == "t":
        return tuple(t for _, t in declared.fields)
    numbers = request.outputs[: len(request.outputs) - len(request.outs)]
    return tuple(from_number(each) or OBJECT for each in numbers) or OBJECT


# -- core dimensions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Core:
    """A core signature, read: the dimensions of each operand."""

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, text: str) -> Core:
        left, _, right = text.replace(" ", "").partition("->")
        return cls(_operands(left), _operands(right))


def _operands(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(d for d in part.split(",") if d) for part in re.findall(r"\(([^)]*)\)", text))


def _result(name: str, core: Core | None, position: int) -> ast.expr:
    """An output parameter, as it is given back: a pointer's one value, or the list."""
    arrays = [d for d in core.outputs if d] if core is not None else []
    if core is not None and arrays and core.outputs[len(core.outputs) - len(arrays) + position]:
        return ast.Name(name)
    return python("{}[0]", name)


def _interface(
    body: CythonBody, routine: CythonRoutine, request: FormRequest | None, core: Core | None, types: Sequence[CType]
) -> tuple[list[str], Lines]:
    """The parameters in Python, and the lines that make outputs and sizes out of them."""
    parameters = routine.parameters
    texts = [p.name + ("" if p.default is None else f"={body.settled(p.default).text}") for p in parameters]
    if any(p.keyword for p in parameters):
        texts.insert(next(i for i, p in enumerate(parameters) if p.keyword), "*")
    if request is None or not (request.outs or core):
        return texts, []
    dimensions = {d for operand in core.inputs for d in operand} if core else set()
    inputs = [i for i in range(len(parameters)) if i not in request.outs]
    sizes: list[int] = []
    if len(inputs) > len(request.inputs):
        sizes = [i for i in inputs if parameters[i].name in dimensions and types[i].integral]
        inputs = [i for i in inputs if i not in sizes]
    inout = len(inputs) < len(request.inputs)
    if inout:
        inputs = [i for i in range(len(parameters)) if i not in sizes]
    # How each core dimension is found from the inputs: `n` -> `len(a)`.
    where: dict[str, ast.expr] = {}
    for i, operand in zip(inputs, core.inputs if core else (), strict=False):
        for axis, dimension in enumerate(operand):
            where.setdefault(dimension, length(parameters[i].name, axis))
    head = [assign(parameters[i].name, where[parameters[i].name]) for i in sizes if parameters[i].name in where]
    shapes = core.outputs[len(core.outputs) - len(request.outs) :] if core else ((),) * len(request.outs)
    for at, shape in zip(request.outs, shapes, strict=False):
        name, element = parameters[at].name, types[at]
        while element.kind in "ap" and element.of is not None:
            element = element.of
        if inout:
            head.append(assign(name, python("[row[:] for row in {}]" if len(shape) > 1 else "{}[:]", name)))
            continue
        for dimension in shape:
            if not dimension.isdigit() and dimension not in where:
                raise stop(f"has an output of size `{dimension}`, which no input has", routine.node)
        lengths = [number(int(d)) if d.isdigit() else where[d] for d in shape]
        head.append(assign(name, array(zero(element), lengths) if lengths else ast.List([zero(element)])))
    return [parameters[i].name for i in inputs], head
