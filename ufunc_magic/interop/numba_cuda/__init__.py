"""Numba's CUDA kernels: functions of CUDA cells inside them, and inside its simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .numba_cuda_extension import attach as attach
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "numba_cuda_extension": "attach",
        },
    )
