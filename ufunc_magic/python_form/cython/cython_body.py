"""Control flow of a Cython function in Python: loops over ranges, ``with nogil``, ``try``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..c_arithmetic import CType
from ..value import Expr
from .cython_statements import Statements
from .cython_tree import assigned_names, dotted, kind, statements, stop
from .cython_types import OBJECT, declared_name
from .cython_values import folded

__all__ = ["Body"]

_ONE = Expr("1", CType("i", 32), low=1, high=1, value=1)


class Body(Statements):
    """Writes the statements of one function, or of the module level."""

    def _IfStatNode(self, node: Any) -> None:
        word = "if"
        for clause in node.if_clauses:
            test = self.settled(clause.condition)
            known = folded(test)
            if known is False:
                continue
            if known is True:
                self._otherwise(clause.body, first=word == "if")
                return
            self.put(f"{word} {test.text}:")
            self.block(clause.body)
            word = "elif"
        if node.else_clause is not None:
            self._otherwise(node.else_clause, first=word == "if")

    def _otherwise(self, body: Any, *, first: bool) -> None:
        if first:
            for inner in statements(body):
                self.statement(inner)
        else:
            self.put("else:")
            self.block(body)

    def _WhileStatNode(self, node: Any) -> None:
        self.put(f"while {self.settled(node.condition).text}:")
        self.block(node.body)
        self._else(node)

    def _else(self, node: Any) -> None:
        if node.else_clause is not None:
            self.put("else:")
            self.block(node.else_clause)

    def _ForInStatNode(self, node: Any) -> None:
        sequence = node.iterator.sequence
        if self.is_range(sequence):
            general = kind(sequence) == "GeneralCallNode"
            args = sequence.positional_args.args if general else sequence.args
            self._counted(node, [self.value(a) for a in args])
            return
        e = self.settled(sequence)
        if e.type.kind == "p":
            raise stop(f"goes through the pointer `{e.text}`", node)
        target = self.place(node.target)
        text = target.text[1:-1] if kind(node.target) == "TupleNode" else target.text
        self.put(f"for {text} in {e.text}:")
        self.block(node.body)
        self._else(node)

    def _counted(self, node: Any, bounds: list[Expr]) -> None:
        """A loop over a range; its counter needs no wrapping while the bounds say how far it goes."""
        name = dotted(node.target)
        bounds = [self.settle(b) for b in bounds]
        found = self.variables.get(name)
        alone = sum(n == name and kind(s) != "ForInStatNode" for n, s in assigned_names(node.body)) == 0
        if found is not None and found.type.integral and alone and all(b.type.integral for b in bounds):
            ends = [end for b in bounds[:2] for end in b.range] + ([0] if len(bounds) == 1 else [])
            low, high = max(min(ends), found.type.low), min(max(ends), found.type.high)
            self.variables[name] = replace(found, low=low, high=high)
        self.put(f"for {self.place(node.target).text} in range({', '.join(b.text for b in bounds)}):")
        self.block(node.body)
        if found is not None:
            self.variables[name] = found
        self._else(node)

    def _ForFromStatNode(self, node: Any) -> None:
        start, end = self.settled(node.bound1), self.settled(node.bound2)
        step = self.settled(node.step) if node.step is not None else None
        down = ">" in node.relation1
        first = start if "=" in node.relation1 else self.operate("-" if down else "+", start, _ONE, node)
        last = end if "=" not in node.relation2 else self.operate("-" if down else "+", end, _ONE, node)
        first, last = self.settle(first), self.settle(last)
        by = step.text if step is not None else "1"
        zero_start = first.value == 0 and not down and by == "1"
        bounds = [last] if zero_start else [first, last]
        if down:
            bounds.append(Expr(f"-{by}", last.type))
        elif by != "1" and step is not None:
            bounds.append(step)
        self._counted(node, bounds)

    def _WithStatNode(self, node: Any) -> None:
        manager = node.manager
        call = manager.function if kind(manager) in ("SimpleCallNode", "GeneralCallNode") else manager
        root = dotted(call).partition(".")[0]
        if root in ("nogil", "gil") or self.own.types.cimports.get(root, "").startswith("cython"):
            for inner in statements(node.body):
                self.statement(inner)
            return
        text = self.settled(manager).text
        self.put(f"with {text}" + (f" as {self.place(node.target).text}:" if node.target is not None else ":"))
        self.block(node.body)

    def _GILStatNode(self, node: Any) -> None:
        for inner in statements(node.body):
            self.statement(inner)

    def _TryExceptStatNode(self, node: Any) -> None:
        self.put("try:")
        self.block(node.body)
        for clause in node.except_clauses:
            text = "except"
            if clause.pattern:
                names = [self.settled(p).text for p in clause.pattern]
                text += f" {names[0]}" if len(names) == 1 else f" ({', '.join(names)})"
            if clause.target is not None:
                text += f" as {self.place(clause.target).text}"
            self.put(f"{text}:")
            self.block(clause.body)
        self._else(node)

    def _TryFinallyStatNode(self, node: Any) -> None:
        self.put("try:")
        self.block(node.body)
        self.put("finally:")
        self.block(node.finally_clause)

    def _FromImportStatNode(self, node: Any) -> None:
        module = str(node.module.module_name.value)
        if module.partition(".")[0] != "cython":
            names = ", ".join(name if name == t.name else f"{name} as {t.name}" for name, t in node.items)
            self.put(f"from {module} import {names}")

    def _DefNode(self, node: Any) -> None:
        """A function inside, whose own names are Python objects where they have no type."""
        if node.star_arg or node.starstar_arg or node.decorators:
            raise stop("defines a function inside", node)
        around = self.variables, self.untyped, self.returns, self.results
        names = []
        for argument in node.args:
            default = "" if argument.default is None else f"={self.settled(argument.default).text}"
            names.append(declared_name(argument.declarator) + default)
        self.put(f"def {node.name}({', '.join(names)}):")
        self.variables, self.returns, self.results = dict(self.variables), None, ()
        for argument in node.args:
            self.declare(declared_name(argument.declarator), OBJECT)
        own = {name: OBJECT for name, _ in assigned_names(node.body) if name not in self.variables}
        self.untyped = {**self.untyped, **own}
        self.block(node.body)
        self.variables, self.untyped, self.returns, self.results = around

    def _PyClassDefNode(self, node: Any) -> None:
        raise stop("defines a class inside", node)

    _CClassDefNode = _PyClassDefNode
