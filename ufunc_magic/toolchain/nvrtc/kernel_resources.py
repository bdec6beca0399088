"""What a kernel takes of a GPU: registers, shared memory, stack and spills, as the assembler for that GPU says.

NVRTC assembles without a driver, and nothing is left open: a function that the unit lacks is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .nvrtc_discovery import architecture, find
from .nvrtc_program import ARCHITECTURE, compile, flags

#: What people know best, where nobody says for which GPU.
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
    """Of one kernel.

    Attributes
    ----------
    architecture : str
        ``"sm_90"``.
    registers : int
        Of each thread.
    shared, stack : int
        Bytes: of static shared memory of a block, of a thread's stack.
    stored, loaded : int
        Bytes of instructions that move registers to the stack and back, because there are too few.
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


def resources(
    source: str, entries: Sequence[str], *, name: str, cell: str, options: Mapping[str, Any]
) -> tuple[Resources, ...]:
    """Compile a unit of kernels to machine code, and say what each takes.

    Parameters
    ----------
    source, entries, name, cell
        As for `compile`.
    options : mapping
        The cell's; ``compile_args`` may name the GPU: ``-arch=sm_86``.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`.
    """
    nvrtc = find()
    asked = [match[1] for word in options.get("compile_args", ()) if (match := re.fullmatch(ARCHITECTURE, word))]
    arch = f"sm_{asked[-1]}" if asked else "sm_90"
    if nvrtc is not None and not asked and not architecture(nvrtc, _CAPABILITY).startswith("sm_"):
        arch = f"sm_{nvrtc.architectures[-1]}"
    words = ("-rdc=false", "--ptxas-options=-v", *flags(options))
    compiled = compile(
        source, name=name, cell=cell, output="cubin", arch=arch, options=words, entries=tuple(dict.fromkeys(entries))
    )
    symbols = dict(zip(dict.fromkeys(entries), compiled.symbols, strict=True))
    known = {}
    for match in _KERNEL.finditer(compiled.log):
        numbers = {key: re.search(pattern, match[0]) for key, pattern in _NUMBER.items()}
        known[match["symbol"]] = Resources(arch, **{key: int(n[1]) if n else 0 for key, n in numbers.items()})
    nothing = Resources(arch, 0, 0, 0, 0, 0)
    return tuple(known.get(symbols[entry], nothing) for entry in entries)
