"""From a Cython cell to its object code: translate, plan, append loops, compile, and write it as Python meanwhile."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ... import cells, codegen, compilers, shortcuts, store
from ...forms import FormRequest, PythonForm, write_forms
from ...ir import Program, find_loop_lines
from ...model import (
    MOST_TIMED,
    CellFunction,
    Comfort,
    CompiledCell,
    CompileError,
    Diagnostic,
    FilesRead,
    Function,
    LinkError,
    ObjectCode,
    Operand,
    Options,
    Parameter,
    ReportData,
    ToolchainError,
    number_type,
)
from . import annotate, cython_settings, nogil_clone, pgo, python_headers
from ._private import TYPES_SECTION, clear_function_caches, version as cython_version
from .cython_frontend import choose_module_name, names_a_cpu
from .cython_function import CellText, CyFunction, CythonType, find_function_at
from .cython_loops import ModuleLoops, plan_loops, stays_python
from .cython_search import Searches
from .cython_settings import Settings
from .signature_inference import NoUfunc
from .traceback_lines import has_place
from .translate import CythonOptions, Translated, translate

_UNKNOWN_C = f"because ufunc_magic does not recognize the C code of Cython {cython_version}"

#: OpenMP in Cython's C.
_OPENMP = re.compile(r"#pragma omp|\bomp_")


@dataclass(frozen=True)
class _Cell:
    """A cell that is being compiled: its text and name, the module's name, and its settings."""

    source: str
    name: str
    module: str
    folder: Path
    options: Options
    settings: Settings
    tool: compilers.Toolchain
    searches: Searches


@dataclass(frozen=True)
class _Unit:
    """A translation unit with everything it is compiled with."""

    text: str
    #: The loops, where they are a unit of their own; else they follow the module in ``text``.
    loops: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    translation: codegen.Translation
    #: Functions of libm that have vector versions.
    simd: tuple[str, ...]
    notes: tuple[str, ...]


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    Raises
    ------
    CompileError, LinkError, SignatureError, ToolchainError, OptionError
    """
    _check_python_headers()
    cell, first = _prepare(source, options=options, name=name, folder=folder)
    known_cpu = cell.options.arch == options.arch or names_a_cpu(source)
    options, settings, tool = cell.options, cell.settings, cell.tool
    library = folder / "cell.so"
    text = CellText(source)
    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-python-form") as pool:
        written: Future[Mapping[str, Any]] | None = None
        without: frozenset[str] = frozenset()
        fault: CompileError | LinkError | None = None
        while True:
            translated = _translate_cell(cell, without) if without else first
            place_note = f"tracebacks count the lines without the magic's, {_UNKNOWN_C}"
            notes = [] if has_place(translated.c) else [place_note]
            planned = _plan(cell, translated, without, notes)
            notes += translated.notes
            unit = _write_unit(cell, translated, planned)
            if written is None:
                # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
                requests = _request_forms(planned) if translated.program is not None else []
                written = pool.submit(write_forms, translated.program or Program(), requests)
            try:
                has_defs = any(stays_python(f, text) for f in planned.functions)
                warnings = _compile_unit(cell, unit, library, has_defs=has_defs)
                break
            except (CompileError, LinkError) as error:
                looped = frozenset(f.name for f in planned.functions)
                if not looped:
                    raise  # it is the cell's own
                # Perhaps only our loops are at fault: those of the functions that it speaks of, or else all.
                if fault is None:
                    _check_without(cell, looped)
                fault = fault or error
                blamed = looped & _find_blamed(error, translated)
                without |= blamed if blamed and not without else looped
        forms = written.result()
    if fault is not None:
        names = ", ".join(sorted(without - {f.name for f in planned.functions}))
        cause = fault.diagnostics[0].message if fault.diagnostics else fault.message
        notes.append(f"{names} cannot be a ufunc here, because the C compiler rejects its loop: {cause}.")
    code = library.read_bytes()
    page = _read_page(translated, cell, notes)
    types = codegen.read_types(code, unit.translation)
    strange = tuple(
        NoUfunc(f, "has an operand or a result of a type that is not a NumPy number type")
        for f, numbers in zip(planned.functions, types, strict=True)
        if 255 in numbers and not text.read_annotation(f.line)
    )
    planned = replace(planned, rest=(*planned.rest, *strange))
    if hidden := [f"{r.function.name} (it {r.reason})" for r in planned.rest if r.function.kind == "cdef"]:
        notes.append(f"only code in the cell can call {', '.join(hidden)}; to call it from Python, write cpdef")
    functions = tuple(_write_entries(planned, types, forms, text, without={n.function.name for n in strange}))
    object_code = ObjectCode(
        code=code,
        target=cells.target(code, options, python=str(sysconfig.get_config_var("SOABI") or "")),
        functions=tuple(f.function_code for f in functions),
        language="cython",
        toolchain=f"Cython {cython_version}, {compilers.describe(tool).version}",
        source=source,
        name=name,
        threads=bool(options.parallel),
        module=cell.module,
        preload=settings.preload,
    )
    report_data = ReportData(
        functions=functions,
        diagnostics=(*translated.diagnostics, *warnings),
        notes=(*unit.notes, *notes),
        command=shlex.join([*tool.command, *unit.flags, "-", *settings.sources, *unit.link]),
        annotated=page,
        loop_lines=_find_loop_lines(translated.program),
    )
    return CompiledCell(object_code, report_data, _list_files_read(cell, unit, known=known_cpu))


def _find_blamed(error: CompileError | LinkError, translated: Translated) -> set[str]:
    lines = [(function.line, function.name) for function in translated.functions]
    return {find_function_at(diagnostic.line, lines) for diagnostic in error.diagnostics}


def _find_loop_lines(program: Program | None) -> dict[int, str | None]:
    """The lines of the cell on which loops begin, with what ends them early."""
    functions = program.functions.values() if program is not None else ()
    return find_loop_lines(function for several in functions for function in several)


def _check_python_headers() -> None:
    if not Path(headers := sysconfig.get_path("include"), "Python.h").exists():
        raise ToolchainError(
            f"Python ({sys.executable}) has no Python.h in {headers}: a Cython cell cannot be compiled.",
            remedy="Install python3-dev (Debian, Ubuntu), python3-devel (Fedora), or a Python with headers.",
        )


def _read_page(translated: Translated, cell: _Cell, notes: list[str]) -> str:
    """Cython's annotated page as JSON, or ``""``."""
    if translated.annotated is None:
        return ""
    complete = translated.c if cell.options.annotate_fullc else ""
    annotated = translated.annotated.read_text(encoding="utf-8")
    with Comfort("the annotated source", notes):
        return annotate.read(annotated, name=cell.name, complete=complete).to_json()
    return ""


def _prepare(source: str, *, options: Options, name: str, folder: Path) -> tuple[_Cell, Translated]:
    """The cell with the settings of its comment lines and of the files that Cython reads, and Cython's C of it.

    Cython reads the cell again if such a file asks for C++ or for another folder.
    """
    clear_function_caches()  # in which Cython remembers which files exist
    module, drawn = choose_module_name(source, options=options), dict[str, str]()
    while True:
        settings = cython_settings.read(source, options=options, drawn=drawn)
        completed = cython_settings.complete_options(options, settings)
        folders = (store.find_working_folder(), *map(str, settings.folders))
        searches = Searches("" if options.name.isidentifier() else module, folders)
        tool = compilers.find(cplus=completed.cplus)
        cell = _Cell(source, name, module, folder, completed, settings, tool, searches)
        translated: Translated | CompileError
        try:
            translated = _translate_cell(cell, frozenset())
        except CompileError as error:
            translated = error
        for path in searches.files:
            drawn[path] = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
        final = cython_settings.read(source, options=options, drawn=drawn)
        if (final.cplus, final.folders) != (settings.cplus, settings.folders):
            continue
        if isinstance(translated, CompileError):
            raise translated
        return replace(cell, settings=final, options=cython_settings.complete_options(options, final)), translated


def _list_files_read(cell: _Cell, unit: _Unit, *, known: bool) -> FilesRead:
    """The files of the user that Cython and the C compiler read, and those that are linked.

    ``known``: the result depends on nothing else.
    """
    settings, searches = cell.settings, cell.searches
    provided = [*cython_settings.list_provided_folders(), str(store.open_default().path)]
    if cell.options.torch:
        provided += [flag.removeprefix("-isystem") for flag in cython_settings.find_torch().flags]
    read = compilers.find_files_read(
        cell.tool,
        "".join(f"{line}\n" for line in unit.text.splitlines() if line.lstrip().startswith("#")),
        folder=cell.folder,
        flags=unit.flags,
        sources=settings.sources,
        provided=provided,
    )
    folders = [os.path.abspath(os.path.expanduser(place)) for place in settings.library_dirs]
    names = [f"lib{name}.{suffix}" for name in settings.libraries for suffix in ("so", "a", "dylib")]
    libraries = [os.path.join(place, name) for place in folders for name in names]
    possible = (*settings.depends, *libraries, *searches.candidates)
    absent = [path for path in possible if not path.startswith(f"{cell.folder}{os.sep}")]
    files = dict.fromkeys([*read.files, *searches.files, *filter(os.path.isfile, settings.depends)])
    return FilesRead(
        files=tuple(files),
        libraries=tuple(filter(os.path.isfile, libraries)),
        absent=(*read.absent, *absent),
        folder=read.folder or store.find_working_folder() * bool(files or absent),
        import_path=store.import_path() if searches.candidates else (),
        known=read.known and known,
    )


# ------------------------------------------------------------------------------ the module and its loops


def _translate_cell(cell: _Cell, without: frozenset[str]) -> Translated:
    path = store.Cache.write_scratch(cell.folder / f"{cell.module.rpartition('.')[2]}.pyx", f"{cell.source}\n")
    return translate(
        cell.source,
        path=path,
        module=cell.module,
        name=cell.name,
        searches=cell.searches,
        options=CythonOptions(
            cplus=cell.options.cplus,
            language_level=cell.options.language_level or 3,
            annotate=cell.options.annotate,
            linenums="-g" in cell.options.compile_args,
        ),
        without=without,
    )


def _plan(cell: _Cell, translated: Translated, without: frozenset[str], notes: list[str]) -> ModuleLoops:
    options = cell.options
    defined: dict[str, nogil_clone.Definition] = {}
    with Comfort("the loops' freedom from the GIL", notes):
        defined = nogil_clone.find_definitions(translated.c, name=cell.name)
    names = [f.cname for f in translated.functions if f.cname and not f.name.startswith("_")]
    if names and not defined and not notes:
        notes.append(f"the loops hold the GIL, {_UNKNOWN_C}")
    # Clones have lost the lines that whoever debugs wants.
    names = [] if "-g" in options.compile_args else names
    cloned: dict[str, nogil_clone.Clone] = {}
    with Comfort("the loops' freedom from the GIL", notes):
        cloned = nogil_clone.make_clones(defined, names, functions=translated.functions, free=translated.free)
    return plan_loops(
        translated.functions,
        cloned=cloned,
        text=CellText(cell.source),
        options=options,
        without=without,
        # One unit where steps of the compiler's own part it already, or where a profile is kept by its name.
        whole=bool(options.fast_math or options.pgo or cell.settings.sources),
    )


def _write_unit(cell: _Cell, translated: Translated, planned: ModuleLoops) -> _Unit:
    # Nothing in a loop of the cell's own calls Cython's functions.
    numeric = translated.plain and all(function.cname in planned.cloned for function in translated.functions)
    description = compilers.describe(cell.tool)
    plan = cells.plan_unit(
        planned.calls | ({"errno"} if "libc.errno" in cell.source else set()),
        fenv="fenv.h" in cell.source,
        own={f.cname for f in translated.functions},
        floats=cell.options.cplus,
        options=cell.options,
        description=description,
        tool=cell.tool,
        truncates=any(f.truncates for f in translated.functions if f.cname),
    )
    openmp = ("-fopenmp",) if description.openmp and _OPENMP.search(translated.c) else ()
    flags = (*cython_settings.list_compiler_flags(cell.tool, cell.options, cell.settings), *plan.flags, *openmp)
    link = (*cython_settings.list_linker_flags(cell.tool, cell.options, cell.settings), *plan.link)
    c = translated.c
    if numeric and (words := cython_settings.choose_cold_options(flags, cell.tool)):
        own, machinery = c[: (end := c.find(TYPES_SECTION))], c[end:]
        c = f"{own}\n#pragma GCC push_options\n#pragma GCC optimize ({words})\n{machinery}\n#pragma GCC pop_options\n"
    translation = codegen.append(
        "" if planned.apart else c,
        planned.text,
        planned.instances,
        options=cell.options,
        math=plan.math,
        seed=cell.source,
    )
    simd = plan.math.functions
    ignored = [f"ignored, because they are options of Microsoft's compiler: {' '.join(cell.settings.ignored)}"]
    notes = (*plan.notes, *(ignored if cell.settings.ignored else ()))
    if planned.apart:
        return _Unit(f"{c}\n{planned.real}\n", translation.text, flags, link, translation, simd, notes)
    return _Unit(translation.text, "", flags, link, translation, simd, notes)


# ------------------------------------------------------------------------------------ the compiler


def _compile_unit(cell: _Cell, unit: _Unit, library: Path, *, has_defs: bool) -> tuple[Diagnostic, ...]:
    """Compile and link ``unit``, with a profile where the user asks for one, and with the type of bound defs."""
    tool, options = cell.tool, cell.options
    signatures = [instance.signature for instance in unit.translation.instances]
    driver = cells.compile_driver(tool, signatures=signatures, parallel=bool(options.parallel), folder=cell.folder)
    vectors = cells.compile_vector_math(tool, unit.simd, folder=cell.folder)
    extra = [driver, *vectors, *cells.compile_exceptions(tool, folder=cell.folder), *map(Path, cell.settings.sources)]
    if has_defs:
        extra.append(cells.compile_def_functions(tool, folder=cell.folder))
    places = compilers.find_places(unit.text, module=cell.module, name=cell.name, cell=cell.source)
    if "-g" in options.compile_args:  # the text has lines of the cell already
        places = [0] * (unit.text.count("\n") + 1)
    origin = compilers.UnitOrigin(cell.name, cell.source)
    of_module = replace(origin, places=places)
    headers = () if cell.settings.sources else python_headers.choose_header_flags(unit.text, tool=tool, unit=unit.flags)
    compile_object = functools.partial(compilers.compile_object, tool, run=shortcuts.run_programs)
    link = functools.partial(compilers.link_shared, tool, output=library, link=unit.link, run=shortcuts.run_programs)

    def build(more: Sequence[str], headers: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
        flags = [*unit.flags, *more]
        with_headers = [*flags, *headers]
        if not unit.loops:
            return compilers.compile_shared(
                tool,
                unit.text,
                of_module,
                output=library,
                flags=with_headers,
                link=unit.link,
                extra_sources=extra,
                run=shortcuts.run_programs,
            )
        # Module and loops at once, on two cores: neither needs to see the other.
        parts = [cell.folder / "module.o", cell.folder / "loops.o"]
        with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-loops") as pool, compilers.end_on_error(cell.folder):
            loops = pool.submit(compile_object, unit.loops, origin, output=parts[1], flags=flags)
            warnings = compile_object(unit.text, of_module, output=parts[0], flags=with_headers)
            loops.result()
        link([*parts, *extra], origin, flags=flags)
        return warnings

    if not options.pgo:
        try:
            return build((), headers)
        except CompileError as fault:
            if not any(header in fault.output for header in headers[1:]):
                raise
            return build(())  # gcc finds no room for compiled headers where they were, or they are gone
    profile = cell.folder / "profile"
    build(pgo.list_profile_flags("gen", folder=profile, toolchain=tool))
    _train_profile(cell, library, profile)
    return build(pgo.list_profile_flags("use", folder=profile, toolchain=tool))


def _check_without(cell: _Cell, looped: frozenset[str]) -> None:
    """Raise the compiler's errors about the cell without any loops: those are the cell's own."""
    translated = _translate_cell(cell, looped)
    unit = _write_unit(cell, translated, _plan(cell, translated, looped, []))
    places = compilers.find_places(unit.text, module=cell.module, name=cell.name, cell=cell.source)
    compilers.compile_object(
        cell.tool,
        unit.text,
        compilers.UnitOrigin(cell.name, cell.source, places),
        output=cell.folder / "module.o",
        flags=[
            *unit.flags,
            *python_headers.choose_header_flags(unit.text, tool=cell.tool, unit=unit.flags),
            "-fsyntax-only",
        ],
        run=shortcuts.run_programs,
    )


def _train_profile(cell: _Cell, library: Path, profile: Path) -> None:
    """Import the module, compiled with counters, in another process, which leaves the profile in a folder."""
    program = pgo.run_module_text(library, module=cell.module, preload=cell.settings.preload)
    status, printed = compilers.run_python(program)
    if status or not pgo.is_written(profile):
        raise ToolchainError(
            f"--pgo: the profiling run failed ({status}): {printed.strip().rpartition(chr(10))[2]}.",
            remedy="The profiling run executes the cell's statements: they must finish without an error.",
        )


# ---------------------------------------------------------------------- entries of the object code


def _write_entries(
    planned: ModuleLoops,
    types: Sequence[tuple[int, ...]],
    forms: Mapping[str, Any],
    text: CellText,
    *,
    without: Collection[str],
) -> list[CellFunction]:
    """One entry for each name, in the order of the cell."""
    number = "Use an integer, floating-point or complex C type."
    by_name = cells.group_loops(planned.instances, types, without=without, remedy=number)
    entries = []
    for k in _pick_representatives(planned):
        signature, function = planned.instances[k].signature, planned.functions[k]
        if signature.name in without:
            continue
        name, called, form = signature.name, signature.function, forms.get(signature.name)
        # Only a Python form shows whether a call does more than calculate.
        written = form if isinstance(form, PythonForm) else None
        harmless = written.pure if written else called.body.pure
        notes = [*cells.narrow(name, by_name[name])]
        # Only those that are to be timed were to be written as Python.
        if not harmless and signature.name in forms:
            notes.append(f"{function.name} may have side effects, so the report does not call it.")
        entry = cells.make_ufunc_entry(
            signature,
            by_name[name],
            form=form,
            timed=types[k] if harmless else (),
            cautious=not written or (written.loops and not signature.core) or not called.body.pure,
            notes=notes,
        )
        internal = function.kind == "cdef" and not text.read_annotation(function.line)
        facts = {"is_def": stays_python(function, text), **_read_effects(function)}
        entries.append(replace(entry, internal=internal, **facts))
    for rest in planned.rest:
        function = rest.function
        if function.kind == "cdef":
            continue
        form = forms.get(function.name)
        described = Function(
            name=function.name,
            returns="",
            parameters=tuple(Parameter(p.name, "") for p in function.parameters),
            line=function.line,
            text=text.read_definition(function.line),
            doc=function.doc or text.read_comment(function.line),
        )
        samples = _describe_samples(function) if isinstance(form, PythonForm) and form.pure else ()
        entry = cells.make_python_entry(described, reason=rest.reason, samples=samples, form=form)
        entries.append(replace(entry, **_read_effects(function)))
    return sorted(entries, key=lambda entry: entry.line)


def _read_effects(function: CyFunction) -> dict[str, Any]:
    """Fields of its entry that its IR shows."""
    effects = function.effects
    return {"traceless": effects.traceless, "local_arrays": effects.local_arrays} if effects is not None else {}


def _pick_representatives(planned: ModuleLoops) -> list[int]:
    """The loop to show for each name: of a fused function the one for double, or else the last."""
    signatures = [instance.signature for instance in planned.instances]
    positions = {id(signature): k for k, signature in enumerate(signatures)}
    return [positions[id(signature)] for signature in cells.pick_representatives(signatures)]


def _request_forms(planned: ModuleLoops) -> list[FormRequest]:
    """The functions to be written as Python."""
    requests = []
    for k in _pick_representatives(planned):
        signature, function = planned.instances[k].signature, planned.functions[k]
        # Without the core dimensions that a loop hands on after the cell's own parameters.
        sizes = {at: dim for at, dim in signature.sizes.items() if at < len(function.parameters)}
        signature = replace(signature, sizes=sizes)
        requests.append(
            FormRequest(
                name=function.name,
                line=function.line,
                signature=signature,
                inputs=_list_numbers(function, signature.inputs),
                fused=dict(function.fused),
            )
        )
    plain = (rest.function for rest in planned.rest if _describe_samples(rest.function))
    return [*requests, *(FormRequest(f.name, f.line) for f in plain)][:MOST_TIMED]


def _list_numbers(function: CyFunction, operands: Sequence[Operand]) -> tuple[int, ...]:
    """NumPy's type numbers for the Python forms."""
    types = (*(p.type for p in function.parameters), function.returns, *function.returns.fields)
    numbers = {kind.c: kind.number for kind in types}
    return tuple(numbers.get(o.type, 0) for o in operands)  # C's bool is spelled otherwise than bint


def _describe_samples(function: CyFunction) -> tuple[str, ...]:
    """The number type and dimensions of each parameter, if all are numbers and arrays; else ``()``."""
    if function.varargs or not any(_is_array(p.type) for p in function.parameters):
        return ()
    # The default of an array is None, which often means to do nothing.
    last = max(k for k, p in enumerate(function.parameters) if _is_array(p.type) or not p.default)
    letters = [_describe_sample(p.type) for p in function.parameters[: last + 1]]
    return tuple(letters) if all(letters) else ()


def _is_array(kind: CythonType) -> bool:
    return kind.kind == "array" or kind.shown.startswith(("ndarray", "np.ndarray", "numpy.ndarray"))


def _describe_sample(kind: CythonType) -> str:
    if kind.kind == "object" and _is_array(kind) and not kind.ndim:
        return "O1"
    known = number_type(kind.number)
    return f"{known.char}{kind.ndim}" if known else ""
