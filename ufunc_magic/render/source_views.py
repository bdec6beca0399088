"""What became of a cell: its hot loops' assembly, the compiler's vectorization remarks, the C around it, by its lines.

Pure: reads the texts that ``toolchain.compiler_texts`` has the compiler leave.

Styles are inline, for JupyterLab drops style sheets; a tint is never all that is said, for the share stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..model import CompiledCell, ObjectCode
from ..runtime import cpu_features
from ..toolchain import GENERATED, CompilerTexts
from .assembly import HotLoop, Listing, Placed, hot_loops, read
from .tables import count, escape

ViewName = Literal["asm", "vec", "c", "annotate"]


class View:
    """One way of looking at a cell, as text and as one HTML fragment with inline styles; shows itself in a notebook."""

    def to_text(self) -> str:
        raise NotImplementedError

    def to_html(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/html": self.to_html()}


def views(cell: CompiledCell, names: Sequence[ViewName], texts: CompilerTexts) -> tuple[View, ...]:
    """The views of these names, in that order.

    Parameters
    ----------
    cell : CompiledCell
        Of C, C++ or CUDA for the CPU.
    names : sequence of {"asm", "vec", "c", "annotate"}
    texts : CompilerTexts
        What the compiler left of the same cell.

    Returns
    -------
    tuple of View
    """
    object_code = cell.object_code
    listing = read(texts.assembly)
    loops = hot_loops(cell, listing, features=cpu_features())

    def view(name: ViewName) -> View:
        match name:
            case "asm":
                return Assembly(object_code.name, _lines(object_code), loops, object_code.toolchain)
            case "vec":
                return vectorization(object_code, listing, texts.remarks, loops)
            case "c":
                return generated(texts.unit, name=object_code.name)
            case "annotate":
                return AnnotatedCell(object_code.name, _lines(object_code), loops)

    return tuple(map(view, dict.fromkeys(names)))


def _lines(object_code: ObjectCode) -> tuple[str, ...]:
    return tuple(object_code.source.replace("\r\n", "\n").split("\n"))


def _source(lines: Sequence[str], line: int) -> str:
    """A line of the cell, ``""`` for one that is not the cell's."""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _folded(title: str, text: str, *, opened: bool = True) -> str:
    return (
        f'<details{" open" * opened} style="margin:.2em 0"><summary style="display:list-item;cursor:pointer">'
        f'{escape(title)}</summary><pre style="margin:.2em 0 .6em 1em;background:transparent;color:inherit;'
        f'line-height:1.35">{escape(text)}</pre></details>'
    )


# -- asm: the hot loops


@dataclass(frozen=True)
class Assembly(View):
    """The hot loops of a cell, their instructions under the lines of the cell that they come from."""

    name: str
    lines: tuple[str, ...]
    loops: tuple[HotLoop, ...]
    toolchain: str = ""

    def to_text(self) -> str:
        """The loops, one below the other; an instruction of an inner loop has a bar for each loop it is in."""
        head = [f"{self.name}: the hot loop of each function, by line{f' ({self.toolchain})' * bool(self.toolchain)}"]
        for loop in self.loops:
            head += ["", f"{loop.name}  {loop.types}: {loop.words}"]
            for line, group in _grouped(loop):
                source = _source(self.lines, line) if line else "reading, writing, counting"
                head.append(f"  {f'line {line}' if line else 'loop':9} {source}")
                head += [f"      {'| ' * placed.inner}{_shown(placed)}" for placed in group]
        return "\n".join(head)

    def to_html(self) -> str:
        """The same text, folded by function."""
        text = self.to_text().split("\n\n")
        parts = []
        for block in text[1:]:
            title, _, body = block.partition("\n")
            parts.append(_folded(title, body))
        return f'<div style="overflow-x:auto;padding:.3em .7em"><div>{escape(text[0])}</div>{"".join(parts)}</div>'


def _grouped(loop: HotLoop) -> list[tuple[int, list[Placed]]]:
    """Instructions by line, the cell's first and in its order."""
    lines = sorted({placed.line for placed in loop.placed}, key=lambda line: (line == 0, line))
    return [(line, [placed for placed in loop.placed if placed.line == line]) for line in lines]


def _shown(placed: Placed) -> str:
    mnemonic, _, operands = placed.text.partition(" ")
    return f"{mnemonic:<12}{operands}{_callee(placed, operands)}".rstrip()


def _callee(placed: Placed, operands: str) -> str:
    """What an instruction calls, as a comment behind it, unless its own words say it."""
    return f"    ; {placed.calls}" if placed.calls and placed.calls not in operands else ""


# -- annotate: each line with its share of the hot loop

_FACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);"
    "font-size:var(--jp-code-font-size,13px);line-height:1.45;color:inherit"
)
_ROW = "white-space:pre;margin:0 0 0 1.4em;padding:0 .4em"
_CODE = (
    "white-space:pre;margin:.2em 0 .6em 1.8em;padding:.2em .8em;background:transparent;color:inherit;"
    "border-left:2px solid rgba(128,128,128,.6);font-family:inherit;font-size:.92em;line-height:1.35"
)
#: Opacity of the tint at a share of 1; more would take the contrast from light text.
_DEEPEST = 0.36


@dataclass(frozen=True)
class AnnotatedCell(View):
    """A cell and the hot loops of its functions; shows itself in a notebook.

    Attributes
    ----------
    name : str
        The cell, ``"In[3]"``.
    lines : tuple of str
        Its text.
    loops : tuple of HotLoop
    """

    name: str
    lines: tuple[str, ...]
    loops: tuple[HotLoop, ...]

    @property
    def summary(self) -> str:
        """What each loop is, in words."""
        loops = "; ".join(f"{loop.name} {loop.types}: {loop.words}" for loop in self.loops)
        return loops or "no function of the cell has a loop"

    def share(self, line: int) -> float:
        """The largest share that line ``line`` has of any function's loop, 0 to 1."""
        return max((loop.shares.get(line, 0.0) for loop in self.loops), default=0.0)

    def to_text(self) -> str:
        """A line of text for each line of the cell: number, share of its loop's instructions, source."""
        rows = [self._row(n) for n in range(1, len(self.lines) + 1)]
        return "\n".join([f"{self.name}: {self.summary}", self._head(), *rows])

    def to_html(self) -> str:
        """One fragment with inline styles only; a line's assembly is folded under it."""
        rows = "".join(self._html_row(n) for n in range(1, len(self.lines) + 1))
        return (
            f'<div style="overflow-x:auto;{_FACE}">'
            f'<div style="padding:.2em .4em"><strong>{escape(self.name)}</strong>: {escape(self.summary)}. '
            "Open a line to see its assembly.</div>"
            f'<div style="min-width:max-content"><div style="{_ROW};opacity:.75">{self._head()}</div>{rows}</div></div>'
        )

    @property
    def _width(self) -> int:
        return max(4, len(str(len(self.lines))))

    def _head(self) -> str:
        return f"{'line':>{self._width}} {'share':>5}  source"

    def _row(self, line: int) -> str:
        share = self.share(line)
        percent = f"{share:.0%}" if share else ""
        return f"{line:>{self._width}} {percent:>5}  {self.lines[line - 1]}".rstrip()

    def _html_row(self, line: int) -> str:
        row, share = escape(self._row(line)), self.share(line)
        placed = [p for loop in self.loops for p in loop.placed if p.line == line]
        if not placed:
            return f'<div style="{_ROW}">{row}</div>'
        tint = f"background:rgba(255,150,0,{_DEEPEST * share**0.5:.2f})"
        style = f"display:list-item;list-style-position:outside;cursor:pointer;{_ROW};{tint}"
        code = escape("\n".join(f"{'| ' * p.inner}{p.text}{_callee(p, p.text)}" for p in placed))
        return (
            f'<details style="margin:0"><summary style="{style}">{row}</summary>'
            f'<pre style="{_CODE}">{code}</pre></details>'
        )


# -- c: the generated unit

_MARKER = re.compile(r'#(?:line)? +(\d+) +"((?:[^"\\]|\\.)*)"')
#: Where the cell's own part ends and the loops made for it begin.
_CELL, _AFTER = "before the cell", "after the cell: its loops"


@dataclass(frozen=True)
class Generated(View):
    """A unit in parts, ``(title, text)``: what stands before the cell, the cell, the loops."""

    name: str
    parts: tuple[tuple[str, str], ...]

    def to_text(self) -> str:
        """The whole as one C text, a comment above each part."""
        return "\n\n".join(f"/* {title} */\n{text}" for title, text in self.parts)

    def to_html(self) -> str:
        """The parts, folded but for the last."""
        blocks = []
        for n, (title, text) in enumerate(self.parts):
            size = count(text.count("\n") + 1, "line")
            blocks.append(_folded(f"{title} ({size})", text, opened=n == len(self.parts) - 1))
        return f'<div style="overflow-x:auto;padding:.3em .7em">{"".join(blocks)}</div>'


def generated(preprocessed: str, *, name: str) -> Generated:
    """Take the unit out of its preprocessed text.

    Parameters
    ----------
    preprocessed : str
        With line markers; directives may still be in it.
    name : str
        What ``#line`` calls the cell.
    """
    parts: list[tuple[str, list[str]]] = [(_CELL, [])]
    ours = ""
    for line in preprocessed.split("\n"):
        if match := _MARKER.match(line):
            file = match[2].replace('\\"', '"')
            ours = file if file in (name, GENERATED) else ""
            title = name if ours == name else parts[0][0] if len(parts) == 1 else _AFTER
            if ours and parts[-1][0] != title:
                parts.append((title, []))
        elif ours and not line.startswith(("#define __GCC", "#undef __GCC")):  # the compiler's own
            parts[-1][1].append(line)
    return Generated(name, tuple((title, text) for title, lines in parts if (text := _tidy(lines))))


def _tidy(lines: list[str]) -> str:
    """The lines with no more than one empty one in a row, and none at the ends."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


# -- vec: the vectorization remarks

_LOOP = re.compile(r"\b(?:for|while|do|goto)\b")
_GCC = re.compile(r"(?m)^(.*?):(\d+):\d+: (optimized|missed|note): +(.*)$")
_YAML = re.compile(r"--- !(Passed|Missed|Analysis)\w*\n(.*?)\n\.\.\.", re.DOTALL)
_YAML_PLACE = re.compile(r"DebugLoc:\s+\{ File: '?([^,']*)'?, Line: (\d+), Column: \d+ \}")
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
    vectorized: bool
    words: str


@dataclass(frozen=True)
class Vectorization(View):
    """For each function of a cell, whether its loop is vectorized; for each loop in the cell, the same.

    ``sentences`` holds ``(line, sentence)``, line 0 for what is said of a function as a whole.
    """

    name: str
    lines: tuple[str, ...]
    sentences: tuple[tuple[int, str], ...]
    toolchain: str = ""

    @property
    def _head(self) -> str:
        return f"{self.name}: what {self.toolchain or 'the compiler'} vectorized"

    def to_text(self) -> str:
        """A sentence each, with the source line that it is about."""
        parts = [
            f"  line {line}: {words}\n      {_source(self.lines, line)}" if line else f"  {words}"
            for line, words in self.sentences
        ]
        return "\n".join([self._head, *parts])

    def to_html(self) -> str:
        """The same as a list."""
        items = []
        for line, words in self.sentences:
            source = _source(self.lines, line)
            code = f"<br><code>{escape(source)}</code>" if source else ""
            items.append(f"<li>{f'line {line}: ' * bool(line)}{escape(words)}{code}</li>")
        listed = f'<ul style="margin:.2em 0">{"".join(items)}</ul>'
        return f'<div style="padding:.3em .7em">{escape(self._head)}{listed}</div>'


def read_remarks(text: str) -> tuple[Remark, ...]:
    """Read gcc's ``-fopt-info-vec`` lines or clang's optimization record."""
    if text.lstrip().startswith("---"):
        return tuple(filter(None, map(_yaml_remark, _YAML.findall(text))))
    remarks = []
    for file, line, kind, words in _GCC.findall(text):
        if kind == "optimized" and "loop vectorized" in words:
            remarks.append(Remark(file, int(line), True, words))
        elif kind == "missed" and words.startswith("not vectorized:"):
            remarks.append(Remark(file, int(line), False, words.partition(":")[2].strip()))
    return tuple(remarks)


def _yaml_remark(record: tuple[str, str]) -> Remark | None:
    kind, body = record
    place = _YAML_PLACE.search(body)
    if place is None:
        return None
    strings = [(a or b or c).replace("''", "'") for a, b, c in _YAML_STRING.findall(body.partition("Args:")[2])]
    words = re.sub(r"\s+", " ", "".join(strings)).strip()
    reason = words.removeprefix("loop not vectorized").lstrip(": ")
    if kind != "Passed" and not reason:  # the reason comes as a record of its own
        return None
    return Remark(place[1], int(place[2]), kind == "Passed", words if kind == "Passed" else reason)


def plain_words(words: str) -> str:
    """A compiler's reason as one of the house, or as it is where no phrase fits."""
    return next((plain for phrase, plain in _WORDS if re.search(phrase, words, re.I)), words.rstrip("."))


def vectorization(object_code: ObjectCode, listing: Listing, text: str, loops: Sequence[HotLoop]) -> Vectorization:
    """Put remarks on the cell's lines.

    Parameters
    ----------
    object_code : ObjectCode
    listing : mapping
        Its assembly: which generated lines belong to which function's kernel.
    text : str
        What the compiler wrote of its loops.
    loops : sequence of HotLoop
        What became of them: the last word on whether there are vectors in the loop that runs.
    """
    name, remarks = object_code.name, read_remarks(text)
    sentences: list[tuple[int, str]] = []
    for loop in loops:
        code = next(code for code in object_code.functions if code.name == loop.name)
        width = f"vectorized, {loop.vectors}" if loop.vectors else "not vectorized"
        calls = dict.fromkeys(p.calls for p in loop.placed if p.calls)
        called = f"; calls {', '.join(calls)}" if calls else ""
        why = ""
        if not loop.vectors:
            indices = [entry.index for entry in code.loops]
            why = _why(remarks, _generated_lines(listing, indices), _span(object_code, code.name), name)
        sentences.append((0, f"{loop.name}  {loop.types}: {width}{f': {why}' if why else ''}{called}"))
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
            sentences.append((line, f"this loop {words}"))
        else:
            sentences.append((line, f"this loop is not vectorized: {plain_words(about[0].words)}"))
    return Vectorization(name, _lines(object_code), tuple(sentences), object_code.toolchain)


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
    functions = (f for name, f in listing.items() if name.partition(".")[0] in prefixes)
    return frozenset(i.line for function in functions for i in function.instructions if i.file == GENERATED)


def _span(object_code: ObjectCode, function: str) -> range:
    code = next(code for code in object_code.functions if code.name == function)
    return range(code.line, code.line + code.source.count("\n") + 1)
