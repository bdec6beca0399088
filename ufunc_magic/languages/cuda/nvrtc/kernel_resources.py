"""The registers, shared memory, stack and spills of kernels, as the assembler for a GPU reports them.

NVRTC assembles without a driver. The unit is linked: a function that it lacks is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .nvrtc_discovery import choose_architecture, find
from .nvrtc_program import ARCHITECTURE, compile, list_nvrtc_flags

#: The GPU that code is compiled for, unless the cell names one.
_CAPABILITY = (9, 0)
_KERNEL = re.compile(r"Compiling entry function '(?P<symbol>\w+)'.*?Used (?P<used>[^\n]*)", re.DOTALL)
_NUMBER = {
    "registers": r"(\d+) registers",
    "shared": r"(\d+) bytes smem",
    "stack": r"(\d+) bytes cumulative stack",
    "stored": r"(\d+) bytes spill stores",
    "loaded": r"(\d+) bytes spill loads",
}


@dataclass(frozen=True)
class Resources:
    """The resources of a GPU that one kernel takes.

    Attributes
    ----------
    architecture : str
        ``"sm_90"``.
    registers : int
        Per thread.
    shared, stack : int
        Bytes of static shared memory per block, and of stack per thread.
    stored, loaded : int
        Bytes of spills: instructions that store registers on the stack, and load them, because there are too few.
    """

    architecture: str
    registers: int
    shared: int
    stack: int
    stored: int
    loaded: int

    def __str__(self) -> str:
        spills = f"spills {self.stored:,} bytes" if self.stored or self.loaded else "no spills"
        stack = f", {self.stack:,} bytes of stack" if self.stack else ""
        return f"{self.registers} registers, {self.shared:,} bytes of shared memory{stack}, {spills}"


def measure_resources(
    source: str, entries: Sequence[str], *, name: str, cell: str, options: Mapping[str, Any]
) -> dict[str, Resources]:
    """Compile a unit of kernels to machine code and return the resources of each, by entry.

    Parameters
    ----------
    source, entries, name, cell
        As for `compile`.
    options : mapping
        The options of the cell; ``compile_args`` may name the GPU: ``-arch=sm_86``.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`.

    Returns
    -------
    dict
        Without the entries that the assembler does not report.
    """
    nvrtc = find()
    chosen = [match[1] for word in options.get("compile_args", ()) if (match := re.fullmatch(ARCHITECTURE, word))]
    arch = f"sm_{chosen[-1]}" if chosen else "sm_90"
    if nvrtc is not None and not chosen and not choose_architecture(nvrtc, _CAPABILITY).startswith("sm_"):
        arch = f"sm_{nvrtc.architectures[-1]}"
    words = ("-rdc=false", "--ptxas-options=-v", *list_nvrtc_flags(options))
    compiled = compile(source, name=name, cell=cell, output="cubin", arch=arch, options=words, entries=tuple(entries))
    by_symbol = {}
    for match in _KERNEL.finditer(compiled.log):
        numbers = {key: re.search(pattern, match[0]) for key, pattern in _NUMBER.items()}
        by_symbol[match["symbol"]] = Resources(arch, **{key: int(n[1]) if n else 0 for key, n in numbers.items()})
    return {e: by_symbol[s] for e, s in zip(entries, compiled.symbols, strict=True) if s in by_symbol}
