// NumPy's type numbers of a type; 255 for one that it does not have.  Half and complex are known where the cell
// brought their headers.
template <class __ufm_T> struct __ufm_type { enum { __ufm_number = 255 }; };
#define __UFM_IS(T, n) template <> struct __ufm_type<T> { enum { __ufm_number = n }; };
__UFM_IS(bool, 0) __UFM_IS(char, ((char)-1 < 0 ? 1 : 2)) __UFM_IS(signed char, 1) __UFM_IS(unsigned char, 2)
__UFM_IS(short, 3) __UFM_IS(unsigned short, 4) __UFM_IS(int, 5) __UFM_IS(unsigned int, 6) __UFM_IS(long, 7)
__UFM_IS(unsigned long, 8) __UFM_IS(long long, 9) __UFM_IS(unsigned long long, 10) __UFM_IS(float, 11)
__UFM_IS(double, 12)
#ifdef __CUDA_FP16_H__
__UFM_IS(__half, 23)
#endif
#ifdef _CUDA_STD_COMPLEX
__UFM_IS(cuda::std::complex<float>, 14) __UFM_IS(cuda::std::complex<double>, 15)
#endif
#ifdef CU_COMPLEX_H_
__UFM_IS(float2, 14) __UFM_IS(double2, 15)
#endif
#undef __UFM_IS
template <class __ufm_T> struct __ufm_type<const __ufm_T> : __ufm_type<__ufm_T> {};
template <class __ufm_T> struct __ufm_type<volatile __ufm_T> : __ufm_type<__ufm_T> {};
template <class __ufm_T> struct __ufm_type<const volatile __ufm_T> : __ufm_type<__ufm_T> {};
#define __UFM_TYPE(...) (__ufm_type<__VA_ARGS__>::__ufm_number)
