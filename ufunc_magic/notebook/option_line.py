"""Parses, explains, completes and writes the option line of a magic, from a table of `ufunc_magic.model.Option`.

``argparse`` does not fit: it rejects ``-c -O3`` and ``--signature '(n)->()'`` after a bare
``--parallel``, its messages name no nearest spelling, and its help changes with Python's version.
"""

from __future__ import annotations

import difflib
import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..model import TABLE, Option, OptionError, Options

HELP_FLAGS = ("-h", "--help")

Table = tuple[Option, ...]

#: Options of ``%ufunc_config``, ``%ufunc_cache``, ``%ufunc_compare`` and ``%ufunc_save``.
CONFIG: Table = (*TABLE, Option(("--reset",), "reset", "Remove all default options.", "--reset", action="flag"))
CACHE: Table = (
    Option(("--clear",), "clear", "Remove everything.", "--clear", action="flag"),
    Option(("--prune",), "prune", "Remove the least recently used code until SIZE is left.", "--prune 500M"),
)
COMPARE: Table = (
    Option(("--sizes",), "sizes", "Measure the time per element for these numbers of elements.", "--sizes 10:1e7"),
    Option(("--ref",), "ref", "The function with the expected results; the first one by default.", "--ref f"),
    Option(("--strict",), "strict", "Require bitwise equal results.", "--strict", action="flag"),
    Option(("--budget",), "budget", "Time limit in seconds.", "--budget 5", kind=float),
    Option(("--plot",), "plot", "Also plot with Matplotlib.", "--plot", action="flag"),
)
SAVE: Table = (
    Option(("-f", "--force"), "force", "Replace the folder that an earlier %ufunc_save wrote.", "-f", action="flag"),
    Option(
        ("--source-only",),
        "source_only",
        "Write no machine code: every machine compiles the source.",
        "--source-only",
        action="flag",
    ),
)


def list_options(language: str) -> Table:
    """The options that cells of a language can have."""
    return tuple(option for option in TABLE if language in (option.languages or (language,)))


@functools.cache
def list_flags(table: Table) -> dict[str, tuple[Option, Any]]:
    """Flag as typed -> its row, and the value of a flag without a value of its own."""
    flags = {flag: (option, option.const) for option in table for flag in option.flags}
    negated = {option.dest for option in table for flag in option.flags if flag.startswith("--no-")}
    # A default option can be turned off for one cell.
    return flags | {
        f"--no-{flag[2:]}": (option, getattr(Options(), option.dest))
        for flag, (option, _) in flags.items()
        if flag.startswith("--")
        and option in TABLE
        and option.action in ("flag", "optional")
        and option.dest not in negated
    }


def parse(line: str | Sequence[str], table: Table = TABLE, *, others: list[str] | None = None) -> dict[str, Any]:
    """Parse ``line`` into a mapping from an option's destination to its value.

    A value follows ``=``, a space, or directly a one-letter option.  One-letter options without a value may be
    combined: ``-fa``.  The key ``"help"`` is in the result if the line asks for help.  Words that are no options are
    appended to ``others``.  Options of all languages are accepted; `ufunc_magic.model.options.refuse` rejects the
    wrong ones.

    Raises
    ------
    OptionError
        For a word that is no option (with the nearest right spelling), a missing or superfluous
        value, a value of the wrong kind, an open quote.
    """
    flags = list_flags(table)
    values: dict[str, Any] = {}
    words = split(line) if isinstance(line, str) else list(line)
    while words:
        word = words.pop(0)
        flag, equals, text = word.partition("=")
        letter = word[:2]
        if word in HELP_FLAGS:
            values["help"] = True
        elif others is not None and not word.startswith("-"):
            others.append(word)
        elif flag in flags:
            option, value = flags[flag]
            may = option.action == "optional" and not flag.startswith("--no-")
            if not equals and _takes_value(option) and not words:
                raise OptionError(f"{flag} needs a value.", remedy=f"Write {option.example}")
            if not equals and (_takes_value(option) or (may and words and not words[0].startswith("-"))):
                equals, text = "=", words.pop(0)
            if equals:
                value = _read_value(flag, option, text)
            values[option.dest] = (*values.get(option.dest, ()), value) if option.action == "append" else value
        elif letter in flags and _takes_value(flags[letter][0]):
            words[:0] = [f"{letter}={word[2:]}"]
        elif _are_combined(word, flags):
            words[:0] = [f"-{one}" for one in word[1:]]
        else:
            raise _make_error(flag, table)
    return values


def _are_combined(word: str, flags: Mapping[str, tuple[Option, Any]]) -> bool:
    letters = [f"-{letter}" for letter in word[1:]]
    return word[:1] == "-" and len(letters) > 1 and all(f in flags and flags[f][0].action == "flag" for f in letters)


def split(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=True)
    except ValueError as error:
        raise OptionError(f"{line.strip()!r} cannot be split into words: {error}.", remedy="Close the quote.") from None


def _takes_value(option: Option) -> bool:
    return option.action in ("value", "append")


def _make_error(flag: str, table: Table) -> OptionError:
    if not flag.startswith("-"):
        remedy = "Write the code below the first line." if table is TABLE else "-h lists all options."
        return OptionError(f"{flag!r} is not an option.", remedy=remedy)
    if not flag.startswith("--") and "-c" in list_flags(table):
        remedy = f"To pass it to the compiler, write -c={flag}"
    else:
        near = difflib.get_close_matches(flag, list_flags(table), n=1, cutoff=0.6)
        remedy = f"Did you mean {near[0]}?" if near else "-h lists all options."
    return OptionError(f"{flag} is not an option.", remedy=remedy)


def _read_value(flag: str, option: Option, text: str) -> Any:
    if option.action == "flag" or flag.startswith("--no-"):
        raise OptionError(f"{flag} takes no value, but the line says {text!r}.", remedy=f"Write {flag}")
    if option.choices and text not in option.choices:
        near = difflib.get_close_matches(text, option.choices, n=1)
        message = f"{flag} {text} is not one of {', '.join(option.choices)}."
        raise OptionError(message, remedy=f"Did you mean {near[0]}?" if near else f"Write {option.example}")
    try:
        return text if option.kind is str else option.kind(text.replace("_", ""))
    except ValueError:
        number = "a whole number" if option.kind is int else "a number"
        raise OptionError(f"{flag} {text!r} is not {number}.", remedy=f"Write {option.example}") from None


def explain(table: Table) -> str:
    """The option list of a help text: flags, what they do, choices, one example each."""
    lines = []
    for option in table:
        flags = " ".join([", ".join(option.flags), "|".join(option.choices)]).rstrip()
        lines += [f"  {flags}", f"      {option.help}", f"      Example: {option.example}"]
    if table[0] in TABLE:
        lines += ["  --no-<flag>", "      Turn off a default option for this cell.", "      Example: --no-strict"]
    return "\n".join([*lines, "  -h, --help", "      Show this help."])


def complete(text: str, table: Table = TABLE) -> tuple[str, list[str]]:
    """Completions for an option line.

    Parameters
    ----------
    text : str
        The line after the magic's name, up to the cursor.
    table : tuple of Option

    Returns
    -------
    fragment, matches : str, list of str
        The end of ``text`` that the matches replace.
    """
    flags = list_flags(table)
    before = text.split()
    fragment = "" if not before or text[-1].isspace() else before.pop()
    flag, equals, value = fragment.partition("=")
    if equals:
        return value, _complete_value(flags, flag, value)
    if before and before[-1] in flags and _takes_value(flags[before[-1]][0]):
        return fragment, _complete_value(flags, before[-1], fragment)
    if "--" in before or (fragment and not fragment.startswith("-")):
        return fragment, []
    used = {flags[flag][0].dest for word in before if (flag := word.partition("=")[0]) in flags}
    return fragment, [
        flag
        for flag in (*flags, *HELP_FLAGS)
        if flag.startswith(fragment)
        and (flag in HELP_FLAGS or flags[flag][0].action == "append" or flags[flag][0].dest not in used)
        and (not flag.startswith("--no-") or fragment.startswith("--no") or flag in flags[flag][0].flags)
    ]


def _complete_value(flags: Mapping[str, tuple[Option, Any]], flag: str, start: str) -> list[str]:
    option = flags[flag][0] if flag in flags else None
    if option is None:
        return []
    # One word may contain several values; the last one is being typed.
    done, comma, last = start.rpartition(",") if option.dest in _LISTS else ("", "", start)
    return [f"{done}{comma}{word}" for word in _LISTS.get(option.dest, option.choices) if word.startswith(last)]


#: The values of options that take lists.
_LISTS = {
    "types": ("f4", "f8", "f2", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "longdouble"),
    "vs": ("numpy", "numba", "numexpr", "cython", "vectorize"),
    "show": ("asm", "vec", "c"),
}


def spell(values: Mapping[str, Any]) -> Sequence[str]:
    """Write options as users type them: ``{"parallel": 2, "time": False}`` -> ``["--parallel=2", "--no-time"]``."""
    words: list[str] = []
    for option in TABLE:
        if option.dest not in values:
            continue
        value = values[option.dest]
        flag = next((f for f in option.flags if f.startswith("--")), option.flags[0])
        match option.action:
            case "flag":
                words += [flag] if value == option.const else []
            case "optional":
                words += [flag] if value == option.const else [f"{flag}={value}"] if value else []
            case "append":
                words += [f"{flag}={shlex.quote(word)}" for word in value]
            case _:
                words += [f"{flag}={shlex.quote(str(value))}"]
    return words
