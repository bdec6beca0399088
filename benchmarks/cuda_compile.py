"""How long a CUDA cell takes to compile, beside NVRTC alone on the same text; needs no GPU.

    python benchmarks/cuda_compile.py [rounds]

"nvrtc" is the compiler called through its bindings with the options that everybody gives it; "same options" with
ours.  Writes benchmarks/results/cuda_compile.json.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from machine import describe

from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.languages.cuda.nvrtc import device_headers as headers, nvrtc_program as program
from ufunc_magic.model.object_code import FunctionCode, LoopCode, ObjectCode, Target

CELLS = {
    "mul": "__device__ float mul(float x, float y) { return x * y; }\n",
    "black_scholes": """
__device__ float cnd(float d) { return 0.5f * erfcf(-d * 0.7071067811865475f); }
__device__ float call(float s, float k, float t, float r, float v) {
    float q = v * sqrtf(t), a = (logf(s / k) + (r + 0.5f * v * v) * t) / q;
    return s * cnd(a) - k * expf(-r * t) * cnd(a - q);
}
""",
    "math_h": "__device__ double f(float x, int n) { return fmax(x, 0.0) + sqrt(n) + sin(M_PI * x); }\n",
    "half": "#include <cuda_fp16.h>\n__device__ __half twice(__half x) { return __hadd(x, x); }\n",
    "cccl": "#include <cuda/std/cmath>\n__device__ float h(float x) { return cuda::std::hypot(x, x); }\n",
}
PLAIN = ["-arch=compute_75", "-std=c++17", "-rdc=true"]


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def raw(text: str, options: list[str], provided: dict[str, str]) -> None:
    status, log, _ = program._run(text, options, provided, "ptx")
    if status:
        raise SystemExit(log)


def measure(name: str, cell: str, rounds: int) -> dict[str, object]:
    """Medians in milliseconds of interleaved rounds."""
    compiler = nvrtc.find()
    assert compiler is not None
    provided = headers.list_provided() if headers.write_prelude(cell) else {}
    # NVRTC alone knows no <math.h>: it is given ours, in the text's place.
    text = f'{nvrtc.write_prelude(cell)}#line 1 "In[3]"\n{cell}'
    folders = headers.list_folders(compiler) if headers.may_include(cell) else []
    ours = program._list_options(cell, "ptx", "compute_75", (), compiler)
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: nvrtc.compile(cell, name="In[3]"),
        "nvrtc": lambda: raw(text, PLAIN + folders, provided),
        "same options": lambda: raw(text, ours, provided),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, action in ways.items():
            times[way].append(seconds(action))
    medians = {way: round(1e3 * statistics.median(t), 2) for way, t in times.items()}
    limit = 1.1 * medians["nvrtc"] + 10
    return {"cell": name, "milliseconds": medians, "limit": round(limit, 2), "reached": medians["ours"] <= limit}


def lto(rounds: int) -> dict[str, float]:
    """A cell with its shims: made, and found in the cache."""
    code = FunctionCode("mul", "ufunc", 2, 1, loops=(LoopCode(0, (11, 11, 11)),), calls=("{out0} = mul({in0}, {in1})",))
    made, found = [], []
    for k in range(rounds):
        source = CELLS["mul"] + f"// {k}"
        cell = ObjectCode(b"", Target("elf", "linux", "x86_64"), (code,), source=source, name="In[3]")
        made.append(seconds(lambda cell=cell: nvrtc.make_ltoir(cell)))
        found.append(seconds(lambda cell=cell: nvrtc.make_ltoir(cell)))
    return {"made": round(1e3 * statistics.median(made), 2), "from the cache": round(1e3 * statistics.median(found), 3)}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp()
    first = {"find": seconds(nvrtc.find), "first compile": seconds(lambda: nvrtc.compile(CELLS["mul"], name="In[1]"))}
    rows = [measure(name, cell, rounds if name != "cccl" else 3) for name, cell in CELLS.items()]
    result = {
        "machine": describe("cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-cccl"),
        "nvrtc": str(nvrtc.find()),
        "rounds": rounds,
        "first in a process, ms": {word: round(1e3 * t, 1) for word, t in first.items()},
        "compile to PTX": rows,
        "LTO-IR with shims, ms": lto(rounds),
    }
    for row in rows:
        print(row)
    print(result["first in a process, ms"], result["LTO-IR with shims, ms"])
    path = Path(__file__).parent / "results" / "cuda_compile.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
