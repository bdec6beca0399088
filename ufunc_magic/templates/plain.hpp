/* Functions that are no ufuncs, each behind a call that is contained; those whose types cffi could not pass stay alone. */
template <class __ufm_r> struct __ufm_slot {
    __ufm_r __ufm_it = __ufm_r();
    template <class __ufm_f> void __ufm_set(__ufm_f __ufm_run) { __ufm_it = __ufm_run(); }
    __ufm_r __ufm_get() { return __ufm_it; }
};
template <> struct __ufm_slot<void> {
    template <class __ufm_f> void __ufm_set(__ufm_f __ufm_run) { __ufm_run(); }
    void __ufm_get() {}
};
template <class __ufm_t> struct __ufm_simple {
    enum { __ufm_it = __is_trivially_copyable(__ufm_t) && __is_trivially_constructible(__ufm_t) };
};
template <> struct __ufm_simple<void> { enum { __ufm_it = 1 }; };
template <class __ufm_t> struct __ufm_passed : __ufm_simple<__ufm_t> {};
template <class __ufm_t> struct __ufm_passed<__ufm_t &> { enum { __ufm_it = 1 }; };

template <class __ufm_tag, bool, class __ufm_r, class... __ufm_a> struct __ufm_plain_if {
    template <__ufm_r (*)(__ufm_a...)> static constexpr __ufm_r (*__ufm_address)(__ufm_a...) = nullptr;
};
template <class __ufm_tag, class __ufm_r, class... __ufm_a> struct __ufm_plain_if<__ufm_tag, true, __ufm_r, __ufm_a...> {
    template <__ufm_r (*__ufm_f)(__ufm_a...)> static __ufm_r __ufm_call(__ufm_a... __ufm_values)
    {
        __ufm_r (*__ufm_function)(__ufm_a...) = __ufm_f;
        __asm__("" : "+r"(__ufm_function)); /* it need not be written out once more here */
        __ufm_slot<__ufm_r> __ufm_result;
        auto __ufm_body = [&] { __ufm_result.__ufm_set([&] { return __ufm_function(__ufm_values...); }); };
        typedef decltype(__ufm_body) __ufm_b;
        __ufm_plain_call(
            __ufm_tag::__ufm_name(),
            [](void *__ufm_with) {
#ifdef __EXCEPTIONS
                try {
                    (*(__ufm_b *)__ufm_with)();
                } catch (...) {
                    __ufm_fail_thrown();
                }
#else
                (*(__ufm_b *)__ufm_with)();
#endif
            },
            &__ufm_body, __ufm_tag::__ufm_python);
        return __ufm_result.__ufm_get();
    }
    template <__ufm_r (*__ufm_f)(__ufm_a...)> static constexpr __ufm_r (*__ufm_address)(__ufm_a...) = &__ufm_call<__ufm_f>;
};
template <class __ufm_tag, class __ufm_r, class... __ufm_a>
__ufm_plain_if<__ufm_tag, __ufm_simple<__ufm_r>::__ufm_it && (true && ... && (bool)__ufm_passed<__ufm_a>::__ufm_it), __ufm_r, __ufm_a...>
__ufm_plain_of(__ufm_r (*)(__ufm_a...));
