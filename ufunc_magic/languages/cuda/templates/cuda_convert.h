/* Conversions with a rounding, integers saturated as a GPU does, and the bits of numbers. */
#ifndef __UFM_CUDA_CONVERT_H
#define __UFM_CUDA_CONVERT_H
#pragma GCC system_header

/* What PTX says of cvt: out of range is the nearest integer; of a NaN 0, but the middle value where one side has
   64 bits. */
template <class To, class From>
__UFM_INLINE To __ufm_saturated(From x, From below, From above, To least, To most, To none)
{
    return x >= above ? most : x > below ? (To)x : x == x ? least : none;
}
__UFM_INLINE int __ufm_int(float x) { return __ufm_saturated(x, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX, 0); }
__UFM_INLINE int __ufm_int(double x) { return __ufm_saturated(x, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX, INT32_MIN); }
__UFM_INLINE unsigned __ufm_uint(float x) { return __ufm_saturated(x, 0.0f, 0x1p32f, 0u, ~0u, 0u); }
__UFM_INLINE unsigned __ufm_uint(double x) { return __ufm_saturated(x, 0.0, 0x1p32, 0u, ~0u, 1u << 31); }
template <class T> __UFM_INLINE long long __ufm_ll(T x)
{
    return __ufm_saturated(x, (T)-0x1p63, (T)0x1p63, -__LONG_LONG_MAX__ - 1, __LONG_LONG_MAX__, -__LONG_LONG_MAX__ - 1);
}
template <class T> __UFM_INLINE unsigned long long __ufm_ull(T x)
{
    return __ufm_saturated(x, (T)0, (T)0x1p64, 0ull, ~0ull, 1ull << 63);
}
#define __UFM_TO_INTEGERS(T, t, end, round)                                                                            \
    __UFM_INLINE int __##t##2int_##end(T x) { return __ufm_int(round(x)); }                                            \
    __UFM_INLINE unsigned __##t##2uint_##end(T x) { return __ufm_uint(round(x)); }                                     \
    __UFM_INLINE long long __##t##2ll_##end(T x) { return __ufm_ll(round(x)); }                                        \
    __UFM_INLINE unsigned long long __##t##2ull_##end(T x) { return __ufm_ull(round(x)); }
__UFM_TO_INTEGERS(float, float, rn, ::rintf)
__UFM_TO_INTEGERS(float, float, rz, ::truncf)
__UFM_TO_INTEGERS(float, float, rd, ::floorf)
__UFM_TO_INTEGERS(float, float, ru, ::ceilf)
__UFM_TO_INTEGERS(double, double, rn, ::rint)
__UFM_TO_INTEGERS(double, double, rz, ::trunc)
__UFM_TO_INTEGERS(double, double, rd, ::floor)
__UFM_TO_INTEGERS(double, double, ru, ::ceil)

template <class To, class From> __UFM_INLINE To __ufm_bits(From x)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}
__UFM_INLINE int __float_as_int(float x) { return __ufm_bits<int>(x); }
__UFM_INLINE unsigned __float_as_uint(float x) { return __ufm_bits<unsigned>(x); }
__UFM_INLINE float __int_as_float(int x) { return __ufm_bits<float>(x); }
__UFM_INLINE float __uint_as_float(unsigned x) { return __ufm_bits<float>(x); }
__UFM_INLINE long long __double_as_longlong(double x) { return __ufm_bits<long long>(x); }
__UFM_INLINE double __longlong_as_double(long long x) { return __ufm_bits<double>(x); }
__UFM_INLINE int __double2hiint(double x) { return (int)(__ufm_bits<long long>(x) >> 32); }
__UFM_INLINE int __double2loint(double x) { return (int)__ufm_bits<long long>(x); }
__UFM_INLINE double __hiloint2double(int hi, int lo)
{
    return __ufm_bits<double>((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

/* The neighbours of a number, and the number itself where `exact` lies beyond it: rd, ru, rz of something that was
   rounded to the nearest.  `excess` is the sign of what was too much. */
__UFM_INLINE float __ufm_next(float x, bool up)
{
    int i = __ufm_bits<int>(x == 0.0f ? 0.0f : x);
    return x == 0.0f ? (up ? 0x1p-149f : -0x1p-149f) : __ufm_bits<float>(i + ((x > 0.0f) == up ? 1 : -1));
}
__UFM_INLINE double __ufm_next(double x, bool up)
{
    long long i = __ufm_bits<long long>(x);
    return x == 0.0 ? (up ? 0x1p-1074 : -0x1p-1074) : __ufm_bits<double>(i + ((x > 0.0) == up ? 1 : -1));
}
template <class T> __UFM_INLINE T __ufm_rd(T x, int excess) { return excess > 0 ? __ufm_next(x, false) : x; }
template <class T> __UFM_INLINE T __ufm_ru(T x, int excess) { return excess < 0 ? __ufm_next(x, true) : x; }
template <class T> __UFM_INLINE T __ufm_rz(T x, int excess)
{
    return x > 0 ? __ufm_rd(x, excess) : x < 0 ? __ufm_ru(x, excess) : x;
}
template <class T> __UFM_INLINE T __ufm_rn(T x, int) { return x; }
/* Every integer type fits into 128 bits, and so does what it becomes. */
template <class T, class I> __UFM_INLINE int __ufm_excess(T x, I exact)
{
    __int128 a = (__int128)x, b = (__int128)exact;
    return (a > b) - (a < b);
}
__UFM_INLINE int __ufm_excess(float x, double exact) { return ((double)x > exact) - ((double)x < exact); }

#define __UFM_FROM(From, from, To, to, end)                                                                            \
    __UFM_INLINE To __##from##2##to##_##end(From x) { return __ufm_##end((To)x, __ufm_excess((To)x, x)); }
#define __UFM_FROM_ALL(From, from, To, to)                                                                             \
    __UFM_INLINE To __##from##2##to##_rn(From x) { return (To)x; }                                                     \
    __UFM_FROM(From, from, To, to, rz) __UFM_FROM(From, from, To, to, rd) __UFM_FROM(From, from, To, to, ru)
__UFM_FROM_ALL(double, double, float, float)
__UFM_FROM_ALL(int, int, float, float)
__UFM_FROM_ALL(unsigned, uint, float, float)
__UFM_FROM_ALL(long long, ll, float, float)
__UFM_FROM_ALL(unsigned long long, ull, float, float)
__UFM_FROM_ALL(long long, ll, double, double)
__UFM_FROM_ALL(unsigned long long, ull, double, double)
__UFM_INLINE double __int2double_rn(int x) { return x; }
__UFM_INLINE double __uint2double_rn(unsigned x) { return x; }

#endif
