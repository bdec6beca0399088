"""What Cython's words about a line of a cell mean, what an unknown name may be, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from ._private import DIRECTIVES, INCLUDES
from .cdef_variant import PREFIX
from .syntax_hints import SYNTAX, Place, ShownMessage, depth_of, syntax_hint

_Advice = Callable[[re.Match[str], Place], "str | ShownMessage"]


def read(message: str, *, line: int, column: int, cell: str) -> ShownMessage:
    """What Cython's ``message`` about a place of the cell means.

    Parameters
    ----------
    message : str
    line, column : int
        From 1; 0 for a place that is not in the cell.
    cell : str

    Returns
    -------
    ShownMessage
        With another message, line and column where the cell shows what the fault really is.
    """
    lines = cell.split("\n")
    place = Place(line, column, lines[line - 1] if 0 < line <= len(lines) else "", cell)
    message = message.strip().replace(PREFIX, "").removesuffix(".")
    hint: str | ShownMessage = syntax_hint(place, message) if line and re.search(SYNTAX, message) else ""
    for pattern, advice in _ADVICE:
        if not hint and (match := re.search(pattern, message)):
            hint = advice if isinstance(advice, str) else advice(match, place)
    return hint if isinstance(hint, ShownMessage) else ShownMessage(message, line, column, hint)


def _needs_gil(match: re.Match[str], place: Place) -> str:
    called = re.findall(r"(\w+)\s*$", place.text[: max(place.column - 1, 0)])
    name = called[0] if called else ""
    if name and (head := re.search(rf"^\s*((?:cdef|cpdef)\b[^\n=]*\b{name}\s*\(.*\).*?)\s*:\s*$", place.cell, re.M)):
        return f"Declare that {name} needs no GIL: {head[1]} nogil:"
    if name == "print":
        return "print needs the GIL: put it under 'with gil:', or call C's printf (from libc.stdio cimport printf)."
    return _python_without_gil(match, place)


def _python_without_gil(match: re.Match[str], place: Place) -> str:
    return "This line works with Python objects: give it C types, put it under 'with gil:', or take nogil away."


_INTEGERS = ("int", "long", "short", "char", "size_t", "unsigned int", "long long", "Py_ssize_t", "bint")


def _assigned(match: re.Match[str], place: Place) -> str:
    source, target = match[1], match[2]
    if target == "void" and "except" in place.text:
        return "A void function has no value to tell an error by: write except *"
    if "[:" in source and target.endswith("*"):
        return "A memoryview is not a pointer: take the address of its first element, &a[0] (declare it double[::1])."
    if "(" in source and "(" in target:
        return "The function and the pointer differ in their types, nogil or except clause: declare both alike."
    if source in ("double", "float", "long double") and target in _INTEGERS:
        whole = ", or divide with //" if re.search(r"[^/]/[^/]", place.text) else ""
        return f"Say that the fraction is to be cut off: <{target}>x{whole}"
    if "complex" in source and "complex" not in target:
        return "Take the part that you want: z.real, z.imag or abs(z)."
    if source == "void *" and target.endswith("*"):
        return f"Say what it points at: <{target}>malloc(...)"
    if source.endswith("*") and not target.endswith("*"):
        return "This is a pointer: take the value that it points at, p[0]."
    if target.endswith("*") and not source.endswith("*"):
        return "Take the address of a variable, &x, if that is meant."
    if target.startswith("("):
        return "Return as many values as the function's result has: return a, b"
    if target.endswith(" object") or target in ("str", "bytes", "list", "dict", "tuple"):
        return f"Convert it first: {target.removesuffix(' object')}(x)"
    return ""


def _to_python(match: re.Match[str], place: Place) -> str:
    if match[1].endswith("*"):
        return "Python knows no pointers: give back the value, p[0], or declare the variable or the function with cdef."
    return "Python cannot hold this C type: give back its parts, or declare the variable or the function with cdef."


def _decorated(match: re.Match[str], place: Place) -> str:
    if "cython." in place.text and not re.search(r"^\s*c?import\s+cython\b|^\s*from\s+cython\b", place.cell, re.M):
        return "Add 'cimport cython' at the top of the cell."
    return "Take the decorator away, or make the function def; cdef functions take those of the module cython only."


def _directive(match: re.Match[str], place: Place) -> str:
    like = _directive_like(match[1])
    return f"Did you mean {like}?" if like else f"The module cython has no {match[1]}."


def _misplaced(match: re.Match[str], place: Place) -> str:
    number = place.line
    lines = place.cell.split("\n")
    while number > 1 and depth_of(lines[number - 1]) >= depth_of(place.text):
        number -= 1
    if re.match(r"\s*class\b", lines[number - 1]):
        return f"Only a 'cdef class' has C fields: write cdef before class in line {number}."
    return "Move the cdef to the start of the function, above the block; the assignment may stay."


# ------------------------------------------------------------------------------------- unknown names


def _undeclared(match: re.Match[str], place: Place) -> str | ShownMessage:
    name, message = match[1], match.string
    if hint := _foreign_word(name, message, place):
        return hint
    if module := _cimport_of(name, cplus=_wants_cplus(place.cell)):
        hint = f"Add this line at the top of the cell: from {module} cimport {name}"
        return f"{hint}; and compile the cell as C++ with -+" if module.startswith("libcpp") else hint
    type_wanted = "type identifier" in message
    if like := _type_like(name, place.cell) if type_wanted else _close_to(name, _names(place.cell)):
        return f"Did you mean {like}?"
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
    if called and _cimport_of(called[1], cplus=False) == "libc.math":
        module = "numpy as np" if name == "np" else "numpy"
        return f"For numbers write: from libc.math cimport {called[1]}; for arrays 'import {module}' in the cell."
    if name in ("float32_t", "float64_t", "complex64_t", "complex128_t", "npy_intp"):
        return f"Add 'cimport numpy as np' at the top of the cell and write np.{name}"
    if name == "string" and _wants_cplus(place.cell):
        return ""
    return _WORDS.get(name, "")


def _not_cimported(match: re.Match[str], place: Place) -> str:
    module = re.search(rf"^\s*import\s+([\w.]+)(?:\s+as\s+{match[1]})?\s*$", place.cell, re.M)
    real = module[1] if module else "numpy" if match[1] == "np" else match[1]
    alias = "" if real == match[1] else f" as {match[1]}"
    return f"Types come by cimport; add: cimport {real}{alias}"


def _no_member(match: re.Match[str], place: Place) -> str:
    alias = re.findall(r"(\w+)\s*$", place.text[: max(place.column - 1, 0)])
    if not alias:
        return ""
    module = re.search(rf"^\s*cimport\s+([\w.]+)\s+as\s+{alias[0]}\b", place.cell, re.M)
    parent = re.search(rf"^\s*from\s+([\w.]+)\s+cimport\b[^\n]*\b{alias[0]}\b", place.cell, re.M)
    full = module[1] if module else f"{parent[1]}.{alias[0]}" if parent else alias[0]
    like = _members_like(full, match[1])
    return f"Did you mean {alias[0]}.{like}?" if like else f"Look into {full}.pxd for what it declares."


def _names(cell: str) -> set[str]:
    """Words that the cell binds somewhere."""
    words = set(re.findall(r"\b(?:def|class|import|cimport|as|for)\s+(\w+)", cell))
    words |= set(re.findall(r"\b(\w+)\s*(?=[=,):\[(])", cell))
    return {w for w in words if not w.isdigit()}


def _wants_cplus(cell: str) -> bool:
    return bool(re.search(r"\blibcpp\b|language\s*=\s*c\+\+|\bcppclass\b|\bexcept\s*\+", cell))


def _no_module(match: re.Match[str], place: Place) -> str | ShownMessage:
    name = re.sub(r"[/\\]", ".", match[1])
    parent, _, last = name.rpartition(".")
    cimport = re.search(r"from\s+([\w.]+)\s+cimport\s+(.*)", place.text)
    if cimport and cimport[1] == parent:
        # Had the module itself not been found, that would have been said first.
        like = _members_like(parent, last)
        hint = f"Did you mean {like}?" if like else f"Look into {parent}.pxd for what it declares."
        column = place.text.find(last, cimport.start(2)) + 1
        return ShownMessage(f"'{parent}' has no '{last}'", place.line, column, hint)
    if like := _module_like(name):
        return f"What C declares is in {like}." if like.endswith(f".{name}") else f"Did you mean {like}?"
    return (
        f"cimport reads C declarations from {match[1]}.pxd: say where it is with -I FOLDER. "
        f"For a Python module write import."
    )


# ------------------------------------------------------------------------------- what Cython ships

#: Where a name of several headers is looked for first.
_FIRST = ("libc.math", "libc.stdlib", "libc.stdio", "libc.stdint", "libc.string", "libc.float", "libc.limits")
_FIRST_CPLUS = ("libcpp.vector", "libcpp.string", "libcpp.map", "libcpp.set", "libcpp.algorithm", "libcpp.cmath")
_TYPES = (
    "double float int long short char void bint size_t Py_ssize_t unsigned signed object complex str bytes list dict "
    "tuple set const struct enum union inline public api readonly ndarray"
).split()


def _cimport_of(name: str, *, cplus: bool) -> str:
    """The module to cimport ``name`` from, ``"libc.math"``, or ``""``."""
    if cplus and (module := _table("libcpp", _FIRST_CPLUS).get(name)):
        return module
    return _table("libc", _FIRST).get(name) or _table("libcpp", _FIRST_CPLUS).get(name, "")


def _close_to(name: str, words: Iterable[str], *, cutoff: float = 0.75) -> str:
    """The one of ``words`` that ``name`` may be a slip of, or ``""``."""
    near = get_close_matches(name, sorted(set(words) - {name}), n=1, cutoff=cutoff)
    return near[0] if near and len(name) > 2 else ""


def _type_like(name: str, cell: str) -> str:
    """The C type, or type of the cell, that ``name`` may be a slip of, or ``""``."""
    own = re.findall(r"\b(?:ctypedef\s+[\w\s*]*?|(?:class|struct|enum|union|fused)\s+)(\w+)\s*(?::|$)", cell, re.M)
    return _close_to(name, [*_TYPES, *own])


def _directive_like(name: str) -> str:
    """The name in the module ``cython`` that ``name`` may be a slip of, or ``""``."""
    known = [*DIRECTIVES, *"inline locals returns ufunc cclass cfunc ccall nogil".split()]
    return f"cython.{like}" if (like := _close_to(name, known)) else ""


def _members_like(module: str, name: str) -> str:
    """The name in a module of Cython's that ``name`` may be a slip of, or ``""``."""
    folder = INCLUDES.joinpath(*module.split("."))
    path = next((p for p in (folder.with_suffix(".pxd"), folder / "__init__.pxd") if p.exists()), None)
    return _close_to(name, _declared(path), cutoff=0.66) if path else ""


def _module_like(name: str) -> str:
    """The module of Cython's that ``name`` may be a slip of, or ``""``."""
    own = [module for module in _modules() if module.endswith(f".{name}")]
    return own[0] if own else _close_to(name, _modules())


@cache
def _modules() -> tuple[str, ...]:
    parts = (path.relative_to(INCLUDES).with_suffix("").parts for path in sorted(INCLUDES.rglob("*.pxd")))
    return tuple(".".join(p for p in names if p != "__init__") for names in parts)


@cache
def _table(package: str, first: tuple[str, ...]) -> dict[str, str]:
    """Name -> module that declares it."""
    table: dict[str, str] = {}
    modules = [m for m in _modules() if m.startswith(f"{package}.")]
    for module in sorted(modules, key=lambda m: (first.index(m) if m in first else len(first), m)):
        path = INCLUDES.joinpath(*module.split(".")).with_suffix(".pxd")
        for name in _declared(path):
            table.setdefault(name, module)
    return table


@cache
def _declared(path: Path) -> frozenset[str]:
    """Names that a declaration file declares at its own level, as far as its lines show."""
    names: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].rstrip()
        if not re.match(r" {0,4}\S", line) or re.match(r"\s*(?:from|cimport|import)\b", line):
            continue
        if match := next((m for pattern in _DECLARATIONS if (m := re.match(pattern, line))), None):
            names.add(match[1])
    return frozenset(names)


_DECLARATIONS = (
    r"\s*(?:cdef\s+)?(?:cppclass|struct|union|enum|class|ctypedef\s+struct)\s+(\w+)",
    r"[\w\s*&<>,.\[\]]*?\b(\w+)\s*(?:\[[^\]]*\])?\s*(?:\"[^\"]*\")?\s*\(",
    r"\s+(?:ctypedef |const |enum: ?)?(?:[\w*]+ +)*[*]*(\w+)(?:\s*\"[^\"]*\")?$",
)


# ------------------------------------------------------------------------------------------ advice

_ADVICE: tuple[tuple[str, _Advice | str], ...] = (
    (r"undeclared name not builtin: (\w+)", _undeclared),
    (r"'(\w+)' is not a type identifier", _undeclared),
    (r"'(\w+)' is not declared", _undeclared),
    (r"'(\w+)' is not a constant, variable or function identifier", _undeclared),
    (r"unknown type in template argument()", "Declare the type in the brackets, or cimport it."),
    (r"'(\w+)' is not a cimported module", _not_cimported),
    (r"'([\w/\\.]+)\.pxd' not found", _no_module),
    (r"cimported module has no attribute '(\w+)'", _no_member),
    (r"Unknown type declaration 'cython\.(\w+)'",
     lambda m, place: f"Did you mean cython.{like}?" if (like := _type_like(m[1], "")) else ""),
    (r"directive takes one compile-time boolean", "Write True or False."),
    (r"starred expression is not allowed", "A pointer's value is p[0]; a product has a factor on both sides."),
    (r"Invalid operand types for '\^'", "^ is exclusive or of integers: write x**2."),
    (r"Invalid operand types for '(?:<<|>>|&|\|)'", "This operator is for integers: give both sides an integer type."),
    (r"Non-extern C function '(\w+)' declared but not defined",
     "End the line with a colon and write the body below; what C has elsewhere is declared under cdef extern from."),
    (r"'([^']+\.(?:pxi|pyx))' not found", "Say where it is with -I FOLDER."),
    (r"Calling gil-requiring function", _needs_gil),
    (r"(?i)without (?:the )?gil$", _python_without_gil),
    (r"has Python locals or temporaries", "Give every variable of the function a C type, or take nogil away."),
    (r"Suggest(?:ed)? adding", "Declare the function noexcept, or the pointer's type with the same except clause."),
    (r"Cannot assign type '([^']*)' to '([^']*)'", _assigned),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'([^']*\(\*\)[^']*)'",
     "A C function pointer takes a cdef function only, not a lambda or a def."),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'([^']*)\*'",
     "Python has no pointers to pass: take a memoryview, double[::1] x, and its address &x[0]."),
    (r"Cannot convert '([^']*)' to Python object", _to_python),
    (r"cdef statement not allowed here", _misplaced),
    (r"C function definition not allowed here",
     "C functions stand outside of other functions and blocks: move it to the top of the cell, or use def."),
    (r"Buffer types only allowed as function local variables",
     "Use a memoryview, double[:], in its place: it is allowed everywhere."),
    (r"Return type is not specified as argument type",
     "The fused type of a result must be the type of a parameter too; else name one C type."),
    (r"specialized|fused type", "A fused type can be used only where a parameter fixes which type it is."),
    (r"Not allowed in a constant expression",
     "The size of a C array must be a number: use a memoryview of np.empty(n), or malloc."),
    (r"Cdef functions cannot take arbitrary decorators", _decorated),
    (r"'(\w+)' not a valid cython (?:language construct|attribute)", _directive),
    (r"Invalid directive: '(\w+)'", _directive),
    (r"directive must be set to True or False", "Write True or False."),
    (r"only allowed in c\+\+|C\+\+ .*not (?:allowed|supported)|not in c\+\+ mode", "Compile the cell as C++ with -+"),
    (r"'yield' not supported here", "Only a def function can be a generator."),
    (r"Exception clause not allowed for function returning Python object",
     "Take the except clause away: such a function passes exceptions on by itself."),
    (r"Exception value incompatible", "Give an error value of the result's type; for void write: except *"),
    (r"Expected 'else'", "A value by condition has both: a if condition else b"),
    (r"complex types are unordered", "Compare z.real, z.imag or abs(z)."),
    (r"Unicode literals do not support coercion", "Write bytes for C text: b\"...\""),
    (r"wrong number of arguments", "Compare the call with the function's parameters."),
    (r"ctuple of wrong length", "Return as many values as the function's result has."),
    (r"Function signature does not match previous declaration",
     "A function of this name is there already, with other types: rename one, or use a fused type."),
    (r"'(\w+)' redeclared", lambda m, place: f"Rename one {m[1]}."),
    (r"Too many indices specified for type (\S+)",
     lambda m, place: f"Declare it with more dimensions: {m[1][:-1]}, :]"),
    (r"contiguous specifier",
     "Only one dimension is ::1: the last ([:, ::1], C order) or the first ([::1, :], Fortran)."),
    (r"Cannot assign default value to fields", "Set the field in __cinit__ or __init__: self.x = 3"),
    (r"Python objects cannot be cast to pointers", "Take a memoryview and the address of its first element: &x[0]."),
    (r"cannot be used as a ufunc argument|ufunc",
     "A ufunc takes and returns C numbers: double, float, int, double complex..."),
    (r"(?:Return|break|continue|Break|Continue)\b.* not inside", "It belongs into a function or a loop."),
    (r"Decoding error|unprintable", "Save the text as UTF-8."),
    (r"assignment to const|Assignment to const", "Take const away, or write into a variable of its own."),
    (r"Assignment to non-lvalue|Cannot assign to or delete this",
     "Only a variable, an element or an attribute can be assigned to."),
    (r"Unrecognised type modifier", "C has no such type: long double is the longest."),
)  # fmt: skip
