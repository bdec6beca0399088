"""A Cython function's simple statements as Python's, its declarations left out."""

from __future__ import annotations

from typing import Any

from ..c_arithmetic import CType
from ..value import ATOM, Expr
from .cython_library import zero
from .cython_locals import Locals
from .cython_tree import kind, statements, stop
from .cython_types import OBJECT

__all__ = ["Statements"]


class Statements(Locals):
    """Writes statements that hold no others."""

    def block(self, node: Any) -> None:
        """The statements one level deeper."""
        before = len(self.lines)
        self.depth += 1
        for inner in statements(node):
            self.statement(inner)
        if len(self.lines) == before:
            self.put("pass")
        self.depth -= 1

    def statement(self, node: Any) -> None:
        for base in type(node).__mro__:
            method = getattr(self, f"_{base.__name__}", None)
            if method is not None:
                method(node)
                return
        raise stop(f"uses `{self.text(node)}`, which has no Python form", node)

    def _PassStatNode(self, node: Any) -> None:
        pass

    _CImportStatNode = _FromCImportStatNode = _CTypeDefNode = _FusedTypeNode = _PassStatNode

    def _CStructOrUnionDefNode(self, node: Any) -> None:
        pass

    def _BreakStatNode(self, node: Any) -> None:
        self.put("break")

    def _ContinueStatNode(self, node: Any) -> None:
        self.put("continue")

    def _GlobalNode(self, node: Any) -> None:
        self.put(f"global {', '.join(node.names)}")

    def _CVarDefNode(self, node: Any) -> None:
        for declarator in node.declarators:
            base = declarator
            while kind(base) != "CNameDeclaratorNode":
                base = base.base
            name, t = str(base.name), self.own.types.declared(node.base_type, declarator)
            if self.routine is not None:
                self.declare(name, t)
            if t.kind == "p":
                raise stop(f"uses the pointer `{name}`", node)
            if base.default is not None:
                self.put(f"{name} = {self.stored(base.default, t).text}")
            elif t.kind in "asV" and (t.kind != "a" or t.length is not None):
                self.put(f"{name} = {_blank(t)}")
            elif self.routine is None:
                self.put(f"{name} = {zero(t) if t.arithmetic else None}")

    def stored(self, node: Any, t: CType) -> Expr:
        """A value as it is put into a variable of type ``t``."""
        if t.kind == "a" and t.length is not None and kind(node) in ("ListNode", "TupleNode"):
            return Expr(f"[{', '.join(self.stored(item, t.of or OBJECT).text for item in node.args)}]", t)
        if t.kind == "s" and kind(node) == "DictNode":
            pairs = ((str(p.key.value), p.value) for p in node.key_value_pairs)
            of = dict(t.fields)
            return Expr(f"SimpleNamespace({', '.join(f'{n}={self.stored(v, of[n]).text}' for n, v in pairs)})", t)
        if t.kind == "t" and kind(node) == "TupleNode" and len(node.args) == len(t.fields):
            parts = [self.stored(v, of).text for v, (_, of) in zip(node.args, t.fields, strict=True)]
            return Expr(f"({', '.join(parts)})", t)
        return self.convert(self.value_for(node, t), t, node=node, final=True)

    def _SingleAssignmentNode(self, node: Any) -> None:
        if kind(node.rhs) == "ImportNode":
            self._import(node)
            return
        if self._is_declare(node.rhs) and len(node.rhs.args) < 2:
            return
        target, value = node.lhs, node.rhs
        if kind(target) in ("TupleNode", "ListNode"):
            self._unpack(target, value)
            return
        if self._is_declare(value):
            value = value.args[1]
        if kind(target) in ("SliceIndexNode", "IndexNode") and self._fills(target, value):
            return
        place = self.place(target)
        self.put(f"{place.text} = {self.stored(value, place.type).text}")

    def _import(self, node: Any) -> None:
        name, module = str(node.lhs.name), str(node.rhs.module_name.value)
        self.put(f"import {module}" + (f" as {name}" if name != module else ""))

    def _unpack(self, target: Any, value: Any) -> None:
        places = [self.place(inner) for inner in target.args]
        if kind(value) in ("TupleNode", "ListNode") and len(value.args) == len(places):
            texts = [self.stored(v, p.type).text for v, p in zip(value.args, places, strict=True)]
            right = ", ".join(texts)
        else:
            right = self.settled(value).text
        self.put(f"{', '.join(p.text for p in places)} = {right}")

    def _fills(self, target: Any, value: Any) -> bool:
        """``a[:] = x``: one number into every element of a list."""
        base = self.settled(target.base)
        index = getattr(target, "index", None)
        whole = kind(target) == "SliceIndexNode" or kind(index) == "SliceNode" or kind(index) == "EllipsisNode"
        if not whole or not self.in_lists(base.type):
            return False
        e = self.settled(value)
        if base.type.of is None or not base.type.of.arithmetic:
            raise stop(f"fills a part of an array: `{self.text(target)}`", target)
        part = f"{base.at(ATOM)}[:]" if kind(index) == "EllipsisNode" else self.settled(target).text
        if e.type.arithmetic:
            self.put(f"{part} = [{self.convert(e, base.type.of).text}]*len({part})")
        else:
            self.put(f"{part} = {e.text}")
        return True

    def place(self, node: Any) -> Expr:
        """What can be assigned to."""
        match kind(node):
            case "NameNode":
                name = str(node.name)
                if name in self.variables:
                    return Expr(name, self.variables[name].type)
                if name in self.untyped:
                    return Expr(name, self.untyped[name] or OBJECT)
                if name in self.own.constants:
                    self.own.wanted.add(name)
                    return Expr(name, self.own.constant_type(name))
                return Expr(name, OBJECT)
            case "IndexNode" | "SliceIndexNode" | "AttributeNode":
                return self.value(node)
            case "StarredUnpackingNode":
                return Expr(f"*{self.place(node.target).text}", OBJECT)
            case "TupleNode" | "ListNode":
                return Expr(f"({', '.join(self.place(inner).text for inner in node.args)})", OBJECT)
        raise stop(f"assigns to `{self.text(node)}`", node)

    def _CascadedAssignmentNode(self, node: Any) -> None:
        places = [self.place(target) for target in node.lhs_list]
        if len({p.type for p in places}) == 1 or not self.checked:
            e = self.stored(node.rhs, places[0].type)
            self.put(f"{' = '.join(p.text for p in places)} = {e.text}")
            return
        for place in places:
            self.put(f"{place.text} = {self.stored(node.rhs, place.type).text}")

    def _InPlaceAssignmentNode(self, node: Any) -> None:
        op = str(node.operator)
        place = self.place(node.lhs)
        value = self.value(node.rhs)
        if place.type.arithmetic and value.type.kind != "V":
            e = self.operate(op, self.value(node.lhs), value, node)
            made = self.convert(e, place.type, node=node, final=True)
            if self.checked or e.loose or (op == "/" and e.type.integral):
                self.put(f"{place.text} = {made.text}")
                return
        self.put(f"{place.text} {op}= {self.settle(value).text}")

    def _ExprStatNode(self, node: Any) -> None:
        expression = node.expr
        plain = kind(expression)
        if plain in ("UnicodeNode", "StringNode", "BytesNode", "NameNode", "EllipsisNode") or self._is_declare(
            expression
        ):
            return
        text = self._effect(expression)
        if text:
            self.put(text)

    def _effect(self, node: Any) -> str:
        e = self.value(node)
        return "" if e.text == "None" else e.text

    def _ReturnStatNode(self, node: Any) -> None:
        parts = []
        if node.value is not None:
            parts = self._returned(node.value)
        parts += self.results
        self.put(f"return {', '.join(parts)}" if parts else "return")

    def _returned(self, node: Any) -> list[str]:
        wanted = self.returns
        if isinstance(wanted, tuple) and len(wanted) > 1 and kind(node) == "TupleNode":
            return [self.stored(v, t).text for v, t in zip(node.args, wanted, strict=False)]
        if isinstance(wanted, tuple):
            wanted = wanted[0] if len(wanted) == 1 else OBJECT
        plain = wanted is None or wanted.kind == "v"
        text = self.settled(node).text if wanted is None or plain else self.stored(node, wanted).text
        if kind(node) == "TupleNode" and len(node.args) > 1 and not self.results:
            text = text[1:-1]
        return [] if text == "None" and self.results else [text]

    def _RaiseStatNode(self, node: Any) -> None:
        text = "raise"
        if node.exc_type is not None:
            text += f" {self.settled(node.exc_type).text}"
            if node.exc_value is not None:
                text += f"({self.settled(node.exc_value).text})"
        self.put(text)

    def _ReraiseStatNode(self, node: Any) -> None:
        self.put("raise")

    def _AssertStatNode(self, node: Any) -> None:
        text = f"assert {self.settled(node.condition).text}"
        self.put(text + (f", {self.settled(node.value).text}" if node.value is not None else ""))

    def _DelStatNode(self, node: Any) -> None:
        self.put(f"del {', '.join(self.settled(a).text for a in node.args)}")


def _blank(t: CType) -> str:
    """A C array, structure or vector just declared."""
    match t.kind:
        case "a" if t.of is not None and t.of.kind == "a":
            return f"[{_blank(t.of)} for _ in range({t.length})]"
        case "a" if t.of is not None:
            return f"[{zero(t.of)}]*{t.length}"
        case "s":
            return f"SimpleNamespace({', '.join(f'{name}={_blank(of)}' for name, of in t.fields)})"
    return zero(t)
