/* Vector versions of math functions that are faster than glibc's libmvec, under the names gcc calls.
 *
 * `double pow(double, double) __attribute__((simd("notinbranch"), ...))` makes gcc call
 * `_ZGVeN8vv_pow` in a vectorized loop (x86-64 vector ABI: e = AVX-512, N = no mask, 8 lanes,
 * vv = two vectors).  A hidden function of that name in the same library is what the linker binds the
 * call to, ahead of libmvec.so; nothing in the user's text changes, scalar calls stay with libm,
 * and what is not defined here still comes from libmvec.
 *
 * With `__UFM_WANT_<name>` defined this is the unit of one function, compiled once per compiler; it needs
 * no other header.
 *
 * No gathers: with Intel's microcode against Downfall they cost more than the whole of the rest.
 * Tables have 16 entries, which VPERMT2PD looks up in two registers.  Arithmetic goes through the
 * instruction's builtin wherever the order of roundings matters, since -ffp-contract=fast and
 * -ffast-math do not look into those.
 */
#ifndef __UFM_SIMDMATH_H
#define __UFM_SIMDMATH_H

#if defined __GNUC__ && defined __x86_64__ && defined __ELF__ && (defined __clang__ || __GNUC__ >= 11)

/* The user's -pedantic -Werror is for the user's text. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* AVX2 and FMA: 4 doubles, no tables.  clang's -fveclib=libmvec calls these names, too, but passes the
   vector as the whole unit's -march says, whatever the function's target: in memory without AVX. */
#if (defined __UFM_WANT_exp || defined __UFM_WANT_tanh) && (!defined __clang__ || defined __AVX2__)

typedef double __ufm_v4 __attribute__((vector_size(32)));
typedef long long __ufm_i4 __attribute__((vector_size(32)));

#define __UFM_EXPORT4 __attribute__((visibility("hidden"), __UFM_AVX2))
#define __UFM_K4(x) ((__ufm_v4){x, x, x, x})
#define __UFM_FNMA4(a, b, c) __UFM_FMA4(-(a), b, c)
#if defined __clang__
#define __UFM_AVX2 target("avx2,fma")
#define __UFM_FMA4(a, b, c) __builtin_elementwise_fma(a, b, c)
#define __UFM_ADD4(a, b) ((a) + (b))
#define __UFM_SUB4(a, b) ((a) - (b))
#define __UFM_MUL4(a, b) ((a) * (b))
#define __UFM_DIV4(a, b) ((a) / (b))
#else
/* Spelt as the loops' target_clones are: each further spelling costs gcc 10 ms of initialization. */
#define __UFM_AVX2 target("arch=x86-64-v3")
#define __UFM_FMA4(a, b, c) __builtin_ia32_vfmaddpd256(a, b, c)
#define __UFM_ADD4(a, b) __builtin_ia32_addpd256(a, b)
#define __UFM_SUB4(a, b) __builtin_ia32_subpd256(a, b)
#define __UFM_MUL4(a, b) __builtin_ia32_mulpd256(a, b)
#define __UFM_DIV4(a, b) __builtin_ia32_divpd256(a, b)
#endif
/* Both give the second operand where one is NaN. */
#define __UFM_MIN4(a, b) __builtin_ia32_minpd256(a, b)
#define __UFM_MAX4(a, b) __builtin_ia32_maxpd256(a, b)
#define __UFM_SIGN_BIT 0x7fffffffffffffffLL

/* x = n ln 2 + r, |r| <= ln(2)/2; bits: n in the low bits of an integer. */
#define __UFM_REDUCE4(x, n, bits, r) \
    __ufm_v4 shifted_##n = __UFM_FMA4(x, __UFM_K4(0x1.71547652b82fep+0), __UFM_K4(0x1.8p52)); \
    __ufm_i4 bits = (__ufm_i4)shifted_##n; \
    __ufm_v4 n = __UFM_SUB4(shifted_##n, __UFM_K4(0x1.8p52)); \
    __ufm_v4 r = __UFM_FNMA4(n, __UFM_K4(0x1.62e42fefa2000p-1), x); \
    r = __UFM_FNMA4(n, __UFM_K4(0x1.9ef35793c7673p-41), r)

/* exp(r) - 1. */
static inline __attribute__((always_inline, __UFM_AVX2)) __ufm_v4 __ufm_expm1_4(__ufm_v4 r)
{
    __ufm_v4 r2 = __UFM_MUL4(r, r), r4 = __UFM_MUL4(r2, r2);
    __ufm_v4 p1 = __UFM_FMA4(r, __UFM_K4(0x1.555555555555ap-5), __UFM_K4(0x1.5555555555559p-3));
    __ufm_v4 p3 = __UFM_FMA4(r, __UFM_K4(0x1.6c16c16c1443fp-10), __UFM_K4(0x1.111111110f699p-7));
    __ufm_v4 p5 = __UFM_FMA4(r, __UFM_K4(0x1.a01a01b0bcd7fp-16), __UFM_K4(0x1.a01a01afeefaep-13));
    __ufm_v4 p7 = __UFM_FMA4(r, __UFM_K4(0x1.27e4c593c90dap-22), __UFM_K4(0x1.71ddf8384941ep-19));
    __ufm_v4 p9 = __UFM_FMA4(r, __UFM_K4(0x1.1f957855bd35bp-29), __UFM_K4(0x1.af5ef2ce5afc8p-26));
    __ufm_v4 p = __UFM_FMA4(r4, p9, __UFM_FMA4(r2, p7, p5));
    p = __UFM_FMA4(r4, p, __UFM_FMA4(r2, p3, p1));
    p = __UFM_FMA4(r, p, __UFM_K4(0.5));
    return __UFM_FMA4(r2, p, r);
}

#if defined __UFM_WANT_exp
/* Error < 1 ulp. */
__UFM_EXPORT4 __ufm_v4 __ufm_exp4(__ufm_v4 x) __asm__("_ZGVdN4v_exp");
__UFM_EXPORT4 __ufm_v4 __ufm_exp4(__ufm_v4 x)
{
    __ufm_v4 bounded = __UFM_MIN4(__UFM_K4(720.0), __UFM_MAX4(__UFM_K4(-760.0), x));
    __UFM_REDUCE4(bounded, n, bits, r);
    __ufm_v4 result = __UFM_ADD4(__UFM_K4(1.0), __ufm_expm1_4(r));
    /* 704 < 1016 ln 2: beyond, 2^n itself may not be a normal number, and goes in two steps. */
    __ufm_v4 ordinary = __builtin_ia32_cmppd256((__ufm_v4)((__ufm_i4)x & __UFM_SIGN_BIT), __UFM_K4(704.0), 1);
    if (__builtin_expect(__builtin_ia32_movmskpd256(ordinary) == 15, 1))
        return (__ufm_v4)((__ufm_i4)result + (bits << 52));
    __ufm_v4 half = __UFM_FMA4(n, __UFM_K4(0.5), __UFM_K4(0x1.8p52));
    __ufm_v4 other = __UFM_ADD4(__UFM_SUB4(n, __UFM_SUB4(half, __UFM_K4(0x1.8p52))), __UFM_K4(0x1.8p52));
    result = __UFM_MUL4(result, (__ufm_v4)(((__ufm_i4)half + 1023) << 52));
    return __UFM_MUL4(result, (__ufm_v4)(((__ufm_i4)other + 1023) << 52));
}
#endif

#if defined __UFM_WANT_tanh
/* Error < 1.8 ulp. */
__UFM_EXPORT4 __ufm_v4 __ufm_tanh4(__ufm_v4 x) __asm__("_ZGVdN4v_tanh");
__UFM_EXPORT4 __ufm_v4 __ufm_tanh4(__ufm_v4 x)
{
    /* e/(e+2) with e = exp(2|x|) - 1 = (2^n - 1) + 2^n (exp(r) - 1). */
    __ufm_v4 t = __UFM_MIN4(__UFM_K4(50.0), (__ufm_v4)((__ufm_i4)__UFM_ADD4(x, x) & __UFM_SIGN_BIT));
    __UFM_REDUCE4(t, n, bits, r);
    __ufm_v4 s = (__ufm_v4)((bits + 1023) << 52);
    __ufm_v4 m = __ufm_expm1_4(r), less = __UFM_SUB4(s, __UFM_K4(1.0)), e = __UFM_FMA4(s, m, less);
    __ufm_v4 d = __UFM_ADD4(e, __UFM_K4(2.0)), y = __UFM_DIV4(__UFM_K4(1.0), d), q = __UFM_MUL4(e, y);
    /* What the roundings of e, d and q lost, over d. */
    __ufm_v4 rest = __UFM_ADD4(__UFM_FNMA4(q, d, e), __UFM_FMA4(s, m, __UFM_SUB4(less, e)));
    rest = __UFM_FNMA4(q, __UFM_SUB4(e, __UFM_SUB4(d, __UFM_K4(2.0))), rest);
    q = __UFM_FMA4(rest, y, q);
    return (__ufm_v4)((__ufm_i4)q | ((__ufm_i4)x & ~__UFM_SIGN_BIT));
}
#endif
#endif

/* AVX-512; clang never calls these names. */
#if !defined __clang__

typedef double __ufm_v8 __attribute__((vector_size(64)));
typedef long long __ufm_i8 __attribute__((vector_size(64)));
typedef float __ufm_f16 __attribute__((vector_size(64)));
typedef int __ufm_i16 __attribute__((vector_size(64)));
typedef float __ufm_f8 __attribute__((vector_size(32)));

#define __UFM_AVX512 target("arch=x86-64-v4")
#define __UFM_INLINE8 static inline __attribute__((always_inline, __UFM_AVX512))
#define __UFM_EXPORT8 __attribute__((visibility("hidden"), __UFM_AVX512))
#define __UFM_K8(x) ((__ufm_v8){x, x, x, x, x, x, x, x})

#define __UFM_ADD8(a, b) __builtin_ia32_addpd512_mask(a, b, a, -1, 4)
#define __UFM_SUB8(a, b) __builtin_ia32_subpd512_mask(a, b, a, -1, 4)
#define __UFM_MUL8(a, b) __builtin_ia32_mulpd512_mask(a, b, a, -1, 4)
#define __UFM_FMA8(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4)
#define __UFM_FMA_DOWN8(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 9)
#define __UFM_FMS8(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, -(c), -1, 4)
#define __UFM_FNMA8(a, b, c) __builtin_ia32_vfmaddpd512_mask(-(a), b, c, -1, 4)
/* Both give the second operand where one is NaN. */
#define __UFM_MIN8(a, b) __builtin_ia32_minpd512_mask(a, b, a, -1, 4)
#define __UFM_MAX8(a, b) __builtin_ia32_maxpd512_mask(a, b, a, -1, 4)
#define __UFM_SCALE8(a, n) __builtin_ia32_scalefpd512_mask(a, n, a, -1, 4)
#define __UFM_LOOKUP8(table, i) \
    __builtin_shuffle(*(const __ufm_v8 *)(table), *(const __ufm_v8 *)((table) + 8), i)
#define __UFM_CMP8(a, b, predicate) __builtin_ia32_cmppd512_mask(a, b, predicate, -1, 4)
#define __UFM_PICK8(mask, yes, no) __builtin_ia32_blendmpd_512_mask(no, yes, mask)
#define __UFM_ABS8(a) ((__ufm_v8)((__ufm_i8)(a) & 0x7fffffffffffffffLL))
/* For a without a sign bit. */
#define __UFM_SIGN8(a, x) ((__ufm_v8)((__ufm_i8)(a) | ((__ufm_i8)(x) & ~0x7fffffffffffffffLL)))

#define __UFM_K16(x) ((__ufm_f16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x})
#define __UFM_ADD16(a, b) __builtin_ia32_addps512_mask(a, b, a, -1, 4)
#define __UFM_SUB16(a, b) __builtin_ia32_subps512_mask(a, b, a, -1, 4)
#define __UFM_MUL16(a, b) __builtin_ia32_mulps512_mask(a, b, a, -1, 4)
#define __UFM_FMA16(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define __UFM_FMS16(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, -(c), -1, 4)
#define __UFM_FNMA16(a, b, c) __builtin_ia32_vfmaddps512_mask(-(a), b, c, -1, 4)
#define __UFM_MIN16(a, b) __builtin_ia32_minps512_mask(a, b, a, -1, 4)
#define __UFM_SCALE16(a, n) __builtin_ia32_scalefps512_mask(a, n, a, -1, 4)
#define __UFM_LOOKUP16(table, i) \
    __builtin_shuffle(*(const __ufm_f16 *)(table), *(const __ufm_f16 *)((table) + 16), i)
#define __UFM_CMP16(a, b, predicate) __builtin_ia32_cmpps512_mask(a, b, predicate, -1, 4)
#define __UFM_ABS16(a) ((__ufm_f16)((__ufm_i16)(a) & 0x7fffffff))
#define __UFM_SIGN16(a, x) ((__ufm_f16)((__ufm_i16)(a) | ((__ufm_i16)(x) & ~0x7fffffff)))
#define __UFM_HALF16(a, which) __builtin_ia32_extractf32x8_mask(a, which, (__ufm_f8){0}, -1)
#define __UFM_JOIN16(low, high) __builtin_ia32_insertf32x8_mask( \
    __builtin_ia32_insertf32x8_mask((__ufm_f16){0}, low, 0, (__ufm_f16){0}, -1), high, 1, (__ufm_f16){0}, -1)
#define __UFM_WIDEN8(a) __builtin_ia32_cvtps2pd512_mask(a, (__ufm_v8){0}, -1, 4)
#define __UFM_NARROW8(a) __builtin_ia32_cvtpd2ps512_mask(a, (__ufm_f8){0}, -1, 4)

/* 2^(i/16), and what rounding it left, relative. */
static const double __ufm_exp_table[32] __attribute__((aligned(64), unused)) = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0,
    0x0.0p+0, 0x1.79aa65d837b6dp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a894p-54,
    0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6dp-55, 0x1.690cebb7aafb0p-56, 0x1.063e1e21c5409p-54,
    -0x1.3b3efbf5e2228p-54, -0x1.b32dcb94da51dp-56, 0x1.db72fc1f0eab4p-55, 0x1.1affc2b91ce27p-56,
    0x1.c1a7792cb3387p-55, 0x1.36eae30af0cb3p-56, 0x1.4a385a63d07a7p-56, -0x1.ff7128fd391f0p-55};

/* x = 2^k m -> k + log2 of what r, the nearest 1/m with 4 bits after the point, took away; r m - 1. */
#define __UFM_SPLIT8(x, k, index, z) \
    __ufm_v8 k, z; \
    __ufm_i8 index; \
    { \
        __ufm_v8 m = __builtin_ia32_getmantpd512_mask(x, 4, x, -1, 4); \
        __ufm_v8 r = __builtin_ia32_rcp14pd512_mask(m, m, -1); \
        index = ((__ufm_i8)r + (1LL << 47)) & ~((1LL << 48) - 1); \
        r = (__ufm_v8)index; \
        z = __UFM_FMA8(r, m, __UFM_K8(-1.0)); \
        k = __UFM_SUB8(__builtin_ia32_getexppd512_mask(x, x, -1, 4), __builtin_ia32_getexppd512_mask(r, r, -1, 4)); \
        index = (__ufm_i8)((unsigned long long __attribute__((vector_size(64))))index >> 48); \
    }

#if defined __UFM_WANT_exp
/* Error < 0.53 ulp, 0.82 where the result is subnormal. */
__UFM_EXPORT8 __ufm_v8 __ufm_exp8(__ufm_v8 x) __asm__("_ZGVeN8v_exp");
__UFM_EXPORT8 __ufm_v8 __ufm_exp8(__ufm_v8 x)
{
    x = __UFM_MIN8(__UFM_K8(1000.0), __UFM_MAX8(__UFM_K8(-1000.0), x));
    __ufm_v8 shifted = __UFM_FMA8(x, __UFM_K8(0x1.71547652b82fep+4), __UFM_K8(0x1.8p52));
    __ufm_i8 i = (__ufm_i8)shifted;
    __ufm_v8 n = __UFM_SUB8(shifted, __UFM_K8(0x1.8p52));
    __ufm_v8 r = __UFM_FNMA8(n, __UFM_K8(0x1.62e42fefa0000p-5), x);
    r = __UFM_FNMA8(n, __UFM_K8(0x1.cf79abc9e3b3ap-44), r);
    __ufm_v8 rr = __UFM_MUL8(r, r);
    __ufm_v8 q = __UFM_FMA8(r, __UFM_K8(0x1.6c185ebc5a10fp-10), __UFM_K8(0x1.11123b4840bf7p-7));
    __ufm_v8 p = __UFM_FMA8(r, __UFM_K8(0x1.555555545da7dp-5), __UFM_K8(0x1.555555548ebbep-3));
    p = __UFM_FMA8(rr, q, p);
    p = __UFM_FMA8(r, p, __UFM_K8(0x1.0000000000005p-1));
    p = __UFM_FMA8(rr, p, __UFM_ADD8(r, __UFM_LOOKUP8(__ufm_exp_table + 16, i)));
    __ufm_v8 t = __UFM_LOOKUP8(__ufm_exp_table, i);
    return __UFM_SCALE8(__UFM_FMA8(t, p, t), __UFM_MUL8(n, __UFM_K8(0x1p-4)));
}
#endif

#if defined __UFM_WANT_log
/* ln(1+i/16) with 42 bits after the point, and the rest. */
static const double __ufm_log_table[32] __attribute__((aligned(64))) = {
    0x0.0p+0, 0x1.f0a30c0118000p-5, 0x1.e27076e2b0000p-4, 0x1.5ff3070a7a000p-3,
    0x1.c8ff7c79aa000p-3, 0x1.1675cababa000p-2, 0x1.4618bc21c6000p-2, 0x1.739d7f6bbd000p-2,
    0x1.9f323ecbfa000p-2, 0x1.c8ff7c79aa000p-2, 0x1.f128f5faf0000p-2, 0x1.0be72e4252800p-1,
    0x1.1e85f5e704000p-1, 0x1.307d7334f1000p-1, 0x1.41d8fe8467000p-1, 0x1.52a2d265bc800p-1,
    0x0.0p+0, -0x1.d599e83368e91p-45, -0x1.a342c2af0003cp-45, -0x1.8586f183bebf2p-44,
    -0x1.7794f689f8434p-45, 0x1.8380e731f55c4p-44, -0x1.3d82f484c84ccp-46, 0x1.a7389314feb50p-52,
    -0x1.ed03525ca2643p-44, -0x1.7794f689f8434p-44, 0x1.bb2cd720ec44cp-44, 0x1.415b4c4bdd99fp-44,
    0x1.a07bd8b34be7cp-46, 0x1.7c3f6b2143eadp-46, 0x1.5732325e617a3p-44, -0x1.2a88c41ba8752p-44};


/* Error < 0.65 ulp. */
__UFM_EXPORT8 __ufm_v8 __ufm_log8(__ufm_v8 x) __asm__("_ZGVeN8v_log");
__UFM_EXPORT8 __ufm_v8 __ufm_log8(__ufm_v8 x)
{
    __UFM_SPLIT8(x, k, i, z)
    __ufm_v8 a = __UFM_FMA8(k, __UFM_K8(0x1.62e42fefa3800p-1), -__UFM_LOOKUP8(__ufm_log_table, i));
    __ufm_v8 low = __UFM_FMA8(k, __UFM_K8(0x1.ef35793c76730p-45), -__UFM_LOOKUP8(__ufm_log_table + 16, i));
    __ufm_v8 zz = __UFM_MUL8(z, z);
    __ufm_v8 s = __UFM_ADD8(a, z);
    low = __UFM_ADD8(low, __UFM_ADD8(__UFM_SUB8(a, s), z));
    __ufm_v8 p0 = __UFM_FMA8(z, __UFM_K8(0x1.555555555548dp-2), __UFM_K8(-0x1.fffffffffffc5p-2));
    __ufm_v8 p2 = __UFM_FMA8(z, __UFM_K8(0x1.9999999ca364dp-3), __UFM_K8(-0x1.00000000c4d81p-2));
    __ufm_v8 p4 = __UFM_FMA8(z, __UFM_K8(0x1.24922a3813a25p-3), __UFM_K8(-0x1.55553f56588d6p-3));
    __ufm_v8 p6 = __UFM_FMA8(z, __UFM_K8(0x1.c81c4f502d696p-4), __UFM_K8(-0x1.007455fc9832ap-3));
    __ufm_v8 p = __UFM_FMA8(zz, p6, p4);
    p = __UFM_FMA8(zz, p, p2);
    p = __UFM_FMA8(zz, p, p0);
    s = __UFM_ADD8(s, __UFM_FMA8(zz, p, low));
    /* By the class of x: NaN, 0 -> -inf, 1 -> 0, -inf and negative -> NaN, inf -> inf, positive -> s. */
    __ufm_i8 what = (__ufm_i8){0} + 0x03538422;
    /* 0x61: 0 raises "divide by zero", -inf and negative numbers raise "invalid". */
    return __builtin_ia32_fixupimmpd512_mask(s, x, what, 0x61, -1, 4);
}
#endif

#if defined __UFM_WANT_pow || defined __UFM_WANT_powf
/* log2(1+i/16) with 42 bits after the point, and the rest. */
static const double __ufm_log2_table[32] __attribute__((aligned(64))) = {
    0x0.0p+0, 0x1.663f6fac90000p-4, 0x1.5c01a39fbe000p-3, 0x1.fbc16b9026000p-3,
    0x1.49a784bcd2000p-2, 0x1.91bba891f1000p-2, 0x1.d6753e032f000p-2, 0x1.0c10500d63800p-1,
    0x1.2b803473f7800p-1, 0x1.49a784bcd1800p-1, 0x1.66a008e478800p-1, 0x1.82809d5be7000p-1,
    0x1.9d5d9fd501000p-1, 0x1.b74948f553000p-1, 0x1.d053f6d260800p-1, 0x1.e88c6b3626800p-1,
    0x0.0p+0, 0x1.3167ccc538261p-44, -0x1.2f0c0bfe9dbecp-44, 0x1.0144751b3314fp-44,
    -0x1.1d406db502403p-44, 0x1.c22d2cad415aep-44, -0x1.7c407050799bfp-44, 0x1.532c412ba94dbp-44,
    0x1.6879fa00b120ap-44, 0x1.c57f2495fb7fap-44, 0x1.979a5db68721dp-46, 0x1.cb6f70109b0f1p-47,
    0x1.66cccab240e90p-46, 0x1.6d25a5b8a19b2p-44, 0x1.2ce6312ebb81dp-46, 0x1.395510d1e3f81p-44};

/* 2^(high + low) for |high| < 2000, |low| < 1. */
__UFM_INLINE8 __ufm_v8 __ufm_exp2_8(__ufm_v8 high, __ufm_v8 low)
{
    __ufm_v8 shifted = __UFM_ADD8(__UFM_ADD8(high, low), __UFM_K8(0x1.8p48));
    __ufm_i8 i = (__ufm_i8)shifted;
    __ufm_v8 n = __UFM_SUB8(shifted, __UFM_K8(0x1.8p48));
    __ufm_v8 r = __UFM_ADD8(__UFM_SUB8(high, n), low);
    __ufm_v8 rr = __UFM_MUL8(r, r);
    __ufm_v8 p0 = __UFM_FMA8(r, __UFM_K8(0x1.ebfbdff82c59dp-3), __UFM_K8(0x1.62e42fefa39fdp-1));
    __ufm_v8 p2 = __UFM_FMA8(r, __UFM_K8(0x1.3b2ab6fa97033p-7), __UFM_K8(0x1.c6b08d6e889fbp-5));
    __ufm_v8 p4 = __UFM_FMA8(r, __UFM_K8(0x1.430a9a083db48p-13), __UFM_K8(0x1.5d89bf1fb91edp-10));
    __ufm_v8 p = __UFM_FMA8(__UFM_FMA8(rr, p4, p2), rr, p0);
    p = __UFM_FMA8(r, p, __UFM_LOOKUP8(__ufm_exp_table + 16, i));
    __ufm_v8 t = __UFM_LOOKUP8(__ufm_exp_table, i);
    return __UFM_SCALE8(__UFM_FMA8(t, p, t), n);
}

/* Raise a flag: 1/0 "divide by zero", 0/0 "invalid". */
__UFM_INLINE8 void __ufm_divide(double a, double b)
{
    __asm__ volatile("vdivsd %1, %0, %0" : "+x"(a) : "x"(b));
}

/* What C's Annex F says of pow, where high + low is y log2|x| as the fast path has it. */
static __attribute__((noinline, cold, __UFM_AVX512)) __ufm_v8 __ufm_pow_special8(__ufm_v8 x, __ufm_v8 y, __ufm_v8 high, __ufm_v8 low)
{
    __ufm_v8 zero = __UFM_K8(0.0), one = __UFM_K8(1.0), nan = __UFM_K8(__builtin_nan("")), infinity = __UFM_K8(__builtin_inf());
    /* Of zeros and infinities the result is exact, and must not overflow on the way. */
    unsigned char exact = (unsigned char)(__UFM_CMP8(__UFM_ABS8(high), infinity, 0) & (__UFM_CMP8(x, zero, 0) |
        __UFM_CMP8(__UFM_ABS8(x), infinity, 0) | __UFM_CMP8(__UFM_ABS8(y), infinity, 0)));
    unsigned char large = (unsigned char)(exact & __UFM_CMP8(high, zero, 14));
    high = __UFM_PICK8(exact, zero, __UFM_MIN8(__UFM_K8(1500.0), __UFM_MAX8(__UFM_K8(-1500.0), high)));
    low = __UFM_PICK8(__UFM_CMP8(__UFM_ABS8(high), __UFM_K8(1100.0), 1) & ~exact, low, zero);
    __ufm_v8 result = __ufm_exp2_8(high, low);
    result = __UFM_PICK8(exact, __UFM_PICK8(large, infinity, zero), result);
    if (large & __UFM_CMP8(x, zero, 0) & __UFM_CMP8(y, -infinity, 4)) __ufm_divide(1.0, 0.0);

    /* Rounded to even integers at 2^53 and above, so both tests say "even" there. */
    __ufm_v8 half = __UFM_MUL8(y, __UFM_K8(0.5));
    unsigned char integer = __UFM_CMP8(__builtin_ia32_rndscalepd_mask(y, 8, y, -1, 4), y, 0);
    unsigned char odd = (unsigned char)(integer & ~__UFM_CMP8(__builtin_ia32_rndscalepd_mask(half, 8, half, -1, 4), half, 0));
    unsigned char negative = __builtin_ia32_cvtq2mask512((__ufm_i8)x);
    unsigned char finite = __UFM_CMP8(__UFM_ABS8(x), infinity, 1);
    unsigned char nonzero = __UFM_CMP8(x, zero, 4);
    result = __UFM_PICK8(negative & odd, -result, result);
    unsigned char undefined = (unsigned char)(negative & finite & nonzero & ~integer & __UFM_CMP8(y, y, 7));
    result = __UFM_PICK8(undefined, nan, result);
    if (undefined) __ufm_divide(0.0, 0.0);
    result = __UFM_PICK8(__UFM_CMP8(x, y, 3), nan, result);
    unsigned char unit = (unsigned char)(__UFM_CMP8(__UFM_ABS8(x), one, 0) & __UFM_CMP8(__UFM_ABS8(y), infinity, 0));
    return __UFM_PICK8(unit | __UFM_CMP8(x, one, 0) | __UFM_CMP8(y, zero, 0), one, result);
}
#endif

#if defined __UFM_WANT_pow
/* Error < 1.2 ulp; results that are doubles, such as pow(3, 2), come out exact. */
__UFM_EXPORT8 __ufm_v8 __ufm_pow8(__ufm_v8 x, __ufm_v8 y) __asm__("_ZGVeN8vv_pow");
__UFM_EXPORT8 __ufm_v8 __ufm_pow8(__ufm_v8 x, __ufm_v8 y)
{
    __UFM_SPLIT8(x, k, i, z)
    /* ln(1+z) = z - z^2/2 + z^3 p as s + low. */
    __ufm_v8 zz = __UFM_MUL8(z, z), minus_half = __UFM_K8(-0.5);
    __ufm_v8 p1 = __UFM_FMA8(z, __UFM_K8(0x1.9999999999537p-3), __UFM_K8(-0x1.ffffffffffecdp-3));
    __ufm_v8 p3 = __UFM_FMA8(z, __UFM_K8(0x1.2492492964213p-3), __UFM_K8(-0x1.55555557bdc1cp-3));
    __ufm_v8 p5 = __UFM_FMA8(z, __UFM_K8(0x1.c71c2902cf6a6p-4), __UFM_K8(-0x1.ffffcca6fb0b1p-4));
    __ufm_v8 p7 = __UFM_FMA8(z, __UFM_K8(0x1.75556940f9a66p-4), __UFM_K8(-0x1.9a78dd0c978cfp-4));
    __ufm_v8 p = __UFM_FMA8(zz, p7, p5);
    p = __UFM_FMA8(zz, p, p3);
    p = __UFM_FMA8(zz, p, p1);
    p = __UFM_FMA8(z, p, __UFM_K8(0x1.5555555555555p-2));
    __ufm_v8 s = __UFM_FMA8(minus_half, zz, z);
    __ufm_v8 low = __UFM_FMA8(minus_half, zz, __UFM_SUB8(z, s));
    low = __UFM_FMA8(__UFM_FMS8(z, z, zz), __UFM_FMA8(z, p, minus_half), low);
    low = __UFM_FMA8(__UFM_MUL8(zz, z), p, low);
    /* Times 1/ln 2, plus the rest of log2 |x|, times y. */
    __ufm_v8 inverse = __UFM_K8(0x1.71547652b82fep+0);
    __ufm_v8 h = __UFM_MUL8(s, inverse);
    low = __UFM_FMA8(low, inverse, __UFM_FMA8(s, __UFM_K8(0x1.777d0ffda0d24p-56), __UFM_FMS8(s, inverse, h)));
    __ufm_v8 a = __UFM_SUB8(k, __UFM_LOOKUP8(__ufm_log2_table, i));
    __ufm_v8 log2 = __UFM_ADD8(a, h);
    low = __UFM_ADD8(__UFM_SUB8(low, __UFM_LOOKUP8(__ufm_log2_table + 16, i)), __UFM_ADD8(__UFM_SUB8(a, log2), h));
    __ufm_v8 high = __UFM_MUL8(y, log2);
    low = __UFM_FMA8(y, low, __UFM_FMS8(y, log2, high));

    /* x zero, negative, infinite or NaN; |y log2 x| >= 1020 or NaN. */
    unsigned char special = (unsigned char)(__builtin_ia32_fpclasspd512_mask(x, 0xdf, -1) | __UFM_CMP8(__UFM_ABS8(high), __UFM_K8(1020.0), 5));
    if (__builtin_expect(special, 0))
        return __ufm_pow_special8(x, y, high, low);
    return __ufm_exp2_8(high, low);
}
#endif

#if defined __UFM_WANT_tanh
/* Error < 1.9 ulp. */
__UFM_EXPORT8 __ufm_v8 __ufm_tanh8(__ufm_v8 x) __asm__("_ZGVeN8v_tanh");
__UFM_EXPORT8 __ufm_v8 __ufm_tanh8(__ufm_v8 x)
{
    /* e/(e+2) with e = exp(2|x|) - 1 = (s - 1) + s p, s = 2^(n/16); n rounded down so that p >= 0
       and nothing cancels. */
    __ufm_v8 t = __UFM_MIN8(__UFM_K8(50.0), __UFM_ABS8(__UFM_ADD8(x, x)));
    __ufm_v8 shifted = __UFM_FMA_DOWN8(t, __UFM_K8(0x1.71547652b82fep+4), __UFM_K8(0x1.8p52));
    __ufm_i8 i = (__ufm_i8)shifted;
    __ufm_v8 n = __UFM_SUB8(shifted, __UFM_K8(0x1.8p52));
    __ufm_v8 r = __UFM_FNMA8(n, __UFM_K8(0x1.62e42fefa0000p-5), t);
    r = __UFM_FNMA8(n, __UFM_K8(0x1.cf79abc9e3b3ap-44), r);
    __ufm_v8 rr = __UFM_MUL8(r, r);
    __ufm_v8 q = __UFM_FMA8(r, __UFM_K8(0x1.a7f832cc848fbp-13), __UFM_K8(0x1.6c07f724414c2p-10));
    __ufm_v8 p2 = __UFM_FMA8(r, __UFM_K8(0x1.11111eb84bc1fp-7), __UFM_K8(0x1.555555489907ep-5));
    __ufm_v8 p = __UFM_FMA8(r, __UFM_K8(0x1.555555555acb1p-3), __UFM_K8(0x1.fffffffffffe7p-2));
    p = __UFM_FMA8(rr, __UFM_FMA8(rr, q, p2), p);
    p = __UFM_FMA8(rr, p, __UFM_ADD8(r, __UFM_LOOKUP8(__ufm_exp_table + 16, i)));
    __ufm_v8 s = __UFM_SCALE8(__UFM_LOOKUP8(__ufm_exp_table, i), __UFM_MUL8(n, __UFM_K8(0x1p-4)));
    __ufm_v8 e = __UFM_FMA8(s, p, __UFM_SUB8(s, __UFM_K8(1.0)));
    /* The quotient by Newton's method: VDIVPD takes longer than all of the above. */
    __ufm_v8 d = __UFM_ADD8(e, __UFM_K8(2.0));
    __ufm_v8 y = __builtin_ia32_rcp14pd512_mask(d, d, -1);
    y = __UFM_FMA8(y, __UFM_FNMA8(d, y, __UFM_K8(1.0)), y);
    q = __UFM_MUL8(e, y);
    __ufm_v8 rest = __UFM_SUB8(e, __UFM_SUB8(d, __UFM_K8(2.0)));
    rest = __UFM_FNMA8(q, rest, __UFM_FNMA8(q, d, e));
    return __UFM_SIGN8(__UFM_FMA8(rest, y, q), x);
}
#endif

#if defined __UFM_WANT_sinh
/* Error < 1.6 ulp. */
__UFM_EXPORT8 __ufm_v8 __ufm_sinh8(__ufm_v8 x) __asm__("_ZGVeN8v_sinh");
__UFM_EXPORT8 __ufm_v8 __ufm_sinh8(__ufm_v8 x)
{
    /* sinh(c + r) = sinh c cosh r + cosh c sinh r with c = n ln(2)/16. */
    __ufm_v8 t = __UFM_MIN8(__UFM_K8(711.5), __UFM_ABS8(x));
    __ufm_v8 shifted = __UFM_FMA8(t, __UFM_K8(0x1.71547652b82fep+4), __UFM_K8(0x1.8p52));
    __ufm_i8 i = (__ufm_i8)shifted;
    __ufm_v8 n = __UFM_SUB8(shifted, __UFM_K8(0x1.8p52));
    __ufm_v8 r = __UFM_FNMA8(n, __UFM_K8(0x1.62e42fefa0000p-5), t);
    r = __UFM_FNMA8(n, __UFM_K8(0x1.cf79abc9e3b3ap-44), r);
    __ufm_v8 rr = __UFM_MUL8(r, r);
    __ufm_v8 odd = __UFM_FMA8(rr, __UFM_K8(0x1.a01b57a8231e2p-13), __UFM_K8(0x1.11111110b19e4p-7));
    odd = __UFM_FMA8(rr, odd, __UFM_K8(0x1.5555555555557p-3));
    odd = __UFM_FMA8(__UFM_MUL8(rr, r), odd, r);
    __ufm_v8 even = __UFM_FMA8(rr, __UFM_K8(0x1.6c184235428e1p-10), __UFM_K8(0x1.555555547e92ep-5));
    even = __UFM_MUL8(rr, __UFM_FMA8(rr, even, __UFM_K8(0x1.0000000000004p-1)));
    /* Near the largest result exp(c)/2 alone may overflow: work with 1/16 of it there. */
    __ufm_v8 scale = __UFM_PICK8(__UFM_CMP8(n, __UFM_K8(16000.0), 14), __UFM_K8(4.0), __UFM_K8(0.0));
    __ufm_v8 less = __UFM_SUB8(__UFM_K8(-1.0), scale);
    __ufm_v8 up = __UFM_SCALE8(__UFM_LOOKUP8(__ufm_exp_table, i), __UFM_FMA8(n, __UFM_K8(0x1p-4), less));
    __ufm_v8 down = __UFM_SCALE8(__UFM_LOOKUP8(__ufm_exp_table, -i), __UFM_FMA8(n, __UFM_K8(-0x1p-4), less));
    __ufm_v8 difference = __UFM_SUB8(up, down);
    __ufm_v8 low = __UFM_SUB8(__UFM_SUB8(up, difference), down);
    low = __UFM_FMA8(up, __UFM_LOOKUP8(__ufm_exp_table + 16, i), low);
    low = __UFM_FNMA8(down, __UFM_LOOKUP8(__ufm_exp_table + 16, -i), low);
    low = __UFM_FMA8(difference, even, low);
    low = __UFM_FMA8(__UFM_ADD8(up, down), odd, low);
    return __UFM_SIGN8(__UFM_SCALE8(__UFM_ADD8(difference, low), scale), x);
}
#endif

#if defined __UFM_WANT_powf
/* 8 of the 16, in double. */
#define __ufm_powf_special(x, y, high, low, which) __UFM_NARROW8(__ufm_pow_special8( \
    __UFM_WIDEN8(__UFM_HALF16(x, which)), __UFM_WIDEN8(__UFM_HALF16(y, which)), \
    __UFM_WIDEN8(__UFM_HALF16(high, which)), __UFM_WIDEN8(__UFM_HALF16(low, which))))

/* log2(1+i/32) with 15 bits after the point, and the rest; 2^(i/32), and what rounding it left, relative. */
static const float __ufm_powf_table[128] __attribute__((aligned(64))) = {
    0x0.0p+0f, 0x1.6bcp-5f, 0x1.664p-4f, 0x1.08cp-3f, 0x1.5cp-3f, 0x1.acfp-3f, 0x1.fbcp-3f, 0x1.244p-2f,
    0x1.49a8p-2f, 0x1.6e2p-2f, 0x1.91b8p-2f, 0x1.b48p-2f, 0x1.d678p-2f, 0x1.f7a8p-2f, 0x1.0c1p-1f, 0x1.1bf4p-1f,
    0x1.2b8p-1f, 0x1.3abcp-1f, 0x1.49a8p-1f, 0x1.5848p-1f, 0x1.66ap-1f, 0x1.74bp-1f, 0x1.828p-1f, 0x1.901p-1f,
    0x1.9d5cp-1f, 0x1.aa7p-1f, 0x1.b748p-1f, 0x1.c3e8p-1f, 0x1.d054p-1f, 0x1.dc88p-1f, 0x1.e88cp-1f, 0x1.f46p-1f,
    0x0.0p+0f, -0x1.2c8a72p-17f, -0x1.20a6dep-21f, 0x1.62336ap-17f, 0x1.a39fbep-19f, 0x1.78b6d4p-17f, 0x1.6b9026p-19f, 0x1.eac382p-20f,
    -0x1.ed0cbap-20f, 0x1.0e6ce8p-17f, 0x1.d448f8p-17f, -0x1.408c78p-18f, -0x1.60fe68p-17f, 0x1.5a32c2p-20f, 0x1.40358ep-19f, -0x1.dc2d46p-18f,
    0x1.a39fbep-20f, -0x1.80abfcp-18f, -0x1.ed0cbap-19f, 0x1.134c4ep-20f, 0x1.1c8f12p-22f, 0x1.fd64ep-17f, 0x1.3ab7cep-18f, -0x1.9eap-17f,
    0x1.9fd502p-17f, 0x1.1eb002p-18f, 0x1.48f554p-17f, 0x1.ca2e1ap-17f, -0x1.25b3eep-22f, 0x1.9ab4p-17f, 0x1.acd89ap-19f, -0x1.f7431p-17f,
    0x1.0p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f, 0x1.2387a6p+0f, 0x1.29e9ep+0f,
    0x1.306fep+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f, 0x1.4bfdaep+0f, 0x1.5342b6p+0f, 0x1.5ab07ep+0f, 0x1.6247ecp+0f,
    0x1.6a09e6p+0f, 0x1.71f75ep+0f, 0x1.7a1148p+0f, 0x1.82589ap+0f, 0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f,
    0x1.ae89fap+0f, 0x1.b7f77p+0f, 0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f, 0x1.ea4afap+0f, 0x1.f50766p+0f,
    0x0.0p+0f, -0x1.947416p-25f, 0x1.8d96d2p-25f, -0x1.dda2fep-25f, -0x1.9c0c22p-27f, -0x1.a2fbb4p-25f, 0x1.964902p-25f, -0x1.2b0dbcp-25f,
    0x1.125002p-25f, -0x1.cde8cep-26f, 0x1.370be4p-25f, 0x1.336de2p-30f, -0x1.0a3552p-25f, -0x1.c541b6p-26f, -0x1.00d8acp-27f, -0x1.6cb284p-25f,
    0x1.26055cp-26f, 0x1.8b2bb8p-26f, -0x1.05cb44p-25f, -0x1.1c2142p-26f, 0x1.67a1cap-28f, -0x1.348e58p-25f, 0x1.a3b5e4p-28f, -0x1.0b7ec8p-25f,
    -0x1.f9c306p-27f, -0x1.e4c886p-26f, -0x1.6961b4p-28f, -0x1.b5151ep-28f, -0x1.a5217cp-28f, -0x1.ab7132p-26f, 0x1.61428ep-28f, -0x1.2ad5f8p-27f};

/* Error < 0.85 ulp.  As pow, with 32 entries. */
__UFM_EXPORT8 __ufm_f16 __ufm_powf16(__ufm_f16 x, __ufm_f16 y) __asm__("_ZGVeN16vv_powf");
__UFM_EXPORT8 __ufm_f16 __ufm_powf16(__ufm_f16 x, __ufm_f16 y)
{
    __ufm_f16 m = __builtin_ia32_getmantps512_mask(x, 4, x, -1, 4);
    __ufm_f16 r = __builtin_ia32_rcp14ps512_mask(m, m, -1);
    __ufm_i16 i = ((__ufm_i16)r + (1 << 17)) & ~((1 << 18) - 1);
    r = (__ufm_f16)i;
    i >>= 18;
    __ufm_f16 z = __UFM_FMA16(r, m, __UFM_K16(-1.0f));
    __ufm_f16 k = __UFM_SUB16(__builtin_ia32_getexpps512_mask(x, x, -1, 4), __builtin_ia32_getexpps512_mask(r, r, -1, 4));
    __ufm_f16 zz = __UFM_MUL16(z, z), minus_half = __UFM_K16(-0.5f);
    __ufm_f16 p = __UFM_FMA16(z, __UFM_K16(0x1.99b5ep-3f), __UFM_K16(-0x1.00096cp-2f));
    p = __UFM_FMA16(z, p, __UFM_K16(0x1.555556p-2f));
    __ufm_f16 s = __UFM_FMA16(minus_half, zz, z);
    __ufm_f16 low = __UFM_FMA16(minus_half, zz, __UFM_SUB16(z, s));
    low = __UFM_FMA16(__UFM_FMS16(z, z, zz), minus_half, low);
    low = __UFM_FMA16(__UFM_MUL16(zz, z), p, low);
    __ufm_f16 inverse = __UFM_K16(0x1.715476p+0f);
    __ufm_f16 h = __UFM_MUL16(s, inverse);
    low = __UFM_FMA16(low, inverse, __UFM_FMA16(s, __UFM_K16(0x1.4ae0cp-26f), __UFM_FMS16(s, inverse, h)));
    __ufm_f16 a = __UFM_SUB16(k, __UFM_LOOKUP16(__ufm_powf_table, i));
    __ufm_f16 log2 = __UFM_ADD16(a, h);
    low = __UFM_ADD16(__UFM_SUB16(low, __UFM_LOOKUP16(__ufm_powf_table + 32, i)), __UFM_ADD16(__UFM_SUB16(a, log2), h));
    __ufm_f16 high = __UFM_MUL16(y, log2);
    low = __UFM_FMA16(y, low, __UFM_FMS16(y, log2, high));

    unsigned short special = (unsigned short)(__builtin_ia32_fpclassps512_mask(x, 0xdf, -1) | __UFM_CMP16(__UFM_ABS16(high), __UFM_K16(1000.0f), 5));
    if (__builtin_expect(special, 0))
        return __UFM_JOIN16(__ufm_powf_special(x, y, high, low, 0), __ufm_powf_special(x, y, high, low, 1));
    __ufm_f16 shifted = __UFM_ADD16(__UFM_ADD16(high, low), __UFM_K16(0x1.8p18f));
    i = (__ufm_i16)shifted;
    __ufm_f16 n = __UFM_SUB16(shifted, __UFM_K16(0x1.8p18f));
    r = __UFM_ADD16(__UFM_SUB16(high, n), low);
    p = __UFM_FMA16(r, __UFM_K16(0x1.c6b186p-5f), __UFM_K16(0x1.ebfce6p-3f));
    p = __UFM_FMA16(r, p, __UFM_K16(0x1.62e43p-1f));
    p = __UFM_FMA16(r, p, __UFM_LOOKUP16(__ufm_powf_table + 96, i));
    __ufm_f16 t = __UFM_LOOKUP16(__ufm_powf_table + 64, i);
    return __UFM_SCALE16(__UFM_FMA16(t, p, t), n);
}
#endif

#if defined __UFM_WANT_tanhf
/* Rows: c, near 37/128 i, where tanh(c) is almost a float; tanh(c), 1 in the last place; the coefficients of d, d^2, ...
   in tanh(c + d). */
static const float __ufm_tanhf_table[256] __attribute__((aligned(64))) = {
    0x0.0p+0f, 0x1.2774f6p-2f, 0x1.27cf26p-1f, 0x1.bbce48p-1f, 0x1.278776p+0f, 0x1.71db4ap+0f, 0x1.bc7b24p+0f, 0x1.02bc12p+1f,
    0x1.2784dcp+1f, 0x1.4d6654p+1f, 0x1.71d332p+1f, 0x1.97a1ep+1f, 0x1.bbf426p+1f, 0x1.e09634p+1f, 0x1.02f3dcp+2f, 0x1.152414p+2f,
    0x1.280bdap+2f, 0x1.39d574p+2f, 0x1.4d0612p+2f, 0x1.5f49f2p+2f, 0x1.71889ep+2f, 0x1.8457d2p+2f, 0x1.96d582p+2f, 0x1.a9b4e6p+2f,
    0x1.bca14cp+2f, 0x1.ce0698p+2f, 0x1.e0d5ccp+2f, 0x1.f2d29p+2f, 0x1.03ad7p+3f, 0x1.0b929p+3f, 0x1.154224p+3f, 0x1.1e129p+3f,
    0x0.0p+0f, 0x1.1f85a2p-2f, 0x1.0ac46cp-1f, 0x1.66457ap-1f, 0x1.a36f7ep-1f, 0x1.ca0f9cp-1f, 0x1.e12c3ep-1f, 0x1.ee56d8p-1f,
    0x1.f5fbf8p-1f, 0x1.fa6f24p-1f, 0x1.fcd79cp-1f, 0x1.fe3f9ap-1f, 0x1.ff019ap-1f, 0x1.ff706ap-1f, 0x1.ffafd6p-1f, 0x1.ffd296p-1f,
    0x1.ffe6d8p-1f, 0x1.fff192p-1f, 0x1.fff814p-1f, 0x1.fffb86p-1f, 0x1.fffd78p-1f, 0x1.fffe98p-1f, 0x1.ffff36p-1f, 0x1.ffff9p-1f,
    0x1.ffffc2p-1f, 0x1.ffffdcp-1f, 0x1.ffffecp-1f, 0x1.fffff4p-1f, 0x1.fffffap-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f, 1.0f,
    0x1.0p+0f, 0x1.d7a264p-1f, 0x1.75019ep-1f, 0x1.054ccep-1f, 0x1.50c9d8p-2f, 0x1.98c84ap-3f, 0x1.de62dcp-4f, 0x1.15b2e4p-4f,
    0x1.3d5e7ap-5f, 0x1.624758p-6f, 0x1.92f2eap-7f, 0x1.bfa1a8p-8f, 0x1.fc4d9ap-9f, 0x1.1f03bcp-9f, 0x1.408ee8p-10f, 0x1.6b3fe6p-11f,
    0x1.927622p-12f, 0x1.cdb984p-13f, 0x1.fafc18p-14f, 0x1.1e7ec4p-14f, 0x1.43ff28p-15f, 0x1.67ff3cp-16f, 0x1.93fef8p-17f, 0x1.bfff1ap-18f,
    0x1.f0001ep-19f, 0x1.200022p-19f, 0x1.3fffa4p-20f, 0x1.6ccdb2p-21f, 0x1.801604p-22f, 0x1.d4fcaap-23f, 0x1.000216p-23f, 0.0f,
    0x0.0p+0f, -0x1.08da98p-2f, -0x1.84b1e4p-2f, -0x1.6db056p-2f, -0x1.13e686p-2f, -0x1.6db7ap-3f, -0x1.c19536p-4f, -0x1.0c1eb4p-4f,
    -0x1.372922p-5f, -0x1.5e6d68p-6f, -0x1.9076b2p-7f, -0x1.be19a2p-8f, -0x1.fb510ap-9f, -0x1.1eb33cp-9f, -0x1.405cb8p-10f, -0x1.6b1facp-11f,
    -0x1.92625cp-12f, -0x1.cdac7ep-13f, -0x1.faf44p-14f, -0x1.1e7c42p-14f, -0x1.43fd8cp-15f, -0x1.67fe3ep-16f, -0x1.93fe58p-17f, -0x1.bffebap-18f,
    -0x1.efffe6p-19f, -0x1.20000cp-19f, -0x1.3fff96p-20f, -0x1.6ccda6p-21f, -0x1.801604p-22f, -0x1.d4fca2p-23f, -0x1.000214p-23f, 0.0f,
    -0x1.555478p-2f, -0x1.e01bf2p-3f, -0x1.71495ep-5f, 0x1.46be46p-4f, 0x1.c70912p-4f, 0x1.7ddd08p-4f, 0x1.070e0ap-4f, 0x1.4c9cbep-5f,
    0x1.8e917ep-6f, 0x1.c90c84p-7f, 0x1.07ad22p-7f, 0x1.275ca4p-8f, 0x1.50e536p-9f, 0x1.7d6d36p-10f, 0x1.aa9fbep-11f, 0x1.e3d382p-12f,
    0x1.0c26b8p-12f, 0x1.33b68p-13f, 0x1.51ed16p-14f, 0x1.7df3a4p-15f, 0x1.aff7bcp-16f, 0x1.dffa26p-17f, 0x1.0d52e8p-17f, 0x1.2aa8c4p-18f,
    0x1.4aa9cp-19f, 0x1.7fff36p-20f, 0x1.aaa936p-21f, 0x1.e666b4p-22f, 0x1.000e64p-22f, 0x1.38a81ap-23f, 0x1.555786p-24f, 0.0f,
    -0x1.5bc278p-13f, 0x1.3753ccp-3f, 0x1.333df2p-3f, 0x1.02f7f6p-4f, -0x1.38daecp-10f, -0x1.874604p-6f, -0x1.856e8p-6f, -0x1.1cc86ep-6f,
    -0x1.6ea9e2p-7f, -0x1.b4ec86p-8f, -0x1.0120b4p-8f, -0x1.234c32p-9f, -0x1.4e467ap-10f, -0x1.7bc2c8p-11f, -0x1.a994fep-12f, -0x1.e32c22p-13f,
    -0x1.0bf1c4p-13f, -0x1.3398ccp-14f, -0x1.51d80cp-15f, -0x1.7de866p-16f, -0x1.aff43ep-17f, -0x1.dff6e4p-18f, -0x1.0d527p-18f, -0x1.2aa63ep-19f,
    -0x1.4aa3ecp-20f, -0x1.80035ap-21f, -0x1.aaaad4p-22f, -0x1.e66e96p-23f, -0x1.00060ep-23f, -0x1.38b17p-24f, -0x1.555ba2p-25f, 0.0f,
    0x1.16eee8p-3f, 0x1.c8925cp-5f, -0x1.778b98p-5f, -0x1.e3d644p-5f, -0x1.d8dd44p-6f, -0x1.642784p-8f, 0x1.c458dep-9f, 0x1.363516p-8f,
    0x1.e7cap-9f, 0x1.3e693ep-9f, 0x1.879846p-10f, 0x1.c6759cp-11f, 0x1.08121cp-11f, 0x1.2e1d14p-12f, 0x1.53f144p-13f, 0x1.82bc88p-14f,
    0x1.ad878cp-15f, 0x1.ed42c4p-16f, 0x1.0f1546p-16f, 0x1.327ce2p-17f, 0x1.5aa552p-18f, 0x1.814322p-19f, 0x1.b060fep-20f, 0x1.df7aa6p-21f,
    0x1.0960fp-21f, 0x1.34379ap-22f, 0x1.56822ep-23f, 0x1.865da6p-24f, 0x1.9ab564p-25f, 0x1.f583eap-26f, 0x1.11fb6p-26f, 0.0f,
    -0x1.533728p-6f, -0x1.2139bap-4f, -0x1.194914p-5f, 0x1.8c735cp-7f, 0x1.23ba8p-6f, 0x1.1e80a2p-7f, 0x1.259304p-9f, -0x1.f9276p-13f,
    -0x1.8e3cbap-11f, -0x1.56b5f4p-11f, -0x1.d20304p-12f, -0x1.200bcap-12f, -0x1.549466p-13f, -0x1.89382p-14f, -0x1.c00ca4p-15f, -0x1.fb4c42p-16f,
    -0x1.1dccbcp-16f, -0x1.41d0a8p-17f, -0x1.694674p-18f, -0x1.95cd3cp-19f, -0x1.c7a32p-20f, -0x1.ff1c94p-21f, -0x1.1ec12ep-21f, -0x1.418e3ap-22f,
    -0x1.689338p-23f, -0x1.9525c6p-24f, -0x1.c65cp-25f, -0x1.fe116ap-26f, -0x1.1d7484p-26f, -0x1.412e76p-27f, -0x1.680e32p-28f, 0.0f};

/* Error < 1.8 ulp. */
__UFM_EXPORT8 __ufm_f16 __ufm_tanhf16(__ufm_f16 x) __asm__("_ZGVeN16v_tanhf");
__UFM_EXPORT8 __ufm_f16 __ufm_tanhf16(__ufm_f16 x)
{
    __ufm_f16 t = __UFM_MIN16(__UFM_K16(9.1f), __UFM_ABS16(x));
    __ufm_i16 i = (__ufm_i16)__UFM_FMA16(t, __UFM_K16(0x1.bacf92p+1f), __UFM_K16(0x1.8p23f));
    __ufm_f16 d = __UFM_SUB16(t, __UFM_LOOKUP16(__ufm_tanhf_table + 0, i));
    __ufm_f16 p = __UFM_FMA16(d, __UFM_LOOKUP16(__ufm_tanhf_table + 224, i), __UFM_LOOKUP16(__ufm_tanhf_table + 192, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 160, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 128, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 96, i));
    p = __UFM_FMA16(__UFM_MUL16(d, d), p, __UFM_LOOKUP16(__ufm_tanhf_table + 32, i));
    return __UFM_SIGN16(__UFM_FMA16(d, __UFM_LOOKUP16(__ufm_tanhf_table + 64, i), p), x);
}
#endif

#if defined __UFM_WANT_erff
/* Rows: c, near 1/8 i, where erf(c) is almost a float; erf(c), 1 in the last place; the coefficients of d, d^2, ...
   in erf(c + d). */
static const float __ufm_erff_table[224] __attribute__((aligned(64))) = {
    0x0.0p+0f, 0x1.001642p-3f, 0x1.ffed8p-3f, 0x1.801926p-2f, 0x1.001c54p-1f, 0x1.4061fep-1f, 0x1.7f8c6p-1f, 0x1.bf8ebp-1f,
    0x1.00213ep+0f, 0x1.206292p+0f, 0x1.405624p+0f, 0x1.5fe76ep+0f, 0x1.7f6ee4p+0f, 0x1.a09606p+0f, 0x1.bf8f8ep+0f, 0x1.e09856p+0f,
    0x1.000c24p+1f, 0x1.108058p+1f, 0x1.1ffc88p+1f, 0x1.307bb8p+1f, 0x1.4078d4p+1f, 0x1.508ff4p+1f, 0x1.5f55bep+1f, 0x1.706bd2p+1f,
    0x1.7feca2p+1f, 0x1.905c8p+1f, 0x1.a09494p+1f, 0x1.b0463ep+1f, 0x1.c0abfep+1f, 0x1.cfd582p+1f, 0x1.df529p+1f, 0x1.ef529p+1f,
    0x0.0p+0f, 0x1.1f76d4p-3f, 0x1.1aeb8p-2f, 0x1.9de97ap-2f, 0x1.0a97dap-1f, 0x1.3f6436p-1f, 0x1.6bd234p-1f, 0x1.9136c8p-1f,
    0x1.af921p-1f, 0x1.c71976p-1f, 0x1.d8af0cp-1f, 0x1.e56e2cp-1f, 0x1.ee82b4p-1f, 0x1.f50ea2p-1f, 0x1.f9212p-1f, 0x1.fbf04cp-1f,
    0x1.fd9be2p-1f, 0x1.feaa6ap-1f, 0x1.ff402ep-1f, 0x1.ff9b58p-1f, 0x1.ffcbb4p-1f, 0x1.ffe5bcp-1f, 0x1.fff268p-1f, 0x1.fff9dap-1f,
    0x1.fffd18p-1f, 0x1.fffebap-1f, 0x1.ffff74p-1f, 0x1.ffffc4p-1f, 0x1.ffffe8p-1f, 0x1.fffff6p-1f, 0x1.fffffcp-1f, 1.0f,
    0x1.20dd76p+0f, 0x1.1c6234p+0f, 0x1.0f5e5p+0f, 0x1.f5e78ep-1f, 0x1.c1d6e4p-1f, 0x1.868bep-1f, 0x1.499dc8p-1f, 0x1.0d1378p-1f,
    0x1.a8a394p-2f, 0x1.44cf8cp-2f, 0x1.e2ce28p-3f, 0x1.5d41b6p-3f, 0x1.ea61f8p-4f, 0x1.472b64p-4f, 0x1.b2ef8p-5f, 0x1.106bc2p-5f,
    0x1.521b3cp-6f, 0x1.8db3c2p-7f, 0x1.d44d52p-8f, 0x1.01e5dep-8f, 0x1.184ae4p-9f, 0x1.260ad2p-10f, 0x1.3c47bep-11f, 0x1.2a9e9ap-12f,
    0x1.25127ap-13f, 0x1.0add8ep-14f, 0x1.db7a8ap-16f, 0x1.a5baa4p-17f, 0x1.5d44bep-18f, 0x1.2c397ep-19f, 0x1.ec5d22p-21f, 0.0f,
    -0x1.e6dd2ep-16f, -0x1.1c7adap-3f, -0x1.0f547p-2f, -0x1.78863cp-2f, -0x1.c20896p-2f, -0x1.e8c446p-2f, -0x1.edd7bep-2f, -0x1.d66af2p-2f,
    -0x1.a8dabap-2f, -0x1.6de694p-2f, -0x1.2e121ep-2f, -0x1.e018e8p-3f, -0x1.6f3e9p-3f, -0x1.0a332ap-3f, -0x1.7c321ap-4f, -0x1.ff6c36p-5f,
    -0x1.522b48p-5f, -0x1.a75656p-6f, -0x1.07683ep-6f, -0x1.32bd7p-7f, -0x1.5ee19cp-8f, -0x1.829314p-9f, -0x1.b20fa8p-10f, -0x1.adc0c8p-11f,
    -0x1.b7843ep-12f, -0x1.a1590ap-13f, -0x1.82dbccp-14f, -0x1.640d4ap-15f, -0x1.320f78p-16f, -0x1.0ff8f6p-17f, -0x1.ccecaap-19f, 0.0f,
    -0x1.7ecb72p-2f, -0x1.6f5282p-2f, -0x1.3c9c4ap-2f, -0x1.e0e5e4p-3f, -0x1.2ba2dp-3f, -0x1.c3c0e4p-5f, 0x1.ae3058p-6f, 0x1.7b0532p-4f,
    0x1.1baab4p-3f, 0x1.4d0b88p-3f, 0x1.570beap-3f, 0x1.438cbep-3f, 0x1.1cf84ap-3f, 0x1.d4867ep-4f, 0x1.72a2e4p-4f, 0x1.12a20cp-4f,
    0x1.8a9ffep-5f, 0x1.0b461ap-5f, 0x1.64115ap-6f, 0x1.bb7412p-7f, 0x1.0d77dp-7f, 0x1.3a4d6p-8f, 0x1.72ce64p-9f, 0x1.8369cap-10f,
    0x1.9f0398p-11f, 0x1.9cdd3p-12f, 0x1.8fd158p-13f, 0x1.7f36d2p-14f, 0x1.56fb38p-15f, 0x1.3c06f6p-16f, 0x1.157d1cp-17f, 0.0f,
    -0x1.e117ep-5f, 0x1.190368p-4f, 0x1.0393c8p-3f, 0x1.54a676p-3f, 0x1.76683p-3f, 0x1.68b898p-3f, 0x1.34c97cp-3f, 0x1.cd552ep-4f,
    0x1.1ac3cp-4f, 0x1.c42624p-6f, -0x1.a06386p-8f, -0x1.f0ceecp-6f, -0x1.6b23eap-5f, -0x1.96dbb8p-5f, -0x1.8a1daep-5f, -0x1.58ebe8p-5f,
    -0x1.19f44cp-5f, -0x1.ac0da2p-6f, -0x1.39035p-6f, -0x1.a9bc52p-7f, -0x1.175728p-7f, -0x1.5d8ec8p-8f, -0x1.b5a366p-9f, -0x1.e784b4p-10f,
    -0x1.13a02p-10f, -0x1.215706p-11f, -0x1.2683e2p-12f, -0x1.2789cp-13f, -0x1.14bc54p-14f, -0x1.096f64p-15f, -0x1.e46834p-17f, 0.0f,
    0x1.299926p-1f, 0x1.ab9a14p-4f, 0x1.48bf2cp-4f, 0x1.764aep-5f, 0x1.ee38b6p-8f, -0x1.bdaf22p-6f, -0x1.b29c1cp-5f, -0x1.12aedap-4f,
    -0x1.1aeec2p-4f, -0x1.f5de02p-5f, -0x1.82604ap-5f, -0x1.f5c1acp-6f, -0x1.e876a8p-7f, -0x1.1e3e32p-9f, 0x1.af1544p-8f, 0x1.7660fp-7f,
    0x1.ac12p-7f, 0x1.98fdc8p-7f, 0x1.5d1124p-7f, 0x1.11e2cp-7f, 0x1.912c8p-8f, 0x1.14c28cp-8f, 0x1.69d97ap-9f, 0x1.c22a64p-10f,
    0x1.0b403ep-10f, 0x1.2f8c0ep-11f, 0x1.4a6384p-12f, 0x1.59131ap-13f, 0x1.5a4562p-14f, 0x1.4e1e1ap-15f, 0x1.3647f2p-16f, 0.0f};

/* Error < 1.7 ulp. */
__UFM_EXPORT8 __ufm_f16 __ufm_erff16(__ufm_f16 x) __asm__("_ZGVeN16v_erff");
__UFM_EXPORT8 __ufm_f16 __ufm_erff16(__ufm_f16 x)
{
    __ufm_f16 t = __UFM_MIN16(__UFM_K16(3.93f), __UFM_ABS16(x));
    __ufm_i16 i = (__ufm_i16)__UFM_FMA16(t, __UFM_K16(8.0f), __UFM_K16(0x1.8p23f));
    __ufm_f16 d = __UFM_SUB16(t, __UFM_LOOKUP16(__ufm_erff_table + 0, i));
    __ufm_f16 p = __UFM_FMA16(d, __UFM_LOOKUP16(__ufm_erff_table + 192, i), __UFM_LOOKUP16(__ufm_erff_table + 160, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_erff_table + 128, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_erff_table + 96, i));
    p = __UFM_FMA16(__UFM_MUL16(d, d), p, __UFM_LOOKUP16(__ufm_erff_table + 32, i));
    return __UFM_SIGN16(__UFM_FMA16(d, __UFM_LOOKUP16(__ufm_erff_table + 64, i), p), x);
}
#endif

#endif
#pragma GCC diagnostic pop
#endif
#endif
