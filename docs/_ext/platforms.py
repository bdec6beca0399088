"""``{platforms}``, ``{platform-speed}``, ``{platform-targets}``: tables out of ``benchmarks/results/platforms/*.json``.

Each file is a row, written by ``benchmarks/platforms.py`` on the machine in question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmark_results import figure
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "platforms"


def rows(*, cross_compiled: bool) -> list[tuple[Path, dict[str, Any]]]:
    """The files of machines, or those of targets for which cells were only compiled; 3.9 before 3.11."""
    paths = [path for path in RESULTS.glob("*.json") if path.name.startswith("cross-") is cross_compiled]
    paths.sort(key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)])
    return [(path, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    kind = ' class="number"' if numbers else ""
    head = "".join(f"<th{kind if place else ''}>{text}</th>" for place, text in enumerate(heads))
    body = "\n".join(
        f'<tr><th scope="row">{line[0]}</th>{"".join(f"<td{kind}>{cell}</td>" for cell in line[1:])}</tr>'
        for line in lines
    )
    table = f'<table class="table figures"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _name(row: dict[str, Any]) -> str:
    emulated = ", emulated" if row["emulated"] else ""
    return f"{escape(row['system'])}, {escape(row['machine'])}{emulated}, Python {escape(row['python'])}"


def _what_ran(row: dict[str, Any]) -> str:
    tests = row["tests"]
    counts = ", ".join(f"{tests[kind]} {kind}" for kind in ("passed", "failed", "skipped"))
    files = len(tests["files"])
    return f"install: {escape(row['install'])}; demo: {escape(row['demo'])}; {files} files of tests: {counts}"


def _machine(row: dict[str, Any]) -> str:
    how = "emulated by qemu-user on" if row["emulated"] else "native:"
    return escape(f"{row['machine']}, {how} {row['processor']}")


def _details(path: Path, row: dict[str, Any]) -> str:
    """The files whose tests ran, what failed, and why others were skipped; folded."""
    tests = row["tests"]
    parts = [", ".join(f"<code>{escape(name)}</code> {count}" for name, count in tests["files"].items())]
    if tests["failures"]:
        parts.append("Failed: " + ", ".join(f"<code>{escape(name)}</code>" for name in tests["failures"]))
    if tests["skips"]:
        reasons = "".join(f"<li>{count}: {escape(reason)}</li>" for reason, count in tests["skips"].items())
        parts.append(f"Skipped:<ul>{reasons}</ul>")
    return (
        f'<details class="result-file"><summary>{_name(row)}: tests</summary>'
        f"<p><code>benchmarks/results/platforms/{escape(path.name)}</code></p>"
        f"{''.join(f'<p>{part}</p>' for part in parts)}</details>"
    )


class Platforms(SphinxDirective):
    """A row for each machine, and below it, folded, what ran there."""

    def run(self) -> list[nodes.Node]:
        heads = ("system", "machine", "C library", "Python", "NumPy", "compiler", "what ran", "when, by which job")
        lines, details = [], []
        for path, row in rows(cross_compiled=False):
            self.env.note_dependency(str(path))
            words = [escape(row[key]) for key in ("libc", "python", "numpy", "compiler")]
            when = f"{escape(row['date'])}, <code>{escape(row['job'])}</code>"
            lines.append([escape(row["system"]), _machine(row), *words, _what_ran(row), when])
            details.append(_details(path, row))
        return [nodes.raw("", _table(heads, lines) + "\n".join(details), format="html")]


class PlatformSpeed(SphinxDirective):
    """How many times faster than NumPy each formula is, a column each."""

    def run(self) -> list[nodes.Node]:
        files = rows(cross_compiled=False)
        formulas = list(dict.fromkeys(formula for _, row in files for formula in row["speed"]))
        heads = ["times faster than NumPy", *(f"<code>{escape(formula)}</code>" for formula in formulas)]
        lines = []
        for path, row in files:
            self.env.note_dependency(str(path))
            ratios = [row["speed"].get(formula, {}).get("ratio") for formula in formulas]
            lines.append([_name(row), *(figure(ratio) for ratio in ratios)])
        return [nodes.raw("", _table(heads, lines, numbers=True), format="html")]


class PlatformTargets(SphinxDirective):
    """A row for each system that cells were compiled for and never ran on."""

    def run(self) -> list[nodes.Node]:
        heads = ("target", "cells", "not compiled", "when, by which job")
        lines = []
        for path, row in rows(cross_compiled=True):
            self.env.note_dependency(str(path))
            words = [escape(", ".join(row[key])) for key in ("compiled", "failed")]
            when = f"{escape(row['date'])}, <code>{escape(row['job'])}</code>"
            lines.append([escape(row["target"]), f"{words[0]}: cross-compiled, not run", words[1], when])
        return [nodes.raw("", _table(heads, lines), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("platforms", Platforms)
    app.add_directive("platform-speed", PlatformSpeed)
    app.add_directive("platform-targets", PlatformTargets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
