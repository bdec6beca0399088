"""A compiler that waits for the next cell makes of it what one does that starts with it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import shortcuts
from ufunc_magic.compilers import include_search
from ufunc_magic.shortcuts import driver_programs, waiting_compilers

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or not sys.platform.startswith("linux") or os.uname().machine != "x86_64",
    reason="needs gcc on Linux x86-64",
)

CELL = "#include <math.h>\ndouble f(double x) {{ return sqrt(x) + {0}; }}\n"


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CC", "gcc")
    waiting_compilers.dismiss_all()
    yield
    waiting_compilers.dismiss_all()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each unit whether a compiler had waited for it since the cell before."""
    answers: list[bool] = []

    def noted(*arguments: object) -> object:
        process = waiting_compilers.take_compiler(*arguments)  # type: ignore[arg-type]
        if arguments[2] is not None:
            answers.append(process is not None)
        return process

    monkeypatch.setattr(driver_programs, "take_compiler", noted)
    return answers


def test_the_next_cell_is_read_by_a_compiler_that_waited(taken: list[bool]) -> None:
    um.compile_c(CELL.format(1), force=True)
    shortcuts.start_waiting()
    second = um.compile_c(CELL.format(2), force=True)
    assert taken == [False, True]
    assert second["f"](4.0) == 4.0


def test_the_library_is_the_same(taken: list[bool]) -> None:
    cell = CELL.format(3)
    first = um.compile_c(cell)
    shortcuts.start_waiting()
    second = um.compile_c(cell, force=True)
    assert taken == [False, True]
    assert first.loaded.object_code.code == second.loaded.object_code.code


@pytest.mark.parametrize(
    ("before", "cell", "usable"),
    [
        ("#include <math.h>\n", "// a note\n#include <math.h>\n#include <stdlib.h>\n", True),
        ("", "#include <math.h>\n", True),
        ("#include <math.h>\n", "#include <stdlib.h>\n#include <math.h>\n", False),
        ("#include <math.h>\n", "", False),
        ("#include <math.h>\n", "#define _GNU_SOURCE\n#include <math.h>\n", False),
        ("/*\n#include <stdlib.h>\n*/\n#include <math.h>\n", "#include <math.h>\n", True),
    ],
)
def test_it_has_read_what_the_cell_begins_with_and_no_more(
    before: str, cell: str, usable: bool, taken: list[bool]
) -> None:
    um.compile_c(f"{before}double f(double x) {{ return 2 * x; }}", force=True)
    shortcuts.start_waiting()
    um.compile_c(f"{cell}double g(double x) {{ return 3 * x; }}", force=True)
    assert taken == [False, usable]


def test_a_name_that_an_unread_header_would_take_is_free() -> None:
    um.compile_c(CELL.format(4), force=True)
    shortcuts.start_waiting()
    assert um.compile_c("double gamma(int n, double v) { return n * v; }")["gamma"](2, 3.0) == 6.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "double f(double x) { return sqrt(x) + unknown; }",
        "static const double unused = 1;\ndouble f(double x) { int k; return x; }",
        "double f(double x) { return x;",
        "#if 1\ndouble f(double x) { return x; }",
        "double f(double x) { return x; }\n#warning late",
        'double f(double x) { __asm__("no_such_instruction"); return x; }',
    ],
)
def test_messages_are_the_same(text: str) -> None:
    def messages() -> list[str]:
        try:
            return [str(d) for d in um.compile_c(f"#include <math.h>\n{text}", force=True, guard=False).diagnostics]
        except um.UfuncMagicError as fault:
            return [str(fault)]

    plain = messages()
    um.compile_c(CELL.format(5), force=True)
    shortcuts.start_waiting()
    assert messages() == plain


def test_cpp_warns_of_the_same(taken: list[bool]) -> None:
    cell = "#include <vector>\nnamespace { struct P { double x; }; } struct Q { P p; };\n"
    cell += "double f(double x) { std::vector<Q> v(2, Q{{x}}); return v[1].p.x + 1; }"
    first = um.compile_c(cell, cplus=True, force=True)
    shortcuts.start_waiting()
    second = um.compile_c(cell, cplus=True, force=True)
    assert taken == [False, True]
    assert second.diagnostics == first.diagnostics
    np.testing.assert_array_equal(second["f"](np.arange(3.0)), [1, 2, 3])


def test_one_that_has_died_is_not_missed(taken: list[bool]) -> None:
    um.compile_c(CELL.format(6), force=True)
    shortcuts.start_waiting()
    ((process, *_),) = waiting_compilers.waiting.values()
    os.kill(process.pid, signal.SIGKILL)
    assert um.compile_c(CELL.format(7), force=True)["f"](4.0) == 9.0
    process.wait()


def test_it_ends_with_this_process() -> None:
    um.compile_c(CELL.format(8), force=True)
    shortcuts.start_waiting()
    ((process, *_),) = waiting_compilers.waiting.values()
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.stdout.close()
    process.wait()  # for ever, if the end of its pipes did not end it


# From Python 3.12 on.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_the_child_of_a_fork_has_none() -> None:
    um.compile_c(CELL.format(9), force=True)
    shortcuts.start_waiting()
    child = os.fork()
    if not child:
        os._exit(len(waiting_compilers.waiting))
    assert os.waitpid(child, 0)[1] == 0
    assert len(waiting_compilers.waiting) == 1


def test_a_new_process_waits_for_cells_like_those_of_the_last_one(taken: list[bool]) -> None:
    um.compile_c(CELL.format(10), force=True)
    shortcuts.start_waiting()
    waiting_compilers.dismiss_all()
    shortcuts.start_waiting()
    assert not waiting_compilers.waiting  # after a cell that the cache had
    shortcuts.start_waiting(recalled=True)
    assert len(waiting_compilers.waiting) == 1
    um.compile_c(CELL.format(11), force=True)
    assert taken == [False, True]


@pytest.mark.parametrize(
    "options", [{"compile_args": ("-DN=2",)}, {"compile_args": ("-include", "stdio.h")}, {"arch": "native"}]
)
def test_options_of_the_users_own_start_a_compiler_of_their_own(options: dict[str, object], taken: list[bool]) -> None:
    um.compile_c(CELL.format(12), force=True)
    shortcuts.start_waiting()
    um.compile_c(CELL.format(13), **options)
    assert taken == [False]


def test_a_cell_that_asks_where_it_stands_is_compiled_alone(taken: list[bool]) -> None:
    um.compile_c(CELL.format(14), force=True)
    shortcuts.start_waiting()
    assert um.compile_c("double f(double x) { return x + __INCLUDE_LEVEL__; }")["f"](1.0) == 1.0
    assert taken == [False]


@pytest.mark.parametrize("name", ["CPATH", "PATH", "C_INCLUDE_PATH"])
def test_one_that_has_started_with_other_variables_is_not_taken(
    name: str, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    um.compile_c(CELL.format(15), force=True)
    shortcuts.start_waiting()
    monkeypatch.setenv(name, os.pathsep.join(filter(None, [os.environ.get(name), "/nowhere"])))
    ((process, *_),) = waiting_compilers.waiting.values()
    um.compile_c(CELL.format(16), force=True)
    assert taken == [False, False]
    assert process.poll() is not None


def test_one_that_has_started_in_another_folder_is_not_taken(
    taken: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    um.compile_c(CELL.format(17), force=True)
    shortcuts.start_waiting()
    ((process, *_),) = waiting_compilers.waiting.values()
    monkeypatch.chdir(tmp_path)
    um.compile_c(CELL.format(18), force=True)
    assert taken == [False, False]
    assert process.poll() is not None


def test_it_reports_the_files_that_it_reads(taken: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    rules: list[str] = []
    read_report = include_search.read_report

    def note(rule: str) -> list[str]:
        rules.append(rule)
        return read_report(rule)

    monkeypatch.setattr(include_search, "read_report", note)
    um.compile_c(CELL.format(24), force=True, guard=False)
    shortcuts.start_waiting()
    um.compile_c(CELL.format(25), force=True, guard=False)
    assert taken == [False, True]
    assert [rule.count("/math.h") for rule in rules] == [1, 1]
