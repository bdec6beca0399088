"""Loop addresses and signatures to ``numpy.ufunc`` objects, through NumPy's C API table.

In NumPy's table slot 42 is ``PyUFunc_FromFuncAndDataAndSignatureAndIdentity``.  NumPy
keeps pointers to every buffer that it gets, so each ufunc carries its own (a ufunc has attributes since NumPy 2.2).
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from ..model import RECORD, TYPES, FunctionCode, SignatureError, split_core_groups
from . import _private, promotion, records
from .def_function import find_ufunc
from .sized_calls import SizedCall

_MAKE_SLOT = 42
_IDENTITIES: dict[int | str | None, int] = {None: -1, 0: 0, 1: 1, -1: 2, "reorderable": -2}


#: Where a ufunc keeps its `UfuncLoops`.
_ATTRIBUTE = "__ufm_loops__"


@dataclass(frozen=True, eq=False)
class UfuncLoops:
    """The memory that a ufunc of this package carries, because NumPy keeps pointers to it.

    Attributes
    ----------
    functions, data : array of c_void_p
        The address of each loop, and its last argument, in the order of ``ufunc.types``.
    owner : LoadedObject
        The object of the loops, kept alive.
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


def find_loops(function: Any) -> UfuncLoops | None:
    """The `UfuncLoops` of a ufunc of this package, or of a def's ufunc; None for everything else."""
    ufunc = find_ufunc(function)
    return None if ufunc is None else vars(ufunc).get(_ATTRIBUTE)


@cache
def _find_maker() -> Any:
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
    )(_private.find_ufunc_api(_MAKE_SLOT))


def prepare() -> None:
    """Find NumPy's function now."""
    _find_maker()


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
    core = ctypes.create_string_buffer(_write_core(code).encode()) if code.core else None
    result: np.ufunc = _find_maker()(
        ctypes.addressof(functions),
        ctypes.addressof(pointers),
        ctypes.cast(types, ctypes.c_char_p),
        0 if code.records else count,  # a loop of structures is added separately
        code.nin,
        code.nout,
        _IDENTITIES[code.identity],
        ctypes.cast(name, ctypes.c_char_p),
        ctypes.cast(doc, ctypes.c_char_p),
        0,
        ctypes.cast(core, ctypes.c_char_p) if core else None,
        None,
    )
    own, resolver = (
        (records.add_loop(result, code, owner), partial(records.make_resolver, code)) if code.records else ((), None)
    )
    inputs = code.loops[-1].types[: code.nin]
    # With structures, NumPy's own search finds no loop for other numbers.
    narrow = any(t in promotion.CHECKED or (code.records and t != RECORD) for t in inputs)
    needed = narrow or promotion.has_integers_and_floats(code)
    promoter = promotion.Promoter(result, code, functions, pointers, owner, resolver).add() if needed else None
    sized = _compute_sizes(result, code, owner) if code.core else None
    buffers = types, name, doc, core, promoter, own, sized
    vars(result).update(
        {
            _ATTRIBUTE: UfuncLoops(functions, pointers, owner, buffers),
            "__source__": code.source,
            "__signature__": _make_signature(code.parameters, generalized=bool(code.core)),
        }
    )
    for attribute, value in (("__doc__", write_docstring(code)), ("__module__", module), ("__qualname__", code.name)):
        setattr(result, attribute, value)
    return result


def note_calls(ufunc: np.ufunc, library: Any) -> None:
    """Have the object's driver note each call of the ufunc: for the index of a fault, and for remedies.

    Nothing happens where NumPy keeps the function that Python calls elsewhere.
    """
    fields, functions = _private.find_ufunc_fields(ufunc), _list_caller_functions()
    loops = find_loops(ufunc)
    sized = next((b for b in loops.buffers if isinstance(b, SizedCall)), None) if loops else None
    if (
        fields
        and functions[0] in (fields.vectorcall, sized and sized.call)
        and hasattr(library.handle, "__ufm_vectorcall")
    ):
        _Caller.in_dll(library.handle, "__ufm_caller").__init__(*functions)  # type: ignore[misc]
        if sized:
            sized.call = library.find_symbol("__ufm_vectorcall")
        elif fields:
            fields.vectorcall = library.find_symbol("__ufm_vectorcall")
            doubles = "d" * ufunc.nin + "->d"
            if 1 <= ufunc.nin <= _MOST_NUMBERS and ufunc.signature is None and doubles in ufunc.types:
                fields.reserved1 = 1 + ufunc.types.index(doubles)


class _Caller(ctypes.Structure):
    """``Caller`` of ``templates/driver.c``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in (
            *("call", "type_error", "matches", "fetch", "normalize", "restore"),
            *("python_float", "numpy_float", "allocate", "give_errors"),
        )
    )


#: The most inputs of a call of numbers (``templates/driver.c``), and the size of an object's head there.
_MOST_NUMBERS, _HEAD = 6, 16


@cache
def _list_caller_functions() -> tuple[int | None, ...]:
    known = _private.find_ufunc_fields(np.add)
    names = "PyErr_ExceptionMatches", "PyErr_Fetch", "PyErr_NormalizeException", "PyErr_Restore"
    functions = (ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in names)
    type_error = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyExc_TypeError").value
    return known.vectorcall if known else 0, type_error, *functions, *_list_number_functions()


def _list_number_functions() -> tuple[int | None, ...]:
    """Types and functions for calls of numbers; none where objects are laid out otherwise, or NumPy is older."""
    plain = object.__basicsize__ == _HEAD and float.__basicsize__ == np.float64.__basicsize__ == _HEAD + 8
    with contextlib.suppress(AssertionError, AttributeError):
        allocate = ctypes.cast(ctypes.pythonapi.PyType_GenericAlloc, ctypes.c_void_p).value
        return (id(float), id(np.float64), allocate, _private.find_ufunc_api(46)) if plain else ()
    return ()


# ------------------------------------------------------------------------------- computed core dimensions

_SIGNS = {"+": "_plus_", "-": "_minus_", "*": "_times_", "//": "_over_", "(": "_", ")": "_"}


def _write_core(code: FunctionCode) -> str:
    """The core signature as NumPy reads it, with a name for each computed size: ``(n),(m)->(n_plus_m_minus_1)``."""

    def spell(word: str) -> str:
        word = word.removesuffix("|1")
        name = re.sub("|".join(map(re.escape, _SIGNS)), lambda sign: _SIGNS[sign[0]], word)
        return name if name.removesuffix("?").isidentifier() or name.isdecimal() else f"_{name}"

    groups = [f"({','.join(map(spell, group))})" for group in split_core_groups(code.core)]
    return f"{','.join(groups[: code.nin])}->{','.join(groups[code.nin :])}"


def _compute_sizes(ufunc: np.ufunc, code: FunctionCode, owner: Any) -> SizedCall | None:
    """Let NumPy ask the object for sizes that no input has: computed ones, as in ``(n),(m)->(n+m-1)``, and those that a
    number gives.  The result must live as long as the ufunc.
    """
    own = {d for core in code.cores[: code.nin] for d in core}
    missing = [d for core in code.cores[code.nin :] for d in core if d not in own and not d.isdecimal()]
    ones = any(map(any, code.broadcast))
    if not (missing or ones):
        return None
    fields = _private.find_ufunc_fields(ufunc)
    handle = getattr(getattr(owner, "library", None), "handle", None)
    if fields is None or handle is None:
        raise SignatureError(
            f"{code.name}: NumPy {np.__version__} does not support the core signature {code.core}.",
            remedy="Let inputs have all sizes.",
        )
    promotion.lend_errors(handle)
    if missing:
        index = code.loops[0].index
        fields.process_core_dims = (ctypes.c_void_p * (index + 1)).in_dll(handle, "__ufm_sizes")[index]
    return SizedCall(code, handle).add(ufunc, fields) if ones or code.size_operands else None


def write_docstring(code: FunctionCode) -> str:
    """``name(x1, x2, /, out=None, ...)``, the comment above the function, and its loops."""
    inputs = ", ".join(code.parameters)
    # As in NumPy's own: outputs may also be given by position, in brackets.
    outputs = ", ".join(code.results)
    keywords = "axes=..., keepdims=False" if code.core else "where=True"
    lines = [f"{code.name}({inputs}[, {outputs}], / [, out={_write_none(code.nout)}], *, {keywords}, ...)"]
    if code.core:
        lines += ["", f"Core signature: {code.core}"]
    if code.doc:
        lines += ["", code.doc]
    loops = ", ".join(spell_letters(loop.types, code.nin) for loop in code.loops)
    lines += ["", f"Loops: {loops}"]
    if structures := records.describe(code):
        lines += ["", "Structures:", *structures]
    return "\n".join(lines)


def _write_none(nout: int) -> str:
    return "None" if nout == 1 else "(" + ", ".join(["None"] * nout) + ")"


def spell_letters(types: Sequence[int], nin: int) -> str:
    """The types of a loop in NumPy's letters, ``"dd->d"``; ``V`` is a structure."""
    chars = "".join("V" if t == RECORD else TYPES[t].char for t in types)
    return f"{chars[:nin]}->{chars[nin:]}"


def _list_keywords(*, generalized: bool) -> tuple[inspect.Parameter, ...]:
    own: dict[str, object] = {"axes": None, "axis": None, "keepdims": False} if generalized else {"where": True}
    common = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    kind = inspect.Parameter.KEYWORD_ONLY
    return tuple(inspect.Parameter(n, kind, default=v) for n, v in {"out": None, **own, **common}.items())


#: Keywords of element-wise and of generalized ufuncs.
_KEYWORDS = {generalized: _list_keywords(generalized=generalized) for generalized in (False, True)}


@lru_cache(maxsize=1024)
def _make_signature(names: tuple[str, ...], *, generalized: bool) -> inspect.Signature:
    """The signature of a ufunc, for help() and completion."""
    taken: set[str] = set()

    def unique(name: str) -> str:
        while not name.isidentifier() or name in taken:
            name = f"{name}_" if name.isidentifier() else f"x{len(taken) + 1}"
        taken.add(name)
        return name

    parameters = [inspect.Parameter(unique(name), inspect.Parameter.POSITIONAL_ONLY) for name in names]
    parameters += [p.replace(name=unique(p.name)) if p.name in taken else p for p in _KEYWORDS[generalized]]
    return inspect.Signature(parameters)
