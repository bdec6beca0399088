"""C and C++ that other people wrote: released sources, file by file into cells, and what became of every function.

    python benchmarks/wild.py             every library, about a quarter of an hour
    python benchmarks/wild.py erfa gsl    some of them; the others keep their rows

ERFA's files call one another, so that its library has to be there (apt-get install liberfa-dev).
Sources come from PyPI and Debian when this runs and are kept in a temporary folder; a library that cannot be fetched
is named and left out, and so is a file that gcc alone does not compile.  Each file is one cell.  A function that became
a ufunc of numbers is called on the same values as the plain C function, compiled from the same file by gcc and called
through ctypes, of C++ where only one function has the name; "wrong" counts functions that differ by more than 1e-9,
relative, where both are finite, and with --strict as well.  The result goes to benchmarks/results/wild.json and into
the table of docs/reliability.md.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("UFUNC_MAGIC_WILD", Path(tempfile.gettempdir()) / "ufunc-magic-wild"))
os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-wild-")

import machine  # noqa: E402
import numpy as np  # noqa: E402

import ufunc_magic as um  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "wild.json"
DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"
DEBIAN = "deb-src http://deb.debian.org/debian bookworm main\n"
#: Values that functions are compared on: small, since most formulas mean something there.
VALUES = np.array([0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 0.1, 7.0, 20.0])

#: What a function returns that never set it: of order 0, once GSL's error handler is off.
UNDEFINED = {"gsl_sf_mathieu_b"}


@dataclass(frozen=True)
class Library:
    """Where the sources are, and what a cell needs to compile one of them."""

    name: str
    fetch: Callable[[], Path]
    files: str
    include: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # compiled along


def pypi(project: str) -> Callable[[], Path]:
    def fetch() -> Path:
        with urllib.request.urlopen(f"https://pypi.org/pypi/{project}/json", timeout=60) as page:
            release = next(u for u in json.load(page)["urls"] if u["packagetype"] == "sdist")
        archive = FOLDER / release["filename"]
        if not archive.exists():
            with urllib.request.urlopen(release["url"], timeout=300) as data:
                archive.write_bytes(data.read())
        return unpacked(archive)

    return fetch


def debian(package: str) -> Callable[[], Path]:
    def fetch() -> Path:
        apt = FOLDER / "apt"
        (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (apt / "src.list").write_text(DEBIAN)
        own = ("sourcelist", "src.list"), ("sourceparts", "-")
        settings = [f"-oDir::Etc::{key}={apt / value if value != '-' else value}" for key, value in own]
        settings += [f"-oDir::State::lists={apt / 'lists'}", f"-oDir::Cache={apt}"]
        if not list(FOLDER.glob(f"{package}_*.orig.tar.*")):
            subprocess.run(["apt-get", *settings, "-qq", "update"], check=True, capture_output=True)
            command = ["apt-get", *settings, "-qq", "source", "--download-only", package]
            subprocess.run(command, check=True, cwd=FOLDER, capture_output=True)
        return unpacked(next(p for p in FOLDER.glob(f"{package}_*.orig.tar.*") if p.suffix != ".asc"))

    return fetch


def unpacked(archive: Path) -> Path:
    folder = FOLDER / archive.name.partition(".tar")[0]
    if not folder.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    return folder


LIBRARIES = [
    Library(
        "gsw",
        pypi("gsw"),
        "*/src/c_gsw/gsw_oceanographic_toolbox.c",
        ("*/src/c_gsw",),
        sources=("*/src/c_gsw/gsw_saar.c",),
    ),
    Library("erfa", pypi("pyerfa"), "*/liberfa/erfa/src/*.c", ("*/liberfa/erfa/src",), {"lib": ["erfa"]}, ("t_erfa",)),
    Library("musl libm", debian("musl"), "*/src/math/*.c", ("*/src/internal", "*/arch/x86_64", "*/arch/generic")),
    Library(
        "gsl specfunc", debian("gsl"), "*/specfunc/*.c", ("*/specfunc", "*"), {"lib": ["gsl", "gslcblas"]}, ("test_",)
    ),
    Library(
        "novas",
        pypi("novas"),
        "*/Cdist/novas.c",
        ("*/Cdist",),
        sources=(
            "*/Cdist/novascon.c",
            "*/Cdist/nutation.c",
            "*/Cdist/solsys1.c",
            "*/Cdist/eph_manager.c",
            "*/Cdist/readeph0.c",
        ),
    ),
    Library("tulip indicators", pypi("tulipy"), "*/libindicators/*.c", ("*/libindicators",)),
    Library(
        "h3",
        pypi("h3"),
        "*/src/h3lib/src/h3lib/lib/*.c",
        ("*/src/h3lib/src/h3lib/include",),
        sources=("*/src/h3lib/src/h3lib/lib/*.c",),
    ),
    # Header files as cells: xsf, which SciPy's special functions are, from CuPy's sources.
    Library(
        "xsf (C++)",
        pypi("cupy"),
        "*/cupy/_core/include/cupy/xsf/**/*.h",
        ("*/cupy/_core/include/cupy", "*/cupy/_core/include/cupy/xsf", "*/cupy/_core/include/cupy/xsf/cephes"),
        {"cplus": True},
    ),
]


@dataclass
class Count:
    """What became of the functions of one library."""

    cells: int = 0
    refused_cells: Counter[str] = field(default_factory=Counter)
    ufuncs: int = 0
    plain: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    wrong: list[str] = field(default_factory=list)


def pasted(library: Library, folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files that are cells, and the options to compile each."""
    include = [str(p) for pattern in library.include for p in sorted(folder.glob(pattern))]
    sources = [str(p) for pattern in library.sources for p in sorted(folder.glob(pattern))]
    for script in folder.glob("*/configure"):  # what its build begins with
        if not (script.parent / "config.log").exists():
            subprocess.run(["sh", "./configure"], cwd=script.parent, check=True, capture_output=True)
            (script.parent / "config.log").touch()
    for template in folder.rglob("*.h.in"):
        if not (header := template.with_suffix("")).exists():
            header.write_text(re.sub(r"@\w+@", "0", template.read_text()))
    for path in sorted(folder.glob(library.files)):
        check = [*compiler(library.options), "-fsyntax-only", "-w", *(f"-I{p}" for p in include), str(path)]
        if not path.name.startswith(library.skip or "\0") and not subprocess.run(check, capture_output=True).returncode:
            others = [source for source in sources if source != str(path)]
            yield path, {"include": include, "src": others, **library.options}


def compiler(options: dict[str, Any]) -> list[str]:
    return ["g++", "-x", "c++", "-std=c++20", "-fkeep-inline-functions"] if options.get("cplus") else ["gcc"]


class ByBaseName:
    """Functions of a C++ library by their names without namespaces, where one function alone has the name."""

    def __init__(self, library: ctypes.CDLL, path: Path) -> None:
        self._library = library
        named = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True).stdout
        symbols = [line.split()[-1] for line in named.splitlines()]
        shown = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True).stdout
        self._symbols: dict[str, list[str]] = {}
        for symbol, text in zip(symbols, shown.splitlines(), strict=True):
            if match := re.match(r"(?:\w+::)*(\w+)\([^()]*\)$", text):
                self._symbols.setdefault(match[1], []).append(symbol)

    def __getattr__(self, name: str) -> Any:
        symbols = self._symbols.get(name, [])
        if len(symbols) != 1:
            raise AttributeError(name)
        return self._library[symbols[0]]


def tried(library: Library) -> Count:
    count = Count()
    folder = library.fetch()
    for path, options in pasted(library, folder):
        count.cells += 1
        text = path.read_text(errors="replace")
        try:
            build = um.compile_c(text, **options)
        except um.UfuncMagicError as fault:
            count.refused_cells[f"{type(fault).__name__}: {first_line(fault)}"] += 1
            continue
        for name, why in getattr(build, "refused", {}).items():
            count.refused[f"{name}: {first_line(why)}"] += 1
        plain, strict = compiled(path, options), None
        for code in build.object_code.functions:
            if code.kind != "ufunc":
                count.plain += 1
                continue
            count.ufuncs += 1
            if code.name in UNDEFINED:
                continue
            answer = compared(build[code.name], code, plain)
            if answer:  # an iteration may end elsewhere when products and sums are contracted
                strict = strict or um.compile_c(text, **options, strict=True)
                answer = compared(strict[code.name], code, plain)
            count.compared += answer is not None
            if answer:
                count.wrong.append(f"{path.name} {answer}")
    return count


def first_line(fault: object) -> str:
    return re.sub(r"In\[\d+\]|<c>|\d+(?=:)", "", str(fault)).strip().partition("\n")[0][:160]


def compiled(path: Path, options: dict[str, Any]) -> Any:
    """The same file as gcc alone makes it; None where it does not."""
    library = FOLDER / f"{path.stem}.so"
    command = [
        *compiler(options),
        "-O1",
        "-ffp-contract=off",
        "-w",
        "-shared",
        "-fPIC",
        str(path),
        "-x",
        "none",
        "-o",
        str(library),
        "-lm",
    ]
    command += [
        *options["src"],
        *(f"-I{p}" for p in options["include"]),
        *(f"-l{lib}" for lib in options.get("lib", ())),
    ]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    try:
        plain = ctypes.CDLL(str(library))
        return ByBaseName(plain, library) if options.get("cplus") else plain
    except OSError:
        return None


C_TYPES = {"d": ctypes.c_double, "f": ctypes.c_float, "i": ctypes.c_int, "l": ctypes.c_long, "I": ctypes.c_uint}


def compared(function: Any, code: Any, plain: Any) -> str | None:
    """ "" where both agree, a text where they do not, None where they were not compared."""
    if not function.types:  # of structures
        return None
    header = re.match(r"[^{;]*?\b(\w+)\s*\(([^)]*)\)", code.source or "", re.S)
    declared_types = header[2] if header else ""
    kind = "d" if "double" in declared_types else "f" if "float" in declared_types else ""
    # Of several loops that of the function whose text is there.
    types = next((t for t in function.types if kind in t), function.types[0])
    chars = types.replace("->", "")
    inputs, outputs = chars[: code.nin], chars[code.nin :]
    if code.core or plain is None or header is None or not set(chars) <= set(C_TYPES) or not hasattr(plain, header[1]):
        return None
    declared = [p for p in header[2].split(",") if p.strip() not in ("", "void")]
    names = [re.sub(r"\W", " ", p).split()[-1] for p in declared]
    pointers = {name for name, p in zip(names, declared, strict=True) if "*" in p or "&" in p}
    if sorted([*code.parameters, *[r for r in code.results if r in names]]) != sorted(names):
        return None
    c = getattr(plain, header[1])
    returned = [k for k, r in enumerate(code.results) if r not in names]
    c.restype = C_TYPES[outputs[returned[0]]] if returned else None
    arguments = [VALUES[(np.arange(10) * (k + 1) + 3 * k) % 10].astype(t) for k, t in enumerate(inputs)]
    with np.errstate(all="ignore"):
        try:
            ours = function(*arguments)
        except Exception as fault:  # noqa: BLE001
            return None if isinstance(fault, um.UfuncMagicError) else f"{code.name}: {fault}"
    ours = tuple(np.broadcast_to(one, 10) for one in (ours if isinstance(ours, tuple) else (ours,)))
    for row in range(10):
        cells = {r: C_TYPES[t](0) for r, t in zip(code.results, outputs, strict=True) if r in names}
        given = {p: C_TYPES[t](a[row].item()) for p, t, a in zip(code.parameters, inputs, arguments, strict=True)}
        passed = {**given, **cells}
        result = c(*(ctypes.byref(passed[n]) if n in pointers else passed[n] for n in names))
        theirs = [cells[r].value if r in cells else result for r in code.results]
        for n, (mine, his) in enumerate(zip(ours, theirs, strict=True)):
            value = float(mine[row])
            if np.isfinite(value) and np.isfinite(his) and abs(value - his) > 1e-9 * max(1.0, abs(his)):
                return f"{code.name}, output {n}, row {row}: {value!r} and {his!r}"
    return ""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = {}
    for library in LIBRARIES:
        if sys.argv[1:] and library.name.split()[0] not in sys.argv[1:]:
            continue
        try:
            count = tried(library)
        except (urllib.error.URLError, subprocess.CalledProcessError, OSError, StopIteration) as fault:
            print(f"{library.name} is left out, it cannot be fetched: {fault}", flush=True)
            continue
        rows[library.name] = {k: dict(v) if isinstance(v, Counter) else v for k, v in vars(count).items()}
        print(
            f"{library.name}: {count.cells} cells, {sum(count.refused_cells.values())} refused whole; "
            f"{count.ufuncs} ufuncs, {count.plain} plain functions, {sum(count.refused.values())} refused; "
            f"{count.compared} compared, {len(count.wrong)} wrong"
        )
        for text, number in [*count.refused_cells.most_common(), *count.refused.most_common()]:
            print(f"    {number}  {text}")
        for text in count.wrong:
            print(f"    WRONG {text}")
        sys.stdout.flush()
    if sys.argv[1:]:
        known = json.loads(RESULTS.read_text())
        write(
            {**known["libraries"], **{k: row | {"machine": machine.describe()} for k, row in rows.items()}},
            known["machine"],
        )
    else:
        write(rows, machine.describe())


def write(rows: dict[str, Any], described: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps({"machine": described, "libraries": rows}, indent=1) + "\n")
    lines = [
        "| library | cells | refused whole | ufuncs | plain functions | functions refused | compared | wrong |",
        "|---|" + "---|" * 7,
    ]
    for name, row in rows.items():
        figures = (
            row["cells"],
            sum(row["refused_cells"].values()),
            row["ufuncs"],
            row["plain"],
            sum(row["refused"].values()),
        )
        lines.append(f"| {name} | " + " | ".join(map(str, (*figures, row["compared"], len(row["wrong"])))) + " |")
    start, end = "<!-- wild -->\n", "<!-- end of wild -->"
    head, _, rest = DOCS.read_text().partition(start)
    DOCS.write_text(f"{head}{start}" + "\n".join(["", *lines, ""]) + f"\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
