"""NVRTC, where it is installed: its version, what it makes code for, and the headers that came with it."""

from __future__ import annotations

import functools
import importlib.util
import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

#: The command that installs all of it.
REMEDY = 'pip install "ufunc_magic[cuda]"'

#: Runs on every GPU that CUDA 13 knows, and its LTO-IR links for every newer one.
OLDEST = 75

#: Wheels that contain the compiler and its headers: their versions identify both.
_PARTS = "nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt nvidia-cuda-nvcc nvidia-curand".split()
_WHEELS = ("cuda-bindings", *(f"{part}{version}" for part in _PARTS for version in ("", "-cu12")))
#: Pathfinder's names of the folders of headers: the last one has ``crt/`` for CUDA 12.
_HEADERS = ("cudart", "cccl", "curand", "nvcc")


@dataclass(frozen=True)
class Nvrtc:
    """The compiler.

    Attributes
    ----------
    version : tuple of int
        ``(13, 5)``.
    architectures : tuple of int
        Compute capabilities that it makes code for, ``75`` for 7.5, oldest first.
    """

    version: tuple[int, int]
    architectures: tuple[int, ...]

    def __str__(self) -> str:
        return f"NVRTC {self.version[0]}.{self.version[1]}"

    @property
    def bundles_headers(self) -> bool:
        """It carries CUDA's and CCCL's headers itself."""
        return self.version >= (13, 3)


def find() -> Nvrtc | None:
    """The compiler, or None where it is not installed; `explain_absence` then says what is missing."""
    try:
        return probe()
    except (ImportError, RuntimeError, OSError):
        return None


def explain_absence() -> str:
    """Why `find` returns None, with what to install; ``""`` if it does not."""
    try:
        probe()
    except (ImportError, RuntimeError, OSError) as fault:
        return f"NVRTC is not installed here ({str(fault).strip().partition(chr(10))[0]}): {REMEDY}"
    return ""


def choose_architecture(nvrtc: Nvrtc, capability: tuple[int, int] | None = None) -> str:
    """The architecture to compile for.

    Parameters
    ----------
    nvrtc : Nvrtc
    capability : tuple of int
        The device's compute capability; None where there is no device.

    Returns
    -------
    str
        ``"sm_90"`` for a device of 9.0; ``"compute_75"``, or the oldest that this NVRTC knows, for none;
        for a device that is newer than NVRTC the newest that it knows, which drivers translate.
    """
    if capability is None:
        return f"compute_{max(OLDEST, nvrtc.architectures[0])}"
    number = 10 * capability[0] + capability[1]
    if number in nvrtc.architectures:
        return f"sm_{number}"
    return f"compute_{max((a for a in nvrtc.architectures if a < number), default=nvrtc.architectures[0])}"


@functools.cache
def identify_nvrtc() -> str:
    """The part of a cache key for the compiler, ``""`` where none is installed; opens no library."""
    if not (versions := {wheel: v for wheel in _WHEELS if (v := _read_version(wheel))}).get("cuda-bindings"):
        return ""
    # A toolkit that is no wheel is known by its folder.
    folders = [os.environ.get(name, "") for name in ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX")]
    return " ".join([*(f"{wheel}={version}" for wheel, version in versions.items()), *filter(None, folders)])


@functools.cache
def find_installed_headers() -> dict[str, str]:
    """Folders of CUDA's, CCCL's and cuRAND's headers, as far as they are installed: ``{"cudart": ..., "cccl": ...}``.

    Wheels for CUDA 12 have one for each, those for CUDA 13 share one.
    """
    try:
        from cuda import pathfinder
    except ImportError:
        return {}
    folders: dict[str, str] = {}
    for name in _HEADERS:
        folder = pathfinder.find_nvidia_header_directory(name)
        if folder and Path(folder).is_dir() and folder not in folders.values():
            folders[name] = folder
    return folders


def find_cupy_headers(source: str) -> list[str]:
    """The folder of CuPy's headers, where it is installed, for a text that includes one."""
    spec = importlib.util.find_spec("cupy") if "<cupy/" in source else None
    places = spec.submodule_search_locations if spec else None
    folders = (Path(place, "_core", "include") for place in places or ())
    return [str(folder) for folder in folders if folder.is_dir()]


def import_bindings() -> Any:
    """NVRTC's functions as ``cuda.bindings`` has them."""
    from cuda.bindings import nvrtc

    return nvrtc


@functools.cache  # what fails is tried again: it may be installed meanwhile
def probe() -> Nvrtc:
    status, major, minor = import_bindings().nvrtcVersion()
    if status:
        raise RuntimeError(f"nvrtcVersion returned {status}")
    _, known = import_bindings().nvrtcGetSupportedArchs()
    return Nvrtc((major, minor), tuple(sorted(known)))


def _read_version(wheel: str) -> str:
    try:
        return metadata.version(wheel)
    except metadata.PackageNotFoundError:
        return ""
