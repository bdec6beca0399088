"""How the time of a cell grows with its functions and with the lines of one.

    python benchmarks/growth.py             up to 300 functions, some minutes
    python benchmarks/growth.py 1000        up to 1,000
    python benchmarks/growth.py integers    cells of integer functions against gcc alone; the other figures stay

CPU seconds, which other work on the machine changes little: of the steps that run in this process, each alone, and of
the whole compilation with the compilers that it started.  The result goes to benchmarks/results/growth.json.
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-growth-")

import machine
import psutil

import ufunc_magic as um
from ufunc_magic import codegen
from ufunc_magic.cells import function_entries, operands
from ufunc_magic.languages.c.parser import parse_cell
from ufunc_magic.model import make_options

RESULTS = Path(__file__).parent / "results" / "growth.json"
Result = TypeVar("Result")


def c_functions(count: int) -> str:
    """So many small functions."""
    functions = (
        f"double f{n}(double x, double y) {{ return x > 1 ? exp(-x) * y + {n} : log(1 + x*x); }}\n"
        for n in range(count)
    )
    return "#include <math.h>\n" + "".join(functions)


def c_lines(count: int) -> str:
    """One function of so many lines."""
    lines = (
        f"    s = s*x + y*{n}.25;\n" if n % 10 else f"    if (s > {n}) s -= sqrt(x*x + {n});\n" for n in range(count)
    )
    return f"#include <math.h>\ndouble g(double x, double y) {{\n    double s = 1;\n{''.join(lines)}    return s;\n}}\n"


def cython_functions(count: int) -> str:
    """So many small functions."""
    return "from libc.math cimport exp\n\n" + "\n\n".join(
        f"cdef double g{n}(double x, double y) noexcept nogil:\n    return exp(-x) * y + {n}\n" for n in range(count)
    )


#: Integer code as libraries have it: checksums, digits, bits, dates, random numbers; ``{n}`` is the function's number.
INTEGERS = """
unsigned mix{n}(unsigned x, unsigned seed) {{ x ^= seed + {n}; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u;
    return x ^ x >> 16; }}
int digits{n}(int n, int base) {{ int k = {n}; if (base < 2) base = 2; while (n) {{ n /= base; k++; }} return k; }}
long gcd{n}(long a, long b) {{ while (b) {{ long t = a % b; a = b; b = t; }} return a + {n}; }}
int bits{n}(unsigned long x) {{ int c = {n}; for (; x; x &= x - 1) c++; return c; }}
int days{n}(int y, int m) {{ static const int days[] = {{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}};
    if (m < 1 || m > 12) return {n};
    return days[m - 1] + (m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0))); }}
unsigned long power{n}(unsigned long b, unsigned e) {{ unsigned long r = 1;
    while (e) {{ if (e & 1) r = r * b % 1000000007ul; b = b * b % 1000000007ul; e >>= 1; }} return r + {n}; }}
unsigned char reverse{n}(unsigned char b) {{ unsigned char r = 0;
    for (int i = 0; i < 8; i++) {{ r = r << 1 | (b & 1); b >>= 1; }} return r ^ {n} % 8; }}
unsigned crc{n}(unsigned crc, unsigned char byte) {{ crc ^= byte + {n};
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1)); return crc; }}
unsigned long morton{n}(unsigned x, unsigned y) {{ unsigned long r = {n};
    for (int i = 0; i < 32; i++) r |= (unsigned long)(x >> i & 1) << 2 * i | (unsigned long)(y >> i & 1) << (2 * i + 1);
    return r; }}
int root{n}(int n) {{ int r = 0, b = 1 << 30; if (n < 0) return -1; while (b > n) b >>= 2;
    while (b) {{ if (n >= r + b) {{ n -= r + b; r = (r >> 1) + b; }} else r >>= 1; b >>= 2; }} return r + {n}; }}
unsigned blend{n}(unsigned a, unsigned b, unsigned t) {{ unsigned r = {n};
    for (int s = 0; s < 32; s += 8) {{ unsigned x = a >> s & 255, y = b >> s & 255;
        r |= ((x * (255 - (t & 255)) + y * (t & 255)) / 255 & 255) << s; }} return r; }}
short saturated{n}(short a, short b) {{ int s = a + b - {n}; return s > 32767 ? 32767 : s < -32768 ? -32768 : s; }}
"""


def integer_functions(count: int) -> str:
    """So many small functions of integers."""
    kinds = re.findall(r"(?m)^\w(?:.|\n)*?}}$", INTEGERS)
    return "".join(kinds[n % len(kinds)].format(n=n) + "\n" for n in range(count))


def against_gcc(text: str) -> dict[str, float]:
    """CPU seconds of gcc for the cell alone, of compiling it here, and of its table; the medians of three turns."""

    def used() -> tuple[float, float]:
        # In microseconds, but of programs that still run, which the system reports in hundredths of a second.
        own, waited = (resource.getrusage(who)[:2] for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        running = sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))
        return sum(own), sum(own) + sum(waited) + running

    def spent(work: Callable[[], Result]) -> tuple[Result, float, float]:
        before = used()
        result = work()
        return result, *(b - a for a, b in zip(before, used(), strict=True))

    gcc = ["gcc", "-O2", "-x", "c", "-c", "-", "-o", os.devnull]
    turns = []
    for turn in range(3):
        cell = f"{text}// {turn}\n"
        alone = spent(lambda cell=cell: subprocess.run(gcc, input=cell, text=True, check=True))[2]
        build, own, compiling = spent(lambda cell=cell: um.compile_c(cell))
        _, table_own, table = spent(lambda build=build: str(build.report()))
        turns.append((alone, compiling, own, table, table_own))
    alone, compiling, own, table, table_own = (round(statistics.median(one), 3) for one in zip(*turns, strict=True))
    aim = round(5 * alone + 0.02 * len(build), 2)
    return {
        "gcc": alone,
        "compile": compiling,
        "of it Python": own,
        "table": table,
        "of it Python ": table_own,
        "aim": aim,
    }


def steps(text: str) -> dict[str, float]:
    """CPU seconds of what is done in this process."""
    seconds: dict[str, float] = {}

    def timed(step: str, call: Callable[[], Result]) -> Result:
        start = time.thread_time()
        result = call()
        seconds[step] = round(time.thread_time() - start, 4)
        return result

    options = make_options({})
    unit, tree = timed("parse", lambda: parse_cell(text, name="cell"))
    signatures, *_ = timed("roles", lambda: operands.plan_operands(unit, options=options, structures=True))
    chosen = function_entries.pick_representatives(signatures)
    timed("Python forms", lambda: function_entries.write_python_forms(tree, chosen, unit, options))
    timed(
        "unit",
        lambda: codegen.translate(
            text,
            unit=unit,
            signatures=signatures,
            exports=codegen.Exports(),
            options=options,
            name="cell",
            math=codegen.VectorMath(("exp", "log")),
        ),
    )
    return seconds


def whole(compiled: Callable[[str], um.Build], text: str) -> dict[str, float]:
    """What a compilation takes, the guard's part of it, and one loading of it."""
    this, start = psutil.Process(), time.perf_counter()
    before = sum(this.cpu_times())
    build = compiled(text)
    cpu = sum(this.cpu_times()) - before
    parts = {step: round(build.seconds[step], 4) for step in ("guard", "load") if step in build.seconds}
    return {"whole, CPU": round(cpu, 2), "whole, wall": round(time.perf_counter() - start, 2), **parts}


def kinds(count: int) -> dict[str, tuple[Callable[..., um.Build], str, str]]:
    """Cells of so many functions, with what compiles them and begins a comment."""
    plain = c_functions(count)
    return {
        "C": (um.compile_c, plain, "//"),
        "C with a variable": (
            um.compile_c,
            f"{plain}static int calls;\nint counted(int n) {{ return calls += n; }}\n",
            "//",
        ),
        "C++": (functools.partial(um.compile_c, cplus=True), f"#include <vector>\n{plain}", "//"),
        "Cython, cdef": (um.compile_cython, cython_functions(count), "#"),
        "Cython, def": (
            um.compile_cython,
            cython_functions(count).replace("cdef double", "def").replace(" noexcept nogil", ""),
            "#",
        ),
    }


def in_parts_or_one(count: int) -> dict[str, float]:
    """Cells on all processors, and as one unit each, which an option for the compiler makes of them; in turns."""
    times: dict[str, list[float]] = {}
    for turn in range(3):
        for kind, (compiled, text, comment) in kinds(count).items():
            for form, options in (("parts", {}), ("one unit", {"compile_args": ["-DONE_UNIT"]})):
                seconds = whole(functools.partial(compiled, **options), f"{text}{comment} {turn}\n")
                for name in ("whole, CPU", "whole, wall"):
                    times.setdefault(f"{kind}, {form}: {name}", []).append(seconds[name])
    return {name: min(values) for name, values in times.items()}


def main() -> None:
    integers = sys.argv[1:] == ["integers"]
    most = int(sys.argv[1]) if len(sys.argv) > 1 and not integers else 300
    um.compile_c("double warm(double x) { return x; }")
    um.compile_cython("def warm(double x):\n    return x\n")
    found: dict[str, Any] = {"machine": machine.describe("cython", "ufunc_magic"), "load": os.getloadavg()[0]}
    if integers:
        found = json.loads(RESULTS.read_text()) | {"machine of integer functions": found["machine"]}
    counts = [n for n in (1, 10, 100, 300, 1000) if n <= most and not integers]

    def measured(name: str, count: int, seconds: dict[str, float]) -> None:
        found.setdefault(name, {})[str(count)] = seconds
        print(name, count, seconds, flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")

    um.compile_c("double warm_too(double x) { return 2 * x; }").report(time=0.1)
    for count in (1, 25, 81):
        measured("integer functions", count, against_gcc(integer_functions(count)))
    for count in counts:
        text = c_functions(count)
        measured("C, functions", count, steps(text) | whole(um.compile_c, text))
        if 1 < count < 1000:
            measured("functions in parts or one unit", count, in_parts_or_one(count))
    for count in () if integers else (10, 100, 1000, 3000, 10000):
        text = c_lines(count)
        measured("C, lines of a function", count, steps(text) | whole(um.compile_c, text))
    for count in counts:
        measured("Cython, functions", count, whole(um.compile_cython, cython_functions(count)))


if __name__ == "__main__":
    main()
