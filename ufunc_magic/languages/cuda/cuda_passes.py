"""The parts of a CUDA cell that nvcc's two passes compile, read from the cell's tree.

nvcc parses a file twice, with all its headers.  The pass of the host makes code of everything that is neither
``__device__`` nor ``__global__``; a launch becomes a call there.  The pass of the device makes code of the
``__device__`` and ``__global__`` functions and variables, and of nothing else: a host function may use any library.

Neither NVRTC nor the emulation has the host's headers, so the device's part is what the pass of the device reaches:
marked declarations, and by name the types, constants, ``constexpr`` functions and unmarked members that they use.
All else becomes spaces, in the cell and in the user's headers, which are written into the text for that.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ... import codegen
from ...model import Function, Unit
from .. import c
from . import cuda_names, cuda_text

_MARKS = frozenset(("__device__", "__global__", "__constant__", "__managed__"))
_FILE_SCOPE = frozenset(("translation_unit", "declaration_list", "ERROR"))
_CLASSES = frozenset(("class_specifier", "struct_specifier", "union_specifier"))
_TAGS = _CLASSES | {"enum_specifier"}
#: The grammar calls ``ssize_t`` primitive, which a cell may define.
_NAMES = frozenset(("identifier", "type_identifier", "namespace_identifier", "field_identifier", "primitive_type"))
#: Nodes whose declarators are names of the function that they are in.
_LOCALS = frozenset("parameter_declaration optional_parameter_declaration declaration for_range_loop".split())
_TYPE_PARAMETERS = frozenset(
    "type_parameter_declaration optional_type_parameter_declaration variadic_type_parameter_declaration".split()
)
#: Declarations of file scope that exist for whoever names them.
_DECLARATIONS = frozenset(
    """
    declaration type_definition alias_declaration using_declaration namespace_alias_definition concept_definition
    class_specifier struct_specifier union_specifier enum_specifier
    """.split()
)
_SPECIAL = frozenset(("default_method_clause", "delete_method_clause"))
#: Qualifiers that a macro of the cell may consist of.
_QUALIFIERS = _MARKS | set("__host__ __forceinline__ __noinline__ inline static __inline__ constexpr extern".split())
#: Other words of such a macro, with its place among them.
_AROUND = {"extern": -2, '"C"': -1, "void": 1}
_ALIGNMENTS = frozenset(("__align__", "__builtin_align__", "alignas", "__attribute__"))
#: Headers that are inlined at most.  A cell with more includes a library, which has no host's part.
_MOST_HEADERS = 100


# ------------------------------------------------------------------------------------- the user's headers


def inline_headers(source: str, *, name: str, folders: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The cell with its own headers' text in place of their includes, and the headers' paths.

    ``#line`` says where each line is from.  A header that is included again, or by an ``#if`` that is not true, stays
    an include.
    """
    paths: list[str] = []
    directives = c.Directives(cuda_names.PREDEFINED, cplus=True)

    def expand(raw: bytes, file: str, place: str) -> bytes:
        pieces, done, line = list[bytes](), 0, 1
        for start, end, headers in directives.follow(raw):
            path = next(filter(None, (_find_file(header, place, folders) for header in headers)), "")
            text = b"" if path in paths else _read_file(path) if path and len(paths) < _MOST_HEADERS else None
            if text is None:
                continue
            line += raw.count(b"\n", done, end)
            pieces.append(raw[done:start])
            done = end
            if path not in paths:
                paths.append(path)
                first, after = (
                    f"#line {n} {codegen.quote_c(word)}\n".encode() for n, word in ((1, path), (line + 1, file))
                )
                pieces += [first, expand(text, path, os.path.dirname(path)), b"\n", after.rstrip()]
        return b"".join([*pieces, raw[done:]])

    whole = expand(source.encode(errors="replace"), name, os.curdir).decode()
    return (whole, tuple(paths)) if paths else (source, ())


def _find_file(header: str, place: str, folders: Sequence[str]) -> str:
    """The path of a header of the user's, or ``""``."""
    near = [place] if header.startswith('"') else []
    paths = (os.path.join(folder, header[1:-1]) for folder in (*near, *map(os.path.expanduser, folders)) if header)
    return next((path.removeprefix("./") for path in paths if os.path.isfile(path)), "")


def _read_file(path: str) -> bytes | None:
    """A header's text, or None where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r\n", "\n").replace("#pragma once", "").encode()
    except OSError:
        return None


# ------------------------------------------------------------------------------------ the host's part


def list_host_functions(unit: Unit) -> list[Function]:
    """The functions that are neither ``__device__`` nor ``__global__``."""
    return [f for f in unit.functions if not f.qualifiers & {"__device__", "__global__"}]


def list_device_functions(unit: Unit) -> list[Function]:
    """The functions that are ``__device__`` or ``__global__``."""
    return [f for f in unit.functions if f.qualifiers & {"__device__", "__global__"}]


def find_called_host(unit: Unit) -> dict[str, str]:
    """Names that only functions of the host have and that device code calls, each with one that calls it."""
    device = list_device_functions(unit)
    # A constexpr function may be called, for NVRTC as with nvcc's --expt-relaxed-constexpr.
    host = {f.name for f in list_host_functions(unit) if "constexpr" not in f.text.partition("(")[0].split()}
    names = host - {f.name for f in device}
    return {called: f.name for f in device for called in sorted(f.body.calls & names)}


@dataclass(eq=False)
class Part:
    """A declaration of file scope, or a member function of a class.

    Attributes
    ----------
    span, body : (int, int)
        Its bytes, and those of a function's body with the initializers of members; ``(0, 0)`` for none.
    names : frozenset of str
        What it declares: it is used where one of them is.
    uses : frozenset of str
        The names that it uses, without those of its own members and parameters.
    kind : str
        ``"device"``, ``"function"`` (of the host), ``"declaration"``, or ``"statement"``, which declares nothing.
    members : list of Part
        The functions of the host in a class.
    special : bool
        A constructor, destructor or operator of a class, which may be used without its name; a ``constexpr`` function.
    host : bool
        It uses words of the host alone.
    function : bool
        It is a function of file scope.
    """

    span: tuple[int, int]
    names: frozenset[str]
    uses: frozenset[str]
    kind: str
    body: tuple[int, int] = (0, 0)
    members: list[Part] = field(default_factory=list)
    special: bool = False
    host: bool = False
    function: bool = False


def blank_host(source: str, *, unit: Unit | None = None) -> str:
    """The cell with spaces for all that the device's code does not reach; see the head of this file.

    Parameters
    ----------
    unit : Unit
        The functions as the preprocessor's output has them: macros of system headers may mark some.
    """
    text, parts = read_parts(source, unit)
    spared = set(find_called_host(unit or cuda_text.parse(source)))
    named = c.find_words(" ".join(inner for ones in find_instances(source).values() for inner in ones))
    reached = _find_reached(parts, spared=spared, named=named)
    if not any(part.kind == "function" or part.host for whole in parts for part in (whole, *whole.members)):
        # Nothing is the host's but what is not used: the compilers read all of it.
        return source
    raw = bytearray(text.raw)
    for whole in parts:
        if whole not in reached:
            blank(raw, text, whole.span)
            continue
        for member in whole.members:
            if member not in reached:
                blank(raw, text, member.span)
            elif member.host and any(member.body):
                blank(raw, text, member.body)
                raw[member.body[0] : member.body[0] + 1] = b";"
    _blank_libraries(raw, text, reached)
    return raw.decode() if raw != text.raw else source


def blank_libraries(source: str) -> str:
    """The cell with spaces for includes of the host's libraries, which need not be installed to bind kernels."""
    if not any(front in source for front in cuda_names.HOST_HEADERS):
        return source
    text, parts = read_parts(source)
    raw = bytearray(text.raw)
    _blank_libraries(raw, text, [part for part in parts if part.kind == "device"])
    return raw.decode()


def _blank_libraries(raw: bytearray, text: c.Text, parts: Collection[Part]) -> None:
    """Make spaces of the includes of libraries that no one of the device's ``parts`` uses."""
    used = frozenset[str]().union(*(part.uses for part in parts))
    for header in text.includes:
        word = next((w for front, w in cuda_names.HOST_HEADERS.items() if header[1:].startswith(front)), None)
        if word is not None and word not in used:
            at = text.raw.index(header.encode())
            start, end = text.raw.rfind(b"\n", 0, at) + 1, at + len(header)
            raw[start:end] = b" " * (end - start)


def read_parts(source: str, unit: Unit | None = None) -> tuple[c.Text, list[Part]]:
    """The declarations of a cell, in order."""
    text = cuda_text.read(source)
    code, marks = _blank_qualifier_macros(text)
    parts = list(_Reader(text.macros, marks).read_file_scope(c.parse_tree(code, cplus=True)))
    marked = {name for part in parts if part.kind == "device" for name in part.names}
    on_device = {f.name for f in list_device_functions(unit)} - marked if unit is not None else set[str]()
    for part in parts:
        if part.kind == "function" and part.names & on_device:
            part.kind = "device"
    return text, parts


def find_instances(source: str) -> dict[str, list[str]]:
    """Templates' names -> arguments that the cell instantiates explicitly, or names a kernel with: in ``<<<...>>>``.

    Constants and types of the function around count as what they are initialized with; a use whose arguments name a
    variable or a parameter does not count.
    """
    if "<" not in source:
        return {}
    unit, tree = cuda_text.parse_cell(source)
    types = {*c.BUILTIN, *cuda_names.TYPES, *unit.macros, *unit.typedefs, "true", "false"}
    types |= {name for part in read_parts(source)[1] if part.kind == "declaration" for name in part.names}
    kernels = {f.name for f in unit.functions if "__global__" in f.qualifiers}
    result: dict[str, list[str]] = {}
    for node in c.walk(tree.root):
        explicit = node.type == "template_instantiation"
        callee = node.child_by_field_name("declarator") if explicit else node
        template = next((n for n in c.walk(callee) if n.type == "template_function"), None) if callee else None
        name, listed = (template.child_by_field_name(f) if template else None for f in ("name", "arguments"))
        if name is None or listed is None or not (explicit or (node == template and c.take_text(name) in kernels)):
            continue
        arguments = [" ".join(c.take_text(one).split()) for one in listed.named_children if one.type != "comment"]
        constants = {} if explicit else _list_constants(node)
        inner = ", ".join(constants.get(word, word) for word in arguments)
        if explicit or types >= c.find_words(inner):
            known = result.setdefault(c.take_text(name), [])
            known += [inner] if inner not in known else []
    return result


def _list_constants(node: c.Node) -> dict[str, str]:
    """The constants and types that the function around a node declares, as they are initialized."""
    above = next((one for one in c.walk_up(node) if one.type == "function_definition"), None)
    constants: dict[str, str] = {}
    for one in c.walk(above) if above is not None else ():
        if one.type == "declaration":
            fixed = any(c.take_text(word) in ("const", "constexpr") for word in one.children)
            pairs = [(d.name, value) for d, value in c.read_declarations(one) if fixed and not d.marks]
            constants |= {name: constants.get(value, value) for name, value in pairs if value}
        elif one.type == "alias_declaration":
            name, kind = one.child_by_field_name("name"), one.child_by_field_name("type")
            if name is not None and kind is not None:
                constants[c.take_text(name)] = constants.get(c.take_text(kind), c.take_text(kind))
    return constants


def spell_qualifiers(source: str, *, macros_of: str = "") -> str:
    """The cell with the words of CUDA in place of macros that consist of them; lines stay.

    Parameters
    ----------
    macros_of : str
        The cell with its headers, which may define such macros.
    """
    text = cuda_text.read(source)
    macros = cuda_text.read(macros_of or source)
    raw, done, pieces = text.raw, 0, list[bytes]()
    for at, words in sorted(_blank_qualifier_macros(replace(text, macros=macros.macros))[1].items()):
        pieces += [raw[done:at], " ".join(sorted(words, key=lambda word: (_AROUND.get(word, 0), word))).encode()]
        done = at
        while raw[done : done + 1].isalnum() or raw[done : done + 1] == b"_":
            done += 1
    return b"".join([*pieces, raw[done:]]).decode() if pieces else source


def _blank_qualifier_macros(text: c.Text) -> tuple[bytes, dict[int, frozenset[str]]]:
    """The code with spaces for macros that are qualifiers alone, or nothing, and the place of each with its words.

    Alignments become spaces, too: the grammar takes CUDA's words for the names of classes.  So do beginnings of
    templates, which are not in the code but as macros.
    """
    marks: dict[str, frozenset[str]] = {}
    aligned = set(_ALIGNMENTS)
    for name, value in text.macros.items():
        words = frozenset(value.split())
        if name not in text.functions and words <= _QUALIFIERS | _AROUND.keys() | marks.keys() and words != {"void"}:
            marks[name] = frozenset().union(*(marks.get(word, {word}) for word in words))
        elif "{" not in value and (
            any(word in value for word in (*_ALIGNMENTS, "template<>", "template <>")) or aligned & c.find_words(value)
        ):
            aligned.add(name)
    code, places = bytearray(text.code), dict[int, frozenset[str]]()
    for name in [*marks, *aligned]:
        at = code.find(word := name.encode())
        while at >= 0:
            end = at + len(word)
            if not any(
                chr(byte).isalnum() or byte == ord("_") for byte in (*code[max(0, at - 1) : at], *code[end : end + 1])
            ):
                if name in marks:
                    places[at] = marks[name]
                else:
                    end = _find_closing(code, end)
                type_ = b"void" if name in marks and "void" in marks[name] else b""
                code[at:end] = type_.rjust(end - at)[: end - at]
            at = code.find(word, end)
    return bytes(code), places


def _find_closing(code: bytes | bytearray, at: int) -> int:
    """The end of the parentheses that begin at a place, or the place."""
    depth, end = 0, at
    while end < len(code) and (depth or code[end : end + 1].isspace() or code[end : end + 1] == b"("):
        depth += (code[end : end + 1] == b"(") - (code[end : end + 1] == b")")
        end += 1
        if not depth and code[end - 1 : end] == b")":
            return end
    return at


def blank(raw: bytearray, text: c.Text, span: tuple[int, int]) -> None:
    """Make spaces of a span in ``raw``; directives stay where one of them closes what another span opened."""
    start, end = span
    words = [line.split(b"#")[-1].strip() for line in text.raw[start:end].split(b"\n") if line.lstrip()[:1] == b"#"]
    balanced = sum(word.startswith(b"if") for word in words) == sum(word.startswith(b"endif") for word in words)
    for at in range(start, end):
        if raw[at] != 10 and (balanced or text.code[at] != 32):
            raw[at] = 32


class _Reader:
    """Reads the parts of a tree."""

    def __init__(self, macros: dict[str, str], marks: dict[int, frozenset[str]]) -> None:
        self.macros = {name: c.find_words(value) for name, value in macros.items()}
        self.marks = sorted(marks.items())

    def read_file_scope(self, scope: c.Node, end: int = 0) -> Iterator[Part]:
        """The parts of a file, of a namespace or of a block of ``extern "C"``, after byte ``end``."""
        for node in scope.children:
            inner = node.child_by_field_name("body") if node.type in _BLOCKS else None
            if node.type in _FILE_SCOPE:
                yield from self.read_file_scope(node, end)
            elif inner is not None and inner.type == "declaration_list":
                yield from self.read_file_scope(inner, inner.start_byte)
            elif node.is_named or scope.type == "ERROR":
                yield self.read_part(node, end)
            end = node.end_byte

    def read_part(self, node: c.Node, after: int) -> Part:
        """One declaration; ``after`` is where the one before it ends."""
        inner = _find_inner(node)
        marked = [(at, words) for at, words in self.marks if after <= at < node.end_byte]
        start = min([node.start_byte, *(at for at, _ in marked if at < node.start_byte)])
        end = node.end_byte
        if node.next_sibling is not None and node.next_sibling.type == ";":
            end = node.next_sibling.end_byte
        words, fields, own = self._read_words(node)
        names = frozenset(_list_declared(inner))
        part = Part((start, end), names, words - own, "declaration")
        if inner.type == "function_definition" or (inner.type == "declaration" and _is_prototype(inner)):
            body = inner.child_by_field_name("body")
            head = body.start_byte if body is not None else end
            marks = frozenset[str]().union(*(w for at, w in marked if at < head)) | _list_marks(inner, head)
            part.kind = "device" if marks & _MARKS else "function"
            part.uses |= fields
            part.special = "constexpr" in marks
            part.function = True
        elif inner.type in _DECLARATIONS:
            part.kind = "declaration"
            type_node = inner.child_by_field_name("type") or inner
            whole = inner if inner.type in _CLASSES else type_node if type_node.type in _CLASSES else None
            if whole is not None and (body := whole.child_by_field_name("body")) is not None:
                self._read_members(part, whole, body)
            elif _list_marks(inner, end) & _MARKS or any(w & _MARKS for _, w in marked) or _is_texture(type_node):
                part.kind = "device"
            part.host = part.kind != "device" and (self._is_host(part.uses) or _is_variable(inner))
        else:
            part.kind = "device" if _list_marks(inner, end) & _MARKS else "statement"
        return part

    def _read_members(self, part: Part, whole: c.Node, body: c.Node) -> None:
        """Take the host's functions of a class out of its own part, which one of the device's makes the device's."""
        words, on_device = frozenset[str](), False
        end = body.start_byte
        own_name = {c.take_text(n) for n in [whole.child_by_field_name("name")] if n is not None}
        for child in whole.named_children:
            words |= self._read_words(child)[0] if child != body else frozenset()
        for child in body.named_children:
            inner = _find_inner(child)
            marked = [(at, w) for at, w in self.marks if end <= at < child.end_byte]
            end = child.end_byte
            code = inner.child_by_field_name("body")
            function = inner.type == "function_definition" or _is_prototype(inner)
            head = code.start_byte if code is not None else child.end_byte
            marks = frozenset[str]().union(*(w for at, w in marked if at < head)) | _list_marks(inner, head)
            used, fields, own = self._read_words(child)
            on_device = on_device or bool(marks & _MARKS)
            if not function or marks & (_MARKS | {"constexpr"}) or any(n.type in _SPECIAL for n in inner.children):
                words |= (used | fields) - own
                continue
            names = frozenset(_list_declared(inner))
            initializers = next((n for n in inner.named_children if n.type == "field_initializer_list"), code)
            start = min([child.start_byte, *(at for at, _ in marked)])
            member = Part((start, child.end_byte), names, (used | fields) - own, "function")
            if code is not None and initializers is not None:
                member.body = (initializers.start_byte, code.end_byte)
            member.special = bool(names & own_name) or any(name[:1] == "~" or "operator" in name for name in names)
            member.special = member.special or child.type == "friend_declaration"
            member.host = self._is_host(member.uses) or any(n.type == "kernel_call_syntax" for n in c.walk(child))
            part.members.append(member)
        part.uses = words - part.names
        part.kind = "device" if on_device and not self._is_host(part.uses) else "declaration"

    def _read_words(self, node: c.Node) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """The names in a node, the names after a dot or an arrow, and those of its parameters and local variables."""
        words, fields, own = set[str](), set[str](), set[str]()
        inner = _find_inner(node)
        for one in c.walk(node):
            if one.type in _NAMES:
                (fields if one.type == "field_identifier" else words).add(c.take_text(one))
            elif one.type in _TYPE_PARAMETERS:
                own |= {c.take_text(n) for n in one.named_children if n.type == "type_identifier"}
            elif one.type in _LOCALS and one != inner:
                own |= {declared.name for declared in _read_declared(one)}
        waiting = list(words)
        while waiting:
            new = self.macros.get(waiting.pop(), frozenset()) - words
            words |= new
            waiting += new
        return frozenset(words), frozenset(fields), frozenset(own)

    def _is_host(self, words: Collection[str]) -> bool:
        return any(is_runtime(word) or word in cuda_names.HOST_WORDS for word in words)


_BLOCKS = frozenset(("namespace_definition", "linkage_specification"))


def _find_reached(parts: Sequence[Part], *, spared: Collection[str], named: frozenset[str]) -> set[Part]:
    """The parts that the device's code reaches by name, and statements that name nothing else.

    Parameters
    ----------
    spared : collection of str
        Functions of the host that device code calls.
    named : frozenset of str
        Further names that the device's code has.
    """
    reached = {
        part for part in parts if part.kind == "device" or (part.kind == "function" and part.names & set(spared))
    }
    members = [(whole, member) for whole in parts for member in whole.members]
    more = True
    while more:
        used = named.union(*(part.uses for part in reached))
        new = {p for p in parts if p.names & used and (p.kind == "declaration" or (p.kind == "function" and p.special))}
        # The body of a member that only the host can run is left out: others may name it.
        new |= {m for whole, m in members if whole in reached and (not m.host if m.special else m.names & used)}
        more = not new <= reached
        reached |= new
    everything = {name for part in parts for name in part.names}
    named_there = {name for part in reached for name in part.names}
    return reached | {p for p in parts if p.kind == "statement" and not (p.uses & everything) - named_there}


def is_runtime(word: str) -> bool:
    """Whether it is one of CUDA's runtime, ``cudaMalloc``; device code has textures."""
    return word.startswith("cuda") and word[4:5].isupper() and not word.startswith(("cudaTexture", "cudaSurface"))


def _find_inner(node: c.Node) -> c.Node:
    """The declaration in a template, in ``extern "C"`` or of a friend."""
    while node.type in ("template_declaration", "linkage_specification", "friend_declaration"):
        inside = [
            n for n in node.named_children if n.type not in ("template_parameter_list", "string_literal", "comment")
        ]
        if not inside:
            break
        node = inside[-1]
    return node


def _list_marks(node: c.Node, end: int) -> frozenset[str]:
    """The words of CUDA and ``constexpr`` in a declaration before ``end``."""
    words = set[str]()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.start_byte >= end:
            continue
        if one.type in _MARKS or (one.type == "type_qualifier" and c.take_text(one) == "constexpr"):
            words.add(one.type if one.type in _MARKS else "constexpr")
        waiting += one.children
    return frozenset(words)


def _is_prototype(node: c.Node) -> bool:
    """Whether it declares functions alone."""
    declared = _read_declared(node)
    return bool(declared) and all(d.marks[:1] and d.marks[0].kind == "(" for d in declared)


def _read_declared(node: c.Node) -> list[c.Declaration]:
    """The names that a node declares by declarators, with their types."""
    return [d for d, _ in c.read_declarations(node)] if node.child_by_field_name("declarator") is not None else []


def _is_variable(node: c.Node) -> bool:
    """Whether it is a variable that can change, which device code cannot read."""
    words = {c.take_text(n) for n in node.children}
    return node.type == "declaration" and not words & {"const", "constexpr", "extern"} and not _is_prototype(node)


def _is_texture(node: c.Node) -> bool:
    name = node.child_by_field_name("name") if node.type == "template_type" else None
    return name is not None and c.take_text(name) in ("texture", "surface")


def _list_declared(node: c.Node) -> Iterator[str]:
    """The names that a declaration declares: variables, a function, types, enumerators, a name of ``using``."""
    yield from (d.name.rpartition("::")[2] for d in _read_declared(node))
    kind = node.child_by_field_name("type")
    for tag in (node, kind):
        if tag is not None and tag.type in _TAGS:
            name = tag.child_by_field_name("name")
            if name is not None and (tag is node or tag.child_by_field_name("body") is not None):
                yield c.take_text(name.child_by_field_name("name") or name)
            yield from (c.take_text(n.child_by_field_name("name") or n) for n in c.walk(tag) if n.type == "enumerator")
    if node.type in ("alias_declaration", "namespace_alias_definition", "concept_definition"):
        yield c.take_text(node.child_by_field_name("name") or node.named_children[0])
    elif node.type == "using_declaration" and "namespace" not in [n.type for n in node.children]:
        yield c.take_text(node.named_children[-1]).rpartition("::")[2]
