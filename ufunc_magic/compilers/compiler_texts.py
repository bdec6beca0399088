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
        _read_if_there(remarks),
        _find_left_text(folder, tool, "preprocessed unit", "*.i", "*.ii"),
    )


def read_loop_texts(
    folder: Path, *, cplus: bool, write_assembly: Callable[[Sequence[str]], Path | None]
) -> CompilerTexts | None:
    """Compile some loops once more, and read their assembly and the compiler's remarks; None where that cannot be had.

    Parameters
    ----------
    folder : pathlib.Path
        Private and empty.
    cplus : bool
    write_assembly : callable
        Compiles the loops to assembly with further options of the compiler: returns the file, or None.
    """
    tool = find(cplus=cplus)
    remarks = folder / "remarks"
    more = [word for word in _choose_text_options(tool, remarks) if word not in _TEXTS]
    # Functions of the cell that none of these loops calls would take most of the time.
    more += ["-fwhole-program"] if tool.kind == "gcc" else []
    assembly = write_assembly(more)
    return None if assembly is None else CompilerTexts(_read_if_there(assembly), _read_if_there(remarks), "")


#: Options by which further texts of a unit are kept.
_TEXTS = ("-save-temps=obj", "-fdirectives-only")


def _read_if_there(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _choose_text_options(tool: Toolchain, remarks: Path) -> tuple[str, ...]:
    match tool.kind:
        case "gcc":
            # -fdirectives-only: macros of the unit stay as they are written.  -fno-ipa-icf: functions that do the same
            # have their instructions each, and not one a jump to the other.  -internals: with the reasons for each kind
            # of vectors.
            listing = "-g1", "-save-temps=obj", "-fdirectives-only", "-fno-ipa-icf"
            return (*listing, f"-fopt-info-vec-optimized-missed-internals={remarks}")
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
