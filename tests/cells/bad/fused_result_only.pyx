ctypedef fused number:
    float
    double

cdef number zero():
    return 0
