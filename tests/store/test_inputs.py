"""What a cell is cached under, and the files that a cached cell depends on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic import pipeline, store
from ufunc_magic.languages import c
from ufunc_magic.model import FilesRead, make_options
from ufunc_magic.runtime import Build
from ufunc_magic.store import Cache, Inputs, manifest

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

OLD = 10**18
CELL = '#include "a.h"\ndouble f(double x) { return x + A; }'
MACRO = '#define HEADER "a.h"\n#include HEADER\ndouble f(double x) { return x + A; }'
OPTIONAL = '#if __has_include("a.h")\n#include "a.h"\n#else\n#define A 7\n#endif\ndouble f(double x) { return x + A; }'
ANGLED = "#include <math.h>\n#include <a.h>\ndouble f(double x) { return x + A; }"
PYX = "cimport shapes\ndef f(double x):\n    return x + shapes.A\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a header."""
    monkeypatch.setenv("CC", "gcc")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write("a.h", "#define A 1\n")
    return tmp_path / "work"


def write(name: str, text: str, *, time: int = OLD) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(time, time))
    return path


def run(source: str = CELL, **options: Any) -> tuple[float, bool]:
    """The value of the cell's function at 0, and whether the cell came from the cache on disk."""
    language = options.pop("language", "cython" if "cimport" in source else "c")
    pipeline.BUILDS.clear()
    build: Build = {"c": um.compile_c, "cython": um.compile_cython}[language](source, guard=False, **options)
    return build["f"](0.0), build.cached


# -- keys ----------------------------------------------------------------------------------------


def key(source: str = CELL, **options: Any) -> str:
    return c.LANGUAGE.make_key(source, options=make_options(options))


@pytest.mark.parametrize(
    "other",
    [
        {"source": CELL + " "},
        {"include": ("one",)},
        {"include": ("two", "one")},
        {"compile_args": ("-DX",)},
        {"compile_args": ("-DX=1",)},
        {"strict": True},
        {"arch": "native"},
        {"cplus": True},
        {"src": ("b.c",)},
    ],
)
def test_key_differs_on_text_and_options(other: dict[str, Any]) -> None:
    assert key(**other) not in (key(), key(include=("one", "two")))


@pytest.mark.parametrize("name", ["CPATH", "C_INCLUDE_PATH", "CFLAGS", "LDFLAGS", "LIBRARY_PATH"])
def test_key_differs_on_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    before = key()
    monkeypatch.setenv(name, "")
    assert key() == before
    monkeypatch.setenv(name, "-DX")
    assert key() != before


def test_key_is_the_same_whatever_the_files_and_the_folder_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = key()
    write("a.h", "#define A 2\n")
    assert key() == before
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRELATED", "1")
    assert key() == before


# -- C -------------------------------------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize("source", [CELL, MACRO, OPTIONAL])
def test_edited_header_is_compiled_again_and_the_old_text_is_a_hit(source: str) -> None:
    assert run(source) == (1.0, False)
    assert run(source) == (1.0, True)
    write("a.h", "#define A 2\n", time=OLD + 1)
    assert run(source) == (2.0, False)
    write("a.h", "#define A 1\n", time=OLD + 2)
    assert run(source) == (1.0, True)
    write("a.h", "#define A 2\n", time=OLD + 3)
    assert run(source) == (2.0, True)


@needs_gcc
def test_touched_header_is_a_hit() -> None:
    assert run() == (1.0, False)
    os.utime("a.h")
    assert run() == (1.0, True)


@needs_gcc
def test_a_hit_reads_only_files_with_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    digests: list[str] = []
    digest = manifest.Snapshot.digest

    def note(self: manifest.Snapshot, path: str) -> str:
        digests.append(os.path.basename(path))
        return digest(self, path)

    run()
    monkeypatch.setattr(manifest.Snapshot, "digest", note)
    assert run() == (1.0, True)
    assert digests == []
    os.utime("a.h")
    assert run() == (1.0, True)
    assert digests == ["a.h"]


@needs_gcc
def test_edited_header_counts_in_the_memory_of_the_process() -> None:
    first = um.compile_c(CELL, guard=False)
    assert um.compile_c(CELL, guard=False)["f"] is first["f"]
    write("a.h", "#define A 2\n", time=OLD + 1)
    second = um.compile_c(CELL, guard=False)
    assert (second["f"](0.0), second.cached) == (2.0, False)


@needs_gcc
def test_header_that_includes_a_header_is_followed() -> None:
    write("a.h", '#include "deep/b.h"\n')
    write("deep/b.h", '#include "c.h"\n')
    write("deep/c.h", "#define A 1\n")
    assert run() == (1.0, False)
    write("deep/c.h", "#define A 2\n", time=OLD + 1)
    assert run() == (2.0, False)


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize(
    ("source", "name"),
    [
        (ANGLED, "one/a.h"),  # before two/a.h
        (ANGLED, "one/math.h"),  # before the system's
        (ANGLED, "one/features.h"),  # which the system's <math.h> includes
        (CELL, "a.h"),  # before two/a.h
        (MACRO, "one/a.h"),
    ],
)
def test_new_header_that_comes_first_is_read(source: str, name: str) -> None:
    os.unlink("a.h")
    write("two/a.h", "#define A 1\n")
    Path("one").mkdir()
    assert run(source, include=("one", "two")) == (1.0, False)
    assert run(source, include=("one", "two")) == (1.0, True)
    write(name, "#include_next <math.h>\n" if "math" in name else "#define A 2\n#include_next <features.h>\n")
    if name.endswith("features.h"):
        write(name, "#include_next <features.h>\n")
    value, cached = run(source, include=("one", "two"))
    assert (value, cached) == (2.0 if name.endswith("a.h") else 1.0, False)


@needs_gcc
def test_new_header_that_comes_later_is_a_hit() -> None:
    Path("two").mkdir()
    assert run(include=("two",)) == (1.0, False)
    write("two/a.h", "#define A 2\n")
    assert run(include=("two",)) == (1.0, True)


@needs_gcc
def test_removed_header_is_missed() -> None:
    write("two/a.h", "#define A 2\n")
    assert run(include=("two",)) == (1.0, False)
    os.unlink("a.h")
    assert run(include=("two",)) == (2.0, False)
    os.unlink("two/a.h")
    with pytest.raises(um.CompileError, match=r"a\.h"):
        run(include=("two",))


@needs_gcc
def test_order_of_folders_counts() -> None:
    os.unlink("a.h")
    write("one/a.h", "#define A 1\n")
    write("two/a.h", "#define A 2\n")
    assert run(include=("one", "two")) == (1.0, False)
    assert run(include=("two", "one")) == (2.0, False)
    assert run(include=("one", "two")) == (1.0, True)


@needs_gcc
@pytest.mark.parametrize("name", ["CPATH", "C_INCLUDE_PATH"])
def test_folders_of_the_environment_count(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.unlink("a.h")
    write("two/a.h", "#define A 1\n")
    monkeypatch.setenv(name, str(folder / "two"))
    assert run(ANGLED) == (1.0, False)
    assert run(ANGLED) == (1.0, True)
    write("two/a.h", "#define A 2\n", time=OLD + 1)
    assert run(ANGLED) == (2.0, False)


@needs_gcc
def test_optional_header_that_appears_is_read() -> None:
    os.unlink("a.h")
    assert run(OPTIONAL) == (7.0, False)
    assert run(OPTIONAL) == (7.0, True)
    write("a.h", "#define A 1\n")
    assert run(OPTIONAL) == (1.0, False)


@needs_gcc
def test_name_that_only_the_preprocessor_knows_is_not_cached() -> None:
    source = '#define NAME "a.h"\n#if __has_include(NAME)\n#define A 1\n#endif\ndouble f(double x) { return x + A; }'
    assert run(source) == (1.0, False)
    assert run(source) == (1.0, False)


@needs_gcc
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="in the assembler of ELF")
def test_file_that_the_assembler_reads_counts() -> None:
    source = (
        '__asm__(".pushsection .rodata\\n__blob: .incbin \\"blob\\"\\n.popsection");\n'
        'extern const char blob[] __asm__("__blob");\ndouble f(double x) { return x + blob[0]; }'
    )
    write("blob", "A")
    assert run(source) == (65.0, False)
    assert run(source) == (65.0, True)
    write("blob", "B", time=OLD + 1)
    assert run(source) == (66.0, False)


@needs_gcc
def test_sources_count_with_their_headers() -> None:
    source = "double g(void);\ndouble f(double x) { return x + g(); }"
    write("more/b.c", '#include "b.h"\ndouble g(void) { return B; }\n')
    write("more/b.h", "#define B 1\n")
    assert run(source, src=("more/b.c",)) == (1.0, False)
    assert run(source, src=("more/b.c",)) == (1.0, True)
    write("more/b.h", "#define B 2\n", time=OLD + 1)
    assert run(source, src=("more/b.c",)) == (2.0, False)
    write("more/b.c", "double g(void) { return 3; }\n", time=OLD + 1)
    assert run(source, src=("more/b.c",)) == (3.0, False)


@needs_gcc
def test_another_working_folder_has_other_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = "double f(double x) { return x + 9; }"
    assert run() == (1.0, False)
    assert run(plain) == (9.0, False)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    write("a.h", "#define A 2\n")
    assert run() == (2.0, False)
    assert run(plain) == (9.0, True)
    monkeypatch.chdir(tmp_path / "work")
    assert run() == (1.0, True)


@needs_gcc
def test_the_background_makes_the_same_portable_object() -> None:
    build = um.compile_c("#include <math.h>\ndouble f(double x) { return sqrt(x); }", guard=False)
    build.object_code
    keys = [path.name for path in store.open_default().path.glob("keys/*")]
    assert not [name for name in keys if name.endswith(".files")]
    assert run("#include <math.h>\ndouble f(double x) { return sqrt(x); }") == (0.0, True)


# -- Cython --------------------------------------------------------------------------------------


@pytest.fixture
def pxd() -> None:
    pytest.importorskip("Cython")
    write("shapes.pxd", "cdef enum:\n    A = 1\n")


@pytest.mark.cython
def test_edited_pxd_is_compiled_again_and_the_old_text_is_a_hit(pxd: None) -> None:
    assert run(PYX) == (1.0, False)
    assert run(PYX) == (1.0, True)
    os.utime("shapes.pxd")
    assert run(PYX) == (1.0, True)
    write("shapes.pxd", "cdef enum:\n    A = 2\n", time=OLD + 1)
    assert run(PYX) == (2.0, False)
    write("shapes.pxd", "cdef enum:\n    A = 1\n", time=OLD + 2)
    assert run(PYX) == (1.0, True)


@pytest.mark.slow
@pytest.mark.cython
@pytest.mark.parametrize("name", ["shapes.pxd", "shapes/__init__.pxd"])
def test_new_pxd_that_comes_first_is_read(pxd: None, name: str) -> None:
    os.renames("shapes.pxd", "inc/shapes.pxd")
    assert run(PYX, include=("inc",)) == (1.0, False)
    assert run(PYX, include=("inc",)) == (1.0, True)
    write(name, "cdef enum:\n    A = 2\n")
    value, cached = run(PYX, include=("inc",))
    assert not cached
    assert value == (2.0 if name == "shapes.pxd" else value)


@pytest.mark.slow
@pytest.mark.cython
def test_pxi_and_headers_of_a_pxd_count(pxd: None) -> None:
    write("shapes.pxd", "include 'names.pxi'\n")
    write("names.pxi", "cdef extern from 'shapes.h':\n    const int A\n")
    write("shapes.h", '#include "deeper.h"\n')
    write("deeper.h", "#define A 1\n")
    assert run(PYX) == (1.0, False)
    assert run(PYX) == (1.0, True)
    write("deeper.h", "#define A 2\n", time=OLD + 1)
    assert run(PYX) == (2.0, False)
    write("names.pxi", "cdef enum:\n    A = 3\n", time=OLD + 1)
    assert run(PYX) == (3.0, False)


@pytest.mark.slow
@pytest.mark.cython
def test_a_pxd_may_ask_for_cplus(pxd: None) -> None:
    write(
        "shapes.pxd",
        "# distutils: language = c++\n"
        "cdef extern from *:\n    '''\n    namespace n { int A = 1; }\n    '''\n    int A 'n::A'\n",
    )
    assert run(PYX) == (1.0, False)
    assert run(PYX) == (1.0, True)
    write("shapes.pxd", "cdef enum:\n    A = 2\n", time=OLD + 1)
    assert run(PYX) == (2.0, False)


@pytest.mark.slow
@pytest.mark.cython
def test_depends_and_sources_of_the_comments_count(pxd: None) -> None:
    source = f"# distutils: depends = data.txt\n# distutils: sources = more.c\n{PYX}"
    source += "cdef extern double g()\ndef h(double x): return x + g()\n"
    write("more.c", "double g(void) { return 1; }\n")
    assert run(source) == (1.0, False)
    assert run(source) == (1.0, True)
    write("data.txt", "1")
    assert run(source) == (1.0, False)
    write("data.txt", "2", time=OLD + 1)
    assert run(source) == (1.0, False)
    write("more.c", "double g(void) { return 2; }\n", time=OLD + 1)
    assert run(source) == (1.0, False)
    assert run(source) == (1.0, True)


@pytest.mark.cython
def test_cython_cells_without_files_hold_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("Cython")
    source = "import numpy as np\ncimport numpy as cnp\nfrom libc.math cimport sqrt\ndef f(double x): return sqrt(x)\n"
    assert run(source) == (0.0, False)
    assert not list(store.open_default().path.glob("keys/*.files"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(source) == (0.0, True)


# -- the manifest --------------------------------------------------------------------------------


def inputs(*paths: str, absent: tuple[str, ...] = ()) -> Inputs:
    files = tuple(os.path.abspath(path) for path in paths)
    result = store.stamp_files(FilesRead(files, absent=absent), since=2 * OLD)
    assert result
    return result


def test_records_of_one_key_are_bounded_and_the_latest_stay(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for n in range(manifest.MOST + 3):
        write("a.h", f"#define A {n:03}\n", time=OLD + n)
        cache.publish_inputs("k" * 64, inputs("a.h"), record=b"%d" % n, code=b"code")
    hit = cache.find("k" * 64)
    assert hit
    assert hit[0].record == b"%d" % (manifest.MOST + 2)
    assert len(manifest.read(cache.path, "k" * 64)) == manifest.MOST
    write("a.h", "#define A 000\n")
    assert cache.find("k" * 64) is None
    write("a.h", "#define A 003\n")
    hit = cache.find("k" * 64)
    assert hit
    assert hit[0].record == b"3"


@pytest.mark.parametrize(
    "spoil",
    [lambda text: text[:-9], lambda text: b"", lambda text: text.replace(b"a.h", b"b.h"), lambda text: b"\0" * 99],
)
def test_corrupt_manifest_is_ignored_and_written_again(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    cache, name = Cache(tmp_path / "cache"), "k" * 64
    cache.publish_inputs(name, inputs("a.h"), record=b"r", code=b"code")
    path = cache.path / "keys" / f"{name}.files"
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    assert cache.find(name) is None
    cache.publish_inputs(name, inputs("a.h"), record=b"r", code=b"code")
    assert path.read_bytes() == whole
    assert cache.find(name)


def test_manifest_of_another_version_is_ignored(tmp_path: Path) -> None:
    cache, name = Cache(tmp_path / "cache"), "k" * 64
    cache.publish_inputs(name, inputs("a.h"), record=b"r", code=b"code")
    path = cache.path / "keys" / f"{name}.files"
    path.write_bytes(store.atomic_file.seal(f"{name}.files", "-", b'{"other": 1}'))
    assert cache.find(name) is None


def test_manifest_goes_with_the_rest(tmp_path: Path) -> None:
    cache, name = Cache(tmp_path / "cache"), "k" * 64
    cache.publish_inputs(name, inputs("a.h"), record=b"r", code=b"code")
    cache.clear()
    assert not list(cache.path.glob("keys/*"))
    assert cache.find(name) is None


@needs_gcc
@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_read_only_cache_serves_headers_that_are_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run() == (1.0, False)
    root = store.open_default().path

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(store.atomic_file, "place", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    before = sorted(root.glob("keys/*"))
    assert run() == (1.0, True)
    assert sorted(root.glob("keys/*")) == before


@pytest.mark.slow
@needs_gcc
def test_two_processes_share_the_records() -> None:
    program = f"import os; os.chdir({os.getcwd()!r}); import ufunc_magic as um\n"
    program += f"b = um.compile_c({CELL!r}, guard=False)\nprint(b['f'](0.0), b.cached)"

    def other() -> str:
        done = run_python(program)
        return done.stdout.strip()

    assert other() == "1.0 False"
    assert run() == (1.0, True)
    write("a.h", "#define A 2\n", time=OLD + 1)
    assert run() == (2.0, False)
    assert other() == "2.0 True"
    write("a.h", "#define A 1\n", time=OLD + 2)
    assert other() == "1.0 True"


def test_file_that_changes_while_it_is_compiled_is_not_recorded() -> None:
    path = os.path.abspath("a.h")
    now = os.stat(path).st_ctime_ns
    assert store.stamp_files(FilesRead((path,)), since=now)
    assert store.stamp_files(FilesRead((path,)), since=now - 1) is None
    assert store.stamp_files(FilesRead(absent=(path,)), since=now - 1) is None
    assert store.stamp_files(FilesRead((path + "x",)), since=now) is None
    assert store.stamp_files(FilesRead(known=False), since=now) is None


def test_recent_file_is_read_and_not_believed_by_its_time() -> None:
    path = os.path.abspath("a.h")
    os.utime(path)
    recent = store.stamp_files(FilesRead((path,)), since=os.stat(path).st_ctime_ns)
    assert recent
    assert recent.files[0][2] == -1
    assert recent.hold()
    status = os.stat(path)
    Path(path).write_text("#define A 3\n")
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert not recent.hold()


def test_missing_folder_stands_for_all_below_it() -> None:
    missing = [os.path.abspath(f"no/{name}") for name in ("b.h", "c.h", "deep/d.h")]
    result = inputs(absent=tuple(missing))
    assert [names for _, _, names in result.absent] == [("no",)]
    assert result.hold()
    Path("no").mkdir()
    assert not result.hold()
