"""The compiler's vectorization remarks on the cell's lines, in plain words.  Pure: reads gcc's and clang's texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import ObjectCode
from ..toolchain import GENERATED
from .assembly import Listing
from .hot_loops import HotLoop
from .tables import escape

__all__ = ["Remark", "Vectorization", "plain_words", "read_remarks", "vectorization"]

_LOOP = re.compile(r"\b(?:for|while|do|goto)\b")
_GCC = re.compile(r"(?m)^(.*?):(\d+):(\d+): (optimized|missed|note): +(.*)$")
_YAML = re.compile(r"--- !(Passed|Missed|Analysis)\w*\n(.*?)\n\.\.\.", re.DOTALL)
_YAML_PLACE = re.compile(r"DebugLoc:\s+\{ File: '?([^,']*)'?, Line: (\d+), Column: (\d+) \}")
_YAML_STRING = re.compile(r"- \w+:\s+(?:'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"|([^\n]+))")

#: What compilers say, and what it means; the first that is found holds.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"control flow in loop|loop control flow is not understood", "its end, or a jump in it, depends on the data"),
    (r"number of iterations cannot be computed|could not determine number of loop iterations|number of loop iterations",
     "how often it runs is not known before it starts"),
    (r"multiple exits|early exit|latch block|loop contains a switch", "it can be left in the middle"),
    (r"unsafe dependent memory|possible dependence|bad data dependence|data dependence",
     "one turn may read what an earlier one wrote"),
    (r"cannot identify array bounds|possible aliasing|unsafe dep", "its pointers may point to the same memory"),
    (r"complicated access pattern|not suitable for (?:gather|scatter|strided)|no array mode",
     "it reads memory in no regular steps"),
    (r"unsupported use in (?:stmt|nested cycle)|unsupported scalar cycle|"
     r"value that could not be identified as reduction|use of induction|cycle",
     "each turn needs the result of the one before, in an order that must be kept"),
    (r"relevant stmt not supported.*call|call instruction cannot be vectorized|statement clobbers memory.*\(|"
     r"function calls? or data references cannot be analy[sz]ed|simd clone",
     "it calls a function that has no vector form"),
    (r"reordering|cannot prove it is safe to reorder floating",
     "a sum in another order would round differently (--fast-math allows it)"),
    (r"no vectype for stmt|unsupported data-?type|not vectorized: unsupported",
     "it uses a type or operation without vector form"),
    (r"cost model|not beneficial|vectorization is not profitable|vector version will never be profitable",
     "vectors would not make it faster"),
    (r"no grouped stores|unsupported store|latch|outer-loop|inner-loop count not invariant|nested loop|multiple nested",
     "there is a loop inside of it that cannot be turned into vectors"),
)  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """What a compiler says of one loop: in which file and line, whether it was vectorized, and its own words."""

    file: str
    line: int
    column: int
    vectorized: bool
    words: str


@dataclass(frozen=True)
class Vectorization:
    """For each function of a cell, whether its loop is vectorized; for each loop in the cell, the same.

    ``told`` holds ``(line, sentence)``, line 0 for what is said of a function as a whole.
    """

    name: str
    lines: tuple[str, ...]
    told: tuple[tuple[int, str], ...]
    toolchain: str = ""

    @property
    def missed(self) -> tuple[tuple[int, str], ...]:
        """Lines whose loop is not vectorized, with why."""
        return tuple((line, words) for line, words in self.told if line and "not vectorized" in words)

    def to_text(self) -> str:
        """A sentence each, with the source line that it is about."""
        head = f"{self.name}: what {self.toolchain or 'the compiler'} vectorized"
        return "\n".join([head, *(self._sentence(line, words) for line, words in self.told)])

    def _sentence(self, line: int, words: str) -> str:
        source = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return f"  line {line}: {words}\n      {source}" if line else f"  {words}"

    def to_html(self) -> str:
        """The same as a list."""
        items = []
        for line, words in self.told:
            source = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
            code = f"<br><code>{escape(source)}</code>" if source else ""
            items.append(f"<li>{f'line {line}: ' * bool(line)}{escape(words)}{code}</li>")
        head = escape(f"{self.name}: what {self.toolchain or 'the compiler'} vectorized")
        return f'<div style="padding:.3em .7em">{head}<ul style="margin:.2em 0">{"".join(items)}</ul></div>'

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def read_remarks(text: str) -> tuple[Remark, ...]:
    """Read gcc's ``-fopt-info-vec`` lines or clang's optimization record."""
    if text.lstrip().startswith("---"):
        return tuple(filter(None, map(_yaml_remark, _YAML.findall(text))))
    found = []
    for file, line, column, kind, words in _GCC.findall(text):
        if kind == "optimized" and "loop vectorized" in words:
            found.append(Remark(file, int(line), int(column), True, words))
        elif kind == "missed" and words.startswith("not vectorized:"):
            found.append(Remark(file, int(line), int(column), False, words.partition(":")[2].strip()))
    return tuple(found)


def _yaml_remark(record: tuple[str, str]) -> Remark | None:
    kind, body = record
    place = _YAML_PLACE.search(body)
    if place is None:
        return None
    strings = [(a or b or c).replace("''", "'") for a, b, c in _YAML_STRING.findall(body.partition("Args:")[2])]
    words = re.sub(r"\s+", " ", "".join(strings)).strip()
    said = words.removeprefix("loop not vectorized").lstrip(": ")
    if kind != "Passed" and not said:  # the reason comes as a record of its own
        return None
    return Remark(place[1], int(place[2]), int(place[3]), kind == "Passed", words if kind == "Passed" else said)


def plain_words(words: str) -> str:
    """A compiler's reason as one of the house, or as it is where no phrase fits."""
    return next((plain for phrase, plain in _WORDS if re.search(phrase, words, re.I)), words.rstrip("."))


def vectorization(object_code: ObjectCode, listing: Listing, said: str, loops: Sequence[HotLoop]) -> Vectorization:
    """Put remarks on the cell's lines.

    Parameters
    ----------
    object_code : ObjectCode
    listing : Listing
        Its assembly: which generated lines belong to which function's kernel.
    said : str
        What the compiler wrote of its loops.
    loops : sequence of HotLoop
        What became of them: the last word on whether there are vectors in the loop that runs.
    """
    name, remarks = object_code.name, read_remarks(said)
    told: list[tuple[int, str]] = []
    for loop in loops:
        code = next(code for code in object_code.functions if code.name == loop.name)
        width = f"vectorized, {loop.vectors}" if loop.vectors else "not vectorized"
        calls = dict.fromkeys(p.calls for p in loop.placed if p.calls)
        called = f"; calls {', '.join(calls)}" if calls else ""
        why = ""
        if not loop.vectors:
            indices = [entry.index for entry in code.loops]
            why = _why(remarks, _generated_lines(listing, indices), _span(object_code, code.name), name)
        told.append((0, f"{loop.name}  {loop.types}: {width}{f': {why}' if why else ''}{called}"))
    own: dict[int, list[Remark]] = {}
    for remark in remarks:
        if remark.file.endswith(name) and _in_a_loop(object_code, remark.line):
            own.setdefault(remark.line, []).append(remark)
    for line, about in sorted(own.items()):
        # A clone for another CPU, or a copy in another loop, may have fared otherwise.
        if any(r.vectorized for r in about):
            bound = [loop for loop in loops if line in _span(object_code, loop.name)]
            # gcc calls a sum that keeps its order vectorized.
            scalar = bound and not any(loop.vectors for loop in bound)
            words = "reads vectors and computes one element at a time" if scalar else "is vectorized"
            told.append((line, f"this loop {words}"))
        else:
            told.append((line, f"this loop is not vectorized: {plain_words(about[0].words)}"))
    lines = tuple(object_code.source.replace("\r\n", "\n").split("\n"))
    return Vectorization(name, lines, tuple(told), object_code.toolchain)


def _in_a_loop(object_code: ObjectCode, line: int) -> bool:
    """A loop of the cell may be meant, and not ours around a function that is inlined there."""
    around = [code.source for code in object_code.functions if line in _span(object_code, code.name)]
    lines = object_code.source.split("\n")
    around = around or lines[line - 1 : line]
    return any(_LOOP.search(text) for text in around)


def _why(remarks: Sequence[Remark], generated: frozenset[int], span: range, name: str) -> str:
    """Why the loop over elements has no vectors: a loop of the function's own, or what the compiler says of ours."""
    inside = next((r.line for r in remarks if r.file.endswith(name) and r.line in span and not r.vectorized), 0)
    if inside:
        return f"line {inside} is a loop that cannot run for several elements at once"
    ours = [r for r in remarks if r.file == GENERATED and r.line in generated and not r.vectorized]
    return plain_words(ours[0].words) if ours else ""


def _generated_lines(listing: Listing, indices: Sequence[int]) -> frozenset[int]:
    prefixes = {f"__ufm_{kind}_{index}" for index in indices for kind in ("kernel", "item")}
    found = (f for name, f in listing.functions.items() if name.partition(".")[0] in prefixes)
    return frozenset(i.line for function in found for i in function.instructions if i.file == GENERATED)


def _span(object_code: ObjectCode, function: str) -> range:
    code = next(code for code in object_code.functions if code.name == function)
    return range(code.line, code.line + code.source.count("\n") + 1)
