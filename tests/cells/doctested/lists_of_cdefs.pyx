cdef double a(double x):
    return x + 1
cdef double b(double x):
    return a(x) * 2
cdef:
    int n = 3
    double ratio = 0.5
    int triple(int x):
        return x * n
cdef int x1 = 1, x2 = 2
def all_(double x):
    return b(x) + triple(2) + x1 + x2 + ratio
# >>> float(all_(1.0))
# 13.5
