cdef extern from "math.h":
    double hypot(double) nogil

cdef extern from "time.h":
    struct tm:
        int seconds

cdef double f(double x):
    cdef tm t
    t.seconds = 3
    return hypot(x) + t.seconds
