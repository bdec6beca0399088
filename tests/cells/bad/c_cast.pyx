cdef int whole(double x):
    return (int)x
