"""CUDA functions and kernels on arrays of the device: all but the device.

The device is the host here.  `Device` takes the place of the few functions of
`ufunc_magic.languages.cuda.device.driver`; the kernels that would run on a GPU are compiled for the CPU, as text that
was not changed, and run thread by thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import inspect
import pickle
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from gpu import Skip, check as command, check_cells, checks, run, table
from support import replace_name
from ufunc_magic import runtime
from ufunc_magic.languages.cuda import device, nvrtc
from ufunc_magic.languages.cuda.device import (
    cuda_kernel,
    device_arrays,
    device_timing as timing,
    driver,
    element_loops as geometry,
    kernel_source as source,
)
from ufunc_magic.model import ArgumentError, CompileError, FunctionCode, LoopCode, ObjectCode, ToolchainError
from ufunc_magic.runtime import describe_target

TEMPLATES = Path(um.__file__).parent / "languages" / "cuda" / "templates"
COMPILER = shutil.which("g++") or shutil.which("clang++")
HAS_CUPY = importlib.util.find_spec("cupy") is not None

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


# ------------------------------------------------------------------------------ a device on the host


class DeviceArray:
    """As much of a CuPy array as is used, over the host's memory."""

    __module__ = "cupy.stand_in"

    def __init__(self, held: np.ndarray[Any, Any]) -> None:
        self.held = held
        self.data = type("Memory", (), {"ptr": held.ctypes.data, "device_id": 0})()

    shape = property(lambda self: self.held.shape)
    strides = property(lambda self: self.held.strides)
    dtype = property(lambda self: self.held.dtype)
    ndim = property(lambda self: self.held.ndim)
    nbytes = property(lambda self: self.held.nbytes)
    flags = property(lambda self: self.held.flags)

    def transpose(self, axes: Sequence[int]) -> DeviceArray:
        return DeviceArray(self.held.transpose(axes))

    def reshape(self, shape: Sequence[int]) -> DeviceArray:
        return DeviceArray(self.held.reshape(shape))

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(np.asarray(self.held[key]))

    def __setitem__(self, key: Any, value: Any) -> None:
        value = getattr(value, "held", value)
        self.held[key] = driver.make_structures(value, self.dtype) if self.dtype.kind == "V" else value


def cupy_array(held: np.ndarray[Any, Any]) -> Any:
    """A real CuPy array over the host's memory."""
    import cupy

    root = held
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = np.lib.array_utils.byte_bounds(root)
    memory = cupy.cuda.UnownedMemory(low, high - low, root, device_id=0)
    pointer = cupy.cuda.MemoryPointer(memory, held.ctypes.data - low)
    return cupy.ndarray(held.shape, held.dtype, memptr=pointer, strides=held.strides)


def host(array: Any) -> np.ndarray[Any, Any]:
    """The memory of an array of the device, as it is, as NumPy's."""
    holder = type("Holder", (), {})()
    holder.__array_interface__ = {
        "data": (array.data.ptr, False),
        "shape": tuple(array.shape),
        "strides": tuple(array.strides),
        "typestr": array.dtype.str,
        "version": 3,
    }
    holder.owner = array
    return np.asarray(holder)


class Device:
    """What `driver` does, with the host's memory and compiler; notes what it was asked for."""

    def __init__(self, lend: Any) -> None:
        self.lend = lend
        self.compiled: list[str] = []
        self.launched: list[tuple[Any, ...]] = []
        self.moved: list[str] = []
        self.stream: int | None = None
        #: Streams that were waited for.
        self.waits: list[int | None] = []

    def allocate(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return self.lend(np.empty(tuple(shape), dtype))

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        self.moved.append("there" if self.stream is None else f"there on {self.stream}")
        return self.lend(np.array(array, order="C"))

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        self.moved.append("back")
        return host(array).copy()

    def copy(self, array: Any, dtype: np.dtype[Any] | None = None) -> Any:
        return self.lend(host(array).astype(dtype or array.dtype, order="C", copy=True))

    def assign(self, array: Any, value: Any) -> None:
        host(array)[...] = host(value) if hasattr(value, "data") and hasattr(value.data, "ptr") else value

    def may_share_memory(self, a: Any, b: Any) -> bool:
        return np.may_share_memory(host(a), host(b))

    def load_functions(self, object_code: ObjectCode, generated: str, entries: Sequence[str]) -> dict[str, Any]:
        text = source.write_kernel_unit(source.write_cell(object_code), object_code.name, generated)
        self.compiled.append(text)
        names = [nvrtc.read_c_symbol(entry) or entry for entry in entries]
        return dict(zip(entries, compiled(text, *names), strict=True))

    def launch(
        self,
        function: Any,
        grid: Any,
        block: Any,
        given: Sequence[Any],
        *,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        self.launched.append((grid, block, shared, self.stream) + ("cooperative",) * cooperative)
        values = [np.asarray(np.uint64(value.ptr) if hasattr(value, "ptr") else value) for value in given]
        pointers = (ctypes.c_void_p * max(1, len(values)))(*(v.ctypes.data for v in values))
        function((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), ctypes.c_size_t(shared), pointers)

    def view_variable(self, function: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        size = dtype.itemsize * int(np.prod(shape))
        raw = (ctypes.c_uint8 * size).in_dll(function.module, name)
        return self.lend(np.ctypeslib.as_array(raw).view(dtype).reshape(shape))

    @contextlib.contextmanager
    def use_stream(self, stream: int | None) -> Iterator[None]:
        before, self.stream = self.stream, self.stream if stream is None else stream
        yield
        self.stream = before

    def wait(self, *, for_all: bool = False) -> None:
        self.waits.append(self.stream)

    def time_runs(self, run: Any, *, repeat: int = 1, queued: bool = False) -> float:
        for _ in range(repeat):
            run()
        return 0.01


_compiled: dict[str, Any] = {}
_folder: list[Path] = []


FLAGS = (
    f"-std=c++17 -O0 -w -fPIC -D__UFM_CUDA_KERNELS__=1 -D__UFM_CUDA_GROUPS__=1 -I{TEMPLATES} -I{TEMPLATES}/cuda".split()
)


@pytest.fixture(scope="module", autouse=True)
def _kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("kernels")
    _folder.append(folder)
    # The shim is read once, and not for each of a hundred kernels.
    (folder / "shim.h").write_text('#include "cuda.h"\n')
    command = [str(COMPILER), *FLAGS, "-x", "c++-header", str(folder / "shim.h"), "-o", str(folder / "shim.h.gch")]
    subprocess.run(command, check=True, timeout=300)
    yield
    _folder.clear()
    _compiled.clear()


def compiled(text: str, *entries: str) -> list[Any]:
    """Kernels for the CPU, with the launchers that `__ufm_launch` is."""
    found = _compiled.get(text + " ".join(entries))
    if found is None:
        launcher = "".join(
            f'extern "C" void __ufm_run{k}(const unsigned *g, const unsigned *b, __SIZE_TYPE__ s, void **a)'
            f" {{ __ufm_launch({entry}, g, b, s, a); }}\n"
            for k, entry in enumerate(entries)
        )
        path = _folder[0] / hashlib.sha256((text + " ".join(entries)).encode()).hexdigest()[:16]
        command = [str(COMPILER), *FLAGS, "-shared", "-include", str(_folder[0] / "shim.h"), "-x", "c++", "-"]
        unit = f"{text}\n{launcher}"
        done = subprocess.run([*command, "-o", str(path)], input=unit, capture_output=True, text=True, timeout=300)
        assert not done.returncode, done.stderr[-3000:] + text
        library = ctypes.CDLL(str(path))
        found = _compiled[text + " ".join(entries)] = [library[f"__ufm_run{k}"] for k, _ in enumerate(entries)]
        for function in found:
            function.module = library
    return found


@pytest.fixture(params=["stand-in", pytest.param("cupy", marks=pytest.mark.skipif(not HAS_CUPY, reason="no CuPy"))])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Device:
    made = Device(DeviceArray if request.param == "stand-in" else cupy_array)
    for name in (
        "allocate to_device to_host copy may_share_memory assign load_functions view_variable launch use_stream wait"
        " time_runs"
    ).split():
        monkeypatch.setattr(driver, name, getattr(made, name))
    replace_name(monkeypatch, driver, "explain_missing", lambda: "")
    monkeypatch.setattr(driver, "find_current_device", lambda: 0)
    monkeypatch.setattr(driver, "use_device", lambda _: contextlib.nullcontext())
    return made


# ------------------------------------------------------------------------------------ functions

MUL = """__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }"""
POLAR = """__device__ void polar(double x, double y, double *r, double *t)
{
    *r = sqrt(x * x + y * y);
    *t = atan2(y, x);
}"""
ADD = "__device__ float add(float x, float y) { return x + y; }\n__device__ long add(long x, long y) { return x + y; }"
TYPES = {"f": 11, "d": 12, "i": 5, "l": 7, "?": 0, "b": 1, "F": 14, "e": 23, "g": 13}


def code_of(name: str, cell: str, types: Sequence[str], call: str, **fields: Any) -> tuple[FunctionCode, ObjectCode]:
    """What the back end would say of a function whose loops are ``types`` (``"ff->f"``)."""
    words = [word.split("->") for word in types]
    made = FunctionCode(
        name=name,
        kind="ufunc",
        nin=len(words[0][0]),
        nout=len(words[0][1]),
        parameters=tuple(f"x{n}" for n, _ in enumerate(words[0][0], 1)),
        results=tuple(f"y{n}" for n, _ in enumerate(words[0][1], 1)),
        loops=tuple(LoopCode(n, tuple(TYPES[c] for c in a + b)) for n, (a, b) in enumerate(words)),
        calls=(call,) * len(words),
        **fields,
    )
    return made, ObjectCode(b"", describe_target(), (made,), language="cuda", source=cell, name="In[3]")


def function_of(name: str, cell: str, types: Sequence[str], call: str, *, emulated: Any = None, **fields: Any) -> Any:
    made, object_code = code_of(name, cell, types, call, **fields)
    return device.CudaFunction(made, object_code, emulated=emulated)


@pytest.fixture
def mul() -> Any:
    return function_of("mul", MUL, ["ff->f", "dd->d"], "{out0} = mul({in0}, {in1})", emulated=np.multiply)


@pytest.fixture
def polar() -> Any:
    return function_of("polar", POLAR, ["dd->dd"], "polar({in0}, {in1}, &{out0}, &{out1})")


@pytest.fixture
def add() -> Any:
    return function_of("add", ADD, ["ff->f", "ll->l"], "{out0} = add({in0}, {in1})", identity=0)


def sample(*shape: int, dtype: Any = "f4") -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(shape, dtype=int)) % 97 - 40).reshape(shape).astype(dtype)


LAYOUTS: dict[str, Any] = {
    "contiguous": lambda: (sample(1000), sample(1000)),
    "a tail that fills no pack": lambda: (sample(1003), sample(1003)),
    "one element": lambda: (sample(1), sample(1)),
    "empty": lambda: (sample(0, 3), sample(0, 3)),
    "two axes": lambda: (sample(30, 7), sample(30, 7)),
    "not aligned to a pack": lambda: (sample(101)[1:], sample(100)),
    "every other": lambda: (sample(200)[::2], sample(100)),
    "backwards": lambda: (sample(100)[::-1], sample(100)),
    "Fortran order": lambda: (np.asfortranarray(sample(13, 9)), np.asfortranarray(sample(13, 9))),
    "both orders": lambda: (np.asfortranarray(sample(13, 9)), sample(13, 9)),
    "row and column": lambda: (sample(9), sample(13, 1)),
    "three axes broadcast": lambda: (sample(4, 1, 5), sample(3, 1)),
    "no axes": lambda: (sample(1).reshape(()), sample(6)),
    "a slice of each axis": lambda: (sample(8, 9, 10)[1::2, ::-3, 2:7], sample(4, 3, 5)),
    "broadcast by strides of 0": lambda: (np.broadcast_to(sample(5), (4, 5)), sample(4, 5)),
    "transposed": lambda: (sample(2, 3, 4).transpose(2, 0, 1), sample(4, 2, 3)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_the_device_give_what_numpy_gives(gpu: Device, mul: Any, layout: str) -> None:
    x, y = LAYOUTS[layout]()
    z = mul(gpu.lend(x), gpu.lend(y))
    expected = np.multiply(x, y)
    assert (type(z), z.dtype, z.shape) == (type(gpu.lend(x)), expected.dtype, expected.shape)
    np.testing.assert_array_equal(host(z), expected)
    assert gpu.moved == []


@pytest.mark.parametrize("layout", ["two axes", "Fortran order", "both orders", "row and column", "transposed"])
def test_outputs_are_laid_out_as_numpy_does(gpu: Device, mul: Any, layout: str) -> None:
    x, y = LAYOUTS[layout]()
    assert mul(gpu.lend(x), gpu.lend(y)).strides == np.multiply(x, y).strides


def test_packed_loads_are_used_where_all_are_aligned(gpu: Device, mul: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "FILLING", 0)
    x = np.zeros(64, "f4")
    x = x[(-x.ctypes.data // 4) % 4 :][:32]
    mul(gpu.lend(x), gpu.lend(x), out=gpu.lend(x))
    mul(gpu.lend(x[1:]), gpu.lend(x[1:]), out=gpu.lend(x[1:]))
    assert ["__ufm_pack<float, 4>" in text for text in gpu.compiled] == [True, False]


def test_numpy_arrays_go_there_and_back(gpu: Device, mul: Any) -> None:
    x, y = sample(4, 5), sample(5)
    z = mul(x, y)
    np.testing.assert_array_equal(z, x * y)
    assert (type(z), gpu.moved) == (np.ndarray, ["there", "there", "back"])


def test_numbers_alone_give_a_numpy_scalar(gpu: Device, mul: Any) -> None:
    z = mul(2.0, 3.5)
    assert (type(z), z) == (np.float64, 7.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [("f4", 2, "f4"), ("f4", 2.5, "f4"), ("f4", np.float64(2), "f8"), ("f8", 2, "f8"), ("i4", "f4", "f8"),
     ("i2", "f4", "f4"), ("?", "f4", "f4"), ("f4", np.array(2.0), "f8"), ("f2", "f4", "f4"), ("u1", "i1", "f4")],
)  # fmt: skip
def test_types_are_promoted_by_numpys_rules(gpu: Device, x: str, y: Any, expected: str) -> None:
    # Without a ufunc to ask: NumPy's own multiply has more loops than this one.
    mul = function_of("mul", MUL, ["ff->f", "dd->d"], "{out0} = mul({in0}, {in1})")
    a, b = sample(12, dtype=x), sample(12, dtype=y) if isinstance(y, str) else y
    z = mul(gpu.lend(a), gpu.lend(b) if isinstance(b, np.ndarray) and b.ndim else b)
    assert z.dtype == expected
    np.testing.assert_array_equal(host(z), a.astype(expected) * np.asarray(b).astype(expected))


def test_types_that_no_loop_takes_are_numpys_type_error(gpu: Device, mul: Any) -> None:
    plain = function_of("mul", MUL, ["ff->f", "dd->d"], "{out0} = mul({in0}, {in1})")
    for f in (plain, mul):
        with pytest.raises(TypeError):
            f(gpu.lend(sample(3)), "text")
    with pytest.raises(TypeError, match="not supported for the input types"):
        plain(gpu.lend(sample(3)), 1j)


def test_dtype_and_signature_choose_the_loop(gpu: Device, mul: Any) -> None:
    x = gpu.lend(sample(3))
    assert mul(x, x, dtype="f8").dtype == "f8"
    assert mul(x, x, signature="dd->d").dtype == "f8"
    with pytest.raises(TypeError, match="both"):
        mul(x, x, dtype="f8", signature="dd->d")


def test_results_go_to_out(gpu: Device, mul: Any, polar: Any) -> None:
    x, y = sample(6), sample(6)[::-1]
    out = gpu.lend(np.zeros(6, "f4"))
    assert mul(gpu.lend(x), gpu.lend(y), out) is out
    np.testing.assert_array_equal(host(out), x * y)
    r = gpu.lend(np.zeros(6))
    found = polar(gpu.lend(x), gpu.lend(y), out=(r, None))
    assert found[0] is r
    np.testing.assert_allclose(host(r), np.hypot(x, y))
    np.testing.assert_allclose(host(found[1]), np.arctan2(y.astype(float), x))
    here = np.zeros(6, "f8")
    assert mul(x, y, out=here) is here
    np.testing.assert_array_equal(here, x * y)


def test_out_of_another_type_is_cast_by_the_rule(gpu: Device, mul: Any) -> None:
    x = gpu.lend(sample(6, dtype="f8"))
    narrow, whole = gpu.lend(np.zeros(6, "f4")), gpu.lend(np.zeros(6, "i4"))
    np.testing.assert_array_equal(host(mul(x, x, out=narrow)), (sample(6, dtype="f8") ** 2).astype("f4"))
    with pytest.raises(TypeError, match="Cannot cast"):
        mul(x, x, out=whole)
    np.testing.assert_array_equal(host(mul(x, x, out=whole, casting="unsafe")), sample(6) ** 2)


def test_out_takes_part_in_broadcasting_and_is_never_broadcast(gpu: Device, mul: Any) -> None:
    x = gpu.lend(sample(3))
    wide = gpu.lend(np.zeros((2, 3), "f4"))
    np.testing.assert_array_equal(host(mul(x, x, out=wide)), np.broadcast_to(sample(3) ** 2, (2, 3)))
    with pytest.raises(ValueError, match="non-broadcastable"):
        mul(wide, wide, out=x)
    with pytest.raises(ValueError, match="one entry per"):
        mul(x, x, out=(x, x))


def test_an_input_that_the_output_overwrites_is_read_first(gpu: Device, mul: Any) -> None:
    memory = sample(300)
    expected = memory[1:-1] * memory[:-2]
    x, y, out = (gpu.lend(v) for v in (memory[1:-1], memory[:-2], memory[2:]))
    mul(x, y, out=out)
    np.testing.assert_array_equal(memory[2:], expected)


def test_in_place_needs_no_copy(gpu: Device, mul: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "copy", lambda *_: pytest.fail("copied"))
    x = sample(50)
    lent = gpu.lend(x)
    expected = x * x
    mul(lent, lent, out=lent)
    np.testing.assert_array_equal(x, expected)


def test_where_leaves_the_other_elements(gpu: Device, mul: Any) -> None:
    x, mask = sample(5, 6), sample(5, 6) % 2 == 0
    out = np.full((5, 6), -1, "f4")
    mul(gpu.lend(x), gpu.lend(x), out=gpu.lend(out), where=gpu.lend(mask))
    np.testing.assert_array_equal(out, np.where(mask, x * x, -1))
    here = np.full((5, 6), -1, "f4")
    np.testing.assert_array_equal(mul(x, x, out=here, where=mask), np.where(mask, x * x, -1))


def test_several_outputs_are_a_tuple(gpu: Device, polar: Any) -> None:
    r, t = polar(np.array([3.0, 0.0]), 4.0)
    np.testing.assert_allclose((r, t), (np.hypot([3, 0], 4), np.arctan2(4, [3, 0])))


def test_raw_types_are_passed_as_the_cell_names_them(gpu: Device) -> None:
    cell = "struct pair { float re, im; };\n__device__ pair swap(pair x) { return pair{x.im, x.re}; }"
    f = function_of("swap", cell, ["F->F"], "{out0} = swap({in0})")
    x = (np.arange(5) + 2j).astype("F")
    for layout in (x, x[::2]):
        np.testing.assert_array_equal(host(f(gpu.lend(layout))), layout.imag + 1j * layout.real)


@pytest.mark.skipif(not HAS_CUPY, reason="no CuPy")
def test_kernels_take_addresses_as_cupys_pointers() -> None:
    kernel = kernel_of("set", "__global__ void set(float *x) { *x = 1; }", ("void", "f4*"), emulated=False)
    pointer = cupy_array(sample(3)).data
    assert kernel.convert_arguments([pointer]) == [np.uint64(pointer.ptr)]
    assert device_arrays.find_role(type(pointer)) == ""


@pytest.mark.skipif(not HAS_CUPY, reason="no CuPy")
def test_variable_of_the_device_is_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "find_current_device", lambda: 0)
    memory = np.arange(6, dtype="f4")
    module = SimpleNamespace(get_global_var=lambda name: {"taps": memory.ctypes.data}[name])
    array = driver.view_variable(SimpleNamespace(module=module), "taps", (2, 3), np.dtype("f4"))
    np.testing.assert_array_equal(host(array), memory.reshape(2, 3))
    assert device_arrays.find_role(type(array)) == "array"


def test_second_call_compiles_nothing(gpu: Device, mul: Any) -> None:
    for _ in range(3):
        mul(gpu.lend(sample(8)), 2.0)
    assert len(gpu.compiled) == 1


def test_source_shows_the_cell_on_its_own_lines() -> None:
    text = source.write_kernel_unit("a\nb", 'In["3"]', "c")
    assert text == '#line 1 "In[\\"3\\"]"\na\nb\n#line 1 "ufunc_magic"\nc'


def test_what_was_learnt_of_a_layout_serves_only_others_like_it(gpu: Device, mul: Any) -> None:
    memory = sample(400)
    for x, y, out in (
        (memory[:100], memory[100:200], memory[200:300]),
        (memory[100:200], memory[200:300], memory[300:]),
        (memory[:100], memory[4:104], memory[8:108]),
        (memory[:200:2], memory[100:200], memory[200:300]),
        (memory[1:101], memory[101:201], memory[201:301]),
    ):
        expected = x * y
        mul(gpu.lend(x), gpu.lend(y), out=gpu.lend(out))
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(host(mul(gpu.lend(x), gpu.lend(y))), x * y)


# ------------------------------------------------------------------------------- where arrays are


def test_mixed_places_are_an_error_that_says_how_to_move(gpu: Device, mul: Any) -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(ndarray\) .*host") as caught:
        mul(gpu.lend(sample(3)), sample(3))
    assert "cupy.asarray(x)" in str(caught.value)
    assert isinstance(caught.value, TypeError | um.UfuncMagicError)
    with pytest.raises(ArgumentError):
        mul(sample(3), sample(3), out=gpu.lend(sample(3)))


def test_scalars_go_with_either_place(gpu: Device, mul: Any) -> None:
    x = sample(4)
    for two in (2, 2.0, np.float32(2), np.array(2, "f4"), True + np.int8(1)):
        np.testing.assert_array_equal(host(mul(gpu.lend(x), two)), 2 * x)
        np.testing.assert_array_equal(mul(x, two), 2 * x)


def test_numbers_alone_give_numbers_each_time(gpu: Device, mul: Any) -> None:
    for _ in range(3):
        result = mul(2.0, 3.0)
        assert type(result) is np.float64
        assert result == 6


class Tensor:
    """What torch's CUDA tensors are to others: DLPack on device type 2."""

    __module__ = "torch"

    def __init__(self, held: np.ndarray[Any, Any], *, requires_grad: bool = False) -> None:
        self.held, self.requires_grad = held, requires_grad

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise NotImplementedError


class Library:
    """A library that takes DLPack."""

    Tensor = strided = type("PlainTensor", (), {"__module__": "torch"})
    float32 = object()

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.allocated = 0
        #: CuPy's current stream when it borrowed from here, which then waits for the library's.
        self.streams: list[int | None] = []

    def from_dlpack(self, value: Any) -> Any:
        self.taken.append(value)
        return Tensor(value) if isinstance(value, np.ndarray) else Tensor(host(value))


@pytest.fixture
def borrowing(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> Library:
    """CuPy that takes `Tensor`, and a torch that takes its arrays back."""

    class CuPy:
        @staticmethod
        def from_dlpack(value: Tensor) -> Any:
            if value.requires_grad:
                raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
            library.streams.append(gpu.stream)
            return gpu.lend(value.held)

        @staticmethod
        def asarray(value: Any) -> Any:
            return gpu.lend(value.held)

    library = Library()
    replace_name(monkeypatch, driver, "import_cupy", CuPy)
    monkeypatch.setattr(driver, "find_other_stream", lambda *_: 7)
    monkeypatch.setitem(__import__("sys").modules, "torch", library)
    return library


def test_tensors_give_tensors_of_their_library(borrowing: Library, gpu: Device, mul: Any) -> None:
    x = Tensor(sample(6))
    z = mul(x, Tensor(sample(6)))
    assert isinstance(z, Tensor)
    np.testing.assert_array_equal(z.held, sample(6) ** 2)
    out = Tensor(np.zeros(6, "f4"))
    borrowing.taken.clear()
    assert mul(x, 2, out=out) is out
    np.testing.assert_array_equal(out.held, 2 * sample(6))
    assert len(borrowing.taken) == 1  # so that torch's stream waits for ours
    assert gpu.moved == []


@pytest.fixture
def plain_tensor(borrowing: Library, gpu: Device, monkeypatch: pytest.MonkeyPatch) -> type:
    """torch's own class; torch is on stream 7."""

    class PlainTensor(Library.Tensor):  # type: ignore[misc, valid-type]
        is_cuda, layout, dtype, requires_grad = True, Library.strided, Library.float32, False
        device = SimpleNamespace(index=0)

        def __init__(self, held: np.ndarray[Any, Any]) -> None:
            self.held, self.shape = held, held.shape

        is_neg = is_conj = lambda self: False
        data_ptr = lambda self: self.held.ctypes.data  # noqa: E731
        element_size = lambda self: self.held.itemsize  # noqa: E731
        stride = lambda self: tuple(n // self.held.itemsize for n in self.held.strides)  # noqa: E731
        new_empty = lambda self, shape, dtype: made(np.empty(shape, {Library.float32: "f4"}[dtype]))  # noqa: E731
        __dlpack_device__, __dlpack__ = Tensor.__dlpack_device__, Tensor.__dlpack__

    def borrowed(pointer: int, shape: Any, dtype: Any, strides: Any, *, owner: Any) -> Any:
        assert (pointer, shape, dtype, strides) == (
            owner.held.ctypes.data,
            owner.held.shape,
            owner.held.dtype,
            owner.held.strides,
        )
        return gpu.lend(owner.held)

    def made(held: np.ndarray[Any, Any]) -> PlainTensor:
        borrowing.allocated += 1
        return PlainTensor(held)

    def as_tensor(array: Any, *, device: Any) -> PlainTensor:
        assert device is PlainTensor.device
        return PlainTensor(host(array))

    PlainTensor.__module__ = "torch"
    monkeypatch.setattr(borrowing, "Tensor", PlainTensor, raising=False)
    monkeypatch.setattr(borrowing, "as_tensor", as_tensor, raising=False)
    monkeypatch.setattr(driver, "borrow_array", borrowed)
    monkeypatch.setattr(driver, "find_other_stream", lambda *_: None if gpu.stream == 7 else 7)
    return PlainTensor


def test_tensors_are_computed_on_torchs_stream_without_dlpack(
    plain_tensor: type, borrowing: Library, gpu: Device, mul: Any
) -> None:
    """DLPack takes as long as the call, and torch's graphs cannot record how it orders two streams."""
    x, out = plain_tensor(sample(4, 6)[:, ::2]), plain_tensor(np.zeros((4, 3), "f4"))
    for n in (2, 3):  # the second time by what the first has left
        z = mul(x, x)
        assert type(z) is plain_tensor
        np.testing.assert_array_equal(z.held, x.held**2)
        assert mul(x, n, out=out) is out
        np.testing.assert_array_equal(out.held, n * x.held)
    assert {launch[3] for launch in gpu.launched} == {7}
    assert (borrowing.streams, borrowing.taken, gpu.stream) == ([], [], None)
    assert borrowing.allocated == 1


def test_tensors_beside_cupys_arrays_are_computed_on_cupys_stream(
    plain_tensor: type, borrowing: Library, gpu: Device, mul: Any
) -> None:
    x = plain_tensor(sample(6))
    np.testing.assert_array_equal(host(mul(gpu.lend(sample(6)), x)), x.held**2)
    assert [launch[3] for launch in gpu.launched] == borrowing.streams == [None]  # which has waited for torch's


def test_reductions_of_tensors_are_on_torchs_stream(plain_tensor: type, gpu: Device, add: Any) -> None:
    assert add.reduce(plain_tensor(sample(6))).held == sample(6).sum()
    assert {launch[3] for launch in gpu.launched} == {7}


def test_tensor_that_needs_its_gradient_says_detach(borrowing: Library, mul: Any) -> None:
    with pytest.raises(ArgumentError, match="detach"):
        mul(Tensor(sample(3), requires_grad=True), 2.0)


def test_device_arrays_of_numba_come_back_as_numbas(borrowing: Library, mul: Any, monkeypatch: Any) -> None:
    class DeviceNDArray:
        __module__ = "numba.cuda.cudadrv.devicearray"

        def __init__(self, held: Any) -> None:
            self.held, self.__cuda_array_interface__ = held, {}

    class Cuda:
        @staticmethod
        def as_cuda_array(array: Any) -> Any:
            return DeviceNDArray(host(array))

    monkeypatch.setitem(__import__("sys").modules, "numba.cuda", Cuda)
    z = mul(DeviceNDArray(sample(4)), 3)
    assert isinstance(z, DeviceNDArray)
    np.testing.assert_array_equal(z.held, 3 * sample(4))


def test_arrays_on_two_devices_are_an_error(gpu: Device, mul: Any) -> None:
    class Elsewhere(DeviceArray):
        __module__ = "cupy.stand_in"

        def __init__(self, held: Any) -> None:
            super().__init__(held)
            self.data.device_id = 1

    with pytest.raises(ArgumentError, match="GPUs 0 and 1"):
        mul(gpu.lend(sample(3)), Elsewhere(sample(3)))


@pytest.mark.slow
def test_wrapped_arrays_keep_their_wrapper(gpu: Device, mul: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra: test)")
    x = pandas.Series([1.0, 2.0], index=["a", "b"])
    pandas.testing.assert_series_equal(mul(x, 3.0), 3.0 * x)


# -------------------------------------------------------------------------------------- reduce


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce_agrees_with_numpy(gpu: Device, add: Any, axis: Any, keepdims: bool) -> None:
    x = sample(3, 4, 300, dtype="i4")
    z = add.reduce(gpu.lend(x), axis=axis, keepdims=keepdims, dtype="i8")
    expected = np.add.reduce(x, axis=axis, keepdims=keepdims, dtype="i8")
    assert (z.shape, z.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_array_equal(host(z), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        *(((n,), 0) for n in (1, 4, 255, 4096, 9001, 36_864)),
        *(((700, 8), axis) for axis in (0, 1)),
        *(((5, 1200), axis) for axis in (0, 1)),
        *(((1200, 5), axis) for axis in (0, 1)),
        ((6, 40, 64), (0, 2)),
    ],
)
def test_threads_share_results_as_the_shape_asks(gpu: Device, add: Any, shape: Any, axis: Any) -> None:
    x = sample(*shape) % 32
    for view in (x, x[..., 1:], x[::-1]):
        if view.size:
            np.testing.assert_array_equal(host(add.reduce(gpu.lend(view), axis=axis)), view.sum(axis))


def test_long_reduction_goes_in_slices(gpu: Device, add: Any) -> None:
    x = sample(70_001, dtype="i8")
    assert int(host(add.reduce(gpu.lend(x)))) == x.sum()
    assert [grid for grid, *_ in gpu.launched] == [(1, 18, 1), (1, 1, 1)]


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[::3], np.s_[1:]])
def test_reduce_takes_any_layout(gpu: Device, add: Any, view: Any) -> None:
    x = sample(30, 40, dtype="i8")[view].T
    np.testing.assert_array_equal(host(add.reduce(gpu.lend(x))), x.sum(0))


def test_reduce_starts_from_the_identity_or_from_initial(gpu: Device, add: Any) -> None:
    empty = gpu.lend(np.zeros((0, 3), "f4"))
    assert host(add.reduce(empty)).tolist() == [0, 0, 0]
    assert host(add.reduce(empty, initial=5)).tolist() == [5, 5, 5]
    assert host(add.reduce(gpu.lend(sample(4)), initial=0.5)) == sample(4).sum() + 0.5
    with pytest.raises(ValueError, match="no identity"):
        add.reduce(empty, initial=None)


def test_reduce_of_numpy_arrays_gives_numpys(gpu: Device, add: Any) -> None:
    x = sample(3, 4)
    assert add.reduce(x, axis=None) == x.sum()
    out = np.zeros(4, "f4")
    assert add.reduce(x, out=out) is out
    np.testing.assert_array_equal(out, x.sum(0))
    with pytest.raises(TypeError):
        add.reduce(x, out=np.zeros(4, "i4"))


def test_reduce_asks_the_emulations_ufunc_for_its_types(gpu: Device) -> None:
    loops = ["ff->f", "ll->l"]
    add = function_of("add", ADD, loops, "{out0} = add({in0}, {in1})", identity=0, emulated=np.add)
    x, out = sample(3, 4, dtype="i4"), np.zeros(4, "i8")
    assert add.reduce(x, dtype="i8").dtype == "i8"
    np.testing.assert_array_equal(add.reduce(x, out=out), x.sum(0))


def test_reduce_needs_an_identity(gpu: Device, mul: Any, polar: Any) -> None:
    for f in (mul, polar):
        with pytest.raises(um.SignatureError, match="identity"):
            f.reduce(sample(3))


def test_wrong_axes_are_numpys_errors(gpu: Device, add: Any) -> None:
    with pytest.raises(np.exceptions.AxisError):
        add.reduce(gpu.lend(sample(3)), axis=1)
    with pytest.raises(ValueError, match="duplicate"):
        add.reduce(gpu.lend(sample(3, 3)), axis=(0, -2))


def test_outer_pairs_all_elements(gpu: Device, mul: Any) -> None:
    np.testing.assert_array_equal(mul.outer(sample(3), sample(4)), np.multiply.outer(sample(3), sample(4)))
    z = mul.outer(gpu.lend(sample(3)), gpu.lend(sample(2, 2)))
    np.testing.assert_array_equal(host(z), np.multiply.outer(sample(3), sample(2, 2)))


# -------------------------------------------------------------------------- what a function says


def test_function_describes_itself_as_a_ufunc_does(mul: Any, polar: Any) -> None:
    assert (mul.nin, mul.nout, mul.nargs, mul.ntypes, mul.types) == (2, 1, 3, 2, ["ff->f", "dd->d"])
    assert (mul.identity, mul.signature, mul.__name__) == (None, None, "mul")
    assert repr(polar) == "<CUDA function 'polar' dd->dd>"
    # Older NumPy has no signatures of ufuncs.
    described = "(x1, x2, /" if hasattr(np.add, "__signature__") else "(*args"
    assert str(inspect.signature(mul)).startswith(described)


def test_functions_that_have_no_element_wise_form_refuse(gpu: Device) -> None:
    code, object_code = code_of("norm", "", ["d->d"], "", core="(n)->()")
    plain = replace(code, kind="plain", core="", reason="'p' may be an array")
    wide = replace(code, core="", loops=(LoopCode(0, (13, 13)),), calls=("{out0} = f({in0})",))
    for refused, word in ((code, r"\(n\)->\(\)"), (plain, "may be an array"), (wide, "types that a GPU")):
        with pytest.raises(um.SignatureError, match=word):
            device.CudaFunction(refused, object_code, emulated=None)(sample(3))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_wrong_number_of_arguments_is_a_type_error(mul: Any, count: int) -> None:
    with pytest.raises(TypeError, match=f"{count} were given"):
        mul(*[1.0] * count)


def test_argument_error_can_be_pickled() -> None:
    made = pickle.loads(pickle.dumps(ArgumentError("a", remedy="b")))
    assert (str(made), type(made)) == ("a\nb", ArgumentError)


# -------------------------------------------------------------------------------------- kernels

AXPY = """extern "C" __global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""


def kernel_of(name: str, cell: str, prototype: Sequence[str], *, emulated: bool = True, names: Any = ()) -> Any:
    code = FunctionCode(name=name, kind="kernel", prototype=tuple(prototype), parameters=tuple(names), index=0)
    object_code = ObjectCode(
        b"", describe_target(), (code,), language="cuda", source=cell, options={"device": "cpu" if emulated else "gpu"}
    )
    run = compiled(cell, name)[0] if emulated else None
    address = ctypes.cast(run, ctypes.c_void_p).value if run else 0
    owner = runtime.Library(run.module, (), ()) if run else None
    return device.Kernel(
        code, object_code, address=address or 0, owner=owner, emulated=not device.runs_on_gpu(object_code)
    )


@pytest.fixture
def axpy() -> Any:
    return kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), names="naxy")


def test_emulated_kernel_works_on_numpy_arrays_in_place(axpy: Any) -> None:
    x, y = sample(1000), sample(1000)[::-1].copy()
    expected = y + 2 * x
    axpy[4, 256](1000, 2.0, x, y)
    np.testing.assert_array_equal(y, expected)
    axpy.forall(1000, block=100)(1000, 0, x, y)
    np.testing.assert_array_equal(y, expected)


def test_kernel_on_the_device_takes_its_arrays(gpu: Device) -> None:
    axpy = kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), emulated=False, names="nxay")
    x, y = sample(100), sample(100)
    axpy[1, 128, 64](100, 3.0, gpu.lend(x), gpu.lend(y))
    np.testing.assert_array_equal(y, 4 * sample(100))
    assert (gpu.launched, gpu.moved) == ([((1, 1, 1), (128, 1, 1), 64, None)], [])


def test_numpy_arrays_are_copied_to_the_device_and_back_unless_const(gpu: Device) -> None:
    axpy = kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), emulated=False)
    x, y = sample(100), sample(100)
    x.flags.writeable = False
    axpy[1, 128](100, 3.0, x, y)
    np.testing.assert_array_equal(y, 4 * sample(100))
    assert gpu.moved == ["there", "there", "back"]
    with pytest.raises(ArgumentError, match=r"cupy\.asarray"):
        axpy[1, 128](100, 3.0, gpu.lend(sample(100)), y)


def test_barriers_and_shared_memory_run_in_the_emulation() -> None:
    cell = """__global__ void total(const int *x, int *out) {
        __shared__ int part[64];
        int t = threadIdx.x;
        part[t] = x[blockIdx.x * 64 + t];
        __syncthreads();
        for (int s = 32; s; s /= 2) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
        if (t == 0) out[blockIdx.x] = part[0];
    }"""
    total = kernel_of("total", cell, ("void", "const i4*", "i4*"))
    x, out = sample(4, 64, dtype="i4"), np.zeros(4, "i4")
    total[4, 64](x, out)
    np.testing.assert_array_equal(out, x.sum(1))


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((100, 2.0, "x"), ArgumentError, "takes 4 arguments, 3 were given"),
        ((1.5, 2.0, "x", "y"), ArgumentError, r"n is 1.5.*int32"),
        ((2**31, 2.0, "x", "y"), OverflowError, "outside of int32"),
        ((100, 1e300, "x", "y"), OverflowError, "outside of float32"),
        ((100, 1j, "x", "y"), ArgumentError, "float32"),
        (("x", 2.0, "x", "y"), ArgumentError, "takes a number"),
        ((100, 2.0, "double", "y"), ArgumentError, r"array of float64"),
        ((100, 2.0, "every other", "y"), ArgumentError, "ascontiguousarray"),
        ((100, 2.0, "x", "read-only"), ArgumentError, "read-only"),
        ((100, 2.0, "big-endian", "y"), ArgumentError, "array of >f4"),
        ((100, 2.0, "list", "y"), ArgumentError, "no array"),
        ((100, 2.0, 140_000_000, "y"), ArgumentError, "MemoryPointer"),
    ],
)
def test_wrong_arguments_are_named_before_the_launch(axpy: Any, args: Any, error: Any, words: str) -> None:
    frozen = sample(100)
    frozen.flags.writeable = False
    named = {
        "x": sample(100), "y": sample(100), "double": sample(100, dtype="f8"), "every other": sample(200)[::2],
        "read-only": frozen, "big-endian": sample(100, dtype=">f4"), "list": [1.0, 2.0],
    }  # fmt: skip
    given = [named.get(a, a) if isinstance(a, str) else a for a in args]
    with pytest.raises(error, match=words):
        axpy[1, 128](*given)


def test_const_pointers_take_read_only_arrays(axpy: Any) -> None:
    x, y = sample(10), np.zeros(10, "f4")
    x.flags.writeable = False
    axpy[1, 32](10, 1, x, y)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        ((1,), "has 1 entry"),
        ((1, 2048), "block.x is 2048"),
        ((1, (32, 33)), "1,056 threads"),
        ((0, 32), "grid.x is 0"),
        ((1, (1, 1, 128)), "block.z is 128"),
        (((1, 70_000), 32), "grid.y is 70000"),
        ((1, 32, 1 << 20), "shared memory"),
        ((1.5, 32), "Give an integer"),
        (((1, 2, 3, 4), 32), "Give an integer"),
        ((1, 32, 0, "stream"), "not a stream"),
    ],
)
def test_launches_that_no_device_takes_are_refused(axpy: Any, launch: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        axpy[launch]


def test_kernel_without_a_grid_says_how_it_is_called(axpy: Any) -> None:
    with pytest.raises(ArgumentError, match=r"axpy\[grid, block\]"):
        axpy(1, 2.0, sample(1), sample(1))


def test_large_grids_are_not_emulated(axpy: Any) -> None:
    with pytest.raises(ArgumentError, match="4,194,304 are the most"):
        axpy[2**14, 1024](1, 2.0, sample(1), sample(1))


def test_kernel_that_waits_for_the_grid_is_launched_with_all_its_blocks_at_once(gpu: Device) -> None:
    text = "__global__ void both(int *x) { cooperative_groups::this_grid().sync(); *x = 1; }"
    kernel = kernel_of("both", text, ("void", "i4*"), emulated=False)
    kernel = device.Kernel(replace(kernel.code, source=text), kernel.object_code, emulated=False)
    kernel[2, 1](gpu.lend(np.zeros(1, "i4")))
    assert gpu.launched == [((2, 1, 1), (1, 1, 1), 0, None, "cooperative")]


def refuse_on_the_gpu(gpu: Device, monkeypatch: pytest.MonkeyPatch, refused: str, message: str) -> None:
    """The GPU's compiler refuses compilations that name one entry."""
    compile_all = gpu.load_functions

    def functions(object_code: ObjectCode, generated: str, entries: Sequence[str]) -> dict[str, Any]:
        if refused in entries:
            raise CompileError(message)
        return compile_all(object_code, generated, entries)

    monkeypatch.setattr(driver, "load_functions", functions)


def test_an_instance_that_a_gpu_refuses_keeps_no_other_from_running(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "__global__ void good(float *x) { *x = 1; }\n__global__ void bad(float *x) { *x = 2; }\n"
    refuse_on_the_gpu(gpu, monkeypatch, "bad", "bad does not compile for sm_90.")
    good, bad = (kernel_of(name, text, ("void", "f4*"), emulated=False) for name in ("good", "bad"))
    good.memory = bad.memory = device.CellMemory(
        replace(good.object_code, functions=(good.code, bad.code)), emulated=False
    )
    x = np.zeros(1, "f4")
    for _ in range(2):
        good[1, 1](gpu.lend(x))
        with pytest.raises(CompileError, match="bad does not compile"):
            bad[1, 1](gpu.lend(x))
    assert x[0] == 1
    assert len(gpu.compiled) == 1


def test_kernels_of_a_cell_have_one_memory_and_what_is_set_before_goes_there(gpu: Device) -> None:
    text = (
        "__constant__ float scale = 2;\n__device__ int count[2];\nstatic __device__ int hidden;\n"
        "__global__ void first(float *x) { *x = scale; count[1]++; hidden = scale; }\n"
        "__global__ void next(float *x) { *x = 10 * scale + 100 * hidden; count[1] += 10; }\n"
    )
    one, other = (kernel_of(name, text, ("void", "f4*"), emulated=False) for name in ("first", "next"))
    variables = [["scale", 0, False, "<f4"], ["count", 1, False, "<i4", 2]]
    object_code = replace(one.object_code, device={"memory": variables}, functions=(one.code, other.code))
    memory = device.CellMemory(object_code, emulated=False)
    one.memory = other.memory = memory
    x = np.zeros(1, "f4")
    host(memory["scale"])[...] = 3
    one[1, 1](gpu.lend(x))
    assert x[0] == 3
    host(memory["scale"])[...] = 4
    other[1, 1](gpu.lend(x))
    assert (x[0], list(host(memory["count"]))) == (340, [0, 11])
    one[1, 1](gpu.lend(x))
    assert (x[0], list(host(memory["count"])), list(memory)) == (4, [0, 12], ["scale", "count"])


def test_array_given_twice_is_one_array_on_the_device(gpu: Device) -> None:
    axpy = kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), emulated=False)
    x = sample(100)
    expected = 3 * x
    axpy[1, 128](100, 2.0, x, x)
    assert gpu.moved == ["there", "back"]
    np.testing.assert_array_equal(x, expected)


def test_views_of_one_array_stay_views_on_the_device(gpu: Device) -> None:
    text = "__global__ void shifted(const int *x, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i]; }"
    shifted = kernel_of("shifted", text, ("void", "const i4*", "i4*", "i4"), emulated=False)
    x = np.arange(6, dtype="i4")
    # Each element is the one before it, which was written already.
    shifted[1, 1](x[:-1], x[1:], 5)
    np.testing.assert_array_equal(x, [0, 0, 0, 0, 0, 0])
    assert gpu.moved == ["there", "back"]


@pytest.mark.slow
def test_arguments_choose_among_kernels_of_one_name() -> None:
    cell = """\
__global__ void k(float *x) { *x = 1; }
__global__ void k(double *x) { *x = 2; }
__global__ void k(int *x, float a) { *x = a; }
template <class T, int N> __global__ void scale(T *x) { *x *= N; }
template __global__ void scale<float, 8>(float *);
template __global__ void scale<int, 9>(int *);
template <int N> __global__ void fill(int *x) { *x = N; }
template <class T> __global__ void unasked(T *x, T a) { *x = a; }
static __global__ void hidden(int *x) { *x = 5; }
int main() { int *x; fill<7><<<1, 1>>>(x); }
"""
    build = um.compile_cuda(cell, device="cpu")

    def result(kernel: Any, dtype: str, *more: Any) -> Any:
        x = np.ones(1, dtype)
        kernel[1, 1](x, *more)
        return x[0]

    assert [result(build.k, *words) for words in (("f4",), ("f8",), ("i4", 3))] == [1, 2, 3]
    assert [result(build.scale, dtype) for dtype in ("f4", "i4")] == [8, 9]
    assert result(build.scale["int,9"], "i4") == 9
    assert (result(build.fill, "i4"), result(build.hidden, "i4")) == (7, 5)
    assert [result(build.unasked, dtype, 4) for dtype in ("f4", "f8")] == [4, 4]
    assert pickle.loads(pickle.dumps(build.k)) is build.k
    with pytest.raises(ArgumentError, match=r"k\(int16\[\]\) fits none of k\(float \*\), k\(double \*\)"):
        result(build.k, "i2")
    with pytest.raises(ArgumentError, match=r"template __global__ void scale<double, 3>"):
        build.scale["double, 3"]
    with pytest.raises(um.ParseError, match="no kernel that is complete"):
        um.compile_cuda("template <int N> __global__ void fill(int *x) { *x = N; }", device="cpu")


def test_streams_may_stand_where_numba_has_them(gpu: Device) -> None:
    kernel = kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), emulated=False)
    stream = type("Stream", (), {"__cuda_stream__": lambda _: (0, 4711)})()
    assert [(k.shared, k.stream) for k in (kernel[1, 32, 8, stream], kernel[1, 32, stream, 8])] == [(8, 4711)] * 2


def test_a_launch_on_a_stream_has_its_copies_and_its_borrowed_arrays_there(gpu: Device, borrowing: Library) -> None:
    """Torch's stream and the launch's wait for each other; only what the kernel may write is waited for."""
    kernel = kernel_of("axpy", AXPY, ("void", "i4", "f4", "const f4*", "f4*"), emulated=False)
    x, y = sample(8), Tensor(sample(8))
    kernel[1, 32, 0, 7](8, 2.0, Tensor(x), y)
    np.testing.assert_array_equal(y.held, 3 * x)
    assert (gpu.launched[0][3], borrowing.streams, len(borrowing.taken)) == (7, [7, 7], 1)
    kernel[1, 32, 0, 7](8, 2.0, x, x.copy())
    assert (gpu.moved, gpu.waits, gpu.stream) == (["there on 7", "there on 7", "back"], [7], None)


def test_a_launch_that_prints_is_waited_for(gpu: Device) -> None:
    text = '__global__ void hello(const int *x) { printf("%d\\n", *x); }'
    kernel_of("hello", text, ("void", "const i4*"), emulated=False)[1, 1](gpu.lend(np.ones(1, "i4")))
    assert gpu.waits == [None]


def test_kernels_of_tensors_are_launched_on_torchs_stream_unless_told(plain_tensor: type, gpu: Device) -> None:
    set_ = kernel_of("set", "__global__ void set(float *x) { *x = 1; }", ("void", "f4*"), emulated=False)
    set_[1, 1](plain_tensor(sample(1)))
    set_[1, 1, 0, 8](gpu.lend(sample(1)))
    set_[1, 1](gpu.lend(sample(1)))
    assert [launch[3] for launch in gpu.launched] == [7, 8, None]


def test_textures_of_cupys_are_their_numbers() -> None:
    texture = type("TextureObject", (), {"__module__": "cupy.cuda.texture", "ptr": 2**40})()
    assert cuda_kernel.convert(cuda_kernel.read_kinds(("void", "u8"))[0], texture, name="x") == np.uint64(2**40)


@pytest.mark.skipif(not HAS_CUPY, reason="no CuPy")
def test_cupy_takes_a_stream_of_anybodys() -> None:
    """Without a warning: the older way is deprecated."""
    assert driver.import_cupy().cuda.Stream.from_external(driver.ForeignStream(4711)).ptr == 4711


def test_structs_and_vectors_are_passed_by_their_bytes() -> None:
    cell = """struct box { float low, high; };
    __global__ void inside(box b, const float4 *x, int *y) { y[0] = x[0].w > b.low && x[0].w < b.high; }"""
    inside = kernel_of("inside", cell, ("void", "V8", "const V16*", "i4*"))
    box = np.array((1, 3), dtype=[("low", "f4"), ("high", "f4")])
    y = np.zeros(1, "i4")
    inside[1, 1](box, np.array([[0, 0, 0, 2]], "f4"), y)
    assert y[0] == 1
    inside[1, 1](box, np.array([0, 0, 0, 4, 0, 0, 0, 2], "f4"), y)
    assert y[0] == 0
    inside[1, 1](box, np.full((2, 3, 8), 2, "f4"), y)
    assert y[0] == 1
    with pytest.raises(ArgumentError, match="rows of 16 bytes"):
        inside[1, 1](box, np.zeros(6, "f4"), y)
    with pytest.raises(ArgumentError, match="struct of 8 bytes"):
        inside[1, 1](b"123", np.zeros((1, 4), "f4"), y)
    with pytest.raises(ArgumentError, match="rows of 16 bytes"):
        inside[1, 1](box, np.zeros((1, 3), "f4"), y)


@pytest.mark.slow
def test_float16_is_no_bfloat16() -> None:
    cell = """#include <cuda_bf16.h>
    __global__ void twice(__nv_bfloat16 *x) { *x = __hadd(*x, *x); }"""
    twice = um.compile_cuda(cell, device="cpu").twice
    bits = np.array([0x4040], "u2")  # of 3
    twice[1, 1](bits)
    assert bits == 0x40C0
    with pytest.raises(ArgumentError, match="their bits as uint16"):
        twice[1, 1](np.ones(1, "f2"))


@pytest.mark.slow
def test_vectors_are_of_their_own_numbers() -> None:
    """Bytes of `float64` are no `float4`, although their number may fit."""
    cell = """#include <cuda_fp16.h>
    __global__ void k(float4 *x, float2 by, half2 *h) { x->w = by.y; *h = __float2half2_rn(by.x); }"""
    k = um.compile_cuda(cell, device="cpu").k
    by = np.array([2, 3], "f4")
    for x in (np.zeros(4, "f4"), np.zeros((1, 4), "f4"), np.zeros(2, "F"), np.zeros(1, "f4,f4,f4,f4")):
        h = np.zeros(2, "f2")
        k[1, 1](x, by, h)
        assert (x.view("f4").ravel()[3], list(h)) == (3, [2, 2])
    h, x = np.zeros(2, "f2"), np.zeros(4, "f4")
    for words in ((x.astype("f8"), by, h), (x, np.zeros(1), h), (x, by, np.zeros(1, "f4"))):
        with pytest.raises(ArgumentError, match=r"float32 x 4|float32 x 2|float16 x 2"):
            k[1, 1](*words)
    assert "float32 x 4 * x" in k.__doc__


def test_kernel_describes_itself(axpy: Any) -> None:
    assert axpy.__doc__ == "axpy[grid, block, shared, stream](int32 n, float32 a, const float32 * x, float32 * y)"
    assert (str(inspect.signature(axpy)), repr(axpy)) == (
        "(n, a, x, y, /)",
        "<CUDA kernel axpy(int32, float32, const float32 *, float32 *)>",
    )


# ---------------------------------------------------------------------------------- pure parts


def test_axes_that_all_arrays_step_through_evenly_become_one() -> None:
    whole, row = (48, 16, 4), (0, 0, 4)
    assert geometry.collapse_axes((2, 3, 4), [whole], (0, 1, 2)) == ([24], [[4]])
    assert geometry.collapse_axes((2, 3, 4), [whole, row], (0, 1, 2)) == ([6, 4], [[16, 4], [0, 4]])
    assert geometry.collapse_axes((1, 1), [(8, 8)], (0, 1)) == ([1], [[0]])


@pytest.mark.parametrize("types", [("f4", float), ("i2", "f4"), (float, float), ("f4", int), ("f8", "f4")])
def test_loop_is_the_same_with_an_emulation_and_without(gpu: Device, mul: Any, types: Any) -> None:
    alone = function_of("mul", MUL, ["ff->f", "dd->d"], "{out0} = mul({in0}, {in1})")
    operands = [gpu.lend(np.ones(3, t)) if isinstance(t, str) else t(2) for t in types]
    assert alone(*operands).dtype == mul(*operands).dtype


def test_calls_are_timed_in_one_row_on_the_stream(gpu: Device) -> None:
    calls: list[int] = []
    assert timing.time_call(lambda: calls.append(1), rounds=2, warm=1) == 0.01
    assert len(calls) == 1 + 1 + 2 * 2


def test_a_function_is_timed_with_and_without_its_transfers(gpu: Device, mul: Any) -> None:
    found = timing.time_function(mul, (sample(1000), 2.0), rounds=3)
    assert (found.moved, found.kernel, found.bandwidth) == (8000, 0.01, 800_000)


def test_without_a_gpu_and_an_emulation_a_call_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_name(monkeypatch, driver, "explain_missing", lambda: "there is no GPU")
    code, object_code = code_of("mul", MUL, ["ff->f"], "{out0} = mul({in0}, {in1})")
    with pytest.raises(ToolchainError, match=r"(?s)^mul .*no GPU.*pip install ziglang"):
        device.CudaFunction(code, object_code, emulated=None)(1.0, 2.0)
    kernel = device.Kernel(
        replace(code, kind="kernel", prototype=("void",)), object_code, address=0, owner=None, emulated=False
    )
    with pytest.raises(ToolchainError, match=r"(?s)^mul .*no GPU.*um\.dumps.*--device cpu"):
        kernel[1, 1]


def test_without_cupy_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise ModuleNotFoundError("No module named 'cupy'", name="cupy")

    replace_name(monkeypatch, driver, "import_cupy", absent)
    driver.explain_missing.cache_clear()
    try:
        assert "pip install cupy-cuda13x" in device.explain_missing()
        assert not device.is_available()
        assert device.name() == ""
    finally:
        driver.explain_missing.cache_clear()


def test_option_decides_where_functions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_name(monkeypatch, driver, "explain_missing", lambda: "no GPU")
    _, object_code = code_of("f", "", ["d->d"], "x")
    asked = [replace(object_code, options={"device": word}) for word in ("auto", "cpu", "gpu")]
    assert [device.runs_on_gpu(o) for o in (object_code, *asked)] == [False, False, False, True]


def test_kernel_whose_name_means_several_functions_is_launched_by_its_types(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "__global__ void good(float *x) { *x = 1; }\n"
    said = "cannot determine which instance of overloaded function good is intended"
    refuse_on_the_gpu(gpu, monkeypatch, "good", said)
    kernel = kernel_of("good", text, ("void", "f4*"), emulated=False)
    x = gpu.lend(np.zeros(1, "f4"))
    with pytest.raises(CompileError, match="which instance"):
        kernel[1, 1](x)
    code = replace(kernel.code, calls=("good", "static_cast<void (*)(float *)>(&good)"))
    kernel = device.Kernel(code, replace(kernel.object_code, functions=(code,)), emulated=False)
    kernel[1, 1](x)
    assert host(x) == 1


# --------------------------------------------------------------------------------- tests/gpu

#: What needs neither CuPy's own streams and clocks, nor what is tested above.
RUN = (
    *(f"{name} (" for name, *_ in check_cells.REFERENCES),
    *("kernel with shared", "kernel on", "layouts", "NumPy arrays"),
    *("overloads", "templates", "one array twice", "atomics", "variables", "printf"),
)


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["stand-in"], indirect=True)
def test_real_device_functions_agree_with_their_references(
    gpu: Device, shared_cache_folder: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(shared_cache_folder))
    checks.cell.cache_clear()
    checks.kernels.cache_clear()
    rows = run([c for c in checks.checks() if c[0].startswith(RUN)])
    checks.cell.cache_clear()
    checks.kernels.cache_clear()
    assert [row for row in rows if row["state"] != "ok"] == []
    assert len(rows) == len(RUN)


def test_no_check_stops_the_next() -> None:
    def fails() -> None:
        raise ValueError("first line\nsecond")

    def skips() -> None:
        raise Skip("no torch")

    rows = run([("a", fails), ("bb", skips), ("c", lambda: {"seconds": 1.0})])
    assert table(rows) == "a   failed   ValueError: first line\nbb  skipped  no torch\nc   ok       seconds 1"
    assert rows[2] == {"name": "c", "state": "ok", "result": {"seconds": 1.0}}


def test_check_says_where_there_is_no_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    replace_name(monkeypatch, driver, "explain_missing", lambda: "there is no GPU")
    assert command.main([]) == 2
    assert capsys.readouterr().out == "No GPU was found: there is no GPU.\nNothing was checked.\n"


def test_check_writes_its_figures(gpu: Device, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(command, "checks", lambda large: [("a", lambda: "fine")])
    replace_name(monkeypatch, driver, "describe_versions", lambda: {"gpu": "NVIDIA H200 NVL"})
    monkeypatch.chdir(tmp_path)
    assert command.main([]) == 0
    assert "fine" in (tmp_path / "gpucheck.json").read_text()


# --------------------------------------------------------------------------------------- NVRTC


@pytest.fixture
def for_hopper() -> Any:
    """NVRTC, which needs no GPU, as what compiles the generated kernels."""
    pytest.importorskip("cuda.bindings", reason="NVRTC is not installed (extra: cuda)")
    from ufunc_magic.languages.cuda import nvrtc

    if nvrtc.find() is None:
        pytest.skip(nvrtc.explain_absence())
    return lambda text, output: nvrtc.compile(
        text,
        name="In[3]",
        output=output,
        arch="sm_90" if output == "cubin" else "compute_90",
        options=("-rdc=false",),
        entries=[source.ENTRY] * (source.ENTRY in text),
    )


PLAN = source.Plan("{out0} = mul({in0}, {in1})", "ff", "f", "ff", "f", (False, False))


@pytest.mark.nvrtc
def test_generated_kernels_inline_the_function_and_load_16_bytes(for_hopper: Any) -> None:
    ptx = for_hopper(source.write_kernel_unit(MUL, "In[3]", source.write_element_kernel(PLAN, ndim=0)), "ptx").text
    words = (r"ld\.global\.v4\.[bf]32", r"st\.global\.v4\.[bf]32", r"mul\.f32", r"\bcall")
    assert [bool(re.search(word, ptx)) for word in words] == [True, True, True, False]


@pytest.mark.nvrtc
@pytest.mark.parametrize("form", [{"ndim": 0}, {"ndim": 1}, {"ndim": 4}, {"ndim": 2, "wide": True}], ids=str)
@pytest.mark.parametrize("stored", ["ff", "dl", "?e"])
def test_every_form_of_kernel_compiles_for_the_device(for_hopper: Any, form: Any, stored: str) -> None:
    plan = replace(PLAN, stored_inputs=stored.replace("e", "b"), masked=form["ndim"] == 4)
    assert for_hopper(
        source.write_kernel_unit(MUL, "In[3]", source.write_element_kernel(plan, **form)), "cubin"
    ).symbols == (source.ENTRY,)


@pytest.mark.nvrtc
def test_reductions_and_raw_types_compile_for_the_device(for_hopper: Any) -> None:
    text = source.write_reduction_kernel("{out0} = add({in0}, {in1})", "fff", "i", outer=2, inner=1, has_start=True)
    assert for_hopper(source.write_kernel_unit(ADD, "In[3]", text), "cubin").symbols == (source.ENTRY,)
    cell = """#include <cuda_fp16.h>
    #include <cuComplex.h>
    __device__ void both(__half x, cuDoubleComplex y, __half *a, cuDoubleComplex *b)
    {
        *a = x + x;
        *b = cuCmul(y, y);
    }"""
    plan = source.Plan("both({in0}, {in1}, &{out0}, &{out1})", "eD", "eD", "eD", "eD", (False, True))
    assert for_hopper(source.write_kernel_unit(cell, "In[3]", source.write_element_kernel(plan, ndim=0)), "cubin").code


@pytest.mark.nvrtc
def test_faults_are_shown_on_the_lines_of_the_cell(for_hopper: Any) -> None:
    with pytest.raises(um.CompileError, match=r"In\[3\]:2"):
        for_hopper(source.write_kernel_unit("\n__device__ float mul(float x, y) { return x; }", "In[3]", ""), "cubin")


@pytest.mark.nvrtc
@pytest.mark.skipif(not HAS_CUPY, reason="no CuPy")
def test_cupy_compiles_where_nothing_else_is_known(for_hopper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = driver.import_cupy().cuda.compiler
    # It would ask the device.
    monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda arch: (f"-arch=sm_{arch}", "cubin"))
    told = {"name": "In[3]", "cell": MUL, "arch": "sm_90", "options": {"fast_math": True}, "entries": [source.ENTRY]}
    _, (symbol,) = driver.compile_by_cupy(
        source.write_kernel_unit(MUL, "In[3]", source.write_element_kernel(PLAN, ndim=0)), **told
    )
    assert symbol == source.ENTRY
    with pytest.raises(um.CompileError, match=r"In\[3\]\(1\): error"):
        driver.compile_by_cupy(source.write_kernel_unit("__device__ int f(x);", "In[3]", ""), **told)


def test_streams_of_other_libraries_are_known_by_their_pointers() -> None:
    numba = type("Stream", (), {"handle": ctypes.c_void_p(7)})()
    torch = type("Stream", (), {"cuda_stream": 8})()
    cupy = type("Stream", (), {"ptr": 0})()
    assert [driver.find_stream_pointer(s) for s in (None, numba, torch, cupy, 9)] == [None, 7, 8, 0, 9]
