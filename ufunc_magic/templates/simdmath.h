/* Vector versions of math functions that are faster than glibc's libmvec, under the names gcc calls.
 *
 * `double pow(double, double) __attribute__((simd("notinbranch"), ...))` makes gcc call
 * `_ZGVeN8vv_pow` in a vectorized loop (x86-64 vector ABI: e = AVX-512, N = no mask, 8 lanes,
 * vv = two vectors).  A function of that name in the same object is what the assembler binds the
 * call to, ahead of libmvec.so; nothing in the user's text changes, scalar calls stay with libm,
 * and what is not defined here still comes from libmvec.
 *
 * Define `__UFM_WANT_<name>` for each function the cell calls, before including this file: the
 * rest costs compile time only.
 *
 * No gathers: with Intel's microcode against Downfall they cost more than the whole of the rest.
 * Tables have 16 entries, which VPERMT2PD looks up in two registers.  Arithmetic goes through the
 * instruction's builtin wherever the order of roundings matters, since -ffp-contract=fast and
 * -ffast-math do not look into those.
 */
#ifndef __UFM_SIMDMATH_H
#define __UFM_SIMDMATH_H

#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 9 && defined __x86_64__ && defined __ELF__

typedef double __ufm_v8 __attribute__((vector_size(64)));
typedef long long __ufm_i8 __attribute__((vector_size(64)));
typedef float __ufm_f16 __attribute__((vector_size(64)));
typedef int __ufm_i16 __attribute__((vector_size(64)));
typedef float __ufm_f8 __attribute__((vector_size(32)));

#define __UFM_AVX512 target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma")
#define __UFM_INLINE8 static inline __attribute__((always_inline, __UFM_AVX512))
/* Emitted although no C call is seen: gcc makes the calls itself, by assembler name. */
#define __UFM_EXPORT8 static __attribute__((used, noinline, __UFM_AVX512))
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
#define __UFM_HALF16(a, which) __builtin_ia32_extractf32x8_mask(a, which, (__ufm_f8){}, -1)
#define __UFM_JOIN16(low, high) __builtin_ia32_insertf32x8_mask( \
    __builtin_ia32_insertf32x8_mask((__ufm_f16){}, low, 0, (__ufm_f16){}, -1), high, 1, (__ufm_f16){}, -1)
#define __UFM_WIDEN8(a) __builtin_ia32_cvtps2pd512_mask(a, (__ufm_v8){}, -1, 4)
#define __UFM_NARROW8(a) __builtin_ia32_cvtpd2ps512_mask(a, (__ufm_f8){}, -1, 4)

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
/* Error < 0.53 ulp. */
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


/* Error < 0.62 ulp. */
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
    __ufm_i8 what = (__ufm_i8){} + 0x03538422;
    return __builtin_ia32_fixupimmpd512_mask(s, x, what, 0, -1, 4);
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

/* What C's Annex F says of pow, where high + low is y log2|x| as the fast path has it. */
static __attribute__((noinline, cold, __UFM_AVX512)) __ufm_v8 __ufm_pow_special8(__ufm_v8 x, __ufm_v8 y, __ufm_v8 high, __ufm_v8 low)
{
    __ufm_v8 zero = __UFM_K8(0.0), one = __UFM_K8(1.0), nan = __UFM_K8(__builtin_nan(""));
    high = __UFM_MIN8(__UFM_K8(1500.0), __UFM_MAX8(__UFM_K8(-1500.0), high));
    low = __UFM_PICK8(__UFM_CMP8(__UFM_ABS8(high), __UFM_K8(1100.0), 1), low, zero);
    __ufm_v8 result = __ufm_exp2_8(high, low);

    /* Rounded to even integers at 2^53 and above, so both tests say "even" there. */
    __ufm_v8 half = __UFM_MUL8(y, __UFM_K8(0.5));
    unsigned char integer = __UFM_CMP8(__builtin_ia32_rndscalepd_mask(y, 8, y, -1, 4), y, 0);
    unsigned char odd = integer & ~__UFM_CMP8(__builtin_ia32_rndscalepd_mask(half, 8, half, -1, 4), half, 0);
    unsigned char negative = __builtin_ia32_cvtq2mask512((__ufm_i8)x);
    unsigned char finite = __UFM_CMP8(__UFM_ABS8(x), __UFM_K8(__builtin_inf()), 1);
    unsigned char nonzero = __UFM_CMP8(x, zero, 4);
    result = __UFM_PICK8(negative & odd, -result, result);
    result = __UFM_PICK8(negative & finite & nonzero & ~integer, nan, result);
    result = __UFM_PICK8(__UFM_CMP8(x, y, 3), nan, result);
    unsigned char unit = __UFM_CMP8(__UFM_ABS8(x), one, 0) & __UFM_CMP8(__UFM_ABS8(y), __UFM_K8(__builtin_inf()), 0);
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
    unsigned char special = __builtin_ia32_fpclasspd512_mask(x, 0xdf, -1) | __UFM_CMP8(__UFM_ABS8(high), __UFM_K8(1020.0), 5);
    if (__builtin_expect(special, 0))
        return __ufm_pow_special8(x, y, high, low);
    return __ufm_exp2_8(high, low);
}
#endif

#if defined __UFM_WANT_tanh
/* Error < @tanh@ ulp. */
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
/* Error < @sinh@ ulp. */
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

/* Error < @powf@ ulp.  As pow, with 32 entries. */
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

    unsigned short special = __builtin_ia32_fpclassps512_mask(x, 0xdf, -1) | __UFM_CMP16(__UFM_ABS16(high), __UFM_K16(1000.0f), 5);
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
/* Row 0: tanh(c), c = 37/128 i; row k: the coefficient of d^k in tanh(c + d), |d| < 37/256. */
static const float __ufm_tanhf_table[224] __attribute__((aligned(64))) = {
    0x0.0p+0f, 0x1.2005bp-2f, 0x1.0ae802p-1f, 0x1.665ed8p-1f, 0x1.a3beaap-1f, 0x1.ca1e42p-1f, 0x1.e10f6ep-1f, 0x1.ee693ap-1f,
    0x1.f60efcp-1f, 0x1.fa6644p-1f, 0x1.fcd9dp-1f, 0x1.fe3b28p-1f, 0x1.ff01cap-1f, 0x1.ff7156p-1f, 0x1.ffaff4p-1f, 0x1.ffd318p-1f,
    0x1.ffe6cep-1f, 0x1.fff1dep-1f, 0x1.fff812p-1f, 0x1.fffb8ep-1f, 0x1.fffd82p-1f, 0x1.fffe9ap-1f, 0x1.ffff38p-1f, 0x1.ffff9p-1f,
    0x1.ffffcp-1f, 0x1.ffffdcp-1f, 0x1.ffffecp-1f, 0x1.fffff4p-1f, 0x1.fffffap-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f, 0x1.fffffep-1f,
    0x1.0p+0f, 0x1.d77e66p-1f, 0x1.74dc86p-1f, 0x1.05294cp-1f, 0x1.4fc652p-2f, 0x1.985f72p-3f, 0x1.e01418p-4f, 0x1.1496dap-4f,
    0x1.3b09fp-5f, 0x1.647958p-6f, 0x1.91dafp-7f, 0x1.c40f86p-8f, 0x1.fbefbp-9f, 0x1.1d2b52p-9f, 0x1.401574p-10f, 0x1.6732a2p-11f,
    0x1.930b44p-12f, 0x1.c4366ap-13f, 0x1.fb5c4cp-14f, 0x1.1c9c6cp-14f, 0x1.3f4f34p-15f, 0x1.663c54p-16f, 0x1.91e7e6p-17f, 0x1.c2e612p-18f,
    0x1.f9dcfep-19f, 0x1.1bc388p-19f, 0x1.3e5ab2p-20f, 0x1.652946p-21f, 0x1.90b2dap-22f, 0x1.c18b0cp-23f, 0x1.f8577cp-24f, 0x1.1ae8fcp-24f,
    0x0.0p+0f, -0x1.093c5p-2f, -0x1.84bf12p-2f, -0x1.6d9886p-2f, -0x1.1345d8p-2f, -0x1.6d6582p-3f, -0x1.c31156p-4f, -0x1.0b1666p-4f,
    -0x1.34ebf6p-5f, -0x1.60932p-6f, -0x1.8f622ep-7f, -0x1.c27fb2p-8f, -0x1.faf37ep-9f, -0x1.1cdbdcp-9f, -0x1.3fe36ap-10f, -0x1.67132p-11f,
    -0x1.92f77p-12f, -0x1.c429eep-13f, -0x1.fb547p-14f, -0x1.1c99f4p-14f, -0x1.3f4da6p-15f, -0x1.663b5ap-16f, -0x1.91e74ap-17f, -0x1.c2e5aep-18f,
    -0x1.f9dcbep-19f, -0x1.1bc374p-19f, -0x1.3e5aa6p-20f, -0x1.65293ep-21f, -0x1.90b2d4p-22f, -0x1.c18b0ap-23f, -0x1.f8577ap-24f, -0x1.1ae8fap-24f,
    -0x1.555552p-2f, -0x1.df72c6p-3f, -0x1.6f7466p-5f, 0x1.4722cap-4f, 0x1.c6fedcp-4f, 0x1.7da4e6p-4f, 0x1.07c98p-4f, 0x1.4b6ee4p-5f,
    0x1.8bd236p-6f, 0x1.cbc916p-7f, 0x1.06f95ap-7f, 0x1.2a40f8p-8f, 0x1.50a756p-9f, 0x1.7afb7p-10f, 0x1.a9fe68p-11f, 0x1.de6f4ep-12f,
    0x1.0c8a06p-12f, 0x1.2d6018p-13f, 0x1.522d32p-14f, 0x1.7b70a4p-15f, 0x1.a9b7ecp-16f, 0x1.dda0f8p-17f, 0x1.0bee34p-17f, 0x1.2c980cp-18f,
    0x1.513ce2p-19f, 0x1.7a5908p-20f, 0x1.a877f2p-21f, 0x1.dc3606p-22f, 0x1.0b215ep-22f, 0x1.2bb174p-23f, 0x1.5039bp-24f, 0x1.7935eep-25f,
    0x0.0p+0f, 0x1.37a128p-3f, 0x1.33110ap-3f, 0x1.028274p-4f, -0x1.7e2b58p-10f, -0x1.878584p-6f, -0x1.85f64p-6f, -0x1.1bfaap-6f,
    -0x1.6c60ap-7f, -0x1.b76a6ep-8f, -0x1.00759ap-8f, -0x1.261ddp-9f, -0x1.4e0962p-10f, -0x1.7954a6p-11f, -0x1.a8f3f2p-12f, -0x1.ddc784p-13f,
    -0x1.0c553ap-13f, -0x1.2d3ee4p-14f, -0x1.521854p-15f, -0x1.7b638cp-16f, -0x1.a9afbap-17f, -0x1.dd9bdcp-18f, -0x1.0becap-18f, -0x1.2c9716p-19f,
    -0x1.513c5p-20f, -0x1.7a58b6p-21f, -0x1.a877cap-22f, -0x1.dc35fap-23f, -0x1.0b216p-23f, -0x1.2bb17ep-24f, -0x1.5039bep-25f, -0x1.793602p-26f,
    0x1.110b92p-3f, 0x1.c6bb52p-5f, -0x1.782ec8p-5f, -0x1.e39d56p-5f, -0x1.d5a77ep-6f, -0x1.623696p-8f, 0x1.c0fd7ep-9f, 0x1.3604cp-8f,
    0x1.e58b9ap-9f, 0x1.4004f4p-9f, 0x1.86a408p-10f, 0x1.cabea6p-11f, 0x1.07e298p-11f, 0x1.2c36cep-12f, 0x1.53713ep-13f, 0x1.7e7b3cp-14f,
    0x1.ae2712p-15f, 0x1.e33f4cp-16f, 0x1.0f48ecp-16f, 0x1.307c1ap-17f, 0x1.55aee8p-18f, 0x1.7f62bap-19f, 0x1.ae26fep-20f, 0x1.e29b9p-21f,
    0x1.0eb98ep-21f, 0x1.2fbad4p-22f, 0x1.54c1aap-23f, 0x1.7e4bb6p-24f, 0x1.ace5e2p-25f, 0x1.e12e3ap-26f, 0x1.0deb04p-26f, 0x1.2ed21ap-27f,
    0x0.0p+0f, -0x1.213a8ap-4f, -0x1.1942c2p-5f, 0x1.8c8078p-7f, 0x1.23b06ep-6f, 0x1.1e7962p-7f, 0x1.25bf6ap-9f, -0x1.fa1e2ep-13f,
    -0x1.8e44acp-11f, -0x1.56c392p-11f, -0x1.d1f6cap-12f, -0x1.202a2ap-12f, -0x1.54916ep-13f, -0x1.891b2ep-14f, -0x1.c0042p-15f, -0x1.fb0c16p-16f,
    -0x1.1dd24cp-16f, -0x1.418a7cp-17f, -0x1.694a18p-18f, -0x1.95ada4p-19f, -0x1.c7595ap-20f, -0x1.fefe4ap-21f, -0x1.1eaf48p-21f, -0x1.41a88ep-22f,
    -0x1.68e29ep-23f, -0x1.94e32ap-24f, -0x1.c63fcep-25f, -0x1.fda032p-26f, -0x1.1de02p-26f, -0x1.40b95ep-27f, -0x1.67d202p-28f, -0x1.93aea2p-29f};

/* Error < @tanhf@ ulp. */
__UFM_EXPORT8 __ufm_f16 __ufm_tanhf16(__ufm_f16 x) __asm__("_ZGVeN16v_tanhf");
__UFM_EXPORT8 __ufm_f16 __ufm_tanhf16(__ufm_f16 x)
{
    __ufm_f16 t = __UFM_MIN16(__UFM_K16(9.1f), __UFM_ABS16(x));
    __ufm_f16 shifted = __UFM_FMA16(t, __UFM_K16(0x1.bacf92p+1f), __UFM_K16(0x1.8p23f));
    __ufm_i16 i = (__ufm_i16)shifted;
    __ufm_f16 d = __UFM_FNMA16(__UFM_SUB16(shifted, __UFM_K16(0x1.8p23f)), __UFM_K16(0x1.28p-2f), t);
    __ufm_f16 p = __UFM_FMA16(d, __UFM_LOOKUP16(__ufm_tanhf_table + 192, i), __UFM_LOOKUP16(__ufm_tanhf_table + 160, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 128, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 96, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_tanhf_table + 64, i));
    p = __UFM_FMA16(__UFM_MUL16(d, d), p, __UFM_LOOKUP16(__ufm_tanhf_table, i));
    return __UFM_SIGN16(__UFM_FMA16(d, __UFM_LOOKUP16(__ufm_tanhf_table + 32, i), p), x);
}
#endif

#if defined __UFM_WANT_erff
/* Row 0: erf(i/8); row k: the coefficient of d^k in erf(i/8 + d), |d| < 1/16. */
static const float __ufm_erff_table[192] __attribute__((aligned(64))) = {
    0x0.0p+0f, 0x1.1f5e1ap-3f, 0x1.1af54ep-2f, 0x1.9dd0d2p-2f, 0x1.0a7ef6p-1f, 0x1.3f196ep-1f, 0x1.6c1c98p-1f, 0x1.91724ap-1f,
    0x1.af767ap-1f, 0x1.c6dad2p-1f, 0x1.d8865ep-1f, 0x1.e5768cp-1f, 0x1.eea556p-1f, 0x1.f4f694p-1f, 0x1.f92d08p-1f, 0x1.fbe61ep-1f,
    0x1.fd9ae2p-1f, 0x1.fea422p-1f, 0x1.ff4048p-1f, 0x1.ff996p-1f, 0x1.ffcaa8p-1f, 0x1.ffe514p-1f, 0x1.fff2dp-1f, 0x1.fff9bap-1f,
    0x1.fffd1ap-1f, 0x1.fffeb4p-1f, 0x1.ffff7p-1f, 0x1.ffffc4p-1f, 0x1.ffffe8p-1f, 0x1.fffff6p-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f,
    0x1.20dd76p+0f, 0x1.1c62fap+0f, 0x1.0f5d16p+0f, 0x1.f5f0cep-1f, 0x1.c1efcap-1f, 0x1.86e96ap-1f, 0x1.492e42p-1f, 0x1.0cab62p-1f,
    0x1.a911fp-2f, 0x1.45e99cp-2f, 0x1.e4653p-3f, 0x1.5ce596p-3f, 0x1.e72372p-4f, 0x1.499d48p-4f, 0x1.b0553p-5f, 0x1.12ceb4p-5f,
    0x1.529b9ep-6f, 0x1.94624ep-7f, 0x1.d4143ap-8f, 0x1.06918cp-8f, 0x1.1d8318p-9f, 0x1.2ce898p-10f, 0x1.3360cep-11f, 0x1.30539p-12f,
    0x1.2408eap-13f, 0x1.0f9e1cp-14f, 0x1.e9b5eap-16f, 0x1.abe0ap-17f, 0x1.6a5974p-18f, 0x1.296a74p-19f, 0x1.d93724p-21f, 0x1.6ce1bp-22f,
    0x0.0p+0f, -0x1.1c62e6p-3f, -0x1.0f5d04p-2f, -0x1.787484p-2f, -0x1.c1efb4p-2f, -0x1.e8a3b2p-2f, -0x1.edc558p-2f, -0x1.d62be6p-2f,
    -0x1.a911f2p-2f, -0x1.6ea6d6p-2f, -0x1.2ebf48p-2f, -0x1.dfbbc2p-3f, -0x1.6d5aa6p-3f, -0x1.0bcfd6p-3f, -0x1.7a4a9ap-4f, -0x1.01a1dp-4f,
    -0x1.529bap-5f, -0x1.ada866p-6f, -0x1.074b4cp-6f, -0x1.37ccaap-7f, -0x1.64e38ep-8f, -0x1.8af0cap-9f, -0x1.a6a45ep-10f, -0x1.b5771cp-11f,
    -0x1.b60c1p-12f, -0x1.a86572p-13f, -0x1.8de1fp-14f, -0x1.690374p-15f, -0x1.3d0c1p-16f, -0x1.0d863ap-17f, -0x1.bb9f4ep-19f, -0x1.617686p-20f,
    -0x1.812738p-2f, -0x1.6f559p-2f, -0x1.3c979ap-2f, -0x1.e1075ap-3f, -0x1.2bf5acp-3f, -0x1.c811d6p-5f, 0x1.b6e616p-6f, 0x1.7c9d12p-4f,
    0x1.1b612cp-3f, 0x1.4cb3c2p-3f, 0x1.571dp-3f, 0x1.4374ep-3f, 0x1.1c2a1p-3f, 0x1.d6633cp-4f, 0x1.7148ep-4f, 0x1.143d32p-4f,
    0x1.8b0b02p-5f, 0x1.0ea486p-5f, 0x1.63ef6ep-6f, 0x1.c1ec0cp-7f, 0x1.119d8ep-7f, 0x1.407f8ep-8f, 0x1.69ceecp-9f, 0x1.89e0e8p-10f,
    0x1.9db672p-11f, 0x1.a37254p-12f, 0x1.9aa30ep-13f, 0x1.845066p-14f, 0x1.62caep-15f, 0x1.3948e8p-16f, 0x1.0b683p-17f, 0x1.b95b1ep-19f,
    0x0.0p+0f, 0x1.18ec3p-4f, 0x1.039b32p-3f, 0x1.549afcp-3f, 0x1.7663fp-3f, 0x1.68edfap-3f, 0x1.344ec8p-3f, 0x1.cc253p-4f,
    0x1.1b7b76p-4f, 0x1.cbb258p-6f, -0x1.8c143p-8f, -0x1.f1bfb6p-6f, -0x1.6c7e44p-5f, -0x1.96a7ap-5f, -0x1.89a76p-5f, -0x1.5a028p-5f,
    -0x1.1a270ep-5f, -0x1.b00ebcp-6f, -0x1.38ebaap-6f, -0x1.aee754p-7f, -0x1.1b0958p-7f, -0x1.63a1c6p-8f, -0x1.ac3aacp-9f, -0x1.eeeb1cp-10f,
    -0x1.12d5f2p-10f, -0x1.259ed8p-11f, -0x1.2dfea2p-12f, -0x1.2b3bc2p-13f, -0x1.1dce56p-14f, -0x1.0744c4p-15f, -0x1.d3f608p-17f, -0x1.916d16p-18f,
    0x1.cd8a32p-4f, 0x1.ab9a22p-4f, 0x1.48bf28p-4f, 0x1.764aecp-5f, 0x1.ee392cp-8f, -0x1.bdaf0cp-6f, -0x1.b29c18p-5f, -0x1.12aed2p-4f,
    -0x1.1aeebap-4f, -0x1.f5de0ap-5f, -0x1.826052p-5f, -0x1.f5c1aep-6f, -0x1.e876a8p-7f, -0x1.1e3b2ap-9f, 0x1.af1576p-8f, 0x1.76614ap-7f,
    0x1.ac121ap-7f, 0x1.98fdf2p-7f, 0x1.5d1124p-7f, 0x1.11e2c2p-7f, 0x1.912c64p-8f, 0x1.14c1fap-8f, 0x1.69d83p-9f, 0x1.c22968p-10f,
    0x1.0b403ep-10f, 0x1.2f8b66p-11f, 0x1.4a61acp-12f, 0x1.59129p-13f, 0x1.5a4276p-14f, 0x1.4e1e12p-15f, 0x1.3645f8p-16f, 0x1.157a2cp-17f};

/* Error < @erff@ ulp. */
__UFM_EXPORT8 __ufm_f16 __ufm_erff16(__ufm_f16 x) __asm__("_ZGVeN16v_erff");
__UFM_EXPORT8 __ufm_f16 __ufm_erff16(__ufm_f16 x)
{
    __ufm_f16 t = __UFM_MIN16(__UFM_K16(3.93f), __UFM_ABS16(x));
    __ufm_f16 shifted = __UFM_FMA16(t, __UFM_K16(8.0f), __UFM_K16(0x1.8p23f));
    __ufm_i16 i = (__ufm_i16)shifted;
    __ufm_f16 d = __UFM_FNMA16(__UFM_SUB16(shifted, __UFM_K16(0x1.8p23f)), __UFM_K16(0.125f), t);
    __ufm_f16 p = __UFM_FMA16(d, __UFM_LOOKUP16(__ufm_erff_table + 160, i), __UFM_LOOKUP16(__ufm_erff_table + 128, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_erff_table + 96, i));
    p = __UFM_FMA16(d, p, __UFM_LOOKUP16(__ufm_erff_table + 64, i));
    p = __UFM_FMA16(__UFM_MUL16(d, d), p, __UFM_LOOKUP16(__ufm_erff_table, i));
    return __UFM_SIGN16(__UFM_FMA16(d, __UFM_LOOKUP16(__ufm_erff_table + 32, i), p), x);
}
#endif

#endif
#endif
