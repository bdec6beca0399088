"""Pickling, dumps and loads: compiled functions as bytes, and functions of bytes, without a compiler.

What travels is the ObjectCode without what only reports need.  Opening it checks the target, maps the code from
memory and makes the functions; no chain of imports from here reaches a compiler.  **Loading runs native code**:
take it only from whom you would take a program.  With ``UFUNC_MAGIC_KEY`` (or ``key=``) payloads are signed with
HMAC-SHA256, and nothing else is opened.
"""

from __future__ import annotations

import copyreg
import os
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from ..model import ObjectCode, SignatureError, TargetError, pack, unpack
from . import loader, numpy_ufunc, registry
from .cffi_function import PlainFunction
from .registry import OWNER, Build, assemble

__all__ = ["adopt", "dumps", "function_of", "loads", "object_code_of", "realize", "secret"]

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
    found = object_code_of(function)
    if found is None:
        raise SignatureError(
            f"{function!r} was not made by ufunc_magic.",
            remedy="Give a ufunc of a cell, of compile_c(), or of from_numba().",
        )
    object_code, entry = found
    return pack(_portable(object_code, source=source), entry=entry, key=secret(key))


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


# Pickles name the door that never moves, not this file.
realize.__module__ = f"{__name__.partition('.')[0]}.serialize"


def object_code_of(function: Any) -> tuple[ObjectCode, str] | None:
    """The object code of a function or Build of ours, and the name of the function in it, or None."""
    if isinstance(function, Build):
        return function.object_code, ""
    if isinstance(function, PlainFunction):
        return None if function.object_code is None else (function.object_code, function.__name__)
    if type(function).__module__.startswith(f"{__package__}.device."):
        return function.object_code, function.__name__
    if isinstance(function, np.ufunc):
        owner = function.__dict__.get(OWNER)
        return None if owner is None else (owner, function.__name__)
    found = _found(function)
    return None if found is None else (found[0].object_code, found[1])


def _found(value: Any) -> tuple[Build, str] | None:
    """The Build whose module has a function or class, and its name there."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    for made in registry.of_module(module) if isinstance(module, str) else ():
        # A class method is there bound to its class; cloudpickle takes the function out of it.
        for spelled in (name, f"{name}.__func__"):
            if _named(made, spelled) is value:
                return made, spelled
    return None


def adopt(made: Build) -> None:
    """Let pickle know the types of functions, and of classes, that an extension module of ours has.

    Classes themselves it always writes as module and name, so they travel with their objects, functions or Build.
    """
    if made.object_code.language == "cuda":
        from .device import CudaFunction, Kernel  # a third of the import time of this module

        for kind in (CudaFunction, Kernel):
            if kind not in _adopted:
                _adopted.add(kind)
                copyreg.pickle(kind, _reducer(None))
    for value in vars(made.module).values() if made.module else ():
        kind = type(value)
        if kind.__name__ == "cython_function_or_method" and kind not in _adopted:
            _adopted.add(kind)
            copyreg.pickle(kind, _reducer(copyreg.dispatch_table.get(kind)))
        elif isinstance(value, type) and value.__module__ == made.object_code.module and value not in _adopted:
            _adopted.add(value)
            copyreg.pickle(value, _instance_reducer(copyreg.dispatch_table.get(value)))


_adopted: set[type] = set()

#: Held while code is opened: two threads that load the same would make two functions, and run a module's code twice.
_opening = threading.RLock()


def _start_again() -> None:
    """In the child of a fork: the thread that opened something then is not there to let go."""
    global _opening
    _opening = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)


def function_of(object_code: ObjectCode, entry: str) -> Any:
    """The function ``entry`` of object code, or its Build; the same object where this process has it already."""
    with _opening:
        made = registry.held(object_code)
        if made is None:
            made = assemble(object_code, None, name=object_code.name)
            adopt(made)
    if not entry:
        return made
    found = _named(made, entry)
    if found is None:
        raise TargetError(f"The object code has no function {entry!r}.", remedy=f"It has {', '.join(made)}.")
    return found


def _named(made: Build, name: str) -> Any:
    """A function of the Build, or what its module has under a dotted name; None if there is nothing."""
    if name in made:
        return made[name]
    try:
        return attrgetter(name)(made.module) if name else None
    except AttributeError:
        return None


def secret(given: bytes | str | None) -> bytes:
    """The key to sign and verify with: what is given, else ``UFUNC_MAGIC_KEY``."""
    key = os.environ.get("UFUNC_MAGIC_KEY", "") if given is None else given
    # The variable may hold any bytes.
    return key.encode(errors="surrogateescape") if isinstance(key, str) else key


def _portable(object_code: ObjectCode, *, source: bool = True) -> ObjectCode:
    name = f"__ufm_portable_{source}_{len(object_code.carried)}"
    made: ObjectCode | None = object_code.__dict__.get(name)
    if made is None:
        made = object_code.__dict__[name] = object_code.stripped(source=source)
    return made


def _payload(object_code: ObjectCode) -> bytes:
    """The bytes that pickles of the object share: pickle writes one object once."""
    key = secret(None)
    made_of = _portable(object_code)
    held: tuple[bytes, ObjectCode, bytes] | None = object_code.__dict__.get("__ufm_payload")
    if held is None or held[0] != key or held[1] is not made_of:
        held = object_code.__dict__["__ufm_payload"] = (key, made_of, pack(made_of, key=key))
        # Dask's scheduler is often in this process, reads what the client sends, and sends it on.
        _remember(held[2], key, made_of, "")
    return held[2]


def _reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for what is ours; all else goes where it went before."""

    def reduce(function: Any) -> _Reduced:
        found = object_code_of(function)
        if found is not None:
            return realize, (_payload(found[0]), found[1])
        if previous is not None:
            return previous(function)
        made: _Reduced = function.__reduce_ex__(4)
        return made

    return reduce


def _instance_reducer(previous: Callable[[Any], _Reduced] | None) -> Callable[[Any], _Reduced]:
    """A reducer for objects of a class of ours, which they bring along: pickle would only write its name."""

    def reduce(instance: Any) -> _Reduced:
        kind = type(instance)
        found = _found(kind)
        how: _Reduced = instance.__reduce_ex__(4) if previous is None else previous(instance)
        if found is None:
            return how
        made, name = found
        if isinstance(how, str):
            return realize, (_payload(made.object_code), how)
        # By its name the class would be that of the newest module that is called so, here or where it arrives.
        given = (how[0], *how[1])
        places = tuple(n for n, value in enumerate(given) if value is kind)
        make, *arguments = (None if n in places else value for n, value in enumerate(given))
        return _after, (made, make, tuple(arguments), name, places), *how[2:]

    return reduce


def _after(made: Build, make: Any, arguments: tuple[Any, ...], name: str = "", places: tuple[int, ...] = ()) -> Any:
    """What pickles of objects call, with the Build that has their class; the path of this function never changes.

    ``name`` is the class's in the Build; at ``places`` among the callable (0) and its arguments, it is meant.
    """
    kind = _named(made, name)
    make, *given = (kind if n in places else value for n, value in enumerate((make, *arguments)))
    return make(*given)


copyreg.pickle(np.ufunc, _reducer(copyreg.dispatch_table.get(np.ufunc)))
copyreg.pickle(Build, _reducer(None))
copyreg.pickle(PlainFunction, _reducer(None))

# What every load needs and only the first would wait for: half of its time on a worker.
loader.prepare()
numpy_ufunc.prepare()
