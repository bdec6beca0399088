"""From a C or C++ cell to its object code: parse, plan, generate, compile, and write it as Python meanwhile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ... import codegen, compilers, cparse, description, loader, operands, toolchain
from ...cparse import cmarkers, definitions
from ...diagnostics import GENERATED
from ...errors import CompileError, ParseError
from ...objectcode import FunctionCode, ObjectCode, required_glibc
from ...operands import annotation
from ...options import Options
from ...signature import Unit
from .. import native
from .entries import prototype, python_forms, representatives, ufunc_entries
from .flags import compiler_flags, linker_flags

__all__ = ["compile"]

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]*(.*(?:\\\r?\n.*)*)", re.M)


def compile(source: str, *, options: Options, name: str, folder: Path) -> ObjectCode:
    """Compile a cell in the private ``folder``.

    Raises
    ------
    ParseError
        If it defines no function that could be bound.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    tool = compilers.find(cplus=options.cplus)
    told = native.described(tool)
    flags, link = compiler_flags(tool, options), linker_flags(tool, options)
    unit = cparse.parse(source, cplus=options.cplus)
    text = source
    if _needs_preprocessor(unit, source):
        # -fdirectives-only would keep macros; what is needed here is what they make.
        marked = f"#line 1 {codegen.c_string(name)}\n{source}\n"
        text = toolchain.preprocess(tool, marked, name=name, flags=flags, cell=source, storage=native.storage())
        seen = cparse.parse_preprocessed(text, cell_name=name, cell_text=source, cplus=options.cplus)
        unit = replace(
            seen, macros=unit.macros, includes=unit.includes, identifiers=unit.identifiers | seen.identifiers
        )
    options = replace(options, types=options.types or _types_asked(unit))
    signatures, plain = operands.plan(unit, options=options)
    if not signatures and not plain:
        alone = _fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder)
        raise alone or _nothing_to_bind(unit, name)

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
    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-pyloop") as pool:
        # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
        written = pool.submit(python_forms, text, shown, unit, options)
        library = folder / "cell.so"
        try:
            diagnostics = toolchain.compile_shared(
                tool,
                translation.text,
                output=library,
                flags=flags,
                link=link,
                extra_sources=[native.driver(tool, parallel=bool(options.parallel), folder=folder), *options.src],
                name=name,
                cell=source,
                storage=native.storage(),
            )
        except CompileError as fault:
            if any(d.severity == "error" and d.file != GENERATED for d in fault.diagnostics):
                raise
            # An open brace of the cell shows first in what follows it.
            alone = _fault_alone(tool, source, flags=flags, options=options, name=name, folder=folder)
            raise (alone or fault) from None
        python = written.result()
    code = library.read_bytes()
    functions = ufunc_entries(translation, codegen.read_types(code, translation), python, unit)
    written_types = source
    if text is not source:  # structs of local headers, too
        written_types = "\n".join(line.text for line in cmarkers.own_lines(text, cell_name=name)[0])
    types = definitions.type_definitions(written_types) if plain else ""
    for index, p in enumerate(plain):
        functions.append(
            FunctionCode(
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
    level = "native: " + " ".join(loader.cpu_features()) if options.arch == "native" else "baseline"
    return ObjectCode(
        code=code,
        target=replace(loader.here(), libc=required_glibc(code), level=level),
        functions=tuple(functions),
        language="c++" if options.cplus else "c",
        toolchain=told.version,
        source=source,
        name=name,
        threads=bool(options.parallel),
        command=shlex.join([*tool.command, *flags, "-", *options.src, *link]),
        diagnostics=tuple(diagnostics),
        notes=plan.notes,
    )


def _fault_alone(
    tool: compilers.Toolchain, source: str, *, flags: Sequence[str], options: Options, name: str, folder: Path
) -> CompileError | None:
    """What the compiler has against the cell without loops around it."""
    types = codegen.types_wanted(options.types)
    alone = [f for f in flags if f not in compilers.FAST_MATH] + ["-fsyntax-only", *(f"-DT={t.c}" for t in types[-1:])]
    text = f"#line 1 {codegen.c_string(name)}\n{source}\n"
    try:
        toolchain.compile_shared(
            tool, text, output=folder / "alone", flags=alone, name=name, cell=source, storage=native.storage()
        )
    except CompileError as fault:
        return fault if any(d.severity == "error" and d.file == name for d in fault.diagnostics) else None
    return None


def _plan(unit: Unit, options: Options, told: description.Description, tool: compilers.Toolchain) -> native.Plan:
    return native.plan(
        unit.identifiers | unit.calls | ({"errno"} if "<errno.h>" in unit.includes else set()),
        fenv="<fenv.h>" in unit.includes,
        own=frozenset(unit.names),
        floats=bool(options.types or options.cplus),
        options=options,
        told=told,
        tool=tool,
    )


# -------------------------------------------------------------------------------------- the cell's text


def _needs_preprocessor(unit: Unit, source: str) -> bool:
    """Does the text as typed not show every function and type?

    It shows them unless it includes local files, names types that only a header defines, or uses a
    macro outside of function bodies.
    """
    if unit.unknown_types or any(header.startswith('"') for header in unit.includes):
        return True
    if not unit.macros:
        return False
    lines = source.replace("\r\n", "\n").split("\n")
    for function in unit.functions:
        if function.file:
            continue
        body = "\n".join(lines[function.line - 1 : function.end_line])
        head = body.partition("{")[0]
        lines[function.line - 1 : function.end_line] = [head, *[""] * (function.end_line - function.line)]
    outside = _DEFINE.sub("", "\n".join(lines))
    # A number in an array's size is understood as it is; anything else needs the preprocessor.
    bodies = {m[1]: "(" if m[2] else m[3] for m in _DEFINE.finditer(source)}
    numbers = {n for n, body in bodies.items() if re.fullmatch(r"[\s\d.+*/()xXa-fA-FuUlL-]*", body) and body.strip()}
    used = set(re.findall(r"\w+", outside))
    return bool((set(unit.macros) - numbers) & used)


def _types_asked(unit: Unit) -> str:
    """``types=f4,f8`` in a function's comment; it speaks for the cell, which is compiled as one."""
    said = (annotation.read(f.annotation, of=f"{f.name} (line {f.line})") for f in unit.functions if f.annotation)
    return next((note.types for note in said if note.types), "")


def _nothing_to_bind(unit: Unit, name: str) -> ParseError:
    hidden = [f.name for f in unit.functions]
    if hidden:
        what = f"{name}: every function is static or main ({', '.join(hidden[:5])})."
        return ParseError(what, remedy="Take the static away from the one to be bound.")
    return ParseError(f"{name} defines no C function.", remedy="Write one, such as: double f(double x) { return 2*x; }")
