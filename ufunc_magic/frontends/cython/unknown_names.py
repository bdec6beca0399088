"""Names that Cython does not know: where they come from, or what they may be a slip of."""

from __future__ import annotations

import re

from .cython_vocabulary import cimport_of, close_to, members_like, module_like, type_like
from .syntax_hints import Place, Reading

__all__ = ["no_member", "no_module", "not_cimported", "undeclared"]


def undeclared(found: re.Match[str], place: Place) -> str | Reading:
    name, message = found[1], found.string
    said = _foreign_word(name, message, place)
    if not said and (module := cimport_of(name, cplus=_wants_cplus(place.cell))):
        said = f"Add this line at the top of the cell: from {module} cimport {name}"
        if module.startswith("libcpp"):
            said += "; and compile the cell as C++ with -+"
    if not said and "type identifier" in message and (like := type_like(name, place.cell)):
        said = f"Did you mean {like}?"
    if not said and "type identifier" not in message and (like := close_to(name, _names(place.cell))):
        said = f"Did you mean {like}?"
    if said:
        return said
    if "type identifier" in message:
        return f"Declare {name} with ctypedef, cdef struct or cdef class above this line, or cimport it."
    if "not a constant, variable" in message:
        return f"{name} is a module or a type here, not a value."
    return f"Define {name} in the cell, or pass it as a parameter: a cell does not see the notebook's names."


#: Words of Python 2, C and other languages -> what they are here.
_WORDS = {
    "np": "Add 'import numpy as np' to the cell for its functions, 'cimport numpy as np' for its types.",
    "numpy": "Add 'import numpy' to the cell for its functions, 'cimport numpy' for its types.",
    "cnp": "Add 'cimport numpy as cnp' at the top of the cell.",
    "math": "Add 'from libc cimport math' at the top of the cell: math.exp is then C's own, and fast.",
    "cython": "Add 'cimport cython' at the top of the cell.",
    "prange": "Add 'from cython.parallel cimport prange' at the top of the cell.",
    "parallel": "Add 'from cython.parallel cimport parallel' at the top of the cell.",
    "true": "Write True.",
    "false": "Write False.",
    "null": "Write NULL.",
    "nullptr": "Write NULL.",
    "None_": "Write None.",
    "long": "Python 3 has only int.",
    "unicode": "Python 3 has only str.",
    "xrange": "Python 3 has only range.",
    "raw_input": "Python 3 has only input.",
    "self": "Only methods of a class have self.",
    "bool": "Write bint for a C truth value.",
    "boolean": "Write bint for a C truth value.",
    "_Bool": "Write bint for a C truth value.",
    "byte": "Write signed char or unsigned char.",
    "uint": "Write unsigned int.",
    "ulong": "Write unsigned long.",
    "real": "Write double, or ctypedef double real.",
    "float64": "Write double.",
    "float32": "Write float.",
    "int64": "Write long long, or add 'cimport numpy as np' and write np.int64_t.",
    "int32": "Write int, or add 'cimport numpy as np' and write np.int32_t.",
    "uint8": "Write unsigned char, or add 'cimport numpy as np' and write np.uint8_t.",
    "complex128": "Write double complex.",
    "complex64": "Write float complex.",
    "ndarray": "Write a memoryview, double[:], or add 'cimport numpy as np' and write np.ndarray.",
    "T": "Name T at the top of the cell: ctypedef fused T: with 'float' and 'double' in lines of their own.",
    "auto": "Leave the type away: Cython finds it from the value.",
    "var": "Leave the word away, or write cdef and the type.",
    "string": "Write str for Python's, or for C++: from libcpp.string cimport string, and -+",
}


def _foreign_word(name: str, message: str, place: Place) -> str:
    if re.search(rf"^\s*#\s*define\s+{name}\b", place.cell, re.M):
        return f"To Cython '#define' is a comment: write {name} = ... or, for C, cdef enum: {name} = ..."
    if name in ("np", "cnp", "numpy") and "not declared" in message:
        return f"Add 'cimport numpy{'' if name == 'numpy' else f' as {name}'}' at the top of the cell."
    called = re.search(rf"\b{name}\.(\w+)\s*\(", place.text) if name in ("np", "numpy") else None
    if called and cimport_of(called[1], cplus=False) == "libc.math":
        module = "numpy as np" if name == "np" else "numpy"
        return f"For numbers write: from libc.math cimport {called[1]}; for arrays 'import {module}' in the cell."
    if name in ("float32_t", "float64_t", "complex64_t", "complex128_t", "npy_intp"):
        return f"Add 'cimport numpy as np' at the top of the cell and write np.{name}"
    if name == "string" and _wants_cplus(place.cell):
        return ""
    return _WORDS.get(name, "")


def not_cimported(found: re.Match[str], place: Place) -> str:
    module = re.search(rf"^\s*import\s+([\w.]+)(?:\s+as\s+{found[1]})?\s*$", place.cell, re.M)
    real = module[1] if module else "numpy" if found[1] == "np" else found[1]
    alias = "" if real == found[1] else f" as {found[1]}"
    return f"Types come by cimport; add: cimport {real}{alias}"


def no_member(found: re.Match[str], place: Place) -> str:
    alias = re.findall(r"(\w+)\s*$", place.text[: max(place.column - 1, 0)])
    if not alias:
        return ""
    module = re.search(rf"^\s*cimport\s+([\w.]+)\s+as\s+{alias[0]}\b", place.cell, re.M)
    parent = re.search(rf"^\s*from\s+([\w.]+)\s+cimport\b[^\n]*\b{alias[0]}\b", place.cell, re.M)
    full = module[1] if module else f"{parent[1]}.{alias[0]}" if parent else alias[0]
    like = members_like(full, found[1])
    return f"Did you mean {alias[0]}.{like}?" if like else f"Look into {full}.pxd for what it declares."


def _names(cell: str) -> set[str]:
    """Words that the cell binds somewhere."""
    words = set(re.findall(r"\b(?:def|class|import|cimport|as|for)\s+(\w+)", cell))
    words |= set(re.findall(r"\b(\w+)\s*(?=[=,):\[(])", cell))
    return {w for w in words if not w.isdigit()}


def _wants_cplus(cell: str) -> bool:
    return bool(re.search(r"\blibcpp\b|language\s*=\s*c\+\+|\bcppclass\b|\bexcept\s*\+", cell))


def no_module(found: re.Match[str], place: Place) -> str | Reading:
    wanted = re.sub(r"[/\\]", ".", found[1])
    parent, _, last = wanted.rpartition(".")
    asked = re.search(r"from\s+([\w.]+)\s+cimport\s+(.*)", place.text)
    if asked and asked[1] == parent:
        # Had the module itself not been found, that would have been said first.
        like = members_like(parent, last)
        hint = f"Did you mean {like}?" if like else f"Look into {parent}.pxd for what it declares."
        column = place.text.find(last, asked.start(2)) + 1
        return Reading(f"'{parent}' has no '{last}'", place.line, column, hint)
    if like := module_like(wanted):
        return f"What C declares is in {like}." if like.endswith(f".{wanted}") else f"Did you mean {like}?"
    return (
        f"cimport reads C declarations from {found[1]}.pxd: say where it is with -I FOLDER. "
        f"For a Python module write import."
    )
