"""Signatures of the functions of a Cython module that can be ufuncs, and reasons for those that cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ... import cells
from ...ir import find_value_uses
from ...model import Function, Options, Parameter, Signature, SignatureError, Unit, ValueUse, mark_line
from .cython_function import CellText, CyFunction, CythonType


@dataclass(frozen=True)
class NoUfunc:
    """A function that stays Python's, and why: ``reason`` completes "The function ..."."""

    function: CyFunction
    reason: str


@dataclass(frozen=True)
class TypedFunction:
    """A function with the cell's text."""

    function: CyFunction
    text: CellText
    cplus: bool

    @property
    def outputs(self) -> tuple[CythonType, ...]:
        """The items of a ctuple: pointers after the parameters."""
        return self.function.returns.fields if self.function.returns.kind == "tuple" else ()

    @property
    def place(self) -> str:
        return f"{self.function.name} (line {mark_line(self.function.line)})"


def infer(typed: TypedFunction, options: Options) -> Signature | NoUfunc:
    """The ufunc that a function can be, or why it can be none.

    Raises
    ------
    SignatureError
        If its comment asks for what it cannot be.
    """
    function = typed.function
    annotation = typed.text.read_annotation(function.line)
    reason = _explain_reason(function, annotated=bool(annotation))
    if reason:
        if annotation:
            raise SignatureError(
                f"{typed.place}: '# ufunc: {annotation}' asks for a ufunc, but the function {reason}.",
                remedy="Declare its types, with no default values, or remove the comment.",
            )
        return NoUfunc(function, reason)
    uses = find_value_uses([function.body])[0] if function.body else [ValueUse()] * len(function.parameters)
    described = Function(
        name=function.name,
        returns="void"
        if typed.outputs or function.returns.kind == "void"
        else spell_c_type(function.returns, cplus=typed.cplus),
        parameters=(
            *(replace(_describe_parameter(typed, position), use=use) for position, use in enumerate(uses)),
            *(
                Parameter(f"out{n}", spell_c_type(t, cplus=typed.cplus), pointer=1, access="write")
                for n, t in enumerate(typed.outputs, 1)
            ),
        ),
        line=function.line,
        text=typed.text.read_definition(function.line),
        doc=function.doc or typed.text.read_comment(function.line),
        annotation=annotation or _guess_signature(function),
    )
    arrays = [p.name for p in function.parameters if p.type.kind == "array"]
    for position, parameter in enumerate(function.parameters):
        if parameter.type.kind == "array":
            effect = function.find_effect(position)
            if effect.as_object:
                return NoUfunc(function, f"uses the array '{parameter.name}' as a Python object")
            if effect.escapes:
                return NoUfunc(function, f"may keep the array '{parameter.name}' beyond its call")
    if arrays and not (annotation or _guess_signature(function)):
        return NoUfunc(
            function,
            f"takes the array '{arrays[0]}', but no comment such as # ufunc: (n)->() above it gives "
            "the core dimensions",
        )
    try:
        plan = cells.plan_operands(
            Unit(functions=(described,)), options=replace(options, signature="", types=""), program=""
        )
        signatures, plains, _ = plan.leave_out_faults()
    except SignatureError as fault:
        if not annotation:
            return NoUfunc(function, f"cannot be one: {_spell_for_cython(fault.marked)}")
        raise SignatureError(_spell_for_cython(fault.marked), remedy=_spell_for_cython(fault.remedy)) from None
    if plains:
        why = plains[0]
        speaks_of_it = why.reason.split(" ", 1)[0] in ("gives", "takes", "has", "returns")
        reason = why.reason if speaks_of_it else f"has a parameter that cannot be an operand: {why.reason}"
        return NoUfunc(function, _spell_for_cython(f"{reason}{f' ({why.remedy})' if why.remedy else ''}"))
    if not signatures:
        return NoUfunc(function, "has no name")
    _check_ranks(signatures[0], typed)
    # A memoryview knows its size.
    pointers = any(p.type.kind == "pointer" for p in function.parameters)
    notes = tuple(n for n in signatures[0].notes if pointers or not n.startswith("No integer parameter"))
    return replace(signatures[0], notes=notes)


def _spell_for_cython(message: str) -> str:
    return message.replace("// ufunc:", "# ufunc:")


def _explain_reason(function: CyFunction, *, annotated: bool) -> str:
    """Why it can be no ufunc, whatever its comment says; ``""`` if it can."""
    if function.varargs:
        return "takes *args, **kwargs or keywords"
    for parameter in function.parameters:
        if parameter.type.kind == "object":
            return f"takes a Python object, '{parameter.name}'"
        if parameter.type.kind not in ("number", "array", "pointer"):
            return f"takes a {parameter.type.shown}, '{parameter.name}'"
    # A def of numbers may have them; only of arrays, which take a comment, a ufunc needs all.
    defaults = [p.name for p in function.parameters if p.default and (annotated or function.kind != "def")]
    if defaults:
        return f"has a default value, for '{defaults[0]}'"
    if not function.parameters:
        return "takes no input"
    if function.returns.kind == "object" or not function.cname:
        return "returns a Python object"
    if function.returns.kind not in ("number", "tuple", "void"):
        return f"returns a {function.returns.shown}"
    return ""


def _guess_signature(function: CyFunction) -> str:
    """The signature of a ``cdef`` function of one array that returns a number: nothing else could be meant."""
    arrays = [p for p in function.parameters if p.type.kind == "array"]
    others = [p for p in function.parameters if p.type.kind == "pointer"]
    if function.kind != "cdef" or len(arrays) != 1 or others or function.returns.kind != "number":
        return ""
    dims = ",".join(("k", "l", "m", "n")[-arrays[0].type.ndim :])
    if any(p.name in dims.split(",") for p in function.parameters):
        return ""
    groups = [f"({dims})" if p.type.kind == "array" else "()" for p in function.parameters]
    return f"{','.join(groups)}->()"


def spell_c_type(kind: CythonType, *, cplus: bool) -> str:
    if kind.c == "bint":
        return "bool" if cplus else "_Bool"
    return kind.c


def _describe_parameter(typed: TypedFunction, position: int) -> Parameter:
    function = typed.function
    parameter = function.parameters[position]
    kind, c = parameter.type, spell_c_type(parameter.type, cplus=typed.cplus)
    if kind.kind == "number":
        return Parameter(parameter.name, c, line=function.line)
    effect = function.find_effect(position)
    return Parameter(
        parameter.name,
        c,
        const=kind.const,
        pointer=1,
        access=effect.access,
        indexed=effect.indexed or kind.kind == "array",
        line=function.line,
    )


def _check_ranks(signature: Signature, typed: TypedFunction) -> None:
    """A typed memoryview has the number of dimensions that it is declared with."""
    for operand in (*signature.inputs, *signature.outputs):
        if not 0 <= operand.index < len(typed.function.parameters):
            continue
        kind = typed.function.parameters[operand.index].type
        if kind.kind == "array" and len(operand.core) != kind.ndim:
            annotation = typed.text.read_annotation(typed.function.line)
            raise SignatureError(
                f"{typed.place}: '# ufunc: {annotation}' gives '{operand.name}' {len(operand.core)} dimensions, "
                f"but {kind.shown} has {kind.ndim}.",
                remedy=f"Write ({','.join('klmn'[-kind.ndim :])}) for it.",
            )
