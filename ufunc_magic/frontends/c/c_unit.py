"""From a C or C++ cell to its object code: parse, plan, generate, compile, and write it as Python meanwhile."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ... import codegen, toolchain
from ...model import CellFunction, CompiledCell, CompileError, ObjectCode, Options, ReportData, Signature
from ...python_form import CText
from .. import cell_settings, function_entries, native, operands
from ..frontend import compiler_flags, linker_flags
from .cffi_types import type_definitions

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
    description = native.described(tool)
    flags, link = compiler_flags(tool, options), linker_flags(tool, options)

    # What is in the cell.
    def preprocess() -> str:
        return cell_settings.preprocessed(tool, source, name=name, flags=flags)

    unit, text, tree = cell_settings.read(source, name=name, cplus=options.cplus, preprocess=preprocess)
    options = replace(options, types=options.types or cell_settings.types_in_comments(unit))

    # What becomes of its functions.
    signatures, plain = operands.plan(unit, options=options)
    if not (signatures or plain) or len(signatures) > _MANY:
        # The loops of a library take the compiler minutes, and an error in its last line would come after them.
        alone = cell_settings.fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder)
        if alone or not (signatures or plain):
            raise alone or cell_settings.nothing_to_bind(unit, name)
    if options.types and codegen.in_terms_of_t(unit):
        plain = ()  # their C names exist once per type

    # The unit.
    plan = native.plan(
        unit.identifiers | unit.calls | ({"errno"} if "<errno.h>" in unit.includes else set()),
        fenv="<fenv.h>" in unit.includes,
        own=frozenset(unit.names),
        floats=bool(options.types or options.cplus),
        options=options,
        description=description,
        tool=tool,
    )
    # Our own threads need no OpenMP; a cell may have pragmas of its own.
    openmp = ("-fopenmp",) if options.parallel and description.openmp and re.search(r"\bomp\b|_OPENMP", source) else ()
    flags, link = (*flags, *plan.flags, *openmp), (*link, *plan.link)
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

    # Its machine code, and its functions as Python.
    def python_forms() -> Mapping[str, tuple[Signature, function_entries.Form]]:
        readable: str | CText = tree or text
        if readable is source:
            with contextlib.suppress(CompileError):  # the compiler says it of the whole unit
                readable = preprocess()
        shown = function_entries.representatives(signatures)
        return function_entries.python_forms(readable, shown, unit, options)

    checked = "-D__UFM_START" in options.compile_args
    driver = native.driver(tool, parallel=bool(options.parallel), folder=folder, checked=checked)
    library = folder / "cell.so"
    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-python-form") as pool:
        # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
        forms = pool.submit(python_forms)
        with cell_settings.blaming_the_cell(tool, source, flags=flags, options=options, name=name, folder=folder):
            diagnostics = toolchain.compile_shared(
                tool,
                translation.text,
                output=library,
                flags=flags,
                link=link,
                extra_sources=[driver, *options.src],
                name=name,
                cell=source,
                storage=native.storage(),
            )
    code = library.read_bytes()

    # What the object code says of them.
    types = codegen.read_types(code, translation)
    functions = function_entries.c_ufunc_entries(translation, types, forms.result(), unit)
    functions += _plain_entries(plain, source, text, name)
    object_code = ObjectCode(
        code=code,
        target=native.target(code, options),
        functions=tuple(f.function_code for f in functions),
        language="c++" if options.cplus else "c",
        toolchain=description.version,
        source=source,
        name=name,
        threads=bool(options.parallel),
    )
    command = shlex.join([*tool.command, *flags, "-", *options.src, *link])
    return CompiledCell(object_code, ReportData(tuple(functions), tuple(diagnostics), plan.notes, command))


def _plain_entries(plain: tuple[operands.Plain, ...], source: str, text: str, name: str) -> list[CellFunction]:
    """Functions that are called through cffi, with the types that it needs to know."""
    types = type_definitions(source, text, name=name) if plain else ""
    return [
        function_entries.native_entry(
            p.function,
            name=p.name,
            index=index,
            parameters=[parameter.name for parameter in p.function.parameters],
            declaration=f"{types}\n{function_entries.prototype(p.function)}",
            reason=(p.reason, p.remedy),
        )
        for index, p in enumerate(plain)
    ]
