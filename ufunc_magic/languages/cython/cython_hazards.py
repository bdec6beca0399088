"""Whether a function of a Cython cell can fault or loop for ever, fill the stack, or neither.

Read from the tree that Cython writes C from.  What is not known to be harmless counts as a fault: pointers, views,
arrays, structures, C++, C functions of others, unchecked indices, attributes of what may be None, `nogil`, loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...ir import find_math_function
from ._private import ExprNodes, Nodes

#: "fault": the function may fault, or loop without a call of Python; "stack": it runs Python, which may call it again.
Hazard = Literal["", "stack", "fault"]

#: Expressions that run no code of Python's: they name, make, convert and hand on values.
_INERT = (
    "AttributeNode BoolNode BytesNode CloneNode CoerceToPyTypeNode CoerceToTempNode FloatNode IntNode NameNode "
    "NoneCheckNode NoneNode NullNode ProxyNode PyTypeTestNode ResultRefNode TupleNode UnicodeNode YieldExprNode"
).split()


@dataclass
class _Facts:
    """What a function itself does, and the functions of the cell that it calls, by their C names."""

    faults: bool = False
    runs_python: bool = False
    has_arrays: bool = False  # of C, on the stack
    calls: set[str] = field(default_factory=set)
    #: Loops of a generator that yield now and then.
    loops: list[Any] = field(default_factory=list)


class Hazards:
    """The hazards of the functions of a module's tree that a source ``desc`` defines: the others are Cython's own."""

    def __init__(self, tree: Any, desc: Any) -> None:
        self._desc = desc
        self._facts: dict[str, _Facts] = {}
        module = _Facts()
        for node, directives in _list_children(tree, tree.directives):
            self._read(node, module, directives)

    def find(self, node: Any) -> Hazard:
        """The hazard of a function, or of a generator's body."""
        name = _name(node)
        reached, waiting = set[str](), [name]
        while waiting:
            facts = self._facts.get(waiting.pop())
            # C functions that call each other in a circle fill the stack without a check.
            if facts is None or facts.faults or self._calls_itself(facts):
                return "fault"
            waiting += facts.calls - reached
            reached |= facts.calls
        python = any(self._facts[reached_name].runs_python for reached_name in {name, *reached})
        return "stack" if python else ""

    def overruns(self, node: Any) -> bool:
        """Whether a function, or one of the cell's that it calls, has an array on its stack."""
        reached, waiting = set[str](), {_name(node)}
        while waiting:
            reached |= waiting
            waiting = set().union(*(self._facts.get(name, _Facts()).calls for name in waiting)) - reached
        return any(self._facts[name].has_arrays for name in reached & self._facts.keys())

    def list_loops(self, node: Any) -> list[Any]:
        """The loops of a generator's body that yield, but perhaps not in each turn."""
        return self._facts[_name(node)].loops

    def _calls_itself(self, facts: _Facts) -> bool:
        reached, waiting = set[str](), [*facts.calls]
        while waiting:
            other = self._facts.get(waiting.pop(), _Facts())
            if other is facts:
                return True
            waiting += other.calls - reached
            reached |= other.calls
        return False

    def _read(self, node: Any, facts: _Facts, directives: Mapping[str, Any]) -> None:
        if node.pos is None or node.pos[0] is not self._desc:
            facts.faults = True
            return
        if isinstance(node, Nodes.FuncDefNode):
            facts = self._facts.setdefault(_name(node), _Facts())
            facts.faults |= bool(getattr(node, "nogil", False))
        elif isinstance(node, Nodes.LoopNode):
            if _yields(node):
                facts.loops.append(node)
            else:
                facts.faults = True
        elif isinstance(node, (Nodes.GILStatNode, Nodes.ParallelStatNode)):
            facts.faults = True
        elif isinstance(node, ExprNodes.ExprNode):
            self._read_expression(node, facts, directives)
        for child, inner in _list_children(node, directives):
            self._read(child, facts, inner)

    def _read_expression(self, node: Any, facts: _Facts, directives: Mapping[str, Any]) -> None:
        kind = type(node).__name__
        facts.faults |= not _is_plain(node.type) or kind == "RawCNameExprNode"
        facts.has_arrays |= bool(node.type is not None and node.type.is_array)
        if isinstance(node, ExprNodes.AttributeNode):
            facts.faults |= not (node.is_py_attr or _is_there(node.obj))
            facts.runs_python |= bool(node.is_py_attr)
        elif isinstance(node, ExprNodes.IndexNode):
            facts.faults |= not directives["boundscheck"]
        elif isinstance(node, ExprNodes.TypecastNode):
            facts.faults |= bool(node.type.is_pyobject) and not node.typecheck
        elif isinstance(node, (ExprNodes.DivNode, ExprNodes.ModNode)) and node.type.is_int:
            # The smallest int by -1 has no result, and Cython looks at long only.
            divisor = node.operand2.constant_result
            safe = isinstance(divisor, int) and divisor not in (0, -1)
            facts.faults |= not safe and bool(directives["cdivision"] or node.type.signed)
        elif isinstance(node, ExprNodes.SimpleCallNode) and not isinstance(node, ExprNodes.PythonCapiCallNode):
            self._read_call(node, facts)
        if kind not in _INERT:
            types = [node.type, *(getattr(child, "type", None) for child, _ in _list_children(node, directives))]
            facts.runs_python |= any(t is not None and t.is_pyobject for t in types)

    def _read_call(self, node: Any, facts: _Facts) -> None:
        function = node.function
        entry = getattr(function, "entry", None)
        of_builtin = function.is_attribute and function.obj.type is not None and function.obj.type.is_builtin_type
        if function.type.is_pyobject or of_builtin or entry is None:
            facts.runs_python = True
            facts.faults |= entry is None and not function.type.is_pyobject
        elif entry.is_cmethod and not entry.is_final_cmethod:
            facts.faults = True  # a subclass may have its own
        elif entry.scope is not None and entry.scope.is_builtin_scope:
            facts.runs_python = True
        elif not find_math_function(str(entry.cname)):
            facts.calls.add(entry.final_func_cname or entry.func_cname or entry.cname)


def _name(function: Any) -> str:
    """A name of the function's own; a generator's body has its entry's C name, too."""
    entry = function.entry
    inner = isinstance(function, Nodes.GeneratorBodyDefNode)
    return str(entry.pyfunc_cname if isinstance(function, Nodes.DefNode) and not inner else entry.func_cname)


def _list_children(node: Any, directives: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    if isinstance(node, Nodes.CompilerDirectivesNode):
        directives = node.directives
    for attribute in node.child_attrs or ():
        child = getattr(node, attribute, None)
        for each in child if isinstance(child, list) else (child,):
            if each is not None:
                yield each, directives


def _is_plain(kind: Any) -> bool:
    """Whether values of the type are numbers or objects; functions count as what they return."""
    if kind is None or kind.is_unspecified or kind.is_void:
        return True
    if kind.is_pyobject:
        return not kind.is_buffer
    return bool(kind.is_numeric or kind.is_cfunction)


def _is_there(obj: Any) -> bool:
    """Whether an object of an extension type is certainly not None."""
    if isinstance(obj, ExprNodes.NoneCheckNode) or obj.type.is_builtin_type or not obj.type.is_pyobject:
        return True
    entry = getattr(obj, "entry", None)
    return bool(isinstance(obj, ExprNodes.NameNode) and entry and entry.is_self_arg and len(entry.cf_assignments) < 2)


def _yields(node: Any) -> bool:
    """Whether a statement has a `yield` of its own function's."""
    return isinstance(node, ExprNodes.YieldExprNode) or (
        not isinstance(node, Nodes.FuncDefNode) and any(_yields(child) for child, _ in _list_children(node, {}))
    )
