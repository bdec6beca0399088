"""C addresses of compiled functions, for callers that know no ufuncs: SciPy's integrators, ctypes, cffi, C itself.

The form of a scalar function follows from its loop: ``dd->d`` is ``double f(double, double)``, and with several
outputs ``d->dd`` is ``void f(double, double *, double *)``, whatever the order of the parameters in the cell.  It
needs no GIL.  What was opened is never closed, so an address serves as long as the process.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from typing import Any

import numpy as np

from ... import runtime
from ...model import TYPES, FunctionCode, LoopCode, ObjectCode, SignatureError
from ...runtime import Library, origin_of
from ..arrays import asarray

__all__ = ["address", "ctypes_function", "leaf_address", "lowlevel", "prototype"]

#: NumPy's letters of the types that ctypes has.
_CTYPES: dict[str, Any] = {
    "?": ctypes.c_bool,
    "b": ctypes.c_byte,
    "B": ctypes.c_ubyte,
    "h": ctypes.c_short,
    "H": ctypes.c_ushort,
    "i": ctypes.c_int,
    "I": ctypes.c_uint,
    "l": ctypes.c_long,
    "L": ctypes.c_ulong,
    "q": ctypes.c_longlong,
    "Q": ctypes.c_ulonglong,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "g": ctypes.c_longdouble,
}
#: System V's ABI for x86-64 passes a class with one, as the standard library's is, in memory.
_COMPLEX_LONG_DOUBLE = 16


def address(function: Any, signature: str = "") -> int:
    """The C address of the scalar function behind a ufunc, or of a plain C function.

    Parameters
    ----------
    function : numpy.ufunc or function
        Of a C, C++ or Cython cell, or of a CUDA cell as it is emulated on the CPU.
    signature : str
        The loop that is meant, ``"dd->d"``; may be left out where there is only one.  A plain function has none.

    Returns
    -------
    int
        Of a function of the form that `prototype` says.  It is valid as long as the process; an exception of C++ must
        not leave it where the caller is C.  A CUDA function in Numba's form gives its result, not its status.

    Raises
    ------
    SignatureError
        If the function has no such loop, or no form that C can call: one on arrays, one that needs Python or may raise
        one of its exceptions, one of Numba's, one in a sandbox.
    """
    code, object_code = _found(function)
    library = _library(code, object_code)
    if code.kind == "plain":
        _no_loops(code, signature)
        return library.functions[code.index]
    loop = _loop(code, signature)
    if object_code.language != "c" and _COMPLEX_LONG_DOUBLE in loop.types:
        raise SignatureError(
            f"{code.name} has operands of std::complex<long double>, which C++ passes in another way than C.",
            remedy="Write it in a cell of C.",
        )
    entry = _scalar(library, loop.index)
    if not entry:
        raise SignatureError(
            f"{code.name} needs Python, or may raise a Python exception, so C cannot call it alone.",
            remedy="In Cython write noexcept nogil, and cdivision=True where it divides.",
        )
    return entry


def prototype(function: Any, signature: str = "") -> str:
    """The C type of what `address` gives, ``"double (*)(double, double)"``: what cffi's ``ffi.cast`` takes.

    Raises
    ------
    SignatureError
        As `address`.
    """
    code, _ = _found(function)
    if code.kind == "plain":
        _no_loops(code, signature)
        return code.declaration.rpartition("\n")[2]
    names = [TYPES[t].c for t in _loop(code, signature).types]
    outputs = names[code.nin :]
    pointers = [] if len(outputs) == 1 else [f"{name} *" for name in outputs]
    return f"{outputs[0] if len(outputs) == 1 else 'void'} (*)({', '.join([*names[: code.nin], *pointers])})"


def ctypes_function(function: Any, signature: str = "") -> Any:
    """The scalar function as one of ctypes', with its types; it releases the GIL.

    Raises
    ------
    SignatureError
        As `address`, for types that ctypes has not, and for plain functions, whose types only their text says.
    """
    code, _ = _found(function)
    if code.kind == "plain":
        raise SignatureError(
            f"{code.name} is a plain C function, {prototype(function)}.",
            remedy="Write ctypes.CFUNCTYPE(result, ...)(um.address(f)).",
        )
    letters = [TYPES[t].char for t in _loop(code, signature).types]
    lacking = next((c for c in letters if c not in _CTYPES), None)
    if lacking is not None:
        kind = next(t.c for t in TYPES.values() if t.char == lacking)
        raise SignatureError(f"{code.name}: ctypes has no {kind}.", remedy="Call it through cffi, or from C.")
    kinds = [_CTYPES[c] for c in letters]
    outputs = kinds[code.nin :]
    one = len(outputs) == 1
    form = ctypes.CFUNCTYPE(
        outputs[0] if one else None, *kinds[: code.nin], *([] if one else map(ctypes.POINTER, outputs))
    )
    return form(address(function, signature))


def lowlevel(function: Any, signature: str = "", *, user_data: Any = None) -> Any:
    """A ``scipy.LowLevelCallable``, which SciPy calls without Python.

    ``integrate.quad`` takes a ufunc of ``d->d``; for ``nquad``, ``ndimage.generic_filter`` and others write the
    function that SciPy's page asks for, ``double f(int n, double *x, void *data)``, in the cell.

    Parameters
    ----------
    function : numpy.ufunc or function
    signature : str
        As for `address`.
    user_data : capsule, ctypes or cffi pointer
        What the function gets as its last ``void *``.

    Raises
    ------
    SignatureError
        As `address`.
    """
    code, _ = _found(function)
    scipy: Any = importlib.import_module("scipy")
    if code.kind != "plain":
        return scipy.LowLevelCallable(ctypes_function(function, signature), user_data)
    form = prototype(function, signature)
    # SciPy compares text, and has one name for the integers of a pointer's width.
    spelled = re.sub(
        r"\b(?:ptrdiff_t|ssize_t|Py_ssize_t)\b", "intptr_t", re.sub(r"\bconst ", "", form.replace("(*)", ""))
    )
    pointer = function.ffi.cast(form, address(function))
    return scipy.LowLevelCallable(pointer, user_data, spelled)


def _found(function: Any) -> tuple[FunctionCode, ObjectCode]:
    """What the object code says of a function of ours that C may call.

    Raises
    ------
    SignatureError
        If it is none.
    """
    origin = origin_of(function)
    code = None if origin is None else origin.function_code
    if origin is None or code is None or code.kind not in ("ufunc", "plain"):
        raise SignatureError(
            f"{function!r:.80} is no C function of ufunc_magic's.",
            remedy="Give a ufunc or a plain C function of a cell, of compile_c() or c_ufunc().",
        )
    if code.core:
        raise SignatureError(
            f"{code.name} works on arrays, {code.core}, so it has no scalar form.",
            remedy="Give it a last parameter void *data: then it stays a plain C function, which has an address.",
        )
    return code, origin.object_code


def _library(code: FunctionCode, object_code: ObjectCode) -> Library:
    """The opened library.

    Raises
    ------
    SignatureError
        If there is no machine code of the function for C in this process.
    """
    build = runtime.loaded(object_code)
    library = None if build is None else build.loaded.library
    if object_code.options.get("sandbox"):
        raise SignatureError(
            f"{code.name} runs in a sandbox: it has no address in this process.", remedy="Leave --sandbox out."
        )
    if object_code.language == "numba":
        raise SignatureError(
            f"{code.name} is a function of Numba's, of which only the loops were kept.",
            remedy="Numba's own cfunc gives an address.",
        )
    if not isinstance(library, Library):
        raise SignatureError(
            f"{code.name} has no code for this machine's CPU.", remedy="Install a C++ compiler, and compile it again."
        )
    return library


def _no_loops(code: FunctionCode, signature: str) -> None:
    if signature:
        raise SignatureError(
            f"{code.name} is a plain C function and has no loop {signature!r}.", remedy="Leave the signature out."
        )


def _loop(code: FunctionCode, signature: str) -> LoopCode:
    """The loop of that signature; types of one width are the same."""
    spelled = ["".join(TYPES[t].char for t in loop.types) for loop in code.loops]
    shown = ", ".join(f"{w[: code.nin]}->{w[code.nin :]}" for w in spelled)
    if not signature:
        if len(code.loops) == 1:
            return code.loops[0]
        raise SignatureError(
            f"{code.name} has the loops {shown}.", remedy=f"Say which: address(f, {shown.split(',')[0]!r})."
        )
    inputs, arrow, outputs = signature.replace(" ", "").partition("->")
    if arrow and (len(inputs), len(outputs)) == (code.nin, code.nout):
        wanted = inputs + outputs
        for same in (False, True):
            for letters, loop in zip(spelled, code.loops, strict=True):
                if letters == wanted or (same and _alike(letters, wanted)):
                    return loop
    raise SignatureError(f"{code.name} has no loop {signature!r}; it has {shown}.", remedy="Give one of these.")


def _alike(letters: str, wanted: str) -> bool:
    """``long`` and ``long long`` of one width are the same to C's callers."""
    try:
        return all(np.dtype(a) == np.dtype(b) for a, b in zip(letters, wanted, strict=True))
    except TypeError:
        return False


def leaf_address(function: Any, signature: str) -> int:
    """The address of the form of a scalar function that compiled callers take, in Microsoft's x64 convention; or 0.

    It leaves ten vector registers alone, of which System V's saves none, so a loop's sum stays in its own.
    """
    code, object_code = _found(function)
    try:
        return _entry(_library(code, object_code), "__ufm_leaves", _loop(code, signature).index)
    except AttributeError:
        return 0


def _scalar(library: Library, index: int) -> int:
    """An entry of the object's table of scalar functions; 0 where the function has no such form."""
    try:
        return _entry(library, "__ufm_scalars", index)
    except AttributeError as fault:
        raise SignatureError(
            "The object code was made by an older ufunc_magic, which exports no scalar functions.",
            remedy="Compile it again.",
        ) from fault


def _entry(library: Library, table: str, index: int) -> int:
    return int(asarray(library.symbol(table), (index + 1,), np.uintp)[index])
