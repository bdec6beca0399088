"""C functions that cannot be ufuncs, called through cffi under their own name.

NumPy arrays are passed as pointers, without a copy; cffi converts everything else.
"""

from __future__ import annotations

import inspect
import re
from functools import lru_cache
from typing import Any

import numpy as np

from ..model import FunctionCode, ObjectCode, SignatureError
from . import cell_names


class PlainFunction:
    """A C function of a cell that is not a ufunc.

    Call it with numbers, cffi values, and NumPy arrays where C wants pointers.  ``ffi`` makes structs:
    ``f.ffi.new("point *", [1, 2])[0]``.

    Parameters
    ----------
    code : FunctionCode
        Of kind "plain".
    address : int
    owner : LoadedObject
        Kept alive by the function.
    checked : bool
        Check now whether cffi can call it; if that was checked before, importing cffi can wait for the first call.

    Raises
    ------
    SignatureError
        When it is created or first used, if cffi cannot read the declaration, or cannot call such a function.
    TypeError
        For a wrong number of arguments, or an array whose dtype is not the pointer's.
    ValueError
        For an array that is not contiguous, or read-only where C may write.
    """

    def __init__(self, code: FunctionCode, address: int, *, owner: Any, checked: bool = True) -> None:
        self._code = code
        self._address = address
        #: The LoadedObject that the function is part of, kept alive.
        self.owner = owner
        self._binding: tuple[Any, Any, Any] | None = None
        self._names = code.parameters
        reason = cell_names.find_current_place(owner.object_code).replace_marks(code.reason)
        prototype = self.prototype
        self._const = _find_const(prototype)
        self.__name__ = self.__qualname__ = code.name
        self.__doc__ = "\n\n".join(filter(None, (prototype, code.doc, reason)))
        self.__source__ = code.source
        self.reason = reason
        kind = inspect.Parameter
        names = [n if n.isidentifier() else f"x{i}" for i, n in enumerate(code.parameters, start=1)]
        if len(set(names)) == len(names) and "..." not in prototype:
            self.__signature__ = inspect.Signature([kind(n, kind.POSITIONAL_ONLY) for n in names])

        if checked:
            self._get_binding()

    def _get_binding(self) -> tuple[Any, Any, Any]:
        """cffi's FFI, the pointer and its type; made at the first use, because many workers never call the function."""
        if self._binding is None:
            self._binding = _bind(self._code, self._address)
        return self._binding

    @property
    def object_code(self) -> ObjectCode:
        """The object code that contains it."""
        return self.owner.object_code  # type: ignore[no-any-return]

    @property
    def prototype(self) -> str:
        """Its type in C, ``"double (*)(const double *, int)"``."""
        return self._code.declaration.rpartition("\n")[2]

    @property
    def ffi(self) -> Any:
        return self._get_binding()[0]

    def __call__(self, *args: Any) -> Any:
        _, pointer, function = self._get_binding()
        kinds = function.args
        if len(args) < len(kinds) or (len(args) > len(kinds) and not function.ellipsis):
            raise TypeError(f"{self.__name__}() takes {len(kinds)} arguments ({len(args)} given)")
        arguments = [self._convert(n, value, kind) for n, (value, kind) in enumerate(zip(args, kinds, strict=False))]
        try:
            result = pointer(*arguments, *args[len(kinds) :])
        except SystemError as fault:
            if fault.__cause__ is None:
                raise
            # cffi does not check whether the function has set an exception; Python does, and wraps it.
            raise fault.__cause__ from None
        return bool(result) if function.result.cname == "_Bool" else result

    def _convert(self, n: int, value: Any, kind: Any) -> Any:
        if kind.kind != "pointer" or not isinstance(value, np.ndarray):
            # NumPy's scalars are numbers to C, but not to cffi.
            return value.item() if isinstance(value, np.generic) else value
        name = self._names[n] if n < len(self._names) and self._names[n] else f"argument {n + 1}"
        item = kind.item
        while item.kind == "array":  # double (*)[3]
            item = item.item
        if item.kind == "primitive" and item.cname not in _C_NAMES.get((value.dtype.kind, value.dtype.itemsize), ()):
            raise TypeError(
                f"{self.__name__}(): {name} is an array of {value.dtype}, but C needs {item.cname}; convert it "
                "with .astype()"
            )
        if not value.dtype.isnative:
            raise TypeError(f"{self.__name__}(): {name} is not in this machine's byte order; convert it with .astype()")
        if not value.flags.c_contiguous:
            raise ValueError(f"{self.__name__}(): {name} is not contiguous; pass np.ascontiguousarray(...)")
        # cffi has no const in its types.
        if not value.flags.writeable and n not in self._const:
            raise ValueError(f"{self.__name__}(): {name} is read-only, but C may write to it; pass a copy")
        return self.ffi.cast(kind, value.ctypes.data)

    def __repr__(self) -> str:
        return f"<C function {self.__name__!r}: {self._get_binding()[2].cname}>"


_C_NAMES: dict[tuple[str, int], tuple[str, ...]] = {
    ("f", 4): ("float",),
    ("f", 8): ("double",),
    ("f", np.dtype("g").itemsize): ("long double",),
    ("b", 1): ("_Bool", "char", "unsigned char", "uint8_t"),
    ("c", 8): ("float _Complex", "_cffi_float_complex_t"),
    ("c", 16): ("double _Complex", "_cffi_double_complex_t"),
    ("S", 1): ("char", "signed char", "unsigned char"),
}
for _char, _name in (("b", "char"), ("h", "short"), ("i", "int"), ("l", "long"), ("q", "long long")):
    _size = np.dtype(_char).itemsize
    _bits = f"{8 * _size}_t"
    _signed = (
        (f"signed {_name}", "char", f"int{_bits}") if _char == "b" else (_name, f"int{_bits}", "ssize_t", "ptrdiff_t")
    )
    _unsigned = (f"unsigned {_name}", "char", f"uint{_bits}", "size_t")
    _C_NAMES["i", _size] = _C_NAMES.get(("i", _size), ()) + _signed
    _C_NAMES["u", _size] = _C_NAMES.get(("u", _size), ()) + _unsigned


def _bind(code: FunctionCode, address: int) -> tuple[Any, Any, Any]:
    try:
        from cffi import CDefError, FFIError
    except ImportError:  # some Pythons lack it; the cell's other functions do not need it
        raise SignatureError(
            f"{code.name} cannot be a ufunc ({code.reason}), and calling it as a plain function needs cffi.",
            remedy="Install cffi.",
        ) from None

    definitions, _, prototype = code.declaration.rpartition("\n")
    try:
        ffi = _make_ffi(definitions)
        pointer = ffi.cast(prototype, address)
        return ffi, pointer, ffi.typeof(pointer)
    except (CDefError, FFIError, NotImplementedError, TypeError, AssertionError) as fault:
        raise SignatureError(
            f"{code.name} can be neither a ufunc ({code.reason}) nor a plain function (cffi: {_cut_advice(fault)}).",
            remedy="Write a wrapper with numbers and pointers to numbers only, or declare it `static`.",
        ) from fault


def _cut_advice(fault: Exception) -> str:
    """The first sentence of cffi's message; the rest is advice on using cffi."""
    return str(fault).splitlines()[0].partition(".  ")[0].rstrip(".")


@lru_cache(maxsize=256)
def _make_ffi(definitions: str) -> Any:
    """One FFI for each set of type definitions, so that one function's struct can be passed to another."""
    import cffi  # 20 ms that only cells with plain functions need

    ffi = cffi.FFI()
    for line in definitions.splitlines():
        try:
            ffi.cdef(line, override=True)
        except (cffi.CDefError, cffi.FFIError, NotImplementedError, TypeError, AssertionError):
            continue  # the functions that need it report it
    return ffi


def _find_const(prototype: str) -> frozenset[int]:
    """The parameters of ``double (*)(const double *, int)`` that C promises not to write to."""
    inside = prototype.partition("(*)(")[2].removesuffix(")")
    while "(" in inside:  # commas of a function pointer's own parameters
        shorter = re.sub(r"\([^()]*\)", "", inside)
        if shorter == inside:
            break
        inside = shorter
    return frozenset(n for n, p in enumerate(inside.split(",")) if re.match(r"\s*const\b[^*]*\*[^*]*$", p))
