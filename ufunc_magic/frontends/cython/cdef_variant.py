"""Twins: each ``def`` of numbers once more as a ``cdef``, so that its loop makes no Python objects.

The twin stands in the tree before the analysis, with a return type that is a guess; after it, what Cython found the
``return`` statements of the original to have is noted, for the guess to be compared with.
"""

from __future__ import annotations

import copy
from typing import Any

from Cython.Compiler import ExprNodes, Nodes, PyrexTypes
from Cython.Compiler.StringEncoding import EncodedString
from Cython.Compiler.Visitor import TreeVisitor

from .cython_run import Run
from .return_types import guess
from .symbol_table import TWIN, is_number

__all__ = ["add_twins", "note_returns"]


def add_twins(run: Run, tree: Any) -> Any:
    if not isinstance(tree.body, Nodes.StatListNode):  # a module of one statement
        tree.body = Nodes.StatListNode(tree.body.pos, stats=[tree.body])
    statements = tree.body.stats
    added = []
    for node in statements:
        if isinstance(node, Nodes.FuncDefNode) and node.doc:
            name = node.name if isinstance(node, Nodes.DefNode) else node.declarator.declared_name()
            run.docs[str(name)] = str(node.doc)
        if not isinstance(node, Nodes.DefNode):
            continue
        arrays = bool(run.text.annotation(node.pos[1]))
        if not _is_numeric_def(node, arrays=arrays):
            continue
        run.defs[node.name] = node
        asked = run.wanted.get(node.name) or guess(node, tree, void=arrays)
        if asked is None:
            continue
        twin = copy.deepcopy(node).as_cfunction(
            overridable=False, except_val=(None, True), has_explicit_exc_clause=True
        )
        twin.declarator.base.name = EncodedString(TWIN + node.name)
        twin.base_type = Nodes.CAnalysedBaseTypeNode(node.pos, type=asked)
        twin.doc, twin.decorators = None, copy.deepcopy(node.decorators)
        run.twins[node.name] = asked
        added.append(twin)
    statements += added
    return tree


def _is_numeric_def(node: Any, *, arrays: bool) -> bool:
    """A plain function all of whose parameters are declared, and may be numbers as far as the text tells.

    Or typed memoryviews, where a comment asks for a ufunc.
    """
    kinds = (Nodes.CSimpleBaseTypeNode, Nodes.MemoryViewSliceTypeNode) if arrays else Nodes.CSimpleBaseTypeNode
    if node.star_arg or node.starstar_arg or not node.args or node.is_async_def:
        return False
    if not all(_is_directive(decorator.decorator) for decorator in node.decorators or ()):
        return False
    return all(
        not arg.default
        and not arg.kw_only
        and isinstance(arg.declarator, Nodes.CNameDeclaratorNode)
        and isinstance(arg.base_type, kinds)
        and (arg.declarator.name or _is_annotated(arg))
        for arg in node.args
    )


def _is_annotated(arg: Any) -> bool:
    """``x: cython.double``, or ``x: float``, which Cython takes for one."""
    said = str(getattr(getattr(arg.annotation, "string", None), "value", ""))
    return said.startswith("cython.") or said == "float"


def _is_directive(decorator: Any) -> bool:
    """``@cython.boundscheck(False)`` and its like, which change how a function is compiled and not what it is."""
    if isinstance(decorator, ExprNodes.SimpleCallNode):
        decorator = decorator.function
    own = isinstance(decorator, ExprNodes.AttributeNode) and getattr(decorator.obj, "name", "") == "cython"
    return own and decorator.attribute not in ("cfunc", "ccall", "ufunc", "returns", "locals", "exceptval")


class _Returns(TreeVisitor):  # type: ignore[misc]
    """Types of the values that one function returns; None among them stands for what is no C number."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[Any] = []

    def visit_Node(self, node: Any) -> None:
        self.visitchildren(node)

    def visit_ReturnStatNode(self, node: Any) -> None:
        value = node.value
        while isinstance(value, ExprNodes.CoerceToTempNode | ExprNodes.TypecastNode) and value.type.is_pyobject:
            value = getattr(value, "arg", None) or value.operand
        found = value.arg.type if isinstance(value, ExprNodes.CoerceToPyTypeNode) else None
        if isinstance(value, ExprNodes.BoolNode):
            found = PyrexTypes.c_bint_type
        elif isinstance(value, ExprNodes.IntNode):
            found = PyrexTypes.c_long_type
        elif isinstance(value, ExprNodes.FloatNode):
            found = PyrexTypes.c_double_type
        if found is PyrexTypes.soft_complex_type:  # x ** 0.5: a double, or TypeError where it is complex
            found = PyrexTypes.c_double_type
        self.types.append(found if found is not None and is_number(found) else None)

    def visit_FuncDefNode(self, node: Any) -> None:
        """What an inner function returns is its own."""

    visit_LambdaNode = visit_GeneratorExpressionNode = visit_FuncDefNode

    def visit_YieldExprNode(self, node: Any) -> None:
        self.types.append(None)


class _Definitions(TreeVisitor):  # type: ignore[misc]
    """The module's def functions, after analysis."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, Any] = {}

    def visit_Node(self, node: Any) -> None:
        self.visitchildren(node)

    def visit_DefNode(self, node: Any) -> None:
        if not node.entry.scope.is_c_class_scope and not node.is_generator:
            self.found[node.name] = node

    def visit_FusedCFuncDefNode(self, node: Any) -> None:
        """Of a ``def`` with fused types the function as written, not its dispatcher and copies."""
        if isinstance(node.node, Nodes.DefNode):
            self.found[node.node.name] = node.node

    def visit_CFuncDefNode(self, node: Any) -> None:
        """Its wrapper is no function of the user's."""

    visit_ClassDefNode = visit_LambdaNode = visit_CFuncDefNode


def note_returns(run: Run, tree: Any) -> Any:
    definitions = _Definitions()
    definitions.visit(tree)
    run.definitions = definitions.found
    for name in run.defs:
        node = definitions.found.get(name)
        if node is None or any(arg.type.is_fused for arg in node.args):
            continue
        if not all(is_number(arg.type) or arg.type.is_memoryviewslice for arg in node.args):
            continue
        seen = _Returns()
        seen.visitchildren(node, ["body"])
        if not seen.types and run.text.annotation(node.pos[1]):
            run.returned[name] = PyrexTypes.c_void_type
        if not seen.types or None in seen.types or not node.body.is_terminator:
            continue
        joined = seen.types[0]
        for other in seen.types[1:]:
            joined = PyrexTypes.spanning_type(joined, other)
        if is_number(joined):
            run.returned[name] = joined
    return tree
