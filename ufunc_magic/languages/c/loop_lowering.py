"""C's ``for`` -> the IR's: counted where the trip count is known when the loop begins, else as it is (C17 6.8.5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tree_sitter import Node

from ...ir import (
    Assignment,
    Binary,
    Block,
    Constant,
    Convert,
    CountedFor,
    CType,
    Current,
    Declare,
    Element,
    Evaluate,
    Expression,
    Field,
    For,
    Length,
    Name,
    Statement,
    Symbol,
    Unary,
    evaluate,
    evaluate_integer,
    walk as walk_ir,
)
from .c_tree import take_text, walk
from .call_lowering import CallLowerer
from .lowering_context import strip_parentheses
from .lowering_values import Scope

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
#: Parts of a limit that stays the same while its variables do.
_STILL = (Name, Constant, Convert, Unary, Binary, Element, Field, Length)


class _Count(NamedTuple):
    """A loop's header that counts."""

    counter: Symbol
    start: Expression
    stop: Expression
    step: int
    inclusive: bool
    declared: bool


class LoopLowerer(CallLowerer):
    """Lowers ``for``; ``body`` is the function's own."""

    body: Node | None = None
    _uses: dict[str, list[Node]] | None = None

    def __init__(self, scope: Scope, lines: Sequence[int] | None) -> None:
        super().__init__(scope, lines)
        #: Counters that go up from a number that is not negative, with the bodies of their loops.
        self.upwards: dict[Symbol, Node] = {}

    def lower_statement(self, node: Node) -> list[Statement]:
        raise NotImplementedError

    def lower_block(self, node: Node | None) -> Block:
        raise NotImplementedError

    def _lower_for(self, node: Node) -> list[Statement]:
        start_node, test_node, update_node = (
            node.child_by_field_name(name) for name in ("initializer", "condition", "update")
        )
        self.scopes.append({})
        start: list[Statement] = []
        if start_node is not None and start_node.type == "declaration":
            start = self.lower_statement(start_node)
        elif start_node is not None:
            start = [Evaluate(at=self.find_position(start_node), value=self.lower_value(start_node))]
        test = self.lower_value(test_node) if test_node is not None else None
        update = self.lower_value(update_node) if update_node is not None else None
        header = self._read_header(start, test, update, node) if test is not None and update is not None else None
        changes, stores = len(self.changes), self.stores
        body_node = node.child_by_field_name("body")
        if header is not None and body_node is not None and header.step > 0 and self._is_never_negative(header.start):
            self.upwards[header.counter] = body_node
        body = self.lower_block(body_node)
        self.scopes.pop()
        at = self.find_position(node)
        if header is not None and self._is_counted(header, set(self.changes[changes:]), self.stores > stores, node):
            return [
                CountedFor(
                    at=at,
                    counter=header.counter,
                    start=header.start,
                    stop=header.stop,
                    step=header.step,
                    body=body,
                    inclusive=header.inclusive,
                    declared=header.declared,
                )
            ]
        return [For(at=at, start=tuple(start), test=test, update=update, body=body)]

    def _read_header(
        self, start: Sequence[Statement], test: Expression, update: Expression, node: Node
    ) -> _Count | None:
        """The count of a loop, if its header sets, compares and moves one integer."""
        match start:
            case [Declare(symbol=counter, value=Expression() as first)] if not counter.reference:
                declared = counter.storage == "local"
            case [Evaluate(value=Assignment(place=Name(symbol=counter), value=first, postfix=False))]:
                declared = False
            case _:
                return None
        t = counter.type
        if not t.integral or counter.storage not in ("local", "parameter") or _reads_symbol(first, counter):
            return None
        step = _find_step(update, counter)
        limit = _find_limit(test, counter)
        if not step or limit is None:
            return None
        op, stop, compared = limit
        if op == "!=":
            # From a start beyond the end a signed counter would overflow, an unsigned one count through all numbers.
            if abs(step) != 1 or (compared.kind == "u" and (step < 0 or evaluate(first) is None)):
                return None
            op = "<" if step > 0 else ">"
        if op not in (("<", "<=") if step > 0 else (">", ">=")) or (compared.kind == "u" and op == ">="):
            return None
        if compared.kind == "u" and not self._is_never_negative(first):
            return None
        return _Count(counter, first, stop, step, op in ("<=", ">="), declared)

    def _is_counted(self, header: _Count, changed: set[Symbol], stores: bool, node: Node) -> bool:
        """Whether the body lets the header count: it changes neither the counter nor what the limit depends on."""
        if header.counter in changed:
            return False
        lengths = {p.base.symbol for p in walk_ir(header.stop) if isinstance(p, Length) and isinstance(p.base, Name)}
        for part in walk_ir(header.stop):
            match part:
                case Name(symbol=symbol) if symbol in lengths - self.resized:
                    continue
                case Name(symbol=symbol):
                    if symbol in changed or (symbol.storage in ("global", "static") and stores):
                        return False
                case Element() | Field() if stores:
                    return False
            if not isinstance(part, _STILL):
                return False
        return header.declared or self._is_dead_after(header.counter.name, node)

    def _is_never_negative(self, e: Expression) -> bool:
        """Whether an integer is certainly not below zero, as far as that is easy to see."""
        value = evaluate_integer(e)
        if value is not None:
            return value >= 0
        if e.type.kind in "ub":
            return True
        match e:
            case Convert(value=inner):
                return inner.type.integral and self._is_never_negative(inner)
            case Binary(op="+" | "*" | "/" | ">>" | "%", left=left, right=right):
                return self._is_never_negative(left) and self._is_never_negative(right)
            case Binary(op="&", left=left, right=right):
                return self._is_never_negative(left) or self._is_never_negative(right)
            case Name(symbol=symbol):
                body = self.upwards.get(symbol)
                return body is not None and not _may_move(body, symbol.name)
        return False

    def _is_dead_after(self, name: str, loop: Node) -> bool:
        """Whether a counter declared outside its loop is used only in loops that set it first."""
        if self.body is None:
            return False
        if self._uses is None:
            self._uses = {}
            for use in walk(self.body):
                if use.type in ("identifier", "type_identifier"):
                    self._uses.setdefault(take_text(use), []).append(use)
        return all(self._is_set_before(use, name, self.body) for use in self._uses.get(name, ()))

    @staticmethod
    def _is_set_before(use: Node, name: str, body: Node) -> bool:
        above: Node | None = use
        while above is not None and above != body:
            if above.type == "declaration":
                return True
            if above.type == "for_statement" and _sets_variable(above.child_by_field_name("initializer"), name):
                return True
            above = above.parent
        return False


def _sets_variable(start: Node | None, name: str) -> bool:
    """Whether the first part of a loop's header sets the variable, and does nothing else."""
    if start is None:
        return False
    if start.type == "declaration":
        declarators = start.children_by_field_name("declarator")
        inner = declarators[0].child_by_field_name("declarator") if len(declarators) == 1 else None
        return inner is not None and inner.type == "identifier" and take_text(inner) == name
    start = strip_parentheses(start)
    left, operator = start.child_by_field_name("left"), start.child_by_field_name("operator")
    plain = start.type == "assignment_expression" and operator is not None and operator.type == "="
    return plain and left is not None and left.type == "identifier" and take_text(left) == name


def _may_move(body: Node, name: str) -> bool:
    """Whether a loop's body may assign to a variable of this name."""
    for node in walk(body):
        if node.type in ("assignment_expression", "update_expression", "pointer_expression"):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if target is not None and take_text(target) == name:
                return True
    return False


def _reads_symbol(e: Expression, symbol: Symbol) -> bool:
    return any(isinstance(part, Name) and part.symbol is symbol for part in walk_ir(e))


def _find_step(update: Expression, counter: Symbol) -> int:
    """The constant by which an update moves the counter, 0 where it does anything else."""
    match update:
        case Assignment(place=Name(symbol=symbol), value=value) if symbol is counter:
            while isinstance(value, Convert):
                value = value.value
            if isinstance(value, Binary) and value.op in ("+", "-") and _is_counter(value.left, counter):
                step = evaluate_integer(value.right) or 0
                return step if value.op == "+" else -step
            if isinstance(value, Binary) and value.op == "+" and _is_counter(value.right, counter):
                return evaluate_integer(value.left) or 0
    return 0


def _is_counter(e: Expression, counter: Symbol) -> bool:
    """Whether an expression is the counter, in whatever integer type."""
    while isinstance(e, Convert) and e.type.integral:
        e = e.value
    return isinstance(e, Current) or (isinstance(e, Name) and e.symbol is counter)


def _find_limit(test: Expression, counter: Symbol) -> tuple[str, Expression, CType] | None:
    """How the counter is compared, with what, and in which type."""
    match test:
        case Binary(op="<" | ">" | "<=" | ">=" | "!=" as op, left=left, right=right):
            if not _is_counter(left, counter):
                left, right, op = right, left, _MIRRORED[op]  # type: ignore[assignment]
            if (
                _is_counter(left, counter)
                and not isinstance(left, Current)
                and left.type.integral
                and right.type.integral
            ):
                return op, right, left.type
    return None
