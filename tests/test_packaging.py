"""What a user installs: the files of the wheel, the metadata, the commands that the README promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata, requires, version
from pathlib import Path

import pytest

import ufunc_magic as um
from support import REPOSITORY, run_python
from ufunc_magic.__main__ import main

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def test_version_is_the_installed_one() -> None:
    assert um.__version__ == version("ufunc_magic") == PROJECT["version"]


def test_jupyterlab_extension_is_complete_and_has_the_version_of_the_package() -> None:
    folder = REPOSITORY / "ufunc_magic" / "notebook" / "labextension"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    sources = json.loads((REPOSITORY / "packaging" / "labextension" / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == sources["version"] == PROJECT["version"]
    assert (folder / package["jupyterlab"]["_build"]["load"]).is_file()


def test_metadata_asks_for_python_3_11_and_numpy_2_2() -> None:
    assert metadata("ufunc_magic")["Requires-Python"] == ">=3.11"
    assert "numpy>=2.2" in (requires("ufunc_magic") or [])


def test_every_public_name_can_be_had() -> None:
    assert [name for name in um.__all__ if getattr(um, name, None) is None] == []
    assert set(um.__all__) <= set(dir(um))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compile_fortran'"):
        _ = um.compile_fortran


@pytest.mark.slow
@pytest.mark.parametrize("first", ["import ufunc_magic", "import ufunc_magic.pipeline", "import ufunc_magic.store"])
def test_names_shared_with_modules_answer_as_the_public_object(first: str, cache_folder: Path) -> None:
    code = f"""
{first}
import ufunc_magic as um
print(um.cache.path, callable(um.cache.prune), callable(um.compare), callable(um.doctor))
"""
    done = run_python(code)
    path, *rest = done.stdout.split()
    assert Path(path).is_relative_to(cache_folder)
    assert rest == ["True"] * 3


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="build is not installed (extra: dev)")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(REPOSITORY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode and re.search(r"ConnectionError|Could not find a version|No matching distribution", done.stdout):
        pytest.skip("hatchling cannot be fetched: no package index")
    assert done.returncode == 0, done.stdout + done.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    files = {
        str(p.relative_to(REPOSITORY))
        for p in (REPOSITORY / "ufunc_magic").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert {name for name in names if ".dist-info/" not in name and ".data/" not in name} == files
    # JupyterLab finds the extension where the wheel installs it.
    place = f"ufunc_magic-{version('ufunc_magic')}.data/data/share/jupyter/labextensions/ufunc-magic/"
    extension = REPOSITORY / "ufunc_magic" / "notebook" / "labextension"
    copies = {place + str(p.relative_to(extension)) for p in extension.rglob("*") if p.is_file()}
    assert {name for name in names if ".data/" in name} == copies | {f"{place}install.json"}
    assert "ufunc_magic/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.parametrize("mark", ["demo-command", "test-command"])
def test_readme_has_the_two_commands_and_they_set_up_all_they_need(mark: str) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    commands = re.findall(rf"<!-- {mark} -->\n```sh\n(.+?)\n```", text, re.DOTALL)
    assert len(commands) == 1
    assert commands[0].startswith("python3 -m venv ")
    assert "\n" not in commands[0]


def test_demo_prints_the_source_and_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert "double bell(" in shown
    assert re.search(r"mandelbrot.*\n(.*\n)*.*Python", shown)


def test_demo_without_a_compiler_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["demo"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("ToolchainError: ")
    assert "no-such-compiler" in shown


def test_doctor_prints_the_compilers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "numpy" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["cache"], ["cache", "--clear"], ["cache", "--prune", "1000000"]])
def test_cache_command_shows_where_the_cache_is(
    arguments: list[str], capsys: pytest.CaptureFixture[str], cache_folder: Path
) -> None:
    assert main(arguments) == 0
    assert str(cache_folder) in capsys.readouterr().out


def test_unknown_command_exits_with_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["nonsense"])
    assert caught.value.code == 2
    assert "demo" in capsys.readouterr().err
