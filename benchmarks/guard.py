"""What trying new code out costs a cell, and what a sandbox costs a call.

    python benchmarks/guard.py

New cells are compiled with and without the guard in turns in this one process; figures are medians.  The result goes
to benchmarks/results/guard.json.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-guard-")

import machine
import numpy as np

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "guard.json"
DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"
CELLS = {
    "one formula": "#include <math.h>\ndouble f(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}\n",
    "four functions": "".join(
        f"double f{k}(double a, double b) {{{{ return a * {k} + b + {{0}}; }}}}\n" for k in range(4)
    ),
    "a loop": "double f(int n) {{ double s = {0}; for (int i = 0; i < n; i++) s += i; return s; }}\n",
    "a dot product": "// ufunc: (n),(n)->()\ndouble dot(const double *a, const double *b, int n) {{\n"
    "  double s = {0}; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }}\n",
    "an integer division": "int f(int a, int b) {{ return (a + {0}) / b; }}\n",
}


def median_ms(values: list[float]) -> float:
    return round(statistics.median(values) * 1e3, 2)


def new_cells(rounds: int = 25) -> dict[str, dict[str, float]]:
    """Milliseconds of the guard in a new cell, and of the whole cell with and without it."""
    rows = {}
    for name, text in CELLS.items():
        um.compile_c(text.format(-1))
        guard, with_it, without = [], [], []
        for n in range(rounds):
            for guarded in (True, False):
                start = time.perf_counter()
                made = um.compile_c(text.format(2 * n + guarded), guard=guarded)
                taken = time.perf_counter() - start
                (with_it if guarded else without).append(taken)
                if guarded:
                    guard.append(made.seconds["guard"])
        rows[name] = {
            "guard_ms": median_ms(guard),
            "cell_with_ms": median_ms(with_it),
            "cell_without_ms": median_ms(without),
        }
    return rows


def per_call(function: Callable[..., Any], *args: Any, seconds: float = 0.3) -> float:
    """Median seconds of a call."""
    taken = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 5:
        start = time.perf_counter()
        function(*args)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def sandbox() -> dict[str, dict[str, float]]:
    """Microseconds of calls in this process and in a sandbox."""
    text = "#include <math.h>\ndouble f(double a) { return a < 0.5 ? 4*a + exp(-a) : log(a); }\n"
    here, there = um.c_ufunc(text), um.c_ufunc(text, sandbox=True)
    rows = {}
    for size in (1, 1000, 100_000, 1_000_000, 10_000_000):
        x = np.random.default_rng(1).uniform(0.1, 2, size)
        assert np.array_equal(here(x), there(x))
        pairs = [(per_call(here, x, seconds=0.1), per_call(there, x, seconds=0.1)) for _ in range(5)]
        rows[f"{size}"] = {
            "here_us": round(statistics.median(a for a, _ in pairs) * 1e6, 2),
            "sandbox_us": round(statistics.median(b for _, b in pairs) * 1e6, 2),
            "ratio": round(statistics.median(b / a for a, b in pairs), 2),
        }
    return rows


def table(result: dict[str, Any]) -> str:
    """The figures for docs/reliability.md."""
    described = result["machine"]
    lines = [f"({described['date']}, {described['cpu']}, {described['cores']} processors)", ""]
    lines += ["| new cell | the guard | the cell with it | without |", "|---|---|---|---|"]
    for name, row in result["new_cell"].items():
        lines.append(f"| {name} | {row['guard_ms']} ms | {row['cell_with_ms']} ms | {row['cell_without_ms']} ms |")
    lines += [f"| found in the cache | {result['cache_hit']['guard_ms']:.0f} ms | | |", ""]
    lines += ["| elements of a call | here | in a sandbox | ratio |", "|---|---|---|---|"]
    for size, row in result["sandbox"].items():
        lines.append(f"| {int(size):,} | {row['here_us']:,} us | {row['sandbox_us']:,} us | {row['ratio']} |")
    return "\n".join(lines)


def main() -> None:
    result = {"machine": machine.describe(), "new_cell": new_cells(), "sandbox": sandbox()}
    again = [um.compile_c(CELLS["one formula"].format(-1)).seconds for _ in range(20)]
    result["cache_hit"] = {"guard_ms": sum(s.get("guard", 0.0) for s in again) * 1e3}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    head, mark, rest = DOCS.read_text().partition("<!-- costs -->\n")
    DOCS.write_text(f"{head}{mark}{table(result)}\n<!-- end of costs -->{rest.partition('<!-- end of costs -->')[2]}")
    print(table(result))


if __name__ == "__main__":
    main()
