/* After the cell, whose macros are alive here: every name below is reserved. */
#line 1 "<ufunc_magic>"
#ifdef __cplusplus
#define __UFM_BEGIN_C extern "C" {
#define __UFM_END_C }
#include <exception>
#else
#define __UFM_BEGIN_C
#define __UFM_END_C
#endif
#ifdef _WIN32
#define __UFM_EXPORT __attribute__((dllexport))
#else
#define __UFM_EXPORT __attribute__((visibility("default")))
#endif
/* One object for every CPU of its kind: the loader picks the clone through an IFUNC, which only ELF has. */
#if defined(__ELF__) && defined(__x86_64__) && defined(__linux__) && !defined(__UFM_ONE_TARGET)
#define __UFM_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define __UFM_CLONES
#endif
#ifdef __clang__
#define __UFM_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define __UFM_APART _Pragma("GCC ivdep")
#endif
