cdef double mean(const double[:] a):
    cdef double s = 0
    for x in a:
        s += x
    return s / len(a)
def averaged(const double[:] a):
    return mean(a)
cdef int const_arg(const int x):
    return x + 1
def consts(const int x):
    return const_arg(x)
import numpy as np
# >>> a = np.arange(3.0); a.flags.writeable = False; float(averaged(a)), int(consts(1))
# (1.0, 2)
