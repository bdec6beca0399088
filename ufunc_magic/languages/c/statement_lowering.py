"""C's statements and declarations -> the IR's (C17 6.7, 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from tree_sitter import Node

from ...ir import (
    CHARACTERS,
    CONTAINER,
    GOTO,
    LONG,
    SIZE,
    VOID,
    Aggregate,
    Arm,
    Assert,
    Block,
    Break,
    Constant,
    Continue,
    CountedFor,
    CType,
    Declare,
    DoWhile,
    Evaluate,
    Expression,
    FunctionCall,
    If,
    Length,
    Logical,
    Name,
    Node as IRNode,
    OpaqueExpression,
    OpaqueStatement,
    Raise,
    Return,
    Statement,
    StringLiteral,
    Switch,
    Symbol,
    Unary,
    While,
    evaluate,
    promote,
)
from .c_tree import take_text, walk
from .declarations import TAGGED, Declaration, read_declarations
from .expression_lowering import ExpressionLowerer
from .loop_lowering import LoopLowerer
from .lowering_context import find_root_symbol, list_parts, part, shorten, strip_parentheses
from .type_lowering import AUTO, UNKNOWN

#: Nodes with nothing in them to lower.
_EMPTY = frozenset(
    "comment primitive_type sized_type_specifier type_descriptor field_identifier statement_identifier "
    "type_qualifier storage_class_specifier string_content escape_sequence placeholder_type_specifier "
    "namespace_identifier template_argument_list abstract_function_declarator".split()
)
_MAKERS = frozenset(("pair", "tuple", "make_pair", "make_tuple"))


class StatementLowerer(LoopLowerer):
    """Lowers one function's body.

    ``results`` are the types of what it returns, empty for void, None until the first ``return`` of a function whose
    result is ``auto``.
    """

    results: tuple[CType, ...] | None = ()

    # -- statements -------------------------------------------------------------------------------

    def lower_statements(self, nodes: Sequence[Node]) -> tuple[Statement, ...]:
        return tuple(statement for node in nodes for statement in self.lower_statement(node))

    def lower_block(self, node: Node | None) -> Block:
        """A statement as the body of another."""
        if node is None:
            return Block()
        self.scopes.append({})
        body = self.lower_statements(list_parts(node) if node.type == "compound_statement" else [node])
        self.scopes.pop()
        return Block(at=self.find_position(node), body=body)

    def lower_statement(self, node: Node) -> list[Statement]:
        """A statement; a declaration may be several."""
        lower = self._STATEMENTS.get(node.type)
        if lower is not None:
            return lower(self, node)
        if node.type in self._EXPRESSIONS:
            return [Evaluate(at=self.find_position(node), value=self.lower_value(node))]
        return self._lower_unknown(node)

    def lower_inside(self, node: Node) -> list[IRNode]:
        if node.type == "lambda_expression":
            return self._lower_lambda(node)
        lowered: list[IRNode] = []
        for child in node.named_children:
            if child.type in self._STATEMENTS:
                lowered += self.lower_statement(child)
            elif child.type in self._EXPRESSIONS:
                lowered.append(self.lower_value(child))
            elif child.type not in _EMPTY:
                lowered += self.lower_inside(child)
        return lowered

    def _lower_lambda(self, node: Node) -> list[IRNode]:
        """A lambda's captures and body, which runs whenever it is called."""
        captures, declarator = node.child_by_field_name("captures"), node.child_by_field_name("declarator")
        lowered = self.lower_inside(captures) if captures is not None else []
        self.scopes.append({})
        listed = next((n for n in walk(declarator) if n.type == "parameter_list"), None) if declarator else None
        for one in list_parts(listed):
            declared = read_declarations(one)[0][0]
            if declared.name:
                self.declare(declared.name, self.types.read(declared).type, self.find_position(one))
        results, self.results = self.results, None
        body = node.child_by_field_name("body")
        lowered += self.lower_statements(list_parts(body))
        self.results = results
        self.scopes.pop()
        return lowered

    def _lower_unknown(
        self, node: Node, reason: str = "", *, repeats: bool = False, acts: bool = False
    ) -> list[Statement]:
        """A statement that the IR cannot say."""
        reason = reason or f"uses `{shorten(node)}`, which has no Python form"
        self.scopes.append({})
        if node.type == "for_range_loop":
            self._declare_range_variable(node)
        inside = tuple(self.lower_inside(node))
        self.scopes.pop()
        return [
            OpaqueStatement(
                at=self.find_position(node),
                reason=reason,
                text=take_text(node),
                parts=inside,
                repeats=repeats,
                acts=acts,
            )
        ]

    def _declare_range_variable(self, node: Node) -> None:
        """The variable of a range-for, which may be a reference to what it goes over."""
        right = node.child_by_field_name("right")
        declared = read_declarations(node)[0][0]
        reference = any(mark.kind in ("&", "&&") for mark in declared.marks)
        if reference and not declared.const and right is not None:
            self.change(self.lower_value(right))
        self.declare(declared.name, self.types.read(declared).type, self.find_position(node), reference=reference)

    def _lower_nothing(self, node: Node) -> list[Statement]:
        return []

    def _lower_compound(self, node: Node) -> list[Statement]:
        return [self.lower_block(node)]

    def _lower_expression(self, node: Node) -> list[Statement]:
        inner = list_parts(node)
        if not inner:
            return []
        e = self.lower_value(inner[0])
        if isinstance(e, FunctionCall) and e.name == "assert" and len(e.arguments) == 1:
            return [self._lower_assertion(e)]
        if isinstance(e, OpaqueExpression) and e.acts:
            return [
                OpaqueStatement(
                    at=e.at, reason=e.reason, text=e.text, parts=e.operands, reads=e.reads, writes=e.writes, acts=True
                )
            ]
        return [Evaluate(at=self.find_position(node), value=e)]

    def _lower_assertion(self, call: FunctionCall) -> Statement:
        """``assert(x > 0 && "why")`` and ``assert(!"here")`` have a message, which counts as true."""
        match call.arguments[0]:
            case Logical(op="&&", left=test, right=StringLiteral(value=message)):
                return Assert(at=call.at, test=test, message=message)
            case Unary(op="!", operand=StringLiteral(value=message)):
                return Assert(at=call.at, test=Constant(type=self.truth, value=0, spelling="false"), message=message)
        return Assert(at=call.at, test=call.arguments[0])

    def _lower_return(self, node: Node) -> list[Statement]:
        inner, at = list_parts(node), self.find_position(node)
        if not inner:
            return [Return(at=at)]
        if self.results is not None and len(self.results) > 1:
            return [Return(at=at, values=self._lower_several(inner[0], self.results))]
        t = self.results[0] if self.results else None
        if t is not None and inner[0].type == "initializer_list":
            return [Return(at=at, values=(self.lower_initial(inner[0], t)[0],))]
        e = self.lower_value(inner[0])
        if self.results is None:
            self.results = () if e.type == VOID else (e.type,)
        elif t is not None:
            e = self.convert(e, t)
        return [Return(at=at, values=(e,))]

    def _lower_several(self, node: Node, types: tuple[CType, ...]) -> tuple[Expression, ...]:
        """The values of a pair, a tuple or an array that is written of them one by one."""
        nodes = _list_values(strip_parentheses(node))
        if nodes is None:
            return (self.make_opaque(node, "returns several values that are not written one by one"),)
        if len(nodes) != len(types):
            return (self.make_opaque(node, "returns fewer values than its type has"),)
        return tuple(self.convert(self.lower_value(n), t) for n, t in zip(nodes, types, strict=True))

    def _lower_if(self, node: Node) -> list[Statement]:
        # A chain of `else if` is as deep a tree as it is long.
        chain: list[tuple[Node, Expression, Block]] = []
        last: Block | None = None
        declared: tuple[Statement, ...] = ()
        at: Node | None = node
        self.scopes.append({})
        while at is not None:
            condition = at.child_by_field_name("condition")
            before, test_node = _split_condition(condition)
            if test_node is None:
                last = Block(at=self.find_position(at), body=tuple(self._lower_unknown(at)))
                break
            if before is not None or test_node.type == "declaration":
                if at != node:
                    last = self.lower_block(at)  # it declares its own
                    break
                first = [before, test_node if test_node.type == "declaration" else None]
                declared = self.lower_statements([n for n in first if n is not None])
            test = self._lower_tested(test_node)
            chain.append((at, test, self.lower_block(at.child_by_field_name("consequence"))))
            other = at.child_by_field_name("alternative")
            if other is not None and other.type == "else_clause":
                other = next(iter(list_parts(other)), None)
            if other is None or other.type != "if_statement":
                last = self.lower_block(other) if other is not None else None
                break
            at = other
        self.scopes.pop()
        for at, test, then in reversed(chain):
            whole = If(at=self.find_position(at), test=test, then=then, otherwise=last)
            last = Block(at=whole.at, body=(whole,))
        body = last.body if last is not None else ()
        return [Block(at=self.find_position(node), body=(*declared, *body))] if declared else list(body)

    def _lower_tested(self, node: Node) -> Expression:
        """A condition, which may be a declaration's value (C++17 9.4)."""
        if node.type != "declaration":
            return self.lower_value(node)
        symbol = next(reversed(self.scopes[-1].values()), None)
        return (
            Name(at=self.find_position(node), type=symbol.type, symbol=symbol)
            if symbol is not None
            else self.make_opaque(node)
        )

    def _lower_while(self, node: Node) -> list[Statement]:
        before, test_node = _split_condition(node.child_by_field_name("condition"))
        if test_node is None or before is not None or test_node.type == "declaration":
            return self._lower_unknown(node, repeats=True)
        test = self.lower_value(test_node)
        return [While(at=self.find_position(node), test=test, body=self.lower_block(node.child_by_field_name("body")))]

    def _lower_do(self, node: Node) -> list[Statement]:
        body, test_node = self.lower_block(node.child_by_field_name("body")), part(node, "condition")
        if test_node is None:
            return self._lower_unknown(node, repeats=True)
        return [DoWhile(at=self.find_position(node), body=body, test=self.lower_value(test_node))]

    def _lower_range_for(self, node: Node) -> list[Statement]:
        """``for (T x : array)``, where nothing in it can change the array by way of ``x`` (C++17 9.5.4)."""
        declared, right, at = read_declarations(node)[0][0], part(node, "right"), self.find_position(node)
        array = (
            self.find_variable(take_text(right)) or self.scope.find_value(take_text(right))
            if right is not None
            else None
        )
        if not isinstance(array, Symbol):
            return self._lower_unknown(node, repeats=True)
        container = array.type.name in (CONTAINER, CHARACTERS)
        of = array.type.of if array.type.length or container else None
        t, reference, _ = self.types.read(declared)
        if right is None or of is None or (of.kind == "a" and not reference):
            return self._lower_unknown(node, repeats=True)
        self.scopes.append({})
        counter = self.declare(f"{declared.name}_index", LONG, at)
        index = Name(at=at, type=LONG, symbol=counter)
        whole_array = self.lower_value(right)
        element = self.lower_element(whole_array, index, right)
        t = element.type if t == AUTO else t
        symbol = self.declare(declared.name, t, at, const=declared.const)
        first: tuple[Statement, ...] = ()
        if of.kind == "a" or (reference and not (declared.const and array.const)):
            self.aliases[symbol] = element
            self.stores += 1
        else:
            first = (Declare(at=at, symbol=symbol, value=self.convert(element, t)),)
        body = self.lower_block(node.child_by_field_name("body"))
        self.scopes.pop()
        start = Constant(type=LONG, value=0)
        stop: Expression = Constant(type=LONG, value=whole_array.type.length or 0)
        if not whole_array.type.length:
            stop = self.convert(Length(at=at, type=SIZE, base=whole_array), LONG)
        whole = Block(at=body.at, body=(*first, *body.body))
        return [CountedFor(at=at, counter=counter, start=start, stop=stop, step=1, body=whole, declared=True)]

    def _lower_break(self, node: Node) -> list[Statement]:
        return [Break(at=self.find_position(node))]

    def _lower_continue(self, node: Node) -> list[Statement]:
        return [Continue(at=self.find_position(node))]

    def _lower_goto(self, node: Node) -> list[Statement]:
        return [OpaqueStatement(at=self.find_position(node), reason=GOTO, text=take_text(node), repeats=True)]

    def _lower_labeled(self, node: Node) -> list[Statement]:
        return self._lower_unknown(node)

    def _lower_attributed(self, node: Node) -> list[Statement]:
        inner = [c for c in list_parts(node) if c.type != "attribute_declaration"]
        return [s for c in inner for s in self.lower_statement(c)]

    def _lower_throw(self, node: Node) -> list[Statement]:
        words = [take_text(n).strip('"') for n in walk(node) if n.type == "string_literal"]
        inner = next(iter(list_parts(node)), None)
        name = inner.child_by_field_name("function") if inner is not None else None
        values = [e for e in self.lower_inside(node) if isinstance(e, Expression)]
        return [
            Raise(
                at=self.find_position(node),
                exception=take_text(name) if name is not None else "",
                message=words[0] if len(words) == 1 else None,
                operands=tuple(values),
            )
        ]

    # -- switch (6.8.4.2) -------------------------------------------------------------------------

    def _lower_switch(self, node: Node) -> list[Statement]:
        before, subject_node = _split_condition(node.child_by_field_name("condition"))
        body = node.child_by_field_name("body")
        if subject_node is None or before is not None or body is None or body.type != "compound_statement":
            return self._lower_unknown(node)
        cases = list_parts(body)
        early = next((case for case in cases if case.type != "case_statement"), None)
        if early is not None:
            (opaque,) = self._lower_unknown(node, "has statements before the first case")
            return [replace(opaque, at=self.find_position(early))]
        subject = self.lower_value(subject_node)
        subject = self.convert(subject, promote(subject.type)) if subject.type.integral else subject
        self.scopes.append({})
        arms = self._lower_arms(cases, subject.type)
        self.scopes.pop()
        return [Switch(at=self.find_position(node), subject=subject, arms=tuple(arms))]

    def _lower_arms(self, cases: Sequence[Node], t: CType) -> list[Arm]:
        arms: list[Arm] = []
        labels: list[Expression | None] = []
        for position, case in enumerate(cases):
            value = case.child_by_field_name("value")
            labels.append(self.convert(self.lower_value(value), t) if value is not None else None)
            nodes = [c for c in list_parts(case) if value is None or c.id != value.id]
            last = position == len(cases) - 1
            if not nodes and not last:
                continue
            braces = len(nodes) == 1 and nodes[0].type == "compound_statement"
            if braces:
                nodes = list_parts(nodes[0])
                self.scopes.append({})
            body = self.lower_statements(nodes)
            if braces:
                self.scopes.pop()
            ends = bool(body) and isinstance(body[-1], Break)
            falls = not (last or ends or _always_leaves(body))
            arms.append(
                Arm(at=self.find_position(case), labels=tuple(labels), body=body[:-1] if ends else body, falls=falls)
            )
            labels = []
        return arms

    # -- declarations (6.7) -----------------------------------------------------------------------

    def _define_type(self, node: Node) -> list[Statement]:
        self.scope.define(node)
        self._declare_enumerators(node)
        return []

    def _declare_enumerators(self, node: Node) -> None:
        for specifier in walk(node):
            if specifier.type == "enum_specifier":
                for name, symbol in self.scope.list_enumerators(specifier).items():
                    self.scopes[-1][name] = symbol

    def _lower_declaration(self, node: Node) -> list[Statement]:
        specifier = node.child_by_field_name("type")
        if specifier is not None and specifier.type in TAGGED and specifier.child_by_field_name("body") is not None:
            self._define_type(specifier)
        declarators = node.children_by_field_name("declarator")
        lowered: list[Statement] = []
        for (declared, _), declarator in zip(read_declarations(node), declarators, strict=False):
            # In a condition, `if (double *p = f())`, the value belongs to the whole.
            owner = declarator if declarator.type == "init_declarator" else node
            value = owner.child_by_field_name("value")
            if declarator.type == "init_declarator" and (
                (bound := declarator.child_by_field_name("declarator")) is not None
                and bound.type == "structured_binding_declarator"
            ):
                lowered += self._lower_bindings(node, bound)
                continue
            if declared.marks and declared.marks[0].kind == "(":
                constructed = self._find_arguments(declared, declarator)
                if constructed is None:
                    lowered += self._lower_unknown(node) if value is not None else []  # else a prototype
                    continue
                value, declared = constructed, declared._replace(marks=())
            lowered.append(self._declare_variable(declared, value, node))
        return lowered

    def _lower_bindings(self, node: Node, declarator: Node) -> list[Statement]:
        """``auto [a, b] = ...``"""
        whole = self._lower_unknown(node)
        for name in list_parts(declarator):
            self.declare(take_text(name), UNKNOWN, self.find_position(name))
        return whole

    def _find_arguments(self, declared: Declaration, declarator: Node) -> Node | None:
        """The arguments of ``complex<double> z(x, y)``, which reads as a function of types ``x`` and ``y``; or None."""
        listed = declared.marks[0].node.child_by_field_name("parameters") if declared.marks[0].node else None
        items = list_parts(listed)
        if not self.cplus or len(declared.marks) != 1 or not items:
            return None
        return listed if all(self.find_variable(take_text(item)) is not None for item in items) else None

    def _declare_variable(self, declared: Declaration, source: Node | None, node: Node) -> Statement:
        at = self.find_position(node)
        t, reference, sizes = self.types.read(declared)
        values = tuple(self.lower_value(size) if size is not None else None for size in sizes)
        # The name is in scope in its own initializer (6.2.1), but correct code does not read it there.
        value: Expression | None = None
        if t == AUTO:
            value, t = self._deduce(declared, source, node)
        elif source is not None and reference:
            value = self.lower_value(source)
            if not declared.const:
                self.change(value)
        elif source is not None:
            value, t = self.lower_initial(source, t)
        fixed = declared.const and not any(mark.kind == "*" for mark in declared.marks)
        storage = "local"
        if "static" in declared.storage or "extern" in declared.storage:
            storage = "constant" if fixed and value is not None else "static"
        elif fixed and isinstance(value, Aggregate) and t.kind == "a" and _is_constant(value):
            storage = "constant"
        symbol = self.declare(
            declared.name,
            t,
            at,
            storage=storage,
            reference=reference,
            const=declared.const,
            assigned=storage == "static" and (value is None or self.scope.changes(declared.name)),
            initial=value if storage != "local" or fixed else None,
        )
        return Declare(at=at, symbol=symbol, value=value, sizes=values)

    def _deduce(self, declared: Declaration, source: Node | None, node: Node) -> tuple[Expression, CType]:
        """The value and the type of a variable that is ``auto``."""
        if source is None:
            return self.make_opaque(node, f"cannot read `{take_text(node)}`"), UNKNOWN
        items = list_parts(source) if source.type.endswith("_list") else [source]
        value = self.lower_value(items[0] if len(items) == 1 else source)
        t = value.type
        if any(mark.kind in ("&", "&&") for mark in declared.marks):
            self.change(value)
        elif t.name in (CONTAINER, CHARACTERS):
            return self.make_opaque(node, "copies a container", UNKNOWN), UNKNOWN
        elif t.kind == "a":
            t = CType("a", of=t.of)  # an array decays (6.3.2.1)
        return value, t

    # -- what acts --------------------------------------------------------------------------------

    def _lower_assembly(self, node: Node) -> Expression:
        """Inline assembly: its outputs are written, and what it is given as memory may be."""
        inside = self.lower_inside(node)
        writes = set()
        for output in walk(node):
            if output.type == "gnu_asm_output_operand" and (value := part(output, "value")) is not None:
                place = self.lower_value(value)
                self.change(place)
                writes.add(find_root_symbol(place))
        return OpaqueExpression(
            at=self.find_position(node),
            type=UNKNOWN,
            reason=f"uses `{shorten(node)}`, which has no Python form",
            text=take_text(node),
            operands=tuple(inside),
            writes=frozenset(s for s in writes if s is not None),
            acts=True,
        )

    def _lower_allocation(self, node: Node) -> Expression:
        return self.make_opaque(node, acts=True)

    _EXPRESSIONS: ClassVar[dict[str, Callable[..., Expression]]] = {
        **ExpressionLowerer._EXPRESSIONS,
        "call_expression": LoopLowerer._lower_call,
        "gnu_asm_expression": _lower_assembly,
        "new_expression": _lower_allocation,
        "delete_expression": _lower_allocation,
    }
    _STATEMENTS: ClassVar[dict[str, Callable[..., list[Statement]]]] = {
        "compound_statement": _lower_compound,
        "expression_statement": _lower_expression,
        "declaration": _lower_declaration,
        "return_statement": _lower_return,
        "if_statement": _lower_if,
        "for_statement": LoopLowerer._lower_for,
        "while_statement": _lower_while,
        "do_statement": _lower_do,
        "switch_statement": _lower_switch,
        "break_statement": _lower_break,
        "continue_statement": _lower_continue,
        "goto_statement": _lower_goto,
        "labeled_statement": _lower_labeled,
        "attributed_statement": _lower_attributed,
        "throw_statement": _lower_throw,
        "for_range_loop": _lower_range_for,
        "type_definition": _define_type,
        "alias_declaration": _define_type,
        "enum_specifier": _define_type,
        "struct_specifier": _define_type,
        "static_assert_declaration": _lower_nothing,
        "using_declaration": _lower_nothing,
        "comment": _lower_nothing,
        "preproc_def": _lower_nothing,
        "preproc_call": _lower_nothing,
    }


def _split_condition(node: Node | None) -> tuple[Node | None, Node | None]:
    """The statement before a condition (C++17 9.4.1), and the condition."""
    if node is None:
        return None, None
    before = node.child_by_field_name("initializer")
    if before is not None and before.type == "init_statement":
        before = next(iter(list_parts(before)), None)
    return before, strip_parentheses(node)


def _list_values(node: Node) -> list[Node] | None:
    """The values that a pair, a tuple or an array is written of; None where it is not."""
    if node.type == "compound_literal_expression":
        node = node.child_by_field_name("value") or node
    if node.type == "call_expression" and (function := part(node, "function")) is not None:
        name = take_text(function).partition("<")[0].rpartition("::")[2].strip()
        return list_parts(node.child_by_field_name("arguments")) if name in _MAKERS else None
    if node.type != "initializer_list":
        return None
    nodes = list_parts(node)
    if len(nodes) == 1 and nodes[0].type in ("initializer_list", "compound_literal_expression", "call_expression"):
        return _list_values(nodes[0])
    return nodes


def _always_leaves(body: Sequence[Statement]) -> bool:
    """Whether control never runs off the end of these statements."""
    match body[-1] if body else None:
        case Return() | Continue() | Raise() | Break():
            return True
        case Block(body=inner):
            return _always_leaves(inner)
        case If(then=then, otherwise=Block() as otherwise):
            return _always_leaves(then.body) and _always_leaves(otherwise.body)
    return False


def _is_constant(value: Aggregate) -> bool:
    return all(_is_constant(i) if isinstance(i, Aggregate) else evaluate(i) is not None for i in value.items)
