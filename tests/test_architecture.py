"""The rules of the house (docs/architecture.md), read from the source of every module."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import run_python

ROOT = Path(__file__).parents[1] / "ufunc_magic"

#: The rooms and the files at the root, top to bottom: imports point down.  Rooms on one line do not know each other.
ORDER: tuple[tuple[str, ...], ...] = (
    ("notebook", "__main__"),
    ("api",),
    ("pipeline",),
    ("bench",),
    ("render",),
    ("interop",),
    ("languages",),
    ("cells",),
    ("serialize",),
    ("guard",),
    ("codegen", "forms"),
    ("shortcuts",),
    ("compilers",),
    ("ir",),
    ("runtime",),
    ("store",),
    ("model",),
)

#: What a worker needs to load a function: it can reach nothing that compiles.
WORKER = ("runtime", "store", "model")
NEEDS_A_COMPILER = (
    "compilers",
    "shortcuts",
    "languages",
    "cells",
    "codegen",
    "forms",
    "ir",
    "guard",
    "bench",
    "render",
    "pipeline",
    "notebook",
)

#: Package of somebody else -> the rooms that may import it, or the files where one file is the door.
DOORS: dict[str, tuple[str, ...]] = {
    "IPython": ("notebook",),
    "subprocess": ("compilers.processes", "guard.guard_process"),
    "multiprocessing": (),
    "ctypes": ("runtime", "guard", "interop", "languages.cuda"),
    "cffi": ("runtime.cffi_function",),
    "time": ("bench", "pipeline", "guard.helper"),
    "timeit": (),
    "tempfile": ("store",),
    "platformdirs": ("store",),
    "tree_sitter": ("languages.c",),
    "tree_sitter_c": ("languages.c",),
    "tree_sitter_cuda": ("languages.c",),
    "copyreg": ("runtime.pickling",),
    "numba": ("interop.numba", "languages.cuda.numba_cuda"),
    "llvmlite": ("interop.numba", "languages.cuda.numba_cuda"),
    "Cython": ("languages.cython", "forms"),
    "cupy": ("languages.cuda.device",),
    "cuda": ("languages.cuda.nvrtc",),
    "elftools": ("runtime", "interop.hosts"),
    "torch": (),
    "dask": (),
    "matplotlib": (),
    "pandas": (),
}

#: Call -> the rooms or files that may make it.
CALLS: dict[str, tuple[str, ...]] = {
    "print": ("__main__",),
    # The last two write files that the user names.
    "write_text": ("store", "interop.hosts"),
    "write_bytes": ("store", "interop.hosts"),
    "mkdir": ("store",),
    "unlink": ("store",),
    "rmtree": ("store",),
    "perf_counter": ("bench", "pipeline"),
    "perf_counter_ns": ("bench", "pipeline"),
    "CDLL": ("runtime", "guard", "interop"),
    "dlopen": ("runtime",),
}

#: Files that import modules by names in text: ours by a table of names, and packages of others.
IMPORTERS_OF_TEXT = {
    *("languages.language_table", "notebook.first_use"),
    "runtime.registry",  # what binds a language's functions, and the sandbox
    *("guard.helper.probe", "interop.hosts.c_address", "languages.cuda.device.driver", "render.optional_packages"),
    *("runtime._private", "runtime.exception_codec", "runtime.loader"),
}

#: Rooms of text and values: nothing of the machine.
PURE = ("model", "codegen", "forms", "ir", "render")
MACHINE = frozenset("os pathlib shutil tempfile socket subprocess ctypes time threading platform random".split())

#: A comparison is saved to, and loaded from, a file that the user names.
SAVING = (("render.comparison", "pathlib"), ("render.saved", "pathlib"))

#: Names that say how a thing was come by instead of what it is.
EMPTY_WORDS = frozenset("made found given wanted asked said told seen held kept".split())


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}
LAYERED = [name for name in MODULES if name != "__init__"]
#: Every folder with an ``__init__`` is a room; "" is the root.
ROOMS = {name for name, path in MODULES.items() if path.name == "__init__.py" and name != "__init__"}
DEPTH = {room: depth for depth, line in enumerate(ORDER) for room in line}


@dataclass(frozen=True)
class Import:
    """One import of a module of ours (``target`` without the package's name) or of another's."""

    importer: str
    target: str
    names: tuple[str, ...]
    ours: bool
    place: str
    deferred: bool
    typing: bool


@functools.cache
def read(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def nodes(tree: ast.AST, *, deferred: bool = False, typing: bool = False) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Every node, whether it stands inside of a function, and whether only type checkers read it."""
    for child in ast.iter_child_nodes(tree):
        yield child, deferred, typing
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for statement in child.body:
                yield statement, deferred, True
                yield from nodes(statement, deferred=deferred, typing=True)
            for statement in child.orelse:
                yield statement, deferred, typing
                yield from nodes(statement, deferred=deferred, typing=typing)
            continue
        inside = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from nodes(child, deferred=inside, typing=typing)


@functools.cache
def nodes_of(name: str) -> tuple[tuple[ast.AST, bool, bool], ...]:
    return tuple(nodes(read(name)))


@functools.cache
def imports_of(name: str) -> tuple[Import, ...]:
    return tuple(_imports_of(name))


def _imports_of(name: str) -> Iterator[Import]:
    package = name if name in ROOMS else name.rpartition(".")[0]
    for node, deferred, typing in nodes_of(name):
        place = f"ufunc_magic/{MODULES[name].relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, (), False, place, deferred, typing)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield Import(name, node.module or "", tuple(a.name for a in node.names), False, place, deferred, typing)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package not in ("", "__init__") else []
            base = ".".join([*parts[: len(parts) - (node.level - 1)], *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".strip(".")
                target, names = (inner, ()) if inner in MODULES else (base or "__init__", (alias.name,))
                yield Import(name, target, names, True, f"{place}: {target} {' '.join(names)}", deferred, typing)


def room_of(name: str) -> str:
    """The room that a module stands in: its own folder; "" for the files at the root."""
    return name if name in ROOMS else name.rpartition(".")[0]


def top(name: str) -> str:
    """The room or file at the root that a module belongs to."""
    return name.partition(".")[0]


def within(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def foreign(edge: Import) -> bool:
    """Whether an import goes to another room, neither the importer's own nor one around it."""
    return edge.ours and not f"{room_of(edge.importer)}.".startswith(f"{room_of(edge.target)}.")


def reachable(starts: tuple[str, ...], *, deferred: bool) -> set[str]:
    """Modules of ours that importing ``starts`` can load; lazy names of a room count with who asks for them."""
    loaded: set[str] = set()
    waiting = [name for name in starts if name in MODULES]
    while waiting:
        name = waiting.pop()
        if name in loaded:
            continue
        loaded.add(name)
        for edge in imports_of(name):
            if not edge.ours or edge.typing or (edge.deferred and not deferred):
                continue
            waiting.append(edge.target)
            waiting += [home(edge.target, each) for each in edge.names if home(edge.target, each)]
    return loaded


@functools.cache
def lazy_table(room: str) -> dict[str, str]:
    """Name -> the file that defines it, as the stub of a room lists it."""
    return {name: f"{room}.{file}" for file, names in stub_of(room) for name in names}


def stub_of(room: str) -> Iterator[tuple[str, list[str]]]:
    """File -> its names, as ``lazy_loader`` reads them from a room's ``__init__.pyi``; a room without one is eager."""
    stub = MODULES[room].with_suffix(".pyi")
    for node in ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else ():
        assert isinstance(node, ast.ImportFrom), f"{stub}:{node.lineno}: a stub lists names of the room's files"
        assert (node.level, [a.name for a in node.names]) == (1, [a.asname for a in node.names]), (
            f"{stub}:{node.lineno}"
        )
        yield node.module or "", [alias.name for alias in node.names]


@functools.cache
def definitions_of(name: str) -> frozenset[str]:
    """The names that a module binds at its top level."""
    names: set[str] = set()
    for node, deferred, _ in nodes_of(name):
        match node:
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                names.add(word)
            case ast.Name(id=word, ctx=ast.Store()) if not deferred:
                names.add(word)
            case ast.ImportFrom(names=aliases) if not deferred:
                names.update(alias.asname or alias.name for alias in aliases)
    return frozenset(names)


def home(room: str, name: str) -> str:
    return lazy_table(room).get(name, "") if room in ROOMS else ""


# -- 1: rooms -----------------------------------------------------------------------------------


def test_every_room_has_its_place() -> None:
    assert sorted({top(name) for name in LAYERED} - DEPTH.keys()) == []


def test_imports_point_down() -> None:
    edges = [e for name in LAYERED for e in imports_of(name) if e.ours and top(e.target) not in (top(name), "__init__")]
    assert [e.place for e in edges if DEPTH[top(e.target)] <= DEPTH[top(e.importer)]] == []


def test_a_room_is_imported_through_its_own_names() -> None:
    edges = [edge for name in LAYERED for edge in imports_of(name) if foreign(edge) and top(edge.target) != "__init__"]
    # A room itself may be imported; a file of it may not, unless the file is at the root.  The helper is a program of
    # its own, which cannot import what lists names; the guard around it reads its messages.
    program = [e for e in edges if within(e.target, ("guard.helper",)) and room_of(e.importer) == "guard"]
    assert [e.place for e in edges if e.target not in ROOMS and "." in e.target and e not in program] == []


def test_there_are_no_circles() -> None:
    """Also not inside of a room, inside of functions or for type checkers; a room's ``__init__`` only lists names."""
    left = {name: {e.target for e in imports_of(name) if e.ours} - {name} for name in MODULES if name not in ROOMS}
    for name, targets in left.items():
        for edge in imports_of(name):
            targets |= {home(edge.target, each) for each in edge.names if edge.ours and home(edge.target, each)}
        left[name] = targets & left.keys() - {name}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == [], "these import each other in a circle"


def test_rooms_need_each_other_in_one_direction() -> None:
    """A room is the files of one folder: one inside of another is a room of its own.  ``__init__`` only lists names."""
    needs: dict[str, set[str]] = {room: set() for room in ROOMS}
    places: dict[tuple[str, str], str] = {}
    for name in MODULES:
        room = room_of(name)
        if name in ROOMS or not room:
            continue
        for edge in imports_of(name):
            # A name of a room that another room defines (``from ..languages import c``) is the inner room's.
            target = room_of(edge.target) if edge.ours else ""
            if target and target != room:
                needs[room].add(target)
                places[room, target] = edge.place
    left = {room: {other for other in others if other in ROOMS} for room, others in needs.items()}
    while free := [room for room, others in left.items() if not others & left.keys()]:
        for room in free:
            del left[room]
    assert [places[room, other] for room in left for other in left[room] & left.keys()] == []


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_with_a_stub_loads_its_names_from_it(room: str) -> None:
    if not lazy_table(room):
        return
    statements = [ast.unparse(node) for node in read(room).body[1:]]
    attach = "__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)"
    assert statements == ["import lazy_loader", attach]
    defined = {file: definitions_of(file) for file in set(lazy_table(room).values()) if file not in ROOMS}
    assert {name: file for name, file in lazy_table(room).items() if name not in defined.get(file, {name})} == {}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_file_hides_a_name_of_its_room(room: str) -> None:
    files = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == room}
    assert sorted(files & lazy_table(room).keys()) == []


def test_a_file_name_occurs_once() -> None:
    counted = Counter(path.stem for path in MODULES.values() if not path.stem.startswith("_"))
    assert [name for name, number in counted.items() if number > 1] == []


def test_a_class_name_occurs_once() -> None:
    classes = Counter(
        node.name
        for name in MODULES
        for node in read(name).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, number in classes.items() if number > 1] == []


def test_few_files_stand_at_the_root() -> None:
    assert len([name for name in MODULES if "." not in name and name not in ROOMS]) <= 5


def test_module_opens_with_one_sentence() -> None:
    openings = {name: (ast.get_docstring(read(name)) or "").split("\n\n")[0].rstrip() for name in MODULES}
    assert [name for name, text in openings.items() if not text.endswith((".", ":"))] == []


def test_the_text_of_c_is_read_by_few_patterns() -> None:
    """A new pattern reads once more a fact that is in the IR, in the tree of C or in Cython's analysed tree."""
    calls = [
        name
        for name in MODULES
        if within(name, ("languages.c", "languages.cython"))
        for node in ast.walk(read(name))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
    ]
    assert len(calls) <= 85, Counter(calls)


# -- a language outside of its room

#: A device's language: nothing outside of its room names it, nor what belongs to it.
DEVICE_LANGUAGE = re.compile("cuda|nvrtc|gpu", re.IGNORECASE)

#: But for these files: the tables of languages and options, what users call, and what other people's libraries call it.
NAMES_IT = {
    "model.languages": "the table of languages",
    "model.options": "the table of options",
    "__init__": "compile_cuda",
    "api": "compile_cuda",
    "notebook.magics": "%%cuda_device",
    "languages": "the list of rooms",
    "interop": "__cuda_array_interface__",
    "interop.arrays.pointers": "asarray(device='cuda'), __cuda_array_interface__",
    "interop.arrays.capsules": "asarray(device='cuda')",
    "interop.arrays.memory": "asarray(device='cuda'), __cuda_array_interface__",
    "bench.candidates": "functions over CuPy's arrays",
    "render.tables": "Row.kind == 'gpu'",
    "compilers.doctor": "tree-sitter-cuda, whose grammar reads C++",
    "languages.c.c_tree": "tree-sitter-cuda, whose grammar reads C++",
    "cells.operands": "cuda::std::complex",
    "cells.language": "DeviceTime.kind == 'gpu'",
}


def test_a_language_is_named_in_its_room_alone() -> None:
    files = [(name, path) for name, path in MODULES.items() if not within(name, ("languages.cuda",))]
    files += [(name, stub) for name, path in files if (stub := path.with_suffix(".pyi")).exists()]
    named = {name for name, path in files if DEVICE_LANGUAGE.search(path.read_text(encoding="utf-8"))}
    assert sorted(named - NAMES_IT.keys()) == [], "ask the language, or write it in its own room"
    assert sorted(NAMES_IT.keys() - named) == [], "these name it no more"
    templates = [path for path in (ROOT / "templates").rglob("*") if path.is_file()]
    assert [p.name for p in templates if DEVICE_LANGUAGE.search(p.read_text(encoding="utf-8"))] == []


def test_rooms_are_named_as_text_where_a_table_has_them() -> None:
    """No import statement shows what ``import_module`` of such a name reaches, so few files may do that."""
    callers = {
        name
        for name in MODULES
        for node, _, _ in nodes_of(name)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
    }
    assert callers == IMPORTERS_OF_TEXT


# -- 2, 3: what is reached, and what is light ----------------------------------------------------


def test_a_worker_reaches_nothing_that_compiles() -> None:
    edges = [e for name in LAYERED if within(name, (*WORKER, "serialize")) for e in imports_of(name)]
    assert [e.place for e in edges if e.ours and within(e.target, NEEDS_A_COMPILER)] == []
    assert [e.place for e in edges if not e.ours and e.target.partition(".")[0] == "IPython"] == []


def test_the_helper_is_a_program_of_the_standard_library() -> None:
    files = [name for name in MODULES if within(name, ("guard.helper",))]
    assert [
        e.place for name in files for e in imports_of(name) if e.ours and not within(e.target, ("guard.helper",))
    ] == []
    others = [e for name in files for e in imports_of(name) if not e.ours]
    assert [e.place for e in others if e.target.partition(".")[0] not in sys.stdlib_module_names] == []


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import ufunc_magic, ufunc_magic.notebook.magics", "numba Cython cupy matplotlib dask tree_sitter cffi"),
        ("import ufunc_magic.pipeline", "numba Cython cupy matplotlib dask tree_sitter IPython"),
        ("import ufunc_magic.serialize", "numba Cython cupy matplotlib dask tree_sitter IPython subprocess"),
    ],
)
def test_import_is_light(statement: str, heavy: str) -> None:
    code = f"import sys; {statement}; print(*set({heavy.split()!r}) & set(sys.modules))"
    done = run_python(code)
    # IPython imports Matplotlib's and subprocess's parts by itself in some versions: only what is asked for counts.
    assert done.stdout.split() == []


# -- 4: doors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("package", sorted(DOORS))
def test_a_package_has_its_door(package: str) -> None:
    users = [e for name in LAYERED for e in imports_of(name) if not e.ours and e.target.partition(".")[0] == package]
    assert [e.place for e in users if not within(e.importer, DOORS[package]) and not e.typing] == []


@pytest.mark.parametrize("function", sorted(CALLS))
def test_a_call_has_its_door(function: str) -> None:
    wrong = []
    for name in MODULES:
        for node, _, _ in nodes_of(name):
            called = node.func if isinstance(node, ast.Call) else None
            word = getattr(called, "attr", getattr(called, "id", ""))
            if word == function and not within(name, CALLS[function]):
                wrong.append(f"ufunc_magic/{MODULES[name].relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    assert wrong == []


def test_a_pure_room_imports_nothing_of_the_machine() -> None:
    edges = [e for name in LAYERED if within(name, PURE) for e in imports_of(name) if not e.ours]
    impure = [e for e in edges if e.target.partition(".")[0] in MACHINE]
    assert [e.place for e in impure if (e.importer, e.target) not in SAVING] == []


def test_only_the_store_opens_files_to_write() -> None:
    wrong = []
    for name in MODULES:
        for node, _, _ in nodes_of(name) if not within(name, ("store",)) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "open":
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                modes = [str(v.value) for v in values if isinstance(v, ast.Constant) and len(str(v.value)) <= 3]
                wrong += [f"{name}:{node.lineno}: {m!r}" for m in modes if m[:1] in "wxa" or "+" in m]
    assert wrong == []


# -- 6, 7, 8: state, private names, exceptions ---------------------------------------------------


def test_nothing_is_hung_into_a_dict() -> None:
    """``x.__dict__[...] = y`` and ``vars(x)[...] = y``: a value's fields are declared."""
    stores = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name in MODULES
        for node, _, _ in nodes_of(name)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value).endswith(("__dict__", "vars(self)"))
    ]
    assert stores == []


#: Private names of others are used through a room's ``_private``; this is how an import of one looks.
OTHERS = frozenset("numpy numba llvmlite Cython IPython cupy cuda".split())


def private_names(name: str) -> Iterator[str]:
    """Where a module names a private part of somebody else's package, in an import or as text to import."""
    for edge in imports_of(name):
        parts = edge.target.split(".")
        private = any(p.startswith("_") and not p.startswith("__") for p in (*parts[1:], *edge.names))
        if not edge.ours and parts[0] in OTHERS and private:
            yield f"{edge.place}: {edge.target} {' '.join(edge.names)}"
    for node, _, _ in nodes_of(name):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            first, *rest = node.value.split(".")
            if first in OTHERS and any(part.startswith("_") for part in rest):
                yield f"{name}:{node.lineno}: {node.value!r}"


def test_private_names_of_others_stand_in_one_file() -> None:
    assert [text for name in MODULES if not name.endswith("_private") for text in private_names(name)] == []


def test_no_bare_or_blanket_except() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name in MODULES
        for node, _, _ in nodes_of(name)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert wrong == []


# -- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", sorted({top(name) for name in MODULES}))
def test_names_say_what_a_thing_is(room: str) -> None:
    """No variable, parameter, field or function is called ``made``, ``found`` or ``told``."""
    wrong = []
    for name in (name for name in MODULES if top(name) == room):
        for node, _, _ in nodes_of(name):
            match node:
                case ast.Name(id=word, ctx=ast.Store()) | ast.arg(arg=word) | ast.FunctionDef(name=word):
                    if word.lstrip("_").lower() in EMPTY_WORDS:
                        wrong.append(f"{name}:{node.lineno}: {word}")
    assert wrong == []
