"""The checks: results, layouts, launches, other libraries, speed."""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import ufunc_magic as um
from ufunc_magic import CellCrashed
from ufunc_magic.languages.cuda import device, numba_cuda

from . import Finding, Skip
from .check_cells import CELL, KERNELS, REFERENCES

#: What is to be reached: time against a kernel written by hand, part of the copy bandwidth.
WITHIN, OF_BANDWIDTH = 1.05, 0.85
#: Floats of the large array.
LARGE = 100_000_000


@functools.cache
def cell() -> Any:
    """The functions and kernels of the cell, on the GPU."""
    return um.compile_cuda(CELL, device="gpu", name="gpucheck")


@functools.cache
def kernels() -> Any:
    """The kernels of the other cell, on the GPU."""
    return um.compile_cuda(KERNELS, device="gpu", name="gpucheck")


def library(name: str) -> Any:
    """An optional library, or no check."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as fault:
        raise Skip(f"{name} is not installed") from fault


def checks(*, large: int = LARGE) -> list[tuple[str, Callable[[], Finding]]]:
    """All of them in order; the last one leaves the GPU unusable to this process."""
    return [
        *((f"{r[0]} ({r[2][0].dtype})", functools.partial(agrees, *r)) for r in REFERENCES),
        ("layouts of arrays", layouts),
        ("NumPy arrays there and back", host_arrays),
        ("out, where, types", outputs),
        ("reduce", reductions),
        ("kernel on arrays", axpy),
        ("kernel with shared memory", shared),
        ("overloads of a kernel", overloads),
        ("templates of kernels", templates),
        ("one array twice", aliasing),
        ("atomics", atomics),
        ("variables of the cell", variables),
        ("printf", printed),
        ("streams of CuPy", streams),
        ("torch tensors", torch_tensors),
        ("Numba's device arrays", numba_arrays),
        ("kernel of Numba", numba_kernel),
        ("mul of large arrays", functools.partial(speed_mul, large)),
        ("sum of a large array", functools.partial(speed_sum, large)),
        ("call on a small array", speed_small),
        ("with transfers", functools.partial(speed_transfers, large // 10)),
        ("a kernel that writes astray", astray),
    ]


def agrees(name: str, form: Callable[..., Any], inputs: tuple[np.ndarray[Any, Any], ...], ulps: float) -> Finding:
    """A function of the cell against its reference."""
    result = cell()[name](*(device.to_device(np.ascontiguousarray(x)) for x in inputs))
    results, expected = (v if isinstance(v, tuple) else (v,) for v in (result, form(*inputs)))
    worst = 0.0
    for output, reference in zip(map(device.to_host, results), map(np.asarray, expected), strict=True):
        step = np.spacing(np.abs(reference).astype(output.dtype)) if output.dtype.kind == "f" else 1.0
        worst = max(worst, float(np.max(np.abs(output.astype("f8") - reference.astype("f8")) / step)))
    assert worst <= ulps, f"{worst:.3g} units in the last place off, {ulps:g} are allowed"
    return {"ulps": worst}


def _same(result: Any, expected: Any, what: str) -> None:
    assert np.array_equal(device.to_host(result), expected), f"{what} differs from NumPy's"


def layouts() -> Finding:
    """Strides, broadcasting, orders, odd lengths and addresses."""
    mul = cell()["mul"]
    x = (np.arange(4 * 5 * 6 * 7) % 89).astype("f4").reshape(4, 5, 6, 7)
    d = device.to_device(x)
    for view in (np.s_[::2, :, ::3], np.s_[::-1, :, :, ::-1], np.s_[1, 2, 3], np.s_[..., 1:], np.s_[:0]):
        _same(mul(d[view], 3), 3 * x[view], f"[{view}]")
    _same(mul(d.transpose((3, 1, 0, 2)), d[0, 0, 0, 0]), x.transpose(3, 1, 0, 2) * x[0, 0, 0, 0], "transposed")
    _same(mul(d[0], d[:, :1, :1, :1]), x[0] * x[:, :1, :1, :1], "broadcast")
    for count in (1, 3, 255, 257, 1023, 100_003):
        v = np.arange(count, dtype="f4")
        _same(mul(device.to_device(v), 2), 2 * v, f"{count} elements")
    return ""


def host_arrays() -> Finding:
    """NumPy in, NumPy out."""
    x = np.linspace(0, 1, 1000)
    r, t = cell()["polar"](x, 1.0)
    assert isinstance(r, np.ndarray)
    assert np.allclose((r, t), (np.hypot(x, 1), np.arctan2(1, x)))
    return ""


def outputs() -> Finding:
    """Where results go, and their types."""
    mul = cell()["mul"]
    x = np.arange(10, dtype="f4")
    d, out = device.to_device(x), device.to_device(np.zeros(10))
    assert mul(d, d, out=out) is out
    _same(out, x * x, "out")
    assert (mul(d, 2.5).dtype, mul(device.to_device(np.arange(3)), 2.5).dtype) == ("f4", "f8")
    mask = np.arange(10) % 3 == 0
    masked = device.to_device(np.full(10, -1, "f4"))
    mul(d, 2, out=masked, where=device.to_device(mask))
    _same(masked, np.where(mask, 2 * x, -1), "where")
    mul(d[1:], d[:-1], out=d[1:])
    _same(d[1:], x[1:] * x[:-1], "an overlapping output")
    return ""


def reductions() -> Finding:
    """Sums over all axes."""
    add = cell()["add"]
    x = (np.arange(60 * 70 * 80) % 7).astype("f8").reshape(60, 70, 80)
    d = device.to_device(x)
    for axis in (0, 1, 2, None, (0, 2), (1, 2)):
        _same(add.reduce(d, axis=axis), x.sum(axis=axis), f"axis={axis}")
    _same(add.reduce(d[::2, ::-1], axis=1, keepdims=True), x[::2].sum(1, keepdims=True), "strides")
    return ""


def axpy() -> Finding:
    """A kernel on arrays of the device, and on NumPy's."""
    x, y = np.arange(1000, dtype="f4"), np.ones(1000, "f4")
    d = device.to_device(y)
    cell()["axpy"].forall(1000)(1000, 2.0, device.to_device(x), d)
    _same(d, 1 + 2 * x, "y")
    cell()["axpy"][4, 256](1000, 2.0, x, y)
    assert np.array_equal(y, 1 + 2 * x), "NumPy's y differs"
    return ""


def shared() -> Finding:
    """Barriers and shared memory."""
    x = (np.arange(64 * 256) % 5).astype("f4").reshape(64, 256)
    sums = device.to_device(np.zeros(64, "f4"))
    cell()["block_sums"][64, 256](device.to_device(x), sums)
    _same(sums, x.sum(1), "sums")
    return ""


def _launched(kernel: Any, *args: Any, threads: int = 8) -> Any:
    """The first argument, copied to the device, after a launch of one block."""
    x = device.to_device(args[0])
    kernel[1, threads](x, *args[1:])
    return x


def overloads() -> Finding:
    """Types of the arguments choose, and each is the kernel of its types."""
    for dtype, more in ("f4", ()), ("f8", ()), ("i4", (5,)):
        x = np.arange(8).astype(dtype)
        _same(_launched(kernels()["doubled"], x, *more), 2 * x * (5 if more else 1), dtype)
    return ""


def templates() -> Finding:
    """Instances that the cell names, and those of types that it does not."""
    for dtype, value, words in ("f4", 3, "float, 3"), ("i4", 4, "int, 4"):
        x = np.zeros(8, dtype)
        for kernel in (kernels()["filled"], kernels()["filled"][words]):
            _same(_launched(kernel, x), x + value, words)
    for dtype in "f4", "f8":
        x = np.arange(8).astype(dtype)
        _same(_launched(kernels()["halved"], x), x / 2, dtype)
    return ""


def aliasing() -> Finding:
    """Views of one NumPy array are views of one array on the device."""
    x = np.arange(6, dtype="i4")
    kernels()["shifted"][1, 1](x[:-1], x[1:], 5)
    assert not x.any(), f"{x} and not zeros: the views had memory of their own"
    return ""


def atomics() -> Finding:
    """A histogram by a function that is given a pointer."""
    x = (np.arange(64 * 256) ** 2 % 11).astype("i4")
    bins = device.to_device(np.zeros(11, "i4"))
    kernels()["counted"][64, 256](device.to_device(x), bins)
    _same(bins, np.bincount(x, minlength=11), "the histogram")
    return ""


def variables() -> Finding:
    """Written and read from here, and the same for all kernels."""
    build, x = kernels(), np.arange(8, dtype="f4")
    build.coefficients[...] = [1, 2, 0]
    build.coefficients[2:] = np.array([3], "f4")
    build.launches[...] = 0
    build.start[...] = np.array((0.5, 1), "f4,i4")
    _same(_launched(build["polynomial"], x), 1.5 + 2 * x + 3 * x * x, "the polynomial")
    build["more"][1, 1](10)
    _launched(build["polynomial"], x)
    _same(build.launches, 12, "the count of launches")
    return ""


def printed() -> Finding:
    """What a kernel prints is there when its launch returns."""
    read, write = os.pipe()
    shown = os.dup(1)
    os.dup2(write, 1)
    try:
        kernels()["hello"][1, 4]()
    finally:
        os.dup2(shown, 1)
        os.close(shown)
        os.close(write)
    with os.fdopen(read, "rb") as pipe:
        lines = sorted(pipe.read().decode().split("\n"))
    assert lines == ["", *(f"thread {k}" for k in range(4))], f"{lines} was printed"
    return ""


def streams() -> Finding:
    """Work goes to the caller's stream, behind what is there."""
    module, mul = device.import_cupy(), cell()["mul"]
    stream = module.cuda.Stream(non_blocking=True)
    x = module.zeros(1 << 24, "f4")
    module.cuda.Device().synchronize()
    with stream:
        for _ in range(20):
            x += 1
        y = mul(x, 2)
    stream.synchronize()
    assert float(y[-1]) == 40, f"{float(y[-1])} and not 40: the streams were not the same"
    ones = np.ones(1 << 20, "f4")
    cell()["axpy"][1 << 12, 256, 0, stream](ones.size, 1.0, ones, ones)
    assert (ones == 2).all(), "copies and the kernel were not on the launch's stream"
    return ""


def torch_tensors() -> Finding:
    """torch in, torch out, on torch's stream."""
    torch, mul = library("torch"), cell()["mul"]
    if not torch.cuda.is_available():
        raise Skip("this torch has no CUDA")
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(1 << 24, device="cuda")
        for _ in range(20):
            x += 1
        y = mul(x, 2.0)
        worst = float((y - 40).abs().max())
    assert isinstance(y, torch.Tensor), f"{type(y).__name__} came back"
    assert worst == 0, "the streams were not ordered"
    out = torch.empty_like(x)
    assert mul(x, x, out=out) is out
    return f"torch {torch.__version__}"


def numba_arrays() -> Finding:
    """Numba's arrays in and out."""
    x = library("numba.cuda").to_device(np.arange(100, dtype="f4"))
    y = cell()["mul"](x, 3)
    assert type(y).__module__.startswith("numba"), f"{type(y).__name__} came back"
    assert np.array_equal(y.copy_to_host(), 3 * np.arange(100))
    return ""


def numba_kernel() -> Finding:
    """A function of the cell inside of a kernel of Numba."""
    cuda = library("numba.cuda")
    if getattr(cuda, "implementation", "") != "NVIDIA":
        raise Skip("numba-cuda is not installed")
    mul = cell()["mul"]
    numba_cuda.install()

    @cuda.jit  # type: ignore[untyped-decorator,unused-ignore]
    def scale(out: Any, x: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            out[i] = mul(x[i], x[i])

    x = np.arange(1000, dtype="f4")
    out = np.zeros_like(x)
    scale[4, 256](out, x)
    assert np.array_equal(out, x * x), "the kernel's result differs"
    try:
        calls = len(re.findall(r"\bCALL\.", "".join(scale.inspect_sass().values())))
    except (RuntimeError, OSError, NotImplementedError) as fault:
        return f"right; not disassembled ({fault})"
    assert not calls, f"{calls} calls are left in its machine code"
    return "inlined: no call is left in its machine code"


def _in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], *, queued: bool = True) -> dict[str, float]:
    """Seconds of both: a clock that changes changes both."""
    rounds = [[device.time_call(call, rounds=3, queued=queued) for call in (ours, theirs)] for _ in range(5)]
    mine, other = map(float, np.median(rounds, axis=0))
    return {"seconds": mine, "reference_seconds": other, "ratio": mine / other}


def _mul_by_hand() -> Any:
    return device.import_cupy().ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * y", "by_hand")


def speed_mul(large: int) -> Finding:
    """Against a kernel written by hand, and the card's own copy."""
    mul, by_hand = cell()["mul"], _mul_by_hand()
    x, y, z = (device.import_cupy().ones(large, "f4") for _ in range(3))
    figures = _in_turns(lambda: mul(x, y, out=z), lambda: by_hand(x, y, z))
    figures["of_copy_bandwidth"] = 12.0 * large / figures["seconds"] / device.copy_bandwidth()
    assert figures["ratio"] <= WITHIN, f"slower than {WITHIN} of ElementwiseKernel: {figures}"
    assert figures["of_copy_bandwidth"] >= OF_BANDWIDTH, f"less than {OF_BANDWIDTH} of a copy's bandwidth: {figures}"
    return figures


def speed_sum(large: int) -> Finding:
    """Against CuPy's own sum."""
    module, add = device.import_cupy(), cell()["add"]
    x = module.ones(large, "f4")
    return _in_turns(lambda: add.reduce(x), lambda: module.add.reduce(x))


def speed_small() -> Finding:
    """What one call costs."""
    mul, by_hand = cell()["mul"], _mul_by_hand()
    x, z = (device.import_cupy().ones(100, "f4") for _ in range(2))
    return _in_turns(lambda: mul(x, x, out=z), lambda: by_hand(x, x, z), queued=False)


def speed_transfers(size: int) -> Finding:
    """From NumPy to NumPy."""
    x = np.ones(size, "f4")
    timed = device.time_function(cell()["mul"], (x, x), rounds=5)
    return {"elements": size, "kernel_seconds": timed.kernel, "transfers_seconds": timed.transfers}


def astray() -> Finding:
    """A wrong address is an error, and not a wrong result."""
    try:
        cell()["astray"][1, 1](device.to_device(np.zeros(1, "f4")))
        device.wait()
    except CellCrashed as fault:
        return str(fault).partition("\n")[0]
    raise AssertionError("nothing was raised")
