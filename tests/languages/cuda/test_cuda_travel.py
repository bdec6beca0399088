"""CUDA functions in other processes: as code for the CPU, as source and as LTO-IR, with no compiler there."""

from __future__ import annotations

import base64
import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in, run_bare
from ufunc_magic import __main__ as shell
from ufunc_magic.languages.cuda import device, nvrtc
from ufunc_magic.model import FunctionCode, ObjectCode, unpack
from ufunc_magic.runtime import Build, LoadedObject, carry

pytestmark = pytest.mark.skipif(device.is_available(), reason="functions are not emulated here: there is a GPU")

CELL = """
__device__ float mul(float x, float y) { return x * y; }
__device__ float first(const float *a) { return a[0]; }
__global__ void scale(int n, float a, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
int main() { float *x; cudaMalloc(&x, 4); scale<<<1, 1>>>(1, 2.0f, x); return 0; }
"""

#: A machine without a compiler and without anything of CUDA's; warnings are errors.
BARE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cuda", "cupy", "numba", "llvmlite", "IPython", "tree_sitter", "ziglang"):
            raise ImportError(f"{name} is not on this machine")
sys.meta_path.insert(0, Blocked())
"""
READ = """
import pickle
import numpy as np
got = pickle.load(sys.stdin.buffer)
"""


def elsewhere(given: object, script: str, *, folder: Path, before: str = BARE) -> str:
    """The output of ``script`` in a new process that has no compiler, where ``got`` is the pickled ``given``."""
    options = (f"-W{'error' if before == BARE else 'ignore'}",)
    return run_bare(f"{before}{READ}{script}", input=pickle.dumps(given), folder=folder, options=options)


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CELL, language="cuda", name="In[3]")


def test_emulated_functions_work_where_there_is_no_compiler_and_nothing_of_cuda(cell: Build, tmp_path: Path) -> None:
    script = (
        "x = np.arange(4, dtype='f4')\n"
        "got['scale'][2, 2](4, 3.0, x)\n"
        "print(type(got['mul']).__name__, got['mul'](x, 2).tolist(), got['first'](x))"
    )
    assert elsewhere(dict(cell), script, folder=tmp_path) == "ufunc [0.0, 6.0, 12.0, 18.0] 0.0"


def test_functions_come_back_as_the_objects_that_are_here(cell: Build) -> None:
    assert [pickle.loads(pickle.dumps(f)) is f for f in cell.values()] == [True] * 3
    assert um.loads(um.dumps(cell["scale"])) is cell["scale"]
    assert um.loads(um.dumps(cell)) == cell


def test_inspect_shows_what_goes_to_the_gpu(cell: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payload = tmp_path / "mul.um"
    payload.write_bytes(um.dumps(cell["mul"]))
    assert shell.main(["inspect", str(payload)]) == 0
    told = capsys.readouterr().out
    assert "scale(n, a, x)  a kernel" in told
    row = next(line for line in told.splitlines() if line.startswith("  for the GPU"))
    assert ("LTO-IR, " in row and "for compute_75 and newer" in row) if nvrtc.find() else "the source" in row


def test_what_travels_without_its_source_holds_no_copy_of_it(cell: Build) -> None:
    code, _ = unpack(um.dumps(cell["mul"], source=False))
    assert "return x * y" not in code.header.decode()
    with pytest.raises(um.UfuncMagicError, match=r"In\[3\] .*source"):
        device.write_cell(code)


def test_what_the_gpus_compiler_sees_has_nothing_of_the_hosts(cell: Build) -> None:
    text = device.write_cell(cell.object_code)
    assert "cudaMalloc" not in text
    assert text.count("\n") == 1 + CELL.count("\n")  # the line that says where it is from
    assert "__global__ void scale" in text


@pytest.mark.slow
def test_a_cell_of_t_is_compiled_for_the_gpu_once_for_each_type() -> None:
    made = um.compile_cuda("__device__ T twice(T x) { return 2 * x; }", types="f4,f8", device="cpu")
    assert [word in device.write_cell(made.object_code) for word in ("#define T float", "#define T double")] == [
        True,
        True,
    ]


def test_shims_keep_the_names_that_the_carried_code_has() -> None:
    functions = (FunctionCode("f", "plain", prototype=("f4", "f4"), calls=("{out0} = f({in0})",)),)
    whole = ObjectCode(b"", um.compile_c("int a(int x) { return x; }").object_code.target, functions, language="cuda",
                       source="__device__ float f(float x);")  # fmt: skip
    names = nvrtc.make_prefix(whole)
    here = LoadedObject(whole)
    here.carry(arch="compute_75", ltoir=base64.b64encode(b"code").decode(), symbols=names)
    bare = here.prepare_to_send(source=False)
    assert nvrtc.make_prefix(bare) == names
    assert nvrtc.make_ltoir(bare, "sm_90") == b"code"


@pytest.mark.slow
def test_what_was_made_for_a_cell_since_travels_from_then_on() -> None:
    made = um.compile_cuda("__device__ float half_of(float x) { return x / 2; }", device="cpu")
    before = pickle.dumps(made.half_of)
    carry(made.object_code, arch="compute_75", ltoir="TFRP")
    assert b"TFRP" not in before
    assert b"TFRP" in pickle.dumps(made.half_of)
    sent = [um.dumps(made.half_of), um.dumps(made.half_of, source=False)]
    assert [unpack(data)[0].device["ltoir"] for data in sent] == ["TFRP", "TFRP"]
    assert "TFRP" not in made.object_code.device.values()


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason=nvrtc.explain_absence())
def test_dumps_brings_lto_ir_along_and_pickle_what_has_been_made(cell: Build) -> None:
    code, entry = unpack(um.dumps(cell["mul"]))
    assert entry == "mul"
    assert code.device["arch"] == "compute_75"
    assert nvrtc.make_ltoir(code, "sm_90") == base64.b64decode(code.device["ltoir"])
    assert code.device["ltoir"].encode() in pickle.dumps(cell["mul"])


LINKED = """
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda, float32
from ufunc_magic.languages.cuda import numba_cuda, nvrtc
import ufunc_magic.languages.cuda.nvrtc.linkable_code
from ufunc_magic.languages.cuda.nvrtc import nvrtc_discovery as found, nvrtc_program as program
def missing(*args, **kwargs):
    raise RuntimeError("there is no NVRTC on this machine")
program.import_bindings = found.import_bindings = missing
numba_cuda.install()
def kernel(x, y):
    y[0] = got(x[0], x[0])
codes, _ = cuda.compile_all(kernel, (float32[::1], float32[::1]), device=False, abi="numba", cc=(9, 0), output="ltoir")
parts = [ObjectCode.from_ltoir(getattr(code, "data", code)) for code in codes]
linker = Linker(*parts, options=LinkerOptions(arch="sm_90", link_time_optimization=True, ptx=True))
ptx = linker.link("ptx").code.decode()
print("call" in ptx, "mul.f32" in ptx, nvrtc.find())
"""


@pytest.mark.nvrtc
@pytest.mark.kernel
@pytest.mark.skipif(nvrtc.find() is None, reason=nvrtc.explain_absence())
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_a_worker_without_nvrtc_links_a_kernel_with_what_came_along(cell: Build, tmp_path: Path) -> None:
    um.dumps(cell["mul"])
    assert elsewhere(cell["mul"], LINKED, folder=tmp_path, before="import sys\n") == "False True None"


@pytest.mark.slow
def test_a_cell_that_only_the_host_takes_travels_without_lto_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> bytes:
        raise um.CompileError("no.")

    monkeypatch.setattr(sys.modules["ufunc_magic.languages.cuda.nvrtc.linkable_code"], "make_ltoir", refuses)
    made = um.compile_cuda("__device__ float f(float x) { return x + 1; }", device="cpu")
    assert not unpack(um.dumps(made["f"]))[0].device["ltoir"]
    assert um.loads(um.dumps(made["f"])) is made["f"]
    assert made["f"](np.float32(1)) == 2


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason=nvrtc.explain_absence())
def test_pointers_to_integers_of_two_names_are_the_parameters_own() -> None:
    cell = "__device__ void f(unsigned long *x, long long *y, const long *z, char *w) { *x = *y + *z + *w; }"
    assert nvrtc.make_ltoir(um.compile_cuda(cell, device="cpu").object_code)
