"""What a CUDA cell holds for the host, a pasted program's ``main`` say: left out of what is compiled."""

from __future__ import annotations

import re

from ...model import Diagnostic, Function, Unit
from .. import c

__all__ = ["called_by_device_code", "without"]


def without(source: str, *, unit: Unit | None = None) -> str:
    """The cell with spaces for the functions that are neither ``__device__`` nor ``__global__``.

    Those that device code calls stay, for the compiler to speak of.  Lines and columns stay as they are.
    """
    unit = unit or c.parse(source, cplus=True)
    called = _called(unit)
    for function in _host(unit):
        if function.name not in called and function.text and source.count(function.text) == 1:
            source = source.replace(function.text, re.sub(r"[^\n]", " ", function.text))
    return source


def called_by_device_code(unit: Unit, *, source: str, name: str) -> tuple[Diagnostic, ...]:
    """An error for each function of the host's that device code calls, which NVIDIA's compilers refuse."""
    called = _called(unit)
    lines = source.split("\n")
    return tuple(
        Diagnostic(
            "error",
            f"{f.name} is a function of the host, and {called[f.name]}, which is for the GPU, calls it",
            name,
            f.line,
            text=lines[f.line - 1] if 0 < f.line <= len(lines) else "",
            hint="Write __device__ in front of it, or __host__ __device__.",
        )
        for f in _host(unit)
        if f.name in called and not f.file
    )


def _host(unit: Unit) -> list[Function]:
    return [f for f in unit.functions if not f.qualifiers & {"__device__", "__global__"}]


def _called(unit: Unit) -> dict[str, str]:
    """Names that only functions of the host have and that device code calls, each with one that calls it."""
    device = [f for f in unit.functions if f.qualifiers & {"__device__", "__global__"}]
    names = {f.name for f in _host(unit)} - {f.name for f in device}
    return {called: f.name for f in device for called in sorted(f.calls & names)}
