# distutils: language = c++
cdef void bump(int& x) noexcept:
    (&x)[0] += 1
def bumped(int n):
    bump(n)
    return n
# >>> int(bumped(3))
# 4
