"""The local names of a Cython function and their types, declared or inferred by Cython's own rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..c_arithmetic import CType, usual
from ..value import Stop, Variable
from .cython_calls import Calls
from .cython_cell import Cell, Routine
from .cython_names import Unknown
from .cython_tree import assigned_names, dotted, kind, walk
from .cython_types import INDEX, OBJECT, declared_name

__all__ = ["Locals"]


class Locals(Calls):
    """The text of one function, or of the module level (``routine`` None), and the names in it."""

    def __init__(self, cell: Cell, routine: Routine | None, *, checked: bool) -> None:
        directives = {**cell.directives, **(routine.directives if routine else {})}
        super().__init__(cell, checked=checked, directives=directives)
        self.infer_types = directives.get("infer_types") is True
        self.routine = routine
        self.lines: list[str] = []
        self.depth = 0
        self.results: tuple[str, ...] = ()
        self.returns: tuple[CType, ...] | CType | None = None

    def put(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # -- names of the function --------------------------------------------------------------------

    def declare(self, name: str, t: CType) -> None:
        self.variables[name] = Variable(name, t)

    def gather(self, body: Any) -> None:
        """The local names: what is declared anywhere in the body, and the types of what is only assigned."""
        types, globals_ = self.own.types, set()
        for node in walk(body):
            match kind(node):
                case "CVarDefNode":
                    for declarator in node.declarators:
                        self.declare(declared_name(declarator), types.declared(node.base_type, declarator))
                case "NameNode" if getattr(node, "annotation", None) is not None:
                    self.declare(node.name, types.annotated(node.annotation))
                case "FromImportStatNode":
                    for _, target in node.items:
                        self.declare(str(target.name), OBJECT)
                case "DefNode":
                    self.declare(str(node.name), OBJECT)
                case "GlobalNode" | "NonlocalNode":
                    globals_.update(node.names)
                case "SingleAssignmentNode" if self._is_declare(node.rhs) and kind(node.lhs) == "NameNode":
                    self.declare(node.lhs.name, types.annotated(node.rhs.args[0]))
                case "GeneralCallNode" if self._is_declare(node):
                    for pair in node.keyword_args.key_value_pairs:
                        self.declare(str(pair.key.value), types.annotated(pair.value))
        if self.routine is not None:
            for name, note in self.routine.locals.items():
                self.declare(name, types.annotated(note))
        found = [(n, s) for n, s in assigned_names(body) if n not in self.variables and n not in globals_]
        self.untyped = {name: None for name, _ in found}
        self._infer(found)

    def _is_declare(self, node: Any) -> bool:
        call = dotted(node.function) if kind(node) in ("SimpleCallNode", "GeneralCallNode") else ""
        root = self.own.types.cimports.get(call.partition(".")[0], "")
        return root.startswith("cython") and (call.endswith(".declare") or root == "cython.declare")

    def _infer(self, found: Sequence[tuple[str, Any]]) -> None:
        """Cython's own rule: C floats stay floats, C integers that may overflow become Python's."""
        asked = set(self.own.helpers), dict(self.own.routines), set(self.own.wanted), dict(self.own.imported)
        for _ in range(4):
            seen: dict[str, list[CType]] = {}
            for name, node in found:
                try:
                    seen.setdefault(name, []).append(self._assigned_type(name, node))
                except (Unknown, Stop):
                    continue
            new: dict[str, CType | None] = {name: self._joined(seen.get(name, [])) for name in self.untyped}
            if new == self.untyped:
                break
            self.untyped = new
        self.untyped = {name: t or OBJECT for name, t in self.untyped.items()}
        self.own.helpers, self.own.routines, self.own.wanted, self.own.imported = asked

    def _assigned_type(self, name: str, node: Any) -> CType:
        match kind(node):
            case "SingleAssignmentNode" | "AssignmentExpressionNode" if kind(node.lhs) == "NameNode":
                return self.value(node.rhs).type
            case "SingleAssignmentNode" if kind(node.rhs) == "TupleNode" and kind(node.lhs) == "TupleNode":
                pairs = zip(node.lhs.args, node.rhs.args, strict=False)
                return next((self.value(v).type for t, v in pairs if dotted(t) == name), OBJECT)
            case "CascadedAssignmentNode":
                return self.value(node.rhs).type
            case "InPlaceAssignmentNode":
                left, right = self.value(node.lhs), self.value(node.rhs)
                return self.operate(str(node.operator), left, right, node).type
            case "ForInStatNode" if kind(node.target) == "NameNode":
                return self._item_type(node.iterator.sequence)
            case "ForFromStatNode":
                return INDEX
        return OBJECT

    def _item_type(self, sequence: Any) -> CType:
        if kind(sequence) in ("SimpleCallNode", "GeneralCallNode"):
            return INDEX if self.is_range(sequence) else OBJECT
        t = self.value(sequence).type
        return t.of if t.kind in "aV" and t.of is not None else OBJECT

    def _joined(self, types: Sequence[CType]) -> CType | None:
        if not types:
            return None
        t = types[0]
        for other in types[1:]:
            t = other if t == other else usual(t, other) if t.arithmetic and other.arithmetic else OBJECT
        if t.kind in "iu" and not self.infer_types:
            return OBJECT
        return t

    def is_range(self, node: Any) -> bool:
        if kind(node) not in ("SimpleCallNode", "GeneralCallNode"):
            return False
        name = dotted(node.function)
        root = self.own.types.cimports.get(name.partition(".")[0], "")
        return name == "range" or (root.startswith("cython") and (name.endswith("prange") or root.endswith("prange")))
