# distutils: language = c++
cdef extern from "<algorithm>" namespace "std" nogil:
    const T& clamp_ "std::clamp" [T](const T& v, const T& lo, const T& hi)
    T& max_ "std::max" [T](T& a, T& b)
def clip(double x, double lo, double hi):
    return clamp_(x, lo, hi)
def largest(long a, long b):
    return max_(a, b)
# >>> float(clip(5.0, 0.0, 2.5)), float(clip(-3.0, -1.0, 2.0)), float(clip(1.0, 0.0, 2.0))
# (2.5, -1.0, 1.0)
# >>> int(largest(3, 9))
# 9
