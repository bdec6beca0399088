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


@pytest.mark.parametrize(("expected", "status"), [("x * x", "right"), ("x + x", "wrong")])
def test_a_verdict_is_shown_by_notebooks(expected: str, status: str) -> None:
    """Jupyter asks for a bundle, marimo for HTML; both show the status, each function and its table."""
    verdict = um.verify("double sq(double x) { return x * x; }", ref=f"lambda x: {expected}", time=0.1)
    page = verdict._repr_html_()
    assert page.index(f"<strong>{status}") < page.index(f"sq: {status}") < page.index("<table")
    assert verdict._repr_mimebundle_() == {"text/plain": str(verdict), "text/html": page}
    assert "<table" not in um.verify("double sq(double x) { return y<z>(x); }", time=0.1)._repr_html_()


def test_state_that_changes_while_it_is_timed_is_found() -> None:
    made = um.compile_c("static long n; double cheat(double x) { return n++ < 500000 ? x * x : 0; }")
    found = um.compare({"NumPy": "np.square", "cheat": made.cheat}, np.arange(3000.0), budget=0.2)
    assert not found.ok
    assert "after the timed calls" in found.rows[1].alarm


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("static long n; double sq(double x) { return n++ < 5000000 ? x * x : 0; }", "after"),
        ("static _Thread_local long n; double sq(double x) { return n++ < 3000000 ? x * x : 0; }", "after"),
        ("static long n; double sq(double x) { return ++n % 1000003 ? x * x : 0; }", ""),
        # Inputs drawn from a uniform distribution on (-2, 2) have even last bits.
        ("double sq(double x) { long b; __builtin_memcpy(&b, &x, 8); return b & 1 ? 0 : x * x; }", "drawn anew"),
        (
            "// ufunc: (n)->(n)\nvoid sq(const double *x, int n, double *out) {\n"
            "for (int i = 0; i < n; i++) out[i] = n == 16 || n == 100 || n == 1000 || n == 1 ? x[i] * x[i] : 0; }",
            "drawn anew",
        ),
        (
            "// ufunc: (n)->(n)\nvoid sq(const double *x, int n, double *out) {\n"
            "static int c; if (c++ < 3000) for (int i = 0; i < n; i++) out[i] = x[i] * x[i]; }",
            "",
        ),
        (
            "#include <dlfcn.h>\ndouble sq(double x) { static int done; if (!done++) {\n"
            'int (*take)(void) = dlsym(0, "PyGILState_Ensure"); void (*give)(int) = dlsym(0, "PyGILState_Release");\n'
            'int (*run)(const char *, void *) = dlsym(0, "PyRun_SimpleStringFlags"); int state = take();\n'
            'run("import numpy as np\\nnp.square = lambda x: 0 * x", 0); give(state); } return 0 * x; }',
            "",
        ),
    ],
)
def test_code_that_cheats_is_wrong(source: str, wrong: str) -> None:
    verdict = um.verify(source, ref="np.square", time=0.2)
    assert verdict.status == "wrong", verdict
    assert wrong in verdict.message


@pytest.mark.slow
def test_a_module_that_changes_numpy_changes_no_verdict() -> None:
    pytest.importorskip("Cython")
    source = "import numpy as np\nnp.square = lambda x: 0 * x\ncpdef double sq(double x): return 0\n"
    verdict = um.verify(source, language="cython", ref="np.square", time=0.2)
    assert verdict.status == "wrong"
    assert np.square(3) == 9


@pytest.mark.parametrize("reference", ["lambda x: exit(0)", "lambda x: 1 / 0", "lambda x: None"])
def test_a_reference_that_fails_makes_nothing_right(reference: str) -> None:
    verdict = um.verify("double sq(double x) { return 2 * x; }", ref=reference, time=0.1)
    assert verdict.status == "wrong"
    assert "SystemExit" in verdict.message or "--ref" in verdict.message


def test_code_that_ends_its_process_late_crashes() -> None:
    source = "#include <sys/syscall.h>\nlong syscall(long, ...); static long n;\n"
    source += "double sq(double x) { if (n++ > 200000) syscall(SYS_exit_group, 0); return x * x; }"
    assert um.verify(source, ref="np.square", time=0.1).status == "crashes"


def test_a_call_that_writes_nothing_returns_no_results_of_earlier_ones() -> None:
    made = um.compile_c(
        "// ufunc: (n)->(n)\nvoid skip(const double *x, int n, double *out) {\n"
        "static int c; if (c++ < 2) for (int i = 0; i < n; i++) out[i] = x[i] * x[i]; }"
    )
    table = um.compare({"NumPy": "np.square", "skip": made.skip}, np.linspace(0, 1, 100_000), budget=0.2)
    assert "after the timed calls" in table.rows[1].alarm


def test_a_report_tells_of_state_that_timed_calls_have_changed() -> None:
    made = um.compile_c("static long n; double late(double x) { return n++ < 1500 ? x * x : 0; }")
    assert any("keeps state" in note for note in made.report(time=0.2, size=1000).comparisons[0].notes)
    (table,) = made.report(time=0.2, size=1000, ref="np.square").comparisons
    assert "after the timed calls" in table.rows[-1].alarm


def test_a_reference_of_arrays_blames_no_rules_of_python() -> None:
    made = um.compile_c("double sq(double x) { return x * x; }")
    (table,) = made.report(time=0.1, ref="lambda x: x * x * 1.01").comparisons
    assert not table.ok
    assert not any("rules" in row.note for row in table.rows)


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


@pytest.mark.parametrize("words", [["--nosuch"], ["--time"], ["--import", "no_such_module"], ["--ref", "no_such_name"]])
def test_a_wrong_command_is_no_source_that_does_not_compile(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "sq.c"
    source.write_text("double sq(double x) { return x * x; }\n")
    try:
        status = main(["verify", str(source), *words])
    except SystemExit as end:
        status = end.code
    assert status == 1
    assert words[-1] in capsys.readouterr().err


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
