"""Packages that comparisons can use and do without: imported by name, when asked for."""

from __future__ import annotations

import importlib
from typing import Any

from ..model import ComparisonError

__all__ = ["installed", "needed"]


def installed(package: str) -> Any | None:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def needed(package: str, *, purpose: str) -> Any:
    """The package.

    Raises
    ------
    ComparisonError
        If it is not installed.
    """
    found = installed(package)
    if found is None:
        top = package.partition(".")[0]
        raise ComparisonError(f"{purpose} needs {top}, which is not installed.", remedy=f"Run: pip install {top}")
    return found
