"""The rules of the tests themselves: they use the names that rooms promise, and share what several of them need."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from support import REPOSITORY

TESTS = REPOSITORY / "tests"

#: Private names that tests use all the same: file -> name -> reason.
PRIVATE = {
    "runtime/test_serialize.py": {"_after": "pickles of every release name it"},
    "interop/test_saved_module.py": {"_cell": "a function of the test's own cell"},
    "interop/test_numba_ufunc.py": {"_nrt_python": "Numba's counters of memory"},
    "languages/cuda/kernels/linked.py": {"_reduce_states": "numba-cuda's: how it pickles a library"},
    "codegen/test_simdmath.py": {"_name": "the file of a ctypes library, which ctypes names in no other way"},
    "compilers/test_toolchain.py": {"_name": "the file of a ctypes library, which ctypes names in no other way"},
}

#: Names of methods that displays call.
DISPLAYED = ("_repr_", "_ipython_", "_render_traceback_")


@functools.cache
def read(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_from(path: Path) -> tuple[set[str], set[str]]:
    """The names that a file imports from the package, and those from elsewhere."""
    ours: set[str] = set()
    others: set[str] = set()
    for node in read(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                (ours if alias.name.startswith("ufunc_magic") else others).add(name)
        elif isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name for alias in node.names}
            (ours if (node.module or "").startswith(("ufunc_magic", "support")) else others).update(names)
    return ours, others


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_" and not name.startswith(DISPLAYED)


def root_of(node: ast.expr) -> str:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def private_names(path: Path) -> Iterator[tuple[int, str]]:
    """Private names of the package that a file of tests uses: imported, as attributes, or as text to replace."""
    ours, others = imported_from(path)
    for node in read(path):
        match node:
            case ast.ImportFrom(module=module, names=names) if (module or "").startswith("ufunc_magic"):
                words = [*(module or "").split("."), *(alias.name for alias in names)]
                yield from ((node.lineno, word) for word in words if is_private(word))
            case ast.Attribute(value=value, attr=name) if is_private(name):
                if root_of(value) not in {"self", "cls", *(others - ours)}:
                    yield node.lineno, name
            case ast.Call(args=[ast.expr() as place, *more]):
                texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                for text in texts:
                    if text.startswith("ufunc_magic.") and " " not in text:
                        yield from ((node.lineno, word) for word in text.split(".") if is_private(word))
                    elif more and is_private(text) and root_of(place) in {"monkeypatch", "patch", *ours}:
                        yield node.lineno, text


def test_tests_use_no_private_names_of_the_package() -> None:
    used = {
        (path.relative_to(TESTS).as_posix(), name): f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, name in private_names(path)
    }
    allowed = {(file, name) for file, names in PRIVATE.items() for name in names}
    assert [place for key, place in used.items() if key not in allowed] == []
    assert sorted(allowed - used.keys()) == [], "these are used no more: remove them from the list"


def test_folders_of_tests_have_the_names_of_rooms() -> None:
    rooms = {path.parent.relative_to(REPOSITORY / "ufunc_magic") for path in (REPOSITORY / "ufunc_magic").rglob("*.py")}
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert sorted(str(folder) for folder in folders - rooms) == []


def test_a_language_is_tested_in_its_folder() -> None:
    """Files named for a language, but for those of a room that several languages share."""
    shared = {"forms"}
    wrong = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        for word in ("cuda", "cython", "nvrtc")
        if word in path.stem and path.relative_to(TESTS).parts[0] not in {"languages", *shared}
    ]
    assert wrong == []


def test_no_two_files_have_a_copy_of_a_function() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in read(path):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 3:
                body = node.body[ast.get_docstring(node) is not None :]
                text = "\n".join(map(ast.unparse, body))
                places.setdefault(text, []).append(f"{path.relative_to(TESTS)}:{node.lineno}: {node.name}")
    copies = [where for text, where in places.items() if len(text) > 120 and len({w.split(":")[0] for w in where}) > 1]
    assert copies == [], "move it to tests/support"


#: So many words in a row are a sentence: a test looks for the value, the fault's word or the remedy.
SENTENCE = re.compile(r"(?:[A-Za-z',]+ ){6}[A-Za-z']+")


def test_no_test_expects_a_whole_sentence_of_an_error() -> None:
    sentences = [
        f"{path.relative_to(TESTS)}:{node.value.lineno}: {word.value}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in read(path)
        if isinstance(node, ast.keyword) and node.arg == "match"
        for word in ast.walk(node.value)
        if isinstance(word, ast.Constant) and isinstance(word.value, str) and SENTENCE.search(word.value)
    ]
    assert sentences == []
