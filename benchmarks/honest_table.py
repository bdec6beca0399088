"""How far one can trust a speed-up: the same cell timed again and again, as the machine is and beside busy loops.

    python benchmarks/honest_table.py             30 reports of each, some three minutes
    python benchmarks/honest_table.py 10 8        10 of each, beside 8 busy loops

Every report is of the same two functions, compiled once.  Quiet and busy take turns, because other programs come and
go: the load is written, too.  What is written for each row, quiet and busy: the median, the least and the largest
speed-up; how many tables have a range that holds the quiet median; the median width of the ranges, relative to their
speed-ups.
The result goes to benchmarks/results/honest_table_LOOPS.json.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-honest-")

import machine

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results"
#: Quiet and busy take so many turns.
TURNS = 5
CELL = """
#include <math.h>
double kinetic(double m, double v) { return 0.5 * m * v * v; }
double logit(double p) { return log(p / (1 - p)); }
"""


def tables(build: Any, count: int) -> tuple[dict[str, list[Any]], list[float]]:
    """The rows of so many reports by function and label, and the seconds that each took."""
    rows: dict[str, list[Any]] = {}
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        report = build.report()
        seconds.append(time.perf_counter() - start)
        for comparison in report.comparisons:
            for row in comparison.rows[1:]:
                rows.setdefault(f"{comparison.name}: {row.label}", []).append(row)
    return rows, seconds


def measure(build: Any, count: int, *, loops: int, seconds: list[float]) -> dict[str, list[Any]]:
    """The rows of so many reports beside busy loops; adds the seconds of each report."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        time.sleep(bool(loops))
        rows, each = tables(build, count)
    finally:
        for other in others:
            other.kill()
            other.wait()
    seconds += each
    return rows


def figures(rows: list[Any], quiet: float) -> dict[str, Any]:
    """What became of one row."""
    speedups = [row.speedup for row in rows]
    ranges = [row.speedup_range or (row.speedup, row.speedup) for row in rows]
    widths = [(high - low) / row.speedup for (low, high), row in zip(ranges, rows, strict=True)]
    return {
        "median": round(statistics.median(speedups), 1),
        "least": round(min(speedups), 1),
        "largest": round(max(speedups), 1),
        "held": f"{sum(low <= quiet <= high for low, high in ranges)} of {len(rows)}",
        "width": round(statistics.median(widths), 2),
    }


def main() -> None:
    count, loops = (int(word) for word in (sys.argv[1:] + ["30", "2"][len(sys.argv) - 1 :])[:2])
    build = um.compile_c(CELL)
    build.report()  # the machine's limits are measured once
    found: dict[str, Any] = {"machine": machine.describe(), "tables": count, "busy loops": loops}
    rows: dict[str, dict[str, list[Any]]] = {"quiet": {}, "busy": {}}
    seconds: dict[str, list[float]] = {"quiet": [], "busy": []}
    loads = []
    for turn in range(TURNS):
        for kind in rows:
            number = count * (turn + 1) // TURNS - count * turn // TURNS
            loads += [os.getloadavg()[0]] if kind == "quiet" else []
            beside = loops if kind == "busy" else 0
            for name, new in measure(build, number, loops=beside, seconds=seconds[kind]).items():
                rows[kind].setdefault(name, []).extend(new)
    medians = {name: statistics.median(row.speedup for row in of_it) for name, of_it in rows["quiet"].items()}
    for kind in rows:
        found[kind] = {name: figures(of_it, medians[name]) for name, of_it in rows[kind].items()}
        found[f"seconds, {kind}"] = round(statistics.median(seconds[kind]), 2)
    found["load of one minute, before quiet tables"] = [round(load, 1) for load in loads]
    (RESULTS / f"honest_table_{loops}.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    print(build.report())  # the example in docs/table.md


if __name__ == "__main__":
    main()
