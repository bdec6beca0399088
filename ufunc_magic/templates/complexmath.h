/* Functions of complex numbers, made of functions of real ones that have vector variants.
 *
 * Follows a cell of C that includes <complex.h>: "gnu_inline" bodies of what is declared there.  gcc inlines them into the
 * loops, and vectorizes those.  Zeros, infinities and NaN are those of C17's Annex G, as glibc has them.  Errors, in units
 * of the last place of each part, with those of glibc's vectors: cabs 1.2, carg 2.2, csqrt 2.1, clog 2.5, cexp 5.1.
 */
#define __UFM_INLINE(result) extern inline __attribute__((__gnu_inline__, __always_inline__, __nothrow__, __const__)) result

#ifdef __UFM_WANT_cabs
__UFM_INLINE($real) cabs$f($real _Complex __ufm_z)
{
    return hypot$f(__real__ __ufm_z, __imag__ __ufm_z);
}
#endif

#ifdef __UFM_WANT_carg
__UFM_INLINE($real) carg$f($real _Complex __ufm_z)
{
    return atan2$f(__imag__ __ufm_z, __real__ __ufm_z);
}
#endif

#ifdef __UFM_WANT_cexp
__UFM_INLINE($real _Complex) cexp$f($real _Complex __ufm_z)
{
    const $real __ufm_x = __real__ __ufm_z, __ufm_y = __imag__ __ufm_z;
    /* Where exp(x) is too large, a part may not be: $exp_of_most = exp($most) is multiplied later. */
    const $real __ufm_off = __ufm_x > $most ? (__ufm_x > 2 * $most ? 2 * $most : $most) : 0;
    const $real __ufm_by = __ufm_x > $most ? $exp_of_most : 1, __ufm_more = __ufm_x > 2 * $most ? $exp_of_most : 1;
    const $real __ufm_e = exp$f(__ufm_x - __ufm_off);
    $real __ufm_u = __ufm_by * cos$f(__ufm_y) * __ufm_more * __ufm_e;
    $real __ufm_v = __ufm_by * sin$f(__ufm_y) * __ufm_more * __ufm_e;
    const int __ufm_finite = __builtin_fabs$f(__ufm_y) <= $largest;
    const int __ufm_to_zero = __ufm_x < -$largest, __ufm_to_infinity = __ufm_x > $largest;
    /* 0 and infinity times what is no number. */
    __ufm_u = __ufm_finite || !(__ufm_to_zero || __ufm_to_infinity) ? __ufm_u : __ufm_to_zero ? 0 : __ufm_x;
    __ufm_v = __ufm_finite || !__ufm_to_zero ? __ufm_v : __builtin_copysign$f(0, __ufm_y);
    __ufm_u = __ufm_y == 0 ? __ufm_by * __ufm_more * __ufm_e : __ufm_u;
    __ufm_v = __ufm_y == 0 ? __ufm_y : __ufm_v;
    return __builtin_complex(__ufm_u, __ufm_v);
}
#endif

#ifdef __UFM_WANT_csqrt
__UFM_INLINE($real _Complex) csqrt$f($real _Complex __ufm_z)
{
    const $real __ufm_x = __real__ __ufm_z, __ufm_y = __imag__ __ufm_z;
    const $real __ufm_a = __builtin_fabs$f(__ufm_x), __ufm_b = __builtin_fabs$f(__ufm_y);
    const $real __ufm_most = __ufm_a > __ufm_b ? __ufm_a : __ufm_b;
    const int __ufm_large = __ufm_most > $large, __ufm_small = __ufm_most < $small;
    const $real __ufm_in = __ufm_large ? ($real)0x1p-4 : __ufm_small ? $up * $up : 1;
    const $real __ufm_out = __ufm_large ? 4 : __ufm_small ? 1 / $up : 1;
    const $real __ufm_sx = __ufm_a * __ufm_in, __ufm_sy = __ufm_y * __ufm_in;
    const $real __ufm_root = __builtin_sqrt$f(($real)0.5 * (hypot$f(__ufm_sx, __ufm_sy) + __ufm_sx));
    const $real __ufm_u = __ufm_root * __ufm_out;
    const $real __ufm_v = __ufm_a + __ufm_b == 0 ? __ufm_y : __ufm_sy / (__ufm_root + __ufm_root) * __ufm_out;
    const $real __ufm_re = __ufm_x < 0 ? __builtin_fabs$f(__ufm_v) : __ufm_u;
    const $real __ufm_im = __ufm_x < 0 ? __builtin_copysign$f(__ufm_u, __ufm_y) : __ufm_v;
    const int __ufm_infinite = __ufm_b > $largest;
    return __builtin_complex(__ufm_infinite ? __ufm_b : __ufm_re, __ufm_infinite ? __ufm_y : __ufm_im);
}
#endif

#ifdef __UFM_WANT_clog
/* The upper half of a double's digits: products of halves are exact. */
static inline __attribute__((__always_inline__)) double __ufm_upper$f(double __ufm_a)
{
    long long __ufm_bits;
    __builtin_memcpy(&__ufm_bits, &__ufm_a, sizeof __ufm_bits);
    __ufm_bits = (__ufm_bits + 0x4000000) & -0x8000000LL;
    __builtin_memcpy(&__ufm_a, &__ufm_bits, sizeof __ufm_bits);
    return __ufm_a;
}

/* s = a + b, and e, what its rounding lost. */
#define __UFM_SUM(s, e, a, b) \
    const double s = (a) + (b), s##_ = s - (a), e = ((a) - (s - s##_)) + ((b) - s##_)

/* a * a + b * b - 1.  It is 0 to all digits of a product near |z| = 1, and log|z| is half of it there.  Exact products may
   be fused with sums, or not. */
static inline __attribute__((__always_inline__)) double __ufm_beyond_one$f(double __ufm_a, double __ufm_b)
{
    const double __ufm_ah = __ufm_upper$f(__ufm_a), __ufm_al = __ufm_a - __ufm_ah;
    const double __ufm_bh = __ufm_upper$f(__ufm_b), __ufm_bl = __ufm_b - __ufm_bh;
    __UFM_SUM(__ufm_s, __ufm_se, __ufm_ah * __ufm_ah, -1.0);
    __UFM_SUM(__ufm_t, __ufm_te, __ufm_s, __ufm_bh * __ufm_bh);
    __UFM_SUM(__ufm_m, __ufm_me, 2 * __ufm_ah * __ufm_al, 2 * __ufm_bh * __ufm_bl);
    __UFM_SUM(__ufm_u, __ufm_ue, __ufm_t, __ufm_m);
    __UFM_SUM(__ufm_v, __ufm_ve, __ufm_al * __ufm_al, __ufm_bl * __ufm_bl);
    __UFM_SUM(__ufm_w, __ufm_we, __ufm_u, __ufm_v);
    return __ufm_w + ((__ufm_we + __ufm_ve) + ((__ufm_se + __ufm_te) + (__ufm_me + __ufm_ue)));
}

__UFM_INLINE($real _Complex) clog$f($real _Complex __ufm_z)
{
    const $real __ufm_x = __real__ __ufm_z, __ufm_y = __imag__ __ufm_z;
    const $real __ufm_p = __builtin_fabs$f(__ufm_x), __ufm_q = __builtin_fabs$f(__ufm_y);
    const $real __ufm_a = __ufm_p > __ufm_q ? __ufm_p : __ufm_q, __ufm_b = __ufm_p > __ufm_q ? __ufm_q : __ufm_p;
    const $real __ufm_beyond = ($real)__ufm_beyond_one$f(__ufm_a, __ufm_b), __ufm_ratio = __ufm_b / __ufm_a;
    const int __ufm_near = __ufm_beyond > ($real)-0.75 && __ufm_beyond < 3;
    const $real __ufm_square = __ufm_a > __ufm_b ? __ufm_ratio * __ufm_ratio : __ufm_a > 0 ? 1 : 0;
    const $real __ufm_half = ($real)0.5 * log1p$f(__ufm_near ? __ufm_beyond : __ufm_square);
    $real __ufm_re = (__ufm_near ? 0 : log$f(__ufm_a)) + __ufm_half;
    __ufm_re = __ufm_x != __ufm_x || __ufm_y != __ufm_y ? __ufm_x + __ufm_y : __ufm_re;
    __ufm_re = __ufm_p > $largest || __ufm_q > $largest ? __builtin_inf$f() : __ufm_re;
    return __builtin_complex(__ufm_re, atan2$f(__ufm_y, __ufm_x));
}
#endif
