"""Loop addresses and signatures to ``numpy.ufunc`` objects, through NumPy's C API table.

The only module that touches NumPy's C API.  ``_UFUNC_API`` is a capsule with a table of pointers whose
order NumPy keeps (``numpy/_core/code_generators/numpy_api.py``): slot 42 is
``PyUFunc_FromFuncAndDataAndSignatureAndIdentity``.  NumPy borrows every buffer given to it for ever, so
each ufunc owns its own in its ``__dict__`` (NumPy >= 2.2).
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from .objectcode import FunctionCode, LoopCode
from .signature import TYPES, loop_order

_umath: Any = importlib.import_module("numpy._core._multiarray_umath")

__all__ = ["docstring", "make_ufunc"]

_MAKE_SLOT = 42
_IDENTITIES: dict[int | str | None, int] = {None: -1, 0: 0, 1: 1, -1: 2, "reorderable": -2}


@cache
def _maker() -> Any:
    # A prototype of our own: setting restype on ctypes.pythonapi's would change it for the whole process.
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    table: int = get(_umath._UFUNC_API, None)
    address = ctypes.c_void_p.from_address(table + _MAKE_SLOT * ctypes.sizeof(ctypes.c_void_p)).value
    assert address
    # PYFUNCTYPE keeps the GIL held and passes Python errors on.
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,  # new reference
        ctypes.c_void_p,  # PyUFuncGenericFunction *func
        ctypes.c_void_p,  # void **data
        ctypes.c_char_p,  # const char *types
        ctypes.c_int,  # ntypes
        ctypes.c_int,  # nin
        ctypes.c_int,  # nout
        ctypes.c_int,  # identity
        ctypes.c_char_p,  # const char *name
        ctypes.c_char_p,  # const char *doc
        ctypes.c_int,  # unused
        ctypes.c_char_p,  # const char *signature
        ctypes.py_object,  # PyObject *identity_value
    )
    return make(address)


def make_ufunc(code: FunctionCode, addresses: Sequence[int], *, module: str, owner: object) -> np.ufunc:
    """Make the ufunc of one function.

    Parameters
    ----------
    code : FunctionCode
        Of kind "ufunc".
    addresses : sequence of int
        Address of every loop of the object, by loop index.  C type of each:
        ``void (char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)``.
    module : str
        Becomes ``__module__``.
    owner : object
        Kept alive by the ufunc (the opened library, the object code).
    """
    rows = _rows(code)
    count = len(rows)
    operands = code.nin + code.nout
    functions = (ctypes.c_void_p * count)(*(addresses[loop.index] for loop, _ in rows))
    types = ctypes.create_string_buffer(bytes(t for _, given in rows for t in given), count * operands)
    start = ctypes.addressof(types)
    # The driver's loops take the types that NumPy passes as data where they are not C's own.
    given = [None if row == loop.types else start + n * operands for n, (loop, row) in enumerate(rows)]
    data = (ctypes.c_void_p * count)(*given)
    name = ctypes.create_string_buffer(code.name.encode())
    doc = ctypes.create_string_buffer(b"")
    core = ctypes.create_string_buffer(code.core.encode()) if code.core else None
    made: np.ufunc = _maker()(
        ctypes.addressof(functions),
        ctypes.addressof(data),
        ctypes.cast(types, ctypes.c_char_p),
        count,
        code.nin,
        code.nout,
        _IDENTITIES[code.identity],
        ctypes.cast(name, ctypes.c_char_p),
        ctypes.cast(doc, ctypes.c_char_p),
        0,
        ctypes.cast(core, ctypes.c_char_p) if core else None,
        None,
    )
    made.__dict__.update(
        __ufm_owns__=(functions, data, types, name, doc, core, owner),
        __source__=code.source,
        __signature__=_python_signature(code),
    )
    for attribute, value in (("__doc__", docstring(code)), ("__module__", module), ("__qualname__", code.name)):
        setattr(made, attribute, value)
    return made


def _rows(code: FunctionCode) -> list[tuple[LoopCode, tuple[int, ...]]]:
    """The rows of the ufunc's type table: each loop, and the types that it is called with.

    To a loop that takes narrow or unsigned integers belongs a further row for NumPy's default ones, or
    f(3) and f(np.arange(3)) would find no loop.  The driver checks that the values fit.
    """
    rows: list[tuple[LoopCode, tuple[int, ...]]] = []
    known = {loop.types[: code.nin] for loop in code.loops}
    for loop in sorted(code.loops, key=lambda loop: loop_order(loop.types[: code.nin])):
        rows.append((loop, loop.types))
        inputs = tuple(_INTP if t in _CONVERTED else t for t in loop.types[: code.nin])
        if any(map(partial(_accepts, inputs), known)):
            continue
        known.add(inputs)
        outputs = loop.types[code.nin :]
        if code.nin == 2 and not code.core and len(set(loop.types)) == 1 and inputs != loop.types[: code.nin]:
            outputs = inputs[:1]  # reduce() needs the types of the inputs
        rows.append((loop, (*inputs, *outputs)))
    return rows


def _accepts(given: tuple[int, ...], types: tuple[int, ...]) -> bool:
    """Whether a loop of these ``types`` takes the ``given`` ones as they are, integers as integers."""
    return all(
        np.can_cast(np.dtype(TYPES[g].char), np.dtype(TYPES[t].char), casting="safe")
        and (TYPES[g].kind in "iu") == (TYPES[t].kind in "iu")
        for g, t in zip(given, types, strict=True)
    )


#: The type number of NumPy's default integer, and those of C's integers that it cannot be cast to safely.
_INTP = np.dtype(np.intp).num
_CONVERTED = frozenset(
    n for n, t in TYPES.items() if t.kind in "iu" and not np.can_cast(np.intp, np.dtype(t.char), casting="safe")
)


def docstring(code: FunctionCode) -> str:
    """``name(x1, x2, /, out=None, ...)``, the comment above the function, and its loops."""
    inputs = ", ".join(code.parameters)
    # As NumPy's own: outputs may also be given by position, in brackets.
    outputs = ", ".join(code.results)
    lines = [f"{code.name}({inputs}[, {outputs}], / [, out={_none(code.nout)}], *, where=True, ...)"]
    if code.core:
        lines[0] = f"{code.name}({inputs}[, {outputs}], / [, out={_none(code.nout)}], *, axes=..., keepdims=False, ...)"
        lines += ["", f"Core signature: {code.core}"]
    if code.doc:
        lines += ["", code.doc]
    loops = ", ".join(_letters(loop.types, code.nin) for loop in code.loops)
    lines += ["", f"Loops: {loops}"]
    return "\n".join(lines)


def _none(nout: int) -> str:
    return "None" if nout == 1 else "(" + ", ".join(["None"] * nout) + ")"


def _letters(types: Sequence[int], nin: int) -> str:
    letters = "".join(TYPES[t].char for t in types)
    return f"{letters[:nin]}->{letters[nin:]}"


def _python_signature(code: FunctionCode) -> inspect.Signature:
    """What the ufunc can be called with, so that help() and completion say something true."""
    kind = inspect.Parameter
    taken: set[str] = set()

    def unique(name: str) -> str:
        while not name.isidentifier() or name in taken:
            name = f"{name}_" if name.isidentifier() else f"x{len(taken) + 1}"
        taken.add(name)
        return name

    parameters = [kind(unique(name), kind.POSITIONAL_ONLY) for name in code.parameters]
    keywords: dict[str, object] = {"out": None}
    keywords |= {"axes": None, "axis": None, "keepdims": False} if code.core else {"where": True}
    keywords |= {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    parameters += [kind(unique(n), kind.KEYWORD_ONLY, default=v) for n, v in keywords.items()]
    return inspect.Signature(parameters)
