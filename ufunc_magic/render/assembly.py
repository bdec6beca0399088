"""A compiler's assembly as functions of instructions, each with its source line, and the loops among them.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Function", "Instruction", "Listing", "called", "read"]

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_TYPE = re.compile(r"\s*\.type\s+([^\s,]+)\s*,\s*[@%]function")
_SIZE = re.compile(r"\s*\.size\s+([^\s,]+)\s*,")
_LABEL = re.compile(r'("?[\w.$@]+"?):')
#: Branches of x86-64 and of 64-bit Arm; what a branch goes to is its last operand.
_BRANCH = re.compile(r"(?:j\w+|b|b\.\w+|cbn?z|tbn?z|loop\w*)$")
#: After it, what follows is not reached.
_END = re.compile(r"(?:jmpq?|b|br|retq?|ud2)$")
_CALL = re.compile(r"(?:callq?|bl)$")
#: A number sign alone: on Arm one stands before numbers.
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
class Function:
    """A function's instructions in their order; ``loops`` are sets of their indices, outer loops before inner ones."""

    name: str
    instructions: tuple[Instruction, ...]
    loops: tuple[frozenset[int], ...]

    def depth(self, n: int) -> int:
        """How many loops instruction ``n`` is in."""
        return sum(n in loop for loop in self.loops)

    @property
    def outermost(self) -> tuple[frozenset[int], ...]:
        """Loops that are in no other."""
        return tuple(loop for loop in self.loops if not any(loop < other for other in self.loops))


@dataclass(frozen=True)
class Listing:
    """The functions of a unit by their names."""

    functions: dict[str, Function] = field(default_factory=dict)


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
    wanted: set[str] = set(_TYPE.findall(text))
    functions: dict[str, Function] = {}
    name, place = "", ("", 0)
    labels: list[str] = []
    body: list[Instruction] = []
    for line in text.splitlines():
        if match := _LABEL.match(line):
            word = match[1].strip('"')
            if word in wanted:
                name, body, place, labels = word, [], ("", 0), []
            else:
                labels.append(word)
        elif match := _LOC.match(line):
            place = files.get(match[1], ""), int(match[2])
        elif match := _FILE.match(line):
            files[match[1]] = match[3] or match[2]
        elif match := _SIZE.match(line):
            if name and match[1].strip('"') == name:
                functions[name] = Function(name, tuple(body), _loops(body))
                name = ""
        elif name and (words := _instruction(line)):
            body.append(Instruction(words, *place, tuple(labels)))
            labels = []
    return Listing(functions)


def _instruction(line: str) -> str:
    """The instruction of a line without its comment, or ``""`` for a directive or a comment."""
    words = " ".join(_COMMENT.sub("", line).split())
    return "" if words.startswith((".", "#")) else words


def _loops(body: list[Instruction]) -> tuple[frozenset[int], ...]:
    """Loops of the flow of control, wherever the compiler has put their blocks: cycles, and cycles in those."""
    where = {label: n for n, instruction in enumerate(body) for label in instruction.labels}
    after: list[list[int]] = []
    for n, instruction in enumerate(body):
        goes = [] if _END.match(instruction.mnemonic) or n + 1 == len(body) else [n + 1]
        target = None if instruction.calls else where.get(instruction.target)
        after.append(goes if target is None else [*goes, target])
    found: list[frozenset[int]] = []
    waiting = [frozenset(range(len(body)))]
    while waiting:
        for loop in _cycles(after, waiting.pop()):
            found.append(loop)
            # Without the instructions through which it is entered, only loops inside of it remain cycles.
            entered = {m for n, to in enumerate(after) if n not in loop for m in to if m in loop} or {min(loop)}
            waiting.append(loop - entered)
    return tuple(sorted(found, key=lambda loop: (-len(loop), min(loop))))


def _cycles(after: list[list[int]], within: frozenset[int]) -> Iterator[frozenset[int]]:
    """Strongly connected parts of a graph (R. Tarjan, SIAM J. Comput. 1, 1972), but for single nodes."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    for start in sorted(within):
        if start in number:
            continue
        work: list[tuple[int, Iterator[int]]] = [(start, iter(after[start]))]
        number[start] = low[start] = len(number)
        path.append(start)
        on_path.add(start)
        while work:
            node, following = work[-1]
            new = next((m for m in following if m in within and (m not in number or m in on_path)), None)
            if new is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part = path[path.index(node) :]
                    del path[path.index(node) :]
                    on_path.difference_update(part)
                    if len(part) > 1 or node in after[node]:
                        yield frozenset(part)
            elif new in number:
                low[node] = min(low[node], number[new])
            else:
                number[new] = low[new] = len(number)
                path.append(new)
                on_path.add(new)
                work.append((new, iter(after[new])))


def called(target: str) -> str:
    """A called function in words: ``"exp, 8 at a time"`` for a vector variant of libm's."""
    match = _VECTOR.match(target)
    return f"{match[3]}, {match[2]} at a time" if match else target
