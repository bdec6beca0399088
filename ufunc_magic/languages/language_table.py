"""Looks languages up; the room of a language is imported when it is asked for."""

from __future__ import annotations

import importlib

from ..cells import Language
from ..model import LANGUAGES, ObjectCode, OptionError, find_language_key

#: For object code that no cell made.
_PLAIN = Language()


def get_language(key: str) -> Language:
    """Return the language with that key.

    Raises
    ------
    OptionError
        If the table has none.
    """
    if key not in LANGUAGES:
        *others, last = (repr(known) for known in LANGUAGES)
        raise OptionError(f"language={key!r} is not supported.", remedy=f"Use {', '.join(others)} or {last}.")
    return importlib.import_module(LANGUAGES[key].room).LANGUAGE  # type: ignore[no-any-return]


def find_language(object_code: ObjectCode) -> Language:
    """Return the language of a cell's object code; a plain one for object code that no cell made."""
    key = find_language_key(object_code.language)
    return get_language(key) if key else _PLAIN
