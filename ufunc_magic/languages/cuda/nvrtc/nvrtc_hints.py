"""One-sentence remedies for messages of NVRTC.  Pure tables and patterns."""

from __future__ import annotations

import re

from ....compilers import find_first_advice, find_header
from .nvrtc_discovery import REMEDY

#: Names that nvcc and host compilers know without an include, and the header that has them for NVRTC.
_HEADERS: tuple[tuple[str, str], ...] = (
    (r"(?:__)?(?:half|half2|h[a-z]+|__h\w+|float2half\w*|half2float)$|__(?:float|half|double|u?int|u?short)\w*2?half\w*$"
     r"|__half\w+$", "cuda_fp16.h"),
    (r"(?:__)?nv_bfloat16\w*$|__\w*bfloat16\w*$", "cuda_bf16.h"),
    (r"cu(?:Float|Double)?Complex$|cuC\w+$|make_cu\w+$", "cuComplex.h"),
    (r"CUDART_\w+$", "math_constants.h"),
    (r"curand\w*$", "curand_kernel.h"),
    (r"cooperative_groups$|cg$", "cooperative_groups.h"),
)  # fmt: skip
#: Standard headers that are provided for device code: only these may be advised.
_STANDARD = frozenset("math.h stdint.h limits.h float.h stddef.h assert.h stdbool.h".split())

_PRINT = 'Device code prints with printf("%f\\n", x), which needs no header.'
_CONTAINERS = "Device code has no containers. Use arrays of fixed size, or cuda/std/array."
_RANDOM = "Compute random numbers from a counter and a hash, as in example 03."
#: Names, and headers, of the host's -> what device code has.
_INSTEAD: dict[str, str] = {
    **dict.fromkeys("cout cerr endl fprintf print iostream".split(), _PRINT),
    **dict.fromkeys("vector string map set".split(), _CONTAINERS),
    **dict.fromkeys("rand mt19937 random".split(), _RANDOM),
    **dict.fromkeys("exit abort".split(), "To stop device code, call __trap()."),
    "np": "Call the CUDA function: expf(x) or exp(x) instead of np.exp(x).",
    "cuda": "Add the needed header at the top of the cell, for example #include <cuda/std/cmath>.",
    "T": "Name the types that T stands for: --types f4,f8",
}


def _write_include(header: str) -> str:
    return f"Add #include <{header}> at the top of the cell."


def advise_on_unknown(name: str) -> str:
    """The remedy for a name that device code does not know."""
    standard = find_header(name)
    if header := next((header for pattern, header in _HEADERS if re.match(pattern, name)), ""):
        return _write_include(header)
    if standard in _STANDARD:
        return _write_include(standard)
    if re.match(r"cuda[A-Z]", name):
        return "Device code cannot call CUDA host functions. The magic launches kernels and copies arrays for you."
    return f"Define {name} above its first use, or include the header that declares it."


def advise_on_std(name: str) -> str:
    """The remedy for a name that device code's ``std`` lacks."""
    standard = find_header(name)
    if standard in _STANDARD:
        return _write_include(f"c{standard.removesuffix('.h')}")
    return f"In device code, use CCCL: #include <cuda/std/...> and cuda::std::{name}, if it has that name."


def advise_on_header(name: str) -> str:
    """The remedy for a missing header."""
    if name.startswith("curand"):
        return "It comes in a wheel of its own: pip install nvidia-curand, for CUDA 12 nvidia-curand-cu12."
    if re.match(r"(?:cuda|cub|thrust|nv|crt)/|cuda_|cooperative_groups|cuComplex|math_constants", name):
        return f"CUDA's headers come in separate wheels: {REMEDY}"
    if re.match(r"(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|npp|nvml)", name):
        return "NVIDIA's libraries are not for cells: call them through CuPy."
    return f"Name the folder of {name} with -I FOLDER."


#: Subject of a message -> remedy, unless the name is in `_INSTEAD`.
_NAMES = (
    (r'identifier "([^"]+)" is undefined', advise_on_unknown),
    (r'(?:namespace|class) "(?:::)?std" has no (?:actual )?member "([^"]+)"', advise_on_std),
    (r'could not open source file "([^"]+)"', advise_on_header),
)
#: Pattern of a message, text in its line -> advice; as in `ufunc_magic.compilers`.
_ADVICE: tuple[tuple[str, str, str], ...] = (
    (r"calling a __host__ function|without execution space annotations", "", "Write __device__ before it."),
    (r"without memory space annotations", "",
     "Write __device__ before it, or constexpr (__constant__ for a table) if it never changes."),
    (r'expected a ";"', "", "Add the missing ; at the end of this statement or of the line above."),
    (r'expected a "}"', "", "A { has no matching }."),
    (r"unrecognized token", "",
     "Retype this character: C++ does not allow it (for example a typographic quote or a no-break space)."),
    (r'operand of "\*" must be a pointer', "**", "C++ has no ** operator. Write pow(x, y)."),
    (r"must have (?:arithmetic, )?(?:integral|integer)", "^", "In C++, ^ is bitwise exclusive or. Write pow(x, y)."),
    (r"must have (?:arithmetic, )?(?:integral|integer)", "%", "In C++, % works on integers only. Write fmod(x, y)."),
    (r"more than one instance of overloaded function", "",
     "Use arguments of the same type (2.0f with a float, 2.0 with a double), or add #include <cmath>."),
    (r"uses too much shared data", "",
     "A block has 48 kB of static arrays. Declare one as extern __shared__ and give its bytes: k[grid, block, bytes]."),
    (r"__global__ function must have a void return", "",
     "A kernel returns void. Write its results through pointers."),
)  # fmt: skip


def advise(message: str, line: str = "") -> str:
    """The remedy for NVRTC's ``message`` on the source ``line``, or ``""`` if there is none."""
    for pattern, about in _NAMES:
        if match := re.search(pattern, message):
            return _INSTEAD.get(match[1]) or about(match[1])
    return find_first_advice(_ADVICE, message, line)
