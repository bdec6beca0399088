"""CUDA as a `Language`: what other rooms ask of it; the rooms of the GPU are imported when they are used."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import compilers
from ...cells import DeviceTime, Language, TextView
from ...model import CompiledCell, FilesRead, ObjectCode, OptionError, Options, ToolchainError
from .. import c
from . import device, numba_cuda, nvrtc
from .cuda_frontend import make_key

if TYPE_CHECKING:
    from ...compilers import Finding

EMULATION = "CPU emulation"

_MAIN = re.compile(r"^\s*(?:int|void|auto)\s+main\s*\(", re.MULTILINE)
#: CuPy's package, by CUDA's version.
_CUPY = "cupy-cuda13x", "cupy-cuda12x", "cupy"
_PTX_FUNCTION = re.compile(
    r"^(?:\.visible |\.weak )?\.(func|entry)\b[^{;]*?\b([A-Za-z_$][\w$]*)\s*\([^{;]*\{.*?^\}", re.MULTILINE | re.DOTALL
)


class CudaLanguage(Language):
    """CUDA C++."""

    words = (
        f"{c.WORDS} __device__ __global__ __host__ __shared__ __constant__ __syncthreads threadIdx blockIdx blockDim "
        "gridDim template class operator namespace using"
    )
    headers = ("math.h",)

    def make_key(self, source: str, *, options: Options) -> str:
        return make_key(source, options=options)

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        from .cuda_unit import compile  # the parser: not for a cell from the cache

        return compile(source, options=options, name=name, folder=folder)

    def prepare(self) -> None:
        numba_cuda.attach()

    def can_run(self, cell: CompiledCell, options: Options) -> bool:
        # It may have been kept when there was a GPU, which alone runs it.
        return bool(cell.object_code.code) or options.device == "gpu" or device.is_available()

    def compile_program(self, source: str, *, options: Options, name: str, folder: Path) -> tuple[Path, FilesRead]:
        from .cuda_program import compile_program

        return compile_program(source, options=options, name=name, folder=folder)

    def run_program(self, library: Path, words: Sequence[str], *, show: Callable[[str], object]) -> int:
        from .cuda_program import run_program

        return run_program(library, words, show=show)

    def complete(self, object_code: ObjectCode) -> None:
        nvrtc.carry_ltoir(object_code)

    def list_notes(self, object_code: ObjectCode, options: Options) -> list[str]:
        runs = options.run_main or not _MAIN.search(object_code.source)
        return [] if runs else ["main() does not run: --run-main runs it in the emulation"]

    def list_notices(self, object_code: ObjectCode) -> list[str]:
        if device.runs_on_gpu(object_code):
            return []
        notices = []
        if object_code.options.get("device", "auto") == "auto":
            notices.append("this machine has no GPU: functions of CUDA cells are emulated on the CPU")
        if not nvrtc.identify_nvrtc():
            notices.append(
                "NVIDIA's compiler is not installed, so CUDA cells are not checked with it: pip install "
                '"ufunc_magic[cuda]"'
            )
        return notices

    def place(self, object_code: ObjectCode) -> str:
        return device.name() if device.runs_on_gpu(object_code) else EMULATION

    def can_be_copied(self, object_code: ObjectCode) -> bool:
        return not device.runs_on_gpu(object_code)

    def find_host_candidate(self, function: Any) -> tuple[Callable[..., Any] | None, str]:
        if not isinstance(function, device.CudaFunction):
            return function, EMULATION
        return function.emulated if isinstance(function.emulated, np.ufunc) else None, "CPU loop"

    def find_device_times(self, function: Any) -> Callable[[Sequence[Any]], list[DeviceTime]] | None:
        return functools.partial(time_on_gpu, function) if isinstance(function, device.CudaFunction) else None

    def check_views(self, object_code: ObjectCode) -> None:
        if not object_code.code:
            raise OptionError(
                f"{object_code.name} is for the GPU alone, and has no code for the CPU to show.",
                remedy="Use --show ptx.",
            )

    def view(self, name: str, object_code: ObjectCode) -> TextView:
        """Return what NVRTC makes of a cell for the GPU that is here, else for the oldest that it knows."""
        compiler = nvrtc.find()
        if compiler is None:
            raise ToolchainError(nvrtc.explain_absence(), remedy=f"Remove --show {name}.")
        arch = (
            device.find_arch().replace("sm", "compute")
            if device.is_available()
            else nvrtc.choose_architecture(compiler)
        )
        unit = device.write_kernel_unit(device.write_cell(object_code), object_code.name, "")
        options = nvrtc.list_nvrtc_flags(object_code.options)
        compiled = nvrtc.compile(unit, name=object_code.name, cell=object_code.source, arch=arch, options=options)
        return TextView(f"the PTX of the cell ({compiler}, {arch})", read_ptx_functions(compiled.text))

    def describe(self, object_code: ObjectCode) -> Mapping[str, str]:
        code = object_code.device
        if code.get("ltoir"):
            text = f"LTO-IR, {len(code['ltoir']) * 3 // 4:,} bytes, for {code.get('arch', '?')} and newer"
        else:
            text = "the source" if object_code.source else "nothing"
        return {"for the GPU": text}

    def list_findings(self) -> Iterator[Finding]:
        version = next(filter(None, map(compilers.find_installed_version, _CUPY)), "")
        if not version:
            missing, remedy = "not installed (for arrays on an NVIDIA GPU)", f"pip install {_CUPY[0]}"
            yield compilers.Finding("Packages", "cupy", missing, None, remedy)
            return
        missing = device.explain_missing()
        text = missing or f"{device.name()}, {device.find_arch()}"
        yield compilers.Finding("GPU", "device", text, None if missing else True)
        if not missing:
            yield compilers.Finding("GPU", "driver", f"for CUDA {device.describe_versions()['driver']}")
        compiler = nvrtc.find()
        number = ".".join(map(str, compiler.version)) if compiler else nvrtc.explain_absence()
        yield compilers.Finding("GPU", "NVRTC", number, True if compiler else None)
        yield compilers.Finding("Packages", "cupy", version)


def time_on_gpu(function: Any, arrays: Sequence[Any], *, meter: Any = device) -> list[DeviceTime]:
    """Time a function on the GPU, alone and with transfers.

    Parameters
    ----------
    function : CudaFunction
    arrays : sequence of ndarray
    meter : module
        The GPU's clock: ``time_function`` and ``copy_bandwidth`` as in `ufunc_magic.languages.cuda.device`.
    """
    seconds = meter.time_function(function, arrays)
    share = seconds.bandwidth / _measure_copy_bandwidth(meter)
    percent = "<1 %" if share < 0.005 else f"{share * 100:.0f} %"
    note = f"{percent} of the GPU's copy bandwidth" if share <= 1 else "the arrays stay in the GPU's cache"
    return [
        DeviceTime("GPU, kernel alone", "gpu", seconds.kernel, share, note),
        DeviceTime("GPU with transfers", "gpu", seconds.transfers),
    ]


@functools.cache
def _measure_copy_bandwidth(meter: Any) -> float:
    """Bytes per second of a copy: once for a session, since it takes a gigabyte of the GPU's memory."""
    return float(meter.copy_bandwidth())


def read_ptx_functions(text: str) -> tuple[tuple[str, str], ...]:
    """Return the functions and kernels of a module in PTX, each with a title."""
    parts = []
    for match in _PTX_FUNCTION.finditer(text):
        kind, symbol = match.groups()
        lines = [line for line in match[0].split("\n") if line.strip() and not line.lstrip().startswith("//")]
        parts.append((f"{_demangle(symbol)}: {'a kernel' if kind == 'entry' else 'a function'}", "\n".join(lines)))
    return tuple(parts)


def _demangle(symbol: str) -> str:
    """A function's name in C++, of what the Itanium ABI makes of it: ``ns::g`` of ``_ZN2ns1gEd``."""
    names, rest = [], re.sub(r"^_ZN?", "", symbol) if symbol.startswith("_Z") else ""
    while match := re.match(r"\d+", rest):
        end = match.end() + int(match[0])
        names.append(rest[match.end() : end])
        rest = rest[end:] if symbol.startswith("_ZN") else ""
    return "::".join(names) or symbol


LANGUAGE = CudaLanguage()
