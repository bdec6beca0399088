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

/* Error < 0.55 ulp. */
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

#if defined __UFM_WANT_pow
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

/* Error < 0.8 ulp; results that are doubles, such as pow(3, 2), come out exact. */
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

#endif
#endif
