"""C expressions that only look: literals, names, operators, casts, subscripts.  Nothing is run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .arithmetic_expressions import Arithmetic
from .c_arithmetic import BOOL, DOUBLE, INT, SIZE, VOID, CType, float_value, integer_value, promoted, usual
from .math_names import CONSTANTS, LITERALS
from .value import (
    AND,
    ATOM,
    NOT,
    OR,
    PRODUCT,
    SUM,
    TERNARY,
    UNARY,
    Expr,
    Stop,
    Variable,
    bare,
    brief,
    child,
    children,
    text_of,
    walk,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["WORDS", "Readings", "is_null"]

WORDS = {"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~", "not_eq": "!="}


class Readings(Arithmetic):
    """Translates expressions without side effects.

    ``before`` and ``after`` collect statements that must stand around the one being written; they are
    None inside what C evaluates conditionally or repeatedly.
    """

    def __init__(self, cell: Cell, routine: Routine, *, checked: bool) -> None:
        super().__init__(cell, checked=checked)
        self.routine = routine
        self.scopes: list[dict[str, Variable]] = [{}]
        self.before: list[str] | None = None
        self.after: list[str] | None = None
        self.statement: Node | None = None

    def value(self, node: Node) -> Expr:
        node = bare(node)
        method = getattr(self, f"_{node.type}", None)
        if method is None:
            raise Stop(f"uses `{brief(node)}`, which has no Python form", node)
        found: Expr = method(node)
        return found

    def settled(self, node: Node) -> Expr:
        return self.settle(self.value(node))

    def _number_literal(self, node: Node) -> Expr:
        text = text_of(node)
        if text[0] in "+-":  # the C grammar counts a sign in `? -1 : 1` to the number
            e = self._number(text[1:].lstrip(), node)
            return self.negative(e) if text[0] == "-" else e
        return self._number(text, node)

    def _number(self, text: str, node: Node) -> Expr:
        whole = integer_value(text)
        if whole is not None:
            value, t = whole
            spelled = (
                f"0o{text.rstrip('uUlL')[1:]}"
                if text[:1] == "0" and text.rstrip("uUlL")[1:].isdigit()
                else text.rstrip("uUlLzZ").replace("'", "_")
            )
            return Expr(spelled, t, low=value, high=value, value=value)
        if text.rstrip("LfF") in LITERALS:
            text, level = CONSTANTS[LITERALS[text.rstrip("LfF")]]
            return Expr(text, DOUBLE, level)
        real = float_value(text)
        if real is None:
            raise Stop(f"cannot read the number `{text}`", node)
        value_of = float(real[0])
        return self.rounded(Expr(real[0], real[1], value=value_of))

    def _char_literal(self, node: Node) -> Expr:
        text = text_of(node)
        inner = text[1:-1].encode().decode("unicode_escape")
        if len(inner) != 1 or text[0] != "'":
            raise Stop(f"uses the character {text}", node)
        return Expr(str(ord(inner)), INT, low=ord(inner), high=ord(inner), value=ord(inner))

    def _true(self, node: Node) -> Expr:
        return Expr("True", BOOL if self.cell.cplus else INT, low=1, high=1, truth=True, value=1)

    def _false(self, node: Node) -> Expr:
        return Expr("False", BOOL if self.cell.cplus else INT, low=0, high=0, truth=True, value=0)

    def variable(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _identifier(self, node: Node) -> Expr:
        name = text_of(node)
        found = self.variable(name)
        if found is None:
            return self.cell.constant(name, self, node)
        if found.cell and found.type.kind != "s":
            raise Stop(f"uses the pointer `{name}` itself", node)
        return Expr(found.name, found.type, low=found.low, high=found.high, truth=found.type.kind == "b")

    def _qualified_identifier(self, node: Node) -> Expr:
        return self.cell.constant(text_of(node).rpartition("::")[2], self, node)

    def _binary_expression(self, node: Node) -> Expr:
        op = WORDS.get(text := text_of(child(node, "operator")), text)
        left_node, right_node = child(node, "left"), child(node, "right")
        if op in ("&&", "||"):
            return self.logical(op, left_node, right_node)
        meant = self.named_cast(node.child_by_field_name("left"))
        if meant is not None:
            return self.misread_cast(meant, op, right_node, node)
        if op in ("==", "!="):
            for pointer, other in ((left_node, right_node), (right_node, left_node)):
                there = self.points(pointer) if is_null(other) else None
                if there is not None:
                    return _truth(there == (op == "!="))
        left = self.value(left_node)
        right = self.value(right_node)
        spaced = node.child_by_field_name("left").end_byte < child(node, "operator").start_byte  # type: ignore[union-attr]
        return self.binary(op, left, right, node, spaced=spaced)

    def points(self, node: Node) -> bool | None:
        """Whether a pointer parameter points anywhere; None if ``node`` is no such name."""
        found = self.variable(text_of(node)) if node.type == "identifier" else None
        if found is None or not (found.cell or found.type.kind == "a"):
            return None
        return not found.null

    def condition(self, node: Node) -> Expr:
        """An expression of which only truth matters."""
        there = self.points(bare(node))
        if there is not None:
            return _truth(there)
        e = self.value(node)
        if e.type.kind in "asv":
            raise Stop(f"asks whether `{brief(node)}` is null", node)
        return e if e.logical else self.settle(e)

    def named_cast(self, node: Node | None) -> CType | None:
        """The type in ``(real)``, which the grammar takes for a name in parentheses."""
        inner = bare(node) if node is not None and node.type == "parenthesized_expression" else None
        if inner is None or inner.type != "identifier" or self.variable(text_of(inner)) is not None:
            return None
        return self.cell.type_of(text_of(inner))

    def misread_cast(self, t: CType, op: str, node: Node, whole: Node) -> Expr:
        """``(real)-x``, which the grammar takes for a difference."""
        e = self.value(node)
        tighter = whole.child_by_field_name("right")  # (real)-a/b is misread as (real) - (a/b)
        if op not in ("-", "+") or not e.type.arithmetic or tighter is None or tighter.type == "binary_expression":
            raise Stop(f"cannot say `{brief(whole)}`", whole)
        return self.convert(self.negative(e) if op == "-" else e, t, node=whole)

    def logical(self, op: str, left_node: Node, right_node: Node) -> Expr:
        level, word = (AND, "and") if op == "&&" else (OR, "or")
        left = self.condition(left_node)
        if left.truth and left.value is not None:  # p != NULL && ...
            return left if bool(left.value) == (op == "||") else self.condition(right_node)
        with_nothing_around = self.before, self.after
        self.before = self.after = None
        right = self.condition(right_node)
        self.before, self.after = with_nothing_around
        both = left.truth and right.truth
        text = f"{left.at(level)} {word} {right.at(level + 1)}"
        return Expr(text, INT, level, low=0, high=1, truth=both, logical=not both)

    def _unary_expression(self, node: Node) -> Expr:
        op = WORDS.get(text := text_of(child(node, "operator")), text)
        if op == "!":
            e = self.condition(child(node, "argument"))
            if e.truth and e.value is not None:
                return _truth(not e.value)
            return Expr(f"not {e.at(NOT)}", INT, NOT, low=0, high=1, truth=True)
        e = self.value(child(node, "argument"))
        if not e.type.arithmetic:
            raise Stop(f"cannot say `{brief(node)}`", node)
        if op == "+":
            return replace(self.settle(e), type=promoted(e.type))
        if op == "-":
            return self.negative(e)
        if op == "~":
            if not e.type.integral:
                raise Stop("applies `~` to a floating-point number", node)
            e = self.modular(e, promoted(e.type))
            low, high = e.range
            # Not ~: what stands for a C int may be Python's own True, which that refuses from Python 3.16 on.
            if e.type.kind == "u":  # NumPy's unsigned numbers know no -1
                return Expr(f"~int({e.text})" if e.truth else f"~{e.at(UNARY)}", e.type, UNARY, loose=True)
            flipped = Expr(f"-1 - {e.at(PRODUCT)}", e.type, SUM, loose=True)
            return flipped if e.loose else replace(flipped, loose=False, low=~high, high=~low)
        raise Stop(f"cannot say `{brief(node)}`", node)

    def _conditional_expression(self, node: Node) -> Expr:
        test = self.condition(child(node, "condition"))
        if test.truth and test.value is not None:
            return self._known_choice(node, bool(test.value))
        around = self.before, self.after
        self.before = self.after = None
        left, right = self.value(child(node, "consequence")), self.value(child(node, "alternative"))
        self.before, self.after = around
        if left.type == right.type and not left.type.arithmetic:
            t = left.type
        elif left.type.arithmetic and right.type.arithmetic:
            t = left.type if left.type == right.type else usual(left.type, right.type)
        else:
            raise Stop(f"cannot say `{brief(node)}`", node)
        left, right = self.convert(left, t, node=node), self.convert(right, t, node=node)
        e = Expr(
            f"{left.at(OR)} if {test.at(OR)} else {right.at(TERNARY)}", t, TERNARY, truth=left.truth and right.truth
        )
        if t.integral:
            e = replace(e, low=min(left.range[0], right.range[0]), high=max(left.range[1], right.range[1]))
        return e

    def _known_choice(self, node: Node, yes: bool) -> Expr:
        """The side that is taken, in the type that both sides have in common."""
        taken, other = ("consequence", "alternative") if yes else ("alternative", "consequence")
        e = self.value(child(node, taken))
        around = self.before, self.after
        self.before = self.after = None
        try:
            t = self.value(child(node, other)).type
        except Stop:  # what a null pointer leads to, for one
            return e
        finally:
            self.before, self.after = around
        return self.convert(e, usual(e.type, t), node=node) if e.type.arithmetic and t.arithmetic and e.type != t else e

    def _cast_expression(self, node: Node) -> Expr:
        type_node = child(node, "type")
        if child(node, "value").type == "initializer_list":
            raise Stop(f"cannot say `{brief(node)}`", node)
        if any(n.type == "abstract_pointer_declarator" for n in walk(type_node)):
            raise Stop(f"casts a pointer: `{brief(node)}`", node)
        return self.cast(self.value(child(node, "value")), type_node, node)

    def cast(self, e: Expr, type_node: Node, node: Node) -> Expr:
        t = self.cell.type_named(type_node)
        if t == VOID:
            return replace(e, type=VOID)
        e = self.convert(e, t, node=node)
        return replace(e, value=None) if t.kind == "f" and e.value is None else e

    def _compound_literal_expression(self, node: Node) -> Expr:
        text, t = self.cell.compound(self, node)
        return Expr(text, t)

    def _sizeof_expression(self, node: Node) -> Expr:
        type_node = node.child_by_field_name("type")
        t = self.cell.type_named(type_node) if type_node is not None else self.value(child(node, "value")).type
        if t.size is None:
            raise Stop(f"asks for `{brief(node)}`, which has no meaning in Python", node)
        return Expr(str(t.size), SIZE, low=t.size, high=t.size, value=t.size)

    def place(self, node: Node) -> Expr:
        """What can be assigned to: its Python spelling and type."""
        node = bare(node)
        match node.type:
            case "identifier":
                found = self.variable(text_of(node))
                if found is None:
                    raise Stop(f"changes the global variable `{text_of(node)}`", node)
                if found.cell:
                    raise Stop(f"moves the pointer `{found.name}`", node)
                return Expr(found.name, found.type, low=found.low, high=found.high, truth=found.type.kind == "b")
            case "pointer_expression" | "subscript_expression" | "field_expression":
                return self.value(node)
        raise Stop(f"assigns to `{brief(node)}`", node)

    def pointed(self, found: Variable, node: Node) -> Expr:
        if found.null:
            raise Stop(f"follows the null pointer `{found.name}`", node)
        return Expr(found.name, found.type, low=found.low, high=found.high)

    def _pointer_expression(self, node: Node) -> Expr:
        inner = child(node, "argument")
        if text_of(child(node, "operator")) == "&":
            raise Stop(f"takes an address: `{brief(node)}`", node)
        found = self.variable(text_of(inner)) if inner.type == "identifier" else None
        if found is not None and found.cell:
            return self.pointed(found, node)
        e = self.value(inner)
        if e.type.kind != "a" or e.type.of is None:
            raise Stop(f"follows the pointer `{brief(inner)}`", node)
        return Expr(f"{e.at(ATOM)}[0]", e.type.of)

    def _subscript_expression(self, node: Node) -> Expr:
        base = child(node, "argument")
        subscript = node.child_by_field_name("index")
        if subscript is None:  # the C++ grammar wraps it in an argument list
            subscript = next((c for c in node.named_children if c.type == "subscript_argument_list"), None)
            subscript = children(subscript)[0] if subscript is not None and children(subscript) else None
        if subscript is None:
            raise Stop(f"cannot read {text_of(node)!r}", node)
        found = self.variable(text_of(base)) if base.type == "identifier" else None
        if found is not None and found.cell:
            if text_of(subscript) != "0":
                raise Stop(f"uses `{brief(node)}`, but `{found.name}` is one number", node)
            return self.pointed(found, node)
        e = self.value(base)
        if e.type.kind != "a" or e.type.of is None:
            raise Stop(f"subscripts `{brief(base)}`, which is no array", node)
        index = self.value(subscript)
        if not index.type.integral:
            raise Stop(f"uses `{brief(subscript)}` as a subscript", node)
        index = index if index.loose else self.settle(index)
        return Expr(f"{e.at(ATOM)}[{index.text}]", e.type.of, truth=e.type.of.kind == "b")

    def _field_expression(self, node: Node) -> Expr:
        name = text_of(child(node, "field"))
        base = child(node, "argument")
        e = self.value(base)
        if e.type.kind == "c" and name in ("real", "imag"):
            return Expr(f"{e.at(ATOM)}.{name}", DOUBLE)
        t = dict(e.type.fields).get(name)
        if t is None:
            raise Stop(f"uses `{brief(node)}`", node)
        return Expr(f"{e.at(ATOM)}.{name}", t)


def is_null(node: Node) -> bool:
    """Whether an expression is C's null pointer."""
    text = text_of(node).replace(" ", "").strip("()")
    return text in ("NULL", "nullptr", "0", "void*)0", "void*)(0")


def _truth(value: bool) -> Expr:
    return Expr(str(value), INT, low=int(value), high=int(value), truth=True, value=int(value))
