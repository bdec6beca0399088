cdef doubel twice(doubel x):
    return 2*x
