"""Whether the statements of a Cython cell may run twice: once where the code is tried out, once here."""

from __future__ import annotations

import re
import sys

__all__ = ["may_run_twice"]

_STRINGS = re.compile(r"(?P<q>\"\"\"|''').*?(?P=q)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
#: What only defines: the lines below belong to it.
_DEFINES = re.compile(
    r"(?:async\s+)?(?:def|cdef|cpdef|class|ctypedef|cimport|include|DEF|IF|ELIF|ELSE|pass|global)\b|[@#)\]}]"
)
_IMPORTS = re.compile(r"import\s+(?P<names>.+)|from\s+(?P<name>\w+)[\w.]*\s+(?P<how>c?import)\b")
#: Calls that calculate.
_CALCULATES = re.compile(
    r"\b(?:np|numpy|math|cython)\.(?!random|load|save|seterr|fromfile|memmap)[\w.]+\(|\b(?:int|float|complex|bool|len|range|tuple|list|dict|set|frozenset|abs|min|max|sum|round|pow)\("
)
_BLOCKS = re.compile(r"(?:for|while|with|try|if|del|raise|assert|exec|print)\b")
_QUICK = sys.stdlib_module_names | {"numpy", "cython"}
#: Modules that do something when they are imported, or stand for the outside world.
_LOUD = frozenset("this antigravity subprocess multiprocessing socket tkinter turtle".split())


def may_run_twice(source: str) -> bool:
    """True where statements at the left margin do no more than define, import quickly and calculate."""
    text = _STRINGS.sub('""', source)
    for line in text.replace("\\\n", " ").split("\n"):
        if not line.strip() or line[0].isspace() or _DEFINES.match(line):
            continue
        imported = _IMPORTS.match(line)
        if imported:
            if imported["how"] == "cimport":
                continue
            names = [imported["name"]] if imported["name"] else re.findall(r"(?:^|,)\s*(\w+)", imported["names"])
            if all(name in _QUICK and name not in _LOUD for name in names):
                continue
            return False
        if _BLOCKS.match(line) or re.search(r"[\w\])]\s*\(", _CALCULATES.sub("", line)):
            return False
    return True
