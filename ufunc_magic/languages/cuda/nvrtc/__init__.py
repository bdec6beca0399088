"""NVIDIA's run-time compiler: CUDA C++ to PTX, LTO-IR or machine code, with no driver and no GPU.

The room takes a text with the cell's ``#line`` and returns code, and diagnostics on the cell's lines.

``nvrtc_discovery``  finds the compiler and its headers, and the architectures that it supports.
``device_headers``   the headers that a cell may include: CUDA's, and replacements for those that NVRTC lacks.
``nvrtc_program``    runs one compilation, caches its result, and reads the types of the cell.
``nvrtc_log``        parses the log into diagnostics; ``nvrtc_hints`` adds remedies.
``kernel_resources`` the registers, shared memory and spills of the cell's kernels.
``linkable_code``    a cell as LTO-IR or PTX for other kernels, with shims in Numba's calling convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....lazy import lazy_names

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
