"""Faults of a cell's code as exceptions: what the driver found out about an element that did not come back, in words.

The driver imports this module at the first fault of a process (``templates/containment.h``).
"""

from __future__ import annotations

import ctypes
import signal
from typing import Any

import numpy as np

from ..model import RECORD, TYPES, CellAssertionError, CellCrashed, CellExited, UfuncMagicError
from . import cell_names

# How calls end, beside signals: the numbers of templates/containment.h.
_ASSERTED, _EXITED, _ABORTED, _JUMPED, _RAISED, _STACK_FULL = range(-1, -7, -1)

#: Numbers that a message shows of each input.
_SHOWN = 6


class _Fault(ctypes.Structure):
    """``Fault`` of ``templates/containment.h``."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("kind", "code", "line", "access")),
        ("address", ctypes.c_size_t),
        *((name, ctypes.c_char_p) for name in ("text", "file", "function")),
    )


class _Leaf(ctypes.Structure):
    """``__ufm_leaf`` of ``templates/interface.h``."""

    _fields_ = (
        ("operand", ctypes.c_short),
        *((name, ctypes.c_int) for name in ("count", "offset", "type")),
        ("name", ctypes.c_char_p),
    )


class _Report(ctypes.Structure):
    """``Report`` of ``templates/driver.c``."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("types", ctypes.POINTER(ctypes.c_ubyte)),
        ("fault", ctypes.POINTER(_Fault)),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
        ("cores", ctypes.POINTER(ctypes.c_short)),
        ("sizes", ctypes.POINTER(ctypes.c_ssize_t)),
        *((name, ctypes.c_ssize_t) for name in ("element", "total")),
        *((name, ctypes.c_int) for name in ("nin", "leaf_count")),
        ("leaves", ctypes.POINTER(_Leaf)),
    )


def tell(address: int) -> None:
    """Raise the exception of the report that the driver has at ``address``.

    Raises
    ------
    CellCrashed, CellExited, CellAssertionError
    """
    report = _Report.from_address(address)
    raise _exception(report, report.fault.contents)


def _exception(report: _Report, fault: _Fault) -> UfuncMagicError:
    inputs = _inputs(report)
    name = ctypes.string_at(report.name).decode(errors="replace") if report.name else ""
    call = name if inputs is None else f"{name}({', '.join(map(_shown, inputs))})"
    where = _where(report)
    if fault.kind == _ASSERTED:
        text, function = ((t or b"").decode(errors="replace") for t in (fault.text, fault.function))
        file, line = (fault.file or b"").decode(errors="replace"), fault.line
        object_code = cell_names.find_code(report.name)
        if object_code is not None and file == object_code.name:  # otherwise it is a header's
            place = cell_names.current_place(object_code)
            file, line = place.name, place.line(line)
        inner = f" in {function}" if function and function.partition("(")[0].rpartition(" ")[2] != name else ""
        return CellAssertionError(f"Assertion `{text}' failed: {call}{where}, on line {line} of {file}{inner}.")
    if fault.kind == _EXITED:
        return CellExited(f"{call} called exit({fault.code}){where}.", status=fault.code)
    if fault.kind == _ABORTED:
        return CellExited(f"{call} called abort(){where}.")
    if fault.kind == _RAISED:
        return CellExited(f"{call} raised {_signal_name(fault.code)}{where}, which normally ends the process.")
    what, damaged = _crash(fault, [] if inputs is None else inputs)
    remedy = f"{_DAMAGED} {_FURTHER}" if report.types else _DAMAGED
    return CellCrashed(f"{call} {what}{where}.", remedy=remedy if damaged else "")


_DAMAGED = "Memory of this process may be damaged: save your work and restart the kernel."
#: For ufuncs.
_FURTHER = "--sanitize shows the line; --sandbox runs every call in another process."


def _crash(fault: _Fault, inputs: list[Any]) -> tuple[str, bool]:
    """Describe a crash; return also whether memory may be damaged."""
    if fault.kind == _STACK_FULL:
        return "overflowed the stack (endless recursion, or a huge local array)", False
    if fault.kind == _JUMPED:
        return "called longjmp() to a function that had returned, or out of the call", False
    name = _signal_name(fault.kind)
    if fault.code <= 0 and name != "SIGABRT":
        return f"raised {name}", False
    match name:
        case "SIGFPE":
            return _arithmetic(fault.code, inputs), False
        case "SIGSEGV" | "SIGBUS":
            verb = {1: "read", 2: "wrote"}.get(fault.access, "read or wrote")
            if fault.address < 4096 and fault.access:
                return f"followed a null pointer ({name})", True
            at = f", at {fault.address:#x}" if fault.address else ""
            return f"{verb} out of bounds{at} ({name})", True
        case "SIGABRT":
            return "made a library call abort() (SIGABRT), usually because the heap or the stack was overwritten", True
    return f"reached an instruction that marks undefined behaviour ({name})", False


#: si_code of SIGFPE.
_FLOATING = {
    2: "had an integer overflow",
    3: "divided by zero, with that floating-point exception enabled",
    4: "overflowed, with that floating-point exception enabled",
    5: "underflowed, with that floating-point exception enabled",
    6: "had an inexact result, with that floating-point exception enabled",
    7: "had an invalid operation, with that floating-point exception enabled",
}


def _arithmetic(code: int, inputs: list[Any]) -> str:
    if code in _FLOATING:
        return _FLOATING[code]
    inputs = [one for value in inputs for one in (value.values() if isinstance(value, dict) else [value])]
    numbers = [value for value in inputs if np.ndim(value) == 0]
    if any(value == 0 for value in numbers):
        return "divided by zero"
    smallest = any(isinstance(value, np.signedinteger) and value == np.iinfo(value).min for value in numbers)
    if smallest and any(value == -1 for value in numbers):
        return "divided the smallest integer by -1"
    return "divided an integer by zero, or the smallest integer by -1"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _where(report: _Report) -> str:
    if not report.types:  # a plain function
        return ""
    if not report.values:
        return f", in one of {report.total:,} elements, but not again when each was computed alone"
    if report.total <= 1:
        return ""
    return f", {'item' if report.cores else 'element'} {report.element} of {report.total}"


def _inputs(report: _Report) -> list[Any] | None:
    """The values that the function was called with; None where they are not known.

    Those of structures are dictionaries.
    """
    if not report.values:
        return None
    values: list[Any] = []
    number = 0
    for k in range(report.nin):
        shape = []
        while report.cores and report.cores[number] >= 0:
            shape.append(report.sizes[report.cores[number]])
            number += 1
        number += 1
        if report.types[k] == RECORD:
            values.append(f"<{shape} structures>" if shape else _members(report, k))
            continue
        dtype = np.dtype(TYPES[report.types[k]].char)
        count = int(np.prod(shape, dtype=np.intp))
        data = ctypes.string_at(report.values[k], count * dtype.itemsize)
        array = np.frombuffer(data, dtype).reshape(shape)
        values.append(array if shape else array[()])
    return values


def _members(report: _Report, k: int) -> dict[str, Any]:
    """The numbers of a structure that its loop lists."""
    members: dict[str, Any] = {}
    for leaf in report.leaves[: report.leaf_count]:
        if leaf.operand == k:
            dtype = np.dtype(TYPES[leaf.type].char)
            data = ctypes.string_at(report.values[k] + leaf.offset, leaf.count * dtype.itemsize)
            array = np.frombuffer(data, dtype)
            members[leaf.name.decode(errors="replace")] = array if leaf.count > 1 else array[0]
    return members


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}={_shown(one)}' for name, one in value.items())}}}"
    if np.ndim(value) == 0:
        return str(value)
    text = np.array2string(value, threshold=_SHOWN, edgeitems=_SHOWN // 2, separator=", ", max_line_width=10**6)
    return text.replace("\n", "")
