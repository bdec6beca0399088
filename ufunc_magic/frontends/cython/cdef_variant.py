"""Each ``def`` of numbers once more as a ``cdef``, so that its loop makes no Python objects.

The variant stands in the tree before the analysis, with a return type that is a guess; after it, what Cython found the
``return`` statements of the original to have is noted, for the guess to be compared with.  A right guess saves a second
run of Cython; a wrong one, or one that Cython refuses, costs no more than another.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._private import EncodedString, ExprNodes, FusedCFuncDefNode, Nodes, PyrexTypes
from .cython_function import CellText

#: What the ``cdef`` variant of a ``def`` function is called, before its name.
PREFIX = "__ufm_def_"


def is_number(kind: Any) -> bool:
    kind = PyrexTypes.remove_cv_ref(kind) if hasattr(PyrexTypes, "remove_cv_ref") else kind
    return bool(kind.is_numeric) and not getattr(kind, "is_unicode_char", False) and not kind.is_pyobject


@dataclass(eq=False)
class Variants:
    """The variants of one run of Cython, and what it says of their originals.

    Attributes
    ----------
    text : CellText
    known : mapping
        Function -> the type that an earlier run found it to return.
    guessing : bool
        Functions that are not ``known`` have variants too.
    declared, returned : dict
        Function -> the type that its variant was declared to return, or that its original was found to.
    definitions : dict
        def functions by name, after the analysis.
    docs : dict
        Docstrings of all functions.
    """

    text: CellText
    known: Mapping[str, Any]
    guessing: bool
    declared: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)
    _numeric: list[str] = field(default_factory=list)

    def add(self, tree: Any) -> Any:
        """A stage of Cython's pipeline, behind the parser."""
        if not isinstance(tree.body, Nodes.StatListNode):  # a module of one statement
            tree.body = Nodes.StatListNode(tree.body.pos, stats=[tree.body])
        for node in tuple(tree.body.stats):
            if isinstance(node, Nodes.FuncDefNode) and node.doc:
                name = node.name if isinstance(node, Nodes.DefNode) else node.declarator.declared_name()
                self.docs[str(name)] = str(node.doc)
            if not isinstance(node, Nodes.DefNode):
                continue
            arrays = bool(self.text.annotation(node.pos[1]))
            if not _is_numeric_def(node, arrays=arrays):
                continue
            self._numeric.append(node.name)
            returns = self.known.get(node.name) or (_guess(node, void=arrays) if self.guessing else None)
            if returns is None:
                continue
            tree.body.stats.append(_variant(node, returns))
            self.declared[node.name] = returns
        return tree

    def note_returns(self, tree: Any) -> Any:
        """A stage of Cython's pipeline, behind the analysis."""
        self.definitions = _definitions(tree)
        for name in self._numeric:
            node = self.definitions.get(name)
            if node is None or any(arg.type.is_fused for arg in node.args):
                continue
            if not all(is_number(arg.type) or arg.type.is_memoryviewslice for arg in node.args):
                continue
            types = _return_types(node)
            if not types and self.text.annotation(node.pos[1]):
                self.returned[name] = PyrexTypes.c_void_type
            if not types or None in types or not node.body.is_terminator:
                continue
            joined = functools.reduce(PyrexTypes.spanning_type, types)
            if is_number(joined):
                self.returned[name] = joined
        return tree


def _variant(node: Any, returns: Any) -> Any:
    """The ``cdef`` of a ``def``, which may raise.

    Not by ``as_cfunction``, which in Cython 3.1 and 3.2 wants to know all types of the parameters already.
    """
    node = copy.deepcopy(node)
    declarator = Nodes.CFuncDeclaratorNode(
        node.pos,
        base=Nodes.CNameDeclaratorNode(node.pos, name=EncodedString(PREFIX + node.name), cname=None),
        args=node.args,
        has_varargs=False,
        exception_check=True,
        exception_value=None,
        has_explicit_exc_clause=True,
        with_gil=False,
        nogil=False,
    )
    return Nodes.CFuncDefNode(
        node.pos,
        modifiers=[],
        base_type=Nodes.CAnalysedBaseTypeNode(node.pos, type=returns),
        declarator=declarator,
        body=node.body,
        doc=None,
        decorators=node.decorators,
        overridable=False,
        with_gil=False,
        nogil=False,
        visibility="private",
        api=False,
        directive_locals={},
        directive_returns=None,
    )


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
    annotation = str(getattr(getattr(arg.annotation, "string", None), "value", ""))
    return annotation.startswith("cython.") or annotation == "float"


def _is_directive(decorator: Any) -> bool:
    """``@cython.boundscheck(False)`` and its like, which change how a function is compiled and not what it is."""
    if isinstance(decorator, ExprNodes.SimpleCallNode):
        decorator = decorator.function
    own = isinstance(decorator, ExprNodes.AttributeNode) and getattr(decorator.obj, "name", "") == "cython"
    return own and decorator.attribute not in ("cfunc", "ccall", "ufunc", "returns", "locals", "exceptval")


def _walk(node: Any, closed: tuple[type, ...] = ()) -> Iterator[Any]:
    """A node and all below it, but not what is below nodes of the types ``closed``."""
    yield node
    if isinstance(node, closed):
        return
    for name in node.child_attrs or ():
        child = getattr(node, name)
        for each in child if isinstance(child, list) else [child] if child is not None else []:
            yield from _walk(each, closed)


def _return_types(function: Any) -> list[Any]:
    """Types of the values that a function returns; None among them stands for what is no C number."""
    types: list[Any] = []
    # What an inner function returns is its own.
    for node in _walk(function.body, (Nodes.FuncDefNode, ExprNodes.LambdaNode, ExprNodes.GeneratorExpressionNode)):
        if isinstance(node, ExprNodes.YieldExprNode):
            types.append(None)
        if not isinstance(node, Nodes.ReturnStatNode):
            continue
        value = node.value
        while isinstance(value, ExprNodes.CoerceToTempNode | ExprNodes.TypecastNode) and value.type.is_pyobject:
            value = getattr(value, "arg", None) or value.operand
        kind = value.arg.type if isinstance(value, ExprNodes.CoerceToPyTypeNode) else None
        if isinstance(value, ExprNodes.BoolNode):
            kind = PyrexTypes.c_bint_type
        elif isinstance(value, ExprNodes.IntNode):
            kind = PyrexTypes.c_long_type
        elif isinstance(value, ExprNodes.FloatNode):
            kind = PyrexTypes.c_double_type
        if kind is PyrexTypes.soft_complex_type:  # x ** 0.5: a double, or TypeError where it is complex
            kind = PyrexTypes.c_double_type
        types.append(kind if kind is not None and is_number(kind) else None)
    return types


def _definitions(tree: Any) -> dict[str, Any]:
    """The module's def functions by name, after the analysis."""
    closed = (Nodes.FuncDefNode, FusedCFuncDefNode, Nodes.ClassDefNode, ExprNodes.LambdaNode)
    definitions = {}
    for node in _walk(tree, closed):
        if isinstance(node, FusedCFuncDefNode):  # the function as written, not its dispatcher and specialisations
            if isinstance(node.node, Nodes.DefNode):
                definitions[node.node.name] = node.node
        elif isinstance(node, Nodes.DefNode) and not node.entry.scope.is_c_class_scope and not node.is_generator:
            definitions[node.name] = node
    return definitions


# ------------------------------------------------------------------------ a guess, before the analysis

_CONDITIONS = (ExprNodes.BoolNode, ExprNodes.PrimaryCmpNode, ExprNodes.NotNode)
_OBJECTS = (ExprNodes.SequenceNode, ExprNodes.DictNode, ExprNodes.UnicodeNode, ExprNodes.NoneNode)


def _guess(node: Any, *, void: bool) -> Any:
    """The type that a ``def`` may return: where it is no condition, the widest one of the parameters.

    With ``void``, one that returns nothing returns C's void.
    """
    values = [part.value for part in _walk(node.body) if isinstance(part, Nodes.ReturnStatNode) and part.value]
    if not values:
        return PyrexTypes.c_void_type if void else None
    if any(isinstance(value, _OBJECTS) for value in values):
        return None
    if all(isinstance(value, _CONDITIONS) for value in values):
        return PyrexTypes.c_bint_type
    bases = [getattr(arg.base_type, "base_type_node", arg.base_type) for arg in node.args]
    basic = [base for base in bases if isinstance(base, Nodes.CSimpleBaseTypeNode) and base.is_basic_c_type]
    types = [PyrexTypes.simple_c_type(base.signed, base.longness, base.name) for base in basic]
    numbers = [kind for kind in types if kind is not None and kind.is_numeric]
    return functools.reduce(PyrexTypes.widest_numeric_type, numbers) if numbers else None
