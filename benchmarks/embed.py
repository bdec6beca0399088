"""What a call from a C++ program costs over the same call in Python, with an image of 1 MiB.

    python benchmarks/embed.py

A C++ program holds a Python function that does nothing, and one that adds 1 to the image in place.  The time that
Python needs for the same call with an array over the same memory, which it has already, is measured in the same
process, in many short turns with the program's calls.  Figures are the best turn of each, which other work on the
machine disturbs least.  The result goes to benchmarks/results/embed.json.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import machine

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "embed.json"

PROGRAM = r"""
#include <ufunc_magic/embed.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
namespace um = ufunc_magic;

static const char *const source = R"(
import time
import numpy as np
def nothing(image): pass
def plus(image): image += 1
def timed(f, image, count):
    start = time.perf_counter()
    for _ in range(count): f(image)
    return (time.perf_counter() - start) / count * 1e6
)";

template <class Act> double microseconds(int count, Act act)
{
    const auto start = std::chrono::steady_clock::now();
    for (int n = 0; n < count; ++n) act();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / count;
}

static double best(const std::vector<double> &values) { return *std::min_element(values.begin(), values.end()); }

static void row(const char *name, const um::object &f, const um::object &timed, int count)
{
    std::vector<float> image(512 * 512);
    const auto given = [&] { return um::host(image.data(), {512, 512}); };
    std::vector<double> in_python, in_cpp;
    for (int turn = 0; turn < 200; ++turn) {
        in_python.push_back(timed(f, given(), count).as<double>());
        in_cpp.push_back(microseconds(count, [&] { f(given()); }));
    }
    std::printf("\"%s\": {\"python\": %.3f, \"cpp\": %.3f, \"over\": %.3f},\n", name, best(in_python), best(in_cpp),
                best(in_cpp) - best(in_python));
}

int main()
{
    um::start_options options;
    options.executable = PYTHON_EXECUTABLE;
    const um::interpreter python(options);
    const um::object names = um::run(source), timed = names["timed"], nothing = names["nothing"], plus = names["plus"];
    std::printf("{");
    row("a function that does nothing", nothing, timed, 1000);
    row("image += 1", plus, timed, 100);
    std::thread([&] {
        const um::attached here;
        row("the first, in an attached thread", nothing, timed, 1000);
    }).join();
    std::thread([&] { row("the first, in a thread that is not attached", nothing, timed, 1000); }).join();
    std::vector<float> image(512 * 512);
    const um::object array = um::as_object(um::host(image.data(), {512, 512}));
    std::vector<double> there, back;
    for (int turn = 0; turn < 200; ++turn) {
        there.push_back(microseconds(1000, [&] { um::as_object(um::host(image.data(), {512, 512})); }));
        back.push_back(microseconds(1000, [&] { array.host<float>(); }));
    }
    std::printf("\"pointer to array\": %.3f, \"array to pointer\": %.3f}\n", best(there), best(back));
}
"""


def build(folder: Path) -> Path:
    """The program, linked with the libpython of this Python."""
    (folder / "embed.cpp").write_text(PROGRAM)
    where = sysconfig.get_config_var("LIBDIR")
    library = Path(where, sysconfig.get_config_var("LDLIBRARY"))
    headers = [f"-I{ROOT / 'ufunc_magic' / 'include'}", "-isystem", sysconfig.get_path("include")]
    compiler = [shutil.which("g++") or "c++", "-std=c++17", "-O2", f'-DPYTHON_EXECUTABLE="{sys.executable}"']
    files = [str(folder / "embed.cpp"), "-o", str(folder / "embed"), str(library), f"-Wl,-rpath,{where}"]
    subprocess.run([*compiler, *headers, *files, "-rdynamic", "-pthread", "-ldl", "-lm"], check=True)
    return folder / "embed"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        said = subprocess.run([program], capture_output=True, text=True, check=True, env={**os.environ}).stdout
    result = {"machine": machine.describe(), "microseconds": json.loads(said)}
    for name, row in result["microseconds"].items():
        print(f"{name:45}", row)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
