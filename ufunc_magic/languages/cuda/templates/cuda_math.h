/* Math: libm's functions for float, and what CUDA has besides.
 *
 * Where libm has a function, it is called by its own name, so that the engine's SIMD versions are found.  What is
 * written out here has no branches around its arithmetic, so that loops over it become SIMD code too.
 */
#ifndef __UFM_CUDA_MATH_H
#define __UFM_CUDA_MATH_H
#pragma GCC system_header

#define __UFM_INLINE static inline

/* The number that overloads of all types would take a T as: a class is what it converts to best. */
float __ufm_best(float);
double __ufm_best(double);
int __ufm_best(int);
unsigned __ufm_best(unsigned);
long __ufm_best(long);
unsigned long __ufm_best(unsigned long);
long long __ufm_best(long long);
unsigned long long __ufm_best(unsigned long long);
template <class T> T __ufm_any();
template <class T> struct __ufm_void { typedef void type; };
template <class T> struct __ufm_same { typedef T type; };
template <class T, bool is_class, class = void> struct __ufm_number_of {};
template <class T> struct __ufm_number_of<T, false> { typedef T type; };
template <class T>
struct __ufm_number_of<T, true, typename __ufm_void<decltype(__ufm_best(__ufm_any<T>()))>::type> {
    typedef decltype(__ufm_best(__ufm_any<T>())) type;
};
template <class T> struct __ufm_number : __ufm_number_of<T, __is_class(T)> {};
#define __UFM_NUMBER(T) typename __ufm_number<T>::type

/* R, if T is float.  Templates, because <cmath> declares functions of the same names and types, and C++ lets
   the two stand side by side only if one is a template. */
template <class T, class R> struct __ufm_if_float {};
template <class R> struct __ufm_if_float<float, R> { typedef R type; };

/* constexpr, since compilers work out calls of libm with constants. */
#define __UFM_T1(R, name) template <class T> __UFM_INLINE constexpr typename __ufm_if_float<__UFM_NUMBER(T), R>::type name
#define __UFM_M1(name) __UFM_T1(float, name)(T x) { return ::name##f(x); }
#define __UFM_M2(name) __UFM_T1(float, name)(T x, T y) { return ::name##f(x, y); }
/* libc++'s <math.h> has overloads of its own. */
#ifndef _LIBCPP_VERSION
__UFM_M1(acos) __UFM_M1(acosh) __UFM_M1(asin) __UFM_M1(asinh) __UFM_M1(atan) __UFM_M1(atanh) __UFM_M1(cbrt)
__UFM_M1(ceil) __UFM_M1(cos) __UFM_M1(cosh) __UFM_M1(erf) __UFM_M1(erfc) __UFM_M1(exp) __UFM_M1(exp2)
__UFM_M1(expm1) __UFM_M1(fabs) __UFM_M1(floor) __UFM_M1(lgamma) __UFM_M1(log) __UFM_M1(log10) __UFM_M1(log1p)
__UFM_M1(log2) __UFM_M1(logb) __UFM_M1(nearbyint) __UFM_M1(rint) __UFM_M1(round) __UFM_M1(sin) __UFM_M1(sinh)
__UFM_M1(sqrt) __UFM_M1(tan) __UFM_M1(tanh) __UFM_M1(tgamma) __UFM_M1(trunc)
__UFM_M2(atan2) __UFM_M2(copysign) __UFM_M2(fdim) __UFM_M2(fmod) __UFM_M2(hypot) __UFM_M2(nextafter) __UFM_M2(pow)
__UFM_M2(remainder)
__UFM_T1(float, fma)(T x, T y, T z) { return ::fmaf(x, y, z); }
__UFM_T1(float, frexp)(T x, int *n) { return ::frexpf(x, n); }
__UFM_T1(float, ldexp)(T x, int n) { return ::ldexpf(x, n); }
__UFM_T1(float, modf)(T x, T *whole) { return ::modff(x, whole); }
__UFM_T1(float, remquo)(T x, T y, int *n) { return ::remquof(x, y, n); }
__UFM_T1(float, scalbn)(T x, int n) { return ::scalbnf(x, n); }
__UFM_T1(float, scalbln)(T x, long n) { return ::scalblnf(x, n); }
__UFM_T1(int, ilogb)(T x) { return ::ilogbf(x); }
__UFM_T1(long, lrint)(T x) { return ::lrintf(x); }
__UFM_T1(long, lround)(T x) { return ::lroundf(x); }
__UFM_T1(long long, llrint)(T x) { return ::llrintf(x); }
__UFM_T1(long long, llround)(T x) { return ::llroundf(x); }

template <class T, class R> struct __ufm_if_real {};
template <class R> struct __ufm_if_real<float, R> { typedef R type; };
template <class R> struct __ufm_if_real<double, R> { typedef R type; };
#define __UFM_IS_REAL template <class T> __UFM_INLINE constexpr typename __ufm_if_real<__UFM_NUMBER(T), bool>::type
__UFM_IS_REAL isnan(T x) { return __builtin_isnan((__UFM_NUMBER(T))x); }
__UFM_IS_REAL isinf(T x) { return __builtin_isinf((__UFM_NUMBER(T))x); }
__UFM_IS_REAL isfinite(T x) { return __builtin_isfinite((__UFM_NUMBER(T))x); }
__UFM_IS_REAL signbit(T x) { return __builtin_signbit((__UFM_NUMBER(T))x); }

template <class T> struct __ufm_absolute {};
template <> struct __ufm_absolute<float> { static float of(float x) { return ::fabsf(x); } typedef float type; };
template <> struct __ufm_absolute<double> { static double of(double x) { return ::fabs(x); } typedef double type; };
template <> struct __ufm_absolute<long> { static long of(long x) { return ::labs(x); } typedef long type; };
template <> struct __ufm_absolute<long long> {
    static long long of(long long x) { return ::llabs(x); }
    typedef long long type;
};
template <class T> __UFM_INLINE typename __ufm_absolute<__UFM_NUMBER(T)>::type abs(T x)
{
    return __ufm_absolute<__UFM_NUMBER(T)>::of(x);
}
#endif
__UFM_M1(exp10) __UFM_M1(j0) __UFM_M1(j1) __UFM_M1(y0) __UFM_M1(y1)
__UFM_T1(float, jn)(int n, T x) { return ::jnf(n, x); }
__UFM_T1(float, yn)(int n, T x) { return ::ynf(n, x); }

/* A NaN gives way to a number. */
__UFM_INLINE double fmax(double x, double y) { return (x > y) | (y != y) ? x : y; }
__UFM_INLINE double fmin(double x, double y) { return (x < y) | (y != y) ? x : y; }
__UFM_INLINE float fmaxf(float x, float y) { return (x > y) | (y != y) ? x : y; }
__UFM_INLINE float fminf(float x, float y) { return (x < y) | (y != y) ? x : y; }
__UFM_T1(float, fmax)(T x, T y) { return ::fmaxf(x, y); }
__UFM_T1(float, fmin)(T x, T y) { return ::fminf(x, y); }

#define __UFM_EXTREMES(R, A, B)                                                                                        \
    __UFM_INLINE constexpr R max(A x, B y) { return (R)x > (R)y ? (R)x : (R)y; }                                       \
    __UFM_INLINE constexpr R min(A x, B y) { return (R)x < (R)y ? (R)x : (R)y; }
__UFM_EXTREMES(int, int, int)
__UFM_EXTREMES(unsigned, unsigned, unsigned)
__UFM_EXTREMES(unsigned, int, unsigned)
__UFM_EXTREMES(unsigned, unsigned, int)
__UFM_EXTREMES(long, long, long)
__UFM_EXTREMES(unsigned long, unsigned long, unsigned long)
__UFM_EXTREMES(unsigned long, long, unsigned long)
__UFM_EXTREMES(unsigned long, unsigned long, long)
__UFM_EXTREMES(long long, long long, long long)
__UFM_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
__UFM_EXTREMES(unsigned long long, long long, unsigned long long)
__UFM_EXTREMES(unsigned long long, unsigned long long, long long)
__UFM_INLINE float max(float x, float y) { return ::fmaxf(x, y); }
__UFM_INLINE float min(float x, float y) { return ::fminf(x, y); }
__UFM_INLINE double max(double x, double y) { return ::fmax(x, y); }
__UFM_INLINE double min(double x, double y) { return ::fmin(x, y); }
__UFM_INLINE double max(float x, double y) { return ::fmax((double)x, y); }
__UFM_INLINE double min(float x, double y) { return ::fmin((double)x, y); }
__UFM_INLINE double max(double x, float y) { return ::fmax(x, (double)y); }
__UFM_INLINE double min(double x, float y) { return ::fmin(x, (double)y); }
__UFM_INLINE constexpr unsigned umax(unsigned x, unsigned y) { return x > y ? x : y; }
__UFM_INLINE constexpr unsigned umin(unsigned x, unsigned y) { return x < y ? x : y; }
__UFM_INLINE constexpr long long llmax(long long x, long long y) { return x > y ? x : y; }
__UFM_INLINE constexpr long long llmin(long long x, long long y) { return x < y ? x : y; }
__UFM_INLINE constexpr unsigned long long ullmax(unsigned long long x, unsigned long long y) { return x > y ? x : y; }
__UFM_INLINE constexpr unsigned long long ullmin(unsigned long long x, unsigned long long y) { return x < y ? x : y; }

/* Both, without a call that fills two pointers: that would not become SIMD code. */
__UFM_INLINE void sincos(double x, double *s, double *c) { *s = ::sin(x), *c = ::cos(x); }
__UFM_INLINE void sincosf(float x, float *s, float *c) { *s = ::sinf(x), *c = ::cosf(x); }
__UFM_T1(void, sincos)(T x, T *s, T *c) { ::sincosf(x, s, c); }

/* x by whole turns into [-1, 1] exactly, then by symmetry to where sin is accurate.  A zero has the sign of x. */
__UFM_INLINE double __ufm_half_turns(double r)
{
    double a = ::fabs(r), folded = a > 0.5 ? 1.0 - a : a;
    return ::copysign(::sin(3.141592653589793 * folded), r);
}
__UFM_INLINE float __ufm_half_turns(float r)
{
    float a = ::fabsf(r), folded = a > 0.5f ? 1.0f - a : a;
    return ::copysignf(::sinf(3.14159265f * folded), r);
}
__UFM_INLINE double sinpi(double x)
{
    double r = x - 2.0 * ::rint(0.5 * x);
    return __ufm_half_turns(r == 0.0 ? 0.0 * x : r);
}
__UFM_INLINE float sinpif(float x)
{
    float r = x - 2.0f * ::rintf(0.5f * x);
    return __ufm_half_turns(r == 0.0f ? 0.0f * x : r);
}
__UFM_INLINE double cospi(double x) { return __ufm_half_turns(0.5 - ::fabs(x - 2.0 * ::rint(0.5 * x))); }
__UFM_INLINE float cospif(float x) { return __ufm_half_turns(0.5f - ::fabsf(x - 2.0f * ::rintf(0.5f * x))); }
__UFM_INLINE void sincospi(double x, double *s, double *c) { *s = ::sinpi(x), *c = ::cospi(x); }
__UFM_INLINE void sincospif(float x, float *s, float *c) { *s = ::sinpif(x), *c = ::cospif(x); }

__UFM_INLINE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
__UFM_INLINE float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
__UFM_INLINE double rcbrt(double x)
{
    double y = 1.0 / ::cbrt(x), rest = ::fma(-x * y, y * y, 1.0); /* a step of Newton's, for libm's cbrt is 4 ulp off */
    return x != 0.0 && x - x == 0.0 ? y + y * rest * 0.3333333333333333 : y;
}
__UFM_INLINE float rcbrtf(float x) { return 1.0f / ::cbrtf(x); }
__UFM_INLINE double rhypot(double x, double y) { return 1.0 / ::hypot(x, y); }
__UFM_INLINE float rhypotf(float x, float y) { return 1.0f / ::hypotf(x, y); }
__UFM_INLINE double fdivide(double x, double y) { return x / y; }
__UFM_INLINE float fdividef(float x, float y) { return x / y; }

/* Squares of what is scaled into the middle of the exponents; an infinity wins over a NaN, as in hypot. */
__UFM_INLINE double __ufm_scale(double most) { return most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1.0; }
__UFM_INLINE double norm4d(double x, double y, double z, double w)
{
    double a = ::fabs(x), b = ::fabs(y), c = ::fabs(z), d = ::fabs(w);
    double most = ::fmax(::fmax(a, b), ::fmax(c, d)), scale = __ufm_scale(most);
    a *= scale, b *= scale, c *= scale, d *= scale;
    double length = ::sqrt(a * a + b * b + (c * c + d * d)) / scale;
    return most == __builtin_inf() ? most : length;
}
__UFM_INLINE double norm3d(double x, double y, double z) { return ::norm4d(x, y, z, 0.0); }
__UFM_INLINE double rnorm3d(double x, double y, double z) { return 1.0 / ::norm3d(x, y, z); }
__UFM_INLINE double rnorm4d(double x, double y, double z, double w) { return 1.0 / ::norm4d(x, y, z, w); }
__UFM_INLINE double norm(int dim, const double *p)
{
    double most = 0.0, sum = 0.0;
    for (int k = 0; k < dim; k++)
        most = ::fmax(most, ::fabs(p[k]));
    double scale = __ufm_scale(most);
    for (int k = 0; k < dim; k++)
        sum += p[k] * scale * (p[k] * scale);
    return most == __builtin_inf() ? most : ::sqrt(sum) / scale;
}
__UFM_INLINE double rnorm(int dim, const double *p) { return 1.0 / ::norm(dim, p); }
/* The square of a float is exact in double, and never too large. */
__UFM_INLINE float norm4df(float x, float y, float z, float w)
{
    float most = ::fmaxf(::fmaxf(::fabsf(x), ::fabsf(y)), ::fmaxf(::fabsf(z), ::fabsf(w)));
    double a = x, b = y, c = z, d = w;
    return most == __builtin_inff() ? most : (float)::sqrt(a * a + b * b + (c * c + d * d));
}
__UFM_INLINE float norm3df(float x, float y, float z) { return ::norm4df(x, y, z, 0.0f); }
__UFM_INLINE float rnorm3df(float x, float y, float z) { return 1.0f / ::norm3df(x, y, z); }
__UFM_INLINE float rnorm4df(float x, float y, float z, float w) { return 1.0f / ::norm4df(x, y, z, w); }
__UFM_INLINE float normf(int dim, const float *p)
{
    double sum = 0.0;
    float most = 0.0f;
    for (int k = 0; k < dim; k++)
        sum += (double)p[k] * p[k], most = ::fmaxf(most, ::fabsf(p[k]));
    return most == __builtin_inff() ? most : (float)::sqrt(sum);
}
__UFM_INLINE float rnormf(int dim, const float *p) { return 1.0f / ::normf(dim, p); }

/* CUDA's own functions are overloaded for float as well. */
__UFM_INLINE float sinpi(float x) { return ::sinpif(x); }
__UFM_INLINE float cospi(float x) { return ::cospif(x); }
__UFM_INLINE void sincospi(float x, float *s, float *c) { ::sincospif(x, s, c); }
__UFM_INLINE float rsqrt(float x) { return ::rsqrtf(x); }
__UFM_INLINE float rcbrt(float x) { return ::rcbrtf(x); }
__UFM_INLINE float rhypot(float x, float y) { return ::rhypotf(x, y); }
__UFM_INLINE float fdivide(float x, float y) { return ::fdividef(x, y); }
__UFM_INLINE float norm3d(float x, float y, float z) { return ::norm3df(x, y, z); }
__UFM_INLINE float norm4d(float x, float y, float z, float w) { return ::norm4df(x, y, z, w); }
__UFM_INLINE float rnorm3d(float x, float y, float z) { return ::rnorm3df(x, y, z); }
__UFM_INLINE float rnorm4d(float x, float y, float z, float w) { return ::rnorm4df(x, y, z, w); }
__UFM_INLINE float norm(int dim, const float *p) { return ::normf(dim, p); }
__UFM_INLINE float rnorm(int dim, const float *p) { return ::rnormf(dim, p); }

#endif
