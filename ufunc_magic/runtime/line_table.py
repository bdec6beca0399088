"""Reads the lines of a cell out of the debug information of its code (``-c=-g``)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any


def read_line_table(code: bytes, *, name: str) -> list[tuple[int, int, int]]:
    """Read ranges of addresses, relative to the start of the library, with their lines of the cell.

    Parameters
    ----------
    code : bytes
        An ELF library with DWARF line tables; without them there are no ranges.
    name : str
        Name of the cell in its ``#line`` directives.
    """
    from elftools.common.exceptions import DWARFError, ELFError  # imported for a crash only
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(io.BytesIO(code))
        if not file.has_dwarf_info():
            return []
        dwarf = file.get_dwarf_info()
        return [row for unit in dwarf.iter_CUs() for row in _read_rows(dwarf, unit, name)]
    except (ELFError, DWARFError, KeyError, ValueError):
        return []


def _read_rows(dwarf: Any, unit: Any, name: str) -> list[tuple[int, int, int]]:
    """Ranges of addresses of the cell, with their lines; then those of what it inlines, the innermost call first."""
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return []
    first = 0 if program.header.version >= 5 else 1
    entries = program.header["file_entry"]
    ours = {n + first for n, entry in enumerate(entries) if entry.name.decode(errors="replace").endswith(name)}
    rows: list[tuple[int, int, int]] = []
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.file in ours and state.address > before.address:
            rows.append((before.address, state.address, before.line))
        before = None if state.end_sequence else state
    inlined: list[tuple[int, int, int]] = []
    for die in unit.iter_DIEs() if ours else ():
        if die.tag == "DW_TAG_inlined_subroutine" and die.attributes["DW_AT_call_file"].value in ours:
            line = die.attributes["DW_AT_call_line"].value
            inlined += [(low, high, line) for low, high in _list_ranges(dwarf, unit, die)]
    return rows + inlined[::-1]


def _list_ranges(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    """The ranges of addresses of a function that was inlined."""
    ranges, low, high = (die.attributes.get(f"DW_AT_{word}") for word in ("ranges", "low_pc", "high_pc"))
    if low is not None and high is not None:
        yield low.value, high.value + low.value * (high.form != "DW_FORM_addr")
    base = getattr(unit.get_top_DIE().attributes.get("DW_AT_low_pc"), "value", 0)
    for one in dwarf.range_lists().get_range_list_at_offset(ranges.value, unit) if ranges is not None else ():
        if not hasattr(one, "end_offset"):
            base = one.base_address
        else:
            start = 0 if getattr(one, "is_absolute", False) else base
            yield start + one.begin_offset, start + one.end_offset
