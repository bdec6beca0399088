"""What Cython's words about a line of a cell mean, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from .cython_vocabulary import directive_like, type_like
from .syntax_hints import SYNTAX, Place, Reading, depth_of, habit
from .unknown_names import no_member, no_module, not_cimported, undeclared

__all__ = ["read"]

#: How Cython is made to call a function that stands beside a def function: no name of the user's.
TWIN = "__ufm_def_"

_Advice = Callable[[re.Match[str], Place], "str | Reading"]


def read(message: str, *, line: int, column: int, cell: str) -> Reading:
    """What Cython's ``message`` about a place of the cell means.

    Parameters
    ----------
    message : str
    line, column : int
        From 1; 0 for a place that is not in the cell.
    cell : str

    Returns
    -------
    Reading
        With another message, line and column where the cell shows what the fault really is.
    """
    lines = cell.split("\n")
    place = Place(line, column, lines[line - 1] if 0 < line <= len(lines) else "", cell)
    message = message.strip().replace(TWIN, "").removesuffix(".")
    made = Reading(message, line, column, "")
    if line and re.search(SYNTAX, message) and (said := habit(place, message)):
        return said if isinstance(said, Reading) else Reading(message, line, column, said)
    for pattern, advice in _ADVICE:
        if found := re.search(pattern, message):
            said = advice if isinstance(advice, str) else advice(found, place)
            if isinstance(said, Reading):
                return said
            if said:
                return Reading(message, line, column, said)
    return made


def _needs_gil(found: re.Match[str], place: Place) -> str:
    called = re.findall(r"(\w+)\s*$", place.text[: max(place.column - 1, 0)])
    name = called[0] if called else ""
    if name and (head := re.search(rf"^\s*((?:cdef|cpdef)\b[^\n=]*\b{name}\s*\(.*\).*?)\s*:\s*$", place.cell, re.M)):
        return f"Declare that {name} needs no GIL: {head[1]} nogil:"
    if name == "print":
        return "print needs the GIL: put it under 'with gil:', or call C's printf (from libc.stdio cimport printf)."
    return _python_without_gil(found, place)


def _python_without_gil(found: re.Match[str], place: Place) -> str:
    return "This line works with Python objects: give it C types, put it under 'with gil:', or take nogil away."


_INTEGERS = ("int", "long", "short", "char", "size_t", "unsigned int", "long long", "Py_ssize_t", "bint")


def _assigned(found: re.Match[str], place: Place) -> str:
    source, target = found[1], found[2]
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


def _to_python(found: re.Match[str], place: Place) -> str:
    if found[1].endswith("*"):
        return "Python knows no pointers: give back the value, p[0], or declare the variable or the function with cdef."
    return "Python cannot hold this C type: give back its parts, or declare the variable or the function with cdef."


def _decorated(found: re.Match[str], place: Place) -> str:
    if "cython." in place.text and not re.search(r"^\s*c?import\s+cython\b|^\s*from\s+cython\b", place.cell, re.M):
        return "Add 'cimport cython' at the top of the cell."
    return "Take the decorator away, or make the function def; cdef functions take those of the module cython only."


def _directive(found: re.Match[str], place: Place) -> str:
    like = directive_like(found[1])
    return f"Did you mean {like}?" if like else f"The module cython has no {found[1]}."


def _misplaced(found: re.Match[str], place: Place) -> str:
    number = place.line
    lines = place.cell.split("\n")
    while number > 1 and depth_of(lines[number - 1]) >= depth_of(place.text):
        number -= 1
    if re.match(r"\s*class\b", lines[number - 1]):
        return f"Only a 'cdef class' has C fields: write cdef before class in line {number}."
    return "Move the cdef to the start of the function, above the block; the assignment may stay."


_ADVICE: tuple[tuple[str, _Advice | str], ...] = (
    (r"undeclared name not builtin: (\w+)", undeclared),
    (r"'(\w+)' is not a type identifier", undeclared),
    (r"'(\w+)' is not declared", undeclared),
    (r"'(\w+)' is not a constant, variable or function identifier", undeclared),
    (r"unknown type in template argument()", "Declare the type in the brackets, or cimport it."),
    (r"'(\w+)' is not a cimported module", not_cimported),
    (r"'([\w/\\.]+)\.pxd' not found", no_module),
    (r"cimported module has no attribute '(\w+)'", no_member),
    (r"Unknown type declaration 'cython\.(\w+)'",
     lambda m, place: f"Did you mean cython.{like}?" if (like := type_like(m[1], "")) else ""),
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
