"""The one place where whatever goes wrong in a part that only adds comfort becomes a note: it can never fail a cell."""

from __future__ import annotations

from types import TracebackType

from .errors import OptionError, UfuncMagicError


class Comfort:
    """``with Comfort("the Python form of f", notes):`` goes on behind the block, whatever is raised in it.

    Not stopped are interrupts, and what is ``passing``: errors in the user's own options.  Where there was no memory
    for it, the cell is no worse off without.

    Parameters
    ----------
    what : str
        What is missing then: a noun.
    notes : list of str
        Gets the note, with the cause and, where it is a mistake of this package, how to report it.
    passing : exception class
    """

    def __init__(self, what: str, notes: list[str], *, passing: type[Exception] = OptionError) -> None:
        self._what = what
        self._notes = notes
        self._passing = passing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(fault, Exception) or isinstance(fault, self._passing):
            return False
        self._notes.append(f"{self._what} is missing: {_cause(fault)}")
        return True


def _cause(fault: Exception) -> str:
    if isinstance(fault, UfuncMagicError):
        return " ".join(str(fault).split("\n"))
    text = " ".join(str(fault).split("\n"))[:200]
    cause = ": ".join(filter(None, (type(fault).__name__, text)))
    if isinstance(fault, MemoryError):
        return cause
    trace, place = fault.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        if "/ufunc_magic/" in file:
            place = f" ({file.rpartition('/')[2]}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return (
        f"{cause}{place}. That is a mistake of ufunc_magic, which the functions do not suffer from: please report it, "
        "with the cell and what %ufunc_doctor says."
    )
