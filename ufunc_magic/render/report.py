"""The report of a cell: its functions, tables and compiler messages; also the description of object code.

Pure values: text, HTML and JSON are made from the same fields.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..languages import find_language
from ..model import CellPlace, Comfort, Diagnostic, FunctionCode, ObjectCode
from ..runtime import spell_letters
from .comparison import (
    Comparison,
    Title,
    make_bundle,
    write_drawing,
    write_html_page,
    write_latex,
    write_markdown,
    write_text_block,
)
from .optional_packages import import_required
from .saved import write_json
from .tables import Row, count, spell_duration, wrap

#: The notes of a report that are shown at once.
SHOWN_NOTES = 3


@dataclass(frozen=True)
class Bound:
    """A function that the cell bound.

    Attributes
    ----------
    name : str
    kind : {"ufunc", "plain", "python", "kernel", "other"}
        "python" is a function of an extension module, where that is as usual as a ufunc; "kernel" is launched; "other"
        is anything else that was bound.
    call : str
        How a user would write it, ``"logit(x)"``; of what is no function, in words: ``"Integrator (class)"``.
    reason : str
        Why it is no ufunc, which completes "it ...".
    types : tuple of str
        A ufunc's loops, ``("f->f", "d->d")``.
    core : str
        Its core signature, ``"(n)->()"``.
    doc : str
        First line of its docstring.
    """

    name: str
    kind: str = "ufunc"
    call: str = ""
    reason: str = ""
    types: tuple[str, ...] = ()
    core: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Report:
    """The report of a cell that has run.

    Attributes
    ----------
    name : str
        The cell, ``"In[3]"``.
    functions : tuple of Bound
    comparisons : tuple of Comparison
        At most one for each function, by its name.
    diagnostics : tuple of Diagnostic
        The compiler's warnings.
    notes : tuple of str
    seconds : mapping
        Step -> seconds: ``{"parse": ..., "compile": ..., "load": ...}``.
    pressure : str
        A note on the load of other programs; ``""`` on a quiet machine.
    cached : bool
        Nothing was compiled.
    toolchain : str
        ``"gcc 12.2.0"``.
    device : str
        Where functions ran, if not simply on the CPU: ``"CPU emulation"``, or the name of a device.
    first_line : int
        The number of the source's first line in its cell: 2 below a magic.  Notes and the text and HTML of the
        report count from there; diagnostics, and they alone in the JSON, have the source's own lines.
    views : tuple of object
        Views of the source, shown below everything else: annotated, assembly, remarks of the compiler.  Each has
        ``to_text()`` and ``to_html()``.
    verbose : bool
        Show all notes, and not only the first three.
    """

    name: str
    functions: tuple[Bound, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    pressure: str = ""
    cached: bool = False
    toolchain: str = ""
    device: str = ""
    first_line: int = 1
    views: tuple[Any, ...] = ()
    verbose: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all comparisons, one after another."""
        return tuple(row for comparison in self.comparisons for row in comparison.rows)

    @property
    def inputs(self) -> dict[str, tuple[Any, ...]]:
        """Function -> the arrays that it was verified and timed on, their first 10,000 elements."""
        return {comparison.name: comparison.arguments for comparison in self.comparisons if comparison.arguments}

    @property
    def ok(self) -> bool:
        """No comparison found a disagreement."""
        return all(comparison.ok for comparison in self.comparisons)

    def __str__(self) -> str:
        """The report as text, at most 100 columns."""
        notes: list[str] = []
        tables, below = [], []
        for comparison, title in self._list_titled():
            with Comfort(f"the table of {comparison.name}", notes):
                tables.append(write_text_block(comparison, title))
        for view in self.views:
            with Comfort("a view of the source", notes):
                below.append([view.to_text()])
        rest = len(self._sort_notes()[2])
        more = [f"{count(rest, 'more note')}: -v shows all"] if rest else []
        items = (*self._list_items(), *more, *(f"note: {note}" for note in notes))
        tail = [line for item in items for line in wrap(item)]
        return "\n\n".join("\n".join(block) for block in (*tables, [*tail, self._describe_origin()], *below))

    def _repr_html_(self) -> str:
        notes: list[str] = []
        with Comfort("the table in HTML", notes):
            rest = tuple(f"note: {note}" for note in self._sort_notes()[2])
            page = write_html_page(
                self._list_titled(), caption=self._describe_origin(), items=self._list_items(), more=rest
            )
            return page + "".join(view.to_html() for view in self.views)
        text = f"{self}\nnote: {notes[0]}"
        return f"<pre>{html.escape(text)}</pre>"

    def to_svg(self) -> str:
        """The drawing of the first comparison over sizes; ``""`` where there is none."""
        drawings = (write_drawing(comparison, title[0]) for comparison, title in self._list_titled())
        return next(filter(None, drawings), "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return make_bundle(self, self.comparisons)

    def to_markdown(self) -> str:
        """The tables in Markdown, each below its headline."""
        return "\n\n".join(write_markdown(comparison, title) for comparison, title in self._list_titled())

    def to_latex(self) -> str:
        """The tables in LaTeX, a ``tabular`` for each; they need the package ``booktabs``."""
        return "\n\n".join(write_latex(comparison, title) for comparison, title in self._list_titled())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, one line for each row of all tables; times in seconds.

        Raises
        ------
        ComparisonError
            If pandas is not installed.
        """
        pandas = import_required("pandas", purpose="to_pandas()")
        frames = [one.to_pandas().assign(function=one.name) for one in self.comparisons if one.rows]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def to_json(self) -> str:
        """The report as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        plain = replace(self, views=tuple(view.to_text() for view in self.views))
        return write_json(plain)

    def _list_titled(self) -> list[tuple[Comparison, Title]]:
        """Each comparison, with the notes that are shown, the call of its function, and its types in words."""
        bound = {function.name: function for function in self.functions}
        shown = self._sort_notes()[0]
        return [(comparison, _title(comparison, bound.get(comparison.name))) for comparison in shown]

    def _sort_notes(self) -> tuple[list[Comparison], list[str], list[str]]:
        """The comparisons with the notes that are shown, the notes shown below them, and those that are folded."""
        left = len(self.notes) + sum(len(c.notes) for c in self.comparisons) + 1 if self.verbose else SHOWN_NOTES
        comparisons, rest = [], list[str]()
        for comparison in self.comparisons:
            comparisons.append(replace(comparison, notes=comparison.notes[:left]))
            rest += (f"{comparison.name}: {note}" for note in comparison.notes[left:])
            left -= len(comparisons[-1].notes)
        notes = [note for note in dict.fromkeys((*self.notes, self.pressure)) if note]
        return comparisons, notes[:left], rest + notes[left:]

    def _describe_origin(self) -> str:
        total = sum(self.seconds.values())
        on = f"; {self.device}" if self.device else ""
        if self.cached:
            return f"{self.name}: from cache in {spell_duration(total)}{on}"
        by = f" with {self.toolchain}" if self.toolchain else ""
        return f"{self.name}: compiled in {spell_duration(self.seconds.get('compile', total))}{by}{on}"

    def _list_items(self) -> tuple[str, ...]:
        """The items below the tables, a paragraph each."""
        timed = {comparison.name for comparison in self.comparisons}
        of_kind = {
            kind: [f for f in self.functions if f.kind == kind]
            for kind in ("ufunc", "plain", "kernel", "python", "other")
        }
        items = [_summarize(f) for f in of_kind["ufunc"] if f.name not in timed]
        items += [f"{f.name}: a plain function, not a ufunc: {f.reason}" for f in of_kind["plain"]]
        items += [f"{f.call}: a kernel{f.reason and f', {f.reason}'}" for f in of_kind["kernel"]]
        items += _list_python_functions(of_kind["python"])
        others = [f.call for f in of_kind["other"]]
        items += [f"also bound: {', '.join(others)}"] if others else []
        place = CellPlace(self.name, self.first_line)
        items += [str(diagnostic.count_from(place)) for diagnostic in self.diagnostics]
        return (*items, *(f"note: {note}" for note in self._sort_notes()[1]))


def _summarize(function: Bound) -> str:
    parts = (function.call or function.name, function.core, ", ".join(function.types), function.doc)
    return "  ".join(part for part in parts if part)


def _list_python_functions(functions: Sequence[Bound]) -> list[str]:
    """A line for each reason, for a cell may have many functions with the same one."""
    reasons = dict.fromkeys(f.reason for f in functions)
    calls = {reason: [f.call or f.name for f in functions if f.reason == reason] for reason in reasons}
    words = {True: "a Python function, because it", False: "Python functions, because each"}
    return [f"{', '.join(names)}: {words[len(names) == 1]} {reason}" for reason, names in calls.items()]


def _title(comparison: Comparison, bound: Bound | None) -> Title:
    if bound is None or bound.kind != "ufunc":
        return (bound and bound.call) or comparison.name, comparison.signature
    others = [types for types in bound.types if types != comparison.signature]
    also = f" (also {', '.join(others)})" if comparison.signature and others else ", ".join(others)
    return bound.call or bound.name, "  ".join(part for part in (bound.core, comparison.signature + also) if part)


def describe_contents(object_code: ObjectCode, *, entry: str = "", size: int = 0, signed: bool = False) -> str:
    """A description of ``object_code`` for people.

    Parameters
    ----------
    object_code : ObjectCode
    entry : str
        The function to load, or ``""`` for all.
    size : int
        Bytes of the whole payload, 0 if there is none.
    signed : bool
    """
    signature = "signed (not verified here)" if signed else "not signed"
    lines = [f"ufunc_magic object code, {size:,} bytes, {signature}" if size else "ufunc_magic object code"]
    rows = {
        "function": entry or "all",
        "target": str(object_code.target),
        "CPU level": object_code.target.level,
        "compiled by": f"{object_code.toolchain or '?'}, from {object_code.language}",
        "module": object_code.module,
        "imports first": ", ".join(object_code.preload),
        "options": " ".join(f"{name}={value!r}" for name, value in object_code.options.items()),
        "threads": "supports several" if object_code.threads else "",
        "code": f"{len(object_code.code):,} bytes, SHA-256 {object_code.code_digest}",
        **find_language(object_code).describe(object_code),
        "source": f"{len(object_code.source.splitlines())} lines, {object_code.name}" if object_code.source else "none",
    }
    lines += [f"  {name:13} {value}" for name, value in rows.items() if value]
    lines.append("functions")
    lines += [f"  {_describe_function(code)}" for code in object_code.functions]
    if object_code.source:
        lines += ["source", *(f"  {line}" for line in object_code.source.strip("\n").splitlines())]
    return "\n".join(lines)


def _describe_function(code: FunctionCode) -> str:
    called = f"{code.name}({', '.join(code.parameters)})"
    if code.kind != "ufunc":
        kinds = {"plain": "a C function", "kernel": "a kernel"}
        return f"{called}  {kinds.get(code.kind, 'a Python function')}"
    loops = ", ".join(spell_letters(loop.types, code.nin) for loop in code.loops)
    return "  ".join(filter(None, (called, code.core, loops)))
