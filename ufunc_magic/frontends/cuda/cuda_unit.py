"""From a CUDA cell to its object code: by a C++ compiler for the CPU, by NVRTC, or by both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ... import toolchain
from ...model import CompiledCell, Options, ToolchainError
from ...runtime import device
from ...toolchain import nvrtc
from . import device_only, emulation, host_code, refusals

__all__ = ["compile"]


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``.

    Raises
    ------
    ParseError
        If it defines no function for the GPU.
    SignatureError, CompileError, LinkError, ToolchainError
    """
    options = replace(options, cplus=True)
    refused = refusals.find(source, name=name)
    if refused and (refused := refusals.find(host_code.without(source), name=name)):
        if options.device == "cpu" or not (device.available() and nvrtc.find()):
            raise refusals.refuse(refused, name=name)
        why = f"{name} has no emulation on the CPU: line {refused[0].line}: {refused[0].message}"
        return device_only.compile(source, options=options, name=name, why=why)
    try:
        tool = toolchain.find(cplus=True)
    except ToolchainError as fault:
        if options.device == "cpu" or not nvrtc.find():
            raise
        why = f"{name} has no emulation on the CPU: {fault.message} {fault.remedy}"
        return device_only.compile(source, options=options, name=name, why=why)
    return emulation.compile(source, options=options, name=name, folder=folder, tool=tool)
