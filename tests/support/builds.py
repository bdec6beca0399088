"""Cells that are compiled once for many tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from ufunc_magic.runtime import Build


def compile_in(folder: Path, source: str, *, language: str = "c", **options: Any) -> Build:
    """Compile a cell with the cache in ``folder``: with ``shared_cache_folder``, a cell is compiled once for a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UFUNC_MAGIC_CACHE", str(folder))
        build: Build = getattr(um, f"compile_{language}")(source, **options)
        return build
