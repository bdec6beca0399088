"""A unit of kernels as machine code for one GPU, kept in the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .nvrtc_cache import kept
from .nvrtc_discovery import Nvrtc, architecture, find
from .nvrtc_program import Output, compile, flags

__all__ = ["cubin"]


def cubin(
    source: str, *, name: str, cell: str, arch: str, options: Mapping[str, Any], nvrtc: Nvrtc | None = None
) -> bytes:
    """Compile a whole unit, which the driver then loads: ``cupy.cuda.Module().load(...)``.

    Parameters
    ----------
    source, name, cell
        As for `compile`.
    arch : str
        ``"sm_90"``; of a device that is newer than NVRTC it becomes PTX, which the driver translates.
    options : mapping
        The cell's, as for `flags`.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`.
    """
    nvrtc = nvrtc or find()
    if nvrtc is not None and arch.startswith("sm_"):
        arch = architecture(nvrtc, divmod(int(arch.removeprefix("sm_")), 10))
    words = ("-rdc=false", *flags(options))
    output: Output = "cubin" if arch.startswith("sm_") else "ptx"

    def make() -> bytes:
        return compile(source, name=name, cell=cell, output=output, arch=arch, options=words, nvrtc=nvrtc).code

    return kept("cubin 1", source, arch=arch, options=words, make=make)
