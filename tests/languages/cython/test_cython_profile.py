"""Compiling with a profile: the recipe of --pgo, step by step with a real compiler."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic import compilers
from ufunc_magic.languages.cython import pgo as profile
from ufunc_magic.model import ToolchainError

#: An extension module that works when it is imported, and a loop that only callers from outside run.
UNIT = r"""
#include <Python.h>
__attribute__((noinline)) static long rare(long x) { return x * 3 / 7; }
static long branchy(long x) { return x % 1000 == 999 ? rare(x) : x + 1; }
void loop(const double *restrict a, double *restrict b, long n) { for (long i = 0; i < n; i++) b[i] = 2 * a[i]; }
static int run(PyObject *module) {
    long total = 0;
    for (long i = 0; i < 100000; i++) total += branchy(i);
    printf("%s %ld\n", PyModule_GetName(module), total);
    return 0;
}
static PyModuleDef_Slot slots[] = {{Py_mod_exec, run}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_ufm_0", NULL, 0, NULL, slots};
PyMODINIT_FUNC PyInit__ufm_0(void) { return PyModuleDef_Init(&definition); }
"""


@pytest.fixture
def gcc() -> compilers.Toolchain:
    found = [tool for tool in compilers.find_all() if tool.kind == "gcc"]
    if not found:
        pytest.skip("gcc is not installed")
    return found[0]


def _compile(tool: compilers.Toolchain, output: Path, *more: str) -> str:
    """Compile ``UNIT``; the messages."""
    command = [*tool.command, *compilers.list_base_flags(tool), f"-I{sysconfig.get_paths()['include']}", *more]
    command += ["-x", "c", "-", "-o", str(output)]
    done = subprocess.run(command, input=UNIT, capture_output=True, text=True, timeout=300, check=True)
    return done.stderr


def _run(output: Path) -> list[str]:
    """The words that the module writes when it is imported in a process of its own."""
    program = profile.run_module_text(output, module="_ufm_0")
    done = run_python(program)
    return done.stdout.split()


@pytest.fixture
def trained(gcc: compilers.Toolchain, tmp_path: Path) -> Path:
    """The folder of a profile; ``module.so`` beside it made it."""
    folder = tmp_path / "profile"
    folder.mkdir()
    _compile(gcc, tmp_path / "module.so", *profile.list_profile_flags("gen", folder=folder, toolchain=gcc))
    assert not profile.is_written(folder)
    _run(tmp_path / "module.so")
    return folder


def test_module_knows_the_run_that_makes_the_profile_by_its_name(trained: Path) -> None:
    total = sum(x * 3 // 7 if x % 1000 == 999 else x + 1 for x in range(100_000))
    assert _run(trained.parent / "module.so") == ["_pgo_._ufm_0", str(total)]
    assert profile.is_written(trained)


def test_second_compilation_finds_the_profile_of_the_first(gcc: compilers.Toolchain, trained: Path) -> None:
    output, empty = trained.parent / "module.so", trained.parent / "empty"
    empty.mkdir()

    def complaints(folder: Path) -> str:
        return _compile(
            gcc, output, *profile.list_profile_flags("use", folder=folder, toolchain=gcc), "-Wmissing-profile"
        )

    assert complaints(trained) == ""
    assert "profile count data file not found" in complaints(empty)


def test_loop_that_did_not_run_is_still_vectorized(gcc: compilers.Toolchain, trained: Path) -> None:
    """gcc's default would optimise the ufuncs' loops for size, and make them ten times slower."""
    use = profile.list_profile_flags("use", folder=trained, toolchain=gcc)
    output = trained.parent / "module.so"
    assert "loop vectorized" in _compile(gcc, output, *use, "-fopt-info-vec-optimized")
    assert "loop vectorized" not in _compile(
        gcc, output, *use, "-fno-profile-partial-training", "-fopt-info-vec-optimized"
    )


def test_program_imports_first_what_it_is_told(tmp_path: Path) -> None:
    program = profile.run_module_text(tmp_path / "a 'quoted' path.so", module="_ufm_0", preload=("json", "csv"))
    compile(program, "program", "exec")
    assert program.index("import json\nimport csv") < program.index("a 'quoted' path.so")


def test_compiler_that_cannot_is_refused() -> None:
    zig = compilers.Toolchain("zig", ("zig", "cc"), False, "/opt/zig", 1, 1, "PATH")
    with pytest.raises(ToolchainError, match="--pgo needs gcc, not zig cc"):
        profile.list_profile_flags("gen", folder=Path("profile"), toolchain=zig)


CELL = """
def work(int n):
    cdef int i
    cdef long total = 0
    for i in range(n):
        total += i % 7
    return total

cdef double twice(double x) noexcept:
    return 2 * x

if "_pgo_" in __name__:
    TRAINING
"""


@pytest.mark.slow
@pytest.mark.cython
def test_cell_runs_once_for_its_profile_in_another_process(gcc: compilers.Toolchain, tmp_path: Path) -> None:
    pytest.importorskip("Cython")
    seen = tmp_path / "seen"
    training = f"import os; open({str(seen)!r}, 'a').write(f'{{os.getpid()}} {{work(1000)}}')"
    made = um.compile_cython(CELL.replace("TRAINING", training), pgo=True)
    assert (made.work(10), made.twice([1.0, 2.0]).tolist()) == (24, [2.0, 4.0])
    process, result = seen.read_text().split()
    assert int(process) != os.getpid()
    assert int(result) == sum(i % 7 for i in range(1000))


@pytest.mark.cython
def test_run_that_leaves_no_profile_is_an_error(gcc: compilers.Toolchain) -> None:
    pytest.importorskip("Cython")
    with pytest.raises(ToolchainError, match="--pgo"):
        um.compile_cython(CELL.replace("TRAINING", "import os; os._exit(0)"), pgo=True)
