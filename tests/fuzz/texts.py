"""Text that is almost a cell, an option line, or neither."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from ufunc_magic.model import TABLE

__all__ = ["cut", "deep", "good_cells", "mixed", "mutated", "option_line", "shuffled"]

_PIECES = """
    { } ( ) [ ] ; , * & ... # \\ ' " /* */ // ?: -> :: < > = == += ++ 0 1 0x 1e 1.5f 'a' "s" \\\n \t \n \r\n \0 \ufeff
    é 🙂 % $ @ `
    double float int void const static inline extern struct union enum typedef return if else for while do switch case
    break goto sizeof restrict volatile _Complex _Bool _Generic __attribute__((x)) asm unsigned long short char signed
    x y n f main T I template<class\u00a0T> namespace class operator
    #define #undef #include #if #ifdef #else #elif #endif #line #pragma #error // ufunc: (n)->() inout=x identity=0
""".split(" ")  # so that white space is a piece, too


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


def deep(depth: int) -> dict[str, str]:
    """Legal or nearly legal cells that are nested so deep, by what they are made of."""
    many = "1" * depth
    return {
        "parentheses": f"double f(double x) {{ return {'(' * depth}x{')' * depth}; }}",
        "sum": f"double f(double x) {{ return x{'+x' * depth}; }}",
        "blocks": f"double f(double x) {{ {'if (x) {' * depth}x++;{'}' * depth} return x; }}",
        "braces": f"double f(double x) {{ {'{' * depth}{'}' * depth} return x; }}",
        "choices": f"double f(double x) {{ return {'x ? 1 : ' * depth}2; }}",
        "signs": f"double f(double x) {{ return {'- ' * depth}x; }}",
        "calls": f"double g(double x) {{ return x; }} double f(double x) {{ return {'g(' * depth}x{')' * depth}; }}",
        "commas": f"double f(double x) {{ return ({'x,' * depth}x); }}",
        "assignments": f"double f(double x) {{ {'x=' * depth}1; return x; }}",
        "stars": f"double f(double {'*' * depth}x) {{ return 0; }}",
        "dimensions": f"double f(double x{'[2]' * depth}) {{ return 0; }}",
        "macros": "".join(f"#define m{i} m{i + 1}\n" for i in range(depth)) + "double f(double x) { return m0; }",
        "typedefs": "".join(f"typedef t{i} t{i + 1};" for i in range(depth))
        + f"t{depth} f(t{depth} x) {{ return x; }}",
        "conditions": "#if 1\n" * depth + "double f(double x) { return x; }\n" + "#endif\n" * depth,
        "namespaces": "namespace a {" * depth + "double f(double x) { return x; }" + "}" * depth,
        "digits": f"double f(double x) {{ return x + {many} + 0x{many} + 0{many} + 1e{many}; }}",
        "size": f"double f(const double x[{many}]) {{ return x[0]; }}",
        "core size": f"// ufunc: ({many})->()\ndouble f(const double *x) {{ return x[0]; }}",
    }


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
