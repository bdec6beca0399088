"""The names of Numba that we use outside of its public interface, and nothing else.

Tried with numba-cuda 0.30.4 (its linker, cache and simulator) and with Numba 0.66 to 0.68 (its own simulator and CUDA
target).  Where a version lacks one of these names, the ImportError or AttributeError ends in a warning of
`numba_cuda_extension.install`, and kernels that call no cell go on as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

__all__ = [
    "check_before_caching",
    "find_simulated_dimensions",
    "link_replaced",
    "take_plain_array",
    "wrap_runs",
]


def link_replaced(replace: Callable[[Any, bool], Any]) -> None:
    """Link ``replace(code, lto)`` for each piece of code that numba-cuda links: only its linker knows of ``lto``."""
    from numba.cuda.cudadrv.driver import _Linker

    add = _Linker.add_file_guess_ext

    @functools.wraps(add)
    def add_replaced(self: Any, code: Any, *args: Any, **kwargs: Any) -> Any:
        return add(self, replace(code, self.lto), *args, **kwargs)

    _Linker.add_file_guess_ext = add_replaced


def check_before_caching(check: Callable[[str, Collection[Any]], None]) -> None:
    """Call ``check(name of the kernel, its linked code)`` before numba-cuda writes a kernel into its cache."""
    from numba.cuda.codegen import CUDACodeLibrary

    reduced = CUDACodeLibrary._reduce_states

    @functools.wraps(reduced)
    def reduce_states(self: Any) -> Any:
        check(self.name, self._linking_files)
        return reduced(self)

    CUDACodeLibrary._reduce_states = reduce_states


def wrap_runs(around: Callable[[Any], AbstractContextManager[None]]) -> None:
    """Run each function of the simulator, kernels and device functions, inside of ``around(function)``."""
    import contextlib

    from numba.cuda.simulator import kernel

    swapped = kernel.swapped_cuda_module

    @contextlib.contextmanager
    def swapped_inside(function: Any, module: Any) -> Any:
        with around(function), swapped(function, module):
            yield

    kernel.swapped_cuda_module = swapped_inside


def replace_declare_device(declare: Callable[[str], Any]) -> None:
    """Have ``cuda.declare_device(name, ...)`` of the simulator, which returns None, return ``declare(name)``."""
    from numba import cuda
    from numba.cuda.simulator import api

    def declare_device(name: str, *args: Any, **keywords: Any) -> Any:
        return declare(name)

    cuda.declare_device = api.declare_device = declare_device


def find_simulated_dimensions(thread: Any) -> tuple[Any, Any]:
    """``blockDim`` and ``gridDim`` of a simulated thread."""
    return thread._manager._block_dim, thread._manager._grid_dim


def take_plain_array(array: Any) -> Any:
    """The NumPy array of one of the simulator's arrays."""
    item = array if isinstance(array, np.ndarray) else getattr(array, "_item", array)
    return item if isinstance(item, np.ndarray) else getattr(item, "_ary", item)
