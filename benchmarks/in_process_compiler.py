"""A compiler in the process instead of gcc: what cppjit (clang as a library) takes for a formula and its loop.

    python -m venv /tmp/cppjit && /tmp/cppjit/bin/pip install --pre cppjit numpy psutil     needs Python 3.12
    /tmp/cppjit/bin/python benchmarks/in_process_compiler.py [ROUNDS]                       half a minute

Both compile the same text in turns, each round another constant: medians of the clock and of the processor time of
this process and its children, in ms; then what an element costs each.  It goes to results/in_process_compiler.json.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["CPPINTEROP_EXTRA_INTERPRETER_ARGS"] = "-O3 -march=native"

import machine
import numpy as np

RESULTS = Path(__file__).parent / "results" / "in_process_compiler.json"
FOLDER = Path(tempfile.mkdtemp(prefix="ufunc-magic-in-process-"))
TEXT = """
double f{0}(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}
void loop{0}(const double *__restrict a, double *__restrict out, long n) {{
    for (long i = 0; i < n; i++) out[i] = f{0}(a[i]);
}}
"""
Loop = Callable[[np.ndarray, np.ndarray, int], Any]


def by_gcc(n: int) -> Loop:
    """Compile with bare gcc and open the library."""
    library = FOLDER / f"{n}.so"
    command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-lm"]
    subprocess.run(command, input=f"#include <math.h>\n{TEXT.format(n)}".encode(), check=True)
    loop = getattr(ctypes.CDLL(str(library)), f"loop{n}")
    return lambda a, out, size: loop(*(ctypes.c_void_p(x.ctypes.data) for x in (a, out)), ctypes.c_long(size))


def by_cppjit(n: int) -> Loop:
    """Compile in this process; cppjit compiles a function when it is first called."""
    import cppjit

    cppjit.cppdef(f'extern "C" {{{TEXT.format(n)}}}')
    loop: Loop = getattr(cppjit.gbl, f"loop{n}")
    loop(np.ones(1), np.ones(1), 1)
    return loop


def processor() -> float:
    """Seconds of this process and of the children that it has waited for."""
    users = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(user.ru_utime + user.ru_stime for user in users)


def main(rounds: int) -> None:
    """Measure and write."""
    import cppjit

    cppjit.cppdef("#include <math.h>")
    candidates = {"bare gcc": by_gcc, "cppjit": by_cppjit}
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    elements: dict[str, list[float]] = {name: [] for name in candidates}
    a, out = np.linspace(0.1, 1, 100_000), np.empty(100_000)
    for n in range(rounds):
        for name, compiled in candidates.items():
            clock, start = time.perf_counter(), processor()
            loop = compiled(n)
            costs[name].append(((time.perf_counter() - clock) * 1e3, (processor() - start) * 1e3))
            times = []
            for _ in range(20):
                clock = time.perf_counter()
                loop(a, out, len(a))
                times.append((time.perf_counter() - clock) / len(a) * 1e9)
            elements[name].append(min(times))
    result = {
        "machine": machine.describe(),
        "rounds": rounds,
        **{
            name: {
                **{
                    f"ms, {of}": round(statistics.median(column), 1)
                    for of, column in zip(("clock", "processor"), zip(*costs[name], strict=True), strict=True)
                },
                "ns an element": round(statistics.median(elements[name]), 2),
            }
            for name in candidates
        },
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
