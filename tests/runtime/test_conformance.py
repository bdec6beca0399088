"""One table for all front ends: what a NumPy ufunc must do, tried on the same functions of each language.

The functions are in ``support/conformance_cells.py``.  Each check runs once for each front end whose functions it
needs, against NumPy's own ufuncs of the same meaning.  What only C has is at the end.
"""

from __future__ import annotations

import importlib.util
import inspect
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ufunc_magic as um
from support import compile_in, conformance_cells as cells
from ufunc_magic.runtime import Build, find_ufunc

#: Front end -> the source of its functions, and how they are compiled.
FRONT_ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "C": (cells.C, {}),
    "C++": (cells.CPLUS, {"cplus": True}),
    "Cython": (cells.CYTHON, {"language": "cython"}),
    "CUDA emulation": (cells.CUDA, {"language": "cuda", "device": "cpu"}),
    "from_numba": ("", {}),
}
TYPES = {
    "add": "dd->d",
    "wave": "d->d",
    "half": "f->f",
    "scaled": "ff->f",
    "polar": "dd->dd",
    "product": "ll->l",
    "positive": "d->?",
    "rotate": "Dd->D",
    "hypotenuse": "dd->d",
    "inverse": "d->d",
    "truncate": "d->i",
    "dot": "dd->d",
}
#: Functions that a front end has no type for: complex numbers in CUDA; arrays in Numba's ufuncs.
LACKING = {"CUDA emulation": {"rotate"}, "from_numba": {"dot"}}
REQUIRES = {"Cython": "Cython", "from_numba": "numba"}
MARKS = {"Cython": pytest.mark.cython, "from_numba": pytest.mark.numba}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[MARKS[name]] if name in MARKS else []) for name in FRONT_ENDS],
)
def c(request: pytest.FixtureRequest, shared_cache_folder: Any) -> Any:
    """The ufuncs of one front end, by name and as attributes."""
    name: str = request.param
    if name in REQUIRES and importlib.util.find_spec(REQUIRES[name]) is None:
        pytest.skip(f"{REQUIRES[name]} is not installed")
    if name == "from_numba":
        functions = {key: um.from_numba(function) for key, function in cells.numba_functions().items()}
    else:
        source, options = FRONT_ENDS[name]
        functions = {key: find_ufunc(f) for key, f in compile_in(shared_cache_folder, source, **options).items()}
    assert functions.keys() == TYPES.keys() - LACKING.get(name, set())
    return SimpleNamespace(**functions)


def test_they_are_ufuncs_of_the_right_types(c: Any) -> None:
    for name, function in vars(c).items():
        assert isinstance(function, np.ufunc)
        assert [np.dtype(letter) for letter in function.types[0].replace("->", "")] == [
            np.dtype(letter) for letter in TYPES[name].replace("->", "")
        ]
        assert (len(function.types), function.nin, function.__name__) == (1, TYPES[name].index("-"), name)


def needing(name: str) -> Callable[[Any], Any]:
    """Leave a test out for front ends that lack a function."""
    lacking = [front for front, names in LACKING.items() if name in names]
    fronts = [pytest.param(f, marks=[MARKS[f]] if f in MARKS else []) for f in FRONT_ENDS if f not in lacking]
    return pytest.mark.parametrize("c", fronts, indirect=True)


X = np.linspace(0.01, 3, 101)

#: Arguments in every layout that NumPy can hand to a loop.
LAYOUTS: dict[str, Callable[[], Any]] = {
    "python number": lambda: 0.25,
    "0-d": lambda: np.array(0.25),
    "empty": lambda: X[:0],
    "one element": lambda: X[:1],
    "contiguous": lambda: X,
    "every other": lambda: X[::2],
    "backwards": lambda: X[::-1],
    "two-dimensional": lambda: X[:100].reshape(10, 10),
    "transposed": lambda: X[:100].reshape(10, 10).T,
    "column": lambda: X[:100].reshape(10, 10)[:, 3],
    "broadcast": lambda: np.broadcast_to(X[:7], (5, 7)),
    "unaligned": lambda: np.frombuffer(b"x" + X.tobytes(), dtype="f8", offset=1),
    "byte-swapped": lambda: X.astype(">f8"),
    "read-only": lambda: np.frombuffer(X.tobytes()),
    "field of a record": lambda: np.rec.fromarrays([np.arange(101, dtype="i1"), X]).f1,
    "float32": lambda: X.astype("f4"),
    "integers": lambda: np.arange(1, 9),
    "list": lambda: [0.1, 0.7, 2.0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_numpys_answer(c: Any, layout: str) -> None:
    x = LAYOUTS[layout]()
    np.testing.assert_array_equal(c.add(x, x), np.add(x, x, dtype="f8"))
    d = np.asarray(x, "f8")
    with np.errstate(all="ignore"):
        expected = np.where(d < 0.5, 4 * d + np.exp(-d), np.log(d))
    np.testing.assert_allclose(c.wave(x), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_serves_as_out(c: Any, layout: str) -> None:
    x = np.array(LAYOUTS[layout](), dtype="f8")
    target = LAYOUTS[layout]()
    if not isinstance(target, np.ndarray) or not target.flags.writeable or target.dtype != "f8":
        target = np.zeros_like(x)
    expected = np.add(x, 1.0)
    assert c.add(x, 1.0, out=target) is target
    np.testing.assert_array_equal(target, expected)


def test_a_value_does_not_depend_on_its_place(c: Any) -> None:
    x = np.random.default_rng(1).uniform(0, 3, 1003)
    whole = c.wave(x)
    assert [c.wave(v) for v in x] == whole.tolist()
    for step in (2, 3, 7, -1):
        np.testing.assert_array_equal(c.wave(x[::step]), whole[::step])
    for start in range(17):
        np.testing.assert_array_equal(c.wave(x[start:]), whole[start:])
    in_place = x.copy()
    np.testing.assert_array_equal(c.wave(in_place, out=in_place), whole)


def test_where_leaves_the_others_alone(c: Any) -> None:
    out = np.full(101, -1.0)
    c.add(X, X, out=out, where=X > 1)
    np.testing.assert_array_equal(out, np.where(X > 1, 2 * X, -1))


def test_casting_dtype_and_signature_are_numpys(c: Any) -> None:
    assert c.add(np.float32(1), np.float32(2)).dtype == "f8"
    assert c.half(np.float16(1)).dtype == "f4"
    assert c.scaled(np.float32(1), 3.0).dtype == "f4"  # a Python float is weak beside an array (NEP 50)
    assert c.scaled(np.float32(1), 3).dtype == "f4"
    assert c.add(1, 2, dtype="f8") == 3
    assert c.add(1, 2, signature="dd->d") == 3
    with pytest.raises(TypeError, match="half"):
        c.half(np.ones(2))
    assert c.half(np.float64(1), dtype="f4", casting="same_kind") == 0.5
    with pytest.raises(TypeError):
        c.add("a", "b")


def test_order_is_kept(c: Any) -> None:
    x = np.asfortranarray(X[:100].reshape(10, 10))
    assert c.add(x, x).flags.f_contiguous
    assert c.add(x, x, order="C").flags.c_contiguous


def test_reduce_accumulate_reduceat_outer_and_at(c: Any) -> None:
    x = np.arange(1.0, 61).reshape(3, 4, 5)
    np.testing.assert_array_equal(c.add.reduce(x), x.sum(0))
    np.testing.assert_array_equal(c.add.reduce(x, axis=None), x.sum())
    np.testing.assert_array_equal(c.add.reduce(x, axis=(0, 2), keepdims=True), x.sum((0, 2), keepdims=True))
    np.testing.assert_array_equal(c.add.reduce(x[:, :0], axis=1), 0)
    np.testing.assert_array_equal(c.add.reduce(x, axis=1, where=x % 2 == 0), x.sum(1, where=x % 2 == 0))
    np.testing.assert_array_equal(c.add.accumulate(x, axis=1), x.cumsum(1))
    np.testing.assert_array_equal(c.add.accumulate(x[::-1, ::2], axis=0), x[::-1, ::2].cumsum(0))
    np.testing.assert_array_equal(c.add.reduceat(x[0, 0], [0, 2, 1]), np.add.reduceat(x[0, 0], [0, 2, 1]))
    np.testing.assert_array_equal(c.add.outer(x[0, 0], x[1, 0]), np.add.outer(x[0, 0], x[1, 0]))
    mine, numpys = np.zeros(4), np.zeros(4)
    c.add.at(mine, [0, 0, 3], [1.0, 2, 3])
    np.add.at(numpys, [0, 0, 3], [1.0, 2, 3])
    np.testing.assert_array_equal(mine, numpys)
    assert c.add.identity == 0
    assert c.product.reduce(np.arange(1, 11).reshape(2, 5), axis=None) == 3628800
    assert c.product.reduce(np.array([], dtype=int)) == 1
    with pytest.raises(ValueError, match="reorderable"):
        c.hypotenuse.reduce(np.ones((2, 2)), axis=None)


def test_long_reductions_are_the_plain_sum_in_order(c: Any) -> None:
    x = np.random.default_rng(2).normal(size=100_003)
    expected = 0.0
    for value in x.tolist():
        expected += value
    assert c.add.reduce(x) == expected
    np.testing.assert_array_equal(c.add.accumulate(x)[-1], expected)


def test_overlapping_memory_is_read_before_it_is_written(c: Any) -> None:
    for shift in (-3, -1, 1, 3):
        mine, numpys = np.arange(2000.0), np.arange(2000.0)
        a, b = slice(3, 1990), slice(3 + shift, 1990 + shift)
        c.add(mine[a], 1.0, out=mine[b])
        np.add(numpys[a], 1.0, out=numpys[b])
        np.testing.assert_array_equal(mine, numpys)
    z = np.arange(10) + 1j * np.arange(10)
    c.add(z.real, 1.0, out=z.imag)
    np.testing.assert_array_equal(z.imag, np.arange(10) + 1)


@settings(max_examples=150, deadline=None)
@given(
    length=st.integers(0, 1100),
    starts=st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8)),
    steps=st.tuples(*[st.sampled_from([-3, -2, -1, 1, 2, 3])] * 3),
    shared=st.booleans(),
)
def test_any_strides_and_overlaps_agree_with_numpy(
    c: Any, length: int, starts: tuple[int, ...], steps: tuple[int, ...], shared: bool
) -> None:
    def views(memory: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        taken = []
        for block, start, step in zip(memory, starts, steps, strict=True):
            part = block[start : start + length * abs(step)][:: abs(step)]
            taken.append(part[::-1] if step < 0 else part)
        return taken

    first = np.random.default_rng(0).normal(size=4000)
    mine = [first.copy()] * 3 if shared else [first.copy() for _ in range(3)]
    numpys = [first.copy()] * 3 if shared else [first.copy() for _ in range(3)]
    a, b, out = views(mine)
    c.add(a, b, out=out)
    a, b, out = views(numpys)
    np.add(a, b, out=out)
    for left, right in zip(mine, numpys, strict=True):
        np.testing.assert_array_equal(left, right)


def test_several_outputs_and_a_tuple_of_outs(c: Any) -> None:
    r, phi = c.polar(X, X[::-1])
    np.testing.assert_allclose(r, np.hypot(X, X[::-1]), rtol=1e-15)
    np.testing.assert_allclose(phi, np.arctan2(X[::-1], X), rtol=1e-15)
    mine = np.empty(101)
    result = c.polar(X, X, out=(None, mine))
    assert result[1] is mine
    same = np.empty(101)
    c.polar(X, X[::-1], out=(same, same[::-1]))  # NumPy copies what overlaps
    np.testing.assert_allclose(same[::-1], np.arctan2(X[::-1], X), rtol=1e-15)


def test_integers_and_bool(c: Any) -> None:
    assert c.product(3, 4) == 12
    assert c.product(np.iinfo("i8").max, 2) == -2  # wraps
    assert c.positive(np.array([-1.0, 0, 1])).tolist() == [False, False, True]


@needing("rotate")
def test_complex_numbers(c: Any) -> None:
    z = np.array([1 + 1j, -2j])
    np.testing.assert_allclose(c.rotate(z, np.pi / 2), z * 1j, atol=1e-15)


def test_nan_and_infinity_go_through(c: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0])
    np.testing.assert_array_equal(c.add(x, 0.0), np.add(x, 0.0))
    assert np.isnan(c.hypotenuse(np.nan, 1.0))
    assert np.isnan(c.add.reduce(np.array([1.0, np.nan])))
    assert c.positive(np.array([np.nan, np.inf])).tolist() == [False, True]
    assert np.signbit(c.add(np.array([-0.0]), -0.0)).tolist() == [True]


@needing("dot")
def test_generalized_ufuncs_broadcast_and_read_any_core_strides(c: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 6, 8)), rng.normal(size=(6, 8))
    np.testing.assert_allclose(c.dot(a, b), (a * b).sum(-1))
    np.testing.assert_allclose(c.dot(a[..., ::2], b[..., 1::2]), (a[..., ::2] * b[..., 1::2]).sum(-1))
    np.testing.assert_allclose(c.dot(a.T, a.T[::-1]), (a.T * a.T[::-1]).sum(-1))
    np.testing.assert_allclose(c.dot(a, b, axis=0 - 1, keepdims=True), (a * b).sum(-1, keepdims=True))
    assert c.dot([], []) == 0


def test_warnings_are_the_users_own(c: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c.wave(np.tile([0.1, 0.4, -0.2], 50))  # log of a negative number in the branch not taken
        c.inverse(np.tile([0.0, 1.0, -1.0], 50))  # 1/0 in the branch not taken
        c.wave(np.array([np.nan, 1.0]))  # a NaN that came in is nobody's fault
        assert np.isinf(c.add(np.inf, 1.0))
    for call, message in (
        (lambda: c.wave(np.array([1.0, -np.inf])), "overflow|invalid"),
        (lambda: c.add(1e308, 1e308), "overflow"),
        (lambda: c.add(np.inf, -np.inf), "invalid"),
        (lambda: c.truncate(np.array([1.0, np.nan])), "invalid"),
        (lambda: c.add.reduce(np.array([1e308, 1e308])), "overflow"),
    ):
        with pytest.warns(RuntimeWarning, match=message):
            call()
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            call()


@needing("dot")
def test_warnings_of_generalized_ufuncs_are_the_users_own(c: Any) -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        c.dot([1e200, 1.0], [1e200, 1.0])
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        c.dot([1e200, 1.0], [1e200, 1.0])


def test_warnings_name_the_real_element_also_in_place(c: Any) -> None:
    x = np.tile([0.1, 0.4, -0.2], 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c.wave(x, out=x)


def test_subclasses_masked_arrays_and_overrides(c: Any) -> None:
    class Tagged(np.ndarray[Any, Any]):
        pass

    assert isinstance(c.add(X.view(Tagged), 1), Tagged)
    assert type(c.add(X.view(Tagged), 1, subok=False)) is np.ndarray
    masked = np.ma.masked_less(X, 1)
    np.testing.assert_array_equal(np.ma.getmaskarray(c.add(masked, masked)), masked.mask)

    class Mine:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return ufunc.__name__, method

    assert c.add(Mine(), 1) == ("add", "__call__")
    assert c.add.reduce(Mine()) == ("add", "reduce")


@pytest.mark.slow
def test_pandas_xarray_and_dask_call_it(c: Any) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    array = pytest.importorskip("dask.array")
    series = pandas.Series([0.1, 0.2, 2.0], index=list("abc"))
    assert c.wave(series).index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(c.wave(series), c.wave(series.to_numpy()))
    labelled = xarray.DataArray(X[:6].reshape(2, 3), dims=("y", "x"))
    assert c.add(labelled, labelled).dims == ("y", "x")
    lazy = array.from_array(X, chunks=20)
    np.testing.assert_array_equal(c.wave(lazy).compute(), c.wave(X))


def test_many_threads_get_their_own_answers_and_warnings(c: Any) -> None:
    x = np.random.default_rng(4).uniform(0, 3, 200_000)
    expected = c.wave(x)
    faults: list[str] = []

    def work() -> None:
        faults.extend("wrong" for _ in range(10) if not np.array_equal(c.wave(x), expected))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# -- what only C has ----------------------------------------------------------------------------

CORES = """
long double wide(long double x) { return x + 1; }
/* ufunc: (m,n),(n)->(m) */
void matvec(const double *a, const double *x, double *y, int m, int n) {
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) y[i] += a[i*n + j] * x[j];
}
void rotate3(const double r[3][3], const double p[3], double out[3]) {
    for (int i = 0; i < 3; i++) { out[i] = 0; for (int j = 0; j < 3; j++) out[i] += r[i][j] * p[j]; }
}
// Twice x.
double twice(double x) { return 2 * x; }
"""


@pytest.fixture(scope="module")
def cores(shared_cache_folder: Any) -> Build:
    return compile_in(shared_cache_folder, CORES)


def test_long_double_keeps_its_digits(cores: Build) -> None:
    assert cores.wide.types == ["g->g"]
    assert cores.wide(np.longdouble(1) / 3) == np.longdouble(1) / 3 + 1


def test_matrices_and_fixed_cores_are_read_at_any_strides(cores: Build) -> None:
    rng = np.random.default_rng(3)
    m, x = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 4))
    np.testing.assert_allclose(cores.matvec(m, x), np.einsum("kij,kj->ki", m, x))
    np.testing.assert_allclose(
        cores.matvec(m[:, ::-1, ::2], x[:, ::2]), np.einsum("kij,kj->ki", m[:, ::-1, ::2], x[:, ::2])
    )
    out = np.empty((5, 6))[:, ::2]
    np.testing.assert_allclose(cores.matvec(m, x, out=out), np.einsum("kij,kj->ki", m, x))
    r, p = rng.normal(size=(7, 3, 3)), rng.normal(size=(7, 3))
    np.testing.assert_allclose(cores.rotate3(r, p), np.einsum("kij,kj->ki", r, p))
    np.testing.assert_allclose(cores.rotate3(r.swapaxes(1, 2), p[::-1]), np.einsum("kji,kj->ki", r, p[::-1]))
    with pytest.raises(ValueError, match="core dim"):
        cores.rotate3(np.zeros((2, 2)), np.zeros(3))


def test_a_ufunc_describes_itself(cores: Build) -> None:
    f = cores.twice
    assert (f.__name__, f.__module__) == ("twice", "__main__")
    assert f.__source__ == "// Twice x.\ndouble twice(double x) { return 2 * x; }".partition("\n")[2]
    assert "Twice x." in f.__doc__
    assert f.__doc__.startswith("twice(x[, result], / [, out=None], *, where=True")
    assert list(inspect.signature(f).parameters)[:3] == ["x", "out", "where"]
    assert list(inspect.signature(cores.matvec).parameters)[:2] == ["a", "x"]


NARROW = """
int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
float half(float x) { return x / 2; }
double power(double x, int n) { double r = 1; while (n-- > 0) r *= x; return r; }
unsigned char blend(unsigned char a, unsigned char b) { return (a + b) / 2; }
"""


@pytest.fixture(scope="module")
def narrow(shared_cache_folder: Any) -> Build:
    return compile_in(shared_cache_folder, NARROW)


def test_python_numbers_and_int64_arrays_find_the_loop_of_cs_int(narrow: Build) -> None:
    built = narrow
    assert [f.types for f in built.values()] == [["ii->i"], ["f->f"], ["di->d"], ["BB->B"]]
    assert built.gcd(12, 18) == 6
    assert built.gcd(np.arange(3), 12).tolist() == [12, 1, 2]
    assert built.gcd(np.arange(3), 12).dtype == np.intc
    assert built.gcd.reduce([12, 18, 30]) == 6
    assert built.gcd.accumulate([12, 18, 30, 7]).tolist() == [12, 6, 6, 1]
    assert built.gcd(np.int16(12), 18, dtype="i4") == 6
    assert built.power(2, 10) == 1024
    assert built.power([2.0, 3.0], [3, 2]).tolist() == [8, 9]
    assert built.blend(200, 100) == 150


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda b: b.gcd(2.5, 3), TypeError),
        (lambda b: b.gcd("12", 18), TypeError),
        (lambda b: b.gcd(2**40, 3), OverflowError),
        (lambda b: b.blend(256, 1), OverflowError),
        (lambda b: b.blend(np.array([300]), np.array([1])), OverflowError),
        (lambda b: b.gcd(12, 18, dtype="f8"), TypeError),
        (lambda b: b.half(np.ones(2)), TypeError),
        (lambda b: b.power(2j, 3), TypeError),
    ],
)
def test_what_would_lose_its_meaning_is_refused(
    narrow: Build, call: Callable[[Any], Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call(narrow)
