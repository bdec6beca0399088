"""Every exception that ufunc_magic raises, in one tree.

::

    UfuncMagicError
    ├── OptionError          an option of a magic or of compile_*() is unknown or has a bad value
    ├── ParseError           the cell's text has no function to bind, or cannot be read
    ├── SignatureError       a function's parameters cannot become the operands of a ufunc
    │   └── ArgumentError    an argument of a kernel or of interop has the wrong kind; also a TypeError
    ├── CompileError         the compiler rejected the cell; carries its diagnostics
    │   └── LinkError        the cell compiled, but a symbol or a library is missing
    ├── ToolchainError       there is no compiler, or it lacks a needed feature
    ├── TargetError          object code is for another machine, or was altered
    ├── CacheError           the cache folder is not safe, or a request to the cache is invalid
    ├── CellCrashed          the cell's code crashed, or did not return in its trial
    │   ├── UnboundFunction  a function that was not bound for that reason; `in`, get() and hasattr() miss it
    │   └── CellIndexError   an index outside of a checked container of C++; also an IndexError
    ├── CellExited           the cell's code called exit(), abort() or the like
    ├── CellAssertionError   an assert() in the cell failed; also an AssertionError
    ├── SaveError            a cell cannot become a module: its name, its folder, or a file that it needs
    └── ComparisonError      compared functions disagree or cannot be called

A message states the value, the fault and the remedy, in this order. In a notebook an error is a short block; ``%tb``
shows the whole traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from .cell_place import CellPlace

#: What the user's functions may raise: anything.  Only an interrupt propagates.
FAULTS = (Exception,)

#: Exceptions of C++'s library, and of classes derived from them, that arrive as others of Python's than RuntimeError.
STD_EXCEPTIONS = {
    "invalid_argument": "ValueError",
    "domain_error": "ValueError",
    "out_of_range": "IndexError",
    "overflow_error": "OverflowError",
}

#: No red: JupyterLab writes errors on pink or on dark red, where its bold red has a contrast of 2.1 (4.5 is readable).
BOLD, DIM, OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class Diagnostic:
    """One message of a compiler, with a position in the user's own text.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
    message : str
        The compiler's message, without its option suffix.
    file, line, column : str, int, int
        ``file`` is the name of the cell (``"In[3]"``) or of a header; lines and columns count from
        1, 0 where the compiler gave none.  A cell's lines are those of its source, without the magic's;
        `counted` gives those of the editor.
    option : str
        The warning option, ``"-Wunused-variable"``, or ``""``.
    text : str
        The source line, or ``""`` if unknown.
    hint : str
        How to fix it, or ``""``.
    """

    severity: Literal["error", "warning", "note"]
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    option: str = ""
    text: str = ""
    hint: str = ""

    def count_from(self, place: CellPlace) -> Diagnostic:
        """The diagnostic with its line as counted there, if it is about that source."""
        return replace(self, line=place.line(self.line)) if self.file == place.name else self

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        option = f" [{self.option}]" if self.option else ""
        lines = [f"{place}: {self.severity}: {self.message}{option}" if place else f"{self.severity}: {self.message}"]
        if self.text:
            lines.append(f"  {self.text}")
            if self.column:
                # Tabs of the source line are kept before the caret, or it would point elsewhere.
                pad = "".join("\t" if c == "\t" else " " for c in self.text[: self.column - 1])
                lines.append(f"  {pad}^")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class UfuncMagicError(Exception):
    """Base of every error of this package.

    Parameters
    ----------
    message : str
        The offending value and what is wrong with it.
    remedy : str
        What the user can do, as an imperative sentence; may be empty.

    Attributes
    ----------
    place : CellPlace
        The place of its source, from which the message counts lines.
    is_colored : callable
        Whether what shows errors has bold and pale letters; a notebook sets it.
    """

    is_colored: ClassVar[Callable[[], bool]] = staticmethod(lambda: True)

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(CellPlace().replace_marks(message))
        self.place = CellPlace()
        self.remedy = remedy
        self._message = message
        self._shown = False

    @property
    def message(self) -> str:
        """The offending value and what is wrong with it."""
        return self.place.replace_marks(self._message)

    @property
    def marked(self) -> str:
        """The message with marked lines, for use in another text."""
        return self._message

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """The method that IPython calls for the lines to show in place of a traceback.

        An exception that was shown has no such attribute any more: when it is shown again (``%tb``), IPython prints
        the whole traceback.
        """
        if self._shown:
            raise AttributeError("_render_traceback_")
        return self._block

    def _block(self) -> list[str]:
        self._shown = True
        bold, pale, off = (BOLD, DIM, OFF) if UfuncMagicError.is_colored() else ("", "", "")
        head, *rest = str(self).split("\n")
        return [f"{bold}{type(self).__name__}{off}: {head}", *rest, f"{pale}(%tb shows the whole traceback){off}"]


class OptionError(UfuncMagicError):
    """An option is unknown, has a bad value, or contradicts another."""


class ParseError(UfuncMagicError):
    """The cell contains nothing that can be bound, or is not code in its language."""


class SignatureError(UfuncMagicError):
    """A function's parameters do not match the operands that its comment or its type declares."""


class ArgumentError(SignatureError, TypeError):
    """An argument of a kernel or of `ufunc_magic.interop` has the wrong kind, type or memory."""


class CompileError(UfuncMagicError):
    """The compiler rejected the source.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        Every message, in the compiler's order, with the source's own lines.
    output : str
        The compiler's output, unchanged.
    """

    def __init__(
        self, message: str, *, remedy: str = "", diagnostics: Sequence[Diagnostic] = (), output: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.diagnostics = tuple(diagnostics)
        self.output = output

    def __str__(self) -> str:
        shown = [d for d in self.diagnostics if d.severity != "warning"] or list(self.diagnostics)
        shown = [d.count_from(self.place) for d in shown]
        return "\n".join([self.message, *map(str, shown), *([self.remedy] if self.remedy else [])])


class LinkError(CompileError):
    """The source compiled, but a symbol or a library it needs was not found."""


class ToolchainError(UfuncMagicError):
    """There is no usable compiler, or it lacks a needed feature."""


class TargetError(UfuncMagicError):
    """Object code cannot run here, or does not match its digest."""


class CacheError(UfuncMagicError):
    """The cache folder is not safe to use, or a request to the cache is invalid."""


class SaveError(UfuncMagicError):
    """A cell cannot become a module of its own: the name, the folder, or what the cell is compiled with."""


class CellCrashed(UfuncMagicError):
    """The cell's code crashed, or it exited or did not return in its trial."""


class CellExited(UfuncMagicError):
    """The cell's code tried to end the process: with ``exit()``, ``abort()`` or a signal that it raised.

    Attributes
    ----------
    status : int or None
        The argument of ``exit()``.
    """

    def __init__(self, message: str, *, remedy: str = "", status: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class CellAssertionError(UfuncMagicError, AssertionError):
    """An ``assert()`` of the cell failed."""


class CellIndexError(CellCrashed, IndexError):
    """An index outside of a container of C++ that is checked (``-c=-D_GLIBCXX_ASSERTIONS``), or an empty one."""


class UnboundFunction(CellCrashed, KeyError, AttributeError):
    """A function of a Build that was not bound, because it crashed in its trial.

    Also a KeyError and an AttributeError: ``name in build`` is false, ``build.get(name)`` None.
    """


class ComparisonError(UfuncMagicError):
    """Functions under comparison disagree, or one of them cannot be called on the inputs."""
