class Point:
    cdef double x
    cdef double y
