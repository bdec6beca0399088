"""Cython's analysed tree as the IR: the functions of a cell, its module level, and its imports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...ir import OBJECT, Block, Declare, FunctionIR, OpaqueStatement, Program, Statement, Symbol
from ...model import Comfort
from ._private import ExprNodes, FusedCFuncDefNode, Nodes
from .cdef_variant import PREFIX, find_plain_name, walk
from .cython_ctypes import find_ir_type
from .cython_expressions import LoweredCell
from .cython_statements import CythonStatements


def lower(tree: Any, *, source: str, desc: Any, notes: list[str]) -> tuple[Program, dict[str, FunctionIR]]:
    """Lower the cell that ``tree`` was analysed from, to its IR, and to its functions by C name.

    Parameters
    ----------
    tree : ModuleNode
        After Cython's analysis of expressions, with in-place operators written out.
    source : str
        The cell.
    desc : object
        Cython's descriptor of the cell, which its own nodes have, and nodes of included files have not.
    notes : list of str
        Receives why a function could not be lowered.
    """
    cell = LoweredCell(source, desc, tree.scope)
    nodes = [node for node in _find_functions(tree) if node.pos[0] is desc]
    for node in nodes:
        name = find_plain_name(node.entry).removeprefix(PREFIX)
        cell.names.add(name)
    for name, several in _group_by_name(nodes).items():
        for place, node in enumerate(several):
            cell.functions[id(node.entry)] = name, place
    functions = {
        name: tuple(_lower_function(cell, node, notes) for node in several)
        for name, several in _group_by_name(nodes).items()
    }
    functions = {name: _add_defaults(several, nodes, cell) for name, several in functions.items()}
    module = CythonStatements(cell, tree.directives)
    imports = dict(_lower_module(module, tree.body))
    symbols = {s.name: s for s in cell.symbols.values() if s.storage in ("global", "constant")}
    bodies = {
        str(node.entry.func_cname or node.entry.cname): function
        for name, several in _group_by_name(nodes).items()
        for node, function in zip(several, functions[name], strict=True)
    }
    return Program(functions, symbols, tuple(module.lines), imports, source.encode()), bodies


def _find_functions(tree: Any) -> Iterator[Any]:
    """The functions of the module level, each specialisation of a fused one."""
    closed = (Nodes.FuncDefNode, FusedCFuncDefNode, Nodes.ClassDefNode, ExprNodes.LambdaNode)
    for node in walk(tree, closed):
        if isinstance(node, FusedCFuncDefNode):
            yield from (inner for inner in node.nodes if isinstance(inner, Nodes.FuncDefNode))
        elif isinstance(node, Nodes.CFuncDefNode | Nodes.DefNode):
            yield node


def _group_by_name(nodes: list[Any]) -> dict[str, list[Any]]:
    """Functions by the cell's names: in place of a ``def`` its variant, which declares its result."""
    named: dict[str, list[Any]] = {}
    variants: dict[str, list[Any]] = {}
    for node in nodes:
        name = find_plain_name(node.entry)
        (variants if name.startswith(PREFIX) else named).setdefault(name.removeprefix(PREFIX), []).append(node)
    return {
        name: variants[name] if len(variants.get(name, ())) == len(several) else several
        for name, several in named.items()
    }


def _add_defaults(several: tuple[FunctionIR, ...], nodes: list[Any], cell: LoweredCell) -> tuple[FunctionIR, ...]:
    """Functions with their parameters' default values, which variants have not."""
    for node in nodes:
        if find_plain_name(node.entry) == several[0].name:
            for parameter, arg in zip(several[0].parameters, _find_arguments(node), strict=False):
                if getattr(arg, "default", None) is not None:
                    parameter.initial = CythonStatements(cell, {}).lower_value(arg.default)
    return several


def _find_arguments(node: Any) -> list[Any]:
    return list(node.args if isinstance(node, Nodes.DefNode) else _find_declarator(node).args)


def _find_declarator(node: Any) -> Any:
    declarator = node.declarator
    while not isinstance(declarator, Nodes.CFuncDeclaratorNode):
        declarator = declarator.base
    return declarator


def _lower_function(cell: LoweredCell, node: Any, notes: list[str]) -> FunctionIR:
    scope = node.local_scope
    entries = list(scope.arg_entries)
    name = find_plain_name(node.entry).removeprefix(PREFIX)
    returns = (OBJECT,) if isinstance(node, Nodes.DefNode) else _read_results(node.return_type)
    body = CythonStatements(cell, scope.directives, entries, returns)
    parameters = tuple(body.find_symbol(entry) for entry in entries)
    at = cell.find_position(node)
    chosen = getattr(scope, "fused_to_specific", None) or {}
    function = FunctionIR(
        name=name,
        parameters=parameters,
        returns=returns,
        body=Block(),
        language="cython",
        at=at,
        chosen=tuple((str(getattr(fused, "name", fused)), str(kind)) for fused, kind in chosen.items()),
    )
    reason = _explain_refusal(node)
    if not reason:
        with Comfort(f"the IR of {name}", notes):
            body.lower_statement(node.body)
            lines = [*_declare_locals(body, scope, parameters), *body.lines]
            return replace(function, body=Block(tuple(lines), at=at), calls=tuple(body.calls))
    symbols = frozenset(parameters)
    opaque = OpaqueStatement(
        reason or "could not be read", cell.shorten_line(node), (), symbols, symbols, repeats=True, acts=True, at=at
    )
    return replace(function, body=Block((opaque,), at=at))


def _read_results(kind: Any) -> tuple[Any, ...]:
    t = find_ir_type(kind)
    return tuple(of for _, of in t.fields) if t.kind == "t" else () if t.kind == "v" else (t,)


def _explain_refusal(node: Any) -> str:
    """Why a function has no body in the IR; completes "The function"."""
    if getattr(node, "star_arg", None) or getattr(node, "starstar_arg", None):
        return "takes any number of arguments, or keywords"
    if getattr(node, "is_generator", False):
        return "is a generator"
    return ""


def _declare_locals(body: CythonStatements, scope: Any, parameters: tuple[Symbol, ...]) -> Iterator[Statement]:
    """The local variables of C types: Cython has taken their declarations out of the tree."""
    for entry in scope.entries.values():
        if entry.is_variable and not entry.type.is_pyobject and not entry.is_cfunction:
            symbol = body.find_symbol(entry)
            if symbol not in parameters and entry.scope is scope:
                yield Declare(symbol, at=body.cell.find_position(entry))


def _lower_module(module: CythonStatements, node: Any) -> Iterator[tuple[str, str]]:
    """Lower the statements of the module level; yields the imports of Python's modules."""
    if isinstance(node, Nodes.StatListNode):
        for inner in node.stats:
            yield from _lower_module(module, inner)
        return
    if isinstance(node, Nodes.FuncDefNode | FusedCFuncDefNode | Nodes.ClassDefNode | Nodes.CClassDefNode):
        return
    if isinstance(node, Nodes.CompilerDirectivesNode):
        yield from _lower_module(module, node.body)
    elif isinstance(node, Nodes.FromImportStatNode):
        name = str(node.module.module_name.value)
        for item, target in node.items:
            local = str(target.name)
            yield local, f"from {name} import {item}{f' as {local}' if local != item else ''}"
    elif isinstance(node, Nodes.SingleAssignmentNode) and isinstance(node.rhs, ExprNodes.ImportNode):
        name, local = str(node.rhs.module_name.value), str(node.lhs.name)
        yield local, f"import {name}{f' as {local}' if local != name.partition('.')[0] else ''}"
    elif not _is_function(node) and node.pos[0] is module.cell.desc:
        module.lower_statement(node)


def _is_function(node: Any) -> bool:
    """Whether a statement binds a function of the cell, or what Cython adds."""
    if not isinstance(node, Nodes.SingleAssignmentNode):
        return False
    functions = (ExprNodes.PyCFunctionNode, ExprNodes.InnerFunctionNode)
    return isinstance(node.rhs, functions) or str(getattr(node.lhs, "name", "")) == "__test__"
