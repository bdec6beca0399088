"""Headers that are compiled once are read where nothing has changed, and only there."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ufunc_magic as um
from ufunc_magic import compilers, shortcuts, store
from ufunc_magic.languages import cython
from ufunc_magic.languages.cython import python_headers
from ufunc_magic.model import Options
from ufunc_magic.shortcuts import precompiled

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or not sys.platform.startswith("linux"), reason="needs gcc on Linux"
)

CELL = "from libc.math cimport sin\n\ndef f(double x):\n    return sin(x) / x\n"


@pytest.fixture
def gcc(monkeypatch: pytest.MonkeyPatch) -> compilers.Toolchain:
    monkeypatch.setenv("CC", "gcc")
    return compilers.find()


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "own.h"
    path.write_text("enum { VALUE = 1 };\n")
    return path


def test_a_unit_that_begins_with_them_need_not_read_them(
    gcc: compilers.Toolchain, header: Path, tmp_path: Path
) -> None:
    text, flags = f'#include "{header}"\n', ["-O1"]
    assert shortcuts.include_precompiled(gcc, text, flags=flags) == ()
    shortcuts.precompile(gcc, text, flags=flags)
    words = shortcuts.include_precompiled(gcc, text, flags=flags)
    assert words[0] == "-include"
    # gcc says so where it does not use them.
    compilers.compile_object(
        gcc,
        "int value = VALUE;\n",
        compilers.UnitOrigin("unit", ""),
        output=tmp_path / "unit.o",
        flags=[*flags, *words, "-Winvalid-pch", "-Werror"],
    )


def test_a_header_that_has_changed_is_read_again(gcc: compilers.Toolchain, header: Path) -> None:
    text = f'#include "{header}"\n'
    shortcuts.precompile(gcc, text, flags=[])
    header.write_text("enum { VALUE = 12345 };\n")
    assert shortcuts.include_precompiled(gcc, text, flags=[]) == ()
    shortcuts.precompile(gcc, text, flags=[])
    assert shortcuts.include_precompiled(gcc, text, flags=[]) != ()


def test_other_flags_and_other_compilers_have_others(gcc: compilers.Toolchain, header: Path) -> None:
    text = f'#include "{header}"\n'
    shortcuts.precompile(gcc, text, flags=[])
    assert shortcuts.include_precompiled(gcc, text, flags=["-DVALUE=2"]) == ()
    assert shortcuts.include_precompiled(replace(gcc, mtime_ns=0), text, flags=[]) == ()


def test_what_does_not_compile_leaves_nothing(gcc: compilers.Toolchain) -> None:
    text = "#error no\n"
    shortcuts.precompile(gcc, text, flags=[])
    assert shortcuts.include_precompiled(gcc, text, flags=[]) == ()
    assert not list(store.open_default().path.glob("storage/headers/*"))


def test_the_last_ones_stay(gcc: compilers.Toolchain, header: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "MOST", 1)
    text = f'#include "{header}"\n'
    for flags in (["-DA=1"], ["-DA=2"]):
        shortcuts.precompile(gcc, text, flags=flags)
    assert shortcuts.include_precompiled(gcc, text, flags=["-DA=1"]) == ()
    assert shortcuts.include_precompiled(gcc, text, flags=["-DA=2"]) != ()


@pytest.mark.slow
@pytest.mark.cython
def test_a_cython_cell_is_the_same_with_and_without_them(gcc: compilers.Toolchain) -> None:
    without = um.compile_cython(CELL, force=True)
    assert not cython.has_headers(cplus=False)
    cython.precompile_headers(options=Options())
    assert cython.has_headers(cplus=False)
    (header,) = store.open_default().path.glob("storage/headers/*.h")
    with_headers = um.compile_cython(CELL, force=True)
    assert str(header) not in with_headers.report_data.command
    assert with_headers.object_code.code == without.object_code.code


@pytest.mark.cython
def test_a_cython_cell_compiles_where_gcc_cannot_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_headers, "choose_header_flags", lambda *_, **__: ("-include", "/nowhere/python.h"))
    assert um.compile_cython(CELL)["f"](2.0) == pytest.approx(0.45464871)
