"""C's rules for integers in Python's text: marked where they may matter, watched on inputs, written out where they do.

Python's integers neither wrap nor divide as C's do, and most functions never notice it: nobody writes ``(a + b) &
0xFFFFFFFF`` for numbers that are small.  So a text has a mark, a call like ``__ufm_uint32(a + b)``, wherever C's
result may differ from Python's.  `write_module_texts` writes all marks out, for texts that have to agree with C on
every input.  `Watched` runs with C's rules, sees on given inputs which of them change anything, and writes out those:
what a person would write for such inputs.  Nothing can run away in that text: on these inputs its every step has the
value that C's has.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .math_names import HELPERS
from .runtime_names import make_namespace
from .value import Part, Spelled, call, number, parse_template, unparse, walk, write_module, write_operation

#: How marks begin; no name of a cell does.
MARK = "__ufm_"

#: Up to here a double has every integer.
_EXACT = 1 << 53

#: How a mark is written: as Python's own operator; with what makes that C's; by a function that always is C's.
_PLAIN, _SHORT, _HELPER = range(3)

_VERBS = {"div": "divides", "rem": "divides", "shift": "shifts", "round": "rounds", "flip": ""}


def write_mark(word: str, *arguments: Part) -> ast.expr:
    """A mark: ``int32(x)``, ``uint8(x)``, ``div(a, b)``, ``rem(a, b)``, ``shift(count, 31)``, ``flip(x)``,
    ``truth(x)`` (a truth value that is a number in C),
    ``round(x)``."""
    return call(f"{MARK}{word}", *arguments)


def read_mark(node: ast.expr, word: str) -> list[ast.expr]:
    """The arguments of such a mark; none of anything else."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments) if name == f"{MARK}{word}":
            return arguments
    return []


def write_module_texts(blocks: Sequence[Sequence[ast.stmt]], helpers: Mapping[str, str]) -> tuple[str, str]:
    """A module's text with all marks written out, and the one with marks; ``""`` where there are none.

    The first block holds imports; of ``helpers`` the texts bring along those that they call.
    """
    nodes = [node for block in blocks for node in block]
    names = {n.id for node in nodes for n in walk(node) if isinstance(n, ast.Name)}
    words = {f"_{name.removeprefix(MARK)}" for name in names if name.startswith(MARK)}
    marks = ""
    if words:
        marks = "\n".join([*(helpers[name] for name in helpers if name in names), *map(unparse, nodes)])
        blocks = [[_Written().visit(node) for node in block] for block in blocks]
    return write_module([blocks[0], *(helpers[name] for name in helpers if name in names | words), *blocks[1:]]), marks


def write_agreeing_text(marks: str) -> str:
    """A text with marks, all of them written out: it agrees with C on every input."""
    return write_module_texts([[], *([node] for node in ast.parse(marks).body)], HELPERS)[0]


def write_plain_text(marks: str, *, divides: bool) -> str:
    """A text with marks, for signed integers that stay small: unsigned ones are wrapped as in C.

    ``divides``: quotients are rounded as in C too.
    """
    tree = ast.parse(marks)
    words = _split_words(_spell_numbers(tree, marks))
    plain = ("int", "flip", "truth", "shift", *(() if divides else ("div", "rem")))
    levels = [_PLAIN if word.startswith(plain) else _SHORT for word in words]
    tree = _Written(levels or [_PLAIN]).visit(tree)
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    used = {node.id for node in walk(tree) if isinstance(node, ast.Name)} - defined
    return write_module([*(HELPERS[name] for name in HELPERS if name in used), *([node] for node in tree.body)])


@dataclass(frozen=True)
class Natural:
    """A function as a person would write it for the inputs that it was watched on.

    ``note`` says where that takes C's rules: ``"wraps as C does"``.
    """

    function: Callable[..., Any]
    text: str
    note: str


class Watched:
    """A text with marks, ready to run: ``function`` has C's results, and what it is called with is watched."""

    def __init__(self, marks: str, name: str) -> None:
        self._marks, self._name = marks, name
        watching = _Watching()
        text = ast.unparse(watching.visit(ast.parse(marks)))
        self._sites = watching.sites
        self.function = _compile_function(text, name, watching.names)

    def make_natural(self) -> Natural:
        """The function for what it was called with so far."""
        tree = _spell_numbers(ast.parse(self._marks), self._marks)
        tree = _Written([site.level for site in self._sites]).visit(tree)
        names = {f"_{site.word}" for site in self._sites if site.level == _HELPER}
        text = write_module([*(HELPERS[name] for name in HELPERS if name in names), *([node] for node in tree.body)])
        verbs = dict.fromkeys(_VERBS.get(site.word, "wraps") for site in self._sites if site.level != _PLAIN)
        note = " and ".join(filter(None, verbs))
        return Natural(_compile_function(text, self._name, {}), text, f"{note} as C does" if note else "")


def _compile_function(text: str, name: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    scope: dict[str, Any] = {**make_namespace("timing"), **names}
    exec(compile(text, f"<{name} in Python>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def _spell_numbers(tree: ast.Module, text: str) -> ast.Module:
    """The tree of a text with numbers written as they are there: ``0xFF``."""
    lines = text.encode().split(b"\n")
    for node in walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 9:
            word = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            node.value = node.value if word.isdecimal() else Spelled(node.value, word)
    return tree


# -- marks in a tree


class _Marks(ast.NodeTransformer):
    """Goes through the marks of a tree, inner ones first."""

    number = 0

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name.startswith(MARK):
                self.number += 1
                return self.replace_mark(name.removeprefix(MARK), arguments, self.number - 1)
        return node

    def replace_mark(self, word: str, arguments: list[ast.expr], number: int) -> ast.expr:
        """What stands in the place of a mark."""
        raise NotImplementedError


class _Listing(_Marks):
    """Lists the words of the marks."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def replace_mark(self, word: str, arguments: list[ast.expr], number: int) -> ast.expr:
        self.words.append(word)
        return call(f"{MARK}{word}", *arguments)


def _split_words(tree: ast.Module) -> list[str]:
    listing = _Listing()
    listing.visit(tree)
    return listing.words


class _Written(_Marks):
    """Writes marks out: each at its level, without ``levels`` all so that they have C's results everywhere."""

    def __init__(self, levels: Sequence[int] = ()) -> None:
        self.levels = levels

    def replace_mark(self, word: str, arguments: list[ast.expr], number: int) -> ast.expr:
        return spell_out(word, arguments, self.levels[number] if self.levels else None)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """``x = int32(x + 1)`` is ``x += 1`` without the mark."""
        mark = self.levels and isinstance(node.value, ast.Call)
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op, right=right)) if mark:
                if ast.unparse(left) == ast.unparse(target):
                    return ast.AugAssign(target, op, right)  # type: ignore[arg-type]
        return node


def spell_out(word: str, arguments: Sequence[ast.expr], level: int | None = None) -> ast.expr:
    """An integer's mark, written at a level; without one so that it has C's result everywhere."""
    everywhere = level is None
    level = _HELPER if level is None else level
    first, *rest = arguments
    match word, level:
        case (("div" | "rem"), 0):
            return write_operation("//" if word == "div" else "%", first, rest[0])
        case (("div" | "rem"), 1):
            return parse_template("int({} / {})" if word == "div" else "int(math.fmod({}, {}))", first, rest[0])
        case "flip", _:
            # Not ~: what stands for a C int may be Python's own True, which that refuses from Python 3.16 on.
            return parse_template("-1 - {}" if level else "~{}", first)
        case "shift", _:
            return write_operation("&", first, rest[0]) if level else first
        case "truth", _:
            return call("int", first) if everywhere else first
        case "round", 0:
            return call("round", first)
        case (("div" | "rem" | "round"), _):
            return call(f"_{word}", *arguments)
        case _, 0:
            return first
    low, span = _find_range(word)
    if not low:
        return write_operation("&", first, write_hexadecimal(span))
    if level == _HELPER:
        return call(f"_{word}", first)
    return parse_template(
        "(({} + {}) & {}) - {}", first, write_hexadecimal(-low), write_hexadecimal(span), write_hexadecimal(-low)
    )


def write_hexadecimal(value: int) -> ast.expr:
    return number(Spelled(value, f"0x{value:X}"))


def _find_range(word: str) -> tuple[int, int]:
    """The lowest value of ``int32`` or ``uint8``, and how far the highest is from it."""
    unsigned, bits = re.fullmatch(r"(u?)int(\d+)", word).groups()  # type: ignore[union-attr]
    return 0 if unsigned else -(1 << (int(bits) - 1)), (1 << int(bits)) - 1


# -- watching


@dataclass
class _Site:
    """A mark in a text, and the plainest way to write it with which every value so far comes out as C's."""

    word: str
    level: int = _PLAIN

    def watch(self) -> Callable[..., Any]:
        """The function that computes what the mark stands for, as C does."""
        match self.word:
            case "div" | "rem":
                return self._divide(remainder=self.word == "rem")
            case "truth":
                return lambda x: x
            case "shift":
                return self._shift
            case "flip":
                return self._flip
            case "round":
                return self._round
        return self._wrap(*_find_range(self.word))

    def _wrap(self, low: int, span: int) -> Callable[..., Any]:
        high = low + span

        def wrap(x: int) -> int:
            if low <= x <= high:
                return x
            self.level = _SHORT
            return ((x - low) & span) + low

        return wrap

    def _divide(self, *, remainder: bool) -> Callable[..., Any]:
        """Python rounds quotients down and C to zero, which doubles can say unless they are too short."""
        differs = wide = False

        def divide(a: int, b: int) -> int:
            nonlocal differs, wide
            if not -_EXACT <= a <= _EXACT:
                wide = True
                self.level = _HELPER if differs else _PLAIN
            rest = a % b
            if (a < 0) == (b < 0) or not rest:
                return rest if remainder else a // b
            differs = True
            self.level = _HELPER if wide else _SHORT
            return rest - b if remainder else a // b + 1

        return divide

    def _shift(self, count: int, most: int) -> int:
        if not 0 <= count <= most:
            self.level = _SHORT
        return count & most

    def _flip(self, x: int) -> int:
        if type(x) is bool:
            self.level = _SHORT
        return -1 - x

    def _round(self, x: float) -> float:
        whole = math.trunc(x)
        whole += (abs(x - whole) >= 0.5) * (1 if x > 0 else -1)
        if whole != round(x):
            self.level = _HELPER
        return math.copysign(whole, x)


class _Watching(_Marks):
    """Puts the function of a site in the place of each mark."""

    def __init__(self) -> None:
        self.sites: list[_Site] = []
        self.names: dict[str, Any] = {}

    def replace_mark(self, word: str, arguments: list[ast.expr], number: int) -> ast.expr:
        self.sites.append(_Site(word))
        self.names[f"{MARK}{number}"] = self.sites[-1].watch()
        return call(f"{MARK}{number}", *arguments)
