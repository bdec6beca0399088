"""What each step of a new C cell costs, beside bare gcc on the formula and a loop.

    python benchmarks/compile_steps.py [ROUNDS]      about half a minute for 15 rounds

Everything is measured in turns in this one run, as wall time and as processor time of all processes together; the
least and the median of the rounds, in milliseconds.  The result goes to benchmarks/results/compile_steps.json.
"""

from __future__ import annotations

import _ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-steps-")

import machine

import ufunc_magic as um
from ufunc_magic.compilers import toolchain

RESULTS = Path(__file__).parent / "results" / "compile_steps.json"
FOLDER = Path(tempfile.mkdtemp(prefix="ufunc-magic-steps-files-"))
CELL = "#include <math.h>\ndouble logit(double p) {{ return log(p / (1 - p)) + {0}; }}\n"
CPLUS = """
#include <vector>
double last(double x) {{ std::vector<double> v(3, x + {0}); return v.at(2); }}
"""
LOOP = """
void loop(double *restrict out, const double *restrict x, long n) { for (long i = 0; i < n; ++i) out[i] = logit(x[i]); }
"""
BARE = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-x", "c", "-", "-o", str(FOLDER / "bare.so"), "-lm"]

#: Step -> (wall, processor) of each round, in ms.
_times: dict[str, list[tuple[float, float]]] = {}


def _processor() -> float:
    """Seconds that this process and the children it has waited for have computed."""
    return sum(
        u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


@contextmanager
def _step(name: str) -> Iterator[None]:
    wall, processor = time.perf_counter(), _processor()
    yield
    took = (time.perf_counter() - wall) * 1e3, (_processor() - processor) * 1e3
    _times.setdefault(name, []).append(took)


def _run(command: list[str], text: str = "") -> None:
    subprocess.run(command, input=text.encode(), check=True, capture_output=True)


class _TimedProcess(subprocess.Popen[bytes]):
    """A process of a new cell."""

    of = "new cell"

    def communicate(self, *arguments: Any, **keywords: Any) -> tuple[bytes, bytes]:
        """Wait for it, timed: it has just been started."""
        with _step(f"{self.of}: {Path(self.args[0]).name}"):
            return super().communicate(*arguments, **keywords)


class _TimedProcessOfCplus(_TimedProcess):
    of = "new C++ cell"


def _watched() -> dict[str, Any]:
    """What is known of the last unit, kept up to date."""
    last: dict[str, Any] = {}
    real = toolchain.compile_shared

    def compile_shared(tool: Any, source: str, **keywords: Any) -> Any:
        last.update(keywords, tool=tool, source=source)
        last["objects"] = [Path(path).read_bytes() for path in keywords.get("extra_sources", ())]
        result = real(tool, source, **keywords)
        last["code"] = keywords["output"].read_bytes()
        return result

    toolchain.compile_shared = compile_shared
    return last


def main(rounds: int) -> None:
    """Measure and write."""
    um.compile_c(CELL.format(-1))  # compiles the driver, loads tree-sitter
    unit = _watched()
    um.compile_c(CELL.format(-2))
    driver, unit_file, assembly, objects = (FOLDER / name for name in ("driver.o", "unit.c", "unit.s", "unit.o"))
    driver.write_bytes(unit["objects"][0])
    unit_file.write_text(unit["source"])
    gcc = list(unit["tool"].command)
    flags = [flag for flag in unit["flags"] if flag != "-shared"]
    source = ["-x", "c", "-"]
    for n in range(rounds):
        with _step("bare gcc"):
            _run(BARE, CELL.format(n) + LOOP)
        with mock.patch.object(subprocess, "Popen", _TimedProcess), _step("new cell"):
            um.compile_c(CELL.format(n))
        # What gcc does with the unit, each step holding the ones before it.
        with _step("unit: gcc starts"):
            _run([*gcc, *flags, "-fsyntax-only", *source])
        with _step("unit: and reads <math.h>"):
            _run([*gcc, *flags, "-fsyntax-only", *source], "#include <math.h>\n")
        with _step("unit: and reads the unit"):
            _run([*gcc, *flags, "-fsyntax-only", *source], unit["source"])
        with _step("unit: and optimizes it"):
            _run([*gcc, *flags, "-S", *source, "-o", str(assembly)], unit["source"])
        with _step("unit: and optimizes it for every CPU"):
            portable = [flag for flag in flags if not flag.startswith("-D__UFM_LEVEL")]
            _run([*gcc, *portable, "-S", *source, "-o", str(FOLDER / "portable.s")], unit["source"])
        with _step("unit: assembling alone"):
            _run([*gcc, "-c", str(assembly), "-o", str(objects)])
        with _step("unit: linking alone, by gcc"):
            _run([*gcc, *unit["flags"], str(objects), str(driver), "-o", str(FOLDER / "cell.so"), *unit["link"]])
        for who, code in (("we link", unit["code"]), ("gcc links", (FOLDER / "cell.so").read_bytes())):
            files = _files(code)
            with _step(f"opened fifty times: as {who} it"):
                for file in files:
                    _ctypes.dlclose(_ctypes.dlopen(file, os.RTLD_NOW))
    pairs = zip(_times["new cell"], _times["bare gcc"], strict=True)
    ratios = zip(*((ours[0] / bare[0], ours[1] / bare[1]) for ours, bare in pairs), strict=True)
    sizes = {"as we link it": len(unit["code"]), "as gcc links it": (FOLDER / "cell.so").stat().st_size}
    _time_cplus(unit, driver, rounds)
    result = {
        "machine": machine.describe("ufunc_magic"),
        "rounds": rounds,
        "unit": "ms; wall, and processor time of all processes",
        "steps": {name: _summary(times, rounds) for name, times in _times.items()},
        "new cell / bare gcc": dict(zip(("wall", "processor"), map(statistics.median, ratios), strict=True)),
        "bytes": sizes,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    for name, row in result["steps"].items():
        print(f"{name:32s}" + "".join(f"  {key} {value:7.2f}" for key, value in row.items()))
    print(result["new cell / bare gcc"], result["bytes"])


def _time_cplus(unit: dict[str, Any], driver: Path, rounds: int) -> None:
    """The same of a C++ cell, whose library is larger."""
    um.compile_c(CPLUS.format(-1), cplus=True)
    objects = FOLDER / "unit.o"
    command = [*unit["tool"].command, *unit["flags"]]
    _run([*(f for f in command if f != "-shared"), "-c", "-x", "c++", "-", "-o", str(objects)], unit["source"])
    driver.write_bytes(unit["objects"][0])
    for n in range(rounds):
        with mock.patch.object(subprocess, "Popen", _TimedProcessOfCplus), _step("new C++ cell"):
            um.compile_c(CPLUS.format(n), cplus=True)
        with _step("C++ unit: linking alone, by g++"):
            _run([*command, str(objects), str(driver), "-o", str(FOLDER / "cell.so"), *unit["link"]])


def _files(code: bytes) -> list[str]:
    """Fifty files, since one that is open is not opened again."""
    files = [FOLDER / f"opened{n}.so" for n in range(50)]
    for path in files:
        path.write_bytes(code)
    return list(map(str, files))


def _summary(times: list[tuple[float, float]], rounds: int) -> dict[str, float]:
    # A program that a cell starts twice counts twice.
    each = len(times) // rounds or 1
    times = [tuple(map(sum, zip(*times[n : n + each], strict=True))) for n in range(0, len(times), each)]
    wall, processor = zip(*times, strict=True)
    rows = {"wall": wall, "processor": processor}
    return {
        f"{what}, {of.__name__}": round(of(row), 2) for what, row in rows.items() for of in (min, statistics.median)
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
