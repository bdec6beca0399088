"""A row of docs/platforms.md: what this machine is, what ran on it, and how fast it is beside NumPy in the same run.

    python benchmarks/platforms.py --job .ci/run --junit junit.xml [--junit MORE.xml] [--install "pip install ."]
    python benchmarks/platforms.py --job .ci/run --cross-compiled junit.xml

On the machine in question, with the Python in question; the tests have run before, with ``--junitxml``.  It runs the
demo, times a few formulas, and writes ``benchmarks/results/platforms/<system>-<machine>-<python>.json`` (``--out``
names another folder).  With ``--cross-compiled``, a report of ``tests/compilers/test_cross_compiled.py``, it writes a
row for each target instead: cells were compiled for it, and nothing ran.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "platforms"

#: Arrays that stay in a core's own cache, so that it is not memory that is measured; fewer where a number costs much.
ELEMENTS, ELEMENTS_EMULATED = 20_000, 5_000
#: Formula in C -> the same in NumPy.  The first needs no function of libm.
FORMULAS: dict[str, str] = {
    "3*x*x + 2*x + 1": "3*x*x + 2*x + 1",
    "sqrt(x*x + y*y)": "np.sqrt(x*x + y*y)",
    "exp(-x*x)": "np.exp(-x*x)",
    "log(1 + x)": "np.log(1 + x)",
    "sin(x)*cos(y)": "np.sin(x)*np.cos(y)",
    "pow(x, y)": "np.power(x, y)",
    "tanh(x)": "np.tanh(x)",
}


def description() -> dict[str, Any]:
    """System, machine, C library, Python, NumPy and compiler."""
    import numpy as np

    from ufunc_magic.compilers import describe, find

    free_threads = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    return {
        "system": _system(),
        "machine": platform.machine(),
        "libc": _c_library(),
        "python": platform.python_version() + "t" * free_threads,
        "numpy": np.__version__,
        "compiler": describe(find()).version,
        "processor": _processor(),
    }


def _system() -> str:
    if sys.platform.startswith("linux"):
        try:
            return f"Linux ({platform.freedesktop_os_release()['PRETTY_NAME'].split(' (')[0]})"
        except (OSError, KeyError):
            return "Linux"
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{platform.system()} {platform.release()}"


def _c_library() -> str:
    try:
        return str(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):
        return "musl" if sys.platform.startswith("linux") else "the system's"


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""


def _processor() -> str:
    model = re.search(r"^model name\s*:\s*(.+)$", _cpuinfo(), re.M)
    return model[1] if model else platform.processor() or platform.machine()


def _emulated() -> bool:
    """Whether it shows that another processor plays this one: older qemu-user passes an x86's /proc/cpuinfo on."""
    return platform.machine() not in ("x86_64", "AMD64", "i386", "i686") and "vendor_id" in _cpuinfo()


def tests(reports: Sequence[str]) -> dict[str, Any]:
    """What pytest's reports say: how many passed, failed and were skipped, in which files, and why not.

    A test that is in several reports counts as it ended in the last one.
    """
    counts: collections.Counter[str] = collections.Counter()
    files: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    failures = []
    cases = {
        (case.get("classname", ""), case.get("name", "")): case
        for report in reports
        for case in ElementTree.parse(report).iter("testcase")
    }
    for (module, name), case in cases.items():
        outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        where = _file(module or name)  # a module that is skipped whole is a name alone
        files[where] += 1
        if outcome is None:
            counts["passed"] += 1
        elif outcome.tag == "skipped":
            counts["skipped"] += 1
            reasons[outcome.get("message", "")] += 1
        else:
            counts["failed"] += 1
            failures.append(f"{where}::{name}")
    return {
        **{kind: counts[kind] for kind in ("passed", "failed", "skipped")},
        "files": dict(sorted(files.items())),
        "failures": failures,
        "skips": dict(reasons.most_common()),
    }


def _file(name: str) -> str:
    """``tests.store.test_cache.TestKeys`` -> ``tests/store/test_cache.py``."""
    parts = name.split(".")
    last = next((n for n, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    return "/".join(parts[: last + 1]) + ".py"


def demo() -> str:
    """Whether the README's demo works: ``"ran"``, or its last words."""
    done = subprocess.run([sys.executable, "-m", "ufunc_magic", "demo"], capture_output=True, text=True, check=False)
    words = (done.stderr or done.stdout).strip().splitlines()
    return "ran" if done.returncode == 0 else f"failed: {words[-1] if words else done.returncode}"


def ratios(elements: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each formula as a ufunc and in NumPy, in turns, and how many times faster the ufunc is."""
    import numpy as np

    import ufunc_magic as um

    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.1, 3, elements), rng.uniform(0.1, 3, elements)
    rows = {}
    for formula, expression in FORMULAS.items():
        both = "y" in formula
        head = "double f(double x, double y)" if both else "double f(double x)"
        f = um.compile_c(f"#include <math.h>\n{head} {{ return {formula}; }}\n")["f"]
        ours: Callable[[], Any] = (lambda f=f: f(x, y)) if both else (lambda f=f: f(x))
        numpy: Callable[[], Any] = eval(f"lambda: {expression}", {"np": np, "x": x, "y": y})
        np.testing.assert_allclose(ours(), numpy(), rtol=1e-13)
        seconds = in_turns([ours, numpy], rounds=15 if elements < ELEMENTS else 101)
        rows[formula] = {"ours": seconds[0] * 1e3, "numpy": seconds[1] * 1e3, "ratio": seconds[1] / seconds[0]}
    return rows


def in_turns(calls: Sequence[Callable[[], Any]], *, rounds: int) -> list[float]:
    """Median seconds of each call, A B A B."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for place, call in enumerate(calls):
            start = time.perf_counter()
            call()
            seconds[place].append(time.perf_counter() - start)
    return [statistics.median(times) for times in seconds]


def cross_compiled(report: str) -> dict[str, dict[str, Any]]:
    """For each target, the cells that were compiled for it and what they export looked at."""
    rows: dict[str, dict[str, Any]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        case_name = re.fullmatch(
            r"test_a_cell_compiles_for_a_system_that_is_not_here\[(.+)-(c|c\+\+|cuda)\]", case.get("name", "")
        )
        if case_name is None or case.find("skipped") is not None:
            continue
        row = rows.setdefault(case_name[1], {"compiled": [], "failed": []})
        failed = case.find("failure") is not None or case.find("error") is not None
        row["failed" if failed else "compiled"].append(case_name[2])
    return rows


def _write(folder: Path, name: str, row: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="the command that this row comes from")
    parser.add_argument("--junit", action="append", default=[], help="a report of pytest; may be repeated")
    parser.add_argument("--install", default="a checkout", help="how the package came here")
    parser.add_argument("--compiler", default="", help="what else is to be said of the compiler")
    parser.add_argument("--emulated", action="store_true", help="another kind of processor plays this one")
    parser.add_argument("--cross-compiled", default="", help="a report of tests/compilers/test_cross_compiled.py")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    common = {"date": datetime.date.today().isoformat(), "job": options.job}
    if options.cross_compiled:
        for target, row in sorted(cross_compiled(options.cross_compiled).items()):
            _write(options.out, f"cross-{target}", {"target": target, **row, **common})
        return
    with tempfile.TemporaryDirectory(prefix="ufunc-magic-platforms-", ignore_cleanup_errors=True) as cache:
        os.environ["UFUNC_MAGIC_CACHE"] = cache
        emulated = options.emulated or _emulated()
        row = {**description(), "emulated": emulated, "install": options.install, "demo": demo(), **common}
        row["compiler"] += f", {options.compiler}" if options.compiler else ""
        elements = ELEMENTS_EMULATED if emulated else ELEMENTS
        row |= {"tests": tests(options.junit), "elements": elements, "speed": ratios(elements)}
    version = re.match(r"\d+\.\d+", row["python"])
    python = (version[0] if version else row["python"]) + ("t" if row["python"].endswith("t") else "")
    _write(options.out, f"{platform.system().lower()}-{row['machine'].lower()}-{python}", row)


if __name__ == "__main__":
    main()
