${conversions}$clones_fma $flatten static int __ufm_strided_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s)
{
    $places
    __ufm_intp __ufm_j;
    $try
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $loads
        __asm__ volatile(""); // Compilers find no vectors for it, but would look for them in each clone.
        $sequence_locals
        $sequence_call
        $stores
    }
    return 0;
    $catch
}
