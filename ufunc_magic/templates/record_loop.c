// $name, loop $k of this object.
$kernel_text
static const __ufm_item __ufm_items_$k[] = {$items};
static const __ufm_leaf __ufm_leaves_$k[] = {$leaves};
static const __ufm_record_plan __ufm_plan_$k = {__ufm_kernel_$k, __ufm_types + $offset, __ufm_items_$k, __ufm_leaves_$k,
                                                (int)(sizeof __ufm_leaves_$k / sizeof *__ufm_leaves_$k), $nin, $nout,
                                                $judge, "$name"};
static int __ufm_record_$k(void *__ufm_context, __ufm_char *const *__ufm_args, const __ufm_intp *__ufm_dimensions,
                           const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    (void)__ufm_context;
    (void)__ufm_data;
    return __ufm_run_records(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps);
}
static void __ufm_loop_$k(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions, const __ufm_intp *__ufm_steps,
                          void *__ufm_data)
{
    (void)__ufm_data;
    __ufm_run_records(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps);
}
