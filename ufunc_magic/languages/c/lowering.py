"""tree-sitter's tree of a C or C++ text -> the IR: `lower`.

The file scope is read at once; a function is lowered when somebody asks for it, and once.  `StatementLowerer` and the
classes below it lower a function's body: statements, loops, calls, expressions.  `TypeReader` reads types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tree_sitter import Node

from ...codegen import VIEWS
from ...ir import (
    INT,
    Block,
    Constant,
    CType,
    Expression,
    FunctionIR,
    OpaqueStatement,
    Program,
    Symbol,
    evaluate_integer,
    find_header_constant,
)
from .c_tree import parse_initializer, take_text, take_turns, walk
from .declarations import INVENTED, CText, Declaration, find_default, read_declarations, read_template_names
from .lowering_context import list_parts, part, strip_parentheses
from .lowering_values import FunctionDefinition, Head
from .statement_lowering import StatementLowerer
from .type_lowering import AUTO, TypeReader

_TYPES = frozenset(("type_definition", "alias_declaration"))
_INSIDE = frozenset(("translation_unit", "declaration_list", "ERROR"))


def lower(text: CText, *, types: Mapping[str, int] = MappingProxyType({})) -> Program:
    """The functions of a text as typed values.

    ``lower(text).functions["f"]`` lowers the functions of that name, in the order of the text, when it is first asked
    for them.  Text that cannot be lowered is Opaque in its place; nothing is raised.  A function whose syntax could not
    be read begins with an `OpaqueStatement` that says so.

    Parameters
    ----------
    text : CText
    types : mapping
        Spelling of a type -> NumPy type number: the types of the parameters of templates.

    Returns
    -------
    Program
        The same one for the same text and types.
    """
    types = {name: number for name, number in types.items() if name.startswith(INVENTED) or name in text.words}
    key = tuple(sorted(types.items()))
    program = text.programs.get(key)
    if program is None:
        program = text.programs[key] = FileScope(text, types=types).program
    return program


class _Functions(Mapping[str, tuple[FunctionIR, ...]]):
    """The functions of a text by name, lowered when they are asked for."""

    def __init__(self, scope: FileScope) -> None:
        self._scope = scope

    @take_turns
    def __getitem__(self, name: str) -> tuple[FunctionIR, ...]:
        definitions = self._scope.find_definitions(name)
        if not definitions:
            raise KeyError(name)
        return tuple(map(self._scope.lower_function, definitions))

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names)

    def __len__(self) -> int:
        return len(self._scope.names)

    def __contains__(self, name: object) -> bool:
        return name in self._scope.names


class _Symbols(Mapping[str, Symbol]):
    """The variables and constants of file scope by name."""

    def __init__(self, scope: FileScope) -> None:
        self._scope = scope

    @take_turns
    def __getitem__(self, name: str) -> Symbol:
        entry = self._scope.find_value(name)
        if not isinstance(entry, Symbol):
            raise KeyError(name)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.variables)

    def __len__(self) -> int:
        return len(self._scope.variables)


class FileScope:
    """File scope of one text: functions, variables, enumerators, macros that are constants (C17 6.2.1, 6.9)."""

    def __init__(self, text: CText, *, types: Mapping[str, int]) -> None:
        self.text = text
        self.declared = text.types.copy()
        self.cplus = self.declared.cplus
        self.generic_math = text.generic_math
        self.types = TypeReader(self.declared, types, self._find_length)
        self.names: dict[str, list[FunctionDefinition]] = {}
        self.variables: dict[str, tuple[Node, Node, Declaration]] = {}
        self._enumerations: dict[str, Node] = {}
        #: Name of a prototype, how many parameters it has, and the place of one -> its default argument.
        self._defaults: dict[tuple[str, int, int], Node] = {}
        self._entries: dict[str, Symbol | Constant | str] = {}
        self._functions: dict[int, FunctionIR | None] = {}
        self._heads: dict[int, Head] = {}
        self._heads_begun: set[int] = set()
        self._changed: frozenset[str] | None = None
        self._read(text.root)
        self.program = Program(functions=_Functions(self), symbols=_Symbols(self), text=text.code)

    # -- reading ----------------------------------------------------------------------------------

    def _read(self, root: Node) -> None:
        nodes: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
        while nodes:
            node, template = nodes.pop()
            kind = node.type
            if kind in _INSIDE:
                nodes += [(child, template) for child in reversed(node.named_children)]
            elif kind == "function_definition":
                name = self._find_function_name(node)
                if name:
                    self.names.setdefault(name, []).append(FunctionDefinition(name, node, template))
            elif kind == "declaration":
                self._read_declaration(node)
            elif kind in _TYPES:
                self._read_enumeration(node.child_by_field_name("type"))
            elif kind.endswith("_specifier"):
                self._read_enumeration(node)
            elif kind in ("linkage_specification", "namespace_definition"):
                body = node.child_by_field_name("body")
                nodes += [(body, template)] if body is not None else []
            elif kind == "template_declaration":
                names = read_template_names(node)
                nodes += [(child, names) for child in reversed(node.named_children)]

    def _read_declaration(self, node: Node) -> None:
        specifier = node.child_by_field_name("type")
        self._read_enumeration(specifier)
        for (declared, _), declarator in zip(
            read_declarations(node), node.children_by_field_name("declarator"), strict=False
        ):
            if declared.marks and declared.marks[0].kind == "(" and self.cplus:
                listed = self.declared.read_function_head(declared, node).parameters
                places = {(declared.name, len(listed), k): find_default(at) for k, (_, at) in enumerate(listed)}
                self._defaults |= {place: default for place, default in places.items() if default is not None}
            if declared.name and not (declared.marks and declared.marks[0].kind == "("):
                known = self.variables.get(declared.name)
                if known is None or declarator.type == "init_declarator":  # `extern` says less
                    self.variables[declared.name] = (node, declarator, declared)

    def _read_enumeration(self, node: Node | None) -> None:
        if node is not None and node.type == "enum_specifier":
            for item in list_parts(node.child_by_field_name("body")):
                name = item.child_by_field_name("name")
                if name is not None:
                    self._enumerations[take_text(name)] = node

    def define(self, node: Node) -> None:
        """Take in a type that a function declares."""
        names = self.declared.define(node) if node.type in _TYPES else self.declared.take_tag(node)
        self.types.forget(names)

    def is_class(self, name: str) -> bool:
        return self.declared.is_class(name)

    # -- names ------------------------------------------------------------------------------------

    def find_value(self, name: str) -> Symbol | Constant | str:
        """The value of a name of file scope or of a header, or the reason why it has none."""
        entry = self._entries.get(name)
        if entry is None:
            self._entries[name] = f"uses `{name}`, which is not defined in the cell"  # while it is being read
            entry = self._entries[name] = self._find_entry(name)
        return entry

    def _find_entry(self, name: str) -> Symbol | Constant | str:
        if name in self._enumerations:
            values = self.list_enumerators(self._enumerations[name])
            return values.get(name) or f"uses `{name}`, which is not defined in the cell"
        if name in self.variables:
            return self._lower_variable(name, *self.variables[name])
        if name in self.text.macros:
            return self._lower_macro(name, self.text.macros[name])
        return find_header_constant(name) or f"uses `{name}`, which is not defined in the cell"

    def _make_lowerer(self, *, macro: bool = False) -> StatementLowerer:
        """A lowerer of file scope's own expressions."""
        return StatementLowerer(self, None if macro else self.text.lines)

    def _lower_macro(self, name: str, body: str) -> Symbol | str:
        value = parse_initializer(body, cplus=self.cplus)
        if value is None:
            return f"uses the macro `{name}`, which is not an expression"
        e = self._make_lowerer(macro=True).lower_value(value)
        return Symbol(name, e.type, "constant", initial=e)

    def _lower_variable(self, name: str, node: Node, declarator: Node, declared: Declaration) -> Symbol:
        t, reference, _ = self.types.read(declared)
        source = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        lowerer = self._make_lowerer()
        fixed = declared.const and not any(mark.kind == "*" for mark in declared.marks)
        symbol = Symbol(
            name,
            t,
            "constant" if fixed else "global",
            reference=reference,
            const=declared.const,
            at=lowerer.find_position(declarator),
        )
        self._entries[name] = symbol
        if source is not None and t == AUTO:
            symbol.initial = lowerer.lower_value(source)
            symbol.type = symbol.initial.type
        elif source is not None:
            symbol.initial, symbol.type = lowerer.lower_initial(source, t)
        symbol.assigned = symbol.storage == "global" and self.changes(name)
        return symbol

    def changes(self, name: str) -> bool:
        """Whether something in the text assigns to a variable of this name, or takes its address."""
        if self._changed is None:
            names = set()
            for node in walk(self.text.root):
                if node.type in ("assignment_expression", "update_expression"):
                    target = node.child_by_field_name("left") or node.child_by_field_name("argument")
                elif node.type == "pointer_expression" and node.children[0].type == "&":
                    target = node.children[-1]
                else:
                    continue
                names.add(_find_root_name(target))
            self._changed = frozenset(names)
        return name in self._changed

    def list_enumerators(self, node: Node) -> dict[str, Symbol]:
        """The enumerators of an ``enum`` (6.7.2.2)."""
        values: dict[str, Symbol] = {}
        last: int | None = -1
        lowerer = self._make_lowerer()
        lowerer.scopes.append({})
        for item in list_parts(node.child_by_field_name("body")):
            name, source = item.child_by_field_name("name"), part(item, "value")
            if name is None:
                continue
            last = (
                evaluate_integer(lowerer.lower_value(source))
                if source is not None
                else None
                if last is None
                else last + 1
            )
            if last is not None:
                at = lowerer.find_position(item)
                value = Constant(at=at, type=INT, value=last)
                symbol = values[take_text(name)] = Symbol(take_text(name), INT, "constant", initial=value, at=at)
                lowerer.scopes[-1][symbol.name] = symbol
        lowerer.scopes.pop()
        return values

    def lower_constant(self, node: Node) -> Expression:
        """An expression of file scope: a default argument."""
        return self._make_lowerer().lower_value(strip_parentheses(node))

    def _find_length(self, node: Node) -> int | None:
        """An array's size, where it is a constant of file scope (6.7.6.2)."""
        return evaluate_integer(self._make_lowerer().lower_value(node))

    # -- functions --------------------------------------------------------------------------------

    def find_definitions(self, name: str) -> Sequence[FunctionDefinition]:
        return self.names.get(name, ())

    def _find_function_name(self, node: Node) -> str:
        """The plain name of a function that is no method, operator or constructor; ``""`` for others."""
        head = self.declared.read_head(node) if node.child_by_field_name("body") is not None else None
        name = head.declared.name.rpartition("::")[2] if head is not None else ""
        return name if name.replace("$", "_").isidentifier() else ""

    def find_heads(self, name: str) -> list[Head]:
        """Those of all functions of a name, but for one whose own head calls it, in half-typed text."""
        begun = self._heads_begun
        return [
            self.lower_head(definition) for definition in self.find_definitions(name) if definition.node.id not in begun
        ]

    def lower_head(self, definition: FunctionDefinition) -> Head:
        """Parameters and results of a function."""
        known = self._heads.get(definition.node.id)
        if known is None:
            self._heads_begun.add(definition.node.id)
            known = self._heads[definition.node.id] = self._read_head(definition)
            self._heads_begun.discard(definition.node.id)
        return known

    def _read_head(self, definition: FunctionDefinition) -> Head:
        head = self.declared.read_head(definition.node)
        assert head is not None, "only functions have definitions"
        lowerer = self._make_lowerer()
        symbols, defaults = list[Symbol](), list[Node | None]()
        for one, at in head.parameters:
            t, reference, _ = self.types.read(one)
            const = self.is_const(one)
            if t.kind == "a":
                t = CType("a", of=t.of, length=t.length)
            if self.cplus and (container := self.declared.read_container(self.declared.resolve_typedefs(one))):
                t, reference = self.types.make_container_type(container), False
                # A function may change a container that it gets by value.
                const = container.const and (container.reference or container.container in VIEWS)
            symbol = Symbol(one.name, t, "parameter", reference=reference, const=const, at=lowerer.find_position(at))
            symbols.append(symbol)
            default = find_default(at) or self._defaults.get((definition.name, len(head.parameters), len(defaults)))
            defaults.append(default)
            if default is not None:
                symbol.initial = lowerer.convert(lowerer.lower_value(default), t)
        if head.returned.base.startswith("decltype(") and (named := self._find_decltype(definition.node)):
            lowerer.scopes.append({symbol.name: symbol for symbol in symbols})
            returns: tuple[CType, ...] = (lowerer.lower_value(named).type,)
        else:
            returns = self._read_results(head.returned)
        return Head(tuple(symbols), tuple(defaults), returns)

    @staticmethod
    def _find_decltype(definition: Node) -> Node | None:
        """The expression whose type a function returns."""
        declarator = definition.child_by_field_name("declarator")
        nodes = (node for node in walk(declarator) if node.type == "decltype") if declarator else iter(())
        return next((part for node in nodes for part in list_parts(node)), None)

    def is_const(self, declared: Declaration) -> bool:
        """Whether what a declaration leads to is const, typedefs seen through."""
        return self.declared.resolve_typedefs(declared).const

    def _read_results(self, returned: Declaration) -> tuple[CType, ...]:
        if not returned.marks and returned.base == "void":
            return ()
        several = self.types.find_parts(returned.base) if not returned.marks else ()
        if several:
            return several
        t = self.types.read(returned).type
        return () if t.kind == "v" else self.types.find_parts(t.name) or (t,)

    def returns(self, name: str, index: int) -> tuple[CType, ...]:
        """The types that a function returns; what is ``auto`` needs the body."""
        definition = self.find_definitions(name)[index]
        returns = self.lower_head(definition).returns
        if returns != (AUTO,):
            return returns
        running = self._functions.get(definition.node.id, definition)
        return (AUTO,) if running is None else self.lower_function(definition).returns

    @take_turns
    def lower_function(self, definition: FunctionDefinition) -> FunctionIR:
        """A function, lowered once."""
        known = self._functions.get(definition.node.id)
        if known is None:
            self._functions[definition.node.id] = None  # while its body is being read
            known = self._functions[definition.node.id] = self._lower_function(definition)
        return known

    def _lower_function(self, definition: FunctionDefinition) -> FunctionIR:
        node = definition.node
        head = self.lower_head(definition)
        lowerer = StatementLowerer(self, self.text.lines)
        lowerer.body = node.child_by_field_name("body")
        lowerer.results = None if head.returns == (AUTO,) else head.returns
        for symbol in head.parameters:
            lowerer.scopes[-1][symbol.name] = symbol
        at = lowerer.find_position(node)
        try:
            body = lowerer.lower_statements(list_parts(lowerer.body))
        except RecursionError:
            everything = frozenset(head.parameters)
            reason = "is nested too deeply for Python"
            body = (
                OpaqueStatement(
                    at=at, reason=reason, text="", reads=everything, writes=everything, repeats=True, acts=True
                ),
            )
        if node.has_error:
            broken = [n for n in walk(lowerer.body or node) if n.type == "ERROR"]
            inside = tuple(part for n in broken for part in lowerer.lower_inside(n))
            reason = "has syntax that could not be read"
            body = (OpaqueStatement(at=at, reason=reason, text="", parts=inside, acts=True), *body)
        return FunctionIR(
            name=definition.name,
            parameters=head.parameters,
            returns=head.returns if lowerer.results is None or head.returns != (AUTO,) else lowerer.results,
            body=Block(at=lowerer.find_position(lowerer.body) if lowerer.body is not None else at, body=body),
            language="c++" if self.cplus else "c",
            at=at,
            calls=tuple(lowerer.calls),
        )


def _find_root_name(node: Node | None) -> str:
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("argument") or next(iter(node.named_children), None)
    return take_text(node) if node is not None else ""
