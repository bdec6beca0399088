"""Runs new code in the helper process first: a crash there becomes a note, or leaves the function unbound.

`try_out` stands between the compiler and the cache, so that all code in the cache has passed its trial.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import runtime, store
from ..model import CellCrashed, CellFunction, Comfort, CompiledCell, CompileError, Diagnostic, ObjectCode, Options
from . import guard_process
from .messages import CLEAN, REMEDY, Fault, fault_of, line_of, printed_text, refusal, sentence, warning_text
from .sanitize import sanitized
from .trial_inputs import Case, cases_of, doubtful_cases, singly

_NO_HELPER = "no other process can run it first"
_NOTHING = f"Nothing was bound. {REMEDY}."
#: Seconds for opening the library and running what runs by itself then.
OPENING = 10.0
#: Seconds after which the functions that are left are bound untried; what hung does not count.
BUDGET = 3.0
#: Seconds for the first value, before the other functions were tried; and for the values behind one that hung.
GLANCE = 0.1
#: Values behind one that hung.
MOST_HUNG = 2
#: What a cell is compiled with again to find a line: no optimisation, frame pointers, one clone of each loop.
DEBUG = ("-g", "-O0", "-fno-omit-frame-pointer", "-fno-inline", "-D__UFM_ONE_TARGET")
#: Elements of a case at the edges that are looked for, and processes that it may cost to find a value that works.
_MOST_NAMED = 2
_MOST_DEATHS = 20
#: What a function must not be made to do by somebody who only tries it out.
_UNTRIED = frozenset(
    "fopen open creat remove unlink rename mkdir rmdir system popen fork vfork execl execv execve kill sleep usleep "
    "nanosleep socket connect bind send sendto".split()
)

#: Compiles the cell again with more arguments for the compiler.
Again = Callable[[Sequence[str]], CompiledCell]


def begin() -> None:
    """Prepare processes while the compiler works.

    Raises
    ------
    ToolchainError
        If there is no compiler.
    """
    # What does not work here the compilation of the cell has better words for, or `try_out`.
    with contextlib.suppress(OSError, CompileError):
        guard_process.shared(str(guard_process.watch_library()))


def untried(options: Options) -> str:
    """A note on code that is bound without a trial."""
    why = "this system cannot fork a process" if options.guard else "--no-guard"
    return f"not tried first ({why}): a crash may {'end the sandbox' if options.sandbox else 'end or corrupt Python'}."


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
        An out-of-bounds write on edge values is only a note: for code that always runs in a sandbox.

    Returns
    -------
    CompiledCell, str
        The cell without the functions that fail on all ordinary values or write out of bounds, with the reasons; with
        notes on the values on which others fail.  The string is the output of the code.

    Raises
    ------
    CellCrashed
        If no function is left, or the code crashes while it loads.
    """
    object_code = cell.object_code
    if not object_code.code:  # a CUDA cell on a machine without a compiler for the host
        return cell, ""
    if object_code.module and not may_run_twice(object_code.source):
        note = "not tried first: a trial would run the cell's own statements twice."
        return cell.noted(note), ""
    subjects = [_Subject(code) for code in cell.report_data.functions if _may_run(code, object_code)]
    trial = _Trial(object_code, {subject.function.name: subject for subject in subjects}, lenient)
    try:
        trial.run()
    except (OSError, CompileError) as fault:
        for subject in subjects:
            subject.untried = subject.untried or _NO_HELPER
        why = str(fault).partition("\n")[0].rstrip(".")
        trial.notes.append(f"the process that tries new code cannot work on this machine: {why}.")
        sanitize = False
    again = again and functools.cache(again)
    refused = {s.function.name: _refused(s, object_code, again) for s in subjects if s.refusal}
    cell = _with_notes(cell, trial)
    if sanitize and again is not None and len(refused) < len(subjects):
        cases = [case for s in subjects if not (s.refusal or s.untried) for case in cases_of(s.function)]
        cell, more = sanitized(cell, cases, again=again, ask=_ask)
        refused |= more
    return _without(cell, refused), trial.printed


def _may_run(code: CellFunction, object_code: ObjectCode) -> bool:
    if code.kind != "ufunc" or (object_code.module and not code.timed):
        return False  # it may work on objects, files, anything
    return not _UNTRIED.intersection(code.effects)


@dataclass(eq=False)
class _Subject:
    """A function, and what is known of it.

    Attributes
    ----------
    refusal : tuple of Fault and Case, or None
        Why it must not be bound.
    faults : list
        Its faults.
    worked : list of Case
        The ordinary cases on which it worked.
    hung : int
        How often it did not return.
    usual : bool
        The values that every function is tried on were enough.
    untried : str
        Why it is not tried, a sentence.
    """

    function: CellFunction
    refusal: tuple[Fault, Case] | None = None
    faults: list[tuple[Fault, Case]] = field(default_factory=list)
    worked: list[Case] = field(default_factory=list)
    hung: int = 0
    usual: bool = True
    untried: str = ""

    def limit(self, case: Case) -> float:
        """Time limit of a case in seconds: in all, a case that never returns costs at most one second."""
        if case.kind != "ordinary" or self.hung == 1:
            return case.seconds if self.hung < 2 else min(case.seconds, GLANCE)
        return min(case.seconds, GLANCE) if self.hung or not self.worked else case.seconds


@dataclass(eq=False)
class _Trial:
    """One object in the helper: requests until every case was run or has failed."""

    object_code: ObjectCode
    subjects: dict[str, _Subject]
    lenient: bool
    printed: str = ""
    notes: list[str] = field(default_factory=list)
    spent: float = 0.0
    refused: str = ""

    def run(self) -> None:
        """Every function's cases; for those that fail on an ordinary one, when all others are done, further ones."""
        doubtful = self.together([case for s in self.subjects.values() for case in cases_of(s.function)])
        for subject, case, fault, left in doubtful:
            if fault.kind == "endless":
                alone = singly(case)[0]
                again, _ = self.ask([alone])
                if again is None:  # it only takes its time
                    more = self.together([single for each in (case, *left) for single in singly(each)][1:])
                    if not more:
                        continue
                    _, case, fault, _ = more[0]
                else:
                    self.enter(subject, alone, again)
            if not subject.untried:
                self.explore(subject, case, fault)

    def together(self, cases: Sequence[Case]) -> list[tuple[_Subject, Case, Fault, list[Case]]]:
        """Cases of all functions; those that fail on an ordinary one, with the case, the fault and the cases left."""
        waiting, doubtful = list(cases), []
        while waiting and self.spent <= BUDGET:
            fault, ran = self.ask(waiting)
            if fault is None:
                del waiting[:ran]
                break
            case = waiting[fault.case]
            del waiting[: fault.case + 1]
            subject = self.subjects[case.function.name]
            if subject.untried:
                pass
            elif case.kind == "ordinary":
                doubtful.append((subject, case, fault, [c for c in waiting if c.function is case.function]))
            else:
                known = len(subject.faults)
                self.beyond(subject, singly(case) if len(case.rows) > 1 else [], deaths=_MOST_NAMED)
                if len(subject.faults) == known:  # none of the elements by itself
                    self.enter(subject, case, fault)
                # Of what does not end, each of the other values would take as long.
                if fault.kind != "endless" and not subject.refusal:
                    continue
            waiting = [c for c in waiting if c.function is not case.function]
        return doubtful

    def enter(self, subject: _Subject, case: Case, fault: Fault) -> None:
        """Add a fault; one that writes what is not its own ends the matter."""
        if subject.untried:
            return
        if case.kind != "huge" or fault.kind != "endless":  # to count to the largest number takes its time
            subject.faults.append((fault, case))
        if fault.writes and case.kind != "empty" and not (self.lenient and case.kind != "ordinary"):
            subject.refusal = fault, case

    def explore(self, subject: _Subject, first: Case, whole: Fault) -> None:
        """Look for ordinary values on which a function works that has failed on some; then at the edges."""
        subject.usual = False
        before = 0 if first.at_end else len(subject.worked)
        palette = singly(first)[:1]
        with Comfort(f"other values for {subject.function.name}", self.notes):
            palette = doubtful_cases(first, self.object_code.source)
        self.beyond(subject, palette[1:] if subject.hung > 1 else palette, deaths=_MOST_DEATHS)
        if subject.untried:
            return
        works = [case for case in subject.worked[before:] if case.kind == "ordinary"]
        # Who reads beside an operand does so for every value, and gets away with it at one end of a page.
        moved = [replace(case, at_end=not case.at_end) for case in works[:4]]
        self.beyond(subject, moved, deaths=4)
        if not any(case in subject.worked for case in moved):
            subject.refusal = subject.refusal or (subject.faults or [(whole, first)])[-1 if works else 0]
            return
        if not subject.faults or whole.writes:  # none of the elements by itself
            self.enter(subject, first, whole)
        others = [replace(case, loop=loop) for loop in subject.function.loops for case in works[:8]]
        edges = [case for each in cases_of(subject.function) if each.kind != "ordinary" for case in singly(each)]
        self.beyond(subject, [*others, *edges], deaths=_MOST_DEATHS)

    def beyond(self, subject: _Subject, cases: Sequence[Case], *, deaths: int) -> None:
        """Run cases of one element, one after another, beyond so many faults; beyond a third of them if some work."""
        waiting, count, before = list(cases), 0, len(subject.worked)
        while waiting and not (subject.refusal or subject.untried) and subject.hung <= MOST_HUNG + 1:
            fault, _ = self.ask(waiting)
            if fault is None:
                break
            self.enter(subject, waiting[fault.case], fault)
            del waiting[: fault.case + 1]
            count += 6 if fault.kind == "memory" else 1  # to fill a gigabyte takes long
            if count >= (max(deaths // 3, _MOST_NAMED) if len(subject.worked) > before + 2 else deaths):
                break

    def ask(self, cases: Sequence[Case]) -> tuple[Fault | None, int]:
        """What ended the cases, and how many ran before."""
        limits = [self.subjects[case.function.name].limit(case) for case in cases]
        answer = _ask(self.object_code, cases, limits)
        fault = fault_of(answer, cases)
        if answer["printed"] and not self.printed and not (fault and fault.line):  # which assert() has printed
            self.printed = printed_text(answer["printed"], answer["total"])
        if fault is not None and fault.kind == "system":
            for subject in (
                self.subjects.values() if fault.case < 0 else [self.subjects[cases[fault.case].function.name]]
            ):
                subject.untried = f"it {fault.what}, which must not happen in a trial"
            if fault.case < 0:  # by itself, when it is opened: so nothing of it can be tried
                return None, len(cases)
        elif fault is not None and fault.case < 0:
            what = f"{self.object_code.name} {fault.what} while it loads, before any function is called."
            raise CellCrashed(what, remedy=_NOTHING)
        self.refused = answer.get("refused", self.refused)
        ran = fault.case if fault else answer.get("ran", len(cases))
        for case in itertools.islice(cases, ran):
            self.subjects[case.function.name].worked.append(case)
        if fault is not None:
            subject = self.subjects[cases[fault.case].function.name]
            subject.hung += fault.kind == "endless"
        if fault is None or fault.kind != "endless":
            self.spent += answer["seconds"]
        return fault, ran


def _ask(
    object_code: ObjectCode,
    cases: Sequence[Case],
    limits: Sequence[float] = (),
    process: guard_process.GuardProcess | None = None,
) -> dict[str, Any]:
    """Have cases run by the shared helper, or a build with sanitizers by a ``process`` of its own."""
    limits = limits or [case.seconds for case in cases]
    loops = max((loop.index for f in object_code.functions for loop in f.loops), default=-1) + 1
    request: dict[str, Any] = {
        "task": "try",
        "watch": str(guard_process.watch_library()),
        "sanitized": process is not None,
        "opening": OPENING,
        "budget": BUDGET,
        "module": object_code.module,
        "preload": [*object_code.preload, *["numpy"] * ("numpy" in object_code.source)],
        "search": [os.path.abspath(folder) for folder in sys.path] if object_code.module else [],
        "loops": loops,
        "size": len(object_code.code),
        "cases": [case.message(seconds=limit) for case, limit in zip(cases, limits, strict=True)],
        "path": "",
    }
    with runtime.memory_file(object_code.code) as library:
        if library < 0:  # a system without files in memory
            key = store.key(["trial", object_code.code_digest])
            request["path"] = str(store.default().publish(key, record=b"", code=object_code.code).library)
        return (process or guard_process).ask(request, [library] if library >= 0 else [])


def _refused(subject: _Subject, object_code: ObjectCode, again: Again | None) -> Diagnostic:
    """Why a function is not bound, with the line where a build with debug information fails the same way."""
    assert subject.refusal
    fault, case = subject.refusal
    line, notes = fault.line, list[str]()
    if again is not None and not line and (fault.signal or fault.kind == "endless"):
        with Comfort("the line", notes):
            second = again(DEBUG).object_code
            answer = _ask(second, [case], [GLANCE if fault.kind == "endless" else case.seconds])
            base = answer["low"]
            # A return address lies behind its call.
            addresses = [frame - 1 - base for frame in answer["frames"]]
            # Of an endless recursion the line that calls.
            addresses.insert(len(addresses) if fault.kind == "stack" else 0, answer["pc"] - base)
            line = line_of(second.code, addresses, name=object_code.name)
    return refusal("; ".join([f"{case.call()} {fault.what}", *notes]), case.function, object_code, line=line)


def _without(cell: CompiledCell, refused: Mapping[str, Diagnostic]) -> CompiledCell:
    """The cell without the functions that must not be bound.

    Raises
    ------
    CellCrashed
        If none is left.
    """
    if not refused:
        return cell
    functions = tuple(f for f in cell.report_data.functions if f.name not in refused)
    if not functions:
        raise CellCrashed("\n".join(sentence(d) for d in refused.values()), remedy=_NOTHING)
    refused = {**cell.report_data.refused, **refused}
    report_data = replace(cell.report_data, functions=functions, refused=refused)
    codes = tuple(f.function_code for f in functions)
    return CompiledCell(replace(cell.object_code, functions=codes), report_data)


def _with_notes(cell: CompiledCell, trial: _Trial) -> CompiledCell:
    """The cell with its faults as notes; functions with bad inputs are called with care from now on."""
    functions = []
    sandbox = bool(cell.object_code.options.get("sandbox"))
    for code in cell.report_data.functions:
        subject = trial.subjects.get(code.name)
        if subject and subject.faults:
            notes = (*code.notes, warning_text(subject.faults, sandbox=sandbox))
            code = replace(code, notes=notes, cautious=True)
        if subject and not subject.usual:
            code = _timed_where_it_works(code, subject)
        if subject and subject.untried:
            why = f"not tried out, nor timed: {subject.untried}."
            code = replace(code, notes=(*code.notes, why), cautious=True, timed=())
        functions.append(code)
    more = trial.notes
    if trial.refused:
        more.append(f"not tried first: {trial.refused}.")
    late = [name for name, s in trial.subjects.items() if not (s.worked or s.faults or s.refusal or s.untried)]
    if late:
        more.append(f"not tried first, because the trial's time was up: {', '.join(late[:5])}, ...")
    return replace(cell, report_data=replace(cell.report_data, functions=tuple(functions))).noted(*more)


def _timed_where_it_works(code: CellFunction, subject: _Subject) -> CellFunction:
    """A function that fails on ordinary values, to be timed on those where it did not."""
    rows = tuple(row for case in subject.worked if case.kind == "ordinary" for row in case.rows)
    if not (code.core or code.records or not rows or any(isinstance(value, complex) for row in rows for value in row)):
        return replace(code, inputs=rows)
    # On values that nobody has tried, only what leaves no damage.
    return code if all(fault.kind in CLEAN for fault, _ in subject.faults) else replace(code, timed=())


# -- whether the statements of a Cython cell may run twice: once where the code is tried out, once here

_STRINGS = re.compile(r"(?P<q>\"\"\"|''').*?(?P=q)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
#: What only defines: the lines below belong to it.
_DEFINES = re.compile(
    r"(?:async\s+)?(?:def|cdef|cpdef|class|ctypedef|cimport|include|DEF|IF|ELIF|ELSE|pass|global)\b|[@#)\]}]"
)
_IMPORTS = re.compile(r"import\s+(?P<names>.+)|from\s+(?P<name>\w+)[\w.]*\s+(?P<how>c?import)\b")
#: Calls that calculate.
_CALCULATES = re.compile(
    r"\b(?:np|numpy|math|cython)\.(?!random|load|save|seterr|fromfile|memmap)[\w.]+\(|\b(?:import_array|import_umath|int|float|complex|bool|len|range|tuple|list|dict|set|frozenset|abs|min|max|sum|round|pow)\("
)
_BLOCKS = re.compile(r"(?:for|while|with|try|if|del|raise|assert|exec|print)\b")
_QUICK = sys.stdlib_module_names | {"numpy", "cython"}


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
            if _QUICK.issuperset(names):
                continue
            return False
        if _BLOCKS.match(line) or re.search(r"[\w\])]\s*\(", _CALCULATES.sub("", line)):
            return False
    return True
