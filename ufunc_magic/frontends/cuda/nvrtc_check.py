"""A look at a cell by the GPU's own compiler, where it is installed, while the host's is at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ... import codegen
from ...model import CompileError, Diagnostic, Options, ToolchainError, Unit
from ...toolchain import nvrtc
from . import host_code

__all__ = ["Verdict", "about", "check", "device_text"]


@dataclass(frozen=True)
class Verdict:
    """What NVRTC had to say, and what the object code keeps of it."""

    device: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


def check(source: str, *, unit: Unit, options: Options, name: str) -> Verdict:
    """Compile a cell for the GPU and throw the result away.

    Not with ``--device cpu``, and not where NVRTC is not installed.

    Raises
    ------
    CompileError
        If NVRTC refuses it on its own lines.  A header that only NVRTC lacks is a warning.
    """
    text = device_text(source, unit=unit, options=options, name=name)
    tool = None if options.device == "cpu" else nvrtc.find()
    kept = about(text, source, tool=tool)
    if tool is None:
        return Verdict(kept)
    arch = nvrtc.architecture(tool)
    try:
        made = nvrtc.compile(
            text, name=name, cell=source, arch=arch, options=nvrtc.flags(options.changed()), nvrtc=tool
        )
    except CompileError as fault:
        own = [d for d in fault.diagnostics if d.severity == "error" and d.file == name]
        if not own or any("could not open source file" in d.message for d in own):
            return Verdict(kept, tuple(_as_warning(d) for d in fault.diagnostics))
        raise CompileError(
            fault.message,
            remedy="With --device cpu it is compiled for the CPU alone.",
            diagnostics=fault.diagnostics,
            output=fault.output,
        ) from None
    except ToolchainError as fault:
        return Verdict(kept, notes=(f"not checked by NVRTC: {fault.message}",))
    return Verdict(kept, tuple(replace(d, message=f"NVRTC: {d.message}") for d in made.diagnostics))


def about(text: str, source: str, *, tool: nvrtc.Nvrtc | None = None) -> dict[str, Any]:
    """What the object code keeps for the device: who has seen it, and its unit where that is not the cell itself."""
    seen = {"arch": "", "nvrtc": "", "ltoir": ""}
    if tool is not None:
        seen |= {"arch": nvrtc.architecture(tool), "nvrtc": ".".join(map(str, tool.version))}
    return seen | ({"unit": text} if text != source else {})


def device_text(source: str, *, unit: Unit, options: Options, name: str) -> str:
    """What to compile for the GPU: the cell without what is the host's; of one in terms of T, a copy for each type."""
    types = codegen.types_wanted(options.types)
    source = host_code.without(source, unit=unit)
    if not types or not codegen.in_terms_of_t(unit):
        return source
    return "\n".join(
        codegen.copy(source, prefix=codegen.prefix_of(t), kind=t, unit=unit, name=name, generic=False) for t in types
    )


def _as_warning(d: Diagnostic) -> Diagnostic:
    return replace(d, severity="warning" if d.severity == "error" else d.severity, message=f"NVRTC: {d.message}")
