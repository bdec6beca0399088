"""C and C++ that other people wrote: released sources, file by file into cells, and what became of every function.

    python benchmarks/wild.py             every library
    python benchmarks/wild.py erfa gsl    some of them; the others keep their rows

Each file runs in a process of its own, which writes a row when it ends.  A run that is stopped goes on where it was,
as long as the package is the same.  A file that takes more than ten minutes is counted as too slow.

ERFA's files call one another, so that its library has to be there (apt-get install liberfa-dev).
Sources come from PyPI and Debian when this runs and are kept in a temporary folder; a library that cannot be fetched
is named and left out, and so is a file that gcc alone does not compile.  Each file is one cell.  A function that became
a ufunc of numbers is called on the same values as the plain C function, compiled from the same file by gcc and called
through ctypes, of C++ where only one function has the name; "wrong" counts functions that differ by more than 1e-9,
relative, where both are finite, and with --strict as well; a function whose results in gcc depend on gcc's options is
not compared.  The result goes to benchmarks/results/wild.json and into
the table of docs/reliability.md.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

FOLDER = Path(os.environ.get("UFUNC_MAGIC_WILD", Path(tempfile.gettempdir()) / "ufunc-magic-wild"))
SCRATCH = tempfile.TemporaryDirectory(prefix="ufunc-magic-wild-")
os.environ["UFUNC_MAGIC_CACHE"] = SCRATCH.name

import machine  # noqa: E402
import numpy as np  # noqa: E402

import ufunc_magic as um  # noqa: E402
from ufunc_magic.guard import call_in_copy  # noqa: E402
from ufunc_magic.model import TYPES  # noqa: E402
from ufunc_magic.runtime import find_operand_dtypes  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "wild.json"
DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"
DEBIAN = "deb-src http://deb.debian.org/debian bookworm main\n"
#: Values that functions are compared on: small, since most formulas mean something there.
VALUES = np.array([0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 0.1, 7.0, 20.0])

#: Options with which gcc gives the same results where C defines them.
OTHERWISE = ("-O0", "-O2", "-ftrivial-auto-var-init=zero", "-ftrivial-auto-var-init=pattern")

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
    kind: str = ""
    configure: bool = True
    headers: dict[str, str] = field(default_factory=dict)  # what its build writes
    flags: str = ""  # CFLAGS of its own build, which then runs, for the sources that it generates


def pypi(project: str) -> Callable[[], Path]:
    def fetch() -> Path:
        with urllib.request.urlopen(f"https://pypi.org/pypi/{project}/json", timeout=60) as page:
            release = next(u for u in json.load(page)["urls"] if u["packagetype"] == "sdist")
        archive = FOLDER / release["filename"]
        if not archive.exists():
            with urllib.request.urlopen(
                urllib.parse.urljoin("https://pypi.org/simple/x/", release["url"]), timeout=300
            ) as data:
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
            command = ["apt-get", *settings, "-qq", "source", "--download-only", "--tar-only", package]
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
        kind="oceanography",
    ),
    Library(
        "erfa",
        pypi("pyerfa"),
        "*/liberfa/erfa/src/*.c",
        ("*/liberfa/erfa/src",),
        {"lib": ["erfa"]},
        ("t_erfa",),
        kind="astronomy",
    ),
    Library(
        "musl libm",
        debian("musl"),
        "*/src/math/*.c",
        ("*/src/internal", "*/arch/x86_64", "*/arch/generic"),
        kind="C library",
    ),
    Library(
        "gsl specfunc",
        debian("gsl"),
        "*/specfunc/*.c",
        ("*/specfunc", "*"),
        {"lib": ["gsl", "gslcblas"]},
        ("test_",),
        kind="special functions",
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
        kind="astronomy",
    ),
    Library("tulip indicators", pypi("tulipy"), "*/libindicators/*.c", ("*/libindicators",), kind="finance"),
    Library(
        "h3",
        pypi("h3"),
        "*/src/h3lib/src/h3lib/lib/*.c",
        ("*/src/h3lib/src/h3lib/include",),
        sources=("*/src/h3lib/src/h3lib/lib/*.c",),
        kind="geography",
    ),
    # Header files as cells: xsf, which SciPy's special functions are, from CuPy's sources.
    Library(
        "xsf (C++)",
        pypi("cupy"),
        "*/cupy/_core/include/cupy/xsf/**/*.h",
        ("*/cupy/_core/include/cupy", "*/cupy/_core/include/cupy/xsf", "*/cupy/_core/include/cupy/xsf/cephes"),
        {"cplus": True},
        kind="special functions",
    ),
    Library("kissfft", debian("kissfft"), "*/*.c", ("*",), sources=("*/*.c",), kind="DSP"),
    Library(
        "speexdsp",
        debian("speexdsp"),
        "*/libspeexdsp/*.c",
        ("*/include", "*/libspeexdsp"),
        {"compile_args": ["-DFLOATING_POINT", "-DUSE_SMALLFT", "-DEXPORT="]},
        ("test",),
        sources=("*/libspeexdsp/*.c",),
        kind="DSP",
    ),
    Library("zlib", debian("zlib"), "*/*.c", ("*",), sources=("*/*.c",), kind="compression"),
    Library(
        "libccd",
        debian("libccd"),
        "*/src/*.c",
        ("*/src",),
        sources=("*/src/*.c",),
        kind="geometry",
        headers={"src/ccd/config.h": "#define CCD_DOUBLE 1\n"},
    ),
    Library(
        "glm (C++ headers)",
        debian("glm"),
        "*/glm/gtc/*.hpp",
        ("*",),
        {"cplus": True, "compile_args": ["-DGLM_ENABLE_EXPERIMENTAL"]},
        kind="geometry",
    ),
    Library(
        "R nmath",
        debian("r-base"),
        "*/src/nmath/*.c",
        ("*/src/nmath", "*/src/include"),
        {"compile_args": ["-DMATHLIB_STANDALONE"]},
        sources=("*/src/nmath/*.c", "*/src/nmath/standalone/sunif.c"),
        kind="statistics",
        configure=False,
        headers={
            "src/include/config.h": "#define HAVE_EXPM1 1\n#define HAVE_LOG1P 1\n#define HAVE_HYPOT 1\n"
            "#define HAVE_VISIBILITY_ATTRIBUTE 1\n",
            "src/include/Rconfig.h": "#define IEEE_754 1\n",
        },
    ),
    Library(
        "gnugo",
        debian("gnugo"),
        "*/*/*.c",
        ("*", "*/engine", "*/sgf", "*/utils", "*/patterns"),
        {
            "compile_args": ["-fcommon", "-DHAVE_CONFIG_H", "-include", "sys/time.h", "-include", "unistd.h"],
            "lib": ["ncurses"],
        },
        sources=("*/engine/*.c", "*/utils/*.c", "*/sgf/*.c", "*/interface/*.c", "*/patterns/*.c"),
        kind="games",
        flags="-O1 -fcommon -w",
    ),
    Library("xxhash", debian("xxhash"), "*/xxhash.[ch]", ("*",), kind="hashing"),
    Library("lcms2", debian("lcms2"), "*/src/*.c", ("*/include", "*/src"), sources=("*/src/*.c",), kind="colour"),
    Library(
        "libnova",
        debian("libnova"),
        "*/src/*.c",
        ("*/src", "*"),
        {"compile_args": ["-DTRUE=1", "-DFALSE=0"]},
        sources=("*/src/*.c",),
        kind="astronomy",
        configure=False,
    ),
    Library("sgp4 (C++)", pypi("sgp4"), "*/extension/SGP4.cpp", ("*/extension",), {"cplus": True}, kind="astronomy"),
    Library(
        "gsl interpolation",
        debian("gsl"),
        "*/interpolation/*.c",
        ("*/interpolation", "*"),
        {"lib": ["gsl", "gslcblas"]},
        ("test",),
        kind="interpolation",
    ),
    Library(
        "libsamplerate",
        debian("libsamplerate"),
        "*/src/*.c",
        ("*/src", "*/include"),
        {
            "compile_args": [
                "-DHAVE_STDBOOL_H",
                "-DHAVE_LRINT",
                "-DENABLE_SINC_FAST_CONVERTER",
                "-DPACKAGE",
                "-DVERSION",
            ]
        },
        sources=("*/src/*.c",),
        kind="interpolation",
    ),
    Library(
        "stb (headers)",
        debian("libstb"),
        "*/stb_[dehipr]*.h",
        ("*",),
        {
            "compile_args": [
                "-DSTB_PERLIN_IMPLEMENTATION",
                "-DSTB_HEXWAVE_IMPLEMENTATION",
                "-DSTB_DXT_IMPLEMENTATION",
                "-DSTB_RECT_PACK_IMPLEMENTATION",
                "-DSTB_IMAGE_RESIZE_IMPLEMENTATION",
                "-DSTB_IMAGE_IMPLEMENTATION",
                "-DSTB_IMAGE_WRITE_IMPLEMENTATION",
            ]
        },
        kind="graphics",
    ),
    Library(
        "random123 (headers)",
        debian("librandom123"),
        "*/include/Random123/*.h",
        ("*/include", "*/include/Random123"),
        kind="random numbers",
    ),
]


#: A pattern of why a function is no ufunc, or is not bound, and the kind of reason.  The first that fits counts.
REASONS = [
    ("^ParseError.*no readable|^ParseError.*no C function", "cell: holds data and no function"),
    ("^ParseError.*no function but main", "cell: has no function but main"),
    ("^ParseError.*header|^ParseError.*no function of its own", "cell: includes a header, and holds no function"),
    ("^ParseError.*static", "cell: every function is static"),
    ("^SignatureError.*none can be", "cell: every function takes strings, or structures with pointers"),
    ("^LinkError", "cell: needs a function that its library's files do not define"),
    ("^CompileError.*implicit declaration", "cell: calls functions that no header declares"),
    ("^CompileError", "cell: does not compile alone"),
    ("still running|did not end", "does not end on the values that are tried"),
    ("SIG[A-Z]+|out of bounds|fails its assertion", "fails on all values that are tried"),
    ("no output", "has no output"),
    ("variable number", "takes a variable number of arguments"),
    ("pointer to a function", "takes a function"),
    ("pointer to pointers", "takes a pointer to pointers"),
    ("struct that|struct with", "takes a structure that contains pointers, strings or other objects"),
    ("is a struct", "takes a structure that its headers do not define"),
    ("union", "takes a union"),
    ("is a string", "takes a string"),
    ("void", "takes or returns a pointer to void"),
    ("returns a pointer", "returns a pointer"),
    ("array of unknown length|used as an array", "takes an array, and needs a comment with its size"),
    ("structures together with core", "takes arrays of structures"),
    ("class|reference|template", "takes a class of C++"),
]


@dataclass
class Count:
    """What became of the functions of one library."""

    cells: int = 0
    refused_cells: Counter[str] = field(default_factory=Counter)
    ufuncs: int = 0
    plain: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    wrong: list[str] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)  # gcc's own results depend on its options
    slow: list[str] = field(default_factory=list)
    seconds: float = 0.0  # CPU time of this process and of its compilers

    def add(self, row: dict[str, Any]) -> None:
        for name, value in row.items():
            mine = getattr(self, name)
            if isinstance(mine, Counter):
                mine.update(value)
            else:
                setattr(self, name, mine + value)


def pasted(library: Library, folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files that are cells, and the options to compile each."""
    include = [str(p) for pattern in library.include for p in sorted(folder.glob(pattern))]
    for script in folder.glob("*/configure") if library.configure else ():  # what its build begins with
        if not (script.parent / "config.log").exists():
            settings = {**os.environ, **({"CFLAGS": library.flags} if library.flags else {})}
            subprocess.run(["sh", "./configure"], cwd=script.parent, check=True, capture_output=True, env=settings)
            if library.flags:
                subprocess.run(["make"], cwd=script.parent, check=True, capture_output=True)
            (script.parent / "config.log").touch()
    for template in folder.rglob("*.h*.in"):
        if not (header := template.with_suffix("").with_suffix(".h")).exists():
            header.write_text(re.sub(r"@\w+@", "0", re.sub(r"^@\w+@$", "", template.read_text(), flags=re.M)))
    for name, content in library.headers.items():
        (next(folder.iterdir()) / name).write_text(content)
    others = archive_of(library, folder, include)
    for path in sorted(folder.glob(library.files)):
        check = [*compiler(library.options), "-fsyntax-only", "-w", *(f"-I{p}" for p in include), str(path)]
        if not path.name.startswith(library.skip or "\0") and not subprocess.run(check, capture_output=True).returncode:
            near = [*library.options.get("compile_args", ()), f"-iquote{path.parent}"]
            yield path, {"include": include, **library.options, **others, "compile_args": near}


def archive_of(library: Library, folder: Path, include: list[str]) -> dict[str, Any]:
    """Options to link a cell with the other files of its library, which gcc has compiled."""
    sources = [p for pattern in library.sources for p in sorted(folder.glob(pattern))]
    if not sources:
        return {}
    objects = FOLDER / f"{folder.name}.objects"
    archive = objects / "libothers.a"
    if not archive.exists():
        objects.mkdir(exist_ok=True)
        command = [*compiler(library.options), "-O1", "-ffp-contract=off", "-w", "-fPIC", "-c"]
        for place, path in enumerate(sources):
            output = objects / f"{place}.{path.stem}.o"
            subprocess.run([*command, *(f"-I{p}" for p in include), str(path), "-o", str(output)], capture_output=True)
        subprocess.run(["ar", "rcs", str(archive), *map(str, sorted(objects.glob("*.o")))], check=True)
    return {"lib": [*library.options.get("lib", ()), "others"], "library_dirs": [str(objects)]}


def compiler(options: dict[str, Any]) -> list[str]:
    language = (
        ["g++", "-x", "c++", "-std=c++20", "-fkeep-inline-functions"] if options.get("cplus") else ["gcc", "-x", "c"]
    )
    return [*language, *options.get("compile_args", ())]


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
    rows = FOLDER / "rows" / digest_of_the_package() / library.name
    rows.mkdir(parents=True, exist_ok=True)
    files = list(pasted(library, library.fetch()))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in pool.map(lambda one: row_of(rows, *one), files):
            count.add(row)
    return count


def digest_of_the_package() -> str:
    """Rows are kept for one state of the package."""
    digest = hashlib.sha256()
    for path in sorted(Path(um.__file__).parent.rglob("*")):
        if path.suffix in {".py", ".c", ".h", ".pyx"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def row_of(rows: Path, path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The row of one file, from another run or from a process of its own."""
    row = rows / f"{path.parent.name}.{path.name}.json"
    if not row.exists():
        request = json.dumps({"path": str(path), "options": options, "row": str(row)})
        command = [sys.executable, __file__, "--one-file"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                process.communicate(request, timeout=600)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                row.write_text(json.dumps({"cells": 1, "slow": [path.name]}))
        if not row.exists():
            raise OSError(f"the process for {path} ended with {process.returncode} and wrote no row")
    return cast("dict[str, Any]", json.loads(row.read_text()))


def try_one_file(path: Path, options: dict[str, Any]) -> Count:
    count = Count(cells=1)
    text = path.read_text(errors="replace")
    try:
        build = um.compile_c(text, **options)
    except um.UfuncMagicError as fault:
        count.refused_cells[f"{type(fault).__name__}: {first_line(fault)}"] += 1
        count.reasons[kind_of(f"{type(fault).__name__}: {fault}")] += 1
        return count
    for name, why in build.report_data.refused.items():
        count.refused[f"{name}: {first_line(why)}"] += 1
        count.reasons[kind_of(str(why))] += 1
    plain, strict = compiled(path, options), None
    for code in build.object_code.functions:
        if code.kind != "ufunc":
            count.plain += 1
            count.reasons[kind_of(code.reason)] += 1
            continue
        count.ufuncs += 1
        if code.name in UNDEFINED:
            continue
        answer = compared_apart(build[code.name], code, plain)
        if answer:  # an iteration may end elsewhere when products and sums are contracted
            strict = strict or um.compile_c(text, **options, strict=True)
            answer = compared_apart(strict[code.name], code, plain)
            # Variables that nobody set, for one: gcc's own results differ.
            if answer and {compared_apart(strict[code.name], code, compiled(path, options, f)) for f in OTHERWISE} != {
                answer
            }:
                count.undefined.append(f"{path.name} {code.name}")
                continue
        count.compared += answer is not None
        if answer:
            count.wrong.append(f"{path.name} {answer}")
    return count


def kind_of(reason: str) -> str:
    """The kind of a reason, as the table of reasons has it."""
    return next((kind for pattern, kind in REASONS if re.search(pattern, reason, re.S)), f"other: {first_line(reason)}")


def first_line(fault: object) -> str:
    return re.sub(r"In\[\d+\]|<c>|\d+(?=:)", "", str(fault)).strip().partition("\n")[0][:160]


def compiled(path: Path, options: dict[str, Any], flag: str = "-O1") -> Any:
    """The same file as gcc alone makes it; None where it does not."""
    library = Path(SCRATCH.name) / f"{path.stem}{flag}.so"
    command = [
        *compiler(options),
        "-O1",
        flag,
        "-ffp-contract=off",
        "-w",
        "-shared",
        "-fPIC",
        str(path),
        "-x",
        "none",
        "-o",
        str(library),
    ]
    command += [
        *(f"-I{p}" for p in options["include"]),
        *(f"-L{p}" for p in options.get("library_dirs", ())),
        *(f"-l{lib}" for lib in options.get("lib", ())),
        "-lm",
    ]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    try:
        plain = ctypes.CDLL(str(library))
        return ByBaseName(plain, library) if options.get("cplus") else plain
    except OSError:
        return None


def compared_apart(function: Any, code: Any, plain: Any) -> str | None:
    """`compared` in a copy of the process: a call may never end, print, or end the process."""
    try:
        return call_in_copy(lambda: compared(function, code, plain), seconds=10)
    except um.UfuncMagicError:
        return None


def c_type(dtype: np.dtype[Any]) -> Any:
    """The type of ctypes; None for complex numbers and long double."""
    try:
        return None if dtype.char in "gFDGe" else np.ctypeslib.as_ctypes_type(dtype)
    except NotImplementedError:
        return None


def leaves(value: Any) -> list[float]:
    """The numbers of a structure, or one number."""
    if getattr(value, "dtype", None) is not None and value.dtype.names:
        return [leaf for name in value.dtype.names for item in np.ravel(value[name]) for leaf in leaves(item)]
    return [float(value)]


def inputs_of(dtype: np.dtype[Any], shift: int) -> Any:
    """Ten values of a type."""
    values = VALUES[(np.arange(10) * (shift + 1) + 3 * shift) % 10]
    if not dtype.names:
        return values.astype(dtype)
    records = np.zeros(10, dtype)
    for place, name in enumerate(dtype.names):
        base, shape = dtype[name].base, dtype[name].shape
        records[name] = inputs_of(base, shift + place).reshape(10, *(1,) * len(shape))
    return records


def compared(function: Any, code: Any, plain: Any) -> str | None:
    """ "" where both agree, a text where they do not, None where they were not compared."""
    header = re.match(r"[^{;]*?\b(\w+)\s*\(([^)]*)\)", code.source or "", re.S)
    if code.core or plain is None or header is None or not hasattr(plain, header[1]):
        return None
    kind = "d" if "double" in header[2] else "f" if "float" in header[2] else ""
    # Of several loops that of the function whose text is there.
    letters = ["".join(TYPES[n].char if n in TYPES else "V" for n in loop.types) for loop in code.loops]
    chosen = next((k for k, types in enumerate(letters) if kind in types), 0)
    dtypes = find_operand_dtypes(code, chosen)
    c_types = [c_type(dtype) for dtype in dtypes]
    declared = [p for p in header[2].split(",") if p.strip() not in ("", "void")]
    names = [re.sub(r"\W", " ", p).split()[-1] for p in declared]
    pointers = {name for name, p in zip(names, declared, strict=True) if "*" in p or "&" in p}
    written = [r for r in code.results if r in names]
    if not all(c_types) or {*code.parameters, *written} != set(names) or len(set(names)) < len(names):
        return None
    c = getattr(plain, header[1])
    returned = [k for k, r in enumerate(code.results) if r not in names]
    c.restype = c_types[code.nin + returned[0]] if returned else None
    arguments = [inputs_of(dtype, k) for k, dtype in enumerate(dtypes[: code.nin])]
    with np.errstate(all="ignore"):
        try:
            ours = function(*arguments)
        except Exception as fault:  # noqa: BLE001
            return None if isinstance(fault, um.UfuncMagicError) else f"{code.name}: {fault}"
    ours = tuple(np.broadcast_to(one, 10) for one in (ours if isinstance(ours, tuple) else (ours,)))
    for row in range(10 if arguments else 1):
        passed = {r: t() for r, t in zip(code.results, c_types[code.nin :], strict=True) if r in names}
        for name, t, a in zip(code.parameters, c_types, arguments, strict=False):
            passed[name] = t.from_buffer_copy(a[row : row + 1].tobytes())
        result = c(*(ctypes.byref(passed[n]) if n in pointers else passed[n] for n in names))
        for n, (name, mine) in enumerate(zip(code.results, ours, strict=True)):
            place = code.nin + n
            own = dtypes[place].names or name in names
            his = passed.get(name, result) if own else c_types[place](result)
            theirs = np.frombuffer(bytes(his), dtypes[place])[0]
            for one, other in zip(leaves(mine[row]), leaves(theirs), strict=True):
                if np.isfinite(one) and np.isfinite(other) and abs(one - other) > 1e-9 * max(1.0, abs(other)):
                    return f"{code.name}, output {n}, row {row}: {one!r} and {other!r}"
    return ""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:] == ["--one-file"]:
        request = json.load(sys.stdin)
        count = try_one_file(Path(request["path"]), request["options"])
        used = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        count.seconds = sum(one.ru_utime + one.ru_stime for one in used)
        written = Path(request["row"] + ".new")
        written.write_text(json.dumps(vars(count)))
        written.replace(request["row"])
        return
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
            f"{count.compared} compared, {len(count.wrong)} wrong, "
            f"{len(count.slow)} too slow; {count.seconds:.0f} s of CPU"
        )
        for text, number in [*count.refused_cells.most_common(), *count.refused.most_common()]:
            print(f"    {number}  {text}")
        for text in count.wrong:
            print(f"    WRONG {text}")
        for text in count.undefined:
            print(f"    UNDEFINED  {text}")
        for text in count.slow:
            print(f"    SLOW  {text}")
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
    heads = "library, kind, cells, refused whole, ufuncs, plain functions, not bound, compared, wrong".split(", ")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    kinds = {library.name: library.kind for library in LIBRARIES}
    reasons: Counter[str] = Counter()
    for name, row in rows.items():
        whole, refused = sum(row["refused_cells"].values()), sum(row["refused"].values())
        figures = row["cells"], whole, row["ufuncs"], row["plain"], refused, row["compared"], len(row["wrong"])
        lines.append(f"| {' | '.join(map(str, (name, kinds.get(name, ''), *figures)))} |")
        reasons.update(row.get("reasons", {}))
    lines += ["", "| why a function is no ufunc, or a cell is refused | how often |", "|---|---|"]
    lines += [f"| {kind} | {number:,} |" for kind, number in reasons.most_common()]
    start, end = "<!-- wild -->\n", "<!-- end of wild -->"
    head, _, rest = DOCS.read_text().partition(start)
    DOCS.write_text(f"{head}{start}" + "\n".join(["", *lines, ""]) + f"\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
