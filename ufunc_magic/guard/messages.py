"""A crash in words: what a trial met as one sentence, for the error or for the note, and the line of the cell.

`Fault.fatal` decides which of the two it is.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model import ObjectCode
from .trial_inputs import Case

#: Of what the code prints while it is tried out, which it does for every value.
_MOST_LINES = 10
#: Bytes from an operand within which a stray access is told from there.
_NEAR = 1 << 16


@dataclass(frozen=True)
class Fault:
    """How a case ended.

    Attributes
    ----------
    case : int
        Its number in the request; -1 while the library was opened.
    kind : str
        A signal's name, "stack", "endless", "memory", "exit", "stray".
    what : str
        A verb and its objects: ``"reads or writes memory that is not its own"``.
    signal : int
    writes : bool
        It wrote where it must not, or tried to.
    """

    case: int
    kind: str
    what: str
    signal: int = 0
    writes: bool = False

    def fatal(self, case: Case, *, first: bool) -> bool:
        """Whether the function must not be bound.

        ``first`` says that nothing of the function has worked before: then one that does not end never will.  On edge
        values a function may have no answer, as by C's own rules; but it must not write what is not its own.
        """
        if case.kind == "ordinary":
            return first or self.kind != "endless"
        return self.writes and case.kind != "empty"

    def ignored(self, case: Case) -> bool:
        """Whether nothing need be said: a loop that counts to the largest number takes its time."""
        return case.kind == "huge" and self.kind == "endless"


def fault_of(answer: dict[str, Any], cases: Sequence[Case]) -> Fault | None:
    """What ended the probe, or what it wrote outside of its operands; None if all went well."""
    at = answer["number"] - 1
    touched = answer["answer"].get("touched")
    if answer["done"]:
        if not touched:
            return None
        number, operand, side = touched[0]
        where = f"{'behind' if side > 0 else 'before'} {_operand(cases[number], operand)}"
        return Fault(number, "stray", f"writes {where}", writes=True)
    number = answer["signal"] or (os.WTERMSIG(answer["status"]) if os.WIFSIGNALED(answer["status"]) else 0)
    if answer["hung"]:
        if at < 0:
            return Fault(at, "endless", "does not end")
        return Fault(at, "endless", f"was still running at its time limit of {cases[at].message()['seconds']:g} s")
    if answer["overflow"]:
        return Fault(at, "stack", "makes a stack overflow (endless recursion, or a huge local array)", number)
    if answer["memory"] and number:
        return Fault(at, "memory", "reaches the memory limit of 1 GiB", number)
    if number:
        what = _died(number, answer, cases[at] if at >= 0 else None)
        return Fault(at, signal.Signals(number).name, what, number, writes=answer["access"] == 2)
    return Fault(at, "exit", f"ends the whole process: exit({os.WEXITSTATUS(answer['status'])})")


def _died(number: int, answer: dict[str, Any], case: Case | None) -> str:
    name = signal.Signals(number).name
    match name:
        case "SIGSEGV" | "SIGBUS" | "SIGFPE" | "SIGILL" if answer["access"] == 3:
            return f"raises {name}"
        case "SIGSEGV" | "SIGBUS":
            return f"{_place(answer, case)} ({name})"
        case "SIGFPE":
            return f"divides an integer by zero, or the smallest one by -1 ({name})"
        case "SIGILL" | "SIGTRAP":
            return f"runs into an instruction that stands for undefined behaviour ({name})"
        case "SIGABRT":
            last = answer["printed"].decode(errors="replace").strip().rpartition("\n")[2]
            return f"calls abort() ({name}){f': {last}' if last else ''}"
    return f"is ended by {name}"


def _place(answer: dict[str, Any], case: Case | None) -> str:
    """Which memory it was that the code must not touch."""
    address = answer["address"]
    verb = {1: "reads", 2: "writes"}.get(answer["access"], "reads or writes")
    near: list[tuple[int, str]] = []
    for operand, (start, place, size, end) in enumerate(answer["spots"] if case else ()):
        if place + size <= address < end + _NEAR:
            behind = address - place - size
            near.append((behind, f"{_behind(behind)} the end of {_operand(case, operand)}"))
        elif start - _NEAR <= address < place:
            near.append((place - address, f"before the start of {_operand(case, operand)}"))
    if near:
        return f"{verb} {min(near)[1]}"
    if address < 4096:
        allocates = case and "alloc" in case.function.source
        return "follows a null pointer" + (" (here malloc() gives none beyond 1 GiB)" if allocates else "")
    return f"{verb} memory that is not its own, at {address:#x}"


def _behind(count: int) -> str:
    return f"{count} byte{'s' * (count != 1)} behind" if count else "right behind"


def _operand(case: Case | None, number: int) -> str:
    if case is None:
        return f"operand {number}"
    names = (*case.function.parameters, *case.function.results)
    return names[number] if number < len(names) else f"operand {number}"


def fault_text(fault: Fault, case: Case | None, object_code: ObjectCode, *, line: int = 0) -> str:
    """The error's message."""
    name = object_code.name
    if case is None:
        return f"{name} {fault.what} while it is opened, before any function is called."
    lines = object_code.source.split("\n")
    quoted = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    where = f" on line {line} of {name}:\n    {quoted}" if quoted else "."
    return f"{case.call()} {fault.what}{where}"


def warning_text(faults: Sequence[tuple[Fault, Case]], *, sandbox: bool = False) -> str:
    """One note for all bad inputs of a function."""
    groups: dict[str, list[str]] = {}
    for fault, case in faults:
        groups.setdefault(fault.what, []).append(case.call())
    text = " ".join(f"{', '.join(dict.fromkeys(calls))}: {what}." for what, calls in groups.items())
    if sandbox:
        return f"{text} Such a call is an exception here, in the sandbox."
    endless = all(fault.kind == "endless" for fault, _ in faults)
    return f"{text} Such a call would {'never come back' if endless else 'end Python'}."


def printed_text(data: bytes, total: int) -> str:
    """What the code printed while it was tried out, cut to a few lines; ``""`` if it printed nothing."""
    lines = data.decode(errors="replace").rstrip("\n").split("\n")
    shown = "\n".join(line[:200] for line in lines[:_MOST_LINES])
    if not shown.strip():
        return ""
    more = f"\n... ({total:,} bytes in all)" if len(lines) > _MOST_LINES or total > len(data) else ""
    return f"While it was tried out in the helper process, the cell printed:\n{shown}{more}\n"


# -- the line of the cell, by the debug information of a second build


def line_of(code: bytes, addresses: Sequence[int], *, name: str) -> int:
    """The line of the cell that the innermost of some calls stands on, or 0.

    Parameters
    ----------
    code : bytes
        An ELF library with DWARF line tables.
    addresses : sequence of int
        Innermost first, counted from where the library was mapped.
    name : str
        What ``#line`` calls the cell.
    """
    from elftools.common.exceptions import DWARFError, ELFError  # only a crash needs it
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(io.BytesIO(code))
        if not file.has_dwarf_info():
            return 0
        rows = [row for unit in file.get_dwarf_info().iter_CUs() for row in _rows(file, unit, name)]
    except (ELFError, DWARFError, KeyError, ValueError):
        return 0
    lines = (line for address in addresses for start, stop, line in rows if start <= address < stop)
    return next(filter(None, lines), 0)


def _rows(file: Any, unit: Any, name: str) -> list[tuple[int, int, int]]:
    """Ranges of addresses that belong to the cell, with their lines."""
    program = file.get_dwarf_info().line_program_for_CU(unit)
    if program is None:
        return []
    first = 0 if program.header.version >= 5 else 1
    entries = program.header["file_entry"]
    ours = {n + first for n, entry in enumerate(entries) if entry.name.decode(errors="replace").endswith(name)}
    rows: list[tuple[int, int, int]] = []
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.file in ours and state.address > before.address:
            rows.append((before.address, state.address, before.line))
        before = None if state.end_sequence else state
    return rows
