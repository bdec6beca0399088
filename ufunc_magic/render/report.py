"""What a cell shows when it has run: what it bound, its tables, what the compiler said; what object code holds.

Pure values: text, HTML and JSON are made from the same fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..model import Diagnostic, FunctionCode, ObjectCode
from ..runtime import letters
from .comparison import FORMAT, Comparison, Title, bundle, drawing, html_page, json_value, text_block
from .figure import stacked
from .tables import Row, duration, wrapped


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
        blocks = [text_block(comparison, title, color=color) for comparison, title in self._titled()]
        tail = [line for item in self._items() for line in wrapped(item)]
        blocks += [[*tail, self._origin()]]
        blocks += [[view.to_text()] for view in self._views()]
        return "\n\n".join("\n".join(block) for block in blocks)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        page = html_page(self._titled(), caption=self._origin(), items=self._items())
        return page + "".join(view.to_html() for view in self._views())

    def to_svg(self) -> str:
        """The drawings of comparisons over sizes, one below the other; ``""`` where there is none."""
        return stacked([svg for comparison, title in self._titled() if (svg := drawing(comparison, title[0]))])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self)

    def to_json(self) -> str:
        """The report as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        annotated = None if self.annotated is None else self.annotated.to_text()
        plain = replace(self, annotated=annotated, views=tuple(view.to_text() for view in self.views))
        return json.dumps({"format": FORMAT, **json_value(plain)}, allow_nan=False)

    def _views(self) -> tuple[Any, ...]:
        return (*(() if self.annotated is None else (self.annotated,)), *self.views)

    def _titled(self) -> list[tuple[Comparison, Title]]:
        """Each comparison with the call of its function, and its types in words."""
        functions: tuple[BoundUfunc | BoundPlain, ...] = (*self.plain, *self.functions)
        bound = {function.name: function for function in functions}
        return [(comparison, _title(comparison, bound.get(comparison.name))) for comparison in self.comparisons]

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


def _title(comparison: Comparison, bound: BoundUfunc | BoundPlain | None) -> Title:
    if not isinstance(bound, BoundUfunc):
        return (bound and bound.call) or comparison.name, comparison.signature
    others = [types for types in bound.types if types != comparison.signature]
    also = f" (also {', '.join(others)})" if comparison.signature and others else ", ".join(others)
    return bound.call or bound.name, "  ".join(part for part in (bound.core, comparison.signature + also) if part)


def contents(object_code: ObjectCode, *, entry: str = "", size: int = 0, signed: bool = False) -> str:
    """A description of ``object_code`` for people.

    Parameters
    ----------
    object_code : ObjectCode
    entry : str
        The function that is meant, or ``""``.
    size : int
        Bytes of the whole payload, 0 if there is none.
    signed : bool
    """
    signature = "signed (not verified here)" if signed else "not signed"
    lines = [f"object code of ufunc_magic, {size:,} bytes, {signature}" if size else "object code of ufunc_magic"]
    rows = {
        "meant is": entry or "the whole object",
        "target": str(object_code.target),
        "CPU level": object_code.target.level,
        "made by": f"{object_code.toolchain or '?'}, from {object_code.language}",
        "module": object_code.module,
        "imports first": ", ".join(object_code.preload),
        "options": " ".join(f"{name}={value!r}" for name, value in object_code.options.items()),
        "threads": "its loops may run on several" if object_code.threads else "",
        "code": f"{len(object_code.code):,} bytes, SHA-256 {object_code.code_digest}",
        "for the GPU": _device(object_code),
        "source": f"{len(object_code.source.splitlines())} lines, {object_code.name}" if object_code.source else "none",
    }
    lines += [f"  {name:13} {value}" for name, value in rows.items() if value]
    lines.append("functions")
    lines += [f"  {_function(code)}" for code in object_code.functions]
    if object_code.source:
        lines += ["source", *(f"  {line}" for line in object_code.source.strip("\n").splitlines())]
    return "\n".join(lines)


def _device(object_code: ObjectCode) -> str:
    """What a CUDA cell brings along beside the code for the CPU."""
    if object_code.language != "cuda":
        return ""
    device = object_code.device
    nvrtc = f"NVRTC {device['nvrtc']}" if device.get("nvrtc") else ""
    if device.get("ltoir"):
        size = len(device["ltoir"]) * 3 // 4
        return ", ".join(filter(None, [f"LTO-IR, {size:,} bytes, for {device.get('arch', '?')} and newer", nvrtc]))
    return f"the source{f', checked by {nvrtc}' if nvrtc else ''}" if object_code.source else "nothing"


def _function(code: FunctionCode) -> str:
    called = f"{code.name}({', '.join(code.parameters)})"
    if code.kind != "ufunc":
        kinds = {"plain": "a C function", "kernel": "a kernel"}
        return f"{called}  {kinds.get(code.kind, 'a Python function')}"
    loops = ", ".join(letters(loop.types, code.nin) for loop in code.loops)
    return "  ".join(filter(None, (called, code.core, loops)))
