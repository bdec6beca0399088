"""Programs with a main(): launches in ``<<<...>>>``, CUDA's runtime in the emulation, and how a program may end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import python_path
from ufunc_magic import compilers, pipeline
from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.languages.cuda.cuda_passes import blank_host
from ufunc_magic.languages.cuda.cuda_program import rewrite_launches
from ufunc_magic.model import make_options

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(call) do { cudaError_t e = (call); if (e) { printf("%s\n", cudaGetErrorString(e)); return 9; } } while (0)
#define LAUNCH(grid, block, ...) ns::rotated<float, 32><<<grid, block>>>(__VA_ARGS__)
namespace ns {
template <class T, int N> __global__ void rotated(T *x)
{
    __shared__ T s[N];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[(threadIdx.x + 1) % N];
}
}
__device__ float total;
__global__ void add(float x) { atomicAdd(&total, x); }
__global__ void scale(float *x, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10, step = 0;
    std::vector<float> x(n);
    for (int i = 0; i < n; i++) x[i] = (float)i;
    float *d, *m, t;
    CHECK(cudaMalloc(&d, n * sizeof *d));
    CHECK(cudaMemcpy(d, x.data(), n * sizeof *d, cudaMemcpyHostToDevice));
    scale<<<dim3((n + 63) / 64), 64, 0>>>(d, n, (float)++step);
    scale<<<(n + 63) / 64, 64>>>(d, n, (float)++step);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(x.data(), d, n * sizeof *d, cudaMemcpyDeviceToHost));
    printf("n=%d step=%d last=%g\n", n, step, x[n - 1]);
    CHECK(cudaMallocManaged(&m, 32 * sizeof *m));
    for (int i = 0; i < 32; i++) m[i] = (float)i;
    LAUNCH(1, 32, m);
    CHECK(cudaDeviceSynchronize());
    add<<<2, 2>>>(1.5f);
    CHECK(cudaMemcpyFromSymbol(&t, total, sizeof t));
    printf("rotated=%g %g total=%g argc=%d\n", m[0], m[31], t, argc);
    scale<<<1, 2048>>>(d, n, 1);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    printf("%s\n", cudaGetErrorString(cudaMemcpy(d, x.data(), 2 * n * sizeof *d, cudaMemcpyHostToDevice)));
    return cudaFree(d) || cudaFree(m) ? 1 : 7;
}
"""


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("k<<<1, 2>>>(x, 3);", '__ufm_start("k", {1, 2}, [&]() __UFM_UNCHECKED { k(x,  3); });'),
        (
            "ns::k<T, 4><<<g(), b, 0, s>>>();",
            '__ufm_start("ns::k<T,4>", {g(), b, 0, s}, [&]() __UFM_UNCHECKED { ns::k<T, 4>(); });',
        ),
        ("(f)<<<1, 1>>>(x);", '__ufm_start("(f)", {1, 1}, [&]() __UFM_UNCHECKED { (f)(x); });'),
        # the argument is computed once, not by each thread
        ("k<<<1, 1>>>(n++);", '__ufm_start("k", {1, 1}, [&, __ufm_a0 = (n++)]() __UFM_UNCHECKED { k(__ufm_a0); });'),
        ("k<<<1,\n 1>>>\n(x);", '__ufm_start("k", {1,  1}, [&]() __UFM_UNCHECKED { k(x); })\n\n;'),
        # what is no launch stays as it is
        ("// k<<<1, 1>>>(x);", "// k<<<1, 1>>>(x);"),
        ('puts("k<<<1, 1>>>(x)");', 'puts("k<<<1, 1>>>(x)");'),
        ("k<<<1, 1>>>;", "k<<<1, 1>>>;"),
        ("k<<<(1, 1>>>(x);", "k<<<(1, 1>>>(x);"),
        # a pointer to a kernel keeps its type
        ("cudaLaunchCooperativeKernel((void *)k, g, b, a);", "cudaLaunchCooperativeKernel(k, g, b, a);"),
        ("cudaLaunchKernel((const void*)&k<T>, g, b, a);", "cudaLaunchKernel(&k<T>, g, b, a);"),
    ],
)
def test_a_launch_becomes_a_call_on_its_line(text: str, call: str) -> None:
    assert re.sub(r" +", " ", rewrite_launches(text)) == re.sub(r" +", " ", call)


CHILDREN = r"""
#include <cstdio>
__global__ void leaf(int *r, int k) { atomicAdd(r, k + (int)threadIdx.x); }
__global__ void tree(int *r, int n) {
    __shared__ int s[4];
    s[threadIdx.x] = n;
    __syncthreads();
    int local = s[3 - threadIdx.x] * 10 + threadIdx.x;
    leaf<<<2, 3>>>(r, local);
    if (n > 0 && threadIdx.x == 0) tree<<<1, 4>>>(r, n - 1);
}
__global__ void waits(int *r) { leaf<<<1, 1>>>(r, 1); cudaDeviceSynchronize(); }
int main() {
    int *d, *zeros;
    cudaMallocManaged(&d, 4);
    cudaMalloc(&zeros, 1000);
    for (int k = 0; k < 250; k++) *d += zeros[k];
    tree<<<1, 4>>>(d, 2);
    cudaDeviceSynchronize();
    printf("%d\n", *d);
    waits<<<1, 1>>>(d);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
"""


@pytest.mark.slow
def test_grids_that_kernels_launch_run_after_their_own(capfd: pytest.CaptureFixture[str]) -> None:
    """Dynamic parallelism: what a kernel launches sees the values of its launch, and new memory is zero."""
    um.compile_cuda(CHILDREN, device="cpu", run_main=True)
    expected = sum(2 * (n * 10 + t + i) for n in range(3) for t in range(4) for i in range(3))
    shown = capfd.readouterr().out.splitlines()
    assert shown[0] == str(expected)
    assert "CUDA 12 has removed" in shown[1]
    assert shown[2] == "unspecified launch failure"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_with_the_process_that_runs_it(number: int) -> None:
    inner = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    outer = (
        f"from ufunc_magic import compilers; compilers.run_and_show({inner!r}, [], show=lambda t: print(t, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", outer], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": python_path()}
    ) as process:
        assert process.stdout
        child = int(process.stdout.readline())
        process.send_signal(number)
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        while "State:\tZ" not in Path(f"/proc/{child}/status").read_text():  # until the system has ended it
            os.kill(child, 0)


@pytest.mark.slow
def test_a_program_runs_with_its_arguments_and_its_functions_are_bound(capfd: pytest.CaptureFixture[str]) -> None:
    b = um.compile_cuda(PROGRAM, device="cpu", run_main="100")
    shown = capfd.readouterr()
    assert shown.out.splitlines()[:2] == ["n=100 step=2 last=198", "rotated=1 0 total=6 argc=2"]
    assert shown.out.splitlines()[2].startswith(
        "scale: A grid of (1, 1, 1) blocks of (2048, 1, 1) threads is too large"
    )
    assert shown.out.splitlines()[3:] == ["invalid configuration argument", "invalid argument"]
    assert shown.err == "main() returned 7.\n"
    assert {"add", "scale"} <= set(b)
    um.compile_cuda(PROGRAM, device="cpu", run_main=True)
    assert capfd.readouterr().out.startswith("n=10 step=2 last=18\n")


MODERN = r"""
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>
inline void check(cudaError_t code);
cudaStream_t stream;
class Buffer {
public:
    explicit Buffer(size_t n) : size(n) { cudaMalloc(&data, n * sizeof(float)); }
    ~Buffer() { cudaFree(data); }
    std::vector<float> download() const
    {
        std::vector<float> x(size);
        cudaMemcpy(x.data(), data, size * sizeof(float), cudaMemcpyDeviceToHost);
        return x;
    }
    float *data = nullptr;
    size_t size;
};
template <class T> struct Owner { std::unique_ptr<Buffer> of; };
struct Step {
    float by;
    __device__ void operator()(float &x) const { x += by; }
};
__global__ void fill(float *x, float by) { x[threadIdx.x] = by; Step{1}(x[threadIdx.x]); }
template <class F> __global__ void each(float *x, F f) { f(x[threadIdx.x]); }
int main()
{
    Owner<float> owner{std::make_unique<Buffer>(8)};
    fill<<<1, 8>>>(owner.of->data, 2.f);
    each<<<1, 8>>>(owner.of->data, [=] __device__ (float &x) { x *= 2; });
    const std::vector<float> x = owner.of->download();
    printf("{%g", std::accumulate(x.begin(), x.end(), 0.f));
    check(cudaGetLastError());
}
void check(cudaError_t code) { printf(", %d}\n", code); }
"""


@pytest.mark.slow
def test_classes_of_the_hosts_are_no_part_of_the_cell(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither of its emulation nor, where NVRTC is installed, of what that is given."""
    cell = um.compile_cuda(MODERN, run_main=True)
    assert capfd.readouterr().out == "{48, 0}\n"
    x = np.zeros(3, "f4")
    um.compile_cuda(MODERN, device="cpu").fill[1, 3](x, 2)
    np.testing.assert_array_equal(x, 3)
    assert not cell.diagnostics


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("struct A { cudaEvent_t e; };", ""),
        ("struct A { std::vector<int> v; };\nclass B { A a; cudaEvent_t e; };", ""),
        ("cudaError_t check(cudaError_t e), last = cudaSuccess;\nint n, *p = nullptr;\nstd::vector<int> v(3);", ""),
        ("int n;\n#define M (n + 1)\nfloat a[2][2] = {{1, 2}, {3, 4}}, f(float);", "#define M (n + 1)"),
        (
            "struct A {\n A() : x{0}, y{1} { cudaMalloc(&p, 4); }\n public: ~A() { cudaFree(p); }\n"
            " __device__ int f() { return x; }\n int x, y; void *p;\n};\n__device__ A *a;",
            "struct A {\n\n public:\n __device__ int f() { return x; }\n int x, y; void *p;\n};\n__device__ A *a;",
        ),
        ("#define B A *\nstruct A { cudaEvent_t e; };", "#define B A *"),
        ("struct A { float x; } one;", ""),
        (
            "extern int b;\nconst int n = 4, m = 5;\nint a = m;\n__device__ int d[n];",
            "const int n = 4, m = 5;\n\n__device__ int d[n];",
        ),
        ("struct A { cudaEvent_t e; __device__ float f() { return 1; } };", ""),
        # a member that another one names is declared
        (
            "struct A {\n int *p;\n void more() { cudaMalloc(&p, 4); }\n void fill() { more(); }\n"
            " __device__ int get() { return p[0]; }\n};\n__global__ void k(A a) { a.fill(); }",
            "struct A {\n int *p;\n void more() ;\n void fill() { more(); }\n"
            " __device__ int get() { return p[0]; }\n};\n__global__ void k(A a) { a.fill(); }",
        ),
        # what device code names stays, and so does a cell of which nothing is the host's
        ("#define B A *\nstruct A { cudaEvent_t e; };\n__device__ B a;", None),
        ("const int n = 4, m = 5;\n__device__ int a[n];\nextern int b;\nusing T = int;", None),
        ("struct A { cudaEvent_t e; };\n__device__ A *a;", None),
        ("__global__ void k(cudaTextureObject_t t);", None),
        ('struct A { const char *text = "cudaMalloc}"; };', None),
    ],
)
def test_what_the_host_alone_needs_is_left_out(text: str, left: str | None) -> None:
    rest = blank_host(text)
    assert [len(line) for line in rest.splitlines()] == [len(line) for line in text.splitlines()]
    assert re.sub(r" +$", "", rest, flags=re.M).strip() == (text if left is None else left)


@pytest.mark.slow
def test_a_program_that_faults_ends_alone_and_names_the_thread(capfd: pytest.CaptureFixture[str]) -> None:
    cell = r"""
    __global__ void bad(int *p) { p[(long)threadIdx.x * 1000000000000L] = 1; }
    int main() { int *p; cudaMalloc(&p, 4); puts("before"); bad<<<1, 2>>>(p); puts("after"); }
    """
    with pytest.raises(um.CellCrashed, match=r"main\(\) .*SIGSEGV"):
        um.compile_cuda("#include <cstdio>" + cell, device="cpu", run_main=True)
    shown = capfd.readouterr().out
    assert shown.startswith("before\n")
    assert "Thread (1, 0, 0) of block (0, 0, 0) of a kernel: a wrong address on line 2." in shown
    assert "after" not in shown


@pytest.mark.slow
def test_errors_of_a_program_stand_on_its_lines() -> None:
    cell = "__global__ void k(int *p) { *p = 1; }\nint main()\n{\n    k<<<1, 1>>>(q);\n}"
    with pytest.raises(um.CompileError, match=r"<cuda>:4:\d+: error: .*q"):
        um.compile_cuda(cell, device="cpu", run_main=True)
    with pytest.raises(um.OptionError, match=r"--run-main: .*no main"):
        um.compile_cuda(cell.partition("int main")[0], device="cpu", run_main=True)


@pytest.mark.slow
def test_a_main_that_does_not_run_is_noted() -> None:
    cell = "__global__ void k(int *p) { *p = 1; }\nint main() { return 0; }"
    note = "main() does not run: --run-main runs it in the emulation"
    assert note in str(um.compile_cuda(cell, device="cpu").report(time=False))


def test_a_program_that_is_stopped_is_gone() -> None:
    pids: list[int] = []

    def stop(text: str) -> Any:
        pids.append(int(text))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compilers.run_and_show("import os, time; print(os.getpid(), flush=True); time.sleep(1000)", [], show=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.slow
def test_a_program_draws_with_curand(capfd: pytest.CaptureFixture[str]) -> None:
    if not any(Path(folder, "curand_kernel.h").exists() for folder in nvrtc.find_installed_headers().values()):
        pytest.skip("nvidia-curand is not installed (extra: cuda-test)")
    program = """\
#include <cstdio>
#include <curand_kernel.h>
__global__ void hits(int *count)
{
    curandState s;
    curand_init(1, blockIdx.x * blockDim.x + threadIdx.x, 0, &s);
    for (int i = 0; i < 100; i++) {
        float x = curand_uniform(&s), y = curand_uniform(&s);
        if (x * x + y * y < 1) atomicAdd(count, 1);
    }
}
int main()
{
    int *count;
    cudaMallocManaged(&count, sizeof *count);
    *count = 0;
    hits<<<4, 25>>>(count);
    cudaDeviceSynchronize();
    printf("%.1f\\n", *count / 2500.0);
}
"""
    um.compile_cuda(program, device="cpu", run_main=True)
    assert capfd.readouterr().out == "3.1\n"


UNWRITTEN = r"""
#include <cstdio>
#include <cstring>
#include <vector>
__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
__global__ void too_far(float *x, int n) { if (threadIdx.x <= n) x[threadIdx.x] = 2; }
__global__ void heap(int *r)
{
    int *a = new int[2];
    a[threadIdx.x & 1] = 4;
    r[0] = a[threadIdx.x & 1];
    if (r[0] == 5) r = a;
    delete[] a;
}
__global__ void race(float *x)
{
    __shared__ float s[32];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void count(int *n) { if (threadIdx.x > 3)
    atomicAdd(n, 1); }
struct Op { float *data; int n; void go() { twice<<<1, 64>>>(data, n); } };
int main(int argc, char **argv)
{
    const int n = 50, size = n * 4;
    std::vector<float> host(n, 1);
    float *x, *both;
    int *r;
    cudaMalloc(&x, size), cudaMalloc(&r, 4), cudaMallocManaged(&both, size);
    switch (argv[1][0]) {
    case 'a': twice<<<1, 64>>>(x, n); break;
    case 'b': cudaMemcpy(x, host.data(), size / 2, cudaMemcpyHostToDevice), twice<<<1, 64>>>(x, n); break;
    case 'c': printf("%d\n", both[3] == 7); break;
    case 'd': cudaMemcpy(host.data(), x, size, cudaMemcpyDeviceToHost); break;
    case 'e': twice<<<1, 64>>>(host.data(), n); break;
    case 'f': too_far<<<1, 64>>>(x, n); break;
    case 'g': cudaMemset(x, 0, size), race<<<1, 32>>>(x); break;
    case 'h': count<<<1, 32>>>(r); break;
    case 'i': { int dead[64]; cudaMemcpy(dead, r, 4, cudaMemcpyDeviceToHost); } break;
    default:
        cudaMemset(x, 0, size), memset(both, 0, size);
        Op{x, n}.go(), Op{both, n}.go(), heap<<<1, 4>>>(r);
        for (int i = 0; i < n; i++) both[i] += host[i];
        cudaMemcpy(host.data(), x, size, cudaMemcpyDeviceToHost);
        printf("%g %g %d\n", both[3], host[3], *r);
    }
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("gcc"), reason="programs are checked with gcc on Linux")
def test_a_sanitized_program_reports_what_nobody_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    """Also what is outside of its memory, and races; each with the line."""
    failed, unwritten = (
        "\nunspecified launch failure",
        "nobody has written the {} bytes of CUDA's memory that it reads on line",
    )
    for case, words in {
        "a": f"twice: Thread .0, 0, 0. of block .*: {unwritten.format(4)} 5.{failed}",
        "b": f"twice: Thread .25, 0, 0. of block .*: {unwritten.format(4)} 5.{failed}",
        "c": f"The host: {unwritten.format(4)} 34.\n0\nno error",
        "d": f"The host: {unwritten.format(200)} 35.\nno error",
        "e": f"twice: .* it reads 4 bytes outside of what cudaMalloc.. gave on line 5.{failed}",
        "f": f"too_far: Thread .50, 0, 0. .* writes 4 bytes outside of what cudaMalloc.. gave on line 6.{failed}",
        "g": f"race: .*a race: .* writes on line 18; the other access is on line 19.{failed}",
        "h": f"count: Thread .4, 0, 0. of block .*: {unwritten.format(4)} 22.{failed}",
        "i": f"The host: {unwritten.format(4)} 40.\nno error",
        "fine": "1 0 4\nno error",
    }.items():
        um.compile_cuda(UNWRITTEN, device="cpu", run_main=case[:1] if len(case) == 1 else "none", sanitize=True)
        assert re.fullmatch(words, capfd.readouterr().out.rstrip())


@pytest.mark.slow
def test_a_program_says_how_far_its_launch_is(tmp_path: Path) -> None:
    """The program ends when it has said so."""
    program = """\
#include <cstdio>
#include <unistd.h>
__global__ void step(int *n) { atomicAdd(n, 1); }
int main(int argc, char **argv)
{
    int *n;
    cudaMalloc(&n, 4);
    while (access(argv[1], F_OK)) step<<<2000, 1>>>(n);
    puts("done");
}
"""
    shown, over = list[str](), tmp_path / "over"
    options = make_options({"device": "cpu", "run_main": str(over)})

    def watch() -> None:
        while not (far := compilers.describe_progress()):
            time.sleep(0.01)
        shown.append(far)
        over.touch()

    def begin(step: str) -> None:
        shown.append(step)
        threading.Thread(target=watch).start()

    status = pipeline.run_main(program, language="cuda", options=options, name="<cuda>", show=shown.append, doing=begin)
    assert status == 0
    assert shown[0] == "running main() of"
    assert re.fullmatch(r"step: block [0-9,]+ of 2,000", shown[1])
    assert shown[2:] == ["done\n"]
    assert not compilers.describe_progress()
