"""The option line of a magic: read, explained and completed from `ufunc_magic.model.TABLE`.  Pure.

``argparse`` does not fit: it refuses ``-c -O3`` and ``--signature '(n)->()'`` after a bare
``--parallel``, its messages name no nearest spelling, and its help changes with Python's version.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import LANGUAGES, TABLE, Option, OptionError, Options

HELP_FLAGS = ("-h", "--help")

#: Flag as typed -> its row and the value that it stands for when it has none of its own.
_FLAGS: dict[str, tuple[Option, Any]] = {flag: (option, option.const) for option in TABLE for flag in option.flags}
#: A remembered option must be possible to turn off for one cell.
_FLAGS |= {
    f"--no-{flag[2:]}": (option, getattr(Options(), option.dest))
    for option in TABLE
    for flag in option.flags
    if flag.startswith("--") and option.action in ("flag", "optional") and option.dest not in ("time", "guard")
}


@dataclass(frozen=True)
class _Word:
    """One option of the line: its row, what follows it (None: nothing), what it means bare."""

    flag: str
    option: Option
    bare: Any
    value: str | None


def parse(line: str, *, language: str = "c") -> dict[str, Any]:
    """Field of ``Options`` -> value, for what stands on ``line``.

    A value may stand after ``=``, after a space, or (one-letter options) right behind the letter.
    One-letter options without a value may stand together: ``-fa``.  The key ``"help"`` is in the
    answer when help was asked for.  ``language`` says whose help a message refers to; the options of
    other languages are read too, for `ufunc_magic.model.options.refuse` to say what is wrong with them.

    Raises
    ------
    OptionError
        For a word that is no option (with the nearest right spelling), a missing or superfluous
        value, a value of the wrong kind, an open quote.
    """
    values: dict[str, Any] = {}
    words = split(line)
    while words:
        word = words.pop(0)
        if word in HELP_FLAGS:
            values["help"] = True
            continue
        if _stand_together(word):
            words[:0] = [f"-{letter}" for letter in word[1:]]
            continue
        option_word = _find(word, words, language)
        dest = option_word.option.dest
        if option_word.option.action == "append":
            values[dest] = (*values.get(dest, ()), _value(option_word))
        else:
            values[dest] = _value(option_word)
    return values


def split(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=True)
    except ValueError as error:
        raise OptionError(f"{line.strip()!r} cannot be split into words: {error}.", remedy="Close the quote.") from None


def _stand_together(word: str) -> bool:
    letters = [f"-{letter}" for letter in word[1:]]
    return (
        word not in _FLAGS
        and len(letters) > 1
        and word[0] == "-"
        and all(f in _FLAGS and _FLAGS[f][0].action == "flag" for f in letters)
    )


def _find(word: str, rest: list[str], language: str) -> _Word:
    """Read ``word`` as an option, taking its value from ``rest`` when it stands there."""
    flag, equals, value = word.partition("=")
    if flag not in _FLAGS and len(word) > 2 and word[:2] in _FLAGS and _takes_value(word[:2]):
        flag, equals, value = word[:2], "=", word[2:]
    if flag not in _FLAGS:
        raise _unknown(word, flag, language)
    option, bare = _FLAGS[flag]
    if equals:
        return _Word(flag, option, bare, value)
    if _takes_value(flag):
        if not rest:
            raise OptionError(f"{flag} stands without its value.", remedy=f"Write {option.example}")
        return _Word(flag, option, bare, rest.pop(0))
    return _Word(flag, option, bare, None)


def _takes_value(flag: str) -> bool:
    return _FLAGS[flag][0].action in ("value", "append")


def _unknown(word: str, flag: str, language: str) -> OptionError:
    if not flag.startswith("-"):
        return OptionError(f"{word!r} is not an option.", remedy="The code belongs in the lines below the first.")
    offered = [f for f in _FLAGS if _is_for(f, language)]
    near = difflib.get_close_matches(flag, offered, n=1, cutoff=0.6)
    remedy = f"Did you mean {near[0]}?" if near else f"{LANGUAGES[language][1]}? lists the options."
    if not near and not flag.startswith("--"):
        remedy = f"What is meant for the compiler goes behind -c: -c={word}"
    return OptionError(f"{flag} is not an option.", remedy=remedy)


def _is_for(flag: str, language: str) -> bool:
    """Whether an option belongs to a language's magic; all do where no language is given."""
    return flag in HELP_FLAGS or not language or language in (_FLAGS[flag][0].languages or LANGUAGES)


def _value(word: _Word) -> Any:
    if word.value is None:
        return word.bare
    if word.option.action == "flag" or word.flag.startswith("--no-"):
        raise OptionError(f"{word.flag} takes no value, but {word.value!r} was given.", remedy=f"Write {word.flag}")
    if word.option.choices and word.value not in word.option.choices:
        near = difflib.get_close_matches(word.value, word.option.choices, n=1) or word.option.choices
        message = f"{word.flag} {word.value} is not one of {', '.join(word.option.choices)}."
        raise OptionError(
            message, remedy=f"Did you mean {near[0]}?" if len(near) == 1 else f"Write {word.option.example}"
        )
    if word.option.kind is not int:
        return word.value
    try:
        return int(word.value.replace("_", ""))
    except ValueError:
        message = f"{word.flag} {word.value!r} is not a whole number."
        raise OptionError(message, remedy=f"Write {word.option.example}") from None


def explain(*, language: str = "") -> str:
    """The option list of the help text: flags, what they do, choices, one example each.

    With ``language``, only the options that its cells can have.
    """
    lines = []
    for option in (o for o in TABLE if _is_for(o.flags[0], language)):
        metavar = option.metavar or ("|".join(option.choices) if option.choices else "")
        value = {"value": f" {metavar}", "append": f" {metavar}", "optional": f"[={metavar}]"}.get(option.action, "")
        lines.append(f"  {', '.join(option.flags)}{value}")
        lines.append(f"      {option.help}")
        if option.choices and option.metavar:
            lines.append(f"      One of {', '.join(option.choices)}.")
        lines.append(f"      Example: {option.example}")
    lines += ["  --no-<flag>", "      Turn a remembered flag off for this cell.", "      Example: --no-strict"]
    lines += ["  -h, --help", "      Show this text.", "      Example: -h"]
    return "\n".join(lines)


def complete(text: str, *, language: str = "") -> tuple[str, list[str]]:
    """What could stand next on an option line.

    Parameters
    ----------
    text : str
        The line after the magic's name, up to the cursor.
    language : str
        Offer only what its cells can have.

    Returns
    -------
    fragment, matches : str, list of str
        The end of ``text`` that the matches replace.
    """
    before = text.split()
    fragment = "" if not before or text[-1].isspace() else before.pop()
    flag, equals, value = fragment.partition("=")
    if equals:
        return value, _values(flag, value)
    if before and before[-1] in _FLAGS and _takes_value(before[-1]):
        return fragment, _values(before[-1], fragment)
    if fragment and not fragment.startswith("-"):
        return fragment, []
    used = {word.partition("=")[0] for word in before}
    flags = [f for f in (*_FLAGS, *HELP_FLAGS) if f.startswith(fragment) and _is_for(f, language)]
    return fragment, [f for f in flags if _offered(f, fragment, used)]


def _offered(flag: str, fragment: str, used: set[str]) -> bool:
    if flag in HELP_FLAGS:
        return True
    option, _ = _FLAGS[flag]
    if flag not in option.flags and not fragment.startswith("--no"):
        return False
    return option.action == "append" or not used.intersection(option.flags)


def _values(flag: str, start: str) -> list[str]:
    if flag not in _FLAGS:
        return []
    option, _ = _FLAGS[flag]
    if option.dest in _LISTS:
        # Several stand in one word; the last of them is being typed.
        done, comma, last = start.rpartition(",")
        return [f"{done}{comma}{word}" for word in _LISTS[option.dest] if word.startswith(last)]
    words = option.choices or {"parallel": ("2", "4", "8"), "size": ("1000", "100000", "1000000")}.get(option.dest, ())
    return [word for word in words if word.startswith(start)]


def complete_flags(text: str, flags: Sequence[str]) -> tuple[str, list[str]]:
    """The same for a line magic that has these flags alone; nothing behind a ``--``."""
    before = text.split()
    fragment = "" if not before or text[-1].isspace() else before.pop()
    if not fragment.startswith("-") or "--" in before:
        return fragment, []
    used = {word.partition("=")[0] for word in before}
    return fragment, [flag for flag in (*flags, *HELP_FLAGS) if flag.startswith(fragment) and flag not in used]


#: What stands in the lists that options take.
_LISTS = {
    "types": ("f4", "f8", "f2", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "longdouble"),
    "vs": ("numpy", "numba", "numexpr", "cython", "vectorize"),
    "show": ("asm", "vec", "c"),
}

#: Flags of ``%ufunc_compare``, and whether a value follows.
COMPARE_FLAGS = {"--sizes": True, "--ref": True, "--budget": True, "--strict": False, "--plot": False}


def spelled(values: Mapping[str, Any]) -> Sequence[str]:
    """Options as they would be typed: ``{"parallel": 2, "time": False}`` -> ``["--parallel=2", "--no-time"]``."""
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
