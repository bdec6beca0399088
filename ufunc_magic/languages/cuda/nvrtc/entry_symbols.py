"""Names of kernels whose symbol is known: ``extern "C" k``."""

from __future__ import annotations

#: Before the names of kernels whose symbols are their names.
C_LINKAGE = 'extern "C" '


def read_c_symbol(entry: str) -> str:
    """The symbol of a kernel that has C's linkage, ``extern "C" k``; ``""`` of one that is given by its name in C++."""
    return entry.removeprefix(C_LINKAGE) if entry.startswith(C_LINKAGE) else ""
