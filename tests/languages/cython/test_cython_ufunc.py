"""Ufuncs from Cython functions of numbers: types, outputs, what stays a Python function, math.

What Cython's own ufunc tests promise is restated here, for functions with and without ``@cython.ufunc``.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.model import MOST_TIMED
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

#: Irregular strides, one and two dimensions, short and beyond the size where NumPy releases the GIL.
INTS = np.arange(20, dtype=np.intc)[::4]
INTS_2D = np.arange(500, dtype=np.intc).reshape(50, -1)[5:8, 6:8]
MANY = np.arange(1500, dtype=np.intc)
MANY_2D = np.arange(1500 * 60, dtype=np.intc).reshape(1500, -1)


TYPES = '''
cimport cython
cimport numpy as cnp

ctypedef double mydouble
ctypedef int myint
ctypedef double complex mycomplex

cdef extern from *:
    """
    typedef float their_float;
    typedef short their_int;
    typedef unsigned char their_unsigned;
    typedef signed long long their_signed;
    """
    ctypedef double their_float
    ctypedef int their_int
    ctypedef unsigned int their_unsigned
    ctypedef signed int their_signed


@cython.ufunc
cdef double tripled(int x) nogil:
    """tripled doc"""
    return x * 3.0


cdef double undecorated(int x) nogil:
    """undecorated doc"""
    return x * 3.0


cpdef double power(double x, double y):
    return x ** y


def square(double x):
    return x * x


def quotient(int x):
    return 2 / x


def hypotenuse(double x, double y):
    cdef double s = x * x + y * y
    return s ** 0.5


@cython.ufunc
cdef (double, int) one_and_half_and_double(int x):
    return x * 1.5, x * 2


cdef (double, int) through_a_tuple(int x):
    both = (x * 1.5, x * 2)
    return both


@cython.ufunc
cdef cython.numeric plus_one(cython.numeric x):
    return x + 1


cdef (cython.numeric, cython.numeric) plus_one_twice(cython.numeric x):
    return x + 1, x + 1


cdef cython.floating mean(cython.floating x, cython.floating y) noexcept nogil:
    return (x + y) / 2


cdef mydouble known_typedefs(myint x, mycomplex y):
    return x * y.real * y.imag


cdef their_float lying_typedefs(their_int x, their_signed y, their_unsigned z):
    return x + y + z


cdef double lying_twice(their_float x, their_float y):
    return x * y


cdef int every_integer(unsigned char a1, signed char a2, unsigned short a3, short a4, signed short a5, unsigned int a6,
                       int a7, signed int a8, unsigned long a9, long a10, signed long a11, long long a12):
    return a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12


cdef int every_sized_integer(cnp.uint8_t a1, cnp.int8_t a2, cnp.uint16_t a3, cnp.int16_t a4,
                             cnp.uint32_t a5, cnp.int32_t a6, cnp.uint64_t a7, cnp.int64_t a8):
    return a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8


cdef int every_float(float a1, double a2, long double a3):
    return <int>(a1 + a2 + a3)


cdef int every_complex(float complex a1, double complex a2, long double complex a3):
    return <int>(a1.real + a2.imag + a3.real)


cdef long double third(long double x):
    return x / 3


cdef long double complex turned(long double complex z):
    return z * 1j


cdef Py_ssize_t index(Py_ssize_t i, size_t n):
    return i % <Py_ssize_t>n


cdef double with_an_inner_function(double x):
    def f(x):
        return x * 2
    return f(x)


cdef double with_objects(double x) noexcept:
    values = [x, x + 1]
    return sum(values) + len({"a": 1})


cdef double constant() noexcept:
    return 42


def with_default(double x, double y=2):
    return x * y


def with_untyped(double x, y):
    return x * y


def with_stars(*args):
    return len(args)


def text(int x):
    return f"{x}!"


def maybe(double x):
    if x > 0:
        return x
'''


@pytest.fixture(scope="module")
def types(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, TYPES, language="cython")


@pytest.mark.parametrize("name", ["tripled", "undecorated"])
def test_decorator_changes_nothing(types: Build, name: str) -> None:
    f = types[name]
    assert isinstance(f, np.ufunc)
    assert (f.nin, f.nout, f.types) == (1, 1, ["i->d"])
    assert f"\n{name} doc\n" in f.__doc__
    np.testing.assert_array_equal(f(INTS), [0, 12, 24, 36, 48])
    np.testing.assert_array_equal(f(INTS_2D), INTS_2D * 3.0)
    np.testing.assert_array_equal(f(MANY), MANY * 3.0)
    np.testing.assert_array_equal(f(MANY_2D[::2, ::3]), MANY_2D[::2, ::3] * 3.0)


def test_scalars_in_give_a_scalar_out(types: Build) -> None:
    assert type(types.tripled(2)) is np.float64
    assert types.power(2.0, 10.0) == 1024
    assert types.power(np.arange(3.0), [[1.0], [2.0]]).shape == (2, 3)


def test_typed_def_with_a_number_for_its_result_is_a_ufunc(types: Build) -> None:
    assert {name: types[name].types for name in ("square", "quotient", "hypotenuse")} == {
        "square": ["d->d"],
        "quotient": ["i->d"],
        "hypotenuse": ["dd->d"],
    }
    assert types.hypotenuse(np.array([3.0, 5.0]), np.array([4.0, 12.0])).tolist() == [5, 13]
    assert types.quotient(10) == 0.2


def test_tuple_of_c_numbers_is_several_outputs(types: Build) -> None:
    for name in ("one_and_half_and_double", "through_a_tuple"):
        f = types[name]
        assert f.types == ["i->di"]
        floats, ints = f(INTS)
        np.testing.assert_array_equal(floats, INTS * 1.5)
        np.testing.assert_array_equal(ints, INTS * 2)
        assert (floats.dtype.char, ints.dtype.char) == ("d", "i")


def test_fused_type_is_a_loop_per_type(types: Build) -> None:
    assert types.plus_one.types == [f"{t}->{t}" for t in "hilfdFD"]
    for dtype in "hilfdFD":
        x = np.array([0, 4, 8], dtype)
        result = types.plus_one(x)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, x + 1)
    assert types.plus_one(1j) == 1 + 1j
    assert types.mean.types == ["ff->f", "dd->d"]
    assert types.mean(np.float32(1), np.float32(2)).dtype == "f"


@pytest.mark.slow
def test_fused_type_of_mixed_kinds_has_a_python_form_of_the_timed_type(shared_cache_folder: Path) -> None:
    made = compile_in(
        shared_cache_folder,
        "ctypedef fused number:\n    float\n    double\n    long long\n"
        "cpdef number square(number x) noexcept:\n    return x * x\n"
        "def plain(number x):\n    return x\n",
        language="cython",
    )
    square, plain = made.report_data.functions
    assert "_int" not in square.checked
    assert "_int" not in plain.checked
    assert made.plain.types == made.square.types == ["q->q", "f->f", "d->d"]


def test_fused_tuple_has_the_type_of_the_input_in_every_output(types: Build) -> None:
    for dtype in "ilfdFD":
        first, second = types.plus_one_twice(np.array([0, 4], dtype))
        assert (first.dtype.char, second.dtype.char) == (dtype, dtype)
        assert (first.tolist(), second.tolist()) == ([1, 5], [1, 5])


def test_typedefs_are_what_c_says_they_are(types: Build) -> None:
    assert types.known_typedefs.types == ["iD->d"]
    assert types.known_typedefs(np.int32(3), 4 + 5j) == 60
    loop = types.lying_typedefs.types[0]
    assert [np.dtype(c).kind + str(np.dtype(c).itemsize) for c in loop if c not in "->"] == ["i2", "i8", "u1", "f4"]
    x, y, z = np.array([1, -7], "h"), np.array([3, 1 << 20], np.longlong), np.array([2, 255], "B")
    np.testing.assert_array_equal(types.lying_typedefs(x, y, z), [6, (1 << 20) + 248])
    assert types.lying_twice.types == ["ff->d"]
    assert types.lying_twice(np.float32(2), np.float32(3)) == 6
    with pytest.raises(TypeError):
        types.lying_twice(np.float64(2), np.float64(3))


def test_every_integer_type_has_its_place_among_twelve_arguments(types: Build) -> None:
    names = ["ubyte", "byte", "ushort", "short", "short", "uintc", "intc", "intc", "ulong", "long", "long", "longlong"]
    arrays = [np.full(10, n, getattr(np, name)) for n, name in enumerate(names)]
    f = types.every_integer
    assert (f.nin, f.nout) == (12, 1)
    assert f(*arrays).tolist() == [sum(range(12))] * 10
    assert types.every_integer(*(a[::3] for a in arrays)).tolist() == [sum(range(12))] * 4


def test_sized_integers_floats_and_complex_numbers_have_their_types(types: Build) -> None:
    sized = [np.full(10, n, t) for n, t in enumerate("u1 i1 u2 i2 u4 i4 u8 i8".split())]
    assert types.every_sized_integer(*sized).tolist() == [28] * 10
    assert types.every_float.types == ["fdg->i"]
    assert types.every_float(*(np.full(10, n, t) for n, t in enumerate("fdg"))).tolist() == [3] * 10
    assert types.every_complex.types == ["FDG->i"]
    assert types.every_complex(*(np.full(10, n + 1j * n, t) for n, t in enumerate("FDG"))).tolist() == [3] * 10


def test_long_double_keeps_its_digits(types: Build) -> None:
    x = np.arange(5, dtype="g")
    np.testing.assert_array_equal(types.third(x), x / np.longdouble(3))
    z = (x + 1j).astype("G")
    np.testing.assert_array_equal(types.turned(z), z * 1j)
    assert types.turned.types == ["G->G"]


def test_sizes_are_pythons_own_integers(types: Build) -> None:
    assert types.index([-1, 5], np.array([4, 4], np.uintp)).tolist() == [3, 1]


def test_functions_that_work_with_objects_are_ufuncs_too(types: Build) -> None:
    x = np.linspace(0, 1, 3000)
    np.testing.assert_array_equal(types.with_an_inner_function(x), 2 * x)
    np.testing.assert_array_equal(types.with_objects(x), x + (x + 1) + 1)


def test_function_without_arguments_stays_reachable_in_the_cell_only_or_as_a_function(types: Build) -> None:
    assert "constant" not in types or types.constant() == 42


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("with_untyped", lambda f: f(3.0, 2), 6),
        ("with_stars", lambda f: f(1, 2, 3), 3),
        ("text", lambda f: f(3), "3!"),
        ("maybe", lambda f: (f(3.0), f(-1.0)), (3, None)),
    ],
)
def test_function_that_is_no_ufunc_stays_a_python_function(
    types: Build, name: str, call: Callable[[Any], Any], expected: Any
) -> None:
    assert not isinstance(types[name], np.ufunc)
    assert call(types[name]) == expected
    code = next(f for f in types.object_code.functions if f.name == name)
    assert code.kind == "python"
    assert code.reason


def test_decorated_function_may_take_and_give_objects(shared_cache_folder: Path) -> None:
    built = compile_in(
        shared_cache_folder,
        """
cimport cython


@cython.ufunc
cdef object or_none(double x):
    if x >= 0:
        return x


@cython.ufunc
cdef double number_of(object x):
    return float(x)
""",
        language="cython",
    )
    assert built.or_none(5.0) == 5
    assert built.or_none(-1.0) is None
    assert built.or_none(np.arange(3.0)).dtype == "O"
    assert built.number_of(np.array([1, "2.0", 3.0], object)).tolist() == [1, 2, 3]
    assert built.number_of(np.array([1] * 1200, object)).sum() == 1200
    with pytest.raises(ValueError, match="could not convert"):
        built.number_of(np.array(["one"], object))


@pytest.mark.parametrize("dtype", "bBhHiIlLqQfdgFDG")
def test_every_number_type_makes_the_round_trip_in_every_layout(
    dtype: str, echoes: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = echoes[f"echo_{dtype if dtype.islower() else 'u' + dtype.lower() if dtype in 'BHILQ' else 'c' + dtype.lower()}"]
    x = np.arange(40).astype(dtype)
    if dtype in "FDG":
        x = x + np.array(1j, dtype) * x[::-1]
    for layout in (x, x[::-3], x.reshape(5, 8).T, x[:1], x[:0], x.astype(np.dtype(dtype).newbyteorder())):
        result = f(layout)
        assert result.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(result, layout)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(dtype)
    np.testing.assert_array_equal(f(unaligned), x)


C_NAMES = {
    **{
        f"echo_{c}": name for c, name in zip("bhilq", ["signed char", "short", "int", "long", "long long"], strict=True)
    },
    **{
        f"echo_u{c}": f"unsigned {name}"
        for c, name in zip("bhilq", ["char", "short", "int", "long", "long long"], strict=True)
    },
    **{f"echo_{c}": name for c, name in zip("fdg", ["float", "double", "long double"], strict=True)},
    **{f"echo_c{c}": f"{name} complex" for c, name in zip("fdg", ["float", "double", "long double"], strict=True)},
}


@pytest.fixture(scope="module")
def echoes(shared_cache_folder: Path) -> Build:
    functions = [f"cdef {c} {name}({c} x) noexcept nogil:\n    return x\n" for name, c in C_NAMES.items()]
    return compile_in(shared_cache_folder, "\n\n".join(functions), language="cython")


# What every ufunc can


def test_ufunc_of_a_cython_function_does_what_ufuncs_do(types: Build) -> None:
    f, x, y = types.hypotenuse, np.array([3.0, 5.0, 8.0]), np.array([4.0, 12.0, 15.0])
    out = np.full(3, -1.0)
    assert f(x, y, out=out, where=[True, False, True]) is out
    assert out.tolist() == [5, -1, 17]
    assert f(x, y, dtype="f8").tolist() == [5, 13, 17]
    assert f.outer(x, [0.0, 4.0]).shape == (3, 2)
    assert f.reduce([3.0, 4.0, 12.0]) == 13
    assert f.accumulate([3.0, 4.0, 12.0]).tolist() == [3, 5, 13]
    assert f.reduceat([3.0, 4.0, 5.0, 12.0], [0, 2]).tolist() == [5, 13]
    a = x.copy()
    f.at(a, [0, 0], 4.0)
    assert a[0] == np.sqrt(25.0 + 16)
    assert f(x, y, out=x) is x
    assert x.tolist() == [5, 13, 17]
    assert f.__name__ == "hypotenuse"
    assert "hypotenuse" in repr(f)


def test_signature_of_the_ufunc_has_the_names_of_the_parameters(types: Build) -> None:
    assert types.hypotenuse.ufunc.__doc__.startswith("hypotenuse(x, y")


def test_math_of_pure_functions_agrees_with_the_scalar_library(shared_cache_folder: Path) -> None:
    source = """
from libc.math cimport exp, log, sin, pow


cdef double wave(double x) noexcept nogil:
    return exp(-x) + sin(x) + pow(x, 2.5) if x < 0.5 else log(x)
"""
    x = np.random.default_rng(2).uniform(0.01, 3, 10_001)
    expected = np.where(x < 0.5, np.exp(-x) + np.sin(x) + x**2.5, np.log(x))
    wave = compile_in(shared_cache_folder, source, language="cython").wave
    np.testing.assert_allclose(wave(x), expected, rtol=4e-16 * 8, atol=1e-15)
    np.testing.assert_array_equal(wave(x)[::7], wave(x[::7]))
    np.testing.assert_array_equal(wave(x)[9000:], wave(x[9000:]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the branch that is not taken raises no flag
        wave(np.array([0.0, 0.25, 5.0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "result"), [("return [n]*2", [3, 3]), ("x = 'a'\n    return x*n", "aaa"), ("return n / 2", 1.5)]
)
def test_a_wrong_guess_of_what_a_def_returns_is_no_error(body: str, result: object) -> None:
    assert um.compile_cython(f"def f(int n):\n    {body}\n", time=False)["f"](3) == result


@pytest.mark.slow
def test_python_form_computes_in_the_type_that_a_typedef_stands_for(shared_cache_folder: Path) -> None:
    made = compile_in(
        shared_cache_folder,
        "cimport numpy as np\nctypedef float short_real\n"
        "cdef short_real square(short_real x) noexcept:\n    return x * x\n"
        "def total(np.float32_t[:] v, short_real[:] w):\n    return v[0] + w[0]\n",
        language="cython",
    )
    square, total = made.report_data.functions
    assert "_float32(x * x)" in square.checked
    assert total.samples == ("f1", "f1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(int n=1):\n    return [n]\n", "returns a Python object"),
        ("def f(double x=1, y=None):\n    return x\n", "takes a Python object, 'y'"),
    ],
)
def test_default_value_is_no_reason_beside_another(source: str, reason: str) -> None:
    made = um.compile_cython(source, time=False)
    assert [code.reason for code in made.object_code.functions] == [reason]


@pytest.mark.slow
def test_array_that_may_be_left_out_is_given_to_be_timed() -> None:
    made = um.compile_cython(
        "def total(double[:] x, double times=2, double[:] by=None, int end=0):\n"
        "    return x[end] * times if by is None else x[end] * by[end]\n",
    )
    assert made.report_data.functions[0].samples == ("d1", "d0", "d1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "loop", "expected"),
    [
        ("x > 0 and y > 0", "dd->?", [False, False, True]),
        ("not (0 < x < 1.5 and (y < 1 or y > 7))", "dd->?", [True, False, True]),
        ("x or y", "dd->d", [5, 1, 2]),
        ("x > 1 and y", "dd->d", [0, 0, 6]),
    ],
)
def test_and_and_or_give_numbers(result: str, loop: str, expected: list[float]) -> None:
    f = um.compile_cython(f"def f(double x, double y):\n    return {result}\n", time=False)["f"]
    x, y = np.array([0.0, 1, 2]), np.array([5.0, 0, 6])
    assert f.types == [loop]
    assert f(x, y).tolist() == expected


def test_and_that_may_be_an_object_gives_an_object() -> None:
    f = um.compile_cython("def f(double x):\n    return x > 0 and 'positive'\n", time=False)["f"]
    assert (f(1), f(0)) == ("positive", False)


def test_function_that_is_not_timed_is_not_said_to_have_side_effects() -> None:
    names = [f"f{n}" for n in range(MOST_TIMED + 1)]
    made = um.compile_cython("".join(f"cdef double {f}(double x):\n    return sum([x, x])\n\n\n" for f in names))
    assert made.notes == ()


def test_ccall_with_a_default_value_is_a_ufunc_of_all_parameters() -> None:
    made = um.compile_cython(
        "import cython\n"
        "@cython.ccall\ndef annotated(x: cython.double, y: cython.double = 2) -> cython.double:\n    return x * y\n"
        "@cython.ccall\n@cython.locals(x=cython.double, n=cython.int)\n@cython.returns(cython.double)\n"
        "def declared(x, n=3):\n    return x * n\n"
    )
    assert (made.annotated.types, made.declared.types) == (["dd->d"], ["di->d"])
    assert made.declared(np.arange(2.0), 5).tolist() == [0, 5]


@pytest.mark.parametrize("change", ["n[0] += 2", "n[0] = n[0] + 2"])
def test_pointer_to_one_number_that_is_changed_is_an_input_and_an_output(change: str) -> None:
    made = um.compile_cython(f"cdef double f(double *n) noexcept nogil:\n    {change}\n    return n[0] * 10\n")
    assert [part.tolist() for part in made.f(np.arange(2.0))] == [[20, 30], [2, 3]]
    names: dict[str, Any] = {}
    exec(made.report_data.functions[0].python, names)
    assert names["f"](1.0) == (30, 3)
