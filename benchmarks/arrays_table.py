"""Write the table of docs/arrays.md from the rows of tests/test_conformance_arrays.py.

Each library is run where it is installed; what an environment without it has measured before stays, with the version
that it was measured with (``benchmarks/results/arrays.json``).
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "arrays.json"
PAGE = ROOT / "docs" / "arrays.md"
BEGIN, END = "<!-- made by benchmarks/arrays_table.py -->", "<!-- end -->"


def conformance() -> Any:
    """The module of the test."""
    path = ROOT / "tests" / "test_conformance_arrays.py"
    spec = importlib.util.spec_from_file_location("conformance_arrays", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def measure(module: Any) -> dict[str, dict[str, str]]:
    """What each row gives, those of absent libraries as they were."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    found = {}
    for row in module.ROWS:
        absent = module.missing(row)
        if absent:
            print(f"kept: {row} ({absent})")
            before = known.get(str(row), {"outcome": "not run"})
            found[str(row)] = {"outcome": "not run", "version": absent} if before["outcome"] == "not run" else before
        else:
            found[str(row)] = {"outcome": module.outcome(row), "version": module.version(row.library)}
    return found


def table(module: Any, found: dict[str, dict[str, str]]) -> str:
    lines = ["| library | `x` | call | outcome | result, or what to write instead |", "|---|---|---|---|---|"]
    for row in module.ROWS:
        seen = found[str(row)]
        name, _, said = seen["outcome"].partition(": ")
        if name == "not run":
            says = f"{f'`{row.raises}`' if row.raises else 'works'} (expected; {seen['version'].split(':')[0]} here)"
        else:
            says = f"`{name}`: {_short(said)}".replace("|", r"\|") if said else "works"
        library = row.library if name == "not run" else f"{row.library} {seen['version']}"
        lines.append(f"| {library} | {row.given} | `{row.call}` | {says} | {row.result} |")
    return "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:80].rpartition(' ')[0]} ..."


def main() -> None:
    warnings.simplefilter("ignore")
    module = conformance()
    found = measure(module)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{table(module, found)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
