"""NVIDIA's run-time compiler: CUDA C++ to PTX, LTO-IR or machine code, with no driver and no GPU.

The only package that imports ``cuda.bindings``, and only when it is asked for something.
"""

from .cubin import cubin
from .found import Nvrtc, architecture, find, identity, reason
from .headers import include_folder, prelude
from .ltoir import carry_ltoir, ltoir, unit_text
from .program import Compiled, compile, flags
from .shims import Shim, shims, symbol
from .types import TYPE_MACRO, types

__all__ = [
    "TYPE_MACRO",
    "Compiled",
    "Nvrtc",
    "Shim",
    "architecture",
    "carry_ltoir",
    "compile",
    "cubin",
    "find",
    "flags",
    "identity",
    "include_folder",
    "ltoir",
    "prelude",
    "reason",
    "shims",
    "symbol",
    "types",
    "unit_text",
]
