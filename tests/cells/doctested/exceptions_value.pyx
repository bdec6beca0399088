cdef int half(int n) except? -1:
    if n % 2:
        raise ValueError(f"odd: {n}")
    return n // 2
cdef int always(int n) except -1:
    if n < 0:
        raise KeyError(n)
    return n
cpdef double inverse(double x) except *:
    if x == 0:
        raise ZeroDivisionError("no inverse")
    return 1 / x
def halves(int n):
    return half(n) + always(n)
# >>> int(halves(4))
# 6
# >>> halves(3)
# Traceback (most recent call last):
# ValueError: odd: 3
# >>> halves(-2)
# Traceback (most recent call last):
# KeyError: -2
# >>> inverse(0.0)
# Traceback (most recent call last):
# ZeroDivisionError: no inverse
