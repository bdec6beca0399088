"""Describes a compiler and its C library, by the compiler's own report; queried once, then stored in the cache."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from .. import store
from ..ir import is_float_function, list_vector_functions
from ..model import ToolchainError
from .discovery import Toolchain, list_language_flags
from .processes import run_command

#: Variables that add folders to a compiler's search for headers.
SEARCH_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
#: The text to preprocess for the predefined macros and the C library's version.
_PROBE = "#if defined __has_include\n#if __has_include(<features.h>)\n#include <features.h>\n#endif\n#endif\n"

_MACHINES = {
    "__x86_64__": "x86_64",
    "__aarch64__": "aarch64",
    "__i386__": "i386",
    "__arm__": "arm",
    "__powerpc64__": "ppc64",
    "__riscv": "riscv",
    "__s390x__": "s390x",
    "__loongarch64": "loongarch64",
    "__wasm__": "wasm",
}

# A vector variant of one or two arguments, https://sourceware.org/glibc/wiki/libmvec; b, c, d, e are
# SSE4, AVX, AVX2 and AVX-512, n is NEON.  (sincos, which returns through pointers, has three.)
_VARIANT = rb"\0_ZGV([bcden])N(\d+)vv?_(\w+)(?=\0)"


@dataclass(frozen=True)
class Description:
    """One compiler, described.

    Attributes
    ----------
    version : str
        ``"gcc 12.2.0"``, ``"clang 22.1.8"``, ``"zig (clang 22.1.8)"``.
    machine : str
        What it makes code for: ``"x86_64"``, ``"aarch64"``, ...
    openmp : bool
        It knows OpenMP and has the library for it.
    libmvec : frozenset of str
        Scalar functions that have vector variants in libmvec for SSE, AVX, AVX2 and AVX-512, or for NEON,
        both where it links and where the library will run: ``{"exp", "expf", ...}``.
    glibc : str
        Version of the C library it compiles against, ``"2.36"``; ``""`` if that is not glibc.
    include_folders : tuple of str
        Folders of its own, and of the system, where it looks for headers.
    """

    version: str
    machine: str
    openmp: bool = False
    libmvec: frozenset[str] = frozenset()
    glibc: str = ""
    include_folders: tuple[str, ...] = ()

    @property
    def gcc(self) -> int:
        """gcc's major version; 0 for another compiler."""
        release = re.match(r"gcc (\d+)", self.version)
        return int(release[1]) if release else 0

    @property
    def knows_libmvec(self) -> bool:
        """Whether clang may use libmvec: on aarch64 since version 21, which calls all functions of glibc 2.40 there."""
        release = re.search(r"\bclang (\d+)", self.version)
        return self.machine == "x86_64" or ("pow" in self.libmvec and int(release[1] if release else 0) >= 21)


def describe(toolchain: Toolchain) -> Description:
    """Describe the compiler; the description is remembered until the compiler or libmvec changes.

    Raises
    ------
    ToolchainError
        If the compiler cannot preprocess an empty file.
    """
    library = find_libmvec()
    cache, fact = store.open_default(), f"compiler 4 {toolchain.read_identity()!r} {library}"
    if state := cache.recall(fact):
        lists = {"libmvec": frozenset(state["libmvec"]), "include_folders": tuple(state["include_folders"])}
        return Description(**state | lists)
    description = examine(toolchain)
    state = asdict(description) | {"libmvec": sorted(description.libmvec)}
    cache.remember(fact, state, files=[library] if library else [])
    return description


def examine(toolchain: Toolchain) -> Description:
    """Ask the compiler what it is and what it makes code for; errors as of `describe`."""
    command = [*toolchain.command, "-E", "-dM", "-v", "-fopenmp", *list_language_flags(toolchain)]
    done = run_command(command, _PROBE)
    if done.status:  # a compiler without OpenMP may refuse the option
        done = run_command([word for word in command if word != "-fopenmp"], _PROBE)
    if done.status:
        last = done.messages.strip().rpartition("\n")[2][:200]
        last = last or (f"killed by signal {-done.status}" if done.status < 0 else f"exit status {done.status}")
        raise ToolchainError(
            f"{toolchain} does not work: {last}",
            remedy='Set CC to a working compiler, or run: pip install "ufunc_magic[zig]"',
        )
    return read_description(done.output, done.messages, kind=toolchain.kind)


def read_description(macros: str, messages: str, *, kind: str) -> Description:
    """Make a description of the output of ``-E -dM -v`` for an empty file.

    Parameters
    ----------
    macros, messages : str
        Standard output and standard error.
    kind : str
        As in `Toolchain`.
    """
    defined: dict[str, str] = dict(re.findall(r"^#define (\w+) (.*)$", macros, re.M))
    machine = next((name for macro, name in _MACHINES.items() if macro in defined), "unknown")
    glibc = f"{defined['__GLIBC__']}.{defined['__GLIBC_MINOR__']}" if "__GLIBC__" in defined else ""
    openmp = "_OPENMP" in defined and kind != "zig" and _has_openmp_library(messages, clang="__clang__" in defined)
    libmvec = _read_libmvec(glibc, machine)
    return Description(_read_version(defined, kind), machine, openmp, libmvec, glibc, _include_folders(messages))


def _include_folders(messages: str) -> tuple[str, ...]:
    """The folders that ``-v`` lists, without those of the environment."""
    listed = re.search(r"(?ms)^#include <\.\.\.> search starts here:\n(.*?)^End of search list", messages)
    folders = [line.strip().removesuffix(" (framework directory)") for line in listed[1].splitlines()] if listed else []
    added = {f for name in SEARCH_VARIABLES for f in os.environ.get(name, "").split(os.pathsep)}
    return tuple(folder for folder in folders if folder not in added)


def _read_version(defined: Mapping[str, str], kind: str) -> str:
    if "__clang__" in defined:
        number = ".".join(defined.get(f"__clang_{part}__", "?") for part in ("major", "minor", "patchlevel"))
        name = "Apple clang" if "__apple_build_version__" in defined else "clang"
        return f"zig ({name} {number})" if kind == "zig" else f"{name} {number}"
    if "__GNUC__" in defined:
        return "gcc " + ".".join(defined.get(m, "?") for m in ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"))
    return defined.get("__VERSION__", "unknown").strip('"')


def _has_openmp_library(messages: str, *, clang: bool) -> bool:
    path = re.search(r"^LIBRARY_PATH=(.*)$", messages, re.M)
    folders = path[1].split(os.pathsep) if path else []
    if clang:
        if installed := re.search(r"^InstalledDir: (.*)$", messages, re.M):
            folders.append(os.path.join(installed[1], "..", "lib"))
        folders += re.findall(r"-L ?(\S+)", os.environ.get("LDFLAGS", ""))
        folders += [*_SYSTEM_FOLDERS, "/opt/homebrew/opt/libomp/lib", "/usr/local/opt/libomp/lib"]
    names = ("libomp.so", "libomp.dylib") if clang else ("libgomp.so", "libgomp.dylib", "libgomp.dll.a", "libgomp.spec")
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders for name in names)


_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu")


@functools.cache
def find_libmvec() -> str:
    """The libmvec in the folder of the libm that this process uses; ``""`` if there is none."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            mapped = {line.split(maxsplit=5)[-1].rstrip("\n") for line in maps if "/libm" in line or "/libc" in line}
    except OSError:
        mapped = set()
    loaded = (path for path in sorted(mapped) if re.search(r"/lib[mc](?:\.so\.6|-2\.\d+\.so)$", path))
    folders = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
    for folder in (*map(os.path.dirname, loaded), *folders):
        path = os.path.join(folder, "libmvec.so.1")
        if os.path.exists(path):
            return path
    return ""


def _read_libmvec(glibc: str, machine: str) -> frozenset[str]:
    """Functions with all variants in the library here that the compiler's own glibc has too.

    A compiler with an older C library of its own (conda's) links against that one.
    """
    version = tuple(map(int, glibc.split("."))) if glibc else ()
    path = find_libmvec()
    if machine not in ("x86_64", "aarch64") or version < (2, 22) or not path:
        return frozenset()
    try:
        with open(path, "rb") as library:
            code = library.read()
    except OSError:
        return frozenset()
    variants: dict[str, set[tuple[bytes, int]]] = {}
    for isa, lanes, name in re.findall(_VARIANT, code):
        variants.setdefault(name.decode(), set()).add((isa, int(lanes)))
    known = list_vector_functions(machine, version)
    if machine == "aarch64":
        return frozenset(name for name in known if variants.get(name, set()) >= _list_arm_variants(name))
    return frozenset(name for name in known if {isa for isa, _ in variants.get(name, ())} == {b"b", b"c", b"d", b"e"})


def _list_arm_variants(name: str) -> set[tuple[bytes, int]]:
    """The variants for NEON that gcc may call: its registers have 64 and 128 bits."""
    return {(b"n", 2), (b"n", 4)} if is_float_function(name) else {(b"n", 2)}
