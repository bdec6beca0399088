"""Each ``def`` of numbers once more as a ``cdef``, so that its loop makes no Python objects.

The variant stands in the tree before the analysis, with a return type that is a guess; after it, what Cython found the
``return`` statements of the original to have is noted, for the guess to be compared with.  A right guess saves a second
run of Cython; a wrong one costs no more than that run.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
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
    declared, returned : dict
        Function -> the type that its variant was declared to return, or that its original was found to.
    definitions : dict
        def functions by name, after the analysis.
    docs : dict
        Docstrings of all functions.
    """

    text: CellText
    known: Mapping[str, Any]
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
            returns = self.known.get(node.name) or _guess(node, tree, void=arrays)
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

_LONG, _DOUBLE, _BINT = PyrexTypes.c_long_type, PyrexTypes.c_double_type, PyrexTypes.c_bint_type
#: What libc.math has returns double, but for the names that end as float's and long double's do.
_MATH = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p pow sqrt "
    "cbrt hypot floor ceil round trunc fabs fmod fmin fmax erf erfc tgamma lgamma copysign".split()
)


def _guess(node: Any, tree: Any, *, void: bool) -> Any:
    """The type that the ``def`` of ``node`` returns, as a Cython type, or None where the text does not say it.

    With ``void``, one that returns nothing returns C's void.
    """
    functions = _c_functions(tree)
    names = {a.declarator.declared_name(): _declared(a.base_type) for a in node.args}
    assigned: dict[str, list[Any]] = {}
    returned: list[Any] = []
    for part in _walk(node.body):
        match part:
            case Nodes.CVarDefNode():
                declarators = [d for d in part.declarators if isinstance(d, Nodes.CNameDeclaratorNode)]
                names.update((d.name, _declared(part.base_type)) for d in declarators)
            case Nodes.SingleAssignmentNode(lhs=ExprNodes.NameNode()):
                assigned.setdefault(part.lhs.name, []).append(part.rhs)
            case Nodes.InPlaceAssignmentNode(lhs=ExprNodes.NameNode()):
                assigned.setdefault(part.lhs.name, []).append(part)
            case Nodes.ForInStatNode(target=ExprNodes.NameNode()):
                names.setdefault(part.target.name, _LONG)
            case Nodes.ReturnStatNode():
                returned.append(part.value)
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
        if name in pending or name not in assigned:
            return None
        pending.add(name)
        # What comes back to the name itself says nothing new.
        types = [t for t in map(of, assigned[name]) if t is not None]
        pending.discard(name)
        return _joined(types)

    if void and not any(returned):
        return PyrexTypes.c_void_type
    return _joined([of(value) for value in returned if value is not None] or [None])


def _declared(base: Any) -> Any:
    if not isinstance(base, Nodes.CSimpleBaseTypeNode) or not base.is_basic_c_type:
        return None
    kind = PyrexTypes.simple_c_type(base.signed, base.longness, base.name)
    return kind if kind is not None and kind.is_numeric else None


def _c_functions(tree: Any) -> Callable[[str], Any]:
    """What a function of the cell, or of libc.math, returns."""
    own = {
        node.declarator.declared_name(): _declared(node.base_type)
        for node in tree.body.stats
        if isinstance(node, Nodes.CFuncDefNode)
    }
    return lambda name: own.get(name, _DOUBLE if name in _MATH else None)


def _joined(kinds: list[Any]) -> Any:
    return functools.reduce(_join, kinds) if kinds else None


def _join(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if a is b:
        return a
    # Arithmetic of two small integers is C's int, or what is wider.
    joined = PyrexTypes.widest_numeric_type(a, b)
    return joined if joined.is_numeric else None
