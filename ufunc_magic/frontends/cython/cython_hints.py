"""What Cython's words about a line of a cell mean, and what to do about it: tables of what people meet.

Cython tells where its parser stopped, which is often the line after the fault, or the end of the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ._private import DIRECTIVES, INCLUDES
from .cdef_variant import PREFIX


@dataclass(frozen=True)
class ShownMessage:
    """A message as it is shown: words, place and advice."""

    message: str
    line: int
    column: int
    hint: str = ""


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
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    message = message.strip().replace(PREFIX, "").removesuffix(".")
    shown = ShownMessage(message, line, column)
    if line and re.search(_SYNTAX, message):
        return _syntax(shown, text, lines)
    if match := re.search(_UNKNOWN, message):
        return ShownMessage(message, line, column, _unknown(match[match.lastindex or 0], message, cell))
    if match := re.search(r"'([\w/\\.]+)\.pxd' not found", message):
        return _no_module(shown, re.sub(r"[/\\]", ".", match[1]), text)
    for pattern, hint in _ADVICE:
        if match := re.search(pattern, message):
            return ShownMessage(message, line, column, hint.format(*match.groups()))
    return shown


#: Pattern of a message -> advice, with the groups of the pattern in braces; the first that matches.
_ADVICE: tuple[tuple[str, str], ...] = (
    (r"'np' is not a cimported module", "Types come by cimport; add: cimport numpy as np"),
    (r"'(\w+)' is not a cimported module", "Types come by cimport; add: cimport {0}"),
    (r"'([^']+\.(?:pxi|pyx))' not found", "Say where it is with -I FOLDER."),
    (r"Calling gil-requiring function",
     "Declare the function that is called nogil, or put the line under 'with gil:'; C's printf needs no GIL."),
    (r"(?i)without (?:the )?gil$",
     "This line works with Python objects: give it C types, put it under 'with gil:', or take nogil away."),
    (r"has Python locals or temporaries", "Give every variable of the function a C type, or take nogil away."),
    (r"Suggest(?:ed)? adding", "Declare the function noexcept, or the pointer's type with the same except clause."),
    (r"Cannot assign type '[^']*' to 'void'", "A void function has no value to tell an error by: write except *"),
    (r"Cannot assign type '[^']*\[:[^']*' to '[^']*\*'",
     "A memoryview is not a pointer: take the address of its first element, &a[0] (declare it double[::1])."),
    (r"Cannot assign type '(?:float|double|long double)' to '([\w ]*(?:int|long|short|char|size_t))'",
     "Say that the fraction is to be cut off: <{0}>x; integers are divided with //"),
    (r"Cannot assign type 'void \*' to '([^']*\*)'", "Say what it points at: <{0}>malloc(...)"),
    (r"Cannot assign type '[^']*\*' to '[^'*]*'", "This is a pointer: take the value that it points at, p[0]."),
    (r"Cannot assign type '[^']*complex' to|complex types are unordered",
     "Take the part that you want: z.real, z.imag or abs(z)."),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'[^']*\(\*\)",
     "A C function pointer takes a cdef function only, not a lambda or a def."),
    (r"Cannot convert Python object(?: argument)? to (?:type )?'[^']*\*'|Python objects cannot be cast to pointers",
     "Python has no pointers to pass: take a memoryview, double[::1] x, and its address &x[0]."),
    (r"Cannot convert '[^']*' to Python object",
     "Python knows no pointers and C structs of this kind: give back values, p[0], or declare it with cdef."),
    (r"Unicode literals do not support coercion", "Write bytes for C text: b\"...\""),
    (r"cdef statement not allowed here",
     "Move the cdef to the start of the function, above the block. In a class, only a 'cdef class' has C fields."),
    (r"C function definition not allowed here",
     "C functions stand outside of other functions and blocks: move it to the top of the cell, or use def."),
    (r"Cannot assign default value to fields", "Set the field in __cinit__ or __init__: self.x = 3"),
    (r"Buffer types only allowed as function local variables",
     "Use a memoryview, double[:], in its place: it is allowed everywhere."),
    (r"Too many indices specified for type (\S+)\]", "Declare it with more dimensions: {0}, :]"),
    (r"Not allowed in a constant expression",
     "The size of a C array must be a number: use a memoryview of np.empty(n), or malloc."),
    (r"Return type is not specified as argument type|specialized|fused type",
     "A fused type can be used only where the type of a parameter says which it is; else name one C type."),
    (r"Cdef functions cannot take arbitrary decorators",
     "Add 'cimport cython' at the top of the cell: cdef functions take the decorators of that module only."),
    (r"only allowed in c\+\+|C\+\+ .*not (?:allowed|supported)|not in c\+\+ mode", "Compile the cell as C++ with -+"),
    (r"'yield' not supported here", "Only a def function can be a generator."),
    (r"starred expression is not allowed", "A pointer's value is p[0]; a product has a factor on both sides."),
    (r"Invalid operand types for '\^'", "^ is exclusive or of integers: write x**2."),
    (r"wrong number of arguments", "Compare the call with the function's parameters."),
    (r"'(\w+)' redeclared", "Rename one {0}."),
    (r"cannot be used as a ufunc argument|ufunc",
     "A ufunc takes and returns C numbers: double, float, int, double complex..."),
)  # fmt: skip


# ------------------------------------------------------------------------------------- unknown names

_UNKNOWN = (
    r"undeclared name not builtin: (\w+)|'(\w+)' is not (?:a type identifier|declared|a constant, variable or function)"
    r"|'(\w+)' not a valid cython (?:language construct|attribute)|cimported module has no attribute '(\w+)'"
)
_NUMPY = "Add 'import numpy as {0}' to the cell for its functions, 'cimport numpy as {0}' for its types; for numbers: "
_MATH = "from libc.math cimport exp"
_BINT = "Write bint for a C truth value."
#: Words that mean something elsewhere -> what they are here.
_WORDS = {
    "np": _NUMPY.format("np") + _MATH,
    "cnp": _NUMPY.format("cnp") + _MATH,
    "numpy": "Add 'import numpy' to the cell for its functions, 'cimport numpy' for its types; for numbers: " + _MATH,
    "math": f"C's own functions are fast: {_MATH}",
    "cython": "Add 'cimport cython' at the top of the cell.",
    "prange": "Add 'from cython.parallel cimport prange' at the top of the cell.",
    "true": "Write True.",
    "false": "Write False.",
    "null": "Write NULL.",
    "xrange": "Python 3 has only range.",
    "bool": _BINT,
    "boolean": _BINT,
    "T": "Name T at the top of the cell: ctypedef fused T: with 'float' and 'double' in lines of their own.",
    "ndarray": "Write a memoryview, double[:], or add 'cimport numpy as np' and write np.ndarray.",
    **{f"{kind}_t": f"Add 'cimport numpy as np' at the top of the cell and write np.{kind}_t"
       for kind in ("float32", "float64", "complex64", "complex128")},
    "float64": "Write double.",
    "float32": "Write float.",
    "int64": "Write long long.",
    "int32": "Write int.",
    "complex128": "Write double complex.",
}  # fmt: skip
_CONTAINERS = frozenset("vector string map set pair list deque queue stack unordered_map unordered_set".split())
_C_MODULES = tuple(f"libc.{name}" for name in "math stdlib stdio stdint string float limits errno time".split())
_TYPES = (
    "double float int long short char void bint size_t Py_ssize_t unsigned signed object complex const struct".split()
)


def _unknown(name: str, message: str, cell: str) -> str:
    if message.startswith("cimported module"):
        modules = re.findall(r"cimport (libc\.\w+|libcpp\.\w+)", cell)
        like = _like(name, [word for module in modules for word in _words(module)])
        return f"Did you mean {like}?" if like else "Look into the module's .pxd for what it declares."
    if "valid cython" in message:
        like = _like(name, [*DIRECTIVES, "cfunc", "ccall", "cclass", "nogil", "inline", "returns", "locals", *_TYPES])
        return f"Did you mean cython.{like}?" if like else f"The module cython has no {name}."
    if name in _WORDS:
        return _WORDS[name]
    if name in _CONTAINERS:
        top = f"Add this line at the top of the cell: from libcpp.{name} cimport {name}"
        return f"{top}; and compile the cell as C++ with -+"
    # Deeper lines are members, and the parameters of functions are followed by other marks.
    declared = rf"^ {{0,4}}\S.*\b{name}\b *(?:\(|\[|\"|:|$)"
    if module := next((m for m in _C_MODULES if re.search(declared, _declarations(m), re.M)), ""):
        return f"Add this line at the top of the cell: from {module} cimport {name}"
    if like := _like(name, [*re.findall(r"\w+", cell), *_TYPES]):
        return f"Did you mean {like}?"
    if "type identifier" in message:
        return f"Declare {name} with ctypedef, cdef struct or cdef class above this line, or cimport it."
    return f"Define {name} in the cell, or pass it as a parameter: a cell does not see the notebook's names."


def _no_module(shown: ShownMessage, module: str, text: str) -> ShownMessage:
    parent, _, name = module.rpartition(".")
    # Cython looks for each name of a cimport as a module; had the module itself not been found, it would say that.
    if (cimport := re.search(r"from\s+([\w.]+)\s+cimport\s+", text)) and cimport[1] == parent:
        like = _like(name, _words(parent))
        hint = f"Did you mean {like}?" if like else f"Look into {parent}.pxd for what it declares."
        return ShownMessage(f"'{parent}' has no '{name}'", shown.line, text.find(name, cimport.end()) + 1, hint)
    if module in ("math", "stdlib", "stdio", "stdint", "string") or module.startswith("libc."):
        return ShownMessage(shown.message, shown.line, shown.column, f"C's modules are {', '.join(_C_MODULES)}.")
    file = shown.message.split("'")[1]
    hint = f"cimport reads C declarations from {file}: say where it is with -I FOLDER. For Python modules write import."
    return ShownMessage(shown.message, shown.line, shown.column, hint)


def _like(name: str, words: Iterable[str]) -> str:
    """The one of ``words`` that ``name`` may be a slip of, or ``""``."""
    near = get_close_matches(name, sorted(set(words) - {name}), n=1, cutoff=0.66)
    return near[0] if near and len(name) > 2 else ""


def _words(module: str) -> list[str]:
    return re.findall(r"\w+", _declarations(module))


def _declarations(module: str) -> str:
    """What a module of Cython's declares, ``""`` where it has none of that name."""
    folder: Path = INCLUDES.joinpath(*module.split("."))
    path = next((p for p in (folder.with_suffix(".pxd"), folder / "__init__.pxd") if p.exists()), None)
    return path.read_text(encoding="utf-8") if path else ""


# --------------------------------------------------------------------------------------------- syntax

_SYNTAX = (
    r"^Syntax error|^Expected |indentation|^Unrecognized character|^Unclosed string|^Mixed use of tabs|"
    r"^Empty declarator|^Unexpected token .* in string literal"
)
_C_TYPE = r"(?:(?:unsigned|const|static|inline|long)\s+)*(?:double|float|int|long|short|char|void|size_t|unsigned)"
#: Pattern in the line that Cython points at -> what to write instead.
_SLIPS: tuple[tuple[str, str], ...] = (
    (r"^\s*%%?\w+", "A magic stands in the first line of its cell: take this line away, or make it the first."),
    (r"^\s*\w[\w\s*]*\([^()]*\)\s*\{",
     "This is C: use %%c_ufunc for it. In Cython the line ends with a colon and the body is indented."),
    (rf"^\s*{_C_TYPE}[\s*]+\w+\s*\(.*\).*:\s*$", "A C function starts with cdef or cpdef: cdef double f(double x):"),
    (rf"^\s*{_C_TYPE}[\s*]+\w+\s*(?:=.*|,.*|\[.*)?;?\s*$", "A C variable is declared with cdef: cdef double y = 0"),
    (r"^\s*print\s+[^(=]", "print is a function: print(x)"),
    (r"^\s*(?:for|while|if|switch)\s*\(.*;|^\s*for\s*\(", "This is C's for; Cython's is: for i in range(n):"),
    (r"^\s*\}|\{\s*$", "Braces are C's: in Cython a colon and indentation make a block."),
    (r"^\s*/[/*]", "A comment starts with #; // divides integers."),
    (r"&&|\|\|", "Write 'and' for &&, 'or' for ||."),
    (rf"\(\s*{_C_TYPE}\s*\**\s*\)\s*[\w(]", "A cast has angle brackets: <double>x"),
    (r"\?.*:", "Write 'a if condition else b' for 'condition ? a : b'."),
    (r"\+\+|--", "Write i += 1 for i++, i -= 1 for i--."),
    (r"(?<![\w=!<>])!\s*\w", "Write 'not x' for !x."),
    (r"^\s*(?:if|elif|while)\b[^=]*[^=!<>]=[^=]", "Compare with ==; = assigns."),
    (r"^\s*else\s+if\b", "Write elif for else if."),
    (r"^\s*(?:cdef|cpdef)\b.*\b(?:nogil|noexcept|except)\b",
     "Behind the parentheses stand except or noexcept, then nogil: cdef double f(double x) noexcept nogil:"),
)  # fmt: skip
#: The head of a block.
_HEAD = r"\s*(?:def|if|elif|else|for|while|with|try|class|cdef\s+(?:class|struct|extern)|(?:cdef|cpdef)\b[^=]*\()"
_TOKEN = r"#[^\n]*|\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[()\[\]{}]"


def _syntax(shown: ShownMessage, text: str, lines: list[str]) -> ShownMessage:
    """What a line that Cython cannot parse was meant to be: C, Python 2, a colon left out, a bracket left open."""
    message, line, column = shown.message, shown.line, shown.column
    if message.startswith("Unrecognized character"):
        strange = re.search(r"[^\t -~]", text[max(column - 2, 0) :])
        column += strange.start() - 1 if strange and column > 1 else 0
        character = strange[0] if strange else text[column - 1 : column]
        return ShownMessage(f"{message} {character!r}", line, column, "Retype it: Cython gives it no meaning here.")
    if message.startswith("Mixed use of tabs"):
        return ShownMessage(message, line, column, "Indent with spaces only.")
    code = _bare(text)
    above = next((n for n in range(line - 1, 0, -1) if _bare(lines[n - 1]).strip()), 0)
    head = _bare(lines[above - 1]).rstrip() if above else ""
    if message.startswith("Expected ':', found 'NEWLINE'"):
        return _no_colon(line, code)
    if above and _depth(code) > _depth(head) and not re.search(r"[:,(\[\\{]$", head):
        if re.match(_HEAD, head):
            return _no_colon(above, head)
        if not _unbalanced(lines, line):
            hint = f"Line {above} opens no block: indent this line like it."
            return ShownMessage("Unexpected indentation", line, _depth(text) + 1, hint)
    if hint := next((hint for pattern, hint in _SLIPS if re.search(pattern, code)), ""):
        return ShownMessage(message, line, column, hint)
    if unbalanced := _unbalanced(lines, line):
        return unbalanced
    if message.startswith("Expected an id") and not _bare(text[column - 1 :]).strip():
        return ShownMessage(message, line, column, "The line ends where a value or a name should stand.")
    return shown


def _no_colon(line: int, code: str) -> ShownMessage:
    hint = "A line that opens a block ends with a colon."
    return ShownMessage("Expected ':' at the end of the line", line, len(code.rstrip()) + 1, hint)


def _unbalanced(lines: list[str], line: int) -> ShownMessage | None:
    """The bracket or quotes, up to ``line``, that nothing closes, or that close nothing."""
    cell = "\n".join(lines)
    opened: list[re.Match[str]] = []
    for match in re.finditer(_TOKEN, cell):
        if match[0] in ("(", "[", "{", '"""', "'''"):
            opened.append(match)
        elif match[0] in (")", "]", "}"):
            if not opened:
                closing = _at(match, "closes nothing", quoted=f"'{match[0]}'")
                return closing if closing.line == line else None
            opened.pop()
    faults = (_at(m, "is never closed", quoted=m[0] if len(m[0]) > 1 else f"'{m[0]}'") for m in reversed(opened))
    return next((fault for fault in faults if fault.line <= line), None)


def _at(match: re.Match[str], what: str, *, quoted: str) -> ShownMessage:
    before = match.string[: match.start()]
    return ShownMessage(f"{quoted} {what}", before.count("\n") + 1, len(before) - before.rfind("\n"))


def _bare(line: str) -> str:
    """``line`` without its comment and with its strings emptied."""
    line = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda m: m[0][0] + " " * (len(m[0]) - 2) + m[0][0], line)
    return line.partition("#")[0]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
