"""Shows the compilers and libraries of this machine, and the commands that install what is missing."""

from __future__ import annotations

import importlib.metadata
import itertools
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .. import store
from ..model import CacheError, ToolchainError
from ..runtime import count_processors, cpu_features
from .description import describe
from .discovery import find, find_all

#: Package -> what for, where it is worth installing.
PACKAGES = {
    **dict.fromkeys(
        "numpy ipython cffi tree-sitter tree-sitter-c tree-sitter-cuda platformdirs dask xarray".split(), ""
    ),
    "ziglang": "a C compiler if the system has none",
    "cython": "for %%cython_ufunc",
    "numba": "for comparisons, and for um.from_numba",
}
#: The last groups of a diagnosis, after those of languages.
_LAST = "Cache", "Packages"


@dataclass(frozen=True)
class Finding:
    """One line of a diagnosis: ``ok`` is None for what merely is so, ``remedy`` one command or ``""``."""

    group: str
    name: str
    value: str
    ok: bool | None = None
    remedy: str = ""


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The findings of `diagnose`, shown as text."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether cells can be compiled and kept."""
        return all(f.ok is not False for f in self.findings)

    def __repr__(self) -> str:
        wide = max((len(f.name) for f in self.findings), default=0)
        lines: list[str] = []
        for group, findings in itertools.groupby(self.findings, key=lambda f: f.group):
            lines.append(group)
            for f in findings:
                lines.append(f"  {_MARKS[f.ok]} {f.name:{wide}}  {f.value}".rstrip())
                lines += [f"    {'':{wide}}  -> {f.remedy}"] if f.remedy else []
        return "\n".join(lines)


_MARKS = {None: " ", True: "+", False: "!"}


def diagnose(more: Iterable[Finding] = ()) -> Diagnosis:
    """Examine compilers, processor, cache and packages, for ``%ufunc_doctor``.

    Each compiler is run once to describe it.

    Parameters
    ----------
    more : iterable of Finding
        Findings of the languages.
    """
    findings = [
        *_examine_compilers(cplus=False),
        *_examine_compilers(cplus=True),
        *_examine_machine(),
        *_examine_cache(),
        *_examine_packages(),
        *more,
    ]
    return Diagnosis(tuple(sorted(findings, key=lambda f: _LAST.index(f.group) if f.group in _LAST else -1)))


def _examine_compilers(*, cplus: bool) -> Iterator[Finding]:
    group = "C++ compilers" if cplus else "C compilers"
    try:
        chosen = find(cplus=cplus)
    except ToolchainError as error:
        # C++ is wanted by few cells: its absence is no fault of the installation.
        yield Finding(group, "none", error.message, None if cplus else False, error.remedy)
        chosen = None
    for compiler in find_all(cplus=cplus):
        used = compiler == chosen
        name = f"{compiler.origin}{' (used)' if used else ''}"
        try:
            described = describe(compiler)
        except ToolchainError as error:
            yield Finding(group, name, f"{compiler}: {error.message}", False if used else None, error.remedy)
            continue
        yield Finding(group, name, f"{described.version} for {described.machine}: {compiler}", True if used else None)
        if used and not cplus:
            openmp, functions = described.openmp, described.libmvec
            pragmas = "yes" if openmp else "no: OpenMP pragmas in cells have no effect (--parallel works without it)"
            simd = f"{len(functions)} vector functions, glibc {described.glibc}"
            yield Finding(group, "OpenMP", pragmas, openmp or None)
            yield Finding(group, "libmvec", simd if functions else "none: exp, log, sin process one element at a time")


def _examine_machine() -> Iterator[Finding]:
    group = "Machine"
    yield Finding(group, "system", f"{platform.system()} {platform.release()} on {platform.machine()}")
    yield Finding(group, "C library", " ".join(platform.libc_ver()).strip() or "unknown")
    yield Finding(group, "processors", str(count_processors()))
    yield Finding(group, "SIMD", find_simd_level())
    yield Finding(group, "Python", f"{platform.python_implementation()} {platform.python_version()}: {sys.executable}")


def find_simd_level() -> str:
    """The SIMD level of the processor, as NumPy detects it: ``"x86-64-v4 (AVX-512)"``, ``"aarch64 (NEON)"``."""
    features = frozenset(cpu_features())
    if platform.machine().lower() not in ("x86_64", "amd64"):
        units = [name for name in ("sve", "neon", "asimd", "vsx", "vx", "rvv", "lsx") if name in features]
        return f"{platform.machine()} ({', '.join(units).upper() or 'no vector unit known to NumPy'})"
    # NumPy 2.4 names the levels themselves; earlier ones name their parts.
    for level, parts in {"v4 (AVX-512)": "avx512_skx", "v3 (AVX2)": "avx2 fma3", "v2 (SSE4.2)": "sse42"}.items():
        if f"x86_{level[:2]}" in features or features >= set(parts.split()):
            return f"x86-64-{level}"
    return "x86-64 (SSE2)"


def _examine_cache() -> Iterator[Finding]:
    group = "Cache"
    try:
        cache = store.open_default()
    except CacheError as error:
        yield Finding(group, "limit", error.message, False, error.remedy)
        return
    fault = cache.distrust()
    folder = f"{cache.path} {fault} and is not used" if fault else str(cache.path)
    remedy = "export UFUNC_MAGIC_CACHE=~/ufunc_magic_cache" if fault else ""
    yield Finding(group, "folder", folder, not fault, remedy)
    used, limit = cache.size() / 1e6, cache.limit / 1e6
    yield Finding(group, "objects", f"{len(cache.list_entries())}, {used:.1f} MB of at most {limit:.0f} MB")


def find_installed_version(package: str) -> str:
    """``""`` where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _examine_packages() -> Iterable[Finding]:
    for name, use in PACKAGES.items():
        if version := find_installed_version(name):
            yield Finding("Packages", name, version)
        elif use:
            yield Finding("Packages", name, f"not installed ({use})", None, f"pip install {name}")
