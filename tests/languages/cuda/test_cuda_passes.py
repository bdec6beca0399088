"""The parts of a cell that are the host's and the device's: cells in which both are mixed, as nvcc accepts them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.languages.cuda import device, nvrtc
from ufunc_magic.languages.cuda.cuda_passes import blank_host, find_instances, inline_headers
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


@pytest.mark.slow
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
    text, headers = inline_headers(cell, name="In[1]", folders=[str(tmp_path)])
    assert [Path(header).name for header in headers] == ["a.h", "b.h"]
    rest = [line for line in text.split("\n") if line and not line.startswith("#line")]
    assert rest == ["#ifdef NO", '#include "c.h"', "#endif", "int b;", "int a;", "#include <vector>", "int c;"]
    assert '#line 5 "In[1]"\n#include <vector>' in text
    assert inline_headers("int c;", name="In[1]", folders=[]) == ("int c;", ())


def test_errors_of_a_header_have_its_lines(tmp_path: Path) -> None:
    (tmp_path / "h.cuh").write_text("static void host() { cudaFree(0); }\n__device__ float f(float x) { return y; }\n")
    cell = '#include "h.cuh"\n__global__ void k(float *x) { *x = f(*x); }'
    for word in ("cpu", "gpu") if nvrtc.find() else ("cpu",):
        with pytest.raises(um.CompileError, match=r"h\.cuh:2:\d+: error: .*y") as caught:
            um.compile_cuda(cell, include=[str(tmp_path)], device=word)
        assert "host" not in str(caught.value)


@pytest.mark.slow
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
    assert find_instances(cell).get("k", []) == arguments


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
        ("k<<<1, 2>>>({n, f(x)})", '__ufm_start("k", {1, 2}, [&, __ufm_a0 = (f(x))]() { k({n, __ufm_a0}); })'),
        ('k<<<1, 2>>>(x /* "<<<" */)', '__ufm_start("k", {1, 2}, [&]() { k(x); })'),
        ("cudaLaunchKernel((void *)k, 1, 2, a)", "cudaLaunchKernel(k, 1, 2, a)"),
    ],
)  # fmt: skip
def test_a_launch_becomes_a_call_on_its_lines(launch: str, call: str) -> None:
    for before, after in (("", "; }\nint n;"), ("CHECK(", "); }")):
        text = rewrite_launches(f"void host() {{ {before}{launch}{after}").replace(" __UFM_UNCHECKED", "")
        assert text == f"void host() {{ {before}{call}{after}"


def test_unmarked_operators_and_unknown_statements_stay_out_of_the_devices_part() -> None:
    cell = (
        "struct S;\nstd::ostream &operator<<(std::ostream &o, const S &s);\nstatic_assert(sizeof(int) == 4);\nINIT(x)\n"
    )
    rest = blank_host(cell + "void host() {}\n__device__ int n;")
    assert [word for word in ("struct S", "operator", "static_assert", "INIT", "host", "int n") if word in rest] == [
        "static_assert",
        "INIT",
        "int n",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "header", ["<cuda_fp8.h>", "<cuda/latch>", "<cuda/pipeline>", "<cuda/std/mdspan>", "<thrust/device_vector.h>"]
)
def test_a_header_that_the_emulation_lacks_is_refused_in_one_line(header: str) -> None:
    word = {"<cuda_fp8.h>": "__nv_fp8_e4m3 x;", "<thrust/device_vector.h>": "thrust::less<int> x;"}
    use = word.get(header, f"cuda::std::{header[1:-1].rpartition('/')[2]}<int> x;")
    cell = f"#include {header}\n__global__ void k(int *r) {{ {use} }}"
    with pytest.raises(um.CompileError, match=r"(?s)cannot be emulated.*<cuda>:[12]:\d+: error: .*GPU") as caught:
        um.compile_cuda(cell, device="cpu")
    assert len(caught.value.diagnostics) == 1
    bound = um.compile_cuda(f"{cell}\n__global__ void other(int *r) {{ *r = 7; }}", device="cpu")
    bound.other[1, 1](x := np.zeros(1, "i4"))
    assert x[0] == 7


@pytest.mark.slow
@pytest.mark.parametrize("header", ["<cublas_v2.h>", "<thrust/sort.h>", "<cufft.h>"])
def test_libraries_of_the_host_need_not_be_there_to_bind_kernels(header: str) -> None:
    host = "void host(cublasHandle_t h) { thrust::sort(h); }"
    cell = f"#include {header}\n{host}\n__global__ void k(int *r) {{ *r = 7; }}"
    for word in ("cpu", "gpu") if nvrtc.find() else ("cpu",):
        um.compile_cuda(cell, device=word)


@pytest.mark.slow
def test_a_call_that_the_emulated_runtime_lacks_is_named() -> None:
    cell = "__global__ void k() {}\nint main() { cudaGraph_t g; k<<<1, 1>>>(); }"
    with pytest.raises(um.CompileError, match=r"(?s)<cuda>:2:\d+: error: .*cudaGraph_t.*emulation of CUDA's runtime"):
        um.compile_cuda(cell, device="cpu", run_main=True)


def test_cupys_headers_are_those_of_the_installed_cupy() -> None:
    pytest.importorskip("cupy")
    cell = "#include <cupy/complex.cuh>\n__global__ void k(complex<float> *x) { x[0] = x[0] * complex<float>(0, 1); }"
    x = np.array([1 + 2j], "c8")
    um.compile_cuda(cell, device="cpu").k[1, 1](x)
    assert x[0] == -2 + 1j


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("__global__ void k(float *x) { *x = y; }", "y"),
        ("__device__ float f(float x) { return g(x); }", "g"),
        ("struct S { __device__ float f() { return z; } };\n__global__ void k(float *x) { *x = S().f(); }", "z"),
        ("template <class T> __global__ void k(T *x) { *x = w; }\ntemplate __global__ void k<float>(float *);", "w"),
    ],
)
def test_nvrtcs_errors_have_their_line_below_the_hosts_part(line: str, word: str) -> None:
    if not nvrtc.find():
        pytest.skip("NVRTC is not installed (extra: cuda)")
    host = "#include <vector>\nint host(std::vector<int> v) {\n    cudaFree(0);\n    return 1;\n}"
    cell = f"{host}\n{line}\nint main() {{}}"
    with pytest.raises(um.CompileError, match=rf'<cuda>:6:\d+: error: .*"{word}"') as caught:
        um.compile_cuda(cell, device="gpu")
    assert "<ufunc_magic>" not in str(caught.value)


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    "cell",
    [
        "#define KERNEL __global__ void\nKERNEL k(float *x) { *x = 1; }",
        '#define KERNEL extern "C" __global__ void\nKERNEL k(float *x) { *x = 1; }',
        '#define K extern "C" __global__\n#define SIZE(n)\ntypedef int real;\nK\nSIZE(8)\nvoid k(real *x) { *x = 1; }',
        "#ifdef __CUDACC__\n#define K __global__ void\n#else\n#define K void\n#endif\nK k(float *x) { *x = 1; }",
        "#define PROC __device__ void\nPROC f(float *x) { *x = 1; }\n__global__ void k(float *x) { f(x); }",
        "#define VOID void\n#define API\n__global__ VOID k(float *x) { *x = 1; }\nAPI void host(VOID) {}",
        "#define K __global__ void\ntemplate <class T> K k(T *x) { *x = 1; }\ntemplate K k<float>(float *);",
    ],
)
def test_a_macro_may_have_the_result_of_a_kernel(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no preprocessor helps, and where a host's part goes."""
    if not nvrtc.find():
        pytest.skip("NVRTC is not installed (extra: cuda)")
    monkeypatch.setattr(device, "is_available", lambda: False)
    assert "k" in um.compile_cuda(f"#include <vector>\n{cell}\nstd::vector<float> h;\nint main() {{}}", device="gpu")


def test_variables_in_a_block_of_c_linkage_are_the_cells() -> None:
    cell = 'extern "C" {\n__device__ int counter;\n}\n__global__ void k() { ++counter; }'
    build = um.compile_cuda(cell, device="cpu")
    build.k[1, 1]()
    assert build.counter[()] == 1


def test_a_further_source_of_cuda_is_compiled_with_the_cell(tmp_path: Path) -> None:
    more = tmp_path / "more.cu"
    more.write_text("__device__ float helper(float x) { return 3 * x; }\nvoid host() { cudaFree(0); }\n")
    cell = "__device__ float helper(float x);\n__device__ float f(float x) { return helper(x); }"
    assert um.compile_cuda(cell, src=[str(more)], device="cpu").f(np.float32(2)) == 6
    more.write_text("__device__ float helper(float x) { return 4 * x; }\n")
    assert um.compile_cuda(cell, src=[str(more)], device="cpu").f(np.float32(2)) == 8


def test_what_a_function_or_a_kernel_takes() -> None:
    """References, records by value under a name of the library's, NULL of cffi's, 227 kB of shared memory."""
    cell = """
    struct P { float x, y; int n; };
    __device__ float up(float &x) { return x += 1; }
    __device__ float norm(P p) { return p.x + p.y + p.n; }
    __global__ void choose(float *x, const float *bias) { x[0] = bias ? bias[0] : 7; }
    extern __shared__ float s[];
    __global__ void fill(float *x, int n) { for (int i = 0; i < n; i++) s[i] = i; x[0] = s[n - 1]; }
    """
    build, x = um.compile_cuda(cell, device="cpu"), np.zeros(1, "f4")
    assert build.up(np.float32(2)) == (3, 3)
    assert build.norm(np.array([(1, 2, 3)], "f4,f4,i4")[0]) == 6
    build.choose[1, 1](x, pytest.importorskip("cffi").FFI().NULL)
    assert x[0] == 7
    build.fill[1, 1, 227 * 1024](x, 58112)
    assert x[0] == 58111
    with pytest.raises(um.ArgumentError, match="232,448"):
        build.fill[1, 1, 227 * 1024 + 1](x, 1)


@pytest.mark.slow
def test_a_template_with_a_condition_is_bound_for_the_types_that_it_takes() -> None:
    head = "#include <type_traits>\ntemplate <class T, class = std::enable_if_t<std::is_{}<T>::value>> __global__ "
    body = "void k(T *x) { *x *= 2; }\n"
    integral = head.format("integral") + body
    with pytest.raises(um.ParseError, match="--types"):
        um.compile_cuda(integral, device="cpu")
    um.compile_cuda(integral, device="cpu", types="i4").k[1, 1](x := np.ones(1, "i4"))
    assert x[0] == 2
    build = um.compile_cuda(head.format("floating_point") + body, device="cpu")
    assert ["k_f4" in build, "k_f8" in build] == [True, True]


def test_numbas_functions_without_a_result_take_a_pointer_all_the_same() -> None:
    cell = 'extern "C" __device__ int move(void *out, int *a) { a[0] = a[1]; return a[1] < 0; }'
    move, a = um.compile_cuda(cell, abi="numba", device="cpu").move, np.array([1, 2], "i4")
    move(a)
    assert a[0] == 2
    if nvrtc.find():
        um.compile_cuda(cell, abi="numba", device="gpu")


def test_threads_wait_at_a_barrier_of_cudas_library() -> None:
    cell = """#include <cuda/barrier>
    __global__ void k(int *x) {
        __shared__ cuda::barrier<cuda::thread_scope_block> b;
        __shared__ int s[32];
        if (!threadIdx.x) init(&b, blockDim.x);
        __syncthreads();
        for (int n = 0; n < 3; n++) {
            s[threadIdx.x] = x[threadIdx.x];
            auto token = b.arrive();
            b.wait(std::move(token));
            x[threadIdx.x] = s[(threadIdx.x + 1) % 32];
            b.arrive_and_wait();
        }
    }"""
    um.compile_cuda(cell, device="cpu").k[1, 32](x := np.arange(32, dtype="i4"))
    np.testing.assert_array_equal(x, (np.arange(32) + 3) % 32)
