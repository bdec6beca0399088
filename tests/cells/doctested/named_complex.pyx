cdef int _Complex = 3
cpdef int get(int I):
    return _Complex + I
def isnan(double x):
    return x != x
def x86(int x):
    return x * 86
# >>> int(get(4)), bool(isnan(float("nan"))), int(x86(2))
# (7, True, 172)
