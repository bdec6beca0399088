#pragma once
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ > 1300
#define offsetof(T, member) __builtin_offsetof(T, member)
#else
#define offsetof(T, member) ((size_t)&(((T *)0)->member))
#endif
typedef decltype(sizeof 0) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef struct { alignas(16) long long a; long double b; } max_align_t;
