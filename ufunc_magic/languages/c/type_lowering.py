"""Types as C declares them -> the IR's types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from tree_sitter import Node

from ...cells import list_result_types
from ...codegen import TEXTS
from ...ir import CHARACTERS, CONTAINER, FUNCTION, INT, CType, find_named_type, from_number, make_array_type
from ...model import ContainerParameter, Member
from .declarations import Declaration, DeclaredTypes, Mark

#: The type of a variable or a result that C++ deduces.
AUTO = CType("?", name="auto")
#: The type of what is not known.
UNKNOWN = CType("?")

#: Steps of pointers, arrays and typedefs beyond which a type is not read: Python's own recursion has a limit.
_DEEPEST = 100


class Declared(NamedTuple):
    """The type of a name: the type itself, whether it is a reference, and the nodes of an array's sizes that are
    no constants, outermost first."""

    type: CType
    reference: bool = False
    sizes: tuple[Node | None, ...] = ()


class TypeReader:
    """The types of one text.

    Parameters
    ----------
    declared : DeclaredTypes
        Typedefs and structures.
    numbers : mapping
        Spelling of a type -> NumPy type number: what a template's parameters are.
    length : function
        The value of an array's size, None where it is no constant.
    """

    def __init__(
        self,
        declared: DeclaredTypes,
        numbers: Mapping[str, int],
        length: Callable[[Node], int | None],
    ) -> None:
        self.declared = declared
        self.numbers = numbers
        self.length = length
        self._known: dict[str, CType] = {}
        self._depth = 0

    def find_type(self, spelling: str) -> CType:
        """The type of a specifier; kind ``"?"`` for one that is not known."""
        t = self._known.get(spelling)
        if t is None:
            t = self._known[spelling] = CType("?", name=spelling)  # while it is read: a cycle ends here
            if self._depth < _DEEPEST:
                self._depth += 1
                t = self._known[spelling] = self._read(spelling)
                self._depth -= 1
        return t

    def forget(self, names: list[str]) -> None:
        """Forget these names: a function has declared them again."""
        for name in names:
            self._known.pop(name, None)

    def _read(self, spelling: str) -> CType:
        if spelling in ("auto", "decltype(auto)"):
            return AUTO
        if spelling in self.numbers:
            return from_number(self.numbers[spelling]) or CType("?", name=spelling)
        plain = " ".join(word for word in spelling.split() if word not in ("const", "volatile", "typename"))
        if (t := find_named_type(plain, {}, {})) is not None:
            return t
        if plain in self.declared.typedefs:
            target = self.declared.typedefs[plain]
            if target.base != plain or target.marks:
                return self.fold(target.marks, self.find_type(target.base)).type
        template, _, argument = plain.partition("<")
        if template.rpartition("::")[2].strip() == "complex" and argument.endswith(">"):
            part = self.find_type(argument[:-1].strip())
            return CType("c", part.bits) if part.kind == "f" else CType("?", name=spelling)
        word, _, name = plain.partition(" ")
        if word == "enum":
            return INT
        record = self.declared.records.get(name) if word == "struct" else None
        if isinstance(record, tuple):
            return self._read_structure(record, plain)
        return CType("?", name=spelling)

    def _read_structure(self, members: tuple[Member, ...], name: str) -> CType:
        fields = tuple(
            (
                m.name,
                make_array_type(
                    self._read_structure(m.members, m.type) if m.members else self.find_type(m.type), m.shape
                ),
            )
            for m in members
        )
        return CType("V", fields=fields, name=name)

    def read(self, declared: Declaration) -> Declared:
        """The type that a declaration gives its name."""
        return self.fold(declared.marks, self.find_type(declared.base))

    def fold(self, marks: tuple[Mark, ...], t: CType) -> Declared:
        """The type of a name with these marks on a base type."""
        if len(marks) > _DEEPEST:
            return Declared(UNKNOWN)
        reference = False
        starred = t.kind == "a" and t.length is None
        sizes: list[Node | None] = []
        for mark in reversed(marks):
            if starred and t.kind == "a" and mark.kind not in ("&", "&&"):
                t = replace(t, name="*")  # a pointer that is an element, or leads to one
            starred = mark.kind == "*"
            match mark.kind:
                case "*":
                    t = FUNCTION if t == FUNCTION else CType("a", of=t)
                case "[":
                    length = self.length(mark.node) if mark.node is not None else None
                    sizes.insert(0, mark.node if length is None else None)
                    t = CType("a", of=t, length=length)
                case "(":
                    t = FUNCTION
                case _:
                    reference = True
        return Declared(t, reference, tuple(sizes) if any(sizes) else ())

    def make_container_type(self, p: ContainerParameter) -> CType:
        """The type of a container: an array with a name."""
        t = make_array_type(self.find_type(p.type), p.shape)  # type: ignore[arg-type]
        t = CType("a", of=t) if p.pointer else t
        return replace(t, name=CHARACTERS if p.container in TEXTS else CONTAINER)

    def find_parts(self, spelling: str) -> tuple[CType, ...]:
        """The types in a result of several values, ``std::pair`` or its like; empty for another."""
        return tuple(self.find_type(" ".join(part.split())) for part in list_result_types(spelling))
