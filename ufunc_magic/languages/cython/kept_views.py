"""Functions that keep a memoryview beyond their call, which those over a loop's memory must not be.

Read from Cython's tree, after its analysis.  What is not known to let a memoryview go (a function pointer, a function
of another module) counts as keeping it; methods are told apart by their names alone, as subclasses may override them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._private import ExprNodes, Nodes
from .cdef_variant import PREFIX, plain_name, walk

#: Builtins that use up a generator on the spot.
_USE_UP = frozenset("sum any all min max sorted list tuple set dict frozenset".split())


def keepers(tree: Any) -> frozenset[str]:
    """Names of the functions of an analysed module that keep a memoryview, or hand one on to those that do."""
    calls: dict[str, set[str]] = {}
    for node in walk(tree):
        if isinstance(node, Nodes.FuncDefNode):
            calls.setdefault(plain_name(node.entry).removeprefix(PREFIX), set()).update(_receivers(node))
    keeping = {""}
    while more := {n for n, receivers in calls.items() if receivers & keeping or receivers - calls.keys()} - keeping:
        keeping |= more
    return frozenset(keeping)


def _receivers(function: Any) -> Iterator[str]:
    """Names of what a function hands memoryviews to, "" for what outlives the call."""
    if any(_lives_on(node, function) for node in walk(function.body)):
        captured = function.local_scope.arg_entries
        yield from ("" for entry in captured if entry.type.is_memoryviewslice and entry.in_closure)
    for node in walk(function.body):
        if isinstance(node, Nodes.SingleAssignmentNode | Nodes.CascadedAssignmentNode):
            targets = node.lhs_list if isinstance(node, Nodes.CascadedAssignmentNode) else [node.lhs]
            yield from ("" for target in targets if target.type.is_memoryviewslice and _outlives(target))
        elif isinstance(node, ExprNodes.SimpleCallNode):
            entry = getattr(node.function, "entry", None)
            if any(arg.type.is_memoryviewslice for arg in node.args or ()):
                yield plain_name(entry) if entry is not None and entry.is_cfunction else ""


def _lives_on(node: Any, function: Any) -> bool:
    """Whether a node is a function inside of another one that may outlive it."""
    if isinstance(node, ExprNodes.GeneratorExpressionNode):
        calls = (call for call in walk(function.body) if isinstance(call, ExprNodes.SimpleCallNode))
        used_up = (call for call in calls if getattr(call.function, "name", "") in _USE_UP)
        return not any(node is inner for call in used_up for inner in walk(call))
    inside = isinstance(node, Nodes.DefNode | ExprNodes.LambdaNode)
    return inside and str(getattr(node, "name", "")) != "genexpr"  # the generator's own


def _outlives(target: Any) -> bool:
    if isinstance(target, ExprNodes.NameNode):
        entry = target.entry
        return bool(entry.in_closure or entry.from_closure or entry.scope.is_module_scope)
    return isinstance(target, ExprNodes.AttributeNode)
