"""Every exception a user of ufunc_magic can meet, in one tree.

::

    UfuncMagicError
    ├── OptionError          an option of a magic or of compile_*() is unknown or has a bad value
    ├── ParseError           the cell's text has no function to bind, or cannot be read
    ├── SignatureError       a function's parameters cannot be the operands of a ufunc as asked
    │   └── ArgumentError    an argument of a CUDA function or of interop is of the wrong kind; a TypeError too
    ├── CompileError         the compiler refused the cell; carries its diagnostics
    │   └── LinkError        it compiled, but a symbol or a library is missing
    ├── ToolchainError       no compiler, or one that cannot do what was asked
    ├── TargetError          object code made for another machine, or altered on the way
    ├── CacheError           the cache folder cannot be trusted or was asked something impossible
    ├── CellCrashed          the cell's code died, or never ended where it was tried out
    │   └── UnboundFunction  a function that was not bound for that; to `in`, get() and hasattr() it is missing
    ├── CellExited           it called exit(), abort() or the like
    ├── CellAssertionError   an assert() of it failed; an AssertionError too
    ├── SaveError            a cell cannot become a module: its name, its folder, or files that it needs
    └── ComparisonError      functions that should be compared disagree or cannot be called

A message says, in this order, the value, the fault and the remedy. In a notebook the error shows as
a short block; ``%tb`` after it gives the whole traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

#: No red: JupyterLab writes errors on pink or on dark red, where its bold red has a contrast of 2.1 (4.5 is readable).
BOLD, DIM, OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class Diagnostic:
    """One message of a compiler, with a position in the user's own text.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
    message : str
        The compiler's words, without its option suffix.
    file, line, column : str, int, int
        ``file`` is the name of the cell (``"In[3]"``) or of a header; lines and columns count from
        1, 0 where the compiler gave none.
    option : str
        The warning option that made it, ``"-Wunused-variable"``, or ``""``.
    text : str
        The source line, or ``""`` where it is not known.
    hint : str
        What to do about it, or ``""``.
    """

    severity: Literal["error", "warning", "note"]
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    option: str = ""
    text: str = ""
    hint: str = ""

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
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self._shown = False

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """What IPython calls for lines to show in place of a traceback.

        Once an exception has been shown it has no such attribute any more: when it is shown again
        (``%tb``), IPython prints its own, whole traceback.
        """
        if self._shown:
            raise AttributeError("_render_traceback_")
        return self._block

    def _block(self) -> list[str]:
        self._shown = True
        head, *rest = str(self).split("\n")
        return [f"{BOLD}{type(self).__name__}{OFF}: {head}", *rest, f"{DIM}(%tb shows the whole traceback){OFF}"]


class OptionError(UfuncMagicError):
    """An option is unknown, has a bad value, or contradicts another."""


class ParseError(UfuncMagicError):
    """The cell holds nothing that could be bound, or is not text of its language."""


class SignatureError(UfuncMagicError):
    """A function's parameters cannot be the operands that its comment or its type asks for."""


class ArgumentError(SignatureError, TypeError):
    """An argument of a CUDA function, or of `ufunc_magic.interop`, is of the wrong kind, type or place."""


class CompileError(UfuncMagicError):
    """The compiler refused the source.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        Every message, in the compiler's order.
    output : str
        What the compiler wrote, untouched.
    """

    def __init__(
        self, message: str, *, remedy: str = "", diagnostics: Sequence[Diagnostic] = (), output: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.diagnostics = tuple(diagnostics)
        self.output = output

    def __str__(self) -> str:
        shown = [d for d in self.diagnostics if d.severity != "warning"] or list(self.diagnostics)
        return "\n".join([self.message, *map(str, shown), *([self.remedy] if self.remedy else [])])


class LinkError(CompileError):
    """The source compiled, but a symbol or a library it needs was not found."""


class ToolchainError(UfuncMagicError):
    """No usable compiler was found, or the one found lacks what was asked for."""


class TargetError(UfuncMagicError):
    """Object code cannot run here, or is not what its digest says."""


class CacheError(UfuncMagicError):
    """The cache folder is not safe to use, or the request makes no sense."""


class SaveError(UfuncMagicError):
    """A cell cannot become a module of its own: the name, the folder, or what the cell is compiled with."""


class CellCrashed(UfuncMagicError):
    """The cell's code crashed, or exited or never returned while it was being tried out."""


class CellExited(UfuncMagicError):
    """The cell's code would have ended the process: ``exit()``, ``abort()``, a signal that it raised.

    Attributes
    ----------
    status : int or None
        What it called ``exit()`` with.
    """

    def __init__(self, message: str, *, remedy: str = "", status: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class CellAssertionError(UfuncMagicError, AssertionError):
    """An ``assert()`` of the cell failed."""


class UnboundFunction(CellCrashed, KeyError, AttributeError):
    """A function of a Build that was not bound, because it crashed where it was tried out.

    Also a KeyError and an AttributeError: ``name in build`` is false, ``build.get(name)`` None.
    """


class ComparisonError(UfuncMagicError):
    """Functions under comparison disagree, or one of them cannot be called on the inputs."""
