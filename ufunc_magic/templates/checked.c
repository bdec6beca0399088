${conversions}static int __ufm_checked_$k(__ufm_char **__ufm_p, const __ufm_intp *__ufm_dims)
{
    int __ufm_fault = 0;
    (void)__ufm_dims;
    $locals
    $call
    $stores
    return 0;
}
