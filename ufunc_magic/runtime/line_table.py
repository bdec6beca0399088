"""Reads the lines of a cell out of the debug information of its code (``-c=-g``)."""

from __future__ import annotations

import io
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
        return [row for unit in file.get_dwarf_info().iter_CUs() for row in _read_rows(file, unit, name)]
    except (ELFError, DWARFError, KeyError, ValueError):
        return []


def _read_rows(file: Any, unit: Any, name: str) -> list[tuple[int, int, int]]:
    """Ranges of addresses that belong to the cell, with their lines."""
    program = file.get_dwarf_info().line_program_for_CU(unit)
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
    return rows
