"""C and C++ text -> the functions in it, with positions and with what their bodies do; nothing is run.

Text that is not C is no error here: what can be read is returned, and the compiler reports the rest.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tree_sitter import Node

from ...ir import (
    FunctionIR,
    Program,
    find_effects,
    find_header_constant,
    find_index_bounds,
    find_length_hints,
    find_loop_lines,
    find_value_uses,
    is_pure,
)
from ...model import BodyFacts, ContainerParameter, Function, Unit
from . import c_text, declarations, intrinsics, line_markers
from .c_tree import make_readable, parse_initializer, parse_readable, parse_tree, take_text, take_turns, walk
from .declarations import CText, Declaration
from .lowering import lower

#: Line of the text that is parsed -> its file and line.
_Origin = Callable[[int], tuple[str, int]]

_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<[^>\n]*>", re.M)
#: Nodes of which constants are made, apart from names.
_CONSTANT = frozenset(
    "number_literal parenthesized_expression unary_expression binary_expression conditional_expression cast_expression "
    "type_descriptor primitive_type sized_type_specifier sizeof_expression call_expression argument_list".split()
)


def parse(source: str, *, cplus: bool = False, predefined: Mapping[str, str] = MappingProxyType({})) -> Unit:
    """Every function definition of a text that is not a method, operator, lambda or specialisation, in order."""
    return parse_cell(source, cplus=cplus, predefined=predefined)[0]


@take_turns
def parse_cell(
    source: str,
    *,
    name: str = "",
    cplus: bool = False,
    preprocess: Callable[[str], str] | None = None,
    known: Collection[str] = (),
    wrap: Collection[str] = (),
    predefined: Mapping[str, str] = MappingProxyType({}),
    expand: bool = False,
) -> tuple[Unit, CText]:
    """Read a cell, and return its tree for readers of bodies.

    Where macros decide what the cell says, the preprocessor's output is what is parsed.  Comments are found where
    they were typed, by the line.

    Parameters
    ----------
    source : str
        The cell as typed.
    name : str
        Its name in the preprocessor's line markers, ``"In[3]"``.
    cplus : bool
        Read it as C++ rather than C.
    preprocess : function
        Runs the preprocessor over a text (``cc -E``, line markers kept), which is done only where the text as typed
        does not show every function and type.
    known : collection of str
        Types that no header needs to define.
    wrap : collection of str
        Patterns of names that headers declare and that are to be among the unit's prototypes.
    predefined : mapping
        Macros of the compiler's, for the text as typed.
    expand : bool
        Macros that are not in the text, or headers in angle brackets, decide what it says.

    Returns
    -------
    Unit
        Functions of the cell and of local headers, at the lines where they were written.  Typedefs of system headers
        are there as far as the cell's own text leads to them.
    CText
    """
    typed = c_text.read(source, cplus=cplus, predefined=predefined)
    if preprocess and (wrap or expand or not _shows_itself(typed)):
        if not (wrap or expand or typed.conditional or typed.own_headers):
            # Its own macros need no headers, which take the preprocessor longer than all the rest.
            unit, tree = _read_preprocessed(typed, preprocess(_HEADER.sub("", source)), name=name, cplus=cplus)
            if unit.functions and not any(word not in known for word in unit.unknown_types):
                return unit, tree
        return _read_preprocessed(typed, preprocess(source), name=name, cplus=cplus, wrap=wrap)
    objects = {macro: body for macro, body in typed.macros.items() if macro not in typed.functions}
    types = declarations.DeclaredTypes(cplus)
    tree = _read_tree(typed, typed.code, types, macros=objects, lines=range(1, typed.code.count(b"\n") + 2))
    unit = _read_unit(_Cell(typed, typed, types, lambda line: ("", line)), tree)
    unknown = any(word not in known for word in unit.unknown_types)
    if not preprocess or not (unknown or (typed.includes and not (unit.functions or unit.prototypes))):
        return unit, tree
    # Headers define types, and their macros may be types or make functions.
    return _read_preprocessed(typed, preprocess(source), name=name, cplus=cplus)


def _shows_itself(text: c_text.Text) -> bool:
    """Whether the text shows what is compiled: where it uses macros, they are constants."""
    if text.conditional or text.own_headers:
        return False
    macros = text.macros
    if not macros:
        return True
    if c_text.KEYWORDS & macros.keys():
        return False
    used = c_text.find_words(text.code.decode(errors="replace"))

    def constant(macro: str) -> bool:
        value = parse_initializer(macros[macro]) if macro not in text.functions else None
        nodes = list(walk(value)) if value is not None else []
        names = {take_text(node) for node in nodes if node.type == "identifier"}
        return (
            (macros[macro].isupper() or any(node.type == "number_literal" for node in nodes))
            and all(node.type == "identifier" or node.type in _CONSTANT for node in nodes)
            and all(
                n in macros or _is_pure(n) or find_header_constant(n) or (n.isupper() and n not in used) for n in names
            )
        )

    return all(constant(macro) for macro in macros.keys() & (used | c_text.find_words("\n".join(macros.values()))))


def _read_preprocessed(
    typed: c_text.Text, text: str, *, name: str, cplus: bool, wrap: Collection[str] = ()
) -> tuple[Unit, CText]:
    """The cell ``typed`` as the preprocessor's output ``text`` says it; to ``wrap`` headers, with them."""
    lines = line_markers.split_lines(text, cell_name=name)
    system = "\n".join(line.text for line in lines if line.text and not line.own)
    lines = lines if wrap else [line for line in lines if line.own]
    code = c_text.read("\n".join(line.text for line in lines).replace("(__extension__ 1.0iF)", "I"), cplus=cplus)

    def origin(line: int) -> tuple[str, int]:
        return (lines[line - 1].file, lines[line - 1].number) if line <= len(lines) else ("", 0)

    types, header = declarations.DeclaredTypes(cplus), None
    if wrap:
        # Functions that macros of the header rename: ``#define pnorm pnorm5``.
        renamed = {b: macro for macro, b in code.macros.items() if macro not in code.functions and b.isidentifier()}
        also = not all(map(_is_of_c_library, typed.includes))
        header = _Header(lambda line: not lines[min(line, len(lines)) - 1].own, wrap, renamed, also)
    else:
        types = _read_system_types(system, code.code.decode(errors="replace"), cplus=cplus)
    tree = _read_tree(typed, code.code, types, lines=[line.number for line in lines])
    return _read_unit(_Cell(code, typed, types, origin, header), tree), tree


def _read_tree(
    typed: c_text.Text,
    code: bytes,
    types: declarations.DeclaredTypes,
    *,
    macros: Mapping[str, str] = MappingProxyType({}),
    lines: Sequence[int],
) -> CText:
    code, root = parse_readable(make_readable(code), cplus=types.cplus)
    return CText(code, root, macros, lines, types, "<tgmath.h>" in typed.includes)


def _read_system_types(system: str, code: str, *, cplus: bool) -> declarations.DeclaredTypes:
    """The types of system headers that ``code`` leads to."""
    types = declarations.DeclaredTypes(cplus)
    types.outside = "\n".join(line_markers.find_types(system, code, cplus=cplus))
    if types.outside:
        types.use_outside(parse_tree(make_readable(types.outside.encode()), cplus=cplus).named_children)
    return types


#: Headers of the C library, and folders of such headers.
_C_LIBRARY = frozenset(
    "alloca assert complex ctype errno features fenv float getopt inttypes iso646 limits locale malloc math memory "
    "pthread sched setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string "
    "strings tgmath threads time uchar unistd values wchar wctype".split()
)
_C_LIBRARY_FOLDERS = frozenset(("arch", "asm", "bits", "gnu", "linux", "sys"))


def _is_of_c_library(header: str) -> bool:
    """Whether a header, ``<math.h>`` or a path, is one of the C library."""
    path = Path(header.strip('<>"'))
    return path.parent.name in _C_LIBRARY_FOLDERS or path.stem in _C_LIBRARY


class _Header(NamedTuple):
    """The functions of headers that count.

    ``outside`` tests a line, ``other`` has other names of functions.  Where the cell includes the header of another
    library, ``also`` leaves the C library's functions to patterns that say something of their names.
    """

    outside: Callable[[int], bool]
    patterns: Collection[str]
    other: Mapping[str, str]
    also: bool

    def includes(self, name: str, file: str) -> bool:
        """Whether a pattern fits a function or its other name."""
        of_c = bool(self.also and file) and _is_of_c_library(file)
        patterns = [p for p in self.patterns if p.strip("*?") or not of_c]
        return any(fnmatch.fnmatchcase(n, p) for n in (name, self.other.get(name, "")) if n for p in patterns)


@dataclass
class _Place:
    """The surroundings of a node: namespaces, a template, something with no linkage."""

    scope: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    hidden: bool = False
    #: In a header that is not the user's.
    outside: bool = False
    #: Inside of ``extern "C"``.
    c_linkage: bool = False
    #: The enclosing ``template <...>`` node; comments precede it.
    outer: Node | None = None


@dataclass
class _Cell:
    """A text while it is being read, and the cell as it was typed, which is the same where no macros decide."""

    text: c_text.Text
    typed: c_text.Text
    types: declarations.DeclaredTypes
    origin: _Origin
    header: _Header | None = None
    prototypes: dict[str, Function] = field(default_factory=dict)
    #: Functions, still without what their bodies do, with their definitions.
    drafts: list[tuple[Function, Node]] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    interface: dict[str, None] = field(default_factory=dict)
    #: Templates of functions that have no type parameters, but packs or numbers.
    untyped: dict[str, None] = field(default_factory=dict)


def _read_unit(cell: _Cell, tree: CText) -> Unit:
    cell.types.constants.update(tree.macros)
    nodes = [(tree.root, _Place())]
    while nodes:
        node, place = nodes.pop()
        nodes += reversed(_read(cell, node, place))
    typed = cell.typed
    bodies = "\n".join(typed.macros.values())
    texts = dict.fromkeys((typed.code if cell.header else cell.text.code, typed.code, bodies.encode()))
    functions = _add_effects(cell, tree)
    own = {function.name for function in functions}
    functions = tuple(_use_defaults(f, cell.prototypes.get(f.name)) for f in functions)
    return Unit(
        functions=functions,
        typedefs={name: declared.spell() for name, declared in cell.types.typedefs.items()},
        names=tuple(cell.names),
        calls=frozenset().union(*(function.body.calls for function in functions), c_text.find_called(bodies)),
        identifiers=c_text.find_words("\n".join(t.decode(errors="replace") for t in texts)) | typed.macros.keys(),
        macros=tuple(typed.macros),
        includes=typed.includes,
        unknown_types=tuple(w for w in cell.interface if cell.types.lacks(w, structures=bool(typed.includes))),
        prototypes=tuple(function for name, function in cell.prototypes.items() if name not in own),
        records=cell.types.records,
        untyped=tuple(name for name in cell.untyped if name not in own),
        stray_notes=_find_stray_notes(cell, (*functions, *cell.prototypes.values())),
    )


def _use_defaults(function: Function, prototype: Function | None) -> Function:
    """A function with the default arguments of its prototype."""
    if prototype is None or len(prototype.parameters) != len(function.parameters):
        return function
    both = zip(function.parameters, prototype.parameters, strict=True)
    parameters = (replace(p, default=other.default) if other.default else p for p, other in both)
    return replace(function, parameters=tuple(parameters))


_TYPES = frozenset(("type_definition", "alias_declaration"))
_INSIDE = frozenset(("translation_unit", "declaration_list", "ERROR"))


def _read(cell: _Cell, node: Node, place: _Place) -> list[tuple[Node, _Place]]:
    """Take one node of file scope in; the nodes inside it that are still to be read."""
    kind = node.type
    if cell.header:
        place = replace(place, outside=cell.header.outside(node.start_point[0] + 1))
    if kind in _INSIDE:
        return [(child, place) for child in node.named_children]
    if kind == "function_definition":
        _read_function(cell, node, place)
    elif kind == "declaration":
        _read_declaration(cell, node, place)
    elif kind in _TYPES:
        _note_names(cell, cell.types.define(node), place)
    elif kind in declarations.TAGGED:
        _note_names(cell, cell.types.take_tag(node), place)
    elif kind == "linkage_specification":
        body = node.child_by_field_name("body")
        linkage = take_text(node.child_by_field_name("value") or node)
        # The comment of a single function precedes these words.
        outer = node if body and body.type == "function_definition" else place.outer
        return [(body, replace(place, c_linkage=linkage == '"C"', outer=outer))] if body else []
    elif kind == "namespace_definition":
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        words = [word.strip() for word in take_text(name).split("::")] if name else []
        _note_names(cell, words[:1], place)
        inner = replace(place, scope=(*place.scope, *words), hidden=place.hidden or not name)
        return [(body, inner)] if body else []
    elif kind == "template_declaration":
        names = declarations.read_template_names(node)
        if not names and b"__global__" in (node.text or b"").partition(b"{")[0]:
            names = ("",)  # of numbers alone: the cell says which of them a kernel is launched with
        if not names and declarations.read_template_parameters(node):
            heads = (cell.types.read_head(n) for n in node.named_children if n.type == "function_definition")
            cell.untyped.update(dict.fromkeys(head.declared.name for head in heads if head))
        return [
            (child, replace(place, template=names, outer=node))
            for child in node.named_children
            if child.type in ("function_definition", *declarations.TAGGED) and names
        ]
    return []


def _note_names(cell: _Cell, names: list[str], place: _Place) -> None:
    if not (place.scope or place.outside):
        cell.names.update(dict.fromkeys(name for name in names if name not in c_text.KEYWORDS))


def _read_declaration(cell: _Cell, node: Node, place: _Place) -> None:
    """Variables and prototypes; the latter only say what is defined elsewhere."""
    specifier = node.child_by_field_name("type")
    if specifier:
        _note_names(cell, cell.types.take_tag(specifier), place)
    for declared, value in declarations.read_declarations(node):
        if declared.marks and declared.marks[0].kind == "(":
            _read_prototype(cell, node, declared, place)
            continue
        if not declared.name or place.outside:
            continue
        fixed = declared.const and not any(mark.kind == "*" for mark in declared.marks)
        if fixed and value:
            cell.types.constants[declared.name] = value
        if "extern" not in declared.storage or value:
            _note_names(cell, [declared.name], place)


def _read_prototype(cell: _Cell, node: Node, declared: Declaration, place: _Place) -> None:
    """A function that is declared without a body, or is in a header that is not the user's."""
    name, header = declared.name, cell.header
    top = place.outer or node
    file, line = cell.origin(top.start_point[0] + 1)
    other = header.other.get(name, "") if header else ""
    if header and file and (name.startswith("__") or not header.includes(name, file)):
        return
    # An empty list says nothing in C.
    silent = declared.marks[0].text == "()" and not cell.types.cplus
    if (
        not name.isidentifier()
        or silent
        or place.scope
        or place.template
        or (node.type == "declaration" and "static" in declared.storage)
    ):
        return
    head = cell.types.read_function_head(declared, node)
    parameters = cell.types.read_parameters(head)
    text, doc, annotation = _find_typed_text(cell, name, top, node, file, line, cell.origin(node.end_point[0] + 1)[1])
    if file:
        text = text.partition("{")[0].strip()
        doc, annotation = _find_comment(file, line)
    for word in () if place.outside else (head.returned.base, *(p.type for p in parameters)):
        cell.interface.update(dict.fromkeys(declarations.type_words(word)))
    # ``x[]`` is more than one number, and so is what is called an array.
    parameters = tuple(
        replace(
            p,
            name=p.name.lstrip("_") if file else p.name,
            line=line,
            indexed=bool(p.pointer and (p.indexed or p.name.endswith(("arr", "array")))),
        )
        for p in parameters
    )
    cell.prototypes[name] = Function(
        name=name,
        returns=head.returned.spell() or "int",
        parameters=parameters,
        line=line,
        end_line=line,
        file=file,
        text=text,
        doc=doc,
        annotation=annotation or (f"name={other}" if other else ""),
        variadic=head.variadic,
        qualifiers=frozenset({'extern "C"'}) if place.c_linkage else frozenset(),
        body=BodyFacts(calls=frozenset({name}), pure=_is_pure(name), traceless=_is_pure(name)),
        external=True,
    )


@lru_cache(maxsize=64)
def _read_header(file: str) -> c_text.Text | None:
    try:
        return c_text.read(Path(file).read_text(errors="replace"))
    except OSError:
        return None


def _find_comment(file: str, line: int) -> tuple[str, str]:
    """The comment above a line of a header; of a list of declarations without blank lines, above the first."""
    text = _read_header(file)
    while text and line > 0:
        comment = text.read_comment_of(line)
        above = text.get_lines(line - 1, line - 1).strip() if line > 1 else ""
        if any(comment) or not above.endswith(";") or above.startswith("#"):
            return comment
        line -= 1
    return "", ""


def _read_function(cell: _Cell, node: Node, place: _Place) -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    head = cell.types.read_head(node)
    if head is None:
        return
    declared = head.declared
    *outer, name = declared.name.split("::")
    # Namespaces have no arguments.
    member = bool(outer) and ("<" in outer[-1] or cell.types.is_class(outer[-1]))
    if member or not name.replace("$", "_").isidentifier():
        return
    if cell.types.cplus and not declared.base:  # a constructor
        return
    # The bodies of a header library are read wherever it is.
    if place.outside and not (cell.header and "static" in declared.storage):
        return _read_prototype(cell, node, declared, place)
    parameters = cell.types.read_parameters(head)
    top = place.outer or node
    file, line = cell.origin(top.start_point[0] + 1)
    last = cell.origin(node.end_point[0] + 1)[1]
    text, doc, annotation = _find_typed_text(cell, name, top, node, file, line, last)
    template = (*place.template, *head.invented)
    for word in (head.returned.base, *(p.type for p in parameters)):
        cell.interface.update(dict.fromkeys(declarations.type_words(word, without=template)))
    function = Function(
        name=name,
        returns=head.returned.spell() or "int",
        parameters=tuple(p if (at := cell.origin(p.line)[1]) == p.line else replace(p, line=at) for p in parameters),
        line=line,
        end_line=last,
        file=file,
        text=text,
        # Some libraries, ERFA for one, have theirs between the parameters and the brace.
        doc=doc or cell.text.read_comment_between(declarations.find_end_of_declarator(node), body.start_byte)[0],
        annotation=annotation,
        static=place.hidden
        or ("static" in declared.storage and not (file and cell.header and cell.header.includes(name, file))),
        variadic=head.variadic,
        template=template,
        scope=(*place.scope, *outer),
        qualifiers=declarations.read_qualifiers(node) | ({'extern "C"'} if place.c_linkage else set()),
    )
    cell.drafts.append((function, node))
    specifier = node.child_by_field_name("type")
    _note_names(cell, cell.types.take_tag(specifier) if specifier else [], place)
    _note_names(cell, [name], place)


def _find_typed_text(
    cell: _Cell, name: str, top: Node, end: Node, file: str, line: int, last: int
) -> tuple[str, str, str]:
    """The text of a definition, its comment, and the words after ``ufunc:`` there.

    The comment is above it, or between its words before the body: below an attribute, ``template <...>`` or the
    result's type.
    """
    raw = cell.text.raw
    text = raw[top.start_byte : end.end_byte].decode(errors="replace")
    body = end.child_by_field_name("body")
    head = end.child_by_field_name("declarator") or end
    if cell.text is cell.typed:
        doc, above = cell.text.read_comment_above(top.start_byte)
        doc = doc or cell.text.read_comment_between(top.start_byte, head.start_byte)[0]
        return text, doc, _join(above, cell.text.read_comment_between(top.start_byte, (body or end).start_byte)[1])
    typed = _read_header(file) if file else cell.typed
    if typed is None:
        return text, "", ""
    doc, above = typed.read_comment_of(line)
    first = cell.origin((body or head).start_point[0] + 1)[1]
    inside = (
        typed.read_comment_between(typed.start_of_line(line), typed.start_of_line(first))[1] if first > line else ""
    )
    annotation = _join(above, inside)
    if file:
        return text, doc, annotation
    # As typed, where these lines hold nothing else and the name itself.
    around = raw[raw.rfind(b"\n", 0, top.start_byte) + 1 : top.start_byte] + raw[end.end_byte :].partition(b"\n")[0]
    written = typed.get_lines(line, last).strip()
    whole = not around.strip() and written.endswith("}") and name in c_text.find_called(written)
    return written if whole else text, doc, annotation


def _join(*notes: str) -> str:
    return " ".join(filter(None, notes))


def _find_stray_notes(cell: _Cell, functions: Sequence[Function]) -> tuple[tuple[int, str], ...]:
    """The comments with words after ``ufunc:`` that count for no function, by line."""
    ends = sorted((f.end_line, f.annotation) for f in functions if not f.file)
    stray = []
    for line, words in cell.typed.list_notes():
        after = next((annotation for end, annotation in ends if end >= line), "")
        if words not in after:
            stray.append((line, words))
    return tuple(stray)


def _add_effects(cell: _Cell, tree: CText) -> tuple[Function, ...]:
    """The functions with what their bodies do, and what they call with them."""
    program = lower(tree)
    bodies = [_find_lowered(program, function.name, node) for function, node in cell.drafts]
    types = cell.types.typedefs.keys() | {name for function, _ in cell.drafts for name in function.template}
    sizes: Counter[str] = Counter()
    for function, node in cell.drafts:
        sizes[function.name] += _count_nodes(node)
    functions = []
    everything = zip(
        cell.drafts,
        bodies,
        find_effects(bodies, pure=_is_pure, types=types),
        find_index_bounds(bodies),
        find_value_uses(bodies),
        strict=True,
    )
    for (function, node), body, effect, lengths, uses in everything:
        parameters, hints = [], find_length_hints(body)
        for parameter, symbol, use in zip(function.parameters, body.parameters, uses, strict=True):
            unsized = parameter.indexed
            parameter = replace(parameter, use=use, indexed=False)
            if hint := hints.pointers.get(symbol):
                parameter = replace(parameter, dims=hint.dims, like=hint.own)
            if (pointer := effect.pointers.get(symbol)) and (parameter.pointer or parameter.shape):
                has_length = parameter.shape or isinstance(parameter, ContainerParameter)
                length = None if has_length else lengths.get(symbol)
                parameter = replace(
                    parameter,
                    access=pointer.access,
                    # The body does not show what a function that is only declared does with ``x[]``.
                    indexed=pointer.indexed or (unsized and pointer.escapes),
                    length=length.name if length is not None else "",
                    fate=pointer.fate,
                )
            parameters.append(parameter)
        functions.append(
            replace(
                function,
                parameters=tuple(parameters),
                body=BodyFacts(
                    calls=effect.calls,
                    loops=effect.loops,
                    loop_lines=find_loop_lines([body]),
                    loop_ends=frozenset(s.name for s in hints.ends),
                    pure=effect.pure,
                    traceless=effect.traceless,
                    size=_count_nodes(node) + sum(sizes[name] for name in effect.reaches - {function.name}),
                    recursive=function.name in effect.reaches,
                    truncates=effect.truncates,
                    local_arrays=effect.local_arrays,
                ),
            )
        )
    return tuple(functions)


def _find_lowered(program: Program, name: str, node: Node) -> FunctionIR:
    """The function that was lowered from a definition."""
    return next(f for f in program.functions[name] if f.at.start == node.start_byte)


def _count_nodes(definition: Node) -> int:
    body = definition.child_by_field_name("body")
    return body.descendant_count if body is not None else 0


def _is_pure(name: str) -> bool:
    """Whether a function of a library, or of compilers, depends on its arguments only."""
    return is_pure(name) or intrinsics.is_pure(name)
