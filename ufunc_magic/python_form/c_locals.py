"""Local variables: C declarations as Python assignments, and what is known of a variable's range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import CType
from .c_calls import Expressions
from .c_cell import Declared, python_name
from .c_initializers import initial, zero
from .c_uses import changed, declared_name
from .value import Stop, Variable, child, children, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["COUNTER", "INDENT", "Lines", "Locals"]

INDENT = "    "
#: A counter moves by small literal steps: it would take 2**30 of them to leave this range.
COUNTER = 1 << 30

Lines = list[str]


class Locals(Expressions):
    """The names of one function and the statements that bring them in."""

    def __init__(self, cell: Cell, routine: Routine, *, checked: bool) -> None:
        super().__init__(cell, routine, checked=checked)
        self.body = child(routine.node, "body")

    def declare(
        self,
        name: str,
        t: CType,
        *,
        low: int | None = None,
        high: int | None = None,
        cell: bool = False,
        null: bool = False,
    ) -> Variable:
        """Bring a C name into the innermost scope, renamed where it would hide one still in use."""
        spelled = python_name(name)
        if name in self.cell.functions and name in self.cell.requested:
            spelled = f"{spelled}_"
        taken = {v.name for scope in self.scopes for v in scope.values()}
        while spelled in taken:
            spelled += "_"
        made = Variable(spelled, t, low, high, cell, null)
        self.scopes[-1][name] = made
        return made

    def counter(self, name: str) -> bool:
        """Whether an int starts from literals and moves by small literals only."""
        starts = [n for n in walk(self.body) if n.type == "init_declarator" and declared_name(n) == name]
        moves = changed(self.body, name)
        values = [child(n, "value") for n in starts]
        for move in moves:
            if move.type == "pointer_expression":
                return False
            if move.type == "assignment_expression":
                values.append(child(move, "right"))
                if text_of(child(move, "operator")) not in ("=", "+=", "-="):
                    return False
        return bool(moves) and all(v.type == "number_literal" and len(text_of(v)) < 5 for v in values)

    def around_it(self, node: Node, write: Callable[[], Lines], *, after: bool = True) -> Lines:
        """A statement with what its expression needs before and after it."""
        self.before, self.after, self.statement = [], [] if after else None, node
        middle = write()
        lines = [*_merged(self.before, middle), *(self.after or [])]
        self.before = self.after = self.statement = None
        return lines

    def _declaration(self, node: Node) -> Lines:
        base_node = child(node, "type")
        words = text_of(node).split("=")[0].replace("(", " ").split()
        lines: Lines = []
        for declarator in node.children_by_field_name("declarator"):
            start = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            plain = child(declarator, "declarator") if declarator.type == "init_declarator" else declarator
            name = declared_name(plain)
            constant = "const" in words or "constexpr" in words or "static" in words
            if start is not None and ("static" in words or (constant and start.type == "initializer_list")):
                lines += self._static(name, node, declarator)
                continue
            if "static" in words or "extern" in words:
                raise Stop(f"keeps `{name}` from call to call", node)
            if base_node.type == "placeholder_type_specifier":
                if start is None:
                    raise Stop(f"cannot read `{text_of(node)}`", node)
                found = Declared(name, self.value(start).type)
            else:
                found = self.cell.declared(plain, self.cell.type_named(base_node))
            lines += self.around_it(node, lambda found=found, start=start: self._local(found, start, node))  # type: ignore[misc]
        return lines

    def _static(self, name: str, declaration: Node, declarator: Node) -> Lines:
        key = (
            name if name not in self.cell.constants and name not in self.cell.variables else self.cell.fresh(f"{name}_")
        )
        made = self.cell.table(name, declaration, declarator, self, key=key)
        self.scopes[-1][name] = Variable(made.text, made.type, made.low, made.high)
        return []

    def _local(self, found: Declared, start: Node | None, node: Node) -> Lines:
        t = found.type
        if found.reference:
            raise Stop(f"uses the reference `{found.name}`", node)
        if start is None:
            variable = self._declare_local(found)
            if found.pointer:
                raise Stop(f"uses the pointer variable `{found.name}`", node)
            if t.kind == "a":
                return [f"{variable.name} = {self._empty(t, found.sizes)}"]
            return [f"{variable.name} = {zero(t)}"] if t.kind == "s" or self._lent(found.name) else []
        if found.pointer:
            moves = changed(self.body, found.name)
            if any(c.type != "assignment_expression" or child(c, "left").type == "identifier" for c in moves):
                raise Stop(f"moves the pointer `{found.name}`", node)
            value = self.value(start)
            if value.type.kind != "a":
                raise Stop(f"uses the pointer variable `{found.name}`", node)
            return [f"{self.declare(found.name, value.type).name} = {value.text}"]
        if t.kind == "a":
            text, t = initial(self, start, t)
        elif t.kind == "s" or start.type == "initializer_list":
            text = initial(self, start, t)[0]
        else:
            text = self.convert(self.value(start), t, node=node).at(1)
        variable = self._declare_local(replace(found, type=t))
        return [f"{variable.name} = {text}"]

    def _declare_local(self, found: Declared) -> Variable:
        t = found.type
        if t.integral and t.bits >= 32 and self.counter(found.name):
            down = any("-" in text_of(child(c, "operator")) for c in changed(self.body, found.name))
            if t.kind == "i" or not down:
                return self.declare(found.name, t, low=-COUNTER if t.kind == "i" else 0, high=COUNTER)
        return self.declare(found.name, t)

    def _lent(self, name: str) -> bool:
        """Whether a function that may read it gets the address of a variable without a value."""
        for taken in changed(self.body, name):
            call = taken.parent.parent if taken.parent is not None and taken.parent.type == "argument_list" else None
            if taken.type != "pointer_expression" or call is None or call.type != "call_expression":
                continue
            arguments = children(child(call, "arguments"))
            routine = self.cell.routine(text_of(child(call, "function")), len(arguments))
            if routine is not None and len(routine.parameters) == len(arguments):
                return any(p.cell and p.reads for p, a in zip(routine.parameters, arguments, strict=True) if a == taken)
        return False

    def _empty(self, t: CType, sizes: tuple[Node | None, ...]) -> str:
        """A zeroed local array, whose lengths may be expressions."""
        if not any(sizes):
            return zero(t)
        if t.of is None:
            raise Stop("declares an array of nothing")
        inner = self._empty(t.of, sizes[1:])
        length = str(t.length) if t.length is not None else ""
        if sizes[0] is not None:
            length = self.settled(sizes[0]).at(12)
        return f"[{inner} for _ in range({length})]" if t.of.kind in "as" else f"[{inner}]*{length}"


def _merged(before: Lines, middle: Lines) -> Lines:
    """``result1, e = f(x)`` then ``m = result1`` said in one line."""
    if before and len(middle) == 1:
        name, comma, rest = before[-1].partition(", ")
        target, equals, value = middle[0].partition(" = ")
        if comma and equals and value == name and name.startswith("result"):
            return [*before[:-1], f"{target}, {rest}"]
    return [*before, *middle]
