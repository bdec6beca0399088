def squares(int n):
    cdef int i
    for i in range(n):
        yield i * i
def evens(int n):
    return (i for i in range(n) if i % 2 == 0)
def summed(int n):
    return sum(i for i in range(n))
# >>> list(squares(4)), list(evens(5)), int(summed(4))
# ([0, 1, 4, 9], [0, 2, 4], 6)
