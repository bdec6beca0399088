"""A CUDA cell that only the GPU's own compiler has seen: no code for the CPU, the types as NVRTC knows them."""

from __future__ import annotations

from ... import codegen, runtime
from ...model import CompiledCell, ObjectCode, Options, ReportData
from ...toolchain import nvrtc
from ..function_entries import python_forms, representatives
from . import kernel_prototypes, nvrtc_check
from .cuda_entries import entries
from .cuda_reading import nothing_to_bind, read

__all__ = ["compile"]


def compile(source: str, *, options: Options, name: str, why: str) -> CompiledCell:
    """The object code of a cell, without code for the CPU.

    Parameters
    ----------
    why : str
        Why there is none, for the report.

    Raises
    ------
    ParseError, SignatureError, CompileError, ToolchainError
    """
    reading = read(source, options=options, name=name, tool=None)
    if reading.empty:
        raise nothing_to_bind(reading.unit, name)
    instances = codegen.instances(reading.roles.signatures, reading.unit, options=reading.options)
    wanted = [codegen.type_numbers(k, instance) for k, instance in enumerate(instances)]
    pointed = [word for export in reading.exports for word in kernel_prototypes.expressions(export)]
    defined = [codegen.type_text(k, instance) for k, instance in enumerate(instances)]
    text = nvrtc_check.device_text(source, unit=reading.unit, options=reading.options, name=name)
    numbers = nvrtc.types(
        text,
        [*(word for words in wanted for word in words), *pointed],
        name=name,
        cell=source,
        before="\n".join([*defined, kernel_prototypes.TEMPLATES]),
        options=nvrtc.flags(reading.options.changed()),
    )
    types = []
    for words in wanted:
        types.append(numbers[: len(words)])
        numbers = numbers[len(words) :]
    functions, notes = entries(
        reading,
        codegen.Translation("", instances, (), b"", False),
        types=types,
        prototypes_=kernel_prototypes.read_numbers(numbers, reading.exports),
        python=python_forms(reading.text, representatives(reading.roles.signatures), reading.unit, reading.options),
    )
    object_code = ObjectCode(
        code=b"",
        target=runtime.here(),
        functions=tuple(f.function_code for f in functions),
        language="cuda",
        toolchain=str(nvrtc.find() or ""),
        source=source,
        name=name,
        device=nvrtc_check.about(text, source, tool=nvrtc.find()),
    )
    return CompiledCell(object_code, ReportData(tuple(functions), notes=(why, *notes)))
