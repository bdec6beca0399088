"""Cython's expressions as Python's: operators, casts, subscripts, comprehensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..c_arithmetic import BOOL, CType
from ..value import AND, ATOM, COMPARE, NOT, OR, TERNARY, Expr, Variable
from .cython_names import Names
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT, declared_name

__all__ = ["Values", "folded"]


class Values(Names):
    """Translates what can be read; calls are in the class that builds on this one."""

    def _BinopNode(self, node: Any) -> Expr:
        left, right = self.value(node.operand1), self.value(node.operand2)
        return self.operate(str(node.operator), left, right, node, spaced=self.spaced(node))

    def _BoolBinopNode(self, node: Any) -> Expr:
        word = str(node.operator)
        left, right = self.settled(node.operand1), self.settled(node.operand2)
        level = AND if word == "and" else OR
        text = f"{left.at(level)} {word} {right.at(level + 1)}"
        return Expr(text, self.common(left.type, right.type), level, truth=left.truth and right.truth)

    def _PrimaryCmpNode(self, node: Any) -> Expr:
        left = self.value(node.operand1)
        parts, item = [], node
        while item is not None:
            right = self.value(item.operand2)
            parts.append(self._compared(str(item.operator), left, right))
            left, item = right, item.cascade
        if len(parts) == 1:
            return parts[0]
        if all(p.type.kind in "bo" and not self.checked for p in parts):
            text = parts[0].text + "".join(p.text[len(self._head(p)) :] for p in parts[1:])
            return Expr(text, parts[0].type, COMPARE, truth=True)
        return Expr(" and ".join(p.at(AND + 1) for p in parts), BOOL, AND, truth=True)

    def _head(self, e: Expr) -> str:
        return e.parts[0] if e.parts else ""

    def _compared(self, op: str, left: Expr, right: Expr) -> Expr:
        op = {"not_in": "not in", "is_not": "is not", "<>": "!="}.get(op, op)
        if op in ("in", "not in", "is", "is not"):
            left, right = self.settle(left), self.settle(right)
            text = f"{left.at(COMPARE + 1)} {op} {right.at(COMPARE + 1)}"
            return Expr(text, BOOL, COMPARE, truth=True, parts=(left.at(COMPARE + 1), op, right.text))
        made = self.comparison(op, left, right)
        return replace(made, parts=(self.settle(left).at(COMPARE + 1), op, right.text))

    def _NotNode(self, node: Any) -> Expr:
        e = self.settled(node.operand)
        return Expr(f"not {e.at(NOT)}", BOOL, NOT, low=0, high=1, truth=True, value=folded(e, negated=True))

    def _UnopNode(self, node: Any) -> Expr:
        return self.signed(str(node.operator), self.value(node.operand))

    def _AmpersandNode(self, node: Any) -> Expr:
        raise stop(f"takes the address of {dotted(node.operand) or 'a value'}", node)

    def _CondExprNode(self, node: Any) -> Expr:
        test = self.settled(node.condition if hasattr(node, "condition") else node.test)  # Cython 3.1 calls it test
        left, right = self.value(node.true_val), self.value(node.false_val)
        return self.chosen(test, left, right, self.common(left.type, right.type))

    def _AssignmentExpressionNode(self, node: Any) -> Expr:
        e = self.settled(node.rhs)
        return Expr(f"({node.lhs.name} := {e.text})", e.type)

    def _TypecastNode(self, node: Any) -> Expr:
        t = self.own.types.declared(node.base_type, node.declarator)
        return self.cast(self.value_for(node.operand, t), t, node)

    def _SizeofTypeNode(self, node: Any) -> Expr:
        return self.size(self.own.types.declared(node.base_type, node.declarator), node)

    def _SizeofVarNode(self, node: Any) -> Expr:
        name = dotted(node.operand)
        if name and name not in self.variables:
            return self.size(self.own.types.by_path(name.split("."), node), node)
        return self.size(self.value(node.operand).type, node)

    def size(self, t: CType, node: Any) -> Expr:
        if t.size is None:
            raise stop(f"asks for a size that Python does not have: `{self.text(node)}`", node)
        return Expr(str(t.size), CType("u", 64), low=t.size, high=t.size, value=t.size)

    def _NullNode(self, node: Any) -> Expr:
        raise stop("uses NULL", node)

    # -- sequences and subscripts -----------------------------------------------------------------

    def _TupleNode(self, node: Any) -> Expr:
        values = [self.settled(item) for item in node.args]
        inner = ", ".join(v.text for v in values) + ("," if len(values) == 1 else "")
        fields = tuple((f"f{i}", v.type) for i, v in enumerate(values))
        typed = bool(values) and all(v.type.arithmetic for v in values)
        return Expr(f"({inner})", CType("t", fields=fields) if typed else OBJECT)

    def _ListNode(self, node: Any) -> Expr:
        return Expr(f"[{', '.join(self.settled(item).text for item in node.args)}]", OBJECT)

    def _SetNode(self, node: Any) -> Expr:
        return Expr(f"{{{', '.join(self.settled(item).text for item in node.args)}}}", OBJECT)

    def _DictNode(self, node: Any) -> Expr:
        pairs = (f"{self.settled(p.key).text}: {self.settled(p.value).text}" for p in node.key_value_pairs)
        return Expr(f"{{{', '.join(pairs)}}}", OBJECT)

    def _StarredUnpackingNode(self, node: Any) -> Expr:
        return Expr(f"*{self.settled(node.target).text}", OBJECT, TERNARY)

    def _IndexNode(self, node: Any) -> Expr:
        if kind(node.base) == "AttributeNode" and node.base.attribute == "shape":
            e = self._size_along(node)
            if e is not None:
                return e
        base = self.settled(node.base)
        indices = node.index.args if kind(node.index) == "TupleNode" else [node.index]
        match base.type.kind:
            case "a":
                return self._element(base, indices, node)
            case "n":
                t = base.type.of or OBJECT
                for index in indices:
                    t = OBJECT if kind(index) == "SliceNode" or t.kind not in "a" or t.of is None else t.of
                text = ", ".join(self.subscript(index) for index in indices)
                return Expr(f"{base.at(ATOM)}[{text}]", t if t.arithmetic else OBJECT)
            case "V":
                return Expr(f"{base.at(ATOM)}[{self.subscript(indices[0])}]", base.type.of or OBJECT)
            case "t":
                position = getattr(node.index, "constant_result", None)
                fields = [t for _, t in base.type.fields]
                if isinstance(position, int) and -len(fields) <= position < len(fields):
                    return Expr(f"{base.at(ATOM)}[{position}]", fields[position])
            case "p":
                raise stop(f"uses the pointer `{base.text}`", node)
        text = ", ".join(self.subscript(index) for index in indices)
        return Expr(f"{base.at(ATOM)}[{text}]", OBJECT)

    def _size_along(self, node: Any) -> Expr | None:
        """``a.shape[k]``."""
        base = self.settled(node.base.obj)
        axis = getattr(node.index, "constant_result", None)
        if base.type.kind not in "an" or not isinstance(axis, int):
            return None
        if not self.in_lists(base.type):
            return Expr(f"{base.at(ATOM)}.shape[{axis}]", INDEX, low=0, high=1 << 48)
        dimensions = _dimensions(base.type)
        return Expr(f"len({base.text}{'[0]' * (axis % dimensions)})", INDEX, low=0, high=1 << 48)

    def subscript(self, node: Any) -> str:
        if kind(node) == "SliceNode":
            parts = ["" if kind(p) == "NoneNode" else self.settled(p).text for p in (node.start, node.stop, node.step)]
            return f"{parts[0]}:{parts[1]}" + (f":{parts[2]}" if parts[2] else "")
        e = self.value(node)
        return (e if e.loose and self.checked else self.settle(e)).text

    def _element(self, base: Expr, indices: list[Any], node: Any) -> Expr:
        t = base.type
        plain = [kind(index) != "SliceNode" and kind(index) != "EllipsisNode" for index in indices]
        if len(indices) > _dimensions(t) or "EllipsisNode" in map(kind, indices):
            raise stop(f"uses `{self.text(node)}`", node)
        texts = [self.subscript(index) for index in indices]
        result = t
        for one in plain:
            if one and result.of is not None:
                result = result.of
        if not self.in_lists(t):
            return Expr(f"{base.at(ATOM)}[{', '.join(texts)}]", result, truth=result.kind == "b")
        while texts and texts[-1] == ":" and any(plain):
            texts.pop()
        if len(texts) == 2 and not plain[0] and plain[1]:
            rows = "" if texts[0] == ":" else f"[{texts[0]}]"
            return Expr(f"[row[{texts[1]}] for row in {base.at(ATOM)}{rows}]", result)
        if any(not one for one in plain[: len(texts) - 1]):
            raise stop(f"takes a part of an array that lists do not have: `{self.text(node)}`", node)
        text = base.at(ATOM) + "".join(f"[{text}]" for text in texts)
        return Expr(text, result, truth=result.kind == "b")

    def _SliceIndexNode(self, node: Any) -> Expr:
        base = self.settled(node.base)
        parts = ["" if p is None or kind(p) == "NoneNode" else self.settled(p).text for p in (node.start, node.stop)]
        if base.type.kind == "p":
            raise stop(f"uses the pointer `{base.text}`", node)
        return Expr(f"{base.at(ATOM)}[{parts[0]}:{parts[1]}]", base.type if base.type.kind in "aV" else OBJECT)

    # -- comprehensions ---------------------------------------------------------------------------

    def _ComprehensionNode(self, node: Any) -> Expr:
        opening = {"list": "[]", "set": "{}", "dict": "{}"}[node.type.py_type_name()]
        return Expr(opening[0] + self._comprehended(node.loop) + opening[1], OBJECT)

    def _GeneratorExpressionNode(self, node: Any) -> Expr:
        return Expr(f"({self._comprehended(node.loop)})", OBJECT)

    def _comprehended(self, node: Any) -> str:
        clauses: list[str] = []
        hidden = dict(self.variables)
        try:
            while True:
                match kind(node):
                    case "ForInStatNode":
                        sequence = self.settled(node.iterator.sequence).text
                        clauses.append(f"for {self.bound(node.target)} in {sequence}")
                        node = node.body
                    case "IfStatNode":
                        clauses.append(f"if {self.settled(node.if_clauses[0].condition).text}")
                        node = node.if_clauses[0].body
                    case "StatListNode" if len(node.stats) == 1:
                        node = node.stats[0]
                    case _:
                        break
            return " ".join([self._produced(node), *clauses])
        finally:
            self.variables = hidden

    def bound(self, target: Any) -> str:
        """The target of a comprehension, its names from here on Python objects."""
        if kind(target) in ("TupleNode", "ListNode"):
            return ", ".join(self.bound(inner) for inner in target.args)
        if kind(target) != "NameNode":
            raise stop(f"uses `{self.text(target)}`", target)
        self.variables[target.name] = Variable(target.name, OBJECT)
        return str(target.name)

    def _produced(self, node: Any) -> str:
        match kind(node):
            case "ComprehensionAppendNode":
                return self.settled(node.expr).text
            case "DictComprehensionAppendNode":
                return f"{self.settled(node.dict_item.key).text}: {self.settled(node.dict_item.value).text}"
            case "ExprStatNode" if kind(node.expr) == "YieldExprNode":
                return self.settled(node.expr.arg).text
        raise stop(f"uses `{self.text(node)}`", node)

    def _LambdaNode(self, node: Any) -> Expr:
        if node.star_arg or node.starstar_arg or any(a.default is not None for a in node.args):
            raise stop("makes a function inside", node)
        hidden = dict(self.variables)
        names = [declared_name(a.declarator) for a in node.args]
        self.variables |= {name: Variable(name, OBJECT) for name in names}
        text = self.settled(node.result_expr).text
        self.variables = hidden
        return Expr(f"lambda {', '.join(names)}: {text}", OBJECT, TERNARY)

    def _YieldExprNode(self, node: Any) -> Expr:
        raise stop("is a generator", node)


def _dimensions(t: CType) -> int:
    count = 0
    while t.kind == "a" and t.of is not None:
        count, t = count + 1, t.of
    return count


def folded(e: Expr, *, negated: bool = False) -> bool | None:
    """The truth of a condition that is known, as ``cython.compiled`` is."""
    known = e.text in ("True", "False", "not True", "not False") and e.value is not None
    return bool(e.value) != negated if known else None
