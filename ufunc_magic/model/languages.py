"""The table of languages: their names, and their rooms, named as text.

A new language is a folder in `ufunc_magic.languages` and a row here.  No import of this file reaches a language.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LanguageEntry:
    """One language of cells.

    Attributes
    ----------
    title : str
        Its name in messages, ``"Cython"``.
    magic : str
        Its cell magic.
    suffix : str
        The suffix of a file with its source.
    room : str
        The module whose ``LANGUAGE`` is a `ufunc_magic.cells.Language`.
    loader : str
        A module that binds its functions, a `ufunc_magic.runtime.registry.FunctionBinder`; ``""`` if it has only
        NumPy's loops and plain functions.
    views : tuple of str
        Views of ``--show`` besides those that a C compiler provides.
    dialects : tuple of (str, str)
        Names of its dialects in object code -> suffix.
    """

    title: str
    magic: str
    suffix: str
    room: str
    loader: str = ""
    views: tuple[str, ...] = ()
    dialects: tuple[tuple[str, str], ...] = ()


#: Key -> language.  The key is the ``language`` of object code, and an argument of `ufunc_magic.pipeline.build`.
LANGUAGES: dict[str, LanguageEntry] = {
    "c": LanguageEntry("C", "%%c_ufunc", ".c", "ufunc_magic.languages.c", dialects=(("c++", ".cpp"),)),
    "cython": LanguageEntry("Cython", "%%cython_ufunc", ".pyx", "ufunc_magic.languages.cython"),
    "cuda": LanguageEntry(
        "CUDA",
        "%%cuda_device",
        ".cu",
        "ufunc_magic.languages.cuda",
        loader="ufunc_magic.languages.cuda.device",
        views=("ptx",),
    ),
}


def find_language_key(name: str) -> str:
    """Return the key of a language by its name in object code, which may be a dialect's; ``""`` if it has no row."""
    if name in LANGUAGES:
        return name
    return next((key for key, entry in LANGUAGES.items() if name in dict(entry.dialects)), "")


def find_source_suffix(name: str) -> str:
    """Return the suffix of a file with source of a language or dialect."""
    entry = LANGUAGES[find_language_key(name)]
    return dict(entry.dialects).get(name, entry.suffix)


#: Suffixes that people also use, and the table's suffix for the same language.
_OTHER_SUFFIXES = {".cc": ".cpp", ".cxx": ".cpp", ".hpp": ".cpp", ".h": ".c", ".py": ".pyx"}


def find_language_of_suffix(suffix: str) -> str:
    """Return the language or dialect of files with this suffix; ``""`` if there is none."""
    suffix = _OTHER_SUFFIXES.get(suffix, suffix)
    names = {entry.suffix: key for key, entry in LANGUAGES.items()}
    names |= {own: name for entry in LANGUAGES.values() for name, own in entry.dialects}
    return names.get(suffix, "")


def own_views(name: str) -> tuple[str, ...]:
    """Return the views of ``--show`` that only cells of this language or dialect have."""
    key = find_language_key(name)
    return LANGUAGES[key].views if key else ()
