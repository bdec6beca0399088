"""Run the notebooks and save them with their outputs: ``python examples/execute.py [--check | --warm] [NAME ...]``.

Needs ``pip install '.[examples]'`` in a checkout.  ``--check`` saves nothing and exits with 1 where a new run shows
other words than the saved outputs.  ``--warm`` saves nothing and leaves the compiled cells in your cache.  Times and
other numbers differ from run to run and do not count.  Run it on a quiet machine, for readers see the times.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

import ufunc_magic

EXAMPLES = Path(__file__).parent

#: Where the saved notebooks say what they were run from.
STAMP = "ufunc_magic"

#: What GitHub shows at once, also on a slow line.
MOST_BYTES = 400_000


def names() -> list[str]:
    """The notebooks, in their order."""
    return sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))


def read(name: str) -> Any:
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def execute(name: str, *, folder: Path) -> Any:
    """The notebook after a run in a kernel of this very Python, which starts in ``folder``."""
    notebook = read(name)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.create_kernel_manager()
    client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    asyncio.run(client.async_execute())
    for cell in code_cells(notebook):
        cell.outputs = [shown_by_github(output) for output in joined(cell.outputs)]
    notebook.metadata[STAMP] = stamp(notebook)
    notebook.metadata.language_info = {"name": "python"}  # without the version, which would change with each machine
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def stamp(notebook: Any) -> dict[str, Any]:
    """The package's version and a digest of each code cell: what the outputs were computed from."""
    digests = {cell.id: hashlib.sha256(cell.source.encode()).hexdigest()[:16] for cell in code_cells(notebook)}
    return {"version": ufunc_magic.__version__, "cells": digests}


def joined(outputs: list[Any]) -> list[Any]:
    """``outputs`` with pieces of one stream, which arrive as the kernel flushes them, as one."""
    result: list[Any] = []
    for output in outputs:
        last = result[-1] if result else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            result.append(output)
    return result


def shown_by_github(output: Any) -> Any:
    """``output`` without HTML that draws: GitHub removes the drawing and leaves its labels, and shows the PNG."""
    data = output.get("data", {})
    if "image/png" in data and "<svg" in data.get("text/html", ""):
        del data["text/html"]
    return output


def wording(notebook: Any) -> dict[str, list[str]]:
    """What the outputs of each code cell say on every machine: kinds, texts without numbers, row labels."""
    return {cell.id: [line for output in cell.outputs for line in _words(output)] for cell in code_cells(notebook)}


def _words(output: Any) -> list[str]:
    if output.output_type == "stream":
        return [f"{output.name}:", *_lines(output.text)]
    if output.output_type == "error":
        return ["error:", output.ename, *_lines(output.evalue)]
    lines = [f"{kind}:" for kind in sorted(output.data)]
    heads = re.findall(r"<(?:th|summary)\b[^>]*>(.*?)</(?:th|summary)>", output.data.get("text/html", ""), re.S)
    return [
        *lines,
        *_lines(output.data.get("text/plain", "")),
        *_lines("\n".join(re.sub("<[^>]+>", "", h) for h in heads)),
    ]


def _lines(text: str) -> list[str]:
    return [line for line in map(_masked, _unwrapped(text)) if line]


def _unwrapped(text: str) -> list[str]:
    """Lines of ``text``; a note's further lines belong to it."""
    lines: list[str] = []
    for line in text.splitlines():
        note = lines and lines[-1].lstrip().startswith("note: ")
        if note and line.startswith("  ") and not line.lstrip().startswith("note: "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return lines


#: A number with its unit.
NUMBER = r"[-+~]?\d[\d,._]*(?:e[-+]?\d+)?(?:-\d[\d.]*)?\s?(?:[nmuµ]?s\b|[kMG]B\b|%|x\b)?"

#: Words that depend on the machine, its load or its compiler.
VARIABLE = {
    r"^note: .*(?:busy|processor|machine).*": "",
    r"results (?:are identical|agree[^(;]*?)(?= \(|;|$)": "results #",
    r"(?:compiled in|from cache in) .*?(?=;|$)": "compiled in #",
    # Behind a row's figures stands what holds it back.
    rf"^(\s*\S.*?)\s{{2,}}{NUMBER}\s{{2,}}.*": r"\1  # row",
    r"^caches are full at .*": "caches are full at #",
    r"0x[0-9a-f]+": "#",
    NUMBER: "#",
}


def _masked(line: str) -> str:
    line = line.rstrip()
    for pattern, masked in VARIABLE.items():
        line = re.sub(pattern, masked, line if masked.startswith(r"\1") else line.strip())
    return re.sub(r"[\s-]+", " ", line).strip()


def difference(saved: Any, fresh: Any) -> list[str]:
    """What a fresh run says otherwise than the saved outputs, as lines of a diff."""
    before, after = wording(saved), wording(fresh)
    lines: list[str] = []
    for cell in dict.fromkeys([*before, *after]):
        diff = difflib.unified_diff(before.get(cell, []), after.get(cell, []), "saved", "fresh", lineterm="", n=1)
        if changes := list(diff):
            lines += [f"cell {cell}", *changes]
    return lines


def save(name: str, notebook: Any) -> None:
    """Write the whole file or nothing."""
    text = nbformat.writes(notebook) + "\n"
    if len(text) > MOST_BYTES:
        raise SystemExit(f"{name} has {len(text):,} bytes; the limit is {MOST_BYTES:,}. Make its pictures smaller.")
    with tempfile.NamedTemporaryFile("w", dir=EXAMPLES, suffix=".tmp", delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, EXAMPLES / f"{name}.ipynb")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 01_first_ufunc; all if omitted")
    parser.add_argument("--check", action="store_true", help="save nothing, compare with what is saved")
    parser.add_argument("--warm", action="store_true", help="save nothing, fill your own cache of compiled cells")
    options = parser.parse_args()
    stale = False
    with tempfile.TemporaryDirectory() as folder:
        if not options.warm:
            # Every cell compiles, as a reader's does.
            os.environ["UFUNC_MAGIC_CACHE"] = os.path.join(folder, "cache")
        os.environ["IPYTHONDIR"] = os.path.join(folder, "ipython")
        for name in options.names or names():
            print(name, end=" ", flush=True)
            fresh = execute(name, folder=Path(folder))
            changes = difference(read(name), fresh)
            if options.warm:
                print("ran")
                continue
            if not options.check:
                save(name, fresh)
            print("saved" if not options.check else "says something else:" if changes else "is current")
            if options.check and changes:
                print(*changes, sep="\n")
                stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
