"""The helper process: keeps forked processes ready, runs each request in one of them, reports the outcome.

``python -I -S`` runs it with the standard library and the modules of this folder only.  The library to open comes as
a file descriptor.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from . import probe
from .probe_memory import Record, libc, rename_process
from .wire import receive, send

#: Processes that wait for a request.  A crash ends one; the rest of its request follows at once.
READY = 3


@dataclass
class Ready:
    """A forked process that waits for a request or works on one."""

    process: int
    link: socket.socket
    record: Record
    output: int
    status: int | None = None

    def stop(self) -> int:
        """End the process and everything in its session; return its exit status."""
        with contextlib.suppress(OSError):
            os.killpg(self.process, signal.SIGKILL)
        if self.status is None:
            with contextlib.suppress(OSError):
                os.kill(self.process, signal.SIGKILL)
            self.status = os.waitpid(self.process, 0)[1]
        return self.status

    def close(self) -> None:
        """End the process and close its files."""
        self.stop()
        self.link.close()
        os.close(self.output)

    def has_ended(self) -> bool:
        """Return whether the process has ended by itself."""
        if self.status is None:
            ended, status = os.waitpid(self.process, os.WNOHANG)
            self.status = status if ended else None
        return self.status is not None


class Helper:
    """This process.

    Attributes
    ----------
    link : socket.socket
        To the kernel.
    watch : str
        The library of templates/watch.c in the last request; ``""`` if there are only sandboxes.
    preloaded : tuple
        The search path and the modules of the last request for a module.
    ready : list of Ready
    servers : dict of int
        Processes that serve a sandbox, with their output files.
    """

    def __init__(self, link: socket.socket, watch: str) -> None:
        self.link = link
        self.watch = watch
        self.preloaded: tuple[list[str], list[str]] = ([], [])
        self.ready: list[Ready] = []
        self.servers: dict[int, int] = {}

    def serve(self) -> None:
        """Answer requests until the other end is gone."""
        parent = os.getppid()
        while True:
            # A fork of the kernel may hold the other end long after the kernel was killed.
            lacking = bool(self.watch) and len(self.ready) < READY
            if not select.select([self.link], [], [], 0.0 if lacking else 2.0)[0]:
                if os.getppid() != parent:
                    return
                if lacking:
                    self.ready.append(self.fork())
                continue
            message = receive(self.link)
            if message is None:
                return
            request, descriptors = message
            worker = None
            match request["task"]:
                case "serve":
                    answer = self.begin_server(request, descriptors)
                case "end":
                    answer = self.end_server(request)
                case _:
                    worker, answer = self.attempt(request, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            send(self.link, answer)
            if worker:  # after the answer: no caller waits for its end
                worker.close()
                self.end_strays()

    # ------------------------------------------------------------------------------------- trials

    def fork(self) -> Ready:
        """Fork a process that prepares itself and waits."""
        record, (ours, theirs) = Record(), socket.socketpair()
        output = probe.open_output()
        process = os.fork()
        if not process:
            try:
                ours.close()
                self.close_others()
                probe.wait(theirs, record, output, self.watch)
            except BaseException as fault:  # noqa: BLE001 - a cell's statements may raise anything
                # A load failure is no crash; the loader reports it with a better message.
                record.end(refused=(str(fault) or repr(fault))[:1000])
            finally:
                os._exit(0)
        theirs.close()
        return Ready(process, ours, record, output)

    def close_others(self) -> None:
        """Close the other processes' links in a forked process."""
        self.link.close()
        for other in self.ready:
            other.link.close()

    def prepare(self, request: dict[str, Any]) -> None:
        """Prepare for a request: waiting processes without its library or modules are replaced."""
        stale = request["watch"] != self.watch
        self.watch = request["watch"]
        modules = request["search"], request["preload"]
        if request["module"] and modules != self.preloaded:
            self.preloaded, stale = modules, True
            sys.path[:] = request["search"]
            for name in request["preload"]:
                with contextlib.suppress(ImportError):
                    __import__(name)
        for other in [other for other in self.ready if stale or other.has_ended()]:
            self.ready.remove(other)
            other.close()

    def attempt(self, request: dict[str, Any], descriptors: list[int]) -> tuple[Ready, dict[str, Any]]:
        """Run the request in a process within the limits; return the process, to be closed, and the outcome."""
        start = time.monotonic()
        self.prepare(request)
        worker = self.ready.pop(0) if self.ready else self.fork()
        with contextlib.suppress(OSError):  # the process was killed from outside
            send(worker.link, request, descriptors)
        limits = [request["opening"], *(case["seconds"] for case in request["cases"])]
        hung = self.wait(worker, limits)
        status = 0 if worker.record.state.done else worker.stop()
        record = worker.record.read()
        hung = hung or record["signal"] == signal.SIGALRM
        printed = {"printed": os.pread(worker.output, probe.PRINTED, 0), "total": os.fstat(worker.output).st_size}
        answer = {"status": status, "hung": hung, "limit": limits[record["number"]], **record, **printed}
        return worker, {**answer, "seconds": time.monotonic() - start}

    def wait(self, worker: Ready, limits: list[float]) -> bool:
        """Wait until the process is done or has ended; return True if it ignores a limit.

        The first limit is for opening the library, the others are for the cases.
        """
        while True:
            # A fork of the worker may keep the link open.
            news = select.select([worker.link, self.link], [], [], 0.02)[0]
            if worker.link in news or worker.has_ended():
                return False
            if news and not self.link.recv(1, socket.MSG_PEEK):
                worker.stop()
                os._exit(0)  # the kernel is gone
            state = worker.record.state
            if state.started and time.monotonic() - state.started / 1e9 > 5 * limits[state.number] + 1:
                return True

    def end_strays(self) -> None:
        """End processes that the code has left in sessions of their own."""
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                strays = set(map(int, file.read().split()))
            for stray in strays - self.servers.keys() - {ready.process for ready in self.ready}:
                with contextlib.suppress(OSError):
                    os.kill(stray, signal.SIGKILL)
                    os.waitpid(stray, 0)

    # ----------------------------------------------------------------------------------- sandboxes

    def begin_server(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Fork a process that has the library open and answers calls until its own link is closed."""
        output = probe.open_output()
        process = os.fork()
        if not process:
            try:
                self.close_others()
                probe.serve(request, *descriptors, output=output)
            finally:
                os._exit(0)
        self.servers[process] = output
        return {"process": process}

    def end_server(self, request: dict[str, Any]) -> dict[str, Any]:
        """Wait a moment for a server to end by itself, or end it at once; return its status and output."""
        process, status = request["process"], 0
        with contextlib.suppress(OSError):
            for _ in range(0 if request["at_once"] else 50):
                ended, status = os.waitpid(process, os.WNOHANG)
                if ended:
                    break
                time.sleep(0.002)
            else:
                os.killpg(process, signal.SIGKILL)
                status = os.waitpid(process, 0)[1]
        output = self.servers.pop(process, None)
        printed = b"" if output is None else os.pread(output, probe.PRINTED, 0)
        if output is not None:
            os.close(output)
        return {"status": status, "printed": printed}


def main(link: int, watch: str) -> None:
    """Serve the kernel at the other end of a socket."""
    rename_process("ufunc-helper")
    gc.disable()  # a collection in a forked process would copy its memory
    with contextlib.suppress(AttributeError, OSError):
        libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: strays become ours
    Helper(socket.socket(fileno=link), watch).serve()
