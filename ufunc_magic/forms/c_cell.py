"""A C cell's file scope, read for translation: its functions, types, constants and tables."""

from __future__ import annotations

import contextlib
import copy
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..ir import INT, VOID, CType, array_of, from_number, named_type
from ..model import Parameter
from .c_tree import (
    assigned_first,
    child,
    children,
    declared_name,
    function_name,
    names_changed,
    parameters_of,
    stop,
    text_of,
)
from .math_names import HELPERS
from .value import Expr, Stop

if TYPE_CHECKING:
    import ast

    from tree_sitter import Node

_TAKEN = frozenset("abs bool cmath complex float int len list math max min np print range round".split()) | {*HELPERS}


@dataclass(frozen=True)
class CParameter:
    """One parameter of a routine.

    ``cell``: a pointer to one value; ``reads``, ``writes``: what the body does with it;
    ``reference``: a C++ reference.
    """

    name: str
    type: CType
    cell: bool = False
    reads: bool = True
    writes: bool = False
    reference: bool = False


@dataclass(frozen=True)
class CRoutine:
    """One function of the cell.  ``main`` is the one being written; ``plain``: called as in C, by value; ``parts``: the
    types in its result, where that is several values."""

    name: str
    node: Node
    returns: CType
    parameters: tuple[CParameter, ...]
    main: bool = False
    plain: bool = True
    parts: tuple[CType, ...] = ()


@dataclass(frozen=True)
class CDeclaration:
    """What a declarator says: a name, its type, and the nodes of array sizes that are no constants."""

    name: str
    type: CType
    pointer: bool = False
    reference: bool = False
    sizes: tuple[Node | None, ...] = ()


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


@dataclass
class CCell:
    """File scope of one text; collects what the functions written from it turn out to need.

    ``evaluate`` gives the value of a constant expression, ``expression`` the tree of a macro's text, ``deduce`` the
    type of what a function returns.
    """

    root: Node
    numbers: Mapping[str, int]
    typedefs: Mapping[str, str]
    expression: Callable[[str], Node | None]
    evaluate: Callable[[CCell, Node], float | None]
    deduce: Callable[[CCell, CRoutine], CType]
    cplus: bool = False
    #: Of each function of the cell.
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    constants: dict[str, tuple[ast.stmt, Expr]] = field(default_factory=dict)
    requested: dict[str, CRoutine] = field(default_factory=dict)
    widens: bool = False
    functions: dict[str, list[Node]] = field(default_factory=dict)
    variables: dict[str, tuple[Node, Node]] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    enumerators: dict[str, int] = field(default_factory=dict)
    named: dict[str, CType] = field(default_factory=dict)
    main: CRoutine | None = None
    main_name: str = ""
    serial: int = 0

    def __post_init__(self) -> None:
        self.words = set(
            re.findall(r"[A-Za-z_]\w*", " ".join([text_of(self.root), *self.macros, *self.macros.values()]))
        )
        self.read(self.root.named_children)
        self.assigned = {n for nodes in self.functions.values() for node in nodes for n in names_changed(node)}

    def forget(self) -> None:
        """Ready for another text."""
        self.constants, self.requested, self.serial, self.widens = {}, {}, 0, False

    def again(self) -> CCell:
        """The same file scope, for writing another function: nothing is needed from it yet."""
        other = copy.copy(self)
        other.forget()
        other.functions, other.variables, other.macros = dict(self.functions), dict(self.variables), dict(self.macros)
        other.enumerators, other.named = dict(self.enumerators), dict(self.named)
        return other

    # -- reading --------------------------------------------------------------------------------

    def read(self, nodes: list[Node]) -> None:
        """Take declarations and definitions in."""
        for node in nodes:
            match node.type:
                case "function_definition":
                    if name := function_name(node):
                        self.functions.setdefault(name, []).append(node)
                case "declaration":
                    self._declaration(node)
                case "type_definition":
                    self._typedef(node)
                case "enum_specifier":
                    self._enumeration(node)
                case "alias_declaration":
                    # What cannot be read is unknown where it is used.
                    with contextlib.suppress(Stop):
                        self.named[text_of(child(node, "name"))] = self.type_named(child(node, "type"))
                case "linkage_specification" | "declaration_list" | "namespace_definition" | "template_declaration":
                    self.read(node.named_children)

    def _declaration(self, node: Node) -> None:
        self._enumeration(node.child_by_field_name("type"))
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type in ("init_declarator", "identifier", "array_declarator"):
                self.variables[declared_name(declarator)] = (node, declarator)

    def _typedef(self, node: Node) -> None:
        base = child(node, "type")
        self._enumeration(base)
        for declarator in node.children_by_field_name("declarator"):
            try:
                declared = self.declared(declarator, self.type_named(base))
            except Stop:
                continue  # a type that no function here may need
            if not declared.pointer:
                self.named[declared.name] = declared.type

    def _enumeration(self, node: Node | None) -> None:
        body = node.child_by_field_name("body") if node is not None and node.type == "enum_specifier" else None
        last = -1
        for item in children(body) if body is not None else ():
            start = item.child_by_field_name("value")
            value = self.evaluate(self, start) if start is not None else last + 1
            if not isinstance(value, int):
                return
            last = self.enumerators[text_of(child(item, "name"))] = value

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
        t = self.type_of(text_of(node))
        around = node.parent.children if "_Atomic" in self.words and node.parent else []
        if any(c.type == "type_qualifier" and text_of(c) == "_Atomic" for c in around):
            t = replace(t, kind="c") if t is not None and t.kind == "f" else None
        if t is None:
            raise stop(f"uses the type `{' '.join(text_of(node).split())}`", node)
        return t

    def declared(self, declarator: Node, base: CType) -> CDeclaration:
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
                        raise stop("uses a pointer to a pointer", node)
                    pointer = True
                case "reference_declarator":
                    reference = True
                case "function_declarator":
                    raise stop("uses a pointer to a function", node)
                case "identifier" | "field_identifier" | "type_identifier" | "primitive_type":
                    lengths = tuple(self._length(size) for size in sizes)
                    t = array_of(base, lengths)
                    unknown = tuple(s if n is None else None for s, n in zip(sizes, lengths, strict=True))
                    return CDeclaration(
                        text_of(node), array_of(t, (None,)) if pointer else t, pointer, reference, unknown
                    )
            inner = node.child_by_field_name("declarator")
            kinds = [c for c in node.named_children if "declarator" in c.type or c.type == "identifier"]
            node = inner if inner is not None else kinds[0] if kinds else None
        raise stop(f"cannot read the declaration `{text_of(declarator)}`", declarator)

    def _length(self, size: Node | None) -> int | None:
        try:
            value = self.evaluate(self, size) if size is not None else None
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

    # -- functions ------------------------------------------------------------------------------

    def routine(self, name: str, count: int) -> CRoutine | None:
        """The cell's own function of that name."""
        if self.main is not None and name == self.main.name and len(self.main.parameters) == count:
            return self.main
        if name in self.requested:
            return self.requested[name]
        nodes = self.functions.get(name, [])
        if len(nodes) > 1:
            raise stop(f"calls `{name}`, which is overloaded", nodes[0])
        if not nodes:
            return None
        node = nodes[0]
        parameters = tuple(self._parameter(p, node) for p in parameters_of(node))
        return CRoutine(name, node, self.returned(node, parameters), parameters)

    def returned(self, node: Node, parameters: tuple[CParameter, ...]) -> CType:
        """The type of a function's result: behind its parameters, or what it returns, where C++ has ``auto``."""
        declarator, named = child(node, "declarator"), child(node, "type")
        for trailing in declarator.named_children:
            if trailing.type == "trailing_return_type":
                declarator = trailing.named_children[0].child_by_field_name("declarator") or declarator
                named = child(trailing.named_children[0], "type")
        if "pointer_declarator" in declarator.type:
            raise stop("returns a pointer", node)
        if named.type == "placeholder_type_specifier":
            return self.deduce(self.again(), CRoutine(function_name(node), node, VOID, parameters))
        return self.type_named(named)

    def _parameter(self, node: Node, function: Node) -> CParameter:
        declared = self.declared(child(node, "declarator"), self.type_named(child(node, "type")))
        constant = "const" in text_of(node).split()
        if not declared.pointer and (constant or not declared.reference):
            return CParameter(declared.name, declared.type)
        body = child(function, "body")
        if declared.pointer and self._is_array(declared.name, function):
            return CParameter(declared.name, declared.type)
        t = declared.type.of if declared.pointer and declared.type.of is not None else declared.type
        if t.kind == "a":
            return CParameter(declared.name, t)
        reads = constant or not assigned_first(body, declared.name)
        return CParameter(declared.name, t, cell=True, reads=reads, writes=not constant, reference=declared.reference)

    def _is_array(self, name: str, function: Node) -> bool:
        """Whether a function uses more of its pointer ``name`` than its first element."""
        own = self.parameters.get(function_name(function), ())
        return any(p.name == name and (p.indexed or p.shape) for p in own)

    def request(self, routine: CRoutine) -> str:
        """Ask for ``routine`` to be written too; returns its Python name."""
        if routine.main:
            return self.main_name
        self.requested.setdefault(routine.name, routine)
        return python_name(routine.name)
