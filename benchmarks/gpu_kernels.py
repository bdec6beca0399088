"""Functions of CUDA cells on a GPU beside kernels written by hand, CuPy's own and torch's; needs a GPU.

    python benchmarks/gpu_kernels.py                  all
    python benchmarks/gpu_kernels.py --elements 1e6   arrays of so many elements at most

"ElementwiseKernel" is CuPy's, with the cell as its preamble; "by hand" is a kernel of the cell's that has one thread
for each element and is launched by CuPy.  All are timed by the device's clock, in turns; medians of seconds.  A call's
cost on the host is timed on arrays of 100.  Writes benchmarks/results/gpu_kernels.json, and a table to docs/cuda.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import ufunc_magic as um
from ufunc_magic.languages.cuda import device

RESULTS = Path(__file__).parent / "results" / "gpu_kernels.json"
PAGE = Path(__file__).parents[1] / "docs" / "cuda.md"

CELL = r"""
__device__ float mul(float x, float y) { return x * y; }
__device__ float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
__device__ float cnd(float d) { return 0.5f * erfcf(-d * 0.70710678f); }
__device__ float call(float s, float k, float t, float r, float v)
{
    float q = v * sqrtf(t), a = (logf(s / k) + (r + 0.5f * v * v) * t) / q;
    return s * cnd(a) - k * expf(-r * t) * cnd(a - q);
}
__device__ double kepler(double m, double e)
{
    double x = m;
    for (int k = 0; k < 8; k++) x -= (x - e * sin(x) - m) / (1 - e * cos(x));
    return x;
}
// ufunc: identity=0
__device__ float add(float x, float y) { return x + y; }
"""
BY_HAND = r"""
#define PLACE long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; if (i < n)
extern "C" __global__ void mul_kernel(const float *x, const float *y, float *z, long long n)
{ PLACE z[i] = mul(x[i], y[i]); }
extern "C" __global__ void gelu_kernel(const float *x, float *z, long long n) { PLACE z[i] = gelu(x[i]); }
extern "C" __global__ void call_kernel(const float *s, const float *k, const float *t, const float *r, const float *v,
                                       float *z, long long n) { PLACE z[i] = call(s[i], k[i], t[i], r[i], v[i]); }
extern "C" __global__ void kepler_kernel(const double *m, const double *e, double *z, long long n)
{ PLACE z[i] = kepler(m[i], e[i]); }
"""
#: Functions, types of their inputs, and bounds.
FUNCTIONS = {
    "mul": ("ff", (-2, 2)),
    "gelu": ("f", (-4, 4)),
    "call": ("fffff", (0.1, 2)),
    "kepler": ("dd", (0, 0.9)),
}
SIZES = (10_000, 1_000_000, 100_000_000)
Timed = dict[str, float]


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int = 5) -> Timed:
    """Median seconds of each: a clock that changes changes all."""
    found = {name: [] for name in calls}  # type: dict[str, list[float]]
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(device.time_call(call, rounds=3))
    return {name: statistics.median(values) for name, values in found.items()}


def elementwise(name: str) -> Any:
    """CuPy's kernel around a function of the cell."""
    letters, _ = FUNCTIONS[name]
    kinds = {"f": "float32", "d": "float64"}
    inputs = [f"{kinds[letter]} in{n}" for n, letter in enumerate(letters)]
    operation = f"out = {name}({', '.join(f'in{n}' for n in range(len(letters)))})"
    preamble = CELL.replace("__device__", "static __device__")
    return device.import_cupy().ElementwiseKernel(
        ", ".join(inputs), f"{kinds[letters[0]]} out", operation, f"{name}_by_cupy", preamble=preamble
    )


def layouts(shape: tuple[int, int]) -> dict[str, Callable[[Any], Any]]:
    """Views of a square array that is twice as wide and high."""
    rows, columns = shape
    return {
        "contiguous": lambda x: x[:rows, :].reshape(-1)[: rows * columns].reshape(shape),
        "every second": lambda x: x[:rows, : 2 * columns : 2],
        "transposed": lambda x: x[:columns, :rows].T,
        "one row": lambda x: x[:1, :columns],
        "unaligned": lambda x: x.reshape(-1)[1 : 1 + rows * columns].reshape(shape),
    }


def contiguous(build: Any, by_hand: Any, most: int) -> list[dict[str, Any]]:
    """Each function on arrays without steps, of each size."""
    module = device.import_cupy()
    rows = []
    for name, (letters, (low, high)) in FUNCTIONS.items():
        ours, theirs, plain = build[name], elementwise(name), by_hand.get_function(f"{name}_kernel")
        for size in sorted({min(n, most) for n in SIZES}):
            inputs = [(low + (high - low) * module.random.random(size)).astype(letter) for letter in letters]
            out, other = (module.zeros(size, letters[0]) for _ in range(2))
            grid = (-(-size // 256),)
            calls = {
                "ours": lambda: ours(*inputs, out=out),  # noqa: B023
                "ElementwiseKernel": lambda: theirs(*inputs, other),  # noqa: B023
                "by hand": lambda: plain(grid, (256,), (*inputs, other, np.int64(size))),  # noqa: B023
            }
            if torch := _torch():
                x = [torch.from_dlpack(v) for v in inputs]
                if name == "mul":
                    calls["torch"] = lambda: torch.mul(x[0], x[1])  # noqa: B023
                elif name == "gelu":
                    calls["torch"] = lambda: torch.nn.functional.gelu(x[0])  # noqa: B023
            row = {"function": name, "elements": size, "layout": "contiguous", "seconds": in_turns(calls)}
            worst = float(module.abs(out - other).max() / module.abs(other).max())
            moved = sum(v.nbytes for v in (*inputs, out))
            rows.append(row | {"bytes": moved, "differs by": worst})
            print(row)
    return rows


def strided(build: Any, most: int) -> list[dict[str, Any]]:
    """A product of arrays with steps."""
    module = device.import_cupy()
    side = int(min(most, 25_000_000) ** 0.5) // 4 * 4
    shape, mul, theirs = (side, side), build["mul"], elementwise("mul")
    rows: list[dict[str, Any]] = []
    x = module.random.random((2 * side, 2 * side), dtype="f4")
    y = module.random.random(shape, dtype="f4")
    for layout, view in layouts(shape).items():
        a, out, other = view(x), module.zeros(shape, "f4"), module.zeros(shape, "f4")
        calls = {"ours": lambda: mul(a, y, out=out), "ElementwiseKernel": lambda: theirs(a, y, other)}  # noqa: B023
        seconds = in_turns(calls)
        assert (out == other).all(), layout
        rows.append({"function": "mul", "elements": y.size, "layout": layout, "seconds": seconds})
        print(rows[-1])
    return rows


def sums(build: Any, most: int) -> list[dict[str, Any]]:
    """Reductions along each axis."""
    module, add = device.import_cupy(), build["add"]
    side = int(min(most, 100_000_000) ** 0.5)
    rows: list[dict[str, Any]] = []
    for shape, axis in (((side * side,), 0), ((side, side), 0), ((side, side), 1), ((side * side // 8, 8), 1)):
        x = module.random.random(shape, dtype="f4")
        calls = {"ours": lambda: add.reduce(x, axis=axis), "CuPy": lambda: module.add.reduce(x, axis=axis)}  # noqa: B023
        if torch := _torch():
            lent = torch.from_dlpack(x)
            calls["torch"] = lambda: torch.sum(lent, axis)  # noqa: B023
        module.testing.assert_allclose(calls["ours"](), calls["CuPy"](), rtol=1e-4)
        rows.append({"function": f"sum along {axis} of {shape}", "elements": x.size, "seconds": in_turns(calls)})
        print(rows[-1])
    return rows


def calls_on_the_host(build: Any, by_hand: Any) -> Timed:
    """Microseconds that a call on 100 elements takes of this process."""
    module = device.import_cupy()
    x, out = (module.ones(100, "f4") for _ in range(2))
    mul, theirs, plain = build["mul"], elementwise("mul"), by_hand.get_function("mul_kernel")
    calls: dict[str, Callable[[], Any]] = {
        "ours, out=": lambda: mul(x, x, out=out),
        "ours": lambda: mul(x, x),
        "ElementwiseKernel, out": lambda: theirs(x, x, out),
        "cupy.multiply": lambda: module.multiply(x, x),
        "by hand": lambda: plain((1,), (256,), (x, x, out, np.int64(100))),
    }
    if torch := _torch():
        lent = torch.ones(100, device="cuda")
        calls |= {"ours, torch's tensors": lambda: mul(lent, lent), "torch.mul": lambda: torch.mul(lent, lent)}
    found = {name: [] for name in calls}  # type: dict[str, list[float]]
    for _ in range(7):
        for name, call in calls.items():
            call()
            device.wait(for_all=True)
            start = time.perf_counter()
            for _ in range(500):
                call()
            found[name].append((time.perf_counter() - start) / 500)
            device.wait(for_all=True)
    return {name: statistics.median(values) * 1e6 for name, values in found.items()}


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def table(result: dict[str, Any]) -> str:
    """The part of docs/cuda.md."""
    others = "ElementwiseKernel", "by hand", "torch"
    lines = [
        f"| function | elements | layout | {' | '.join(f'ours / {o}' for o in others)} | of a copy's bandwidth |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["elementwise"]:
        took = row["seconds"]
        cells = [f"`{row['function']}`", f"{row['elements']:,}", row["layout"]]
        cells += [f"{took['ours'] / took[other]:.2f}" if other in took else "" for other in others]
        # Smaller arrays stay in the card's cache.
        large = row.get("bytes", 0) > 5e8
        cells.append(f"{row['bytes'] / took['ours'] / result['copy bytes per second']:.0%}" if large else "")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| sum | ours / CuPy | ours / torch |", "|---|---|---|"]
    for row in result["sums"]:
        took = row["seconds"]
        ratios = [f"{took['ours'] / took[o]:.2f}" if o in took else "" for o in ("CuPy", "torch")]
        lines.append(f"| {row['function']} | {' | '.join(ratios)} |")
    lines += ["", "| a call on 100 elements | microseconds of the host |", "|---|---|"]
    lines += [f"| {name} | {took:.1f} |" for name, took in result["host microseconds"].items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--elements", type=float, default=1e9)
    options = parser.parse_args()
    if why := device.explain_missing():
        raise SystemExit(f"this needs a GPU: {why}")
    most = int(options.elements)
    build = um.compile_cuda(CELL, device="gpu", name="gpu_kernels")
    by_hand = device.import_cupy().RawModule(code=CELL + BY_HAND, options=("-std=c++17",))
    result = {
        "machine": device.describe_versions() | {"host": describe()},
        "copy bytes per second": device.copy_bandwidth(),
        "elementwise": contiguous(build, by_hand, most) + strided(build, most),
        "sums": sums(build, most),
        "host microseconds": calls_on_the_host(build, by_hand),
    }
    print(table(result))
    if most >= max(SIZES):
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
        write_table()


def write_table() -> None:
    """Put the table into docs/cuda.md."""
    page, text = PAGE.read_text(encoding="utf-8"), table(json.loads(RESULTS.read_text()))
    begin, end = "<!-- gpu: benchmarks/gpu_kernels.py -->\n", "<!-- end gpu -->\n"
    at, stop = page.index(begin) + len(begin), page.index(end)
    PAGE.write_text(page[:at] + text + page[stop:], encoding="utf-8")


if __name__ == "__main__":
    main()
