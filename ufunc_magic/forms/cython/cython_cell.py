"""A cell's module level: its functions, names, constants and where each of them comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir import CONSTANTS, MATH_FUNCTIONS, CType
from ..value import Stop
from .cython_tree import assigned_names, dotted, kind, statements, walk
from .cython_types import OBJECT, CythonTypes, declared_name, name_node


@dataclass(frozen=True)
class CythonParameter:
    """One parameter: its name, the node of its type, if it has one, and its own."""

    name: str
    base: Any
    node: Any


@dataclass(frozen=True)
class CythonRoutine:
    """One function of the cell.

    ``returns`` is the node of its result's type or annotation (None: a Python object), ``marks`` what decorators say,
    ``refused`` is why it has no form.
    """

    name: str
    node: Any
    line: int
    parameters: tuple[CythonParameter, ...]
    returns: Any
    marks: Mapping[str, Any]
    refused: str

    @property
    def locals(self) -> Mapping[str, Any]:
        return self.marks.get("locals") or {}


@dataclass
class CythonCell:
    """What the cell's module level says, and what the text being written has asked for so far."""

    types: CythonTypes = field(default_factory=CythonTypes)
    functions: dict[str, list[CythonRoutine]] = field(default_factory=dict)
    #: Name -> the statement that imports it, and what it is in full.
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    externs: dict[str, str] = field(default_factory=dict)
    constants: dict[str, CType | tuple[Any, Any]] = field(default_factory=dict)
    enumerators: dict[str, Any] = field(default_factory=dict)
    statements: list[Any] = field(default_factory=list)
    directives: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    lists: bool = False
    # What the text being written has asked for.
    routines: dict[str, CythonRoutine] = field(default_factory=dict)
    names_used: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    truncates: bool = False
    widens: bool = False
    watched: bool = True

    @classmethod
    def read(cls, tree: Any, source: str, directives: Mapping[str, Any]) -> CythonCell:
        cell = cls(lines=source.splitlines())
        cell.directives = {**directives, **(tree.directive_comments or {})}
        for node in statements(tree.body):
            cell._statement(node)
        return cell

    def forget(self, fused: Mapping[str, str], *, lists: bool, watched: bool) -> None:
        """Ready for another text."""
        self.routines, self.names_used, self.imported, self.truncates = {}, set(), {}, False
        self.types.fused = {name.rpartition(".")[2]: chosen for name, chosen in fused.items()}
        self.lists, self.watched = lists, watched

    def trial(self) -> CythonCell:
        """The same cell, for what will not be written: nothing is needed of it."""
        return replace(self, routines={}, names_used=set(), imported={})

    def constant_type(self, name: str) -> CType:
        declared = self.constants[name]
        return declared if isinstance(declared, CType) else self.types.declared(*declared)

    def _statement(self, node: Any) -> None:
        match kind(node):
            case "CFuncDefNode" | "DefNode":
                routine = _routine(node)
                self.functions.setdefault(routine.name, []).append(routine)
            case "CImportStatNode":
                name = node.as_name or node.module_name.partition(".")[0]
                self.types.cimports[name] = node.module_name if node.as_name else name
            case "FromCImportStatNode":
                for _, name, as_name, *_ in node.imported_names:
                    names = (*MATH_FUNCTIONS, *CONSTANTS) if name == "*" else (name,)
                    self.types.cimports |= {as_name or one: f"{node.module_name}.{one}" for one in names}
            case "FromImportStatNode":
                self._from_import(node)
            case "CTypeDefNode":
                self.types.typedefs[declared_name(node.declarator)] = node.base_type, node.declarator
            case "FusedTypeNode":
                self.types.fused_names[node.name] = node.types
            case "CStructOrUnionDefNode":
                self.types.structs.add(node.name)
            case "CEnumDefNode":
                self._enum(node)
            case "CDefExternNode":
                self._extern(node)
            case "CClassDefNode" | "PyClassDefNode" | "CppClassNode":
                pass
            case "CVarDefNode":
                self._variables(node)
            case _:
                self._plain(node)

    def _plain(self, node: Any) -> None:
        if kind(node) == "SingleAssignmentNode" and kind(node.rhs) == "ImportNode":
            module = str(node.rhs.module_name.value)
            name = str(node.lhs.name)
            if module == "cython" or module.startswith("cython."):
                self.types.cimports[name] = "cython"
            else:
                full = module if name != module.partition(".")[0] else name
                self.imports[name] = f"import {module}" + (f" as {name}" if full != name else ""), full
            return
        if kind(node) == "SingleAssignmentNode" and kind(node.lhs) == "NameNode" and _fused_type(node.rhs):
            self.types.fused_names[node.lhs.name] = node.rhs.args
            return
        self.statements.append(node)
        for name, where in assigned_names(node):
            target = where.lhs if kind(where) == "SingleAssignmentNode" else None
            note = getattr(target, "annotation", None) if target is not None else None
            self.constants.setdefault(name, self.types.annotated(note) if note is not None else OBJECT)

    def _from_import(self, node: Any) -> None:
        module = str(node.module.module_name.value)
        for name, target in node.items:
            local = str(target.name)
            if module.partition(".")[0] == "cython":
                self.types.cimports[local] = f"{module}.{name}".removeprefix("cython.cimports.")
            elif module != "__future__":
                suffix = f" as {local}" if local != name else ""
                self.imports[local] = f"from {module} import {name}{suffix}", f"{module}.{name}"

    def _enum(self, node: Any) -> None:
        if node.name:
            self.types.enums.add(node.name)
        for item in node.items or ():
            self.enumerators[item.name] = item
        self.statements.append(node)

    def _extern(self, node: Any) -> None:
        for inner in statements(node.body):
            if kind(inner) == "CVarDefNode":
                for base in map(name_node, inner.declarators):
                    self.externs[base.name] = base.cname or base.name
            elif kind(inner) == "CEnumDefNode":
                for item in inner.items or ():
                    self.externs[item.name] = item.cname or item.name
            elif kind(inner) == "CTypeDefNode":
                self._statement(inner)

    def _variables(self, node: Any) -> None:
        for declarator in node.declarators:
            if kind(declarator) != "CFuncDeclaratorNode":  # a forward declaration
                self.constants[declared_name(declarator)] = node.base_type, declarator
        self.statements.append(node)

    def written_by(self, node: Any) -> set[str]:
        """The module-level names that a statement gives a value or a part of one."""
        match kind(node):
            case "CVarDefNode":
                return {declared_name(d) for d in node.declarators if kind(d) != "CFuncDeclaratorNode"}
            case "CEnumDefNode":
                return {item.name for item in node.items or ()}
        names = {name for name, _ in assigned_names(node)}
        for inner in walk(node):  # table[k] = ... gives `table` a part
            target: Any = getattr(inner, "lhs", None)
            while kind(target) in ("IndexNode", "SliceIndexNode"):
                target = target.base
            if kind(target) == "NameNode":
                names.add(target.name)
        return names

    def find(self, name: str, line: int) -> CythonRoutine:
        routines = self.functions.get(name, [])
        if not routines:
            raise Stop(f"cannot be found in the cell under the name `{name}`", line)
        return min(routines, key=lambda routine: abs(routine.line - line))


def _fused_type(node: Any) -> bool:
    return kind(node) == "SimpleCallNode" and dotted(node.function).rpartition(".")[2] == "fused_type"


def _routine(node: Any) -> CythonRoutine:
    marks = _decorators(node)
    c_function = kind(node) == "CFuncDefNode"
    declarator: Any = node.declarator if c_function else node
    refused = ""
    while c_function and kind(declarator) != "CFuncDeclaratorNode":
        refused = "returns a pointer"
        declarator = declarator.base
    if not c_function and (node.star_arg or node.starstar_arg):
        refused = "takes any number of arguments, or keywords"
    # The form is called by position, keyword-only or not.
    optional = [bool(a.default) for a in declarator.args]
    if optional != sorted(optional):
        refused = "takes a keyword that must be given behind one that need not"
    parameters = tuple(_parameter(a, position) for position, a in enumerate(declarator.args))
    annotation = None if c_function else node.return_type_annotation
    returns = node.base_type if c_function else annotation or marks.get("returns")
    return CythonRoutine(
        name=declared_name(declarator) if c_function else str(node.name),
        node=node,
        line=declarator.pos[1],
        parameters=parameters,
        returns=returns,
        marks=marks,
        refused=refused,
    )


def _parameter(node: Any, position: int) -> CythonParameter:
    name, base = declared_name(node.declarator), node.base_type
    if not name:  # `cdef f(x)`: the parser takes a lone word for a type
        name, base = str(base.name or f"unused{position}"), None
    if kind(base) == "CSimpleBaseTypeNode" and base.name is None:
        base = None
    return CythonParameter(name, base, node)


def _decorators(node: Any) -> dict[str, Any]:
    """What the decorators say: ``cdivision`` -> True, ``cfunc`` -> None, ``locals`` -> {name: type node}."""
    marks: dict[str, Any] = {}
    for decorator in node.decorators or ():
        call = decorator.decorator
        name = dotted(getattr(call, "function", call)).rpartition(".")[2]
        value: Any = None
        if kind(call) == "SimpleCallNode" and call.args:
            value = bool(call.args[0].value) if kind(call.args[0]) == "BoolNode" else call.args[0]
        elif kind(call) == "GeneralCallNode" and call.keyword_args:
            value = {str(p.key.value): p.value for p in call.keyword_args.key_value_pairs}
        marks[name] = value
    return marks
