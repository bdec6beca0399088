"""Declarations of C and C++: specifiers and declarators -> names, types and parameters.

A declarator is kept as its marks from the name outwards, the order in which C is read aloud:
``double (*x)[3]`` is a pointer to an array of 3 ``double``: marks ``*``, ``[3]``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from tree_sitter import Node

from ...cells import split_template
from ...codegen import CONTAINERS, TEXTS, VIEWS
from ...ir import Program
from ...model import ConstReferenceParameter, ContainerParameter, Member, Parameter, ReferenceParameter
from .c_text import KEYWORDS, evaluate_constant, find_words
from .c_tree import ALIGNED, take_text

#: Types that cells use without saying where from, and those of no interest to anybody.
_STANDARD = """
    size_t ssize_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t wchar_t wint_t char8_t char16_t char32_t bool complex
    float_t double_t max_align_t _Float16 _Float32 _Float64 _Float128 _Float32x _Float64x __fp16 __bf16 half __int128
    __int128_t __uint128_t __float128 _Decimal32 _Decimal64 _Decimal128 FILE va_list class typename constexpr decltype
    nullptr_t
"""
STANDARD = frozenset(
    [f"{u}int{kind}{bits}_t" for u in ("", "u") for kind in ("", "_least", "_fast") for bits in (8, 16, 32, 64)]
    + _STANDARD.split()
)

#: Why a structure is no operand.
_MORE = "has members other than numbers, arrays of fixed size and structures of both"
_POINTERS = "contains pointers"
#: Structures of C that C++ has in namespace std as well.
_IN_STD = frozenset(f"std::{name}" for name in ("div_t", "imaxdiv_t", "ldiv_t", "lldiv_t", "timespec", "tm"))
#: The type of a parameter that is ``auto``, with its place: the type parameter that C++ adds (C++20 9.3.4.6).
INVENTED = "__ufm_auto"
#: How many arguments of container templates are read; of others one.
_COUNTS = {"array": (2,), "span": (1, 2), **dict.fromkeys(TEXTS, (0,))}
_INLINE = frozenset(("inline", "__inline", "__inline__", "__forceinline"))
_VARIADIC = frozenset(("...", "variadic_parameter", "variadic_parameter_declaration"))
TAGGED = frozenset(("struct_specifier", "union_specifier", "class_specifier", "enum_specifier"))


class Mark(NamedTuple):
    """One step of a declarator: a star, a reference, an array (its size as ``text`` and ``node``), a function."""

    kind: Literal["*", "&", "&&", "[", "("]
    text: str = ""
    node: Node | None = None


class Declaration(NamedTuple):
    """One name with its type."""

    name: str
    base: str
    const: bool = False
    marks: tuple[Mark, ...] = ()
    storage: frozenset[str] = frozenset()

    def spell(self) -> str:
        """The type in C, as in a cast."""
        return f"{'const ' if self.const else ''}{_spell(self.base, self.marks)}".strip()

    def get_returned(self) -> Declaration:
        """The type that this function returns, as a declaration."""
        parameters, *rest = self.marks
        trailing = _find_first(parameters.node, "trailing_return_type") if parameters.node else None
        if trailing and trailing.named_children:
            return read_declarations(trailing.named_children[0])[0][0]
        return self._replace(const=self.const and bool(rest), marks=tuple(rest))


def _is_method(member: Node) -> bool:
    """Whether it declares a function, which takes no place in a structure."""
    return member.type == "field_declaration" and all(
        d.marks[:1] and d.marks[0].kind == "(" for d, _ in read_declarations(member)
    )


def _is_default_constructible(body: Node) -> bool:
    """Whether a class with such members can be made without arguments, as loops make their variables."""
    constructors = [
        declarator.child_by_field_name("parameters")
        for one in body.named_children
        if one.type in ("function_definition", "declaration")
        and (declarator := one.child_by_field_name("declarator"))
        and declarator.type == "function_declarator"
        and one.child_by_field_name("type") is None
        and take_text(declarator)[0] != "~"
    ]
    return not constructors or any(
        c and all(p.type == "optional_parameter_declaration" for p in c.named_children) for c in constructors
    )


def _spell(base: str, marks: tuple[Mark, ...]) -> str:
    text = ""
    for mark in marks:
        if mark.kind in ("[", "("):
            text = f"({text})" if text[:1] in ("*", "&") else text
            text += f"[{mark.text}]" if mark.kind == "[" else mark.text
        else:
            text = mark.kind + text
    return f"{base} {text}".strip()


def _find_first(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


_DECLARATOR = ("declarator", "identifier", "_name", "template_function")


def _read_marks(node: Node) -> tuple[str, tuple[Mark, ...]]:
    """Name and marks of a declarator."""
    marks: list[Mark] = []
    inner: Node | None = node
    while inner is not None:
        node, kind = inner, inner.type
        if "pointer_declarator" in kind:
            marks.append(Mark("*"))
        elif "reference_declarator" in kind:
            marks.append(Mark("&&" if node.children[0].type == "&&" else "&"))
        elif "array_declarator" in kind:
            size = node.child_by_field_name("size")
            size = None if size is None or size.type == "*" else size
            marks.append(Mark("[", take_text(size) if size else "", size))
        elif "function_declarator" in kind:
            listed = node.child_by_field_name("parameters")
            marks.append(Mark("(", " ".join(take_text(listed).split()) if listed else "()", node))
        elif not kind.endswith("declarator"):
            return "".join(take_text(node).split()), tuple(reversed(marks))
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in reversed(node.named_children) if c.type.endswith(_DECLARATOR)), None)
    return "", tuple(reversed(marks))


def read_declarations(node: Node) -> list[tuple[Declaration, str]]:
    """Everything a declaration, parameter, typedef or function definition declares, with initial values as text."""
    base, const, storage = _read_specifiers(node)
    everything = []
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        name, marks = _read_marks(declarator)
        everything.append((Declaration(name, base, const, marks, storage), take_text(value) if value else ""))
    return everything or [(Declaration("", base, const, (), storage), "")]


def find_default(parameter: Node) -> Node | None:
    """The default argument of a parameter."""
    return parameter.child_by_field_name("default_value")


def find_end_of_declarator(definition: Node) -> int:
    """Where the head of a function definition ends."""
    declarator = definition.child_by_field_name("declarator")
    return declarator.end_byte if declarator else definition.start_byte


def read_qualifiers(definition: Node) -> frozenset[str]:
    """Words before a function definition that say where it runs, and ``inline`` where C99 writes out no function."""
    storage = _read_specifiers(definition)[2]
    inline = storage & _INLINE and not storage & {"static", "extern"}
    words = frozenset(c.type for c in definition.children if c.type in ("__device__", "__host__", "__global__"))
    return words | {"inline"} if inline else words


def _read_specifiers(node: Node) -> tuple[str, bool, frozenset[str]]:
    """Base type, whether it is const, and storage classes."""
    specifier = node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    end = declarator.start_byte if declarator else node.end_byte
    base, const, imaginary, storage = _read_base(specifier), False, False, set[str]()
    for child in node.children:
        if child.start_byte >= end:
            break
        if child.type == "type_qualifier":
            word = take_text(child)
            const = const or word in ("const", "constexpr", "__const")
            imaginary = imaginary or word == "_Atomic"
            storage |= {ALIGNED} & {word}
        elif child.type == "storage_class_specifier":
            storage.add(take_text(child))
    if any(c.type == "attribute_specifier" and "align" in take_text(c) for c in node.children):
        storage.add(ALIGNED)
    if imaginary:
        base = f"{base or 'double'} _Complex"
    return base, const, frozenset(storage)


def _read_base(specifier: Node | None) -> str:
    if specifier is None:
        return ""
    if specifier.type == "placeholder_type_specifier":  # auto, without the concept in front of it
        return "auto" if take_text(specifier).endswith("auto") else "decltype(auto)"
    if specifier.type.endswith("_specifier") and specifier.children and specifier.type != "sized_type_specifier":
        name = specifier.child_by_field_name("name")
        return f"{specifier.children[0].type} {take_text(name) if name else ''}".strip()
    return " ".join(word for word in take_text(specifier).split() if word not in ("const", "volatile"))


class TemplateParameter(NamedTuple):
    """A parameter of a template: a type, or a number."""

    name: str
    is_type: bool
    has_default: bool


def read_template_parameters(template: Node) -> list[TemplateParameter]:
    """The parameters of a ``template <...>``; a pack of types has no name."""
    listed = template.child_by_field_name("parameters")
    result = []
    for one in listed.named_children if listed else ():
        optional = one.type.startswith("optional_")
        if one.type.endswith("type_parameter_declaration"):
            name = one.child_by_field_name("name") or _find_first(one, "type_identifier")
            word = take_text(name) if name and not one.type.startswith("variadic_") else ""
            result.append(TemplateParameter(word, True, optional))
        elif one.type != "comment":
            declared = read_declarations(one)[0][0]
            is_concept = one.type == "parameter_declaration" and "::" in declared.base  # std::floating_point T
            result.append(TemplateParameter(declared.name, is_concept, optional))
    return result


def read_template_names(template: Node) -> tuple[str, ...]:
    """Names of the type parameters of a ``template <...>``."""
    return tuple(p.name for p in read_template_parameters(template) if p.is_type and p.name)


def type_words(spelled: str, *, without: Collection[str] = ()) -> list[str]:
    """Names in a type that something must define."""
    return [name for name in _type_words(spelled) if name not in without]


_WORD = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=1000)
def _type_words(spelled: str) -> tuple[str, ...]:
    if spelled.startswith("struct "):
        return (spelled,) if spelled[7:].isidentifier() else ()
    if spelled in _IN_STD:
        return (spelled,)
    if spelled.startswith(("union ", "enum ", "class ")) or "::" in spelled:
        return ()
    names = _WORD.findall(spelled.partition("(")[0].partition("[")[0])
    return tuple(name for name in names if name not in KEYWORDS and name not in STANDARD)


class FunctionHead(NamedTuple):
    """The head of a function: its own declaration, its result, the declaration of each parameter with its node."""

    declared: Declaration
    returned: Declaration
    parameters: tuple[tuple[Declaration, Node], ...]
    #: More arguments may follow (``...``).
    variadic: bool

    @property
    def invented(self) -> tuple[str, ...]:
        """The type parameters that ``auto`` adds."""
        names = [d.base for d, _ in self.parameters if d.base.startswith(INVENTED)]
        listed = self.declared.marks[0].node.child_by_field_name("parameters") if self.declared.marks[0].node else None
        packs = [n for n in (listed.named_children if listed else ()) if n.type == "variadic_parameter_declaration"]
        return (*names, *(INVENTED for n in packs if read_declarations(n)[0][0].base == "auto"))


@dataclass
class DeclaredTypes:
    """The types and constants that a text declares."""

    cplus: bool = False
    typedefs: dict[str, Declaration] = field(default_factory=dict)
    #: Macros, enumerators and const integers with their values as text.
    constants: dict[str, str] = field(default_factory=dict)
    #: Structures: the members, or why NumPy has no such thing.
    records: dict[str, tuple[Member, ...] | str] = field(default_factory=dict)
    #: The statements that define those types among them that are in headers of the system.
    outside: str = ""
    _classes: set[str] = field(default_factory=set)
    _heads: dict[int, FunctionHead | None] = field(default_factory=dict)

    def is_known(self, name: str) -> bool:
        return name in self.typedefs or name in self._classes

    def use_outside(self, nodes: Sequence[Node]) -> None:
        """Take the types of statements outside of the cell in."""
        for node in nodes:
            if node.type in ("type_definition", "alias_declaration"):
                names = self.define(node)
            else:
                specifier = node if node.type in TAGGED else node.child_by_field_name("type")
                names = self.take_tag(specifier) if specifier else []
            for name in names:
                if (inside := f"std::{name}") in _IN_STD:
                    self.typedefs[inside] = Declaration(inside, name)

    def lacks(self, word: str, *, structures: bool = True) -> bool:
        """Whether nothing says what a type is; with ``structures`` also whether nothing says what is in one."""
        waiting, done = [word], set[str]()
        while waiting:
            word = waiting.pop()
            if word in done:
                continue
            done.add(word)
            tag = word.removeprefix("struct ")
            if (target := self.typedefs.get(word)) is not None:
                waiting += type_words(target.base)
            elif tag == word:
                if not self.is_known(word):
                    return True
            elif structures and not self.is_class(tag):
                if tag not in self.records:
                    return True
                members = self.records[tag]
                waiting += [w for m in members if isinstance(m, Member) and not m.members for w in type_words(m.type)]
        return False

    def copy(self) -> DeclaredTypes:
        """The same types, to which others can be added."""
        return DeclaredTypes(
            self.cplus,
            dict(self.typedefs),
            dict(self.constants),
            dict(self.records),
            self.outside,
            set(self._classes),
            self._heads,
        )

    def is_class(self, name: str) -> bool:
        return name in self._classes

    def define(self, node: Node) -> list[str]:
        """Take a typedef or ``using`` in; every name it declares."""
        specifier = node.child_by_field_name("type")
        if node.type == "alias_declaration":
            name = node.child_by_field_name("name")
            target = read_declarations(specifier)[0][0] if specifier and name else None
            everything = [target._replace(name=take_text(name))] if target and name else []
        else:
            everything = [declared for declared, _ in read_declarations(node) if declared.name]
        for declared in everything:
            if declared.base in ("struct", "union", "enum"):  # no tag: the name itself will do
                declared = declared._replace(base=f"{declared.base} {declared.name}")
                self._remember_members(specifier, declared.name)
            self.typedefs[declared.name] = declared
        tags = self.take_tag(specifier) if specifier else []
        return [*tags, *(declared.name for declared in everything)]

    def take_tag(self, node: Node) -> list[str]:
        """Take a type specifier in; the tag and the enumerators that it declares, if it does."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None or node.type not in TAGGED:
            return []
        names = [take_text(name)] if name else []
        self._remember_members(node, *names)
        if self.cplus and name:
            word = "enum" if node.type == "enum_specifier" else "struct"
            self.typedefs.setdefault(names[0], Declaration(names[0], f"{word} {names[0]}"))
            if word == "struct":
                self._classes.add(names[0])
        scoped = node.type == "enum_specifier" and any(c.type in ("class", "struct") for c in node.children)
        previous = "-1"
        for one in body.named_children if node.type == "enum_specifier" else ():
            enumerator, value = one.child_by_field_name("name"), one.child_by_field_name("value")
            if enumerator and not scoped:
                names.append(take_text(enumerator))
                self.constants[names[-1]] = take_text(value) if value else f"{previous} + 1"
                previous = names[-1]
        return names

    def _remember_members(self, node: Node | None, *names: str) -> None:
        """Remember a structure, if all its members are plain."""
        body = node.child_by_field_name("body") if node and node.type == "struct_specifier" else None
        if node and body:
            self.records.update(dict.fromkeys(names, self._read_record(node, body)))

    def _read_record(self, node: Node, body: Node) -> tuple[Member, ...] | str:
        """The members of a structure, with the names of structures in it, or why NumPy has no such thing."""
        members: list[Member] = []
        if _find_first(node, "base_class_clause"):
            return _MORE
        if not _is_default_constructible(body):
            return "has no constructor without arguments"
        for one in body.named_children:
            if any(c.type == "virtual" for c in one.children):
                return "has virtual functions"
            if one.type in ("comment", "function_definition", "declaration", "friend_declaration") or _is_method(one):
                continue
            if one.type != "field_declaration" or "vector_size" in take_text(one):
                return _MORE
            pointer = any(mark.kind == "*" for declared, _ in read_declarations(one) for mark in declared.marks)
            if any(c.type in ("type_qualifier", "storage_class_specifier", "bitfield_clause") for c in one.children):
                return _POINTERS if pointer else _MORE
            specifier = one.child_by_field_name("type")
            inner = specifier.child_by_field_name("body") if specifier and specifier.type in TAGGED else None
            record: tuple[Member, ...] | str = ()
            if specifier and inner and specifier.type != "enum_specifier":
                record = self._read_record(specifier, inner) if specifier.type == "struct_specifier" else _MORE
            if isinstance(record, str):
                return record
            for declared, _ in read_declarations(one):
                if not declared.name:  # members of a nameless structure are the outer one's
                    members += record
                    continue
                plain = self.resolve_typedefs(declared)
                if any(mark.kind != "[" for mark in plain.marks):
                    return _POINTERS
                sizes = [self._read_size(mark.text) for mark in plain.marks]
                shape = tuple(size for size in sizes if isinstance(size, int))
                if len(shape) < len(sizes):
                    return _MORE
                members.append(Member(declared.name, plain.base, shape, record))
        return tuple(members) or "has no members"

    def read_head(self, definition: Node) -> FunctionHead | None:
        """The head of a function definition, read once; None for a definition of something else."""
        if definition.id not in self._heads:
            declared = read_declarations(definition)[0][0]
            is_function = bool(declared.name and declared.marks) and declared.marks[0].kind == "("
            self._heads[definition.id] = self.read_function_head(declared, definition) if is_function else None
        return self._heads[definition.id]

    def read_function_head(self, declared: Declaration, node: Node) -> FunctionHead:
        """The head of a function that ``node`` declares, a prototype or a definition."""
        listed = declared.marks[0].node.child_by_field_name("parameters") if declared.marks[0].node else None
        variadic = any(one.type in _VARIADIC for one in (listed.children if listed else ()))
        return FunctionHead(declared, declared.get_returned(), tuple(self._read_parameters(listed, node)), variadic)

    def _read_parameters(self, listed: Node | None, node: Node) -> list[tuple[Declaration, Node]]:
        """The declaration and node of each parameter; none for ``(void)``.

        K&R parameters have their declarations in ``node``.
        """
        old = {
            d.name: d
            for child in node.named_children
            if child.type == "declaration"
            for d, _ in read_declarations(child)
        }
        parameters = []
        for one in listed.named_children if listed else ():
            if one.type == "identifier":
                name = take_text(one)
                parameters.append((old.get(name, Declaration(name, "int")), one))
            elif one.type in ("parameter_declaration", "optional_parameter_declaration"):
                declared = read_declarations(one)[0][0]
                if declared.base == "auto":
                    declared = declared._replace(base=f"{INVENTED}{len(parameters)}")
                if not declared.name and not declared.marks and self._is_name(declared.base):
                    declared = old.get(declared.base, Declaration(declared.base, "int"))  # K&R, read as a type
                parameters.append((declared, one))
        return [] if [(d.base, d.marks, d.name) for d, _ in parameters] == [("void", (), "")] else parameters

    def read_parameters(self, head: FunctionHead) -> tuple[Parameter, ...]:
        """The parameters of a function as its callers see them."""
        parameters = []
        for declared, one in head.parameters:
            parameter, default = self.read_parameter(declared, line=one.start_point[0] + 1), find_default(one)
            parameters.append(replace(parameter, default=take_text(default)) if default else parameter)
        return tuple(parameters)

    def _is_name(self, word: str) -> bool:
        """Whether a word in the place of a type is the name of a K&R parameter."""
        return not self.cplus and not self.is_known(word) and type_words(word) == [word] and word.isidentifier()

    def read_parameter(self, declared: Declaration, *, line: int) -> Parameter:
        """A parameter as a caller sees it, typedefs of arrays and pointers seen through."""
        plain = self.resolve_typedefs(declared)
        marks, base, const, name = list(plain.marks), plain.base, plain.const, plain.name
        if any(mark.kind == "(" for mark in marks):
            # A parameter that is a function is a pointer to one.
            pointer = () if marks[0].kind != "(" else (Mark("*"),)
            return Parameter(name, _spell(base, (*pointer, *marks)), line=line)
        if self.cplus and (container := self.read_container(plain, line=line)):
            return container
        if marks and marks[0].kind in ("&", "&&"):
            if len(marks) > 1 or marks[0].kind == "&&":
                return Parameter(name, _spell(base, tuple(marks)), const, line=line)
            return (
                ConstReferenceParameter(name, base, True, line=line)
                if const
                else ReferenceParameter(name, base, pointer=1, line=line)
            )
        pointer_levels = 0
        unsized = bool(marks) and marks[0].kind == "[" and self._read_size(marks[0].text) is None
        if unsized:
            marks[0] = Mark("*")
        while marks and marks[0].kind == "*":
            pointer_levels += 1
            del marks[0]
        shape = []
        while marks and marks[0].kind == "[":
            size = self._read_size(marks.pop(0).text)
            shape.append(1 if size is None else size)
        if marks:
            base = _spell(base, tuple(marks))
        aligned = ALIGNED in plain.storage
        return Parameter(name, base, const, pointer_levels, tuple(shape), indexed=unsized, aligned=aligned, line=line)

    def read_container(self, declared: Declaration, *, line: int = 0) -> ContainerParameter | None:
        """A parameter that is an array with its length: a container of C++'s, or a reference to an array of C's."""
        marks, const = declared.marks, declared.const
        reference = bool(marks) and marks[0].kind == "&"
        shape = [self._read_size(mark.text) for mark in marks[1:] if mark.kind == "["]
        numbers = tuple(size for size in shape if isinstance(size, int))
        if reference and shape and len(numbers) == len(marks) - 1:
            return ContainerParameter(declared.name, declared.base, const, shape=numbers, reference=True, line=line)
        if len(marks) > reference:
            return None
        word, arguments = self._read_template(declared.base)
        if word not in CONTAINERS or not _COUNTS.get(word, (1,))[0] <= len(arguments) <= _COUNTS.get(word, (1,))[-1]:
            return None
        element, length = ("unsigned char", "") if word in TEXTS else (arguments[0], "".join(arguments[1:2]))
        fixed = word == "array" or bool(length)
        sizes = [self._read_size(length)] if fixed else []
        const = const or not (reference or word in VIEWS) or word == "string_view"
        if word == "span":
            words = element.split()
            const, element = "const" in words, " ".join(word for word in words if word != "const")
        while self._read_template(element)[0] == "array" and len(inner := self._read_template(element)[1]) == 2:
            element, sizes = inner[0], [*sizes, self._read_size(inner[1])]
        numbers = tuple(size for size in sizes if isinstance(size, int))
        if len(numbers) < len(sizes) or self._read_template(element)[0] in CONTAINERS:
            return None
        pointer = int(not fixed)
        return ContainerParameter(
            declared.name, element, const, pointer, numbers, container=word, reference=reference, line=line
        )

    def _read_template(self, spelled: str) -> tuple[str, tuple[str, ...]]:
        """A class template of the standard library and its arguments, also through typedefs."""
        for _ in range(32):
            target = self.typedefs.get(spelled)
            if target is None or target.marks or target.base == spelled:
                break
            spelled = target.base
        name, arguments = split_template(spelled)
        word = name.removeprefix("::").removeprefix("std::")
        return ("", ()) if self.is_class(word) else (word, arguments)

    def _read_size(self, text: str) -> int | str | None:
        """A dimension: its value, the expression where it is no constant, None where there is none."""
        text = " ".join(text.split())
        value = int(text) if text.isdecimal() and len(text) < 10 else evaluate_constant(text, self.constants)
        if value is not None:
            return value if 0 < value < 2**31 else None
        return text or None

    def resolve_typedefs(self, declared: Declaration) -> Declaration:
        """A declaration with typedefs of arrays, of pointers and of what is const seen through."""
        result = current = declared
        for _ in range(32):
            target = self.typedefs.get(current.base)
            if target is None:
                break
            # const on a pointer type is the pointer's own.
            own = current.const and not (target.marks and target.marks[0].kind == "*")
            marks = (*current.marks, *target.marks)
            storage = current.storage | (target.storage & {ALIGNED})
            current = current._replace(base=target.base, const=own or target.const, marks=marks, storage=storage)
            if target.marks or target.const:
                result = current
        return result


@dataclass(frozen=True, eq=False)
class CText:
    """A C text that has been parsed.

    Attributes
    ----------
    code : bytes
        The text as it was parsed: ``readable``, its directives blank, its macros expanded unless they are constants.
    root : Node
        Its tree.
    macros : mapping
        Name -> replacement text of the constants, which the tree does not have.
    lines : sequence of int
        The line in the cell of each of its rows.
    types : DeclaredTypes
    generic_math : bool
        <math.h>'s functions take their arguments' type: <tgmath.h> is included.
    programs : dict
        The IR of the text, by the types of its type parameters; `lowering.lower` has it.
    """

    code: bytes = field(repr=False)
    root: Node
    macros: Mapping[str, str]
    lines: Sequence[int] = field(repr=False)
    types: DeclaredTypes = field(repr=False)
    generic_math: bool = False
    programs: dict[Hashable, Program] = field(default_factory=dict, repr=False)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every identifier of ``code``."""
        return find_words(self.code.decode(errors="replace"))
