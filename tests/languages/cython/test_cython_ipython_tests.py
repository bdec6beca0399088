"""Cython's own tests of %%cython (TestIpythonMagic, in its wheel), with %%cython_ufunc in its place."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import python_path

pytestmark = [
    pytest.mark.cython,
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
    pytest.mark.skipif(
        sys.version_info >= (3, 12) and not importlib.util.find_spec("setuptools"),
        reason="Cython's own magics need distutils or setuptools",
    ),
]

#: What docs/cython.md says is otherwise: the value of a cell is its report, and distutils is not used.
DELIBERATE = {"test_cython_no_annotate", "test_cython_verbose_thresholds"}

PROGRAM = '''
import json, sys, unittest
from types import SimpleNamespace

import Cython.Build.Tests.TestIpythonMagic as theirs

class Tests(theirs.TestIPythonMagic):
    def setUp(self):
        super().setUp()
        self._ip.extension_manager.load_extension("ufunc_magic")
        self._ip.run_cell_magic = self.run_as_a_notebook_does

    def run_as_a_notebook_does(self, magic, line, cell):
        """An exception and a report are shown; the report has the annotated page."""
        magic = "cython_ufunc" if magic == "cython" else magic
        try:
            value = type(self._ip).run_cell_magic(self._ip, magic, line, cell)
        except Exception as error:
            print(type(error).__name__, error, sep=": ", file=sys.stderr)
            return None
        if "annotate" in self.id() and "-a" in line:
            return SimpleNamespace(data=value._repr_html_())
        print(value if magic == "cython_ufunc" else "")
        return value

result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
failed = {test.id().rpartition(".")[2]: text for test, text in (*result.failures, *result.errors)}
print(json.dumps({"run": result.testsRun, "skipped": len(result.skipped), "failed": failed}))
'''


@pytest.mark.nightly
def test_cythons_tests_of_its_magic_pass_but_for_deliberate_differences(tmp_path: Path) -> None:
    folders = {f"{name}DIR": str(tmp_path / name.lower()) for name in ("IPYTHON", "JUPYTER_CONFIG_", "CYTHON_CACHE_")}
    environment = {**os.environ, **folders, "PYTHONPATH": python_path()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "No module named 'Cython.Build.Tests" in done.stderr:
        pytest.skip("this Cython comes without its tests")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.rpartition("\n{")[2].join(("{", "")))
    unexpected = {name: text for name, text in result["failed"].items() if name not in DELIBERATE}
    assert unexpected == {}, "\n".join(unexpected.values())
    assert result["failed"].keys() == DELIBERATE
    assert (result["run"], result["skipped"]) >= (17, 0)
