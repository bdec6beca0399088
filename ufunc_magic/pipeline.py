"""The one road from source to functions: key, cache, compile, load, bind; and from functions to a report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import runtime, store
from .frontends import Backend, c, cython
from .interop import when_imported
from .model import Diagnostic, ObjectCode, OptionError, Options, make_options, refuse
from .render import Progress
from .runtime import Build, assemble, held as built_before

if TYPE_CHECKING:
    from .render import Report, Surface, View

__all__ = ["Build", "build", "report"]

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
        from .interop import numba_cuda
        from .runtime import device
        from .toolchain import nvrtc  # only cells of CUDA

        device.compile_with(nvrtc.cubin)
        numba_cuda.attach(_compile_cuda)
    return made


def _teach_numba() -> None:
    from .interop import numba  # typing and lowering: only for who has imported Numba

    numba.install()


def _built_of(source: str, backend: Backend, *, options: Options, name: str) -> Build:
    start = time.perf_counter()
    entry_key = backend.key(source, options=options)
    seconds = {"key": time.perf_counter() - start}
    held = None if options.force else _built.get(entry_key)
    if held is not None:
        return replace(held, cached=True, name=name, seconds=seconds, diagnostics=_renamed(held, name))

    cache = store.default()
    printed = ""
    start = time.perf_counter()
    entry = None if options.force else cache.get(entry_key)
    if entry is not None:
        object_code = ObjectCode.from_parts(entry.record, entry.code)
        object_code.__dict__["code_digest"] = entry.digest  # the cache has just computed it
    else:
        object_code, printed = _compiled(source, backend, options=options, name=name, seconds=seconds)
        entry = cache.publish(entry_key, record=object_code.header, code=object_code.code, replace=options.force)
        start = time.perf_counter()
    made = assemble(object_code, entry.library, name=name)
    runtime.adopt(made)
    seconds["load"] = time.perf_counter() - start
    made = replace(made, cached="compile" not in seconds, seconds=seconds, printed=printed)
    made = replace(made, diagnostics=_renamed(made, name))
    sandbox = object_code.__dict__.get("__ufm_sandbox")
    if sandbox:
        from . import guard  # only cells with --sandbox

        made = replace(made, notes=(*made.notes, *filter(None, [guard.price(sandbox, measure=not made.cached)])))
    while len(_built) >= _MOST_BUILDS:
        _built.pop(next(iter(tuple(_built)), ""), None)  # other threads make room as well
    _built[entry_key] = made
    return made


def _compiled(
    source: str, backend: Backend, *, options: Options, name: str, seconds: dict[str, float]
) -> tuple[ObjectCode, str]:
    """Compile, and try the new code out in the helper process before anything is stored or bound."""
    from . import guard  # only who compiles needs them

    start = time.perf_counter()
    guarded = options.guard and guard.available()
    if guarded:
        guard.begin()
    cache = store.default()
    with cache.scratch() as folder:
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
        with cache.scratch() as folder:
            return backend.compile(source, options=arguments, name=name, folder=folder)

    start = time.perf_counter()
    tried = guard.try_out(object_code, again=again, sanitize=options.sanitize, lenient=options.sandbox)
    seconds["guard"] = time.perf_counter() - start
    return tried


def from_numba(function: Any) -> np.ufunc:
    """The ufunc of `ufunc_magic.from_numba`."""
    from .interop.numba import object_code  # Numba: only who has such a function

    cache = store.default()
    with cache.scratch() as folder:
        made = object_code(function, folder=folder)
        held = built_before(made)
        if held is None:
            entry = cache.publish(store.key(["numba", made.digest]), record=made.header, code=made.code)
            held = assemble(made, entry.library, name=made.name)
    ufuncs: list[np.ufunc] = [f for f in held.values() if isinstance(f, np.ufunc)]
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
    surface : ufunc_magic.render.progress.Surface
        Where it is shown how far a longer measurement is.

    Returns
    -------
    ufunc_magic.render.report.Report

    Raises
    ------
    OptionError
        If ``ref`` cannot be evaluated to a callable.
    """
    from . import bench  # the clock, sample inputs and tables: not for who only compiles

    with Progress(surface, time.perf_counter) as progress:
        result = bench.report(
            built, options=options, names=namespace or {}, compile_cython=_rival_of_cython, progress=progress
        )
    object_code = built.object_code
    names = list(filter(None, options.show.split(",")))
    annotated = None
    if options.annotate and object_code.language != "cython":
        names.append("annotate")
    elif options.annotate and object_code.annotated:
        from .frontends.cython import Annotated

        annotated = Annotated.from_json(object_code.annotated)
    return replace(result, annotated=annotated, views=_views(built, names, options=options) if names else ())


def _compile_cuda(source: str, **options: Any) -> Build:
    chosen = make_options(options)
    return build(source, language="cuda", options=chosen, name=chosen.name or "<cuda>")


def _rival_of_cython(source: str) -> Mapping[str, Any]:
    return build(source, language="cython", options=make_options({"guard": False}), name="<cython>")


def _views(built: Build, names: Sequence[str], *, options: Options) -> tuple[View, ...]:
    """Other ways of looking at the cell, from one further compilation."""
    from . import render

    code = built.object_code
    backend = _backend("cuda" if code.language == "cuda" else "cython" if code.language == "cython" else "c")
    with store.default().scratch() as folder:

        def again(more: Sequence[str]) -> ObjectCode:
            asked = replace(options, compile_args=(*options.compile_args, *more))
            # By the name it was compiled under: its lines are found by it.
            return backend.compile(code.source, options=asked, name=code.name, folder=folder)

        views = render.views(code, names, again=again, folder=folder)  # type: ignore[arg-type]
    return tuple(replace(view, name=built.name) for view in views)  # type: ignore[type-var]


def _backend(language: Language) -> Backend:
    match language:
        case "c":
            return c
        case "cython":
            return cython
        case "cuda":
            from .frontends import cuda  # with what runs on a GPU: a third of the import time of this module

            return cuda
    raise OptionError(f"language={language!r} is not known.", remedy="Use 'c', 'cython' or 'cuda'.")


def _renamed(made: Build, name: str) -> tuple[Diagnostic, ...]:
    """The stored diagnostics under the name that the cell has now."""
    was = made.object_code.name
    return tuple(replace(d, file=name) if d.file == was else d for d in made.object_code.diagnostics)
