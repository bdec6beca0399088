"""Tracebacks of a Cython cell's functions, on the lines of whatever cell has them now.

Cython writes the name of the file and numbers of lines into its C.  Here its function that makes the frames of a
traceback learns to take the name, and the lines above the source, from a variable that `ufunc_magic.runtime` sets when
the module is opened and whenever another cell with the same text finds it in the cache.
"""

from __future__ import annotations

import re

from ...codegen import quote_c

#: The declaration of Cython's function, which is defined for each of its two ways into Python.
_DECLARED = re.compile(
    r"static void __Pyx_AddTraceback\(const char \*funcname, int c_line,\s+int py_line, const char \*filename\);.*\n"
)
#: The key of its code objects, which have the name, too.
_KEY = "c_line ? -c_line : py_line"

_VARIABLE = """\
#ifdef __cplusplus
extern "C" {
#endif
typedef struct { const char *name; int before, generation; } __ufm_place_type;
extern __attribute__((visibility("default"))) __ufm_place_type __ufm_place;
__ufm_place_type __ufm_place;
#ifdef __cplusplus
}
#endif
"""


def add_place(c: str, *, name: str) -> str:
    """Cython's C with tracebacks whose name and lines of the cell, called ``name`` there, can be set.

    It is unchanged where Cython writes its function as no version before: tracebacks then have the name that the cell
    had when it was compiled, and the source's own lines.
    """
    declared = _DECLARED.search(c)
    head = f"{declared[0].partition(';')[0]} {{\n" if declared else ""
    if declared is None or head not in c:
        return c
    place = (
        f"if (__ufm_place.name && !strcmp(filename, {quote_c(name)})) "
        "{ py_line += __ufm_place.before; filename = __ufm_place.name; }\n"
    )
    before, after = c[: declared.end()], c[declared.end() :]
    return (
        before
        + _VARIABLE
        + after.replace(head, head + place).replace(_KEY, f"({_KEY}) + (__ufm_place.generation << 20)")
    )


def has_place(c: str) -> bool:
    """Whether `add_place` knew the function that makes tracebacks."""
    return _VARIABLE in c
