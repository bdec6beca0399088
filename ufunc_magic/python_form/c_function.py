"""One function of the cell as the lines of a Python ``def``: its parameters, what stands before and after the body."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..model import Operand, Signature
from .c_arithmetic import VOID, CType
from .c_cell import Cell, Given, Routine, python_name
from .c_initializers import zero
from .c_locals import COUNTER, INDENT
from .c_statements import Body
from .c_uses import assigned_first, changed
from .value import Expr, Stop, Variable, child

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["called_text", "main_text"]


def called_text(cell: Cell, routine: Routine, *, checked: bool) -> list[str]:
    """One of the cell's other functions, with C's own parameters; what it stores through pointers is returned."""
    if routine.node.has_error:
        raise Stop(f"calls `{routine.name}`, whose syntax could not be read", routine.node)
    stored: list[Variable] = []

    def results(value: Expr | None) -> str:
        return ", ".join([*([value.text] if value else []), *(v.name for v in stored)])

    body = Body(cell, routine, checked=checked, results=results)
    names = []
    for given in routine.parameters:
        variable = body.declare(given.name, given.type, cell=given.cell and not given.reference, null=given.null)
        names += [variable.name] if given.reads and not given.null else []
        stored += [variable] if given.writes and not given.null else []
    return _function(python_name(routine.key), names, body, [], bool(stored) and routine.returns == VOID)


def _function(name: str, parameters: Sequence[str], body: Body, head: Sequence[str], ends: bool) -> list[str]:
    lines = [*head, *body.statements([n for n in body.body.named_children if n.type != "comment"])]
    if ends and not (lines and lines[-1].startswith("return")):
        lines.append(f"return {body.results(None)}")
    return [f"def {name}({', '.join(parameters)}):", *(INDENT + line for line in lines or ["pass"])]


def main_text(cell: Cell, main: Routine, signature: Signature, *, checked: bool) -> list[str]:
    """The function with the ufunc's inputs as parameters and its outputs as results."""
    if not signature.outputs:
        raise Stop("gives nothing back", main.node)
    texts: dict[int, Callable[[], str]] = {}

    def results(value: Expr | None) -> str:
        given = {o.index: texts[o.index]() for o in signature.outputs if o.index >= 0}
        if value is not None:
            if signature.status and value.text != "0":
                raise Stop("may return another status than 0", main.node)
            given[-1] = value.text
        absent = [o for o in signature.outputs if o.index not in given]
        if absent:
            raise Stop("does not always return a value", main.node)
        return ", ".join(given[o.index] for o in signature.outputs)

    body = Body(cell, main, checked=checked, results=results)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs) if o.index >= 0}
    variables: dict[int, Variable] = {}
    for position, given in enumerate(main.parameters):
        if position in signature.sizes:
            variables[position] = body.declare(given.name, given.type, low=0, high=COUNTER)
        elif position in operands:
            cell_like = given.cell and given.type.kind != "a"
            variables[position] = body.declare(given.name, given.type, cell=cell_like)
        elif not given.cell and given.type.kind != "a" and given.name not in _words(main.node):
            continue
        else:
            raise Stop(f"takes `{given.name}`, which is no operand", main.node)
    dims = _dimensions(signature, variables)
    head = [f"{variables[p].name} = {_measured(signature, variables, dim)}" for p, dim in signature.sizes.items()]
    for position, operand in operands.items():
        head += _opening(operand, main.parameters[position], variables[position], body, dims)
        texts[position] = functools.partial(_closing, operand, main.parameters[position], variables[position], dims)
    names = [variables[o.index].name for o in signature.inputs]
    return _function(cell.main_name, names, body, head, main.returns == VOID)


def _words(node: Node) -> set[str]:
    return set(re.findall(r"\w+", (child(node, "body").text or b"").decode()))


def _measured(signature: Signature, variables: Mapping[int, Variable], dim: str) -> str:
    """``len(...)`` of the first input that has the core dimension."""
    for operand in signature.inputs:
        if dim in operand.core:
            return f"len({variables[operand.index].name}{'[0]' * operand.core.index(dim)})"
    raise Stop(f"has the core dimension {dim}, which no input has")


def _dimensions(signature: Signature, variables: Mapping[int, Variable]) -> dict[int | str, str]:
    """Core dimension -> how the function's text says its size."""
    by_name: dict[int | str, str] = {dim: variables[p].name for p, dim in reversed(signature.sizes.items())}
    for operand in (*signature.inputs, *signature.outputs):
        for dim in operand.core:
            if isinstance(dim, int):
                by_name[dim] = str(dim)
            elif dim not in by_name:
                by_name[dim] = _measured(signature, variables, dim)
    return by_name


def _depth(t: CType) -> int:
    return 1 + _depth(t.of) if t.kind == "a" and t.of is not None else 0


def _flat(operand: Operand, given: Given) -> bool:
    """Whether C sees the core as one run of elements where Python sees nested lists."""
    depth = _depth(given.type)
    if depth == len(operand.core):
        return False
    if depth == 1 and len(operand.core) == 2:
        return True
    raise Stop(f"lays out `{given.name}` in a way that was not understood")


def _element(t: CType) -> CType:
    return _element(t.of) if t.of is not None else t


def _opening(
    operand: Operand, given: Given, variable: Variable, body: Body, dims: Mapping[int | str, str]
) -> list[str]:
    """What the operand needs before the first statement."""
    name = variable.name
    if not operand.core:
        fresh = operand.role == "output" and not assigned_first(body.body, given.name)
        return [f"{name} = {zero(given.type)}"] if fresh else []
    flat = _flat(operand, given)
    if operand.role == "output":
        element = zero(_element(given.type))
        sizes = [dims[dim] for dim in operand.core]
        if len(sizes) == 1:
            return [f"{name} = [{element}]*{sizes[0]}"]
        if flat:
            return [f"{name} = [{element}]*({sizes[0]}*{sizes[1]})"]
        rows = f"[{element}]*{sizes[-1]}"
        for size in reversed(sizes[:-1]):
            rows = f"[{rows} for _ in range({size})]"
        return [f"{name} = {rows}"]
    if flat:
        return [f"{name} = [value for row in {name} for value in row]"]
    if operand.role == "inout" or changed(body.body, given.name):
        return [f"{name} = {'list(' + name + ')' if len(operand.core) == 1 else f'[list(row) for row in {name}]'}"]
    return []


def _closing(operand: Operand, given: Given, variable: Variable, dims: Mapping[int | str, str]) -> str:
    """The operand's text after ``return``."""
    if operand.core and _flat(operand, given):
        rows, columns = (dims[dim] for dim in operand.core)
        return f"[{variable.name}[i*{columns}:(i + 1)*{columns}] for i in range({rows})]"
    return variable.name
