"""What a Cython cell needs besides a compiler: Cython itself, and the headers of Python and of NumPy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
from pathlib import Path

from ...model import ToolchainError

#: The first Cython whose inner names this package knows.
OLDEST = (3, 1)


def need_cython() -> None:
    """See that a Cython is installed that this package can use, without importing it.

    Raises
    ------
    ToolchainError
        If there is none, or it is too old.
    """
    if importlib.util.find_spec("Cython") is None:
        raise ToolchainError(
            "Cython is not installed, so a Cython cell cannot be compiled.",
            remedy=f'{_install()} "ufunc_magic[cython]"',
        )
    try:
        version = importlib.metadata.version("Cython")
    except importlib.metadata.PackageNotFoundError:  # a source tree on sys.path: it is its owner's
        return
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ToolchainError(
            f"Cython {version} is too old: a Cython cell needs {needed} or newer.",
            remedy=f'{_install()} --upgrade "cython>={needed}"',
        )


def _install() -> str:
    # The notebook's own magic would be shorter, but does not exist in a script.
    return f"{sys.executable or 'python'} -m pip install"


def missing_headers(include: Path, *, release: str | None = None) -> ToolchainError | None:
    """The error for a Python without ``Python.h`` in the folder ``include``; None if it is there.

    Parameters
    ----------
    include : Path
        ``sysconfig.get_path("include")``.
    release : str
        Text of ``/etc/os-release``, which names the distribution; read from there if omitted.
    """
    for name in ("Python.h", "pyconfig.h"):
        # Debian keeps the real pyconfig.h of each machine elsewhere, but always has one beside Python.h.
        if not (include / name).exists():
            version = platform.python_version()
            return ToolchainError(
                f"Python {version} ({sys.executable}) has no {name} in {include}: a Cython cell cannot be compiled.",
                remedy=python_headers_remedy(include, release=release),
            )
    return None


def missing_numpy_headers(include: Path) -> ToolchainError | None:
    """The error for a NumPy without its headers in the folder ``include`` (``numpy.get_include()``), or None."""
    if (include / "numpy" / "arrayobject.h").exists():
        return None
    return ToolchainError(
        f"NumPy has no numpy/arrayobject.h in {include}: a cell that cimports numpy cannot be compiled.",
        remedy=f"{_install()} --force-reinstall numpy",
    )


#: Names of a distribution (ID and ID_LIKE of os-release) -> what installs the headers of its own Python.
_PACKAGES: tuple[tuple[str, str], ...] = (
    ("debian ubuntu", "sudo apt install {python}-dev"),
    ("fedora rhel centos amzn", "sudo dnf install {fedora}-devel"),
    ("alpine", "apk add python3-dev"),
    ("suse opensuse", "sudo zypper install {suse}-devel"),
    ("mageia", "sudo dnf install python3-devel"),
    ("void", "sudo xbps-install python3-devel"),
    ("gentoo arch nixos", ""),  # they do not part headers from programs
)


def python_headers_remedy(include: Path, *, release: str | None = None) -> str:
    """What brings ``Python.h`` to this Python.

    Parameters
    ----------
    include, release : Path, str
        As for `missing_headers`.
    """
    if sys.platform == "darwin":
        return _APPLE
    if sys.platform == "win32":
        return _WINDOWS
    if made_by := _whole_python(str(include)):
        return f"{made_by} brings its headers along: this one is damaged or cut down; install Python anew with it."
    text = _os_release() if release is None else release
    names = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.M))
    family = f"{names.get('ID', '')} {names.get('ID_LIKE', '')}".split()
    major, minor = sys.version_info[:2]
    words = {
        "python": f"python{major}.{minor}",
        "fedora": "python3" if _is_default(names, minor) else f"python{major}.{minor}",
        "suse": f"python{major}{minor}",
    }
    for known, command in _PACKAGES:
        if command and any(word.partition("-")[0] in known.split() for word in family):
            return f"{command.format(**words)}    (the package with the headers of this Python)"
    return (
        f"Install the headers of Python {major}.{minor}: the package is called python{major}.{minor}-dev or "
        "python3-devel; a Python from conda, pyenv or uv has them already."
    )


def _whole_python(include: str) -> str:
    """Who made this Python, if it is one that always comes with its headers."""
    for mark, name in (("conda", "conda"), ("mamba", "conda"), ("pixi", "pixi"), (".pyenv", "pyenv")):
        if re.search(rf"[\\/][\w.-]*{re.escape(mark)}", include):
            return name
    return "uv" if re.search(r"[\\/]uv[\\/]python[\\/]", include) else ""


def _is_default(names: dict[str, str], minor: int) -> bool:
    """Whether Fedora's ``python3`` is this one: other versions are packages of their own."""
    return not os.path.exists("/usr/bin/python3") or os.path.realpath("/usr/bin/python3").endswith(f"python3.{minor}")


def _os_release() -> str:
    for path in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return ""


_APPLE = (
    "xcode-select --install brings the headers of Apple's own Python; one from python.org, Homebrew or conda has "
    "them already."
)
_WINDOWS = (
    "Run Python's installer again, choose Modify, and take the development files along; a Python from conda or "
    "python.org has them already, one from the Microsoft Store or an embeddable zip has not."
)
