"""How the time of a cell grows with its functions and with the lines of one.

    python benchmarks/growth.py             up to 300 functions, some minutes
    python benchmarks/growth.py 1000        up to 1,000

CPU seconds, which other work on the machine changes little: of the steps that run in this process, each alone, and of
the whole compilation with the compilers that it started.  The result goes to benchmarks/results/growth.json.
"""

from __future__ import annotations

import functools
import json
import os
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
    signatures, _ = timed("roles", lambda: operands.plan_operands(unit, options=options, structures=True))
    chosen = function_entries.representatives(signatures)
    timed("Python forms", lambda: function_entries.python_forms(tree, chosen, unit, options))
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
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    um.compile_c("double warm(double x) { return x; }")
    um.compile_cython("def warm(double x):\n    return x\n")
    found: dict[str, Any] = {"machine": machine.describe("cython", "ufunc_magic"), "load": os.getloadavg()[0]}
    counts = [n for n in (1, 10, 100, 300, 1000) if n <= most]

    def measured(name: str, count: int, seconds: dict[str, float]) -> None:
        found.setdefault(name, {})[str(count)] = seconds
        print(name, count, seconds, flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")

    for count in counts:
        text = c_functions(count)
        measured("C, functions", count, steps(text) | whole(um.compile_c, text))
        if 1 < count < 1000:
            measured("functions in parts or one unit", count, in_parts_or_one(count))
    for count in (10, 100, 1000, 3000, 10000):
        text = c_lines(count)
        measured("C, lines of a function", count, steps(text) | whole(um.compile_c, text))
    for count in counts:
        measured("Cython, functions", count, whole(um.compile_cython, cython_functions(count)))


if __name__ == "__main__":
    main()
