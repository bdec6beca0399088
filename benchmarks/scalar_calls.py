"""What calls with one number cost: a ufunc, the function that %%cython makes, and math's; and arrays of one element.

    python benchmarks/scalar_calls.py

Everything is measured in turns, so often that a busy machine does not matter; figures are the least of the turns, and
the machine's speed divides out in the ratios.  The result goes to benchmarks/results/scalar_calls.json.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-scalar-")
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="ufunc-magic-cython-")

import machine
import numpy as np
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "scalar_calls.json"
C = "#include <math.h>\ndouble sine(double x) { return sin(x); }\ndouble minus(double x) { return -x; }\n"
C += "double plus(double x, double y) { return x + y; }\n"
CYTHON = "from libc.math cimport sin\ndef sine(double x):\n    return sin(x)\n"
CALLS, TURNS = 5_000, 150


def least(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Nanoseconds of each, in turns."""
    found = dict.fromkeys(calls, math.inf)
    for _ in range(TURNS):
        for name, call in calls.items():
            found[name] = min(found[name], timeit.timeit(call, number=CALLS) / CALLS * 1e9)
    nothing = found.pop("nothing")
    return {name: round(seconds - nothing, 1) for name, seconds in found.items()}


def main() -> None:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "cython")
    shell.run_cell_magic("cython", "", CYTHON)
    theirs = shell.user_ns["sine"]
    c, ours = um.compile_c(C), um.compile_cython(CYTHON)["sine"]
    sine, minus, plus = c["sine"], c["minus"], c["plus"]
    number, float64 = 0.5, np.float64(0.5)
    numbers = least(
        {
            "nothing": lambda: None,
            "math.sin(0.5)": lambda: math.sin(number),
            "%%cython def, f(0.5)": lambda: theirs(number),
            "%%cython_ufunc def, f(0.5)": lambda: ours(number),
            "%%c_ufunc, f(0.5)": lambda: sine(number),
            "%%c_ufunc, f(np.float64(0.5))": lambda: sine(float64),
            "np.sin(0.5)": lambda: np.sin(number),
            "%%c_ufunc, plus(0.5, 0.5)": lambda: plus(number, number),
            "np.add(0.5, 0.5)": lambda: np.add(number, number),
        }
    )
    a, b, out = np.ones(1), np.ones(1), np.empty(1)
    arrays = least(
        {
            "nothing": lambda: None,
            "minus(a)": lambda: minus(a),
            "np.negative(a)": lambda: np.negative(a),
            "minus(a, out)": lambda: minus(a, out),
            "np.negative(a, out)": lambda: np.negative(a, out),
            "plus(a, b)": lambda: plus(a, b),
            "np.add(a, b)": lambda: np.add(a, b),
            "plus(a, b, out)": lambda: plus(a, b, out),
            "np.add(a, b, out)": lambda: np.add(a, b, out),
        }
    )
    ratios = {
        "minus(a) / np.negative(a)": arrays["minus(a)"] / arrays["np.negative(a)"],
        "minus(a, out) / np.negative(a, out)": arrays["minus(a, out)"] / arrays["np.negative(a, out)"],
        "plus(a, b) / np.add(a, b)": arrays["plus(a, b)"] / arrays["np.add(a, b)"],
        "plus(a, b, out) / np.add(a, b, out)": arrays["plus(a, b, out)"] / arrays["np.add(a, b, out)"],
        "%%c_ufunc, f(0.5) / np.sin(0.5)": numbers["%%c_ufunc, f(0.5)"] / numbers["np.sin(0.5)"],
        "%%c_ufunc / %%cython, f(0.5)": numbers["%%c_ufunc, f(0.5)"] / numbers["%%cython def, f(0.5)"],
        "%%cython_ufunc / %%cython, f(0.5)": numbers["%%cython_ufunc def, f(0.5)"] / numbers["%%cython def, f(0.5)"],
        "plus(0.5, 0.5) / np.add(0.5, 0.5)": numbers["%%c_ufunc, plus(0.5, 0.5)"] / numbers["np.add(0.5, 0.5)"],
    }
    results = {
        "machine": machine.describe("cython", "ufunc_magic"),
        "load": os.getloadavg()[0],
        "numbers, ns": numbers,
        "arrays of one element, ns": arrays,
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
