"""Numba functions as object code: the same values and exceptions, in processes without Numba and compilers."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import REPOSITORY
from ufunc_magic import model, runtime
from ufunc_magic.interop import numba as numbacode
from ufunc_magic.model import SignatureError, ToolchainError
from ufunc_magic.runtime import loader

numba = pytest.importorskip("numba", reason="Numba is not installed")
llvm = pytest.importorskip("llvmlite.binding")
pytestmark = [
    pytest.mark.usefixtures("shared_cache"),
    pytest.mark.numba,
    pytest.mark.filterwarnings("ignore::numba.NumbaWarning"),
    pytest.mark.skipif(llvm.llvm_version_info < (17,), reason="Numba's LLVM is too old for from_numba"),
]


def lend(handle: ctypes.CDLL) -> None:
    """Give an object that raises Python's functions, where the loader has not done it."""
    if not hasattr(handle, "__ufm_python_names"):
        return
    names = (ctypes.c_char_p.in_dll(handle, "__ufm_python_names").value or b"").decode().split()
    table = (ctypes.c_void_p * len(names)).in_dll(handle, "__ufm_python")
    for n, name in enumerate(names):
        table[n] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    ctypes.py_object.in_dll(handle, "__ufm_exception").value = runtime.make_exception


def opened(code: model.ObjectCode, path: Path) -> np.ufunc:
    path.write_bytes(code.code)
    library = loader.open_library(code, path)
    lend(library.handle)
    return runtime.make_ufunc(code.functions[0], library.loops, module=__name__, owner=library)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., np.ufunc]:
    """Make the ufunc of a Numba function."""
    count = iter(range(1000))

    def make(func: Any, **options: Any) -> np.ufunc:
        folder = tmp_path / str(next(count))
        folder.mkdir()
        return opened(numbacode.compile_object_code(func, folder=folder, **options), folder / "out.so")

    return make


# ------------------------------------------------------------------------------------------- values


@numba.njit("f8(f8)")
def reciprocal(a):  # type: ignore[no-untyped-def]
    """One over a."""
    return 1 / a


@numba.vectorize(["f4(f4)", "f8(f8)"], identity=0)
def decay(a):  # type: ignore[no-untyped-def]
    return 4 * a + math.exp(-a) if a < 0.5 else math.log(a)


@numba.njit("f8(f8)")
def half(a):  # type: ignore[no-untyped-def]
    return a / 2


@numba.njit("f8(f8)")
def quarter(a):  # type: ignore[no-untyped-def]
    return half(half(a))


@numba.njit("i8(i8)")
def factorial(n):  # type: ignore[no-untyped-def]
    return n * factorial(n - 1) if n > 1 else 1


@numba.njit("UniTuple(f8, 2)(f8)")
def sine_and_cosine(a):  # type: ignore[no-untyped-def]
    return math.sin(a), math.cos(a)


@numba.njit("Tuple((f8, i4))(f8)")
def mantissa(a):  # type: ignore[no-untyped-def]
    return math.frexp(a)


@numba.njit("c16(c16, c16)")
def power(a, b):  # type: ignore[no-untyped-def]
    return a**b


@numba.njit("b1(u1, b1)")
def odd(a, flip):  # type: ignore[no-untyped-def]
    return ((a & 1) == 1) != flip


TABLE = np.arange(10.0) * 2


@numba.njit("f8(i8)")
def looked_up(i):  # type: ignore[no-untyped-def]
    return TABLE[i]


@numba.njit("i4(i4, i4)")
def remainder(a, b):  # type: ignore[no-untyped-def]
    return a % b


X = np.linspace(0.01, 9, 1003)


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (reciprocal, (X,)),
        (decay, (X,)),
        (decay, (X.astype("f4"),)),
        (quarter, (X,)),
        (factorial, (np.arange(20),)),
        (power, (X + 1j, np.conj(X[::-1] + 2j) / 9)),
        (odd, (np.arange(256, dtype="u1"), np.arange(256) % 3 == 0)),
        (looked_up, (np.arange(10),)),
        (remainder, (np.arange(-500, 503, dtype="i4"), np.full(1003, 7, "i4"))),
    ],
)
def test_values_are_numbas(made: Callable[..., np.ufunc], func: Any, args: tuple[Any, ...]) -> None:
    expected = np.array([func(*each) for each in zip(*args, strict=True)])
    found = made(func)(*args)
    # libmvec's functions and libm's differ in the last bit or two.
    np.testing.assert_allclose(found, expected, rtol=1e-6 if found.dtype == "f4" else 1e-15)


def test_a_tuple_is_several_outputs(made: Callable[..., np.ufunc]) -> None:
    found = made(sine_and_cosine)
    assert (found.nin, found.nout) == (1, 2)
    np.testing.assert_allclose(found(X), (np.sin(X), np.cos(X)), rtol=1e-15, atol=1e-15)
    for ours, numpys in zip(made(mantissa)(X), np.frexp(X), strict=True):
        assert np.array_equal(ours, numpys)
        assert ours.dtype == numpys.dtype


def test_a_value_does_not_depend_on_its_place(made: Callable[..., np.ufunc]) -> None:
    found = made(decay)
    whole = found(X)
    for start, stop in ((0, 1), (3, 20), (5, 68), (1000, 1003)):
        assert np.array_equal(found(X[start:stop]), whole[start:stop])
        assert np.array_equal(found(X[start:stop:2]), whole[start:stop:2])


def test_it_is_described_as_in_python(made: Callable[..., np.ufunc]) -> None:
    found = made(reciprocal)
    assert found.__name__ == "reciprocal"
    assert str(found.__signature__).startswith("(a, /")  # type: ignore[attr-defined]
    assert "One over a." in (found.__doc__ or "")
    assert "return 1 / a" in found.__source__  # type: ignore[attr-defined]
    assert made(reciprocal, name="inverse").__name__ == "inverse"


def test_loops_and_identity_are_those_of_vectorize(made: Callable[..., np.ufunc]) -> None:
    found = made(decay)
    assert found.types == ["f->f", "d->d"]
    assert found.identity == 0


def test_reduce_accumulate_where_out_and_in_place(made: Callable[..., np.ufunc]) -> None:
    add = made(numba.vectorize(["f8(f8, f8)", "i8(i8, i8)"], identity=0)(lambda a, b: a + b), name="add")
    assert add.reduce(np.arange(1000)) == 499500
    assert np.array_equal(add.accumulate(np.arange(9.0)), np.cumsum(np.arange(9.0)))
    x = np.arange(2000.0)
    add(x[:-1], x[1:], out=x[1:])
    assert np.array_equal(x[1:], 2 * np.arange(1, 2000) - 1)
    out = np.zeros(4)
    assert np.array_equal(add(1.0, np.arange(4.0), out=out, where=[True, False] * 2), [1, 0, 3, 0])


def test_lazily_compiled_functions_have_what_was_called(made: Callable[..., np.ufunc]) -> None:
    lazy = numba.njit(lambda a: a + a)
    lazy(1.5)
    lazy(np.ones(3))  # an array: no loop
    found = made(lazy, name="twice")
    assert found.types == ["d->d"]
    universal = numba.vectorize(lambda a: a + a)
    universal(np.arange(3))
    assert made(universal, name="twice")(np.arange(3)).tolist() == [0, 2, 4]


def test_signatures_are_compiled_when_asked_for(made: Callable[..., np.ufunc]) -> None:
    twice = numba.njit(lambda a: a + a)
    assert made(twice, signatures=["f8(f8)", "f->f", "int32(int32)"], name="twice").types == ["i->i", "f->f", "d->d"]
    universal = numba.vectorize(lambda a: a + a)
    assert made(universal, signatures=["f8(f8)", "l->l"], name="twice").types == ["l->l", "d->d"]


@pytest.mark.slow
def test_a_function_from_numbas_cache(made: Callable[..., np.ufunc], tmp_path: Path) -> None:
    module = tmp_path / "kept.py"
    module.write_text("import numba\n@numba.njit('f8(f8)', cache=True)\ndef f(a):\n    return 1 / (a - 1)\n")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "PYTHONPATH": f"{REPOSITORY}:{tmp_path}"}
    program = (
        "import pathlib, kept; from ufunc_magic.interop import numba as numbacode; "
        "print(sum(kept.f.stats.cache_hits.values()));"
        f"code = numbacode.compile_object_code(kept.f, folder=pathlib.Path({str(tmp_path)!r}));"
        f"open({str(tmp_path / 'code')!r}, 'wb').write(code.to_bytes())"
    )
    hits = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        hits.append(done.stdout.strip())
    assert hits == ["0", "1"]
    found = opened(model.ObjectCode.from_bytes((tmp_path / "code").read_bytes()), tmp_path / "kept.so")
    assert found(3.0) == 0.5
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        found(1.0)


def test_flags_of_branches_not_taken_are_not_reported(made: Callable[..., np.ufunc]) -> None:
    safe = made(numba.vectorize(["f8(f8)"])(lambda a: 1 / a if a > 0 else 0.0), name="safe")
    with np.errstate(all="raise"):
        assert safe(np.zeros(1000)).sum() == 0
    bare = made(numba.vectorize(["f8(f8)"])(lambda a: 1 / a), name="bare")
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        bare(np.zeros(1000))


# -------------------------------------------------------------------------------------------- exceptions


class TooCold(ValueError):
    """An exception of the user's own."""


@numba.njit("f8(f8)")
def kelvin(t):  # type: ignore[no-untyped-def]
    if t < -273.15:
        raise TooCold("colder than it gets", -273.15)
    return t + 273.15


@numba.njit("f8(f8, i8, b1, u4, c16)")
def told(a, n, flag, u, z):  # type: ignore[no-untyped-def]
    if a < 0:
        raise ValueError("below", a, n, flag, u, z, (1, "x"))
    return a


@numba.njit("f8(f8)")
def outer(a):  # type: ignore[no-untyped-def]
    return kelvin(a) + 1


@numba.njit("f8(f8)")
def escaped(a):  # type: ignore[no-untyped-def]
    if a < 0:
        raise ValueError('C:\\new "é" \n 5C \\')
    return a


@pytest.mark.parametrize(
    "place",
    [slice(None), slice(None, None, 2), slice(None, None, -1)],
    ids=["contiguous", "strided", "reversed"],
)
def test_the_first_element_that_fails_raises(made: Callable[..., np.ufunc], place: slice) -> None:
    x = np.arange(1.0, 3001.0)
    view = x[place]
    view[700] = 0
    out = np.full(view.shape, -1.0)
    with pytest.raises(ZeroDivisionError, match=r"^division by zero$"):
        made(reciprocal)(view, out=out)
    assert np.array_equal(out[:700], 1 / view[:700])


def test_the_users_own_exceptions_are_raised_as_themselves(made: Callable[..., np.ufunc]) -> None:
    found = made(kelvin)
    assert found(0) == 273.15
    with pytest.raises(TooCold) as raised:
        found([0, -300])
    assert raised.value.args == ("colder than it gets", -273.15)
    assert raised.traceback[-1].path == Path(__file__)
    with pytest.raises(TooCold):
        made(outer)(-300)


def test_a_message_may_hold_any_character(made: Callable[..., np.ufunc]) -> None:
    with pytest.raises(ValueError, match="C:") as raised:
        made(escaped)(-1.0)
    assert raised.value.args == ('C:\\new "é" \n 5C \\',)


def test_arguments_of_run_time_are_there(made: Callable[..., np.ufunc]) -> None:
    found = made(told)
    assert found(1.5, 1, True, 1, 1) == 1.5
    with pytest.raises(ValueError, match="below") as raised:
        found([1.5, -2.5, -3.5], -7, True, 2**32 - 1, 3 + 4j)
    assert raised.value.args == ("below", -2.5, -7, True, 2**32 - 1, 3 + 4j, (1, "x"))
    assert [type(a) for a in raised.value.args] == [str, float, int, bool, int, complex, tuple]


def test_an_exception_leaves_nothing_behind(made: Callable[..., np.ufunc]) -> None:
    found = made(reciprocal)
    before = sys.getrefcount(ZeroDivisionError)
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            found(np.zeros((3, 5))[:, ::2])
        assert found(2.0) == 0.5
    assert sys.getrefcount(ZeroDivisionError) < before + 50


def test_reduce_raises(made: Callable[..., np.ufunc]) -> None:
    ratio = made(numba.njit("f8(f8, f8)")(lambda a, b: a / b), name="ratio")
    assert ratio.reduce([16.0, 2.0, 4.0]) == 2
    with pytest.raises(ZeroDivisionError):
        ratio.reduce([16.0, 0.0, 4.0])


def test_exceptions_that_the_process_lacks_keep_name_and_base() -> None:
    text = '{"class": [["no.such", "Outer.Missing"], ["builtins", "KeyError"]], "arguments": [1, {"tuple": [2, "x"]}]}'
    found = runtime.make_exception(text)
    assert isinstance(found, KeyError)
    assert (type(found).__module__, type(found).__name__) == ("no.such", "Missing")
    assert found.args == (1, (2, "x"))


# -------------------------------------------------------------------------------------------- refusals


@numba.njit("f8(f8)")
def with_array(a):  # type: ignore[no-untyped-def]
    x = np.zeros(3)
    x[int(a)] = a
    return x.sum()


@numba.njit("f8(f8)")
def with_text(a):  # type: ignore[no-untyped-def]
    if a < 0:
        raise ValueError(f"below zero: {a}")
    return a


@numba.njit("f8(f8)")
def with_print(a):  # type: ignore[no-untyped-def]
    print(a)  # noqa: T201
    return a


@numba.njit("f8(f8)")
def with_objects(a):  # type: ignore[no-untyped-def]
    with numba.objmode(y="f8"):
        y = a + 1
    return y


@numba.njit("f8(f8)")
def with_random(a):  # type: ignore[no-untyped-def]
    return a + np.random.random()


@numba.njit("f8(f8[:])")
def of_array(a):  # type: ignore[no-untyped-def]
    return a[0]


@numba.njit("void(f8)")
def nothing(a):  # type: ignore[no-untyped-def]
    pass


@pytest.mark.parametrize(
    ("func", "reason"),
    [
        (with_array, "needs Numba's runtime .NRT_.*arrays, lists or strings"),
        (with_text, "needs Numba's runtime .NRT_.*strings"),
        (with_print, "calls of Python"),
        (with_objects, "calls of Python"),
        (with_random, "random numbers"),
        (of_array, "no compiled signature of numbers.*array.float64, 1d, A. is not a number"),
        (nothing, "none is not a number"),
        (numba.njit(lambda a: a), "no compiled signature of numbers"),
        (numba.vectorize(lambda a: a), "no compiled signature of numbers"),
        (np.sin, "is not a Numba function of numbers"),
        (math.sin, "is not a Numba function of numbers"),
    ],
)
def test_what_cannot_run_alone_is_refused(tmp_path: Path, func: Any, reason: str) -> None:
    with pytest.raises(SignatureError, match=reason):
        numbacode.compile_object_code(func, folder=tmp_path)


def test_addresses_of_this_process_are_refused(tmp_path: Path) -> None:
    cosine = ctypes.CDLL(None).cos
    cosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]
    with pytest.raises(SignatureError, match="address in this process"):
        numbacode.compile_object_code(numba.njit("f8(f8)")(lambda a: cosine(a)), folder=tmp_path)


@pytest.mark.parametrize("words", ["spam", "f8[:](f8[:])", "f8(f8, f8)"])
def test_signatures_that_do_not_do(tmp_path: Path, words: str) -> None:
    with pytest.raises(SignatureError):
        numbacode.compile_object_code(numba.njit(lambda a: a), signatures=[words], folder=tmp_path)
    with pytest.raises(SignatureError):
        numbacode.compile_object_code(reciprocal, signatures=[words], folder=tmp_path)


# --------------------------------------------------------------------------------- on the other side

OTHER_SIDE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "Cython", "subprocess"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import ctypes, pathlib
import numpy as np
from ufunc_magic.model import object_code as objectcode
from ufunc_magic import runtime
from ufunc_magic.runtime import loader, numpy_ufunc as ufunc
code = objectcode.ObjectCode.from_bytes(pathlib.Path(sys.argv[1]).read_bytes())
path = pathlib.Path(sys.argv[1] + ".so")
path.write_bytes(code.code)
library = loader.open_library(code, path)
LEND
f = ufunc.make_ufunc(code.functions[0], library.loops, module="m", owner=library)
print(f(np.array([2.0, 4.0])).tolist())
try:
    f(np.array([2.0, 0.0, -300.0]))
except ArithmeticError as fault:
    print(repr(fault))
except ValueError as fault:
    print(type(fault).__module__, repr(fault))
assert not {"numba", "llvmlite", "subprocess", "ufunc_magic.compilers"} & set(sys.modules)
"""


@pytest.mark.parametrize(
    ("func", "said"),
    [
        (reciprocal, ["[0.5, 0.25]", "ZeroDivisionError('division by zero')"]),
        (kelvin, ["[275.15, 277.15]", f"{__name__} TooCold('colder than it gets', -273.15)"]),
    ],
)
def test_a_process_without_numba_and_compiler_runs_it(tmp_path: Path, func: Any, said: list[str]) -> None:
    code = numbacode.compile_object_code(func, folder=tmp_path)
    path = tmp_path / "code"
    path.write_bytes(code.to_bytes())
    program = OTHER_SIDE.replace("LEND", f"{inspect.getsource(lend)}\nlend(library.handle)\n")
    program = "from __future__ import annotations\n" + program
    environment = {"PATH": "", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == said


def test_an_old_llvm_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("llvmlite.binding.llvm_version_info", (15, 0, 7))
    with pytest.raises(ToolchainError, match=r"(?s)LLVM 15\.0\.7.*numba>=0\.62"):
        numbacode.compile_object_code(reciprocal, folder=tmp_path)


def test_a_numba_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr("numba.core.codegen.CPUCodeLibrary._get_module_for_linking")
    with pytest.raises(ToolchainError) as caught:
        numbacode.compile_object_code(reciprocal, folder=tmp_path)
    assert str(caught.value) == (
        f"numba {numba.__version__} has no JITCodeLibrary._get_module_for_linking, which ufunc_magic needs.\n"
        "Install a supported version: pip install 'ufunc_magic[numba]'."
    )


def test_it_runs_on_every_cpu_of_its_kind(tmp_path: Path) -> None:
    code = numbacode.compile_object_code(reciprocal, folder=tmp_path)
    assert code.target.level == "baseline"
    assert code.language == "numba"
    # clang's driver is larger than gcc's.
    assert len(code.to_bytes()) < (48_000 if "gcc" in code.toolchain else 56_000)
