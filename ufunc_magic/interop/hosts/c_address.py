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

from ...model import TYPES, FunctionCode, LoopCode, SignatureError
from ...runtime import Library, Origin, find_origin

#: System V's ABI for x86-64 passes a class with one, as the standard library's is, in memory.
_COMPLEX_LONG_DOUBLE = 16


def address(function: Any, signature: str = "") -> int:
    """Return the C address of the scalar function of a ufunc, or of a plain C function.

    Parameters
    ----------
    function : numpy.ufunc or function
        A function of a cell that has code for the CPU.
    signature : str
        The loop that is meant, ``"dd->d"``; may be left out where there is only one.  A plain function has none.

    Returns
    -------
    int
        Address of a function with the type of `prototype`, valid as long as the process.  An exception of C++ must
        not leave it where the caller is C.  A device function in Numba's form gives its result, not its status.

    Raises
    ------
    SignatureError
        If the function has no such loop, or no form that C can call: one on arrays, one that needs Python or may raise
        one of its exceptions, one of Numba's, one in a sandbox.
    """
    origin, code, loop = _resolve_function(function, signature)
    library = _open_library(origin, code)
    if loop is None:
        return library.functions[code.index]
    if origin.object_code.language != "c" and _COMPLEX_LONG_DOUBLE in loop.types:
        raise SignatureError(
            f"{code.name} has operands of std::complex<long double>, which C++ passes differently than C.",
            remedy="Write it in a C cell.",
        )
    entry = _read_table_entry(library, "__ufm_scalars", loop.index)
    if not entry:
        raise SignatureError(
            f"{code.name} needs Python, or may raise a Python exception, so C cannot call it alone.",
            remedy="In Cython, declare it noexcept nogil, and set cdivision=True if it divides.",
        )
    return entry


def leaf_address(function: Any, signature: str) -> int:
    """The address of the form of a scalar function that compiled callers take, in Microsoft's x64 convention; or 0.

    It leaves ten vector registers alone, of which System V's saves none, so a loop's sum stays in its own.
    """
    origin, code, loop = _resolve_function(function, signature)
    _open_library(origin, code)  # raises
    library = origin.loaded.portable_library
    return _read_table_entry(library, "__ufm_leaves", loop.index) if loop and library else 0


def prototype(function: Any, signature: str = "") -> str:
    """The C type of what `address` gives, ``"double (*)(double, double)"``: what cffi's ``ffi.cast`` takes.

    Raises
    ------
    SignatureError
        As `address`.
    """
    _, code, loop = _resolve_function(function, signature)
    if loop is None:
        return code.declaration.rpartition("\n")[2]
    names = [TYPES[t].c for t in loop.types]
    inputs, outputs = names[: code.nin], names[code.nin :]
    if len(outputs) == 1:
        return f"{outputs[0]} (*)({', '.join(inputs)})"
    return f"void (*)({', '.join([*inputs, *(f'{name} *' for name in outputs)])})"


def ctypes_function(function: Any, signature: str = "") -> Any:
    """The scalar function as one of ctypes', with its types; it releases the GIL.

    Raises
    ------
    SignatureError
        As `address`, for types that ctypes lacks, and for plain functions, whose types are known from their text only.
    """
    _, code, loop = _resolve_function(function, signature)
    if loop is None:
        raise SignatureError(
            f"{code.name} is a plain C function, {prototype(function)}.",
            remedy="Write ctypes.CFUNCTYPE(result, ...)(um.address(f)).",
        )
    try:
        letters = (TYPES[t].char for t in loop.types)
        kinds = [ctypes.c_longdouble if c == "g" else np.ctypeslib.as_ctypes_type(c) for c in letters]
    except NotImplementedError as fault:
        raise SignatureError(
            f"{code.name}: ctypes has no such type: {fault}.", remedy="Call it through cffi, or from C."
        ) from fault
    inputs, outputs = kinds[: code.nin], kinds[code.nin :]
    one = len(outputs) == 1
    form = ctypes.CFUNCTYPE(outputs[0] if one else None, *inputs, *([] if one else map(ctypes.POINTER, outputs)))
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
        Value of the function's last ``void *``.

    Raises
    ------
    SignatureError
        As `address`.
    """
    scipy: Any = importlib.import_module("scipy")
    origin, _, loop = _resolve_function(function, signature)
    if origin.function_code and origin.function_code.records:
        raise SignatureError(f"{origin.name} takes or returns structures, which SciPy does not support.")
    if loop is not None:
        return scipy.LowLevelCallable(ctypes_function(function, signature), user_data)
    form = prototype(function, signature)
    # SciPy compares text, and has one name for the integers of a pointer's width.
    spelled = re.sub(r"\bconst ", "", form.replace("(*)", ""))
    spelled = re.sub(r"\b(?:ptrdiff_t|ssize_t|Py_ssize_t)\b", "intptr_t", spelled)
    return scipy.LowLevelCallable(function.ffi.cast(form, address(function)), user_data, spelled)


def _resolve_function(function: Any, signature: str) -> tuple[Origin, FunctionCode, LoopCode | None]:
    """A function of ours that C may call, and its loop; a plain function has none.

    Raises
    ------
    SignatureError
        If it is none, or has no such loop.
    """
    origin = find_origin(function)
    code = None if origin is None else origin.function_code
    if origin is None or code is None or code.kind not in ("ufunc", "plain"):
        raise SignatureError(
            f"{function!r:.80} is not a C function of ufunc_magic.",
            remedy="Pass a ufunc or a plain C function from a cell, compile_c() or c_ufunc().",
        )
    if code.records:
        return origin, code, None  # the cell's own function
    if code.core:
        raise SignatureError(
            f"{code.name} works on arrays, {code.core}, so it has no scalar form.",
            remedy="Add a last parameter void *data: it is then a plain C function, which has an address.",
        )
    if code.kind != "plain":
        return origin, code, _find_loop(code, signature)
    if signature:
        raise SignatureError(
            f"{code.name} is a plain C function and has no loop {signature!r}.", remedy="Omit the signature."
        )
    return origin, code, None


def _find_loop(code: FunctionCode, signature: str) -> LoopCode:
    """The loop of that signature; types of one width are the same to C's callers, as ``long`` and ``long long``."""
    spelled = ["".join(TYPES[t].char for t in loop.types) for loop in code.loops]
    shown = ", ".join(f"{letters[: code.nin]}->{letters[code.nin :]}" for letters in spelled)
    if not signature:
        if len(code.loops) == 1:
            return code.loops[0]
        raise SignatureError(
            f"{code.name} has the loops {shown}.", remedy=f"Choose one: address(f, {shown.split(',')[0]!r})."
        )
    inputs, arrow, outputs = signature.replace(" ", "").partition("->")
    if arrow and (len(inputs), len(outputs)) == (code.nin, code.nout):
        for letters, loop in zip(spelled, code.loops, strict=True):
            if _have_same_dtypes(letters, inputs + outputs):
                return loop
    raise SignatureError(f"{code.name} has no loop {signature!r}; it has {shown}.", remedy="Use one of these.")


def _have_same_dtypes(letters: str, others: str) -> bool:
    try:
        return all(np.dtype(a) == np.dtype(b) for a, b in zip(letters, others, strict=True))
    except TypeError:
        return False


def _open_library(origin: Origin, code: FunctionCode) -> Library:
    """The opened library.

    Raises
    ------
    SignatureError
        If there is no machine code of the function for C in this process.
    """
    if origin.object_code.options.get("sandbox"):
        raise SignatureError(
            f"{code.name} runs in a sandbox: it has no address in this process.", remedy="Remove --sandbox."
        )
    if origin.object_code.language == "numba":
        raise SignatureError(
            f"{code.name} is a Numba function, and only its loops are available here.",
            remedy="Use Numba's cfunc to get an address.",
        )
    if not isinstance(origin.loaded.library, Library):
        raise SignatureError(
            f"{code.name} has no code for this machine's CPU.", remedy="Install a C++ compiler, and compile it again."
        )
    return origin.loaded.library


def _read_table_entry(library: Library, table: str, index: int) -> int:
    """An address in a table of the library; 0 where there is none, or no table."""
    try:
        start = library.find_symbol(table)
    except AttributeError:
        return 0
    return ctypes.c_size_t.from_address(start + index * ctypes.sizeof(ctypes.c_size_t)).value
