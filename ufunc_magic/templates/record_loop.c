// $name, loop $k of this object.
$kernel_text
$layout_text
static const __ufm_record_plan __ufm_plan_$k = {__ufm_kernel_$k, __ufm_types + $offset, __ufm_items_$k, __ufm_leaves_$k,
                                                (int)(sizeof __ufm_leaves_$k / sizeof *__ufm_leaves_$k), $nin, $nout,
                                                $judge, "$name"};
$record_text
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions, const __ufm_intp *__ufm_steps,
                          void *__ufm_data)
{
    (void)__ufm_data;
    __ufm_run_records(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps);
}
