cdef inline int min(int a, int b) noexcept:
    return a if a < b else b
cdef inline int max(int a, int b) noexcept:
    return a if a > b else b
def between(int x, int lo, int hi):
    return max(lo, min(x, hi))
# >>> int(between(5, 0, 3))
# 3
# >>> min([3, 1, 2])
# 1
