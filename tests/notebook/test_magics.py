"""The magics in a fresh IPython shell, in front of a build that compiles nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic
import ufunc_magic as um
from support import run_cell
from ufunc_magic.model import TABLE, TIME, CompileError, OptionError, Options, ReportData, make_options
from ufunc_magic.notebook import option_line as arguments
from ufunc_magic.notebook.bound_names import find_defined
from ufunc_magic.notebook.magics import Remembered, UfuncMagics
from ufunc_magic.render import Progress

SOURCE = "double f(double x) { return x; }\n"

C_OPTIONS = [o for o in TABLE if not o.languages or "c" in o.languages]


@dataclass(frozen=True)
class FakeReport:
    options: Options
    notes: tuple[str, ...] = ()


class FakeBuild(dict[str, Any]):
    diagnostics = ()
    notes = ()
    printed = ""
    cached = True
    loaded = SimpleNamespace(complete=None)
    report_data = ReportData()


@dataclass
class FakeEngine:
    """Stands for ufunc_magic.pipeline: remembers what it was asked, answers what the test put there."""

    functions: dict[str, Any] = field(default_factory=lambda: {"f": np.frompyfunc(abs, 1, 1)})
    fails: bool = False
    report_fails: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    def build(self, source: str, *, language: str, options: Options, name: str, first_line: int, **_: Any) -> FakeBuild:
        self.asked.append(
            {"source": source, "language": language, "options": options, "name": name, "first": first_line}
        )
        if self.fails:
            raise CompileError("the fake compiler refused.")
        return FakeBuild(self.functions)

    def report(self, built: FakeBuild, *, options: Options, **_: Any) -> FakeReport:
        if self.report_fails:
            raise CompileError("the fake report refused.")
        return FakeReport(options)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    module = SimpleNamespace(
        build=engine.build, report=engine.report, make_progress=lambda display: Progress(None, lambda: 0.0)
    )
    monkeypatch.setitem(sys.modules, "ufunc_magic.pipeline", module)
    monkeypatch.setattr(ufunc_magic, "pipeline", module, raising=False)
    return engine


def run(shell: InteractiveShell, line: str = "", source: str = SOURCE, **keywords: Any) -> Any:
    return run_cell(shell, "c_ufunc", source, line, **keywords)


def test_functions_of_the_cell_become_names_of_the_notebook(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded)
    assert loaded.user_ns["f"] is engine.functions["f"]


def test_value_of_the_cell_is_the_report_and_stands_in_out(loaded: InteractiveShell, engine: FakeEngine) -> None:
    shown = run(loaded)
    assert shown == FakeReport(Options())
    assert loaded.user_ns["Out"][1] is shown


def test_cell_that_ends_in_a_semicolon_shows_its_report_too(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded, source="struct p { int a; };")
    assert loaded.user_ns["Out"][1] == FakeReport(Options())


def test_quiet_cell_has_no_value(loaded: InteractiveShell, engine: FakeEngine) -> None:
    assert run(loaded, "-q") is None
    assert "f" in loaded.user_ns


@pytest.mark.usefixtures("shared_cache")
def test_quiet_cell_says_why_a_function_is_plain(loaded: InteractiveShell) -> None:
    report = run(loaded, "-q", source='const char *word(int n) { return n ? "one" : "none"; }')
    assert "word: a plain function, not a ufunc: returns a pointer" in str(report)


def test_cell_is_named_after_its_prompt_number(loaded: InteractiveShell, engine: FakeEngine) -> None:
    loaded.run_cell("1", store_history=True)
    run(loaded)
    assert engine.asked[0]["name"] == "In[2]"


def test_name_option_replaces_the_prompt_number(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded, "-n filters")
    assert engine.asked[0]["name"] == "filters"


def test_notebook_variables_expand_in_the_option_line(loaded: InteractiveShell, engine: FakeEngine) -> None:
    loaded.user_ns["types"] = "f4,f8"
    run(loaded, "--types $types --parallel={1 + 1}")
    assert engine.asked[0]["options"] == Options(types="f4,f8", parallel=2)


def test_failed_cell_raises_and_binds_nothing(loaded: InteractiveShell, engine: FakeEngine) -> None:
    engine.fails = True
    with pytest.raises(CompileError):
        run(loaded)
    assert "f" not in loaded.user_ns


@pytest.mark.parametrize("reason", ["fails", "report_fails"])
def test_failed_cell_removes_what_its_earlier_run_bound(
    loaded: InteractiveShell, engine: FakeEngine, reason: str
) -> None:
    run(loaded)
    setattr(engine, reason, True)
    with pytest.raises(CompileError):
        run(loaded, source="double f(double x { return x; }\n")
    assert "f" not in loaded.user_ns


def test_cell_with_a_bad_option_removes_what_its_earlier_run_bound(
    loaded: InteractiveShell, engine: FakeEngine
) -> None:
    run(loaded)
    with pytest.raises(UsageError):
        run(loaded, "--no-such-thing")
    assert "f" not in loaded.user_ns


def test_failed_cell_removes_renamed_functions_where_the_cell_is_known(
    loaded: InteractiveShell, engine: FakeEngine
) -> None:
    run(loaded, cell_id="c1")
    engine.fails = True
    with pytest.raises(CompileError):
        run(loaded, source="double other(double x { return x; }\n", cell_id="c1")
    assert "f" not in loaded.user_ns


def test_failed_cell_leaves_the_functions_of_other_cells(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded, cell_id="c1")
    engine.fails = True
    with pytest.raises(CompileError):
        run(loaded, source="double other(double x { return f(x); }\n", cell_id="c2")
    assert "f" in loaded.user_ns


def test_failed_cell_leaves_what_the_user_bound_since(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded)
    loaded.user_ns["f"] = "mine"
    engine.fails = True
    with pytest.raises(CompileError):
        run(loaded)
    assert loaded.user_ns["f"] == "mine"


def test_hiding_a_variable_of_the_user_is_said_in_the_report(loaded: InteractiveShell, engine: FakeEngine) -> None:
    loaded.user_ns["f"] = 3
    assert run(loaded).notes == ("f replaces your variable of the same name (int).",)


def test_hiding_a_builtin_is_said_even_by_a_quiet_cell(loaded: InteractiveShell, engine: FakeEngine) -> None:
    engine.functions = {"round": np.frompyfunc(abs, 1, 1)}
    expected = ("round hides Python's builtin of the same name, which is still available as builtins.round.",)
    assert run(loaded, "-q").notes == expected


def test_running_a_cell_again_warns_of_nothing(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded)
    assert run(loaded).notes == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--paralel", "--paralel is not an option.\nDid you mean --parallel?"),
        ("--fastmath", "--fastmath is not an option.\nDid you mean --fast-math?"),
        ("-O3", "-O3 is not an option.\nTo pass it to the compiler, write -c=-O3"),
        ("foo.c", "'foo.c' is not an option.\nWrite the code below the first line."),
        ("--arch=nativ", "--arch nativ is not one of portable, native.\nDid you mean native?"),
        ("--parallel=two", "--parallel 'two' is not a whole number.\nWrite --parallel=2"),
        ("--strict=1", "--strict takes no value, but the line says '1'.\nWrite --strict"),
        ("-l", "-l needs a value.\nWrite -l gsl"),
        ("--ref 'np.hypot", '"--ref \'np.hypot" cannot be split into words: No closing quotation.\nClose the quote.'),
        ("--strict --fast-math", "strict and fast_math contradict each other.\nUse only one of them."),
        ("--time soon", "time='soon' is not a number of seconds up to 3600.\nWrite 2s or 500ms."),
        ("--time=-1", "time='-1' is not a number of seconds up to 3600.\nWrite 2s or 500ms."),
        ("-N=-5", "size=-5 is negative.\nUse a number of elements, or 0 for automatic."),
    ],
)
def test_bad_options_are_usage_errors_with_the_right_spelling(
    loaded: InteractiveShell, engine: FakeEngine, line: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(loaded, line)
    assert str(caught.value) == message
    assert engine.asked == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("--parallel", {"parallel": -1}),
        ("--parallel=2 -q", {"parallel": 2, "time": False}),
        ("--no-time --time", {"time": TIME}),
        ("--time 2s --strict", {"time": "2s", "strict": True}),
        ("--time=500ms", {"time": "500ms"}),
        ("--parallel 2", {"parallel": 2}),
        ("--no-parallel --time -f", {"parallel": 0, "time": TIME, "force": True}),
        ("-+", {"cplus": True}),
        ("-c=-DNDEBUG -c -O1 --compile-args=-g", {"compile_args": ("-DNDEBUG", "-O1", "-g")}),
        ("-lm -l gsl -I/opt/include", {"lib": ("m", "gsl"), "include": ("/opt/include",)}),
        ("--signature '(n),(n)->()' --identity -1", {"signature": "(n),(n)->()", "identity": "-1"}),
        ("--no-strict --no-parallel", {"strict": False, "parallel": 0}),
        ("-N 1_000", {"size": 1000}),
        ("-h", {"help": True}),
    ],
)
def test_option_line_is_read_as_written(line: str, expected: dict[str, Any]) -> None:
    assert arguments.parse(line) == expected


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.flags[0])
def test_example_of_every_option_is_accepted(option: Any) -> None:
    assert set(arguments.parse(option.example)) == {option.dest}


def test_time_is_how_long_the_report_may_take() -> None:
    values = (True, False, 2, "2s", "0.5 s", "500ms", "0.5")
    assert [make_options({"time": value}).time for value in values] == [TIME, 0.0, 2.0, 2.0, 0.5, 0.5, 0.5]


@given(st.text())
def test_option_line_is_read_or_refused_whatever_it_holds(line: str) -> None:
    remedy = "none needed"
    try:
        arguments.parse(line)
    except OptionError as error:
        remedy = error.remedy
    assert remedy


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "parallel": st.integers(-1, 64),
            "strict": st.booleans(),
            "lib": st.lists(st.text(), max_size=3).map(tuple),
            "time": st.sampled_from([0.0, TIME, 2.5]),
            "ref": st.text(min_size=1),
        },
    )
)
def test_spelled_options_read_back_as_the_same_options(given_options: dict[str, Any]) -> None:
    line = " ".join(arguments.spell(given_options))
    assert make_options(arguments.parse(line)) == make_options(given_options)


def test_every_option_and_three_cells_stand_in_the_help(loaded: InteractiveShell) -> None:
    text = loaded.object_inspect("%%c_ufunc")["docstring"]
    assert [o.example for o in C_OPTIONS if o.example not in text] == []
    assert [flag for o in C_OPTIONS for flag in o.flags if flag not in text] == []
    assert text.count("%%c_ufunc") >= 3


@pytest.mark.parametrize("cell", ["%c_ufunc", "%c_ufunc -h", "%%c_ufunc --help\nignored"])
def test_help_is_shown_when_asked_for(loaded: InteractiveShell, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_cell(cell).raise_error()
    assert "--parallel" in capsys.readouterr().out


def test_code_behind_the_line_magic_is_a_usage_error(loaded: InteractiveShell) -> None:
    with pytest.raises(UsageError, match="Write %%c_ufunc"):
        loaded.run_line_magic("c_ufunc", "double f(double x);")


def test_remembered_options_apply_to_later_cells(loaded: InteractiveShell, engine: FakeEngine) -> None:
    loaded.run_line_magic("ufunc_config", "--no-time --parallel=2")
    run(loaded)
    run(loaded, "--time --no-parallel --strict")
    assert [asked["options"] for asked in engine.asked] == [Options(time=False, parallel=2), Options(strict=True)]


def test_remembered_options_outlive_the_session(loaded: InteractiveShell) -> None:
    loaded.run_line_magic("ufunc_config", "--arch native")
    again = UfuncMagics(loaded)
    assert again.read_remembered() == Remembered(Options(arch="native"))


def test_reset_forgets_everything_and_takes_new_options(loaded: InteractiveShell) -> None:
    loaded.run_line_magic("ufunc_config", "--arch native --strict")
    assert loaded.run_line_magic("ufunc_config", "--reset -q") == Remembered(Options(time=False))
    assert loaded.run_line_magic("ufunc_config", "--reset") == Remembered(Options())
    assert UfuncMagics(loaded).read_remembered() == Remembered(Options())


def test_config_shows_options_as_they_are_typed(loaded: InteractiveShell) -> None:
    assert repr(loaded.run_line_magic("ufunc_config", "")) == "no default options"
    shown = loaded.run_line_magic("ufunc_config", "-q --parallel -I '/my files'")
    assert repr(shown) == "default options: --parallel --include='/my files' --no-time"


@pytest.mark.parametrize("line", ["-n cell", "--force", "--ref np.exp", "--nonsense"])
def test_config_refuses_what_belongs_to_one_cell(loaded: InteractiveShell, line: str) -> None:
    with pytest.raises(UsageError):
        loaded.run_line_magic("ufunc_config", line)


@pytest.mark.parametrize("stored", ["not json", json.dumps({"no_such": 1}), json.dumps([1]), json.dumps({"arch": 3})])
def test_unreadable_remembered_options_count_as_none(loaded: InteractiveShell, stored: str) -> None:
    loaded.db["ufunc_magic/options"] = stored
    assert UfuncMagics(loaded).read_remembered() == Remembered(Options())


class ReadOnly(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        raise PermissionError("read-only home")


@pytest.mark.parametrize("database", [SimpleNamespace(), ReadOnly()])
def test_options_last_for_the_session_without_a_usable_database(
    loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch, database: Any
) -> None:
    monkeypatch.setattr(loaded, "db", database)
    loaded.run_line_magic("ufunc_config", "--strict")
    assert loaded.run_line_magic("ufunc_config", "").options.strict
    assert UfuncMagics(loaded).read_remembered() == Remembered(Options())


def completions(shell: InteractiveShell, text: str) -> list[str]:
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        return [text[: c.start] + c.text for c in shell.Completer.completions(text, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%c_ufunc --par", ["%%c_ufunc --parallel"]),
        ("%%c_ufunc --arch ", ["%%c_ufunc --arch portable", "%%c_ufunc --arch native"]),
        ("%%c_ufunc --arch=n", ["%%c_ufunc --arch=native"]),
        ("%%c_ufunc -q --identity re", ["%%c_ufunc -q --identity reorderable"]),
        ("%%c_ufunc --types f4,f", ["%%c_ufunc --types f4,f4", "%%c_ufunc --types f4,f8", "%%c_ufunc --types f4,f2"]),
        ("%%c_ufunc --no-st", ["%%c_ufunc --no-strict"]),
        ("%ufunc_config --str", ["%ufunc_config --strict"]),
        ("%%c_ufunc --vs numpy,numb", ["%%c_ufunc --vs numpy,numba"]),
        ("%%c_ufunc --show as", ["%%c_ufunc --show asm"]),
        ("%%cuda_device --device g", ["%%cuda_device --device gpu"]),
        ("%ufunc_compare f --r", ["%ufunc_compare f --ref"]),
        ("%ufunc_cache --", ["%ufunc_cache --clear", "%ufunc_cache --prune", "%ufunc_cache --help"]),
    ],
)
def test_tab_completes_options_and_values(loaded: InteractiveShell, text: str, expected: list[str]) -> None:
    assert completions(loaded, text) == expected


@pytest.mark.parametrize("magic", ["ufunc_config", "ufunc_cache", "ufunc_doctor"])
def test_line_magics_show_their_help_when_asked(
    loaded: InteractiveShell, magic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded.run_cell(f"%{magic} --help").raise_error()
    assert "Docstring:" in capsys.readouterr().out


def test_cache_shows_what_this_session_has_loaded(loaded: InteractiveShell) -> None:
    before = loaded.run_line_magic("ufunc_cache", "")
    um.compile_c("double f(double x) { return x + 20011; }", guard=False)
    after = loaded.run_line_magic("ufunc_cache", "")
    assert after.loaded == before.loaded + 1
    assert after.loaded_bytes > before.loaded_bytes
    assert f"In this process: {after.loaded} object" in repr(after)


def test_tab_offers_every_option_once_typed_ones_left_out(loaded: InteractiveShell) -> None:
    offered = completions(loaded, "%%c_ufunc --strict -")
    flags = [flag for o in C_OPTIONS for flag in o.flags if o.dest != "strict"]
    assert offered == [f"%%c_ufunc --strict {flag}" for flag in [*flags, "-h", "--help"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("double squared(double x) { return x * x; }\ndouble f(double y) { return squ", ["squared"]),
        ("#include <math.h>\ndouble f(double x) { return lgam", ["lgamma", "lgamma_r"]),
        ("#include <cmath>\ndouble f(double x) { return tgam", ["tgamma"]),
        ("double f(double x) { return lgam", []),
        ("#include <complex.h>\ndouble complex f(double complex x) { return csq", ["csqrt"]),
        ("/* squids */ double f(double x) { vola", ["volatile"]),
        ("/* squids */ double f(double x) { squ", []),
        ("double lists(double x) { return lis", ["lists"]),  # Python's list is no name here
        ("struct P { double weight; };\ndouble f(struct P p) { return p.wei", ["weight"]),
        ('#include "own_lib.h"\ndouble f(double x) { return own_', ["own_square", "own_type"]),
    ],
)
def test_tab_completes_names_of_c_cells(
    loaded: InteractiveShell, text: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_lib.h").write_text(
        "#define OWN_SIZE 3\ntypedef int own_type;\n// own_comment(\ndouble own_square(double);\n"
    )
    cell = f"%%c_ufunc -q\n{text}"
    begun = re.sub(r"\w*$", "", cell)
    assert sorted(completions(loaded, cell)) == sorted(begun + name for name in expected)


def test_tab_in_cython_cells_knows_python_as_well(loaded: InteractiveShell) -> None:
    cell = "%%cython_ufunc\nfrom libc.math cimport lgamma\ncdef double f(double x):\n    return "
    assert f"{cell}lgamma" in completions(loaded, f"{cell}lgam")
    assert f"{cell}isinstance" in completions(loaded, f"{cell}isinst")
    assert [c for c in completions(loaded, f"{cell}x.lgam") if "lgamma" in c] == []


def test_stopping_a_comparison_before_its_first_row_shows_one_line(loaded: InteractiveShell) -> None:
    def stopped(x: Any) -> Any:
        raise KeyboardInterrupt

    loaded.user_ns["stopped"] = stopped
    with pytest.raises(KeyboardInterrupt) as raised:
        loaded.run_line_magic("ufunc_compare", "stopped np.sin -- 1.0")
    shown = getattr(raised.value, "_render_traceback_")()  # noqa: B009 - a method for IPython
    assert shown == ["KeyboardInterrupt: %ufunc_compare was stopped; it measured nothing."]


def test_tab_knows_math_in_cuda_cells_which_have_it_anyway(loaded: InteractiveShell) -> None:
    cell = "%%cuda_device\n__device__ float f(float x) { return "
    assert f"{cell}lgamma" in completions(loaded, f"{cell}lgam")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from libc.math cimport lgam", "lgamma"),
        ("from libc.math cimport (sqrt, lgam", "lgamma"),
        ("from libc.math cimport *\ncdef double f(double x):\n    return lgam", "lgamma"),
        ("from libc cimport math as m\ncdef double f(double x):\n    return m.lgam", "lgamma"),
        ("from libc cimport math as m\ncdef double f(double x):\n    return m.", "lgamma"),
        ("cimport libc.math\ncdef double f(double x):\n    return libc.math.lgam", "lgamma"),
        ("cimport numpy as cnp\ncdef cnp.float6", "float64_t"),
        ("from own cimport Own", "OwnType"),
    ],
)
def test_tab_knows_what_cimported_modules_declare(
    loaded: InteractiveShell, text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.pxd").write_text("cdef class OwnType:\n    cdef int x\n")
    cell = f"%%cython_ufunc\n{text}"
    assert re.sub(r"\w*$", expected, cell, count=1) in completions(loaded, cell)


@pytest.mark.parametrize("text", ["from . cimport lgam", "cimport lgam", "from no.such cimport lgam", "x.lgam"])
def test_tab_has_no_answer_for_modules_that_are_not_there(loaded: InteractiveShell, text: str) -> None:
    assert [c for c in completions(loaded, f"%%cython_ufunc\n{text}") if "lgamma" in c] == []


def test_tab_elsewhere_in_the_cell_is_not_ours(loaded: InteractiveShell) -> None:
    text = "%%c_ufunc --parallel\n--str"
    assert [c for c in completions(loaded, text) if c.endswith("--strict")] == []


def test_loading_twice_unloading_and_reloading_leave_one_set(loaded: InteractiveShell) -> None:
    loaded.run_line_magic("load_ext", "ufunc_magic")
    loaded.run_line_magic("reload_ext", "ufunc_magic")
    assert len(loaded.Completer.custom_matchers) == 2
    assert len([c for c in loaded.events.callbacks["pre_run_cell"] if c.__name__ == "before_cell"]) == 1
    loaded.run_line_magic("unload_ext", "ufunc_magic")
    assert loaded.Completer.custom_matchers == []
    assert loaded.find_cell_magic("c_ufunc") is None
    assert loaded.find_line_magic("ufunc_config") is None
    loaded.run_line_magic("load_ext", "ufunc_magic")
    assert loaded.find_cell_magic("c_ufunc") is not None


def test_unloading_leaves_the_functions(loaded: InteractiveShell, engine: FakeEngine) -> None:
    run(loaded)
    loaded.run_line_magic("unload_ext", "ufunc_magic")
    assert "f" in loaded.user_ns


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("double f(double x) { return exp(x); }", {"f"}),
        ("double\nf(double x", {"f"}),
        ("unsigned int *g(int a) {\n  double y = h(2);\n  return k(3);\n}", {"g"}),
        ("template<class T> T f(T x) {", {"f"}),
        ("// ufunc: (n)->() name=total\ndouble sum(double *x, int n) {", {"total", "sum"}),
        ("static double helper(double x) {", set()),
        ("int lambda(int x) {", {"lambda", "lambda_"}),
    ],
)
def test_names_of_a_broken_cell_are_found_in_its_text(cell: str, expected: set[str]) -> None:
    found = find_defined(cell)
    assert expected <= found
    assert {name for name in found if not name.endswith("_")} == {name for name in expected if not name.endswith("_")}


@pytest.fixture
def fresh_process(tmp_path: Path) -> Any:
    """Runs code in a new Python that keeps compiled modules, as an installed package does."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "pycache")

    def run_python(code: str) -> list[str]:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=environment)
        return done.stdout.split()

    return run_python


def test_load_ext_imports_nothing_heavy(fresh_process: Any) -> None:
    code = """
import sys, IPython, numpy
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
before = set(sys.modules)
shell.run_line_magic("load_ext", "ufunc_magic")
print(*sorted(set(sys.modules) - before))
"""
    loaded = set(fresh_process(code))
    heavy = {
        "tree_sitter",
        "numba",
        "Cython",
        "cffi",
        "cupy",
        "matplotlib",
        "dask",
        "pandas",
        "subprocess",
    }
    assert "ufunc_magic.notebook.magics" in loaded
    assert loaded & heavy == set()
    assert {name.split(".")[1] for name in loaded if name.startswith("ufunc_magic.")} == {"model", "notebook"}
    assert not any(name.startswith("ufunc_magic.model.object_code") for name in loaded)


def test_importing_the_package_imports_none_of_its_modules(fresh_process: Any) -> None:
    assert fresh_process("import sys, ufunc_magic; print(*(m for m in sys.modules if 'ufunc_magic.' in m))") == []


@pytest.mark.slow
def test_a_program_without_a_function_to_bind_runs(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    program = '#include <cstdio>\nint main() { int n; cudaGetDeviceCount(&n); printf("%d devices\\n", n); return 3; }'
    result = loaded.run_cell(f"%%cuda_device --run-main --device cpu\n{program}", store_history=True)
    result.raise_error()
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("1 devices\n", "main() returned 3.\n")
    failed = loaded.run_cell(f"%%cuda_device --device cpu\n{program}", store_history=True)
    assert "has a main(), and nothing to bind.\n--run-main runs it." in str(failed.error_in_exec)
