from libc.math cimport sqrt
cdef double work(double x) noexcept nogil:
    return sqrt(x)
cdef int report(int n) except -1 nogil:
    if n < 0:
        with gil:
            raise ValueError("negative")
    return n
def run(double x):
    cdef double y
    with nogil:
        y = work(x)
    return y
def safe(int n):
    cdef int r
    with nogil:
        r = report(n)
    return r
# >>> float(run(4.0)), int(safe(2))
# (2.0, 2)
# >>> safe(-1)
# Traceback (most recent call last):
# ValueError: negative
