"""From a C or C++ cell to its object code: read, choose, generate, compile with Python forms meanwhile, describe."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ... import cells, codegen, compilers, shortcuts
from ...cells import CellBuild, Plain, list_compiler_flags, list_linker_flags
from ...ir import FunctionCall, Name, Program, walk
from ...model import (
    CompiledCell,
    CompileError,
    Diagnostic,
    Function,
    LinkError,
    ObjectCode,
    Options,
    ParseError,
    ReportData,
    Signature,
    SignatureError,
    UfuncMagicError,
    Unit,
    mark_line,
)
from . import c_text, microsoft, plain_functions
from .cffi_types import type_definitions
from .declarations import CText
from .lowering import lower
from .parser import parse_cell
from .prototypes import (
    ONLY_DECLARED,
    LibraryFunctions,
    choose_sizes,
    describe_nothing_declared,
    drop_unlinked,
    find_missing,
    plan_declared,
)
from .template_types import choose_types

#: Functions above which a cell is checked by itself first.
_MANY = 300
_ALL_STATIC = "every function of the cell is static, so all of them are bound"
#: The number of a loop in the names of its types.
_OF_A_LOOP = re.compile(r"__ufm_[nst](\d+)")
#: A function by its name, its file and its line.
_Place = tuple[str, str, int]


@dataclass(frozen=True)
class _Reading:
    """The functions of a cell and what becomes of each: a ufunc, a plain function, a function of a library.

    ``left_out`` holds templates whose loops the compiler refused, with its reasons; ``faults`` are those of comments.
    """

    unit: Unit
    tree: CText = field(repr=False)
    signatures: tuple[Signature, ...]
    plain: tuple[Plain, ...]
    unbound: tuple[str, ...]
    library: LibraryFunctions
    left_out: Mapping[_Place, str] = field(default_factory=dict)
    #: Of templates, the types that are left to try.
    types: Mapping[_Place, tuple[str, ...]] = field(default_factory=dict)
    #: Templates that have no loops for integers, because those would lose digits.
    losing: tuple[str, ...] = ()
    faults: Mapping[str, tuple[Function, SignatureError]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to bind."""
        return not (self.signatures or self.plain or self.library.signatures)

    @property
    def of_structures(self) -> list[Function]:
        """Functions with structures.  They have no loop of numbers, so C callers get the functions themselves."""
        functions = self.unit.functions
        return [next(f for f in functions if f.name == s.function.name) for s in self.signatures if s.has_records]

    @property
    def native(self) -> list[Function]:
        """Functions that the object exports as they are, in the order of its table."""
        return [*(p.function for p in self.plain), *self.of_structures]


@dataclass(frozen=True)
class _Compiled:
    """The machine code of a cell, the functions in it, and their Python forms."""

    code: bytes = field(repr=False)
    translation: codegen.Translation
    diagnostics: tuple[Diagnostic, ...]
    reading: _Reading
    forms: Mapping[str, tuple[Signature, cells.Form]]


@dataclass(frozen=True)
class _Unit:
    """The texts and the options that a cell was compiled from."""

    tool: compilers.Toolchain
    flags: tuple[str, ...]
    translation: codegen.Translation


#: The unit that was compiled last, of those for this CPU alone and of the portable ones: a table follows most cells,
#: and needs some of its loops again.
_last_units: dict[bool, _Unit] = {}


def compile(
    source: str,
    *,
    options: Options,
    name: str,
    folder: Path,
    this_cpu: bool = False,
    words: Mapping[str, str] = MappingProxyType({}),
) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    With ``this_cpu`` the object is for CPUs like this one only, as its target says: half of the compiler's time.  The
    same call without it makes the portable object, with the same functions in the same order.  A cell that reads files
    of the user's, which may change meanwhile, is portable at once.  A cell that is refused is compiled again with the
    meanings of Microsoft's ``words`` in it.

    Raises
    ------
    ParseError
        If it defines no function that could be bound.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    requested, this_cpu = options, this_cpu and _is_whole(source, options)
    try:
        cell, planned, plan, reading = _plan(
            source, options=options, name=name, folder=folder, this_cpu=this_cpu, words=words
        )
        if options.wrap:
            reading = _drop_unresolved(cell, reading)
        compiled = _compile_functions(cell, planned, plan, reading)
    except (CompileError, ParseError, SignatureError) as fault:
        more = microsoft.find_words(source, str(fault), cplus=options.cplus)
        if more.keys() <= words.keys():
            raise
        return _compile_with(
            {**words, **more}, fault, source, options=requested, name=name, folder=folder, this_cpu=this_cpu
        )
    _last_units[this_cpu] = _Unit(planned.tool, planned.flags, compiled.translation)
    result = replace(_describe(planned, plan, compiled), files_read=planned.list_files_read())
    if this_cpu and (result.files_read.files or not result.files_read.known):
        return compile(source, options=requested, name=name, folder=folder, words=words)
    if words:
        notes = (microsoft.note(words), *result.report_data.notes)
        result = replace(result, report_data=replace(result.report_data, notes=notes))
    return result


def write_assembly(
    code: ObjectCode, more: Sequence[str], *, options: Options, folder: Path, this_cpu: bool
) -> Path | None:
    """Compile the loops of a known cell to assembly in ``folder``: nothing is linked, and no Python form is written.

    Parameters
    ----------
    code : ObjectCode
    more : sequence of str
        Further arguments of the compiler, such as those of `codegen.show_only`.

    Returns
    -------
    Path or None
        None for a cell that takes more than its text to compile.
    """
    unit = _last_units.get(this_cpu)
    if not unit or unit.tool != compilers.find(cplus=options.cplus) or unit.translation.marker not in code.code:
        unit = _write_unit(code, options=options, folder=folder, this_cpu=this_cpu)
    if unit is None:
        return None
    assembly, origin, flags = folder / "cell.s", compilers.UnitOrigin(code.name, code.source), (*unit.flags, *more)
    with suppress(CompileError):
        compilers.compile_assembly(unit.tool, unit.translation.text, origin, output=assembly, flags=flags)
        return assembly
    return None


def _write_unit(code: ObjectCode, *, options: Options, folder: Path, this_cpu: bool) -> _Unit | None:
    """The unit of a cell that comes from the cache, if it takes no more than its text."""
    try:
        _, planned, plan, reading = _plan(
            code.source, options=options, name=code.name, folder=folder, this_cpu=this_cpu, words={}
        )
    except UfuncMagicError:  # with other words of Microsoft's it compiles
        return None
    translation = _translate(planned, plan, reading, codegen.Exports(text=reading.library.write(options)))
    loops = {loop.index: function.name for function in code.functions for loop in function.loops}
    written = [i.signature.name for i in translation.instances]
    # The cell lacks the functions that the compiler refused, so other loops have other numbers.
    if any(s.function.template for s in reading.signatures) or any(written[k : k + 1] != [loops[k]] for k in loops):
        return None
    return _Unit(planned.tool, planned.flags, translation)


def _plan(
    source: str, *, options: Options, name: str, folder: Path, this_cpu: bool, words: Mapping[str, str]
) -> tuple[CellBuild, CellBuild, cells.UnitPlan, _Reading]:
    """Read a cell and decide what becomes of it: the cell, the cell with the flags for its text, and the plan."""
    tool = compilers.find(cplus=options.cplus)
    flags = list_compiler_flags(tool, options)
    if this_cpu:
        flags += shortcuts.list_this_cpu_flags()
    flags += microsoft.list_macro_flags(words)
    cell = CellBuild(tool, source, name, options, folder, flags, list_linker_flags(tool, options), this_cpu=this_cpu)
    reading = _read(cell, expand=bool(words))
    options = replace(options, types=options.types or cells.read_types_in_comments(reading.unit))
    cell = replace(cell, options=options)
    reading = _choose_types(_choose_functions(cell, reading), options)
    plan, planned = cell.plan(reading.unit, floats=bool(options.types or options.cplus))
    return cell, planned, plan, replace(reading, library=choose_sizes(reading.library, plan.math.functions))


def _translate(
    cell: CellBuild, plan: cells.UnitPlan, reading: _Reading, exports: codegen.Exports
) -> codegen.Translation:
    return codegen.translate(
        cell.source,
        unit=reading.unit,
        signatures=(*reading.signatures, *reading.library.signatures),
        exports=exports,
        options=cell.options,
        name=cell.name,
        math=plan.math,
    )


def _compile_with(words: Mapping[str, str], fault: UfuncMagicError, source: str, **more: Any) -> CompiledCell:
    """Compile a cell again with Microsoft's words; if it is refused again, the error with less in it counts."""
    try:
        return compile(source, words=words, **more)
    except (CompileError, ParseError, SignatureError) as other:
        raise min(other, fault, key=_count_errors) from None


def _count_errors(fault: UfuncMagicError) -> int:
    return sum(d.severity == "error" for d in fault.diagnostics) if isinstance(fault, CompileError) else 1


def _read(cell: CellBuild, *, expand: bool) -> _Reading:
    """Parse the cell, through the preprocessor where macros decide what it contains."""

    def preprocess(text: str) -> str:
        try:
            more = ("-dD",) if cell.options.wrap else ()  # keeps the macros that rename functions
            return cells.read_preprocessed(cell.tool, text, name=cell.name, flags=(*cell.flags, *more))
        except CompileError as fault:  # the compiler itself reports more
            raise (cell.find_fault_alone() or fault) from None

    unit, tree = parse_cell(
        cell.source,
        name=cell.name,
        cplus=cell.options.cplus,
        preprocess=preprocess,
        wrap=cell.options.wrap,
        expand=expand or _includes_own_header(cell),
    )
    return _Reading(unit, tree, (), (), (), LibraryFunctions())


def _includes_own_header(cell: CellBuild) -> bool:
    """Whether the cell includes a header in the user's folders in angle brackets."""
    folders = compilers.search_path(cell.flags).folders
    headers = c_text.read(cell.source, cplus=cell.options.cplus).includes if folders else ()
    paths = (os.path.join(folder, header[1:-1]) for folder in folders for header in headers if header[0] == "<")
    return any(map(os.path.isfile, paths))


def _choose_functions(cell: CellBuild, reading: _Reading) -> _Reading:
    """Decide what becomes of each function.

    Raises
    ------
    ParseError, SignatureError
        If there is nothing to bind.
    CompileError
        If the compiler refuses a cell that has nothing to bind, or very many functions.
    """
    unit, options = reading.unit, cell.options
    library = plan_declared(unit, options=options)
    reading = _plan_functions(replace(reading, library=library, faults=library.faults), options)
    own = [f for f in unit.functions if f.static and not f.file]
    if reading.is_empty and own and not reading.faults:
        # The text of a header, whose functions are static: they are all there is to bind.
        functions = tuple(replace(f, static=False) if f in own else f for f in unit.functions)
        planned = _plan_functions(replace(reading, unit=replace(unit, functions=functions)), options)
        if not planned.is_empty:
            reading = replace(planned, unbound=(*planned.unbound, _ALL_STATIC))
    if reading.is_empty or len(reading.signatures) > _MANY:
        # The loops of a library take the compiler minutes: an error in its last line would come after them.
        if alone := cell.find_fault_alone():
            raise alone
        for _, error in reading.faults.values() if reading.is_empty else ():
            raise error
        if reading.is_empty and reading.library.reasons:
            raise describe_nothing_declared(reading.library.reasons, cell.name)
        if reading.is_empty:
            raise cell.describe_nothing_to_bind(unit, reading.unbound)
    if options.types and codegen.uses_t(unit):
        return replace(reading, plain=())  # their C names exist once per type
    return reading


def _plan_functions(reading: _Reading, options: Options) -> _Reading:
    """Decide which functions of the text are ufuncs, which are plain, and which are not bound."""
    unit = reading.unit
    signatures, others, faults = cells.plan_operands(unit, options=options, structures=True)
    plain, unbound = plain_functions.find_bindable(others, taken=[s.name for s in signatures], unit=unit)
    return replace(
        reading,
        signatures=signatures,
        plain=tuple(plain),
        unbound=tuple(unbound),
        faults={**reading.faults, **faults},
    )


def _choose_types(reading: _Reading, options: Options) -> _Reading:
    """Choose the types that templates are compiled for, where the user has not."""
    if options.types or not options.cplus:
        return reading
    templates = [s.function for s in reading.signatures if s.function.template]
    chosen = {_locate(f): choose_types(reading.tree, f, codegen.find_reached(f, reading.unit)) for f in templates}
    tries = {place: types.tries for place, types in chosen.items()}
    losing = tuple(place[0] for place, types in chosen.items() if types.loses_digits)
    return _use_next_types(replace(reading, types=tries, losing=losing), tries.keys())


def _use_next_types(reading: _Reading, places: Collection[_Place]) -> _Reading:
    """The templates at these places with the next types to try."""

    def changed(signature: Signature) -> Signature:
        function = signature.function
        if (place := _locate(function)) not in places:
            return signature
        return replace(
            signature, function=replace(function, body=replace(function.body, instances=reading.types[place][0]))
        )

    types = {place: left[1:] if place in places else left for place, left in reading.types.items()}
    return replace(reading, signatures=tuple(map(changed, reading.signatures)), types=types)


def _drop_unresolved(cell: CellBuild, reading: _Reading) -> _Reading:
    """Leave out declared functions that no library has: link references alone, before hundreds of loops compile."""
    try:
        references = replace(cell, flags=(*cell.flags, "-O0", "-w"))
        inline = codegen.inline_definitions(reading.unit, cplus=cell.options.cplus)
        text = f"{cell.source}{inline}\n{reading.library.references}"
        compilers.compile_shared(cell.tool, text, **references.list_arguments("references.so"))
    except LinkError as fault:
        return replace(reading, library=drop_unlinked(reading.library, fault))
    return reading


def _compile_functions(cell: CellBuild, planned: CellBuild, plan: cells.UnitPlan, reading: _Reading) -> _Compiled:
    """Compile the unit, and write the Python forms meanwhile.

    Functions that the compiler or the linker refuses are left out one round after another.
    """
    options, folder = cell.options, cell.folder
    checked = "-D__UFM_CHECKED" in options.compile_args
    signatures = (*reading.signatures, *reading.library.signatures)
    parallel = bool(options.parallel)
    driver = cells.compile_driver(cell.tool, signatures=signatures, parallel=parallel, folder=folder, checked=checked)
    objects = [driver, *cells.compile_vector_math(cell.tool, plan.math.functions, folder=folder)]
    objects += cells.compile_exceptions(cell.tool, cell.source, folder=folder)
    objects += cells.compile_process_calls(cell.tool, reading.unit, folder=folder)
    library = folder / "cell.so"
    exports = _list_exports(reading, options)
    first, first_fault, undefined = reading, None, _Undefined()
    with ThreadPoolExecutor(1, thread_name_prefix="ufunc_magic-python-form") as pool:
        # The compiler is another process, so the Python forms cost no time.
        forms = pool.submit(_write_python_forms, cell, first)
        diagnostics = None
        while diagnostics is None:
            texts = filter(None, [reading.library.write(options), exports.text, undefined.text])
            translation = _translate(cell, plan, reading, replace(exports, text="\n".join(texts)))
            try:
                if not undefined.text:
                    diagnostics = planned.compile_in_parts(translation, library, objects)
                if diagnostics is None:
                    arguments = planned.list_arguments(library.name, *objects)
                    arguments["run"] = functools.partial(shortcuts.run_programs, ahead=planned.ahead)
                    diagnostics = compilers.compile_shared(cell.tool, translation.text, **arguments)
            except LinkError as fault:  # again without what no library has
                if undefined.fault is None and find_missing(reading.library, fault):
                    reading = replace(reading, library=drop_unlinked(reading.library, fault))
                else:
                    reading, undefined = _leave_out_undefined(reading, undefined, fault)
                    exports = _list_exports(reading, options)
                    link = () if _SPELLED in planned.link else (_SPELLED,)
                    planned = replace(planned, link=(*planned.link, *link))
                if reading.is_empty:
                    raise undefined.fault or fault from None
            except CompileError as fault:
                more = {}
                if options.cplus and not options.types:  # with --types the user sees what is wrong with them
                    more = _find_refused(fault, translation, reading, name=cell.name)
                if again := {place for place in more if reading.types.get(place)}:
                    first_fault = first_fault or fault
                    reading = _use_next_types(reading, again)
                    continue
                remaining = tuple(s for s in reading.signatures if _locate(s.function) not in more)
                if more and (remaining or reading.plain) and (reading.left_out or cell.find_fault_alone() is None):
                    reading = replace(reading, signatures=remaining, left_out={**reading.left_out, **more})
                elif exports.contained and not _is_in_cell(fault, cell.name):
                    # Some type has no name after the cell: plain functions are called uncontained.
                    exports = replace(exports, contained=(), text="")
                else:
                    raise planned.blame(first_fault or fault) from None
    known = forms.result() if reading.signatures == first.signatures else _write_python_forms(cell, reading)
    return _Compiled(library.read_bytes(), translation, tuple(diagnostics), reading, known)


#: Has the linker spell symbols as the assembler does.
_SPELLED = "-Wl,--no-demangle"


@dataclass(frozen=True)
class _Undefined:
    """Symbols of the cell that no text and no library defines: the first error, and the symbols as they are spelled."""

    fault: LinkError | None = None
    symbols: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Text that makes nothing of them, so that the rest links: what refers to them is not bound."""
        return "\n".join(f'__asm__(".weak {symbol}\\n.hidden {symbol}");' for symbol in self.symbols)


def _leave_out_undefined(reading: _Reading, undefined: _Undefined, fault: LinkError) -> tuple[_Reading, _Undefined]:
    """Leave out the functions that refer to symbols that the linker misses.

    In the first round the linker spells names as people do, in the second one as the assembler does.

    Raises
    ------
    LinkError
        If no function is to blame, or the compiler is none of those that take such symbols.
    """
    missing = compilers.list_undefined_symbols(fault.output)
    if undefined.fault is not None:
        if undefined.symbols or not missing:
            raise undefined.fault
        return reading, replace(undefined, symbols=missing)
    uses = _list_uses(reading)
    reached = {name: name for name in map(compilers.take_name_in_symbol, missing)}
    while more := {f: reached[n] for f, used in uses.items() if f not in reached for n in used if n in reached}:
        reached |= more
    faults = {}
    for function in (*(s.function for s in reading.signatures), *reading.native):
        if function.name in reached:
            name = reached[function.name]
            why = f"it needs {name!r}, which is declared, but nothing defines it"
            remedy = f"Define it, link with the library that does (-l NAME), or add its source file (-S {name}.c)"
            error = SignatureError(f"{cells.place_of(function)}: {why}.", remedy=remedy)
            faults[function.name] = function, error
    if not faults or not sys.platform.startswith("linux"):
        raise fault
    rest = replace(
        reading,
        signatures=tuple(s for s in reading.signatures if s.function.name not in reached),
        plain=tuple(p for p in reading.plain if p.function.name not in reached),
        faults={**reading.faults, **faults},
    )
    return rest, _Undefined(fault)


def _list_uses(reading: _Reading) -> dict[str, set[str]]:
    """The names that the functions of the text use, by function."""
    uses: dict[str, set[str]] = {}
    for name, functions in lower(reading.tree).functions.items():
        used = uses.setdefault(name, set())
        for function in functions:
            for node in walk(function.body):
                match node:
                    case Name(symbol=symbol):
                        used.add(symbol.name)
                    case FunctionCall(name=called):
                        used.add(called.rpartition("::")[2].partition("<")[0])
    for own in reading.unit.functions:
        uses.setdefault(own.name, set()).update(own.body.calls)
    return uses


def _list_exports(reading: _Reading, options: Options) -> codegen.Exports:
    """The functions that the object exports as they are."""
    native = [(plain_functions.write_pointer(f, reading.unit), f) for f in reading.native]
    return codegen.contained(native, cplus=options.cplus)


def _write_python_forms(cell: CellBuild, reading: _Reading) -> Mapping[str, tuple[Signature, cells.Form]]:
    """Each name's signature with its Python form."""
    signatures = cells.pick_representatives(reading.signatures)
    return write_python_forms(reading.tree, signatures, reading.unit, cell.options)


def write_python_forms(
    text: CText, signatures: Sequence[Signature], unit: Unit, options: Options
) -> dict[str, tuple[Signature, cells.Form]]:
    """Each name's signature with its Python form."""

    def lowered(types: Mapping[str, int]) -> Program:
        return lower(text, types=types)

    return cells.write_python_forms(lowered, signatures, unit, options)


def _describe(planned: CellBuild, plan: cells.UnitPlan, compiled: _Compiled) -> CompiledCell:
    """Describe the functions of the object code."""
    reading, translation, options = compiled.reading, compiled.translation, planned.options
    types = codegen.read_types(compiled.code, translation)
    bound = {s.name for s in reading.signatures}
    known = {**compiled.forms, **{s.name: (s, ONLY_DECLARED) for s in reading.library.signatures}}
    refused = cells.find_foreign_types(translation.instances, types, name=planned.name, source=planned.source)
    if refused.keys() >= known.keys() and not reading.plain:
        refused = {}  # there is nothing else, so that is an error
    faults = {name: _describe_fault(name, *fault, planned) for name, fault in reading.faults.items()}
    functions = cells.make_c_ufunc_entries(
        translation,
        types,
        known,
        reading.unit,
        without=refused,
        remedy=None if options.wrap else ", or --types",
        ranked=options.cplus,
    )
    records = codegen.read_records(compiled.code, translation)
    functions = [replace(f, records=records.get(f.name, ())) for f in functions]
    needs_types = reading.plain or reading.of_structures
    types_text = type_definitions(reading.tree, cplus=options.cplus) if needs_types else ""
    functions += plain_functions.make_plain_entries(reading.plain, types_text)
    for index, function in enumerate(reading.of_structures, start=len(reading.plain)):
        place = next(n for n, f in enumerate(functions) if f.records and f.source == function.text)
        declaration = f"{types_text}\n{cells.write_prototype(function)}"
        functions[place] = replace(functions[place], index=index, declaration=declaration)
    notes = (*plan.notes, *reading.unbound, *_write_notes(reading, bound), *reading.library.list_notes(options))
    notes += tuple(_list_ignored_comments(reading.unit, bound))
    if options.types and not codegen.uses_t(reading.unit) and not any(f.template for f in reading.unit.functions):
        notes += (f"--types {options.types} has no effect: no function is written in terms of T",)
    serial = [s.name for s in reading.signatures if s.has_records] if options.parallel else []
    if serial:
        notes += (f"--parallel: {', '.join(serial)} runs on one thread, like all functions with structures.",)
    object_code = planned.make_object_code(compiled.code, functions, language="c++" if options.cplus else "c")
    report_data = ReportData(
        tuple(functions),
        compiled.diagnostics,
        notes,
        planned.command,
        loop_lines=reading.unit.loop_lines,
        refused=faults | refused,
    )
    return CompiledCell(object_code, report_data)


def _describe_fault(name: str, function: Function, error: SignatureError, cell: CellBuild) -> Diagnostic:
    """Say why the function of a faulty comment is not bound."""
    lines = cell.source.split("\n")
    place = function.line if not function.file and 0 < function.line <= len(lines) else 0
    why = error.marked.removeprefix(f"{cells.place_of(function)}: ").rstrip(".")
    text = lines[place - 1] if place else function.text.partition("\n")[0]
    return Diagnostic("error", f"{name} is not bound: {why}", cell.name, place, text=text, hint=error.remedy)


def _list_ignored_comments(unit: Unit, bound: Collection[str]) -> list[str]:
    """Write a note for each ``// ufunc:`` comment that counts for no function that is bound."""
    remedy = "write it directly above the function that it is for"
    notes = [
        f"line {mark_line(n)}: the comment 'ufunc: {words}' counts for no function: {remedy}"
        for n, words in unit.stray_notes
    ]
    hidden = [f for f in unit.functions if f.static and f.annotation and not f.file and f.name not in bound]
    return notes + [f"{f.name} has a // ufunc: comment, but is static: remove `static` to bind it" for f in hidden]


def _is_in_cell(fault: CompileError, name: str) -> bool:
    """Whether the compiler reports an error in the cell itself."""
    return any(d.severity == "error" and d.file == name for d in fault.diagnostics)


def _locate(function: Function) -> _Place:
    return function.name, function.file, function.line


def _find_refused(
    fault: CompileError, translation: codegen.Translation, reading: _Reading, *, name: str
) -> dict[_Place, str]:
    """Find the functions that compile, but not their loops, with the compiler's reasons.

    They are templates that were written for other types than numbers, and functions with types that have no name
    outside of their own scope.
    """
    ours = {_locate(s.function) for s in reading.signatures}
    templates = [f for f in reading.unit.functions if f.template]
    generated = translation.text.rpartition(f'#line 1 "{compilers.GENERATED}"\n')[2].split("\n")
    errors = [d for d in fault.diagnostics if d.severity == "error"]
    result: dict[_Place, str] = {}
    for error in (d for d in errors if d.file != compilers.GENERATED):
        hit = [f for f in templates if (f.file or name) == error.file and f.line <= error.line <= f.end_line]
        why = f"line {mark_line(error.line)}: {error.message}"
        result |= {_locate(f): why for f in hit}
    for line, message in _list_errors_in_loops(fault.output):
        # The message has the name of a type of the loop, or its line or one above has.
        texts = (message.partition("; did you mean")[0], *reversed(generated[:line]))
        loops = {int(k) for k in next(filter(None, map(_OF_A_LOOP.findall, texts)), ())}
        hit = [i.signature.function for k, i in enumerate(translation.instances) if k in loops]
        result |= {_locate(f): message for f in hit if _locate(f) not in result}
    if ours & result.keys() or not errors:
        return {place: why for place, why in result.items() if place in ours}
    # The templates through which the compiler came to a header; callers of those in error; every template where those
    # are unknown.
    lines = _list_lines(fault.output, name)
    if not result and (hit := [f for f in templates if any(f.line <= line <= f.end_line for line in lines)]):
        return {_locate(f): errors[0].message for f in hit if _locate(f) in ours}
    names = {place[0] for place in result}
    while callers := {f.name for f in templates if f.body.calls & names} - names:
        names |= callers
    among = [f for f in templates if f.name in names and _locate(f) in ours] or templates
    return {_locate(f): errors[0].message for f in among if _locate(f) in ours}


def _list_lines(output: str, name: str) -> list[int]:
    """List the lines of the cell that the compiler's messages name."""
    lines = []
    for text in output.splitlines():
        line = text.removeprefix(f"{name}:").partition(":")[0]
        if line.isdecimal() and text.startswith(f"{name}:"):
            lines.append(int(line))
    return lines


def _list_errors_in_loops(output: str) -> list[tuple[int, str]]:
    """List line and message of the errors in generated code, and in templates that generated code instantiates.

    gcc reports before an error where the instantiation begins, clang after it.
    """
    errors: list[tuple[int, str]] = []
    began, elsewhere = 0, ""
    for text in output.splitlines():
        place, error, message = text.partition(": error: ")
        file, _, line = (place if error else text).partition(":")
        number = int(digits) if file == compilers.GENERATED and (digits := line.partition(":")[0]).isdecimal() else 0
        if error:
            elsewhere = message.partition(" [-")[0]
            if number or began:
                errors.append((number or began, elsewhere))
                elsewhere = ""
        elif number and text.endswith("required from here"):
            began = number
        elif number and elsewhere and text.endswith("requested here"):
            errors.append((number, elsewhere))
        elif ": In " in text:
            began = 0
    return errors


def _write_notes(reading: _Reading, bound: Collection[str]) -> list[str]:
    """Write a note for each reason to leave out a template, and one on templates without loops for integers."""
    names: dict[str, list[str]] = {}
    for (function, _, _), why in reading.left_out.items():
        if function not in bound:
            names.setdefault(why, []).append(function)
    floats = [f.name for f in (s.function for s in reading.signatures) if not f.body.instances.startswith(("i", "u"))]
    counts = Counter(s.name for s in reading.signatures)
    losing = [name for name in reading.losing if name in floats and counts[name] == 1]
    return [
        *(f"{name} computes integers as float64, where C++'s {name}<int> would lose digits." for name in losing),
        *(f"no loop is made of {', '.join(dict.fromkeys(functions))}: {why}" for why, functions in names.items()),
    ]


#: Text that reads a file, which may be the user's.
_READS = re.compile(r"(?:#|%:|\?\?=)[ \t]*(?:include|import|embed)(?![ \t]*<)|__has_(?:include|embed)|\.inc")


def _is_whole(source: str, options: Options) -> bool:
    """Whether the text of a cell seems to be all that it is made of, and CPUs make a difference to it."""
    others = options.include or options.src or options.lib or options.link_args or options.wrap
    return bool(shortcuts.find_this_level()) and options.arch != "native" and not (others or _READS.search(source))
