${conversions}$flatten_body static inline __attribute__((__always_inline__)) int __ufm_body_$k(__ufm_intp __ufm_m$kernel_parameters)
{
    int __ufm_failed = 0;
    __ufm_intp __ufm_j;
    $round_down
    __UFM_APART
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $fault
        $kernel_locals
        $kernel_call
        $kernel_stores
        $kernel_fault
    }
    return __ufm_failed;
}

${conversions}$clones $flatten __UFM_LISTED static int __ufm_kernel_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p)
{
    $try
    return __ufm_body_$k(__ufm_m$kernel_arguments);
    $catch
}
