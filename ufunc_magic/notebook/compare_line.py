"""Parses the line of ``%ufunc_compare`` and runs it with the user's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..bench import compare_request, evaluate, load_limits, make_request
from ..render import Comparison, import_required
from .option_line import COMPARE, parse, split

_ARGUMENT = "Write one expression for each argument: -- x 'np.linspace(0, 1, 1000)'"


def run_line(
    line: str, *, names: Mapping[str, Any], progress: Callable[[float, str], object] | None = None
) -> Comparison | None:
    """Run the comparison that a line describes; return None if the line asks for help.

    Parameters
    ----------
    line : str
    names : mapping
        The user's names.
    progress : callable
        Called with the share that is done and the current size.

    Raises
    ------
    OptionError, ComparisonError
        If the line cannot be read, or a function fails on the arguments.
    """
    words = split(line)
    end = words.index("--") if "--" in words else len(words)
    callables: list[str] = []
    options = parse(words[:end], COMPARE, others=callables)
    if "help" in options or not callables:
        return None
    if "plot" in options:  # before anything is measured
        import_required("matplotlib.pyplot", purpose="--plot")
    reference = options.get("ref")
    request = make_request(
        {label: label for label in callables},
        [evaluate(text, names, remedy=_ARGUMENT) for text in words[end + 1 :]],
        sizes=options.get("sizes"),
        reference=reference if reference is None or reference in callables else evaluate(reference, names),
        tolerance=0.0 if "strict" in options else None,
        budget=options.get("budget", 0.0),
        names=names,
    )
    comparison = compare_request(replace(request, limit=load_limits(), progress=progress))
    if "plot" in options:
        comparison.plot()
        comparison = replace(comparison, plotted=True)
    return comparison
