/* The C library as device code sees it: its functions under their C names, none of its macros. */
#ifndef __UFM_CUDA_LIBC_H
#define __UFM_CUDA_LIBC_H
#pragma GCC system_header

/* Hidden while the headers are read: CUDA's functions of these names differ (newer C libraries declare C23's
   rsqrt and sinpi, glibc an __expf of its own), fmax of libm keeps loops from being vectorized, and the rest are
   words that a cell may well want for itself.  Macros with parameters, because glibc builds other words of these
   names; without, because libc++ says `using ::fmax`. */
#define acospi(...) __ufm_libc_acospi(__VA_ARGS__)
#define acospif(...) __ufm_libc_acospif(__VA_ARGS__)
#define asinpi(...) __ufm_libc_asinpi(__VA_ARGS__)
#define asinpif(...) __ufm_libc_asinpif(__VA_ARGS__)
#define atan2pi(...) __ufm_libc_atan2pi(__VA_ARGS__)
#define atan2pif(...) __ufm_libc_atan2pif(__VA_ARGS__)
#define atanpi(...) __ufm_libc_atanpi(__VA_ARGS__)
#define atanpif(...) __ufm_libc_atanpif(__VA_ARGS__)
#define compoundn(...) __ufm_libc_compoundn(__VA_ARGS__)
#define compoundnf(...) __ufm_libc_compoundnf(__VA_ARGS__)
#define __cosf(...) __ufm_libc_cosf(__VA_ARGS__)
#define cospi(...) __ufm_libc_cospi(__VA_ARGS__)
#define cospif(...) __ufm_libc_cospif(__VA_ARGS__)
#define drand48(...) __ufm_libc_drand48(__VA_ARGS__)
#define __exp10f(...) __ufm_libc_exp10f(__VA_ARGS__)
#define __expf(...) __ufm_libc_expf(__VA_ARGS__)
#define gamma(...) __ufm_libc_gamma(__VA_ARGS__)
#define gammaf(...) __ufm_libc_gammaf(__VA_ARGS__)
#define index(...) __ufm_libc_index(__VA_ARGS__)
#define __log10f(...) __ufm_libc_log10f(__VA_ARGS__)
#define __log2f(...) __ufm_libc_log2f(__VA_ARGS__)
#define __logf(...) __ufm_libc_logf(__VA_ARGS__)
#define lrand48(...) __ufm_libc_lrand48(__VA_ARGS__)
#define mrand48(...) __ufm_libc_mrand48(__VA_ARGS__)
#define __powf(...) __ufm_libc_powf(__VA_ARGS__)
#define pown(...) __ufm_libc_pown(__VA_ARGS__)
#define pownf(...) __ufm_libc_pownf(__VA_ARGS__)
#define powr(...) __ufm_libc_powr(__VA_ARGS__)
#define powrf(...) __ufm_libc_powrf(__VA_ARGS__)
#define random(...) __ufm_libc_random(__VA_ARGS__)
#define rootn(...) __ufm_libc_rootn(__VA_ARGS__)
#define rootnf(...) __ufm_libc_rootnf(__VA_ARGS__)
#define rsqrt(...) __ufm_libc_rsqrt(__VA_ARGS__)
#define rsqrtf(...) __ufm_libc_rsqrtf(__VA_ARGS__)
#define significand(...) __ufm_libc_significand(__VA_ARGS__)
#define significandf(...) __ufm_libc_significandf(__VA_ARGS__)
#define sincos(...) __ufm_libc_sincos(__VA_ARGS__)
#define sincosf(...) __ufm_libc_sincosf(__VA_ARGS__)
#define __sincosf(...) __ufm_libc_sincosf(__VA_ARGS__)
#define __sinf(...) __ufm_libc_sinf(__VA_ARGS__)
#define sinpi(...) __ufm_libc_sinpi(__VA_ARGS__)
#define sinpif(...) __ufm_libc_sinpif(__VA_ARGS__)
#define __tanf(...) __ufm_libc_tanf(__VA_ARGS__)
#define __tanhf(...) __ufm_libc_tanhf(__VA_ARGS__)
#define tanpi(...) __ufm_libc_tanpi(__VA_ARGS__)
#define tanpif(...) __ufm_libc_tanpif(__VA_ARGS__)
#define fmax __ufm_libc_fmax
#define fmaxf __ufm_libc_fmaxf
#define fmin __ufm_libc_fmin
#define fminf __ufm_libc_fminf

/* libstdc++'s <math.h> and <stdlib.h> would include <cmath> and <cstdlib>: ten times the text. */
#ifndef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#define __UFM_OURS
#endif
#include <math.h>
#include <stdlib.h>
#ifdef __UFM_OURS
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#undef __UFM_OURS
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#undef acospi
#undef acospif
#undef asinpi
#undef asinpif
#undef atan2pi
#undef atan2pif
#undef atanpi
#undef atanpif
#undef compoundn
#undef compoundnf
#undef __cosf
#undef cospi
#undef cospif
#undef drand48
#undef __exp10f
#undef __expf
#undef gamma
#undef gammaf
#undef index
#undef __log10f
#undef __log2f
#undef __logf
#undef lrand48
#undef mrand48
#undef __powf
#undef pown
#undef pownf
#undef powr
#undef powrf
#undef random
#undef rootn
#undef rootnf
#undef rsqrt
#undef rsqrtf
#undef significand
#undef significandf
#undef sincos
#undef sincosf
#undef __sincosf
#undef __sinf
#undef sinpi
#undef sinpif
#undef __tanf
#undef __tanhf
#undef tanpi
#undef tanpif
#undef fmax
#undef fmaxf
#undef fmin
#undef fminf

#ifdef __UFM_CUDA_CHECKED__
/* Those of cuda_checked.h, for calls that compilers write, too. */
extern "C" {
void *memset(void *, int, size_t) noexcept(true) __asm__("__ufm_memset");
void *memcpy(void *__restrict, const void *__restrict, size_t) noexcept(true) __asm__("__ufm_memcpy");
void *memmove(void *, const void *, size_t) noexcept(true) __asm__("__ufm_memcpy");
}
#endif

#ifdef __GLIBC__
/* Went with fmax and fmin: a macro built their names. */
extern "C" long double fmaxl(long double, long double) noexcept(true);
extern "C" long double fminl(long double, long double) noexcept(true);
#endif

/* Functions in C++; <math.h> of C has them as macros. */
#undef fpclassify
#undef isfinite
#undef isinf
#undef isnan
#undef isnormal
#undef signbit

/* macOS and Windows lack them; glibc and musl do not. */
#if defined __APPLE__ || defined _WIN32
static inline double exp10(double x) { return ::pow(10.0, x); }
static inline float exp10f(float x) { return (float)::pow(10.0, x); }
static inline float j0f(float x) { return (float)::j0(x); }
static inline float j1f(float x) { return (float)::j1(x); }
static inline float jnf(int n, float x) { return (float)::jn(n, x); }
static inline float y0f(float x) { return (float)::y0(x); }
static inline float y1f(float x) { return (float)::y1(x); }
static inline float ynf(int n, float x) { return (float)::yn(n, x); }
#endif

#endif
