"""The options of the three cell magics: one frozen value and one table.

The magics' parsers, their ``?`` help, tab completion, ``%ufunc_config`` and the keyword arguments of
``compile_c`` and its siblings all come from ``TABLE``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from .errors import OptionError
from .languages import LANGUAGES

#: Functions of one cell that are written as Python and timed; the others are only bound.
MOST_TIMED = 8

#: Seconds that the report of a cell takes where rounds agree.
TIME = 0.2

#: More than anybody waits for: a slip.
MOST_SECONDS = 3600


@dataclass(frozen=True)
class Options:
    """The options of a cell.  Every field is a keyword of ``compile_c`` and an option of the magic.

    The first group changes the machine code and is part of the cache key. The second changes only what is shown.
    """

    compile_args: tuple[str, ...] = ()
    link_args: tuple[str, ...] = ()
    lib: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    wrap: tuple[str, ...] = ()
    cplus: bool = False
    types: str = ""
    signature: str = ""
    identity: str = ""
    strict: bool = False
    fast_math: bool = False
    parallel: int = 0
    arch: str = "portable"
    language_level: int = 0
    annotate: bool = False
    annotate_fullc: bool = False
    pgo: bool = False
    torch: bool = False
    device: str = "auto"
    abi: str = "auto"
    guard: bool = True
    sanitize: bool = False
    sandbox: bool = False

    run_main: str = field(default="", metadata={"key": False})
    force: bool = field(default=False, metadata={"key": False})
    name: str = field(default="", metadata={"key": False})
    verbose: bool = field(default=False, metadata={"key": False})
    time: float = field(default=TIME, metadata={"key": False})
    size: int = field(default=0, metadata={"key": False})
    data: str = field(default="", metadata={"key": False})
    ref: str = field(default="", metadata={"key": False})
    vs: str = field(default="", metadata={"key": False})
    sizes: str = field(default="", metadata={"key": False})
    plot: bool = field(default=False, metadata={"key": False})
    show: str = field(default="", metadata={"key": False})

    def key(self) -> tuple[tuple[str, str], ...]:
        """The fields that change machine code, as text, in a fixed order."""
        return tuple((f.name, repr(getattr(self, f.name))) for f in fields(self) if f.metadata.get("key", True))

    def changed(self) -> dict[str, Any]:
        """Those of the first group that differ from the defaults, for `make_options`; lists for tuples, as JSON has."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get("key", True)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v != getattr(_DEFAULT, k)}


_DEFAULT = Options()


@dataclass(frozen=True)
class Option:
    """One row of the table: ``flags`` as typed on the line, the ``Options`` field it sets, its help."""

    flags: tuple[str, ...]
    dest: str
    help: str
    example: str
    #: "flag" sets ``const``; "value" takes one word; "append" takes a word each time; "optional" may
    #: stand without its value, which is then ``const``.
    action: str = "value"
    const: Any = True
    choices: tuple[str, ...] = ()
    kind: type = str
    #: Of ``LANGUAGES``, those whose cells it means something for; empty for all.
    languages: tuple[str, ...] = ()


def _row(
    flags: str,
    help: str,
    example: str = "",
    *,
    dest: str = "",
    action: str = "",
    const: Any = True,
    choices: str = "",
    languages: str = "",
) -> Option:
    """A row, its lists as words; it sets the field of its name, whose type says what it takes."""
    words = tuple(flags.split())
    dest = dest or next(f for f in words if f.startswith("--"))[2:].replace("-", "_")
    field_type = type(getattr(_DEFAULT, dest))
    flag = field_type is bool or (const is not True and not action)
    action = action or ("flag" if flag else "append" if field_type is tuple else "value")
    kind = int if field_type is int else str
    lists = tuple(choices.split()), kind, tuple(languages.split())
    return Option(words, dest, help, example or words[0], action, const, *lists)


#: In the order of the help text.
TABLE: tuple[Option, ...] = (
    _row(
        "--types",
        "Compile code that is written in terms of T once for each of these types.",
        "--types f4,f8",
        languages="c cuda",
    ),
    _row(
        "--signature",
        "Core signature of the cell's only function, as after '// ufunc:'.",
        "--signature '(n),(n)->()'",
        languages="c",
    ),
    _row(
        "--identity",
        "Identity of functions of two inputs, for reduce over empty or several axes.",
        "--identity 0",
        choices="0 1 -1 reorderable none",
    ),
    _row("-+ --cplus", "Compile as C++; overloads and templates become loops."),
    _row("-3", "Python 3 syntax (the default).", dest="language_level", const=3, languages="cython"),
    _row("-2", "Python 2 syntax.", dest="language_level", const=2, languages="cython"),
    _row("--strict", "Use scalar math functions only: results equal those of the same C code in a plain loop."),
    _row("--fast-math", "Compile (but not link) with -ffast-math: the rules for NaN, infinity and rounding are off."),
    _row(
        "--parallel",
        "Run large calls on N threads, or on all cores without N.",
        "--parallel=2",
        action="optional",
        const=-1,
    ),
    _row(
        "--arch",
        "portable: one object that uses AVX2, AVX-512 or SVE where available; native: for this CPU only.",
        "--arch native",
        choices="portable native",
    ),
    _row("-c --compile-args", "Pass this argument to the compiler.", "-c=-DNDEBUG"),
    _row("--link-args", "Pass this argument to the linker.", "--link-args=-Wl,-s"),
    _row("-l --lib", "Link with this library.", "-l gsl"),
    _row("-L --library-dirs", "Also look for libraries in this folder.", "-L ~/lib"),
    _row("-I --include", "Also look for headers in this folder.", "-I ~/include"),
    _row("-S --src", "Compile this source file together with the cell.", "-S helper.c"),
    _row(
        "--wrap",
        "Make ufuncs of the functions that the included headers declare and whose names match.",
        "--wrap 'gsl_sf_*'",
        languages="c",
    ),
    _row(
        "--pgo",
        "Profile-guided optimization: compile, run the cell, and compile again with the branch counts.",
        languages="cython",
    ),
    _row("--torch", "Compile as C++ and link with LibTorch from the installed torch package.", languages="cython"),
    _row(
        "-a --annotate",
        "Show which lines call Python, with their C code; in C, each line's share of the loop's instructions.",
    ),
    _row("--annotate-fullc", "Like -a, with the whole generated C code below.", languages="cython"),
    _row(
        "--device",
        "Where the functions run: auto uses the GPU if there is one, otherwise an emulation on the CPU.",
        "--device cpu",
        choices="auto cpu gpu",
        languages="cuda",
    ),
    _row(
        "--abi",
        "How functions return their result: c by value, numba through the first pointer; auto checks each function.",
        "--abi numba",
        choices="auto c numba",
        languages="cuda",
    ),
    _row(
        "--run-main",
        "Run the main() of the cell in the emulation, with these arguments, and show what it prints.",
        "--run-main '8 128'",
        languages="cuda",
        action="optional",
        const=" ",
    ),
    _row("--guard", "Try new code in another process first, where a crash does no harm (the default)."),
    _row("--no-guard", "Skip the trial: bind the functions without running them first.", dest="guard", const=False),
    _row(
        "--sanitize",
        "Also try the code in a build that reports undefined behaviour and out-of-bounds accesses by line. "
        "Every launch of an emulated CUDA kernel is checked.",
        languages="c cuda",
    ),
    _row(
        "--sandbox",
        "Run every call in another process, so that a crash in any call raises an exception. Slower.",
        languages="c cuda",
    ),
    _row("-f --force", "Compile again, even if the code is in the cache."),
    _row("-n --name", "Name of the cell in messages, and of the module.", "-n filters"),
    _row("-v --verbose", "Show the compiler command and the time of each step."),
    _row(
        "--time",
        "Verify and time the functions after compiling (the default), for this long.",
        "--time 2s",
        action="optional",
        const=TIME,
    ),
    _row("--no-time -q", "Bind the functions only: no verification and no table.", "-q", dest="time", const=0.0),
    _row("--size -N", "Number of elements to time with; 0 chooses automatically.", "-N 100000"),
    _row(
        "--data",
        "Verify and time on these arrays, one for each input: names from the notebook, or expressions.",
        "--data x,y",
    ),
    _row(
        "--ref",
        "Compare with this Python function or expression instead of the Python form of the cell.",
        "--ref 'np.hypot'",
    ),
    _row(
        "--vs",
        "Also time the same function as written for these: numpy, numba, numexpr, cython, vectorize.",
        "--vs numpy,numba",
    ),
    _row("--sizes", "Measure the time per element for these numbers of elements.", "--sizes 10:1e7"),
    _row("--plot", "Plot the time per element over --sizes (10:1e7 by default)."),
    _row(
        "--show",
        "Show the assembly of the hot loop (asm), which loops are vectorized and why others are not (vec), "
        "the generated C (c), or the PTX of a CUDA cell (ptx).",
        "--show asm,vec",
        languages="c cuda",
    ),
)


#: Arguments that choose a CPU, or instructions that not all of its kind have.
_CHOOSES_CPU = re.compile(r"-m(?:(?:arch|cpu)=|avx|fma|s?sse|bmi|f16c|popcnt)")
#: Options of compilers that end before there is a library.
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
        values[name] = _checked(name, value, type(known[name]))
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
    if options.plot and not options.sizes:
        options = replace(options, sizes="10:1e7")
    if options.annotate_fullc:
        options = replace(options, annotate=True)
    if chooses_cpu(options.compile_args):
        options = replace(options, arch="native")
    return options


def chooses_cpu(arguments: Iterable[str]) -> bool:
    """Whether one of a compiler's arguments chooses the CPU: what is compiled so has no clones, and is for this one."""
    return any(map(_CHOOSES_CPU.match, arguments))


def _seconds(value: Any) -> float:
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
    for option, value in _foreign(options, language):
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


def suited(options: Options, *, language: str) -> Options:
    """``options`` with those that do not apply to ``language`` reset to their defaults.

    For remembered options, which the user did not write for this cell.
    """
    return replace(options, **{o.dest: getattr(_DEFAULT, o.dest) for o, _ in _foreign(options, language)})


def _foreign(options: Options, language: str) -> list[tuple[Option, Any]]:
    """Rows of options that are set but are not for ``language``, with their values."""
    rows = [(option, getattr(options, option.dest)) for option in TABLE]
    return [
        (option, value)
        for option, value in rows
        if option.languages
        and language not in option.languages
        and value != getattr(_DEFAULT, option.dest)
        # A row that is not the one typed: -2 where -3 was.
        and (option.action != "flag" or value == option.const)
    ]


def _checked(name: str, value: Any, kind: type) -> Any:
    if kind is tuple:
        return (value,) if isinstance(value, str) else tuple(map(str, value or ()))
    if name == "parallel" and isinstance(value, bool):
        return -1 if value else 0
    if name == "run_main" and isinstance(value, bool):
        return " " * value
    if name == "time":
        return _seconds(value)
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
