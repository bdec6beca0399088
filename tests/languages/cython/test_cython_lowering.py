"""Cython's analysed tree as the IR: types, conversions, loops and calls of Cython cells."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

if not importlib.util.find_spec("Cython"):
    pytest.skip("Cython is not installed (extra: cython)", allow_module_level=True)

from support import CELLS
from ufunc_magic import ir
from ufunc_magic.ir import BOOL, DOUBLE, INDEX, INT, LONG, OBJECT, CType, FunctionIR, Program, walk
from ufunc_magic.languages.cython import cython_expressions, cython_lowering
from ufunc_magic.languages.cython.cython_ctypes import find_ir_type
from ufunc_magic.languages.cython.cython_search import Searches
from ufunc_magic.languages.cython.translate import CythonOptions, translate

pytestmark = pytest.mark.cython

CYTHON_CELLS = sorted((CELLS / "cython").glob("*.pyx"))


def program(cell: str, folder: Path, *, cplus: bool = False) -> Program:
    path = folder / "cell.pyx"
    path.write_text(f"{cell}\n", encoding="utf-8")
    searches = Searches("cell", (str(CELLS / "cython"),))
    translated = translate(
        cell, path=path, module="cell", name="cell", options=CythonOptions(cplus=cplus), searches=searches
    )
    assert translated.notes == ()
    assert translated.program is not None
    return translated.program


@pytest.fixture
def lowered(tmp_path: Path) -> Any:
    return lambda cell, name="f", **options: program(cell, tmp_path, **options).functions[name][0]


def of_kind(function: FunctionIR, kind: type[Any]) -> list[Any]:
    return [node for node in walk(function.body) if isinstance(node, kind)]


def returned(function: FunctionIR) -> Any:
    return of_kind(function, ir.Return)[-1].values[0]


@pytest.mark.slow
@pytest.mark.parametrize("path", CYTHON_CELLS, ids=lambda path: path.stem)
def test_every_expression_of_a_cell_has_the_type_that_cython_gives_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = path.read_text(encoding="utf-8")
    lower, checked = cython_expressions.CythonExpressions.lower, 0

    def lower_and_compare(self: Any, node: Any) -> ir.Expression:
        nonlocal checked
        value = lower(self, node)
        kind = getattr(node, "type", None)
        if kind is not None and not kind.is_cfunction:
            expected, t = find_ir_type(kind), value.type
            # C's own rules give the type of an operation on integers, and of one with constants.
            alike = expected.kind == t.kind or (expected.integral and t.integral) or expected.kind == "?"
            # Python's objects of a known type, and a complex number that must be real.
            assert alike or {expected.kind, t.kind} <= set("oa?") or {expected.kind, t.kind} == set("fc"), (node, t)
            checked += 1
        return value

    monkeypatch.setattr(cython_expressions.CythonExpressions, "lower", lower_and_compare)
    cplus = bool(re.search(r"language\s*=\s*c\+\+|options: .*cplus=True", cell))
    functions = program(cell, tmp_path, cplus=cplus).functions
    assert checked or not functions


def test_operands_have_the_type_of_their_operation(lowered: Any) -> None:
    f = lowered("def f(int i, long n, double x):\n    return i*n + x\n")
    (product,), (total,) = ([b for b in of_kind(f, ir.Binary) if b.op == op] for op in "*+")
    assert (product.type, product.left.type, product.right.type) == (LONG, LONG, LONG)
    assert (total.type, total.left.type, total.right.type) == (DOUBLE, DOUBLE, DOUBLE)
    assert isinstance(product.left, ir.Convert)
    assert f.returns == (DOUBLE,)


def test_constants_are_those_of_the_text(lowered: Any) -> None:
    f = lowered("from libc.math cimport M_PI\ndef f(double x):\n    return x*2 + 0x10 + 1.5 + M_PI\n")
    constants = of_kind(f, ir.Constant)
    assert [c.value for c in constants[:3]] == [2, 16, 1.5]
    assert [c.spelling for c in constants] == ["", "0x10", "", "M_PI"]
    assert isinstance(constants[0].value, int)


@pytest.mark.parametrize(("directive", "python"), [("False", True), ("True", False)])
def test_division_by_the_rules_of_its_directive(lowered: Any, directive: str, python: bool) -> None:
    f = lowered(
        f"cimport cython\n@cython.cdivision({directive})\ndef f(int a, int b, double x):\n"
        "    return a // b + a % b + x / b + x % b\n"
    )
    divisions = [b for b in of_kind(f, ir.Binary) if b.op in ("/", "//", "%")]
    assert [b.python for b in divisions] == [python] * 4
    assert divisions[0].op == ("//" if python else "/")


def test_range_is_a_counted_loop(lowered: Any) -> None:
    f = lowered(
        "def f(long n):\n    cdef int i\n    cdef double s = 0\n"
        "    for i in range(1, n, 2):\n        s += i\n    return s\n"
    )
    (loop,) = of_kind(f, ir.CountedFor)
    assert (loop.counter.name, loop.counter.type, loop.step, loop.declared) == ("i", INT, 2, False)
    assert (loop.start.value, loop.stop.symbol.name) == (1, "n")


@pytest.mark.parametrize("line", ["i += 1", "n = 3"])
def test_a_loop_that_changes_its_counter_or_bound_is_no_counted_one(lowered: Any, line: str) -> None:
    f = lowered(
        "def f(long n):\n    cdef long i, s = 0\n    for i in range(n):\n"
        f"        s += i\n        {line}\n    return s\n"
    )
    assert not of_kind(f, ir.CountedFor)
    (loop,) = of_kind(f, ir.ForEach)
    assert loop.iterable.template == "range({})"


def test_untyped_variables_have_the_type_that_cython_infers(lowered: Any) -> None:
    f = lowered(
        "def f(double x, int n):\n    y = x\n    k = n + 1\n    for i in range(n):\n        y += i\n    return y + k\n"
    )
    types = {n.symbol.name: n.type for n in of_kind(f, ir.Name)}
    assert (types["y"], types["k"], types["i"]) == (DOUBLE, OBJECT, OBJECT)


@pytest.mark.slow
def test_in_place_operators_read_their_place(lowered: Any) -> None:
    f = lowered("def f(double[:] v, double x):\n    v[0] += 1\n    x *= v[-1]\n    return x\n")
    first, second = of_kind(f, ir.Assignment)
    assert isinstance(first.value.left, ir.Current)
    assert isinstance(second.value.left, ir.Current)
    assert isinstance(first.place, ir.Element)


@pytest.mark.slow
@pytest.mark.parametrize(("marks", "expected"), [("", (True, True)), ("@cython.boundscheck(False)\n", (True, False))])
def test_elements_know_their_checks(lowered: Any, marks: str, expected: tuple[bool, bool]) -> None:
    f = lowered(f"cimport cython\n{marks}cdef double f(double[:, :] m, long i):\n    return m[i, 0] + m.shape[1]\n")
    outer, inner = of_kind(f, ir.Element)[:2]
    assert (outer.from_end, outer.checked) == expected
    assert inner.base.symbol.name == "m"
    assert f.parameters[0].type == ir.make_array_type(DOUBLE, (None, None))
    (length,) = of_kind(f, ir.Length)
    assert (length.axis, length.type) == (1, INDEX)


def test_calls_by_their_resolved_names(lowered: Any) -> None:
    f = lowered(
        "from libc.math cimport sin as sine\nimport math\ncdef double g(double x) noexcept: return x\n"
        "def f(double x, int n):\n    return sine(n) + g(n) + abs(x) + min(x, 1.0, n) + math.cos(x)\n"
    )
    calls = {call.name: call for call in of_kind(f, ir.FunctionCall)}
    assert {name: call.target for name, call in calls.items()} == {
        "sin": "library",
        "g": "cell",
        "fabs": "library",
        "std::min": "library",
    }
    assert len(calls["std::min"].arguments) == 3
    assert calls["g"].arguments[0].type == DOUBLE
    assert [d.template for d in of_kind(f, ir.Dynamic) if "cos" in d.template] == ["{}.cos({})"]
    assert f.calls == ("g",)


def test_specialisations_of_a_fused_type(tmp_path: Path) -> None:
    cell = "ctypedef fused num:\n    int\n    double\ncpdef num f(num x):\n    return x + x\n"
    functions = program(cell, tmp_path).functions["f"]
    assert [f.chosen for f in functions] == [(("num", "int"),), (("num", "double"),)]
    assert [f.returns for f in functions] == [(INT,), (DOUBLE,)]


def test_tuples_are_several_results(lowered: Any) -> None:
    f = lowered(
        "cdef (double, int) g(double x): return x, 3\n"
        "cdef (double, int) f(double x):\n    a, b = g(x)\n    a, b = x, b\n    return a, b\n"
    )
    assert f.returns == (DOUBLE, INT)
    (unpack,) = of_kind(f, ir.Unpack)
    assert [t.symbol.name for t in unpack.targets] == ["a", "b"]
    (parallel,) = of_kind(f, ir.ParallelAssignment)
    assert len(parallel.assignments) == 2
    assert len(of_kind(f, ir.Return)[0].values) == 2


def test_module_level(tmp_path: Path) -> None:
    cell = "import numpy as np\nfrom math import tau\ncdef enum Color:\n    RED = 3\ncdef double scale = 2\n"
    read = program(f"{cell}def f(double x):\n    return x*scale + RED + tau + np.pi\n", tmp_path)
    assert read.imports == {"np": "import numpy as np", "tau": "from math import tau"}
    assert [s.value.place.symbol.name for s in read.statements if isinstance(s, ir.Evaluate)] == ["scale"]
    assert read.symbols["RED"].storage == "constant"
    assert ir.evaluate_integer(ir.Name(INT, read.symbols["RED"])) == 3


def test_defaults_belong_to_parameters(lowered: Any) -> None:
    f = lowered("def f(double x, int n=3):\n    return x*n\n")
    assert [p.initial is None for p in f.parameters] == [True, False]
    assert f.parameters[1].initial.value == 3


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    def inner(): return x\n    return inner()\n", "def inner"),
        ("    return (lambda: x)()\n", "lambda"),
        ("    try:\n        return x\n    except ValueError:\n        pass\n", "try"),
        ("    yield x\n", "is a generator"),
    ],
)
def test_what_the_ir_cannot_say_is_opaque(lowered: Any, body: str, reason: str) -> None:
    f = lowered(f"def f(double x):\n{body}")
    assert any(reason in node.reason for node in f.find_opaque())


def test_pointers_and_structures(lowered: Any) -> None:
    f = lowered(
        "cdef struct P:\n    double x\n    int k\n"
        "cdef double f(double *p, P q, P *r):\n    cdef double t[3]\n"
        "    p[1] = q.x\n    t[0] = r.k\n    return (&p[0])[0]\n"
    )
    p, q, r = f.parameters
    assert p.type == CType("a", of=DOUBLE)
    assert [name for name, _ in q.type.fields] == ["x", "k"]
    assert r.type.of == q.type
    (declared,) = [d for d in of_kind(f, ir.Declare) if d.symbol.name == "t"]
    assert declared.symbol.type == ir.make_array_type(DOUBLE, (3,))
    assert {field.name for field in of_kind(f, ir.Field)} == {"x", "k"}


def test_comparisons_and_truth(lowered: Any) -> None:
    f = lowered("cdef bint f(double x, int n):\n    return 0 < x < 1 and not n\n")
    value = returned(f)
    assert (value.type, value.op) == (BOOL, "&&")
    assert value.left.left.right is value.left.right.left
    assert value.right.op == "!"


def test_positions_are_those_of_the_cell(tmp_path: Path) -> None:
    cell = "# é\ndef f(double x):\n    s = 'é'; y = x + 1\n    return y\n"
    read = program(cell, tmp_path)
    (total,) = of_kind(read.functions["f"][0], ir.Binary)
    assert total.at.line == 3
    assert cell.encode().split(b"\n")[2][total.at.column :] == b"x + 1"
    assert read.quote(total) == "s = 'é'; y = x + 1"


def test_lowering_changes_nothing_of_the_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = (CELLS / "cython" / "statements.pyx").read_text(encoding="utf-8")
    path = tmp_path / "cell.pyx"
    path.write_text(cell, encoding="utf-8")
    with_it = translate(cell, path=path, module="cell", name="cell", searches=Searches("cell")).c
    monkeypatch.setattr(f"{cython_lowering.__name__.rpartition('.')[0]}.translate.lower", lambda tree, **_: None)
    assert translate(cell, path=path, module="cell", name="cell", searches=Searches("cell")).c == with_it
