from libc.stdlib cimport malloc, free, qsort, rand, srand, atoi
from libc.string cimport memcpy, strlen, memset
from libc.stdint cimport uint32_t, int64_t, uint8_t
from libc.math cimport sin, M_PI, fabs, isfinite, INFINITY
from libc.limits cimport INT_MAX
from libc.stdio cimport printf, snprintf
def triangle(int n):
    cdef int *a = <int *> malloc(n * sizeof(int))
    cdef int i, s = 0
    if a == NULL:
        raise MemoryError()
    try:
        for i in range(n):
            a[i] = i
        for i in range(n):
            s += a[i]
        return s
    finally:
        free(a)
def length(bytes s):
    return strlen(s)
def wave(double t):
    return sin(2 * M_PI * t)
def hash32(uint32_t x):
    x ^= x >> 16
    x *= 0x85ebca6b
    return x
def biggest():
    return INT_MAX
def finite(double x):
    return isfinite(x)
cdef int compare(const void *a, const void *b) noexcept nogil:
    return (<int *> a)[0] - (<int *> b)[0]
def sort3(int a, int b, int c):
    cdef int[3] v
    v[0], v[1], v[2] = a, b, c
    qsort(v, 3, sizeof(int), compare)
    return v[1]
# >>> int(triangle(5)), length(b"abc"), round(float(wave(0.25)), 9), int(hash32(1)), biggest()
# (10, 3, 1.0, 2246822507, 2147483647)
# >>> bool(finite(1.0)), int(sort3(3, 1, 2))
# (True, 2)
