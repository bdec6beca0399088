"""Whole CUDA programs in the emulation: which are right by their own check, and which are refused with the reason.

    python benchmarks/cuda_programs.py                  all, about ten minutes on two cores
    python benchmarks/cuda_programs.py --only scan      programs whose name has it: their rows of the result
    python benchmarks/cuda_programs.py --sanitize       the right ones, and those with a fault, with --sanitize
    UFUNC_MAGIC_NVCC="nvcc -I..." python benchmarks/cuda_programs.py    ask nvcc whether it accepts each, too

The programs of benchmarks/cuda_tutorials are written in the manner of tutorials: each prints "ok" or "WRONG".  They run
with ``--run-main`` as a user runs them, each in a process of its own.  Those of ``faulty.cu.txt`` have a race or read
what nobody has written: ``--sanitize`` has to name the lines that end in "<-", and none in the others.  Released
sources of CUDA in wheels and sdists come from PyPI when this runs; they have no main(), and their functions are bound.
The result goes to benchmarks/results/cuda_programs.json, and as a table to docs/cuda.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "cuda_tutorials"
RESULT = HERE / "results" / "cuda_programs.json"
PAGE = HERE.parent / "docs" / "cuda.md"
FOLDER = Path(os.environ.get("UFUNC_MAGIC_RELEASED", Path(tempfile.gettempdir()) / "ufunc-magic-released-cuda"))
#: Packages of PyPI that carry sources of CUDA without PyTorch's headers.
RELEASED = "numba-cuda", "cuda-kernels"
#: Tests of compilers' messages, and a file that defines nothing.
NOT_TO_COMPILE = frozenset(("error.cu", "warn.cu", "cuda_include.cu"))
#: Seconds of a right program that is "slow", and of one that is "hung".
SLOW, LIMIT = 60, 240
STATES = "right", "refused with the reason", "slow", "wrongly refused", "wrong", "hung"
#: Words of a refusal that says what the emulation lacks.
REASONS = (
    "needs a GPU",
    "need a GPU",
    "for the GPU alone",
    "emulation of CUDA's runtime lacks",
    "no CPU emulation",
    "lanes of a warp",
)


def read_programs(*, faulty: bool = False) -> dict[str, str]:
    """The programs of the folder that are right, or those with a fault, by name."""
    programs: dict[str, str] = {}
    for path in sorted(PROGRAMS.glob("faulty.cu.txt" if faulty else "[!f]*.cu.txt")):
        for part in path.read_text().split("//program ")[1:]:
            name, _, text = part.partition("\n")
            programs[name] = text.rstrip() + "\n"
    return programs


def fetch_released() -> dict[str, Path]:
    """The files of CUDA in packages of PyPI, unpacked beneath a temporary folder."""
    files: dict[str, Path] = {}
    for package in RELEASED:
        folder = FOLDER / package
        if not folder.exists():
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package]
            subprocess.run(command, check=False, capture_output=True)
        for archive in [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
            if archive.suffix == ".whl":
                with zipfile.ZipFile(archive) as wheel:
                    wheel.extractall(folder / "unpacked")
            else:
                with tarfile.open(archive) as inside:
                    inside.extractall(folder / "unpacked", filter="data")
        for path in sorted(folder.rglob("*.cu")):
            if path.name not in NOT_TO_COMPILE:
                files[f"{package}: {path.name}"] = path
    return files


def run_child(path: str, *, main: bool, sanitize: bool) -> None:
    """Compile one file, run its ``main()``, and print what became of it as JSON on the last line."""
    import ufunc_magic as um
    from ufunc_magic import pipeline
    from ufunc_magic.model import ParseError, make_options

    source, folders = (
        Path(path).read_text(),
        [str(PROGRAMS), str(Path(path).parent), *{str(p.parent) for p in FOLDER.rglob("*.cuh")}],
    )
    printed, fault, status, started = io.StringIO(), "", 0, time.monotonic()
    try:
        with contextlib.redirect_stdout(printed):
            options = make_options({"device": "cpu", "include": folders, "run_main": main, "sanitize": sanitize})
            # As in a notebook, a cell with nothing to bind runs all the same.
            with contextlib.suppress(*[ParseError] * main):
                if not sanitize:
                    um.compile_cuda(source, device="cpu", include=folders)
            if main:
                status = pipeline.run_main(source, language="cuda", options=options, name="<cuda>", show=printed.write)
    except um.UfuncMagicError as error:
        fault = f"{type(error).__name__}: {error}"
    row = {"fault": fault, "status": status, "printed": printed.getvalue(), "seconds": time.monotonic() - started}
    sys.stdout.write("\n" + json.dumps(row))


def judge(name: str, path: Path, *, main: bool, sanitize: bool = False) -> dict[str, Any]:
    """One row of the result."""
    command = [sys.executable, __file__, "--child", str(path), *["--main"] * main, *["--sanitize"] * sanitize]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"name": name, "state": "hung", "why": f"more than {LIMIT} s"}
    try:
        row = json.loads(done.stdout.rpartition("\n")[2])
    except ValueError:
        return {"name": name, "state": "wrong", "why": done.stderr[-300:]}
    why, seconds = row["fault"], round(row["seconds"], 1)
    if sanitize:
        named = {int(line) for line in re.findall(r"on line (\d+)", row["printed"])}
        marked = {n for n, line in enumerate(path.read_text().split("\n"), 1) if line.endswith("<-")}
        fine = named == marked and not why and (marked or row["printed"].split()[-1:] == ["ok"])
        return {
            "name": name,
            "state": "right" if fine else "wrong",
            "why": "" if fine else why or row["printed"][-300:],
        }
    if why:
        state = "refused with the reason" if any(word in why for word in REASONS) else "wrongly refused"
    elif main and (row["status"] or row["printed"].split()[-1:] != ["ok"]):
        state, why = "wrong", f"status {row['status']}, printed {row['printed'][-200:]!r}"
    else:
        state = "slow" if seconds > SLOW else "right"
    return {"name": name, "state": state, "seconds": seconds, **({"why": shorten(why)} if why else {})}


def shorten(why: str) -> str:
    """The first error of a message."""
    lines = why.splitlines()
    errors = [line for line in lines if ": error: " in line]
    return (errors or lines)[0][:200]


def ask_nvcc(path: Path) -> bool | None:
    """Whether nvcc accepts a program; None where there is none."""
    if not (command := os.environ.get("UFUNC_MAGIC_NVCC")):
        return None
    words = [*shlex.split(command), "-std=c++17", "-rdc=true", "-c", f"-I{PROGRAMS}", "-o", os.devnull, str(path)]
    return subprocess.run(words, capture_output=True).returncode == 0


def check_sanitized(only: str) -> dict[str, Any]:
    """Run the right programs, which must not be reported, and the faulty ones, which must be, with ``--sanitize``."""
    known = {row["name"] for row in json.loads(RESULT.read_text())["programs"] if row["state"] == "right"}
    right = {name: text for name, text in read_programs().items() if name in known and only in name}
    faulty = {name: text for name, text in read_programs(faulty=True).items() if only in name}
    fine, rows = Counter[bool](), []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**right, **faulty}.items():
            path = Path(folder, f"{name}.cu")
            path.write_text(text)
            rows.append(row := judge(name, path, main=True, sanitize=True))
            fine[name in faulty] += row["state"] == "right"
            sys.stdout.write(f"{row['state']:24} {name:32} {row.get('why', '')}\n")
            sys.stdout.flush()
    missed = [row for row in rows if row["state"] != "right"]
    return {"programs": len(right), "right": fine[False], "faulty": len(faulty), "named": fine[True], "missed": missed}


def write_table(rows: list[dict[str, Any]], sanitized: dict[str, Any]) -> None:
    """The table between its marks in docs/cuda.md."""
    begin, end = "<!-- begin programs -->", "<!-- end programs -->"
    judged = [row for row in rows if "nvcc" in row]
    groups = {"in the manner of tutorials": [r for r in rows if ":" not in r["name"]]}
    if released := [r for r in rows if ":" in r["name"]]:
        groups["released sources"] = released
    lines = [f"| programs | {' | '.join(STATES)} |", f"|---|{'---|' * len(STATES)}"]
    for title, ones in groups.items():
        counts = Counter(row["state"] for row in ones)
        lines.append(f"| {len(ones)} {title} | {' | '.join(str(counts[state]) for state in STATES)} |")
    if judged:
        lines += [
            "",
            f"nvcc accepts {sum(row['nvcc'] for row in judged)} of {len(judged)} of those in the manner of tutorials.",
        ]
    refused = [f"`{row['name']}`" for row in rows if row["state"] == "refused with the reason"]
    lines += ["", f"Refused: {', '.join(refused)}."]
    if sanitized:
        lines += [
            f"With `--sanitize`, {sanitized['right']} of {sanitized['programs']} right programs ran without a report, "
            f"and {sanitized['named']} of {sanitized['faulty']} faulty ones on each line of the fault alone.",
        ]
    text = PAGE.read_text()
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text("\n".join([before + begin, *lines, end]) + after)


def main() -> int:
    """Judge all programs; the exit status is 1 where one is wrong, wrongly refused or hung."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose name has it")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--sanitize", action="store_true", help="right and faulty programs with --sanitize")
    parser.add_argument("--main", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child, main=arguments.main, sanitize=arguments.sanitize)
        return 0
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if arguments.sanitize:
        sanitized = check_sanitized(arguments.only)
        if not arguments.only:
            RESULT.write_text(json.dumps({**known, "sanitized": sanitized}, indent=1) + "\n")
            write_table(known["programs"], sanitized)
        return 1 if sanitized["missed"] else 0
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = {}
        for name, text in read_programs().items():
            paths[name] = Path(folder, f"{name}.cu")
            paths[name].write_text(text)
        mains = set(paths)
        paths |= fetch_released()
        chosen = {name: path for name, path in paths.items() if arguments.only in name}
        futures = {name: pool.submit(judge, name, path, main=name in mains) for name, path in chosen.items()}
        for name, future in futures.items():
            row = future.result()
            if name in mains and (accepted := ask_nvcc(paths[name])) is not None:
                row["nvcc"] = accepted
            rows.append(row)
            sys.stdout.write(f"{row['state']:24} {name:32} {row.get('seconds', '')} {row.get('why', '')}\n")
            sys.stdout.flush()
    counts = Counter(row["state"] for row in rows)
    sys.stdout.write(f"{dict(counts)}\n")
    if arguments.only and known:
        new = {row["name"]: row for row in rows}
        rows = [new.get(row["name"], row) for row in known["programs"] if row["name"] in paths]
    if not arguments.only or known:
        machine = {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.system()}
        result = {"machine": machine, "states": dict(Counter(row["state"] for row in rows)), "programs": rows}
        result["sanitized"] = known.get("sanitized", {})
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        write_table(rows, result["sanitized"])
    return 1 if counts["wrong"] + counts["wrongly refused"] + counts["hung"] else 0


if __name__ == "__main__":
    sys.exit(main())
