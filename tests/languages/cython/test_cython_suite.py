"""Doctests of Cython's own test suite pass as they do with plain Cython."""

from __future__ import annotations

import importlib.util
import sys
import urllib.error
from typing import Any

import pytest

from support import REPOSITORY

pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
pytestmark = [pytest.mark.cython, pytest.mark.slow]

FILES = "builtin_min_max", "cdefoptargs", "division_T384", "cpdef_optargs", "int128", "r_addint", "typeddefaultargT373"


@pytest.fixture(scope="module")
def suite() -> Any:
    path = REPOSITORY / "benchmarks" / "cython_suite.py"
    if not path.exists():
        pytest.skip("benchmarks are not here")
    spec = importlib.util.spec_from_file_location("cython_suite", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cython_suite", module)
        spec.loader.exec_module(module)
        try:
            module.fetch()
        except (urllib.error.URLError, StopIteration) as fault:
            pytest.skip(f"Cython's sdist cannot be fetched: {fault}")
        yield module


@pytest.mark.nightly
@pytest.mark.parametrize("name", FILES)
def test_doctests_of_cython_pass(suite: Any, name: str) -> None:
    paths = [path for path in suite.single_modules(suite.fetch()) if path.stem == name]
    if not paths:
        pytest.skip(f"this version of Cython has no tests/run/{name}")
    row = suite.compare(paths[0], fresh=False)
    assert (row["fault"], row["differs"]) == ("", {})
