"""Loop addresses and signatures to ``numpy.ufunc`` objects, through NumPy's C API table.

The only module that touches NumPy's C API.  ``_UFUNC_API`` is a capsule with a table of pointers whose
order NumPy keeps (``numpy/_core/code_generators/numpy_api.py``): slot 42 is
``PyUFunc_FromFuncAndDataAndSignatureAndIdentity``, slot 44 ``PyUFunc_AddPromoter``.  NumPy borrows every
buffer given to it for ever, so each ufunc owns its own in its ``__dict__`` (NumPy >= 2.2).
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..model import TYPES, FunctionCode

_umath: Any = importlib.import_module("numpy._core._multiarray_umath")

__all__ = ["docstring", "make_ufunc", "prepare"]

_MAKE_SLOT, _PROMOTER_SLOT = 42, 44
_IDENTITIES: dict[int | str | None, int] = {None: -1, 0: 0, 1: 1, -1: 2, "reorderable": -2}


def _python_api(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C API, with a prototype of our own: ``ctypes.pythonapi``'s is the whole process's."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def _slot(number: int) -> int:
    """Address of a function in NumPy's table."""
    get = _python_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table: int = get(_umath._UFUNC_API, None)
    address = ctypes.c_void_p.from_address(table + number * ctypes.sizeof(ctypes.c_void_p)).value
    assert address
    return address


@cache
def _maker() -> Any:
    # PYFUNCTYPE keeps the GIL held and passes Python errors on.
    return ctypes.PYFUNCTYPE(
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
    )(_slot(_MAKE_SLOT))


def prepare() -> None:
    """Find NumPy's function now."""
    _maker()


def make_ufunc(
    code: FunctionCode,
    addresses: Sequence[int] | Mapping[int, int],
    *,
    module: str,
    owner: object,
    data: Mapping[int, int] | None = None,
) -> np.ufunc:
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
    data : mapping
        Loop index -> pointer that the loop gets as its last argument; NULL where there is none.
    """
    count = len(code.loops)
    operands = code.nin + code.nout
    functions = (ctypes.c_void_p * count)(*(addresses[loop.index] for loop in code.loops))
    pointers = (ctypes.c_void_p * count)(*((data or {}).get(loop.index) for loop in code.loops))
    types = ctypes.create_string_buffer(bytes(t for loop in code.loops for t in loop.types), count * operands)
    name = ctypes.create_string_buffer(code.name.encode())
    doc = ctypes.create_string_buffer(b"")
    core = ctypes.create_string_buffer(code.core.encode()) if code.core else None
    made: np.ufunc = _maker()(
        ctypes.addressof(functions),
        ctypes.addressof(pointers),
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
        __ufm_owns__=(functions, pointers, types, name, doc, core, owner),
        __source__=code.source,
        __signature__=_python_signature(code.parameters, generalized=bool(code.core)),
    )
    for attribute, value in (("__doc__", docstring(code)), ("__module__", module), ("__qualname__", code.name)):
        setattr(made, attribute, value)
    if any(t in _NARROW for t in code.loops[-1].types[: code.nin]):
        made.__dict__["__ufm_owns__"] += (_add_promoter(made, code),)
    return made


# ------------------------------------------------------------------------------------- promotion

_DTYPES = {number: type(np.dtype(t.char)) for number, t in TYPES.items()}
#: Types that NumPy's own search never finds for Python numbers and lists of them: it makes int64 and float64
#: of those, and casts neither safely to a narrow type.
_NARROW = frozenset(
    number
    for number, t in TYPES.items()
    if (t.kind in "iu" and not np.can_cast(np.intp, t.char)) or (t.kind in "fc" and not np.can_cast(np.double, t.char))
)
_Promoter = ctypes.PYFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,  # PyUFuncObject *
    ctypes.POINTER(ctypes.c_void_p),  # PyArray_DTypeMeta *const op_dtypes[]
    ctypes.POINTER(ctypes.c_void_p),  # ... signature[]
    ctypes.POINTER(ctypes.c_void_p),  # ... new_op_dtypes[], new references
)


def _add_promoter(made: np.ufunc, code: FunctionCode) -> object:
    """Let a ufunc of narrow types take Python numbers: ``gcd(12, 18)`` of C's ``int gcd(int, int)``.

    The first loop serves to which every input casts safely, else the first that takes Python's numbers by
    kind (NumPy then checks their values) and wider integers, which NumPy's ``same_kind`` casting narrows.
    float64 stays refused by float32: its precision was asked for.  NumPy remembers the answer for each
    combination of types.

    Returns what must live as long as the ufunc.
    """

    def promote(_: int, given: Any, asked: Any, chosen: Any) -> int:
        dtypes = [ctypes.cast(given[k], ctypes.py_object).value if given[k] else None for k in range(code.nin)]
        for lenient in (False, True):
            for loop in code.loops:
                wanted = [_DTYPES[t] for t in loop.types]
                fixed = all(not asked[k] or asked[k] == id(dtype) for k, dtype in enumerate(wanted))
                if fixed and all(_takes(t, d, lenient=lenient) for t, d in zip(loop.types, dtypes, strict=False)):
                    for k, dtype in enumerate(wanted):
                        _python_api("Py_IncRef", None, ctypes.py_object)(dtype)
                        chosen[k] = id(dtype)
                    return 0
        return -1

    callback = _Promoter(promote)
    new = _python_api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(ctypes.cast(callback, ctypes.c_void_p).value, _PROMOTER_NAME, None)
    add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.py_object)(_slot(_PROMOTER_SLOT))
    add(made, (np.dtype,) * (code.nin + code.nout), capsule)
    return callback, capsule


#: NumPy's abstract types of Python's own numbers, and the kinds of C types that take them.
_PYTHON_NUMBERS = {"_PyLongDType": "iufc", "_PyFloatDType": "fc", "_PyComplexDType": "c"}
#: The capsule's name; NumPy keeps the pointer.
_PROMOTER_NAME = b"numpy._ufunc_promoter"


def _takes(number: int, dtype: Any, *, lenient: bool) -> bool:
    """Whether a loop's input of type ``number`` takes ``dtype``: a DType class, or None for one not known yet."""
    kind = TYPES[number].kind
    if dtype is None:
        return True
    python = _PYTHON_NUMBERS.get(dtype.__name__)
    if python is not None:
        return kind in python
    scalar = getattr(dtype, "type", None)
    if not (isinstance(scalar, type) and issubclass(scalar, np.number | np.bool_)):
        return False
    concrete = np.dtype(scalar)
    if np.can_cast(concrete, TYPES[number].char):
        return True
    return lenient and kind in "iu" and concrete.kind in "iu"  # NumPy itself refuses what is not same_kind


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
    loops = ", ".join(letters(loop.types, code.nin) for loop in code.loops)
    lines += ["", f"Loops: {loops}"]
    return "\n".join(lines)


def _none(nout: int) -> str:
    return "None" if nout == 1 else "(" + ", ".join(["None"] * nout) + ")"


def letters(types: Sequence[int], nin: int) -> str:
    """A loop's types as NumPy spells them, ``"dd->d"``."""
    found = "".join(TYPES[t].char for t in types)
    return f"{found[:nin]}->{found[nin:]}"


def _keywords(*, generalized: bool) -> tuple[inspect.Parameter, ...]:
    own: dict[str, object] = {"axes": None, "axis": None, "keepdims": False} if generalized else {"where": True}
    common = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    kind = inspect.Parameter.KEYWORD_ONLY
    return tuple(inspect.Parameter(n, kind, default=v) for n, v in {"out": None, **own, **common}.items())


#: What NumPy takes by keyword, of element-wise and of generalized ufuncs.
_KEYWORDS = {generalized: _keywords(generalized=generalized) for generalized in (False, True)}


@lru_cache(maxsize=1024)
def _python_signature(names: tuple[str, ...], *, generalized: bool) -> inspect.Signature:
    """What a ufunc can be called with, so that help() and completion say something true."""
    taken: set[str] = set()

    def unique(name: str) -> str:
        while not name.isidentifier() or name in taken:
            name = f"{name}_" if name.isidentifier() else f"x{len(taken) + 1}"
        taken.add(name)
        return name

    parameters = [inspect.Parameter(unique(name), inspect.Parameter.POSITIONAL_ONLY) for name in names]
    parameters += [p.replace(name=unique(p.name)) if p.name in taken else p for p in _KEYWORDS[generalized]]
    return inspect.Signature(parameters)
