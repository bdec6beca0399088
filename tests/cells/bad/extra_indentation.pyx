cdef double f(double x):
    cdef double y = x
      y += 1
    return y
