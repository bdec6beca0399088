/* Complex numbers of CUDA's header of this name. */
#ifndef __UFM_CUCOMPLEX_H
#define __UFM_CUCOMPLEX_H
#pragma GCC system_header

#include "../cuda.h"

/* Products and quotients as written: no rescue of infinities; a quotient is scaled so that nothing overflows that
   need not, and cuCabs is hypot. */
#define __UFM_COMPLEX(C, T, make, letter)                                                                              \
    __UFM_INLINE C make(T x, T y) { return {x, y}; }                                                                   \
    __UFM_INLINE T cuCreal##letter(C a) { return a.x; }                                                                \
    __UFM_INLINE T cuCimag##letter(C a) { return a.y; }                                                                \
    __UFM_INLINE C cuConj##letter(C a) { return {a.x, -a.y}; }                                                         \
    __UFM_INLINE C cuCadd##letter(C a, C b) { return {a.x + b.x, a.y + b.y}; }                                         \
    __UFM_INLINE C cuCsub##letter(C a, C b) { return {a.x - b.x, a.y - b.y}; }                                         \
    __UFM_INLINE C cuCmul##letter(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }                 \
    __UFM_INLINE C cuCdiv##letter(C a, C b)                                                                            \
    {                                                                                                                  \
        T s = fabs##letter(b.x) + fabs##letter(b.y), r = 1 / s;                                                        \
        T ax = a.x * r, ay = a.y * r, bx = b.x * r, by = b.y * r, t = 1 / (bx * bx + by * by);                         \
        return {(ax * bx + ay * by) * t, (ay * bx - ax * by) * t};                                                     \
    }                                                                                                                  \
    __UFM_INLINE T cuCabs##letter(C a) { return hypot##letter(a.x, a.y); }                                             \
    __UFM_INLINE C cuCfma##letter(C a, C b, C c)                                                                       \
    {                                                                                                                  \
        return {a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x};                                             \
    }
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
__UFM_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
__UFM_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
__UFM_INLINE cuComplex make_cuComplex(float x, float y) { return {x, y}; }
__UFM_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
__UFM_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return {(float)a.x, (float)a.y}; }

#endif
