"""embed.hpp from C++ programs: what it promises, memory errors and leaks, the CMake example on both of its sides.

Device memory is host memory here, under a stand-in for CuPy (tests/embed/cupy): what is shown is where pointers,
shapes and owners go, not that a GPU is reached.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support import REPOSITORY

pytestmark = pytest.mark.slow

INCLUDE = REPOSITORY / "ufunc_magic" / "include"
CHECKS = REPOSITORY / "tests" / "embed"
EXAMPLE = REPOSITORY / "examples" / "embed_cpp"
#: A million calls in the long run, fewer where every push waits for them.
NIGHTLY = bool(os.environ.get("UFM_NIGHTLY"))

COMPILER = shutil.which("g++") or shutil.which("clang++")
NAMES = re.findall(r"CHECK\((\w+)\)", (CHECKS / "check.cpp").read_text().partition("checks = {")[2])


def linking() -> list[str]:
    """Options that link a program with the libpython of this Python, shared or static."""
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY") or ""
    if not folder or not COMPILER:
        pytest.skip("no C++ compiler, or this Python does not say where its library is")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("this Python has no Python.h")
    places = [Path(folder, name), Path(sysconfig.get_config_var("LIBPL") or folder, name)]
    library = next((place for place in places if place.is_file()), None)
    if library is None:
        pytest.skip(f"this Python has no {name} to link with")
    needs = "" if sysconfig.get_config_var("Py_ENABLE_SHARED") else "LIBS SYSLIBS"
    others = [word for key in needs.split() for word in (sysconfig.get_config_var(key) or "").split()]
    return [str(library), f"-Wl,-rpath,{folder}", "-rdynamic", *others, "-pthread"]


def compiled(output: Path, *flags: str, source: Path = CHECKS / "check.cpp") -> Path:
    """A program of one source and embed.hpp; every warning is an error."""
    words = "-std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()
    python = [f"-I{INCLUDE}", "-isystem", sysconfig.get_path("include"), f'-DPYTHON_EXECUTABLE="{sys.executable}"']
    made = subprocess.run(
        [str(COMPILER), *words, *flags, *python, str(source), "-o", str(output), *linking()],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr
    return output


def ran(*command: str | Path, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKS), str(REPOSITORY)]), **environment}
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, env=surroundings
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("embed") / "check", "-O0")


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sanitized")
    (folder / "probe.cpp").write_text("int main() {}")
    probe = [str(COMPILER), "-fsanitize=address", str(folder / "probe.cpp"), "-o", str(folder / "probe")]
    if COMPILER and (
        subprocess.run(probe, capture_output=True).returncode or subprocess.run([folder / "probe"]).returncode
    ):
        pytest.skip("this compiler has no AddressSanitizer that runs here")
    return compiled(folder / "check", "-O0", "-g1", "-fsanitize=address")


@pytest.fixture(scope="module")
def answers(program: Path) -> str:
    return ran(program).stdout


@pytest.mark.parametrize("name", NAMES)
def test_embed_keeps_its_promise(answers: str, name: str) -> None:
    said = [line for line in answers.splitlines() if line.partition(":")[0].endswith(f" {name}")]
    assert said == [f"ok {name}"]


def test_objects_may_outlive_the_interpreter_and_it_may_start_again(answers: str) -> None:
    assert answers.splitlines()[-2:] == ["ended", "3 again"]


def test_calls_leave_no_python_object_behind(program: Path) -> None:
    # Python's own caches take a few hundred blocks, once; one for each call would be as many as there are calls.
    count = 1_000_000 if NIGHTLY else 10_000
    done = ran(program, "calls", str(count), timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) < 3_000


@pytest.mark.nightly
def test_address_sanitizer_finds_nothing_in_any_promise(sanitized: Path) -> None:
    done = ran(sanitized, ASAN_OPTIONS="detect_leaks=0", PYTHONMALLOC="malloc")
    assert "AddressSanitizer" not in done.stderr
    assert (done.returncode, done.stdout.count("ok ")) == (0, len(NAMES)), done.stdout


@pytest.mark.nightly
def test_leaks_do_not_grow_with_calls(sanitized: Path) -> None:
    def lost(count: int) -> str:
        done = ran(sanitized, "calls", str(count), ASAN_OPTIONS="detect_leaks=1", PYTHONMALLOC="malloc", timeout=600)
        if "LeakSanitizer has encountered a fatal error" in done.stderr:
            pytest.skip("LeakSanitizer cannot trace processes here")
        return next((line for line in done.stderr.splitlines() if "SUMMARY" in line), "")

    # Python and NumPy lose some bytes at their start; those are the same in both.
    assert lost(10) == lost(10_000 if NIGHTLY else 500)


@pytest.mark.nightly
def test_valgrind_sees_no_wrong_access(program: Path) -> None:
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")

    def read(count: int) -> str:
        options = ["--error-limit=no", f"--leak-check={'summary' if NIGHTLY else 'no'}"]
        done = ran("valgrind", *options, program, "calls", str(count), PYTHONMALLOC="malloc", timeout=3600)
        if "unrecognised instruction" in done.stderr or "Unrecognised instruction" in done.stderr:
            pytest.skip("valgrind does not know this CPU's instructions")
        assert "blocks more" in done.stdout, done.stderr[-2000:]
        return done.stderr

    few = read(20)
    # glibc's loader reads paths by the word, past their end.
    wrong = [block for block in re.split(r"\n==\d+== *\n", few) if "Invalid " in block and "dl-load.c" not in block]
    assert wrong == []
    if NIGHTLY:
        lost = [re.findall(r"definitely lost: (.*)", text) for text in (few, read(20_000))]
        assert lost[0] == lost[1] != []


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """examples/embed_cpp, built as its CMakeLists.txt says."""
    linking()
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if not cmake:
        pytest.skip("no CMake here (pip install cmake)")
    build = tmp_path_factory.mktemp("embed_cpp")
    where = [f"-DPython_EXECUTABLE={sys.executable}", f"-DUFUNC_MAGIC_INCLUDE={INCLUDE}"]
    for step in ([cmake, "-S", EXAMPLE, "-B", build, *where], [cmake, "--build", build]):
        done = ran(*step)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "image_filter"


def test_example_filters_on_the_cpu(example: Path) -> None:
    done = ran(example, "37", "53")
    assert (done.stdout, done.stderr) == ("37 x 53 on the CPU: 0 pixels differ\n", "")


def test_example_takes_the_same_road_with_device_pointers(example: Path) -> None:
    """Over host memory, with the stand-in for CuPy: no GPU is reached."""
    done = ran(example, "--gpu", "37", "53", CUDA_VISIBLE_DEVICES="")
    assert (done.stdout, done.stderr) == ("37 x 53 on the GPU: 0 pixels differ\n", "")


def test_example_shows_python_exceptions(example: Path, tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise ImportError('no GPU today')\n")
    done = ran(example, "--gpu", PYTHONPATH=os.pathsep.join([str(tmp_path), str(REPOSITORY)]))
    assert done.returncode == 2
    assert done.stderr.endswith("ImportError: no GPU today\n")
    assert "filters.py" in done.stderr
