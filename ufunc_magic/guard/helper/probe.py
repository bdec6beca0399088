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

from .probe_memory import PAGE, Record, Rooms, Spot, allocate_watched, find_touched, libc, rename_process
from .wire import receive, send

#: ``__ufm_host`` of templates/driver.c: functions of Python by name; ``*`` marks a pointer.
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
#: Seconds after which a loop gets no further values but those that it must work on: a slow one leaves time to others.
ENOUGH = 0.5
#: Bytes of the code's output that are passed on.
PRINTED = 1 << 15
#: All flags of <fenv.h> by machine, less x86's one for denormals.
_FLAGS = {"x86_64": 61, "aarch64": 31}
Loop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
#: Libraries of templates/watch.c that this process and its forks have open.
watchers: dict[str, ctypes.CDLL] = {}


def open_output() -> int:
    """Open a file in memory for the code's output; systems without such files lose the output."""
    with contextlib.suppress(AttributeError, OSError):
        return os.memfd_create("output")
    return os.open(os.devnull, os.O_RDWR)


def wait(link: socket.socket, record: Record, output: int, watch: str) -> None:
    """Prepare everything that does not depend on the code, wait for a request, run it."""
    _confine(output)
    rename_process("ufunc-ready")
    rooms = Rooms()
    if watch:
        with contextlib.suppress(OSError):
            _rehearse(open_watcher(watch), rooms)
    message = receive(link)
    if message is None:
        return
    rename_process("ufunc-trial")
    _make_expendable()
    request, descriptors = message
    _run(request, descriptors[0] if descriptors else -1, record, rooms, link)
    with contextlib.suppress(OSError):
        link.send(b"\n")


def _run(request: dict[str, Any], library: int, record: Record, rooms: Rooms, link: socket.socket) -> None:
    """Open the library and run every case; shared memory notes the end of this process."""
    sanitized = request["sanitized"]  # sanitizers have their own handlers, limits and red zones
    if not sanitized:
        _limit_memory()
    watch = open_watcher(request["watch"])
    watch.watch(ctypes.addressof(record.state), not sanitized)
    record.begin(0, [])
    if not sanitized:  # a sanitizer starts a symbolizer; a confined trial came before it
        sys.dont_write_bytecode = True
        watch.confine(link.fileno())
    watch.limit(request["opening"])
    path = request["path"] or f"/proc/self/fd/{library}"
    if request["module"]:
        _import_module(request["module"], path)
    handle = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    loops = _find_loops(handle, request["loops"])
    base = _find_base(next(filter(None, loops), 0))
    record.state.low, record.state.high = base, base + request["size"] + 16 * PAGE
    # An exception that a noexcept function drops is no fault, and must not be printed.
    sys.excepthook = sys.unraisablehook = _ignore_exception
    ran, spent = 0, dict[int, float]()
    began = time.monotonic()
    for number, case in enumerate(request["cases"]):
        if time.monotonic() - began > request["budget"]:
            break
        ran = number + 1
        if case["optional"] and spent.get(case["loop"], 0.0) > ENOUGH:
            continue
        if sanitized:
            os.write(2, b"\x1e%d\n" % (number + 1))
        spots: list[Spot] = [
            allocate_watched(data) if sanitized else rooms.place(k, data, at_end)
            for k, (data, at_end) in enumerate(case["operands"])
        ]
        record.begin(number + 1, spots)
        start = time.monotonic()
        watch.limit(case["seconds"])
        with contextlib.suppress(Exception):  # a function may raise: that is no crash
            _call(loops[case["loop"]], case, [place for _, place, _, _ in spots])
        watch.limit(0)
        spent[case["loop"]] = spent.get(case["loop"], 0.0) + time.monotonic() - start
        if stray := find_touched(spots):  # this process can no longer be trusted
            record.say(touched=stray[0])
            os._exit(0)
        if sanitized:
            for start, _, _, _ in spots:
                libc.free(start)
    libc.fflush(None)
    record.end(ran=ran)


def _ignore_exception(*_: object) -> None:
    """Replace the hook that prints an exception."""


def serve(request: dict[str, Any], library: int, memory: int, descriptor: int, *, output: int) -> None:
    """Answer calls with operands in shared memory until the other end of the link is closed."""
    _confine(output)
    rename_process("ufunc-sandbox")
    _make_expendable()
    shared = mmap.mmap(memory, request["size"])
    here = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    link = socket.socket(fileno=descriptor)
    handle = ctypes.CDLL(f"/proc/self/fd/{library}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
    loops = _find_loops(handle, request["loops"])
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
                _call_in_steps(loops[case["loop"]], case, here)
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
    """Restrict this process: its session, output, core files and file size."""
    with contextlib.suppress(OSError):  # some containers refuse; the helper can also end it by its number
        os.setsid()
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never outlive the helper
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))


def _make_expendable() -> None:
    """Make this process the first that the system ends when memory runs out."""
    # Unlimited allocation would exhaust the machine before the time limit.
    with contextlib.suppress(OSError):
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, b"1000")
        os.close(file)


def _limit_memory() -> None:
    """Limit this process to ``MEMORY`` more bytes."""
    most = MEMORY + _read_mapped()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _read_mapped() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * PAGE
    except OSError:
        return 1 << 32


def _rehearse(watch: ctypes.CDLL, rooms: Rooms) -> None:
    """Rehearse a case, so that later ones are timed without the copying of pages on first write."""
    case = {"dimensions": [1, 1], "steps": [8, 8]}
    spots = [rooms.place(k, bytes(8), True) for k in range(2)]
    _call(ctypes.cast(watch.nothing, ctypes.c_void_p).value, case, [spot[1] for spot in spots])
    find_touched(spots)
    watch.limit(0)
    marshal.loads(marshal.dumps(case))


def open_watcher(path: str) -> ctypes.CDLL:
    """Open the library that notes signals."""
    if path not in watchers:
        watchers[path] = ctypes.CDLL(path)
        watchers[path].watch.argtypes = (ctypes.c_void_p, ctypes.c_int)
        watchers[path].limit.argtypes = (ctypes.c_double,)
    return watchers[path]


# ------------------------------------------------------------------------------------------ the library


def _import_module(name: str, path: str) -> None:
    """Import an extension module of Cython: its loops need what its statements set up."""
    import importlib.machinery
    import importlib.util

    loading = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loading)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loading.exec_module(module)


def _find_loops(handle: ctypes.CDLL, count: int) -> ctypes.Array[ctypes.c_void_p]:
    """Return the addresses of the loops after filling ``__ufm_host``, as the loader does."""
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


def _call_in_steps(loop: int | None, case: dict[str, Any], here: int) -> None:
    """Call a loop; with ``step`` so many elements at a time from ``first`` on, noted in memory before they begin."""
    count, *sizes = case["dimensions"]
    step = case["step"] or count
    starts = [0, *range(case["first"] or step, count, step)]
    for start, stop in zip(starts, [*starts[1:], count], strict=True):
        if case["step"]:
            ctypes.c_int64.from_address(here + case["progress"]).value = start
        part = {**case, "dimensions": [stop - start, *sizes]}
        _call(loop, part, [here + p + start * s for p, s in zip(case["places"], case["steps"], strict=False)])


def _launch(handle: ctypes.CDLL, kernel: int | None, case: dict[str, Any], here: int) -> tuple[bytes, tuple[int, ...]]:
    """Launch an emulated kernel.

    Why it failed, and ``__ufm_stray`` of the templates with its address counted from ``here``.
    """
    for value, array in case["pointers"]:
        ctypes.c_void_p.from_address(here + value).value = here + array
    arguments = (ctypes.c_void_p * max(1, len(case["places"])))(*(here + place for place in case["places"]))
    stray = (ctypes.c_size_t * 4)()
    if hasattr(handle, "__ufm_stray"):
        stray = (ctypes.c_size_t * 4).in_dll(handle, "__ufm_stray")
        stray[2] = stray[3] = 0
    if hasattr(handle, "__ufm_array_count"):  # --sanitize
        ctypes.c_size_t.in_dll(handle, "__ufm_array_count").value = len(case["arrays"])
        spans = (ctypes.c_size_t * 2 * 64).in_dll(handle, "__ufm_arrays")
        for span, (place, size) in zip(spans, case["arrays"], strict=False):
            span[:] = here + place, here + place + size
    grid, block = ((ctypes.c_uint * 3)(*case[name]) for name in ("grid", "block"))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(kernel or 0)
    call(ctypes.addressof(grid), ctypes.addressof(block), case["shared"], ctypes.addressof(arguments))
    handle.__ufm_launch_error.restype = ctypes.c_char_p
    return handle.__ufm_launch_error() or b"", (stray[0], stray[1] - here, stray[2], stray[3])


def _find_base(address: int) -> int:
    """Return the address at which the library that holds ``address`` is mapped, or 0 if unknown."""
    info = (ctypes.c_void_p * 4)()  # Dl_info of dladdr(3): file, base, name, address
    with contextlib.suppress(AttributeError):
        libc.dladdr(ctypes.c_void_p(address), info)
    return info[1] or 0
