"""Where LibTorch's headers and libraries are, found without importing torch, which takes seconds."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from ...model import ToolchainError

__all__ = ["LibTorch", "find"]

#: Those of a CPU build that code outside of torch calls into; GPU builds have more, which these load.
_LIBRARIES = ("torch", "torch_cpu", "torch_python", "c10")


@dataclass(frozen=True)
class LibTorch:
    """The installed torch package, as a compiler sees it.

    Attributes
    ----------
    folder : Path
    version : str
        ``"2.13.0+cpu"``; ``""`` where the package does not say.
    flags, link : tuple of str
        For the C++ compiler and the linker.
    """

    folder: Path
    version: str
    flags: tuple[str, ...]
    link: tuple[str, ...]


def find() -> LibTorch:
    """Find torch.

    Raises
    ------
    ToolchainError
        Where it is not installed, or has no headers.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(
            f"torch is not installed for {sys.executable}, and --torch needs its headers and libraries.",
            remedy="pip install torch",
        )
    folder = Path(spec.submodule_search_locations[0])
    if not (folder / "include" / "torch" / "csrc").is_dir():
        raise ToolchainError(
            f"The torch in {folder} comes without its C++ headers.", remedy="Install torch from PyPI: pip install torch"
        )
    return _described(folder)


@functools.cache
def _described(folder: Path) -> LibTorch:
    include, library = folder / "include", folder / "lib"
    flags = (
        f"-isystem{include}",
        f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}",
        f"-D_GLIBCXX_USE_CXX11_ABI={_abi(library)}",
    )
    rpath = [f"-Wl,-rpath,{library}"] if sys.platform != "win32" else []
    link = (f"-L{library}", *rpath, *(f"-l{name}" for name in _LIBRARIES))
    return LibTorch(folder, _version(folder), flags, link)


def _abi(library: Path) -> int:
    """Which of libstdc++'s two std::string types torch was built with.

    torch.compiled_with_cxx11_abi() would say so too, three seconds later.  The newer one's names lie in
    the inline namespace ``__cxx11`` (https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html).
    """
    for name in ("libc10.so", "libc10.dylib"):
        path = library / name
        if path.is_file():
            return int(b"7__cxx11" in path.read_bytes())
    return 1


def _version(folder: Path) -> str:
    path = folder / "version.py"
    if not path.is_file():
        return ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("__version__"):
            return line.partition("=")[2].strip().strip("'\"")
    return ""
