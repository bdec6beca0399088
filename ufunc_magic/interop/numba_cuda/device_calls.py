"""How kernels may call the functions of a CUDA cell: by value, or with pointers for the results as C declares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import FunctionCode, ObjectCode
from ...runtime import loops_of
from ...toolchain.nvrtc import Shim, shims

__all__ = ["Form", "Given", "choose", "code_of", "forms", "operand", "refusal", "words"]


@dataclass(frozen=True)
class Given:
    """What a kernel passes, or a form takes: a number, or a pointer to numbers of that dtype."""

    dtype: np.dtype[Any]
    pointer: bool = False

    def __str__(self) -> str:
        return f"pointer to {'void' if self.dtype.kind == 'V' else self.dtype}" if self.pointer else str(self.dtype)


@dataclass(frozen=True)
class Form:
    """One way to call a function in a kernel.

    Attributes
    ----------
    takes : tuple of Given
        The arguments, in the order of the call.
    gives : tuple of Given
        The results that the call has.
    slots : tuple of int
        For each of both the operand it is: inputs first, then outputs.  An argument that is an output is where it
        goes.
    shim : Shim
        What is called: by value, with all outputs as results.
    """

    takes: tuple[Given, ...]
    gives: tuple[Given, ...]
    slots: tuple[int, ...]
    shim: Shim

    @property
    def nin(self) -> int:
        """How many operands are inputs."""
        return len(self.shim.inputs)


def code_of(function: Any) -> tuple[FunctionCode, ObjectCode] | None:
    """What a function of ours was made of, None for all else."""
    loops = loops_of(function)
    object_code = loops.owner.object_code if loops else getattr(function, "object_code", None)
    if not isinstance(object_code, ObjectCode):
        return None
    name = getattr(function, "__name__", "")
    return next(((code, object_code) for code in object_code.functions if code.name == name), None)


def forms(code: FunctionCode, object_code: ObjectCode) -> tuple[Form, ...]:
    """Every form of ``code``, overloads narrow to wide; empty where `refusal` has the reason."""
    if refusal(code, object_code):
        return ()
    found: list[Form] = []
    for shim in shims(object_code):
        if shim.function == code.name:
            takes, gives = tuple(map(operand, shim.inputs)), tuple(map(operand, shim.outputs))
            found.append(Form(takes, gives, tuple(range(len(takes) + len(gives))), shim))
            if code.kind == "ufunc":
                found += _as_in_c(found[-1], code.calls[shim.loop])
    return tuple(found)


def refusal(code: FunctionCode, object_code: ObjectCode) -> str:
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
    if not any(shim.function == code.name for shim in shims(object_code)):
        return "has types that a GPU does not have"
    return ""


def choose(offered: Sequence[Form], given: Sequence[Given]) -> Form | None:
    """The form that takes ``given``: exactly, else without loss, else as C converts numbers; None where none does.

    A float is never cut to an integer, nor a complex number to a real one.
    """
    fitting = [f for f in offered if len(f.takes) == len(given) and all(map(_points_alike, given, f.takes))]
    for suits in (_is_same, _is_safe):
        for form in fitting:
            if all(map(suits, given, form.takes)):
                return form
    lossy = [form for form in fitting if all(map(_is_possible, given, form.takes))]
    return lossy[-1] if lossy else None


def words(name: str, offered: Sequence[Form], given: Sequence[Given]) -> str:
    """What a kernel reads that called ``name`` with something else."""
    asked = ", ".join(map(str, given))
    known = dict.fromkeys(f"{name}({', '.join(map(str, form.takes))})" for form in offered)
    return f"{name}({asked}) fits no signature of the cell. There is {'; '.join(known)}."


def operand(word: str) -> Given:
    """The operand of a typestring: ``"f4"``, ``"const f4*"``."""
    bare = word.removeprefix("const ").rstrip("*")
    return Given(np.dtype("V") if bare == "void" else np.dtype(bare), "*" in word)


def _as_in_c(by_value: Form, call: str) -> list[Form]:
    """The same function with its outputs as pointers, where C has them so."""
    if ";" in call:  # an operand that is both: C's one pointer is two operands here
        return []
    arguments = call.partition(" = ")[2] if call.startswith("{out") else call
    operands = re.findall(r"(&?)\{(in|out)(\d+)\}", arguments)
    if not any(address for address, _, _ in operands):
        return []
    nin = by_value.nin
    kinds = (*by_value.takes, *by_value.gives)
    places = [int(n) + (nin if role == "out" else 0) for _, role, n in operands]
    takes = tuple(Given(kinds[p].dtype, p >= nin) for p in places)
    left = [n for n in range(nin, len(kinds)) if n not in places]
    return [Form(takes, tuple(kinds[n] for n in left), (*places, *left), by_value.shim)]


def _points_alike(given: Given, wanted: Given) -> bool:
    if given.pointer != wanted.pointer:
        return False
    return not given.pointer or wanted.dtype.kind == "V" or given.dtype == wanted.dtype


def _is_same(given: Given, wanted: Given) -> bool:
    return given.pointer or given.dtype == wanted.dtype


def _is_safe(given: Given, wanted: Given) -> bool:
    return given.pointer or np.can_cast(given.dtype, wanted.dtype, "safe")


def _is_possible(given: Given, wanted: Given) -> bool:
    order = "biufc"
    kinds = order.index(given.dtype.kind), order.index(wanted.dtype.kind)
    return given.pointer or kinds[0] <= kinds[1] or set(kinds) <= {1, 2}
