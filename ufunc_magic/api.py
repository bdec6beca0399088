"""The library: the same as the magics, without a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import runtime, serialize
from .model import ArgumentError, OptionError, SignatureError, TargetError, make_options, unpack

if TYPE_CHECKING:
    from .runtime import Build
    from .toolchain import Diagnosis

#: Languages of object code that can be compiled again, and of their cells.
_LANGUAGES: dict[str, Literal["c", "cython", "cuda"]] = {"c": "c", "c++": "c", "cython": "cython", "cuda": "cuda"}


def compile_c(source: str, **options: Any) -> Build:
    """Compile C (or C++ with ``cplus=True``) and return its functions.

    Parameters
    ----------
    source : str
    **options
        The words of ``%%c_ufunc?``: ``types="f4,f8"``, ``parallel=2``, ``strict=True``, ...

    Returns
    -------
    Build

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    UfuncMagicError
        As `build`.
    """
    from .pipeline import build_source  # compilers: only who asks for them

    return build_source(source, language="c", keywords=options)


def compile_cython(source: str, **options: Any) -> Build:
    """Compile Cython and return its functions, classes and constants.

    Functions whose parameters and results are numbers, or arrays with a ``# ufunc:`` comment above, are ufuncs; the
    others are what ``%%cython`` makes of them.

    Parameters
    ----------
    source : str
    **options
        The words of ``%%cython_ufunc?``: ``cplus=True``, ``annotate=True``, ``compile_args=["-O2"]``, ...

    Returns
    -------
    Build

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    UfuncMagicError
        As `build`.
    Exception
        Whatever the statements of the source raise.
    """
    from .pipeline import build_source  # compilers: only who asks for them

    return build_source(source, language="cython", keywords=options)


def compile_cuda(source: str, **options: Any) -> Build:
    """Compile CUDA C++ and return its functions.

    Parameters
    ----------
    source : str
        ``__device__`` functions, ``__global__`` kernels, and what they need.
    **options
        The words of ``%%cuda_device?``: ``device="cpu"``, ``types="f4,f8"``, ...

    Returns
    -------
    Build
        On a machine without a GPU the device functions are ufuncs of their emulation on the CPU.

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    ToolchainError
        For ``device="gpu"`` where there is neither a GPU nor NVRTC to compile for one.
    UfuncMagicError
        As `build`.
    """
    from .pipeline import build_source  # compilers: only who asks for them

    return build_source(source, language="cuda", keywords=options)


def c_ufunc(source: str, **options: Any) -> np.ufunc:
    """The one function of ``source`` as a ufunc.

    >>> double = c_ufunc("double f(double a) { return 2*a; }")

    Raises
    ------
    SignatureError
        If the source defines several functions, or one that cannot be a ufunc.
    CellCrashed
        If one crashed where it was tried out.
    """
    build = compile_c(source, **options)
    for name in build.report_data.refused:
        build[name]  # raises
    ufuncs = [f for f in build.values() if isinstance(f, np.ufunc)]
    if len(ufuncs) != 1 or len(build) != 1:
        plain = next((f for f in build.loaded.object_code.functions if f.kind == "plain"), None)
        if plain and len(build) <= 1:
            raise SignatureError(f"{plain.name} cannot be a ufunc: {plain.reason}.", remedy="Or use compile_c().")
        raise SignatureError(
            f"The source defines {len(build)} functions ({', '.join(build)}), c_ufunc() wants one.",
            remedy="Use compile_c(), or make the others static.",
        )
    return ufuncs[0]


def wrap_header(
    header: str, *, functions: str | Sequence[str] = "*", libraries: str | Sequence[str] = (), **options: Any
) -> Build:
    """The functions that a C header declares, as ufuncs of a library.

    Parameters
    ----------
    header : str
        As between the brackets of ``#include <...>``; a path to a file of your own works, too.
    functions : str or sequence of str
        Patterns (`fnmatch`) of the names to bind, in the header and in those that it includes.
    libraries : str or sequence of str
        As after ``-l``: ``["gsl", "gslcblas"]``.  libm is always there.
    **options
        The words of ``%%c_ufunc?``: ``include=[...]``, ``library_dirs=[...]``, ``compile_args=["-DNAME"]``, ...

    Returns
    -------
    Build
        Numbers are inputs, and what a function returns or writes through a pointer is an output.  A structure of
        numbers that it writes to is an output for each member, and an ``int`` that it returns beside other outputs is
        the last output, ``status``.  ``build.notes`` say which functions are not bound, and why.

    Raises
    ------
    UfuncMagicError
        As `compile_c`.

    Examples
    --------
    >>> gsl = um.wrap_header("gsl/gsl_sf.h", libraries=["gsl", "gslcblas"], functions="gsl_sf_*")
    >>> gsl.gsl_sf_bessel_J0(1.0)
    0.7651976865579665
    >>> val, err, status = gsl.gsl_sf_bessel_J0_e(1.0)
    """
    own = os.path.exists(header)
    include = f'#include "{os.path.abspath(header)}"\n' if own else f"#include <{header}>\n"
    return compile_c(include, wrap=functions, lib=libraries, **{"name": f"<{header}>", **options})


def doctor() -> Diagnosis:
    """What this machine has for compiling cells, and what one command would add; printable."""
    from .toolchain import diagnose

    return diagnose()


def dtype_of(function: Any, operand: str | int | None = None) -> np.dtype[Any]:
    """The dtype of an operand of a compiled ufunc, such as a C structure's.

    Parameters
    ----------
    function : numpy.ufunc
    operand : str or int
        An input's or output's name, its place, or the name of a structure in C; the only structure of the function if
        omitted.

    Returns
    -------
    numpy.dtype
        Of a structure: its members by name, where the C compiler has put them.

    Raises
    ------
    ArgumentError
        If it is no ufunc of this package, or has no such operand.

    Examples
    --------
    >>> cross = um.c_ufunc("typedef struct { double x, y, z; } vec; vec cross(vec a, vec b) { ... }")
    >>> a = np.zeros(1000, um.dtype_of(cross))
    """
    origin = runtime.origin_of(function)
    code = (
        next((c for c in origin.object_code.functions if c.name == origin.name and c.kind == "ufunc"), None)
        if origin
        else None
    )
    if code is None:
        raise ArgumentError(f"{function!r} is not a ufunc of a cell.", remedy="Give what compile_c() or a cell made.")
    return runtime.dtype_of(code, operand)


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
    origin = runtime.origin_of(function)
    if origin is None and type(function).__module__.partition(".")[0] == "numba":
        function = from_numba(function)
    if origin is not None and origin.object_code.language == "cuda":
        from .toolchain import nvrtc  # only functions of CUDA cells

        nvrtc.carry_ltoir(origin.object_code)
    return runtime.dumps(function, source=source, key=key)


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
    payload: object = data
    if isinstance(payload, str | int):  # bytes() would make something of the one, and zeros of the other
        raise TypeError(f"loads() takes the bytes that dumps() gave, not {type(payload).__name__}")
    if rebuild == "never":
        return serialize.loads(data, key=key)
    object_code, entry = unpack(bytes(data), key=runtime.secret(key))
    try:
        return serialize.function_of(object_code, entry)
    except TargetError as fault:
        language = _LANGUAGES.get(object_code.language)
        if not object_code.source or not language:
            origin = f"was made by {object_code.language}" if object_code.source else "came without its source"
            raise TargetError(
                f"{fault.message} It {origin}, so it cannot be compiled here.",
                remedy="Compile it on a machine like this one.",
            ) from fault
        from .pipeline import build  # compilers: only who asks for them

        options = make_options({k: v for k, v in object_code.options.items() if k != "arch"})
        result = build(object_code.source, language=language, options=options, name=object_code.name)
    return result[entry] if entry else result


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
    from .pipeline import from_numba as build_from_numba

    return build_from_numba(function)
