"""The same functions in each language of a cell, and Numba's: the input of ``test_conformance.py``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

C = """
#include <math.h>
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

// ufunc: identity=0
double add(double a, double b) { return a + b; }
double wave(double x) { return x < 0.5 ? 4*x + exp(-x) : log(x); }
float half(float x) { return x / 2; }
float scaled(float x, float by) { return x * by; }
void polar(double x, double y, double *r, double *phi) { *r = sqrt(x*x + y*y); *phi = atan2(y, x); }
// ufunc: identity=1
int64_t product(int64_t a, int64_t b) { return a * b; }
bool positive(double x) { return x > 0; }
double complex rotate(double complex z, double angle) { return z * cexp(I * angle); }
double hypotenuse(double a, double b) { return sqrt(a*a + b*b); }
double inverse(double x) { return x > 0 ? 1 / x : 0; }
int truncate(double x) { return (int)x; }
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
"""

CPLUS = """
#include <cmath>
#include <complex>
#include <cstdint>
#include <numeric>
#include <utility>

// ufunc: identity=0
double add(double a, double b) { return a + b; }
double wave(double x) { return x < 0.5 ? 4*x + std::exp(-x) : std::log(x); }
float half(float x) { return x / 2; }
auto scaled(float x, float by) { return x * by; }
std::pair<double, double> polar(double x, double y) { return {std::sqrt(x*x + y*y), std::atan2(y, x)}; }
// ufunc: identity=1
std::int64_t product(std::int64_t a, std::int64_t b) { return a * b; }
bool positive(double x) { return x > 0; }
std::complex<double> rotate(std::complex<double> z, double angle) { return z * std::polar(1.0, angle); }
double hypotenuse(double a, double b) { return std::sqrt(a*a + b*b); }
double inverse(double x) { return x > 0 ? 1 / x : 0; }
int truncate(double x) { return static_cast<int>(x); }
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) { return std::inner_product(a, a + n, b, 0.0); }
"""

CYTHON = """
from libc.math cimport atan2, cos, exp, log, sin, sqrt

# ufunc: identity=0
cdef double add(double a, double b) noexcept nogil:
    return a + b

cpdef double wave(double x) noexcept nogil:
    return 4*x + exp(-x) if x < 0.5 else log(x)

cpdef float half(float x) noexcept nogil:
    return x / 2

cpdef float scaled(float x, float by) noexcept nogil:
    return x * by

cpdef (double, double) polar(double x, double y) noexcept nogil:
    return sqrt(x*x + y*y), atan2(y, x)

# ufunc: identity=1
cdef long product(long a, long b) noexcept nogil:
    return a * b

cpdef bint positive(double x) noexcept nogil:
    return x > 0

cpdef double complex rotate(double complex z, double angle) noexcept nogil:
    return z * (cos(angle) + 1j * sin(angle))

cpdef double hypotenuse(double a, double b) noexcept nogil:
    return sqrt(a*a + b*b)

cpdef double inverse(double x) noexcept nogil:
    return 1 / x if x > 0 else 0

cpdef int truncate(double x) noexcept nogil:
    return <int>x

# ufunc: (n),(n)->()
cdef double dot(double[:] a, double[:] b) noexcept nogil:
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s
"""

CUDA = """
// ufunc: identity=0
__device__ double add(double a, double b) { return a + b; }
__device__ double wave(double x) { return x < 0.5 ? 4*x + exp(-x) : log(x); }
__device__ float half(float x) { return x / 2; }
__device__ float scaled(float x, float by) { return x * by; }
__device__ void polar(double x, double y, double *r, double *phi) { *r = sqrt(x*x + y*y); *phi = atan2(y, x); }
// ufunc: identity=1
__device__ long long product(long long a, long long b) { return a * b; }
__device__ bool positive(double x) { return x > 0; }
__device__ double hypotenuse(double a, double b) { return sqrt(a*a + b*b); }
__device__ double inverse(double x) { return x > 0 ? 1 / x : 0; }
__device__ int truncate(double x) { return (int)x; }
// ufunc: (n),(n)->()
__device__ double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
"""


def numba_functions() -> dict[str, Any]:
    """The functions as Numba's, compiled; it has no generalized ones."""
    import numba

    @numba.vectorize(["f8(f8, f8)"], identity=0)
    def add(a, b):  # type: ignore[no-untyped-def]
        return a + b

    @numba.njit("f8(f8)")
    def wave(x):  # type: ignore[no-untyped-def]
        return 4 * x + math.exp(-x) if x < 0.5 else math.log(x)

    @numba.njit("f4(f4)")
    def half(x):  # type: ignore[no-untyped-def]
        return x / np.float32(2)

    @numba.njit("f4(f4, f4)")
    def scaled(x, by):  # type: ignore[no-untyped-def]
        return x * by

    @numba.njit("UniTuple(f8, 2)(f8, f8)")
    def polar(x, y):  # type: ignore[no-untyped-def]
        return math.sqrt(x * x + y * y), math.atan2(y, x)

    @numba.vectorize(["i8(i8, i8)"], identity=1)
    def product(a, b):  # type: ignore[no-untyped-def]
        return a * b

    @numba.njit("b1(f8)")
    def positive(x):  # type: ignore[no-untyped-def]
        return x > 0

    @numba.njit("c16(c16, f8)")
    def rotate(z, angle):  # type: ignore[no-untyped-def]
        return z * complex(math.cos(angle), math.sin(angle))

    @numba.njit("f8(f8, f8)")
    def hypotenuse(a, b):  # type: ignore[no-untyped-def]
        return math.sqrt(a * a + b * b)

    @numba.njit("f8(f8)")
    def inverse(x):  # type: ignore[no-untyped-def]
        return 1 / x if x > 0 else 0.0

    @numba.njit("i4(f8)")
    def truncate(x):  # type: ignore[no-untyped-def]
        return np.int32(x)

    functions = (add, wave, half, scaled, polar, product, positive, rotate, hypotenuse, inverse, truncate)
    return {function.__name__: function for function in functions}
