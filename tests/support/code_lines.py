"""Lines of code: neither blank, nor a comment, nor part of a docstring.

``python tests/support/code_lines.py [FOLDER]`` prints them by room, and for the whole package.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ufunc_magic"


def count_code_lines(text: str) -> int:
    """The lines of a module that are neither blank, nor a comment, nor part of a docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and n not in documented for n, line in lines)


def count_by_room(package: Path = PACKAGE) -> Counter[str]:
    """Lines of each room (``languages.c`` is a room of its own); files at the root count as ``(root)``."""
    rooms: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts[:-1]
        depth = 2 if parts[:1] == ("languages",) else 1
        rooms[".".join(parts[:depth]) or "(root)"] += count_code_lines(path.read_text(encoding="utf-8"))
    return rooms


if __name__ == "__main__":
    counted = count_by_room(*map(Path, sys.argv[1:2]))
    for room, lines in [*sorted(counted.items()), ("all", counted.total())]:
        sys.stdout.write(f"{lines:7,} {room}\n")
