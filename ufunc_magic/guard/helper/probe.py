"""The process that runs new code: forked ahead of it, made ready while the compiler is at work.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import _locale
import contextlib
import ctypes
import marshal
import os
import resource
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass
from typing import Any

from .crash_record import Record, Spot
from .guarded_memory import PAGE, Rooms, called, libc, malloced, release, touched

__all__ = ["call", "confine", "expendable", "lend", "received", "wait", "watcher"]

Loop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
#: Libraries of templates/watch.c that this process and those that it forks have open.
watchers: dict[str, ctypes.CDLL] = {}


def wait(link: socket.socket, record: Record, output: int, watch: str) -> None:
    """Prepare all that does not depend on the code, wait for a request, run it."""
    confine(output)
    called("ufunc-ready")
    rooms = Rooms()
    if watch:
        with contextlib.suppress(OSError):
            _rehearse(watcher(watch), rooms)
    asked = received(link)
    if asked is None:
        return
    called("ufunc-trial")
    expendable()
    data, descriptors = asked
    run(marshal.loads(data), descriptors[0] if descriptors else -1, record, rooms)
    with contextlib.suppress(OSError):
        link.send(b"\n")


def run(request: dict[str, Any], library: int, record: Record, rooms: Rooms) -> None:
    """Open the library and run every case; what ends this process is noted in shared memory."""
    memory = _limited(request["memory"])
    try:
        watch = watcher(request["watch"])
    except OSError as fault:
        record.answer({"refused": str(fault)})
        return
    if request["watched"]:
        watch.watch(record.address(), memory)
    before, tasks = _State.now(watch), _tasks()
    record.begin(0, [])
    path = request["path"] or f"/proc/self/fd/{library}"
    try:
        if request["module"]:
            _import(request["module"], path)
        handle = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as fault:
        # What cannot be opened is no crash: whoever opens it after us says so better.
        record.answer({"refused": str(fault)})
        return
    lend(handle, request["host"])
    if request["start"]:
        ctypes.c_ubyte.in_dll(handle, "__ufm_start").value = request["start"]
    loops = (ctypes.c_void_p * request["loops"]).in_dll(handle, "__ufm_loops")
    base = _base(next(filter(None, loops), 0))
    record.mapped(base, base + request["size"] + 16 * PAGE)
    answer: dict[str, Any] = {"changed": [], "touched": [], "results": [], "ran": 0}
    began = time.monotonic()
    for number, case in enumerate(request["cases"]):
        if time.monotonic() - began > request["budget"]:
            break
        answer["ran"] = number + 1
        if request["marks"]:
            os.write(2, b"\x1e%d\n" % (number + 1))
        spots: list[Spot] = [
            malloced(data) if request["malloc"] else rooms.place(k, data, at_end)
            for k, (data, at_end) in enumerate(case["operands"])
        ]
        record.begin(number + 1, spots)
        call(loops[case["loop"]] or 0, case, [place for _, place, _, _ in spots])
        answer["touched"] += [(number, operand, side) for operand, side in touched(spots)]
        if request["results"]:
            written = (ctypes.string_at(place, size) for _, place, size, _ in spots[case["nin"] :])
            answer["results"].append((number, b"".join(written)))
        if request["malloc"]:
            release(spots)
        after = _State.now(watch)
        if after != before:
            answer["changed"].append((number, after.unlike(before)))
            before = after
    libc.fflush(None)
    record.answer({**answer, "threads": _tasks() - tasks})


def received(link: socket.socket) -> tuple[bytes, list[int]] | None:
    """A message and the descriptors of files that came with it; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(link, 8, 3)
    if len(head) < 8:
        return None
    length = struct.unpack("<Q", head)[0]
    data = bytearray()
    while len(data) < length:
        more = link.recv(min(1 << 20, length - len(data)))
        if not more:
            return None
        data += more
    return bytes(data), list(descriptors)


# ------------------------------------------------------------------------------------------ the process


def confine(output: int) -> None:
    """Take from this process what it must not have."""
    os.setsid()
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never outlive the helper
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))


def expendable() -> None:
    """Let this process be the one that is ended where the machine has no memory left."""
    # An address space without end takes the machine's memory before a limit of time is reached.
    with contextlib.suppress(OSError):
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, b"1000")
        os.close(file)


def _limited(memory: int) -> int:
    """Let this process map ``memory`` bytes more; the most that it may map then, 0 for no limit."""
    if not memory:
        return 0
    most = memory + _mapped()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return most


def _mapped() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * PAGE
    except OSError:
        return 1 << 32


def _rehearse(watch: ctypes.CDLL, rooms: Rooms) -> None:
    """Do once what will be timed: the first time, every page that is written to is copied."""
    case = {"dimensions": [1, 1], "steps": [8, 8]}
    spots = [rooms.place(k, bytes(8), True) for k in range(2)]
    call(ctypes.cast(watch.nothing, ctypes.c_void_p).value or 0, case, [spot[1] for spot in spots])
    touched(spots)
    _State.now(watch).unlike(_State.now(watch))
    _tasks()
    marshal.loads(marshal.dumps(case))


def watcher(path: str) -> ctypes.CDLL:
    """The library that notes signals."""
    if path not in watchers:
        watchers[path] = ctypes.CDLL(path)
        watchers[path].watch.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    return watchers[path]


@dataclass(frozen=True)
class _State:
    """What C code can change in a process behind its back."""

    handlers: bytes
    locale: str
    folder: str
    umask: int

    @classmethod
    def now(cls, watch: ctypes.CDLL) -> _State:
        watch.handlers(_handlers)
        mask = os.umask(0)
        os.umask(mask)
        return cls(bytes(_handlers), _locale.setlocale(_locale.LC_ALL, None), _folder(), mask)

    def unlike(self, before: _State) -> list[str]:
        """The names of what is not as it was before."""
        word = ctypes.sizeof(ctypes.c_size_t)
        signals = [
            f"signal {n}"
            for n in range(1, 32)
            if self.handlers[n * word : (n + 1) * word] != before.handlers[n * word : (n + 1) * word]
        ]
        others = ("locale", "folder", "umask")
        return signals + [name for name in others if getattr(self, name) != getattr(before, name)]


_handlers = (ctypes.c_size_t * 32)()


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _tasks() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


# ------------------------------------------------------------------------------------------ the library


def _import(name: str, path: str) -> None:
    """An extension module of Cython's: its loops need what its statements set up."""
    import importlib.machinery
    import importlib.util

    loading = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loading)
    assert spec
    try:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loading.exec_module(module)
    except BaseException as fault:  # the user's own statements may raise anything
        raise OSError(str(fault)) from fault


def lend(handle: ctypes.CDLL, names: list[str]) -> None:
    """Fill in ``__ufm_host``, as the loader does: functions by name, ``*`` before pointers."""
    table = (ctypes.c_void_p * len(names)).in_dll(handle, "__ufm_host")
    for n, name in enumerate(names):
        if name.startswith("*"):
            table[n] = ctypes.c_void_p.in_dll(ctypes.pythonapi, name[1:]).value
        else:
            table[n] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


def call(loop: int, case: dict[str, Any], places: list[int], *, passing: bool = False) -> None:
    """Call a loop once; what it raises is passed on only where that is asked for."""
    arguments = (ctypes.c_void_p * len(places))(*places)
    dimensions = (ctypes.c_ssize_t * len(case["dimensions"]))(*case["dimensions"])
    steps = (ctypes.c_ssize_t * len(case["steps"]))(*case["steps"])
    # A function may raise: that is no crash.
    with contextlib.nullcontext() if passing else contextlib.suppress(Exception):
        Loop(loop)(ctypes.addressof(arguments), ctypes.addressof(dimensions), ctypes.addressof(steps), None)


class _Info(ctypes.Structure):
    """``Dl_info`` of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("at", ctypes.c_void_p),
    )


def _base(address: int) -> int:
    """Where the library that ``address`` is in was mapped; 0 where that cannot be known."""
    info = _Info()
    with contextlib.suppress(AttributeError):
        libc.dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return info.base or 0
