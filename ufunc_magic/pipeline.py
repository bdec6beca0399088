"""The one road from source to functions: key, cache, compile, load, bind; and from functions to a report."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import cells, runtime, store
from .cells import Backend
from .languages import c, cython
from .model import (
    CellCrashed,
    CellPlace,
    Comfort,
    CompiledCell,
    LinkError,
    ObjectCode,
    OptionError,
    Options,
    ParseError,
    ToolchainError,
    UfuncMagicError,
    line_mark,
    make_options,
    refuse,
    with_contract,
)
from .render import Progress
from .runtime import Build
from .serialize import load

if TYPE_CHECKING:
    from pathlib import Path

    from .render import Report, View

Language = Literal["c", "cython", "cuda"]

#: Builds of this process by cache key, so that the same cell gives the same objects.
_builds: dict[str, Build] = {}
_MOST_BUILDS = 256
#: A program has one.
_MAIN = re.compile(r"^\s*(?:int|void|auto)\s+main\s*\(", re.MULTILINE)
_SANDBOX_NOTE = "--sandbox: every call runs in another process, on copies of its operands."

#: Strings, and names with marks of their own behind letters, as macOS writes ``a`` and a diaeresis.
_DECOMPOSED = re.compile(r'"(?:\\.|[^"\\\n])*"|[^\W\d]\w*(?:[\u0300-\u036f]+\w*)+')


def _readable(source: str, *, language: Language, name: str) -> str:
    """The source without a byte order mark, and its names in the form that Python looks names up in; strings stay.

    Raises
    ------
    ParseError
        For half a character.
    """
    source = source.removeprefix("\ufeff")
    if half := re.search("[\ud800-\udfff]", source):
        line = line_mark(source.count("\n", 0, half.start()) + 1)
        raise ParseError(
            f"{name}:{line}: {half[0]!r} is half of a surrogate pair.",
            remedy="Write the whole character, or an escape sequence.",
        )
    if source.isascii() or language == "cython":  # which does so itself
        return source
    return _DECOMPOSED.sub(lambda m: m[0] if m[0][0] == '"' else unicodedata.normalize("NFC", m[0]), source)


def build(
    source: str,
    *,
    language: Language,
    options: Options,
    name: str,
    first_line: int = 1,
    doing: Callable[[str], object] = str,
) -> Build:
    """Turn ``source`` into functions: from this process's memory, from the cache, or with the compiler.

    Parameters
    ----------
    source : str
    language : {"c", "cython", "cuda"}
    options : Options
    name : str
        What messages call the source.
    first_line : int
        The number that messages give its first line: 2 for a cell below its magic.
    doing : callable
        Is told what begins after compiling: ``"trying out"``, ``"loading"``.

    Raises
    ------
    UfuncMagicError
        ParseError, SignatureError, CompileError, LinkError, ToolchainError, TargetError, CacheError.
    """
    refuse(options, language=language)
    if language == "cuda":
        _attach_cuda()
    source = _readable(source, language=language, name=name)
    front_end = _front_end(language)
    seconds: dict[str, float] = {}
    with _timed(seconds, "key"):
        key = front_end.key(source, options=options)
    with runtime.lock_of(f"build {key}"):  # of threads that have the same cell one compiles
        cache, place = store.default(), CellPlace(name, first_line)
        known = None if options.force else _builds.get(key)
        if known is not None:
            return _standing_at(replace(known, cached=True, seconds=seconds), place)

        # What is made first is for CPUs like this one; the portable object stands under the key itself.
        first, printed = store.key([key, "this CPU", *runtime.cpu_features()]), ""
        with _timed(seconds, "load"):
            entry = None if options.force else cache.get(key) or cache.get(first)
            stored = cells.stored_cell(entry) if entry else None
            if stored and _needs_a_gpu(stored, options):
                stored = None
        if entry is None or stored is None:
            from . import guard  # only who compiles needs it

            del seconds["load"]  # it comes after compiling
            guarded = options.guard and guard.available()
            with _timed(seconds, "compile"), cache.scratch() as folder:
                if guarded:
                    guard.begin()
                compile_first = partial(c.compile, this_cpu=True) if front_end is c else front_end.compile
                cell = compile_first(source, options=options, name=name, folder=folder)
            object_code = replace(cell.object_code, options=options.changed(), first_line=first_line)
            cell = replace(cell, object_code=object_code)
            if guarded:
                doing("trying out")
                with _timed(seconds, "guard"):
                    cell, printed = _tried_out(cell, front_end, source, options=options, name=name)
            else:
                cell = cell.noted(guard.untried(options))
            # Last, for who tries it out may leave functions out.
            cell = replace(cell, object_code=with_contract(cell.object_code))
            address = first if cells.is_first(cell.object_code) else key
            record, code = cell.to_record(), cell.object_code.code
            entry = cache.publish(address, record=record, code=code, replace=options.force or entry is not None)
        else:
            cell = stored

        doing("loading")
        with _timed(seconds, "load"):
            loaded = _loaded(cell, entry.library, place=place)
        if cells.is_first(cell.object_code):
            loaded.loaded.complete = cells.Portable(key, front_end, cell, options)
        result = replace(
            loaded,
            cached="compile" not in seconds,
            seconds=seconds,
            printed=printed,
            reporter=_report,
            diagnostics=cell.report_data.renamed(cell.object_code.name, name),
            notes=(*loaded.notes, *[_SANDBOX_NOTE] * bool(loaded.loaded.sandbox)),
        )
        while len(_builds) >= _MOST_BUILDS:
            _builds.pop(next(iter(tuple(_builds)), ""), None)  # other threads make room as well
        _builds[key] = result
        return result


def _needs_a_gpu(cell: CompiledCell, options: Options) -> bool:
    """Whether it was kept when there was a GPU, which alone runs it, and there is none now."""
    if cell.object_code.language != "cuda" or cell.object_code.code or options.device == "gpu":
        return False
    from .languages.cuda import device

    return not device.available()


def _tried_out(
    cell: CompiledCell, front_end: Backend, source: str, *, options: Options, name: str
) -> tuple[CompiledCell, str]:
    """What `guard.try_out` makes of a cell, and what the cell's functions have printed there."""
    from . import guard

    def again(more: Sequence[str]) -> CompiledCell:
        with store.default().scratch() as folder:
            return _compiled(front_end, source, options=options, more=more, name=name, folder=folder)

    return guard.try_out(cell, again=again, sanitize=options.sanitize, lenient=options.sandbox)


def build_source(source: str, *, language: Language, keywords: Mapping[str, Any]) -> Build:
    """`build` for the API: a source outside a notebook, with keyword options."""
    options = make_options(keywords)
    name = options.name or f"<{language}>"
    result = build(source, language=language, options=options, name=name)
    if options.run_main:
        status = run_main(source, options=options, name=name, show=sys.stdout.write)
        sys.stderr.write(f"main() returned {status}.\n" if status else "")
    return result


def run_main(source: str, *, options: Options, name: str, show: Callable[[str], object]) -> int:
    """Run the ``main()`` of a CUDA cell in another process, and return its exit status.

    Parameters
    ----------
    options : Options
        ``run_main`` holds the arguments of the program.
    show : callable
        Gets the output while the program runs.

    Raises
    ------
    CellCrashed
        If a signal ended the program.
    OptionError, CompileError, LinkError, ToolchainError
        If the cell has no ``main()``, or cannot be emulated.
    """
    from .languages import cuda

    cache = store.default()
    key = store.key([cuda.key(source, options=options), "main"])
    entry = None if options.force else cache.get(key)
    if entry is None:
        with cache.scratch() as folder:
            library = cuda.compile_program(source, options=options, name=name, folder=folder)
            entry = cache.publish(key, record=b"", code=library.read_bytes(), replace=options.force)
    status = cuda.run_program(entry.library, shlex.split(options.run_main), show=show)
    if status < 0:
        raise CellCrashed(
            f"main() of {name} was ended by {signal.Signals(-status).name}.",
            remedy="Launch its kernels from Python with --sanitize, which finds out-of-bounds accesses."
            if -status in (signal.SIGSEGV, signal.SIGBUS)
            else "",
        )
    return status


def _standing_at(built: Build, place: CellPlace) -> Build:
    """The same functions for another cell, or the same one run again: with its name and its lines."""
    runtime.set_place(built.loaded.object_code, place)
    marked = built.report_data.all_notes
    return replace(
        built,
        name=place.name,
        first_line=place.first_line,
        diagnostics=built.report_data.renamed(built.loaded.object_code.name, place.name),
        notes=(*map(place.text, marked), *built.notes[len(marked) :]),
    )


def _report(built: Build, keywords: Mapping[str, Any]) -> Report:
    return report(built, options=make_options(keywords))


@contextlib.contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time that the block takes to ``step``."""
    start = time.perf_counter()
    yield
    seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - start


def _compiled(
    front_end: Backend, source: str, *, options: Options, more: Sequence[str], name: str, folder: Path
) -> CompiledCell:
    """The same cell compiled with more arguments for the compiler."""
    arguments = replace(options, compile_args=(*options.compile_args, *more))
    return front_end.compile(source, options=arguments, name=name, folder=folder)


def _loaded(cell: CompiledCell, library: Path, *, place: CellPlace) -> Build:
    try:
        with runtime.opening(cell.object_code):
            result = load(cell.object_code, library, place=place, report_data=cell.report_data)
            runtime.adopt(result)
    except LinkError as fault:
        from .compilers import read_linker  # only a cell that fails needs it

        fault.diagnostics = read_linker(fault.output, name=place.name, cell=cell.object_code.source)
        fault.remedy = "" if fault.diagnostics else fault.remedy
        raise
    return result


def _attach_cuda() -> None:
    """Hand the compiler to the GPU room, and the functions of cells to Numba's kernels once Numba is imported."""
    from .languages.cuda import (
        device,
        numba_cuda,
        nvrtc,  # only cells of CUDA
    )

    device.compile_with(nvrtc.cubin)
    numba_cuda.attach()


def _compile_cython(source: str) -> Build:
    return build_source(source, language="cython", keywords={"guard": False})


def from_numba(function: Any) -> np.ufunc:
    """The ufunc of `ufunc_magic.from_numba`."""
    from .interop.numba import object_code  # Numba: only who has such a function

    cache = store.default()
    with cache.scratch() as folder:
        compiled = object_code(function, folder=folder)
        with runtime.opening(compiled):
            result = runtime.loaded(compiled)
            if result is None:
                entry = cache.publish(store.key(["numba", compiled.digest]), record=compiled.header, code=compiled.code)
                result = load(compiled, entry.library)
    ufuncs: list[np.ufunc] = [f for f in result.values() if isinstance(f, np.ufunc)]
    return ufuncs[0]


def report(
    built: Build,
    *,
    options: Options,
    namespace: Mapping[str, Any] | None = None,
    line: Progress | None = None,
    without: Collection[str] = (),
) -> Report:
    """Verify and time what was built.

    Parameters
    ----------
    built : Build
    options : Options
        Uses ``time``, ``size``, ``data``, ``ref``, ``vs``, ``sizes``, ``show`` and ``annotate``.
    namespace : mapping
        Where the names of ``ref`` are looked up, besides ``np`` and ``math``.
    line : Progress
        Shows the progress of a longer measurement.
    without : collection of str
        Functions to leave out, because the notebook did not bind them.

    Returns
    -------
    ufunc_magic.render.report.Report

    Raises
    ------
    OptionError
        If ``ref`` cannot be evaluated to a callable.
    """
    from . import bench, render  # the clock, sample inputs and tables: not for who only compiles

    notes: list[str] = []
    result = render.Report(
        built.name,
        others=tuple(built),
        diagnostics=built.diagnostics,
        notes=built.notes,
        first_line=built.first_line,
    )
    with (
        Comfort("the rest of the report", notes, passing=UfuncMagicError),
        line or progress(None) as shown,
    ):
        result = bench.report(
            built,
            options=options,
            names=namespace or {},
            compile_cython=_compile_cython,
            progress=shown,
            without=without,
        )
    object_code, annotation = built.loaded.object_code, built.report_data.annotated
    if object_code.language == "cuda" and not options.run_main and _MAIN.search(object_code.source):
        notes.append("main() does not run: --run-main runs it in the emulation")
    names = list(filter(None, options.show.split(",")))
    views: tuple[Any, ...] = ()
    if options.annotate and object_code.language != "cython":
        names.append("annotate")
    elif options.annotate and annotation:
        from .languages.cython import Annotated

        with Comfort("the annotated source", notes):
            views = (Annotated.from_json(annotation).standing(built.place),)
    if names:
        with Comfort(f"what --show={','.join(names)} shows", notes, passing=UfuncMagicError):
            views += _views(built, names, options=options)
    return replace(result, views=views, notes=(*result.notes, *notes))


def progress(display: Callable[..., Any] | None) -> Progress:
    """A progress line that is shown with IPython's ``display``."""
    return Progress(display, time.perf_counter)


def _views(built: Build, names: Sequence[str], *, options: Options) -> tuple[View, ...]:
    """The views that ``--show`` asks for, from one further compilation."""
    from . import compilers, render

    code = built.loaded.object_code
    if code.language == "cython":
        # With line numbers the copies that its loops call are not made: what would be shown is not what runs.
        raise OptionError(
            "--show works in C and CUDA cells only.", remedy="Use -a, which shows the C code of each line."
        )
    if "ptx" in names:
        names = [name for name in names if name != "ptx"]
        return (*(_views(built, names, options=options) if names else ()), _ptx(code, place=built.place))
    if not code.code:
        raise OptionError(
            f"{code.name} is for the GPU alone, and has no code for the CPU to show.", remedy="Use --show ptx."
        )
    front_end = _front_end("cuda" if code.language == "cuda" else "c")
    with store.default().scratch() as folder:

        def again(more: Sequence[str]) -> CompiledCell:
            # By the name it was compiled under: its lines are known by it.
            return _compiled(front_end, code.source, options=options, more=more, name=code.name, folder=folder)

        texts = compilers.texts_of(folder, cplus=code.language == "c++", compile_again=again)
    cell = CompiledCell(code, built.report_data)
    return render.views(cell, names, texts, place=built.place)  # type: ignore[arg-type]


def _ptx(code: ObjectCode, *, place: CellPlace) -> View:
    """What NVRTC makes of a CUDA cell for the GPU that is here, else for the oldest that it knows."""
    from . import render
    from .languages.cuda import device, nvrtc

    compiler = nvrtc.find()
    if compiler is None:
        raise ToolchainError(nvrtc.reason(), remedy="Remove --show ptx.")
    arch = device.arch().replace("sm", "compute") if device.available() else nvrtc.architecture(compiler)
    unit = device.unit(device.cell(code), code.name, "")
    compiled = nvrtc.compile(unit, name=code.name, cell=code.source, arch=arch, options=nvrtc.flags(code.options))
    return render.ptx(compiled.text, place=place, toolchain=f"{compiler}, {arch}")


def _front_end(language: Language) -> Backend:
    match language:
        case "c":
            return c
        case "cython":
            return cython
        case "cuda":
            from .languages import cuda  # with what runs on a GPU: a third of the import time of this module

            return cuda
    raise OptionError(f"language={language!r} is not supported.", remedy="Use 'c', 'cython' or 'cuda'.")
