"""Cython cells written as plain Python: the texts are executed and their answers compared with known ones."""

from __future__ import annotations

import functools
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("Cython")

from support import run_python
from ufunc_magic.forms import FormRequest, NotPython, PythonForm, make_namespace, write_forms
from ufunc_magic.ir import Program
from ufunc_magic.languages.cython.cython_search import Searches
from ufunc_magic.languages.cython.translate import CythonOptions, translate
from ufunc_magic.model import Function, Operand, Signature

pytestmark = pytest.mark.cython

INT, LONG, UINT, ULONG, FLOAT, DOUBLE, COMPLEX = 5, 7, 6, 8, 11, 12, 15


@functools.cache
def translated_program(cell: str, cplus: bool, language_level: int) -> Program:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cell.pyx")
        path.write_text(f"{cell}\n", encoding="utf-8")
        options = CythonOptions(cplus=cplus, language_level=language_level)
        searches = Searches("cell")
        translated = translate(cell, path=path, module="cell", name="cell", searches=searches, options=options)
    assert translated.program is not None, translated.notes
    return translated.program


def write(
    cell: str, requests: Sequence[FormRequest], *, cplus: bool = False, language_level: int = 3
) -> dict[str, PythonForm | NotPython]:
    return write_forms(translated_program(cell, cplus, language_level), requests)


def join(cells: Iterable[str]) -> str:
    """Cells that define ``f`` as one that defines ``f0``, ``f1``, ...: any memoryview costs Cython half a second."""
    return "\n".join(re.sub(r"\bf\(", f"f{n}(", cell) for n, cell in enumerate(cells))


def form(cell: str, name: str = "f", types: str = "d->d", core: str = "", **more: Any) -> PythonForm:
    """The forms of one function; ``types`` are NumPy's letters, ``""`` for one that stays Python's."""
    left, _, right = types.partition("->")
    numbers = {"i": INT, "l": LONG, "I": UINT, "L": ULONG, "f": FLOAT, "d": DOUBLE, "D": COMPLEX, "h": 3, "?": 0}
    options = {key: more.pop(key) for key in ("cplus", "language_level") if key in more}
    outs: Sequence[int] = more.pop("outs", ())
    sizes: dict[int, str] = more.pop("sizes", {})
    cores = [tuple(re.findall(r"\w+", part)) for part in re.findall(r"\(([^)]*)\)", core)] or [()] * len(left + right)
    places = (at for at in range(99) if at not in outs and at not in sizes)
    inputs = tuple(Operand("", "input", c, next(places), of) for c, of in zip(left, cores, strict=False))
    indices = [-1] * (len(right) - len(outs)) + [*outs]
    outputs = tuple(
        Operand("", "output", c, at, of) for c, at, of in zip(right, indices, cores[len(left) :], strict=False)
    )
    signature = Signature(name, Function(name, "", ()), inputs, outputs, sizes, core) if types else None
    codes = [tuple(numbers[c] for c in letters) for letters in (left, right)]
    made = write(cell, [FormRequest(name, 0, signature, codes[0], **more)], **options)[name]
    assert isinstance(made, PythonForm), made
    return made


def ran(text: str, name: str, kind: Any) -> Callable[..., Any]:
    names = make_namespace(kind)
    exec(text, names)
    function: Callable[..., Any] = names[name]  # type: ignore[assignment]
    return function


def source(made: PythonForm) -> Callable[..., Any]:
    return ran(made.source, made.name, "timing")


def checked(made: PythonForm) -> Callable[..., Any]:
    return ran(made.checked, made.name, "verify")


def vector(made: PythonForm) -> Callable[..., Any]:
    assert made.vector
    return ran(made.vector, made.name, "vector")


def reason(cell: str, name: str = "f", types: str = "d->d", **more: Any) -> NotPython:
    made = write(cell, [FormRequest(name, 3, None, (DOUBLE,), **more)])[name]
    assert isinstance(made, NotPython), made
    return made


INTEGRATE = """
cdef inline double f(double x) nogil:
    return x*x - x

def integrate_f(double a, double b, int N):
    cdef int i
    cdef double s = 0, dx
    dx = (b - a)/N
    for i in range(N):
        s += f(a + i*dx)
    return s*dx
"""


def test_the_source_reads_as_the_cell_without_its_types() -> None:
    made = form(INTEGRATE, "integrate_f", "ddi->d")
    assert made.source == (
        "def f(x):\n    return x * x - x\n\n\n"
        "def integrate_f(a, b, N):\n    s = 0.0\n    dx = (b - a) / N\n"
        "    for i in range(N):\n        s += f(a + i * dx)\n    return s * dx\n"
    )
    assert source(made)(0.0, 2.0, 4) == pytest.approx((0 - 0.25 + 0 + 0.75) * 0.5)
    assert checked(made)(0.0, 2.0, 4) == source(made)(0.0, 2.0, 4)
    assert made.pure
    assert made.loops
    assert made.vector == ""


#: Cell, function, types, inputs, expected output of both texts.
SCALARS: dict[str, tuple[str, str, str, tuple[Any, ...], Any]] = {
    "great circle": (
        "from libc.math cimport sin, cos, acos, M_PI\n"
        "cdef double great_circle(double lon1, double lat1, double lon2, double lat2):\n"
        "    cdef double radius = 3956.0\n    cdef double x = M_PI/180.0\n    cdef double a, b, theta, c\n"
        "    a = (90.0 - lat1)*(x)\n    b = (90.0 - lat2)*(x)\n    theta = (lon2 - lon1)*(x)\n"
        "    c = acos((cos(a)*cos(b)) + (sin(a)*sin(b)*cos(theta)))\n    return radius*c\n",
        "great_circle",
        "dddd->d",
        (-72.345, 34.323, -61.823, 54.826),
        1503.3934477840162,
    ),
    "fibonacci": (
        "def fib(int n):\n    cdef long a = 0, b = 1\n    cdef int i\n"
        "    for i in range(n):\n        a, b = b, a + b\n    return a\n",
        "fib",
        "i->l",
        (30,),
        832040,
    ),
    "recursive fibonacci": (
        "cpdef long fib(int n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n",
        "fib",
        "i->l",
        (12,),
        144,
    ),
    "collatz": (
        (
            "cdef int collatz(long n):\n"
            "    cdef int c = 0\n"
            "    while n != 1:\n"
            "        if n % 2 == 0:\n"
            "            n //= 2\n"
            "        else:\n"
            "            n = 3*n + 1\n"
            "        c += 1\n"
            "    return c\n"
        ),
        "collatz",
        "l->i",
        (27,),
        111,
    ),
    "gcd": (
        "cdef long gcd(long a, long b) nogil:\n    while b:\n        a, b = b, a % b\n    return a\n",
        "gcd",
        "ll->l",
        (462, 1071),
        21,
    ),
    "is prime": (
        "cdef bint is_prime(long n):\n    cdef long i\n    if n < 2: return False\n    i = 2\n"
        "    while i*i <= n:\n        if n % i == 0:\n            return False\n        i += 1\n    return True\n",
        "is_prime",
        "l->?",
        (97,),
        True,
    ),
    "mandelbrot": (
        "cdef int escape(double complex c, int limit):\n    cdef double complex z = 0\n    cdef int i\n"
        "    for i in range(limit):\n        if z.real*z.real + z.imag*z.imag > 4: return i\n"
        "        z = z*z + c\n    return limit\n",
        "escape",
        "Di->i",
        (0.5 + 0.5j, 50),
        5,
    ),
    "black-scholes": (
        "from libc.math cimport erf, exp, log, sqrt\n"
        "cdef double cdf(double x) noexcept nogil:\n    return 0.5*(1.0 + erf(x/sqrt(2.0)))\n\n"
        "cdef double call(double S, double K, double T, double r, double sigma) noexcept nogil:\n"
        "    cdef double d1 = (log(S/K) + (r + 0.5*sigma**2)*T)/(sigma*sqrt(T))\n"
        "    cdef double d2 = d1 - sigma*sqrt(T)\n    return S*cdf(d1) - K*exp(-r*T)*cdf(d2)\n",
        "call",
        "ddddd->d",
        (100.0, 95.0, 0.25, 0.1, 0.5),
        13.695272738608132,
    ),
    "prange": (
        "from cython.parallel import prange, parallel\ncimport cython\n"
        "def f(int n):\n    cdef int i\n    cdef double s = 0\n    with nogil, parallel():\n"
        "        for i in prange(n, schedule='static'):\n            s += 2.0*i\n    return s\n",
        "f",
        "i->d",
        (5,),
        20.0,
    ),
    "constants": (
        "DEF N = 3\ncdef double G = 6.5\ncdef enum Kind:\n    ONE = 1\n    TWO\ncdef enum:\n    TEN = 10\nK = 2\n"
        "cdef double f(double x):\n    return x*N + G + TWO + TEN + K\n",
        "f",
        "d->d",
        (1.0,),
        23.5,
    ),
    "a table filled at module level": (
        "cdef double table[4]\ncdef int k\nfor k in range(4):\n    table[k] = k*k\n"
        "cdef double f(int i):\n    return table[i]\n",
        "f",
        "i->d",
        (3,),
        9.0,
    ),
    "local arrays": (
        "cdef double f(double x):\n    cdef double c[3]\n    cdef double m[2][2]\n    cdef int i\n"
        "    c[:] = [1.0, 2.0, 3.0]\n    m[1][0] = x\n    for i in range(3):\n        m[0][0] += c[i]\n"
        "    return m[0][0] + m[1][0] + m[0][1]\n",
        "f",
        "d->d",
        (4.0,),
        10.0,
    ),
    "several outputs": (
        "cdef (double, long) f(double x, long n):\n    return x/2, n + 1\n",
        "f",
        "dl->dl",
        (3.0, 4),
        (1.5, 5),
    ),
    "casts": (
        "cdef double f(double x, int n):\n    return <int>x + <double>n/2 + <long>(x*10) % 7\n",
        "f",
        "di->d",
        (-2.75, 3),
        -2 + 1.5 + (-27 % 7),
    ),
    "sizeof": ("cdef long f(long n):\n    return n*sizeof(double) + sizeof(int)\n", "f", "l->l", (2,), 20),
    "pure mode": (
        "import cython\nfrom cython.cimports.libc.math import sqrt\n"
        "@cython.cfunc\n@cython.exceptval(-1)\ndef half(x: cython.double) -> cython.double:\n    return x/2\n\n"
        "@cython.ccall\n@cython.locals(i=cython.int)\ndef f(x: cython.double, n: cython.int = 3) -> cython.double:\n"
        "    s: cython.double = 0\n    k = cython.declare(cython.int, 2)\n    i: cython.int\n"
        "    for i in range(n):\n        s += half(x) + cython.cast(cython.int, 2.7)\n"
        "    if cython.compiled:\n        pass\n    return sqrt(s*k)\n",
        "f",
        "di->d",
        (4.0, 2),
        4.0,
    ),
    "extern functions": (
        'cdef extern from "math.h" nogil:\n    double sinh(double x)\n    double my_cos "cos"(double)\n    double M_E\n'
        "cdef double f(double x):\n    return sinh(x) + my_cos(x) + M_E\n",
        "f",
        "d->d",
        (0.0,),
        1.0 + math.e,
    ),
    "modules of C": (
        "from libc cimport math\ncimport libc.stdlib\ncdef double f(double x, long n):\n"
        "    return math.fabs(x) + libc.stdlib.labs(n) + math.pi\n",
        "f",
        "dl->d",
        (-1.5, -2),
        3.5 + math.pi,
    ),
    "python's math": (
        "import math\ndef f(double x):\n    return math.floor(x) + math.pi\n",
        "f",
        "d->d",
        (2.5,),
        2 + math.pi,
    ),
    "raising is kept": (
        (
            "cdef double f(double x) except? -1:\n"
            "    if x > 0:\n"
            "        raise ValueError(f'{x:.1f} is positive')\n"
            "    return x\n"
        ),
        "f",
        "d->d",
        (-1.0,),
        -1.0,
    ),
    "fused types": (
        "ctypedef fused real:\n    float\n    double\ncdef real twice(real x):\n    return 2*x\n"
        "cdef real f(real x):\n    return twice(x) + 1\n",
        "f",
        "d->d",
        (0.1,),
        1.2,
    ),
    "typedefs": (
        (
            "ctypedef double real\n"
            "ctypedef long[3] triple\n"
            "cdef real f(real x):\n"
            "    cdef triple t = [1, 2, 3]\n"
            "    return x*t[2]\n"
        ),
        "f",
        "d->d",
        (2.0,),
        6.0,
    ),
    "truth values": (
        "cdef int sign(double x):\n    return (x > 0) - (x < 0)\n",
        "sign",
        "d->i",
        (-2.5,),
        -1,
    ),
    "chained comparisons": ("cdef bint f(double x):\n    return 0 <= x < 1 or not x != 5\n", "f", "d->?", (0.5,), True),
    "a conditional expression": (
        "cdef double f(double x):\n    return x if x > 0 else -x/2\n",
        "f",
        "d->d",
        (-3.0,),
        1.5,
    ),
    "global constants in NumPy": (
        "import numpy as np\ncimport numpy as np\ncdef double f(np.float64_t x):\n    return x*np.pi\n",
        "f",
        "d->d",
        (2.0,),
        2 * math.pi,
    ),
    "cmath": (
        "cdef extern from 'complex.h' nogil:\n    double cabs(double complex z)\n"
        "cdef double f(double complex z):\n    return cabs(z) + z.imag + z.conjugate().imag\n",
        "f",
        "D->d",
        (3 + 4j,),
        5.0,
    ),
    "logistic": (
        "from libc.math cimport exp\ncdef double f(double x):\n    if x >= 0:\n        return 1/(1 + exp(-x))\n"
        "    cdef double e = exp(x)\n    return e/(1 + e)\n",
        "f",
        "d->d",
        (0.0,),
        0.5,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SCALARS)
def test_both_texts_give_the_known_answer(case: str) -> None:
    cell, name, types, inputs, expected = SCALARS[case]
    made = form(cell, name, types)
    assert source(made)(*inputs) == pytest.approx(expected)
    assert checked(made)(*inputs) == pytest.approx(expected)


# -- C's answers --------------------------------------------------------------------------------


def test_floor_division_is_pythons_unless_cdivision_says_otherwise() -> None:
    cell = "cdef long f(long a, long b):\n    return a // b * 1000 + a % b\n"
    assert checked(form(cell, types="ll->l"))(-7, 2) == -4 * 1000 + 1
    given = form(f"# cython: cdivision=True\n{cell}", types="ll->l")
    assert checked(given)(-7, 2) == -3 * 1000 - 1
    assert checked(form("# cython: cdivision=True\n" + cell, types="ll->l"))(-7, 2) == -3001
    decorated = "cimport cython\n@cython.cdivision(True)\n" + cell
    assert checked(form(decorated, types="ll->l"))(-7, 2) == -3001


def test_division_by_zero_raises_unless_cdivision() -> None:
    cell = "cdef double f(double a, double b):\n    return a/b\n"
    with pytest.raises(ZeroDivisionError):
        checked(form(cell, types="dd->d"))(1.0, 0.0)
    assert checked(form("# cython: cdivision=True\n" + cell, types="dd->d"))(-1.0, 0.0) == -math.inf


def test_a_quotient_of_integers_is_true_division_in_language_level_3_only() -> None:
    cell = "cdef double f(int a, int b):\n    return a/b\n"
    assert checked(form(cell, types="ii->d"))(7, 2) == 3.5
    old = form("# cython: language_level=2\n" + cell, types="ii->d")
    assert source(old)(7, 2) == checked(old)(7, 2) == 3


def test_print_is_a_statement_in_language_level_2() -> None:
    cell = "print 'loaded'\ndef f(int a, int b):\n    return a/b\n"
    assert checked(form(cell, types="ii->i", language_level=2))(7, 2) == 3


def test_keyword_only_parameters_are_given_by_position() -> None:
    cell = "def scaled(double x, *, double by, double more=1):\n    return x * by + more\n"
    assert checked(form(cell + "def f(double x):\n    return scaled(x, by=2)\n"))(3.0) == 7
    assert checked(form(cell, name="scaled", types="ddd->d"))(3.0, 2.0, 5.0) == 11


def test_c_integers_wrap_in_the_checked_text_only() -> None:
    made = form("cdef int f(int a):\n    return a*a + 1\n", types="i->i")
    assert checked(made)(65536) == 1
    assert source(made)(65536) == 2**32 + 1
    assert "_int32" not in made.source


def test_unsigned_integers_wrap_too() -> None:
    made = form("cdef unsigned int f(unsigned int a):\n    return a - 1\n", types="I->I")
    assert checked(made)(0) == 2**32 - 1


def test_the_arithmetic_of_a_random_number_generator_wraps_in_both_texts() -> None:
    cell = (
        "cdef unsigned int f(unsigned int s):\n"
        "    s ^= s << 13\n"
        "    s ^= s >> 17\n"
        "    s ^= s << 5\n"
        "    return s*1664525 + 1013904223\n"
    )
    made = form(cell, types="I->I")
    x = 12345
    for shift in (13, -17, 5):
        x ^= (x << shift if shift > 0 else x >> -shift) & 0xFFFFFFFF
    expected = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    assert source(made)(12345) == expected
    assert checked(made)(12345) == expected


def test_a_64_bit_mixing_function_is_the_same_in_both_texts() -> None:
    made = form(
        "from libc.stdint cimport uint64_t\n"
        "cdef uint64_t f(uint64_t x) noexcept nogil:\n"
        "    x += <uint64_t>0x9e3779b97f4a7c15\n"
        "    x = (x ^ (x >> 30)) * <uint64_t>0xbf58476d1ce4e5b9\n"
        "    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL\n"
        "    return x ^ (x >> 31)\n",
        types="L->L",
    )
    first_of_seed_0 = 0xE220A8397B1DCDAF  # splitmix64's published test vector
    assert source(made)(0) == checked(made)(0) == first_of_seed_0


def test_python_integers_of_an_untyped_variable_do_not_wrap() -> None:
    cell = "def f(int n):\n    x = 1\n    for i in range(n):\n        x = x*1000003\n    return x % 97\n"
    assert checked(form(cell, types="i->l"))(10) == 1000003**10 % 97


def test_floats_are_rounded_in_the_checked_text() -> None:
    made = form("cdef float f(float x):\n    cdef float y = x*x\n    return y + 1\n", types="f->f")
    x = float(np.float32(0.1))
    assert checked(made)(x) == float(np.float32(np.float32(x) * np.float32(x)) + np.float32(1))
    assert source(made)(x) == x * x + 1


@pytest.mark.parametrize(
    ("call", "x", "expected"),
    [
        ("log(x)", 0.0, -math.inf),
        ("log(x)", -1.0, math.nan),
        ("sqrt(x)", -1.0, math.nan),
        ("exp(x)", 1000.0, math.inf),
        ("pow(x, 0.5)", -1.0, math.nan),
        ("floor(x)", math.inf, math.inf),
        ("tgamma(x)", 0.0, math.inf),
        ("fmin(x, NAN)", 2.0, 2.0),
        ("round(x)", 2.5, 3.0),
        ("round(x)", -2.5, -3.0),
        ("acosh(x)", 0.0, math.nan),
    ],
)
def test_functions_of_c_have_cs_values_at_the_edge(call: str, x: float, expected: float) -> None:
    cell = f"from libc.math cimport {call.partition('(')[0]}, NAN\ncdef double f(double x):\n    return {call}\n"
    assert checked(form(cell))(x) == pytest.approx(expected, nan_ok=True)


def test_functions_of_pythons_math_raise_as_they_do_in_the_cell() -> None:
    with pytest.raises(ValueError, match=r"math domain|expected a positive"):
        checked(form("import math\ndef f(double x):\n    return math.log(x)\n"))(-1.0)


def test_a_power_is_cs_where_it_goes_straight_into_a_c_number() -> None:
    made = form("cdef double f(double x, double y):\n    return x**y\n", types="dd->d")
    assert checked(made)(2.0, 0.5) == math.sqrt(2)
    assert checked(made)(-2.0, 3.0) == -8.0
    assert checked(made)(10.0, 400.0) == math.inf
    assert math.isnan(checked(made)(-2.0, 0.5))


def test_a_power_inside_an_expression_raises_where_it_is_complex() -> None:
    made = form("cdef double f(double x, double y):\n    return 1.0 + x**y\n", types="dd->d")
    assert checked(made)(4.0, 0.5) == 3.0
    with pytest.raises(TypeError):
        checked(made)(-2.0, 0.5)
    c = form("# cython: cpow=True\ncdef double f(double x, double y):\n    return 1.0 + x**y\n", types="dd->d")
    assert math.isnan(checked(c)(-2.0, 0.5))


def test_a_power_of_integers_is_a_double_and_never_an_endless_integer() -> None:
    made = form("cdef double f(int a, int b):\n    return a**b\n", types="ii->d")
    assert checked(made)(2, -2) == source(made)(2, -2) == 0.25
    with pytest.raises(OverflowError):
        source(made)(10**6, 10**9)


def test_cdivision_makes_a_quotient_of_integers_an_integer() -> None:
    made = form("# cython: cdivision=True\ncdef double f(int a, int b):\n    return a/b\n", types="ii->d")
    assert checked(made)(-7, 2) == -3
    assert source(made)(7, 2) == 3
    with pytest.raises(ZeroDivisionError):
        checked(made)(1, 0)


@pytest.mark.parametrize("x", [math.inf, math.nan, 2.0**31, -(2.0**31) - 1])
def test_a_cast_of_what_does_not_fit_is_not_compared(x: float) -> None:
    cast = checked(form("cdef int f(double x):\n    return <int>x\n", types="d->i"))
    assert (cast(2.0**31 - 0.5), cast(-(2.0**31) - 0.5)) == (2**31 - 1, -(2**31))
    with pytest.raises(OverflowError):
        cast(x)


def test_remainders_of_floats_follow_cdivision() -> None:
    cell = "cdef double f(double a, double b):\n    return a % b\n"
    assert checked(form(cell, types="dd->d"))(-5.0, 3.0) == 1.0
    assert checked(form("# cython: cdivision=True\n" + cell, types="dd->d"))(-5.0, 3.0) == -2.0


def test_a_python_object_that_does_not_fit_raises() -> None:
    cell = "def g(x):\n    return x*x\ncdef int f(int n):\n    cdef int r = g(n)\n    return r\n"
    made = form(cell, types="i->i")
    assert checked(made)(5) == 25
    with pytest.raises(OverflowError):
        checked(made)(100000)


def test_fused_types_are_what_was_chosen() -> None:
    cell = "cimport cython\ncdef cython.floating f(cython.floating x):\n    return x*x\n"
    x = float(np.float32(0.1))
    assert checked(form(cell, types="f->f", fused={"floating": "float"}))(x) == float(np.float32(x * x))
    assert checked(form(cell, types="d->d", fused={"floating": "double"}))(x) == x * x


def test_memoryview_of_const_elements_is_read() -> None:
    made = form("cdef double f(const double[:] x):\n    return x[0] + x[1]\n", core="(n)->()")
    assert checked(made)([1.0, 2.0]) == 3.0


def test_fused_type_without_a_choice_is_its_widest_real_type() -> None:
    fused = "ctypedef fused number:\n    float\n    double\n    long\n"
    helper = "cdef inline number square(number x) noexcept nogil:\n    return x*x\n"
    cell = fused + helper + "cdef double f(double x) noexcept:\n    return square(x) + 1\n"
    assert checked(form(cell))(1.5) == 3.25
    cell = "ctypedef fused whole:\n    int\n    long long\ncdef whole f(whole x):\n    return x*x\n"
    assert checked(form(cell, types="l->l"))(1 << 20) == 1 << 40


def test_shift_that_c_leaves_undefined_has_no_expected_result() -> None:
    made = form("cdef long f(long x, int k) noexcept:\n    return x << k\n", types="li->l")
    assert checked(made)(3, 63) == -(1 << 63)
    with pytest.raises(ValueError, match="a shift by 64"):
        checked(made)(3, 64)


# -- arrays -------------------------------------------------------------------------------------

DOT = (
    "cdef double f(double[::1] a, double[::1] b):\n"
    "    cdef Py_ssize_t i\n"
    "    cdef double s = 0\n"
    "    for i in range(a.shape[0]):\n"
    "        s += a[i]*b[i]\n"
    "    return s\n"
)
MATMUL = (
    "cdef void f(double[:, :] a, double[:, :] b, double[:, :] c) noexcept:\n    cdef int i, j, k\n"
    "    for i in range(a.shape[0]):\n        for j in range(b.shape[1]):\n            c[i, j] = 0\n"
    "            for k in range(a.shape[1]):\n                c[i, j] += a[i, k]*b[k, j]\n"
)
CONVOLVE = (
    "cdef void f(double[:] x, double[:] w, double[:] out):\n    cdef Py_ssize_t i, j, n = x.shape[0], m = len(w)\n"
    "    for i in range(n):\n        out[i] = 0\n        for j in range(m):\n            if 0 <= i - j < n:\n"
    "                out[i] += w[j]*x[i - j]\n"
)


def test_a_dot_product_takes_lists() -> None:
    made = form(DOT, types="dd->d", core="(n),(n)->()")
    assert source(made)([1.0, 2.0], [3.0, 4.0]) == checked(made)([1.0, 2.0], [3.0, 4.0]) == 11.0
    assert "len(a)" in made.source


def test_a_matrix_product_gives_its_output_back() -> None:
    made = form(MATMUL, types="dd->d", core="(m,n),(n,p)->(m,p)", outs=(2,))
    a, b = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]
    expected = (np.array(a) @ np.array(b)).tolist()
    assert source(made)(a, b) == expected
    assert checked(made)(a, b) == expected


def test_a_convolution_gives_its_output_back() -> None:
    made = form(CONVOLVE, types="dd->d", core="(n),(m)->(n)", outs=(2,))
    x, w = [1.0, 2.0, 3.0, 4.0], [1.0, -1.0, 0.5]
    assert source(made)(x, w) == np.convolve(x, w)[:4].tolist()
    assert checked(made)(x, w) == np.convolve(x, w)[:4].tolist()


def test_a_result_and_an_output_array_come_back_together() -> None:
    cell = (
        "cdef double f(double[:] a, double[:] out):\n"
        "    cdef int i\n"
        "    cdef double s = 0\n"
        "    for i in range(len(a)):\n"
        "        s += a[i]\n"
        "        out[i] = s\n"
        "    return s\n"
    )
    made = form(cell, types="d->dd", core="(n)->(),(n)", outs=(1,))
    assert source(made)([1.0, 2.0, 3.0]) == (6.0, [1.0, 3.0, 6.0])


def test_the_size_parameter_of_a_core_dimension_is_computed() -> None:
    cell = (
        "cdef double f(double[:] a, int n):\n"
        "    cdef int i\n"
        "    cdef double s = 0\n"
        "    for i in range(n):\n"
        "        s += a[i]\n"
        "    return s\n"
    )
    assert source(form(cell, types="d->d", core="(n)->()", sizes={1: "n"}))([1.0, 2.0]) == 3.0


def test_pointers_to_one_number_are_outputs() -> None:
    cell = (
        "from libc.math cimport sin, cos\n"
        "cdef void f(double x, double *s, double *c):\n"
        "    s[0] = sin(x)\n"
        "    c[0] = cos(x)\n"
    )
    made = form(cell, types="d->dd", outs=(1, 2))
    assert source(made)(0.0) == (0.0, 1.0)


def test_parts_of_arrays_become_parts_of_lists() -> None:
    cell = (
        "cdef double g(double[:] v):\n    cdef double s = 0, x\n    for x in v:\n        s += x\n    return s\n"
        "cdef double f(double[:, :] a):\n    return g(a[0, :]) + 10*g(a[:, 1]) + 100*g(a[1, 1:])\n"
    )
    made = form(cell, types="d->d", core="(m,n)->()")
    assert source(made)([[1.0, 2.0], [3.0, 4.0]]) == 3.0 + 60.0 + 400.0


def test_filling_a_part_of_an_array_fills_the_list() -> None:
    cell = "cdef void f(double[:] a, double[:] out):\n    out[:] = a[0]\n    out[1:] = 7\n"
    assert source(form(cell, types="d->d", core="(n)->(n)", outs=(1,)))([1.0, 2.0, 3.0]) == [1.0, 7.0, 7.0]


def test_a_function_that_stays_pythons_keeps_its_arrays() -> None:
    cell = (
        "cimport numpy as np\n"
        "import numpy as np\n"
        "cpdef cSum(np.ndarray array):\n"
        "    cdef double s = 0\n"
        "    cdef int i\n"
        "    for i in range(array.shape[0]):\n"
        "        s += array[i]\n"
        "    return s\n"
    )
    made = form(cell, "cSum", "")
    assert made.source == (
        "def cSum(array):\n    s = 0.0\n    for i in range(array.shape[0]):\n        s += array[i]\n    return s\n"
    )
    assert made.checked == made.source
    assert made.vector == "def cSum(array):\n    return array.sum()\n"
    assert source(made)(np.arange(5.0)) == vector(made)(np.arange(5.0)) == 10.0
    assert made.pure
    assert made.loops


# -- NumPy expressions --------------------------------------------------------------------------

#: Cell, types, core, expected text of the last line, inputs.
VECTORS: dict[str, tuple[str, str, str, str, tuple[Any, ...]]] = {
    "formula": (
        ("from libc.math cimport exp, asin\ncdef double f(double x):\n    return 2*exp(-x*x)*asin(x/2)\n"),
        "d->d",
        "",
        "return 2 * np.exp(-x * x) * np.arcsin(x / 2)",
        (np.linspace(-1, 1, 7),),
    ),
    "branches": (
        (
            "cdef double f(double x):\n"
            "    if x < 0:\n"
            "        return -x\n"
            "    elif x < 1:\n"
            "        return x*x\n"
            "    return 2*x - 1\n"
        ),
        "d->d",
        "",
        "return np.where(x < 0, -x, np.where(x < 1, x * x, 2 * x - 1))",
        (np.linspace(-1, 2, 7),),
    ),
    "conditional": (
        ("cdef double f(double x):\n    return x if x > 0 and x < 1 else 0.5\n"),
        "d->d",
        "",
        "return np.where((x > 0) & (x < 1), x, 0.5)",
        (np.linspace(-1, 2, 7),),
    ),
    "assignments in a branch": (
        (
            "cdef double f(double x):\n"
            "    cdef double y = 1, z = 0\n"
            "    if x > 0:\n"
            "        y = x\n"
            "        z = y + 1\n"
            "    return y*z\n"
        ),
        "d->d",
        "",
        "return y * z",
        (np.linspace(-1, 2, 7),),
    ),
    "called functions": (
        (
            "cdef double g(double x):\n"
            "    return x + 1 if x > 0 else x\n"
            "cdef double f(double x):\n"
            "    return g(x)*g(-x)\n"
        ),
        "d->d",
        "",
        "return g(x) * g(-x)",
        (np.linspace(-1, 2, 7),),
    ),
    "a check that raises": (
        (
            "cdef double f(double x) except? -1:\n"
            "    if x > 100:\n"
            "        raise ValueError('too large')\n"
            "    return x/3\n"
        ),
        "d->d",
        "",
        "return x / 3",
        (np.linspace(-1, 2, 7),),
    ),
    "two results": (
        ("cdef (double, double) f(double x, double y):\n    return x + y, x*y\n"),
        "dd->dd",
        "",
        "return (x + y, x * y)",
        (np.linspace(-1, 2, 7), np.linspace(3, 4, 7)),
    ),
    "extremes of two": (
        ("from libc.math cimport fmax\ncdef double f(double x, double y):\n    return fmax(x, y) + min(x, y, 1.0)\n"),
        "dd->d",
        "",
        "return np.fmax(x, y) + np.minimum(np.where(y < x, y, x), 1.0)",
        (np.linspace(-1, 2, 7), np.linspace(3, -4, 7)),
    ),
    "dot product": (
        DOT,
        "dd->d",
        "(n),(n)->()",
        "return np.vecdot(a, b)",
        (np.arange(6.0).reshape(2, 3), np.ones((2, 3))),
    ),
    "sum": (
        (
            "cdef double f(double[:] v):\n"
            "    cdef double s = 0\n"
            "    cdef int i\n"
            "    for i in range(v.shape[0]):\n"
            "        s += v[i]\n"
            "    return s\n"
        ),
        "d->d",
        "(n)->()",
        "return v.sum(axis=-1)",
        (np.arange(6.0).reshape(2, 3),),
    ),
    "mean square with a temporary": (
        (
            "cdef double f(double[:] v, double[:] w):\n"
            "    cdef double s = 0, d\n"
            "    cdef int i, n = len(v)\n"
            "    for i in range(n):\n"
            "        d = v[i] - w[i]\n"
            "        s += d*d\n"
            "    return s/n\n"
        ),
        "dd->d",
        "(n),(n)->()",
        "return s / n",
        (np.arange(6.0).reshape(2, 3), np.ones((2, 3))),
    ),
    "product": (
        (
            "cdef double f(double[:] v):\n"
            "    cdef double s = 1\n"
            "    for i in range(v.shape[0]):\n"
            "        s *= v[i] + 1\n"
            "    return s\n"
        ),
        "d->d",
        "(n)->()",
        "return np.prod(v + 1, axis=-1)",
        (np.arange(6.0).reshape(2, 3),),
    ),
    "counting": (
        (
            "cdef long f(double[:] v, double x):\n"
            "    cdef long c = 0\n"
            "    cdef int i\n"
            "    for i in range(v.shape[0]):\n"
            "        if v[i] > x:\n"
            "            c += 1\n"
            "    return c\n"
        ),
        "dd->l",
        "(n),()->()",
        "return np.sum(np.where(v > x[..., None], 1, 0), axis=-1)",
        (np.arange(6.0).reshape(2, 3), np.array([1.0, 4.0])),
    ),
    "trace-like double sum": (
        (
            "cdef double f(double[:, :] a, double[:] x):\n"
            "    cdef double s = 0\n"
            "    cdef int i, j\n"
            "    for i in range(a.shape[0]):\n"
            "        for j in range(a.shape[1]):\n"
            "            s += a[i, j]*x[j]*2\n"
            "    return s\n"
        ),
        "dd->d",
        "(m,n),(n)->()",
        "return np.sum(a * x[..., None, :] * 2, axis=(-2, -1))",
        (np.arange(12.0).reshape(2, 2, 3), np.arange(6.0).reshape(2, 3)),
    ),
}


@pytest.mark.parametrize("case", VECTORS)
def test_the_numpy_expression_is_the_loop(case: str) -> None:
    _, types, core, text, inputs = VECTORS[case]
    made = form(join(row[0] for row in VECTORS.values()), f"f{[*VECTORS].index(case)}", types=types, core=core)
    assert made.vector.rstrip().splitlines()[-1].strip() == text
    rows = [checked(made)(*row) for row in zip(*(a.tolist() for a in inputs), strict=True)]
    np.testing.assert_allclose(np.array(rows).T, np.array(vector(made)(*inputs)))


#: Cells with output arrays: types, core, output positions, expected last line.
OUTPUTS = {
    "matrix product": (MATMUL, "dd->d", "(m,n),(n,p)->(m,p)", (2,), "return a @ b", [(2, 3, 4), (2, 4, 5)]),
    "scaled": (
        (
            "cdef void f(double[:] a, double k, double[:] out):\n"
            "    cdef int i\n"
            "    for i in range(a.shape[0]):\n"
            "        out[i] = k*a[i]\n"
        ),
        "dd->d",
        "(n),()->(n)",
        (2,),
        "",
        [(2, 3), (2,)],
    ),
    "matrix times vector": (
        (
            "cdef void f(double[:, ::1] a, double[:] x, double[:] out):\n"
            "    cdef int i, j\n"
            "    cdef double s\n"
            "    for i in range(a.shape[0]):\n"
            "        s = 0\n"
            "        for j in range(a.shape[1]):\n"
            "            s += a[i, j]*x[j]\n"
            "        out[i] = s\n"
        ),
        "dd->d",
        "(m,n),(n)->(m)",
        (2,),
        "",
        [(2, 3, 4), (2, 4)],
    ),
    "vector times matrix, the other way round": (
        (
            "cdef void f(double[:] x, double[:, ::1] a, double[:] out):\n"
            "    cdef int i, j\n"
            "    cdef double s\n"
            "    for j in range(a.shape[1]):\n"
            "        s = 0\n"
            "        for i in range(a.shape[0]):\n"
            "            s = s + a[i, j]*x[i]\n"
            "        out[j] = s\n"
        ),
        "dd->d",
        "(m),(m,n)->(n)",
        (2,),
        "",
        [(2, 3), (2, 3, 4)],
    ),
    "transposed": (
        (
            "cdef void f(double[:, :] a, double[:] b, double[:, :] out):\n"
            "    cdef int i, j\n"
            "    for i in range(a.shape[1]):\n"
            "        for j in range(a.shape[0]):\n"
            "            out[i, j] = a[j, i] + b[i]\n"
        ),
        "dd->d",
        "(m,n),(n)->(n,m)",
        (2,),
        "return np.swapaxes(a, -1, -2) + b[..., :, None]",
        [(2, 3, 4), (2, 4)],
    ),
    "outer": (
        (
            "cdef void f(double[:] a, double[:] b, double[:, :] out):\n"
            "    cdef int i, j\n"
            "    for i in range(a.shape[0]):\n"
            "        for j in range(b.shape[0]):\n"
            "            out[i, j] = a[i] - b[j]\n"
        ),
        "dd->d",
        "(m),(n)->(m,n)",
        (2,),
        "",
        [(2, 3), (2, 4)],
    ),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_the_numpy_expression_fills_the_output(case: str) -> None:
    _, types, core, outs, text, shapes = OUTPUTS[case]
    name = f"f{[*OUTPUTS].index(case)}"
    made = form(join(row[0] for row in OUTPUTS.values()), name, types=types, core=core, outs=outs)
    inputs = [np.random.default_rng(0).uniform(1, 2, shape) for shape in shapes]
    if text:
        assert made.vector.rstrip().splitlines()[-1].strip() == text
    rows = [checked(made)(*row) for row in zip(*(a.tolist() for a in inputs), strict=True)]
    np.testing.assert_allclose(np.array(rows), np.array(vector(made)(*inputs)))


#: Cells that change or return whole arrays, and the last line of their NumPy text.
WHOLE = [
    (
        ("def f(double[:] v):\n    cdef double s = 0\n    for x in v:\n        s += x\n    return s\n"),
        "return v.sum()",
    ),
    (
        ("def f(v):\n    s = 0.0\n    for i in range(len(v)):\n        s += v[i]**2\n    return s/len(v)\n"),
        "return s / len(v)",
    ),
    (
        (
            "def f(double[:] a, double[:] b):\n"
            "    cdef double s = 0\n"
            "    for i in range(a.shape[0]):\n"
            "        s += a[i]*b[i]\n"
            "    return s\n"
        ),
        "return a @ b",
    ),
    (
        (
            "def f(double[:, :] a):\n"
            "    cdef double s = 0\n"
            "    for i in range(a.shape[0]):\n"
            "        for j in range(a.shape[1]):\n"
            "            s += a[i, j]\n"
            "    return s\n"
        ),
        "return a.sum()",
    ),
    (
        (
            "import numpy as np\n"
            "def f(double[:] a):\n"
            "    cdef double[:] out = np.empty(a.shape[0])\n"
            "    cdef int i\n"
            "    for i in range(a.shape[0]):\n"
            "        out[i] = 2*a[i]\n"
            "    return np.asarray(out)\n"
        ),
        "return 2 * a",
    ),
    (
        ("def f(double[:] a):\n    cdef int i\n    for i in range(a.shape[0]):\n        a[i] = 2*a[i]\n"),
        "a[:] = 2 * a",
    ),
    (
        (
            "def f(double[:] a):\n"
            "    if a.shape[0] == 0:\n"
            "        return 0.0\n"
            "    cdef double s = 0\n"
            "    for i in range(a.shape[0]):\n"
            "        s += a[i]\n"
            "    return s/a.shape[0]\n"
        ),
        "return np.where(len(a) == 0, 0.0, s / len(a))",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("n", range(len(WHOLE)), ids=[text for _, text in WHOLE])
def test_functions_on_whole_arrays_have_numpy_expressions(n: int) -> None:
    cell, text = WHOLE[n]
    made = form(join(cell for cell, _ in WHOLE), f"f{n}", types="")
    assert made.vector.rstrip().splitlines()[-1].strip() == text
    shapes = (3, 4) if "[:, :]" in cell else (12,)
    count = cell.partition(")")[0].count(",") + 1 if "[:, :]" not in cell else 1
    given = [np.random.default_rng(k).uniform(0, 1, shapes) for k in range(count)]
    first, second = [g.copy() for g in given], [g.copy() for g in given]
    expected, found = source(made)(*first), vector(made)(*second)
    if expected is not None:
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(second, first)


#: Loops whose steps need what earlier ones left.
LOOKING_BACK = [
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0\n"
        "    for i in range(v.shape[0]):\n"
        "        s = s/2 + v[i]\n"
        "    return s\n"
    ),
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0, p = 0\n"
        "    for i in range(v.shape[0]):\n"
        "        s += v[i]*p\n"
        "        p = v[i]\n"
        "    return s\n"
    ),
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0\n"
        "    for i in range(v.shape[0]):\n"
        "        if v[i] < 0:\n"
        "            break\n"
        "        s += v[i]\n"
        "    return s\n"
    ),
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0, t = 0\n"
        "    for i in range(v.shape[0]):\n"
        "        s += v[i]\n"
        "        t += s\n"
        "    return t\n"
    ),
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0\n"
        "    for i in range(v.shape[0]):\n"
        "        s += v[i - 1]\n"
        "    return s\n"
    ),
    (
        "cdef double f(double[:] v):\n"
        "    cdef double s = 0, x\n"
        "    for i in range(v.shape[0]):\n"
        "        x = v[i]\n"
        "    return x\n"
    ),
]


@pytest.mark.parametrize("n", range(len(LOOKING_BACK)))
def test_a_loop_that_looks_back_has_no_numpy_expression(n: int) -> None:
    assert form(join(LOOKING_BACK), f"f{n}", core="(n)->()").vector == ""


@pytest.mark.slow
def test_a_negative_index_counts_from_the_end_under_wraparound() -> None:
    cell = "# cython: wraparound={}\ncdef double f(double[:] v):\n    return v[-1] + v[0]\n"
    last = form(cell.format(True), core="(n)->()")
    assert last.vector == "def f(v):\n    return v[..., -1] + v[..., 0]\n"
    assert vector(last)(np.array([[1.0, 2.0, 5.0]])).tolist() == [6.0]
    assert form(cell.format(False), core="(n)->()").vector == ""


def test_an_overflow_raises_under_overflowcheck() -> None:
    cell = "# cython: overflowcheck={}\ncdef int f(int a, int b):\n    return a * b + 1\n"
    raising = form(cell.format(True), types="ii->i")
    assert raising.source == "def f(a, b):\n    return a * b + 1\n"
    assert checked(raising)(3, 5) == 16
    for values in ((1 << 20, 1 << 20), (-(1 << 31), -1)):
        with pytest.raises(OverflowError):
            checked(raising)(*values)
    assert checked(form(cell.format(False), types="ii->i"))(1 << 20, 1 << 20) == 1


def test_narrow_integers_and_c_division_are_cs() -> None:
    narrow = form("cdef int f(short a):\n    return a*a\n", types="h->i")
    assert narrow.vector == "def f(a):\n    return a.astype(np.int32) * a.astype(np.int32)\n"
    divided = form("# cython: cdivision=True\ncdef int f(int a):\n    return a // 3\n", types="i->i")
    assert vector(divided)(np.array([-7, 7, -6])).tolist() == [-2, 2, -2]


# -- purity, reasons ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "pure", "loops"),
    [
        ("cdef double f(double x):\n    return abs(x)\n", True, False),
        ("cdef double f(double x):\n    print(x)\n    return x\n", False, False),
        ("cdef int n = 0\ncdef double f(double x):\n    global n\n    n += 1\n    return n\n", True, False),
        ("import random\ndef f(double x):\n    return random.random()\n", False, False),
        ("import numpy as np\ndef f(double x):\n    return np.random.rand()\n", False, False),
        ("import numpy as np\ndef f(double x):\n    return np.sin(x)\n", True, False),
        ("def f(double x):\n    while x > 1:\n        x /= 2\n    return x\n", True, True),
        ("cdef double f(double x):\n    return f(x - 1) if x > 0 else 0\n", True, True),
        (
            "cdef double g(double x):\n    print(x)\n    return x\ncdef double f(double x):\n    return g(x)\n",
            False,
            False,
        ),
    ],
)
def test_what_a_function_does_beside_calculating_is_known(cell: str, pure: bool, loops: bool) -> None:
    made = form(cell)
    assert (made.pure, made.loops) == (pure, loops)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            ("cdef double g(double *p):\n    return p[0]\ncdef double f(double x):\n    return g(&x)\n"),
            "takes an address: `return g(&x)`",
        ),
        (
            ("from libcpp.map cimport map\ncdef double f(double x):\n    cdef map[int, double] m\n    return m[1]\n"),
            "uses the type `map[int,double]`",
        ),
        (
            (
                "from libc.stdlib cimport malloc\n"
                "cdef double f(double x):\n"
                "    cdef double *p = <double*>malloc(8)\n"
                "    return x\n"
            ),
            "calls `malloc`, which comes from C",
        ),
        (
            "from libc.stdlib cimport rand\ncdef double f(double x):\n    return rand()\n",
            "calls `rand`, which comes from C",
        ),
        (
            "def f(double x):\n    g = lambda *t: t\n    return g(x)\n",
            "uses `g = lambda *t: t`, which has no Python form",
        ),
        ("def f(double x):\n    yield x\n", "is a generator"),
        (
            "cdef class A:\n    pass\ndef f(double x):\n    return A()\n",
            "uses `A`, which is not a function or variable of the cell",
        ),
        ("cdef double g(double x):\n    return x\n", "cannot be found in the cell under the name `f`"),
        (
            ('cdef extern from "mine.h":\n    double mine(double)\ncdef double f(double x):\n    return mine(x)\n'),
            "calls `mine`, which comes from C",
        ),
    ],
)
def test_why_a_function_has_no_python_form_is_said(cell: str, words: str) -> None:
    assert reason(cell).reason == words


def test_the_reason_is_at_its_line() -> None:
    assert reason("cdef double f(double x):\n    cdef double y = 1\n    return (&y)[0]\n").line == 3


def test_one_bad_function_does_not_spoil_the_others() -> None:
    cell = "cdef double *h(double *x):\n    return x\n"
    cell += "cdef double f(double x):\n    return h(&x)[0]\ncdef double g(double x):\n    return x\n"
    made = write(cell, [FormRequest("f", 3), FormRequest("g", 5)])
    assert isinstance(made["f"], NotPython)
    assert isinstance(made["g"], PythonForm)


def test_the_texts_run_without_cython() -> None:
    cell, name, types, inputs, _ = SCALARS["pure mode"]
    made = form(cell, name, types)
    hidden = "import sys, math\nsys.modules['cython'] = sys.modules['Cython'] = None\n"
    program = f"{hidden}{made.source}\nprint({name}{inputs})\n"
    done = run_python(program)
    assert done.stdout.strip() == "4.0"


def test_everything_of_libc_math_may_be_cimported_at_once() -> None:
    made = form("from libc.math cimport *\ncdef double f(double x):\n    return sin(x) + M_PI\n")
    assert checked(made)(0.0) == math.pi
