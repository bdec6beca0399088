"""`um.compare` with a clock and limits that tests set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ufunc_magic.bench import CLOCK, compare_request, make_request
from ufunc_magic.bench.machine import Limits
from ufunc_magic.render import Comparison


def compare(
    callables: Any,
    *args: Any,
    clock: Callable[[], float] = CLOCK,
    limit: Limits | None = None,
    progress: Callable[[float, str], object] | None = None,
    strict: bool = False,
    **options: Any,
) -> Comparison:
    """Compare callables as `um.compare` does; by default on a machine without limits."""
    tolerance = 0.0 if strict else options.pop("tolerance", None)
    request = make_request(callables, args, tolerance=tolerance, **options)
    budget = replace(request.budget, clock=clock)
    return compare_request(replace(request, budget=budget, limit=limit, progress=progress))
