"""What a C or C++ cell is cached under; `c_unit` makes object code of it."""

from __future__ import annotations

from ... import compilers
from ...cells import c_key
from ...model import Options


def key(source: str, *, options: Options) -> str:
    """Everything but files that could change the machine code, digested.  Starts no process."""
    return c_key("c", source, options=options, tool=compilers.find(cplus=options.cplus))
