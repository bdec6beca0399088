"""The diagnosis says what is there, what is used, and the one command for what is missing."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import ufunc_magic as um
from support import replace_name, run_python
from ufunc_magic import store as cache
from ufunc_magic.compilers import Diagnosis, Finding, diagnose, discovery, doctor
from ufunc_magic.compilers.doctor import find_simd_level
from ufunc_magic.languages.cuda import cuda_language


def of(diagnosis: Diagnosis, group: str, name: str) -> Finding:
    return next(f for f in diagnosis.findings if f.group == group and f.name.startswith(name))


def compiler(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "gcc").write_text("#!/bin/sh\n" + text)
    (folder / "gcc").chmod(0o755)


@pytest.fixture
def only_path(tmp_path, monkeypatch):
    """Nothing but a folder of ours on the PATH, no ziglang, no CC."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(discovery.importlib.util, "find_spec", lambda name: None)
    return tmp_path / "bin"


def test_a_diagnosis_is_rows_of_text():
    made = Diagnosis(
        (Finding("C <compilers>", "PATH", "gcc 12", True), Finding("Packages", "cython", "no", None, "pip x"))
    )
    assert str(made) == ("C <compilers>\n  + PATH    gcc 12\nPackages\n    cython  no\n            -> pip x")
    assert repr(made) == str(made)


@pytest.mark.skipif(os.name != "posix", reason="needs shell scripts")
def test_the_compiler_in_use_is_shown_with_its_version_and_abilities(only_path):
    macros = "".join(
        f"#define {name} {value}\\n"
        for name, value in {
            "__GNUC__": 13, "__GNUC_MINOR__": 2, "__GNUC_PATCHLEVEL__": 1, "__aarch64__": 1,
        }.items()
    )  # fmt: skip
    compiler(only_path, f"printf '{macros}'\n")
    found = diagnose()
    assert of(found, "C compilers", "PATH (used)").value == f"gcc 13.2.1 for aarch64: {only_path / 'gcc'}"
    assert of(found, "C compilers", "OpenMP").value.startswith("no")
    assert of(found, "C compilers", "libmvec").value.startswith("none")


@pytest.mark.skipif(os.name != "posix", reason="needs shell scripts")
def test_a_compiler_is_asked_once(only_path, tmp_path):
    compiler(only_path, f"echo asked >> {tmp_path}/log\nprintf '#define __GNUC__ 13\\n'\n")
    first, second = diagnose(), diagnose()
    assert first == second
    assert (tmp_path / "log").read_text() == "asked\n"


@pytest.mark.skipif(os.name != "posix", reason="needs shell scripts")
def test_a_compiler_that_does_not_work_is_a_fault(only_path):
    compiler(only_path, "echo 'licence expired' >&2\nexit 1\n")
    found = of(diagnose(), "C compilers", "PATH (used)")
    assert found.ok is False
    assert "licence expired" in found.value


def test_no_compiler_is_a_fault_with_the_command_that_helps(only_path):
    found = diagnose()
    assert of(found, "C compilers", "none").remedy == 'pip install "ufunc_magic[zig]"'
    assert not found.ok


def test_a_wrong_cc_is_a_fault_even_beside_good_compilers(monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc")
    found = of(diagnose(), "C compilers", "none")
    assert "no-such-cc" in found.value
    assert found.ok is False


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_an_unsafe_cache_is_a_fault(only_path, cache_folder):
    cache_folder.chmod(0o777)
    found = of(diagnose(), "Cache", "folder")
    assert "is writable by everybody" in found.value
    assert found.ok is False


def test_the_cache_is_counted(only_path, cache_folder):
    shutil.rmtree(cache_folder)
    cache.open_default().publish(cache.make_key(["a"]), record=b"", code=b"x" * 3_000_000)
    assert of(diagnose(), "Cache", "objects").value == "1, 3.0 MB of at most 1074 MB"


def test_a_limit_that_is_no_size_is_shown_and_breaks_nothing(only_path, monkeypatch):
    monkeypatch.setenv("UFUNC_MAGIC_CACHE_MAX", "lots")
    assert of(diagnose(), "Cache", "limit").ok is False


def test_packages_are_listed_without_importing_them(only_path):
    import numpy

    assert of(diagnose(), "Packages", "numpy").value == numpy.__version__
    code = "import sys; from ufunc_magic.compilers import diagnose; str(diagnose()); print(*sys.modules)"
    said = run_python(code).stdout.split()
    assert not {"IPython", "cffi", "tree_sitter", "numba", "Cython", "dask", "ziglang"} & set(said)


def test_what_is_missing_comes_with_its_command(only_path, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", {"no-such-package": "for nothing"})
    found = of(diagnose(), "Packages", "no-such-package")
    assert (found.value, found.remedy) == ("not installed (for nothing)", "pip install no-such-package")


def test_the_simd_level_is_one_of_the_known():
    assert re.match(r"x86-64(-v[234])? \((SSE2|SSE4\.2|AVX2|AVX-512)\)|\w+ \(", find_simd_level())


def test_the_gpu_is_shown_where_cupy_is_there(monkeypatch):
    replace_name(monkeypatch, doctor, "find_installed_version", {"cupy-cuda12x": "14.2.0"}.get)
    monkeypatch.setattr(cuda_language.device, "describe_versions", lambda: {"driver": "13000"}, raising=False)
    for missing, said in (("", ("A100, sm_80", True)), ("there is no driver", ("there is no driver", None))):
        for name, value in (("explain_missing", missing), ("name", "A100"), ("find_arch", "sm_80")):
            monkeypatch.setattr(cuda_language.device, name, lambda value=value: value, raising=False)
        shown = of(um.doctor(), "GPU", "device")
        assert (shown.value, shown.ok) == said
    assert of(um.doctor(), "Packages", "cupy").value == "14.2.0"
    replace_name(monkeypatch, doctor, "find_installed_version", lambda package: None)
    assert of(um.doctor(), "Packages", "cupy").remedy == "pip install cupy-cuda13x"
    assert "GPU" not in {f.group for f in um.doctor().findings}
