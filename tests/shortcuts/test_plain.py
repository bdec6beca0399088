"""With UFUNC_MAGIC_PLAIN a cell takes the plain road: the driver's command, one unit, one object, link, load."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import shortcuts
from ufunc_magic.languages import cython
from ufunc_magic.model import Options

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or not sys.platform.startswith("linux"), reason="needs gcc on Linux"
)

CELL = "#include <math.h>\ndouble f(double x) {{ return exp(x) + {0}; }}\n"
MANY = "#include <math.h>\n" + "".join(f"double f{n}(double x) {{ return exp(x) + {n}; }}\n" for n in range(20))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc")
    monkeypatch.setenv("UFUNC_MAGIC_PLAIN", "1")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that this process starts."""
    names: list[str] = []
    popen = subprocess.Popen

    def noted(command: Any, **options: Any) -> Any:
        names.append(Path(command[0]).name)
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    return names


@pytest.mark.parametrize("cell", [CELL.format(1), MANY], ids=["one function", "twenty functions"])
def test_one_command_of_the_driver_compiles_a_cell(cell: str, programs: list[str]) -> None:
    um.compile_c(cell, guard=False)  # the compiler's description, and the driver of the loops
    programs.clear()
    build = um.compile_c(f"{cell}// again", guard=False)
    assert programs == ["gcc"]
    assert build.object_code is build.loaded.object_code
    assert build.object_code.target.level == "baseline"


def test_no_compiler_waits(programs: list[str]) -> None:
    um.compile_c(CELL.format(2), force=True, guard=False)
    programs.clear()
    shortcuts.start_waiting()
    shortcuts.start_waiting(recalled=True)
    assert programs == []


@pytest.mark.cython
def test_no_header_is_compiled_for_cython_cells(programs: list[str]) -> None:
    assert cython.has_headers(cplus=False)
    cython.precompile_headers(options=Options())
    assert programs == []


@pytest.mark.parametrize("value", ["", "0"])
def test_a_cell_of_one_road_is_new_on_the_other(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = f"{CELL.format(3)}// {value}"
    plain = um.compile_c(cell, guard=False)
    assert um.compile_c(cell, guard=False).cached
    monkeypatch.setenv("UFUNC_MAGIC_PLAIN", value)
    short = um.compile_c(cell, guard=False)
    assert not short.cached
    x = np.linspace(-3, 3, 101)
    np.testing.assert_array_equal(short["f"](x), plain["f"](x))
