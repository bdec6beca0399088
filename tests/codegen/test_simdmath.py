"""The vector math of `templates/simdmath.h`, on arm64 libmvec's: errors, special cases, and that the loops call it."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import math
import platform
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ufunc_magic as um
from support import REPOSITORY

X86, ARM = ((sys.platform, platform.machine()) == ("linux", machine) for machine in ("x86_64", "aarch64"))
#: Largest error in ulp that the header's comments promise, per instruction set; for NEON what we say of libmvec.
X86_LIMITS = {
    "v3": {"exp": 1.0, "tanh": 1.8},
    "v4": {"pow": 1.2, "exp": 0.82, "log": 0.65, "tanh": 1.9, "sinh": 1.6, "powf": 0.85, "tanhf": 1.8, "erff": 1.7},
}
ARM_LIMITS = {"neon": {name + kind: 3.5 for name in ("exp", "log", "sin", "cos", "pow", "tanh") for kind in ("", "f")}}
LIMITS = ARM_LIMITS if ARM else X86_LIMITS
WIDEST = "neon" if ARM else "v4"
OURS = [(isa, name) for isa, names in LIMITS.items() for name in names]
STRICT = ("-O3", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic", "-Werror", "-fPIC", "-shared")
VARIANT = {"v3": "d", "v4": "e"}
NEEDS = {"v3": {"avx2", "fma"}, "v4": {"avx512f", "avx512dq", "avx512vl", "avx512bw"}}

LIBC = tuple(int(part) for part in platform.libc_ver()[1].split(".") if part.isdigit())
only_x86 = pytest.mark.skipif(not X86, reason="on arm64 the functions are glibc's, not those of the header")
only_arm = pytest.mark.skipif(not ARM, reason="NEON is arm64's")

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine"),
    pytest.mark.skipif(not X86 and not ARM, reason="vector functions have an ABI on x86-64 and arm64 Linux"),
    pytest.mark.skipif(ARM and LIBC < (2, 40), reason="the C library has no pow and tanh for NEON"),
]


def _accuracy() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "simdmath_accuracy", REPOSITORY / "benchmarks" / "simdmath_accuracy.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


accuracy = _accuracy()


def _require(isa: str) -> None:
    cpuinfo = Path("/proc/cpuinfo").read_text()
    missing = NEEDS.get(isa, set()) - set(cpuinfo.split("flags", 1)[-1].split("\n", 1)[0].split())
    if missing:
        pytest.skip(f"this CPU has no {', '.join(sorted(missing))}")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory):
    """Compiled loops of one instruction set, made once."""
    made: dict[str, ctypes.CDLL] = {}

    def get(isa: str) -> ctypes.CDLL:
        _require(isa)
        if isa not in made:
            made[isa] = accuracy.build(tuple(LIMITS[isa]), tmp_path_factory.mktemp(isa), isa=isa)
        return made[isa]

    return get


def _special(name: str) -> tuple[np.ndarray, ...]:
    """Every special value, for two arguments against every other, padded to whole vectors."""
    info = np.finfo(np.float32 if accuracy.is_single(name) else np.float64)
    tiny, normal, huge = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    values = [0.0, tiny, 3 * tiny, normal, 1e-30, 0.5, 1 - float(info.epsneg), 1.0, 1 + float(info.eps), 1.5, 2.0]
    values += [3.0, 4.0, 5.0, 7.5, 100.0, 101.0, 1023.0, 1024.0, 2.0**24 - 1, 2.0**52 + 1, 2.0**53 - 1, 2.0**53]
    values += [2.0**63, 1e30, huge, math.inf, math.nan]
    values += [-v for v in values]
    two = name.rstrip("f") == "pow"
    columns = zip(*itertools.product(values, values), strict=True) if two else [values]
    arrays = [np.array(column, info.dtype) for column in columns]
    return tuple(np.concatenate([a, np.ones(-a.size % 16, a.dtype)]) for a in arrays)


@pytest.mark.parametrize(("isa", "name"), OURS)
def test_error_stays_below_what_the_header_promises(library, isa: str, name: str) -> None:
    found = accuracy.worst(library(isa), name, *accuracy.points(name, 16_000))
    assert (found.wrong, found.ulp <= LIMITS[isa][name]) == (0, True), found


@pytest.mark.parametrize(("isa", "name"), OURS)
def test_special_cases_are_those_of_libm(library, isa: str, name: str) -> None:
    arguments = _special(name)
    got = accuracy.evaluate(library(isa), "loop", name, *arguments)
    want = accuracy.evaluate(library(isa), "scalar", name, *arguments)
    # glibc's sin and tanh for NEON lose the sign of a zero.
    signs = (np.signbit(got) == np.signbit(want)) | (isa == "neon") & (want == 0)
    same = (got == want) & signs | np.isnan(got) & np.isnan(want)
    ordinary = np.isfinite(want) & (want != 0) & np.isfinite(got)
    mine, theirs = np.where(ordinary, got, 1), np.where(ordinary, want, 1)
    near = np.abs(mine - theirs) <= max(2, LIMITS[isa][name]) * np.abs(theirs - np.nextafter(theirs, 0))
    wrong = np.flatnonzero(~(same | ordinary & near))
    assert [(*(a[i] for a in arguments), got[i], want[i]) for i in wrong] == []


@pytest.mark.parametrize(("isa", "name"), OURS)
def test_one_special_lane_leaves_its_neighbours_alone(library, isa: str, name: str) -> None:
    ordinary = np.linspace(0.6, 3.0, 64)
    mixed = ordinary.copy()
    mixed[::5] = np.resize([0.0, -1.0, math.inf, math.nan, -math.inf], mixed[::5].size)
    two = name.rstrip("f") == "pow"
    expected = accuracy.evaluate(library(isa), "loop", name, *([ordinary] * (1 + two)))
    got = accuracy.evaluate(library(isa), "loop", name, mixed, *([ordinary] * two))
    others = np.arange(64) % 5 != 0
    np.testing.assert_array_equal(got[others], expected[others])


# glibc's pow of doubles for NEON is a unit in the last place away for some.
@pytest.mark.parametrize("name", [pytest.param("pow", marks=only_x86), "powf"])
def test_whole_powers_that_are_representable_are_exact(library, name: str) -> None:
    bits = 24 if name == "powf" else 53
    pairs = [(b, e) for b in range(-64, 65) for e in range(40) if abs(b) ** e < 2**bits]
    base, exponent = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    got = accuracy.evaluate(library(WIDEST), "loop", name, base, exponent)
    assert [(p, float(g)) for p, g in zip(pairs, got, strict=True) if Fraction(float(g)) != p[0] ** p[1]] == []


@pytest.mark.parametrize(("isa", "name"), [(i, n) for i, n in OURS if n.rstrip("f") in ("tanh", "er")])
def test_saturated_results_are_exactly_one(library, isa: str, name: str) -> None:
    large = np.array([20.0, 25.0, 30.0, 100.0, 1e5, 1e30, 3e38, math.inf] * 4) * np.repeat([1, -1], 16)
    np.testing.assert_array_equal(accuracy.evaluate(library(isa), "loop", name, large), np.sign(large))


@pytest.mark.parametrize("isa", LIMITS)
def test_fast_math_changes_no_bit(library, tmp_path: Path, isa: str) -> None:
    fast = accuracy.build(tuple(LIMITS[isa]), tmp_path, isa=isa, extra=("-ffast-math",))
    for name in LIMITS[isa]:
        arguments = tuple(np.resize(a, 4000) for a in accuracy.points(name, 1000))
        expected = accuracy.evaluate(library(isa), "loop", name, *arguments)
        np.testing.assert_array_equal(accuracy.evaluate(fast, "loop", name, *arguments), expected, err_msg=name)


@only_x86
@pytest.mark.parametrize("isa", X86_LIMITS)
def test_loops_bind_to_the_header_and_not_to_libmvec(library, isa: str) -> None:
    dynamic = Path(library(isa)._name).read_bytes()
    lanes = {"v3": (4, 8), "v4": (8, 16)}[isa]
    for name in X86_LIMITS[isa]:
        v = "vv" if name.rstrip("f") == "pow" else "v"
        symbol = f"_ZGV{VARIANT[isa]}N{lanes[accuracy.is_single(name)]}{v}_{name}\0"
        # The library is stripped: only names that the dynamic linker must find are left in it.
        assert symbol.encode() not in dynamic


@only_x86
def test_older_processors_get_libmvec_unchanged(tmp_path: Path) -> None:
    ours = accuracy.build(("pow", "exp"), tmp_path, isa="v2")
    theirs = accuracy.build(("pow", "exp"), tmp_path, isa="v2", header=False)
    x, y = np.linspace(0.1, 9, 1000), np.linspace(-3, 3, 1000)
    np.testing.assert_array_equal(
        accuracy.evaluate(ours, "loop", "pow", x, y), accuracy.evaluate(theirs, "loop", "pow", x, y)
    )
    assert b"_ZGVbN2v_exp\0" in Path(ours._name).read_bytes()


CELL = r"""
#include <math.h>
#include <tgmath.h>
struct law { double pow, exp; };
double through(double (*f)(double, double), double a);
double through(double (*f)(double, double), double a) { return f(a, 2.0); }
double member(double a);
double member(double a) { struct law l = {a, 2.0}; double log = l.pow + l.exp; return log; }
double address(double a);
double address(double a) { return through(&(pow), a); }
"""


def test_text_of_the_cell_may_use_the_names_for_anything(tmp_path: Path) -> None:
    macros = "".join(f"#define __UFM_WANT_{name} 1\n" for name in accuracy.offered())
    attribute = '__attribute__((simd("notinbranch"), nothrow, leaf, const))'
    declared = [("double", "(pow)", 2), ("double", "(exp)", 1), ("double", "(log)", 1), ("float", "(powf)", 2)]
    declarations = "".join(f"{attribute} {t} {n}({', '.join([t] * k)});\n" for t, n, k in declared)
    source, shared = tmp_path / "cell.c", tmp_path / "cell.so"
    source.write_text(f'{macros}#include "{accuracy.HEADER}"\n{CELL}\n{declarations}')
    subprocess.run(["gcc", *STRICT, str(source), "-o", str(shared), "-lm"], check=True)
    cell = ctypes.CDLL(str(shared))
    for function in (cell.member, cell.address):
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    assert (cell.member(3.0), cell.address(3.0)) == (5.0, 9.0)


def test_header_ahead_of_a_cpp_cell_compiles_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    macros = "".join(f"#define __UFM_WANT_{name} 1\n" for name in accuracy.offered())
    source = tmp_path / "cell.cpp"
    source.write_text(f'{macros}#include "{accuracy.HEADER}"\n#include <cmath>\n')
    command = ["g++", *STRICT, str(source), "-o", str(tmp_path / "cell.so")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


NEON_CELL = """#include <math.h>
double a(double x) { return exp(x) + log(x); }
double b(double x) { return sin(x) * cos(x); }
double c(double x, double y) { return pow(x, y) - tanh(x); }
float d(float x) { return expf(x) + sinf(x); }
double e(double x, double y) { return 3*x*x + 2*x*y + 1; }
"""


@only_arm
def test_cells_call_libmvec_on_arm_and_not_where_they_are_strict() -> None:
    calls = {f"_ZGVnN2v_{name}" for name in ("exp", "log", "sin", "cos", "tanh")}
    calls |= {"_ZGVnN2vv_pow", "_ZGVnN4v_expf", "_ZGVnN4v_sinf"}
    code = um.compile_c(NEON_CELL).object_code
    assert [name for name in sorted(calls) if name.encode() + b"\0" not in code.code] == []
    assert tuple(map(int, code.target.libc.removeprefix("glibc ").split("."))) >= (2, 40)
    assert b"_ZGV" not in um.compile_c(NEON_CELL, strict=True).object_code.code


@only_arm
def test_a_value_does_not_depend_on_its_place_on_arm() -> None:
    build = um.compile_c(NEON_CELL)
    x, y = np.random.default_rng(0).uniform(0.1, 3, (2, 103))
    for name in "abcde":
        f = build[name]
        arguments = [a.astype(f.types[0][0]) for a in (x, y)[: f.nin]]
        alone = np.array([f(*values) for values in zip(*arguments, strict=True)])
        np.testing.assert_array_equal(f(*arguments), alone)
        for start in range(1, 5):
            np.testing.assert_array_equal(f(*(a[start:] for a in arguments)), alone[start:])


@only_arm
def test_plain_arithmetic_vectorizes_for_neon(tmp_path: Path) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("no objdump on this machine")
    code = tmp_path / "cell.so"
    code.write_bytes(um.compile_c(NEON_CELL).object_code.code)
    listing = subprocess.run(["objdump", "-d", str(code)], capture_output=True, text=True, check=True).stdout
    assert "fmla" in listing
    assert ".2d" in listing
