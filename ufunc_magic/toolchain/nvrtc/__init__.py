"""NVIDIA's run-time compiler: CUDA C++ to PTX, LTO-IR or machine code, with no driver and no GPU.

In comes a text with a ``#line`` of the cell; out goes code, and diagnostics on the cell's lines.

``nvrtc_discovery``  where the compiler and its headers are, and what it makes code for.
``device_headers``   what a cell may include: CUDA's headers, and those written here that NVRTC lacks.
``nvrtc_program``    one compilation, its result in the cache, and the types that the compiler knows.
``nvrtc_log``        its log as diagnostics; ``nvrtc_hints`` has the advice.
``kernel_resources`` registers, shared memory and spills of a cell's kernels.
``linkable_code``    a cell as LTO-IR or PTX for other kernels, with shims in Numba's calling convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .device_headers import includes as includes, prelude as prelude
    from .kernel_resources import Resources as Resources, resources as resources
    from .linkable_code import (
        Shim as Shim,
        carry_ltoir as carry_ltoir,
        linkable as linkable,
        ltoir as ltoir,
        prefix as prefix,
        shims as shims,
    )
    from .nvrtc_discovery import (
        Nvrtc as Nvrtc,
        architecture as architecture,
        find as find,
        identity as identity,
        installed_headers as installed_headers,
        reason as reason,
    )
    from .nvrtc_hints import advise as advise
    from .nvrtc_program import (
        compile as compile,
        cubin as cubin,
        flags as flags,
        is_host as is_host,
        types as types,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "device_headers": "includes prelude",
            "kernel_resources": "Resources resources",
            "linkable_code": "Shim carry_ltoir linkable ltoir prefix shims",
            "nvrtc_discovery": "Nvrtc architecture find identity installed_headers reason",
            "nvrtc_hints": "advise",
            "nvrtc_program": "compile cubin flags is_host types",
        },
    )
