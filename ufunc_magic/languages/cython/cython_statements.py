"""Statements of Cython's analysed tree as the IR's, of one function or of the module level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...ir import (
    INT,
    OBJECT,
    Assert,
    Assignment,
    Binary,
    Block,
    Break,
    Constant,
    Continue,
    Convert,
    CountedFor,
    CType,
    Current,
    Dynamic,
    DynamicStatement,
    Evaluate,
    Expression,
    ForEach,
    If,
    Name,
    OpaqueExpression,
    OpaqueStatement,
    ParallelAssignment,
    Raise,
    Return,
    Statement,
    Symbol,
    Unpack,
    While,
    walk,
)
from .cython_expressions import CythonExpressions, LoweredCell, Unsaid, strip_coercions

_NOTHING = (
    "UnicodeNode StringNode BytesNode NameNode EllipsisNode NoneNode IntNode FloatNode BoolNode IdentifierStringNode"
).split()


class CythonStatements(CythonExpressions):
    """Lowers statements; ``returns`` are the types of a function's results."""

    def __init__(
        self,
        cell: LoweredCell,
        directives: Mapping[str, Any],
        arguments: Sequence[Any] = (),
        returns: tuple[CType, ...] | None = None,
    ) -> None:
        super().__init__(cell, directives, arguments)
        self.returns = returns
        self.lines: list[Statement] = []

    # -- doors --------------------------------------------------------------------------------------

    def lower_block(self, node: Any) -> Block:
        around, self.lines = self.lines, []
        self.lower_statement(node)
        lines, self.lines = self.lines, around
        return Block(tuple(lines), at=self.find_position(node))

    def lower_else(self, node: Any) -> Block | None:
        return self.lower_block(node.else_clause) if node.else_clause is not None else None

    def put(self, line: Statement) -> None:
        self.lines.append(line)

    def lower_statement(self, node: Any) -> None:
        if node is None:
            return
        for base in type(node).__mro__:
            if method := getattr(self, f"_do_{base.__name__}", None):
                count = len(self.lines)
                try:
                    method(node)
                except Unsaid as fault:
                    del self.lines[count:]
                    self.put(self.make_opaque_statement(node, fault.reason))
                return
        self.put(self.make_opaque_statement(node, f"uses `{self.cell.shorten_line(node)}`, which has no Python form"))

    def make_opaque_statement(self, node: Any, reason: str) -> OpaqueStatement:
        touched = frozenset(self.find_touched(node))
        text, at = self.cell.shorten_line(node), self.find_position(node)
        return OpaqueStatement(reason, text, reads=touched, writes=touched, repeats=True, acts=True, at=at)

    # -- blocks and statements without effect -----------------------------------------------------------------

    def _do_StatListNode(self, node: Any) -> None:
        for inner in node.stats:
            self.lower_statement(inner)

    def _do_PassStatNode(self, node: Any) -> None:
        pass

    _do_CImportStatNode = _do_FromCImportStatNode = _do_CDefExternNode = _do_CVarDefNode = _do_PassStatNode
    _do_GlobalNode = _do_CTypeDefNode = _do_CEnumDefNode = _do_CStructOrUnionDefNode = _do_PassStatNode

    def _do_CompilerDirectivesNode(self, node: Any) -> None:
        around, self.directives = self.directives, node.directives
        self.lower_statement(node.body)
        self.directives = around

    def _do_GILStatNode(self, node: Any) -> None:
        self.lower_statement(node.body)

    _do_ParallelWithBlockNode = _do_GILStatNode

    # -- assignments --------------------------------------------------------------------------------

    def place(self, node: Any) -> Any:
        """Lower a target of an assignment."""
        while type(node).__name__ in ("NoneCheckNode", "CloneNode", "ProxyNode"):
            node = node.arg
        place = self.lower(node)
        if isinstance(place, OpaqueExpression):
            raise Unsaid(place.reason)
        return place

    def _do_SingleAssignmentNode(self, node: Any) -> None:
        target, value = node.lhs, node.rhs
        word = type(target).__name__
        if word in ("TupleNode", "ListNode"):
            places = tuple(self.place(inner) for inner in target.args)
            self.put(Unpack(places, self.lower_value(_skip_coercions(value)), at=self.find_position(target)))
        elif word in ("MemoryCopyScalar", "MemoryCopySlice", "SliceIndexNode", "MemoryViewSliceNode"):
            self._fill(getattr(target, "dst", target), value)
        else:
            self.put(Evaluate(self.lower_assignment(target, value), at=self.find_position(target)))

    def lower_assignment(self, target: Any, value: Any) -> Assignment:
        place = self.place(target)
        if (old := _find_old_value(value)) is not None:
            self.known[id(old)] = Current(place.type, at=place.at)
        return Assignment(place.type, place, self.convert(self.lower_value(value), place.type), at=place.at)

    def _fill(self, target: Any, value: Any) -> None:
        """``a[1:] = x``: numbers or a number into a part of an array."""
        part = self.lower(target)
        item = self.lower_value(value)
        if isinstance(part, Dynamic):
            writes = frozenset(n.symbol for n in walk(part.operands[0]) if isinstance(n, Name))
            text, operands = f"{part.template} = {{}}", (*part.operands, item)
        else:  # the whole of a memoryview
            writes = frozenset(n.symbol for n in walk(part) if isinstance(n, Name))
            text, operands = "{}[:] = {}", (part, item)
        self.put(DynamicStatement(text, operands, writes, at=part.at))

    def _do_CascadedAssignmentNode(self, node: Any) -> None:
        values = node.cloned_values or [node.rhs] * len(node.lhs_list)
        for target, value in zip(node.lhs_list, values, strict=True):
            self.put(Evaluate(self.lower_assignment(target, value), at=self.find_position(target)))

    def _do_ParallelAssignmentNode(self, node: Any) -> None:
        if not all(type(inner).__name__ == "SingleAssignmentNode" for inner in node.stats):
            raise self.make_unsaid(node)
        assignments = tuple(self.lower_assignment(inner.lhs, inner.rhs) for inner in node.stats)
        self.put(ParallelAssignment(assignments, at=assignments[0].at))

    def _do_LetNode(self, node: Any) -> None:
        value, body = self.lower_value(node.temp_expression), node.body
        if type(body).__name__ == "ParallelAssignmentNode" and (targets := _find_unpacked(body, node.lazy_temp)):
            self.put(Unpack(tuple(self.place(t) for t in targets), value, at=self.find_position(targets[0])))
            return
        self.known[id(node.lazy_temp)] = value
        self.lower_statement(body)

    def _do_InPlaceAssignmentNode(self, node: Any) -> None:
        place = self.place(node.lhs)
        old = Current(place.type, at=place.at)
        value: Expression = self._lower_in_place(str(node.operator), old, self.lower_value(node.rhs), node)
        self.put(Evaluate(Assignment(place.type, place, self.convert(value, place.type), at=place.at), at=place.at))

    def _lower_in_place(self, op: str, old: Expression, value: Expression, node: Any) -> Expression:
        """Cython writes the operator of C for an element of a memoryview, whatever the directives are."""
        if not (old.type.arithmetic and value.type.arithmetic):
            return Dynamic(old.type, f"{{}} {op} {{}}", (old, value), at=old.at)
        return self.operate(op, old, value, _COperation(node.lhs.type))

    # -- simple statements --------------------------------------------------------------------------

    def _do_ExprStatNode(self, node: Any) -> None:
        if type(node.expr).__name__ not in _NOTHING:
            value = self.lower_value(node.expr)
            self.put(Evaluate(value, at=value.at))

    def _do_BreakStatNode(self, node: Any) -> None:
        self.put(Break(at=self.find_position(node)))

    def _do_ContinueStatNode(self, node: Any) -> None:
        self.put(Continue(at=self.find_position(node)))

    def _do_DelStatNode(self, node: Any) -> None:
        for target in node.args:
            self.put(DynamicStatement("del {}", (self.lower(target),), at=self.find_position(node)))

    def _do_ReturnStatNode(self, node: Any) -> None:
        returns, at = self.returns, self.find_position(node)
        if node.value is None:
            self.put(Return(at=at))
        elif returns is not None and len(returns) > 1 and type(node.value).__name__ == "TupleNode":
            values = tuple(map(self.convert, (self.lower_value(v) for v in node.value.args), returns))
            self.put(Return(values, at=at))
        else:
            value = self.lower_value(node.value)
            one = returns is not None and len(returns) == 1
            self.put(Return((self.convert(value, returns[0]) if returns and one else value,), at=at))

    def _do_RaiseStatNode(self, node: Any) -> None:
        kind, value, at = node.exc_type, node.exc_value, self.find_position(node)
        if kind is None:
            self.put(DynamicStatement("raise", at=at))
            return
        name, message = _read_exception(kind, value)
        if name:
            self.put(Raise(name, message, at=at))
        elif value is not None:
            self.put(DynamicStatement("raise {}({})", (self.lower_value(kind), self.lower_value(value)), at=at))
        else:
            self.put(DynamicStatement("raise {}", (self.lower_value(kind),), at=at))

    def _do_AssertStatNode(self, node: Any) -> None:
        test, at = self.test(node.condition), self.find_position(node)
        fault = node.exception
        value = getattr(getattr(fault, "body", fault), "exc_value", None)
        if value is None or type(value).__name__ == "UnicodeNode":
            self.put(Assert(test, None if value is None else str(value.value), at=at))
        else:
            self.put(DynamicStatement("assert {}, {}", (test, self.lower_value(value)), at=at))

    def _do_TryExceptStatNode(self, node: Any) -> None:
        blocks = [node.body, *(clause.body for clause in node.except_clauses), node.else_clause]
        if any(clause.target is not None for clause in node.except_clauses):
            raise self.make_unsaid(node)
        self._put_opaque(node, blocks)

    def _do_TryFinallyStatNode(self, node: Any) -> None:
        self._put_opaque(node, [node.body, node.finally_clause])

    def _put_opaque(self, node: Any, blocks: Sequence[Any]) -> None:
        """Put a statement without a form, with the blocks in it, which have one."""
        parts = tuple(self.lower_block(block) for block in blocks if block is not None)
        reason = str(self.make_unsaid(node))
        self.put(OpaqueStatement(reason, self.cell.shorten_line(node), parts, at=self.find_position(node)))

    # -- control flow -------------------------------------------------------------------------------

    def _do_IfStatNode(self, node: Any) -> None:
        rest = self.lower_else(node)
        for clause in reversed(node.if_clauses):
            at = self.find_position(clause)
            inner = If(self.test(clause.condition), self.lower_block(clause.body), rest, at=at)
            rest = Block((inner,), at=at)
        if rest is not None:
            self.lines += rest.body

    def _do_WhileStatNode(self, node: Any) -> None:
        if node.condition is None:
            raise self.make_unsaid(node)
        self.put(
            While(
                self.test(node.condition),
                self.lower_block(node.body),
                self.lower_else(node),
                at=self.find_position(node),
            )
        )

    def _do_ForInStatNode(self, node: Any) -> None:
        sequence, at = node.iterator.sequence, self.find_position(node)
        while type(sequence).__name__ in ("NoneCheckNode", "CoerceToTempNode"):
            sequence = sequence.arg
        bounds = _find_range_arguments(sequence)
        if bounds is not None:
            self._lower_range(node, [self._bound(b) for b in bounds])
            return
        iterable = self.lower_value(sequence)
        if iterable.type.kind == "?" or getattr(sequence.type, "is_cpp_class", False):
            raise Unsaid(f"goes through `{self.cell.shorten_line(node)}`")
        targets = self._list_targets(node.target)
        self.put(ForEach(targets, iterable, self.lower_block(node.body), self.lower_else(node), at=at))

    def _list_targets(self, node: Any) -> tuple[Any, ...]:
        unpacks = type(node).__name__ in ("TupleNode", "ListNode")
        return tuple(self.place(inner) for inner in node.args) if unpacks else (self.place(node),)

    def _bound(self, node: Any) -> Expression:
        """A bound of a range, as a C number where it is one."""
        if type(node).__name__ == "CoerceToPyTypeNode":
            node = node.arg
        value = self.lower_value(node)
        return Constant(INT, value.value) if isinstance(value, Constant) and value.type == OBJECT else value

    def _lower_range(self, node: Any, bounds: list[Expression]) -> None:
        start, stop = [Constant(INT, 0), *bounds][-2:] if len(bounds) < 3 else bounds[:2]
        step = _read_constant(bounds[2]) if len(bounds) == 3 else 1
        target = self.place(node.target)
        at = self.find_position(node)
        body, rest = self.lower_block(node.body), self.lower_else(node)
        numbers = isinstance(target, Name) and target.type.integral and start.type.integral and stop.type.integral
        if numbers and step and not _may_assign(body, {target.symbol, *_find_read(stop)}):
            # The counter goes up in its own type, and is compared in one that has both.
            first = self.convert(start, target.type)
            loop = CountedFor(target.symbol, first, stop, step, body, declared=False, otherwise=rest, at=at)
            self.put(loop)
            return
        text = f"range({', '.join(['{}'] * len(bounds))})"
        self.put(ForEach((target,), Dynamic(OBJECT, text, tuple(bounds), at=at), body, rest, at=at))

    def _do_ForFromStatNode(self, node: Any) -> None:
        """``for i from 0 <= i < n by 2``."""
        target, start, stop = self.place(node.target), self.lower_value(node.bound1), self.lower_value(node.bound2)
        step = 1 if node.step is None else _read_constant(self.lower_value(node.step))
        body, down = self.lower_block(node.body), node.relation1[0] == ">"
        changed = _may_assign(body, {n.symbol for n in walk(target) if isinstance(n, Name)} | _find_read(stop))
        if not isinstance(target, Name) or not target.type.integral or not step or changed:
            raise self.make_unsaid(node)
        step = -step if down else step
        if "=" not in node.relation1:
            start = Binary(start.type, "+", start, self.convert(Constant(INT, step), start.type), at=start.at)
        start, inclusive = self.convert(start, target.type), "=" in node.relation2
        rest, at = self.lower_else(node), self.find_position(node)
        self.put(CountedFor(target.symbol, start, stop, step, body, inclusive, False, rest, at=at))

    def _do_ParallelRangeNode(self, node: Any) -> None:
        ends = [end for end in (node.start, node.stop, node.step) if end is not None] or list(node.args or ())
        self._lower_range(node, [self._bound(end) for end in ends])


class _COperation:
    """The part of a node that `CythonExpressions.operate` reads, for an operator of C's."""

    pos = None
    cdivision = True
    overflow_check = False

    def __init__(self, kind: Any) -> None:
        self.type = kind


def _skip_coercions(node: Any) -> Any:
    while type(node).__name__ in ("CoerceToTempNode", "CloneNode", "ProxyNode"):
        node = node.arg
    return node


def _find_old_value(node: Any) -> Any:
    """The node of ``x`` in the value of ``x op= y``."""
    while hasattr(node, "arg") and not getattr(node, "inplace", False):
        node = node.arg
    return strip_coercions(node.operand1) if getattr(node, "inplace", False) else None


def _find_unpacked(body: Any, source: Any) -> list[Any]:
    """The targets of ``a, b = value`` of a ctuple, in the form that Cython gives it; none for another assignment."""
    targets = []
    for at, inner in enumerate(body.stats):
        value = _skip_coercions(inner.rhs)
        while hasattr(value, "arg"):
            value = value.arg
        if type(value).__name__ != "IndexNode" or value.base is not source or value.index.constant_result != at:
            return []
        targets.append(inner.lhs)
    return targets


def _read_exception(kind: Any, value: Any) -> tuple[str, str | None]:
    """Class and constant message of an exception; no class where it has more than those."""
    if type(kind).__name__ == "NameNode" and (value is None or type(value).__name__ == "UnicodeNode"):
        return str(kind.name), None if value is None else str(value.value)
    if type(kind).__name__ == "SimpleCallNode" and type(kind.function).__name__ == "NameNode" and value is None:
        args = kind.arg_tuple.args if kind.args is None else kind.args
        if not args:
            return str(kind.function.name), ""
        if len(args) == 1 and type(args[0]).__name__ == "UnicodeNode":
            return str(kind.function.name), str(args[0].value)
    return "", None


def _find_range_arguments(node: Any) -> list[Any] | None:
    if type(node).__name__ != "SimpleCallNode" or getattr(node.function, "name", "") != "range":
        return None
    if not getattr(node.function.entry.scope, "is_builtin_scope", False):
        return None
    args = list(node.arg_tuple.args if node.args is None else node.args)
    return args if 1 <= len(args) <= 3 else None


def _read_constant(value: Expression) -> int | None:
    while isinstance(value, Convert):
        value = value.value
    if isinstance(value, Constant) and isinstance(value.value, int):
        return value.value
    inner = getattr(value, "operand", None)
    if getattr(value, "op", "") == "-" and isinstance(inner, Constant) and isinstance(inner.value, int):
        return -inner.value
    return None


def _find_read(value: Expression) -> set[Symbol]:
    return {node.symbol for node in walk(value) if isinstance(node, Name)}


def _may_assign(body: Block, symbols: Iterable[Symbol]) -> bool:
    """Whether a loop's body assigns to one of the variables, or may."""
    symbols = set(symbols)
    for node in walk(body):
        if isinstance(node, Assignment) and isinstance(node.place, Name) and node.place.symbol in symbols:
            return True
        if isinstance(node, CountedFor) and node.counter in symbols:
            return True
        if isinstance(node, Unpack | ForEach) and any(
            isinstance(t, Name) and t.symbol in symbols for t in node.targets
        ):
            return True
        if isinstance(node, OpaqueStatement | OpaqueExpression) and symbols & node.writes:
            return True
    return False
