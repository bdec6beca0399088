"""What the lowerer of C understood, printed as C again and compiled, computes the same bits as the cell."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fuzz import grow
from support import CELLS
from ufunc_magic.ir import Constant, CType, FunctionIR, walk
from ufunc_magic.languages.c import lower, parse_cell

from .c_printer import HEAD, CPrinter, Unprintable, decayed, spelled

#: Cells without a meaning of their own: undefined results, functions named like the driver's, <tgmath.h>, a file.
SKIPPED = (
    "missing_return",
    "names_of_python_and_libc",
    "odd_names",
    "generic",
    "local_include",
    "header_in_angle_brackets",
)
GCC = shutil.which("gcc")
FLAGS = ("-O0", "-fwrapv", "-ffp-contract=off", "-w", "-std=gnu17")
#: Calls of each function.
TRIALS = 40

_MAIN = """
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
static unsigned long state = 1;
static unsigned long next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
static const double floats[] = {0, -0.0, 1, -1, 0.5, 2.5, -3.25, 1e-3, 7, 1e10, 100.25, 0.1, -0.7, 3, 5e-9, 12};
#define FLOAT floats[next() % 16]
static int differ(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
#define SIZE(a) (_Generic((a), long double: sizeof(a) > 10, default: 0) ? 10 : sizeof(a))
#define DIFFER(a, b) (differ(&(a), &(b), SIZE(a)) \\
    && !((a) != (a) && (b) != (b)))
static int run(int (*function)(int), int which) {
    int status = 0;
    fflush(stdout);
    if (fork() == 0) { alarm(5); _exit(function(which)); }
    wait(&status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}
"""


def driver(functions: Sequence[FunctionIR], small: str) -> str:
    """A program that calls each function and its copy with the same arguments, and prints which differ."""
    tests = []
    calls = []
    for f in functions:
        parameters = ", ".join(spelled(decayed(p.type)) for p in f.parameters) or "void"
        returns = f.returns[0] if f.returns else CType("v")
        tests.append(f"extern {spelled(returns, f'(*ufm_old_{f.name})({parameters})')};")
        lines = [f"static int test_{f.name}(int which) {{ state = 88172645463325252; int bad = 0;"]
        lines.append(f"for (int trial = 0; trial < {TRIALS}; trial++) {{")
        arguments: dict[int, list[str]] = {0: [], 1: []}
        buffers = []
        for k, p in enumerate(f.parameters):
            t = decayed(p.type)
            if t.kind == "a":
                element = p.type.element
                lines.append(f"static {spelled(element, f'a{k}[2][2048]')};")
                value = "FLOAT" if element.kind in "fc" else "next() % 9"
                lines.append(f"for (int j = 0; j < 2048; j++) a{k}[0][j] = a{k}[1][j] = {value};")
                buffers.append(k)
                for copy in (0, 1):
                    arguments[copy].append(f"(void *)a{k}[{copy}]")
            else:
                value = {"f": "FLOAT", "c": "FLOAT + FLOAT * I", "b": "next() % 2"}.get(t.kind, small)
                lines.append(f"{spelled(t, f'v{k}')} = {value};")
                for copy in (0, 1):
                    arguments[copy].append(f"v{k}")
        names = (f"(*ufm_old_{f.name})", f"ir_{f.name}")
        for copy in (0, 1):
            call = f"{names[copy]}({', '.join(arguments[copy])})"
            result = f"{spelled(f.returns[0], f'r{copy}')} = " if f.returns else ""
            lines.append(f"{result}{call};" if copy == 0 else f"if (which == 0) continue; {result}{call};")
        if f.returns:
            # The padding of a long double is no part of a number.
            padded = f.returns[0] == CType("c", 80)
            lines.append("bad |= r0 != r1 && !(r0 != r0 && r1 != r1);" if padded else "bad |= DIFFER(r0, r1);")
        lines += [f"for (int j = 0; j < 2048; j++) bad |= DIFFER(a{k}[0][j], a{k}[1][j]);" for k in buffers]
        lines.append("} return bad; }")
        tests.append("\n".join(lines))
        calls.append(f'if (run(test_{f.name}, 0) == 0 && run(test_{f.name}, 1)) puts("{f.name}");')
    return f"{_MAIN}\n" + "\n".join(tests) + "\nint main(void) {" + "\n".join(calls) + ' puts("done"); }'


def compared(source: str, folder: Path, *, small: str) -> tuple[int, list[str]]:
    """How many functions of a cell were compared, and what is wrong."""
    _, text = parse_cell(source, name="<stdin>", preprocess=preprocessed)
    program = lower(text)
    printed: list[FunctionIR] = []
    texts: list[str] = []
    printer = CPrinter(program)
    for name in program.functions:
        f = program.functions[name][0]
        try:
            spelled_all(f)
            trial = CPrinter(program)
            trial.text([name])
        except Unprintable:
            continue
        printed.append(f)
    if not printed:
        return 0, []
    texts.append(printer.text([f.name for f in printed]))
    old, new, both = folder / "old.c", folder / "new.c", folder / "both"
    old.write_text("\n".join([source, "", *(f"__typeof__({f.name}) *ufm_old_{f.name} = {f.name};" for f in printed)]))
    new.write_text("\n".join([HEAD, *texts, driver(printed, small)]))
    command = [GCC, *FLAGS, "-o", both, old, new, "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return len(printed), [result.stderr[:3000]]
    output = subprocess.run([both], capture_output=True, text=True, check=False, timeout=300).stdout.split()
    return len(printed), [name for name in output if name != "done"] + (
        [] if "done" in output else ["the driver crashed"]
    )


def preprocessed(text: str) -> str:
    return subprocess.run([GCC, "-E", "-x", "c", "-"], input=text, capture_output=True, text=True, check=True).stdout


def spelled_all(f: FunctionIR) -> None:
    for t in (*(p.type for p in f.parameters), *f.returns):
        spelled(decayed(t))
        if t.kind == "a":
            spelled(t.element)


@pytest.mark.skipif(GCC is None, reason="gcc compiles both")
@pytest.mark.parametrize("seed", range(3))
def test_lowered_functions_of_the_fuzzer_compute_the_same_bits(seed: int, tmp_path: Path) -> None:
    style = (grow.Style("fd"), grow.Style(), grow.Style(complex=True))[seed]
    functions = grow.functions(random.Random(seed).randrange(1 << 30), count=15, style=style)
    count, wrong = compared(grow.cell_of(functions, style), tmp_path, small="next() % 40 - 9")
    assert wrong == []
    assert count >= 15


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="gcc compiles both")
def test_lowered_functions_of_the_cells_compute_the_same_bits(tmp_path: Path) -> None:
    counts, faults = 0, {}
    for path in sorted((CELLS / "good").glob("*.c")):
        if path.stem in SKIPPED:
            continue
        count, wrong = compared(path.read_text(), tmp_path, small="next() % 2 + 1")
        counts += count
        if wrong:
            faults[path.name] = wrong
    assert faults == {}
    assert counts > 60


def test_text_that_is_no_c_is_lowered_all_the_same() -> None:
    """Whatever a user is in the middle of typing."""
    rng = random.Random(5)
    texts = [path.read_text(errors="replace") for path in sorted((CELLS / "good").glob("*.c*"))]
    for _ in range(400):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(len(text) + 1)
            other = rng.choice(texts)
            start = rng.randrange(len(other))
            text = text[:at] + other[start : start + rng.randint(0, 30)] + text[at + rng.randint(0, 12) :]
        parse_cell(text, cplus=rng.random() < 0.5)


def test_a_number_that_is_no_octal_is_opaque() -> None:
    program = lower(parse_cell("int f(int x) { return x + 0778; }")[1])
    assert [o.reason for o in program.functions["f"][0].find_opaque()] == ["cannot read the number `0778`"]


def test_a_condition_that_declares_is_a_block() -> None:
    text = "double f(double x) { if (double y = 2 * x; y > 1) return y; else if (int k = 3) return k; return x; }"
    program = lower(parse_cell(text, cplus=True)[1])
    assert list(program.functions["f"][0].find_opaque()) == []


def test_limits_of_numbers_are_constants() -> None:
    text = "double f(float x) { return std::numeric_limits<float>::max() * x + std::numeric_limits<int>::lowest(); }"
    program = lower(parse_cell(text, cplus=True)[1])
    values = [n.value for n in walk(program.functions["f"][0].body) if isinstance(n, Constant)]
    assert values == [3.4028234663852886e38, -(2**31)]
