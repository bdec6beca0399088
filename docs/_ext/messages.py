"""``{messages}``: bad cells and what they are told, from ``tests/cells/bad``, whose goldens the tests compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CELLS = Path(__file__).parents[2] / "tests" / "cells" / "bad"
_LANGUAGES = {".c": "c", ".cpp": "cpp", ".pyx": "cython", ".cu": "cuda"}
#: A longer cell teaches no more.
_MOST_LINES = 25


class Messages(SphinxDirective):
    """Each cell of the suffixes that are named, folded, with its message."""

    option_spec: ClassVar[Any] = {"suffixes": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        suffixes = self.options["suffixes"].split()
        shown: list[nodes.Node] = []
        for path in sorted(CELLS.iterdir()):
            golden = path.with_name(path.name + ".txt")
            if path.suffix not in suffixes or not golden.exists():
                continue
            self.env.note_dependency(str(golden))
            source = path.read_text(encoding="utf-8", errors="replace").rstrip()
            message = golden.read_text(encoding="utf-8").rstrip()
            # Cells of odd bytes are for the tests alone.
            if source and source.replace("\n", "").replace("\t", "").isprintable() and source.count("\n") < _MOST_LINES:
                shown += self._entry(path, source, message)
        return shown

    def _entry(self, path: Path, source: str, message: str) -> list[nodes.Node]:
        title = path.stem.replace("_", " ")
        error, _, text = message.partition("\n")
        code = nodes.literal_block(source, source, language=_LANGUAGES[path.suffix], force=True)
        words = nodes.literal_block(text, text, language="none")
        head = f'<details class="message"><summary>{title} <span class="error-name">{error}</span></summary>'
        return [nodes.raw("", head, format="html"), code, words, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("messages", Messages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
