"""The checks: results, layouts, launches, other libraries, speed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pickle
from typing import Any

import numpy as np

from .. import api
from ..interop import numba_cuda
from ..model import ArgumentError, CellCrashed
from ..runtime import device
from . import Check, Finding, Skip
from .cells import CELL, KERNELS, REFERENCES, Reference

#: What is to be reached: time against a kernel written by hand, part of the copy bandwidth.
WITHIN, OF_BANDWIDTH = 1.05, 0.85
#: Floats of the large array.
LARGE = 100_000_000


@functools.cache
def functions() -> Any:
    """The functions of the cell, on the GPU."""
    return api.compile_cuda(CELL, device="gpu", name="gpucheck")


@functools.cache
def kernels() -> Any:
    """The kernels, on the GPU."""
    return api.compile_cuda(KERNELS, device="gpu", name="gpucheck kernels")


def library(name: str) -> Any:
    """An optional library, or no check."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise Skip(f"{name} is not installed")
    return importlib.import_module(name)


def checks(*, large: int = LARGE) -> list[Check]:
    """All of them in order; the last one leaves the GPU unusable to this process."""
    agreement: list[Check] = [(f"{r.name} ({r.inputs[0].dtype})", functools.partial(_agrees, r)) for r in REFERENCES]
    return [
        *agreement,
        ("layouts of arrays", layouts),
        ("NumPy arrays there and back", host_arrays),
        ("out, where, types", outputs),
        ("reduce", reductions),
        ("kernel on arrays", axpy),
        ("kernel with shared memory", shared),
        ("streams of CuPy", streams),
        ("pickle", pickled),
        ("torch tensors", torch_tensors),
        ("Numba's device arrays", numba_arrays),
        ("kernel of Numba", numba_kernel),
        ("mul of large arrays", functools.partial(speed_mul, large)),
        ("sum of a large array", functools.partial(speed_sum, large)),
        ("call on a small array", speed_small),
        ("with transfers", functools.partial(speed_transfers, large // 10)),
        ("a kernel that writes astray", astray),
    ]


def _agrees(r: Reference) -> Finding:
    function = functions()[r.name]
    result = function(*(device.to_device(np.ascontiguousarray(x)) for x in r.inputs))
    outputs = result if isinstance(result, tuple) else (result,)
    expected = r.form(*r.inputs)
    worst = 0.0
    for got, want in zip(outputs, expected if isinstance(expected, tuple) else (expected,), strict=True):
        worst = max(worst, _ulps(device.to_host(got), np.asarray(want)))
    assert worst <= r.ulps, f"{worst:.3g} units in the last place off, {r.ulps:g} are allowed"
    return f"at most {worst:.3g} ulp off", {"ulps": worst}


def _ulps(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> float:
    if got.dtype.kind != "f":
        assert np.array_equal(got, want), f"{int(np.sum(got != want))} of {got.size} differ"
        return 0.0
    step = np.spacing(np.abs(want).astype(got.dtype)).astype("f8")
    return float(np.max(np.abs(got.astype("f8") - want.astype("f8")) / step, initial=0.0))


def _same(got: Any, want: Any, what: str) -> None:
    assert np.array_equal(device.to_host(got), want), f"{what} differs from NumPy's"


def layouts() -> Finding:
    """Strides, broadcasting, orders, odd lengths and addresses."""
    mul = functions()["mul"]
    x = (np.arange(4 * 5 * 6 * 7) % 89).astype("f4").reshape(4, 5, 6, 7)
    d = device.to_device(x)
    views: dict[str, Any] = {
        "every other": np.s_[::2, :, ::3],
        "backwards": np.s_[::-1, :, :, ::-1],
        "one axis": np.s_[1, 2, 3],
        "not aligned": np.s_[:, :, :, 1:],
        "empty": np.s_[:0],
        "a new axis": np.s_[:, None, 0],
    }
    for what, view in views.items():
        _same(mul(d[view], 3), 3 * x[view], what)
    _same(mul(d.transpose((3, 1, 0, 2)), d[0, 0, 0, 0]), x.transpose(3, 1, 0, 2) * x[0, 0, 0, 0], "transposed")
    _same(mul(d[0], d[:, :1, :1, :1]), x[0] * x[:, :1, :1, :1], "broadcast")
    for count in (1, 3, 255, 257, 1023, 100_003):
        v = np.arange(count, dtype="f4")
        _same(mul(device.to_device(v), 2), 2 * v, f"{count} elements")
    return f"{len(views) + 8} layouts"


def host_arrays() -> Finding:
    """NumPy in, NumPy out."""
    x = np.linspace(0, 1, 1000)
    r, t = functions()["polar"](x, 1.0)
    assert isinstance(r, np.ndarray)
    assert np.allclose(r, np.hypot(x, 1))
    assert np.allclose(t, np.arctan2(1, x))
    try:
        functions()["mul"](device.to_device(x), x)
    except ArgumentError:
        return None
    raise AssertionError("mixed places were no error")


def outputs() -> Finding:
    """Where results go, and their types."""
    mul = functions()["mul"]
    x = np.arange(10, dtype="f4")
    d, out = device.to_device(x), device.to_device(np.zeros(10))
    assert mul(d, d, out=out) is out
    _same(out, x * x, "out")
    mul(d[1:], d[:-1], out=d[1:])
    _same(d[1:], x[1:] * x[:-1], "an overlapping output")
    assert mul(device.to_device(np.arange(3)), 2.5).dtype == "f8"
    assert mul(device.to_device(x), 2.5).dtype == "f4"
    mask = np.arange(10) % 3 == 0
    masked = device.to_device(np.full(10, -1, "f4"))
    mul(device.to_device(x), 2, out=masked, where=device.to_device(mask))
    _same(masked, np.where(mask, 2 * x, -1), "where")
    return None


def reductions() -> Finding:
    """Sums over all axes."""
    add = functions()["add"]
    x = (np.arange(60 * 70 * 80) % 7).astype("f8").reshape(60, 70, 80)
    d = device.to_device(x)
    for axis in (0, 1, 2, None, (0, 2), (1, 2)):
        _same(add.reduce(d, axis=axis), x.sum(axis=axis), f"axis={axis}")
    _same(add.reduce(d[::2, ::-1], axis=1, keepdims=True), x[::2].sum(1, keepdims=True), "strides")
    return None


def axpy() -> Finding:
    """A kernel on arrays of the device, and on NumPy's."""
    x, y = np.arange(1000, dtype="f4"), np.ones(1000, "f4")
    d = device.to_device(y)
    kernels()["axpy"].forall(1000)(1000, 2.0, device.to_device(x), d)
    _same(d, 1 + 2 * x, "y")
    kernels()["axpy"][4, 256](1000, 2.0, x, y)
    assert np.array_equal(y, 1 + 2 * x), "NumPy's y differs"
    return None


def shared() -> Finding:
    """Barriers and shared memory."""
    x = (np.arange(64 * 256) % 5).astype("f4").reshape(64, 256)
    sums = device.to_device(np.zeros(64, "f4"))
    kernels()["block_sums"][64, 256](device.to_device(x), sums)
    _same(sums, x.sum(1), "sums")
    return None


def streams() -> Finding:
    """Work goes to the caller's stream, behind what is there."""
    module, mul = device.cupy(), functions()["mul"]
    stream = module.cuda.Stream(non_blocking=True)
    x = module.zeros(1 << 24, "f4")
    module.cuda.Device().synchronize()
    with stream:
        for _ in range(20):
            x += 1
        y = mul(x, 2)
    stream.synchronize()
    assert float(y[-1]) == 40, f"{float(y[-1])} and not 40: the streams were not the same"
    return None


def pickled() -> Finding:
    """A function comes back from its bytes."""
    again = pickle.loads(pickle.dumps(functions()["mul"]))
    _same(again(device.to_device(np.arange(4.0)), 2), 2 * np.arange(4.0), "what came back")
    return None


def torch_tensors() -> Finding:
    """torch in, torch out, on torch's stream."""
    torch, mul = library("torch"), functions()["mul"]
    if not torch.cuda.is_available():
        raise Skip("this torch has no CUDA")
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(1 << 24, device="cuda")
        for _ in range(20):
            x += 1
        y = mul(x, 2.0)
        total = float((y - 40).abs().max())
    assert isinstance(y, torch.Tensor), f"{type(y).__name__} came back"
    assert total == 0, "the streams were not ordered"
    out = torch.empty_like(x)
    assert mul(x, x, out=out) is out
    return f"torch {torch.__version__}"


def numba_arrays() -> Finding:
    """Numba's arrays in and out."""
    cuda = library("numba.cuda")
    x = cuda.to_device(np.arange(100, dtype="f4"))
    y = functions()["mul"](x, 3)
    assert type(y).__module__.startswith("numba"), f"{type(y).__name__} came back"
    assert np.array_equal(y.copy_to_host(), 3 * np.arange(100))
    return None


def numba_kernel() -> Finding:
    """A function of the cell inside of a kernel of Numba."""
    cuda = library("numba.cuda")
    if getattr(cuda, "implementation", "") != "NVIDIA":
        raise Skip("numba-cuda is not installed")
    mul = functions()["mul"]
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
        text = "".join(scale.inspect_sass().values())
    except (RuntimeError, OSError, NotImplementedError) as fault:
        return f"right; not disassembled ({str(fault).splitlines()[0]})"
    calls = text.count("CALL")
    assert not calls, f"{calls} calls are left in its machine code"
    return "inlined: no call is left in its machine code"


def speed_mul(large: int) -> Finding:
    """Against a kernel written by hand, and the card's own copy."""
    module, mul = device.cupy(), functions()["mul"]
    x, y, z = (module.ones(large, "f4") for _ in range(3))
    by_hand = module.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * y", "by_hand")
    # In turns, so that a clock that changes changes both.
    ours, hand = [], []
    for _ in range(5):
        ours.append(device.time_call(lambda: mul(x, y, out=z), rounds=3))
        hand.append(device.time_call(lambda: by_hand(x, y, z), rounds=3))
    copy = device.copy_bandwidth()
    ratio = float(np.median(ours) / np.median(hand))
    part = 12.0 * large / float(np.median(ours)) / copy
    message = f"{ratio:.3f} of ElementwiseKernel's time; {part:.1%} of the copy bandwidth ({copy / 1e9:,.0f} GB/s)"
    assert ratio <= WITHIN, message
    assert part >= OF_BANDWIDTH, message
    return message, {
        "elements": large, "seconds": float(np.median(ours)), "by_hand_seconds": float(np.median(hand)),
        "ratio": ratio, "copy_bytes_per_second": copy, "of_copy_bandwidth": part,
    }  # fmt: skip


def speed_sum(large: int) -> Finding:
    """Against CuPy's own sum."""
    module, add = device.cupy(), functions()["add"]
    x = module.ones(large, "f4")
    ours, theirs = device.time_call(lambda: add.reduce(x)), device.time_call(lambda: module.add.reduce(x))
    return f"{ours / theirs:.2f} of CuPy's time", {"seconds": ours, "cupy_seconds": theirs}


def speed_small() -> Finding:
    """What one call costs."""
    module, mul = device.cupy(), functions()["mul"]
    x, z = module.ones(100, "f4"), module.ones(100, "f4")
    by_hand = module.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * y", "by_hand")
    ours, hand = device.time_call(lambda: mul(x, x, out=z)), device.time_call(lambda: by_hand(x, x, z))
    return f"{ours * 1e6:.1f} us; ElementwiseKernel {hand * 1e6:.1f} us", {"seconds": ours, "by_hand_seconds": hand}


def speed_transfers(size: int) -> Finding:
    """From NumPy to NumPy."""
    x = np.ones(size, "f4")
    timed = device.time_function(functions()["mul"], (x, x), rounds=5)
    message = f"{timed.kernel * 1e3:.3g} ms alone, {timed.transfers * 1e3:.3g} ms with transfers ({size:,} floats)"
    return message, {"elements": size, "kernel_seconds": timed.kernel, "transfers_seconds": timed.transfers}


def astray() -> Finding:
    """A wrong address is an error, and not a wrong result."""
    try:
        kernels()["astray"][1, 1](device.to_device(np.zeros(1, "f4")))
        device.wait()
    except CellCrashed as fault:
        return str(fault).splitlines()[0]
    raise AssertionError("nothing was raised")


def described() -> dict[str, str]:
    """The machine and the versions."""
    module = device.cupy()
    runtime = module.cuda.runtime
    return {
        "gpu": device.name(),
        "arch": device.arch(),
        "driver": str(runtime.driverGetVersion()),
        "runtime": str(runtime.runtimeGetVersion()),
        "cupy": module.__version__,
        "numpy": np.__version__,
    }
