"""Packages of others that are used where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from ..model import ComparisonError


def import_optional(package: str) -> Any | None:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def import_required(package: str, *, purpose: str) -> Any:
    """The package.

    Raises
    ------
    ComparisonError
        If it is not installed.
    """
    module = import_optional(package)
    if module is None:
        top = package.partition(".")[0]
        raise ComparisonError(f"{purpose} needs {top}, which is not installed.", remedy=f"Run: pip install {top}")
    return module
