"""The options of a Cython cell, and its comment lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic import compilers
from ufunc_magic.languages.cython import cython_settings as settings
from ufunc_magic.model import TABLE, OptionError, Options, ToolchainError, make_options, refuse, suit_options
from ufunc_magic.notebook import option_line as arguments

# ---------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-a", {"annotate": True}),
        ("--annotate", {"annotate": True}),
        ("--annotate-fullc", {"annotate_fullc": True}),
        ("-+", {"cplus": True}),
        ("--cplus", {"cplus": True}),
        ("-3", {"language_level": 3}),
        ("-2", {"language_level": 2}),
        ("-f", {"force": True}),
        ("--force", {"force": True}),
        ("-c=-fopenmp --compile-args=-O2 -c -g", {"compile_args": ("-fopenmp", "-O2", "-g")}),
        ("--link-args=-fopenmp", {"link_args": ("-fopenmp",)}),
        ("-l m --lib z", {"lib": ("m", "z")}),
        ("-n mymodule", {"name": "mymodule"}),
        ("--name mymodule", {"name": "mymodule"}),
        ("-L /usr/lib", {"library_dirs": ("/usr/lib",)}),
        ("-I inc --include=more", {"include": ("inc", "more")}),
        ("-S a.c --src b.c", {"src": ("a.c", "b.c")}),
        ("--pgo", {"pgo": True}),
        ("--verbose", {"verbose": True}),
        ("-a3+", {"annotate": True, "language_level": 3, "cplus": True}),
        ("--torch", {"torch": True}),
    ],
)
def test_options_of_the_cython_magic_are_read_as_it_spells_them(line: str, expected: dict[str, Any]) -> None:
    assert arguments.parse(line) == expected


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.flags[0])
def test_help_of_each_magic_lists_its_own_options_only(option: Any) -> None:
    for language in ("c", "cython"):
        meant = not option.languages or language in option.languages
        assert (option.help in arguments.explain(arguments.list_options(language))) is meant


@pytest.mark.parametrize(("language", "offered"), [("c", []), ("cython", ["--pgo"])])
def test_completion_offers_what_the_language_has(language: str, offered: list[str]) -> None:
    assert arguments.complete("--pg", arguments.list_options(language)) == ("--pg", offered)


def test_misspelled_option_is_corrected() -> None:
    with pytest.raises(OptionError, match="Did you mean --annotate") as caught:
        arguments.parse("--anotate")
    assert caught.value.message == "--anotate is not an option."
    with pytest.raises(OptionError, match="-h lists all options"):
        arguments.parse("--zzzz")


@pytest.mark.parametrize(
    ("given", "language", "message"),
    [
        ({"language_level": 2}, "c", "-2 is for Cython cells"),
        ({"pgo": True}, "c", "--pgo is for Cython cells, and this one is C.\nRemove it, or use %%cython_ufunc."),
        (
            {"types": "f4,f8"},
            "cython",
            "--types f4,f8 is for C and CUDA cells, and this one is Cython.\nRemove it",
        ),
    ],
)
def test_option_of_another_language_is_refused(given: dict[str, Any], language: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        refuse(make_options(given), language=language)
    assert message in str(caught.value)


def test_options_that_mean_something_for_cython_are_not_refused() -> None:
    every = {"annotate_fullc": True, "pgo": True, "torch": True, "language_level": 2, "cplus": True, "parallel": 2}
    refuse(make_options(every), language="cython")


def test_remembered_options_of_another_language_are_left_out() -> None:
    remembered = make_options({"pgo": True, "types": "f4", "parallel": 2})
    assert suit_options(remembered, language="c") == Options(types="f4", parallel=2)
    assert suit_options(remembered, language="cython") == Options(pgo=True, parallel=2)


def test_whole_c_is_an_annotated_view_too() -> None:
    assert make_options({"annotate_fullc": True}).annotate


def test_language_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionError, match=r"language_level=4 .*2, 3"):
        make_options({"language_level": 4})


@pytest.mark.parametrize("name", ["annotate", "annotate_fullc", "pgo", "torch", "language_level"])
def test_options_that_change_what_is_stored_are_in_the_key(name: str) -> None:
    assert name in dict(Options().make_key())


# --------------------------------------------------------------------------------------- comments

CELL = """

# A cell.
# distutils: language = c++
# distutils: libraries = m z
#distutils: include_dirs=[inc, "my headers"]
# distutils: library_dirs = lib
# distutils: extra_compile_args = -O2 -DNAME="a b"
# distutils: extra_link_args = ["-Wl,-s"]
# distutils: define_macros = A=1 B
# distutils: undef_macros = C
# distutils: sources = helper.c
# distutils: extra_objects = made.o
# distutils: depends = data.h
# cython: boundscheck=False, wraparound = False
# cython: language_level=3str

from libc.math cimport exp
# distutils: libraries = late
# cython: cdivision=True
"""


def test_comment_lines_become_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = settings.read(CELL)
    assert found.cplus
    assert found.flags == (
        f"-I{tmp_path}/inc",
        f"-I{tmp_path}/my headers",
        "-DA=1",
        "-DB",
        "-UC",
        "-O2",
        '-DNAME="a b"',
    )
    assert found.link == ("-Wl,-s", f"-L{tmp_path}/lib", f"-Wl,-rpath,{tmp_path}/lib", "-lm", "-lz")
    assert found.sources == (f"{tmp_path}/helper.c", f"{tmp_path}/made.o")
    assert (found.libraries, found.library_dirs) == (("m", "z"), ("lib",))
    assert found.depends == (f"{tmp_path}/data.h",)


def test_options_of_the_line_stand_with_those_of_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = make_options({"include": "own", "lib": "gsl", "compile_args": "-O1", "cplus": True, "src": "b.c"})
    found = settings.read("# distutils: include_dirs = inc\n# distutils: extra_compile_args = -O2\n", options=options)
    assert found.flags == (f"-I{tmp_path}/own", f"-I{tmp_path}/inc", "-O2", "-O1")
    assert (found.link, found.sources, found.cplus) == (("-lgsl",), (f"{tmp_path}/b.c",), True)


@pytest.mark.parametrize("word", ["c++", "C++", "cpp", '"c++"'])
def test_spellings_of_cplus_are_understood(word: str) -> None:
    assert settings.read(f"# distutils: language={word}\n").cplus


def test_cython_comment_may_hold_a_key_of_distutils() -> None:
    assert settings.read("# cython: language = c++, boundscheck=False\n".replace(", boundscheck=False", "")).cplus


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("# distutils: librarys = m", "has an unknown setting: 'librarys'.\nValid settings: sources"),
        ("# distutils: language = fortran", "names a language that Cython does not support.\nWrite c or c++."),
    ],
)
def test_setting_that_cannot_be_had_is_refused(line: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        settings.read(line)
    assert line in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.cython
@pytest.mark.parametrize(
    "value",
    ["", "a", "a b  c", "[a, b, c]", 'a " " b', '[a, ",a", "a,", ",", ]', "[]", '"a b" c', "[a b, c]", "['a]b', c]"],
)
def test_lists_are_read_as_cython_reads_them(value: str) -> None:
    reference = pytest.importorskip("Cython.Build.Dependencies")
    found = settings.read(f"# distutils: extra_compile_args = {value}\n").flags
    assert list(found) == reference.parse_list(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("-DX='a b' y", ("-DX='a b'", "y")),  # a Cython of 2026 hands "__Pyx_L1_" to the compiler
        ("m # mathematics", ("m",)),
        ("[m] # mathematics", ("m",)),
        ("don't", ("don't",)),
    ],
)
def test_quotes_and_comments_within_a_list_are_understood(value: str, words: tuple[str, ...]) -> None:
    assert settings.read(f"# distutils: extra_compile_args = {value}\n").flags == words


# ------------------------------------------------------------------------------------- what is used

SUM = "def f(int n):\n    cdef int i, s = 0\n    for i in range(n): s += i\n    return s"


@pytest.mark.slow
@pytest.mark.cython
@pytest.mark.parametrize(
    ("cell", "used"),
    [
        (f"from cython.parallel cimport prange\n{SUM.replace('range(n)', 'prange(n, nogil=True)')}", True),
        ("cimport openmp\ndef f(int n): return n + openmp.omp_get_max_threads()", True),
        (f"# cython.parallel\n{SUM}", False),
    ],
)
def test_openmp_is_used_where_the_c_code_needs_it(cell: str, used: bool) -> None:
    tool = compilers.find()
    if not compilers.describe(tool).openmp:
        pytest.skip("the compiler has no OpenMP")
    assert ("-fopenmp" in um.compile_cython(cell, guard=False).report_data.command) is used


# ------------------------------------------------------------------------------------------- files


def test_settings_of_cimported_files_are_inherited() -> None:
    text = "# distutils: libraries = z\n# cython: language = c++\n# distutils: sources = own.c\n"
    drawn = {"/project/shapes.pxd": f"{text}cdef extern from 'constants.h': pass\n"}
    read = settings.read("# distutils: libraries = m\ncimport shapes\n", drawn=drawn)
    assert read.cplus
    assert read.link == ("-lm", "-lz")
    assert read.flags == ("-I/project",)
    assert read.sources == ()


def test_settings_and_keys_are_read_without_importing_cython() -> None:
    code = (
        "import sys\n"
        "from ufunc_magic.languages import cython\n"
        "from ufunc_magic.languages.cython import cython_settings\n"
        "from ufunc_magic.model import Options\n"
        "cython_settings.read('cimport numpy'); cython.make_key('cimport numpy', options=Options())\n"
        "print(*{'Cython', 'tree_sitter', 'subprocess'} & set(sys.modules))"
    )
    done = run_python(code)
    assert done.stdout.split() == []


# ------------------------------------------------------------------------------------------- torch


def test_missing_torch_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="torch is not installed") as caught:
        settings.read("x = 1", options=Options(torch=True))
    assert caught.value.remedy == "pip install torch"


@pytest.fixture
def fake_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a torch package that are looked at."""
    folder = tmp_path / "torch"
    (folder / "include" / "torch" / "csrc").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "libc10.so").write_bytes(b"\x7fELF _ZN3c105ErrorC1ESs")
    (folder / "__init__.py").write_text("raise ImportError('must not be imported')")
    (folder / "version.py").write_text("__version__ = '2.13.0+cpu'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return folder


def test_torch_is_found_without_being_imported(fake_torch: Path) -> None:
    found = settings.read("x = 1", options=Options(torch=True))
    assert found.cplus
    assert f"-isystem{fake_torch}/include" in found.flags
    assert found.link[:2] == (f"-L{fake_torch}/lib", f"-Wl,-rpath,{fake_torch}/lib")
    assert found.link[2:] == ("-ltorch", "-ltorch_cpu", "-ltorch_python", "-lc10")
    assert found.preload == ("torch",)
