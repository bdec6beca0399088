"""tree-sitter's tree of C: how a text becomes one, and the texts and the order of its nodes."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import tree_sitter_c
import tree_sitter_cuda
from tree_sitter import Language, Node as Node, Parser

from ...ir import Program
from ...runtime import lock_of

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GRAMMARS = {
    False: Language(tree_sitter_c.language()),
    # A superset of C++, so that one grammar serves both.
    True: Language(tree_sitter_cuda.language()),
}


_COMPLEX = re.compile(
    rb"\b(?:_Complex|__complex__|__complex)\b|\bcomplex\b(?=\s+(?:long|float|double)\b)|(?<=double)(\s+)complex\b"
    rb"|(?<=float)(\s+)complex\b"
)


def readable(code: bytes) -> bytes:
    """``code`` with ``complex`` as a qualifier tree-sitter's grammars know, ``_Atomic``, and without alignments.

    Offsets stay what they are.
    """
    if b"__align__" in code:
        code = re.sub(rb"\b__align__\s*\([^()\n]*\)", lambda m: b" " * len(m[0]), code)
    if b"_Atomic" in code:  # says nothing that matters here, and stands for complex from here on
        code = re.sub(rb"\b_Atomic\b(?!\s*\()", b" " * 7, code)
    if b"omplex" not in code:
        return code
    return _COMPLEX.sub(lambda m: ((m[1] or m[2] or b"") + b"_Atomic").ljust(len(m[0])), code)


def one_at_a_time(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have one thread at a time in functions that read trees, where no GIL does: all nodes share a cursor (0.26)."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():  # tree-sitter, imported above, asks for it
        return function

    @functools.wraps(function)
    def alone(*args: _P.args, **keywords: _P.kwargs) -> _T:
        with lock_of("trees of C"):
            return function(*args, **keywords)

    return alone


@dataclass(frozen=True, eq=False)
class CText:
    """A C text that has been parsed.

    Attributes
    ----------
    code : bytes
        The text as it was parsed: ``readable``, its directives blank, its macros expanded unless they are constants.
    root : Node
        Its tree.
    macros : mapping
        Name -> replacement text of the constants, which the tree does not have.
    lines : sequence of int
        The line in the cell of each of its rows.
    programs : dict
        The IR of the text, by how it was lowered; `lowering.lower` has it.
    """

    code: bytes = field(repr=False)
    root: Node
    macros: Mapping[str, str]
    lines: Sequence[int] = field(repr=False)
    programs: dict[Hashable, Program] = field(default_factory=dict, repr=False)


def text_of(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def tree(code: bytes, *, cplus: bool = False) -> Node:
    """The root of a text's syntax tree, whatever its faults."""
    # A parser of its own: one that two threads share mixes their texts.
    return Parser(_GRAMMARS[cplus]).parse(code).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and all named nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)
