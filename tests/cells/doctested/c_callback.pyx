from libc.stdlib cimport qsort
cdef int by_value(const void *a, const void *b) noexcept nogil:
    cdef int x = (<const int *> a)[0]
    cdef int y = (<const int *> b)[0]
    return (x > y) - (x < y)
def sort_ints(int[::1] a):
    qsort(&a[0], a.shape[0], sizeof(int), by_value)
cdef object py_callback
cdef double trampoline(double x, void *f) noexcept:
    return (<object> f)(x)
cdef double apply(double (*cb)(double, void *) noexcept, void *data, double x):
    return cb(x, data)
def apply_py(f, double x):
    return apply(trampoline, <void *> f, x)
import numpy as np
# >>> a = np.array([3, 1, 2], "i4"); sort_ints(a); a.tolist(), apply_py(lambda v: v * 2, 1.5)
# ([1, 2, 3], 3.0)
