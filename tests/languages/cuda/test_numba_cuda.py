"""Functions of CUDA cells in Numba's CUDA kernels, typed, compiled and linked without a GPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ufunc_magic.languages.cuda import numba_cuda, nvrtc
from ufunc_magic.languages.cuda.numba_cuda import (
    Form,
    ValueType,
    choose,
    describe_mismatch,
    explain_numba_refusal,
    list_forms,
)
from ufunc_magic.model import FunctionCode, LoopCode, ObjectCode, Target

KERNELS = Path(__file__).parent / "kernels"
F4, F8, I4, I8, B1 = (ValueType(np.dtype(t)) for t in ("f4", "f8", "i4", "i8", "?"))
TO_F4, TO_F8 = ValueType(np.dtype("f4"), True), ValueType(np.dtype("f8"), True)

MUL = FunctionCode(
    "mul",
    "ufunc",
    2,
    1,
    loops=(LoopCode(0, (11, 11, 11)), LoopCode(1, (12, 12, 12))),
    calls=("{out0} = mul({in0}, {in1})",) * 2,
)
POLAR = FunctionCode(
    "polar",
    "ufunc",
    2,
    2,
    loops=(LoopCode(0, (11, 11, 11, 11)),),
    calls=("polar(&{out1}, {in0}, {in1}, &{out0})",),
)
STATUS = FunctionCode("add", "ufunc", 2, 1, loops=(LoopCode(0, (5, 5, 5)),), calls=("add(&{out0}, {in0}, {in1})",))
SUM = FunctionCode("total", "plain", calls=("{out0} = total({in0}, {in1})",), prototype=("f4", "const f4*", "i4"))


def cell(*functions: FunctionCode, language: str = "cuda") -> ObjectCode:
    return ObjectCode(b"", Target("elf", "linux", "x86_64"), functions, language=language, source="", name="In[1]")


def offered(code: FunctionCode) -> tuple[Form, ...]:
    return list_forms(code, cell(code))


def chosen(code: FunctionCode, *given: ValueType) -> tuple[ValueType, ...] | None:
    form = choose(offered(code), given)
    return None if form is None else form.arguments


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((F4, F4), (F4, F4)),
        ((F8, F8), (F8, F8)),
        ((F4, F8), (F8, F8)),
        ((F4, I8), (F8, F8)),
        ((B1, F4), (F4, F4)),
        ((F4,), None),
        ((F4, TO_F4), None),
    ],
)
def test_overload_is_exact_or_without_loss(
    given: tuple[ValueType, ...], expected: tuple[ValueType, ...] | None
) -> None:
    assert chosen(MUL, *given) == expected


def test_wide_numbers_are_narrowed_where_nothing_wider_is_there() -> None:
    assert chosen(POLAR, F8, F8) == (F4, F4)
    assert chosen(STATUS, I8, I8) == (I4, I4)


def test_floats_are_never_cut_to_integers() -> None:
    assert chosen(STATUS, F4, I4) is None


def test_pointers_are_of_one_type() -> None:
    assert chosen(SUM, TO_F4, I8) == (TO_F4, I4)
    assert chosen(SUM, TO_F8, I8) is None


def test_several_results_are_a_tuple() -> None:
    assert offered(POLAR)[0].results == (F4, F4)


def test_results_go_to_pointers_where_c_has_them() -> None:
    by_pointer = offered(POLAR)[1]
    assert by_pointer.arguments == (TO_F4, F4, F4, TO_F4)
    assert by_pointer.slots == (3, 0, 1, 2)
    assert by_pointer.results == ()


def test_message_names_what_there_is() -> None:
    assert describe_mismatch("mul", offered(MUL), (F4,)) == (
        "mul(float32) fits no signature of the cell. There is mul(float32, float32); mul(float64, float64)."
    )


@pytest.mark.parametrize(
    ("code", "language", "reason"),
    [
        (MUL, "c", "machine code for the CPU"),
        (FunctionCode("k", "kernel", prototype=("void", "f4*")), "cuda", "__global__"),
        (FunctionCode("g", "ufunc", 1, 1, core="(n)->()", loops=MUL.loops, calls=MUL.calls), "cuda", "array cores"),
        (FunctionCode("s", "plain", prototype=("V12", "f4")), "cuda", "struct"),
        (FunctionCode("p", "plain", prototype=("void", "f4**")), "cuda", "pointers to pointers"),
    ],
)
def test_what_no_kernel_can_call_says_why(code: FunctionCode, language: str, reason: str) -> None:
    assert reason in explain_numba_refusal(code, cell(code, language=language))
    assert list_forms(code, cell(code, language=language)) == ()


@pytest.fixture
def _meta_path() -> Any:
    before = list(sys.meta_path)
    yield
    sys.meta_path[:] = before


@pytest.mark.usefixtures("_meta_path")
def test_waiting_for_numba_imports_nothing_and_waits_once() -> None:
    before = set(sys.modules)
    count = len(sys.meta_path)
    numba_cuda.attach()
    numba_cuda.attach()
    assert len(sys.meta_path) <= count + 1
    assert {name for name in set(sys.modules) - before if name.startswith(("numba", "cuda"))} == set()


def _missing() -> str:
    for module, package in (("numba", "Numba"), ("numba_cuda", "numba-cuda"), ("cuda", "cuda-core")):
        if importlib.util.find_spec(module) is None:
            return f"{package} is not installed"
    return "" if nvrtc.find() else nvrtc.explain_absence()


def _run(script: str, *, cache: Path) -> dict[str, Any]:
    environment = {**os.environ, "UFUNC_MAGIC_CACHE": str(cache)}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    command = [sys.executable, str(KERNELS / script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def seen(shared_cache_folder: Path) -> dict[str, Any]:
    """What became of kernels that numba-cuda has compiled, by scene."""
    if reason := _missing():
        pytest.skip(reason)
    return _run("linked.py", cache=shared_cache_folder)


@pytest.mark.numba
@pytest.mark.nvrtc
class TestLinkedKernels:
    def test_registering_imports_no_numba(self, seen: dict[str, Any]) -> None:
        assert seen["implementation"] == [[], "NVIDIA"]

    @pytest.mark.parametrize("target", ["turing", "hopper"])
    def test_no_call_is_left(self, seen: dict[str, Any], target: str) -> None:
        # The number that only the cell has is there, and the two square roots of the same are one.
        assert seen[f"everything_for_{target}"] == [False, 1, 1]

    def test_calls_are_seen_where_there_are_some(self, seen: dict[str, Any]) -> None:
        assert seen["call_of_what_may_not_be_inlined"] == [True]

    def test_overloads_are_picked_by_type(self, seen: dict[str, Any]) -> None:
        single, mixed, integers = seen["overloads"]
        assert (single[1] + single[2], single[3] + single[4]) == (1, 0)
        assert (mixed[1] + mixed[2], mixed[3] + mixed[4]) == (0, 1)
        assert (integers[1] + integers[2], integers[3] + integers[4]) == (0, 1)

    def test_pointer_given_to_an_atomic_is_the_kernels_own(self, seen: dict[str, Any]) -> None:
        assert seen["pointer_given_to_an_atomic"] == [False, 1]

    def test_pointer_that_is_read_and_written_is_both(self, seen: dict[str, Any]) -> None:
        assert seen["pointer_that_is_read_and_written"] == [False, 1, 2]

    def test_functions_for_arrays_of_a_gpu_are_called_in_the_same_way(self, seen: dict[str, Any]) -> None:
        assert seen["functions_for_arrays_of_the_gpu"] == [False, 1]

    def test_versions_of_one_function_meet_in_a_kernel(self, seen: dict[str, Any]) -> None:
        assert seen["versions_of_one_function"] == [False, True, True]

    def test_declarations_by_hand_go_on_beside_them(self, seen: dict[str, Any]) -> None:
        assert seen["declared_by_hand_beside_ours"] == [False, True]

    def test_kernels_without_lto_are_linked_too(self, seen: dict[str, Any]) -> None:
        assert seen["called_where_the_kernel_is_linked_without_lto"][0] is True

    def test_caching_such_a_kernel_says_why_it_cannot_be(self, seen: dict[str, Any]) -> None:
        text = seen["called_where_the_kernel_is_linked_without_lto"][1]
        assert text.startswith("UfuncMagicError: without_lto calls functions of In[1]")
        assert "Leave cache=True out" in text

    def test_kernels_are_pickled_with_their_functions(self, seen: dict[str, Any]) -> None:
        assert seen["pickled"] is True

    def test_what_does_not_fit_is_said_with_the_kernels_line(self, seen: dict[str, Any]) -> None:
        expected = [
            "an argument is no number. Call it with elements, mul(x[i], ...)",
            "mul(float32) fits no signature of the cell. There is mul(float32, float32); mul(float64, float64).",
            "mul() takes no arguments by name in a kernel.",
            "store(pointer to float32, float32) fits no signature of the cell.",
            "launched is a __global__ function, which the host launches",
            "half is machine code for the CPU, and kernels run on a GPU",
        ]
        assert [part for part, text in zip(expected, seen["faults"], strict=True) if part not in text] == []
