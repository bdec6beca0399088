"""What the GPU's compiler knows of a cell's types, read from the PTX of a table that is appended to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...codegen import c_string, template
from ...model import SignatureError
from .nvrtc_discovery import Nvrtc
from .nvrtc_program import compile

__all__ = ["TYPE_MACRO", "types"]

#: ``__UFM_TYPE(T)`` in an expression: NumPy's type number of T, 255 where it has none.
TYPE_MACRO = "__UFM_TYPE"

_TABLE = r"\.global \.align \d+ \.b8 __ufm_types\[(?P<size>\d+)\](?: = \{(?P<bytes>[^}]*)\})?;"


def types(
    source: str,
    expressions: Sequence[str],
    *,
    name: str,
    cell: str = "",
    before: str = "",
    arch: str = "compute_75",
    options: Sequence[str] = (),
    nvrtc: Nvrtc | None = None,
) -> tuple[int, ...]:
    """Numbers that the compiler works out, such as types of functions and parameters.

    Parameters
    ----------
    source, name, cell, arch, options, nvrtc
        As for `compile`.
    expressions : sequence of str
        Constant expressions of 0 to 2**32 - 1 behind the cell: ``"__UFM_TYPE(decltype(f(1.0f)))"``,
        ``"sizeof(point)"``.
    before : str
        C++ to stand behind `TYPE_MACRO`'s definition and before the table: templates of the caller's.

    Returns
    -------
    tuple of int

    Raises
    ------
    CompileError, ToolchainError
        As `compile`; the cell's device functions are checked whether anything uses them or not.
    """
    values = ", ".join(f"(unsigned int)({e})" for e in expressions)
    # The sentinel: PTX says nothing of a table of zeros.
    table = f'extern "C" __device__ const unsigned int __ufm_types[] = {{{values}{", " if values else ""}1u}};'
    line = '#line 1 "<ufunc_magic>"'
    unit = "\n".join([_placed(source, name, cell), line, template("nvrtc/types.hpp"), before, table])
    made = compile(unit, name=name, cell=cell or source, arch=arch, options=["-rdc=false", *options], nvrtc=nvrtc)
    return read_table(made.text, len(expressions))


def read_table(ptx: str, count: int) -> tuple[int, ...]:
    """The numbers of the table in PTX."""
    found = re.search(_TABLE, ptx)
    if not found or int(found["size"]) != 4 * count + 4:
        raise SignatureError("The PTX holds no table of types.", remedy="Report it, with the cell.")
    data = bytes(int(word) for word in (found["bytes"] or "").split(",") if word.strip())
    data = data.ljust(int(found["size"]), b"\0")
    return tuple(int.from_bytes(data[4 * n : 4 * n + 4], "little") for n in range(count))


def _placed(source: str, name: str, cell: str) -> str:
    """The unit with a ``#line`` where it is the cell alone."""
    return source if cell and cell != source else f"#line 1 {c_string(name)}\n{source}"
