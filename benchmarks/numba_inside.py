"""What a call of our ufuncs costs inside ``@njit``, beside the same function written in Numba.

    python benchmarks/numba_inside.py

A loop over an array, one scalar call per element; figures are the best of many, in ns per element.  "sum" adds the
results up, so that calls may overlap; in "chain" each waits for the one before.  "called" is ours, "numba, called"
Numba's function kept from being inlined, "ctypes" the same address called as Numba calls any function of ctypes;
"nothing" shows what a call itself costs.  The result goes to benchmarks/results/numba_inside.json.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "numba_inside.json"
CELL = """
#include <math.h>
double poly(double a) { return a*a*3.0 + a*2.0 + 1.0; }
double branch(double a) { return a < 0.5 ? 4*a + exp(-a) : log(a); }
double nothing(double a) { return a; }
double newton(double a) { double x = a; for (int i = 0; i < 20; i++) x = 0.5*(x + a/x); return x; }
"""


def poly(a: float) -> float:
    return a * a * 3.0 + a * 2.0 + 1.0


def branch(a: float) -> float:
    return 4 * a + math.exp(-a) if a < 0.5 else math.log(a)


def nothing(a: float) -> float:
    return a


def newton(a: float) -> float:
    x = a
    for _ in range(20):
        x = 0.5 * (x + a / x)
    return x


def over(f: Any) -> Callable[..., float]:
    """A compiled loop that calls ``f`` for each element."""

    @numba.njit
    def total(x: Any) -> float:
        s = 0.0
        for value in x:
            s += f(value)
        return s

    return total


def chain(f: Any) -> Callable[..., float]:
    """A compiled loop in which each call waits for the one before."""

    @numba.njit
    def last(x: Any) -> float:
        s = 0.0
        for value in x:
            s = f(value + s * 1e-30)
        return s

    return last


def apart(f: Any) -> Any:
    """Numba's function, which LLVM is told not to inline."""
    f.compile((types.float64,))
    compiled = f.overloads[types.float64,]

    @intrinsic
    def call(_typing: Any, value: Any) -> Any:
        def lowered(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
            context.active_code_library.add_linking_library(compiled.library)
            status, result = context.call_internal_no_propagate(builder, compiled.fndesc, compiled.signature, args)
            made = [i for block in builder.function.blocks for i in block.instructions if isinstance(i, ir.CallInstr)]
            for instruction in made:
                if instruction.callee.name == compiled.fndesc.llvm_func_name:
                    instruction.attributes.add("noinline")
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return types.float64(value), lowered

    return numba.njit(lambda a: call(a))


def measured(functions: dict[str, Callable[..., float]], x: Any) -> dict[str, float]:
    """Best of many, in turns, ns per element."""
    best = dict.fromkeys(functions, math.inf)
    for f in functions.values():
        f(x)
    for _ in range(200):
        for name, f in functions.items():
            start = time.perf_counter()
            f(x)
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: round(seconds / x.size * 1e9, 3) for name, seconds in best.items()}


def main() -> None:
    build = um.compile_c(CELL)
    x = np.random.default_rng(1).uniform(0.1, 2.0, 20_000)
    result = {}
    for name, plain in (("nothing", nothing), ("poly", poly), ("branch", branch), ("newton", newton)):
        for kind, loop in (("sum", over), ("chain", chain)):
            rows = {"numba": loop(numba.njit(plain)), "called": loop(build[name])}
            rows["numba, called"] = loop(apart(numba.njit(plain)))
            rows["ctypes"] = loop(um.interop.ctypes_function(build[name]))
            result[f"{name} {kind}"] = measured(rows, x)
            print(f"{name} {kind}", result[f"{name} {kind}"])
    f = build.branch
    vectorized = numba.vectorize(["f8(f8)"])(branch)
    arrays = {"ours": numba.njit(lambda a: f(a)), "numba": vectorized, "ours, from Python": f}
    result["branch of an array"] = measured(arrays, np.random.default_rng(1).uniform(0.1, 2.0, 100_000))
    print("array", result["branch of an array"])
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
