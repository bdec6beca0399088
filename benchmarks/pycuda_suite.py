"""PyCUDA's own tests and examples on the emulation, or on a GPU: which of their kernels run and agree with NumPy.

    python benchmarks/pycuda_suite.py                    all, about five minutes
    python benchmarks/pycuda_suite.py --only test_driver   files whose name has it
    python benchmarks/pycuda_suite.py --device gpu       kernels on this machine's GPU, arrays copied there and back

The newest sdist of PyCUDA comes from PyPI when this runs and is kept in a temporary folder; what it imports (pytools,
mako) is put beside it by pip or uv.  Its Python files run as they are on `pycuda_driver`, whose modules are cells and
whose memory is this process's, so that PyCUDA's tests compare with NumPy.  Each file runs in a process of its own.  The
result goes to benchmarks/results/pycuda_suite.json, of a GPU pycuda_suite_gpu.json, and with that of `cupy_kernels` as
a table to docs/cuda.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("UFUNC_MAGIC_PYCUDA", Path(tempfile.gettempdir()) / "ufunc-magic-pycuda"))
INDEX = "https://pypi.org/simple/pycuda/"
NEEDS = "pytools", "mako", "markupsafe", "platformdirs", "typing_extensions", "siphash24"
RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "cuda.md"
LIMIT = {"test": 1500, "examples": 60}

#: What becomes of a kernel, best first, and how a fault is told from another.
STATES = (
    "agrees",
    "runs",
    "refused",
    "needs warps",
    "needs variables",
    "no CUDA",
    "not compared",
    "wrongly refused",
    "wrong",
)
_FAULTS = (
    # Gone with CUDA 12.
    ("no CUDA", r"surface_functions\.h|texture is not a template"),
    ("needs warps", r"lanes of a warp|cooperative groups|looks at the other lanes"),
    ("refused", r"need a GPU|needs a GPU|for the GPU alone|NVRTC alone"),
)


def fetch() -> Path:
    """The folder of the newest sdist."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if known := sorted(FOLDER.glob("pycuda-*")):
        return known[-1]
    headers = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(INDEX, headers=headers), timeout=60) as page:
        files = [f for f in json.load(page)["files"] if f["filename"].endswith(".tar.gz")]
    newest = max(files, key=lambda f: [int(n) for n in re.findall(r"\d+", f["filename"])])
    install = [shutil.which("uv"), "pip"] if shutil.which("uv") else [sys.executable, "-m", "pip"]
    site = str(FOLDER / "site")
    subprocess.run([*install, "install", "-q", "--no-deps", "--target", site, *NEEDS], check=True)  # type: ignore[list-item]
    with urllib.request.urlopen(newest["url"], timeout=300) as data, tarfile.open(fileobj=data, mode="r|gz") as tar:
        tar.extractall(FOLDER, filter="data")
    return FOLDER / str(newest["filename"]).removesuffix(".tar.gz")


def files(root: Path) -> list[Path]:
    """Tests and examples that have to do with kernels."""
    return [*sorted((root / "test").glob("test_*.py")), *sorted((root / "examples").rglob("*.py"))]


def run(path: Path, root: Path, device: str) -> list[dict[str, str]]:
    """What became of the kernels of one file, in this process."""
    import pycuda_driver

    sys.path.append(str(FOLDER / "site"))
    pycuda_driver.install(root, device)
    rows: list[dict[str, str]] = []

    def note(where: str, state: str, why: str = "") -> None:
        launched = dict(pycuda_driver.LAUNCHES)
        pycuda_driver.LAUNCHES.clear()
        for (text, name), result in launched.items():
            kernel = f"{name} {hashlib.sha256(text.encode()).hexdigest()[:8]}"
            own = state if result == "ran" else fault_state(result)
            rows.append(
                {"where": where, "kernel": kernel, "state": own, "why": "" if result == "ran" else result[:400]}
            )
        if why:
            rows.append({"where": where, "kernel": "", "state": state, "why": why[:400]})

    if path.name.startswith("test_"):
        import pytest

        class Plugin:
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
                outcome = yield
                report = outcome.get_result()
                if report.when != "call" and not report.skipped:
                    return
                why = str(call.excinfo.value) if call.excinfo else ""
                if report.passed:
                    note(item.name, "agrees")
                elif report.skipped:
                    note(item.name, "skipped", why or "skipped")
                else:
                    note(item.name, "wrong" if call.excinfo.errisinstance(AssertionError) else fault_state(why), why)

        words = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--rootdir", str(root), "--no-header", "--tb=no"]
        pytest.main([str(path), *words], plugins=[Plugin()])
        return rows
    sys.argv = [str(path)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except Exception as fault:  # noqa: BLE001
        note(path.name, fault_state(f"{type(fault).__name__}: {fault}"), f"{type(fault).__name__}: {fault}")
    else:
        note(path.name, "runs")
    return rows


def fault_state(why: str) -> str:
    """The word for a fault."""
    others = (
        "ModuleNotFoundError|IndexError|ImportError|InsufficientDriver|CudaSupportError|RectangleSelector|scipy.misc"
    )
    if re.search(others, why):
        return "not run"
    if "the memory of variables" in why:
        return "needs variables"
    if re.search(r"Lacking|textures$|Linker|has no attribute 'bin_number'|Memcpy3D", why):
        return "not run"
    return next((word for word, pattern in _FAULTS if re.search(pattern, why)), "wrongly refused")


def summary(rows: list[dict[str, str]]) -> dict[str, int]:
    """Kernels by the worst that became of them, but that one test that agrees outweighs an example that only runs."""
    states: dict[str, set[str]] = {}
    for one in rows:
        if one["kernel"]:
            states.setdefault(one["kernel"], set()).add(one["state"])
    counts: dict[str, int] = {}
    for found in states.values():
        worst = max(found - {"runs"} or found, key=lambda s: STATES.index(s) if s in STATES else 0)
        counts[worst] = counts.get(worst, 0) + 1
    return counts


def results(name: str, device: str) -> Path:
    """The file for what came out."""
    return RESULTS / f"{name}{'_gpu' * (device == 'gpu')}.json"


def write_table() -> None:
    """The table in docs/cuda.md, of all results."""
    lines = ["| kernels of | on | " + " | ".join(STATES) + " |", "|---|---|" + "---|" * len(STATES)]
    for device, place in ("cpu", "emulation"), ("gpu", "GPU"):
        for path in results("pycuda_suite", device), results("cupy_kernels", device):
            if path.exists():
                result = json.loads(path.read_text())
                cells = [str(result["states"].get(state, 0)) for state in STATES]
                lines.append(f"| {result['version']} | {place} | {' | '.join(cells)} |")
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- kernels: benchmarks/pycuda_suite.py -->\n", "<!-- end -->\n"
    at, stop = page.index(begin) + len(begin), page.index(end, page.index(begin))
    PAGE.write_text(page[:at] + "\n".join(lines) + "\n" + page[stop:], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--one", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = fetch()
    if options.one:
        path, result_file = options.one
        result_file.write_text(json.dumps(run(path, root, options.device)))
        return

    def rows_of(path: Path) -> list[dict[str, str]]:
        command = [sys.executable, "-W", "ignore", __file__, "--device", options.device, "--one", str(path)]
        with tempfile.TemporaryDirectory() as folder:
            result_file = Path(folder, "rows.json")
            result_file.write_text("[]")
            try:
                limit = LIMIT.get(path.parent.name, 30)
                subprocess.run([*command, str(result_file)], timeout=limit, capture_output=True, cwd=FOLDER)
            except subprocess.TimeoutExpired:
                print(f"{path.name}: too long")
            return [row | {"file": path.name} for row in json.loads(result_file.read_text())]

    paths = [path for path in files(root) if re.search(options.only, path.name)]
    with ThreadPoolExecutor(options.jobs) as pool:
        everything = [row for rows in pool.map(rows_of, paths) for row in rows]
    for one in everything:
        if one["state"] not in ("agrees", "runs", "skipped"):
            print(one["state"], one["file"], one["where"], one["kernel"], one["why"][:200], sep=" | ")
    states = summary(everything)
    print(states)
    if not options.only:
        others = [one for one in everything if one["state"] not in ("agrees", "runs")]
        result = {"version": root.name.replace("-", " "), "states": states, "others": others}
        results("pycuda_suite", options.device).write_text(json.dumps(result, indent=1) + "\n")
        write_table()


if __name__ == "__main__":
    main()
