"""One pass of Cython's pipeline over a cell, and what its stages note on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cell_text import Text

__all__ = ["Run"]


@dataclass(eq=False)
class Run:
    """One pass of the pipeline, and what its stages have noted."""

    desc: Any
    context: Any
    c_file: Path
    wanted: Mapping[str, Any]
    text: Text
    tree: Any = None
    #: def functions by name, as parsed
    defs: dict[str, Any] = field(default_factory=dict)
    #: Name -> the type that its twin was declared to return, or that its original was found to.
    twins: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    #: def functions by name, after analysis.
    definitions: dict[str, Any] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)
