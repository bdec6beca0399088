"""The types that the templates of a C++ cell are compiled for, where ``--types`` names none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ir import Binary, Constant, Convert, FunctionIR, OpaqueExpression, OpaqueStatement, Unary, walk
from ...model import Function, number_type
from . import c_text
from .declarations import CText
from .lowering import lower

#: Those of NumPy's int64 and uint64 are C's ``long`` where that has 64 bits.
_INTEGERS, _UNSIGNED = (f"{kind}4,{np.dtype(kind + '8').char}" for kind in "iu")
_FLOATS = "f4,f8"
#: Words of a template that say what its types must be -> what to try first.
_WORDS = {
    _UNSIGNED: {"unsigned_integral", "is_unsigned", "is_unsigned_v"},
    _INTEGERS: {"integral", "is_integral", "is_integral_v", "signed_integral", "is_integer"},
    _FLOATS: {"floating_point", "is_floating_point", "is_floating_point_v", "is_iec559"},
}
_BITWISE = frozenset(("%", "<<", ">>", "&", "|", "^"))


class TemplateTypes(NamedTuple):
    """The types of a template.

    Attributes
    ----------
    tries : tuple of str
        Values for ``--types``, to try one after the other until the compiler takes one.
    loses_digits : bool
        An instance for integers would cut off digits.
    """

    tries: tuple[str, ...]
    loses_digits: bool = False


def choose_types(text: CText, function: Function, reached: frozenset[str]) -> TemplateTypes:
    """Choose the types of a template.

    Integers are among the first tries where they are computed as in C++, ``x / 2``, in the functions ``reached`` too.
    Where a floating-point number would become one on the way, ``return x * 0.5``, nobody asked for an instance that
    loses its digits, and integers are computed as floating-point numbers.
    """
    words = c_text.find_words(function.text)
    # A branch may be for the other types.
    head = words if "static_assert" in words else c_text.find_words(function.text.partition("{")[0])
    if named := [types for types, known in _WORDS.items() if known & head]:
        first = ",".join(named)  # std::integral<T> || std::floating_point<T>
        return TemplateTypes((first, *(other for other in (_FLOATS, _INTEGERS, _UNSIGNED) if other != first)))
    names = {function.name, *reached}
    as_integer, as_double = (
        [f for name in names for f in _lower_template(text, name, function, kind)] for kind in ("i4", "f8")
    )
    by_type = "if constexpr" in function.text and not words.isdisjoint(set().union(*_WORDS.values()))
    if any(map(_needs_integers, as_double)) and not by_type:
        return TemplateTypes((_INTEGERS, _UNSIGNED, _FLOATS))
    lost = set().union(*map(_find_lost_digits, as_integer)) - set().union(*map(_find_lost_digits, as_double))
    unknown = any(isinstance(n, OpaqueExpression | OpaqueStatement) for f in as_integer for n in walk(f.body))
    if (lost or unknown) and not by_type:
        return TemplateTypes((_FLOATS, _INTEGERS), loses_digits=bool(lost))
    return TemplateTypes((f"{_FLOATS},{_INTEGERS}", _INTEGERS, _FLOATS))


def _lower_template(text: CText, name: str, template: Function, kind: str) -> tuple[FunctionIR, ...]:
    """The functions of a name, with a template's types as this one."""
    number = number_type(kind)
    assert number is not None
    functions = lower(text, types=dict.fromkeys(template.template, number.number)).functions
    return functions.get(name, ())


def _needs_integers(function: FunctionIR) -> bool:
    """Whether an operation that only integers have is done with a floating-point number."""
    for node in walk(function.body):
        match node:
            case Binary(op=op, left=left, right=right) if op in _BITWISE and "f" in (left.type.kind, right.type.kind):
                return True
            case Unary(op="~", operand=operand) if operand.type.kind == "f":
                return True
    return False


def _find_lost_digits(function: FunctionIR) -> set[tuple[int, int]]:
    """The places where a floating-point number, or what may be one, becomes an integer that nobody wrote."""
    return {
        (node.at.start, node.at.end)
        for node in walk(function.body)
        if isinstance(node, Convert)
        and node.type.integral
        and node.type.kind != "b"
        and node.value.type.kind in "fc?"
        and (not node.explicit or (isinstance(node.value, Constant) and node.value.value % 1))  # type: ignore[operator]
    }
