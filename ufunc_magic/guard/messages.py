"""Describes a crash in a trial: one sentence for the error or the note, and the line in the cell."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import runtime
from ..model import CellFunction, Diagnostic, ObjectCode, mark_line
from .trial_inputs import Case

#: The message of glibc's assert(), with its line.
_ASSERTION = re.compile(r":(\d+): .*?: Assertion `(.*)' failed")
#: That of libstdc++'s containers with _GLIBCXX_ASSERTIONS.
_CONTAINER = re.compile(r":\d+: .*: Assertion '(.*)' failed")
#: What glibc says before abort(), by its beginning.
_OVERRUNS = {
    "*** stack smashing": "writes past the end of a local array",
    "*** buffer overflow": "would write past the end of a buffer in a function of the C library",
}
#: Kind of fault -> exception that a contained call raises; CellCrashed for all others.
_RAISES = {"assert": "CellAssertionError", "exit": "CellExited", "SIGABRT": "CellExited", "index": "CellIndexError"}
#: Kinds of faults that leave no damage in a contained call.
CLEAN = frozenset((*_RAISES, "SIGFPE", "SIGILL", "SIGTRAP", "overrun"))
#: Faults of a function that a note names, and inputs of each.
_MOST_NAMED = 3
#: Descriptions of the system calls that a trial forbids, by ``kind_of`` of templates/watch.c.
_SYSTEM = (
    "makes a system call that a trial does not allow",
    "opens a file for writing",
    "changes files or folders",
    "uses the network",
    "sends a signal",
    "starts a process",
)
REMEDY = "Fix it, or skip the trial with --no-guard (guard=False)"
#: Lines of the trial's output that are shown; the code prints for every value.
_MOST_LINES = 10
#: Elements of an array at NULL are no further from 0; programs, libraries and heaps are.
_FROM_NULL = 1 << 44
#: MiB that code has taken: at the limit of a trial, which refuses 128 MiB more, and while it goes on without an end.
_ALL_MEMORY, _MUCH_MEMORY = 896, 300
#: A stray access within so many bytes of an operand is described by that operand.
_NEAR = 1 << 16


@dataclass(frozen=True)
class Fault:
    """How a case ended.

    Attributes
    ----------
    case : int
        Its number in the request; -1 while the library was opened.
    kind : str
        A signal's name, "stack", "endless", "memory", "allocation", "exit", "stray", "system".
    what : str
        A verb and its objects: ``"reads or writes out of bounds"``.
    signal : int
    writes : bool
        It wrote where it must not, or tried to.
    near : bool
        It did so next to an operand, where other calls have memory of somebody else's.
    line : int
        The line that its own message names, or 0.
    """

    case: int
    kind: str
    what: str
    signal: int = 0
    writes: bool = False
    near: bool = False
    line: int = 0


def read_fault(answer: dict[str, Any], cases: Sequence[Case]) -> Fault | None:
    """Read the fault that ended the probe, or a write outside its operands; None if it succeeded."""
    at = answer["number"] - 1
    if touched := answer.get("touched"):
        operand, side = touched
        where = f"{'past the end' if side > 0 else 'before the start'} of {_name_operand(cases[at], operand)}"
        return Fault(at, "stray", f"writes {where}", writes=True, near=True)
    if answer["done"]:
        return None
    number = answer["signal"] or (os.WTERMSIG(answer["status"]) if os.WIFSIGNALED(answer["status"]) else 0)
    if answer["hung"]:
        if at < 0:
            return Fault(at, "endless", "does not return")
        what = f"was still running after {answer['limit']:g} s"
        if answer["memory"] > _MUCH_MEMORY:  # without the trial's limit, a call might take all that there is
            return Fault(at, "memory", f"{what}, with {answer['memory']} MiB of memory")
        return Fault(at, "endless", what)
    if number == signal.SIGSYS and answer["access"] == 4:
        return Fault(at, "system", _SYSTEM[answer["address"]])
    if answer["overflow"]:
        return Fault(at, "stack", "overflows the stack (endless recursion, or a huge local array)", number)
    if answer["memory"] > _ALL_MEMORY and number:
        return Fault(at, "memory", "reaches the memory limit of 1 GiB", number)
    last = answer["printed"].decode(errors="replace").strip().rpartition("\n")[2]
    if number == signal.SIGABRT and (failed := _ASSERTION.search(last)):
        return Fault(at, "assert", f"fails its assertion `{failed[2]}'", number, line=int(failed[1]))
    if number == signal.SIGABRT and (failed := _CONTAINER.search(last)):
        return Fault(
            at, "index", f"uses an index outside of a container, or an empty one: `{failed[1]}' is false", number
        )
    if number == signal.SIGABRT and (what := next((w for text, w in _OVERRUNS.items() if last.startswith(text)), "")):
        return Fault(at, "overrun", what, number)
    if number:
        if number in (signal.SIGSEGV, signal.SIGBUS) and answer["access"] != 3:
            return _read_access(at, number, answer, cases[at] if at >= 0 else None)
        return Fault(at, signal.Signals(number).name, _describe_signal(number, answer, last), number)
    return Fault(at, "exit", f"calls exit({os.WEXITSTATUS(answer['status'])})")


def _describe_signal(number: int, answer: dict[str, Any], last: str) -> str:
    name = signal.Signals(number).name
    match name:
        case "SIGSEGV" | "SIGBUS" | "SIGFPE" | "SIGILL" if answer["access"] == 3:
            return f"raises {name}"
        case "SIGFPE":
            return f"divides an integer by zero, or the smallest integer by -1 ({name})"
        case "SIGILL" | "SIGTRAP":
            return f"reaches an instruction that marks undefined behaviour ({name})"
        case "SIGABRT":
            return f"calls abort() ({name}){f': {last}' if last else ''}"
    return f"is ended by {name}"


def _read_access(at: int, number: int, answer: dict[str, Any], case: Case | None) -> Fault:
    """Read an access out of bounds: the verb, and the place relative to the operands."""
    address, writes, name = answer["address"], answer["access"] == 2, signal.Signals(number).name
    verb = {1: "reads", 2: "writes"}.get(answer["access"], "reads or writes")
    near: list[tuple[int, str]] = []
    for operand, (start, place, size, end) in enumerate(answer["spots"] if case else ()):
        if place + size <= address < end + _NEAR:
            distance = address - place - size
            near.append((distance, f"{_spell_distance(distance)} the end of {_name_operand(case, operand)}"))
        elif start - _NEAR <= address < place:
            near.append((place - address, f"before the start of {_name_operand(case, operand)}"))
    if near:
        return Fault(at, name, f"{verb} {min(near)[1]} ({name})", number, writes=writes, near=True)
    if answer["exhausted"] and min(address, (1 << 64) - address) < _FROM_NULL:
        return Fault(at, "allocation", "uses the NULL of malloc(), which gives no more than 1 GiB in a trial", number)
    what = "follows a null pointer" if address < 4096 else f"{verb} out of bounds"
    return Fault(at, name, f"{what} ({name})", number, writes=writes)


def _spell_distance(count: int) -> str:
    return f"{count} byte{'s' * (count != 1)} past" if count else "just past"


def _name_operand(case: Case | None, number: int) -> str:
    if case is None:
        return f"operand {number}"
    names = (*case.function.parameters, *case.function.results)
    return names[number] if number < len(names) else f"operand {number}"


def refuse_function(what: str, code: CellFunction, object_code: ObjectCode, *, line: int = 0) -> Diagnostic:
    """Make the diagnostic of an unbound function.  An unknown ``line`` (0) means the line of the function."""
    lines = ["", *object_code.source.split("\n")]
    line = line if 0 < line < len(lines) else min(code.line, len(lines) - 1)
    return Diagnostic(
        "error", f"{code.name} is not bound: {what}", object_code.name, line, text=lines[line], hint=f"{REMEDY}."
    )


def spell_refusal(refused: Diagnostic) -> str:
    """Spell a refusal for the error of a cell that binds nothing."""
    what = refused.message.partition(" is not bound: ")[2]
    return f"{what} on line {mark_line(refused.line)} of {refused.file}:\n    {refused.text.strip()}"


def write_warning(faults: Sequence[tuple[Fault, Case]], *, sandbox: bool = False) -> str:
    """Write one note on all bad inputs of a function."""
    groups: dict[str, list[str]] = {}
    for fault, case in faults:
        what = f"{fault.what} on line {mark_line(fault.line)}" if fault.line else fault.what
        groups.setdefault(what, []).append(case.call())
    shown = [(what, list(dict.fromkeys(calls))) for what, calls in list(groups.items())[:_MOST_NAMED]]
    text = " ".join(
        f"{', '.join(calls[:_MOST_NAMED])}{', ...' * (len(calls) > _MOST_NAMED)}: {what}." for what, calls in shown
    )
    ends = " or ".join(dict.fromkeys(_describe_ends([fault for fault, _ in faults], sandbox=sandbox)))
    return f"{text} {'In the sandbox, such' if sandbox else 'Such'} a call {ends}."


def _describe_ends(faults: Sequence[Fault], *, sandbox: bool) -> Iterator[str]:
    """Describe how a call of the bound function ends after each of the faults."""
    raising = [f for f in faults if not f.near and (sandbox or f.kind not in ("endless", "allocation"))]
    names = dict.fromkeys("an exception" if sandbox else _RAISES.get(f.kind, "CellCrashed") for f in raising)
    if names:
        yield f"raises {' or '.join(names)}"
    for fault in faults:
        if fault.near:
            yield f"may {'write' if fault.writes else 'read'} memory outside its array"
        elif fault.kind == "endless" and not sandbox:
            yield "runs until you press Stop"
        elif fault.kind == "allocation" and not sandbox and "CellCrashed" not in names:
            yield "raises CellCrashed if there is too little memory"


def quote_output(data: bytes, total: int) -> str:
    """Quote the output of the trial, cut to a few lines; ``""`` if there is none."""
    lines = data.decode(errors="replace").rstrip("\n").split("\n")
    shown = "\n".join(line[:200] for line in lines[:_MOST_LINES])
    if not shown.strip():
        return ""
    more = f"\n... ({total:,} bytes in all)" if len(lines) > _MOST_LINES or total > len(data) else ""
    return f"The cell printed this during its trial:\n{shown}{more}\n"


# -- the line of the cell, by the debug information of a second build


def find_line(code: bytes, addresses: Sequence[int], *, name: str) -> int:
    """Find the line of the cell of the innermost call, or 0.

    Parameters
    ----------
    code : bytes
        An ELF library with DWARF line tables.
    addresses : sequence of int
        Innermost first, relative to the start of the library.
    name : str
        Name of the cell in its ``#line`` directives.
    """
    rows = runtime.read_line_table(code, name=name)
    lines = (line for address in addresses for start, stop, line in rows if start <= address < stop)
    return next(filter(None, lines), 0)
