"""A compiler's report on the loops of a cell: which are vectorized, how wide, and why others are not.  Pure.

The last word on whether there are vectors has the assembly of the loop that runs; the reason why not comes from the
compiler's remarks.  The table and ``--show vec`` both show these `LoopReport`s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..compilers import GENERATED
from ..model import CellPlace, CompiledCell, ObjectCode
from .assembly import HotLoop, Listing
from .tables import spell_ratio

_GCC = re.compile(r"(?m)^(.*?):(\d+):\d+: (optimized|missed|note): ( *)(.*)$")
_YAML = re.compile(r"--- !(Passed|Missed|Analysis)\w*\n(.*?)\n\.\.\.", re.DOTALL)
_YAML_PLACE = re.compile(r"DebugLoc:\s+\{ File: '?([^,']*)'?, Line: (\d+), Column: \d+ \}")
_YAML_STRING = re.compile(r"- \w+:\s+(?:'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"|([^\n]+))")

#: The remedy for a sum whose order C fixes.
ANY_ORDER = "--fast-math allows any order"

#: clang's reason for a sum whose order C fixes.
_ORDER = "reorder floating-point operations"

#: gcc's reason for arrays that are read or written by an index and may overlap: a note on one kind of vectors.  Then it
#: tries smaller kinds, and its last words are on the smallest one.
_OVERLAP = "possible alias involving gather/scatter"

#: A compiler's reason for a loop that more than its counter controls, where nothing else is known of the loop.
_BRANCH = "a branch or an early exit in it"

#: Parts of gcc's and clang's reasons, and the reasons in a user's words.
_REASONS = (
    ("number of iterations cannot be computed", "the data decide when it ends"),
    ("could not determine number of loop iterations", "the data decide when it ends"),
    (_OVERLAP, "it reads or writes by an index, and its arrays may overlap unless they are restrict"),
    ("control flow in loop", _BRANCH),
    ("loop control flow is not understood", _BRANCH),
    ("data ref analysis failed", "the compiler cannot follow its indices"),
    ("cannot identify array bounds", "the compiler cannot follow its indices"),
    ("complicated access pattern", "its steps through memory are irregular"),
    ("possible dependence between data-refs", "a step may read what an earlier one wrote"),
    ("bad data dependence", "a step may read what an earlier one wrote"),
    ("unsafe dependent memory operations", "a step may read what an earlier one wrote"),
    ("unhandled relevant PHI", "each step needs a result of the step before"),
    ("relevant phi not supported", "each step needs a result of the step before"),
    ("unsupported use in stmt", "each step needs a result of the step before"),
    ("could not be identified as reduction", "each step needs a result of the step before"),
    ("statement clobbers memory", "it calls a function that has no vector form"),
    ("call instruction cannot be vectorized", "it calls a function that has no vector form"),
    ("unsupported data-type", "an operation in it has no vector form"),
    ("no vectype", ""),  # of the last kind of vectors that gcc tried
    ("inner-loop count not invariant", "its inner loop differs in length from step to step"),
    ("vectorization not profitable", "the compiler expects no gain from vectors"),
    ("vectorization is not beneficial", "the compiler expects no gain from vectors"),
)


def spell_reason(words: str, exits: str | None = None) -> str:
    """A compiler's reason in the words of users; an unknown one without the compiler's own variables.

    ``exits`` says what ends the loop early, if that is known.
    """
    known = next((plain for part, plain in _REASONS if part in words), None)
    if known == _BRANCH and exits is not None:
        return f"{exits} ends it early" if exits else "a branch in it"
    return re.sub(r"(( for)? stmt)?:.*", "", words) if known is None else known


@dataclass(frozen=True)
class Remark:
    """A compiler's remark on one loop: its file and line, whether it was vectorized, and the compiler's words."""

    file: str
    line: int
    vectorized: bool
    words: str


def read_remarks(text: str) -> tuple[Remark, ...]:
    """Read gcc's ``-fopt-info-vec`` lines or clang's optimization record."""
    if text.lstrip().startswith("---"):
        return tuple(filter(None, map(_read_record, _YAML.findall(text))))
    remarks = []
    before, overlap = ("", "0", ""), ""
    for file, line, kind, indent, words in _GCC.findall(text):
        if indent:  # a detail of the analysis of the loop whose result follows
            overlap = words if _OVERLAP in words else overlap
            continue
        if kind == "optimized" and "loop vectorized" in words:
            remarks.append(Remark(file, int(line), True, words))
            overlap = ""
        elif kind == "missed" and words.startswith("not vectorized:"):
            # gcc 16 gives the reason the place of a value of the loop; the line before it has the loop's own.
            place = before[:2] if before[2].startswith("couldn't vectorize loop") else (file, line)
            reason = overlap or words.partition(":")[2].strip(" .")
            remarks.append(Remark(place[0], int(place[1]), False, reason))
            overlap = ""
        before = file, line, words
    return tuple(remarks)


def _read_record(record: tuple[str, str]) -> Remark | None:
    kind, body = record
    place = _YAML_PLACE.search(body)
    if place is None:
        return None
    strings = [(a or b or c).replace("''", "'") for a, b, c in _YAML_STRING.findall(body.partition("Args:")[2])]
    words = re.sub(r"\s+", " ", "".join(strings)).strip()
    reason = words.removeprefix("loop not vectorized").lstrip(": ")
    if kind != "Passed" and not reason:  # the reason follows in a record of its own
        return None
    return Remark(place[1], int(place[2]), kind == "Passed", words if kind == "Passed" else reason)


@dataclass(frozen=True)
class LoopReport:
    """A compiler's report on the loop of one ufunc.

    Attributes
    ----------
    name, types : str
        The function and its loop, ``"d->d"``.
    vectors : str
        ``"512-bit vectors"``, or ``""`` for one element at a time.
    line : int
        Line of the cell with the loop that is not vectorized; 0 if it is the loop over the elements.
    reason : str
        The compiler's reason why not, in words of users (`spell_reason`); ``""`` if it has none.
    ordered : bool
        The loop on ``line`` is a sum of floating-point numbers, whose order C fixes.
    gain : float
        How many times faster it is where the order is free (``--fast-math``); 0 if that was not measured.
    """

    name: str
    types: str
    vectors: str = ""
    line: int = 0
    reason: str = ""
    ordered: bool = False
    gain: float = 0.0

    def describe(self, place: CellPlace) -> str:
        """The report in words, with the line as ``place`` counts it."""
        line = place.line(self.line) if self.line else 0
        if self.ordered:
            order = f"C fixes the order of the sum on line {line}; {ANY_ORDER}"
            order += f": {spell_ratio(self.gain)}" if self.gain else ""
            return f"vectorized, {self.vectors}, but {order}" if self.vectors else f"not vectorized: {order}"
        if self.vectors:
            return f"vectorized, {self.vectors}"
        if line:
            return f"not vectorized: the loop on line {line}{self.reason and f' ({self.reason})'}"
        return f"not vectorized{self.reason and f': {self.reason}'}"


def report_loops(
    cell: CompiledCell, listing: Listing, remarks: Sequence[Remark], loops: Sequence[HotLoop]
) -> tuple[LoopReport, ...]:
    """The compiler's report on each hot loop of a cell.

    Parameters
    ----------
    cell : CompiledCell
    listing : mapping
        Its assembly: which generated lines belong to which function's kernel.
    remarks : sequence of Remark
    loops : sequence of HotLoop
    """
    return tuple(_report_loop(cell, listing, remarks, loop) for loop in loops)


def _report_loop(cell: CompiledCell, listing: Listing, remarks: Sequence[Remark], loop: HotLoop) -> LoopReport:
    object_code = cell.object_code
    span = find_span(object_code, loop.name)
    own = [
        (line, remark)
        for remark in remarks
        if remark.file.endswith(object_code.name) and remark.line in span
        if (line := find_loop_line(cell, remark.line))
    ]
    # gcc calls a sum that keeps its order vectorized: it loads vectors, and adds one element at a time.
    ordered = next((line for line, r in own if r.vectorized and loop.adds_in_order), 0)
    ordered = ordered or next((line for line, r in own if _ORDER in r.words), 0)
    if ordered:
        return LoopReport(loop.name, loop.types, loop.vectors, ordered, ordered=True)
    if loop.vectors:
        return LoopReport(loop.name, loop.types, loop.vectors)
    # The innermost of nested loops takes the time.
    depths = {find_loop_line(cell, placed.line): placed.inner for placed in sorted(loop.placed, key=lambda p: p.inner)}
    missed = [(line, r.words) for line, r in own if not r.vectorized]
    line, reason = max(missed, key=lambda one: depths.get(one[0], 0), default=(0, ""))
    slow = dict.fromkeys(p.calls for p in loop.placed if p.calls.isidentifier())
    if line and slow and not spell_reason(reason):
        return LoopReport(loop.name, loop.types, line=line, reason=f"it calls {next(iter(slow))}, one at a time")
    if not line:
        code = next(code for code in object_code.functions if code.name == loop.name)
        generated = _find_generated_lines(listing, [entry.index for entry in code.loops])
        ours = (r for r in remarks if r.file == GENERATED and r.line in generated and not r.vectorized)
        reason = next((r.words for r in ours), "")
    return LoopReport(
        loop.name, loop.types, line=line, reason=spell_reason(reason, cell.report_data.loop_lines.get(line))
    )


def _find_generated_lines(listing: Listing, indices: Sequence[int]) -> frozenset[int]:
    prefixes = {f"__ufm_{kind}_{index}" for index in indices for kind in ("kernel", "item")}
    functions = (f for name, f in listing.items() if name.partition(".")[0] in prefixes)
    return frozenset(i.line for function in functions for i in function.instructions if i.file == GENERATED)


def find_span(object_code: ObjectCode, function: str) -> range:
    """Lines of the cell that hold a function."""
    code = next(code for code in object_code.functions if code.name == function)
    return range(code.line, code.line + code.source.count("\n") + 1)


def find_loop_line(cell: CompiledCell, line: int) -> int:
    """The line of the cell's loop that a remark on ``line`` is about: gcc may name a line of the loop's body.

    0 if there is no loop: the remark is about the loop over the elements, into which the function is inlined.
    """
    object_code = cell.object_code
    spans = (find_span(object_code, code.name) for code in object_code.functions)
    start = next((span.start for span in spans if line in span), line)
    return max((n for n in cell.report_data.loop_lines if start <= n <= line), default=0)


def has_loop(cell: CompiledCell, function: str) -> bool:
    """Whether a function of a cell has a loop."""
    span = find_span(cell.object_code, function)
    return any(line in span for line in cell.report_data.loop_lines)
