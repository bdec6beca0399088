"""What people see: measured rows, comparisons and the report of a cell, as text, HTML and JSON.

Pure values.  Nothing here measures or prints: ``compare`` fills the rows, ``magics`` displays them, and
text, HTML and JSON are made from the same rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from ..model import Diagnostic
from .figure import stacked
from .rows import Agreement, Level, Row, agrees, heads, html_group, text_group, wrapped
from .size_tables import drawing, html_sizes, is_over_sizes, text_sizes
from .tables import duration, escape, html_heads

__all__ = ["Agreement", "BoundPlain", "BoundUfunc", "Comparison", "Level", "Report", "Row"]

#: Version of the JSON form.
FORMAT = 1


@dataclass(frozen=True)
class Comparison:
    """Several ways of computing one thing, verified and timed on the same inputs.

    Attributes
    ----------
    name : str
        The function.
    rows : tuple of Row
    signature : str
        Types of the loop that was timed, ``"dd->d"``.
    notes : tuple of str
    levels : tuple of Level
        The caches of this machine, where the rows are of several sizes.
    """

    name: str
    rows: tuple[Row, ...] = ()
    signature: str = ""
    notes: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def ok(self) -> bool:
        """No row disagrees with the expected results."""
        return agrees(self.rows)

    def text(self, *, color: bool = False) -> str:
        """The comparison as an aligned table; ``color`` marks disagreements in red for a terminal."""
        return "\n".join(_text_block(self, None, color=color))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return _html_page([(self, None)], caption="", items=())

    def to_svg(self) -> str:
        """Time per element over sizes, drawn; ``""`` for fewer than three sizes."""
        return drawing(self.rows, title=_title(self, None)[0], levels=self.levels)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return _bundle(self.text(color=True), self._repr_html_(), self.to_svg())

    def to_json(self) -> str:
        """The comparison as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        return json.dumps({"format": FORMAT, **_plain(self)}, allow_nan=False)


@dataclass(frozen=True)
class BoundUfunc:
    """A ufunc that the cell bound: its loops ``("f->f", "d->d")``, first line of its docstring, core
    signature ``"(n)->()"`` and the call as a user would write it, ``"logit(x)"``."""

    name: str
    types: tuple[str, ...] = ()
    doc: str = ""
    core: str = ""
    call: str = ""


@dataclass(frozen=True)
class BoundPlain:
    """A function that was bound, but not as a ufunc, and the reason, which completes "it ...".

    ``kind`` is "python" for a function of an extension module, where that is as usual as a ufunc, and "kernel" for
    one that is launched; ``call`` is how a user would write it, ``"total(v)"``.
    """

    name: str
    reason: str
    kind: Literal["plain", "python", "kernel"] = "plain"
    call: str = ""


@dataclass(frozen=True)
class Report:
    """What a cell shows when it has run.

    Attributes
    ----------
    name : str
        The cell, ``"In[3]"``.
    functions : tuple of BoundUfunc
    plain : tuple of BoundPlain
    comparisons : tuple of Comparison
        At most one for each function, by its name.
    diagnostics : tuple of Diagnostic
        What the compiler warned of.
    notes : tuple of str
    seconds : mapping
        Step -> seconds: ``{"parse": ..., "compile": ..., "load": ...}``.
    cached : bool
        Nothing was compiled.
    toolchain : str
        ``"gcc 12.2.0"``.
    others : tuple of str
        What else was bound, in words: ``("Integrator (class)", "TABLE")``.
    device : str
        Where functions of a CUDA cell ran: ``"CPU emulation"``, or the GPU's name.
    annotated : object
        A view of the source, shown below everything else; has ``to_text()`` and ``to_html()``.
    views : tuple of object
        Further views, as ``annotated``: assembly, remarks of the compiler.
    """

    name: str
    functions: tuple[BoundUfunc, ...] = ()
    plain: tuple[BoundPlain, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    cached: bool = False
    toolchain: str = ""
    others: tuple[str, ...] = ()
    device: str = ""
    annotated: Any = None
    views: tuple[Any, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all comparisons, one after another."""
        return tuple(row for comparison in self.comparisons for row in comparison.rows)

    @property
    def ok(self) -> bool:
        """No comparison found a disagreement."""
        return all(comparison.ok for comparison in self.comparisons)

    def text(self, *, color: bool = False) -> str:
        """The report as text, at most 100 columns; ``color`` marks disagreements in red for a terminal."""
        blocks = [_text_block(c, self._bound(c), color=color) for c in self.comparisons]
        tail = [line for item in self._items() for line in wrapped(item)]
        blocks += [[*tail, self._origin()]]
        blocks += [[view.to_text()] for view in self._views()]
        return "\n\n".join("\n".join(block) for block in blocks)

    def with_notes(self, notes: Sequence[str]) -> Report:
        """The same report with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        pairs = [(comparison, self._bound(comparison)) for comparison in self.comparisons]
        page = _html_page(pairs, caption=self._origin(), items=self._items())
        return page + "".join(view.to_html() for view in self._views())

    def to_svg(self) -> str:
        """The drawings of comparisons over sizes, one below the other; ``""`` where there is none."""
        titles = ((comparison, _title(comparison, self._bound(comparison))[0]) for comparison in self.comparisons)
        return stacked([svg for c, title in titles if (svg := drawing(c.rows, title=title, levels=c.levels))])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return _bundle(self.text(color=True), self._repr_html_(), self.to_svg())

    def to_json(self) -> str:
        """The report as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        annotated = None if self.annotated is None else self.annotated.to_text()
        plain = replace(self, annotated=annotated, views=tuple(view.to_text() for view in self.views))
        return json.dumps({"format": FORMAT, **_plain(plain)}, allow_nan=False)

    def _views(self) -> tuple[Any, ...]:
        return (*(() if self.annotated is None else (self.annotated,)), *self.views)

    def _bound(self, comparison: Comparison) -> BoundUfunc | BoundPlain | None:
        bound: tuple[BoundUfunc | BoundPlain, ...] = (*self.functions, *self.plain)
        return next((f for f in bound if f.name == comparison.name), None)

    def _origin(self) -> str:
        total = sum(self.seconds.values())
        on = f"; {self.device}" if self.device else ""
        if self.cached:
            return f"{self.name}: from cache in {duration(total)}{on}"
        by = f" with {self.toolchain}" if self.toolchain else ""
        return f"{self.name}: compiled in {duration(self.seconds.get('compile', total))}{by}{on}"

    def _items(self) -> tuple[str, ...]:
        """What stands below the tables, a paragraph each."""
        timed = {comparison.name for comparison in self.comparisons}
        items = [_summary(f) for f in self.functions if f.name not in timed]
        items += [f"{f.name}: a plain function, not a ufunc: {f.reason}" for f in self.plain if f.kind == "plain"]
        items += [f"{f.call}: a kernel{f.reason and f', {f.reason}'}" for f in self.plain if f.kind == "kernel"]
        items += _python_functions([f for f in self.plain if f.kind == "python"])
        items += [f"also bound: {', '.join(self.others)}"] if self.others else []
        items += [str(diagnostic) for diagnostic in self.diagnostics]
        return (*items, *(f"note: {note}" for note in self.notes))


def _summary(function: BoundUfunc) -> str:
    parts = (function.call or function.name, function.core, ", ".join(function.types), function.doc)
    return "  ".join(part for part in parts if part)


def _python_functions(functions: Sequence[BoundPlain]) -> list[str]:
    """A line for each reason, for a cell may have many functions with the same one."""
    reasons = dict.fromkeys(f.reason for f in functions)
    calls = {reason: [f.call or f.name for f in functions if f.reason == reason] for reason in reasons}
    words = {True: "a Python function, as it", False: "Python functions, as each"}
    return [f"{', '.join(names)}: {words[len(names) == 1]} {reason}" for reason, names in calls.items()]


def _title(comparison: Comparison, bound: BoundUfunc | BoundPlain | None) -> tuple[str, str]:
    """The call, and its types in words."""
    if not isinstance(bound, BoundUfunc):
        return (bound and bound.call) or comparison.name, comparison.signature
    others = [types for types in bound.types if types != comparison.signature]
    also = f" (also {', '.join(others)})" if comparison.signature and others else ", ".join(others)
    return bound.call or bound.name, "  ".join(part for part in (bound.core, comparison.signature + also) if part)


def _text_block(comparison: Comparison, bound: BoundUfunc | BoundPlain | None, *, color: bool) -> list[str]:
    title = _title(comparison, bound)
    if is_over_sizes(comparison.rows):
        return text_sizes(comparison.rows, title, notes=comparison.notes, levels=comparison.levels)
    return text_group(comparison.rows, title, notes=comparison.notes, color=color)


def _bundle(text: str, page: str, svg: str) -> dict[str, str]:
    """All forms of one value; a picture only where there is one."""
    return {"text/plain": text, "text/html": page, **({"image/svg+xml": svg} if svg else {})}


def _html_page(
    pairs: Sequence[tuple[Comparison, BoundUfunc | BoundPlain | None]], *, caption: str, items: Sequence[str]
) -> str:
    """One table with a row group for each comparison, drawings of those over sizes, then what else there is to say."""
    flat = [(c, bound) for c, bound in pairs if not is_over_sizes(c.rows)]
    columns = heads([row for c, _ in flat for row in c.rows])
    bodies = [html_group(c.rows, _title(c, bound), notes=c.notes, columns=columns) for c, bound in flat]
    parts = [
        html_sizes(c.rows, _title(c, bound), notes=c.notes, levels=c.levels)
        for c, bound in pairs
        if is_over_sizes(c.rows)
    ]
    if bodies:
        top = '<caption style="caption-side:bottom;text-align:left;padding:.4em .7em;color:inherit">'
        parts.append(
            '<table style="border-collapse:collapse;border:none;margin:0;table-layout:auto;color:inherit;'
            'font-variant-numeric:tabular-nums">'
            f"{f'{top}{escape(caption)}</caption>' if caption else ''}{html_heads(columns)}{''.join(bodies)}</table>"
        )
    elif caption:
        parts.append(f'<div style="padding:.15em .7em">{escape(caption)}</div>')
    for item in items:
        face = ";font-family:monospace" if "\n" in item else ""  # a caret stands below its column
        parts.append(f'<div style="padding:.15em .7em;white-space:pre-wrap{face}">{escape(item)}</div>')
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _plain(value: Any) -> Any:
    """``value`` in what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
