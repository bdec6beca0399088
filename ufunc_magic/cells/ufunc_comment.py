"""The words after ``ufunc:`` in the comment above a function: ``(n),(n)->() identity=0 name=dot inout=x,y``.

A core dimension is a name, a size, ``m?`` that an argument may lack, ``n|1`` that may be 1, or for outputs one that is
computed: ``n*(n-1)//2``.
"""

from __future__ import annotations

import functools
import itertools
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ..model import SignatureError, find_core_names, number_type, split_core_groups

#: Core dimensions of one operand: names and fixed sizes.
Core = tuple[int | str, ...]

IDENTITIES: dict[str, int | str | None] = {"0": 0, "1": 1, "-1": -1, "reorderable": "reorderable", "none": None}

#: One operand's dimensions, with parentheses inside up to a depth of 4.
_GROUP = functools.reduce(lambda inner, _: rf"\((?:[^()]|{inner})*\)", range(4), r"\([^()]*\)")
_GROUPS = rf"{_GROUP}(?:\s*,\s*{_GROUP})*"
_SIGNATURE = re.compile(rf"({_GROUPS})?\s*->\s*({_GROUPS})?")
_UNCLOSED = re.compile(r"\([^()=]*?(?=\s*(?:->|,\s*\(|\s\w+=|$))")
_EXAMPLE = "Example: // ufunc: (n),(n)->() identity=0 name=dot inout=x."
_WORDS = ("identity", "inout", "name", "types")
_DIMENSIONS = (
    "A core dimension is a name or a positive size: (n), (3), (m,n). An argument may lack an optional one, (m?,n), or "
    "have 1 in its place, (n|1). Those of outputs can be computed with + - * // and parentheses: (n+m-1), (n*(n-1)//2)."
)


@dataclass(frozen=True)
class Annotation:
    """The content of an annotation; ``inputs`` and ``outputs`` are None where it gives no signature.

    ``optional`` are the dimensions that arguments may lack, ``broadcast`` those of each input that may be 1.
    ``identity`` is a key of ``IDENTITIES``, ``types`` the list after ``types=``; both ``""`` where not given.
    """

    text: str = ""
    inputs: tuple[Core, ...] | None = None
    outputs: tuple[Core, ...] | None = None
    identity: str = ""
    name: str = ""
    inout: tuple[str, ...] = ()
    types: str = ""
    optional: frozenset[str] = frozenset()
    broadcast: tuple[frozenset[str], ...] = ()

    @property
    def dims(self) -> frozenset[str]:
        """Names of core dimensions."""
        cores = (*(self.inputs or ()), *(self.outputs or ()))
        return frozenset(dim for core in cores for dim in core if isinstance(dim, str) and dim.isidentifier())

    def write_core(self, inputs: Sequence[Core], outputs: Sequence[Core]) -> str:
        """A signature as the comment spells it, ``""`` where every operand is a scalar."""
        if not any((*inputs, *outputs)):
            return ""

        def spell(dim: int | str, ones: frozenset[str]) -> str:
            return f"{dim}{'?' * (dim in self.optional)}{'|1' * (str(dim) in ones)}"

        marks = [*self.broadcast, *[frozenset[str]()] * (len(inputs) + len(outputs))]
        operands = zip((*inputs, *outputs), marks, strict=False)
        groups = [f"({','.join(spell(d, ones) for d in core)})" for core, ones in operands]
        return f"{','.join(groups[: len(inputs)])}->{','.join(groups[len(inputs) :])}"


def read(text: str, *, of: str) -> Annotation:
    """Read an annotation.

    Parameters
    ----------
    text : str
        What follows ``ufunc:``.
    of : str
        The function and its line, for the message.

    Raises
    ------
    SignatureError
        If it has an unknown word or a bad dimension or value.
    """

    def refuse(fault: str, remedy: str = _EXAMPLE) -> NoReturn:
        raise SignatureError(f"{of}: 'ufunc: {text}' {fault}.", remedy=remedy)

    rest, inputs, outputs = text, None, None
    optional, broadcast = frozenset[str](), list[frozenset[str]]()
    if match := _SIGNATURE.search(text):
        sides = [split_core_groups(side or "") for side in match.groups()]
        rest = f"{text[: match.start()]} {text[match.end() :]}"
        if unclosed := _UNCLOSED.search(text):
            refuse(f"does not close the parenthesis of {unclosed[0]!r}", f"Write {unclosed[0]}).")
        if text.count("(") != text.count(")"):
            refuse("has an unbalanced parenthesis")
        if not all(sides):
            refuse(f"has no {'outputs' if sides[0] else 'inputs'}")
        for side in sides:
            for dim in itertools.chain(*side):
                if not _is_dimension("".join(dim.split()), computed=side is sides[1]):
                    refuse(f"has the core dimension {dim!r}", _DIMENSIONS)
        words = ["".join(dim.split()) for core in (*sides[0], *sides[1]) for dim in core]
        optional = frozenset(word[:-1] for word in words if word.endswith("?"))
        if mixed := optional & {word.removesuffix("|1") for word in words}:
            dim = min(mixed)
            refuse(f"has {dim} as well as {dim}?", f"Write {dim}? for all of them.")
        broadcast = [frozenset(dim.partition("|")[0].strip() for dim in core if "|" in dim) for core in sides[0]]
        inputs, outputs = (tuple(tuple(map(_read_dimension, core)) for core in side) for side in sides)
    values: dict[str, str] = {}
    for word in re.sub(r"\s*([,=])\s*", r"\1", rest).split():
        key, _, value = word.partition("=")
        if key not in _WORDS or not value or "(" in word or "->" in word:
            refuse(f"has {word!r}, which is neither a signature nor one of {', '.join(f'{w}=' for w in _WORDS)}")
        values[key] = value
    identity, name = values.get("identity", ""), values.get("name", "")
    if identity and identity not in IDENTITIES:
        refuse(f"has identity={identity}", f"Use one of {', '.join(IDENTITIES)}.")
    if name and (not name.isidentifier() or keyword.iskeyword(name)):
        refuse(f"has name={name}, which Python cannot use as a name", "Use letters, digits and _.")
    inout = tuple(filter(None, values.get("inout", "").split(",")))
    types = values.get("types", "")
    if bad := [word for word in types.split(",") if word and number_type(word) is None]:
        refuse(
            f"has types={types}, and {bad[0]!r} is not a number type", "Use NumPy's short names: types=f4,f8,i4,c16."
        )
    return Annotation(text, inputs, outputs, identity, name, inout, types, optional, tuple(broadcast))


def _is_dimension(word: str, *, computed: bool) -> bool:
    """Whether a word is a core dimension; only those of outputs may be ``computed``, only those of inputs 1 instead."""
    name = word.removesuffix("?") if computed else word.removesuffix("|1").removesuffix("?")
    if name.isidentifier() or (name.isdecimal() and len(name) < 19 and int(name) > 0):
        # C is told the size of a name alone.
        return not word.endswith("?|1") and (name.isidentifier() or not word.endswith("?"))
    try:
        return computed and name == word and bool(find_core_names(word))
    except ValueError:
        return False


def _read_dimension(text: str) -> int | str:
    word = "".join(text.split()).removesuffix("|1").removesuffix("?")
    return int(word) if word.isdecimal() else word
