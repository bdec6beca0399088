/* Fast intrinsics, computed accurately, and arithmetic with a rounding of its own. */
#ifndef __UFM_CUDA_FAST_H
#define __UFM_CUDA_FAST_H
#pragma GCC system_header

#include <fenv.h>

/* libm's functions, which have SIMD versions. */
__UFM_INLINE float __expf(float x) { return ::expf(x); }
__UFM_INLINE float __exp10f(float x) { return ::exp10f(x); }
__UFM_INLINE float __logf(float x) { return ::logf(x); }
__UFM_INLINE float __log2f(float x) { return ::log2f(x); }
__UFM_INLINE float __log10f(float x) { return ::log10f(x); }
__UFM_INLINE float __powf(float x, float y) { return ::powf(x, y); }
__UFM_INLINE float __sinf(float x) { return ::sinf(x); }
__UFM_INLINE float __cosf(float x) { return ::cosf(x); }
__UFM_INLINE float __tanf(float x) { return ::tanf(x); }
__UFM_INLINE float __tanhf(float x) { return ::tanhf(x); }
__UFM_INLINE void __sincosf(float x, float *s, float *c) { ::sincosf(x, s, c); }
__UFM_INLINE float __fdividef(float x, float y) { return x / y; }
__UFM_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

/* To the nearest: never joined with an addition or a product of the cell's to an FMA. */
#if defined __GNUC__ && !defined __clang__
#define __UFM_ALONE(x) __builtin_assoc_barrier(x)
#else
#define __UFM_ALONE(x) (x)
#endif
__UFM_INLINE float __fadd_rn(float x, float y) { return __UFM_ALONE(x + y); }
__UFM_INLINE float __fsub_rn(float x, float y) { return __UFM_ALONE(x - y); }
__UFM_INLINE float __fmul_rn(float x, float y) { return __UFM_ALONE(x * y); }
__UFM_INLINE float __fmaf_rn(float x, float y, float z) { return ::fmaf(x, y, z); }
__UFM_INLINE float __fmaf_ieee_rn(float x, float y, float z) { return ::fmaf(x, y, z); }
__UFM_INLINE float __fdiv_rn(float x, float y) { return x / y; }
__UFM_INLINE float __frcp_rn(float x) { return 1.0f / x; }
__UFM_INLINE float __fsqrt_rn(float x) { return ::sqrtf(x); }
__UFM_INLINE float __frsqrt_rn(float x) { return (float)(1.0 / ::sqrt((double)x)); }
__UFM_INLINE double __dadd_rn(double x, double y) { return __UFM_ALONE(x + y); }
__UFM_INLINE double __dsub_rn(double x, double y) { return __UFM_ALONE(x - y); }
__UFM_INLINE double __dmul_rn(double x, double y) { return __UFM_ALONE(x * y); }
__UFM_INLINE double __fma_rn(double x, double y, double z) { return ::fma(x, y, z); }
__UFM_INLINE double __ddiv_rn(double x, double y) { return x / y; }
__UFM_INLINE double __drcp_rn(double x) { return 1.0 / x; }
__UFM_INLINE double __dsqrt_rn(double x) { return ::sqrt(x); }

/* Any other rounding is the processor's: set for one operation, whose operands and result go through memory so that
   the compiler computes nothing at another time. */
template <int Mode> struct __ufm_rounding {
    int before;
    __ufm_rounding() : before(::fegetround()) { ::fesetround(Mode); }
    ~__ufm_rounding() { ::fesetround(before); }
};
#define __UFM_ROUNDED(T, name, mode, parameters, copies, result)                                                       \
    __attribute__((noinline)) static T name parameters                                                             \
    {                                                                                                                  \
        volatile T copies;                                                                                             \
        __ufm_rounding<mode> __m;                                                                                      \
        volatile T __r = result;                                                                                       \
        return __r;                                                                                                    \
    }
#define __UFM_ROUNDINGS(end, mode)                                                                                     \
    __UFM_ROUNDED(float, __fadd_##end, mode, (float x, float y), a = x __UFM_AND b = y, a + b)                         \
    __UFM_ROUNDED(float, __fsub_##end, mode, (float x, float y), a = x __UFM_AND b = y, a - b)                         \
    __UFM_ROUNDED(float, __fmul_##end, mode, (float x, float y), a = x __UFM_AND b = y, a * b)                         \
    __UFM_ROUNDED(float, __fdiv_##end, mode, (float x, float y), a = x __UFM_AND b = y, a / b)                         \
    __UFM_ROUNDED(float, __frcp_##end, mode, (float x), a = x, 1.0f / a)                                               \
    __UFM_ROUNDED(float, __fsqrt_##end, mode, (float x), a = x, ::sqrtf(a))                                            \
    __UFM_ROUNDED(float, __fmaf_##end, mode, (float x, float y, float z), a = x __UFM_AND b = y __UFM_AND c = z,       \
                  ::fmaf(a, b, c))                                                                                     \
    __UFM_INLINE float __fmaf_ieee_##end(float x, float y, float z) { return ::__fmaf_##end(x, y, z); }                \
    __UFM_ROUNDED(double, __dadd_##end, mode, (double x, double y), a = x __UFM_AND b = y, a + b)                      \
    __UFM_ROUNDED(double, __dsub_##end, mode, (double x, double y), a = x __UFM_AND b = y, a - b)                      \
    __UFM_ROUNDED(double, __dmul_##end, mode, (double x, double y), a = x __UFM_AND b = y, a * b)                      \
    __UFM_ROUNDED(double, __ddiv_##end, mode, (double x, double y), a = x __UFM_AND b = y, a / b)                      \
    __UFM_ROUNDED(double, __drcp_##end, mode, (double x), a = x, 1.0 / a)                                              \
    __UFM_ROUNDED(double, __dsqrt_##end, mode, (double x), a = x, ::sqrt(a))                                           \
    __UFM_ROUNDED(double, __fma_##end, mode, (double x, double y, double z), a = x __UFM_AND b = y __UFM_AND c = z,    \
                  ::fma(a, b, c))
#define __UFM_AND ,
__UFM_ROUNDINGS(rz, FE_TOWARDZERO)
__UFM_ROUNDINGS(rd, FE_DOWNWARD)
__UFM_ROUNDINGS(ru, FE_UPWARD)

#endif
