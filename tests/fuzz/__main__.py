"""``python -m fuzz --functions 100000``: the long campaign; ends with 1 where anything was found."""

from __future__ import annotations

import argparse
import datetime
import sys

from . import campaign


def told(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    today = int(datetime.date.today().strftime("%Y%m%d"))
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--functions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=today, help="the date where it is not given")
    asked = parser.parse_args()
    told(f"seed {asked.seed}")
    outcome = campaign.run(asked.seed, count=asked.functions, most=10, told=told)
    told(f"{outcome.functions} functions, {outcome.python} Python forms, {len(outcome.faults)} faults")
    told("\n".join(outcome.refused))
    return int(bool(outcome.faults or outcome.refused))


if __name__ == "__main__":
    sys.exit(main())
