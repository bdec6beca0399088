from cython.operator cimport dereference
cdef void swap(double *a, double *b) noexcept:
    a[0], b[0] = b[0], a[0]
def swapped(double a, double b):
    swap(&a, &b)
    return a - b
cdef double total(double *x, int n):
    cdef double s = 0
    for i in range(n):
        s += x[i]
    return s
def view_total(double[::1] v):
    return total(&v[0], v.shape[0])
import numpy as np
# >>> float(swapped(1.0, 3.0)), float(view_total(np.ones(3)))
# (2.0, 3.0)
