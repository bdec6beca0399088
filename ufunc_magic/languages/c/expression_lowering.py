"""C's expressions -> the IR's (C17 6.4.4, 6.5, 6.7.9): constants, names, operators, places, initializers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from tree_sitter import Node

from ...ir import (
    CHARACTERS,
    CONTAINER,
    DOUBLE,
    INT,
    LONG,
    SIZE,
    AddressOf,
    Aggregate,
    Assignment,
    Binary,
    Comma,
    Conditional,
    Constant,
    Convert,
    CType,
    Current,
    Element,
    Expression,
    Field,
    Logical,
    Name,
    Node as IRNode,
    OpaqueExpression,
    Position,
    StringLiteral,
    Symbol,
    Unary,
    evaluate_integer,
    read_float,
    read_integer,
    walk as walk_ir,
)
from .c_tree import take_text
from .declarations import read_declarations
from .lowering_context import Context, find_root_symbol, list_parts, part, shorten, strip_parentheses
from .type_lowering import UNKNOWN

#: Elements of a table that is still read.
LARGEST = 4096

_WORDS = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "not_eq": "!=",
    "and_eq": "&=",
    "or_eq": "|=",
    "xor_eq": "^=",
}
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"))
_CHAR = CType("i", 8)
_STRING = CType("a", of=_CHAR)


class ExpressionLowerer(Context):
    """Lowers the expressions of one function."""

    def lower_value(self, node: Node) -> Expression:
        """An expression, whatever it is."""
        node = strip_parentheses(node)
        lower = self._EXPRESSIONS.get(node.type)
        return lower(self, node) if lower is not None else self.make_opaque(node)

    def make_opaque(self, node: Node, reason: str = "", t: CType = UNKNOWN, *, acts: bool = False) -> Expression:
        """An opaque expression, with the parts that can be lowered."""
        reason = reason or f"uses `{shorten(node)}`, which has no Python form"
        inside = self.lower_inside(node)
        self.stores += bool(inside)
        return OpaqueExpression(
            at=self.find_position(node), type=t, reason=reason, text=take_text(node), operands=tuple(inside), acts=acts
        )

    def lower_inside(self, node: Node) -> list[IRNode]:
        """The expressions and statements inside a node, lowered."""
        raise NotImplementedError

    # -- constants (6.4.4) ------------------------------------------------------------------------

    def _lower_number(self, node: Node) -> Expression:
        text, at = take_text(node), self.find_position(node)
        if text[0] in "+-":  # the C grammar counts a sign in `? -1 : 1` to the number
            e = self._read_constant(text[1:].lstrip(), node, at)
            e = self.promote(e)
            return Unary(at=at, type=e.type, op="-", operand=e) if text[0] == "-" else e
        return self._read_constant(text, node, at)

    def _read_constant(self, text: str, node: Node, at: Position) -> Expression:
        whole = read_integer(text)
        if whole is not None:
            return Constant(
                at=at, type=whole[1], value=whole[0], spelling=text if text[1:2] in tuple("xXbB01234567") else ""
            )
        imaginary = text[-1:] in "ij" and read_float(text[:-1] if "." in text or "e" in text else f"{text[:-1]}.0")
        if imaginary:
            return Constant(at=at, type=CType("c", imaginary[1].bits), value=complex(0, imaginary[0]), spelling=text)
        real = read_float(text)
        if real is None:
            return self.make_opaque(node, f"cannot read the number `{text}`", DOUBLE)
        return Constant(at=at, type=real[1], value=real[0], spelling=text)

    def _lower_char(self, node: Node) -> Expression:
        text = take_text(node)
        try:
            inner = text[1:-1].encode().decode("unicode_escape")
        except UnicodeDecodeError:
            inner = ""
        if len(inner) != 1 or text[0] != "'":
            return self.make_opaque(node, f"uses the character {text}", INT)
        code = ord(inner)
        code -= 256 if code > 127 else 0
        return Constant(at=self.find_position(node), type=_CHAR if self.cplus else INT, value=code, spelling=text)

    def _lower_boolean(self, node: Node) -> Expression:
        word = take_text(node)
        return Constant(at=self.find_position(node), type=self.truth, value=int(word == "true"), spelling=word)

    def _lower_null(self, node: Node) -> Expression:
        return Constant(at=self.find_position(node), type=CType("a", of=CType("v")), value=0, spelling=take_text(node))

    def _lower_string(self, node: Node) -> Expression:
        text = take_text(node)
        return StringLiteral(
            at=self.find_position(node), type=_STRING, value=text[text.find('"') + 1 : text.rfind('"')]
        )

    # -- names (6.5.1) ----------------------------------------------------------------------------

    def _lower_name(self, node: Node) -> Expression:
        word = take_text(node)
        symbol = self.find_variable(word)
        if symbol is None:
            return self._lower_outside(word, node)
        if symbol in self.aliases:
            return self.aliases[symbol]
        return Name(at=self.find_position(node), type=symbol.type, symbol=symbol)

    def _lower_qualified(self, node: Node) -> Expression:
        return self._lower_outside(take_text(node).rpartition("::")[2], node)

    def _lower_outside(self, word: str, node: Node) -> Expression:
        """The value of a name of file scope or of a header."""
        at, entry = self.find_position(node), self.scope.find_value(word)
        if isinstance(entry, Symbol):
            return Name(at=at, type=entry.type, symbol=entry)
        if isinstance(entry, Constant):
            return Constant(at=at, type=entry.type, value=entry.value, spelling=entry.spelling)
        return OpaqueExpression(at=at, type=UNKNOWN, reason=entry, text=take_text(node))

    # -- operators (6.5.3 to 6.5.15) --------------------------------------------------------------

    def _lower_binary(self, node: Node) -> Expression:
        # A long sum is as deep a tree as it has terms.
        chain, left = [], node
        while left.type == "binary_expression":
            chain.append(left)
            below = part(left, "left")
            if below is None:
                return self.make_opaque(node)
            left = below
        e = self.lower_value(left)
        for above in reversed(chain):
            e = self._lower_operation(above, e)
        return e

    def _lower_operation(self, node: Node, left: Expression) -> Expression:
        operator, right_node = node.child_by_field_name("operator"), part(node, "right")
        if operator is None or right_node is None:
            return self.make_opaque(node)
        op, right = _WORDS.get(operator.type, operator.type), self.lower_value(right_node)
        if op in ("&&", "||"):
            return Logical(at=self.find_position(node), type=self.truth, op=op, left=left, right=right)  # type: ignore[arg-type]
        return self.lower_binary(op, left, right, node)

    def lower_binary(self, op: str, left: Expression, right: Expression, node: Node) -> Expression:
        """An arithmetic operation or a comparison, its operands converted."""
        at = self.find_position(node)
        if op not in _COMPARISONS and op not in _ARITHMETIC:
            return OpaqueExpression(
                at=at,
                type=UNKNOWN,
                reason=f"uses `{shorten(node)}`, which has no Python form",
                text=take_text(node),
                operands=(left, right),
            )
        if "a" in (left.type.kind, right.type.kind):
            t = self.truth if op in _COMPARISONS else self._find_pointer_type(op, left.type, right.type)
        elif op in ("<<", ">>") and left.type.integral:
            left, right = self.promote(left), self.promote(right)
            t = left.type
        else:
            left, right, t = self.balance(left, right)
            t = self.truth if op in _COMPARISONS else t
        return Binary(at=at, type=t, op=op, left=left, right=right)  # type: ignore[arg-type]

    @staticmethod
    def _find_pointer_type(op: str, left: CType, right: CType) -> CType:
        """Pointer arithmetic (6.5.6)."""
        if left.kind == right.kind == "a":
            return LONG if op == "-" else UNKNOWN
        pointer = left if left.kind == "a" else right
        return CType("a", of=pointer.of)

    def _lower_unary(self, node: Node) -> Expression:
        operator, argument = node.child_by_field_name("operator"), part(node, "argument")
        if operator is None or argument is None:
            return self.make_opaque(node)
        op, at = operator.type, self.find_position(node)
        op = _WORDS.get(op, op)
        e = self.lower_value(argument)
        if op == "!":
            return Unary(at=at, type=self.truth, op="!", operand=e)
        e = self.promote(e) if e.type.integral else e
        if op in ("__real__", "__imag__") and e.type.kind == "c":
            return Field(at=at, type=CType("f", e.type.bits), base=e, name=op.strip("_"))
        match op:
            case "+":
                return e
            case "-" | "~":
                return Unary(at=at, type=e.type, op=op, operand=e)
        return self.make_opaque(node)

    def _lower_conditional(self, node: Node) -> Expression:
        nodes = [part(node, name) for name in ("condition", "consequence", "alternative")]
        if None in nodes:
            return self.make_opaque(node)
        test, yes, no = (self.lower_value(n) for n in nodes if n is not None)
        if yes.type.arithmetic and no.type.arithmetic and not (self.cplus and yes.type == no.type):
            yes, no, t = self.balance(yes, no)
            if t.kind == "c":
                yes, no = self.convert(yes, t), self.convert(no, t)
        else:
            t = yes.type if yes.type.kind != "?" else no.type
        return Conditional(at=self.find_position(node), type=t, test=test, yes=yes, no=no)

    def _lower_comma(self, node: Node) -> Expression:
        left, right = part(node, "left"), part(node, "right")
        if left is None or right is None:
            return self.make_opaque(node)
        first, second = self.lower_value(left), self.lower_value(right)
        return Comma(at=self.find_position(node), type=second.type, first=first, second=second)

    def _lower_cast(self, node: Node) -> Expression:
        type_node, inner = node.child_by_field_name("type"), part(node, "value")
        if type_node is None or inner is None:
            return self.make_opaque(node)
        return self.cast(self.lower_value(inner), type_node, node)

    def cast(self, e: Expression, type_node: Node, node: Node) -> Expression:
        """``(T)e`` and its like (6.5.4)."""
        return Convert(at=self.find_position(node), type=self.read_described_type(type_node), value=e, explicit=True)

    def read_described_type(self, node: Node) -> CType:
        """The type that a type descriptor names."""
        declared = read_declarations(node)[0][0] if node.type == "type_descriptor" else None
        return self.types.read(declared).type if declared else self.types.find_type(" ".join(take_text(node).split()))

    def _lower_sizeof(self, node: Node) -> Expression:
        type_node, inner = node.child_by_field_name("type"), part(node, "value")
        if type_node is None and inner is None:
            return self.make_opaque(node)
        changes, stores = len(self.changes), self.stores
        t = self.read_described_type(type_node) if type_node is not None else self.lower_value(inner or node).type
        del self.changes[changes:]  # the operand is not evaluated
        self.stores = stores
        if t.kind == "?" and inner is not None and inner.type == "identifier":
            t = self.types.find_type(take_text(inner))  # `sizeof(T)`, where T reads as a variable
        if t.size is None:
            reason = f"uses `{shorten(node)}`, which has no meaning in Python"
            return OpaqueExpression(
                at=self.find_position(node), type=SIZE, reason=reason, text=take_text(node), measured=t
            )
        return Constant(at=self.find_position(node), type=SIZE, value=t.size, spelling=take_text(node))

    # -- places (6.5.2.1, 6.5.2.3, 6.5.3.2) -------------------------------------------------------

    def _lower_subscript(self, node: Node) -> Expression:
        base_node = part(node, "argument")
        # The C++ grammar wraps the subscript in an argument list.
        indices = (
            [node.child_by_field_name("index")] if not self.cplus else list_parts(node.child_by_field_name("indices"))
        )
        if base_node is None or len(indices) != 1 or indices[0] is None:
            return self.make_opaque(node)
        base, index = self.lower_value(base_node), self.lower_value(indices[0])
        if index.type.kind == "a" and base.type.kind != "a":
            base, index = index, base
        return self.lower_element(base, index, node)

    def lower_element(self, base: Expression, index: Expression, node: Node) -> Expression:
        """``base[index]``."""
        t = base.type.of if base.type.kind == "a" and base.type.of is not None else UNKNOWN
        e = Element(at=self.find_position(node), type=t, base=base, index=index)
        return self.convert(e, _CHAR) if base.type.name == CHARACTERS else e

    def _lower_pointer(self, node: Node) -> Expression:
        operator, argument = node.child_by_field_name("operator"), part(node, "argument")
        if operator is None or argument is None:
            return self.make_opaque(node)
        e, at = self.lower_value(argument), self.find_position(node)
        if operator.type in ("&", "bitand"):
            self.change(e)
            return AddressOf(at=at, type=CType("a", of=e.type), place=e)  # type: ignore[arg-type]
        t = e.type.of if e.type.kind == "a" and e.type.of is not None else UNKNOWN
        return Element(at=at, type=t, base=e, index=Constant(type=INT, value=0))

    def _lower_field(self, node: Node) -> Expression:
        argument, name_node = part(node, "argument"), node.child_by_field_name("field")
        if argument is None or name_node is None:
            return self.make_opaque(node)
        base, at, name = self.lower_value(argument), self.find_position(node), take_text(name_node)
        operator = node.child_by_field_name("operator")
        if any(c.type == "->" for c in node.children) if operator is None else operator.type == "->":
            pointed = base.type.of if base.type.kind == "a" and base.type.of is not None else UNKNOWN
            base = Element(at=base.at, type=pointed, base=base, index=Constant(type=INT, value=0))
        t = dict(base.type.fields).get(name, UNKNOWN)
        if base.type.kind == "c" and name in ("real", "imag"):
            t = CType("f", base.type.bits)
        return Field(at=at, type=t, base=base, name=name)

    # -- assignments (6.5.16, 6.5.2.4, 6.5.3.1) ---------------------------------------------------

    def _lower_place(self, node: Node) -> Name | Element | Field | OpaqueExpression:
        e = self.lower_value(node)
        if isinstance(e, Name | Element | Field | OpaqueExpression):
            return e
        symbol = find_root_symbol(e)
        writes = frozenset((symbol,)) if symbol is not None else frozenset()
        reason = f"assigns to `{shorten(node)}`"
        return OpaqueExpression(at=e.at, type=e.type, reason=reason, text=take_text(node), operands=(e,), writes=writes)

    def _lower_assignment(self, node: Node) -> Expression:
        left, right, operator = part(node, "left"), part(node, "right"), node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return self.make_opaque(node)
        place, op = self._lower_place(left), operator.type
        op = _WORDS.get(op, op)
        if place.type.name in (CONTAINER, CHARACTERS):
            return self._lower_whole_assignment(place, right, node)
        value = (
            self.lower_initial(right, place.type)[0] if right.type == "initializer_list" else self.lower_value(right)
        )
        if op != "=":
            value = self.lower_binary(op[:-1], Current(at=place.at, type=place.type), value, node)
        self.change(place)
        return Assignment(
            at=self.find_position(node), type=place.type, place=place, value=self.convert(value, place.type)
        )

    def _lower_whole_assignment(self, place: Expression, right: Node, node: Node) -> Expression:
        """An assignment to a container: of as many values to its elements, or opaque."""
        at, symbol = self.find_position(node), find_root_symbol(place)
        if right.type == "compound_literal_expression":
            right = right.child_by_field_name("value") or right
        items = list_parts(right)
        while len(items) == 1 and items[0].type == "initializer_list":  # {{a, b}}
            items = list_parts(items[0])
        value = self.lower_value(right) if right.type != "initializer_list" else None
        values = [self.lower_value(item) for item in items] if value is None else []
        t = place.type.of
        if value is not None and place.type == value.type and place.type.length and t is not None and t.arithmetic:
            indices = range(place.type.length)
            values = [self.lower_element(value, Constant(type=INT, value=index), right) for index in indices]
        self.resized.add(symbol)
        self.change(place)
        itself = any(isinstance(e, Name) and e.symbol is symbol for v in values for e in walk_ir(v))
        if t is None or not t.arithmetic or len(values) != place.type.length or itself:
            return OpaqueExpression(
                at=at,
                type=UNKNOWN,
                reason=f"assigns all of `{shorten(node)}`",
                text=take_text(node),
                operands=(*values, *([value] if value is not None else [])),
                writes=frozenset([symbol] if symbol is not None else []),
            )
        stores: list[Expression] = []
        for index, v in enumerate(values):
            element = Element(at=at, type=t, base=place, index=Constant(type=INT, value=index))
            stores.append(Assignment(at=at, type=t, place=element, value=self.convert(v, t)))
        whole = stores[-1]
        for store in reversed(stores[:-1]):
            whole = Comma(at=at, type=t, first=store, second=whole)
        return whole

    def _lower_update(self, node: Node) -> Expression:
        argument, operator = part(node, "argument"), node.child_by_field_name("operator")
        if argument is None or operator is None:
            return self.make_opaque(node)
        place, at = self._lower_place(argument), self.find_position(node)
        one = Constant(type=INT, value=1)
        value = self.lower_binary(operator.type[0], Current(at=place.at, type=place.type), one, node)
        self.change(place)
        postfix = node.children[0].type not in ("++", "--")
        return Assignment(at=at, type=place.type, place=place, value=self.convert(value, place.type), postfix=postfix)

    # -- initializers (6.7.9) ---------------------------------------------------------------------

    def lower_initial(self, source: Node, t: CType) -> tuple[Expression, CType]:
        """An initializer for type ``t``, and the type, completed with an array's length."""
        if source.type in ("initializer_list", "argument_list", "parameter_list"):
            items = list_parts(source)
            if t.kind == "a" and source.type == "initializer_list":
                return self._lower_array(source, items, t)
            if t.kind == "c" and len(items) == 2:
                half = CType("f", t.bits)
                numbers = tuple(self.convert(self.lower_value(item), half) for item in items)
                return Aggregate(at=self.find_position(source), type=t, items=numbers), t
            if t.kind == "V" and source.type == "initializer_list" and not any(map(_is_designated, items)):
                fields = [*(f for _, f in t.fields), *[UNKNOWN] * len(items)]
                values = [self.lower_initial(item, f)[0] for item, f in zip(items, fields, strict=False)]
                return Aggregate(at=self.find_position(source), type=t, items=tuple(values)), t
            if t.arithmetic and not items:
                return self.convert(Constant(at=self.find_position(source), type=INT, value=0), t), t
            if len(items) != 1 or t.kind in "?V":
                reason = f"initializes a number with `{shorten(source)}`" if t.arithmetic else ""
                return self.make_opaque(source, reason or f"uses the type `{t.name}`", t), t
            return self.lower_initial(items[0], t)
        e = self.lower_value(source)
        if t.kind == "a" and t.length is None and isinstance(e, StringLiteral) and t.of == _CHAR:
            t = CType("a", of=t.of, length=None)
        return self.convert(e, t), t

    def _lower_array(self, source: Node, items: Sequence[Node], t: CType) -> tuple[Expression, CType]:
        if len(items) > LARGEST or source.end_byte - source.start_byte > 16 * LARGEST:
            at = self.find_position(source)
            return OpaqueExpression(at=at, type=t, reason="reads a large table", text=shorten(source)), t
        of = t.of if t.of is not None else UNKNOWN
        placed = self._place_items(items)
        if placed is None or (len(placed) <= max(placed, default=-1) and not of.arithmetic):
            return self.make_opaque(source, t=t), t
        if of.kind == "a" and of.length and items and items[0].type not in ("initializer_list", "string_literal"):
            rows = self._nest_rows(
                [self.convert(self.lower_value(item), of.element) for item in items], t, self.find_position(source)
            )
            return rows, CType("a", of=of, length=len(rows.items) if t.length is None else t.length)
        values = []
        for index in range(max(placed, default=-1) + 1):
            if index in placed:
                value, inner = self.lower_initial(placed[index], of)
                of = inner if of.kind == "a" else of
            else:
                value = self.convert(Constant(at=self.find_position(source), type=INT, value=0), of)
            values.append(value)
        whole = CType("a", of=of, length=len(values) if t.length is None else t.length)
        return Aggregate(at=self.find_position(source), type=whole, items=tuple(values)), whole

    def _place_items(self, items: Sequence[Node]) -> dict[int, Node] | None:
        """The items of an array's list by their index, ``[3] = x`` followed (6.7.9); None for another designator."""
        placed: dict[int, Node] = {}
        index = -1
        for item in items:
            index, value = index + 1, item
            if _is_designated(item):
                designators = [c for c in item.named_children if c.type == "subscript_designator"]
                at = (
                    evaluate_integer(self.lower_value(designators[0].named_children[0]))
                    if len(designators) == 1
                    else None
                )
                source = item.child_by_field_name("value")
                if at is None or source is None or not 0 <= at < LARGEST:
                    return None
                index, value = at, source
            placed[index] = value
        return placed

    def _nest_rows(self, values: Sequence[Expression], t: CType, at: Position) -> Aggregate:
        """A nested array from a list without inner braces."""
        of = t.of
        if of is None or of.kind != "a" or not of.length:
            return Aggregate(at=at, type=t, items=tuple(values))
        size = of.length
        inner = of
        while inner.of is not None and inner.of.kind == "a" and inner.of.length:
            inner = inner.of
            size *= inner.length or 1
        rows = [self._nest_rows(values[start : start + size], of, at) for start in range(0, len(values), size)]
        return Aggregate(at=at, type=t, items=tuple(rows))

    def _lower_braced(self, node: Node) -> Expression:
        """``T{...}`` and ``(T){...}`` (6.5.2.5); an initializer list alone."""
        type_node = node.child_by_field_name("type")
        source = node.child_by_field_name("value") or node
        if type_node is None:
            return self.make_opaque(node)
        e, t = self.lower_initial(source, self.read_described_type(type_node))
        return Convert(at=self.find_position(node), type=t, value=e, explicit=True) if t.arithmetic else e

    _EXPRESSIONS: ClassVar[dict[str, Callable[..., Expression]]] = {
        "number_literal": _lower_number,
        "char_literal": _lower_char,
        "true": _lower_boolean,
        "false": _lower_boolean,
        "null": _lower_null,
        "string_literal": _lower_string,
        "concatenated_string": _lower_string,
        "raw_string_literal": _lower_string,
        "identifier": _lower_name,
        "type_identifier": _lower_name,
        "parameter_declaration": _lower_name,  # an argument of a constructor that reads as a function
        "qualified_identifier": _lower_qualified,
        "binary_expression": _lower_binary,
        "unary_expression": _lower_unary,
        "conditional_expression": _lower_conditional,
        "comma_expression": _lower_comma,
        "cast_expression": _lower_cast,
        "sizeof_expression": _lower_sizeof,
        "subscript_expression": _lower_subscript,
        "pointer_expression": _lower_pointer,
        "field_expression": _lower_field,
        "assignment_expression": _lower_assignment,
        "update_expression": _lower_update,
        "compound_literal_expression": _lower_braced,
        "initializer_list": _lower_braced,
    }


def _is_designated(item: Node) -> bool:
    return item.type == "initializer_pair"
