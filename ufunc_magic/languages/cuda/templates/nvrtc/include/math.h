// NVRTC knows the functions by itself; what it lacks are constants and calls with arguments of other types.
#pragma once
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
#define HUGE_VAL ((double)INFINITY)
#define HUGE_VALF INFINITY
#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
typedef float float_t;
typedef double double_t;
// Some include this in extern "C" {}.
extern "C++" {
// Calls with integers, and with float and double mixed, are double's, as in <cmath>.
template <class, class> struct __ufm_mixed { typedef double type; };
template <> struct __ufm_mixed<float, float> {};
template <> struct __ufm_mixed<double, double> {};
template <class> struct __ufm_number {};
template <class> struct __ufm_whole {};
#define __UFM_NUMBER(T) template <> struct __ufm_number<T> { enum { is = 1 }; };
#define __UFM_WHOLE(T) __UFM_NUMBER(T) template <> struct __ufm_whole<T> { typedef double type; };
__UFM_WHOLE(bool) __UFM_WHOLE(char) __UFM_WHOLE(signed char) __UFM_WHOLE(unsigned char) __UFM_WHOLE(short)
__UFM_WHOLE(unsigned short) __UFM_WHOLE(int) __UFM_WHOLE(unsigned int) __UFM_WHOLE(long) __UFM_WHOLE(unsigned long)
__UFM_WHOLE(long long) __UFM_WHOLE(unsigned long long) __UFM_NUMBER(float) __UFM_NUMBER(double)
#undef __UFM_WHOLE
#undef __UFM_NUMBER
#define __UFM_ONE(f) \
    template <class T> static __inline__ __host__ __device__ typename __ufm_whole<T>::type f(T a) { \
        return f((double)a); \
    }
#define __UFM_TWO(f) \
    template <class A, class B, int = __ufm_number<A>::is, int = __ufm_number<B>::is> \
    static __inline__ __host__ __device__ typename __ufm_mixed<A, B>::type f(A a, B b) { \
        return f((double)a, (double)b); \
    }
__UFM_ONE(fabs) __UFM_ONE(sqrt) __UFM_ONE(cbrt) __UFM_ONE(exp) __UFM_ONE(exp2) __UFM_ONE(expm1) __UFM_ONE(log)
__UFM_ONE(log2) __UFM_ONE(log10) __UFM_ONE(log1p) __UFM_ONE(sin) __UFM_ONE(cos) __UFM_ONE(tan) __UFM_ONE(asin)
__UFM_ONE(acos) __UFM_ONE(atan) __UFM_ONE(sinh) __UFM_ONE(cosh) __UFM_ONE(tanh) __UFM_ONE(asinh) __UFM_ONE(acosh)
__UFM_ONE(atanh) __UFM_ONE(erf) __UFM_ONE(erfc) __UFM_ONE(tgamma) __UFM_ONE(lgamma) __UFM_ONE(ceil) __UFM_ONE(floor)
__UFM_ONE(trunc) __UFM_ONE(round) __UFM_ONE(rint) __UFM_ONE(nearbyint) __UFM_ONE(logb)
__UFM_TWO(pow) __UFM_TWO(atan2) __UFM_TWO(fmod) __UFM_TWO(remainder) __UFM_TWO(hypot) __UFM_TWO(fmin) __UFM_TWO(fmax)
__UFM_TWO(fdim) __UFM_TWO(copysign) __UFM_TWO(nextafter)
#undef __UFM_ONE
#undef __UFM_TWO
static __inline__ __host__ __device__ bool isnormal(double x) {
    return isfinite(x) && fabs(x) >= 2.22507385850720138309e-308;
}
static __inline__ __host__ __device__ bool isnormal(float x) { return isfinite(x) && fabsf(x) >= 1.17549435e-38f; }
template <class __ufm_T> static __inline__ __host__ __device__ int fpclassify(__ufm_T x) {
    return isnan(x) ? FP_NAN : isinf(x) ? FP_INFINITE : x == 0 ? FP_ZERO : isnormal(x) ? FP_NORMAL : FP_SUBNORMAL;
}
#define __UFM_COMPARES(f, expression) \
    template <class A, class B> static __inline__ __host__ __device__ bool f(A a, B b) { return expression; }
__UFM_COMPARES(isunordered, isnan((double)a) || isnan((double)b))
__UFM_COMPARES(isgreater, a > b)
__UFM_COMPARES(isgreaterequal, a >= b)
__UFM_COMPARES(isless, a < b)
__UFM_COMPARES(islessequal, a <= b)
__UFM_COMPARES(islessgreater, a < b || a > b)
#undef __UFM_COMPARES
}
