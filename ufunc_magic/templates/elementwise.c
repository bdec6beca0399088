// $name, loop $k of this object.
$kernel_text
$strided_text
${conversions}static int __ufm_sequence_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s, __ufm_char **__ufm_kept)
{
    $sequence_pointers
    $places
    __ufm_intp __ufm_j;
    $try
    $reduce_begin
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $sequence_loads
        $keep_inputs
        __asm__ volatile(""); // One element after the other: compilers need not look for vectors.
        $sequence_locals
        $sequence_call
        $reduce_step
        $stores
        $keep_outputs
    }
    $reduce_end
    return 0;
    $catch
}

$scalar_text
static const __ufm_plan __ufm_plan_$k = {$kernel, __ufm_sequence_$k, __ufm_types + $offset, $nin, $nout, $pad, $judge, $python, $strided, "$name"};
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions,
                          const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    __ufm_elementwise(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps, __ufm_data);
}
