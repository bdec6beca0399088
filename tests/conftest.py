"""What every test stands on: a cache of its own, a check that nothing leaked, fresh IPython shells."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um

# How long an example takes depends on how busy the machine is.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")

# Under nohup, or in a script's background, SIGINT is ignored, and tests that send it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with the driver, SIMD math and what a def is bound as, which take far longer to compile than a cell."""
    folder = tmp_path_factory.mktemp("driver")
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(um.UfuncMagicError):  # no compiler
        patch.setenv("UFUNC_MAGIC_CACHE", str(folder))
        text = "#include <math.h>\ndouble only_for_the_driver(double x) { return exp(x) + log(x) + pow(x, x); }"
        um.compile_c(text, guard=False, time=False)
        um.compile_c("double only_for_exceptions(double x) { return x; }", cplus=True, guard=False, time=False)
        with contextlib.suppress(ImportError):  # no Cython
            um.compile_cython("def only_for_its_type(double x):\n    return x\n", guard=False, time=False)
    files = [path for path in folder.rglob("*") if path.is_file()]
    before = [path.read_bytes() for path in files]
    yield folder
    assert [path.read_bytes() for path in files] == before, "a test wrote into a file of the cache: unlink it first"


def _link_tree(source: Path, target: Path) -> None:
    """A copy of a cache, whose files are those of ``source``: ten times as fast as copies, for thousands of tests."""
    target.mkdir(0o700)
    for entry in os.scandir(source):
        if entry.is_dir():
            _link_tree(Path(entry.path), target / entry.name)
        else:
            try:
                os.link(entry.path, target / entry.name)
            except OSError:  # a file system that has no links
                shutil.copy2(entry.path, target / entry.name)


@pytest.fixture(autouse=True)
def cache_folder(_nothing_leaks: None, _driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test only, with nothing but the driver in it, and IPython's own files beside it.

    The leak check stands first, so that it looks after monkeypatch has undone its changes.
    """
    folder = tmp_path / "cache"
    _link_tree(_driver, folder)
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(folder))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return folder


@pytest.fixture(scope="session")
def shared_cache_folder(_driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the whole run, with the driver in it; `support.compile_in` and ``shared_cache`` use it."""
    folder = tmp_path_factory.mktemp("shared") / "cache"
    _link_tree(_driver, folder)
    return folder


@pytest.fixture
def shared_cache(cache_folder: Path, shared_cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compile into the cache of the whole run, where compiling is not the point of a test."""
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(shared_cache_folder))
    return shared_cache_folder


@pytest.fixture
def _nothing_leaks() -> Iterator[None]:
    """No test changes the folder, the environment, NumPy's error state or the rounding mode."""
    before = _global_state()
    yield
    after = _global_state()
    os.chdir(before["folder"])
    np.seterr(**before["errors"])
    assert after == before


def _global_state() -> dict[str, object]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    third = np.float64(1.0) / np.float64(3.0)
    tiny = np.float64(5e-324) * np.float64(1.0)
    return {
        "folder": os.getcwd(),
        "environment": environment,
        "errors": np.geterr(),
        "rounding": (float(third).hex(), float(-third).hex()),
        "denormals are kept": float(tiny) != 0.0,
    }


@pytest.fixture
def shell(cache_folder: Path) -> Iterator[InteractiveShell]:
    """A fresh IPython shell with nothing loaded; closed afterwards."""
    with warnings.catch_warnings():
        # IPython's history thread and profile folder warn on some platforms.
        warnings.simplefilter("ignore")
        shell = InteractiveShell()
    yield shell
    shell.history_manager.end_session()
    shell.restore_sys_module_state()
    InteractiveShell.clear_instance()


@pytest.fixture
def loaded(shell: InteractiveShell) -> InteractiveShell:
    """A fresh IPython shell with the extension loaded."""
    shell.run_line_magic("load_ext", "ufunc_magic")
    return shell


def pytest_collection_finish() -> None:
    """Thousands of collected tests live to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden messages of tests/cells/bad anew")
