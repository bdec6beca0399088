"""The command: a table on the screen, and a file of the figures."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ufunc_magic.languages.cuda import device

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

from gpu import run, table
from gpu.checks import LARGE, checks


def main(words: list[str] | None = None) -> int:
    """Check the GPU of this machine.

    Returns
    -------
    int
        0 if all went well, 1 if not, 2 where there is no GPU.
    """
    parser = argparse.ArgumentParser(description="Check the GPU of this machine.")
    parser.add_argument("--output", type=Path, default=Path("gpucheck.json"), help="file for the figures")
    parser.add_argument("--elements", type=int, default=LARGE, help="floats of the large arrays")
    options = parser.parse_args(words)
    if why := device.explain_missing():
        print(f"No GPU was found: {why}.\nNothing was checked.")
        return 2
    about = device.describe_versions()
    print(", ".join(f"{k} {v}" for k, v in about.items()))
    rows = run(checks(large=options.elements))
    print(table(rows))
    options.output.write_text(json.dumps({"machine": about, "checks": rows}, indent=1) + "\n")
    failed = sum(row["state"] == "failed" for row in rows)
    print(f"\n{len(rows) - failed} of {len(rows)} went well; figures in {options.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
