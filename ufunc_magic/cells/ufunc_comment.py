"""The words after ``ufunc:`` in the comment above a function: ``(n),(n)->() identity=0 name=dot inout=x,y``."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import NoReturn

from ..model import SignatureError, core_size

#: Core dimensions of one operand: names and fixed sizes.
Core = tuple[int | str, ...]

IDENTITIES: dict[str, int | str | None] = {"0": 0, "1": 1, "-1": -1, "reorderable": "reorderable", "none": None}

_GROUP = r"\([^()]*\)"
_GROUPS = rf"{_GROUP}(?:\s*,\s*{_GROUP})*"
_SIGNATURE = re.compile(rf"({_GROUPS})?\s*->\s*({_GROUPS})?")
_UNCLOSED = re.compile(r"\([^()=]*?(?=\s*(?:->|,\s*\(|\s\w+=|$))")
_EXAMPLE = "Example: // ufunc: (n),(n)->() identity=0 name=dot inout=x."
_WORDS = ("identity", "inout", "name", "types")


@dataclass(frozen=True)
class Annotation:
    """The content of an annotation; ``inputs`` and ``outputs`` are None where it gives no signature.

    ``identity`` is a key of ``IDENTITIES``, ``types`` the list after ``types=``; both ``""`` where not given.
    """

    text: str = ""
    inputs: tuple[Core, ...] | None = None
    outputs: tuple[Core, ...] | None = None
    identity: str = ""
    name: str = ""
    inout: tuple[str, ...] = ()
    types: str = ""

    @property
    def dims(self) -> frozenset[str]:
        """Names of core dimensions."""
        cores = (*(self.inputs or ()), *(self.outputs or ()))
        return frozenset(dim for core in cores for dim in core if isinstance(dim, str) and dim.isidentifier())


def core_text(inputs: tuple[Core, ...], outputs: tuple[Core, ...]) -> str:
    """A signature as NumPy spells it, ``""`` where every operand is a scalar."""
    if not any((*inputs, *outputs)):
        return ""
    sides = (",".join(f"({','.join(map(str, core))})" for core in cores) for cores in (inputs, outputs))
    return "->".join(sides)


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
    if match := _SIGNATURE.search(text):
        inputs, outputs = (_cores(side or "") for side in match.groups())
        rest = f"{text[: match.start()]} {text[match.end() :]}"
        if unclosed := _UNCLOSED.search(text):
            refuse(f"does not close the parenthesis of {unclosed[0]!r}", f"Write {unclosed[0]}).")
        if text.count("(") != text.count(")"):
            refuse("has an unbalanced parenthesis")
        if not inputs or not outputs:
            refuse(f"has no {'outputs' if inputs else 'inputs'}")
        names = {dim: 1 for core in inputs for dim in core if isinstance(dim, str)}
        for core in (*inputs, *outputs):
            for dim in core:
                if not (
                    dim > 0 if isinstance(dim, int) else dim.isidentifier() or _is_computed(dim, core in outputs, names)
                ):
                    refuse(
                        f"has the core dimension {dim!r}",
                        "A core dimension is a name or a positive size: (n), (3), (m,n). For outputs, it can be "
                        "computed from names with + - * //: (n+m-1).",
                    )
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
    return Annotation(text, inputs, outputs, identity, name, inout, values.get("types", ""))


def _is_computed(dim: str, of_output: bool, names: dict[str, int]) -> bool:
    try:
        core_size(dim, names)
    except ValueError:
        return False
    return of_output


def _cores(side: str) -> tuple[Core, ...]:
    """One side of a signature; text that is no dimension is returned unchanged."""
    groups = (group[1:-1].split(",") if group[1:-1].strip() else () for group in re.findall(_GROUP, side))
    return tuple(tuple(map(_dimension, group)) for group in groups)


def _dimension(text: str) -> int | str:
    text = re.sub(r"\s+", "", text)
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text
