/* Numbers of 16 bits: computed in float, rounded once; no processor needs to know them. */
#ifndef __UFM_CUDA_HALF_H
#define __UFM_CUDA_HALF_H
#pragma GCC system_header

#include "cuda.h"

/* Without branches, so that loops become SIMD code.  A product with a power of two shifts the exponent, and makes a
   normal number of one that is not. */
__UFM_INLINE float __ufm_wide_half(unsigned short h)
{
    unsigned magnitude = (h & 0x7fffu) << 13;
    float value = __ufm_bits<float>(magnitude) * 0x1p112f;
    unsigned bits = magnitude >= 0x7c00u << 13 ? magnitude | 0x7f800000u : __ufm_bits<unsigned>(value);
    return __ufm_bits<float>(bits | (h & 0x8000u) << 16);
}
/* To the nearest; the sum with 1/2 rounds where a half is below its normal numbers. */
__UFM_INLINE unsigned short __ufm_narrow_half(float x)
{
    unsigned bits = __ufm_bits<unsigned>(x), a = bits & 0x7fffffffu;
    unsigned normal = (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
    unsigned small = __ufm_bits<unsigned>(__ufm_bits<float>(a) + 0.5f) - 0x3f000000u;
    unsigned h = a > 0x7f800000u ? 0x7fffu : a >= 0x477ff000u ? 0x7c00u : a >= 0x38800000u ? normal : small;
    return (unsigned short)(a > 0x7f800000u ? h : h | (bits >> 16 & 0x8000u));
}
__UFM_INLINE float __ufm_wide_bfloat16(unsigned short h) { return __ufm_bits<float>((unsigned)h << 16); }
__UFM_INLINE unsigned short __ufm_narrow_bfloat16(float x)
{
    unsigned bits = __ufm_bits<unsigned>(x), h = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (unsigned short)(x != x ? 0x7fffu : h);
}
/* Rounded to odd: what is rounded again from it is as if rounded once. */
__UFM_INLINE float __ufm_odd(double x)
{
    float f = __double2float_rz(x);
    return f == x || x != x ? f : __ufm_bits<float>(__ufm_bits<unsigned>(f) | 1u);
}
/* h, or its neighbour on the other side of what it was rounded from; the sign is the top bit. */
__UFM_INLINE unsigned short __ufm_beyond(unsigned short h, double rounded, double x, int way)
{
    bool negative = h >> 15;
    if (way == 0)
        way = negative ? 1 : -1;
    if (way < 0)
        return (unsigned short)(rounded > x ? (negative ? h + 1 : h - 1) : h);
    return (unsigned short)(rounded < x ? (negative ? h - 1 : h + 1) : h);
}

#define __UFM_SMALL_OPERATOR(T, op)                                                                                    \
    friend T operator op(T a, T b) { return T((float)a op(float) b); }                                                 \
    friend T &operator op##=(T &a, T b) { return a = a op b; }
#define __UFM_SMALL_RELATION(T, op)                                                                                    \
    friend bool operator op(T a, T b) { return (float)a op(float) b; }
#define __UFM_PAIR_OPERATOR(T2, op)                                                                                    \
    friend T2 operator op(T2 a, T2 b) { return T2(a.x op b.x, a.y op b.y); }                                           \
    friend T2 &operator op##=(T2 &a, T2 b) { return a = a op b; }
#define __UFM_PAIR_RELATION(T2, op)                                                                                    \
    friend bool operator op(T2 a, T2 b) { return a.x op b.x && a.y op b.y; }

#define __UFM_SMALL_TYPE(T, T2, N)                                                                                     \
    struct T##_raw {                                                                                                   \
        unsigned short x;                                                                                              \
    };                                                                                                                 \
    struct __attribute__((__aligned__(2))) T {                                                                         \
        unsigned short __x;                                                                                            \
        T() = default;                                                                                                 \
        T(T##_raw r) : __x(r.x) {}                                                                                     \
        T(float v) : __x(__ufm_narrow_##N(v)) {}                                                                       \
        T(double v) : __x(__ufm_narrow_##N(__ufm_odd(v))) {}                                                           \
        T(short v) : T((float)v) {}                                                                                    \
        T(unsigned short v) : T((float)v) {}                                                                           \
        T(int v) : T((double)v) {}                                                                                     \
        T(unsigned v) : T((double)v) {}                                                                                \
        T(long v) : T((double)v) {}                                                                                    \
        T(unsigned long v) : T((double)v) {}                                                                           \
        T(long long v) : T((double)v) {}                                                                               \
        T(unsigned long long v) : T((double)v) {}                                                                      \
        operator T##_raw() const { return {__x}; }                                                                     \
        operator float() const { return __ufm_wide_##N(__x); }                                                         \
        T operator+() const { return *this; }                                                                          \
        T operator-() const { return T(T##_raw{(unsigned short)(__x ^ 0x8000)}); }                                     \
        T &operator++() { return *this = T((float)*this + 1.0f); }                                                     \
        T &operator--() { return *this = T((float)*this - 1.0f); }                                                     \
        T operator++(int) { T v = *this; ++*this; return v; }                                                          \
        T operator--(int) { T v = *this; --*this; return v; }                                                          \
        __UFM_SMALL_OPERATOR(T, +) __UFM_SMALL_OPERATOR(T, -)                                                          \
        __UFM_SMALL_OPERATOR(T, *) __UFM_SMALL_OPERATOR(T, /)                                                          \
        __UFM_SMALL_RELATION(T, ==) __UFM_SMALL_RELATION(T, !=) __UFM_SMALL_RELATION(T, <)                             \
        __UFM_SMALL_RELATION(T, <=) __UFM_SMALL_RELATION(T, >) __UFM_SMALL_RELATION(T, >=)                             \
    };                                                                                                                 \
    struct __attribute__((__aligned__(4))) T2 {                                                                        \
        T x, y;                                                                                                        \
        T2() = default;                                                                                                \
        T2(T a, T b) : x(a), y(b) {}                                                                                   \
        T2 operator+() const { return *this; }                                                                         \
        T2 operator-() const { return T2(-x, -y); }                                                                    \
        __UFM_PAIR_OPERATOR(T2, +) __UFM_PAIR_OPERATOR(T2, -)                                                          \
        __UFM_PAIR_OPERATOR(T2, *) __UFM_PAIR_OPERATOR(T2, /)                                                          \
        __UFM_PAIR_RELATION(T2, ==) __UFM_PAIR_RELATION(T2, <) __UFM_PAIR_RELATION(T2, <=)                             \
        __UFM_PAIR_RELATION(T2, >) __UFM_PAIR_RELATION(T2, >=)                                                         \
        friend bool operator!=(T2 a, T2 b) { return a.x != b.x && a.y != b.y; }                                        \
    };

/* Functions of T, and the same for both parts of a pair. */
#define __UFM_SMALL_1(T, T2, name, pair, result)                                                                       \
    __UFM_INLINE T name(T a) { float x = a; return T(result); }                                                        \
    __UFM_INLINE T2 pair(T2 a) { return T2(name(a.x), name(a.y)); }
#define __UFM_SMALL_2(T, T2, name, result)                                                                             \
    __UFM_INLINE T name(T a, T b) { float x = a, y = b; return T(result); }
#define __UFM_PAIR_2(T2, pair, name)                                                                                   \
    __UFM_INLINE T2 pair(T2 a, T2 b) { return T2(name(a.x, b.x), name(a.y, b.y)); }
#define __UFM_SMALL_ARITHMETIC(T, T2, name, op)                                                                        \
    __UFM_SMALL_2(T, T2, __h##name, x op y) __UFM_PAIR_2(T2, __h##name##2, __h##name)                                  \
    __UFM_SMALL_2(T, T2, __h##name##_rn, x op y) __UFM_PAIR_2(T2, __h##name##2_rn, __h##name)                          \
    __UFM_SMALL_2(T, T2, __h##name##_sat, __saturatef(x op y)) __UFM_PAIR_2(T2, __h##name##2_sat, __h##name##_sat)
#define __UFM_SMALL_COMPARED(T, T2, name, result)                                                                      \
    __UFM_INLINE bool __h##name(T a, T b) { float x = a, y = b; return result; }                                       \
    __UFM_INLINE bool __h##name##u(T a, T b) { float x = a, y = b; return x != x || y != y || result; }                \
    __UFM_INLINE T2 __h##name##2(T2 a, T2 b)                                                                           \
    {                                                                                                                  \
        return T2(T((float)__h##name(a.x, b.x)), T((float)__h##name(a.y, b.y)));                                       \
    }                                                                                                                  \
    __UFM_INLINE T2 __h##name##u2(T2 a, T2 b)                                                                          \
    {                                                                                                                  \
        return T2(T((float)__h##name##u(a.x, b.x)), T((float)__h##name##u(a.y, b.y)));                                 \
    }                                                                                                                  \
    __UFM_INLINE bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }                 \
    __UFM_INLINE bool __hb##name##u2(T2 a, T2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
#define __UFM_SMALL_FMA(T, T2, end, result)                                                                            \
    __UFM_INLINE T __hfma##end(T a, T b, T c)                                                                          \
    {                                                                                                                  \
        double r = (double)(float)a * (float)b + (double)(float)c;                                                     \
        return T(result);                                                                                              \
    }                                                                                                                  \
    __UFM_INLINE T2 __hfma2##end(T2 a, T2 b, T2 c)                                                                     \
    {                                                                                                                  \
        return T2(__hfma##end(a.x, b.x, c.x), __hfma##end(a.y, b.y, c.y));                                             \
    }

#define __UFM_SMALL_WAY(T, N, end, way)                                                                                \
    __UFM_INLINE T __ufm_##N##_##end(double v)                                                                         \
    {                                                                                                                  \
        T h = T(v);                                                                                                    \
        return T(T##_raw{__ufm_beyond(h.__x, (float)h, v, way)});                                                      \
    }                                                                                                                  \
    __UFM_INLINE T __float2##N##_##end(float v) { return __ufm_##N##_##end((double)v); }                               \
    __UFM_INLINE T __double2##N##_##end(double v) { return __ufm_##N##_##end(v); }                                     \
    __UFM_INLINE T __int2##N##_##end(int v) { return __ufm_##N##_##end((double)v); }                                   \
    __UFM_INLINE T __uint2##N##_##end(unsigned v) { return __ufm_##N##_##end((double)v); }                             \
    __UFM_INLINE T __short2##N##_##end(short v) { return __ufm_##N##_##end((double)v); }                               \
    __UFM_INLINE T __ushort2##N##_##end(unsigned short v) { return __ufm_##N##_##end((double)v); }                     \
    __UFM_INLINE T __ll2##N##_##end(long long v) { return __ufm_##N##_##end(__ll2double_##end(v)); }                   \
    __UFM_INLINE T __ull2##N##_##end(unsigned long long v) { return __ufm_##N##_##end(__ull2double_##end(v)); }
#define __UFM_SMALL_OUT(T, N, end)                                                                                     \
    __UFM_INLINE int __##N##2int_##end(T a) { return __float2int_##end(a); }                                           \
    __UFM_INLINE unsigned __##N##2uint_##end(T a) { return __float2uint_##end(a); }                                    \
    __UFM_INLINE long long __##N##2ll_##end(T a) { return __float2ll_##end(a); }                                       \
    __UFM_INLINE unsigned long long __##N##2ull_##end(T a) { return __float2ull_##end(a); }                            \
    __UFM_INLINE short __##N##2short_##end(T a) { return (short)max(min(__float2int_##end(a), 32767), -32768); }       \
    __UFM_INLINE unsigned short __##N##2ushort_##end(T a) { return (unsigned short)min(__float2uint_##end(a), 65535u); }

#define __UFM_SMALL_FUNCTIONS(T, T2, N, N2)                                                                            \
    __UFM_INLINE T __float2##N(float v) { return T(v); }                                                               \
    __UFM_INLINE T __double2##N(double v) { return T(v); }                                                             \
    __UFM_INLINE float __##N##2float(T a) { return a; }                                                                \
    __UFM_INLINE T __float2##N##_rn(float v) { return T(v); }                                                          \
    __UFM_INLINE T __int2##N##_rn(int v) { return T(v); }                                                              \
    __UFM_INLINE T __uint2##N##_rn(unsigned v) { return T(v); }                                                        \
    __UFM_INLINE T __short2##N##_rn(short v) { return T(v); }                                                          \
    __UFM_INLINE T __ushort2##N##_rn(unsigned short v) { return T(v); }                                                \
    __UFM_INLINE T __ll2##N##_rn(long long v) { return T(v); }                                                         \
    __UFM_INLINE T __ull2##N##_rn(unsigned long long v) { return T(v); }                                               \
    __UFM_SMALL_WAY(T, N, rz, 0) __UFM_SMALL_WAY(T, N, rd, -1) __UFM_SMALL_WAY(T, N, ru, 1)                            \
    __UFM_SMALL_OUT(T, N, rn) __UFM_SMALL_OUT(T, N, rz) __UFM_SMALL_OUT(T, N, rd) __UFM_SMALL_OUT(T, N, ru)            \
    __UFM_INLINE short __##N##_as_short(T a) { return (short)a.__x; }                                                  \
    __UFM_INLINE unsigned short __##N##_as_ushort(T a) { return a.__x; }                                               \
    __UFM_INLINE T __short_as_##N(short v) { return T(T##_raw{(unsigned short)v}); }                                   \
    __UFM_INLINE T __ushort_as_##N(unsigned short v) { return T(T##_raw{v}); }                                         \
    __UFM_INLINE T2 make_##N2(T a, T b) { return T2(a, b); }                                                           \
    __UFM_INLINE T2 __halves2##N2(T a, T b) { return T2(a, b); }                                                       \
    __UFM_INLINE T2 __##N##2##N2(T a) { return T2(a, a); }                                                             \
    __UFM_INLINE T __low2##N(T2 a) { return a.x; }                                                                     \
    __UFM_INLINE T __high2##N(T2 a) { return a.y; }                                                                    \
    __UFM_INLINE float __low2float(T2 a) { return a.x; }                                                               \
    __UFM_INLINE float __high2float(T2 a) { return a.y; }                                                              \
    __UFM_INLINE T2 __low2##N2(T2 a) { return T2(a.x, a.x); }                                                          \
    __UFM_INLINE T2 __high2##N2(T2 a) { return T2(a.y, a.y); }                                                         \
    __UFM_INLINE T2 __lows2##N2(T2 a, T2 b) { return T2(a.x, b.x); }                                                   \
    __UFM_INLINE T2 __highs2##N2(T2 a, T2 b) { return T2(a.y, b.y); }                                                  \
    __UFM_INLINE T2 __lowhigh2highlow(T2 a) { return T2(a.y, a.x); }                                                   \
    __UFM_INLINE T2 __float2##N2##_rn(float v) { return T2(T(v), T(v)); }                                              \
    __UFM_INLINE T2 __floats2##N2##_rn(float v, float w) { return T2(T(v), T(w)); }                                    \
    __UFM_INLINE T2 __float22##N2##_rn(float2 v) { return T2(T(v.x), T(v.y)); }                                        \
    __UFM_INLINE float2 __##N2##2float2(T2 a) { return {(float)a.x, (float)a.y}; }                                     \
    __UFM_SMALL_ARITHMETIC(T, T2, add, +) __UFM_SMALL_ARITHMETIC(T, T2, sub, -)                                        \
    __UFM_SMALL_ARITHMETIC(T, T2, mul, *)                                                                              \
    __UFM_SMALL_2(T, T2, __hdiv, x / y) __UFM_INLINE T2 __h2div(T2 a, T2 b) { return T2(a.x / b.x, a.y / b.y); }       \
    __UFM_SMALL_FMA(T, T2, , r) __UFM_SMALL_FMA(T, T2, _sat, __saturatef(__ufm_odd(r)))                                \
    __UFM_SMALL_FMA(T, T2, _relu, r < 0.0 ? 0.0 : r)                                                                   \
    __UFM_INLINE T __hneg(T a) { return -a; }                                                                          \
    __UFM_INLINE T2 __hneg2(T2 a) { return -a; }                                                                       \
    __UFM_INLINE T __habs(T a) { return T(T##_raw{(unsigned short)(a.__x & 0x7fff)}); }                                \
    __UFM_INLINE T2 __habs2(T2 a) { return T2(__habs(a.x), __habs(a.y)); }                                             \
    __UFM_SMALL_2(T, T2, __hmax, ::fmaxf(x, y)) __UFM_PAIR_2(T2, __hmax2, __hmax)                                      \
    __UFM_SMALL_2(T, T2, __hmin, ::fminf(x, y)) __UFM_PAIR_2(T2, __hmin2, __hmin)                                      \
    __UFM_SMALL_2(T, T2, __hmax_nan, x != x ? x : y != y ? y : ::fmaxf(x, y)) __UFM_PAIR_2(T2, __hmax2_nan, __hmax_nan)\
    __UFM_SMALL_2(T, T2, __hmin_nan, x != x ? x : y != y ? y : ::fminf(x, y)) __UFM_PAIR_2(T2, __hmin2_nan, __hmin_nan)\
    __UFM_INLINE bool __hisnan(T a) { float x = a; return x != x; }                                                    \
    __UFM_INLINE int __hisinf(T a) { float x = a; return x == __builtin_inff() ? 1 : x == -__builtin_inff() ? -1 : 0; }\
    __UFM_INLINE T2 __hisnan2(T2 a) { return T2(T((float)__hisnan(a.x)), T((float)__hisnan(a.y))); }                   \
    __UFM_SMALL_COMPARED(T, T2, eq, x == y) __UFM_SMALL_COMPARED(T, T2, ne, (x < y || x > y))                          \
    __UFM_SMALL_COMPARED(T, T2, lt, x < y) __UFM_SMALL_COMPARED(T, T2, le, x <= y)                                     \
    __UFM_SMALL_COMPARED(T, T2, gt, x > y) __UFM_SMALL_COMPARED(T, T2, ge, x >= y)                                     \
    __UFM_SMALL_1(T, T2, hsqrt, h2sqrt, ::sqrtf(x)) __UFM_SMALL_1(T, T2, hrsqrt, h2rsqrt, ::rsqrtf(x))                 \
    __UFM_SMALL_1(T, T2, hrcp, h2rcp, 1.0f / x) __UFM_SMALL_1(T, T2, hexp, h2exp, ::expf(x))                           \
    __UFM_SMALL_1(T, T2, hexp2, h2exp2, ::exp2f(x)) __UFM_SMALL_1(T, T2, hexp10, h2exp10, ::exp10f(x))                 \
    __UFM_SMALL_1(T, T2, hlog, h2log, ::logf(x)) __UFM_SMALL_1(T, T2, hlog2, h2log2, ::log2f(x))                       \
    __UFM_SMALL_1(T, T2, hlog10, h2log10, ::log10f(x)) __UFM_SMALL_1(T, T2, hsin, h2sin, ::sinf(x))                    \
    __UFM_SMALL_1(T, T2, hcos, h2cos, ::cosf(x)) __UFM_SMALL_1(T, T2, htanh, h2tanh, ::tanhf(x))                       \
    __UFM_SMALL_1(T, T2, hfloor, h2floor, ::floorf(x)) __UFM_SMALL_1(T, T2, hceil, h2ceil, ::ceilf(x))                 \
    __UFM_SMALL_1(T, T2, hrint, h2rint, ::rintf(x)) __UFM_SMALL_1(T, T2, htrunc, h2trunc, ::truncf(x))                 \
    __UFM_ATOMIC(atomicAdd, T, old + x) __UFM_ATOMIC(atomicAdd, T2, old + x)

#endif
