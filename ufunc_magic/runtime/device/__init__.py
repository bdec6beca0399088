"""CUDA functions as Python objects: called on arrays of the GPU or of the host, launched as kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cuda_function import CudaFunction as CudaFunction
    from .cuda_kernel import Kernel as Kernel, Launch as Launch
    from .cuda_object import (
        available as available,
        make as make,
        make_kernel as make_kernel,
        name as name,
        on_gpu as on_gpu,
    )
    from .device_timing import copy_bandwidth as copy_bandwidth, time_call as time_call, time_function as time_function
    from .driver import (
        arch as arch,
        compile_with as compile_with,
        cupy as cupy,
        missing as missing,
        to_device as to_device,
        to_host as to_host,
        wait as wait,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cuda_function": "CudaFunction",
            "cuda_kernel": "Kernel Launch",
            "cuda_object": "available make make_kernel name on_gpu",
            "device_timing": "copy_bandwidth time_call time_function",
            "driver": "arch compile_with cupy missing to_device to_host wait",
        },
    )
