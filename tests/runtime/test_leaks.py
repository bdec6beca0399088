"""What must stay flat over a long session does, file descriptors, processes, threads, memory; what grows is bounded.

Sizes are small here; ``UFM_NIGHTLY=1`` runs 1,000 cells.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from support import python_path

pytest.importorskip("psutil", reason="psutil is not installed (comes with ipykernel)")
pytestmark = pytest.mark.slow

NIGHTLY = os.environ.get("UFM_NIGHTLY") == "1"
CELLS = 1000 if NIGHTLY else 30
#: Before the first measurement: modules, NumPy's caches and memory that the allocator keeps.
WARM = 10

PRELUDE = f"""
import gc, json, pickle, psutil
import numpy as np
import ufunc_magic as um
CELLS, WARM, NIGHTLY = {CELLS}, {WARM}, {NIGHTLY}
me = psutil.Process()

def state():
    gc.collect()
    with me.oneshot():
        maps = len(me.memory_maps(grouped=False)) if hasattr(me, "memory_maps") else 0
        fds = me.num_fds() if hasattr(me, "num_fds") else me.num_handles()
        return [me.memory_info().rss, fds, len(me.children(recursive=True)), me.num_threads(), maps]

def repeated(action, count, warm):
    for n in range(warm):
        action(n)
    before = state()
    for n in range(warm, warm + count):
        action(n)
    print(json.dumps([before, state()]))
"""


@dataclass(frozen=True)
class Growth:
    """What a process has more of after than before: bytes and numbers."""

    rss: int
    descriptors: int
    children: int
    threads: int
    maps: int


def growth(script: str) -> Growth:
    """Run a script that calls ``repeated``, in a process of its own."""
    command = [sys.executable, "-P", "-c", PRELUDE + script]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout.splitlines()[-1])
    return Growth(*(now - then for then, now in zip(before, after, strict=True)))


def test_changing_a_cell_again_and_again_costs_memory_in_proportion_and_nothing_else():
    """NumPy may hold a loop for ever, so a library stays mapped: code, its bytes, and what describes it."""
    grown = growth(
        """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "ufunc_magic")

def run(n):
    cell = f"// {n}\\ndouble f(double x) {{ return x * {n}; }}\\ndouble g(const double *x) {{ return *x; }}"
    shell.run_cell_magic("c_ufunc", "-q", cell)
    assert shell.user_ns["f"](2.0) == 2.0 * n

repeated(run, CELLS, WARM)
"""
    )
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    # Measured: 0.1 MB and 3 maps.  Linux allows a process 65,530 maps.
    assert grown.rss / CELLS < 300_000
    assert grown.maps / CELLS < 6


def test_the_same_cell_again_costs_nothing():
    grown = growth("repeated(lambda n: um.c_ufunc('double f(double x) { return x + 1; }')(1.0), 1500, 500)")
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    assert grown.rss < 1_000_000


def test_cells_that_fail_leave_nothing_behind():
    grown = growth(
        """
import contextlib, os
from pathlib import Path
bad = ["double f(double x) { return y%d; }", "int n%d = ;", "/* %d */", "double f(double x) { return nowhere%d(x); }"]

def run(n):
    with contextlib.suppress(um.UfuncMagicError):
        um.compile_c(bad[n % len(bad)] % n)
        raise AssertionError(n)

repeated(run, CELLS, WARM)
assert list(Path(os.environ["UFUNC_MAGIC_CACHE"], "scratch").iterdir()) == []
"""
    )
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    # What fails is not opened, so it costs less than one that does.
    assert grown.rss / CELLS < 60_000


def test_a_hundred_thousand_calls_cost_nothing():
    grown = growth(
        """
import contextlib
made = um.compile_c('''
    double f(double x) { return x + 1; }
    int narrow(int x) { return x + 1; }
    // ufunc: (n)->()
    double total(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
''')
raising = um.c_ufunc('''
    #include <stdexcept>
    double g(double x) { if (x < 0) throw std::domain_error("negative"); return x; }
''', cplus=True)
parallel = um.c_ufunc("double p(double x) { return x * x; }", parallel=2)
x, wide = np.arange(40.0), np.arange(4000.0)

def run(n):
    made.f(x), made.f(x[::2]), made.f(1), made.narrow(3), made.total(x.reshape(4, 10)), made.f.reduce
    made.f(x, out=x, where=x < 0), made.f(x.astype("f4"))
    if n % 100 == 0:
        parallel(wide)
        with contextlib.suppress(ValueError):
            raising(-x)

repeated(run, 12_500, 2_500)
"""
    )
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    assert grown.rss < 1_000_000
    assert grown.maps <= 2


def test_a_thousand_pickles_cost_nothing():
    grown = growth(
        """
import copy
made = um.compile_c("double f(double x) { return x + 1; }\\nint first(const char *s) { return *s; }")
data = pickle.dumps(made.f)

def run(n):
    assert pickle.loads(pickle.dumps(made.f)) is made.f
    assert um.loads(um.dumps(made)).f is made.f
    assert copy.deepcopy(made["first"]) is made["first"]
    assert pickle.loads(bytes(bytearray(data))) is made.f

repeated(run, 1000, 100)
"""
    )
    assert (grown.descriptors, grown.children, grown.threads, grown.maps) == (0, 0, 0, 0)
    assert grown.rss < 1_000_000


def test_functions_that_arrive_cost_as_much_as_those_that_were_built():
    """As on a worker that gets another function with each task."""
    grown = growth(
        """
import os, subprocess, sys
code = "import pickle, sys, ufunc_magic as um\\n"
code += "made = [um.c_ufunc(f'double f(double x) {{ return x + {n}; }}') for n in range(%d)]\\n" % (WARM + 10)
code += "pickle.dump([pickle.dumps(f) for f in made], sys.stdout.buffer)"
made = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True).stdout
payloads = pickle.loads(made)

def run(n):
    assert pickle.loads(payloads[n])(1.0) == n + 1

repeated(run, 10, WARM)
"""
    )
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    assert grown.rss / 10 < 400_000


@pytest.mark.cython
@pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)")
def test_changing_a_cython_cell_costs_memory_in_proportion_and_nothing_else():
    count = 200 if NIGHTLY else 3
    grown = growth(
        f"""
def run(n):
    made = um.compile_cython(f"def f(double x): return x * {{n}}")
    assert made.f(2.0) == 2.0 * n

repeated(run, {count}, 2)
"""
    )
    assert (grown.descriptors, grown.children, grown.threads) == (0, 0, 0)
    assert grown.rss / count < 3_000_000
