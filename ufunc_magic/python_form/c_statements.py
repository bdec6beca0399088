"""C statements as Python statements, as a person would write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import VOID
from .c_for import CountedLoops
from .c_initializers import initial
from .c_locals import INDENT, Lines
from .value import Expr, Stop, bare, child, children, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["Body"]


class Body(CountedLoops):
    """Writes one function's statements.

    ``results`` says what ``return`` gives back: it is called with the C value (None for void) and
    returns the text after ``return``.
    """

    def __init__(self, cell: Cell, routine: Routine, *, checked: bool, results: Callable[[Expr | None], str]) -> None:
        super().__init__(cell, routine, checked=checked)
        self.results = results

    # -- statements -----------------------------------------------------------------------------

    def statements(self, nodes: list[Node]) -> Lines:
        lines: Lines = []
        for node in nodes:
            lines += self.write(node)
        return lines

    def block(self, node: Node) -> Lines:
        """A statement as an indented suite."""
        self.scopes.append({})
        lines = self.statements(children(node) if node.type == "compound_statement" else [node])
        self.scopes.pop()
        return [INDENT + line for line in lines or ["pass"]]

    def write(self, node: Node) -> Lines:
        match node.type:
            case "compound_statement":
                self.scopes.append({})
                lines = self.statements(children(node))
                self.scopes.pop()
                return lines
            case "expression_statement":
                inner = children(node)
                return self.around_it(node, lambda: self.effect(inner[0])) if inner else []
            case "declaration":
                return self._declaration(node)
            case "return_statement":
                return self.around_it(node, lambda: self._return(node), after=False)
            case "if_statement":
                return self._if(node)
            case "for_statement":
                return self._for(node)
            case "while_statement":
                return self._while(node, child(node, "condition"), [], child(node, "body"))
            case "do_statement":
                return self._do(node)
            case "switch_statement":
                return self._switch(node)
            case "break_statement":
                if not self.around or self.around[-1] is None:
                    raise Stop("leaves a switch from inside a case", node)
                return ["break"]
            case "continue_statement":
                update = next((lines for lines in reversed(self.around) if lines is not None), None)
                return [*(update or []), "continue"]
            case "goto_statement" | "labeled_statement":
                raise Stop("uses `goto`", node)
            case (
                "type_definition"
                | "preproc_def"
                | "preproc_call"
                | "struct_specifier"
                | "enum_specifier"
                | "static_assert_declaration"
                | "using_declaration"
                | "alias_declaration"
            ):
                self.cell._read(_Only(node))  # type: ignore[arg-type]
                return []
        raise Stop(f"uses `{' '.join(text_of(node).split())[:40]}`, which has no Python form", node)

    def _return(self, node: Node) -> Lines:
        values = children(node)
        if not values:
            return [f"return {self.results(None)}".rstrip()]
        if values[0].type == "initializer_list":
            return [
                f"return {self.results(Expr(initial(self, values[0], self.routine.returns)[0], self.routine.returns))}"
            ]
        value = self.value(values[0])
        if self.routine.returns == VOID:
            return [value.text, f"return {self.results(None)}".rstrip()]
        value = self.convert(value, self.routine.returns, node=node, final=True)
        return [f"return {self.results(replace(value, text=value.at(1)))}"]

    def _if(self, node: Node) -> Lines:
        self.before, self.statement = [], node
        test = self.condition(child(node, "condition"))
        lines, self.before, self.statement = self.before, None, None
        if test.truth and test.value is not None:
            other = child(node, "consequence") if test.value else node.child_by_field_name("alternative")
            chosen = children(other)[0] if other is not None and other.type == "else_clause" else other
            return lines + (self.write(chosen) if chosen is not None else [])
        lines = [*lines, f"if {test.text}:", *self.block(child(node, "consequence"))]
        other = node.child_by_field_name("alternative")
        if other is None:
            return lines
        inner = children(other)[0] if other.type == "else_clause" else other
        rest = self.write(inner) if inner.type == "if_statement" else []
        if rest and rest[0].startswith("if "):
            return [*lines, f"el{rest[0]}", *rest[1:]]
        return [*lines, "else:", *([INDENT + line for line in rest] if rest else self.block(inner))]

    def _while(self, node: Node, test: Node | None, update: Lines, body: Node) -> Lines:
        if test is None:
            head, first = "while True:", []
        else:
            self.before, self.statement = [], node
            e = self.condition(test)
            first, self.before, self.statement = self.before, None, None
            head = "while True:" if first or e.value else f"while {e.text}:"
            if first:
                first = [*first, f"if not {e.at(5)}:", f"{INDENT}break"]
        self.around.append(update)
        lines = self.block(body)
        self.around.pop()
        lines = [] if lines == [f"{INDENT}pass"] and (first or update) else lines
        return [head, *(INDENT + line for line in first), *lines, *(INDENT + line for line in update)]

    def _do(self, node: Node) -> Lines:
        test, body = child(node, "condition"), child(node, "body")
        leaves = any(n.type in ("break_statement", "continue_statement") for n in walk(body))
        if text_of(test) in ("0", "false") and not leaves:
            return self.write(body)
        self.before, self.statement = [], node
        e = self.condition(test)
        first, self.before, self.statement = self.before, None, None
        endless = isinstance(e.value, int) and e.value != 0
        last = [] if endless else [*first, f"if {_negated(e)}:", f"{INDENT}break"]
        self.around.append(last)
        lines = self.block(body)
        self.around.pop()
        return ["while True:", *lines, *(INDENT + line for line in last)]

    def _for(self, node: Node) -> Lines:
        self.scopes.append({})
        lines = self._counted(node) or self._general_for(node)
        self.scopes.pop()
        return lines

    def _general_for(self, node: Node) -> Lines:
        start, test, step = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
        if node.type != "for_statement":
            raise Stop("uses a range-based for", node)
        lines = []
        if start is not None:
            lines = (
                self._declaration(start)
                if start.type == "declaration"
                else self.around_it(start, lambda: self.effect(start))
            )
        # The update is written in the scope of the loop's header, before the body declares its own names.
        update = self.around_it(step, lambda: self.effect(step)) if step is not None else []
        return lines + self._while(node, bare(test) if test is not None else None, update, child(node, "body"))

    # -- switch ---------------------------------------------------------------------------------

    def _switch(self, node: Node) -> Lines:
        self.before, self.statement = [], node
        subject = self.settled(child(node, "condition"))
        lines, self.before, self.statement = self.before, None, None
        if not subject.text.isidentifier():
            name = self.cell.fresh("key")
            lines = [*lines, f"{name} = {subject.text}"]
            subject = replace(subject, text=name)
        arms = self._arms(node)
        self.around.append(None)
        word, default = "if", None
        for labels, body in arms:
            if None in labels:
                default = body
                continue
            test = (
                f"{subject.text} == {labels[0]}"
                if len(labels) == 1
                else f"{subject.text} in ({', '.join(map(str, labels))})"
            )
            lines += [f"{word} {test}:", *self._arm(body)]
            word = "elif"
        if default is not None:
            suite = self._arm(default)
            if word == "if":
                lines += [line.removeprefix(INDENT) for line in suite]
            elif suite != [f"{INDENT}pass"]:
                lines += ["else:", *suite]
        self.around.pop()
        return lines

    def _arms(self, node: Node) -> list[tuple[list[str | None], list[Node]]]:
        """Labels (None: default) and statements of each arm, the final ``break`` removed."""
        arms: list[tuple[list[str | None], list[Node]]] = []
        labels: list[str | None] = []
        cases = children(child(node, "body"))
        for position, case in enumerate(cases):
            if case.type != "case_statement":
                raise Stop("has statements before the first case", case)
            value = case.child_by_field_name("value")
            labels.append(self.settled(value).text if value is not None else None)
            body = [c for c in children(case) if value is None or c.id != value.id]
            if len(body) == 1 and body[0].type == "compound_statement":
                body = children(body[0])
            if not body and position < len(cases) - 1:
                continue
            if body and body[-1].type == "break_statement":
                body = body[:-1]
            elif position < len(cases) - 1 and not _leaves(body):
                raise Stop("falls through from one case to the next", case)
            arms.append((labels, body))
            labels = []
        return arms

    def _arm(self, body: list[Node]) -> Lines:
        self.scopes.append({})
        lines = self.statements(body)
        self.scopes.pop()
        return [INDENT + line for line in lines or ["pass"]]


class _Only:
    """A scope that holds one node, for a type declared inside a function."""

    def __init__(self, node: Node) -> None:
        self.named_children = [node]


def _leaves(body: list[Node]) -> bool:
    """Whether control never runs off the end of these statements."""
    if not body:
        return False
    last = body[-1]
    if last.type in ("return_statement", "continue_statement"):
        return True
    if last.type == "compound_statement":
        return _leaves(children(last))
    if last.type == "if_statement":
        other = last.child_by_field_name("alternative")
        inner = children(other)[0] if other is not None and other.type == "else_clause" else other
        return inner is not None and _leaves([child(last, "consequence")]) and _leaves([inner])
    return False


def _negated(e: Expr) -> str:
    return e.text[4:] if e.text.startswith("not ") and e.level == 4 else f"not {e.at(5)}"
