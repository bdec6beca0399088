"""The one road from source to functions: key, cache, compile, load, bind; and from functions to a report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import cache, loader, ufunc
from .backends import Backend, c, cython
from .errors import Diagnostic, OptionError, SignatureError
from .foreign import make_plain
from .objectcode import FunctionCode, ObjectCode
from .options import Options, make_options, refuse
from .signature import TYPES

if TYPE_CHECKING:
    from .report import Report

__all__ = ["Build", "build", "c_ufunc", "compile_c", "compile_cython", "report"]

Language = Literal["c", "cython"]

#: Builds of this process by cache key, so that the same cell gives the same objects.
_built: dict[str, Build] = {}
_MOST_BUILDS = 256


@dataclass(frozen=True, eq=False)
class Build(Mapping[str, Any]):
    """What a source became: a mapping from names to ufuncs and plain functions, also by attribute.

    Attributes
    ----------
    object_code : ObjectCode
    name : str
        What diagnostics call the source, ``"In[3]"``.
    cached : bool
        True if nothing was compiled.
    seconds : dict
        Seconds of each step: "key", "compile", "load" where they happened.
    diagnostics : tuple of Diagnostic
        The compiler's warnings, those of the first compilation when cached.
    notes : tuple of str
        What else a user should know.
    """

    functions: dict[str, Any] = field(repr=False)
    object_code: ObjectCode = field(repr=False)
    name: str
    cached: bool
    seconds: dict[str, float]
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    library: loader.Library | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["functions"][name]
        except KeyError:
            raise AttributeError(f"this Build has no function {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __hash__(self) -> int:
        return hash(self.object_code)

    def __eq__(self, other: object) -> bool:
        return self.object_code == other.object_code if isinstance(other, Build) else NotImplemented

    def __repr__(self) -> str:
        return f"<Build {self.name}: {', '.join(map(_described, self.object_code.functions))}>"

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Run the build's ``--parallel`` loops on ``count`` threads inside a ``with``; 0 means all cores.

        A build without ``parallel`` takes no notice.
        """
        if self.library is None or not self.object_code.threads:
            yield
            return
        before = self.library.threads()
        self.library.set_threads(count)
        try:
            yield
        finally:
            self.library.set_threads(before)


def build(source: str, *, language: Language, options: Options, name: str) -> Build:
    """Make functions of ``source``, from this process's memory, the cache, or the compiler.

    Raises
    ------
    UfuncMagicError
        ParseError, SignatureError, CompileError, LinkError, ToolchainError, TargetError, CacheError.
    """
    start = time.perf_counter()
    backend = _backend(language)
    refuse(options, language=language)
    source = source.removeprefix("\ufeff")
    entry_key = backend.key(source, options=options)
    seconds = {"key": time.perf_counter() - start}
    held = None if options.force else _built.get(entry_key)
    if held is not None:
        return replace(held, cached=True, name=name, seconds=seconds, diagnostics=_renamed(held, name))

    store = cache.default()
    start = time.perf_counter()
    entry = None if options.force else store.get(entry_key)
    if entry is not None:
        object_code = ObjectCode.from_parts(entry.record, entry.code)
    else:
        with store.scratch() as folder:
            object_code = backend.compile(source, options=options, name=name, folder=folder)
            entry = store.publish(entry_key, record=object_code.header, code=object_code.code, replace=options.force)
        seconds["compile"] = time.perf_counter() - start
        start = time.perf_counter()
    made = _load(object_code, entry.library, name=name, source=source)
    seconds["load"] = time.perf_counter() - start
    made = replace(made, cached="compile" not in seconds, seconds=seconds)
    made = replace(made, diagnostics=_renamed(made, name))
    while len(_built) >= _MOST_BUILDS:
        del _built[next(iter(_built))]
    _built[entry_key] = made
    return made


def compile_c(source: str, **options: Any) -> Build:
    """Compile C (or C++ with ``cplus=True``) and return its functions.

    Parameters
    ----------
    source : str
    **options
        The words of ``%%c_ufunc?``: ``types="f4,f8"``, ``parallel=2``, ``strict=True``, ...

    Returns
    -------
    Build

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    UfuncMagicError
        As `build`.
    """
    made = make_options(options)
    return build(source, language="c", options=made, name=made.name or "<c>")


def compile_cython(source: str, **options: Any) -> Build:
    """Compile Cython and return its functions, classes and constants.

    Functions whose parameters and results are numbers, or arrays with a ``# ufunc:`` comment above, are ufuncs; the
    others are what ``%%cython`` makes of them.

    Parameters
    ----------
    source : str
    **options
        The words of ``%%cython_ufunc?``: ``cplus=True``, ``annotate=True``, ``compile_args=["-O2"]``, ...

    Returns
    -------
    Build

    Raises
    ------
    OptionError
        For an unknown option or a bad value.
    UfuncMagicError
        As `build`.
    Exception
        Whatever the statements of the source raise.
    """
    made = make_options(options)
    return build(source, language="cython", options=made, name=made.name or "<cython>")


def c_ufunc(source: str, **options: Any) -> np.ufunc:
    """The one function of ``source`` as a ufunc.

    >>> double = c_ufunc("double f(double a) { return 2*a; }")

    Raises
    ------
    SignatureError
        If the source defines several functions, or one that cannot be a ufunc.
    """
    made = compile_c(source, **options)
    ufuncs = [f for f in made.values() if isinstance(f, np.ufunc)]
    if len(ufuncs) != 1 or len(made) != 1:
        plain = next((f for f in made.object_code.functions if f.kind == "plain"), None)
        if plain and len(made) <= 1:
            raise SignatureError(f"{plain.name} cannot be a ufunc: {plain.reason}.", remedy="Or use compile_c().")
        raise SignatureError(
            f"The source defines {len(made)} functions ({', '.join(made)}), c_ufunc() wants one.",
            remedy="Use compile_c(), or make the others static.",
        )
    return ufuncs[0]


def report(built: Build, *, options: Options, namespace: Mapping[str, Any] | None = None) -> Report:
    """Verify and time what was built.

    Parameters
    ----------
    built : Build
    options : Options
        ``time``, ``size`` and ``ref`` are looked at.
    namespace : mapping
        Where the names of ``ref`` are looked up, besides ``np`` and ``math``.

    Returns
    -------
    ufunc_magic.report.Report

    Raises
    ------
    OptionError
        If ``ref`` cannot be evaluated to a callable.
    """
    from .compare import timing  # the clock, sample inputs and tables: not for who only compiles

    made = timing.report(built, options=options, names=namespace or {})
    if not (options.annotate and built.object_code.annotated):
        return made
    from .backends.cython.annotate import Annotated

    return replace(made, annotated=Annotated.from_json(built.object_code.annotated))


def _backend(language: Language) -> Backend:
    match language:
        case "c":
            return c
        case "cython":
            return cython
    raise OptionError(f"language={language!r} is not known.", remedy="Use 'c' or 'cython'.")


def _load(object_code: ObjectCode, path: Path, *, name: str, source: str) -> Build:
    module = loader.open_module(object_code, path) if object_code.module else None
    library = loader.open_library(object_code, path)
    functions: dict[str, Any] = {}
    notes = list(object_code.notes)
    for code in object_code.functions:
        # Whose note it is shows where a cell has several functions.
        notes += [note if note.startswith(code.name) else f"{code.name}: {note}" for note in code.notes]
        if code.kind == "ufunc":
            functions[code.name] = ufunc.make_ufunc(code, library.loops, module="__main__", owner=library)
            continue
        if code.kind == "python":
            continue
        try:
            functions[code.name] = make_plain(code, library.functions[code.index], owner=library)
        except SignatureError as fault:
            notes.append(str(fault))
    if module is not None:
        functions = _public(module, functions)
    return Build(functions, object_code, name, False, {}, notes=tuple(notes), library=library)


def _public(module: ModuleType, ufuncs: Mapping[str, Any]) -> dict[str, Any]:
    """What ``from module import *`` would bring, in its order, with the ufuncs in the place of their functions."""
    listed = getattr(module, "__all__", None)
    names = [n for n in vars(module) if not n.startswith("_")] if listed is None else list(listed)
    if listed is None:
        names += [n for n in ufuncs if n not in names]
    return {name: ufuncs[name] if name in ufuncs else getattr(module, name) for name in names}


def _renamed(made: Build, name: str) -> tuple[Diagnostic, ...]:
    """The stored diagnostics under the name that the cell has now."""
    was = made.object_code.name
    return tuple(replace(d, file=name) if d.file == was else d for d in made.object_code.diagnostics)


def _described(code: FunctionCode) -> str:
    if code.kind != "ufunc":
        return f"{code.name}()"
    letters = ["".join(TYPES[t].char for t in loop.types) for loop in code.loops]
    return f"{code.name} {' '.join(f'{w[: code.nin]}->{w[code.nin :]}' for w in letters)}"
