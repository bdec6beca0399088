"""Colour cells in their language: the magic's line, then C, C++, CUDA or Cython; all else is IPython."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from ipython_pygments_lexers import IPython3Lexer, IPythonTracebackLexer
from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer, CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import CythonLexer
from pygments.token import Comment, Error, Text, _TokenType
from sphinx.application import Sphinx

_MAGIC = re.compile(r"\s*%%(c_ufunc|cython_ufunc|cython|cuda_device)\b.*(\n|$)")


def _language(magic: str, line: str) -> Lexer:
    if magic == "c_ufunc":
        return CppLexer() if re.search(r"(^|\s)(-\+|--cplus)(\s|$)", line) else CLexer()
    return CudaLexer() if magic == "cuda_device" else CythonLexer()


class CellLexer(Lexer):
    """A cell of a notebook."""

    name = "Jupyter cell"
    aliases: ClassVar[list[str]] = ["cell"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """The tokens of a cell; what its language does not know is plain text, and no warning."""
        head = _MAGIC.match(text)
        start = head.end() if head else 0
        lexer = _language(head[1], head[0]) if head else IPython3Lexer()
        if head:
            yield 0, Comment.Preproc, head[0]
        for index, kind, value in lexer.get_tokens_unprocessed(text[start:]):
            yield start + index, Text if kind is Error else kind, value


class TracebackLexer(Lexer):
    """A traceback whose lines may be of any language."""

    name = "Traceback of a cell"
    aliases: ClassVar[list[str]] = ["celltb"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """IPython's tokens; what its lexer does not know is plain text."""
        for index, kind, value in IPythonTracebackLexer().get_tokens_unprocessed(text):
            yield index, Text if kind is Error else kind, value


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the place of the kernel's own lexer, too, and of the one for notebooks that were never run."""
    for alias in ("cell", "ipython3", "ipython", "python"):
        app.add_lexer(alias, CellLexer)
    app.add_lexer("ipythontb", TracebackLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
