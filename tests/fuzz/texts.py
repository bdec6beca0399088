"""Text that is almost a cell, an option line, or neither."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from ufunc_magic.options import TABLE

__all__ = ["cut", "mixed", "mutated", "option_line", "shuffled"]

_PIECES = """
    { } ( ) [ ] ; , * & ... # \\ ' " /* */ // ?: -> :: < > = == += ++ 0 1 0x 1e 1.5f 'a' "s" \\\n \t \n \r\n \0 \ufeff é 🙂 % $ @ `
    double float int void const static inline extern struct union enum typedef return if else for while do switch case
    break goto sizeof restrict volatile _Complex _Bool _Generic __attribute__((x)) asm unsigned long short char signed
    x y n f main T I template<class\u00a0T> namespace class operator
    #define #undef #include #if #ifdef #else #elif #endif #line #pragma #error // ufunc: (n)->() inout=x identity=0
""".split(" ")


def cut(text: str, *, step: int) -> Iterator[str]:
    """The text up to every ``step``-th character."""
    yield from (text[:end] for end in range(0, len(text), step))


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few places taken out, doubled, swapped or replaced."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 2, 5, 20)))
        piece = text[start:end]
        change = rng.choice(("", piece * 2, piece[::-1], rng.choice(_PIECES), piece.swapcase(), piece * 50))
        text = text[:start] + change + text[end:]
    return text


def shuffled(text: str, rng: random.Random) -> str:
    """Its lines in another order."""
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def mixed(rng: random.Random) -> str:
    """Pieces of C in no order."""
    return rng.choice(("", " ")).join(rng.choice(_PIECES) for _ in range(rng.randint(0, 60)))


def option_line(rng: random.Random) -> str:
    """Options, values and debris."""
    flags = [flag for option in TABLE for flag in option.flags]
    values = [
        "",
        "0",
        "-1",
        "f4,f8",
        "x",
        "'a b'",
        '"',
        "'",
        "=",
        "99999999999999999999999",
        "--",
        "-",
        "(n)->()",
        "é",
        "\0",
        "none",
        "\\",
    ]
    words = []
    for _ in range(rng.randint(0, 6)):
        flag = rng.choice(flags)
        words.append(
            rng.choice(
                (
                    flag,
                    f"{flag}={rng.choice(values)}",
                    f"{flag} {rng.choice(values)}",
                    rng.choice(values),
                    flag[:-1],
                    flag * 2,
                )
            )
        )
    return " ".join(words)


def good_cells() -> list[str]:
    """The texts of tests/cells/good."""
    folder = Path(__file__).parent.parent / "cells" / "good"
    return [path.read_bytes().decode() for path in sorted(folder.glob("*.c*"))]
