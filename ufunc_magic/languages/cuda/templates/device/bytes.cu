template <bool, class __ufm_t = void> struct __ufm_if {};
template <class __ufm_t> struct __ufm_if<true, __ufm_t> { typedef __ufm_t __ufm_it; };
template <int __ufm_n> struct __ufm_words;
template <> struct __ufm_words<2> { unsigned short __ufm_word; };
template <> struct __ufm_words<8> { unsigned long long __ufm_word; };
template <> struct alignas(16) __ufm_words<16> { unsigned long long __ufm_word[2]; };
template <int __ufm_n> struct __ufm_bytes : __ufm_words<__ufm_n> {
    template <class __ufm_t, class = typename __ufm_if<sizeof(__ufm_t) == __ufm_n>::__ufm_it>
    __host__ __device__ operator __ufm_t() const {
        __ufm_t __ufm_value;
        memcpy((void *)&__ufm_value, (const void *)this, __ufm_n);
        return __ufm_value;
    }
    template <class __ufm_t, class = typename __ufm_if<sizeof(__ufm_t) == __ufm_n>::__ufm_it>
    __host__ __device__ __ufm_bytes &operator=(const __ufm_t &__ufm_value) {
        memcpy((void *)this, (const void *)&__ufm_value, __ufm_n);
        return *this;
    }
    struct __ufm_address {
        __ufm_bytes *__ufm_at;
        template <class __ufm_t, class = typename __ufm_if<sizeof(__ufm_t) == __ufm_n>::__ufm_it>
    __host__ __device__ operator __ufm_t *() const {
            return (__ufm_t *)__ufm_at;
        }
    };
    __host__ __device__ __ufm_address operator&() { return __ufm_address{this}; }
};
