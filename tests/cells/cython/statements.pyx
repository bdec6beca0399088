# types: kind d->i, nested d->d, after d->d
# expect: kind([-1.0, 0.0, 5.0, np.nan]) == [-1, 0, 1, 2] exactly
# expect: nested([5.5, 105.0]) == [6, -5] exactly
# expect: after(3.0) == 3 exactly
cdef int kind(double x):
    if x < 0:
        return -1
    elif x == 0:
        return 0
    elif x > 0:
        return 1
    return 2


cdef double nested(double x):
    cdef double counter = 0
    while x > counter:
        counter += 10
        for i in range(100):
            if i > x:
                return i
    return x - counter


cdef double after(double x):
    try:
        return x
    finally:
        x = -1
