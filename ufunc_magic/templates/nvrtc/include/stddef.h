#pragma once
#define offsetof(T, member) __builtin_offsetof(T, member)
typedef decltype(sizeof 0) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef struct { alignas(16) long long a; long double b; } max_align_t;
