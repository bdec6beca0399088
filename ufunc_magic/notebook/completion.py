"""Tab completion of options and their values on the magics' lines."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

from ..model import LANGUAGES
from . import cell_completion
from .option_line import CACHE, COMPARE, CONFIG, SAVE, complete, options_of

_LINE = re.compile(r"\s*%%?(?P<magic>\w+)(?P<rest>\s.*)$", re.DOTALL)
_TABLES = {
    **{entry.magic.removeprefix("%%"): options_of(language) for language, entry in LANGUAGES.items()},
    "ufunc_config": CONFIG,
    "ufunc_cache": CACHE,
    "ufunc_compare": COMPARE,
    "ufunc_save": SAVE,
}


def matcher(context: CompletionContext) -> SimpleMatcherResult:
    """Matcher of IPython's API version 2 (8.6 and later).

    ``complete_command`` hooks do not work: Jedi's Python names would be added to their answers, and the splitter cuts
    ``--parallel=2`` at the ``=``.
    """
    line = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
    match = _LINE.match(line)
    if match is None or match["magic"] not in _TABLES:
        return {"completions": []}
    fragment, words = complete(match["rest"], _TABLES[match["magic"]])
    return {
        "completions": [SimpleCompletion(word, type="option") for word in words],
        "matched_fragment": fragment,
        "ordered": True,
        # -I, -L and -S take file names: without a word of ours, other matchers may answer.
        "suppress": bool(words),
    }


matcher.matcher_api_version = 2  # type: ignore[attr-defined]
matcher.matcher_identifier = "ufunc_magic.options"  # type: ignore[attr-defined]
matcher.matcher_priority = 100  # type: ignore[attr-defined]


def install(shell: Any) -> None:
    """Add the matchers to ``shell``'s completer, once."""
    matchers = shell.Completer.custom_matchers
    matchers += [own for own in (matcher, cell_completion.matcher) if own not in matchers]


def remove(shell: Any) -> None:
    """Remove the matchers."""
    for own in (matcher, cell_completion.matcher):
        if own in shell.Completer.custom_matchers:
            shell.Completer.custom_matchers.remove(own)
