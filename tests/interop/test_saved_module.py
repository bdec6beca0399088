"""Cells saved as a module that pip installs: what is in the folder, what its import does, what is refused."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import run_python
from ufunc_magic.model import pack, unpack
from ufunc_magic.runtime import Build

CURVES = """
#include <math.h>
/** Log odds of a probability. */
double logit(double p) { return log(p/(1 - p)); }
double twice(double x) { return 2*x; }
void fill(double *x, int n) { for (int i = 0; i < n; i++) x[i] = i; }
"""

DEFS = '''
def triple(double x, double by=3):
    """Three times \\\\ "x"."""
    return by*x

cdef class Point:
    """A point."""
    cdef public double x

    def __init__(self, double x):
        self.x = x

LIMIT = 7
'''


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def curves() -> Build:
    return um.compile_c(CURVES, name="In[1]")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], ModuleType]]:
    """Import a saved module from its folder, as one that is installed."""
    names: list[str] = []

    def load(module: Any) -> ModuleType:
        names.append(module.name)
        monkeypatch.syspath_prepend(str(module.path / "src"))
        return importlib.import_module(module.name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(um.SaveError) as caught:
        action()
    return str(caught.value)


# -- the folder ----------------------------------------------------------------------------------


def test_folder_has_source_code_loader_stubs_and_what_pip_reads(curves: Build) -> None:
    module = um.save_module(curves, "curves1")
    files = files_of(module.path)
    package = "src/curves1/"
    assert sorted(files) == sorted(
        ["README.md", "pyproject.toml"]
        + [f"{package}{name}" for name in ("__init__.py", "__init__.pyi", "py.typed", "ufunc_magic.json")]
        + [f"{package}cell.c", f"{package}cell.ufmo"]
    )
    assert files[f"{package}cell.c"].decode() == CURVES
    project = tomllib.loads(files["pyproject.toml"].decode())["project"]
    assert (project["name"], project["dependencies"]) == ("curves1", [f"ufunc_magic>={um.__version__}"])
    assert repr(module) == f"{os.path.join('.', 'curves1')}: logit, twice, fill\npip install " + os.path.join(
        ".", "curves1"
    )
    assert (os.fspath(module), str(module)) == (str(module.path), str(module.path))


def test_stubs_have_types_and_docstrings(curves: Build) -> None:
    module = um.save_module(curves, "curves2")
    stubs = (module.path / "src/curves2/__init__.pyi").read_text()
    ast.parse(stubs)
    assert "from typing import Any\n\nimport numpy\n" in stubs
    assert 'logit: numpy.ufunc\n"""logit(p[, result], / [, out=None], *, where=True, ...)\n\nLog odds' in stubs
    assert "def fill(x: Any, n: int, /) -> None:\n" in stubs


@pytest.mark.cython
@pytest.mark.slow
def test_cython_cells_travel_with_classes_constants_and_their_stubs(curves: Build, load: Any) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    cell = um.compile_cython(DEFS)
    module = um.save_module([curves.twice, cell], "several")
    package = module.path / "src/several"
    assert {path.name for path in package.iterdir()} > {"cell1.c", "cell1.ufmo", "cell2.pyx", "cell2.ufmo"}
    stubs = (package / "__init__.pyi").read_text()
    tree = ast.parse(stubs)
    assert "    def __call__(self, x: Any, by: Any = ...) -> Any: ..." in stubs
    assert "LIMIT: int\n" in stubs
    docstrings = [node.value.value for node in tree.body if isinstance(node, ast.Expr)]  # type: ignore[attr-defined]
    assert 'Three times \\ "x".' in docstrings
    several = load(module)
    assert (several.twice(4.0), several.triple(2.0), several.Point(3).x, several.LIMIT) == (8.0, 6.0, 3.0, 7)
    assert list(several.triple(np.arange(3.0))) == [0.0, 3.0, 6.0]
    # Its own extension module: the notebook's cell and the saved one are two.
    assert several.Point is not cell.Point


# -- its import ----------------------------------------------------------------------------------


def run(module: Any, program: str, **environment: str) -> str:
    """The output of a program in a new process that has the module on its path and none of its code."""
    paths = [str(module.path / "src"), *sys.path[1:]]
    return run_python(program, PYTHONPATH=os.pathsep.join(paths), **environment).stdout


def make_foreign(module: Any) -> None:
    """Make the module's machine code that of another machine."""
    path = module.path / "src" / module.name / "cell.ufmo"
    code = unpack(path.read_bytes())[0]
    path.write_bytes(pack(replace(code, target=replace(code.target, machine="pdp11"))))


def test_import_needs_no_compiler_where_the_machine_code_fits(curves: Build, tmp_path: Path) -> None:
    module = um.save_module({"log_odds": curves.logit, "fill": curves.fill}, "curves3")
    program = (
        "import sys, numpy as np, curves3\n"
        "x = np.zeros(3); curves3.fill(x, 3)\n"
        "print(curves3.__all__, float(curves3.log_odds(0.5)), x.tolist(), hasattr(curves3, 'twice'))\n"
        "print([name for name in sys.modules if name.startswith(('ufunc_magic.compilers', 'ufunc_magic.pipeline'))])"
    )
    printed = run(module, program, UFUNC_MAGIC_CACHE=str(tmp_path / "cache of another"))
    assert printed == "['fill', 'log_odds'] 0.0 [0.0, 1.0, 2.0] False\n[]\n"


def test_source_is_compiled_where_the_machine_code_does_not_fit(curves: Build) -> None:
    module = um.save_module(curves, "curves4")
    make_foreign(module)
    printed = run(module, "import sys, curves4; print(curves4.twice(4.0), 'ufunc_magic.pipeline' in sys.modules)")
    assert printed == "8.0 True\n"


def test_import_error_says_why_neither_code_nor_source_will_do(curves: Build) -> None:
    module = um.save_module(curves, "curves5")
    make_foreign(module)
    program = (
        "import ufunc_magic as um\n"
        "def compile_c(source, **options):\n"
        "    raise um.ToolchainError('No C compiler was found.', remedy='Install one.')\n"
        "um.compile_c = compile_c\n"
        "try:\n"
        "    import curves5\n"
        "except ImportError as error:\n"
        "    print(error.name, error)"
    )
    assert re.search(r"(?s)^curves5 curves5: .*pdp11.*cannot be compiled here: No C compiler", run(module, program))


def test_headers_and_sources_of_the_user_are_copied(tmp_path: Path, load: Any) -> None:
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    (own / "scale.h").write_text('#include "deep/er.h"\ndouble shift(double);\n')
    (own / "deep" / "er.h").write_text("#define SCALE 3.0\n")
    (own / "unused.h").write_text("\n")
    (own / "shift.c").write_text('#include "deep/er.h"\ndouble shift(double x) { return x + SCALE; }\n')
    cell = '#include "scale.h"\ndouble moved(double x) { return SCALE*shift(x); }'
    build = um.compile_c(cell, include=["own"], src=["own/shift.c"])
    module = um.save_module(build, "moved1", source_only=True)
    assert module.files == ("own/deep/er.h", "own/scale.h", "own/shift.c")
    assert "Copied files of yours: own/deep/er.h, own/scale.h, own/shift.c" in repr(module)
    shutil.rmtree(own)
    assert load(module).moved(1.0) == 12.0
    assert not list(module.path.rglob("*.ufmo"))


def test_a_function_may_have_a_name_that_the_loader_uses(load: Any) -> None:
    build = um.compile_c("double _cell(double x) { return x; }\ndouble um(double x) { return 2*x; }")
    loaded = load(um.save_module(build, "names1"))
    assert (loaded._cell(1.0), loaded.um(1.0)) == (1.0, 2.0)


@pytest.mark.nightly
def test_pip_installs_the_folder(curves: Build, tmp_path: Path) -> None:
    module = um.save_module(curves, "curves6")
    scratch = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(scratch)], check=True, capture_output=True, timeout=600)
    python = scratch / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    fetched = subprocess.run(
        [*pip, "download", "-q", "--no-deps", "-d", str(tmp_path / "wheels"), "flit_core>=3.8,<5"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if fetched.returncode:
        pytest.skip(f"pip cannot fetch flit_core, which builds the package: {fetched.stderr.strip()[-200:]}")
    # ufunc_magic and NumPy are those of this environment.
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout.strip()
    ours = [sysconfig.get_path("purelib"), str(Path(um.__file__).parents[1])]
    Path(site, "ours.pth").write_text("".join(f"import site; site.addsitedir({folder!r})\n" for folder in ours))
    subprocess.run([*pip, "install", "-q", str(module.path)], check=True, timeout=600)
    program = (
        "import curves6, importlib.metadata as m, pathlib\n"
        "print(curves6.twice(4.0), m.version('curves6'))\n"
        "print(*sorted(p.name for p in pathlib.Path(curves6.__file__).parent.iterdir() if p.is_file()))"
    )
    done = subprocess.run(
        [str(python), "-c", program], cwd=scratch, check=True, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == [
        "8.0 0.1.0",
        "__init__.py __init__.pyi cell.c cell.ufmo py.typed ufunc_magic.json",
    ]


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("fast-math", "'fast-math' is not a module name that pip can install."),
        ("_fast", "'_fast' is not a module name that pip can install."),
        ("class", "'class' is a Python keyword"),
        ("statistics", "'statistics' is a module of Python's standard library."),
        ("numpy", "'numpy' already is a module ("),
        ("nowhere/fast", "nowhere is not a folder.\nCreate it first."),
    ],
)
def test_name_that_cannot_be_is_refused(curves: Build, path: str, message: str) -> None:
    assert message in refused(lambda: um.save_module(curves, path))
    assert not Path(path).exists()


def test_what_does_not_come_from_a_cell_is_refused(curves: Build) -> None:
    assert refused(lambda: um.save_module(np.sin, "fast")).startswith("<ufunc 'sin'> does not come from a cell.")
    assert refused(lambda: um.save_module([], "fast")).startswith("There is nothing to save.")
    other = um.compile_c("double twice(double x) { return x + x; }", name="In[2]")
    assert refused(lambda: um.save_module([curves, other], "fast")).startswith(
        "Two functions have the name twice: one in In[1], one in In[2]."
    )
    assert not Path("fast").exists()


def test_what_stands_only_on_this_machine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "two.h").write_text("#define TWO 2\n")
    path = tmp_path / "own" / "two.h"
    build = um.compile_c(f'#include "{path}"\ndouble f(double x) {{ return TWO*x; }}', name="In[3]")
    assert refused(lambda: um.save_module(build, "fast")) == (
        f'The cell includes {path} by its path on this machine.\nPass -I {path.parent}, and write #include "two.h".'
    )
    build = um.compile_c("double f(double x) { return x; }", library_dirs=["own"])
    assert refused(lambda: um.save_module(build, "fast")).startswith("-L own is a folder of this machine")


# -- saved again ---------------------------------------------------------------------------------


def test_only_force_replaces_a_module_and_changes_of_the_user_stay(curves: Build) -> None:
    module = um.save_module(curves, "curves7")
    before = files_of(module.path)
    assert "already exists.\nAdd --force (force=True)" in refused(lambda: um.save_module(curves, "curves7"))
    assert files_of(module.path) == before
    (module.path / "pyproject.toml").write_text("# mine\n")
    (module.path / "LICENSE").write_text("mine\n")
    for _ in range(2):  # the second save too remembers whose the file is
        again = um.save_module(curves.twice, "curves7", force=True)
        assert again.notes == ("pyproject.toml has changes of yours and was left alone.",)
    after = files_of(module.path)
    assert (after["pyproject.toml"], after["LICENSE"]) == (b"# mine\n", b"mine\n")
    assert b"logit = " not in after["src/curves7/__init__.py"]
    assert [path.name for path in module.path.iterdir() if path.name.startswith(".")] == []


def test_force_deletes_nothing_of_the_user(curves: Build) -> None:
    module = um.save_module(curves, "curves8")
    package = module.path / "src/curves8"
    (package / "more.py").write_text("mine = 1\n")
    (package / "cell.c").write_text("// mine\n")
    before = files_of(module.path)
    message = refused(lambda: um.save_module(curves, "curves8", force=True))
    assert "has files of yours that would be lost: src/curves8/cell.c, src/curves8/more.py." in message
    Path("other").mkdir()
    Path("other/file.txt").write_text("mine\n")
    message = refused(lambda: um.save_module(curves, "other", force=True))
    assert "was not written by %ufunc_save, so it is not replaced." in message
    assert files_of(module.path) == before
    assert files_of(Path("other")) == {"file.txt": b"mine\n"}


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_save_that_fails_leaves_the_module_as_it_was(
    curves: Build, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """``os.rename`` fails the first, second or third time that a replacement uses it."""
    module = um.save_module(curves, "curves9")
    before = files_of(module.path)
    rename, calls = os.rename, []

    def rename_or_fail(source: Any, target: Any) -> None:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", rename_or_fail)
    if failing == 3:  # both were right
        um.save_module(curves.twice, "curves9", force=True)
    else:
        assert "cannot be written (No space left on device)" in refused(
            lambda: um.save_module(curves.twice, "curves9", force=True)
        )
        assert files_of(module.path) == before
    assert [path.name for path in module.path.iterdir() if path.name.startswith(".")] == []


# -- the magic -----------------------------------------------------------------------------------


def test_magic_saves_the_last_cell_or_what_it_names(loaded: InteractiveShell, tmp_path: Path) -> None:
    def save(line: str) -> Any:
        return loaded.run_line_magic("ufunc_save", line)

    assert refused(lambda: save("curves10")).startswith("No cell has been compiled yet.\nName the functions to save:")
    loaded.run_cell_magic("c_ufunc", "-q --no-guard", "double first(double x) { return x; }")
    loaded.run_cell_magic("c_ufunc", "-q --no-guard", "double second(double x) { return 2*x; }")
    assert save("curves10").functions == ("second",)
    module = save("curves11 first second --source-only")
    assert module.functions == ("first", "second")
    assert not list(module.path.rglob("*.ufmo"))
    assert "Add --force" in refused(lambda: save("curves10 first"))
    assert save("-f curves10 first").functions == ("first",)
    assert refused(lambda: save("curves12 missing")).startswith("'missing' is not defined in this notebook.")
    with pytest.raises(UsageError, match="--bogus"):
        save("curves12 --bogus")
    with pytest.raises(UsageError, match="needs a name"):
        save("--force")
    with pytest.raises(um.CompileError):
        loaded.run_cell_magic("c_ufunc", "-q --no-guard", "double bad(double x) { return *; }")
    assert refused(lambda: save("curves12")).startswith("The last cell failed, so there is nothing to save.")


def test_manifest_names_what_was_written(curves: Build) -> None:
    module = um.save_module(curves, "curves13")
    manifest = json.loads((module.path / "src/curves13/ufunc_magic.json").read_text())
    assert manifest["files"].keys() == files_of(module.path).keys() - {"src/curves13/ufunc_magic.json"}
