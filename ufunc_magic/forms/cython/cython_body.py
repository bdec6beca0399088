"""A Cython function's statements as Python's: its declarations left out, loops over ranges, ``with nogil`` undone."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ir import CType
from ..value import Expr, Lines, Stop, Variable, assign, branches, call, python, result, zero
from .cython_calls import Calls
from .cython_cell import CythonCell, CythonRoutine
from .cython_tree import assigned_names, dotted, kind, statements, stop, walk
from .cython_types import INDEX, OBJECT, declared_name, name_node
from .cython_values import Unknown


class CythonBody(Calls):
    """The statements of one function, or of the module level (``routine`` None), and the names in it.

    ``results`` are the outputs that every ``return`` gives back, ``returns`` the types of what the cell returns.
    """

    def __init__(
        self, cell: CythonCell, routine: CythonRoutine | None, *, checked: bool = False, wraps: bool = False
    ) -> None:
        marks = routine.marks.items() if routine else ()
        directives = {**cell.directives, **{name: value for name, value in marks if isinstance(value, bool)}}
        super().__init__(cell, checked=checked, wraps=wraps, directives=directives)
        self.infer_types = directives.get("infer_types") is True
        self.routine = routine
        self.lines: Lines = []
        self.results: tuple[ast.expr, ...] = ()
        self.returns: tuple[CType, ...] | CType | None = None

    # -- names of the function --------------------------------------------------------------------

    def declare(self, name: str, t: CType) -> None:
        self.variables[name] = Variable(name, t)

    def gather(self, body: Any) -> None:
        """The local names: what is declared anywhere in the body, and the types of what is only assigned."""
        types, globals_ = self.cell.types, set()
        for node in walk(body):
            match kind(node):
                case "CVarDefNode":
                    for declarator in node.declarators:
                        self.declare(declared_name(declarator), types.declared(node.base_type, declarator))
                case "NameNode" if getattr(node, "annotation", None) is not None:
                    self.declare(node.name, types.annotated(node.annotation))
                case "GlobalNode" | "NonlocalNode":
                    globals_.update(node.names)
                case "SingleAssignmentNode" if self._is_declare(node.rhs) and kind(node.lhs) == "NameNode":
                    self.declare(node.lhs.name, types.annotated(node.rhs.args[0]))
        if self.routine is not None:
            for name, note in self.routine.locals.items():
                self.declare(name, types.annotated(note))
        pairs = [(n, s) for n, s in assigned_names(body) if n not in self.variables and n not in globals_]
        self.untyped = {name: None for name, _ in pairs}
        self._infer(pairs)

    def _is_declare(self, node: Any) -> bool:
        name = dotted(node.function) if kind(node) == "SimpleCallNode" else ""
        root = self.cell.types.cimports.get(name.partition(".")[0], "")
        return root.startswith("cython") and (name.endswith(".declare") or root == "cython.declare")

    def _infer(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Cython's own rule: C floats stay floats, C integers that may overflow become Python's."""
        cell, self.cell = self.cell, self.cell.trial()
        for _ in range(4):
            assigned: dict[str, list[CType]] = {}
            for name, node in pairs:
                try:
                    assigned.setdefault(name, []).append(self._assigned_type(name, node))
                except (Unknown, Stop):
                    continue
            types: dict[str, CType | None] = {name: self._joined(assigned.get(name, [])) for name in self.untyped}
            if types == self.untyped:
                break
            self.untyped = types
        self.untyped = {name: t or OBJECT for name, t in self.untyped.items()}
        self.cell = cell

    def _assigned_type(self, name: str, node: Any) -> CType:
        match kind(node):
            case "SingleAssignmentNode" if kind(node.lhs) == "NameNode":
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
        return OBJECT

    def _item_type(self, sequence: Any) -> CType:
        if kind(sequence) in ("SimpleCallNode", "GeneralCallNode"):
            return INDEX if self._is_range(sequence) else OBJECT
        t = self.value(sequence).type
        return t.of if t.kind == "a" and t.of is not None else OBJECT

    def _joined(self, types: Sequence[CType]) -> CType | None:
        if not types:
            return None
        t = functools.reduce(lambda a, b: self.common(a, b, None), types)
        return OBJECT if t.kind in "iu" and not self.infer_types else t

    def _is_range(self, node: Any) -> bool:
        if kind(node) not in ("SimpleCallNode", "GeneralCallNode"):
            return False
        name = dotted(node.function)
        root = self.cell.types.cimports.get(name.partition(".")[0], "")
        return name == "range" or (root.startswith("cython") and (name.endswith("prange") or root.endswith("prange")))

    # -- statements -------------------------------------------------------------------------------

    def put(self, line: ast.stmt) -> None:
        self.lines.append(line)

    def suite(self, node: Any) -> Lines:
        """The statements of a block, which another one holds."""
        around, self.lines = self.lines, []
        self.statements(node)
        written, self.lines = self.lines, around
        return written or [ast.Pass()]

    def _otherwise(self, node: Any) -> Lines:
        return self.suite(node.else_clause) if node.else_clause is not None else []

    def statements(self, node: Any) -> None:
        for inner in statements(node):
            self.statement(inner)

    def statement(self, node: Any) -> None:
        self._method_for(node)(node)

    def _PassStatNode(self, node: Any) -> None:
        pass

    _CImportStatNode = _FromCImportStatNode = _CTypeDefNode = _FusedTypeNode = _CStructOrUnionDefNode = _PassStatNode

    def _BreakStatNode(self, node: Any) -> None:
        self.put(ast.Break())

    def _ContinueStatNode(self, node: Any) -> None:
        self.put(ast.Continue())

    def _GlobalNode(self, node: Any) -> None:
        self.put(ast.Global([str(name) for name in node.names]))

    def _CVarDefNode(self, node: Any) -> None:
        for declarator in node.declarators:
            base, t = name_node(declarator), self.cell.types.declared(node.base_type, declarator)
            name = str(base.name)
            if self.routine is not None:
                self.declare(name, t)
            if t.kind == "p":
                raise stop(f"uses the pointer `{name}`", node)
            if base.default is not None:
                self.put(assign(name, self.stored(base.default, t)))
            elif t.kind == "a" and t.length is not None:
                self.put(assign(name, zero(t)))
            elif self.routine is None:
                self.put(assign(name, zero(t) if t.arithmetic else ast.Constant(None)))

    def stored(self, node: Any, t: CType) -> Expr:
        """A value as it is put into a variable of type ``t``."""
        if t.kind == "a" and t.length is not None and kind(node) in ("ListNode", "TupleNode"):
            return Expr(ast.List([self.stored(item, t.of or OBJECT).node for item in node.args]), t)
        if t.kind == "t" and kind(node) == "TupleNode" and len(node.args) == len(t.fields):
            parts = [self.stored(v, of).node for v, (_, of) in zip(node.args, t.fields, strict=True)]
            return Expr(ast.Tuple(parts), t)
        return self.convert(self.value_for(node, t), t, node=node, final=True)

    def _SingleAssignmentNode(self, node: Any) -> None:
        target, value = node.lhs, node.rhs
        if self._is_declare(value):
            if len(value.args) < 2:
                return
            value = value.args[1]
        if kind(target) in ("TupleNode", "ListNode"):
            self._unpack(target, value)
        elif not (kind(target) in ("SliceIndexNode", "IndexNode") and self._fills(target, value)):
            place = self.place(target)
            self.put(assign(place, self.stored(value, place.type)))

    def _unpack(self, target: Any, value: Any) -> None:
        places = [self.place(inner) for inner in target.args]
        if kind(value) in ("TupleNode", "ListNode") and len(value.args) == len(places):
            right = ast.Tuple([self.stored(v, p.type).node for v, p in zip(value.args, places, strict=True)])
            self.put(assign(ast.Tuple([p.node for p in places]), right))
        else:
            self.put(assign(ast.Tuple([p.node for p in places]), self.settled(value)))

    def _fills(self, target: Any, value: Any) -> bool:
        """``a[:] = x``: one number into every element of a list."""
        base = self.settled(target.base)
        index = getattr(target, "index", None)
        whole = kind(target) == "SliceIndexNode" or kind(index) == "SliceNode" or kind(index) == "EllipsisNode"
        if not whole or not self.in_lists(base.type):
            return False
        e = self.settled(value)
        if base.type.of is None or not base.type.of.arithmetic:
            raise stop(f"fills a part of an array: `{self.brief(target)}`", target)
        part = python("{}[:]", base) if kind(index) == "EllipsisNode" else self.settled(target).node
        if e.type.arithmetic:
            self.put(assign(part, python("[{}] * len({})", self.convert(e, base.type.of), part)))
        else:
            self.put(assign(part, e))
        return True

    def _CascadedAssignmentNode(self, node: Any) -> None:
        for place in map(self.place, node.lhs_list):
            self.put(assign(place, self.stored(node.rhs, place.type)))

    def _InPlaceAssignmentNode(self, node: Any) -> None:
        place, value = self.place(node.lhs), self.value(node.rhs)
        self.put(self.store(place, self.operate(str(node.operator), place, value, node), node, final=True))

    def _ExprStatNode(self, node: Any) -> None:
        inner = node.expr
        nothing = ("UnicodeNode", "StringNode", "BytesNode", "NameNode", "EllipsisNode", "NoneNode")
        if kind(inner) in nothing or self._is_declare(inner):
            return
        value = self.value(inner).node
        if not (isinstance(value, ast.Constant) and value.value is None):
            self.put(ast.Expr(value))

    def _ReturnStatNode(self, node: Any) -> None:
        self.put(result([*(self._returned(node.value) if node.value is not None else []), *self.results]))

    def _returned(self, node: Any) -> list[ast.expr]:
        t = self.returns
        if isinstance(t, tuple) and len(t) > 1 and kind(node) == "TupleNode":
            return [self.stored(v, of).node for v, of in zip(node.args, t, strict=False)]
        if isinstance(t, tuple):
            t = t[0] if len(t) == 1 else OBJECT
        e = self.settled(node) if t is None or t.kind == "v" else self.stored(node, t)
        nothing = isinstance(e.node, ast.Constant) and e.node.value is None
        return [] if nothing and self.results else [e.node]

    def _RaiseStatNode(self, node: Any) -> None:
        if node.exc_type is None:
            self.put(ast.Raise())
            return
        e = self.settled(node.exc_type).node
        self.put(ast.Raise(e if node.exc_value is None else call(e, self.settled(node.exc_value))))

    def _AssertStatNode(self, node: Any) -> None:
        message = self.settled(node.value).node if node.value is not None else None
        self.put(ast.Assert(self.settled(node.condition).node, message))

    # -- control flow -----------------------------------------------------------------------------

    def _IfStatNode(self, node: Any) -> None:
        cases = [(self.settled(clause.condition).node, self.suite(clause.body)) for clause in node.if_clauses]
        self.lines += branches(cases, self._otherwise(node))

    def _WhileStatNode(self, node: Any) -> None:
        test = self.settled(node.condition).node
        self.put(ast.While(test, self.suite(node.body), self._otherwise(node)))

    def _ForInStatNode(self, node: Any) -> None:
        sequence = node.iterator.sequence
        if self._is_range(sequence):
            general = kind(sequence) == "GeneralCallNode"
            args = sequence.positional_args.args if general else sequence.args
            self._counted(node, [self.value(a) for a in args])
            return
        e = self.settled(sequence)
        if e.type.kind == "p":
            raise stop(f"goes through the pointer `{e.text}`", node)
        target = self.place(node.target).node
        self.put(ast.For(target, e.node, self.suite(node.body), self._otherwise(node)))

    def _counted(self, node: Any, bounds: list[Expr]) -> None:
        """A loop over a range; its counter needs no wrapping while the bounds say how far it goes."""
        name = dotted(node.target)
        bounds = [self.settle(b) for b in bounds]
        counter = self.variables.get(name)
        alone = sum(n == name and kind(s) != "ForInStatNode" for n, s in assigned_names(node.body)) == 0
        if counter is not None and counter.type.integral and alone and all(b.type.integral for b in bounds):
            ends = [end for b in bounds[:2] for end in b.range] + ([0] if len(bounds) == 1 else [])
            low, high = max(min(ends), counter.type.low), min(max(ends), counter.type.high)
            self.variables[name] = replace(counter, low=low, high=high)
        target, body = self.place(node.target).node, self.suite(node.body)
        if counter is not None:
            self.variables[name] = counter
        self.put(ast.For(target, call("range", *bounds), body, self._otherwise(node)))

    def _WithStatNode(self, node: Any) -> None:
        manager = node.manager
        callee = manager.function if kind(manager) in ("SimpleCallNode", "GeneralCallNode") else manager
        root = dotted(callee).partition(".")[0]
        if root in ("nogil", "gil") or self.cell.types.cimports.get(root, "").startswith("cython"):
            self.statements(node.body)
        else:
            raise stop(f"uses `{self.brief(node)}`, which has no Python form", node)

    def _GILStatNode(self, node: Any) -> None:
        self.statements(node.body)
