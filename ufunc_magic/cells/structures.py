"""Which structures of C are operands: those of numbers, structures of numbers, and arrays of both with fixed sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..ir import find_named_type
from ..model import Function, Member, Options, Parameter, ReferenceParameter, Unit
from .parameter_roles import NotUfuncError, resolve_type

#: An index, with others in it.
_INDEX = r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]"
_REMEDY = "Pass its members as separate parameters."


def find_structures(function: Function, unit: Unit, *, options: Options) -> dict[int, tuple[Member, ...]]:
    """The structures among a function's parameters, by position, and its result (-1)."""
    if function.template or function.scope or (options.types and "T" in unit.identifiers):
        return {}
    result = {}
    for index, p in enumerate(function.parameters):
        of = f"'{p.name}'" if p.name else f"parameter {index + 1}"
        result[index] = record(p.type, unit, of=of, cplus=options.cplus)
    result[-1] = record(function.returns, unit, of="its result", cplus=options.cplus)
    return {index: members for index, members in result.items() if members}


def use_structures(function: Function, structures: Mapping[int, tuple[Member, ...]]) -> Function:
    """The function as its structures are operands: a pointer leads to one, of which what is not written stays."""
    parameters = list(function.parameters)
    for index, members in structures.items():
        p = parameters[index] if index >= 0 else None
        if p and p.pointer and p.const:  # one of them, where it is not indexed
            parameters[index] = replace(p, const=False, access="read")
        elif p and p.access == "write" and p.pointer and _is_read_in_part(function.text, p, members):
            parameters[index] = replace(p, access="update")
    return replace(function, parameters=tuple(parameters))


def _is_read_in_part(text: str, parameter: Parameter, members: tuple[Member, ...]) -> bool:
    """Whether a member is not written, or read before."""
    body = text.partition("{")[2]
    name = re.escape(parameter.name)
    by_reference = isinstance(parameter, ReferenceParameter)
    whole = (
        rf"(?<![\w.>]){name}\s*(?:=(?!=)|[,)])"
        if by_reference
        else rf"\*\s*{name}\s*=(?!=)|(?<!\*)\b{name}\s*(?:[,)]|{_INDEX}\s*=(?!=))"
    )
    if re.search(whole, body):
        return False
    access = (
        rf"(?<![\w.>]){name}\s*\." if by_reference else rf"\b{name}\s*(?:->|{_INDEX}\s*\.)|\(\s*\*\s*{name}\s*\)\s*\."
    )
    for member in members:
        one = rf"(?:{access})\s*{re.escape(member.name)}\b"
        first = re.search(rf"{one}(?P<to>[\w\s.\[\]]*=(?!=)(?P<value>[^;]*))?", body)
        if not first or not first["to"] or re.search(one, first["value"]):
            return True
    return False


def record(spelled: str, unit: Unit, *, of: str, cplus: bool) -> tuple[Member, ...]:
    """The members of the structure that a type is; ``()`` for what is none.

    Raises
    ------
    NotUfuncError
        If NumPy has no such thing; ``of`` is the parameter or the result that it is the type of.
    """
    kind = resolve_type(spelled, unit.typedefs)
    name = kind.removeprefix("struct ")
    if name == kind or "*" in kind or "(" in kind:
        return ()
    members = unit.records.get(name, "")
    if not members:
        return ()  # it is not known what is in it
    if isinstance(members, str):
        raise NotUfuncError(f"{of} is a struct that {members}", _REMEDY)
    return tuple(_read_member(member, unit, of=of, cplus=cplus) for member in members)


def _read_member(member: Member, unit: Unit, *, of: str, cplus: bool) -> Member:
    if member.members:
        return replace(member, members=tuple(_read_member(m, unit, of=of, cplus=cplus) for m in member.members))
    kind = resolve_type(member.type, unit.typedefs)
    if kind.startswith("enum") and not cplus:
        return member
    if inner := record(kind, unit, of=of, cplus=cplus):
        return replace(member, members=inner)
    number = find_named_type(kind, {}, {})
    if number is None or not number.arithmetic or (number.integral and number.bits > 64):
        raise NotUfuncError(
            f"{of} is a struct whose member {member.name} is not a number but {kind or 'unknown'}", _REMEDY
        )
    return member
