"""The cache under fire: the faults of benchmarks/faults/cache.py give right results or errors of ours, and no rest."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType

import pytest

from support import REPOSITORY

if not hasattr(os, "fork"):
    pytest.skip("faults are tried in forked processes, which this system has not", allow_module_level=True)


def _load() -> ModuleType:
    path = REPOSITORY / "benchmarks" / "faults" / "cache.py"
    spec = importlib.util.spec_from_file_location("ufm_faults_cache", path)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look there
    spec.loader.exec_module(made)
    return made


faults = _load()


@pytest.fixture(scope="module")
def came() -> dict[str, object]:
    """What came of all faults, tried in one process that forks."""
    return dict(zip(faults.FAULTS, faults.tried(faults.FAULTS), strict=True))


@pytest.mark.nightly
@pytest.mark.parametrize("fault", faults.FAULTS)
def test_no_fault_of_the_cache_gives_a_wrong_result_or_an_unhandled_error(came, fault):
    found = came[fault]
    if found.skipped:
        pytest.skip(found.skipped)
    assert (found.wrong, found.unhandled, found.left) == (0, 0, 0), found.worst
    assert found.right > 0


@pytest.mark.nightly
def test_only_files_that_must_be_small_and_a_folder_that_is_gone_refuse_a_cell(came):
    refusing = {name for name, found in came.items() if found.refused}
    # In a folder that is gone, a relative path of the cache means nothing: that too is said.
    assert refusing - {"clearing", "removing"} <= {"small_files", "no_folder"}


@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "least"), [("killed", 50), ("killed_after", 50), ("crowd", 50)])
def test_faults_were_really_tried(came, fault, least):
    assert max(came[fault].killed, came[fault].right) >= least


@pytest.mark.slow
def test_rows_are_faults_with_what_came_of_them():
    assert [(fault, "right" in came, "0 wrong" in came) for fault, came in faults.rows(["across", "read_only"])] == [
        ("renames and links across devices fail (EXDEV), once and for ever", True, True),
        ("a read-only folder (EROFS): a known cell, then a new one", True, True),
    ]
