"""Marks: the places of a Python text where C's rules are others than Python's, and how each text spells them.

A function is written once, with a mark, a call like ``__ufm_fdiv(a, b)``, wherever C may give another value than what a
person would write.  `write_texts` makes three texts of the tree:

* the natural one, where integers have C's values (`integer_rules` writes them out) and all else is plain;
* the one with marks, for `Watched`: the natural one, integers still marked;
* the checked one, where every mark is written so that it has C's value and never raises.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from ..ir import MATH_FUNCTIONS, round_to_float
from .integer_rules import MARK, spell_out, write_mark
from .value import call, number, parse_template, unparse, walk, write_module


class Spelling(NamedTuple):
    """A mark as templates: as a person writes it, and with C's value."""

    plain: str
    checked: str


#: Word of a mark -> its spellings.  Those of integers are in `integer_rules`.
SPELLINGS: dict[str, Spelling] = {
    # C's quotient of floating-point numbers never raises (C17 Annex F.3), nor does that of complex numbers (G.5.1).
    "fdiv": Spelling("{0}/{1}", "_fdiv({0}, {1})"),
    "cdiv": Spelling("{0}/{1}", "_cdiv({0}, {1})"),
    "cmul": Spelling("{0}*{1}", "_cmul({0}, {1})"),
    # Results of ``float`` are rounded to it; double and Python's float are the same.
    "float32": Spelling("{0}", "_float32({0})"),
    "complex64": Spelling("{0}", "_complex64({0})"),
    # An integer as a floating-point number.  An operation of Python converts it by itself, and exactly.
    "double": Spelling("{0}", "float({0})"),
    "single": Spelling("float({0})", "_float32({0})"),
    # Python's floor() and its kin give an int, C's a double.
    "whole": Spelling("float({0})", "{0}"),
    # The other arguments are the type: its width, and 1 of an unsigned one (6.3.1.4).
    "truncate": Spelling("int({0})", "_truncate({0}, {1}, {2})"),
    "integer": Spelling("{0}", "_truncate({0}, {1}, {2})"),
    # Cython takes an object as a number; Python has it as it is.
    "as_int": Spelling("{0}", "_as_int({0}, {1}, {2})"),
    "as_float": Spelling("{0}", "float({0})"),
    "as_complex": Spelling("{0}", "complex({0})"),
    # Python's remainder, quotient and power of numbers that are C's.
    "modulo": Spelling("{0} % {1}", "_modulo({0}, {1})"),
    "floor": Spelling("{0}//{1}", "_floor({0}/{1})"),
    "floor_c": Spelling("{0}//{1}", "_floor(_fdiv({0}, {1}))"),
    "power": Spelling("{0}**{1}", "_power({0}, {1})"),
    "pow": Spelling("{0}**{1}", "math.pow({0}, {1})"),
    "cpow": Spelling("{0}**{1}", "_cpow({0}, {1})"),
    "int_power": Spelling("_int_power({0}, {1})", "_int_power({0}, {1})"),
    # A module of Python's, whose name is that of C's functions in the checked text.
    "module": Spelling("{0}", "{1}"),
}

#: How the marks of functions of `MATH_FUNCTIONS` begin, which has their spellings.
_LIBRARY = "c_"


class Texts(NamedTuple):
    """The three texts of a module; ``marks`` is ``""`` where there are none of integers."""

    source: str
    checked: str
    marks: str


def write_library_mark(name: str, arguments: Sequence[ast.expr]) -> ast.expr:
    """The call of a function of `MATH_FUNCTIONS` whose checked spelling is another."""
    return write_mark(f"{_LIBRARY}{name}", *arguments)


def write_texts(blocks: Sequence[Sequence[ast.stmt]], helpers: Mapping[str, str]) -> Texts:
    """The texts of a module.

    The first block holds imports; of ``helpers`` a text brings along those that it calls.
    """
    names = _find_names([node for block in blocks for node in block])
    words = {name.removeprefix(MARK) for name in names if name.startswith(MARK)}
    if not words:
        source = _write_text(blocks, helpers, names)
        return Texts(source, source, "")
    others = {word for word in words if word in SPELLINGS or word.startswith(_LIBRARY)}
    marks = ""
    # A mark of the library may be spelled with one of integers.
    if words - others or any(MARK in MATH_FUNCTIONS[word[2:]].python for word in others if word.startswith(_LIBRARY)):
        speller = _Speller(checked=False, integers=False)
        nodes = [speller.spell_statement(node) for block in blocks for node in block]
        used = _find_names(nodes)
        marks = "\n".join([*(helpers[name] for name in helpers if name in used), *map(unparse, nodes)])
    source = _write_module(blocks, helpers, _Speller(checked=False))
    same = not others and "shift" not in words
    return Texts(source, source if same else _write_module(blocks, helpers, _Speller(checked=True)), marks)


def _write_module(blocks: Sequence[Sequence[ast.stmt]], helpers: Mapping[str, str], speller: _Speller) -> str:
    spelled = [[speller.spell_statement(node) for node in block] for block in blocks]
    return _write_text(spelled, helpers, _find_names([node for block in spelled for node in block]))


def _write_text(blocks: Sequence[Sequence[ast.stmt]], helpers: Mapping[str, str], names: Set[str]) -> str:
    return write_module([blocks[0], *(helpers[name] for name in helpers if name in names), *blocks[1:]])


def _find_names(nodes: Sequence[ast.stmt]) -> set[str]:
    return {n.id for node in nodes for n in walk(node) if isinstance(n, ast.Name)}


class _Speller:
    """Copies a tree with its marks spelled; what has none is shared.

    ``integers``: those of integers too, so that they have C's values.
    """

    def __init__(self, *, checked: bool, integers: bool = True) -> None:
        self.checked = checked
        self.integers = integers
        #: By identity: ``x += y`` is recognized by its target, which is its left operand.
        self.known: dict[int, tuple[Any, Any]] = {}

    def spell_statement(self, node: ast.stmt) -> ast.stmt:
        spelled: ast.stmt = self.spell(node)
        return spelled

    def spell(self, node: Any) -> Any:
        known = self.known.get(id(node))
        if known is None:
            known = self.known[id(node)] = node, self._spell_node(node)  # the node, so that its id stays its own
        return known[1]

    def _spell_node(self, node: Any) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name.startswith(MARK):
                return self._make_mark(name.removeprefix(MARK), arguments)
            case ast.Assign(targets=[_]):
                node = self._copy_node(node)
                match node.value:
                    case ast.BinOp(left=left, op=op, right=right) if left is node.targets[0]:
                        return ast.AugAssign(left, op, right)
                return node
            case ast.Name() | ast.Constant():
                return node
        return self._copy_node(node)

    def _copy_node(self, node: Any) -> Any:
        fields = {}
        changed = False
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                new: Any = [self.spell(item) if isinstance(item, ast.AST) else item for item in value]
                changed |= any(a is not b for a, b in zip(new, value, strict=True))
            else:
                new = self.spell(value) if isinstance(value, ast.AST) and value._fields else value
                changed |= new is not value
            fields[name] = new
        return type(node)(**fields) if changed else node

    def _make_mark(self, word: str, arguments: list[ast.expr]) -> ast.expr:
        if word.startswith(_LIBRARY):
            row = MATH_FUNCTIONS[word.removeprefix(_LIBRARY)]
            template = row.checked if self.checked else row.python
        elif word in SPELLINGS:
            template = SPELLINGS[word].checked if self.checked else SPELLINGS[word].plain
        else:
            return self._write_integer(word, [self.spell(a) for a in arguments])
        if self.checked and word == "float32" and isinstance(arguments[0], ast.Constant):
            return number(round_to_float(arguments[0].value))  # type: ignore[arg-type]
        spelled: ast.expr = self.spell(
            parse_template(template, *arguments) if "{" in template else call(template, *arguments)
        )
        return spelled

    def _write_integer(self, word: str, arguments: list[ast.expr]) -> ast.expr:
        if not self.integers:
            return write_mark(word, *arguments)
        if self.checked and word == "shift":  # undefined in C: the answer of vector code is not that of x86's shift
            return call("_count", arguments[0], arguments[1].value + 1)  # type: ignore[attr-defined]
        return spell_out(word, arguments)
