"""Where a cell's loops are, by the IR."""

from __future__ import annotations

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
    assert lines["straight"] == lines["calls"] == ()
    assert lines["loops"] == (4, 5)
    assert len(lines["jumps"]) == 1
    assert [at.column for at in find_loops(functions["loops"][0].body)] == [4, 8]


def test_what_repeats_is_a_loop_a_recursion_or_calls_one() -> None:
    program = _program()
    names = {name for name, (function,) in program.functions.items() if repeats(program, function)}
    assert names == {"loops", "jumps", "calls", "again_and_again"}
