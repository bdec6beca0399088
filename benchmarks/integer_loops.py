"""Python loops of integers with C's rules everywhere and with those that the inputs need; what repeated inputs hide.

    python benchmarks/integer_loops.py

For each function: nanoseconds an element of the Python text that has C's rules at every step, and of the one that the
report times, in turns on the report's inputs; and of the ufunc on a million elements drawn from 2,048, in turn again
and again and in random order.  The least of nine rounds of CPU time each.  The result goes to
benchmarks/results/integer_loops.json.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-integers-")

import machine
import numpy as np

import ufunc_magic as um
from ufunc_magic.bench import expectation
from ufunc_magic.bench.samples import repeat_arrays, shuffle_arrays
from ufunc_magic.forms import Watched, make_namespace

RESULT = Path(__file__).parent / "results" / "integer_loops.json"
CELL = """
#include <stdint.h>
int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
int leap(int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }
int digits(int n) { int s = 0; while (n > 0) { s += n % 10; n /= 10; } return s; }
int isprime(int n) { if (n < 2) return 0; for (int i = 2; i * i <= n; i++) if (n % i == 0) return 0; return 1; }
int fib(int n) { int a = 0, b = 1; for (int i = 0; i < n; i++) { int t = a + b; a = b; b = t; } return a; }
int middle(int a, int b) { return (a + b) / 2; }
uint32_t mix(uint32_t h) { h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; return h ^ (h >> 16); }
"""
ROUNDS, LOOP, POOL, ELEMENTS = 9, 20_000, 2048, 1_000_000


def least(calls: dict[str, Callable[[], Any]], elements: int) -> dict[str, float]:
    """Nanoseconds an element, the calls in turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            taken[name].append((time.thread_time() - start) / elements * 1e9)
    return {name: round(min(seconds), 2) for name, seconds in taken.items()}


def main() -> None:
    build = um.compile_c(CELL)
    inputs = build.report().inputs
    functions = {}
    for code in build.report_data.functions:
        lists = expectation.to_lists(shuffle_arrays(inputs[code.name], LOOP))
        names = make_namespace("timing")
        exec(code.python, names)
        everywhere = names[code.python_name]
        watched = Watched(code.marks, code.python_name)
        expectation.call_on_elements(watched.function, lists)
        natural = watched.make_natural()
        pool = [array[:POOL] for array in inputs[code.name]]
        in_turn, at_random = repeat_arrays(pool, ELEMENTS), shuffle_arrays(pool, ELEMENTS)
        functions[code.name] = {
            **least(
                {
                    "C's rules everywhere": lambda f=everywhere, x=lists: expectation.call_on_elements(f, x),
                    "as the inputs need": lambda f=natural.function, x=lists: expectation.call_on_elements(f, x),
                },
                LOOP,
            ),
            "note": natural.note,
            **least(
                {
                    "ufunc, inputs in turn": lambda f=build[code.name], x=in_turn: f(*x),
                    "ufunc, inputs at random": lambda f=build[code.name], x=at_random: f(*x),
                },
                ELEMENTS,
            ),
        }
    found = {"machine": machine.describe(), "numpy": np.__version__, "nanoseconds an element": functions}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
