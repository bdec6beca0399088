"""C and C++ as a `Language`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ... import compilers
from ...cells import Language, make_c_key
from ...model import CompiledCell, ObjectCode, Options

#: Completed in cells of C, and of languages that contain it.
WORDS = (
    "auto bool break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "complex size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
)


class CLanguage(Language):
    """C and C++."""

    words = WORDS

    def make_key(self, source: str, *, options: Options) -> str:
        return make_c_key("c", source, options=options, tool=compilers.find(cplus=options.cplus))

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        from .c_unit import compile  # the parser: not for a cell from the cache

        return compile(source, options=options, name=name, folder=folder)

    def write_assembly(
        self, code: ObjectCode, more: Sequence[str], *, options: Options, folder: Path, this_cpu: bool
    ) -> Path | None:
        from .c_unit import write_assembly

        return write_assembly(code, more, options=options, folder=folder, this_cpu=this_cpu)

    def find_first_compiler(self) -> Callable[..., CompiledCell]:
        from .c_unit import compile

        return partial(compile, this_cpu=True)


LANGUAGE = CLanguage()
