"""Finds C and C++ compilers and the options that they need.  Reads files, starts no program."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from ..model import ToolchainError

#: Options with which gcc also *links* code that flushes denormals to zero in the whole process.
FAST_MATH = frozenset({"-ffast-math", "-funsafe-math-optimizations", "-Ofast"})

_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc"})

#: Compilers of some distributions define it already.
_FORTIFIED = ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3")

#: The program, and the script that the package ziglang installs.
_ZIG = re.compile(r"(python-)?zig(\.exe)?$")


@dataclass(frozen=True)
class Toolchain:
    """One compiler driver.

    Attributes
    ----------
    kind : {"gcc", "clang", "zig"}
        Whose options it takes, judged by its name; no process is started to find out.
    command : tuple of str
        What is run, before all options: ``("/usr/bin/gcc",)``, ``("/usr/bin/ccache", "/usr/bin/gcc")``.
    cplus : bool
        It compiles and links C++.
    path, size, mtime_ns : str, int, int
        The program behind symbolic links and launchers.
    origin : str
        Where it was found: ``"CC"``, ``"CXX"``, ``"PATH"``, ``"ziglang package"``.
    """

    kind: Literal["gcc", "clang", "zig"]
    command: tuple[str, ...]
    cplus: bool
    path: str
    size: int
    mtime_ns: int
    origin: str

    def read_identity(self) -> tuple[str, ...]:
        """Values that change when the compiler changes, for cache keys; read without running it."""
        return (self.kind, self.path, str(self.size), str(self.mtime_ns), str(self.cplus), *self.command)

    def __str__(self) -> str:
        return shlex.join(self.command)


def is_launched(toolchain: Toolchain) -> bool:
    """Whether the compiler is started by ccache or the like."""
    return (
        os.path.basename(toolchain.command[0]) in _LAUNCHERS
        or os.path.basename(os.path.realpath(toolchain.command[0])) in _LAUNCHERS
    )


# ------------------------------------------------------------------------------------------- find


def find(*, cplus: bool = False, environ: Mapping[str, str] | None = None) -> Toolchain:
    """The compiler to use: ``CC``/``CXX``, else gcc, clang or cc of the PATH, else the ziglang package.

    Parameters
    ----------
    cplus : bool
        A C++ compiler is wanted.
    environ : mapping
        ``os.environ`` if omitted.  ``CC`` and ``CXX`` may hold arguments (``"ccache gcc-13 -m64"``);
        with ``CC`` alone, the C++ compiler is its sister.

    Raises
    ------
    ToolchainError
        If ``CC``/``CXX`` names no program, or nothing was found.
    """
    environ = os.environ if environ is None else environ
    compiler = _from_variables(environ, cplus) or next(
        chain(_search_path(environ, cplus), _search_packages(cplus)), None
    )
    if compiler:
        return compiler
    language, variable = ("C++", "CXX") if cplus else ("C", "CC")
    names = ", ".join(_list_names(cplus))
    raise ToolchainError(
        f"No {language} compiler was found: {variable} is not set, {names} are not on the PATH, "
        "and the package ziglang is not installed.",
        remedy='pip install "ufunc_magic[zig]"',
    )


def find_all(*, cplus: bool = False, environ: Mapping[str, str] | None = None) -> tuple[Toolchain, ...]:
    """Every compiler that `find` knows, its choice first; empty if there is none."""
    environ = os.environ if environ is None else environ
    chosen = None
    with contextlib.suppress(ToolchainError):
        chosen = _from_variables(environ, cplus)
    every = [*filter(None, [chosen]), *_search_path(environ, cplus), *_search_packages(cplus)]
    return tuple({t.path: t for t in reversed(every)}.values())[::-1]


def _list_names(cplus: bool) -> tuple[str, ...]:
    return ("g++", "clang++", "c++") if cplus else ("gcc", "clang", "cc")


def _from_variables(environ: Mapping[str, str], cplus: bool) -> Toolchain | None:
    for variable in ("CXX", "CC") if cplus else ("CC",):
        words = _split_variable(environ, variable)
        if not words:
            continue
        if cplus and variable == "CC":
            words = _find_sister(words)
        if compiler := _make_toolchain(words, environ, cplus, variable):
            return compiler
        if not (cplus and variable == "CC"):
            raise ToolchainError(
                f"{variable}={environ[variable]!r} is not an executable program.",
                remedy=f"Correct {variable}, or unset it to choose a compiler automatically.",
            )
    return None


def _find_sister(words: Sequence[str]) -> list[str]:
    """The command of the C++ compiler that belongs to a C compiler's."""

    def rename(word: str) -> str:
        folder, name = os.path.split(word)
        if _ZIG.match(name):
            return word
        name = re.sub(r"gcc(?=$|[-.])", "g++", re.sub(r"clang(?=$|[-.])", "clang++", name))
        return os.path.join(folder, "c++" if name == "cc" else name)

    program = 1 if os.path.basename(words[0]) in _LAUNCHERS and len(words) > 1 else 0
    return ["c++" if w == "cc" and n else rename(w) if n <= program else w for n, w in enumerate(words)]


def _search_path(environ: Mapping[str, str], cplus: bool) -> Iterator[Toolchain]:
    for name in _list_names(cplus):
        compiler = _make_toolchain([name], environ, cplus, "PATH")
        if compiler and not _is_stub(compiler):
            yield compiler


def _is_stub(toolchain: Toolchain) -> bool:
    """macOS has a /usr/bin/clang that only offers to install the real one, in a dialog."""
    homes = ("/Library/Developer/CommandLineTools/usr/bin", "/Applications/Xcode.app")
    return sys.platform == "darwin" and toolchain.path.startswith("/usr/bin/") and not any(map(os.path.exists, homes))


def _search_packages(cplus: bool) -> Iterator[Toolchain]:
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.submodule_search_locations:
        return
    # The program itself, not "python -m ziglang": that would cost the start of an interpreter.
    program = os.path.join(package.submodule_search_locations[0], "zig.exe" if os.name == "nt" else "zig")
    compiler = _make_toolchain([program, "c++" if cplus else "cc"], {}, cplus, "ziglang package")
    if compiler:
        yield compiler


def _make_toolchain(words: Sequence[str], environ: Mapping[str, str], cplus: bool, origin: str) -> Toolchain | None:
    search = environ.get("PATH")
    resolved = list(words)
    launched = os.path.basename(words[0]) in _LAUNCHERS and len(words) > 1
    for n in (0, 1) if launched else (0,):
        program = shutil.which(os.path.expanduser(words[n]), path=search)
        if program is None:
            return None
        resolved[n] = os.path.abspath(program)
    path = os.path.realpath(resolved[1 if launched else 0])
    if os.path.basename(path) in _LAUNCHERS:
        path = _look_through_launcher(os.path.basename(words[1 if launched else 0]), search) or path
    stat = os.stat(path)
    kind = _recognise_kind(os.path.basename(path), [os.path.basename(w) for w in words])
    return Toolchain(kind, tuple(resolved), cplus, path, stat.st_size, stat.st_mtime_ns, origin)


def _look_through_launcher(name: str, search: str | None) -> str | None:
    """The compiler that ccache's symbolic link called ``name`` will run."""
    for folder in (search or os.environ.get("PATH", "")).split(os.pathsep):
        program = shutil.which(name, path=folder or os.curdir)
        if program and os.path.basename(path := os.path.realpath(program)) not in _LAUNCHERS:
            return path
    return None


def _recognise_kind(name: str, words: Sequence[str]) -> Literal["gcc", "clang", "zig"]:
    if _ZIG.match(name) or "ziglang" in words:  # python -m ziglang cc
        return "zig"
    if "clang" in name or name in ("icx", "icpx"):
        return "clang"
    numbered = any(re.match(r".*(gcc|g\+\+)-\d", word) for word in (name, *words))
    return "clang" if sys.platform == "darwin" and not numbered else "gcc"


# ------------------------------------------------------------------------------------------ flags


def list_base_flags(toolchain: Toolchain, *, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Options that every unit is compiled with, ``CPPFLAGS`` and ``CFLAGS``/``CXXFLAGS`` last.

    Of the environment's optimisation levels only ``-O0`` and ``-Og`` (debugging) are taken: packaging
    environments such as conda's set ``-O2``, which would keep gcc from vectorizing the loops.
    """
    environ = os.environ if environ is None else environ
    cplus = toolchain.cplus
    flags = ["-O3", f"-std={'gnu++20' if cplus else 'gnu17'}", "-shared"]
    if sys.platform != "win32":
        flags += ["-fPIC", "-fvisibility=hidden", "-fno-semantic-interposition"]
    if sys.platform.startswith("linux"):
        # An array larger than the rest of the stack ends at its guard page, and not in what lies below.
        flags += ["-fstack-clash-protection"]
    if sys.platform != "win32":
        # A local array that is overrun ends the call, and so does a buffer that memcpy() or sprintf() would overrun.
        flags += ["-fstack-protector-strong", *_FORTIFIED]
    flags += ["-Wall", "-Werror=return-type" if cplus else "-Werror=implicit-function-declaration"]
    if toolchain.kind == "zig":
        # zig compiles for the CPU it runs on, and traps undefined behaviour, by default.
        # Its optimized builds have no assert().
        flags += ["-mcpu=baseline", "-fno-sanitize=undefined", "-UNDEBUG"]
    if toolchain.kind != "gcc":
        flags += ["-Wno-unused-command-line-argument"]
    own = [w for v in ("CPPFLAGS", "CXXFLAGS" if cplus else "CFLAGS") for w in _split_variable(environ, v)]
    return (*flags, *(w for w in own if not re.match(r"-O(?![0g]$)", w)))


def list_base_link_options(toolchain: Toolchain, *, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Linker options that every unit needs, after the cell's own libraries."""
    environ = os.environ if environ is None else environ
    # Without -z defs a missing symbol shows only when the object is opened.
    defs: tuple[str, ...] = ("-Wl,-z,defs",) if sys.platform.startswith("linux") else ()
    # A page of its own for each kind of section would be a quarter of a small object, and objects travel.
    # Nor is what it writes to moved to a page of its own, which the smaller page forbids.
    defs += ("-Wl,-z,noseparate-code", "-Wl,-z,common-page-size=512") if defs and toolchain.kind == "gcc" else ()
    # Opening is a twentieth faster without it.  It keeps a program's input from writing to the program's tables; here
    # only the cell could, and that is a program itself.
    defs += ("-Wl,-z,norelro",) if defs and toolchain.kind in ("gcc", "clang") else ()
    # Names of the driver's own functions are a tenth of a small object, and its functions that a cell does not need a
    # fifth; what an object is is known by its digest.
    spared = ("-Wl,-x", "-Wl,--gc-sections", "-Wl,--build-id=none")
    defs += spared if defs and toolchain.kind in ("gcc", "clang") else ()
    # The debugging information of zig's runtime would be nine tenths of the object.
    small = ("-Wl,-s",) if toolchain.kind == "zig" and defs else ()
    libm = ("-lm",) if sys.platform != "win32" else ()
    own = (w for w in _split_variable(environ, "LDFLAGS") if w not in FAST_MATH)
    return (*own, *defs, *small, *libm)


def list_language_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Options that give the language of a source on standard input."""
    return ("-x", "c++" if toolchain.cplus else "c", "-")


def list_library_flags(libraries: Sequence[str], folders: Sequence[str] = ()) -> tuple[str, ...]:
    """``-L``, ``-l`` and the run-time search path, so that what was linked is also found when opened."""
    places = [os.path.abspath(os.path.expanduser(folder)) for folder in folders]
    paths = [f"-Wl,-rpath,{place}" for place in places] if sys.platform != "win32" else []
    return (*(f"-L{place}" for place in places), *paths, *(f"-l{library}" for library in libraries))


def _split_variable(environ: Mapping[str, str], variable: str) -> list[str]:
    try:
        return shlex.split(environ.get(variable, ""), posix=os.name == "posix")
    except ValueError as error:
        raise ToolchainError(
            f"{variable}={environ[variable]!r} cannot be split into words: {str(error).lower()}.",
            remedy=f"Correct {variable}, or unset it.",
        ) from None
