"""Pickling, dumps and loads: compiled functions as bytes, and functions of bytes, without a compiler.

What travels is the ObjectCode without what only reports need.  Opening it checks the target, maps the code from
memory and makes the functions; no chain of imports from here reaches a compiler.  **Loading runs native code**:
take it only from whom you would take a program.  With ``UFUNC_MAGIC_KEY`` (or ``key=``) payloads are signed with
HMAC-SHA256, and nothing else is opened.
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
from .def_function import DefFunction, ufunc_of
from .locks import lock_of
from .numpy_ufunc import loops_of
from .registry import Build, LoadedObject, load

_Reduced = str | tuple[Any, ...]


def dumps(function: Any, *, source: bool = True, key: bytes | str | None = None) -> bytes:
    """A compiled function, or a whole Build, as bytes.

    Parameters
    ----------
    function : numpy.ufunc, function or Build
        One that this package has made.
    source : bool
        Send the source along, for who wants to read it or must compile it again.
    key : bytes or str
        Sign with it; ``UFUNC_MAGIC_KEY`` if omitted, and not at all if that is not set.

    Returns
    -------
    bytes
        As described in ``docs/object-code.md``.

    Raises
    ------
    SignatureError
        If the function is not ours.
    """
    origin = origin_of(function)
    if origin is None:
        raise SignatureError(
            f"{function!r} was not compiled by ufunc_magic.",
            remedy="Pass a ufunc from a cell, from compile_c(), or from from_numba().",
        )
    return pack(origin.loaded.sent(source=source), entry=origin.name, key=secret(key))


def loads(data: bytes, *, key: bytes | str | None = None) -> Any:
    """The function or Build that `dumps` was given; the same object where this process has it already.

    Loading runs native code.

    Parameters
    ----------
    data : bytes
    key : bytes or str
        Accept only what was signed with it; ``UFUNC_MAGIC_KEY`` if omitted.

    Raises
    ------
    TargetError
        If the code is for another machine or Python, altered, or not signed as it should be.
    """
    return function_of(*_read(bytes(data), secret(key)))


def realize(payload: bytes, entry: str = "") -> Any:
    """What pickles call; the path of this function never changes."""
    return function_of(_read(bytes(payload), secret(None))[0], entry)


#: Bytes that were read or written, by their seal or signature, with the key they were verified with: every task of a
#: worker brings them again, and comparing 50 kB takes a fiftieth of verifying them.
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
    """Where a function of ours comes from: what was loaded, and its name there, ``""`` for all of it."""

    loaded: LoadedObject
    name: str

    @property
    def object_code(self) -> ObjectCode:
        return self.loaded.object_code

    @property
    def function_code(self) -> FunctionCode | None:
        """What the object code says of the function; None for a class, or all of it."""
        return next((code for code in self.object_code.functions if code.name == self.name), None)

    @property
    def cell_function(self) -> CellFunction | None:
        """What a report knows of the function; None where it came from elsewhere."""
        return next((f for f in self.loaded.report_data.functions if f.name == self.name), None)


def origin_of(function: Any) -> Origin | None:
    """Where a function or Build of ours comes from; None for what is not ours."""
    if (loops := loops_of(function)) and (ufunc := ufunc_of(function)):
        return Origin(loops.owner, ufunc.__name__)
    if isinstance(function, Build):
        return Origin(function.loaded, "")
    if isinstance(function, PlainFunction):
        return Origin(function.owner, function.__name__)
    if isinstance(function, BoundFunction):
        return Origin(_loaded(function.object_code), function.__name__)
    member = _member(function)
    return None if member is None else Origin(member[0].loaded, member[1])


def carry(object_code: ObjectCode, **more: Any) -> None:
    """Have what travels of a loaded object hold more in its ``device``."""
    _loaded(object_code).carry(**more)


def carried(object_code: ObjectCode) -> Mapping[str, Any]:
    """``device`` of what travels of a loaded object."""
    return _loaded(object_code).device


def _loaded(object_code: ObjectCode) -> LoadedObject:
    """What this process has loaded of just that object code; by itself, where its place was taken by an equal one."""
    build = registry.loaded(object_code)
    return build.loaded if build is not None and build.loaded.object_code == object_code else LoadedObject(object_code)


def _member(value: Any) -> tuple[Build, str] | None:
    """The Build whose module has a function or class, and its name there."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    for build in registry.of_module(module) if isinstance(module, str) else ():
        # A class method is there bound to its class; cloudpickle takes the function out of it.
        for spelled in (name, f"{name}.__func__"):
            named = _named(build, spelled)
            if named is value or (isinstance(named, DefFunction) and named.__wrapped__ is value):
                return build, spelled
    return None


def adopt(build: Build) -> None:
    """Let pickle know the types of functions, and of classes, that an extension module of ours has.

    Classes themselves it always writes as module and name, so they travel with their objects, functions or Build.
    """
    _adopt(type(build), _reducer)
    module = build.loaded.module
    for value in (*build.values(), *(vars(module).values() if module else ())):
        kind = type(value)
        if isinstance(value, DefFunction | BoundFunction) or kind.__name__ == "cython_function_or_method":
            _adopt(kind, _reducer)
        elif isinstance(value, type) and value.__module__ == build.loaded.object_code.module:
            _adopt(value, _instance_reducer)


def _adopt(kind: type, reducer: Callable[[Callable[[Any], _Reduced] | None], Callable[[Any], _Reduced]]) -> None:
    with lock_of("types that pickle knows"):
        if kind not in _adopted:
            copyreg.pickle(kind, reducer(copyreg.dispatch_table.get(kind)))
            _adopted.add(kind)


_adopted: set[type] = set()


def function_of(object_code: ObjectCode, entry: str) -> Any:
    """The function ``entry`` of object code, or its Build; the same object where this process has it already."""
    with registry.lock_code(object_code):
        build = registry.loaded(object_code)
        if build is None:
            build = load(object_code)
            adopt(build)
    if not entry:
        return build
    function = _named(build, entry)
    if function is None:
        raise TargetError(f"The object code has no function {entry!r}.", remedy=f"It has {', '.join(build)}.")
    return function


def _named(build: Build, name: str) -> Any:
    """A function of the Build, or what its module has under a dotted name; None if there is nothing."""
    if name in build:
        return build[name]
    try:
        return attrgetter(name)(build.loaded.module) if name else None
    except AttributeError:
        return None


def secret(chosen: bytes | str | None) -> bytes:
    """The key to sign and verify with: the chosen one, else ``UFUNC_MAGIC_KEY``."""
    key = os.environ.get("UFUNC_MAGIC_KEY", "") if chosen is None else chosen
    # The variable may hold any bytes.
    return key.encode(errors="surrogateescape") if isinstance(key, str) else key


def _payload(loaded: LoadedObject) -> bytes:
    """The bytes that pickles of the object share: pickle writes one object once."""
    key, portable = secret(None), loaded.sent()
    if loaded.payload is None or loaded.payload[0] != key or loaded.payload[1] is not portable:
        loaded.payload = (key, portable, pack(portable, key=key))
        # Dask's scheduler is often in this process, reads what the client sends, and sends it on.
        _remember(loaded.payload[2], key, portable, "")
    return loaded.payload[2]


def _reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for what is ours; all else goes where it went before."""

    def reduce(function: Any) -> _Reduced:
        origin = origin_of(function)
        if origin is not None:
            return realize, (_payload(origin.loaded), origin.name)
        if previous is not None:
            return previous(function)
        reduced: _Reduced = function.__reduce_ex__(4)
        return reduced

    return reduce


def _instance_reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for objects of a class of ours, which they bring along: pickle would only write its name."""

    def reduce(instance: Any) -> _Reduced:
        kind = type(instance)
        member = _member(kind)
        reduced: _Reduced = instance.__reduce_ex__(4) if previous is None else previous(instance)
        if member is None:
            return reduced
        build, name = member
        if isinstance(reduced, str):
            return realize, (_payload(build.loaded), reduced)
        # By its name the class would be that of the newest module that is called so, here or where it arrives.
        parts = (reduced[0], *reduced[1])
        places = tuple(n for n, value in enumerate(parts) if value is kind)
        make, *arguments = (None if n in places else value for n, value in enumerate(parts))
        return rebuild, (build, make, tuple(arguments), name, places), *reduced[2:]

    return reduce


def rebuild(build: Build, make: Any, arguments: tuple[Any, ...], name: str = "", places: tuple[int, ...] = ()) -> Any:
    """What pickles of objects call, with the Build that has their class; the path in pickles never changes.

    ``name`` is the class's in the Build; at ``places`` among the callable (0) and its arguments, it is meant.
    """
    kind = _named(build, name)
    make, *values = (kind if n in places else value for n, value in enumerate((make, *arguments)))
    return make(*values)


# Pickles name the door that never moves, and there the names of the first release.
_DOOR = f"{__name__.partition('.')[0]}.serialize"
realize.__module__ = _DOOR
rebuild.__module__, rebuild.__qualname__ = _DOOR, "_after"

copyreg.pickle(np.ufunc, _reducer(copyreg.dispatch_table.get(np.ufunc)))
copyreg.pickle(Build, _reducer(None))
copyreg.pickle(PlainFunction, _reducer(None))

# What every load needs and only the first would wait for: half of its time on a worker.
loader.prepare()
numpy_ufunc.prepare()
