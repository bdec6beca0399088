"""From a CUDA cell to its object code: by a C++ compiler for the CPU, by NVRTC, or by both.

The compiler for the CPU reads it under ``templates/cuda.h``, which emulates what CUDA adds to C++; meanwhile NVRTC
checks it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ... import cells, codegen, compilers, runtime
from ...cells import (
    CellBuild,
    Form,
    group_loops,
    list_compiler_flags,
    list_linker_flags,
    make_c_ufunc_entries,
    make_native_entry,
    pick_representatives,
)
from ...model import (
    CellFunction,
    CompiledCell,
    CompileError,
    Diagnostic,
    LoopCode,
    ObjectCode,
    Options,
    ParseError,
    ReportData,
    Signature,
    ToolchainError,
    Unit,
    mark_line,
)
from .. import c
from . import device, kernel_prototypes, nvrtc
from .cuda_diagnostics import find_races, find_refusals, improve_error
from .cuda_edits import blank_refused, declare_shared_memory
from .cuda_frontend import needs_gpu
from .cuda_passes import blank_host, inline_headers
from .cuda_reading import (
    Reading,
    describe_nothing_to_bind,
    find_unasked,
    name_vectors,
    read,
    write_device_call,
    write_plain_call,
)
from .thread_loops import try_with_loops

TEMPLATES = Path(__file__).parent / "templates"
#: Names that NVRTC does not have, so that a cell defines them; the host's C library has them as `long`.
_DEFINED = re.compile(r"\btypedef\b[^;{}]*?\blong\s+long\b[^;{}]*?\b(ssize_t|u?int(?:64|ptr)_t)\s*;")
#: Constants of the host's <math.h> that a cell defines as variables.
_CONSTANT = re.compile(r"\b(?:float|double)\s+(M_\w+)\s*[=({]")
#: Calls in front of each access: those of templates/cuda_checked.h.
_CHECKED = (
    "-g1",
    "-fno-omit-frame-pointer",
    "-fsanitize=kernel-address",
    "--param=asan-instrumentation-with-call-threshold=0",
    "--param=asan-stack=0",
    "--param=asan-globals=0",
    "-D__UFM_CUDA_CHECKED__=1",
    # Each access is in the code, and on the way to it only.
    "-fno-optimize-sibling-calls",
    "-fno-tree-loop-im",
    "-fno-hoist-adjacent-loads",
)
#: Words that look at the other lanes of a warp; a header may contain them.
_LANES = re.compile(r'\b__\w+_sync\b|\b__(?:syncwarp|activemask)\b|cooperative_groups|#\s*include\s*"')
#: How a function in Numba's form says that it failed.
_FAILED = """\
static __attribute__((__unused__)) void __ufm_fail_with(const char *__ufm_name, int __ufm_status)
{
    char __ufm_text[200];
    __builtin_snprintf(__ufm_text, sizeof(__ufm_text), "%s returned status %d, and 0 is success", __ufm_name,
                       __ufm_status);
    __ufm_fail(__ufm_text);
}
"""


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    Raises
    ------
    ParseError
        If it defines no function for the GPU.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    source, options = include_sources(source, replace(options, cplus=True))
    if needs_gpu(options):
        return compile_for_gpu(source, options=options, name=name, why="", measured=True)
    whole, refused = source, dict[str, Diagnostic]()
    diagnostics = find_refusals(source, name=name)
    if diagnostics and (diagnostics := find_refusals(blank_host(source), name=name)):
        if options.device != "cpu" and device.is_available() and nvrtc.find():
            line = mark_line(diagnostics[0].line)
            why = f"{name} has no emulation on the CPU: line {line}: {diagnostics[0].message}"
            return compile_for_gpu(source, options=options, name=name, why=why)
        source, refused = blank_refused(source, diagnostics, name=name)
    try:
        tool = compilers.find(cplus=True)
    except ToolchainError as fault:
        if options.device == "cpu" or not nvrtc.find():
            raise
        why = f"{name} has no emulation on the CPU: {fault.marked} {fault.remedy}"
        return compile_for_gpu(source, options=options, name=name, why=why)
    unbound: frozenset[str] = frozenset()
    while True:
        try:
            compiled = _compile_emulated(source, options=options, name=name, folder=folder, tool=tool, unbound=unbound)
            break
        except CompileError as fault:
            better = improve_error(fault)
            errors = [d for d in better.diagnostics if d.severity == "error"]
            if more := find_unasked(source, errors, options=options) - unbound:
                unbound |= more
            elif errors and all(" is unavailable: " in d.message for d in errors):
                source, refusals_of = blank_refused(source, errors, name=name)
                refused |= refusals_of
            else:
                return _compile_for_gpu_after(better, whole, options=options, name=name)
        except ParseError as fault:
            return _compile_for_gpu_after(fault, whole, options=options, name=name)
    if source != whole:
        # The whole cell travels, for a GPU to compile.
        object_code = replace(compiled.object_code, source=whole)
        compiled = replace(compiled, object_code=object_code)
    return replace(compiled, report_data=replace(compiled.report_data, refused=refused))


def _compile_for_gpu_after(
    fault: CompileError | ParseError, source: str, *, options: Options, name: str
) -> CompiledCell:
    """Compile a cell that the host's compiler refused for the GPU alone, if its compiler accepts the cell."""
    if options.device == "cpu" or not (device.is_available() and nvrtc.find()):
        raise fault from None
    diagnostics = fault.diagnostics if isinstance(fault, CompileError) else ()
    error = next((d for d in diagnostics if d.severity == "error"), None)
    why = f"line {mark_line(error.line)}: {error.message}" if error and error.file == name else fault.message
    try:
        return compile_for_gpu(source, options=options, name=name, why=f"{name} has no emulation on the CPU: {why}")
    except (CompileError, ParseError):
        raise fault from None


def include_sources(source: str, options: Options) -> tuple[str, Options]:
    """The cell with its further sources of CUDA (``-S more.cu``) below it, and the options without them."""
    ours = [path for path in map(os.fspath, options.src) if path.endswith((".cu", ".cuh"))]
    if not ours:
        return source, options
    names = (codegen.quote_c(os.path.abspath(os.path.expanduser(path))) for path in ours)
    rest = tuple(path for path in options.src if os.fspath(path) not in ours)
    return "\n".join([source, *(f"#include {name}" for name in names)]), replace(options, src=rest)


# -------------------------------------------------------------------------------------- for the CPU


def choose_debug_flags(options: Options, tool: compilers.Toolchain) -> tuple[bool, tuple[str, ...]]:
    """Whether each access of kernels is looked at, and the compiler's options for that and for lines of faults."""
    known = sys.platform == "linux" and tool.kind in ("gcc", "clang")
    sanitized = known and options.sanitize and tool.kind == "gcc"
    sanitized = sanitized and not any("-fsanitize=" in word for word in options.compile_args)
    return sanitized, _CHECKED if sanitized else ("-g1",) * known  # lines cost no time


def _compile_emulated(
    source: str, *, options: Options, name: str, folder: Path, tool: compilers.Toolchain, unbound: Collection[str]
) -> CompiledCell:
    """Compile a cell with a C++ compiler; NVRTC, where it is, checks it meanwhile."""
    host = replace(options, compile_args=tuple(filter(nvrtc.is_host, options.compile_args)))
    flags = (*list_compiler_flags(tool, host), *list_header_flags(source))
    sanitized, debug = choose_debug_flags(options, tool) if "__global__" in source else (False, ())
    flags += debug
    reading = read(source, options=options, name=name, tool=tool, flags=flags, shim=write_shim(source), unbound=unbound)
    options, unit = reading.options, reading.unit
    # gcc leaves out calls of what is called conj and has C's linkage, whatever its type is.
    flags += tuple(
        f"-fno-builtin-{name}" for name in sorted(f.name for f in unit.functions if 'extern "C"' in f.qualifiers)
    )
    host = replace(options, compile_args=host.compile_args)
    cell = CellBuild(tool, source, name, host, folder, flags, list_linker_flags(tool, host), write_shim(source))
    on_device = _keep_device(source, unit=unit, options=options, name=name)
    if reading.empty:
        raise replace(cell, source=on_device).find_fault_alone() or describe_nothing_to_bind(reading)
    plan, cell = cell.plan(unit, words=c.find_stand_ins(unit.identifiers | unit.calls), floats=True)
    with ThreadPoolExecutor(2, thread_name_prefix="ufunc_magic-cuda") as pool:
        # The compiler is a process of its own, so the Python forms and NVRTC cost nothing meanwhile.
        shown = pick_representatives(reading.roles.signatures)
        written = pool.submit(c.write_python_forms, reading.tree, shown, unit, options)
        checked = pool.submit(check, source, unit=unit, options=options, name=name)
        library = folder / "cell.so"
        signatures = reading.roles.signatures
        driver = cells.compile_driver(tool, signatures=signatures, parallel=bool(options.parallel), folder=folder)
        more = [
            *cells.compile_vector_math(tool, plan.math.functions, folder=folder),
            *cells.compile_exceptions(tool, folder=folder),
        ]

        def compile_text(text: str) -> tuple[codegen.Translation, CellBuild, bytes, Sequence[Diagnostic]]:
            translation, before, marker = _translate(reading, plan, text, checked=sanitized)
            built = replace(cell, before=before)
            try:
                diagnostics = built.compile_in_parts(translation, library, [driver, *more])
                if diagnostics is None:
                    arguments = built.list_arguments(library.name, driver, *more)
                    diagnostics = compilers.compile_shared(tool, translation.text, **arguments)
            except CompileError as fault:
                raise (fault if text != on_device else replace(built, source=text).blame(fault)) from None
            return translation, built, marker, diagnostics

        if sanitized:
            translation, cell, marker, diagnostics = compile_text(on_device)
        else:
            translation, cell, marker, diagnostics = try_with_loops(on_device, compile_text)
        python, verdict = written.result(), checked.result()
    code = library.read_bytes()
    prototypes, rest = kernel_prototypes.read(code, reading.exports, marker)
    functions, notes = _make_entries(
        reading, translation, types=codegen.read_types(code, translation), prototypes_=prototypes, python=python
    )
    facts = _add_memory(verdict.device, reading, rest)
    if not options.guard:
        facts["unguarded"] = True
    if sanitized:
        facts["lines"] = runtime.read_line_table(code, name=name)
    object_code = cell.make_object_code(code, functions, language="cuda", device=facts)
    report_data = ReportData(
        functions=tuple(functions),
        diagnostics=(*diagnostics, *verdict.diagnostics),
        notes=(*plan.notes, *notes, *verdict.notes, *find_races(source), *_list_unchecked(reading, checked=sanitized)),
        command=cell.command,
        loop_lines=reading.unit.loop_lines,
    )
    _, headers = inline_headers(source, name=name, folders=options.include)
    read_too = replace(cell, options=replace(options, src=(*options.src, *headers)))
    return CompiledCell(object_code, report_data, read_too.list_files_read(list_provided_folders(source)))


def _translate(
    reading: Reading, plan: cells.UnitPlan, on_device: str, *, checked: bool
) -> tuple[codegen.Translation, str, bytes]:
    """The unit of the device's part, the text before the cell in it, and the mark of the exports' types."""
    hosted, dynamic = declare_shared_memory(on_device, checked=checked)
    before = write_shim(reading.source, reading.unit, dynamic)
    seed = "\0".join([reading.source, reading.name, repr(reading.options.make_key())])
    after, pointers, marker = kernel_prototypes.write_exports(reading.exports, reading.variables, seed=seed)
    functions = [None if export.kernel else export.function for export in reading.exports]
    exports = codegen.contained([*zip(pointers, functions, strict=False)], cplus=True)
    after = "".join([*(f"__UFM_DYNAMIC_SHARED({word})\n" for word in dynamic), _FAILED, after, exports.text])
    translation = codegen.translate(
        hosted,
        unit=reading.unit,
        signatures=reading.roles.signatures,
        # The table has variables too, which have no callers.
        exports=replace(exports, pointers=pointers, text=after),
        options=reading.options,
        name=reading.name,
        math=plan.math,
        before=before,
    )
    return translation, before, marker


def _list_unchecked(reading: Reading, *, checked: bool) -> list[str]:
    kernels = reading.options.sanitize and reading.roles.kernels and not checked
    return ["--sanitize looks at the accesses of kernels with gcc on Linux alone"] if kernels else []


def _add_memory(facts: Mapping[str, Any], reading: Reading, numbers: Sequence[int]) -> dict[str, Any]:
    """The facts that the object code keeps for the device, with the cell's variables."""
    rows = kernel_prototypes.list_memory(numbers, reading.variables, first=len(reading.exports))
    return {**facts, **({"memory": rows} if rows else {})}


def write_shim(source: str, unit: Unit | None = None, dynamic: Collection[str] = ()) -> str:
    """The emulation's header, by its path: a folder on the search path would offer the cell more than this one."""
    words = {
        "DYNAMIC_SHARED": bool(dynamic),
        "GROUPS": "cooperative_groups" in source,
        "WARPS": bool(_LANES.search(source)),
        "STATIC_SHARED": unit is not None
        and any("__shared__" in f.text and "__global__" not in f.qualifiers for f in unit.functions),
        "KERNELS": unit is None or any("__global__" in f.qualifiers for f in unit.functions),
    }
    defines = "".join(f"#define __UFM_CUDA_{word}__ 1\n" for word, known in words.items() if known)
    own = "".join(f"#define {name} __ufm_own_{name}\n" for name in sorted(set(_DEFINED.findall(source))))
    own += "".join(f"#undef {name}\n" for name in sorted(set(_CONSTANT.findall(source))))
    return f"{defines}#include {codegen.quote_c(str(TEMPLATES / 'cuda.h'))}\n{own}"


def list_provided_folders(source: str) -> tuple[str, ...]:
    """The folders of headers written here and of NVIDIA's."""
    installed = nvrtc.find_installed_headers().values() if nvrtc.may_include(source) else ()
    return str(TEMPLATES), *installed, *nvrtc.find_cupy_headers(source)


def list_header_flags(source: str) -> tuple[str, ...]:
    """Where the headers are that a cell includes by CUDA's names: those written here, then NVIDIA's."""
    _, *installed = list_provided_folders(source)
    return f"-isystem{TEMPLATES / 'cuda'}", *(f"-idirafter{folder}" for folder in installed), "-Wno-unknown-pragmas"


# -------------------------------------------------------------------------------------- for the GPU


def compile_for_gpu(source: str, *, options: Options, name: str, why: str, measured: bool = False) -> CompiledCell:
    """The object code of a cell, without code for the CPU.

    Parameters
    ----------
    why : str
        Why there is none, for the report.
    measured : bool
        Compile to machine code as well, and report the resources of each kernel in the notes.

    Raises
    ------
    ParseError, SignatureError, CompileError, ToolchainError
    """
    unbound: frozenset[str] = frozenset()
    while True:
        try:
            return _compile_device_text(source, options=options, name=name, why=why, measured=measured, unbound=unbound)
        except CompileError as fault:
            errors = [d for d in fault.diagnostics if d.severity == "error"]
            more = find_unasked(source, errors, options=options) - unbound
            if not more:
                raise
            unbound |= more


def _compile_device_text(
    source: str, *, options: Options, name: str, why: str, measured: bool, unbound: Collection[str]
) -> CompiledCell:
    reading = read(source, options=options, name=name, tool=None, unbound=unbound)
    if reading.empty:
        if reading.tree.root.has_error:
            text = write_device_text(source, unit=reading.unit, options=reading.options, name=name)
            nvrtc.compile(text, name=name, cell=source, options=nvrtc.list_nvrtc_flags(options.list_changes()))
        raise describe_nothing_to_bind(reading)
    instances = codegen.make_instances(reading.roles.signatures, reading.unit, options=reading.options)
    expressions = [codegen.type_numbers(k, instance) for k, instance in enumerate(instances)]
    pointed = [word for export in reading.exports for word in kernel_prototypes.write_type_expressions(export)]
    pointed += [word for variable in reading.variables for word in variable.expressions]
    defined = [codegen.type_text(k, instance) for k, instance in enumerate(instances)]
    text = write_device_text(source, unit=reading.unit, options=reading.options, name=name)
    numbers = nvrtc.find_type_numbers(
        text,
        [*(word for words in expressions for word in words), *pointed],
        name=name,
        cell=source,
        before="\n".join([*defined, kernel_prototypes.TEMPLATES]),
        options=nvrtc.list_nvrtc_flags(reading.options.list_changes()),
    )
    types = []
    for words in expressions:
        types.append(numbers[: len(words)])
        numbers = numbers[len(words) :]
    functions, notes = _make_entries(
        reading,
        codegen.Translation("", instances, (), b"", False),
        types=types,
        prototypes_=kernel_prototypes.read_numbers(numbers, reading.exports),
        python=c.write_python_forms(
            reading.tree, pick_representatives(reading.roles.signatures), reading.unit, reading.options
        ),
    )
    taken = _find_resources(functions, text, source=source, name=name, options=reading.options) if measured else {}
    if taken:
        notes += [f"compiled for {next(iter(taken.values())).architecture} but not run: {device.explain_missing()}"]
        notes += [f"{kernel}: {numbers}" for kernel, numbers in taken.items()]
    object_code = ObjectCode(
        code=b"",
        target=runtime.describe_target(),
        functions=tuple(f.function_code for f in functions),
        language="cuda",
        toolchain=str(nvrtc.find() or ""),
        source=source,
        name=name,
        device=_add_memory(
            describe_for_device(text, source, tool=nvrtc.find()),
            reading,
            numbers[kernel_prototypes.count_of(reading.exports) :],
        ),
    )
    report_data = ReportData(tuple(functions), notes=(*filter(None, [why]), *notes))
    return CompiledCell(
        object_code,
        report_data,
        nvrtc.find_device_files_read(source, nvrtc.list_nvrtc_flags(reading.options.list_changes())),
    )


def _find_resources(
    functions: Sequence[CellFunction], text: str, *, source: str, name: str, options: Options
) -> dict[str, nvrtc.Resources]:
    """Return the resources of the cell's kernels, and of those that call a function for each element, by name."""
    # The name that works where a header has functions of that name.
    kernels = {f.name: f.function_code.calls[-1] for f in functions if f.kind == "kernel"}
    generated = []
    for f in functions:
        usual, instances = device.write_usual_kernels(f.function_code)
        generated.append(usual)
        many = len(instances) > 1
        kernels |= {f"{f.name}({types})" if many else f.name: entry for types, entry in instances.items()}
    unit = device.write_kernel_unit(text, name, "".join(generated))
    entries = tuple(dict.fromkeys(kernels.values()))
    taken = nvrtc.measure_resources(unit, entries, name=name, cell=source, options=options.list_changes())
    return {kernel: taken[entry] for kernel, entry in kernels.items() if entry in taken}


@dataclass(frozen=True)
class DeviceCheck:
    """NVRTC's messages, and the facts that the object code keeps."""

    device: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


def check(source: str, *, unit: Unit, options: Options, name: str) -> DeviceCheck:
    """Compile a cell for the GPU and throw the result away.

    Not with ``--device cpu``, and not where NVRTC is not installed.

    Raises
    ------
    CompileError
        If NVRTC refuses it on its own lines.  A header that only NVRTC lacks is a warning.
    """
    text = write_device_text(source, unit=unit, options=options, name=name)
    tool = None if options.device == "cpu" else nvrtc.find()
    device_part = describe_for_device(text, source, tool=tool)
    if tool is None:
        return DeviceCheck(device_part)
    # Reductions of a warp came with 8.0.
    arch = nvrtc.choose_architecture(tool, (8, 0) if "__reduce_" in text else None)
    try:
        compiled = nvrtc.compile(
            text, name=name, cell=source, arch=arch, options=nvrtc.list_nvrtc_flags(options.list_changes())
        )
    except CompileError as fault:
        own = [d for d in fault.diagnostics if d.severity == "error" and d.file == name]
        if not own or any("could not open source file" in d.message for d in own):
            warnings = (replace(d, severity="warning") if d.severity == "error" else d for d in fault.diagnostics)
            return DeviceCheck(device_part, tuple(replace(d, message=f"NVRTC: {d.message}") for d in warnings))
        raise CompileError(
            fault.message,
            remedy="With --device cpu it is compiled for the CPU alone.",
            diagnostics=fault.diagnostics,
            output=fault.output,
        ) from None
    except ToolchainError as fault:
        return DeviceCheck(device_part, notes=(f"not checked by NVRTC: {fault.marked}",))
    return DeviceCheck(device_part, tuple(replace(d, message=f"NVRTC: {d.message}") for d in compiled.diagnostics))


def describe_for_device(text: str, source: str, *, tool: nvrtc.Nvrtc | None = None) -> dict[str, Any]:
    """The facts that the object code keeps for the device: its compilers, and its unit where that is not the cell."""
    facts = {"arch": "", "nvrtc": "", "ltoir": ""}
    if tool is not None:
        facts |= {"arch": nvrtc.choose_architecture(tool), "nvrtc": ".".join(map(str, tool.version))}
    return facts | ({"unit": text} if text != source else {})


def _keep_device(source: str, *, unit: Unit, options: Options, name: str) -> str:
    """The cell and its headers without the host's part."""
    return blank_host(inline_headers(source, name=name, folders=options.include)[0], unit=unit)


def write_device_text(source: str, *, unit: Unit, options: Options, name: str) -> str:
    """The source for the GPU: the cell without the host's part, a copy for each type if it uses T."""
    types = codegen.choose_types(options.types)
    whole, source = source, _keep_device(source, unit=unit, options=options, name=name)
    if not types or not codegen.uses_t(unit):
        return source if source == whole else nvrtc.write_line_directive(name) + source
    return "\n".join(
        codegen.copy(source, prefix=codegen.make_prefix(t), kind=t, unit=unit, name=name, generic=False) for t in types
    )


# ------------------------------------------------------------------------ what the object code says


def _make_entries(
    reading: Reading,
    translation: codegen.Translation,
    *,
    types: Sequence[tuple[int, ...]],
    prototypes_: Sequence[tuple[str, ...]],
    python: Mapping[str, tuple[Signature, Form]],
) -> tuple[list[CellFunction], list[str]]:
    """The functions, ufuncs first, and notes.

    Parameters
    ----------
    reading : Reading
    translation : Translation
        Whose ``instances`` are the loops.
    types, prototypes_
        The types of the loops and of the exports, as a compiler reports them.
    python : mapping
        The Python forms.
    """
    foreign = {i.signature.name for i, t in zip(translation.instances, types, strict=True) if 255 in t}
    loops = group_loops(translation.instances, types, without=foreign, remedy="")
    functions = make_c_ufunc_entries(
        translation,
        types,
        python,
        reading.unit,
        without=foreign,
        remedy=None,
        ranked=False,
    )
    functions = [replace(f, calls=_name_calls(loops[f.name], translation)) for f in functions]
    notes = [*reading.roles.notes, *_note_narrow(functions)]
    notes += [f"{name} is not bound: the type of an operand is none of NumPy's" for name in sorted(foreign)]
    own = _define_own_types(reading)
    plain = {p.name: p for p in reading.roles.plain}
    callees = [export.callee for export in reading.exports]
    for index, (export, prototype) in enumerate(zip(reading.exports, prototypes_, strict=True)):
        p = None if export.kernel else plain[export.name]
        calls: tuple[str, ...]
        if p:
            calls = (write_plain_call(export.callee, export.function, prototype, status=export.status),)
        else:
            calls = _name_launches(export, alone=callees.count(export.callee) == 1)
        functions.append(
            replace(
                make_native_entry(
                    export.function,
                    name=export.name,
                    index=index,
                    parameters=[q.name for q in export.parameters],
                    declaration=kernel_prototypes.write_declaration(export, prototype, types=own) if p else "",
                    reason=(p.reason, p.remedy) if p else ("", ""),
                ),
                calls=calls,
                prototype=prototype if p else name_vectors(prototype, export.function),
                instance=export.instance,
            )
        )
    return functions, notes


def _name_launches(export: kernel_prototypes.Export, *, alone: bool) -> tuple[str, ...]:
    """The name of a kernel in C++ for NVRTC, and one that works where a header has functions of that name."""
    with_types = kernel_prototypes.write_pointer_expression(replace(export, overloaded=True))
    if not alone:
        return (with_types,)
    if 'extern "C"' in export.function.qualifiers:
        return (nvrtc.C_LINKAGE + export.function.name,)
    return (export.callee, with_types) if export.callee == export.function.name else (export.callee,)


def _name_calls(loops: Sequence[LoopCode], translation: codegen.Translation) -> tuple[str, ...]:
    instances = [translation.instances[loop.index] for loop in loops]
    calls = tuple(write_device_call(codegen.callee(i), i.signature) for i in instances)
    return calls if all(calls) else ()


def _define_own_types(reading: Reading) -> str:
    """Definitions of the cell's own types for cffi."""
    return c.type_definitions(reading.tree, cplus=True) if reading.exports else ""


def _note_narrow(functions: Sequence[CellFunction]) -> list[str]:
    """A word on ufuncs that refuse float64: one for all, since float is what people write for a GPU."""
    names = [f.name for f in functions if f.kind == "ufunc" and cells.narrow(f.name, f.loops)]
    if not names:
        return []
    refuse = "refuses" if len(names) == 1 else "refuse"
    remedy = "give x.astype('f4'), or write an overload for double"
    return [f"{', '.join(names)} {refuse} arrays of float64, which would lose digits: {remedy}"]
