"""``for (i = 0; i < n; i++)`` as ``for i in range(n)``, where that is what the C loop says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import INT, CType
from .c_locals import Lines, Locals
from .c_uses import changed, declared_name
from .value import Expr, Variable, bare, child, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["CountedLoops"]


#: What a limit may be made of to stay the same while its names do.
_STILL = frozenset(
    (
        "identifier number_literal binary_expression unary_expression parenthesized_expression subscript_expression "
        "sizeof_expression cast_expression type_descriptor primitive_type sized_type_specifier type_identifier"
    ).split()
)


class CountedLoops(Locals):
    """The loops that only count.

    Each enclosing loop or switch has an entry in ``around``: the lines that ``continue`` needs before
    it, or None for a switch.
    """

    def __init__(self, cell: Cell, routine: Routine, *, checked: bool) -> None:
        super().__init__(cell, routine, checked=checked)
        self.around: list[Lines | None] = []

    def block(self, node: Node) -> Lines:
        """A statement as an indented suite."""
        raise NotImplementedError

    def _counted(self, node: Node) -> Lines | None:
        """``for i in range(...)`` where that is what the loop says, else None."""
        start, test, step = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
        if start is None or test is None or step is None or bare(test).type != "binary_expression":
            return None
        test = bare(test)
        name, first = self._loop_start(start)
        if not name or first is None or text_of(child(test, "left")) != name:
            return None
        stride = self._stride(bare(step), name)
        op, limit = text_of(child(test, "operator")), child(test, "right")
        body = child(node, "body")
        fits = {"<": stride > 0, "<=": stride > 0, ">": stride < 0, ">=": stride < 0, "!=": abs(stride) == 1}
        if not stride or not fits.get(op) or changed(body, name) or not self._constant_in(limit, body):
            return None
        if start.type == "declaration":
            t = self.cell.type_named(child(start, "type"))
        else:
            known = self.variable(name)
            if known is None or known.cell or not self._dead_after(name, node):
                return None
            t = known.type
        if not t.integral or (t.kind == "u" and op == ">="):
            return None
        begin, end = self.settle(self.convert(self.value(first), t)), self.value(limit)
        # n - 1 of an unsigned 0 would be a loop over all memory: not what a program that works does.
        end = replace(end, loose=False) if end.loose and end.type.bits == 64 else self.settle(end)
        mixed = "u" in (end.type.kind, t.kind) and end.type.bits >= t.bits
        if not end.type.integral or (mixed and begin.low is None and begin.range[0] < 0):
            return None
        upward = begin.range[1] <= end.range[0] or begin.value == 0
        if op == "!=" and upward != (stride > 0):
            return None
        return self._range(node, name, t, begin, end, op, stride)

    def _range(self, node: Node, name: str, t: CType, begin: Expr, end: Expr, op: str, stride: int) -> Lines:
        low, high = (
            (begin.range[0], end.range[1] - (op != "<="))
            if stride > 0
            else (end.range[0] + (op != ">="), begin.range[1])
        )
        if op in ("<=", ">="):
            shift = 1 if op == "<=" else -1
            end = _plus(end, shift)
        if self.variable(name) is None or child(node, "initializer").type == "declaration":
            variable = self.declare(name, t, low=max(low, t.low), high=min(high, t.high))
        else:
            outer = self.variable(name)
            variable = replace(outer, low=max(low, t.low), high=min(high, t.high)) if outer else Variable(name, t)
            self.scopes[-1][name] = variable
        if stride == 1 and begin.value == 0:
            inside = end.text
        else:
            inside = f"{begin.text}, {end.text}" + (f", {stride}" if stride != 1 else "")
        self.around.append([])
        lines = self.block(child(node, "body"))
        self.around.pop()
        return [f"for {variable.name} in range({inside}):", *lines]

    def _loop_start(self, start: Node) -> tuple[str, Node | None]:
        if start.type == "declaration":
            declarators = start.children_by_field_name("declarator")
            if len(declarators) != 1 or declarators[0].type != "init_declarator":
                return "", None
            if child(declarators[0], "declarator").type != "identifier":
                return "", None
            return declared_name(declarators[0]), child(declarators[0], "value")
        start = bare(start)
        if start.type != "assignment_expression" or text_of(child(start, "operator")) != "=":
            return "", None
        return (
            (text_of(child(start, "left")), child(start, "right"))
            if child(start, "left").type == "identifier"
            else ("", None)
        )

    def _stride(self, step: Node, name: str) -> int:
        """The literal by which the update moves ``name``, 0 where it does anything else."""
        target = step.child_by_field_name("left") or step.child_by_field_name("argument")
        if target is None or text_of(target) != name or step.type not in ("update_expression", "assignment_expression"):
            return 0
        op = text_of(child(step, "operator"))
        if step.type == "update_expression":
            return 1 if op == "++" else -1
        amount = child(step, "right")
        if op == "=" and amount.type == "binary_expression" and text_of(child(amount, "left")) == name:
            op, amount = text_of(child(amount, "operator")) + "=", child(amount, "right")
        if op not in ("+=", "-=") or not text_of(amount).isdigit():
            return 0
        return int(text_of(amount)) * (1 if op == "+=" else -1)

    def _constant_in(self, limit: Node, body: Node) -> bool:
        """Whether a loop's limit stays what it is while the body runs."""
        nodes = list(walk(limit))
        names = {text_of(n) for n in nodes if n.type == "identifier"}
        if any(n.type == "subscript_expression" for n in nodes):
            stores = (child(n, "left") for n in walk(body) if n.type == "assignment_expression")
            if any(store.type == "subscript_expression" for store in stores):
                return False
        return all(n.type in _STILL for n in nodes) and not any(changed(body, name) for name in names)

    def _dead_after(self, name: str, loop: Node) -> bool:
        """Whether a counter declared outside its loop is used only in loops that set it first."""
        for node in walk(self.body):
            if node.type != "identifier" or text_of(node) != name:
                continue
            above: Node | None = node
            while above is not None and above != self.body:
                if above.type in ("declaration", "init_declarator"):
                    if above.type == "declaration":
                        break
                elif (
                    above.type == "for_statement"
                    and self._loop_start(above.child_by_field_name("initializer") or above)[0] == name
                ):
                    break
                above = above.parent
            else:
                return False
        return True


def _plus(e: Expr, amount: int) -> Expr:
    """``e + 1`` or ``e - 1`` for a range's end, folded where it can be."""
    if isinstance(e.value, int) and e.text.isdigit():
        return Expr(str(e.value + amount), INT, low=e.value + amount, high=e.value + amount)
    for opposite in (f" + {-amount}", f" - {amount}") if amount < 0 else (f" - {amount}",):
        if e.text.endswith(opposite) and e.parts and e.parts[2] == str(abs(amount)):
            return Expr(e.text.removesuffix(opposite), e.type)
    return Expr(f"{e.at(10)} {'+' if amount > 0 else '-'} {abs(amount)}", e.type, 10)
