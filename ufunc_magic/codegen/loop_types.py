"""A loop's operands and their types, as the unit spells them.  Pure text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import RECORD, ContainerParameter, NumberType, Operand, Signature
from . import record_layout
from .containers import write_container_argument

#: Functions that are one instruction: a function that calls no others is a leaf.
INSTRUCTIONS = frozenset("sqrt fabs copysign sqrtf fabsf copysignf".split())

#: Types that are the same in every namespace.
_BUILT_IN = r"(?:(?:unsigned|signed|long|short|int|char|float|double|bool) ?)+"


@dataclass(frozen=True)
class VectorMath:
    """How the loops of a unit use libm and the floating-point flags.

    Attributes
    ----------
    functions : tuple of str
        Functions of libm to declare with SIMD variants (gcc's ``simd`` attribute).
    judge : {0, 1, 2}
        Which floating-point flags reach the caller: none, those that a result shows, all.  ``judge`` of
        ``__ufm_plan`` in ``templates/interface.h``.
    """

    functions: tuple[str, ...] = ()
    judge: int = 1
    complex: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Functions in loops over which gcc calls SIMD variants."""
        # <tgmath.h> has csqrt() as sqrt(), which alone would be an instruction.
        generic = ("sqrt", "fabs") if {"csqrt", "cabs"} & {*self.complex} else ()
        return frozenset((*self.functions, *self.complex, *generic))


NO_VECTORS = VectorMath()


@dataclass(frozen=True)
class Instance:
    """One loop to be written: a signature and, for cells written in terms of T, the type T."""

    signature: Signature
    type: NumberType | None = None
    #: Prefix of the renamed copy of the cell that holds the function, and the names with that prefix.
    copy: str = ""
    renamed: tuple[str, ...] = ()
    #: Everything the function calls, directly or not.
    calls: frozenset[str] = frozenset()
    #: It holds a loop, or something that it calls does.
    loops: bool = False
    #: Inlined, it calls nothing.
    leaf: bool = False
    #: The function takes an ``int *`` at the end, and sets it where it would have raised an exception.
    fails: bool = False
    #: Name of a function with such an ``int *`` that raises it; its loops run it holding the GIL.
    checked: str = ""
    #: Every call needs Python: `checked` is all there is.
    python: bool = False
    #: Attribute of everything that calls it.
    conversions: str = ""


@dataclass(frozen=True)
class Value:
    """One operand in generated code: ``t`` its type's name, ``n`` its place in the ufunc's operands."""

    operand: Operand
    n: int
    t: str
    output: int = -1  # place among the outputs, for outputs


def values(k: int, signature: Signature) -> tuple[list[Value], list[Value]]:
    inputs = [Value(o, n, f"__ufm_t{k}_{n}") for n, o in enumerate(signature.inputs)]
    first = len(inputs)
    outputs = [Value(o, n, f"__ufm_t{k}_{n}", n - first) for n, o in enumerate(signature.outputs, start=first)]
    return inputs, outputs


def type_text(k: int, instance: Instance) -> str:
    """A typedef for every operand of loop ``k``, in the cell's own words; the compiler resolves them."""
    inputs, outputs = values(k, instance.signature)
    template, scope = instance.signature.function.template, instance.signature.function.scope
    lines = []
    scoped = bool(template and instance.type)
    # The names of types at the place of the function.
    inside, end, prefix = "".join(f"namespace {s} {{ " for s in scope), " }" * len(scope), "::".join([*scope, ""])
    if scoped and instance.type:
        kind = cplus_type(instance.type)
        members = "".join(f"typedef {kind} {t}; " for t in template)
        for value in (*inputs, *outputs):
            members += f"typedef {value.operand.type} o{value.n}; " if value.operand.type != "auto" else ""
        lines.append(f"{inside}struct __ufm_s{k} {{ {members}}};{end}")
    # Deduced types come last: the call that deduces them uses all the others.
    for value in sorted((*inputs, *outputs), key=lambda value: value.operand.type == "auto"):
        spelled = value.operand.type
        if spelled == "auto":
            spelled = f"__ufm_value<__typeof__({_call_of_type(instance, inputs, outputs)})>::__ufm_type"
        elif scoped:
            spelled = f"{prefix}__ufm_s{k}::o{value.n}"
        elif instance.copy and instance.type:
            spelled = _name_copy(spelled, instance)
        elif scope and not re.fullmatch(_BUILT_IN, spelled):
            lines.append(f"{inside}typedef {spelled} __ufm_n{k}_{value.n};{end}")
            spelled = f"{prefix}__ufm_n{k}_{value.n}"
        lines.append(f"typedef {spelled} {value.t};")
    return "\n".join(lines) + "\n"


def _call_of_type(instance: Instance, inputs: Sequence[Value], outputs: Sequence[Value]) -> str:
    """A call of which only the type counts."""
    parameters = instance.signature.function.parameters
    arguments = dict.fromkeys(range(len(parameters)), "0")  # sizes
    for v in (*inputs, *outputs):
        if v.operand.index >= 0:
            parameter = parameters[v.operand.index]
            if isinstance(parameter, ContainerParameter):
                arguments[v.operand.index] = write_container_argument(parameter, v.t, pointer="0", count="0")
                continue
            shape = "".join(f"[{d}]" for d in parameter.shape[1:])
            to = f"({v.t} (*){shape})0" if shape else f"({v.t} *)0"
            arguments[v.operand.index] = to if v.operand.pointer else f"*{to}"
    return f"{callee(instance)}({', '.join(arguments.values())})"


def _name_copy(spelled: str, instance: Instance) -> str:
    assert instance.type is not None
    words = {name: instance.copy + name for name in instance.renamed} | {"T": instance.type.c}
    return re.sub(r"\w+", lambda m: words.get(m[0], m[0]), spelled)


def cplus_type(kind: NumberType) -> str:
    """A number type as C++ spells it."""
    match kind.char:
        case "?":
            return "bool"
        case "F" | "D" | "G":
            return f"std::complex<{kind.c.replace(' _Complex', '')}>"
        case _:
            return kind.c


def callee(instance: Instance) -> str:
    """The C name that calls the function of a loop."""
    function = instance.signature.function
    name = "::".join([*function.scope, instance.copy + function.name])
    if function.template and instance.type:
        name += "<" + ", ".join([cplus_type(instance.type)] * len(function.template)) + ">"
    return name


def type_numbers(k: int, instance: Instance) -> list[str]:
    """Constant expressions for what `read_types` is to know of loop ``k``: NumPy's type numbers, and what is in
    structures."""
    both = [v for values_ in values(k, instance.signature) for v in values_]
    numbers = [str(RECORD) if v.operand.record else f"__UFM_TYPE({v.t})" for v in both]
    return numbers + [
        byte for v in both if v.operand.record for byte in record_layout.write_layout(v.t, v.operand.record)
    ]
