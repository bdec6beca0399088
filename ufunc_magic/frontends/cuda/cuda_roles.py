"""What each function of a CUDA cell becomes: a ufunc, a kernel, a plain function, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...model import Function, Operand, Options, Signature, Unit
from .. import c, operands
from ..c import ReferenceParameter
from ..operands import Plain

__all__ = ["Roles", "assign", "device_call", "in_numbas_form", "plain_call", "prepared"]

#: Names that a result's pointer has in Numba's documentation, and in what people write after it.
_RESULT = re.compile(r"return_?val(?:ue)?|ret(?:_?val|_?ptr)?|res(?:ult)?", re.IGNORECASE)


@dataclass(frozen=True)
class Roles:
    """The functions of a cell by what they become, and what to say of the others."""

    signatures: tuple[Signature, ...]
    plain: tuple[Plain, ...]
    kernels: tuple[Function, ...]
    #: Those of ``plain`` that return a status.
    statuses: tuple[Plain, ...]
    notes: tuple[str, ...]


def prepared(unit: Unit) -> Unit:
    """``unit`` with what CUDA's own functions call, so that SIMD math is found through them."""
    functions = tuple(replace(f, calls=f.calls | c.stand_for(f.calls)) for f in unit.functions)
    return replace(unit, functions=functions, calls=unit.calls | c.stand_for(unit.calls))


def in_numbas_form(function: Function, *, abi: str) -> bool:
    """Whether the result goes through the first pointer, and what is returned is a status.

    Numba's device functions are ``extern "C" __device__ int f(T *return_value, ...)``; ``abi`` is the user's word on
    it where a function that looks so is not one, or the other way round.
    """
    first = function.parameters[0] if function.parameters else None
    fits = function.returns == "int" and first is not None and not first.const and bool(first.pointer or first.shape)
    if abi != "auto" or not fits or first is None:
        return fits and abi == "numba"
    one = not first.indexed or bool(function.annotation)  # an array that is filled is no result to Numba
    return one and 'extern "C"' in function.qualifiers and bool(_RESULT.fullmatch(first.name))


def assign(unit: Unit, *, options: Options) -> Roles:
    """Decide what becomes of each function.

    Raises
    ------
    SignatureError
        If a comment asks for what a function cannot be.
    """
    on_device: list[Function] = []
    kernels: list[Function] = []
    host: list[str] = []
    notes: list[str] = []
    statuses: set[int] = set()
    packed: list[Plain] = []
    for function in unit.functions:
        hidden = function.static or function.name == "main"
        if "__global__" in function.qualifiers:
            kernels += [] if hidden else [function]
        elif "__device__" not in function.qualifiers:
            host += [] if hidden else [function.name]
        elif hidden:
            on_device.append(function)
        elif _takes_values(function):
            on_device.append(replace(function, static=True))
        elif word := _packed(function):
            what = "returns a" if word == function.returns else "has an operand of the type"
            packed.append(Plain(function.name, function, f"{what} {word}, which is no number", "Pass its members."))
        elif in_numbas_form(function, abi=options.abi):
            on_device.append(replace(function, returns="void"))
            statuses.add(function.line)
        else:
            on_device.append(function)
    signatures, plain = operands.plan(replace(unit, functions=tuple(on_device)), options=options)
    by_line = {f.line: f for f in unit.functions}
    signatures = tuple(
        replace(s, status=True, function=by_line[s.function.line]) if s.function.line in statuses else s
        for s in signatures
    )
    plain = (*(replace(p, function=by_line[p.function.line]) for p in plain), *packed)
    templates = [p for p in plain if p.function.template]
    notes += [
        f"{p.name} is a template that cannot be a ufunc, so nothing is made of it alone: it {p.reason}"
        for p in templates
    ]
    if host:
        one = len(host) == 1
        words = (
            "is neither __device__ nor __global__, so it is"
            if one
            else "are neither __device__ nor __global__, so they are"
        )
        notes.append(f"{', '.join(host)} {words} not bound")
    plain = tuple(p for p in plain if p not in templates)
    failing = tuple(p for p in plain if p.function.line in statuses)
    return Roles(signatures, plain, tuple(kernels), failing, tuple(notes))


def _packed(function: Function) -> str:
    """The first type of a function's interface that is several numbers in one, or ``""``."""
    words = (*(p.type for p in function.parameters), function.returns)
    return next((word for word in words if word in c.VECTORS or word in c.PACKED), "")


def _takes_values(function: Function) -> bool:
    """A template of more than types, which only a call in the cell can complete."""
    found = re.match(r"template\s*<([^<>]*)>", function.text)
    return bool(function.template and found and found[1].count(",") + 1 != len(function.template))


def device_call(callee: str, signature: Signature) -> str:
    """How the function is called in device code, a statement with ``{in0}``, ``{out0}``, ... for operands.

    ``""`` for a function with core dimensions, which has no operands of one element.
    """
    if signature.core:
        return ""
    given: dict[int, str] = {}
    first: list[str] = []
    for n, operand in enumerate(signature.inputs):
        given[operand.index] = f"{'&' * operand.pointer}{{in{n}}}"
    for n, operand in enumerate(signature.outputs):
        given[operand.index] = f"{'&' * operand.pointer}{{out{n}}}"
        if operand.role == "inout":
            first.append(f"{{out{n}}} = {{in{_place(operand, signature.inputs)}}}; ")
    arguments = ", ".join(given[n] for n in range(len(signature.function.parameters)))
    result = f"{given[-1]} = " if -1 in given else ""
    return f"{''.join(first)}{result}{callee}({arguments})"


def _place(operand: Operand, inputs: Sequence[Operand]) -> int:
    return next(n for n, o in enumerate(inputs) if o.index == operand.index)


def plain_call(callee: str, function: Function, prototype: Sequence[str], *, status: bool) -> str:
    """How a function that is no ufunc is called in device code: its parameters are ``{in0}``, ``{in1}``, ...

    With ``status``, the first is ``&{out0}`` and none of them.
    """
    parameters = function.parameters[1:] if status else function.parameters
    given = [f"{'*' * isinstance(p, ReferenceParameter)}{{in{n}}}" for n, p in enumerate(parameters)]
    if status:
        return f"{callee}({', '.join(['&{out0}', *given])})"
    return f"{'{out0} = ' * (prototype[0] != 'void')}{callee}({', '.join(given)})"
