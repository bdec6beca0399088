"""Which parameters of a function are inputs, outputs and sizes, and the core dimensions of each.

Without an annotation the declaration and the body's accesses decide; with one its counts do, and the
body's accesses only where the counts leave a choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, NoReturn

from ..ir import find_named_type
from ..model import (
    ContainerParameter,
    Function,
    Parameter,
    ReferenceParameter,
    SignatureError,
    find_core_names,
    mark_line,
)
from .ufunc_comment import Annotation, Core


class NotUfuncError(Exception):
    """Why a function stays plain: a reason and a remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


_Role = Literal["input", "output", "inout"]


class Layout(NamedTuple):
    """Roles and core dimensions by parameter position, and the parameters that receive sizes."""

    roles: dict[int, _Role]
    cores: dict[int, Core]
    sizes: dict[int, str]
    notes: tuple[str, ...] = ()


def place_of(function: Function) -> str:
    """The function and its line, for messages."""
    place = f"{function.file} line" if function.file else "line"
    return f"{function.name} ({place} {mark_line_of(function)})"


def mark_line_of(function: Function) -> str:
    """Its line, in marks where it is one of the cell and not of a header."""
    return str(function.line) if function.file else mark_line(function.line)


def resolve_type(spelled: str, typedefs: Mapping[str, str]) -> str:
    """A type through its typedefs, without const."""
    for _ in range(32):
        spelled = spelled.removeprefix("const ")
        if spelled not in typedefs:
            break
        spelled = typedefs[spelled]
    return spelled


def find_value_type(returns: str) -> str:
    """The type of the value that a function returns, which may be a reference to it; ``auto`` where C++ deduces it."""
    if returns.startswith("decltype("):
        return "auto"
    value = returns.rstrip("& ")
    return value.removeprefix("const ") if value != returns.rstrip() else value


def _is_integer(parameter: Parameter, typedefs: Mapping[str, str]) -> bool:
    if parameter.pointer or parameter.shape:
        return False
    return not re.search(r"float|double|complex|bool|_Bool|half", resolve_type(parameter.type, typedefs), re.IGNORECASE)


# -- without an annotation


def guess_layout(function: Function, note: Annotation, typedefs: Mapping[str, str]) -> Layout:
    """The layout that the declaration and the body speak of."""
    forced = _read_forced(function, note)
    shapes = {p.name: p.shape or ((p.length,) if p.length else ()) for p in function.parameters}
    dims = {dim for shape in shapes.values() for dim in shape if isinstance(dim, str)}
    sizes = {
        index: parameter.name
        for index, parameter in enumerate(function.parameters)
        if parameter.name in dims and _is_integer(parameter, typedefs)
    }
    roles: dict[int, _Role] = {}
    notes: list[str] = []
    unsized = [p for p in function.parameters if isinstance(p, ContainerParameter) and p.pointer]
    size = next(word for word in ("n", "m", "k", "n_") if word not in shapes)
    shapes |= {p.name: (size, *p.shape) for p in unsized}
    if len(unsized) > 1:
        names = " and ".join(f"'{p.name}'" for p in unsized)
        notes.append(f"{names} have one length. For others, write a // ufunc: comment above the function.")
    for index, parameter in enumerate(function.parameters):
        if index in sizes:
            continue
        if isinstance(parameter, ContainerParameter):
            pass
        elif (parameter.pointer or parameter.shape) and parameter.length not in sizes.values():
            _check_layout(function, parameter, set(sizes.values()), typedefs)
            if function.external and parameter.shape and not parameter.const:
                shape = "".join(f"[{dim}]" for dim in parameter.shape)
                raise NotUfuncError(
                    f"'{parameter.name}{shape}' may be an input or an output, and there is no body to tell",
                    "Declare the function in the cell with a comment such as // ufunc: (3),(3)->(3).",
                )
        role = roles[index] = "inout" if index in forced else _find_role(parameter)
        if role == "output" and parameter in unsized and all(_find_role(p) == "output" for p in unsized):
            role = roles[index] = "inout"  # no other has its length
        if role == "inout" and index not in forced:
            notes.append(f"'{parameter.name}' is read before it is written, so it is both an input and an output.")
        elif role == "input" and parameter.pointer and not (parameter.length or parameter in unsized):
            notes.append(f"'{parameter.name}' is only read, so it is an input.")
    cores: dict[int, Core] = {index: shapes[function.parameters[index].name] for index in roles}
    known = {dim for index, role in roles.items() if role != "output" for dim in cores[index]}
    for index, core in cores.items():
        for dim in core:
            if isinstance(dim, str) and dim not in known:
                example = _write_example(function, typedefs)
                raise NotUfuncError(
                    f"no input determines the size {dim} of '{function.parameters[index].name}'",
                    f"For a ufunc with the argument {dim} write // ufunc: {example} above it." if example else _REMEDY,
                )
    return Layout(roles, cores, sizes, tuple(notes))


def _find_role(parameter: Parameter) -> _Role:
    if not (parameter.pointer or parameter.shape) or parameter.const:
        return "input"
    # An array that nobody touches is more likely given than asked for; a lone pointer the other way round.
    untouched: _Role = "input" if parameter.shape else "output"
    untouched = "inout" if isinstance(parameter, ContainerParameter) else untouched
    roles: dict[str, _Role] = {"read": "input", "write": "output", "update": "inout", "none": untouched}
    return roles[parameter.access]


#: The remedy where no comment can be suggested.
_REMEDY = "Write its layout in a // ufunc: comment above the function, one group for each operand."
#: The fate of a pointer -> why it is no operand, and what to do.
_FATES = {
    "freed": ("is freed", "Pass it memory that C allocated: it is a plain function."),
    "kept": ("is kept beyond the call", "Pass it memory that outlives the call: it is a plain function."),
    "cast": ("is cast to another type", "Declare it with the type of its elements."),
}


def _check_layout(function: Function, parameter: Parameter, sizes: set[str], typedefs: Mapping[str, str]) -> None:
    """Whether the declaration alone tells how many elements a pointer leads to."""
    if fate := _FATES.get(parameter.fate):
        raise NotUfuncError(f"pointer '{parameter.name}' {fate[0]}", fate[1])
    example = _write_example(function, typedefs)
    remedy = _REMEDY
    if example:
        remedy = f"Write its layout in a comment above the function, for example // ufunc: {example}."
    if any(isinstance(dim, str) and dim not in sizes for dim in parameter.shape):
        shape = "".join(f"[{dim}]" for dim in parameter.shape)
        raise NotUfuncError(f"'{parameter.name}{shape}' has a size that no integer parameter gives", remedy)
    if not parameter.pointer:
        return
    if parameter.const:
        raise NotUfuncError(f"pointer '{parameter.name}' to const is an array of unknown length", remedy)
    if parameter.indexed or parameter.shape:
        raise NotUfuncError(f"pointer '{parameter.name}' is used as an array", remedy)
    if parameter.fate == "lent" and any(map(_OF_SIZES.fullmatch, (p.name for p in function.parameters))):
        raise NotUfuncError(
            f"pointer '{parameter.name}' goes to a function that is only declared, and may be an array", remedy
        )


#: Names that people give to the number of an array's elements.
_OF_SIZES = re.compile(
    r"(?i)n[a-z]?|n_?\d|n_\w+|(\w*_)?(len(gth)?|size|sz|count|cnt|num(el)?|dim|rows?|cols?|columns|width|height)(_\w+|\d)?|"
    r"\w+(len(gth)?|size|count)|num_?\w+"
)


def _write_example(function: Function, typedefs: Mapping[str, str]) -> str:
    """A signature that the function might have: core dimensions are those that indices suggest, or are named like
    integers that seem to be sizes; ``""`` where nothing suggests the size of an output, or a pointer is no array."""
    parameters = function.parameters
    integers = [p.name for p in parameters if p.name and _is_integer(p, typedefs) and _is_word(p, typedefs)]
    sizes = [name for name in integers if _OF_SIZES.fullmatch(name) or name in function.body.loop_ends]
    sizes = list(dict.fromkeys((*(p.length for p in parameters if p.length), *sizes)))
    lent = [p.pointer and p.fate == "lent" for p in parameters]
    roles = {i: "inout" if lent[i] and not p.const else _find_role(p) for i, p in enumerate(parameters)}
    free = iter([name for name in "nmkpqrstuvwxyz" if name not in integers])
    names: dict[str, str] = {}  # of lengths that no integer gives

    def name_length(words: str) -> Core:
        if words not in names:
            names[words] = next(free, "l")
        return (names[words],)

    inner: dict[int, Core] = {}
    for index, p in enumerate(parameters):
        following = parameters[index + 1].name if index + 1 < len(parameters) else ""
        whole = all(isinstance(dim, int) or dim in integers for dim in p.dims)
        dims: Core = (p.length,) if p.length else p.dims if whole or roles[index] == "output" else ()
        dims = () if dims == (1,) and sizes else dims
        several = p.indexed or p.shape or dims[1:] or (p.const and dims != (1,)) or lent[index]
        if not p.pointer or (p.pointer == 1 and not several):
            dims = ()  # one number, or all is in its type
        elif (p.fate and not lent[index]) or p.pointer > 1 or (p.like.startswith("+") and roles[index] == "output"):
            return ""
        elif dims:
            pass
        elif (p.dims and p.dims != (1,)) or p.like:
            dims = name_length(p.like or str(p.dims))
        elif following in sizes or len(sizes) == 1:
            dims = (following if following in sizes else sizes[0],)
        elif not sizes:
            dims = name_length("")
        else:
            return ""
        inner[index] = (*dims, *p.shape)
    known = {d for index, core in inner.items() if roles[index] != "output" for d in core}
    for index, core in inner.items():
        try:
            made_of = {name for dim in core for name in find_core_names(str(dim))}
        except ValueError:  # a name that Python has another meaning for
            return ""
        if roles[index] == "output" and made_of - {*known, *integers}:
            roles[index] = "inout"  # nothing gives its size but the array itself
            known |= {*core}
    sides: dict[bool, list[str]] = {True: [], False: [] if function.returns == "void" else ["()"]}
    for index, p in enumerate(parameters):
        if p.name in integers and p.name in known:
            continue  # it receives the size
        if roles[index] != "output":
            sides[True].append(_write_core(inner[index]))
        if roles[index] != "input":
            sides[False].append(_write_core(inner[index]))
    return f"{','.join(sides[True]) or '()'}->{','.join(sides[False])}" if sides[False] else ""


def _is_word(parameter: Parameter, typedefs: Mapping[str, str]) -> bool:
    """Whether its type is an integer of C's."""
    known = find_named_type(re.sub(r"\b(const|volatile)\b", "", parameter.type), {}, typedefs)
    return known is not None and known.kind in "iu"


# -- with an annotation

#: How far each role is from what the body does, by access.  Unknown functions count as writers, so an input
#: that is "written" is possible; an output that is only read hardly.
_COSTS: dict[str, dict[_Role, int]] = {
    "none": {"input": 1, "output": 1, "inout": 3},
    "read": {"input": 0, "output": 4, "inout": 3},
    "write": {"input": 3, "output": 0, "inout": 2},
    "update": {"input": 3, "output": 1, "inout": 0},
}
_ORDER: tuple[_Role, ...] = ("input", "output", "inout")


def _read_forced(function: Function, note: Annotation) -> set[int]:
    """Positions of the parameters that ``inout=`` names."""
    positions = {p.name: index for index, p in enumerate(function.parameters)}
    for name in note.inout:
        parameter = function.parameters[positions[name]] if name in positions else None
        if parameter is None or parameter.const or not (parameter.pointer or parameter.shape):
            fault = "is not a parameter" if parameter is None else "is not a writable pointer"
            can = ", ".join(p.name for p in function.parameters if (p.pointer or p.shape) and not p.const)
            raise SignatureError(
                f"{place_of(function)}: inout={name} {fault}.",
                remedy=f"Possible names: {can}." if can else "Remove it.",
            )
    return {positions[name] for name in note.inout}


def read_annotated_layout(
    function: Function, note: Annotation, typedefs: Mapping[str, str], *, returned: int, result: Core = ()
) -> Layout:
    """The layout that the annotation asks for, checked against the declaration.

    ``returned`` values are returned; ``result`` are the sizes of a returned array.
    """
    inputs, outputs = list(note.inputs or ()), list(note.outputs or ())
    own = {dim for core in inputs for dim in core}
    integers = {p.name: index for index, p in enumerate(function.parameters) if _is_integer(p, typedefs)}
    for dim in (d for core in outputs for d in core if isinstance(d, str)):
        unknown = find_core_names(dim) - own - integers.keys()
        if unknown and dim.isidentifier():
            fault = f"gives the outputs a size {dim} that no input has, and no integer parameter"
            _refuse(function, note, fault, f"Use a fixed size, or let the function take it: int {dim}.")
        if unknown:
            fault = f"has the core dimension {dim!r}, but {min(unknown)} is no dimension of an input and no integer"
            _refuse(function, note, fault, "Compute it of dimensions of inputs and of integer parameters.")
    sizes: Mapping[int, str] = {index: name for name, index in integers.items() if name in note.dims}
    counts = len(inputs), len(outputs) - returned
    # A size that no input has may be an operand of its own, a number.  The reading that fits the body comes first.
    numbers = {index: name for index, name in sizes.items() if name in own}
    readings = [(_find_roles(function, note, each, counts=counts), each) for each in (sizes, numbers)]
    faults: list[SignatureError] = []
    for (_, roles), receivers in sorted((r for r in readings if r[0][1]), key=lambda reading: reading[0][0]):
        try:
            return Layout(roles, _give_cores(function, note, roles, returned=returned, result=result), dict(receivers))
        except SignatureError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    _refuse(function, note, *_refuse_count(function, note, sizes, typedefs))


def _give_cores(
    function: Function, note: Annotation, roles: Mapping[int, _Role], *, returned: int, result: Core
) -> dict[int, Core]:
    """The core dimensions of each operand."""
    inputs, outputs = list(note.inputs or ()), list(note.outputs or ())
    returns, outputs = outputs[:returned], outputs[returned:]
    if any(core != result for core in returns):
        _refuse(function, note, "gives the return value core dimensions", "Write () for it, as the first output.")
    cores: dict[int, Core] = {}
    for index, role in roles.items():
        name = function.parameters[index].name
        core = inputs.pop(0) if role != "output" else outputs.pop(0)
        if role == "inout" and (other := outputs.pop(0)) != core:
            _refuse(
                function,
                note,
                f"gives '{name}', which is both input and output, two layouts: "
                f"{_write_core(core)} and {_write_core(other)}",
                "Write the same dimensions for it in the inputs and in the outputs.",
            )
        _check_core(function, note, function.parameters[index], core)
        cores[index] = core
    return cores


def _find_roles(
    function: Function, note: Annotation, sizes: Mapping[int, str], *, counts: tuple[int, int]
) -> tuple[int, dict[int, _Role]]:
    """The roles nearest to what the body does that make ``counts`` inputs and outputs, and how far they are; empty if
    none do.

    Counts reached so far -> (cost, roles); ties go to the reading with inputs first.
    """
    forced = _read_forced(function, note)
    free = [index for index in range(len(function.parameters)) if index not in sizes]
    reached: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {(0, 0): (0, ())}
    for index in free:
        costs = _list_choices(function.parameters[index], forced=index in forced)
        after: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
        for (nin, nout), (cost, chosen) in reached.items():
            for role, extra in costs.items():
                now = (nin + (role != "output"), nout + (role != "input"))
                option = (cost + extra, (*chosen, _ORDER.index(role)))
                if now[0] <= counts[0] and now[1] <= counts[1]:
                    after[now] = min(after.get(now, option), option)
        reached = after
    cost, chosen = reached.get(counts, (0, ()))
    return cost, {index: _ORDER[role] for index, role in zip(free, chosen, strict=False)}


def _list_choices(parameter: Parameter, *, forced: bool) -> dict[_Role, int]:
    if forced:
        return {"inout": 0}
    if parameter.const or not (parameter.pointer or parameter.shape):
        return {"input": 0}
    return _COSTS[parameter.access]


def _refuse_count(
    function: Function, note: Annotation, sizes: Mapping[int, str], typedefs: Mapping[str, str]
) -> tuple[str, str]:
    """The fault and the remedy where the counts of a signature fit no reading of the function."""
    forced = _read_forced(function, note)
    free = [index for index in range(len(function.parameters)) if index not in sizes]
    roles = {index: "inout" if index in forced else _find_role(function.parameters[index]) for index in free}
    names = [p.name or f"parameter {index + 1}" for index, p in enumerate(function.parameters)]
    ins = [names[index] for index, role in roles.items() if role != "output"]
    outs = [names[index] for index, role in roles.items() if role != "input"]
    outs = outs if function.returns == "void" else ["the return value", *outs]
    fault = (
        f"has {len(note.inputs or ())} inputs and {len(note.outputs or ())} outputs; the function seems to have "
        f"inputs: {', '.join(ins) or 'none'}; outputs: {', '.join(outs) or 'none'}"
    )
    receives = "An integer parameter receives the size of a dimension with the same name."
    return (
        fault,
        f"Write one group for each operand, for example // ufunc: {_write_example(function, typedefs)}. {receives}",
    )


def _check_core(function: Function, note: Annotation, parameter: Parameter, core: Core) -> None:
    """Whether a parameter, as it is declared, can hold the core dimensions it is given."""
    declared: Core = parameter.shape
    if not (parameter.pointer or declared) or isinstance(parameter, ReferenceParameter):
        if core:
            fault = f"gives '{parameter.name}' the dimensions {_write_core(core)}, but it is a single value"
            _refuse(function, note, fault, "Write () for it, or declare it as a pointer.")
        return
    if isinstance(parameter, ContainerParameter) and len(core) < len(declared) + parameter.pointer:
        right = ",".join(map(str, (*("n" * parameter.pointer), *declared)))
        _refuse(
            function, note, f"gives '{parameter.name}' the dimensions {_write_core(core)}", f"Write ({right}) for it."
        )
    fixed = [dim for dim in (*declared, *core) if isinstance(dim, int)]
    if not parameter.pointer and len(fixed) == len(declared) + len(core):
        fits = bool(core) and math.prod(map(int, declared)) == math.prod(map(int, core))
    elif not declared:
        fits = True
    else:
        rows = core[parameter.pointer :]
        fits = len(core) >= parameter.pointer and len(rows) == len(declared)
        fits = fits and all(a == b for a, b in zip(declared, rows, strict=True) if isinstance(a, int))
    if not fits:
        shape = ("[]" if parameter.pointer else "") + "".join(f"[{dim}]" for dim in declared)
        right = ",".join(map(str, (*(["n"] if parameter.pointer else []), *declared)))
        fault = f"gives '{parameter.name}{shape}' the dimensions {_write_core(core)}"
        _refuse(function, note, fault, f"Write ({right}) for it.")


def _write_core(core: Core) -> str:
    return f"({','.join(map(str, core))})"


def _refuse(function: Function, note: Annotation, fault: str, remedy: str) -> NoReturn:
    raise SignatureError(f"{place_of(function)}: 'ufunc: {note.text}' {fault}.", remedy=remedy)
