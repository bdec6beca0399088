"""Compiled functions to and from bytes, with what ``serialize`` must not know: compilers and Numba."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from . import serialize
from .errors import OptionError, TargetError
from .objectcode import ObjectCode, unpack

__all__ = ["dumps", "from_numba", "loads"]


def dumps(function: Any, *, source: bool = True, key: bytes | str | None = None) -> bytes:
    """A compiled function as bytes that `loads` makes a function of, in any process with NumPy and this package.

    Parameters
    ----------
    function : numpy.ufunc, function, Build, or Numba function
        What this package has made; a Numba function goes through `from_numba` first.
    source : bool
        Send the source along, so that a machine of another kind can compile it again.
    key : bytes or str
        Sign with it (HMAC-SHA256); ``UFUNC_MAGIC_KEY`` if omitted, and not at all if that is not set.

    Returns
    -------
    bytes
        Some 40 kB for a one-line function; ``docs/object-code.md`` says what each byte is.  With functions of CUDA
        cells goes what kernels of Numba's are linked with, where NVRTC is installed to make it.

    Raises
    ------
    SignatureError
        If the function is not one of these, or Numba's cannot travel; the message says why.

    Examples
    --------
    >>> data = um.dumps(um.c_ufunc("double f(double a) { return 2*a; }"))
    >>> um.loads(data)(21.0)
    42.0
    """
    found = serialize.object_code_of(function)
    if found is None and type(function).__module__.partition(".")[0] == "numba":
        function = from_numba(function)
    if found is not None and found[0].language == "cuda":
        from . import nvrtc  # only functions of CUDA cells

        nvrtc.carry_ltoir(found[0])
    return serialize.dumps(function, source=source, key=key)


def loads(data: bytes, *, key: bytes | str | None = None, rebuild: Literal["never", "missing"] = "never") -> Any:
    """What `dumps` was given; the same object where this process has it already.

    **Loading runs native code.**  Take it only from whom you would take a program, or set a key.

    Parameters
    ----------
    data : bytes
    key : bytes or str
        Accept only what was signed with it; ``UFUNC_MAGIC_KEY`` if omitted.
    rebuild : {"never", "missing"}
        What to do with code for another machine: raise, or compile the source that came along.

    Raises
    ------
    TypeError
        If it is not bytes.
    TargetError
        If the code cannot run here, was altered, or is not signed as it should be.
    UfuncMagicError
        With ``rebuild="missing"``, whatever compiling raises.
    """
    if rebuild not in ("never", "missing"):
        raise OptionError(f"rebuild={rebuild!r} is not known.", remedy="Use 'never' or 'missing'.")
    given: object = data
    if isinstance(given, str | int):  # bytes() would make something of the one, and zeros of the other
        raise TypeError(f"loads() takes the bytes that dumps() gave, not {type(given).__name__}")
    if rebuild == "never":
        return serialize.loads(data, key=key)
    object_code, entry = unpack(bytes(data), key=serialize.secret(key))
    try:
        return serialize.function_of(object_code, entry)
    except TargetError as fault:
        made = _rebuilt(object_code, fault)
    return made[entry] if entry else made


def _rebuilt(object_code: ObjectCode, fault: TargetError) -> Any:
    languages: dict[str, Literal["c", "cython", "cuda"]] = {"c": "c", "c++": "c", "cython": "cython", "cuda": "cuda"}
    if not object_code.source or object_code.language not in languages:
        what = "came without its source" if not object_code.source else f"was made by {object_code.language}"
        raise TargetError(
            f"{fault.message} It {what}, so it cannot be compiled here.",
            remedy="Compile it on a machine like this one.",
        ) from fault
    from .build import build  # compilers: only who asked for them
    from .options import make_options

    options = make_options({k: v for k, v in object_code.options.items() if k != "arch"})
    return build(object_code.source, language=languages[object_code.language], options=options, name=object_code.name)


def from_numba(function: Any) -> np.ufunc:
    """A real ufunc made of the object code of a Numba function.

    Parameters
    ----------
    function : numba dispatcher or DUFunc
        ``@njit`` with explicit or already compiled signatures, or ``@vectorize``; of numbers only.

    Returns
    -------
    numpy.ufunc
        It needs no Numba to be called, pickled or loaded.  Its exceptions are the function's own.

    Raises
    ------
    SignatureError
        If it takes arrays, lists or other objects, or nothing has been compiled yet.
    ToolchainError
        If Numba is not installed.
    """
    from .build import from_numba as build_from_numba

    return build_from_numba(function)
