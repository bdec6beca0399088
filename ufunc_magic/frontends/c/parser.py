"""C and C++ text -> the functions in it, with positions and with what their bodies do; nothing is run.

Text that is not C is no error here: what can be read is returned, and the compiler reports the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from ...model import Function, Unit
from ...python_form import CText, readable
from . import c_text, declarations, line_markers
from .declarations import ReferenceParameter
from .side_effects import Scanned, Subject, effects, pure, reached, scan

#: Line of the text that is parsed -> file and line it stands for.
_Origin = Callable[[int], tuple[str, int]]


def _as_is(line: int) -> tuple[str, int]:
    return "", line


def parse(text: str, *, cplus: bool = False) -> Unit:
    """Read a cell.

    Parameters
    ----------
    text : str
        The cell as typed.
    cplus : bool
        Read it as C++ rather than C.

    Returns
    -------
    Unit
        Every function definition that is not a method, operator, lambda or specialisation, in order.
    """
    return parse_with_tree(text, cplus=cplus)[0]


def parse_with_tree(text: str, *, cplus: bool) -> tuple[Unit, CText]:
    """`parse`, and the tree for those who read bodies."""
    taken = c_text.read(text, cplus=cplus)
    parsed = _parsed(taken, cplus=cplus)
    return _unit(taken, parsed, types=declarations.DeclaredTypes(cplus), origin=_as_is), parsed


def _parsed(text: c_text.Text, *, cplus: bool) -> CText:
    code = readable(text.code)
    return CText(code, c_text.tree(code, cplus=cplus), text.macros)


def parse_preprocessed(
    text: str, *, cell_name: str, cell_text: str, cplus: bool = False, typed: Unit | None = None
) -> Unit:
    """Read a cell through the preprocessor's output (``cc -E``, line markers kept).

    Parameters
    ----------
    text : str
        What the preprocessor wrote.
    cell_name : str
        Name of the cell in the line markers, ``"In[3]"``.
    cell_text : str
        The cell as typed, for what the preprocessor drops: comments, macros, includes.
    cplus : bool
    typed : Unit
        What `parse` made of the cell as typed; it is parsed here if omitted.

    Returns
    -------
    Unit
        Functions of the cell and of local headers, at the lines where they were written.  Typedefs of system
        headers are there as far as the cell's own text leads to them.
    """
    lines, system = line_markers.own_lines(text, cell_name=cell_name)
    own = "\n".join(line.text for line in lines)
    types = declarations.DeclaredTypes(cplus)
    known = "\n".join(line_markers.typedefs_of(system, c_text.words(own))).encode()
    for node in c_text.tree(readable(known), cplus=cplus).named_children:
        if node.type in _TYPES:
            types.define(node)

    def origin(line: int) -> tuple[str, int]:
        return (lines[line - 1].file, lines[line - 1].number) if line <= len(lines) else ("", 0)

    own_text = c_text.read(own, cplus=cplus)
    unit = _unit(own_text, _parsed(own_text, cplus=cplus), types=types, origin=origin)
    typed_text = c_text.read(cell_text, cplus=cplus)
    typed = typed or parse(cell_text, cplus=cplus)
    return replace(
        unit,
        functions=tuple(_as_typed(function, typed, typed_text) for function in unit.functions),
        calls=unit.calls | typed.calls,
        identifiers=unit.identifiers | typed.identifiers,
        macros=typed.macros,
        includes=typed.includes,
    )


def _as_typed(function: Function, typed: Unit, text: c_text.Text) -> Function:
    """A preprocessed function with its own words and comment, where the cell holds them."""
    if function.file:
        return function
    same = next((f for f in typed.functions if f.name == function.name and f.line == function.line), None)
    doc, annotation = text.comment_above(text.offset(function.line))
    return replace(
        function,
        text=same.text if same else function.text,
        doc=doc or function.doc,
        annotation=annotation or function.annotation,
    )


@dataclass
class _Place:
    """Where in the text a node stands: around it namespaces, a template, something with no linkage."""

    scope: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    hidden: bool = False
    #: Inside of ``extern "C"``.
    c_linkage: bool = False
    #: The whole ``template <...>`` definition, which is what a comment stands above.
    outer: Node | None = None


@dataclass
class _Cell:
    """A text while it is being read."""

    text: c_text.Text
    types: declarations.DeclaredTypes
    origin: _Origin
    #: Functions, whose calls are still to be followed, with their bodies.
    drafts: list[tuple[Function, Scanned]] = field(default_factory=list)
    #: File-scope variables -> whether they can change.
    variables: dict[str, bool] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    interface: dict[str, None] = field(default_factory=dict)


def _unit(text: c_text.Text, parsed: CText, *, types: declarations.DeclaredTypes, origin: _Origin) -> Unit:
    cell = _Cell(text, types, origin)
    types.constants.update(text.macros)
    nodes = [(parsed.root, _Place())]
    while nodes:
        node, place = nodes.pop()
        nodes += reversed(_read(cell, node, place))
    code = text.code.decode(errors="replace")
    bodies = "\n".join(text.macros.values())
    return Unit(
        functions=_finished(cell),
        typedefs={name: declared.spelled() for name, declared in cell.types.typedefs.items()},
        names=tuple(cell.names),
        calls=frozenset().union(*(function.calls for function, _ in cell.drafts), c_text.called(bodies)),
        identifiers=c_text.words(code) | c_text.words(bodies) | text.macros.keys(),
        macros=tuple(text.macros),
        includes=text.includes,
        unknown_types=tuple(name for name in cell.interface if not cell.types.known(name)),
    )


_TYPES = frozenset(("type_definition", "alias_declaration"))
_INSIDE = frozenset(("translation_unit", "declaration_list", "ERROR"))


def _read(cell: _Cell, node: Node, place: _Place) -> list[tuple[Node, _Place]]:
    """Take one node of file scope in; the nodes inside it that are still to be read."""
    kind = node.type
    if kind in _INSIDE:
        return [(child, place) for child in node.named_children]
    if kind == "function_definition":
        _read_function(cell, node, place)
    elif kind == "declaration":
        _read_declaration(cell, node, place)
    elif kind in _TYPES:
        _name(cell, cell.types.define(node), place)
    elif kind in declarations.TAGGED:
        _name(cell, cell.types.tag(node), place)
    elif kind == "linkage_specification":
        body = node.child_by_field_name("body")
        linkage = declarations.text_of(node.child_by_field_name("value") or node)
        # Of one function, the comment stands above these words.
        outer = node if body and body.type == "function_definition" else place.outer
        return [(body, replace(place, c_linkage=linkage == '"C"', outer=outer))] if body else []
    elif kind == "namespace_definition":
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        words = re.findall(r"\w+", declarations.text_of(name)) if name else []
        _name(cell, words[:1], place)
        inner = replace(place, scope=(*place.scope, *words), hidden=place.hidden or not name)
        return [(body, inner)] if body else []
    elif kind == "template_declaration":
        names = declarations.template_names(node)
        return [
            (child, replace(place, template=names, outer=node))
            for child in node.named_children
            if child.type in ("function_definition", *declarations.TAGGED) and names
        ]
    return []


def _name(cell: _Cell, names: list[str], place: _Place) -> None:
    if not place.scope:
        cell.names.update(dict.fromkeys(name for name in names if name not in c_text.KEYWORDS))


def _read_declaration(cell: _Cell, node: Node, place: _Place) -> None:
    """Variables and prototypes; the latter only say what is defined elsewhere."""
    specifier = node.child_by_field_name("type")
    if specifier:
        _name(cell, cell.types.tag(specifier), place)
    for declared, value in declarations.declared_by(node):
        if any(mark.kind == "(" for mark in declared.marks[:1]) or not declared.name:
            continue
        fixed = declared.const and not any(mark.kind == "*" for mark in declared.marks)
        cell.variables[declared.name] = not fixed
        if fixed and value:
            cell.types.constants[declared.name] = value
        if "extern" not in declared.storage or value:
            _name(cell, [declared.name], place)


def _read_function(cell: _Cell, node: Node, place: _Place) -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    declared = next((declared for declared, _ in declarations.declared_by(node)), None)
    if declared is None or not declared.name or not declared.marks or declared.marks[0].kind != "(":
        return
    *outer, name = declared.name.split("::")
    if not re.fullmatch(r"[^\W\d][\w$]*", name) or (cell.types.is_class(outer[-1]) if outer else False):
        return
    if cell.types.cplus and not declared.base:  # a constructor
        return
    parameters, variadic = cell.types.parameters(declared.marks[0], node=node, template=place.template)
    top = place.outer or node
    file, line = cell.origin(top.start_point[0] + 1)
    doc, annotation = cell.text.comment_above(top.start_byte)
    # A parameter's references have no star or bracket to reach the element by.
    subjects = tuple(
        Subject(p.name, 0 if isinstance(p, ReferenceParameter) else p.pointer + len(p.shape), p.const)
        if p.name and (p.pointer or p.shape)
        else None
        for p in parameters
    )
    deeds = scan(body, subjects=[s for s in subjects if s])
    scanned = Scanned(name, deeds, subjects, frozenset(i for i, p in enumerate(parameters) if p.shape))
    returned = declared.returned()
    for word in (returned.base, *(p.type for p in parameters)):
        cell.interface.update(dict.fromkeys(declarations.type_words(word, without=place.template)))
    function = Function(
        name=name,
        returns=returned.spelled() or "int",
        parameters=tuple(p if (at := cell.origin(p.line)[1]) == p.line else replace(p, line=at) for p in parameters),
        line=line,
        end_line=cell.origin(node.end_point[0] + 1)[1],
        file=file,
        text=cell.text.raw[top.start_byte : node.end_byte].decode(errors="replace"),
        # Some libraries, ERFA for one, have theirs between the parameters and the brace.
        doc=doc or cell.text.comment_between(declarations.end_of_declarator(node), body.start_byte),
        annotation=annotation,
        static=place.hidden or "static" in declared.storage,
        variadic=variadic,
        template=place.template,
        scope=(*place.scope, *outer),
        qualifiers=declarations.qualifiers(node) | ({'extern "C"'} if place.c_linkage else set()),
        calls=frozenset(deeds.calls),
        loops=deeds.loops,
    )
    cell.drafts.append((function, scanned))
    specifier = node.child_by_field_name("type")
    _name(cell, cell.types.tag(specifier) if specifier else [], place)
    _name(cell, [name], place)


def _finished(cell: _Cell) -> tuple[Function, ...]:
    """The functions with everything that needs all of them."""
    scanned = [body for _, body in cell.drafts]
    touched, calls = effects(scanned), reached(scanned)
    changing = {name for name, changes in cell.variables.items() if changes}
    types = cell.types.typedefs.keys() | {name for function, _ in cell.drafts for name in function.template}
    clean = pure(scanned, changing=changing, types=types, macros=cell.text.macros)
    sizes: Counter[str] = Counter()
    for one in scanned:
        sizes[one.name] += one.body.size
    functions = []
    for (function, own), effect in zip(cell.drafts, touched, strict=True):
        parameters = tuple(
            replace(p, access=effect[p.name][0], indexed=effect[p.name][1]) if p.name in effect else p
            for p in function.parameters
        )
        functions.append(
            replace(
                function,
                parameters=parameters,
                pure=function.name in clean,
                size=own.body.size + sum(sizes[name] for name in calls[function.name] - {function.name}),
                recursive=function.name in calls[function.name],
            )
        )
    return tuple(functions)
