"""Object code to addresses: checks the target, opens the library, finds its tables."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.util
import itertools
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from .. import store
from ..model import STD_EXCEPTIONS, LinkError, ObjectCode, Target, TargetError
from . import _private, cell_names, exception_codec, openmp
from .c_library import keep_arithmetic
from .locks import lock_of
from .named_module import NamedModule

_FORMATS = {"darwin": "mach-o", "win32": "pe", "cygwin": "pe"}


class _Host(ctypes.Structure):
    """``__ufm_host`` of ``templates/driver.c``: how a loop reports an error to this Python."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in "ensure release set_error occurred runtime_error memory_error".split()
    )


def _find_python_function(name: str) -> int | None:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


@cache
def _list_host_values() -> tuple[int | None, ...]:
    def pointer(name: str) -> int | None:
        return ctypes.c_void_p.in_dll(ctypes.pythonapi, name).value

    return (
        *map(_find_python_function, ("PyGILState_Ensure", "PyGILState_Release", "PyErr_SetString", "PyErr_Occurred")),
        pointer("PyExc_RuntimeError"),
        pointer("PyExc_MemoryError"),
    )


@cache
def _list_exceptions() -> tuple[int | None, ...]:
    names = dict.fromkeys(STD_EXCEPTIONS.values())
    return tuple(ctypes.c_void_p.in_dll(ctypes.pythonapi, f"PyExc_{name}").value for name in names)


@cache
def _find_check_signals() -> int | None:
    return _find_python_function("PyErr_CheckSignals")


#: (function table, library) of the object that installed the process's fault handlers.
_containment: list[tuple[int, ctypes.CDLL]] = []


def _contain(handle: ctypes.CDLL) -> None:
    """Contain calls of the object: the first object installs the handlers, the others get its table.

    The names have version numbers (``templates/containment.h``); an object of another version is not contained.
    """
    try:
        slot = ctypes.c_void_p.in_dll(handle, "__ufm_containment_3")
    except ValueError:
        return
    with lock_of("containment"):
        if not _containment:
            start = ctypes.c_void_p.in_dll(handle, "__ufm_contain_3")  # its address, not its value
            functions = _list_containment_functions()
            table = _STARTER(ctypes.addressof(start))(*functions) if functions else None
            _containment.append((table or 0, handle))
        check_handlers()
        slot.value = _containment[0][0]


_STARTER = ctypes.CFUNCTYPE(ctypes.c_void_p, *(ctypes.c_void_p,) * 4)


@cache
def _list_containment_functions() -> tuple[int | None, ...]:
    """The arguments of ``__ufm_contain_3``; empty if there is no ``dlsym``."""
    try:
        return tuple(map(_find_python_function, ("dlsym", "PyImport_ImportModule", "PyObject_CallMethod", "Py_DecRef")))
    except AttributeError:
        return ()


def check_handlers() -> None:
    """Put our handlers of faults and of Stop above those that others, such as Jupyter, have installed since."""
    with lock_of("containment"):  # two at once would each put the same handler below their own
        for table, _ in _containment:
            if table:
                ctypes.CFUNCTYPE(None)(
                    ctypes.c_void_p.from_address(table + ctypes.sizeof(ctypes.c_void_p)).value or 0
                )()


def prepare() -> None:
    """Fill the caches now: this process's target and Python's functions."""
    describe_target()
    _list_host_values()
    _find_check_signals()
    _list_containment_functions()
    _has_memory_files()
    _private.prepare()


@dataclass(frozen=True)
class Library:
    """An opened object: addresses of its loops and plain functions, in the order of its tables.

    ``plain_calls`` are the functions that call them contained, 0 where there is none.  ``handle`` keeps it open; it is
    never closed, because NumPy may still use a loop.
    """

    handle: ctypes.CDLL = field(repr=False)
    loops: tuple[int, ...]
    functions: tuple[int, ...]
    plain_calls: tuple[int, ...] = ()

    def find_symbol(self, name: str) -> int:
        """The address of one of the driver's functions."""
        return ctypes.cast(getattr(self.handle, name), ctypes.c_void_p).value or 0

    def set_threads(self, count: int) -> None:
        """Set how many threads a ``--parallel`` loop uses; 0 means all cores, or OMP_NUM_THREADS."""
        ctypes.c_int.in_dll(self.handle, "__ufm_threads").value = count

    def get_threads(self) -> int:
        """The setting of :meth:`set_threads`."""
        return int(ctypes.c_int.in_dll(self.handle, "__ufm_threads").value)


@cache
def describe_target() -> Target:
    """The target of this process, with the C library that it runs on."""
    form = _FORMATS.get(sys.platform, "elf")
    return Target(form, sys.platform, platform.machine().lower(), _find_libc())  # type: ignore[arg-type]


def _find_libc() -> str:
    if sys.platform != "linux":
        return ""
    try:
        # platform.libc_ver() reads the whole interpreter for it.
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        version = None
    return version or " ".join(filter(None, platform.libc_ver()))


_count = itertools.count()


@cache
def _has_memory_files() -> bool:
    return hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


@contextlib.contextmanager
def open_memory_file(code: bytes) -> Iterator[int]:
    """Give the descriptor of a file in memory that contains ``code``; -1 if the system has no such files."""
    descriptor = -1
    try:
        if _has_memory_files():
            try:
                descriptor = os.memfd_create("ufunc_magic", getattr(os, "MFD_CLOEXEC", 0))
                view = memoryview(code)
                while view:
                    view = view[os.write(descriptor, view) :]
            except OSError:  # a container refuses it, or a limit cut the file, and opening that would crash
                if descriptor >= 0:
                    os.close(descriptor)
                descriptor = -1
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


@contextlib.contextmanager
def open_in_memory(code: bytes) -> Iterator[str]:
    """Give the path of a file in memory that contains ``code``; ``""`` if the system has no such files."""
    with open_memory_file(code) as descriptor:
        yield _write_path(descriptor, next(_count)) if descriptor >= 0 else ""


def _write_path(descriptor: int, count: int) -> str:
    """A path of the descriptor that was never used before: glibc does not open a second library of the same name."""
    a, b, c = ("/" * (1 + count // 128**n % 128) for n in range(3))
    return f"{a}proc{b}self/fd{c}{descriptor}"


@cache
def cpu_features() -> tuple[str, ...]:
    """Instruction sets of this CPU as NumPy found them, ``("avx", "avx2", ...)``, sorted."""
    return _private.list_cpu_features()


def count_processors() -> int:
    """The processors that this process may use; cgroups and taskset may allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_target(target: Target) -> None:
    """Raise for code that cannot run here.

    Raises
    ------
    TargetError
        Naming both sides.
    """
    mine = describe_target()
    same = (target.format, target.os, target.machine) == (mine.format, mine.os, mine.machine)
    needs, has = target.libc.partition(" ")[2], mine.libc.partition(" ")[2]
    if not same or (needs and has and _read_version(needs) > _read_version(has)) or (needs and not has):
        raise TargetError(
            f"This object code is for {target}; this process is {mine}.",
            remedy="Compile it on a machine like this one.",
        )
    # sysconfig reads its variables from a file at first use: 2 ms.
    if target.python and target.python != (tag := str(sysconfig.get_config_var("SOABI") or "")):
        raise TargetError(
            f"This object code is an extension module for {target.python}; this Python is {tag}.",
            remedy="Compile it with this Python.",
        )
    native = target.level.partition("native: ")[2].split()
    if native and (lacking := set(native) - set(cpu_features())):
        raise TargetError(
            f"This object code needs a CPU with {', '.join(sorted(lacking))}, which this CPU lacks.",
            remedy="Compile it here, or compile it there with arch='portable'.",
        )


def open_library(object_code: ObjectCode, path: str | os.PathLike[str]) -> Library:
    """Open the library at ``path``, which holds ``object_code.code``.

    It is opened locally (RTLD_LOCAL) and bound at once, so that a missing symbol is an error here and not a crash in a
    call.

    Raises
    ------
    TargetError
        If it is for another machine, or the system's loader refuses it.
    """
    check_target(object_code.target)
    mode = getattr(os, "RTLD_NOW", 0) | getattr(os, "RTLD_LOCAL", 0)
    try:
        with keep_arithmetic():
            handle = _private.open_library(os.fspath(path), mode)
    except OSError as fault:
        raise TargetError(
            f"The compiled library cannot be loaded: {fault}.",
            remedy="Check that all libraries it links with can be found (LD_LIBRARY_PATH).",
        ) from fault
    _introduce(handle)
    with contextlib.suppress(ValueError):  # C has none
        kinds = _list_exceptions()
        (ctypes.c_void_p * len(kinds)).in_dll(handle, "__ufm_exceptions").__init__(*kinds)  # type: ignore[misc]
    openmp.note_threads(handle)
    if hasattr(handle, "__ufm_loops"):
        cell_names.note_library(object_code, ctypes.addressof(ctypes.c_void_p.in_dll(handle, "__ufm_loops")))
    if object_code.language == "numba" and hasattr(handle, "__ufm_python_names"):
        _lend(handle)
    # The highest index, not the number: a loop that repeats another's types has a place in the table, too.
    last = max((loop.index for f in object_code.functions for loop in f.loops), default=-1)
    variables = [row[1] for row in object_code.device.get("memory", ())]
    plain = max([*variables, *(f.index for f in object_code.functions)], default=-1)
    functions = _read_table(handle, "__ufm_functions", plain + 1)
    has_calls = functions and hasattr(handle, "__ufm_plain_calls")
    calls = _read_table(handle, "__ufm_plain_calls", plain + 1) if has_calls else ()
    return Library(handle, _read_table(handle, "__ufm_loops", last + 1), functions, calls or (0,) * len(functions))


def _introduce(handle: ctypes.CDLL) -> None:
    """Give an opened object what it needs of this process, before any of its code runs.

    Raises
    ------
    TargetError
        If it is no object code.
    """
    try:
        _Host.in_dll(handle, "__ufm_host").__init__(*_list_host_values())  # type: ignore[misc]
    except ValueError as fault:
        raise TargetError("The object code has no loops, or is no object code.", remedy="Create it again.") from fault
    with contextlib.suppress(ValueError):  # objects of older versions cannot be interrupted
        ctypes.c_void_p.in_dll(handle, "__ufm_check_signals").value = _find_check_signals()
    _contain(handle)


def _end_idle_threads() -> None:
    """End the idle threads of gcc's OpenMP: a forked process would wait for them, which it does not have."""
    with contextlib.suppress(OSError, AttributeError):  # not loaded, or older than OpenMP 5
        openmp = _private.open_library("libgomp.so.1", os.RTLD_NOLOAD | os.RTLD_NOW)
        openmp.omp_pause_resource_all(2)  # omp_pause_hard


if hasattr(os, "register_at_fork") and hasattr(os, "RTLD_NOLOAD"):
    os.register_at_fork(before=_end_idle_threads)


def _lend(handle: ctypes.CDLL) -> None:
    """Fill in the C functions of Python by which a Numba function raises its exceptions."""
    names = (ctypes.c_char_p.in_dll(handle, "__ufm_python_names").value or b"").decode().split()
    table = (ctypes.c_void_p * len(names)).in_dll(handle, "__ufm_python")
    for n, name in enumerate(names):
        table[n] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    make: ctypes.py_object[Any] = ctypes.py_object.in_dll(handle, "__ufm_exception")
    make.value = exception_codec.make_exception


#: Extension modules of this process, by name and code: a module's code cannot be run twice.
_modules: dict[tuple[str, str], ModuleType] = {}


def is_taken(name: str) -> bool:
    """Whether a module of that name is Python's or was imported from a file that import would find again.

    Another magic's module of that name, such as one of ``%%cython -n NAME``, is on no path, and may be replaced.
    """
    if name in sys.stdlib_module_names:
        return True
    module = sys.modules.get(name)
    if isinstance(module, NamedModule) or module in (None, *_modules.values()):
        return False
    compiled = isinstance(getattr(module, "__loader__", None), importlib.machinery.ExtensionFileLoader)
    return not compiled or importlib.machinery.PathFinder.find_spec(name, store.import_path()) is not None


def open_module(object_code: ObjectCode, path: str) -> ModuleType:
    """Import the extension module at ``path``, which holds ``object_code.code``.

    Its statements run now; their exceptions pass.

    Raises
    ------
    TargetError
        If it is for another machine or Python.
    LinkError
        If a symbol or a library that it needs is missing.
    """
    check_target(object_code.target)
    name = object_code.module
    opened = _modules.get((name, object_code.code_digest))
    if opened is not None:
        sys.modules[name] = opened
        return opened
    for requirement in object_code.preload:
        importlib.import_module(requirement)
    loading = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loading)
    assert spec
    before = sys.modules.get(name)
    try:
        module = importlib.util.module_from_spec(spec)
    except ImportError as fault:
        reason = str(fault).replace(f"{path}: ", "")
        raise LinkError(
            f"{object_code.name} compiled, but cannot be loaded: {reason}.",
            remedy="Check that all libraries it links with can be found (LD_LIBRARY_PATH).",
            output=str(fault),
        ) from fault
    sys.modules[name] = module
    handle = _private.open_library(path, getattr(os, "RTLD_NOW", 0))
    _introduce(handle)
    cell_names.attach(object_code, handle)
    cell_names.give_file(module, object_code)
    try:
        with keep_arithmetic():
            if hasattr(handle, "__ufm_execute"):
                ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(("__ufm_execute", handle))(module)
            else:
                loading.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
        raise
    _modules[name, object_code.code_digest] = module
    return module


def count_mappings() -> tuple[int, int]:
    """The number of memory mappings of this process, and its limit; zeros if unknown."""
    try:
        with open("/proc/self/maps", "rb") as maps, open("/proc/sys/vm/max_map_count", encoding="ascii") as most:
            return sum(1 for _ in maps), int(most.read())
    except (OSError, ValueError):
        return 0, 0


def _read_table(handle: ctypes.CDLL, name: str, count: int) -> tuple[int, ...]:
    if not count:
        return ()
    try:
        entries = (ctypes.c_void_p * count).in_dll(handle, name)
    except ValueError as fault:
        raise TargetError(f"The object code has no table {name}.", remedy="Create it again.") from fault
    return tuple(address or 0 for address in entries)


@lru_cache(maxsize=64)
def _read_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
