"""The one road from source to functions: key, cache, compile, load, bind; and from functions to a report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import cache, serialize
from .backends import Backend, c, cython
from .built import Build, assemble
from .built import held as built_before
from .errors import Diagnostic, OptionError, SignatureError
from .interop.whenimported import when_imported
from .objectcode import ObjectCode
from .options import Options, make_options, refuse
from .progress import Progress

if TYPE_CHECKING:
    from .compare.comparison import Comparison
    from .guard.sandbox import Sandbox
    from .progress import Bar, Surface
    from .report import Report

__all__ = ["Build", "build", "c_ufunc", "compile_c", "compile_cuda", "compile_cython", "report"]

Language = Literal["c", "cython", "cuda"]

#: Builds of this process by cache key, so that the same cell gives the same objects.
_built: dict[str, Build] = {}
_MOST_BUILDS = 256


def build(source: str, *, language: Language, options: Options, name: str) -> Build:
    """Make functions of ``source``, from this process's memory, the cache, or the compiler.

    Raises
    ------
    UfuncMagicError
        ParseError, SignatureError, CompileError, LinkError, ToolchainError, TargetError, CacheError.
    """
    refuse(options, language=language)
    made = _built_of(source.removeprefix("\ufeff"), _backend(language), options=options, name=name)
    when_imported("numba", _teach_numba)
    if language == "cuda":
        from . import device, nvrtc  # only cells of CUDA
        from .interop import numbacuda

        device.compile_with(nvrtc.cubin)
        numbacuda.attach(compile_cuda)
    return made


def _teach_numba() -> None:
    from .interop import numbaufunc  # typing and lowering: only for who has imported Numba

    numbaufunc.install()


def _built_of(source: str, backend: Backend, *, options: Options, name: str) -> Build:
    start = time.perf_counter()
    entry_key = backend.key(source, options=options)
    seconds = {"key": time.perf_counter() - start}
    held = None if options.force else _built.get(entry_key)
    if held is not None:
        return replace(held, cached=True, name=name, seconds=seconds, diagnostics=_renamed(held, name))

    store = cache.default()
    printed = ""
    start = time.perf_counter()
    entry = None if options.force else store.get(entry_key)
    if entry is not None:
        object_code = ObjectCode.from_parts(entry.record, entry.code)
        object_code.__dict__["code_digest"] = entry.digest  # the cache has just computed it
    else:
        object_code, printed = _compiled(source, backend, options=options, name=name, seconds=seconds)
        entry = store.publish(entry_key, record=object_code.header, code=object_code.code, replace=options.force)
        start = time.perf_counter()
    made = assemble(object_code, entry.library, name=name)
    serialize.adopt(made)
    seconds["load"] = time.perf_counter() - start
    made = replace(made, cached="compile" not in seconds, seconds=seconds, printed=printed)
    made = replace(made, diagnostics=_renamed(made, name))
    sandbox = object_code.__dict__.get("__ufm_sandbox")
    if sandbox and (price := _price(sandbox, measured=not made.cached)):
        made = replace(made, notes=(*made.notes, price))
    while len(_built) >= _MOST_BUILDS:
        _built.pop(next(iter(tuple(_built)), ""), None)  # other threads make room as well
    _built[entry_key] = made
    return made


def _price(sandbox: Sandbox, *, measured: bool) -> str:
    """What each call of a sandboxed function costs beside the function; remembered, since a hit starts no process."""
    store, fact = cache.default(), "sandbox 2"
    text = store.recall(fact)
    if measured:
        taken = []
        for _ in range(20):
            start = time.perf_counter()
            sandbox.ping()
            taken.append(time.perf_counter() - start)
        text = f"{sorted(taken)[len(taken) // 2] * 1e6:.0f}"
        store.remember(fact, text)
    if not text:
        return ""
    return f"--sandbox: every call goes to another process and back, {text} us here, and its operands are copied."


def _compiled(
    source: str, backend: Backend, *, options: Options, name: str, seconds: dict[str, float]
) -> tuple[ObjectCode, str]:
    """Compile, and try the new code out in the helper process before anything is stored or bound."""
    from .guard import process, trial  # only who compiles needs them

    start = time.perf_counter()
    guarded = options.guard and process.available()
    if guarded:
        trial.begin()
    store = cache.default()
    with store.scratch() as folder:
        object_code = backend.compile(source, options=options, name=name, folder=folder)
        object_code = replace(object_code, options=options.changed())
    seconds["compile"] = time.perf_counter() - start
    if not guarded:
        why = "--no-guard" if not options.guard else "this system cannot fork a process for it"
        ends = "its sandbox" if options.sandbox else "Python"
        note = f"not tried out first ({why}): a crash would end {ends}."
        return replace(object_code, notes=(*object_code.notes, note)), ""

    def again(more: Sequence[str]) -> ObjectCode:
        arguments = replace(options, compile_args=(*options.compile_args, *more))
        with store.scratch() as folder:
            return backend.compile(source, options=arguments, name=name, folder=folder)

    start = time.perf_counter()
    tried = trial.tried(object_code, again=again, sanitize=options.sanitize, lenient=options.sandbox)
    seconds["guard"] = time.perf_counter() - start
    return tried.object_code, tried.printed


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
    made = make_options(options)
    return build(source, language="c", options=made, name=made.name or "<c>")


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
    made = make_options(options)
    return build(source, language="cython", options=made, name=made.name or "<cython>")


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
        For ``device="gpu"`` where there is none.
    UfuncMagicError
        As `build`.
    """
    made = make_options(options)
    return build(source, language="cuda", options=made, name=made.name or "<cuda>")


def from_numba(function: Any) -> np.ufunc:
    """The ufunc of `ufunc_magic.from_numba`."""
    from .interop.numbacode import object_code  # Numba: only who has such a function

    store = cache.default()
    with store.scratch() as folder:
        made = object_code(function, folder=folder)
        held = built_before(made)
        if held is None:
            entry = store.publish(cache.key(["numba", made.digest]), record=made.header, code=made.code)
            held = assemble(made, entry.library, name=made.name)
    ufuncs: list[np.ufunc] = [f for f in held.values() if isinstance(f, np.ufunc)]
    return ufuncs[0]


def c_ufunc(source: str, **options: Any) -> np.ufunc:
    """The one function of ``source`` as a ufunc.

    >>> double = c_ufunc("double f(double a) { return 2*a; }")

    Raises
    ------
    SignatureError
        If the source defines several functions, or one that cannot be a ufunc.
    """
    made = compile_c(source, **options)
    ufuncs = [f for f in made.values() if isinstance(f, np.ufunc)]
    if len(ufuncs) != 1 or len(made) != 1:
        plain = next((f for f in made.object_code.functions if f.kind == "plain"), None)
        if plain and len(made) <= 1:
            raise SignatureError(f"{plain.name} cannot be a ufunc: {plain.reason}.", remedy="Or use compile_c().")
        raise SignatureError(
            f"The source defines {len(made)} functions ({', '.join(made)}), c_ufunc() wants one.",
            remedy="Use compile_c(), or make the others static.",
        )
    return ufuncs[0]


def report(
    built: Build,
    *,
    options: Options,
    namespace: Mapping[str, Any] | None = None,
    surface: Surface | None = None,
) -> Report:
    """Verify and time what was built.

    Parameters
    ----------
    built : Build
    options : Options
        ``time``, ``size``, ``ref``, ``vs``, ``sizes``, ``show`` and ``annotate`` are looked at.
    namespace : mapping
        Where the names of ``ref`` are looked up, besides ``np`` and ``math``.
    surface : ufunc_magic.progress.Surface
        Where it is shown how far a longer measurement is.

    Returns
    -------
    ufunc_magic.report.Report

    Raises
    ------
    OptionError
        If ``ref`` cannot be evaluated to a callable.
    """
    from .compare import timing  # the clock, sample inputs and tables: not for who only compiles

    with Progress(surface or _Nowhere(), time.perf_counter) as told:
        made = timing.report(
            built, options=options, names=namespace or {}, compile_cython=_rival_of_cython, progress=told
        )
    of_cython = built.object_code.language == "cython"
    wanted = (*filter(None, options.show.split(",")), *["annotate"] * (options.annotate and not of_cython))
    if wanted:
        made = replace(made, views=_views(built, wanted, options=options))
    if not (options.annotate and built.object_code.annotated):
        return made
    from .backends.cython.annotate import Annotated

    return replace(made, annotated=Annotated.from_json(built.object_code.annotated))


def compared(line: str, *, names: Mapping[str, Any], surface: Surface | None = None) -> Comparison | str:
    """What a line of ``%ufunc_compare`` asks for, or its help.

    Raises
    ------
    OptionError, ComparisonError
        If the line cannot be read, or a function fails on the arguments.
    """
    from .compare.line import HELP, compare_line, parse_line

    parsed = parse_line(line)
    if parsed.help:
        return HELP
    with Progress(surface or _Nowhere(), time.perf_counter) as told:
        made = compare_line(parsed, names=names, progress=told)
    if parsed.plot:
        made.plot()
    return made


class _Nowhere:
    """A surface that shows nothing."""

    def show(self, bar: Bar) -> None: ...

    def clear(self) -> None: ...


def _rival_of_cython(source: str) -> Mapping[str, Any]:
    return compile_cython(source, guard=False)


def _views(built: Build, wanted: Sequence[str], *, options: Options) -> tuple[Any, ...]:
    """Other ways of looking at the cell, from one further compilation."""
    from . import show

    code = built.object_code
    backend = _backend("cuda" if code.language == "cuda" else "cython" if code.language == "cython" else "c")
    with cache.default().scratch() as folder:

        def again(more: Sequence[str]) -> ObjectCode:
            asked = replace(options, compile_args=(*options.compile_args, *more))
            # By the name it was compiled under: its lines are found by it.
            return backend.compile(code.source, options=asked, name=code.name, folder=folder)

        views = show.views(code, wanted, again=again, folder=folder)  # type: ignore[arg-type]
    return tuple(replace(view, name=built.name) for view in views)  # type: ignore[type-var]


def _backend(language: Language) -> Backend:
    match language:
        case "c":
            return c
        case "cython":
            return cython
        case "cuda":
            from .backends import cuda  # with what runs on a GPU: a third of the import time of this module

            return cuda
    raise OptionError(f"language={language!r} is not known.", remedy="Use 'c', 'cython' or 'cuda'.")


def _renamed(made: Build, name: str) -> tuple[Diagnostic, ...]:
    """The stored diagnostics under the name that the cell has now."""
    was = made.object_code.name
    return tuple(replace(d, file=name) if d.file == was else d for d in made.object_code.diagnostics)
