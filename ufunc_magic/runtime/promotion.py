"""Chooses the loop of a narrow ufunc for wide numbers, so that no value changes on the way.

NumPy makes int64 and float64 of Python's numbers and of lists of them, and casts neither safely to C's ``int`` or
``float``.  In NumPy's table slot 44 is ``PyUFunc_AddPromoter`` and slot 43 ``PyUFunc_AddLoopFromSpec``: our promoter
chooses the loop, and where an integer has to be narrowed it registers another one for that combination of types, which
checks each value while it copies it (``templates/narrowing.c``).  NumPy remembers the answer for each combination.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ..model import RECORD, TYPES, FunctionCode
from . import _private
from .locks import lock_of

LOOP_SLOT, _PROMOTER_SLOT = 43, 44
DTYPES = {number: type(np.dtype(t.char)) for number, t in TYPES.items()} | {RECORD: type(np.dtype("V"))}
_OBJECT = type(np.dtype("O"))
DTYPES[17] = _OBJECT
#: Types that NumPy's own search does not find for all of Python's numbers and lists of them: it makes int64, uint64,
#: float64 and objects of those, and casts none of them safely to a narrow type.
CHECKED = frozenset(
    number for number, t in TYPES.items() if t.kind in "biu" or (t.kind in "fc" and not np.can_cast(np.double, t.char))
)
#: For types in `CHECKED`: the type number that replaces the narrow one, and its number in templates/narrowing.c.
_INT64, _UINT64 = (np.dtype(np.int64).num, 1), (np.dtype(np.uint64).num, 2)
#: Python's integers, if one is wider than all of NumPy's.
_OBJECTS = (17, 7)
_FLOATS = {11: (12, 3), 14: (15, 4)}
#: The same for C's bool, by the kind of the number; the conversion is that of Python and Cython.
_TRUTHS = {"i": (np.dtype(np.int64).num, 5), "u": (np.dtype(np.uint64).num, 5), "f": (np.dtype(np.float64).num, 6)}
STRIDED_LOOP = 5  # NPY_METH_strided_loop
_NEEDS_PYTHON = 1  # NPY_METH_REQUIRES_PYAPI
_IS_OWN, _BOOL = 0, 0

_PromoterFunction = ctypes.PYFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,  # PyUFuncObject *
    ctypes.POINTER(ctypes.c_void_p),  # PyArray_DTypeMeta *const op_dtypes[]
    ctypes.POINTER(ctypes.c_void_p),  # ... signature[]
    ctypes.POINTER(ctypes.c_void_p),  # ... new_op_dtypes[], new references
)


class Slot(ctypes.Structure):
    """``PyType_Slot``."""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class Spec(ctypes.Structure):
    """``PyArrayMethod_Spec`` of ``numpy/dtype_api.h``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        *((name, ctypes.c_int) for name in ("nin", "nout", "casting", "flags")),
        ("dtypes", ctypes.c_void_p),
        ("slots", ctypes.POINTER(Slot)),
    )


class _Narrowing(ctypes.Structure):
    """``Narrowing`` of ``templates/narrowing.c``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("next", "ufunc", "loop", "data")),
        ("wide", ctypes.POINTER(ctypes.c_int)),
        *((name, ctypes.POINTER(ctypes.c_ubyte)) for name in ("own", "sources")),
        ("core_dims", ctypes.POINTER(ctypes.c_int)),
        ("cores", ctypes.POINTER(ctypes.c_short)),
        ("refusal", ctypes.POINTER(ctypes.c_char_p)),
        *((name, ctypes.c_int) for name in ("nin", "nout", "dims")),
    )


class _NarrowingHost(ctypes.Structure):
    """``NarrowingHost`` of ``templates/narrowing.c``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("format", "overflow_error", "type_error", "value_error")),
        ("type_number", ctypes.c_ssize_t),
    )


class _NarrowingObjects(ctypes.Structure):
    """``NarrowingObjects`` of ``templates/narrowing.c``."""

    _fields_ = (("as_integer", ctypes.c_void_p), ("raised", ctypes.c_void_p))


@cache
def _list_host_values() -> tuple[int | None, ...]:
    def exception(name: str) -> int | None:
        return ctypes.c_void_p.in_dll(ctypes.pythonapi, name).value

    function = ctypes.cast(ctypes.pythonapi.PyErr_Format, ctypes.c_void_p).value
    names = "PyExc_OverflowError", "PyExc_TypeError", "PyExc_ValueError"
    return function, *map(exception, names), _private.type_number_offset()


def lend_errors(handle: ctypes.CDLL) -> None:
    """Fill in the functions by which the driver raises exceptions with a value in their text."""
    _NarrowingHost.in_dll(handle, "__ufm_narrowing_host").__init__(*_list_host_values())  # type: ignore[misc]
    if hasattr(handle, "__ufm_narrowing_objects"):
        functions = ctypes.pythonapi.PyLong_AsLongLongAndOverflow, ctypes.pythonapi.PyErr_Occurred
        addresses = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
        _NarrowingObjects.in_dll(handle, "__ufm_narrowing_objects").__init__(*addresses)  # type: ignore[misc]


@dataclass(eq=False, repr=False)
class Promoter:
    """Lets a ufunc of narrow types take Python numbers: ``gcd(12, 18)`` of C's ``int gcd(int, int)``.

    It chooses the first loop to which every input casts safely, else the first that takes Python's numbers by kind, and
    wider integers, whose values are checked.  Another loop comes before that one if it converts some input better and
    none worse, as among C++'s overloads (`rank_conversion`).  float32 rejects float64, which has its precision for a
    reason.  Only a single number that is a function's only argument is rounded: NumPy does not tell whether it was
    Python's (whose precision does not count) or its own.
    """

    ufunc: np.ufunc
    code: FunctionCode
    functions: Any
    data: Any
    owner: Any
    #: For a ufunc of structures: makes the slot that names them, for these type numbers, and its buffers.
    resolver: Callable[[tuple[int, ...]], tuple[Slot, Any]] | None = None
    #: Memory to which NumPy and the object's driver keep pointers.
    buffers: list[Any] = field(default_factory=list)
    registered: set[tuple[int, ...]] = field(default_factory=set)

    def add(self) -> Promoter:
        """Register it with NumPy; it must live as long as the ufunc."""
        callback = _PromoterFunction(self._promote)
        new = _private.find_python_api(
            "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )
        capsule = new(ctypes.cast(callback, ctypes.c_void_p).value, _private.PROMOTER_NAME, None)
        kinds = ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.py_object
        add = ctypes.PYFUNCTYPE(*kinds)(_private.find_ufunc_api(_PROMOTER_SLOT))
        add(self.ufunc, (np.dtype,) * (self.code.nin + self.code.nout), capsule)
        self.buffers += [callback, capsule]
        return self

    def _promote(self, _: int, operands: Any, signature: Any, chosen: Any) -> int:
        nin, nout = self.code.nin, self.code.nout
        dtypes = [ctypes.cast(operands[k], ctypes.py_object).value if operands[k] else None for k in range(nin)]
        fixed = [signature[k] for k in range(nin + nout)]
        best: tuple[int, list[tuple[int, int]], list[int]] | None = None
        for position, loop, lenient in ((p, x, b) for b in (False, True) for p, x in enumerate(self.code.loops)):
            if any(wish and wish != id(DTYPES[t]) for wish, t in zip(fixed, loop.types, strict=True)):
                continue
            sources = self._find_sources(loop.types, dtypes, fixed, lenient=lenient)
            if sources is None:
                continue
            ranks = [_rank(t, d, safe=s[1] == _IS_OWN) for t, s, d in zip(loop.types, sources, dtypes, strict=False)]
            if best is None or is_better(ranks, best[2]):
                best = position, sources, ranks
        if best is None:
            return -1
        position, sources = best[:2]
        if any(kind != _IS_OWN for _, kind in sources):
            with lock_of("loops of wide numbers"):  # NumPy refuses one that it has, and the list has one end
                self._register(position, sources)
        for k, (number, _) in enumerate(sources):
            _private.find_python_api("Py_IncRef", None, ctypes.py_object)(DTYPES[number])
            chosen[k] = id(DTYPES[number])
        return 0

    def _find_sources(
        self, types: tuple[int, ...], dtypes: list[Any], fixed: list[Any], *, lenient: bool
    ) -> list[tuple[int, int]] | None:
        """The source of each operand of a loop: a type number, and how to read it; None if the loop cannot be used."""
        sources = [(t, _IS_OWN) for t in types]
        checks = bool(self._find_narrowing_loop())
        for k, dtype in enumerate(dtypes):
            if _takes(types[k], dtype):
                continue
            source = None
            if dtype is _OBJECT:
                source = _OBJECTS if lenient and self._accepts_objects(types[k]) else None
            elif lenient and types[k] != _BOOL:
                source = _find_source(types[k], dtype, alone=len(dtypes) == 1)
            elif lenient and len(self.code.loops) == 1:
                source = _find_truth(dtype)
            is_integer = types[k] != RECORD and TYPES[types[k]].kind in "iu"
            # A signature comes from the user, or from NumPy for reductions, which need one type for all and cast to it.
            if source and checks and not (any(fixed) if is_integer else fixed[k]):
                sources[k] = source
            elif not source or not is_integer:
                return None
        return sources

    def _accepts_objects(self, number: int) -> bool:
        """Whether Python's integers are read directly; not by uint64, because half of its values do not fit int64."""
        kind = "" if number == RECORD else TYPES[number].kind
        handle = getattr(getattr(self.owner, "library", None), "handle", None)
        fits = kind == "i" or (kind == "u" and np.dtype(TYPES[number].char).itemsize < 8)
        return fits and hasattr(handle, "__ufm_narrowing_objects")

    def _find_narrowing_loop(self) -> int:
        """Address of the loop that checks values; 0 if the object has none, or there is no library."""
        handle = getattr(getattr(self.owner, "library", None), "handle", None)
        function = getattr(handle, "__ufm_narrowing", None)
        if function is None or _private.type_number_offset() < 0:
            return 0
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def _register(self, position: int, sources: list[tuple[int, int]]) -> None:
        """Register the loop at that place for wider types, too."""
        code, loop = self.code, self.code.loops[position]
        numbers = tuple(number for number, _ in sources)
        if numbers in self.registered:
            return
        handle = self.owner.library.handle
        lend_errors(handle)
        operands = code.cores
        names = list(dict.fromkeys(d for dims in operands for d in dims))
        refusals = (ctypes.c_char_p * code.nin)()
        for k, (_, kind) in enumerate(sources[: code.nin]):
            if kind != _IS_OWN and loop.types[k] != _BOOL:
                refusals[k] = self._write_refusal(k, loop.types[k], kind)
        first = ctypes.c_void_p.in_dll(handle, "__ufm_narrowings")
        entry = _Narrowing(
            first.value,
            id(self.ufunc),
            self.functions[position],
            self.data[position],
            (ctypes.c_int * len(numbers))(*numbers),
            (ctypes.c_ubyte * len(numbers))(*loop.types),
            (ctypes.c_ubyte * code.nin)(*(kind for _, kind in sources[: code.nin])),
            (ctypes.c_int * len(numbers))(*map(len, operands)),
            (ctypes.c_short * max(1, sum(map(len, operands))))(*(names.index(d) for dims in operands for d in dims)),
            refusals,
            code.nin,
            code.nout,
            len(names),
        )
        dtypes = (ctypes.c_void_p * len(numbers))(*(id(DTYPES[number]) for number in numbers))
        slots = (Slot * 3)(Slot(STRIDED_LOOP, self._find_narrowing_loop()))
        if self.resolver:
            slots[1], resolver = self.resolver(numbers)
            self.buffers.append(resolver)
        name = f"{code.name}, values checked".encode()
        flags = _NEEDS_PYTHON if any(source == _OBJECTS for source in sources) else 0
        spec = Spec(name, code.nin, code.nout, 0, flags, ctypes.addressof(dtypes), slots)
        add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(_private.find_ufunc_api(LOOP_SLOT))
        self.buffers += [entry, name]
        # Before NumPy knows the loop: afterwards another thread may run it, and look up the entry.
        first.value = ctypes.addressof(entry)
        add(self.ufunc, ctypes.addressof(spec))
        self.registered.add(numbers)

    def _write_refusal(self, k: int, number: int, kind: int) -> bytes:
        """The message for an argument that does not fit, with PyErr_Format's places for the value and its element."""
        name = f"{self.code.name}({self.code.parameters[k]})" if k < len(self.code.parameters) else self.code.name
        name, dtype = name.replace("%", "%%"), np.dtype(TYPES[number].char)
        if dtype.kind in "fc":
            text = f"{name} takes {dtype}, but an array of {np.dtype(TYPES[_FLOATS[number][0]].char)} would lose digits"
            return f"{text}: pass x.astype({dtype.name!r})".encode()
        limits = np.iinfo(dtype)
        value = {_INT64[1]: "%lld", _OBJECTS[1]: "%S"}.get(kind, "%llu")
        return f"{name}: {value}%s does not fit {dtype}, {limits.min} to {limits.max}".encode()


def has_integers_and_floats(code: FunctionCode) -> bool:
    """Whether an input is an integer in some loops and a floating-point number in others.

    NumPy's own search would compute int64 as float64 there, to which it casts safely.  Functions of a device, where
    values are not checked, keep that.
    """
    kinds = [{TYPES[x.types[k]].kind for x in code.loops if x.types[k] != RECORD} for k in range(code.nin)]
    return not code.calls and any(k & {"i", "u"} and k & {"f", "c"} for k in kinds)


def is_better(ranks: Sequence[int], others: Sequence[int]) -> bool:
    """Whether a loop with these ranks of its inputs comes before another one."""
    return ranks != others and all(map(operator.le, ranks, others))


def rank_conversion(number: int, dtype: np.dtype[Any] | None, kind: str, *, safe: bool) -> int:
    """Rank the conversion of a number to C's type: small is good, roughly as in C++ (over.ics.rank).

    0: there is none; 1: to a type of its kind that has all its values; then to one that may not have them, the widest
    first; last from an integer to a floating-point number.

    Parameters
    ----------
    number : int
        The type of C.
    dtype : numpy.dtype, optional
        That of the number, unless it is Python's.
    kind : str
        The letter of its kind.
    safe : bool
        The type has all its values.
    """
    if dtype is not None and dtype.num == number:
        return 0
    if kind in ("i", "u", "b") and TYPES[number].kind in "fc":
        return 100
    return 1 if safe else 99 - np.dtype(TYPES[number].char).itemsize


def _rank(number: int, dtype: Any, *, safe: bool) -> int:
    if number == RECORD or dtype is None:
        return 0
    concrete = _find_number_type(dtype)
    python = {"_PyLongDType": "i", "_PyFloatDType": "f"}.get(dtype.__name__, "")
    return rank_conversion(number, concrete, concrete.kind if concrete is not None else python, safe=safe)


def _takes(number: int, dtype: Any) -> bool:
    """Whether NumPy accepts ``dtype`` for a loop's input: a DType class, or None if it is not known yet."""
    if dtype is None or number == RECORD:
        return dtype in (None, DTYPES[RECORD])
    python = _private.PYTHON_NUMBERS.get(dtype.__name__)
    if python is not None:
        return TYPES[number].kind in python
    concrete = _find_number_type(dtype)
    return concrete is not None and np.can_cast(concrete, TYPES[number].char)


def _find_source(number: int, dtype: Any, *, alone: bool) -> tuple[int, int] | None:
    """The source of an input of type ``number`` if ``dtype`` does not cast safely to it; None to reject it."""
    if number == RECORD:
        return None
    concrete, kind = _find_number_type(dtype), TYPES[number].kind
    if concrete is None:
        return None
    if kind in "iu" and concrete.kind in "iu":
        return _UINT64 if concrete.kind == "u" and concrete.itemsize == 8 else _INT64
    source = _FLOATS.get(number)
    return source if alone and source and np.can_cast(concrete, TYPES[source[0]].char) else None


def _find_truth(dtype: Any) -> tuple[int, int] | None:
    """The source of an input of C's bool, which is true for every number but 0."""
    concrete = _find_number_type(dtype)
    python = {"_PyLongDType": "i", "_PyFloatDType": "f"}.get(dtype.__name__, "")
    if concrete is None or (concrete.kind == "f" and not np.can_cast(concrete, np.float64)):
        return _TRUTHS.get(python)
    return _TRUTHS.get(concrete.kind)


def _find_number_type(dtype: Any) -> np.dtype[Any] | None:
    scalar = getattr(dtype, "type", None)
    if isinstance(scalar, type) and issubclass(scalar, np.number | np.bool_):
        return np.dtype(scalar)
    return None
