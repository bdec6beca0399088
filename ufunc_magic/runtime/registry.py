"""What a source became: a mapping from names to ufuncs and functions, made of object code alone.

Nothing here can compile: an unpickled Build is made by the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .. import store
from ..model import TYPES, Diagnostic, FunctionCode, LinkError, ObjectCode, SignatureError, TargetError
from . import loader, numpy_ufunc, relocatable
from .cffi_function import make_plain

__all__ = ["OWNER", "Build", "assemble", "held", "identity", "of_module"]

#: Where a ufunc keeps its ObjectCode.
OWNER = "__ufm_object_code__"

#: Everything that this process has opened, by `identity`.  Nothing is ever closed, so nothing is ever dropped.
_held: dict[str, Build] = {}


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
    printed : str
        What the new code printed while it was tried out.
    """

    functions: dict[str, Any] = field(repr=False)
    object_code: ObjectCode = field(repr=False)
    name: str
    cached: bool
    seconds: dict[str, float]
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    printed: str = ""
    library: loader.Library | relocatable.Opened | None = field(default=None, repr=False)
    module: ModuleType | None = field(default=None, repr=False)

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

    def __dask_tokenize__(self) -> tuple[str, str]:
        # Dask would take the fields of a dataclass, and the times of its steps are another in each process.
        return "ufunc_magic.Build", self.object_code.code_digest

    def __repr__(self) -> str:
        return f"<Build {self.name}: {', '.join(map(_described, self.object_code.functions))}>"

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Run the build's ``--parallel`` loops on ``count`` threads inside a ``with``; 0 means all cores.

        A build without ``parallel`` takes no notice.
        """
        if not isinstance(self.library, loader.Library) or not self.object_code.threads:
            yield
            return
        before = self.library.threads()
        self.library.set_threads(count)
        try:
            yield
        finally:
            self.library.set_threads(before)


def assemble(object_code: ObjectCode, path: Path | None, *, name: str) -> Build:
    """Open object code and make its functions.

    Parameters
    ----------
    object_code : ObjectCode
    path : Path
        The file that holds it; None where it is only in memory.
    name : str
        What messages call the source.

    Raises
    ------
    TargetError, LinkError
        If it cannot run here.
    Exception
        Whatever the statements of an extension module raise.
    """
    if relocatable.is_relocatable(object_code):
        loader.check_target(object_code.target)
        return _made(object_code, relocatable.open_object(object_code), None, name=name, checked=False)
    if not object_code.code:  # a CUDA cell where no compiler could make code for the host of it
        return _made(object_code, None, None, name=name, checked=False)
    checked = path is not None
    if path is not None:
        try:
            return _opened(object_code, str(path), name=name, checked=checked)
        except (TargetError, LinkError):
            if path.exists():
                raise
            # Another process has emptied the cache meanwhile.
    with loader.in_memory(object_code.code) as memory:
        if memory:
            return _opened(object_code, memory, name=name, checked=checked)
    loader.check_target(object_code.target)
    entry = store.default().publish(store.key(["loaded", object_code.code_digest]), record=b"", code=object_code.code)
    return _opened(object_code, str(entry.library), name=name, checked=False)


def _opened(object_code: ObjectCode, path: str, *, name: str, checked: bool) -> Build:
    module = loader.open_module(object_code, path) if object_code.module else None
    return _made(object_code, loader.open_library(object_code, path), module, name=name, checked=checked)


def _made(
    object_code: ObjectCode,
    library: loader.Library | relocatable.Opened | None,
    module: ModuleType | None,
    *,
    name: str,
    checked: bool,
) -> Build:
    functions: dict[str, Any] = {}
    notes = list(object_code.notes)
    cuda = object_code.language == "cuda"
    if cuda:
        from . import device  # a third of the import time of this module
    on_gpu = cuda and device.on_gpu(object_code)
    for code in object_code.functions:
        # Whose note it is shows where a cell has several functions.
        notes += [note if note.startswith(code.name) else f"{code.name}: {note}" for note in code.notes]
        try:
            made = _function(code, object_code, library, checked=checked)
        except SignatureError as fault:
            notes.append(str(fault))
            made = None
        if (on_gpu or (cuda and library is None)) and code.kind != "kernel":
            made = device.CudaFunction(code, object_code, emulated=made)
        if made is not None:
            functions[code.name] = made
    if module is not None:
        functions = _public(module, functions)
    made_of = Build(functions, object_code, name, False, {}, notes=tuple(notes), library=library, module=module)
    _held[identity(object_code)] = made_of
    return made_of


def _function(
    code: FunctionCode,
    object_code: ObjectCode,
    library: loader.Library | relocatable.Opened | None,
    *,
    checked: bool,
) -> Any:
    """One function of the object, for the CPU; None for what is an attribute of its module, or has no code here."""
    if code.kind == "kernel":
        from . import device

        address = library.functions[code.index] if isinstance(library, loader.Library) else 0
        return device.Kernel(code, object_code, address=address, owner=library, emulated=not device.on_gpu(object_code))
    if object_code.options.get("sandbox") and isinstance(library, loader.Library):
        return _sandboxed(code, object_code, library)
    if code.kind == "ufunc" and library is not None:
        return _marked(numpy_ufunc.make_ufunc(code, library.loops, module="__main__", owner=library), object_code)
    if code.kind == "plain" and isinstance(library, loader.Library):
        address = library.functions[code.index]
        return make_plain(code, address, owner=library, object_code=object_code, checked=checked)
    return None


def _sandboxed(code: FunctionCode, object_code: ObjectCode, library: loader.Library) -> Any:
    """A function whose every call runs in another process."""
    from ..guard import Sandbox  # only cells with --sandbox

    if code.kind != "ufunc":
        raise SignatureError(f"{code.name} is no ufunc, so it cannot run in a sandbox.", remedy="Leave --sandbox out.")
    loop = library.symbol("__ufm_remote_loop")
    sandbox = object_code.__dict__.setdefault("__ufm_sandbox", Sandbox(object_code, loop))
    addresses, data = sandbox.loops(code)
    return _marked(
        numpy_ufunc.make_ufunc(code, addresses, module="__main__", owner=(library, sandbox), data=data), object_code
    )


class _Owned(tuple[Any, ...]):
    """What must live as long as a ufunc: a pickle takes nothing of it along."""

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, ()


def _marked(made: np.ufunc, object_code: ObjectCode) -> np.ufunc:
    # functools.wraps copies the whole __dict__ into a function, which cloudpickle then writes.
    made.__dict__["__ufm_owns__"] = _Owned(made.__dict__["__ufm_owns__"])
    made.__dict__[OWNER] = object_code
    return made


def identity(object_code: ObjectCode) -> str:
    """What tells functions of this process apart: their machine code, and for CUDA what the GPU gets to see."""
    if object_code.language != "cuda":
        return object_code.code_digest
    return store.key([object_code.code_digest, object_code.source, repr(sorted(object_code.options.items()))])


def held(object_code: ObjectCode) -> Build | None:
    """What this process has made of that code already."""
    return _held.get(identity(object_code))


def of_module(name: str) -> list[Build]:
    """The Builds of extension modules of ours of that name, newest first: a cell with ``-n`` makes one at each edit."""
    # A copy in one step: another thread may open something meanwhile.
    return [b for b in reversed(list(_held.values())) if b.object_code.module == name] if name else []


def _public(module: ModuleType, ufuncs: Mapping[str, Any]) -> dict[str, Any]:
    """What ``from module import *`` would bring, in its order, with the ufuncs in the place of their functions."""
    listed = getattr(module, "__all__", None)
    names = [n for n in vars(module) if not n.startswith("_")] if listed is None else list(listed)
    if listed is None:
        names += [n for n in ufuncs if n not in names]
    return {name: ufuncs[name] if name in ufuncs else getattr(module, name) for name in names}


def _described(code: FunctionCode) -> str:
    if code.kind != "ufunc":
        return f"{code.name}()"
    letters = ["".join(TYPES[t].char for t in loop.types) for loop in code.loops]
    return f"{code.name} {' '.join(f'{w[: code.nin]}->{w[code.nin :]}' for w in letters)}"
