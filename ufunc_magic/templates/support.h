// After the cell, whose macros are alive here: every name below is reserved.  No comment of the other
// kind may stand below: its end would also end one that the cell leaves open.
#line 1 "<ufunc_magic>"
// What is written below is C, whatever the cell has made of C's words.
#undef auto
#undef break
#undef case
#undef char
#undef const
#undef default
#undef do
#undef double
#undef else
#undef extern
#undef float
#undef for
#undef if
#undef inline
#undef int
#undef long
#undef return
#undef short
#undef signed
#undef sizeof
#undef static
#undef struct
#undef typedef
#undef unsigned
#undef void
#undef while
#ifdef __cplusplus
#define __UFM_BEGIN_C extern "C" {
#define __UFM_END_C }
#else
#define __UFM_BEGIN_C
#define __UFM_END_C
#endif
#ifdef _WIN32
#define __UFM_EXPORT __attribute__((__dllexport__))
#else
#define __UFM_EXPORT __attribute__((__visibility__("default")))
#endif
// One object for every CPU of its kind: the loader picks the clone through an IFUNC, which only ELF has.  The object
// that is made first has the clones of one CPU alone, and they are the same.
#if defined(__aarch64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__UFM_ONE_TARGET)
#if __GNUC__ >= 14
#define __UFM_CLONES __attribute__((__target_clones__("default", "sve")))
#else
#define __UFM_CLONES
#endif
// NEON has FMA.
#define __UFM_CLONES_FMA
#define __UFM_CLONES_MATH
#elif !defined(__ELF__) || !defined(__x86_64__) || !defined(__linux__) || defined(__UFM_ONE_TARGET)
#define __UFM_CLONES
#define __UFM_CLONES_FMA
#elif !defined(__UFM_LEVEL)
#define __UFM_CLONES __attribute__((__target_clones__("default", "arch=x86-64-v3", "arch=x86-64-v4")))
// Where only rounding is at stake: both of the newer ones have FMA.
#define __UFM_CLONES_FMA __attribute__((__target_clones__("default", "arch=x86-64-v3")))
#elif __UFM_LEVEL == 4
#define __UFM_CLONES __attribute__((__target__("arch=x86-64-v4")))
// A second target would take gcc another seventh of its time.
#define __UFM_CLONES_FMA __UFM_CLONES
#elif __UFM_LEVEL == 3
#define __UFM_CLONES __attribute__((__target__("arch=x86-64-v3")))
#define __UFM_CLONES_FMA __UFM_CLONES
#else
#define __UFM_CLONES
#define __UFM_CLONES_FMA
#endif
// Those of loops that call libmvec.  On arm64 these are for NEON alone: gcc 14 has no others to call, and from 15 on a clone
// would call others, which round otherwise.
#ifndef __UFM_CLONES_MATH
#define __UFM_CLONES_MATH __UFM_CLONES
#endif
#if defined(__UFM_LEVEL) && __UFM_LEVEL == 4
#define __UFM_CLONES_UNSIGNED __attribute__((__target__("arch=x86-64-v3")))
#elif defined(__x86_64__)
#define __UFM_CLONES_UNSIGNED __UFM_CLONES_FMA
#else
#define __UFM_CLONES_UNSIGNED __UFM_CLONES
#endif
// Of loops that are shown: a unit that is compiled to show them has nothing else.
#ifndef __UFM_LISTED
#define __UFM_LISTED
#endif
// Nothing of what it calls is written out once more for it.
#define __UFM_SMALL __attribute__((__cold__))
// System V's callers save every vector register around a call, Microsoft's convention keeps ten: what a compiled loop
// adds up stays where it is.  Only the portable object has them: to change the convention back and forth takes gcc longer
// than all the rest of a small cell.
#if defined(__x86_64__) && !defined(_WIN32) && !defined(__UFM_LEVEL)
#define __UFM_LEAF __attribute__((__ms_abi__))
#endif
// Functions of the cell are inlined into the loop, whatever their size.  clang has no such function with clones.
#ifdef __clang__
#define __UFM_FLATTEN
#define __UFM_FLATTEN_BODY __attribute__((__flatten__))
#else
#define __UFM_FLATTEN __attribute__((__flatten__))
#define __UFM_FLATTEN_BODY
#endif
// Of loops in which floating-point numbers become integers.  With -fno-trapping-math gcc makes trunc(x) of (double)(int)x,
// which keeps a zero's sign and has no bounds.  In vectors, and with AVX-512, numbers that do not fit become other unsigned
// ones of 32 bits and more than plain x86 makes of them.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__FAST_MATH__)
#define __UFM_SIGNED __attribute__((__optimize__("trapping-math")))
#ifdef __x86_64__
#define __UFM_UNSIGNED __attribute__((__optimize__("trapping-math", "no-tree-loop-vectorize", "no-tree-slp-vectorize")))
#else
#define __UFM_UNSIGNED __UFM_SIGNED
#endif
#else
#define __UFM_SIGNED
#define __UFM_UNSIGNED
#endif
#ifdef __clang__
#define __UFM_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define __UFM_APART _Pragma("GCC ivdep")
#endif
