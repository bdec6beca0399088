"""The compiler's reports on the loops of a cell: remembered in the cache, or read from one further compilation.

That compilation runs in the background while the cell's table is measured; on a machine with one processor it begins
when a row needs its report.  A report that is late or cannot be had is missing from the table, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

# Rooms and not their names: a report that asks for no loop loads no reader of assembly.
from .. import render, store
from ..model import Comfort, CompiledCell, LoopCode, ObjectCode
from ..runtime import cpu_features, find_origin, find_ufunc

if TYPE_CHECKING:
    from ..compilers import CompilerTexts
    from ..render import LoopReport

    _CompileAgain = Callable[[Collection[int] | None], CompilerTexts]

#: Seconds that a measured table waits for the compiler; a later report is remembered for the next table.
PATIENCE = 0.3


def recall_loop(function: object) -> LoopReport | None:
    """The remembered report on the loop of one of our ufuncs."""
    origin = find_origin(function) if find_ufunc(function) is not None else None
    return (_recall(origin.object_code) or {}).get(origin.name) if origin else None


def _recall(object_code: ObjectCode) -> dict[str, LoopReport] | None:
    values = store.open_default().recall(_name_fact(object_code))
    return None if values is None else {value["name"]: render.LoopReport(**value) for value in values}


def _name_fact(object_code: ObjectCode) -> str:
    """The name of remembered reports; each processor runs its own clone of a loop."""
    return f"loops 6 {object_code.digest} {' '.join(sorted(cpu_features()))}"


class LoopReports:
    """The reports on a cell's loops.

    Parameters
    ----------
    cell : CompiledCell
    compile_again : callable
        Compiles the loops with these indices, or all (None), for the compiler's further outputs; it may raise anything.
    compile_fast : callable
        Compiles the cell with ``--fast-math``, to measure what a sum gains whose order C fixes.
    readable : bool
        Those outputs show the loops that run.
    """

    def __init__(
        self,
        cell: CompiledCell,
        compile_again: _CompileAgain,
        *,
        compile_fast: Callable[[], Mapping[str, Any]] | None = None,
        readable: bool = True,
    ) -> None:
        self._cell = cell
        self._compile_fast = compile_fast
        self._fast: Mapping[str, Any] = {}
        self._readable = readable
        self._compile_again = compile_again
        self._names: Collection[str] | None = None
        self._texts: CompilerTexts | None = None
        self._thread: threading.Thread | None = None

    @property
    def _looping(self) -> Mapping[str, Sequence[LoopCode]]:
        """The loops of the ufuncs with a loop in them; for others ``compute-bound in exp`` explains enough."""
        functions = self._cell.object_code.functions if self._readable else ()
        return {
            code.name: code.loops
            for code in functions
            if code.loops
            and (self._names is None or code.name in self._names)
            and render.has_loop(self._cell, code.name)
        }

    def choose(self, names: Collection[str]) -> None:
        """Choose the functions that get a report; all do otherwise."""
        self._names = names

    def begin(self) -> None:
        """Compile in the background if there is a ufunc with a loop and no remembered report."""
        if self._thread is None and self._looping and _recall(self._cell.object_code) is None:
            self._thread = threading.Thread(target=self._read, name="ufunc_magic-loops")
            self._thread.start()

    def find(self, function: object) -> LoopReport | None:
        """The report on the loop of a ufunc; None if there is none so far."""
        origin = find_origin(function)
        if origin is None or origin.object_code.digest != self._cell.object_code.digest:
            return recall_loop(function)
        self.begin()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        return recall_loop(function) if origin.name in self._looping else None

    def find_fast(self, name: str) -> Any:
        """The function compiled with ``--fast-math``, if its gain is worth knowing, and not known; else None."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
        report = (_recall(self._cell.object_code) or {}).get(name)
        return self._fast.get(name) if report is not None and report.ordered and not report.gain else None

    def remember_gain(self, name: str, gain: float) -> None:
        """How many times faster a function is with ``--fast-math``."""
        known = _recall(self._cell.object_code) or {}
        if name in known:
            known[name] = replace(known[name], gain=gain)
            store.open_default().remember(_name_fact(self._cell.object_code), list(map(asdict, known.values())))

    def read_texts(self) -> CompilerTexts:
        """The compiler's further outputs."""
        if self._thread is not None:
            self._thread.join()
        self._texts = self._texts or self._compile_again(None)
        return self._texts

    def _read(self) -> None:
        """Compile, and remember the reports."""
        with Comfort("the compiler's report", []):
            looping = self._looping.values()
            shown = None if self._names is None else {loop.index for loops in looping for loop in loops}
            texts = self._compile_again(shown)
            self._texts = texts if shown is None else None
            values = [asdict(report) for report in render.read_loops(self._cell, texts)]
            store.open_default().remember(_name_fact(self._cell.object_code), values)
            if self._compile_fast is not None and any(value["ordered"] for value in values):
                self._fast = self._compile_fast()
