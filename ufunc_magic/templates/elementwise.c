// $name, loop $k of this object.
$flatten_body static inline __attribute__((__always_inline__)) void __ufm_body_$k(__ufm_intp __ufm_m$kernel_parameters)
{
    __ufm_intp __ufm_j;
    $round_down
    __UFM_APART
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $kernel_locals
        $kernel_call
        $kernel_stores
    }
}

$clones $flatten static void __ufm_kernel_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p)
{
    $try
    __ufm_body_$k(__ufm_m$kernel_arguments);
    $catch
}

static void __ufm_sequence_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s, __ufm_char **__ufm_kept)
{
    $sequence_pointers
    __ufm_intp __ufm_j;
    $try
    $reduce
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $sequence_loads
        $sequence_locals
        $sequence_call
        $sequence_stores
    }
    $catch
}

static const __ufm_plan __ufm_plan_$k = {__ufm_kernel_$k, __ufm_sequence_$k, __ufm_types + $offset, $nin, $nout, $pad, $judge};
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions, const __ufm_intp *__ufm_steps,
                          void *__ufm_data)
{
    __ufm_elementwise(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps, __ufm_data);
}
