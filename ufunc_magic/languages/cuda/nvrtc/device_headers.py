"""Headers for device code: those that NVRTC does not have, written here, and where CUDA's own are."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from importlib.resources import files

from .... import store
from ....compilers import find_files_named
from ....model import FilesRead
from .nvrtc_discovery import Nvrtc, find_cupy_headers, find_installed_headers

_INCLUDE = r"#[ \t]*(?:include|include_next)\b|__has_include"

#: Headers that declare nothing which NVRTC does not know by itself, and those for the host's part of a program: a cell
#: that came out of one may include them, and what it then uses of them on the device is what is refused.
_EMPTY = (
    "cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h device_functions.h math_functions.h "
    "vector_functions.h vector_types.h builtin_types.h host_defines.h sm_20_intrinsics.h driver_types.h "
    "cuda_profiler_api.h nvtx3/nvToolsExt.h nvToolsExt.h cuda.h "
    "iostream ostream istream fstream sstream iomanip string vector map unordered_map set unordered_set list deque "
    "queue stack memory random chrono ctime time.h thread mutex future exception stdexcept cerrno errno.h signal.h "
    "unistd.h locale iterator numeric functional tuple bitset valarray ratio atomic condition_variable optional any "
    "variant span ranges numbers bit concepts typeinfo typeindex new filesystem regex system_error cctype ctype.h "
    "cstdarg stdarg.h csignal cwchar wchar.h sys/time.h sys/stat.h fcntl.h getopt.h pthread.h omp.h"
).split()

#: Headers that nvcc includes by itself: the words of a text that need one of those provided here.
_UNASKED: tuple[tuple[str, str], ...] = (
    ("math.h",
     r"\b(?:M_[A-Z]|INFINITY|NAN\b|HUGE_VAL|FP_|fpclassify|is(?:normal|unordered|greater|less)|float_t|double_t|"
     r"(?:fabs|sqrt|cbrt|exp|exp2|expm1|log|log2|log10|log1p|a?(?:sin|cos|tan)h?|atan2|erfc?|[tl]gamma|ceil|floor|trunc|"
     r"round|rint|nearbyint|logb|pow|fmod|remainder|hypot|fmin|fmax|fdim|copysign|nextafter)\s*\()"),
    ("stdint.h", r"\bu?int(?:max|ptr|\d+|_(?:least|fast)\d+)_t\b|\bU?INT(?:\d|MAX|PTR)|\bSIZE_MAX|\bPTRDIFF_M"),
    ("limits.h", r"\b(?:[SU]?CHAR|U?SHRT|U?INT|U?LL?ONG)_(?:MAX|MIN|BIT)\b"),
    ("float.h", r"\b(?:FLT|DBL)_[A-Z]"),
    ("stddef.h", r"\boffsetof\b|\bmax_align_t\b"),
    ("sys/types.h", r"\bu(?:int|short|long)\b"),
)  # fmt: skip


def write_prelude(source: str) -> str:
    """Includes of what nvcc has without an include and NVRTC lacks, as far as the text uses it."""
    return "".join(f"#include <{header}>\n" for header, words in _UNASKED if re.search(words, source))


def type_table() -> str:
    """The text that `types` adds after a cell: `TYPE_MACRO`'s definition."""
    return files("ufunc_magic.languages.cuda").joinpath("templates", "nvrtc", "types.hpp").read_text(encoding="utf-8")


def may_include(source: str) -> bool:
    """Whether the text may include anything."""
    return re.search(_INCLUDE, source) is not None


@functools.cache
def list_provided() -> dict[str, str]:
    """Headers that NVRTC lacks, by name: those that device code has a use for, and empty ones for all else."""
    folder = files("ufunc_magic.languages.cuda").joinpath("templates", "nvrtc", "include")
    real = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.is_file()}
    words = "".join(f"typedef unsigned {word} u{word};\n" for word in ("short", "int", "long"))
    return {**dict.fromkeys(_EMPTY, "#pragma once\n"), "sys/types.h": f"#pragma once\n{words}", **real}


def drop_provided(source: str) -> str:
    """The text without its includes of headers written here, except those that need CCCL's."""
    plain = list_provided().keys() - {"complex"}
    return re.sub(r"#[ \t]*include[ \t]*<([^>\n]*)>", lambda m: "" if m[1] in plain else m[0], source)


def list_key_parts(source: str) -> tuple[str, ...]:
    """The parts of a cache key for the headers written here."""
    if not may_include(source) and not write_prelude(source):
        return ()
    return tuple(part for pair in list_provided().items() for part in pair)


def find_device_files_read(source: str, options: Sequence[str]) -> FilesRead:
    """The headers of the user that a text may include; NVRTC reports none."""
    if not may_include(source):
        return FilesRead()
    arguments = [*options, f"-I{store.find_working_folder()}"]
    return find_files_named(drop_provided(source), arguments=arguments, provided=[*find_installed_headers().values()])


def list_folders(nvrtc: Nvrtc, source: str) -> list[str]:
    """Options that lead to CUDA's and CCCL's headers, and to those in the current folder.

    Installed ones serve where both are there: ``cuda_fp16.h`` includes some of CCCL's.  NVRTC unpacks its own
    into a folder of the cache where it carries them.
    """
    installed = find_installed_headers()
    here = [*(f"-I{folder}" for folder in find_cupy_headers(source)), f"-I{os.getcwd()}"]
    if nvrtc.bundles_headers and not {"cudart", "cccl"} <= installed.keys():
        unpacked = store.open_default().open_storage(f"nvrtc-{nvrtc.version[0]}.{nvrtc.version[1]}")
        return [f"--use-bundled-headers={unpacked}", *here]
    return [*(f"-I{folder}" for folder in installed.values()), *here]
