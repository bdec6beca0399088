"""Turns exceptions of optional parts into notes, so that such a part never fails a cell."""

from __future__ import annotations

from types import TracebackType

from .errors import OptionError, UfuncMagicError


class Comfort:
    """``with Comfort("the Python form of f", notes):`` continues after the block when the block raises.

    Interrupts and exceptions of class ``passing`` (errors in the user's own options) still propagate.  A
    `MemoryError` becomes a note, too: the cell works without the part.

    Parameters
    ----------
    what : str
        The part, as a noun: what is missing after an exception.
    notes : list of str
        Receives the note, with the cause and, if the cause is a bug of this package, how to report it.
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
        self._notes.append(f"{self._what} is missing: {_describe_cause(fault)}")
        return True


def _describe_cause(fault: Exception) -> str:
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
        f"{cause}{place}. This is a bug in ufunc_magic. Your functions are not affected. Please report it with "
        "the cell and the output of %ufunc_doctor."
    )
