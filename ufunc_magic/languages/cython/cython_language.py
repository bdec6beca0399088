"""Cython as a `Language`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...cells import Language
from ...model import CellPlace, CompiledCell, ObjectCode, OptionError, Options
from .cython_frontend import make_key

_PRECOMPILE = """
from ufunc_magic.languages import cython
from ufunc_magic.model import Options
cython.precompile_headers(options=Options(cplus={cplus}))
"""


class CythonLanguage(Language):
    """Cython."""

    words = (
        "cdef cpdef cimport ctypedef nogil gil noexcept except fused double float int long short char bint unsigned "
        "signed size_t Py_ssize_t inline struct enum extern"
    )

    annotates = True

    def make_key(self, source: str, *, options: Options) -> str:
        return make_key(source, options=options)

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        from .cython_unit import compile  # Cython: not for a cell from the cache

        return compile(source, options=options, name=name, folder=folder)

    def compose(self, source: str) -> str:
        return source  # Cython composes names itself

    def work_ahead(self, source: str, *, options: Options) -> str:
        from .python_headers import has_headers, is_cplus

        cplus = is_cplus(source, options=options)
        return "" if has_headers(cplus=cplus) else _PRECOMPILE.format(cplus=cplus)

    def check_views(self, object_code: ObjectCode) -> None:
        # With line numbers there are no clones: the code shown would not be the code that runs.
        raise OptionError(
            "--show does not work in Cython cells.", remedy="Use -a, which shows the C code of each line."
        )

    def view_annotation(self, annotation: Any, place: CellPlace) -> Any:
        from .annotate import Annotated

        return Annotated.from_json(annotation).place_at(place)


LANGUAGE = CythonLanguage()
