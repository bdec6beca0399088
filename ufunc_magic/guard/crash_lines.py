"""Addresses of instructions to lines of the cell, by the debug information of the second build."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

__all__ = ["line_of"]


def line_of(code: bytes, addresses: Sequence[int], *, name: str) -> int:
    """The line of the cell that the innermost of some calls stands on, or 0.

    Parameters
    ----------
    code : bytes
        An ELF library with DWARF line tables.
    addresses : sequence of int
        Innermost first, counted from where the library was mapped.
    name : str
        What ``#line`` calls the cell.
    """
    from elftools.common.exceptions import DWARFError, ELFError  # only a crash needs it
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(io.BytesIO(code))
        if not file.has_dwarf_info():
            return 0
        rows = [row for unit in file.get_dwarf_info().iter_CUs() for row in _rows(file, unit, name)]
    except (ELFError, DWARFError, KeyError, ValueError):
        return 0
    for address in addresses:
        found = next((line for start, stop, line in rows if start <= address < stop), 0)
        if found:
            return found
    return 0


def _rows(file: Any, unit: Any, name: str) -> list[tuple[int, int, int]]:
    """Ranges of addresses that belong to the cell, with their lines."""
    program = file.get_dwarf_info().line_program_for_CU(unit)
    if program is None:
        return []
    first = 0 if program.header.version >= 5 else 1
    entries = program.header["file_entry"]
    ours = {n + first for n, entry in enumerate(entries) if entry.name.decode(errors="replace").endswith(name)}
    found: list[tuple[int, int, int]] = []
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.file in ours and state.address > before.address:
            found.append((before.address, state.address, before.line))
        before = None if state.end_sequence else state
    return found
