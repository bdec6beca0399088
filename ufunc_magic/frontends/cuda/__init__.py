"""CUDA cells: device functions and kernels, emulated by the host's compiler or compiled by NVRTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cuda_frontend import key as key
    from .cuda_unit import compile as compile
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cuda_frontend": "key",
            "cuda_unit": "compile",
        },
    )
