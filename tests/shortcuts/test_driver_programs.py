"""Cells are compiled without the compiler's driver, and come out as the driver would have made them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from ufunc_magic.compilers import UnitOrigin, compile_shared, find, list_base_flags, list_base_link_options
from ufunc_magic.model import LinkError
from ufunc_magic.shortcuts import run_programs
from ufunc_magic.store import manifest

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or not sys.platform.startswith("linux"), reason="needs gcc on Linux"
)

PUBLIC = '__attribute__((visibility("default"))) '


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that are started, as they are."""
    names: list[str] = []
    popen = subprocess.Popen

    def noted(command: Any, **options: Any) -> Any:
        names.append(Path(command[0]).name.removeprefix("x86_64-linux-gnu-"))
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    return names


def build(folder: Path, cell: str, *, cplus: bool = False, link: tuple[str, ...] = ()) -> Path:
    folder.mkdir(exist_ok=True)
    tool = find(cplus=cplus, environ={"CC": "gcc", "PATH": os.environ["PATH"]})
    compile_shared(
        tool,
        f'#line 1 "cell"\n{cell}',
        UnitOrigin("cell", cell),
        output=folder / "cell.so",
        flags=list_base_flags(tool, environ={}),
        link=[*link, *list_base_link_options(tool, environ={})],
        run=run_programs,
    )
    return folder / "cell.so"


def call(library: Path, x: float) -> float:
    f = ctypes.CDLL(str(library)).f
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    result: float = f(x)
    return result


@pytest.fixture(params=["", "--parallel"])
def second_cell(request: pytest.FixtureRequest, programs: list[str]) -> list[str]:
    """The programs that a cell starts when the compiler has been asked for its steps."""
    options = {"parallel": True} if request.param else {}
    for n in range(2):
        programs.clear()
        um.compile_c(f"#include <math.h>\ndouble f(double x) {{ return log(x) + {n}; }}", guard=False, **options)
    return programs


def test_a_cell_starts_compiler_assembler_and_linker_and_nothing_else(second_cell: list[str]) -> None:
    assert second_cell == ["cc1", "as", "ld"]


@pytest.mark.slow
def test_a_parallel_object_reads_numbers_by_itself() -> None:
    """atoi is strtol under a new name from glibc 2.38 on, and an object that calls it needs that glibc."""
    assert b"strtol" not in um.compile_c("double f(double x) { return x; }", parallel=True).object_code.code


@pytest.mark.slow
def test_so_does_a_cell_of_cplus_with_exceptions_and_containers(programs: list[str]) -> None:
    for n in range(2):
        programs.clear()
        cell = f"#include <vector>\ndouble f(double x) {{ return std::vector<double>(3, x).at(2) + {n}; }}"
        um.compile_c(cell, cplus=True, guard=False)
    assert programs == ["cc1plus", "as", "ld"]


CELLS = {
    "math": (f"#include <math.h>\n{PUBLIC}double f(double x) {{ return lgamma(exp(x)) + x; }}", False),
    "printf": (f'#include <stdio.h>\n{PUBLIC}double f(double x) {{ printf("%g", x); return x; }}', False),
    "atexit": (
        f"#include <stdlib.h>\nstatic void end(void) {{}}\n{PUBLIC}double f(double x) {{ return x + atexit(end); }}",
        False,
    ),
    "exceptions": (
        f'#include <stdexcept>\n#include <vector>\nextern "C" {PUBLIC}double f(double x) '
        '{ try { if (x > 0) throw std::runtime_error("no"); } '
        "catch (std::exception &) { return std::vector<double>(3, x)[2]; } return x; }",
        True,
    ),
    "iostream": (
        f'#include <iostream>\n#include <string>\nextern "C" {PUBLIC}double f(double x) '
        '{ std::string s("x"); s += "y"; std::cout << s << x << std::endl; return x; }',
        True,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_a_library_asks_for_what_it_would_if_the_driver_had_linked_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, cplus = CELLS[name]
    ours = needs(build(tmp_path / "ours", cell, cplus=cplus))
    monkeypatch.setenv("UFUNC_MAGIC_PLAIN", "1")
    theirs = needs(build(tmp_path / "theirs", cell, cplus=cplus))
    # Hooks for destructors, profilers and transactions, which objects without them need not have.
    hooks = {"__cxa_finalize", "__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable"}
    assert {n for n in ours if n.partition("@")[0] not in hooks} == {
        n for n in theirs if n.partition("@")[0] not in hooks
    }


def needs(library: Path) -> set[str]:
    """Names of libraries, and of symbols with their versions."""
    lines = subprocess.run(
        ["readelf", "-W", "-d", "--dyn-syms", str(library)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    symbols = {line.split()[7] for line in lines if " UND " in line and len(line.split()) > 7}
    return symbols | {line for line in lines if "NEEDED" in line}


@pytest.mark.parametrize("name", sorted({*CELLS} - {"math"}))
def test_what_is_linked_against_stand_ins_runs(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cell, cplus = CELLS[name]
    assert call(build(tmp_path / "cell", cell, cplus=cplus), 1.5) == 1.5


def test_what_stand_ins_lack_comes_from_the_library(tmp_path: Path, programs: list[str]) -> None:
    cell = f'int eaccess(const char *, int);\n{PUBLIC}int f(void) {{ return eaccess("/", 0); }}'
    build(tmp_path / "first", cell)
    programs.clear()
    library = build(tmp_path / "second", cell)
    assert ctypes.CDLL(str(library)).f() == 0
    assert programs[:4] == ["cc1", "as", "ld", "gcc"]


def test_the_linker_says_what_it_says_to_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = f"double nowhere(double);\n{PUBLIC}double f(double x) {{ int unused; return nowhere(x); }}"
    with pytest.raises(LinkError) as ours:
        build(tmp_path / "ours", cell)
    monkeypatch.setenv("UFUNC_MAGIC_PLAIN", "1")
    with pytest.raises(LinkError) as theirs:
        build(tmp_path / "theirs", cell)
    assert ours.value.diagnostics == theirs.value.diagnostics
    assert len(ours.value.diagnostics) == 2


def test_a_library_that_changes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str]
) -> None:
    cell = CELLS["math"][0]
    build(tmp_path / "first", cell)
    stamp = manifest.Snapshot.read_stamp
    monkeypatch.setattr(
        manifest.Snapshot, "read_stamp", lambda self, path: (1, 1) if "libm.so" in path else stamp(self, path)
    )
    programs.clear()
    build(tmp_path / "second", cell)
    assert programs[0] == "gcc"
    assert programs[-3:] == ["cc1", "as", "ld"]


@pytest.mark.parametrize("option", ["-flto", "-fuse-ld=bfd", "-save-temps=obj"])
def test_what_is_unusual_is_left_to_the_driver(option: str, tmp_path: Path, programs: list[str]) -> None:
    tool = find(environ={"CC": f"gcc {option}", "PATH": os.environ["PATH"]})
    cell = CELLS["math"][0]
    output, flags = tmp_path / "a.so", list_base_flags(tool, environ={})
    compile_shared(tool, cell, UnitOrigin("cell", cell), output=output, flags=flags, link=["-lm"], run=run_programs)
    assert programs == ["gcc"]


@pytest.mark.slow
@pytest.mark.parametrize("cplus", [False, True])
def test_zig_builds_no_runtime_for_a_cell_of_numbers(
    cplus: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ziglang = pytest.importorskip("ziglang", reason="zig is not installed (extra: zig)")
    monkeypatch.setenv("CC", f"{Path(ziglang.__file__).parent / 'zig'} cc")
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path / "zig"))
    cell = "#include <math.h>\ndouble f(double x) { return log(x); }"
    built = um.compile_c(cell, cplus=cplus, arch="native", guard=False)
    assert built.f(1.0) == 0.0
    assert [file.name for file in tmp_path.rglob("*.a")] == []


@pytest.mark.slow
def test_zig_builds_its_runtime_for_a_cell_that_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ziglang = pytest.importorskip("ziglang", reason="zig is not installed (extra: zig)")
    monkeypatch.setenv("CC", f"{Path(ziglang.__file__).parent / 'zig'} cc")
    cell = "double f(double x) { return (double)((unsigned __int128)x / 3 % 5); }"
    assert um.compile_c(cell, guard=False).f(7.0) == 2.0
