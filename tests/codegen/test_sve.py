"""Loops for SVE: the object has them beside those for NEON, the loader picks them, and no element is another."""

from __future__ import annotations

import ctypes
import io
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

import ufunc_magic as um
from ufunc_magic import cells, codegen, compilers, runtime
from ufunc_magic.model import Options

CELL = """
#include <math.h>
#include <stdint.h>
double polynomial(double x) { return 3 * x * x + 2 * x + 1; }
double distance(double x, double y) { return sqrt(x * x + y * y) / (1 + fabs(x)); }
double crossed(double a, double b) { return a * b - b * (a + 1) * a; }
float chosen(float x, float y) { return x > 0 ? x * y + y : y * y - x; }
double clipped(double x, double y) { double z = x < y ? x * y + 1 : x; return z > 0.5 ? z - x * z : z * y + x; }
int32_t mixed(int32_t a, int32_t b) { return a * b + (a ^ b) - (a >> 3); }
uint8_t apart(uint8_t a, uint8_t b) { return a > b ? a - b : b - a; }
int64_t steps(int64_t a) { int64_t s = 0; for (int i = 0; i < 9; i++) s += a >> i; return s; }
int64_t total(const int32_t *a, int n) { int64_t s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
double dot(const double *a, const double *b, int n)
{ double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
"""
#: IRELATIVE: the loader writes there what the resolver returns.
PICKED = 1032
RETURN = 0xD65F03C0


@pytest.fixture
def compiler() -> compilers.Description:
    """gcc for arm64 Linux that has clones."""
    if (platform.system(), platform.machine()) != ("Linux", "aarch64"):
        pytest.skip("SVE is arm64's")
    description = compilers.describe(compilers.find())
    if description.gcc < 14 or not description.glibc:
        pytest.skip("gcc has clones for SVE from version 14 on, with glibc")
    return description


def picked(code: bytes, path: Path) -> list[list[int]]:
    """The instructions, up to the first return, of each function that the loader picked of several."""
    path.write_bytes(code)
    library = ctypes.CDLL(str(path))
    elf = ELFFile(io.BytesIO(code))
    symbols = elf.get_section_by_name(".dynsym")
    assert isinstance(symbols, SymbolTableSection)
    table = symbols.get_symbol_by_name("__ufm_loops")[0]["st_value"]
    base = ctypes.addressof(ctypes.c_char.in_dll(library, "__ufm_loops")) - table
    sections = [section for section in elf.iter_sections() if isinstance(section, RelocationSection)]
    places = [r["r_offset"] for section in sections for r in section.iter_relocations() if r["r_info_type"] == PICKED]
    functions = []
    # A function that is called and has its address taken has two places.
    for address in sorted({ctypes.c_uint64.from_address(base + place).value for place in places}):
        words: list[int] = []
        while not words or words[-1] != RETURN:
            words.append(ctypes.c_uint32.from_address(address + 4 * len(words)).value)
        functions.append(words)
    return functions


def is_sve(word: int) -> bool:
    """Whether an instruction is SVE's, by the group that it is encoded in."""
    return word >> 25 & 0b1111 == 0b0010


@pytest.mark.usefixtures("compiler")
def test_the_loader_picks_the_loops_for_sve_where_the_processor_has_it(tmp_path: Path) -> None:
    code = um.compile_c("double f(double x) { return 3 * x * x + 2 * x + 1; }").object_code.code
    functions = picked(code, tmp_path / "f.so")
    assert [any(map(is_sve, words)) for words in functions] == ["sve" in runtime.cpu_features()]


def arguments(function: np.ufunc) -> list[np.ndarray]:
    """Numbers of all kinds, special ones among them, for each input of a function."""
    random = np.random.default_rng(7)
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308])
    arrays = []
    for kind in map(np.dtype, function.types[0].partition("->")[0]):
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            arrays.append(random.integers(limits.min, limits.max, size=1003, dtype=kind))
        else:
            numbers = np.concatenate([random.permutation(np.resize(special, 64)), random.normal(size=939)])
            with np.errstate(over="ignore"):
                arrays.append(numbers.astype(kind))
    return arrays


PARTS = (slice(None), slice(1, 30), slice(None, None, 3), slice(5, 6))


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("strict", [False, True])
def test_loops_for_sve_and_for_neon_give_the_same_to_the_last_bit(strict: bool) -> None:
    if "sve" not in runtime.cpu_features():
        pytest.skip("this processor has no SVE")
    both = um.compile_c(CELL, strict=strict)
    neon = um.compile_c(CELL, strict=strict, compile_args=["-D__UFM_ONE_TARGET"])
    different = []
    for name in both:
        arrays = arguments(both[name])
        for part in PARTS:
            with np.errstate(all="ignore"):
                ours, theirs = (np.asarray(cell[name](*(a[part] for a in arrays))) for cell in (both, neon))
            if ours.tobytes() != theirs.tobytes():
                different.append(name)
    # Of two products NEON's vectors leave the second one unrounded, for want of an instruction, all else the first one.
    # SVE adds one rounded product after the other; one number at a time, the product is not rounded.
    assert set(different) <= (set() if strict else {"crossed", "dot"})


@pytest.mark.usefixtures("compiler")
def test_no_value_depends_on_its_place_in_an_array_for_sve() -> None:
    if "sve" not in runtime.cpu_features():
        pytest.skip("this processor has no SVE")
    cell = um.compile_c(CELL)
    for name in set(cell) - {"total", "dot"}:
        arrays = arguments(cell[name])
        with np.errstate(all="ignore"):
            whole = cell[name](*arrays)
            for part in PARTS:
                assert cell[name](*(a[part] for a in arrays)).tobytes() == whole[part].tobytes(), name


@pytest.mark.usefixtures("compiler")
def test_loops_that_call_libmvec_have_neon_alone(tmp_path: Path) -> None:
    if "exp" not in compilers.describe(compilers.find()).libmvec:
        pytest.skip("the C library has no vector functions")
    code = um.compile_c("#include <math.h>\ndouble f(double x) { return exp(x) + x; }").object_code.code
    assert picked(code, tmp_path / "f.so") == []
    assert b"_ZGVnN2v_exp" in code
    assert b"_ZGVsMxv_exp" not in code


@pytest.mark.usefixtures("compiler")
def test_a_cell_in_parts_has_loops_for_sve(tmp_path: Path) -> None:
    sums = [" + ".join(f"x*{n + i}" for i in range(60)) for n in range(9)]
    text = "".join(f"double f{n}(double x) {{ return {terms}; }}\n" for n, terms in enumerate(sums))
    cell = um.compile_c(text)
    functions = picked(cell.object_code.code, tmp_path / "f.so")
    assert [any(map(is_sve, words)) for words in functions] == ["sve" in runtime.cpu_features()] * 9
    np.testing.assert_allclose(cell["f2"](np.arange(5.0)), np.arange(5) * sum(range(2, 62)))


@pytest.mark.parametrize(("release", "flags"), [("14.2.0", []), ("15.3.0", ["-Wno-experimental-fmv-target"])])
def test_gcc_is_told_not_to_warn_of_clones_once_it_would(release: str, flags: list[str]) -> None:
    description = compilers.Description(f"gcc {release}", "aarch64", glibc="2.41")
    tool = compilers.Toolchain("gcc", ("gcc",), cplus=False, path="/usr/bin/gcc", size=0, mtime_ns=0, origin="PATH")
    facts: Any = {"options": Options(), "description": description, "tool": tool}
    plan = cells.plan_unit(set(), fenv=False, own=set(), floats=False, **facts)
    assert [flag for flag in plan.flags if flag.startswith("-W")] == flags


def test_only_gcc_14_for_glibc_has_clones_for_sve() -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc on this machine")

    def clones(*macros: str) -> list[str]:
        text = codegen.template("support.h") + "\n@__UFM_CLONES@__UFM_CLONES_FMA@__UFM_CLONES_MATH@\n"
        words = ["-U__x86_64__", "-U__clang__", "-U__GNUC__", "-D__aarch64__", "-D__ELF__", *macros]
        done = subprocess.run([gcc, "-E", "-P", "-", *words], input=text, capture_output=True, text=True, check=True)
        return [word.strip() for word in done.stdout.split("@")[1:-1]]

    sve = '__attribute__((__target_clones__("default", "sve")))'
    assert clones("-D__GNUC__=14") == [sve, "", ""]
    assert clones("-D__GNUC__=16") == [sve, "", ""]
    assert clones("-D__GNUC__=13") == ["", "", ""]
    assert clones("-D__GNUC__=14", "-D__UFM_ONE_TARGET") == ["", "", ""]
    assert clones("-D__GNUC__=14", "-D__clang__") == ["", "", ""]
    # gcc for musl, whose loader resolves nothing.
    assert clones("-D__GNUC__=14", "-U__gnu_linux__") == ["", "", ""]


#: As the assembler writes them: loads, stores and what reaches no memory.
INSTRUCTIONS = {
    1: (0xC5E1C000, 0x85614000, 0xA4815C9E, 0x85C0E000, 0x85804000, 0xFD400020, 0x3DC00020),
    2: (0xE5804000, 0xE5BEBC5D, 0xE5415C7F, 0xE4015C7F, 0xFD000020, 0x3D800020),
    0: (0x65C20020, 0x8B020020, 0x65E20020),
}


@pytest.mark.parametrize("access", INSTRUCTIONS)
def test_instructions_of_sve_and_others_say_whether_they_read_or_write(access: int) -> None:
    text = codegen.template("access.h")
    function = text[text.index("static int access_of") : text.index("/* 1: it read")]
    of = um.compile_c(f"#include <stdint.h>\n{function}\nint of(uint32_t i) {{ return access_of(i); }}")["of"]
    assert of(np.array(INSTRUCTIONS[access], np.uint32)).tolist() == [access] * len(INSTRUCTIONS[access])
