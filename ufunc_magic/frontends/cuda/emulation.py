"""A CUDA cell compiled for the CPU, under the header that emulates what CUDA adds to C++."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ... import codegen, toolchain
from ...model import CompiledCell, CompileError, Diagnostic, ObjectCode, Options, ReportData, Unit
from .. import c, cell_settings, native
from ..frontend import compiler_flags, linker_flags
from ..function_entries import python_forms, representatives
from . import cuda_messages, host_code, kernel_prototypes, nvrtc_check
from .cuda_entries import entries
from .cuda_reading import Reading, nothing_to_bind, read

__all__ = ["compile"]

_TEMPLATES = Path(__file__).parents[2] / "templates"
_DYNAMIC = re.compile(r"(\bextern\b[^;(){}]*?\b)__shared__(\b[^;{}]*?(\w+)\s*\[\s*\])")
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


def compile(source: str, *, options: Options, name: str, folder: Path, tool: toolchain.Toolchain) -> CompiledCell:
    """Compile a cell in the private ``folder`` with a C++ compiler; NVRTC, where it is, checks it meanwhile.

    Raises
    ------
    ParseError, SignatureError, CompileError, LinkError, ToolchainError
    """
    try:
        return _compiled(source, options=options, name=name, folder=folder, tool=tool)
    except CompileError as fault:
        raise cuda_messages.improved(fault) from None


def _compiled(source: str, *, options: Options, name: str, folder: Path, tool: toolchain.Toolchain) -> CompiledCell:
    description = native.described(tool)
    flags = [*compiler_flags(tool, options), f"-isystem{_TEMPLATES / 'cuda'}", "-Wno-unknown-pragmas"]
    link = linker_flags(tool, options)
    reading = read(source, options=options, name=name, tool=tool, flags=flags, shim=_shim())
    options, unit = reading.options, reading.unit
    if reading.empty:
        alone = cell_settings.fault_alone(
            tool, source, flags=flags, options=options, name=name, folder=folder, before=_shim()
        )
        raise alone or nothing_to_bind(unit, name)
    if called := host_code.called_by_device_code(unit, source=source, name=name):
        raise CompileError(f"{name} does not compile: {_counted(called)}.", diagnostics=called)
    plan = _plan(unit, options, description, tool)
    openmp = ("-fopenmp",) if options.parallel and description.openmp and re.search(r"\bomp\b|_OPENMP", source) else ()
    flags, link = [*flags, *plan.flags, *openmp], (*link, *plan.link)
    translation, shim, marker = _translated(reading, plan)
    with ThreadPoolExecutor(2, thread_name_prefix="ufunc_magic-cuda") as pool:
        # The compiler is a process of its own, so the Python forms and NVRTC cost nothing meanwhile.
        shown = representatives(reading.roles.signatures)
        written = pool.submit(python_forms, reading.text, shown, unit, options)
        checked = pool.submit(nvrtc_check.check, source, unit=unit, options=options, name=name)
        library = folder / "cell.so"
        with cell_settings.blaming_the_cell(
            tool, source, flags=flags, options=options, name=name, folder=folder, before=shim
        ):
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
        python, verdict = written.result(), checked.result()
    code = library.read_bytes()
    functions, notes = entries(
        reading,
        translation,
        types=codegen.read_types(code, translation),
        prototypes_=kernel_prototypes.read(code, reading.exports, marker),
        python=python,
    )
    object_code = ObjectCode(
        code=code,
        target=native.target(code, options),
        functions=tuple(f.function_code for f in functions),
        language="cuda",
        toolchain=description.version,
        source=source,
        name=name,
        threads=bool(options.parallel),
        device=verdict.device,
    )
    report_data = ReportData(
        functions=tuple(functions),
        diagnostics=(*diagnostics, *verdict.diagnostics),
        notes=(*plan.notes, *notes, *verdict.notes),
        command=shlex.join([*tool.command, *flags, "-", *options.src, *link]),
    )
    return CompiledCell(object_code, report_data)


def _translated(reading: Reading, plan: native.UnitPlan) -> tuple[codegen.Translation, str, bytes]:
    """The unit, what stands before the cell in it, and the mark of the exports' types."""
    hosted, dynamic = _with_dynamic_memory(host_code.without(reading.source, unit=reading.unit))
    shim = _shim(reading.unit, dynamic)
    seed = "\0".join([reading.source, reading.name, repr(reading.options.key())])
    after, pointers, marker = kernel_prototypes.exports_text(reading.exports, seed=seed)
    translation = codegen.translate(
        hosted,
        unit=reading.unit,
        signatures=reading.roles.signatures,
        plain=pointers,
        options=reading.options,
        name=reading.name,
        simd=plan.simd,
        judge=plan.judge,
        before=shim,
        after="".join([*(f"__UFM_DYNAMIC_SHARED({word})\n" for word in dynamic), _FAILED, after]),
    )
    return translation, shim, marker


def _counted(errors: Collection[Diagnostic]) -> str:
    return "1 error" if len(errors) == 1 else f"{len(errors)} errors"


def _shim(unit: Unit | None = None, dynamic: Collection[str] = ()) -> str:
    """The emulation's header, by its path: a folder on the search path would offer the cell more than this one."""
    wanted = "#define __UFM_CUDA_DYNAMIC_SHARED__ 1\n" if dynamic else ""
    if unit is None or any("__global__" in f.qualifiers for f in unit.functions):
        wanted += "#define __UFM_CUDA_KERNELS__ 1\n"
    return f"{wanted}#include {codegen.c_string(str(_TEMPLATES / 'cuda.h'))}\n"


def _with_dynamic_memory(source: str) -> tuple[str, Sequence[str]]:
    """The cell as the host compiles it, and its ``extern __shared__`` arrays; see ``templates/cuda_words.h``."""
    if "__shared__" not in source:
        return source, ()
    names = dict.fromkeys(found[3] for found in _DYNAMIC.finditer(source))
    return _DYNAMIC.sub(r"\1__dynshm__\2", source), tuple(names)


def _plan(
    unit: Unit, options: Options, description: toolchain.Description, tool: toolchain.Toolchain
) -> native.UnitPlan:
    words = unit.identifiers | unit.calls
    return native.plan(
        words | c.stand_for(words) | ({"errno"} if "<errno.h>" in unit.includes else set()),
        fenv="<fenv.h>" in unit.includes,
        own=frozenset(unit.names),
        floats=True,
        options=options,
        description=description,
        tool=tool,
    )
