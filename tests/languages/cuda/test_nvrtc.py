"""NVIDIA's run-time compiler: found, run and understood, with no driver and no GPU."""

from __future__ import annotations

import base64
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from support import CELLS, run_python
from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.languages.cuda.nvrtc import (
    device_headers as headers,
    nvrtc_discovery as found,
    nvrtc_log as log,
    nvrtc_program as program,
)
from ufunc_magic.model import CompileError, FunctionCode, LoopCode, ObjectCode, Target, ToolchainError

CUDA_CELLS = sorted((CELLS / "cuda").glob("*.cu"))
MUL = "__device__ float mul(float x, float y) { return x * y; }"
#: The two examples of numba-cuda's page on foreign functions.
FFI_MUL = """
extern "C" __device__ int
mul_f32_f32(
  float* return_value,
  float x,
  float y)
{
  *return_value = x * y;
  return 0;
}
"""
FFI_SUM = """
extern "C"
__device__ int
sum_reduce(
  float* return_value,
  float* array,
  int n)
{
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) {
    sum += array[i];
  }
  *return_value = (float) sum;
  return 0;
}
"""


@pytest.fixture(autouse=True)
def _compiler(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("nvrtc") and nvrtc.find() is None:
        pytest.skip(nvrtc.explain_absence())


def ufunc(name: str, calls: dict[tuple[int, ...], str], *, nin: int, nout: int = 1) -> FunctionCode:
    loops = tuple(LoopCode(k, types) for k, types in enumerate(calls))
    return FunctionCode(name, "ufunc", nin, nout, loops=loops, calls=tuple(calls.values()))


def cell_of(source: str, *functions: FunctionCode, **fields: Any) -> ObjectCode:
    fields = {"language": "cuda", "name": "In[3]", **fields}
    return ObjectCode(b"", Target("elf", "linux", "x86_64"), functions, source=source, **fields)


def refusal(source: str, **options: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        nvrtc.compile(source, name="In[3]", **options)
    return caught.value


# ------------------------------------------------------------------------------------------ finding


def test_importing_the_package_imports_nothing_of_cuda() -> None:
    code = "import sys, ufunc_magic.languages.cuda.nvrtc; print([m for m in sys.modules if m.split('.')[0] == 'cuda'])"
    done = run_python(code)
    assert done.stdout.strip() == "[]"


def test_a_missing_compiler_is_none_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found.probe.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert nvrtc.find() is None
    assert re.match(
        r"NVRTC is not installed here \(.*cuda.*\): pip install .ufunc_magic\[cuda\].$", nvrtc.explain_absence()
    )
    with pytest.raises(ToolchainError, match=r"(?s)not installed.*pip install"):
        nvrtc.compile(MUL, name="In[3]")


def test_a_library_that_does_not_open_is_none_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise RuntimeError("libnvrtc.so.13 not found\nsearched everywhere")

    found.probe.cache_clear()
    monkeypatch.setattr(found, "import_bindings", missing)
    assert nvrtc.find() is None
    assert "(libnvrtc.so.13 not found)" in nvrtc.explain_absence()


@pytest.mark.parametrize(
    ("capability", "expected"),
    [(None, "compute_75"), ((7, 5), "sm_75"), ((9, 0), "sm_90"), ((8, 7), "compute_86"), ((15, 0), "compute_90")],
)
def test_architecture_is_the_devices_or_the_newest_below_it(capability: tuple[int, int] | None, expected: str) -> None:
    assert nvrtc.choose_architecture(nvrtc.Nvrtc((13, 0), (75, 80, 86, 90)), capability) == expected


def test_options_of_a_cell_become_nvrtcs() -> None:
    options = {
        "fast_math": True,
        "include": ("own",),
        "compile_args": ("-DN=3", "-O2", "-march=native", "--maxrregcount=32", "-std=c++20"),
    }
    assert nvrtc.list_nvrtc_flags(options) == ("--use_fast_math", "-Iown", "-DN=3", "--maxrregcount=32", "-std=c++20")
    assert nvrtc.list_nvrtc_flags({}) == ()


# ------------------------------------------------------------------------------------------ its log


def shown(text: str, cell: str) -> str:
    return "\n".join(map(str, log.read_log(text, name="In[3]", cell=cell)))


def test_an_error_is_placed_by_its_caret() -> None:
    cell = "__device__ float f(float x) {\n    return x*y;\n}"
    text = (
        'In[3](2): error: identifier "y" is undefined\n      return x*y;\n               ^\n\n'
        '1 error detected in the compilation of "In[3]".\n'
    )
    assert shown(text, cell) == (
        'In[3]:2:14: error: identifier "y" is undefined\n'
        "      return x*y;\n"
        "               ^\n"
        "  hint: Define y above its first use, or include the header that declares it."
    )


def test_columns_count_characters() -> None:
    # The caret of NVRTC counts bytes, and copies tabs.
    cell = "\t/* é */\treturn z; }"
    text = 'In[3](1): error: identifier "z" is undefined\n  \t/* é */\treturn z; }\n  \t        \t       ^\n'
    (found_there,) = log.read_log(text, name="In[3]", cell=cell)
    assert cell[found_there.column - 1] == "z"


def test_the_end_of_the_source_is_the_cells_last_line() -> None:
    cell = "__device__ float f() {\n  return 1;\n"
    text = (
        'At end of source: error: expected a "}"\nIn[3](1): note #3196-D: to match this "{"\n'
        "  __device__ float f() {\n                       ^\n"
    )
    assert shown(text, cell.rstrip()) == (
        'In[3]:2: error: expected a "}"\n    return 1;\n  hint: A { has no matching }.\n'
        'In[3]:1:22: note: to match this "{"\n  __device__ float f() {\n                       ^'
    )


def test_words_on_further_lines_belong_to_the_message() -> None:
    cell = "__device__ float f(float x) { return pow(x); }"
    text = (
        'In[3](1): error: no instance of overloaded function "pow" matches the argument list\n'
        "            argument types are: (float)\n"
        "  __device__ float f(float x) { return pow(x); }\n"
        "                                       ^\n"
        'Note #3322-D: number of parameters of function "pow(float, float)" does not match the call\n'
    )
    assert shown(text, cell).split("\n")[0] == (
        'In[3]:1:38: error: no instance of overloaded function "pow" matches the argument list; '
        "argument types are: (float)"
    )


def test_warnings_come_after_errors_with_their_number() -> None:
    cell = "__device__ float f() { int k; return z; }"
    text = (
        'In[3](1): warning #177-D: variable "k" was declared but never referenced\n  ' + cell + "\n  "
        "                           ^\n\n"
        'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n\n'
        'In[3](1): error: identifier "z" is undefined\n  ' + cell + "\n                                       ^\n"
    )
    kinds = [(d.severity, d.option) for d in log.read_log(text, name="In[3]", cell=cell)]
    assert kinds == [("error", ""), ("warning", "#177-D")]


def test_generated_text_is_named_only_where_the_cell_is_right() -> None:
    ours = "<ufunc_magic>(7): error: no suitable conversion\n  x = 3;\n  ^\n\n"
    ours += "<ufunc_magic>(8): warning #1-D: odd\n  y;\n  ^\n"
    (only,) = log.read_log(ours, name="In[3]", cell=MUL)
    assert (only.line, only.hint.split(":")[0]) == (
        0,
        "The error is in the code that ufunc_magic generates around the cell",
    )
    both = ours + 'In[3](1): error: expected a ";"\n  ' + MUL + "\n                    ^\n"
    assert [d.file for d in log.read_log(both, name="In[3]", cell=MUL)] == ["In[3]"]


def test_the_assemblers_complaints_are_errors() -> None:
    text = (
        "ptxas application ptx input, line 26; error   : Not a name of any known instruction: 'foo'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    (only,) = log.read_log(text, name="In[3]", cell="")
    assert (only.severity, only.message) == ("error", "Not a name of any known instruction: 'foo'")


@given(st.text(alphabet=st.sampled_from("In[3](1): error#^ \n\t<é>atlinewarning"), max_size=200), st.text(max_size=40))
def test_reading_a_log_never_fails(text: str, cell: str) -> None:
    assert all(d.column >= 0 for d in log.read_log(text, name="In[3]", cell=cell))


@pytest.mark.parametrize(
    ("message", "line", "word"),
    [
        ('expected a ";"', "", "the missing ;"),
        ('identifier "half" is undefined', "", "<cuda_fp16.h>"),
        ('identifier "__float2half" is undefined', "", "<cuda_fp16.h>"),
        ('identifier "cuFloatComplex" is undefined', "", "<cuComplex.h>"),
        ('identifier "exit" is undefined', "", "__trap()"),
        ('identifier "cudaMalloc" is undefined', "", "CUDA host functions"),
        ('identifier "T" is undefined', "", "--types f4,f8"),
        ('namespace "std" has no member "cout"', "", "printf"),
        ('namespace "std" has no member "sin"', "", "<cmath>"),
        ('namespace "std" has no member "vector"', "", "no containers"),
        ('namespace "std" has no member "tuple"', "", "cuda::std::tuple"),
        ('could not open source file "iostream"', "", "printf"),
        ('could not open source file "cuda/std/cmath"', "", "pip install"),
        ('could not open source file "own.h"', "", "-I FOLDER"),
        ('operand of "*" must be a pointer but has type "int"', "return x**2;", "pow(x, y)"),
        ("expression must have integral or unscoped enum type", "return x ^ 2;", "pow(x, y)"),
        ("expression must have integral or unscoped enum type", "return x % 2;", "fmod(x, y)"),
        ("A function without execution space annotations (__host__) is", "", "Write __device__ before it."),
        ('calling a __host__ function("g") from a __device__ function("f") is not allowed', "", "Write __device__"),
        ("a __global__ function must have a void return type", "", "through pointers"),
        ("class type expected", "", ""),
    ],
)
def test_frequent_faults_come_with_advice(message: str, line: str, word: str) -> None:
    hint = nvrtc.advise(message, line)
    assert word in hint
    assert bool(word) == bool(hint)


# ------------------------------------------------------------------------------------------ compiling


@pytest.mark.nvrtc
@pytest.mark.parametrize(("source", "name"), [(FFI_MUL, "mul_f32_f32"), (FFI_SUM, "sum_reduce"), (MUL, "_Z3mulff")])
def test_device_functions_are_kept_in_the_ptx(source: str, name: str) -> None:
    made = nvrtc.compile(source, name="In[3]")
    assert f".visible .func  (.param .b32 func_retval0) {name}(" in made.text
    assert ".target sm_75" in made.text
    assert made.diagnostics == ()


@pytest.mark.nvrtc
def test_machine_code_and_lto_ir_are_made_for_an_architecture() -> None:
    kernel = "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }"
    made = nvrtc.compile(kernel, name="In[3]", output="cubin", arch="sm_90")
    assert made.code[:4] == b"\x7fELF"
    assert len(nvrtc.compile(MUL, name="In[3]", output="ltoir").code) > 200
    assert ".target sm_90" in nvrtc.compile(MUL, name="In[3]", arch="compute_90").text


BAD = [
    (
        "__device__ float f(float x) {\n  return x * 2\n}",
        """In[3] does not compile for the GPU: 1 error.
In[3]:3:1: error: expected a ";"
  }
  ^
  hint: Add the missing ; at the end of this statement or of the line above.""",
    ),
    (
        "float table[2];\n__device__ float f(float x) { return table[0] * x; }",
        """In[3] does not compile for the GPU: 1 error.
In[3]:1:7: error: A namespace scope variable without memory space annotations \
(__device__/__constant__/__shared__/__managed__) is considered a host variable
  float table[2];
        ^
  hint: Write __device__ before it, or constexpr (__constant__ for a table) if it never changes.""",
    ),
    (
        "#include <iostream>\n__device__ float f(float x) { std::cout << x; return x; }",
        """In[3] does not compile for the GPU: 1 error.
In[3]:2:36: error: namespace "std" has no member "cout"
  __device__ float f(float x) { std::cout << x; return x; }
                                     ^
  hint: Device code prints with printf("%f\\n", x), which needs no header.""",
    ),
    (
        "__device__ float f(float x) {\n  float z = x;\n  return half(z);\n}",
        """In[3] does not compile for the GPU: 1 error.
In[3]:3:10: error: identifier "half" is undefined
    return half(z);
           ^
  hint: Add #include <cuda_fp16.h> at the top of the cell.""",
    ),
    (
        "__device__ float f(float é) { return 1; }",
        """In[3] does not compile for the GPU: 2 errors.
In[3]:1:26: error: unrecognized token
  __device__ float f(float é) { return 1; }
                           ^
  hint: Retype this character: C++ does not allow it (for example a typographic quote or a no-break space).
In[3]:1:26: error: expected a ")"
  __device__ float f(float é) { return 1; }
                           ^""",
    ),
]


@pytest.mark.nvrtc
@pytest.mark.parametrize(("source", "expected"), BAD)
def test_errors_are_on_the_cells_own_lines(source: str, expected: str) -> None:
    assert str(refusal(source)) == expected


@pytest.mark.nvrtc
def test_errors_behind_a_line_directive_are_on_the_cells_own_lines() -> None:
    cell = "__device__ float f(float x) {\n  return y;\n}"
    fault = refusal(f'typedef int before;\n#line 1 "In[3]"\n{cell}\n', cell=cell)
    assert [(d.file, d.line, d.column) for d in fault.diagnostics] == [("In[3]", 2, 10)]


@pytest.mark.nvrtc
def test_warnings_of_a_cell_that_compiles_are_kept() -> None:
    (only,) = nvrtc.compile("__device__ int f() { int k; return 1; }", name="In[3]").diagnostics
    assert (only.severity, only.line, only.option) == ("warning", 1, "#177-D")


@pytest.mark.nvrtc
def test_an_unknown_architecture_says_which_there_are() -> None:
    with pytest.raises(ToolchainError, match=r"(?s)'sm_50'.*sm_75, .*sm_90"):
        nvrtc.compile(MUL, name="In[3]", arch="sm_50")


@pytest.mark.nvrtc
def test_an_unknown_option_is_an_error_with_its_name() -> None:
    assert "unrecognized option --frob" in str(refusal(MUL, options=["--frob"]))


@pytest.mark.nvrtc
def test_a_nul_in_the_text_does_not_end_it() -> None:
    assert refusal(f"{MUL}\0 garbage").diagnostics[0].message == "unrecognized token"


@pytest.mark.nvrtc
def test_every_program_is_destroyed_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    real, alive = found.import_bindings(), []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name == "nvrtcGetProgramLogSize" and self.interrupt:
                raise KeyboardInterrupt
            return getattr(real, name)

        interrupt = False

        def nvrtcCreateProgram(self, *args: Any) -> Any:
            alive.append(1)
            return real.nvrtcCreateProgram(*args)

        def nvrtcDestroyProgram(self, one: Any) -> Any:
            alive.pop()
            return real.nvrtcDestroyProgram(one)

    counting = Counting()
    monkeypatch.setattr(program, "import_bindings", lambda: counting)
    nvrtc.compile(MUL, name="In[3]")
    refusal("nonsense")
    counting.interrupt = True
    with pytest.raises(KeyboardInterrupt):
        nvrtc.compile(MUL, name="In[3]")
    assert alive == []


@pytest.mark.nvrtc
def test_threads_compile_side_by_side() -> None:
    results: dict[int, str] = {}

    def one(k: int) -> None:
        source = f"__device__ int f{k}() {{ return {k}; }}" if k % 2 else f"__device__ int f() {{ return missing{k}; }}"
        try:
            results[k] = nvrtc.compile(source, name=f"In[{k}]").text
        except CompileError as fault:
            results[k] = fault.diagnostics[0].message

    threads = [threading.Thread(target=one, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[k] for k in range(0, 8, 2)] == [f'identifier "missing{k}" is undefined' for k in range(0, 8, 2)]
    assert [f"_Z2f{k}v(" in results[k] for k in range(1, 8, 2)] == [True] * 4


# ------------------------------------------------------------------------------------------ headers


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (MUL, ""),
        ("double a = M_PI;", "#include <math.h>\n"),
        ("float b = fmax(x, 0);", "#include <math.h>\n"),
        ("int64_t n = INT_MAX;", "#include <stdint.h>\n#include <limits.h>\n"),
        ("float e = FLT_EPSILON;", "#include <float.h>\n"),
        ("point_t p; MY_NAN; isnan(x); fmaxf(x, y); squint64_t q;", ""),
    ],
)
def test_what_nvcc_includes_unasked_is_included_where_it_is_used(source: str, expected: str) -> None:
    assert nvrtc.write_prelude(source) == expected


@pytest.mark.nvrtc
def test_each_header_of_the_hosts_that_device_code_can_use_compiles_alone() -> None:
    slow = {"complex"}  # CCCL's: tested below
    folder = Path(headers.__file__).parents[1] / "templates" / "nvrtc" / "include"
    written = [path.name for path in folder.iterdir() if path.name not in slow]
    assert len(written) > 25
    for header in written:
        nvrtc.compile(f"#include <{header}>\n{MUL}", name=header)


ALL_OF_IT = """
__device__ double f(float x, double y, int n, int64_t k) {
    assert(x > 0);
    printf("%f", x);
    std::uint32_t q = UINT32_C(3);
    std::ptrdiff_t d = SIZE_MAX - UINT8_MAX + CHAR_BIT + offsetof(float2, y);
    float inf = std::numeric_limits<float>::infinity(), nan = INFINITY + NAN;
    std::swap(x, inf);
    std::array<float, 3> a{1, 2, 3};
    std::pair<int, float> p = std::make_pair(1, 2.0f);
    return std::max(x, nan) + std::min(1, 2) + std::clamp(x, 0.f, 1.f) + M_PI + std::sin(x) + std::abs(-x) + a[1]
        + isnormal(y) + std::fpclassify(x) + p.second + std::isgreater(x, y) + FLT_EPSILON + q + d + n + k;
}
static_assert(std::is_same<int64_t, std::int64_t>::value && sizeof(int64_t) == 8 && sizeof(uint16_t) == 2, "");
static_assert(std::is_floating_point_v<float> && !std::is_integral_v<float> && std::is_unsigned_v<unsigned>, "");
static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<double>::digits10 == 15, "");
static_assert(std::numeric_limits<unsigned char>::digits10 == 2 && -INT_MAX - 1 == INT_MIN, "");
template <class T> __device__ std::enable_if_t<std::is_integral<T>::value, T> half_of(T x) { return x / 2; }
__device__ unsigned g(int x) { return half_of(x) + std::numeric_limits<std::make_unsigned_t<int>>::max(); }
"""


@pytest.mark.nvrtc
def test_headers_of_c_may_stand_in_extern_c() -> None:
    includes = "".join(f"#include <{name}>\n" for name in headers.list_provided() if name.endswith(".h"))
    source = f'extern "C" {{\n{includes}__global__ void k(float *x) {{ *x = pow(*x, 2) + sqrt(2); }}\n}}\n'
    assert b".entry k(" in nvrtc.compile(source, name="In[3]").code


@pytest.mark.nvrtc
def test_all_headers_together_define_what_device_code_uses() -> None:
    names = [name for name in headers.list_provided() if name != "complex"]
    nvrtc.compile("".join(f"#include <{name}>\n" for name in names) + ALL_OF_IT, name="In[3]")


@pytest.mark.nvrtc
def test_math_with_mixed_arguments_has_the_types_of_cmath() -> None:
    expressions = {
        "sqrt(2)": 12, "sqrt(2.0f)": 11, "pow(2.0f, 2.0)": 12, "pow(2.0f, 2)": 11, "pow(2, 2)": 12, "pow(2, 2.0f)": 12,
        "fmax(1.0f, 0)": 12, "fmax(1.0f, 0.0f)": 11, "fmin(1.0, 1.0f)": 12, "atan2(1.0f, 1)": 12, "floor(3)": 12,
        "max(1.0f, 2.0)": 12, "abs(-1)": 5, "M_PI": 12, "INT64_MAX": 9, "FLT_MAX": 11,
    }  # fmt: skip
    asked = [f"__UFM_TYPE(decltype({text}))" for text in expressions]
    assert dict(zip(expressions, nvrtc.find_type_numbers(MUL, asked, name="In[3]"), strict=True)) == expressions


@pytest.mark.nvrtc
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.parametrize(
    "source",
    [
        "#include <cuda_fp16.h>\n__device__ __half f(__half x) { return __hmul(x, x) + hsin(x); }",
        "#include <cuda_bf16.h>\n__device__ __nv_bfloat16 f(__nv_bfloat16 x) { return x * x; }",
        "#include <cuComplex.h>\n__device__ cuFloatComplex f(cuFloatComplex z) { return cuCmulf(z, z); }",
        "#include <cuda_runtime.h>\n#include <math_constants.h>\n__device__ float f() { return CUDART_PI_F; }",
    ],
    ids=["half", "bfloat16", "complex", "constants"],
)
def test_cudas_own_headers_are_found(source: str) -> None:
    assert ".func" in nvrtc.compile(source, name="In[3]").text


@pytest.mark.nvrtc
@pytest.mark.usefixtures("shared_cache")
def test_cccl_stands_beside_the_headers_written_here() -> None:
    source = (
        "#include <cstdint>\n#include <cmath>\n#include <complex>\n#include <cuda/std/cstdint>\n"
        "#include <cuda_fp16.h>\n#include <limits>\n#include <type_traits>\n"
        "__device__ float f(std::complex<float> z, float x, int64_t n) {\n"
        "    return std::abs(z * std::exp(z)) + std::exp(x);\n}"
    )
    asked = ["std::complex<float>", "const std::complex<double>", "half", "half2", "int64_t", "decltype(f({}, 1, 2))"]
    numbers = nvrtc.find_type_numbers(source, [f"__UFM_TYPE({text})" for text in asked], name="In[3]")
    assert numbers == (14, 15, 23, 255, 9, 11)


def test_each_folder_of_headers_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wheels for CUDA 12 have a folder each, those for CUDA 13 one for all but CCCL."""
    pathfinder = pytest.importorskip("cuda.pathfinder")
    for layout in (
        {"cudart": "a", "cccl": "b", "curand": "c", "nvcc": "d"},
        {"cudart": "a", "cccl": "b", "curand": "a"},
    ):
        for folder in layout.values():
            (tmp_path / folder).mkdir(exist_ok=True)
        places = {name: str(tmp_path / folder) for name, folder in layout.items()}
        monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", places.get)
        nvrtc.find_installed_headers.cache_clear()
        assert list(nvrtc.find_installed_headers().values()) == list(dict.fromkeys(places.values()))
    nvrtc.find_installed_headers.cache_clear()


@pytest.mark.nvrtc
@pytest.mark.usefixtures("shared_cache")
def test_headers_that_nvrtc_carries_serve_where_none_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = nvrtc.find()
    assert compiler is not None
    if not compiler.bundles_headers:
        pytest.skip(f"{compiler} carries no headers: 13.3 does")
    monkeypatch.setattr(headers, "find_installed_headers", dict)
    nvrtc.compile("#include <cuda_fp16.h>\n__device__ half f(half x) { return x * x; }", name="In[3]")


@pytest.mark.nvrtc
def test_headers_of_the_current_folder_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.h").write_text("#define FACTOR 3.0f\n")
    monkeypatch.chdir(tmp_path)
    nvrtc.compile('#include "own.h"\n__device__ float f(float x) { return FACTOR * x; }', name="In[3]")


@pytest.mark.nvrtc
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.skipif(not CUDA_CELLS, reason="there are no cells in tests/cells/cuda")
def test_cells_that_the_emulation_runs_compile_for_the_gpu() -> None:
    for path in CUDA_CELLS:
        nvrtc.compile(path.read_text(encoding="utf-8"), name=path.name)


@pytest.mark.nvrtc
def test_a_unit_of_kernels_is_machine_code_from_the_cache_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = f'{MUL}\nextern "C" __global__ void k(float *x) {{ x[0] = mul(x[0], 2.0f); }}'
    first, (symbol,) = nvrtc.make_cubin(unit, name="In[3]", cell=MUL, arch="sm_90", options={}, entries=["k"])
    assert (first[:4], symbol) == (b"\x7fELF", "k")
    assert b".text.k\0" in first
    monkeypatch.setattr(program, "find", lambda: None)
    assert nvrtc.make_cubin(unit, name="In[3]", cell=MUL, arch="sm_90", options={}, entries=["k"]) == (first, (symbol,))
    with pytest.raises(ToolchainError):
        nvrtc.make_cubin(unit, name="In[3]", cell=MUL, arch="sm_90", options={"fast_math": True}, entries=["k"])


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("static_cast<void (*)(float *)>(&k)", "_Z1kPf"),
        ("static_cast<void (*)(double *)>(&k)", "_Z1kPd"),
        ("ns::scale<float, 8>", "_ZN2ns5scaleIfLi8EEEvPT_"),
    ],
)
def test_symbol_of_a_kernel_is_that_of_its_signature(entry: str, expected: str) -> None:
    cell = """\
__global__ void k(float *x) { *x = 1; }
__global__ void k(double *x) { *x = 2; }
namespace ns { template <class T, int N> __global__ void scale(T *x) { *x *= N; } }
"""
    code, (symbol,) = nvrtc.make_cubin(cell, name="In[3]", cell=cell, arch="sm_90", options={}, entries=[entry])
    assert symbol == expected
    # A template that nobody asks for is not in the code.
    assert (f".text.{expected}\0".encode() in code, b"scaleId" in code) == (True, False)


# ------------------------------------------------------------------------------------------ types


@pytest.mark.nvrtc
def test_types_are_what_the_compiler_says() -> None:
    source = "typedef double real;\nnamespace n { __device__ real f(const float *x, bool b) { return b ? *x : 0; } }"
    before = "template <class R, class A, class B> __device__ B second(R (*)(A, B));"
    asked = [
        "__UFM_TYPE(decltype(n::f(nullptr, true)))",
        "__UFM_TYPE(decltype(second(&n::f)))",
        "__UFM_TYPE(real)",
        "__UFM_TYPE(float4)",
        "sizeof(float4)",
        "0",
        "70000",
    ]
    assert nvrtc.find_type_numbers(source, asked, name="In[3]", before=before) == (12, 0, 12, 255, 16, 0, 70000)
    assert nvrtc.find_type_numbers(source, [], name="In[3]") == ()
    assert nvrtc.find_type_numbers(source, ["0", "0"], name="In[3]") == (0, 0)


@pytest.mark.nvrtc
def test_a_cell_that_does_not_compile_says_so_when_asked_for_types() -> None:
    with pytest.raises(CompileError) as caught:
        nvrtc.find_type_numbers(
            "__device__ float f(float x) { return y; }", ["__UFM_TYPE(decltype(f(1)))"], name="In[3]"
        )
    assert [(d.file, d.line) for d in caught.value.diagnostics] == [("In[3]", 1)]


# ------------------------------------------------------------------------------------------ shims

PAIR = ufunc("polar", {(11, 11, 11, 12): "polar({in0}, {in1}, &{out0}, &{out1})"}, nin=2, nout=2)


def test_shims_follow_numbas_calling_convention() -> None:
    made = cell_of(
        MUL,
        ufunc("mul", {(11, 11, 11): "{out0} = mul({in0}, {in1})", (12, 12, 12): "{out0} = mul({in0}, {in1})"}, nin=2),
        PAIR,
        ufunc("both", {(0, 23, 0): "{out0} = both({in0}, {in1});"}, nin=2),
        FunctionCode("total", "plain", prototype=("f4", "const f4*", "b1")),
        FunctionCode("fill", "plain", prototype=("void", "f8*", "i8")),
    )
    own = nvrtc.make_prefix(made)
    text = "".join(shim.text for shim in nvrtc.make_shims(made)).replace(own, "own")
    assert re.sub(r"__ufm_([ro]|a\d|o\d)\b", r"\1", text) == (
        'extern "C" __device__ int own_mul_0(float *r, float a0, float a1) {\n'
        "    (*r) = mul(a0, a1);\n    return 0;\n}\n"
        'extern "C" __device__ int own_mul_1(double *r, double a0, double a1) {\n'
        "    (*r) = mul(a0, a1);\n    return 0;\n}\n"
        "struct own_polar_0_result { float o0; double o1; };\n"
        'extern "C" __device__ int own_polar_0(own_polar_0_result *r, float a0, float a1) {\n'
        "    return __ufm_status((polar(a0, a1, &(r->o0), &(r->o1)), __ufm_done()));\n}\n"
        'extern "C" __device__ int own_both_0(bool *r, unsigned char a0, unsigned short a1) {\n'
        "    (*r) = both((a0 != 0), (reinterpret_cast<const __half &>(a1)));\n    return 0;\n}\n"
        'extern "C" __device__ int own_total(float *r, const float * a0, unsigned char a1) {\n'
        "    (*r) = total(a0, (a1 != 0));\n    return 0;\n}\n"
        'extern "C" __device__ int own_fill(void *r, double * a0, long long a1) {\n'
        "    return __ufm_status((fill(a0, a1), __ufm_done()));\n}\n"
    )
    assert [(s.function, s.loop, s.inputs, s.outputs) for s in nvrtc.make_shims(made)] == [
        ("mul", 0, ("f4", "f4"), ("f4",)),
        ("mul", 1, ("f8", "f8"), ("f8",)),
        ("polar", 0, ("f4", "f4"), ("f4", "f8")),
        ("both", 0, ("b1", "f2"), ("b1",)),
        ("total", -1, ("const f4*", "b1"), ("f4",)),
        ("fill", -1, ("f8*", "i8"), ()),
    ]


def test_what_a_kernel_cannot_call_has_no_shim() -> None:
    made = cell_of(
        MUL,
        ufunc("long_one", {(13, 13): "{out0} = long_one({in0})"}, nin=1),
        FunctionCode("by_value", "plain", prototype=("f4", "V16")),
        FunctionCode("launch", "kernel", prototype=("void", "f4*")),
    )
    assert nvrtc.make_shims(made) == ()


def test_symbols_differ_between_cells_and_are_the_same_for_the_same_cell() -> None:
    one, same, other = (cell_of(text, PAIR) for text in (MUL, MUL, f"{MUL}\n"))
    assert nvrtc.make_prefix(one) == nvrtc.make_prefix(same)
    assert nvrtc.make_prefix(one) != nvrtc.make_prefix(other)


MULTIPLY = ufunc("mul", {(11, 11, 11): "{out0} = mul({in0}, {in1})"}, nin=2)


@pytest.mark.nvrtc
def test_another_process_finds_the_lto_ir_and_needs_no_compiler(cache_folder: Path) -> None:
    made = cell_of(MUL, MULTIPLY)
    code = nvrtc.make_ltoir(made)
    program_text = (
        "import sys; sys.modules['cuda.bindings'] = None\n"
        "from ufunc_magic.languages.cuda import nvrtc; from ufunc_magic.model.object_code import ObjectCode\n"
        f"print(nvrtc.make_ltoir(ObjectCode.from_bytes({made.to_bytes()!r})).hex() == {code.hex()!r})"
    )
    done = run_python(program_text, code=None)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


@pytest.mark.nvrtc
def test_lto_ir_is_made_anew_when_a_header_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = '#include "own.h"\n__device__ float mul(float x, float y) { return FACTOR * x * y; }'
    (tmp_path / "own.h").write_text("#pragma once\n#define FACTOR 3.0f\n")
    first = nvrtc.make_ltoir(cell_of(source, MULTIPLY))
    (tmp_path / "own.h").write_text("#pragma once\n#define FACTOR 5.0f\n")
    assert nvrtc.make_ltoir(cell_of(source, MULTIPLY)) != first


def test_lto_ir_that_an_object_carries_is_used_where_it_can_be_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    device = {"arch": "sm_80", "ltoir": base64.b64encode(b"carried").decode()}
    made = cell_of(MUL, MULTIPLY, device=device)
    assert nvrtc.make_ltoir(made, "compute_90") == b"carried"
    # Older than it was made for: the linker would refuse it.
    found.probe.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ToolchainError, match="not installed"):
        nvrtc.make_ltoir(made, "compute_75")


@pytest.mark.nvrtc
def test_a_cell_that_fits_into_no_namespace_is_compiled_as_it_is() -> None:
    made = cell_of(f"#ifndef ONCE\n#define ONCE\n{MUL}\n#endif", MULTIPLY)
    assert len(nvrtc.make_ltoir(made)) > 200


@pytest.mark.nvrtc
def test_faults_of_a_cell_are_on_its_lines_in_lto_ir_too() -> None:
    with pytest.raises(CompileError) as caught:
        nvrtc.make_ltoir(cell_of("// a comment\n__device__ float mul(float x, float y) { return z; }", MULTIPLY))
    assert [(d.file, d.line) for d in caught.value.diagnostics] == [("In[3]", 2)]


# ------------------------------------------------------------------------------------------ linking


def linked(kernel: Callable[..., None], signature: tuple[Any, ...], *, arch: str) -> str:
    """The PTX of a Numba kernel after linking with all that its declarations carry; needs no driver."""
    from cuda.core import Linker, LinkerOptions, ObjectCode as Linkable
    from numba import cuda

    capability = divmod(int(arch.removeprefix("sm_")), 10)
    parts, _ = cuda.compile_all(kernel, signature, device=False, abi="numba", cc=capability, output="ltoir")
    codes = [Linkable.from_ltoir(part if isinstance(part, bytes) else part.data) for part in parts]
    options = {"arch": arch, "link_time_optimization": True}
    machine = Linker(*codes, options=LinkerOptions(**options)).link("cubin").code
    assert machine[:4] == b"\x7fELF"
    text = Linker(*codes, options=LinkerOptions(**options, ptx=True)).link("ptx").code
    return text.decode() if isinstance(text, bytes) else text


@pytest.mark.nvrtc
@pytest.mark.numba
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_functions_of_a_cell_are_inlined_into_a_kernel_of_numbas(arch: str) -> None:
    cuda = pytest.importorskip("numba.cuda", reason="needs Numba")
    pytest.importorskip("numba_cuda", reason="needs numba-cuda")
    import cffi
    from numba import types as t

    source = f"""
    #include <cuda_fp16.h>
    {MUL}
    {FFI_MUL}
    __device__ double mul(double x, double y) {{ return x * y; }}
    __device__ void polar(float x, float y, float *r, double *a) {{ *r = hypotf(x, y); *a = atan2f(y, x); }}
    __device__ bool both(bool a, int b) {{ return a && b; }}
    __device__ __half twice(__half a) {{ return __hadd(a, a); }}
    __device__ float total(const float *x, int n) {{ float s = 0; for (int k = 0; k < n; ++k) s += x[k]; return s; }}
    """
    made = cell_of(
        source,
        MULTIPLY,
        PAIR,
        ufunc("mul_f32_f32", {(11, 11, 11): "mul_f32_f32(&{out0}, {in0}, {in1})"}, nin=2),
        ufunc("both", {(0, 5, 0): "{out0} = both({in0}, {in1})"}, nin=2),
        ufunc("twice", {(23, 23): "{out0} = twice({in0})"}, nin=1),
        FunctionCode("total", "plain", prototype=("f4", "const f4*", "i4")),
    )
    code = cuda.LTOIR(nvrtc.make_ltoir(made))
    names = {shim.function: shim.symbol for shim in nvrtc.make_shims(made)}

    def declared(name: str, signature: Any) -> Any:
        return cuda.declare_device(names[name], signature, link=code)

    mul = declared("mul", t.float32(t.float32, t.float32))
    ffi_mul = declared("mul_f32_f32", t.float32(t.float32, t.float32))
    polar = declared("polar", t.Tuple((t.float32, t.float64))(t.float32, t.float32))
    both = declared("both", t.boolean(t.boolean, t.int32))
    twice = declared("twice", t.float16(t.float16))
    total = declared("total", t.float32(t.CPointer(t.float32), t.int32))
    ffi = cffi.FFI()

    def kernel(r, x, y, h):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        radius, angle = polar(x[i], y[i])
        h[i] = twice(h[i])
        r[i] = mul(radius, angle) + ffi_mul(x[i], y[i]) + total(ffi.from_buffer(x), 4)
        if both(x[i] > y[i], i):
            r[i] += 1

    floats, halves = t.Array(t.float32, 1, "C"), t.Array(t.float16, 1, "C")
    text = linked(kernel, (floats, floats, floats, halves), arch=arch)
    assert f".target {arch}" in text
    assert [line for line in text.splitlines() if "call" in line] == []
    assert "mul.f32" in text


@pytest.mark.nvrtc
@pytest.mark.numba
@pytest.mark.filterwarnings("ignore")
def test_two_cells_of_one_kernel_may_have_helpers_of_one_name() -> None:
    cuda = pytest.importorskip("numba.cuda", reason="needs Numba")
    pytest.importorskip("numba_cuda", reason="needs numba-cuda")
    from numba import types as t

    def scaled(factor: int) -> Any:
        source = (
            f"template <class T> __device__ T helper(T x) {{ return {factor} * x; }}\n"
            f'extern "C" __device__ float scale(float x) {{ return {factor} + x; }}\n'
            "__device__ float scaled(float x) { return scale(helper(x)); }"
        )
        scale = ufunc("scale", {(11, 11): "{out0} = scale({in0})"}, nin=1)
        made = cell_of(source, ufunc("scaled", {(11, 11): "{out0} = scaled({in0})"}, nin=1), scale)
        name = f"{nvrtc.make_prefix(made)}_scaled_0"
        return cuda.declare_device(name, t.float32(t.float32), link=cuda.LTOIR(nvrtc.make_ltoir(made)))

    three, five = scaled(3), scaled(5)

    def kernel(x):  # type: ignore[no-untyped-def]
        x[0] = three(x[0]) * five(x[1])

    text = linked(kernel, (t.Array(t.float32, 1, "C"),), arch="sm_90")
    # 3.0f and 5.0f, each as a factor and as a summand.
    assert [text.count("0f40400000"), text.count("0f40A00000")] == [2, 2]
