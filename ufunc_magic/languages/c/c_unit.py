"""From a C or C++ cell to its object code: parse, plan, generate, compile, and write it as Python meanwhile."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ... import codegen, compilers
from ...cells import cell_settings, function_entries, native, operands
from ...cells.cell_settings import CellBuild
from ...cells.frontend import compiler_flags, linker_flags, users_files
from ...model import (
    CompiledCell,
    CompileError,
    Function,
    LinkError,
    Options,
    ReportData,
    Signature,
    Unit,
    line_mark,
)
from . import plain_functions
from .cffi_types import type_definitions
from .parser import parse_cell
from .prototypes import ONLY_DECLARED, declared, linked, nothing_declared, sized

#: Functions above which a cell is checked by itself first.
_MANY = 300
#: A function by its name, its file and its line.
_Place = tuple[str, str, int]


def compile(source: str, *, options: Options, name: str, folder: Path, this_cpu: bool = False) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    With ``this_cpu`` it is for CPUs like this one alone, as its target says, which takes half of the compiler's time;
    the same call without it makes the portable object, with the same functions in the same places.  What reads files
    of the user's, which may change meanwhile, is made portable at once.

    Raises
    ------
    ParseError
        If it defines no function that could be bound.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    tool = compilers.find(cplus=options.cplus)
    flags = compiler_flags(tool, options)
    this_cpu = this_cpu and _is_whole(options, users_files(source, options=options, tool=tool, flags=flags))
    if this_cpu:
        flags += native.this_cpu_flags(tool, source, options)
    cell = CellBuild(tool, source, name, options, folder, flags, linker_flags(tool, options), this_cpu=this_cpu)
    with compilers.started_ahead(cell.flags, cell.ahead):
        # What is in the cell.
        def preprocess(text: str) -> str:
            try:
                more = ("-dD",) if options.wrap else ()  # with the macros that give functions other names
                return cell_settings.preprocessed(tool, text, name=name, flags=(*cell.flags, *more))
            except CompileError as fault:  # the compiler itself says more
                raise (cell.fault_alone() or fault) from None

        unit, tree = parse_cell(source, name=name, cplus=options.cplus, preprocess=preprocess, wrap=options.wrap)
        options = replace(options, types=options.types or cell_settings.types_in_comments(unit))
        cell = replace(cell, options=options)

        # What becomes of its functions.
        signatures, others = operands.plan(unit, options=options, structures=True)
        plain, unbound = plain_functions.bindable(others, taken=[s.name for s in signatures], unit=unit)
        library_functions = declared(unit, options=options)
        nothing = not (signatures or plain or library_functions.signatures)
        if nothing or len(signatures) > _MANY:
            # The loops of a library take the compiler minutes, and an error in its last line would come after them.
            if alone := cell.fault_alone():
                raise alone
            if nothing and library_functions.reasons:
                raise nothing_declared(library_functions.reasons, name)
            if nothing:
                raise cell.nothing_to_bind(unit, unbound)
        if options.types and codegen.in_terms_of_t(unit):
            plain = []  # their C names exist once per type

        # The unit.
        plan, planned = cell.planned(unit, floats=bool(options.types or options.cplus))
        library_functions = sized(library_functions, plan.simd)
        if options.wrap:  # first, since hundreds of loops are not to be compiled twice
            try:
                references = replace(cell, flags=(*cell.flags, "-O0", "-w"))
                text = f"{source}\n{library_functions.references}"
                compilers.compile_shared(tool, text, **references.arguments("references.so"))
            except LinkError as fault:
                library_functions = linked(library_functions, fault)

        # Its machine code, and its functions as Python.
        def python_forms() -> Mapping[str, tuple[Signature, function_entries.Form]]:
            return function_entries.python_forms(tree, function_entries.representatives(signatures), unit, options)

        checked = "-D__UFM_CHECKED" in options.compile_args
        # Those have no form of numbers, so C calls them as they are.
        of_structures = [
            next(f for f in unit.functions if f.name == s.function.name) for s in signatures if s.has_records
        ]
        driver = native.driver(
            tool, parallel=bool(options.parallel), folder=folder, checked=checked, structures=bool(of_structures)
        )
        vectors = native.vector_math(tool, plan.simd, folder=folder)
        library = folder / "cell.so"
        native_functions = [*(p.function for p in plain), *of_structures]
        pointers = [plain_functions.pointer(f, unit) for f in native_functions]
        behind, contained = codegen.contained([*zip(pointers, native_functions, strict=True)], cplus=options.cplus)
        with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-python-form") as pool:
            # The compiler is a process of its own, so the Python forms cost nothing meanwhile.
            forms = pool.submit(python_forms)
            diagnostics, left_out = None, dict[_Place, str]()
            while diagnostics is None:
                translation = codegen.translate(
                    source,
                    unit=unit,
                    signatures=(*signatures, *library_functions.signatures),
                    plain=pointers,
                    contained=contained,
                    options=options,
                    name=name,
                    simd=plan.simd,
                    judge=plan.judge,
                    after="\n".join(filter(None, [library_functions.text(options), behind])),
                )
                try:
                    diagnostics = planned.compiled_in_parts(translation, library, [driver, *vectors])
                    if diagnostics is None:
                        arguments = planned.arguments(library.name, driver, *vectors)
                        diagnostics = compilers.compile_shared(tool, translation.text, ahead=planned.ahead, **arguments)
                except LinkError as fault:  # once more without what no library has
                    library_functions = linked(library_functions, fault)
                    if not (signatures or plain or library_functions.signatures):
                        raise
                except CompileError as fault:
                    more = {}
                    if options.cplus and not options.types:  # who asks for types is told what is wrong with them
                        more = _left_out(fault, translation, unit, signatures, name=name)
                    remaining = tuple(s for s in signatures if _place(s.function) not in more)
                    if more and (remaining or plain) and (left_out or cell.fault_alone() is None):
                        signatures, left_out = remaining, {**left_out, **more}
                    elif contained and not any(d.severity == "error" and d.file == name for d in fault.diagnostics):
                        # Some type has no name behind the cell: plain functions go uncontained.
                        behind, contained = "", []
                    else:
                        raise planned.blamed(fault) from None
        code = library.read_bytes()

        # What the object code says of them.
        types = codegen.read_types(code, translation)
        bound = {s.name for s in signatures}
        known = dict(python_forms() if left_out else forms.result())
        known |= {s.name: (s, ONLY_DECLARED) for s in library_functions.signatures}
        refused = function_entries.foreign(translation.instances, types, name=name, source=source)
        if refused.keys() >= known.keys() and not plain:
            refused = {}  # there is nothing else, so that is an error
        functions = function_entries.c_ufunc_entries(
            translation,
            types,
            known,
            unit,
            without=refused,
            remedy=None if options.wrap else ", or --types",
            records=codegen.read_records(code, translation),
        )
        types_text = type_definitions(tree, cplus=options.cplus) if plain or of_structures else ""
        functions += plain_functions.entries(plain, types_text)
        for index, function in enumerate(of_structures, start=len(plain)):
            place = next(n for n, f in enumerate(functions) if f.records and f.source == function.text)
            declaration = f"{types_text}\n{function_entries.prototype(function)}"
            functions[place] = replace(functions[place], index=index, declaration=declaration)
        notes = (*plan.notes, *unbound, *_notes_of(left_out, bound), *library_functions.notes(options))
        serial = [s.name for s in signatures if s.has_records] if options.parallel else []
        if serial:
            notes += (f"--parallel: {', '.join(serial)} runs on one thread, like all functions with structures.",)
        object_code = planned.object_code(code, functions, language="c++" if options.cplus else "c")
        report_data = ReportData(tuple(functions), tuple(diagnostics), notes, planned.command, refused=refused)
        return CompiledCell(object_code, report_data)


def _place(function: Function) -> _Place:
    return function.name, function.file, function.line


def _left_out(
    fault: CompileError, translation: codegen.Translation, unit: Unit, signatures: Sequence[Signature], *, name: str
) -> dict[_Place, str]:
    """Of the functions of ``signatures`` those that the compiler takes, but not their loops, and what it says.

    They are templates that were written for other types than numbers, and functions with types that have no name
    outside of their own scope.
    """
    ours = {_place(s.function) for s in signatures}
    templates = [f for f in unit.functions if f.template]
    errors = [d for d in fault.diagnostics if d.severity == "error"]
    result: dict[_Place, str] = {}
    for error in errors:
        if error.file == compilers.GENERATED:
            loops = {int(k) for k in re.findall(r"__ufm_[a-z]+(\d+)", error.message)}
            hit = [i.signature.function for k, i in enumerate(translation.instances) if k in loops]
            why = error.message
        else:
            hit = [f for f in templates if (f.file or name) == error.file and f.line <= error.line <= f.end_line]
            why = f"line {line_mark(error.line)}: {error.message}"
        result |= {_place(f): why for f in hit}
    if ours & result.keys() or not errors:
        return {place: why for place, why in result.items() if place in ours}
    # What calls the templates that are in error; where nobody can tell, every template.
    names = {place[0] for place in result}
    while callers := {f.name for f in templates if f.calls & names} - names:
        names |= callers
    among = [f for f in templates if f.name in names and _place(f) in ours] or templates
    return {_place(f): errors[0].message for f in among if _place(f) in ours}


def _notes_of(left_out: Mapping[_Place, str], bound: Collection[str]) -> list[str]:
    """A note for each reason."""
    names: dict[str, list[str]] = {}
    for (function, _, _), why in left_out.items():
        if function not in bound:
            names.setdefault(why, []).append(function)
    return [f"no loop is made of {', '.join(dict.fromkeys(functions))}: {why}" for why, functions in names.items()]


def _is_whole(options: Options, files: object) -> bool:
    """Whether the text of a cell is all that it is made of, and CPUs make a difference to it."""
    # No files are (), and None is that nobody knows.
    others = files != () or options.src or options.lib or options.link_args or options.wrap
    return bool(native.this_level()) and options.arch != "native" and not others
