"""Effects of Cython functions: the IR proves that a call leaves no trace and keeps no array, or it denies it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

if not importlib.util.find_spec("Cython"):
    pytest.skip("Cython is not installed (extra: cython)", allow_module_level=True)

from ufunc_magic.ir import Effects, PointerEffect, find_effects
from ufunc_magic.languages.cython.cython_search import Searches
from ufunc_magic.languages.cython.translate import translate

pytestmark = pytest.mark.cython

HEAD = """\
from libc.math cimport sqrt, sin
from libc.stdlib cimport rand, malloc, free
from libc.stdio cimport printf
import numpy as np
cdef double[3] table
cdef double total = 0
cdef double *pointer = &table[0]
cdef double[:] view = np.zeros(3)
hist = []
class Fault(ValueError): pass
cdef void add(double *to, double x) noexcept: to[0] += x
cdef class Walk:
    cdef double x
cdef double count(double x):
    global total
    total += x
    return x
"""


Found = dict[str, tuple[Effects, list[PointerEffect]]]


def find(functions: Iterable[str], folder: Path) -> Found:
    """The effects of the functions of one cell, by name, and those on each of their parameters."""
    cell = "\n".join([HEAD, *functions])
    path = folder / "cell.pyx"
    path.write_text(cell, encoding="utf-8")
    translated = translate(cell, path=path, module="cell", name="cell", searches=Searches("cell"))
    assert translated.notes == ()
    assert translated.program is not None
    bodies = [f for several in translated.program.functions.values() for f in several]
    return {
        f.name: (effects, [effects.pointers.get(p, PointerEffect()) for p in f.parameters])
        for f, effects in zip(bodies, find_effects(bodies), strict=True)
    }


def lines(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("; "))


TRACELESS = (
    "return sqrt(x) + table[0] + total",
    "if x < 0: raise ValueError('no', x); return x",
    "assert x > 0, 'no'; return x",
    "cdef double[4] t; t[1] = x; return t[1]",
    "cdef double *p = <double *>malloc(8); p[0] = x; x = p[0]; free(p); return x",
    "cdef double s = 0; cdef int i; for i in range(4): s += x * i; return s",
    "cdef double a = 0, b = x; a, b = b, a; return a",
    "add(&x, 1); return x",
    "return x ** 2 // 3 % 2",
    "return max(x, 1) + abs(x) + min(x, 2, 3)",
    "cdef (double, int) t = (x, 1); cdef double y; cdef int n; y, n = t; return y + n",
)
TRACES = (
    "hist.append(x)",
    "hist[0] = x",
    "del hist[:]",
    "table[<int>x & 1] += x",
    "global total; total = x",
    "pointer[1] = x",
    "view[1] = x",
    "view[:] = x",
    "cdef double[:] w = view; w[0] = x",
    "cdef double[:] w = view[1:]; w[:] = x",
    "cdef double *p = &table[1]; p[0] = x",
    "cdef double *p = pointer; p += 1; p[0] = x",
    "cdef double *p = &x; cdef double **q = &p; q[0] = pointer; p[0] = 1",
    "add(&table[1], x)",
    "add(pointer, x)",
    "add(&total, x)",
    "count(x)",
    "return rand()",
    "printf('%f', x)",
    "print(x)",
    "next(iter(hist))",
    "if hist: x = 1",
    "for x in hist: pass",
    "a, b = hist",
    "raise Fault(x)",
    "free(pointer)",
    "np.random.seed(1)",
    "global hist; hist = None",
    "cdef int i; global total; for total in range(3): pass",
    "return <double>hist",
    "global total; total, x = x, total",
    "def inner(): hist.append(x)",
    "with open('f') as g: pass",
    "try: hist.pop(); except IndexError: pass",
)


def number_function(name: str, text: str) -> str:
    text = text.replace("; except", "\n    except")
    ends = "" if "return" in text or text.startswith("raise") else "    return x\n"
    head = f"cpdef double {name}(double x) except? -1" if "def " not in text else f"def {name}(double x)"
    return f"{head}:\n{lines(text)}{ends}"


def test_function_leaves_no_trace_only_if_that_is_known(tmp_path: Path) -> None:
    texts = {f"f{n}": text for n, text in enumerate((*TRACELESS, *TRACES))}
    found = find((number_function(name, text) for name, text in texts.items()), tmp_path)
    assert {texts[name] for name in texts if found[name][0].traceless} == {*TRACELESS}


@pytest.mark.slow
def test_trace_of_an_argument_that_is_an_object_counts(tmp_path: Path) -> None:
    found = find(
        [
            "cdef double field(Walk w):\n    w.x += 1\n    return w.x\n",
            "cdef double item(list w):\n    w.append(1)\n    return 1\n",
        ],
        tmp_path,
    )
    assert not found["field"][0].traceless
    assert not found["item"][0].traceless


ACCESSES = {
    "return v[0]": PointerEffect("read"),
    "return v[1]": PointerEffect("read", True),
    "return v.shape[0] + len(v)": PointerEffect(),
    "v[0] += 1": PointerEffect("update"),
    "cdef Py_ssize_t i; for i in range(3): v[i] = 0; for i in range(3): v[i] += 1": PointerEffect("write", True),
    "v[:] = 0": PointerEffect("write", True),
    "return reads(v[1:])": PointerEffect("read", True),
    "return 0 if v is None else 1": PointerEffect(),
}
KEEP = (
    "global view; view = v",
    "global view; view = v[1:]",
    "cdef double[:] w = v; global view; view = w",
    "global view; view = same(v)",
    "keep(v)",
    "cdef double[:] w = v[::2]; keep(w)",
    "return lambda: v[0]",
)
OBJECTS = ("return np.sum(v)", "hist.append(v)", "return shown(v)", "return v.size")
CALLED = (
    "cdef double reads(double[:] w):\n    return w[0]\n",
    "cdef double shown(double[:] w):\n    return np.asarray(w)[0]\n",
    "cdef double[:] same(double[:] w):\n    return w\n",
    "cdef void keep(double[:] w) noexcept:\n    global view\n    view = w\n",
)


@pytest.mark.slow
def test_use_of_a_memoryview(tmp_path: Path) -> None:
    texts = {f"f{n}": text for n, text in enumerate((*ACCESSES, *KEEP, *OBJECTS))}
    functions = (f"def {name}(double[:] v):\n{lines(text)}" for name, text in texts.items())
    found = find((*CALLED, *functions), tmp_path)
    effect = {text: found[name][1][0] for name, text in texts.items()}
    assert {text: effect[text] for text in ACCESSES} == ACCESSES
    assert [text for text in KEEP if not effect[text].escapes] == []
    assert [text for text in OBJECTS if not effect[text].as_object] == []


@pytest.mark.slow
def test_generators_and_comprehensions_have_a_python_form(tmp_path: Path) -> None:
    import numpy as np

    import ufunc_magic as um

    cell = um.compile_cython(
        "# ufunc: (n)->()\ncdef double f(double[:] v):\n    return sum(v[i] * i for i in range(v.shape[0]) if i > 1)\n"
        "# ufunc: (n)->()\ncpdef double g(double[:] v):\n"
        "    return max([v[i] + j for i in range(v.shape[0]) for j in range(i)])\n",
    )
    entries: dict[str, Any] = {entry.name: entry for entry in cell.report_data.functions}
    v = np.array([1.0, 2.0, 3.0, 4.0])
    for name, expected in (("f", 18.0), ("g", 6.0)):
        assert cell[name](v) == expected
        assert entries[name].python_reason == ""
        assert " for i in " in entries[name].python
