"""What %%cython_ufunc must reach: against Cython's own work and one bare C compile, %%cython, and @cython.ufunc.

    python benchmarks/cython_cells.py                  everything, about twenty minutes
    python benchmarks/cython_cells.py compiling        one part
    python benchmarks/cython_cells.py lectures 0 25    some cells of lecture_cells.py; the others keep their rows

Every ratio is of two things measured in turns in this one run; figures are medians.  The result goes to
benchmarks/results/cython.json.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import numpy as np
from Cython.Build import cythonize
from Cython.Compiler.Main import CompilationOptions, compile_single
from Cython.Compiler.Options import default_options
from IPython.core.interactiveshell import InteractiveShell
from lecture_cells import WAYS, read_cells
from reach import FORMULAS, in_turns  # gives this process an empty cache

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "cython.json"
SCRATCH = Path(tempfile.mkdtemp(prefix="ufunc-magic-cython-scratch-"))
INCLUDES = [f"-I{sysconfig.get_paths()['include']}", f"-I{np.get_include()}"]

#: Of the bare C compile: what %%cython compiles with, which is what this Python was compiled with.
LEVEL = (re.findall(r"-O[0-3sg]", sysconfig.get_config_var("CFLAGS") or "") or ["-O2"])[-1]
#: Cells as users write them; {0} makes each a new one.  Name -> text, C++?
CELLS: dict[str, tuple[str, bool]] = {
    "one formula": (
        "from libc.math cimport exp, log\n\n\n"
        "cdef double f(double a) noexcept nogil:\n    return 4*a + exp(-a) if a < 0.5 else log(a) + {0}\n",
        False,
    ),
    "integral and its steps": (
        "cdef double f(double x) except? -2:\n    return x ** 2 - x + {0}\n\n\n"
        "def integrate_f(double a, double b, long n):\n    cdef long i\n    cdef double s = 0, dx = (b - a) / n\n"
        "    for i in range(n):\n        s += f(a + i * dx)\n    return s * dx\n",
        False,
    ),
    "memoryview": (
        "# ufunc: (n)->()\ncdef double total(double[:] v) noexcept nogil:\n"
        "    cdef double s = {0}\n    cdef Py_ssize_t i\n"
        "    for i in range(v.shape[0]):\n        s += v[i]\n    return s\n",
        False,
    ),
    "class and numpy": (
        "import numpy as np\ncimport numpy as cnp\n\n\ncdef class Walk:\n    cdef public double x\n\n"
        "    def __init__(self, double x):\n        self.x = x + {0}\n\n"
        "    cpdef double step(self, double d):\n        self.x += d\n        return self.x\n\n\n"
        "def squares(cnp.ndarray[cnp.float64_t, ndim=1] a):\n    return np.asarray(a) ** 2\n",
        False,
    ),
    "vector of primes": (
        "from libcpp.vector cimport vector\n\n\ndef primes(int count):\n    cdef vector[int] found\n"
        "    cdef int n = 2, p\n    while <int>found.size() < count + {0}:\n        for p in found:\n"
        "            if n % p == 0:\n                break\n        else:\n            found.push_back(n)\n"
        "        n += 1\n    return found\n",
        True,
    ),
}


def clocked(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> tuple[float, Any]:
    """Seconds that the call took, and its answer."""
    start = time.perf_counter()
    answer = call(*arguments, **keywords)
    return time.perf_counter() - start, answer


def _translate(path: Path, *, cplus: bool) -> Path:
    """Cython's translation alone, in this process."""
    options = CompilationOptions(default_options, cplus=cplus, language_level=3)
    result = compile_single(str(path), options, None)
    assert result.num_errors == 0
    return Path(result.c_file)


def compiling() -> dict[str, Any]:
    """A new cell against translation and one bare C compile; against %%cython on the same cell."""
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "cython")
    found: dict[str, Any] = {}
    for number, (name, (cell, cplus)) in enumerate(CELLS.items()):
        # -f: %%cython would find the cells of an earlier run.
        line = f"-f -I {np.get_include()}" + (" -+" if cplus else "")
        times: dict[str, list[float]] = {"ours": [], "translation": [], "bare C compile": [], "%%cython": []}
        for n in range(1, 10):
            text = cell.replace("{0}", str(n))
            times["ours"] += [clocked(um.compile_cython, text, cplus=cplus)[0]]
            path = SCRATCH / f"_ufm_bare_{number}_{n}.pyx"
            path.write_text(text)
            seconds, translated = clocked(_translate, path, cplus=cplus)
            times["translation"] += [seconds]
            command = ["g++" if cplus else "gcc", LEVEL, "-fPIC", "-shared", "-w", *INCLUDES, str(translated)]
            command += ["-o", str(path.with_suffix(".so")), "-lm"]
            times["bare C compile"] += [clocked(subprocess.run, command, check=True)[0]]
            times["%%cython"] += [clocked(shell.run_cell_magic, "cython", line, text)[0]]
        sums = [a + b for a, b in zip(times["translation"], times["bare C compile"], strict=True)]
        found[name] = {f"{k}, s": round(statistics.median(v), 4) for k, v in times.items()} | {
            "level": LEVEL,
            "ours / (translation + bare C compile)": _ratio(times["ours"], sums),
            "ours / %%cython": _ratio(times["ours"], times["%%cython"]),
        }
    return found


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return round(statistics.median([a / b for a, b in zip(ours, theirs, strict=True)]), 3)


def again() -> dict[str, Any]:
    """The same cell in the same process, and in a new one that has imported ufunc_magic."""
    found = {}
    for name, (cell, cplus) in CELLS.items():
        text = cell.replace("{0}", "100")
        um.compile_cython(text, cplus=cplus)
        same = statistics.median([clocked(um.compile_cython, text, cplus=cplus)[0] for _ in range(50)])
        script = (
            "import sys, time, ufunc_magic as um, ufunc_magic.api, ufunc_magic.pipeline\n"
            f"t = time.perf_counter(); b = um.compile_cython({text!r}, cplus={cplus})\n"
            "print(time.perf_counter() - t, b.cached, 'Cython' in sys.modules)"
        )
        fresh = []
        for _ in range(9):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            taken, cached, imported = done.stdout.split()
            assert (cached, imported) == ("True", "False")
            fresh.append(float(taken))
        found[name] = {"same process, ms": same * 1e3, "new process, ms": statistics.median(fresh) * 1e3}
    return found


#: NumPy type letter -> C.
C_TYPES = {
    **dict(zip("bhilq", ("signed char", "short", "int", "long", "long long"), strict=True)),
    **dict(zip("BHILQ", (f"unsigned {c}" for c in ("char", "short", "int", "long", "long long")), strict=True)),
    **dict(zip("fdg", ("float", "double", "long double"), strict=True)),
    **dict(zip("FDG", ("float complex", "double complex", "long double complex"), strict=True)),
}


def _function(name: str, c: str, parameters: str, body: str, *, decorated: bool) -> str:
    head = "@cython.ufunc\n" if decorated else ""
    return f"{head}cdef {c} {name}({parameters}) noexcept nogil:\n    return {body}\n"


def _cython_module(name: str, text: str) -> Any:
    """The text as an extension module, built as setup.py would, with -O3."""
    path = SCRATCH / f"{name}.pyx"
    path.write_text(f"# cython: language_level=3, cdivision=True\ncimport cython\nfrom libc.math cimport *\n{text}")
    cythonize([str(path)], quiet=True, force=True)
    command = ["gcc", "-O3", "-fPIC", "-shared", "-w", *INCLUDES, str(path.with_suffix(".c"))]
    subprocess.run([*command, "-o", str(SCRATCH / f"{name}.so"), "-lm"], check=True)
    if str(SCRATCH) not in sys.path:
        sys.path.insert(0, str(SCRATCH))
    return importlib.import_module(name)


def _ours(text: str) -> Any:
    return um.compile_cython(f"# cython: cdivision=True\nfrom libc.math cimport *\n\n\n{text}")


def throughput() -> dict[str, Any]:
    """x*y + x for every number type, contiguous and strided, a million elements; raising and not."""
    texts = {}
    for decorated in (False, True):
        parts = []
        for t, c in C_TYPES.items():
            name = f"f_{ord(t)}"
            parts.append(_function(name, c, f"{c} x, {c} y", "x * y + x", decorated=decorated))
        parts.append(
            ("@cython.ufunc\n" if decorated else "") + "cdef double checked(double x, double y) except? -1:\n"
            "    if x < 0:\n        raise ValueError(x)\n    return x * y + x\n"
        )
        texts[decorated] = "\n\n".join(parts)
    ours, theirs = _ours(texts[False]), _cython_module("rival_types", texts[True])
    found: dict[str, Any] = {}
    for t in [*C_TYPES, "checked"]:
        name = t if t == "checked" else f"f_{ord(t)}"
        dtype = "d" if t == "checked" else t
        x, y = (np.random.default_rng(n).integers(1, 10, 1_000_000).astype(dtype) for n in (1, 2))
        out = np.empty_like(x)
        f, g = ours[name], getattr(theirs, name)
        np.testing.assert_array_equal(f(x, y), g(x, y))
        for layout, (a, b, o) in {"contiguous": (x, y, out), "strided": (x[::2], y[::2], out[::2])}.items():
            times = in_turns(
                {
                    "ours": lambda a=a, b=b, o=o, f=f: f(a, b, o),
                    "cython.ufunc": lambda a=a, b=b, o=o, g=g: g(a, b, o),
                },
                rounds=15,
            )
            found[f"{t} {layout}"] = round(times["cython.ufunc"] / times["ours"], 2)
    return {"unit": "time of @cython.ufunc / ours", **found}


def simd() -> dict[str, Any]:
    """Formulas of a math library's functions, 1e6 doubles on one thread."""
    texts = {}
    for decorated in (False, True):
        parts = []
        for n, (c, _, _) in enumerate(FORMULAS.values()):
            test, question, sides = c.partition("?")
            yes, _, no = sides.partition(":")
            body = f"{yes.strip()} if {test.strip()} else {no.strip()}" if question else c
            parts.append(_function(f"f{n}", "double", "double a", body, decorated=decorated))
        texts[decorated] = "\n\n".join(parts)
    ours, theirs = _ours(texts[False]), _cython_module("rival_math", texts[True])
    found: dict[str, Any] = {}
    for n, (formula, (_, _, interval)) in enumerate(FORMULAS.items()):
        a = np.random.default_rng(n).uniform(*interval, 1_000_000)
        out = np.empty_like(a)
        f, g = ours[f"f{n}"], getattr(theirs, f"f{n}")
        np.testing.assert_allclose(f(a), g(a), rtol=1e-13, atol=1e-13)
        times = in_turns(
            {"ours": lambda f=f, a=a, o=out: f(a, o), "theirs": lambda g=g, a=a, o=out: g(a, o)}, rounds=15
        )
        found[formula] = {
            "ours, ms": round(times["ours"] * 1e3, 4),
            "cython.ufunc, ms": round(times["theirs"] * 1e3, 4),
            "cython.ufunc / ours": round(times["theirs"] / times["ours"], 2),
        }
    return found


ADDITION = """
cdef double plain(double a, double b) noexcept nogil:
    return a + b


cdef double raising(double a, double b) except? -1:
    if a < 0:
        raise ValueError
    return a + b


# ufunc: (n),(n)->()
cdef double dot(double[::1] a, double[::1] b) noexcept nogil:
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s
"""


def overhead() -> dict[str, Any]:
    """One element, out= given; a generalized ufunc against np.vecdot on three numbers."""
    built = um.compile_cython(ADDITION)
    x, y, out = np.ones(1), np.ones(1), np.empty(1)
    names = ("plain", "raising")
    calls: dict[str, Callable[[], Any]] = {n: lambda f=built[n]: f(x, y, out) for n in names}
    times = in_turns({**calls, "np.add": lambda: np.add(x, y, out)}, rounds=101)
    found = {"np.add, ns": times["np.add"] * 1e9}
    found |= {f"{name} / np.add": round(times[name] / times["np.add"], 3) for name in names}
    a, b, o = np.ones((10_000, 3)), np.ones((10_000, 3)), np.empty(10_000)
    times = in_turns({"ours": lambda: built.dot(a, b, o), "np.vecdot": lambda: np.vecdot(a, b, o)})
    return {
        **found,
        "dot of (10000, 3), us": times["ours"] * 1e6,
        "dot / np.vecdot": round(times["ours"] / times["np.vecdot"], 3),
    }


def _start(way: str) -> subprocess.Popen[str]:
    """A process that runs cells in one way, with empty caches."""
    folders = {name: tempfile.mkdtemp(prefix="ufunc-magic-") for name in ("UFUNC_MAGIC_CACHE", "IPYTHONDIR")}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("lecture_cells.py")), way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, text=True, env={**os.environ, **folders}, **pipes)


def lectures(first: str = "0", last: str = "1000") -> dict[str, Any]:
    """A hundred cells by %%cython, with -q and with a table: values, and CPU seconds (the machine may be busy)."""
    known = json.loads(RESULTS.read_text()).get("lectures", {}).get("rows", {}) if RESULTS.exists() else {}
    cells, running = read_cells(), {way: _start(way) for way in WAYS}
    for number in range(int(first), min(int(last), len(cells))):
        row = {}
        for way in WAYS if number % 2 else reversed(WAYS):
            process = running[way]
            assert process.stdin
            assert process.stdout
            print(number, file=process.stdin, flush=True)
            row[way] = json.loads(process.stdout.readline() or '{"fault": "the process ended"}')
            if process.poll() is not None:
                running[way] = _start(way)
        known[str(number)] = row
        print(
            number,
            {way: answer.get("fault", round(answer.get("cpu", 0), 2)) for way, answer in row.items()},
            flush=True,
        )
    for process in running.values():
        process.communicate()
    return {**_summarize(known), "rows": known}


def _summarize(rows: dict[str, Any]) -> dict[str, Any]:
    """How many cells are lost and differ, and quartiles of the ratios to %%cython."""
    cells, found = read_cells(), {"cells": len(rows)}
    for way in [w for w in WAYS if w != "cython"]:
        pairs = {n: (row["cython"], row[way]) for n, row in rows.items() if "fault" not in row["cython"]}
        ratios = sorted(ours["cpu"] / theirs["cpu"] for theirs, ours in pairs.values() if "fault" not in ours)
        found[way] = {
            "lost": [cells[int(n)].calls[0] for n, (_, ours) in pairs.items() if "fault" in ours],
            "other values": [
                cells[int(n)].calls[0]
                for n, (theirs, ours) in pairs.items()
                if theirs.get("values") != ours.get("values")
            ],
            "CPU / %%cython": [round(q, 3) for q in statistics.quantiles(ratios, n=4)] if len(ratios) > 1 else ratios,
        }
    return found


PARTS = (compiling, again, throughput, simd, overhead, lectures)


def main() -> None:
    wanted = sys.argv[1:2] or [part.__name__ for part in PARTS]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    described = machine.describe("cython", "setuptools", "ufunc_magic")
    if not sys.argv[1:]:
        results["machine"] = described
    for part in PARTS:
        if part.__name__ in wanted:
            results[part.__name__] = part(*sys.argv[2:])
            if sys.argv[1:]:  # the other parts are those of another day
                results[part.__name__]["machine"] = described
            shown = {k: v for k, v in results[part.__name__].items() if k != "rows"}
            print(part.__name__, json.dumps(shown, indent=1))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
