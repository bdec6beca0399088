"""The hot loop of each function of a cell: which instructions belong to which line of the cell.  Pure values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..model import TYPES, FunctionCode, ObjectCode
from .assembly import Function, Instruction, Listing, called
from .tables import count, escape

__all__ = ["Assembly", "HotLoop", "Placed", "clone_of", "hot_loops"]

#: Clones of a kernel, best first: what the CPU must have (psABI's x86-64-v4 and -v3, in NumPy's words).
_CLONES: tuple[tuple[str, frozenset[str]], ...] = (
    ("arch_x86_64_v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
    ("arch_x86_64_v3", frozenset({"avx2", "fma3", "f16c"})),
    ("default", frozenset()),
)
#: A function of ours and the suffix of its clone; C++ writes its types behind its name.
_OURS = re.compile(r"(?:_ZL?\d+)?(__ufm_(?:kernel|item|sequence)_\d+)[^.\d]?[^.]*((?:\..*)?)$")
_REGISTERS = (("512-bit vectors", re.compile(r"%zmm")), ("256-bit vectors", re.compile(r"%ymm")))
#: Instructions on all lanes of a register, in x86-64's packed forms and on Arm's vectors.
_PACKED = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|min|max|mov[au]|xor|and|or|cmp)p[sd]|v?fn?m\w+p[sd]|v?p(?:add|sub|mul)"
)
_NEON = re.compile(r"\bv\d+\.\d+[bhsd]\b")
#: Functions of the cell that were not inlined are followed this far.
_FOLLOWED = 3


@dataclass(frozen=True)
class Placed:
    """An instruction of a hot loop: its line of the cell (0: not the cell's) and how many loops inside it is in."""

    text: str
    line: int
    inner: int
    calls: str = ""


@dataclass(frozen=True)
class HotLoop:
    """The loop that one call of a ufunc spends its time in.

    Attributes
    ----------
    name, types : str
        The function and its loop, ``"d->d"``.
    clone : str
        The variant that this CPU runs: ``"x86-64-v4"``, or ``""`` where there is one only.
    vectors : str
        ``"512-bit vectors"``, or ``""`` for one element at a time.
    placed : tuple of Placed
        In program order; functions that the loop calls come behind it.
    """

    name: str
    types: str
    clone: str
    vectors: str
    placed: tuple[Placed, ...]

    @property
    def shares(self) -> dict[int, float]:
        """Line of the cell -> its share of the loop's instructions; 0 is everything else."""
        lines = [instruction.line for instruction in self.placed]
        return {line: lines.count(line) / len(lines) for line in sorted(set(lines))}

    @property
    def words(self) -> str:
        how = self.vectors or "one element at a time"
        return ", ".join(part for part in (count(len(self.placed), "instruction"), how, self.clone) if part)


@dataclass(frozen=True)
class Assembly:
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
                source = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else "reading, writing, counting"
                head.append(f"  {f'line {line}' if line else 'loop':9} {source}")
                head += [f"      {'| ' * placed.inner}{_shown(placed)}" for placed in group]
        return "\n".join(head)

    def to_html(self) -> str:
        """The same text, folded by function."""
        text = self.to_text().split("\n\n")
        parts = []
        for block in text[1:]:
            title, _, body = block.partition("\n")
            parts.append(
                f'<details open style="margin:.2em 0"><summary style="display:list-item;cursor:pointer">{escape(title)}'
                f'</summary><pre style="margin:.2em 0 .6em 1em;background:transparent;color:inherit;line-height:1.35">'
                f"{escape(body)}</pre></details>"
            )
        return f'<div style="overflow-x:auto;padding:.3em .7em"><div>{escape(text[0])}</div>{"".join(parts)}</div>'

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def _grouped(loop: HotLoop) -> list[tuple[int, list[Placed]]]:
    """Instructions by line, the cell's first and in its order."""
    lines = sorted({placed.line for placed in loop.placed}, key=lambda line: (line == 0, line))
    return [(line, [placed for placed in loop.placed if placed.line == line]) for line in lines]


def _shown(placed: Placed) -> str:
    mnemonic, _, operands = placed.text.partition(" ")
    told = f"    ; {placed.calls}" if placed.calls and placed.calls not in operands else ""
    return f"{mnemonic:<12}{operands}{told}".rstrip()


def hot_loops(object_code: ObjectCode, listing: Listing, *, features: Collection[str]) -> tuple[HotLoop, ...]:
    """The hot loop of every ufunc of a cell, for the types that are timed.

    Parameters
    ----------
    object_code : ObjectCode
    listing : Listing
        Its assembly.
    features : collection of str
        What this CPU has; the clone that it would run is the one that is shown.
    """
    found = (_hot_loop(object_code, code, listing, features) for code in object_code.functions if code.loops)
    return tuple(loop for loop in found if loop is not None)


def _hot_loop(
    object_code: ObjectCode, code: FunctionCode, listing: Listing, features: Collection[str]
) -> HotLoop | None:
    loop = next((loop for loop in code.loops if loop.types == code.timed), code.loops[-1])
    kernel, clone = clone_of(loop.index, listing.functions, features)
    if kernel is None:
        return None
    own = {n for n, i in enumerate(kernel.instructions) if i.file == object_code.name}
    hottest = max(kernel.outermost, key=lambda loop: (len(own & loop), len(loop)), default=None)
    if hottest is None:
        chosen = [(i, 0) for i in kernel.instructions]
    else:
        chosen = [(kernel.instructions[n], kernel.depth(n) - 1) for n in sorted(hottest)]
    for function in _followed([i for i, _ in chosen], listing, object_code.name):
        chosen += [(i, function.depth(n)) for n, i in enumerate(function.instructions)]
    placed = tuple(
        Placed(i.text, i.line if i.file == object_code.name else 0, inner, called(i.target) if i.calls else "")
        for i, inner in chosen
    )
    letters = "".join(TYPES[t].char for t in loop.types)
    return HotLoop(code.name, f"{letters[: code.nin]}->{letters[code.nin :]}", clone, _vectors(placed), placed)


def clone_of(index: int, functions: Mapping[str, Function], features: Collection[str]) -> tuple[Function | None, str]:
    """The variant of kernel ``index`` that a CPU with ``features`` runs, and what it is called."""
    functions = {f"{m[1]}{m[2]}": f for name, f in functions.items() if (m := _OURS.match(name))}
    for kernel in (f"__ufm_kernel_{index}", f"__ufm_item_{index}"):
        for suffix, needed in _CLONES:
            made = functions.get(f"{kernel}.{suffix}")
            if made and needed <= set(features):
                return made, "" if suffix == "default" else suffix.removeprefix("arch_").replace("_64_", "-64-")
        if kernel in functions:
            return functions[kernel], ""
    # A function that always goes through Python has no kernel.
    return functions.get(f"__ufm_sequence_{index}"), ""


def _followed(start: Sequence[Instruction], listing: Listing, name: str) -> list[Function]:
    """Functions of the cell that ``start`` calls, and what they call."""
    found: dict[str, Function] = {}
    level = list(start)
    for _ in range(_FOLLOWED):
        targets = dict.fromkeys(i.target for i in level if i.calls)
        new = [listing.functions[t] for t in targets if t in listing.functions and t not in found]
        new = [function for function in new if any(i.file == name for i in function.instructions)]
        found |= {function.name: function for function in new}
        level = [i for function in new for i in function.instructions]
    return list(found.values())


def _vectors(placed: Sequence[Placed]) -> str:
    packed = [p.text for p in placed if _PACKED.match(p.text) or _NEON.search(p.text)]
    for words, register in _REGISTERS:
        if any(register.search(text) for text in packed):
            return words
    # Moves of a scalar register and its sign's mask are packed in name only.
    real = [text for text in packed if not re.match(r"v?(?:mov|xor|and|or)", text)]
    return "128-bit vectors" if real else ""
