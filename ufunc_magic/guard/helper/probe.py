"""What runs in the processes that the helper forks: a trial of new code, or the serving of a sandbox's calls.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import mmap
import os
import resource
import signal
import socket
import sys
import time
from typing import Any

from .probe_memory import PAGE, Record, Rooms, Spot, libc, malloced, rename_process, touched
from .wire import receive, send

#: ``__ufm_host`` of templates/driver.c: functions of Python's by name, pointers behind ``*``.
HOST = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_SetString",
    "PyErr_Occurred",
    "*PyExc_RuntimeError",
    "*PyExc_MemoryError",
)
#: Bytes that the code may map.
MEMORY = 1 << 30
#: Bytes that are passed on of what the code prints.
PRINTED = 1 << 15
#: All flags of <fenv.h> by machine, less x86's one for denormals.
_FLAGS = {"x86_64": 61, "aarch64": 31}
Loop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
#: Libraries of templates/watch.c that this process and those that it forks have open.
watchers: dict[str, ctypes.CDLL] = {}


def output_file() -> int:
    """The descriptor of a file for what the code prints; where the system has none in memory, it is lost."""
    with contextlib.suppress(AttributeError, OSError):
        return os.memfd_create("output")
    return os.open(os.devnull, os.O_RDWR)


def wait(link: socket.socket, record: Record, output: int, watch: str) -> None:
    """Prepare all that does not depend on the code, wait for a request, run it."""
    _confine(output)
    rename_process("ufunc-ready")
    rooms = Rooms()
    if watch:
        with contextlib.suppress(OSError):
            _rehearse(_watcher(watch), rooms)
    message = receive(link)
    if message is None:
        return
    rename_process("ufunc-trial")
    _expendable()
    request, descriptors = message
    _run(request, descriptors[0] if descriptors else -1, record, rooms, link)
    with contextlib.suppress(OSError):
        link.send(b"\n")


def _run(request: dict[str, Any], library: int, record: Record, rooms: Rooms, link: socket.socket) -> None:
    """Open the library and run every case; what ends this process is noted in shared memory."""
    sanitized = request["sanitized"]  # that has handlers, limits and red zones of its own
    memory = 0 if sanitized else _limited()
    watch = _watcher(request["watch"])
    watch.watch(ctypes.addressof(record.state), memory, not sanitized)
    record.begin(0, [])
    if not sanitized:  # sanitizers start programs that name functions; their build follows one that was confined
        sys.dont_write_bytecode = True
        watch.confine(link.fileno())
    watch.limit(request["opening"])
    path = request["path"] or f"/proc/self/fd/{library}"
    if request["module"]:
        _import(request["module"], path)
    handle = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    loops = _loops(handle, request["loops"])
    base = _base(next(filter(None, loops), 0))
    record.state.low, record.state.high = base, base + request["size"] + 16 * PAGE
    # What a noexcept function drops would be printed, and is no more a fault than what others raise here.
    sys.excepthook = sys.unraisablehook = _drop
    ran = 0
    began = time.monotonic()
    for number, case in enumerate(request["cases"]):
        if time.monotonic() - began > request["budget"]:
            break
        ran = number + 1
        if sanitized:
            os.write(2, b"\x1e%d\n" % (number + 1))
        spots: list[Spot] = [
            malloced(data) if sanitized else rooms.place(k, data, at_end)
            for k, (data, at_end) in enumerate(case["operands"])
        ]
        record.begin(number + 1, spots)
        watch.limit(case["seconds"])
        with contextlib.suppress(Exception):  # a function may raise: that is no crash
            _call(loops[case["loop"]], case, [place for _, place, _, _ in spots])
        watch.limit(0)
        if stray := touched(spots):  # this process is not to be trusted any more
            record.say(touched=stray[0])
            os._exit(0)
        if sanitized:
            for start, _, _, _ in spots:
                libc.free(start)
    libc.fflush(None)
    record.end(ran=ran)


def _drop(*_: object) -> None:
    """In place of what prints an exception."""


def serve(request: dict[str, Any], library: int, memory: int, descriptor: int, *, output: int) -> None:
    """Answer calls whose operands lie in shared memory, until the other end of the link is closed."""
    _confine(output)
    rename_process("ufunc-sandbox")
    _expendable()
    shared = mmap.mmap(memory, request["size"])
    here = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    link = socket.socket(fileno=descriptor)
    handle = ctypes.CDLL(f"/proc/self/fd/{library}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
    loops = _loops(handle, request["loops"])
    functions = (ctypes.c_void_p * request["functions"]).in_dll(handle, "__ufm_functions")
    machine = os.uname().machine
    every_flag = _FLAGS.get(machine, 0)
    raised_flags = getattr(libc, "fetestexcept", None) if every_flag else None
    while message := receive(link):
        case, _ = message
        for index, data in case["memory"]:
            ctypes.memmove(functions[index], data, len(data))
        if raised_flags:
            libc.feclearexcept(every_flag)
        raised = launched = None
        try:
            if "kernel" in case:
                launched = _launch(handle, functions[case["kernel"]], case, here)
            else:
                _call(loops[case["loop"]], case, [here + place for place in case["places"]])
        except (RuntimeError, MemoryError) as fault:
            raised = (type(fault).__name__, str(fault))
        flags = raised_flags(every_flag) if raised_flags and not raised else 0
        if machine == "aarch64":  # the driver's bits are those of x86
            flags = flags & 1 | (flags & 14) << 1
        variables = [ctypes.string_at(functions[index], len(data)) for index, data in case["memory"]]
        libc.fflush(None)
        printed = os.pread(output, PRINTED, 0)
        if printed:
            os.ftruncate(output, 0)
            os.lseek(output, 0, 0)
        answer = {"raised": raised, "launched": launched, "flags": flags, "printed": printed, "memory": variables}
        send(link, answer)


# ------------------------------------------------------------------------------------------ the process


def _confine(output: int) -> None:
    """Take from this process what it must not have."""
    with contextlib.suppress(OSError):  # a container may refuse it; it is ended by its number, too
        os.setsid()
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never outlive the helper
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))


def _expendable() -> None:
    """Let this process be the one that is ended where the machine has no memory left."""
    # An address space without end takes the machine's memory before a limit of time is reached.
    with contextlib.suppress(OSError):
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, b"1000")
        os.close(file)


def _limited() -> int:
    """Let this process map ``MEMORY`` bytes more; the most that it may map then."""
    most = MEMORY + _mapped()
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
    _call(ctypes.cast(watch.nothing, ctypes.c_void_p).value, case, [spot[1] for spot in spots])
    touched(spots)
    watch.limit(0)
    marshal.loads(marshal.dumps(case))


def _watcher(path: str) -> ctypes.CDLL:
    """The library that notes signals."""
    if path not in watchers:
        watchers[path] = ctypes.CDLL(path)
        watchers[path].watch.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)
        watchers[path].limit.argtypes = (ctypes.c_double,)
    return watchers[path]


# ------------------------------------------------------------------------------------------ the library


def _import(name: str, path: str) -> None:
    """An extension module of Cython's: its loops need what its statements set up."""
    import importlib.machinery
    import importlib.util

    loading = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loading)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loading.exec_module(module)


def _loops(handle: ctypes.CDLL, count: int) -> ctypes.Array[ctypes.c_void_p]:
    """The addresses of the loops, with ``__ufm_host`` filled in, as the loader does."""
    table = (ctypes.c_void_p * len(HOST)).in_dll(handle, "__ufm_host")
    for n, name in enumerate(HOST):
        if name.startswith("*"):
            table[n] = ctypes.c_void_p.in_dll(ctypes.pythonapi, name[1:]).value
        else:
            table[n] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return (ctypes.c_void_p * count).in_dll(handle, "__ufm_loops")


def _call(loop: int | None, case: dict[str, Any], places: list[int]) -> None:
    """Call a loop once."""
    arguments = (ctypes.c_void_p * len(places))(*places)
    dimensions = (ctypes.c_ssize_t * len(case["dimensions"]))(*case["dimensions"])
    steps = (ctypes.c_ssize_t * len(case["steps"]))(*case["steps"])
    Loop(loop or 0)(ctypes.addressof(arguments), ctypes.addressof(dimensions), ctypes.addressof(steps), None)


def _launch(handle: ctypes.CDLL, kernel: int | None, case: dict[str, Any], here: int) -> tuple[bytes, tuple[int, ...]]:
    """Launch an emulated kernel.

    Why it failed, and of a checked one where it was, what it touched, counted from ``here``, and how many bytes.
    """
    for value, array in case["pointers"]:
        ctypes.c_void_p.from_address(here + value).value = here + array
    arguments = (ctypes.c_void_p * max(1, len(case["places"])))(*(here + place for place in case["places"]))
    stray = (ctypes.c_size_t * 3)()
    if hasattr(handle, "__ufm_stray"):  # --sanitize
        stray = (ctypes.c_size_t * 3).in_dll(handle, "__ufm_stray")
        stray[2] = 0
        ctypes.c_size_t.in_dll(handle, "__ufm_array_count").value = len(case["arrays"])
        spans = (ctypes.c_size_t * 2 * 64).in_dll(handle, "__ufm_arrays")
        for span, (place, size) in zip(spans, case["arrays"], strict=False):
            span[:] = here + place, here + place + size
    grid, block = ((ctypes.c_uint * 3)(*case[name]) for name in ("grid", "block"))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(kernel or 0)
    call(ctypes.addressof(grid), ctypes.addressof(block), case["shared"], ctypes.addressof(arguments))
    handle.__ufm_launch_error.restype = ctypes.c_char_p
    return handle.__ufm_launch_error() or b"", (stray[0], stray[1] - here, stray[2])


def _base(address: int) -> int:
    """Where the library that ``address`` is in was mapped; 0 where that cannot be known."""
    info = (ctypes.c_void_p * 4)()  # Dl_info of dladdr(3): file, base, name, address
    with contextlib.suppress(AttributeError):
        libc.dladdr(ctypes.c_void_p(address), info)
    return info[1] or 0
