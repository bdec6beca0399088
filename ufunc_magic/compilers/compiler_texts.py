"""Further outputs of a compiler for one cell: assembly, vectorization remarks, the preprocessed unit.

A build keeps machine code only, so the cell is compiled once more, with line numbers; nothing is disassembled and no
further tool is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model import ToolchainError
from .discovery import Toolchain, find


@dataclass(frozen=True)
class CompilerTexts:
    """The texts of one unit; ``remarks`` is ``""`` where the compiler had none."""

    assembly: str
    remarks: str
    unit: str


def read_compiler_texts(
    folder: Path, *, cplus: bool, compile_again: Callable[[Sequence[str]], object]
) -> CompilerTexts:
    """Compile once more and read the compiler's further outputs.

    Parameters
    ----------
    folder : pathlib.Path
        Private and empty.
    cplus : bool
    compile_again : callable
        Compiles the cell in ``folder`` with further options of the compiler.

    Raises
    ------
    ToolchainError
        If the compiler leaves no assembly.
    """
    tool = find(cplus=cplus)
    remarks = folder / "remarks"
    compile_again(_choose_text_options(tool, remarks))
    return CompilerTexts(
        _find_left_text(folder, tool, "assembly", "*.s"),
        remarks.read_text(encoding="utf-8", errors="replace") if remarks.exists() else "",
        _find_left_text(folder, tool, "preprocessed unit", "*.i", "*.ii"),
    )


def _choose_text_options(tool: Toolchain, remarks: Path) -> tuple[str, ...]:
    match tool.kind:
        case "gcc":
            # -fdirectives-only: macros of the unit stay as they are written.  -fno-ipa-icf: functions that do the same
            # have their instructions each, and not one a jump to the other.
            listing = "-g1", "-save-temps=obj", "-fdirectives-only", "-fno-ipa-icf"
            return (*listing, f"-fopt-info-vec-optimized-missed={remarks}")
        case "clang":
            passes = "-foptimization-record-passes=loop-vectorize"
            return (
                "-g",
                "-save-temps=obj",
                "-fsave-optimization-record",
                passes,
                f"-foptimization-record-file={remarks}",
            )
    raise ToolchainError(
        f"{tool.kind} does not provide an assembly listing.", remedy="Install gcc or clang, or set CC to one of them."
    )


def _find_left_text(folder: Path, tool: Toolchain, what: str, *patterns: str) -> str:
    """A text of the unit that the compiler has left, and not that of a further source of the user's."""
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "__ufm_loops" in text:
            return text
    raise ToolchainError(f"{tool} did not write the {what} of the cell.", remedy="Remove --show and --annotate.")
