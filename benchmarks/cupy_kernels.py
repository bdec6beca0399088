"""CuPy's own kernels through the emulation, or on a GPU, against NumPy and SciPy.

    python benchmarks/cupy_kernels.py                 all, some minutes
    python benchmarks/cupy_kernels.py --only gamma    those whose name has it
    python benchmarks/cupy_kernels.py --device gpu    on this machine's GPU

Needs CuPy, which imports without a GPU, and SciPy.  Each of CuPy's ufuncs that NumPy or SciPy has by the same
name becomes a cell: its preamble and a kernel for each of a few of its types, around its operation, as CuPy writes one.
Nothing of CuPy's is kept.  The result goes to benchmarks/results/cupy_kernels.json, of a GPU cupy_kernels_gpu.json, and
as a table to docs/cuda.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from pycuda_suite import results, write_table

import ufunc_magic as um
from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.model import UfuncMagicError

#: Types of the first input that are tried.
TYPES = "?", "q", "e", "f", "d", "D"
_C = {
    "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short", "i": "int",
    "I": "unsigned int", "l": "long", "L": "unsigned long", "q": "long long", "Q": "unsigned long long",
    "e": "float16", "f": "float", "d": "double", "F": "complex<float>", "D": "complex<double>",
}  # fmt: skip
#: Relative errors that count as rounding: series of CuPy's run in `float`, where SciPy's run in `double`.
_WITHIN = {"e": 4e-3, "f": 5e-4, "F": 5e-4, "d": 1e-9, "D": 1e-9}

#: What is refused, and rightly.
_RIGHT = "need a GPU", "lanes of a warp", "is for the GPU alone", "NVRTC alone"
#: As in the sources that CuPy generates.
_HEAD = "".join(f"#include <{word}>\n" for word in (
    "cupy/complex.cuh", "cupy/carray.cuh", "cupy/float16.cuh", "cupy/atomics.cuh", "math_constants.h"))  # fmt: skip


def ufuncs() -> dict[str, tuple[Any, Any]]:
    """CuPy's and NumPy's ufuncs by name."""
    import cupy
    import cupyx.scipy.special
    import scipy.special
    from cupy._core._kernel import ufunc

    result = {}
    for room, other in (cupy, np), (cupyx.scipy.special, scipy.special):
        for name in dir(room):
            theirs = getattr(other, name, None)
            if isinstance(getattr(room, name), ufunc) and callable(theirs):
                result[f"{room.__name__}.{name}"] = getattr(room, name), theirs
    return result


def folders() -> list[str]:
    """Of CuPy's headers."""
    import cupy

    return [str(Path(cupy.__file__).parent / "_core" / "include")]


def kernel(number: int, op: Any) -> str:
    """One operation as a kernel."""
    inputs, outputs = ([_C[t.char] for t in types] for types in (op.in_types, op.out_types))
    places = [(f"in{n}", kind) for n, kind in enumerate(inputs)] + [(f"out{n}", kind) for n, kind in enumerate(outputs)]
    parameters = [f"{'const ' * name.startswith('in')}{kind} *__{name}" for name, kind in places]
    types = " ".join(f"typedef {kind} {name}_type;" for name, kind in places)
    body = [f"const in{n}_type in{n}(__in{n}[i]);" for n in range(len(inputs))]
    body += [f"out{n}_type out{n};" for n in range(len(outputs))]
    body += [op.routine + ";", *(f"__out{n}[i] = out{n};" for n in range(len(outputs)))]
    head = f'extern "C" __global__ void k{number}({", ".join(parameters)}, int __n)'
    return (
        f"{head} {{ {types}\nint i = blockIdx.x * blockDim.x + threadIdx.x; if (i < __n) {{\n"
        + "\n".join(body)
        + "\n}}"
    )


def values(dtype: np.dtype[Any], which: int) -> np.ndarray[Any, Any]:
    """Inputs: small and large, of both signs."""
    random = np.random.default_rng(which)
    if dtype.kind == "b":
        return random.integers(0, 2, 60).astype(dtype)
    if dtype.kind in "iu":
        return np.arange(1, 61).astype(dtype) if which else random.integers(1, 60, 60).astype(dtype)
    x = np.concatenate([random.uniform(0.05, 0.95, 30), random.uniform(1.1, 6, 20), -random.uniform(0.1, 4, 10)])
    return (x + (1j * random.uniform(-2, 2, 60) if dtype.kind == "c" else 0)).astype(dtype)


def agree(result: Any, expected: Any, char: str) -> str:
    """``""`` or by how much they differ."""
    if result.dtype.kind in "biu":
        same = np.asarray(expected).astype(result.dtype) == result
        return "" if same.all() else f"{(~same).sum()} of {same.size} differ"
    with np.errstate(over="ignore"):
        expected = np.asarray(expected).astype(result.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(result - expected) / np.maximum(np.abs(expected), 1e-2)
    error[(result == expected) | (np.isnan(result) & np.isnan(expected))] = 0
    worst = float(np.nanmax(error)) if not np.isnan(error).any() else np.inf
    return "" if worst <= _WITHIN[char] else f"off by {worst:.2g} at {int(np.argmax(np.nan_to_num(error, nan=9e9)))}"


def nvrtc_refuses(text: str) -> str:
    """What NVIDIA's own compiler says against the cell; CuPy compiles an operation when it is first called."""
    options = [f"-I{folder}" for folder in folders()]
    try:
        nvrtc.compile(text, name="cell", options=["-DCUPY_USE_JITIFY=0", *options])
    except UfuncMagicError as fault:
        return str(fault)
    return ""


def row(name: str, device: str) -> list[dict[str, str]]:
    """What becomes of the kernels of one ufunc."""
    warnings.simplefilter("ignore")
    ours, theirs = ufuncs()[name]
    ops: dict[str, Any] = {}
    for op in ours._ops.ops:
        if op.routine and op.in_types and op.in_types[0].char in TYPES:
            ops.setdefault(op.in_types[0].char, op)
    text = _HEAD + ours._preamble + "\n"
    rows, builds = [], []
    try:
        whole = _compiled(text + "\n".join(kernel(n, op) for n, op in enumerate(ops.values())), device)
        builds = [whole] * len(ops)
    except UfuncMagicError:
        builds = [None] * len(ops)
    for n, (op, build) in enumerate(zip(ops.values(), builds, strict=True)):
        one = {
            "name": name,
            "types": f"{''.join(t.char for t in op.in_types)}->{''.join(t.char for t in op.out_types)}",
        }
        if build is None:
            try:
                build = _compiled(text + kernel(n, op), device)
            except UfuncMagicError as fault:
                if why := nvrtc_refuses(text + kernel(n, op)):
                    rows.append(one | {"state": "no CUDA", "why": why})
                else:
                    right = any(word in str(fault) for word in _RIGHT)
                    rows.append(one | {"state": "refused" if right else "wrongly refused", "why": str(fault)})
                continue
        inputs = [values(t, k) for k, t in enumerate(op.in_types)]
        outputs = [np.zeros(60, t) for t in op.out_types]
        try:
            build[f"k{n}"][2, 32](*inputs, *outputs, 60)
        except (UfuncMagicError, OverflowError) as fault:
            rows.append(one | {"state": "wrongly refused", "why": str(fault)})
            continue
        try:
            with np.errstate(all="ignore"):
                # In no half precision: CuPy's operations compute in float where NumPy's do not.
                expected = theirs(*(x.astype("f4") if x.dtype == "e" else x for x in inputs))
        except (TypeError, ValueError) as fault:
            rows.append(one | {"state": "not compared", "why": f"{theirs}: {fault}"})
            continue
        expected = expected if isinstance(expected, tuple) else (expected,)
        coarsest = max((t.char for t in (*op.in_types, *op.out_types)), key=lambda char: _WITHIN.get(char, 0))
        faults = [agree(r, e, coarsest) for r, e in zip(outputs, expected, strict=False)]
        rows.append(one | {"state": "wrong" if any(faults) else "agrees", "why": "; ".join(filter(None, faults))})
    return rows


def _compiled(text: str, device: Any) -> Any:
    return um.compile_cuda(text, device=device, include=folders(), compile_args=("-DCUPY_USE_JITIFY=0",))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names = [name for name in ufuncs() if options.only in name]
    # A process that was forked cannot use the GPU of its parent's.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = [one for each in pool.map(functools.partial(row, device=options.device), names) for one in each]
    states: dict[str, int] = {}
    for one in rows:
        states[one["state"]] = states.get(one["state"], 0) + 1
        if one["state"] != "agrees":
            print(one["state"], one["name"], one["types"], one["why"][:600], sep=" | ")
    print(states)
    if not options.only:
        # Where packages are installed here says nothing to others.
        others = [
            one | {"why": re.sub(r"\S*/(?=site-packages/)", "", one["why"])[:400]}
            for one in rows
            if one["state"] != "agrees"
        ]
        version = f"CuPy {metadata.version('cupy-cuda13x')}"
        results("cupy_kernels", options.device).write_text(
            json.dumps({"version": version, "states": states, "others": others}, indent=1) + "\n"
        )
        write_table()


if __name__ == "__main__":
    main()
