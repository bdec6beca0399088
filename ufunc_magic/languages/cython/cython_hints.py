"""Advice on the errors that people often meet in Cython cells.

Cython reports the place where its parser stopped, which is often the line after the fault, or the end of the cell.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches

from ...compilers import find_header
from ...model import Diagnostic
from ._private import DIRECTIVES
from .cdef_variant import PREFIX


def read(complaint: Diagnostic, *, cell: str) -> Diagnostic:
    """Explain ``complaint``: with advice, and with a better message and place where the cell shows the fault.

    Parameters
    ----------
    complaint : Diagnostic
        With no file where it is about the cell.
    cell : str
    """
    lines = cell.split("\n")
    inside = not complaint.file and complaint.line
    text = lines[complaint.line - 1] if inside and complaint.line <= len(lines) else complaint.text
    shown = replace(complaint, message=complaint.message.strip().replace(PREFIX, "").removesuffix("."))
    if inside and re.search(_SYNTAX, shown.message):
        return _explain_syntax(shown, text, lines)
    if match := re.search(_UNKNOWN, shown.message):
        name = match[match.lastindex or 0]
        return replace(shown, hint=_explain_unknown(name, cell, is_type="not a type" in shown.message))
    if match := re.search(r"'(.+)\.pxd' not found", shown.message):
        return _explain_module(shown, re.sub(r"[/\\]", ".", match[1]), text)
    for pattern, hint in _ADVICE:
        if match := re.search(pattern, shown.message):
            return replace(shown, hint=hint.format(*match.groups()))
    return shown


#: Pattern of a message -> advice, with the groups of the pattern in braces; the first that matches.
_ADVICE: tuple[tuple[str, str], ...] = (
    (r"'np' is not a cimported module", "To use its types, add: cimport numpy as np"),
    (r"Calling gil-requiring function",
     "Declare the called function nogil, or put the line under 'with gil:'. C's printf does not need the GIL."),
    (r"(?i)without (?:the )?gil$",
     "This line uses Python objects. Use C types, put it under 'with gil:', or remove nogil."),
    (r"Cannot assign type '[^']*\[:[^']*' to '[^']*\*'",
     "A memoryview is not a pointer. Use the address of its first element, &a[0], and declare it double[::1]."),
    (r"Cannot assign type '(?:float|double|long double)' to '([\w ]*(?:int|long|short|char|size_t))'",
     "To cut off the fraction, write <{0}>x. To divide integers, use //"),
    (r"Cannot assign type 'void \*' to '([^']*\*)'", "Cast it to the pointer type: <{0}>malloc(...)"),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'[^']*\(\*\)",
     "Pass a cdef function: a C function pointer does not accept a lambda or a def function."),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'[^']*\*'|Python objects cannot be cast to pointers",
     "Python cannot pass pointers. Use a memoryview, double[::1] x, and its address &x[0]."),
    (r"cdef statement not allowed here",
     "Move the cdef to the start of the function, above the block. In a class, C fields need a 'cdef class'."),
    (r"Buffer types only allowed as function local variables",
     "Use a memoryview such as double[:] instead; it is allowed everywhere."),
    (r"Not allowed in a constant expression",
     "The size of a C array must be a constant. Use a memoryview of np.empty(n), or malloc."),
    (r"Cdef functions cannot take arbitrary decorators",
     "Add 'cimport cython' at the top of the cell: cdef functions accept only decorators of that module."),
    (r"only allowed in c\+\+|C\+\+ .*not (?:allowed|supported)|not in c\+\+ mode", "Compile the cell as C++ with -+"),
    (r"First base of '(\w+)' is not an extension type",
     "To derive from a Python class, write: class {0}(...). For a cdef class of another cell, compile that cell with "
     "-n NAME, declare the class in NAME.pxd, and cimport it."),
    (r"Invalid operand types for '\^'", "^ is bitwise exclusive or of integers. Write x**2."),
)  # fmt: skip


# ------------------------------------------------------------------------------------- unknown names

_UNKNOWN = (
    r"undeclared name not builtin: (\w+)|'(\w+)' is not (?:a type identifier|declared|a constant, variable or function)"
    r"|'(\w+)' not a valid cython (?:language construct|attribute)"
)
#: Names that have a meaning elsewhere -> advice.
_WORDS = {
    "np": "Add 'import numpy as np' to the cell for its functions, 'cimport numpy as np' for its types; for numbers: "
          "from libc.math cimport exp",
    "math": "Use C's fast functions: from libc.math cimport exp",
    "cython": "Add 'cimport cython' at the top of the cell.",
    "prange": "Add 'from cython.parallel cimport prange' at the top of the cell.",
    "true": "Write True.",
    "false": "Write False.",
}  # fmt: skip
_CONTAINERS = frozenset("vector string map set pair list deque queue stack unordered_map unordered_set".split())
_C_MODULES = frozenset("complex errno float limits math signal stddef stdint stdio stdlib string time".split())
_TYPES = (
    "double float int long short char void bint size_t Py_ssize_t unsigned signed object complex const struct".split()
)


def _explain_unknown(name: str, cell: str, *, is_type: bool) -> str:
    if name in _WORDS:
        return _WORDS[name]
    if name in _CONTAINERS:
        top = f"Add this line at the top of the cell: from libcpp.{name} cimport {name}"
        return f"{top}; and compile the cell as C++ with -+"
    if (module := find_header(name).removesuffix(".h")) in _C_MODULES:
        return f"Add this line at the top of the cell: from libc.{module} cimport {name}"
    near = get_close_matches(name, sorted({*re.findall(r"\w+", cell), *_TYPES, *DIRECTIVES} - {name}), 1, 0.66)
    if near and len(name) > 2:
        return f"Did you mean {near[0]}?"
    if is_type:
        other = f"compile that cell with -n NAME, declare the type in NAME.pxd, and add: from NAME cimport {name}"
        return f"Define {name} in the cell. For a type of another cell, {other}"
    return f"Define {name} in the cell, or pass it as a parameter: a cell cannot use the notebook's names."


def _explain_module(shown: Diagnostic, module: str, text: str) -> Diagnostic:
    parent, _, name = module.rpartition(".")
    # Cython looks for each name of a cimport as a module; if the module itself were missing, Cython would report that.
    if (cimport := re.search(r"from\s+([\w.]+)\s+cimport\s+", text)) and cimport[1] == parent:
        return replace(shown, message=f"'{parent}' has no '{name}'", column=text.find(name, cimport.end()) + 1)
    file = shown.message.split("'")[1]
    here = "cimport reads C declarations, for example from libc.math"
    return replace(shown, hint=f"{here}. Name the folder of {file} with -I FOLDER. For Python modules, use import.")


# --------------------------------------------------------------------------------------------- syntax

_SYNTAX = r"^Syntax error|^Expected |indentation|^Unrecognized character|^Unexpected token .* in string"
_C_TYPE = r"(?:(?:unsigned|const|static|inline|long)\s+)*(?:double|float|int|long|short|char|void|size_t|unsigned)"
#: Pattern in the line that Cython points at -> advice.
_SLIPS: tuple[tuple[str, str], ...] = (
    (r"^\s*%%?\w+", "A magic must be the first line of its cell. Remove this line, or move it to the top."),
    (r"^\s*\w[\w\s*]*\([^()]*\)\s*\{",
     "This is C. Use %%c_ufunc for it. In Cython, the line ends with a colon and the body is indented."),
    (rf"^\s*{_C_TYPE}[\s*]+\w+\s*\(.*\).*:\s*$", "A C function starts with cdef or cpdef: cdef double f(double x):"),
    (rf"^\s*{_C_TYPE}[\s*]+\w+\s*(?:=.*|,.*|\[.*)?;?\s*$", "A C variable is declared with cdef: cdef double y = 0"),
    (r"(?:^|[:;])\s*print\s+[^(=]", "print is a function: print(x). Compile a cell in Python 2 with -2"),
    (r"(?:^|[:;])\s*exec\s+[^(=]", "exec is a function: exec(x). Compile a cell in Python 2 with -2"),
    (r"&&|\|\|", "Write 'and' for &&, 'or' for ||."),
    (rf"\(\s*{_C_TYPE}\s*\**\s*\)\s*[\w(]", "Write a cast with angle brackets: <double>x"),
    (r"\+\+|--", "Write i += 1 for i++, i -= 1 for i--."),
    (r"^\s*(?:if|elif|while)\b[^=]*[^=!<>]=[^=]", "Use == to compare; = assigns."),
)  # fmt: skip
#: The head of a block.
_HEAD = r"\s*(?:def|if|elif|else|for|while|with|try|class|cdef\s+(?:class|struct|extern)|(?:cdef|cpdef)\b[^=]*\()"
_TOKEN = r"#[^\n]*|\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[()\[\]{}]"


def _explain_syntax(shown: Diagnostic, text: str, lines: list[str]) -> Diagnostic:
    """Explain a line that Cython cannot parse: C, a missing colon, a bracket left open."""
    line = shown.line
    if shown.message.startswith("Unrecognized character"):  # it may be one that cannot be seen
        strange = re.search(r"[^\t -~]", text[max(shown.column - 2, 0) :])
        return replace(shown, message=f"{shown.message} {strange[0]!r}") if strange else shown
    code = _strip_line(text)
    above = next((n for n in range(line - 1, 0, -1) if _strip_line(lines[n - 1]).strip()), 0)
    head = _strip_line(lines[above - 1]).rstrip() if above else ""
    if shown.message.startswith("Expected ':', found 'NEWLINE'"):
        return _explain_colon(shown, line, code)
    unbalanced = _find_unbalanced(shown, "\n".join(lines))
    if above and _count_indentation(code) > _count_indentation(head) and not re.search(r"[:,(\[\\{]$", head):
        if re.match(_HEAD, head):
            return _explain_colon(shown, above, head)
        if not unbalanced:
            hint = "The line above opens no block."
            return replace(shown, message="Unexpected indentation", column=_count_indentation(text) + 1, hint=hint)
    if hint := next((hint for pattern, hint in _SLIPS if re.search(pattern, code)), ""):
        return replace(shown, hint=hint)
    return unbalanced or shown


def _explain_colon(shown: Diagnostic, line: int, code: str) -> Diagnostic:
    message, hint = "Expected ':' at the end of the line", "End a line that opens a block with a colon."
    return replace(shown, message=message, line=line, column=len(code.rstrip()) + 1, hint=hint)


def _find_unbalanced(shown: Diagnostic, cell: str) -> Diagnostic | None:
    """The last bracket or quotes, up to a line, that nothing closes, or the first bracket that closes nothing."""
    opened: list[re.Match[str]] = []
    for match in re.finditer(_TOKEN, cell):
        if match[0] in ("(", "[", "{", '"""', "'''"):
            opened.append(match)
        elif match[0] in (")", "]", "}"):
            if not opened:
                opened.append(match)
                break
            opened.pop()
    for match in reversed(opened):
        before = cell[: match.start()]
        row = before.count("\n") + 1
        if row <= shown.line:
            what = "closes nothing" if match[0] in ")]}" else "is never closed"
            return replace(shown, message=f"{match[0]} {what}", line=row, column=len(before) - before.rfind("\n"))
    return None


def _strip_line(line: str) -> str:
    """``line`` without its comment and with its strings emptied."""
    line = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda m: m[0][0] + " " * (len(m[0]) - 2) + m[0][0], line)
    return line.partition("#")[0]


def _count_indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
