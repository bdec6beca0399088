"""Pickling, dumps and loads: compiled functions as bytes, and functions of bytes, without a compiler.

The bytes contain the ObjectCode, without the data that only reports need.  Opening it checks the target, maps the code
from memory and makes the functions; no chain of imports from here reaches a compiler.  **Loading runs native code**:
load only bytes whose sender you would trust with a program.  With ``UFUNC_MAGIC_KEY`` (or ``key=``), payloads are
signed with HMAC-SHA256, and no others are opened.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from ..model import CellFunction, FunctionCode, ObjectCode, SignatureError, TargetError, pack, unpack
from . import loader, numpy_ufunc, registry
from .bound_function import BoundFunction
from .cffi_function import PlainFunction
from .def_function import DefFunction, find_ufunc
from .locks import lock_of
from .numpy_ufunc import find_loops
from .registry import Build, LoadedObject, load

_Reduced = str | tuple[Any, ...]


def dumps(function: Any, *, source: bool = True, key: bytes | str | None = None) -> bytes:
    """A compiled function, or a whole Build, as bytes.

    Parameters
    ----------
    function : numpy.ufunc, function or Build
        A function or Build of this package.
    source : bool
        Include the source, to read it or to compile it again.
    key : bytes or str
        The key to sign with; ``UFUNC_MAGIC_KEY`` if omitted.  Without a key, the bytes are not signed.

    Returns
    -------
    bytes
        As described in ``docs/object-code.md``.

    Raises
    ------
    SignatureError
        If the function is not from this package.
    """
    origin = find_origin(function)
    if origin is None:
        raise SignatureError(
            f"{function!r} was not compiled by ufunc_magic.",
            remedy="Pass a ufunc from a cell, from compile_c(), or from from_numba().",
        )
    return pack(origin.loaded.prepare_to_send(source=source), entry=origin.name, key=choose_secret(key))


def loads(data: bytes, *, key: bytes | str | None = None) -> Any:
    """The function or Build that `dumps` turned into bytes; the same object if this process already has it.

    Loading runs native code.

    Parameters
    ----------
    data : bytes
    key : bytes or str
        Accept only bytes that are signed with it; ``UFUNC_MAGIC_KEY`` if omitted.

    Raises
    ------
    TargetError
        If the code is for another machine or Python, altered, or without a valid signature.
    """
    return load_function(*_read(bytes(data), choose_secret(key)))


def realize(payload: bytes, entry: str = "") -> Any:
    """Load a function; pickles call this, so its path never changes."""
    return load_function(_read(bytes(payload), choose_secret(None))[0], entry)


#: Seal or signature -> bytes that were read or written, and the key that verified them.  Every task of a worker brings
#: them again, and comparing 50 kB takes a fiftieth of the time of verifying them.
_known: dict[bytes, tuple[bytes, bytes, ObjectCode, str]] = {}
_MOST_KNOWN = 256


def _read(data: bytes, key: bytes) -> tuple[ObjectCode, str]:
    known = _known.get(data[-32:])
    if known is None or known[:2] != (data, key):
        return _remember(data, key, *unpack(data, key=key))
    return known[2:]


def _remember(data: bytes, key: bytes, object_code: ObjectCode, entry: str) -> tuple[ObjectCode, str]:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[data[-32:]] = (data, key, object_code, entry)
    return object_code, entry


@dataclass(frozen=True)
class Origin:
    """The origin of a function: the loaded object, and its name there; ``""`` for the whole object."""

    loaded: LoadedObject
    name: str

    @property
    def object_code(self) -> ObjectCode:
        return self.loaded.object_code

    @property
    def function_code(self) -> FunctionCode | None:
        """The function in the object code; None for a class, or for the whole object."""
        return next((code for code in self.object_code.functions if code.name == self.name), None)

    @property
    def cell_function(self) -> CellFunction | None:
        """The function in the data for reports; None if it was not compiled here."""
        return next((f for f in self.loaded.report_data.functions if f.name == self.name), None)


def find_origin(function: Any) -> Origin | None:
    """The origin of a function or Build; None if it is not from this package."""
    if (loops := find_loops(function)) and (ufunc := find_ufunc(function)):
        return Origin(loops.owner, ufunc.__name__)
    if isinstance(function, Build):
        return Origin(function.loaded, "")
    if isinstance(function, PlainFunction):
        return Origin(function.owner, function.__name__)
    if isinstance(function, BoundFunction):
        return Origin(_find_loaded(function.object_code), function.__name__)
    member = _find_member(function)
    return None if member is None else Origin(member[0].loaded, member[1])


def carry(object_code: ObjectCode, **more: Any) -> None:
    """Add to the ``device`` that is sent with a loaded object."""
    _find_loaded(object_code).carry(**more)


def find_carried(object_code: ObjectCode) -> Mapping[str, Any]:
    """The ``device`` that is sent with a loaded object."""
    return _find_loaded(object_code).device


def _find_loaded(object_code: ObjectCode) -> LoadedObject:
    """The loaded object of exactly that object code; a new one if an equal object is loaded instead."""
    build = registry.find_loaded(object_code)
    return build.loaded if build is not None and build.loaded.object_code == object_code else LoadedObject(object_code)


def _find_member(value: Any) -> tuple[Build, str] | None:
    """The Build whose module has a function or class, and its name there."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    for build in registry.find_modules(module) if isinstance(module, str) else ():
        # A class method of the module is bound to its class; cloudpickle takes the function out of it.
        for spelled in (name, f"{name}.__func__"):
            named = _find_named(build, spelled)
            if named is value or (isinstance(named, DefFunction) and named.__wrapped__ is value):
                return build, spelled
    return None


def adopt(build: Build) -> None:
    """Register with pickle the types of the functions and classes of an extension module.

    Pickle writes a class itself as module and name, so classes travel with their objects, functions or Build.
    """
    _adopt(type(build), _make_reducer)
    module = build.loaded.module
    for value in (*build.values(), *(vars(module).values() if module else ())):
        kind = type(value)
        if isinstance(value, DefFunction | BoundFunction) or kind.__name__ == "cython_function_or_method":
            _adopt(kind, _make_reducer)
        elif isinstance(value, type) and value.__module__ == build.loaded.object_code.module:
            _adopt(value, _make_instance_reducer)


def _adopt(kind: type, reducer: Callable[[Callable[[Any], _Reduced] | None], Callable[[Any], _Reduced]]) -> None:
    with lock_of("types that pickle knows"):
        if kind not in _adopted:
            copyreg.pickle(kind, reducer(copyreg.dispatch_table.get(kind)))
            _adopted.add(kind)


_adopted: set[type] = set()


def load_function(object_code: ObjectCode, entry: str) -> Any:
    """The function ``entry`` of object code, or its Build; the same object if this process already has it."""
    with registry.lock_code(object_code):
        build = registry.find_loaded(object_code)
        if build is None:
            build = load(object_code)
            adopt(build)
    if not entry:
        return build
    function = _find_named(build, entry)
    if function is None:
        raise TargetError(f"The object code has no function {entry!r}.", remedy=f"It has {', '.join(build)}.")
    return function


def _find_named(build: Build, name: str) -> Any:
    """A function of the Build, or an object of its module by its dotted name; None if there is none."""
    if name in build:
        return build[name]
    try:
        return attrgetter(name)(build.loaded.module) if name else None
    except AttributeError:
        return None


def choose_secret(chosen: bytes | str | None) -> bytes:
    """The key to sign and verify with: the chosen one, else ``UFUNC_MAGIC_KEY``."""
    key = os.environ.get("UFUNC_MAGIC_KEY", "") if chosen is None else chosen
    # The variable may hold any bytes.
    return key.encode(errors="surrogateescape") if isinstance(key, str) else key


def _get_payload(loaded: LoadedObject) -> bytes:
    """The bytes that pickles of the object share: pickle writes one object once."""
    key, portable = choose_secret(None), loaded.prepare_to_send()
    if loaded.payload is None or loaded.payload[0] != key or loaded.payload[1] is not portable:
        loaded.payload = (key, portable, pack(portable, key=key))
        # Dask's scheduler is often in this process, reads what the client sends, and sends it on.
        _remember(loaded.payload[2], key, portable, "")
    return loaded.payload[2]


def _make_reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for objects of this package; it passes all others to the previous reducer."""

    def reduce(function: Any) -> _Reduced:
        origin = find_origin(function)
        if origin is not None:
            return realize, (_get_payload(origin.loaded), origin.name)
        if previous is not None:
            return previous(function)
        reduced: _Reduced = function.__reduce_ex__(4)
        return reduced

    return reduce


def _make_instance_reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for objects of a cell's class, which includes the class; pickle alone would only write its name."""

    def reduce(instance: Any) -> _Reduced:
        kind = type(instance)
        member = _find_member(kind)
        reduced: _Reduced = instance.__reduce_ex__(4) if previous is None else previous(instance)
        if member is None:
            return reduced
        build, name = member
        if isinstance(reduced, str):
            return realize, (_get_payload(build.loaded), reduced)
        # By its name, the class would be that of the newest module of that name, here or where it is loaded.
        parts = (reduced[0], *reduced[1])
        places = tuple(n for n, value in enumerate(parts) if value is kind)
        make, *arguments = (None if n in places else value for n, value in enumerate(parts))
        return rebuild, (build, make, tuple(arguments), name, places), *reduced[2:]

    return reduce


def rebuild(build: Build, make: Any, arguments: tuple[Any, ...], name: str = "", places: tuple[int, ...] = ()) -> Any:
    """Make an object of a Build's class; pickles call this, so its path never changes.

    ``name`` is the class's in the Build; at ``places`` among the callable (0) and its arguments, it is meant.
    """
    kind = _find_named(build, name)
    make, *values = (kind if n in places else value for n, value in enumerate((make, *arguments)))
    return make(*values)


# Pickles contain these paths, which never change.
_DOOR = f"{__name__.partition('.')[0]}.serialize"
realize.__module__ = _DOOR
rebuild.__module__, rebuild.__qualname__ = _DOOR, "_after"

copyreg.pickle(np.ufunc, _make_reducer(copyreg.dispatch_table.get(np.ufunc)))
copyreg.pickle(Build, _make_reducer(None))
copyreg.pickle(PlainFunction, _make_reducer(None))

# Otherwise the first load would wait for these: half of its time on a worker.
loader.prepare()
numpy_ufunc.prepare()
