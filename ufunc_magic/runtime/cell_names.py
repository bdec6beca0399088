"""Corrects the name and the lines of the cell in messages of running code: assertions and tracebacks of Cython.

Compiled code contains the name that its cell had when it was compiled, and the source's own lines.  The same code
serves every cell with that text, in this session and in later ones, in a notebook and in a program.
"""

from __future__ import annotations

import contextlib
import ctypes
import linecache
import os
from types import ModuleType
from typing import Any

from .. import store
from ..model import LANGUAGES, CacheError, CellPlace, ObjectCode
from . import _private


class _Slot(ctypes.Structure):
    """``__ufm_place`` of a Cython module (``languages/cython/traceback_lines.py``)."""

    _fields_ = (("name", ctypes.c_char_p), ("before", ctypes.c_int), ("generation", ctypes.c_int))


#: Code -> the place of its cell, and for Cython the slot that its tracebacks read.  Nothing is ever closed.
_places: dict[tuple[str, str], CellPlace] = {}
_slots: dict[tuple[str, str], _Slot] = {}
#: An address in each library, and its object code.
_libraries: list[tuple[int, ObjectCode]] = []
#: Names that slots have had: a thread may be reading one.
_names: list[Any] = []


def _make_key(object_code: ObjectCode) -> tuple[str, str]:
    return object_code.code_digest, object_code.source


def note_library(object_code: ObjectCode, address: int) -> None:
    """Note a library by an ``address`` in it."""
    _libraries.append((address, object_code))


def find_current_place(object_code: ObjectCode) -> CellPlace:
    """The place that its cell has now."""
    return _places.get(_make_key(object_code), object_code.place)


def set_place(object_code: ObjectCode, place: CellPlace) -> None:
    """Note the place that its cell has now."""
    key = _make_key(object_code)
    _places[key] = place
    if slot := _slots.get(key):
        _write(slot, object_code, place)


def attach(object_code: ObjectCode, handle: ctypes.CDLL) -> None:
    """Let tracebacks of a Cython module name its cell's lines, and Python find their text."""
    slot = None
    with contextlib.suppress(ValueError):  # modules of earlier releases
        slot = _slots[_make_key(object_code)] = _Slot.in_dll(handle, "__ufm_place")
    _write(slot, object_code, find_current_place(object_code))


def give_file(module: ModuleType, object_code: ObjectCode) -> None:
    """Write the source of a module that traces its lines to a file: line_profiler looks for it by the module's folder.

    Code that Cython traces has the name that the cell had when it was compiled.
    """
    name = object_code.name
    if "linetrace" not in object_code.source or os.path.basename(name) != name:
        return
    with contextlib.suppress(CacheError):
        folder = store.open_default().open_storage(f"lines-{object_code.code_digest[:16]}")
        store.Cache.write_scratch(folder / name, object_code.source)
        module.__file__ = str(folder / f"{module.__name__}.so")


def find_code(address: int | None) -> ObjectCode | None:
    """The object code of the library that holds ``address``; None if unknown."""
    base = _private.find_library_base(address or 0)
    return next(
        (code for inside, code in reversed(_libraries) if base and _private.find_library_base(inside) == base), None
    )


def _write(slot: _Slot | None, object_code: ObjectCode, place: CellPlace) -> None:
    """Give a module's tracebacks a name under which Python finds its lines, and their numbers."""
    if slot is None:
        place = CellPlace(object_code.name)
    magic = f"{LANGUAGES['cython'].magic}\n"
    above = ["\n"] * (place.first_line - 2) + [magic] * (place.first_line > 1)
    lines = above + object_code.source.splitlines(keepends=True)
    name = place.name
    known = linecache.cache.get(name)
    if slot is not None and known is not None and known[2:3] != (lines,):
        name = f"{name} {object_code.code_digest[:8]}"  # another cell has that name, and may fail, too
    # No time, so that Python does not look for such a file.
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    if slot is not None:
        encoded = name.encode()
        _names.append(encoded)
        slot.before = place.first_line - 1
        slot.name = encoded
        slot.generation += 1
