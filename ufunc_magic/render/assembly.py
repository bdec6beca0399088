"""A compiler's assembly: functions of instructions, each with its source line, their loops, and the hot one.  Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..compilers import GENERATED
from ..model import CellFunction, CompiledCell, ObjectCode
from ..runtime import spell_letters
from .tables import count

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_TYPE = re.compile(r"\s*\.type\s+([^\s,]+)\s*,\s*[@%]function")
_SIZE = re.compile(r"\s*\.size\s+([^\s,]+)\s*,")
_LABEL = re.compile(r'([\w.$@]+|"[^"]+"):')
#: Branches of x86-64 and of 64-bit Arm, whose conditions gcc writes without a dot; the last operand is the target.
_BRANCH = re.compile(r"(?:j\w+|b|b\.\w+|b(?:eq|ne|[cv][cs]|h[is]|l[eost]|g[et]|mi|pl|any|none)|cbn?z|tbn?z|loop\w*)$")
#: After it, what follows is not reached.
_END = re.compile(r"(?:jmpq?|b|br|retq?|ud2)$")
_CALL = re.compile(r"(?:callq?|bl)$")
#: Our loops do none of it themselves.
_ARITHMETIC = re.compile(r"v?(?:add|sub|mul|div|sqrt|fn?m(?:add|sub)\w*)[ps][sd]\b")
#: A number sign alone: on Arm one precedes numbers.
_COMMENT = re.compile(r"(?:^|\s)(?:#(?:\s|$)|//).*")
_VECTOR = re.compile(r"_ZGV[a-zA-Z]+?([NM])(\d+)\w*?_(\w+)$")


@dataclass(frozen=True)
class Instruction:
    """One instruction as the compiler wrote it, with its file and line (``""``, 0 where it has none)."""

    text: str
    file: str
    line: int
    labels: tuple[str, ...] = ()

    @property
    def mnemonic(self) -> str:
        return self.text.split(None, 1)[0]

    @property
    def target(self) -> str:
        """Where it jumps to or what it calls, or ``""``."""
        if not (_BRANCH.match(self.mnemonic) or _CALL.match(self.mnemonic)):
            return ""
        return self.text.split()[-1].rpartition(",")[2].partition("@")[0].strip('*"')

    @property
    def calls(self) -> bool:
        return bool(_CALL.match(self.mnemonic))


@dataclass(frozen=True)
class ListedFunction:
    """A function's instructions in their order; ``loops`` are sets of their indices, outer loops before inner ones."""

    name: str
    instructions: tuple[Instruction, ...]
    loops: tuple[frozenset[int], ...]

    def count_loops(self, n: int) -> int:
        """How many loops instruction ``n`` is in."""
        return sum(n in loop for loop in self.loops)

    @property
    def outermost(self) -> tuple[frozenset[int], ...]:
        """Loops that are in no other."""
        return tuple(loop for loop in self.loops if not any(loop < other for other in self.loops))


#: The functions of a unit by their names.
Listing = Mapping[str, ListedFunction]


def read(text: str) -> Listing:
    """Read the text that ``-S`` makes.

    Parameters
    ----------
    text : str
        With line numbers (``-g``); AT&T syntax for x86-64.

    Returns
    -------
    Listing
    """
    files: dict[str, str] = {}
    names = {name.strip('"') for name in _TYPE.findall(text)}
    functions: dict[str, ListedFunction] = {}
    name, place, of_cell = "", ("", 0), ("", 0)
    labels: list[str] = []
    body: list[Instruction] = []
    for line in text.splitlines():
        if match := _LABEL.match(line):
            word = match[1].strip('"')
            if word in names:
                name, body, place, of_cell, labels = word, [], ("", 0), ("", 0), []
            else:
                labels.append(word)
        elif match := _LOC.match(line):
            place = files.get(match[1], ""), int(match[2])
            of_cell = of_cell if place[0] == GENERATED else place
        elif match := _FILE.match(line):
            files[match[1]] = match[3] or match[2]
        elif match := _SIZE.match(line):
            if name and match[1].strip('"') == name:
                functions[name] = ListedFunction(name, tuple(body), _find_loops(body))
                name = ""
        elif name and (words := _read_instruction(line)):
            # gcc 16 gives what it joins after vectorizing, such as a fused multiply-add, the place of our store.
            joined = place[0] == GENERATED and of_cell[0] and _ARITHMETIC.match(words)
            body.append(Instruction(words, *(of_cell if joined else place), tuple(labels)))
            labels = []
    return functions


def _read_instruction(line: str) -> str:
    """The instruction of a line without its comment, or ``""`` for a directive or a comment."""
    words = " ".join(_COMMENT.sub("", line).split())
    return "" if words.startswith((".", "#")) else words


def _find_loops(body: list[Instruction]) -> tuple[frozenset[int], ...]:
    """Loops of the flow of control, wherever the compiler has put their blocks: cycles, and cycles in those."""
    where = {label: n for n, instruction in enumerate(body) for label in instruction.labels}
    after: list[list[int]] = []
    for n, instruction in enumerate(body):
        goes = [] if _END.match(instruction.mnemonic) or n + 1 == len(body) else [n + 1]
        target = None if instruction.calls else where.get(instruction.target)
        after.append(goes if target is None else [*goes, target])
    loops: list[frozenset[int]] = []
    waiting = [frozenset(range(len(body)))]
    while waiting:
        for loop in _find_cycles(after, waiting.pop()):
            loops.append(loop)
            # Without the instructions through which it is entered, only loops inside of it remain cycles.
            entered = {m for n, to in enumerate(after) if n not in loop for m in to if m in loop} or {min(loop)}
            waiting.append(loop - entered)
    return tuple(sorted(loops, key=lambda loop: (-len(loop), min(loop))))


def _find_cycles(after: list[list[int]], within: frozenset[int]) -> Iterator[frozenset[int]]:
    """Strongly connected parts of a graph, but for single nodes: each has an edge that leads back."""
    before: list[list[int]] = [[] for _ in after]
    for node in within:
        for following in after[node]:
            before[following].append(node)
    heads = {following for node in within for following in after[node] if following <= node} & within
    while heads:
        head = heads.pop()
        if part := _find_reached(after, head, within) & _find_reached(before, head, within):
            yield part
        heads -= part


def _find_reached(edges: list[list[int]], start: int, within: frozenset[int]) -> frozenset[int]:
    """Nodes at the ends of ways from ``start``, itself only where one leads back."""
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        new = [node for node in edges[waiting.pop()] if node in within and node not in reached]
        reached.update(new)
        waiting += new
    return frozenset(reached)


def name_called(target: str) -> str:
    """A called function in words: ``"exp, 8 at a time"`` for a vector variant of libm's."""
    match = _VECTOR.match(target)
    return f"{match[3]}, {match[2]} at a time" if match else target


# -- the hot loop of each function of a cell

#: Clones of a kernel, best first: suffix, name (psABI's x86-64-v4 and -v3), what the CPU must have in NumPy's words.
_CLONES: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("arch_x86_64_v4", "x86-64-v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
    ("arch_x86_64_v3", "x86-64-v3", frozenset({"avx2", "fma3", "f16c"})),
    ("_Msve", "SVE", frozenset({"sve"})),
    ("default", "", frozenset()),
)
#: A function of ours and the suffix of its clone, which clang numbers; C++ appends the types to the name.
_OURS = re.compile(r"(?:_ZL?\d+)?(__ufm_(?:kernel|item|sequence)_\d+)[^.\d]?[^.]*((?:\..*?)?)(?:\.\d+)?$")
#: A conversion of numbers in memory has their register's length in its name.
_REGISTERS = (("512-bit vectors", re.compile(r"%zmm")), ("256-bit vectors", re.compile(r"%ymm|^v\w+2\w+y\s")))
#: Instructions on all lanes of a register, in x86-64's packed forms and on Arm's vectors.
_PACKED = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|min|max|mov[au]|xor|and|or|cmp)p[sd]|v?fn?m\w+p[sd]"
    r"|v?p(?:add|sub|mul|min|max|cmp|xor|and|or|s[rl][la]|ternlog|blend|perm)"
    r"|v?cvtt?(?:p[sd]|u?dq|u?qq)2|v?p?gather|v?blendvp[sd]|v(?:round|rndscale)p[sd]"
)
_IN_NAME = re.compile(r"v?p?(?:mov|xor|and|or|blendv)")
_NEON = re.compile(r"\bv\d+\.\d+[bhsd]\b")
#: Additions of single floating-point numbers, on x86-64 and on Arm.
_SCALAR_ADD = re.compile(r"v?(?:add|sub)s[sd]\b|fadda?\s+[sd]\d")
#: Registers as long as the processor has them.
_SVE = re.compile(r"\bz\d+\.[bhsd]\b")
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
    adds_in_order : bool
        A loop in it adds the elements of vectors one by one.
    placed : tuple of Placed
        In program order; functions that the loop calls follow it.
    """

    name: str
    types: str
    clone: str
    vectors: str
    placed: tuple[Placed, ...]
    adds_in_order: bool = False

    @property
    def shares(self) -> dict[int, float]:
        """Line of the cell -> its share of the loop's instructions; 0 is everything else."""
        lines = [instruction.line for instruction in self.placed]
        return {line: lines.count(line) / len(lines) for line in sorted(set(lines))}

    @property
    def words(self) -> str:
        how = self.vectors or "one element at a time"
        return ", ".join(part for part in (count(len(self.placed), "instruction"), how, self.clone) if part)


def find_hot_loops(cell: CompiledCell, listing: Listing, *, features: Collection[str]) -> tuple[HotLoop, ...]:
    """The hot loop of every ufunc of a cell, for the types that are timed.

    Parameters
    ----------
    cell : CompiledCell
    listing : mapping
        Its assembly, of `read`.
    features : collection of str
        What this CPU has; the clone that it would run is the one that is shown.
    """
    functions = cell.report_data.functions
    loops = (_find_hot_loop(cell.object_code, code, listing, features) for code in functions if code.loops)
    return tuple(loop for loop in loops if loop is not None)


def _find_hot_loop(
    object_code: ObjectCode, code: CellFunction, listing: Listing, features: Collection[str]
) -> HotLoop | None:
    loop = next((loop for loop in code.loops if loop.types == code.timed), code.loops[-1])
    kernel, clone = find_clone(loop.index, listing, features)
    if kernel is None:
        return None
    hottest = _find_hottest(kernel, object_code.name)
    if hottest is None:
        chosen = [(i, 0) for i in kernel.instructions]
    else:
        chosen = [(kernel.instructions[n], kernel.count_loops(n) - 1) for n in sorted(hottest)]
    for function in _follow_calls([i for i, _ in chosen], listing, object_code.name):
        chosen += [(i, function.count_loops(n)) for n, i in enumerate(function.instructions)]
    placed = tuple(
        Placed(i.text, i.line if i.file == object_code.name else 0, inner, name_called(i.target) if i.calls else "")
        for i, inner in chosen
    )
    in_order = _adds_in_order(kernel, hottest or frozenset())
    return HotLoop(code.name, spell_letters(loop.types, code.nin), clone, _describe_vectors(placed), placed, in_order)


def _find_hottest(kernel: ListedFunction, name: str) -> frozenset[int] | None:
    """The loop with most instructions of the cell; of several for the same line the one with vectors.

    The others are for the last elements, and for operands that overlap.
    """
    lines = {n: i.line for n, i in enumerate(kernel.instructions) if i.file == name}
    longest = max(kernel.outermost, key=lambda loop: (len(loop & lines.keys()), len(loop)), default=None)
    if longest is None:
        return None
    of_line = {lines[n] for n in longest & lines.keys()}
    same = [loop for loop in kernel.outermost if of_line & {lines[n] for n in loop & lines.keys()}]
    texts = [instruction.text for instruction in kernel.instructions]
    packed = [loop for loop in same if any(map(_computes_packed, (texts[n] for n in loop)))]
    return max(packed, key=len, default=longest)


def find_clone(index: int, functions: Listing, features: Collection[str]) -> tuple[ListedFunction | None, str]:
    """The variant of kernel ``index`` that a CPU with ``features`` runs, and what it is called."""
    functions = {m[1] + m[2].replace("-", "_"): f for name, f in functions.items() if (m := _OURS.match(name))}
    for kernel in (f"__ufm_kernel_{index}", f"__ufm_item_{index}"):
        for suffix, words, needed in _CLONES:
            variant = functions.get(f"{kernel}.{suffix}")
            if variant and needed <= set(features):
                return variant, words
        if kernel in functions:
            return functions[kernel], ""
    # A function that always goes through Python has no kernel.
    return functions.get(f"__ufm_sequence_{index}"), ""


def _follow_calls(start: Sequence[Instruction], listing: Listing, name: str) -> list[ListedFunction]:
    """Functions of the cell that ``start`` calls, and what they call."""
    followed: dict[str, ListedFunction] = {}
    level = list(start)
    for _ in range(_FOLLOWED):
        targets = dict.fromkeys(i.target for i in level if i.calls)
        new = [listing[t] for t in targets if t in listing and t not in followed]
        new = [function for function in new if any(i.file == name for i in function.instructions)]
        followed |= {function.name: function for function in new}
        level = [i for function in new for i in function.instructions]
    return list(followed.values())


def _adds_in_order(function: ListedFunction, within: frozenset[int]) -> bool:
    """Whether an innermost loop adds single numbers as gcc writes a vectorized sum that keeps its order.

    It has vectors as well, or gcc has replaced them all by memory operands.
    """
    texts = {n: function.instructions[n].text for n in within}
    packed = {n for n, text in texts.items() if _is_packed(text)}
    inside = [loop for loop in function.loops if loop <= within]
    innermost = [loop for loop in inside if not any(other < loop for other in inside)]
    return any(
        sum(bool(_SCALAR_ADD.match(texts[n])) for n in loop) > 1 and (packed & loop or not packed) for loop in innermost
    )


def _is_packed(text: str) -> bool:
    return bool(_PACKED.match(text) or _NEON.search(text) or _SVE.search(text))


def _computes_packed(text: str) -> bool:
    """Whether it is packed in more than name: moves, choices and the mask of a sign also serve single numbers."""
    return _is_packed(text) and not (_IN_NAME.match(text) and not re.search("%[yz]mm", text))


def _describe_vectors(placed: Sequence[Placed]) -> str:
    if any(_SVE.search(p.text) for p in placed):
        return "SVE vectors"
    packed = [p.text for p in placed if _PACKED.match(p.text) or _NEON.search(p.text)]
    for words, register in _REGISTERS:
        if any(register.search(text) for text in packed):
            return words
    return "128-bit vectors" if any(map(_computes_packed, packed)) else ""
