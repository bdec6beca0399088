static int __ufm_record_$k(void *__ufm_context, __ufm_char *const *__ufm_args, const __ufm_intp *__ufm_dimensions,
                           const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    (void)__ufm_context;
    (void)__ufm_data;
    return $run(&__ufm_plan_$k, __ufm_args, __ufm_dimensions, __ufm_steps);
}
