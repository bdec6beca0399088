"""``{options-table}``: every option of the cells, from the table in ``ufunc_magic/model/options.py``."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ufunc_magic.model import LANGUAGES, TABLE, Option, Options

_KINDS = {bool: "bool", int: "int", str: "str", float: "seconds", tuple: "list of str"}


def _code(text: str) -> str:
    return f'<code class="docutils literal notranslate">{escape(text)}</code>'


def _typed(option: Option) -> str:
    """The flags, and what stands behind them."""
    value = "" if option.action == "flag" else "=…" if option.action == "value" else " …"
    if option.action == "optional":
        value = "[=…]"
    return ", ".join(_code(flag + (value if flag.startswith("--") else "")) for flag in option.flags)


def _keyword(option: Option) -> str:
    if option.action == "flag":
        return _code(f"{option.dest}={option.const!r}")
    default = getattr(Options(), option.dest)
    kind = _KINDS[type(default)]
    shown = "[]" if default == () else repr(default)
    return f"{_code(option.dest)}: {kind}, default {_code(shown)}"


def _row(option: Option) -> str:
    cells = ", ".join(LANGUAGES[word].title for word in option.languages) or "all"
    choices = f"<br>One of {', '.join(map(_code, option.choices))}." if option.choices else ""
    columns = (
        _typed(option),
        f"{escape(option.help)}{choices}",
        cells,
        _keyword(option),
        _code(option.example) if option.example not in option.flags else "",
    )
    return f"<tr>{''.join(f'<td>{column}</td>' for column in columns)}</tr>"


class OptionsTable(SphinxDirective):
    """A row for each row of the table."""

    def run(self) -> list[nodes.Node]:
        heads = ("option", "what it does", "cells", "keyword in Python", "example")
        head = "".join(f"<th>{text}</th>" for text in heads)
        body = "\n".join(map(_row, TABLE))
        table = f'<table class="table options"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        return [nodes.raw("", f'<div class="wide">{table}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("options-table", OptionsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
