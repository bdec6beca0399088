// $name$core, loop $k of this object.
$item_text
$checked_text
$sizes_text
static const short __ufm_cores_$k[] = {$cores};
static const signed char __ufm_from_$k[] = {$from};
static const __ufm_byte __ufm_copied_$k[] = {$copied};
$records_text
static const __ufm_core_plan __ufm_plan_$k = {$kernel, $checked, __ufm_types + $offset, __ufm_cores_$k, __ufm_from_$k,
                                              __ufm_copied_$k, $nin, $nout, $judge, "$name", $records};
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions,
                          const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    (void)__ufm_data;
    __ufm_generalized(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps);
}
$record_text
