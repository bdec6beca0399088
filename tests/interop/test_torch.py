"""Cells that take a torch.Tensor, unwrap it and call ATen; one real compilation, half a minute."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

# Looked for, not imported: torch takes seconds, and the default run has none.
if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: pip install torch==2.13.0", allow_module_level=True)

import torch

pytestmark = [pytest.mark.cython, pytest.mark.slow]

CELL = '''
from libc.stdint cimport int64_t

cdef extern from "torch/csrc/autograd/python_variable.h":
    bint THPVariable_Check(object)
    const Tensor &THPVariable_Unpack(object)
    object THPVariable_Wrap(Tensor)

cdef extern from "ATen/core/Tensor.h" namespace "at":
    cdef cppclass Tensor:
        int64_t numel()
        double *data "data_ptr<double>"() except +

cdef extern from "ATen/ops/sum.h" namespace "at":
    Tensor sum(Tensor) except +

cdef extern from "ATen/ops/add.h" namespace "at":
    Tensor add(Tensor, Tensor) except +

cdef Tensor unwrap(tensor) except *:
    if not THPVariable_Check(tensor):
        raise TypeError(f"{type(tensor).__name__} is not a torch.Tensor")
    return THPVariable_Unpack(tensor)

def total(tensor):
    """ATen's sum."""
    return THPVariable_Wrap(sum(unwrap(tensor)))

def plus(a, b):
    """ATen's add."""
    return THPVariable_Wrap(add(unwrap(a), unwrap(b)))

def plain_total(tensor):
    """The sum of the numbers themselves."""
    cdef Tensor t = unwrap(tensor)
    cdef double *data = t.data()
    cdef double s = 0
    cdef int64_t i
    for i in range(t.numel()):
        s += data[i]
    return s

cdef double twice(double x) noexcept nogil:
    return 2 * x
'''


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> um.Build:
    """The cell, compiled once for this file."""
    pytest.importorskip("Cython")
    made = compile_in(tmp_path_factory.mktemp("cache"), CELL, language="cython", torch=True)
    return made


@pytest.fixture
def values() -> torch.Tensor:
    return torch.arange(5.0, dtype=torch.float64)


def test_cell_calls_aten_on_a_tensor(cell: um.Build, values: torch.Tensor) -> None:
    assert torch.equal(cell.total(values), torch.tensor(10.0, dtype=torch.float64))
    assert torch.equal(cell.plus(values, values), 2 * values)


def test_gradient_flows_through_the_cell(cell: um.Build, values: torch.Tensor) -> None:
    leaf = values.requires_grad_()
    cell.total(cell.plus(leaf, leaf)).backward()
    assert torch.equal(leaf.grad, torch.full((5,), 2.0, dtype=torch.float64))


def test_cell_reads_a_tensors_own_numbers(cell: um.Build, values: torch.Tensor) -> None:
    assert cell.plain_total(values) == 10.0


def test_what_is_no_tensor_is_refused_by_the_cells_own_exception(cell: um.Build) -> None:
    with pytest.raises(TypeError, match=r"int is not a torch\.Tensor"):
        cell.total(3)


def test_atens_exceptions_reach_the_caller(cell: um.Build, values: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="must match the size"):
        cell.plus(values, torch.zeros(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="Double but found Float"):
        cell.plain_total(torch.zeros(3))


def test_scalar_function_of_the_same_cell_is_a_ufunc(cell: um.Build, values: torch.Tensor) -> None:
    assert isinstance(cell.twice, np.ufunc)
    assert cell.twice(values.numpy()).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_cell_finds_torchs_own_libraries(cell: um.Build) -> None:
    lib = Path(torch.__file__).parent / "lib"
    opened = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libc10.so" in line}
    assert opened == {str(lib / "libc10.so")}
