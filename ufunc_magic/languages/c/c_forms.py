"""Python forms of the functions of a C text, by way of the IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import cells
from ...ir import Program
from ...model import Options, Signature, Unit
from .c_tree import CText
from .lowering import lower


def python_forms(
    text: CText, signatures: Sequence[Signature], unit: Unit, options: Options
) -> dict[str, tuple[Signature, cells.Form]]:
    """Each name's signature with its Python form."""

    def lowered(types: Mapping[str, int]) -> Program:
        return lower(text, cplus=options.cplus, types=types, typedefs=unit.typedefs)

    return cells.python_forms(lowered, signatures, unit, options)
