"""The line of ``%ufunc_compare``: read, and carried out in the user's names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..bench import CLOCK, compare, evaluated
from ..model import OptionError
from ..render import Comparison, Progress, Surface, needed
from .option_line import COMPARE_FLAGS as _FLAGS, split

HELP = """\
%ufunc_compare f g "lambda x: ..." [options] [-- argument ...]

Verify that functions agree on the same arguments, then time them in turns.  Functions are names, expressions in
quotes, or "numexpr: 4*a + exp(-a)".  Arguments are expressions; without them numbers are drawn.

  --sizes 10:1e7   time per element at 10, 20, 50, ... elements (or --sizes 1e3,1e5)
  --ref f          whose results are the expected ones; the first function's if omitted
  --strict         every bit counts
  --budget 5       seconds that it may take
  --plot           draw with Matplotlib as well"""

_ARGUMENT = "Give an expression for each argument: -- x 'np.linspace(0, 1, 1000)'"


@dataclass(frozen=True)
class CompareLine:
    """What stands on a line; ``help`` where that was asked for."""

    callables: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    help: bool = False

    @property
    def plot(self) -> bool:
        return "--plot" in self.options

    @property
    def budget(self) -> float:
        """Seconds; 0 for the default."""
        text = self.options.get("--budget", "0")
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if seconds < 0 or seconds != seconds:
            raise OptionError(f"--budget {text} is not a number of seconds.", remedy="Write --budget 5")
        return seconds


def parse_line(line: str) -> CompareLine:
    """Read the line of the magic.

    Raises
    ------
    OptionError
        For an open quote, an unknown option, a missing or superfluous value.
    """
    words = split(line)
    callables: list[str] = []
    options: dict[str, str] = {}
    while words and words[0] != "--":
        word = words.pop(0)
        if word in ("-h", "--help", "?"):
            return CompareLine(help=True)
        if not word.startswith("--"):
            callables.append(word)
            continue
        flag, equals, value = word.partition("=")
        if flag not in _FLAGS:
            near = difflib.get_close_matches(flag, _FLAGS, n=1)
            remedy = f"Did you mean {near[0]}?" if near else f"Options are {', '.join(_FLAGS)}."
            raise OptionError(f"{flag} is not an option.", remedy=remedy)
        if _FLAGS[flag] and not equals:
            if not words or words[0] == "--":
                raise OptionError(f"{flag} stands without its value.", remedy="%ufunc_compare --help has an example.")
            value = words.pop(0)
        elif not _FLAGS[flag] and equals:
            raise OptionError(f"{flag} takes no value, but {value!r} was given.", remedy=f"Write {flag}")
        options[flag] = value
    late = next((word for word in words[1:] if word.partition("=")[0] in _FLAGS), None)
    if late is not None:
        raise OptionError(f"{late} stands behind --, where arguments are.", remedy="Write options before the --")
    return CompareLine(tuple(callables), tuple(words[1:]), options, help=not callables)


def compare_line(
    parsed: CompareLine, *, names: Mapping[str, Any], progress: Callable[[float, str], object] | None = None
) -> Comparison:
    """Carry out a line.

    Parameters
    ----------
    parsed : CompareLine
    names : mapping
        The user's.
    progress : callable
        As for `compare`.

    Raises
    ------
    ComparisonError, OptionError
    """
    if parsed.plot:  # before anything is measured, or the measuring was for nothing
        needed("matplotlib.pyplot", purpose="--plot")
    reference = parsed.options.get("--ref")
    labels = dict.fromkeys(parsed.callables)
    return compare(
        {label: label for label in labels},
        *(evaluated(text, names, remedy=_ARGUMENT) for text in parsed.arguments),
        sizes=parsed.options.get("--sizes"),
        reference=reference if reference is None or reference in labels else evaluated(reference, names),
        strict="--strict" in parsed.options,
        budget=parsed.budget,
        names=names,
        progress=progress,
    )


def compared(line: str, *, names: Mapping[str, Any], surface: Surface) -> Comparison | str:
    """What a line of ``%ufunc_compare`` asks for, or its help.

    Raises
    ------
    OptionError, ComparisonError
        If the line cannot be read, or a function fails on the arguments.
    """
    parsed = parse_line(line)
    if parsed.help:
        return HELP
    with Progress(surface, CLOCK) as progress:
        comparison = compare_line(parsed, names=names, progress=progress)
    if parsed.plot:
        comparison.plot()
    return comparison
