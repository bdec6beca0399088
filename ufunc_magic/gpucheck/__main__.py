"""The command: a table on the screen, and a file of the figures."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from ..runtime import device
from . import run, table
from .checks import LARGE, checks, described


def main(words: list[str] | None = None) -> int:
    """Check the GPU of this machine.

    Returns
    -------
    int
        0 if all went well, 1 if not, 2 where there is no GPU.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ufunc_magic.gpucheck", description="Check the GPU of this machine."
    )
    parser.add_argument(
        "--output", type=Path, help="file for the figures; benchmarks/results/gpu-<name>.json if omitted"
    )
    parser.add_argument("--elements", type=int, default=LARGE, help="floats of the large arrays")
    options = parser.parse_args(words)
    if why := device.missing():
        print(f"No GPU was found: {why}.\nNothing was checked.")
        return 2
    about = described()
    print(", ".join(f"{k} {v}" for k, v in about.items()))
    rows = run(checks(large=options.elements))
    print(table(rows))
    path = options.output or _result_file(about["gpu"])
    path.write_text(json.dumps({"machine": about, "checks": [row.plain() for row in rows]}, indent=1) + "\n")
    failed = [row.name for row in rows if row.state == "failed"]
    print(f"\n{len(rows) - len(failed)} of {len(rows)} went well; figures in {path}")
    return 1 if failed else 0


def _result_file(name: str) -> Path:
    folder = Path("benchmarks", "results")
    word = re.sub(r"[^a-z0-9]+", "-", name.lower().replace("nvidia", "")).strip("-")
    return (folder if folder.is_dir() else Path()) / f"gpu-{word}.json"


if __name__ == "__main__":
    sys.exit(main())
