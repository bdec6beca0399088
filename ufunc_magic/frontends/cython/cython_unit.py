"""From a Cython cell to its object code: translate, plan, append loops, compile, and write it as Python meanwhile."""

from __future__ import annotations

import functools
import shlex
import sysconfig
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from Cython.Compiler.Version import version as cython_version

from ... import codegen, runtime, store, toolchain
from ...model import CompiledCell, Diagnostic, ObjectCode, Options, ReportData, ToolchainError, required_glibc
from ...python_form import cython
from .. import native
from . import annotate, cython_settings, nogil_clone, pgo, requirements
from .cell_text import Text
from .cython_entries import function_entries, wanted_forms
from .cython_flags import compiler_flags, hot_options, include, linker_flags
from .cython_kernels import Kernels, kernels
from .translate import Translated, translate

__all__ = ["compile"]

#: The first line of what is appended to Cython's C.
_LOOPS = codegen.template("interface.h").partition("\n")[0]


@dataclass(frozen=True)
class _Unit:
    """A translation unit with everything it is compiled with."""

    tool: toolchain.Toolchain
    text: str
    #: The loops, where they are a unit of their own; else they stand behind the module in ``text``.
    loops: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    sources: tuple[str, ...]
    translation: codegen.Translation
    notes: tuple[str, ...]


def compile(source: str, *, options: Options, name: str, folder: Path, module: str) -> CompiledCell:
    """Compile a cell in the private ``folder`` to the extension module ``module``.

    Raises
    ------
    CompileError, LinkError, SignatureError, ToolchainError, OptionError
    """
    found = cython_settings.read(source, options=options, module=module)
    options = replace(options, cplus=options.cplus or found.cplus)
    tool = toolchain.find(cplus=options.cplus)
    _check(found)
    made = _translated(source, options, found, name=name, folder=folder, module=module)
    # One unit where steps of the compiler's own part it already, or where a profile is kept by its name.
    whole = options.fast_math or options.pgo or bool(found.sources)
    planned = _planned(made, source, options, name=name, module=module, whole=whole)
    unit = _unit(made, planned, source, options, found, tool, name=name)
    library = folder / "cell.so"
    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-baseline") as pool:
        # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
        written = pool.submit(cython.write, source, wanted_forms(planned), cplus=options.cplus)
        warned = _compiled(unit, source, options, found, library=library, name=name, module=module)
        forms = written.result()
    code = library.read_bytes()
    page = ""
    if made.annotated:
        page = annotate.read(made.annotated, name=name, complete=made.c if options.annotate_fullc else "").to_json()
    level = "native: " + " ".join(runtime.cpu_features()) if options.arch == "native" else "baseline"
    python = str(sysconfig.get_config_var("SOABI") or "")
    functions = tuple(function_entries(planned, codegen.read_types(code, unit.translation), forms, Text(source)))
    object_code = ObjectCode(
        code=code,
        target=replace(runtime.here(), libc=required_glibc(code), level=level, python=python),
        functions=tuple(f.function_code for f in functions),
        language="cython",
        toolchain=f"Cython {cython_version}, {native.described(tool).version}",
        source=source,
        name=name,
        threads=bool(options.parallel),
        module=module,
        preload=found.preload,
    )
    report_data = ReportData(
        functions=functions,
        diagnostics=(*made.diagnostics, *warned),
        notes=(*unit.notes, *_inside(planned)),
        command=shlex.join([*tool.command, *unit.flags, "-", *unit.sources, *unit.link]),
        annotated=page,
    )
    return CompiledCell(object_code, report_data)


def _inside(planned: Kernels) -> tuple[str, ...]:
    """A word on functions that nothing outside of the cell can reach."""
    hidden = [f"{r.function.name} (it {r.reason})" for r in planned.rest if r.function.kind == "cdef"]
    return (f"only the cell itself can call {', '.join(hidden)}; cpdef makes a Python function",) if hidden else ()


def _check(found: cython_settings.Settings) -> None:
    absent = requirements.missing_headers(Path(include()))
    if absent is None and found.uses_numpy:
        absent = requirements.missing_numpy_headers(Path(np.get_include()))
    if absent:
        raise absent


def _translated(
    source: str, options: Options, found: cython_settings.Settings, *, name: str, folder: Path, module: str
) -> Translated:
    path = store.Cache.write_scratch(folder / f"{module.rpartition('.')[2]}.pyx", f"{source}\n")
    return translate(
        source,
        path=path,
        module=module,
        name=name,
        cplus=options.cplus,
        language_level=options.language_level or 3,
        folders=[str(Path.cwd()), *map(str, found.folders)],
        annotate="default" if options.annotate else "",
    )


def _planned(made: Translated, source: str, options: Options, *, name: str, module: str, whole: bool) -> Kernels:
    defined = nogil_clone.definitions(made.c, name=name)
    wanted = [f.cname for f in made.functions if f.cname and not f.name.startswith("_")]
    # Copies have lost the lines that whoever debugs wants.
    wanted = [] if "-g" in options.compile_args else wanted
    copied = nogil_clone.copies(defined, wanted, free=made.free, module=module)
    return kernels(made.functions, defined=defined, copied=copied, text=Text(source), options=options, whole=whole)


def _unit(
    made: Translated,
    planned: Kernels,
    source: str,
    options: Options,
    found: cython_settings.Settings,
    tool: toolchain.Toolchain,
    *,
    name: str,
) -> _Unit:
    told = native.described(tool)
    plan = _plan(planned, made, source, options, told, tool)
    openmp = ("-fopenmp",) if found.uses_openmp and told.openmp else ()
    flags = (*compiler_flags(tool, options, found), *plan.flags, *openmp)
    hot = hot_options(flags)
    cold = planned.apart and not planned.rest and not any(i.python for i in planned.instances)
    c = made.c if cold else _hot(made.c, *nogil_clone.user_part(made.c, name=name), words=hot)
    translation = codegen.append(
        "" if planned.apart else c,
        planned.text,
        planned.instances,
        options=options,
        simd=plan.simd,
        judge=plan.judge,
        seed=source,
    )
    link = (*linker_flags(tool, options, found), *plan.link)
    if planned.apart:
        return _Unit(
            tool, f"{c}\n{planned.real}\n", translation.text, flags, link, found.sources, translation, plan.notes
        )
    at = translation.text.index(_LOOPS, len(c))
    text = _hot(translation.text, at, len(translation.text), words=hot)
    return _Unit(tool, text, "", flags, link, found.sources, translation, plan.notes)


def _hot(c: str, start: int, end: int, *, words: str) -> str:
    """``c`` with a part of it at the level of optimisation that ``words`` say."""
    if not words:
        return c
    head = f"\n#pragma GCC push_options\n#pragma GCC optimize ({words})\n"
    return f"{c[:start]}{head}{c[start:end]}\n#pragma GCC pop_options\n{c[end:]}"


def _plan(
    planned: Kernels,
    made: Translated,
    source: str,
    options: Options,
    told: toolchain.Description,
    tool: toolchain.Toolchain,
) -> native.Plan:
    errno = {"errno"} if "libc.errno" in source else set()
    return native.plan(
        planned.calls | errno,
        fenv="fenv.h" in source,
        own={f.cname for f in made.functions},
        floats=options.cplus,
        options=options,
        told=told,
        tool=tool,
    )


# ------------------------------------------------------------------------------------ the compiler


def _compiled(
    unit: _Unit,
    source: str,
    options: Options,
    found: cython_settings.Settings,
    *,
    library: Path,
    name: str,
    module: str,
) -> tuple[Diagnostic, ...]:
    """Compile and link ``unit``, with a profile where it was asked for."""
    folder = library.parent
    extra = [native.driver(unit.tool, parallel=bool(options.parallel), folder=folder), *map(Path, unit.sources)]
    places = toolchain.places(unit.text, module=module, name=name, cell=source)
    if "-g" in options.compile_args:  # whoever debugs wants lines of the cell
        unit = replace(unit, text=toolchain.with_lines(unit.text, places, name=name))
        places = [0] * (unit.text.count("\n") + 1)

    told: dict[str, Any] = {"name": name, "cell": source, "storage": native.storage()}
    whole = functools.partial(toolchain.compile_shared, unit.tool, unit.text, output=library, link=unit.link)

    def make(more: Sequence[str]) -> tuple[Diagnostic, ...]:
        flags = [*unit.flags, *more]
        if not unit.loops:
            return whole(flags=flags, extra_sources=extra, places=places, **told)
        # Module and loops at once, on two cores: neither needs to see the other.
        fast = ["-O3" if f == "-O1" else f for f in flags]
        parts = [folder / "module.o", folder / "loops.o"]
        with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-loops") as pool, toolchain.together(folder):
            loops = pool.submit(toolchain.compile_object, unit.tool, unit.loops, output=parts[1], flags=fast, **told)
            warned = toolchain.compile_object(unit.tool, unit.text, output=parts[0], flags=flags, places=places, **told)
            loops.result()
        toolchain.link_shared(unit.tool, [*parts, *extra], output=library, flags=flags, link=unit.link, **told)
        return warned

    if not options.pgo:
        return make(())
    counted = folder / "profile"
    _train(make, unit.tool, library, folder=counted, module=module, preload=found.preload)
    return make(pgo.flags("use", folder=counted, toolchain=unit.tool))


def _train(
    make: Callable[[Sequence[str]], object],
    tool: toolchain.Toolchain,
    library: Path,
    *,
    folder: Path,
    module: str,
    preload: Sequence[str],
) -> None:
    """Compile with counters, import the module in another process, and leave the profile in ``folder``."""
    make(pgo.flags("gen", folder=folder, toolchain=tool))
    status, said = toolchain.run_python(pgo.run_module_text(library, module=module, preload=preload))
    if status or not pgo.is_written(folder):
        last = said.strip().rpartition("\n")[2]
        how = f"was ended by signal {-status}" if status < 0 else "failed" if status else "left no profile"
        raise ToolchainError(
            f"--pgo: the run that makes the profile {how}{f': {last}' if last else ''}.",
            remedy="The cell's own statements are what runs: they must end without an error.",
        )
    merge = pgo.merge_command(folder, toolchain=tool)
    if merge:
        toolchain.run(merge)
