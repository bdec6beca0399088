"""One-sentence remedies for messages of compilers and linkers.  Pure tables and patterns.

Headers are those that compilers do not name themselves in a note, and of ``<math.h>`` all that its users call.
"""

from __future__ import annotations

import difflib
import re

from ..ir import MATH_FUNCTIONS

#: Name -> the header that declares it, without the f and l of functions of other types.
_HEADERS: dict[str, str] = {row.name: row.header for row in MATH_FUNCTIONS.values() if row.header} | {
    name: header
    for header, names in {
        "math.h": "NAN INFINITY HUGE_VAL",
        "complex.h": "I complex _Complex_I",
        "stdio.h": "printf fprintf snprintf puts stdout stderr FILE",
        "stdlib.h": "malloc calloc realloc free exit abort rand qsort",
        "string.h": "memcpy memmove memset strlen",
        "stdbool.h": "bool true false",
        "stddef.h": "size_t ptrdiff_t NULL",
        "assert.h": "assert",
    }.items()
    for name in names.split()
}
_HEADER_PATTERNS = (
    (r"M_[A-Z0-9_]+$", "math.h"),
    (r"(?:FLT|DBL|LDBL)_[A-Z0-9_]+$", "float.h"),
    (r"(?:CHAR|U?INT|U?LONG|U?LLONG)_(?:BIT|MAX|MIN)$", "limits.h"),
    (r"u?int(?:_least|_fast)?(?:8|16|32|64)_t$|u?intptr_t$|U?INT(?:8|16|32|64)_(?:MAX|MIN|C)$", "stdint.h"),
    (r"omp_\w+$", "omp.h"),
)

#: The same for namespace ``std``, of headers that g++ does not name in a note.
_OF_STD: dict[str, str] = {
    name: header
    for header, names in {
        "algorithm": "sort stable_sort max min max_element min_element minmax clamp reverse rotate find find_if count "
        "count_if fill copy transform for_each all_of any_of none_of nth_element partial_sort lower_bound upper_bound "
        "binary_search unique remove_if next_permutation",
        "numeric": "accumulate inner_product partial_sum iota gcd lcm reduce adjacent_difference",
        "string": "string to_string stod stof stoi stol",
        "utility": "pair make_pair swap move exchange",
        "vector": "vector",
        "map": "map",
        "iostream": "cout cerr endl",
    }.items()
    for name in names.split()
}

#: Prefix of a name -> what to link with.
_LIBRARIES = {
    "gsl_": "gsl gslcblas",
    "LAPACKE_": "lapacke",
    "cblas_": "openblas",
    "fftw_": "fftw3",
}

_ONLY_CPLUS = frozenset(
    "std template class namespace using typename constexpr nullptr auto iostream vector cmath complex algorithm array "
    "cstdint cstdlib string".split()
)
#: Words of Python and of NumPy -> what they are in C.
_WORDS = {
    "T": "Name the types that T stands for: --types f4,f8",
    "and": "In C, write && for 'and'.",
    "or": "In C, write || for 'or'.",
    "not": "In C, write ! for 'not'.",
    "True": "In C, write 1 for True (or true, with #include <stdbool.h>).",
    "False": "In C, write 0 for False (or false, with #include <stdbool.h>).",
    "None": "C has no None. A floating-point function can return NAN.",
    **dict.fromkeys(
        ("def", "import", "lambda"),
        "This is Python. A C function starts with its return type: double f(double x) { ... }",
    ),
    "np": "Call the C function: exp(x) instead of np.exp(x), with #include <math.h>.",
    "float64": "In C, write double for float64.",
    "float32": "In C, write float for float32.",
    "int64": "In C, write int64_t for int64.",
    "int32": "In C, write int32_t for int32.",
    "$": "Remove the prompt: it is not part of the code.",
}
_KEYWORDS = "return while for switch double float break continue const unsigned struct default static else".split()


def find_header(name: str) -> str:
    """The standard header that declares ``name``, or ``""``."""
    if header := _HEADERS.get(name) or _HEADERS.get(re.sub(r"[fl]$", "", name)):
        return header
    return next((header for pattern, header in _HEADER_PATTERNS if re.match(pattern, name)), "")


def list_declared(header: str) -> tuple[str, ...]:
    """Names that a header of C's library declares, in C++ by either of its names; those that people use."""
    own = header if "." in header else f"{header.removeprefix('c')}.h"
    return tuple(name for name, declaring in _HEADERS.items() if declaring == own)


def find_libraries(symbol: str) -> str:
    """The options that link with what defines ``symbol``, as far as its prefix tells: ``"-l gsl -l gslcblas"``."""
    names = next((libraries for prefix, libraries in _LIBRARIES.items() if symbol.startswith(prefix)), "")
    return " ".join(f"-l {name}" for name in names.split())


_UNKNOWN = (
    r"(?:implicit(?:ly)? declar(?:ation|ing)(?: of| library)? function|undeclared (?:library )?function|"
    r"undeclared identifier|unknown type name|no type named|no template named) '([^']+)'|"
    r"'([^']+)' (?:undeclared|was not declared in this scope|has not been declared|does not name a type)"
)
_NO_FILE = r"(?:^|[ :'])(?<!not )([^ :']+): No such file or directory|'([^']+)' file not found"


def find_unknown_name(message: str) -> str:
    """The unknown name in a compiler's ``message``, or ``""``."""
    match = re.search(_UNKNOWN, message)
    return match[1] or match[2] if match else ""


def find_missing_file(message: str) -> str:
    """The missing header in a compiler's ``message``, or ``""``."""
    match = re.search(_NO_FILE, message)
    return match[1] or match[2] if match else ""


_NOT_IN_STD = (
    r"'(\w+)' (?:is not a member of 'std'|in namespace 'std' does not name)|"
    r"no (?:type |template )?(?:member )?named '(\w+)' in namespace 'std'"
)


def _advise_on_std(message: str) -> str:
    """The advice for a missing name of namespace ``std``."""
    if match := re.search(_NOT_IN_STD, message):
        name = match[1] or match[2]
        header = _OF_STD.get(name) or re.sub(r"^(\w+)\.h$", r"c\1", find_header(name)).replace("ccomplex", "complex")
        return f"Add #include <{header}> at the top of the cell." if header else ""
    name = (
        find_unknown_name(message)
        if "not declared in this scope" in message or "undeclared identifier" in message
        else ""
    )
    header = _OF_STD.get(name, "")
    return f"Add #include <{header}> at the top of the cell, and write std::{name}." if header else ""


def _advise_on_unknown(name: str, message: str) -> str:
    if name in _WORDS:
        return _WORDS[name]
    if near := difflib.get_close_matches(name, _KEYWORDS, n=1, cutoff=0.8):
        return f"Did you mean {near[0]}?"
    if header := find_header(name):
        parallel = " To use its functions, also add --parallel." if header == "omp.h" else ""
        return f"Add #include <{header}> at the top of the cell.{parallel}"
    if name in _ONLY_CPLUS and "c++" not in message and "not declared in this scope" not in message:
        return "This is C++. Compile the cell with -+"
    if libraries := find_libraries(name):
        return f"Include the header that declares {name}, and link with {libraries}"
    if "did you mean" in message:
        return ""
    if "type name" in message or "name a type" in message:
        return f"Define {name} with typedef or #define, or include the header that does."
    return f"Define {name} above its first use, or include the header that declares it." if "func" in message else ""


def _advise_on_header(name: str) -> str:
    if name in _ONLY_CPLUS:
        return "This is a C++ header. Compile the cell with -+"
    return f"Name the folder of {name} with -I FOLDER, or install the development package that contains it."


_POWER = "C has no ** operator. Write pow(x, y)."
_TWICE = "rename one of them, or compile them as C++ overloads with -+"
#: Pattern of a message, text in its line -> advice, with the groups of the pattern in braces; the first that matches.
#: Messages that are clear by themselves ("missing terminating quote") have none.
_ADVICE: tuple[tuple[str, str, str], ...] = (
    (r"(\S+): linker input file not found", "",
     "{0} is neither a file nor an option of this compiler: its options begin with -"),
    (r"before '%' token", "%", "A line that starts with % is an IPython command. Remove it from the cell."),
    (r"before ':' token", "):", "The colon is Python syntax. In C, enclose the body of a function in { }."),
    (r"expected '=', ',', ';'", "complex", "Add #include <complex.h> at the top of the cell."),
    (r"expected '=', ',', ';'", "template", "This is C++. Compile the cell with -+"),
    (r"expected .* before ':' token|expected .*after .*'std'", "::", "If this is C++, compile the cell with -+"),
    (r"conflicting types for (?:built-in function )?'(\w+)'", "",
     f"{{0}} is declared twice with different types: {_TWICE}"),
    (r"redefinition of '(?:[^']*\b)?(\w+)(?:\([^']*\))?'", "", f"{{0}} is defined twice: {_TWICE}"),
    (r"expected declaration specifiers before '(?:return|if|for|while)'|expected '\{' at end of input", "",
     "Enclose the body of the function in { }."),
    (r"expected identifier or '\(' before '}'", "", "There is an extra } here or above."),
    (r"expected '\(' before", "", "Enclose the condition after if, while, for or switch in ( )."),
    (r"expected ';', ',' or '\)' before '='", "", "C has no default arguments. Compile the cell as C++ with -+"),
    (r"expected ';', ',' or '\)' before '{'", "", "Add the missing ) at the end of the parameters."),
    (r"unterminated (?:argument list invoking|function-like) macro", "",
     "Add the missing ) at the end of the macro's arguments."),
    (r"ignoring '#pragma omp", "", "Compile the OpenMP pragmas of the cell with --parallel"),
    (r"expected ';'|expected .*'?;'? before", "",
     "Add the missing ; at the end of this statement or of the line above."),
    (r"expected declaration or statement at end of input|expected '}'", "", "A { has no matching }."),
    (r"stray '(?:\\\d+|[`@$\u2018\u2019\u201c\u201d])' in program|unexpected character <U\+", "",
     "Retype this character: C does not allow it (for example a typographic quote or a no-break space)."),
    (r"invalid type argument of unary '\*'|indirection requires pointer operand", "**", _POWER),
    (r"invalid operands to binary (?:expression )?\^|to binary 'operator\^'", "",
     "In C, ^ is bitwise exclusive or. Write pow(x, y)."),
    (r"invalid operands to binary (?:expression )?%|to binary 'operator%'", "",
     "In C, % works on integers only. Write fmod(x, y)."),
    (r"target specific option mismatch|needs target feature", "",
     'Use --arch native, or add __attribute__((target("avx2"))) to the function.'),
    (r"integer absolute value function '(\w+)' when argument is of (?:floating|complex)", "",
     "{0} makes an integer of its argument. Write fabs(x), with #include <math.h>."),
    (r"subscripted value is neither", "", "This is a single number. Declare an array as const double *x."),
)  # fmt: skip


def advise(message: str, *, line: str = "") -> str:
    """The advice for a compiler's ``message`` on a ``line``, or ``""`` for a message that needs none."""
    if advice := _advise_on_std(message):
        return advice
    if (name := find_unknown_name(message)) and (advice := _advise_on_unknown(name, message)):
        return advice
    if header := find_missing_file(message):
        return _advise_on_header(header)
    return find_first_advice(_ADVICE, message, line)


def find_first_advice(table: tuple[tuple[str, str, str], ...], message: str, line: str) -> str:
    """The first advice of a ``table`` of message patterns, texts in the line, and advice; ``""`` for none."""
    for pattern, text, advice in table:
        if text in line and (match := re.search(pattern, message)):
            return advice.replace("{0}", match[1]) if match.lastindex else advice
    return ""


# -- cells of Cython

_CYTHON_ADVICE: tuple[tuple[str, str, str], ...] = (
    (r"too (?:few|many) arguments|no matching function|incompatible type for argument|from incompatible pointer type|"
     r"cannot convert|invalid conversion|makes (?:integer|pointer) from|incompatible (?:pointer|types|integer)|"
     r"no member named '\w+'", "",
     "Compare the cdef extern declaration with the header."),
    (r"conflicting types for|redefinition of|redeclared as different|ambiguates old declaration", "",
     "C already has this name. Rename the function, or give it another C name: cdef double f \"my_f\" (double x)"),
)  # fmt: skip


def advise_in_cython(message: str) -> str:
    """The advice for a C compiler's ``message`` in a Cython cell."""
    if header := find_missing_file(message):
        return _advise_on_header(header) if "." in header else "This is a C++ header. Compile the cell with -+"
    if word := find_unknown_name(message):
        if known := find_header(word):
            return f'Name the header: cdef extern from "{known}":'
        libraries = find_libraries(word)
        link = f", and link with {libraries}" if libraries else ""
        return (
            f'No header of the cell declares {word}. Name the header that does (cdef extern from "mine.h":), or write '
            f"its C code under 'cdef extern from *:' between triple quotes{link}."
        )
    return find_first_advice(_CYTHON_ADVICE, message, "")
