cdef double f(double x):
	cdef double y = x
        return y
