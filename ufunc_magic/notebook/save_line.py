"""The line of ``%ufunc_save``: read, and carried out with the user's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..model import OptionError, SaveError
from .option_line import SAVE, parse

if TYPE_CHECKING:
    from ..interop.python_package import SavedModule
    from ..runtime import Build


def saved(line: str, *, names: Mapping[str, Any], last: Build | str) -> SavedModule | None:
    """What a line asks for; None where that is help.

    Parameters
    ----------
    line : str
    names : mapping
        The user's.
    last : Build or str
        The last cell, or why there is none to save.

    Raises
    ------
    OptionError, SaveError
        If the line cannot be read, or what it names cannot be saved.
    """
    words: list[str] = []
    options = parse(line, SAVE, others=words)
    if "help" in options or not (words or options):
        return None
    if not words:
        raise OptionError("%ufunc_save needs a name for the module.", remedy="Write %ufunc_save fastmath")
    path, *functions = words
    if not functions and isinstance(last, str):
        raise SaveError(last, remedy=f"Name the functions to save: %ufunc_save {path} f g")
    for word in functions:
        if word not in names:
            raise SaveError(f"{word!r} is not defined in this notebook.", remedy="Run the cell that defines it first.")
    from ..api import save_module  # what writes modules: not for who only loads the extension

    return save_module(
        {word: names[word] for word in functions} if functions else last,
        path,
        force="force" in options,
        source_only="source_only" in options,
    )
