"""Where a cell's loops are, by the IR."""

from __future__ import annotations

import pytest

from ufunc_magic.ir import Program, find_loop_lines, find_loops, repeats
from ufunc_magic.languages.c import lower, parse_cell

CELL = """\
double straight(double x) { do { x += 1; } while (0); return x; /* for (;;) */ }
double loops(double x) {
    const char *text = "while (1)";
    for (int i = 0; i < 9; i++)
        while (x > 2)
            x /= 2;
    return x + text[0];
}
double jumps(double x) {
    again: x -= 1;
    if (x > 0) goto again;
    return x;
}
double calls(double x) { return loops(x) + straight(x); }
double again_and_again(double x) { return x < 1 ? x : again_and_again(x - 1); }
"""


def _program() -> Program:
    return lower(parse_cell(CELL)[1])


def test_loops_are_those_of_the_code_not_of_comments_strings_and_macros() -> None:
    functions = _program().functions
    lines = {name: find_loop_lines(several) for name, several in functions.items()}
    assert lines["straight"] == lines["calls"] == {}
    assert lines["loops"] == {4: None, 5: ""}
    assert len(lines["jumps"]) == 1
    assert [at.column for at in find_loops(functions["loops"][0].body)] == [4, 8]


def test_what_repeats_is_a_loop_a_recursion_or_calls_one() -> None:
    program = _program()
    names = {name for name, (function,) in program.functions.items() if repeats(program, function)}
    assert names == {"loops", "jumps", "calls", "again_and_again"}


@pytest.mark.parametrize(
    ("loop", "exits"),
    [
        ("for (i = 0; i < n; i++) if (a[i] > 1) break;", "a `break`"),
        ("for (i = 0; i < n; i++) if (a[i] > 1) return 1;", "a `return`"),
        ("for (i = 0; i < n; i++) { if (a[i] > 1) break; if (a[i] < 0) return 1; }", "a `break` or a `return`"),
        ("for (i = 0; i < n; i++) { if (a[i] > 1) goto end; }", "a `goto`"),
        ("for (i = 0; i < n && a[i] > 1; i++) ;", "its second condition"),
        ("while (n > 0 && a[n] > 1) n--;", "its second condition"),
        ("for (i = 0; i < n; i++) { switch (n) { case 1: s++; break; case 2: s--; break; default: s = 0; } }", ""),
        ("for (i = 0; i < n; i++) { if (a[i] > 1) continue; s++; }", ""),
        ("for (i = 0; i < n; i++) { while (1) { if (s++ > 1) break; } }", None),
        ("for (i = 0; i < n; i++) { int j; for (j = 0; j < i; j++) s += j; }", None),
        ("for (i = 0; i < n; i++) { switch (n) { case 1: return 2; } }", "a `return`"),
    ],
)
def test_a_loop_knows_what_ends_it_early(loop: str, exits: str | None) -> None:
    """All loops of a line are one entry."""
    source = f"int f(const double *a, int n) {{ int i, s = 0;\n{loop}\nend: return s; }}"
    (function,) = lower(parse_cell(source)[1]).functions["f"]
    assert find_loop_lines([function])[2] == exits
