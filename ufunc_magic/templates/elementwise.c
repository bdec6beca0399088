// $name, loop $k of this object.
$kernel_text
$strided_text
$sequence_text
$scalar_text
$one_text
static const __ufm_plan __ufm_plan_$k = {$kernel, $sequence, $one, __ufm_types + $offset, $nin, $nout, $pad, $judge, $python, $strided, "$name"};
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions,
                          const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    __ufm_elementwise(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps, __ufm_data);
}
