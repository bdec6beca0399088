"""From Shift-Enter to functions and to the table: against the bare compiler, and against %%cython.

    python benchmarks/first_second.py                        five to ten minutes
    python benchmarks/first_second.py first_second_before    writes results/first_second_before.json
    python benchmarks/first_second.py NAME --only cdef "C++"    Cython cells of these names alone
    python benchmarks/first_second.py --shortcuts               results/shortcuts.json: each shortcut on and off
    python benchmarks/first_second.py --shortcuts parts all     of these names alone, the others' figures stay

Candidates take turns, every new cell is new (a constant changes), figures are medians of 15, of Cython cells of 7 (of 3
where those take too long), and ratios are medians of the turns' ratios.  CPU time is of the process and the compilers
that it has waited for: it says more than the clock where others work on the machine, and less where several cores work
at the same time.

"Bare gcc" is `gcc -O3 -march=native -shared` of the formula and a loop as one writes them by hand.
What says "kernel" is a Jupyter kernel of this Python: from the request to the moment it is idle again.  %%cython and
%%cython_ufunc both start with an empty cache and have the flags that a user writes for that cell.

``--shortcuts`` compares two kernels for each shortcut, one with it and one without, cell by cell in turns; which kernel
is first changes each turn.  Each cell starts when the compilers that a kernel started after the last one have ended,
as in a notebook whose user reads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-first-second-")
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="ufunc-magic-cython-")  # where %%cython has its cache
os.environ["IPYTHONDIR"] = os.environ["XDG_CACHE_HOME"]

import machine
import psutil
from jupyter_client import KernelManager

import ufunc_magic as um
from ufunc_magic.languages import cython
from ufunc_magic.model import Options

RESULTS = Path(__file__).parent / "results"
SCRATCH = Path(tempfile.mkdtemp(prefix="ufunc-magic-bare-"))
TURNS, CYTHON_TURNS = 15, 7
#: Seconds after which a candidate gets no further turn, if it had three.
ENOUGH = 45
C_CELL = "#include <math.h>\ndouble f(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}\n"
BY_HAND = """#include <math.h>
static double f(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}
void loop(const double *a, double *out, long n) {{
    for (long i = 0; i < n; i++) out[i] = f(a[i]);
}}
"""
#: Name -> (line of %%cython, line of %%cython_ufunc, cell); {0} makes each a new one.
CYTHON_CELLS: dict[str, tuple[str, str, str]] = {
    "scalar def": (
        "",
        "",
        "from libc.math cimport exp\ndef f(double x, double s):\n    return exp(-x*x / (2*s*s)) + {0}\n",
    ),
    "cdef loop": (
        "",
        "",
        "cdef double f(double x) except? -2:\n    return x ** 2 - x + {0}\n\n"
        "def integrate(double a, double b, int n):\n    cdef int i\n    cdef double s = 0, dx = (b - a) / n\n"
        "    for i in range(n):\n        s += f(a + i * dx)\n    return s * dx\n",
    ),
    "memoryview": (
        "",
        "",
        "def total(double[:] v):\n    cdef double s = {0}\n    cdef Py_ssize_t i\n"
        "    for i in range(v.shape[0]):\n        s += v[i]\n    return s\n",
    ),
    "C++ vector": (
        "-+",
        "-+",
        "from libcpp.vector cimport vector\n\ndef primes(int count):\n    cdef vector[int] known\n"
        "    cdef int n = 2, p\n    while <int>known.size() < count + {0}:\n        for p in known:\n"
        "            if n % p == 0:\n                break\n        else:\n            known.push_back(n)\n"
        "        n += 1\n    return known\n",
    ),
    "prange, nogil": (
        "-c=-fopenmp --link-args=-fopenmp",
        "-c=-fopenmp --link-args=-fopenmp",
        "from cython.parallel cimport prange\n\ndef norm(double[:] v):\n    cdef double s = {0}\n"
        "    cdef Py_ssize_t i\n    for i in prange(v.shape[0], nogil=True):\n        s += v[i] * v[i]\n    return s\n",
    ),
    "extension type": (
        "",
        "",
        "cdef class Walk:\n    cdef public double x\n\n    def __init__(self, double x):\n        self.x = x + {0}\n\n"
        "    cpdef double step(self, double d):\n        self.x += d\n        return self.x\n",
    ),
    "numpy cimport": (
        "",
        "",
        "import numpy as np\ncimport numpy as cnp\ncnp.import_array()\n\n"
        "def squares(cnp.ndarray[cnp.float64_t, ndim=1] a):\n    cdef Py_ssize_t i\n"
        "    cdef cnp.ndarray[cnp.float64_t, ndim=1] out = np.empty(a.shape[0])\n"
        "    for i in range(a.shape[0]):\n        out[i] = a[i] * a[i] + {0}\n    return out\n",
    ),
}


class Cost(NamedTuple):
    """Seconds by the clock, and of CPUs."""

    wall: float
    cpu: float


class Clock:
    """Started when it is made."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process
        self.cpu = sum(process.cpu_times())
        self.start = time.perf_counter()

    def cost(self) -> Cost:
        wall = time.perf_counter() - self.start
        return Cost(wall, sum(self.process.cpu_times()) - self.cpu)


Candidate = Callable[[str], Cost]


class Kernel:
    """A Jupyter kernel with both extensions, which has compiled a cell of each.

    Parameters
    ----------
    warm : bool
        Compile these cells.
    first : str
        What it runs before the extensions are loaded.
    variables : mapping
        Environment variables of its own.
    """

    def __init__(self, *, warm: bool = True, first: str = "", variables: Mapping[str, str] | None = None) -> None:
        self.manager = KernelManager()
        self.manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel(env={**os.environ, **(variables or {})})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.run(f"{first}\n%load_ext ufunc_magic\n%load_ext cython\nimport numpy as np")
        if warm:
            self.run("%%c_ufunc\ndouble warm(double x) { return x; }\n")
            self.run("%%cython_ufunc\ndef warm(double x):\n    return x\n")
            self.run("%%cython\ndef warm(double x):\n    return x\n")

    def run(self, code: str) -> Cost:
        """From the request to the moment the kernel is idle."""
        clock = Clock(self.process)
        message = self.client.execute(code)
        while True:
            answer = self.client.get_iopub_msg(timeout=180)
            if answer["parent_header"].get("msg_id") != message:
                continue
            content = answer["content"]
            if answer["msg_type"] == "error":
                raise RuntimeError(f"{code}\n{content['ename']}: {content['evalue']}")
            if answer["msg_type"] == "status" and content["execution_state"] == "idle":
                return clock.cost()

    def settle(self) -> None:
        """Wait until no process that the kernel has started computes: twice in a row, 10 s at most."""
        quiet, end = 0, time.perf_counter() + 10
        while quiet < 2 and time.perf_counter() < end:
            time.sleep(0.1)
            with contextlib.suppress(psutil.Error):
                states = [child.status() for child in self.process.children(recursive=True)]
                busy = {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP} & {*states}
                quiet = 0 if busy else quiet + 1

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def bare(constant: str) -> Cost:
    """The bare compiler."""
    command = ["gcc", "-O3", "-march=native", "-fPIC", "-shared", "-x", "c", "-", "-o", str(SCRATCH / "bare.so"), "-lm"]
    clock = Clock(psutil.Process())
    subprocess.run(command, input=BY_HAND.format(constant).encode(), check=True)
    return clock.cost()


def to_callable(constant: str) -> Cost:
    """From the text to the first result, in this process."""
    clock = Clock(psutil.Process())
    um.compile_c(C_CELL.format(constant))["f"](0.25)
    return clock.cost()


def in_turns(candidates: dict[str, Candidate], *, first: int, turns: int = TURNS) -> dict[str, list[Cost]]:
    """What each candidate costs, A B C A B C, each with a constant of its own."""
    costs: dict[str, list[Cost]] = {name: [] for name in candidates}
    start = time.perf_counter()
    for turn in range(-1, turns):  # the first turn fills the file cache
        for number, (name, candidate) in enumerate(candidates.items()):
            cost = candidate(f"{first + turn + 1}.{number + 1}")
            if turn >= 0:
                costs[name].append(cost)
        if turn >= 2 and time.perf_counter() - start > ENOUGH:
            break
    return costs


def figures(costs: dict[str, list[Cost]], *, against: str) -> dict[str, Any]:
    """Medians, and ratios to the one that all are set against."""
    theirs = costs[against]
    return {
        name: {
            "turns": len(ours),
            "median, ms": round(statistics.median(c.wall for c in ours) * 1e3, 1),
            "least, ms": round(min(c.wall for c in ours) * 1e3, 1),
            f"ratio to {against}": round(
                statistics.median(a.wall / b.wall for a, b in zip(ours, theirs, strict=True)), 3
            ),
            "CPU, mean, ms": round(statistics.fmean(c.cpu for c in ours) * 1e3, 1),
            "CPU, ratio of means": round(sum(c.cpu for c in ours) / sum(c.cpu for c in theirs), 3),
        }
        for name, ours in costs.items()
    }


def c_cells(kernel: Kernel) -> dict[str, Any]:
    """A new C cell to the function and to the table; the same cell again."""
    again = "%%c_ufunc\n" + C_CELL.format("0.5")
    kernel.run(again)
    um.compile_c(C_CELL.format("0.25"))
    return figures(
        in_turns(
            {
                "bare gcc": bare,
                "compile_c to the first result": to_callable,
                "kernel, -q": lambda constant: kernel.run("%%c_ufunc -q\n" + C_CELL.format(constant)),
                "kernel, with the table": lambda constant: kernel.run("%%c_ufunc\n" + C_CELL.format(constant)),
                "kernel, the same cell again": lambda _: kernel.run(again),
                "kernel, 'pass'": lambda _: kernel.run("pass"),
            },
            first=1000,
        ),
        against="bare gcc",
    )


def new_kernel() -> dict[str, Any]:
    """The first cell of a new kernel, from the cache and new, after both extensions are loaded."""
    known = "%%c_ufunc\n" + C_CELL.format("0.5")
    costs: dict[str, list[float]] = {"from the cache": [], "new": []}
    for turn in range(5):
        for name, cell in {"from the cache": known, "new": "%%c_ufunc\n" + C_CELL.format(f"{2000 + turn}.5")}.items():
            kernel = Kernel(warm=False)
            costs[name].append(kernel.run(cell).wall)
            kernel.close()
    return {name: {"median, ms": round(statistics.median(seconds) * 1e3, 1)} for name, seconds in costs.items()}


def cython_cells(kernel: Kernel, only: Sequence[str]) -> dict[str, Any]:
    """New Cython cells without a table, as %%cython shows none.

    Python's headers are compiled, as they are in the background after somebody's first cell of each language.
    """
    for cplus in (False, True):
        cython.precompile_headers(options=Options(cplus=cplus))
    results = {}
    for number, (name, (theirs, ours, cell)) in enumerate(CYTHON_CELLS.items()):
        if only and not any(word in name for word in only):
            continue

        def candidate(line: str, cell: str = cell) -> Candidate:
            return lambda constant: kernel.run(f"{line}\n{cell.replace('{0}', constant.replace('.', ''))}")

        costs = in_turns(
            {"%%cython": candidate(f"%%cython {theirs}"), "%%cython_ufunc": candidate(f"%%cython_ufunc -q {ours}")},
            first=100 * (number + 1),
            turns=CYTHON_TURNS,
        )
        results[name] = figures(costs, against="%%cython")
        pairs = zip(costs["%%cython"], costs["%%cython_ufunc"], strict=True)
        results[name]["turns in which ours took longer"] = sum(ours.wall > theirs.wall for theirs, ours in pairs)
        print(name, json.dumps(results[name]), flush=True)
    return results


#: Name -> (line of the magic, cell); {0} makes each a new one.
SHORTCUT_CELLS = {
    "C formula": ("%%c_ufunc", C_CELL.replace("{{", "{").replace("}}", "}")),
    "C++ formula": ("%%c_ufunc -+", "#include <cmath>\ndouble f(double a) { return std::exp(-a * a) + {0}; }\n"),
    "C++ containers": (
        "%%c_ufunc -+",
        "#include <algorithm>\n#include <vector>\n"
        "double f(double a, double b) {\n    std::vector<double> v{a, b, {0}};\n"
        "    std::sort(v.begin(), v.end());\n    return v[1];\n}\n",
    ),
    "C, 30 functions": (
        "%%c_ufunc",
        "#include <math.h>\n"
        + "".join(f"double f{n}(double a) {{ return exp(-{n} * a) + {{0}} * a; }}\n" for n in range(30)),
    ),
    "Cython, scalar def": ("%%cython_ufunc", CYTHON_CELLS["scalar def"][2]),
    "Cython, C++ vector": ("%%cython_ufunc -+", CYTHON_CELLS["C++ vector"][2]),
}


class Shortcut(NamedTuple):
    """What a kernel runs first to be without a shortcut, and the cells that it is for, with their turns.

    ``others`` is run first in both kernels: it turns off what works only together with the shortcut.
    """

    off: str
    cells: Mapping[str, int]
    others: str = ""


_PROGRAMS = "from ufunc_magic.shortcuts import driver_programs as programs\n"
_NO_WAITING = f"""{_PROGRAMS}from ufunc_magic import shortcuts
programs.take_compiler = lambda *_: None
shortcuts.start_waiting = lambda **_: None
"""
_NO_STAND_INS = f"{_PROGRAMS}programs.use_stand_ins = lambda tool, words, folder: (list(words), [])\n"
_NO_PROGRAMS = f"{_PROGRAMS}programs.list_programs = lambda *_: ()\n"
#: A waiting compiler may read a portable cell as well.
_NO_FIRST_OBJECT = """
from dataclasses import replace
from ufunc_magic.cells.cell_settings import CellBuild
from ufunc_magic.languages.c import c_unit
c_unit._is_whole = lambda *_: False
ahead = CellBuild.ahead.fget
CellBuild.ahead = property(lambda self: ahead(replace(self, this_cpu=True)))
"""
_NO_PARTS = """
from ufunc_magic.cells.cell_settings import CellBuild
CellBuild.compile_in_parts = lambda *_: None
"""
_NO_HEADERS = """
from ufunc_magic.languages.cython import python_headers
python_headers.choose_header_flags = lambda *_, **__: ()
"""
SHORTCUTS = {
    "waiting compilers": Shortcut(_NO_WAITING, {"C formula": 24, "C++ formula": 12, "C++ containers": 12}),
    "stand-ins": Shortcut(_NO_STAND_INS, {"C formula": 24, "C++ containers": 12}),
    "programs without their driver": Shortcut(
        _NO_PROGRAMS, {"C formula": 24, "C++ containers": 12}, _NO_WAITING + _NO_STAND_INS
    ),
    "these three": Shortcut(_NO_PROGRAMS, {"C formula": 24, "C++ containers": 12}),
    "this CPU first": Shortcut(_NO_FIRST_OBJECT, {"C formula": 24, "C++ formula": 12, "C, 30 functions": 9}),
    "parts": Shortcut(_NO_PARTS, {"C, 30 functions": 15}),
    "compiled headers": Shortcut(_NO_HEADERS, {"Cython, scalar def": 9, "Cython, C++ vector": 9}),
    "all": Shortcut(
        "os.environ['UFUNC_MAGIC_PLAIN'] = '1'\n",
        {"C formula": 15, "C++ containers": 9, "C, 30 functions": 6, "Cython, scalar def": 5, "Cython, C++ vector": 5},
    ),
}
_PRECOMPILE = """
from ufunc_magic.languages import cython
from ufunc_magic.model import Options
for cplus in (False, True):
    cython.precompile_headers(options=Options(cplus=cplus))
"""


def compare_kernels(on: Kernel, off: Kernel, name: str, *, turns: Mapping[str, int]) -> dict[str, Any]:
    """What new cells take in two kernels, to the functions (-q) and to the table; the ratios are off to on."""
    result: dict[str, Any] = {}
    magic, text = SHORTCUT_CELLS[name]
    for option, count in turns.items():
        pairs = []
        for turn in range(-2, count):
            pair = {}
            for kernel in (on, off) if turn % 2 else (off, on):
                on.settle()
                off.settle()
                constant = str(random.randrange(10**6, 10**9))
                pair[kernel] = kernel.run(f"{magic} {option}\n{text.replace('{0}', constant)}")
            if turn >= 0:
                pairs.append((pair[on], pair[off]))
        low, middle, high = statistics.quantiles((theirs.wall / ours.wall for ours, theirs in pairs), n=4)
        result[option or "table"] = {
            "turns": count,
            "on, median, ms": round(statistics.median(ours.wall for ours, _ in pairs) * 1e3, 1),
            "off, median, ms": round(statistics.median(theirs.wall for _, theirs in pairs) * 1e3, 1),
            "off / on": round(middle, 3),
            "quartiles": [round(low, 3), round(high, 3)],
            "on, least, ms": round(min(ours.wall for ours, _ in pairs) * 1e3, 1),
            "off, least, ms": round(min(theirs.wall for _, theirs in pairs) * 1e3, 1),
            "CPU, off / on": round(sum(t.cpu for _, t in pairs) / sum(o.cpu for o, _ in pairs), 3),
        }
    return result


def measure_shortcuts(names: Sequence[str]) -> None:
    """Measure shortcuts, and write their figures to results/shortcuts.json, where those of others stay."""
    path = RESULTS / "shortcuts.json"
    with contextlib.suppress(OSError):  # other work on the machine waits for this one and its kernels
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    for name in names or SHORTCUTS:
        shortcut, kernels = SHORTCUTS[name], list[Kernel]()
        headers = _PRECOMPILE if any("Cython" in cell for cell in shortcut.cells) else ""
        for first in (shortcut.others, shortcut.others + shortcut.off):
            folder = tempfile.mkdtemp(prefix="ufunc-magic-shortcuts-")
            first = f"import os, ufunc_magic\n{first}{headers}"
            kernels.append(Kernel(first=first, variables={"UFUNC_MAGIC_CACHE": folder}))
        for cell, turns in shortcut.cells.items():
            figures = compare_kernels(*kernels, cell, turns={"-q": turns, "": max(4, turns // 3)})
            results = json.loads(path.read_text()) if path.exists() else {}
            results["machine"] = machine.describe("cython", "ipykernel", "ufunc_magic")
            results.setdefault(name, {})[cell] = {"load": round(os.getloadavg()[0], 1), **figures}
            path.write_text(json.dumps(results, indent=1) + "\n")
            print(name, cell, json.dumps(figures), flush=True)
        for kernel in kernels:
            kernel.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?", default="first_second")
    parser.add_argument("--only", nargs="+", default=())
    parser.add_argument("--shortcuts", nargs="*", choices=SHORTCUTS)
    arguments = parser.parse_args()
    if arguments.shortcuts is not None:
        measure_shortcuts(arguments.shortcuts)
        return
    kernel = Kernel()
    results: dict[str, Any] = {
        "machine": machine.describe("cython", "ipykernel", "ufunc_magic"),
        "load when it began": os.getloadavg()[0],
    }
    if not arguments.only:
        results["C cell"] = c_cells(kernel)
        print(json.dumps(results, indent=1), flush=True)
        results["first cell of a new kernel"] = new_kernel()
    results["Cython cells, kernel, without a table"] = cython_cells(kernel, arguments.only)
    kernel.close()
    results["load when it ended"] = os.getloadavg()[0]
    (RESULTS / f"{arguments.name}.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
