"""The CUDA emulation's headers, `templates/cuda*.h`, by themselves: values, integers, roundings, halves, launches."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ufunc_magic
import ufunc_magic as um
from support import CELLS
from ufunc_magic import compilers
from ufunc_magic.compilers import describe
from ufunc_magic.languages.cuda import device
from ufunc_magic.model import ToolchainError

pytestmark = pytest.mark.slow

mpmath = pytest.importorskip("mpmath", reason="mpmath computes the references")

TEMPLATES = Path(um.__file__).parent / "languages" / "cuda" / "templates"
FLAGS = (
    *("-std=gnu++20", "-O2", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-fwrapv"),
    *("-fno-math-errno", "-fno-trapping-math", f"-isystem{TEMPLATES / 'cuda'}"),
)
C_TYPES = {"f4": "float", "f8": "double", "i4": "int", "u4": "unsigned", "i8": "long long", "u8": "unsigned long long"}


def compiler() -> list[str]:
    try:
        return list(compilers.find(cplus=True).command)
    except ToolchainError:
        pytest.skip("no C++ compiler on this machine")


def build(folder: Path, text: str, *, kernels: bool = False, dynamic: bool = False, flags: Sequence[str] = ()) -> Any:
    """A library of the shim and ``text``; None where ``flags`` ask for no more than a look at it."""
    words = (
        "#define __UFM_CUDA_KERNELS__\n#define __UFM_CUDA_WARPS__\n" * kernels
        + "#define __UFM_CUDA_DYNAMIC_SHARED__\n" * dynamic
    )
    source = f'{words}#include "{TEMPLATES / "cuda.h"}"\n#line 1 "In[3]"\n{text}\n'
    made = folder / "shim.so"
    command = [*compiler(), *FLAGS, *flags, "-x", "c++", "-", "-o", str(made)]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(made)) if made.exists() else None


def refusal(text: str) -> str:
    """What the compiler says of a cell."""
    source = f'#include "{TEMPLATES / "cuda.h"}"\n#line 1 "In[3]"\n{text}\n'
    command = [*compiler(), *FLAGS, "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    assert done.returncode != 0
    return done.stderr


# ------------------------------------------------------------------------------------------ values


@dataclass(frozen=True)
class Case:
    """An expression of x, y, z; its operands' types and the result's; what it ought to be; the largest error in ulp."""

    expression: str
    types: str
    values: Callable[[np.random.Generator], Sequence[np.ndarray]]
    exact: Callable[..., Any]
    ulps: float = 0.0


def uniform(low: float, high: float, *, count: int = 1) -> Callable[[np.random.Generator], Sequence[np.ndarray]]:
    return lambda rng: [rng.uniform(low, high, 80) for _ in range(count)]


def spread(low: float, high: float, *, signed: bool = True, count: int = 1) -> Any:
    """Numbers whose exponents of ten are spread."""

    def values(rng: np.random.Generator) -> Sequence[np.ndarray]:
        sign = rng.choice([-1.0, 1.0], (count, 80)) if signed else np.ones((count, 80))
        return list(sign * 10.0 ** rng.uniform(low, high, (count, 80)))

    return values


def _norm(*x: Any) -> Any:
    return mpmath.sqrt(sum(v * v for v in x))


def _erfcinv(y: Any) -> Any:
    if y > 1:
        return -_erfcinv(2 - y)
    w = -mpmath.log(y * (2 - y))
    start = mpmath.sqrt(w - mpmath.log(w * mpmath.pi / 2) / 2) if w > 4 else mpmath.erfinv(1 - y)
    return mpmath.findroot(lambda z: mpmath.log(mpmath.erfc(z)) - mpmath.log(y), start)


def _both(name: str, values: Any, exact: Any, ulps: float, single: float, arity: int = 1) -> list[Case]:
    """A function of double, its float overload and its name with an f."""
    x = "x, y, z"[: 3 * arity - 2]
    return [
        Case(f"{name}({x})", "f8" * (arity + 1), values, exact, ulps),
        Case(f"{name}({x})", "f4" * (arity + 1), values, exact, single),
        Case(f"{name}f({x})", "f4" * (arity + 1), values, exact, single),
    ]


def _tail(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


VALUES = [
    *_both("rsqrt", spread(-30, 30, signed=False), lambda x: 1 / mpmath.sqrt(x), 1.5, 1.5),
    *_both("rcbrt", spread(-30, 30), lambda x: mpmath.sign(x) / mpmath.cbrt(abs(x)), 2, 2),
    *_both("rhypot", spread(-9, 9, count=2), lambda x, y: 1 / _norm(x, y), 2, 2, 2),
    *_both("norm3d", spread(-9, 9, count=3), _norm, 2, 1, 3),
    *_both("rnorm3d", spread(-9, 9, count=3), lambda *x: 1 / _norm(*x), 2.5, 2, 3),
    Case("norm3d(x, y, z)", "f8f8f8f8", spread(-307, -290, count=3), _norm, 2),
    Case("norm3d(x, y, z)", "f8f8f8f8", spread(290, 307, count=3), _norm, 2),
    Case("norm4d(x, y, z, x)", "f8f8f8f8", spread(-9, 9, count=3), lambda x, y, z: _norm(x, y, z, x), 2),
    *_both("sinpi", uniform(-9, 9), mpmath.sinpi, 2.5, 2.5),
    *_both("cospi", uniform(-9, 9), mpmath.cospi, 2.5, 2.5),
    *_both("exp10", uniform(-30, 30), lambda x: mpmath.power(10, x), 2, 2),
    *_both("erfinv", uniform(-1, 1), mpmath.erfinv, 3, 4),
    *_both("erfcinv", uniform(0.01, 1.99), _erfcinv, 3, 4),
    Case("erfcinv(x)", "f8f8", spread(-300, -2, signed=False), _erfcinv, 3),
    Case("erfcinv(x)", "f4f4", spread(-37, -2, signed=False), _erfcinv, 4),
    Case("erfinv(1 - x)", "f8f8", spread(-15, -2, signed=False), lambda x: _erfcinv(1 - mpmath.mpf(1 - float(x))), 3),
    *_both("normcdfinv", uniform(0.01, 0.99), lambda p: -mpmath.sqrt(2) * _erfcinv(2 * p), 5, 5),
    Case("normcdfinv(x)", "f8f8", spread(-300, -2, signed=False), lambda p: -mpmath.sqrt(2) * _erfcinv(2 * p), 5),
    *_both("normcdf", uniform(-9, 9), lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, 5, 5),
    Case("normcdf(x)", "f8f8", uniform(-37, -9), lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, 5),
    *_both("erfcx", uniform(-5, 30), _tail, 4, 4),
    Case("erfcx(x)", "f8f8", uniform(-26, -5), _tail, 4),
    Case("erfcx(x)", "f8f8", spread(-20, 2, signed=False), _tail, 4),
    *_both("cyl_bessel_i0", uniform(-30, 30), lambda x: mpmath.besseli(0, x), 5, 1),
    *_both("cyl_bessel_i1", uniform(-30, 30), lambda x: mpmath.besseli(1, x), 5, 1),
    Case("cyl_bessel_i0(x)", "f8f8", uniform(30, 712), lambda x: mpmath.besseli(0, x), 5),
    Case("cyl_bessel_i1(x)", "f8f8", spread(-20, 0), lambda x: mpmath.besseli(1, x), 5),
    Case("__expf(x)", "f4f4", uniform(-30, 30), mpmath.exp, 1),
    Case("__powf(x, y)", "f4f4f4", uniform(0.1, 9, count=2), mpmath.power, 1),
    Case("__sinf(x)", "f4f4", uniform(-9, 9), mpmath.sin, 1),
    Case("__fdividef(x, y)", "f4f4f4", uniform(1, 9, count=2), lambda x, y: x / y, 0.5001),
    Case("__frsqrt_rn(x)", "f4f4", spread(-30, 30, signed=False), lambda x: 1 / mpmath.sqrt(x), 0.5001),
    Case("exp(x) + sqrt(y)", "f4f4f4", uniform(0, 9, count=2), lambda x, y: mpmath.exp(x) + mpmath.sqrt(y), 1.5),
    Case("pow(x, y)", "f4f4f4", uniform(0.1, 9, count=2), mpmath.power, 1),
    Case("j0(x)", "f4f4", uniform(0.5, 2), lambda x: mpmath.besselj(0, x), 3),
]


def loops(cases: Sequence[Case]) -> str:
    """A C loop for each case."""
    lines = []
    for k, case in enumerate(cases):
        *given, result = (C_TYPES[case.types[i : i + 2]] for i in range(0, len(case.types), 2))
        reads = "".join(f"{t} {v} = (({t} *)p[{n}])[i]; " for n, (t, v) in enumerate(zip(given, "xyz", strict=False)))
        lines.append(
            f'extern "C" __attribute__((visibility("default"))) void f{k}(void **p, long n) '
            f"{{ for (long i = 0; i < n; i++) {{ {reads}(({result} *)p[{len(given)}])[i] = {case.expression}; }} }}"
        )
    return "\n".join(lines)


def run(library: Any, k: int, case: Case, given: Sequence[np.ndarray]) -> np.ndarray:
    types = [case.types[i : i + 2] for i in range(0, len(case.types), 2)]
    arrays = [np.ascontiguousarray(a, dtype=t) for a, t in zip(given, types, strict=False)]
    out = np.empty(len(arrays[0]), types[-1])
    pointers = (ctypes.c_void_p * (len(arrays) + 1))(*(a.ctypes.data for a in [*arrays, out]))
    getattr(library, f"f{k}")(pointers, ctypes.c_long(len(out)))
    return out


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return build(tmp_path_factory.mktemp("values"), loops(VALUES))


@pytest.mark.parametrize("k", range(len(VALUES)), ids=[f"{c.expression}-{c.types}" for c in VALUES])
def test_math_is_as_accurate_as_promised(values: Any, k: int) -> None:
    case = VALUES[k]
    types = [case.types[i : i + 2] for i in range(0, len(case.types), 2)]
    given = [a.astype(t) for a, t in zip(case.values(np.random.default_rng(k)), types, strict=False)]
    got = run(values, k, case, given)
    with mpmath.workdps(40):
        exact = [case.exact(*(mpmath.mpf(float(v)) for v in row)) for row in zip(*given, strict=True)]
        spacing = np.spacing(np.abs(np.array([float(e) for e in exact]).astype(got.dtype)))
        errors = [float(abs(mpmath.mpf(float(g)) - e)) / float(s) for g, e, s in zip(got, exact, spacing, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= case.ulps, f"{errors[worst]:.2f} ulp at {[a[worst] for a in given]}: {got[worst]!r}"


# -------------------------------------------------------------------------------------- single words

#: Expressions, and what each must be; by the words of the CUDA Math API and of PTX, and by hand.
EXACT: list[tuple[str, Any]] = [
    ("sinpi(-0.0) == 0 && signbit(sinpi(-0.0))", 1),
    ("sinpi(1e300)", 0),
    ("isnan(sinpi(CUDART_INF))", 1),
    ("cospi(0.5)", 0),
    ("cospi(1.0f)", -1),
    ("erfinv(1.0) == CUDART_INF && erfinv(-1.0f) == -CUDART_INF_F", 1),
    ("isnan(erfinv(1.1)) && isnan(erfcinv(-0.1f)) && isnan(normcdfinv(2.0))", 1),
    ("normcdfinv(0.5)", 0),
    ("erfcx(-30.0) == CUDART_INF && erfcx(CUDART_INF) == 0 && isnan(erfcx(CUDART_NAN))", 1),
    ("normcdf(-CUDART_INF) == 0 && normcdf(CUDART_INF) == 1 && normcdff(-CUDART_INF_F) == 0", 1),
    ("cyl_bessel_i0(0.0) == 1 && cyl_bessel_i1(0.0) == 0 && cyl_bessel_i1(-CUDART_INF) == -CUDART_INF", 1),
    ("norm3d(CUDART_INF, CUDART_NAN, 0.0) == CUDART_INF && isnan(norm3df(1, CUDART_NAN_F, 0))", 1),
    ("fmaxf(CUDART_NAN_F, 2) == 2 && fminf(2, CUDART_NAN_F) == 2 && isnan(fmax(CUDART_NAN, CUDART_NAN))", 1),
    ("max(3, 5) + min(2u, 7u) + max(1.5f, 0.5) + umax(1, 2) + llmin(4, 3)", 5 + 2 + 1.5 + 2 + 3),
    ("max(-1, 1u)", 2**32 - 1),
    ("abs(-3) + abs(-2.5f) + abs(-4ll)", 9.5),
    ("sizeof(exp(1.0f)) + sizeof(exp(1)) + sizeof(pow(1.0f, 2.0f)) + sizeof(pow(1.0f, 2))", 4 + 8 + 4 + 8),
    ("__saturatef(1.5f) + __saturatef(-2.0f) + __saturatef(CUDART_NAN_F) + __saturatef(0.25f)", 1.25),
    # Conversions.
    ("__float2int_rn(2.5f) + __float2int_rn(3.5f)", 6),
    ("__float2int_rd(-1.5f)", -2),
    ("__float2int_ru(-1.5f)", -1),
    ("__float2int_rz(-1.9f)", -1),
    ("__float2int_rn(1e20f)", 2**31 - 1),
    ("__float2int_rn(-1e20f)", -(2**31)),
    ("__float2int_rn(CUDART_NAN_F)", 0),
    ("__float2uint_rn(-3.0f) + __float2uint_rz(7.9f)", 7),
    ("__float2uint_rn(1e20f)", 2**32 - 1),
    ("__double2int_rz(-3e9)", -(2**31)),
    ("__double2ll_rd(-0.5)", -1),
    ("__float2ll_rz(1e30f) == 0x7fffffffffffffffll", 1),
    ("__double2ull_rz(1e30) == ~0ull && __double2ull_rn(-1.0) == 0", 1),
    ("__double2uint_rn(CUDART_NAN) == 0x80000000u && __float2ull_rn(CUDART_NAN_F) == 0x8000000000000000ull", 1),
    ("__int2float_rz(16777217) == 16777216.0f && __int2float_ru(16777217) == 16777218.0f", 1),
    ("__int2float_rz(-16777217) == -16777216.0f && __int2float_rd(-16777217) == -16777218.0f", 1),
    ("__ll2double_rd(9007199254740993ll) == 9007199254740992.0", 1),
    ("__ll2double_ru(9007199254740993ll) == 9007199254740994.0", 1),
    ("__ull2float_ru(~0ull) == 0x1p64f && __ull2float_rz(~0ull) == 0x1.fffffep63f", 1),
    ("__double2float_ru(0.1) > __double2float_rd(0.1)", 1),
    ("__double2float_rz(1e300) == 0x1.fffffep127f && __double2float_ru(1e-300) == 0x1p-149f", 1),
    ("isinf(__double2float_rz(CUDART_INF))", 1),
    ("__float_as_int(1.0f) == 0x3f800000 && __uint_as_float(0x40000000) == 2.0f", 1),
    ("__hiloint2double(__double2hiint(-1.25e-7), __double2loint(-1.25e-7)) == -1.25e-7", 1),
    # Integers.
    (
        "__clz(0) + __clz(1) + __clzll(1) + __ffs(8) + __ffsll(0) + __popc(255) + __popcll(~0ull)",
        32 + 31 + 63 + 4 + 8 + 64,
    ),
    ("__brev(1) == 0x80000000u && __brevll(2) == 1ull << 62", 1),
    ("__byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311", 1),
    ("__byte_perm(0x33221100, 0x77665544, 0x4040) == 0x44004400", 1),
    ("__mulhi(-2147483647 - 1, 2) == -1 && __umulhi(0x80000000u, 4) == 2", 1),
    ("__mul64hi(-1, 1) == -1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1", 1),
    ("__mul24(0xffffff, 2) == -2 && __umul24(0x1ffffff, 2) == 0x1fffffe", 1),
    ("__hadd(-3, 0) == -2 && __rhadd(-3, 0) == -1 && __uhadd(~0u, ~0u) == ~0u && __urhadd(1, 2) == 2", 1),
    ("__hadd(2147483647, 2147483647) == 2147483647", 1),
    ("__sad(-5, 7, 1) + __usad(9, 2, 3)", 23),
    ("__funnelshift_l(0x80000000, 1, 1) == 3 && __funnelshift_r(1, 3, 1) == 0x80000000u", 1),
    ("__funnelshift_lc(7, 1, 40) == 7 && __funnelshift_rc(7, 1, 32) == 1 && __funnelshift_l(7, 1, 32) == 1", 1),
    ("__fns(0xf0, 0, 2) == 5 && __fns(0xf0, 6, -2) == 5 && __fns(1, 1, 1) == ~0u", 1),
    ("__dp4a(0x01020304, 0x01010101, 5) == 15 && __dp4a(0xff, 0xff, 0) == 1 && __dp4a(0xffu, 0xffu, 0u) == 65025", 1),
    ("__dp2a_lo(0x00020003, 0x0504, 1) == 23 && __dp2a_hi(0x00020003, 0x05040000, 1) == 23", 1),
    # Integers in words.
    ("__vadd4(0xff01fe02, 0x01010101) == 0x0002ff03 && __vadd2(0xffff0001, 0x00010001) == 0x00000002", 1),
    ("__vaddss4(0x7f80017f, 0x01ff0101) == 0x7f80027f && __vaddus4(0xff800100, 0x01ff0100) == 0xffff0200", 1),
    ("__vsubus2(0x00010005, 0x00020003) == 0x00000002 && __vsubss2(0x80000000, 0x00010001) == 0x8000ffff", 1),
    (
        "__vabs4(0x80ff7f01) == 0x80017f01 && __vabsss4(0x80ff7f01) == 0x7f017f01 && __vneg2(0x8000ffff) == 0x80000001",
        1,
    ),
    ("__vabsdiffu4(0x01ff0010, 0xff0100f0) == 0xfefe00e0 && __vsadu4(0x01020304, 0x04030201) == 8", 1),
    ("__vcmpgts4(0x7f80ff00, 0x00000000) == 0xff000000 && __vcmpgtu4(0x7f80ff00, 0) == 0xffffff00", 1),
    ("__vseteq2(0x00010002, 0x00010003) == 0x00010000 && __vmaxs2(0x8000ffff, 0x00017fff) == 0x00017fff", 1),
    ("__vavgu4(0x01020304, 0x02020406) == 0x02020405 && __vhaddu4(0x01020304, 0x02020406) == 0x01020305", 1),
    ("__vimax3_s32(1, -5, 3) + __vimin3_u32(4, 2, 9) + __viaddmax_s32(2, 3, 1) + __vimax_s32_relu(-3, -4)", 10),
    ("__vimax3_s16x2(0x0001ffff, 0xffff0002, 0x00050001) == 0x00050002", 1),
    # Rounding of one operation.
    ("__fadd_ru(1.0f, 0x1p-60f) == 0x1.000002p0f && __fadd_rd(1.0f, 0x1p-60f) == 1.0f", 1),
    ("__fadd_rz(-1.0f, -0x1p-60f) == -1.0f && __fsub_rd(-1.0f, 0x1p-60f) == -0x1.000002p0f", 1),
    ("__fmul_rz(0x1.fffffep127f, 2.0f) == 0x1.fffffep127f && isinf(__fmul_ru(0x1.fffffep127f, 2.0f))", 1),
    ("__fdiv_ru(1, 3) > __fdiv_rd(1, 3) && __frcp_rz(3) == __fdiv_rd(1, 3)", 1),
    ("__fsqrt_ru(2) > __fsqrt_rd(2) && __fsqrt_ru(4) == 2", 1),
    ("__fmaf_ru(1.0f, 1.0f, 0x1p-60f) == 0x1.000002p0f", 1),
    ("__dadd_ru(1.0, 0x1p-80) == 0x1.0000000000001p0 && __dmul_rz(0x1.fp1023, 2.0) == 0x1.fffffffffffffp1023", 1),
    ("__ddiv_ru(1, 3) > __ddiv_rd(1, 3) && __dsqrt_ru(2) > __dsqrt_rz(2) && __drcp_ru(4) == 0.25", 1),
    ("__fma_rd(1.0, 1.0, -0x1p-80) == 0x1.fffffffffffffp-1", 1),
    ("1.0f + 0x1p-30f == 1.0f", 1),  # and none of these is left behind
    # Atomics give back what was there.
    ("[] { int a = 5; return atomicAdd(&a, 3) * 100 + a; }()", 508),
    ("[] { unsigned a = 5; return atomicInc(&a, 5) * 100 + a; }()", 500),
    ("[] { unsigned a = 0; return atomicDec(&a, 7) * 100 + a; }()", 7),
    ("[] { float a = 1.5f; return atomicAdd_block(&a, 2) * 100 + a; }()", 153.5),
    ("[] { double a = 2; return atomicAdd_system(&a, 0.5) * 10 + a; }()", 22.5),
    ("[] { int a = 5; int b = atomicCAS(&a, 5, 9); return b * 100 + atomicCAS(&a, 5, 1) * 10 + a; }()", 599),
    ("[] { int a = 5; return atomicMax(&a, 7) * 100 + atomicMin(&a, 2) * 10 + a; }()", 572),
    ("[] { unsigned a = 12; return atomicAnd(&a, 10) * 100 + atomicOr(&a, 1) * 10 + atomicXor(&a, 3); }()", 1289),
    ("[] { unsigned long long a = 3; return atomicExch(&a, 4ull) * 10 + a; }()", 34),
    ("[] { int a[2] = {4, 2}; __stcs(a, 7); return __ldg(a) + __ldcg(a + 1); }()", 9),
    # Types.
    ("sizeof(float3) * 100 + sizeof(float4) * 10 + alignof(float4)", 12 * 100 + 16 * 10 + 16),
    ("make_float4(1, 2, 3, 4).w + make_uchar4(1, 2, 3, 4).x + dim3(7).y + double2{1, 2}.y", 4 + 1 + 1 + 2),
    ("threadIdx.x + blockDim.x + gridDim.z + warpSize", 34),
    ("cuCrealf(cuCmulf(make_cuFloatComplex(1, 2), make_cuFloatComplex(3, 4)))", -5),
    ("cuCabs(make_cuDoubleComplex(0x3p600, 0x4p600)) == 0x5p600", 1),
    ("cuCimag(cuCdiv(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(0, 1)))", -1),
    ("cuda::std::numeric_limits<float>::max() == 0x1.fffffep127f && cuda::std::abs(-3) == 3", 1),
]
EXACT_HEADERS = (
    "#include <cuComplex.h>\n#include <cuda/std/limits>\n#include <cuda/std/cmath>\n#include <math_constants.h>\n"
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Any:
    functions = "".join(
        f'extern "C" __attribute__((visibility("default"))) double w{k}() {{ return {expression}; }}\n'
        for k, (expression, _) in enumerate(EXACT)
    )
    return build(tmp_path_factory.mktemp("words"), EXACT_HEADERS + functions)


@pytest.mark.parametrize("k", range(len(EXACT)), ids=[expression[:60] for expression, _ in EXACT])
def test_words_mean_what_they_do_on_a_gpu(words: Any, k: int) -> None:
    function = getattr(words, f"w{k}")
    function.restype = ctypes.c_double
    assert function() == EXACT[k][1]


def test_conversions_of_halves_are_numpys_for_every_bit_pattern(tmp_path: Path) -> None:
    library = build(
        tmp_path,
        """#include <cuda_fp16.h>
#define SHOWN extern "C" __attribute__((visibility("default"))) void
SHOWN widen(const __half *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = __half2float(x[i]); }
SHOWN narrow(const float *x, __half *y, int n) { for (int i = 0; i < n; i++) y[i] = __float2half(x[i]); }
SHOWN narrow2(const double *x, __half *y, int n) { for (int i = 0; i < n; i++) y[i] = __double2half(x[i]); }
SHOWN down(const float *x, __half *y, int n) { for (int i = 0; i < n; i++) y[i] = __float2half_rd(x[i]); }
SHOWN up(const float *x, __half *y, int n) { for (int i = 0; i < n; i++) y[i] = __float2half_ru(x[i]); }
SHOWN zero(const float *x, __half *y, int n) { for (int i = 0; i < n; i++) y[i] = __float2half_rz(x[i]); }
SHOWN add(const __half *x, const __half *y, __half *z, int n) { for (int i = 0; i < n; i++) z[i] = x[i] + y[i]; }
SHOWN fused(const __half *x, const __half *y, __half *z, int n)
{ for (int i = 0; i < n; i++) z[i] = __hfma(x[i], y[i], z[i]); }
SHOWN pairs(const __half2 *x, const __half2 *y, __half2 *z, int n)
{ for (int i = 0; i < n; i++) z[i] = __hmul2(x[i], y[i]); }
""",
    )

    def call(name: str, *arrays: np.ndarray, count: int | None = None) -> None:
        getattr(library, name)(*(ctypes.c_void_p(a.ctypes.data) for a in arrays), count or len(arrays[0]))

    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = np.empty(65536, np.float32)
    call("widen", every, wide)
    assert_array_equal(wide, every.astype(np.float32))
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    between = wide[np.isfinite(wide)]
    x = np.concatenate([bits, between, np.nextafter(between, np.float32(np.inf)), (between[1:] + between[:-1]) / 2])
    out = np.empty(len(x), np.float16)
    with np.errstate(all="ignore"):
        call("narrow", x, out)
        assert_array_equal(out, x.astype(np.float16))
        doubles = x.astype(np.float64) * (1 + 2.0**-40)
        call("narrow2", doubles, out)
        assert_array_equal(out, doubles.astype(np.float16))
        for name, holds in {
            "down": lambda h: (h <= x) & (np.nextafter(h, np.float16(np.inf)) > x),
            "up": lambda h: (h >= x) & (np.nextafter(h, np.float16(-np.inf)) < x),
            "zero": lambda h: (np.abs(h) <= np.abs(x)) & (np.abs(h) + np.spacing(np.abs(h)) > np.abs(x)),
        }.items():
            call(name, x, out)
            inside = np.abs(x) < 65504
            assert holds(out)[inside].all(), name
        y = rng.permutation(every)
        half = np.empty(65536, np.float16)
        call("add", every, y, half)
        assert_array_equal(half, every + y)
        call("pairs", every, y, half, count=32768)
        assert_array_equal(half, every * y)
        call("fused", every, y, half)
        exact = every.astype(np.float64) * y.astype(np.float64) + (every * y).astype(np.float64)
        assert_array_equal(half, exact.astype(np.float16))


def test_bfloat16_rounds_to_the_nearest_even(tmp_path: Path) -> None:
    library = build(
        tmp_path,
        """#include <cuda_bf16.h>
extern "C" __attribute__((visibility("default"))) float there_and_back(float x) { return __nv_bfloat16(x); }
extern "C" __attribute__((visibility("default"))) float sum(float x, float y)
{ return __bfloat162float(__hadd(__float2bfloat16(x), __float2bfloat16(y))); }
""",
    )
    for name in ("there_and_back", "sum"):
        getattr(library, name).restype = ctypes.c_float
        getattr(library, name).argtypes = [ctypes.c_float] * (2 if name == "sum" else 1)
    assert library.there_and_back(1 + 2**-8) == 1
    assert library.there_and_back(1 + 3 * 2**-8) == 1 + 2**-6
    assert library.there_and_back(3.4e38) == float("inf")
    assert np.isnan(library.there_and_back(float("nan")))
    assert library.sum(1, 2**-8) == 1
    assert library.sum(1, 2**-7) == 1 + 2**-7


# ---------------------------------------------------------------------------------------- launches

KERNELS = """
#define SHOWN extern "C" __attribute__((visibility("default"))) void

__global__ void reversed(int n, const float *x, float *y)
{
    extern __dynshm__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = part[blockDim.x - 1 - threadIdx.x];
}
__global__ void sum(int n, const double *x, double *total)
{
    __shared__ double part[256];
    int t = threadIdx.x;
    part[t] = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) part[t] += x[i];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, part[0]);
}
__global__ void histogram(int n, const unsigned char *x, unsigned *counts)
{
    __shared__ unsigned mine[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&counts[k], mine[k]);
}
__global__ void where(uint3 *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = threadIdx;
}
__global__ void votes(int *out)
{
    int count = __syncthreads_count(threadIdx.x % 3 == 0);
    int any = __syncthreads_or(threadIdx.x == 5), all = __syncthreads_and(threadIdx.x != 5);
    int none = __syncthreads_or(0);
    out[threadIdx.x] = count * 1000 + any * 100 + all * 10 + none;
}
__global__ void early(int *out)
{
    __shared__ int seen;
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    if (threadIdx.x >= 40) return;
    atomicAdd(&seen, 1);
    __syncthreads();
    out[threadIdx.x] = seen;
}
__global__ void warps(int *out)
{
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    for (int half = 16; half > 0; half /= 2) {
        __syncwarp();
        int other = threadIdx.x % 32 < half ? part[threadIdx.x + half] : 0;
        __syncwarp();
        part[threadIdx.x] += other;
    }
    __syncthreads();
    out[threadIdx.x] = part[threadIdx.x / 32 * 32];
}
struct Freed { int *count; ~Freed() { ++*count; } };
__global__ void failing(int limit, int *freed)
{
    Freed guard{freed};
    __syncthreads();
    assert((int)threadIdx.x < limit);
    __syncthreads();
}
__global__ void recursing(int depth, int *out)
{
    volatile char room[1000];
    for (int k = 0; k < 1000; k++) room[k] = (char)depth;
    __syncthreads();
    out[threadIdx.x] = room[999];
}
template <class T> __global__ void scaled(T a, T *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= a; }
__UFM_DYNAMIC_SHARED(part)
SHOWN geometry(unsigned *out) { out[0] = threadIdx.x, out[1] = blockDim.y; __syncthreads(); }
"""
NAMES = "reversed sum histogram where votes early warps failing recursing scaled<double>".split()
KERNELS += "".join(
    f"SHOWN launch_{name.partition('<')[0]}(const unsigned g[3], const unsigned b[3], size_t s, void **a) "
    f"{{ __ufm_launch({name}, g, b, s, a); }}\n"
    for name in NAMES
)


@pytest.fixture(scope="module", params=["own switch", "contexts", "threads"])
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Threads of a block on stacks that are switched in either way, and on threads of the system."""
    words = {"contexts": ["-D__UFM_CUDA_UCONTEXT__"], "threads": ["-D__UFM_CUDA_PTHREADS__", "-pthread"]}
    flags = words.get(request.param, [])
    library = build(tmp_path_factory.mktemp("kernels"), KERNELS, kernels=True, dynamic=True, flags=flags)
    library.__ufm_launch_error.restype = ctypes.c_char_p
    return library


def launch(library: Any, name: str, grid: Sequence[int], block: Sequence[int], *args: Any, shared: int = 0) -> str:
    """Launch a kernel; what it says of itself afterwards."""
    triples = [(ctypes.c_uint * 3)(*(*sides, 1, 1)[:3]) for sides in (grid, block)]
    held = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args]
    pointers = (ctypes.c_void_p * max(1, len(held)))(*(ctypes.addressof(a) for a in held))
    getattr(library, f"launch_{name}")(*triples, ctypes.c_size_t(shared), pointers)
    return (getattr(library, "__ufm_launch_error")() or b"").decode()


def test_barriers_order_what_is_shared(kernels: Any) -> None:
    x = np.arange(500, dtype=np.float32)
    y = np.zeros_like(x)
    assert launch(kernels, "reversed", [4], [128], ctypes.c_int(500), x, y, shared=512) == ""
    padded = np.concatenate([x, np.zeros(12, np.float32)]).reshape(4, 128)
    assert_array_equal(y, padded[:, ::-1].ravel()[:500])


def test_a_block_of_256_reduces(kernels: Any) -> None:
    x = np.random.default_rng(0).random(10_000)
    total = np.zeros(1)
    assert launch(kernels, "sum", [4], [256], ctypes.c_int(len(x)), x, total) == ""
    assert total[0] == pytest.approx(x.sum(), rel=1e-13)


def test_a_histogram_counts_everything(kernels: Any) -> None:
    x = np.random.default_rng(0).integers(0, 256, 20_000, dtype=np.uint8)
    counts = np.zeros(256, np.uint32)
    assert launch(kernels, "histogram", [3], [64], ctypes.c_int(len(x)), x, counts) == ""
    assert_array_equal(counts, np.bincount(x, minlength=256))


def test_every_thread_knows_where_it_is(kernels: Any) -> None:
    out = np.zeros((2 * 3 * 2, 2, 3, 4, 3), np.uint32)
    assert launch(kernels, "where", [2, 3, 2], [4, 3, 2], out) == ""
    z, y, x = np.indices((2, 3, 4))
    assert_array_equal(out, np.broadcast_to(np.stack([x, y, z], axis=-1), out.shape))


def test_votes_of_a_block(kernels: Any) -> None:
    out = np.zeros(32, np.int32)
    assert launch(kernels, "votes", [1], [32], out) == ""
    assert_array_equal(out, 11 * 1000 + 100)


def test_threads_that_have_ended_are_not_waited_for(kernels: Any) -> None:
    out = np.zeros(40, np.int32)
    assert launch(kernels, "early", [1], [64], out) == ""
    assert_array_equal(out, 40)


def test_a_warp_waits_for_its_lanes(kernels: Any) -> None:
    out = np.zeros(64, np.int32)
    assert launch(kernels, "warps", [1], [64], out) == ""
    assert_array_equal(out, np.repeat([sum(range(32)), sum(range(32, 64))], 32))


def test_kernels_that_are_templates_are_launched(kernels: Any) -> None:
    x = np.arange(64.0)
    assert launch(kernels, "scaled", [2], [32], ctypes.c_double(3), x) == ""
    assert_array_equal(x, 3 * np.arange(64.0))


def test_a_full_block_of_threads_that_wait(kernels: Any) -> None:
    out = np.zeros(1024, np.int32)
    assert launch(kernels, "recursing", [2], [1024], ctypes.c_int(7), out) == ""
    assert_array_equal(out, 7)


def test_a_failed_assertion_ends_the_launch_and_unwinds_its_threads(kernels: Any) -> None:
    freed = np.zeros(1, np.int32)
    said = launch(kernels, "failing", [3], [8], ctypes.c_int(5), freed)
    assert said == "Thread (5, 0, 0) of block (0, 0, 0): In[3]:75: assertion `(int)threadIdx.x < limit` failed."
    assert freed[0] == 8
    assert launch(kernels, "failing", [1], [4], ctypes.c_int(5), freed) == ""


@pytest.mark.parametrize(
    ("grid", "block", "shared", "said"),
    [
        ([1], [1025], 0, "1024 in all"),
        ([1], [64, 64], 0, "1024 in all"),
        ([1], [1, 1, 65], 0, "1024 x 1024 x 64"),
        ([0], [32], 0, "at least 1"),
        ([1], [32, 0], 0, "at least 1"),
        ([1, 65536], [1], 0, "65535"),
        ([1], [1], 232449, "232449 bytes of dynamic shared memory are too many"),
    ],
)
def test_launches_beyond_the_limits_of_a_gpu_are_refused(
    kernels: Any, grid: list[int], block: list[int], shared: int, said: str
) -> None:
    assert said in launch(kernels, "where", grid, block, np.zeros(3, np.uint32), shared=shared)


def test_a_simulator_lends_geometry_and_barrier(kernels: Any) -> None:
    calls = []
    hook = ctypes.CFUNCTYPE(None)(lambda: calls.append(1))
    slot = ctypes.c_void_p.in_dll(kernels, "__ufm_barrier")
    triples = [(ctypes.c_uint * 3)(*t) for t in ((3, 0, 0), (0, 0, 0), (8, 2, 1), (1, 1, 1))]
    out = np.zeros(2, np.uint32)
    try:
        slot.value = ctypes.cast(hook, ctypes.c_void_p).value
        kernels.__getattr__("__ufm_set_geometry")(*triples)
        kernels.geometry(ctypes.c_void_p(out.ctypes.data))
    finally:
        slot.value = None
        alone = [(ctypes.c_uint * 3)(*t) for t in ((0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1))]
        kernels.__getattr__("__ufm_set_geometry")(*alone)
    assert (list(out), len(calls)) == ([3, 2], 1)


# ---------------------------------------------------------------------------------------- refusals


def test_shuffles_without_a_mask_are_refused_on_their_line() -> None:
    said = refusal("__device__ int f(int x)\n{\n    return __shfl_xor(x, 1);\n}")
    assert "In[3]:3:" in said
    assert "__shfl_xor_sync(0xffffffff, ...) names the lanes that take part" in said


def test_inline_ptx_is_refused_on_its_line() -> None:
    body = 'float y;\n    asm volatile("rcp.rn.f32 %0, %1;" : "=f"(y) : "f"(x));\n    return y;'
    said = refusal(f"__device__ float f(float x)\n{{\n    {body}\n}}")
    assert "In[3]:4:" in said
    assert "inline PTX has no CPU emulation" in said


@pytest.mark.parametrize("standard", ["-std=gnu++17", "-std=gnu++20"])
def test_everything_a_cell_may_include_goes_together(tmp_path: Path, standard: str) -> None:
    headers = [p.relative_to(TEMPLATES / "cuda") for p in sorted((TEMPLATES / "cuda").rglob("*")) if p.is_file()]
    text = "".join(f"#include <{h.as_posix()}>\n" for h in headers)
    text += "#include <cmath>\n#include <math.h>\n#include <stdlib.h>\n#include <algorithm>\nusing namespace std;\n"
    text += "__device__ float f(float x) { return exp(x) + abs(x) + max(x, 1.0f) + isnan(x) + pow(x, 2.0f); }\n"
    (tmp_path / "curand_kernel.h").touch()  # NVIDIA's own, behind ours
    build(tmp_path, text, kernels=True, flags=[standard, "-fsyntax-only", f"-idirafter{tmp_path}"])


# ------------------------------------------------------------------------------------------ corpus

CORPUS = CELLS / "cuda"


def _references() -> Any:
    spec = importlib.util.spec_from_file_location("cuda_references", CORPUS / "references.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.references()


@pytest.mark.parametrize("place", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("cell", sorted(p.stem for p in CORPUS.glob("*.cu")))
def test_functions_agree_with_numpy_and_scipy(cell: str, place: Literal["cpu", "gpu"]) -> None:
    pytest.importorskip("scipy", reason="SciPy computes the references")
    if place == "gpu" and (why := device.explain_missing()):
        pytest.skip(f"needs a GPU: {why}")
    compiler()
    made = ufunc_magic.compile_cuda((CORPUS / f"{cell}.cu").read_text(encoding="utf-8"), device=place)
    mine = [r for r in _references() if r.cell == cell]
    assert mine
    for reference in mine:
        results = made[reference.name](*reference.operands)
        for got, expected in zip(results if isinstance(results, tuple) else (results,), reference.results, strict=True):
            assert got.dtype in {a.dtype for a in reference.operands} | {np.dtype("i4"), np.dtype("u4"), np.dtype("f4")}
            kind = np.float64 if got.dtype.kind == "f" else np.int64
            assert_allclose(
                got.astype(kind),
                expected.astype(kind),
                rtol=reference.rtol * (1 if place == "cpu" else 4),  # a GPU's erf is good to 2 last places
                atol=reference.atol,
                err_msg=f"{reference.name}: {got.dtype}",
            )


def test_loops_over_cudas_functions_are_simd_code() -> None:
    if compiler()[0].rpartition("/")[2] != "g++":
        pytest.skip("no g++ on this machine")
    if not describe(compilers.find(cplus=True)).libmvec:
        pytest.skip("the C library has no vector functions")
    cell = """__device__ float fast(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ float relu(float x) { return fmaxf(x, 0.0f) + __logf(1.0f + fabsf(x)); }
__device__ double overload(double x) { return exp(-x) * rsqrt(x); }
__device__ float quick(float x) { return exp(-x) + __sinf(x); }
"""
    made = ufunc_magic.compile_cuda(cell, device="cpu")
    code = made.object_code.code
    assert {name for name in (b"_expf", b"_logf", b"_exp", b"_sinf") if b"v" + name + b"\0" in code} >= {
        b"_expf",
        b"_logf",
        b"_sinf",
    }
    x = np.linspace(0.1, 9, 1001, dtype=np.float32)
    assert_allclose(made["fast"](x), 1 / (1 + np.exp(-x)), rtol=1e-6)


def test_zig_compiles_what_gcc_does(tmp_path: Path) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the package ziglang is not installed")
    headers = "".join(f"#include <{name}.h>\n" for name in ("cuda_fp16", "cuda_bf16", "cuComplex", "math_constants"))
    words = "".join(f"#define __UFM_CUDA_{word}__\n" for word in ("KERNELS", "WARPS", "DYNAMIC_SHARED"))
    source = f'{words}#include "{TEMPLATES / "cuda.h"}"\n{headers}{KERNELS}{loops(VALUES)}'
    # An object only: to link C++, zig would first build a library for minutes.
    made = tmp_path / "zig.o"
    flags = [flag for flag in FLAGS if flag != "-shared"]
    command = [sys.executable, "-m", "ziglang", "c++", *flags, "-c", "-x", "c++", "-", "-o", str(made)]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
