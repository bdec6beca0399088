"""Data that only the report of a cell needs, in addition to its object code; it is never sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from .errors import Diagnostic, TargetError
from .files_read import FilesRead
from .number_types import OperandUse
from .object_code import FunctionCode, ObjectCode, check_contract

#: Notes on what was bound without a trial begin so.  They concern the run that compiled a cell.
UNTRIED = "not tried first"


@dataclass(frozen=True)
class CellFunction(FunctionCode):
    """A function as the front end describes it: the part that is sent with the code, and the part for the report.

    Attributes
    ----------
    notes : tuple of str
    python, checked, vector : str
        The function ``python_name`` as plain Python, as Python with C's results where Python raises, and as a NumPy
        expression; ``""`` where there is no such form.
    python_reason : str
        Why not.
    marks : str
        ``python`` with a mark wherever C's integers may have other values than Python's (see
        `ufunc_magic.forms`); ``""`` where there is none.
    timed : tuple of int
        Types of the loop that the Python form replaces; empty for a function that must not be called to be timed.
    cautious : bool
        It may loop long, recurse, or index a table: call it only on harmless values.
    samples : tuple of str
        For "python" functions that may be called to be timed: what each parameter takes, NumPy's type letter and
        the number of dimensions (``"d1"``, ``"l0"``; ``"O1"`` for an array of any type); else empty.
    effects : tuple of str
        Functions with side effects that it calls (``"printf"``, ``"fopen"``).
    inputs : tuple of tuple
        For a function that fails on ordinary values: rows of inputs on which it works; else empty.
    traceless : bool
        A call changes nothing but what its arguments lead to.  Any other function is checked and timed in a copy of the
        process.
    uses : tuple of OperandUse
        How it uses the values of its inputs; empty where nothing is known.
    allocates : bool
        It calls ``malloc``: the largest numbers may be more bytes than there are, or overflow to few.
    internal : bool
        A cdef function without a ``ufunc:`` comment: it is not bound if its name is already in use.
    """

    notes: tuple[str, ...] = ()
    python: str = ""
    checked: str = ""
    vector: str = ""
    python_name: str = ""
    python_reason: str = ""
    timed: tuple[int, ...] = ()
    cautious: bool = False
    samples: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    inputs: tuple[tuple[Any, ...], ...] = ()
    marks: str = ""
    traceless: bool = False
    uses: tuple[OperandUse, ...] = ()
    allocates: bool = False
    internal: bool = False

    @property
    def function_code(self) -> FunctionCode:
        """The part that is sent with the code."""
        return FunctionCode(**{f.name: getattr(self, f.name) for f in fields(FunctionCode)})


_REPORTED = tuple(f.name for f in fields(CellFunction))[len(fields(FunctionCode)) :]


@dataclass(frozen=True)
class ReportData:
    """The data that a report shows and the object code does not contain.

    ``functions`` are those of the object code, in its order; ``refused`` gives, by name, the reasons why others are not
    bound; ``command`` is the compiler's; ``annotated`` the view of ``--annotate``, as JSON; ``loop_lines`` are the
    lines on which loops of the cell begin, each with what ends the loop early: ``"a `break` or a `return`"``, ``""``,
    or None where that is not known.
    """

    functions: tuple[CellFunction, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    command: str = ""
    annotated: str = ""
    loop_lines: Mapping[int, str | None] = field(default_factory=dict)
    refused: Mapping[str, Diagnostic] = field(default_factory=dict)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The cell's notes, then those of its functions, each with the function's name."""
        owned = ((f.name, note) for f in self.functions for note in f.notes)
        return (*self.notes, *(note if note.startswith(name) else f"{name}: {note}" for name, note in owned))

    def rename_diagnostics(self, old: str, new: str) -> tuple[Diagnostic, ...]:
        """The diagnostics, errors of refused functions first, under the name that the cell has now."""
        diagnostics = (*self.refused.values(), *self.diagnostics)
        return tuple(replace(d, file=new) if d.file == old else d for d in diagnostics)

    def to_bytes(self) -> bytes:
        """One line of JSON."""
        functions = [{name: getattr(f, name) for name in _REPORTED} for f in self.functions]
        values = {**vars(self), "functions": functions, "diagnostics": [vars(d) for d in self.diagnostics]}
        values["refused"] = {name: vars(diagnostic) for name, diagnostic in self.refused.items()}
        return json.dumps(values, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, functions: Sequence[FunctionCode]) -> ReportData:
        """Read the output of `to_bytes` for a cell with these functions."""
        values: dict[str, Any] = json.loads(data)
        reported = zip(functions, values["functions"], strict=True)
        return cls(
            functions=tuple(CellFunction(**vars(f), **_make_tuples(more)) for f, more in reported),
            diagnostics=tuple(Diagnostic(**d) for d in values["diagnostics"]),
            notes=tuple(values["notes"]),
            command=values["command"],
            annotated=values["annotated"],
            loop_lines={int(line): words for line, words in values["loop_lines"].items()},
            refused={name: Diagnostic(**d) for name, d in values["refused"].items()},
        )


def _make_tuples(values: dict[str, Any]) -> dict[str, Any]:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    uses = tuple(OperandUse(low, tuple(below), *more) for low, below, *more in values["uses"])
    return {**values, "uses": uses}


@dataclass(frozen=True)
class CompiledCell:
    """The result of a front end: a cell's object code, the data for its report, and the files that were read."""

    object_code: ObjectCode
    report_data: ReportData = field(repr=False)
    files_read: FilesRead = field(default=FilesRead(), repr=False)

    def add_notes(self, *notes: str) -> CompiledCell:
        """The cell with more notes."""
        return replace(self, report_data=replace(self.report_data, notes=(*self.report_data.notes, *notes)))

    def to_record(self) -> bytes:
        """Everything but the machine code, for the cache: two lines of JSON."""
        return self.object_code.header + b"\n" + self.report_data.to_bytes()

    @classmethod
    def from_record(cls, record: bytes, code: bytes, *, code_digest: str) -> CompiledCell:
        """Read the output of `to_record`.

        Raises
        ------
        TargetError
            If it is something else, or was not written for this code.
        """
        header, _, reported = record.partition(b"\n")
        object_code = ObjectCode.from_parts(header, code, code_digest=code_digest)
        check_contract(object_code)
        try:
            return cls(object_code, ReportData.from_bytes(reported, object_code.functions))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
            raise TargetError(f"The stored report data cannot be read: {fault!r}.") from fault
