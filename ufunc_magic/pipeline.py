"""The way from source to functions (key, cache, compile, try out, load), and from functions to a report."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from . import runtime, shortcuts, store
from .cells import Language
from .languages import find_language, get_language as language_named
from .model import (
    UNTRIED,
    CellCrashed,
    CellExited,
    CellFunction,
    CellPlace,
    Comfort,
    CompiledCell,
    LinkError,
    ObjectCode,
    OptionError,
    Options,
    ParseError,
    UfuncMagicError,
    add_contract,
    find_language_key,
    make_options,
    mark_line,
    own_views,
    refuse,
    take_options,
)
from .render import Progress
from .runtime import Build
from .serialize import load

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from .bench import Verdict
    from .compilers import CompilerTexts
    from .model import OptionKeywords
    from .render import Report, View

Known = TypeVar("Known", CompiledCell, Build)
#: Builds of this process by cache key, with the files of each, so that the same cell gives the same objects.
BUILDS: dict[str, tuple[store.Inputs, Build]] = {}
MOST_BUILDS = 256
#: Options of `CompiledBuild.report`.
REPORT_OPTIONS = tuple("time size core data ref vs sizes plot show annotate verbose".split())
#: Seconds that a copy of the process may take to verify a source, and for each second of ``time``.
VERIFYING, VERIFYING_EACH = 60.0, 20.0
_SANDBOX_NOTE = "--sandbox: every call runs in another process, on copies of its operands."


def _clean_source(source: str, *, language: Language, name: str) -> str:
    """The source without a byte order mark, and with its names in the form in which Python looks names up.

    Raises
    ------
    ParseError
        For half of a surrogate pair.
    """
    source = source.removeprefix("\ufeff")
    if half := re.search("[\ud800-\udfff]", source):
        line = mark_line(source.count("\n", 0, half.start()) + 1)
        raise ParseError(
            f"{name}:{line}: {half[0]!r} is half of a surrogate pair.",
            remedy="Write the whole character, or an escape sequence.",
        )
    return source if source.isascii() else language.compose(source)


def build(
    source: str,
    *,
    language: str,
    options: Options,
    name: str,
    first_line: int = 1,
    doing: Callable[[str], object] = str,
    names: Mapping[str, Any] | None = None,
) -> Build:
    """Turn ``source`` into functions: from this process's memory, from the cache, or with the compiler.

    Parameters
    ----------
    source : str
    language : str
        A key of `ufunc_magic.model.LANGUAGES`.
    options : Options
    name : str
        What messages call the source.
    first_line : int
        The number that messages give its first line: 2 for a cell below its magic.
    doing : callable
        Called with the name of each step after compilation: ``"trying out"``, ``"loading"``.
    names : mapping
        Where the names of ``--data`` are looked up: new functions are tried on these values.

    Raises
    ------
    UfuncMagicError
        ParseError, SignatureError, CompileError, LinkError, ToolchainError, TargetError, CacheError.
    """
    chosen = language_named(language)
    refuse(options, language=language)
    chosen.prepare()
    source = _clean_source(source, language=chosen, name=name)
    seconds: dict[str, float] = {}
    with _time_step(seconds, "key"):
        key = _make_key(chosen, source, options=options)
    with runtime.lock_of(f"build {key}"):  # one of several threads with the same cell compiles
        place = CellPlace(name, first_line)
        if not options.force and (known := _keep_usable(_recall_build(key, place), options)):
            return _drop_untried_notes(_place_build(replace(known, cached=True, seconds=seconds), place))
        cell = _obtain(chosen, source, key, options=options, place=place, doing=doing, names=names, seconds=seconds)
        doing("loading")
        with _time_step(seconds, "load"):
            loaded = _load(cell.cell, cell.library, place=place)
        object_code = cell.cell.object_code
        if shortcuts.is_first(object_code):
            loaded.loaded.complete = shortcuts.Portable(key, chosen.compile, cell.cell, options)
        result = replace(
            loaded,
            cached="compile" not in seconds,
            seconds=seconds,
            printed=cell.printed,
            diagnostics=cell.cell.report_data.rename_diagnostics(object_code.name, name),
            notes=(*loaded.notes, *[_SANDBOX_NOTE] * bool(loaded.loaded.sandbox)),
        )
        _remember_build(key, cell.inputs, result)
        return _drop_untried_notes(result)


def compile_cell(source: str, *, language: str, options: Options, name: str) -> CompiledCell:
    """Compile a source, try it out in another process and store it, as `build` does; nothing is loaded here.

    Raises
    ------
    UfuncMagicError
        As `build`.
    """
    chosen = language_named(language)
    refuse(options, language=language)
    chosen.prepare()
    source = _clean_source(source, language=chosen, name=name)
    key = _make_key(chosen, source, options=options)
    return _obtain(chosen, source, key, options=options, place=CellPlace(name), seconds={}).cell


@dataclass(frozen=True, eq=False)
class _StoredCell:
    """A cell that is in the cache: its library there, its files, and what its functions printed in the trial."""

    cell: CompiledCell
    library: Path | None
    inputs: store.Inputs | None
    printed: str = ""


def _obtain(
    language: Language,
    source: str,
    key: str,
    *,
    options: Options,
    place: CellPlace,
    seconds: dict[str, float],
    doing: Callable[[str], object] = str,
    names: Mapping[str, Any] | None = None,
) -> _StoredCell:
    """Find a cell in the cache, or compile it, describe the files that the compiler read, try it out and store it."""
    cache = store.open_default()
    # The first object is for CPUs like this one, and has a key of its own; the portable object has the cell's.
    first, printed, replaces = _make_first_key(key), "", options.force
    cell: CompiledCell | None = None
    inputs: store.Inputs | None = None
    with _time_step(seconds, "load"):
        if hit := None if options.force else cache.find(key) or cache.find(first):
            entry, inputs = hit
            cell, replaces = _keep_usable(shortcuts.read_stored_cell(entry), options), True
    if cell is None or not language.can_run(cell, options):
        from . import guard  # only new cells need it

        del seconds["load"]  # it comes after compiling
        for attempt in cache.try_in_scratch():
            with _time_step(seconds, "compile"), attempt as folder:
                since = store.find_creation_time(folder)
                if _is_guarded(options):
                    guard.begin()
                compile_first = language.compile if shortcuts.is_plain() else language.find_first_compiler()
                cell = compile_first(source, options=options, name=place.name, folder=folder)
                inputs = store.stamp_files(cell.files_read, since=since)
        assert cell is not None
        object_code = replace(cell.object_code, options=options.list_changes(), first_line=place.first_line)
        cell = replace(cell, object_code=object_code)
        cell = cell if _is_guarded(options) else cell.add_notes(guard.write_untried_note(options))
        if _is_guarded(options):
            doing("trying out")
            with _time_step(seconds, "guard"):
                cell, printed = _try_out(cell, language, source, options=options, name=place.name, names=names)
        # Last, because the trial may leave functions out.
        cell = replace(cell, object_code=add_contract(cell.object_code))
        address = first if shortcuts.is_first(cell.object_code) else key
        code, record = cell.object_code.code, cell.to_record()
        entry = cache.publish_inputs(address, inputs, record=record, code=code, replace=replaces)
    return _StoredCell(cell, entry.library, inputs, printed)


def _keep_usable(known: Known | None, options: Options) -> Known | None:
    """A known cell; None where it lacks functions that may work on the values of ``--data``."""
    return None if known is None or (options.data and known.report_data.refused) else known


def _is_guarded(options: Options) -> bool:
    from . import guard  # only new cells need it

    return options.guard and guard.is_available()


def _recall_build(key: str, place: CellPlace) -> Build | None:
    """The build of this process for ``key``, if its files are unchanged; opened again where its cell has variables."""
    inputs, result = BUILDS.get(key, (None, None))
    if inputs is None or result is None or not inputs.hold():
        return None
    if _may_keep_state(result):
        result = _open_again(result, place)
        BUILDS[key] = inputs, result
    return result


def _remember_build(key: str, inputs: store.Inputs | None, result: Build) -> None:
    """Keep a build for this process, in place of the oldest; not if its files are unknown."""
    while len(BUILDS) >= MOST_BUILDS:
        BUILDS.pop(next(iter(tuple(BUILDS)), ""), None)  # other threads may remove it, too
    if inputs:
        result.loaded.key = inputs.name(key)
        BUILDS[key] = inputs, result


def _may_keep_state(build: Build) -> bool:
    """Whether calls may have changed variables of the cell; a Cython module keeps its own, as with ``%%cython``.

    Variables on a device have a life of their own.
    """
    own = not build.loaded.module and not build.loaded.device
    return own and any(f.kind in ("ufunc", "plain") and not f.traceless for f in build.report_data.functions)


def _open_again(build: Build, place: CellPlace) -> Build:
    """The same code, opened once more: its variables have their first values."""
    opened = build.loaded
    again = _load(CompiledCell(opened.object_code, opened.report_data), None, place=place)
    again.loaded.complete = lambda: opened.portable_code
    return replace(build, loaded=again.loaded)


def _make_key(language: Language, source: str, *, options: Options) -> str:
    """The cell's key; results of shortcuts are cached apart from those of the plain road."""
    key = language.make_key(source, options=options)
    return store.make_key([key, "plain"]) if shortcuts.is_plain() else key


def _make_first_key(key: str) -> str:
    return store.make_key([key, "this CPU", *runtime.cpu_features()])


def list_files(source: str, *, language: str, options: Options, name: str) -> tuple[str, ...] | None:
    """The user's files that a cell is compiled with, from the cache's record, or from compiling it now.

    Returns
    -------
    tuple of str or None
        Absolute paths; None if some are unknown.

    Raises
    ------
    UfuncMagicError
        As `build`.
    """
    chosen, cache = language_named(language), store.open_default()
    key = _make_key(chosen, _clean_source(source, language=chosen, name=name), options=options)
    hit = cache.find(key) or cache.find(_make_first_key(key))
    if hit is None:
        build(source, language=language, options=options, name=name)
        hit = cache.find(key) or cache.find(_make_first_key(key))
    return hit[1].paths if hit else None


def _try_out(
    cell: CompiledCell,
    language: Language,
    source: str,
    *,
    options: Options,
    name: str,
    names: Mapping[str, Any] | None,
) -> tuple[CompiledCell, str]:
    """Try out a cell; return it with notes and without the functions that failed, and the output of its functions."""
    from . import guard

    def again(more: Sequence[str]) -> CompiledCell:
        with store.open_default().open_scratch() as folder:
            return _compile_with(language, source, options=options, more=more, name=name, folder=folder)

    data = None
    if options.data:
        from . import bench

        with contextlib.suppress(OptionError):  # the report raises it
            data = bench.read_data(options.data, names or {})
    return guard.try_out(cell, again=again, sanitize=options.sanitize, lenient=options.sandbox, data=data)


def build_source(source: str, *, language: str, keywords: Mapping[str, Any]) -> Build:
    """`build` for the API: a source outside a notebook, with keyword options."""
    options = make_options(keywords)
    name = options.name or f"<{language}>"
    result = build(source, language=language, options=options, name=name)
    if options.run_main:
        status = run_main(source, language=language, options=options, name=name, show=sys.stdout.write)
        sys.stderr.write(f"main() returned {status}.\n" if status else "")
    return result


def run_main(
    source: str,
    *,
    language: str,
    options: Options,
    name: str,
    show: Callable[[str], object],
    doing: Callable[[str], object] = str,
) -> int:
    """Run the ``main()`` of a cell in another process, and return its exit status.

    Parameters
    ----------
    options : Options
        ``run_main`` holds the arguments of the program.
    show : callable
        Gets the output while the program runs.
    doing : callable
        Called with the name of each step after compilation.

    Raises
    ------
    CellCrashed
        If a signal ended the program.
    OptionError, CompileError, LinkError, ToolchainError
        If the cell has no ``main()``, or cannot be emulated.
    """
    chosen = language_named(language)
    cache = store.open_default()
    key = store.make_key([chosen.make_key(source, options=options), "main"])
    hit = None if options.force else cache.find(key)
    if hit:
        entry, _ = hit
    else:
        for attempt in cache.try_in_scratch():
            with attempt as folder:
                since = store.find_creation_time(folder)
                library, read = chosen.compile_program(source, options=options, name=name, folder=folder)
                inputs, code = store.stamp_files(read, since=since), library.read_bytes()
                entry = cache.publish_inputs(key, inputs, record=b"", code=code, replace=options.force)
    doing("running main() of")
    status = chosen.run_program(entry.library, shlex.split(options.run_main), show=show)
    if status < 0:
        raise CellCrashed(
            f"main() of {name} was ended by {signal.Signals(-status).name}.",
            remedy="Run it with --sanitize, which finds out-of-bounds accesses."
            if -status in (signal.SIGSEGV, signal.SIGBUS) and not options.sanitize
            else "",
        )
    return status


def _place_build(built: Build, place: CellPlace) -> Build:
    """The same functions for another cell, or for the same cell run again: with its name and lines."""
    runtime.set_place(built.loaded.object_code, place)
    runtime.publish_module(built.loaded)
    marked = built.report_data.all_notes
    return replace(
        built,
        name=place.name,
        first_line=place.first_line,
        diagnostics=built.report_data.rename_diagnostics(built.loaded.object_code.name, place.name),
        notes=(*map(place.replace_marks, marked), *built.notes[len(marked) :]),
    )


def _drop_untried_notes(built: Build) -> Build:
    """A build from the cache without the notes on what was bound untried when it was compiled."""
    notes = [note for note in built.notes if not note.startswith(UNTRIED)]
    return replace(built, notes=tuple(notes)) if built.cached and len(notes) < len(built.notes) else built


@contextlib.contextmanager
def _time_step(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time that the block takes to ``step``."""
    start = time.perf_counter()
    yield
    seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - start


def _compile_with(
    language: Language, source: str, *, options: Options, more: Sequence[str], name: str, folder: Path
) -> CompiledCell:
    """The same cell compiled with more arguments for the compiler."""
    arguments = replace(options, compile_args=(*options.compile_args, *more))
    return language.compile(source, options=arguments, name=name, folder=folder)


class CompiledBuild(Build):
    """A Build that was compiled in this process, or found in the cache by its source: it can be verified and timed."""

    @take_options(REPORT_OPTIONS)
    def report(self, **options: Unpack[OptionKeywords]) -> Any:  # type: ignore[override]
        """Verify and time the functions: what a cell shows, as a value.

        Returns
        -------
        Report
            Printable, with ``comparisons``, ``inputs``, ``to_json()``.

        Examples
        --------
        >>> build = um.compile_c("double half(double x) { return x / 2; }")
        >>> report = build.report(size=1000)  # print(report) shows the table
        >>> report.ok, report.rows[0].label
        (True, 'Python loop')
        """
        for name in options.keys() - REPORT_OPTIONS:
            raise OptionError(
                f"{name!r} is not an option of a report.", remedy=f"Valid options: {', '.join(REPORT_OPTIONS)}."
            )
        return report(self, options=make_options(options))

    def _repr_html_(self) -> str | None:
        html: str | None = self.report(time=False)._repr_html_()
        return html


def _load(cell: CompiledCell, library: Path | None, *, place: CellPlace) -> CompiledBuild:
    try:
        with runtime.lock_code(cell.object_code):
            opened = load(cell.object_code, library, place=place, report_data=cell.report_data)
            result = CompiledBuild(opened.loaded, opened.name, notes=opened.notes, first_line=opened.first_line)
            runtime.adopt(result)
            runtime.share_classes(result)
            runtime.publish_module(result.loaded)
    except LinkError as fault:
        from .compilers import read_linker  # only for a cell that fails

        fault.diagnostics = read_linker(fault.output, name=place.name, cell=cell.object_code.source)
        fault.remedy = "" if fault.diagnostics else fault.remedy
        raise
    return result


def _compile_cython(source: str) -> Build:
    return build_source(source, language="cython", keywords={"guard": False})


def _compile_fast(object_code: ObjectCode) -> Build:
    """The same cell with ``--fast-math``."""
    keywords = {**object_code.options, "fast_math": True, "strict": False, "guard": False}
    return build_source(object_code.source, language=find_language_key(object_code.language), keywords=keywords)


def report(
    built: Build,
    *,
    options: Options,
    namespace: Mapping[str, Any] | None = None,
    line: Progress | None = None,
    without: Collection[str] = (),
    announced: set[str] | None = None,
) -> Report:
    """Verify and time what was built.

    Parameters
    ----------
    built : Build
    options : Options
        Uses ``time``, ``size``, ``core``, ``data``, ``ref``, ``vs``, ``sizes``, ``show`` and ``annotate``.
    namespace : mapping
        Where the names of ``ref`` are looked up, besides ``np`` and ``math``.
    line : Progress
        Shows the progress of a longer measurement.
    without : collection of str
        Functions to leave out, because the notebook did not bind them.
    announced : set of str
        The notices that this session has shown; new ones are added.  A session shows stored tables, too.

    Returns
    -------
    ufunc_magic.render.report.Report

    Raises
    ------
    OptionError
        If ``ref`` cannot be evaluated to a callable.
    """
    from . import bench, render  # not needed for compiling only

    notes, busy = list[str](), ""
    object_code, annotation = built.loaded.object_code, built.report_data.annotated
    language, cell = find_language(object_code), CompiledCell(object_code, built.report_data)
    loops = bench.LoopReports(
        cell,
        partial(_compile_for_texts, object_code),
        compile_fast=None if options.fast_math else partial(_compile_fast, object_code),
        readable=_can_be_shown(object_code),
    )
    result = render.Report(
        built.name,
        tuple(render.Bound(name, "other", call=name) for name in built),
        diagnostics=built.diagnostics,
        notes=built.notes,
        first_line=built.first_line,
    )
    with (
        Comfort("the rest of the report", notes, passing=UfuncMagicError),
        line or make_progress(None) as shown,
    ):
        result = bench.report(
            built,
            options=options,
            names=namespace or {},
            loops=loops,
            compile_cython=_compile_cython,
            progress=shown,
            without=without,
            stored=announced is not None,
        )
    with Comfort("what the session is told once", notes):
        busy = result.pressure if result.pressure and _take_new_notices(["busy machine"], announced) else ""
        notes += _take_new_notices(language.list_notices(object_code), announced)
    notes += language.list_notes(object_code, options)
    names, views = list(filter(None, options.show.split(","))), tuple[Any, ...]()
    if options.annotate and not language.annotates:
        names.append("annotate")
    elif options.annotate and annotation:
        with Comfort("the annotated source", notes):
            views = (language.view_annotation(annotation, built.place),)
    if names:
        with Comfort(f"what --show={','.join(names)} shows", notes, passing=UfuncMagicError):
            views += _make_views(built, names, loops.read_texts)
    return replace(result, views=views, notes=(*result.notes, *notes), pressure=busy)


def verify(
    source: str,
    *,
    language: str,
    options: Options,
    name: str,
    functions: Sequence[str] = (),
    namespace: Mapping[str, Any],
) -> Verdict:
    """Compile a source, and check its functions in copies of this process; see `ufunc_magic.verify`.

    Raises
    ------
    OptionError
    """
    from . import bench, guard

    # Before any of the code runs: it may change what an expression means.
    reference = bench.find_reference(options.ref, namespace) if options.ref else None
    try:
        cell = compile_cell(source, language=language, options=options, name=name)
    except OptionError:
        raise
    except (CellCrashed, CellExited) as fault:
        return bench.Verdict("crashes", str(fault))
    except UfuncMagicError as fault:
        return bench.Verdict("does not compile", str(fault))
    refused, codes = cell.report_data.refused, cell.report_data.functions
    chosen = list(functions) or [code.name for code in codes] + list(refused)
    apart = guard.can_copy() and find_language(cell.object_code).can_be_copied(cell.object_code)

    def call_apart(work: Callable[[], Any]) -> Any:
        return guard.call_in_copy(work, seconds=VERIFYING + VERIFYING_EACH * options.time) if apart else work()

    def open_and_report() -> Verdict:
        built, notes, result = build(source, language=language, options=options, name=name), list[str](), None
        known = [*built, *refused]
        if missing := [one for one in functions if one not in known]:
            raise OptionError(f"The source has no function {missing[0]!r}.", remedy=f"It has {', '.join(known)}.")
        try:
            with Comfort("the report", notes, passing=UfuncMagicError):
                others = [one for one in built if one not in chosen]
                result = report(built, options=options, namespace=namespace, without=others)
        except SystemExit as stop:  # of the reference or of a function
            return bench.Verdict("wrong", f"A call raised SystemExit({stop.code!r}), which ends Python.")
        return bench.judge_report(result, chosen, refused, notes)

    try:
        verdict: Verdict = call_apart(open_and_report)
        again = [code for code in codes if code.name in chosen and code.kind == "ufunc"] if apart else []
        for code in again:
            arrays = verdict.report.inputs.get(code.name) if verdict.report else None
            if verdict.ok and arrays:
                drawn = bench.draw_inputs_again(code, arrays, free=not (options.core or options.data))
                call = partial(_call_again, source, code, drawn, language=language, options=options, name=name)
                agreement = bench.confirm(code, drawn, call_apart(call), reference=reference, seconds=options.time)
                if agreement is not None and not agreement.ok:
                    verdict = bench.overrule(verdict, code.name, "wrong", f"DISAGREES {agreement.detail}")
    except (CellCrashed, CellExited) as fault:
        return bench.Verdict("crashes", str(fault))
    except LinkError as fault:
        return bench.Verdict("does not compile", str(fault))
    except SystemExit as stop:
        return bench.Verdict("wrong", f"A call raised SystemExit({stop.code!r}), which ends Python.")
    return verdict


def _call_again(
    source: str, code: CellFunction, arrays: tuple[Any, ...], *, language: str, options: Options, name: str
) -> tuple[Any, Any]:
    """The results of a function on other inputs, at first and after many calls; runs in a copy of the process."""
    from . import bench

    bound = build(source, language=language, options=options, name=name)[code.name]
    return bench.call_for_a_while(runtime.find_ufunc(bound) or bound, arrays, seconds=options.time)


def _take_new_notices(notices: Sequence[str], announced: set[str] | None) -> list[str]:
    """The notices that are not ``announced`` yet, which they are then."""
    new = [notice for notice in notices if notice not in (announced or ())]
    if announced is not None:
        announced.update(new)
    return new


def make_progress(display: Callable[..., Any] | None) -> Progress:
    """A progress line that is shown with IPython's ``display``."""
    return Progress(display, time.perf_counter)


def _make_views(built: Build, names: Sequence[str], read_texts: Callable[[], CompilerTexts]) -> tuple[View, ...]:
    """The views that ``--show`` asks for, from one further compilation."""
    from . import render

    code = built.loaded.object_code
    language = find_language(code)
    known = own_views(code.language)
    texts_of_it = [language.view(name, code) for name in names if name in known]
    own = [render.View(built.place.name, text.title, text.parts) for text in texts_of_it]
    names = [name for name in names if name not in known]
    if not names:
        return tuple(own)
    language.check_views(code)
    cell = CompiledCell(code, built.report_data)
    return (*render.make_source_views(cell, names, read_texts(), place=built.place), *own)  # type: ignore[arg-type]


def _can_be_shown(code: ObjectCode) -> bool:
    """Whether the compiler's further outputs show the loops that run."""
    try:
        find_language(code).check_views(code)
    except OptionError:
        return False
    return True


def _compile_for_texts(code: ObjectCode, loops: Collection[int] | None) -> CompilerTexts:
    """Compile the cell once more, with these of its loops or all, for the compiler's further outputs."""
    from . import codegen, compilers

    language, options, cplus = find_language(code), make_options(code.options), code.language == "c++"
    shown = () if loops is None else codegen.show_only(loops)
    # Under the name that its lines contain, and for the same CPUs.
    this_cpu = shortcuts.is_first(code)
    with store.open_default().open_scratch() as folder:

        def write(more: Sequence[str]) -> Path | None:
            return language.write_assembly(code, (*shown, *more), options=options, folder=folder, this_cpu=this_cpu)

        def again(more: Sequence[str]) -> CompiledCell:
            compile_cell = language.find_first_compiler() if this_cpu else language.compile
            arguments = replace(options, compile_args=(*options.compile_args, *shown, *more))
            return compile_cell(code.source, options=arguments, name=code.name, folder=folder)

        texts = compilers.read_loop_texts(folder, cplus=cplus, write_assembly=write) if shown else None
        return texts or compilers.read_compiler_texts(folder, cplus=cplus, compile_again=again)
