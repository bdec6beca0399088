"""A toy language: one function a line, in reverse Polish notation, ``hyp(a, b): a a * b b * + sqrt``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ufunc_magic.cells import Language
from ufunc_magic.languages import c
from ufunc_magic.model import CompiledCell, Options, ParseError, mark_line


def to_c(source: str, *, name: str) -> str:
    """Translate a cell to C, line by line.

    Raises
    ------
    ParseError
        If a line is not one value.
    """
    functions = ["#include <math.h>"]
    for number, line in enumerate(source.splitlines(), 1):
        head, _, words = line.partition(":")
        stack: list[str] = []
        for word in words.split():
            if word in ("+", "-", "*", "/"):
                right, left = stack.pop(), stack.pop()
                stack.append(f"({left} {word} {right})")
            elif word in ("sqrt", "exp", "log"):
                stack.append(f"{word}({stack.pop()})")
            else:
                stack.append(word)
        if line and len(stack) != 1:
            raise ParseError(f"{name}:{mark_line(number)}: {line!r} is not one value.", remedy="f(a, b): a b +")
        typed = re.sub(r"(\w+)(?=[,)])", r"double \1", head)
        functions += [f"double {typed} {{ return {value}; }}" for value in stack]
    return "\n".join(functions)


class Rpn(Language):
    """Reverse Polish notation, compiled as C."""

    words = "sqrt exp log"

    def make_key(self, source: str, *, options: Options) -> str:
        return c.LANGUAGE.make_key(f"rpn\n{source}", options=options)

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        cell = c.LANGUAGE.compile(to_c(source, name=name), options=options, name=name, folder=folder)
        return replace(cell, object_code=replace(cell.object_code, language="rpn", source=source))


LANGUAGE = Rpn()
