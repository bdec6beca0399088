"""Which files compilers report, and where else a file would have been read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ufunc_magic import compilers
from ufunc_magic.compilers import include_search
from ufunc_magic.model import FilesRead


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Headers in a working folder and in ``inc``."""
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text("#define B 1\n")
    (tmp_path / "inc" / "c.h").write_text('#include "deep/d.h"\n#include <stdio.h>\n')
    (tmp_path / "inc" / "deep" / "d.h").write_text('#include "e.h"\n#include "../c.h"\n')
    (tmp_path / "inc" / "deep" / "e.h").write_text("int e;\n")
    monkeypatch.chdir(tmp_path)
    for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("x.o: a.h b.h\n", ["a.h", "b.h"]),
        ("x.o: /usr/include/a.h \\\n  inc/b.h \\\n c.h\n", ["/usr/include/a.h", "inc/b.h", "c.h"]),
        ("x.o: my\\ headers/a.h b\\#.h c$$.h\n", ["my headers/a.h", "b#.h", "c$.h"]),
        ("C:\\x.o: a.h\n", ["a.h"]),
        ("x.o:\n", []),
        ("", []),
    ],
)
def test_rule_for_make_is_read(rule: str, files: list[str]) -> None:
    assert include_search.read_report(rule) == files


def test_search_path_is_in_the_order_of_the_compiler() -> None:
    path = compilers.search_path(
        ["-Ione", "-I", "/two", "-isystem", "/three", "-O2", "-include", "/f.h", "-iquote/four", "-idirafter", "late"],
        environ={"CPATH": "/five:", "C_INCLUDE_PATH": "/six"},
    )
    assert path.quoted == ("/four",)
    assert path.folders == ("one", "/two", "/five", ".", "/three", "/six")
    assert (path.late, path.forced) == (("late",), ("/f.h",))


def names(files_read: FilesRead) -> set[str]:
    assert files_read.known
    return {os.path.basename(path) for path in files_read.files}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("double f(double x) { return x; }", set()),
        ("#include <math.h>\n", set()),
        ('#include "a.h"\n', {"a.h", "b.h"}),
        ('  #  include   "b.h"  // why\n', {"b.h"}),
        ('#/* odd */include "b.h"\n', {"b.h"}),
        ('#inc\\\nlude "b.h"\n', {"b.h"}),
        ('%:include "b.h"\n', {"b.h"}),
        ('#include_next "b.h"\n', {"b.h"}),
        ('// #include "b.h"\n', {"b.h"}),
        ('#if __has_include("b.h")\n#endif\n', {"b.h"}),
        ('const char data[] = {\n#embed "b.h"\n};\n', {"b.h"}),
        ('__asm__(".incbin \\"b.h\\"");\n', {"b.h"}),
        ('#include "nowhere.h"\n', set()),
        ("#include <c.h>\n", {"c.h", "d.h", "e.h"}),
    ],
)
def test_files_that_a_text_names_are_followed(text: str, expected: set[str]) -> None:
    assert names(compilers.find_files_named(text, arguments=["-Iinc"], provided=[])) == expected


@pytest.mark.parametrize("text", ["#define H <stdio.h>\n#include H\n", "#include NAME(x)\n", "# include\\\n H\n"])
def test_name_of_a_macro_needs_a_report(text: str) -> None:
    assert not compilers.find_files_named(text, arguments=["-Iinc"], provided=[]).known


@given(st.text())
def test_no_text_breaks_the_search(text: str) -> None:
    compilers.find_files_named(text + '\n#include "nowhere/' + text, arguments=[], provided=[])


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize(
    ("text", "files", "absent"),
    [
        ("#include <math.h>\n", set(), set()),
        ('#include "a.h"\n', {"a.h", "b.h"}, set()),
        ('#define H "a.h"\n#include H\n', {"a.h", "b.h"}, set()),
        ('#if 0\n#include "b.h"\n#endif\n', set(), set()),
        ("#include <c.h>\n", {"inc/c.h", "inc/deep/d.h", "inc/deep/e.h"}, {"late/c.h"}),
        ('#include "c.h"\n', {"inc/c.h", "inc/deep/d.h", "inc/deep/e.h"}, {"c.h", "late/c.h"}),
    ],
)
def test_compiler_reports_what_it_reads(
    text: str, files: set[str], absent: set[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "gcc")
    (tree / "inc" / "c.h").write_text('#pragma once\n#include "deep/d.h"\n')
    (tree / "scratch").mkdir()
    (tree / "late").mkdir()
    tool, flags = compilers.find(), ["-O0", "-Ilate" if "late/c.h" in absent else "-O0", "-Iinc"]
    output = tree / "scratch" / "unit.o"
    compilers.compile_object(tool, text, compilers.UnitOrigin("cell", text), output=output, flags=flags)
    read = compilers.find_files_read(tool, text, folder=tree / "scratch", flags=flags)
    assert {os.path.relpath(path) for path in read.files} == files
    assert absent <= {os.path.relpath(path) for path in read.absent}
    assert "b.h" not in {os.path.relpath(path) for path in read.absent}


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_compiler_lists_its_own_folders_and_not_those_of_the_environment(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "gcc")
    monkeypatch.setenv("CPATH", str(tree / "inc"))
    folders = compilers.describe(compilers.find()).include_folders
    assert folders
    assert str(tree / "inc") not in folders
