"""A language of cells as a value: what the rooms above ask of it.

Each room of `ufunc_magic.languages` has a ``LANGUAGE``, an object of a subclass that overrides what is different there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..model import CellPlace, CompiledCell, FilesRead, ObjectCode, OptionError, Options

if TYPE_CHECKING:
    from ..compilers import Finding

#: Strings, and names with combining marks after letters, as macOS writes ``a`` and a diaeresis.
_DECOMPOSED = re.compile(r'"(?:\\.|[^"\\\n])*"|[^\W\d]\w*(?:[\u0300-\u036f]+\w*)+')


@dataclass(frozen=True)
class DeviceTime:
    """How long a device took for a function: one row of a table.

    Attributes
    ----------
    label, kind : str
        As `ufunc_magic.render.Row` has them.
    seconds : float
    bandwidth : float or None
        Bytes of inputs and outputs per second, as a fraction of what a copy on the device reaches.
    note : str
    """

    label: str
    kind: Literal["gpu", "other"]
    seconds: float
    bandwidth: float | None = None
    note: str = ""


@dataclass(frozen=True)
class TextView:
    """The text that a language shows for ``--show``: a title, and parts with titles of their own."""

    title: str
    parts: tuple[tuple[str, str], ...]


class Language:
    """One language; the defaults are those of a language that one compiler compiles for the CPU.

    It holds no state, and importing it imports no parser and no compiler.
    """

    #: Completed in its cells, with the names of these headers.
    words: str = ""
    headers: tuple[str, ...] = ()
    #: `compile` keeps an annotation for ``--annotate``; else the assembly serves.
    annotates: bool = False

    def make_key(self, source: str, *, options: Options) -> str:
        """The cache key of ``source``: all but files that could change its machine code.  Starts no process."""
        raise NotImplementedError

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        """Compile ``source`` in the private ``folder``.

        Raises
        ------
        UfuncMagicError
            Of the kind that says what is wrong: ParseError, SignatureError, CompileError, ...
        """
        raise NotImplementedError

    def find_first_compiler(self) -> Callable[..., CompiledCell]:
        """Return what compiles a cell for this CPU alone, if that is quicker; `compile` makes it for every CPU."""
        return self.compile

    def write_assembly(
        self, code: ObjectCode, more: Sequence[str], *, options: Options, folder: Path, this_cpu: bool
    ) -> Path | None:
        """Compile a known cell to assembly with ``more`` arguments, or return None where only `compile` can."""
        return None

    def prepare(self) -> None:
        """Do what must be done before the first cell is compiled or found in the cache."""

    def compose(self, source: str) -> str:
        """Return the source with names in the form in which Python looks names up; strings stay."""
        return _DECOMPOSED.sub(lambda m: m[0] if m[0][0] == '"' else unicodedata.normalize("NFC", m[0]), source)

    def can_run(self, cell: CompiledCell, options: Options) -> bool:
        """Return whether a cell from the cache runs on this machine."""
        return True

    def compile_program(self, source: str, *, options: Options, name: str, folder: Path) -> tuple[Path, FilesRead]:
        """Compile a cell with a ``main()`` to a library that exports it, and return the files of the user in it."""
        raise OptionError("This language has no programs.", remedy="Remove --run-main.")

    def run_program(self, library: Path, words: Sequence[str], *, show: Callable[[str], object]) -> int:
        """Run what `compile_program` made in a process of its own, and return its exit status."""
        raise NotImplementedError

    def work_ahead(self, source: str, *, options: Options) -> str:
        """Return a Python program that does ahead what the next cell like this one needs; ``""`` if nothing is left."""
        return ""

    def complete(self, object_code: ObjectCode) -> None:
        """Add to a loaded object what travels with it and is only made when it travels."""

    # -- reports

    def list_notes(self, object_code: ObjectCode, options: Options) -> list[str]:
        """Return notes about the whole cell."""
        return []

    def list_notices(self, object_code: ObjectCode) -> list[str]:
        """Return notes that a session shows once."""
        return []

    def place(self, object_code: ObjectCode) -> str:
        """Return where functions run, if that is not simply the CPU."""
        return ""

    def can_be_copied(self, object_code: ObjectCode) -> bool:
        """Return whether functions run in a copy of the process, too."""
        return True

    def find_host_candidate(self, function: Any) -> tuple[Callable[..., Any] | None, str]:
        """Return what to time on the CPU, None if there is nothing, and its label."""
        return function, "ufunc"

    def find_device_times(self, function: Any) -> Callable[[Sequence[Any]], Iterable[DeviceTime]] | None:
        """Return what times ``function`` on its device, for arguments; None if it does not run on one."""
        return None

    def view(self, name: str, object_code: ObjectCode) -> TextView:
        """Return one of the views of the language's row in the table."""
        raise NotImplementedError

    def check_views(self, object_code: ObjectCode) -> None:
        """Refuse to compile a cell again for ``--show``.

        Raises
        ------
        OptionError
        """

    def view_annotation(self, annotation: Any, place: CellPlace) -> Any:
        """Return the view of ``--annotate`` from what `compile` kept for it."""
        raise NotImplementedError

    def describe(self, object_code: ObjectCode) -> Mapping[str, str]:
        """Return lines that describe object code: what they are about, and their text."""
        return {}

    def list_findings(self) -> Iterable[Finding]:
        """Return what the doctor says about this language alone."""
        return ()
