"""Tab completion inside cells: their own words, the language's, and what included headers declare."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

from ..model import LANGUAGES

_MAGIC = re.compile(r"\s*%%(c_ufunc|cython_ufunc|cuda_device)\b(.*)")
_C = (
    "auto bool break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "complex size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
)
_KEYWORDS = {
    "c": _C,
    "cuda": f"{_C} __device__ __global__ __host__ __shared__ __constant__ __syncthreads threadIdx blockIdx blockDim "
    "gridDim template class operator namespace using",
    "cython": "cdef cpdef cimport ctypedef nogil gil noexcept except fused double float int long short char bint "
    "unsigned signed size_t Py_ssize_t inline struct enum extern",
}
_OF_MAGIC = {magic.removeprefix("%%"): language for language, (_, magic) in LANGUAGES.items()}
#: Comments and strings, whose words are no names.
_NO_NAMES = {
    "cython": re.compile(r"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'"),
    "c": re.compile(r"//[^\n]*|/\*(?s:.*?)\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"),
}
_SYSTEM = ("/usr/local/include", "/usr/include")


def matcher(context: CompletionContext) -> SimpleMatcherResult:
    """Matcher of IPython's API version 2, for the lines below a magic.

    In C the answers stand alone, for Jedi would read the cell as Python; in Cython they stand beside Python's.
    """
    lines = context.full_text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic = _MAGIC.match(lines[first])
    if magic is None or context.cursor_line <= first:
        return {"completions": []}
    language = _OF_MAGIC[magic[1]]
    before = lines[context.cursor_line][: context.cursor_position]
    typed = re.search(r"[A-Za-z_]\w*$", before)
    in_c = language != "cython"
    if typed is None or (not in_c and before[: typed.start()].endswith(".")):
        return {"completions": [], "suppress": in_c}
    rest = lines[context.cursor_line][context.cursor_position :]
    above, below = lines[first + 1 : context.cursor_line], lines[context.cursor_line + 1 :]
    text = "\n".join([*above, f"{before[: typed.start()]} {rest}", *below])
    own = re.findall(r"[A-Za-z_]\w*", _NO_NAMES["c" if in_c else language].sub(" ", text))
    words = [*own, *_KEYWORDS[language].split()]
    if in_c:
        from ..toolchain import declared_by  # not before the first Tab

        folders = re.findall(r"(?:-I|--include)[ =]?(\S+)", magic[2])
        for name in re.findall(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)", text, re.MULTILINE):
            words += declared_by(name) or _declared_in(name, (".", *folders, *_SYSTEM))
    offered = sorted({word for word in words if word.startswith(typed[0]) and word != typed[0]})
    return {
        "completions": [SimpleCompletion(word, type="name") for word in offered],
        "matched_fragment": typed[0],
        "suppress": in_c,
    }


matcher.matcher_api_version = 2  # type: ignore[attr-defined]
matcher.matcher_identifier = "ufunc_magic.names"  # type: ignore[attr-defined]
matcher.matcher_priority = 100  # type: ignore[attr-defined]


def _declared_in(header: str, folders: Iterable[str]) -> tuple[str, ...]:
    for folder in folders:
        path = Path(folder).expanduser() / header
        try:
            return _names_of(path, path.stat().st_mtime_ns)
        except OSError:
            continue
    return ()


@functools.lru_cache(maxsize=64)
def _names_of(path: Path, changed: int) -> tuple[str, ...]:
    """Functions, macros and types that a header of this time declares, as far as its own text tells."""
    text = _NO_NAMES["c"].sub(" ", path.read_text(encoding="utf-8", errors="replace"))
    patterns = (r"\b([A-Za-z]\w*)\s*\(", r"^\s*#\s*define\s+([A-Za-z]\w*)", r"\b([A-Za-z]\w*)\s*;")
    return tuple(dict.fromkeys(name for pattern in patterns for name in re.findall(pattern, text, re.MULTILINE)))
