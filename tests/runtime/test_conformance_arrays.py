"""Arrays of other libraries through ``f(x)``: each row works, or raises clearly.

``benchmarks/arrays_table.py`` runs the same rows and writes the table of ``docs/arrays.md``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import ufunc_magic as um
from support import REPOSITORY

CELL = """
double f(double a) { return 2*a + 1; }
double g(double a, double b) { return a - b; }
int h(int a) { return a + 1; }
void both(double a, double *up, double *down) { *up = a + 1; *down = a - 1; }
"""
GPU_CELL = "__device__ double f(double a) { return 2*a + 1; }"


@dataclass(frozen=True)
class Row:
    """One line of the table: ``check`` gets the functions of the cell, asserts, and returns nothing.

    ``result`` is what comes back, or, where ``raises`` is an exception's name, what to write instead; ``needs`` a
    second library.
    """

    library: str
    given: str
    call: str
    result: str
    raises: str
    needs: str
    check: Callable[[Any], None]

    def __str__(self) -> str:
        return f"{self.library}: {self.call}, {self.given}"


ROWS: list[Row] = []


def row(library: str, given: str, call: str, result: str, *, raises: str = "", needs: str = "") -> Callable[[Any], Any]:
    """Make a row of the function below."""

    def add(check: Callable[[Any], None]) -> Callable[[Any], None]:
        ROWS.append(Row(library, given, call, result, raises, needs, check))
        return check

    return add


@functools.cache
def _functions(cell: str) -> Any:
    return um.compile_cuda(cell) if "__device__" in cell else um.compile_c(cell)


def missing(row: Row) -> str:
    """Why a row cannot run here, or ``""``."""
    for library in filter(None, (row.library, row.needs)):
        if importlib.util.find_spec(library) is None:
            return f"{library} is not installed"
    if row.library == "cupy":
        import cupy

        try:
            cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as fault:
            return f"no GPU: {fault}"
    return ""


def version(library: str) -> str:
    return str(__import__(library).__version__)


def outcome(row: Row) -> str:
    """Run a row: ``"works"``, or the name and text of the exception that was expected of it."""
    functions = _functions(GPU_CELL if row.library == "cupy" else CELL)
    if not row.raises:
        row.check(functions)
        return "works"
    with pytest.raises(Exception) as caught:  # noqa: PT011
        row.check(functions)
    assert type(caught.value).__name__ == row.raises
    return f"{row.raises}: {str(caught.value).splitlines()[0]}"


# ------------------------------------------------------------------------------------------- NumPy's own


@row("numpy", "masked array", "g(m, x)", "masked array; the masks are joined")
def _(um: Any) -> None:
    made = um.g(np.ma.array([5.0, 6.0], mask=[False, True]), np.ones(2))
    assert isinstance(made, np.ma.MaskedArray)
    assert made.tolist() == [4.0, None]


@row("numpy", "masked array", "both(m)", "a tuple of masked arrays")
def _(um: Any) -> None:
    assert [part.tolist() for part in um.both(np.ma.array([5.0, 6.0], mask=[False, True]))] == [
        [6.0, None],
        [4.0, None],
    ]


class Quantity(np.ndarray):  # type: ignore[type-arg]
    """An array with a unit, as astropy's are: it asks for a rule for each ufunc."""

    rules: ClassVar[dict[Any, Callable[..., str]]] = {}

    def __new__(cls, values: Any, unit: str) -> Quantity:
        made = np.asarray(values, dtype=float).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, source: Any) -> None:
        self.unit = getattr(source, "unit", "")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        rule = self.rules.get(ufunc)
        if rule is None or method != "__call__":
            raise TypeError(f"no unit is known for the result of {ufunc.__name__}.{method}")
        unit = rule(*(getattr(x, "unit", "") for x in inputs))
        plain = [x.view(np.ndarray) if isinstance(x, Quantity) else x for x in inputs]
        made = ufunc(*plain, **kwargs)
        return tuple(Quantity(part, unit) for part in made) if ufunc.nout > 1 else Quantity(made, unit)


@row("numpy", "subclass with `__array_ufunc__`", "g(q, q)", "the subclass: the ufunc can be the key of its rules")
def _(um: Any) -> None:
    Quantity.rules[um.g] = lambda a, b: a
    made = um.g(Quantity([5.0, 6.0], "m"), Quantity([1.0, 1.0], "m"))
    assert (type(made), made.unit, made.tolist()) == (Quantity, "m", [4.0, 5.0])


@row("numpy", "subclass without a rule for f", "f(q)", "", raises="TypeError")
def _(um: Any) -> None:
    um.f(Quantity([5.0], "m"))


@row("numpy", "np.matrix", "f(m)", "np.matrix")
def _(um: Any) -> None:
    made = um.f(np.ones((1, 2)).view(np.matrix))
    assert (type(made), made.tolist()) == (np.matrix, [[3.0, 3.0]])


@row("numpy", "list, memoryview, any buffer", "f(x)", "array")
def _(um: Any) -> None:
    assert um.f([1.0, 2.0]).tolist() == um.f(memoryview(np.array([1.0, 2.0]))).tolist() == [3.0, 5.0]


@row("numpy", "array of objects", "f(x)", "`f(x.astype(float))`", raises="TypeError")
def _(um: Any) -> None:
    um.f(np.array([1, 2], dtype=object))


# ------------------------------------------------------------------------------------------------ pandas


@row("pandas", "Series", "f(s)", "Series with index and name")
def _(um: Any) -> None:
    import pandas as pd

    made = um.f(pd.Series([1.0, 2.0], index=["a", "b"], name="s"))
    pd.testing.assert_series_equal(made, pd.Series([3.0, 5.0], index=["a", "b"], name="s"))


@row("pandas", "two Series", "g(s, t)", "Series; rows are matched by index")
def _(um: Any) -> None:
    import pandas as pd

    s = pd.Series([1.0, 2.0], index=["a", "b"])
    assert um.g(s, s[::-1] * 10).to_dict() == {"a": -9.0, "b": -18.0}


@row("pandas", "Series", "f(s, out=t)", "written into the Series t")
def _(um: Any) -> None:
    import pandas as pd

    target = pd.Series([0.0, 0.0])
    um.f(pd.Series([1.0, 2.0]), out=target)
    assert target.tolist() == [3.0, 5.0]


@row("pandas", "DataFrame", "f(df)", "DataFrame with index and columns")
def _(um: Any) -> None:
    import pandas as pd

    made = um.f(pd.DataFrame({"a": [1, 2], "b": [0.5, 1.0]}, index=[7, 8]))
    pd.testing.assert_frame_equal(made, pd.DataFrame({"a": [3.0, 5.0], "b": [2.0, 3.0]}, index=[7, 8]))


@row("pandas", "DataFrame", "both(df)", "a tuple of DataFrames")
def _(um: Any) -> None:
    import pandas as pd

    assert [part["a"].tolist() for part in um.both(pd.DataFrame({"a": [1.0]}))] == [[2.0], [0.0]]


@row("pandas", "Index", "f(i)", "Index")
def _(um: Any) -> None:
    import pandas as pd

    pd.testing.assert_index_equal(um.f(pd.Index([1.0, 2.0])), pd.Index([3.0, 5.0]))


@row("pandas", "nullable Int64, Float64, boolean", "f(s)", "Float64; NA stays NA")
def _(um: Any) -> None:
    import pandas as pd

    for dtype in ("Int64", "Float64", "boolean"):
        made = um.f(pd.Series([1, None], dtype=dtype))
        assert (str(made.dtype), made[0], made[1] is pd.NA) == ("Float64", 3.0, True)


@row("pandas", "nullable Int64, h of C's int", "h(s)", "Int32; NA stays NA")
def _(um: Any) -> None:
    import pandas as pd

    made = um.h(pd.Series([1, None], dtype="Int64"))
    assert (str(made.dtype), made[0], made[1] is pd.NA) == ("Int32", 2, True)


@row("pandas", "SparseArray", "f(a)", "SparseArray")
def _(um: Any) -> None:
    import pandas as pd

    made = um.f(pd.arrays.SparseArray([1.0, 0.0, 0.0], fill_value=0.0))
    assert (type(made), made.to_dense().tolist()) == (pd.arrays.SparseArray, [3.0, 1.0, 1.0])


@row("pandas", "Series of strings, categories or dates", "f(s)", "`f(s.astype(float))`", raises="TypeError")
def _(um: Any) -> None:
    import pandas as pd

    with pytest.raises(TypeError):
        um.f(pd.Series(pd.to_datetime(["2020-01-01"])))
    with pytest.raises(TypeError):
        um.f(pd.Series(["x"], dtype="category"))
    um.f(pd.Series(["x"]))


@row("pyarrow", "pandas Series of Arrow's double", "f(s)", "Arrow's double; null stays null", needs="pandas")
def _(um: Any) -> None:
    import pandas as pd

    made = um.f(pd.Series([1.0, None], dtype="double[pyarrow]"))
    assert (str(made.dtype), made[0], made[1] is pd.NA) == ("double[pyarrow]", 3.0, True)


@row("pyarrow", "Array, ChunkedArray", "f(a)", "NumPy array")
def _(um: Any) -> None:
    import pyarrow as pa

    assert um.f(pa.array([1.0, 2.0])).tolist() == um.f(pa.chunked_array([[1.0], [2.0]])).tolist() == [3.0, 5.0]


# ---------------------------------------------------------------------------------------- xarray and Dask


@row("xarray", "DataArray", "f(x)", "DataArray with coordinates")
def _(um: Any) -> None:
    import xarray as xr

    x = xr.DataArray([1.0, 2.0], dims="t", coords={"t": [10, 20]})
    xr.testing.assert_identical(um.f(x), xr.DataArray([3.0, 5.0], dims="t", coords={"t": [10, 20]}))


@row("xarray", "DataArrays of different dimensions", "g(x, y)", "DataArray; broadcast by name")
def _(um: Any) -> None:
    import xarray as xr

    made = um.g(xr.DataArray([1.0, 2.0], dims="a"), xr.DataArray([1.0, 3.0], dims="b"))
    assert (made.dims, made.values.tolist()) == (("a", "b"), [[0.0, -2.0], [1.0, -1.0]])


@row("xarray", "Dataset", "both(d)", "a tuple of Datasets")
def _(um: Any) -> None:
    import xarray as xr

    assert [part["v"].values.tolist() for part in um.both(xr.Dataset({"v": ("t", [1.0])}))] == [[2.0], [0.0]]


@row("xarray", "DataArray", "f(x, out=y)", "`f(x.values, out=y.values)`", raises="NotImplementedError")
def _(um: Any) -> None:
    import xarray as xr

    x = xr.DataArray([1.0, 2.0], dims="t")
    um.f(x.values, out=x.values)
    assert x.values.tolist() == [3.0, 5.0]
    um.f(x, out=x)


@row("dask", "xarray's DataArray of Dask chunks", "f(x)", "DataArray of Dask chunks", needs="xarray")
def _(um: Any) -> None:
    import dask.array
    import xarray as xr

    made = um.f(xr.DataArray(np.arange(4.0), dims="t").chunk(t=2))
    assert isinstance(made.data, dask.array.Array)
    assert (made.chunks, made.compute().values.tolist()) == (((2, 2),), [1.0, 3.0, 5.0, 7.0])


@row("dask", "Array", "g(d, x)", "Dask array of the same chunks")
def _(um: Any) -> None:
    import dask.array

    made = um.g(dask.array.arange(4.0, chunks=2), np.ones(4))
    assert isinstance(made, dask.array.Array)
    assert (made.chunks, made.compute().tolist()) == (((2, 2),), [-1.0, 0.0, 1.0, 2.0])


@row("dask", "Array", "f(d, out=e)", "written into the Dask array e")
def _(um: Any) -> None:
    import dask.array

    target = dask.array.empty(4, chunks=2)
    um.f(dask.array.arange(4.0, chunks=2), out=target)
    assert target.compute().tolist() == [1.0, 3.0, 5.0, 7.0]


@row("dask", "Array", "both(d)", "`dask.array.apply_gufunc(both, '()->(),()', d)`", raises="TypeError")
def _(um: Any) -> None:
    import dask.array

    d = dask.array.arange(4.0, chunks=2)
    up, down = dask.array.apply_gufunc(um.both, "()->(),()", d, output_dtypes=(float, float))
    assert (up.compute().tolist(), down.compute().tolist()) == ([1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 2.0])
    um.both(d)


@row("dask", "Array", "g.reduce(d)", "`g.reduce(d.compute())`", raises="TypeError")
def _(um: Any) -> None:
    import dask.array

    d = dask.array.arange(4.0, chunks=2)
    assert um.g.reduce(d.compute()) == -6.0
    um.g.reduce(d)


# ------------------------------------------------------------------------------- ragged, sparse and units


@row("awkward", "ragged Array", "g(a, b)", "ragged Array")
def _(um: Any) -> None:
    import awkward as ak

    ragged = ak.Array([[5.0, 6.0], [], [7.0]])
    assert um.g(ragged, 1.0).to_list() == [[4.0, 5.0], [], [6.0]]
    assert um.g(ragged, ragged).to_list() == [[0.0, 0.0], [], [0.0]]


@row("awkward", "Array with None", "both(a)", "a tuple of Arrays; None stays None")
def _(um: Any) -> None:
    import awkward as ak

    assert [part.to_list() for part in um.both(ak.Array([1.0, None]))] == [[2.0, None], [0.0, None]]


@row("awkward", "Array of records", "f(a)", "`f(a.x)`, field by field", raises="ValueError")
def _(um: Any) -> None:
    import awkward as ak

    records = ak.Array([{"x": 1.0}])
    assert um.f(records.x).to_list() == [3.0]
    um.f(records)


@row("sparse", "COO", "f(s)", "COO whose fill value is f(0)", needs="numba")
def _(um: Any) -> None:
    import sparse

    made = um.f(sparse.COO.from_numpy(np.eye(2)))
    assert (made.nnz, made.fill_value, made.todense().tolist()) == (2, 1.0, [[3.0, 1.0], [1.0, 3.0]])


@row("sparse", "COO", "both(s)", "a tuple of COO", needs="numba")
def _(um: Any) -> None:
    import sparse

    up, down = um.both(sparse.COO.from_numpy(np.eye(2)))
    assert (up.todense().tolist(), down.fill_value) == ([[2.0, 1.0], [1.0, 2.0]], -1.0)


@row("scipy", "sparse array", "f(s)", "`f(s.toarray())`, or f of `s.data` where f(0) is 0", raises="TypeError")
def _(um: Any) -> None:
    import scipy.sparse

    s = scipy.sparse.csr_array(np.eye(2))
    assert um.f(s.toarray()).tolist() == [[3.0, 1.0], [1.0, 3.0]]
    um.f(s)


@row("astropy", "Quantity", "f(q)", "`f(q.value) * unit`, or a rule: `UFUNC_HELPERS[f] = ...`", raises="TypeError")
def _(um: Any) -> None:
    import astropy.units as u

    q = [1.0, 2.0] * u.m
    assert um.f(q.value).tolist() == [3.0, 5.0]
    um.f(q)


@row("astropy", "Quantity, with a rule for g", "g(q, r)", "Quantity; units are converted")
def _(um: Any) -> None:
    import astropy.units as u
    from astropy.units.quantity_helper import UFUNC_HELPERS

    UFUNC_HELPERS[um.g] = UFUNC_HELPERS[np.subtract]
    try:
        made = um.g([1.0, 2.0] * u.m, [50.0, 50.0] * u.cm)
    finally:
        del UFUNC_HELPERS[um.g]
    assert (made.unit, made.value.tolist()) == (u.m, [0.5, 1.5])


# --------------------------------------------------------------------------------------- torch, JAX, CuPy


@row("torch", "CPU tensor", "f(t)", "tensor; nothing is copied on the way in")
def _(um: Any) -> None:
    import torch

    t = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert np.asarray(t).ctypes.data == t.data_ptr()
    made = um.f(t)
    assert isinstance(made, torch.Tensor)
    assert made.tolist() == [3.0, 5.0]


@row("torch", "CPU tensor", "f(t, out=o.numpy())", "written into the tensor o")
def _(um: Any) -> None:
    import torch

    o = torch.empty(2, dtype=torch.float64)
    um.f(torch.tensor([1.0, 2.0], dtype=torch.float64), out=o.numpy())
    assert o.tolist() == [3.0, 5.0]


@row("torch", "CPU tensor", "f(t, out=o)", "`out=o.numpy()`", raises="TypeError")
def _(um: Any) -> None:
    import torch

    um.f(torch.ones(2, dtype=torch.float64), out=torch.empty(2, dtype=torch.float64))


@row("torch", "tensor that requires grad", "f(t)", "`f(t.detach())`: C code has no gradient", raises="RuntimeError")
def _(um: Any) -> None:
    import torch

    t = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert um.f(t.detach()).tolist() == [3.0, 3.0]
    um.f(t)


@row("torch", "tensor of bfloat16", "f(t)", "`f(t.double())`", raises="TypeError")
def _(um: Any) -> None:
    import torch

    um.f(torch.ones(2, dtype=torch.bfloat16))


@row("torch", "tensor of another device", "f(t)", "`f(t.cpu())`, or a function of `%%cuda_device`", raises="TypeError")
def _(um: Any) -> None:
    import torch

    um.f(torch.ones(2, device="meta"))


@row("jax", "Array on the CPU", "f(a)", "NumPy array")
def _(um: Any) -> None:
    import jax.numpy as jnp

    made = um.f(jnp.ones(2))
    assert (type(made), made.tolist()) == (np.ndarray, [3.0, 3.0])


@row(
    "jax",
    "inside jax.jit",
    "f(a)",
    "`jax.pure_callback(f, a, a)`, where f gives the type of `a`",
    raises="TracerArrayConversionError",
)
def _(um: Any) -> None:
    import jax
    import jax.numpy as jnp

    a = jnp.ones(2)
    called = jax.jit(lambda a: jax.pure_callback(lambda x: um.f(x).astype(x.dtype), a, a))
    assert called(a).tolist() == [3.0, 3.0]
    jax.jit(lambda a: um.f(a))(a)


@row("cupy", "ndarray, f of `%%cuda_device`", "f(a)", "CuPy array, computed on the GPU")
def _(um: Any) -> None:
    import cupy

    made = um.f(cupy.asarray([1.0, 2.0]))
    assert isinstance(made, cupy.ndarray)
    assert cupy.asnumpy(made).tolist() == [3.0, 5.0]


# ----------------------------------------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def libraries() -> None:
    """Imported before any test looks whether the environment stays as it was: JAX sets variables of its own."""
    for name in ("jax", "torch"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_array_of_another_library_works_or_raises_clearly(
    row: Row, shared_cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = missing(row)
    if reason:
        pytest.skip(reason)
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(shared_cache_folder))
    assert outcome(row).startswith(row.raises or "works")


def test_table_in_the_docs_says_what_is_tested() -> None:
    text = (REPOSITORY / "docs" / "arrays.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines()]
    listed = {(cells[1], cells[2]): cells[3:] for cells in lines if len(cells) == 5}
    for row in ROWS:
        says, result = listed[row.given, f"`{row.call}`"]
        assert says.startswith(f"`{row.raises}`" if row.raises else "works"), row
        assert result == row.result, row
