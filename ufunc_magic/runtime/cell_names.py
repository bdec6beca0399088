"""What messages of running code call its cell, and how they count its lines: as where it was compiled or found last.

Compiled code knows the name that its cell had then, and the source's own lines: ``assert()`` says them, and so do
tracebacks of Cython's functions.  The same code serves every cell with that text, in this session and in later ones,
in a notebook and in a program, so both are put right where they are said.
"""

from __future__ import annotations

import contextlib
import ctypes
import linecache
from typing import Any

from ..model import LANGUAGES, CellPlace, ObjectCode
from . import _private


class _Slot(ctypes.Structure):
    """``__ufm_place`` of a Cython module (``languages/cython/traceback_lines.py``)."""

    _fields_ = (("name", ctypes.c_char_p), ("before", ctypes.c_int), ("generation", ctypes.c_int))


#: By code, where its cell stands, and for Cython what its tracebacks are made with.  Nothing is ever closed.
_places: dict[tuple[str, str], CellPlace] = {}
_slots: dict[tuple[str, str], _Slot] = {}
#: Of each library an address inside, and what it is.
_opened: list[tuple[int, ObjectCode]] = []
#: Names that a slot has had: a thread may be reading one.
_names: list[Any] = []


def _key(object_code: ObjectCode) -> tuple[str, str]:
    return object_code.code_digest, object_code.source


def opened(object_code: ObjectCode, address: int) -> None:
    """Note a library by an ``address`` inside it."""
    _opened.append((address, object_code))


def current_place(object_code: ObjectCode) -> CellPlace:
    """Where its cell stands now."""
    return _places.get(_key(object_code), object_code.place)


def set_place(object_code: ObjectCode, place: CellPlace) -> None:
    """Say where its cell stands now."""
    key = _key(object_code)
    _places[key] = place
    if slot := _slots.get(key):
        _write(slot, object_code, place)


def attach(object_code: ObjectCode, handle: ctypes.CDLL) -> None:
    """Have tracebacks of a Cython module name its cell's lines, and Python find their text."""
    slot = None
    with contextlib.suppress(ValueError):  # modules of earlier releases
        slot = _slots[_key(object_code)] = _Slot.in_dll(handle, "__ufm_place")
    _write(slot, object_code, current_place(object_code))


def at(address: int | None) -> ObjectCode | None:
    """What the library is that holds ``address``; None where that cannot be found out."""
    base = _private.library_base(address or 0)
    return next((code for inside, code in reversed(_opened) if base and _private.library_base(inside) == base), None)


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
        name = f"{name} {object_code.code_digest[:8]}"  # another cell of that name is there, and may fail, too
    # No time, so that Python does not look for such a file.
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    if slot is not None:
        encoded = name.encode()
        _names.append(encoded)
        slot.before = place.first_line - 1
        slot.name = encoded
        slot.generation += 1
