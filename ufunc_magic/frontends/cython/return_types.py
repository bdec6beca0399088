"""A first guess at the C type that a ``def`` function returns, before Cython has analysed it.

A right guess saves a second run of Cython; a wrong one costs no more than that run, since Cython's own
answer is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from Cython.Compiler import ExprNodes, Nodes, PyrexTypes
from Cython.Compiler.Visitor import TreeVisitor

__all__ = ["guess"]

_LONG, _DOUBLE, _BINT = PyrexTypes.c_long_type, PyrexTypes.c_double_type, PyrexTypes.c_bint_type
#: What libc.math has returns double, but for the names that end as float's and long double's do.
_MATH = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p pow sqrt "
    "cbrt hypot floor ceil round trunc fabs fmod fmin fmax erf erfc tgamma lgamma copysign".split()
)


class _Body(TreeVisitor):  # type: ignore[misc]
    """Declared locals, what is assigned to the others, and the values returned."""

    def __init__(self) -> None:
        super().__init__()
        self.declared: dict[str, Any] = {}
        self.assigned: dict[str, list[Any]] = {}
        self.returned: list[Any] = []

    def visit_Node(self, node: Any) -> None:
        self.visitchildren(node)

    def visit_CVarDefNode(self, node: Any) -> None:
        for declarator in node.declarators:
            if isinstance(declarator, Nodes.CNameDeclaratorNode):
                self.declared[declarator.name] = _declared(node.base_type)

    def visit_SingleAssignmentNode(self, node: Any) -> None:
        if isinstance(node.lhs, ExprNodes.NameNode):
            self.assigned.setdefault(node.lhs.name, []).append(node.rhs)

    def visit_InPlaceAssignmentNode(self, node: Any) -> None:
        if isinstance(node.lhs, ExprNodes.NameNode):
            self.assigned.setdefault(node.lhs.name, []).append(node)

    def visit_ForInStatNode(self, node: Any) -> None:
        if isinstance(node.target, ExprNodes.NameNode):
            self.declared.setdefault(node.target.name, _LONG)
        self.visitchildren(node, ["body", "else_clause"])

    def visit_ReturnStatNode(self, node: Any) -> None:
        self.returned.append(node.value)


def guess(node: Any, tree: Any, *, void: bool = False) -> Any:
    """The type that the ``def`` of ``node`` returns, as a Cython type, or None where the text does not say it.

    With ``void``, one that returns nothing returns C's void.
    """
    functions = _c_functions(tree)
    body = _Body()
    body.visit(node.body)
    names = {a.declarator.declared_name(): _declared(a.base_type) for a in node.args} | body.declared
    pending: set[str] = set()

    def of(value: Any) -> Any:
        match value:
            case ExprNodes.IntNode():
                return _LONG
            case ExprNodes.FloatNode():
                return _DOUBLE
            case ExprNodes.BoolNode() | ExprNodes.PrimaryCmpNode() | ExprNodes.NotNode():
                return _BINT
            case ExprNodes.NameNode():
                return named(value.name)
            case ExprNodes.UnaryMinusNode() | ExprNodes.UnaryPlusNode():
                return of(value.operand)
            case ExprNodes.CondExprNode():
                return _join(of(value.true_val), of(value.false_val))
            case ExprNodes.DivNode() if value.operator == "/":
                joined = _join(of(value.operand1), of(value.operand2))
                return _DOUBLE if joined is not None and joined.is_int else joined
            case ExprNodes.PowNode():
                return None  # depends on the exponent and on a directive
            case ExprNodes.NumBinopNode() | Nodes.InPlaceAssignmentNode():
                parts = (value.lhs, value.rhs) if hasattr(value, "lhs") else (value.operand1, value.operand2)
                joined = _join(of(parts[0]), of(parts[1]))
                division = value.operator == "/" and joined is not None and joined.is_int
                return _DOUBLE if division else joined
            case ExprNodes.TypecastNode():
                return _declared(value.base_type) if value.base_type else None
            case ExprNodes.SimpleCallNode() if isinstance(value.function, ExprNodes.NameNode):
                return functions(value.function.name)
        return None

    def named(name: str) -> Any:
        if name in names:
            return names[name]
        if name in pending or name not in body.assigned:
            return None
        pending.add(name)
        # What comes back to the name itself says nothing new.
        found = [t for t in map(of, body.assigned[name]) if t is not None]
        pending.discard(name)
        return _joined(found)

    if void and not any(body.returned):
        return PyrexTypes.c_void_type
    return _joined([of(value) for value in body.returned if value is not None] or [None])


def _declared(base: Any) -> Any:
    if not isinstance(base, Nodes.CSimpleBaseTypeNode) or not base.is_basic_c_type:
        return None
    kind = PyrexTypes.simple_c_type(base.signed, base.longness, base.name)
    return kind if kind is not None and kind.is_numeric else None


def _c_functions(tree: Any) -> Callable[[str], Any]:
    """What a function of the cell, or of libc.math, returns."""
    found = {}
    for node in tree.body.stats:
        if isinstance(node, Nodes.CFuncDefNode):
            found[node.declarator.declared_name()] = _declared(node.base_type)
    return lambda name: found.get(name, _DOUBLE if name in _MATH else None)


def _joined(kinds: list[Any]) -> Any:
    if not kinds:
        return None
    joined = kinds[0]
    for kind in kinds[1:]:
        joined = _join(joined, kind)
    return joined


def _join(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if a is b:
        return a
    # Arithmetic of two small integers is C's int, or what is wider.
    joined = PyrexTypes.widest_numeric_type(a, b)
    return joined if joined.is_numeric else None
