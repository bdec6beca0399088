"""One answer for a whole source: what `ufunc_magic.verify` makes of a report."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..model import Diagnostic
from ..render import Comparison, Report

#: What a verdict may be, in the order of the exit statuses 0 to 3.
STATUSES = ("right", "wrong", "does not compile", "crashes")


@dataclass(frozen=True)
class Result:
    """The result for one function.

    Attributes
    ----------
    name : str
    status : str
        One of `STATUSES`, without "does not compile".
    words : str
        Why, in one sentence.
    compared : int
        Elements whose results were compared.
    max_ulp : float or None
        The largest difference, see `ufunc_magic.render.Agreement`; None where nothing was compared.
    seconds : float or None
        Of one element.
    speedup : float or None
        Times faster than the Python loop.
    """

    name: str
    status: str
    words: str = ""
    compared: int = 0
    max_ulp: float | None = None
    seconds: float | None = None
    speedup: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The answer of `ufunc_magic.verify`.

    Attributes
    ----------
    status : {"right", "wrong", "does not compile", "crashes"}
        The worst of the functions'.  A function that could not be checked at all is wrong.
    message : str
        Why, if it is not right.
    functions : tuple of Result
    report : Report or None
        The tables.
    """

    status: str
    message: str = ""
    functions: tuple[Result, ...] = ()
    report: Report | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Every function was checked and is right."""
        return self.status == "right"

    @property
    def exit_status(self) -> int:
        """0 right, 1 wrong, 2 does not compile, 3 crashes."""
        return STATUSES.index(self.status)

    def to_json(self) -> str:
        """The answer as JSON, without the tables."""
        functions = {one.name: {k: v for k, v in vars(one).items() if k != "name"} for one in self.functions}
        return json.dumps({"status": self.status, "message": self.message, "functions": functions}, indent=1)

    def __str__(self) -> str:
        return "\n".join([*self._list_lines(), *(["", str(self.report)] if self.report is not None else [])])

    def _repr_html_(self) -> str:
        first, *others = map(html.escape, self._list_lines())
        lines = "".join(f"<div>{line}</div>" for line in (f"<strong>{first}</strong>", *others))
        tables = self.report._repr_html_() if self.report is not None else ""
        return f'<div><div style="padding:.15em .3em;white-space:pre-wrap">{lines}</div>{tables}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _list_lines(self) -> list[str]:
        """The status, then a line for each function."""
        first = f"{self.status}: {self.message}" if self.message else self.status
        return [first, *(f"{one.name}: {one.status}: {one.words}" for one in self.functions)]


def judge_report(
    report: Report | None, names: Sequence[str], refused: Mapping[str, Diagnostic], notes: Sequence[str] = ()
) -> Verdict:
    """The verdict on the functions of a report.

    Parameters
    ----------
    report : Report or None
    names : sequence of str
        The functions that must be right.
    refused : mapping
        Function that failed in its trial -> why.
    notes : sequence of str
        On what is missing in the report.
    """
    if not names:
        return Verdict("wrong", "The source has no function that can be checked.", report=report)
    tables = {one.name: one for one in report.comparisons} if report is not None else {}
    reasons = [*(report.notes if report is not None else ()), *notes]
    results = tuple(
        Result(name, "crashes", refused[name].message)
        if name in refused
        else _judge(name, tables.get(name), [note for note in reasons if note.startswith(f"{name} ")])
        for name in names
    )
    worst = max((one.status for one in results), key=STATUSES.index)
    message = "; ".join(f"{one.name}: {one.words}" for one in results if one.status != "right")
    return Verdict(worst, message, results, report)


def overrule(verdict: Verdict, name: str, status: str, words: str) -> Verdict:
    """The verdict after a second look, at which a function was not right."""
    results = tuple(replace(one, status=status, words=words) if one.name == name else one for one in verdict.functions)
    return replace(verdict, status=status, message=f"{name}: {words}", functions=results)


def _judge(name: str, table: Comparison | None, notes: list[str]) -> Result:
    """What a function's table says."""
    rows = table.rows if table is not None else ()
    ours = [row for row in rows if row.kind not in ("python", "scalar", "numpy", "other")]
    checked = [row for row in ours if row.agreement is not None]
    if table is None or not checked:
        missing = [note for note in (table.notes if table is not None else ()) if "--ref" in note]
        why = next(iter([*notes, *missing]), "nothing could be compared; give the expected results with ref")
        return Result(name, "crashes" if _tells_a_crash(why) else "wrong", why)
    worst = max(checked, key=lambda row: (not row.ok, row.agreement.max_ulp))  # type: ignore[union-attr]
    agreement, row = worst.agreement, ours[0]
    assert agreement is not None
    how = agreement.detail or f"to {agreement.max_ulp:g} ulp"
    words = worst.alarm if not worst.ok else f"results agree {how}" if agreement.max_ulp else "results are identical"
    return Result(
        name,
        "right" if worst.ok else "wrong",
        words,
        agreement.compared,
        agreement.max_ulp,
        row.per_element or row.seconds,
        row.speedup,
    )


#: How `ufunc_magic.runtime.faults` says that a call ended otherwise than by a result.
_CRASH = re.compile(
    r"\(SIG[A-Z]+\)|called (?:exit|abort)\(|ended its process|did not end within|overflowed the stack"
    r"|divided .* by zero|Assertion `"
)


def _tells_a_crash(note: str) -> bool:
    return _CRASH.search(note) is not None
