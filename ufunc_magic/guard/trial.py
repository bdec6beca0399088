"""New code runs in the helper process first: what it does there becomes an error, or a note.

`tried` stands between the compiler and the cache, so that what the cache has was tried out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import runtime
from ..model import CellCrashed, CellFunction, CompiledCell, ObjectCode, Options
from . import guard_process, watch_library
from .crash_lines import line_of
from .messages import Fault, fault_of, fault_text, printed_text, warning_text
from .rerun import may_run_twice
from .sanitize import sanitized
from .trial_inputs import Case, cases, singly

__all__ = ["Tried", "begin", "tried", "untried"]

REMEDY = "Nothing was bound. Mend it, or bind it untried with --no-guard (guard=False)."
#: Bytes that a probe may map beyond what the helper has.
MEMORY = 1 << 30
#: Seconds for opening the library and running what runs by itself then.
OPENING = 10.0
#: Seconds after which the functions that are left are bound untried.
BUDGET = 3.0
#: Faulty inputs of one function that a note names.
_MOST_NAMED = 2
#: What a function must not be made to do by somebody who only tries it out.
_UNTRIED = frozenset(
    "fopen open creat remove unlink rename mkdir rmdir system popen fork vfork execl execv execve kill sleep usleep "
    "nanosleep socket connect bind send sendto".split()
)

#: Compiles the cell again with more arguments for the compiler.
Again = Callable[[Sequence[str]], CompiledCell]


@dataclass(frozen=True)
class Tried:
    """What came of it: the cell, with notes and more caution, and what the code printed meanwhile."""

    cell: CompiledCell
    printed: str = ""


def begin() -> None:
    """Have processes made ready while the compiler is at work.

    Raises
    ------
    ToolchainError
        If there is no compiler.
    """
    guard_process.start(str(watch_library.library()))


def untried(options: Options) -> str:
    """A note on code that is bound without a trial."""
    why = "this system cannot fork a process for it" if options.guard else "--no-guard"
    return f"not tried out first ({why}): a crash would end {'its sandbox' if options.sandbox else 'Python'}."


def tried(
    cell: CompiledCell,
    *,
    path: Path | None = None,
    again: Again | None = None,
    sanitize: bool = False,
    lenient: bool = False,
) -> Tried:
    """Run every loop of ``cell`` in the helper process.

    Parameters
    ----------
    cell : CompiledCell
        Just compiled.
    path : Path
        A file that holds it; needed only where the system has no files in memory.
    again : callable
        Compiles the same cell with more arguments, to find the line that a crash happened on.

    sanitize : bool
        Then run a build with sanitizers, too; takes ``again``.
    lenient : bool
        Only what crashes on ordinary values is an error: for code that runs in a sandbox anyway.

    Raises
    ------
    CellCrashed
        If a function crashes, exits, does not end or writes where it must not on ordinary values, or writes where it
        must not on edge values.  What else happens on those is a note.
    """
    object_code = cell.object_code
    if not object_code.code:  # a CUDA cell on a machine without a compiler for the host
        return Tried(cell)
    if object_code.module and not may_run_twice(object_code.source):
        note = "not tried out first: the cell's own statements, which are needed for it, would run twice."
        return Tried(cell.noted(note))
    trial = _Trial(object_code, path)
    ufuncs = [f for f in cell.report_data.functions if f.kind == "ufunc" and _may_run(f, object_code)]
    wanted = [case for code in ufuncs for case in cases(code)]
    faults: dict[str, list[tuple[Fault, Case]]] = {}
    for fault, case in trial.run(wanted):
        first = case.function.name not in trial.worked
        if fault.fatal(case, first=first) and not (lenient and case.kind != "ordinary"):
            raise _crashed(fault, case, trial, again)
        if not fault.ignored(case):
            faults.setdefault(case.function.name, []).append((fault, case))
    made = _noted(cell, faults, trial)
    if sanitize and again is not None:
        made = sanitized(made, wanted, again=again, ask=_ask_sanitized)
    return Tried(made, trial.printed)


def _may_run(code: CellFunction, object_code: ObjectCode) -> bool:
    if object_code.module and not code.timed:
        return False  # it may work on objects, files, anything
    return not _UNTRIED.intersection(code.effects)


@dataclass
class _Trial:
    """One object in the helper: requests until every case was run or has failed."""

    object_code: ObjectCode
    path: Path | None
    printed: str = ""
    spent: float = 0.0
    changed: dict[str, set[str]] = field(default_factory=dict)
    threads: int = 0
    untried: tuple[str, ...] = ()
    refused: str = ""
    worked: set[str] = field(default_factory=set)

    def run(self, wanted: Sequence[Case]) -> Iterator[tuple[Fault, Case]]:
        """Every case; a fault for each that failed, of several elements for the first that fail alone."""
        waiting = list(wanted)
        while True:
            answer = self.ask(waiting)
            fault = fault_of(answer, waiting)
            self._note(answer, waiting)
            self.refused = answer["answer"].get("refused", "")
            if fault is None:
                del waiting[: answer["answer"].get("ran", len(waiting))]
                self._left(waiting)
                return
            if fault.case < 0:
                raise CellCrashed(fault_text(fault, None, self.object_code), remedy=REMEDY)
            case = waiting[fault.case]
            self.worked |= {c.function.name for c in waiting[: fault.case] if c.kind == "ordinary"}
            del waiting[: fault.case + 1]
            if len(case.rows) > 1:
                yield from self._alone(case, fault)
            else:
                yield fault, case
            if fault.kind == "endless":  # each of its other values would take as long
                waiting = [c for c in waiting if c.function is not case.function]
            if not waiting or self.spent > BUDGET:
                self._left(waiting)
                return

    def _left(self, waiting: Sequence[Case]) -> None:
        """Functions of which no ordinary value was tried."""
        first: dict[str, bool] = {}
        for case in waiting:
            first.setdefault(case.function.name, case.kind == "ordinary" and case.at_end and case.rows[:1] != ())
        self.untried = tuple(name for name, untouched in first.items() if untouched)

    def _alone(self, case: Case, whole: Fault) -> Iterator[tuple[Fault, Case]]:
        """The elements of a case that fail by themselves; the case where none does."""
        rows, found = singly(case), 0
        while rows and found < _MOST_NAMED and self.spent < BUDGET + 5:
            fault = fault_of(self.ask(rows), rows)
            if fault is None or fault.case < 0:
                break
            self.worked |= {c.function.name for c in rows[: fault.case] if c.kind == "ordinary"}
            yield fault, rows[fault.case]
            found += 1
            del rows[: fault.case + 1]
        if not found:
            yield whole, case

    def ask(self, asked: Sequence[Case]) -> dict[str, Any]:
        answer = _ask(self.object_code, asked, path=self.path)
        self.spent += answer["seconds"]
        if answer["printed"] and not self.printed:
            self.printed = printed_text(answer["printed"], answer["total"])
        return answer

    def _note(self, answer: dict[str, Any], asked: Sequence[Case]) -> None:
        for number, what in answer["answer"].get("changed", ()):
            self.changed.setdefault(asked[number].function.name, set()).update(what)
        self.threads = max(self.threads, answer["answer"].get("threads", 0))


def _ask_sanitized(
    object_code: ObjectCode, asked: Sequence[Case], helper: guard_process.Helper, **more: Any
) -> dict[str, Any]:
    """The sanitizer has handlers, limits and red zones of its own."""
    request = _request(object_code, asked, watched=False, memory=0, malloc=True, **more)
    with runtime.memory_file(object_code.code) as descriptor:
        return helper.ask(request, [descriptor])


def _ask(object_code: ObjectCode, asked: Sequence[Case], *, path: Path | None) -> dict[str, Any]:
    request = _request(object_code, asked)
    with runtime.memory_file(object_code.code) as descriptor:
        if descriptor < 0:
            request["path"] = str(path)
        return guard_process.ask(request, [descriptor] if descriptor >= 0 else [])


def _request(object_code: ObjectCode, asked: Sequence[Case], **more: Any) -> dict[str, Any]:
    loops = max((loop.index for f in object_code.functions for loop in f.loops), default=-1) + 1
    return {
        "task": "try",
        "watch": str(watch_library.library()),
        "watched": True,
        "memory": MEMORY,
        "opening": OPENING,
        "budget": BUDGET,
        "module": object_code.module,
        "preload": [*object_code.preload, *["numpy"] * ("numpy" in object_code.source)],
        "search": [os.path.abspath(folder) for folder in sys.path] if object_code.module else [],
        "host": list(guard_process.HOST),
        "loops": loops,
        "size": len(object_code.code),
        "cases": [case.message() for case in asked],
        "malloc": False,
        "results": False,
        "marks": False,
        "start": 0,
        "path": "",
        **more,
    }


def _crashed(fault: Fault, case: Case, trial: _Trial, again: Again | None) -> CellCrashed:
    """The error, with the line where a build with debug information crashes the same way."""
    line = 0
    if again is not None and fault.signal:
        second = again(watch_library.DEBUG).object_code
        renamed = {f.name: f for f in second.functions}
        if case.function.name in renamed:
            answer = _ask(second, [case], path=trial.path)
            base = answer["base"]
            # A return address lies behind its call.
            addresses = [frame - 1 - base for frame in answer["frames"]]
            # Of an endless recursion the line that calls.
            addresses.insert(len(addresses) if fault.kind == "stack" else 0, answer["pc"] - base)
            line = line_of(second.code, addresses, name=trial.object_code.name)
    return CellCrashed(fault_text(fault, case, trial.object_code, line=line), remedy=REMEDY)


def _noted(cell: CompiledCell, faults: dict[str, list[tuple[Fault, Case]]], trial: _Trial) -> CompiledCell:
    """The cell with what was found in its notes; functions with bad inputs are called with care from now on."""
    functions = []
    sandbox = bool(cell.object_code.options.get("sandbox"))
    for code in cell.report_data.functions:
        found = faults.get(code.name, [])
        notes = [warning_text(found, sandbox=sandbox)] if found else []
        if code.name in trial.changed:
            what = ", ".join(sorted(trial.changed[code.name]))
            notes.append(f"{code.name} changes what belongs to the whole process and leaves it so: {what}.")
        if notes:
            code = replace(code, notes=(*code.notes, *notes), cautious=code.cautious or bool(found))
        functions.append(code)
    more = []
    if trial.threads > 0:
        more.append(f"threads that the cell has started go on after its functions return: {trial.threads}.")
    if trial.refused:
        more.append(f"not tried out first: {trial.refused}.")
    if trial.untried:
        more.append(f"not tried out first, for want of time: {', '.join(trial.untried[:5])}, ...")
    return replace(cell, report_data=replace(cell.report_data, functions=tuple(functions))).noted(*more)
