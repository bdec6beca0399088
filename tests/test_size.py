"""Limits of size (docs/architecture.md): functions, their parameters, the fields of classes; and how lines are counted.

The exceptions are those of today, each with its size: one may become smaller or go, and none may be added.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

import pytest

from support.code_lines import PACKAGE, count_by_room, count_code_lines

#: Kind of size -> its limit.
LIMITS = {"lines of a function": 80, "parameters of a function": 8, "fields of a class": 16}

#: ``file.name`` -> its size, where it is above the limit.
EXCEPTIONS = {
    "lines of a function": {},
    "parameters of a function": {},
    "fields of a class": {
        "math_functions.MathFunction": 17,
        "object_code.FunctionCode": 21,  # an entry of the wire form, which is flat
        "options.Options": 39,  # the keywords of compile_c(), which are flat
    },
}


def definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Every function and class below a node, with its full name."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}.{child.name}" if isinstance(child, ast.ClassDef | ast.FunctionDef) else prefix
        if name != prefix:
            yield name, child
        yield from definitions(child, name)


def sizes_of(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The kind and the number of each size that a definition has."""
    if isinstance(node, ast.ClassDef):
        fields = [s for s in node.body if isinstance(s, ast.AnnAssign) and "ClassVar" not in ast.unparse(s.annotation)]
        yield "fields of a class", len(fields)
    elif isinstance(node, ast.FunctionDef):
        yield "lines of a function", (node.end_lineno or 0) - node.lineno + 1
        named = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        collecting = [a for a in (node.args.vararg, node.args.kwarg) if a]
        yield "parameters of a function", len(named) + len(collecting) - (named[:1] in (["self"], ["cls"]))


@functools.cache
def too_large() -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = {kind: {} for kind in LIMITS}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.parent.name if path.stem == "__init__" else path.stem
        for name, node in definitions(ast.parse(path.read_text(encoding="utf-8")), file):
            for kind, size in sizes_of(node):
                if size > LIMITS[kind]:
                    sizes[kind][name] = size
    return sizes


@pytest.mark.parametrize("kind", LIMITS)
def test_sizes_stay_below_the_limit(kind: str) -> None:
    allowed = EXCEPTIONS[kind]
    sizes = too_large()[kind]
    assert {name: size for name, size in sizes.items() if size > allowed.get(name, 0)} == {}, f"above {LIMITS[kind]}"
    assert sorted(allowed.keys() - sizes.keys()) == [], "these are no exceptions any more: remove them from the list"


def test_code_lines_are_neither_blank_nor_comments_nor_docstrings() -> None:
    module = """\
'''Two lines
of text.'''

# a comment
x = '''a

value'''


def f():
    '''Text.'''
    return x  # 1
"""
    assert count_code_lines(module) == 4


def test_code_lines_count_by_room() -> None:
    rooms = count_by_room()
    assert {"(root)", "model", "runtime", "languages.c"} <= rooms.keys()
    files = (PACKAGE / "store").glob("*.py")
    assert rooms["store"] == sum(count_code_lines(path.read_text(encoding="utf-8")) for path in files)
