"""A straight-line C function as one NumPy function over arrays, branches as ``np.where``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .c_arrays import ArrayExpressions
from .c_cell import python_name
from .c_initializers import initial
from .c_uses import assigned_first, changed, declared_name
from .value import Expr, Stop, Variable, bare, child, children, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["VectorFunction"]


class VectorFunction(ArrayExpressions):
    """Writes one function; ``outputs`` are (name, type) of what it stores through pointers, in order."""

    def __init__(self, cell: Cell, routine: Routine, *, order: Sequence[str]) -> None:
        super().__init__(cell, routine)
        self.order = order
        self.lines: list[str] = []
        self.body = child(routine.node, "body")

    def write(self, name: str, parameters: Sequence[str]) -> list[str]:
        for given in self.routine.parameters:
            if given.type.kind in "as" or given.reference:
                raise Stop("takes arrays")
            if given.cell and not given.reads and not assigned_first(self.body, given.name):
                raise Stop("may leave an output unset")
            self.scopes[0][given.name] = Variable(python_name(given.name), given.type, cell=given.cell)
        values = self.returned(children(self.body))
        if len(self.lines) > 40 or sum(map(len, values)) > 2000:
            raise Stop("is too long for one expression")
        return [
            f"def {name}({', '.join(parameters)}):",
            *(f"    {line}" for line in self.lines),
            f"    return {', '.join(values)}",
        ]

    def returned(self, statements: Sequence[Node], *, alone: bool = True) -> list[str]:
        """The values given back by these statements; what comes before them goes to ``lines``.

        ``alone`` is False in a branch, where an assignment would be seen by the other one.
        """
        for position, node in enumerate(statements):
            rest = list(statements[position + 1 :])
            match node.type:
                case "compound_statement":
                    return self.returned([*children(node), *rest], alone=alone)
                case "declaration":
                    self._declare(node)
                case "expression_statement" if children(node):
                    if not alone:
                        raise Stop("assigns in a branch that returns", node)
                    self._assign(bare(children(node)[0]))
                case "expression_statement":
                    pass
                case "return_statement":
                    return self._outputs(children(node)[0] if children(node) else None)
                case "if_statement":
                    if not _returns(node):
                        self._branches(node, alone)
                        continue
                    test = self.condition(child(node, "condition"))
                    yes, no = [child(node, "consequence")], _alternative(node)
                    if not _ends(yes):
                        raise Stop("returns from inside a branch", node)
                    left = self.returned(yes, alone=False)
                    right = self.returned([*no, *rest], alone=alone and not no)
                    return [f"np.where({test.text}, {a}, {b})" for a, b in zip(left, right, strict=True)]
                case _:
                    raise Stop(f"has a {node.type}", node)
        return self._outputs(None)

    def _outputs(self, node: Node | None) -> list[str]:
        given = {}
        if node is not None:
            given[""] = self.convert(self.value(node), self.routine.returns, final=True).text
        for name in self.order:
            found = self.variable(name)
            if found is not None:
                given[name] = found.name
        missing = [name for name in self.order if name not in given]
        if missing or not self.order:
            raise Stop("does not always give a value back", node)
        return [given[name] for name in self.order]

    def _declare(self, node: Node) -> None:
        words = text_of(node).split("=")[0].split()
        for declarator in node.children_by_field_name("declarator"):
            start = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            name = declared_name(declarator)
            if "static" in words and (start is None or changed(self.body, name)):
                raise Stop("keeps state", node)
            plain = child(declarator, "declarator") if declarator.type == "init_declarator" else declarator
            base = child(node, "type")
            auto = base.type == "placeholder_type_specifier" and start is not None
            t = self.value(start).type if auto and start else self.cell.declared(plain, self.cell.type_named(base)).type
            if not t.arithmetic or self.variable(name) is not None:
                raise Stop("has a local array", node)
            if start is not None:
                text = initial(self, start, t)[0]
                self.lines.append(f"{python_name(name)} = {text}")
            self.scopes[0][name] = Variable(python_name(name), t)

    def _assign(self, node: Node) -> None:
        if node.type == "comma_expression":
            self._assign(child(node, "left"))
            self._assign(child(node, "right"))
            return
        target, value = self._assigned(node)
        self.lines.append(f"{target.text} = {value.text}")

    def _assigned(self, node: Node) -> tuple[Expr, Expr]:
        if node.type != "assignment_expression":
            raise Stop("does more than assign", node)
        op, target, value = (
            text_of(child(node, "operator")),
            self.place(child(node, "left")),
            self.value(child(node, "right")),
        )
        value = value if op == "=" else self.binary(op[:-1], target, value, node)
        return target, self.convert(value, target.type, final=True)

    def _branches(self, node: Node, alone: bool) -> None:
        """``if`` whose branches only assign: one ``np.where`` per variable."""
        if not alone:
            raise Stop("assigns in a branch that returns", node)
        test = self.condition(child(node, "condition"))
        yes = self._assignments(child(node, "consequence"))
        no: dict[str, Expr] = {}
        for other in _alternative(node):
            no |= self._assignments(other)
        both = {**yes, **no}
        if len(both) > 1:
            name = self.cell.fresh("mask")
            self.lines.append(f"{name} = {test.text}")
            test = Expr(name, test.type, truth=True)
        seen = " ".join(e.text for pair in (yes, no) for e in pair.values())
        for name in both:
            if len(both) > 1 and name in seen:
                raise Stop("assigns what it still reads", node)
            left, right = (branch[name].text if name in branch else name for branch in (yes, no))
            self.lines.append(f"{name} = np.where({test.text}, {left}, {right})")

    def _assignments(self, node: Node) -> dict[str, Expr]:
        if node.type == "compound_statement":
            made: dict[str, Expr] = {}
            for inner in children(node):
                for name, value in self._assignments(inner).items():
                    if name in made or any(name in e.text for e in made.values()) or any(m in value.text for m in made):
                        raise Stop("assigns twice in a branch", node)
                    made[name] = value
            return made
        if node.type == "if_statement":
            test = self.condition(child(node, "condition"))
            yes = self._assignments(child(node, "consequence"))
            no = {name: e for other in _alternative(node) for name, e in self._assignments(other).items()}
            current = {name: Expr(name, (yes | no)[name].type) for name in yes | no}
            return {name: self.where(test, yes.get(name, e), no.get(name, e), node) for name, e in current.items()}
        if node.type != "expression_statement" or not children(node):
            raise Stop(f"has a {node.type} in a branch", node)
        target, value = self._assigned(bare(children(node)[0]))
        return {target.text: value}


def _alternative(node: Node) -> list[Node]:
    other = node.child_by_field_name("alternative")
    return [] if other is None else children(other) if other.type == "else_clause" else [other]


def _returns(node: Node) -> bool:
    return node.type == "return_statement" or any(_returns(c) for c in node.named_children)


def _ends(statements: Sequence[Node]) -> bool:
    last = statements[-1] if statements else None
    if last is None:
        return False
    if last.type == "compound_statement":
        return _ends(children(last))
    if last.type == "if_statement":
        return _ends([child(last, "consequence")]) and _ends(_alternative(last))
    return last.type == "return_statement"
