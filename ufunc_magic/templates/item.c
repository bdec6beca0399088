${conversions}$flatten_body static inline __attribute__((__always_inline__)) int __ufm_body_$k(__ufm_char **__ufm_p, const __ufm_intp *__ufm_dims)
{
    int __ufm_failed = 0;
    (void)__ufm_dims;
    $try
    $fault
    $locals
    $call
    $stores
    $kernel_fault
    return __ufm_failed;
    $catch
}

${conversions}$clones $flatten __UFM_LISTED static int __ufm_item_$k(__ufm_char **__ufm_p, const __ufm_intp *__ufm_dims)
{
    return __ufm_body_$k(__ufm_p, __ufm_dims);
}
