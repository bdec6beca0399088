"""NVIDIA's run-time compiler: CUDA C++ to PTX, LTO-IR or machine code, with no driver and no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .device_headers import include_folder as include_folder, prelude as prelude
    from .device_types import TYPE_MACRO as TYPE_MACRO, types as types
    from .gpu_code import cubin as cubin
    from .lto_ir import carry_ltoir as carry_ltoir, ltoir as ltoir, unit_text as unit_text
    from .numba_shims import Shim as Shim, shims as shims, symbol as symbol
    from .nvrtc_discovery import (
        Nvrtc as Nvrtc,
        architecture as architecture,
        find as find,
        identity as identity,
        reason as reason,
    )
    from .nvrtc_hints import advise as advise
    from .nvrtc_program import Compiled as Compiled, compile as compile, flags as flags
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "device_headers": "include_folder prelude",
            "device_types": "TYPE_MACRO types",
            "gpu_code": "cubin",
            "lto_ir": "carry_ltoir ltoir unit_text",
            "numba_shims": "Shim shims symbol",
            "nvrtc_discovery": "Nvrtc architecture find identity reason",
            "nvrtc_hints": "advise",
            "nvrtc_program": "Compiled compile flags",
        },
    )
