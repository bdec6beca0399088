"""What a Cython cell needs besides a compiler: Cython itself, and the headers of Python and of NumPy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
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


def check_headers(python: Path, numpy: Path | None) -> None:
    """See that the headers of Python, and of NumPy where they are needed, are in these folders.

    Parameters
    ----------
    python : Path
        ``sysconfig.get_path("include")``.
    numpy : Path or None
        ``numpy.get_include()``; None where no cell needs it.

    Raises
    ------
    ToolchainError
        If they are not.
    """
    # Debian keeps the real pyconfig.h of each machine elsewhere, but always has one beside Python.h.
    if missing := [name for name in ("Python.h", "pyconfig.h") if not (python / name).exists()]:
        raise ToolchainError(
            f"Python {platform.python_version()} ({sys.executable}) has no {missing[0]} in {python}: a Cython cell "
            "cannot be compiled.",
            remedy=_HEADERS.get(sys.platform, _LINUX),
        )
    if numpy and not (numpy / "numpy" / "arrayobject.h").exists():
        raise ToolchainError(
            f"NumPy has no numpy/arrayobject.h in {numpy}: a cell that cimports numpy cannot be compiled.",
            remedy=f"{_install()} --force-reinstall numpy",
        )


_VERSION = "{}.{}".format(*sys.version_info[:2])
_LINUX = (
    f"sudo apt install python{_VERSION}-dev (Debian, Ubuntu) or sudo dnf install python3-devel (Fedora); a Python from "
    "conda, pyenv or uv brings its headers along, and without them is to be installed anew."
)
_HEADERS = {
    "darwin": "xcode-select --install brings the headers of Apple's own Python; one from python.org, Homebrew or conda "
    "has them already.",
    "win32": "Run Python's installer again, choose Modify, and take the development files along; one from the "
    "Microsoft Store or an embeddable zip has none.",
}
