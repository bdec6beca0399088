"""tree-sitter's tree of C: how a text becomes one, and the texts and the order of its nodes."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

import tree_sitter_c
import tree_sitter_cuda
from tree_sitter import Language, Node as Node, Parser

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


#: ``(x) -``: a variable or a type in parentheses.
_LIKE_CAST = re.compile(rb"\(\s*[A-Za-z_\x80-\xff][\w\x80-\xff]*\s*\)\s*[-+]")


_ATTRIBUTE = re.compile(
    rb"\b(__align__|__attribute(?:__)?|__declspec)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    rb"(\s*typedef\b)?"
)


#: A qualifier of the grammars that no C has, for attributes of typedefs.  cffi, which gets the typedefs, refuses it:
#: an alignment changes the layout of structures.
ALIGNED = "_Nonnull"


def make_readable(code: bytes) -> bytes:
    """``code`` with ``complex`` as a qualifier tree-sitter's grammars know, ``_Atomic``, and without alignments.

    Offsets stay what they are.
    """
    if b"align" in code or b"__attribute" in code:
        code = _ATTRIBUTE.sub(_replace_attribute, code)
    if b"_Atomic" in code:  # carries no meaning here, and is the word for complex from here on
        code = re.sub(rb"\b_Atomic\b(?!\s*\()", b" " * 7, code)
    if b"omplex" not in code:
        return code
    return _COMPLEX.sub(lambda m: ((m[1] or m[2] or b"") + b"_Atomic").ljust(len(m[0])), code)


def _replace_attribute(match: re.Match[bytes]) -> bytes:
    """An attribute, in a typedef as a word that the grammars know there."""
    text, code = match[0], match.string
    if match[1] == b"__align__":
        return b" " * len(text)
    before = code[max(code.rfind(mark, 0, match.start()) for mark in (b";", b"{", b"}")) + 1 : match.start()].split()
    after = code[match.end() : match.end() + 200].lstrip()[:1]
    between = bool(match[2]) or b"typedef" in before
    if not between or after in (b";", b",", b"{") or before[-1:] in ([b"struct"], [b"union"]) or b"vector" in text:
        return text
    word = (f"typedef {ALIGNED}" if match[2] else ALIGNED).encode().ljust(len(text))
    return bytes(old if old in b"\n" else new for old, new in zip(text, word, strict=True))


def take_turns(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have one thread at a time in functions that read trees, where no GIL does: all nodes share a cursor (0.26)."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():  # tree-sitter, imported above, asks for it
        return function

    @functools.wraps(function)
    def alone(*args: _P.args, **keywords: _P.kwargs) -> _T:
        with lock_of("trees of C"):
            return function(*args, **keywords)

    return alone


def take_text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def parse_tree(code: bytes, *, cplus: bool = False) -> Node:
    """The root of a text's syntax tree, whatever its faults."""
    # A parser of its own: one that two threads share mixes their texts.
    return Parser(_GRAMMARS[cplus]).parse(code).root_node


def parse_initializer(text: str, *, cplus: bool = False) -> Node | None:
    """The tree of an expression; None of text that is no single expression."""
    root = parse_tree(f"int unused = ({text});".encode(), cplus=cplus)
    declarator = root.named_children[0].child_by_field_name("declarator") if root.named_child_count == 1 else None
    return declarator.child_by_field_name("value") if declarator is not None and not root.has_error else None


def parse_readable(code: bytes, *, cplus: bool) -> tuple[bytes, Node]:
    """The tree of ``code`` and the text that was parsed, in which ``(x) - (y)`` is no cast where ``x`` is a variable.

    Macros make such text.  A variable is a name that a declarator or an expression has; its parentheses become spaces,
    and the text is parsed again.
    """
    root = parse_tree(code, cplus=cplus)
    plain = _remove_false_casts(code, root) if _LIKE_CAST.search(code) else code
    return plain, root if plain == code else parse_tree(plain, cplus=cplus)


def _remove_false_casts(code: bytes, root: Node) -> bytes:
    casts: list[Node] = []
    names: set[bytes] = set()
    for node in walk(root):
        if node.type == "cast_expression":
            described, value = node.child_by_field_name("type"), node.child_by_field_name("value")
            signed = value is not None and value.type in ("unary_expression", "number_literal")
            if signed and described is not None and described.named_child_count == 1 and value is not None:
                word = described.named_children[0]
                casts += [word] if word.type == "type_identifier" and (value.text or b"")[:1] in b"+-" else []
        elif node.type == "identifier":
            names.add(node.text or b"")
    result = bytearray(code)
    for word in casts:
        if word.text in names:
            result[code.rindex(b"(", 0, word.start_byte)] = result[code.index(b")", word.end_byte)] = 32
    return bytes(result)


def walk_up(node: Node) -> Iterator[Node]:
    """The nodes around a node, innermost first."""
    while node.parent is not None:
        node = node.parent
        yield node


def walk(node: Node) -> Iterator[Node]:
    """The node and all named nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)
