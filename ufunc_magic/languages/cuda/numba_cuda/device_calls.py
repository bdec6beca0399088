"""How kernels may call the functions of a CUDA cell: by value, or with pointers for the results as C declares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....model import FunctionCode, ObjectCode
from ....runtime import find_loops
from ..nvrtc import Shim, make_shims


@dataclass(frozen=True)
class ValueType:
    """An argument of a kernel, or a parameter of a form: a number, or a pointer to numbers of that dtype."""

    dtype: np.dtype[Any]
    pointer: bool = False

    def __str__(self) -> str:
        return f"pointer to {'void' if self.dtype.kind == 'V' else self.dtype}" if self.pointer else str(self.dtype)


@dataclass(frozen=True)
class Form:
    """One way to call a function in a kernel.

    Attributes
    ----------
    arguments, results : tuple of ValueType
        In the order of the call.
    slots : tuple of int
        For each of both the operand it is: inputs first, then outputs.  An argument that is an output is where it
        goes.
    shim : Shim
        The called function: by value, with all outputs as results.
    updates : tuple of (int, int)
        Inputs that are read where an output goes, both as in ``slots``: C's one pointer is two operands here.
    """

    arguments: tuple[ValueType, ...]
    results: tuple[ValueType, ...]
    slots: tuple[int, ...]
    shim: Shim
    updates: tuple[tuple[int, int], ...] = ()

    @property
    def nin(self) -> int:
        """How many operands are inputs."""
        return len(self.shim.inputs)


def find_code(function: Any) -> tuple[FunctionCode, ObjectCode] | None:
    """The code of a function of ours, None for anything else."""
    loops = find_loops(function)
    object_code = loops.owner.object_code if loops else getattr(function, "object_code", None)
    if not isinstance(object_code, ObjectCode):
        return None
    name = getattr(function, "__name__", "")
    return next(((code, object_code) for code in object_code.functions if code.name == name), None)


def list_forms(code: FunctionCode, object_code: ObjectCode) -> tuple[Form, ...]:
    """Every form of ``code``, overloads narrow to wide; empty where `explain_numba_refusal` has the reason."""
    if explain_numba_refusal(code, object_code):
        return ()
    result: list[Form] = []
    for shim in make_shims(object_code):
        if shim.function == code.name:
            arguments, results = tuple(map(type_of_word, shim.inputs)), tuple(map(type_of_word, shim.outputs))
            by_value = Form(arguments, results, tuple(range(len(arguments) + len(results))), shim)
            result.append(by_value)
            if code.kind == "ufunc":
                result += _list_as_in_c(by_value, code.calls[shim.loop])
    return tuple(result)


def explain_numba_refusal(code: FunctionCode, object_code: ObjectCode) -> str:
    """Why no kernel of Numba's can call the function, ``""`` if one can."""
    if object_code.language != "cuda":
        return "is machine code for the CPU, and kernels run on a GPU; write it in a %%cuda_device cell"
    if code.kind == "kernel":
        return "is a __global__ function, which the host launches; make what kernels call __device__"
    if code.core:
        return "takes array cores; leave its '// ufunc:' comment out to call it with pointers in kernels"
    if code.kind not in ("ufunc", "plain"):
        return "has no code for the GPU"
    if any(word.startswith(("V", "const V")) for word in code.prototype):
        return "takes or returns a struct, which Numba cannot pass; give it a wrapper with numbers and pointers"
    if any(word.count("*") > 1 for word in code.prototype):
        return "takes pointers to pointers, which Numba has no type for; give it a wrapper"
    if not any(shim.function == code.name for shim in make_shims(object_code)):
        return "has types that a GPU does not have"
    return ""


def choose(offered: Sequence[Form], types: Sequence[ValueType]) -> Form | None:
    """The form that takes ``types``: exactly, else without loss, else as C converts numbers; None where none does.

    A float is never cut to an integer, nor a complex number to a real one.
    """
    fitting = [f for f in offered if len(f.arguments) == len(types) and all(map(_point_to_same, types, f.arguments))]
    for suits in (_is_same, _is_safe):
        for form in fitting:
            if all(map(suits, types, form.arguments)):
                return form
    lossy = [form for form in fitting if all(map(_is_possible, types, form.arguments))]
    return lossy[-1] if lossy else None


def describe_mismatch(name: str, offered: Sequence[Form], types: Sequence[ValueType]) -> str:
    """The message to a kernel that called ``name`` with something else."""
    known = dict.fromkeys(f"{name}({', '.join(map(str, form.arguments))})" for form in offered)
    return f"{name}({', '.join(map(str, types))}) fits no signature of the cell. There is {'; '.join(known)}."


def describe_no_number(name: str, types: str) -> str:
    """The message to a kernel that called ``name`` with arrays, or with something that is no number."""
    return (
        f"{name}({types}): an argument is no number. Call it with elements, {name}(x[i], ...), "
        "or with ffi.from_buffer(x) where C takes a pointer."
    )


def type_of_word(word: str) -> ValueType:
    """The type of a typestring: ``"f4"``, ``"const f4*"``."""
    bare = word.removeprefix("const ").rstrip("*")
    return ValueType(np.dtype("V") if bare == "void" else np.dtype(bare), "*" in word)


def _list_as_in_c(by_value: Form, call: str) -> list[Form]:
    """The same function with its outputs as pointers, where C has them so."""
    *before, call = call.split("; ")
    arguments = call.partition(" = ")[2] if call.startswith("{out") else call
    operands = re.findall(r"(&?)\{(in|out)(\d+)\}", arguments)
    if not any(address for address, _, _ in operands):
        return []
    nin = by_value.nin
    updates = [
        (int(n), int(out) + nin) for copy in before for out, n in re.findall(r"\{out(\d+)\} = \{in(\d+)\}", copy)
    ]
    types = (*by_value.arguments, *by_value.results)
    places = [int(n) + (nin if role == "out" else 0) for _, role, n in operands]
    rest = [n for n in range(nin, len(types)) if n not in places]
    passed = tuple(ValueType(types[p].dtype, p >= nin) for p in places)
    return [Form(passed, tuple(types[n] for n in rest), (*places, *rest), by_value.shim, tuple(updates))]


def _point_to_same(argument: ValueType, parameter: ValueType) -> bool:
    if argument.pointer != parameter.pointer:
        return False
    return not argument.pointer or parameter.dtype.kind == "V" or argument.dtype == parameter.dtype


def _is_same(argument: ValueType, parameter: ValueType) -> bool:
    return argument.pointer or argument.dtype == parameter.dtype


def _is_safe(argument: ValueType, parameter: ValueType) -> bool:
    return argument.pointer or np.can_cast(argument.dtype, parameter.dtype, "safe")


def _is_possible(argument: ValueType, parameter: ValueType) -> bool:
    order = "biufc"
    ranks = order.index(argument.dtype.kind), order.index(parameter.dtype.kind)
    return argument.pointer or ranks[0] <= ranks[1] or set(ranks) <= {1, 2}
