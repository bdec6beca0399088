# types: f d->d
# expect: f(1.0) == 3 exactly
cdef double f(double x):
	cdef double y = x + 1
	return y + 1