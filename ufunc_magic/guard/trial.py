"""Runs new code in the helper process first: a crash there becomes a note, or leaves the function unbound.

The cache stores code after its trial, so all code in the cache has passed one.
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
from typing import TYPE_CHECKING, Any

from .. import runtime, store
from ..model import (
    UNTRIED,
    CellCrashed,
    CellFunction,
    Comfort,
    CompiledCell,
    CompileError,
    Diagnostic,
    ObjectCode,
    Options,
)
from . import guard_process
from .messages import (
    CLEAN,
    REMEDY,
    Fault,
    find_line,
    quote_output,
    read_fault,
    refuse_function,
    spell_refusal,
    write_warning,
)
from .sanitize import run_sanitized
from .trial_inputs import Case, assume_indices, list_cases, split_case, suggest_cases

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_HELPER = "no other process can run it first"
_NOTHING = f"Nothing was bound. {REMEDY}."
#: Seconds for opening the library, with its constructors.
OPENING = 10.0
#: Seconds after which the remaining functions are bound untried.  Time spent in endless calls does not count.
BUDGET = 3.0
#: Seconds for a first value while other functions wait, and for each value after two endless ones.
GLANCE, TRY = 0.1, 0.05
#: Seconds that the endless calls of a function, and of all functions, may take before no other values are searched.
ENDLESS, ENDLESS_IN_ALL = 1.0, 5.0
#: Arguments of the build that finds a line: no optimisation, frame pointers, one clone of each loop.
DEBUG = ("-g", "-O0", "-fno-omit-frame-pointer", "-fno-inline", "-D__UFM_ONE_TARGET")
#: Elements of an edge case that a note names, and processes that the search for a working value may cost.
_MOST_NAMED = 2
_MOST_DEATHS = 20
#: Deaths that one at the memory limit counts for: filling a gigabyte takes long.
_MEMORY_DEATHS = 6
#: Faults that show only that a function needs more than a trial has.  A call of it is contained, and Stop ends it.
_LIMITS = frozenset(("endless", "allocation"))
#: A function that calls one of these is not tried.
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
    # The compilation or `try_out` reports the same fault with a better message.
    with contextlib.suppress(OSError, CompileError):
        guard_process.get_helper(str(guard_process.build_watch_library()))


def write_untried_note(options: Options) -> str:
    """Return the note on code that is bound without a trial."""
    why = "this system cannot fork a process" if options.guard else "--no-guard"
    return f"{UNTRIED} ({why}): a crash may {'end the sandbox' if options.sandbox else 'end or corrupt Python'}."


def try_out(
    cell: CompiledCell,
    *,
    again: Again | None = None,
    sanitize: bool = False,
    lenient: bool = False,
    data: Callable[[CellFunction], Sequence[NDArray[Any]]] | None = None,
) -> tuple[CompiledCell, str]:
    """Run every loop of ``cell`` in the helper process.

    Parameters
    ----------
    cell : CompiledCell
        Just compiled.
    again : callable
        Compiles the same cell with more arguments, to find the line that a crash happened on.
    sanitize : bool
        Run a build with sanitizers afterwards.  Needs ``again``.
    lenient : bool
        An out-of-bounds write on edge values is only a note: for code that always runs in a sandbox.
    data : callable
        Gives the user's arrays for a function, elements along the first axis; none if they do not fit.

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
    if not object_code.code:  # it is for a device alone
        return cell, ""
    if object_code.module and not may_run_twice(object_code.source):
        note = f"{UNTRIED}: a trial would run the cell's own statements twice."
        return cell.add_notes(note), ""
    subjects = [
        _Subject(code, data=tuple(data(code)) if data else ())
        for code in cell.report_data.functions
        if _may_run(code, object_code)
    ]
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
    refused = {s.function.name: _describe_refusal(s, object_code, again) for s in subjects if s.refusal}
    cell = _add_notes(cell, trial)
    if sanitize and again is not None and len(refused) < len(subjects):
        cases = [case for s in subjects if not (s.refusal or s.untried) for case in list_cases(s.function)]
        cell, more = run_sanitized(cell, cases, again=again, ask=_send_cases)
        refused |= more
    return _leave_out(cell, refused), trial.printed


def _may_run(code: CellFunction, object_code: ObjectCode) -> bool:
    if code.kind != "ufunc" or (object_code.module and not code.timed):
        return False  # it may work on objects, files, anything
    return not _UNTRIED.intersection(code.effects)


@dataclass(eq=False)
class _Subject:
    """A function and the results of its trial.

    Attributes
    ----------
    data : tuple of ndarray
        The user's values for its inputs, if there are any.
    refusal : tuple of Fault and Case, or None
        Why it must not be bound.
    faults : list
        All faults so far.
    worked : list of Case
        The ordinary cases on which it worked.
    hung : int
        Number of calls that did not return.
    lost : float
        Seconds that they took.
    usual : bool
        The common values were enough to judge it.
    untried : str
        Reason for not trying it; completes "not tried out: ...".
    """

    function: CellFunction
    data: tuple[NDArray[Any], ...] = ()
    refusal: tuple[Fault, Case] | None = None
    faults: list[tuple[Fault, Case]] = field(default_factory=list)
    worked: list[Case] = field(default_factory=list)
    hung: int = 0
    lost: float = 0.0
    usual: bool = True
    untried: str = ""

    def excuse(self) -> None:
        """Bind a function untried if all that it lacked on every value was time or memory."""
        if self.refusal and all(fault.kind in _LIMITS for fault, _ in self.faults):
            fault, case = self.refusal
            self.untried, self.refusal, self.faults = f"{case.call()} {fault.what}", None, []

    def time_limit(self, case: Case) -> float:
        """Seconds that a case may take."""
        if self.hung > 1:
            return min(case.seconds, TRY)
        glance = case.kind == "ordinary" and not (self.hung or self.worked)
        return min(case.seconds, GLANCE) if glance else case.seconds


@dataclass(eq=False)
class _Trial:
    """The trial of one object: sends requests to the helper until every case has run or failed."""

    object_code: ObjectCode
    subjects: dict[str, _Subject]
    lenient: bool
    printed: str = ""
    notes: list[str] = field(default_factory=list)
    spent: float = 0.0
    refused: str = ""

    def run(self) -> None:
        """Run the cases of all functions, then more values for the functions that failed on ordinary ones."""
        doubtful = self.run_cases([case for s in self.subjects.values() for case in list_cases(s.function, s.data)])
        for subject, case, fault, left in doubtful:
            if fault.writes and self.try_on_indices(subject):
                continue
            if fault.kind == "endless":
                if sum(s.lost for s in self.subjects.values()) > ENDLESS_IN_ALL:
                    subject.refusal = fault, case
                    continue
                alone = split_case(case)[0]
                again, _ = self.send([alone])
                if again is None:  # it only takes its time
                    more = self.run_cases([single for each in (case, *left) for single in split_case(each)][1:])
                    if not more:
                        continue
                    _, case, fault, _ = more[0]
                else:
                    self.record(subject, alone, again)
            if not subject.untried:
                self.search_values(subject, case, fault)
        for subject in self.subjects.values():
            subject.excuse()

    def run_cases(self, cases: Sequence[Case]) -> list[tuple[_Subject, Case, Fault, list[Case]]]:
        """Run cases; return those that failed on ordinary values, with the fault and the function's remaining cases."""
        waiting, doubtful = list(cases), []
        while waiting and self.spent <= BUDGET:
            fault, ran = self.send(waiting)
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
                self.run_singly(subject, split_case(case) if len(case.rows) > 1 else [], deaths=_MOST_NAMED)
                if len(subject.faults) == known:  # none of the elements by itself
                    self.record(subject, case, fault)
                # Of what does not end, each of the other values would take as long.
                if fault.kind != "endless" and not subject.refusal:
                    continue
            waiting = [c for c in waiting if c.function is not case.function]
        return doubtful

    def try_on_indices(self, subject: _Subject) -> bool:
        """Try a function that wrote out of bounds on indices: its text may hide what it does with its integers."""
        before, code = replace(subject), assume_indices(subject.function)
        if code is None:
            return False
        subject.function, subject.worked, subject.faults = code, [], []
        if not self.run_cases(list(list_cases(code, subject.data))) and not subject.refusal and subject.worked:
            return True
        vars(subject).update(vars(before))
        return False

    def record(self, subject: _Subject, case: Case, fault: Fault) -> None:
        """Add a fault.  A write out of bounds refuses the function."""
        if subject.untried:
            return
        if case.kind != "huge" or fault.kind != "endless":  # to count to the largest number takes its time
            subject.faults.append((fault, case))
        kind = case.kind
        # Of the members of a structure, state that another call wrote, no edge is what a program would begin with.
        lenient = (self.lenient or any(case.function.records)) and kind != "ordinary"
        lenient = lenient or kind == "empty" or case.is_outside()
        lenient = lenient or (kind == "huge" and case.function.allocates)  # such a size overflows
        if fault.writes and not lenient:
            subject.refusal = fault, case

    def search_values(self, subject: _Subject, first: Case, whole: Fault) -> None:
        """Search for ordinary values on which a function works after it failed on some; then try the edges."""
        subject.usual = False
        before = 0 if first.at_end else len(subject.worked)
        palette = split_case(first)[:1]
        with Comfort(f"other values for {subject.function.name}", self.notes):
            palette = suggest_cases(first, self.object_code.source)
        self.run_singly(subject, palette[1:] if subject.hung > 1 else palette, deaths=_MOST_DEATHS)
        if subject.untried:
            return
        works = [case for case in subject.worked[before:] if case.kind == "ordinary"]
        # Out-of-bounds reads are independent of the values: repeat with the operand at the other end of its page.
        moved = [replace(case, at_end=not case.at_end) for case in works[:4]]
        self.run_singly(subject, moved, deaths=4)
        if not any(case in subject.worked for case in moved):
            subject.refusal = subject.refusal or (subject.faults or [(whole, first)])[-1 if works else 0]
            return
        if not subject.faults or whole.writes:  # none of the elements by itself
            self.record(subject, first, whole)
        others = [replace(case, loop=loop) for loop in subject.function.loops for case in works[:8]]
        edges = [case for each in list_cases(subject.function) if each.kind != "ordinary" for case in split_case(each)]
        self.run_singly(subject, [*others, *edges], deaths=_MOST_DEATHS)

    def run_singly(self, subject: _Subject, cases: Sequence[Case], *, deaths: int) -> None:
        """Run cases of one element until so many processes have died; a third of that if some cases worked."""
        waiting, count, before = list(cases), 0, len(subject.worked)
        # A function that has worked gets some more time.
        end = max(ENDLESS, subject.lost + 2 * TRY) if subject.worked else ENDLESS
        while waiting and not (subject.refusal or subject.untried) and subject.lost < end:
            fault, _ = self.send(waiting)
            if fault is None:
                break
            self.record(subject, waiting[fault.case], fault)
            del waiting[: fault.case + 1]
            count += {"memory": _MEMORY_DEATHS, "endless": 0}.get(fault.kind, 1)
            if count >= (max(deaths // 3, _MOST_NAMED) if len(subject.worked) > before + 2 else deaths):
                break

    def send(self, cases: Sequence[Case]) -> tuple[Fault | None, int]:
        """Run cases in the helper; return the fault that ended them, and how many ran before it."""
        limits = [self.subjects[case.function.name].time_limit(case) for case in cases]
        answer = _send_cases(self.object_code, cases, limits)
        fault = read_fault(answer, cases)
        if answer["printed"] and not self.printed and not (fault and fault.line):  # assert() has printed that line
            self.printed = quote_output(answer["printed"], answer["total"])
        if fault is not None and fault.kind == "system":
            for subject in (
                self.subjects.values() if fault.case < 0 else [self.subjects[cases[fault.case].function.name]]
            ):
                subject.untried = f"it {fault.what}, which must not happen in a trial"
            if fault.case < 0:  # a constructor of the library: nothing in it can be tried
                return None, len(cases)
        elif fault is not None and fault.case < 0 and fault.kind == "endless" and self.object_code.module:
            for subject in self.subjects.values():  # to import it takes its time, as with %%cython
                subject.untried = f"the cell's own statements were still running after {OPENING:g} s"
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
            if fault.kind == "endless":
                subject.hung += 1
                subject.lost += limits[fault.case]
        if fault is None or fault.kind != "endless":
            self.spent += answer["seconds"]
        return fault, ran


def _send_cases(
    object_code: ObjectCode,
    cases: Sequence[Case],
    limits: Sequence[float] = (),
    process: guard_process.GuardProcess | None = None,
) -> dict[str, Any]:
    """Run cases in the shared helper, or in a ``process`` of its own for a build with sanitizers."""
    limits = limits or [case.seconds for case in cases]
    loops = max((loop.index for f in object_code.functions for loop in f.loops), default=-1) + 1
    request: dict[str, Any] = {
        "task": "try",
        "watch": str(guard_process.build_watch_library()),
        "sanitized": process is not None,
        "opening": OPENING,
        "budget": BUDGET,
        "module": object_code.module,
        "preload": [*object_code.preload, *["numpy"] * ("numpy" in object_code.source)],
        "search": [os.path.abspath(folder) for folder in sys.path] if object_code.module else [],
        "loops": loops,
        "size": len(object_code.code),
        "cases": [case.build_message(seconds=limit) for case, limit in zip(cases, limits, strict=True)],
        "path": "",
    }
    with runtime.open_memory_file(object_code.code) as library:
        if library < 0:  # a system without files in memory
            key = store.make_key(["trial", object_code.code_digest])
            request["path"] = str(store.open_default().publish(key, record=b"", code=object_code.code).library)
        return (process or guard_process).ask(request, [library] if library >= 0 else [])


def _describe_refusal(subject: _Subject, object_code: ObjectCode, again: Again | None) -> Diagnostic:
    """Describe why a function is not bound.  A build with debug information gives the line of the fault."""
    assert subject.refusal
    fault, case = subject.refusal
    line, notes = fault.line, list[str]()
    if again is not None and not line and (fault.signal or fault.kind == "endless"):
        with Comfort("the line", notes):
            second = again(DEBUG).object_code
            answer = _send_cases(second, [case], [GLANCE if fault.kind == "endless" else case.seconds])
            base = answer["low"]
            # A return address follows its call.
            addresses = [frame - 1 - base for frame in answer["frames"]]
            # For an endless recursion, the line of the call comes first.
            addresses.insert(len(addresses) if fault.kind == "stack" else 0, answer["pc"] - base)
            line = find_line(second.code, addresses, name=object_code.name)
    return refuse_function("; ".join([f"{case.call()} {fault.what}", *notes]), case.function, object_code, line=line)


def _leave_out(cell: CompiledCell, refused: Mapping[str, Diagnostic]) -> CompiledCell:
    """Return the cell without the refused functions.

    Raises
    ------
    CellCrashed
        If no function is left.
    """
    if not refused:
        return cell
    functions = tuple(f for f in cell.report_data.functions if f.name not in refused)
    if not functions:
        raise CellCrashed("\n".join(spell_refusal(d) for d in refused.values()), remedy=_NOTHING)
    refused = {**cell.report_data.refused, **refused}
    report_data = replace(cell.report_data, functions=functions, refused=refused)
    codes = tuple(f.function_code for f in functions)
    return replace(cell, object_code=replace(cell.object_code, functions=codes), report_data=report_data)


def _add_notes(cell: CompiledCell, trial: _Trial) -> CompiledCell:
    """Return the cell with its faults as notes.  Functions with bad inputs become cautious."""
    functions = []
    sandbox = bool(cell.object_code.options.get("sandbox"))
    for code in cell.report_data.functions:
        subject = trial.subjects.get(code.name)
        if subject and subject.function.uses != code.uses:
            code = replace(code, uses=subject.function.uses)
        if subject and subject.faults:
            notes = (*code.notes, write_warning(subject.faults, sandbox=sandbox))
            code = replace(code, notes=notes, cautious=True)
        if subject and not subject.usual:
            code = _choose_timed_values(code, subject)
        if subject and subject.untried:
            why = f"not tried out, nor timed: {subject.untried}."
            code = replace(code, notes=(*code.notes, why), cautious=True, timed=())
        functions.append(code)
    more = trial.notes
    if trial.refused:
        more.append(f"{UNTRIED}: {trial.refused}.")
    late = [name for name, s in trial.subjects.items() if not (s.worked or s.faults or s.refusal or s.untried)]
    if late:
        more.append(f"{UNTRIED}, because the trial's time was up: {', '.join(late[:5])}, ...")
    return replace(cell, report_data=replace(cell.report_data, functions=tuple(functions))).add_notes(*more)


def _choose_timed_values(code: CellFunction, subject: _Subject) -> CellFunction:
    """Have a function that fails on ordinary values timed on values where it works."""
    rows = tuple(row for case in subject.worked if case.kind == "ordinary" for row in case.rows)
    if not (code.core or code.records or not rows or any(isinstance(value, complex) for row in rows for value in row)):
        return replace(code, inputs=rows)
    # Untried values are allowed only if the faults so far leave no damage.
    return code if all(fault.kind in CLEAN for fault, _ in subject.faults) else replace(code, timed=())


# -- whether the statements of a Cython cell may run twice: in the trial, and in this process

_STRINGS = re.compile(r"(?P<q>\"\"\"|''').*?(?P=q)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
#: Statements that only define; their indented lines belong to them.
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
    """Return whether the module's statements only define, import light modules and calculate."""
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
