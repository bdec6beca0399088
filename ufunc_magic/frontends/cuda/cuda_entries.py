"""What the object code says of the functions of a CUDA cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ... import codegen
from ...model import CellFunction, LoopCode, Signature
from .. import c, native
from ..function_entries import Form, c_ufunc_entries, loops_by_name, native_entry
from . import cuda_roles, kernel_prototypes
from .cuda_reading import Reading
from .kernel_prototypes import Export

__all__ = ["entries"]


def entries(
    reading: Reading,
    translation: codegen.Translation,
    *,
    types: Sequence[tuple[int, ...]],
    prototypes_: Sequence[tuple[str, ...]],
    python: Mapping[str, tuple[Signature, Form]],
) -> tuple[list[CellFunction], list[str]]:
    """The functions, ufuncs first, and notes.

    Parameters
    ----------
    reading : Reading
    translation : Translation
        Whose ``instances`` are the loops.
    types, prototypes_
        What a compiler said of the types of the loops and of the exports.
    python : mapping
        The Python forms.
    """
    foreign = {i.signature.name for i, t in zip(translation.instances, types, strict=True) if 255 in t}
    loops = loops_by_name(translation.instances, types, without=foreign, remedy="")
    functions = c_ufunc_entries(
        translation,
        types,
        python,
        reading.unit,
        without=foreign,
        remedy=None,
        calls={name: _calls(ls, translation) for name, ls in loops.items()},
    )
    notes = [*reading.roles.notes, *map(_foreign, sorted(foreign)), *_narrow(functions)]
    own = _own_types(reading)
    plain = {p.name: p for p in reading.roles.plain}
    for index, (export, prototype) in enumerate(zip(reading.exports, prototypes_, strict=True)):
        p = None if export.kernel else plain[export.name]
        functions.append(
            native_entry(
                export.function,
                name=export.name,
                index=index,
                parameters=[q.name for q in export.parameters],
                declaration="" if export.kernel else kernel_prototypes.declaration(export, prototype, types=own),
                reason=(p.reason, p.remedy) if p else ("", ""),
                calls=(_call(export, prototype),),
                prototype=prototype,
            )
        )
    return functions, notes


def _call(export: Export, prototype: Sequence[str]) -> str:
    """For a kernel its name in C++."""
    if export.kernel:
        return export.callee
    return cuda_roles.plain_call(export.callee, export.function, prototype, status=export.status)


def _calls(loops: Sequence[LoopCode], translation: codegen.Translation) -> tuple[str, ...]:
    instances = [translation.instances[loop.index] for loop in loops]
    calls = tuple(cuda_roles.device_call(codegen.callee(i), i.signature) for i in instances)
    return calls if all(calls) else ()


def _own_types(reading: Reading) -> str:
    """Definitions of the cell's own types for cffi, where C++ needs no struct in front of their names."""
    if not reading.exports:
        return ""
    lines = c.type_definitions(reading.source, reading.text, name=reading.name).splitlines()
    tags = [re.match(r"((?:struct|union|enum) (\w+)) \{", line) for line in lines]
    return "\n".join([*lines, *(f"typedef {tag[1]} {tag[2]};" for tag in tags if tag)])


def _foreign(name: str) -> str:
    return f"{name} is not bound: the type of an operand is none of NumPy's"


def _narrow(functions: Sequence[CellFunction]) -> list[str]:
    """A word on ufuncs that refuse float64: one for all, since float is what people write for a GPU."""
    names = [f.name for f in functions if f.kind == "ufunc" and native.narrow(f.name, f.loops, nin=2)]
    if not names:
        return []
    have = "has" if len(names) == 1 else "have"
    remedy = f"write {names[0]}(np.float32(2)), or an overload for double"
    return [f"{', '.join(names)} {have} no loop for float64, which a Python number alone is: {remedy}"]
