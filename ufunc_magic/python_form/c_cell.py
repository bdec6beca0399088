"""A C cell's file scope, read for translation: its functions, types, constants and tables."""

from __future__ import annotations

import copy
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .c_arithmetic import COMPLEX, DOUBLE, INT, VOID, CType, array_of, from_number, named_type
from .c_calls import Expressions
from .c_expressions import Readings
from .c_initializers import initial
from .c_uses import assigned_first, declared_name, function_name, names_changed, parameters_of, used_as_array
from .math_names import CONSTANTS, LIMITS
from .value import Expr, Stop, child, children, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Cell", "Declared", "Given", "Routine", "python_name"]

_TAKEN = frozenset(
    "abs bool cmath complex float int len list math max min np print range round vars SimpleNamespace".split()
)


@dataclass(frozen=True)
class Given:
    """One parameter of a routine.

    ``cell``: a pointer to one value; ``reads``, ``writes``: what the body does with it;
    ``reference``: a C++ reference; ``null``: this form of the routine is for calls that pass no pointer.
    """

    name: str
    type: CType
    cell: bool = False
    reads: bool = True
    writes: bool = False
    reference: bool = False
    null: bool = False


@dataclass(frozen=True)
class Routine:
    """One function of the cell.  ``main`` is the one being written; ``plain``: called as in C, by value."""

    name: str
    node: Node
    returns: CType
    parameters: tuple[Given, ...]
    main: bool = False
    plain: bool = True

    @property
    def key(self) -> str:
        """The C name, and which pointers this form of it does without."""
        return "_".join([self.name, *(f"no_{p.name}" for p in self.parameters if p.null)])


@dataclass(frozen=True)
class Declared:
    """What a declarator says: a name, its type, and the nodes of array sizes that are no constants."""

    name: str
    type: CType
    pointer: bool = False
    reference: bool = False
    sizes: tuple[Node | None, ...] = ()


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


@dataclass
class Cell:
    """File scope of one text; collects what the functions written from it turn out to need."""

    root: Node
    numbers: Mapping[str, int]
    typedefs: Mapping[str, str]
    expression: Callable[[str], Node | None]
    cplus: bool = False
    helpers: set[str] = field(default_factory=set)
    constants: dict[str, tuple[str, Expr]] = field(default_factory=dict)
    requested: dict[str, Routine] = field(default_factory=dict)
    functions: dict[str, list[Node]] = field(default_factory=dict)
    variables: dict[str, tuple[Node, Node]] = field(default_factory=dict)
    unset: set[str] = field(default_factory=set)
    macros: dict[str, str | None] = field(default_factory=dict)
    enumerators: dict[str, int] = field(default_factory=dict)
    named: dict[str, CType] = field(default_factory=dict)
    structs: dict[str, CType] = field(default_factory=dict)
    main: Routine | None = None
    main_name: str = ""
    prototypes: list[Node] = field(default_factory=list)
    serial: int = 0

    def __post_init__(self) -> None:
        self.words = set(re.findall(r"[A-Za-z_]\w*", text_of(self.root)))
        self._read(self.root)
        self.assigned = {n for nodes in self.functions.values() for node in nodes for n in names_changed(node)}

    def again(self) -> Cell:
        """The same file scope, for writing another function: nothing is needed from it yet."""
        other = copy.copy(self)
        other.helpers, other.constants, other.requested, other.serial = set(), {}, {}, 0
        other.functions, other.variables, other.macros = dict(self.functions), dict(self.variables), dict(self.macros)
        other.enumerators, other.named, other.structs = dict(self.enumerators), dict(self.named), dict(self.structs)
        return other

    # -- reading --------------------------------------------------------------------------------

    def _read(self, scope: Node) -> None:
        for node in scope.named_children:
            match node.type:
                case "function_definition":
                    name = function_name(node)
                    if name:
                        self.functions.setdefault(name, []).append(node)
                case "declaration":
                    self._declaration(node)
                case "type_definition":
                    self._typedef(node)
                case "struct_specifier" | "enum_specifier":
                    self._tag(node)
                case "preproc_def":
                    value = node.child_by_field_name("value")
                    self.macros.setdefault(text_of(child(node, "name")), text_of(value) if value is not None else None)
                case "alias_declaration":
                    self.named[text_of(child(node, "name"))] = self.type_named(child(node, "type"))
                case "preproc_ifdef" | "preproc_if" | "preproc_else" | "linkage_specification" | "declaration_list":
                    self._read(node)
                case "namespace_definition" | "template_declaration":
                    self._read(node)

    def _declaration(self, node: Node) -> None:
        base = node.child_by_field_name("type")
        if base is not None and base.type in ("struct_specifier", "enum_specifier"):
            self._tag(base)
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type in ("function_declarator", "pointer_declarator"):
                self.prototypes.append(node)
            if declarator.type == "init_declarator":
                self.variables[declared_name(declarator)] = (node, declarator)
            elif declarator.type in ("identifier", "array_declarator"):
                self.unset.add(declared_name(declarator))

    def _typedef(self, node: Node) -> None:
        base = child(node, "type")
        if base.type in ("struct_specifier", "enum_specifier"):
            self._tag(base)
        for declarator in node.children_by_field_name("declarator"):
            try:
                found = self.declared(declarator, self.type_named(base))
            except Stop:
                continue  # a type that no function here may need
            if not found.pointer:
                self.named[found.name] = found.type

    def _tag(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            return
        if node.type == "enum_specifier":
            value = -1
            for item in children(body):
                given = item.child_by_field_name("value")
                found = (
                    Expressions(self, _NO_ROUTINE, checked=False).value(given).value if given is not None else value + 1
                )
                if not isinstance(found, int):
                    return
                value = self.enumerators[text_of(child(item, "name"))] = found
            return
        try:
            made = self.structure(body)
        except Stop:
            return
        if name is not None:
            self.structs[text_of(name)] = made

    def structure(self, body: Node) -> CType:
        fields: list[tuple[str, CType]] = []
        for member in children(body):
            if member.type != "field_declaration":
                raise Stop("uses a structure with more than plain fields", member)
            base = self.type_named(child(member, "type"))
            for declarator in member.children_by_field_name("declarator"):
                found = self.declared(declarator, base)
                if found.pointer:
                    raise Stop("uses a structure with pointers", member)
                fields.append((found.name, found.type))
        return CType("s", fields=tuple(fields))

    # -- types ----------------------------------------------------------------------------------

    def type_of(self, spelling: str) -> CType | None:
        if spelling in self.numbers:
            return from_number(self.numbers[spelling])
        return self.named.get(spelling) or named_type(spelling, self.numbers, self.typedefs)

    def type_named(self, node: Node) -> CType:
        """The type that a specifier or a type descriptor names."""
        if node.type == "type_descriptor":
            node = child(node, "type")
        if node.type == "enum_specifier":
            return INT
        if node.type == "struct_specifier":
            body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
            found = self.structure(body) if body is not None else self.structs.get(text_of(name) if name else "")
        else:
            found = self.type_of(text_of(node)) or self.structs.get(text_of(node))
        if found is None:
            raise Stop(f"uses the type `{' '.join(text_of(node).split())}`", node)
        return found

    def declared(self, declarator: Node, base: CType) -> Declared:
        """Name and type that ``declarator`` gives; pointers and arrays peeled off from outside."""
        sizes: list[Node | None] = []
        pointer = reference = False
        node: Node | None = declarator
        while node is not None:
            match node.type:
                case "array_declarator":
                    sizes.insert(0, node.child_by_field_name("size"))
                case "pointer_declarator":
                    if pointer:
                        raise Stop("uses a pointer to a pointer", node)
                    pointer = True
                case "reference_declarator":
                    reference = True
                case "function_declarator":
                    raise Stop("uses a pointer to a function", node)
                case "identifier" | "field_identifier" | "type_identifier" | "primitive_type":
                    lengths = tuple(self.length(size) for size in sizes)
                    t = array_of(base, lengths)
                    unknown = tuple(s if n is None else None for s, n in zip(sizes, lengths, strict=True))
                    return Declared(text_of(node), array_of(t, (None,)) if pointer else t, pointer, reference, unknown)
            inner = node.child_by_field_name("declarator")
            kinds = [c for c in node.named_children if "declarator" in c.type or c.type == "identifier"]
            node = inner if inner is not None else kinds[0] if kinds else None
        raise Stop(f"cannot read the declaration `{text_of(declarator)}`", declarator)

    def length(self, size: Node | None) -> int | None:
        if size is None:
            return None
        try:
            value = Expressions(self, _NO_ROUTINE, checked=False).value(size).value
        except Stop:
            return None
        return value if isinstance(value, int) else None

    # -- names ----------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """A name that the cell does not use."""
        while True:
            self.serial += 1
            if f"{stem}{self.serial}" not in self.words:
                return f"{stem}{self.serial}"

    def has_prototype(self, name: str) -> bool:
        return bool(re.search(rf"\b{name}\s*\([^()]*\)\s*;", "".join(map(text_of, self.prototypes))))

    def constant(self, name: str, asking: Readings, node: Node) -> Expr:
        """The file-scope constant ``name``; its definition will stand above the functions."""
        if name in self.constants:
            return self.constants[name][1]
        if name in self.enumerators:
            value = self.enumerators[name]
            return self.define(name, Expr(str(value), INT, value=value))
        if name in self.variables:
            declaration, declarator = self.variables[name]
            return self.table(name, declaration, declarator, asking)
        if self.macros.get(name):
            body = self.expression(self.macros[name] or "")
            if body is None:
                raise Stop(f"uses the macro `{name}`, which is not an expression", node)
            return self.define(name, asking.settled(body))
        if name in CONSTANTS:
            text, level = CONSTANTS[name]
            return Expr(text, DOUBLE, level, value=1.0 if level == 14 and "math.nan" not in text else None)
        if name in LIMITS:
            value, t = LIMITS[name]
            return Expr(str(value), t, 14 if value >= 0 else 12, low=value, high=value, value=value)
        if name in ("I", "_Complex_I"):
            return Expr("1j", COMPLEX)
        if name in self.unset and name in self.assigned:
            raise Stop(f"keeps `{name}` from call to call", node)
        if name in self.unset:
            raise Stop(f"uses the variable `{name}`, which the cell gives no value", node)
        raise Stop(f"uses `{name}`, which is not defined in the cell", node)

    def define(self, name: str, value: Expr) -> Expr:
        low, high = (value.value, value.value) if isinstance(value.value, int) else (value.low, value.high)
        spelled = python_name(name)
        known = replace(value, text=spelled, level=14, low=low, high=high, parts=None)
        self.constants[name] = (f"{spelled} = {value.text}", known)
        return known

    def table(self, name: str, declaration: Node, declarator: Node, asking: Readings, *, key: str = "") -> Expr:
        """A file-scope or static variable as a constant; refused where something changes it."""
        if name in self.assigned and "const" not in text_of(declaration).split("=")[0].split():
            raise Stop(f"keeps `{name}` from call to call", declarator)
        found = self.declared(child(declarator, "declarator"), self.type_named(child(declaration, "type")))
        if found.pointer:
            raise Stop(f"uses the pointer `{name}`", declarator)
        source = child(declarator, "value")
        text, t = initial(asking, source, found.type, frozen=True)
        value = (
            asking.convert(asking.value(source), t).value
            if t.arithmetic and source.type != "initializer_list"
            else None
        )
        return self.define(key or name, Expr(text, t, value=value))

    def compound(self, asking: Readings, node: Node) -> tuple[str, CType]:
        """A compound literal, ``(struct point){1, 2}``."""
        return initial(asking, child(node, "value"), self.type_named(child(node, "type")))

    # -- functions ------------------------------------------------------------------------------

    def routine(self, name: str, count: int) -> Routine | None:
        """The cell's own function of that name."""
        if self.main is not None and name == self.main.name and len(self.main.parameters) == count:
            return self.main
        if name in self.requested:
            return self.requested[name]
        nodes = self.functions.get(name, [])
        if len(nodes) > 1:
            raise Stop(f"calls `{name}`, which is overloaded", nodes[0])
        if not nodes:
            return None
        return self.read_routine(name, nodes[0])

    def read_routine(self, name: str, node: Node) -> Routine:
        return Routine(name, node, self.returned(node), tuple(self._given(p, node) for p in parameters_of(node)))

    def returned(self, node: Node) -> CType:
        if child(node, "declarator").type == "pointer_declarator":
            raise Stop("returns a pointer", node)
        return self.type_named(child(node, "type"))

    def _given(self, node: Node, function: Node) -> Given:
        found = self.declared(child(node, "declarator"), self.type_named(child(node, "type")))
        constant = "const" in text_of(node).split()
        if not found.pointer and (constant or not found.reference):
            return Given(found.name, found.type)
        body = child(function, "body")
        if found.pointer and used_as_array(body, found.name, self):
            return Given(found.name, found.type)
        t = found.type.of if found.pointer and found.type.of is not None else found.type
        if t.kind == "a":
            return Given(found.name, t)
        reads = constant or not assigned_first(body, found.name)
        return Given(found.name, t, cell=True, reads=reads, writes=not constant, reference=found.reference)

    def request(self, routine: Routine) -> str:
        """Ask for ``routine`` to be written too; returns its Python name."""
        if routine.main:
            return self.main_name
        self.requested.setdefault(routine.key, routine)
        return python_name(routine.key)


_NO_ROUTINE: Routine = Routine("", None, VOID, ())  # type: ignore[arg-type]
