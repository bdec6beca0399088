"""What to do about a complaint of NVRTC's, in one sentence.  Pure tables and patterns."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..hints import header_of

#: What a cell may use without an include where it is compiled by nvcc or for the host, and where NVRTC has it.
_HEADERS: tuple[tuple[str, str], ...] = (
    (r"(?:__)?(?:half|half2|h[a-z]+|__h\w+|float2half\w*|half2float)$|__(?:float|half|double|u?int|u?short)\w*2?half\w*$"
     r"|__half\w+$", "cuda_fp16.h"),
    (r"(?:__)?nv_bfloat16\w*$|__\w*bfloat16\w*$", "cuda_bf16.h"),
    (r"__nv_fp8\w*$", "cuda_fp8.h"),
    (r"cu(?:Float|Double)?Complex$|cuC\w+$|make_cu\w+$", "cuComplex.h"),
    (r"CUDART_\w+$", "math_constants.h"),
    (r"cooperative_groups$|cg$", "cooperative_groups.h"),
)  # fmt: skip

#: Standard headers that are provided for device code: only these may be advised.
_STANDARD = frozenset("math.h stdint.h limits.h float.h stddef.h assert.h stdbool.h".split())

_INSTEAD: dict[str, str] = {
    **dict.fromkeys(("cout", "cerr", "clog", "endl", "puts", "putchar", "fprintf", "print"),
                    'Device code prints with printf("%f\\n", x), which needs no header.'),
    **dict.fromkeys(("vector", "string", "map", "set", "unordered_map", "list", "deque", "valarray"),
                    "Device code has no containers: use arrays of fixed size, or cuda/std/array."),
    **dict.fromkeys(("rand", "srand", "mt19937", "random_device", "curand_init", "curand_uniform", "curandState"),
                    "Make random numbers from a counter and a hash: example 03 has one."),
    **dict.fromkeys(("exit", "abort", "terminate", "raise"), "Device code ends itself with __trap()."),
    **dict.fromkeys(("fopen", "fread", "fwrite", "getenv", "time", "system"),
                    "Device code reaches no files and no clock of the host: pass the value as an argument."),
    **dict.fromkeys(("np", "math"), "A cell calls CUDA's own functions: expf(x) or exp(x), not np.exp(x)."),
    **dict.fromkeys(("and", "or", "not"), ""),
    "True": "C++ writes True as true.",
    "False": "C++ writes False as false.",
    "None": "C++ has no None; a floating-point function can return nanf(\"\").",
    "def": "This is Python; a device function starts with __device__ and the type it returns.",
    "T": "Give the types that T stands for: --types f4,f8",
}  # fmt: skip

_CCCL = "pip install nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt"


def _unknown(name: str) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name]
    for pattern, header in _HEADERS:
        if re.match(pattern, name):
            return f"Add #include <{header}> at the top of the cell."
    if (header := header_of(name)) in _STANDARD:
        return f"Add #include <{header}> at the top of the cell."
    if re.match(r"cuda[A-Z]", name):
        return "The host's CUDA functions are not for device code: the magic launches and copies by itself."
    return f"Define {name} above its first use, or include the header that declares it."


def _in_std(name: str) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name]
    if header_of(name) == "math.h":
        return "Add #include <cmath> at the top of the cell."
    if header_of(name) in _STANDARD:
        return f"Add #include <c{header_of(name).removesuffix('.h')}> at the top of the cell."
    header = {"min": "algorithm", "max": "algorithm", "clamp": "algorithm", "numeric_limits": "limits",
              "swap": "utility", "pair": "utility", "array": "array", "complex": "complex"}.get(name)  # fmt: skip
    if header or re.match(r"is_|enable_if|conditional|remove_|make_(?:un)?signed", name):
        return f"Add #include <{header or 'type_traits'}> at the top of the cell."
    return f"Device code has CCCL's library: #include <cuda/std/...> and cuda::std::{name}, where it is there."


def _no_header(name: str) -> str:
    if name in ("iostream", "ostream", "sstream", "iomanip"):
        return _INSTEAD["cout"]
    if name in ("vector", "string", "map", "set", "list", "deque", "unordered_map"):
        return _INSTEAD["vector"]
    if name.startswith(("random", "curand")):
        return _INSTEAD["rand"]
    if re.match(r"(?:cuda|cub|thrust|nv|crt)/|cuda_|cooperative_groups|cuComplex|math_constants", name):
        return f"CUDA's headers are in wheels of their own: {_CCCL}"
    if name in ("Python.h", "numpy/arrayobject.h"):
        return "A cell needs no Python or NumPy headers: write plain CUDA functions."
    if re.fullmatch(r"[a-z_]+", name):
        return f"Device code has no <{name}> of the host's; CCCL's, where there is one, is <cuda/std/{name}>."
    return f"Say where {name} is with -I FOLDER."


#: Pattern of a message -> advice, given the match and the source line; the first that has something to say.
_ADVICE: tuple[tuple[str, Callable[[re.Match[str], str], str] | str], ...] = (
    (r'identifier "([^"]+)" is undefined', lambda m, _: _unknown(m[1])),
    (r'(?:namespace|class) "(?:::)?std" has no (?:actual )?member "([^"]+)"', lambda m, _: _in_std(m[1])),
    (r'could not open source file "([^"]+)"', lambda m, _: _no_header(m[1])),
    (r'name followed by "::" must be a class or namespace name',
     lambda _, line: "Add the #include that declares the namespace, or spell it out." if "::" in line else ""),
    (r"calling a __host__ function", "Write __device__ (or __host__ __device__) before the function that is called."),
    (r"without execution space annotations|without memory space annotations",
     lambda m, _: "Write __device__ before it." if m[0].startswith("without exec")
     else "Write __device__ before it, or constexpr (__constant__ for a table) if it never changes."),
    (r"explicitly marked as a __host__", "Mark it __host__ __device__, or leave it out of this cell."),
    (r'expected a ";"', "A ; is missing at the end of this statement or of the line above."),
    (r'expected a "}"', "A { is not closed by a }."),
    (r'expected a "\)"', "A ( is not closed by a )."),
    (r"expected a declaration", lambda _, line: "There is one } too many." if line.strip().startswith("}") else ""),
    (r"comment unclosed", "A /* is not closed by a */."),
    (r"the #endif for this directive is missing", "Every #if needs one #endif."),
    (r"unrecognized token",
     "A character that C++ does not have (a typographic quote, a no-break space, an accent): retype it."),
    (r'operand of "\*" must be a pointer', lambda _, line: "C++ has no ** operator: write pow(x, y)."
     if "**" in line else "Only a pointer can be read with *."),
    (r"must have (?:arithmetic, )?(?:integral|integer)",
     lambda _, line: "^ is exclusive or in C++: write pow(x, y)." if "^" in line
     else "% is for integers in C++: write fmod(x, y)." if "%" in line else ""),
    (r'more than one instance of overloaded function "(\w+)" matches',
     "Make its arguments the same type (2.0f beside a float, 2.0 beside a double), or #include <cmath>."),
    (r"no instance of (?:overloaded )?function|too (?:few|many) arguments",
     "Compare the call with the function's parameters."),
    (r'function "?(?:.*?\b)?(\w+)(?:\(.*\))?"? has already been defined',
     lambda m, _: f"{m[1]} is defined twice: rename one, or give it other parameters."),
    (r"cannot overload functions distinguished by return type", "Overloads must differ in their parameters."),
    (r"__global__ function must have a void return", "A kernel writes its results through pointers, and returns void."),
    (r"missing return statement", "Return a value on every path."),
    (r"does not support exception handling", "Device code has no exceptions: return a value that tells, such as NaN."),
    (r"unrecognized option (\S+)|invalid value for (\S+)",
     lambda m, _: f"NVRTC has no {m[1] or m[2]} of that kind: look at -c."),
)  # fmt: skip


def advise(message: str, line: str = "") -> str:
    """What to do about NVRTC's ``message`` on the source ``line``, or ``""`` where only the message can tell."""
    for pattern, advice in _ADVICE:
        if match := re.search(pattern, message):
            text = advice if isinstance(advice, str) else advice(match, line)
            if text:
                return text
    return ""
