"""`um.verify` and ``python -m ufunc_magic verify``: one answer, and one exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.__main__ import main

pytestmark = pytest.mark.usefixtures("shared_cache")

DOT = """
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = FIRST; i < n; i++) s += a[i] * b[i];
    return s;
}
"""


@pytest.mark.parametrize(
    ("source", "keywords", "status"),
    [
        ("double sq(double x) { return x * x; }", {}, "right"),
        ("double sq(double x) { return x * x; }", {"ref": "lambda x: x * x"}, "right"),
        ("double sq(double x) { return x * x; }", {"ref": "np.square"}, "right"),
        ("double sq(double x) { return x * x * 1.01; }", {"ref": "lambda x: x * x"}, "wrong"),
        ("double sq(double x) { return x * x * (1 + 1e-12); }", {"ref": "np.square"}, "wrong"),
        ("double sq(double x) { return x > 1.9 ? 0 : x * x; }", {"ref": "np.square"}, "wrong"),
        (DOT.replace("FIRST", "0"), {"ref": "np.vecdot"}, "right"),
        (DOT.replace("FIRST", "1"), {"ref": "np.vecdot"}, "wrong"),
        ("int f(int x) { return x / 2; }", {"ref": "lambda x: x // 2"}, "wrong"),
        ("int f(int x) { return x / 2; }", {"ref": "lambda x: x // 2", "data": "np.arange(100)"}, "right"),
        ("template <class T> T sq(T x) { return x * x; }", {"language": "c++", "ref": "np.square"}, "right"),
        ("double sq(double x) { return y; }", {}, "does not compile"),
        ("double f(double x) { return *(int *)0; }", {}, "crashes"),
        ("#include <stdlib.h>\ndouble f(double x) { exit(0); }", {}, "crashes"),
        ("double f(double x) { return *(int *)0; } double g(double x) { return x; }", {}, "crashes"),
        ("double f(double x) { return *(int *)0; } double g(double x) { return x; }", {"functions": ["g"]}, "right"),
        ("#include <stdio.h>\nint hello(void) { return 1; }", {}, "wrong"),
        ("double SIGMA(double x) { return x; }", {"data": "1.0, 2.0"}, "wrong"),  # not timed, and no signal
        (
            "#include <assert.h>\ndouble f(double x) { assert(x < 1e6); return x; }",
            {"data": "np.arange(2e6)"},
            "crashes",
        ),
    ],
)
def test_a_verdict_has_one_status(source: str, keywords: dict[str, str], status: str) -> None:
    verdict = um.verify(source, time=0.1, **keywords)
    assert verdict.status == status, verdict
    assert verdict.exit_status == ("right", "wrong", "does not compile", "crashes").index(status)
    assert verdict.ok == (status == "right") == (not verdict.message)
    assert json.loads(verdict.to_json())["status"] == status


def test_state_that_changes_while_it_is_timed_is_found() -> None:
    made = um.compile_c("static long n; double cheat(double x) { return n++ < 500000 ? x * x : 0; }")
    found = um.compare({"NumPy": "np.square", "cheat": made.cheat}, np.arange(3000.0), budget=0.2)
    assert not found.ok
    assert "after the timed calls" in found.rows[1].alarm


def test_a_reference_that_keeps_state_accuses_nobody() -> None:
    made = um.compile_c(
        "static double s; double total(double x) { return s += x; } double same(double x) { return x; }"
    )
    found = um.compare({"total": made.total, "again": made.total}, np.ones(1000), budget=0.1)
    assert any("keeps state" in note for note in found.notes)


def test_the_command_line_has_the_status_as_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.c", tmp_path / "bad.cpp"
    good.write_text("double sq(double x) { return x * x; }\ndouble other(double x) { return x; }\n")
    bad.write_text("double sq(double x) { return x * y; }\n")
    assert main(["verify", str(good), "sq", "--ref", "np.square", "--time", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["functions"]["sq"]["compared"] > 100
    assert main(["verify", str(good), "--ref", "operator.pos", "--import", "operator", "--time", "0.1"]) == 1
    assert "sq: wrong" in capsys.readouterr().out
    assert main(["verify", str(bad)]) == 2
    assert "bad.cpp:1:" in capsys.readouterr().out
    assert main(["verify", str(good), "nope"]) == 1
    assert "nope" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "x.txt")]) == 1
    assert ".txt" in capsys.readouterr().err


def test_a_candidate_that_remembers_results_by_the_array_is_found() -> None:
    memory: dict[int, np.ndarray] = {}

    def remembering(x: np.ndarray) -> np.ndarray:
        return memory.setdefault(id(x), x * x)

    x = np.linspace(0, 1, 10_000)
    table = um.compare({"NumPy": np.square, "remembers": remembering, "honest": lambda x: x * x}, x, budget=0.1)
    assert "another order" in table.rows[1].alarm
    assert table.rows[2].ok
    np.testing.assert_array_equal(x, np.linspace(0, 1, 10_000))


@pytest.mark.parametrize("function", [np.sort, np.cumsum, np.argsort, lambda x: x[::-1], lambda x: x.sum()])
def test_functions_of_whole_arrays_are_not_asked_for_another_order(function: Callable[..., Any]) -> None:
    table = um.compare({"one": function, "other": lambda x: function(x)}, np.linspace(0, 1, 5000), budget=0.05)
    assert table.ok
