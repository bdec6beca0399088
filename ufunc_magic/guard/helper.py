"""The helper process: forks for every request, runs new loops there on prepared memory, says what came of it.

Run as a program by ``python -I -S``, so it imports nothing but the standard library and nothing of this package.
Requests and answers are marshalled, each behind its length; the library to open comes as a file descriptor.
"""

from __future__ import annotations

import _locale
import contextlib
import ctypes
import gc
import marshal
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

PAGE = mmap.PAGESIZE
FRAMES = 96
#: Record in templates/watch.c; behind it, at SPOTS, where the operands of the case under way lie.
RECORD = struct.Struct(f"<13Q{FRAMES}Q")
SPOTS = 1024
ANSWER = PAGE
SHARED = PAGE + (1 << 18)
#: Bytes of what the code prints that are kept.
KEPT = 1 << 15
CANARY = 0x5A

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
libc.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)
Loop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


# ------------------------------------------------------------------------------------- in the forked process


def run(request: dict[str, Any], library: int, shared: mmap.mmap, output: int) -> None:
    """Open the library and run every case; what ends this process is noted in shared memory."""
    here = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    memory = _confine(request["memory"], output)
    try:
        watch = watcher(request["watch"])
    except OSError as fault:
        _answer(shared, {"refused": str(fault)})
        return
    if request["watched"]:
        watch.watch(here, memory)
    before, tasks = _state(watch), _tasks()
    _begin(shared, 0, [])
    path = request["path"] or f"/proc/self/fd/{library}"
    try:
        if request["module"]:
            _import(request["module"], path)
        handle = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as fault:
        # What cannot be opened is no crash: whoever opens it after us says so better.
        _answer(shared, {"refused": str(fault)})
        return
    _lend(handle, request["host"])
    if request["start"]:
        ctypes.c_ubyte.in_dll(handle, "__ufm_start").value = request["start"]
    loops = (ctypes.c_void_p * request["loops"]).in_dll(handle, "__ufm_loops")
    _note_base(shared, next(filter(None, loops), 0), request["size"])
    changed: list[tuple[int, list[str]]] = []
    touched: list[tuple[int, int, int]] = []
    unwritten: list[tuple[int, bytes]] = []
    ran, began = 0, time.monotonic()
    for number, case in enumerate(request["cases"], 1):
        if time.monotonic() - began > request["budget"]:
            break
        ran = number
        if request["marks"]:
            os.write(2, b"\x1e%d\n" % number)
        memory_of = _malloced if request["malloc"] else _between_pages
        spots = [memory_of(data, at_end) for data, at_end in case["operands"]]
        _begin(shared, number, spots)
        _call(loops[case["loop"]] or 0, case, [spot[1] for spot in spots])
        touched += [(number - 1, operand, side) for operand, side in _around(spots)]
        if request["results"]:
            unwritten.append((number - 1, b"".join(ctypes.string_at(s[1], s[2]) for s in spots[case["nin"] :])))
        _release(spots, malloced=request["malloc"])
        after = _state(watch)
        if after != before:
            changed.append((number - 1, [k for k in after if after[k] != before[k]]))
            before = after
    libc.fflush(None)
    _answer(
        shared, {"changed": changed, "touched": touched, "threads": _tasks() - tasks, "results": unwritten, "ran": ran}
    )


def _confine(memory: int, output: int) -> int:
    """Take from this process what it must not have; the most memory that it may map, 0 for no limit."""
    os.setsid()
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never outlive the helper
    os.dup2(output, 1)
    os.dup2(output, 2)
    # An address space without end takes the machine's memory before a limit of time is reached.
    with contextlib.suppress(OSError):
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, b"1000")
        os.close(file)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))
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


def _lend(handle: ctypes.CDLL, names: list[str]) -> None:
    """Fill in ``__ufm_host``, as the loader does: functions by name, ``*`` before pointers."""
    table = (ctypes.c_void_p * len(names)).in_dll(handle, "__ufm_host")
    for n, name in enumerate(names):
        if name.startswith("*"):
            table[n] = ctypes.c_void_p.in_dll(ctypes.pythonapi, name[1:]).value
        else:
            table[n] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


def _call(loop: int, case: dict[str, Any], places: list[int], *, passing: bool = False) -> None:
    arguments = (ctypes.c_void_p * len(places))(*places)
    dimensions = (ctypes.c_ssize_t * len(case["dimensions"]))(*case["dimensions"])
    steps = (ctypes.c_ssize_t * len(case["steps"]))(*case["steps"])
    # A function may raise: that is no crash.
    with contextlib.nullcontext() if passing else contextlib.suppress(Exception):
        Loop(loop)(ctypes.addressof(arguments), ctypes.addressof(dimensions), ctypes.addressof(steps), None)


def _between_pages(data: bytes, at_end: bool) -> tuple[int, int, int, int]:
    """Memory for an operand with a page before and behind it that cannot be touched: start, place, size, end."""
    room = max(PAGE, -(-len(data) // PAGE) * PAGE)
    start = libc.mmap(None, room + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError
    libc.mprotect(start, PAGE, 0)
    libc.mprotect(start + PAGE + room, PAGE, 0)
    start += PAGE
    libc.memset(start, CANARY, room)
    place = start + room - len(data) if at_end else start
    ctypes.memmove(place, data, len(data))
    return start, place, len(data), start + room


def _malloced(data: bytes, at_end: bool) -> tuple[int, int, int, int]:
    """Memory for an operand that a sanitizer watches."""
    place = libc.malloc(max(1, len(data)))
    ctypes.memmove(place, data, len(data))
    return place, place, len(data), place + len(data)


def _release(spots: list[tuple[int, int, int, int]], *, malloced: bool) -> None:
    for start, _, _, end in spots:
        if malloced:
            libc.free(start)
        else:
            libc.munmap(start - PAGE, end - start + 2 * PAGE)


def _around(spots: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Operands around which something was written, with -1 for before and 1 for behind."""
    found = []
    for operand, (start, place, size, end) in enumerate(spots):
        if place > start and ctypes.string_at(start, place - start).count(CANARY) != place - start:
            found.append((operand, -1))
        if (
            end > place + size
            and ctypes.string_at(place + size, end - place - size).count(CANARY) != end - place - size
        ):
            found.append((operand, 1))
    return found


def _state(watch: ctypes.CDLL) -> dict[str, Any]:
    """What C code can change in a process behind its back."""
    handlers = (ctypes.c_size_t * 32)()
    watch.handlers(handlers)
    mask = os.umask(0)
    os.umask(mask)
    found: dict[str, Any] = {f"signal {n}": handlers[n] for n in range(1, 32) if n != signal.SIGXCPU}
    return {**found, "locale": _locale.setlocale(_locale.LC_ALL, None), "folder": _folder(), "umask": mask}


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


def _begin(shared: mmap.mmap, number: int, spots: list[tuple[int, int, int, int]]) -> None:
    flat = [value for spot in spots for value in spot]
    struct.pack_into(f"<Q{len(flat)}Q", shared, SPOTS, len(spots), *flat)
    struct.pack_into("<2Q", shared, 0, number, time.monotonic_ns())


def _note_base(shared: mmap.mmap, address: int, size: int) -> None:
    """Where the library was mapped: addresses in it are told from there."""

    class Info(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("at", ctypes.c_void_p),
        )

    info = Info()
    with contextlib.suppress(AttributeError):
        libc.dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    base = info.base or 0
    struct.pack_into("<2Q", shared, 80, base, base + size + 16 * PAGE)  # Record.low and .high


def _answer(shared: mmap.mmap, answer: dict[str, Any]) -> None:
    data = marshal.dumps(answer)
    if len(data) > SHARED - ANSWER - 8:
        data = marshal.dumps({})
    struct.pack_into("<Q", shared, ANSWER, len(data))
    shared[ANSWER + 8 : ANSWER + 8 + len(data)] = data
    struct.pack_into("<Q", shared, 16, 1)  # Record.done


# ---------------------------------------------------------------------------------------- in the helper


#: Libraries of templates/watch.c that this process has open, for all that it forks.
watchers: dict[str, ctypes.CDLL] = {}


def watcher(path: str) -> ctypes.CDLL:
    """The library that notes signals."""
    if path not in watchers:
        watchers[path] = ctypes.CDLL(path)
        watchers[path].watch.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    return watchers[path]


#: Processes that serve a sandbox, which are to go on.
servers: set[int] = set()


def attempt(request: dict[str, Any], library: int, link: socket.socket) -> dict[str, Any]:
    """Fork, wait within the limits, end what is left, and tell what came of it."""
    shared = mmap.mmap(-1, SHARED)
    output = os.memfd_create("output") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_WRONLY)
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        try:
            run(request, library, shared, output)
        except BaseException as fault:  # noqa: BLE001 - of this program, not of the code
            _answer(shared, {"refused": repr(fault)})
        finally:
            os._exit(0)
    hung = _wait(pid, shared, [case["seconds"] for case in request["cases"]], request["opening"], link)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    _end_strays()
    record = RECORD.unpack_from(shared, 0)
    count = struct.unpack_from("<Q", shared, SPOTS)[0]
    spots = struct.unpack_from(f"<{4 * count}Q", shared, SPOTS + 8)
    length = struct.unpack_from("<Q", shared, ANSWER)[0]
    made = {
        "status": status,
        "hung": hung,
        "number": record[0],
        "done": bool(record[2]),
        "signal": record[3],
        "address": record[4],
        "pc": record[5],
        "sp": record[6],
        "overflow": bool(record[7]),
        "memory": bool(record[8]),
        "access": record[9],
        "frames": record[13 : 13 + min(record[12], FRAMES)],
        "base": record[10],
        "spots": [spots[4 * k : 4 * k + 4] for k in range(count)],
        "answer": marshal.loads(shared[ANSWER + 8 : ANSWER + 8 + length]) if length else {},
        "seconds": time.monotonic() - began,
        **_printed(output),
    }
    os.close(output)
    shared.close()
    return made


def _wait(pid: int, shared: mmap.mmap, limits: list[float], opening: float, link: socket.socket) -> bool:
    """Wait for the forked process; True where a case took longer than it may."""
    end = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    try:
        while True:
            number, started = struct.unpack_from("<2Q", shared, 0)
            limit = limits[number - 1] if number else opening
            left = (started or time.monotonic_ns()) / 1e9 + limit - time.monotonic()
            if left <= 0:
                return True
            left = min(left, 0.005)  # the next case may have less
            if end >= 0:
                ready = select.select([end, link.fileno()], [], [], left)[0]
                if end in ready:
                    return False
                if ready and not link.recv(1, socket.MSG_PEEK):
                    os.killpg(pid, signal.SIGKILL)
                    os._exit(0)  # nobody is left to tell
            elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return False
            else:
                time.sleep(min(left, 0.001))
    finally:
        if end >= 0:
            os.close(end)


def _end_strays() -> None:
    """End what the code has started and left in a session of its own."""
    with contextlib.suppress(OSError, ValueError):
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            strays = list(map(int, file.read().split()))
        for stray in set(strays) - servers:
            with contextlib.suppress(OSError):
                os.kill(stray, signal.SIGKILL)
                os.waitpid(stray, 0)


def _printed(output: int) -> dict[str, Any]:
    try:
        total = os.fstat(output).st_size
        return {"printed": os.pread(output, KEPT, 0), "total": total}
    except OSError:
        return {"printed": b"", "total": 0}


def begin_server(request: dict[str, Any], descriptors: list[int], link: socket.socket) -> dict[str, Any]:
    """Fork a process that has the library open and answers calls until its own link is closed."""
    pid = os.fork()
    if not pid:
        try:
            link.close()
            serve(request, *descriptors)
        finally:
            os._exit(0)
    servers.add(pid)
    return {"process": pid}


def end_server(request: dict[str, Any]) -> dict[str, Any]:
    """Wait a moment for a server to end by itself, end it, and tell how it ended."""
    pid = request["process"]
    servers.discard(pid)
    try:
        for _ in range(50):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return {"status": status}
            time.sleep(0.002)
        os.killpg(pid, signal.SIGKILL)
        return {"status": os.waitpid(pid, 0)[1]}
    except OSError:
        return {"status": 0}


def serve(request: dict[str, Any], library: int, memory: int, descriptor: int) -> None:
    """Answer calls whose operands lie in shared memory."""
    output = os.memfd_create("output")
    _confine(0, output)
    shared = mmap.mmap(memory, request["size"])
    here = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    link = socket.socket(fileno=descriptor)
    handle = ctypes.CDLL(f"/proc/self/fd/{library}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
    _lend(handle, request["host"])
    loops = (ctypes.c_void_p * request["loops"]).in_dll(handle, "__ufm_loops")
    nothing = marshal.dumps({"raised": None, "flags": 0, "printed": b""})
    flags = getattr(libc, "fetestexcept", None) if os.uname().machine == "x86_64" else None
    while True:
        head = link.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return
        case = marshal.loads(link.recv(struct.unpack("<Q", head)[0], socket.MSG_WAITALL))
        raised = None
        if case["loop"] < 0:  # only asked whether anybody is there
            link.sendall(struct.pack("<Q", len(nothing)) + nothing)
            continue
        if flags:
            libc.feclearexcept(61)
        try:
            _call(loops[case["loop"]] or 0, case, [here + place for place in case["places"]], passing=True)
        except (RuntimeError, MemoryError) as fault:
            raised = (type(fault).__name__, str(fault))
        found = flags(61) if flags and not raised else 0
        libc.fflush(None)
        printed = os.pread(output, KEPT, 0)
        if printed:
            os.ftruncate(output, 0)
            os.lseek(output, 0, 0)
        answer = marshal.dumps({"raised": raised, "flags": found, "printed": printed})
        link.sendall(struct.pack("<Q", len(answer)) + answer)


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """A request and descriptors; None at the end."""
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
    return marshal.loads(bytes(data)), list(descriptors)


def answered(request: dict[str, Any], descriptors: list[int], link: socket.socket) -> dict[str, Any]:
    match request["task"]:
        case "serve":
            return begin_server(request, descriptors, link)
        case "end":
            return end_server(request)
    if request["module"]:
        sys.path[:] = request["search"]
        for name in request["preload"]:
            with contextlib.suppress(ImportError):
                __import__(name)
    with contextlib.suppress(OSError):
        watcher(request["watch"])  # whoever is forked has it open already
    return attempt(request, descriptors[0] if descriptors else -1, link)


def main() -> None:
    link = socket.socket(fileno=int(sys.argv[1]))
    parent = os.getppid()
    gc.disable()  # a collection in a forked process would copy its memory
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: strays become ours
    while True:
        # A process forked off the kernel may hold the other end for long after the kernel was killed.
        if not select.select([link], [], [], 2.0)[0]:
            if os.getppid() != parent:
                return
            continue
        asked = receive(link)
        if asked is None:
            return
        request, descriptors = asked
        answer = marshal.dumps(answered(request, descriptors, link))
        for descriptor in descriptors:
            os.close(descriptor)
        link.sendall(struct.pack("<Q", len(answer)) + answer)


if __name__ == "__main__":
    main()
