"""Random C functions beside the same C in a plain loop of ``gcc -O2``: writes the sentences of docs/reliability.md.

    python benchmarks/exactness.py [FUNCTIONS] [SEEDS]

With ``--strict`` every result must be the same, signs of zeros included; without it integers must be, and floats be
within 4 units in the last place.  Every function is called with contiguous, strided, reversed, byte-swapped and
unaligned arrays, single elements, and in place.  The result goes to benchmarks/results/exactness.json.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-exactness-")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import machine

from fuzz import plain_gcc

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "exactness.json"
DOCS = ROOT / "docs" / "reliability.md"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2160
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    today = int(datetime.date.today().strftime("%Y%m%d"))
    modes: dict[str, dict[str, int]] = {}
    for mode in plain_gcc.BATCHES:
        modes[mode] = {"functions": 0, "results": 0, "calls": 0, "nan_bits": 0, "differ": 0}
        for seed in range(today, today + seeds):
            with tempfile.TemporaryDirectory() as folder:
                for tally in plain_gcc.campaign(seed, count=count, mode=mode, folder=Path(folder)):
                    print(mode, seed, tally.functions, len(tally.faults), flush=True)
            for name in ("functions", "results", "calls", "nan_bits"):
                modes[mode][name] += getattr(tally, name)
            modes[mode]["differ"] += len(tally.faults)
            print("\n".join(map(str, tally.faults)), flush=True)
    described = machine.describe()
    result = {"machine": described, "command": " ".join(plain_gcc.COMMAND), "seeds": [today, seeds], **modes}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    strict, fast = modes["strict"], modes["fast"]
    where = f"{described['date']}, {described['cpu']}, {described['compiler']}, {seeds} seeds of {count:,}"
    lines = [
        f"({where})",
        "",
        f"* With `--strict`: {strict['functions']:,} functions, {strict['calls']:,} calls; {strict['differ']} "
        "functions differ in a bit of any result. All NaN count as one: their signs and payloads differ in "
        f"{strict['nan_bits']} functions.",
        f"* Without: {fast['functions']:,} functions, {fast['calls']:,} calls; {fast['differ']} functions differ in an "
        "integer, or in a float by more than 4 units in the last place.",
        "",
    ]
    start, end = "<!-- exactness -->\n", "<!-- end of exactness -->"
    head, _, rest = DOCS.read_text().partition(start)
    DOCS.write_text(f"{head}{start}{chr(10).join(lines)}{end}{rest.partition(end)[2]}")
    sys.exit(bool(strict["differ"] or fast["differ"]))


if __name__ == "__main__":
    main()
