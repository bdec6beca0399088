# distutils: language = c++
cdef extern from *:
    """
    #include <stdexcept>
    #include <new>
    static int risky(int n) { if (n > 3) throw std::out_of_range("too far"); return n; }
    static double bad(double x) { if (x < 0) throw std::invalid_argument("negative"); return x; }
    """
    int risky(int n) except +
    double bad(double x) except +ValueError
def dare(int n):
    return risky(n) + 1
def check(double x):
    return bad(x)
# >>> int(dare(2))
# 3
# >>> dare(4)
# Traceback (most recent call last):
# IndexError: too far
# >>> check(-1.0)
# Traceback (most recent call last):
# ValueError: negative
