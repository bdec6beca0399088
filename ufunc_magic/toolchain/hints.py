"""What to do about a compiler's or a linker's complaint, in one sentence.  Pure tables and patterns.

Headers are those in which ISO C (and POSIX, for ``M_PI`` and its kind) declares a name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable


def _words(text: str) -> list[str]:
    return text.split()


_REAL = _words("""
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 exp10 expm1 frexp ilogb ldexp
    log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor
    nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
    nexttoward fdim fmax fmin fma j0 j1 jn y0 y1 yn sincos roundeven
""")
_COMPLEX = _words("""
    cacos casin catan ccos csin ctan cacosh casinh catanh ccosh csinh ctanh cexp clog cabs cpow csqrt carg
    cimag conj cproj creal
""")

#: Name -> the header that declares it.
_HEADERS: dict[str, str] = {
    **{f"{name}{suffix}": "math.h" for name in _REAL for suffix in ("", "f", "l")},
    **{f"{name}{suffix}": "complex.h" for name in _COMPLEX for suffix in ("", "f", "l")},
    **{
        name: header
        for header, names in {
            "math.h": "isnan isinf isfinite isnormal signbit fpclassify isgreater isless isunordered NAN INFINITY "
            "HUGE_VAL HUGE_VALF FP_NAN FP_INFINITE signgam",
            "complex.h": "I complex _Complex_I CMPLX CMPLXF",
            "stdio.h": "printf fprintf sprintf snprintf puts putchar fputs fflush stdout stderr stdin scanf sscanf "
            "fopen fclose fgets fread fwrite perror FILE getchar",
            "stdlib.h": "malloc calloc realloc free abs labs llabs div exit abort rand srand qsort bsearch atoi atof "
            "strtod strtol getenv RAND_MAX aligned_alloc",
            "string.h": "memcpy memmove memset memcmp strlen strcpy strncpy strcmp strncmp strcat strchr strstr strdup "
            "strerror",
            "stdbool.h": "bool true false",
            "stddef.h": "size_t ptrdiff_t NULL offsetof max_align_t wchar_t",
            "stdint.h": "intptr_t uintptr_t intmax_t uintmax_t SIZE_MAX PTRDIFF_MAX",
            "stdarg.h": "va_list va_start va_end va_arg",
            "limits.h": "CHAR_BIT CHAR_MAX SHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX "
            "LLONG_MIN ULLONG_MAX",
            "ctype.h": "isalpha isdigit isalnum isspace isupper islower toupper tolower",
            "errno.h": "errno EDOM ERANGE EINVAL",
            "fenv.h": "fesetround fegetround feclearexcept feraiseexcept fetestexcept FE_DIVBYZERO FE_INVALID "
            "FE_OVERFLOW FE_TONEAREST FE_UPWARD FE_DOWNWARD FE_TOWARDZERO",
            "assert.h": "assert static_assert",
            "time.h": "time clock time_t clock_t nanosleep clock_gettime",
            "setjmp.h": "setjmp longjmp jmp_buf",
            "signal.h": "signal raise SIGSEGV SIGFPE sig_atomic_t",
            "pthread.h": "pthread_create pthread_join pthread_t pthread_mutex_t",
            "unistd.h": "usleep sleep getpid fork",
        }.items()
        for name in names.split()
    },
}

_HEADER_PATTERNS = (
    (r"M_[A-Z0-9_]+$", "math.h"),
    (r"(?:FLT|DBL|LDBL)_[A-Z0-9_]+$", "float.h"),
    (r"u?int(?:_least|_fast)?(?:8|16|32|64)_t$|U?INT(?:8|16|32|64)_(?:MAX|MIN|C)$", "stdint.h"),
    (r"PRI[diouxX](?:8|16|32|64)$", "inttypes.h"),
    (r"omp_\w+$", "omp.h"),
)

#: Prefix of a name -> what to link with, longest prefixes first.
_LIBRARIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gsl_blas_", ("gsl", "gslcblas")),
    ("gsl_", ("gsl", "gslcblas")),
    ("LAPACKE_", ("lapacke",)),
    ("cblas_", ("openblas",)),
    ("fftwf_", ("fftw3f",)),
    ("fftwl_", ("fftw3l",)),
    ("fftw_", ("fftw3",)),
    ("pthread_", ("pthread",)),
    ("GOMP_", ("gomp",)),
    ("omp_", ("gomp",)),
    ("mpfr_", ("mpfr", "gmp")),
    ("mpc_", ("mpc", "mpfr", "gmp")),
    ("__gmp", ("gmp",)),
    ("H5", ("hdf5",)),
    ("nc_", ("netcdf",)),
    ("Sleef_", ("sleef",)),
    ("curl_", ("curl",)),
    ("sqlite3_", ("sqlite3",)),
    ("deflate", ("z",)),
    ("inflate", ("z",)),
    ("crc32", ("z",)),
    ("dlopen", ("dl",)),
    ("dlsym", ("dl",)),
    ("std::", ("stdc++",)),
    ("__cxa_", ("stdc++",)),
    ("__gxx_", ("stdc++",)),
)

_ONLY_CPLUS = frozenset(
    _words("""
    std template class namespace using typename constexpr nullptr auto decltype operator new delete public
    private iostream vector cmath complex algorithm array numeric limits cstdint cstdlib cstring cstdio string
    tuple utility functional type_traits valarray random map set memory
""")
)
_PYTHON = {
    "and": "C writes 'and' as &&.",
    "or": "C writes 'or' as ||.",
    "not": "C writes 'not' as !.",
    "True": "C writes True as 1 (or true, with #include <stdbool.h>).",
    "False": "C writes False as 0 (or false, with #include <stdbool.h>).",
    "None": "C has no None; a floating-point function can return NAN.",
    "def": "This is Python; a C function starts with the type it returns: double f(double x) { ... }",
    "lambda": "This is Python; a C function starts with the type it returns: double f(double x) { ... }",
    "np": "A cell calls C's own functions: exp(x), not np.exp(x), with #include <math.h>.",
    "math": "A cell calls C's own functions: exp(x), not math.exp(x), with #include <math.h>.",
}


_KEYWORDS = _words(
    "return while for switch double float break continue const unsigned struct default static else case void"
)
_NUMPY = {
    "float64": "double", "float32": "float", "float16": "_Float16", "longdouble": "long double",
    "complex128": "double complex", "complex64": "float complex", "int_": "long",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def misspelled(name: str) -> str:
    """The word of C that ``name`` was meant to be, or ``""``: its letters in another order, or one letter off."""
    for word in _KEYWORDS:
        near = len(name) >= 5 and abs(len(word) - len(name)) <= 1
        if name != word and (sorted(name) == sorted(word) or (near and _likeness(name, word) >= 0.8)):
            return word
    return ""


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def header_of(name: str) -> str:
    """The standard header that declares ``name``, or ``""``."""
    if name in _HEADERS:
        return _HEADERS[name]
    return next((header for pattern, header in _HEADER_PATTERNS if re.match(pattern, name)), "")


def libraries_of(symbol: str) -> tuple[str, ...]:
    """The libraries that define ``symbol``, as far as its prefix tells."""
    if header_of(symbol) in ("math.h", "complex.h"):
        return ("m",)
    return next((libraries for prefix, libraries in _LIBRARIES if symbol.startswith(prefix)), ())


_PROMPT = "A prompt ($, >>>) is no part of the code: take it out."
_BODY = "A function's body stands in { }."


def _unknown(name: str, message: str) -> str:
    cplus = "c++" in message or "not declared in this scope" in message
    if name == "T":
        return "Give the types that T stands for: --types f4,f8"
    if name in _PYTHON:
        return _PYTHON[name]
    if word := misspelled(name):
        return f"Did you mean {word}?"
    if name in _NUMPY:
        return f"C writes {name} as {_NUMPY[name]}."
    if name == "$":
        return _PROMPT
    if name == "uint128_t":
        return "Write it as unsigned __int128."
    if header := header_of(name):
        return f"Add #include <{header}> at the top of the cell." + (
            " Its functions also need --parallel." if header == "omp.h" else ""
        )
    if name in _ONLY_CPLUS and not cplus:
        return "This is C++; compile the cell with -+"
    if libraries := libraries_of(name):
        options = " ".join(f"-l {library}" for library in libraries)
        return f"Include the header that declares {name}, and link with {options}"
    if "did you mean" in message:
        return ""
    if "type name" in message or "name a type" in message:
        return f"Define {name} with typedef or #define, or include the header that does."
    if "function" in message:
        return f"Define {name} above its first use, or include the header that declares it."
    return ""


def _twice(name: str) -> str:
    header = header_of(name)
    remedy = f" (<{header}> has one): rename it." if header else ": rename one, or make them C++ overloads with -+"
    return f"{name} is declared twice with different types{remedy}"


def _no_header(name: str, message: str) -> str:
    if name in _ONLY_CPLUS:
        return "This is a C++ header; compile the cell with -+"
    if name in ("Python.h", "numpy/arrayobject.h"):
        return "A cell needs no Python or NumPy headers: write plain C functions."
    return f"Say where {name} is with -I FOLDER, or install the development package that holds it."


#: Pattern of a message, pattern of the line that it is about -> advice; these come first.
_ADVICE_ON_LINE: tuple[tuple[str, str, str], ...] = (
        (r"before '>>' token", r"\s*>>>", _PROMPT),
        (r"before '%' token", r"\s*%", "A line that begins with % is for IPython, not for C: take it out of the cell."),
        (r"before ':' token", r".*\)\s*:\s*$", f"A colon is Python's. {_BODY}"),
        (r"expected '=', ',', ';'", r".*\bcomplex\b", "Add #include <complex.h> at the top of the cell."),
        (r"expected '=', ',', ';'", r".*\bfor\s*\([^;]*,",
         "The three parts of for stand between semicolons: for (int i = 0; i < n; i++)"),
        (r"before '__extension__'", r".*\bI\b",
         "I is a macro of <complex.h>: rename it, or write #undef I below the #include."),
        (r"expected '\(' before", r".*\b(?:if|while|for|switch)\b",
         "What follows if, while, for and switch stands in ( )."),
)  # fmt: skip

#: What only holds for lines with such text.
_ONLY_WHERE = {"C has no ** operator: write pow(x, y).": "**", "If this is C++ (std::), compile the cell with -+": "::"}

#: Pattern of a message -> advice; the first that matches and has something to say.
_ADVICE: tuple[tuple[str, Callable[[re.Match[str]], str] | str], ...] = (
        (
            r"(?:implicit(?:ly)? declar(?:ation|ing)(?: of| library)? function|undeclared (?:library )?function|"
            r"undeclared identifier|unknown type name|no type named|no template named) '([^']+)'",
            lambda m: _unknown(m[1], m.string),
        ),
        (
            r"'([^']+)' (?:undeclared|was not declared in this scope|has not been declared|does not name a type)",
            lambda m: _unknown(m[1], m.string),
        ),
        (r"'([^']+)' file not found", lambda m: _no_header(m[1], m.string)),
        (r"([^ :]+): No such file or directory", lambda m: _no_header(m[1], m.string)),
        (r"expected expression before ':' token|expected .* before ':' token|expected .*after .*'std'",
         "If this is C++ (std::), compile the cell with -+"),
        (r"(?:cannot|can't) overload|conflicting types for '(?!__)(\w+)'.*overload",
         "Overloads are C++; compile the cell with -+"),
        (r"conflicting types for (?:built-in function )?'(\w+)'",
         lambda m: _twice(m[1])),
        (r"redefinition of '(?:[^']*\b)?(\w+)(?:\([^']*\))?'",
         lambda m: f"{m[1]} is defined twice: rename one, or make them C++ overloads with -+"),
        (r"expected ';'|expected .*'?;'? before", "A ; is missing at the end of this statement or of the line above."),
        (r"expected declaration or statement at end of input|expected '}'|missing terminating '}'",
         "A { is not closed by a }."),
        (r"unterminated #|#endif without #if|#else without", "Every #if needs one #endif."),
        (r"unterminated comment", "A /* is not closed by a */."),
        (r"stray '\\\d+' in program|unexpected character <U\+|stray '[`@$\u2018\u2019\u201c\u201d]' in program",
         "A character that C does not have (a typographic quote, a no-break space): retype it."),
        (r"invalid type argument of unary '\*'|indirection requires pointer operand",
         "C has no ** operator: write pow(x, y)."),
        (r"invalid operands to binary (?:expression )?\^|to binary 'operator\^'",
         "^ is exclusive or in C: write pow(x, y)."),
        (r"invalid operands to binary (?:expression )?%|to binary 'operator%'",
         "% is for integers in C: write fmod(x, y)."),
        (r"(?:control reaches end|non-void function does not return)", "Return a value on every path."),
        (r"'(\w+)' is used uninitialized|variable '(\w+)' is uninitialized", "Give it a value where it is declared."),
        (r"inlining failed in call to '?(?:always_inline)?.*target specific option mismatch|needs target feature",
         'Use --arch native, or mark the function with __attribute__((target("avx2"))).'),
        (r"unrecognized command-line option '([^']+)'|unknown argument:? '([^']+)'|unsupported option '([^']+)'",
         lambda m: f"This compiler has no {m[1] or m[2] or m[3]}: look at -c, --link-args and the CFLAGS variable."),
        (r"too few arguments|too many arguments", "Compare the call with the function's parameters."),
        (r"expected declaration specifiers before '(?:return|if|for|while)'|expected '\{' at end of input", _BODY),
        (r"expected identifier or '\(' before '}'", "There is a } too many, here or above."),
        (r"missing terminating", "The quote is not closed on its line."),
        (r"#include expects", "The header's name stands in < >: #include <math.h>"),
        (r"label '(\w+)' used but not defined", lambda m: f"Put {m[1]}: before the statement that goto leads to."),
        (r"variable-sized object may not be initialized", "Set its elements one by one, or give it a constant size."),
        (r"switch quantity not an integer", "switch is for integers: write if and else, or switch ((int)x)."),
        (r"redeclared as different kind of symbol", "A parameter or a function has this name already: rename one."),
        (r'macro "(\w+)" (?:passed|requires) \d+', lambda m: f"Compare it with #define {m[1]}."),
        (r"lvalue required", "Only a variable or an element can be assigned to; a comparison is ==."),
        (r"subscripted value is neither", "This is one number: an array is declared as const double *x."),
        (r"assignment of read-only", "Take its const away, or copy it into a variable."),
        (r"called object '(\w+)' is not a function", lambda m: f"{m[1]} is a number: a product needs its *."),
        (r"void value not ignored|initializing '\w+' with an expression of incompatible type 'void'",
         "This function returns nothing."),
)  # fmt: skip


def advise(message: str, *, line: str = "") -> str:
    """What to do about a compiler's ``message`` on a ``line``, or ``""`` where only the message itself can tell."""
    for pattern, where, text in _ADVICE_ON_LINE:
        if line and re.search(pattern, message) and re.match(where, line):
            return text
    for pattern, advice in _ADVICE:
        if match := re.search(pattern, message):
            text = advice if isinstance(advice, str) else advice(match)
            if text and not (line and _ONLY_WHERE.get(text, "") not in line):
                return text
    return ""


# -- cells of Cython

_CYTHON_ADVICE: tuple[tuple[str, str], ...] = (
    (r"too (?:few|many) arguments|no matching function|incompatible type for argument|from incompatible pointer type|"
     r"cannot convert|invalid conversion|makes (?:integer|pointer) from|incompatible (?:pointer|types|integer)",
     "Compare the function's cdef extern declaration with its header."),
    (r"has no member named '(\w+)'|no member named '(\w+)'",
     "The C type has no such member: compare its cdef extern declaration with its header."),
    (r"conflicting types for|redefinition of|redeclared as different|ambiguates old declaration",
     "C has another of this name: rename the cell's, or name it apart: cdef double f \"my_f\" (double x)"),
)  # fmt: skip


def advise_in_cython(message: str) -> str:
    """What to do in a Cython cell about a C compiler's ``message``."""
    if header := re.search(r"([^ :']+): No such file or directory|'([^']+)' file not found", message):
        return _no_cython_header(header[1] or header[2])
    unknown = re.search(
        r"(?:implicit(?:ly)? declar(?:ation|ing)(?: of| library)? function|undeclared (?:library )?function|"
        r"undeclared identifier|unknown type name) '([^']+)'|"
        r"'([^']+)' (?:undeclared|was not declared in this scope|does not name a type)",
        message,
    )
    if unknown:
        word = unknown[1] or unknown[2]
        if known := header_of(word):
            return f'Name its header: cdef extern from "{known}":'
        if libraries := libraries_of(word):
            link = " ".join(f"-l {library}" for library in libraries)
            return f'Name the header that declares {word} (cdef extern from "...":), and link with {link}'
        return (
            f'No header of the cell declares {word}: name the one that does (cdef extern from "mine.h":), '
            "or write its C under 'cdef extern from *:' between three quotes."
        )
    return next((advice for pattern, advice in _CYTHON_ADVICE if re.search(pattern, message)), "")


def _no_cython_header(header: str) -> str:
    if header == "Python.h":
        return "Install the headers of this Python."
    if header.startswith("numpy/"):
        return "Reinstall NumPy: its headers come with it."
    if "." not in header:
        return "This is a C++ header: compile the cell with -+"
    return f"Say where {header} is with -I FOLDER, or install the development package that holds it."
