"""Faults of a cell's code as exceptions: what the driver found out about an element that did not come back, in words.

The driver imports this module at the first fault of a process (``templates/containment.h``).
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import re
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model import RECORD, TYPES, CellAssertionError, CellCrashed, CellExited, CellIndexError, UfuncMagicError
from . import _private, cell_names
from .line_table import read_line_table
from .method_faults import find_caller, find_method_index
from .numpy_ufunc import find_loops
from .records import find_operand_dtypes

# How calls end, beside signals: the numbers of templates/containment.h.
_ASSERTED, _EXITED, _ABORTED, _JUMPED, _RAISED, _STACK_FULL, _, _OVERRUN, _OUT_OF_RANGE, _REFUSED = range(-1, -11, -1)

#: Numbers that a message shows of each input.
_SHOWN = 6


class _Fault(ctypes.Structure):
    """``Fault`` of ``templates/containment.h``."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("kind", "code", "line", "access")),
        ("address", ctypes.c_size_t),
        *((name, ctypes.c_char_p) for name in ("text", "file", "function")),
        ("place", ctypes.c_size_t),
    )


class _Leaf(ctypes.Structure):
    """``__ufm_leaf`` of ``templates/interface.h``."""

    _fields_ = (
        ("operand", ctypes.c_short),
        *((name, ctypes.c_int) for name in ("count", "offset", "type")),
        ("name", ctypes.c_char_p),
    )


class _Call(ctypes.Structure):
    """``UfuncCall`` of ``templates/driver.c``."""

    _fields_ = (
        ("ufunc", ctypes.py_object),
        ("args", ctypes.POINTER(ctypes.py_object)),
        ("count", ctypes.c_size_t),
        ("names", ctypes.c_void_p),
    )


class _Refusal(ctypes.Structure):
    """``Refusal`` of ``templates/narrowing.c``."""

    _fields_ = (
        ("kind", ctypes.py_object),
        ("text", ctypes.c_char_p),
        ("value", ctypes.c_void_p),
        ("core_dims", ctypes.POINTER(ctypes.c_int)),
        ("call", ctypes.POINTER(_Call)),
        *((name, ctypes.c_int) for name in ("nin", "input", "source")),
    )


#: C types of the numbers that do not fit, by ``source`` (templates/narrowing.c).
_SOURCES: dict[int, Any] = {1: ctypes.c_longlong, 2: ctypes.c_ulonglong, 7: ctypes.py_object}


class _Report(ctypes.Structure):
    """``Report`` of ``templates/driver.c``."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("types", ctypes.POINTER(ctypes.c_ubyte)),
        ("fault", ctypes.POINTER(_Fault)),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
        ("cores", ctypes.POINTER(ctypes.c_short)),
        ("sizes", ctypes.POINTER(ctypes.c_ssize_t)),
        ("total", ctypes.c_ssize_t),
        ("call", ctypes.POINTER(_Call)),
        *((name, ctypes.c_int) for name in ("nin", "leaf_count")),
        ("leaves", ctypes.POINTER(_Leaf)),
    )


def tell(address: int) -> None:
    """Raise the exception of the report that the driver has at ``address``.

    Raises
    ------
    CellCrashed, CellExited, CellAssertionError, CellIndexError
    """
    report = _Report.from_address(address)
    raise _make_exception(report, report.fault.contents)


def refuse(address: int) -> None:
    """Raise the exception of a number that does not fit, which the driver describes at ``address``.

    Raises
    ------
    OverflowError
    """
    refusal = _Refusal.from_address(address)
    number = _SOURCES[refusal.source].from_address(refusal.value).value
    values: list[Any] = [None] * refusal.nin
    values[refusal.input] = number
    place = ""
    if refusal.call:
        with contextlib.suppress(Exception):  # as below
            place = _find_index(refusal.call.contents, refusal.core_dims[: refusal.nin], values)
    text = re.sub("%(lld|llu|S)", "%s", refusal.text.decode(errors="replace"))
    raise refusal.kind(text % (number, place and f" (at index {place})"))


class _Refused(ctypes.Structure):
    """A call that NumPy refused, and its exception (``explain`` of ``templates/driver.c``)."""

    _fields_ = (("call", ctypes.POINTER(_Call)), ("exception", ctypes.py_object), ("result", ctypes.c_void_p))


def explain(address: int) -> None:
    """Add a remedy to the exception of a call that NumPy refused; the driver describes both at ``address``.

    ``bytes`` for an array of bytes are no fault: the call is made with an array, and the driver gets its result.
    """
    refused = _Refused.from_address(address)
    again = None
    with contextlib.suppress(Exception):  # operands may be of any class; NumPy's exception is raised all the same
        call, exception = refused.call.contents, refused.exception
        arguments = call.args[: call.count & _COUNT]
        again = _view_bytes(call.ufunc, arguments, str(exception))
        if again is None and (remedy := _find_remedy(call.ufunc, arguments, str(exception))):
            exception.add_note(remedy)
    if again is not None:
        address = ctypes.addressof(call) + _Call.names.offset
        names: Any = ctypes.py_object.from_address(address).value if call.names else ()
        keywords = dict(zip(names, call.args[len(again) : len(again) + len(names)], strict=True))
        result = call.ufunc(*again, **keywords)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(result))  # the driver's own
        refused.result = id(result)


def _view_bytes(ufunc: np.ufunc, arguments: list[Any], text: str) -> list[Any] | None:
    """The arguments with arrays in place of ``bytes`` where the ufunc takes arrays of bytes; None if there are none."""
    if not (ufunc.signature and "not supported for the input types" in text):
        return None
    origin = find_loops(ufunc)
    code = next((c for c in origin.owner.object_code.functions if c.name == ufunc.__name__), None) if origin else None
    values = list(arguments)
    for k in range(min(ufunc.nin, len(values))) if code is not None else ():
        kinds = {loop[k] for loop in ufunc.types} & {"b", "B"}
        if isinstance(values[k], bytes) and len(kinds) == 1 and code.cores[k]:  # type: ignore[union-attr]
            values[k] = np.frombuffer(values[k], kinds.pop())
    return values if any(new is not old for new, old in zip(values, arguments, strict=True)) else None


def _find_remedy(ufunc: np.ufunc, arguments: list[Any], text: str) -> str:
    """The remedy for what NumPy says of a call; ``""`` for anything that is not certain."""
    parameters = [str(name) for name in inspect.signature(ufunc).parameters][: ufunc.nin]
    call = f"{ufunc.__name__}({', '.join(parameters)})"
    if "positional argument" in text or "return arrays must be" in text:
        inputs = f"{ufunc.nin} input{'s' * (ufunc.nin > 1)}"
        if len(arguments) <= ufunc.nin:
            remedy = f"{call} has {inputs}: pass {', '.join(parameters)}."
            fewer = _find_with_defaults(ufunc, len(arguments))
            return f"{remedy} {fewer} has the defaults of the others." if fewer else remedy
        results = "the result" if ufunc.nout == 1 else "results"
        return f"{call} has {inputs}; a further argument is an array for {results}, as out= is."
    if "did not contain a loop" in text:
        return _name_structure(ufunc, call, parameters, arguments)
    if "not supported for the input types" in text:
        return next(filter(None, (_name_cast(ufunc, k, call, parameters, arguments) for k in range(ufunc.nin))), "")
    return ""


def _find_with_defaults(ufunc: np.ufunc, count: int) -> str:
    """The ufunc of the cell that is this one with default arguments after ``count`` inputs."""
    origin = find_loops(ufunc)
    for code in origin.owner.object_code.functions if origin else ():
        name, _, number = code.name.rpartition("_")
        if name == ufunc.__name__ and number.isdecimal() and code.nin == count < ufunc.nin:
            return str(code.name)
    return ""


def _name_structure(ufunc: np.ufunc, call: str, parameters: list[str], arguments: list[Any]) -> str:
    """The remedy for a number, a list or a tuple in place of a structure."""
    origin = find_loops(ufunc)
    code = next((c for c in origin.owner.object_code.functions if c.name == ufunc.__name__), None) if origin else None
    if code is None or not code.records:
        return ""
    for name, dtype, argument in zip(parameters, find_operand_dtypes(code), arguments, strict=False):
        if dtype.names and np.asarray(argument).dtype != dtype:
            example = f"np.array(({', '.join(dtype.names)}), um.dtype_of({ufunc.__name__}, {name!r}))"
            return f"{call}: {name} is a structure. Pass {example}."
    return ""


def _name_cast(ufunc: np.ufunc, k: int, call: str, parameters: list[str], arguments: list[Any]) -> str:
    """The remedy for input k, if no loop takes its type; ``""`` if one does."""
    has = np.asarray(arguments[k]).dtype
    takes = list(dict.fromkeys(np.dtype(loop[k]) for loop in ufunc.types if loop[k] != "O"))
    if not takes or any(np.can_cast(has, one, "safe") or (has.kind in "iu" and one.kind in "iu") for one in takes):
        return ""
    words = f"{call}: {parameters[k]} is {has}, and C takes {' or '.join(map(str, takes))}."
    to = takes[-1]
    match (has.kind, to.kind):
        case ("f", "i" | "u"):
            cast = f"{parameters[k]}.astype({to.name!r})"
            return f"{words} Pass {cast}, which cuts fractions off, or write the function for double."
        case ("f", "f"):
            return f"{words} Pass {parameters[k]}.astype({to.name!r}), or compile the cell with --types f4,f8."
        case ("c", _):
            return f"{words} Pass {parameters[k]}.real, or write the function for complex numbers."
        case ("U", "u" | "i") if to.itemsize == 1 and isinstance(arguments[k], str):
            return f"{words} Pass {parameters[k]}.encode()."
        case ("O" | "U" | "S" | "M" | "m", _):
            return f"{words} Pass numbers."
    return words


def _make_exception(report: _Report, fault: _Fault) -> UfuncMagicError:
    inputs = _read_inputs(report)
    name = ctypes.string_at(report.name).decode(errors="replace") if report.name else ""
    call = name if inputs is None else f"{name}({', '.join(map(show_value, inputs))})"
    where = _describe_place(report, inputs)
    if fault.kind == _ASSERTED:
        text, function = ((t or b"").decode(errors="replace") for t in (fault.text, fault.function))
        file, line = (fault.file or b"").decode(errors="replace"), fault.line
        object_code = cell_names.find_code(report.name)
        if object_code is not None and file == object_code.name:  # otherwise it is a header's
            place = cell_names.find_current_place(object_code)
            file, line = place.name, place.line(line)
        inner = f" in {function}" if function and function.partition("(")[0].rpartition(" ")[2] != name else ""
        return CellAssertionError(f"Assertion `{text}' failed: {call}{where}, on line {line} of {file}{inner}.")
    if fault.kind == _EXITED:
        return CellExited(f"{call} called exit({fault.code}){where}.", status=fault.code)
    if fault.kind == _ABORTED:
        return CellExited(f"{call} called abort(){where}.")
    if fault.kind == _RAISED:
        return CellExited(f"{call} raised {_name_signal(fault.code)}{where}, which normally ends the process.")
    if fault.kind == _REFUSED:
        return CellExited(f"{call} {(fault.text or b'').decode(errors='replace')}{where}.")
    line = _describe_line(fault.place)
    if fault.kind == _OUT_OF_RANGE:
        text = (fault.text or b"").decode(errors="replace")
        what = f"used an index outside of a container, or an empty one (`{text}' is false)"
        return CellIndexError(f"{call} {what}{where}{line}.", remedy="" if line else "-c=-g shows the line.")
    what, damaged = _describe_crash(fault, [] if inputs is None else inputs, _find_local_arrays(report))
    remedy = f"{_DAMAGED} {_describe_remedies(report, bool(line))}".rstrip()
    return CellCrashed(f"{call} {what}{where}{line}.", remedy=remedy if damaged else "")


_DAMAGED = "Memory of this process may be damaged: save your work and restart the kernel."


def _describe_remedies(report: _Report, has_line: bool) -> str:
    """Return what helps to find the cause; ``""`` for what is no ufunc and has its line."""
    code = cell_names.find_code(report.name)
    is_cython = code is not None and code.language == "cython"
    line = "-c=-g shows the line" if is_cython else "--sanitize shows the line" if report.types else ""
    apart = "--sandbox runs every call in another process" if report.types else ""
    words = "; ".join(filter(None, ("" if has_line else line, apart)))
    return words and f"{words}."


def _describe_line(address: int) -> str:
    """Return ``", on line 3 of In[5]"`` for an address in code with debug information (``-c=-g``)."""
    code = cell_names.find_code(address)
    base = _private.find_library_base(address)
    if code is None or "-g" not in code.options.get("compile_args", ()):
        return ""
    rows = read_line_table(code.code, name=code.name)
    line = next((line for start, stop, line in rows if start <= address - base < stop), 0)
    place = cell_names.find_current_place(code)
    return f", on line {place.line(line)} of {place.name}" if line else ""


def _find_local_arrays(report: _Report) -> tuple[str, ...]:
    """The arrays on the stack of the function, as far as they are known."""
    code = cell_names.find_code(report.name)
    name = ctypes.string_at(report.name).decode(errors="replace") if report.name else ""
    return next((f.local_arrays for f in code.functions if f.name == name), ()) if code else ()


def _describe_crash(fault: _Fault, inputs: list[Any], arrays: tuple[str, ...]) -> tuple[str, bool]:
    """Describe a crash; return also whether memory may be damaged."""
    if fault.kind == _OVERRUN:
        several = f"one of its arrays {', '.join(arrays)}" if len(arrays) > 1 else "a local array"
        return f"wrote past the end of {arrays[0] if len(arrays) == 1 else several}", False
    if fault.kind == _STACK_FULL:
        return "overflowed the stack (endless recursion, or a huge local array)", False
    if fault.kind == _JUMPED:
        return "called longjmp() to a function that had returned, or out of the call", False
    name = _name_signal(fault.kind)
    if fault.code <= 0 and name != "SIGABRT":
        return f"raised {name}", False
    match name:
        case "SIGFPE":
            return _describe_arithmetic(fault.code, inputs), False
        case "SIGSEGV" | "SIGBUS":
            verb = {1: "read", 2: "wrote"}.get(fault.access, "read or wrote")
            if fault.address < 4096 and fault.access:
                return f"followed a null pointer ({name})", True
            at = f", at {fault.address:#x}" if fault.address else ""
            return f"{verb} out of bounds{at} ({name})", True
        case "SIGABRT":
            if _take_abort_message().startswith("*** buffer overflow detected ***"):
                return "would have written past the end of a buffer in a function of the C library", False
            return "made a library call abort() (SIGABRT), usually because the heap or the stack was overwritten", True
    return f"reached an instruction that marks undefined behaviour ({name})", False


def _take_abort_message() -> str:
    """glibc's last words before abort(), once: a struct of their size and the words, for debuggers."""
    with contextlib.suppress(ValueError):
        message = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "__abort_msg")
        if message.value:
            words = ctypes.string_at(message.value + ctypes.sizeof(ctypes.c_uint))
            message.value = None
            return words.decode(errors="replace")
    return ""


#: si_code of SIGFPE.
_FLOATING = {
    2: "had an integer overflow",
    3: "divided by zero, with that floating-point exception enabled",
    4: "overflowed, with that floating-point exception enabled",
    5: "underflowed, with that floating-point exception enabled",
    6: "had an inexact result, with that floating-point exception enabled",
    7: "had an invalid operation, with that floating-point exception enabled",
}


def _describe_arithmetic(code: int, inputs: list[Any]) -> str:
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


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _describe_place(report: _Report, inputs: list[Any] | None) -> str:
    if not report.types:  # a plain function
        return ""
    if not report.values:
        return f", in one of {report.total:,} elements, but not again when each was computed alone"
    if not inputs:
        return ""
    dims = [0] * report.nin
    number = 0
    for k in range(report.nin):
        while report.cores and report.cores[number] >= 0:
            dims[k] += 1
            number += 1
        number += 1
    name = ctypes.string_at(report.name).decode(errors="replace") if report.name else ""
    return describe_index(name, ctypes.cast(report.call, ctypes.c_void_p).value, dims, inputs)


def describe_index(name: str, call: int | None, dims: Sequence[int], inputs: Sequence[Any]) -> str:
    """Return ``", at index 3"`` for the element of a call that has these inputs; ``""`` if there is no certain one.

    Parameters
    ----------
    name : str
        The ufunc.
    call : int or None
        Address of the driver's ``UfuncCall``; None for methods of ufuncs.
    dims : sequence of int
        The number of core dimensions of each input.
    inputs : sequence of numbers and arrays
    """
    place = ""
    with contextlib.suppress(Exception):  # operands may be of any class of the user's; the fault is told all the same
        if call:
            place = _find_index(_Call.from_address(call), dims, inputs)
        else:
            place = find_method_index(find_caller(), name, inputs)
    return place and f", at index {place}"


#: The first of ``count``: its highest bit says how Python called (PY_VECTORCALL_ARGUMENTS_OFFSET).
_COUNT = (1 << (8 * ctypes.sizeof(ctypes.c_size_t) - 1)) - 1


def _find_index(call: _Call, dims: Sequence[int], inputs: Sequence[Any]) -> str:
    """The index of the first element of a call that has these inputs; ``""`` for a call of single numbers.

    NumPy hands out parts of the operands, casts them and chooses the order, so that a loop does not know which element
    it computes.  The values do: the first element in C's order that has them fails like the one that was met.

    Parameters
    ----------
    call : _Call
    dims : list of int
        The number of core dimensions of each input.
    inputs : list of numbers and arrays
        One number where there is a core is one of its numbers; None, and what is no number, is not compared.
    """
    number = call.count & _COUNT
    values = ctypes.cast(call.names, ctypes.py_object).value if call.names else ()
    named = {name: call.args[number + k] for k, name in enumerate(values)}
    if "axes" in named:
        return ""
    arrays = [np.asarray(call.args[k]) for k in range(len(dims))]
    if "axis" in named and named["axis"] is not None:
        arrays = [np.moveaxis(a, named["axis"], -1) if dims[k] else a for k, a in enumerate(arrays)]
    outer = [array.shape[: array.ndim - dims[k]] for k, array in enumerate(arrays)]
    results = [*(call.args[k] for k in range(len(dims), number)), named.get("out")]
    if not any(dims):  # a larger out= repeats the elements
        outer += [np.shape(one) for result in results for one in (result if isinstance(result, tuple) else [result])]
    shape = np.broadcast_shapes(*outer)
    if not shape:
        return ""
    alike = np.broadcast_to(named.get("where", True), shape)
    compared = False
    for array, inner, value in zip(arrays, dims, inputs, strict=True):
        if isinstance(value, dict):  # of a structure
            known = [name for name in value if name in (array.dtype.names or ())]
            alike = alike & np.all([array[name] == value[name] for name in known], axis=0)
            compared |= bool(known)
            continue
        if value is None or isinstance(value, str):
            continue
        compared = True
        cast = array.astype(value.dtype, copy=False) if isinstance(value, (np.ndarray, np.generic)) else array
        equal = (cast == value) | ((cast != cast) & (value != value))
        if inner:
            numbers = equal.reshape(*array.shape[: array.ndim - inner], -1)
            equal = numbers.all(axis=-1) if np.ndim(value) else numbers.any(axis=-1)
        alike = alike & equal
    (places,) = np.nonzero(alike.reshape(-1))
    if not compared or not len(places):
        return ""
    index = tuple(int(i) for i in np.unravel_index(places[0], shape))
    return str(index[0] if len(index) == 1 else index)


def _read_inputs(report: _Report) -> list[Any] | None:
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
            values.append(f"<{shape} structures>" if shape else _read_members(report, k))
            continue
        dtype = np.dtype(TYPES[report.types[k]].char)
        count = int(np.prod(shape, dtype=np.intp))
        data = ctypes.string_at(report.values[k], count * dtype.itemsize)
        array = np.frombuffer(data, dtype).reshape(shape)
        values.append(array if shape else array[()])
    return values


def _read_members(report: _Report, k: int) -> dict[str, Any]:
    """The numbers of a structure that its loop lists."""
    members: dict[str, Any] = {}
    for leaf in report.leaves[: report.leaf_count]:
        if leaf.operand == k:
            dtype = np.dtype(TYPES[leaf.type].char)
            data = ctypes.string_at(report.values[k] + leaf.offset, leaf.count * dtype.itemsize)
            array = np.frombuffer(data, dtype)
            members[leaf.name.decode(errors="replace")] = array if leaf.count > 1 else array[0]
    return members


def show_value(value: Any) -> str:
    """An input as messages show it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}={show_value(one)}' for name, one in value.items())}}}"
    if np.ndim(value) == 0:
        return str(value)
    text = np.array2string(value, threshold=_SHOWN, edgeitems=_SHOWN // 2, separator=", ", max_line_width=10**6)
    return text.replace("\n", "")
