"""C functions written as Python, against the same C compiled by gcc."""

# ruff: noqa: E501 - a C text reads best on one line

from __future__ import annotations

import ast
import cmath
import ctypes
import itertools
import math
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

import ufunc_magic as um
from ufunc_magic import forms
from ufunc_magic.forms import NotPython, PythonForm, make_namespace, round_at_random
from ufunc_magic.forms.value import walk
from ufunc_magic.ir import FunctionCall, Program, walk as walk_ir
from ufunc_magic.languages.c import lower, parse_cell
from ufunc_magic.model import Function, Operand, Signature, Unit

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="compares with gcc")

CTYPES = {"d": ctypes.c_double, "f": ctypes.c_float, "i": ctypes.c_int, "I": ctypes.c_uint, "q": ctypes.c_int64,
          "Q": ctypes.c_uint64, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16, "?": ctypes.c_bool}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A C text and its interface.

    ``spec`` has one word per C parameter and the return type after ``->``: ``d`` an input, ``*d`` an output, ``+d`` both,
    ``d[n]`` ``d[3]`` ``>d[n]`` ``+d[n]`` arrays, ``n`` alone the size of that dimension, ``v`` no return value.
    """

    name: str
    spec: str
    c: str
    domain: str = ""

    @property
    def words(self) -> list[str]:
        return self.spec.split("->")[0].split()

    @property
    def returns(self) -> str:
        return self.spec.split("->")[1].strip()


def signature_of(case: Case) -> Signature:
    declared = re.search(rf"\b{case.name}\s*\(([^)]*)\)\s*(?:->[^{{]*)?\{{", case.c)
    names = [re.sub(r"\[.*", "", p).split()[-1].lstrip("*&") for p in declared[1].split(",")] if declared and declared[1].strip() != "void" else []  # fmt: skip
    inputs, outputs, sizes = [], [], {}
    if case.returns != "v":
        outputs.append(Operand("out", "output", case.returns, -1))
    for index, (name, word) in enumerate(zip(names, case.words, strict=True)):
        match = re.fullmatch(r"([*>+]?)(\w|\?)((?:\[\w+\])*)", word)
        assert match, word
        mark, letter, brackets = match.groups()
        if letter not in CTYPES:
            sizes[index] = letter
            continue
        core = tuple(int(d) if d.isdigit() else d for d in re.findall(r"\[(\w+)\]", brackets))
        role = {"": "input", "*": "output", ">": "output", "+": "inout"}[mark]
        operand = Operand(name, role, letter, index, core, bool(mark or core))  # type: ignore[arg-type]
        if role != "output":
            inputs.append(operand)
        if role != "input":
            outputs.append(operand)
    core_text = "core" if any(o.core for o in (*inputs, *outputs)) else ""
    return Signature(case.name, Function(case.name, "", (), line=1), tuple(inputs), tuple(outputs), sizes, core_text)


def program(text: str, *, cplus: bool = False, types: dict[str, int] | None = None) -> Program:
    return lower(parse_cell(text, cplus=cplus)[1], types=types or {})


def write(case: Case, **options: Any) -> PythonForm | NotPython:
    unit = replace(parse_cell(case.c, cplus=options.get("cplus", False))[0], typedefs={})
    return forms.write(program(case.c, **options), signature=signature_of(case), unit=unit)


def written(case: Case, **options: Any) -> PythonForm:
    made = write(case, **options)
    assert isinstance(made, PythonForm), made
    return made


def function(made: PythonForm, kind: str) -> Callable[..., Any]:
    names = make_namespace(kind)  # type: ignore[arg-type]
    exec({"timing": made.source, "vector": made.vector}.get(kind, made.checked), names)
    return names[made.name]  # type: ignore[return-value]


def compiled_function(library: ctypes.CDLL, case: Case) -> Callable[..., Any]:
    """The C function with the calling convention of the Python one."""
    entry = library[case.name]
    entry.restype = None if case.returns == "v" else CTYPES[case.returns]
    signature = signature_of(case)

    def call(*values: Any) -> Any:
        given = iter(values)
        dims: dict[Any, int] = {}
        by_index = {o.index: next(given) for o in signature.inputs}
        for o in signature.inputs:
            dims |= dict(zip(o.core, np.shape(by_index[o.index]), strict=False)) if o.core else {}
        arguments: list[Any] = []
        results: dict[int, Any] = {}
        for index in range(len(case.words)):
            if index in signature.sizes:
                arguments.append(ctypes.c_int(dims[signature.sizes[index]]))
                continue
            o = next(o for o in (*signature.inputs, *signature.outputs) if o.index == index)
            if not o.core and not o.pointer:
                arguments.append(CTYPES[o.type](by_index[index]))
                continue
            dtype = np.dtype(CTYPES[o.type])
            shape = tuple(d if isinstance(d, int) else dims[d] for d in o.core)
            array = np.array(by_index[index], dtype) if index in by_index else np.zeros(shape, dtype)
            arguments.append(array.ctypes.data_as(ctypes.c_void_p))
            results[index] = array
        results[-1] = entry(*arguments)
        made = [results[o.index].tolist() if o.index >= 0 else results[-1] for o in signature.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    return call


def build(text: str, folder: Path) -> ctypes.CDLL:
    """gcc with the integer arithmetic that the written Python has: two's complement, no contraction."""
    source, library = folder / "cases.c", folder / "cases.so"
    source.write_text(text)
    command = [
        "gcc",
        "-O1",
        "-fwrapv",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-w",
        "-o",
        str(library),
        str(source),
        "-lm",
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


HEADERS = "#include <math.h>\n#include <float.h>\n#include <limits.h>\n#include <stdint.h>\n#include <stdbool.h>\n"

CASES = [
    Case("logit", "d -> d", "double logit(double a) { return a < 0.5 ? 4*a + exp(-a) : log(a); }"),
    Case("designated", "d d -> d", "double designated(double x, double y) { double t[5] = {[1] = x, y, [0] = 2, [4] = 1}; return t[0] + t[1]*t[2] + t[3] - t[4]; }"),
    Case("quotient", "d d -> d", "double quotient(double x, double y) { return x / y; }"),
    Case("halves", "d -> d", "double halves(double x) { double y = x; y /= 2; y -= 1; y *= 3; y += .5; return y; }"),
    Case("domain", "d d -> d", "double domain(double x, double y) { return sqrt(x) + log1p(y) + asin(x) * atanh(y); }"),
    Case("powers", "d d -> d", "double powers(double x, double y) { return pow(x, y) - pow(x, 2); }"),
    Case("overflow", "d -> d", "double overflow(double x) { return exp(x) - sinh(x) + cosh(x) + expm1(x); }"),
    Case("gammas", "d -> d", "double gammas(double x) { return tgamma(x) * 0.5 + erf(x); }"),
    Case("rounding", "d -> d", "double rounding(double x) { return floor(x) + 2*ceil(x) + 4*trunc(x) + 8*round(x) + 16*rint(x); }"),
    Case("extremes", "d d -> d", "double extremes(double x, double y) { return fmin(x, y) + 2*fmax(x, 3) + fabs(x); }"),
    Case("difference", "d d -> d", "double difference(double x, double y) { return fdim(y, x); }"),
    Case("predicates", "d -> i", "int predicates(double x) { return isnan(x) + 2*(isinf(x) != 0) + 4*(signbit(x) != 0) + 8*!x; }"),
    Case("remainder_of", "d d -> d", "double remainder_of(double x, double y) { return fmod(x, y) + copysign(1.0, x); }"),
    Case("hypotenuse", "d d -> d", "double hypotenuse(double x, double y) { const double r2 = x*x + y*y; return atan2(y, x) + sqrt(r2) + hypot(x, y); }"),
    Case("constants", "d -> d", "double constants(double x) { return x*M_PI + M_PI_2*x - M_SQRT2 + DBL_EPSILON*x + INT_MAX; }"),
    Case("branches", "d -> d", "double branches(double x)\n{\n    if (x < 0)\n        return -x;\n    else if (x < 1) {\n        double t = x*x;\n        return t;\n    }\n    return 1;\n}"),
    Case("clamp", "d d d -> d", "double clamp(double x, double lo, double hi) { if (x < lo) x = lo; if (x > hi) x = hi; return x; }"),
    Case("both", "d d -> d", "double both(double x, double y) { return (x > 0 && y > 0) || !(x < y) ? x : y; }"),
    Case("truth", "d d -> i", "int truth(double x, double y) { int a = x && y; return a + (x || y); }"),
    Case("sincos2", "d *d *d -> v", "void sincos2(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }"),
    Case("perhaps", "d *d -> v", "void perhaps(double x, double *y) { if (x > 0) *y = x; }"),
    Case("accumulate", "+d d -> i", "int accumulate(double *sum, double x) { *sum += x; return *sum > 1; }"),
    Case("swap", "+d +d -> v", "void swap(double *x, double *y) { double t = *x; *x = *y; *y = t; }"),
    Case("gcd", "i i -> i", "int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a < 0 ? -a : a; }", "no overflow"),
    Case("wraps", "i i -> i", "int wraps(int a, int b) { return a*b + a - b; }"),
    Case("divides", "i i -> i", "int divides(int a, int b) { return a / b + a % b; }", "divisor"),
    Case("unsigned_divides", "I I -> I", "unsigned unsigned_divides(unsigned a, unsigned b) { return a / b - a % b; }", "divisor"),
    Case("mixes", "i I -> q", "int64_t mixes(int a, unsigned b) { return a + b > 5 ? a - b : (int64_t)a * b; }"),
    Case("narrow", "i -> b", "signed char narrow(int a) { unsigned char u = a; short s = a * 3; return u + s; }"),
    Case("small", "B b -> i", "int small(unsigned char a, signed char b) { return (a << 4) + b * a - (a >> b % 4 + 3 - b % 4); }"),
    Case("hash", "I -> I", "unsigned hash(unsigned x) {\n    x ^= x >> 16;\n    x *= 0x7feb352dU;\n    x ^= x >> 15;\n    return x;\n}"),
    Case("wide", "Q -> Q", "uint64_t wide(uint64_t x) { x += 0x9e3779b97f4a7c15ULL; x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL; return ~x | -x; }"),
    Case("flipped", "i -> Q", "uint64_t flipped(int a) { uint64_t d = a == 2; return ~d; }"),
    Case("bits", "i i -> i", "int bits(int a, int b) { return ((a & 0xFF) | (b ^ ~a)) << (b & 31) >> 3; }"),
    Case("popcount", "I -> i", "int popcount(unsigned x) { int n = 0; while (x) { x &= x - 1; n++; } return n; }"),
    Case("compares", "i I -> i", "int compares(int a, unsigned b) { return (a < b) + 2*(a == b) + 4*(a > -1); }"),
    Case("averages", "i i -> d", "double averages(int a, int b) { return (a + b) / 2 + (a + b) / 2.0; }"),
    Case("truncates", "d -> q", "int64_t truncates(double x) { return (int64_t)(x * 0.5) + (int)(fmod(x, 100)); }", "small"),
    Case("collatz", "H -> i", "int collatz(unsigned short start) { unsigned long n = start; int k; for (k = 0; n > 1; k++) n = n % 2 ? 3*n + 1 : n/2; return k; }"),
    Case("fibonacci", "B -> I", "unsigned fibonacci(unsigned char n) { unsigned a = 0, b = 1; for (int i = 0; i < n; i++) { unsigned t = a + b; a = b; b = t; } return a; }"),
    Case("recursive", "B -> q", "int64_t recursive(unsigned char n) { return n < 2 ? n : (n % 16 < 2 ? 1 : recursive(n % 16 - 1) + recursive(n % 16 - 2)); }"),
    Case("steps", "d -> d", "double steps(double x) { int i, n = 0; double s = 0; for (i = 10; i > 0; i -= 3) { if (i == 4) continue; s += x / i; } do { n++; if (n == 5) break; s *= 0.5; } while (s > 1e-3); return s + n; }"),
    Case("switches", "i -> i", "int switches(int k) {\n    switch (k % 5) {\n    case 0: return 10;\n    case 1:\n    case 2: k += 1; break;\n    case 3: { k = -k; break; }\n    default: k = 7;\n    }\n    return k;\n}"),
    Case("horner", "d -> d", "static const double COEFFICIENT[] = {1, 0.5, .25, -1e-3};\ndouble horner(double x) { double s = 0; for (int i = 3; i >= 0; i--) s = s * x + COEFFICIENT[i]; return s; }"),
    Case("dot", "d[n] d[n] n -> d", "double dot(const double *x, const double *y, int n)\n{\n    double sum = 0;\n    for (int i = 0; i < n; i++)\n        sum += x[i] * y[i];\n    return sum;\n}"),
    Case("cumulative", "d[n] >d[n] n -> v", "void cumulative(const double *x, double *y, int n) { double s = 0; int i; for (i = 0; i < n; ++i) { s += x[i]; y[i] = s; } }"),
    Case("matvec", "d[m][n] d[n] >d[m] m n -> v", "void matvec(const double *a, const double *x, double *y, int m, int n) { for (int i = 0; i < m; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += a[i*n + j] * x[j]; } }"),
    Case("cross", "d[3] d[3] >d[3] -> v", "void cross(const double a[3], const double b[3], double c[3]) { for (int i = 0; i < 3; i++) { int j = (i + 1) % 3, k = (i + 2) % 3; c[i] = a[j]*b[k] - a[k]*b[j]; } }"),
    Case("transpose", "d[3][3] >d[3][3] -> v", "void transpose(double r[3][3], double rt[3][3]) { int i, j; double w[3][3]; for (i = 0; i < 3; i++) for (j = 0; j < 3; j++) w[i][j] = r[j][i]; for (j = 0; j < 3; j++) for (i = 0; i < 3; i++) rt[i][j] = w[i][j]; }"),
    Case("sort", "+d[n] n -> v", "void sort(double *x, int n) { for (int i = 1; i < n; i++) { double v = x[i]; int j = i - 1; while (j >= 0 && x[j] > v) { x[j + 1] = x[j]; j--; } x[j + 1] = v; } }"),
    Case("compact", "d[n] >d[n] n -> i", "int compact(const double *x, double *y, int n) { int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) y[k++] = x[i]; return k; }"),
    Case("split", "d -> d", "static double parts(double x, double *rest) { int whole = (int)fmod(x, 1000); *rest = x - whole; return whole; }\ndouble split(double x) { double rest, whole = parts(x, &rest); return whole + 10*rest; }", "small"),
    Case("mantissa", "d *i -> d", "double mantissa(double x, int *e) { double m = frexp(x, e); return ldexp(m, 3); }", "finite"),
    Case("fill", "d -> d", "static void ramp(double *t, double x) { for (int i = 0; i < 4; i++) t[i] = x*i; }\ndouble fill(double x) { double t[4], s = 0; ramp(t, x); for (int i = 0; i < 4; i++) s += t[i]; return s; }"),
    Case("enumerated", "d -> i", "enum { LOW, MIDDLE = 5, HIGH };\n#define LIMIT 1e3\nint enumerated(double x) { return x < -LIMIT ? LOW : x < LIMIT ? MIDDLE : HIGH; }"),
    Case("shadow", "d -> d", "double shadow(double x) { double s = 0; for (int i = 0; i < 3; i++) { double x = i; { int i = 7; x += i; } s += x; } return s + x; }"),
    Case("countdown", "B -> i", "int countdown(unsigned char n) { int s = 0; unsigned k = n; while (k-- > 0) s += k; return s; }"),
    Case("assigns", "B -> i", "int assigns(unsigned char n) { int a, b, k = n, t = 0; a = b = 3; while ((a = k / 2) > 1) { k = a; t += a; } return a + b + t; }"),
    Case("single", "f f -> f", "float single(float x, float y) { return x*y + 0.1f - sqrtf(fabsf(x)) / y; }"),
    Case("keywords", "d d -> d", "double keywords(double lambda, double abs) { double in = lambda + abs; return in*fabs(in); }"),
    Case("booleans", "? i -> ?", "bool booleans(bool a, int b) { bool c = b; return a ? !c : b > 3; }"),
    Case("nearest", "d -> d", "double nearest(double x) { double n = 0, best = INFINITY; static const double grid[3] = {-1, 0.5, 4}; for (int i = 0; i < 3; i++) { double e = fabs(x - grid[i]); if (e < best) { best = e; n = grid[i]; } } return n; }"),
]  # fmt: skip

EDGES = {
    "d": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        3.0,
        1e-300,
        5e-324,
        1e308,
        -1e308,
        710.0,
        -745.5,
        math.inf,
        -math.inf,
        math.nan,
    ],
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.0**120, 2.0**-120, math.inf, -math.inf, math.nan],
    "?": [False, True],
}
BITS = {"i": 32, "q": 64, "b": 8, "h": 16, "I": -32, "Q": -64, "B": -8, "H": -16}


def edges(letter: str) -> list[Any]:
    if letter in EDGES:
        return EDGES[letter]
    bits = BITS[letter]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if bits > 0 else (0, (1 << -bits) - 1)
    return sorted({v for v in (low, low + 1, -2, -1, 0, 1, 2, 7, 100, high - 1, high) if low <= v <= high})


def drawn(letter: str, source: random.Random) -> Any:
    if letter == "?":
        return source.random() < 0.5
    if letter in "df":
        value = source.choice((source.uniform(-1, 1), source.gauss(0, 10), source.lognormvariate(0, 20)))
        return struct.unpack("f", struct.pack("f", value))[0] if letter == "f" else value
    bits = BITS[letter]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if bits > 0 else (0, (1 << -bits) - 1)
    return source.choice((source.randint(low, high), max(low, min(high, int(source.gauss(0, 50))))))


def allowed(case: Case, values: Sequence[Any]) -> bool:
    """Leaves out what is undefined in C."""
    match case.domain:
        case "divisor" | "no overflow":
            return (values[1] != 0 or case.domain != "divisor") and not (-(2**31) in values and -1 in values)
        case "small":
            return all(abs(v) < 1e15 for v in values)
        case "finite":
            return all(math.isfinite(v) for v in values)
    return True


def samples(case: Case) -> Iterable[tuple[Any, ...]]:
    source = random.Random(case.name)
    operands = signature_of(case).inputs

    def core(o: Operand, dims: dict[str, int]) -> Any:
        sizes = [d if isinstance(d, int) else dims[d] for d in o.core]
        return np.array([drawn(o.type, source) for _ in range(math.prod(sizes))]).reshape(sizes).tolist()

    if any(o.core for o in operands):
        for n, m in ((3, 2), (1, 1), (5, 4)):
            yield tuple(core(o, {"n": n, "m": m}) for o in operands)
        return
    for values in itertools.chain(
        itertools.product(*(edges(o.type) for o in operands)),
        (tuple(drawn(o.type, source) for o in operands) for _ in range(300)),
    ):
        if allowed(case, values):
            yield values


def flat(value: Any) -> list[Any]:
    return [x for item in value for x in flat(item)] if isinstance(value, tuple | list) else [value]


def same(a: Any, b: Any, letter: str) -> bool:
    """Integers equal; doubles and floats within 4 ulp; "single" for floats calculated in double."""
    if letter not in ("d", "f", "single"):
        return int(a) == int(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    unit = {"d": math.ulp(1.0), "f": 2.0**-23, "single": 2.0**-18}[letter]
    return bool(a == b or abs(a - b) <= 4 * max(unit * max(abs(a), abs(b)), math.ulp(0.0)))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(HEADERS + "\n".join(case.c for case in CASES), tmp_path_factory.mktemp("pyloop"))


@needs_gcc
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_checked_python_agrees_with_compiled_c_everywhere(case: Case, library: ctypes.CDLL) -> None:
    python, c = function(written(case), "verify"), compiled_function(library, case)
    letters = [o.type for o in signature_of(case).outputs]
    for values in samples(case):
        expected, actual = c(*values), python(*values)
        pairs = zip(
            letters, expected if len(letters) > 1 else [expected], actual if len(letters) > 1 else [actual], strict=True
        )
        for letter, e, a in pairs:
            assert all(same(x, y, letter) for x, y in zip(flat(e), flat(a), strict=True)), (values, expected, actual)


@needs_gcc
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_timed_python_agrees_with_compiled_c_where_python_gives_a_number(case: Case, library: ctypes.CDLL) -> None:
    python, c = function(written(case), "timing"), compiled_function(library, case)
    letters = [o.type for o in signature_of(case).outputs]
    compared = 0
    for values in samples(case):
        if any(isinstance(v, float) and not math.isfinite(v) for v in values):
            continue
        try:
            actual = python(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        compared += 1
        expected = c(*values)
        pairs = zip(
            letters, expected if len(letters) > 1 else [expected], actual if len(letters) > 1 else [actual], strict=True
        )
        for letter, e, a in pairs:
            letter = letter.replace("f", "single")  # floats are not rounded here
            assert all(same(x, y, letter) for x, y in zip(flat(e), flat(a), strict=True)), (values, expected, actual)
    assert compared >= 2


VECTORS = (
    "logit quotient halves domain hypotenuse constants branches clamp both sincos2 perhaps extremes hash wide narrow bits "
    "mixes unsigned_divides truncates".split()
)


@needs_gcc
@pytest.mark.parametrize("case", [c for c in CASES if c.name in VECTORS], ids=lambda case: case.name)
def test_vector_agrees_with_compiled_c(case: Case, library: ctypes.CDLL) -> None:
    made = written(case)
    rows = list(samples(case))
    letters = [o.type for o in signature_of(case).inputs]
    columns = [
        np.array(column, dtype=np.dtype(CTYPES[t])) for t, column in zip(letters, zip(*rows, strict=True), strict=True)
    ]
    with np.errstate(all="ignore"):
        found = function(made, "vector")(*columns)
    outputs = found if isinstance(found, tuple) else (found,)
    c = compiled_function(library, case)
    for number, row in enumerate(rows):
        for letter, e, a in zip([o.type for o in signature_of(case).outputs], flat(c(*row)), outputs, strict=True):
            value = np.broadcast_to(a, len(rows))[number].item()
            # NumPy's exp and log are off by an ulp of their own, which a difference magnifies.
            assert same(e, value, letter) or abs(e - value) < 1e-12 * abs(e), (row, e, value)


# -- random integer expressions ------------------------------------------------------------------

INTEGERS = {"a": "i", "b": "I", "c": "q", "d": "Q", "e": "h", "f": "B", "g": "b"}
PARAMETERS = "int a, unsigned b, int64_t c, uint64_t d, short e, unsigned char f, signed char g"
LITERALS = ["0", "1", "2", "7", "255", "0x80000000", "2147483647", "-1", "3u", "5L", "0xFFFFFFFFFFFFFFFFull", "017"]
NAMES = ["signed char", "unsigned char", "short", "int", "unsigned", "int64_t", "uint64_t", "_Bool"]

leaves = st.sampled_from([*INTEGERS] * 2 + LITERALS)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["<", "<=", "==", "!=", "&&", "||"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["<<", ">>"]), st.sampled_from(["1", "5", "(f & 7)", "(b & 31)"])),
        st.builds("({} {} {})".format, inner, st.sampled_from(["/", "%"]), st.sampled_from(["3", "10u", "-7", "1000L", "(f + 1)"])),
        st.builds("{}({})".format, st.sampled_from(["-", "~", "!"]), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("({})({})".format, st.sampled_from(NAMES), inner),
    ),
    max_leaves=12,
)  # fmt: skip


@needs_gcc
# No shrinking: each try is a compilation.
@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(texts=st.lists(expressions, min_size=40, max_size=40), seed=st.integers(0, 1000))
@pytest.mark.slow
def test_random_integer_expressions_give_what_gcc_gives(
    texts: list[str], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    spec = " ".join(INTEGERS.values()) + " -> q"
    cases = [Case(f"f{n}", spec, f"int64_t f{n}({PARAMETERS}) {{ return {text}; }}") for n, text in enumerate(texts)]
    library = build(HEADERS + "\n".join(case.c for case in cases), tmp_path_factory.mktemp("random"))
    source = random.Random(seed)
    rows = [[drawn(t, source) for t in INTEGERS.values()] for _ in range(20)]
    rows += [[source.choice(edges(t)) for t in INTEGERS.values()] for _ in range(20)]
    for case in cases:
        python, c = function(written(case), "timing"), compiled_function(library, case)
        for row in rows:
            assert c(*row) == python(*row), (case.c, row, written(case).source)


# -- what it looks like --------------------------------------------------------------------------


def by_name(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("logit", "def logit(a):\n    return 4 * a + math.exp(-a) if a < 0.5 else math.log(a)\n"),
        (
            "dot",
            "def dot(x, y):\n"
            "    n = len(x)\n"
            "    sum = 0.0\n"
            "    for i in range(n):\n"
            "        sum += x[i] * y[i]\n"
            "    return sum\n",
        ),
        (
            "branches",
            "def branches(x):\n"
            "    if x < 0:\n"
            "        return -x\n"
            "    elif x < 1:\n"
            "        t = x * x\n"
            "        return t\n"
            "    return 1.0\n",
        ),
        ("sincos2", "def sincos2(x):\n    s = math.sin(x)\n    c = math.cos(x)\n    return s, c\n"),
        (
            "hash",
            "def hash(x):\n    x ^= x >> 16\n    x = (x * 0x7feb352d) & 0xFFFFFFFF\n    x ^= x >> 15\n    return x\n",
        ),
        (
            "switches",
            "def _int32(x):\n"
            "    return ((x + 0x80000000) & 0xFFFFFFFF) - 0x80000000\n"
            "\n\n"
            "def _rem(a, b):\n"
            "    r = abs(a) % abs(b)\n"
            "    return -r if a < 0 else r\n"
            "\n\n"
            "def switches(k):\n"
            "    key1 = _rem(k, 5)\n"
            "    if key1 == 0:\n"
            "        return 10\n"
            "    elif key1 in (1, 2):\n"
            "        k = _int32(k + 1)\n"
            "    elif key1 == 3:\n"
            "        k = _int32(-k)\n"
            "    else:\n"
            "        k = 7\n"
            "    return k\n",
        ),
        (
            "horner",
            "COEFFICIENT = (1.0, 0.5, 0.25, -0.001)\n"
            "\n\n"
            "def horner(x):\n"
            "    s = 0.0\n"
            "    for i in range(3, -1, -1):\n"
            "        s = s * x + COEFFICIENT[i]\n"
            "    return s\n",
        ),
        (
            "matvec",
            "def matvec(a, x):\n"
            "    m = len(a)\n"
            "    n = len(a[0])\n"
            "    a = [value for row in a for value in row]\n"
            "    y = [0.0] * m\n"
            "    for i in range(m):\n"
            "        y[i] = 0.0\n"
            "        for j in range(n):\n"
            "            y[i] += a[i * n + j] * x[j]\n"
            "    return y\n",
        ),
        (
            "split",
            "def parts(x):\n"
            "    whole = int(math.fmod(x, 1000))\n"
            "    rest = x - whole\n"
            "    return float(whole), rest\n"
            "\n\n"
            "def split(x):\n"
            "    result1, rest = parts(x)\n"
            "    whole = result1\n"
            "    return whole + 10 * rest\n",
        ),
    ],
)
def test_source_reads_as_a_person_would_write_it(name: str, source: str) -> None:
    assert written(by_name(name)).source == source


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        ("logit", "def logit(a):\n    return np.where(a < 0.5, 4 * a + np.exp(-a), np.log(a))\n"),
        ("branches", "def branches(x):\n    return np.where(x < 0, -x, np.where(x < 1, x * x, 1))\n"),
        (
            "clamp",
            "def clamp(x, lo, hi):\n    x = np.where(x < lo, lo, x)\n    return np.where(x > hi, hi, x)\n",
        ),
        ("both", "def both(x, y):\n    return np.where((x > 0) & (y > 0) | ~(x < y), x, y)\n"),
        ("gammas", ""),
        ("gcd", ""),
        ("divides", "def divides(a, b):\n    return (a - np.fmod(a, b)) // b + np.fmod(a, b)\n"),
        ("dot", "def dot(x, y):\n    return np.vecdot(x, y)\n"),
        ("nearest", ""),
    ],
)
def test_vector_is_one_numpy_expression_or_nothing(name: str, vector: str) -> None:
    assert written(by_name(name)).vector == vector


def test_vector_calls_other_functions_of_the_cell_but_no_recursion() -> None:
    chain = "static double h(double x) { return x*x; }\nstatic double g(double x) { return h(x) + 1; }\ndouble f(double x) { return g(x) - h(x); }"
    assert written(Case("f", "d -> d", chain)).vector == (
        "def h(x):\n    return x * x\n\n\ndef g(x):\n    return h(x) + 1\n\n\ndef f(x):\n    return g(x) - h(x)\n"
    )
    again = "double f(double x) { return x < 1 ? x : f(x - 1); }"
    assert written(Case("f", "d -> d", again)).vector == ""
    mutual = "static double h(double x);\nstatic double g(double x) { return x < 1 ? x : h(x - 1); }\nstatic double h(double x) { return g(x); }\ndouble f(double x) { return g(x); }"
    assert written(Case("f", "d -> d", mutual)).vector == ""


def test_vector_is_of_double_where_c_computes_in_it() -> None:
    """NumPy would stay in float, where ``1 - cos(x)`` of a small x is 0."""
    text = "float f(float x) {{ return {}; }}".format
    assert written(Case("f", "f -> f", text("1 - cos(x)"))).vector == (
        "def f(x):\n    x = x.astype(np.float64)\n    return (1 - np.cos(x)).astype(np.float32)\n"
    )
    for inside, vector in (("1 - cosf(x)", "1 - np.cos(x)"), ("x > 0.5 ? x : -x", "np.where(x > 0.5, x, -x)")):
        assert written(Case("f", "f -> f", text(inside))).vector == f"def f(x):\n    return {vector}\n"


def test_division_is_plain_in_the_timed_text_and_guarded_in_the_checked_one() -> None:
    made = written(by_name("quotient"))
    assert made.source == "def quotient(x, y):\n    return x / y\n"
    assert made.checked == "def quotient(x, y):\n    return _fdiv(x, y)\n"


def test_assert_is_pythons_own() -> None:
    form = written(Case("root", "d -> d", "double root(double x) { assert(x >= 0); return sqrt(x); }"))
    assert "assert x >= 0" in form.source
    assert function(form, "timing")(4.0) == 2
    with pytest.raises(AssertionError):
        function(form, "timing")(-1.0)
    body = 'if (x == 1) assert(!"one"); assert(x >= 0 && "below zero"); return sqrt(x);'
    form = written(Case("root", "d -> d", f"double root(double x) {{ {body} }}"))
    assert function(form, "verify")(4.0) == 2
    for value, message in ((1.0, "one"), (-1.0, "below zero")):
        with pytest.raises(AssertionError, match=message):
            function(form, "verify")(value)


def test_functions_of_cplus_have_the_width_of_their_argument() -> None:
    wide = Case(
        "f", "Q -> i", "int f(uint64_t x) { return std::popcount(x) + __builtin_popcount(x) + __builtin_ctzll(x); }"
    )
    assert function(written(wide, cplus=True), "verify")(2**40 + 2) == 2 + 1 + 1
    narrow = Case("g", "B -> i", "int g(unsigned char x) { return std::popcount(x) + __builtin_parity(x); }")
    assert function(written(narrow, cplus=True), "verify")(7) == 4


def test_hypot_of_three_numbers_is_not_compared_at_infinities() -> None:
    form = written(
        Case("f", "d d d -> d", "double f(double x, double y, double z) { return std::hypot(x, y, z); }"), cplus=True
    )
    assert function(form, "verify")(2.0, 3.0, 6.0) == 7.0
    with pytest.raises(OverflowError):
        function(form, "verify")(-math.inf, 1e-8, 2.0)
    assert function(form, "timing")(2.0, 3.0, 6.0) == 7.0


def test_what_cplus_throws_is_raised() -> None:
    text = (
        'double f(double x) { if (x < 0) throw std::domain_error("below zero");\n'
        "    switch ((int)x) { case 1: throw 1; default: return sqrt(x); } }"
    )
    form = written(Case("f", "d -> d", text), cplus=True)
    assert function(form, "verify")(4.0) == 2
    for value, kind, message in ((-1.0, ValueError, "^below zero$"), (1.0, RuntimeError, "^$")):
        with pytest.raises(kind, match=message):
            function(form, "verify")(value)
    text = 'double g(double x) { if (x < 0) throw std::domain_error("x"); return sqrt(x); }'
    assert written(Case("g", "d -> d", text), cplus=True).vector == "def g(x):\n    return np.sqrt(x)\n"


def test_function_named_like_a_keyword_or_a_builtin_gets_an_underscore() -> None:
    assert written(Case("lambda", "d -> d", "double lambda(double x) { return x; }")).name == "lambda_"
    assert written(Case("abs", "d -> d", "double abs(double x) { return x < 0 ? -x : x; }")).name == "abs_"


# -- what has no Python form ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "body", "reason", "line"),
    [
        ("d -> d", "\n  return j0(x);", "calls `j0`, which Python does not have", 2),
        ("d -> d", "\n\n  if (x < 0) goto end; end: return x;", "uses `goto`", 3),
        ("d -> d", "static double last; last += x;\n return last;", "keeps `last` between calls", 1),
        ("d -> d", "switch ((int)x) {\ncase 1: x = 2;\ncase 2: x = 3; }\nreturn x;", "falls through from one case to the next", 2),
        ("d -> d", "double t[2], *p = t;\n p++;\n return *p;", "moves the pointer `p`", 1),
        ("d -> d", "return *(double *)(char *)&x;", "casts a pointer: `(double *)(char *)&x`", 1),
        ("d -> d", "return x + LATER;", "uses `LATER`, which is not defined in the cell", 1),
        ("d -> d", "return x +;", "has syntax that could not be read", 1),
        ("d -> d", "struct unknown u;\nreturn x;", "uses the type `struct unknown`", 1),
    ],
)  # fmt: skip
def test_what_python_cannot_say_is_refused_with_its_line(spec: str, body: str, reason: str, line: int) -> None:
    assert write(Case("f", spec, f"double f(double x) {{ {body} }}")) == NotPython(reason, line)


def test_file_scope_state_is_refused() -> None:
    made = write(Case("f", "d -> d", "double total = 0;\ndouble f(double x) { total += x; return total; }"))
    assert made == NotPython("changes the global variable `total`", 2)


def test_missing_function_is_refused() -> None:
    assert isinstance(write(Case("f", "-> d", "double g(double x) { return x; }")), NotPython)


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from(CASES),
    cut=st.integers(0, 400),
    length=st.integers(1, 12),
    new=st.sampled_from(["", "*", "(", "&", "x", ";", "+="]),
)
def test_damaged_text_never_raises(case: Case, cut: int, length: int, new: str) -> None:
    damaged = case.c[:cut] + new + case.c[cut + length :]
    made = forms.write(program(damaged), signature=signature_of(case), unit=Unit())
    assert isinstance(made, PythonForm | NotPython)


# -- preprocessed text, complex numbers, C++ -----------------------------------------------------


@needs_gcc
def test_preprocessed_text_reads_as_before_and_keeps_the_cells_lines() -> None:
    cell = (
        "#include <math.h>\n#include <complex.h>\n#define SQUARE(x) ((x)*(x))\n"
        "double f(double x) {\n  return isnan(x) ? INFINITY : SQUARE(x)*M_PI; }\n"
        "double complex g(double complex z) { return cexp(z)*I + CMPLX(creal(z), 2); }\n"
        "double h(double x) {\n  return erfcx(x); }\n"
    )
    command = ["gcc", "-E", "-"]
    done = subprocess.run(command, input=f'#line 1 "In[1]"\n{cell}', capture_output=True, text=True, check=True)
    text = lower(parse_cell(cell, name="In[1]", preprocess=lambda _: done.stdout)[1])
    out = Operand("out", "output", "d", -1)

    def made(name: str) -> PythonForm | NotPython:
        operand = Operand("x", "input", "d", 0)
        signature = Signature(name, Function(name, "", (), line=1), (operand,), (out,))
        return forms.write(text, signature=signature, unit=Unit())

    f, g = made("f"), made("g")
    assert isinstance(f, PythonForm)
    assert f.source == "def f(x):\n    return math.inf if math.isnan(x) else x * x * math.pi\n"
    assert isinstance(g, PythonForm)
    assert g.source == "def g(z):\n    return cmath.exp(z) * 1j + complex(z.real, 2.0)\n"
    assert g.vector == "def g(z):\n    return np.exp(z) * 1j + (z.real + 1j * 2)\n"
    assert made("h") == NotPython("calls `erfcx`, which Python does not have", 8)


def test_complex_functions_of_real_numbers_stay_complex() -> None:
    """NumPy's square root of -4 is NaN, of -4 + 0j it is 2j."""
    made = written(Case("f", "d -> D", "double _Complex f(double x) { return csqrt(x) + cpow(x, 0.5); }"))
    assert made.source == "def f(x):\n    return cmath.sqrt(x) + complex(x) ** 0.5\n"
    assert made.vector == "def f(x):\n    return np.sqrt(x + 0j) + (x + 0j) ** 0.5\n"
    assert np.allclose(function(made, "vector")(np.array([-4.0, 9.0])), [4j, 6])
    assert cmath.isclose(function(made, "verify")(-4.0), 4j, rel_tol=1e-15)


def test_zero_to_the_power_of_zero_is_nan_as_in_libm() -> None:
    text = "double _Complex f(double x, double y) { return cpow(CMPLX(0, x), y); }"
    power = function(written(Case("f", "d d -> D", text)), "verify")
    assert cmath.isnan(power(0.0, 0.0))
    assert cmath.isclose(power(2.0, 3.0), -8j, rel_tol=1e-15)


def test_shift_that_c_leaves_undefined_has_no_expected_result() -> None:
    made = written(Case("bit", "I i -> i", "int bit(unsigned x, int i) { return (x >> i) & 1; }"))
    bit = function(made, "verify")
    assert bit(1 << 31, 31) == 1
    with pytest.raises(ValueError, match="a shift by -1"):
        bit(1, -1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("if (!ready) ready = 1;", "keeps `ready` between calls"),
        ("", "uses the variable `ready`, which has no value in the cell"),
    ],
)
def test_variable_without_a_value_is_known(change: str, reason: str) -> None:
    made = write(Case("f", "d -> d", f"static int ready;\ndouble f(double x) {{ {change} return x + ready; }}"))
    assert made == NotPython(reason, 1)


def test_variable_in_parentheses_before_a_sign_is_no_cast() -> None:
    body = "double z = 1; return ((x) - (y) / (2 + z)) + (float)(x) + (z) - (double) -y;"
    made = written(Case("f", "d d -> d", f"double f(double x, double y) {{ {body} }}"))
    assert made.source == "def f(x, y):\n    z = 1.0\n    return x - y / (2 + z) + x + z - -y\n"


@pytest.mark.usefixtures("shared_cache")
def test_macros_with_parameters_and_branches_of_the_preprocessor_are_seen_through() -> None:
    made = um.compile_c(
        "#define RADIANS(d) ((d) * 0.5)\n#define AT(i, j) a[(i) * n + (j)]\n"
        "#define SWAP(T, x, y) do { T t = x; x = y; y = t; } while (0)\n"
        "#ifdef NOBODY\nstatic double scale = 3;\n#else\nstatic const double scale = 2;\n#endif\n"
        "double größe(double maß) { return RADIANS(maß) * scale; }\n"
        "// ufunc: (n,n)->()\n"
        "double trace(const double *a, int n) { double s = 0; for (int i = 0; i < n; i++) s += AT(i, i); return s; }\n"
        "void sorted_(double a, double b, double *p, double *q) { if (a > b) SWAP(double, a, b); *p = a; *q = b; }\n"
    )
    f, trace, swapped = made.report_data.functions
    assert f.python == "scale = 2.0\n\n\ndef größe(maß):\n    return maß * 0.5 * scale\n"
    assert "s += a[i * n + i]" in trace.python
    assert swapped.python_reason == ""


def test_the_simple_part_of_cplusplus_is_understood() -> None:
    text = (
        "namespace k { constexpr double two = 2; }\n"
        "template <class T> static inline T square(T x) { return x*x; }\n"
        "template <typename T> T f(T x, T y) { auto z = static_cast<T>(x); return std::exp(z) + std::max<T>(x, y) + square(y)*k::two; }\n"
        "void g(double x, double &s) { s = std::abs(x); if (s > T(1)) s = 1; }\n"
    )
    made = written(Case("f", "d d -> d", text), cplus=True, types={"T": 12})
    assert made.source == (
        "two = 2.0\n\n\ndef square(x):\n    return x * x\n\n\n"
        "def f(x, y):\n    z = x\n    return math.exp(z) + max(x, y) + square(y) * two\n"
    )
    made = written(Case("g", "d *d -> v", text), cplus=True, types={"T": 12})
    assert made.source == "def g(x):\n    s = abs(x)\n    if s > 1.0:\n        s = 1.0\n    return s\n"


def test_loop_over_an_array_is_counted() -> None:
    text = (
        "static const double T[2] = {3, 4};\n"
        "double f(double x) { double a[2] = {1, x}, s = 0; for (auto v : a) s += v; for (const double &v : T) s *= v; return s; }\n"
        "double g(double x) { double a[2] = {1, x}; for (double &v : a) v = 2; return a[0]; }\n"
    )
    made = written(Case("f", "d -> d", text), cplus=True)
    assert made.source.endswith(
        "    for v_index in range(2):\n        v = a[v_index]\n        s += v\n"
        "    for v_index in range(2):\n        v = T[v_index]\n        s *= v\n    return s\n"
    )
    made = written(Case("g", "d -> d", text), cplus=True)
    assert made.source.endswith("    for v_index in range(2):\n        a[v_index] = 2.0\n    return a[0]\n")


def test_functions_of_tgmath_have_their_arguments_type() -> None:
    text = "#include <tgmath.h>\nfloat f(float x) { return sqrt(x) + fabs(x); }\n"
    (f,) = lower(parse_cell(text)[1]).functions["f"]
    calls = [node for node in walk_ir(f.body) if isinstance(node, FunctionCall)]
    assert [(call.name, call.type.bits) for call in calls] == [("sqrtf", 32), ("fabsf", 32)]


def test_clamp_is_the_lesser_of_the_greater() -> None:
    made = written(Case("f", "d -> d", "double f(double x) { return std::clamp(x, 0.0, 1.0); }"), cplus=True)
    assert made.source == "def f(x):\n    return min(max(x, 0.0), 1.0)\n"
    clamp = function(made, "verify")
    assert [clamp(x) for x in (-1.0, 0.5, 2.0)] == [0.0, 0.5, 1.0]
    assert math.isnan(clamp(math.nan))


def test_constructors_with_arguments_are_understood() -> None:
    """``z(x, y)`` reads as a function of types x and y."""
    text = (
        "double f(double x, double y) {\n"
        "    std::complex<double> z(x, y), w{x, 2}; double a(x), b(2.0); auto c{y};\n"
        "    return std::norm(z*w) + a + b + c; }\n"
    )
    made = written(Case("f", "d d -> d", text), cplus=True)
    assert made.source == (
        "def f(x, y):\n    z = complex(x, y)\n    w = complex(x, 2)\n    a = x\n    b = 2.0\n    c = y\n"
        "    return (z * w).real * (z * w).real + (z * w).imag * (z * w).imag + a + b + c\n"
    )
    refused = write(Case("f", "d -> d", "double f(double x) { Wave w(x); return x; }"), cplus=True)
    assert refused == NotPython("uses the type `Wave`", 1)


@pytest.mark.parametrize(
    ("spec", "text", "body"),
    [
        ("d -> d", "auto f(double x) { return 2*x; }", "2 * x"),
        ("i -> q", "auto f(int x) -> long { return x + 1L; }", "x + 1"),
        ("I -> i", "auto f(unsigned x) -> int { return x; }", "_int32(x)"),
        ("I -> I", "auto f(unsigned x) { return x + 1; }", "(x + 1) & 0xFFFFFFFF"),
        ("d -> I", "static auto g(double x) -> unsigned { return x; }\nauto f(double x) { return g(x) + 1; }", "(g(x) + 1) & 0xFFFFFFFF"),
        ("d -> I", "static auto g(double x) { return 2u; }\nauto f(double x) { return g(x) + 1; }", "(g(x) + 1) & 0xFFFFFFFF"),
        ("d -> d", "template <typename T> auto f(T x) -> T { return x / 2; }", "x / 2"),
    ],
)  # fmt: skip
def test_auto_is_the_type_behind_the_parameters_or_of_what_is_returned(spec: str, text: str, body: str) -> None:
    made = written(Case("f", spec, text), cplus=True, types={"T": 12})
    assert made.source.endswith(f"    return {body}\n")


def test_auto_is_the_type_of_the_first_value_returned() -> None:
    """Which a function that calls itself must return before."""
    text = "auto f(unsigned n) { static const unsigned t[] = {1, 1}; if (n < 2) return t[n]; return n*f(n - 1); }"
    made = written(Case("f", "I -> I", text), cplus=True)
    assert function(made, "verify")(20) == math.factorial(20) % 2**32
    assert made.source.count("(1, 1)") == 1
    made = write(
        Case("f", "d -> d", "auto g(double *x) { return x; }\nauto f(double x) { return *g(&x); }"), cplus=True
    )
    assert made == NotPython("returns a pointer", 1)


def test_types_of_the_cell_are_resolved_through_what_is_known() -> None:
    case = Case("f", "I I -> I", "word f(word a, word b) { return a + b; }")
    made = written(replace(case, c=f"typedef uint32_t word;\n{case.c}"))
    assert made.source == "def f(a, b):\n    return (a + b) & 0xFFFFFFFF\n"
    assert written(case, types={"word": 5}).source.endswith("    return _int32(a + b)\n")
    assert write(case) == NotPython("uses the type `word`", 1)


# -- namespaces ----------------------------------------------------------------------------------

POLES = [
    ("log", (0.0,), -math.inf), ("log", (-1.0,), math.nan), ("log1p", (-1.0,), -math.inf), ("sqrt", (-1.0,), math.nan),
    ("exp", (1e4,), math.inf), ("sinh", (-1e4,), -math.inf), ("cosh", (-1e4,), math.inf), ("pow", (0.0, -1.0), math.inf),
    ("pow", (-0.0, -3.0), -math.inf), ("pow", (-0.0, -2.0), math.inf), ("pow", (-10.0, 309.0), -math.inf), ("pow", (-8.0, 1 / 3), math.nan),
    ("atanh", (-1.0,), -math.inf), ("acos", (2.0,), math.nan), ("gamma", (-0.0,), -math.inf), ("gamma", (-2.0,), math.nan),
    ("gamma", (200.0,), math.inf), ("lgamma", (-3.0,), math.inf), ("fmod", (1.0, 0.0), math.nan), ("sin", (math.inf,), math.nan),
    ("ldexp", (1.0, 5000), math.inf),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), POLES)
def test_verifying_math_gives_annex_f_values(name: str, arguments: tuple[float, ...], expected: float) -> None:
    actual = getattr(make_namespace("verify")["math"], name)(*arguments)
    assert (math.isnan(actual) and math.isnan(expected)) or actual == expected


def test_timing_uses_pythons_own_math() -> None:
    assert make_namespace("timing")["math"] is math


def test_rounding_at_random_moves_what_is_rounded_and_nothing_else() -> None:
    text = "double f(double x, double y) { double s = x + y; return s > 3 ? cos(s) : s * (x - y); }"
    f = round_at_random(function(written(Case("f", "d d -> d", text)), "random"))

    def results(x: float, y: float) -> set[float]:
        return {float(f(x, y)) for _ in range(200)}

    assert results(2.0, 1.0) == {3.0}  # whole numbers are exact
    assert 1e-16 < max(abs(r / 0.09 - 1) for r in results(0.3, 0.0)) < 1e-15
    assert 1e-16 < max(abs(r - 1) for r in results(2 * math.pi, 0.0)) < 1e-15  # a function that gives 1 may be off, too


def test_rounding_at_random_knows_floats_and_complex_numbers() -> None:
    single = round_at_random(function(written(Case("g", "f -> f", "float g(float x) { return x * x; }")), "random"))
    assert {float(single(0.1)) for _ in range(50)} == {
        float(np.float32(0.01) + k * np.spacing(np.float32(0.01))) for k in (-1, 0, 1)
    }
    text = "double _Complex h(double x) { double _Complex z = x + 2 * I; return z * z / cexp(z) - 1; }"
    h = round_at_random(function(written(Case("h", "d -> D", text)), "random"))
    values = {h(0.1) for _ in range(50)}
    assert len(values) > 1
    assert all(cmath.isclose(value, (0.1 + 2j) ** 2 / cmath.exp(0.1 + 2j) - 1, rel_tol=1e-14) for value in values)


def test_rounding_at_random_ends() -> None:
    """Also where a loop waits for two results to be equal, and they are not."""
    text = "double f(double x) { double y = 0; while (y != 0.05) y += x; return y; }"
    f = round_at_random(function(written(Case("f", "d -> d", text)), "random"), operations=1000)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            f(0.1)


@pytest.mark.parametrize(
    ("words", "c", "vector"),
    [
        # Python's integers have no end; NumPy's must be as wide as what C calculates in.
        ("i i -> q", "return (long long)a * b;", "return a.astype(np.int64) * b.astype(np.int64)"),
        ("h h -> i", "return a * b;", "return a.astype(np.int32) * b.astype(np.int32)"),
        ("I I -> I", "return a * b;", "return a * b"),
        ("i i -> d", "return (double)a * (double)b;", "return a.astype(np.float64) * b"),
        ("i i -> i", "return a / b;", "return (a - np.fmod(a, b)) // b"),
        ("I I -> I", "return a / b;", "return a // b"),
        ("f f -> f", "return a*2.0f + b;", "return a * 2.0 + b"),
        ("f f -> f", "return a*2.0 + b*b;", "return (a * 2.0 + (b * b).astype(np.float64)).astype(np.float32)"),
        ("d d -> i", "return (a > b) + (a < 0);", "return (a > b).astype(np.int32) + (a < 0)"),
        ("d d -> d", "if (a < 0) return -a; a = a*a; return a + b;", "return np.where(mask, early, a + b)"),
        ("d d -> d", "return round(a) + b;", "return _round(a) + b"),
    ],
)
def test_numpys_numbers_are_cs(words: str, c: str, vector: str) -> None:
    left, right = words.split(" -> ")[0].split()
    spelled = {"f": "float", "i": "int", "q": "long long", "h": "short", "I": "unsigned", "d": "double"}
    code = f"{spelled[words[-1]]} f({spelled[left]} a, {spelled[right]} b) {{ {c} }}"
    made = written(Case("f", f"{left} {right} -> {words[-1]}", code))
    assert made.vector.rstrip().rpartition("\n")[2].strip() == vector


def test_what_a_later_statement_changes_is_put_aside_for_an_early_return() -> None:
    made = written(Case("f", "d -> d", "double f(double x) { if (x < 0) return -x; x = x*x; return x; }"))
    values = np.array([-2.0, 3.0])
    assert function(made, "vector")(values).tolist() == [2.0, 9.0]


def test_what_others_hang_on_shared_nodes_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's tracebacks give every node a ``parent``, also the one ``Load`` of all trees."""
    tree = ast.parse("x + y")
    shared = next(node for node in ast.walk(tree) if isinstance(node, ast.Load))
    monkeypatch.setattr(shared, "parent", tree, raising=False)
    assert [type(node) for node in walk(tree)] == [type(node) for node in ast.walk(tree)]
