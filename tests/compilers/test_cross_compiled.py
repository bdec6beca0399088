"""Cells are compiled by zig for systems that these tests do not run on, and what they export is looked at."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ziglang", reason="ziglang is not installed (extra: zig)")
pytestmark = pytest.mark.slow

NIGHTLY = bool(os.environ.get("UFM_NIGHTLY"))
TARGETS = ["aarch64-macos", "x86_64-macos"]
#: For Windows zig builds a C library first, which takes a minute.
if NIGHTLY:
    TARGETS += ["x86_64-windows-gnu", "aarch64-windows-gnu"]
    TARGETS += ["aarch64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-musl"]
#: With C++, zig builds its library for each target first, which takes a minute or two.
LANGUAGES = ["c", "c++", "cuda"] if NIGHTLY else ["c"]

#: What the loader asks every object for (`ufunc_magic.runtime.loader`).
EXPORTS = {"__ufm_functions", "__ufm_loops", "__ufm_scalars", "__ufm_host", "__ufm_narrowing"}

PROGRAM = """
import os, pathlib, sys, ziglang
target, language, output = sys.argv[1:]
zig = pathlib.Path(ziglang.__file__).parent / "zig"
import numpy, IPython, ufunc_magic  # as they are here
os.environ["CC"], os.environ["CXX"] = f"{zig} cc -target {target}", f"{zig} c++ -target {target}"
from ufunc_magic.languages.c import c_unit
from ufunc_magic.languages.cuda import cuda_unit
from ufunc_magic.guard import guard_process
from ufunc_magic.model import make_options
sys.platform = {"macos": "darwin", "windows": "win32", "linux": "linux"}[target.split("-")[1]]
SOURCES = {
    "c": (
        "#include <assert.h>\\n#include <complex.h>\\n#include <math.h>\\n#include <stdio.h>\\n"
        "double f(double x) { assert(x < 9); return exp(x) * x; }\\n"
        "float complex g(float complex z, int n) { return z * n; }\\n"
        "// ufunc: (n),(n)->()\\n"
        "double dot(const double *a, const double *b, int n)\\n"
        "{ double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }\\n"
        "struct P { double x, y; };\\ndouble norm(struct P p) { return hypot(p.x, p.y); }\\n"
        'int shown(int n) { printf("%d\\\\n", n); return n; }\\n'
    ),
    "c++": (
        "#include <algorithm>\\n#include <stdexcept>\\n#include <vector>\\n"
        "double f(double a, double b)\\n{ std::vector<double> v{a, b}; std::sort(v.begin(), v.end());\\n"
        '  if (v[0] > 5) throw std::runtime_error("too large"); return v[0]; }\\n'
    ),
    "cuda": (
        "__device__ float twice(float x) { return 2 * x + j0f(x) + exp10f(x); }\\n"
        "__global__ void k(float *x, int n) { __shared__ float s[32]; s[threadIdx.x] = twice(x[threadIdx.x]);\\n"
        "  __syncthreads(); if (threadIdx.x < n) atomicAdd(x, s[31 - threadIdx.x]); }\\n"
    ),
}
options = {"device": "cpu"} if language == "cuda" else {"parallel": 2} if language == "c++" else {}
options = make_options({**options, "cplus": language != "c"})
unit = cuda_unit if language == "cuda" else c_unit
folder = pathlib.Path(output)
cell = unit.compile(SOURCES[language], options=options, name="cell", folder=folder)
(folder / "library").write_bytes(cell.object_code.code)
if "windows" not in target and language == "c":
    guard_process.build_watch_library()
"""


@pytest.mark.nightly
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_cell_compiles_for_a_system_that_is_not_here(target: str, language: str, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", PROGRAM, target, language, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code = (tmp_path / "library").read_bytes()
    read = {"macos": _of_mach_o, "windows": _of_pe, "linux": _of_elf}[target.split("-")[1]]
    assert read(code) >= EXPORTS


def _of_elf(code: bytes) -> set[str]:
    from elftools.elf.elffile import ELFFile

    symbols = ELFFile(io.BytesIO(code)).get_section_by_name(".dynsym").iter_symbols()
    return {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}


def _of_mach_o(code: bytes) -> set[str]:
    """Of a 64-bit Mach-O file: external symbols with a section, without the underscore that C puts before them."""
    magic, commands = struct.unpack_from("<I12xI", code)
    assert magic == 0xFEEDFACF
    names, at = set(), 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:  # LC_SYMTAB
            symbols, count, texts = struct.unpack_from("<III", code, at + 8)
            for k in range(count):
                name, kind = struct.unpack_from("<IB", code, symbols + 16 * k)
                if kind & 0x1F == 0x0F:  # N_SECT | N_EXT, not N_PEXT
                    names.add(_text(code, texts + name).removeprefix("_"))
        at += size
    return names


def _of_pe(code: bytes) -> set[str]:
    """The names of a 64-bit PE file's export directory."""
    header = struct.unpack_from("<I", code, 0x3C)[0]
    sections, optional = struct.unpack_from("<H12xH", code, header + 6)
    assert struct.unpack_from("<H", code, header + 24)[0] == 0x20B  # PE32+
    table = [struct.unpack_from("<IIII", code, header + 24 + optional + 40 * k + 8) for k in range(sections)]

    def at(address: int) -> int:
        return next(raw + address - start for size, start, _, raw in table if start <= address < start + size)

    directory = at(struct.unpack_from("<I", code, header + 24 + 112)[0])
    count, names = struct.unpack_from("<I4xI", code, directory + 24)
    return {_text(code, at(address)) for address in struct.unpack_from(f"<{count}I", code, at(names))}


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(0, start)].decode()
