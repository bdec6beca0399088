"""What the report of a cell shows on request: rivals of its functions, and their times over sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import TYPES, CellFunction
from ..render import Comparison
from .candidates import Candidate, Given
from .comparing import BUDGET_OF_SIZES, compare
from .per_element import columns, survivors
from .python_forms import forms
from .rivals import rivals
from .samples import sample_inputs
from .sizes import sizes_of

__all__ = ["Asked", "over_sizes"]

#: Elements of the arguments that are made; longer ones repeat them.
SAMPLED = 1 << 17
#: Distinct elements where the Python form must run each first.
POOL = 1 << 11


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked for besides the table.

    Attributes
    ----------
    vs : str
        Rivals, ``"numpy,numba"``.
    sizes : str
        ``"10:1e7"``, or ``""``.
    compile_cython : callable
    progress : callable
    """

    vs: str = ""
    sizes: str = ""
    compile_cython: Callable[[str], Mapping[str, Any]] | None = None
    progress: Callable[[float, str], object] | None = None

    def rivals(self, code: CellFunction) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """Those of one function, and a note for each that cannot be made."""
        return rivals(code, self.vs, compile_cython=self.compile_cython) if self.vs else ((), ())


def over_sizes(function: Callable[..., Any], code: CellFunction, asked: Asked, *, share: float = 1.0) -> Comparison:
    """A function of a cell and its rivals over sizes; without ``--vs`` its NumPy expression.

    Parameters
    ----------
    function : callable
    code : CellFunction
    asked : Asked
    share : float
        Of the time, where there are several functions.
    """
    others, notes = asked.rivals(code)
    said = forms(code)
    if not asked.vs and said.vector is not None:
        others = (Candidate("NumPy expression", said.vector, "numpy"),)
    types = "".join(TYPES[number].char for number in code.timed[: code.nin])
    size = min(SAMPLED, sizes_of(asked.sizes)[-1])
    checked = said.checked or said.python
    screen = None if checked is None else functools.partial(_passes, checked)
    arguments = sample_inputs(types, size=size, probe=function, screen=screen, cautious=code.cautious, pool=POOL)
    compared: dict[str, Given] = {code.name: function, **{one.label: one for one in others}}
    made = compare(
        compared,
        *arguments,
        sizes=asked.sizes,
        budget=BUDGET_OF_SIZES * share,
        progress=asked.progress,
    )
    return replace(made, name=code.name, notes=(*notes, *made.notes))


def _passes(checked: Callable[..., Any], *arrays: NDArray[Any]) -> NDArray[np.bool_]:
    return survivors(checked, columns(arrays))[1]
