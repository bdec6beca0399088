/* $name, loop $k of this object: compiled by Numba. */
$declarations
int __ufm_one_$k(__ufm_char **, void **);

static int __ufm_kernel_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p)
{
    $dispatch
    return __ufm_compiled_${k}_0(__ufm_m, __ufm_p);
}

static int __ufm_sequence_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s, __ufm_char **__ufm_kept)
{
    static const __ufm_byte size[] = {$sizes};
    __ufm_char *at[$all];
    for (__ufm_intp j = 0; j < __ufm_m; j++) {
        void *said = 0;
        for (int n = 0; n < $all; n++) at[n] = __ufm_kept[n] + j * size[n];
        $loads
        const int status = __ufm_one_$k(at, &said);
        $raise
        $stores
    }
    return 0;
}

static const __ufm_plan __ufm_plan_$k = {__ufm_kernel_$k, __ufm_sequence_$k, 0, __ufm_types + $offset, $nin, $nout, $pad, $judge, $python, 0, "$name"};
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions, const __ufm_intp *__ufm_steps,
                          void *__ufm_data)
{
    __ufm_elementwise(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps, __ufm_data);
}
