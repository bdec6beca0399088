"""The loader refuses what cannot run here, in words that name both sides."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ufunc_magic as um
from support import replace_name, run_python
from ufunc_magic import store as cache
from ufunc_magic.model import ObjectCode, Target, TargetError
from ufunc_magic.runtime import loader


@pytest.fixture
def made() -> ObjectCode:
    return um.compile_c("#include <math.h>\ndouble f(double x) { return exp(x) + 1; }").object_code


@pytest.fixture
def library(made: ObjectCode, tmp_path: Path) -> Path:
    path = tmp_path / "f.so"
    path.write_bytes(made.code)
    return path


def test_own_target_is_accepted(made: ObjectCode, library: Path) -> None:
    assert len(loader.open_library(made, library).loops) == 1


@pytest.mark.parametrize(
    "change",
    [{"machine": "riscv128"}, {"os": "plan9"}, {"format": "pe"}],
    ids=lambda change: next(iter(change)),
)
def test_code_of_another_machine_is_refused_before_it_is_opened(made: ObjectCode, change: dict[str, str]) -> None:
    foreign = replace(made, target=replace(made.target, **change))
    with pytest.raises(TargetError, match=next(iter(change.values())) if "format" not in change else "this process is"):
        loader.open_library(foreign, Path("never looked at"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has glibc")
def test_code_for_a_newer_c_library_is_refused(made: ObjectCode) -> None:
    newer = replace(made.target, libc="glibc 99.1")
    with pytest.raises(TargetError, match=r"glibc 99\.1"):
        loader.check_target(newer)
    loader.check_target(replace(made.target, libc="glibc 2.2.5"))


def test_c_library_versions_compare_as_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Target("elf", "linux", "x86_64", "glibc 2.9")
    replace_name(monkeypatch, loader, "describe_target", lambda: here)
    with pytest.raises(TargetError):
        loader.check_target(replace(here, libc="glibc 2.10"))


def test_code_that_needs_glibc_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    musl = Target("elf", "linux", "x86_64", "")
    replace_name(monkeypatch, loader, "describe_target", lambda: musl)
    with pytest.raises(TargetError):
        loader.check_target(replace(musl, libc="glibc 2.17"))
    loader.check_target(musl)


def test_native_code_is_refused_on_a_lesser_cpu(made: ObjectCode) -> None:
    with pytest.raises(TargetError, match="avx9000"):
        loader.check_target(replace(made.target, level="native: avx9000"))


def test_missing_file_is_a_target_error(made: ObjectCode, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be loaded"):
        loader.open_library(made, tmp_path / "absent.so")


def test_file_that_is_no_library_is_a_target_error(made: ObjectCode, tmp_path: Path) -> None:
    path = tmp_path / "text.so"
    for content in (b"", b"not machine code", made.code[:100]):
        path.write_bytes(content)
        with pytest.raises(TargetError, match="cannot be loaded"):
            loader.open_library(made, path)


@pytest.mark.slow
def test_altered_code_in_the_cache_is_never_opened(made: ObjectCode) -> None:
    """Half of a library would crash the process where it is opened."""
    source = "double half(double x) { return x / 2; }"
    um.compile_c(source)
    for path in cache.open_default().path.rglob("*.so"):
        path.chmod(0o600)
        cut = path.read_bytes()[:-4096]
        path.unlink()  # it is open in this process: a new file, not a shorter mapping
        path.write_bytes(cut)
    script = f"import ufunc_magic as um; print(um.compile_c({source!r}).half(3.0))"

    done = run_python(script)
    assert done.stdout == "1.5\n"


def test_two_libraries_of_one_symbol_are_kept_apart() -> None:
    one = um.compile_c("double helper(double x) { return 1; } double f(double x) { return helper(x); }")
    two = um.compile_c("double helper(double x) { return 2; } double f(double x) { return helper(x); }")
    assert (one.f(0.0), two.f(0.0), one.f(0.0)) == (1, 2, 1)
