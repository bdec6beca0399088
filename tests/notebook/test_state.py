"""What belongs to the thread is after a call as it was before: rounding, denormals, traps, errno."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="asks glibc for the FP environment and errno"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the cells change x86's registers"),
]

SOURCE = """
#include <errno.h>
#include <fenv.h>
#include <xmmintrin.h>
double rounds_up(double x) { fesetround(FE_UPWARD); volatile double a = x, b = 3; return a / b; }
double flushes(double x) { _mm_setcsr(_mm_getcsr() | 0x8040); return x; }
double traps(double x) { _mm_setcsr(_mm_getcsr() & ~0x80u); return x; }
double shortens(double x) { unsigned short word = 0x007f; __asm__ volatile("fldcw %0" : : "m"(word)); return x; }
double fails(double x) { errno = 77; return x; }
// ufunc: (n)->()
double all_at_once(const double *x, int n) { fesetround(FE_DOWNWARD); errno = 5; return x[0] + n; }
double third(double x) { volatile double a = x, b = 3; return a / b; }
double mine(double x) { return errno + fegetround(); }
"""
FE_UPWARD = 0x800
THIRD, THIRD_UP = 1 / 3, float(np.nextafter(1 / 3, 1))


@pytest.fixture(scope="module", params=[0, 2], ids=["one thread", "two threads"])
def built(request: pytest.FixtureRequest, shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, **({"parallel": request.param} if request.param else {}))


def libc() -> Any:
    found = ctypes.CDLL(None)
    found.__errno_location.restype = ctypes.POINTER(ctypes.c_int)
    return found


def modes() -> tuple[int, int]:
    """The x87's control word and the modes of MXCSR."""
    environment = ctypes.create_string_buffer(64)
    libc().fegetenv(environment)
    return int.from_bytes(environment.raw[:2], "little"), int.from_bytes(environment.raw[28:32], "little") & 0xFFC0


def error() -> Any:
    return libc().__errno_location()


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "one": lambda f, x: f(1.0),
    "contiguous": lambda f, x: f(x),
    "strided": lambda f, x: f(x[::2]),
    "in place": lambda f, x: f(x, out=x),
    "overlapping": lambda f, x: f(x[1:], out=x[:-1]),
}


@pytest.mark.parametrize("name", ["rounds_up", "flushes", "traps", "shortens", "fails"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_changes_no_mode_and_no_errno(built: Build, name: str, call: str) -> None:
    before = modes()
    place = error()
    place[0] = 3
    CALLS[call](built[name], np.ones(50_000))
    # Errno first: whatever asks for it may change it.
    assert (place[0], modes()) == (3, before)


def test_a_generalized_call_changes_none_either(built: Build) -> None:
    before = modes()
    place = error()
    place[0] = 3
    built.all_at_once(np.ones((100, 3)))
    assert (place[0], modes()) == (3, before)


def test_inside_of_a_call_the_cell_has_what_it_asked_for(built: Build) -> None:
    assert {*built.rounds_up(np.ones(50_000)).tolist()} == {THIRD_UP}
    assert {*built.third(np.ones(50_000)).tolist()} == {THIRD}


@pytest.fixture
def upward() -> Iterator[None]:
    libc().fesetround(FE_UPWARD)
    yield
    libc().fesetround(0)


def test_the_callers_mode_holds_in_every_thread(built: Build, upward: None) -> None:
    built.third(np.ones(50_000))
    assert {*built.third(np.ones(200_000)).tolist()} == {THIRD_UP}


def test_the_next_call_of_the_same_threads_has_the_ordinary_mode(built: Build) -> None:
    built.rounds_up(np.ones(200_000))
    assert {*built.third(np.ones(200_000)).tolist()} == {THIRD}


def test_each_thread_of_python_keeps_its_own(built: Build) -> None:
    def call(_: int) -> tuple[int, int]:
        built.rounds_up(np.ones(1000))
        built.flushes(np.ones(1000))
        return modes()

    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(call, range(8))} == {modes()}


def test_a_cell_sees_the_errno_of_its_caller(built: Build) -> None:
    error()[0] = 7
    assert built.mine(0.0) == 7


@pytest.mark.usefixtures("shared_cache")
def test_what_fails_restores_as_well(built: Build) -> None:
    source = "#include <cfenv>\ndouble bad(double x) { fesetround(FE_UPWARD); if (x > 2) throw 1; return x; }"
    bad = um.c_ufunc(source, cplus=True)
    before = modes()
    with pytest.raises(RuntimeError):
        bad(np.arange(1000.0))
    assert modes() == before


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is what links such libraries")
def test_a_library_that_flushes_denormals_when_opened_does_so_for_nobody(tmp_path: Path) -> None:
    library = tmp_path / "libfast.so"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    text = (
        "#include <xmmintrin.h>\ndouble helper(double x) { return x; }\n"
        "__attribute__((constructor)) static void at_start(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
    )
    subprocess.run(command, input=text.encode(), check=True)
    before = modes()
    f = um.c_ufunc(
        "double helper(double); double f(double x) { return helper(x); }", lib=["fast"], library_dirs=[str(tmp_path)]
    )
    assert f(1.5) == 1.5
    assert modes() == before
