"""Cells in a shell of IPython."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell


def run_cell(shell: InteractiveShell, magic: str, source: str, line: str = "", **keywords: Any) -> Any:
    """Run one cell the way a front end does; return its value or raise its error."""
    result = shell.run_cell(f"%%{magic} {line}\n{source}", store_history=True, **keywords)
    result.raise_error()
    return result.result
