"""CUDA cells: device functions and kernels, emulated by the host's compiler or compiled by NVRTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cuda_frontend import compile as compile, key as key
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cuda_frontend": "compile key",
        },
    )
