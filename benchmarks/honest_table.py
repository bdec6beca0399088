"""How far one can trust a speed-up: the same cell timed again and again, on a quiet machine and beside busy loops.

    python benchmarks/honest_table.py             30 reports of each, some three minutes
    python benchmarks/honest_table.py 10 8        10 of each, beside 8 busy loops

Every report is of the same two functions, compiled once.  What is written for each row, quiet and busy: the median, the
least and the largest speed-up; how many tables have a range that holds the quiet median; the median width of the
ranges, relative to their speed-ups.
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
    quiet, seconds = tables(build, count)
    medians = {name: statistics.median(row.speedup for row in rows) for name, rows in quiet.items()}
    found["quiet"] = {name: figures(rows, medians[name]) for name, rows in quiet.items()}
    found["seconds, quiet"] = round(statistics.median(seconds), 2)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        time.sleep(1)
        busy, seconds = tables(build, count)
    finally:
        for other in others:
            other.kill()
            other.wait()
    found["busy"] = {name: figures(rows, medians[name]) for name, rows in busy.items()}
    found["seconds, busy"] = round(statistics.median(seconds), 2)
    (RESULTS / f"honest_table_{loops}.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    print(build.report())  # the example in docs/table.md


if __name__ == "__main__":
    main()
