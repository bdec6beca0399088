import cython
def mean_step(x: cython.double, n: cython.int):
    s: cython.double = 0
    i: cython.int
    for i in range(n):
        s += x * i
    return s / n
# >>> float(mean_step(2.0, 4))
# 3.0
