"""The layers and the owners of docs/architecture.md, read from the source of every module."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "ufunc_magic"

#: Top to bottom; a module imports only from lines below its own.
LINES: tuple[tuple[str, ...], ...] = (
    ("magics", "__main__", "gpucheck"),
    ("completion", "capture", "names"),
    ("exchange", "cheader"),
    ("build",),
    ("backends.c", "backends.cuda", "backends.cython", "compare", "interop"),
    ("serialize",),
    ("built",),
    ("backends.native",),
    ("backends",),
    ("guard", "show"),
    ("loader", "ufunc", "foreign", "relocatable", "doctor", "device"),
    ("nvrtc",),
    ("cache", "codegen", "pyloop", "toolchain"),
    ("operands", "report", "elfnames", "prototypes"),
    ("cparse",),
    ("objectcode", "arguments", "raising"),
    ("options", "signature", "progress"),
    ("errors", "kept"),
)

#: Single modules that stand on the line of another, may import each other, and only in one direction.  A
#: package's modules stand on its line by themselves.
FAMILIES: dict[str, tuple[str, ...]] = {
    "toolchain": ("compilers", "description", "diagnostics", "hints", "includes", "processes", "translated"),
    "cache": ("entries", "folders", "sealed"),
    "loader": ("clibrary",),
}

#: What only some modules may import, and which.
OWNERS: dict[str, frozenset[str]] = {
    "IPython": frozenset({"magics", "completion"}),
    "wurlitzer": frozenset({"capture"}),
    "subprocess": frozenset({"toolchain", "guard.process"}),
    "multiprocessing": frozenset(),
    "ctypes": frozenset(
        "loader ufunc foreign guard device interop.cudalent interop.address interop.capsules interop.memory "
        "interop.pointers".split()
    ),
    "cffi": frozenset({"foreign"}),
    "time": frozenset({"compare", "build", "guard.helper", "guard.probe", "guard.record"}),
    "timeit": frozenset(),
    "tempfile": frozenset({"cache"}),
    "platformdirs": frozenset({"cache"}),
    "tree_sitter": frozenset({"cparse", "pyloop"}),
    "tree_sitter_c": frozenset({"cparse", "pyloop"}),
    "tree_sitter_cuda": frozenset({"cparse", "pyloop"}),
    "copyreg": frozenset({"serialize"}),
    "numba": frozenset({"interop"}),
    "llvmlite": frozenset({"interop", "relocatable"}),
    "Cython": frozenset({"backends.cython"}),
    "cupy": frozenset({"device"}),
    "cuda": frozenset({"nvrtc"}),
    "torch": frozenset(),
    "dask": frozenset(),
    "matplotlib": frozenset(),
    "pandas": frozenset(),
}

#: Calls that write files or print, and the modules that may make them.
CALLS: dict[str, frozenset[str]] = {
    "print": frozenset({"__main__", "gpucheck.__main__"}),
    # Files that the user names himself.
    "write_text": frozenset({"cache", "gpucheck.__main__", "cheader"}),
    "write_bytes": frozenset({"cache", "cheader"}),
    "mkdir": frozenset({"cache"}),
    "unlink": frozenset({"cache"}),
    "rmtree": frozenset({"cache"}),
    "replace_file": frozenset({"cache"}),
    "perf_counter": frozenset({"compare", "build"}),
    "perf_counter_ns": frozenset({"compare", "build"}),
    "CDLL": frozenset("loader clibrary ufunc foreign guard.probe guard.server guard.rooms interop.cudalent".split()),
    "dlopen": frozenset({"loader", "ufunc", "foreign"}),
}

#: Text and values in, text and values out; their families too.
PURE = frozenset(
    "errors kept signature options arguments names objectcode codegen operands cparse pyloop report prototypes".split()
)
#: Pure ones of an impure family.
PURE_TOO = frozenset(
    "compare.agreement compare.samples compare.returned hints diagnostics translated nvrtc.log nvrtc.advice "
    "nvrtc.shims guard.inputs show.assembly show.hot show.generated show.annotated show.remarks progress "
    "compare.roofline compare.work compare.translate compare.difference compare.sizes".split()
)
#: What no pure module imports: the file system, the process, the network, the machine.
IMPURE = frozenset("os pathlib shutil io tempfile socket subprocess ctypes time threading platform sys random".split())


@dataclass(frozen=True)
class Import:
    """One imported module, ours (``".signature"`` -> ``ufunc_magic.signature``) or another's."""

    importer: str
    target: str
    place: str
    deferred: bool

    @property
    def ours(self) -> str:
        """Name inside the package, or ``""``."""
        return self.target.removeprefix("ufunc_magic.") if self.target.startswith("ufunc_magic.") else ""

    @property
    def top(self) -> str:
        return self.target.partition(".")[0]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def read(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def nodes(tree: ast.AST, deferred: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every node with whether it stands inside a function; blocks for type checkers left out."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child, deferred
        yield from nodes(child, deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def imports_of(name: str) -> Iterator[Import]:
    """What ``name`` imports when it runs, at its top or later."""
    lines = MODULES[name].read_text(encoding="utf-8").splitlines()
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node, deferred in nodes(read(name)):
        place = f"ufunc_magic/{MODULES[name].relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            place += f": {lines[node.lineno - 1].strip()}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, place, deferred)
        elif isinstance(node, ast.ImportFrom):
            for target in _targets(node, package):
                yield Import(name, target, place, deferred)


def _targets(node: ast.ImportFrom, package: str) -> Iterator[str]:
    if node.level == 0:
        yield node.module or ""
        return
    parts = package.split(".") if package not in ("", "__init__") else []
    parts = parts[: len(parts) - (node.level - 1)]
    base = ".".join([*parts, *(node.module or "").split(".")]).strip(".")
    for alias in node.names:
        inner = f"{base}.{alias.name}".strip(".")
        yield f"ufunc_magic.{inner if inner in MODULES else base}"


GRAPH = {name: tuple(imports_of(name)) for name in MODULES}
LAYERED = [name for name in MODULES if name != "__init__"]
HEAD = {member: head for head, members in FAMILIES.items() for member in members}
DEPTH = {head: depth for depth, line in enumerate(LINES) for head in line}


def head(name: str) -> str:
    """The module or package that stands in ``LINES`` for ``name``."""
    package, _, rest = name.partition(".")
    if package == "backends":
        return ".".join(name.split(".")[:2])
    return package if rest else HEAD.get(name, name)


def reachable(start: str, *, deferred: bool) -> dict[str, Import]:
    """Modules of ours that importing ``start`` loads, each with the import that does it."""
    found: dict[str, Import] = {}
    waiting = [start]
    while waiting:
        for edge in GRAPH[waiting.pop()]:
            if edge.ours in MODULES and edge.ours not in found and (deferred or not edge.deferred):
                found[edge.ours] = edge
                waiting.append(edge.ours)
    return found


def test_every_module_has_a_line() -> None:
    assert [name for name in LAYERED if head(name) not in DEPTH] == []


def test_every_name_in_the_tables_is_a_module() -> None:
    listed = {*DEPTH, *HEAD, *PURE, *PURE_TOO}
    assert sorted(listed - MODULES.keys()) == []


@pytest.mark.parametrize("name", LAYERED)
def test_module_imports_only_from_lines_below(name: str) -> None:
    others = [edge for edge in GRAPH[name] if edge.ours and head(edge.ours) != head(name)]
    depth = DEPTH[head(name)]
    assert [f"{e.place}  ({e.ours} is not below {name})" for e in others if DEPTH[head(e.ours)] <= depth] == []


@pytest.mark.parametrize("family", sorted({head(name) for name in LAYERED if head(name) != name}))
def test_modules_of_a_family_import_each_other_in_one_direction(family: str) -> None:
    left = {name: {e.ours for e in GRAPH[name] if head(e.ours) == family} for name in LAYERED if head(name) == family}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == [], "these import each other in a circle"


@pytest.mark.parametrize("package", sorted(OWNERS))
def test_import_has_its_owner(package: str) -> None:
    users = [edge for name in LAYERED for edge in GRAPH[name] if edge.top == package]
    owners = OWNERS[package]
    assert [e.place for e in users if e.importer not in owners and head(e.importer) not in owners] == []


@pytest.mark.parametrize("function", sorted(CALLS))
def test_call_has_its_owner(function: str) -> None:
    wrong = []
    for name in MODULES:
        for node, _ in nodes(read(name)):
            called = node.func if isinstance(node, ast.Call) else None
            word = getattr(called, "attr", getattr(called, "id", ""))
            if word == function and name not in CALLS[function] and head(name) not in CALLS[function]:
                wrong.append(f"ufunc_magic/{MODULES[name].relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {function}(")
    assert wrong == []


@pytest.mark.parametrize("name", sorted(name for name in MODULES if HEAD.get(name, name) != "cache"))
def test_only_cache_opens_files_to_write(name: str) -> None:
    calls = [node for node, _ in nodes(read(name)) if isinstance(node, ast.Call)]
    opens = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "open"]
    modes = [(call.lineno, str(ast.literal_eval(arg))) for call in opens for arg in literals(call)]
    assert [f"{name}:{line}: open({mode!r})" for line, mode in modes if mode[:1] in set("wxa") or "+" in mode] == []


def literals(call: ast.Call) -> list[ast.Constant]:
    """Constant arguments short enough to be a file mode."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [v for v in values if isinstance(v, ast.Constant) and len(str(v.value)) <= 3]


@pytest.mark.parametrize("name", [n for n in LAYERED if head(n) in PURE or n in PURE_TOO])
def test_pure_module_imports_nothing_of_the_machine(name: str) -> None:
    assert [edge.place for edge in GRAPH[name] if edge.top in IMPURE] == []


@pytest.mark.parametrize("name", [name for name in LAYERED if name.startswith("backends.")])
def test_backends_do_not_know_each_other(name: str) -> None:
    apart = {"backends.native", head(name)}
    others = [e for e in GRAPH[name] if e.ours.startswith("backends.") and head(e.ours) not in apart]
    assert [edge.place for edge in others] == []


def test_nothing_that_unpickling_loads_can_compile() -> None:
    chain = reachable("serialize", deferred=True)
    assert [e.place for e in chain.values() if e.ours.startswith(("toolchain", "nvrtc", "backends"))] == []
    assert [e.place for name in chain for e in GRAPH[name] if e.top == "IPython"] == []


def test_helper_process_runs_without_the_package_and_its_dependencies() -> None:
    loaded = reachable("guard.helper", deferred=True)
    assert set(loaded) == {"guard.probe", "guard.record", "guard.rooms", "guard.server"}
    others = [e for name in ("guard.helper", *loaded) for e in GRAPH[name] if not e.ours]
    assert [e.place for e in others if e.top not in sys.stdlib_module_names] == []


def test_no_module_that_the_magics_load_at_once_needs_a_parser_or_a_compiler() -> None:
    assert set(reachable("magics", deferred=False)) == {
        "arguments",
        "capture",
        "completion",
        "errors",
        "names",
        "options",
    }


def test_no_bare_or_blanket_except() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name in MODULES
        for node, _ in nodes(read(name))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_module_opens_with_one_sentence(name: str) -> None:
    doc = ast.get_docstring(read(name)) or ""
    assert doc.split("\n\n")[0].rstrip().endswith((".", ":")), f"{MODULES[name]} has no opening sentence"


def test_reading_a_cell_from_the_cache_imports_no_parser() -> None:
    """Building in a second process: the parser is for cells that are new."""
    code = "import sys, ufunc_magic.build; print(*{'tree_sitter', 'numba', 'Cython', 'IPython'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []
