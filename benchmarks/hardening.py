"""Times of functions with and without the options of gcc that find overruns and unset variables.

    python benchmarks/hardening.py

Each function is compiled once for each option, and called over 4,096 numbers, in turns.  Ratios are those of the
shortest of 200 times.  The result goes to benchmarks/results/hardening.json.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

RESULTS = Path(__file__).parent / "results" / "hardening.json"
ROUNDS = 200
BASE = (
    *"-O3 -fPIC -shared -fno-semantic-interposition -fstack-clash-protection -fno-math-errno".split(),
    "-fno-trapping-math",
    "-w",
)
OPTIONS = {
    "-fstack-protector-strong": ("-fstack-protector-strong",),
    "-D_FORTIFY_SOURCE=3": ("-D_FORTIFY_SOURCE=3",),
    "-D_GLIBCXX_ASSERTIONS": ("-D_GLIBCXX_ASSERTIONS",),
    "-ftrivial-auto-var-init=zero": ("-ftrivial-auto-var-init=zero",),
    "-fno-aggressive-loop-optimizations": ("-fno-aggressive-loop-optimizations",),
}
HEAD = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 4096 };
double X[N], Y[N];
"""
#: Kind of function -> its body, of x.
C = {
    "two results by pointers": "double s, c; sincos(x, &s, &c); return s * c;",
    "modf": "double whole; return modf(x, &whole) + whole;",
    "a table of constants": "static const double c[6] = {1, .5, .3, .2, .1, .05}; double r = 0;"
    "for (int i = 0; i < 6; i++) r = r * x + c[i]; return r;",
    "bits by memcpy": "unsigned long u; memcpy(&u, &x, 8); u ^= u >> 12; memcpy(&x, &u, 8); return x;",
    "a matrix of 3 by 3": "double m[3][3] = {{x, 1, 2}, {3, x, 4}, {5, 6, x}};"
    "return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]);",
    "a product of matrices": "double a[4][4], b[4][4], t = 0; for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++)"
    "{ a[i][j] = x + i; b[i][j] = x - j; } for (int k = 0; k < 4; k++) t += a[1][k] * b[k][2]; return t;",
    "a median of five": "double b[5] = {x, x * x, 1 - x, x + .3, .5}; for (int i = 1; i < 5; i++) { double v = b[i];"
    "int j = i; while (j > 0 && b[j - 1] > v) { b[j] = b[j - 1]; j--; } b[j] = v; } return b[2];",
    "a histogram": "int h[16] = {0}, m = 0; for (int i = 0; i < 16; i++) h[(int)(x * i) & 15]++;"
    "for (int i = 0; i < 16; i++) m = h[i] > m ? h[i] : m; return m;",
    "an array of 64, partly used": "double b[64], t = 0; int n = (int)(x * 60); for (int i = 0; i < n; i++)"
    "b[i] = x * i; for (int i = 0; i < n; i++) t += b[i] * b[n - 1 - i]; return t;",
    "a sieve": "char s[128]; memset(s, 1, sizeof s); int c = 0; for (int i = 2; i < 100; i++) if (s[i])"
    "{ c++; for (int j = 2 * i; j < 100; j += i) s[j] = 0; } return c + x;",
    "snprintf": 'char s[32]; snprintf(s, 32, "%d", (int)(x * 1000)); return s[0];',
}
#: The same for a function that is called for each number.
CALLED = {
    "an array of 4, called": "double b[4]; for (int i = 0; i < 4; i++) b[(i + (int)x) & 3] = x + i; return b[1];",
    "an array of 512, called": "double b[512]; b[(int)(x * 10) & 511] = x; return b[(int)(x * 10) & 511];",
}
CPLUS_HEAD = "#include <algorithm>\n#include <array>\n#include <span>\n#include <string>\n#include <vector>\n"
#: Kind of loop -> a statement that fills Y from X.
CPLUS = {
    "a sum of a vector": "std::vector<double> v(X, X + N); double t = 0;"
    "for (size_t i = 0; i < v.size(); i++) t += v[i]; Y[0] = t;",
    "a vector, filled by index": "std::vector<double> v(N); for (int i = 0; i < N; i++) v[i] = X[i] * 2 + 1;"
    "std::copy(v.begin(), v.end(), Y);",
    "a span": "std::span<const double> s(X, N); for (int i = 0; i < (int)s.size(); i++) Y[i] = s[i] * 2 + 1;",
    "arrays of 4": "for (int i = 0; i < N; i++) { std::array<double, 4> a{X[i], 1, 2, 3}; double t = 0;"
    "for (int j = 0; j < 4; j++) t += a[j] * a[3 - j]; Y[i] = t; }",
    "a matrix by a vector": "static std::vector<double> m(64 * 64, 1.0), v(64, 2.0), r(64);"
    "for (int i = 0; i < 64; i++) { double t = 0; for (int j = 0; j < 64; j++) t += m[i * 64 + j] * v[j]; r[i] = t; }"
    "Y[0] = r[3];",
    "a distance of two texts": "std::vector<int> d(256), e(256);"
    "for (int i = 1; i < 256; i++) { for (int j = 1; j < 256; j++)"
    "e[j] = std::min({d[j] + 1, e[j - 1] + 1, d[j - 1] + (X[i] < X[j])}); std::swap(d, e); } Y[0] = d[255];",
    "a sort": "std::vector<double> v(X, X + 256); for (int i = 0; i < 256; i++) v[i] = fmod(v[i] * 7919, 1);"
    "std::sort(v.begin(), v.end()); Y[0] = v[v.size() / 2];",
    "a string": 'std::string s("abcdefgh"); double t = 0; for (size_t i = 0; i < s.size(); i++) t += s[i]; Y[0] = t;',
}


def write_source(*, cplus: bool) -> tuple[str, dict[str, str]]:
    """The text of a library, and the name in it of each kind."""
    loop = "for (int i = 0; i < N; i++) Y[i] = {0}(X[i]);"
    parts, names = [CPLUS_HEAD * cplus + HEAD], {}
    for number, (kind, text) in enumerate((CPLUS if cplus else {**C, **CALLED}).items()):
        name = names[kind] = f"kind{number}"
        linkage = 'extern "C" ' if cplus else ""
        if not cplus:
            apart = "__attribute__((noinline)) " if kind in CALLED else ""
            parts.append(f"{apart}static double of_{name}(double x) {{ {text} }}")
            text = loop.format(f"of_{name}")
        parts.append(f"{linkage}__attribute__((noinline)) void {name}(void) {{ {text} }}")
    begin = 'extern "C" ' if cplus else ""
    parts.append(f"{begin}void begin(void) {{ for (int i = 0; i < N; i++) X[i] = (i + 1) / (double)N; }}")
    return "\n".join(parts), names


def measure(folder: Path, *, cplus: bool) -> dict[str, dict[str, float]]:
    """For each kind the nanoseconds of a call without an option, and the ratio with each."""
    source, names = write_source(cplus=cplus)
    path = folder / ("kinds.cpp" if cplus else "kinds.c")
    path.write_text(source)
    compiler = ("g++", "-std=gnu++20") if cplus else ("gcc", "-std=gnu17", "-D_GNU_SOURCE")
    libraries: dict[str, ctypes.CDLL] = {}
    for number, (option, words) in enumerate({"": (), **OPTIONS}.items()):
        library = folder / f"{path.name}.{number}.so"
        subprocess.run([*compiler, *BASE, *words, str(path), "-o", str(library), "-lm"], check=True)
        libraries[option] = ctypes.CDLL(str(library))
        libraries[option].begin()
    rows = {}
    for kind, name in names.items():
        shortest = dict.fromkeys(libraries, float("inf"))
        for _ in range(ROUNDS):
            for option, library in libraries.items():
                function = getattr(library, name)
                start = time.process_time_ns()
                function()
                function()
                shortest[option] = min(shortest[option], (time.process_time_ns() - start) / 2)
        rows[kind] = {"ns": shortest[""], **{o: round(shortest[o] / shortest[""], 3) for o in OPTIONS}}
        print(f"{kind:30s} {shortest['']:10.0f} ns ", *(f"{rows[kind][o]:6.3f}" for o in OPTIONS))
    return rows


def main() -> int:
    print(" " * 45, *OPTIONS)
    with tempfile.TemporaryDirectory() as name:
        rows = {"C": measure(Path(name), cplus=False), "C++": measure(Path(name), cplus=True)}
    RESULTS.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
