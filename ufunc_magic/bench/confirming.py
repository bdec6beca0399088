"""The second look of `ufunc_magic.verify`: this process, which never loads the code, checks results of a copy of it.

Code that runs in the same process as its check can change the check: NumPy's functions, the clock, the exit status.
The inputs are those of the table in an order that nobody can predict, and are computed twice: at first, and after the
function has been called for a while, because it may count its calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import CellFunction, Comfort
from ..render import Agreement
from . import expectation
from .agreement import spoil_memory
from .candidates import Candidate
from .expectation import Expected, call_each, check_points, to_lists
from .request import Forms
from .rivals import load_forms
from .rounds import CLOCK, count_affordable

#: Elements of a second look.
DRAWN = 100_000

#: Shares of a verification's time: for calls between the two looks, and for the expected results.
CALLING, EXPECTING = 0.5, 0.2

Arrays = tuple[NDArray[Any], ...]


def draw_inputs_again(code: CellFunction, arrays: Arrays, *, free: bool) -> Arrays:
    """Inputs like those of the table, unpredictable: in another order, and not as many.

    ``free`` says that they may have other last bits, and named core dimensions other sizes.
    """
    random, length = np.random.default_rng(), len(arrays[0])
    plain = not any(code.cores)
    number = max(length, DRAWN if plain and free else 0)
    order = random.permutation(np.resize(np.arange(length), number))[: number - int(random.integers(number // 7 + 1))]
    arrays = tuple(array[order] for array in arrays)
    if not free or code.size_operands:
        return arrays
    if plain:
        return tuple(_change_last_bits(array, random) for array in arrays)
    sizes: dict[str, int] = {}
    for core, array in zip(code.cores, arrays, strict=False):
        for name, size in zip(core, array.shape[1:], strict=True):
            if name.isidentifier():
                sizes.setdefault(name, int(random.integers(size - size // 3, size + 1)))
    return tuple(
        np.ascontiguousarray(array[(slice(None), *(slice(sizes.get(name)) for name in core))])
        for core, array in zip(code.cores, arrays, strict=False)
    )


def _change_last_bits(array: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Floating-point numbers with other last bits, unless all of them are whole; integers as they are."""
    if array.dtype.char not in "fd" or np.array_equal(array, np.round(array)):
        return array
    bits = array.view(f"u{array.itemsize}")
    changed = (bits ^ random.integers(0, 1 << array.itemsize, array.shape).astype(bits.dtype)).view(array.dtype)
    return np.where(np.isfinite(array) & (array != 0), changed, array)


def call_for_a_while(function: Callable[..., Any], arrays: Arrays, *, seconds: float) -> tuple[Any, Any]:
    """The results at first, and after calls for a share of ``seconds``."""
    with np.errstate(all="ignore"):
        before = function(*arrays)
        one, end = tuple(array[:1] for array in arrays), CLOCK() + CALLING * seconds
        while CLOCK() < end:
            function(*arrays)
            for _ in range(100):
                function(*one)
        spoil_memory(before)
        return before, function(*arrays)


def confirm(
    code: CellFunction, arrays: Arrays, results: tuple[Any, Any], *, reference: Candidate | None, seconds: float
) -> Agreement | None:
    """Compare both results with those of the reference, or of the function's Python form.

    None if there is neither, or if the function keeps state and nobody says what its results should be.
    """
    if reference is None and not code.traceless:
        return None
    with np.errstate(all="ignore"):
        expected = _expect(code, arrays, reference, seconds=seconds)
        if expected is None:
            return None
        for result, when in zip(results, ("on inputs drawn anew", "after many calls"), strict=True):
            verdict = check_points([expected], result)
            if verdict is not None and not verdict.ok:
                return replace(verdict, detail=f"{when}, {verdict.detail}")
        return verdict


def _expect(code: CellFunction, arrays: Arrays, reference: Candidate | None, *, seconds: float) -> Expected | None:
    """The expected results of the first elements, as many as there is time for."""
    forms = Forms()
    with Comfort("the Python form", []):
        forms = load_forms(code)
    exact, random = forms.exact, forms.random
    function = reference.function if reference else exact
    if function is None:
        return None
    part: Expected | None
    if reference and expectation.takes_arrays(function, arrays, code.nout):
        part = expectation.expect_everywhere(function, arrays)
    else:

        def run(number: int) -> None:
            call_each(function, to_lists(tuple(array[:number] for array in arrays)))

        number = count_affordable(run, most=len(arrays[0]), seconds=EXPECTING * seconds, clock=CLOCK)
        places = np.arange(number)
        narrow = forms.python is not exact and any(array.dtype.char in "efF" for array in arrays)
        part = expectation.expect_at(
            function,
            arrays,
            places,
            nout=code.nout,
            unrounded=forms.python if narrow and not reference else None,
            random=None if reference else random,
        )
    if part is not None and reference and exact is not None and random is not None:
        return expectation.add_roundings(part, exact=exact, random=random, nout=code.nout)
    return part
