"""A text of CUDA as C's reader sees it."""

from __future__ import annotations

from ...model import Unit
from .. import c
from . import cuda_names


def read(source: str) -> c.Text:
    """Read a cell without a preprocessor; see `c.read`."""
    return c.read(source, cplus=True, predefined=cuda_names.PREDEFINED)


def parse_cell(source: str) -> tuple[Unit, c.CText]:
    """Read the functions and the tree of a cell without a preprocessor; see `c.parse_cell`."""
    return c.parse_cell(source, cplus=True, predefined=cuda_names.PREDEFINED)


def parse(source: str) -> Unit:
    """Read the functions of a cell without a preprocessor."""
    return parse_cell(source)[0]
