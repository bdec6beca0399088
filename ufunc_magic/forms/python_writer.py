"""The IR's statements as Python's, with marks, as a person writes them: declarations, branches, loops, switches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from .. import ir
from ..ir import Block, CType, Expression, Node, Statement, Symbol, evaluate_integer, strip_conversions, walk
from ..model import STD_EXCEPTIONS
from .expression_writer import ExpressionWriter
from .module_scope import ModuleScope, Routine, choose_python_name, find_changes
from .value import (
    COUNTER,
    Expr,
    Lines,
    Variable,
    assign,
    call,
    number,
    write_array,
    write_branches,
    write_negation,
    write_operation,
    write_return,
    zero,
)

#: Literals that are small.
_SMALL = 10000


class PythonWriter(ExpressionWriter):
    """Writes one function's statements.

    ``results`` gives the values of a ``return`` for C's values (none for void).  Each enclosing loop or switch has
    an entry in ``around``: the statements that ``continue`` needs before it, or None for a switch.
    """

    def __init__(self, scope: ModuleScope, routine: Routine, *, results: Callable[..., Sequence[ast.expr]]) -> None:
        super().__init__(scope, routine)
        self.function = routine.function
        self.types = routine.parts or (routine.returns,)
        self.results = results
        self.around: list[Lines | None] = []
        self.scopes: list[set[str]] = [set()]

    @cached_property
    def changes(self) -> dict[Symbol, list[Node]]:
        return find_changes(self.function)

    # -- statements -------------------------------------------------------------------------------

    def write_statements(self, nodes: Sequence[Statement]) -> Lines:
        return [line for node in nodes for line in self.write(node)]

    def _write_scope(self, nodes: Sequence[Statement]) -> Lines:
        self.scopes.append(set())
        lines = self.write_statements(nodes)
        self.scopes.pop()
        return lines

    def _write_suite(self, block: Block) -> Lines:
        """The body of another statement."""
        return self._write_scope(block.body) or [ast.Pass()]

    def _write_in_loop(self, update: Lines | None, write: Callable[[], Lines]) -> Lines:
        """What is written inside of a loop or a switch."""
        self.around.append(update)
        lines = write()
        self.around.pop()
        return lines

    def write(self, node: Statement) -> Lines:
        method = self._STATEMENTS.get(type(node))
        if method is None:
            raise self.refuse(node)
        return method(self, node)

    def _write_block(self, node: Block) -> Lines:
        return self._write_scope(node.body)

    def _write_opaque_statement(self, node: ir.OpaqueStatement) -> Lines:
        raise self.stop(node.reason, node)

    def _write_evaluate(self, node: ir.Evaluate) -> Lines:
        return self._write_prepared(lambda: self.write_effect(node.value))

    def _write_break(self, node: ir.Break) -> Lines:
        if not self.around or self.around[-1] is None:
            raise self.stop("leaves a switch from inside a case", node)
        return [ast.Break()]

    def _write_continue(self, node: ir.Continue) -> Lines:
        update = next((lines for lines in reversed(self.around) if lines is not None), [])
        return [*update, ast.Continue()]

    def _write_raise(self, node: ir.Raise) -> Lines:
        message = [ast.Constant(node.message)] if node.message is not None else []
        kind = STD_EXCEPTIONS.get(node.exception.removeprefix("std::"), "RuntimeError")
        return [ast.Raise(call(kind, *message))]

    def _write_assert(self, node: ir.Assert) -> Lines:
        if isinstance(node.test, ir.Constant) and node.test.value == 0:
            return [ast.Assert(ast.Constant(False), ast.Constant(node.message))]
        test = self.write_condition(node.test)
        return [ast.Assert(test.node, ast.Constant(node.message) if node.message is not None else None)]

    def _write_prepared(self, write: Callable[[], Lines]) -> Lines:
        """A statement after what its expression needs before it."""
        self.before = []
        middle = write()
        lines, self.before = [*self.before, *middle], None
        return lines

    def _write_test(self, test: Callable[[], Expr]) -> tuple[Lines, Expr]:
        """The condition of a statement, and what must come before it."""
        self.before = []
        e = test()
        lines, self.before = self.before, None
        return lines, e

    def _write_return(self, node: ir.Return) -> Lines:
        def line() -> Lines:
            pairs = zip(node.values, self.types, strict=False)
            values = [self.convert(self.write_initial(v, t), t, node=node, final=True) for v, t in pairs]
            return [write_return(self.results(*values))]

        return self._write_prepared(line)

    def _write_if(self, node: ir.If) -> Lines:
        lines, test = self._write_test(lambda: self.write_condition(node.test))
        suite = self._write_suite(node.then)
        other: Lines = []
        if node.otherwise is not None:
            match node.otherwise.body:
                case (ir.If() as inner,) if node.otherwise.at == inner.at:
                    other = self.write(inner)
                case _:
                    other = self._write_suite(node.otherwise)
        return [*lines, ast.If(test.node, suite, other)]

    # -- loops ------------------------------------------------------------------------------------

    def _write_while(self, node: ir.While) -> Lines:
        return self._write_loop(node.test, [], node.body)

    def _write_loop(self, test: Expression | None, update: Lines, body: Block) -> Lines:
        first: Lines = []
        condition: ast.expr = ast.Constant(True)
        if test is not None:
            first, e = self._write_test(lambda: self.write_condition(test))
            if first:
                first.append(ast.If(write_negation(e), [ast.Break()], []))
            elif not e.value:
                condition = e.node
        lines = self._write_in_loop(update, lambda: self._write_suite(body))
        if isinstance(lines[0], ast.Pass) and (first or update):
            lines = []
        return [ast.While(condition, [*first, *lines, *update], [])]

    def _write_do(self, node: ir.DoWhile) -> Lines:
        leaves = any(isinstance(n, ir.Break | ir.Continue) for n in walk(node.body))
        if evaluate_integer(node.test) == 0 and isinstance(node.test, ir.Constant) and not leaves:
            return self._write_scope(node.body.body)
        first, e = self._write_test(lambda: self.write_condition(node.test))
        endless = isinstance(e.value, int) and e.value != 0
        last = [] if endless else [*first, ast.If(_negate(e), [ast.Break()], [])]
        lines = self._write_in_loop(last, lambda: self._write_suite(node.body))
        return [ast.While(ast.Constant(True), [*lines, *last], [])]

    def _write_for(self, node: ir.For) -> Lines:
        self.scopes.append(set())
        lines = self.write_statements(node.start)
        # The update is written in the scope of the loop's header, before the body declares its own names.
        update_of = node.update
        update = self._write_prepared(lambda: self.write_effect(update_of)) if update_of is not None else []
        lines += self._write_loop(node.test, update, node.body)
        self.scopes.pop()
        return lines

    def _write_counted(self, node: ir.CountedFor) -> Lines:
        """``for i in range(...)``."""
        self.scopes.append(set())
        t = node.counter.type
        begin = self.settle(self.convert(self.write_value(node.start), t))
        limit = node.stop
        while isinstance(limit, ir.Convert) and not limit.explicit and limit.value.type.integral:
            limit = limit.value
        end = self.write_value(limit)
        # n - 1 of an unsigned 0 would be a loop over all memory: not what a program that works does.
        end = replace(end, loose=False) if end.loose and end.type.bits == 64 else self.settle(end)
        if not end.type.integral:
            raise self.refuse(node)
        if node.step > 0:
            low, high = begin.range[0], end.range[1] - (not node.inclusive)
        else:
            low, high = end.range[0] + (not node.inclusive), begin.range[1]
        low, high = max(low, t.low), min(high, t.high)
        known = self.variables.get(node.counter)
        if node.declared or known is None:
            known = self.declare(node.counter, t, low=low, high=high)
        else:
            known = self.variables[node.counter] = replace(known, low=low, high=high)
        ends = [_add_amount(end, (1 if node.step > 0 else -1) * node.inclusive)]
        if node.step != 1 or begin.value != 0:
            ends = [begin.node, *ends, *([number(node.step)] if node.step != 1 else [])]
        lines = self._write_in_loop([], lambda: self._write_suite(node.body))
        self.scopes.pop()
        return [ast.For(ast.Name(known.name), call("range", *ends), lines, [])]

    # -- switch -----------------------------------------------------------------------------------

    def _write_switch(self, node: ir.Switch) -> Lines:
        lines, subject = self._write_test(lambda: self.write_settled(node.subject))
        if not isinstance(subject.node, ast.Name):
            name = ast.Name(self.scope.make_fresh_name("key"))
            lines.append(assign(name, subject))
            subject = replace(subject, node=name)
        cases: list[tuple[ast.expr, Lines]] = []
        default: Lines = []
        labels: list[Expression | None] = []
        for arm in node.arms:
            labels += arm.labels
            if arm.falls and not _are_statements(arm.body):
                continue
            if arm.falls:
                raise self.stop("falls through from one case to the next", arm)
            values = [self.write_settled(label).node for label in labels if label is not None]
            suite = self._write_in_loop(None, lambda arm=arm: self._write_scope(arm.body))  # type: ignore[misc]
            if len(values) < len(labels):
                default = suite
            elif len(values) == 1:
                cases.append((write_operation("==", subject, values[0]), suite or [ast.Pass()]))
            else:
                cases.append((write_operation("in", subject, ast.Tuple(values)), suite or [ast.Pass()]))
            labels = []
        return [*lines, *write_branches(cases, default)]

    # -- local variables --------------------------------------------------------------------------

    def declare(
        self, symbol: Symbol, t: CType, *, low: int | None = None, high: int | None = None, cell: bool = False
    ) -> Variable:
        """Bring a variable into the innermost scope, renamed where it would hide one still in use."""
        spelled = choose_python_name(symbol.name)
        if self.scope.hides_function(symbol.name):
            spelled = f"{spelled}_"
        taken = set().union(*self.scopes)
        while spelled in taken:
            spelled += "_"
        self.scopes[-1].add(spelled)
        self.variables[symbol] = Variable(spelled, t, low, high, cell)
        return self.variables[symbol]

    def _declare(self, node: ir.Declare) -> Lines:
        symbol = node.symbol
        if symbol.storage in ("static", "constant", "global"):
            if symbol.initial is None or (symbol.assigned and not symbol.const):
                raise self.stop(f"keeps `{symbol.name}` between calls", node)
            return []
        return self._write_prepared(lambda: self._write_local(node))

    def _write_local(self, node: ir.Declare) -> Lines:
        symbol, t = node.symbol, node.symbol.type
        if symbol.reference:
            raise self.stop(f"uses the reference `{symbol.name}`", node)
        if t.kind == "?" and node.value is not None:
            self.write_value(node.value)  # why its type is not known
        self.scope.check_type(t, node)
        if t.kind == "a" and t.length is None and not node.sizes:
            return self._write_alias(node)
        if node.value is not None:
            e = self.convert(self.write_initial(node.value, t), t, node=node.value)
            return [assign(self._add_variable(symbol).name, e)]
        variable = self._add_variable(symbol)
        if t.kind == "a":
            return [assign(variable.name, self._write_empty(t, node.sizes))]
        return []

    def _write_alias(self, node: ir.Declare) -> Lines:
        """A pointer that is another name of an array."""
        symbol = node.symbol
        for change in self.changes.get(symbol, ()):
            if not isinstance(change, ir.Assignment) or getattr(change.place, "symbol", None) is symbol:
                raise self.stop(f"moves the pointer `{symbol.name}`", node)
        value = self.write_value(node.value) if node.value is not None else None
        if value is None or value.type.kind != "a":
            raise self.stop(f"uses the pointer variable `{symbol.name}`", node)
        return [assign(self.declare(symbol, value.type).name, value)]

    def _add_variable(self, symbol: Symbol) -> Variable:
        t = symbol.type
        if t.integral and t.bits >= 32 and self._is_counter(symbol):
            down = any(_is_counting_down(change) for change in self.changes.get(symbol, ()))
            if t.kind == "i" or not down:
                return self.declare(symbol, t, low=-COUNTER if t.kind == "i" else 0, high=COUNTER)
        return self.declare(symbol, t)

    @cached_property
    def _starts(self) -> dict[Symbol, Expression | None]:
        return {node.symbol: node.value for node in walk(self.function.body) if isinstance(node, ir.Declare)}

    def _is_counter(self, symbol: Symbol) -> bool:
        """Whether an int starts from literals and moves by small literals only."""
        moves = self.changes.get(symbol, [])
        start = self._starts.get(symbol)
        values = [start] if start is not None else []
        for move in moves:
            if isinstance(move, ir.AddressOf) or not isinstance(move, ir.Assignment):
                return False
            value = strip_conversions(move.value)
            if isinstance(value, ir.Binary) and isinstance(strip_conversions(value.left), ir.Current):
                if value.op not in ("+", "-"):
                    return False
                value = strip_conversions(value.right)
            values.append(value)
        plain = [strip_conversions(v) for v in values]
        return bool(moves) and all(
            isinstance(v, ir.Constant) and not isinstance(v.value, complex) and 0 <= v.value < _SMALL for v in plain
        )

    def _write_empty(self, t: CType, sizes: Sequence[Expression | None]) -> ast.expr:
        """A zeroed local array, whose lengths may be expressions."""
        if not any(size is not None for size in sizes):
            return zero(t)
        if t.of is None:
            raise self.stop("declares an array of size 0")
        inner = self._write_empty(t.of, sizes[1:])
        size = self.write_settled(sizes[0]).node if sizes[0] is not None else number(t.length or 0)
        return write_array(inner, [size], copied=t.of.kind == "a")

    _STATEMENTS: ClassVar[dict[type[Node], Callable[..., Lines]]] = {
        ir.Assert: _write_assert,
        Block: _write_block,
        ir.Break: _write_break,
        ir.Continue: _write_continue,
        ir.CountedFor: _write_counted,
        ir.Declare: _declare,
        ir.DoWhile: _write_do,
        ir.Evaluate: _write_evaluate,
        ir.For: _write_for,
        ir.If: _write_if,
        ir.OpaqueStatement: _write_opaque_statement,
        ir.Raise: _write_raise,
        ir.Return: _write_return,
        ir.Switch: _write_switch,
        ir.While: _write_while,
    }


def _are_statements(nodes: Sequence[Statement]) -> bool:
    """Whether these do anything at all."""
    return any(_are_statements(node.body) if isinstance(node, Block) else True for node in nodes)


def _is_counting_down(change: Node) -> bool:
    value = strip_conversions(change.value) if isinstance(change, ir.Assignment) else None
    return isinstance(value, ir.Binary) and value.op == "-"


def _add_amount(e: Expr, amount: int) -> ast.expr:
    """``e + 1`` or ``e - 1`` for a range's end, folded where it can be."""
    match e.node:
        case _ if not amount:
            return e.node
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return number(value + amount)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=1)):
            if isinstance(op, ast.Sub) == (amount > 0):
                return left
    return write_operation("+" if amount > 0 else "-", e, 1)


def _negate(e: Expr) -> ast.expr:
    """The condition that is true where ``e`` is not."""
    match e.node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
    return write_negation(e)
