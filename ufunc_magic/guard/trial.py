"""New code runs in the helper process first: what it does there becomes an error, or a note (`messages` says which).

`try_out` stands between the compiler and the cache, so that what the cache has was tried out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import runtime, store
from ..model import CellCrashed, CellFunction, CompiledCell, ObjectCode, Options
from . import guard_process
from .messages import Fault, fault_of, fault_text, line_of, printed_text, warning_text
from .sanitize import sanitized
from .trial_inputs import Case, cases_of, singly

REMEDY = "Nothing was bound. Mend it, or bind it untried with --no-guard (guard=False)."
#: Bytes that a probe may map beyond what the helper has.
MEMORY = 1 << 30
#: Seconds for opening the library and running what runs by itself then.
OPENING = 10.0
#: Seconds after which the functions that are left are bound untried.
BUDGET = 3.0
#: What a cell is compiled with again to find a line: no optimisation, frame pointers, one clone of each loop.
DEBUG = ("-g", "-O0", "-fno-omit-frame-pointer", "-fno-inline", "-D__UFM_ONE_TARGET")
#: Faulty inputs of one function that a note names.
_MOST_NAMED = 2
#: What a function must not be made to do by somebody who only tries it out.
_UNTRIED = frozenset(
    "fopen open creat remove unlink rename mkdir rmdir system popen fork vfork execl execv execve kill sleep usleep "
    "nanosleep socket connect bind send sendto".split()
)

#: Compiles the cell again with more arguments for the compiler.
Again = Callable[[Sequence[str]], CompiledCell]


def begin() -> None:
    """Have processes made ready while the compiler is at work.

    Raises
    ------
    ToolchainError
        If there is no compiler.
    """
    guard_process.shared(str(guard_process.watch_library()))


def untried(options: Options) -> str:
    """A note on code that is bound without a trial."""
    why = "this system cannot fork a process for it" if options.guard else "--no-guard"
    return f"not tried out first ({why}): a crash would end {'its sandbox' if options.sandbox else 'Python'}."


def try_out(
    cell: CompiledCell, *, again: Again | None = None, sanitize: bool = False, lenient: bool = False
) -> tuple[CompiledCell, str]:
    """Run every loop of ``cell`` in the helper process.

    Parameters
    ----------
    cell : CompiledCell
        Just compiled.
    again : callable
        Compiles the same cell with more arguments, to find the line that a crash happened on.
    sanitize : bool
        Then run a build with sanitizers, too; takes ``again``.
    lenient : bool
        Only what crashes on ordinary values is an error: for code that runs in a sandbox anyway.

    Returns
    -------
    CompiledCell, str
        With notes and more caution; what the code printed meanwhile.

    Raises
    ------
    CellCrashed
        If a function crashes, exits, does not end or writes where it must not on ordinary values, or writes where it
        must not on edge values.  What else happens on those is a note.
    """
    object_code = cell.object_code
    if not object_code.code:  # a CUDA cell on a machine without a compiler for the host
        return cell, ""
    if object_code.module and not may_run_twice(object_code.source):
        note = "not tried out first: the cell's own statements, which are needed for it, would run twice."
        return cell.noted(note), ""
    trial = _Trial(object_code)
    cases = [case for code in cell.report_data.functions if _may_run(code, object_code) for case in cases_of(code)]
    faults: dict[str, list[tuple[Fault, Case]]] = {}
    for fault, case in trial.run(cases):
        first = case.function.name not in trial.worked
        if fault.fatal(case, first=first) and not (lenient and case.kind != "ordinary"):
            raise _crashed(fault, case, object_code, again)
        if not fault.ignored(case):
            faults.setdefault(case.function.name, []).append((fault, case))
    cell = _with_notes(cell, faults, trial)
    if sanitize and again is not None:
        cell = sanitized(cell, cases, again=again, ask=_ask)
    return cell, trial.printed


def _may_run(code: CellFunction, object_code: ObjectCode) -> bool:
    if code.kind != "ufunc" or (object_code.module and not code.timed):
        return False  # it may work on objects, files, anything
    return not _UNTRIED.intersection(code.effects)


@dataclass
class _Trial:
    """One object in the helper: requests until every case was run or has failed."""

    object_code: ObjectCode
    printed: str = ""
    spent: float = 0.0
    changed: dict[str, set[str]] = field(default_factory=dict)
    threads: int = 0
    untried: tuple[str, ...] = ()
    refused: str = ""
    worked: set[str] = field(default_factory=set)

    def run(self, cases: Sequence[Case]) -> Iterator[tuple[Fault, Case]]:
        """Every case; a fault for each that failed, of several elements for the first that fail alone."""
        waiting = list(cases)
        while True:
            fault, results = self.ask(waiting)
            for number, what in results.get("changed", ()):
                self.changed.setdefault(waiting[number].function.name, set()).update(what)
            self.threads = max(self.threads, results.get("threads", 0))
            self.refused = results.get("refused", "")
            if fault is None:
                del waiting[: results.get("ran", len(waiting))]
                break
            if fault.case < 0:
                raise CellCrashed(fault_text(fault, None, self.object_code), remedy=REMEDY)
            case = waiting[fault.case]
            del waiting[: fault.case + 1]
            if len(case.rows) > 1:
                yield from self._alone(case, fault)
            else:
                yield fault, case
            if fault.kind == "endless":  # each of its other values would take as long
                waiting = [c for c in waiting if c.function is not case.function]
            if not waiting or self.spent > BUDGET:
                break
        # Functions of which no ordinary value was tried.
        first: dict[str, bool] = {}
        for case in waiting:
            first.setdefault(case.function.name, case.kind == "ordinary" and case.at_end and case.rows[:1] != ())
        self.untried = tuple(name for name, untouched in first.items() if untouched)

    def _alone(self, case: Case, whole: Fault) -> Iterator[tuple[Fault, Case]]:
        """The elements of a case that fail by themselves; the case where none does."""
        rows, count = singly(case), 0
        while rows and count < _MOST_NAMED and self.spent < BUDGET + 5:
            fault, _ = self.ask(rows)
            if fault is None or fault.case < 0:
                break
            yield fault, rows[fault.case]
            count += 1
            del rows[: fault.case + 1]
        if not count:
            yield whole, case

    def ask(self, cases: Sequence[Case]) -> tuple[Fault | None, dict[str, Any]]:
        """What ended the cases, and what the probe says of them."""
        answer = _ask(self.object_code, cases)
        self.spent += answer["seconds"]
        if answer["printed"] and not self.printed:
            self.printed = printed_text(answer["printed"], answer["total"])
        fault = fault_of(answer, cases)
        if fault is not None and fault.case >= 0:
            self.worked |= {case.function.name for case in cases[: fault.case] if case.kind == "ordinary"}
        return fault, answer["answer"]


def _ask(
    object_code: ObjectCode, cases: Sequence[Case], process: guard_process.GuardProcess | None = None, **more: Any
) -> dict[str, Any]:
    """Have cases run by the shared helper or by another ``process``; ``more`` goes into the request."""
    loops = max((loop.index for f in object_code.functions for loop in f.loops), default=-1) + 1
    request: dict[str, Any] = {
        "task": "try",
        "watch": str(guard_process.watch_library()),
        "watched": True,
        "memory": MEMORY,
        "opening": OPENING,
        "budget": BUDGET,
        "module": object_code.module,
        "preload": [*object_code.preload, *["numpy"] * ("numpy" in object_code.source)],
        "search": [os.path.abspath(folder) for folder in sys.path] if object_code.module else [],
        "loops": loops,
        "size": len(object_code.code),
        "cases": [case.message() for case in cases],
        "malloc": False,
        "results": False,
        "marks": False,
        "start": 0,
        "path": "",
        **more,
    }
    with runtime.memory_file(object_code.code) as library:
        if library < 0:  # a system without files in memory
            key = store.key(["trial", object_code.code_digest])
            request["path"] = str(store.default().publish(key, record=b"", code=object_code.code).library)
        return (process or guard_process).ask(request, [library] if library >= 0 else [])


def _crashed(fault: Fault, case: Case, object_code: ObjectCode, again: Again | None) -> CellCrashed:
    """The error, with the line where a build with debug information crashes the same way."""
    line = 0
    if again is not None and fault.signal:
        second = again(DEBUG).object_code
        if case.function.name in {f.name for f in second.functions}:
            answer = _ask(second, [case])
            base = answer["base"]
            # A return address lies behind its call.
            addresses = [frame - 1 - base for frame in answer["frames"]]
            # Of an endless recursion the line that calls.
            addresses.insert(len(addresses) if fault.kind == "stack" else 0, answer["pc"] - base)
            line = line_of(second.code, addresses, name=object_code.name)
    return CellCrashed(fault_text(fault, case, object_code, line=line), remedy=REMEDY)


def _with_notes(cell: CompiledCell, faults: dict[str, list[tuple[Fault, Case]]], trial: _Trial) -> CompiledCell:
    """The cell with its faults as notes; functions with bad inputs are called with care from now on."""
    functions = []
    sandbox = bool(cell.object_code.options.get("sandbox"))
    for code in cell.report_data.functions:
        bad = faults.get(code.name, [])
        notes = [warning_text(bad, sandbox=sandbox)] if bad else []
        if code.name in trial.changed:
            what = ", ".join(sorted(trial.changed[code.name]))
            notes.append(f"{code.name} changes what belongs to the whole process and leaves it so: {what}.")
        if notes:
            code = replace(code, notes=(*code.notes, *notes), cautious=code.cautious or bool(bad))
        functions.append(code)
    more = []
    if trial.threads > 0:
        more.append(f"threads that the cell has started go on after its functions return: {trial.threads}.")
    if trial.refused:
        more.append(f"not tried out first: {trial.refused}.")
    if trial.untried:
        more.append(f"not tried out first, for want of time: {', '.join(trial.untried[:5])}, ...")
    return replace(cell, report_data=replace(cell.report_data, functions=tuple(functions))).noted(*more)


# -- whether the statements of a Cython cell may run twice: once where the code is tried out, once here

_STRINGS = re.compile(r"(?P<q>\"\"\"|''').*?(?P=q)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
#: What only defines: the lines below belong to it.
_DEFINES = re.compile(
    r"(?:async\s+)?(?:def|cdef|cpdef|class|ctypedef|cimport|include|DEF|IF|ELIF|ELSE|pass|global)\b|[@#)\]}]"
)
_IMPORTS = re.compile(r"import\s+(?P<names>.+)|from\s+(?P<name>\w+)[\w.]*\s+(?P<how>c?import)\b")
#: Calls that calculate.
_CALCULATES = re.compile(
    r"\b(?:np|numpy|math|cython)\.(?!random|load|save|seterr|fromfile|memmap)[\w.]+\(|\b(?:int|float|complex|bool|len|range|tuple|list|dict|set|frozenset|abs|min|max|sum|round|pow)\("
)
_BLOCKS = re.compile(r"(?:for|while|with|try|if|del|raise|assert|exec|print)\b")
_QUICK = sys.stdlib_module_names | {"numpy", "cython"}
#: Modules that do something when they are imported, or stand for the outside world.
_LOUD = frozenset("this antigravity subprocess multiprocessing socket tkinter turtle".split())


def may_run_twice(source: str) -> bool:
    """True where statements at the left margin do no more than define, import quickly and calculate."""
    text = _STRINGS.sub('""', source)
    for line in text.replace("\\\n", " ").split("\n"):
        if not line.strip() or line[0].isspace() or _DEFINES.match(line):
            continue
        if imported := _IMPORTS.match(line):
            if imported["how"] == "cimport":
                continue
            names = [imported["name"]] if imported["name"] else re.findall(r"(?:^|,)\s*(\w+)", imported["names"])
            if all(name in _QUICK and name not in _LOUD for name in names):
                continue
            return False
        if _BLOCKS.match(line) or re.search(r"[\w\])]\s*\(", _CALCULATES.sub("", line)):
            return False
    return True
