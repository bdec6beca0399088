/* Vector functions of libmvec on arm64 that lack something, under the names gcc calls, as in simdmath.h.
 *
 * Theirs is reached by its version: without one, its name would mean the function here.
 */
#if defined __GNUC__ && !defined __clang__ && defined __aarch64__ && defined __ELF__

#if defined __UFM_WANT_pow

typedef double __ufm_v2 __attribute__((vector_size(16)));
typedef long long __ufm_i2 __attribute__((vector_size(16)));

__attribute__((aarch64_vector_pcs)) __ufm_v2 __ufm_their_pow(__ufm_v2 x, __ufm_v2 y);
__asm__(".symver __ufm_their_pow, _ZGVnN2vv_pow@GLIBC_2.40");

/* Theirs raises no flag where a result is NaN or overflows: the function on single numbers does. */
__attribute__((visibility("hidden"), aarch64_vector_pcs)) __ufm_v2 __ufm_pow2(__ufm_v2 x, __ufm_v2 y)
    __asm__("_ZGVnN2vv_pow");
__attribute__((visibility("hidden"), aarch64_vector_pcs)) __ufm_v2 __ufm_pow2(__ufm_v2 x, __ufm_v2 y)
{
    __ufm_v2 result = __ufm_their_pow(x, y);
    __ufm_i2 bits = (__ufm_i2)result & 0x7fffffffffffffffLL, wild = bits >= 0x7ff0000000000000LL;
    if (__builtin_expect((wild[0] | wild[1]) != 0, 0))
        for (int k = 0; k < 2; k++)
            if (wild[k]) result[k] = __builtin_pow(x[k], y[k]);
    return result;
}
#endif

#endif
