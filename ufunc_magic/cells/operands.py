"""Functions of a cell -> ufuncs: which parameter is an input, an output, a size; and what stays a plain function."""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..model import (
    MAX_OPERANDS,
    ContainerParameter,
    Function,
    Member,
    Operand,
    Options,
    Parameter,
    ReferenceParameter,
    Signature,
    SignatureError,
    Unit,
)
from . import structures as record_types, ufunc_comment
from .parameter_roles import (
    Layout,
    NotUfuncError,
    find_value_type,
    guess_layout,
    mark_line_of,
    place_of,
    read_annotated_layout,
    resolve_type,
)
from .ufunc_comment import Annotation, Core


@dataclass(frozen=True)
class Plain:
    """A function that cannot be a ufunc and is bound as it is.

    Attributes
    ----------
    name : str
        Python name.
    function : Function
    reason, remedy : str
        Why, and what the user can change about it, as sentences.
    """

    name: str
    function: Function
    reason: str
    remedy: str


class OperandPlan(NamedTuple):
    """The functions of a cell by what they become.

    Attributes
    ----------
    signatures : tuple of Signature
        In order of definition.  Several of one name are the loops of one ufunc.
    plains : tuple of Plain
        The other functions that the cell offers.
    faults : dict
        Python name -> function and error of each comment that asks for what its function cannot be.
    """

    signatures: tuple[Signature, ...]
    plains: tuple[Plain, ...]
    faults: dict[str, tuple[Function, SignatureError]]

    def leave_out_faults(self) -> OperandPlan:
        """Return the plan itself.

        Raises
        ------
        SignatureError
            The first fault, if there is one.
        """
        for _, fault in self.faults.values():
            raise fault
        return self


def plan_operands(unit: Unit, *, options: Options, structures: bool = False, program: str = "main") -> OperandPlan:
    """Decide what each function of a cell becomes.

    Parameters
    ----------
    unit : Unit
    options : Options
        ``signature`` replaces the comment of the cell's only function; ``identity`` serves every function of
        two inputs and one output.  A comment wins over both.
    structures : bool
        Structures can be operands.
    program : str
        The function that starts a program and is not offered, ``""`` for none.

    Raises
    ------
    SignatureError
        If an option asks for what a function cannot be.
    """
    offered = [function for function in unit.functions if not function.static and function.name != program]
    if options.signature and len({function.name for function in offered}) > 1:
        names = ", ".join(dict.fromkeys(function.name for function in offered))
        raise SignatureError(
            f"The option signature={options.signature!r} applies to one function, but the cell has several: {names}.",
            remedy="Write a // ufunc: comment with the signature above each function.",
        )
    signatures: list[Signature] = []
    named: dict[str, list[Signature]] = {}
    plains: list[Plain] = []
    faults: dict[str, tuple[Function, SignatureError]] = {}
    for function in offered:
        name = _choose_python_name(function.name)
        try:
            note = _read_note(function, options)
            name = note.name or name
            signature = _make_signature(function, note, unit, name=name, options=options, structures=structures)
        except NotUfuncError as error:
            plains.append(Plain(name, function, error.reason, error.remedy))
            continue
        except SignatureError as error:
            if options.signature and not function.annotation:
                raise
            faults[name] = function, error
            continue
        same = named.setdefault(name, [])
        if reason := _find_disagreement(signature, same):
            plains.append(Plain(name, function, reason, f"Give it a different name: // ufunc: name={name}2."))
        else:
            signatures.append(signature)
            same.append(signature)
    if structures:
        taken = named.keys() | {function.name for function in unit.functions}
        signatures += [s for s in _fill_defaults(signatures, unit, options) if s.name not in taken]
    return OperandPlan(tuple(signatures), tuple(plains), faults)


def _fill_defaults(signatures: Sequence[Signature], unit: Unit, options: Options) -> list[Signature]:
    """Further ufuncs of functions with default arguments: ``f_1`` is ``f`` of its first argument alone."""
    result: list[Signature] = []
    for signature in signatures:
        function = signature.function
        overloads = [f for f in unit.functions if (f.name, f.scope) == (function.name, function.scope)]
        for count in range(len(function.parameters) - 1, -1, -1):
            if not function.parameters[count].default or signature.has_records:
                break
            fewer = replace(function, parameters=function.parameters[:count])
            others = [f for f in overloads if f.line != function.line and all(p.default for p in f.parameters[count:])]
            if any(_list_types(replace(f, parameters=f.parameters[:count])) == _list_types(fewer) for f in others):
                break  # the call would be ambiguous
            note = replace(_read_note(function, options), name="")
            dropped = [o for o in signature.inputs if o.index >= count]
            if note.inputs is not None and note.outputs is not None:
                if any(o.core or o.role != "input" for o in (*dropped, *signature.outputs) if o.index >= count):
                    break
                note = replace(note, inputs=note.inputs[: len(note.inputs) - len(dropped)])
            name = f"{signature.name}_{count}"
            with contextlib.suppress(NotUfuncError, SignatureError):
                further = _make_signature(fewer, note, unit, name=name, options=options, structures=True)
                same = [s for s in result if s.name == name]
                if not _find_disagreement(further, same):
                    filled = ", ".join(f"{p.name} = {p.default}" for p in function.parameters[count:])
                    result.append(
                        replace(further, notes=(f"{name} is {signature.name} with {filled}.", *further.notes))
                    )
    return result


def _choose_python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _read_note(function: Function, options: Options) -> Annotation:
    """The words of its comment; those of an option where the comment gives no signature."""
    note = ufunc_comment.read(function.annotation, of=place_of(function))
    if note.inputs is None and options.signature:
        layout = ufunc_comment.read(options.signature, of=place_of(function))
        note = replace(note, text=layout.text, inputs=layout.inputs, outputs=layout.outputs)
    return note


def _find_disagreement(signature: Signature, same: Sequence[Signature]) -> str:
    """Why ``signature`` is no further loop of the ufunc that those of its name, ``same``, are, or ``""``."""
    if same and any(s.has_records for s in (signature, *same)):
        return f"is overloaded (line {mark_line_of(same[0].function)}), and NumPy cannot choose a loop by structure"
    if same and any(getattr(signature, what) != getattr(same[0], what) for what in ("nin", "nout", "core")):
        return (
            f"has other inputs, outputs or core dimensions than {same[0].name} on line {mark_line_of(same[0].function)}"
        )
    for other in same:
        if not signature.function.template and _list_types(signature.function) == _list_types(other.function):
            return f"has the same parameters as {other.name} on line {mark_line_of(other.function)}"
    return ""


def _list_types(function: Function) -> tuple[object, ...]:
    return tuple((p.type, p.pointer, p.shape) for p in function.parameters)


def _make_signature(
    function: Function, note: Annotation, unit: Unit, *, name: str, options: Options, structures: bool
) -> Signature:
    """The signature of a function.

    Raises
    ------
    NotUfuncError
        If it can be none.
    SignatureError
        If its comment asks for one all the same.
    """
    try:
        return _find_signature(function, note, unit, name=name, options=options, structures=structures)
    except NotUfuncError as error:
        if note.inputs is None:
            raise
        raise SignatureError(f"{place_of(function)}: {error.reason}.", remedy=error.remedy) from None


def _find_signature(
    function: Function, note: Annotation, unit: Unit, *, name: str, options: Options, structures: bool
) -> Signature:
    identity = options.identity
    members = record_types.find_structures(function, unit, options=options) if structures else {}
    parts = list_result_types(resolve_type(function.returns, unit.typedefs)) if structures else ()
    element, result = _find_returned_array(function, note, unit.typedefs) if structures else ("", ())
    parts = () if result else parts
    checked = (element,) if result else parts
    _check_types(function, unit.typedefs, strings=note.inputs is not None, without=members, parts=checked)
    function = record_types.use_structures(function, members)
    layout = (
        read_annotated_layout(
            function, note, unit.typedefs, returned=len(parts) or int(function.returns != "void"), result=result
        )
        if note.inputs is not None
        else guess_layout(function, note, unit.typedefs)
    )
    inputs, outputs = _make_operands(function, layout, members, parts)
    if result:
        outputs = tuple(replace(o, type=element, core=result) if o.index < 0 else o for o in outputs)
    if not outputs:
        raise NotUfuncError(
            "has no output: it returns void and has no pointer to write to",
            "Return the result, or write it through a pointer parameter.",
        )
    if len(inputs) + len(outputs) > MAX_OPERANDS:
        raise NotUfuncError(
            f"has {len(inputs) + len(outputs)} operands, but NumPy's limit is {MAX_OPERANDS}",
            "Combine several of them in one array, or split the function.",
        )
    binary = (len(inputs), len(outputs)) == (2, 1)
    if note.identity and not binary:
        raise SignatureError(
            f"{place_of(function)}: identity={note.identity} needs 2 inputs and 1 output, but the function has "
            f"{len(inputs)} and {len(outputs)}.",
            remedy="Remove identity= from the comment.",
        )
    core = note.write_core([o.core for o in inputs], [o.core for o in outputs])
    notes = layout.notes
    dims = {dim for dims in layout.cores.values() for dim in dims}
    if note.inputs is None and (inferred := [p for p in function.parameters if p.length in dims]):
        names = " and ".join(f"{p.name}[i]" for p in inferred)
        ends = " and ".join(dict.fromkeys(f"i < {p.length}" for p in inferred))
        notes = (
            f"{core} was inferred: it uses {names} with {ends} only. To choose another layout, write a // "
            "ufunc: comment above it.",
            *notes,
        )
    return Signature(
        name=name,
        function=function,
        inputs=inputs,
        outputs=outputs,
        sizes=layout.sizes,
        core=core,
        identity=ufunc_comment.IDENTITIES[note.identity or identity or "none"] if binary else None,
        notes=notes,
    )


def _make_operands(
    function: Function, layout: Layout, members: Mapping[int, tuple[Member, ...]], parts: Sequence[str]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    used: set[str] = set()

    def make_name(word: str) -> str:
        word = _choose_python_name(word)
        while word in used:
            word += "_"
        used.add(word)
        return word

    operands = []
    for index, role in layout.roles.items():
        parameter = function.parameters[index]
        by_address = not isinstance(parameter, ReferenceParameter) and bool(parameter.pointer or parameter.shape)
        name = make_name(parameter.name or f"x{index + 1}")
        record = members.get(index, ())
        operands.append(Operand(name, role, parameter.type, index, layout.cores[index], by_address, record))
    inputs = tuple(operand for operand in operands if operand.role != "output")
    outputs = tuple(operand for operand in operands if operand.role != "input")
    if parts:
        names = ("first", "second") if len(parts) == 2 else [f"result{n}" for n, _ in enumerate(parts, 1)]
        results = [Operand(make_name(n), "output", t, -k) for k, (n, t) in enumerate(zip(names, parts, strict=True), 1)]
        outputs = (*results, *outputs)
    elif function.returns != "void":
        returns = find_value_type(function.returns)
        result = Operand(make_name("result"), "output", returns, -1, record=members.get(-1, ()))
        outputs = (result, *outputs)
    return inputs, outputs


def list_result_types(returns: str) -> tuple[str, ...]:
    """The types in a result of several values, of which ``std::get`` takes the parts; empty for another."""
    name, arguments = split_template(returns)
    match name.removeprefix("::").removeprefix("std::"), arguments:
        case "array", (kind, count) if count in set("23456789"):
            return (kind,) * int(count)
        case (("pair" | "tuple"), (_, _, *_)):
            return arguments
    return ()


def _find_returned_array(function: Function, note: Annotation, typedefs: Mapping[str, str]) -> tuple[str, Core]:
    """The element and the sizes of what is returned as one array: a ``std::array`` where arrays are taken, and what
    the comment says so of."""
    core: list[int | str] = []
    element = resolve_type(find_value_type(function.returns), typedefs)
    name, arguments = split_template(element)
    if note.outputs and name.removeprefix("::").removeprefix("std::") in ("vector", "valarray") and len(arguments) == 1:
        return resolve_type(arguments[0], typedefs), note.outputs[0]
    while (inner := split_template(element))[0].removeprefix("::") in ("array", "std::array"):
        if len(inner[1]) != 2 or not inner[1][1].isdecimal():
            return "", ()
        core.append(int(inner[1][1]))
        element = resolve_type(inner[1][0], typedefs)
    takes_arrays = any(isinstance(p, ContainerParameter) for p in function.parameters)
    is_array = takes_arrays if note.outputs is None else note.outputs[:1] == (tuple(core),)
    return (element, tuple(core)) if core and is_array else ("", ())


def split_template(spelled: str) -> tuple[str, tuple[str, ...]]:
    """The name and the arguments of ``name<a, b>``; no arguments for another type."""
    name, _, inside = spelled.strip().partition("<")
    if not inside.endswith(">"):
        return spelled.strip(), ()
    parts, depth = [""], 0
    for char in inside[:-1]:
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return name.strip(), tuple(part.strip() for part in parts)


# -- what cannot be an operand

_ELEMENTS = "Use a pointer to its elements."
_STD = r"(?:(?:::)?(?:cuda::)?std::)?complex\s*<"
#: Pattern of a type, followed by two stars for a pointer to pointers -> the reason why it is no number's, and what
#: to do; the pattern's first group replaces {}.
_NO_NUMBER: tuple[tuple[str, str, str], ...] = (
    (r"(.*(?:\(&|&&).*)", "is a reference of type {}", "Use a pointer or a value."),
    (r".*\(", "is a pointer to a function", "Inside the cell, call the function by its name."),
    (r".*\*", "is a pointer to pointers", "Pass the elements as one array: T *x, or T x[3][3]."),
    (r"(struct|union|class)\b", "is a {}", "Pass its members as separate parameters."),
    (rf"((?!{_STD}).*<.*)", "is a {}, which is not a number", _ELEMENTS),
    (r"(std::(?!byte$|.*(?:_t|>)$).*)", "is a {}, which is not a number", _ELEMENTS),
    (r"void$", "is a pointer to void", "Name the type of its elements, for example const unsigned char *."),
    (r"(FILE|va_list|_Decimal\d+|(?:unsigned )?__int128|__u?int128_t|_?_[Ff]loat128)$",
     "has type {}, which NumPy does not support", "Use a NumPy number type: up to 64 bits, or long double."),
)  # fmt: skip


def _check_types(
    function: Function,
    typedefs: Mapping[str, str],
    *,
    strings: bool,
    without: Collection[int] = (),
    parts: Sequence[str] = (),
) -> None:
    if function.variadic:
        raise NotUfuncError("takes a variable number of arguments", "Declare the parameters that it needs.")
    for index, parameter in enumerate(function.parameters):
        if index in without and parameter.pointer < 2:
            continue
        name = f"'{parameter.name}'" if parameter.name else f"parameter {index + 1}"
        spelled = resolve_type(parameter.type, typedefs)
        fault = _describe_fault(spelled, parameter)
        is_array = (parameter.pointer or parameter.shape) and not isinstance(parameter, ContainerParameter)
        if not fault and spelled == "char" and is_array and not strings:
            fault = "is a string", "Use signed char or unsigned char for small numbers."
        if fault:
            raise NotUfuncError(f"{name} {fault[0]}", fault[1])
    returned = "void" if -1 in without else resolve_type(find_value_type(function.returns), typedefs)
    for part in parts or (returned,):
        if part != "void" and part != "auto" and (fault := _describe_fault(part, Parameter("", part))):
            reason = "returns a pointer" if "*" in part else f"its result {fault[0]}"
            sized = " Write its size in a comment: // ufunc: (n)->(n)." if "std::vector<" in part else ""
            raise NotUfuncError(reason, f"Write the results through pointer parameters.{sized}")


def _describe_fault(spelled: str, parameter: Parameter) -> tuple[str, str] | None:
    """The reason why a type is no number's, and what to do."""
    spelled += "**" * (parameter.pointer > 1)
    for pattern, fault, remedy in _NO_NUMBER:
        if match := re.match(pattern, spelled):
            return fault.format(match[1] if match.lastindex else ""), remedy
    return None
