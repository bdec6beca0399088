"""The parts of a cell that are the host's and the device's: cells in which both are mixed, as nvcc accepts them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.languages.cuda.cuda_passes import instantiated, with_headers, without_host
from ufunc_magic.languages.cuda.cuda_program import rewrite_launches

_MAIN = (
    "int main() { int *d, h = 0; cudaMalloc(&d, 4); { {} cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);"
    ' printf("%d\\n", h); }'
)


def _read_cells() -> dict[str, dict[str, str]]:
    """The cells of ``mixed.cu.txt``: the files of each, the cell itself under ``""``."""
    cells: dict[str, dict[str, str]] = {}
    text = (Path(__file__).parent / "kernels" / "mixed.cu.txt").read_text()
    for part in text.split("//cell ")[1:]:
        name, _, rest = part.partition("\n")
        files = cells[name] = dict[str, str]()
        for piece in (f"\n{rest}" if "//file" in rest else f"//file\n{rest}").split("//file")[1:]:
            file, _, code = piece.partition("\n")
            before, main, body = code.rpartition("MAIN {")
            files[file.strip()] = before + _MAIN.replace("{}", body.rstrip()) if main else code
    return cells


CELLS = _read_cells()


def _lay_out(name: str, folder: Path) -> str:
    for file, text in CELLS[name].items():
        (folder / (file or "cell.cu")).write_text(text)
    return CELLS[name][""]


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_of_both_parts_runs(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As a program, as a cell whose kernels are bound, and, where NVRTC is installed, for a GPU."""
    cell = _lay_out(name, tmp_path)
    um.compile_cuda(cell, include=[str(tmp_path)], run_main=True)
    assert capfd.readouterr().out.split() == ["7"]
    if nvrtc.find():
        um.compile_cuda(cell, include=[str(tmp_path)], device="gpu")


@pytest.mark.parametrize(
    "name", ["header_host", "member_grow", "host_overload", "shadowed", "hd_macro", "typedef_more"]
)
def test_the_devices_part_alone_is_compiled(name: str, tmp_path: Path) -> None:
    cell = _lay_out(name, tmp_path)
    um.compile_cuda(cell, include=[str(tmp_path)], device="cpu")
    if nvrtc.find():
        um.compile_cuda(cell, include=[str(tmp_path)], device="gpu")


def test_headers_keep_their_lines_and_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\n#include "b.h"\nint a;\n')
    (tmp_path / "b.h").write_text('#include "a.h"\nint b;\n')
    cell = '#ifdef NO\n#include "c.h"\n#endif\n#include "a.h"\n#include <vector>\nint c;'
    text, headers = with_headers(cell, name="In[1]", folders=[str(tmp_path)])
    assert [Path(header).name for header in headers] == ["a.h", "b.h"]
    rest = [line for line in text.split("\n") if line and not line.startswith("#line")]
    assert rest == ["#ifdef NO", '#include "c.h"', "#endif", "int b;", "int a;", "#include <vector>", "int c;"]
    assert '#line 5 "In[1]"\n#include <vector>' in text
    assert with_headers("int c;", name="In[1]", folders=[]) == ("int c;", ())


def test_errors_of_a_header_have_its_lines(tmp_path: Path) -> None:
    (tmp_path / "h.cuh").write_text("static void host() { cudaFree(0); }\n__device__ float f(float x) { return y; }\n")
    cell = '#include "h.cuh"\n__global__ void k(float *x) { *x = f(*x); }'
    for word in ("cpu", "gpu") if nvrtc.find() else ("cpu",):
        with pytest.raises(um.CompileError, match=r"h\.cuh:2:\d+: error: .*y") as caught:
            um.compile_cuda(cell, include=[str(tmp_path)], device=word)
        assert "host" not in str(caught.value)


def test_a_changed_header_compiles_the_cell_again(tmp_path: Path) -> None:
    header, cell = tmp_path / "n.cuh", '#include "n.cuh"\n__global__ void k(int *x) { *x = n(); }\nvoid host() {}'
    x = np.zeros(1, "i4")
    for value in (1, 2):
        header.write_text(f"__device__ int n() {{ return {value}; }}\nstatic void host() {{ cudaFree(0); }}\n")
        um.compile_cuda(cell, include=[str(tmp_path)], device="cpu").k[1, 1](x)
        assert x[0] == value


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("const int b = 64; k<b><<<1, b>>>(d);", ["64"]),
        ("constexpr int b = 2 * W; k<b><<<1, 1>>>(d);", ["2 * W"]),
        ("using real = float; k<real><<<1, 1>>>(d); auto f = k<W>;", ["float", "W"]),
        ("int b = 64; k<b><<<1, 1>>>(d); k<n><<<1, 1>>>(d); k<true><<<1, 1>>>(d);", ["true"]),
    ],
)
def test_a_template_has_the_instances_that_the_cell_names(text: str, arguments: list[str]) -> None:
    cell = f"const int W = 4;\ntemplate <int N> __global__ void k(int *x) {{}}\nvoid host(int *d, int n) {{ {text} }}"
    assert instantiated(cell).get("k", []) == arguments


@pytest.mark.parametrize(
    ("launch", "call"),
    [
        ("k<<<1, 2>>>(x)", '__ufm_start("k", {1, 2}, [&]() { k(x); })'),
        ("k[i]<<<1, 2>>>(x)", '__ufm_start("k[i]", {1, 2}, [&]() { k[i](x); })'),
        ("(a ? f : g)<<<1, 2>>>(x)", '__ufm_start("(a?f:g)", {1, 2}, [&]() { (a ? f : g)(x); })'),
        ("s.f<<<n / 2, dim3(2, 3), 0, s>>>()", '__ufm_start("s.f", {n / 2, dim3(2, 3), 0, s}, [&]() { s.f(); })'),
        ("ns::k<T, 4><<<1,\n 2>>>(x,\n y)", '__ufm_start("ns::k<T,4>", {1, 2}, [&]() { ns::k<T, 4>(x, y); })\n\n'),
        ("k<<<1, 2>>>(f(x), i++)", '__ufm_start("k", {1, 2}, [&, __ufm_a0 = (f(x)), __ufm_a1 = (i++)]() '
         "{ k(__ufm_a0, __ufm_a1); })"),
        ('k<<<1, 2>>>(x /* "<<<" */)', '__ufm_start("k", {1, 2}, [&]() { k(x); })'),
        ("cudaLaunchKernel((void *)k, 1, 2, a)", "cudaLaunchKernel(k, 1, 2, a)"),
    ],
)  # fmt: skip
def test_a_launch_becomes_a_call_on_its_lines(launch: str, call: str) -> None:
    assert rewrite_launches(f"void host() {{ {launch}; }}\nint n;") == f"void host() {{ {call}; }}\nint n;"
    assert rewrite_launches(f"void host() {{ CHECK({launch}); }}") == f"void host() {{ CHECK({call}); }}"


def test_unmarked_operators_and_unknown_statements_stay_out_of_the_devices_part() -> None:
    cell = (
        "struct S;\nstd::ostream &operator<<(std::ostream &o, const S &s);\nstatic_assert(sizeof(int) == 4);\nINIT(x)\n"
    )
    rest = without_host(cell + "void host() {}\n__device__ int n;")
    assert [word for word in ("struct S", "operator", "static_assert", "INIT", "host", "int n") if word in rest] == [
        "static_assert",
        "INIT",
        "int n",
    ]
