"""The whole Python text of one function of a Cython cell: imports, constants, the functions it calls, itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..c_arithmetic import CType, from_number
from ..value import Expr
from .cython_arithmetic import OWN_HELPERS
from .cython_body import Body
from .cython_cell import Cell, Routine
from .cython_library import zero
from .cython_tree import dotted, kind, statements, stop
from .cython_types import OBJECT

__all__ = ["Wanted", "module_text"]


@dataclass(frozen=True)
class Wanted:
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


def module_text(cell: Cell, wanted: Wanted, *, checked: bool) -> str:
    """The text that defines ``wanted.name``.

    Raises
    ------
    Stop
        If something in it has no Python form.
    """
    main = cell.find(wanted.name, wanted.line)
    cell.forget(wanted.fused, lists=bool(wanted.core))
    cell.routines[main.name] = main
    parts = {main.line: _function(cell, main, wanted, checked=checked)}
    written = {main.name}
    constants: dict[int, list[str]] = {}
    while True:
        waiting = [r for name, r in cell.routines.items() if name not in written]
        missing = [
            (at, node)
            for at, node in enumerate(cell.statements)
            if at not in constants and cell.written_by(node) & cell.wanted
        ]
        if not waiting and not missing:
            break
        for routine in waiting:
            written.add(routine.name)
            parts[routine.line] = _function(cell, routine, None, checked=checked)
        for at, node in missing:
            constants[at] = _constant(cell, node, checked=checked)
    return _joined(cell, parts, [constants[at] for at in sorted(constants)])


def _joined(cell: Cell, parts: Mapping[int, list[str]], constants: Sequence[list[str]]) -> str:
    blocks = []
    if cell.imported:
        blocks.append(sorted(set(cell.imported.values())))
    blocks += [OWN_HELPERS[name].splitlines() for name in OWN_HELPERS if name in cell.helpers]
    functions = [parts[line] for line in sorted(parts)]
    rest = [line for block in constants for line in block]
    # Constants that are computed by functions of the cell come after them.
    calls = any(f"{block[0].partition('(')[0].removeprefix('def ')}(" in line for block in functions for line in rest)
    blocks += [*functions, rest] if calls else [rest, *functions]
    return "\n\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _constant(cell: Cell, node: object, *, checked: bool) -> list[str]:
    body = Body(cell, None, checked=checked)
    if kind(node) == "CEnumDefNode":
        return _enumerators(body, node)
    body.statement(node)
    return body.lines


def _enumerators(body: Body, node: object) -> list[str]:
    lines, last = [], "-1"
    for item in getattr(node, "items", None) or ():
        if item.value is not None:
            last = body.settled(item.value).text
        else:
            last = str(int(last) + 1) if last.lstrip("-").isdigit() else f"{last} + 1"
        lines.append(f"{item.name} = {last}")
    return lines


def _function(cell: Cell, routine: Routine, wanted: Wanted | None, *, checked: bool) -> list[str]:
    if routine.star:
        raise stop("takes any number of arguments", routine.node)
    body = Body(cell, routine, checked=checked)
    types = [body.parameter_type(routine, position) for position in range(len(routine.given))]
    for given, t in zip(routine.given, types, strict=True):
        body.declare(given.name, t)
    body.gather(routine.node.body)
    for given, t in zip(routine.given, types, strict=True):
        if given.name in body.variables and body.variables[given.name].type == OBJECT:
            body.declare(given.name, t)
    core = Core.read(wanted.core) if wanted is not None and wanted.core else None
    outs = wanted.outs if wanted is not None else ()
    for position, (given, t) in enumerate(zip(routine.given, types, strict=True)):
        if t.kind == "p" and position in outs and t.of is not None:
            body.declare(given.name, CType("a", of=t.of))
        elif t.kind == "p":
            raise stop(f"takes the pointer `{given.name}`", routine.node)
    names, head = _interface(body, routine, wanted, core, types)
    body.returns = _returns(body, routine, wanted)
    body.results = tuple(_result(routine.given[at].name, core, k) for k, at in enumerate(outs))
    decorators = _kept_decorators(body, routine)
    body.depth = 1
    for line in head:
        body.put(line)
    for node in statements(routine.node.body):
        body.statement(node)
    if body.results and not (body.lines and body.lines[-1].startswith("    return ")):
        body.put(f"return {', '.join(body.results)}")
    if not body.lines:
        body.put("pass")
    return [*decorators, f"def {routine.name}({', '.join(names)}):", *body.lines]


def _result(name: str, core: Core | None, position: int) -> str:
    """An output parameter, as it is given back: a pointer's one value, or the list."""
    if core is None:
        return f"{name}[0]"
    dimensions = core.outputs[len(core.outputs) - _count(core) + position] if _count(core) else ()
    return name if dimensions else f"{name}[0]"


def _count(core: Core) -> int:
    return len([d for d in core.outputs if d])


def _interface(
    body: Body, routine: Routine, wanted: Wanted | None, core: Core | None, types: Sequence[CType]
) -> tuple[list[str], list[str]]:
    """The parameters in Python, and the lines that make outputs and sizes out of them."""
    texts = []
    for given in routine.given:
        default = "" if given.default is None else f"={body.settled(given.default).text}"
        texts.append(given.name + default)
    if any(given.keyword for given in routine.given):
        texts.insert(next(i for i, given in enumerate(routine.given) if given.keyword), "*")
    if wanted is None or not (wanted.outs or core):
        return texts, []
    dimensions = {d for operand in core.inputs for d in operand} if core else set()
    parameters = routine.given
    inputs = [i for i in range(len(parameters)) if i not in wanted.outs]
    sizes: list[int] = []
    if len(inputs) > len(wanted.inputs):
        sizes = [i for i in inputs if parameters[i].name in dimensions and types[i].integral]
        inputs = [i for i in inputs if i not in sizes]
    inout = len(inputs) < len(wanted.inputs)
    if inout:
        inputs = [i for i in range(len(parameters)) if i not in sizes]
    where = _sizes(core, [parameters[i].name for i in inputs]) if core else {}
    head = [f"{parameters[i].name} = {where[parameters[i].name]}" for i in sizes if parameters[i].name in where]
    shapes = core.outputs[len(core.outputs) - len(wanted.outs) :] if core else ((),) * len(wanted.outs)
    for at, shape in zip(wanted.outs, shapes, strict=False):
        name, t = parameters[at].name, types[at]
        if inout:
            head.append(f"{name} = {f'[row[:] for row in {name}]' if len(shape) > 1 else f'{name}[:]'}")
            continue
        element = t
        while element.kind in "ap" and element.of is not None:
            element = element.of
        head.append(f"{name} = {_made(shape, zero(element), where, routine)}")
    return [parameters[i].name for i in inputs], head


def _sizes(core: Core | None, names: Sequence[str]) -> dict[str, str]:
    """How each core dimension is found from the inputs: ``n`` -> ``len(a)``."""
    found: dict[str, str] = {}
    for name, operand in zip(names, core.inputs if core else (), strict=False):
        for depth, dimension in enumerate(operand):
            found.setdefault(dimension, f"len({name}{'[0]' * depth})")
    return found


def _made(shape: Sequence[str], blank: str, where: Mapping[str, str], routine: Routine) -> str:
    sizes = []
    for dimension in shape:
        if not dimension.isdigit() and dimension not in where:
            raise stop(f"has an output of size `{dimension}`, which no input has", routine.node)
        sizes.append(dimension if dimension.isdigit() else where[dimension])
    text = f"[{blank}]" + (f"*{sizes[-1]}" if sizes else "")
    for size in reversed(sizes[:-1]):
        text = f"[{text} for _ in range({size})]"
    return text


def _returns(body: Body, routine: Routine, wanted: Wanted | None) -> tuple[CType, ...] | CType | None:
    declared = body.result_type(routine)
    if wanted is None or not wanted.inputs or declared.kind != "o":
        if declared.kind == "t" and wanted is not None and wanted.inputs:
            return tuple(t for _, t in declared.fields)
        return declared
    numbers = wanted.outputs[: len(wanted.outputs) - len(wanted.outs)]
    return tuple(from_number(number) or OBJECT for number in numbers) or OBJECT


def _kept_decorators(body: Body, routine: Routine) -> list[str]:
    """Decorators that are Python's own, as they are."""
    kept = []
    for decorator in routine.node.decorators or ():
        call = getattr(decorator.decorator, "function", decorator.decorator)
        root = dotted(call).partition(".")[0]
        if not body.own.types.cimports.get(root, "").startswith("cython"):
            e: Expr = body.value(decorator.decorator)
            kept.append(f"@{e.text}")
    return kept
