"""Foreign memory as arrays and back: what is shared, who keeps it alive, what is refused.

Arrays on a GPU are CuPy's own, over memory of the host: everything but the device itself is real.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib.util
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import replace_name, run_python
from ufunc_magic.interop.arrays import asarray, ascapsule, pointer
from ufunc_magic.languages.cuda.device import driver
from ufunc_magic.model import ToolchainError

needs_cupy = pytest.mark.skipif(not importlib.util.find_spec("cupy"), reason="CuPy is not installed (extra: cuda)")
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed")

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))


class Owner:
    """Something to be kept alive."""


def message(call: Callable[[], object]) -> str:
    with pytest.raises(um.ArgumentError) as caught:
        call()
    return str(caught.value)


def address_of(x: np.ndarray[Any, Any]) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.arange(24, dtype="f8")


# --------------------------------------------------------------------------- what it is made from


def capsule(x: np.ndarray[Any, Any]) -> Any:
    return _new(address_of(x), None, None)


NAME = b"float64 image"


def named(x: np.ndarray[Any, Any]) -> Any:
    return _new(address_of(x), NAME, None)


def cffi_pointer(x: np.ndarray[Any, Any]) -> Any:
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    return cffi.FFI().cast("double *", address_of(x))


class Interface:
    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        self.x = x
        self.__array_interface__ = x.__array_interface__


class Lender:
    """A library's array that speaks DLPack and nothing else."""

    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        self.x = x

    def __dlpack__(self, **words: Any) -> Any:
        return self.x.__dlpack__(**words)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


SOURCES: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "int": address_of,
    "NumPy's int": lambda x: np.uintp(address_of(x)),
    "capsule without a name": capsule,
    "capsule with a name": named,
    "ctypes pointer": lambda x: ctypes.cast(address_of(x), ctypes.POINTER(ctypes.c_double)),
    "ctypes void pointer": lambda x: ctypes.c_void_p(address_of(x)),
    "ctypes array": lambda x: (ctypes.c_double * 24).from_address(address_of(x)),
    "cffi pointer": cffi_pointer,
    "memoryview": memoryview,
    "bytes of it": lambda x: memoryview(x).cast("B"),
    "array": lambda x: x,
    "array interface": Interface,
    "DLPack": Lender,
    "DLPack capsule": lambda x: x.__dlpack__(),
    "DLPack capsule of version 1": lambda x: x.__dlpack__(max_version=(1, 0)),
    "capsule of ours": lambda x: ascapsule(x),
    "pointer capsule of ours": lambda x: ascapsule(x, kind="pointer"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_memory_is_shared(x: np.ndarray[Any, Any], kind: str) -> None:
    seen = asarray(SOURCES[kind](x), (4, 6), "f8")
    seen[1, 2] = -5
    assert (x[8], seen.shape, seen.dtype, pointer(seen)) == (-5, (4, 6), np.dtype("f8"), address_of(x))


@pytest.mark.parametrize("kind", [k for k in SOURCES if k in ("array", "memoryview", "ctypes array") or "DLPack" in k])
def test_shape_and_dtype_are_known_where_the_object_says_them(x: np.ndarray[Any, Any], kind: str) -> None:
    assert np.array_equal(asarray(SOURCES[kind](x)), np.arange(24.0))


def test_cffi_arrays_know_their_bytes() -> None:
    ffi = pytest.importorskip("cffi", reason="cffi is not installed").FFI()
    seen = asarray(ffi.new("int[2][3]", [[1, 2, 3], [4, 5, 6]]), (2, 3), "i4")
    gc.collect()
    assert seen.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert "the memory has 24" in message(lambda: asarray(ffi.new("int[6]"), 7, "i4"))


@pytest.mark.parametrize("shape", [6, (6,), [6], np.int64(6), (np.int32(6),), np.array([6])])
def test_a_shape_may_be_spelled_as_for_numpy(x: np.ndarray[Any, Any], shape: Any) -> None:
    assert asarray(address_of(x), shape, "f8").shape == (6,)


@pytest.mark.parametrize("dtype", ["f8", float, np.float64, np.dtype("f8"), ">f8", "D", "i2", "M8[s]", "V16", "S8"])
def test_a_dtype_may_be_any_but_objects(x: np.ndarray[Any, Any], dtype: Any) -> None:
    assert asarray(address_of(x), 3, dtype).dtype == np.dtype(dtype)


def test_records_keep_their_fields_and_padding() -> None:
    kind = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24})
    own = np.zeros(4, kind)
    own["b"] = [1, 2, 3, 4]
    seen = asarray(address_of(own), 4, kind)
    assert (seen["b"].tolist(), seen.dtype) == ([1, 2, 3, 4], kind)
    assert asarray(address_of(own), 4, [("a", "i8"), ("b", "f8"), ("c", "i8")])["b"].tolist() == [1, 2, 3, 4]


def test_a_scalar_has_the_shape_of_nothing(x: np.ndarray[Any, Any]) -> None:
    assert asarray(address_of(x) + 8, (), "f8")[()] == 1.0


def test_strides_turn_the_axes_of_c_without_a_copy() -> None:
    v = np.arange(24, dtype="f4").reshape(2, 3, 4)  # float v[nz][ny][nx]
    nz, ny, nx = v.shape
    seen = asarray(address_of(v), (nx, ny, nz), "f4", strides=(4, 4 * nx, 4 * nx * ny))
    assert np.array_equal(seen, v.transpose(2, 1, 0))
    assert (pointer(seen), seen.flags.f_contiguous) == (address_of(v), True)


def test_strides_may_run_backwards_and_repeat(x: np.ndarray[Any, Any]) -> None:
    assert asarray(address_of(x) + 8 * 23, 24, "f8", strides=(-8,)).tolist() == x[::-1].tolist()
    assert asarray(memoryview(x), (3, 2), strides=(0, 16)).tolist() == [[0.0, 2.0]] * 3


def test_views_of_foreign_arrays_keep_their_layout(x: np.ndarray[Any, Any]) -> None:
    turned = x.reshape(4, 6).T[::-1]
    seen = asarray(turned, (6, 4), "f8", owner=Owner())
    assert (seen.strides, pointer(seen), seen.tolist()) == (turned.strides, pointer(turned), turned.tolist())


def test_nothing_may_be_anywhere() -> None:
    assert asarray(0, (0, 3), "f8").shape == (0, 3)


@pytest.mark.parametrize("obj", [b"\0" * 16, memoryview(bytearray(16)).toreadonly()])
def test_what_is_read_only_stays_so(obj: Any) -> None:
    assert [asarray(obj, 2, "f8").flags.writeable, asarray(obj).flags.writeable] == [False, False]


def test_a_read_only_array_travels_by_capsule_as_one(x: np.ndarray[Any, Any]) -> None:
    x.flags.writeable = False
    sent = ascapsule(x)
    assert _name(sent) == b"dltensor_versioned"
    assert not asarray(sent).flags.writeable


# ------------------------------------------------------------------------------------- lifetimes


def views(seen: Any) -> Any:
    """Nothing but a view of a view."""
    return seen.reshape(2, -1)[1].T[::-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["int", "capsule without a name", "array", "DLPack", "bytes of it", "ctypes pointer"]
)
def test_an_owner_lives_as_long_as_the_last_view(x: np.ndarray[Any, Any], source: str) -> None:
    owner = Owner()
    alive = weakref.ref(owner)
    seen = asarray(SOURCES[source](x), 24, "f8", owner=owner)
    del owner
    part = views(seen)
    del seen
    gc.collect()
    assert alive() is not None
    del part
    gc.collect()
    assert alive() is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dlpack", "pointer"])
@pytest.mark.parametrize("taken", [True, False])
def test_a_capsule_keeps_its_array_alive_and_no_longer(kind: Any, taken: bool) -> None:
    class Array(np.ndarray):  # type: ignore[type-arg]
        """One that can be watched."""

    own = np.arange(24.0).view(Array)
    alive = weakref.ref(own)
    sent = ascapsule(own, kind=kind)
    del own
    gc.collect()
    assert alive() is not None
    if taken:
        seen = asarray(sent, 24, "f8")
        del sent
        gc.collect()
        assert (alive() is not None, seen[23]) == (True, 23.0)
        del seen
    else:
        del sent
    gc.collect()
    assert alive() is None


def test_a_buffer_cannot_be_resized_under_its_array() -> None:
    own = bytearray(16)
    seen = asarray(own, 2, "f8")
    with pytest.raises(BufferError):
        own.append(1)
    del seen
    own.append(1)


# ------------------------------------------------------------------- DLPack as a C library makes it


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Library:
    """A producer of DLPack capsules that counts what is given back."""

    def __init__(self, x: np.ndarray[Any, Any], *, device: int = 1, code: int = 2, lanes: int = 1) -> None:
        self.deleted = 0
        self.x = x
        shape = (ctypes.c_int64 * x.ndim)(*x.shape)
        strides = (ctypes.c_int64 * x.ndim)(*(s // x.itemsize for s in x.strides))
        tensor = Tensor(
            address_of(x), device, 0, x.ndim, code, 8 * x.itemsize, lanes,
            ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)), 0,
        )  # fmt: skip
        self.kept = shape, strides
        self.managed = Managed(tensor, None, Deleter(self.delete))
        self.capsule = _new(ctypes.addressof(self.managed), b"dltensor", None)

    def delete(self, _: int) -> None:
        self.deleted += 1


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cupy)])
def test_a_deleter_is_called_once_with_the_last_view(x: np.ndarray[Any, Any], device: Any) -> None:
    library = Library(x.reshape(4, 6).T, device={"cpu": 1, "cuda": 2}[device])
    seen = asarray(library.capsule, device=device)
    assert (seen.shape, seen.strides, pointer(seen)) == ((6, 4), (8, 48), address_of(x))
    part = seen[1:].T
    del seen
    gc.collect()
    assert library.deleted == 0
    del part
    gc.collect()
    assert (library.deleted, _name(library.capsule).startswith(b"used_")) == (1, True)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cupy)])
def test_a_capsule_serves_once(x: np.ndarray[Any, Any], device: Any) -> None:
    library = Library(x, device={"cpu": 1, "cuda": 2}[device])
    seen = asarray(library.capsule, device=device)
    assert message(lambda: asarray(library.capsule, device=device)) == (
        "The capsule 'used_dltensor' was already used: its tensor now belongs to another array.\n"
        "Request a new capsule from its library; each can be used once."
    )
    del seen
    gc.collect()
    assert library.deleted == 1


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cupy)])
def test_a_refused_tensor_stays_in_its_capsule(x: np.ndarray[Any, Any], device: Any) -> None:
    library = Library(x, device={"cpu": 1, "cuda": 2}[device])
    assert "the memory has 192" in message(lambda: asarray(library.capsule, 25, device=device))
    gc.collect()
    assert (library.deleted, _name(library.capsule)) == (0, b"dltensor")


@pytest.mark.parametrize(("code", "lanes"), [(4, 1), (2, 4), (3, 1)])
def test_types_that_numpy_has_not_are_refused(x: np.ndarray[Any, Any], code: int, lanes: int) -> None:
    library = Library(x, code=code, lanes=lanes)
    told = message(lambda: asarray(library.capsule))
    assert told.startswith(f"The tensor has DLPack type {code} with 64 bits and {lanes} lanes")
    assert _name(library.capsule) == b"dltensor"


def test_what_dlpack_has_no_type_for_goes_as_a_pointer() -> None:
    own = np.zeros(2, "M8[s]")
    assert "Use kind='pointer'" in message(lambda: ascapsule(own))
    assert asarray(ascapsule(own, kind="pointer"), 2, "M8[s]").tolist() == own.tolist()


# ------------------------------------------------------------------------------------- refusals


def test_errors_say_what_is_wrong_and_what_to_do(x: np.ndarray[Any, Any]) -> None:
    at = address_of(x)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: asarray(0, 3, "f8"), "The pointer is null.\nPass the address of the first element."),
        (
            lambda: asarray(ctypes.c_void_p(None), 3, "f8"),
            "The pointer is null.\nPass the address of the first element.",
        ),
        (
            lambda: asarray(at + 4, 3, "f8"),
            f"The address {at + 4:#x} is not aligned for float64, which needs a multiple of 8.\n"
            "Pass the address of an element, or use a packed record dtype.",
        ),
        (
            lambda: asarray(at, 3, "f8", strides=(12,)),
            "The strides (12,) are not multiples of 8, which float64 needs.\n"
            "Strides count bytes: multiply steps in elements by the item size.",
        ),
        (
            lambda: asarray(memoryview(x), 25),
            "shape=(25,) of float64 takes 200 bytes; the memory has 192.\nPass the shape of the memory.",
        ),
        (
            lambda: asarray(memoryview(x), 23),
            "shape=(23,) of float64 takes 184 bytes; the memory has 192.\nPass the shape of the memory.",
        ),
        (
            lambda: asarray(memoryview(x), 24, strides=(-8,)),
            "shape=(24,) of float64 with strides=(-8,) takes 192 bytes, from -184 on; the memory has 192.\n"
            "Pass the shape of the memory.",
        ),
        (
            lambda: asarray(memoryview(x), 24, "i8"),
            "The memory contains float64, not int64.\nOmit dtype, and call .view('int64') on the result.",
        ),
        (lambda: asarray(at), "An address does not include the shape and dtype.\nPass shape and dtype."),
        (lambda: asarray(at, dtype="f8"), "An address does not include the shape.\nPass shape and dtype."),
        (
            lambda: asarray(at, (2, -1), "f8"),
            "shape=(2, -1) has a negative size.\nPass the number of elements.",
        ),
        (
            lambda: asarray(at, 3, object),
            "dtype object contains Python objects, which foreign memory cannot have.\nUse a number type.",
        ),
        (
            lambda: asarray(at, (2, 2), "f8", strides=(8,)),
            "strides=(8,) has 1 of the 2 strides that an array of this shape needs.\n"
            "Pass one stride for each axis, in bytes.",
        ),
        (
            lambda: asarray(-8, 3, "f8"),
            "24 bytes at -0x8 are not a valid range of memory.\nCheck the address and the shape.",
        ),
        (lambda: asarray(at, 3, "f8", device="gpu"), "device='gpu' is not a valid device.\nWrite 'cpu' or 'cuda'."),  # type: ignore[arg-type]
        (
            lambda: ascapsule([1.0, 2.0]),
            "list is not an array with an address.\nPass an array of NumPy, CuPy or torch.",
        ),
        (
            lambda: asarray(x, device="cuda"),
            "The ndarray refers to memory of the CPU, not of a GPU.\nWrite device='cpu'.",
        ),
        (
            lambda: asarray(Library(x, device=2).capsule),
            "The PyCapsule refers to memory of a GPU, not of the CPU.\nWrite device='cuda'.",
        ),
        (
            lambda: asarray(Library(x, device=8).capsule),
            "The PyCapsule refers to memory of DLPack device 8, not of the CPU.\nCopy it to the CPU first.",
        ),
        (
            lambda: asarray(_new(at, b"arrow_array", None), 3, "f8"),
            "The capsule 'arrow_array' contains a structure or a C interface, not an array.\n"
            "Pass a capsule whose pointer is the first element, or a DLPack capsule ('dltensor').",
        ),
        (
            lambda: asarray(_new(at, b"sys.api", None), 3, "f8"),
            "The capsule 'sys.api' contains a structure or a C interface, not an array.\n"
            "Pass a capsule whose pointer is the first element, or a DLPack capsule ('dltensor').",
        ),
        (
            lambda: asarray([1.0, 2.0]),
            "list [1.0, 2.0] does not refer to memory: memoryview: a bytes-like object is required, not 'list'.\n"
            "Pass an address, a PyCapsule, a ctypes or cffi pointer, a buffer, or an array of any library.",
        ),
        (
            lambda: asarray(x[::2], 6),
            "The memory has the shape (12,) and the strides (16,), which cannot be changed here.\n"
            "Omit shape, dtype and strides, and reshape the result.",
        ),
        (lambda: ascapsule(x, kind="x"), "kind='x' is not a kind of capsule.\nWrite 'dlpack' or 'pointer'."),  # type: ignore[arg-type]
        (
            lambda: ascapsule(x[:0], kind="pointer"),
            "An empty array has no first element to point to.\nUse kind='dlpack'.",
        ),
        (
            lambda: pointer([1]),
            "list is not an array with an address.\nPass an array of NumPy, CuPy or torch.",
        ),
    ]
    assert [message(call) for call, _ in cases] == [expected for _, expected in cases]


def test_a_gpu_array_without_cupy_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def cupy() -> Any:
        raise ModuleNotFoundError("No module named 'cupy'", name="cupy")

    replace_name(monkeypatch, driver, "import_cupy", cupy)
    driver.explain_missing.cache_clear()
    with pytest.raises(ToolchainError, match=r"(?s)CuPy .*pip install cupy"):
        asarray(np.zeros(1).ctypes.data, (1,), "f8", device="cuda")
    driver.explain_missing.cache_clear()


@pytest.mark.parametrize("wrong", [2.5, "3", (2.5,), (None,)])
def test_a_shape_that_is_none_is_refused(x: np.ndarray[Any, Any], wrong: Any) -> None:
    assert "Pass integers and a dtype" in message(lambda: asarray(address_of(x), wrong, "f8"))


def test_an_unaligned_record_can_be_asked_for() -> None:
    own = np.arange(9, dtype="u1")
    assert asarray(address_of(own) + 1, 1, [("v", "<u4")])["v"][0] == 0x04030201


# ------------------------------------------------------------------------------------------ GPU


class OnGpu:
    """An array of a library that shares the memory of a GPU."""

    def __init__(self, shape: tuple[int, ...], address: int, *, readonly: bool = False) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": "<f8",
            "data": (address, readonly),
            "version": 3,
        }


@needs_cupy
class TestCuPy:
    def test_an_address_becomes_an_array_of_cupy(self, x: np.ndarray[Any, Any]) -> None:
        import cupy

        seen = asarray(address_of(x), (4, 6), "f8", device="cuda")
        assert isinstance(seen, cupy.ndarray)
        assert (pointer(seen), seen.shape, seen.strides, seen.dtype) == (address_of(x), (4, 6), (48, 8), np.dtype("f8"))
        assert pointer(seen[1, 2:]) == address_of(x) + 64

    def test_strides_and_axes_are_kept(self, x: np.ndarray[Any, Any]) -> None:
        seen = asarray(address_of(x), (6, 4), "f8", device="cuda", strides=(8, 48))
        assert (seen.flags.f_contiguous, seen.T.strides) == (True, (48, 8))
        back = asarray(address_of(x) + 8 * 23, 24, "f8", device="cuda", strides=(-8,))
        assert (pointer(back), back.strides) == (address_of(x) + 8 * 23, (-8,))

    @pytest.mark.parametrize("source", ["int", "capsule without a name", "capsule with a name", "ctypes void pointer"])
    def test_an_owner_lives_as_long_as_the_last_view(self, x: np.ndarray[Any, Any], source: str) -> None:
        owner = Owner()
        alive = weakref.ref(owner)
        seen = asarray(SOURCES[source](x), 24, "f8", device="cuda", owner=owner)
        del owner
        part = seen.reshape(2, -1)[1].T[::-1]
        del seen
        gc.collect()
        assert alive() is not None
        del part
        gc.collect()
        assert alive() is None

    def test_a_capsule_of_a_pointer_goes_back(self, x: np.ndarray[Any, Any]) -> None:
        seen = asarray(address_of(x), 24, "f8", device="cuda", owner=x)
        sent = ascapsule(seen, kind="pointer")
        assert pointer(asarray(sent, (24,), "f8", device="cuda")) == address_of(x)

    def test_the_device_is_the_one_that_was_said(self, x: np.ndarray[Any, Any]) -> None:
        assert asarray(address_of(x), 24, "f8", device="cuda", device_id=3).device.id == 3

    def test_the_interface_of_cuda_is_read(self, x: np.ndarray[Any, Any]) -> None:
        own = OnGpu((4, 6), address_of(x))
        seen = asarray(own, (24,), "f8", device="cuda")
        assert (pointer(seen), seen.shape) == (address_of(x), (24,))
        assert pointer(own) == address_of(x)
        assert message(lambda: asarray(own, (25,), "f8", device="cuda")).startswith("shape=(25,) of float64 takes")
        assert message(lambda: asarray(own)) == (
            "The OnGpu refers to memory of a GPU, not of the CPU.\nWrite device='cuda'."
        )

    def test_read_only_memory_is_refused(self, x: np.ndarray[Any, Any]) -> None:
        own = OnGpu((24,), address_of(x), readonly=True)
        assert message(lambda: asarray(own, (24,), "f8", device="cuda")) == (
            "The memory on the GPU is read-only, but CuPy has no read-only arrays.\n"
            "Copy it in the library that owns it."
        )

    def test_wrong_addresses_are_refused_as_on_the_cpu(self, x: np.ndarray[Any, Any]) -> None:
        assert message(lambda: asarray(0, 3, "f8", device="cuda")).startswith("The pointer is null.")
        assert "is not aligned" in message(lambda: asarray(address_of(x) + 1, 3, "f8", device="cuda"))

    def test_an_array_of_cupy_is_none_of_the_cpu(self, x: np.ndarray[Any, Any]) -> None:
        seen = asarray(address_of(x), 24, "f8", device="cuda")
        assert "refers to memory of a GPU, not of the CPU" in message(lambda: asarray(seen))
        assert asarray(seen, device="cuda") is seen

    def test_an_array_of_cupy_takes_an_owner_and_another_shape(self, x: np.ndarray[Any, Any]) -> None:
        owner = Owner()
        seen = asarray(asarray(address_of(x), 24, "f8", device="cuda"), (4, 6), device="cuda", owner=owner)
        assert (seen.shape, pointer(seen)) == ((4, 6), address_of(x))
        alive = weakref.ref(owner)
        del owner, seen
        gc.collect()
        assert alive() is None


@needs_torch
def test_tensors_of_torch_share_their_memory() -> None:
    import torch

    own = torch.arange(6, dtype=torch.float32)
    seen = asarray(own, (2, 3))
    seen[1, 1] = -1
    assert (float(own[4]), pointer(own)) == (-1.0, pointer(seen))
    assert "Give x.detach()" in message(lambda: asarray(torch.zeros(2, requires_grad=True)))


# ---------------------------------------------------------------------------------------- reach


@pytest.mark.slow
def test_round_trips_leave_nothing_behind() -> None:
    psutil = pytest.importorskip("psutil", reason="psutil is not installed (extra: test)")
    own = np.zeros(1 << 20)
    at, sent = address_of(own), ascapsule(own, kind="pointer")

    def trips(count: int) -> None:
        for _ in range(count):
            asarray(at, (1024, 1024), "f8", owner=own)
            asarray(sent, (1 << 20,), "f8")
            asarray(ascapsule(own))
            ascapsule(own, kind="pointer")

    trips(2_000)
    gc.collect()
    objects, resident = len(gc.get_objects()), [psutil.Process().memory_info().rss]
    for _ in range(4):
        trips(2_000)
        gc.collect()
        resident.append(psutil.Process().memory_info().rss)
    # What leaks grows each time; a heap that other tests have left grows once.
    assert min(later - earlier for earlier, later in itertools.pairwise(resident)) < 500_000
    assert len(gc.get_objects()) - objects < 100


def test_capsules_that_are_left_at_the_end_do_no_harm() -> None:
    code = (
        "import numpy as np, sys\nfrom ufunc_magic.interop import asarray, ascapsule\n"
        "x = np.arange(6.0)\n"
        "sys.kept = [ascapsule(x, kind='pointer'), ascapsule(x), asarray(ascapsule(x), (2, 3))]\n"
        "sys.kept.append(sys.kept)\n"
        "print('end')"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("end\n", "")


def test_array_module_and_bytearray_are_buffers() -> None:
    assert asarray(array.array("d", [1, 2])).tolist() == [1.0, 2.0]
    assert asarray(bytearray(b"\1\0\2\0"), 2, "<u2").tolist() == [1, 2]
