"""Cython's own test suite through %%cython and through %%cython_ufunc: which doctests still pass.

    python benchmarks/cython_suite.py                          every file, about half an hour on two cores
    python benchmarks/cython_suite.py --files 40               forty of them, spread over all
    python benchmarks/cython_suite.py --only "cpdef|division"  those whose name has it
    python benchmarks/cython_suite.py --rows FILE --minutes 3  a piece; the same command goes on after it

The sdist of the installed Cython comes from PyPI when this runs and is kept in a temporary folder.  Its files are taken
that are one module each: no .srctree, no .pxd of their own, no import of a companion.  Each is compiled as the cell of
each magic is (with -2, as Cython's own runner does), in a process of its own, and its doctests run with the names that
the cell would have bound.  Only those count that pass with plain Cython.  What plain Cython did is kept, so a second
run takes half as long.  The result goes to benchmarks/results/cython_suite.json, and as a table to docs/cython.md.
"""

from __future__ import annotations

import argparse
import doctest
import importlib.metadata
import json
import math
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = importlib.metadata.version("cython")
FOLDER = Path(os.environ.get("UFUNC_MAGIC_SUITE", Path(tempfile.gettempdir()) / "ufunc-magic-cython-suite"))
RESULTS = Path(__file__).parent / "results" / "cython_suite.json"
INDEX = "https://pypi.org/simple/cython/"
PAGE = Path(__file__).parents[1] / "docs" / "cython.md"
PARTS = "tests/run", "tests/memoryview", "tests/buffers"
#: Seconds for one file.
LIMIT = 300

#: Tags and modes of Cython's test runner that ask for more than a compiler, NumPy and one module.
_ELSEWHERE = re.compile(r"^#\s*(?:tag|mode):.*\b(external|pstats|gdb|coverage|trace|error|compile|cppcoverage)\b", re.M)
_COMPANION = re.compile(r"^\s*(?:from|cimport)\s+\.", re.M)


#: Why a file may differ.
REASONS = {
    "run/annotate_html.pyx": "asks for the name of the module's file, and a cell's module is opened from memory",
    "run/mod__spec__.pyx": "wants the module's file to be called as the module is, and it is opened from memory",
    "run/tracebacks.pyx": "asks for the name of the .pyx file in a traceback, where the cell's name stands",
    "run/ufunc.pyx": "a function with `@cython.ufunc` is our ufunc, whose docstring ends otherwise, and a `float` one "
    "takes a single Python number",
}

#: 49,234 generated comparisons, seven times as many as all others together.
_LEFT_OUT = {"__init__", "pycmp_typed"}


def fetch() -> Path:
    """The folder of the sdist of the installed version."""
    target = FOLDER / f"cython-{VERSION}"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        headers = {"Accept": "application/vnd.pypi.simple.v1+json"}
        with urllib.request.urlopen(urllib.request.Request(INDEX, headers=headers), timeout=60) as page:
            files = json.load(page)["files"]
        url = next(f["url"] for f in files if f["filename"].lower() == f"cython-{VERSION}.tar.gz")
        with urllib.request.urlopen(url, timeout=300) as data, tarfile.open(fileobj=data, mode="r|gz") as tar:
            tar.extractall(FOLDER, filter="data")
    return target


def single_modules(root: Path) -> Iterator[Path]:
    """The test files that are one module each."""
    for part in PARTS:
        for path in sorted((root / part).iterdir()):
            if path.suffix not in (".pyx", ".py") or path.stem in _LEFT_OUT:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            head = text[: text.find("\n\n")] if "\n\n" in text else text
            if _ELSEWHERE.search(head) or _COMPANION.search(text) or ">>>" not in text:
                continue
            beside = {p.suffix for p in path.parent.glob(f"{path.stem}.*")}
            if beside & {".pxd", ".srctree"} or (path.suffix == ".py" and ".pyx" in beside):
                continue
            own = {p.stem for p in path.parent.iterdir() if p.suffix in (".pxd", ".pyx", ".py")}
            drawn = re.findall(r"^\s*(?:from|cimport|import)\s+(\w+)", text, re.M)
            if not own.isdisjoint(set(drawn) - {"cython", "libc", "libcpp", "cpython", path.stem}):
                continue
            yield path


# ----------------------------------------------------------------------------------- one file, one way


def compile_plain(path: Path, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The module as %%cython makes it, and the names that it binds."""
    import importlib.util
    import sysconfig

    import numpy as np
    from Cython.Compiler.Main import CompilationOptions, compile_single
    from Cython.Compiler.Options import default_options

    source = path.read_text(encoding="utf-8")
    name, cplus = f"plain_{path.stem}", is_cplus(source)
    text, library = folder / f"{name}.pyx", folder / f"{name}.so"
    text.write_text(source, encoding="utf-8")
    options = CompilationOptions(
        default_options,
        language_level=2,
        cplus=cplus,
        include_path=[str(path.parent)],
        output_file=str(folder / "c.cpp" if cplus else folder / "c.c"),
    )
    result = compile_single(str(text), options, full_module_name=name)
    if not result.c_file:
        raise SyntaxError("Cython refuses it")
    folders = [sysconfig.get_path("include"), np.get_include(), str(path.parent)]
    command = ["g++" if cplus else "gcc", "-shared", "-fPIC", "-w", "-O0", "-fwrapv", "-fno-strict-aliasing"]
    command += [*(f"-I{f}" for f in folders), result.c_file, "-o", str(library), "-lm"]
    if "openmp" in source:
        command.append("-fopenmp")
    subprocess.run(command, check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module, dict(vars(module))


def compile_ours(path: Path, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The module of a cell of %%cython_ufunc, and the names that it binds over the module's."""
    import ufunc_magic as um

    source = path.read_text(encoding="utf-8")
    built = um.compile_cython(
        source, cplus=is_cplus(source), language_level=2, include=[str(path.parent)], name=f"ours_{path.stem}"
    )
    return built.loaded.module, {**vars(built.loaded.module), **built}


def is_cplus(source: str) -> bool:
    return bool(re.search(r"^#\s*(?:tag:.*\bcpp|distutils:\s*language\s*=\s*c\+\+)", source, re.M))


@dataclass
class Examples(doctest.DocTestRunner):
    """Runs doctests and keeps, by test and line, what became of each example."""

    results: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)

    def report_start(self, *_: Any) -> None: ...

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        self._note(test, example, "")

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        self._note(test, example, f"{example.source.strip()}\n  wants {example.want.strip()}\n  got   {got.strip()}")

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        raised = f"{exc_info[0].__name__}: {exc_info[1]}"
        self._note(test, example, f"{example.source.strip()}\n  wants {example.want.strip()}\n  got   {raised}")

    def _note(self, test: Any, example: Any, fault: str) -> None:
        name = _place_of(re.sub(r"^(?:plain|ours)_", "", test.name))
        self.results[f"{name}:{test.examples.index(example)}"] = fault


def child(way: str, path: Path) -> None:
    """Run one file one way; the last line of the output is the result."""
    result: dict[str, Any] = {"compiled": False, "fault": "", "examples": {}}
    with tempfile.TemporaryDirectory(prefix="ufunc-magic-suite-") as folder:
        os.chdir(folder)
        try:
            module, names = (compile_plain if way == "plain" else compile_ours)(path, Path(folder))
            result["compiled"] = True
        except BaseException as fault:  # noqa: BLE001 - whatever a file raises is its result
            result["fault"] = f"{type(fault).__name__}: {fault}"[:2000]
            module, names = None, {}
        runner = Examples()
        # A docstring is found at its function and in __test__.
        # Classes are found in the module that is imported by name, which has functions that take arrays.
        modules = [m for m in (module and sys.modules.get(module.__name__), module) if m]
        found = (test for m in modules for test in doctest.DocTestFinder().find(m))
        for test in {(_place_of(test.name), test.docstring): test for test in found}.values():
            test.globs = dict(names)
            runner.run(test, out=lambda _: None, clear_globs=False)
        result["examples"] = runner.results
    sys.__stdout__.write(f"\n{json.dumps(result)}\n")
    sys.__stdout__.flush()
    os._exit(0)


# --------------------------------------------------------------------------------------- all files


def run(way: str, path: Path, *, fresh: bool) -> dict[str, Any]:
    """The result of one file one way; plain Cython's is kept."""
    stored = (
        FOLDER / f"plain-{VERSION}-{sys.version_info[0]}.{sys.version_info[1]}" / f"{path.parent.name}-{path.name}.json"
    )
    if way == "plain" and not fresh and stored.exists():
        return json.loads(stored.read_text(encoding="utf-8"))
    command = [sys.executable, "-X", "faulthandler", __file__, "--child", way, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=LIMIT)
        last = output.strip().rpartition("\n")[2]
        result = json.loads(last) if process.returncode == 0 else {}
        ended = f"ended with {process.returncode}: {errors.strip()[-1500:]}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        result, ended = {}, f"took more than {LIMIT} s"
    result = result or {"compiled": False, "fault": ended, "examples": {}}
    if way == "plain":
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(result), encoding="utf-8")
    return result


def _place_of(example: str) -> str:
    return re.sub(r"\.__test__\.(.+) \(line \d+\)", r".\1", example)


def compare(path: Path, *, fresh: bool) -> dict[str, Any]:
    """What a file's doctests do both ways."""
    plain = run("plain", path, fresh=fresh)
    passing = sorted(name for name, fault in plain["examples"].items() if not fault)
    row: dict[str, Any] = {
        "file": f"{path.parent.name}/{path.name}",
        "examples": len(plain["examples"]),
        "plain": len(passing),
        "ours": 0,
        "fault": "",
        "differs": {},
    }
    if not passing:
        return row
    ours = run("ours", path, fresh=True)
    row["fault"] = "" if ours["compiled"] else ours["fault"]
    # The same docstring may be found at its function or in __test__.
    found = {_place_of(name): fault for name, fault in ours["examples"].items()}
    row["differs"] = {n: fault for n in passing if (fault := found.get(_place_of(n), "was not run"))}
    row["ours"] = len(passing) - len(row["differs"])
    return row


def chosen(paths: Iterable[Path], *, only: str, files: int) -> list[Path]:
    paths = [p for p in paths if re.search(only, str(p.relative_to(p.parents[1])))]
    return paths if not files or files >= len(paths) else [paths[k * len(paths) // files] for k in range(files)]


def summary(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The table's numbers; only files with a doctest that passes with plain Cython count."""
    rows = [row for row in rows if row["plain"]]
    return {
        "files with doctests that pass with %%cython": len(rows),
        "of those, without a difference with %%cython_ufunc": sum(not row["differs"] for row in rows),
        "files that do not compile": sum(bool(row["fault"]) for row in rows),
        "doctests that pass with %%cython": sum(row["plain"] for row in rows),
        "of those, with %%cython_ufunc": sum(row["ours"] for row in rows),
    }


def table(rows: list[dict[str, Any]], total: int) -> str:
    """The result as the page has it: numbers, then each file that differs with the reason."""
    lines = ["| | |", "|---|---|", f"| files of one module that were run | {len(rows)} of {total} |"]
    lines += [f"| {name} | {number:,} |" for name, number in summary(rows).items()]
    differing = [row for row in rows if row["differs"]]
    if differing:
        lines += ["", "| file | doctests | why |", "|---|---|---|"]
        for row in differing:
            why = REASONS.get(row["file"], "**not known**")
            lines.append(f"| {row['file']} | {row['ours']} of {row['plain']} | {why} |")
    return "\n".join(lines)


def write(rows: list[dict[str, Any]]) -> None:
    """Put the result into the results and the page."""
    rows = sorted(rows, key=lambda row: row["file"])
    total = sum(1 for _ in single_modules(fetch()))
    differing = [row for row in rows if row["differs"]]
    RESULTS.write_text(
        json.dumps(
            {"cython": VERSION, "run": len(rows), "of": total, **summary(rows), "differing": differing}, indent=1
        )
        + "\n"
    )
    marks = [f"<!-- {word} of benchmarks/cython_suite.py -->" for word in ("start", "end")]
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(marks[0])
    after = rest.split(marks[1])[1]
    PAGE.write_text(f"{before}{marks[0]}\n\n{table(rows, total)}\n\n{marks[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="a regular expression for names of files")
    parser.add_argument("--files", type=int, default=0, help="so many of them, spread over all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--fresh", action="store_true", help="compile with plain Cython again, too")
    parser.add_argument(
        "--rows", type=Path, help="a file to which each file's row is added; those in it are not run again"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no file later; `--rows` goes on")
    parser.add_argument("--verbose", action="store_true", help="show every doctest that differs")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
    # An empty cache: what is measured is what this version compiles.
    os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-suite-cache-")
    paths = chosen(single_modules(fetch()), only=arguments.only, files=arguments.files)
    rows = []
    if arguments.rows and arguments.rows.exists():
        rows = [json.loads(line) for line in arguments.rows.read_text(encoding="utf-8").splitlines()]
    done = {row["file"] for row in rows}
    paths = [path for path in paths if f"{path.parent.name}/{path.name}" not in done]
    end = time.monotonic() + 60 * arguments.minutes
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda p: compare(p, fresh=arguments.fresh) if time.monotonic() < end else None, paths)
        for row in filter(None, results):
            rows.append(row)
            if arguments.rows:
                with arguments.rows.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(row)}\n")
            if row["differs"]:
                why = f"  {row['fault'].splitlines()[0][:150]}" if row["fault"] else ""
                print(f"{row['file']:50} {row['ours']:5} of {row['plain']:5}{why}", flush=True)
            for name, fault in row["differs"].items() if arguments.verbose and not row["fault"] else ():
                print("   ", name, "\n     ", fault.replace("\n", "\n      "))
    print()
    for name, number in summary(rows).items():
        print(f"{name:40} {number:6,}")
    if not arguments.only and time.monotonic() < end:
        write(rows)


if __name__ == "__main__":
    main()
