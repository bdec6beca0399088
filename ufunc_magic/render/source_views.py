"""What became of a cell: its hot loops' assembly, the compiler's vectorization remarks, the C around it, by its lines.

A build keeps machine code only, so the cell is compiled once more, with line numbers, and the compiler leaves the
assembly and its remarks in a folder; nothing is disassembled and no further tool is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from ..model import ObjectCode, OptionError, ToolchainError
from ..runtime import cpu_features
from ..toolchain import Toolchain, find
from . import annotated, assembly, generated_source, hot_loops, remarks
from .annotated import Annotated
from .assembly import Listing
from .generated_source import Generated
from .hot_loops import Assembly, HotLoop
from .remarks import Vectorization

__all__ = ["Annotated", "Assembly", "Generated", "HotLoop", "Vectorization", "View", "Wanted", "views"]

Wanted = Literal["asm", "vec", "c", "annotate"]


class View(Protocol):
    """One way of looking at a cell."""

    def to_text(self) -> str: ...

    def to_html(self) -> str: ...


def views(
    object_code: ObjectCode, wanted: Sequence[Wanted], *, again: Callable[[Sequence[str]], object], folder: Path
) -> tuple[View, ...]:
    """What was asked for, in that order, from one further compilation.

    Parameters
    ----------
    object_code : ObjectCode
        Of a cell of C, C++ or CUDA for the CPU.
    wanted : sequence of {"asm", "vec", "c", "annotate"}
    again : callable
        Compiles the same cell in ``folder`` with further options of the compiler.
    folder : pathlib.Path
        Private and empty.

    Returns
    -------
    tuple of View

    Raises
    ------
    OptionError
        For a cell of Cython.
    ToolchainError
        If the compiler leaves no assembly.
    """
    if not wanted:
        return ()
    if object_code.language == "cython":
        # With line numbers the copies that its loops call are not made: what would be shown is not what runs.
        raise OptionError("--show is for cells of C and CUDA.", remedy="Write -a, which shows the C of each line.")
    tool = find(cplus=object_code.language == "c++")
    noted = folder / "remarks"
    again(_options(tool, noted))
    listing = _listing(folder, tool)
    features = cpu_features()
    loops = hot_loops.hot_loops(object_code, listing, features=features)
    made: list[View] = []
    for word in dict.fromkeys(wanted):
        match word:
            case "asm":
                made.append(hot_loops.Assembly(object_code.name, _lines(object_code), loops, object_code.toolchain))
            case "vec":
                said = noted.read_text(encoding="utf-8", errors="replace") if noted.exists() else ""
                made.append(remarks.vectorization(object_code, listing, said, loops))
            case "c":
                made.append(generated_source.generated(_unit(folder, tool), name=object_code.name))
            case "annotate":
                made.append(annotated.Annotated(object_code.name, _lines(object_code), loops))
    return tuple(made)


def _options(tool: Toolchain, noted: Path) -> tuple[str, ...]:
    match tool.kind:
        case "gcc":
            # -fdirectives-only: macros of the unit stay as they are written.  -fno-ipa-icf: functions that do the same
            # have their instructions each, and not one a jump to the other.
            made = "-g", "-save-temps=obj", "-fdirectives-only", "-fno-ipa-icf"
            return (*made, f"-fopt-info-vec-optimized-missed={noted}")
        case "clang":
            passes = "-foptimization-record-passes=loop-vectorize"
            return "-g", "-save-temps=obj", "-fsave-optimization-record", passes, f"-foptimization-record-file={noted}"
    raise ToolchainError(
        f"{tool.kind} keeps no assembly to show.",
        remedy="Install gcc or clang, or set CC to one of them.",
    )


def _listing(folder: Path, tool: Toolchain) -> Listing:
    for path in sorted(folder.glob("*.s")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "__ufm_loops" in text:  # and not that of a further source of the user's
            return assembly.read(text)
    raise ToolchainError(f"{tool} left no assembly of the cell.", remedy="Leave --show and --annotate out.")


def _unit(folder: Path, tool: Toolchain) -> str:
    for path in sorted([*folder.glob("*.i"), *folder.glob("*.ii")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "__ufm_loops" in text:
            return text
    raise ToolchainError(f"{tool} left no preprocessed unit of the cell.", remedy="Leave --show c out.")


def _lines(object_code: ObjectCode) -> tuple[str, ...]:
    return tuple(object_code.source.replace("\r\n", "\n").split("\n"))
