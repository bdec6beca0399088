"""``--sandbox``: loops that run in another process, through shared memory, on every call.

The ufunc is a real one.  Its loops are ``__ufm_remote_loop`` of ``templates/driver.c``, which calls back to Python;
from there operands go into memory that a forked child of the helper shares, and results come back.  A crash ends that
child and raises an exception here; the next call starts a new child.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import runtime
from ..model import TYPES, CellCrashed, FunctionCode, ObjectCode
from . import guard_process
from .helper.wire import receive, send

#: Bytes that pass through shared memory at a time, if the call may be cut.
ROOM = 32 << 20
_LEAST = 1 << 20
#: Elements of a step, where the one that crashed is looked for.
_STEP = 4096

_UNHARMED = "Your session is not affected: the next call starts a new sandbox."


class _Answer(ctypes.Structure):
    """``Answer`` of ``templates/driver.c``."""

    _fields_ = (
        *(("made_by", ctypes.c_void_p), ("said", ctypes.c_void_p), ("kind", ctypes.c_void_p)),
        ("flags", ctypes.c_uint),
    )


_Remote = ctypes.CFUNCTYPE(
    None,
    ctypes.c_ssize_t,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(_Answer),
)


class _Call(ctypes.Structure):
    """``Remote`` of ``templates/driver.c``."""

    _fields_ = (("call", _Remote), ("index", ctypes.c_ssize_t), ("interrupt", ctypes.c_void_p))


@dataclass
class _Server:
    """The child of the helper that serves the code, and the shared memory."""

    link: socket.socket
    memory: mmap.mmap
    address: int
    number: int
    owner: int = field(default_factory=os.getpid)


@dataclass(eq=False)
class Sandbox:
    """The functions of one object, called in another process.

    Attributes
    ----------
    object_code : ObjectCode
    loop : int
        Address of ``__ufm_remote_loop``.
    variables : list of tuple of int
        Memory of the cell that calls may change: the index in the table of functions, the address here, the bytes.
    """

    object_code: ObjectCode = field(repr=False)
    loop: int
    variables: list[tuple[int, int, int]] = field(default_factory=list)
    _server: _Server | None = field(default=None, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _calls: list[_Call] = field(default_factory=list, repr=False)
    #: The message that the loop reads after the callback has returned; each thread has its own.
    _own: threading.local = field(default_factory=threading.local, repr=False)

    def find_loops(self, code: FunctionCode) -> tuple[dict[int, int], dict[int, int]]:
        """Return by loop index the addresses for NumPy and their data."""
        data = {}
        for loop in code.loops:
            call = _Call(index=loop.index, interrupt=id(KeyboardInterrupt))
            call.call = _Remote(self._make_callback(code, loop.types))
            self._calls.append(call)
            data[loop.index] = ctypes.addressof(call)
        return dict.fromkeys(data, self.loop), data

    def launch(
        self,
        code: FunctionCode,
        values: Sequence[NDArray[Any]],
        arrays: Mapping[int, NDArray[Any]],
        *,
        constant: Sequence[int],
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
    ) -> tuple[str, tuple[int, ...], list[int]]:
        """Launch an emulated kernel.

        Parameters
        ----------
        values : sequence of array
            The arguments; those that are pointers are set there.
        arrays : mapping
            Number of an argument -> the contiguous array that it points to.
        constant : sequence of int
            The arguments whose arrays the kernel leaves as they are.

        Returns
        -------
        tuple
            The fault, or ``""``; the code address, the address that it touched, the bytes (0 if there was no
            stray access) and the other code address of a race; the addresses of the arrays, relative to the same start.

        Raises
        ------
        CellCrashed
        """
        operands = [_describe_array(value, read=True) for value in values]
        operands += [_describe_array(array, read=n in constant) for n, array in arrays.items()]
        places, size, _ = lay_out(operands)
        array_places = [place.address for place in places[len(values) :]]
        request = {
            "kernel": code.index,
            "places": [place.address for place in places[: len(values)]],
            "pointers": [(places[n].address, place) for n, place in zip(arrays, array_places, strict=True)],
            "arrays": [(place, array.nbytes) for place, array in zip(array_places, arrays.values(), strict=True)],
            "grid": list(grid),
            "block": list(block),
            "shared": shared,
        }
        with self._lock:
            server = self._prepare_server(size)
            there = [replace(place, address=place.address + server.address) for place in places]
            for operand, place in zip(operands, there, strict=True):
                copy(operand, to=place)
            try:
                answer = self._ask(server, request)
            except KeyboardInterrupt:
                self.end(at_once=True)
                raise
            if answer is None:
                raise CellCrashed(f"{code.name} {self.end().rstrip('.')}.\n{_UNHARMED}")
            fault, stray = answer["launched"]
            for operand, place in zip(operands, there, strict=True):
                if not operand.read:
                    copy(place, to=operand)
        return fault.decode(errors="replace"), stray, array_places

    def _make_callback(self, code: FunctionCode, types: Sequence[int]) -> Callable[..., None]:
        """Make the callback of a loop.  It answers with an exception as text: none can leave a callback."""

        def remote(index: int, args: Any, dimensions: Any, steps: Any, answers: Any) -> None:
            answer = answers[0]
            try:
                with self._lock:
                    operands = describe_operands(types, code.nin, code.cores, args, dimensions, steps)
                    answer.flags = self._run(code, operands, types, index, answer.made_by)
            except (CellCrashed, RuntimeError, MemoryError) as fault:
                self._answer_with(answer, fault)
            except BaseException as fault:  # noqa: BLE001 - a handler of signals may raise anything
                self._answer_with(answer, fault)
                self.end(at_once=True)
            else:
                answer.said = None

        return remote

    def _answer_with(self, answer: _Answer, fault: BaseException) -> None:
        self._own.text = ctypes.c_char_p(str(fault).encode())
        answer.kind = id(type(fault))
        answer.said = ctypes.cast(self._own.text, ctypes.c_void_p).value

    def _run(
        self,
        code: FunctionCode,
        operands: Sequence[OperandMemory],
        types: Sequence[int],
        index: int,
        made_by: int | None,
    ) -> int:
        """Run one call, in pieces if no operands overlap; return the floating-point flags that it raised."""
        count = operands[0].shape[0]
        _, size, overlap = lay_out(operands)
        piece = count if overlap else max(1, count * ROOM // max(size, ROOM))
        flags = 0
        for start in range(0, count, piece):
            part = [operand.part(start, min(piece, count - start)) for operand in operands]
            answer, there, _ = self._run_piece(code, part, index)
            if answer is None:
                how = self.end().rstrip(".")
                values, where = self._find_element(code, part, types, index, made_by)
                words = f"{code.name}({', '.join(values)})" if values else code.name
                raise CellCrashed(f"{words} {how}{where}.\n{_UNHARMED}")
            flags |= answer["flags"]
            for operand, place in zip(part, there, strict=True):
                if not operand.read:
                    copy(place, to=operand)
        return flags

    def _run_piece(
        self, code: FunctionCode, part: Sequence[OperandMemory], index: int, step: int = 0, first: int = 0
    ) -> tuple[dict[str, Any] | None, list[OperandMemory], mmap.mmap]:
        """Run elements in the server; return the answer (None if it ended), the operands there, and their memory.

        With ``step`` it computes so many at a time from ``first`` on, and writes after the operands which it begins.
        """
        places, size, overlap = lay_out(part)
        server = self._prepare_server(size + _ALIGNED)
        there = [replace(place, address=place.address + server.address) for place in places]
        for operand, place in zip(part, there, strict=True):
            if operand.read or overlap:
                copy(operand, to=place)
        request = {**_build_request(code, index, places), "step": step, "first": first, "progress": size}
        return self._ask(server, request), there, server.memory

    def _find_element(
        self,
        code: FunctionCode,
        part: Sequence[OperandMemory],
        types: Sequence[int],
        index: int,
        made_by: int | None,
    ) -> tuple[list[str], str]:
        """The inputs of the element that ended the server, and its index, in words; empty where they are not certain.

        The elements are computed once more, in steps and then one by one, until the server ends again.
        """
        begun = 0
        for step in (_STEP, 1):
            answer, there, memory = self._run_piece(code, part, index, step, begun)
            if answer is not None:
                return [], ""
            self.end()
            progress = lay_out(part)[1]
            begun = int.from_bytes(memory[progress : progress + 8], sys.byteorder)
        values = [
            _view(place.part(begun, 1)).view(TYPES[kind].char).reshape(place.shape[1:])[()].copy()
            for place, kind in zip(there[: code.nin], types, strict=False)
        ]
        dims = [len(core) for core in code.cores[: code.nin]]
        return [*map(runtime.show_value, values)], runtime.describe_index(code.name, made_by, dims, values)

    def _ask(self, server: _Server, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer of the server; None if it ended."""
        request["memory"] = [(index, ctypes.string_at(address, size)) for index, address, size in self.variables]
        message = None
        with contextlib.suppress(OSError):
            send(server.link, request)
            message = receive(server.link)
        if message is None:
            return None
        answer, _ = message
        if answer["printed"]:
            sys.stdout.write(answer["printed"].decode(errors="replace"))
        if answer["raised"]:
            kind, text = answer["raised"]
            raise (MemoryError if kind == "MemoryError" else RuntimeError)(text)
        for (_, address, size), data in zip(self.variables, answer["memory"], strict=True):
            ctypes.memmove(address, data, size)
        return answer

    # ---------------------------------------------------------------------------------- the server

    def _prepare_server(self, size: int) -> _Server:
        server = self._server
        if server is not None and (server.owner != os.getpid() or len(server.memory) < size):
            self.end()
            server = None
        if server is None:
            server = self._server = self._begin(max(size, _LEAST))
        return server

    def _begin(self, size: int) -> _Server:
        if not hasattr(os, "memfd_create"):
            raise OSError("--sandbox needs files in memory (memfd_create), which this system does not have")
        descriptor = os.memfd_create("ufunc_magic")
        ours, theirs = socket.socketpair()
        with theirs:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
            functions = self.object_code.functions
            last = max((loop.index for f in functions for loop in f.loops), default=-1)
            plain = max([*(index for index, _, _ in self.variables), *(f.index for f in functions)], default=-1)
            request = {"task": "serve", "loops": last + 1, "functions": plain + 1, "size": size}
            with runtime.open_memory_file(self.object_code.code) as library:
                answer = guard_process.ask(request, [library, descriptor, theirs.fileno()])
        os.close(descriptor)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return _Server(ours, memory, address, answer["process"])

    def end(self, *, at_once: bool = False) -> str:
        """End the process, which may end by itself first if it need not be ``at_once``; return how it ended."""
        server, self._server = self._server, None
        if server is None:
            return ""
        server.link.close()
        if server.owner != os.getpid():
            return ""
        with contextlib.suppress(OSError):
            answer = guard_process.ask({"task": "end", "process": server.number, "at_once": at_once}, [])
            status, printed = answer["status"], answer["printed"].decode(errors="replace").strip()
            if os.WIFSIGNALED(status):
                ended = signal.Signals(os.WTERMSIG(status))
                # The message of assert() or of a library, without the program's name.
                last = printed.rpartition("\n")[2].partition(": ")[2]
                why = f": {last}" if last and ended == signal.SIGABRT else ""
                return f"was ended by {ended.name} in its sandbox{why}"
            return f"ended the process: exit({os.WEXITSTATUS(status)}) in its sandbox"
        return "ended with the helper process of its sandbox"


# ----------------------------------------------------------------------------------------- the operands

_ALIGNED = 64
#: Types that only carry bytes.
_CARRIERS = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}


@dataclass(frozen=True)
class OperandMemory:
    """Memory with a shape: the outer dimension first, then the core's; strides in bytes.

    ``read``: the operand is an input.
    """

    address: int
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read: bool

    def part(self, start: int, count: int) -> OperandMemory:
        """Return the part with ``count`` elements of the outer dimension."""
        return replace(self, address=self.address + start * self.strides[0], shape=(count, *self.shape[1:]))

    def reach(self) -> tuple[int, int]:
        """Return the lowest address, and the one after the highest byte."""
        low = high = self.address
        if 0 in self.shape:
            return low, high
        for step, number in zip(self.strides, self.shape, strict=True):
            span = step * (number - 1)
            low, high = low + min(span, 0), high + max(span, 0)
        return low, high + self.size


def _describe_array(array: NDArray[Any], *, read: bool) -> OperandMemory:
    """Describe the memory of a contiguous array."""
    return OperandMemory(array.ctypes.data, 1, (array.nbytes,), (1,), read)


def _build_request(code: FunctionCode, index: int, places: Sequence[OperandMemory]) -> dict[str, Any]:
    """Build the request for one call of a loop."""
    sizes: dict[str, int] = {}
    for place, core in zip(places, code.cores, strict=True):
        sizes |= dict(zip(core, place.shape[1:], strict=True))
    return {
        "loop": index,
        "places": [place.address for place in places],
        "dimensions": [places[0].shape[0], *sizes.values()],
        "steps": [*(p.strides[0] for p in places), *(s for p in places for s in p.strides[1:])],
    }


def describe_operands(
    types: Sequence[int], nin: int, cores: Sequence[Sequence[str]], args: Any, dimensions: Any, steps: Any
) -> list[OperandMemory]:
    """Describe the operands of a loop's call.

    Parameters
    ----------
    types : sequence of int
        NumPy's type numbers.
    nin : int
    cores : sequence of sequence of str
        Core dimensions of each operand, by name or fixed size.
    args, dimensions, steps : pointers
        As the loop gets them.
    """
    number = {name: n for n, name in enumerate(dict.fromkeys(d for core in cores for d in core), 1)}
    operands, next_step = [], len(types)
    for k, kind in enumerate(types):
        core = cores[k]
        shape = (dimensions[0], *(dimensions[number[d]] for d in core))
        strides = (steps[k], *(steps[next_step + j] for j in range(len(core))))
        next_step += len(core)
        operands.append(OperandMemory(args[k] or 0, np.dtype(TYPES[kind].char).itemsize, shape, strides, k < nin))
    return operands


def lay_out(operands: Sequence[OperandMemory]) -> tuple[list[OperandMemory], int, bool]:
    """Place operands in memory of their own, from address 0; return the places, the size, and whether any two overlap.

    Overlapping operands keep their strides and their distance, so that reductions and calls in place work the same.
    """
    groups: list[tuple[int, int, list[int]]] = []
    for k in sorted(range(len(operands)), key=lambda k: operands[k].reach()):
        low, high = operands[k].reach()
        if groups and low < groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, high), [*members, k])
        else:
            groups.append((low, high, [k]))
    places = list(operands)
    at = 0
    for low, high, members in groups:
        if len(members) > 1:
            for k in members:
                places[k] = replace(operands[k], address=at + operands[k].address - low)
            at += high - low
        else:
            operand = operands[members[0]]
            constant = operand.strides[0] == 0  # an input for all elements, a running result
            shape = (1, *operand.shape[1:]) if constant else operand.shape
            strides = tuple(operand.size * math.prod(shape[d + 1 :]) for d in range(len(shape)))
            places[members[0]] = replace(operand, address=at, strides=(0, *strides[1:]) if constant else strides)
            at += operand.size * math.prod(shape)
        at = -(-at // _ALIGNED) * _ALIGNED
    return places, at, any(len(members) > 1 for _, _, members in groups)


def copy(operand: OperandMemory, *, to: OperandMemory) -> None:
    """Copy every element."""
    if 0 not in operand.shape:
        _view(to)[...] = _view(operand)


class _Memory:
    """Memory as an array interface, which NumPy reads without copying: https://numpy.org/doc/stable/reference/arrays.interface.html"""

    def __init__(self, operand: OperandMemory) -> None:
        shape, strides = operand.shape, operand.strides
        if strides[0] == 0:
            shape, strides = (1, *shape[1:]), (operand.size, *strides[1:])
        self.__array_interface__ = {
            "data": (operand.address, False),
            "typestr": _CARRIERS.get(operand.size, f"|V{operand.size}"),
            "shape": shape,
            "strides": strides,
            "version": 3,
        }


def _view(operand: OperandMemory) -> NDArray[Any]:
    return np.asarray(_Memory(operand))
