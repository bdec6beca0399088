"""What the object code says of each function of a Cython cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...model import (
    MOST_TIMED,
    CellFunction,
    LoopCode,
    NumberType,
    Operand,
    Signature,
    SignatureError,
    loop_order,
    number_type,
)
from ...python_form import NotPython
from ...python_form.cython import Form, Wanted
from .. import native
from .cell_text import Text
from .cython_kernels import Kernels
from .signature_inference import Rest
from .symbol_table import CType, CyFunction

__all__ = ["function_entries", "wanted_forms"]


def _chosen(planned: Kernels) -> dict[str, int]:
    """The loop that stands for each name: of a fused function the one for double, or else the last."""
    chosen: dict[str, int] = {}
    for k, instance in enumerate(planned.instances):
        held = chosen.get(instance.signature.name)
        if held is None or not all(o.type == "double" for o in planned.instances[held].signature.inputs):
            chosen[instance.signature.name] = k
    return chosen


#: C types that are spelled otherwise than in the type table, or that mean something else to NumPy.
_SPELLINGS = {
    "float": "f",
    "char": "b",
    "Py_ssize_t": "q",
    "ptrdiff_t": "q",
    "size_t": "Q",
    "bool": "?",
    "__pyx_t_float_complex": "F",
    "__pyx_t_double_complex": "D",
    "__pyx_t_long_double_complex": "G",
}


def _kind(spelled: str) -> NumberType | None:
    """The type that a C spelling means, as far as the spelling says."""
    spelled = re.sub(r"^__pyx_t_5numpy_(\w+)_t$|^(u?int\d+)_t$", lambda m: m[1] or m[2], spelled)
    return number_type(_SPELLINGS.get(spelled, spelled))


def _numbers(operands: Sequence[Operand]) -> tuple[int, ...]:
    """NumPy's type numbers for the Python forms; a typedef that nothing is known of counts as the usual one."""
    kinds = ((o.type, _kind(o.type)) for o in operands)
    return tuple(
        kind.number if kind else 12 if re.search("float|double|real", spelled) else 9 for spelled, kind in kinds
    )


def wanted_forms(planned: Kernels) -> list[Wanted]:
    """The functions to be written as Python."""
    wanted = []
    for k in list(_chosen(planned).values())[:MOST_TIMED]:
        signature, function = planned.instances[k].signature, planned.functions[k]
        wanted.append(
            Wanted(
                name=function.name,
                line=function.line,
                inputs=_numbers(signature.inputs),
                outputs=_numbers(signature.outputs),
                core=signature.core,
                outs=tuple(o.index for o in signature.outputs if 0 <= o.index < len(function.parameters)),
                fused=dict(function.fused),
            )
        )
    for rest in planned.rest:
        if _samples(rest.function) and len(wanted) < MOST_TIMED:
            wanted.append(Wanted(rest.function.name, rest.function.line, (), (), fused={}))
    return wanted


def function_entries(
    planned: Kernels, types: Sequence[tuple[int, ...]], forms: Mapping[str, Form | NotPython], text: Text
) -> list[CellFunction]:
    """One entry for each name, in the order of the cell."""
    chosen = _chosen(planned)
    loops: dict[str, dict[tuple[int, ...], LoopCode]] = {}
    for index, (instance, numbers) in enumerate(zip(planned.instances, types, strict=True)):
        signature = instance.signature
        if 255 in numbers:
            operand = (*signature.inputs, *signature.outputs)[numbers.index(255)]
            raise SignatureError(
                f"{signature.name}, line {signature.function.line}: {operand.type!r} is not a number type of NumPy's.",
                remedy="Use an integer, floating-point or complex type of C.",
            )
        loops.setdefault(signature.name, {}).setdefault(numbers[: signature.nin], LoopCode(index, numbers))
    made = []
    for name, k in chosen.items():
        ordered = sorted(loops[name].values(), key=lambda loop: loop_order(loop.types))
        made.append(_ufunc(planned.instances[k].signature, planned.functions[k], ordered, types[k], forms.get(name)))
    made += [
        _python(rest, forms.get(rest.function.name), text) for rest in planned.rest if rest.function.kind != "cdef"
    ]
    return sorted(made, key=lambda code: code.line)


def _ufunc(
    signature: Signature,
    function: CyFunction,
    ordered: Sequence[LoopCode],
    timed: tuple[int, ...],
    form: Form | NotPython | None,
) -> CellFunction:
    described = signature.function
    results = [o.name or ("out" if signature.nout == 1 else f"out{n}") for n, o in enumerate(signature.outputs, 1)]
    # Without a Python form that only calculates, nobody knows what a call would do.
    harmless = form.pure if isinstance(form, Form) else described.pure
    notes = () if harmless else (f"{function.name} may do more than calculate, so it was not called to be timed.",)
    return CellFunction(
        name=signature.name,
        kind="ufunc",
        nin=signature.nin,
        nout=signature.nout,
        core=signature.core,
        identity=signature.identity,
        parameters=tuple(o.name or f"x{n}" for n, o in enumerate(signature.inputs, 1)),
        results=tuple(results),
        loops=tuple(ordered),
        doc=described.doc,
        source=described.text,
        line=described.line,
        notes=(
            *signature.notes,
            *native.narrow(signature.name, ordered, nin=signature.nin, core=signature.core),
            *notes,
        ),
        timed=timed if harmless else (),
        cautious=not isinstance(form, Form) or (form.loops and not signature.core) or not described.pure,
        **_texts(form),
    )


def _python(rest: Rest, form: Form | NotPython | None, text: Text) -> CellFunction:
    function = rest.function
    return CellFunction(
        name=function.name,
        kind="python",
        parameters=tuple(p.name for p in function.parameters),
        doc=function.doc or text.comment(function.line),
        source=text.definition(function.line),
        line=function.line,
        reason=rest.reason,
        samples=_samples(function) if isinstance(form, Form) and form.pure else (),
        **_texts(form),
    )


def _texts(form: Form | NotPython | None) -> dict[str, Any]:
    if isinstance(form, Form):
        return {"python": form.source, "checked": form.checked, "vector": form.vector, "python_name": form.name}
    return {"python_reason": form.reason if form else f"comes after {MOST_TIMED} others of its cell"}


def _samples(function: CyFunction) -> tuple[str, ...]:
    """What each parameter of a function takes, if it is numbers and arrays; else ``()``."""
    if function.varargs or not any(_is_array(p.type) for p in function.parameters):
        return ()
    letters = [_sample(p.type) for p in function.parameters if not p.default]
    return tuple(letters) if all(letters) else ()


def _is_array(kind: CType) -> bool:
    return kind.kind == "array" or kind.shown.startswith(("ndarray", "np.ndarray", "numpy.ndarray"))


def _sample(kind: CType) -> str:
    if kind.kind == "object" and _is_array(kind) and not kind.ndim:
        return "O1"
    known = _kind(kind.c) if kind.c else None
    return f"{known.char}{kind.ndim}" if known else ""
