"""Functions of CUDA cells in kernels of Numba's CUDA simulator, which runs without a GPU and without CUDA."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from ufunc_magic.languages.cuda.numba_cuda.simulator import Simulation

KERNELS = Path(__file__).parent / "kernels" / "simulated.py"
numba = pytest.mark.numba
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="Numba is not installed")


@pytest.fixture(scope="module", params=["numba", "numba-cuda"])
def seen(request: pytest.FixtureRequest, shared_cache_folder: Path) -> dict[str, Any]:
    """What the kernels of a process with ``NUMBA_ENABLE_CUDASIM=1`` saw, by scene."""
    if request.param == "numba-cuda" and importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed")
    environment = {**os.environ, "UFUNC_MAGIC_CACHE": str(shared_cache_folder)}
    command = [sys.executable, str(KERNELS), request.param]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return {"simulator": request.param, **json.loads(done.stdout)}


@numba
@needs_numba
class TestSimulatedKernels:
    def test_binding_names_imports_no_numba(self, seen: dict[str, Any]) -> None:
        assert seen["implementation"] == [[], seen["simulator"] == "numba-cuda"]

    def test_scalars_give_scalars(self, seen: dict[str, Any]) -> None:
        assert seen["products"] == [0, 1, 4, 9, 16, 25, 36, 49]

    def test_functions_are_found_by_the_name_that_is_declared(self, seen: dict[str, Any]) -> None:
        assert seen["functions_that_are_declared_by_name"] == [0, 1, 4, 9, 16, 25, 36, 49]

    def test_pointers_come_from_buffers(self, seen: dict[str, Any]) -> None:
        assert seen["sum_by_pointer"] == 45

    def test_overloads_are_chosen_as_numba_types_them(self, seen: dict[str, Any]) -> None:
        # float with float, double with double, mixed, with Numba's int64; then C's conversion of -1 to unsigned.
        assert seen["widths_of_results"] == [4, 8, 8, 8, (-2654435761) % 2**32, 0]

    def test_several_results_are_a_tuple_or_go_to_pointers(self, seen: dict[str, Any]) -> None:
        assert seen["results_as_a_tuple_and_by_pointers"] == pytest.approx([5, 0.927, 5, 0.927], abs=1e-6)

    def test_c_code_knows_its_thread(self, seen: dict[str, Any]) -> None:
        place = [[[23000 + 100 * block + 10 * y + x for x in range(3)] for y in range(2)] for block in range(2)]
        assert seen["geometry_in_c"] == place

    def test_c_code_waits_for_its_block(self, seen: dict[str, Any]) -> None:
        assert seen["barriers_in_c"] == [sum(range(64)), sum(range(64, 128))]

    def test_launches_of_our_own_wait_in_their_own_way_afterwards(self, seen: dict[str, Any]) -> None:
        assert seen["launch_of_our_own_after_it"] == [sum(range(64))]

    def test_c_code_of_one_thread_is_not_interrupted_by_another(self, seen: dict[str, Any]) -> None:
        assert seen["slow_updates_of_many_threads"] == [8, 8]
        assert seen["slow_ufunc_of_many_threads"] == list(range(8))

    def test_pointers_are_read_as_well_as_written(self, seen: dict[str, Any]) -> None:
        assert seen["atomic_sum_of_many_threads"] == [100 + sum(range(17))]
        assert seen["pointers_that_are_read_and_written"] == [3, 4, 5, 6]

    def test_device_functions_and_closures_call_them_too(self, seen: dict[str, Any]) -> None:
        assert seen["device_functions_and_closures"] == [0, 1, 8, 27]

    def test_what_does_not_fit_is_said_in_the_kernel(self, seen: dict[str, Any]) -> None:
        array, strided, pointer, cpu = seen["faults"]
        assert "an argument is no number. Call it with elements, mul(x[i], ...)" in array
        assert "from_buffer() takes contiguous arrays only" in strided
        assert "sum_reduce(pointer to float64, int64) fits no signature of the cell" in pointer
        assert "There is sum_reduce(pointer to float32, int32)." in pointer
        assert "twice is machine code for the CPU" in cpu

    def test_names_and_barriers_are_what_they_were_after_a_kernel_that_failed(self, seen: dict[str, Any]) -> None:
        assert seen["names_afterwards"] == [[sum(range(64))], True, True, True]


def product(x: int) -> int:
    return other(x)


def other(x: int) -> int:
    return 2 * x


class Tenfold(Simulation):
    def substitute(self, value: Any) -> Any:
        return (lambda x: 10 * x) if value is other else None


def test_names_are_exchanged_only_inside() -> None:
    simulation = Tenfold()
    with simulation.substitute_around(product), simulation.substitute_around(product):
        assert product(1) == 10
    assert product(1) == 2


def test_names_come_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Tenfold().substitute_around(product):
        raise ZeroDivisionError
    assert product(1) == 2


@pytest.mark.slow
def test_simulated_threads_have_no_warps() -> None:
    text = "__device__ int f(int x) { return __shfl_xor_sync(0xffffffff, x, 1); }"
    function = Simulation().substitute(um.compile_cuda(text, device="cpu").f)
    with pytest.raises(TypeError, match=r"f .*other lanes"):
        function(3)
