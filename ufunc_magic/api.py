"""The library: what the magics do, as Python functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import languages, runtime, serialize
from .model import (
    LANGUAGES,
    ArgumentError,
    OptionError,
    SignatureError,
    TargetError,
    find_language_key,
    list_names,
    make_options,
    take_options,
    unpack,
)

if TYPE_CHECKING:
    from typing import Unpack

    from .bench import Verdict
    from .compilers import Diagnosis
    from .interop.python_package import SavedModule
    from .model import OptionKeywords
    from .runtime import Build


@take_options(list_names("c"))
def compile_c(source: str, **options: Unpack[OptionKeywords]) -> Build:
    """Compile C (or C++ with ``cplus=True``) and return its functions.

    Parameters
    ----------
    source : str

    Returns
    -------
    Build

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    UfuncMagicError
        As `build`.

    Examples
    --------
    >>> build = um.compile_c("double half(double x) { return x / 2; }", strict=True)
    >>> build.half([1.0, 2.0])
    array([0.5, 1. ])
    """
    from .pipeline import build_source  # imports compilers

    return build_source(source, language="c", keywords=options)


@take_options(list_names("cython"))
def compile_cython(source: str, **options: Unpack[OptionKeywords]) -> Build:
    """Compile Cython and return its functions, classes and constants.

    Functions of numbers become ufuncs, and so do functions of arrays that have a ``# ufunc:`` comment above them.
    Everything else is bound as ``%%cython`` binds it.

    Parameters
    ----------
    source : str

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
        Any exception that the statements of the source raise.

    Examples
    --------
    >>> build = um.compile_cython("def half(double x):\\n    return x / 2\\n")
    >>> build.half(3), build.half(np.array([1.0, 2.0]))
    (1.5, array([0.5, 1. ]))
    """
    from .pipeline import build_source  # imports compilers

    return build_source(source, language="cython", keywords=options)


@take_options(list_names("cuda"))
def compile_cuda(source: str, **options: Unpack[OptionKeywords]) -> Build:
    """Compile CUDA C++ and return its functions.

    Parameters
    ----------
    source : str
        ``__device__`` functions, ``__global__`` kernels, and the code that they use.

    Returns
    -------
    Build
        On a machine without a GPU, the device functions are ufuncs that emulate them on the CPU.

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    ToolchainError
        For ``device="gpu"`` on a machine that has neither a GPU nor NVRTC.
    UfuncMagicError
        As `build`.

    Examples
    --------
    >>> build = um.compile_cuda("__device__ float half(float x) { return x / 2; }", device="cpu")
    >>> build.half(np.float32([1.0, 2.0]))
    array([0.5, 1. ], dtype=float32)
    """
    from .pipeline import build_source  # imports compilers

    return build_source(source, language="cuda", keywords=options)


@take_options(list_names("c"))
def c_ufunc(source: str, **options: Unpack[OptionKeywords]) -> np.ufunc:
    """The one function of ``source`` as a ufunc.

    Parameters
    ----------
    source : str

    Returns
    -------
    numpy.ufunc

    Raises
    ------
    SignatureError
        If the source defines several functions, or one that cannot be a ufunc.
    CellCrashed
        If the function crashed in its trial.

    Examples
    --------
    >>> hypotenuse = um.c_ufunc("#include <math.h>\\ndouble hyp(double a, double b) { return sqrt(a * a + b * b); }")
    >>> hypotenuse.outer([3.0, 5.0], [4.0, 12.0])
    array([[ 5.        , 12.36931688],
           [ 6.40312424, 13.        ]])
    """
    build = compile_c(source, **options)
    for name in build.report_data.refused:
        build[name]  # raises
    ufuncs = [f for f in build.values() if isinstance(f, np.ufunc)]
    if len(ufuncs) != 1 or len(build) != 1:
        plain = next((f for f in build.loaded.object_code.functions if f.kind == "plain"), None)
        if plain and len(build) <= 1:
            raise SignatureError(
                f"{plain.name} cannot be a ufunc: {plain.reason}.",
                remedy="Use compile_c(), which binds it as a plain function.",
            )
        raise SignatureError(
            f"The source defines {len(build)} functions ({', '.join(build)}), but c_ufunc() needs exactly one.",
            remedy="Use compile_c(), or declare the others `static`.",
        )
    return ufuncs[0]


@take_options(name for name in list_names("c") if name not in ("wrap", "lib"))
def wrap_header(
    header: str,
    *,
    functions: str | Sequence[str] = "*",
    libraries: str | Sequence[str] = (),
    **options: Unpack[OptionKeywords],
) -> Build:
    """Bind the functions that a C header declares as ufuncs.

    Parameters
    ----------
    header : str
        The name between the brackets of ``#include <...>``, or a path to a file of your own.
    functions : str or sequence of str
        Patterns (`fnmatch`) for the names to bind, in the header and in the headers that it includes.
    libraries : str or sequence of str
        Names as after ``-l``: ``["gsl", "gslcblas"]``.  libm is always linked.

    Returns
    -------
    Build
        Numbers are inputs. Outputs are the return value and everything that the function writes through a pointer. A
        structure of numbers that the function writes gives one output for each member. An ``int`` that the function
        returns in addition is the last output, ``status``. ``build.notes`` lists the functions that are not bound, with
        the reasons.

    Raises
    ------
    UfuncMagicError
        As `compile_c`.

    Examples
    --------
    >>> build = um.wrap_header("math.h", functions=["hypot", "frexp"])
    >>> fraction, exponent = build.frexp([3.0, 10.0])
    >>> fraction * 2.0**exponent
    array([ 3., 10.])
    """
    own = os.path.exists(header)
    include = f'#include "{os.path.abspath(header)}"\n' if own else f"#include <{header}>\n"
    keywords: OptionKeywords = {"name": f"<{header}>", **options, "wrap": functions, "lib": libraries}
    return compile_c(include, **keywords)


def doctor() -> Diagnosis:
    """Show the compilers and libraries of this machine, and the commands that install what is missing; printable."""
    from .compilers import diagnose

    return diagnose(finding for key in LANGUAGES for finding in languages.get_language(key).list_findings())


def dtype_of(function: Any, operand: str | int | None = None) -> np.dtype[Any]:
    """Return the dtype of an operand of a compiled ufunc, for example of a C structure.

    Parameters
    ----------
    function : numpy.ufunc
    operand : str or int
        The name or position of an input or output, or the C name of a structure. If omitted, the function's only
        structure.

    Returns
    -------
    numpy.dtype
        For a structure: its members by name, with the offsets that the C compiler uses.

    Raises
    ------
    ArgumentError
        If ``function`` is not a ufunc of this package, or has no such operand.

    Examples
    --------
    >>> cross = um.c_ufunc("typedef struct { double x, y, z; } vec; vec cross(vec a, vec b) { ... }")
    >>> a = np.zeros(1000, um.dtype_of(cross))
    """
    origin = runtime.find_origin(function)
    code = (
        next((c for c in origin.object_code.functions if c.name == origin.name and c.kind == "ufunc"), None)
        if origin
        else None
    )
    if code is None:
        raise ArgumentError(
            f"{function!r} is not a ufunc from a cell.", remedy="Pass a function from compile_c() or from a cell."
        )
    return runtime.dtype_of(code, operand)


def dumps(function: Any, *, source: bool = True, key: bytes | str | None = None) -> bytes:
    """Return a compiled function as bytes; `loads` turns them back into a function, in any process.

    Parameters
    ----------
    function : numpy.ufunc, function, Build, or Numba function
        A function or Build of this package. A Numba function goes through `from_numba` first.
    source : bool
        Include the source, so that a different kind of machine can compile it again.
    key : bytes or str
        The key to sign with (HMAC-SHA256). If omitted, ``UFUNC_MAGIC_KEY``; without either, the bytes are not signed.

    Returns
    -------
    bytes
        About 40 kB for a one-line function; ``docs/object-code.md`` describes the format. If NVRTC is installed,
        functions of CUDA cells include the code that Numba links into its kernels.

    Raises
    ------
    SignatureError
        If the function is none of these, or a Numba function cannot be sent; the message says why.

    Examples
    --------
    >>> data = um.dumps(um.c_ufunc("double f(double a) { return 2*a; }"))
    >>> um.loads(data)(21.0)
    42.0
    """
    origin = runtime.find_origin(function)
    if origin is None and str(type(function).__module__).partition(".")[0] == "numba":
        function = from_numba(function)
    if origin is not None:
        languages.find_language(origin.object_code).complete(origin.object_code)
    return runtime.dumps(function, source=source, key=key)


def loads(data: bytes, *, key: bytes | str | None = None, rebuild: Literal["never", "missing"] = "never") -> Any:
    """Return the function that `dumps` turned into bytes, or the same object if this process already has it.

    **Loading runs native code.**  Load bytes only from sources whose programs you would run, or set a key.

    Parameters
    ----------
    data : bytes
    key : bytes or str
        Accept only bytes that are signed with this key. If omitted, ``UFUNC_MAGIC_KEY``.
    rebuild : {"never", "missing"}
        What to do with code for another machine: raise an error, or compile the source that it includes.

    Raises
    ------
    TypeError
        If ``data`` is not bytes.
    TargetError
        If the code cannot run here, was altered, or lacks a valid signature.
    UfuncMagicError
        With ``rebuild="missing"``, any error that compiling raises.
    """
    if rebuild not in ("never", "missing"):
        raise OptionError(f"rebuild={rebuild!r} is not a valid choice.", remedy="Use 'never' or 'missing'.")
    payload: object = data
    if isinstance(payload, str | int):  # bytes() would make something of the one, and zeros of the other
        raise TypeError(f"loads() takes the bytes that dumps() returned, not {type(payload).__name__}")
    if rebuild == "never":
        return serialize.loads(data, key=key)
    object_code, entry = unpack(bytes(data), key=runtime.choose_secret(key))
    try:
        return serialize.load_function(object_code, entry)
    except TargetError as fault:
        key_of_language = find_language_key(object_code.language)
        if not object_code.source or not key_of_language:
            origin = f"comes from {object_code.language}" if object_code.source else "does not include its source"
            raise TargetError(
                f"{fault.message} It {origin}, so it cannot be compiled here.",
                remedy="Compile it on a machine like this one.",
            ) from fault
        from .pipeline import build  # imports compilers

        options = make_options({k: v for k, v in object_code.options.items() if k != "arch"})
        result = build(object_code.source, language=key_of_language, options=options, name=object_code.name)
    return result[entry] if entry else result


def save_module(
    functions: Any, path: str | os.PathLike[str], *, force: bool = False, source_only: bool = False
) -> SavedModule:
    """Write functions of cells as a module that ``pip install`` takes, for other programs, machines and people.

    The folder has the cells' sources with their options, machine code for machines like this one, a loader, type
    stubs, ``pyproject.toml`` and a README.  Where the machine code fits, nothing is compiled; elsewhere the first
    import compiles the source.  Your headers and sources are copied along (``docs/object-code.md``).

    Parameters
    ----------
    functions : Build, function, sequence or mapping
        All of a Build, or functions and classes of one or several cells; a mapping gives them other names.
    path : str or path
        The folder to write; its last part is the name of the module.
    force : bool
        Replace the folder that an earlier call wrote.
    source_only : bool
        Write no machine code: every machine compiles.

    Returns
    -------
    SavedModule
        As text, and for functions that take a path, it is the folder; its repr shows how to install it.

    Raises
    ------
    SaveError
        If the name is invalid or taken, another program wrote the folder, or the cell needs files that stay here.
    UfuncMagicError
        If a cell has to be compiled again and that fails: Cython cells, and cells with your own files.

    Examples
    --------
    >>> b = um.compile_c("double twice(double x) { return 2*x; }")
    >>> um.save_module(b, "fastmath")
    ./fastmath: twice
    pip install ./fastmath
    """
    from .interop.python_package import save
    from .pipeline import build, list_files  # imports compilers

    return save(functions, path, force=force, source_only=source_only, compile_again=build, files_of=list_files)


def from_numba(function: Any) -> np.ufunc:
    """Make a ufunc from the object code of a Numba function.

    Parameters
    ----------
    function : numba dispatcher or DUFunc
        An ``@njit`` function with explicit or already compiled signatures, or an ``@vectorize`` function; numbers only.

    Returns
    -------
    numpy.ufunc
        Calling, pickling and loading it does not need Numba.  It raises the exceptions of the Numba function.

    Raises
    ------
    SignatureError
        If the function takes arrays, lists or other objects, or has no compiled signature yet.
    ToolchainError
        If Numba is not installed.
    """
    from .interop.numba import link_ufunc  # imports Numba

    return link_ufunc(function)


def verify(
    source: str,
    *,
    functions: Sequence[str] = (),
    language: str = "c",
    names: Mapping[str, Any] | None = None,
    name: str = "<source>",
    **options: Any,
) -> Verdict:
    """Compile a source, check its functions, and time them.

    Each function is compared with the same function in Python, or with ``ref``.  The code runs in copies of this
    process only, which compare and time it.  Then this process compares results of a copy: on inputs in an
    unpredictable order, at first and after many calls.  Code that changes NumPy, counts its calls or ends its process
    changes no verdict.  Code that attacks other processes of the same user needs a container.

    Parameters
    ----------
    source : str
    functions : sequence of str
        The functions that must be right; all that the source defines if omitted.
    language : str
        A key of the table of languages, ``"c"``, or the name of a dialect, ``"c++"``.
    names : mapping
        Names that ``ref`` and ``data`` use.  ``np`` and ``math`` are known.
    name : str
        What messages call the source.
    **options
        As of `compile_c` and its siblings.  ``ref`` is a Python function or an expression for one, ``"np.hypot"``, with
        the expected results; ``data`` has expressions for the inputs; ``time`` is 1 s if omitted.

    Returns
    -------
    Verdict
        Printable, with ``ok``, ``exit_status`` and ``to_json()``.

    Raises
    ------
    OptionError
        For an option that is wrong, and for a name in ``functions`` that the source does not define.

    Examples
    --------
    >>> um.verify("double twice(double x) { return x + x; }", ref="lambda x: 2 * x").status
    'right'
    >>> um.verify("double twice(double x) { return x * x; }", ref="lambda x: 2 * x").exit_status
    1
    """
    from . import pipeline  # imports compilers

    key = find_language_key(language)
    if not key:
        raise OptionError(f"language={language!r} is no language.", remedy=f"Use one of {', '.join(LANGUAGES)}.")
    dialect = {"cplus": True} if language == "c++" else {}
    chosen = make_options({"time": 1.0, **options, **dialect})
    return pipeline.verify(source, language=key, options=chosen, name=name, functions=functions, namespace=names or {})
