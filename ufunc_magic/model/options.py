"""The options of the three cell magics: a frozen value, whose fields declare all that is known of each.

The magics' parsers, their ``?`` help, tab completion, ``%ufunc_config`` and the keyword arguments of ``compile_c`` and
its siblings come from these fields.  Type checkers read ``option_keywords.pyi``, which a test compares with them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from .errors import OptionError
from .languages import LANGUAGES

_F = TypeVar("_F", bound=Callable[..., Any])

#: Functions of one cell that are written as Python and timed; the others are only bound.
MOST_TIMED = 8

#: Seconds that the report of a cell takes where rounds agree.
TIME = 0.2

#: The limit of --time; larger values are typing errors.
MOST_SECONDS = 3600


@dataclass(frozen=True)
class Option:
    """One row of the table: ``flags`` as typed on the line, the ``Options`` field it sets, its help."""

    flags: tuple[str, ...]
    dest: str
    help: str
    example: str
    #: "flag" sets ``const``; "value" takes one word; "append" takes a word each time; "optional" may have a
    #: value, and sets ``const`` without one.
    action: str = "value"
    const: Any = True
    choices: tuple[str, ...] = ()
    kind: type = str
    #: The keys of ``LANGUAGES`` for whose cells it means something; empty for all.
    languages: tuple[str, ...] = ()


def _declare_option(
    default: Any,
    flags: str,
    help: str,
    example: str = "",
    *,
    action: str = "",
    const: Any = True,
    other: tuple[str, str, Any] | None = None,
    **more: Any,
) -> Any:
    """Declare a field of `Options`, its lists as words.

    ``other`` has the flags, the help and the value of a second row.  ``more`` is ``choices``; ``languages``;
    ``key=False`` for a field that changes no machine code; and ``accepts``, the types of the keyword argument, if they
    are more than those of the field.
    """
    flag = default is False or default is True or (const is not True and not action)
    action = action or ("flag" if flag else "append" if default == () else "value")
    return field(default=default, metadata={"rows": ((flags, help, example, action, const), other), **more})


@dataclass(frozen=True)
class Options:
    """The options of a cell.  Every field is a keyword of ``compile_c`` and an option of the magic.

    The fields are in the order of the help text.
    """

    types: str = _declare_option(
        "",
        "--types",
        "Compile code that is written in terms of T once for each of these types.",
        "--types f4,f8",
        languages="c cuda",
        accepts="str | Sequence[str] | None",
    )
    signature: str = _declare_option(
        "",
        "--signature",
        "Core signature of the cell's only function, as after '// ufunc:'.",
        "--signature '(n),(n)->()'",
        languages="c",
        accepts="str | None",
    )
    identity: str = _declare_option(
        "",
        "--identity",
        "Identity of functions of two inputs, for reduce over empty or several axes.",
        "--identity 0",
        choices="0 1 -1 reorderable none",
        accepts="str | int | None",
    )
    cplus: bool = _declare_option(False, "-+ --cplus", "Compile as C++; overloads and templates become loops.")
    language_level: int = _declare_option(
        0, "-3", "Python 3 syntax (the default).", const=3, languages="cython", other=("-2", "Python 2 syntax.", 2)
    )
    strict: bool = _declare_option(
        False, "--strict", "Use scalar math functions only: results equal those of the same C code in a plain loop."
    )
    fast_math: bool = _declare_option(
        False,
        "--fast-math",
        "Compile (but not link) with -ffast-math: the rules for NaN, infinity and rounding are off.",
    )
    parallel: int = _declare_option(
        0,
        "--parallel",
        "Run large calls on N threads, or on all cores without N.",
        "--parallel=2",
        action="optional",
        const=-1,
        accepts="int | bool",
    )
    arch: str = _declare_option(
        "portable",
        "--arch",
        "portable: one object that uses AVX2, AVX-512 or SVE where available; native: for this CPU only.",
        "--arch native",
        choices="portable native",
    )
    compile_args: tuple[str, ...] = _declare_option(
        (), "-c --compile-args", "Pass this argument to the compiler.", "-c=-DNDEBUG"
    )
    link_args: tuple[str, ...] = _declare_option(
        (), "--link-args", "Pass this argument to the linker.", "--link-args=-Wl,-s"
    )
    lib: tuple[str, ...] = _declare_option((), "-l --lib", "Link with this library.", "-l gsl")
    library_dirs: tuple[str, ...] = _declare_option(
        (), "-L --library-dirs", "Also look for libraries in this folder.", "-L ~/lib"
    )
    include: tuple[str, ...] = _declare_option(
        (), "-I --include", "Also look for headers in this folder.", "-I ~/include"
    )
    src: tuple[str, ...] = _declare_option(
        (), "-S --src", "Compile this source file together with the cell.", "-S helper.c"
    )
    wrap: tuple[str, ...] = _declare_option(
        (),
        "--wrap",
        "Make ufuncs of the functions that the included headers declare and whose names match.",
        "--wrap 'gsl_sf_*'",
        languages="c",
    )
    pgo: bool = _declare_option(
        False,
        "--pgo",
        "Profile-guided optimization: compile, run the cell, and compile again with the branch counts.",
        languages="cython",
    )
    torch: bool = _declare_option(
        False, "--torch", "Compile as C++ and link with LibTorch from the installed torch package.", languages="cython"
    )
    cdef: bool = _declare_option(
        True,
        "--cdef",
        "Bind cdef functions of numbers in the notebook, as ufuncs (the default).",
        languages="cython",
        other=("--no-cdef", "Bind what %%cython binds: no cdef functions, unless a comment asks for one.", False),
    )
    annotate: bool = _declare_option(
        False,
        "-a --annotate",
        "Show which lines call Python, with their C code; in C, each line's share of the loop's instructions.",
    )
    annotate_fullc: bool = _declare_option(
        False, "--annotate-fullc", "Like -a, with the whole generated C code below.", languages="cython"
    )
    device: str = _declare_option(
        "auto",
        "--device",
        "Where the functions run: auto uses the GPU if there is one, otherwise an emulation on the CPU.",
        "--device cpu",
        choices="auto cpu gpu",
        languages="cuda",
    )
    abi: str = _declare_option(
        "auto",
        "--abi",
        "How functions return their result: c by value, numba through the first pointer; auto checks each function.",
        "--abi numba",
        choices="auto c numba",
        languages="cuda",
    )
    run_main: str = _declare_option(
        "",
        "--run-main",
        "Run the main() of the cell in the emulation, with these arguments, and show what it prints.",
        "--run-main '8 128'",
        action="optional",
        const=" ",
        languages="cuda",
        key=False,
        accepts="str | bool",
    )
    guard: bool = _declare_option(
        True,
        "--guard",
        "Try new code in another process first, where a crash does no harm (the default).",
        other=("--no-guard", "Skip the trial: bind the functions without running them first.", False),
    )
    sanitize: bool = _declare_option(
        False,
        "--sanitize",
        "Also try the code in a build that reports undefined behaviour and out-of-bounds accesses by line. "
        "Every launch of an emulated CUDA kernel is checked.",
        languages="c cuda",
    )
    sandbox: bool = _declare_option(
        False,
        "--sandbox",
        "Run every call in another process, so that a crash in any call raises an exception. Slower.",
        languages="c cuda",
    )
    force: bool = _declare_option(False, "-f --force", "Compile again, even if the code is in the cache.", key=False)
    name: str = _declare_option(
        "", "-n --name", "Name of the cell in messages, and of the module.", "-n filters", key=False
    )
    verbose: bool = _declare_option(
        False, "-v --verbose", "Show the compiler command and the time of each step.", key=False
    )
    time: float = _declare_option(
        TIME,
        "--time",
        "Verify and time the functions after compiling (the default), for this long.",
        "--time 2s",
        action="optional",
        const=TIME,
        key=False,
        accepts="float | bool | str",
        other=("--no-time -q", "Bind the functions only: no verification and no table.", 0.0),
    )
    size: int = _declare_option(
        0, "--size -N", "Number of elements to time with; 0 chooses automatically.", "-N 100000", key=False
    )
    core: str = _declare_option(
        "",
        "--core",
        "Sizes of core dimensions to time with, of functions of arrays.",
        "--core n=4096,m=3",
        key=False,
    )
    data: str = _declare_option(
        "",
        "--data",
        "Verify and time on these arrays, one for each input: names from the notebook, or expressions.",
        "--data x,y",
        key=False,
    )
    ref: str = _declare_option(
        "",
        "--ref",
        "Compare with this Python function or expression instead of the Python form of the cell.",
        "--ref 'np.hypot'",
        key=False,
    )
    vs: str = _declare_option(
        "",
        "--vs",
        "Also time the same function as written for these: numpy, numba, numexpr, cython, vectorize.",
        "--vs numpy,numba",
        key=False,
    )
    sizes: str = _declare_option(
        "", "--sizes", "Measure the time per element for these numbers of elements.", "--sizes 10:1e7", key=False
    )
    plot: bool = _declare_option(
        False, "--plot", "Plot the time per element over --sizes (10:1e7 by default).", key=False
    )
    show: str = _declare_option(
        "",
        "--show",
        "Show the assembly of the hot loop (asm), which loops are vectorized and why others are not (vec), "
        "the generated C (c), or the PTX of a CUDA cell (ptx).",
        "--show asm,vec",
        languages="c cuda",
        key=False,
    )

    def make_key(self) -> tuple[tuple[str, str], ...]:
        """The fields that change machine code, as text, in a fixed order."""
        return tuple((f.name, repr(getattr(self, f.name))) for f in fields(self) if f.metadata.get("key", True))

    def list_changes(self) -> dict[str, Any]:
        """Those fields with other values than the defaults, for `make_options`; lists for tuples, as JSON has."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get("key", True)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v != getattr(_DEFAULT, k)}


_DEFAULT = Options()


def _list_rows() -> Iterator[Option]:
    for f in fields(Options):
        (flags, help, example, action, const), other = f.metadata["rows"]
        kind = int if type(f.default) is int else str
        choices, languages = (tuple(f.metadata.get(name, "").split()) for name in ("choices", "languages"))
        words = tuple(flags.split())
        yield Option(words, f.name, help, example or words[0], action, const, choices, kind, languages)
        if other:
            words = tuple(other[0].split())
            yield Option(words, f.name, other[1], words[-1], "flag", other[2], choices, kind, languages)


#: In the order of the help text.
TABLE = tuple(_list_rows())

#: Keyword of `make_options` -> its types, as a signature shows them.  Lists may be given for repeated options.
KEYWORD_TYPES = {
    f.name: f.metadata.get("accepts") or ("str | Sequence[str]" if f.default == () else type(f.default).__name__)
    for f in fields(Options)
}


#: Arguments that choose a CPU, or instructions that only some CPUs have.
_CHOOSES_CPU = re.compile(r"-m(?:(?:arch|cpu)=|avx|fma|s?sse|bmi|f16c|popcnt)")
#: Options that stop compilers before they make a library.
_MAKE_NO_LIBRARY = frozenset("-fsyntax-only -E -S -c -M -MM".split())


def make_options(keywords: Mapping[str, Any] | None = None, *, base: Options | None = None) -> Options:
    """Check keyword options and return them as a value.

    Parameters
    ----------
    keywords : mapping
        Field name -> value.  Lists may be given for repeated options, and ``True`` for ``parallel``.
    base : Options
        Values of the other options; the defaults if omitted.

    Raises
    ------
    OptionError
        For an unknown name, a value of the wrong type or outside
        its choices, or two options that contradict each other.
    """
    known = vars(_DEFAULT)
    values: dict[str, Any] = {}
    for name, value in (keywords or {}).items():
        if name not in known:
            raise OptionError(f"{name!r} is not an option.", remedy=f"Valid options: {', '.join(sorted(known))}.")
        values[name] = _check_value(name, value, type(known[name]))
    options = replace(base or Options(), **values)
    level, shown = options.language_level, {*filter(None, options.show.split(","))}
    for wrong, message, remedy in (
        (options.strict and options.fast_math, "strict and fast_math contradict each other.", "Use only one of them."),
        (
            options.sanitize and not options.guard,
            "sanitize and no_guard contradict each other.",
            "Use only one of them.",
        ),
        (
            not shown <= {"asm", "vec", "c", *(view for entry in LANGUAGES.values() for view in entry.views)},
            f"show={options.show!r} is not a valid choice.",
            "Use asm, vec, c, ptx (of CUDA cells), or several of them.",
        ),
        (level not in (0, 2, 3), f"language_level={level} is not one of 2, 3.", "Give 2 or 3."),
        (
            options.parallel < -1,
            f"parallel={options.parallel} is negative.",
            "Use True, or a number of threads such as 2.",
        ),
        (
            idle := " ".join(word for word in options.compile_args if word in _MAKE_NO_LIBRARY),
            f"compile_args: {idle} stops the compiler before it makes a library.",
            "Remove it. --show=asm and --show=c show the intermediate code.",
        ),
        (options.size < 0, f"size={options.size} is negative.", "Use a number of elements, or 0 for automatic."),
    ):
        if wrong:
            raise OptionError(message, remedy=remedy)
    read_core_sizes(options.core)
    if options.plot and not options.sizes:
        options = replace(options, sizes="10:1e7")
    if options.annotate_fullc:
        options = replace(options, annotate=True)
    if chooses_cpu(options.compile_args):
        options = replace(options, arch="native")
    return options


def read_core_sizes(text: str) -> dict[str, int]:
    """``"n=4096,m=3"`` as sizes of core dimensions by name.

    Raises
    ------
    OptionError
        If it has another form, or a size is less than 1.
    """
    sizes = {}
    for pair in filter(None, text.split(",")):
        name, _, number = (word.strip() for word in pair.partition("="))
        digits = number.replace("_", "")
        if not name.isidentifier() or not digits.isdecimal() or int(digits) < 1:
            raise OptionError(f"core={text!r}: {pair!r} is no size of a core dimension.", remedy="Write n=4096,m=3.")
        sizes[name] = int(digits)
    return sizes


def chooses_cpu(arguments: Iterable[str]) -> bool:
    """Whether one of a compiler's arguments chooses the CPU: such code has no clones for other CPUs."""
    return any(map(_CHOOSES_CPU.match, arguments))


def _read_seconds(value: Any) -> float:
    """``True``, ``2``, ``"2s"`` or ``"500ms"`` in seconds; 0 for ``False``."""
    if isinstance(value, bool):
        return TIME if value else 0.0
    text = str(value).strip()
    unit = next(unit for unit in ("ms", "s", "") if text.endswith(unit))
    with contextlib.suppress(ValueError):
        seconds = float(text.removesuffix(unit)) * (1e-3 if unit == "ms" else 1.0)
        if 0 <= seconds <= MOST_SECONDS:
            return seconds
    raise OptionError(f"time={value!r} is not a number of seconds up to {MOST_SECONDS}.", remedy="Write 2s or 500ms.")


def refuse(options: Options, *, language: str) -> None:
    """Reject options that do not apply to cells of ``language``.

    Raises
    ------
    OptionError
        For the first one in the order of the help text.
    """
    for option, value in _find_foreign(options, language):
        flag = next((f for f in option.flags if f.startswith("--")), option.flags[0])
        typed = flag if option.action == "flag" else f"{flag} {value}"
        kinds = " and ".join(LANGUAGES[known].title for known in option.languages)
        homes = " or ".join(LANGUAGES[known].magic for known in option.languages)
        raise OptionError(
            f"{typed} is for {kinds} cells, and this one is {LANGUAGES[language].title}.",
            remedy=f"Remove it, or use {homes}.",
        )
    for view in options.show.split(","):
        own = [key for key, entry in LANGUAGES.items() if view in entry.views]
        if own and language not in own:
            kinds = " and ".join(LANGUAGES[key].title for key in own)
            raise OptionError(
                f"--show {view} is for {kinds} cells, and this one is {LANGUAGES[language].title}.",
                remedy="Use --show asm.",
            )


def suit_options(options: Options, *, language: str) -> Options:
    """``options`` with those that do not apply to ``language`` reset to their defaults.

    For remembered options, which the user did not write for this cell.
    """
    return replace(options, **{o.dest: getattr(_DEFAULT, o.dest) for o, _ in _find_foreign(options, language)})


def _find_foreign(options: Options, language: str) -> list[tuple[Option, Any]]:
    """Rows of options that are set but are not for ``language``, with their values."""
    rows = [(option, getattr(options, option.dest)) for option in TABLE]
    return [
        (option, value)
        for option, value in rows
        if option.languages
        and language not in option.languages
        and value != getattr(_DEFAULT, option.dest)
        # Only the row that was typed: -2 and not -3.
        and (option.action != "flag" or value == option.const)
    ]


def _check_value(name: str, value: Any, kind: type) -> Any:
    if kind is tuple:
        return (value,) if isinstance(value, str) else tuple(map(str, value or ()))
    if name == "parallel" and isinstance(value, bool):
        return -1 if value else 0
    if name == "run_main" and isinstance(value, bool):
        return " " * value
    if name == "time":
        return _read_seconds(value)
    if name in ("types", "signature", "identity") and value is None:
        return ""
    if name == "types" and not isinstance(value, str):
        return ",".join(map(str, value))
    if name == "identity" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    row = next(option for option in TABLE if option.dest == name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        message = f"{name}={value!r} is {type(value).__name__}, not {kind.__name__}."
        raise OptionError(message, remedy=f"Example: {row.example!r}.")
    if row.choices and value and value not in row.choices:
        raise OptionError(
            f"{name}={value!r} is not one of {', '.join(row.choices)}.", remedy=f"Example: {row.example!r}."
        )
    return value


def list_names(language: str) -> tuple[str, ...]:
    """Keywords that mean something for cells of a language, in the order of the help text."""
    rows = (row for row in TABLE if not row.languages or language in row.languages)
    return tuple(dict.fromkeys(row.dest for row in rows))


def take_options(names: Iterable[str]) -> Callable[[_F], _F]:
    """Decorate a function that takes ``**options``: its signature and its docstring have a parameter for each.

    The list is inserted before ``Raises``, as in numpydoc.
    """

    def decorate(function: _F) -> _F:
        own = inspect.signature(function)
        defaults = vars(_DEFAULT)
        chosen = [name for name in names if name not in own.parameters]
        parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=KEYWORD_TYPES[name]
            )
            for name in chosen
        ]
        vars(function)["__signature__"] = own.replace(parameters=parameters)
        if function.__doc__:  # none under -OO
            before, section, after = inspect.cleandoc(function.__doc__).partition("\nRaises\n")
            listed = "".join(_describe_option(name, KEYWORD_TYPES[name]) for name in chosen)
            function.__doc__ = f"{before.rstrip()}\n\nOther Parameters\n----------------\n{listed}{section}{after}"
        return function

    return decorate


@functools.cache
def _describe_option(name: str, kind: str) -> str:
    rows = [row for row in TABLE if row.dest == name and not row.flags[0].startswith("--no-")]
    # For flags that set numbers, such as -2 and -3, the keyword's value is the number.
    texts = [f"{row.const}: {row.help}" if row.action == "flag" and row.const is not True else row.help for row in rows]
    return f"{name} : {kind}\n    {' '.join(texts)}\n"
