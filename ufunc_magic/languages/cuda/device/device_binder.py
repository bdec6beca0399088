"""Binds the functions of a loaded CUDA cell: on the GPU where there is one, else to their emulation on the CPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....model import FunctionCode, ObjectCode
from ....runtime import Library
from .cell_memory import CellMemory
from .cuda_function import CudaFunction
from .cuda_kernel import Kernel, KernelFamily
from .driver import runs_on_gpu

if TYPE_CHECKING:
    from ....runtime import LoadedObject


def open_memory(opened: LoadedObject) -> CellMemory:
    """Return the cell's variables as arrays, and tell its sandbox where they are."""
    library, object_code = opened.library, opened.object_code
    memory = CellMemory(object_code, library.functions if library else (), emulated=not runs_on_gpu(object_code))
    if opened.sandbox:
        opened.sandbox.variables = memory.changing
    return memory


def bind(code: FunctionCode, opened: LoadedObject, function: Any) -> Any:
    """Return a kernel, a function of the GPU, or the emulated ``function``."""
    library, object_code, memory = opened.library, opened.object_code, opened.memory
    if code.kind == "kernel":
        return Kernel(
            code,
            object_code,
            address=library.functions[code.index] if isinstance(library, Library) else 0,
            owner=library,
            emulated=not runs_on_gpu(object_code),
            memory=memory,
            sandbox=opened.sandbox,
        )
    if library is None or runs_on_gpu(object_code):
        return CudaFunction(code, object_code, emulated=function, memory=memory)
    return function


def group(object_code: ObjectCode, functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the families of kernels that have a name in common, by that name."""
    families: dict[str, list[Kernel]] = {}
    for code in object_code.functions:
        if code.instance and code.name in functions:
            families.setdefault(re.split(r"[<(]", code.instance)[0], []).append(functions[code.name])
    return {name: KernelFamily(kernels) for name, kernels in families.items() if len(kernels) > 1}
