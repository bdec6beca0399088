"""``{benchmark}``: tables and bars out of ``benchmarks/results/*.json``.  No number on the site is typed by hand.

    ```{benchmark} reach.json
    :at: rivals
    :columns: ours; numpy; jax=JAX
    :unit: ms
    :bars:
    ```

``at`` is where in the file the rows are (parts separated by ``/``), ``columns`` what of each row is shown, under which
head; with ``values`` each row is one number, and in a list the fields named by ``first`` name a row.  What the file
lacks is an error of the build.  ``{benchmark-files}`` shows every file whole, folded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
#: Rows of one list that a folded file shows.
_MOST_ROWS = 100
#: Files whose names are not their script's.
_SCRIPTS = {
    "arrays": "arrays_table",
    "cupy_kernels_gpu": "cupy_kernels",
    "cython": "cython_cells",
    "first_second_before": "first_second",
    "first_second_cython": "first_second",
    "gpu_kernels_h100": "gpu_kernels",
    "honest_table_2": "honest_table",
    "honest_table_6": "honest_table",
    "pycuda_suite_gpu": "pycuda_suite",
    "shortcuts": "first_second",
    "simdmath": "simdmath_speed",
    "simdmath_avx2": "simdmath_speed",
    "simdmath_neon": "simdmath_accuracy",
}
#: Files that tests write.
_PROGRAMS = dict.fromkeys(("gpucheck", "gpucheck_h100"), "tests/gpu/check.py")


def figure(value: Any) -> str:
    """A number with three digits that matter; anything else as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else escape(str(value))
    if isinstance(value, int) or (value == int(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def machine(name: str, data: Any) -> str:
    """Where, when and with what a file was made."""
    stem = Path(name).stem
    script = _PROGRAMS.get(stem, f"benchmarks/{_SCRIPTS.get(stem, stem)}.py")
    if not (BENCHMARKS.parent / script).exists():
        raise ExtensionError(f"{name} has no script {script}")
    facts = data.get("machine", {}) if isinstance(data, dict) else {}
    packages = facts.get("packages") or {key: facts[key] for key in ("numpy", "scipy", "jax") if key in facts}
    parts = [
        facts.get("date"),
        facts.get("gpu"),
        facts.get("cpu"),
        f"{facts['cores']} processors" if "cores" in facts else None,
        f"Python {facts['python']}" if "python" in facts else None,
        facts.get("compiler"),
        *(f"{package} {number}" for package, number in packages.items() if package != "ufunc_magic"),
    ]
    where = ", ".join(escape(str(part)) for part in parts if part) or "the file names no machine"
    source = f"<code>{escape(script)}</code>, <code>benchmarks/results/{escape(name)}</code>"
    return f'<p class="machine">{source}: {where}.</p>'


def _inside(data: Any, path: str, name: str) -> Any:
    for part in filter(None, path.split("/")):
        if not isinstance(data, dict) or part not in data:
            raise ExtensionError(f"benchmarks/results/{name} has no {path!r}")
        data = data[part]
    return data


def _column(text: str) -> tuple[str, str]:
    """What a column is called in the file, and its head; ``--parallel=2`` is a name."""
    name, equals, head = text.rpartition("=")
    return (name, head) if equals and not text.startswith("--") else (text, text)


def _cell(row: Mapping[str, Any], column: str, name: str) -> Any:
    """What stands in a row's column; ``a/b`` is inside of ``a``."""
    for part in column.split("/") if column not in row else [column]:
        if not isinstance(row, Mapping) or part not in row:
            raise ExtensionError(f"benchmarks/results/{name} has no column {column!r}")
        row = row[part]
    return row


class Benchmark(SphinxDirective):
    """One table, with bars or without."""

    required_arguments = 1
    option_spec: ClassVar[Any] = {
        "at": directives.unchanged,
        "columns": directives.unchanged,
        "values": directives.flag,
        "rows": directives.unchanged,
        "first": directives.unchanged,
        "unit": directives.unchanged,
        "bars": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        path = RESULTS / name
        self.env.note_dependency(str(path))
        data = json.loads(path.read_text(encoding="utf-8"))
        columns = [_column(part.strip()) for part in self.options.get("columns", "value=").split(";")]
        rows = list(self._rows(_inside(data, self.options.get("at", ""), name)))
        if not rows:
            raise ExtensionError(f"benchmarks/results/{name} has no rows at {self.options.get('at', '')!r}")
        values = [(label, [_cell(row, column, name) for column, _ in columns]) for label, row in rows]
        heads = [head for _, head in columns]
        show = self._bars if "bars" in self.options else self._table
        return [nodes.raw("", show(heads, values) + machine(name, data), format="html")]

    def _rows(self, place: Any) -> Iterator[tuple[str, Any]]:
        only = [word.strip() for word in self.options["rows"].split(";")] if "rows" in self.options else None
        if isinstance(place, list):
            keys = self.options.get("first", "name").split(", ")
            place = {", ".join(str(row[key]) for key in keys): row for row in place}
        for label in only or place:
            if label not in place:
                raise ExtensionError(f"benchmarks/results/{self.arguments[0]} has no row {label!r}")
            row = place[label]
            if "values" in self.options and not isinstance(row, (dict, list, str)):
                yield label, {"value": row}
            elif "values" not in self.options and isinstance(row, dict):
                yield label, row

    def _table(self, heads: Sequence[str], rows: Sequence[tuple[str, list[Any]]]) -> str:
        unit = self.options.get("unit", "")
        head = "".join(f'<th class="number">{escape(text)}</th>' for text in heads)
        body = "\n".join(
            f'<tr><th scope="row">{escape(label)}</th>'
            + "".join(f'<td class="number">{figure(value)}</td>' for value in values)
            + "</tr>"
            for label, values in rows
        )
        return (
            f'<div class="wide"><table class="table figures"><thead><tr><th>{escape(unit)}</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _bars(self, heads: Sequence[str], rows: Sequence[tuple[str, list[Any]]]) -> str:
        """For each row one bar a column, from 0, drawn by widths alone, so that they fit a telephone."""
        unit = escape(self.options.get("unit", ""))
        groups = []
        for label, values in rows:
            most = max(value for value in values if value)
            bars = "".join(
                f'<div class="bar{" first" * (not index)}"><span class="who">{escape(head)}</span>'
                f'<span class="track"><span class="fill" style="width:{100 * value / most:.1f}%"></span></span>'
                f'<span class="value">{figure(value)} {unit}</span></div>'
                for index, (head, value) in enumerate(zip(heads, values, strict=True))
                if value is not None
            )
            groups.append(f'<figure class="bars"><figcaption><code>{escape(label)}</code></figcaption>{bars}</figure>')
        return f'<div class="bar-groups">{"".join(groups)}</div>'


class BenchmarkFiles(SphinxDirective):
    """Every file of the folder, folded."""

    def run(self) -> list[nodes.Node]:
        parts = []
        for path in sorted(RESULTS.glob("*.json")):
            self.env.note_dependency(str(path))
            data = json.loads(path.read_text(encoding="utf-8"))
            shown = {key: value for key, value in data.items() if key != "machine"} if isinstance(data, dict) else data
            parts.append(
                f'<details class="result-file"><summary><code>{escape(path.stem)}</code></summary>'
                f"{machine(path.name, data)}{_nested(shown)}</details>"
            )
        return [nodes.raw("", "\n".join(parts), format="html")]


def _nested(value: Any) -> str:
    """A value of JSON as lists; a list of equal rows is cut."""
    if isinstance(value, dict):
        items = "".join(f"<li><span>{escape(str(key))}</span>: {_nested(inner)}</li>" for key, inner in value.items())
        return f"<ul>{items}</ul>"
    if isinstance(value, list) and not any(isinstance(inner, (dict, list)) for inner in value):
        return ", ".join(map(figure, value[:_MOST_ROWS]))
    if isinstance(value, list):
        rest = f"<li>and {len(value) - _MOST_ROWS} more in the file</li>" if len(value) > _MOST_ROWS else ""
        return f"<ul>{''.join(f'<li>{_nested(inner)}</li>' for inner in value[:_MOST_ROWS])}{rest}</ul>"
    return figure(value)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("benchmark", Benchmark)
    app.add_directive("benchmark-files", BenchmarkFiles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
