"""Object code that this process has opened, once, and the mapping from names to functions that users get.

Nothing here can compile; unpickled Builds are loaded by the same code.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from .. import store
from ..model import (
    LANGUAGES,
    CellPlace,
    CompileError,
    Diagnostic,
    FunctionCode,
    LinkError,
    ObjectCode,
    ReportData,
    SignatureError,
    TargetError,
    UfuncMagicError,
    UnboundFunction,
    check_contract,
    find_language_key,
)
from . import cell_names, def_function, loader
from .cffi_function import PlainFunction
from .locks import lock_of
from .named_module import NamedModule
from .numpy_ufunc import make_ufunc, note_calls, spell_letters


class RemoteLoops(Protocol):
    """Another process that runs the loops of one object."""

    def find_loops(self, code: FunctionCode) -> tuple[dict[int, int], dict[int, int]]:
        """By loop index, the addresses of the loops and their data, for NumPy."""

    #: The cell's memory, see `Sandbox`.
    variables: list[tuple[int, int, int]]


@dataclass(eq=False)
class LoadedObject:
    """Object code in this process, and its objects here, which are not sent.

    Attributes
    ----------
    object_code : ObjectCode
    library : Library or None
        The opened code; None if there is no code for the CPU.
    module : module or None
        The extension module, if the code is one.
    functions : dict
    memory : mapping
        The variables of the cell, as arrays.
    sandbox : RemoteLoops or None
        The process of its loops with ``--sandbox``.
    report_data : ReportData
        The data for the report of its cell; empty for code that was not compiled here.
    device : mapping
        The object code's, with additions of this process, which are sent with it.
    complete : callable or None
        For code that suits only CPUs like this one: makes the portable object code.
    key : str
        What the cache finds its cell by, with the files that a compiler read; ``""`` if unknown.
    payload : tuple or None
        For its pickles: the key of the signature, the object code, the bytes.
    """

    object_code: ObjectCode
    library: loader.Library | None = field(default=None, repr=False)
    module: ModuleType | None = field(default=None, repr=False)
    functions: dict[str, Any] = field(default_factory=dict, repr=False)
    memory: Any = field(default_factory=dict, repr=False)
    sandbox: RemoteLoops | None = field(default=None, repr=False)
    report_data: ReportData = field(default_factory=ReportData, repr=False)
    device: Mapping[str, Any] = field(init=False, repr=False)
    complete: Callable[[], ObjectCode] | None = field(default=None, repr=False)
    key: str = field(default="", init=False, repr=False)
    payload: tuple[bytes, ObjectCode, bytes] | None = field(default=None, init=False, repr=False)
    _portable: ObjectCode = field(init=False, repr=False)
    _sent: ObjectCode = field(init=False, repr=False)
    _beside: loader.Library | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.device = self.object_code.device
        self._portable = self._sent = self.object_code

    @property
    def portable_code(self) -> ObjectCode:
        """The object code, for every CPU of its kind.

        Where it cannot be made, as without a compiler, the loaded code: its target names what it needs of a CPU.
        """
        if complete := self.complete:
            try:
                whole = complete()
            except UfuncMagicError:
                return self.object_code
            with lock_code(self.object_code):
                if self._portable is self.object_code:  # no other thread was first
                    self._portable = self._sent = whole
                    if build := find_loaded(self.object_code):  # the Build that comes back to this process
                        _loaded[_identify_functions(whole)] = build
                self.complete = None
        return self._portable

    def carry(self, **more: Any) -> None:
        """Add to the ``device`` that is sent, for example the LTO-IR for a linker."""
        self.device = {**self.device, **more}
        self._sent = replace(self.portable_code, device=self.device)

    def prepare_to_send(self, *, source: bool = True) -> ObjectCode:
        """The object code to send, with or without the cell's source."""
        code = self.portable_code
        if source:
            return self._sent
        bare = tuple(replace(function, source="") for function in code.functions)
        device = {name: value for name, value in self.device.items() if name != "unit"}
        return replace(code, source="", functions=bare, device=device)

    @property
    def portable_library(self) -> loader.Library | None:
        """The opened portable code, which has more forms of functions, and its own state."""
        code = self.portable_code
        if code.code_digest == self.object_code.code_digest:
            return self.library
        with lock_code(code):
            if self._beside is None:
                self._beside = _open(code, None).library
        return self._beside


class FunctionBinder(Protocol):
    """The interface of the module that binds a language's own functions."""

    def open_memory(self, opened: LoadedObject) -> Mapping[str, Any]:
        """Return the cell's variables by name."""

    def bind(self, code: FunctionCode, opened: LoadedObject, function: Any) -> Any:
        """Return what to bind instead of ``function``, which is None if the CPU has no code for it."""

    def group(self, object_code: ObjectCode, functions: Mapping[str, Any]) -> dict[str, Any]:
        """Return further functions, each made of several of ``functions``."""


@dataclass(frozen=True, eq=False)
class Build(Mapping[str, Any]):
    """The functions of a source: a mapping from names to ufuncs and plain functions, also by attribute.

    A function that crashed in its trial is not in it.  Looking it up raises the reason as a CellCrashed that is also a
    KeyError: ``name in build`` is false, ``build.get(name)`` is None.

    Attributes
    ----------
    object_code : ObjectCode
        For every CPU of its kind.  Right after a cell was compiled, it is compiled when it is first used.
    name : str
        The name of the source in diagnostics, ``"In[3]"``.
    cached : bool
        True if nothing was compiled.
    seconds : dict
        Seconds of each step that happened: "key", "compile", "guard", "load".
    diagnostics : tuple of Diagnostic
        The compiler's warnings, those of the first compilation when cached.
    notes : tuple of str
        Notes for the user.
    printed : str
        The output of the new code in its trial.
    loaded : LoadedObject
    report_data : ReportData
        The data for its report; empty for a Build that was not compiled here.
    first_line : int
        The number of the source's first line, from which notes and errors count: 2 for a cell below its magic.
    """

    loaded: LoadedObject = field(repr=False)
    name: str
    cached: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    printed: str = ""
    first_line: int = field(default=1, repr=False)

    def report(self, **options: Any) -> Any:
        """Verify and time the functions; only a Build that was compiled in this process can.

        Raises
        ------
        UfuncMagicError
        """
        raise UfuncMagicError(
            "This Build was loaded, not compiled, so it has no Python form.",
            remedy="Compile it here, or compare with um.compare().",
        )

    def _repr_html_(self) -> str | None:
        return None

    @property
    def object_code(self) -> ObjectCode:
        return self.loaded.portable_code

    @property
    def place(self) -> CellPlace:
        """The name of the source in messages, and the number of its first line."""
        return CellPlace(self.name, self.first_line)

    @property
    def report_data(self) -> ReportData:
        return self.loaded.report_data

    def __getitem__(self, name: str) -> Any:
        if name in self.report_data.refused and name not in self.loaded.functions:
            refused = self.report_data.refused[name]
            place = f" on line {self.place.line(refused.line)} of {self.name}:\n    {refused.text.strip()}"
            raise UnboundFunction(f"{refused.message}{place}", remedy=refused.hint)
        return self.loaded.functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.loaded.functions)

    def __len__(self) -> int:
        return len(self.loaded.functions)

    def __getattr__(self, name: str) -> Any:
        if name == "loaded":  # copy() makes a Build without fields first
            raise AttributeError(name)
        try:
            return self[name]
        except UnboundFunction:
            raise
        except KeyError:
            if name in self.loaded.memory:
                return self.loaded.memory[name]
            raise AttributeError(f"this Build has no function {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __hash__(self) -> int:
        return hash(self.object_code)

    def __eq__(self, other: object) -> bool:
        return self.object_code == other.object_code if isinstance(other, Build) else NotImplemented

    def __dask_tokenize__(self) -> tuple[str, str]:
        # Dask would use the fields of the dataclass, but the times of the steps differ in each process.
        return "ufunc_magic.Build", self.object_code.code_digest

    def __repr__(self) -> str:
        refused = f"; not bound: {', '.join(self.report_data.refused)}" if self.report_data.refused else ""
        bound = [f for f in self.loaded.object_code.functions if f.name in self.loaded.functions]
        return f"<Build {self.name}: {', '.join(map(_describe, bound)) or 'no functions'}{refused}>"

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Run the build's ``--parallel`` loops on ``count`` threads inside a ``with``; 0 means all cores.

        A build without ``parallel`` takes no notice.
        """
        library = self.loaded.library
        if not isinstance(library, loader.Library) or not self.loaded.object_code.threads:
            yield
            return
        before = library.get_threads()
        library.set_threads(count)
        try:
            yield
        finally:
            library.set_threads(before)


#: Everything that this process has opened, by `_identify_functions`.  Nothing is closed, so nothing is dropped.
_loaded: dict[str, Build] = {}


def find_loaded(object_code: ObjectCode) -> Build | None:
    """The Build of that code, if this process has loaded it."""
    return _loaded.get(_identify_functions(object_code))


def find_function(name: str, *, language: str) -> Any:
    """The function of that name in the newest source of a language that this process has loaded, or None."""
    builds = [build for build in list(_loaded.values()) if build.object_code.language == language]
    return next((build[name] for build in reversed(builds) if name in build), None)


def measure_weight() -> tuple[int, int]:
    """The number of objects that this process has open, and the bytes of their machine code."""
    objects = {id(b.loaded): b.loaded for b in list(_loaded.values())}
    return len(objects), sum(len(opened.object_code.code) for opened in objects.values())


def find_modules(name: str) -> list[Build]:
    """The Builds of our extension modules of that name, newest first: a cell with ``-n`` makes one at each edit."""
    # A copy in one step: another thread may open something meanwhile.
    return [b for b in reversed(list(_loaded.values())) if b.loaded.object_code.module == name] if name else []


def _identify_functions(object_code: ObjectCode) -> str:
    """The identity of functions in this process: their machine code, and the source for a language that binds them."""
    if not _make_binder_name(object_code):
        return object_code.code_digest
    return store.make_key([object_code.code_digest, object_code.source, repr(sorted(object_code.options.items()))])


def _make_binder_name(object_code: ObjectCode) -> str:
    entry = LANGUAGES.get(find_language_key(object_code.language))
    return entry.loader if entry else ""


def _find_binder(object_code: ObjectCode) -> FunctionBinder | None:
    """The module that binds its functions; None if NumPy's loops and plain functions are all.

    The table names it as text: only code of that language reaches a room above this one.
    """
    name = _make_binder_name(object_code)
    return importlib.import_module(name) if name else None


def lock_code(object_code: ObjectCode) -> threading.RLock:
    """The lock for opening that code: two threads would make two functions, and run a module's statements twice."""
    return lock_of(f"open {_identify_functions(object_code)}")


#: Has ``Sandbox``, a `RemoteLoops`.
_GUARD = f"{__name__.partition('.')[0]}.guard"


def load(
    object_code: ObjectCode,
    path: Path | None = None,
    *,
    place: CellPlace | None = None,
    report_data: ReportData | None = None,
) -> Build:
    """Open object code, make its functions, and enter both into the registry.

    Parameters
    ----------
    object_code : ObjectCode
    path : Path
        The file that contains it; None if it is only in memory.
    place : CellPlace
        The name and first line of the source in messages; those of the object code if omitted.
    report_data : ReportData
        The data for reports.

    Raises
    ------
    TargetError, LinkError
        If it cannot run here.
    SignatureError, CompileError
        If none of its functions can be bound.
    Exception
        Any exception that the statements of an extension module raise.
    """
    if place is None:
        place = object_code.place
    with lock_code(object_code):
        cell_names.set_place(object_code, place)
        opened = _open(object_code, path)
        opened.report_data = report_data or opened.report_data
        library, functions = opened.library, opened.functions
        native = library if isinstance(library, loader.Library) else None
        notes = list(map(place.replace_marks, opened.report_data.all_notes))
        faults: list[SignatureError] = []
        binder = _find_binder(object_code)
        if binder is not None:
            opened.memory = binder.open_memory(opened)
        for code in object_code.functions:
            function: Any = None
            try:
                if code.kind == "ufunc" and library is not None:
                    if code.records and opened.sandbox:
                        raise SignatureError(
                            f"{code.name} has structures, so it cannot run in a sandbox.", remedy="Remove --sandbox."
                        )
                    loops, data = opened.sandbox.find_loops(code) if opened.sandbox else (library.loops, None)
                    function = make_ufunc(code, loops, module="__main__", owner=opened, data=data)
                    if native is not None:
                        note_calls(function, native)
                    if code.is_def and native is not None and not opened.sandbox:
                        function = _bind_def(code, function, opened.module, native)
                elif code.kind == "plain" and native is not None:
                    if opened.sandbox:
                        raise SignatureError(
                            f"{code.name} is not a ufunc, so it cannot run in a sandbox.", remedy="Remove --sandbox."
                        )
                    checked = path is not None
                    address = native.plain_calls[code.index] or native.functions[code.index]
                    function = PlainFunction(code, address, owner=opened, checked=checked)
            except SignatureError as fault:
                notes.append(str(fault))
                faults.append(fault)
            if binder is not None:
                function = binder.bind(code, opened, function)
            if function is not None:
                functions[code.name] = function
        if binder is not None:
            functions.update(binder.group(object_code, functions))
        if faults and not functions:
            raise _choose_fault(faults, opened.report_data, name=place.name)
        if opened.module is not None:
            public = _list_public(opened.module, functions)
            opened.functions = {n: f for n, f in public.items() if n not in opened.report_data.refused}
        build = Build(opened, place.name, notes=tuple(notes), first_line=place.first_line)
        _loaded[_identify_functions(object_code)] = build
        return build


def _choose_fault(faults: Sequence[SignatureError], report_data: ReportData, *, name: str) -> UfuncMagicError:
    """The error of a cell of which nothing can be bound: what the compiler refused is what the cell is about."""
    if refused := tuple(report_data.refused.values()):
        return CompileError(f"No function of {name} can be bound.", diagnostics=refused)
    return faults[0]


def publish_module(opened: LoadedObject) -> None:
    """Have ``import NAME`` find the module of a cell with ``-n NAME`` that ran last, with the notebook's functions."""
    name, module = opened.object_code.module, opened.module
    if module is not None and not name.startswith(UNNAMED):
        own = {code.name for code in opened.object_code.functions}
        sys.modules[name] = NamedModule(module, {n: f for n, f in opened.functions.items() if n in own})


def _open(object_code: ObjectCode, path: Path | None) -> LoadedObject:
    """Open the code, without functions yet."""
    if not object_code.code:  # a cell for a device only
        return LoadedObject(object_code)
    if path is not None:
        try:
            return _open_file(object_code, str(path))
        except (TargetError, LinkError):
            if path.exists():
                raise
            # Another process has emptied the cache meanwhile.
    loader.check_target(object_code.target)  # first: it names both machines
    check_contract(object_code)
    with loader.open_in_memory(object_code.code) as memory:
        if memory:
            return _open_file(object_code, memory)
    entry = store.open_default().publish(
        store.make_key(["loaded", object_code.code_digest]), record=b"", code=object_code.code
    )
    return _open_file(object_code, str(entry.library))


def _open_file(object_code: ObjectCode, path: str) -> LoadedObject:
    module = loader.open_module(object_code, path) if object_code.module else None
    library = loader.open_library(object_code, path)
    sandbox = None
    if object_code.options.get("sandbox"):
        # Named as text: only code that asks for a sandbox reaches a room above this one.
        guard = importlib.import_module(_GUARD)
        sandbox = guard.Sandbox(object_code, library.find_symbol("__ufm_remote_loop"))
    return LoadedObject(object_code, library, module, sandbox=sandbox)


def _bind_def(code: FunctionCode, ufunc: Any, module: ModuleType | None, library: loader.Library) -> Any:
    """Cython's function with the ufunc for arrays; only the ufunc if the cell itself has replaced the function."""
    function = getattr(module, code.name, None)
    if not type(function).__name__.endswith(_CYTHON_FUNCTIONS):
        return ufunc
    bound = def_function.bind_def(function, ufunc, parameters=code.parameters, handle=library.handle)
    return ufunc if bound is None else bound


#: The names of the modules of cells without a name begin so: other processes import them through `serialize`.
UNNAMED = "ufunc_magic.serialize._ufm_"
#: Types of the functions that Cython makes of a def.
_CYTHON_FUNCTIONS = "cython_function_or_method", "fused_cython_function", "builtin_function_or_method"


def _list_public(module: ModuleType, ufuncs: Mapping[str, Any]) -> dict[str, Any]:
    """The names of ``from module import *``, in that order, with ufuncs in place of their functions."""
    listed = getattr(module, "__all__", None)
    names = [n for n in vars(module) if not n.startswith("_")] if listed is None else list(listed)
    if listed is None:
        names += [n for n in ufuncs if n not in names]
    return {name: ufuncs[name] if name in ufuncs else getattr(module, name) for name in names}


def _describe(code: FunctionCode) -> str:
    if code.kind != "ufunc":
        return f"{code.name}()"
    return " ".join([code.name, *(spell_letters(loop.types, code.nin) for loop in code.loops)])
