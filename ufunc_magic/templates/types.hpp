// C++: the same as types.h, by templates.  <complex> is known only if the cell brought it: it is slow to compile.
template <class __ufm_T, bool = __is_enum(__ufm_T)> struct __ufm_type { enum { __ufm_number = 255 }; };
template <class __ufm_T> struct __ufm_type<__ufm_T, true> : __ufm_type<__underlying_type(__ufm_T)> {};
#define __UFM_IS(T, n) template <> struct __ufm_type<T> { enum { __ufm_number = n }; };
__UFM_IS(bool, 0) __UFM_IS(char, ((char)-1 < 0 ? 1 : 2)) __UFM_IS(signed char, 1) __UFM_IS(unsigned char, 2)
__UFM_IS(short, 3) __UFM_IS(unsigned short, 4) __UFM_IS(int, 5) __UFM_IS(unsigned int, 6) __UFM_IS(long, 7)
__UFM_IS(unsigned long, 8) __UFM_IS(long long, 9) __UFM_IS(unsigned long long, 10) __UFM_IS(float, 11)
__UFM_IS(double, 12) __UFM_IS(long double, 13) __UFM_IS(float _Complex, 14) __UFM_IS(double _Complex, 15)
__UFM_IS(long double _Complex, 16)
#if defined(_GLIBCXX_COMPLEX) || defined(_LIBCPP_COMPLEX)
__UFM_IS(std::complex<float>, 14) __UFM_IS(std::complex<double>, 15) __UFM_IS(std::complex<long double>, 16)
#endif
#ifdef __STDCPP_FLOAT16_T__
__UFM_IS(_Float16, 23)
#endif
#ifdef __UFM_DEVICE_HALF
__UFM_IS(__UFM_DEVICE_HALF, 23)
#endif
#ifdef __UFM_CUCOMPLEX_H
__UFM_IS(float2, 14) __UFM_IS(double2, 15)
#endif
template <class __ufm_T> struct __ufm_value { typedef __ufm_T __ufm_type; };
template <class __ufm_T> struct __ufm_value<const __ufm_T> : __ufm_value<__ufm_T> {};
template <class __ufm_T> struct __ufm_value<__ufm_T &> : __ufm_value<__ufm_T> {};
template <class __ufm_T> struct __ufm_value<__ufm_T &&> : __ufm_value<__ufm_T> {};
#if __cplusplus >= 201103L
// What a function returns as an array -> its operand: 1 if it has another size.
template <class __ufm_V, class __ufm_E>
static inline int __ufm_take(const __ufm_V &__ufm_v, __ufm_E *__ufm_p, __ufm_intp)
{
    __builtin_memcpy(__ufm_p, &__ufm_v, sizeof __ufm_v);
    return 0;
}
#pragma push_macro("size") // which the cell may define
#undef size
template <template <class...> class __ufm_V, class... __ufm_A, class __ufm_E>
static inline int __ufm_take(const __ufm_V<__ufm_A...> &__ufm_v, __ufm_E *__ufm_p, __ufm_intp __ufm_n)
{
    if ((__ufm_intp)__ufm_v.size() != __ufm_n) return 1;
    for (__ufm_intp __ufm_j = 0; __ufm_j < __ufm_n; __ufm_j++) __ufm_p[__ufm_j] = __ufm_v[__ufm_j];
    return 0;
}
#pragma pop_macro("size")
#endif
#define __UFM_TYPE(T) (__ufm_type<T>::__ufm_number)
#define __UFM_ZERO_RECORD(T) ({ T __ufm_z; __builtin_memset(&__ufm_z, 0, sizeof __ufm_z); __ufm_z; })
#define __UFM_ZERO(T) (T())
