"""Every fault that was tried and what came of it: writes the table of docs/reliability.md.

    python benchmarks/reliability.py

Faults of cells run in a real Jupyter kernel, faults of the cache in processes of their own.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "faults"))

import cache
import machine

import notebook

DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"
RESULTS = Path(__file__).parent / "results" / "reliability.json"


def cell(text: str) -> str:
    """Text that stands in one cell of a Markdown table."""
    text = re.sub(r"In\[\d+\]", "In[n]", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text).replace("|", "\\|").replace("\n", " ")


def main() -> None:
    lines = ["| fault | what came of it |", "|---|---|"]
    lost = wrong = leaked = 0
    for row in notebook.rows():
        print(row, flush=True)
        lines.append(f"| {cell(row.fault)} | {cell(row.came)} |")
        lost, wrong, leaked = lost + row.kernel_lost, wrong + row.wrong, leaked + row.leaked
    for came in cache.tried():
        print(came, flush=True)
        lines.append(f"| {cell(came.fault)} | {cell(str(came))} |")
        wrong, leaked = wrong + came.wrong + came.unhandled, leaked + came.left
    total = f"{len(lines) - 2} faults: {lost} kernels lost, {wrong} wrong results or unexpected ends, {leaked} leaked."
    described = machine.describe()
    RESULTS.write_text(
        json.dumps({"machine": described, "lost": lost, "wrong": wrong, "leaked": leaked, "rows": lines[2:]}, indent=1)
        + "\n"
    )
    where = f"{described['date']}, {described['cpu']}, {described['cores']} processors, Python {described['python']}"
    text = DOCS.read_text()
    start, end = "<!-- table -->\n", "<!-- end of table -->"
    head, _, rest = text.partition(start)
    made = "\n".join([f"{total} ({where})", "", *lines, ""])
    DOCS.write_text(f"{head}{start}{made}{end}{rest.partition(end)[2]}")
    print(total)
    sys.exit(bool(lost or wrong or leaked))


if __name__ == "__main__":
    main()
