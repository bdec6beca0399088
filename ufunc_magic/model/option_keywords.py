"""The options as keyword parameters: for `help`, ``compile_c?``, completion and type checkers.

Type checkers read `OptionKeywords`; `with_options` gives functions a signature and a docstring, from the table.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, TypeVar

from .options import TABLE, Options

_F = TypeVar("_F", bound=Callable[..., Any])


class OptionKeywords(TypedDict, total=False):
    """What functions that compile take by keyword; `Options` holds the same, checked."""

    types: str | Sequence[str] | None
    signature: str | None
    identity: str | int | None
    cplus: bool
    language_level: int
    strict: bool
    fast_math: bool
    parallel: int | bool
    arch: str
    compile_args: str | Sequence[str]
    link_args: str | Sequence[str]
    lib: str | Sequence[str]
    library_dirs: str | Sequence[str]
    include: str | Sequence[str]
    src: str | Sequence[str]
    wrap: str | Sequence[str]
    pgo: bool
    torch: bool
    annotate: bool
    annotate_fullc: bool
    device: str
    abi: str
    run_main: str | bool
    guard: bool
    sanitize: bool
    sandbox: bool
    force: bool
    name: str
    verbose: bool
    time: float | bool | str
    size: int
    data: str
    ref: str
    vs: str
    sizes: str
    plot: bool
    show: str


def names_for(language: str) -> tuple[str, ...]:
    """Keywords that mean something for cells of a language, in the order of the help text."""
    rows = (row for row in TABLE if not row.languages or language in row.languages)
    return tuple(dict.fromkeys(row.dest for row in rows))


def with_options(names: Iterable[str]) -> Callable[[_F], _F]:
    """Decorate a function that takes ``**options``: its signature and its docstring have a parameter for each.

    The docstring's list stands before ``Raises``, as numpydoc has it.
    """

    def decorate(function: _F) -> _F:
        own = inspect.signature(function)
        kinds = OptionKeywords.__annotations__
        defaults = vars(Options())
        chosen = [name for name in names if name not in own.parameters]
        parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kinds[name].__forward_arg__
            )
            for name in chosen
        ]
        vars(function)["__signature__"] = own.replace(parameters=parameters)
        if function.__doc__:  # none under -OO
            before, section, after = inspect.cleandoc(function.__doc__).partition("\nRaises\n")
            listed = "".join(_entry(name, kinds[name].__forward_arg__) for name in chosen)
            function.__doc__ = f"{before.rstrip()}\n\nOther Parameters\n----------------\n{listed}{section}{after}"
        return function

    return decorate


@functools.cache
def _entry(name: str, kind: str) -> str:
    rows = [row for row in TABLE if row.dest == name and not row.flags[0].startswith("--no-")]
    # Where flags set numbers, as -2 and -3 do, the number is what one writes.
    texts = [f"{row.const}: {row.help}" if row.action == "flag" and row.const is not True else row.help for row in rows]
    return f"{name} : {kind}\n    {' '.join(texts)}\n"
