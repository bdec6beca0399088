"""From a C or C++ cell to its object code: parse, plan, generate, compile, and write it as Python meanwhile."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ... import codegen, runtime, toolchain
from ...model import (
    CellFunction,
    CompiledCell,
    CompileError,
    ObjectCode,
    Options,
    ReportData,
    Signature,
    Unit,
    required_glibc,
)
from .. import cell_settings, native, operands
from ..frontend import compiler_flags, linker_flags
from ..function_entries import prototype, python_forms, representatives, ufunc_entries
from . import line_markers, parser
from .cffi_types import type_definitions

__all__ = ["compile"]

#: Functions above which a cell is checked by itself first.
_MANY = 300


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    Raises
    ------
    ParseError
        If it defines no function that could be bound.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    tool = toolchain.find(cplus=options.cplus)
    told = native.described(tool)
    flags, link = compiler_flags(tool, options), linker_flags(tool, options)
    unit = parser.parse(source, cplus=options.cplus)
    text = source

    def preprocessed() -> str:
        # -fdirectives-only would keep macros; what is needed here is what they make.
        marked = f"#line 1 {codegen.c_string(name)}\n{source}\n"
        return toolchain.preprocess(tool, marked, name=name, flags=flags, cell=source, storage=native.storage())

    if cell_settings.needs_preprocessor(unit, source):
        text = preprocessed()
        seen = parser.parse_preprocessed(text, cell_name=name, cell_text=source, cplus=options.cplus)
        unit = replace(
            seen, macros=unit.macros, includes=unit.includes, identifiers=unit.identifiers | seen.identifiers
        )
    options = replace(options, types=options.types or cell_settings.types_asked(unit))
    signatures, plain = operands.plan(unit, options=options)
    if not signatures and not plain:
        alone = cell_settings.fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder)
        raise alone or cell_settings.nothing_to_bind(unit, name)
    if len(signatures) > _MANY:
        # The loops of a library take the compiler minutes, and an error in its last line would come after them.
        alone = cell_settings.fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder)
        if alone:
            raise alone

    plan = _plan(unit, options, told, tool)
    # Our own threads need no OpenMP; a cell may have pragmas of its own.
    openmp = ("-fopenmp",) if options.parallel and told.openmp and re.search(r"\bomp\b|_OPENMP", source) else ()
    flags, link = (*flags, *plan.flags, *openmp), (*link, *plan.link)
    if options.types and codegen.in_terms_of_t(unit):
        plain = ()  # their C names exist once per type
    translation = codegen.translate(
        source,
        unit=unit,
        signatures=signatures,
        plain=["::".join([*p.function.scope, p.function.name]) for p in plain],
        options=options,
        name=name,
        simd=plan.simd,
        judge=plan.judge,
    )
    shown = representatives(signatures)

    def python_of_all() -> Mapping[str, tuple[Signature, Mapping[str, str]]]:
        seen = text
        if text is source and cell_settings.bodies_need_preprocessor(source):
            with contextlib.suppress(CompileError):  # the compiler says it of the whole unit
                seen = preprocessed()
        return python_forms(seen, shown, unit, options)

    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-pyloop") as pool:
        # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
        written = pool.submit(python_of_all)
        library = folder / "cell.so"
        diagnostics = cell_settings.compiled(
            tool,
            translation,
            output=library,
            flags=flags,
            link=link,
            extra_sources=[
                native.driver(
                    tool,
                    parallel=bool(options.parallel),
                    folder=folder,
                    checked="-D__UFM_START" in options.compile_args,
                ),
                *options.src,
            ],
            options=options,
            name=name,
            cell=source,
        )
        python = written.result()
    code = library.read_bytes()
    functions = ufunc_entries(translation, codegen.read_types(code, translation), python, unit)
    written_types = source
    if text is not source:  # structs of local headers, too
        written_types = "\n".join(line.text for line in line_markers.own_lines(text, cell_name=name)[0])
    types = type_definitions(written_types) if plain else ""
    for index, p in enumerate(plain):
        functions.append(
            CellFunction(
                name=p.name,
                kind="plain",
                index=index,
                parameters=tuple(q.name for q in p.function.parameters),
                declaration=f"{types}\n{prototype(p.function)}",
                doc=p.function.doc,
                source=p.function.text,
                line=p.function.line,
                reason=f"{p.reason}{f' ({p.remedy})' if p.remedy else ''}",
            )
        )
    level = "native: " + " ".join(runtime.cpu_features()) if options.arch == "native" else "baseline"
    object_code = ObjectCode(
        code=code,
        target=replace(runtime.here(), libc=required_glibc(code), level=level),
        functions=tuple(f.function_code for f in functions),
        language="c++" if options.cplus else "c",
        toolchain=told.version,
        source=source,
        name=name,
        threads=bool(options.parallel),
    )
    command = shlex.join([*tool.command, *flags, "-", *options.src, *link])
    return CompiledCell(object_code, ReportData(tuple(functions), tuple(diagnostics), plan.notes, command))


def _plan(unit: Unit, options: Options, told: toolchain.Description, tool: toolchain.Toolchain) -> native.Plan:
    return native.plan(
        unit.identifiers | unit.calls | ({"errno"} if "<errno.h>" in unit.includes else set()),
        fenv="<fenv.h>" in unit.includes,
        own=frozenset(unit.names),
        floats=bool(options.types or options.cplus),
        options=options,
        told=told,
        tool=tool,
    )
