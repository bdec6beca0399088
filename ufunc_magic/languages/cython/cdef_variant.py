"""Each ``def`` of numbers once more as a ``cdef``, so that its loop makes no Python objects.

The variants are at the end of the module, so that Cython has analysed the originals before them: the types of an
original's ``return`` statements are known then, and the variant returns their common type.  A variant that would return
no number is removed from the tree, and so is one whose body Cython rejects in a ``cdef``: no variant may cost a cell.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ._private import (
    AnalyseExpressionsTransform,
    EncodedString,
    Errors,
    ExprNodes,
    FusedCFuncDefNode,
    Nodes,
    PyrexTypes,
)
from .cython_function import CellText

#: Prefix of the name of a ``def`` function's ``cdef`` variant.
PREFIX = "__ufm_def_"


def strip_qualifiers(kind: Any) -> Any:
    """A type without ``const`` and ``&``: a result must outlive its function."""
    while kind.is_reference or getattr(kind, "is_cv_qualified", False):
        kind = kind.ref_base_type if kind.is_reference else kind.cv_base_type
    return kind


def find_plain_name(entry: Any) -> str:
    """The cell's name of a function.  Cython calls specialisations mean[double], or __pyx_fuse_1mean (3.1, 3.2)."""
    return re.sub(r"^__pyx_fuse_(?:\d+_)*\d+|\[.*", "", str(entry.name))


def is_number(kind: Any) -> bool:
    kind = strip_qualifiers(kind)
    return bool(kind.is_numeric) and not getattr(kind, "is_unicode_char", False) and not kind.is_pyobject


@dataclass(eq=False)
class Variants:
    """The variants of one run of Cython.

    Attributes
    ----------
    text : CellText
    without : frozenset of str
        Functions that are to have none.
    docs : dict
        Docstrings of all functions.
    lines : list of (int, str)
        Where each function of the cell begins.
    plain : bool
        Its module level has functions, declarations, imports and constants, and nothing else.
    tried : set of str
        Functions that a variant was written of.
    declared : set of str
        The ``cpdef`` functions among them, which declare their result.
    """

    text: CellText
    without: frozenset[str] = frozenset()
    docs: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)
    plain: bool = True
    tried: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)

    def add(self, tree: Any) -> Any:
        """Add the variants to the tree: a stage of Cython's pipeline, after the parser."""
        if not isinstance(tree.body, Nodes.StatListNode):  # a module of one statement
            tree.body = Nodes.StatListNode(tree.body.pos, stats=[tree.body])
        last = {}
        for node in tree.body.stats:
            self.plain = self.plain and _is_plain(node)
            if isinstance(node, Nodes.FuncDefNode):
                name = str(node.name if isinstance(node, Nodes.DefNode) else node.declarator.declared_name())
                self.lines.append((node.pos[1], name))
                if node.doc:
                    self.docs[name] = str(node.doc)
            if isinstance(node, Nodes.DefNode):
                last[str(node.name)] = node
            elif isinstance(node, Nodes.CFuncDefNode) and _has_defaults(node):
                last[str(node.declarator.declared_name())] = node
        for name, node in last.items():
            arrays = bool(self.text.read_annotation(node.pos[1]))
            if name in self.without:
                continue
            if isinstance(node, Nodes.CFuncDefNode):
                tree.body.stats.append(_write_cpdef_variant(node, name))
                self.declared.add(name)
            elif _find_ccall(node) and any(arg.default for arg in node.args):
                tree.body.stats.append(_write_ccall_variant(node))
                self.declared.add(name)
            elif _is_numeric_def(node, arrays=arrays):
                tree.body.stats.append(_write_variant(node))
            else:
                continue
            self.tried.add(name)
        return tree

    def find_result_type(self, node: Any) -> Any:
        """The C number type that an analysed ``def`` returns; void, or None."""
        if not all(is_number(arg.type) or arg.type.is_memoryviewslice for arg in node.args):
            return None
        types = _find_return_types(node)
        if not types:
            return PyrexTypes.c_void_type if self.text.read_annotation(node.pos[1]) else None
        if None in types or not node.body.is_terminator:
            return None
        joined = functools.reduce(PyrexTypes.spanning_type, types)
        return strip_qualifiers(joined) if is_number(joined) else None


class Analysis(AnalyseExpressionsTransform):  # type: ignore[misc, unused-ignore]
    """Cython's analysis; when it comes to a variant, it gives it a type or takes it out."""

    def __init__(self, context: Any, variants: Variants) -> None:
        super().__init__(context)
        self._variants = variants
        self._originals: dict[tuple[str, tuple[str, ...]], Any] = {}

    def visit_FuncDefNode(self, node: Any) -> Any:
        name = find_plain_name(node.entry)
        if not (isinstance(node, Nodes.CFuncDefNode) and name.startswith(PREFIX)):
            node = super().visit_FuncDefNode(node)
            if isinstance(node, Nodes.DefNode):
                self._originals[name, _find_chosen_types(node)] = node
            return node
        original = self._originals.get((name.removeprefix(PREFIX), _find_chosen_types(node)))
        declared = name.removeprefix(PREFIX) in self._variants.declared
        returns = self._variants.find_result_type(original) if original is not None and not declared else None
        if returns is None and not declared:
            return _forget(node)
        # Tracebacks and warnings about exceptions that noexcept drops use the cell's name of the function.
        node.entry.qualified_name = EncodedString(node.entry.qualified_name.replace(PREFIX, ""))
        with Errors.local_errors(ignore=True) as errors:
            if not declared:
                _change_result_type(node, returns)
                _keep_powers(node)
            node = super().visit_FuncDefNode(node)
        return _forget(node) if errors else node


def _find_chosen_types(node: Any) -> tuple[str, ...]:
    """The types chosen for the fused ones in one specialisation of a function."""
    return tuple(map(str, (getattr(node.local_scope, "fused_to_specific", None) or {}).values()))


def _keep_powers(node: Any) -> None:
    """Have ``return a**b`` be an error where the ``def`` returns a complex number, and not NaN as in a ``cdef``."""
    for part in walk(node.body):
        power = part.value if isinstance(part, Nodes.ReturnStatNode) else None
        if isinstance(power, ExprNodes.PowNode) and node.local_scope.directives.get("cpow") is None:
            power.is_cpow = False


def _change_result_type(node: Any, returns: Any) -> None:
    """Have a variant return another type, with the error value that Cython gives functions of that type."""
    _, function = _write_declarator(node.pos, "", []).analyse(returns, node.entry.scope)
    node.return_type = node.local_scope.return_type = returns
    for kind in (node.type, node.entry.type):
        kind.return_type, kind.exception_value = returns, function.exception_value


def _forget(*nodes: Any) -> None:
    """Take functions out of the module's scope; None takes them out of the tree."""
    for node in nodes:
        scope, entry = node.entry.scope, node.entry
        scope.cfunc_entries[:] = [e for e in scope.cfunc_entries if e is not entry]
        for name in [name for name, other in scope.entries.items() if other is entry]:
            del scope.entries[name]


def _write_variant(node: Any) -> Any:
    """The ``cdef`` of a ``def``, which may raise; it returns double until the type of the ``def``'s result is known.

    Not by ``as_cfunction``, which in Cython 3.1 and 3.2 wants to know all types of the parameters already.
    """
    node = copy.deepcopy(node)
    _drop_defaults(node.args)
    for arg in node.args:
        arg.kw_only = 0
    return Nodes.CFuncDefNode(
        node.pos,
        modifiers=[],
        base_type=Nodes.CAnalysedBaseTypeNode(node.pos, type=PyrexTypes.c_double_type),
        declarator=_write_declarator(node.pos, PREFIX + node.name, node.args),
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


def _is_plain(node: Any) -> bool:
    """Whether a statement of the module level neither loops nor makes a class or a function without a name."""
    if isinstance(node, Nodes.StatListNode):
        return all(map(_is_plain, node.stats))
    if isinstance(node, Nodes.SingleAssignmentNode):
        return isinstance(node.rhs, ExprNodes.ImportNode | ExprNodes.ConstNode)
    return isinstance(
        node,
        Nodes.FuncDefNode | Nodes.CImportStatNode | Nodes.FromCImportStatNode | Nodes.FromImportStatNode
        | Nodes.CVarDefNode | Nodes.CTypeDefNode | Nodes.CDefExternNode | Nodes.FusedTypeNode | Nodes.PassStatNode,
    )  # fmt: skip


def _has_defaults(node: Any) -> bool:
    """A ``cpdef`` whose C function is called otherwise, since arguments may be left out."""
    function = node.declarator
    plain = isinstance(function, Nodes.CFuncDeclaratorNode) and isinstance(function.base, Nodes.CNameDeclaratorNode)
    return bool(node.overridable and plain and any(arg.default for arg in function.args))


def _write_cpdef_variant(node: Any, name: str) -> Any:
    """The ``cdef`` of a ``cpdef`` with default values, without those."""
    node = copy.deepcopy(node)
    node.declarator.base = Nodes.CNameDeclaratorNode(node.pos, name=EncodedString(PREFIX + name), cname=None)
    _drop_defaults(node.declarator.args)
    node.overridable, node.visibility, node.api, node.doc = False, "private", False, None
    return node


def _find_ccall(node: Any) -> Any:
    """The ``@cython.ccall`` of a function, which makes it a ``cpdef``."""
    marks = (decorator.decorator for decorator in node.decorators or ())
    return next((mark for mark in marks if getattr(mark, "attribute", "") == "ccall" and _is_of_cython(mark)), None)


def _write_ccall_variant(node: Any) -> Any:
    """The same of a function with ``@cython.ccall``: Cython turns it into a ``cdef`` itself."""
    node = copy.deepcopy(node)
    node.name, node.doc = EncodedString(PREFIX + node.name), None
    _find_ccall(node).attribute = EncodedString("cfunc")
    _drop_defaults(node.args)
    return node


def _drop_defaults(args: list[Any]) -> None:
    for arg in args:
        arg.default = None


def _write_declarator(pos: Any, name: str, args: list[Any]) -> Any:
    """The declarator of a function that may raise."""
    return Nodes.CFuncDeclaratorNode(
        pos,
        base=Nodes.CNameDeclaratorNode(pos, name=EncodedString(name), cname=None),
        args=args,
        has_varargs=False,
        exception_check=True,
        exception_value=None,
        has_explicit_exc_clause=True,
        with_gil=False,
        nogil=False,
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
        not (arg.default and arrays)  # a ufunc takes all
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
    """``@cython.boundscheck(False)`` and its like, which change the compilation of a function only."""
    if isinstance(decorator, ExprNodes.SimpleCallNode):
        decorator = decorator.function
    other = ("cfunc", "ccall", "ufunc", "returns", "locals", "exceptval")
    return _is_of_cython(decorator) and decorator.attribute not in other


def _is_of_cython(node: Any) -> bool:
    return isinstance(node, ExprNodes.AttributeNode) and getattr(node.obj, "name", "") == "cython"


def walk(node: Any, closed: tuple[type, ...] = ()) -> Iterator[Any]:
    """Yield a node and all nodes below it, without descending into nodes of the types ``closed``."""
    yield node
    if isinstance(node, closed):
        return
    for name in node.child_attrs or ():
        child = getattr(node, name)
        for each in child if isinstance(child, list) else [child] if child is not None else []:
            yield from walk(each, closed)


def _find_return_types(function: Any) -> list[Any]:
    """Types of the values that a function returns; None for a type that is no C number."""
    types: list[Any] = []
    # Results of inner functions do not count.
    for node in walk(function.body, (Nodes.FuncDefNode, ExprNodes.LambdaNode, ExprNodes.GeneratorExpressionNode)):
        if isinstance(node, ExprNodes.YieldExprNode):
            types.append(None)
        if isinstance(node, Nodes.ReturnStatNode):
            types += _find_value_types(node.value)
    return types


def _find_value_types(value: Any) -> list[Any]:
    """The types of a value; several where it depends on a condition, or is one of those of ``and`` or ``or``."""
    while isinstance(value, ExprNodes.CoerceToTempNode | ExprNodes.TypecastNode) and value.type.is_pyobject:
        value = getattr(value, "arg", None) or value.operand
    if isinstance(value, ExprNodes.CondExprNode) and value.type.is_pyobject:
        return [*_find_value_types(value.true_val), *_find_value_types(value.false_val)]
    if isinstance(value, ExprNodes.BoolBinopNode):
        return [*_find_value_types(value.operand1), *_find_value_types(value.operand2)]
    if isinstance(value, ExprNodes.BoolBinopResultNode):
        return _find_value_types(value.value)
    kind = value.arg.type if isinstance(value, ExprNodes.CoerceToPyTypeNode) else None
    if kind is not None:
        kind = strip_qualifiers(kind)
    if isinstance(value, ExprNodes.BoolNode):
        kind = PyrexTypes.c_bint_type
    elif isinstance(value, ExprNodes.IntNode):
        kind = PyrexTypes.c_long_type
    elif isinstance(value, ExprNodes.FloatNode):
        kind = PyrexTypes.c_double_type
    if kind is PyrexTypes.soft_complex_type:  # x ** 0.5: a double, or TypeError where it is complex
        kind = PyrexTypes.c_double_type
    return [kind if kind is not None and is_number(kind) else None]


def find_defs(tree: Any) -> dict[str, Any]:
    """The module's def functions by name, after the analysis."""
    closed = (Nodes.FuncDefNode, FusedCFuncDefNode, Nodes.ClassDefNode, ExprNodes.LambdaNode)
    definitions = {}
    for node in walk(tree, closed):
        if isinstance(node, FusedCFuncDefNode):  # the function as written, not its dispatcher and specialisations
            if isinstance(node.node, Nodes.DefNode):
                definitions[node.node.name] = node.node
        elif isinstance(node, Nodes.DefNode) and not node.entry.scope.is_c_class_scope and not node.is_generator:
            definitions[node.name] = node
    return definitions
