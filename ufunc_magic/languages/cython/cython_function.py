"""A function of a Cython cell as values: its types and parameters, and the cell's text around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...ir import Effects, FunctionIR, PointerEffect


@dataclass(frozen=True)
class CythonType:
    """A type as C sees it.

    Attributes
    ----------
    kind : {"number", "array", "pointer", "tuple", "void", "object", "other"}
    c : str
        For numbers, and the elements of arrays and pointers: C's spelling.
    const : bool
        Elements cannot be written to.
    ndim : int
        Of an array (a typed memoryview).
    fields : tuple of CythonType
        Of a ctuple.
    shown : str
        As Cython spells it.
    number : int
        NumPy's type number for numbers and elements; for a type of a header the cell's declaration decides.
    """

    kind: str
    c: str = ""
    const: bool = False
    ndim: int = 0
    fields: tuple[CythonType, ...] = ()
    shown: str = ""
    number: int = -1


@dataclass(frozen=True)
class CyParameter:
    """One parameter; ``default`` if it may be left out."""

    name: str
    type: CythonType
    default: bool = False


@dataclass(frozen=True)
class CyFunction:
    """One function of the module, or one specialisation of it.

    Attributes
    ----------
    name : str
    kind : {"cdef", "cpdef", "def"}
    line : int
        Of its ``def``, in the cell.
    cname : str
        The C function to call, ``""`` if there is none.
    parameters : tuple of CyParameter
    returns : CythonType
    skip_dispatch : bool
        C's last parameter is the ``int`` that every cpdef function has.
    value : str
        The C constant that it returns with an exception, ``""`` if any value may be one.
    raises : bool
        It may set an exception at all.
    nogil : bool
        Declared so.
    varargs : bool
        It takes ``*args``, ``**kwargs`` or keyword-only parameters.
    fused : dict
        Fused type -> the type chosen here.
    body, effects : FunctionIR, Effects
        Its IR and the effects of that; None where it could not be lowered.
    doc : str
    """

    name: str
    kind: str
    line: int
    cname: str
    parameters: tuple[CyParameter, ...]
    returns: CythonType
    skip_dispatch: bool = False
    value: str = ""
    raises: bool = True
    nogil: bool = False
    varargs: bool = False
    fused: Mapping[str, str] = field(default_factory=dict)
    doc: str = ""
    body: FunctionIR | None = field(default=None, repr=False)
    effects: Effects | None = field(default=None, repr=False)

    @property
    def truncates(self) -> str:
        """`BodyFacts.truncates`; of a function that could not be lowered, all of it."""
        return self.effects.truncates if self.effects is not None else "unsigned"

    def find_effect(self, position: int) -> PointerEffect:
        """Its effect on the elements of the pointer or array at ``position``."""
        if self.body is None or self.effects is None:
            return PointerEffect("update", indexed=True, escapes=True, as_object=True)
        return self.effects.pointers.get(self.body.parameters[position], PointerEffect())


def find_function_at(line: int, lines: Iterable[tuple[int, str]]) -> str:
    """The name of the last function that begins at a line or above it, or ``""``; ``lines`` has where each begins."""
    return max((pair for pair in lines if pair[0] <= line), default=(0, ""))[1]


def _strip_marks(comment: str) -> str:
    return comment.lstrip("#").strip()


@dataclass(frozen=True)
class CellText:
    """A cell's text, asked by 1-based lines."""

    source: str

    @cached_property
    def lines(self) -> list[str]:
        return self.source.replace("\r\n", "\n").split("\n")

    def _read_above(self, line: int) -> list[str]:
        """The comment lines just above a function and its decorators, top to bottom, without indentation."""
        at = self._find_first_line(line) - 2
        lines: list[str] = []
        while at >= 0 and self.lines[at].lstrip().startswith("#"):
            lines.append(self.lines[at].strip())
            at -= 1
        return lines[::-1]

    def _find_first_line(self, line: int) -> int:
        """The line of the first decorator, or ``line``."""
        while line >= 2 and self.lines[line - 2].lstrip().startswith("@"):
            line -= 1
        return line

    def read_annotation(self, line: int) -> str:
        """The text after ``# ufunc:`` above the function of ``line``."""
        words = map(_strip_marks, self._read_above(line))
        return next((text.removeprefix("ufunc:").strip() for text in words if text.startswith("ufunc:")), "")

    def read_comment(self, line: int) -> str:
        """The comment above it, without its marks and directives."""
        words = map(_strip_marks, self._read_above(line))
        directives = ("ufunc", "distutils", "cython")
        return "\n".join(w for w in words if ":" not in w or w.partition(":")[0].rstrip() not in directives).strip()

    def read_definition(self, line: int) -> str:
        """Its text, decorators included."""
        head = self.lines[line - 1]
        indent = len(head) - len(head.lstrip())
        end, depth = line, 0
        for at, text in enumerate(self.lines[line - 1 :], line):
            inside = depth > 0
            depth += sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
            bare = text.strip()
            if at > line and bare and not inside and len(text) - len(text.lstrip()) <= indent:
                break
            end = at if bare else end
        return "\n".join(self.lines[self._find_first_line(line) - 1 : end])
