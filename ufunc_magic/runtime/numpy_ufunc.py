"""Loop addresses and signatures to ``numpy.ufunc`` objects, through NumPy's C API table.

In NumPy's table slot 42 is ``PyUFunc_FromFuncAndDataAndSignatureAndIdentity``, slot 44 ``PyUFunc_AddPromoter``.  NumPy
borrows every buffer given to it for ever, so each ufunc carries its own (a ufunc has attributes since NumPy 2.2).
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..model import TYPES, FunctionCode
from . import _private

_MAKE_SLOT, _PROMOTER_SLOT = 42, 44
_IDENTITIES: dict[int | str | None, int] = {None: -1, 0: 0, 1: 1, -1: 2, "reorderable": -2}


#: Where a ufunc keeps its `UfuncLoops`.
_ATTRIBUTE = "__ufm_loops__"


@dataclass(frozen=True, eq=False)
class UfuncLoops:
    """What a ufunc of ours carries: all that NumPy has borrowed of us for it.

    Attributes
    ----------
    functions, data : array of c_void_p
        Address of each loop, and what it gets as its last argument, in the order of ``ufunc.types``.
    owner : LoadedObject
        What the loops are part of, kept alive.
    buffers : tuple
        The other things that NumPy keeps pointers to.
    """

    functions: ctypes.Array[ctypes.c_void_p]
    data: ctypes.Array[ctypes.c_void_p]
    owner: Any
    buffers: tuple[object, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        # functools.wraps copies the whole __dict__ into a function, which cloudpickle then writes.
        return type(None), ()


def loops_of(function: Any) -> UfuncLoops | None:
    """What a ufunc of ours carries, None for everything else."""
    return vars(function).get(_ATTRIBUTE) if isinstance(function, np.ufunc) else None


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
    )(_private.ufunc_api(_MAKE_SLOT))


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
    result: np.ufunc = _maker()(
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
    narrow = any(t in _NARROW for t in code.loops[-1].types[: code.nin])
    buffers = types, name, doc, core, _add_promoter(result, code) if narrow else None
    vars(result).update(
        {
            _ATTRIBUTE: UfuncLoops(functions, pointers, owner, buffers),
            "__source__": code.source,
            "__signature__": _python_signature(code.parameters, generalized=bool(code.core)),
        }
    )
    for attribute, value in (("__doc__", docstring(code)), ("__module__", module), ("__qualname__", code.name)):
        setattr(result, attribute, value)
    return result


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


def _add_promoter(ufunc: np.ufunc, code: FunctionCode) -> object:
    """Let a ufunc of narrow types take Python numbers: ``gcd(12, 18)`` of C's ``int gcd(int, int)``.

    The first loop serves to which every input casts safely, else the first that takes Python's numbers by
    kind (NumPy then checks their values) and wider integers, which NumPy's ``same_kind`` casting narrows.
    float64 stays refused by float32: its precision was asked for.  NumPy remembers the answer for each
    combination of types.

    Returns what must live as long as the ufunc.
    """

    def promote(_: int, operands: Any, signature: Any, chosen: Any) -> int:
        dtypes = [ctypes.cast(operands[k], ctypes.py_object).value if operands[k] else None for k in range(code.nin)]
        for lenient in (False, True):
            for loop in code.loops:
                own = [_DTYPES[t] for t in loop.types]
                fixed = all(not signature[k] or signature[k] == id(dtype) for k, dtype in enumerate(own))
                if fixed and all(_takes(t, d, lenient=lenient) for t, d in zip(loop.types, dtypes, strict=False)):
                    for k, dtype in enumerate(own):
                        _private.python_api("Py_IncRef", None, ctypes.py_object)(dtype)
                        chosen[k] = id(dtype)
                    return 0
        return -1

    callback = _Promoter(promote)
    new = _private.python_api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(ctypes.cast(callback, ctypes.c_void_p).value, _private.PROMOTER_NAME, None)
    kinds = ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.py_object
    add = ctypes.PYFUNCTYPE(*kinds)(_private.ufunc_api(_PROMOTER_SLOT))
    add(ufunc, (np.dtype,) * (code.nin + code.nout), capsule)
    return callback, capsule


def _takes(number: int, dtype: Any, *, lenient: bool) -> bool:
    """Whether a loop's input of type ``number`` takes ``dtype``: a DType class, or None for one not known yet."""
    kind = TYPES[number].kind
    if dtype is None:
        return True
    python = _private.PYTHON_NUMBERS.get(dtype.__name__)
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
    chars = "".join(TYPES[t].char for t in types)
    return f"{chars[:nin]}->{chars[nin:]}"


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
